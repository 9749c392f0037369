//! [`Condvar`].

use super::{LockResult, MutexGuard, Named, map_lock};
use crate::conductor::reach;
use crate::shared::Request;

/// Where threads wait to be notified, as [`std::sync::Condvar`].
///
/// Whom [`Condvar::notify_one`] wakes is open. Nobody wakes for no reason.
#[derive(Debug)]
pub struct Condvar {
    name: Named,
    inner: shuttle::sync::Condvar,
}

impl Condvar {
    /// A place to wait.
    pub fn new() -> Self {
        Condvar { name: Named::new(), inner: shuttle::sync::Condvar::new() }
    }

    /// Gives the lock back and waits, as [`std::sync::Condvar::wait`].
    pub fn wait<'m, T>(&self, mut guard: MutexGuard<'m, T>) -> LockResult<MutexGuard<'m, T>> {
        let mutex = guard.mutex;
        let held = guard.inner.take().expect("the lock is held");
        drop(guard);
        let (Some(condvar), Some(lock)) = (self.name.0, mutex.name.0) else {
            return map_lock(self.inner.wait(held), |inner| mutex.guard(inner));
        };
        reach(Request::Wait { condvar, lock });
        drop(held);
        reach(Request::Wake { condvar, lock });
        map_lock(mutex.inner.lock(), |inner| mutex.guard(inner))
    }

    /// Waits as long as a condition holds, as [`std::sync::Condvar::wait_while`].
    pub fn wait_while<'m, T, F>(
        &self,
        guard: MutexGuard<'m, T>,
        mut condition: F,
    ) -> LockResult<MutexGuard<'m, T>>
    where
        F: FnMut(&mut T) -> bool,
    {
        let mut guard = guard;
        while condition(&mut guard) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    /// Wakes one of the threads that wait, as [`std::sync::Condvar::notify_one`].
    pub fn notify_one(&self) {
        if self.name.reach(Request::NotifyOne).is_none() {
            self.inner.notify_one();
        }
    }

    /// Wakes all threads that wait, as [`std::sync::Condvar::notify_all`].
    pub fn notify_all(&self) {
        if self.name.reach(Request::NotifyAll).is_none() {
            self.inner.notify_all();
        }
    }
}

impl Default for Condvar {
    fn default() -> Self {
        Condvar::new()
    }
}
