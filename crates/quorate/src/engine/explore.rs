//! Stateful search over global states.
//!
//! From: DESIGN 4. Breadth-first or depth-first is a value, the frontier; a run of the search is the same
//! for every number of threads (see `round`).
//! Known: breadth-first counterexamples are shortest; depth-first ones are minimised.
//! Invariant: a state is in the visited set, or it has not been reached; a state that has been taken from
//! the frontier has been judged, and all its successors are in the visited set.
//! Held by: testkit/tests/agreement.rs, crates/quorate-zoo/tests/counts.rs.

use super::frontier::{Batch, Frontier};
use super::round::Rounds;
use super::visited::VisitedSet;
use super::{Order, Search, Sleep, Visited, Watch};
use crate::kernel::{Kernel, State};
use crate::model::{Model, Schedule};
use crate::reduce::{Reduction, Reductions};
use crate::replay::{follow_causes, minimise, replay};
use crate::report::{Coverage, Report, Stopped, Verdict, Violation};

/// Explores every reachable state of a model, or as many as its reductions say are enough.
pub fn explore(model: &Model, search: &Search, watch: &mut dyn Watch) -> Report {
    explore_and_read(model, search, watch, |_| ()).0
}

/// Explores, and in the end reads from what is known of the model then.
pub(crate) fn explore_and_read<T>(
    model: &Model,
    search: &Search,
    watch: &mut dyn Watch,
    read: impl FnOnce(&Kernel<'_>) -> T,
) -> (Report, T) {
    let sleep = if search.order == Order::Breadth { search.tuning.sleep } else { Sleep::Nobody };
    let mut kernel = Kernel::new(model, &search.kernel(), sleep);
    // Depth-first search is for finding violations, so it remembers the way from the start.
    let recording = search.order == Order::Depth;
    let mut rounds = 1;
    let (mut run, mut ended) = explore_once(&mut kernel, search, recording, watch);
    while ended == Ended::Exhausted && run.kernel.must_repeat() {
        // A reduction rests on what the search has seen of the processes: it must not have seen more since.
        kernel.prepare();
        rounds += 1;
        (run, ended) = explore_once(&mut kernel, search, recording, watch);
    }
    if let (Ended::Stopped(_), Some((_, state))) = (&ended, run.panicking) {
        // A limit does not undo what was found before it.
        ended = Ended::Violated(Violating { state, panics: true });
    }
    let (coverage, missed) = (run.coverage, run.visited.missed_probability());
    let parents = std::mem::take(&mut run.rounds.parents);
    let countable = search.count_system_states && !search.reductions.has(Reduction::Beliefs);
    let system_states =
        countable.then(|| run.visited.states().map(|states| run.kernel.system_states(states))).flatten();
    let orbits = search
        .count_orbits
        .then(|| run.visited.states().and_then(|states| run.kernel.orbits(states)))
        .flatten();
    let seen =
        search.look_back.then(|| run.visited.states().map(|states| run.kernel.seen_in(states))).flatten();
    kernel.conclude();
    let asymmetric = kernel.asymmetric().map(str::to_string);
    let reductions = kernel.in_use();
    let verdict = match (kernel.impure(), ended) {
        (Some(handler), _) => Verdict::Unknown(Stopped::Impure(handler.to_string())),
        (None, _) if asymmetric.is_some() => {
            Verdict::Unknown(Stopped::Asymmetric(asymmetric.unwrap_or_default()))
        }
        (None, Ended::Stopped(stopped)) => Verdict::Unknown(stopped),
        (None, Ended::Violated(found)) => {
            let told = if search.order == Order::Depth {
                Ok(kernel.schedule(&path(parents, found.state), found.panics))
            } else {
                way_to(&mut kernel, search, found, watch)
            };
            match told {
                Ok(schedule) => told_violation(model, search, schedule, watch),
                Err(stopped) => Verdict::Unknown(stopped),
            }
        }
        (None, Ended::Exhausted) if missed > 0.0 => Verdict::HoldsWithin(format!(
            "states are known by their fingerprints; some state was missed with a probability of {missed:.1e}"
        )),
        (None, Ended::Exhausted) => all_seen(&kernel, search),
    };
    let properties = model.property_names().map(str::to_string).collect();
    let missed_probability = (search.visited == Visited::Fingerprint).then_some(missed);
    let faults = model.world().faults().into_iter().map(|kind| (kind, kernel.steps_of(kind))).collect();
    let threads = search.threads;
    let report = Report {
        verdict,
        properties,
        coverage,
        faults,
        system_states,
        orbits,
        seen,
        reductions,
        rounds,
        threads,
        missed_probability,
        local: None,
        interfaces: None,
        stages: None,
    };
    (report, read(&kernel))
}

/// The verdict when every state was seen, but for those that a limit on equal messages hides.
pub(super) fn all_seen(kernel: &Kernel<'_>, search: &Search) -> Verdict {
    if kernel.lost_copies() {
        return Verdict::HoldsWithin(format!(
            "of equal messages that wait for a process, at most {} besides the first are kept",
            search.duplicates_max.unwrap_or_default()
        ));
    }
    Verdict::Holds
}

/// One search from the start. One that gets far starts again, with the system split in a better way.
fn explore_once<'r, 'm>(
    kernel: &'r mut Kernel<'m>,
    search: &Search,
    recording: bool,
    watch: &mut dyn Watch,
) -> (Run<'r, 'm>, Ended) {
    let first_states = search.tuning.first_states;
    let first = Search {
        states_max: Some(search.states_max.map_or(first_states, |max| max.min(first_states))),
        ..search.clone()
    };
    let mut run = Run::new(kernel, first, recording);
    let ended = run.search(watch);
    run.search = search.clone();
    if ended != Ended::Stopped(Stopped::States(first_states)) || search.states_max == Some(first_states) {
        return (run, ended);
    }
    let Run { kernel, coverage, .. } = run;
    let mut stopped = None;
    kernel.split_anew(4 * coverage.depth + 16, &mut |bytes| {
        stopped = watch.round(&Coverage { bytes, ..coverage });
        search.bytes_max.is_some_and(|limit| bytes >= limit) || stopped.is_some()
    });
    let mut run = Run::new(kernel, search.clone(), recording);
    if let Some(stopped) = stopped {
        // What was seen before the search could start again has been seen.
        run.coverage = coverage;
        return (run, Ended::Stopped(stopped));
    }
    let ended = run.search(watch);
    (run, ended)
}

/// How a search ended.
#[derive(PartialEq, Eq)]
enum Ended {
    Exhausted,
    Stopped(Stopped),
    Violated(Violating),
}

/// A state that violates, by itself or with a step that panics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Violating {
    state: State,
    panics: bool,
}

