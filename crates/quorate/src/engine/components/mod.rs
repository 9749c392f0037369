//! Dynamic interface reduction: components are explored one by one, and what they do is composed.
//!
//! From: Guo et al., Practical Software Model Checking via Dynamic Interface Reduction (DEMETER, SOSP 2011);
//! docs/theory/components.md, with the three gaps of the paper closed. `trace.rs` has runs as partial orders, `checker.rs` what a
//! model checker must offer to be driven, `handlers.rs` that for protocols, `local.rs` and `global.rs` the explorers,
//! `nested.rs` systems inside components, `judge.rs` properties and counts, `underway.rs` starts in the middle of a run.
//! Known: every reachable state, and every way in which a run can end, is that of some combination of points of a cut
//! of a skeleton, so `Holds` means what it means elsewhere. Runs that never end have no end to be found: a limit ends
//! the search then, unless nobody sees the part that is repeated.
//! Restriction by: testkit/tests/dir.rs, quorate-zoo/tests/dir.rs.

mod checker;
mod events;
mod global;
mod handlers;
mod journal;
mod judge;
mod local;
mod machine;
mod meter;
mod nested;
mod partition;
mod runs;

mod underway;

pub use checker::{ComponentChecker, LocalPointId, LocalPoints, MessageId, Move};
pub use handlers::{ProtocolChecker, StepRef};
pub use journal::{LogStore, ProgressLog};
pub use machine::{ComponentRunner, Operation, Ran, Scheduler};
pub use partition::{LocalStep, Part, Partition};

use events::Skeleton;
use global::{Global, Panicking};
use judge::Judge;
use meter::Meter;
use underway::Underway;

use super::{Engine, Refusal, Search};
use crate::base::ProcessId;
use crate::model::{Model, Schedule, ScheduledStep, Snapshot, Taken};
use crate::property::Property;
use crate::replay::{Length, Replay, confirm};
pub use crate::report::ComponentCounts;
use crate::report::{Coverage, Details, Report, Stopped, Verdict, Watch};
use crate::world::{Channel, Crashes, Delivery};

/// Components at certain points, in a prefix of a skeleton.
struct Cut {
    skeleton: Skeleton,
    points: Vec<usize>,
}

/// A property that does not hold at a cut.
struct Broken {
    property: usize,
    cut: Cut,
}

/// Why the exploration ends before everything is explored.
enum Halt {
    Stopped(Stopped),
    Panicking(Box<Panicking>),
    Broken(Box<Broken>),
}

/// Explores each component alone, and composes what they do.
///
/// ```
/// use quorate::engine::{Components, Engine};
///
/// assert_eq!(Components::default().name(), "components");
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Components {
    /// Which processes make up which component; each is one by itself unless this is given.
    pub partition: Option<Partition>,
    /// Where what is learned is kept. What is there already need not be found again.
    pub log: Option<ProgressLog>,
}

impl Components {
    /// As it is unless it is configured.
    pub const DEFAULT: Components = Components { partition: None, log: None };

    /// With these components.
    #[must_use]
    pub fn partition(self, partition: Partition) -> Self {
        Components { partition: Some(partition), ..self }
    }

    /// Keeps what is learned there.
    #[must_use]
    pub fn log(self, log: ProgressLog) -> Self {
        Components { log: Some(log), ..self }
    }
}

