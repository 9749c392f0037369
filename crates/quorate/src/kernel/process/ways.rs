//! What a local state can consume, as bits: the steps of a configuration without looking at messages one by one.
//!
//! From: docs/theory/kernel.md 9. Whether some messages can be consumed together depends on them and on the local state,
//! not on what else waits. So a local state has a list of *ways*, and a configuration can take those whose messages are
//! all in its inbox. A way is asked of the handler when a configuration takes it, or a reduction has to know.
//! Differs: faults, forged messages, limits and selections that panic take the long way (`steps`, `queries`).
//! Held by: testkit/tests/reductions.rs, testkit/tests/worlds.rs.

use std::collections::HashMap;
use std::sync::Arc;

use super::context::AskContext;
use super::graph::ProcessGraph;
use super::inbox_bits::{InboxMask, bits as bits_of};
use super::mail::{MessageId, Messages, NOTHING};
use super::seen::Edge;
use super::values::{ConfigurationId, ConfigurationStep, Lead, LocalId, LocalStep};
use super::way_list::{Answer, Way, Ways};
use crate::model::{Consumptions, Model};
use crate::world::{FaultsSoFar, Inbox, InboxItem, StepKind, World};

/// A local state with more ways takes the long way.
const WAYS_MAX: usize = 1 << 16;

impl ProcessGraph {
    /// Where the steps of a configuration lead.
    pub(in crate::kernel) fn leads(
        &mut self,
        configuration: ConfigurationId,
        ask: &mut AskContext<'_>,
    ) -> Vec<Lead> {
        if self.steps_are_plain(ask.model)
            && let Some((local, past, mask)) = self.mask(configuration)
            && !past.crashed
            && self.learn_ways(local, mask, ask)
            && let Some(leads) = self.leads_by_bits(configuration, (local, past, mask), ask)
        {
            return leads;
        }
        self.steps(configuration, ask).iter().map(ConfigurationStep::lead).collect()
    }

    /// Shows what a configuration can do, way by way: the transition, what it consumes, as bits and as messages, and what
    /// it does. Says whether that could be told by bits.
    pub(in crate::kernel) fn each_way(
        &mut self,
        configuration: ConfigurationId,
        ask: &mut AskContext<'_>,
        mut show: impl FnMut((usize, InboxMask), &[MessageId], &Arc<[LocalStep]>),
    ) -> bool {
        let Some((local, past, mask)) = self.mask(configuration) else { return false };
        if !self.steps_are_plain(ask.model) || past.crashed || !self.learn_ways(local, mask, ask) {
            return false;
        }
        let mut ways = self.ways[local as usize].take().expect("they were learnt");
        for way in ways.list.iter_mut().filter(|way| way.consumed & !mask == 0) {
            let (transition, messages) = (way.transition, &way.messages);
            let outcomes = way.answer.outcomes(|| self.answer((local, transition, messages.to_vec()), ask));
            if let Some(outcomes) = outcomes {
                show((transition, way.consumed), messages, &outcomes);
            }
        }
        self.ways[local as usize] = Some(ways);
        true
    }

    /// Are all steps of its configurations transitions that end as they should?
    fn steps_are_plain(&self, model: &Model) -> bool {
        if self.bits.is_none() {
            return false;
        }
        let limits = model.fault_limits_of(self.id);
        let World { losses, duplications, .. } = *model.world();
        losses + duplications == 0
            && !limits.crashes
            && !limits.stops
            && limits.restarts == 0
            && model.forgeable(self.id).is_empty()
            && self.copies_max.is_none()
            && self.allowed_locals.is_none()
    }

    /// The leads of a configuration whose ways are known; `None` if there are suddenly more messages than bits.
    fn leads_by_bits(
        &mut self,
        configuration: ConfigurationId,
        (local, past, mask): (LocalId, FaultsSoFar, InboxMask),
        ask: &mut AskContext<'_>,
    ) -> Option<Vec<Lead>> {
        let mut ways = self.ways[local as usize].take().expect("they were learnt");
        self.note_offered(local, mask, &mut ways, ask);
        // Nothing, for a step that panics.
        let mut found = Vec::new();
        for way in ways.list.iter_mut().filter(|way| way.consumed & !mask == 0) {
            if !std::mem::replace(&mut way.met, true) {
                let input = (local, way.transition, way.messages.to_vec());
                if let Some(questions) = &mut self.questions {
                    questions.meet(&input);
                }
                way.answer = Answer::NotAsked;
                way.answer.outcomes(|| self.answer(input, ask));
            }
            let Some(outcomes) = way.answer.outcomes(|| None) else { continue };
            let mut left_out = false;
            for outcome in outcomes.iter() {
                let LocalStep::Done { local: to, sends, .. } = *outcome else {
                    found.push(None);
                    continue;
                };
                let idle = to == local && sends == NOTHING && way.consumed != 0;
                if self.leaves_out_idle_steps && idle {
                    left_out = true;
                    continue;
                }
                if !way.noted {
                    let consumed = way.messages.to_vec();
                    let edge = Edge { from: local, to, consumed, sent: sends };
                    self.seen.note_named(edge, StepKind::Transition, way.transition);
                }
                let after = (to, past, self.consumed(mask, way.consumed, ask.model));
                let arrives = way.consumed == 0 || ask.model.world().channel.is_reliable();
                found.push(Some((after, sends, arrives)));
            }
            way.noted |= !left_out;
        }
        self.ways[local as usize] = Some(ways);
        let mut leads = Vec::with_capacity(found.len());
        for step in found {
            let Some((after, sends, arrives)) = step else {
                leads.push(Lead { to: None, owed: false });
                continue;
            };
            let (next, outside) = self.after_sending(after, sends, ask)?;
            let changes = (next, outside) != (configuration, NOTHING);
            leads.push(Lead { to: Some((next, outside)), owed: changes && arrives });
        }
        self.count_kinds(configuration, leads.len());
        Some(leads)
    }

