//! Messages by number, and what a transition can consume of them.

use std::collections::HashMap;
use std::slice;

use quorate::ProcessId;
use quorate::model::{Asked, Consumptions, Envelope, Handlers, Trigger, consumptions};

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
        handlers: &mut Handlers<'_>,
        of: Asked<'_>,
        sent: &[MessageId],
        new: Option<MessageId>,
    ) -> Vec<Vec<MessageId>> {
        let trigger = handlers.model().process(of.process).transitions()[of.transition].trigger();
        let sent = match (trigger, &new) {
            (Trigger::Internal, Some(_)) => return Vec::new(),
            (Trigger::Message(_), Some(new)) => slice::from_ref(new),
            _ => sent,
        };
        // Quorums are found by sender, and then in the order in which their messages were first sent.
        let mut offers: Vec<usize> = (0..sent.len()).collect();
        let place = |at: &usize| (self.envelope(sent[*at]).from, *at);
        let by_sender = matches!(trigger, Trigger::Quorum(_));
        if by_sender {
            offers.sort_by_key(place);
        }
        let envelope = |at: usize| self.envelope(sent[at]);
        let Consumptions { mut sets, panicking } = consumptions(of, &offers, handlers, envelope, |_| true);
        if by_sender {
            sets.sort_by_cached_key(|set| set.iter().map(place).collect::<Vec<_>>());
        }
        let panicking = panicking.into_iter().map(|set| (set, true));
        let mut found: Vec<Vec<MessageId>> = Vec::new();
        for (set, panics) in panicking.chain(sets.into_iter().map(|set| (set, false))) {
            let consumed: Vec<MessageId> = set.into_iter().map(|at| sent[at]).collect();
            let wanted = new.is_none_or(|new| consumed.contains(&new));
            if wanted && (panics || handlers.guard(of, &self.envelopes(&consumed)) != Ok(false)) {
                found.push(consumed);
            }
        }
        found
    }
}
