//! Code of the user's is asked again now and then, for its answers are remembered.
//!
//! The first answers of each kind are all asked for again, and a sample of the later ones. What answers differently is
//! noted for good, by name: nothing that was concluded from it is worth anything.
//! Known: a sample is no proof. What answers differently only now and then may not be noticed.
//! Held by: testkit/tests/purity.rs.

use std::fmt::{self, Debug};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The first answers of each kind are all asked for again.
const FIRST_ANSWERS: u64 = 16;
/// Of the later ones, one in so many.
const SAMPLE: u64 = 64;
/// How many of each kind are asked for once more at the end.
pub(crate) const LATE_MAX: usize = 256;

/// Is this answer of a kind, counted from 1, one to ask for again?
pub(crate) fn is_due(answer: u64) -> bool {
    answer <= FIRST_ANSWERS || answer.is_multiple_of(SAMPLE)
}

/// What is known of code that is asked from anywhere: how often it answered, and whether an answer was another than
/// before.
#[derive(Default)]
pub(crate) struct AskedAgain {
    answers: AtomicU64,
    impure: OnceLock<String>,
}

impl AskedAgain {
    /// There is one more answer: is it one to ask for again?
    pub(crate) fn is_due(&self) -> bool {
        is_due(self.answers.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Compares an answer with the one that was given before.
    pub(crate) fn compare<T: PartialEq + Debug>(
        &self,
        who: impl FnOnce() -> String,
        of: &dyn Debug,
        (first, again): (&T, &T),
    ) {
        if first != again && self.impure.get().is_none() {
            _ = self.impure.set(no_function(&who(), of, &format!("{first:?}"), &format!("{again:?}")));
        }
    }

    /// Notes a value that does not equal itself: whatever is remembered by it is not found again.
    pub(crate) fn note_unequal(&self, who: impl FnOnce() -> String) {
        if self.impure.get().is_none() {
            _ = self.impure.set(not_itself(&who()));
        }
    }

    /// What answered differently when it was asked again, and how.
    pub(crate) fn impure(&self) -> Option<&str> {
        self.impure.get().map(String::as_str)
    }
}

impl Debug for AskedAgain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AskedAgain").field("impure", &self.impure()).finish_non_exhaustive()
    }
}

/// Says that somebody answers differently when asked twice.
pub(crate) fn no_function(who: &str, of: &dyn Debug, first: &str, again: &str) -> String {
    format!(
        "{who} is not a function of its inputs (a clock, a random number, the order of a hash map?): in state {of:?} it \
         first answered {first}, then {again}"
    )
}

/// Says that a value does not equal itself.
pub(crate) fn not_itself(who: &str) -> String {
    format!(
        "{who} is not equal to itself (a floating-point number that is none?), so what is remembered of it is not found again"
    )
}
