//! A validated system with its types erased: what the kernel explores and what replay re-runs.
//!
//! [`Model::accepts`] and [`Model::run`] *define* the semantics of a step (docs/theory/kernel.md 1): the
//! kernel enumerates what they accept, replay and the naive checker of the tests ask them directly.
//!
//! Invariant: nothing here looks at more than one process's local state and the messages it consumes.

mod consume;
mod handlers;
mod in_world;
mod refusal;
mod run;
mod script;
mod snapshot;
mod symmetry;

use std::sync::Arc;

pub use consume::{Consumptions, consumptions};
pub use handlers::{Asked, Handlers, Keys, Outcomes};
pub(crate) use in_world::at_end;
pub use refusal::Refusal;
pub use run::{Consumed, Forged, Origin, Schedule, ScheduledStep, Sent, Source, Taken, Trace, TraceStep};
pub(crate) use script::{MISFIT, Script};
pub(crate) use snapshot::{Snapshot, TracedMessage};
pub use symmetry::{Difference, RenameFn, Symmetry, SymmetryError};
pub(crate) use symmetry::{History, Renames};

pub use crate::base::{Content, PROCESSES_MAX, Value};
use crate::base::{ProcessId, catching};
use crate::property::{Automaton, Property};
use crate::world::{FaultLimits, World, WorldError};

/// A message in an inbox: who sent it and what it says.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Envelope {
    /// The sender.
    pub from: ProcessId,
    /// What it says.
    pub body: Value,
}

/// A message on its way out of a step.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Sending {
    /// The receiver.
    pub to: ProcessId,
    /// What it says.
    pub body: Value,
}

/// One use of [`Outbox::choose`](super::Outbox::choose).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Choice {
    /// Which alternative, from 0.
    pub index: usize,
    /// Of how many.
    pub of: usize,
    /// The alternative as `Debug` prints it.
    pub text: String,
    /// Does it say which step this is, rather than how it went? So does the timer that fires: it is part of the
    /// step's name, even where there was no other.
    pub names_step: bool,
}

/// What a step does, for one way of making its choices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// The choices made on the way.
    pub choices: Vec<Choice>,
    /// The local state afterwards.
    pub state: Value,
    /// The messages sent, in order.
    pub sends: Vec<Sending>,
    /// The events emitted, in order.
    pub events: Vec<Value>,
}

/// A panic in a handler or a guard: a violation of the protocol, never of the checker.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Panicked {
    /// The choices made before it.
    pub choices: Vec<Choice>,
    /// Its message and place.
    pub message: String,
}

/// The senders whose messages together let a quorum transition fire.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum QuorumSystem {
    /// Any `size` of the members.
    Size {
        /// Who may contribute.
        members: Vec<ProcessId>,
        /// How many it takes, exactly.
        size: usize,
    },
    /// One of these sets.
    Listed(
        /// The quorums, each sorted.
        Vec<Vec<ProcessId>>,
    ),
}

impl QuorumSystem {
    /// Is this sorted set of senders a quorum, exactly?
    pub fn contains(&self, senders: &[ProcessId]) -> bool {
        match self {
            QuorumSystem::Size { members, size } => {
                senders.len() == *size
                    && senders.iter().all(|sender| members.contains(sender))
                    && senders.is_sorted_by(|a, b| a < b)
            }
            QuorumSystem::Listed(quorums) => quorums.iter().any(|quorum| quorum == senders),
        }
    }
}

/// What a transition consumes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Trigger {
    /// Nothing: a timer, a client, a decision of the process itself.
    Internal,
    /// One message, from these senders if any are named.
    Message(
        /// The senders it listens to.
        Option<Vec<ProcessId>>,
    ),
    /// One message from each member of a quorum.
    Quorum(
        /// Which sets of senders are quorums.
        QuorumSystem,
    ),
}

