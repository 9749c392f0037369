//! `list`: the catalogue, in short or one protocol in detail.

use std::fmt::Write as _;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, ArgMatches};
use owo_colors::OwoColorize as _;

use super::Command;
use crate::program::Program;
use crate::program::failure::Failure;
use crate::program::options::{json_option, stones};
use crate::program::output;
use crate::program::output::json::{self, FORMAT, ListedProtocol};
use crate::protocol::{Domain, Parameter, Protocol};

/// The command `list`.
pub(crate) struct List;

impl Command for List {
    fn name(&self) -> &'static str {
        "list"
    }

    fn arguments(&self, program: &Program, name: &str) -> Result<clap::Command, Failure> {
        let example = program.protocols().first().map_or("PROTOCOL", Protocol::name);
        let protocols = program.protocols();
        let names =
            protocols.iter().map(|protocol| PossibleValue::new(protocol.name()).help(protocol.about()));
        Ok(clap::Command::new("list")
            .about("Lists the protocols with their parameters and planted bugs")
            .arg(
                Arg::new("PROTOCOL")
                    .value_parser(PossibleValuesParser::new(names))
                    .hide_possible_values(true)
                    .help("Show this one in detail"),
            )
            .arg(json_option())
            .after_help(format!("Examples:\n  {name} list\n  {name} list {example}\n  {name} list --json")))
    }

    fn run(&self, program: &Program, given: &ArgMatches) -> Result<u8, Failure> {
        let wanted = given.get_one::<String>("PROTOCOL");
        let shown: Vec<&Protocol> = program
            .protocols()
            .iter()
            .filter(|protocol| wanted.is_none_or(|name| protocol.name() == name))
            .collect();
        let page = if given.get_flag("json") {
            let protocols = shown.iter().map(|protocol| ListedProtocol::of(protocol)).collect();
            output::json_line(&json::List { quorate: FORMAT, protocols })?
        } else {
            let entries: Vec<String> =
                shown.iter().map(|protocol| entry(program.name(), protocol, wanted.is_some())).collect();
            entries.join("\n")
        };
        output::print(&page, "the list")?;
        Ok(0)
    }
}

/// One protocol: a line for it, one for each parameter and bug, and in detail where it is from and how it
/// is run.
fn entry(program: &str, protocol: &Protocol, detailed: bool) -> String {
    let mut page = format!("{}  {}\n", protocol.name().bold(), protocol.about());
    if detailed && !protocol.reference_text().is_empty() {
        _ = writeln!(page, "  from: {}", protocol.reference_text());
    }
    let parameters = protocol
        .parameters()
        .iter()
        .map(|parameter| [format!("--{}", parameter.name), values(parameter), parameter.about.to_string()]);
    let bugs =
        protocol.bugs().iter().map(|bug| ["--bug".to_string(), bug.name.to_string(), bug.about.to_string()]);
    let rows: Vec<[String; 3]> = parameters.chain(bugs).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (names, values) = (width(0), width(1));
    for [name, value, about] in &rows {
        let name = format!("{name:<names$}");
        _ = writeln!(page, "  {}  {value:<values$}  {}", name.cyan(), about.dimmed());
    }
    if detailed {
        for name in stones::names(protocol) {
            _ = writeln!(page, "  stepping stone: {name}");
        }
        _ = writeln!(page, "\n  {program} check {} --help", protocol.name());
    }
    page
}

/// What a parameter may be, with its default: `3 (1 to 60)`, `quorum|single`.
fn values(parameter: &Parameter) -> String {
    match &parameter.domain {
        Domain::Number { default, range } => format!("{default} ({} to {})", range.start(), range.end()),
        Domain::Choice(words) => words.join("|"),
    }
}
