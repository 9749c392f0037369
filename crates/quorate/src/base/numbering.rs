//! The tables of the kernel: numbers for values and for lists of numbers, and a map from pairs of numbers to numbers.

use std::hash::{Hash, Hasher};

use super::value::fold;

/// Which number a value has, where the values are kept by somebody else: open addressing, linear probing, never
/// shrinking.
///
/// PERF: a byte of each hash stands apart, so that values are compared only where it agrees: nine tenths of the other
/// look-ups at values on the way, each a line that is not in the cache, are gone.
/// Invariant: at most 3 of 4 slots are taken, so every probe ends; a slot is free if its byte is 0.
#[derive(Clone)]
struct NumberTable {
    tags: Vec<u8>,
    slots: Vec<u32>,
    taken: usize,
}

impl Default for NumberTable {
    fn default() -> Self {
        NumberTable { tags: vec![0; 16], slots: vec![FREE; 16], taken: 0 }
    }
}

impl NumberTable {
    /// The number with this hash of which `is` says that it is the one, or where it would go.
    #[inline]
    fn find(&self, hash: u64, is: impl Fn(u32) -> bool) -> Result<u32, usize> {
        self.slot(hash, is).map(|at| self.slots[at])
    }

    /// The slot with this hash of whose number `is` says that it is the one, or where it would go.
    #[inline]
    fn slot(&self, hash: u64, is: impl Fn(u32) -> bool) -> Result<usize, usize> {
        let (mut at, wanted) = (place(hash, self.slots.len()), tag(hash));
        loop {
            let tag = self.tags[at];
            if tag == 0 {
                return Err(at);
            }
            if tag == wanted && is(self.slots[at]) {
                return Ok(at);
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    /// Puts a number where [`NumberTable::find`] has said.
    fn insert(&mut self, at: usize, hash: u64, number: u32, hash_of: impl Fn(u32) -> u64) {
        (self.tags[at], self.slots[at]) = (tag(hash), number);
        self.taken += 1;
        if self.taken * 4 > self.slots.len() * 3 {
            let size = self.slots.len() * 2;
            self.tags = vec![0; size];
            let before = std::mem::replace(&mut self.slots, vec![FREE; size]);
            for number in before.into_iter().filter(|number| *number != FREE) {
                let hash = hash_of(number);
                let mut at = place(hash, size);
                while self.tags[at] != 0 {
                    at = (at + 1) & (size - 1);
                }
                (self.tags[at], self.slots[at]) = (tag(hash), number);
            }
        }
    }

    fn bytes(&self) -> usize {
        self.tags.capacity() + self.slots.capacity() * size_of::<u32>()
    }
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "masked to the size of the table")]
fn place(hash: u64, slots: usize) -> usize {
    (hash ^ hash >> 32) as usize & (slots - 1)
}

/// A byte of a hash that says little about its place, and is not 0.
#[inline]
fn tag(hash: u64) -> u8 {
    (hash >> 56) as u8 | 1
}

/// Gives each distinct value a number, from 0 in the order of discovery.
#[derive(Clone)]
pub(crate) struct Numbering<T> {
    numbers: NumberTable,
    values: Vec<T>,
}

impl<T> Default for Numbering<T> {
    fn default() -> Self {
        Numbering { numbers: NumberTable::default(), values: Vec::new() }
    }
}

impl<T: Eq + Hash> Numbering<T> {
    pub(crate) fn number(&mut self, value: T) -> u32 {
        let hash = hash_of(&value);
        match self.numbers.find(hash, |number| self.values[number as usize] == value) {
            Ok(number) => number,
            Err(at) => {
                let number = next_number(self.values.len());
                self.values.push(value);
                let values = &self.values;
                self.numbers.insert(at, hash, number, |number| hash_of(&values[number as usize]));
                number
            }
        }
    }

    /// Gives a value the next number, also if it has one: then it has two, and is found by the later one.
    pub(crate) fn append(&mut self, value: T) -> u32 {
        let is = |number: u32| self.values[number as usize] == value;
        let Ok(slot) = self.numbers.slot(hash_of(&value), is) else { return self.number(value) };
        let number = next_number(self.values.len());
        self.numbers.slots[slot] = number;
        self.values.push(value);
        number
    }

    /// The number of a value, if it has one.
    pub(crate) fn find(&self, value: &T) -> Option<u32> {
        self.numbers.find(hash_of(value), |number| self.values[number as usize] == *value).ok()
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
        (self.values.capacity() * size_of::<T>() + self.numbers.bytes()) as u64
    }
}

fn hash_of<T: Hash>(value: &T) -> u64 {
    let mut hasher = FoldHasher::default();
    value.hash(&mut hasher);
    hasher.finish()
}

fn next_number(length: usize) -> u32 {
    u32::try_from(length).ok().filter(|number| *number != FREE).expect("fewer than 2^32 - 1 distinct values")
}

/// Gives each distinct list of numbers a number, from 0 in the order of discovery: as [`Numbering`], with all lists in
/// one place.
#[derive(Clone)]
pub(crate) struct Lists {
    numbers: NumberTable,
    /// Where each list begins, and where the last one ends.
    starts: Vec<u32>,
    elements: Vec<u32>,
}

impl Default for Lists {
    fn default() -> Self {
        Lists { numbers: NumberTable::default(), starts: vec![0], elements: Vec::new() }
    }
}

impl Lists {
    pub(crate) fn number(&mut self, list: &[u32]) -> u32 {
        let Lists { numbers, starts, elements } = self;
        let hash = hash_of_list(list);
        match numbers.find(hash, |number| list_at(starts, elements, number) == list) {
            Ok(number) => number,
            Err(at) => {
                let number = next_number(starts.len() - 1);
                elements.extend_from_slice(list);
                starts.push(u32::try_from(elements.len()).expect("fewer than 2^32 elements of lists"));
                numbers.insert(at, hash, number, |number| hash_of_list(list_at(starts, elements, number)));
                number
            }
        }
    }

    /// The number of a list, if it has one.
    pub(crate) fn find(&self, list: &[u32]) -> Option<u32> {
        let is = |number: u32| list_at(&self.starts, &self.elements, number) == list;
        self.numbers.find(hash_of_list(list), is).ok()
    }

    #[inline]
    pub(crate) fn list(&self, number: u32) -> &[u32] {
        list_at(&self.starts, &self.elements, number)
    }

    pub(crate) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    pub(crate) fn bytes(&self) -> u64 {
        (self.numbers.bytes() + (self.starts.capacity() + self.elements.capacity()) * size_of::<u32>()) as u64
    }
}

#[inline]
fn list_at<'l>(starts: &[u32], elements: &'l [u32], number: u32) -> &'l [u32] {
    let at = number as usize;
    &elements[starts[at] as usize..starts[at + 1] as usize]
}

