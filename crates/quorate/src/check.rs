//! Checking from Rust: in a `#[test]`, in a build script, anywhere.

use std::time::{Duration, Instant};

use crate::engine::{self, Engine, Order, Search, SteppingStones, Visited, Watch};
use crate::model::Model;
use crate::protocol::{Message, System, SystemError};
use crate::reduce::{Reduction, Reductions};
use crate::report::{Coverage, Report, Stopped, Violation};
use crate::world::World;

/// Checks a system: `quorate::check(system).assert_holds()`.
pub fn check<M: Message>(system: System<M>) -> Check {
    Check {
        model: system.build(),
        world: World::default(),
        reduce: Reduce::Strongest,
        search: Search::default(),
        time_max: None,
    }
}

/// Why a check cannot run.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CheckError {
    /// The system makes no sense, or not in this world.
    System(SystemError),
    /// A reduction that cannot be used for the system.
    Reduction(crate::reduce::Refused),
    /// An engine that cannot search the system in its world.
    Engine(String),
}

impl From<SystemError> for CheckError {
    fn from(error: SystemError) -> Self {
        CheckError::System(error)
    }
}

impl std::fmt::Display for CheckError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CheckError::System(error) => error.fmt(f),
            CheckError::Reduction(refused) => refused.fmt(f),
            CheckError::Engine(reason) => reason.fmt(f),
        }
    }
}

/// Which reductions a check uses.
enum Reduce {
    Strongest,
    Nothing,
    These(Vec<Reduction>),
}

/// A check that has not run yet.
#[must_use = "a check does nothing until it runs"]
pub struct Check {
    model: Result<Model, SystemError>,
    world: World,
    reduce: Reduce,
    search: Search,
    time_max: Option<Duration>,
}

impl Check {
    /// In which world; bags, with implicit losses and crashes, unless told.
    pub fn world(mut self, world: World) -> Self {
        self.world = world;
        self
    }

    /// Searches every state, without reductions; otherwise all that can be used are.
    pub fn unreduced(mut self) -> Self {
        self.reduce = Reduce::Nothing;
        self
    }

    /// Uses these reductions and no others.
    pub fn reductions(mut self, reductions: &[Reduction]) -> Self {
        self.reduce = Reduce::These(reductions.to_vec());
        self
    }

    /// With which engine; global states with reductions unless told.
    pub fn engine(mut self, engine: Engine) -> Self {
        self.search.engine = engine;
        self
    }

    /// On how many threads; all cores unless told. The answer does not depend on it.
    pub fn threads(mut self, threads: usize) -> Self {
        self.search.threads = threads.max(1);
        self
    }

    /// In which order states are expanded; breadth-first unless told.
    pub fn order(mut self, order: Order) -> Self {
        self.search.order = order;
        self
    }

    /// How visited states are remembered; exactly unless told.
    pub fn visited(mut self, visited: Visited) -> Self {
        self.search.visited = visited;
        self
    }

    /// Gives up after this many states.
    pub fn states_max(mut self, states: u64) -> Self {
        self.search.states_max = Some(states);
        self
    }

    /// Does not look further than this many steps. Depth-first search may then leave out states that a
    /// shorter way leads to: use it breadth-first.
    pub fn depth_max(mut self, steps: u32) -> Self {
        self.search.depth_max = Some(steps);
        self
    }

    /// Gives up when the search takes this many bytes.
    pub fn bytes_max(mut self, bytes: u64) -> Self {
        self.search.bytes_max = Some(bytes);
        self
    }

    /// Searches in stages: of the [interesting](System::stepping_stone) states that a stage reaches keeps so many, and
    /// starts the next one from each of them. What comes of it is a violation or nothing, unless the first stage is
    /// complete.
    pub fn stepping_stones(mut self, how: SteppingStones) -> Self {
        self.search.stones = Some(how);
        self
    }

    /// Gives up after this long.
    pub fn time_max(mut self, time: Duration) -> Self {
        self.time_max = Some(time);
        self
    }

    /// Runs it.
    pub fn run(self) -> Result<Report, CheckError> {
        let mut watch = Deadline { start: Instant::now(), time_max: self.time_max };
        let model = self.model?.in_world(self.world).map_err(SystemError::World)?;
        if let Some(reason) = self.search.engine.refused(&model) {
            return Err(CheckError::Engine(reason));
        }
        let reductions = match &self.reduce {
            Reduce::Strongest => Reductions::strongest(&model).0,
            Reduce::Nothing => Reductions::default(),
            Reduce::These(which) => Reductions::checked(which, &model).map_err(CheckError::Reduction)?,
        };
        Ok(engine::search(&model, &Search { reductions, ..self.search }, &mut watch))
    }

    /// Runs it, and panics with the diagram of the counterexample if there is one.
    #[track_caller]
    pub fn assert_holds(self) {
        self.report().assert_holds();
    }

    /// Runs it, and panics unless a property is violated.
    #[track_caller]
    pub fn assert_violated(self) -> Violation {
        self.report().assert_violated().clone()
    }

    #[track_caller]
    fn report(self) -> Report {
        match self.run() {
            Ok(report) => report,
            Err(error) => panic!("{error}"),
        }
    }
}

struct Deadline {
    start: Instant,
    time_max: Option<Duration>,
}

impl Watch for Deadline {
    fn round(&mut self, _: &Coverage) -> Option<Stopped> {
        let time_max = self.time_max?;
        (self.start.elapsed() >= time_max).then_some(Stopped::Time(time_max.as_secs()))
    }
}
