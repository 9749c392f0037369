//! The world on the command line, in files and in reports: `--channel`, `--delivery`, `--crash` and their like.
//!
//! What an option says of a role is kept in the order of names, so that a world reads the same wherever it comes
//! from.
//! Invariant: a world that was written into a file, or as options, is the same when it is read again.
//! Held by: the tests below, quorate-cli/tests/worlds.rs.

use std::collections::BTreeMap;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, ArgAction, ArgMatches};
use serde::{Deserialize, Serialize};

use super::{named, number};
use crate::model::Model;
use crate::program::failure::Failure;
use crate::property::When;
use crate::report::Report;
use crate::world::{
    BUDGET_MAX, Channel, CrashSends, Crashes, Delivery, MustCrashInSteps, StepKind, World, WorldError,
};

/// The options of `check` that make a world.
pub(crate) fn options() -> Vec<Arg> {
    let a_role = |arg: Arg| arg.action(ArgAction::Append).value_delimiter(',');
    let budget = |arg: Arg| {
        arg.value_name("NUMBER")
            .allow_negative_numbers(true)
            .value_parser(|text: &str| number(text, 0, BUDGET_MAX as u64))
    };
    let args = [
        Arg::new("channel")
            .value_name("NAME")
            .value_parser(|text: &str| text.parse::<Channel>())
            .help(format!("How messages wait, bag unless given: {}", Channel::EXPECTED)),
        Arg::new("delivery")
            .alias("model")
            .value_name("HOW")
            .value_parser(PossibleValuesParser::new(DELIVERIES.map(|(name, model, delivery)| {
                PossibleValue::new(name).alias(model).help(about_delivery(delivery))
            })))
            .help("How they are delivered; at once unless given"),
        Arg::new("crash").value_name("HOW").value_parser(["implicit", "explicit"]).help(
            "A crashed process is a slow one (implicit, unless given), or crashes are steps (explicit)",
        ),
        a_role(Arg::new("crash-prone").value_name("ROLE=N"))
            .value_parser(crash_prone)
            .help("Explicit crashes of the first N processes of a role; of every process unless given"),
        Arg::new("partial-sends")
            .action(ArgAction::SetTrue)
            .help("Explicit crashes in the middle of sending: some of the messages are sent"),
        a_role(Arg::new("restart").value_name("ROLE[=N]")).value_parser(restart).help(
            "Each process of a role may restart N times, once unless given, with what it keeps on disk",
        ),
        budget(Arg::new("lose").alias("losses"))
            .help("So many messages to each process may get lost, in steps of their own"),
        budget(Arg::new("duplicate").alias("duplications"))
            .help("So many messages to each process may be doubled, in steps of their own"),
    ];
    args.into_iter().map(|arg| named(arg).help_heading("World")).collect()
}

/// How messages are delivered: the name of the option's value, and that of the papers.
const DELIVERIES: [(&str, &str, Delivery); 3] = [
    ("at-once", "m", Delivery::AtOnce),
    ("in-steps", "m-mp", Delivery::InSteps),
    ("in-steps-all", "mp", Delivery::InStepsConsumingAll),
];

fn about_delivery(delivery: Delivery) -> &'static str {
    match delivery {
        Delivery::AtOnce => "a message that is sent can be consumed (model M)",
        Delivery::InSteps => "in steps of their own; a process consumes some of what was delivered (M-MP)",
        Delivery::InStepsConsumingAll => {
            "in steps of their own; a process consumes all that was delivered (MP)"
        }
    }
}

/// By either of its names.
fn delivery_named(name: &str) -> Option<Delivery> {
    DELIVERIES
        .into_iter()
        .find(|(word, model, _)| [*word, *model].contains(&name))
        .map(|(.., delivery)| delivery)
}

/// The option that asks for a way to deliver.
fn delivery_option(delivery: Delivery) -> String {
    let name = DELIVERIES.into_iter().find(|(.., known)| *known == delivery).map_or("", |(name, ..)| name);
    format!("--delivery {name}")
}

/// A role and a number: `acceptor=2`.
type RoleCount = (String, usize);

fn crash_prone(text: &str) -> Result<RoleCount, &'static str> {
    role_count(text, None).ok_or("expected ROLE=N, such as acceptor=1")
}

fn restart(text: &str) -> Result<RoleCount, &'static str> {
    role_count(text, Some(1)).ok_or("expected ROLE or ROLE=N with N from 0 to 255")
}

fn role_count(text: &str, unless_given: Option<usize>) -> Option<RoleCount> {
    let (role, count) = match text.rsplit_once('=') {
        Some((role, count)) => (role, count.parse().ok()?),
        None => (text, unless_given?),
    };
    (!role.is_empty() && count <= BUDGET_MAX).then(|| (role.to_string(), count))
}

