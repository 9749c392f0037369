//! What ends the program without an answer, as one line that says what was expected, and the exit code it
//! ends with (the numbers of BSD's sysexits). Errors of clap, which take several lines, are condensed here.
//!
//! Invariant: an error is one line, whatever the text of a file or of an argument contains.
//! Held by: quorate-cli/tests/errors.rs.

use std::ffi::OsString;
use std::fmt;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Why there is no answer.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Failure {
    /// The command line makes no sense.
    Usage(
        /// What was expected.
        String,
    ),
    /// A file is not what it should be.
    Data(
        /// What was expected.
        String,
    ),
    /// A file cannot be read.
    Input(
        /// What was expected.
        String,
    ),
    /// A file cannot be created.
    Create(
        /// What was expected.
        String,
    ),
    /// The answer cannot be written.
    Output(
        /// What was expected.
        String,
    ),
}

impl Failure {
    /// The exit code of a program that ends with it.
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Usage(_) => 64,
            Failure::Data(_) => 65,
            Failure::Input(_) => 66,
            Failure::Create(_) => 73,
            Failure::Output(_) => 74,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Failure::Usage(text)
        | Failure::Data(text)
        | Failure::Input(text)
        | Failure::Create(text)
        | Failure::Output(text)) = self;
        f.write_str(&one_line(text))
    }
}

impl std::error::Error for Failure {}

/// Line breaks become spaces, other control characters are shown escaped, and what is very long is cut.
fn one_line(text: &str) -> String {
    const CHARACTERS_MAX: usize = 600;
    let mut line = String::new();
    for (at, character) in text.chars().enumerate() {
        match character {
            _ if at == CHARACTERS_MAX => {
                line.push('…');
                break;
            }
            '\n' | '\r' | '\t' => line.push(' '),
            control if control.is_control() => line.extend(control.escape_default()),
            other => line.push(other),
        }
    }
    line
}

/// An error of clap in one line. `line` is the command line, with the name of the program first.
pub(super) fn condensed(error: &clap::Error, root: &Command, line: &[OsString]) -> Failure {
    let (command, path) = reached(root, line);
    let what = what_is_next(command);
    let text = |kind| context(error, kind).into_iter().next().unwrap_or_default();
    let option = || plain(&text(ContextKind::InvalidArg));
    let known = || listed(command.get_subcommands().map(|sub| sub.get_name().to_string()));
    let message = match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let suggested = suggestion(error, ContextKind::SuggestedSubcommand);
            format!(
                "unknown {what} '{}': expected {}{suggested}",
                text(ContextKind::InvalidSubcommand),
                known()
            )
        }
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            format!("no {what} given: expected {} (see '{path} --help')", known())
        }
        ErrorKind::UnknownArgument => {
            let unknown = text(ContextKind::InvalidArg);
            // It may be known further inside: what counts is where it stands.
            let before = line.iter().take_while(|word| !word.to_string_lossy().starts_with(&unknown));
            let (command, path) = reached(root, before);
            let options = command.get_arguments().filter_map(|arg| Some(format!("--{}", arg.get_long()?)));
            let expected = if command.has_subcommands() {
                let what = what_is_next(command);
                format!("expected a {what} first, then its options (see '{path} --help')")
            } else if let Some(suggested) = context(error, ContextKind::SuggestedArg).first() {
                format!("did you mean '{suggested}'? (see '{path} --help')")
            } else {
                format!("expected {}", listed(options))
            };
            format!("unknown argument '{unknown}' of '{path}': {expected}")
        }
        ErrorKind::InvalidValue => {
            let (value, expected) = (
                text(ContextKind::InvalidValue),
                listed(context(error, ContextKind::ValidValue).into_iter()),
            );
            let suggested = suggestion(error, ContextKind::SuggestedValue);
            match (value.is_empty(), expected.is_empty()) {
                (true, true) => format!("{} needs a value (see '{path} --help')", option()),
                (true, false) => format!("{} needs a value: expected {expected}", option()),
                _ => format!("{} is '{value}': expected {expected}{suggested}", option()),
            }
        }
        ErrorKind::ValueValidation => {
            let expected = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
            format!("{} is '{}': {expected}", option(), text(ContextKind::InvalidValue))
        }
        ErrorKind::MissingRequiredArgument => {
            let missing = listed(context(error, ContextKind::InvalidArg).iter().map(|arg| plain(arg)));
            format!("'{path}' needs {missing} (see '{path} --help')")
        }
        ErrorKind::ArgumentConflict => {
            let prior = plain(&text(ContextKind::PriorArg));
            if prior == option() {
                format!("{prior} is given twice: expected once")
            } else {
                format!("{} cannot be used with {prior}: expected one of them", option())
            }
        }
        _ => {
            let full = error.to_string();
            let first = full.lines().next().unwrap_or("expected another command line");
            format!("{} (see '{path} --help')", first.trim_start_matches("error: "))
        }
    };
    Failure::Usage(message)
}

/// The innermost command that a command line names, and how one gets there.
fn reached<'c, 'l>(root: &'c Command, line: impl IntoIterator<Item = &'l OsString>) -> (&'c Command, String) {
    let mut command = root;
    let mut path = root.get_bin_name().unwrap_or_else(|| root.get_name()).to_string();
    for word in line.into_iter().skip(1).filter_map(|word| word.to_str()) {
        if let Some(inner) = command.find_subcommand(word) {
            command = inner;
            path = format!("{path} {word}");
        }
    }
    (command, path)
}

/// What a command wants next.
fn what_is_next(command: &Command) -> &'static str {
    if ["check", "graph"].contains(&command.get_name()) { "protocol" } else { "command" }
}

/// An argument as clap writes it, `--bug <NAME>` or `<FILE>`, by its name alone.
fn plain(argument: &str) -> String {
    let name = argument.split(' ').next().unwrap_or_default();
    name.trim_matches(['<', '>', '[', ']']).to_string()
}

fn context(error: &clap::Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        _ => Vec::new(),
    }
}

fn suggestion(error: &clap::Error, kind: ContextKind) -> String {
    // The most similar one comes last.
    context(error, kind).last().map(|suggested| format!("; did you mean '{suggested}'?")).unwrap_or_default()
}

fn listed(words: impl Iterator<Item = String>) -> String {
    words.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_line_of_bounded_length() {
        let shown = Failure::Data(format!("a\nb\u{1b}[31m{}", "x".repeat(5000))).to_string();
        assert!(shown.starts_with("a b\\u{1b}[31mxxx"), "{shown}");
        assert!(shown.chars().count() < 700);
    }
}
