//! All runs of a component that has agents of its own, each up to the order of independent operations.
//!
//! From: Abdulla, Aronis, Jonsson and Sagonas, Optimal Dynamic Partial Order Reduction (POPL 2014), with wakeup trees
//! and sleep sets; Flanagan and Godefroid, Dynamic Partial-Order Reduction for Model Checking Software (POPL 2005),
//! for operations that wait for a lock; docs/theory/components.md 8. A run is repeated with one decision changed,
//! until no decision is left to change.
//! Differs: an agent may have several operations to choose from, and those that need a message become possible only
//! when it is there. So there are two relations. *Depends* says whether the order of two operations matters: which
//! operations sleep, and which runs are equal. *Races* says whether the second operation might give the agent of the
//! first another choice: which decisions are worth changing. Whether it really does shows only in a run in which the
//! second operation comes first; there the agent may do anything that does not sleep. Runs are restricted to a local
//! skeleton: what others see happens as the skeleton says, and an agent that could do something else that others see
//! may stop there instead. So a run may end while agents wait, for a lock or because of the skeleton. An operation
//! that they wait to do might have come earlier in the run, like any operation that happened.
//! Invariant: no two of the runs differ only in the order of independent operations.
//! Held by: testkit/tests/dir.rs (as many runs as an enumerator finds, in groups), the tests of quorate-threads.

use crate::base::join;
use crate::base::{Mutant, Mutants};
use crate::engine::components::embedded::{ComponentRunner, MessageId, Operation, Ran, Scheduler};
use crate::engine::components::events::Label;

/// An operation that happened.
pub(super) struct Happened<S> {
    pub(super) operation: Operation<S>,
    /// How many operations of each agent it follows, itself included.
    clock: Vec<usize>,
    /// How many interface events of each member it follows, itself included if it is one.
    seen: Vec<usize>,
    /// What properties see of members from then on.
    pub(super) observed: Vec<(usize, usize)>,
    /// At which decision it was chosen.
    level: usize,
}

impl<S> Happened<S> {
    /// Does it follow another operation, or is it that one?
    pub(super) fn follows(&self, other: &Happened<S>) -> bool {
        follows(&self.clock, &other.operation)
    }
}

fn follows<S>(clock: &[usize], operation: &Operation<S>) -> bool {
    clock.get(operation.agent).is_some_and(|count| *count > operation.index)
}

/// A run that went as far as the local skeleton lets it.
pub(super) struct Run<'r, S> {
    /// What properties see of each member at first.
    pub(super) initial: &'r [usize],
    pub(super) operations: &'r [Happened<S>],
    /// What others could see next.
    pub(super) next: Vec<Label>,
    /// Is nothing possible that others do not see?
    pub(super) is_maximal: bool,
    pub(super) ran: Ran,
}

/// What runs are restricted to.
pub(crate) struct Restriction<S> {
    pub(crate) component: usize,
    /// What arrives from other components.
    pub(crate) arrivals: Vec<MessageId>,
    /// All that others see of each member, in order.
    pub(crate) skeleton: Vec<Vec<Label>>,
    /// How every run begins: who does what.
    pub(crate) begins: Vec<(usize, S)>,
    pub(crate) mutants: Mutants,
}

/// Takes how many operations were new, and the run unless it ended early.
pub(super) type EachRun<'t, S, H> = &'t mut dyn FnMut(usize, Option<Run<'_, S>>) -> Result<(), H>;

/// Calls `each` for every run that does all that the skeleton says, and without a run for every attempt that does not.
/// `false` if the component is not deterministic: if it did something different although the same operations came
/// before. Then no run that was found can be relied on.
pub(super) fn for_each_run<M: ComponentRunner, H>(
    runner: &mut M,
    restriction: &Restriction<M::Step>,
    each: EachRun<'_, M::Step, H>,
) -> Result<bool, H> {
    let mut search: Runs<'_, M> = Runs {
        restriction,
        levels: Vec::new(),
        done: Vec::new(),
        initial: vec![0; restriction.skeleton.len()],
        decisions: 0,
        stopped: Vec::new(),
        waiting: Vec::new(),
        strays: false,
        ending: None,
    };
    // The first run is repeated, to see whether the component is deterministic.
    runner.run(restriction.component, &restriction.arrivals, &mut search);
    let mut rehearsed = Some(search.steps());
    loop {
        let kept = search.begin();
        let fresh = if rehearsed.is_some() { 0 } else { kept };
        let ran = runner.run(restriction.component, &restriction.arrivals, &mut search);
        let differs = rehearsed.take().is_some_and(|before| before != search.steps());
        if differs || search.strays || search.decisions < search.levels.len() || search.done.len() < fresh {
            return Ok(false);
        }
        if !restriction.mutants.has(Mutant::NoRaces) {
            search.note_races(runner, fresh);
        }
        let ending = search.ending.take().unwrap_or(Ending::Here { next: Vec::new(), is_maximal: true });
        let run = match ending {
            Ending::Here { next, is_maximal } if search.has_all() => {
                Some(Run { initial: &search.initial, operations: &search.done, next, is_maximal, ran })
            }
            _ => None,
        };
        each(search.done.len() - fresh, run)?;
        if !search.change_a_decision() {
            return Ok(true);
        }
    }
}

