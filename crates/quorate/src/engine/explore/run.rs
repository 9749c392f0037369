//! One search over global states, from the start to its end: the loop.
//!
//! Invariant: a state is in the visited set, or it has not been reached; a state that has been taken from the frontier
//! has been judged, and all its successors are in the visited set.
//! Held by: testkit/tests/agreement.rs, crates/quorate-zoo/tests/counts.rs.

use super::pairs::Pairs;
use super::rows::Rows;
use super::space::Space;
use super::{Explore, Order};
use crate::base::heed;
use crate::engine::Search;
use crate::kernel::{Kernel, Sleep, State};
use crate::model::Model;
use crate::report::{Coverage, Stopped, Watch, heeding};

/// A search from the start, repeated as long as its reductions rely on something that it had not seen. It can pause. One
/// that gets far starts again, with the system split in a better way. The first states keep where they came from: should
/// there be no time to look for the way to a violation, it is known.
pub(super) struct Exploration<'m> {
    pub(super) kernel: Kernel<'m>,
    pub(super) run: Run,
    pub(super) repeats: u32,
    pub(super) search: Search,
    recording: bool,
    stage: Stage,
    /// Transitions of runs that were begun again.
    before: u64,
    /// After how many transitions of this run to see whether it is of use to go on.
    look_at: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Reductions are to be built on what was seen.
    Unprepared,
    /// The first states are searched, with the system split as it was declared.
    First,
    /// There is no reason to begin again before the end.
    Whole,
}

impl<'m> Exploration<'m> {
    pub(super) fn new(model: &'m Model, engine: &Explore, search: &Search) -> Self {
        let sleep = if engine.order == Order::Breadth { search.tuning.sleep } else { Sleep::Nobody };
        let kernel = Kernel::new(model, &engine.kernel(search), sleep);
        // Depth-first search is for finding violations, so it remembers the way from the start.
        let recording = engine.order == Order::Depth;
        let run = Run::new(&kernel, engine, search.clone(), true);
        let (stage, search) = (Stage::Unprepared, search.clone());
        let look_at = search.tuning.look_after;
        Exploration { kernel, run, repeats: 1, search, recording, stage, before: 0, look_at }
    }

    /// Sets its reductions aside for the first transitions. What ends in them needs none.
    pub(super) fn begin_plainly(&mut self) {
        if self.search.tuning.plain_first > 0 && !self.search.reductions.which.is_empty() {
            self.kernel.set_reductions_aside();
        }
    }

    /// Are its reductions set aside?
    pub(super) fn is_plain(&self) -> bool {
        self.kernel.is_plain()
    }

    /// How it searches, once it has ended.
    pub(super) fn searched(&self) -> Search {
        if self.is_plain() { self.search.unreduced() } else { self.search.clone() }
    }

    /// How many transitions it has taken, with those of runs that were begun again.
    pub(super) fn transitions(&self) -> u64 {
        self.before + self.run.coverage.transitions
    }

    /// Searches until it ends, or has taken so many transitions.
    pub(super) fn search(&mut self, pause_at: Option<u64>, watch: &mut dyn Watch) -> Ended {
        loop {
            if self.stage == Stage::Unprepared
                && let Err(stopped) = self.prepare(watch)
            {
                return Ended::Stopped(stopped);
            }
            let pause_at = pause_at.map_or(u64::MAX, |at| at.saturating_sub(self.before));
            let plain_first = self.search.tuning.plain_first;
            let look_at = if self.is_plain() { plain_first } else { self.look_at };
            self.run.pause_at = pause_at.min(look_at);
            let ended = self.run.search(&mut self.kernel, watch);
            let first = Ended::Stopped(Stopped::States(self.search.tuning.first_states));
            if self.stage == Stage::First {
                self.run.search = self.search.clone();
                self.stage = Stage::Whole;
                if ended == first && self.search.states_max != Some(self.search.tuning.first_states) {
                    match self.split_anew(watch) {
                        Ok(()) => continue,
                        Err(stopped) => return Ended::Stopped(stopped),
                    }
                }
                if ended == Ended::Paused {
                    self.stage = Stage::First;
                    self.limit_to_first_states();
                }
            }
            if self.is_plain() && ended == Ended::Paused && self.run.coverage.transitions >= plain_first {
                self.kernel.take_reductions_up();
                self.before += self.run.coverage.transitions;
                self.stage = Stage::Unprepared;
                continue;
            }
            let judged = match ended {
                Ended::Exhausted => heeding(watch.stop(), || !self.proves_something()),
                Ended::Paused if self.run.coverage.transitions >= self.look_at => {
                    self.look_at = 2 * self.run.coverage.transitions;
                    heeding(watch.stop(), || self.kernel.is_in_vain())
                }
                _ => return ended,
            };
            match judged {
                Ok(true) => self.begin_again(),
                Ok(false) if ended == Ended::Paused && self.run.coverage.transitions < pause_at => {}
                Ok(false) => return ended,
                Err(stopped) => return Ended::Stopped(stopped),
            }
        }
    }

