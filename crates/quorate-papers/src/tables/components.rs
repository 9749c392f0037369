//! Published tables of what it saves to explore components one by one.
//!
//! From: Guo et al., Practical Software Model Checking via Dynamic Interface Reduction (DEMETER, SOSP 2011), sections
//! 5.1 and 5.2. A row is run twice: component by component, and plainly, as one component of all processes, whose runs
//! are gone through one by one with partial-order reduction. The *reduction ratio* is global traces over local traces;
//! the *RT-ratio* the time for a local trace over the time for a run of the plain enumeration; the *speed-up* the first
//! over the second.
//! Differs: where a component is one process, its local traces are counted and not gone through, so an RT-ratio may be
//! far below 1. Neither side is asked for properties: what is compared is exploring. A plain enumeration that is
//! stopped has its time for a run all the same; one that is not must find as many runs as were counted.
//! Held by: `quorate-cli/tests/dir_table.rs`.

use std::fmt::Write as _;
use std::time::Duration;

use owo_colors::OwoColorize as _;
use quorate::program::output::units::grouped;
use quorate::program::{Failure, output};
use quorate::report::{ComponentCounts, Stopped, Verdict};
use serde::Serialize;

use super::figure::{self, Unit};
use super::{FORMAT, Rows, TableAnswer, no_row};

/// A published table of what it saves to explore components one by one.
#[derive(Clone, PartialEq, Debug)]
pub struct ComponentTable {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it shows, in a few words.
    pub about: &'static str,
    /// Where it was published.
    pub source: &'static str,
    /// How its rows became instances, and what cannot be compared.
    pub notes: Vec<&'static str>,
    /// How long a plain enumeration may take by default, in seconds.
    pub plain_time_max: u32,
    /// Its rows.
    pub rows: Vec<ComponentRow>,
}

/// A row of it.
#[derive(Clone, PartialEq, Debug)]
pub struct ComponentRow {
    /// What it is called there.
    pub name: &'static str,
    /// The words after `check` that name the instance, separated by spaces.
    pub instance: &'static str,
    /// The words that say what a component is; none if each process is one.
    pub components: &'static str,
    /// What was published.
    pub published: Saving,
}

/// What it saves.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Saving {
    /// Global traces over local traces.
    pub reduction_ratio: Option<f64>,
    /// How many ways there are for components to deal with each other.
    pub global_skeletons: Option<u64>,
    /// How many maximal traces the components have by themselves.
    pub local_traces: Option<u128>,
    /// The time for a local trace over the time for a run.
    pub rt_ratio: Option<f64>,
    /// The first over the last.
    pub speed_up: Option<f64>,
}

/// An exploration that was run.
struct Explored {
    verdict: Verdict,
    counts: ComponentCounts,
    time: Duration,
}

impl Explored {
    fn is_whole(&self) -> bool {
        matches!(self.verdict, Verdict::Holds)
    }

    fn is_interrupted(&self) -> bool {
        matches!(self.verdict, Verdict::Unknown(Stopped::Interrupted))
    }
}

/// A row with what came of it, as far as the user has let it.
struct Line<'t> {
    row: &'t ComponentRow,
    apart: Explored,
    plain: Option<Explored>,
}

impl Line<'_> {
    /// What it saves here.
    fn saving(&self) -> Saving {
        let ComponentCounts { local_traces, global_skeletons, global_traces, .. } = self.apart.counts;
        let reduction_ratio = local_traces.zip(global_traces).map(|(local, global)| over(global, local));
        let for_a_trace = local_traces.map(|traces| self.apart.time.as_secs_f64() / over(traces, 1));
        let for_a_run = self
            .plain
            .as_ref()
            .filter(|plain| plain.counts.enumerated_runs > 0)
            .map(|plain| plain.time.as_secs_f64() / over(plain.counts.enumerated_runs.into(), 1));
        let rt_ratio = for_a_trace.zip(for_a_run).map(|(trace, run)| trace / run);
        Saving {
            reduction_ratio,
            global_skeletons: self.apart.is_whole().then_some(global_skeletons),
            local_traces,
            rt_ratio,
            speed_up: reduction_ratio.zip(rt_ratio).map(|(ratio, cost)| ratio / cost),
        }
    }

    /// Has a plain enumeration found as many runs as were counted? `None` if one of them was stopped.
    fn agrees(&self) -> Option<bool> {
        let plain = self.plain.as_ref().filter(|plain| plain.is_whole() && self.apart.is_whole())?;
        let runs = plain.counts.enumerated_runs.into();
        Some(self.apart.counts.global_traces? == runs)
    }

    /// Does something differ from what it must be?
    fn differs(&self) -> bool {
        let is_violated = |explored: &Explored| matches!(explored.verdict, Verdict::Violated(_));
        is_violated(&self.apart)
            || self.plain.as_ref().is_some_and(is_violated)
            || self.agrees() == Some(false)
    }
}

