//! The states that wait to be expanded. Breadth-first and depth-first search differ only in which of them come
//! next.

use super::Order;
use super::visited::TABLES;
use crate::kernel::{Found, NO_SLEEP, State};

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
    /// The states that are being found, by the tables of the visited set: states of one table have much in
    /// common, so expanding them together keeps the kernel's tables in the cache.
    found: Vec<Vec<Found>>,
    /// How far they are from the start.
    found_depth: u32,
    kind: Kind,
}

enum Kind {
    /// The rest of the level being expanded.
    Breadth { depth: u32, level: Vec<Vec<Found>> },
    /// Blocks of states with their depths, the newest last.
    Depth(Vec<(u32, Vec<Found>)>),
}

impl Frontier {
    pub(super) fn new(order: Order, initial: State) -> Self {
        let mut found = vec![Vec::new(); TABLES];
        found[0].push(Found { state: initial, sleep: NO_SLEEP });
        let kind = match order {
            Order::Breadth => Kind::Breadth { depth: 0, level: Vec::new() },
            Order::Depth => Kind::Depth(Vec::new()),
        };
        Frontier { found, found_depth: 0, kind }
    }

    /// Where to put, by table, what is reached from the batch that was taken last, of this depth.
    pub(super) fn found_from(&mut self, depth: u32) -> &mut [Vec<Found>] {
        self.found_depth = depth + 1;
        &mut self.found
    }

    /// Puts back states that could not be expanded yet: they come next.
    pub(super) fn put_back(&mut self, depth: u32, states: Vec<Found>) {
        if states.is_empty() {
            return;
        }
        match &mut self.kind {
            Kind::Breadth { level, .. } => level.push(states),
            Kind::Depth(stack) => stack.push((depth, states)),
        }
    }

    /// The next states to expand.
    pub(super) fn take(&mut self) -> Option<Batch> {
        match &mut self.kind {
            Kind::Breadth { depth, level } => {
                if level.is_empty() {
                    *depth = self.found_depth;
                    let found = self.found.iter_mut().rev().map(std::mem::take);
                    level.extend(found.filter(|states| !states.is_empty()));
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
                (!parts.is_empty()).then_some(Batch { depth: *depth, parts })
            }
            Kind::Depth(stack) => {
                let found: Vec<Found> = self.found.iter_mut().flat_map(|states| states.drain(..)).collect();
                if !found.is_empty() {
                    stack.push((self.found_depth, found));
                }
                let (depth, mut states) = stack.pop()?;
                let rest = states.len().saturating_sub(DEPTH);
                let part = states.split_off(rest);
                if rest > 0 {
                    stack.push((depth, states));
                }
                Some(Batch { depth, parts: vec![part] })
            }
        }
    }

    fn blocks(&self) -> impl Iterator<Item = &Vec<Found>> {
        let (level, stack) = match &self.kind {
            Kind::Breadth { level, .. } => (level.as_slice(), [].as_slice()),
            Kind::Depth(stack) => ([].as_slice(), stack.as_slice()),
        };
        self.found.iter().chain(level).chain(stack.iter().map(|(_, states)| states))
    }

    pub(super) fn waiting(&self) -> u64 {
        self.blocks().map(|states| states.len() as u64).sum()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.blocks().map(|states| (states.capacity() * size_of::<Found>()) as u64).sum()
    }
}
