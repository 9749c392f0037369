//! Atomics, as in [`std::sync::atomic`]. All orderings are taken as [`Ordering::SeqCst`].

use super::Named;
use crate::shared::Request;

pub use std::sync::atomic::Ordering;

/// A number that threads share: each operation is announced, then Shuttle's atomic performs it.
macro_rules! number {
    ($name:ident, $value:ty) => {
        #[doc = concat!("A number that threads share, as [`std::sync::atomic::", stringify!($name), "`].")]
        #[derive(Debug)]
        pub struct $name {
            name: Named,
            inner: shuttle::sync::atomic::$name,
        }

        impl $name {
            /// A number.
            pub fn new(value: $value) -> Self {
                $name { name: Named::new(), inner: shuttle::sync::atomic::$name::new(value) }
            }

            /// The number now.
            pub fn load(&self, order: Ordering) -> $value {
                self.name.reach(Request::Load);
                self.inner.load(order)
            }

            /// Replaces the number.
            pub fn store(&self, value: $value, order: Ordering) {
                self.name.reach(Request::Update);
                self.inner.store(value, order);
            }

            /// Replaces the number; returns the one before.
            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                self.name.reach(Request::Update);
                self.inner.swap(value, order)
            }

            /// Adds to the number; returns the one before.
            pub fn fetch_add(&self, value: $value, order: Ordering) -> $value {
                self.name.reach(Request::Update);
                self.inner.fetch_add(value, order)
            }

            /// Subtracts from the number; returns the one before.
            pub fn fetch_sub(&self, value: $value, order: Ordering) -> $value {
                self.name.reach(Request::Update);
                self.inner.fetch_sub(value, order)
            }

            /// Replaces the number if another is larger; returns the one before.
            pub fn fetch_max(&self, value: $value, order: Ordering) -> $value {
                self.name.reach(Request::Update);
                self.inner.fetch_max(value, order)
            }

            /// Replaces the number if it is `current`.
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.name.reach(Request::Update);
                self.inner.compare_exchange(current, new, success, failure)
            }
        }
    };
}

number!(AtomicUsize, usize);
number!(AtomicU64, u64);
number!(AtomicU32, u32);
number!(AtomicI64, i64);

/// A truth value that threads share, as [`std::sync::atomic::AtomicBool`].
#[derive(Debug)]
pub struct AtomicBool {
    name: Named,
    inner: shuttle::sync::atomic::AtomicBool,
}

impl AtomicBool {
    /// A truth value.
    pub fn new(value: bool) -> Self {
        AtomicBool { name: Named::new(), inner: shuttle::sync::atomic::AtomicBool::new(value) }
    }

    /// The value now.
    pub fn load(&self, order: Ordering) -> bool {
        self.name.reach(Request::Load);
        self.inner.load(order)
    }

    /// Replaces the value.
    pub fn store(&self, value: bool, order: Ordering) {
        self.name.reach(Request::Update);
        self.inner.store(value, order);
    }

    /// Replaces the value; returns the one before.
    pub fn swap(&self, value: bool, order: Ordering) -> bool {
        self.name.reach(Request::Update);
        self.inner.swap(value, order)
    }

    /// Replaces the value if it is `current`.
    pub fn compare_exchange(
        &self,
        current: bool,
        new: bool,
        success: Ordering,
        failure: Ordering,
    ) -> Result<bool, bool> {
        self.name.reach(Request::Update);
        self.inner.compare_exchange(current, new, success, failure)
    }
}
