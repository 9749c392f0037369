//! A sign to stop, and how code that is far from whoever raises it heeds it.
//!
//! From: docs/decisions/0017-stop.md. A search works in places that know no watch: quorums are put together, graphs
//! closed, walks taken. Such a place calls [`heed`], which costs a look at a flag. Once the sign is raised it unwinds
//! to the nearest [`Sign::until_raised`], where an engine answers with what it knows.
//! Invariant: a sign that is raised stays raised. Whatever was unwound is not asked for a proof any more.
//! Held by: the tests below, testkit/tests/limits.rs, quorate-cli/tests/limits.rs.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// What a sign says; each is more than the ones before.
const RAISED: u8 = 1;
const INSISTED: u8 = 2;

/// A sign to stop, which any thread may raise and any may look at.
#[derive(Clone, Debug)]
pub(crate) struct Sign {
    says: Arc<AtomicU8>,
    /// Is raised, for whoever holds this, from here on.
    heeds: u8,
}

impl Default for Sign {
    fn default() -> Self {
        Sign { says: Arc::default(), heeds: RAISED }
    }
}

/// What unwinds. Nobody else can make one, so nothing else is taken for it.
pub(crate) struct Halted(());

thread_local! {
    /// What the thread heeds.
    static HEEDED: RefCell<Option<Sign>> = const { RefCell::new(None) };
}

impl Sign {
    /// Asks to stop.
    pub(crate) fn raise(&self) {
        self.says.fetch_max(RAISED, Ordering::Relaxed);
    }

    /// Asks to stop even what the same sign [with grace](Sign::with_grace) still allows.
    pub(crate) fn insist(&self) {
        self.says.fetch_max(INSISTED, Ordering::Relaxed);
    }

    pub(crate) fn is_raised(&self) -> bool {
        self.says.load(Ordering::Relaxed) >= self.heeds
    }

    /// The same sign for work that is nearly done: it is raised when whoever raises it insists.
    pub(crate) fn with_grace(&self) -> Self {
        Sign { heeds: INSISTED, ..self.clone() }
    }

    /// Does something that heeds the sign. An error says that the sign was raised and the work left undone.
    pub(crate) fn until_raised<T>(&self, work: impl FnOnce() -> T) -> Result<T, Halted> {
        panic::catch_unwind(AssertUnwindSafe(|| Heeded(Some(self.clone())).within(work))).map_err(|payload| {
            *payload.downcast::<Halted>().unwrap_or_else(|other| panic::resume_unwind(other))
        })
    }
}

/// What a thread heeds, for another thread to heed too.
pub(crate) struct Heeded(Option<Sign>);

impl Heeded {
    /// What this thread heeds.
    pub(crate) fn here() -> Self {
        Heeded(HEEDED.with_borrow(Clone::clone))
    }

    /// As [`heed`], on whichever thread this is.
    #[inline]
    pub(crate) fn heed(&self) {
        if self.0.as_ref().is_some_and(Sign::is_raised) {
            panic::resume_unwind(Box::new(Halted(())));
        }
    }

    /// Does something on this thread that heeds the same.
    pub(crate) fn within<T>(&self, work: impl FnOnce() -> T) -> T {
        let _before = Before(HEEDED.replace(self.0.clone()));
        work()
    }
}

/// What a thread heeded before, and heeds again when this goes.
struct Before(Option<Sign>);

impl Drop for Before {
    fn drop(&mut self) {
        HEEDED.set(self.0.take());
    }
}

/// Is there a sign to stop?
#[inline]
pub(crate) fn stopped() -> bool {
    HEEDED.with_borrow(|sign| sign.as_ref().is_some_and(Sign::is_raised))
}

/// Goes on, unless there is a sign to stop: then it unwinds to where the sign was taken up. For the loops of an engine
/// that are far from its watch.
#[inline]
pub fn heed() {
    if stopped() {
        panic::resume_unwind(Box::new(Halted(())));
    }
}

/// Does something that can be left out: nothing comes of it if there is a sign to stop before it is done.
pub(crate) fn unless_stopped<T>(work: impl FnOnce() -> T) -> Option<T> {
    HEEDED.with_borrow(Clone::clone).unwrap_or_default().until_raised(work).ok()
}

/// Lets a sign to stop through where panics of other kinds are caught.
pub(super) fn let_through(payload: Box<dyn std::any::Any + Send>) -> Box<dyn std::any::Any + Send> {
    if payload.is::<Halted>() {
        panic::resume_unwind(payload);
    }
    payload
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{catching, in_parallel};

    #[test]
    fn work_ends_where_it_heeds_a_sign() {
        let sign = Sign::default();
        let mut turns = 0;
        let ended: Result<(), Halted> = sign.until_raised(|| {
            loop {
                heed();
                turns += 1;
                if turns == 3 {
                    sign.raise();
                }
            }
        });
        assert!(ended.is_err() && turns == 3);
        assert!(!stopped(), "the sign is heeded by its work alone");
    }

    #[test]
    fn a_sign_passes_through_threads_and_through_the_code_of_users() {
        let sign = Sign::default();
        sign.raise();
        assert!(sign.until_raised(|| in_parallel(&[1, 2, 3], 2, |_| heed())).is_err());
        assert!(sign.until_raised(|| catching(heed)).is_err());
        assert!(
            sign.until_raised(|| catching(|| panic!("of the user's"))).is_ok_and(|caught| caught.is_err())
        );
    }

    #[test]
    fn grace_ends_when_somebody_insists() {
        let sign = Sign::default();
        let grace = sign.with_grace();
        sign.raise();
        assert!(sign.is_raised() && !grace.is_raised());
        assert!(grace.until_raised(heed).is_ok());
        sign.insist();
        sign.raise();
        assert!(sign.is_raised() && grace.until_raised(heed).is_err());
    }
}
