//! Published figures: curves over the depth of a search, as tables and as pictures.
//!
//! A point of a [`Series`] is a command line of `check` with a bound on the depth, so it means what it says and can be
//! run by itself; what is drawn is fields of its answer. The searches of a series end with the first that its bound
//! does not cut, or that reaches another limit.
//! Held by: quorate-cli/tests/tables.rs.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Arg, value_parser};
use owo_colors::OwoColorize as _;
use serde::Serialize;
use serde_json::{Map, Value};

use quorate::model::TraceStep;
use quorate::program::Failure;
use quorate::program::options::named;
use quorate::program::output::units::{bytes, grouped};
use quorate::program::output::{self, AnswerFile};
use quorate::report::{Stopped, Verdict};

use super::plot::{self, Drawn};
use super::{Expected, FORMAT, Outcome, Rows, no_row};

/// Figures that belong together: plots of the same searches.
#[derive(Clone, PartialEq, Debug)]
pub struct Figure {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it shows, in a few words.
    pub about: &'static str,
    /// Where it was published.
    pub source: &'static str,
    /// What cannot be compared.
    pub notes: Vec<&'static str>,
    /// The searches.
    pub series: Vec<Series>,
    /// What is drawn of them.
    pub plots: Vec<Plot>,
    /// Numbers that were published in words.
    pub facts: Vec<Fact>,
}

/// Searches that differ in their bound on the depth only.
#[derive(Clone, PartialEq, Debug)]
pub struct Series {
    /// Its name.
    pub name: &'static str,
    /// The words after `check`, separated by spaces.
    pub check: &'static str,
    /// The words after `check` of a search that finds a violation: where that ends, these start.
    pub start: Option<&'static str>,
    /// The bounds.
    pub depths: Depths,
    /// How long a search may take by default, in seconds.
    pub time_max: u32,
    /// What the last search must answer, if it comes to an end.
    pub verdict: Expected,
}

/// On which depths there are searches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Depths {
    /// One for each bound from 1 on, until one is not cut.
    UpTo(
        /// The last bound.
        u32,
    ),
    /// One, without a bound.
    Any,
}

/// A picture, and a table.
#[derive(Clone, PartialEq, Debug)]
pub struct Plot {
    /// The name of its file.
    pub file: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// Of what its numbers are.
    pub unit: Unit,
    /// Its curves.
    pub curves: Vec<Curve>,
}

/// A field of the answers of a series.
#[derive(Clone, PartialEq, Debug)]
pub struct Curve {
    /// What it is called.
    pub name: &'static str,
    /// Of which series.
    pub series: &'static str,
    /// Where it is in the answer of `check --json`, as a JSON pointer: `/states`.
    pub field: &'static str,
}

/// What a number is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// A time.
    Seconds,
    /// How many.
    Count,
    /// How much memory.
    Bytes,
    /// How many times as much.
    Times,
}

/// A number that was published in words.
#[derive(Clone, PartialEq, Debug)]
pub struct Fact {
    /// What it is.
    pub name: &'static str,
    /// As it was published.
    pub published: &'static str,
    /// Of what it is.
    pub unit: Unit,
    /// Where it comes from here.
    pub here: Sought,
}

/// Where a number comes from.
#[derive(Clone, PartialEq, Debug)]
pub enum Sought {
    /// A field of the last search of a series.
    Last {
        /// The series.
        series: &'static str,
        /// The field.
        field: &'static str,
    },
    /// That field of one series over that of another.
    Ratio {
        /// The series above.
        over: &'static str,
        /// The series below.
        under: &'static str,
        /// The field.
        field: &'static str,
    },
}

/// A search that was run.
struct Point {
    /// Its bound.
    depth: Option<u32>,
    outcome: Outcome,
}

impl Point {
    fn value(&self, field: &str) -> Option<f64> {
        match &self.outcome {
            Outcome::Ran { answer, .. } => answer.pointer(field)?.as_f64(),
            Outcome::Needs(_) | Outcome::NotRun => None,
        }
    }

    /// Why it did not get to its bound.
    fn stopped(&self) -> Option<&Stopped> {
        match &self.outcome {
            Outcome::Ran { verdict: Verdict::Unknown(stopped), .. } => {
                Some(stopped).filter(|stopped| !matches!(stopped, Stopped::Depth(_)))
            }
            _ => None,
        }
    }

    /// Would a larger bound make no difference?
    fn is_last(&self) -> bool {
        !matches!(&self.outcome, Outcome::Ran { verdict: Verdict::Unknown(Stopped::Depth(_)), .. })
    }
}

/// A series with its points.
struct Traced<'f> {
    series: &'f Series,
    points: Vec<Point>,
}

impl Traced<'_> {
    fn last(&self, field: &str) -> Option<f64> {
        self.points.last().and_then(|point| point.value(field))
    }
}

/// `--svg` of figures.
pub(super) fn svg_option() -> Arg {
    named(Arg::new("svg"))
        .value_name("DIRECTORY")
        .value_parser(value_parser!(PathBuf))
        .help("Draw the plots of figures as pictures, into a directory")
}

