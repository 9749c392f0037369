//! Inboxes as bits: one for each message that may wait for a process, and one for each further copy of it.
//!
//! From: docs/theory/kernel.md 9. Where a channel keeps no order, an inbox is a set of these bits; what a step consumes
//! and what arrives are a few operations on a word. A message with more than one copy waiting has the bits of its first
//! copies set, so equal inboxes are equal words.
//! Known: at most 128 bits. A process that outgrows them keeps its inboxes as lists.
//! Held by: testkit/tests/reductions.rs, testkit/tests/worlds.rs.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use super::mail::{InboxEntry, MessageId};
use crate::base::FoldHasher;

/// Some of the messages to a process.
pub(in crate::kernel) type InboxMask = u128;

/// Which bit stands for which message.
pub(super) struct InboxBits {
    entries: Vec<InboxEntry>,
    /// For each message the bits of its copies, the first one first.
    copies: HashMap<MessageId, Vec<u32>, BuildHasherDefault<FoldHasher>>,
    firsts: InboxMask,
    /// How many bits there are.
    most: u32,
}

impl Default for InboxBits {
    fn default() -> Self {
        InboxBits { entries: Vec::new(), copies: HashMap::default(), firsts: 0, most: InboxMask::BITS }
    }
}

impl InboxBits {
    /// The bits of first copies: which messages wait, whatever their number.
    pub(super) fn firsts(&self) -> InboxMask {
        self.firsts
    }

    /// Uses no more than so many bits.
    pub(super) fn use_at_most(&mut self, most: u32) {
        self.most = most.min(InboxMask::BITS);
    }

    pub(super) fn entry(&self, bit: u32) -> InboxEntry {
        self.entries[bit as usize]
    }

    /// The messages of some bits, one for each.
    pub(super) fn entries(&self, mask: InboxMask) -> impl Iterator<Item = InboxEntry> {
        bits(mask).map(|bit| self.entry(bit))
    }

    /// The bit of a copy of a message; `None` if all bits are taken.
    fn bit(&mut self, entry: InboxEntry, copy: usize) -> Option<u32> {
        let known = self.copies.entry(entry.message).or_default();
        if let Some(bit) = known.get(copy) {
            return Some(*bit);
        }
        let bit = u32::try_from(self.entries.len()).ok().filter(|bit| *bit < self.most)?;
        if copy == 0 {
            self.firsts |= 1 << bit;
        }
        known.push(bit);
        self.entries.push(entry);
        Some(bit)
    }

    /// The bit of the first copy of a message.
    pub(super) fn first(&mut self, entry: InboxEntry) -> Option<InboxMask> {
        self.bit(entry, 0).map(|bit| 1 << bit)
    }

    /// Which copy of its message a bit stands for.
    pub(super) fn copy_of(&self, bit: u32) -> usize {
        let copies = &self.copies[&self.entry(bit).message];
        copies.iter().position(|known| *known == bit).expect("it stands for one")
    }

    /// The bit of the same copy of another message.
    pub(super) fn same_copy(&mut self, entry: InboxEntry, copy: usize) -> Option<u32> {
        (0..=copy).map(|copy| self.bit(entry, copy)).last().flatten()
    }

    /// An inbox with one more message; where copies are not kept, at most one of it.
    pub(super) fn put(&mut self, mask: InboxMask, entry: InboxEntry, copies: bool) -> Option<InboxMask> {
        let mut copy = 0;
        loop {
            let bit = 1 << self.bit(entry, copy)?;
            if mask & bit == 0 {
                return Some(mask | bit);
            }
            if !copies {
                return Some(mask);
            }
            copy += 1;
        }
    }

    /// An inbox without one copy of each of some messages, given by their first bits.
    pub(super) fn without(&self, mask: InboxMask, consumed: InboxMask) -> InboxMask {
        if self.firsts.count_ones() as usize == self.entries.len() {
            return mask & !consumed;
        }
        bits(consumed).fold(mask, |mask, first| {
            let copies = &self.copies[&self.entry(first).message];
            let last = copies.iter().rev().find(|bit| mask >> **bit & 1 == 1);
            last.map_or(mask, |bit| mask & !(1 << bit))
        })
    }

    /// A list of messages as bits; `None` if these do not suffice.
    pub(super) fn mask(&mut self, entries: &[InboxEntry]) -> Option<InboxMask> {
        entries.iter().try_fold(0, |mask, entry| self.put(mask, *entry, true))
    }
}

/// The positions of the bits that are set.
pub(in crate::kernel) fn bits(mut mask: InboxMask) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = mask.trailing_zeros();
        (mask != 0).then(|| {
            mask &= mask - 1;
            bit
        })
    })
}
