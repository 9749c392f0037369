//! The engines. Each is one loop; what differs between two searches is a value handed to it.
//!
//! Invariant: engines read no clock and print nothing. Limits and progress go through a [`Watch`].

mod bounded;
pub mod dir;
mod explore;
mod frontier;
mod local;
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
use crate::kernel::Within;
pub use crate::kernel::{Classes, ClosureSize};
use crate::protocol::Model;
use crate::reduce::Reductions;
use crate::verdict::{Coverage, Report, Stopped, Verdict};

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
    pub within: Option<Arc<Within>>,
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
    /// How many states a search without reductions may take to tell a violation in fewer steps.
    pub retelling_states: u64,
    /// How many nodes the local closure of a process may have before it is followed more closely.
    pub closure_max: usize,
    /// What is left out, to show that the tests notice.
    pub mutant: Option<Mutant>,
}

/// A part without which a reduction, or an engine, is wrong.
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

impl Tuning {
    /// As for users.
    pub const DEFAULT: Tuning = Tuning {
        chunk: 2048,
        narrow_max: visited::NARROW_MAX,
        first_states: 20_000,
        sleep: Sleep::Untouched,
        retelling_states: 1_000_000,
        closure_max: 20_000,
        mutant: None,
    };
}

impl Default for Tuning {
    fn default() -> Self {
        Tuning::DEFAULT
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

/// What becomes of each, in their order, on some threads.
fn in_parallel<T: Sync, U: Send>(of: &[T], threads: usize, what: impl Fn(&T) -> U + Sync) -> Vec<U> {
    let mut of: Vec<&T> = of.iter().collect();
    in_parallel_mut(&mut of, threads, |one| what(one))
}

/// What becomes of each, in their order, on some threads, each of which may change its share.
pub(crate) fn in_parallel_mut<T: Send, U: Send>(
    of: &mut [T],
    threads: usize,
    what: impl Fn(&mut T) -> U + Sync,
) -> Vec<U> {
    if threads <= 1 || of.len() <= 1 {
        return of.iter_mut().map(what).collect();
    }
    let what = &what;
    let share = of.len().div_ceil(threads);
    std::thread::scope(|scope| {
        let spawn = |share| scope.spawn(move || <[T]>::iter_mut(share).map(what).collect::<Vec<U>>());
        let workers: Vec<_> = of.chunks_mut(share).map(spawn).collect();
        let join = |worker: std::thread::ScopedJoinHandle<'_, Vec<U>>| match worker.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        workers.into_iter().flat_map(join).collect()
    })
}
