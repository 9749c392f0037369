//! Local model checking: local states first, global ones only where these leave a doubt.
//!
//! From: Guerraoui and Yabandeh, Model Checking a Networked System Without the Network (NSDI 2011);
//! docs/theory/closure.md. The local closure contains every local step of every run. If no combination of its local
//! states violates a property, the property holds, and no global state was ever looked at. Else each violating
//! combination is a candidate, and a search decides whether a run can reach it: a search of the same system in which
//! processes stay in local states that lead to the candidate. What it finds is a real run; if it finds nothing, the
//! candidate is refuted.
//! Differs: there, candidates are verified by going through sequences of events, which is exponential in their number
//! and, with the shortcuts that make it feasible, incomplete (crates/quorate-papers/src/engines/lmc.rs). Here few
//! candidates are searched for alone, in a few states each; whatever is left is refuted by one search for all of them,
//! with the reductions of `explore`. If there is no closure, because it goes on for ever or properties look at more
//! than local states, that search answers alone. Once local states have taken a while, global states are searched in turns
//! with them ([`Race`]), and whoever is through first answers.
//! Invariant: the verdict is that of `explore`.
//! Held by: testkit/tests/local.rs.

use std::sync::Arc;

use super::explore::{CALL_COST, Race, Raced, VECTOR_COST, may_race};
use super::{Count, Engine, Explore, Order, Refusal, Search, Signed};
use crate::base::in_parallel;
use crate::kernel::{AllowedLocals, Candidate, Candidates, Closure, CombineBy, Level};
use crate::model::Model;
use crate::reduce::Reduction;
use crate::report::{Coverage, Details, Fallback, LocalDetails, Report, Stopped, Verdict, Watch, heeding};

/// How many candidates are searched for alone, and in how many states each.
const GOALS_MAX: usize = 32;
const GOAL_STATES: u64 = 400;
/// How many candidates are narrowed down before somebody may look how much work that was, and what it counts as for each
/// local step that there is.
const NARROWED_AT_ONCE: usize = 64;
const STEP_COST: u64 = 1;
/// How many states a search without reductions may take to find the shortest run to what a search for a candidate has
/// found.
const EXPLAIN_STATES: u64 = 200_000;

/// Looks at local states first, and at global ones only where these leave a doubt.
///
/// ```
/// use quorate::engine::{Engine, Local};
///
/// assert_eq!(Local::default().own_steps_max(2).name(), "local");
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Local {
    /// How global states are searched, where they have to be.
    pub explore: Explore,
    /// Which local states count as one where they are combined.
    pub combine_by: CombineBy,
    /// At most so many steps of each process by itself, from one on, one more each time; none at all is refused.
    pub own_steps_max: Option<u32>,
}

impl Local {
    /// As it is unless it is configured.
    pub const DEFAULT: Local =
        Local { explore: Explore::DEFAULT, combine_by: CombineBy::Observations, own_steps_max: None };

    /// Searches global states in this way, where they have to be searched.
    #[must_use]
    pub fn explore(self, explore: Explore) -> Self {
        Local { explore, ..self }
    }

    /// Combines local states by this.
    #[must_use]
    pub fn combine_by(self, combine_by: CombineBy) -> Self {
        Local { combine_by, ..self }
    }

    /// Covers runs with so many steps of each process by itself.
    #[must_use]
    pub fn own_steps_max(self, steps: u32) -> Self {
        Local { own_steps_max: Some(steps), ..self }
    }

    /// A search for one candidate, in few states.
    fn goal(&self, search: &Search, within: &AllowedLocals) -> (Explore, Search) {
        let mut search = plain(search);
        // What leads to one combination does not lead to those in which processes are exchanged.
        search.reductions.which.retain(|reduction| *reduction != Reduction::Symmetry);
        let limit = search.states_max.unwrap_or(GOAL_STATES).min(GOAL_STATES);
        let explore = Explore {
            order: Order::Depth,
            allowed_locals: Some(Arc::new(within.clone())),
            ..self.explore.clone()
        };
        (explore, search.threads(1).states_max(limit))
    }
}

