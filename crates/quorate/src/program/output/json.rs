//! The formats that leave the program: the answer of `check --json`, which is also the file that `replay`
//! reads, and the list. What is read again carries a checksum (`sealed.rs`). crates/quorate-cli/tests/contract.rs is the contract for the names.
//!
//! Invariant: a change of what a file means changes [`FORMAT`].
//! Held by: quorate-cli/tests/contract.rs, quorate-cli/tests/replay.rs.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{memory, text};
use crate::base::{PROCESSES_MAX, ProcessId, Value};
use crate::model::{Choice, Consumed, Forged, Model, Origin, Sent, Source, Trace, TraceStep};
use crate::program::options::reductions::{self, SwitchedOff};
use crate::program::options::stones;
use crate::program::options::world::WorldStory;
use crate::protocol::{Argument, Arguments, Domain, Parameter, Protocol};
use crate::replay::Broken;
use crate::report::{ClosureSize, ComponentCounts, LocalDetails, Report, Stages, SymmetryCompared, Verdict};
use crate::world::StepKind;

/// The version of the format of answers and traces.
pub(crate) const FORMAT: u64 = 2;

/// The value of a parameter.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Setting {
    Number(usize),
    Choice(String),
}

impl Setting {
    pub(crate) fn text(&self) -> String {
        match self {
            Setting::Number(number) => number.to_string(),
            Setting::Choice(word) => word.clone(),
        }
    }
}

/// A message that a step consumed: who sent it, what it says, and where it was sent.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct ConsumedMessage {
    from: usize,
    message: String,
    /// Where it was sent; nowhere if it is forged.
    step: Option<usize>,
    send: Option<usize>,
    /// If it is forged: which of the messages that can be forged to this process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    forged: Option<ForgedMessage>,
}

/// Which message is forged.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct ForgedMessage {
    number: usize,
    /// A hash of its content, in hexadecimal digits.
    content: String,
}

impl ForgedMessage {
    fn of(Forged { number, content }: Forged) -> Self {
        ForgedMessage { number, content: format!("{content:016x}") }
    }

    fn read(&self) -> Option<Forged> {
        Some(Forged { number: self.number, content: u64::from_str_radix(&self.content, 16).ok()? })
    }
}

impl ConsumedMessage {
    fn of(consumed: &Consumed) -> Self {
        let (origin, forged) = match consumed.source {
            Source::Sent(origin) => (Some(origin), None),
            Source::Forged(forged) => (None, Some(ForgedMessage::of(forged))),
        };
        ConsumedMessage {
            from: consumed.from.index(),
            message: consumed.message.clone(),
            step: origin.map(|origin| origin.step),
            send: origin.map(|origin| origin.send),
            forged,
        }
    }

    fn read(&self) -> Result<Consumed, NoStep> {
        let source = match (self.step, self.send, &self.forged) {
            (Some(step), Some(send), None) => Some(Source::Sent(Origin { step, send })),
            (None, None, Some(forged)) => forged.read().map(Source::Forged),
            _ => None,
        };
        let source = source.ok_or_else(|| NoStep::NoSource(self.message.clone()))?;
        Ok(Consumed { from: process(self.from)?, message: self.message.clone(), source })
    }
}

/// Why what a file says is no step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum NoStep {
    /// No process can have this position.
    NoProcess(usize),
    /// Where this message comes from is not said, or twice.
    NoSource(String),
}

impl fmt::Display for NoStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoStep::NoProcess(position) => write!(f, "there is no process {position}"),
            NoStep::NoSource(message) => {
                write!(f, "{message} comes from nowhere: expected 'step' and 'send', or 'forged'")
            }
        }
    }
}

/// The process at a position.
fn process(position: usize) -> Result<ProcessId, NoStep> {
    if position < PROCESSES_MAX { Ok(ProcessId::new(position)) } else { Err(NoStep::NoProcess(position)) }
}

/// A message that a step sent.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct SentMessage {
    to: usize,
    message: String,
}

/// A message on its way.
#[derive(Serialize)]
pub(crate) struct Waiting {
    to: usize,
    from: usize,
    message: String,
}

impl From<(ProcessId, ProcessId, String)> for Waiting {
    fn from((to, from, message): (ProcessId, ProcessId, String)) -> Self {
        Waiting { to: to.index(), from: from.index(), message }
    }
}

impl SentMessage {
    pub(crate) fn new(to: ProcessId, body: &Value) -> Self {
        SentMessage { to: to.index(), message: format!("{body:?}") }
    }
}

/// A choice that a step made.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct ChoiceMade {
    index: usize,
    of: usize,
    text: String,
    /// Does it belong to the name of the step?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    names_step: bool,
}

impl ChoiceMade {
    fn of(Choice { index, of, text, names_step }: &Choice) -> Self {
        ChoiceMade { index: *index, of: *of, text: text.clone(), names_step: *names_step }
    }