/// Runs the searches of a figure and shows them.
pub(super) fn run(figure: &Figure, rows: &Rows<'_>) -> Result<u8, Failure> {
    let series = rows.wanted(figure.series.iter(), |series| series.name.to_string());
    if series.is_empty() {
        let names: Vec<&str> = figure.series.iter().map(|series| series.name).collect();
        return Err(no_row("series of", figure.name, rows, &names));
    }
    let files = picture_files(figure, rows)?;
    let mut traced = Vec::new();
    for series in series {
        traced.push(Traced { series, points: trace(series, rows)? });
    }
    let page = if rows.given.get_flag("json") {
        output::json_line(&FigureAnswer::new(figure, &traced))?
    } else {
        page(figure, &traced)
    };
    output::print(&page, &format!("the figure ({} series)", traced.len()))?;
    for (file, plot) in files.into_iter().zip(&figure.plots) {
        file.write(&plot::svg(plot.title, plot.unit, &drawn(plot, &traced)), "the picture")?;
    }
    let differs = |traced: &Traced<'_>| {
        let last = traced.points.last();
        last.and_then(|point| point.outcome.agrees(traced.series.verdict)) == Some(false)
    };
    Ok(u8::from(traced.iter().any(differs)))
}

/// The files for the pictures, if they are wanted.
fn picture_files(figure: &Figure, rows: &Rows<'_>) -> Result<Vec<AnswerFile>, Failure> {
    let Some(directory) = rows.given.get_one::<PathBuf>("svg") else { return Ok(Vec::new()) };
    std::fs::create_dir_all(directory).map_err(|error| {
        Failure::Create(format!("cannot create '{}': {error}: expected a directory", directory.display()))
    })?;
    let open = |plot: &Plot| AnswerFile::open(&directory.join(format!("{}.svg", plot.file)));
    figure.plots.iter().map(open).collect()
}

/// Runs the searches of a series.
fn trace(series: &Series, rows: &Rows<'_>) -> Result<Vec<Point>, Failure> {
    let bounds: Vec<Option<u32>> = match series.depths {
        Depths::UpTo(last) => (1..=last).map(Some).collect(),
        Depths::Any => vec![None],
    };
    rows.note(series.name);
    let start = series.start.map_or(Ok(Vec::new()), |words| start(words, rows))?;
    let mut points: Vec<Point> = Vec::new();
    for depth in bounds {
        if points.last().is_some_and(Point::is_last) {
            break;
        }
        let mut words = series.check.to_string();
        if !rows.is_given("time-max") {
            _ = write!(words, " --time-max {}", series.time_max);
        }
        if let Some(depth) = depth {
            _ = write!(words, " --depth-max {depth}");
        }
        points.push(Point { depth, outcome: rows.check(&words, &start)? });
    }
    Ok(points)
}

/// The steps to the violation that a search finds.
fn start(words: &str, rows: &Rows<'_>) -> Result<Vec<TraceStep>, Failure> {
    match rows.check(words, &[])? {
        Outcome::Ran { verdict: Verdict::Violated(found), .. } => Ok(found.trace.steps),
        other => Err(Failure::Usage(format!(
            "'{words}' comes to '{}': expected a violation, where searches start",
            other.words()
        ))),
    }
}

/// The curves of a plot. A search without a bound is drawn for all depths.
fn drawn<'f>(plot: &'f Plot, traced: &[Traced<'f>]) -> Vec<Drawn<'f>> {
    let draw = |curve: &'f Curve| {
        let traced = traced.iter().find(|traced| traced.series.name == curve.series)?;
        let points = traced.points.iter().filter_map(|point| Some((point.depth, point.value(curve.field)?)));
        Some(Drawn { name: curve.name, points: points.collect() })
    };
    plot.curves.iter().filter_map(draw).collect()
}

/// A number for people.
pub(super) fn shown(value: f64, unit: Unit) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts are whole")]
    let whole = value.round() as u64;
    match unit {
        Unit::Seconds if value < 1.0 => format!("{:.2} ms", value * 1000.0),
        Unit::Seconds => format!("{value:.2} s"),
        Unit::Bytes => bytes(whole),
        Unit::Times if value < 100.0 => format!("{value:.2}"),
        Unit::Count | Unit::Times => grouped(whole),
    }
}