/// A search in progress.
struct Run<'r, 'm> {
    kernel: &'r mut Kernel<'m>,
    search: Search,
    visited: VisitedSet,
    frontier: Frontier,
    rounds: Rounds,
    coverage: Coverage,
    /// The first state with a step that panics, and its depth.
    panicking: Option<(u32, State)>,
}

impl<'r, 'm> Run<'r, 'm> {
    fn new(kernel: &'r mut Kernel<'m>, search: Search, recording: bool) -> Self {
        let initial = kernel.initial();
        let mut visited = VisitedSet::new(search.visited, search.tuning.narrow_max);
        visited.insert(initial);
        let frontier = Frontier::new(search.order, initial);
        let rounds = Rounds::new(search.threads, search.tuning.chunk, recording);
        let coverage = Coverage { states: 1, frontier: 1, ..Coverage::default() };
        Run { kernel, search, visited, frontier, rounds, coverage, panicking: None }
    }

    fn search(&mut self, watch: &mut dyn Watch) -> Ended {
        let mut cut = false;
        while let Some(Batch { depth, parts }) = self.frontier.take() {
            // A panic is one step further than its state: states as near as that may violate by themselves.
            if self.panicking.is_some_and(|(at, _)| depth > at || self.search.order == Order::Depth) {
                break;
            }
            self.coverage.depth = self.coverage.depth.max(depth);
            let expanded = self.rounds.expand(self.kernel, &parts);
            self.frontier.put_back(depth, expanded.postponed);
            self.coverage.transitions += expanded.transitions;
            self.coverage.terminal_states += expanded.terminal;
            if let Some(state) = expanded.violating {
                return Ended::Violated(Violating { state, panics: false });
            }
            self.panicking = self.panicking.or(expanded.panicking.map(|state| (depth, state)));
            let (lefts, rights) = self.kernel.sizes();
            self.visited.fit(lefts, rights);
            let mut learn = || expanded.unknown.iter().for_each(|unknown| self.kernel.learn(*unknown));
            if self.search.depth_max.is_some_and(|limit| depth >= limit) {
                learn();
                cut |= expanded.transitions > 0;
            } else {
                let found = self.frontier.found_from(depth);
                self.coverage.states += self.rounds.insert(&mut self.visited, found, learn);
            }
            self.measure();
            if self.kernel.too_many_beliefs() {
                return Ended::Exhausted;
            }
            if let Some(stopped) = watch
                .round(&self.coverage)
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
        self.coverage.frontier = self.frontier.waiting();
        (self.coverage.local_steps, self.coverage.handler_calls) = self.kernel.local_counts();
        self.coverage.bytes =
            self.kernel.bytes() + self.visited.bytes() + self.frontier.bytes() + self.rounds.bytes();
    }
}

/// The reason of its own for which a search has to stop.
pub(super) fn limit_reached(kernel: &Kernel<'_>, search: &Search, coverage: &Coverage) -> Option<Stopped> {
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

/// The way to a violation that breadth-first search has found: searches once more, now remembering where
/// each state came from, so that a proof costs no memory for it. Limits are for finding a violation, not
/// for losing one that was found; only the user may interrupt, and then there is no way.
fn way_to(
    kernel: &mut Kernel<'_>,
    search: &Search,
    found: Violating,
    watch: &mut dyn Watch,
) -> Result<Option<Schedule>, Stopped> {
    let unlimited = Search { states_max: None, bytes_max: None, visited: Visited::Exact, ..search.clone() };
    let mut run = Run::new(kernel, unlimited, true);
    let again = match run.search(&mut UnlessInterrupted(watch)) {
        Ended::Violated(again) => again,
        Ended::Stopped(stopped) => return Err(stopped),
        Ended::Exhausted => {
            panic!("a bug in quorate: the second search does not find the violation of the first, {found:?}")
        }
    };
    let parents = std::mem::take(&mut run.rounds.parents);
    Ok(kernel.schedule(&path(parents, again.state), again.panics))
}

/// Passes progress on, and of the reasons to stop only an interruption.
struct UnlessInterrupted<'w>(&'w mut dyn Watch);

impl Watch for UnlessInterrupted<'_> {
    fn round(&mut self, coverage: &Coverage) -> Option<Stopped> {
        self.0.round(coverage).filter(|stopped| *stopped == Stopped::Interrupted)
    }
}

