//! Options of the command line, built from the catalogue: a command about protocols has one subcommand a protocol, with
//! the protocol's own parameters and bugs as options, so that help, completions and errors know them.

mod components;
pub(crate) mod engines;
pub(crate) mod reductions;
pub(crate) mod stones;
pub(crate) mod world;

use std::collections::HashSet;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

pub use self::engines::EngineOption;
use super::failure::Failure;
use super::output::units;
use crate::model::Model;
use crate::protocol::{Arguments, Domain, Parameter, Protocol};

/// What the command line says of a search: which instance, in which state, and the options.
pub struct Given<'g> {
    /// The protocol.
    pub protocol: &'g Protocol,
    /// Its arguments.
    pub arguments: &'g Arguments,
    /// The instance, in its world and where it starts.
    pub model: &'g Model,
    /// All options.
    pub matches: &'g ArgMatches,
}

/// More threads than this are surely a slip of the finger.
const THREADS_MAX: u64 = 1024;

/// A command with a subcommand for each protocol.
pub(crate) fn with_protocols(
    command: Command,
    program: &str,
    protocols: &[Protocol],
    one: impl Fn(&Protocol) -> Result<Command, Failure>,
) -> Result<Command, Failure> {
    let usage = format!("{program} {} <PROTOCOL> [OPTIONS]", command.get_name());
    let mut command = command
        .subcommand_required(true)
        .disable_help_subcommand(true)
        .subcommand_value_name("PROTOCOL")
        .subcommand_help_heading("Protocols")
        .override_usage(usage);
    for protocol in protocols {
        if command.find_subcommand(protocol.name()).is_some() {
            let name = protocol.name();
            return Err(Failure::Usage(format!(
                "two protocols are called '{name}': expected a name of its own for each"
            )));
        }
        command = command.subcommand(one(protocol)?);
    }
    Ok(command)
}

/// `check PROTOCOL` and its like: the parameters first, then the world, how to search, and how to answer.
pub(crate) fn one_protocol(
    protocol: &Protocol,
    common: impl Iterator<Item = Arg>,
    examples: String,
) -> Result<Command, Failure> {
    let name = protocol.name();
    let mut command = Command::new(name).about(protocol.about());
    if !protocol.reference_text().is_empty() {
        command = command.long_about(format!("{}\n\nFrom: {}", protocol.about(), protocol.reference_text()));
    }
    let mut taken: HashSet<String> = ["color", "help", "version"].map(str::to_string).into();
    for arg in own_options(protocol).into_iter().chain(common) {
        let mut names: Vec<String> = arg.get_long().into_iter().map(str::to_string).collect();
        names.extend(arg.get_all_aliases().into_iter().flatten().map(str::to_string));
        if let Some(clash) = names.iter().find(|name| taken.contains(*name)) {
            return Err(Failure::Usage(format!(
                "protocol '{name}' declares '--{clash}', which is taken: expected another name"
            )));
        }
        taken.extend(names);
        command = command.arg(arg);
    }
    Ok(command.after_help(examples))
}

fn own_options(protocol: &Protocol) -> Vec<Arg> {
    let mut args: Vec<Arg> = protocol.parameters().iter().map(parameter).collect();
    if !protocol.bugs().is_empty() {
        let bugs = protocol.bugs().iter().map(|bug| PossibleValue::new(bug.name).help(bug.about));
        args.push(
            Arg::new("bug")
                .long("bug")
                .value_name("NAME")
                .value_parser(PossibleValuesParser::new(bugs))
                .help("Plant a bug, to see it found"),
        );
    }
    args.into_iter().map(|arg| arg.help_heading("Protocol")).collect()
}

fn parameter(parameter: &Parameter) -> Arg {
    let arg = Arg::new(parameter.name).long(parameter.name);
    match &parameter.domain {
        // The catalogue checks the range and says what it expects, so negative numbers must get that far.
        Domain::Number { default, range } => arg
            .value_name("NUMBER")
            .allow_negative_numbers(true)
            .default_value(default.to_string())
            .help(format!("{} ({} to {})", parameter.about, range.start(), range.end())),
        Domain::Choice(words) => arg
            .value_name("WORD")
            .value_parser(PossibleValuesParser::new(words.clone()))
            .default_value(words[0])
            .help(parameter.about),
    }
}

