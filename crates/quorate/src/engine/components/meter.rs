//! Limits and progress of a search, and the reasons why one ends early.

use super::events::Skeleton;
use crate::base::heed;
use crate::engine::Search;
use crate::report::{Coverage, Stopped, Watch, heeding};

/// How many small things are done between two calls of the watch.
const TICKS: u32 = 32;

/// About how many bytes a point of a component takes, with the step that leads to it.
pub(super) const POINT_BYTES: u64 = 1024;

/// Why a search ends before everything is explored.
pub(super) enum Halt {
    Stopped(Stopped),
    Panicking(Box<Panicking>),
    Broken(Box<Broken>),
}

/// A prefix of a skeleton, with a point of each component's node there.
pub(super) struct Cut {
    pub(super) skeleton: Skeleton,
    pub(super) points: Vec<usize>,
}

/// A property that does not hold at a cut.
pub(super) struct Broken {
    pub(super) property: usize,
    pub(super) cut: Cut,
}

/// A panic at a point of a node.
#[derive(Clone)]
pub(super) struct Panic {
    pub(super) point: usize,
    /// Which of all panics that were found.
    pub(super) number: usize,
}

/// A panic that can happen after a skeleton.
pub(super) struct Panicking {
    pub(super) skeleton: Skeleton,
    pub(super) component: usize,
    pub(super) panic: Panic,
}

/// What the local explorers have done.
#[derive(Clone, Copy, Default)]
pub(super) struct Done {
    /// Points that were seen.
    pub(super) points: u64,
    /// Steps that were taken from them.
    pub(super) steps: u64,
    /// Runs that were enumerated, each as far as it can go without being seen.
    pub(super) runs: u64,
}

impl Done {
    pub(super) fn plus(self, more: Done) -> Done {
        Done {
            points: self.points + more.points,
            steps: self.steps + more.steps,
            runs: self.runs + more.runs,
        }
    }
}

/// Counts what is done and stops when it is too much.
pub(super) struct Meter<'w> {
    watch: &'w mut dyn Watch,
    states_max: Option<u64>,
    bytes_max: Option<u64>,
    ticks: u32,
    done: Done,
    /// Memory besides that of points: skeletons, tables, and answers of handlers.
    pub(super) other_bytes: u64,
    pub(super) coverage: Coverage,
    /// How many runs were enumerated.
    pub(super) runs: u64,
}

impl<'w> Meter<'w> {
    pub(super) fn new(search: &Search, watch: &'w mut dyn Watch) -> Self {
        let (states_max, bytes_max, coverage) = (search.states_max, search.bytes_max, Coverage::default());
        Meter {
            watch,
            states_max,
            bytes_max,
            ticks: 0,
            done: Done::default(),
            other_bytes: 0,
            coverage,
            runs: 0,
        }
    }

    /// Does something that ends wherever it is when the watch says so.
    pub(super) fn heeding<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T, Halt>) -> Result<T, Halt> {
        heeding(self.watch.stop(), || work(self)).unwrap_or_else(|stopped| Err(Halt::Stopped(stopped)))
    }

    /// How many points one table may have.
    pub(super) fn points_max(&self) -> u64 {
        self.states_max.unwrap_or(u64::MAX)
    }

    /// This much more was done.
    pub(super) fn add(&mut self, more: Done) -> Result<(), Halt> {
        self.done = self.done.plus(more);
        self.show(Done::default());
        self.pass()
    }

    /// This much has been done for a table that is not finished: what of it is new is not known yet.
    pub(super) fn glance(&mut self, under_way: Done) -> Result<(), Halt> {
        self.show(under_way);
        self.ask_watch()
    }

    /// Updates the coverage: what was done, and what is under way.
    pub(super) fn show(&mut self, under_way: Done) {
        let Done { points, steps, runs } = self.done.plus(under_way);
        (self.coverage.states, self.coverage.transitions, self.runs) = (points, steps, runs);
        self.coverage.bytes = points * POINT_BYTES + self.other_bytes;
    }

    /// Something small was done: stops the search if a limit is reached.
    pub(super) fn pass(&mut self) -> Result<(), Halt> {
        let states = self.states_max.filter(|limit| self.coverage.states > *limit);
        if let Some(limit) = states {
            return Err(Halt::Stopped(Stopped::States(limit)));
        }
        self.ask_watch()
    }

    fn ask_watch(&mut self) -> Result<(), Halt> {
        heed();
        self.ticks += 1;
        if !self.ticks.is_multiple_of(TICKS) {
            return Ok(());
        }
        let bytes = self.bytes_max.filter(|limit| self.coverage.bytes >= *limit).map(Stopped::Memory);
        match self.watch.progress(&self.coverage).or(bytes) {
            Some(stopped) => Err(Halt::Stopped(stopped)),
            None => Ok(()),
        }
    }
}
