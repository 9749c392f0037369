//! The command line, built from the catalogue: `check` and `local` have one subcommand a protocol, with the protocol's
//! own parameters and bugs as options, so that help, completions and errors know them.

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, ArgAction, Command, value_parser};

use super::failure::Failure;
use super::{components, reductions, stones, units, world};
use crate::engine::Engine;
use crate::engine::published::Stage;
use crate::protocol::{Domain, Parameter, Protocol};

/// More threads than this are surely a slip of the finger.
const THREADS_MAX: u64 = 1024;

/// The whole command line. `program` is what the user calls the program.
pub(super) fn command(program: &str, protocols: &[Protocol]) -> Result<Command, Failure> {
    let example = protocols.first().map_or("PROTOCOL", Protocol::name);
    Ok(Command::new("quorate")
        .bin_name(program)
        .version(env!("CARGO_PKG_VERSION"))
        .about("Checks message-passing, fault-tolerant distributed systems: every order of messages, every quorum.")
        .subcommand_required(true)
        .disable_help_subcommand(true)
        .after_help(format!(
            "Examples:\n  \
             {program} list\n  \
             {program} check {example}\n  \
             {program} check {example} --help\n\n{EXIT_CODES}"
        ))
        .arg(
            Arg::new("color")
                .long("color")
                .value_name("WHEN")
                .value_parser(["auto", "always", "never"])
                .default_value("auto")
                .global(true)
                .help("Colour the output; auto heeds NO_COLOR and CLICOLOR"),
        )
        .subcommand(check(program, protocols)?)
        .subcommand(local(program, protocols)?)
        .subcommand(replay(program, example))
        .subcommand(snapshot(program, example))
        .subcommand(list(program, protocols, example))
        .subcommand(completions(program)))
}

const EXIT_CODES: &str =
    "Exit codes: 0 holds, 1 violated, 2 unknown, 64 and above: an error, told in one line.";

fn check(program: &str, protocols: &[Protocol]) -> Result<Command, Failure> {
    let example = protocols.first().map_or("PROTOCOL", Protocol::name);
    let check = Command::new("check")
        .about("Explores every reachable state of a protocol and says whether its properties hold")
        .after_help(format!(
            "Each protocol has parameters of its own: '{program} check {example} --help' shows them.\n\n\
             Examples:\n  \
             {program} check {example}\n  \
             {program} check {example} --json --threads 1\n  \
             {program} check {example} --time-max 10m --memory-max 4G\n\n{EXIT_CODES}"
        ));
    with_protocols(check, program, protocols, |protocol| {
        let options = world::options().into_iter().chain(search_options()).chain(limit_options());
        one_protocol(protocol, options.chain(output_options()), examples(program, protocol))
    })
}

fn local(program: &str, protocols: &[Protocol]) -> Result<Command, Failure> {
    let example = protocols.first().map_or("PROTOCOL", Protocol::name);
    let examples = |name: &str| {
        format!(
            "Examples:\n  \
             {program} local {name}\n  \
             {program} local {name} --json\n  \
             {program} local {name} --closure\n  \
             {program} local {name} --dot | dot -Tsvg > {name}.svg\n\n\
             Exit codes: 0 the graphs are complete, 2 they are not, 64 and above: an error, told in one line."
        )
    };
    let local = Command::new("local")
        .about("Shows each role by itself: its local states, and the messages that lead from one to another")
        .after_help(format!(
            "Each protocol has parameters of its own: '{program} local {example} --help' shows them.\n\n{}",
            examples(example)
        ));
    with_protocols(local, program, protocols, |protocol| {
        let options = world::options().into_iter().chain([threads_option().help_heading("Search")]);
        let options = options.chain(limit_options()).chain(picture_options());
        one_protocol(protocol, options, examples(protocol.name()))
    })
}

