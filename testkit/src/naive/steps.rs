//! Every step of a whole state: transitions, and what the world does to processes and messages.
//!
//! From: docs/theory/kernel.md 1 and the documentation of [`World`]. A crash is another outcome of a transition, or
//! comes between two, where that is not like being slow; a step whose messages find no room is none.
//! A run ends where no step is owed.
//! Known: a selection that panics on a message is a panicking step if the channel gives the message alone;
//! otherwise the message is not selected.

use std::collections::{BTreeSet, HashMap};

use quorate::ProcessId;
use quorate::model::{Choice, Envelope, Model, Outcome, QuorumSystem, Trigger, Value};
use quorate::property::When;
use quorate::world::{Channel, CrashSends, Crashes, Delivery, StepKind, World};

use super::channel::{Inbox, Letter, choices, remembers_order, takings};
use super::{LocalStep, Semantics};

/// A whole state.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct State {
    pub(super) locals: Vec<Value>,
    pub(super) inboxes: Vec<Inbox>,
    pub(super) pasts: Vec<Past>,
    pub(super) monitors: Vec<Value>,
}

/// What a process has been through.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct Past {
    crashed: bool,
    restarts: usize,
    losses: usize,
    duplications: usize,
}

/// A step of a whole state.
pub(super) struct Step {
    pub(super) kind: StepKind,
    /// Does it skip messages, which are lost?
    pub(super) skips: bool,
    /// Where it leads; `None` for a panic.
    pub(super) leads: Option<State>,
    /// Why it need not be taken in the end, though nothing else changes: for each of these reasons.
    pub(super) excuses: Vec<Excuse>,
}

/// Why a step that is possible need not be taken, however long a run waits: it only may happen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Excuse {
    /// It is a crash.
    Crash,
    /// It is a restart.
    Restart,
    /// It loses a message.
    Loss,
    /// It doubles a message.
    Duplication,
    /// It takes a message that was taken before, of a channel that may bring it again.
    FurtherCopy,
    /// It takes a message that nobody sent.
    Forged,
    /// It takes a message, or delivers one, that the channel may lose.
    MayGetLost,
    /// It leaves everything as it was.
    ChangesNothing,
}

impl Step {
    /// Does a run not end in a state that has this step? A panic is no end.
    pub(super) fn goes_on(&self, before: &State, is_owed_despite: fn(Excuse) -> bool) -> bool {
        let Some(next) = &self.leads else { return true };
        let changes_nothing = (next == before).then_some(Excuse::ChangesNothing);
        self.excuses.iter().copied().chain(changes_nothing).all(is_owed_despite)
    }
}

/// A transition that a process can take, apart from whether there is room for what it sends.
pub struct Attempt {
    /// Which it is.
    pub step: LocalStep,
    /// The inbox without what is consumed.
    pub left: Inbox,
    /// How many messages are lost by being skipped.
    pub skipped: usize,
    /// Why it need not be taken, as far as what it takes is a reason.
    pub excuses: Vec<Excuse>,
    /// What it leads to; `None` for a panic.
    pub outcome: Option<Outcome>,
}

/// A message to send: to whom, and its number.
type Send = (usize, usize);

/// A model in its world, and the numbers of messages.
pub(super) struct System<'m> {
    model: &'m Model,
    world: World,
    semantics: Semantics,
    may_crash: Vec<bool>,
    /// Does some property look at the end of runs?
    looks_at_ends: bool,
    restarts_max: Vec<usize>,
    /// For each process, the messages that are always there.
    forged: Vec<Vec<usize>>,
    pub(super) messages: Vec<Envelope>,
    numbers: HashMap<Envelope, usize>,
}

