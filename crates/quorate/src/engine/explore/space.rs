//! What a search goes through: states that were found, states that wait, and how they are expanded. The loop (`run`)
//! knows no more of them than this. There are two: pairs of states of groups, where every process steps (`pairs`), and
//! vectors, where stubborn sets or symmetry leave few successors (`rows`).

use crate::kernel::{Kernel, State};

/// What came of expanding some states, added up.
#[derive(Default)]
pub(super) struct Expanded {
    pub(super) transitions: u64,
    pub(super) terminal: u64,
    pub(super) violating: Option<State>,
    pub(super) panicking: Option<State>,
}

/// The states on the way to one from the start, as vectors.
pub(super) type Path = Vec<Vec<u32>>;

/// What is known of the way to a state.
pub(super) enum Way {
    /// It has been remembered.
    Known(Path),
    /// It has been remembered, but a search that is repeated may find a shorter one.
    Long(Path),
    /// The search must be repeated.
    Forgotten,
}

/// States that were found and those of them that wait.
pub(super) trait Space {
    /// Takes the states that come next. Says how far they are from the start, if there are any.
    fn take(&mut self) -> Option<u32>;

    /// Expands what was taken last. What it leads to is left out if it is too far from the start.
    fn expand(&mut self, kernel: &mut Kernel<'_>, too_far: bool) -> Expanded;

    /// Puts what was found into the set of visited states, and lets the kernel learn. Says how many are new.
    fn insert(&mut self, kernel: &mut Kernel<'_>, too_far: bool) -> u64;

    /// What came of the states that were taken, if a sign to stop has ended their expansion.
    fn left_over(&mut self) -> Expanded;

    /// How many states wait.
    fn waiting(&self) -> u64;

    fn bytes(&self) -> u64;

    /// The probability that some state was taken for another, at most.
    fn missed_probability(&self) -> f64;

    /// The states that were found; `None` if they are not kept.
    fn states(&self) -> Option<Box<dyn Iterator<Item = State> + '_>>;

    /// A state as a vector.
    fn vector(&self, state: State, kernel: &Kernel<'_>) -> Vec<u32>;

    /// The way to a state.
    fn way_to(&mut self, state: State, kernel: &Kernel<'_>) -> Way;
}
