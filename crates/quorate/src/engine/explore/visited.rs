//! The set of visited states.
//!
//! A state is a pair of small numbers, dense from 0. Their lowest bits choose one of many tables: states
//! that share much of their right half are looked up together and later expanded together, while what they
//! need is in the cache. Tables are filled one at a time by whichever thread takes them, so there are no
//! locks and no atomics, and a table that grows needs room for itself twice, not for the whole set.
//!
//! From the table follow 8 bits of a state; while both halves have fewer than 2^20 states the other 32 fill a slot
//! *exactly*. Beyond that, tables turn to slots of 64 bits, or, in fingerprint mode, to 48 bits of a hash:
//! then two states are taken for one if they are in the same table and agree in these.
//!
//! Invariant: a table is at most 4/5 full, so every probe ends; a slot is free or holds one state.
//! Held by: the tests below, testkit/tests/agreement.rs.

use super::Visited;
use crate::base::fold;
use crate::kernel::State;

/// How many tables.
pub(super) const TABLES: usize = 256;
const LEFT_BITS: u32 = 2;
const RIGHT_BITS: u32 = 6;
/// How many states either half may have for a state to fit a narrow slot.
pub(super) const NARROW_MAX: u32 = (1 << 20) - (1 << (LEFT_BITS + NEIGHBOUR_BITS));
const FINGERPRINT_BITS: i32 = 48;

/// Numbers that differ in these lowest bits only go to the same table: they are neighbours in memory.
const NEIGHBOUR_BITS: u32 = 3;

/// Which table a state belongs to.
#[inline]
pub(super) fn table_of(state: State) -> usize {
    let (left, right) = (state.left >> NEIGHBOUR_BITS, state.right >> NEIGHBOUR_BITS);
    (((right % (1 << RIGHT_BITS)) << LEFT_BITS) | (left % (1 << LEFT_BITS))) as usize
}

/// A number without the bits that follow from its table.
#[inline]
fn rest(number: u32, table_bits: u32) -> u32 {
    let (upper, lower) = (number >> (NEIGHBOUR_BITS + table_bits), number % (1 << NEIGHBOUR_BITS));
    (upper << NEIGHBOUR_BITS) | lower
}

/// The number with this rest, in a table from which these bits follow.
fn with_rest(rest: u32, table_bits: u32, implied: u32) -> u32 {
    let (upper, lower) = (rest >> NEIGHBOUR_BITS, rest % (1 << NEIGHBOUR_BITS));
    (((upper << table_bits) | implied) << NEIGHBOUR_BITS) | lower
}

/// The tables.
pub(super) struct VisitedSet {
    pub(super) tables: Vec<Table>,
    kind: Visited,
    /// Slots are narrow while neither half has more states than this.
    narrow_max: u32,
}

impl VisitedSet {
    pub(super) fn new(kind: Visited, narrow_max: u32) -> Self {
        let tables = (0..TABLES).map(|_| Table::Narrow(Buckets::default())).collect();
        VisitedSet { tables, kind, narrow_max: narrow_max.min(NARROW_MAX) }
    }

    /// Makes room for states whose halves have numbers below these.
    pub(super) fn fit(&mut self, lefts: usize, rights: usize) {
        let narrow = lefts.max(rights) <= self.narrow_max as usize;
        if narrow || !matches!(self.tables[0], Table::Narrow(_)) {
            return;
        }
        for (at, table) in self.tables.iter_mut().enumerate() {
            let wider = match self.kind {
                Visited::Exact => Table::Wide(Buckets::default()),
                Visited::Fingerprint => Table::Fingerprint(Buckets::default()),
            };
            let before = std::mem::replace(table, wider);
            table.insert_all(&before.states(at), |_| {});
        }
    }

    pub(super) fn insert(&mut self, state: State) {
        self.tables[table_of(state)].insert_all(&[state], |_| {});
    }

    /// The states in it; `None` if only their fingerprints are.
    pub(super) fn states(&self) -> Option<impl Iterator<Item = State>> {
        let exact = self.tables.iter().all(|table| !matches!(table, Table::Fingerprint(_)));
        let tables = self.tables.iter().enumerate();
        exact.then(|| tables.flat_map(|(at, table)| table.states(at)))
    }

    pub(super) fn bytes(&self) -> u64 {
        self.tables.iter().map(Table::bytes).sum()
    }

    /// The probability that some state was taken for another, at most; 0 if that is impossible.
    pub(super) fn missed_probability(&self) -> f64 {
        let in_table = |table: &Table| match table {
            Table::Narrow(_) | Table::Wide(_) => 0.0,
            Table::Fingerprint(buckets) => {
                // A missed state is not in the table, so pairs are counted among one more than it holds.
                #[expect(clippy::cast_precision_loss, reason = "a probability, given to two digits")]
                let taken = buckets.taken as f64;
                taken * (taken + 1.0) / 2.0 / 2f64.powi(FINGERPRINT_BITS)
            }
        };
        self.tables.iter().map(in_table).sum::<f64>().min(1.0)
    }
}

