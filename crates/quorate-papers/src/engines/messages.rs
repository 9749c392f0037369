//! Messages by number, and what a transition can consume of them.

use std::collections::HashMap;

use quorate::ProcessId;
use quorate::engine::bounded::quorums_among;
use quorate::model::{Envelope, Model, Trigger, Value};

pub(super) type MessageId = usize;

/// Every message that was ever sent.
#[derive(Default)]
pub(super) struct Messages {
    all: Vec<Envelope>,
    numbers: HashMap<(ProcessId, Envelope), MessageId>,
}

impl Messages {
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn envelope(&self, message: MessageId) -> &Envelope {
        &self.all[message]
    }

    /// The number of a message, and whether it was never sent before.
    pub(super) fn number(&mut self, to: ProcessId, envelope: Envelope) -> (MessageId, bool) {
        let new = self.all.len();
        let number = *self.numbers.entry((to, envelope)).or_insert_with_key(|(_, envelope)| {
            self.all.push(envelope.clone());
            new
        });
        (number, number == new)
    }

    pub(super) fn envelopes(&self, messages: &[MessageId]) -> Vec<&Envelope> {
        messages.iter().map(|message| self.envelope(*message)).collect()
    }

    /// What a transition can consume in a local state, of these messages; with `new` only what contains it.
    pub(super) fn consumptions(
        &self,
        model: &Model,
        (process, transition): (ProcessId, usize),
        state: &Value,
        sent: &[MessageId],
        new: Option<MessageId>,
    ) -> Vec<Vec<MessageId>> {
        let mut sets: Vec<Vec<MessageId>> = Vec::new();
        match model.process(process).transitions()[transition].trigger() {
            Trigger::Internal => sets.extend(new.is_none().then(Vec::new)),
            Trigger::Message(_) => match new {
                Some(message) => sets.push(vec![message]),
                None => sets.extend(sent.iter().map(|message| vec![*message])),
            },
            Trigger::Quorum(quorums) => {
                let mut selected: Vec<MessageId> = Vec::new();
                for message in sent {
                    match model.keys(process, transition, state, &[self.envelope(*message)]) {
                        Ok(key) => selected.extend(key[0].map(|_| *message)),
                        // A selection that panics on a message does so as soon as the message is there.
                        Err(_) => sets.push(vec![*message]),
                    }
                }
                selected.sort_by_key(|message| self.envelope(*message).from);
                quorums_among(&selected, quorums, |message| self.envelope(*message).from, &mut sets);
            }
        }
        sets.retain(|set| {
            new.is_none_or(|new| set.contains(&new))
                && model.accepts(process, transition, state, &self.envelopes(set)).unwrap_or(true)
        });
        sets
    }
}
