//! Vertical decomposition: a search in stages, each from the interesting states that the one before it has reached.
//!
//! From: Guo et al., Practical Software Model Checking via Dynamic Interface Reduction (DEMETER, SOSP 2011), section
//! 5.3: the second bug of PAM was found from three checkpoints with replicas that disagreed. A stage searches from each
//! of its stones within a limit; where the limit is reached, it looks for stones for the next stage.
//! Differs: the paper stops a running system now and then and looks whether its state is interesting; here such states
//! are searched for, in the same order and within the same limit as violations, by whichever engine is asked for.
//! Known: a stage explores as much as its limit allows from each of its stones, and nothing is forgotten only if the
//! first stage is complete; so `Holds` is the answer of a complete first stage, and without one the answer is
//! `Violated` or `Unknown`.
//! Invariant: every stone can be reached from where the model starts, by the steps that its own model starts with.
//! Held by: testkit/tests/stones.rs, quorate-zoo/tests/stones.rs, quorate-cli/tests/stones.rs.

use std::collections::HashSet;
use std::sync::Arc;

use super::{Engine, Refusal, Search, violation};
use crate::base::Mutant;
use crate::base::Value;
use crate::kernel::Tuning;
use crate::model::{Model, Snapshot};
use crate::property::{Interest, Sight};
use crate::reduce::{Reduction, Reductions};
use crate::replay::{Broken, Length, Replay, Violation};
use crate::report::{
    ComponentCounts, Coverage, Details, ExploreDetails, Fallback, Report, Stages, Stone, Stopped, Verdict,
    Watch,
};

/// Searches in stages, each with another engine: of the interesting states that a stage reaches it keeps some, the
/// *stepping stones*, and starts the next stage from each of them. It finds violations further away; it proves nothing
/// unless the first stage is complete.
///
/// ```
/// use quorate::engine::{Engine, Explore, Staged};
///
/// let engine = Staged::new(Explore::default(), 10).stone_states(1_000);
/// assert_eq!(engine.name(), "explore");
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Staged<E> {
    /// What searches a stage.
    pub engine: E,
    /// At most so many stones are kept in each stage, those that are reached first.
    pub stones: usize,
    /// From each stone a stage sees at most so many states.
    pub stone_states: Option<u64>,
}

impl<E: Engine> Staged<E> {
    /// Stages of this engine, with so many stones each.
    pub fn new(engine: E, stones: usize) -> Self {
        Staged { engine, stones, stone_states: None }
    }

    /// Sees at most so many states from each stone.
    #[must_use]
    pub fn stone_states(self, states: u64) -> Self {
        Staged { stone_states: Some(states), ..self }
    }
}

impl<E: Engine> Engine for Staged<E> {
    fn name(&self) -> &'static str {
        self.engine.name()
    }

    fn purpose(&self) -> &'static str {
        "another engine in stages, each from the interesting states that the one before has reached"
    }

    fn refuses(&self, model: &Model, search: &Search) -> Option<Refusal> {
        if model.stepping_stones().is_empty() {
            return Some(Refusal::NothingInteresting);
        }
        self.engine.refuses(model, search)
    }

    fn refuses_reduction(&self, reduction: Reduction) -> Option<Refusal> {
        self.engine.refuses_reduction(reduction)
    }

    fn search(&self, model: &Model, search: &Search, watch: &mut dyn Watch) -> Report {
        let interest = Interest::new(model.stepping_stones(), model.properties());
        let mut climb = Climb {
            model,
            engine: &self.engine,
            search,
            stones_max: self.stones,
            stone_states: self.stone_states,
            watch,
            interest: Arc::new(interest),
            known: Arc::default(),
            coverage: Coverage::default(),
            skeletons: None,
            cuts: 0,
            stages: 0,
            stones: 0,
            fallbacks: Vec::new(),
        };
        let end = climb.climb();
        climb.report(end)
    }
}

/// Where a stage searches from.
struct Start {
    model: Model,
    /// Over how many stones it was reached, itself included.
    stones: u32,
}

/// How a search in stages ends.
enum End {
    /// The first stage was complete: its report is the answer.
    Complete(Box<Report>),
    /// A violation, beyond so many stones.
    Violated(Box<Violation>, u32),
    /// The search as a whole has to stop.
    Stopped(Stopped),
    /// There are no more stones.
    UsedUp,
}