    /// An inbox after some messages were consumed.
    fn consumed(&self, mask: InboxMask, consumed: InboxMask, model: &Model) -> InboxMask {
        if model.world().channel.keeps_consumed() {
            return mask;
        }
        self.bits.as_ref().map_or(mask, |bits| bits.without(mask, consumed))
    }

    /// The configuration in which messages to the process itself have arrived, and what leaves the process; `None` if
    /// there are more messages than bits.
    fn after_sending(
        &mut self,
        (local, past, mask): (LocalId, FaultsSoFar, InboxMask),
        sends: u32,
        ask: &mut AskContext<'_>,
    ) -> Option<(ConfigurationId, u32)> {
        let (own, outside) = ask.mail.split_own(sends, self.id);
        self.seen.hear(ask.mail.messages_of(own));
        let Some(mask) = self.put_bits(mask, own, ask.model, &ask.mail) else {
            self.outgrow_bits();
            return None;
        };
        Some((self.configuration_of_mask(local, past, mask, ask), outside))
    }

    /// Notes the messages among which transitions had to select.
    fn note_offered(&mut self, local: LocalId, mask: InboxMask, ways: &mut Ways, ask: &AskContext<'_>) {
        let Some(bits) = self.bits.as_ref() else { return };
        let new = mask & bits.firsts() & !ways.offered;
        ways.offered |= new;
        if let Some(questions) = self.questions.as_mut().filter(|_| new != 0) {
            for transition in 0..ask.model.process(self.id).transitions().len() {
                let messages = bits.entries(new).map(|entry| entry.message);
                questions.met.offer_messages(local, transition, messages);
            }
        }
    }

    /// Finds out what a local state can consume of some messages. Says whether ways are of use there.
    pub(super) fn learn_ways(
        &mut self,
        local: LocalId,
        messages: InboxMask,
        ask: &mut AskContext<'_>,
    ) -> bool {
        let Some(inbox_bits) = &self.bits else { return false };
        let at = local as usize;
        if self.ways.len() <= at {
            self.ways.resize_with(at + 1, || None);
        }
        // More messages do not make it usable.
        if self.ways[at].as_ref().is_some_and(|ways| ways.unusable) {
            return false;
        }
        let known = self.ways[at].as_ref().map(|ways| ways.known);
        let wanted = messages & inbox_bits.firsts() | known.unwrap_or(0);
        if known == Some(wanted) {
            return self.ways[at].as_ref().is_some_and(|ways| !ways.unusable);
        }
        let waiting = inbox_bits.entries(wanted).collect();
        let (open, inbox) = (World::default(), Inbox { waiting, ..Inbox::default() });
        let offers = self.offers(&inbox, open.channel, ask);
        let mut found = self.ways[at].take().unwrap_or_default();
        let ways_before = found.list.len();
        let before = std::mem::take(&mut found.list).into_iter();
        let mut before: HashMap<(usize, InboxMask), Way> =
            before.map(|way| ((way.transition, way.consumed), way)).collect();
        found.known = wanted;
        for transition in 0..ask.model.process(self.id).transitions().len() {
            let Consumptions { sets, panicking } =
                self.consumptions(local, &inbox, &open, transition, &offers, ask);
            found.unusable |= !panicking.is_empty() || found.list.len() + sets.len() > WAYS_MAX;
            if found.unusable {
                found.list.clear();
                break;
            }
            let bits = self.bits.as_mut().expect("as above");
            for set in sets {
                let messages: Box<[MessageId]> = set.iter().map(|offer| offer.message).collect();
                let first = |message: &MessageId| bits.first(ask.mail.entry(*message)).expect("it has one");
                let consumed = messages.iter().map(first).fold(0, |all, one| all | one);
                // What was asked of the ways that were known stays known.
                let known = before.remove(&(transition, consumed));
                let (answer, met, noted) = (Answer::NotAsked, false, false);
                found.list.push(known.unwrap_or(Way { consumed, transition, messages, answer, met, noted }));
            }
        }
        found.consumed = found.list.iter().map(|way| way.consumed).collect();
        self.ways_known = self.ways_known + found.list.len() - ways_before;
        let usable = !found.unusable;
        self.ways[at] = Some(found);
        usable
    }

