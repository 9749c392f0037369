//! What a process could do with messages that it may not have: the questions that reductions and the local closure
//! ask. Nothing here changes a configuration.
//!
//! Handlers run on messages that may never reach them: a panic is an answer like any other, not a violation.

use std::sync::Arc;

use super::context::AskContext;
use super::graph::ProcessGraph;
use super::mail::{InboxEntry, MessageId};
use super::values::{ConfigurationId, LocalId, LocalStep, Offer};
use crate::model::{Consumptions, Transition, Trigger};
use crate::world::{Inbox, InboxItem, World};

/// A transition of a local state on some messages, with everything that it can do.
#[derive(Clone)]
pub(in crate::kernel) struct Possibility {
    pub(in crate::kernel) transition: usize,
    pub(in crate::kernel) consumed: Vec<MessageId>,
    pub(in crate::kernel) outcomes: Arc<[LocalStep]>,
}

/// A selection panics on several messages together, and on none of them alone: what the local state can do with
/// fewer is not known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::kernel) struct PanicsTogether;

impl ProcessGraph {
    /// What a configuration could consume if it had these messages besides its own: for each way, those that it lacks.
    /// Panics count as steps, though such messages may never reach the handler.
    pub(in crate::kernel) fn missing(
        &mut self,
        configuration: ConfigurationId,
        besides: &[MessageId],
        ask: &mut AskContext<'_>,
    ) -> Vec<(usize, Vec<MessageId>)> {
        let (local, past, inbox) = self.parts(configuration);
        if past.crashed {
            return Vec::new();
        }
        // What is on offer now, and what could be: of senders that keep an order, only what would come first.
        let channel = ask.model.world().channel;
        let offered = inbox.offers(channel).into_iter().map(|position| inbox.waiting[position]);
        let mut waiting: Vec<InboxEntry> = offered.collect();
        let own = waiting.len();
        for &message in besides {
            let entry = ask.mail.entry(message);
            let live = self.keeps(local, message, ask);
            let behind = channel.takes_first_of_sender()
                && waiting[..own].iter().any(|other| other.from() == entry.from());
            if live && !behind && !waiting[..own].contains(&entry) {
                waiting.push(entry);
            }
        }
        let (open, inbox) = (World::default(), Inbox { waiting, ..Inbox::default() });
        let offers = self.offers(&inbox, open.channel, ask);
        let mut missing = Vec::new();
        for transition in 0..ask.model.process(self.id).transitions().len() {
            self.consider(local, transition, &offers);
            let Consumptions { sets, panicking } =
                self.consumptions(local, &inbox, &open, transition, &offers, ask);
            if !panicking.is_empty() {
                let all = inbox.waiting[own..].iter();
                missing.extend(all.map(|entry| (transition, vec![entry.message])));
                continue;
            }
            for consumed in sets {
                let lacks = |offer: &Offer| offer.position.is_some_and(|position| position >= own);
                let absent: Vec<MessageId> =
                    consumed.iter().filter(|offer| lacks(offer)).map(|offer| offer.message).collect();
                let Some(outcomes) = self.outcomes(local, transition, &consumed, ask) else { continue };
                let idle =
                    self.leaves_out_idle_steps && !outcomes.iter().any(|outcome| outcome.changes(local));
                if !absent.is_empty() && !idle {
                    missing.push((transition, absent));
                }
            }
        }
        missing.sort_unstable();
        missing.dedup();
        missing
    }

    /// May whatever comes to a configuration be lost or doubled, in a step that was not there before?
    pub(in crate::kernel) fn may_lose_or_double(
        &self,
        configuration: ConfigurationId,
        ask: &AskContext<'_>,
    ) -> bool {
        let (_, past, _) = *self.configurations.value(configuration);
        !past.crashed && ask.model.world().touches_messages(past)
    }

    /// Does some transition consume several messages together?
    pub(super) fn waits_for_quorums(&self, ask: &AskContext<'_>) -> bool {
        let mut transitions = ask.model.process(self.id).transitions().iter();
        transitions.any(|transition| matches!(transition.trigger(), Trigger::Quorum(_)))
    }

