//! `list`: the catalogue, in short or one protocol in detail.

use std::fmt::Write as _;

use clap::ArgMatches;
use owo_colors::OwoColorize as _;

use super::failure::Failure;
use super::json::{FORMAT, List, ListedProtocol};
use super::{output, stones};
use crate::protocol::{Domain, Parameter, Protocol};

/// Prints the protocols, or the one that the matches of the subcommand name.
pub(super) fn list(program: &str, protocols: &[Protocol], matches: &ArgMatches) -> Result<u8, Failure> {
    let wanted = matches.get_one::<String>("PROTOCOL");
    let shown: Vec<&Protocol> =
        protocols.iter().filter(|protocol| wanted.is_none_or(|name| protocol.name() == name)).collect();
    let page = if matches.get_flag("json") {
        let protocols = shown.iter().map(|protocol| ListedProtocol::of(protocol)).collect();
        super::json_line(&List { quorate: FORMAT, protocols })?
    } else {
        let entries: Vec<String> =
            shown.iter().map(|protocol| entry(program, protocol, wanted.is_some())).collect();
        entries.join("\n")
    };
    output::print(&page, "the list")?;
    Ok(0)
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
