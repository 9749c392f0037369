//! The loop: skeletons come from the global explorer and go to the judge.

use super::embedded::ComponentChecker;
use super::global::{Boundary, Global};
use super::judge::Judge;
use super::log::ProgressLog;
use super::meter::{Cut, Halt, Meter, Panicking};
use super::nested::explorers;
use crate::engine::{Grace, Search};
use crate::property::Property;
use crate::report::{ComponentCounts, Coverage, Stopped, Watch};

/// What was found.
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
        /// The steps of each component until then.
        paths: Vec<Vec<S>>,
    },
    /// A component panics, or its agents wait for each other for ever.
    Panic {
        /// Which component.
        component: usize,
        /// The steps of each component until then.
        paths: Vec<Vec<S>>,
        /// The step that panics; none if agents wait.
        step: Option<S>,
        /// What is known about it.
        message: String,
    },
}

/// The outcome of a composition.
#[derive(Clone, PartialEq, Debug)]
pub struct Composed<S> {
    /// What was found.
    pub found: Found<S>,
    /// Figures of this engine.
    pub counts: ComponentCounts,
    /// How much was explored.
    pub coverage: Coverage,
}

/// Explores components one by one, composes what they do, and asks properties of it. Messages of one sender to one
/// receiver stay in order, or do not. Returns the checker as well, which knows what the steps are.
pub fn compose<E: ComponentChecker>(
    mut checker: E,
    in_order: bool,
    properties: &[Property],
    search: &Search,
    log: Option<ProgressLog>,
    watch: &mut dyn Watch,
) -> (E, Composed<E::Step>) {
    let explorers = explorers(&mut checker, in_order, search);
    let mut global = Global::new(checker, explorers, Boundary::Open, in_order, search, log);
    let mut meter = Meter::new(search, watch);
    let mut judge = Judge::new(properties, search.tuning.mutants);
    let judged = meter.heeding(|meter| judge_all(&mut global, &mut judge, meter));
    let Meter { coverage, runs, .. } = meter;
    let judged = match (judged, global.commit()) {
        (Ok(()), Err(stopped)) => Err(Halt::Stopped(stopped)),
        (judged, _) => judged,
    };
    let is_counted = judged.is_ok() && !judge.endless;
    let found = match judged {
        Ok(()) => Found::Nothing,
        Err(Halt::Stopped(stopped)) => Found::Stopped(stopped),
        Err(Halt::Broken(broken)) => match paths_to(&mut global, search, watch, &broken.cut) {
            Ok(paths) => Found::Broken { property: broken.property, paths },
            Err(stopped) => Found::Stopped(Stopped::Untraced(Box::new(stopped))),
        },
        Err(Halt::Panicking(panicking)) => {
            let Panicking { skeleton, component, panic } = *panicking;
            let mut points = vec![0; global.components()];
            points[component] = panic.point;
            let (step, message) = global.locals.panics[panic.number].clone();
            match paths_to(&mut global, search, watch, &Cut { skeleton, points }) {
                Ok(paths) => Found::Panic { component, paths, step, message },
                Err(stopped) => Found::Stopped(Stopped::Untraced(Box::new(stopped))),
            }
        }
    };
    // Whatever answers differently when it is asked again, nothing can be concluded from it.
    properties.iter().for_each(Property::ask_again);
    let impure = properties.iter().find_map(Property::impure);
    let found = impure.map_or(found, |what| Found::Stopped(Stopped::Impure(what.to_string())));
    let global_skeletons = global.skeletons() as u64;
    let coverage = Coverage {
        terminal_states: global_skeletons,
        depth: u32::try_from(global.longest()).unwrap_or(u32::MAX),
        ..coverage
    };
    let counts = ComponentCounts {
        local_traces: is_counted.then(|| judge.local_traces()),
        global_skeletons,
        global_traces: is_counted.then_some(judge.runs),
        some_run_ends: judge.runs > 0,
        enumerated_runs: runs,
        cuts: judge.cuts,
    };
    let checker = if matches!(found, Found::Stopped(_)) {
        judge.discard();
        global.into_checker()
    } else {
        global.locals.checker
    };
    (checker, Composed { found, counts, coverage })
}

/// Hands every skeleton to the judge, after those of the log.
fn judge_all<E: ComponentChecker>(
    global: &mut Global<'_, E>,
    judge: &mut Judge<'_>,
    meter: &mut Meter<'_>,
) -> Result<(), Halt> {
    for judged in &global.restore(meter)? {
        judge.count(judged);
    }
    while let Some(skeleton) = global.next(meter)? {
        let judged = judge.look_at(global, &skeleton, meter)?;
        global.log_judged(judged)?;
    }
    Ok(())
}

/// The steps of each component that lead to a cut. Limits are for finding a violation, not for losing one that was found.
fn paths_to<E: ComponentChecker>(
    global: &mut Global<'_, E>,
    search: &Search,
    watch: &mut dyn Watch,
    cut: &Cut,
) -> Result<Vec<Vec<E::Step>>, Stopped> {
    let unlimited = Search { states_max: None, bytes_max: None, ..search.clone() };
    let mut grace = Grace(watch);
    let paths = Meter::new(&unlimited, &mut grace).heeding(|meter| {
        let mut paths = Vec::new();
        for (component, point) in cut.points.iter().enumerate() {
            let offers = global.receivable(&cut.skeleton, component).contents;
            let node = global.position(&cut.skeleton, component, meter)?.node;
            global.locals.table(node, &offers, meter)?;
            paths.push(global.locals.path_to(node, *point));
        }
        Ok(paths)
    });
    paths.map_err(|halt| match halt {
        Halt::Stopped(stopped) => stopped,
        Halt::Panicking(_) | Halt::Broken(_) => {
            panic!("a bug in quorate: there is another violation on the way to one")
        }
    })
}
