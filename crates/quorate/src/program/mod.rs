//! The command line: `check`, `local`, `replay`, `list` and `completions` for a catalogue of protocols, and `tables` where
//! there are any. The program `quorate` is this with the zoo and the tables of its papers; a user's own binary is
//! this with the user's protocols.
//!
//! Everything that reads a clock, a terminal, a file or the environment is here, and so are the formats of
//! files; nothing below this module knows of them.
//! Held by: quorate-cli/tests.

mod arguments;
mod check;
mod components;
mod failure;
mod json;
mod list;
mod local;
mod memory;
mod output;
mod progress;
mod reductions;
mod replay;
mod snapshot;
mod stones;
mod store;
pub mod tables;
mod text;
mod units;
mod world;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::ArgMatches;
use clap::error::ErrorKind;
use serde::Serialize;

use self::failure::{Failure, condensed};
use self::tables::{Exhibit, Table};
use crate::protocol::Protocol;

/// The whole program, for these protocols: `fn main() -> ExitCode { quorate::main([protocol()]) }`.
///
/// ```no_run
/// use quorate::{Outbox, Protocol, Role, RoleName, System, Transitions, observe};
///
/// #[derive(Clone, PartialEq, Eq, Hash, Debug)]
/// struct Counter(u8);
///
/// impl Role for Counter {
///     type Message = ();
///     fn transitions(&self, t: &mut Transitions<Self>) {
///         t.internal("count").when(|c| c.0 < 3).run(|c: &mut Counter, _: &mut Outbox<()>| c.0 += 1);
///     }
/// }
///
/// fn protocol() -> Protocol {
///     Protocol::new("counter", "counts to three", |_| {
///         System::new()
///             .role(RoleName::new("counter"), 1, |_| Counter(0))
///             .invariant("at most three", observe(|c: &Counter| c.0), |counts| counts.iter().all(|c| *c <= 3))
///     })
/// }
///
/// fn main() -> std::process::ExitCode {
///     quorate::main([protocol()])
/// }
/// ```
pub fn main(protocols: impl IntoIterator<Item = Protocol>) -> ExitCode {
    main_with(protocols, [] as [Table; 0])
}

/// The whole program, with a command `tables` for figures that somebody has published.
pub fn main_with(
    protocols: impl IntoIterator<Item = Protocol>,
    tables: impl IntoIterator<Item = impl Into<Exhibit>>,
) -> ExitCode {
    let protocols: Vec<Protocol> = protocols.into_iter().collect();
    let tables: Vec<Exhibit> = tables.into_iter().map(Into::into).collect();
    let line: Vec<OsString> = std::env::args_os().collect();
    match run(&protocols, &tables, &line) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            output::tell(&failure);
            ExitCode::from(failure.exit_code())
        }
    }
}

/// Does what a command line says, and returns the exit code.
fn run(protocols: &[Protocol], tables: &[Exhibit], line: &[OsString]) -> Result<u8, Failure> {
    output::set_color(color_asked_for(line).unwrap_or("auto"));
    let program = line.first().and_then(|path| Path::new(path).file_name()?.to_str()).unwrap_or("quorate");
    let mut command = arguments::command(program, protocols)?;
    if !tables.is_empty() {
        command = command.subcommand(tables::command(program, tables));
    }
    let matches = match command.try_get_matches_from_mut(line) {
        Ok(matches) => matches,
        Err(asked) if matches!(asked.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            output::print(&asked.render().ansi().to_string(), "the help")?;
            return Ok(0);
        }
        Err(error) => return Err(condensed(&error, &command, line)),
    };
    match matches.subcommand() {
        Some(("check", matches)) => {
            let (protocol, matches) = chosen(protocols, matches)?;
            check::check(protocol, matches)
        }
        Some(("local", matches)) => {
            let (protocol, matches) = chosen(protocols, matches)?;
            local::local(protocol, matches)
        }
        Some(("replay", matches)) => replay::replay(protocols, matches),
        Some(("snapshot", matches)) => snapshot::snapshot(protocols, matches),
        Some(("list", matches)) => list::list(program, protocols, matches),
        Some(("tables", matches)) => tables::run(protocols, tables, &command, matches),
        Some(("completions", matches)) => {
            let Some(shell) = matches.get_one::<clap_complete::Shell>("SHELL") else {
                return Err(Failure::Usage("no shell given: expected one".to_string()));
            };
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut command, program, &mut script);
            output::print(&String::from_utf8_lossy(&script), "the completions")?;
            Ok(0)
        }
        _ => Err(Failure::Usage("no command given: expected one".to_string())),
    }
}

