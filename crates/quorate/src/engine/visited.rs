//! The set of visited states.
//!
//! A state is a 64-bit number. It is mixed by a bijection, so that the mixed number is as exact as the state
//! and as spread as a hash. The right half of the state chooses, for the most part, one of many small
//! tables: states that share much are looked up and later expanded together, while what they need is in the
//! cache. Tables are filled one at a time by whichever thread takes them, so there are no locks and no
//! atomics, and a table that grows needs room for itself twice, not for the whole set.
//!
//! Fingerprint mode keeps 48 bits of the mixed number: two states are taken for one if they are in the same
//! table and agree in these.
//!
//! Invariant: a table is at most 4/5 full, so every probe ends; no slot holds 0 unless it is free.
//! Held by: the tests below, testkit/tests/agreement.rs.

use super::Visited;
use crate::kernel::State;

/// How many tables.
pub(super) const TABLES: usize = 256;
const FINGERPRINT_BITS: i32 = 48;

/// Which table a state belongs to: 6 bits from its right half, 2 from the left, so that a right half with
/// few states does not leave most tables empty.
#[inline]
pub(super) fn table_of(state: State) -> usize {
    let (left, right) = (state.left.wrapping_mul(0x9e37_79b1), state.right.wrapping_mul(0x9e37_79b1));
    (right >> 26 << 2 | left >> 30) as usize
}

/// A state, mixed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) struct Mixed(u64);

const FACTORS: [u64; 2] = [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb];
const INVERSES: [u64; 2] = [0x96de_1b17_3f11_9089, 0x3196_42b2_d24d_8ec3];

impl Mixed {
    #[inline]
    pub(super) fn new(state: State) -> Self {
        // The initial state is (0, 0), and 0 marks a free slot.
        let mut x = (u64::from(state.left) << 32 | u64::from(state.right)).wrapping_add(1);
        x = (x ^ (x >> 30)).wrapping_mul(FACTORS[0]);
        x = (x ^ (x >> 27)).wrapping_mul(FACTORS[1]);
        Mixed(x ^ (x >> 31))
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the two halves are wanted")]
    pub(super) fn state(self) -> State {
        let mut x = self.0;
        x = (x ^ (x >> 31) ^ (x >> 62)).wrapping_mul(INVERSES[1]);
        x = (x ^ (x >> 27) ^ (x >> 54)).wrapping_mul(INVERSES[0]);
        x = (x ^ (x >> 30) ^ (x >> 60)).wrapping_sub(1);
        State { left: (x >> 32) as u32, right: x as u32 }
    }
}

/// The tables.
pub(super) struct VisitedSet {
    pub(super) tables: Vec<Table>,
}

impl VisitedSet {
    pub(super) fn new(kind: Visited) -> Self {
        let table = || match kind {
            Visited::Exact => Table::Exact(Slots::default()),
            Visited::Fingerprint => Table::Fingerprint(Slots::default()),
        };
        VisitedSet { tables: (0..TABLES).map(|_| table()).collect() }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.tables.iter().map(Table::bytes).sum()
    }

    pub(super) fn insert(&mut self, state: State) {
        self.tables[table_of(state)].insert_all(&[Mixed::new(state)], |_| {});
    }

    /// The probability that some state was taken for another, at most; 0 if exact.
    pub(super) fn missed_probability(&self) -> f64 {
        let in_table = |table: &Table| match table {
            Table::Exact(_) => 0.0,
            Table::Fingerprint(slots) => {
                #[expect(clippy::cast_precision_loss, reason = "a probability, given to two digits")]
                let taken = slots.taken as f64;
                // A state that was missed is not among those taken: even one that is alone may hide another.
                taken * (taken + 1.0) / 2.0 / 2f64.powi(FINGERPRINT_BITS)
            }
        };
        self.tables.iter().map(in_table).sum::<f64>().min(1.0)
    }
}

/// A table of one kind or the other.
pub(super) enum Table {
    Exact(Slots<Whole>),
    Fingerprint(Slots<Short>),
}

impl Table {
    /// Inserts numbers; calls `new` with the position of each that was not there.
    pub(super) fn insert_all(&mut self, numbers: &[Mixed], new: impl FnMut(usize)) {
        match self {
            Table::Exact(slots) => slots.insert_all(numbers, new),
            Table::Fingerprint(slots) => slots.insert_all(numbers, new),
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Table::Exact(slots) => slots.bytes(),
            Table::Fingerprint(slots) => slots.bytes(),
        }
    }
}

/// What a slot holds of a number; the default is free.
pub(super) trait Slot: Copy + Default + PartialEq {
    fn of(number: Mixed) -> Self;
    /// Bits that choose the place, the same for the slot as for its number.
    fn place(self) -> u32;
}

/// A whole number.
#[derive(Clone, Copy, Default, PartialEq)]
pub(super) struct Whole(u64);

impl Slot for Whole {
    #[inline]
    fn of(number: Mixed) -> Self {
        Whole(number.0)
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the lower half is wanted")]
    fn place(self) -> u32 {
        self.0 as u32
    }
}

/// The lower 48 bits of a number.
#[derive(Clone, Copy, Default, PartialEq)]
pub(super) struct Short([u16; 3]);

impl Slot for Short {
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the lower bits are wanted")]
    fn of(number: Mixed) -> Self {
        let bits = [number.0 as u16, (number.0 >> 16) as u16, (number.0 >> 32) as u16];
        // A fingerprint of 0 would look like a free slot.
        Short(if bits == [0; 3] { [1, 0, 0] } else { bits })
    }