/// The states on the way to one, from the start.
fn path(mut parents: Vec<(State, State)>, to: State) -> Vec<State> {
    parents.sort_unstable();
    let mut path = vec![to];
    while let Ok(at) = parents.binary_search_by_key(&path[path.len() - 1], |(state, _)| *state) {
        path.push(parents[at].1);
    }
    path.reverse();
    path
}

/// The verdict for a violation that was found. A reduced search may have found it on a detour, or be unable to tell
/// how it happens: then a search without reductions tells it, in the fewest steps, if that does not take long.
fn told_violation(
    model: &Model,
    search: &Search,
    schedule: Option<Schedule>,
    watch: &mut dyn Watch,
) -> Verdict {
    let symmetric = search.reductions.has(Reduction::Symmetry);
    // A property that is not symmetric may hold in the state that is told, while it breaks in another like it.
    let shows = |schedule: &Schedule| !symmetric || matches!(replay(model, schedule), Ok((_, Some(_))));
    let told = schedule.filter(shows).map(|schedule| violated(model, search, schedule));
    if search.reductions.which.is_empty() {
        return told.expect("every path of states without reductions tells its steps");
    }
    let unreduced = Search {
        order: Order::Breadth,
        visited: Visited::Exact,
        reductions: Reductions::default(),
        states_max: told.is_some().then_some(search.tuning.explain_states),
        bytes_max: None,
        count_system_states: false,
        look_back: false,
        ..search.clone()
    };
    // Whatever ends this search, what is told already is told; and what is not must be.
    let report = if told.is_some() {
        explore(model, &unreduced, watch)
    } else {
        explore(model, &unreduced, &mut UnlessInterrupted(watch))
    };
    match (report.verdict, told) {
        (Verdict::Violated(shortest), _) => Verdict::Violated(shortest),
        (_, Some(told)) => told,
        (Verdict::Unknown(stopped), None) => Verdict::Unknown(stopped),
        (_, None) if symmetric => Verdict::Unknown(Stopped::Asymmetric(
            "a property does not treat processes of a symmetric role alike: leave out .symmetric() or mend the property"
                .to_string(),
        )),
        (other, None) => {
            panic!("a bug in quorate: only a reduced search finds a violation: {}", other.word())
        }
    }
}

/// The verdict that a schedule shows, as replay confirms it.
pub(super) fn violated(model: &Model, search: &Search, mut schedule: Schedule) -> Verdict {
    let confirm = |schedule: &Schedule| match replay(model, schedule) {
        Ok((trace, Some(broken))) => (trace, broken),
        Ok((_, None)) => panic!("a bug in quorate: replay finds nothing wrong with the counterexample"),
        Err(error) => panic!("a bug in quorate: replay refuses the counterexample: {error}"),
    };
    let (mut trace, broken) = confirm(&schedule);
    if search.order == Order::Depth || !search.reductions.which.is_empty() {
        schedule = minimise(model, schedule, &broken);
        (trace, _) = confirm(&schedule);
    }
    if model.world().channel.commutes() && model.start().is_none() {
        schedule = follow_causes(&schedule, &trace);
    }
    let (trace, broken) = confirm(&schedule);
    Verdict::Violated(Box::new(Violation { broken, trace }))
}
