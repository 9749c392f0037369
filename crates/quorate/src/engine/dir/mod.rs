//! Dynamic interface reduction: components are explored one by one, and what they do is composed.
//!
//! From: Guo et al., Practical Software Model Checking via Dynamic Interface Reduction (DEMETER, SOSP 2011);
//! ALGORITHMS 6, with the three gaps of the paper closed. `trace.rs` has runs as partial orders, `checker.rs` what a
//! model checker must offer to be driven, `handlers.rs` that for protocols, `local.rs` and `global.rs` the explorers,
//! `judge.rs` properties and counts, `underway.rs` starts in the middle of a run.
//! Known: every reachable state, and every way in which a run can end, is that of some combination of places of a cut
//! of a skeleton, so `Holds` means what it means elsewhere. Runs that never end have no end to be found: a limit ends
//! the search then, unless nobody sees the part that is repeated.
//! Held by: testkit/tests/dir.rs, quorate-zoo/tests/dir.rs.

mod checker;
mod events;
mod global;
mod handlers;
mod judge;
mod local;
mod machine;
mod meter;
mod runs;
mod trace;
mod underway;

pub use checker::{Embedded, MessageId, Move, Places, PointId};
pub use handlers::{Act, Handlers};
pub use machine::{Guide, Machine, Operation, Ran};
pub use trace::{Components, Happening, Instance, InterfaceEvent, LocalSkeleton, LocalStep, Trace};

use events::Skeleton;
use global::{Global, Panicking};
use judge::Judge;
use meter::Meter;
use underway::Underway;

use super::explore::violated;
use super::{Order, Search, Watch};
use crate::protocol::{Model, ProcessId};
use crate::reduce::Reductions;
use crate::verdict::{Coverage, Replay, Report, Schedule, ScheduledStep, Snapshot, Stopped, Taken, Verdict};
use crate::world::{Channel, Crashes, Delivery};

/// What came of exploring components one by one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interfaces {
    /// How many maximal traces the components have by themselves; nothing if some run never ends.
    pub local_traces: Option<u128>,
    /// How many ways there are for components to deal with each other.
    pub global_skeletons: u64,
    /// How many maximal runs these stand for; nothing if some run never ends.
    pub global_traces: Option<u128>,
}

/// Components at certain places, in a prefix of a skeleton.
struct Cut {
    skeleton: Skeleton,
    places: Vec<usize>,
}

/// Why the exploration ends before everything is explored.
enum Halt {
    Stopped(Stopped),
    Panicking(Box<Panicking>),
    Broken(Box<Cut>),
}

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

/// Explores a model process by process.
///
/// # Panics
///
/// If the model is in a world that this engine does not know: see [`Engine::refused`](super::Engine::refused).
pub fn dir(model: &Model, search: &Search, watch: &mut dyn Watch) -> Report {
    dir_in_components(model, Components::processes(model), search, watch)
}

/// Explores a model component by component.
///
/// # Panics
///
/// As [`dir`].
pub fn dir_in_components(
    model: &Model,
    components: Components,
    search: &Search,
    watch: &mut dyn Watch,
) -> Report {
    if let Some(reason) = refused(model) {
        panic!("{reason}");
    }
    let in_order = model.world().channel == Channel::Fifo;
    let way = model.start().map_or(&[][..], Snapshot::way);
    let prefix = Replay::from_the_beginning(model).schedule(way);
    let prefix = prefix.expect("a bug in quorate: the steps that led to a snapshot do not lead there");
    if underway::too_large(&components, &prefix) {
        let reason = "components of several processes start at the beginning only".to_string();
        let verdict = Verdict::Unknown(Stopped::Unsuited(reason));
        return super::simple_report(model, verdict, Coverage::default());
    }
    let underway = Underway::after(Handlers::new(model, components), in_order, &prefix);
    let mut global = Global::new(underway, in_order, search.tuning.mutant);
    let mut meter = Meter::new(search, watch);
    let mut judge = Judge::new(model);
    let explored = global
        .explore(&mut meter, &mut |global, skeleton, meter| judge.look_at(global, skeleton, meter))
        .map(|()| judge.local_traces(&global));
    global.locals.checker.checker.conclude();
    let explored = match global.locals.checker.checker.unreliable() {
        Some(stopped) => Err(Halt::Stopped(stopped)),
        None => explored,
    };
    let (verdict, local_traces) = match explored {
        Ok(traces) => (Verdict::Holds, Some(traces)),
        Err(Halt::Stopped(stopped)) => (Verdict::Unknown(stopped), None),
        Err(Halt::Broken(cut)) => (told(model, search, &mut global, &mut meter, &cut, None), None),
        Err(Halt::Panicking(panicking)) => {
            let mut places = vec![0; global.components()];
            places[panicking.component] = panicking.panic.place;
            let cut = Cut { skeleton: panicking.skeleton.clone(), places };
            (told(model, search, &mut global, &mut meter, &cut, Some(&panicking)), None)
        }
    };
    let handlers = &global.locals.checker.checker;
    let coverage = Coverage {
        terminal_states: global.skeletons() as u64,
        depth: u32::try_from(global.longest()).unwrap_or(u32::MAX),
        local_steps: handlers.local_steps,
        handler_calls: handlers.handler_calls,
        bytes: meter.coverage.bytes + handlers.bytes(),
        ..meter.coverage
    };
    let interfaces = Interfaces {
        local_traces: local_traces.filter(|_| !judge.endless),
        global_skeletons: global.skeletons() as u64,
        global_traces: local_traces.map(|_| judge.runs).filter(|_| !judge.endless),
    };
    Report { interfaces: Some(interfaces), ..super::simple_report(model, verdict, coverage) }
}

/// The verdict for components at these places, and a panic that comes next.
fn told(
    model: &Model,
    search: &Search,
    global: &mut Global<Underway<'_>>,
    meter: &mut Meter<'_>,
    cut: &Cut,
    panicking: Option<&Panicking>,
) -> Verdict {
    let mut sequences: Vec<Vec<LocalStep>> = vec![Vec::new(); model.processes().len()];
    for (component, place) in cut.places.iter().enumerate() {
        let offers = global.on_offer(&cut.skeleton, component).contents;
        let standing = global.standing(&cut.skeleton, component, meter).and_then(|standing| {
            global.locals.table(standing.node, &offers, meter)?;
            Ok(standing.node)
        });
        let node = match standing {
            Ok(node) => node,
            Err(Halt::Stopped(stopped)) => return Verdict::Unknown(stopped),
            Err(Halt::Panicking(_) | Halt::Broken(_)) => {
                panic!("a bug in quorate: a violation is found on the way to another")
            }
        };
        for act in global.locals.way_to(node, *place) {
            let (process, step) = global.locals.checker.local_step(&act);
            sequences[process.index()].push(step);
        }
    }
    let mut schedule = woven(model, &sequences);
    let act = panicking.and_then(|panicking| global.locals.panics[panicking.panic.number].0.clone());
    schedule.extend(act.map(|act| {
        let (process, step) = global.locals.checker.local_step(&act);
        scheduled(process, &step)
    }));
    // A run that is composed has steps that nobody asked for: it is made as short as one that was found depth-first.
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
            while let Some((step, rest)) = steps.split_first() {
                let step = scheduled(process, step);
                if run.step(&step).is_err() {
                    break;
                }
                schedule.push(step);
                *steps = rest;
            }
        }
        assert!(schedule.len() > before, "a bug in quorate: what components do does not fit together");
    }
    schedule
}
