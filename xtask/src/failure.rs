//! Why a task failed, in one line for the person who ran it.

use std::fmt;
use std::process::ExitCode;

/// What went wrong.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line asks for something that does not exist.
    Usage(String),
    /// A program could not be started, or a file could not be read or written.
    Io { doing: String, cause: std::io::Error },
    /// A program ran and said no.
    Command { command: String, status: String },
    /// Files that break the rules of the house.
    Tidy(Vec<String>),
    /// A step of the test command.
    Step { name: &'static str, cause: Box<Failure> },
    /// A package that would be published with a warning.
    Package(String),
    /// A contestant of the benchmark answered something unexpected.
    Bench(String),
}

impl Failure {
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Failure::Usage(_) => ExitCode::from(64),
            _ => ExitCode::FAILURE,
        }
    }

    /// For `map_err`: an input or output error with what was being done.
    pub(crate) fn io(doing: impl Into<String>) -> impl FnOnce(std::io::Error) -> Failure {
        move |cause| Failure::Io { doing: doing.into(), cause }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Usage(message) => write!(f, "{message} (cargo xtask help)"),
            Failure::Io { doing, cause } => write!(f, "{doing}: {cause}"),
            Failure::Command { command, status } => write!(f, "`{command}` failed ({status})"),
            Failure::Tidy(faults) => {
                for fault in faults {
                    write!(f, "\n  {fault}")?;
                }
                write!(f, "\n{} untidy", faults.len())
            }
            Failure::Step { name, cause } => write!(f, "FAILED at {name}: {cause}"),
            Failure::Package(warnings) => write!(f, "packed with warnings: {warnings}"),
            Failure::Bench(message) => write!(f, "benchmark: {message}"),
        }
    }
}
