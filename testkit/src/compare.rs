//! In what a report of an engine differs from what the naive checker found.
//!
//! Known: an engine stops at the first violation, so counts are compared where everything holds, and the
//! violation where something does not. Several properties may break after equally few steps: any of them
//! will do. By fingerprint nothing ever holds for certain.
//! Held by: tests/mutants.rs, where every planted mistake makes a difference.

use std::panic::{AssertUnwindSafe, catch_unwind};

use quorate::Report;
use quorate::engine::{Engine, Explore, Order, Search, Visited};
use quorate::model::Model;
use quorate::replay::{Replay, Violation};
use quorate::report::Verdict;
use quorate::world::Channel;

use crate::naive::Findings;

/// Searches a model with an engine. A panic of the engine is a difference too, and must not hide whose it is.
pub fn explored(model: &Model, engine: &dyn Engine, search: &Search) -> Result<Report, String> {
    catch_unwind(AssertUnwindSafe(|| engine.search(model, search, &mut ()))).map_err(|panicked| {
        let text = panicked.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panicked.downcast_ref::<&str>().copied());
        format!("the engine panicked: {}", text.unwrap_or("without a message"))
    })
}

/// The differences, one line each; none if they agree.
pub fn differences(
    model: &Model,
    found: &Findings,
    (engine, search): (&Explore, &Search),
    report: &Report,
) -> Vec<String> {
    let mut differences = Vec::new();
    // Small protocols fit narrow slots, which are exact, unless there are none.
    let by_fingerprint = engine.visited == Visited::Fingerprint && search.current_tuning().narrow_max == 0;
    let differs = &mut differences;
    match &report.verdict {
        Verdict::Violated(violation) => violation_differs(model, found, engine.order, violation, differs),
        Verdict::Holds if !by_fingerprint => counts_differ(model, found, engine.order, report, differs),
        Verdict::HoldsWithin(_) if by_fingerprint => {
            counts_differ(model, found, engine.order, report, differs);
        }
        other => differences.push(format!("the verdict is {other:?}")),
    }
    differences
}

fn counts_differ(
    model: &Model,
    found: &Findings,
    order: Order,
    report: &Report,
    differences: &mut Vec<String>,
) {
    if !found.broken.is_empty() {
        differences.push(format!("the verdict is {}, but {:?} break", report.verdict.word(), found.broken));
        return;
    }
    let coverage = &report.coverage;
    let mut counts = vec![
        ("states", coverage.states, found.depths.len()),
        ("transitions", coverage.transitions, found.edges.len()),
        ("terminal states", coverage.terminal_states, found.terminal_states),
        ("local steps", coverage.local_steps, found.local_steps.len()),
        ("handler calls", coverage.handler_calls, found.handler_runs.len()),
        ("states left to expand", coverage.frontier, 0),
    ];
    if order == Order::Breadth {
        counts.push(("depth", u64::from(coverage.depth), found.depth() as usize));
    } else if coverage.depth < found.depth() {
        differences.push(format!("depth {} is less than {}", coverage.depth, found.depth()));
    }
    if let Some(system_states) = report.explored().and_then(|explored| explored.system_states) {
        counts.push(("system states", system_states, found.system_states.len()));
    }
    for (what, counted, expected) in counts {
        if counted != expected as u64 {
            differences.push(format!("{what}: {counted}, not {expected}"));
        }
    }
    // How often a fault can strike is counted in other ways; that it can is the same, but for steps that always have
    // to wait for room.
    let blocking = matches!(model.world().channel, Channel::Blocking(_));
    for (kind, counted) in &report.faults {
        let expected = found.kinds.get(kind).copied().unwrap_or(0);
        if !blocking && (*counted > 0) != (expected > 0) {
            differences.push(format!("{} strikes {counted} times, not {expected}", kind.name()));
        }
    }
}

pub(crate) fn violation_differs(
    model: &Model,
    found: &Findings,
    order: Order,
    violation: &Violation,
    differences: &mut Vec<String>,
) {
    let (property, length) = (violation.broken.property(), violation.trace.steps.len());
    let length = u32::try_from(length).expect("a run of a small protocol is short");
    match found.broken.get(property) {
        None => differences.push(format!("'{property}' is violated, but only {:?} break", found.broken)),
        Some(&shortest) if length < shortest => {
            differences.push(format!("'{property}' breaks after {length} steps, not before {shortest}"));
        }
        Some(_) if order == Order::Breadth && Some(length) != found.shortest_violation() => {
            differences.push(format!("'{property}' breaks after {length} steps, but {:?}", found.broken));
        }
        Some(_) => {}
    }
    let mut replay = Replay::new(model);
    for step in &violation.trace.steps {
        if let Err(error) = replay.follow(step) {
            differences.push(format!("replay refuses the trace: {error}"));
            return;
        }
    }
    if replay.broken().as_ref() != Some(&violation.broken) {
        differences.push(format!("replay ends in {:?}, not {:?}", replay.broken(), violation.broken));
    }
}
