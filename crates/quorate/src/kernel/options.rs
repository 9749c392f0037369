//! What the kernel is told.

use std::collections::HashSet;
use std::sync::Arc;

use crate::base::Value;
use crate::reduce::Reductions;

/// What the kernel is told.
#[derive(Clone)]
pub(crate) struct Options {
    pub(crate) reductions: Reductions,
    pub(crate) copies_max: Option<u32>,
    pub(crate) allowed_locals: Option<Arc<AllowedLocals>>,
    pub(crate) tuning: Tuning,
}

/// For each process, the local states within which something can happen.
pub(crate) type AllowedLocals = Vec<HashSet<Value>>;

/// What decides how a search is done and never what it answers: tests make the sizes small, so that small
/// protocols go through everything that large ones do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tuning {
    /// How many states a thread expands at a time.
    pub chunk: usize,
    /// Up to how many states of a half the visited set uses narrow slots.
    pub narrow_max: u32,
    /// After how many states the search starts again with the system split anew.
    pub first_states: u64,
    /// Which processes sleep.
    pub sleep: Sleep,
    /// How many states a search without reductions may take to tell a violation in fewer steps.
    pub explain_states: u64,
    /// How many nodes the local closure of a process may have before it is followed more closely.
    pub closure_max: usize,
    /// What is left out, to show that the tests notice.
    pub mutant: Option<Mutant>,
}

/// A part without which a reduction, or an engine, is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mutant {
    /// Stubborn sets do not look at who can send what they wait for.
    NoEnabling,
    /// Steps that change what properties see are taken apart from others.
    NoVisibility,
    /// Steps that can be repeated for ever are taken apart from others.
    NoProviso,
    /// Beliefs with stubborn sets forget that a process may never send.
    NoQuiescence,
    /// With symmetry, reductions rest on the steps of representatives only; so there are no walks beforehand.
    NoSaturation,
    /// Bounded search does not expand a state again that it meets on a shorter way.
    NoSecondLook,
    /// In the local closure no process consumes a message twice, however often it is sent.
    ConsumedOnce,
    /// Of the local states that lead to a candidate, only those are kept that do so in one step.
    NoAncestors,
    /// Component by component: that one stays where it could go on is not noticed.
    NoRests,
    /// Component by component: only what sends something else makes a difference.
    NoReceptions,
    /// Component by component: skeletons are compared as a whole only.
    NoPrefixes,
    /// Component by component: in a group, nothing that comes late can come earlier.
    NoRaces,
    /// Component by component: where a conjunction is looked for, no component waits for what others send.
    NoWaiting,
    /// Component by component: inside of a component, that one stays since the others outside should not see it go on is
    /// not noticed.
    NoHeldRests,
    /// In stages: a violation is told from its last stone on.
    NoFirstPart,
}

/// Which processes sleep in a state that was found by a step of another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sleep {
    /// None.
    Nobody,
    /// Earlier ones that were not sent anything.
    Untouched,
    /// Earlier ones, also those that were: wrong, to show that the tests notice.
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
        mutant: None,
    };
}

impl Default for Tuning {
    fn default() -> Self {
        Tuning::DEFAULT
    }
}
