//! Local model checking as it was published: a reference, small and apart from the kernel.
//!
//! From: Guerraoui, Yabandeh, *Model Checking a Networked System Without the Network* (LMC), figure 9 and 4.2. Local
//! states are explored for each process by itself, against one network `I+` that only grows. Each new local state is
//! combined with those of the others; a combination that violates a property is verified: sequences of events are read
//! off the predecessors of its local states, and each set of sequences is executed greedily.
//! Differs: an assertion is a handler that panics. Events are executed in the order of their depth, the number of
//! events in the past of the first way to them, so that a bound on it means what it means for a run. Where the paper
//! ignores self-references, sequences do not pass a local state twice.
//! Known: each [`Shortcut`] loses violations; without any it is complete for what it says, and often does not finish.
//! It looks at invariants and panics, in the default world only. The engine `local` is the one to use.
//! Held by: testkit/tests/published.rs, where each shortcut loses a violation.

mod combinations;
mod soundness;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use quorate::ProcessId;
use quorate::engine::{CombineBy, Engine, Refusal, Search, violation};
use quorate::model::{Asked, Envelope, Handlers, Model, Outcome, Schedule, Sending, Value};
use quorate::property::{Property, When};
use quorate::replay::Length;
use quorate::report::{
    ClosureSize, Coverage, Details, LocalDetails, Report, Stopped, Verdict, Watch, heed, heeding,
};
use quorate::world::World;

use super::messages::{MessageId, Messages};

/// A simplification of the paper's implementation. Each makes it lose violations.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Shortcut {
    /// Sequences of events do not come back to a local state: self-references are ignored.
    SelfLoops,
    /// A message is not executed on a local state if it was executed on the first way there.
    FirstHistory,
    /// What was rejected is not verified again when new ways to its local states are found.
    RejectedForGood,
    /// What a run sends again is not sent: the limit on duplicates is zero.
    NoDuplicates,
    /// Local states that violate an assertion are discarded.
    Assertions,
    /// The network of a sequence is a set: two equal messages are one.
    SetOfHashes,
    /// The network starts empty: messages that are on their way in the state where runs start are forgotten.
    EmptyNetwork,
}

impl Shortcut {
    /// All of them: the algorithm as it was measured.
    pub const ALL: [Shortcut; 7] = [
        Shortcut::SelfLoops,
        Shortcut::FirstHistory,
        Shortcut::RejectedForGood,
        Shortcut::NoDuplicates,
        Shortcut::Assertions,
        Shortcut::SetOfHashes,
        Shortcut::EmptyNetwork,
    ];
}

/// How far the algorithm goes, to measure its parts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Stage {
    /// Local states only.
    Explore,
    /// Combinations of them as well, which are compared with the properties.
    SystemStates,
    /// Everything.
    #[default]
    Soundness,
}

impl Stage {
    /// All of them, with their names.
    pub const NAMED: [(&str, Stage); 3] = [
        ("explore", Stage::Explore),
        ("system-states", Stage::SystemStates),
        ("soundness", Stage::Soundness),
    ];
}

/// How to run it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// Which shortcuts it takes.
    pub shortcuts: Vec<Shortcut>,
    /// Which combinations it creates: all (LMC-GEN), or those of observations that violate a property (LMC-OPT).
    pub classes: CombineBy,
    /// How far it goes.
    pub stage: Stage,
    /// How many events a run has at most.
    pub depth_max: Option<u32>,
    /// How many local states there are at most, and how many combinations of them.
    pub states_max: Option<u64>,
    /// How many bytes its tables take at most.
    pub bytes_max: Option<u64>,
    /// How many events a sequence of one process has at most, where it may come back to a local state.
    pub events_max: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            shortcuts: Shortcut::ALL.to_vec(),
            classes: CombineBy::Observations,
            stage: Stage::default(),
            depth_max: None,
            states_max: None,
            bytes_max: None,
            events_max: 8,
        }
    }
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Found {
    /// The answer. Without shortcuts it may be `Holds`.
    pub verdict: Verdict,
    /// Executed events.
    pub local_transitions: u64,
    /// Local states of all processes.
    pub local_states: u64,
    /// Messages in the network that only grows.
    pub messages: u64,
    /// Combinations of local states that were created.
    pub system_states: u64,
    /// How many of them violate a property.
    pub preliminary: u64,
    /// How often soundness was verified.
    pub verifications: u64,
    /// How many sets of sequences that took.
    pub sequences: u64,
    /// The most events in the past of a local state, or of a combination that was created.
    pub depth: u32,
    /// Bytes in its tables, about.
    pub bytes: u64,
}

