//! What is known of messages that can make no difference to their receiver any more, and which of them were left out of
//! its inbox.
//!
//! From: docs/theory/inert.md 2. The questions are in `live`.

use std::collections::{HashMap, HashSet};
use std::hash::BuildHasherDefault;

use super::inbox_bits::{InboxBits, InboxMask};
use super::mail::MessageId;
use super::values::LocalId;
use crate::base::FoldHasher;

/// Which messages can still make a difference, and which were left out since they cannot.
#[derive(Default)]
pub(super) struct LeftOut {
    /// Is anything left out?
    leaves_out: bool,
    /// For each local state, as bits.
    of_locals: Vec<LiveBits>,
    /// What was left out of inboxes that are no bits.
    pub(super) messages: Pairs,
    pub(super) known: Liveness,
}

pub(super) type Pairs = HashSet<(LocalId, MessageId), BuildHasherDefault<FoldHasher>>;

/// What a search goes by, though it may have seen more since.
#[derive(Clone, Copy, Default)]
pub(super) struct LiveBits {
    pub(super) live: InboxMask,
    pub(super) dead: InboxMask,
    pub(super) left_out: InboxMask,
}

/// What is known of messages in local states.
#[derive(Default)]
pub(super) struct Liveness {
    /// However much more is seen.
    pub(super) live: Pairs,
    /// As long as nothing more is seen than so much.
    pub(super) dead: Pairs,
    pub(super) seen: usize,
    /// Whether a message makes a difference at once, and how many others were known that it may do so with.
    pub(super) effective: HashMap<(LocalId, MessageId), (bool, usize), BuildHasherDefault<FoldHasher>>,
}

impl Liveness {
    pub(super) fn of(&self, place: (LocalId, MessageId)) -> Option<bool> {
        if self.live.contains(&place) {
            return Some(true);
        }
        self.dead.contains(&place).then_some(false)
    }
}

impl LeftOut {
    pub(super) fn new(leaves_out: bool) -> Self {
        LeftOut { leaves_out, ..LeftOut::default() }
    }

    /// Is anything left out?
    pub(super) fn leaves_out(&self) -> bool {
        self.leaves_out
    }

    pub(super) fn of_local(&mut self, local: LocalId) -> &mut LiveBits {
        let at = local as usize;
        if self.of_locals.len() <= at {
            self.of_locals.resize(at + 1, LiveBits::default());
        }
        &mut self.of_locals[at]
    }

    /// There will be no bits: what was left out is noted by its messages.
    pub(super) fn forget_bits(&mut self, bits: &InboxBits) {
        let left_out = self.left_out_bits(bits).collect::<Vec<_>>();
        self.messages.extend(left_out);
        self.of_locals.clear();
    }

    pub(super) fn left_out_bits(&self, bits: &InboxBits) -> impl Iterator<Item = (LocalId, MessageId)> {
        let messages = |left_out| bits.entries(left_out).map(|entry| entry.message);
        (0..).zip(&self.of_locals).flat_map(move |(local, of_local)| {
            messages(of_local.left_out).map(move |message| (local, message))
        })
    }
}
