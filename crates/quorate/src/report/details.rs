//! What an engine has to say beside the verdict: one struct of numbers for each engine.

use crate::kernel::{Census, ClosureSize};
use crate::reduce::Reduction;

/// What the engine that searched has to say.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Details {
    /// Nothing: nothing was searched.
    Nothing,
    /// Global states were explored.
    Explore(
        /// What there is to say of that.
        ExploreDetails,
    ),
    /// Local states were explored, and global ones where these left a doubt.
    Local(
        /// What there is to say of that.
        LocalDetails,
    ),
    /// Components were explored one by one.
    Components(
        /// What there is to say of that.
        ComponentCounts,
    ),
    /// It was searched in stages.
    Staged(
        /// What the stages came to.
        Stages,
        /// What the engine of the stages has to say.
        Box<Details>,
    ),
}

/// What there is to say of a search over global states.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ExploreDetails {
    /// The reductions that were used.
    pub reductions: Vec<Reduction>,
    /// It ended before the reductions were made that it was to have.
    pub needed_none: bool,
    /// How often the search was done, until its reductions relied on nothing that it had not seen.
    pub repeats: u32,
    /// Did processes sleep whose steps are found another way? That saves work, and changes no count.
    pub sleep_sets: bool,
    /// How many vectors of local states were reached, if they were counted.
    pub system_states: Option<u64>,
    /// How many states the visited ones stand for, if that was counted.
    pub orbits: Option<u64>,
    /// What was compared to be sure that processes are interchangeable, if the search relied on that.
    pub symmetry: Option<SymmetryCompared>,
    /// Why the search was done without symmetry in the end, though it was asked for.
    pub without_symmetry: Option<String>,
    /// By fingerprint: the probability that a state was missed, at most.
    pub missed_probability: Option<f64>,
    /// What the visited states are made of, if a test has asked for it.
    pub(crate) census: Option<Census>,
}

/// What was compared to be sure that processes are interchangeable: everything that the search has met, with all that
/// exchanging them makes of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct SymmetryCompared {
    /// Local steps.
    pub steps: u64,
    /// Runs of handlers that only the comparison took.
    pub handler_calls: u64,
    /// Combinations of what properties see of the processes.
    pub combinations: u64,
}

/// What was found out from local states alone.
#[derive(Clone, Debug, Default)]
pub struct LocalDetails {
    /// How large the local closure is; `None` if there is none.
    pub closure: Option<ClosureSize>,
    /// Why there is none, or why it was of no use.
    pub reservation: Option<String>,
    /// How closely what a process has consumed had to be followed: 0 not at all, 1 roughly, 2 exactly.
    pub precision: u8,
    /// How many combinations of classes of local states were looked at.
    pub combinations: u64,
    /// How many ways there seemed to be to break a property.
    pub candidates: u64,
    /// How many of these were refuted by local states alone.
    pub refuted_at_once: u64,
    /// How many were searched for one by one, and how many of these were refuted so.
    pub searched: u64,
    /// See [`LocalDetails::searched`].
    pub refuted_by_search: u64,
    /// How many sets of sequences of events were executed, by the published algorithm.
    pub sequences: Option<u64>,
    /// All runs were covered in which each process does at most so many steps by itself; `None` if all runs were or
    /// none.
    pub local_events: Option<u32>,
    /// The last search over global states, if there was one.
    pub explored: Option<ExploreDetails>,
}

/// What a search in stages came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stages {
    /// How many stages were begun.
    pub stages: u32,
    /// How many stepping stones were found.
    pub stones: u64,
    /// Over how many of them the violation was found, if there is one.
    pub passed: Option<u32>,
}

/// What came of exploring components one by one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ComponentCounts {
    /// How many maximal traces the components have by themselves; nothing if some run never ends.
    pub local_traces: Option<u128>,
    /// How many ways there are for components to deal with each other.
    pub global_skeletons: u64,
    /// How many maximal runs these stand for; nothing if some run never ends.
    pub global_traces: Option<u128>,
    /// Is there a run that ends?
    pub some_run_ends: bool,
    /// How many runs of components with agents of their own were gone through, one by one, as far as nobody sees it. Of
    /// one component of all processes these are runs of the system; known of a search that is stopped, too.
    pub enumerated_runs: u64,
    /// At how many consistent cuts of skeletons properties were looked at, each property by itself; known of a search
    /// that is stopped, too.
    pub cuts: u64,
}
