//! One round of a search: a batch of states is expanded, then their successors are looked up.
//!
//! Both halves run on all threads without sharing anything that is written: chunks of states are expanded
//! against the kernel as it is, each into its own buffers; then each table of the visited set takes its
//! numbers from all buffers, in the order of the chunks. Which thread does what changes nothing, not even
//! the order of the new states, so a search is the same for every number of threads.

use std::ops::Range;
use std::sync::OnceLock;

use rayon::ThreadPool;
use rayon::prelude::*;

use super::space::Expanded;
use super::visited::{TABLES, VisitedSet, table_of};
use crate::base::{Heeded, heed};
use crate::kernel::{Found, Kernel, NO_SLEEP, SleepSetId, State, Unknown};

/// What came of a batch, what is unknown, and the states for which something is.
type Sum = (Expanded, Vec<Unknown>, Vec<Found>);

/// The threads and the buffers, kept from round to round.
pub(super) struct Expander {
    threads: usize,
    /// Started when there is something to do.
    pool: OnceLock<ThreadPool>,
    /// How many states a thread expands at a time.
    chunk: usize,
    chunks: Vec<Chunk>,
    /// How many of the buffers the batch uses.
    used: usize,
    /// Keep, for each new state, the state it was reached from.
    recording: bool,
    parents: Vec<(State, State)>,
}

/// The successors of a chunk of states, ordered by table.
#[derive(Default)]
struct Chunk {
    successors: Vec<State>,
    sleep_sets: Vec<SleepSetId>,
    /// The state that each successor was reached from, when recording.
    origins: Vec<State>,
    /// Where the successors of each table begin, and where the last ones end.
    starts: Vec<u32>,
    expanded: Expanded,
    unknown: Vec<Unknown>,
    /// States for which something is unknown.
    postponed: Vec<Found>,
}

/// Successors in the order in which they are found, with the state that each was reached from when
/// recording.
#[derive(Default)]
struct Scratch {
    successors: Vec<Found>,
    origins: Vec<State>,
}

impl Expander {
    pub(super) fn new(threads: usize, chunk: usize, recording: bool) -> Self {
        Expander {
            threads,
            pool: OnceLock::new(),
            chunk,
            chunks: Vec::new(),
            used: 0,
            recording,
            parents: Vec::new(),
        }
    }

    fn pool(&self) -> &ThreadPool {
        self.pool.get_or_init(|| {
            let builder = rayon::ThreadPoolBuilder::new().num_threads(self.threads);
            builder.build().expect("threads can be started")
        })
    }

    /// How many tasks a thread takes at least: all of them where there is too little work to share.
    fn at_least(&self, work: usize) -> usize {
        if work < self.chunk { usize::MAX } else { 1 }
    }

    /// Expands the parts of a batch. The successors stay in the buffers.
    pub(super) fn expand(&mut self, kernel: &Kernel<'_>, parts: &[Vec<Found>]) -> Sum {
        let tasks: Vec<&[Found]> = parts.iter().flat_map(|part| part.chunks(self.chunk)).collect();
        self.chunks.resize_with(tasks.len().max(self.chunks.len()), Chunk::default);
        let min_len = self.at_least(tasks.iter().map(|states| states.len()).sum());
        self.used = tasks.len();
        self.pool();
        let (recording, chunks, heeded) = (self.recording, &mut self.chunks[..self.used], Heeded::here());
        let Some(pool) = self.pool.get() else { unreachable!("it was just started") };
        pool.install(|| {
            let all = chunks.par_iter_mut().zip(tasks).with_min_len(min_len);
            all.for_each_init(Scratch::default, |scratch, (chunk, states)| {
                heeded.within(|| chunk.expand(kernel, states, scratch, recording));
            });
        });
        self.left_over()
    }

    /// What came of the batch and was not asked for before: of a part of it, if there was a sign to stop.
    pub(super) fn left_over(&mut self) -> Sum {
        let mut sum = Sum::default();
        for chunk in &mut self.chunks[..self.used] {
            sum.0.add(&std::mem::take(&mut chunk.expanded));
            sum.1.append(&mut chunk.unknown);
            sum.2.append(&mut chunk.postponed);
        }
        sum
    }

