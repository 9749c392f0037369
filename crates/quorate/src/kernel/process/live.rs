//! Inert messages: those that can make no difference to their receiver any more are left out of its inbox.
//!
//! From: docs/theory/inert.md 2, docs/theory/stubborn.md 5. A message is live in a local state if some transition there
//! consumes it, alone or with others that were ever sent, and does anything else, or if it is live in a local state that
//! can be reached from there. That is asked when a message waits in a local state, of what was seen by then. What is left
//! out is noted, so that a search which has seen more can tell whether it would have left out the same.
//! Held by: testkit/tests/reductions.rs, with mutants.

use std::collections::HashSet;
use std::hash::BuildHasherDefault;

use super::context::AskContext;
use super::graph::ProcessGraph;
use super::inbox_bits::{InboxMask, bits as bits_of};
use super::left_out::LiveBits;
use super::mail::MessageId;
use super::values::LocalId;
use crate::base::{FoldHasher, heed};

impl ProcessGraph {
    /// Of some messages, those that can still make a difference in a local state. The others are noted as left out.
    ///
    /// PERF: once for each configuration that is reached, so what was asked is known as bits.
    pub(super) fn live_bits(
        &mut self,
        local: LocalId,
        mask: InboxMask,
        ask: &mut AskContext<'_>,
    ) -> InboxMask {
        if !self.left_out.leaves_out() || self.bits.is_none() {
            return mask;
        }
        let LiveBits { live, dead, .. } = *self.left_out.of_local(local);
        for bit in bits_of(mask & !(live | dead)) {
            let Some(bits) = &self.bits else { return mask };
            let message = bits.entry(bit).message;
            let is_live = self.is_live(local, message, ask);
            let of_local = self.left_out.of_local(local);
            *(if is_live { &mut of_local.live } else { &mut of_local.dead }) |= 1 << bit;
        }
        let of_local = self.left_out.of_local(local);
        of_local.left_out |= mask & !of_local.live;
        mask & of_local.live
    }

    /// Can a message still make a difference in a local state? If not, it is noted as left out.
    pub(super) fn keeps(&mut self, local: LocalId, message: MessageId, ask: &mut AskContext<'_>) -> bool {
        let keeps = !self.left_out.leaves_out() || self.is_live(local, message, ask);
        if !keeps {
            self.left_out.messages.insert((local, message));
        }
        keeps
    }

    /// Was anything left out that can make a difference, by all that was seen?
    pub(in crate::kernel) fn has_left_out_live(&mut self, ask: &mut AskContext<'_>) -> bool {
        let of_bits: Vec<(LocalId, MessageId)> =
            self.bits.as_ref().map(|bits| self.left_out.left_out_bits(bits).collect()).unwrap_or_default();
        let mut left_out: Vec<_> = self.left_out.messages.iter().copied().chain(of_bits).collect();
        left_out.sort_unstable();
        left_out.into_iter().any(|(local, message)| self.is_live(local, message, ask))
    }

    /// Can a message make a difference in a local state, or in one that can be reached from there, by all that was seen?
    fn is_live(&mut self, local: LocalId, message: MessageId, ask: &mut AskContext<'_>) -> bool {
        let seen = self.seen.count();
        let known = &mut self.left_out.known;
        if std::mem::replace(&mut known.seen, seen) != seen {
            known.dead.clear();
        }
        // Each with the place of the one that it was reached from.
        let mut reached: Vec<(LocalId, usize)> = vec![(local, 0)];
        let mut met: HashSet<LocalId, BuildHasherDefault<FoldHasher>> = HashSet::from_iter([local]);
        let mut at = 0;
        let mut found = None;
        while at < reached.len() && found.is_none() {
            heed();
            let (from, _) = reached[at];
            let known = self.left_out.known.of((from, message));
            if known.unwrap_or_else(|| self.is_effective(from, message, ask)) {
                found = Some(at);
            } else if known.is_none() {
                let new = self.seen.next(from).iter().filter(|to| met.insert(**to));
                reached.extend(new.map(|to| (*to, at)));
            }
            at += 1;
        }
        let known = &mut self.left_out.known;
        let Some(mut place) = found else {
            known.dead.extend(reached.iter().map(|(from, _)| (*from, message)));
            return false;
        };
        while place > 0 {
            known.live.insert((reached[place].0, message));
            place = reached[place].1;
        }
        known.live.insert((local, message));
        true
    }

    /// Does some transition of a local state consume a message, alone or with others that were ever sent, and do anything
    /// else?
    fn is_effective(&mut self, local: LocalId, message: MessageId, ask: &mut AskContext<'_>) -> bool {
        let heard = self.seen.heard_count();
        let alone = !self.waits_for_quorums(ask);
        match self.left_out.known.effective.get(&(local, message)) {
            Some((effective, when)) if *effective || alone || *when == heard => return *effective,
            _ => {}
        }
        if let Some(effective) = self.is_effective_by_bits(local, message, ask) {
            self.left_out.known.effective.insert((local, message), (effective, heard));
            return effective;
        }
        let others = self.seen.heard().filter(|other| !alone && *other != message);
        let messages: Vec<MessageId> = others.chain([message]).collect();
        let effective = self.effective(local, &messages, ask);
        for message in messages {
            let known = (effective.contains(&message), heard);
            self.left_out.known.effective.insert((local, message), known);
        }
        effective.contains(&message)
    }
}
