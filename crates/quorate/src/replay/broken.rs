//! What a run shows to be wrong.

use std::fmt;

use crate::base::ProcessId;

/// What is wrong in the last state of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Broken {
    /// A property does not hold for these observations.
    Property {
        /// Its name.
        name: String,
        /// What it saw, process by process, as `Debug` prints it.
        observed: Vec<(ProcessId, String)>,
    },
    /// A monitor does not allow what it has heard.
    History {
        /// Its name.
        name: String,
        /// Its state, as `Debug` prints it.
        heard: String,
    },
    /// The last step panicked.
    Panic {
        /// Whose step.
        process: ProcessId,
        /// Which transition, as [`TraceStep::title`](crate::model::TraceStep::title) has it.
        transition: String,
        /// The message.
        message: String,
    },
}

impl Broken {
    /// What a panic violates.
    pub const NO_PANIC: &'static str = "no panic";

    /// The name of the property; `no panic` for a panic.
    pub fn property(&self) -> &str {
        match self {
            Broken::Property { name, .. } | Broken::History { name, .. } => name,
            Broken::Panic { .. } => Self::NO_PANIC,
        }
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Broken::Property { name, .. } | Broken::History { name, .. } => write!(f, "'{name}'"),
            Broken::Panic { transition, message, .. } => {
                write!(f, "no panic ('{transition}' panicked: {message})")
            }
        }
    }
}
