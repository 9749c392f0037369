//! Checking from Rust: in a `#[test]`, in a build script, anywhere.

use std::error::Error;
use std::fmt;
use std::time::{Duration, Instant};

use crate::engine::{
    Engine, Explore, Order, Refusal, Search, Visited, checked_reductions, strongest_reductions,
};
use crate::model::Model;
use crate::protocol::{Message, System, SystemError};
use crate::reduce::{Reduction, Reductions, Refused};
use crate::replay::Violation;
use crate::report::{Coverage, Report, Sentinel, Stop, Stopped, Watch};
use crate::world::{World, WorldError};

/// Checks a system: `quorate::check(system).assert_holds()`.
///
/// ```
/// use quorate::{Role, RoleName, System, Transitions, observe};
///
/// const COUNTERS: RoleName = RoleName::new("counter");
///
/// # #[derive(Clone, PartialEq, Eq, Hash, Debug)]
/// # struct Counter(u8);
/// # impl Role for Counter {
/// #     type Message = ();
/// #     fn transitions(&self, t: &mut Transitions<Self>) {
/// #         t.internal("count").when(|c| c.0 < 3).run(|c, _| c.0 += 1);
/// #     }
/// # }
/// /// Two processes that count to three each.
/// fn counters(most: u8) -> System<()> {
///     System::new().role(COUNTERS, 2, |_| Counter(0)).invariant(
///         "few in all",
///         observe(|counter: &Counter| counter.0),
///         move |counts| counts.iter().sum::<u8>() <= most,
///     )
/// }
///
/// quorate::check(counters(6)).assert_holds();
///
/// let violation = quorate::check(counters(4)).assert_violated();
/// assert_eq!(violation.broken.property(), "few in all");
/// assert_eq!(violation.trace.steps.len(), 5);
/// ```
pub fn check<M: Message>(system: System<M>) -> Check {
    Check {
        model: system.build(),
        world: World::default(),
        reduce: Reduce::Strongest,
        explore: Explore::DEFAULT,
        engine: None,
        search: Search::default(),
        time_max: None,
    }
}

/// Why a check cannot run.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CheckError {
    /// The system makes no sense.
    System(
        /// Why.
        SystemError,
    ),
    /// The world makes no sense for the system.
    World(
        /// Why.
        WorldError,
    ),
    /// A reduction cannot be used for the system.
    Reduction(
        /// Which, and why.
        Refused,
    ),
    /// The engine cannot search the system in its world, or not as it is asked to.
    Engine {
        /// The engine.
        engine: &'static str,
        /// Why.
        refusal: Refusal,
    },
    /// An order, or a way to remember states, was asked for, and an engine of its own as well: options go into the
    /// engine then.
    TwoEngines,
}

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CheckError::System(_) => write!(f, "the system makes no sense"),
            CheckError::World(_) => write!(f, "the world makes no sense for the system"),
            CheckError::Reduction(refused) => write!(f, "{} cannot be used", refused.reduction),
            CheckError::Engine { engine, .. } => write!(f, "the engine {engine} cannot search the system so"),
            CheckError::TwoEngines => {
                write!(f, "an engine is given, and options for another: expected the options in the engine")
            }
        }
    }
}

impl Error for CheckError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            CheckError::System(error) => Some(error),
            CheckError::World(error) => Some(error),
            CheckError::Reduction(refused) => Some(&refused.reason),
            CheckError::Engine { refusal, .. } => Some(refusal),
            CheckError::TwoEngines => None,
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
///
/// ```
/// use quorate::{Report, Role, RoleName, System, Transitions, Verdict, World, observe};
/// use std::time::Duration;
///
/// # #[derive(Clone, PartialEq, Eq, Hash, Debug)]
/// # struct Counter(u8);
/// # impl Role for Counter {
/// #     type Message = ();
/// #     fn transitions(&self, t: &mut Transitions<Self>) {
/// #         t.internal("count").when(|c| c.0 < 3).run(|c, _| c.0 += 1);
/// #     }
/// # }
/// # let counters = || {
/// #     System::new()
/// #         .role(RoleName::new("counter"), 2, |_| Counter(0))
/// #         .invariant("at most three", observe(|c: &Counter| c.0), |counts| counts.iter().all(|c| *c <= 3))
/// # };
/// // With faults, and not for ever.
/// let restarting = World::default().restart("counter", 1);
/// quorate::check(counters()).world(restarting).time_max(Duration::from_secs(60)).assert_holds();
///
/// // What comes of it is a report. A limit that is reached ends in *unknown*, never in *holds*.
/// let report: Report = quorate::check(counters()).unreduced().states_max(10).run()?;
/// assert!(matches!(report.verdict, Verdict::Unknown(_)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a check does nothing until it runs"]
pub struct Check {
    model: Result<Model, SystemError>,
    world: World,
    reduce: Reduce,
    explore: Explore,
    engine: Option<Box<dyn Engine>>,
    search: Search,
    time_max: Option<Duration>,
}

