//! What people read: the verdict, the instance, the picture of a violation, the figures.
//!
//! Colours are written as ANSI sequences throughout; the stream takes them out again where none are wanted.

use std::fmt::Write as _;
use std::time::Duration;

use owo_colors::OwoColorize as _;

use super::memory;
use super::units::{bytes, grouped, rate, ratio, time};
use crate::model::{Model, Trace};
use crate::program::options::reductions::{self, SwitchedOff};
use crate::program::options::world;
use crate::protocol::{Argument, Arguments, Protocol};
use crate::reduce::Reduction;
use crate::render::{Diagram, Paint};
use crate::replay::Broken;
use crate::report::{
    ClosureSize, ComponentCounts, Coverage, LocalDetails, Report, Stages, Stopped, SymmetryCompared, Verdict,
};

/// Why a search stopped, with its numbers set for people.
pub(crate) fn stopped(why: &Stopped) -> String {
    match why {
        Stopped::States(limit) => format!("the limit of {} states was reached", grouped(*limit)),
        Stopped::Memory(limit) => format!("the limit of {} of memory was reached", bytes(*limit)),
        Stopped::Untraced(last) => format!("{}: {}", Stopped::SEEN, stopped(last)),
        other => other.to_string(),
    }
}

/// What was checked, in words. That no handler panics is always checked, and named only if nothing else is.
pub(crate) fn checked<S: AsRef<str>>(properties: &[S]) -> String {
    if properties.is_empty() {
        return "no panic".to_string();
    }
    properties.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(", ")
}

/// The command line that names an instance, `paxos --proposers 2 … --bug always-accept`, and below it the options
/// of its world if it is not the default one.
pub(crate) fn instance(protocol: &Protocol, arguments: &Arguments, model: &Model) -> String {
    let mut line = protocol.name().to_string();
    for parameter in protocol.parameters() {
        match arguments.values().get(parameter.name) {
            Some(Argument::Number(number)) => _ = write!(line, " --{} {number}", parameter.name),
            Some(Argument::Choice(word)) => _ = write!(line, " --{} {word}", parameter.name),
            None => {}
        }
    }
    if let Some(bug) = arguments.bug() {
        _ = write!(line, " --bug {bug}");
    }
    let world = world::words(model.world());
    if !world.is_empty() {
        _ = write!(line, "\nworld: {}", world.join(" "));
    }
    line
}

/// The answer of `check`.
pub(crate) fn answer(
    instance: &str,
    model: &Model,
    report: &Report,
    off: &[SwitchedOff],
    spent: Duration,
    paint: Paint,
) -> String {
    let properties = checked(&report.properties);
    let mut page = match &report.verdict {
        Verdict::Holds => format!("{} {properties}\n{instance}\n", "holds:".green().bold()),
        Verdict::HoldsWithin(reservation) => {
            format!("{} {properties}\n{reservation}\n{instance}\n", "holds within:".green().bold())
        }
        Verdict::Unknown(reason @ Stopped::Untraced(_)) => {
            format!("{} {}\n{instance}\n", "unknown:".yellow().bold(), stopped(reason))
        }
        Verdict::Unknown(reason) => format!(
            "{} {}\nno violation of {properties} in the {} states seen\n{instance}\n",
            "unknown:".yellow().bold(),
            stopped(reason),
            grouped(report.coverage.states),
        ),
        Verdict::Violated(violation) => violated(instance, &violation.trace, &violation.broken, paint),
    };
    page.push('\n');
    page.push_str(&figures(model, report, off, spent));
    page
}

/// A violation with its picture.
pub(crate) fn violated(instance: &str, trace: &Trace, broken: &Broken, paint: Paint) -> String {
    let steps = trace.steps.len();
    let diagram = Diagram::new(trace, broken, paint).to_string();
    format!(
        "{} {broken}, after {steps} step{}\n{instance}\n\n{}\n",
        "violated:".red().bold(),
        if steps == 1 { "" } else { "s" },
        diagram.trim_end(),
    )
}

/// By what the states are reduced.
fn reduced(report: &Report) -> String {
    let reductions = report.explored().map_or(&[][..], |explored| &explored.reductions);
    let what = if reductions.contains(&Reduction::Beliefs) { "vectors of beliefs, " } else { "" };
    match reductions::names(reductions).as_slice() {
        [] => String::new(),
        names => format!("{what}reduced: {}", names.join(", ")),
    }
}

/// With fewer states than this, the memory of the program itself hides what a state takes.
const STATES_MEASURABLE_MIN: u64 = 100_000;

/// Wide enough for most times and sizes, so that what a machine takes does not move what is the same everywhere.
const VALUE_WIDTH: usize = 8;

