//! Vertical decomposition: a search in stages, each from the interesting states that the one before it has reached.
//!
//! From: Guo et al., Practical Software Model Checking via Dynamic Interface Reduction (DEMETER, SOSP 2011), section 5.3:
//! the second bug of PAM was found from three checkpoints with replicas that disagreed. A stage searches from each of its
//! stones within a limit; where the limit is reached, it looks for stones for the next stage.
//! Differs: the paper stops a running system now and then and looks whether its state is interesting; here such states
//! are searched for, in the same order and within the same limit as violations, by whichever engine is asked for.
//! Known: a stage explores as much as its limit allows from each of its stones, and nothing is forgotten only if the
//! first stage is complete; so `Holds` is the answer of a complete first stage, and without one the answer is
//! `Violated` or `Unknown`.
//! Invariant: every stone can be reached from where the model starts, by the steps that its own model starts with.
//! Held by: testkit/tests/stones.rs, quorate-zoo/tests/stones.rs, quorate-cli/tests/stones.rs.

use std::collections::HashSet;
use std::sync::Arc;

use super::dir::Interfaces;
use super::explore::violated;
use super::{Mutant, Order, Search, Tuning, Watch};
use crate::base::Value;
use crate::model::{Model, Snapshot};
use crate::property::{Interest, Sight};
use crate::reduce::{Reduction, Reductions};
use crate::replay::{Broken, Replay};
use crate::report::{Coverage, Report, Stages, Stopped, Verdict, Violation};

/// How to search in stages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SteppingStones {
    /// At most so many stones are kept in each stage, those that are reached first.
    pub per_stage: usize,
    /// From each stone a stage sees at most so many states.
    pub stage_states: Option<u64>,
}

/// A stone that was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stone<'s> {
    /// In which stage, from 1.
    pub stage: u32,
    /// Which of all the stones found so far, from 1.
    pub number: u64,
    /// How many steps lead there from the beginning.
    pub steps: usize,
    /// What makes it interesting.
    pub interesting: &'s str,
}

/// Where a stage searches from.
struct Start {
    model: Model,
    /// Over how many stones it was reached, itself included.
    stones: u32,
}

/// How a search in stages ends.
enum End {
    /// The first stage says it all.
    Told(Box<Report>),
    /// A violation, beyond so many stones.
    Violated(Box<Violation>, u32),
    /// The search as a whole has to stop.
    Stopped(Stopped),
    /// There are no more stones.
    UsedUp,
}

struct Climb<'c> {
    model: &'c Model,
    search: &'c Search,
    how: SteppingStones,
    watch: &'c mut dyn Watch,
    interest: Arc<Interest>,
    known: Arc<HashSet<Sight>>,
    /// What all searches came to.
    coverage: Coverage,
    skeletons: Option<u64>,
    /// At how many of their cuts properties were looked at.
    cuts: u64,
    stages: u32,
    stones: u64,
}

/// Searches in stages.
pub(super) fn in_stages(
    model: &Model,
    search: &Search,
    how: SteppingStones,
    watch: &mut dyn Watch,
) -> Report {
    let interest = Interest::new(model.stepping_stones(), model.properties());
    let mut climb = Climb {
        model,
        search,
        how,
        watch,
        interest: Arc::new(interest),
        known: Arc::default(),
        coverage: Coverage::default(),
        skeletons: None,
        cuts: 0,
        stages: 0,
        stones: 0,
    };
    let end = climb.climb();
    climb.report(end)
}

