//! Is it true that processes are interchangeable? Everything that a search with symmetry has asked of the user's code for
//! one process must have the renamed answer for every process that can take its place.
//!
//! From: docs/theory/symmetry.md 4. A question is compared with its image under each exchange of two neighbours; the
//! image is then a question to compare in turn, until nothing is new. So whole orbits are compared, though a search meets
//! representatives only. A difference in what the search has met ends it, with the name of the handler. A difference in
//! what only a reduction has considered may be in steps that never happen: the search is then done again without symmetry.
//! Invariant: a question that was compared agrees with its image under each exchange, or there is a difference.
//! Held by: testkit/tests/declarations.rs, testkit/tests/reductions.rs (wrong declarations).

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::beliefs::ProcessStates;
use super::images::Images;
use crate::base::ProcessId;
use crate::kernel::process::{
    AskContext, AskedSoFar, HandlerInput, LocalId, LocalStep, MessageId, Questions, SendListId,
};
use crate::model::{Asked, Envelope, Model, Trigger};

/// What was compared so far.
pub(in crate::kernel) struct Certificate {
    steps: HashSet<(usize, HandlerInput)>,
    restarts: HashSet<(usize, LocalId)>,
    /// For each transition in a local state, the messages among which it selects, as met and as considered.
    offered: [HashMap<Selecting, BTreeSet<MessageId>>; 2],
    messages: usize,
    /// How many handler runs the images took.
    pub(in crate::kernel) handler_calls: u64,
}

/// A process, a local state and a transition.
type Selecting = (usize, LocalId, usize);

/// Why a question was asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::kernel) enum Why {
    /// It is a step of the search.
    Met,
    /// A reduction had to know.
    Considered,
}

/// What a selection says of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Selected {
    No,
    Panics,
    /// It goes together with others that have the same number.
    With(usize),
}

/// What a handler can do, as numbers: nothing for a panic.
type Outcomes = BTreeSet<Option<(LocalId, SendListId)>>;

/// What it takes to compare.
struct Comparing<'c, 'm> {
    images: &'c mut Images,
    states_of: &'c mut [ProcessStates],
    ask: &'c mut AskContext<'m>,
}

impl Certificate {
    pub(in crate::kernel) fn new() -> Self {
        Certificate {
            steps: HashSet::new(),
            restarts: HashSet::new(),
            offered: [HashMap::new(), HashMap::new()],
            messages: 0,
            handler_calls: 0,
        }
    }

    /// How many questions were compared.
    pub(in crate::kernel) fn size(&self) -> usize {
        self.steps.len() + self.restarts.len() + self.messages
    }

    /// How many local steps were compared.
    pub(in crate::kernel) fn steps(&self) -> usize {
        self.steps.len()
    }

    pub(in crate::kernel) fn bytes(&self) -> u64 {
        (self.steps.capacity() * (size_of::<(usize, HandlerInput)>() + 17) + self.messages * 8) as u64
    }

    /// Compares what was asked since the last time. Says what differs, if something does. Ends early if there is more
    /// than `most` to compare.
    pub(in crate::kernel) fn compare(
        &mut self,
        why: Why,
        most: usize,
        images: &mut Images,
        states_of: &mut [ProcessStates],
        ask: &mut AskContext<'_>,
    ) -> Option<String> {
        let mut comparing = Comparing { images, states_of, ask };
        let calls = comparing.ask.handlers.calls();
        let mut waiting = Vec::new();
        let mut changed = BTreeSet::new();
        let mut difference = None;
        for process in 0..comparing.ask.model.processes().len() {
            let Some(asked) = comparing.questions(process, why) else { continue };
            waiting.extend(asked.steps.into_iter().map(|input| (process, input)));
            for ((local, transition), messages) in asked.offered {
                let selecting = (process, local, transition);
                if self.offer(why, selecting, messages, &comparing) {
                    changed.insert(selecting);
                }
            }
            for local in asked.restarts {
                difference = difference.or_else(|| self.compare_restarts((process, local), &mut comparing));
            }
        }
        waiting.retain(|step| self.steps.insert(step.clone()));
        let difference = difference
            .or_else(|| self.compare_selections(why, changed, most, &mut comparing))
            .or_else(|| self.compare_steps(waiting, most, &mut comparing));
        self.handler_calls += comparing.ask.handlers.calls() - calls;
        difference
    }

