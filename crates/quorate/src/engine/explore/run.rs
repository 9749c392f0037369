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
use crate::kernel::{Kernel, State};
use crate::report::{Coverage, Stopped, Watch, heeding};

/// One search from the start. One that gets far starts again, with the system split in a better way. The first states
/// keep where they came from: should there be no time to look for the way to a violation, it is known.
pub(super) fn explore_once<'r, 'm>(
    kernel: &'r mut Kernel<'m>,
    engine: &'r Explore,
    search: &Search,
    recording: bool,
    watch: &mut dyn Watch,
) -> (Run<'r, 'm>, Ended) {
    let first_states = search.tuning.first_states;
    let first = Search {
        states_max: Some(search.states_max.map_or(first_states, |max| max.min(first_states))),
        ..search.clone()
    };
    let prepared = heeding(watch.stop(), || kernel.prepare());
    let mut run = Run::new(kernel, engine, first, true);
    if run.kernel.searches_vectors() {
        run.search = search.clone();
    }
    let ended = prepared.map_or_else(Ended::Stopped, |()| run.search(watch));
    run.search = search.clone();
    if run.kernel.searches_vectors()
        || ended != Ended::Stopped(Stopped::States(first_states))
        || search.states_max == Some(first_states)
    {
        return (run, ended);
    }
    let Run { kernel, coverage, .. } = run;
    let mut stopped = None;
    let split = heeding(watch.stop(), || {
        kernel.split_anew(4 * coverage.depth + 16, &mut |bytes| {
            stopped = watch.progress(&Coverage { bytes, ..coverage });
            search.bytes_max.is_some_and(|limit| bytes >= limit) || stopped.is_some()
        });
    });
    let mut run = Run::new(kernel, engine, search.clone(), recording);
    if let Some(stopped) = stopped.or(split.err()) {
        // What was seen before the search could start again has been seen.
        run.coverage = coverage;
        return (run, Ended::Stopped(stopped));
    }
    let ended = run.search(watch);
    (run, ended)
}

/// How a search ended.
#[derive(PartialEq, Eq)]
pub(super) enum Ended {
    Exhausted,
    Stopped(Stopped),
    Violated(Violating),
}

/// A state that violates, by itself or with a step that panics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Violating {
    pub(super) state: State,
    pub(super) panics: bool,
}

/// A search in progress.
pub(super) struct Run<'r, 'm> {
    pub(super) kernel: &'r mut Kernel<'m>,
    pub(super) engine: &'r Explore,
    pub(super) search: Search,
    pub(super) space: Box<dyn Space>,
    pub(super) coverage: Coverage,
    /// The first state with a step that panics, and its depth.
    pub(super) panicking: Option<(u32, State)>,
}

impl<'r, 'm> Run<'r, 'm> {
    pub(super) fn new(
        kernel: &'r mut Kernel<'m>,
        engine: &'r Explore,
        search: Search,
        recording: bool,
    ) -> Self {
        let space: Box<dyn Space> = if kernel.searches_vectors() {
            Box::new(Rows::new(&kernel.initial_vector(), engine.order))
        } else {
            Box::new(Pairs::new(kernel.initial(), engine, &search, recording))
        };
        let coverage = Coverage { states: 1, frontier: 1, ..Coverage::default() };
        Run { kernel, engine, search, space, coverage, panicking: None }
    }

    pub(super) fn search(&mut self, watch: &mut dyn Watch) -> Ended {
        heeding(watch.stop(), || self.rounds(watch)).unwrap_or_else(|stopped| {
            let expanded = self.space.left_over();
            self.panicking = self.panicking.or(expanded.panicking.map(|state| (self.coverage.depth, state)));
            let violating = expanded.violating.map(|state| Violating { state, panics: false });
            violating.map_or(Ended::Stopped(stopped), Ended::Violated)
        })
    }

    fn rounds(&mut self, watch: &mut dyn Watch) -> Ended {
        let mut cut = false;
        while let Some(depth) = self.space.take() {
            heed();
            // A panic is one step further than its state: states as near as that may violate by themselves.
            if self.panicking.is_some_and(|(at, _)| depth > at || self.engine.order == Order::Depth) {
                break;
            }
            self.coverage.depth = self.coverage.depth.max(depth);
            let too_far = self.search.depth_max.is_some_and(|limit| depth >= limit);
            let expanded = self.space.expand(self.kernel, too_far);
            self.coverage.transitions += expanded.transitions;
            self.coverage.terminal_states += expanded.terminal;
            if let Some(state) = expanded.violating {
                return Ended::Violated(Violating { state, panics: false });
            }
            self.panicking = self.panicking.or(expanded.panicking.map(|state| (depth, state)));
            cut |= too_far && expanded.transitions > 0;
            self.coverage.states += self.space.insert(self.kernel, too_far);
            self.kernel.check_symmetry();
            self.measure();
            if self.kernel.too_many_beliefs() || self.kernel.gives_up_symmetry() {
                return Ended::Exhausted;
            }
            if let Some(stopped) = watch
                .progress(&self.coverage)
                .or_else(|| limit_reached(self.kernel, &self.search, &self.coverage))
                && self.coverage.frontier > 0
            {
                return Ended::Stopped(stopped);
            }
        }
        match (self.panicking, self.search.depth_max) {
            (Some((_, state)), _) => Ended::Violated(Violating { state, panics: true }),
            (None, Some(limit)) if cut => Ended::Stopped(Stopped::Depth(limit)),
            _ => Ended::Exhausted,
        }
    }

    fn measure(&mut self) {
        self.coverage.frontier = self.space.waiting();
        (self.coverage.local_steps, self.coverage.handler_calls) = self.kernel.local_counts();
        self.coverage.bytes = self.kernel.bytes() + self.space.bytes();
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
