//! What exchanging two neighbours makes of local states, messages and lists of messages, as numbers.
//!
//! From: docs/theory/symmetry.md 4. An exchange that is done twice changes nothing: that is checked of every value, since
//! how ids are renamed inside it is the user's code.
//! Held by: testkit/tests/declarations.rs.

use std::collections::{HashMap, HashSet};

use super::beliefs::ProcessStates;
use crate::base::{ProcessId, Renaming, heed};
use crate::kernel::process::{AskContext, LocalId, MessageId, SendListId};
use crate::model::Model;

const UNKNOWN: u32 = u32::MAX;

/// What each exchange of two neighbours makes of what is known of the processes.
pub(in crate::kernel) struct Images {
    exchanges: Vec<Exchange>,
    /// How many permutations there are.
    order: usize,
    /// How many images a value may have.
    most: usize,
    /// There are values with more.
    too_many: bool,
    /// A value for which renaming is no permutation of ids.
    not_undone: Option<String>,
}

/// Two neighbours in a group of interchangeable processes change places.
struct Exchange {
    ids: Renaming,
    /// For each process, what becomes of its local states.
    locals: Vec<Vec<LocalId>>,
    messages: Vec<MessageId>,
    sends: HashMap<SendListId, SendListId>,
}

impl Images {
    /// Of the interchangeable processes of a model; of none if they are not to be exchanged.
    pub(in crate::kernel) fn new(model: &Model, symmetric: bool, most: usize) -> Self {
        let generators = if symmetric { model.symmetry().generators() } else { Vec::new() };
        let exchange = |ids| Exchange {
            ids,
            locals: vec![Vec::new(); model.processes().len() + model.monitors().len()],
            messages: Vec::new(),
            sends: HashMap::new(),
        };
        let sizes = model.symmetry().groups().iter().flat_map(|group| 1..=group.len());
        let order = sizes.fold(1, usize::saturating_mul);
        let exchanges = generators.into_iter().map(exchange).collect();
        Images { exchanges, order, most, too_many: false, not_undone: None }
    }

    /// How many exchanges there are. All permutations are made of them.
    pub(in crate::kernel) fn count(&self) -> usize {
        self.exchanges.len()
    }

    /// How ids are renamed by an exchange.
    pub(in crate::kernel) fn ids(&self, exchange: usize) -> &Renaming {
        &self.exchanges[exchange].ids
    }

    /// Which process takes the place of another in an exchange.
    pub(in crate::kernel) fn place(&self, exchange: usize, process: usize) -> usize {
        self.exchanges[exchange].ids.of(ProcessId::new(process)).index()
    }

    /// A value for which renaming is no permutation of ids: what it is, and how it looks.
    pub(in crate::kernel) fn not_undone(&self) -> Option<&str> {
        self.not_undone.as_deref()
    }

    /// Are there values with more images than anybody can wait for?
    pub(in crate::kernel) fn are_too_many(&self) -> bool {
        self.too_many
    }

    /// Are images not what they should be? Then nothing may stand for anything.
    pub(in crate::kernel) fn mean_nothing(&self) -> bool {
        self.too_many || self.not_undone.is_some()
    }

    /// Notes that a value has so many images. Is that more than it may have?
    pub(in crate::kernel) fn exceed(&mut self, images: usize) -> bool {
        self.too_many |= images > self.most;
        images > self.most
    }

    /// A local state of a process as one of the process that takes its place.
    pub(in crate::kernel) fn local(
        &mut self,
        exchange: usize,
        process: usize,
        local: LocalId,
        states_of: &mut [ProcessStates],
        ask: &AskContext<'_>,
    ) -> LocalId {
        if known(&self.exchanges[exchange].locals[process], local).is_none() {
            self.learn_local((process, local), states_of, ask);
        }
        self.exchanges[exchange].locals[process][local as usize]
    }