    /// Puts the successors into the visited set, and those that are new where they are wanted, by table. Meanwhile one
    /// thread does something else. Returns how many are new.
    pub(super) fn insert(
        &mut self,
        visited: &mut VisitedSet,
        found: &mut [Vec<Found>],
        meanwhile: impl FnOnce() + Send,
    ) -> u64 {
        let (recording, chunks, heeded) = (self.recording, &self.chunks[..self.used], Heeded::here());
        let successors = chunks.iter().map(|chunk| chunk.successors.len()).sum();
        let min_len = self.at_least(successors);
        let insert = || -> (Vec<usize>, Vec<Vec<(State, State)>>) {
            let tables = visited.tables.par_iter_mut().zip(found).enumerate();
            tables
                .with_min_len(min_len)
                .map(|(at, (table, found))| {
                    heeded.heed();
                    let (before, mut parents) = (found.len(), Vec::new());
                    for chunk in chunks {
                        let share = chunk.share(at);
                        table.insert_all(&chunk.successors[share.clone()], |position| {
                            let at = share.start + position;
                            let state = chunk.successors[at];
                            found.push(Found { state, sleep: chunk.sleep_sets[at] });
                            if recording {
                                parents.push((state, chunk.origins[at]));
                            }
                        });
                    }
                    (found.len() - before, parents)
                })
                .unzip()
        };
        let ((), (new, parents)) = self.pool().install(|| rayon::join(|| heeded.within(meanwhile), insert));
        self.parents.extend(parents.into_iter().flatten());
        new.into_iter().sum::<usize>() as u64
    }

    /// The state that each was reached from, if that was recorded.
    pub(super) fn take_parents(&mut self) -> Option<Vec<(State, State)>> {
        self.recording.then(|| std::mem::take(&mut self.parents))
    }

    pub(super) fn bytes(&self) -> u64 {
        let chunk = |chunk: &Chunk| {
            (chunk.successors.capacity() + chunk.origins.capacity()) * size_of::<State>()
                + chunk.sleep_sets.capacity() * size_of::<SleepSetId>()
                + chunk.starts.capacity() * size_of::<u32>()
        };
        let buffers: usize = self.chunks.iter().map(chunk).sum();
        (buffers + self.parents.capacity() * size_of::<(State, State)>()) as u64
    }
}

impl Chunk {
    fn expand(&mut self, kernel: &Kernel<'_>, states: &[Found], scratch: &mut Scratch, recording: bool) {
        heed();
        scratch.successors.clear();
        scratch.origins.clear();
        for &found in states {
            let before = scratch.successors.len();
            if let Err(unknown) = self.expand_one(kernel, found, &mut scratch.successors) {
                scratch.successors.truncate(before);
                self.unknown.push(unknown);
                self.postponed.push(found);
            }
            if recording {
                scratch.origins.resize(scratch.successors.len(), found.state);
            }
        }
        self.order_by_table(scratch, recording);
    }

    #[inline]
    fn expand_one(
        &mut self,
        kernel: &Kernel<'_>,
        found: Found,
        successors: &mut Vec<Found>,
    ) -> Result<(), Unknown> {
        let state = found.state;
        let steps = kernel.expand(found, |successor| successors.push(successor))?;
        let judgement = kernel.judge(state)?;
        let ended = !judgement.panics() && kernel.ended(state, steps)?;
        let expanded = &mut self.expanded;
        expanded.transitions += steps as u64;
        expanded.terminal += u64::from(ended);
        if judgement.broken() || ended && judgement.broken_at_end() {
            expanded.violating.get_or_insert(state);
        }
        if judgement.panics() {
            expanded.panicking.get_or_insert(state);
        }
        Ok(())
    }

    /// A counting sort: how many for each table, where each table begins, then each to its place.
    fn order_by_table(&mut self, scratch: &Scratch, recording: bool) {
        self.starts.clear();
        self.starts.resize(TABLES + 1, 0);
        for found in &scratch.successors {
            self.starts[table_of(found.state)] += 1;
        }
        let mut end = 0;
        for start in &mut self.starts {
            end += *start;
            *start = end;
        }
        self.successors.resize(scratch.successors.len(), State::default());
        self.origins.resize(scratch.origins.len(), State::default());
        self.sleep_sets.resize(scratch.successors.len(), NO_SLEEP);
        for (at, found) in scratch.successors.iter().enumerate().rev() {
            let start = &mut self.starts[table_of(found.state)];
            *start -= 1;
            self.successors[*start as usize] = found.state;
            self.sleep_sets[*start as usize] = found.sleep;
            if recording {
                self.origins[*start as usize] = scratch.origins[at];
            }
        }
    }

    fn share(&self, table: usize) -> Range<usize> {
        self.starts[table] as usize..self.starts[table + 1] as usize
    }
}

impl Expanded {
    fn add(&mut self, other: &Expanded) {
        self.transitions += other.transitions;
        self.terminal += other.terminal;
        self.violating = self.violating.or(other.violating);
        self.panicking = self.panicking.or(other.panicking);
    }
}
