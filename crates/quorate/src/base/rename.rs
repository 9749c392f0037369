//! What it means to rename processes: in a state, a message or an event, every [`ProcessId`] becomes another.
//!
//! From: scalarsets (Ip and Dill, Better verification through symmetry, 1996), which may be compared and stored but
//! not counted with. Here the type that is renamed is [`ProcessId`], and users derive the rest.
//! Held by: `tests/rename.rs`, `tests/symmetry.rs`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::marker::PhantomData;
use std::sync::Arc;

use super::ids::{PROCESSES_MAX, ProcessId, RoleName};

/// A value in which processes can be renamed: needed for the states and messages of a system with
/// [symmetric](crate::System::symmetric) roles.
///
/// Derive it. Where a field needs something else, write the few lines by hand.
///
/// **Identity is [`ProcessId`]**, and nothing else is renamed. A position within a role that is kept as a plain
/// number, or a process's name in a text, stays as it is: such a state distinguishes the processes of the role,
/// and they are not interchangeable. Keep the ids of processes ([`Received::from`](crate::Received::from),
/// [`Outbox::me`](crate::Outbox::me), [`Outbox::members`](crate::Outbox::members)) instead. Nor may a handler prefer
/// one process to another by the order of ids, as `min` of a set of ids does.
///
/// ```
/// use quorate::{ProcessId, Rename};
/// use quorate::Renaming;
/// use std::collections::BTreeSet;
///
/// #[derive(Clone, PartialEq, Eq, Hash, Debug, Rename)]
/// struct Lock {
///     held_by: Option<ProcessId>,
///     waiting: Vec<ProcessId>,
///     times_taken: u32,
///     #[rename(skip)] // Known to hold no ids: copied as it is.
///     lease: std::time::Duration,
/// }
///
/// let [a, b, c] = [0, 1, 2].map(ProcessId::new);
/// let lease = std::time::Duration::from_secs(1);
/// let lock = Lock { held_by: Some(a), waiting: vec![b, c], times_taken: 1, lease };
/// let swapped = lock.rename(&Renaming::swap(3, a, b));
/// assert_eq!(swapped, Lock { held_by: Some(b), waiting: vec![a, c], times_taken: 1, lease });
/// ```
#[diagnostic::on_unimplemented(
    message = "ids in `{Self}` cannot be renamed",
    label = "`{Self}` lacks `Rename`",
    note = "add `#[derive(quorate::Rename)]` to `{Self}`, or `#[rename(skip)]` to a field of this type that holds no ids"
)]
pub trait Rename {
    /// The same value with every process id inside it renamed.
    #[must_use]
    fn rename(&self, ids: &Renaming) -> Self;
}

/// A new id for every process of a system: a permutation, or a map that gives several processes one id and so
/// blanks who is who.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Renaming(Vec<ProcessId>);

impl Renaming {
    /// Process *p* becomes `ids[p]`.
    pub fn new(ids: Vec<ProcessId>) -> Self {
        assert!(ids.len() <= PROCESSES_MAX, "a system has at most {PROCESSES_MAX} processes");
        Renaming(ids)
    }

    /// Every one of so many processes stays what it is.
    pub fn identity(processes: usize) -> Self {
        Renaming::new((0..processes).map(ProcessId::new).collect())
    }

    /// Two of so many processes become each other.
    pub fn swap(processes: usize, one: ProcessId, other: ProcessId) -> Self {
        let mut ids = Renaming::identity(processes);
        ids.0.swap(one.index(), other.index());
        ids
    }

    /// What a process becomes. An id that is none of the system's stays what it is.
    pub fn of(&self, process: ProcessId) -> ProcessId {
        self.0.get(process.index()).copied().unwrap_or(process)
    }
}

impl Rename for ProcessId {
    fn rename(&self, ids: &Renaming) -> Self {
        ids.of(*self)
    }
}

/// Types that hold no ids.
macro_rules! rename_nothing {
    ($($type:ty),* $(,)?) => {
        $(impl Rename for $type {
            fn rename(&self, _: &Renaming) -> Self {
                self.clone()
            }
        })*
    };
}

rename_nothing!(
    (),
    bool,
    char,
    u8,
    u16,
    u32,
    u64,
    u128,
    usize,
    i8,
    i16,
    i32,
    i64,
    i128,
    isize,
    String,
    &'static str,
    RoleName,
);

impl<T: ?Sized> Rename for PhantomData<T> {
    fn rename(&self, _: &Renaming) -> Self {
        PhantomData
    }
}

impl<T: Rename> Rename for Option<T> {
    fn rename(&self, ids: &Renaming) -> Self {
        self.as_ref().map(|value| value.rename(ids))
    }
}

impl<T: Rename, E: Rename> Rename for Result<T, E> {
    fn rename(&self, ids: &Renaming) -> Self {
        self.as_ref().map(|value| value.rename(ids)).map_err(|error| error.rename(ids))
    }
}

impl<T: Rename> Rename for Box<T> {
    fn rename(&self, ids: &Renaming) -> Self {
        Box::new((**self).rename(ids))
    }
}

impl<T: Rename> Rename for Arc<T> {
    fn rename(&self, ids: &Renaming) -> Self {
        Arc::new((**self).rename(ids))
    }
}

impl<T: Rename, const N: usize> Rename for [T; N] {
    fn rename(&self, ids: &Renaming) -> Self {
        self.each_ref().map(|value| value.rename(ids))
    }
}

impl<T: Rename> Rename for Vec<T> {
    fn rename(&self, ids: &Renaming) -> Self {
        self.iter().map(|value| value.rename(ids)).collect()
    }
}

impl<T: Rename> Rename for VecDeque<T> {
    fn rename(&self, ids: &Renaming) -> Self {
        self.iter().map(|value| value.rename(ids)).collect()
    }
}

impl<T: Rename + Ord> Rename for BTreeSet<T> {
    fn rename(&self, ids: &Renaming) -> Self {
        self.iter().map(|value| value.rename(ids)).collect()
    }
}

/// Keys are renamed too. Where a [`Renaming`] that is not a permutation makes keys equal, their entries are left
/// out: if the last of them were kept, their order would reveal whose it was, and such a renaming is to hide that.
impl<K: Rename + Ord, V: Rename> Rename for BTreeMap<K, V> {
    fn rename(&self, ids: &Renaming) -> Self {
        let mut renamed = BTreeMap::new();
        let mut clashes: BTreeSet<K> = BTreeSet::new();
        for (key, value) in self {
            if renamed.insert(key.rename(ids), value.rename(ids)).is_some() {
                clashes.insert(key.rename(ids));
            }
        }
        renamed.retain(|key, _| !clashes.contains(key));
        renamed
    }
}

macro_rules! rename_tuples {
    ($(($($name:ident $at:tt),+))*) => {
        $(impl<$($name: Rename),+> Rename for ($($name,)+) {
            fn rename(&self, ids: &Renaming) -> Self {
                ($(self.$at.rename(ids),)+)
            }
        })*
    };
}

rename_tuples! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
}
