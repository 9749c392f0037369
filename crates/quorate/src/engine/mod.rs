//! The engines. Each is one loop; what differs between two searches is a value handed to it.
//!
//! Invariant: engines read no clock and print nothing. Limits and progress go through a [`Watch`].

pub mod dir;
mod explore;
mod frontier;
mod round;
mod visited;

pub use explore::explore;
pub(crate) use explore::explore_and_read;

use crate::protocol::Model;
use crate::reduce::Reductions;
use crate::verdict::{Coverage, Report, Stopped};

/// Which engine searches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Engine {
    /// Global states, with reductions.
    #[default]
    Explore,
    /// Components one by one, and how they deal with each other.
    Dir,
}

impl Engine {
    /// All of them.
    pub const ALL: [Engine; 2] = [Engine::Explore, Engine::Dir];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Explore => "explore",
            Engine::Dir => "dir",
        }
    }

    /// Why it cannot search a model in its world.
    pub fn refused(self, model: &Model) -> Option<String> {
        match self {
            Engine::Explore => None,
            Engine::Dir => dir::refused(model),
        }
    }
}

/// Searches a model with the engine that is asked for.
pub fn search(model: &Model, search: &Search, watch: &mut dyn Watch) -> Report {
    match search.engine {
        Engine::Explore => explore(model, search, watch),
        Engine::Dir => dir::dir(model, search, watch),
    }
}

/// In which order states are expanded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Order {
    /// Nearest first: finds shortest counterexamples.
    #[default]
    Breadth,
    /// Newest first: reaches deep states early, with a small frontier.
    Depth,
}

/// How visited states are remembered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Visited {
    /// Exactly.
    #[default]
    Exact,
    /// By a fingerprint where a state no longer fits 32 bits: less memory then, and a small probability of
    /// missing a state, which is reported.
    Fingerprint,
}

/// How to search.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Search {
    /// With which engine.
    pub engine: Engine,
    /// In which order.
    pub order: Order,
    /// How visited states are remembered.
    pub visited: Visited,
    /// On how many threads. The answer does not depend on it.
    pub threads: usize,
    /// Stop after this many states.
    pub states_max: Option<u64>,
    /// Do not expand states this many steps from the start.
    pub depth_max: Option<u32>,
    /// Stop when the tables of the search take this many bytes.
    pub bytes_max: Option<u64>,
    /// Count the vectors of local states as well; not by fingerprint, which forgets the states.
    pub count_system_states: bool,
    /// With symmetry, count the states that the visited ones stand for; not by fingerprint.
    pub count_orbits: bool,
    /// How to search less.
    pub reductions: Reductions,
    /// Tell what the visited states are made of: for tests, which compare it with what there is.
    #[doc(hidden)]
    pub look_back: bool,
    #[doc(hidden)]
    pub tuning: Tuning,
}

/// What decides how a search is done and never what it answers: tests make the sizes small, so that small
/// protocols go through everything that large ones do.
#[doc(hidden)]
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
    /// What a reduction leaves out, to show that the tests notice.
    pub mutant: Option<Mutant>,
}

/// A part without which a reduction is wrong.
#[doc(hidden)]
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
    /// With symmetry, reductions rest on the steps of representatives only.
    NoSaturation,
    /// Component by component: that one stays where it could go on is not noticed.
    NoRests,
    /// Component by component: only what sends something else makes a difference.
    NoReceptions,
    /// Component by component: skeletons are compared as a whole only.
    NoPrefixes,
}

/// Which processes sleep in a state that was found by a step of another.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sleep {
    /// None.
    Nobody,
    /// Earlier ones that were not sent anything.
    Untouched,
    /// Earlier ones, also those that were: wrong, to show that the tests notice.
    Everybody,
}

impl Default for Tuning {
    fn default() -> Self {
        Tuning {
            chunk: 2048,
            narrow_max: visited::NARROW_MAX,
            first_states: 20_000,
            sleep: Sleep::Untouched,
            mutant: None,
        }
    }
}

impl Default for Search {
    fn default() -> Self {
        Search {
            engine: Engine::default(),
            order: Order::default(),
            visited: Visited::default(),
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            states_max: None,
            depth_max: None,
            bytes_max: None,
            count_system_states: false,
            count_orbits: false,
            reductions: Reductions::default(),
            look_back: false,
            tuning: Tuning::default(),
        }
    }
}

/// Follows a search: told of its progress every few milliseconds, it may stop it.
pub trait Watch {
    /// Called between rounds. A reason stops the search, which then answers `Unknown`.
    fn round(&mut self, coverage: &Coverage) -> Option<Stopped>;
}

/// Lets a search run.
impl Watch for () {
    fn round(&mut self, _: &Coverage) -> Option<Stopped> {
        None
    }
}