/// A command with a subcommand for each protocol.
fn with_protocols(
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
fn one_protocol(
    protocol: &Protocol,
    common: impl Iterator<Item = Arg>,
    examples: String,
) -> Result<Command, Failure> {
    let name = protocol.name();
    let mut command = Command::new(name).about(protocol.about());
    if !protocol.reference_text().is_empty() {
        command = command.long_about(format!("{}\n\nFrom: {}", protocol.about(), protocol.reference_text()));
    }
    let own = own_options(protocol);
    for arg in own.into_iter().chain(common) {
        let taken = |other: &Arg| other.get_long() == arg.get_long();
        let reserved = ["color", "help", "version"].contains(&arg.get_id().as_str());
        if reserved || command.get_arguments().any(taken) {
            return Err(Failure::Usage(format!(
                "protocol '{name}' declares '--{}', which is taken: expected another name",
                arg.get_id()
            )));
        }
        command = command.arg(arg);
    }
    Ok(command.after_help(examples))
}

fn examples(program: &str, protocol: &Protocol) -> String {
    let name = protocol.name();
    let mut lines = vec![
        format!("{program} check {name}"),
        format!("{program} check {name} --crash explicit --partial-sends"),
    ];
    if let Some(parameter) = protocol.parameters().first() {
        let value = match &parameter.domain {
            Domain::Number { default, range } => (default + 1).min(*range.end()).to_string(),
            Domain::Choice(words) => words[words.len() - 1].to_string(),
        };
        lines.push(format!("{program} check {name} --{} {value} --memory-max 4G", parameter.name));
    }
    if let Some(bug) = protocol.bugs().first() {
        lines.push(format!("{program} check {name} --bug {}", bug.name));
        lines.push(format!("{program} check {name} --bug {} --json > run.json", bug.name));
        lines.push(format!("{program} replay run.json"));
    }
    format!("Examples:\n  {}", lines.join("\n  "))
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
        // The catalogue checks the range; a negative number must get that far to be told what was expected.
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

fn search_options() -> Vec<Arg> {
    let args = [
        Arg::new("engine")
            .value_name("ENGINE")
            .value_parser(PossibleValuesParser::new(Engine::ALL.map(Engine::name)))
            .default_value(Engine::default().name())
            .help("Which engine searches"),
        Arg::new("order")
            .value_name("ORDER")
            .value_parser(["breadth", "depth"])
            .default_value("breadth")
            .help("Nearest states first (shortest counterexamples) or newest first (small frontier)"),
        Arg::new("visited")
            .value_name("HOW")
            .value_parser(["exact", "fingerprint"])
            .default_value("exact")
            .help("Remember states exactly, or by fingerprints: less memory, may miss a state and says how likely"),
        threads_option(),
        Arg::new("from")
            .value_name("FILE")
            .value_parser(value_parser!(std::path::PathBuf))
            .help("Start in a state that 'snapshot' wrote, with its messages in flight"),
        Arg::new("count-system-states")
            .action(ArgAction::SetTrue)
            .help("Count the vectors of local states as well, whatever waits in channels and who has crashed"),
    ];
    let args = args.into_iter().map(named).chain(reductions::options());
    let args = args.map(|arg| arg.help_heading("Search"));
    args.chain(local_options()).chain(components::options()).chain(stones::options()).collect()
}

/// How `--engine local` goes about it, and what it has in common with others.
fn local_options() -> Vec<Arg> {
    let number = |text: &str| number(text, 0, u64::from(u32::MAX));
    let args = [
        Arg::new("classes")
            .value_name("WHAT")
            .value_parser(["observations", "states"])
            .default_value("observations")
            .help("Combine local states by what a property observes of them, or each by itself (LMC-GEN)"),
        Arg::new("local-events").value_name("NUMBER").allow_negative_numbers(true).value_parser(number).help(
            "Cover runs with at most so many steps of each process by itself (timers, clients), from 1 on",
        ),
        Arg::new("stage")
            .value_name("STAGE")
            .value_parser(PossibleValuesParser::new(Stage::NAMED.map(|(name, _)| name)))
            .default_value("soundness")
            .help("How far lmc-gen and lmc-opt go, to measure their parts"),
        Arg::new("duplicates").value_name("NUMBER").allow_negative_numbers(true).value_parser(number).help(
            "Of equal messages waiting for a process, keep so many besides the first; for every engine",
        ),
    ];
    args.into_iter().map(|arg| named(arg).help_heading("Local states (--engine local)")).collect()
}

pub(super) fn threads_option() -> Arg {
    named(Arg::new("threads"))
        .value_name("NUMBER")
        .allow_negative_numbers(true)
        .value_parser(|text: &str| number(text, 1, THREADS_MAX))
        .help("On how many threads; all cores unless given. The answer does not depend on it")
}

pub(super) fn limit_options() -> Vec<Arg> {
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

fn output_options() -> Vec<Arg> {
    let args = [
        json_option(),
        Arg::new("trace")
            .value_name("FILE")
            .value_parser(value_parser!(std::path::PathBuf))
            .help("Write the JSON answer, with the trace of a violation, to a file for 'replay' too"),
        svg_option(),
        quiet_option(),
    ];
    args.into_iter().map(|arg| named(arg).help_heading("Output")).collect()
}

/// How `local` shows its graphs.
fn picture_options() -> Vec<Arg> {
    let args = [
        Arg::new("process")
            .value_name("NAME")
            .help("Show this process only, such as 'acceptor 0', or those of this role"),
        Arg::new("closure")
            .action(ArgAction::SetTrue)
            .help("Show also what could only happen if no message were ever used up: the local closure"),
        Arg::new("dot")
            .value_name("FILE")
            .num_args(0..=1)
            .default_missing_value("-")
            .value_parser(value_parser!(std::path::PathBuf))
            .help("Write the graphs for Graphviz, into a file; without one, print nothing else"),
        json_option(),
        quiet_option(),
    ];
    args.into_iter().map(|arg| named(arg).help_heading("Output")).collect()
}

pub(super) fn quiet_option() -> Arg {
    named(Arg::new("quiet").action(ArgAction::SetTrue).help("No progress on standard error"))
}

fn svg_option() -> Arg {
    let path = value_parser!(std::path::PathBuf);
    named(
        Arg::new("svg")
            .value_name("FILE")
            .value_parser(path)
            .help("Draw the violation as a picture, into a file"),
    )
}

pub(super) fn json_option() -> Arg {
    named(Arg::new("json").action(ArgAction::SetTrue).help("Print one JSON object"))
}

/// An option is called what its id says.
pub(super) fn named(arg: Arg) -> Arg {
    let name = arg.get_id().to_string();
    arg.long(name)
}

/// A number within bounds.
pub(super) fn number(text: &str, least: u64, greatest: u64) -> Result<u64, NotANumber> {
    text.parse()
        .ok()
        .filter(|number| (least..=greatest).contains(number))
        .ok_or(NotANumber { least, greatest })
}

#[derive(Clone, Debug)]
pub(super) struct NotANumber {
    least: u64,
    greatest: u64,
}

impl std::fmt::Display for NotANumber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "expected a number from {} to {}", self.least, self.greatest)
    }
}

