//! Global states, and what the kernel is asked to learn about them.

/// Which processes sleep in a state, by the step that found it.
pub(crate) type SleepSetId = u16;

/// Nobody sleeps.
pub(crate) const NO_SLEEP: SleepSetId = 0;

/// A global state: the states of the two halves of the system.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(crate) struct State {
    pub(crate) left: u32,
    pub(crate) right: u32,
}

/// A state, and who sleeps in it because of how it was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Found {
    pub(crate) state: State,
    pub(crate) sleep: SleepSetId,
}

/// A half of the system.
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
    /// Who steps in a state.
    Choice(State),
    /// Which states stand for the successors of a state.
    Representatives(State),
}