impl Engine for Local {
    fn name(&self) -> &'static str {
        "local"
    }

    fn purpose(&self) -> &'static str {
        "local states first, global ones where these leave a doubt: many processes that do little"
    }

    fn refuses(&self, model: &Model, search: &Search) -> Option<Refusal> {
        if self.explore.count != Count::Nothing {
            return Some(Refusal::CountsFewStates);
        }
        if self.own_steps_max == Some(0) {
            return Some(Refusal::CoversNothing);
        }
        self.explore.refuses(model, search)
    }

    fn refuses_reduction(&self, reduction: Reduction) -> Option<Refusal> {
        self.explore.refuses_reduction(reduction)
    }

    fn search(&self, model: &Model, search: &Search, watch: &mut dyn Watch) -> Report {
        let (coverage, local) = (Coverage::default(), LocalDetails::default());
        let (reservation, last, fallbacks, beside) = (None, None, Vec::new(), None);
        let mut run =
            Run { model, engine: self, search, coverage, local, reservation, last, fallbacks, beside };
        let verdict = heeding(watch.stop(), || run.check(watch)).unwrap_or_else(Verdict::Unknown);
        // Combinations of local states are judged when the closure is closed, and no search may follow.
        model.ask_again();
        let impure = model.impure().map(|what| Verdict::Unknown(Stopped::Impure(what.to_string())));
        run.report(impure.unwrap_or(verdict))
    }
}

/// The closure of a model, read when it is closed; why not if it is not there.
pub(crate) fn read_closure<T>(
    model: &Model,
    search: &Search,
    watch: &mut dyn Watch,
    read: impl FnOnce(&Closure<'_>) -> T,
) -> (Report, T) {
    let mut closure = Closure::new(model, search.tuning, search.threads);
    let stopped = close(&mut closure, None, search, Coverage::default(), watch, &mut |_, _| false);
    let coverage = Coverage {
        bytes: closure.bytes(),
        local_steps: closure.size().steps,
        handler_calls: closure.handler_calls(),
        ..Coverage::default()
    };
    let impure =
        heeding(watch.stop(), || closure.impure().map(str::to_string)).ok().flatten().map(Stopped::Impure);
    let gave_up = closure.gave_up().map(|gave_up| Stopped::Unsuited(gave_up.reason(model)));
    let verdict = impure.or(stopped).or(gave_up).map_or(Verdict::Holds, Verdict::Unknown);
    (Report::new(model, verdict, coverage, Details::Nothing), read(&closure))
}

/// Closes a closure, within the limits of a search that has covered so much, and until something beside it is through;
/// says which limit ended it.
fn close(
    closure: &mut Closure<'_>,
    events: Option<u32>,
    search: &Search,
    coverage: Coverage,
    watch: &mut dyn Watch,
    beside: &mut dyn FnMut(&Closure<'_>, &mut dyn Watch) -> bool,
) -> Option<Stopped> {
    let mut stopped = None;
    let closed = heeding(watch.stop(), || {
        closure.close(events, &mut |closure| {
            let bytes = closure.bytes();
            let memory = search.bytes_max.filter(|max| bytes >= *max).map(Stopped::Memory);
            let (local_steps, handler_calls) = (closure.followed(), closure.handler_calls());
            let so_far = Coverage { local_steps, handler_calls, bytes, ..coverage };
            stopped = watch.progress(&so_far).or(memory);
            stopped.is_some() || beside(closure, watch)
        });
    });
    stopped.or(closed.err())
}

/// A search of global states, in turns with what is done with local ones. So the engine takes at most about twice as
/// long as that search alone.
struct Beside<'r> {
    race: Box<Race<'r>>,
    /// How it has ended.
    raced: Option<Raced>,
}

impl<'r> Beside<'r> {
    fn new(model: &'r Model, explore: &Explore, search: &Search) -> Self {
        Beside { race: Box::new(Race::new(model, explore, search)), raced: None }
    }

    /// Goes on until it has done so much work. Has it ended, and not for want of memory?
    fn keep_up(&mut self, work: u64, watch: &mut dyn Watch) -> bool {
        if self.raced.is_none() {
            self.raced = self.race.go_on(work, &mut Signed(watch.stop()));
        }
        self.raced.as_ref().is_some_and(|raced| !raced.is_out_of_memory())
    }

    /// Goes on to the end.
    fn finish(mut self, watch: &mut dyn Watch) -> Report {
        let raced = self.raced.take().unwrap_or_else(|| self.race.finish(watch));
        self.race.report(raced, watch)
    }

    /// The answer, if there is one; else it can go on.
    fn report(mut self, watch: &mut dyn Watch) -> Result<Report, Self> {
        match self.raced.take_if(|raced| !raced.is_out_of_memory()) {
            Some(raced) => Ok(self.race.report(raced, watch)),
            None => Err(self),
        }
    }
}

/// The search that is asked for, with less work to find the shortest run.
fn plain(search: &Search) -> Search {
    let mut search = search.clone();
    search.tuning.explain_states = search.tuning.explain_states.min(EXPLAIN_STATES);
    search
}

/// Searches in turns, with as much work for each; the report of the first to end.
fn first_of<'r>(first: Beside<'r>, second: Beside<'r>, watch: &mut dyn Watch) -> Report {
    let (mut next, mut other) = (first, second);
    loop {
        let work = other.race.work() + other.race.work() / 4 + CALL_COST;
        let ended = next.keep_up(work, watch) || next.raced.is_some() && other.raced.is_some();
        // Who has to stop notices by itself.
        if ended || watch.progress(&next.race.coverage()).is_some() {
            other.race.discard();
            return next.finish(watch);
        }
        std::mem::swap(&mut next, &mut other);
    }
}