impl Trigger {
    /// May messages of this sender be consumed?
    pub(crate) fn listens_to(&self, sender: ProcessId) -> bool {
        match self {
            Trigger::Internal => false,
            Trigger::Message(senders) => senders.as_ref().is_none_or(|senders| senders.contains(&sender)),
            Trigger::Quorum(QuorumSystem::Size { members, .. }) => members.contains(&sender),
            Trigger::Quorum(QuorumSystem::Listed(quorums)) => {
                quorums.iter().any(|quorum| quorum.contains(&sender))
            }
        }
    }
}

pub(crate) type KeysFn = dyn Fn(&Value, &[&Envelope]) -> Vec<Option<usize>> + Send + Sync;
pub(crate) type GuardFn = dyn Fn(&Value, &[&Envelope]) -> bool + Send + Sync;
pub(crate) type RestartFn = dyn Fn(&Value) -> Value + Send + Sync;
pub(crate) type EffectFn =
    dyn Fn(&Value, &[&Envelope], &Arc<RoleMembers>, ProcessId, Script) -> (Outcome, Script) + Send + Sync;

/// One transition of one process.
pub struct Transition {
    pub(crate) name: String,
    pub(crate) trigger: Trigger,
    pub(crate) keys: Box<KeysFn>,
    pub(crate) guard: Box<GuardFn>,
    pub(crate) effect: Box<EffectFn>,
}

impl Transition {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it consumes.
    pub fn trigger(&self) -> &Trigger {
        &self.trigger
    }
}

/// One process of a model.
#[derive(Clone)]
pub struct Process {
    pub(crate) name: String,
    pub(crate) role: String,
    pub(crate) initial: Value,
    pub(crate) transitions: Arc<[Transition]>,
    pub(crate) restarted: Arc<RestartFn>,
}

impl Process {
    /// Its name, such as `acceptor 1`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name of its role.
    pub fn role(&self) -> &str {
        &self.role
    }

    /// The local state it starts in.
    pub fn initial(&self) -> &Value {
        &self.initial
    }

    /// What it can do.
    pub fn transitions(&self) -> &[Transition] {
        &self.transitions
    }
}

/// Which processes play which role.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RoleMembers(pub(crate) Vec<(&'static str, Vec<ProcessId>)>);

impl RoleMembers {
    /// The processes of a role, in order; none if there is no such role.
    pub fn of(&self, role: &str) -> &[ProcessId] {
        self.0.iter().find(|(name, _)| *name == role).map_or(&[], |(_, members)| members)
    }

    /// The names of the roles, in order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|(name, _)| *name)
    }
}

/// A validated system. Made by [`System::build`](super::System::build).
#[derive(Clone)]
pub struct Model {
    pub(crate) processes: Vec<Process>,
    pub(crate) roles: Arc<RoleMembers>,
    pub(crate) properties: Vec<Property>,
    /// Which states are worth starting from once more.
    pub(crate) stepping_stones: Vec<Property>,
    pub(crate) monitors: Vec<Automaton>,
    /// For each process, the messages that can be forged at any time.
    pub(crate) forgeable: Vec<Vec<Envelope>>,
    pub(crate) world: World,
    pub(crate) fault_limits: Vec<FaultLimits>,
    pub(crate) symmetry: Symmetry,
    /// Where runs start, if that is not at the beginning.
    pub(crate) start: Option<Arc<Snapshot>>,
}

impl Model {
    /// The processes, in order.
    pub fn processes(&self) -> &[Process] {
        &self.processes
    }

    /// The ids of the processes, in order.
    pub fn ids(&self) -> impl Iterator<Item = ProcessId> + use<> {
        (0..self.processes.len()).map(ProcessId::new)
    }

    /// One process.
    pub fn process(&self, id: ProcessId) -> &Process {
        &self.processes[id.index()]
    }

    /// Which processes play which role.
    pub fn roles(&self) -> &RoleMembers {
        &self.roles
    }

    /// What must hold.
    pub fn properties(&self) -> &[Property] {
        &self.properties
    }

    /// Which states are worth starting from once more: those for which one of these holds.
    pub fn stepping_stones(&self) -> &[Property] {
        &self.stepping_stones
    }