    fn read(&self) -> Choice {
        let ChoiceMade { index, of, text, names_step } = self.clone();
        Choice { index, of, text, names_step }
    }
}

/// The kind of a step, by its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "&'static str")]
struct Kind(StepKind);

impl Kind {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
    fn is_transition(&self) -> bool {
        self.0 == StepKind::Transition
    }
}

impl Default for Kind {
    fn default() -> Self {
        Kind(StepKind::Transition)
    }
}

impl From<Kind> for &'static str {
    fn from(kind: Kind) -> Self {
        kind.0.name()
    }
}

impl TryFrom<String> for Kind {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        StepKind::named(&name).map(Kind).ok_or_else(|| format!("no kind of step is called '{name}'"))
    }
}

/// One step of a run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Step {
    process: usize,
    /// What kind of step; a transition unless it says otherwise.
    #[serde(default, skip_serializing_if = "Kind::is_transition")]
    kind: Kind,
    transition: String,
    consumed: Vec<ConsumedMessage>,
    choices: Vec<ChoiceMade>,
    sent: Vec<SentMessage>,
    /// What a crashed process did not send.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unsent: Vec<usize>,
    events: Vec<String>,
    state: String,
    panic: Option<String>,
}

impl Step {
    fn of(step: &TraceStep) -> Self {
        Step {
            process: step.process.index(),
            kind: Kind(step.kind),
            transition: step.transition.clone(),
            consumed: step.consumed.iter().map(ConsumedMessage::of).collect(),
            choices: step.choices.iter().map(ChoiceMade::of).collect(),
            sent: step
                .sent
                .iter()
                .map(|sent| SentMessage { to: sent.to.index(), message: sent.message.clone() })
                .collect(),
            unsent: step.unsent.clone(),
            events: step.events.clone(),
            state: step.state.clone(),
            panic: step.panic.clone(),
        }
    }

    /// The step that a file describes.
    pub(crate) fn read(&self) -> Result<TraceStep, NoStep> {
        let sent = |sent: &SentMessage| -> Result<Sent, NoStep> {
            Ok(Sent { to: process(sent.to)?, message: sent.message.clone() })
        };
        Ok(TraceStep {
            process: process(self.process)?,
            kind: self.kind.0,
            unsent: self.unsent.clone(),
            transition: self.transition.clone(),
            consumed: self.consumed.iter().map(ConsumedMessage::read).collect::<Result<_, _>>()?,
            choices: self.choices.iter().map(ChoiceMade::read).collect(),
            sent: self.sent.iter().map(sent).collect::<Result<_, _>>()?,
            events: self.events.clone(),
            state: self.state.clone(),
            panic: self.panic.clone(),
        })
    }
}

/// What a property saw of a process.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Observed {
    process: usize,
    value: String,
}

/// Where a search began that did not begin at the beginning.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Beginning {
    /// After how many steps.
    pub(crate) from_step: usize,
    /// The file in which the steps are, as the command line names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) from_file: Option<String>,
}

/// What was checked, what came out, and the run that shows it: the part of an answer that replay needs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Story {
    /// The version of the format.
    pub(crate) quorate: u64,
    pub(crate) protocol: String,
    pub(crate) parameters: BTreeMap<String, Setting>,
    pub(crate) bug: Option<String>,
    #[serde(flatten)]
    pub(crate) world: WorldStory,
    /// The violated property, or all that were checked.
    pub(crate) property: String,
    pub(crate) verdict: String,
    pub(crate) processes: Vec<String>,
    pub(crate) initial: Option<Vec<String>>,
    pub(crate) trace: Option<Vec<Step>>,
    pub(crate) observed: Option<Vec<Observed>>,
    /// If the search began in a snapshot.
    #[serde(flatten)]
    pub(crate) beginning: Option<Beginning>,
}

impl Story {
    pub(crate) fn new(
        protocol: &Protocol,
        arguments: &Arguments,
        model: &Model,
        verdict: &str,
        violation: Option<(&Trace, &Broken)>,
        report: Option<&Report>,
    ) -> Self {
        let properties: Vec<&str> = model.property_names().collect();
        Story {
            quorate: FORMAT,
            protocol: protocol.name().to_string(),
            parameters: settings(arguments),
            bug: arguments.bug().map(str::to_string),
            world: WorldStory::of(model, report),
            property: violation
                .map_or_else(|| text::joined(&properties), |(_, broken)| broken.property().to_string()),
            verdict: verdict.to_string(),
            processes: model.processes().iter().map(|process| process.name().to_string()).collect(),
            initial: violation.map(|(trace, _)| trace.initial.clone()),
            trace: violation.map(|(trace, _)| trace.steps.iter().map(Step::of).collect()),
            observed: violation.and_then(|(_, broken)| observed(broken)),
            beginning: None,
        }
    }
}

