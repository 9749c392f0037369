//! Options of the kernel, and the sizes and mutants that only tests set.

#![cfg_attr(not(feature = "testing"), allow(unreachable_pub, reason = "testing.rs exports it"))]

use std::collections::HashSet;
use std::sync::Arc;

use crate::base::Mutants;
use crate::base::Value;
use crate::reduce::Reductions;

/// Options of the kernel.
#[derive(Clone)]
pub(crate) struct Options {
    pub(crate) reductions: Reductions,
    pub(crate) copies_max: Option<u32>,
    pub(crate) allowed_locals: Option<Arc<AllowedLocals>>,
    pub(crate) tuning: Tuning,
}

/// For each process, the local states in which it must stay.
pub(crate) type AllowedLocals = Vec<HashSet<Value>>;

/// Decides how a search is done and never, without a mutant, what it answers. Tests make the sizes small, so that
/// small protocols go through everything that large ones do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tuning {
    /// How many states a thread expands at a time.
    pub chunk: usize,
    /// The visited set uses narrow slots while no group has more states than this.
    pub narrow_max: u32,
    /// After how many states the search starts again with the system split anew.
    pub first_states: u64,
    /// Which processes sleep.
    pub sleep: Sleep,
    /// How many states a search without reductions may take to find a violation in fewer steps.
    pub explain_states: u64,
    /// How many nodes the local closure of a process may have before it is followed more closely.
    pub closure_max: usize,
    /// How many beliefs a process may have before it is searched without.
    pub beliefs_max: usize,
    /// How many members a belief may have.
    pub members_max: usize,
    /// In how many combinations of what processes show it is tried whether a property stays broken.
    pub stable_max: usize,
    /// How many combinations of local states the engine `local` looks at.
    pub combinations_max: u64,
    /// How much may be compared to be sure of a symmetry before a search does without it.
    pub symmetry_max: usize,
    /// How many transitions a search without reductions takes before one is begun whose reductions may be dropped.
    pub plain_first: u64,
    /// After how many transitions a search whose reductions may be dropped has one without them beside it.
    pub race_after: u64,
    /// How much work the engine `local` does before global states are searched at the same time.
    pub local_first: u64,
    /// Before the first search walks go on until so many in a row see nothing new.
    pub walks_in_vain: usize,
    /// After how many transitions it is seen whether a reduced search is of use, which may have left out too much; after
    /// that, each time it has taken twice as many.
    pub look_after: u64,
    /// How many different messages an inbox keeps as bits, at most 128.
    pub inbox_bits_max: u32,
    /// What is left out, to show that the tests notice.
    pub mutants: Mutants,
}

/// Which processes sleep in a state that was found by a step of another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sleep {
    /// None.
    Nobody,
    /// Earlier ones that were not sent anything.
    Untouched,
    /// Earlier ones, also those that were: wrong, to show that the tests notice.
    #[cfg(feature = "testing")]
    Everybody,
}

impl Tuning {
    /// As for users.
    pub const DEFAULT: Tuning = Tuning {
        chunk: 2048,
        narrow_max: u32::MAX,
        first_states: 20_000,
        sleep: Sleep::Untouched,
        explain_states: 1_000_000,
        closure_max: 20_000,
        beliefs_max: 1 << 20,
        members_max: 4096,
        stable_max: 200_000,
        combinations_max: 4_000_000,
        symmetry_max: 1 << 22,
        plain_first: 8192,
        race_after: 50_000,
        local_first: 1 << 17,
        walks_in_vain: 16,
        look_after: 4096,
        inbox_bits_max: 128,
        mutants: Mutants::NONE,
    };
}

impl Default for Tuning {
    fn default() -> Self {
        Tuning::DEFAULT
    }
}
