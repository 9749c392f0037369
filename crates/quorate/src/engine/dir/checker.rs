//! What a model checker must offer so that its components can be explored one by one.
//!
//! From: DEMETER, section 4.1: the embedded model checker. It can be reset, it tells what a component can do next if
//! certain messages are on offer to it, and it takes a step; running a prefix, telling steps that deviate from a
//! skeleton, whether they deviate in what they send or in what they receive, and running to completion are done with
//! these three, by `local.rs` and `global.rs`, for every checker alike.
//! Differs: a place in a component's run is a value, so a checker that can only start from the beginning keeps the
//! steps it took in it.
//! Held by: testkit/tests/dir.rs, through `handlers.rs`.

use std::hash::Hash;

use super::trace::{Components, LocalStep};
use crate::protocol::{ProcessId, Value};
use crate::verdict::Stopped;

/// A message with its sender and its receiver, by number.
pub type MessageId = u32;

/// A step that a component can take.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Move<P> {
    /// Which of its processes steps, by its place in the component.
    pub member: usize,
    /// How many interface events of each of its processes the step follows, itself included if it is one. Those are
    /// the steps that send to other components; where places tell the past also those that receive.
    pub clock: Vec<usize>,
    /// What it receives from other components, in ascending order.
    pub received: Vec<MessageId>,
    /// What it sends to other components, by receiver, and for each of them in the order of sending.
    pub sent: Vec<MessageId>,
    /// How many steps this is: they differ only in which of several equal messages they consume.
    pub ways: u128,
    /// Where it leads; `None` for a panic.
    pub leads: Option<P>,
    /// What it takes to repeat it.
    pub step: LocalStep,
}

/// A model checker that lets itself be driven.
pub trait Embedded {
    /// A place in the run of a component. Places that are equal have the same future.
    type Point: Clone + Eq + Hash;

    /// The components.
    fn components(&self) -> &Components;

    /// Do places of a component tell all that has happened, so that each is one trace? Otherwise every way to a place
    /// is one.
    fn tells_past(&self, component: usize) -> bool;

    /// The beginning of a component's run.
    fn reset(&mut self, component: usize) -> Self::Point;

    /// Every step that a component can take from a place in its run if these messages are on offer to it.
    fn moves(
        &mut self,
        component: usize,
        point: &Self::Point,
        offers: &[MessageId],
    ) -> Vec<Move<Self::Point>>;

    /// Who sent a message, and to whom.
    fn ends_of(&self, message: MessageId) -> (ProcessId, ProcessId);

    /// The local states of a component's processes.
    fn locals(&self, component: usize, point: &Self::Point) -> Vec<Value>;

    /// Why what it told cannot be relied on, if it cannot.
    fn unreliable(&self) -> Option<Stopped>;
}
