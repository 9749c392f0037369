//! The states that wait to be expanded. Which of them come next is all that tells breadth-first from
//! depth-first search.

use super::Order;
use super::visited::TABLES;
use crate::kernel::{AWAKE, Found, State};

/// States that are equally far from the start, on the way on which they were found.
pub(super) struct Batch {
    pub(super) depth: u32,
    pub(super) parts: Vec<Vec<Found>>,
}

/// Breadth-first: how many states are expanded together. Large batches make the tables of the visited set
/// stay in the cache while their share of the successors is looked up.
const BREADTH: usize = 256 * 1024;
/// Depth-first: newest first means little if the batch is large.
const DEPTH: usize = 256;

pub(super) struct Frontier {
    waiting: u64,
    kind: Kind,
}

enum Kind {
    /// The level being expanded, and the next one by the tables of the visited set: states of one table
    /// have much in common, so expanding them together keeps the kernel's tables in the cache.
    Breadth { depth: u32, level: Vec<Vec<Found>>, next: Vec<Vec<Found>> },
    /// Blocks of states with their depths, the newest last.
    Depth(Vec<(u32, Vec<Found>)>),
}

impl Frontier {
    pub(super) fn new(order: Order, initial: State) -> Self {
        let initial = vec![Found { state: initial, rule: AWAKE }];
        let kind = match order {
            Order::Breadth => {
                Kind::Breadth { depth: 0, level: vec![initial], next: vec![Vec::new(); TABLES] }
            }
            Order::Depth => Kind::Depth(vec![(0, initial)]),
        };
        Frontier { waiting: 1, kind }
    }

    /// Adds what was reached from states of a depth: new states, by table.
    pub(super) fn push(&mut self, from_depth: u32, by_table: Vec<Vec<Found>>) {
        self.waiting += by_table.iter().map(|states| states.len() as u64).sum::<u64>();
        match &mut self.kind {
            Kind::Breadth { next, .. } => {
                for (waiting, new) in next.iter_mut().zip(by_table) {
                    waiting.extend(new);
                }
            }
            Kind::Depth(stack) => {
                let states: Vec<Found> = by_table.into_iter().flatten().collect();
                if !states.is_empty() {
                    stack.push((from_depth + 1, states));
                }
            }
        }
    }

    /// Puts back states that could not be expanded yet: they come next.
    pub(super) fn put_back(&mut self, depth: u32, states: Vec<Found>) {
        if states.is_empty() {
            return;
        }
        self.waiting += states.len() as u64;
        match &mut self.kind {
            Kind::Breadth { level, .. } => level.push(states),
            Kind::Depth(stack) => stack.push((depth, states)),
        }
    }

    /// The next states to expand.
    pub(super) fn take(&mut self) -> Option<Batch> {
        let batch = match &mut self.kind {
            Kind::Breadth { depth, level, next } => {
                if level.is_empty() {
                    *depth += 1;
                    level.extend(
                        next.iter_mut().rev().map(std::mem::take).filter(|states| !states.is_empty()),
                    );
                }
                let (mut parts, mut room) = (Vec::new(), BREADTH);
                while room > 0
                    && let Some(mut part) = level.pop()
                {
                    if part.len() > room {
                        level.push(part.split_off(room));
                    }
                    room -= part.len();
                    parts.push(part);
                }
                Batch { depth: *depth, parts }
            }
            Kind::Depth(stack) => {
                let (depth, mut states) = stack.pop()?;
                let rest = states.len().saturating_sub(DEPTH);
                let part = states.split_off(rest);
                if rest > 0 {
                    stack.push((depth, states));
                }
                Batch { depth, parts: vec![part] }
            }
        };
        let taken = batch.parts.iter().map(|part| part.len() as u64).sum::<u64>();
        self.waiting -= taken;
        (taken > 0).then_some(batch)
    }

    pub(super) fn waiting(&self) -> u64 {
        self.waiting
    }

    pub(super) fn bytes(&self) -> u64 {
        let states: usize = match &self.kind {
            Kind::Breadth { level, next, .. } => level.iter().chain(next).map(Vec::capacity).sum(),
            Kind::Depth(stack) => stack.iter().map(|(_, states)| states.capacity()).sum(),
        };
        (states * size_of::<Found>()) as u64
    }
}