    /// A reduction asks what a transition would select of these messages.
    fn consider(&mut self, local: LocalId, transition: usize, offers: &[Offer]) {
        if let Some(questions) = &mut self.questions {
            questions.considered.offer(local, transition, offers);
        }
    }

    /// Those of some messages that make a difference in a local state: which some transition consumes, alone or with
    /// others of them, and then changes the state, sends or panics.
    pub(super) fn effective(
        &mut self,
        local: LocalId,
        known: &[MessageId],
        ask: &mut AskContext<'_>,
    ) -> Vec<MessageId> {
        let waiting = known.iter().map(|message| ask.mail.entry(*message)).collect();
        let (open, inbox) = (World::default(), Inbox { waiting, ..Inbox::default() });
        let offers = self.offers(&inbox, open.channel, ask);
        let mut effective = Vec::new();
        for transition in 0..ask.model.process(self.id).transitions().len() {
            self.consider(local, transition, &offers);
            let Consumptions { sets, panicking } =
                self.consumptions(local, &inbox, &open, transition, &offers, ask);
            if !panicking.is_empty() {
                return known.to_vec();
            }
            for consumed in sets {
                let Some(outcomes) = self.outcomes(local, transition, &consumed, ask) else { continue };
                if outcomes.iter().any(|outcome| outcome.changes(local))
                    || !self.leaves_out_idle_steps && consumed.len() > 1
                {
                    effective.extend(consumed.iter().map(|offer| offer.message));
                }
            }
        }
        effective
    }

    /// Everything that a local state can do with some of these messages, each there once; if some were asked about
    /// before, then only what consumes one of the others.
    pub(in crate::kernel) fn possibilities(
        &mut self,
        local: LocalId,
        messages: &[MessageId],
        before: Option<usize>,
        ask: &mut AskContext<'_>,
    ) -> Result<Vec<Possibility>, PanicsTogether> {
        let mut found = Vec::new();
        // Whatever the channels are like, here every message can be taken.
        let (old, open) = (before.unwrap_or(0), World::default());
        let waits_for_quorums = self.waits_for_quorums(ask);
        let transitions = ask.model.process(self.id).transitions();
        let mut on_offer = |first: usize| {
            let waiting = messages[first..].iter().map(|message| ask.mail.entry(*message)).collect();
            let inbox = Inbox { waiting, ..Inbox::default() };
            let offers = self.offers(&inbox, open.channel, ask);
            (first, inbox, offers)
        };
        let new = on_offer(old);
        let all = waits_for_quorums.then(|| on_offer(0));
        for (transition, trigger) in transitions.iter().map(Transition::trigger).enumerate() {
            let (first, inbox, offers) = match trigger {
                Trigger::Internal if before.is_some() => continue,
                Trigger::Internal | Trigger::Message(_) => &new,
                Trigger::Quorum(_) => all.as_ref().unwrap_or(&new),
            };
            let is_new = |offer: &Offer| offer.position.is_some_and(|position| first + position >= old);
            let Consumptions { sets, panicking } =
                self.consumptions(local, inbox, &open, transition, offers, ask);
            if panicking.iter().any(|alone| alone.len() != 1) {
                return Err(PanicsTogether);
            }
            let bare = |consumed: Vec<Offer>| consumed.iter().map(|offer| offer.message).collect();
            let panics: Arc<[LocalStep]> = Arc::new([LocalStep::Panicked { choices: Vec::new() }]);
            found.extend(panicking.into_iter().map(|consumed| Possibility {
                transition,
                consumed: bare(consumed),
                outcomes: Arc::clone(&panics),
            }));
            for consumed in sets {
                if before.is_some() && !consumed.iter().any(is_new) {
                    continue;
                }
                let Some(outcomes) = self.outcomes(local, transition, &consumed, ask) else { continue };
                found.push(Possibility { transition, consumed: bare(consumed), outcomes });
            }
        }
        Ok(found)
    }
}