/// The published algorithm with all its shortcuts, as an engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lmc {
    /// Which combinations it creates: all (LMC-GEN), or those of observations that violate a property (LMC-OPT).
    pub combine_by: CombineBy,
    /// How far it goes.
    pub stage: Stage,
}

impl Lmc {
    /// The general algorithm.
    pub const GENERAL: Lmc = Lmc { combine_by: CombineBy::States, stage: Stage::Soundness };
    /// The optimised one.
    pub const OPTIMISED: Lmc = Lmc { combine_by: CombineBy::Observations, stage: Stage::Soundness };
}

impl Engine for Lmc {
    fn name(&self) -> &'static str {
        match self.combine_by {
            CombineBy::States => "lmc-gen",
            CombineBy::Observations => "lmc-opt",
        }
    }

    fn purpose(&self) -> &'static str {
        match self.combine_by {
            CombineBy::States => "local model checking as published, every combination: may lose violations",
            CombineBy::Observations => {
                "local model checking as published, combinations that look violating: may lose violations"
            }
        }
    }

    fn refuses(&self, model: &Model, _: &Search) -> Option<Refusal> {
        let at_end = model.properties().iter().find(|property| property.when() == When::AtEnd);
        let ends = at_end.map(|property| Refusal::LooksNotAtEnds { property: property.name().to_string() });
        refuses(model).or(ends)
    }

    fn search(&self, model: &Model, search: &Search, watch: &mut dyn Watch) -> Report {
        let Lmc { combine_by, stage } = *self;
        let options = Options {
            classes: combine_by,
            stage,
            depth_max: search.depth_max,
            states_max: search.states_max,
            bytes_max: search.bytes_max,
            ..Options::default()
        };
        let mut run = Run::new(model, &options, watch);
        let verdict = run.check();
        let details = Details::Local(run.local_details());
        Report::new(model, verdict, run.coverage(), details)
    }
}

/// Why the algorithms of that paper are not for a model.
pub(super) fn refuses(model: &Model) -> Option<Refusal> {
    let forges = model.ids().any(|process| !model.forgeable(process).is_empty());
    let suits = *model.world() == World::default() && !forges && model.monitors().is_empty();
    (!suits).then_some(Refusal::NeedsDefaultWorld)
}

/// Checks a model.
pub fn check(model: &Model, options: &Options, watch: &mut dyn Watch) -> Found {
    let mut run = Run::new(model, options, watch);
    let verdict = run.check();
    run.found(verdict)
}

type LocalId = usize;
/// The number of an executed event.
type EventId = u64;

/// A local state of a process.
struct Local {
    /// `None` once a step has panicked.
    value: Option<Value>,
    /// What each property sees of it.
    observed: Vec<Option<Value>>,
    /// The events that the first way to it rests on, in ascending order.
    past: Vec<EventId>,
    /// The messages that were executed on the first way to it.
    history: Vec<MessageId>,
    predecessors: Vec<Predecessor>,
}

/// A step that leads to a local state.
struct Predecessor {
    from: LocalId,
    transition: usize,
    consumed: Vec<MessageId>,
    choices: Vec<usize>,
    sends: Vec<MessageId>,
}

/// A process.
#[derive(Default)]
struct Node {
    locals: Vec<Local>,
    numbers: HashMap<Option<Value>, LocalId>,
    /// For each property, the local states that look alike to it.
    classes: Vec<Classified>,
    /// What was ever sent to it.
    messages: Vec<MessageId>,
}

/// What is observed, and where.
type Classified = Vec<(Option<Value>, Vec<LocalId>)>;