    fn begin_again(&mut self) {
        self.before += self.run.coverage.transitions;
        self.repeats += 1;
        self.stage = Stage::Unprepared;
        self.look_at = self.search.tuning.look_after;
    }

    /// Reductions rely on what was seen of the processes. Has the search seen no more than they knew of, or nothing that
    /// would have made a difference to it?
    fn proves_something(&mut self) -> bool {
        if self.kernel.gives_up() {
            return false;
        }
        if self.kernel.has_seen_more() && !self.does_the_same_again() {
            return false;
        }
        self.kernel.conclude_symmetry();
        !self.kernel.gives_up() && !self.kernel.has_seen_more()
    }

    fn does_the_same_again(&mut self) -> bool {
        let Exploration { kernel, run, .. } = self;
        let Some(mut look) = kernel.look_again() else { return false };
        if let Some(mut states) = kernel.searches_vectors().then(|| run.space.states()).flatten()
            && !states.all(|state| {
                let vector = run.space.vector(state, kernel);
                kernel.chooses_again(&mut look, &vector)
            })
        {
            return false;
        }
        kernel.concludes(&look)
    }

    fn prepare(&mut self, watch: &mut dyn Watch) -> Result<(), Stopped> {
        let prepared = heeding(watch.stop(), || self.kernel.prepare());
        self.run = Run::new(&self.kernel, &self.run.engine, self.search.clone(), true);
        self.stage = if self.kernel.searches_vectors() { Stage::Whole } else { Stage::First };
        if self.stage == Stage::First {
            self.limit_to_first_states();
        }
        prepared
    }

    fn limit_to_first_states(&mut self) {
        let first = self.search.tuning.first_states;
        self.run.search.states_max = Some(self.search.states_max.map_or(first, |max| max.min(first)));
    }

    fn split_anew(&mut self, watch: &mut dyn Watch) -> Result<(), Stopped> {
        let coverage = self.run.coverage;
        let bytes_max = self.search.bytes_max;
        let mut stopped = None;
        let split = heeding(watch.stop(), || {
            self.kernel.split_anew(4 * coverage.depth + 16, &mut |bytes| {
                stopped = watch.progress(&Coverage { bytes, ..coverage });
                bytes_max.is_some_and(|limit| bytes >= limit) || stopped.is_some()
            });
        });
        self.before += coverage.transitions;
        self.run = Run::new(&self.kernel, &self.run.engine, self.search.clone(), self.recording);
        let Some(stopped) = stopped.or(split.err()) else { return Ok(()) };
        // What was seen before the search could start again has been seen.
        self.run.coverage = coverage;
        Err(stopped)
    }
}

/// How a search ended.
#[derive(PartialEq, Eq)]
pub(super) enum Ended {
    Exhausted,
    Stopped(Stopped),
    Violated(Violating),
    /// It can go on.
    Paused,
}

/// A state that violates, by itself or with a step that panics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Violating {
    pub(super) state: State,
    pub(super) panics: bool,
}

/// A search in progress.
pub(super) struct Run {
    pub(super) engine: Explore,
    pub(super) search: Search,
    pub(super) space: Box<dyn Space + Send>,
    pub(super) coverage: Coverage,
    /// The first state with a step that panics, and its depth.
    pub(super) panicking: Option<(u32, State)>,
    /// After how many transitions to pause.
    pause_at: u64,
    /// Something lies beyond the bound.
    cut: bool,
}

