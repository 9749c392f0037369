//! One round of a search: a batch of states is expanded, then their successors are looked up.
//!
//! Both halves run on all threads without sharing anything that is written: chunks of states are expanded
//! against the kernel as it is, each into its own buffers; then each table of the visited set takes its
//! numbers from all buffers, in the order of the chunks. Which thread does what changes nothing, not even
//! the order of the new states, so a search is the same for every number of threads.

use rayon::ThreadPool;
use rayon::prelude::*;

use super::visited::{Mixed, TABLES, VisitedSet};
use crate::kernel::{Kernel, State, Unknown};

const CHUNK: usize = 256;

/// What came of expanding a batch, added up.
#[derive(Default)]
pub(super) struct Expanded {
    pub(super) transitions: u64,
    pub(super) terminal: u64,
    pub(super) violating: Option<State>,
    pub(super) panicking: Option<State>,
    pub(super) unknown: Vec<Unknown>,
    /// States for which something is unknown.
    pub(super) postponed: Vec<State>,
}

/// The threads and the buffers, kept from round to round.
pub(super) struct Rounds {
    pool: ThreadPool,
    chunks: Vec<Chunk>,
    /// Keep, for each new state, the state it was reached from.
    recording: bool,
    pub(super) parents: Vec<(State, State)>,
}

#[derive(Default)]
struct Chunk {
    successors: Vec<Vec<Mixed>>,
    /// The state that each successor was reached from, when recording.
    origins: Vec<Vec<State>>,
    scratch: Vec<State>,
    expanded: Expanded,
}

impl Rounds {
    pub(super) fn new(threads: usize, recording: bool) -> Self {
        let pool =
            rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be started");
        Rounds { pool, chunks: Vec::new(), recording, parents: Vec::new() }
    }

    /// Expands a batch. The successors stay in the buffers.
    pub(super) fn expand(&mut self, kernel: &Kernel<'_>, states: &[State]) -> Expanded {
        let count = states.len().div_ceil(CHUNK);
        if self.chunks.len() < count {
            self.chunks.resize_with(count, Chunk::default);
        }
        let (recording, chunks) = (self.recording, &mut self.chunks);
        self.pool.install(|| {
            let used = chunks.par_iter_mut().enumerate();
            used.for_each(|(at, chunk)| {
                let states = states.chunks(CHUNK).nth(at).unwrap_or_default();
                chunk.expand(kernel, states, recording);
            });
        });
        let mut sum = Expanded::default();
        for chunk in &mut self.chunks {
            sum.add(std::mem::take(&mut chunk.expanded));
        }
        sum
    }

    /// Puts the successors into the visited set and returns those that are new.
    pub(super) fn insert(&mut self, visited: &mut VisitedSet) -> impl Iterator<Item = State> + use<> {
        let (recording, chunks) = (self.recording, &self.chunks);
        let new: Vec<(Vec<State>, Vec<(State, State)>)> = self.pool.install(|| {
            let tables = visited.tables.par_iter_mut().enumerate();
            tables
                .map(|(at, table)| {
                    let (mut new, mut parents) = (Vec::new(), Vec::new());
                    for chunk in chunks {
                        let Some(numbers) = chunk.successors.get(at) else { continue };
                        table.insert_all(numbers, |position| {
                            let state = numbers[position].state();
                            new.push(state);
                            if recording {
                                parents.push((state, chunk.origins[at][position]));
                            }
                        });
                    }
                    (new, parents)
                })
                .collect()
        });
        self.parents.extend(new.iter().flat_map(|(_, parents)| parents));
        new.into_iter().flat_map(|(new, _)| new)
    }

    pub(super) fn bytes(&self) -> u64 {
        let chunk = |chunk: &Chunk| -> usize {
            chunk.successors.iter().map(|buffer| buffer.capacity() * size_of::<Mixed>()).sum::<usize>()
                + chunk.origins.iter().map(|buffer| buffer.capacity() * size_of::<State>()).sum::<usize>()
        };
        let buffers: usize = self.chunks.iter().map(chunk).sum();
        (buffers + self.parents.capacity() * size_of::<(State, State)>()) as u64
    }
}

impl Chunk {
    fn expand(&mut self, kernel: &Kernel<'_>, states: &[State], recording: bool) {
        self.successors.resize_with(TABLES, Vec::new);
        self.origins.resize_with(TABLES, Vec::new);
        self.successors.iter_mut().for_each(Vec::clear);
        self.origins.iter_mut().for_each(Vec::clear);
        for &state in states {
            if let Err(unknown) = self.expand_one(kernel, state, recording) {
                self.expanded.unknown.push(unknown);
                self.expanded.postponed.push(state);
            }
        }
    }

    #[inline]
    fn expand_one(&mut self, kernel: &Kernel<'_>, state: State, recording: bool) -> Result<(), Unknown> {
        self.scratch.clear();
        let steps = kernel.expand(state, |successor| self.scratch.push(successor))?;
        let judgement = kernel.judge(state)?;
        for &successor in &self.scratch {
            let mixed = Mixed::new(successor);
            self.successors[mixed.table()].push(mixed);
            if recording {
                self.origins[mixed.table()].push(state);
            }
        }
        let expanded = &mut self.expanded;
        expanded.transitions += steps as u64;
        let ended = steps == 0 && !judgement.panics();
        expanded.terminal += u64::from(ended);
        if judgement.broken() || ended && judgement.broken_at_end() {
            expanded.violating.get_or_insert(state);
        }
        if judgement.panics() {
            expanded.panicking.get_or_insert(state);
        }
        Ok(())
    }
}

impl Expanded {
    fn add(&mut self, other: Expanded) {
        self.transitions += other.transitions;
        self.terminal += other.terminal;
        self.violating = self.violating.or(other.violating);
        self.panicking = self.panicking.or(other.panicking);
        self.unknown.extend(other.unknown);
        self.postponed.extend(other.postponed);
    }
}
