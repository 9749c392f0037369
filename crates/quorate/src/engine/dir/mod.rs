//! Dynamic interface reduction: components are explored one by one, and what they do is composed.
//!
//! From: Guo et al., Practical Software Model Checking via Dynamic Interface Reduction (DEMETER, SOSP 2011);
//! ALGORITHMS 6, with the three gaps of the paper closed. `trace.rs` has runs as partial orders, `checker.rs` what a
//! model checker must offer to be driven, `handlers.rs` that for protocols, `local.rs` and `global.rs` the explorers,
//! `judge.rs` properties and counts.
//! Known: every reachable state, and every way in which a run can end, is that of some combination of places of a cut
//! of a skeleton, so `Holds` means what it means elsewhere. Runs that never end have no end to be found: a limit ends
//! the search then, unless nobody sees the part that is repeated.
//! Held by: testkit/tests/dir.rs, quorate-zoo/tests/dir.rs.

mod checker;
mod compose;
mod events;
mod global;
mod handlers;
mod judge;
mod local;
mod machine;
mod meter;
mod runs;
mod trace;

pub use checker::{Embedded, MessageId, Move, Places, PointId};
pub use compose::{Composed, Together, compose};
pub use handlers::{Act, Handlers};
pub use machine::{Guide, Machine, Operation, Ran};
pub use trace::{Components, Happening, Instance, InterfaceEvent, LocalSkeleton, LocalStep, Trace};

use events::Skeleton;
use global::{Global, Panicking};
use judge::Judge;
use meter::Meter;

use super::explore::violated;
use super::{Order, Search, Watch};
use crate::protocol::Model;
use crate::reduce::Reductions;
use crate::verdict::{Coverage, Report, Schedule, ScheduledStep, Stopped, Taken, Verdict};
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
    let mut global = Global::new(Handlers::new(model, components), in_order, search.tuning.mutant);
    let mut meter = Meter::new(search, watch);
    let mut judge = Judge::new(model.properties());
    let explored = global
        .explore(&mut meter, &mut |global, skeleton, meter| judge.look_at(global, skeleton, meter))
        .map(|()| judge.local_traces(&global));
    global.locals.checker.conclude();
    let explored = match global.locals.checker.unreliable() {
        Some(stopped) => Err(Halt::Stopped(stopped)),
        None => explored,
    };
    let (verdict, local_traces) = match explored {
        Ok(traces) => (Verdict::Holds, Some(traces)),
        Err(Halt::Stopped(stopped)) => (Verdict::Unknown(stopped), None),
        Err(Halt::Broken(cut)) => (told(model, search, &mut global, &mut meter, &cut, None), None),
        Err(Halt::Panicking(panicking)) => {
            let cut = compose::before(&global, &panicking);
            (told(model, search, &mut global, &mut meter, &cut, Some(&panicking)), None)
        }
    };
    let handlers = &global.locals.checker;
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
    global: &mut Global<Handlers<'_>>,
    meter: &mut Meter<'_>,
    cut: &Cut,
    panicking: Option<&Panicking>,
) -> Verdict {
    let mut sequences: Vec<Vec<LocalStep>> = vec![Vec::new(); model.processes().len()];
    let ways = match compose::ways_to(global, meter, cut) {
        Ok(ways) => ways,
        Err(stopped) => return Verdict::Unknown(stopped),
    };
    for act in ways.into_iter().flat_map(|(_, way)| way) {
        let (process, step) = global.locals.checker.local_step(&act);
        sequences[process.index()].push(step);
    }
    let trace = Trace::weave(model, &sequences).expect("what components do fits if their skeletons do");
    let mut schedule: Schedule = trace.schedule();
    let act = panicking.and_then(|panicking| global.locals.panics[panicking.panic.number].0.clone());
    schedule.extend(act.map(|act| {
        let (process, step) = global.locals.checker.local_step(&act);
        let LocalStep { kind, transition, choices, consumed } = step;
        let consumed = consumed.into_iter().map(|envelope| Taken { envelope, nth: 0 }).collect();
        ScheduledStep { process, kind, transition, consumed, choices, sent: Vec::new() }
    }));
    // A run that is composed has steps that nobody asked for: it is made as short as one that was found depth-first.
    let search = Search { order: Order::Depth, reductions: Reductions::default(), ..search.clone() };
    violated(model, &search, schedule)
}