struct Climb<'c> {
    model: &'c Model,
    engine: &'c dyn Engine,
    search: &'c Search,
    stones_max: usize,
    stone_states: Option<u64>,
    watch: &'c mut dyn Watch,
    interest: Arc<Interest>,
    known: Arc<HashSet<Sight>>,
    /// The sum over all searches.
    coverage: Coverage,
    skeletons: Option<u64>,
    /// At how many of their cuts properties were looked at.
    cuts: u64,
    stages: u32,
    stones: u64,
    /// What searches have given up.
    fallbacks: Vec<Fallback>,
}

impl Climb<'_> {
    /// Searches stage after stage.
    fn climb(&mut self) -> End {
        let mut starts = vec![Start { model: self.model.clone(), stones: 0 }];
        loop {
            self.stages += 1;
            starts = match self.stage(starts).and_then(|unfinished| self.stones_of(unfinished)) {
                Ok(stones) if stones.is_empty() => return End::UsedUp,
                Ok(stones) => stones,
                Err(end) => return end,
            };
        }
    }

    /// Searches from every start of a stage. Returns the starts from which a limit has left something out.
    fn stage(&mut self, starts: Vec<Start>) -> Result<Vec<Start>, End> {
        let mut unfinished = Vec::new();
        for start in starts {
            let report = self.search_from(&start.model, self.search.reductions.clone())?;
            match report.verdict {
                Verdict::Violated(violation) => return Err(self.found(violation, &start)),
                // Everything that can be reached from here was seen, so no stone is needed.
                Verdict::Holds | Verdict::HoldsWithin(_) if start.stones > 0 => {}
                Verdict::Holds | Verdict::HoldsWithin(_) => return Err(End::Complete(Box::new(report))),
                Verdict::Unknown(seen @ Stopped::Untraced(_)) => return Err(End::Stopped(seen)),
                Verdict::Unknown(_) => unfinished.push(start),
            }
            self.go_on()?;
        }
        Ok(unfinished)
    }

    /// The stones of the next stage: one from each start, then another from each, as long as there are any.
    fn stones_of(&mut self, mut starts: Vec<Start>) -> Result<Vec<Start>, End> {
        let mut stones = Vec::new();
        while !starts.is_empty() && stones.len() < self.stones_max {
            let mut again = Vec::new();
            for start in starts {
                if stones.len() == self.stones_max {
                    break;
                }
                if let Some(stone) = self.next_stone(&start)? {
                    stones.push(stone);
                    again.push(start);
                }
                self.go_on()?;
            }
            starts = again;
        }
        Ok(stones)
    }

    /// The nearest interesting state that looks like no stone so far.
    fn next_stone(&mut self, start: &Start) -> Result<Option<Start>, End> {
        let asking = start.model.clone().asking(self.interest.nothing_new(&self.known));
        let mut reductions = self.search.reductions.clone();
        // Predicates and known stones may distinguish processes that are interchangeable.
        reductions.which.retain(|reduction| *reduction != Reduction::Symmetry);
        let violation = match self.search_from(&asking, reductions)?.verdict {
            Verdict::Violated(violation) => violation,
            Verdict::Unknown(stopped @ (Stopped::Impure(_) | Stopped::Asymmetric(_))) => {
                return Err(End::Stopped(stopped));
            }
            Verdict::Holds | Verdict::HoldsWithin(_) | Verdict::Unknown(_) => return Ok(None),
        };
        if matches!(violation.broken, Broken::Panic { .. }) {
            return Err(self.found(violation, start));
        }
        let model = self.model.clone().without_start().after(&violation.trace.steps);
        let model = model.expect("a bug in quorate: a stone cannot be reached");
        let locals = model.start().map_or(&[][..], |stone| stone.locals.as_slice());
        let sight = self.interest.sight(locals);
        self.stones += 1;
        let (stage, number, steps) = (self.stages, self.stones, violation.trace.steps.len());
        let views: Vec<&Value> = sight.iter().collect();
        let interesting = self.interest.stirred_by(&views).unwrap_or_default();
        self.watch.stone(Stone { stage, number, steps, interesting });
        Arc::make_mut(&mut self.known).insert(sight);
        Ok(Some(Start { model, stones: start.stones + 1 }))
    }

    /// One search, within the limits of a stage and of all of them.
    fn search_from(&mut self, model: &Model, reductions: Reductions) -> Result<Report, End> {
        let all = self.search.states_max;
        let left = all.map(|all| all.saturating_sub(self.coverage.states));
        let states_max = [left, self.stone_states].into_iter().flatten().min();
        let tuning = self.search.tuning;
        // A search for a shorter path may take no more states than this one.
        let explain_states = states_max.map_or(tuning.explain_states, |max| max.min(tuning.explain_states));
        let search = Search {
            states_max,
            reductions: reductions.fitting(model),
            tuning: Tuning { explain_states, ..tuning },
            ..self.search.clone()
        };
        self.watch.stage();
        let report = self.engine.search(model, &search, self.watch);
        // A stone that is not the nearest one is as good.
        let given_up = report.fallbacks.iter().filter(|fallback| fallback.reduction().is_some());
        self.fallbacks.extend(given_up.cloned());
        if self.search.reductions.has(Reduction::Symmetry) && !search.reductions.has(Reduction::Symmetry) {
            self.fallbacks.push(Fallback::SymmetryInStages);
        }
        let waiting = self.coverage.frontier + report.coverage.frontier;
        self.coverage.add(&report.coverage);
        self.coverage.frontier = waiting;
        if let Some(counts) = report.components() {
            *self.skeletons.get_or_insert(0) += counts.global_skeletons;
            self.cuts += counts.cuts;
        }
        match report.verdict {
            Verdict::Unknown(
                stopped @ (Stopped::Impure(_) | Stopped::Asymmetric(_) | Stopped::Unsuited(_)),
            ) => Err(End::Stopped(stopped)),
            _ => Ok(report),
        }
    }

    /// Ends the search if it has come to a limit as a whole.
    fn go_on(&mut self) -> Result<(), End> {
        self.watch.stage();
        let states = self.search.states_max.filter(|limit| self.coverage.states >= *limit);
        match self.watch.progress(&self.coverage).or(states.map(Stopped::States)) {
            Some(stopped) => Err(End::Stopped(stopped)),
            None => Ok(()),
        }
    }

    /// A violation that was found from a start. What led to the start and what came then are one story, which is
    /// shortened like one that was found depth-first.
    fn found(&mut self, found: Box<Violation>, start: &Start) -> End {
        if start.stones == 0 {
            return End::Violated(found, 0);
        }
        let begin =
            if self.search.tuning.mutants.has(Mutant::NoFirstPart) { &start.model } else { self.model };
        let before = begin.start().map_or(0, Snapshot::steps);
        let schedule = Replay::new(self.model).schedule(&found.trace.steps[before..]);
        let schedule = schedule.expect("a bug in quorate: the parts of a story do not fit together");
        match violation(self.watch, || Verdict::shown_by(self.model, schedule, Length::MayShrink)) {
            Verdict::Violated(found) => End::Violated(found, start.stones),
            Verdict::Unknown(seen) => End::Stopped(seen),
            Verdict::Holds | Verdict::HoldsWithin(_) => unreachable!("a violation was confirmed"),
        }
    }

    fn report(self, end: End) -> Report {
        let (stages, stones) = (self.stages, self.stones);
        let (verdict, passed) = match end {
            End::Complete(report) => {
                let done = Stages { stages, stones, passed: None };
                return Report { details: Details::Staged(done, Box::new(report.details)), ..*report };
            }
            End::Violated(violation, passed) => (Verdict::Violated(violation), Some(passed)),
            // Nothing can be concluded from any part of it.
            End::Stopped(
                stopped @ (Stopped::Impure(_)
                | Stopped::Asymmetric(_)
                | Stopped::Unsuited(_)
                | Stopped::Untraced(_)),
            ) => (Verdict::Unknown(stopped), None),
            End::Stopped(last) => {
                (Verdict::Unknown(Stopped::Stages { stages, stones, last: Some(Box::new(last)) }), None)
            }
            End::UsedUp => (Verdict::Unknown(Stopped::Stages { stages, stones, last: None }), None),
        };
        let details = match self.skeletons {
            Some(global_skeletons) => Details::Components(ComponentCounts {
                enumerated_runs: 0,
                local_traces: None,
                global_skeletons,
                global_traces: None,
                some_run_ends: false,
                cuts: self.cuts,
            }),
            None => Details::Explore(ExploreDetails {
                reductions: self.search.reductions.which.clone(),
                repeats: 1,
                ..ExploreDetails::default()
            }),
        };
        let mut fallbacks = self.fallbacks;
        fallbacks.sort_unstable();
        fallbacks.dedup();
        let stages = Stages { stages, stones, passed };
        let details = Details::Staged(stages, Box::new(details));
        Report {
            fallbacks,
            threads: self.search.threads,
            ..Report::new(self.model, verdict, self.coverage, details)
        }
    }
}