    /// The names of all that must hold, monitors last.
    pub fn property_names(&self) -> impl Iterator<Item = &str> {
        self.properties.iter().map(Property::name).chain(self.monitors.iter().map(Automaton::name))
    }

    /// What must hold of the events that steps emit.
    pub fn monitors(&self) -> &[Automaton] {
        &self.monitors
    }

    /// The same system in another world.
    pub fn in_world(mut self, world: World) -> Result<Self, WorldError> {
        self.fault_limits = world.fault_limits(&self)?;
        self.symmetry.expose(&self.fault_limits);
        self.world = world;
        Ok(self)
    }

    /// The same system, from its beginning.
    pub(crate) fn without_start(mut self) -> Self {
        self.start = None;
        self
    }

    /// The state in which it starts, if that is not the beginning.
    pub(crate) fn start(&self) -> Option<&Snapshot> {
        self.start.as_deref()
    }

    /// Which processes are interchangeable in its world, and how to exchange them.
    pub fn symmetry(&self) -> &Symmetry {
        &self.symmetry
    }

    /// The world it is checked in.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// What may happen to a process.
    pub fn fault_limits_of(&self, process: ProcessId) -> FaultLimits {
        self.fault_limits[process.index()]
    }

    /// The messages to a process that can be forged at any time, by an adversary that needs no state.
    pub fn forgeable(&self, process: ProcessId) -> &[Envelope] {
        self.forgeable.get(process.index()).map_or(&[], Vec::as_slice)
    }

    /// The monitor in this place: monitors come after the processes.
    pub(crate) fn monitor(&self, place: ProcessId) -> Option<&Automaton> {
        place.index().checked_sub(self.processes.len()).map(|at| &self.monitors[at])
    }

    /// What the monitors hear of these events.
    pub(crate) fn heard(&self, events: &[Value]) -> Vec<Sending> {
        let heard_by = |(at, monitor): (usize, &Automaton)| {
            let heard: Vec<Value> = events.iter().filter(|event| monitor.hears(event)).cloned().collect();
            let to = ProcessId::new(self.processes.len() + at);
            (!heard.is_empty()).then(|| Sending { to, body: Value::new(heard) })
        };
        self.monitors.iter().enumerate().filter_map(heard_by).collect()
    }

    /// The same processes in the same world, of which nothing is asked.
    pub(crate) fn without_properties(mut self) -> Self {
        self.properties.clear();
        self.monitors.clear();
        self
    }

    /// The same processes in the same world, of which only this is asked.
    #[doc(hidden)]
    #[must_use]
    pub fn asking(self, property: Property) -> Self {
        let mut model = self.without_properties();
        model.properties.push(property);
        model
    }

    /// Which property, monitor or renaming answered differently when it was asked again, and how.
    pub(crate) fn impure(&self) -> Option<&str> {
        let properties = self.properties.iter().chain(&self.stepping_stones);
        let monitors = self.monitors.iter().find_map(Automaton::impure);
        properties.into_iter().find_map(Property::impure).or(monitors).or(self.symmetry.impure())
    }

    /// A search has ended: asks properties some of what they were asked once more.
    pub(crate) fn ask_again(&self) {
        self.properties.iter().chain(&self.stepping_stones).for_each(Property::ask_again);
    }

    /// Do steps of different processes commute, and never disable each other? Where it is known which messages were
    /// received, one that is sent again is owed again, if it was received before and not if it is received after.
    pub(crate) fn commutes(&self) -> bool {
        self.world.channel.commutes() && self.monitors.is_empty() && !self.tracks_copies()
    }

    /// The local state of a process after a restart.
    pub fn restarted(&self, process: ProcessId, state: &Value) -> Result<Value, Panicked> {
        catching(|| (self.process(process).restarted)(state))
            .map_err(|message| Panicked { choices: Vec::new(), message })
    }