impl Check {
    /// In which world; by default bags, with implicit losses and crashes.
    pub fn world(self, world: World) -> Self {
        Check { world, ..self }
    }

    /// Searches every state, without reductions; otherwise all that can be used are.
    pub fn unreduced(self) -> Self {
        Check { reduce: Reduce::Nothing, ..self }
    }

    /// Uses these reductions and no others.
    pub fn reductions(self, reductions: &[Reduction]) -> Self {
        Check { reduce: Reduce::These(reductions.to_vec()), ..self }
    }

    /// With which engine; [`Explore`] unless given.
    pub fn engine(self, engine: impl Engine + 'static) -> Self {
        Check { engine: Some(Box::new(engine)), ..self }
    }

    /// On how many threads; by default on all cores. The answer does not depend on it.
    pub fn threads(self, threads: usize) -> Self {
        Check { search: self.search.threads(threads), ..self }
    }

    /// In which order [`Explore`] expands states; breadth-first unless given.
    pub fn order(self, order: Order) -> Self {
        Check { explore: self.explore.order(order), ..self }
    }

    /// How [`Explore`] remembers visited states; exactly unless given.
    pub fn visited(self, visited: Visited) -> Self {
        Check { explore: self.explore.visited(visited), ..self }
    }

    /// Gives up after this many states.
    pub fn states_max(self, states: u64) -> Self {
        Check { search: self.search.states_max(states), ..self }
    }

    /// Does not look further than this many steps. Depth-first search might leave out states that a shorter way leads
    /// to, and refuses it.
    pub fn depth_max(self, steps: u32) -> Self {
        Check { search: self.search.depth_max(steps), ..self }
    }

    /// Gives up when the search takes this many bytes.
    pub fn bytes_max(self, bytes: u64) -> Self {
        Check { search: self.search.bytes_max(bytes), ..self }
    }

    /// Gives up after this long.
    pub fn time_max(self, time: Duration) -> Self {
        Check { time_max: Some(time), ..self }
    }

    /// Runs it.
    pub fn run(self) -> Result<Report, CheckError> {
        let mut watch = Deadline::new(self.time_max);
        let configured = self.explore.order != Order::Breadth || self.explore.visited != Visited::Exact;
        let engine = match self.engine {
            Some(_) if configured => return Err(CheckError::TwoEngines),
            Some(engine) => engine,
            None => Box::new(self.explore),
        };
        let model = self.model.map_err(CheckError::System)?;
        let model = model.in_world(self.world).map_err(CheckError::World)?;
        let reductions = match &self.reduce {
            Reduce::Strongest => strongest_reductions(&*engine, &model).0,
            Reduce::Nothing => Reductions::default(),
            Reduce::These(which) => {
                checked_reductions(&*engine, which, &model).map_err(CheckError::Reduction)?
            }
        };
        let search = self.search.reductions(reductions);
        if let Some(refusal) = engine.refuses(&model, &search) {
            return Err(CheckError::Engine { engine: engine.name(), refusal });
        }
        Ok(engine.search(&model, &search, &mut watch))
    }

    /// Runs it, and panics with the diagram of the counterexample if there is one. Of a property of the end of runs it
    /// wants to know about crashes and lost messages, too: see [`Report::assert_holds`].
    #[track_caller]
    pub fn assert_holds(self) {
        self.report().assert_holds();
    }

    /// As [`Check::assert_holds`], for runs in which nothing fails: faults that are not covered are not meant.
    #[track_caller]
    pub fn assert_holds_without_faults(self) {
        self.report().assert_holds_without_faults();
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
            Err(error) => match error.source() {
                Some(source) => panic!("{error}: {source}"),
                None => panic!("{error}"),
            },
        }
    }
}

/// Ends a search after some time, if there is a limit.
struct Deadline(Option<(Limit, Sentinel)>);

#[derive(Clone, Copy)]
struct Limit {
    start: Instant,
    time_max: Duration,
}

impl Limit {
    fn reached(self) -> Option<Stopped> {
        (self.start.elapsed() >= self.time_max).then_some(Stopped::Time(self.time_max))
    }
}

impl Deadline {
    fn new(time_max: Option<Duration>) -> Self {
        Deadline(time_max.map(|time_max| {
            let limit = Limit { start: Instant::now(), time_max };
            (limit, Sentinel::new(move || limit.reached()))
        }))
    }
}

impl Watch for Deadline {
    fn progress(&mut self, _: &Coverage) -> Option<Stopped> {
        self.0.as_ref().and_then(|(limit, _)| limit.reached())
    }

    fn stop(&self) -> Option<Stop> {
        self.0.as_ref().map(|(_, sentinel)| sentinel.stop.clone())
    }
}