#[inline]
fn hash_of_list(list: &[u32]) -> u64 {
    let pairs = list.chunks(2).map(|pair| u64::from(pair[0]) | u64::from(*pair.get(1).unwrap_or(&0)) << 32);
    pairs.fold(list.len() as u64, |hash, word| {
        fold(hash ^ word ^ 0x9e37_79b9_7f4a_7c15, 0xd6e8_feb8_6659_fd93)
    })
}

/// Distinct rows of numbers, all of one width, in the order in which they were put in.
pub(crate) struct Rows {
    width: usize,
    numbers: NumberTable,
    elements: Vec<u32>,
    count: usize,
}

impl Rows {
    pub(crate) fn new(width: usize) -> Self {
        Rows { width, numbers: NumberTable::default(), elements: Vec::new(), count: 0 }
    }

    /// Puts in a row. Says where it is if it is new.
    pub(crate) fn insert(&mut self, row: &[u32]) -> Option<u32> {
        let Rows { width, numbers, elements, count } = self;
        let at = |number: u32| &elements[number as usize * *width..][..*width];
        let hash = hash_of_list(row);
        let place = numbers.find(hash, |number| at(number) == row).err()?;
        let number = next_number(*count);
        *count += 1;
        elements.extend_from_slice(row);
        let at = |number: u32| &elements[number as usize * *width..][..*width];
        numbers.insert(place, hash, number, |number| hash_of_list(at(number)));
        Some(number)
    }

    pub(crate) fn row(&self, number: u32) -> &[u32] {
        &self.elements[number as usize * self.width..][..self.width]
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    pub(crate) fn bytes(&self) -> u64 {
        (self.numbers.bytes() + self.elements.capacity() * size_of::<u32>()) as u64
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
