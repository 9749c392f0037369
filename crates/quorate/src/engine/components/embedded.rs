//! What a model checker must offer so that the engine can explore its components one by one.
//!
//! From: DEMETER, section 4.1: the embedded model checker. A component can be run from the beginning as often as one
//! likes; whenever several operations are possible, a scheduler picks one. Everything else is built on that, for every
//! checker alike: `local/` restricts runs to a local skeleton and enumerates them, `global/` composes skeletons.
//! Differs: an operation is announced before it happens, with what other components would see of it, so no run is ever
//! taken back, and a run that would deviate from its skeleton is stopped before it does. Where a checker knows that
//! two points of a component's run have the same future, they are explored once, however many runs lead there.
//! Held by: testkit/tests/dir.rs, through `protocol/`; the tests of quorate-threads.

use std::fmt::Debug;
use std::hash::Hash;

use super::partition::Partition;
use crate::base::{ProcessId, Value};
use crate::report::Stopped;

/// A message with its sender and its receiver, by number.
pub type MessageId = u32;
/// A point in the run of a component. Points with the same number have the same future.
pub type LocalPointId = u32;

/// Something that an agent can do next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Operation<S> {
    /// Who.
    pub agent: usize,
    /// How many operations this agent has done before, from 0.
    pub index: usize,
    /// The member of the component for which it acts: if others see the operation, they see it as an event of this
    /// member. Threads act for the one member that their process is.
    pub member: usize,
    /// What it does. With the same agent and index it is the same operation in every run with the same past.
    pub step: S,
    /// What it receives from other components, in ascending order.
    pub received: Vec<MessageId>,
    /// What it sends to other components, by receiver, and for each of them in the order of sending.
    pub sent: Vec<MessageId>,
}

impl<S> Operation<S> {
    /// Do other components see it?
    pub fn is_seen(&self) -> bool {
        !self.received.is_empty() || !self.sent.is_empty()
    }
}

impl<S: Clone> Operation<S> {
    /// Who, and what it does.
    pub(super) fn agent_and_step(&self) -> (usize, S) {
        (self.agent, self.step.clone())
    }
}

/// How a run went.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ran {
    /// To the end, or as far as the scheduler wanted.
    Through,
    /// The operation that was chosen last has panicked, with this message.
    Panicked(String),
    /// Some agents wait for each other for ever; the text says how. Agents that wait for messages of other components
    /// do not count.
    Stuck(String),
}

/// Picks the next operation of a run.
pub trait Scheduler<S> {
    /// Which of the possible operations comes next; `None` if the rest of the run is of no interest. The runner may
    /// then end it in whatever way is easiest.
    fn choose(&mut self, possible: &[Operation<S>]) -> Option<usize>;

    /// The run goes no further, and these operations are blocked by what another agent has done: a thread that waits
    /// for a lock, for example. A runner in which no operation blocks another never calls this.
    fn wait(&mut self, _waiting: Vec<Operation<S>>) {}

    /// The operation that was chosen last has changed what properties see of a member.
    fn observe(&mut self, member: usize, observed: usize);
}

/// Components whose runs can be enumerated. Whoever acts in them is an agent: a thread, or a process of a group.
pub trait ComponentRunner {
    /// What an agent does in an operation, in a form that can be repeated.
    type Step: Clone + Eq + Hash + Debug + Send + 'static;

    /// Runs a component from the beginning. The arrivals are messages from other components, which can be received at
    /// any time: each at most once, and where channels keep their order, those of one sender to one receiver in the
    /// order given. A run ends when nothing is possible.
    fn run(
        &mut self,
        component: usize,
        arrivals: &[MessageId],
        scheduler: &mut dyn Scheduler<Self::Step>,
    ) -> Ran;

    /// Does the order of two operations of different agents matter, if both are to happen? The first has happened
    /// before the second, or both are possible at the same time.
    fn depends(first: &Operation<Self::Step>, second: &Operation<Self::Step>) -> bool;