impl Node {
    fn add(&mut self, local: Local) -> LocalId {
        let number = self.locals.len();
        self.classes.resize_with(local.observed.len(), Vec::new);
        for (classes, seen) in self.classes.iter_mut().zip(&local.observed) {
            // One whose step has panicked looks like nothing.
            match classes.iter_mut().find(|(other, _)| other == seen) {
                _ if local.value.is_none() => {}
                Some((_, members)) => members.push(number),
                None => classes.push((seen.clone(), vec![number])),
            }
        }
        self.numbers.insert(local.value.clone(), number);
        self.locals.push(local);
        number
    }
}

/// An event that can be executed.
struct Pending {
    process: ProcessId,
    local: LocalId,
    transition: usize,
    consumed: Vec<MessageId>,
    past: Vec<EventId>,
}

struct Run<'r> {
    model: &'r Model,
    handlers: Handlers<'r>,
    options: &'r Options,
    watch: &'r mut dyn Watch,
    nodes: Vec<Node>,
    /// The network that only grows.
    messages: Messages,
    /// For each message, the events that the first way to it rests on.
    message_pasts: Vec<Vec<EventId>>,
    /// The messages that are on their way from the start.
    in_flight: Vec<MessageId>,
    /// By the depth of what they lead to.
    pending: BTreeMap<usize, VecDeque<Pending>>,
    /// Combinations that no sequences were found for.
    rejected: BTreeSet<Vec<LocalId>>,
    /// Was something left out because of a bound?
    cut: bool,
    stopped: Option<Stopped>,
    schedule: Option<Schedule>,
    figures: Figures,
}

#[derive(Default)]
struct Figures {
    transitions: EventId,
    local_states: u64,
    system_states: u64,
    preliminary: u64,
    verifications: u64,
    sequences: u64,
    depth: usize,
    bytes: usize,
    /// Small pieces of work, between two looks at the watch.
    ticks: u64,
}

/// How many small pieces of work there are between two looks at the watch.
const TICKS: u64 = 1024;

impl<'r> Run<'r> {
    fn new(model: &'r Model, options: &'r Options, watch: &'r mut dyn Watch) -> Self {
        Run {
            model,
            handlers: Handlers::new(model),
            options,
            watch,
            nodes: model.ids().map(|_| Node::default()).collect(),
            messages: Messages::default(),
            message_pasts: Vec::new(),
            in_flight: Vec::new(),
            pending: BTreeMap::new(),
            rejected: BTreeSet::new(),
            cut: false,
            stopped: None,
            schedule: None,
            figures: Figures::default(),
        }
    }

    fn takes(&self, shortcut: Shortcut) -> bool {
        self.options.shortcuts.contains(&shortcut)
    }

    fn invariants(&self) -> impl Iterator<Item = &'r Property> + use<'r> {
        self.model.properties().iter().filter(|property| property.when() == When::Always)
    }

    /// Figure 9, `findBugs`.
    fn check(&mut self) -> Verdict {
        if let Some(refusal) = refuses(self.model) {
            return Verdict::Unknown(Stopped::Unsuited(refusal.to_string()));
        }
        if let Err(stopped) = heeding(self.watch.stop(), || self.explore()) {
            self.stopped.get_or_insert(stopped);
        }
        self.verdict()
    }

    fn explore(&mut self) {
        let (locals, mut in_flight) = self.model.start_state();
        if self.takes(Shortcut::EmptyNetwork) {
            in_flight.clear();
        }
        for (to, Envelope { from, body }) in in_flight {
            let message = self.send(from, Sending { to, body }, &[]);
            self.in_flight.push(message);
        }
        for (process, local) in self.model.ids().zip(locals) {
            let initial = self.new_local(process, Some(local), Vec::new(), Vec::new());
            self.look_at(process, initial);
        }
        while self.goes_on()
            && let Some(mut events) = self.pending.first_entry()
        {
            match events.get_mut().pop_front() {
                Some(event) => self.execute(&event),
                None => _ = events.remove(),
            }
        }
        if !self.takes(Shortcut::RejectedForGood) {
            // All ways to all local states are known now: nothing changes any more.
            for combination in std::mem::take(&mut self.rejected) {
                self.verify(&combination);
            }
        }
        self.handlers.conclude();
    }