/// The protocol that a command is given, with the rest of what the command is told.
fn chosen<'p, 'm>(
    protocols: &'p [Protocol],
    matches: &'m ArgMatches,
) -> Result<(&'p Protocol, &'m ArgMatches), Failure> {
    match matches.subcommand() {
        Some((name, matches)) => Ok((named(protocols, name)?, matches)),
        None => Err(Failure::Usage("no protocol given: expected one".to_string())),
    }
}

fn named<'p>(protocols: &'p [Protocol], name: &str) -> Result<&'p Protocol, Failure> {
    protocols
        .iter()
        .find(|protocol| protocol.name() == name)
        .ok_or_else(|| Failure::Usage(format!("unknown protocol '{name}': expected one of the list")))
}

/// What `--color` says, before the command line is parsed: help and errors heed it too.
fn color_asked_for(line: &[OsString]) -> Option<&str> {
    let mut words = line.iter().skip(1).map_while(|word| word.to_str());
    while let Some(word) = words.next() {
        match word.strip_prefix("--color") {
            Some("") => return words.next(),
            Some(rest) if rest.starts_with('=') => return rest.get(1..),
            _ => {}
        }
    }
    None
}

/// One JSON object on a line of its own.
fn json_line(value: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(value)
        .map(|json| json + "\n")
        .map_err(|error| Failure::Output(format!("cannot write JSON: {error}: expected plain values")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::RoleName;
    use crate::protocol::{Outbox, Quorum, Role, System, Transitions, some_of};

    const VOTERS: RoleName = RoleName::new("voter");

    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct Voter;

    impl Role for Voter {
        type Message = u8;

        fn transitions(&self, t: &mut Transitions<Self>) {
            t.quorum("count", some_of(4, VOTERS))
                .run(|_: &mut Voter, _: Quorum<'_, u8>, _: &mut Outbox<u8>| {});
        }
    }

    fn failure(words: &[&str]) -> Failure {
        let vote = Protocol::new("vote", "votes", |arguments| {
            System::new().role(VOTERS, arguments.number("voters"), |_| Voter)
        });
        let line: Vec<OsString> = words.iter().map(OsString::from).collect();
        run(&[vote.number("voters", 3, 0..=100, "how many")], &[], &line).expect_err("an error")
    }

    #[test]
    fn a_quorum_larger_than_its_senders_is_a_usage_error() {
        let failure = failure(&["own", "check", "vote"]);
        assert_eq!(failure.exit_code(), 64);
        let text = failure.to_string();
        assert_eq!(
            text,
            "vote: transition 'count' waits for a quorum of 4 of role 'voter', which has 3: expected 1 to 3"
        );
    }

    #[test]
    fn too_many_or_no_processes_are_usage_errors() {
        let many = failure(&["own", "check", "vote", "--voters", "65"]);
        assert_eq!((many.exit_code(), many.to_string().contains("at most 64 are supported")), (64, true));
        let none = failure(&["own", "check", "vote", "--voters", "0"]);
        assert_eq!((none.exit_code(), none.to_string().contains("needs at least one")), (64, true));
    }

    #[test]
    fn colour_is_known_before_the_command_line_is_parsed() {
        let line = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        assert_eq!(color_asked_for(&line(&["q", "check", "--color", "never"])), Some("never"));
        assert_eq!(color_asked_for(&line(&["q", "--color=always", "list"])), Some("always"));
        assert_eq!(color_asked_for(&line(&["q", "list"])), None);
    }
}