/// Puts a model into the world that the options say; what they do not say is as the model has it.
pub(crate) fn put(protocol: &str, model: Model, matches: &ArgMatches) -> Result<Model, Failure> {
    let (asked, world) = (matches.get_one::<String>("crash"), from_options(&model, matches)?);
    if asked.is_some_and(|word| word == "implicit")
        && let Some(reason) = world.why_crashes_must_be_steps(&model)
    {
        return Err(Failure::Usage(format!(
            "--crash implicit does not cover crashes: {}",
            crash_in_steps(&reason)
        )));
    }
    model.in_world(world).map_err(|error| Failure::Usage(format!("{protocol}: {}", with_option(&error))))
}

fn from_options(model: &Model, matches: &ArgMatches) -> Result<World, Failure> {
    let usage = |text: String| Err(Failure::Usage(text));
    let mut world = model.world().clone();
    if let Some(channel) = matches.get_one::<Channel>("channel") {
        world.channel = *channel;
    }
    if let Some(delivery) = matches.get_one::<String>("delivery").and_then(|name| delivery_named(name)) {
        world.delivery = delivery;
    }
    let (prone, partial) = (role_counts("crash-prone", matches)?, matches.get_flag("partial-sends"));
    let detail = match (&prone, partial) {
        (Some(_), _) => Some("--crash-prone"),
        (None, true) => Some("--partial-sends"),
        (None, false) => None,
    };
    match (matches.get_one::<String>("crash").map(String::as_str), detail) {
        (Some("implicit"), Some(option)) => {
            return usage(format!("{option} is for crashes that are steps: expected --crash explicit"));
        }
        (Some("implicit"), None) => world.crashes = Crashes::Implicit,
        (Some(_), _) | (None, Some(_)) => {
            let sends = if partial { CrashSends::Some } else { CrashSends::All };
            world.crashes = Crashes::Explicit { prone: prone.unwrap_or_else(|| everybody(model)), sends };
        }
        (None, None) => {}
    }
    if let Some(restarts) = role_counts("restart", matches)? {
        world.restarts = restarts;
    }
    for (option, budget) in [("lose", &mut world.losses), ("duplicate", &mut world.duplications)] {
        if let Some(number) = matches.get_one::<u64>(option) {
            *budget = usize::try_from(*number).unwrap_or(BUDGET_MAX);
        }
    }
    Ok(world)
}

/// What an option says of roles, if it is given.
fn role_counts(option: &str, matches: &ArgMatches) -> Result<Option<Vec<RoleCount>>, Failure> {
    let Some(given) = matches.get_many::<RoleCount>(option) else { return Ok(None) };
    let mut counts = BTreeMap::new();
    for (role, count) in given.cloned() {
        if counts.contains_key(&role) {
            return Err(Failure::Usage(format!("--{option} names role '{role}' twice: expected once")));
        }
        counts.insert(role, count);
    }
    Ok(Some(counts.into_iter().collect()))
}

/// Every process of every role.
fn everybody(model: &Model) -> Vec<RoleCount> {
    let mut all: Vec<RoleCount> =
        model.roles().names().map(|role| (role.to_string(), model.roles().of(role).len())).collect();
    all.sort();
    all
}

/// The options that make a world; none for the default.
pub(crate) fn words(world: &World) -> Vec<String> {
    let counts = |counts: &[RoleCount]| {
        counts.iter().map(|(role, count)| format!("{role}={count}")).collect::<Vec<_>>().join(",")
    };
    let mut words = Vec::new();
    if world.channel != Channel::default() {
        words.push(format!("--channel {}", world.channel));
    }
    if world.delivery != Delivery::default() {
        words.push(delivery_option(world.delivery));
    }
    if let Crashes::Explicit { prone, sends } = &world.crashes {
        words.push(format!("--crash explicit --crash-prone {}", counts(prone)));
        if *sends != CrashSends::All {
            words.push("--partial-sends".to_string());
        }
    }
    if !world.restarts.is_empty() {
        words.push(format!("--restart {}", counts(&world.restarts)));
    }
    for (option, budget) in [("lose", world.losses), ("duplicate", world.duplications)] {
        if budget > 0 {
            words.push(format!("--{option} {budget}"));
        }
    }
    words
}

/// Whether a search covers a kind of fault, and how.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Treatment {
    /// It needs no steps: runs without it show all that it can do.
    #[default]
    Implicit,
    /// It is a step.
    Explicit,
    /// No.
    NotCovered,
}

/// Why crashes must be steps, and the options that make them so.
fn crash_in_steps(reason: &MustCrashInSteps) -> String {
    match reason {
        MustCrashInSteps::ShowsMissing(_) => format!("{reason}: use --crash explicit --partial-sends"),
        _ => format!("{reason}: use --crash explicit"),
    }
}

