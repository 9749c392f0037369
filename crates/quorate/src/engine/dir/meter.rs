//! Limits and progress: what was done so far, told to the watch now and then.

use super::Halt;
use crate::engine::{Search, Watch};
use crate::verdict::{Coverage, Stopped};

/// How many small things are done before the watch is told.
const TICKS: u32 = 32;

/// About what a place of a component takes, with the step that leads to it.
const PLACE_BYTES: u64 = 1024;

/// Counts what is done and stops when it is too much.
pub(super) struct Meter<'w> {
    watch: &'w mut dyn Watch,
    states_max: Option<u64>,
    bytes_max: Option<u64>,
    ticks: u32,
    /// What takes memory besides places: skeletons, and what handlers answered.
    pub(super) other_bytes: u64,
    pub(super) coverage: Coverage,
}

impl<'w> Meter<'w> {
    pub(super) fn new(search: &Search, watch: &'w mut dyn Watch) -> Self {
        let (states_max, bytes_max) = (search.states_max, search.bytes_max);
        Meter { watch, states_max, bytes_max, ticks: 0, other_bytes: 0, coverage: Coverage::default() }
    }

    /// How many places of one table are too many.
    pub(super) fn places_max(&self) -> u64 {
        self.states_max.unwrap_or(u64::MAX)
    }

    /// A table is in the making: so far there are so many places, and so many steps were taken. What of it is new is not
    /// known yet.
    pub(super) fn glance(&mut self, places: u64, steps: u64, table_bytes: u64) -> Result<(), Halt> {
        self.count(places, steps, table_bytes);
        self.ask_watch()
    }

    fn count(&mut self, places: u64, steps: u64, table_bytes: u64) {
        (self.coverage.states, self.coverage.transitions) = (places, steps);
        self.coverage.bytes = places * PLACE_BYTES + table_bytes + self.other_bytes;
    }

    /// Something small was done: so many places were seen, so many steps taken from them, and tables of so many bytes
    /// made of them.
    pub(super) fn tick(&mut self, places: u64, steps: u64, table_bytes: u64) -> Result<(), Halt> {
        self.count(places, steps, table_bytes);
        self.pass()
    }

    /// Something small was done.
    pub(super) fn pass(&mut self) -> Result<(), Halt> {
        let states = self.states_max.filter(|limit| self.coverage.states > *limit);
        if let Some(limit) = states {
            return Err(Halt::Stopped(Stopped::States(limit)));
        }
        self.ask_watch()
    }

    fn ask_watch(&mut self) -> Result<(), Halt> {
        self.ticks += 1;
        if !self.ticks.is_multiple_of(TICKS) {
            return Ok(());
        }
        let bytes = self.bytes_max.filter(|limit| self.coverage.bytes >= *limit).map(Stopped::Memory);
        match self.watch.round(&self.coverage).or(bytes) {
            Some(stopped) => Err(Halt::Stopped(stopped)),
            None => Ok(()),
        }
    }
}
