//! The local graph of one process: its local states, inboxes and configurations, and its memoized steps.
//!
//! From: ALGORITHMS 2. This is the only place where handlers run during exploration, and each runs once
//! for a local state, the messages it consumes and the choices it makes.
//! Invariant: numbers name values one to one; inboxes are sorted by message number, so that equal bags
//! have one number.
//! Held by: testkit/tests/agreement.rs (local steps and handler calls equal the naive checker's).

use std::collections::HashMap;
use std::sync::Arc;

use super::Tools;
use super::mail::{Mail, MessageId, SendsId};
use super::table::Interner;
use crate::protocol::{Envelope, Model, Outcome, Panicked, ProcessId, QuorumSystem, Trigger, Value};

pub(super) type LocalId = u32;
pub(super) type ConfigurationId = u32;

/// A bag of messages: each with how often it is there, sorted.
pub(super) type Bag = Vec<(MessageId, u32)>;

/// What a transition consumes from an inbox, and what may come of it.
type Occasion = (LocalId, usize, Vec<MessageId>);

/// One outcome of a local step.
#[derive(Clone)]
pub(super) enum LocalStep {
    Done { local: LocalId, sends: SendsId, choices: Vec<usize> },
    Panicked { choices: Vec<usize> },
}

/// One process with everything known about it.
pub(super) struct ProcessGraph {
    id: ProcessId,
    locals: Interner<Value>,
    inboxes: Interner<Arc<Bag>>,
    /// Entries of all inboxes together.
    bag_entries: usize,
    configurations: Interner<(LocalId, u32)>,
    outcomes: HashMap<Occasion, Option<Arc<[LocalStep]>>>,
    pub(super) local_steps: u64,
    pub(super) handler_calls: u64,
}

/// A step of a configuration, with everything that names it.
pub(super) struct ConfigurationStep {
    pub(super) transition: usize,
    pub(super) consumed: Vec<MessageId>,
    pub(super) choices: Vec<usize>,
    /// Where it leads; `None` if it panics.
    pub(super) leads: Option<(ConfigurationId, SendsId)>,
}

impl ProcessGraph {
    pub(super) fn new(model: &Model, id: ProcessId) -> Self {
        let mut graph = ProcessGraph {
            id,
            locals: Interner::default(),
            inboxes: Interner::default(),
            bag_entries: 0,
            configurations: Interner::default(),
            outcomes: HashMap::new(),
            local_steps: 0,
            handler_calls: 0,
        };
        let local = graph.locals.number(model.process(id).initial().clone());
        let inbox = graph.inboxes.number(Arc::default());
        graph.configurations.number((local, inbox));
        graph
    }

    /// How many configurations are known.
    pub(super) fn size(&self) -> usize {
        self.configurations.len()
    }

    /// The local state of a configuration.
    pub(super) fn local(&self, configuration: ConfigurationId) -> LocalId {
        self.configurations.value(configuration).0
    }

    pub(super) fn local_value(&self, local: LocalId) -> &Value {
        self.locals.value(local)
    }

    pub(super) fn bytes(&self) -> u64 {
        self.locals.bytes()
            + self.inboxes.bytes()
            + self.configurations.bytes()
            + (self.bag_entries * size_of::<(MessageId, u32)>() + self.outcomes.capacity() * 96) as u64
    }

    /// The configuration after these messages have arrived, all of them for this process.
    pub(super) fn arrive(
        &mut self,
        configuration: ConfigurationId,
        sends: SendsId,
        mail: &Mail,
    ) -> ConfigurationId {
        let (local, inbox) = *self.configurations.value(configuration);
        let mut bag = (**self.inboxes.value(inbox)).clone();
        for &message in mail.messages_of(sends) {
            put(&mut bag, message);
        }
        self.configuration(local, bag)
    }

    fn configuration(&mut self, local: LocalId, bag: Bag) -> ConfigurationId {
        let (known, entries) = (self.inboxes.len(), bag.len());
        let inbox = self.inboxes.number(Arc::new(bag));
        if self.inboxes.len() > known {
            self.bag_entries += entries;
        }
        self.configurations.number((local, inbox))
    }

