//! States as pairs of states of two groups: a batch is expanded on all threads, then its successors are looked up.
//!
//! From: docs/theory/kernel.md 8.

use super::frontier::{Batch, Frontier};
use super::round::Expander;
use super::space::{Expanded, Path, Space, Way};
use super::visited::VisitedSet;
use super::{Explore, Order};
use crate::engine::Search;
use crate::kernel::{Kernel, State, Unknown};

pub(super) struct Pairs {
    order: Order,
    visited: VisitedSet,
    frontier: Frontier,
    expander: Expander,
    batch: Batch,
    unknown: Vec<Unknown>,
}

impl Pairs {
    pub(super) fn new(initial: State, engine: &Explore, search: &Search, recording: bool) -> Self {
        let mut visited = VisitedSet::new(engine.visited, search.tuning.narrow_max);
        visited.insert(initial);
        Pairs {
            order: engine.order,
            visited,
            frontier: Frontier::new(engine.order, initial),
            expander: Expander::new(search.threads, search.tuning.chunk, recording),
            batch: Batch { depth: 0, parts: Vec::new() },
            unknown: Vec::new(),
        }
    }
}

impl Space for Pairs {
    fn take(&mut self) -> Option<u32> {
        self.batch = self.frontier.take()?;
        Some(self.batch.depth)
    }

    fn expand(&mut self, kernel: &mut Kernel<'_>, _: bool) -> Expanded {
        let (sum, unknown, postponed) = self.expander.expand(kernel, &self.batch.parts);
        self.frontier.put_back(self.batch.depth, postponed);
        self.unknown = unknown;
        let (lefts, rights) = kernel.sizes();
        self.visited.fit(lefts, rights);
        sum
    }

    fn insert(&mut self, kernel: &mut Kernel<'_>, too_far: bool) -> u64 {
        let unknown = std::mem::take(&mut self.unknown);
        let mut learn = || unknown.iter().for_each(|unknown| kernel.learn(*unknown));
        if too_far {
            learn();
            return 0;
        }
        let found = self.frontier.found_from(self.batch.depth);
        self.expander.insert(&mut self.visited, found, learn)
    }

    fn left_over(&mut self) -> Expanded {
        self.expander.left_over().0
    }

    fn waiting(&self) -> u64 {
        self.frontier.waiting()
    }

    fn bytes(&self) -> u64 {
        self.visited.bytes() + self.frontier.bytes() + self.expander.bytes()
    }

    fn missed_probability(&self) -> f64 {
        self.visited.missed_probability()
    }

    fn states(&self) -> Option<Box<dyn Iterator<Item = State> + '_>> {
        self.visited.states().map(|states| -> Box<dyn Iterator<Item = State>> { Box::new(states) })
    }

    fn vector(&self, state: State, kernel: &Kernel<'_>) -> Vec<u32> {
        kernel.vector(state)
    }

    fn way_to(&mut self, state: State, kernel: &Kernel<'_>) -> Way {
        let Some(mut parents) = self.expander.take_parents() else { return Way::Forgotten };
        parents.sort_unstable();
        let mut path = vec![state];
        while let Ok(at) = parents.binary_search_by_key(&path[path.len() - 1], |(state, _)| *state) {
            path.push(parents[at].1);
        }
        let path: Path = path.into_iter().rev().map(|state| kernel.vector(state)).collect();
        if self.order == Order::Depth { Way::Known(path) } else { Way::Long(path) }
    }
}