/// A table of some kind.
pub(super) enum Table {
    Narrow(Buckets<Narrow, 16>),
    Wide(Buckets<Wide, 8>),
    Fingerprint(Buckets<Fingerprint, 10>),
}

impl Table {
    /// Inserts states; calls `new` with the position of each that was not there.
    pub(super) fn insert_all(&mut self, states: &[State], new: impl FnMut(usize)) {
        match self {
            Table::Narrow(buckets) => buckets.insert_all(states, new),
            Table::Wide(buckets) => buckets.insert_all(states, new),
            Table::Fingerprint(buckets) => buckets.insert_all(states, new),
        }
    }

    fn states(&self, at: usize) -> Vec<State> {
        match self {
            Table::Narrow(buckets) => buckets.slots().map(|slot| slot.state(at)).collect(),
            Table::Wide(buckets) => buckets.slots().map(Wide::state).collect(),
            Table::Fingerprint(_) => Vec::new(),
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Table::Narrow(buckets) => buckets.bytes(),
            Table::Wide(buckets) => buckets.bytes(),
            Table::Fingerprint(buckets) => buckets.bytes(),
        }
    }
}

/// What a slot holds of a state of its table; the default is free.
pub(super) trait Slot: Copy + Default + PartialEq {
    fn of(state: State) -> Self;
    /// Bits that choose the bucket.
    fn place(self) -> u32;
}

/// What does not follow from the table: 18 bits of the left half, 14 of the right, and 1 added.
#[derive(Clone, Copy, Default, PartialEq)]
pub(super) struct Narrow(u32);

impl Narrow {
    fn state(self, table: usize) -> State {
        #[expect(clippy::cast_possible_truncation, reason = "there are few tables")]
        let (table, rest) = (table as u32, self.0 - 1);
        State {
            left: with_rest(rest >> 14, LEFT_BITS, table % (1 << LEFT_BITS)),
            right: with_rest(rest % (1 << 14), RIGHT_BITS, table >> LEFT_BITS),
        }
    }
}

impl Slot for Narrow {
    #[inline]
    fn of(state: State) -> Self {
        Narrow((rest(state.left, LEFT_BITS) << 14 | rest(state.right, RIGHT_BITS)) + 1)
    }

    #[inline]
    fn place(self) -> u32 {
        let x = (self.0 ^ self.0 >> 15).wrapping_mul(0x85eb_ca6b);
        (x ^ x >> 13).wrapping_mul(0xc2b2_ae35)
    }
}

/// The whole state, and 1 added.
#[derive(Clone, Copy, Default, PartialEq)]
pub(super) struct Wide(u64);

impl Wide {
    fn state(self) -> State {
        #[expect(clippy::cast_possible_truncation, reason = "the two halves are wanted")]
        let (left, right) = (((self.0 - 1) >> 32) as u32, (self.0 - 1) as u32);
        State { left, right }
    }
}

impl Slot for Wide {
    #[inline]
    fn of(state: State) -> Self {
        Wide((u64::from(state.left) << 32 | u64::from(state.right)) + 1)
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "32 bits are wanted")]
    fn place(self) -> u32 {
        fold(self.0, 0xd6e8_feb8_6659_fd93) as u32
    }
}

/// 48 bits of a hash of the state.
#[derive(Clone, Copy, Default, PartialEq)]
pub(super) struct Fingerprint([u16; 3]);

impl Slot for Fingerprint {
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "48 bits are wanted")]
    fn of(state: State) -> Self {
        let hash = fold(Wide::of(state).0 ^ 0x9e37_79b9_7f4a_7c15, 0xd6e8_feb8_6659_fd93);
        let bits = [hash as u16, (hash >> 16) as u16, (hash >> 32) as u16];
        // A fingerprint of 0 would look like a free slot.
        Fingerprint(if bits == [0; 3] { [1, 0, 0] } else { bits })
    }

    #[inline]
    fn place(self) -> u32 {
        u32::from(self.0[0]) | u32::from(self.0[1]) << 16
    }
}

/// A cache line of slots, taken from the front.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Bucket<S, const N: usize>([S; N]);

impl<S: Slot, const N: usize> Bucket<S, N> {
    /// Looks at every slot: one branch that is hard to predict is cheaper than several.
    #[inline]
    #[expect(clippy::needless_bitwise_bool, reason = "no branches is the point")]
    fn holds(&self, slot: S) -> bool {
        self.0.iter().fold(false, |held, other| held | (*other == slot))
    }

    /// Takes a slot that it does not hold, if it has room.
    #[inline]
    fn take(&mut self, slot: S) -> bool {
        let taken = self.0.iter().filter(|slot| **slot != S::default()).count();
        let free = self.0.get_mut(taken);
        let room = free.is_some();
        if let Some(free) = free {
            *free = slot;
        }
        room
    }
}

/// How many look-ups ahead the bucket of a state is prefetched.
const AHEAD: usize = 24;