    /// Compares steps with their images, and these with theirs.
    fn compare_steps(
        &mut self,
        mut waiting: Vec<(usize, HandlerInput)>,
        most: usize,
        comparing: &mut Comparing<'_, '_>,
    ) -> Option<String> {
        while let Some((process, input)) = waiting.pop() {
            for exchange in 0..comparing.images.count() {
                let image = comparing.image(exchange, process, &input);
                let there = comparing.images.place(exchange, process);
                let expected = comparing.image_of_outcomes(exchange, process, &input);
                if expected != comparing.outcomes(there, &image) {
                    let name = comparing.transition(process, input.1);
                    return Some(comparing.difference(exchange, &format!("'{name}' of"), process));
                }
                let image = (there, image);
                if self.size() < most && !self.steps.contains(&image) {
                    self.steps.insert(image.clone());
                    waiting.push(image);
                }
            }
        }
        None
    }

    /// Adds messages to those among which a transition selects. Says whether some are new.
    fn offer(
        &mut self,
        why: Why,
        selecting: Selecting,
        messages: impl IntoIterator<Item = MessageId>,
        comparing: &Comparing<'_, '_>,
    ) -> bool {
        let (process, _, transition) = selecting;
        let trigger = comparing.trigger(process, transition);
        let heard = messages.into_iter().filter(|message| {
            *trigger != Trigger::Internal && trigger.listens_to(comparing.ask.mail.envelope(*message).from)
        });
        let known = self.offered[why as usize].entry(selecting).or_default();
        let before = known.len();
        known.extend(heard);
        let new = known.len() - before;
        self.messages += new;
        new > 0
    }

    /// Compares selections with their images, and these with theirs.
    fn compare_selections(
        &mut self,
        why: Why,
        mut changed: BTreeSet<Selecting>,
        most: usize,
        comparing: &mut Comparing<'_, '_>,
    ) -> Option<String> {
        let mut waiting: Vec<Selecting> = changed.iter().copied().collect();
        while let Some(selecting) = waiting.pop().filter(|_| self.size() < most) {
            for exchange in 0..comparing.images.count() {
                let messages = self.offered[why as usize][&selecting].clone();
                let (image, messages) = comparing.image_of_selecting(exchange, selecting, &messages);
                if self.offer(why, image, messages, comparing) {
                    changed.insert(image);
                    waiting.push(image);
                }
            }
        }
        for selecting in changed {
            let messages = &self.offered[why as usize][&selecting];
            for exchange in 0..comparing.images.count() {
                let (image, renamed) = comparing.image_of_selecting(exchange, selecting, messages);
                let messages: Vec<MessageId> = messages.iter().copied().collect();
                let here = comparing.selected(selecting, &messages);
                let there = comparing.selected(image, &renamed);
                if !agree(&here, &there) {
                    let (process, _, transition) = selecting;
                    let name = comparing.transition(process, transition);
                    let what = format!("the selection of '{name}' of");
                    return Some(comparing.difference(exchange, &what, process));
                }
            }
        }
        None
    }

    /// Compares a restart with its images, and these with theirs.
    fn compare_restarts(
        &mut self,
        start: (usize, LocalId),
        comparing: &mut Comparing<'_, '_>,
    ) -> Option<String> {
        let mut waiting = vec![start];
        while let Some((process, local)) = waiting.pop() {
            if !self.restarts.insert((process, local)) {
                continue;
            }
            let after = comparing.restarted(process, local);
            for exchange in 0..comparing.images.count() {
                let image = comparing.local(exchange, process, local);
                let there = comparing.images.place(exchange, process);
                let expected = after.map(|after| comparing.local(exchange, process, after));
                if comparing.restarted(there, image) != expected {
                    return Some(comparing.difference(exchange, "the restart of", process));
                }
                waiting.push((there, image));
            }
        }
        None
    }
}

/// Is what a selection says the same, message by message? Which go together matters, not how they are numbered.
fn agree(here: &[Selected], there: &[Selected]) -> bool {
    let (mut to, mut from) = (BTreeMap::new(), BTreeMap::new());
    here.iter().zip(there).all(|pair| match pair {
        (Selected::With(one), Selected::With(other)) => {
            *to.entry(*one).or_insert(*other) == *other && *from.entry(*other).or_insert(*one) == *one
        }
        (one, other) => one == other,
    })
}

impl Comparing<'_, '_> {
    /// What was asked of a process since the last time.
    fn questions(&mut self, process: usize, why: Why) -> Option<AskedSoFar> {
        let Questions { met, considered, .. } = self.states_of[process].graph.questions.as_mut()?;
        Some(std::mem::take(if why == Why::Met { met } else { considered }))
    }

