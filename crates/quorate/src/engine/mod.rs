//! The engines. Each is one loop; what differs between two searches is a value handed to it.
//!
//! Invariant: engines read no clock and print nothing. Limits and progress go through a [`Watch`].

mod bounded;
pub mod dir;
mod explore;
mod frontier;
mod local;
pub mod local_graphs;
pub mod published;
mod round;
mod stones;
mod visited;

pub use explore::explore;
pub(crate) use explore::explore_and_read;
#[doc(hidden)]
pub use local::closure_of;
pub use local::local;
pub(crate) use local::read_closure;
pub use stones::{SteppingStones, Stone};

use std::sync::Arc;

use self::dir::{Components, Logbook};
use crate::kernel::AllowedLocals;
pub use crate::kernel::{Classes, Mutant, Sleep, Tuning};
use crate::model::Model;
use crate::reduce::Reductions;
pub use crate::report::ClosureSize;
use crate::report::{Coverage, Report, Stopped, Verdict};

/// Which engine searches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Engine {
    /// Global states, with reductions.
    #[default]
    Explore,
    /// Local states first: what no combination of them can break, no run breaks.
    Local,
    /// Global states, newest first up to a depth, with handlers that run once for each distinct local step.
    BoundedDepth,
    /// The same on states by content, each transition running its handler: the baseline of the paper on local model
    /// checking.
    PlainDepth,
    /// Local states, combined in every way: the general algorithm of that paper, with its shortcuts.
    LmcGeneral,
    /// Local states, combined where they look as if they violated a property: its optimised algorithm.
    LmcOptimised,
    /// Components one by one, and how they deal with each other.
    Dir,
}

impl Engine {
    /// All of them.
    pub const ALL: [Engine; 7] = [
        Engine::Explore,
        Engine::Local,
        Engine::PlainDepth,
        Engine::BoundedDepth,
        Engine::LmcGeneral,
        Engine::LmcOptimised,
        Engine::Dir,
    ];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Explore => "explore",
            Engine::Local => "local",
            Engine::BoundedDepth => "b-dfs-memo",
            Engine::PlainDepth => "b-dfs",
            Engine::LmcGeneral => "lmc-gen",
            Engine::LmcOptimised => "lmc-opt",
            Engine::Dir => "dir",
        }
    }

    /// Why it cannot search a model in its world.
    pub fn refused(self, model: &Model) -> Option<String> {
        match self {
            Engine::Explore | Engine::Local | Engine::BoundedDepth => None,
            Engine::PlainDepth | Engine::LmcGeneral | Engine::LmcOptimised => published::refused(model),
            Engine::Dir => dir::refused(model),
        }
    }

    /// Does it search as it is told: with reductions, in some order, remembering states in some way? The engines of
    /// papers have ways of their own.
    pub fn can_be_told(self) -> bool {
        matches!(self, Engine::Explore | Engine::Local)
    }
}

/// Searches a model with the engine that is asked for.
pub fn search(model: &Model, search: &Search, watch: &mut dyn Watch) -> Report {
    if let Some(how) = search.stones {
        return stones::in_stages(model, search, how, watch);
    }
    match search.engine {
        Engine::Explore => explore(model, search, watch),
        Engine::Local => local(model, search, watch),
        Engine::BoundedDepth => bounded::bounded_depth(model, search, watch),
        Engine::PlainDepth => published::plain_depth(model, search, watch),
        Engine::LmcGeneral => published::lmc(model, search, Classes::States, watch),
        Engine::LmcOptimised => published::lmc(model, search, Classes::Observations, watch),
        Engine::Dir => dir::dir(model, search, watch),
    }
}

/// The report of a search on one thread, without reductions and without anything special to say.
fn simple_report(model: &Model, verdict: Verdict, coverage: Coverage) -> Report {
    Report {
        verdict,
        properties: model.property_names().map(str::to_string).collect(),
        coverage,
        faults: Vec::new(),
        system_states: None,
        orbits: None,
        seen: None,
        reductions: Vec::new(),
        rounds: 1,
        threads: 1,
        missed_probability: None,
        local: None,
        interfaces: None,
        stages: None,
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
    /// Of equal messages that wait for a process, at most so many besides the first: more are lost. What holds then
    /// holds within this limit, if it was reached. Not for properties that look at the end of runs, which may come
    /// earlier then.
    pub duplicates_max: Option<u32>,
    /// For the engine `local`: what tells local states apart.
    pub classes: Classes,
    /// For the engine `local`: at most so many steps of each process by itself, from one on, round by round.
    pub local_events_max: Option<u32>,
    /// For the engine `dir`: which processes make up which component; each is one by itself unless this is given.
    pub components: Option<Components>,
    /// For the engine `dir`: where what is learned is kept. What is there already need not be found again.
    pub logbook: Option<Logbook>,
    /// For the published algorithm of local model checking: how far it goes.
    pub stage: published::Stage,
    /// In stages, from stepping stones.
    pub stones: Option<SteppingStones>,
    /// The local states in which the processes stay; whatever else they could do is left out.
    #[doc(hidden)]
    pub within: Option<Arc<AllowedLocals>>,
    /// Tell what the visited states are made of: for tests, which compare it with what there is.
    #[doc(hidden)]
    pub look_back: bool,
    #[doc(hidden)]
    pub tuning: Tuning,
}

impl Search {
    /// What of it concerns the kernel.
    pub(crate) fn kernel(&self) -> crate::kernel::Options {
        crate::kernel::Options {
            reductions: self.reductions.clone(),
            copies_max: self.duplicates_max,
            allowed_locals: self.within.clone(),
            tuning: self.tuning,
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
            duplicates_max: None,
            classes: Classes::default(),
            local_events_max: None,
            components: None,
            logbook: None,
            stage: published::Stage::default(),
            stones: None,
            within: None,
            look_back: false,
            tuning: Tuning::default(),
        }
    }
}

/// Follows a search: told of its progress every few milliseconds, it may stop it.
pub trait Watch {
    /// Called between rounds. A reason stops the search, which then answers `Unknown`.
    fn round(&mut self, coverage: &Coverage) -> Option<Stopped>;

    /// A search in stages begins with another part: what limits a part begins anew.
    fn stage(&mut self) {}

    /// A search in stages has found a stone.
    fn stone(&mut self, _: Stone<'_>) {}
}

/// Lets a search run.
impl Watch for () {
    fn round(&mut self, _: &Coverage) -> Option<Stopped> {
        None
    }
}