impl<'m> System<'m> {
    pub(super) fn new(model: &'m Model, semantics: Semantics) -> Self {
        let world = (semantics.world)(model.world());
        let nobody = vec![false; model.processes().len()];
        let mut system = System {
            model,
            restarts_max: vec![0; nobody.len()],
            forged: vec![Vec::new(); nobody.len()],
            may_crash: nobody,
            looks_at_ends: model.properties().iter().any(|property| property.when() == When::AtEnd),
            world,
            semantics,
            messages: Vec::new(),
            numbers: HashMap::new(),
        };
        if let Crashes::Explicit { prone, .. } = &system.world.crashes {
            for (role, count) in prone {
                for process in &model.roles().of(role)[..*count] {
                    system.may_crash[process.index()] = true;
                }
            }
        }
        for (role, times) in &system.world.restarts {
            for process in model.roles().of(role) {
                system.restarts_max[process.index()] = *times;
            }
        }
        for process in model.ids() {
            let envelopes = model.forgeable(process).iter();
            system.forged[process.index()] =
                envelopes.map(|envelope| system.number(envelope.clone())).collect();
        }
        system
    }

    pub(super) fn initial(&mut self) -> State {
        let locals: Vec<Value> =
            self.model.processes().iter().map(|process| process.initial().clone()).collect();
        let mut inboxes = vec![Inbox::default(); locals.len()];
        if self.semantics.forges_once {
            for (inbox, forged) in inboxes.iter_mut().zip(&mut self.forged) {
                for message in std::mem::take(forged) {
                    let from = self.messages[message].from.index();
                    (self.semantics.put)(&self.world, inbox, Letter { from, message }, false);
                }
            }
        }
        let monitors = self.model.monitors().iter().map(|monitor| monitor.initial().clone()).collect();
        State { inboxes, pasts: vec![Past::default(); locals.len()], locals, monitors }
    }

    fn number(&mut self, envelope: Envelope) -> usize {
        *self.numbers.entry(envelope).or_insert_with_key(|envelope| {
            self.messages.push(envelope.clone());
            self.messages.len() - 1
        })
    }

    /// Every step of a state, and the transitions that were tried.
    pub(super) fn steps(&mut self, state: &State) -> (Vec<Step>, Vec<Attempt>) {
        let (mut steps, mut tried) = (Vec::new(), Vec::new());
        let model = self.model;
        for process in model.ids().filter(|process| !state.pasts[process.index()].crashed) {
            for transition in 0..model.process(process).transitions().len() {
                let mut attempts = self.attempts(state, process, transition);
                (self.semantics.follow)(&mut attempts);
                for attempt in &attempts {
                    self.endings(state, attempt, &mut steps);
                }
                tried.append(&mut attempts);
            }
            self.happenings(state, process, &mut steps);
        }
        (steps, tried)
    }

    /// Every way to take a transition.
    fn attempts(&self, state: &State, process: ProcessId, transition: usize) -> Vec<Attempt> {
        let trigger = self.model.process(process).transitions()[transition].trigger();
        let mut sizes = match trigger {
            Trigger::Internal => BTreeSet::from([0]),
            Trigger::Message(_) => BTreeSet::from([1]),
            Trigger::Quorum(QuorumSystem::Size { size, .. }) => BTreeSet::from([*size]),
            Trigger::Quorum(QuorumSystem::Listed(quorums)) => quorums.iter().map(Vec::len).collect(),
        };
        if matches!(trigger, Trigger::Quorum(_)) {
            // One message may be too few to act on, but it is enough for the selection to panic.
            sizes.insert(1);
        }
        let mut attempts = Vec::new();
        for size in sizes {
            for forged in 0..=size.min(self.forged[process.index()].len()) {
                for invented in choices(&self.forged[process.index()], forged) {
                    self.attempts_with(state, process, transition, size, &invented, &mut attempts);
                }
            }
        }
        attempts
    }