/// What may happen at a decision.
#[derive(Clone, PartialEq, Eq)]
enum Alternative<S> {
    Do(Operation<S>),
    /// An agent does nothing more: it could do this operation, which deviates from the skeleton.
    Stop(Operation<S>),
}

impl<S> Alternative<S> {
    fn operation(&self) -> &Operation<S> {
        match self {
            Alternative::Do(operation) | Alternative::Stop(operation) => operation,
        }
    }

    fn agent(&self) -> usize {
        self.operation().agent
    }
}

/// A node of a wakeup tree: something to try, and what to try after it.
#[derive(Clone)]
struct Wake<S> {
    first: Target<S>,
    then: Vec<Wake<S>>,
}

#[derive(Clone, PartialEq, Eq)]
enum Target<S> {
    This(Alternative<S>),
    /// Anything an agent can do that does not sleep.
    AnythingOf(usize),
}

impl<S: Clone + PartialEq> Target<S> {
    /// The alternatives that meet a target. The operation of a target may have another form when it comes before one
    /// that it depends on: a `try_lock` that has failed after the lock was taken succeeds before. Then whatever its
    /// agent can do meets the target.
    fn among(&self, possible: &[Alternative<S>]) -> Vec<Alternative<S>> {
        let agent = match self {
            Target::This(this) if possible.contains(this) => return vec![this.clone()],
            Target::This(this) => this.agent(),
            Target::AnythingOf(agent) => *agent,
        };
        possible.iter().filter(|one| one.agent() == agent).cloned().collect()
    }
}

/// A decision in a run.
struct Level<S> {
    possible: Vec<Alternative<S>>,
    taken: Alternative<S>,
    /// What to try after what is taken now.
    then: Vec<Wake<S>>,
    /// The sleep set: every run that begins with one of these is found elsewhere.
    asleep: Vec<Alternative<S>>,
    /// What to try later.
    later: Vec<Wake<S>>,
}

impl<S: Clone + Eq> Level<S> {
    /// Plans to try whatever else the agent that acts now could do.
    fn try_all_of_one(&mut self) {
        let Level { possible, taken, asleep, later, .. } = self;
        let others = possible.iter().filter(|one| one.agent() == taken.agent() && *one != taken);
        for one in others.filter(|one| !asleep.contains(one)) {
            let first = Target::This(one.clone());
            if !later.iter().any(|wake| wake.first == first) {
                later.push(Wake { first, then: Vec::new() });
            }
        }
    }
}

/// How a run ended.
enum Ending {
    /// The skeleton allows nothing more.
    Here { next: Vec<Label>, is_maximal: bool },
    /// All that is possible sleeps.
    Asleep,
}

struct Runs<'k, M: ComponentRunner> {
    restriction: &'k Restriction<M::Step>,
    levels: Vec<Level<M::Step>>,
    /// The run so far.
    done: Vec<Happened<M::Step>>,
    initial: Vec<usize>,
    decisions: usize,
    stopped: Vec<usize>,
    /// What agents wait to do at the end.
    waiting: Vec<Operation<M::Step>>,
    /// Was something impossible that was possible in the same place of an earlier run?
    strays: bool,
    ending: Option<Ending>,
}

