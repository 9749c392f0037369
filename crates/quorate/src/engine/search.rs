//! What all engines share: threads, limits, reductions.

use crate::kernel::Tuning;
use crate::reduce::Reductions;

/// How to search, whichever engine does.
///
/// ```
/// use quorate::engine::Search;
///
/// let search = Search::default().threads(2).states_max(1_000_000);
/// assert_eq!(search.states_max, Some(1_000_000));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Search {
    /// On how many threads. The answer does not depend on it.
    pub threads: usize,
    /// Stop after this many states.
    pub states_max: Option<u64>,
    /// Do not expand states this many steps from the start.
    pub depth_max: Option<u32>,
    /// Stop when the tables of the search take this many bytes.
    pub bytes_max: Option<u64>,
    /// How to search less.
    pub reductions: Reductions,
    pub(crate) tuning: Tuning,
}

impl Search {
    /// On so many threads.
    #[must_use]
    pub fn threads(self, threads: usize) -> Self {
        Search { threads: threads.max(1), ..self }
    }

    /// Stops after this many states.
    #[must_use]
    pub fn states_max(self, states: u64) -> Self {
        Search { states_max: Some(states), ..self }
    }

    /// Does not expand states this many steps from the start.
    #[must_use]
    pub fn depth_max(self, steps: u32) -> Self {
        Search { depth_max: Some(steps), ..self }
    }

    /// Stops when the tables of the search take this many bytes.
    #[must_use]
    pub fn bytes_max(self, bytes: u64) -> Self {
        Search { bytes_max: Some(bytes), ..self }
    }

    /// With these reductions.
    #[must_use]
    pub fn reductions(self, reductions: Reductions) -> Self {
        Search { reductions, ..self }
    }

    /// Without reductions.
    pub(crate) fn unreduced(&self) -> Self {
        Search { reductions: Reductions::default(), ..self.clone() }
    }
}

/// On all cores, without limits and without reductions.
impl Default for Search {
    fn default() -> Self {
        Search {
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            states_max: None,
            depth_max: None,
            bytes_max: None,
            reductions: Reductions::default(),
            tuning: Tuning::DEFAULT,
        }
    }
}