/// The values of the parameters, by name.
pub(crate) fn settings(arguments: &Arguments) -> BTreeMap<String, Setting> {
    let setting = |argument: &Argument| match argument {
        Argument::Number(number) => Setting::Number(*number),
        Argument::Choice(word) => Setting::Choice(word.clone()),
    };
    arguments.values().iter().map(|(name, argument)| (name.clone(), setting(argument))).collect()
}

/// What the broken property saw; nothing if it is a panic.
pub(crate) fn observed(broken: &Broken) -> Option<Vec<Observed>> {
    match broken {
        Broken::Property { observed, .. } => Some(
            observed
                .iter()
                .map(|(process, value)| Observed { process: process.index(), value: value.clone() })
                .collect(),
        ),
        Broken::History { .. } | Broken::Panic { .. } => None,
    }
}

/// What came of exploring components one by one.
#[derive(Serialize)]
struct ComponentFigures {
    /// Nothing if some run never ends, or not everything was explored.
    local_traces: Option<u128>,
    global_skeletons: u64,
    global_traces: Option<u128>,
    cuts: u64,
}

impl ComponentFigures {
    fn of(counts: ComponentCounts) -> Self {
        let ComponentCounts { local_traces, global_skeletons, global_traces, cuts, .. } = counts;
        ComponentFigures { local_traces, global_skeletons, global_traces, cuts }
    }
}

/// What a search in stages came to.
#[derive(Serialize)]
struct StageFigures {
    stages: u32,
    stones: u64,
    /// Over how many stones the violation was found; nothing if there is none.
    stones_passed: Option<u32>,
}

impl StageFigures {
    fn of(Stages { stages, stones, passed }: Stages) -> Self {
        StageFigures { stages, stones, stones_passed: passed }
    }
}

/// What was asked for: what of an answer is not in its report.
pub(crate) struct Asked {
    pub(crate) engine: &'static str,
    pub(crate) order: &'static str,
    pub(crate) visited: &'static str,
    pub(crate) switched_off: Vec<SwitchedOff>,
}

/// The answer of `check --json`.
#[derive(Serialize)]
pub(crate) struct Answer {
    #[serde(flatten)]
    story: Story,
    engine: &'static str,
    order: &'static str,
    visited: &'static str,
    reductions: Vec<&'static str>,
    /// Reductions that were not used, and why.
    switched_off: Vec<SwitchedOff>,
    /// What was given up on the way, these reductions included.
    fallbacks: Vec<String>,
    /// Did processes sleep whose steps are found another way? If global states were searched.
    sleep_sets: Option<bool>,
    /// How often it was searched from the start.
    repeats: Option<u32>,
    states: u64,
    transitions: u64,
    depth: u32,
    terminal_states: u64,
    /// Vectors of local states, if they were counted.
    system_states: Option<u64>,
    local_steps: u64,
    handler_calls: u64,
    /// What was compared to be sure of a symmetry, if it was used.
    #[serde(skip_serializing_if = "Option::is_none")]
    symmetry: Option<SymmetryFigures>,
    #[serde(flatten)]
    components: Option<ComponentFigures>,
    /// If it was searched in stages.
    #[serde(flatten)]
    stages: Option<StageFigures>,
    /// By fingerprint only.
    missed_probability: Option<f64>,
    /// The local closure, if the engine computes it.
    closure: Option<ClosureFigures>,
    /// What else the engine `local` found out from local states.
    #[serde(skip_serializing_if = "Option::is_none")]
    local: Option<LocalFigures>,
    seconds: f64,
    peak_bytes: u64,
    /// In the tables of the search, without the program.
    table_bytes: u64,
    threads: usize,
    reason: Option<String>,
    warnings: Vec<String>,
}

/// What was compared to be sure that processes are interchangeable.
#[derive(Serialize)]
struct SymmetryFigures {
    steps_compared: u64,
    handler_calls: u64,
    combinations: u64,
}

impl SymmetryFigures {
    fn of(SymmetryCompared { steps, handler_calls, combinations, .. }: SymmetryCompared) -> Self {
        SymmetryFigures { steps_compared: steps, handler_calls, combinations }
    }
}

/// How large the local closure is.
#[derive(Serialize)]
struct ClosureFigures {
    local_states: u64,
    messages: u64,
    steps: u64,
}

impl From<ClosureSize> for ClosureFigures {
    fn from(ClosureSize { local_states, messages, steps }: ClosureSize) -> Self {
        ClosureFigures { local_states, messages, steps }
    }
}