impl<M: ComponentRunner> Runs<'_, M> {
    /// Who has done what.
    fn steps(&self) -> Vec<(usize, M::Step)> {
        self.done.iter().map(|done| (done.operation.agent, done.operation.step.clone())).collect()
    }

    /// Prepares the next run. Returns how many operations are the same as in the last one.
    fn begin(&mut self) -> usize {
        let last = self.levels.len();
        // The last decision has just been changed.
        let begun = self.restriction.begins.len();
        let kept = self.done.iter().enumerate().filter(|(at, done)| *at < begun || done.level + 1 < last);
        let kept = kept.count();
        self.done.clear();
        self.initial.fill(0);
        self.stopped.clear();
        self.waiting.clear();
        self.decisions = 0;
        self.ending = None;
        kept
    }

    /// Changes the last decision that has something left to try. `false` if none has.
    fn change_a_decision(&mut self) -> bool {
        while let Some(level) = self.levels.last_mut() {
            level.asleep.push(level.taken.clone());
            while !level.later.is_empty() {
                let Wake { first, then } = level.later.remove(0);
                let instead = first.among(&level.possible);
                if let Some(next) = instead.into_iter().find(|one| !level.asleep.contains(one)) {
                    (level.taken, level.then) = (next, then);
                    level.try_all_of_one();
                    return true;
                }
            }
            self.levels.pop();
        }
        false
    }

    /// Has everything happened that the skeleton says?
    fn has_all(&self) -> bool {
        let seen = self.done.iter().filter(|done| done.operation.is_seen()).count();
        seen == self.restriction.skeleton.iter().map(Vec::len).sum::<usize>()
    }

    /// The clock of an operation that comes next, and how many interface events of each member it follows.
    fn clocks(&self, operation: &Operation<M::Step>) -> (Vec<usize>, Vec<usize>) {
        let (mut clock, mut seen) = (vec![0; operation.agent + 1], vec![0; self.restriction.skeleton.len()]);
        for done in &self.done {
            let same = done.operation.agent == operation.agent;
            if same || M::depends(&done.operation, operation) {
                join(&mut clock, &done.clock);
                join(&mut seen, &done.seen);
            }
        }
        clock[operation.agent] = operation.index + 1;
        if operation.is_seen() {
            seen[operation.member] += 1;
        }
        (clock, seen)
    }

    /// What others see of an operation that comes next.
    fn label(&self, operation: &Operation<M::Step>) -> Label {
        let Operation { member, received, sent, .. } = operation.clone();
        Label { member, clock: self.clocks(operation).1, received, sent }
    }

    fn take(&mut self, operation: &Operation<M::Step>) {
        let (clock, seen) = self.clocks(operation);
        let level = self.decisions.saturating_sub(1);
        self.done.push(Happened { operation: operation.clone(), clock, seen, observed: Vec::new(), level });
    }

    /// What may happen next, and what others could see instead of what the skeleton says.
    fn sort(&self, possible: &[Operation<M::Step>]) -> (Vec<Alternative<M::Step>>, Vec<Label>) {
        let mut may: Vec<Alternative<M::Step>> = Vec::new();
        let mut deviating: Vec<(&Operation<M::Step>, Label)> = Vec::new();
        let mut seen = vec![0; self.restriction.skeleton.len()];
        for done in self.done.iter().filter(|done| done.operation.is_seen()) {
            seen[done.operation.member] += 1;
        }
        for operation in possible {
            if !operation.is_seen() {
                may.push(Alternative::Do(operation.clone()));
                continue;
            }
            let member = operation.member;
            let label = self.label(operation);
            match self.restriction.skeleton[member].get(seen[member]) {
                Some(next) if *next == label => may.push(Alternative::Do(operation.clone())),
                Some(_) => {}
                None => deviating.push((operation, label)),
            }
        }
        // An agent that can only deviate waits anyway: it need not decide to stop.
        let stops: Vec<Alternative<M::Step>> = deviating
            .chunk_by(|(one, _), (other, _)| one.agent == other.agent)
            .filter(|of_one| may.iter().any(|one| one.agent() == of_one[0].0.agent))
            .map(|of_one| Alternative::Stop(of_one[0].0.clone()))
            .collect();
        may.extend(stops);
        (may, deviating.into_iter().map(|(_, label)| label).collect())
    }

    /// Are two alternatives independent that are possible at the same time?
    fn are_apart(one: &Alternative<M::Step>, other: &Alternative<M::Step>) -> bool {
        match (one, other) {
            (one, other) if one.agent() == other.agent() => false,
            (Alternative::Stop(_), Alternative::Stop(_)) => true,
            (Alternative::Do(one), Alternative::Do(other)) => {
                !M::depends(one, other) && !M::depends(other, one)
            }
            (Alternative::Do(done), Alternative::Stop(stops))
            | (Alternative::Stop(stops), Alternative::Do(done)) => !M::reaches(done, stops.agent),
        }
    }

    /// The sleep set after a decision.
    fn asleep_after(level: &Level<M::Step>) -> Vec<Alternative<M::Step>> {
        level.asleep.iter().filter(|one| Self::are_apart(one, &level.taken)).cloned().collect()
    }

    /// Finds the decisions that are worth changing: those that race with an operation that is new in this run.
    fn note_races(&mut self, runner: &mut M, fresh: usize) {
        let begun = self.restriction.begins.len();
        for at in fresh.max(begun)..self.done.len() {
            for level in 0..self.done[at].level {
                if self.is_race(runner, level, at) {
                    self.try_others(level, at);
                }
            }
        }
        if matches!(self.ending, Some(Ending::Asleep)) {
            return;
        }
        let at = self.done.len();
        for operation in std::mem::take(&mut self.waiting) {
            let (clock, seen) = self.clocks(&operation);
            let level = self.levels.len();
            self.done.push(Happened { operation, clock, seen, observed: Vec::new(), level });
            for level in 0..level {
                // An operation that does not depend on the decision could come before it just as well as after it.
                let depends = M::depends(self.levels[level].taken.operation(), &self.done[at].operation);
                if depends && self.is_race(runner, level, at) {
                    self.try_others(level, at);
                }
            }
            self.done.pop();
        }
    }

    /// The position in the run of the operation of a decision; `None` if an agent stopped there.
    fn at_level(&self, level: usize) -> Option<usize> {
        self.done[self.restriction.begins.len()..]
            .binary_search_by_key(&level, |done| done.level)
            .ok()
            .map(|at| at + self.restriction.begins.len())
    }

    /// Might an agent have done something else at a decision if a later operation had come before it?
    fn is_race(&self, runner: &mut M, level: usize, at: usize) -> bool {
        let later = &self.done[at];
        let earlier = self.levels[level].taken.operation();
        if earlier.agent == later.operation.agent || !runner.races(earlier, &later.operation) {
            return false;
        }
        if self.at_level(level).is_none() {
            return true;
        }
        if !M::depends(earlier, &later.operation) {
            return !follows(&later.clock, earlier);
        }
        // By its clock an agent that waits for a lock follows the agent that had it before. What counts is whether
        // anything that it did earlier follows the decision.
        let before = self.done[..at].iter().rev().find(|done| done.operation.agent == later.operation.agent);
        before.is_none_or(|before| !follows(&before.clock, earlier))
    }

    /// Plans to change a decision, so that a later operation comes before what was decided there. To get there the run
    /// needs those operations between the two that the later one follows and that do not follow the decision.
    fn try_others(&mut self, level: usize, at: usize) {
        let begun = self.restriction.begins.len();
        let first = self.at_level(level);
        let from = self.done[begun..].partition_point(|done| done.level <= level) + begun;
        let needed = |other: &usize| {
            self.done[at].follows(&self.done[*other])
                && first.is_none_or(|first| !self.done[*other].follows(&self.done[first]))
        };
        let before = (from..at).filter(needed).chain([at]);
        let mut way: Vec<Target<M::Step>> =
            before.map(|at| Target::This(Alternative::Do(self.done[at].operation.clone()))).collect();
        let decided = self.levels[level].taken.operation();
        if first.is_none() || !M::depends(decided, &self.done[at].operation) {
            way.push(Target::AnythingOf(decided.agent));
        }
        let Level { taken, asleep, later, .. } = &mut self.levels[level];
        if asleep.iter().chain([&*taken]).any(|one| Self::begins(one, &way).is_some()) {
            return;
        }
        Self::insert(later, way);
    }

    /// If an alternative is part of a way and can come first in it: what is left of the way then.
    fn begins(one: &Alternative<M::Step>, way: &[Target<M::Step>]) -> Option<Vec<Target<M::Step>>> {
        for (at, target) in way.iter().enumerate() {
            match target {
                Target::This(this) if this == one => {
                    let mut left = way.to_vec();
                    left.remove(at);
                    return Some(left);
                }
                Target::This(this) if Self::are_apart(this, one) => {}
                Target::AnythingOf(agent) if *agent != one.agent() => {}
                _ => return None,
            }
        }
        None
    }

    /// Adds a way to a wakeup tree, unless the tree has it already.
    fn insert(wakes: &mut Vec<Wake<M::Step>>, way: Vec<Target<M::Step>>) {
        for wake in wakes.iter_mut() {
            let Target::This(first) = &wake.first else {
                if way.first() == Some(&wake.first) {
                    return;
                }
                continue;
            };
            if let Some(left) = Self::begins(first, &way) {
                if !wake.then.is_empty() {
                    Self::insert(&mut wake.then, left);
                }
                return;
            }
        }
        let chain = way.into_iter().rev().fold(Vec::new(), |then, first| vec![Wake { first, then }]);
        wakes.extend(chain);
    }

    /// Makes a new decision. `false` if the run ends here.
    fn decide(&mut self, possible: &[Operation<M::Step>]) -> bool {
        let (mut may, next) = self.sort(possible);
        let is_maximal = may.is_empty();
        may.retain(|one| !self.stopped.contains(&one.agent()));
        if may.is_empty() {
            self.waiting.extend(possible.iter().filter(|operation| operation.is_seen()).cloned());
            self.ending = Some(Ending::Here { next, is_maximal });
            return false;
        }
        let (asleep, wakes) = match self.levels.last_mut() {
            Some(level) => (Self::asleep_after(level), std::mem::take(&mut level.then)),
            None => (Vec::new(), Vec::new()),
        };
        let awake: Vec<&Alternative<M::Step>> = may.iter().filter(|one| !asleep.contains(one)).collect();
        let mut later: Vec<Wake<M::Step>> = Vec::new();
        for Wake { first, then } in wakes {
            let found = first.among(&may).into_iter().filter(|one| awake.contains(&one));
            later.extend(found.map(|one| Wake { first: Target::This(one), then: then.clone() }));
        }
        if later.is_empty() {
            // This is also the case if the wakeup tree asks for another choice of an agent that has none after all. The
            // run must go on all the same, since what sleeps from now on counts as tried.
            let Some(any) = awake.first() else {
                self.ending = Some(Ending::Asleep);
                return false;
            };
            later.push(Wake { first: Target::This((*any).clone()), then: Vec::new() });
        }
        let Wake { first, then } = later.remove(0);
        let Target::This(taken) = first else { unreachable!("everything that is asked for is there") };
        let mut level = Level { possible: may, taken, then, asleep, later };
        level.try_all_of_one();
        self.levels.push(level);
        true
    }
}