/// What has been done with local states, as work of a [`Race`].
fn work_of(closure: &Closure<'_>) -> u64 {
    closure.followed() * VECTOR_COST + closure.handler_calls() * CALL_COST
}

struct Run<'r> {
    model: &'r Model,
    engine: &'r Local,
    search: &'r Search,
    coverage: Coverage,
    local: LocalDetails,
    /// `AllowedLocals` what a search holds.
    reservation: Option<String>,
    /// The last search over global states, if there was one.
    last: Option<Report>,
    /// What searches have given up.
    fallbacks: Vec<Fallback>,
    /// The search of global states at the same time, if there is one.
    beside: Option<Beside<'r>>,
}

impl Run<'_> {
    fn check(&mut self, watch: &mut dyn Watch) -> Verdict {
        let mut closure = Closure::new(self.model, self.search.tuning, self.search.threads);
        let bounds: Vec<Option<u32>> = match self.engine.own_steps_max {
            None => vec![None],
            Some(events_max) => (1..=events_max).map(Some).collect(),
        };
        let mut reservations: Vec<String> = Vec::new();
        for events in bounds {
            match self.round(&mut closure, events, watch) {
                Verdict::Holds => {}
                Verdict::HoldsWithin(reservation) => self.reservation = Some(reservation),
                other => return other,
            }
            reservations = self.reservation.take().into_iter().collect();
            if closure.complete() || closure.gave_up().is_some() {
                break;
            }
            self.local.local_events = events;
            let events = events.unwrap_or_default();
            reservations.push(format!("in every run each process does at most {events} steps by itself"));
        }
        if reservations.is_empty() { Verdict::Holds } else { Verdict::HoldsWithin(reservations.join("; ")) }
    }

    /// Checks all runs with so many steps of each process by itself.
    fn round(&mut self, closure: &mut Closure<'_>, events: Option<u32>, watch: &mut dyn Watch) -> Verdict {
        let asked_before = closure.handler_calls();
        if let (None, Some(reservation)) = (events, self.looks_beyond()) {
            self.local.reservation = Some(reservation);
            return self.search_all(None, watch);
        }
        let explore = &self.engine.explore;
        if events.is_none() && may_race(explore, self.search) {
            self.beside = Some(Beside::new(self.model, explore, self.search));
        }
        let (first, bytes_max) = (self.search.tuning.local_first, self.search.bytes_max.unwrap_or(u64::MAX));
        let beside = &mut self.beside;
        let stopped = close(closure, events, self.search, self.coverage, watch, &mut |closure, watch| {
            let work = work_of(closure);
            if beside.as_ref().is_some_and(|beside| beside.race.bytes() + closure.bytes() > bytes_max) {
                beside.take().into_iter().for_each(|beside| beside.race.discard());
            }
            work > first && beside.as_mut().is_some_and(|beside| beside.keep_up(work, watch))
        });
        self.coverage.handler_calls += closure.handler_calls() - asked_before;
        self.coverage.bytes = self.coverage.bytes.max(closure.bytes());
        if let Some(handler) = closure.impure() {
            return Verdict::Unknown(Stopped::Impure(handler.to_string()));
        }
        if let Some(stopped) = stopped {
            return Verdict::Unknown(stopped);
        }
        if let Some(verdict) = self.overtaken(watch) {
            return verdict;
        }
        self.local.precision = closure.levels().max().unwrap_or(Level::Loose) as u8;
        match self.candidates(closure) {
            Ok(candidates) => self.decide(closure, &candidates, watch),
            Err(reservation) => {
                self.local.reservation = Some(reservation);
                // Where processes stay within some local states, a run may end that does not.
                let bounded = events.is_some()
                    && closure.gave_up().is_none()
                    && crate::model::at_end(self.model).is_none();
                self.search_all(bounded.then(|| closure.everything()), watch)
            }
        }
    }

    /// The ways in which something could go wrong; or why they cannot be listed.
    fn candidates(&mut self, closure: &Closure<'_>) -> Result<Candidates, String> {
        if let Some(gave_up) = closure.gave_up() {
            return Err(format!("{}: global states are searched instead", gave_up.reason(self.model)));
        }
        self.local.closure = Some(closure.size());
        self.coverage.local_steps = closure.size().steps;
        if let Some(reservation) = self.looks_beyond() {
            return Err(reservation);
        }
        let candidates = closure.candidates(self.model, self.engine.combine_by);
        self.local.combinations = candidates.combinations;
        self.local.candidates = candidates.all.len() as u64;
        if candidates.too_many {
            return Err(
                "there are too many combinations of local states: global states are searched instead"
                    .to_string(),
            );
        }
        Ok(candidates)
    }

    /// Why local states are not enough for the properties, if they are not.
    fn looks_beyond(&self) -> Option<String> {
        let end =
            crate::model::at_end(self.model).map(|property| format!("'{property}' looks at the end of runs"));
        let history = || Some(format!("'{}' looks at histories", self.model.monitors().first()?.name()));
        end.or_else(history).map(|why| format!("{why}: global states are searched instead"))
    }

    /// The answer of the search of global states at the same time, if it was through first.
    fn overtaken(&mut self, watch: &mut dyn Watch) -> Option<Verdict> {
        match self.beside.take()?.report(watch) {
            Ok(report) => {
                self.local.reservation =
                    Some("global states were searched at the same time, which was through first".to_string());
                Some(self.keep(report))
            }
            Err(beside) => {
                self.beside = Some(beside);
                None
            }
        }
    }

    /// Lets global states be searched with as much work as was done with local ones.
    fn keep_up(&mut self, work: u64, watch: &mut dyn Watch) -> Option<Verdict> {
        let late = work > self.search.tuning.local_first;
        if late && self.beside.as_mut()?.keep_up(work, watch) { self.overtaken(watch) } else { None }
    }

    /// Decides which candidates are real: first by local states alone, then one by one, then all together.
    fn decide(&mut self, closure: &Closure<'_>, candidates: &Candidates, watch: &mut dyn Watch) -> Verdict {
        let steps = closure.flattened();
        let narrowed = |candidate: &Candidate| closure.allowed_locals(candidate, &steps);
        let (mut work, mut left) = (work_of(closure), Vec::<AllowedLocals>::new());
        for chunk in candidates.all.chunks(NARROWED_AT_ONCE) {
            left.extend(in_parallel(chunk, self.search.threads, narrowed).into_iter().flatten());
            work += chunk.len() as u64 * self.coverage.local_steps * STEP_COST;
            if let Some(stopped) = watch.progress(&self.coverage) {
                return Verdict::Unknown(stopped);
            }
            if let Some(verdict) = self.keep_up(work, watch) {
                return verdict;
            }
        }
        self.local.refuted_at_once = candidates.all.len() as u64 - left.len() as u64;
        let mut doubtful: Vec<AllowedLocals> = Vec::new();
        for chunk in left.chunks(self.search.threads) {
            if self.local.searched >= GOALS_MAX as u64 {
                doubtful.extend(chunk.iter().cloned());
                continue;
            }
            let stop = watch.stop();
            let (model, engine, search) = (self.model, self.engine, self.search);
            let goal = |within: &AllowedLocals| {
                let (explore, search) = engine.goal(search, within);
                explore.search(model, &search, &mut Signed(stop.clone()))
            };
            let mut stopped = None;
            for (report, within) in in_parallel(chunk, self.search.threads, goal).into_iter().zip(chunk) {
                self.local.searched += 1;
                let Coverage { transitions, handler_calls, .. } = report.coverage;
                work += transitions * VECTOR_COST + handler_calls * CALL_COST;
                match self.keep(report) {
                    Verdict::Holds => self.local.refuted_by_search += 1,
                    Verdict::HoldsWithin(reservation) => {
                        self.local.refuted_by_search += 1;
                        self.reservation = Some(reservation);
                    }
                    Verdict::Unknown(Stopped::States(_) | Stopped::Depth(_)) => doubtful.push(within.clone()),
                    // Another of them may have found something before there was a sign to stop.
                    Verdict::Unknown(why) if stop.as_ref().is_some_and(|stop| stop.why().is_some()) => {
                        stopped = Some(why);
                    }
                    verdict => return verdict,
                }
            }
            if let Some(stopped) = stopped.or_else(|| watch.progress(&self.coverage)) {
                return Verdict::Unknown(stopped);
            }
            if let Some(verdict) = self.keep_up(work, watch) {
                return verdict;
            }
        }
        if doubtful.is_empty() {
            return Verdict::Holds;
        }
        let together = doubtful.into_iter().reduce(|mut all, within| {
            all.iter_mut().zip(within).for_each(|(all, within)| all.extend(within));
            all
        });
        self.search_all(together, watch)
    }

    /// A search over global states for all that could go wrong.
    fn search_all(&mut self, within: Option<AllowedLocals>, watch: &mut dyn Watch) -> Verdict {
        let mut search = plain(self.search);
        let mut within = within.map(Arc::new);
        if within.is_some() && self.engine.own_steps_max.is_some() {
            let symmetric = search.reductions.has(Reduction::Symmetry);
            self.fallbacks.extend(symmetric.then_some(Fallback::SymmetryWithin));
            search.reductions.which.retain(|reduction| *reduction != Reduction::Symmetry);
        } else if search.reductions.has(Reduction::Symmetry) {
            // Interchangeable processes save more than staying in some local states, which must be the same for them.
            within = None;
        }
        let explore = Explore { allowed_locals: within, ..self.engine.explore.clone() };
        let report = match self.beside.take() {
            None => explore.search(self.model, &search, watch),
            Some(beside) if explore.allowed_locals.is_none() => beside.finish(watch),
            Some(beside) => first_of(Beside::new(self.model, &explore, &search), beside, watch),
        };
        self.keep(report)
    }

    /// Keeps the report of a search and adds up what it took.
    fn keep(&mut self, report: Report) -> Verdict {
        let known = self.coverage.local_steps;
        self.coverage.add(&report.coverage);
        // Its local steps are steps of the closure, where there is one.
        self.coverage.local_steps =
            if self.local.closure.is_some() { known } else { known.max(report.coverage.local_steps) };
        let verdict = report.verdict.clone();
        self.fallbacks.extend(report.fallbacks.iter().cloned());
        self.last = Some(report);
        verdict
    }

    fn report(mut self, verdict: Verdict) -> Report {
        self.local.explored = self.last.as_ref().and_then(|last| last.explored().cloned());
        let faults = self.last.map(|last| last.faults).unwrap_or_default();
        self.fallbacks.sort_unstable();
        self.fallbacks.dedup();
        Report {
            faults,
            fallbacks: self.fallbacks,
            threads: self.search.threads,
            ..Report::new(self.model, verdict, self.coverage, Details::Local(self.local))
        }
    }
}