/// Open addressing by buckets: what does not fit its own bucket goes to the next one that has room.
pub(super) struct Buckets<S, const N: usize> {
    buckets: Vec<Bucket<S, N>>,
    taken: usize,
}

impl<S: Slot, const N: usize> Default for Buckets<S, N> {
    fn default() -> Self {
        Buckets { buckets: vec![Bucket([S::default(); N]); 4], taken: 0 }
    }
}

impl<S: Slot, const N: usize> Buckets<S, N> {
    /// The slots that are taken.
    fn slots(&self) -> impl Iterator<Item = S> {
        self.buckets.iter().flat_map(|bucket| bucket.0).filter(|slot| *slot != S::default())
    }

    fn insert_all(&mut self, states: &[State], mut new: impl FnMut(usize)) {
        // PERF: asking for buckets ahead of time hides the way to memory (docs/decisions/0003).
        for state in states.iter().take(AHEAD) {
            self.prefetch(S::of(*state));
        }
        for (at, state) in states.iter().enumerate() {
            if let Some(later) = states.get(at + AHEAD) {
                self.prefetch(S::of(*later));
            }
            if self.insert(S::of(*state)) {
                new(at);
            }
        }
    }

    /// Asks for the bucket of a slot, which will be needed soon.
    #[inline]
    #[cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "there is no safe way to prefetch"))]
    fn prefetch(&self, slot: S) {
        let home = &raw const self.buckets[self.home(slot)];
        #[cfg(target_arch = "x86_64")]
        // SAFETY: prefetching reads nothing; the address is that of an element of the vector besides.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(home.cast());
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = home;
    }

    #[inline]
    fn insert(&mut self, slot: S) -> bool {
        let mut at = self.home(slot);
        while !self.buckets[at].holds(slot) {
            if self.buckets[at].take(slot) {
                self.taken += 1;
                if self.taken * 5 > self.buckets.len() * N * 4 {
                    self.grow();
                }
                return true;
            }
            at = self.after(at);
        }
        false
    }

    #[inline]
    fn home(&self, slot: S) -> usize {
        ((u64::from(slot.place()) * self.buckets.len() as u64) >> 32) as usize
    }

    #[inline]
    fn after(&self, at: usize) -> usize {
        if at + 1 == self.buckets.len() { 0 } else { at + 1 }
    }

    fn grow(&mut self) {
        let larger = vec![Bucket([S::default(); N]); self.buckets.len() / 2 * 3];
        let before = std::mem::replace(&mut self.buckets, larger);
        for bucket in &before {
            for slot in bucket.0.iter().take_while(|slot| **slot != S::default()) {
                let mut at = self.home(*slot);
                while !self.buckets[at].take(*slot) {
                    at = self.after(at);
                }
            }
        }
    }

    fn bytes(&self) -> u64 {
        (self.buckets.capacity() * size_of::<Bucket<S, N>>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// Many states, some of them twice, with halves below a bound.
    fn some_states(count: u32, bound: u32) -> impl Iterator<Item = State> {
        let scattered = move |n: u32| n.wrapping_mul(0x9e37_79b9) % bound;
        (0..count).map(move |n| State { left: scattered(n % (count / 2)), right: scattered(n % (count / 3)) })
    }

    #[test]
    fn a_narrow_slot_and_its_table_are_the_state() {
        let last = NARROW_MAX - 1;
        for state in some_states(10_000, NARROW_MAX).chain([State { left: last, right: last }]) {
            assert_eq!(Narrow::of(state).state(table_of(state)), state);
            assert!(Narrow::of(state) != Narrow::default());
        }
    }

    /// Inserts states below the bound for narrow slots, then some beyond.
    fn inserts_once(kind: Visited) {
        let mut set = VisitedSet::new(kind, NARROW_MAX);
        let mut expected = HashSet::new();
        for bound in [NARROW_MAX, u32::MAX] {
            set.fit(bound as usize, bound as usize);
            for state in some_states(100_000, bound) {
                let mut new = false;
                set.tables[table_of(state)].insert_all(&[state], |_| new = true);
                assert_eq!(new, expected.insert((state.left, state.right)), "{state:?}");
            }
        }
        assert!(expected.len() > 100_000);
        assert_eq!(set.missed_probability() > 0.0, kind == Visited::Fingerprint);
    }

    #[test]
    fn exact_set_inserts_each_state_once() {
        inserts_once(Visited::Exact);
    }

    #[test]
    fn fingerprints_of_few_states_do_not_collide() {
        inserts_once(Visited::Fingerprint);
    }

    #[test]
    fn states_inserted_together_are_distinguished() {
        let states: Vec<State> = some_states(500_000, 5000).filter(|state| table_of(*state) == 0).collect();
        let (mut table, mut new) = (Table::Narrow(Buckets::default()), Vec::new());
        table.insert_all(&states, |at| new.push(states[at]));
        let distinct: HashSet<_> = states.iter().map(|state| (state.left, state.right)).collect();
        assert_eq!(new.len(), distinct.len());
        assert!(new.len() > 100 && new.len() < states.len());
    }
}