/// What is wrong with a world, and the option that would help.
pub(crate) fn with_option(error: &WorldError) -> String {
    match error {
        WorldError::DeliveryInSteps(_) => format!("{error}: use --delivery at-once"),
        WorldError::Losses(_) => format!("{error}: leave out --lose"),
        other => other.to_string(),
    }
}

/// How crashes are covered, and why not.
fn crashes(model: &Model) -> (Treatment, String) {
    match (&model.world().crashes, model.world().why_crashes_must_be_steps(model)) {
        (Crashes::Explicit { .. }, _) => (Treatment::Explicit, String::new()),
        (Crashes::Implicit, None) => (Treatment::Implicit, "a crashed process is a slow one".to_string()),
        (Crashes::Implicit, Some(reason)) => (Treatment::NotCovered, crash_in_steps(&reason)),
    }
}

/// How lost messages are covered, and why not.
fn losses(model: &Model) -> (Treatment, String) {
    let world = model.world();
    if world.faults().contains(&StepKind::Loss) {
        return (Treatment::Explicit, String::new());
    }
    let instead = match world.channel {
        Channel::Lossy => return (Treatment::Implicit, "a run may end while messages wait".to_string()),
        Channel::Bag | Channel::Set | Channel::Duplicating => {
            let at_end = model.properties().iter().find(|property| property.when() == When::AtEnd);
            let Some(property) = at_end else {
                let note = "a lost message is one that is never consumed";
                return (Treatment::Implicit, note.to_string());
            };
            return (
                Treatment::NotCovered,
                format!("'{}' looks at the end of runs: use --channel lossy or --lose", property.name()),
            );
        }
        Channel::Fifo => "use --channel lossy-fifo or --lose",
        Channel::Mailbox => "use --channel lossy-mailbox or --lose",
        _ => "use --lose",
    };
    let note = format!("in {} channels a message in front holds up the others: {instead}", world.channel);
    (Treatment::NotCovered, note)
}

/// What a report says of a kind of fault: its name, how many steps it was, and a note.
pub(crate) type FaultRow = (&'static str, Option<u64>, String);

/// What a report says of faults: how often those fired that are steps, and whether those are covered that are
/// not. A violation is one whatever is covered.
pub(crate) fn rows(model: &Model, report: &Report) -> Vec<FaultRow> {
    let unless_violated = |covered| report.verdict.violation().is_none().then_some(covered);
    let kinds = [
        (StepKind::Crash, unless_violated(crashes(model))),
        (StepKind::Restart, None),
        (StepKind::Loss, unless_violated(losses(model))),
        (StepKind::Duplication, None),
    ];
    let row = |(kind, covered): (StepKind, Option<(Treatment, String)>)| {
        let fired = report.faults.iter().find(|(asked, _)| *asked == kind);
        match (fired, covered) {
            (Some((_, fired)), _) => Some((plural(kind), Some(*fired), "distinct local steps".to_string())),
            (None, Some((Treatment::Implicit, note))) => {
                Some((plural(kind), None, format!("covered, without steps: {note}")))
            }
            (None, Some((Treatment::NotCovered, note))) => {
                Some((plural(kind), None, format!("not covered: {note}")))
            }
            _ => None,
        }
    };
    kinds.into_iter().filter_map(row).collect()
}

fn plural(kind: StepKind) -> &'static str {
    match kind {
        StepKind::Transition => "transitions",
        StepKind::Crash | StepKind::Stop => "crashes",
        StepKind::Delivery => "deliveries",
        StepKind::Restart => "restarts",
        StepKind::Loss => "lost messages",
        StepKind::Duplication => "doubled messages",
    }
}

/// A fault that never fired says nothing about the protocol.
pub(crate) fn warnings(report: &Report) -> Vec<String> {
    let silent = report.faults.iter().filter(|(_, fired)| *fired == 0);
    silent
        .map(|(kind, _)| {
            format!("{} were asked for and never happened: nothing is known of them", plural(*kind))
        })
        .collect()
}

/// Which faults may happen, as a file has it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Faults {
    crash: Treatment,
    /// How many processes of a role may crash, if crashes are steps.
    prone: BTreeMap<String, usize>,
    partial_sends: bool,
    /// How often each process of a role may restart.
    restarts: BTreeMap<String, usize>,
    loss: Treatment,
    losses: usize,
    duplications: usize,
    /// How many distinct local steps each kind of fault was that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    fired: Option<BTreeMap<String, u64>>,
}

/// A world, as a file has it. A file without it is of a time when there was one world only.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct WorldStory {
    #[serde(default = "default_model")]
    model: String,
    #[serde(default = "default_channel")]
    channel: String,
    #[serde(default)]
    faults: Faults,
}

fn default_model() -> String {
    Delivery::default().to_string()
}

fn default_channel() -> String {
    Channel::default().to_string()
}