    /// The messages of `candidates` that a transition would look at, as groups: messages of one group may
    /// be consumed together.
    pub(crate) fn keys(
        &self,
        process: ProcessId,
        transition: usize,
        state: &Value,
        candidates: &[&Envelope],
    ) -> Result<Vec<Option<usize>>, Panicked> {
        let transition = &self.process(process).transitions[transition];
        catching(|| (transition.keys)(state, candidates))
            .map_err(|message| Panicked { choices: Vec::new(), message })
    }

    /// Does the guard of a transition hold for these messages, whose trigger is known to fit?
    pub(crate) fn guard(
        &self,
        process: ProcessId,
        transition: usize,
        state: &Value,
        consumed: &[&Envelope],
    ) -> Result<bool, Panicked> {
        let transition = &self.process(process).transitions[transition];
        let ordered = in_content_order(consumed);
        catching(|| (transition.guard)(state, &ordered))
            .map_err(|message| Panicked { choices: Vec::new(), message })
    }

    /// May `process`, in `state`, take this transition by consuming exactly `consumed`?
    ///
    /// This is the definition that every enumeration is measured against.
    pub fn accepts(
        &self,
        process: ProcessId,
        transition: usize,
        state: &Value,
        consumed: &[&Envelope],
    ) -> Result<bool, Panicked> {
        let trigger = &self.process(process).transitions[transition].trigger;
        if !consumed.iter().all(|message| trigger.listens_to(message.from)) {
            return Ok(false);
        }
        // A selection that panics on a message panics as soon as the message is there.
        let keys = self.keys(process, transition, state, consumed)?;
        let together = keys.iter().all(|key| key.is_some() && *key == keys[0]);
        let fits = match trigger {
            Trigger::Internal => consumed.is_empty(),
            Trigger::Message(_) => consumed.len() == 1,
            Trigger::Quorum(quorums) => {
                let mut senders: Vec<ProcessId> = consumed.iter().map(|message| message.from).collect();
                senders.sort_unstable();
                quorums.contains(&senders)
            }
        };
        Ok(together && fits && self.guard(process, transition, state, consumed)?)
    }

    /// Runs a transition once for every way of making its choices. The messages are shown to the handler
    /// in the order of their senders, then of their contents.
    pub fn run(
        &self,
        process: ProcessId,
        transition: usize,
        state: &Value,
        consumed: &[&Envelope],
    ) -> Vec<Result<Outcome, Panicked>> {
        let mut outcomes = Vec::new();
        let mut script = Script::default();
        loop {
            let outcome;
            (outcome, script) = self.run_script(process, transition, state, consumed, script);
            outcomes.push(outcome);
            if !script.advance() {
                return outcomes;
            }
        }
    }

    /// Runs a transition once, with the choices of `choices`, which must be all of them.
    pub fn run_with(
        &self,
        process: ProcessId,
        transition: usize,
        state: &Value,
        consumed: &[&Envelope],
        choices: &[usize],
    ) -> Result<Outcome, Panicked> {
        self.run_script(process, transition, state, consumed, Script::replaying(choices)).0
    }

    fn run_script(
        &self,
        process: ProcessId,
        transition: usize,
        state: &Value,
        consumed: &[&Envelope],
        script: Script,
    ) -> (Result<Outcome, Panicked>, Script) {
        let ordered = in_content_order(consumed);
        let transition = &self.process(process).transitions[transition];
        Script::begin();
        match catching(|| (transition.effect)(state, &ordered, &self.roles, process, script.clone())) {
            Ok((outcome, script)) => (Ok(outcome), script),
            Err(message) => {
                let script = Script::of_last_panic(script);
                let choices = script.choices();
                (Err(Panicked { choices, message }), script)
            }
        }
    }
}

/// The order in which handlers see messages: by sender, then by content; never by arrival.
fn in_content_order<'a>(consumed: &[&'a Envelope]) -> Vec<&'a Envelope> {
    let mut ordered = consumed.to_vec();
    ordered.sort_by(|a, b| a.from.cmp(&b.from).then_with(|| a.body.content_order(&b.body)));
    ordered
}