    /// Might an operation of another agent give this agent something to do that it could not do before?
    fn reaches(operation: &Operation<Self::Step>, agent: usize) -> bool;

    /// Might the agent of the first operation do something else instead if the second came first? The operations are of
    /// different agents, and the first has happened before the second. Of two operations that depend on each other this
    /// is true if both can be possible at the same time, and false if the second is possible only after the first.
    fn races(&mut self, first: &Operation<Self::Step>, second: &Operation<Self::Step>) -> bool;
}

/// A step that a component of one agent can take.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Move<S> {
    /// What it receives from other components, in ascending order.
    pub received: Vec<MessageId>,
    /// What it sends to other components, by receiver, and for each of them in the order of sending.
    pub sent: Vec<MessageId>,
    /// How many steps this stands for: they differ only in which of several equal messages they consume.
    pub ways: u128,
    /// Where it leads; `None` for a panic.
    pub leads: Option<LocalPointId>,
    /// What it takes to repeat it.
    pub step: S,
}

/// Components of one agent whose points can be compared, with everything that can happen at each.
pub trait LocalPoints<S> {
    /// The beginning of a component's run.
    fn start(&mut self, component: usize) -> LocalPointId;

    /// Every step that a component can take from a point of its run if it can receive these messages.
    fn moves(&mut self, component: usize, local_point: LocalPointId, offers: &[MessageId]) -> Vec<Move<S>>;

    /// A hash of a point: equal in every operating-system process in which the checker was asked the same questions.
    fn fingerprint(&self, component: usize, local_point: LocalPointId) -> u128;

    /// What properties see of a component at a point.
    fn observed_at(&mut self, component: usize, local_point: LocalPointId) -> usize;
}

/// A model checker for the components of one system. There can be several for the same system, each on a thread of its
/// own and with its own numbers for messages, steps and observations; the methods that take `other` translate.
pub trait ComponentChecker: ComponentRunner<Step: Send + Sync> + Send + Sync + Sized {
    /// How the system is divided.
    fn components(&self) -> &Partition;

    /// Who sent a message, and to whom.
    fn ends_of(&self, message: MessageId) -> (ProcessId, ProcessId);

    /// The points of a component, if it has one agent and they can be compared; otherwise the engine enumerates runs.
    fn local_points(&mut self, component: usize) -> Option<&mut dyn LocalPoints<Self::Step>>;

    /// A local state in which properties see what this number of an observation stands for. Several local states can
    /// look alike to the properties; this is one of them.
    fn observed(&self, observed: usize) -> &Value;

    /// The questions that the checker has answered since the last call, in order. A new checker that is asked the same
    /// in the same order gives everything the same numbers. `None` where that is impossible.
    fn learned(&mut self) -> Option<Vec<Vec<u64>>> {
        None
    }

    /// Answers a question again that an earlier checker has answered. An error if the answer is a different one.
    fn relearn(&mut self, _asked: &[u64]) -> Result<(), String> {
        Err("this checker cannot go on from what was learned before".to_string())
    }

    /// A checker for the inside of a component, if the component is a system itself. Its agents are its members, and
    /// the engine enumerates the runs of all of its components.
    fn inside(&self, _component: usize) -> Option<Self> {
        None
    }

    /// Another checker of the same components, in which nothing has a number yet.
    #[must_use]
    fn fork(&self) -> Self;

    /// The number of a message that has this number in another checker.
    fn message_of(&mut self, other: &Self, message: MessageId) -> MessageId;

    /// The agent and step that are these in another checker.
    fn step_of(
        &mut self,
        other: &Self,
        component: usize,
        agent: usize,
        step: &Self::Step,
    ) -> (usize, Self::Step);

    /// The number of an observation that has this number in another checker.
    fn observed_of(&mut self, other: &Self, observed: usize) -> usize;

    /// Answers a question that another checker has answered.
    fn learn_from(&mut self, _other: &Self, _asked: &[u64]) {}

    /// The reason not to trust the answers, if there is one: a handler that answers one question in two ways, for
    /// example.
    fn unreliable(&self) -> Option<Stopped>;
}