impl WorldStory {
    /// The world of a model, and what happened in it if it has been searched.
    pub(crate) fn of(model: &Model, report: Option<&Report>) -> Self {
        let world = model.world();
        let (prone, partial_sends) = match &world.crashes {
            Crashes::Implicit => (BTreeMap::new(), false),
            // The program has no option for more than a crash can do.
            Crashes::Explicit { prone, sends } => {
                (prone.iter().cloned().collect(), *sends != CrashSends::All)
            }
        };
        let fired = |report: &Report| {
            report.faults.iter().map(|(kind, fired)| (kind.name().to_string(), *fired)).collect()
        };
        WorldStory {
            model: world.delivery.to_string(),
            channel: world.channel.to_string(),
            faults: Faults {
                crash: crashes(model).0,
                prone,
                partial_sends,
                restarts: world.restarts.iter().cloned().collect(),
                loss: losses(model).0,
                losses: world.losses,
                duplications: world.duplications,
                fired: report.map(fired),
            },
        }
    }

    /// The world that a file describes, or what is wrong with it.
    pub(crate) fn read(&self) -> Result<World, String> {
        let Faults { prone, restarts, losses, duplications, .. } = &self.faults;
        let sends = if self.faults.partial_sends { CrashSends::Some } else { CrashSends::All };
        let prone = prone.clone().into_iter().collect();
        Ok(World {
            channel: self
                .channel
                .parse()
                .map_err(|expected| format!("channel '{}': {expected}", self.channel))?,
            delivery: delivery_named(&self.model)
                .ok_or_else(|| format!("model '{}': expected m, mp or m-mp", self.model))?,
            crashes: match self.faults.crash {
                Treatment::Explicit => Crashes::Explicit { prone, sends },
                Treatment::Implicit | Treatment::NotCovered => Crashes::Implicit,
            },
            restarts: restarts.clone().into_iter().collect(),
            losses: *losses,
            duplications: *duplications,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::RoleName;
    use crate::protocol::{Role, System, Transitions};

    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct Idle;

    impl Role for Idle {
        type Message = u8;
        fn transitions(&self, _: &mut Transitions<Self>) {}
    }

    fn in_world(words: &[&str]) -> Result<Model, String> {
        let system = System::new()
            .role(RoleName::new("voter"), 3, |_| Idle)
            .role(RoleName::new("candidate"), 2, |_| Idle)
            .build();
        let command = clap::Command::new("check").no_binary_name(true).args(options());
        let matches = command.try_get_matches_from(words).map_err(|error| error.to_string())?;
        put("vote", system.expect("a system"), &matches).map_err(|failure| failure.to_string())
    }

    #[test]
    fn options_and_files_make_the_same_world_again() {
        let lines = [
            "",
            "--channel lossy-fifo",
            "--channel blocking:2 --lose 3",
            "--delivery in-steps-all --crash explicit --crash-prone candidate=1,voter=2 --partial-sends",
            "--delivery in-steps --restart candidate=2,voter=1 --duplicate 1",
        ];
        for line in lines {
            let model = in_world(&line.split_whitespace().collect::<Vec<_>>()).expect(line);
            assert_eq!(words(model.world()).join(" "), line);
            let file = serde_json::to_string(&WorldStory::of(&model, None)).expect("JSON");
            let read: WorldStory = serde_json::from_str(&file).expect("a world");
            assert_eq!(read.read().as_ref(), Ok(model.world()), "{file}");
        }
    }

    #[test]
    fn what_is_short_stands_for_something() {
        let said = |line: &str| {
            words(in_world(&line.split_whitespace().collect::<Vec<_>>()).expect(line).world()).join(" ")
        };
        let all = "--crash explicit --crash-prone candidate=2,voter=3";
        assert_eq!(said("--crash explicit"), all);
        assert_eq!(said("--partial-sends"), format!("{all} --partial-sends"));
        assert_eq!(said("--crash-prone voter=1"), "--crash explicit --crash-prone voter=1");
        assert_eq!(
            said("--crash-prone voter=1 --crash-prone candidate=2"),
            "--crash explicit --crash-prone candidate=2,voter=1"
        );
        assert_eq!(said("--restart voter"), "--restart voter=1");
        assert_eq!(said("--channel bag --delivery at-once --crash implicit --lose 0"), "");
        assert_eq!(said("--channel lossy"), "--channel lossy");
    }

    #[test]
    fn a_file_without_a_world_has_the_default_one() {
        let read: WorldStory = serde_json::from_str("{}").expect("a world");
        assert_eq!(read.read(), Ok(World::default()));
        let old = r#"{"model": "m", "channel": "bag", "faults": {"crash": "implicit"}}"#;
        let read: WorldStory = serde_json::from_str(old).expect("a world");
        assert_eq!(read.read(), Ok(World::default()));
    }
}
