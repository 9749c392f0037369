//! What is left out of the inboxes of a process because it can make no difference any more, and what was.
//!
//! From: docs/theory/inert.md, docs/theory/stubborn.md 5. Which messages are live rests on what was seen. What is left out
//! is noted, so that a search which has seen more can tell whether it would have left out the same.
//! Held by: testkit/tests/reductions.rs, with mutants.

use std::collections::HashSet;
use std::hash::BuildHasherDefault;
use std::sync::Arc;

use super::inbox_bits::{InboxBits, InboxMask};
use super::mail::MessageId;
use super::seen::Live;
use super::values::LocalId;
use crate::base::FoldHasher;

/// Which messages can still make a difference, and which were left out since they cannot.
#[derive(Default)]
pub(super) struct LeftOut {
    /// All messages can, if there is nothing here.
    live: Option<Arc<Live>>,
    /// For each local state, as bits.
    of_locals: Vec<LiveBits>,
    /// What was left out of inboxes that are no bits.
    messages: HashSet<(LocalId, MessageId), BuildHasherDefault<FoldHasher>>,
}

#[derive(Clone, Copy, Default)]
struct LiveBits {
    live: InboxMask,
    /// Of how many bits that is known.
    known: usize,
    left_out: InboxMask,
}

impl LeftOut {
    pub(super) fn new(live: Option<Arc<Live>>) -> Self {
        LeftOut { live, ..LeftOut::default() }
    }

    /// Is anything left out?
    pub(super) fn leaves_out(&self) -> bool {
        self.live.is_some()
    }

    /// Can a message still make a difference in a local state? If not, it is noted as left out.
    pub(super) fn keeps(&mut self, local: LocalId, message: MessageId) -> bool {
        let keeps = self.live.as_ref().is_none_or(|live| live.contains(local, message));
        if !keeps {
            self.messages.insert((local, message));
        }
        keeps
    }

    /// Of some messages, those that can still make a difference in a local state. The others are noted as left out.
    ///
    /// PERF: once for each configuration that is reached, so bits are looked up once.
    pub(super) fn kept(&mut self, local: LocalId, mask: InboxMask, bits: &InboxBits) -> InboxMask {
        let Some(live) = &self.live else { return mask };
        let at = local as usize;
        if self.of_locals.len() <= at {
            self.of_locals.resize(at + 1, LiveBits::default());
        }
        let of_local = &mut self.of_locals[at];
        for bit in of_local.known..bits.len() {
            let bit = u32::try_from(bit).expect("there are 128");
            of_local.live |= InboxMask::from(live.contains(local, bits.entry(bit).message)) << bit;
        }
        of_local.known = bits.len();
        of_local.left_out |= mask & !of_local.live;
        mask & of_local.live
    }

    /// There will be no bits: what was left out is noted by its messages.
    pub(super) fn forget_bits(&mut self, bits: &InboxBits) {
        let left_out = self.left_out_bits(bits).collect::<Vec<_>>();
        self.messages.extend(left_out);
        self.of_locals.clear();
    }

    fn left_out_bits(&self, bits: &InboxBits) -> impl Iterator<Item = (LocalId, MessageId)> {
        let messages = |left_out| bits.entries(left_out).map(|entry| entry.message);
        (0..).zip(&self.of_locals).flat_map(move |(local, of_local)| {
            messages(of_local.left_out).map(move |message| (local, message))
        })
    }

    /// Was anything left out that can make a difference after all?
    pub(super) fn has_any(&self, live: &Live, bits: Option<&InboxBits>) -> bool {
        let of_bits = bits.into_iter().flat_map(|bits| self.left_out_bits(bits));
        self.messages.iter().copied().chain(of_bits).any(|(local, message)| live.contains(local, message))
    }
}