impl Engine for Components {
    fn name(&self) -> &'static str {
        "components"
    }

    fn purpose(&self) -> &'static str {
        "each component alone, then composed: components that do much by themselves and deal little with each other"
    }

    fn refuses(&self, model: &Model, search: &Search) -> Option<Refusal> {
        let world = model.world();
        if search.depth_max.is_some() {
            Some(Refusal::UsesNoDepth)
        } else if !matches!(world.channel, Channel::Bag | Channel::Fifo) {
            Some(Refusal::NeedsChannel { known: "bag and fifo", channel: world.channel })
        } else if world.delivery != Delivery::AtOnce {
            Some(Refusal::NeedsDelivery(Delivery::AtOnce))
        } else if world.crashes != Crashes::Implicit {
            Some(Refusal::NeedsImplicitCrashes)
        } else if world.losses > 0 || world.duplications > 0 {
            Some(Refusal::HasBudgets)
        } else if let Some(monitor) = model.monitors().first() {
            Some(Refusal::LooksAtHistories { monitor: monitor.name().to_string() })
        } else if model.ids().any(|process| !model.forgeable(process).is_empty()) {
            Some(Refusal::HasForgeries)
        } else {
            None
        }
    }

    fn search(&self, model: &Model, search: &Search, watch: &mut dyn Watch) -> Report {
        let partition = self.partition.clone().unwrap_or_else(|| Partition::processes(model));
        let in_order = model.world().channel == Channel::Fifo;
        let way = model.start().map_or(&[][..], Snapshot::way);
        let prefix = Replay::from_the_beginning(model).schedule(way);
        let prefix = prefix.expect("a bug in quorate: the steps that led to a snapshot do not lead there");
        if underway::too_large(&partition, &prefix) {
            let reason = "components of several processes start at the beginning only".to_string();
            let verdict = Verdict::Unknown(Stopped::Unsuited(reason));
            return Report::new(model, verdict, Coverage::default(), Details::Nothing);
        }
        let underway = Underway::after(ProtocolChecker::new(model, partition), in_order, &prefix);
        let (underway, Composed { found, interfaces, coverage }) =
            compose(underway, in_order, model.properties(), search, self.log.clone(), watch);
        let mut handlers = underway.checker;
        handlers.conclude();
        let verdict = match (handlers.unreliable(), found) {
            (Some(stopped), _) | (None, Found::Stopped(stopped)) => Verdict::Unknown(stopped),
            (None, Found::Nothing) => Verdict::Holds,
            (None, Found::Broken { ways, .. }) => told(model, &handlers, &ways, None),
            (None, Found::Panic { ways, step, .. }) => told(model, &handlers, &ways, step.as_ref()),
        };
        let coverage = Coverage {
            local_steps: handlers.local_steps,
            handler_calls: handlers.handler_calls,
            bytes: coverage.bytes + handlers.bytes(),
            ..coverage
        };
        Report::new(model, verdict, coverage, Details::Components(interfaces))
    }
}

/// What a way leads to that should not be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Found<S> {
    /// Everything is as it should be.
    Nothing,
    /// Why not everything was explored.
    Stopped(Stopped),
    /// A property does not hold.
    Broken {
        /// Which.
        property: usize,
        /// What each component does until then.
        ways: Vec<Vec<S>>,
    },
    /// A component panics, or its agents wait for each other for ever.
    Panic {
        /// Which component.
        component: usize,
        /// What each component does until then.
        ways: Vec<Vec<S>>,
        /// The step that panics; none if agents wait.
        step: Option<S>,
        /// What is known of why.
        message: String,
    },
}

/// What comes of composing what components do.
#[derive(Clone, PartialEq, Debug)]
pub struct Composed<S> {
    /// What was found.
    pub found: Found<S>,
    /// What the components are like to each other.
    pub interfaces: ComponentCounts,
    /// How much was explored.
    pub coverage: Coverage,
}

/// Explores components one by one, composes what they do, and asks properties of it. Messages of one sender to one
/// receiver stay in order, or do not. Gives the checker back, which knows what the steps are.
pub fn compose<E: ComponentChecker>(
    checker: E,
    in_order: bool,
    properties: &[Property],
    search: &Search,
    log: Option<ProgressLog>,
    watch: &mut dyn Watch,
) -> (E, Composed<E::Step>) {
    let mut global = Global::new(checker, in_order, search, log);
    let mut meter = Meter::new(search, watch);
    let mut judge = Judge::new(properties, search.tuning.mutant);
    let explored = global.restore(&mut meter).and_then(|before| {
        for judged in &before {
            judge.count(judged);
        }
        global.explore(&mut meter, &mut |global, skeleton, meter| judge.look_at(global, skeleton, meter))
    });
    let explored = match (explored, global.commit()) {
        (Ok(()), Err(stopped)) => Err(Halt::Stopped(stopped)),
        (explored, _) => explored,
    };
    let explored = explored.map(|()| judge.local_traces());
    let local_traces = explored.as_ref().ok().copied().filter(|_| !judge.endless);
    let found = match explored {
        Ok(_) => Found::Nothing,
        Err(Halt::Stopped(stopped)) => Found::Stopped(stopped),
        Err(Halt::Broken(broken)) => match ways(&mut global, &mut meter, &broken.cut) {
            Ok(ways) => Found::Broken { property: broken.property, ways },
            Err(stopped) => Found::Stopped(stopped),
        },
        Err(Halt::Panicking(panicking)) => {
            let Panicking { skeleton, component, panic } = *panicking;
            let mut points = vec![0; global.components()];
            points[component] = panic.point;
            let (step, message) = global.locals.panics[panic.number].clone();
            match ways(&mut global, &mut meter, &Cut { skeleton, points }) {
                Ok(ways) => Found::Panic { component, ways, step, message },
                Err(stopped) => Found::Stopped(stopped),
            }
        }
    };
    let global_skeletons = global.skeletons() as u64;
    let coverage = Coverage {
        terminal_states: global_skeletons,
        depth: u32::try_from(global.longest()).unwrap_or(u32::MAX),
        ..meter.coverage
    };
    let global_traces = local_traces.map(|_| judge.runs);
    let (enumerated_runs, cuts) = (meter.runs, judge.cuts);
    let interfaces = ComponentCounts { local_traces, global_skeletons, global_traces, enumerated_runs, cuts };
    (global.locals.checker, Composed { found, interfaces, coverage })
}

