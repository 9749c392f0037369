//! What a model checker must offer so that its components can be explored one by one.
//!
//! From: DEMETER, section 4.1: the embedded model checker. Its components can be run from the beginning, and a scheduler
//! decides what happens (`machine.rs`); holding them to a prefix or to a local skeleton, telling what deviates from it,
//! whether in what is sent or in what is received, and running to completion are done with that, by `runs.rs`,
//! `local.rs` and `global.rs`, for every checker alike.
//! Differs: where points in a component's run that have the same future can be told, they are explored once, however
//! many runs lead there.
//! Restriction by: testkit/tests/dir.rs, through `handlers.rs`; the tests of quorate-threads.

use super::machine::ComponentRunner;
use super::partition::Partition;
use crate::base::{ProcessId, Value};
use crate::report::Stopped;

/// A message with its sender and its receiver, by number.
pub type MessageId = u32;
/// A point in the run of a component. `LocalPoints` with the same number have the same future.
pub type LocalPointId = u32;

/// A step that a component of one agent can take.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Move<S> {
    /// What it receives from other components, in ascending order.
    pub received: Vec<MessageId>,
    /// What it sends to other components, by receiver, and for each of them in the order of sending.
    pub sent: Vec<MessageId>,
    /// How many steps this is: they differ only in which of several equal messages they consume.
    pub ways: u128,
    /// Where it leads; `None` for a panic.
    pub leads: Option<LocalPointId>,
    /// What it takes to repeat it.
    pub step: S,
}

/// Components whose points can be told, with everything that can happen there.
pub trait LocalPoints<S> {
    /// The beginning of a component's run.
    fn start(&mut self, component: usize) -> LocalPointId;

    /// Every step that a component can take from a point in its run if these messages are on offer to it.
    fn moves(&mut self, component: usize, local_point: LocalPointId, offers: &[MessageId]) -> Vec<Move<S>>;

    /// A hash of a point, which is the same in every process that has asked the same of the checker.
    fn fingerprint(&self, component: usize, local_point: LocalPointId) -> u128;

    /// What properties see of a component at a point.
    fn observed_at(&mut self, component: usize, local_point: LocalPointId) -> usize;
}

/// A model checker that lets itself be driven. There can be several for one system, each on a thread of its own and
/// with numbers of its own: what has a number in one can be told to another.
pub trait ComponentChecker: ComponentRunner<Step: Send + Sync> + Send + Sync + Sized {
    /// The components.
    fn components(&self) -> &Partition;

    /// Who sent a message, and to whom.
    fn ends_of(&self, message: MessageId) -> (ProcessId, ProcessId);

    /// The points of a component, if it has one agent and they can be told; otherwise its runs are enumerated.
    fn local_points(&mut self, component: usize) -> Option<&mut dyn LocalPoints<Self::Step>>;

    /// What a number stands for that tells what properties see of a process: its local state, or one that looks the
    /// same to them.
    fn observed(&self, observed: usize) -> &Value;

    /// What was asked of it since this was called last, in order: asked again in another process, it gives everything
    /// the same numbers. Nothing where that cannot be.
    fn learned(&mut self) -> Option<Vec<Vec<u64>>> {
        None
    }

    /// Is asked something again. Says what is wrong if the answer is another than it was.
    fn relearn(&mut self, _asked: &[u64]) -> Result<(), String> {
        Err("this checker cannot go on from what was learned before".to_string())
    }

    /// A checker of the components that a component is made of, if it is a system itself. Its agents are its members, and
    /// all of its components are enumerated.
    fn inside(&self, _component: usize) -> Option<Self> {
        None
    }

    /// Another checker of the same components.
    #[must_use]
    fn fork(&self) -> Self;

    /// The number of a message that has this number in another checker.
    fn message_of(&mut self, other: &Self, message: MessageId) -> MessageId;

    /// A step of an agent of a component, as it was told by another checker.
    fn step_of(
        &mut self,
        other: &Self,
        component: usize,
        agent: usize,
        step: &Self::Step,
    ) -> (usize, Self::Step);

    /// What properties see, by the number that this has in another checker.
    fn observed_of(&mut self, other: &Self, observed: usize) -> usize;

    /// Is asked what was asked of another checker.
    fn learn_from(&mut self, _other: &Self, _asked: &[u64]) {}

    /// Why what it told cannot be relied on, if it cannot.
    fn unreliable(&self) -> Option<Stopped>;
}
