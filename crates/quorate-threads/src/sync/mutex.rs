//! [`Mutex`].

use std::ops::{Deref, DerefMut};

use super::{LockResult, Named, TryLockError, TryLockResult, map_lock, map_try_lock};
use crate::shared::Request;
use crate::step::{Act, Hold, Need};

/// A lock, as [`std::sync::Mutex`].
#[derive(Debug)]
pub struct Mutex<T> {
    pub(super) name: Named,
    pub(super) inner: shuttle::sync::Mutex<T>,
}

/// A lock that is held, as [`std::sync::MutexGuard`].
#[derive(Debug)]
pub struct MutexGuard<'m, T> {
    pub(super) mutex: &'m Mutex<T>,
    /// Nothing only while a condition variable has it.
    pub(super) inner: Option<shuttle::sync::MutexGuard<'m, T>>,
}

impl<T> Mutex<T> {
    /// A lock around a value.
    pub fn new(value: T) -> Self {
        Mutex { name: Named::new(), inner: shuttle::sync::Mutex::new(value) }
    }

    /// Takes the lock, as [`std::sync::Mutex::lock`].
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        self.name.reach(|lock| Request::Acquire(lock, Hold::Exclusive, Need::Must));
        map_lock(self.inner.lock(), |guard| self.guard(guard))
    }

    /// Takes the lock if it is free, as [`std::sync::Mutex::try_lock`].
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        match self.name.reach(|lock| Request::Acquire(lock, Hold::Exclusive, Need::Tries)) {
            Some(Act::Busy(..)) => Err(TryLockError::WouldBlock),
            _ => map_try_lock(self.inner.try_lock(), |guard| self.guard(guard)),
        }
    }

    /// The value, as [`std::sync::Mutex::into_inner`].
    pub fn into_inner(self) -> LockResult<T> {
        self.inner.into_inner()
    }

    pub(super) fn guard<'m>(&'m self, inner: shuttle::sync::MutexGuard<'m, T>) -> MutexGuard<'m, T> {
        MutexGuard { mutex: self, inner: Some(inner) }
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Mutex::new(T::default())
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.inner.as_ref().expect("the lock is held")
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.inner.as_mut().expect("the lock is held")
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        if self.inner.is_some() {
            self.mutex.name.reach(|lock| Request::Release(lock, Hold::Exclusive));
        }
    }
}
