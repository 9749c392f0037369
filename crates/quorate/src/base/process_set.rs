//! Sets of processes, as bits.

use super::ids::ProcessId;

/// A set of processes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct ProcessSet(u64);

impl ProcessSet {
    pub(crate) const EMPTY: ProcessSet = ProcessSet(0);
    pub(crate) const ALL: ProcessSet = ProcessSet(u64::MAX);

    /// Those whose bits are set.
    pub(crate) fn from_bits(bits: u64) -> Self {
        ProcessSet(bits)
    }

    pub(crate) fn one(process: ProcessId) -> Self {
        ProcessSet(1 << process.index())
    }

    /// The processes that come before this one.
    pub(crate) fn before(process: ProcessId) -> Self {
        ProcessSet((1 << process.index()) - 1)
    }

    pub(crate) fn union(self, other: ProcessSet) -> Self {
        ProcessSet(self.0 | other.0)
    }

    pub(crate) fn without(self, others: ProcessSet) -> Self {
        ProcessSet(self.0 & !others.0)
    }

    #[inline]
    pub(crate) fn is_subset(self, of: ProcessSet) -> bool {
        self.0 & !of.0 == 0
    }

    #[inline]
    pub(crate) fn contains(self, process: ProcessId) -> bool {
        self.0 >> process.index() & 1 == 1
    }
}