    /// Every step of a configuration: by transition, then by what it consumes in the order of contents,
    /// then by choices.
    pub(super) fn steps(
        &mut self,
        configuration: ConfigurationId,
        tools: &mut Tools<'_, '_>,
    ) -> Vec<ConfigurationStep> {
        let (local, inbox) = *self.configurations.value(configuration);
        let bag = Arc::clone(self.inboxes.value(inbox));
        let mut steps = Vec::new();
        for transition in 0..tools.model.process(self.id).transitions().len() {
            let Ok(consumptions) = self.consumptions(local, &bag, transition, tools) else {
                steps.extend(self.panicking_selections(local, &bag, transition, tools));
                continue;
            };
            for consumed in consumptions {
                let Some(outcomes) = self.outcomes(local, transition, &consumed, tools) else { continue };
                for outcome in outcomes.iter() {
                    let (choices, leads) = match outcome {
                        LocalStep::Panicked { choices } => (choices, None),
                        LocalStep::Done { local, sends, choices } => {
                            (choices, Some(self.after(*local, &bag, &consumed, *sends, tools.mail)))
                        }
                    };
                    let (choices, consumed) = (choices.clone(), consumed.clone());
                    steps.push(ConfigurationStep { transition, consumed, choices, leads });
                }
            }
        }
        steps
    }

    /// The configuration after a step, and what leaves the process. What it sends itself has arrived.
    fn after(
        &mut self,
        local: LocalId,
        bag: &Bag,
        consumed: &[MessageId],
        sends: SendsId,
        mail: &mut Mail,
    ) -> (ConfigurationId, SendsId) {
        let mut bag = bag.clone();
        for &message in consumed {
            take(&mut bag, message);
        }
        let (to_itself, outside) = mail.split_own(sends, self.id);
        for &message in mail.messages_of(to_itself) {
            put(&mut bag, message);
        }
        (self.configuration(local, bag), outside)
    }

    /// What a transition may consume from a bag, before its guard is asked, in the order of contents.
    fn consumptions(
        &self,
        local: LocalId,
        bag: &Bag,
        transition: usize,
        tools: &Tools<'_, '_>,
    ) -> Result<Vec<Vec<MessageId>>, Panicked> {
        let (model, mail) = (tools.model, &*tools.mail);
        let trigger = model.process(self.id).transitions()[transition].trigger();
        if *trigger == Trigger::Internal {
            return Ok(vec![Vec::new()]);
        }
        let mut messages = heard(bag, trigger, mail);
        messages.sort_by(|a, b| mail.content_order(*a, *b));
        let envelopes: Vec<&Envelope> = messages.iter().map(|message| mail.envelope(*message)).collect();
        let keys = model.keys(self.id, transition, self.locals.value(local), &envelopes)?;
        let candidates = |group: Option<usize>| {
            let wanted = move |key: &Option<usize>| key.is_some() && (group.is_none() || *key == group);
            messages.iter().zip(&keys).filter(move |(_, key)| wanted(key)).map(|(message, _)| *message)
        };
        Ok(match trigger {
            Trigger::Internal => unreachable!("answered above"),
            Trigger::Message(_) => candidates(None).map(|message| vec![message]).collect(),
            Trigger::Quorum(quorums) => {
                let groups = keys.iter().flatten().max().map_or(0, |last| last + 1);
                let mut found = Vec::new();
                for group in 0..groups {
                    let members: Vec<MessageId> = candidates(Some(group)).collect();
                    quorums_among(&members, quorums, mail, &mut found);
                }
                found
            }
        })
    }

    /// The messages on which the selection of a transition panics, as panicking steps that consume them; all
    /// of them together if it panics on none alone.
    fn panicking_selections(
        &self,
        local: LocalId,
        bag: &Bag,
        transition: usize,
        tools: &Tools<'_, '_>,
    ) -> Vec<ConfigurationStep> {
        let (model, mail) = (tools.model, &*tools.mail);
        let panics = |message: &MessageId| {
            model.keys(self.id, transition, self.locals.value(local), &[mail.envelope(*message)]).is_err()
        };
        let mut messages = heard(bag, model.process(self.id).transitions()[transition].trigger(), mail);
        messages.sort_by(|a, b| mail.content_order(*a, *b));
        let alone: Vec<Vec<MessageId>> =
            messages.iter().filter(|message| panics(message)).map(|message| vec![*message]).collect();
        let panicking = if alone.is_empty() { vec![messages] } else { alone };
        let step = |consumed| ConfigurationStep { transition, consumed, choices: Vec::new(), leads: None };
        panicking.into_iter().map(step).collect()
    }

