//! The command line: `check`, `graph`, `replay`, `list` and others for a catalogue of protocols. The program `quorate`
//! is this with the zoo, the engines of papers and their tables; a user's own binary is this with the user's protocols.
//!
//! Everything that reads a clock, a terminal, a file or the environment is here, and so are the formats of
//! files; nothing below this module knows of them.
//! Held by: quorate-cli/tests.

mod checksum;
mod commands;
mod failure;
mod job;
pub mod options;
pub mod output;
mod refusals;
mod store;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::ArgMatches;
use clap::error::ErrorKind;

pub use self::commands::Command;
pub use self::failure::Failure;
use self::failure::condensed;
pub use self::job::{Answer, Job};
pub use self::options::EngineOption;
use crate::model::TraceStep;
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
    Program::new(protocols).main()
}

/// The program, for some protocols; other crates add engines and commands to it.
///
/// ```
/// use quorate::program::Program;
/// use quorate::{Protocol, Role, RoleName, System, Transitions, observe};
///
/// # #[derive(Clone, PartialEq, Eq, Hash, Debug)]
/// # struct Counter(u8);
/// # impl Role for Counter {
/// #     type Message = ();
/// #     fn transitions(&self, t: &mut Transitions<Self>) {
/// #         t.internal("count").when(|c| c.0 < 3).run(|c, _| c.0 += 1);
/// #     }
/// # }
/// let counter = Protocol::new("counter", "counts to three", |arguments| {
///     System::new()
///         .role(RoleName::new("counter"), arguments.number("counters"), |_| Counter(0))
///         .invariant("at most three", observe(|c: &Counter| c.0), |counts| counts.iter().all(|c| *c <= 3))
/// });
/// let program = Program::new([counter.number("counters", 1, 1..=8, "how many count")]);
///
/// // As `check counter --counters 2 --reduce none` on the command line.
/// let answer = program.answer(&["counter", "--counters", "2", "--reduce", "none"])?;
/// answer.report.assert_holds();
/// assert_eq!(answer.report.coverage.states, 4 * 4);
/// # Ok::<(), quorate::program::Failure>(())
/// ```
pub struct Program {
    name: String,
    protocols: Vec<Protocol>,
    engines: Vec<EngineOption>,
    commands: Vec<Box<dyn Command>>,
}

impl Program {
    /// The program for these protocols.
    pub fn new(protocols: impl IntoIterator<Item = Protocol>) -> Self {
        Program {
            name: "quorate".to_string(),
            protocols: protocols.into_iter().collect(),
            engines: options::engines::ENGINES.into_iter().collect(),
            commands: commands::all(),
        }
    }

    /// With another engine.
    #[must_use]
    pub fn engine(mut self, engine: EngineOption) -> Self {
        self.engines.push(engine);
        self
    }

    /// With another command.
    #[must_use]
    pub fn command(mut self, command: impl Command + 'static) -> Self {
        self.commands.push(Box::new(command));
        self
    }

    /// Does what the command line of the process says.
    pub fn main(mut self) -> ExitCode {
        let line: Vec<OsString> = std::env::args_os().collect();
        if let Some(name) = line.first().and_then(|path| Path::new(path).file_name()?.to_str()) {
            self.name = name.to_string();
        }
        output::set_color(color_asked_for(&line).unwrap_or("auto"));
        match self.run(&line) {
            Ok(code) => ExitCode::from(code),
            Err(failure) => {
                output::fail(&failure);
                ExitCode::from(failure.exit_code())
            }
        }
    }

    /// What the user calls it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its protocols.
    pub fn protocols(&self) -> &[Protocol] {
        &self.protocols
    }

    /// Its engines.
    pub fn engines(&self) -> &[EngineOption] {
        &self.engines
    }

    /// The answer to a line of `check`, such as `["paxos", "--reduce", "none"]`; nothing is printed but progress.
    pub fn answer(&self, line: &[&str]) -> Result<Answer, Failure> {
        self.job(line, &[])?.run()
    }

    /// The search that a line of `check` asks for; after these steps, if there are any.
    pub fn job(&self, line: &[&str], steps: &[TraceStep]) -> Result<Job<'_>, Failure> {
        let line: Vec<OsString> =
            [self.name(), "check"].into_iter().chain(line.iter().copied()).map(OsString::from).collect();
        let mut command = self.command_line(self.name())?;
        let given = command.try_get_matches_from_mut(&line);
        let given = given.map_err(|error| condensed(&error, &command, &line))?;
        let Some((_, given)) = given.subcommand() else {
            return Err(Failure::Usage("no protocol given: expected one".to_string()));
        };
        let (protocol, given) = self.chosen(given)?;
        Job::new(self, protocol, given, steps)
    }

    /// Does what a command line says, with the name of the program first, and returns the exit code.
    pub fn run(&self, line: &[OsString]) -> Result<u8, Failure> {
        let mut command = self.command_line(self.name())?;
        let given = match command.try_get_matches_from_mut(line) {
            Ok(given) => given,
            Err(asked) if matches!(asked.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
                output::print(&asked.render().ansi().to_string(), "the help")?;
                return Ok(0);
            }
            Err(error) => return Err(condensed(&error, &command, line)),
        };
        let chosen = given.subcommand().and_then(|(name, given)| {
            let command = self.commands.iter().find(|command| command.name() == name)?;
            Some((command, given))
        });
        match chosen {
            Some((command, given)) => command.run(self, given),
            None => Err(Failure::Usage("no command given: expected one".to_string())),
        }
    }

    /// The whole command line. `name` is what the user calls the program.
    fn command_line(&self, name: &str) -> Result<clap::Command, Failure> {
        let example = self.protocols.first().map_or("PROTOCOL", Protocol::name);
        let mut command = clap::Command::new("quorate")
            .bin_name(name)
            .version(env!("CARGO_PKG_VERSION"))
            .about(
                "Checks message-passing, fault-tolerant distributed systems: every order of messages, every quorum.",
            )
            .subcommand_required(true)
            .disable_help_subcommand(true)
            .after_help(format!(
                "Examples:\n  \
                 {name} list\n  \
                 {name} check {example}\n  \
                 {name} check {example} --help\n\n\
                 Exit codes: 0 holds, 1 violated, 2 unknown, 64 and above: an error, in one line."
            ))
            .arg(
                clap::Arg::new("color")
                    .long("color")
                    .value_name("WHEN")
                    .value_parser(["auto", "always", "never"])
                    .default_value("auto")
                    .global(true)
                    .help("Colour the output; auto heeds NO_COLOR and CLICOLOR"),
            );
        for one in &self.commands {
            command = command.subcommand(one.arguments(self, name)?);
        }
        Ok(command)
    }

    /// The protocol that a command is given, with the options for it.
    fn chosen<'m>(&self, given: &'m ArgMatches) -> Result<(&Protocol, &'m ArgMatches), Failure> {
        match given.subcommand() {
            Some((name, given)) => Ok((self.named(name)?, given)),
            None => Err(Failure::Usage("no protocol given: expected one".to_string())),
        }
    }

    fn named(&self, name: &str) -> Result<&Protocol, Failure> {
        self.protocols
            .iter()
            .find(|protocol| protocol.name() == name)
            .ok_or_else(|| Failure::Usage(format!("unknown protocol '{name}': expected one of the list")))
    }
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
        let program = Program::new([vote.number("voters", 3, 0..=100, "how many")]);
        program.run(&line).expect_err("an error")
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