    /// Finds all images of a local state. If these are too many, it is its own image: whatever is found then means
    /// nothing.
    fn learn_local(
        &mut self,
        start: (usize, LocalId),
        states_of: &mut [ProcessStates],
        ask: &AskContext<'_>,
    ) {
        let symmetry = ask.model.symmetry();
        let (mut orbit, mut found, mut at) = (vec![start], HashSet::from([start]), 0);
        while at < orbit.len() {
            heed();
            let (process, local) = orbit[at];
            let value = states_of[process].graph.local_value(local).clone();
            for exchange in 0..self.exchanges.len() {
                let to = self.place(exchange, process);
                let ids = &self.exchanges[exchange].ids;
                let mut image = symmetry.rename_state(&value, ids);
                let undone = symmetry.rename_state(&image, ids) == value;
                let what = || format!("a local state of {}: {value:?}", name(ask.model, process));
                if self.cannot_rename(undone, orbit.len(), what) {
                    image = value.clone();
                }
                let image = states_of[to].graph.number_local(image);
                remember(&mut self.exchanges[exchange].locals[process], local, image);
                if found.insert((to, image)) {
                    orbit.push((to, image));
                }
            }
            at += 1;
        }
    }

    /// Is renaming a value no permutation of ids, because it is not undone by renaming back or has too many images?
    fn cannot_rename(&mut self, undone: bool, images: usize, what: impl Fn() -> String) -> bool {
        if self.not_undone.is_none() && (!undone || images > self.order) {
            self.not_undone = Some(what());
        }
        self.exceed(images) || self.not_undone.is_some()
    }

    /// A message with its sender, its receiver and what it says renamed.
    pub(in crate::kernel) fn message(
        &mut self,
        exchange: usize,
        message: MessageId,
        ask: &mut AskContext<'_>,
    ) -> MessageId {
        if known(&self.exchanges[exchange].messages, message).is_none() {
            self.learn_message(message, ask);
        }
        self.exchanges[exchange].messages[message as usize]
    }

    /// Finds all images of a message, as of a local state.
    fn learn_message(&mut self, start: MessageId, ask: &mut AskContext<'_>) {
        let (symmetry, mail) = (ask.model.symmetry(), &mut ask.mail);
        let (mut orbit, mut found, mut at) = (vec![start], HashSet::from([start]), 0);
        while at < orbit.len() {
            heed();
            let message = orbit[at];
            let (envelope, receiver) = (mail.envelope(message).clone(), mail.receiver(message));
            for exchange in 0..self.exchanges.len() {
                let ids = &self.exchanges[exchange].ids;
                let to = ids.of(receiver);
                let mut image = symmetry.rename_envelope(&envelope, ids);
                let undone = symmetry.rename_envelope(&image, ids) == envelope;
                let what = || format!("a message: {:?}", envelope.body);
                if self.cannot_rename(undone, orbit.len(), what) {
                    image = envelope.clone();
                }
                let image = mail.number(to, image);
                remember(&mut self.exchanges[exchange].messages, message, image);
                if found.insert(image) {
                    orbit.push(image);
                }
            }
            at += 1;
        }
    }

    /// Messages that are sent together, renamed.
    pub(in crate::kernel) fn sends(
        &mut self,
        exchange: usize,
        sends: SendListId,
        ask: &mut AskContext<'_>,
    ) -> SendListId {
        if let Some(known) = self.exchanges[exchange].sends.get(&sends) {
            return *known;
        }
        let messages = ask.mail.messages_of(sends).to_vec();
        let images = messages.into_iter().map(|message| self.message(exchange, message, ask)).collect();
        let image = ask.mail.together(images);
        self.exchanges[exchange].sends.insert(sends, image);
        image
    }
}

fn known(images: &[u32], number: u32) -> Option<u32> {
    images.get(number as usize).copied().filter(|image| *image != UNKNOWN)
}

fn remember(images: &mut Vec<u32>, number: u32, image: u32) {
    let at = number as usize;
    if images.len() <= at {
        images.resize(at + 1, UNKNOWN);
    }
    images[at] = image;
}

fn name(model: &Model, process: usize) -> &str {
    model.process(ProcessId::new(process)).name()
}
