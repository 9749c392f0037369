//! What people read: the verdict, the instance, the picture of a violation, the figures.
//!
//! Colours are written as ANSI sequences throughout; the stream takes them out again where none are wanted.

use std::fmt::Write as _;
use std::time::Duration;

use owo_colors::OwoColorize as _;

use super::json::Beginning;
use super::units::{bytes, decimal, grouped, rate, ratio, time, wide_ratio};
use super::{self as output, memory};
use crate::model::{Model, Trace};
use crate::program::options::reductions::{self, SwitchedOff};
use crate::program::options::world;
use crate::protocol::{Argument, Arguments, Protocol};
use crate::reduce::Reduction;
use crate::render::{Diagram, Paint, columns};
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

/// The names of what was checked. That no handler panics is always checked, and named only if nothing else is.
pub(crate) fn joined<S: AsRef<str>>(properties: &[S]) -> String {
    if properties.is_empty() {
        return Broken::NO_PANIC.to_string();
    }
    properties.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(", ")
}

/// The same for people: names are often sentences, so each is in quotes.
pub(crate) fn checked<S: AsRef<str>>(properties: &[S]) -> String {
    let quoted: Vec<String> = properties.iter().map(|name| format!("'{}'", name.as_ref())).collect();
    joined(&quoted)
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

/// What an answer is about.
pub(crate) struct About<'a> {
    /// As [`instance`] has it.
    pub(crate) instance: &'a str,
    pub(crate) beginning: Option<&'a Beginning>,
}

impl Beginning {
    /// What its steps are of.
    fn source(&self) -> String {
        self.from_file.as_ref().map_or_else(|| "a run".to_string(), |file| format!("'{file}'"))
    }

    /// Which runs were looked at.
    fn scope(&self) -> String {
        format!("from step {} of {} on", self.from_step, self.source())
    }
}

impl About<'_> {
    /// Which runs an answer is about, with a space in front; nothing if all.
    fn scope(&self) -> String {
        self.beginning.map_or_else(String::new, |beginning| format!(" {}", beginning.scope()))
    }

    /// The instance, in the columns that there are. A line that goes on ends as it does in a shell.
    fn instance(&self, width: Option<usize>) -> String {
        let lines = self.instance.lines().map(|line| wrapped(line, width, 4, " \\"));
        lines.map(|line| line + "\n").collect()
    }

    /// A violation in a sentence.
    fn sentence(&self, trace: &Trace, broken: &Broken) -> String {
        let steps = trace.steps.len();
        let mut sentence = format!("{broken}, after {steps} step{}", if steps == 1 { "" } else { "s" });
        if let Some(beginning) = self.beginning {
            _ = write!(sentence, ", the first {} of them from {}", beginning.from_step, beginning.source());
        }
        sentence
    }

    fn diagram<'t>(&self, trace: &'t Trace, broken: &'t Broken, paint: Paint) -> Diagram<'t> {
        let diagram = Diagram::new(trace, broken, paint);
        match self.beginning {
            Some(beginning) => {
                diagram.searched_from(beginning.from_step, &format!("{} ends", beginning.source()))
            }
            None => diagram,
        }
    }
}

/// A text in lines of at most so many columns, the later ones indented. Broken between words only, each line but the
/// last with `end` behind it.
fn wrapped(text: &str, width: Option<usize>, indent: usize, end: &str) -> String {
    let Some(width) = width.filter(|width| *width < columns(text)) else { return text.to_string() };
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().map_or(0, |line| columns(line));
        match lines.last_mut() {
            Some(last) if line == 0 => last.push_str(word),
            Some(last) if line + 1 + columns(word) + columns(end) <= width => {
                last.push(' ');
                last.push_str(word);
            }
            _ => lines.push(format!("{:indent$}{word}", "")),
        }
    }
    lines.join(&format!("{end}\n"))
}

/// The answer of `check`.
pub(crate) fn answer(
    about: &About<'_>,
    model: &Model,
    report: &Report,
    off: &[SwitchedOff],
    spent: Duration,
) -> String {
    let (properties, scope, width) = (checked(&report.properties), about.scope(), output::width());
    let instance = about.instance(width);
    let line = |text: &str| wrapped(text, width, 2, "");
    let mut page = match &report.verdict {
        Verdict::Holds => format!("{}\n{instance}", verdict(&line(&format!("holds{scope}: {properties}")))),
        Verdict::HoldsWithin(reservation) => {
            let first = verdict(&line(&format!("holds within{scope}: {properties}")));
            format!("{first}\n{}\n{instance}", line(reservation))
        }
        Verdict::Unknown(reason @ Stopped::Untraced(_)) => {
            format!("{}\n{instance}", verdict(&line(&format!("unknown: {}", stopped(reason)))))
        }
        Verdict::Unknown(reason) => {
            let seen = grouped(report.coverage.states);
            let seen = format!("no violation of {properties} in the {seen} states seen{scope}");
            let first = verdict(&line(&format!("unknown: {}", stopped(reason))));
            format!("{first}\n{}\n{instance}", line(&seen))
        }
        Verdict::Violated(violation) => violated(about, &violation.trace, &violation.broken),
    };
    page.push('\n');
    page.push_str(&figures(model, report, off, spent, width));
    page
}

