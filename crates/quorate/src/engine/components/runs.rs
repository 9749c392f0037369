//! All runs of a component that has agents of its own, each up to the order of independent operations.
//!
//! From: Abdulla, Aronis, Jonsson and Sagonas, Optimal Dynamic Partial Order Reduction (POPL 2014), with wakeup trees
//! and sleep sets; Flanagan and Godefroid, Dynamic Partial-Order Reduction for Model Checking Software (POPL 2005), for
//! what waits for a lock; docs/theory/components.md 8. A run is repeated with one decision changed, until no decision is left.
//! Differs: an agent may have several things to do, of which those that need a message come up only when it is there.
//! So two relations are asked for: whether the order of two operations matters, which says what sleeps and which runs
//! are equal, and whether the second might give the agent of the first something else to do, which says where a
//! decision is worth changing. Whether it does shows only when the second has come first: then the agent is asked for
//! anything that does not sleep. Runs are held to a local skeleton: what others see happens as it says, and an agent
//! that could do something else that others see may stop there instead. So a run may end though agents wait, for a lock
//! or for the skeleton: what they wait to do might have come before what was done, like anything that was.
//! Invariant: of the runs that are told no two differ only in the order of independent operations.
//! Restriction by: testkit/tests/dir.rs (as many runs as an enumerator finds, in groups), the tests of quorate-threads.

use super::checker::MessageId;
use super::machine::{ComponentRunner, Operation, Ran, Scheduler};
use crate::kernel::Mutant;

/// What others see of an operation.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Label {
    pub(super) member: usize,
    /// How many interface events of each member it follows, itself included.
    pub(super) clock: Vec<usize>,
    pub(super) received: Vec<MessageId>,
    pub(super) sent: Vec<MessageId>,
}

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

fn join(clock: &mut Vec<usize>, other: &[usize]) {
    clock.resize(clock.len().max(other.len()), 0);
    clock.iter_mut().zip(other).for_each(|(ours, theirs)| *ours = (*ours).max(*theirs));
}

/// A run that went as far as the local skeleton lets it.
pub(super) struct Run<'r, S> {
    /// What properties see of each member at first.
    pub(super) initial: &'r [usize],
    pub(super) operations: &'r [Happened<S>],
    /// What others could see next.
    pub(super) next: Vec<Label>,
    /// Can nothing go on but what others see?
    pub(super) is_maximal: bool,
    pub(super) ran: Ran,
}

/// What the runs have in common.
pub(super) struct Restriction<S> {
    pub(super) component: usize,
    /// What arrives from other components.
    pub(super) arrivals: Vec<MessageId>,
    /// What others see of each member: all of it, in order.
    pub(super) skeleton: Vec<Vec<Label>>,
    /// How every run begins: agents and what they do.
    pub(super) begins: Vec<(usize, S)>,
    pub(super) mutant: Option<Mutant>,
}

/// Is told how many operations were new, and a run unless it ended early.
pub(super) type Told<'t, S, H> = &'t mut dyn FnMut(usize, Option<Run<'_, S>>) -> Result<(), H>;

/// Tells every run of a component that is held to a local skeleton and does all that it says; and, run or not, how many
/// operations were new. `false` if the component does not do the same whenever the same happens to it: then nothing that
/// was told can be relied on.
pub(super) fn for_each_run<M: ComponentRunner, H>(
    runner: &mut M,
    restriction: &Restriction<M::Step>,
    told: Told<'_, M::Step, H>,
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
    // The first run is repeated: who does something else then does not depend on what happens alone.
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
        if restriction.mutant != Some(Mutant::NoRaces) {
            search.note_races(runner, fresh);
        }
        let ending = search.ending.take().unwrap_or(Ending::Here { next: Vec::new(), is_maximal: true });
        let run = match ending {
            Ending::Here { next, is_maximal } if search.has_all() => {
                Some(Run { initial: &search.initial, operations: &search.done, next, is_maximal, ran })
            }
            _ => None,
        };
        told(search.done.len() - fresh, run)?;
        if !search.change_a_decision() {
            return Ok(true);
        }
    }
}