/// One number over another, for people.
#[expect(clippy::cast_precision_loss, reason = "shown with a few digits only")]
fn over(number: u128, under: u128) -> f64 {
    number as f64 / under.max(1) as f64
}

/// Runs the rows of a table and prints them.
pub(super) fn run(table: &ComponentTable, rows: &Rows<'_>) -> Result<u8, Failure> {
    let wanted = rows.wanted(table.rows.iter(), |row| row.name.to_string());
    if wanted.is_empty() {
        let names: Vec<&str> = table.rows.iter().map(|row| row.name).collect();
        return Err(no_row("row of table", table.name, rows, &names));
    }
    let mut lines: Vec<Line<'_>> = Vec::new();
    for (at, row) in wanted.iter().enumerate() {
        rows.note(&format!("row {} of {}: {}", at + 1, wanted.len(), row.name));
        let apart = explore(&apart(row), rows)?;
        let stopped = apart.is_interrupted();
        let plain = if stopped { None } else { Some(explore(&plain(table, row, rows), rows)?) };
        let stopped = stopped || plain.as_ref().is_some_and(Explored::is_interrupted);
        lines.push(Line { row, apart, plain });
        if stopped {
            break;
        }
    }
    let page = if rows.given.get_flag("json") {
        output::json_line(&TableAnswer::<RowAnswer>::new(table, &lines))?
    } else {
        page(table, &lines)
    };
    output::print(&page, &format!("the table ({} rows)", lines.len()))?;
    Ok(u8::from(lines.iter().any(Line::differs)))
}

/// The words after `check` of a row, component by component.
fn apart(row: &ComponentRow) -> String {
    format!("{} --engine components {}", row.instance, row.components).trim_end().to_string()
}

/// The words after `check` of its plain enumeration.
fn plain(table: &ComponentTable, row: &ComponentRow, rows: &Rows<'_>) -> String {
    let mut words = format!("{} --engine components --components 1", row.instance);
    if !rows.is_given("time-max") {
        _ = write!(words, " --time-max {}", table.plain_time_max);
    }
    words
}

/// Explores, and asks no property of what is found.
fn explore(words: &str, rows: &Rows<'_>) -> Result<Explored, Failure> {
    let answer = rows.job(words, &[])?.without_properties().run()?;
    let counts = answer.report.components().ok_or_else(|| {
        Failure::Usage(format!(
            "a row of a table is '{words}': expected components, with --engine components"
        ))
    })?;
    Ok(Explored { verdict: answer.report.verdict, counts, time: answer.time })
}

