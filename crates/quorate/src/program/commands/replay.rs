//! `replay`: reads what `check --json` wrote, builds the same instance, takes the same steps on the user's
//! handlers, and confirms that the last state is broken as the file says.
//!
//! Invariant: whatever a file contains, the program ends with a confirmed violation or a one-line error.
//! Held by: quorate-cli/tests/replay.rs, quorate-cli/tests/errors.rs.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, value_parser};
use serde_json::Value;

use super::Command;
use crate::model::{Model, Trace, TraceStep};
use crate::program::Program;
use crate::program::failure::Failure;
use crate::program::options::{json_option, svg_option};
use crate::program::output::json::{Confirmed, FORMAT, Story, observed};
use crate::program::output::text::About;
use crate::program::output::{self, AnswerFile, sealed, text};
use crate::protocol::{Arguments, Protocol};
use crate::replay::{Broken, Replay};

/// A trace file larger than this is surely another file.
const BYTES_MAX: u64 = 256 << 20;

/// The command `replay`.
pub(crate) struct ReplayCommand;

impl Command for ReplayCommand {
    fn name(&self) -> &'static str {
        "replay"
    }

    fn arguments(&self, program: &Program, name: &str) -> Result<clap::Command, Failure> {
        let example = program.protocols().first().map_or("PROTOCOL", Protocol::name);
        Ok(clap::Command::new("replay")
            .about("Runs the trace of a violation again, on the protocol itself, and confirms what is broken")
            .args([story_file(), json_option(), svg_option()])
            .after_help(format!(
                "Examples:\n  \
                 {name} check {example} --trace run.json\n  \
                 {name} replay run.json --svg run.svg\n  \
                 {name} check {example} --json | {name} replay -\n\n\
                 Exit codes: 1 the violation is confirmed, 65 it is not or the file is no trace, 66 no such file."
            )))
    }

    fn run(&self, program: &Program, given: &ArgMatches) -> Result<u8, Failure> {
        let path = story_path(given);
        let bad = |reason: String| Failure::Data(format!("{} {reason}", called(path)));
        let picture = AnswerFile::named("svg", given)?;
        let story = story(path)?;
        let (protocol, arguments, model) = rebuilt(program.protocols(), &story).map_err(bad)?;
        let (trace, broken) = confirm(&model, &story).map_err(bad)?;

        let instance = text::instance(protocol, &arguments, &model);
        let about = About { instance: &instance, beginning: story.beginning.as_ref() };
        let page = if given.get_flag("json") {
            let beginning = story.beginning.clone();
            let story = Story::new(protocol, &arguments, &model, "violated", Some((&trace, &broken)), None);
            let story = Story { beginning, ..story };
            sealed::line(&Confirmed { story, engine: "replay" })?
        } else {
            text::violated(&about, &trace, &broken)
        };
        let gist = format!("the answer (violated: {broken})");
        let printed = output::print(&page, &gist);
        let drawn =
            picture.map_or(Ok(()), |picture| picture.write(&text::picture(&about, &trace, &broken), &gist));
        printed.and(drawn)?;
        Ok(1)
    }
}

/// The argument that names a file with a story.
pub(crate) fn story_file() -> Arg {
    Arg::new("FILE")
        .required(true)
        .value_parser(value_parser!(PathBuf))
        .help("What 'check --json' or 'check --trace' wrote; '-' is standard input")
}

/// What that argument names.
pub(crate) fn story_path(given: &ArgMatches) -> &Path {
    given.get_one::<PathBuf>("FILE").map_or(Path::new("-"), |path| path.as_path())
}

/// What a file is called in an error.
pub(crate) fn called(path: &Path) -> String {
    if path == Path::new("-") { "standard input".into() } else { format!("'{}'", path.display()) }
}

/// Reads the story in a file.
pub(crate) fn story(path: &Path) -> Result<Story, Failure> {
    let name = called(path);
    parse(&read(path, &name)?).map_err(|reason| Failure::Data(format!("{name} {reason}")))
}

/// The instance that a story is about, in its world.
pub(crate) fn rebuilt<'p>(
    protocols: &'p [Protocol],
    story: &Story,
) -> Result<(&'p Protocol, Arguments, Model), String> {
    let (protocol, arguments) = instance(protocols, story)?;
    let model = protocol
        .instance(&arguments)
        .map_err(|error| format!("is a trace of a system that cannot be built: {error}"))?;
    let model = story
        .world
        .read()
        .and_then(|world| model.in_world(world).map_err(|error| error.to_string()))
        .map_err(|reason| format!("is a trace of a world that does not exist: {reason}"))?;
    Ok((protocol, arguments, model))
}

fn read(path: &Path, name: &str) -> Result<Vec<u8>, Failure> {
    let missing = |error: io::Error| {
        Failure::Input(format!("cannot read {name}: {error}: expected what 'check --json' wrote"))
    };
    let mut content = Vec::new();
    let source: Box<dyn Read> = if path == Path::new("-") {
        Box::new(io::stdin())
    } else {
        Box::new(File::open(path).map_err(missing)?)
    };
    source.take(BYTES_MAX + 1).read_to_end(&mut content).map_err(missing)?;
    if content.len() as u64 > BYTES_MAX {
        return Err(Failure::Data(format!(
            "{name} is too large: expected a trace, at most {BYTES_MAX} bytes"
        )));
    }
    Ok(content)
}