/// What was found out from local states alone.
#[derive(Serialize)]
struct LocalFigures {
    precision: u8,
    combinations: u64,
    candidates: u64,
    refuted_at_once: u64,
    searched: u64,
    refuted_by_search: u64,
    /// By the published algorithm only.
    sequences: Option<u64>,
    /// Runs are covered with so many steps of each process by itself.
    local_events: Option<u32>,
    reservation: Option<String>,
}

impl From<&LocalDetails> for LocalFigures {
    fn from(local: &LocalDetails) -> Self {
        LocalFigures {
            precision: local.precision,
            combinations: local.combinations,
            candidates: local.candidates,
            refuted_at_once: local.refuted_at_once,
            searched: local.searched,
            refuted_by_search: local.refuted_by_search,
            sequences: local.sequences,
            local_events: local.local_events,
            reservation: local.reservation.clone(),
        }
    }
}

impl Answer {
    pub(crate) fn new(story: Story, asked: Asked, report: &Report, time: Duration) -> Self {
        let (coverage, explored) = (&report.coverage, report.explored());
        Answer {
            story,
            engine: asked.engine,
            order: asked.order,
            visited: asked.visited,
            reductions: explored.map_or_else(Vec::new, |explored| reductions::names(&explored.reductions)),
            switched_off: asked.switched_off,
            fallbacks: report.fallbacks.iter().map(ToString::to_string).collect(),
            sleep_sets: explored.map(|explored| explored.sleep_sets),
            repeats: explored.map(|explored| explored.repeats),
            states: coverage.states,
            transitions: coverage.transitions,
            depth: coverage.depth,
            terminal_states: coverage.terminal_states,
            system_states: explored.and_then(|explored| explored.system_states),
            local_steps: coverage.local_steps,
            handler_calls: coverage.handler_calls,
            symmetry: explored.and_then(|explored| explored.symmetry).map(SymmetryFigures::of),
            components: report.components().map(ComponentFigures::of),
            stages: report.stages().map(StageFigures::of),
            missed_probability: explored.and_then(|explored| explored.missed_probability),
            closure: report.local().and_then(|local| local.closure).map(ClosureFigures::from),
            local: report.local().map(LocalFigures::from),
            seconds: time.as_secs_f64(),
            peak_bytes: memory::peak().unwrap_or(coverage.bytes),
            table_bytes: coverage.bytes,
            threads: report.threads,
            reason: match &report.verdict {
                Verdict::Unknown(stopped) => Some(text::stopped(stopped)),
                Verdict::HoldsWithin(reservation) => Some(reservation.clone()),
                Verdict::Holds | Verdict::Violated(_) => None,
            },
            warnings: report.warnings().iter().map(ToString::to_string).collect(),
        }
    }
}

/// The answer of `replay --json`: the run once more, as it happened now.
#[derive(Serialize)]
pub(crate) struct Confirmed {
    #[serde(flatten)]
    pub(crate) story: Story,
    pub(crate) engine: &'static str,
}

/// A parameter in the list.
#[derive(Serialize)]
struct ListedParameter {
    name: &'static str,
    about: &'static str,
    default: Setting,
    /// The least and the greatest value of a number.
    range: Option<[usize; 2]>,
    /// The words of a choice.
    choices: Option<Vec<&'static str>>,
}

impl ListedParameter {
    fn of(parameter: &Parameter) -> Self {
        let (name, about) = (parameter.name, parameter.about);
        match &parameter.domain {
            Domain::Number { default, range } => ListedParameter {
                name,
                about,
                default: Setting::Number(*default),
                range: Some([*range.start(), *range.end()]),
                choices: None,
            },
            Domain::Choice(words) => ListedParameter {
                name,
                about,
                default: Setting::Choice(words[0].to_string()),
                range: None,
                choices: Some(words.clone()),
            },
        }
    }
}

/// A planted bug in the list.
#[derive(Serialize)]
struct ListedBug {
    name: &'static str,
    about: &'static str,
}

/// A protocol in the list.
#[derive(Serialize)]
pub(crate) struct ListedProtocol {
    name: &'static str,
    about: &'static str,
    reference: Option<&'static str>,
    parameters: Vec<ListedParameter>,
    bugs: Vec<ListedBug>,
    stepping_stones: Vec<String>,
}

impl ListedProtocol {
    pub(crate) fn of(protocol: &Protocol) -> Self {
        ListedProtocol {
            name: protocol.name(),
            about: protocol.about(),
            reference: Some(protocol.reference_text()).filter(|text| !text.is_empty()),
            parameters: protocol.parameters().iter().map(ListedParameter::of).collect(),
            bugs: protocol.bugs().iter().map(|bug| ListedBug { name: bug.name, about: bug.about }).collect(),
            stepping_stones: stones::names(protocol),
        }
    }
}

/// The answer of `list --json`.
#[derive(Serialize)]
pub(crate) struct List {
    pub(crate) quorate: u64,
    pub(crate) protocols: Vec<ListedProtocol>,
}