/// Options that say how to search.
pub(crate) fn search_options(engines: &[EngineOption]) -> Vec<Arg> {
    let from = named(Arg::new("from"))
        .value_name("FILE")
        .value_parser(value_parser!(std::path::PathBuf))
        .help("Start in a state that 'snapshot' wrote, with its messages in flight");
    let shared = engines::options(engines).into_iter().chain([threads_option(), from]);
    let shared = shared.chain(reductions::options()).map(|arg| arg.help_heading("Search"));
    let own = engines.iter().flat_map(|engine| (engine.options)());
    shared.chain(own).chain(stones::options()).collect()
}

/// `--threads`.
pub fn threads_option() -> Arg {
    named(Arg::new("threads"))
        .value_name("NUMBER")
        .allow_negative_numbers(true)
        .value_parser(|text: &str| number(text, 1, THREADS_MAX))
        .help("On how many threads; all cores unless given. The answer does not depend on it")
}

/// What ends a search.
pub fn limit_options() -> Vec<Arg> {
    let args = [
        Arg::new("states-max")
            .value_name("NUMBER")
            .allow_negative_numbers(true)
            .value_parser(|text: &str| number(text, 1, u64::MAX))
            .help("Stop after this many states"),
        Arg::new("depth-max")
            .value_name("NUMBER")
            .allow_negative_numbers(true)
            .value_parser(|text: &str| number(text, 0, u64::from(u32::MAX)))
            .help("Look no further than this many steps"),
        Arg::new("time-max")
            .value_name("TIME")
            .allow_negative_numbers(true)
            .value_parser(units::duration)
            .help("Stop after this long: 90 (seconds), 10m, 1h"),
        Arg::new("memory-max")
            .value_name("SIZE")
            .allow_negative_numbers(true)
            .value_parser(units::size)
            .help("Stop when this much memory is in use: 500M, 4G; four fifths of what is free unless given"),
    ];
    args.into_iter()
        .map(|arg| named(arg).help_heading("Limits (a search that reaches one answers 'unknown')"))
        .collect()
}

/// `--quiet`.
pub fn quiet_option() -> Arg {
    named(Arg::new("quiet").action(ArgAction::SetTrue).help("No progress on standard error"))
}

/// `--svg`.
pub(crate) fn svg_option() -> Arg {
    let path = value_parser!(std::path::PathBuf);
    named(
        Arg::new("svg")
            .value_name("FILE")
            .value_parser(path)
            .help("Draw the violation as a picture, into a file"),
    )
}

/// `--json`.
pub fn json_option() -> Arg {
    named(Arg::new("json").action(ArgAction::SetTrue).help("Print one JSON object"))
}

/// An option is called what its id says.
pub fn named(arg: Arg) -> Arg {
    let name = arg.get_id().to_string();
    arg.long(name)
}

/// A number within bounds.
pub fn number(text: &str, least: u64, greatest: u64) -> Result<u64, NotANumber> {
    text.parse()
        .ok()
        .filter(|number| (least..=greatest).contains(number))
        .ok_or(NotANumber { least, greatest })
}

/// A text is no number, or not between these.
#[derive(Clone, Debug)]
pub struct NotANumber {
    least: u64,
    greatest: u64,
}

impl std::fmt::Display for NotANumber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "expected a number from {} to {}", self.least, self.greatest)
    }
}

impl std::error::Error for NotANumber {}

#[cfg(test)]
mod tests {
    use super::super::Program;
    use super::*;
    use crate::protocol::System;

    #[test]
    fn the_command_line_is_well_formed() {
        let protocols = [Protocol::new("one", "nothing", |_| System::<u8>::new())
            .number("size", 2, 1..=4, "how large")
            .choice("kind", ["a", "b"], "which")
            .bug("broken", "all of it")];
        Program::new(protocols).command_line("quorate").expect("a command line").debug_assert();
    }

    #[test]
    fn a_parameter_cannot_take_the_name_of_an_option() {
        for name in ["threads", "color", "help", "bug", "channel", "crash", "lose", "losses"] {
            let protocol = Protocol::new("one", "nothing", |_| System::<u8>::new())
                .choice(name, ["a"], "clashes")
                .bug("broken", "all of it");
            let error = Program::new([protocol]).command_line("quorate").expect_err(name);
            assert!(error.to_string().contains(&format!("'--{name}', which is taken")), "{error}");
        }
    }
}