    /// Some messages to the process as bits; `None` if these do not suffice.
    pub(in crate::kernel) fn bits_of_messages(
        &mut self,
        messages: &[MessageId],
        mail: &Messages,
    ) -> Option<InboxMask> {
        let bits = self.bits.as_mut()?;
        let first = |all, message: &MessageId| bits.first(mail.entry(*message)).map(|bit| all | bit);
        let mask = messages.iter().try_fold(0, first);
        if mask.is_none() {
            self.outgrow_bits();
        }
        mask
    }

    /// What a configuration could consume if it had some messages besides its own: for each way the senders of those that
    /// it lacks, as bits at their places. With `fewest`, without senders among whom are all those of another way. Says
    /// whether that could be told.
    pub(in crate::kernel) fn lacking(
        &mut self,
        configuration: ConfigurationId,
        besides: InboxMask,
        (place, fewest): (&[usize], bool),
        ask: &mut AskContext<'_>,
        found: &mut Vec<u64>,
    ) -> bool {
        let Some((local, past, mask)) = self.mask(configuration) else { return false };
        if past.crashed {
            return true;
        }
        let coming = self.live_bits(local, besides & !mask, ask);
        if !ask.model.forgeable(self.id).is_empty() || !self.learn_ways(local, mask | coming, ask) {
            return false;
        }
        let mut ways = self.ways[local as usize].take().expect("they were learnt");
        self.consider_bits(local, mask | coming, &mut ways, ask);
        for (at, consumed) in ways.consumed.iter().enumerate() {
            let lacks = consumed & !mask;
            if lacks == 0 || lacks & !coming != 0 {
                continue;
            }
            let senders = self.senders(lacks, place);
            let says_more = |known: &u64| if fewest { known & !senders == 0 } else { *known == senders };
            if found.iter().any(says_more) {
                continue;
            }
            let way = &mut ways.list[at];
            let (transition, messages) = (way.transition, &way.messages);
            let outcomes =
                way.answer.outcomes(|| self.outcomes_of((local, transition, messages.to_vec()), ask));
            let Some(outcomes) = outcomes else { continue };
            if !self.leaves_out_idle_steps || outcomes.iter().any(|outcome| outcome.changes(local)) {
                found.push(senders);
            }
        }
        self.ways[local as usize] = Some(ways);
        true
    }

    /// The senders of some messages, as bits at their places.
    fn senders(&self, messages: InboxMask, place: &[usize]) -> u64 {
        let Some(bits) = &self.bits else { return 0 };
        bits_of(messages).fold(0, |all, bit| all | 1 << place[bits.entry(bit).from().index()])
    }

    /// Does some transition of a local state consume a message, alone or with others that were ever sent, and do anything
    /// else? `None` if that cannot be told by bits.
    pub(super) fn is_effective_by_bits(
        &mut self,
        local: LocalId,
        message: MessageId,
        ask: &mut AskContext<'_>,
    ) -> Option<bool> {
        if !ask.model.forgeable(self.id).is_empty() {
            return None;
        }
        let bits = self.bits.as_mut()?;
        let mut bit_of = |message: MessageId| bits.first(ask.mail.entry(message));
        let one = bit_of(message)?;
        let heard = self.seen.heard().try_fold(one, |all, heard| Some(all | bit_of(heard)?))?;
        if !self.learn_ways(local, heard, ask) {
            return None;
        }
        let mut ways = self.ways[local as usize].take()?;
        self.consider_bits(local, heard, &mut ways, ask);
        let mut consuming =
            ways.list.iter_mut().filter(|way| way.consumed & one != 0 && way.consumed & !heard == 0);
        let effective = consuming.any(|way| {
            let (transition, messages) = (way.transition, &way.messages);
            let outcomes =
                way.answer.outcomes(|| self.outcomes_of((local, transition, messages.to_vec()), ask));
            outcomes.is_some_and(|outcomes| {
                outcomes.iter().any(|outcome| outcome.changes(local))
                    || !self.leaves_out_idle_steps && way.messages.len() > 1
            })
        });
        self.ways[local as usize] = Some(ways);
        Some(effective)
    }

    /// A reduction asks what transitions would select of these messages.
    fn consider_bits(&mut self, local: LocalId, mask: InboxMask, ways: &mut Ways, ask: &AskContext<'_>) {
        let (Some(questions), Some(bits)) = (&mut self.questions, &self.bits) else { return };
        let new = mask & bits.firsts() & !ways.considered;
        ways.considered |= new;
        if new == 0 {
            return;
        }
        for transition in 0..ask.model.process(self.id).transitions().len() {
            let messages = bits.entries(new).map(|entry| entry.message);
            questions.considered.offer_messages(local, transition, messages);
        }
    }
}
