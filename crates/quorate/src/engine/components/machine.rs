//! What it takes to enumerate the runs of a component that has agents of its own: threads, or processes of a group.
//!
//! From: DEMETER, section 4.1: the embedded model checker. A machine can be run from the beginning as often as one
//! likes; whenever something can happen, a scheduler says what. Everything else is done with that, for every machine alike:
//! `runs.rs` enumerates the runs, each up to the order of independent operations, and `local.rs` holds them to a local
//! skeleton.
//! Differs: an operation is told before it happens, with what others would see of it, so a run never has to be taken
//! back, and one that deviates from a skeleton is noticed before it does.

use std::fmt::Debug;
use std::hash::Hash;

use super::checker::MessageId;

/// Something that an agent can do next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Operation<S> {
    /// Who.
    pub agent: usize,
    /// How many operations it has done before, from 0.
    pub index: usize,
    /// For which member of the component it acts: whose interface event it is, if it is one. Threads act for the one
    /// member that their process is.
    pub member: usize,
    /// What it does. Together with agent and index it is the same operation in every run in which the same went before.
    pub step: S,
    /// What it receives from other components, in ascending order.
    pub received: Vec<MessageId>,
    /// What it sends to other components, by receiver, and for each of them in the order of sending.
    pub sent: Vec<MessageId>,
}

impl<S> Operation<S> {
    /// Do others see it?
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
    /// Some agents wait for each other for ever, as this tells. Those that wait for messages of other components do not
    /// count.
    Stuck(String),
}

/// Says what happens next in a run.
pub trait Scheduler<S> {
    /// Which of the operations that are possible comes next; `None` if the run need not be looked at any further, and
    /// may be ended in whatever way is easiest.
    fn choose(&mut self, possible: &[Operation<S>]) -> Option<usize>;

    /// The run goes no further, and agents wait to do this, which another has made impossible: as those do that wait for
    /// a lock. Where nothing that happens makes something else impossible there is nothing to tell.
    fn wait(&mut self, _waiting: Vec<Operation<S>>) {}

    /// What properties see of a member changes, by the operation that was chosen last.
    fn observe(&mut self, member: usize, observed: usize);
}

/// Components whose runs can be enumerated.
pub trait ComponentRunner {
    /// What an agent does in an operation, in a form that can be repeated.
    type Step: Clone + Eq + Hash + Debug;

    /// Runs a component from the beginning. These messages arrive from other components, at any time; each is received
    /// at most once, and where channels keep their order those of one sender to one receiver in the order given. A run
    /// ends when nothing is possible.
    fn run(
        &mut self,
        component: usize,
        arrivals: &[MessageId],
        scheduler: &mut dyn Scheduler<Self::Step>,
    ) -> Ran;

    /// Does the order of two operations of different agents matter, if both are to happen? The first has happened before
    /// the second, or both are possible at the same time.
    fn depends(first: &Operation<Self::Step>, second: &Operation<Self::Step>) -> bool;

    /// Might an agent have something else to do after this operation of another than it had before?
    fn reaches(operation: &Operation<Self::Step>, agent: usize) -> bool;

    /// Might the agent of the first have something else to do instead if the second came first? The operations are of
    /// different agents, and the first has happened before the second. Of two that depend on each other this is true if
    /// both can be possible at the same time, and false if the second is possible only after the first.
    fn races(&mut self, first: &Operation<Self::Step>, second: &Operation<Self::Step>) -> bool;
}