impl Climb<'_> {
    /// Stage after stage.
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

    /// Searches from every start of a stage: those from which a limit has left something out.
    fn stage(&mut self, starts: Vec<Start>) -> Result<Vec<Start>, End> {
        let mut unfinished = Vec::new();
        for start in starts {
            let report = self.search_from(&start.model, self.search.reductions.clone())?;
            match report.verdict {
                Verdict::Violated(violation) => return Err(self.found(violation, &start)),
                // Nothing is left out from here on, so there is nothing to go on for.
                Verdict::Holds | Verdict::HoldsWithin(_) if start.stones > 0 => {}
                Verdict::Holds | Verdict::HoldsWithin(_) => return Err(End::Told(Box::new(report))),
                Verdict::Unknown(_) => unfinished.push(start),
            }
            self.go_on()?;
        }
        Ok(unfinished)
    }

    /// The stones of the next stage: one from each start, then another from each, as long as there are any.
    fn stones_of(&mut self, mut starts: Vec<Start>) -> Result<Vec<Start>, End> {
        let mut stones = Vec::new();
        while !starts.is_empty() && stones.len() < self.how.per_stage {
            let mut again = Vec::new();
            for start in starts {
                if stones.len() == self.how.per_stage {
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
        // What is interesting, or known, need not be the same for processes that are interchangeable.
        reductions.which.retain(|reduction| *reduction != Reduction::Symmetry);
        let violation = match self.search_from(&asking, reductions)?.verdict {
            Verdict::Violated(violation) => violation,
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
        let states_max = [left, self.how.stage_states].into_iter().flatten().min();
        let tuning = self.search.tuning;
        // A way that is told in the fewest steps is worth no more than the search for it.
        let explain_states = states_max.map_or(tuning.explain_states, |max| max.min(tuning.explain_states));
        let search = Search {
            stones: None,
            states_max,
            reductions: reductions.fitting(model),
            tuning: Tuning { explain_states, ..tuning },
            ..self.search.clone()
        };
        self.watch.stage();
        let report = super::search(model, &search, self.watch);
        let (sum, new) = (&mut self.coverage, &report.coverage);
        sum.states += new.states;
        sum.transitions += new.transitions;
        sum.terminal_states += new.terminal_states;
        sum.depth = sum.depth.max(new.depth);
        sum.frontier += new.frontier;
        sum.local_steps += new.local_steps;
        sum.handler_calls += new.handler_calls;
        sum.bytes = sum.bytes.max(new.bytes);
        if let Some(interfaces) = report.interfaces {
            *self.skeletons.get_or_insert(0) += interfaces.global_skeletons;
            self.cuts += interfaces.cuts;
        }
        match report.verdict {
            Verdict::Unknown(
                stopped @ (Stopped::Impure(_) | Stopped::Asymmetric(_) | Stopped::Unsuited(_)),
            ) => Err(End::Stopped(stopped)),
            _ => Ok(report),
        }
    }

    /// Has the search as a whole come to a limit?
    fn go_on(&mut self) -> Result<(), End> {
        self.watch.stage();
        let states = self.search.states_max.filter(|limit| self.coverage.states >= *limit);
        match self.watch.round(&self.coverage).or(states.map(Stopped::States)) {
            Some(stopped) => Err(End::Stopped(stopped)),
            None => Ok(()),
        }
    }

    /// A violation that was found from a start: what led to the start and what came then are one story, which is made
    /// as short as one that was found depth-first.
    fn found(&self, violation: Box<Violation>, start: &Start) -> End {
        if start.stones == 0 {
            return End::Violated(violation, 0);
        }
        let begin = match self.search.tuning.mutant {
            Some(Mutant::NoFirstPart) => &start.model,
            _ => self.model,
        };
        let told = begin.start().map_or(0, Snapshot::steps);
        let schedule = Replay::new(self.model).schedule(&violation.trace.steps[told..]);
        let schedule = schedule.expect("a bug in quorate: the parts of a story do not fit together");
        let search = Search { order: Order::Depth, reductions: Reductions::default(), ..self.search.clone() };
        match violated(self.model, &search, schedule) {
            Verdict::Violated(violation) => End::Violated(violation, start.stones),
            _ => panic!("a bug in quorate: a violation is none from the beginning"),
        }
    }

    fn report(self, end: End) -> Report {
        let (stages, stones) = (self.stages, self.stones);
        let (verdict, passed) = match end {
            End::Told(report) => {
                let done = Stages { stages, stones, passed: None };
                return Report { stages: Some(done), ..*report };
            }
            End::Violated(violation, passed) => (Verdict::Violated(violation), Some(passed)),
            // Nothing can be concluded from any part of it.
            End::Stopped(stopped @ (Stopped::Impure(_) | Stopped::Asymmetric(_) | Stopped::Unsuited(_))) => {
                (Verdict::Unknown(stopped), None)
            }
            End::Stopped(last) => {
                (Verdict::Unknown(Stopped::Stages { stages, stones, last: Some(Box::new(last)) }), None)
            }
            End::UsedUp => (Verdict::Unknown(Stopped::Stages { stages, stones, last: None }), None),
        };
        let interfaces = self.skeletons.map(|global_skeletons| Interfaces {
            enumerated_runs: 0,
            local_traces: None,
            global_skeletons,
            global_traces: None,
            cuts: self.cuts,
        });
        Report {
            stages: Some(Stages { stages, stones, passed }),
            interfaces,
            threads: self.search.threads,
            reductions: self.search.reductions.which.clone(),
            ..super::simple_report(self.model, verdict, self.coverage)
        }
    }
}
