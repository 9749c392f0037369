//! `snapshot`: a state of the whole system, with its messages in flight, from a step of a trace; and `check --from`,
//! which starts there.
//!
//! A snapshot is kept as the steps that lead to it: messages are referred to by the step that sent them, or by number
//! if they are forged, so nothing of the user's types has to be read back from text. The instance that starts there may be another one, with more to do
//! or a planted bug, as long as the steps can be taken in it.
//! Held by: quorate-cli/tests/snapshot.rs.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, value_parser};
use serde::Serialize;

use super::Command;
use super::replay::{called, rebuilt, story, story_file, story_path};
use crate::model::Model;
use crate::program::Program;
use crate::program::failure::Failure;
use crate::program::options::{named, number};
use crate::program::output::json::{self, Story, Waiting};
use crate::program::output::{self, AnswerFile, sealed};
use crate::protocol::Protocol;
use crate::replay::Replay;

/// What the verdict of a file is that is a snapshot.
const SNAPSHOT: &str = "snapshot";

/// The file that `snapshot` writes.
#[derive(Serialize)]
struct Snapshot {
    #[serde(flatten)]
    story: Story,
    /// The local states, as `Debug` prints them.
    states: Vec<String>,
    in_flight: Vec<Waiting>,
}

/// The command `snapshot`.
pub(crate) struct SnapshotCommand;

impl Command for SnapshotCommand {
    fn name(&self) -> &'static str {
        "snapshot"
    }

    fn arguments(&self, program: &Program, name: &str) -> Result<clap::Command, Failure> {
        let example = program.protocols().first().map_or("PROTOCOL", Protocol::name);
        Ok(clap::Command::new("snapshot")
            .about("Writes a state of the whole system, with its messages in flight, from a step of a trace")
            .arg(story_file())
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
                    .value_parser(value_parser!(PathBuf))
                    .help("Write it to a file instead of printing it"),
            )
            .after_help(format!(
                "Examples:\n  \
                 {name} check {example} --trace run.json\n  \
                 {name} snapshot run.json --step 5 --output state.json\n  \
                 {name} check {example} --from state.json --engine local"
            )))
    }

    fn run(&self, program: &Program, given: &ArgMatches) -> Result<u8, Failure> {
        let path = story_path(given);
        let bad = |reason: String| Failure::Data(format!("{} {reason}", called(path)));
        let mut story = story(path)?;
        let (_, _, model) = rebuilt(program.protocols(), &story).map_err(bad)?;
        let Some(mut steps) = story.trace.take() else {
            return Err(bad("has no trace: expected an answer with a violation, or a snapshot".to_string()));
        };
        let count = steps.len();
        let wanted =
            given.get_one::<u64>("step").map_or(count, |step| usize::try_from(*step).unwrap_or(usize::MAX));
        if wanted > count {
            return Err(Failure::Usage(format!(
                "--step {wanted}: expected 0 to {count}, the steps of the trace"
            )));
        }
        steps.truncate(wanted);
        let mut run = Replay::new(&model);
        for (at, step) in steps.iter().enumerate() {
            let step =
                step.read().map_err(|no_step| bad(format!("does not replay: step {}: {no_step}", at + 1)))?;
            run.follow(&step).map_err(|error| bad(format!("does not replay: {error}")))?;
        }
        let in_flight = run.in_flight().into_iter().map(Waiting::from).collect();
        let states = run.locals().iter().map(|state| format!("{state:?}")).collect();
        let story = Story {
            verdict: SNAPSHOT.to_string(),
            trace: Some(steps),
            observed: None,
            beginning: None,
            ..story
        };
        let page = sealed::line(&Snapshot { story, states, in_flight })?;
        let gist = format!("the snapshot after step {wanted}");
        match AnswerFile::named("output", given)? {
            Some(file) => file.write(&page, &gist)?,
            None => output::print(&page, &gist)?,
        }
        Ok(0)
    }
}

/// The model in the state that the file says which `--from` names, if it names one.
pub(crate) fn start(protocol: &Protocol, model: Model, matches: &ArgMatches) -> Result<Model, Failure> {
    let Some(path) = matches.get_one::<PathBuf>("from") else { return Ok(model) };
    let bad = |reason: String| Failure::Data(format!("{} {reason}", called(path)));
    let story = story(path)?;
    if story.verdict != SNAPSHOT {
        return Err(bad("is no snapshot: make one of it with 'snapshot FILE --step NUMBER'".to_string()));
    }
    if story.protocol != protocol.name() {
        let (of, expected) = (&story.protocol, protocol.name());
        return Err(bad(format!("is a snapshot of '{of}': expected one of '{expected}'")));
    }
    let read = |(at, step): (usize, &json::Step)| {
        step.read().map_err(|no_step| bad(format!("does not replay: step {}: {no_step}", at + 1)))
    };
    let steps = story.trace.iter().flatten().enumerate().map(read).collect::<Result<Vec<_>, Failure>>()?;
    model.after(&steps).map_err(|error| bad(format!("cannot be reached in this instance: {error}")))
}