    /// The outcomes of a transition on these messages; `None` if its guard forbids it.
    fn outcomes(
        &mut self,
        local: LocalId,
        transition: usize,
        consumed: &[MessageId],
        tools: &mut Tools<'_, '_>,
    ) -> Option<Arc<[LocalStep]>> {
        let occasion = (local, transition, consumed.to_vec());
        if let Some(known) = self.outcomes.get(&occasion) {
            return known.clone();
        }
        let state = self.locals.value(local).clone();
        let envelopes: Vec<Envelope> =
            consumed.iter().map(|message| tools.mail.envelope(*message).clone()).collect();
        let envelopes: Vec<&Envelope> = envelopes.iter().collect();
        let guard = tools.model.guard(self.id, transition, &state, &envelopes);
        let outcomes = match guard {
            Ok(false) => None,
            Err(panicked) => Some(vec![Err(panicked)]),
            Ok(true) => {
                let outcomes = tools.model.run(self.id, transition, &state, &envelopes);
                self.handler_calls += outcomes.len() as u64;
                tools.purity.consider(tools.model, self.id, transition, &state, &envelopes, &outcomes);
                Some(outcomes)
            }
        };
        let steps: Option<Arc<[LocalStep]>> = outcomes.map(|outcomes| {
            outcomes
                .into_iter()
                .map(|outcome| self.local_step(outcome, tools.mail))
                .collect::<Vec<_>>()
                .into()
        });
        self.outcomes.insert(occasion, steps.clone());
        steps
    }

    fn local_step(&mut self, outcome: Result<Outcome, Panicked>, mail: &mut Mail) -> LocalStep {
        let indices =
            |choices: &[crate::protocol::Choice]| choices.iter().map(|choice| choice.index).collect();
        match outcome {
            Ok(Outcome { choices, state, sends, .. }) => {
                self.local_steps += 1;
                let local = self.locals.number(state);
                LocalStep::Done { local, sends: mail.send(self.id, &sends), choices: indices(&choices) }
            }
            Err(Panicked { choices, .. }) => LocalStep::Panicked { choices: indices(&choices) },
        }
    }
}

/// Every way to fill a quorum with one message from each of its senders.
fn quorums_among(
    messages: &[MessageId],
    quorums: &QuorumSystem,
    mail: &Mail,
    found: &mut Vec<Vec<MessageId>>,
) {
    let mut by_sender: Vec<(ProcessId, Vec<MessageId>)> = Vec::new();
    for &message in messages {
        let from = mail.envelope(message).from;
        match by_sender.last_mut() {
            Some((sender, theirs)) if *sender == from => theirs.push(message),
            _ => by_sender.push((from, vec![message])),
        }
    }
    match quorums {
        QuorumSystem::Size { size, .. } => combine(&by_sender, *size, &mut Vec::new(), found),
        QuorumSystem::Listed(listed) => {
            for quorum in listed {
                let present: Vec<_> =
                    by_sender.iter().filter(|(sender, _)| quorum.contains(sender)).cloned().collect();
                if present.len() == quorum.len() {
                    combine(&present, quorum.len(), &mut Vec::new(), found);
                }
            }
        }
    }
}

/// Every choice of `size` senders and one message of each.
fn combine(
    senders: &[(ProcessId, Vec<MessageId>)],
    size: usize,
    chosen: &mut Vec<MessageId>,
    found: &mut Vec<Vec<MessageId>>,
) {
    if size == 0 {
        found.push(chosen.clone());
        return;
    }
    for at in 0..senders.len().saturating_sub(size - 1) {
        for &message in &senders[at].1 {
            chosen.push(message);
            combine(&senders[at + 1..], size - 1, chosen, found);
            chosen.pop();
        }
    }
}

/// The distinct messages of a bag from senders that a trigger listens to.
fn heard(bag: &Bag, trigger: &Trigger, mail: &Mail) -> Vec<MessageId> {
    let messages = bag.iter().map(|(message, _)| *message);
    messages.filter(|message| trigger.listens_to(mail.envelope(*message).from)).collect()
}

fn put(bag: &mut Bag, message: MessageId) {
    match bag.binary_search_by_key(&message, |(other, _)| *other) {
        Ok(at) => bag[at].1 += 1,
        Err(at) => bag.insert(at, (message, 1)),
    }
}

fn take(bag: &mut Bag, message: MessageId) {
    let at = bag.binary_search_by_key(&message, |(other, _)| *other).expect("only what is there is consumed");
    if bag[at].1 == 1 {
        bag.remove(at);
    } else {
        bag[at].1 -= 1;
    }
}