    #[inline]
    fn place(self) -> u32 {
        u32::from(self.0[0]) | u32::from(self.0[1]) << 16
    }
}

/// How many numbers are looked up together.
const BLOCK: usize = 16;

/// Open addressing with linear probing.
pub(super) struct Slots<S> {
    slots: Vec<S>,
    taken: usize,
}

impl<S: Slot> Default for Slots<S> {
    fn default() -> Self {
        Slots { slots: vec![S::default(); 64], taken: 0 }
    }
}

impl<S: Slot> Slots<S> {
    fn insert_all(&mut self, numbers: &[Mixed], mut new: impl FnMut(usize)) {
        // PERF: looking at the homes of a block first lets the processor wait for their cache lines together.
        for (block, chunk) in numbers.chunks(BLOCK).enumerate() {
            let mut present = [false; BLOCK];
            for (present, number) in present.iter_mut().zip(chunk) {
                let slot = S::of(*number);
                *present = self.slots[self.home(slot)] == slot;
            }
            for (at, number) in chunk.iter().enumerate() {
                if !present[at] && self.insert(S::of(*number)) {
                    new(block * BLOCK + at);
                }
            }
        }
    }

    #[inline]
    fn insert(&mut self, slot: S) -> bool {
        let place = self.free_or_same(slot);
        if self.slots[place] == slot {
            return false;
        }
        self.slots[place] = slot;
        self.taken += 1;
        if self.taken * 5 > self.slots.len() * 4 {
            self.grow();
        }
        true
    }

    #[inline]
    fn free_or_same(&self, slot: S) -> usize {
        let mut at = self.home(slot);
        while self.slots[at] != slot && self.slots[at] != S::default() {
            at += 1;
            if at == self.slots.len() {
                at = 0;
            }
        }
        at
    }

    #[inline]
    fn home(&self, slot: S) -> usize {
        ((u64::from(slot.place()) * self.slots.len() as u64) >> 32) as usize
    }

    fn grow(&mut self) {
        let larger = vec![S::default(); self.slots.len() / 2 * 3];
        let before = std::mem::replace(&mut self.slots, larger);
        for slot in before.into_iter().filter(|slot| *slot != S::default()) {
            let place = self.free_or_same(slot);
            self.slots[place] = slot;
        }
    }

    fn bytes(&self) -> u64 {
        (self.slots.capacity() * size_of::<S>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some_states(count: u32) -> impl Iterator<Item = State> {
        (0..count).map(|n| State { left: n.wrapping_mul(0x9e37_79b9) >> 7, right: n % 1009 })
    }

    #[test]
    fn mixing_is_a_bijection() {
        for state in some_states(10_000).chain([State { left: u32::MAX, right: u32::MAX - 1 }]) {
            assert_eq!(Mixed::new(state).state(), state);
        }
    }

    fn inserts_once(kind: Visited) {
        let mut set = VisitedSet::new(kind);
        let mut expected = std::collections::HashSet::new();
        for state in some_states(200_000) {
            let mixed = Mixed::new(state);
            let mut new = false;
            set.tables[table_of(state)].insert_all(&[mixed], |_| new = true);
            assert_eq!(new, expected.insert((state.left, state.right)), "{state:?}");
        }
        assert!(expected.len() > 100_000);
    }

    #[test]
    fn exact_set_inserts_each_state_once() {
        inserts_once(Visited::Exact);
    }

    #[test]
    fn fingerprints_of_few_states_do_not_collide() {
        inserts_once(Visited::Fingerprint);
    }
}
