//! Dynamic interface reduction: components are explored one by one, and what they do is composed.
//!
//! From: Guo et al., Practical Software Model Checking via Dynamic Interface Reduction (DEMETER, SOSP 2011);
//! docs/theory/components.md, with the three gaps of the paper closed. This file is the only door: nothing outside
//! names a file inside. The files, each of which uses only earlier ones: `partition` (which processes are a
//! component), `embedded` (what a checker must offer), `events` (interface events and skeletons), `meter` (limits),
//! `log/` (what a search writes down, to be resumed), `protocol/` (the checker for protocols), `local/` (the explorer
//! of one component), `global/` (skeletons of the whole system), `nested` (systems inside components), `judge/`
//! (properties and counts), `compose` (the loop).
//! Known: in every reachable state, and at the end of every run, the components are at a combination of points that
//! some cut of a skeleton allows, so `Holds` means what it means elsewhere. A run that never ends has no end to be
//! found: then a limit ends the search, unless nobody sees the part that is repeated.
//! Held by: testkit/tests/dir.rs, quorate-zoo/tests/dir.rs.

mod compose;
mod embedded;
mod events;
mod global;
mod judge;
mod local;
mod log;
mod meter;
mod nested;
mod partition;
mod protocol;

pub use compose::{Composed, Found, compose};
pub use embedded::{
    ComponentChecker, ComponentRunner, LocalPointId, LocalPoints, MessageId, Move, Operation, Ran, Scheduler,
};
pub use log::{LogStore, ProgressLog};
pub use partition::{LocalStep, Part, Partition};

use protocol::{MidRun, ProtocolChecker, StepRef, too_large};

use super::{Engine, Refusal, Search, violation};
use crate::base::ProcessId;
use crate::model::{Model, Schedule, ScheduledStep, Snapshot, Taken};
use crate::replay::{Length, Replay};
pub use crate::report::ComponentCounts;
use crate::report::{Coverage, Details, Report, Stopped, Verdict, Watch, heeding};
use crate::world::{Channel, Crashes, Delivery};

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
            let property = model.ends_early();
            property.map(|property| Refusal::EndsDespiteFaults { property: property.to_string() })
        }
    }

    fn search(&self, model: &Model, search: &Search, watch: &mut dyn Watch) -> Report {
        let partition = self.partition.clone().unwrap_or_else(|| Partition::processes(model));
        let in_order = model.world().channel.keeps_order();
        let way = model.start().map_or(&[][..], Snapshot::way);
        let prefix = Replay::from_the_beginning(model).schedule(way);
        let prefix = prefix.expect("a bug in quorate: the steps that led to a snapshot do not lead there");
        if too_large(&partition, &prefix) {
            let reason = "components of several processes start at the beginning only".to_string();
            let verdict = Verdict::Unknown(Stopped::Unsuited(reason));
            return Report::new(model, verdict, Coverage::default(), Details::Nothing);
        }
        let checker = MidRun::after(ProtocolChecker::new(model, partition), in_order, &prefix);
        let (checker, Composed { found, counts, coverage }) =
            compose(checker, in_order, model.properties(), search, self.log.clone(), watch);
        let mut checker = checker.checker;
        let concluded = heeding(watch.stop(), || checker.handlers.conclude());
        let verdict = match (checker.unreliable(), found) {
            (Some(stopped), _) | (None, Found::Stopped(stopped)) => Verdict::Unknown(stopped),
            (None, Found::Nothing) => concluded.map_or_else(Verdict::Unknown, |()| Verdict::Holds),
            (None, Found::Broken { paths, .. }) => {
                violation(watch, || explain(model, &checker, &paths, None))
            }
            (None, Found::Panic { paths, step, .. }) => {
                violation(watch, || explain(model, &checker, &paths, step.as_ref()))
            }
        };
        let coverage = Coverage {
            local_steps: checker.local_steps,
            handler_calls: checker.handlers.calls(),
            bytes: coverage.bytes + checker.bytes(),
            ..coverage
        };
        Report::new(model, verdict, coverage, Details::Components(counts))
    }
}

/// The violation that components show which have taken these paths, and a step that panics next: a schedule for all of
/// them, as replay confirms it.
fn explain(
    model: &Model,
    checker: &ProtocolChecker<'_>,
    paths: &[Vec<StepRef>],
    panicking: Option<&StepRef>,
) -> Verdict {
    let mut sequences: Vec<Vec<LocalStep>> = vec![Vec::new(); model.processes().len()];
    for step in paths.iter().flatten() {
        let (process, step) = checker.local_step(step);
        sequences[process.index()].push(step);
    }
    let mut schedule = woven(model, &sequences);
    schedule.extend(panicking.map(|step| {
        let (process, step) = checker.local_step(step);
        scheduled(process, &step)
    }));
    // A composed run has steps that the violation does not need, as one that was found depth-first has: it is
    // shortened.
    Verdict::shown_by(model, schedule, Length::MayShrink)
}

/// A step of a process. Of equal messages the one that was sent first is consumed first, which is as good as any.
fn scheduled(process: ProcessId, step: &LocalStep) -> ScheduledStep {
    let LocalStep { kind, transition, choices, consumed } = step.clone();
    let consumed = consumed.into_iter().map(|envelope| Taken { envelope, nth: 0, forged: false }).collect();
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