impl<M: ComponentRunner> Scheduler<M::Step> for Runs<'_, M> {
    fn choose(&mut self, possible: &[Operation<M::Step>]) -> Option<usize> {
        let find = |agent: usize, step: &M::Step| {
            possible.iter().position(|one| one.agent == agent && one.step == *step)
        };
        if let Some((agent, step)) = self.restriction.begins.get(self.done.len()) {
            let again = find(*agent, step);
            self.strays |= again.is_none();
            self.take(&possible[again?]);
            return again;
        }
        loop {
            if self.decisions == self.levels.len() && !self.decide(possible) {
                return None;
            }
            let taken = self.levels[self.decisions].taken.clone();
            self.decisions += 1;
            match taken {
                Alternative::Stop(operation) => self.stopped.push(operation.agent),
                Alternative::Do(operation) => {
                    let again = find(operation.agent, &operation.step);
                    self.strays |= again.is_none();
                    self.take(&possible[again?]);
                    return again;
                }
            }
        }
    }

    fn wait(&mut self, waiting: Vec<Operation<M::Step>>) {
        self.waiting.extend(waiting);
    }

    fn observe(&mut self, member: usize, observed: usize) {
        match self.done.last_mut() {
            Some(done) => done.observed.push((member, observed)),
            None => self.initial[member] = observed,
        }
    }
}
