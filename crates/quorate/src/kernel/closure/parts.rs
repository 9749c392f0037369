//! What closures are made of: steps between nodes, bags of messages, how closely a process is followed.

use std::collections::{BTreeMap, HashSet};

use crate::base::ProcessId;
use crate::kernel::process::{MessageId, SendListId};
use crate::model::Model;

/// How closely what a process has consumed is followed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Level {
    /// Not at all.
    Loose,
    /// How often, at least, on every way to a local state.
    Least,
    /// Exactly.
    Exact,
}

/// Why there is no closure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum GaveUp {
    /// It went on and on, however closely this process was followed.
    Diverged(ProcessId),
    /// A selection of this process panics on messages together that may never reach it together.
    PanicsTogether(ProcessId),
    /// There was no time for it.
    Stopped,
}

impl GaveUp {
    /// Why, in words.
    pub(crate) fn reason(self, model: &Model) -> String {
        let name = |process| model.process(process).name();
        match self {
            GaveUp::Diverged(process) => format!("the local closure goes on and on at {}", name(process)),
            GaveUp::PanicsTogether(process) => format!(
                "what {} selects is not known for messages that it may never have together",
                name(process)
            ),
            GaveUp::Stopped => "the local closure was not finished".to_string(),
        }
    }
}

/// Messages and how many of each, in order.
pub(super) type Bag = BTreeMap<MessageId, u32>;

/// A bag with some messages more.
pub(super) fn with(bag: &Bag, messages: &[MessageId]) -> Bag {
    let mut bag = bag.clone();
    for message in messages {
        *bag.entry(*message).or_default() += 1;
    }
    bag
}

/// A step between nodes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::kernel) struct Edge {
    pub(in crate::kernel) from: u32,
    /// Nowhere if it panics.
    pub(in crate::kernel) to: Option<u32>,
    pub(in crate::kernel) consumed: Vec<MessageId>,
    pub(in crate::kernel) sent: SendListId,
    /// Does it happen by itself, without a message?
    pub(in crate::kernel) by_itself: bool,
    /// Which transition; none if it is a restart.
    pub(in crate::kernel) transition: Option<usize>,
}

/// The steps of all processes.
pub(crate) struct Flattened {
    pub(super) steps: Vec<Vec<FlatStep>>,
    /// The messages that are on their way at the start, and those that can be consumed at any time.
    pub(super) at_first: HashSet<u32>,
}

/// A step of a process.
pub(crate) struct FlatStep {
    pub(super) from: u32,
    pub(super) to: Option<u32>,
    pub(super) consumed: Vec<u32>,
    pub(super) sent: Vec<u32>,
}
