//! What threads share, as in [`std::sync`]: the same names over Shuttle's primitives.
//!
//! In a run of a component every operation says what it is before it happens, so that a scheduler knows which
//! orders make a difference. Anywhere else under Shuttle these are Shuttle's primitives and nothing more.
//! Known: everything is sequentially consistent, whatever ordering is asked for; waiting threads do not wake
//! spuriously; what is made outside of a run cannot be used in one.

pub mod atomic;
mod condvar;
pub mod mpsc;
mod mutex;
mod rwlock;

pub use condvar::Condvar;
pub use mutex::{Mutex, MutexGuard};
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use std::sync::{Arc, LockResult, PoisonError, TryLockError, TryLockResult, Weak};

use crate::conductor::{is_conducted, new_object, reach};
use crate::shared::Request;
use crate::step::{Act, Object};

/// The name of something shared, if it was made in a run.
#[derive(Clone, Copy, Debug)]
struct Named(Option<Object>);

impl Named {
    fn new() -> Self {
        Named(new_object())
    }

    /// Says what is about to be done with it, and waits until that may be done.
    fn reach(self, request: impl FnOnce(Object) -> Request) -> Option<Act> {
        let Some(object) = self.0 else {
            let is_ours = !is_conducted() || std::thread::panicking();
            assert!(is_ours, "what threads of a component share must be made in its main function");
            return None;
        };
        reach(request(object))
    }
}

/// The same result with something made of what it holds.
fn map_lock<G, H>(result: LockResult<G>, make: impl FnOnce(G) -> H) -> LockResult<H> {
    match result {
        Ok(guard) => Ok(make(guard)),
        Err(poisoned) => Err(PoisonError::new(make(poisoned.into_inner()))),
    }
}

/// The same result of an attempt with something made of what it holds.
fn map_try_lock<G, H>(result: TryLockResult<G>, make: impl FnOnce(G) -> H) -> TryLockResult<H> {
    match result {
        Ok(guard) => Ok(make(guard)),
        Err(TryLockError::Poisoned(poisoned)) => {
            Err(TryLockError::Poisoned(PoisonError::new(make(poisoned.into_inner()))))
        }
        Err(TryLockError::WouldBlock) => Err(TryLockError::WouldBlock),
    }
}