    /// Every way to take a transition with so many messages, of which these are forged.
    fn attempts_with(
        &self,
        state: &State,
        process: ProcessId,
        transition: usize,
        size: usize,
        invented: &[usize],
        attempts: &mut Vec<Attempt>,
    ) {
        let (model, local) = (self.model, &state.locals[process.index()]);
        let (may_take, left) = (self.semantics.may_take, self.semantics.left);
        let inbox = &state.inboxes[process.index()];
        for taking in takings(&self.world, inbox, size - invented.len(), may_take, left) {
            let mut bag = [taking.consumed.as_slice(), invented].concat();
            bag.sort_unstable();
            let consumed: Vec<&Envelope> = bag.iter().map(|&message| &self.messages[message]).collect();
            // No trigger takes a message twice, so nobody is asked but the selection.
            let puzzling = |message: &&Envelope| {
                model.accepts(process, transition, local, &[*message, *message]).is_err()
            };
            if consumed.len() > 1 && consumed.iter().any(puzzling) {
                continue;
            }
            let outcomes = match (self.semantics.accepts)(model, process, transition, local, &consumed) {
                Ok(true) => model.run(process, transition, local, &consumed),
                Ok(false) => Vec::new(),
                Err(panicked) => vec![Err(panicked)],
            };
            attempts.extend(outcomes.into_iter().map(|outcome| {
                let step = |choices: &[Choice]| LocalStep {
                    process,
                    transition,
                    state: local.clone(),
                    consumed: bag.clone(),
                    choices: choices.iter().map(|choice| choice.index).collect(),
                };
                let (step, outcome) = match outcome {
                    Ok(outcome) => (step(&outcome.choices), Some(outcome)),
                    Err(panicked) => (step(&panicked.choices), None),
                };
                let mut left = taking.left.clone();
                if self.looks_at_ends && self.world.channel == Channel::Duplicating {
                    let letter =
                        |&message: &usize| Letter { from: self.messages[message].from.index(), message };
                    left.taken.extend(taking.consumed.iter().map(letter));
                }
                let reasons = [
                    (Excuse::Forged, !invented.is_empty()),
                    (Excuse::FurtherCopy, !taking.first_copies),
                    (Excuse::MayGetLost, !bag.is_empty() && may_lose(&self.world)),
                ];
                let excuses = reasons.into_iter().filter(|(_, is_one)| *is_one).map(|(excuse, _)| excuse);
                Attempt { step, left, skipped: taking.skipped, excuses: excuses.collect(), outcome }
            }));
        }
    }

    /// The ways in which a transition can end: as it should, or in a crash, unless there is no room for what it
    /// sends.
    fn endings(&mut self, state: &State, attempt: &Attempt, steps: &mut Vec<Step>) {
        let (process, skips) = (attempt.step.process, attempt.skipped > 0);
        let Some(outcome) = &attempt.outcome else {
            steps.push(Step { kind: StepKind::Transition, skips, leads: None, excuses: Vec::new() });
            return;
        };
        let sends: Vec<Send> = outcome
            .sends
            .iter()
            .map(|sending| {
                let envelope = Envelope { from: process, body: sending.body.clone() };
                (sending.to.index(), self.number(envelope))
            })
            .collect();
        let mut after = state.clone();
        after.locals[process.index()] = outcome.state.clone();
        after.inboxes[process.index()] = attempt.left.clone();
        for (monitor, heard) in self.model.monitors().iter().zip(&mut after.monitors) {
            *heard = (self.semantics.hear)(monitor, heard, process, &outcome.events);
        }
        if let Some(next) = self.sent(after.clone(), process, &sends) {
            let excuses = attempt.excuses.clone();
            steps.push(Step { kind: StepKind::Transition, skips, leads: Some(next), excuses });
        }
        if self.may_crash[process.index()] {
            after.pasts[process.index()].crashed = true;
            after.locals[process.index()] =
                (self.semantics.crashed)(&state.locals[process.index()], &outcome.state);
            for kept in kept_in_a_crash(&self.world, &sends) {
                if let Some(next) = self.sent(after.clone(), process, &kept) {
                    let excuses = [attempt.excuses.as_slice(), &[Excuse::Crash]].concat();
                    steps.push(Step { kind: StepKind::Crash, skips, leads: Some(next), excuses });
                }
            }
        }
    }

    /// A state with these messages sent; `None` if there is no room for one of them.
    fn sent(&self, mut state: State, from: ProcessId, sends: &[Send]) -> Option<State> {
        for &(to, message) in sends {
            let anyway = (self.semantics.there_anyway)(&self.world, self.looks_at_ends);
            if !anyway || !self.forged[to].contains(&message) {
                let letter = Letter { from: from.index(), message };
                let inbox = &mut state.inboxes[to];
                if !(self.semantics.put)(&self.world, inbox, letter, to == from.index()) {
                    return None;
                }
            }
        }
        Some(state)
    }

