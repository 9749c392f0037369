//! Whoever follows a search. Engines read no clock and print nothing: limits and progress go through here.

use super::{Coverage, Stop, Stopped};

/// Follows a search: it hears of its progress every few milliseconds, and may stop it.
pub trait Watch {
    /// Called every few milliseconds. A reason stops the search, which then answers `Unknown`.
    fn progress(&mut self, coverage: &Coverage) -> Option<Stopped>;

    /// A sign that stops the search wherever it is, also where it does not call [`Watch::progress`] for long. Without
    /// one, only what calls it is stopped.
    fn stop(&self) -> Option<Stop> {
        None
    }

    /// A search in stages begins with another part: what limits a part begins anew.
    fn stage(&mut self) {}

    /// A search in stages has found a stone.
    fn stone(&mut self, _: Stone<'_>) {}
}

/// Lets a search run.
impl Watch for () {
    fn progress(&mut self, _: &Coverage) -> Option<Stopped> {
        None
    }
}

/// An interesting state from which the next stage of a search starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Stone<'s> {
    /// In which stage, from 1.
    pub stage: u32,
    /// Which of all the stones found so far, from 1.
    pub number: u64,
    /// How many steps lead there from the beginning.
    pub steps: usize,
    /// What makes it interesting.
    pub interesting: &'s str,
}