impl Run {
    pub(super) fn new(kernel: &Kernel<'_>, engine: &Explore, search: Search, recording: bool) -> Self {
        let space: Box<dyn Space + Send> = if kernel.searches_vectors() {
            Box::new(Rows::new(&kernel.initial_vector(), engine.order))
        } else {
            Box::new(Pairs::new(kernel.initial(), engine, &search, recording))
        };
        let coverage = Coverage { states: 1, frontier: 1, ..Coverage::default() };
        let engine = engine.clone();
        Run { engine, search, space, coverage, panicking: None, pause_at: u64::MAX, cut: false }
    }

    pub(super) fn search(&mut self, kernel: &mut Kernel<'_>, watch: &mut dyn Watch) -> Ended {
        heeding(watch.stop(), || self.rounds(kernel, watch)).unwrap_or_else(|stopped| {
            let expanded = self.space.left_over();
            self.panicking = self.panicking.or(expanded.panicking.map(|state| (self.coverage.depth, state)));
            let violating = expanded.violating.map(|state| Violating { state, panics: false });
            violating.map_or(Ended::Stopped(stopped), Ended::Violated)
        })
    }

    fn rounds(&mut self, kernel: &mut Kernel<'_>, watch: &mut dyn Watch) -> Ended {
        while let Some(depth) = self.space.take() {
            heed();
            // A panic is one step further than its state: states as near as that may violate by themselves.
            if self.panicking.is_some_and(|(at, _)| depth > at || self.engine.order == Order::Depth) {
                break;
            }
            self.coverage.depth = self.coverage.depth.max(depth);
            let too_far = self.search.depth_max.is_some_and(|limit| depth >= limit);
            let expanded = self.space.expand(kernel, too_far);
            self.coverage.transitions += expanded.transitions;
            self.coverage.terminal_states += expanded.terminal;
            if let Some(state) = expanded.violating {
                return Ended::Violated(Violating { state, panics: false });
            }
            self.panicking = self.panicking.or(expanded.panicking.map(|state| (depth, state)));
            self.cut |= too_far && expanded.transitions > 0;
            self.coverage.states += self.space.insert(kernel, too_far);
            kernel.check_symmetry();
            self.measure(kernel);
            if kernel.too_many_beliefs() || kernel.gives_up_symmetry() {
                return Ended::Exhausted;
            }
            if let Some(stopped) =
                watch.progress(&self.coverage).or_else(|| limit_reached(kernel, &self.search, &self.coverage))
                && self.coverage.frontier > 0
            {
                return Ended::Stopped(stopped);
            }
            if self.coverage.frontier > 0 && self.coverage.transitions >= self.pause_at {
                return Ended::Paused;
            }
        }
        match (self.panicking, self.search.depth_max) {
            (Some((_, state)), _) => Ended::Violated(Violating { state, panics: true }),
            (None, Some(limit)) if self.cut => Ended::Stopped(Stopped::Depth(limit)),
            _ => Ended::Exhausted,
        }
    }

    fn measure(&mut self, kernel: &Kernel<'_>) {
        self.coverage.frontier = self.space.waiting();
        (self.coverage.local_steps, self.coverage.handler_calls) = kernel.local_counts();
        self.coverage.bytes = kernel.bytes() + self.space.bytes();
    }
}

/// A reason to stop that needs no clock: code that is impure or not symmetric, or a limit.
pub(in crate::engine) fn limit_reached(
    kernel: &Kernel<'_>,
    search: &Search,
    coverage: &Coverage,
) -> Option<Stopped> {
    if let Some(handler) = kernel.impure() {
        return Some(Stopped::Impure(handler.to_string()));
    }
    if let Some(difference) = kernel.asymmetric() {
        return Some(Stopped::Asymmetric(difference.to_string()));
    }
    let states = search.states_max.filter(|limit| coverage.states >= *limit);
    let bytes = search.bytes_max.filter(|limit| coverage.bytes >= *limit);
    states.map(Stopped::States).or(bytes.map(Stopped::Memory))
}