    /// What the world can do to a process.
    fn happenings(&self, state: &State, process: ProcessId, steps: &mut Vec<Step>) {
        let at = process.index();
        let (past, world) = (state.pasts[at], &self.world);
        let kinds = [
            (StepKind::Delivery, world.delivery != Delivery::AtOnce),
            (StepKind::Loss, past.losses < world.losses),
            (StepKind::Duplication, past.duplications < world.duplications),
        ];
        for (kind, _) in kinds.into_iter().filter(|(_, possible)| *possible) {
            for inbox in (self.semantics.happen)(world, &state.inboxes[at], kind) {
                let mut next = state.clone();
                next.inboxes[at] = inbox;
                next.pasts[at].losses += usize::from(kind == StepKind::Loss);
                next.pasts[at].duplications += usize::from(kind == StepKind::Duplication);
                let excuse = match kind {
                    StepKind::Loss => Some(Excuse::Loss),
                    StepKind::Duplication => Some(Excuse::Duplication),
                    _ => may_lose(world).then_some(Excuse::MayGetLost),
                };
                steps.push(Step { kind, skips: false, leads: Some(next), excuses: Vec::from_iter(excuse) });
            }
        }
        let initial = self.model.process(process).initial();
        if self.may_crash[at]
            && self.looks_at_ends
            && (self.semantics.crashes_between)(initial, &state.locals[at])
        {
            let mut next = state.clone();
            next.pasts[at].crashed = true;
            let excuses = vec![Excuse::Crash];
            steps.push(Step { kind: StepKind::Crash, skips: false, leads: Some(next), excuses });
        }
        if past.restarts < self.restarts_max[at] {
            let local = &state.locals[at];
            let leads = match self.model.restarted(process, local) {
                Ok(same) if same == *local => return,
                Ok(restarted) => {
                    let mut next = state.clone();
                    next.locals[at] = restarted;
                    next.pasts[at].restarts += 1;
                    Some(next)
                }
                Err(_) => None,
            };
            let excuses = vec![Excuse::Restart];
            steps.push(Step { kind: StepKind::Restart, skips: false, leads, excuses });
        }
    }
}

/// Is what can be forged there anyway? Where messages have no place in a queue and need not be received.
pub(super) fn there_anyway(world: &World, looks_at_ends: bool) -> bool {
    let unordered =
        matches!(world.channel, Channel::Bag | Channel::Lossy | Channel::Set | Channel::Duplicating);
    unordered && !looks_at_ends
}

/// May the channel lose messages by itself?
fn may_lose(world: &World) -> bool {
    matches!(world.channel, Channel::Lossy | Channel::LossyFifo | Channel::LossyMailbox)
}

/// What a process may still send in the step in which it crashes. Ways that nobody can distinguish count as one.
fn kept_in_a_crash(world: &World, sends: &[Send]) -> BTreeSet<Vec<Send>> {
    let kept = match &world.crashes {
        Crashes::Explicit { sends, .. } => *sends,
        Crashes::Implicit => CrashSends::All,
    };
    let sizes = if kept == CrashSends::All { sends.len()..=sends.len() } else { 0..=sends.len() };
    let positions: Vec<usize> = (0..sends.len()).collect();
    let first_few = |way: &Vec<usize>| {
        let earlier = |at: usize| (0..at).filter(move |&before| sends[before].0 == sends[at].0);
        way.iter().all(|&at| earlier(at).all(|before| way.contains(&before)))
    };
    let ways = sizes.flat_map(|size| choices(&positions, size));
    // A channel that remembers an order remembers that of every sender's messages.
    let in_order = kept == CrashSends::Some && remembers_order(world.channel);
    let ways = ways.filter(|way| !in_order || first_few(way));
    let canonical = |way: Vec<usize>| {
        let mut sent: Vec<Send> = way.into_iter().map(|at| sends[at]).collect();
        if remembers_order(world.channel) {
            sent.sort_by_key(|(to, _)| *to);
        } else {
            sent.sort_unstable();
        }
        sent
    };
    ways.map(canonical).collect()
}