    fn trigger(&self, process: usize, transition: usize) -> &Trigger {
        let model: &Model = self.ask.model;
        model.process(ProcessId::new(process)).transitions()[transition].trigger()
    }

    fn transition(&self, process: usize, transition: usize) -> String {
        let process = self.ask.model.process(ProcessId::new(process));
        process.transitions()[transition].name().to_string()
    }

    fn local(&mut self, exchange: usize, process: usize, local: LocalId) -> LocalId {
        self.images.local(exchange, process, local, self.states_of, self.ask)
    }

    /// What a handler is given for the process that takes another's place.
    fn image(&mut self, exchange: usize, process: usize, input: &HandlerInput) -> HandlerInput {
        let (local, transition, consumed) = input;
        let local = self.local(exchange, process, *local);
        let mut consumed: Vec<MessageId> =
            consumed.iter().map(|message| self.images.message(exchange, *message, self.ask)).collect();
        consumed.sort_by(|a, b| self.ask.mail.content_order(*a, *b));
        (local, *transition, consumed)
    }

    /// A transition that selects, and its messages in the same order, for the process that takes another's place.
    fn image_of_selecting(
        &mut self,
        exchange: usize,
        (process, local, transition): Selecting,
        messages: &BTreeSet<MessageId>,
    ) -> (Selecting, Vec<MessageId>) {
        let local = self.local(exchange, process, local);
        let messages = messages.iter().map(|message| self.images.message(exchange, *message, self.ask));
        let messages = messages.collect();
        ((self.images.place(exchange, process), local, transition), messages)
    }

    /// What a handler can do; nothing at all if its guard forbids it.
    fn outcomes(&mut self, process: usize, input: &HandlerInput) -> Outcomes {
        let answer = self.states_of[process].graph.answer(input.clone(), self.ask);
        let outcome = |step: &LocalStep| match step {
            LocalStep::Done { local, sends, .. } => Some((*local, *sends)),
            LocalStep::Panicked { .. } => None,
        };
        answer.iter().flat_map(|steps| steps.iter()).map(outcome).collect()
    }

    fn image_of_outcomes(&mut self, exchange: usize, process: usize, input: &HandlerInput) -> Outcomes {
        let outcomes = self.outcomes(process, input);
        let image = |outcome: Option<(LocalId, SendListId)>| {
            let (local, sends) = outcome?;
            Some((self.local(exchange, process, local), self.images.sends(exchange, sends, self.ask)))
        };
        outcomes.into_iter().map(image).collect()
    }

    fn restarted(&mut self, process: usize, local: LocalId) -> Option<LocalId> {
        self.states_of[process].graph.restarted(local, self.ask)
    }

    /// What a selection says of these messages.
    fn selected(&mut self, (process, local, transition): Selecting, messages: &[MessageId]) -> Vec<Selected> {
        let quorum = matches!(self.trigger(process, transition), Trigger::Quorum(_));
        let state = self.states_of[process].graph.local_value(local).clone();
        let of = Asked { process: ProcessId::new(process), transition, state: &state };
        let envelopes: Vec<Envelope> =
            messages.iter().map(|message| self.ask.mail.envelope(*message).clone()).collect();
        let all: Vec<&Envelope> = envelopes.iter().collect();
        let said = |key: &Option<usize>| match key {
            Some(key) => Selected::With(if quorum { *key } else { 0 }),
            None => Selected::No,
        };
        let handlers = &mut self.ask.handlers;
        if let Ok(keys) = handlers.select(of, &all) {
            return keys.iter().map(said).collect();
        }
        let alone = |message: &&Envelope| handlers.select(of, &[message]).is_ok();
        let fine: Vec<bool> = all.iter().map(alone).collect();
        let good: Vec<&Envelope> =
            all.iter().zip(&fine).filter(|(_, fine)| **fine).map(|(message, _)| *message).collect();
        let Ok(keys) = handlers.select(of, &good) else { return vec![Selected::Panics; all.len()] };
        let mut keys = keys.iter().map(said);
        let of = |fine: &bool| if *fine { keys.next() } else { None };
        fine.iter().map(of).map(|said| said.unwrap_or(Selected::Panics)).collect()
    }

    fn difference(&self, exchange: usize, what: &str, process: usize) -> String {
        let model = self.ask.model;
        let moved = model.ids().filter(|id| self.images.ids(exchange).of(*id) != *id);
        let exchanged: Vec<&str> = moved.map(|id| model.process(id).name()).collect();
        format!(
            "{what} {} does not treat {} alike",
            model.process(ProcessId::new(process)).name(),
            exchanged.join(" and "),
        )
    }
}
