//! The two tables of the kernel: numbers for values, and a map from pairs of numbers to numbers.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

use super::value::fold;

/// Gives each distinct value a number, from 0 in the order of discovery.
#[derive(Clone)]
pub(crate) struct Numbering<T> {
    numbers: HashMap<T, u32, BuildHasherDefault<FoldHasher>>,
    values: Vec<T>,
}

impl<T> Default for Numbering<T> {
    fn default() -> Self {
        Numbering { numbers: HashMap::default(), values: Vec::new() }
    }
}

impl<T: Clone + Eq + Hash> Numbering<T> {
    pub(crate) fn number(&mut self, value: T) -> u32 {
        if let Some(&number) = self.numbers.get(&value) {
            return number;
        }
        self.append(value)
    }

    /// Gives a value the next number, also if it has one: then it has two, and is found by the later one.
    pub(crate) fn append(&mut self, value: T) -> u32 {
        let number = u32::try_from(self.values.len()).expect("fewer than 2^32 distinct values");
        self.values.push(value.clone());
        self.numbers.insert(value, number);
        number
    }

    /// The number of a value, if it has one.
    pub(crate) fn find(&self, value: &T) -> Option<u32> {
        self.numbers.get(value).copied()
    }

    /// All values, in the order of their numbers.
    pub(crate) fn values(&self) -> &[T] {
        &self.values
    }

    pub(crate) fn value(&self, number: u32) -> &T {
        &self.values[number as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    pub(crate) fn bytes(&self) -> u64 {
        (self.values.capacity() * size_of::<T>() + self.numbers.capacity() * (size_of::<(T, u32)>() + 1))
            as u64
    }
}

/// A fast hash for tables in memory.
#[derive(Default)]
pub(crate) struct FoldHasher(u64);

impl Hasher for FoldHasher {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, word: u8) {
        self.write_u64(u64::from(word));
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = fold(self.0 ^ word ^ 0x9e37_79b9_7f4a_7c15, 0xd6e8_feb8_6659_fd93);
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// A map from pairs of numbers to numbers: open addressing, linear probing, never shrinking.
///
/// Invariant: at most 3 of 4 slots are taken, so every probe ends.
pub(crate) struct PairMap {
    slots: Vec<[u32; 3]>,
    taken: usize,
}

const FREE: u32 = u32::MAX;

impl Default for PairMap {
    fn default() -> Self {
        PairMap { slots: vec![[0, 0, FREE]; 64], taken: 0 }
    }
}

impl PairMap {
    #[inline]
    pub(crate) fn get(&self, a: u32, b: u32) -> Option<u32> {
        let mut at = home(a, b, self.slots.len());
        loop {
            let slot = self.slots[at];
            if slot[2] == FREE {
                return None;
            }
            if slot[0] == a && slot[1] == b {
                return Some(slot[2]);
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    /// Adds a pair that is not in the map.
    pub(crate) fn insert(&mut self, a: u32, b: u32, value: u32) {
        debug_assert!(value != FREE && self.get(a, b).is_none());
        if (self.taken + 1) * 4 > self.slots.len() * 3 {
            let larger = vec![[0, 0, FREE]; self.slots.len() * 2];
            let before = std::mem::replace(&mut self.slots, larger);
            before.into_iter().filter(|slot| slot[2] != FREE).for_each(|slot| self.place(slot));
        }
        self.taken += 1;
        self.place([a, b, value]);
    }

    fn place(&mut self, slot: [u32; 3]) {
        let mut at = home(slot[0], slot[1], self.slots.len());
        while self.slots[at][2] != FREE {
            at = (at + 1) & (self.slots.len() - 1);
        }
        self.slots[at] = slot;
    }

    pub(crate) fn bytes(&self) -> u64 {
        (self.slots.capacity() * size_of::<[u32; 3]>()) as u64
    }
}

/// Numbers for pairs of numbers, from 0 in the order of discovery.
#[derive(Default)]
pub(crate) struct Pairs {
    numbers: PairMap,
    pairs: Vec<(u32, u32)>,
}

impl Pairs {
    pub(crate) fn len(&self) -> usize {
        self.pairs.len()
    }

    pub(crate) fn pair(&self, number: u32) -> (u32, u32) {
        self.pairs[number as usize]
    }

    pub(crate) fn find(&self, a: u32, b: u32) -> Option<u32> {
        self.numbers.get(a, b)
    }

    pub(crate) fn number(&mut self, a: u32, b: u32) -> u32 {
        if let Some(known) = self.find(a, b) {
            return known;
        }
        let number = u32::try_from(self.pairs.len()).ok().filter(|number| *number != FREE);
        let number = number.expect("fewer than 2^32 - 1 states of a group of processes");
        self.pairs.push((a, b));
        self.numbers.insert(a, b, number);
        number
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.numbers.bytes() + (self.pairs.capacity() * size_of::<(u32, u32)>()) as u64
    }
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "masked to the size of the table")]
fn home(a: u32, b: u32, slots: usize) -> usize {
    let key = u64::from(a) << 32 | u64::from(b);
    fold(key ^ 0x9e37_79b9_7f4a_7c15, 0xd6e8_feb8_6659_fd93) as usize & (slots - 1)
}