/// A line with the verdict, its word in colour.
fn verdict(line: &str) -> String {
    let (word, rest) = line.split_once(": ").unwrap_or((line, ""));
    let word = format!("{word}:");
    let word = match word.split([' ', ':']).next() {
        Some("holds") => word.green().bold().to_string(),
        Some("violated") => word.red().bold().to_string(),
        _ => word.yellow().bold().to_string(),
    };
    format!("{word} {rest}")
}

/// A violation with its picture.
pub(crate) fn violated(about: &About<'_>, trace: &Trace, broken: &Broken) -> String {
    let width = output::width();
    let mut diagram = about.diagram(trace, broken, output::paint());
    if let Some(width) = width {
        diagram = diagram.width(width);
    }
    let line = wrapped(&format!("violated: {}", about.sentence(trace, broken)), width, 2, "");
    format!("{}\n{}\n{}\n", verdict(&line), about.instance(width), diagram.to_string().trim_end())
}

/// A violation as a picture by itself.
pub(crate) fn picture(about: &About<'_>, trace: &Trace, broken: &Broken) -> String {
    let title = format!("violated: {}", about.sentence(trace, broken));
    about.diagram(trace, broken, Paint::Plain).svg(&title, about.instance)
}

/// By what the states are reduced.
fn reduced(report: &Report) -> String {
    let reductions = report.explored().map_or(&[][..], |explored| &explored.reductions);
    let what = if reductions.contains(&Reduction::Beliefs) { "vectors of beliefs, " } else { "" };
    match reductions::names(reductions).as_slice() {
        [] if report.explored().is_some_and(|explored| explored.needed_none) => {
            "so few that nothing had to be reduced".to_string()
        }
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
fn figures(
    model: &Model,
    report: &Report,
    off: &[SwitchedOff],
    spent: Duration,
    width: Option<usize>,
) -> String {
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
        return block(&rows, width);
    }
    let mut rows = vec![
        ("states", grouped(coverage.states), of_states),
        ("transitions", grouped(coverage.transitions), String::new()),
        ("terminal states", grouped(coverage.terminal_states), String::new()),
        ("depth", grouped(coverage.depth), depth_note(report).to_string()),
        ("local steps", grouped(coverage.local_steps), String::new()),
        ("handler calls", grouped(coverage.handler_calls), String::new()),
        ("time", time(spent), format!("{} states/s {threads}", decimal(rate(coverage.states, spent)))),
        ("memory", bytes(peak), a_state),
    ];
    // The run in the picture may be shorter or longer than the way on which it was found.
    rows.retain(|(name, ..)| *name != "depth" || report.verdict.violation().is_none());
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
    for fallback in report.fallbacks.iter().filter(|fallback| fallback.reduction().is_none()) {
        rows.push(("given up", String::new(), fallback.to_string()));
    }
    for (fault, fired, note) in world::rows(model, report) {
        rows.push((fault, fired.map(grouped).unwrap_or_default(), note));
    }
    block(&rows, width)
}

/// What depth is counted in.
fn depth_note(report: &Report) -> &'static str {
    let reductions = report.explored().map_or(&[][..], |explored| &explored.reductions);
    if reductions.iter().any(|reduction| [Reduction::Inert, Reduction::Beliefs].contains(reduction)) {
        "steps to the furthest state, where one may stand for several"
    } else {
        "steps to the furthest state"
    }
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
            format!("{} for each local trace", decimal(wide_ratio(global, local)))
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

/// Where there is less room than this beside figures, notes stand below them.
const NOTES_MIN: usize = 24;

/// Rows of names and values, with notes beside them.
fn block(rows: &[Row], columns: Option<usize>) -> String {
    let width = rows.iter().map(|(_, value, _)| value.len()).fold(VALUE_WIDTH, usize::max);
    let before = 2 + 17 + width + 3;
    let beside = columns.is_none_or(|columns| columns >= before + NOTES_MIN);
    let indent = if beside { before } else { 4 };
    let room = columns.map(|columns| columns.saturating_sub(indent));
    rows.iter().fold(String::new(), |mut block, (name, value, note)| {
        _ = write!(block, "  {name:<17}{value:>width$}");
        for (at, line) in wrapped(note, room, 0, "").lines().enumerate() {
            let start = if at == 0 && beside { "   ".to_string() } else { format!("\n{:indent$}", "") };
            _ = write!(block, "{start}{}", line.dimmed());
        }
        block.push('\n');
        block
    })
}
