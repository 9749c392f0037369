//! States as rows of numbers, one for each process: one after the other is expanded, and what is new is appended.
//!
//! From: docs/theory/kernel.md 10. The rows in the order in which they were found are the frontier of a breadth-first
//! search, and each has the number of the row that it was found from, so the way to a violation is known. The kernel
//! works out what it does not know on the spot.
//! Held by: testkit/tests/reductions.rs, crates/quorate-zoo/tests/reductions.rs.

use std::ops::Range;

use super::Order;
use super::space::{Expanded, Path, Space, Way};
use crate::base;
use crate::kernel::{Kernel, State};

/// How many states are expanded between two looks at the clock.
const BREADTH: usize = 1024;
/// Depth-first: newest first means little if a batch is large.
const DEPTH: usize = 16;

/// The start has no parent.
const NOBODY: u32 = u32::MAX;

pub(super) struct Rows {
    found: base::Rows,
    /// For each row, the one that it was found from.
    parents: Vec<u32>,
    frontier: Frontier,
    /// What was taken last, and how much of it was expanded.
    batch: Vec<u32>,
    depth: u32,
    sum: Expanded,
    new: u64,
    vector: Vec<u32>,
}

enum Frontier {
    /// The rows that wait, and where the next level begins.
    Breadth { waiting: Range<usize>, depth: u32 },
    /// Blocks of rows with their depths, the newest last.
    Depth(Vec<(u32, Vec<u32>)>),
}

impl Rows {
    pub(super) fn new(initial: &[u32], order: Order) -> Self {
        let mut rows = base::Rows::new(initial.len());
        rows.insert(initial);
        let frontier = match order {
            Order::Breadth => Frontier::Breadth { waiting: 0..1, depth: 0 },
            Order::Depth => Frontier::Depth(vec![(0, vec![0])]),
        };
        Rows {
            found: rows,
            parents: vec![NOBODY],
            frontier,
            batch: Vec::new(),
            depth: 0,
            sum: Expanded::default(),
            new: 0,
            vector: Vec::new(),
        }
    }
}

fn number(row: usize) -> u32 {
    u32::try_from(row).expect("rows have numbers of 32 bits")
}

impl Space for Rows {
    fn take(&mut self) -> Option<u32> {
        self.batch.clear();
        match &mut self.frontier {
            Frontier::Breadth { waiting, depth } => {
                if waiting.start == waiting.end && waiting.end < self.found.len() {
                    waiting.end = self.found.len();
                    *depth += 1;
                }
                let end = waiting.end.min(waiting.start + BREADTH);
                self.batch.extend((waiting.start..end).map(number));
                waiting.start = end;
                self.depth = *depth;
            }
            Frontier::Depth(stack) => {
                let (depth, mut rows) = stack.pop()?;
                let rest = rows.len().saturating_sub(DEPTH);
                self.batch = rows.split_off(rest);
                if rest > 0 {
                    stack.push((depth, rows));
                }
                self.depth = depth;
            }
        }
        (!self.batch.is_empty()).then_some(self.depth)
    }

    fn expand(&mut self, kernel: &mut Kernel<'_>, too_far: bool) -> Expanded {
        let before = self.found.len();
        let Rows { found, parents, batch, sum, vector, .. } = self;
        for &row in batch.iter() {
            vector.clear();
            vector.extend_from_slice(found.row(row));
            let expansion = kernel.expand_vector(vector, |successor| {
                if !too_far && found.insert(successor).is_some() {
                    parents.push(row);
                }
            });
            let state = State::of_row(row);
            sum.transitions += expansion.taken as u64;
            sum.terminal += u64::from(expansion.ended);
            if expansion.judgement.broken() || expansion.ended && expansion.judgement.broken_at_end() {
                sum.violating.get_or_insert(state);
            }
            if expansion.judgement.panics() {
                sum.panicking.get_or_insert(state);
            }
        }
        self.new = (self.found.len() - before) as u64;
        std::mem::take(&mut self.sum)
    }

    fn insert(&mut self, _: &mut Kernel<'_>, _: bool) -> u64 {
        let new = std::mem::take(&mut self.new);
        if let Frontier::Depth(stack) = &mut self.frontier
            && new > 0
        {
            let new = self.found.len() - usize::try_from(new).expect("they are in memory")..self.found.len();
            stack.push((self.depth + 1, new.map(number).collect()));
        }
        new
    }

    fn left_over(&mut self) -> Expanded {
        std::mem::take(&mut self.sum)
    }

    fn waiting(&self) -> u64 {
        match &self.frontier {
            Frontier::Breadth { waiting, .. } => (self.found.len() - waiting.start) as u64,
            Frontier::Depth(stack) => stack.iter().map(|(_, rows)| rows.len() as u64).sum(),
        }
    }

    fn bytes(&self) -> u64 {
        let blocks = match &self.frontier {
            Frontier::Breadth { .. } => 0,
            Frontier::Depth(stack) => stack.iter().map(|(_, rows)| rows.capacity()).sum(),
        };
        self.found.bytes() + ((self.parents.capacity() + blocks) * size_of::<u32>()) as u64
    }

    fn missed_probability(&self) -> f64 {
        0.0
    }

    fn states(&self) -> Option<Box<dyn Iterator<Item = State> + '_>> {
        Some(Box::new((0..self.found.len()).map(|row| State::of_row(number(row)))))
    }

    fn vector(&self, state: State, _: &Kernel<'_>) -> Vec<u32> {
        self.found.row(state.row()).to_vec()
    }

    fn way_to(&mut self, state: State, kernel: &Kernel<'_>) -> Way {
        let mut path: Path = Vec::new();
        let mut row = state.row();
        while row != NOBODY {
            path.push(self.vector(State::of_row(row), kernel));
            row = self.parents[row as usize];
        }
        path.reverse();
        Way::Known(path)
    }
}