/// Something that may happen at a decision.
#[derive(Clone, PartialEq, Eq)]
enum Alternative<S> {
    Do(Operation<S>),
    /// An agent does nothing more, since what it would do deviates from the skeleton, like this.
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

/// Something that is to be tried, and what then.
#[derive(Clone)]
struct Wake<S> {
    first: Wanted<S>,
    then: Vec<Wake<S>>,
}

#[derive(Clone, PartialEq, Eq)]
enum Wanted<S> {
    This(Alternative<S>),
    /// Whatever an agent can do that does not sleep.
    AnythingOf(usize),
}

impl<S: Clone + PartialEq> Wanted<S> {
    /// What is wanted, as it is now: an operation that comes before another that it depends on may turn out otherwise
    /// than after it, as one that tries to take a lock.
    fn among(&self, possible: &[Alternative<S>]) -> Vec<Alternative<S>> {
        let agent = match self {
            Wanted::This(this) if possible.contains(this) => return vec![this.clone()],
            Wanted::This(this) => this.agent(),
            Wanted::AnythingOf(agent) => *agent,
        };
        possible.iter().filter(|one| one.agent() == agent).cloned().collect()
    }
}

/// A decision.
struct Level<S> {
    possible: Vec<Alternative<S>>,
    taken: Alternative<S>,
    /// What to do after what is taken now.
    then: Vec<Wake<S>>,
    /// What leads to no run that is not told elsewhere.
    asleep: Vec<Alternative<S>>,
    /// What is to be tried later.
    later: Vec<Wake<S>>,
}

impl<S: Clone + Eq> Level<S> {
    /// Whatever else the agent could do that does something now is to be tried as well.
    fn try_all_of_one(&mut self) {
        let Level { possible, taken, asleep, later, .. } = self;
        let others = possible.iter().filter(|one| one.agent() == taken.agent() && *one != taken);
        for one in others.filter(|one| !asleep.contains(one)) {
            let first = Wanted::This(one.clone());
            if !later.iter().any(|wake| wake.first == first) {
                later.push(Wake { first, then: Vec::new() });
            }
        }
    }
}

/// How a run ended.
enum Ending {
    /// With all that was possible.
    Here { next: Vec<Label>, is_maximal: bool },
    /// What is left sleeps.
    Asleep,
}

struct Runs<'k, M: ComponentRunner> {
    restriction: &'k Restriction<M::Step>,
    levels: Vec<Level<M::Step>>,
    /// The run so far. What comes before the first changed decision is kept from the last run.
    done: Vec<Happened<M::Step>>,
    initial: Vec<usize>,
    decisions: usize,
    stopped: Vec<usize>,
    /// What agents wait to do at the end.
    waiting: Vec<Operation<M::Step>>,
    /// Can something that has happened before not happen again?
    strays: bool,
    ending: Option<Ending>,
}