    fn verdict(&mut self) -> Verdict {
        if let Some(impure) = self.handlers.impure() {
            return Verdict::Unknown(Stopped::Impure(impure.to_string()));
        }
        if let Some(schedule) = self.schedule.take() {
            return violation(self.watch, || Verdict::shown_by(self.model, schedule, Length::MayShrink));
        }
        if let Some(stopped) = self.stopped.take() {
            return Verdict::Unknown(stopped);
        }
        if let Some(depth) = self.options.depth_max.filter(|_| self.cut) {
            return Verdict::Unknown(Stopped::Depth(depth));
        }
        let others = self.model.properties().len() - self.invariants().count();
        if others > 0 {
            Verdict::HoldsWithin("properties of the ends of runs were not looked at".to_string())
        } else if !self.options.shortcuts.is_empty() {
            Verdict::HoldsWithin("the shortcuts of the published algorithm may lose violations".to_string())
        } else if self.cut || self.options.stage < Stage::Soundness {
            Verdict::HoldsWithin("longer sequences of events were not looked at".to_string())
        } else {
            Verdict::Holds
        }
    }

    fn found(&self, verdict: Verdict) -> Found {
        let Figures { system_states, preliminary, verifications, sequences, local_states, .. } = self.figures;
        let Coverage { depth, bytes, transitions, .. } = self.coverage();
        let messages = self.messages.len() as u64;
        Found {
            verdict,
            local_transitions: transitions,
            local_states,
            messages,
            system_states,
            preliminary,
            verifications,
            sequences,
            depth,
            bytes,
        }
    }

    fn coverage(&self) -> Coverage {
        let Figures { transitions, system_states, depth, bytes, .. } = self.figures;
        Coverage {
            states: system_states,
            transitions,
            depth: u32::try_from(depth).unwrap_or(u32::MAX),
            frontier: self.pending.values().map(|events| events.len() as u64).sum(),
            local_steps: transitions,
            handler_calls: transitions,
            bytes: bytes as u64,
            ..Coverage::default()
        }
    }

    fn local_details(&self) -> LocalDetails {
        let Figures { transitions, local_states, system_states, .. } = self.figures;
        let Figures { preliminary, verifications, sequences, .. } = self.figures;
        let messages = self.messages.len() as u64;
        LocalDetails {
            closure: Some(ClosureSize { local_states, messages, steps: transitions }),
            combinations: system_states,
            candidates: preliminary,
            searched: verifications,
            refuted_by_search: self.rejected.len() as u64,
            sequences: Some(sequences),
            ..LocalDetails::default()
        }
    }

    fn goes_on(&self) -> bool {
        self.stopped.is_none() && self.schedule.is_none() && self.handlers.impure().is_none()
    }

    /// A small piece of work is done.
    fn tick(&mut self) {
        heed();
        self.figures.ticks += 1;
        if self.figures.ticks.is_multiple_of(TICKS) {
            let coverage = self.coverage();
            self.stopped = self.stopped.take().or_else(|| self.watch.progress(&coverage));
        }
        let states = self.figures.system_states.max(self.figures.local_states);
        if let Some(limit) = self.options.states_max.filter(|limit| states > *limit) {
            self.stopped.get_or_insert(Stopped::States(limit));
        }
        if let Some(limit) = self.options.bytes_max.filter(|limit| self.figures.bytes as u64 >= *limit) {
            self.stopped.get_or_insert(Stopped::Memory(limit));
        }
    }

    /// Executes an event on a local state: `addNextState`, then `checkSystemInvariant` if the next state is new.
    fn execute(&mut self, event: &Pending) {
        let Pending { process, local, transition, ref consumed, ref past } = *event;
        let node = &self.nodes[process.index()];
        let Some(state) = node.locals[local].value.clone() else { return };
        let envelopes = self.messages.envelopes(consumed);
        let of = Asked { process, transition, state: &state };
        let Some(outcomes) = self.handlers.ask_selected(of, &envelopes) else { return };
        for outcome in outcomes {
            self.figures.transitions += 1;
            self.tick();
            let past = [past.as_slice(), &[self.figures.transitions]].concat();
            let (value, choices, sends) = match outcome {
                Ok(Outcome { state, choices, sends, .. }) => (Some(state), choices, sends),
                Err(_) if self.takes(Shortcut::Assertions) => continue,
                Err(panicked) => (None, panicked.choices, Vec::new()),
            };
            let sends = sends.into_iter().map(|sending| self.send(process, sending, &past)).collect();
            let choices = choices.iter().map(|choice| choice.index).collect();
            let step = Predecessor { from: local, transition, consumed: consumed.clone(), choices, sends };
            self.figures.bytes += size_of::<Predecessor>()
                + (step.consumed.len() + step.choices.len() + step.sends.len()) * size_of::<MessageId>();
            let history = [self.nodes[process.index()].locals[local].history.as_slice(), consumed].concat();
            let known = self.nodes[process.index()].numbers.get(&value).copied();
            let next = known.unwrap_or_else(|| self.new_local(process, value, past, history));
            self.nodes[process.index()].locals[next].predecessors.push(step);
            if known.is_none() {
                self.look_at(process, next);
            }
        }
    }