impl std::error::Error for NotANumber {}

fn replay(program: &str, example: &str) -> Command {
    Command::new("replay")
        .about("Runs the trace of a violation again, on the protocol itself, and confirms what is broken")
        .arg(
            Arg::new("FILE")
                .required(true)
                .value_parser(value_parser!(std::path::PathBuf))
                .help("What 'check --json' or 'check --trace' wrote; '-' is standard input"),
        )
        .args([json_option(), svg_option()])
        .after_help(format!(
            "Examples:\n  \
             {program} check {example} --trace run.json\n  \
             {program} replay run.json --svg run.svg\n  \
             {program} check {example} --json | {program} replay -\n\n\
             Exit codes: 1 the violation is confirmed, 65 it is not or the file is no trace, 66 no such file."
        ))
}

fn snapshot(program: &str, example: &str) -> Command {
    Command::new("snapshot")
        .about("Writes a state of the whole system, with its messages in flight, from a step of a trace")
        .arg(
            Arg::new("FILE")
                .required(true)
                .value_parser(value_parser!(std::path::PathBuf))
                .help("What 'check --json' or 'check --trace' wrote; '-' is standard input"),
        )
        .arg(
            named(Arg::new("step"))
                .value_name("NUMBER")
                .allow_negative_numbers(true)
                .value_parser(|text: &str| number(text, 0, u64::from(u32::MAX)))
                .help("After which step; after the last one unless given"),
        )
        .arg(
            named(Arg::new("output"))
                .value_name("FILE")
                .value_parser(value_parser!(std::path::PathBuf))
                .help("Write it to a file instead of printing it"),
        )
        .after_help(format!(
            "Examples:\n  \
             {program} check {example} --trace run.json\n  \
             {program} snapshot run.json --step 5 --output state.json\n  \
             {program} check {example} --from state.json --engine local"
        ))
}

fn list(program: &str, protocols: &[Protocol], example: &str) -> Command {
    let names = protocols.iter().map(|protocol| PossibleValue::new(protocol.name()).help(protocol.about()));
    Command::new("list")
        .about("Lists the protocols with their parameters and planted bugs")
        .arg(
            Arg::new("PROTOCOL")
                .value_parser(PossibleValuesParser::new(names))
                .hide_possible_values(true)
                .help("Show this one in detail"),
        )
        .arg(json_option())
        .after_help(format!(
            "Examples:\n  {program} list\n  {program} list {example}\n  {program} list --json"
        ))
}

fn completions(program: &str) -> Command {
    Command::new("completions")
        .about("Prints a script that completes commands, protocols, parameters and bugs in a shell")
        .arg(
            Arg::new("SHELL")
                .required(true)
                .value_parser(value_parser!(clap_complete::Shell))
                .help("Which shell"),
        )
        .after_help(format!(
            "Examples:\n  \
             {program} completions bash > ~/.local/share/bash-completion/completions/{program}\n  \
             {program} completions zsh > ~/.zfunc/_{program}\n  \
             {program} completions fish > ~/.config/fish/completions/{program}.fish"
        ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::System;

    #[test]
    fn the_command_line_is_well_formed() {
        let protocols = [Protocol::new("one", "nothing", |_| System::<u8>::new())
            .number("size", 2, 1..=4, "how large")
            .choice("kind", ["a", "b"], "which")
            .bug("broken", "all of it")];
        command("quorate", &protocols).expect("a command line").debug_assert();
    }

    #[test]
    fn a_parameter_cannot_take_the_name_of_an_option() {
        for name in ["threads", "color", "help", "bug", "channel", "crash", "losses"] {
            let protocol = Protocol::new("one", "nothing", |_| System::<u8>::new())
                .choice(name, ["a"], "clashes")
                .bug("broken", "all of it");
            let error = command("quorate", &[protocol]).expect_err(name);
            assert!(error.to_string().contains(&format!("'--{name}', which is taken")), "{error}");
        }
    }
}