impl<M: ComponentRunner> Runs<'_, M> {
    /// What was done, by whom.
    fn steps(&self) -> Vec<(usize, M::Step)> {
        self.done.iter().map(|done| (done.operation.agent, done.operation.step.clone())).collect()
    }

    /// Prepares the next run. Tells how many operations are the same as in the last one.
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

    /// Changes the last decision that can be changed.
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
        // Who can only deviate waits anyway.
        let stops: Vec<Alternative<M::Step>> = deviating
            .chunk_by(|(one, _), (other, _)| one.agent == other.agent)
            .filter(|of_one| may.iter().any(|one| one.agent() == of_one[0].0.agent))
            .map(|of_one| Alternative::Stop(of_one[0].0.clone()))
            .collect();
        may.extend(stops);
        (may, deviating.into_iter().map(|(_, label)| label).collect())
    }

    /// Are two alternatives, both possible at the same time, none of the other's business?
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

    /// What sleeps after a decision.
    fn asleep_after(level: &Level<M::Step>) -> Vec<Alternative<M::Step>> {
        level.asleep.iter().filter(|one| Self::are_apart(one, &level.taken)).cloned().collect()
    }

    /// Finds the decisions that are worth changing, by the operations of a run that are not the same as in the last.
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
                // What does not depend on it could come before it just as well as after it.
                let depends = M::depends(self.levels[level].taken.operation(), &self.done[at].operation);
                if depends && self.is_race(runner, level, at) {
                    self.try_others(level, at);
                }
            }
            self.done.pop();
        }
    }

    /// Where the operation of a decision is in the run; nowhere if an agent stopped.
    fn at_level(&self, level: usize) -> Option<usize> {
        self.done[self.restriction.begins.len()..]
            .binary_search_by_key(&level, |done| done.level)
            .ok()
            .map(|at| at + self.restriction.begins.len())
    }

    /// Might something else have been done at a decision if an operation that came later had come before?
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
        // Who waits for a lock follows whoever had it before, but not necessarily by anything it did itself.
        let before = self.done[..at].iter().rev().find(|done| done.operation.agent == later.operation.agent);
        before.is_none_or(|before| !follows(&before.clock, earlier))
    }

    /// Has a decision be changed, so that an operation can come before what was decided.
    fn try_others(&mut self, level: usize, at: usize) {
        let begun = self.restriction.begins.len();
        let first = self.at_level(level);
        let from = self.done[begun..].partition_point(|done| done.level <= level) + begun;
        let needed = |other: &usize| {
            self.done[at].follows(&self.done[*other])
                && first.is_none_or(|first| !self.done[*other].follows(&self.done[first]))
        };
        let before = (from..at).filter(needed).chain([at]);
        let mut way: Vec<Wanted<M::Step>> =
            before.map(|at| Wanted::This(Alternative::Do(self.done[at].operation.clone()))).collect();
        let decided = self.levels[level].taken.operation();
        if first.is_none() || !M::depends(decided, &self.done[at].operation) {
            way.push(Wanted::AnythingOf(decided.agent));
        }
        let Level { taken, asleep, later, .. } = &mut self.levels[level];
        if asleep.iter().chain([&*taken]).any(|one| Self::begins(one, &way).is_some()) {
            return;
        }
        Self::insert(later, way);
    }

    /// What is left of a way that can begin with something, if it is part of it.
    fn begins(one: &Alternative<M::Step>, way: &[Wanted<M::Step>]) -> Option<Vec<Wanted<M::Step>>> {
        for (at, wanted) in way.iter().enumerate() {
            match wanted {
                Wanted::This(this) if this == one => {
                    let mut left = way.to_vec();
                    left.remove(at);
                    return Some(left);
                }
                Wanted::This(this) if Self::are_apart(this, one) => {}
                Wanted::AnythingOf(agent) if *agent != one.agent() => {}
                _ => return None,
            }
        }
        None
    }

    /// Adds a way to what is to be tried, unless that begins like it already.
    fn insert(wakes: &mut Vec<Wake<M::Step>>, way: Vec<Wanted<M::Step>>) {
        for wake in wakes.iter_mut() {
            let Wanted::This(first) = &wake.first else {
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

    /// Decides what comes next, for the first time.
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
            later.extend(found.map(|one| Wake { first: Wanted::This(one), then: then.clone() }));
        }
        if later.is_empty() {
            // Also if whoever was to have something else to do has nothing after all: what sleeps from now on must
            // have been tried.
            let Some(any) = awake.first() else {
                self.ending = Some(Ending::Asleep);
                return false;
            };
            later.push(Wake { first: Wanted::This((*any).clone()), then: Vec::new() });
        }
        let Wake { first, then } = later.remove(0);
        let Wanted::This(taken) = first else { unreachable!("everything that is asked for is there") };
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