impl Sought {
    fn here(&self, traced: &[Traced<'_>]) -> Option<f64> {
        let last = |name: &str, field: &str| {
            traced.iter().find(|traced| traced.series.name == name).and_then(|traced| traced.last(field))
        };
        match self {
            Sought::Last { series, field } => last(series, field),
            Sought::Ratio { over, under, field } => {
                Some(last(over, field)? / last(under, field).filter(|under| *under > 0.0)?)
            }
        }
    }
}

/// The page: a table for each plot, and what was published in words.
fn page(figure: &Figure, traced: &[Traced<'_>]) -> String {
    let mut page = format!("{}\n{}\n", figure.about.bold(), figure.source);
    for note in &figure.notes {
        _ = writeln!(page, "{note}");
    }
    for plot in &figure.plots {
        let curves: Vec<(&Curve, &Traced<'_>)> = plot
            .curves
            .iter()
            .filter_map(|curve| Some((curve, traced.iter().find(|of| of.series.name == curve.series)?)))
            .collect();
        if curves.is_empty() {
            continue;
        }
        let mut depths: Vec<Option<u32>> =
            curves.iter().flat_map(|(_, of)| of.points.iter().map(|point| point.depth)).collect();
        depths.sort_by_key(|depth| depth.unwrap_or(u32::MAX));
        depths.dedup();
        let mut rows = vec![vec!["depth".to_string()]];
        rows[0].extend(curves.iter().map(|(curve, _)| curve.name.to_string()));
        for depth in depths {
            let mut row = vec![depth.map_or("any".to_string(), |depth| depth.to_string())];
            row.extend(curves.iter().map(|(curve, of)| cell(curve, of, depth, plot.unit)));
            rows.push(row);
        }
        _ = write!(page, "\n{}\n{}", plot.title.bold(), set(&rows));
    }
    let mut rows = vec![["", "published", "here"].map(str::to_string).to_vec()];
    for fact in &figure.facts {
        let here = fact.here.here(traced).map_or("not run".to_string(), |here| shown(here, fact.unit));
        rows.push(vec![fact.name.to_string(), fact.published.to_string(), here]);
    }
    _ = write!(page, "\n{}\n{}", "In words".bold(), set(&rows));
    for of in traced {
        if let Some(stopped) = of.points.last().and_then(Point::stopped) {
            _ = writeln!(page, "\n{} does not come to an end: {stopped}", of.series.name);
        }
    }
    page
}

fn cell(curve: &Curve, of: &Traced<'_>, depth: Option<u32>, unit: Unit) -> String {
    let Some(point) = of.points.iter().find(|point| point.depth == depth) else { return String::new() };
    let sign = if point.stopped().is_some() { ">" } else { "" };
    point.value(curve.field).map_or(String::new(), |value| format!("{sign}{}", shown(value, unit)))
}

/// Rows in columns, numbers to the right; the first column of a table of words to the left.
pub(super) fn set(rows: &[Vec<String>]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    let words = rows[0][0].is_empty();
    let mut text = String::new();
    for row in rows {
        for (column, cell) in row.iter().enumerate() {
            let width = widths[column];
            _ = if words && column == 0 {
                write!(text, "  {cell:<width$}")
            } else {
                write!(text, "  {cell:>width$}")
            };
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text
}

/// The answer of `tables --json` for a figure.
#[derive(Serialize)]
struct FigureAnswer {
    quorate: u64,
    figure: &'static str,
    source: &'static str,
    notes: Vec<&'static str>,
    series: Vec<SeriesAnswer>,
    facts: Vec<FactAnswer>,
}

#[derive(Serialize)]
struct SeriesAnswer {
    series: &'static str,
    check: &'static str,
    /// The search that ends where this one starts; `null` if it starts at the beginning.
    start: Option<&'static str>,
    points: Vec<PointAnswer>,
    /// Is the verdict of the last search as it should be? `null` if there is none.
    agrees: Option<bool>,
}

#[derive(Serialize)]
struct PointAnswer {
    /// The bound of the search; `null` if it has none.
    depth: Option<u32>,
    result: String,
    /// The fields that plots and facts are about.
    figures: Map<String, Value>,
}

#[derive(Serialize)]
struct FactAnswer {
    fact: &'static str,
    published: &'static str,
    here: Option<f64>,
}

impl FigureAnswer {
    fn new(figure: &Figure, traced: &[Traced<'_>]) -> Self {
        let plotted = figure.plots.iter().flat_map(|plot| plot.curves.iter().map(|curve| curve.field));
        let in_words = figure.facts.iter().map(|fact| match fact.here {
            Sought::Last { field, .. } | Sought::Ratio { field, .. } => field,
        });
        let fields: Vec<&str> = plotted.chain(in_words).collect();
        let point = |point: &Point| PointAnswer {
            depth: point.depth,
            result: point.outcome.words(),
            figures: fields.iter().map(|field| ((*field).to_string(), point.value(field).into())).collect(),
        };
        let series = |of: &Traced<'_>| SeriesAnswer {
            series: of.series.name,
            check: of.series.check,
            start: of.series.start,
            points: of.points.iter().map(point).collect(),
            agrees: of.points.last().and_then(|point| point.outcome.agrees(of.series.verdict)),
        };
        let fact = |fact: &Fact| FactAnswer {
            fact: fact.name,
            published: fact.published,
            here: fact.here.here(traced),
        };
        FigureAnswer {
            quorate: FORMAT,
            figure: figure.name,
            source: figure.source,
            notes: figure.notes.clone(),
            series: traced.iter().map(series).collect(),
            facts: figure.facts.iter().map(fact).collect(),
        }
    }
}