/// The page: both sides of a row on one line, then what the ratios are made of.
fn page(table: &ComponentTable, lines: &[Line<'_>]) -> String {
    let mut page = format!("{}\n{}\n\n", table.about.bold(), table.source);
    let side = ["ratio", "skeletons", "local traces", "RT-ratio", "speed-up"];
    let over_side = |name| [name, "", "", "", ""];
    let above =
        [&[""], &over_side("published")[..], &["│"], &over_side("here")[..], &["│", "", "", "plain", ""]]
            .concat();
    let header =
        [&[""], &side[..], &["│"], &side[..], &["│", "global traces", "time", "runs", "time"]].concat();
    let words = |row: Vec<&str>| row.into_iter().map(str::to_string).collect();
    let mut rows: Vec<Vec<String>> = vec![words(above), words(header)];
    rows.extend(lines.iter().map(cells));
    for (at, line) in figure::set(&rows).lines().enumerate() {
        _ = if at < 2 { writeln!(page, "{}", line.dimmed()) } else { writeln!(page, "{line}") };
    }
    page.push('\n');
    for note in &table.notes {
        _ = writeln!(page, "{note}");
    }
    let count = |wanted: Option<bool>| lines.iter().filter(|line| line.agrees() == wanted).count();
    _ = write!(
        page,
        "\n{} rows: {} with as many runs as the plain enumeration has found, {} with another number, {} where it was \
         stopped\n",
        lines.len(),
        count(Some(true)),
        count(Some(false)),
        count(None)
    );
    page
}

/// The cells of a row.
fn cells(line: &Line<'_>) -> Vec<String> {
    let mut cells = vec![line.row.name.to_string()];
    cells.extend(side(&line.row.published));
    cells.push("│".to_string());
    cells.extend(side(&line.saving()));
    let global = line.apart.counts.global_traces.map_or_else(|| "?".to_string(), grouped);
    cells.extend(["│".to_string(), global, spent(&line.apart)]);
    match &line.plain {
        None => cells.extend(["not run".to_string(), String::new()]),
        Some(plain) => {
            let all = if plain.is_whole() { "all " } else { "" };
            let differs = if line.agrees() == Some(false) { " DIFFERS" } else { "" };
            let runs = grouped(plain.counts.enumerated_runs);
            cells.extend([format!("{all}{runs}{differs}"), spent(plain)]);
        }
    }
    cells
}

/// One side of a row.
fn side(saving: &Saving) -> [String; 5] {
    let number = |number: Option<u128>| number.map(grouped).unwrap_or_default();
    let ratio = |ratio: Option<f64>| ratio.map(shown).unwrap_or_default();
    [
        ratio(saving.reduction_ratio),
        number(saving.global_skeletons.map(u128::from)),
        number(saving.local_traces),
        ratio(saving.rt_ratio),
        ratio(saving.speed_up),
    ]
}

/// How long an exploration took, and whether it was stopped then.
fn spent(explored: &Explored) -> String {
    let sign = if explored.is_whole() { "" } else { ">" };
    format!("{sign}{}", figure::shown(explored.time.as_secs_f64(), Unit::Seconds))
}

/// `0.0031`, `0.75`, `132.4`, `5,915`.
fn shown(ratio: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "ratios are not negative")]
    let whole = ratio.round() as u64;
    match ratio {
        ..0.01 => format!("{ratio:.4}"),
        0.01..1.0 => format!("{ratio:.2}"),
        1.0..1000.0 => format!("{ratio:.1}"),
        _ => grouped(whole),
    }
}

/// A row of the answer of `tables --json`.
#[derive(Serialize)]
struct RowAnswer {
    row: &'static str,
    /// The words after `check`.
    check: String,
    published: Saving,
    here: Saving,
    global_traces: Option<u128>,
    seconds: f64,
    /// `null` if it was not run.
    plain: Option<PlainAnswer>,
    /// Has the plain enumeration found as many runs as were counted? `null` if one of them was stopped.
    agrees: Option<bool>,
}

/// A plain enumeration.
#[derive(Serialize)]
struct PlainAnswer {
    runs: u64,
    /// Are these all?
    is_whole: bool,
    seconds: f64,
}

impl<'t> TableAnswer<'t, RowAnswer> {
    fn new(table: &'t ComponentTable, lines: &[Line<'_>]) -> Self {
        let plain = |plain: &Explored| PlainAnswer {
            runs: plain.counts.enumerated_runs,
            is_whole: plain.is_whole(),
            seconds: plain.time.as_secs_f64(),
        };
        let row = |line: &Line<'_>| RowAnswer {
            row: line.row.name,
            check: apart(line.row),
            published: line.row.published,
            here: line.saving(),
            global_traces: line.apart.counts.global_traces,
            seconds: line.apart.time.as_secs_f64(),
            plain: line.plain.as_ref().map(plain),
            agrees: line.agrees(),
        };
        let rows = lines.iter().map(row).collect();
        TableAnswer { quorate: FORMAT, table: table.name, source: table.source, notes: &table.notes, rows }
    }
}
