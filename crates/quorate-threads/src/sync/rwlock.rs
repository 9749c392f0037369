//! [`RwLock`].

use std::ops::{Deref, DerefMut};

use super::{LockResult, Named, TryLockError, TryLockResult, map_lock, map_try_lock};
use crate::shared::Request;
use crate::step::{Act, Hold, Need};

/// A lock that many readers or one writer can hold, as [`std::sync::RwLock`].
#[derive(Debug)]
pub struct RwLock<T> {
    name: Named,
    inner: shuttle::sync::RwLock<T>,
}

/// A lock that is held to read, as [`std::sync::RwLockReadGuard`].
#[derive(Debug)]
pub struct RwLockReadGuard<'l, T> {
    _held: Held,
    inner: shuttle::sync::RwLockReadGuard<'l, T>,
}

/// A lock that is held to write, as [`std::sync::RwLockWriteGuard`].
#[derive(Debug)]
pub struct RwLockWriteGuard<'l, T> {
    _held: Held,
    inner: shuttle::sync::RwLockWriteGuard<'l, T>,
}

/// Announces that a lock is given back, just before it is: fields are dropped in their order.
#[derive(Debug)]
struct Held {
    name: Named,
    hold: Hold,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.name.reach(|lock| Request::Release(lock, self.hold));
    }
}

impl<T> RwLock<T> {
    /// A lock around a value.
    pub fn new(value: T) -> Self {
        RwLock { name: Named::new(), inner: shuttle::sync::RwLock::new(value) }
    }

    /// Takes the lock to read, as [`std::sync::RwLock::read`].
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        self.name.reach(|lock| Request::Acquire(lock, Hold::Shared, Need::Must));
        map_lock(self.inner.read(), |inner| RwLockReadGuard { _held: self.held(Hold::Shared), inner })
    }

    /// Takes the lock to write, as [`std::sync::RwLock::write`].
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        self.name.reach(|lock| Request::Acquire(lock, Hold::Exclusive, Need::Must));
        map_lock(self.inner.write(), |inner| RwLockWriteGuard { _held: self.held(Hold::Exclusive), inner })
    }

    /// Takes the lock to read if no one writes, as [`std::sync::RwLock::try_read`].
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        match self.name.reach(|lock| Request::Acquire(lock, Hold::Shared, Need::Tries)) {
            Some(Act::Busy(..)) => Err(TryLockError::WouldBlock),
            _ => map_try_lock(self.inner.try_read(), |inner| RwLockReadGuard {
                _held: self.held(Hold::Shared),
                inner,
            }),
        }
    }

    /// Takes the lock to write if it is free, as [`std::sync::RwLock::try_write`].
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        match self.name.reach(|lock| Request::Acquire(lock, Hold::Exclusive, Need::Tries)) {
            Some(Act::Busy(..)) => Err(TryLockError::WouldBlock),
            _ => map_try_lock(self.inner.try_write(), |inner| RwLockWriteGuard {
                _held: self.held(Hold::Exclusive),
                inner,
            }),
        }
    }

    fn held(&self, hold: Hold) -> Held {
        Held { name: self.name, hold }
    }
}

impl<T> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}