/// The steps of each component that lead to a cut.
fn ways<E: ComponentChecker>(
    global: &mut Global<E>,
    meter: &mut Meter<'_>,
    cut: &Cut,
) -> Result<Vec<Vec<E::Step>>, Stopped> {
    let mut ways = Vec::new();
    for (component, point) in cut.points.iter().enumerate() {
        let offers = global.receivable(&cut.skeleton, component).contents;
        let position = global.position(&cut.skeleton, component, meter).and_then(|position| {
            global.locals.table(position.node, &offers, meter)?;
            Ok(position.node)
        });
        match position {
            Ok(node) => ways.push(global.locals.way_to(node, *point)),
            Err(Halt::Stopped(stopped)) => return Err(stopped),
            Err(Halt::Panicking(_) | Halt::Broken(_)) => {
                panic!("a bug in quorate: a violation is found on the way to another")
            }
        }
    }
    Ok(ways)
}

/// The verdict for components that have gone these ways, and a step that panics next.
fn told(
    model: &Model,
    handlers: &ProtocolChecker<'_>,
    ways: &[Vec<StepRef>],
    panicking: Option<&StepRef>,
) -> Verdict {
    let mut sequences: Vec<Vec<LocalStep>> = vec![Vec::new(); model.processes().len()];
    for step in ways.iter().flatten() {
        let (process, step) = handlers.local_step(step);
        sequences[process.index()].push(step);
    }
    let mut schedule = woven(model, &sequences);
    schedule.extend(panicking.map(|step| {
        let (process, step) = handlers.local_step(step);
        scheduled(process, &step)
    }));
    // A run that is composed has steps that nobody asked for: it is made as short as one that was found depth-first.
    Verdict::Violated(Box::new(confirm(model, schedule, Length::MayShrink)))
}

/// A step of a process. Of equal messages the one that was sent first is consumed first, which is as good as any.
fn scheduled(process: ProcessId, step: &LocalStep) -> ScheduledStep {
    let LocalStep { kind, transition, choices, consumed } = step.clone();
    let consumed = consumed.into_iter().map(|envelope| Taken { envelope, nth: 0 }).collect();
    ScheduledStep { process, kind, transition, consumed, choices, sent: Vec::new() }
}

/// An order in which the processes can take these steps, from where the model starts.
fn woven(model: &Model, sequences: &[Vec<LocalStep>]) -> Schedule {
    let mut run = Replay::new(model);
    let mut schedule = Schedule::new();
    let mut left: Vec<&[LocalStep]> = sequences.iter().map(Vec::as_slice).collect();
    while left.iter().any(|steps| !steps.is_empty()) {
        let before = schedule.len();
        for (process, steps) in model.ids().zip(&mut left) {
            while let Some((step, remaining)) = steps.split_first() {
                let step = scheduled(process, step);
                if run.step(&step).is_err() {
                    break;
                }
                schedule.push(step);
                *steps = remaining;
            }
        }
        assert!(schedule.len() > before, "a bug in quorate: what components do does not fit together");
    }
    schedule
}
