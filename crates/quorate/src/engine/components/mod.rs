//! Dynamic interface reduction: components are explored one by one, and what they do is composed.
//!
//! From: Guo et al., Practical Software Model Checking via Dynamic Interface Reduction (DEMETER, SOSP 2011);
//! ALGORITHMS 6, with the three gaps of the paper closed. This file is the only door: nothing outside names a file
//! inside. The files, each of which uses only earlier ones: `partition` (which processes are a component), `embedded`
//! (what a checker must offer), `events` (interface events and skeletons), `meter` (limits), `log/` (what a search
//! writes down, to be resumed), `protocol/` (the checker for protocols), `local/` (the explorer of one component),
//! `global/` (skeletons of the whole system), `nested` (systems inside components), `judge/` (properties and counts),
//! `compose` (the loop).
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

use super::explore::violated;
use super::{Order, Search, Watch};
use crate::base::ProcessId;
use crate::model::{Model, Schedule, ScheduledStep, Snapshot, Taken};
use crate::reduce::Reductions;
use crate::replay::Replay;
pub use crate::report::ComponentCounts;
use crate::report::{Coverage, Report, Stopped, Verdict};
use crate::world::{Channel, Crashes, Delivery};

/// Why components of a model cannot be explored one by one.
pub(super) fn refused(model: &Model) -> Option<String> {
    let world = model.world();
    let reason = if !matches!(world.channel, Channel::Bag | Channel::Fifo) {
        format!("knows bag and fifo channels, not {}", world.channel)
    } else if world.delivery != Delivery::AtOnce {
        "delivers messages at once: --model m".to_string()
    } else if world.crashes != Crashes::Implicit {
        "takes crashes as silence: --crash implicit".to_string()
    } else if world.losses > 0 || world.duplications > 0 {
        "knows no budgets of lost or doubled messages".to_string()
    } else if let Some(monitor) = model.monitors().first() {
        format!("looks at states, not at histories: '{}' needs another engine", monitor.name())
    } else if model.ids().any(|process| !model.forgeable(process).is_empty()) {
        "knows no messages that can be forged at any time".to_string()
    } else {
        return None;
    };
    Some(format!("the engine dir {reason}"))
}

/// Explores a model component by component.
///
/// # Panics
///
/// If the model is in a world that this engine does not know: see [`Engine::refused`](super::Engine::refused).
pub fn dir(model: &Model, search: &Search, watch: &mut dyn Watch) -> Report {
    if let Some(reason) = refused(model) {
        panic!("{reason}");
    }
    let components = search.components.clone().unwrap_or_else(|| Partition::processes(model));
    let in_order = model.world().channel == Channel::Fifo;
    let way = model.start().map_or(&[][..], Snapshot::way);
    let prefix = Replay::from_the_beginning(model).schedule(way);
    let prefix = prefix.expect("a bug in quorate: the steps that led to a snapshot do not lead there");
    if too_large(&components, &prefix) {
        let reason = "components of several processes start at the beginning only".to_string();
        let verdict = Verdict::Unknown(Stopped::Unsuited(reason));
        return super::simple_report(model, verdict, Coverage::default());
    }
    let checker = MidRun::after(ProtocolChecker::new(model, components), in_order, &prefix);
    let (checker, Composed { found, counts, coverage }) =
        compose(checker, in_order, model.properties(), search, watch);
    let mut checker = checker.checker;
    checker.conclude();
    let verdict = match (checker.unreliable(), found) {
        (Some(stopped), _) | (None, Found::Stopped(stopped)) => Verdict::Unknown(stopped),
        (None, Found::Nothing) => Verdict::Holds,
        (None, Found::Broken { paths, .. }) => explain(model, search, &checker, &paths, None),
        (None, Found::Panic { paths, step, .. }) => explain(model, search, &checker, &paths, step.as_ref()),
    };
    let coverage = Coverage {
        local_steps: checker.local_steps,
        handler_calls: checker.handler_calls,
        bytes: coverage.bytes + checker.bytes(),
        ..coverage
    };
    Report { interfaces: Some(counts), ..super::simple_report(model, verdict, coverage) }
}

/// The verdict for components that have taken these paths, and a step that panics next: a schedule for all of them, as
/// replay confirms it.
fn explain(
    model: &Model,
    search: &Search,
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
    let search = Search { order: Order::Depth, reductions: Reductions::default(), ..search.clone() };
    violated(model, &search, schedule)
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
