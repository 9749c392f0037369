//! All runs of a component that has agents of its own, each up to the order of independent operations.
//!
//! From: Abdulla, Aronis, Jonsson and Sagonas, Optimal Dynamic Partial Order Reduction (POPL 2014), source sets with
//! sleep sets; Flanagan and Godefroid, Dynamic Partial-Order Reduction for Model Checking Software (POPL 2005), for
//! what waits for a lock; ALGORITHMS 4. A run is repeated with one decision changed, until no decision is left.
//! Differs: an agent may have several things to do, of which those that need a message come up only when it is there.
//! So two relations are asked for: whether the order of two operations matters, which says what sleeps and which runs
//! are equal, and whether the second might give the agent of the first something else to do, which says where a
//! decision is worth changing. Runs are held to a local skeleton: what others see happens as it says, and an agent that
//! could do something else that others see may stop there instead.
//! Invariant: of the runs that are told no two differ only in the order of independent operations.
//! Held by: testkit/tests/dir.rs (as many runs as an enumerator finds, in groups), the tests of quorate-threads.

use super::checker::MessageId;
use super::machine::{Guide, Machine, Operation, Ran};

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
pub(super) struct Done<S> {
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

impl<S> Done<S> {
    /// Does it follow another operation, or is it that one?
    pub(super) fn follows(&self, other: &Done<S>) -> bool {
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
    pub(super) operations: &'r [Done<S>],
    /// What others could see next.
    pub(super) next: Vec<Label>,
    /// Can nothing go on but what others see?
    pub(super) is_maximal: bool,
    pub(super) ran: Ran,
}

/// What the runs have in common.
pub(super) struct Held<'k, S> {
    pub(super) component: usize,
    /// What arrives from other components.
    pub(super) arrivals: Vec<MessageId>,
    /// What others see of each member: all of it, in order.
    pub(super) skeleton: Vec<Vec<&'k Label>>,
    /// How every run begins: agents and what they do.
    pub(super) begins: &'k [(usize, S)],
}

/// Tells every run of a machine that is held to a local skeleton and does all that it says; and, run or not, how many
/// operations were new.
pub(super) fn for_each_run<M: Machine, H>(
    machine: &mut M,
    held: &Held<'_, M::Step>,
    each: &mut dyn FnMut(&mut M, usize, Option<Run<'_, M::Step>>) -> Result<(), H>,
) -> Result<(), H> {
    let mut search: Runs<'_, M> = Runs {
        held,
        levels: Vec::new(),
        done: Vec::new(),
        initial: vec![0; held.skeleton.len()],
        decisions: 0,
        stopped: Vec::new(),
        ending: None,
    };
    loop {
        let fresh = search.begin();
        let ran = machine.run(held.component, &held.arrivals, &mut search);
        search.note_races(machine, fresh);
        let ending = search.ending.take().unwrap_or(Ending::Here { next: Vec::new(), is_maximal: true });
        let run = match ending {
            Ending::Here { next, is_maximal } if search.has_all() => {
                Some(Run { initial: &search.initial, operations: &search.done, next, is_maximal, ran })
            }
            _ => None,
        };
        each(machine, search.done.len() - fresh, run)?;
        if !search.change_a_decision() {
            return Ok(());
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

/// A decision.
struct Level<S> {
    possible: Vec<Alternative<S>>,
    taken: Alternative<S>,
    /// What leads to no run that is not told elsewhere.
    asleep: Vec<Alternative<S>>,
    /// Whose alternatives are to be tried.
    agents: Vec<usize>,
}

/// How a run ended.
enum Ending {
    /// With all that was possible.
    Here { next: Vec<Label>, is_maximal: bool },
    /// What is left sleeps.
    Asleep,
}

struct Runs<'k, M: Machine> {
    held: &'k Held<'k, M::Step>,
    levels: Vec<Level<M::Step>>,
    /// The run so far. What comes before the first changed decision is kept from the last run.
    done: Vec<Done<M::Step>>,
    initial: Vec<usize>,
    decisions: usize,
    stopped: Vec<usize>,
    ending: Option<Ending>,
}

impl<M: Machine> Runs<'_, M> {
    /// Prepares the next run. Tells how many operations are the same as in the last one.
    fn begin(&mut self) -> usize {
        let last = self.levels.len();
        // The last decision has just been changed.
        let begun = self.held.begins.len();
        let kept = self.done.iter().enumerate().filter(|(at, done)| *at < begun || done.level + 1 < last);
        let kept = kept.count();
        self.done.clear();
        self.initial.fill(0);
        self.stopped.clear();
        self.decisions = 0;
        self.ending = None;
        kept
    }

    /// Changes the last decision that can be changed.
    fn change_a_decision(&mut self) -> bool {
        while let Some(level) = self.levels.last_mut() {
            level.asleep.push(level.taken.clone());
            let wanted = |one: &&Alternative<M::Step>| {
                level.agents.contains(&one.agent()) && !level.asleep.contains(*one)
            };
            if let Some(next) = level.possible.iter().find(wanted) {
                level.taken = next.clone();
                return true;
            }
            self.levels.pop();
        }
        false
    }

    /// Has everything happened that the skeleton says?
    fn has_all(&self) -> bool {
        let seen = self.done.iter().filter(|done| done.operation.is_seen()).count();
        seen == self.held.skeleton.iter().map(Vec::len).sum::<usize>()
    }

    /// The clock of an operation that comes next, and how many interface events of each member it follows.
    fn clocks(&self, operation: &Operation<M::Step>) -> (Vec<usize>, Vec<usize>) {
        let (mut clock, mut seen) = (vec![0; operation.agent + 1], vec![0; self.held.skeleton.len()]);
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
        self.done.push(Done { operation: operation.clone(), clock, seen, observed: Vec::new(), level });
    }

    /// What may happen next, and what others could see instead of what the skeleton says.
    fn sort(&self, possible: &[Operation<M::Step>]) -> (Vec<Alternative<M::Step>>, Vec<Label>) {
        let mut may: Vec<Alternative<M::Step>> = Vec::new();
        let mut deviating: Vec<(&Operation<M::Step>, Label)> = Vec::new();
        let mut seen = vec![0; self.held.skeleton.len()];
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
            match self.held.skeleton[member].get(seen[member]) {
                Some(next) if **next == label => may.push(Alternative::Do(operation.clone())),
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

    /// What sleeps after a decision.
    fn asleep_after(&self, level: &Level<M::Step>) -> Vec<Alternative<M::Step>> {
        let sleeps = |one: &&Alternative<M::Step>| match (&level.taken, *one) {
            (taken, one) if taken.agent() == one.agent() => false,
            (Alternative::Stop(_), _) => true,
            (Alternative::Do(taken), Alternative::Do(one)) => {
                !M::depends(one, taken) && !M::depends(taken, one)
            }
            (Alternative::Do(taken), Alternative::Stop(one)) => !M::reaches(taken, one.agent),
        };
        level.asleep.iter().filter(sleeps).cloned().collect()
    }

    /// Finds the decisions that are worth changing, by the operations of a run that are not the same as in the last.
    fn note_races(&mut self, machine: &mut M, fresh: usize) {
        let begun = self.held.begins.len();
        for at in fresh.max(begun)..self.done.len() {
            for level in 0..self.done[at].level {
                if self.is_race(machine, level, at) {
                    self.try_others(level, at);
                }
            }
        }
    }

    /// Where the operation of a decision is in the run; nowhere if an agent stopped.
    fn at_level(&self, level: usize) -> Option<usize> {
        self.done[self.held.begins.len()..]
            .binary_search_by_key(&level, |done| done.level)
            .ok()
            .map(|at| at + self.held.begins.len())
    }

    /// Might something else have been done at a decision if an operation that came later had come before?
    fn is_race(&self, machine: &mut M, level: usize, at: usize) -> bool {
        let later = &self.done[at];
        let earlier = self.levels[level].taken.operation();
        if earlier.agent == later.operation.agent || !machine.races(earlier, &later.operation) {
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
        let begun = self.held.begins.len();
        let first = self.at_level(level);
        let from = self.done[begun..].partition_point(|done| done.level <= level) + begun;
        let apart = |place: &usize| first.is_none_or(|first| !self.done[*place].follows(&self.done[first]));
        let mut before: Vec<usize> = (from..at).filter(apart).collect();
        before.push(at);
        let is_first = |place: &&usize| {
            before.iter().all(|other| other >= *place || !self.done[**place].follows(&self.done[*other]))
        };
        let agents: Vec<usize> =
            before.iter().filter(is_first).map(|place| self.done[*place].operation.agent).collect();
        let Level { possible, agents: tried, .. } = &mut self.levels[level];
        if agents.iter().any(|agent| tried.contains(agent)) {
            return;
        }
        let there = |agent: &&usize| possible.iter().any(|one| one.agent() == **agent);
        match agents.iter().find(there) {
            Some(agent) => tried.push(*agent),
            None => tried.extend(possible.iter().map(Alternative::agent)),
        }
    }

    /// Decides what comes next, for the first time.
    fn decide(&mut self, possible: &[Operation<M::Step>]) -> bool {
        let (mut may, next) = self.sort(possible);
        let is_maximal = may.is_empty();
        may.retain(|one| !self.stopped.contains(&one.agent()));
        if may.is_empty() {
            self.ending = Some(Ending::Here { next, is_maximal });
            return false;
        }
        let asleep = self.levels.last().map_or(Vec::new(), |level| self.asleep_after(level));
        let Some(taken) = may.iter().find(|one| !asleep.contains(*one)).cloned() else {
            self.ending = Some(Ending::Asleep);
            return false;
        };
        self.levels.push(Level { agents: vec![taken.agent()], possible: may, taken, asleep });
        true
    }
}

impl<M: Machine> Guide<M::Step> for Runs<'_, M> {
    fn choose(&mut self, possible: &[Operation<M::Step>]) -> Option<usize> {
        let find = |agent: usize, step: &M::Step| {
            possible.iter().position(|one| one.agent == agent && one.step == *step)
        };
        if let Some((agent, step)) = self.held.begins.get(self.done.len()) {
            let at = find(*agent, step).expect("what has happened once can happen again");
            self.take(&possible[at]);
            return Some(at);
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
                    let at = find(operation.agent, &operation.step);
                    let at = at.expect("what has happened once can happen again");
                    self.take(&operation);
                    return Some(at);
                }
            }
        }
    }

    fn observe(&mut self, member: usize, observed: usize) {
        match self.done.last_mut() {
            Some(done) => done.observed.push((member, observed)),
            None => self.initial[member] = observed,
        }
    }
}