/// The story in a file, or what is wrong with the file.
fn parse(content: &[u8]) -> Result<Story, String> {
    const EXPECTED: &str = "expected what 'check --json' wrote";
    let json: Value =
        serde_json::from_slice(content).map_err(|error| format!("is no JSON ({error}): {EXPECTED}"))?;
    let format = json.get("quorate").ok_or_else(|| format!("is no answer of quorate: {EXPECTED}"))?;
    if format.as_u64() != Some(FORMAT) {
        return Err(format!(
            "has format {format}, that of another version of quorate: expected format {FORMAT}, of this version"
        ));
    }
    sealed::check(&json).map_err(|broken| format!("{broken}: {EXPECTED}"))?;
    serde_json::from_value(json).map_err(|error| format!("is no answer of quorate ({error}): {EXPECTED}"))
}

/// The protocol and the arguments that a file names.
fn instance<'p>(protocols: &'p [Protocol], story: &Story) -> Result<(&'p Protocol, Arguments), String> {
    let protocol = protocols.iter().find(|protocol| protocol.name() == story.protocol).ok_or_else(|| {
        let known: Vec<&str> = protocols.iter().map(Protocol::name).collect();
        format!("is a trace of unknown protocol '{}': expected {}", story.protocol, known.join(", "))
    })?;
    let given: Vec<(&str, String)> =
        story.parameters.iter().map(|(name, setting)| (name.as_str(), setting.text())).collect();
    let arguments = protocol
        .arguments(given.iter().map(|(name, text)| (*name, text.as_str())), story.bug.as_deref())
        .map_err(|error| format!("is a trace of an instance that does not exist: {error}"))?;
    Ok((protocol, arguments))
}

/// Follows the steps of a story, and compares what is broken afterwards with what it says.
fn confirm(model: &Model, story: &Story) -> Result<(Trace, Broken), String> {
    let Some(steps) = story.trace.as_ref().filter(|_| story.verdict == "violated") else {
        return Err(format!(
            "has no violation to replay: expected verdict 'violated' and a trace, its verdict is '{}'",
            story.verdict
        ));
    };
    let refused = |reason: String| format!("does not replay: {reason}");
    same_beginning(&Replay::new(model).into_trace(), story).map_err(refused)?;
    let mut run = Replay::new(model);
    for (at, step) in steps.iter().enumerate() {
        let said = step.read().map_err(|no_step| refused(format!("step {}: {no_step}", at + 1)))?;
        if let Err(error) = run.follow(&said) {
            // Of a step that was taken, but not as the file says, the first difference is reported.
            let happened = run.into_trace().steps;
            let difference = happened.get(at).and_then(|happened| difference(happened, &said));
            return Err(refused(
                difference.map_or(error.to_string(), |text| format!("step {}: {text}", at + 1)),
            ));
        }
    }
    let broken = run.broken().ok_or_else(|| {
        refused(format!("expected '{}' violated at its end, but nothing is", story.property))
    })?;
    if broken.property() != story.property {
        let (happened, said) = (broken.property(), &story.property);
        return Err(refused(format!("expected '{said}' violated at its end, but '{happened}' is")));
    }
    if observed(&broken) != story.observed {
        return Err(refused("what the property sees at its end differs from the file".to_string()));
    }
    Ok((run.into_trace(), broken))
}

/// Are the processes and their initial states those of the file?
fn same_beginning(beginning: &Trace, story: &Story) -> Result<(), String> {
    let initial = story.initial.as_deref().unwrap_or_default();
    if beginning.processes != story.processes || beginning.initial.len() != initial.len() {
        return Err(format!("expected the processes {}", beginning.processes.join(", ")));
    }
    match beginning.initial.iter().zip(initial).position(|(happens, said)| happens != said) {
        Some(at) => Err(format!(
            "{} starts in {}, not in {} as the file says",
            beginning.processes[at], beginning.initial[at], initial[at]
        )),
        None => Ok(()),
    }
}

/// Something that can be said of a step.
type Aspect = fn(&TraceStep) -> String;

/// The first thing in which a step that was taken differs from what the file says.
fn difference(happened: &TraceStep, said: &TraceStep) -> Option<String> {
    let aspects: [(&str, Aspect); 6] = [
        ("consumes", |step| joined(step.consumed.iter().map(|consumed| &consumed.message))),
        ("chooses", |step| joined(step.choices.iter().map(|choice| &choice.text))),
        ("sends", |step| joined(step.sent.iter().map(|sent| &sent.message))),
        ("emits", |step| joined(step.events.iter())),
        ("leads to", |step| step.state.clone()),
        ("panics with", |step| joined(step.panic.iter())),
    ];
    aspects.into_iter().find_map(|(verb, aspect)| {
        let (now, then) = (aspect(happened), aspect(said));
        let name = &happened.transition;
        (now != then).then(|| format!("'{name}' {verb} {now}, not {then} as the file says"))
    })
}

fn joined<'a>(texts: impl Iterator<Item = &'a String>) -> String {
    let texts: Vec<&str> = texts.map(String::as_str).collect();
    if texts.is_empty() { "nothing".to_string() } else { texts.join(", ") }
}