    /// A message is sent, for good. If it is new, it is considered on all states of its receiver.
    fn send(&mut self, from: ProcessId, sending: Sending, past: &[EventId]) -> MessageId {
        let (number, new) = self.messages.number(sending.to, Envelope { from, body: sending.body });
        if !new {
            return number;
        }
        self.figures.bytes += size_of::<Envelope>() + size_of_val(past);
        self.message_pasts.push(past.to_vec());
        let node = &mut self.nodes[sending.to.index()];
        node.messages.push(number);
        for local in 0..node.locals.len() {
            self.enable(sending.to, local, Some(number));
        }
        number
    }

    fn new_local(
        &mut self,
        process: ProcessId,
        value: Option<Value>,
        past: Vec<EventId>,
        history: Vec<MessageId>,
    ) -> LocalId {
        self.figures.local_states += 1;
        self.figures.depth = self.figures.depth.max(past.len());
        self.figures.bytes +=
            size_of::<Local>() + past.len() * size_of::<EventId>() + history.len() * size_of::<MessageId>();
        let observe = |property: &Property| value.as_ref().and_then(|value| property.observe(value));
        let observed: Vec<Option<Value>> = self.invariants().map(observe).collect();
        let local = Local { value, observed, past, history, predecessors: Vec::new() };
        self.nodes[process.index()].add(local)
    }

    /// Considers a new local state: what can be executed on it, and what it makes with states of the others.
    fn look_at(&mut self, process: ProcessId, local: LocalId) {
        self.enable(process, local, None);
        if self.options.stage >= Stage::SystemStates {
            self.check_system_invariant(process, local);
        }
    }

    /// Notes the events that can be executed on a local state: all, or those that consume a new message.
    fn enable(&mut self, process: ProcessId, local: LocalId, new: Option<MessageId>) {
        let node = &self.nodes[process.index()];
        let Some(state) = node.locals[local].value.clone() else { return };
        for transition in 0..self.model.process(process).transitions().len() {
            let sent = &self.nodes[process.index()].messages;
            let of = Asked { process, transition, state: &state };
            for consumed in self.messages.consumptions(&mut self.handlers, of, sent, new) {
                let of = &self.nodes[process.index()].locals[local];
                let seen = consumed.iter().any(|message| of.history.contains(message));
                if seen && self.takes(Shortcut::FirstHistory) {
                    continue;
                }
                let rests_on = consumed.iter().map(|message| &self.message_pasts[*message]);
                let past = rests_on.fold(of.past.clone(), |past, of| union(&past, of));
                if self.options.depth_max.is_some_and(|limit| past.len() >= limit as usize) {
                    self.cut = true;
                    continue;
                }
                let events = self.pending.entry(past.len()).or_default();
                events.push_back(Pending { process, local, transition, consumed, past });
            }
        }
    }
}

/// All of both, in ascending order.
fn union(one: &[EventId], other: &[EventId]) -> Vec<EventId> {
    let mut all = Vec::with_capacity(one.len() + other.len() + 1);
    let (mut left, mut right) = (one.iter().peekable(), other.iter().peekable());
    loop {
        let next = match (left.peek(), right.peek()) {
            (Some(a), Some(b)) if a == b => {
                right.next();
                left.next()
            }
            (Some(a), Some(b)) if b < a => right.next(),
            (Some(_), _) => left.next(),
            (None, _) => right.next(),
        };
        match next {
            Some(event) => all.push(*event),
            None => return all,
        }
    }
}
