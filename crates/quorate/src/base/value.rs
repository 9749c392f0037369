//! Values of the user's types with their type erased.
//!
//! The kernel, the engines and replay are compiled once, for every protocol: they see local states,
//! messages, events and observations as [`Value`]s, which can be compared, hashed and printed.
//!
//! Invariant: two values of different types are never equal; equal values have equal content hashes, and
//! the content hash does not depend on the run, the thread or the order of discovery.

use std::any::Any;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// What a type needs to be a local state, a message, an event or an observation.
pub trait Content: Eq + Hash + fmt::Debug + Send + Sync + 'static {}
impl<T: Eq + Hash + fmt::Debug + Send + Sync + 'static> Content for T {}

trait AnyContent: Any + fmt::Debug + Send + Sync {
    fn same(&self, other: &dyn AnyContent) -> bool;
    fn feed(&self, hasher: &mut ContentHasher);
    fn type_name(&self) -> &'static str;
}

impl<T: Content> AnyContent for T {
    fn same(&self, other: &dyn AnyContent) -> bool {
        (other as &dyn Any).downcast_ref::<T>().is_some_and(|other| self == other)
    }

    fn feed(&self, hasher: &mut ContentHasher) {
        self.hash(hasher);
    }

    fn type_name(&self) -> &'static str {
        std::any::type_name::<T>()
    }
}

/// A value of some type of the user's, cheap to clone.
#[derive(Clone)]
pub struct Value {
    hash: u64,
    content: Arc<dyn AnyContent>,
}

impl Value {
    /// Erases the type of a value.
    pub fn new<T: Content>(content: T) -> Self {
        let mut hasher = ContentHasher::default();
        content.feed(&mut hasher);
        Value { hash: hasher.finish(), content: Arc::new(content) }
    }

    /// The value as what it was made from; `None` if it was made from another type.
    pub fn get<T: Content>(&self) -> Option<&T> {
        (&*self.content as &dyn Any).downcast_ref()
    }

    /// As [`Value::get`], where a wrong type can only be a mistake of this crate.
    pub(crate) fn expect<T: Content>(&self) -> &T {
        self.get().expect("values are only handed to the code that made them")
    }

    /// The type it was made from, for messages to the user.
    pub(crate) fn type_name(&self) -> &'static str {
        self.content.type_name()
    }

    /// Does it equal itself, as every value should? A floating-point number that is none does not.
    pub(crate) fn equals_itself(&self) -> bool {
        self.content.same(&*self.content)
    }

    /// A hash of the content, the same in every run.
    pub fn content_hash(&self) -> u64 {
        self.hash
    }

    /// An order that depends on the contents alone, never on when a value was first seen.
    pub fn content_order(&self, other: &Self) -> Ordering {
        self.hash.cmp(&other.hash)
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && self.content.same(&*other.content)
    }
}

impl Eq for Value {}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.content.fmt(f)
    }
}

/// A hash whose result never changes between runs, unlike that of the standard library.
#[derive(Default)]
struct ContentHasher {
    state: u64,
    length: u64,
}

impl ContentHasher {
    fn absorb(&mut self, word: u64) {
        self.state = fold(self.state ^ word ^ 0x9e37_79b9_7f4a_7c15, 0xd6e8_feb8_6659_fd93);
    }
}

/// Both halves of the 128-bit product: every bit of the result depends on every bit of both factors.
pub(crate) fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    #[expect(clippy::cast_possible_truncation, reason = "the two halves are wanted")]
    let halves = (product as u64, (product >> 64) as u64);
    halves.0 ^ halves.1
}

impl Hasher for ContentHasher {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.absorb(u64::from_le_bytes(word));
        }
        self.length += bytes.len() as u64;
    }

    fn finish(&self) -> u64 {
        fold(self.state ^ self.length, 0xa076_1d64_78bd_642f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn values_of_different_types_differ() {
        assert_ne!(Value::new(7u32), Value::new(7u64));
        assert_eq!(Value::new("a".to_string()), Value::new("a".to_string()));
    }

    #[test]
    fn neighbouring_sets_do_not_collide() {
        // The mistake that made a rival drop states: sets hashed without their length.
        let a = (BTreeSet::from([7]), BTreeSet::<i32>::new());
        let b = (BTreeSet::<i32>::new(), BTreeSet::from([7]));
        assert_ne!(Value::new(a).content_hash(), Value::new(b).content_hash());
    }
}
