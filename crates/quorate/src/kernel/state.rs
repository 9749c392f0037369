//! Global states, and what the kernel is asked to learn about them.

/// A set of processes that sleep in a state, by number: it depends on the step that found the state.
pub(crate) type SleepSetId = u16;

/// Nobody sleeps.
pub(crate) const NO_SLEEP: SleepSetId = 0;

/// A global state: the states of the left and of the right group, or the number of a vector.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(crate) struct State {
    pub(crate) left: u32,
    pub(crate) right: u32,
}

impl State {
    /// The state that is a vector with a number.
    pub(crate) fn of_row(row: u32) -> Self {
        State { left: row, right: 0 }
    }

    /// The number of its vector.
    pub(crate) fn row(self) -> u32 {
        self.left
    }
}

/// A state, and who sleeps in it because of how it was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Found {
    pub(crate) state: State,
    pub(crate) sleep: SleepSetId,
}

/// One of the two groups at the root of the tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    Left,
    Right,
}

/// Something that the kernel has not worked out yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unknown {
    Steps(Side, u32),
    Arrival(Side, u32, u32),
    Judgement(State),
}