/// A figure: its name, its value, and what there is to say about it.
type Row = (&'static str, String, String);

/// What was found out from local states alone.
fn local_rows(local: &LocalDetails) -> Vec<Row> {
    let mut rows = Vec::new();
    if let Some(ClosureSize { local_states, messages, steps }) = local.closure {
        let closely = ["", ", followed roughly", ", followed exactly"][usize::from(local.precision.min(2))];
        let note = format!("local states, {} messages, {} steps{closely}", grouped(messages), grouped(steps));
        rows.push(("closure", grouped(local_states), note));
        if local.reservation.is_none() {
            let note = format!(
                "of {} combinations; {} refuted by local states, {} by searches of {}",
                grouped(local.combinations),
                grouped(local.refuted_at_once),
                grouped(local.refuted_by_search),
                grouped(local.searched),
            );
            rows.push(("candidates", grouped(local.candidates), note));
        }
    }
    if let Some(reservation) = &local.reservation {
        rows.push(("not local", String::new(), reservation.clone()));
    }
    if let Some(events) = local.local_events {
        let note = "steps of each process by itself: all such runs are covered".to_string();
        rows.push(("local events", events.to_string(), note));
    }
    rows
}

/// The figures of a search: names, numbers, and what the numbers come to.
fn figures(model: &Model, report: &Report, off: &[SwitchedOff], spent: Duration) -> String {
    let coverage = &report.coverage;
    let peak = memory::peak().unwrap_or(coverage.bytes);
    let a_state = if coverage.states < STATES_MEASURABLE_MIN {
        String::new()
    } else {
        format!("{:.1} bytes a state", ratio(peak, ratio(coverage.states, 1.0)))
    };
    let threads =
        if report.threads == 1 { "on 1 thread".into() } else { format!("on {} threads", report.threads) };
    let frontier = if coverage.frontier == 0 {
        String::new()
    } else {
        format!("{} not expanded", grouped(coverage.frontier))
    };
    let of_states = [reduced(report), frontier].into_iter().filter(|note| !note.is_empty());
    let of_states = of_states.collect::<Vec<_>>().join("; ");
    if let Some(counts) = &report.components() {
        let mut rows = component_rows(coverage, counts, spent, peak);
        rows.extend(report.stages().iter().flat_map(stage_rows));
        return block(&rows);
    }
    let mut rows = vec![
        ("states", grouped(coverage.states), of_states),
        ("transitions", grouped(coverage.transitions), String::new()),
        ("terminal states", grouped(coverage.terminal_states), String::new()),
        ("depth", grouped(coverage.depth), String::new()),
        ("local steps", grouped(coverage.local_steps), String::new()),
        ("handler calls", grouped(coverage.handler_calls), String::new()),
        ("time", time(spent), format!("{} states/s {threads}", grouped(rate(coverage.states, spent)))),
        ("memory", bytes(peak), a_state),
    ];
    if let Some(states) = report.explored().and_then(|explored| explored.system_states) {
        let at = rows.iter().position(|(name, ..)| *name == "transitions").unwrap_or(0);
        rows.insert(at, ("system states", grouped(states), "vectors of local states".to_string()));
    }
    if let Some(compared) = report.explored().and_then(|explored| explored.symmetry) {
        let SymmetryCompared { steps, handler_calls, combinations, .. } = compared;
        let note = format!(
            "local steps compared with processes exchanged, by {} more handler calls, and {} combinations of views",
            grouped(handler_calls),
            grouped(combinations)
        );
        let at = rows.iter().position(|(name, ..)| *name == "time").unwrap_or(0);
        rows.insert(at, ("symmetry", grouped(steps), note));
    }
    rows.extend(report.local().into_iter().flat_map(local_rows));
    rows.extend(report.stages().iter().flat_map(stage_rows));
    if let Some(missed) = report.explored().and_then(|explored| explored.missed_probability) {
        let note = if missed > 0.0 { "probability, at most" } else { "probability: all states fit exactly" };
        rows.push(("state missed", format!("{missed:.1e}"), note.to_string()));
    }
    for SwitchedOff { reduction, reason } in off {
        rows.push(("not reduced", String::new(), format!("{reduction}: {reason}")));
    }
    for (fault, fired, note) in world::rows(model, report) {
        rows.push((fault, fired.map(grouped).unwrap_or_default(), note));
    }
    block(&rows)
}

/// What a search in stages came to.
fn stage_rows(Stages { stages, stones, passed }: &Stages) -> [Row; 2] {
    let over = match passed {
        None => String::new(),
        Some(0) => "the violation was found without any".to_string(),
        Some(1) => "the violation was found from one of them".to_string(),
        Some(passed) => format!("the violation was found over {passed} of them"),
    };
    [("stages", grouped(*stages), String::new()), ("stepping stones", grouped(*stones), over)]
}

/// The figures of components that were explored one by one.
fn component_rows(coverage: &Coverage, counts: &ComponentCounts, spent: Duration, peak: u64) -> Vec<Row> {
    let count = |number: Option<u128>| number.map_or_else(|| "?".to_string(), grouped);
    let reduced = match (counts.local_traces, counts.global_traces) {
        (Some(local), Some(global)) if local > 0 => {
            format!("{} for each local trace", grouped(global / local))
        }
        _ => String::new(),
    };
    let not_expanded = match coverage.frontier {
        0 => String::new(),
        waiting => format!("{} not composed with others", grouped(waiting)),
    };
    vec![
        ("local traces", count(counts.local_traces), "of components by themselves".to_string()),
        ("global skeletons", grouped(counts.global_skeletons), not_expanded),
        ("global traces", count(counts.global_traces), reduced),
        ("local states", grouped(coverage.states), "with the skeletons that they belong to".to_string()),
        ("local steps", grouped(coverage.local_steps), String::new()),
        ("handler calls", grouped(coverage.handler_calls), String::new()),
        ("time", time(spent), String::new()),
        ("memory", bytes(peak), String::new()),
    ]
}

/// Rows of names and values, with notes beside them.
fn block(rows: &[Row]) -> String {
    let width = rows.iter().map(|(_, value, _)| value.len()).fold(VALUE_WIDTH, usize::max);
    rows.iter().fold(String::new(), |mut block, (name, value, note)| {
        _ = write!(block, "  {name:<17}{value:>width$}");
        if !note.is_empty() {
            _ = write!(block, "   {}", note.dimmed());
        }
        block.push('\n');
        block
    })
}
