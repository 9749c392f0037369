//! What the global explorer learns, as records in a log: a search that was killed goes on from them.
//!
//! From: DEMETER, section 4.3: the global explorer logs what it learns, so that it can be restarted. `record.rs` has
//! the records; where they are stored is up to the caller.
//! Held by: quorate-cli/tests/resume.rs (killed at random moments).

mod record;

pub(super) use record::{Judged, LoggedEvent, LoggedPoint, LoggedWhat, Record};

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

/// Stores the records of a log.
pub trait LogStore: Send {
    /// All records so far, in order.
    fn read(&mut self) -> Result<Vec<Vec<u64>>, String>;

    /// Adds a record; it need not be safe yet.
    fn append(&mut self, record: &[u64]) -> Result<(), String>;

    /// Makes all records so far safe: they survive the end of the program.
    fn commit(&mut self) -> Result<(), String>;
}

/// The log of a search: a store that can be shared.
#[derive(Clone)]
pub struct ProgressLog(Arc<Mutex<dyn LogStore>>);

impl ProgressLog {
    /// A log in this store.
    pub fn new(store: impl LogStore + 'static) -> Self {
        ProgressLog(Arc::new(Mutex::new(store)))
    }

    pub(super) fn with<T>(&self, use_store: impl FnOnce(&mut dyn LogStore) -> T) -> T {
        use_store(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for ProgressLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProgressLog")
    }
}

impl PartialEq for ProgressLog {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for ProgressLog {}

/// A hash that is the same in every operating-system process.
pub(super) fn hash128(value: &impl Hash) -> u128 {
    let half = |salt: u64| {
        let mut hasher = DefaultHasher::new();
        hasher.write_u64(salt);
        value.hash(&mut hasher);
        hasher.finish()
    };
    u128::from(half(0)) << 64 | u128::from(half(1))
}
