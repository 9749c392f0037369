//! The two tables of the kernel: numbers for values, and a map from pairs of numbers to numbers.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

use crate::protocol::fold;

/// Gives each distinct value a number, from 0 in the order of discovery.
pub(super) struct Interner<T> {
    numbers: HashMap<T, u32, BuildHasherDefault<FoldHasher>>,
    values: Vec<T>,
}

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Interner { numbers: HashMap::default(), values: Vec::new() }
    }
}

impl<T: Clone + Eq + Hash> Interner<T> {
    pub(super) fn number(&mut self, value: T) -> u32 {
        if let Some(&number) = self.numbers.get(&value) {
            return number;
        }
        let number = u32::try_from(self.values.len()).expect("fewer than 2^32 distinct values");
        self.values.push(value.clone());
        self.numbers.insert(value, number);
        number
    }

    pub(super) fn value(&self, number: u32) -> &T {
        &self.values[number as usize]
    }

    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    pub(super) fn bytes(&self) -> u64 {
        (self.values.capacity() * size_of::<T>() + self.numbers.capacity() * (size_of::<(T, u32)>() + 1))
            as u64
    }
}

/// A fast hash for tables in memory.
#[derive(Default)]
pub(super) struct FoldHasher(u64);

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
pub(super) struct PairMap {
    slots: Vec<(u64, u32)>,
    taken: usize,
}

const FREE: u32 = u32::MAX;

impl Default for PairMap {
    fn default() -> Self {
        PairMap { slots: vec![(0, FREE); 64], taken: 0 }
    }
}

impl PairMap {
    #[inline]
    pub(super) fn get(&self, a: u32, b: u32) -> Option<u32> {
        let key = key(a, b);
        let mut at = self.home(key);
        loop {
            let (found, value) = self.slots[at];
            if value == FREE {
                return None;
            }
            if found == key {
                return Some(value);
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    /// Adds a pair that is not in the map.
    pub(super) fn insert(&mut self, a: u32, b: u32, value: u32) {
        debug_assert!(value != FREE && self.get(a, b).is_none());
        if (self.taken + 1) * 4 > self.slots.len() * 3 {
            let larger = vec![(0, FREE); self.slots.len() * 2];
            let before = std::mem::replace(&mut self.slots, larger);
            for (key, value) in before.into_iter().filter(|(_, value)| *value != FREE) {
                self.place(key, value);
            }
        }
        self.taken += 1;
        self.place(key(a, b), value);
    }

    fn place(&mut self, key: u64, value: u32) {
        let mut at = self.home(key);
        while self.slots[at].1 != FREE {
            at = (at + 1) & (self.slots.len() - 1);
        }
        self.slots[at] = (key, value);
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "masked to the size of the table")]
    fn home(&self, key: u64) -> usize {
        fold(key ^ 0x9e37_79b9_7f4a_7c15, 0xd6e8_feb8_6659_fd93) as usize & (self.slots.len() - 1)
    }

    pub(super) fn bytes(&self) -> u64 {
        (self.slots.capacity() * size_of::<(u64, u32)>()) as u64
    }
}

fn key(a: u32, b: u32) -> u64 {
    u64::from(a) << 32 | u64::from(b)
}
