//! `tables`: the figures that somebody has published, beside what comes out here and now.
//!
//! A row of a [`Table`] is a command line of `check`, so that it means what it says and can be run by itself. What
//! is compared is fields of the answer, verdicts, and the ratios between rows on both sides.
//! Known: a verdict that differs from the published one makes the exit code 1; a row that does not finish, or
//! that needs something that does not exist yet, is said to be so and changes nothing.
//! Held by: quorate-cli/tests/tables.rs.

mod components;
mod figure;
mod page;
mod plot;

use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches};
use serde::Serialize;
use serde_json::Value;

use quorate::model::TraceStep;
use quorate::program::options::{json_option, limit_options, named as option, quiet_option, threads_option};
use quorate::program::{Command, Failure, Job, Program, output};
use quorate::report::{Stopped, Verdict};

pub use components::{ComponentRow, ComponentTable, Saving};
pub use figure::{Curve, Depths, Fact, Figure, Plot, Series, Sought, Unit};

/// Something that was published: a table, or figures.
#[derive(Clone, PartialEq, Debug)]
pub enum Exhibit {
    /// Rows that are run once each.
    Table(
        /// Which.
        Table,
    ),
    /// Curves over the depth of a search.
    Figure(
        /// Which.
        Figure,
    ),
    /// Rows that are run component by component, and plainly.
    Components(
        /// Which.
        ComponentTable,
    ),
}

impl Exhibit {
    fn name(&self) -> &'static str {
        match self {
            Exhibit::Table(table) => table.name,
            Exhibit::Figure(figure) => figure.name,
            Exhibit::Components(table) => table.name,
        }
    }

    fn about(&self) -> &'static str {
        match self {
            Exhibit::Table(table) => table.about,
            Exhibit::Figure(figure) => figure.about,
            Exhibit::Components(table) => table.about,
        }
    }
}

impl From<Table> for Exhibit {
    fn from(table: Table) -> Self {
        Exhibit::Table(table)
    }
}

impl From<Figure> for Exhibit {
    fn from(figure: Figure) -> Self {
        Exhibit::Figure(figure)
    }
}

impl From<ComponentTable> for Exhibit {
    fn from(table: ComponentTable) -> Self {
        Exhibit::Components(table)
    }
}

/// A published table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it shows, in a few words.
    pub about: &'static str,
    /// Where it was published.
    pub source: &'static str,
    /// How its rows became instances, and what cannot be compared.
    pub notes: Vec<&'static str>,
    /// Which figures it has, as the fields of the answer of `check --json` are called. Ratios are of the first.
    pub figures: Vec<&'static str>,
    /// The words with which the command line of every row ends.
    pub options: &'static str,
    /// Its rows, those together that are compared with each other.
    pub groups: Vec<Group>,
}

/// Rows that check the same thing in different ways.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    /// What is checked.
    pub name: &'static str,
    /// What every row must answer.
    pub verdict: Expected,
    /// The rows.
    pub rows: Vec<Row>,
}

/// The verdict of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expected {
    /// The property holds.
    Holds,
    /// There is a counterexample.
    Violated,
}

/// A row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// What distinguishes it in its group.
    pub name: &'static str,
    /// What was published.
    pub published: Published,
    /// The row of its group with which it is compared: the one whose figures its own are divided by.
    pub over: Option<&'static str>,
    /// How it is run here.
    pub here: Here,
}

/// What was published in a row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Published {
    /// The figures, in the order of the table's; none if there are none.
    pub figures: Vec<u64>,
    /// How long it took, as it is printed there.
    pub time: &'static str,
    /// How it ended, as it is printed there.
    pub result: &'static str,
}

/// How a row is run here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Here {
    /// As `check` with these words.
    Check(
        /// The words, separated by spaces.
        &'static str,
    ),
    /// Not at all: what it takes does not exist yet.
    Needs(
        /// What it takes.
        &'static str,
    ),
}

/// What a row came to.
enum Outcome {
    /// It was run, as far as the limits allow.
    Ran { verdict: Verdict, answer: Value, time: Duration },
    /// It cannot be run.
    Needs(&'static str),
    /// The user has stopped it all before.
    NotRun,
}

impl Outcome {
    /// A figure by its name, and whether it is all of it.
    fn figure(&self, name: &str) -> Option<(u64, bool)> {
        match self {
            Outcome::Ran { verdict, answer, .. } => {
                Some((answer[name].as_u64()?, !matches!(verdict, Verdict::Unknown(_))))
            }
            Outcome::Needs(_) | Outcome::NotRun => None,
        }
    }

    /// Is the verdict the expected one? `None` if there is no verdict.
    fn agrees(&self, expected: Expected) -> Option<bool> {
        match self {
            Outcome::Ran { verdict: Verdict::Unknown(_), .. } | Outcome::Needs(_) | Outcome::NotRun => None,
            Outcome::Ran { verdict, .. } => Some(match expected {
                Expected::Holds => matches!(verdict, Verdict::Holds | Verdict::HoldsWithin(_)),
                Expected::Violated => matches!(verdict, Verdict::Violated(_)),
            }),
        }
    }

    /// How it ended, in a few words.
    fn words(&self) -> String {
        match self {
            Outcome::Ran { verdict: Verdict::Unknown(stopped), .. } => match stopped {
                Stopped::Time(_) => "out of time".to_string(),
                Stopped::Memory(_) => "out of memory".to_string(),
                Stopped::States(_) => "out of states".to_string(),
                other => other.to_string(),
            },
            Outcome::Ran { verdict, .. } => verdict.word().to_string(),
            Outcome::Needs(what) => format!("needs {what}"),
            Outcome::NotRun => "not run".to_string(),
        }
    }
}

/// A row that was wanted, with what it came to.
struct Line<'t> {
    group: &'t Group,
    row: &'t Row,
    outcome: Outcome,
}

/// A number of states over another: whole if both counts are.
struct Ratio {
    value: f64,
    at_least: bool,
}

fn ratio(over: u64, under: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "shown with a few digits only")]
    let value = over as f64 / under.max(1) as f64;
    value
}

impl Line<'_> {
    /// The published ratio to the row that this one is compared with.
    fn published_ratio(&self) -> Option<f64> {
        let other = self.group.rows.iter().find(|row| Some(row.name) == self.row.over)?;
        Some(ratio(*self.row.published.figures.first()?, *other.published.figures.first()?))
    }

    /// The same ratio here. The divisor must be a complete count.
    fn ratio(&self, table: &Table, lines: &[Line<'_>]) -> Option<Ratio> {
        let figure = table.figures.first()?;
        let is_other = |line: &&Line<'_>| line.group == self.group && Some(line.row.name) == self.row.over;
        let (under, whole) = lines.iter().find(is_other)?.outcome.figure(figure)?;
        let (over, all) = self.outcome.figure(figure)?;
        whole.then(|| Ratio { value: ratio(over, under), at_least: !all })
    }
}

/// After how many states a row ends by default: a few GiB.
const STATES_MAX: &str = "60000000";
/// How long a row may take by default, in seconds: a table is a matter of minutes.
const TIME_MAX: &str = "40";

/// The version of the format of answers.
const FORMAT: u64 = 1;

/// The command `tables`.
pub struct Tables {
    exhibits: Vec<Exhibit>,
}

impl Tables {
    /// These tables and figures.
    pub fn new(exhibits: impl IntoIterator<Item = impl Into<Exhibit>>) -> Self {
        Tables { exhibits: exhibits.into_iter().map(Into::into).collect() }
    }

    /// The tables and figures of the papers.
    pub fn published() -> Self {
        Tables::new(crate::published::all())
    }
}

impl Command for Tables {
    fn name(&self) -> &'static str {
        "tables"
    }

    fn arguments(&self, _: &Program, name: &str) -> Result<clap::Command, Failure> {
        let names =
            self.exhibits.iter().map(|exhibit| PossibleValue::new(exhibit.name()).help(exhibit.about()));
        let limits = limit_options().into_iter().filter(|arg| arg.get_id() != "depth-max");
        let limits = limits.map(|arg| match arg.get_id().as_str() {
            "states-max" => arg.default_value(STATES_MAX).help("Stop a row after this many states"),
            "time-max" => {
                arg.default_value(TIME_MAX).help("Stop a row after this long: 90 (seconds), 10m, 1h")
            }
            _ => arg,
        });
        let which = Arg::new("TABLE").required(true).value_parser(PossibleValuesParser::new(names));
        let example = self.exhibits.first().map_or("TABLE", Exhibit::name);
        Ok(clap::Command::new("tables")
            .about("Runs the rows of a published table and prints them beside the published figures")
            .arg(which.help("Which table"))
            .arg(
                option(Arg::new("rows"))
                    .value_name("TEXT")
                    .help("Only rows with this in their name or in the name of their group"),
            )
            .args(limits.map(|arg| arg.help_heading("Limits of each row (one that reaches a limit says so)")))
            .args([threads_option(), json_option(), quiet_option(), figure::svg_option()])
            .after_help(format!(
                "Examples:\n  \
                 {name} tables {example}\n  \
                 {name} tables {example} --time-max 10m --states-max 1000000000\n  \
                 {name} tables {example} --json\n\n\
                 Exit codes: 0 no verdict differs from the published one, 1 some verdict does, 64 and above: an error."
            )))
    }

    fn run(&self, program: &Program, given: &ArgMatches) -> Result<u8, Failure> {
        let name = given.get_one::<String>("TABLE").map_or("", String::as_str);
        let rows = Rows { program, given };
        match self.exhibits.iter().find(|exhibit| exhibit.name() == name) {
            Some(Exhibit::Table(_) | Exhibit::Components(_)) if given.contains_id("svg") => {
                Err(Failure::Usage(format!("--svg draws figures, and '{name}' is a table: leave it out")))
            }
            Some(Exhibit::Table(table)) => run_table(table, &rows),
            Some(Exhibit::Figure(figure)) => figure::run(figure, &rows),
            Some(Exhibit::Components(table)) => components::run(table, &rows),
            None => Err(Failure::Usage(format!("unknown table '{name}': expected one of the list"))),
        }
    }
}

/// What runs the rows of a table: the program, with the options of `tables`.
struct Rows<'r> {
    program: &'r Program,
    given: &'r ArgMatches,
}

impl Rows<'_> {
    /// Those whose names contain what `--rows` says.
    fn wanted<'t, T>(&self, all: impl Iterator<Item = T>, name: impl Fn(&T) -> String + 't) -> Vec<T> {
        let wanted = self.text().to_lowercase();
        all.filter(|row| name(row).to_lowercase().contains(&wanted)).collect()
    }

    /// What `--rows` says.
    fn text(&self) -> &str {
        self.given.get_one::<String>("rows").map_or("", String::as_str)
    }

    fn is_given(&self, option: &str) -> bool {
        self.given.value_source(option) == Some(ValueSource::CommandLine)
    }

    /// Says what is run, unless it should be quiet.
    fn note(&self, text: &str) {
        if !self.given.get_flag("quiet") {
            output::note(text);
        }
    }

    /// Runs one row, with the limits of the table; after these steps, if there are any.
    fn check(&self, words: &str, start: &[TraceStep]) -> Result<Outcome, Failure> {
        let answer = self.job(words, start)?.run()?;
        let json = serde_json::from_str(&answer.json);
        let json = json.map_err(|error| Failure::Output(format!("cannot read an answer: {error}")))?;
        Ok(Outcome::Ran { verdict: answer.report.verdict, answer: json, time: answer.time })
    }

    /// What is to be run for these words after `check`.
    fn job(&self, words: &str, start: &[TraceStep]) -> Result<Job<'_>, Failure> {
        let mut line: Vec<String> = words.split(' ').map(str::to_string).collect();
        for limit in ["states-max", "time-max", "memory-max", "threads"] {
            // Options of the row itself come before the defaults.
            if !self.is_given(limit) && words.contains(&format!("--{limit} ")) {
                continue;
            }
            for value in self.given.get_raw(limit).into_iter().flatten() {
                line.extend([format!("--{limit}"), value.to_string_lossy().into_owned()]);
            }
        }
        if self.given.get_flag("quiet") {
            line.push("--quiet".to_string());
        }
        let line: Vec<&str> = line.iter().map(String::as_str).collect();
        self.program.job(&line, start)
    }
}

fn run_table(table: &Table, rows: &Rows<'_>) -> Result<u8, Failure> {
    let all = table.groups.iter().flat_map(|group| group.rows.iter().map(move |row| (group, row)));
    let wanted = rows.wanted(all, |(group, row)| title(group, row));
    if wanted.is_empty() {
        let groups: Vec<&str> = table.groups.iter().map(|group| group.name).collect();
        return Err(no_row("row of table", table.name, rows, &groups));
    }
    let lines = search(table, &wanted, rows)?;
    let page = if rows.given.get_flag("json") {
        output::json_line(&TableAnswer::new(table, &lines))?
    } else {
        page::page(table, &lines)
    };
    output::print(&page, &format!("the table ({} rows)", lines.len()))?;
    Ok(u8::from(lines.iter().any(|line| line.outcome.agrees(line.group.verdict) == Some(false))))
}

/// The error if no name contains what `--rows` says.
fn no_row(what: &str, name: &str, rows: &Rows<'_>, known: &[&str]) -> Failure {
    let (wanted, known) = (rows.text(), known.join("; "));
    Failure::Usage(format!("no {what} '{name}' has '{wanted}' in its name: expected a part of {known}"))
}

/// What a row is called.
fn title(group: &Group, row: &Row) -> String {
    format!("{}: {}", group.name, row.name)
}

/// Runs the rows, one after the other.
fn search<'t>(
    table: &Table,
    wanted: &[(&'t Group, &'t Row)],
    rows: &Rows<'_>,
) -> Result<Vec<Line<'t>>, Failure> {
    let mut lines: Vec<Line<'t>> = Vec::new();
    for (at, (group, row)) in wanted.iter().copied().enumerate() {
        let interrupted = lines.iter().any(|line| {
            matches!(line.outcome, Outcome::Ran { verdict: Verdict::Unknown(Stopped::Interrupted), .. })
        });
        let outcome = match row.here {
            Here::Needs(what) => Outcome::Needs(what),
            Here::Check(_) if interrupted => Outcome::NotRun,
            Here::Check(words) => {
                rows.note(&format!("row {} of {}: {}", at + 1, wanted.len(), title(group, row)));
                rows.check(&whole(words, table), &[])?
            }
        };
        lines.push(Line { group, row, outcome });
    }
    Ok(lines)
}

/// The words after `check`.
fn whole(words: &str, table: &Table) -> String {
    format!("{words} {}", table.options).trim_end().to_string()
}

/// The answer of `tables --json`.
#[derive(Serialize)]
struct TableAnswer<'t, R> {
    quorate: u64,
    table: &'static str,
    source: &'static str,
    notes: &'t [&'static str],
    rows: Vec<R>,
}

/// A row of it.
#[derive(Serialize)]
struct RowAnswer {
    group: &'static str,
    row: &'static str,
    /// The words after `check`, if it can be run.
    check: Option<String>,
    /// The row that its ratios are to.
    over: Option<&'static str>,
    published: Side,
    here: Side,
    /// Is the verdict the published one? `null` if there is none.
    agrees: Option<bool>,
}

/// One side of a row.
#[derive(Serialize)]
struct Side {
    figures: serde_json::Map<String, Value>,
    ratio: Option<f64>,
    time: Value,
    result: String,
}

impl<'t> TableAnswer<'t, RowAnswer> {
    fn new(table: &'t Table, lines: &[Line<'_>]) -> Self {
        let row = |line: &Line<'_>| {
            let published = &line.row.published;
            let figures = table.figures.iter().zip(&published.figures);
            let here = table.figures.iter().filter_map(|name| Some((name, line.outcome.figure(name)?.0)));
            RowAnswer {
                group: line.group.name,
                row: line.row.name,
                check: match line.row.here {
                    Here::Check(words) => Some(whole(words, table)),
                    Here::Needs(_) => None,
                },
                over: line.row.over,
                published: Side {
                    figures: figures.map(|(name, figure)| ((*name).to_string(), (*figure).into())).collect(),
                    ratio: line.published_ratio(),
                    time: published.time.into(),
                    result: published.result.to_string(),
                },
                here: Side {
                    figures: here.map(|(name, figure)| ((*name).to_string(), figure.into())).collect(),
                    ratio: line.ratio(table, lines).filter(|ratio| !ratio.at_least).map(|ratio| ratio.value),
                    time: match &line.outcome {
                        Outcome::Ran { time, .. } => time.as_secs_f64().into(),
                        Outcome::Needs(_) | Outcome::NotRun => Value::Null,
                    },
                    result: line.outcome.words(),
                },
                agrees: line.outcome.agrees(line.group.verdict),
            }
        };
        let rows = lines.iter().map(row).collect();
        TableAnswer { quorate: FORMAT, table: table.name, source: table.source, notes: &table.notes, rows }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate::{Outbox, Protocol, Role, RoleName, System, Transitions, observe};

    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct Counter(usize);

    impl Role for Counter {
        type Message = ();
        fn transitions(&self, t: &mut Transitions<Self>) {
            t.internal("count").when(|c| c.0 < 9).run(|c: &mut Counter, _: &mut Outbox<()>| c.0 += 1);
        }
    }

    fn row(name: &'static str, figure: u64, over: Option<&'static str>, here: Here) -> Row {
        let published = Published { figures: vec![figure], time: "1 m", result: "OK" };
        Row { name, published, over, here }
    }

    /// A table of counters that count to nine, which is more than some of them may.
    fn table() -> Table {
        let rows = vec![
            row("one", 10, None, Here::Check("counter")),
            row("two", 40, Some("one"), Here::Check("counter --counters 2")),
            row("limited", 50, Some("one"), Here::Check("counter --counters 3")),
            row("never", 60, Some("one"), Here::Needs("a miracle")),
            row("wrong", 70, Some("one"), Here::Check("counter --most 8")),
        ];
        Table {
            name: "counters",
            about: "Counters",
            source: "nowhere",
            notes: Vec::new(),
            figures: vec!["states"],
            options: "--reduce none --threads 1",
            groups: vec![Group { name: "counting", verdict: Expected::Holds, rows }],
        }
    }

    /// Runs the table and gives its lines to `see`.
    fn with_lines(words: &[&str], see: impl FnOnce(&Table, &[Line<'_>])) {
        let protocols = [Protocol::new("counter", "counts", |arguments| {
            let most = arguments.number("most");
            System::new()
                .role(RoleName::new("counter"), arguments.number("counters"), |_| Counter(0))
                .invariant("few", observe(|c: &Counter| c.0), move |counts| {
                    counts.iter().all(|count| *count <= most)
                })
        })
        .number("counters", 1, 1..=9, "how many")
        .number("most", 9, 0..=9, "how far they may count")];
        let table = table();
        let program = Program::new(protocols);
        let line = [&["tables", "counters", "--quiet"], words].concat();
        let arguments = Tables::new([table.clone()]).arguments(&program, "quorate").expect("arguments");
        let given = arguments.try_get_matches_from(line).expect("a line that makes sense");
        let all: Vec<(&Group, &Row)> =
            table.groups.iter().flat_map(|group| group.rows.iter().map(move |row| (group, row))).collect();
        let rows = Rows { program: &program, given: &given };
        see(&table, &search(&table, &all, &rows).expect("lines"));
    }

    #[test]
    fn figures_ratios_and_verdicts_stand_side_by_side() {
        with_lines(&["--states-max", "500"], |table, lines| {
            let page = page::page(table, lines);
            for shown in [
                "\n  one          10          1 m  OK       │     10          ",
                "\n  two          40   4.00   1 m  OK       │    100   10.00  ",
                "\n  limited      50   5.00   1 m  OK       │   >500  >50.00  ",
                "out of states\n",
                "needs a miracle\n",
                "violated, DIFFERS",
                "5 rows: 2 with the published verdict, 1 with another, 1 not finished within the limits, 1 that \
                 cannot be run yet\n",
            ] {
                assert!(page.contains(shown), "{shown} in {page}");
            }
            let agrees: Vec<Option<bool>> =
                lines.iter().map(|line| line.outcome.agrees(line.group.verdict)).collect();
            assert_eq!(agrees, [Some(true), Some(true), None, None, Some(false)]);
        });
    }

    #[test]
    fn json_has_both_sides() {
        with_lines(&["--states-max", "500"], |table, lines| {
            let json = serde_json::to_value(TableAnswer::new(table, lines)).expect("JSON");
            let (two, limited, wrong) = (&json["rows"][1], &json["rows"][2], &json["rows"][4]);
            assert_eq!((&two["published"]["ratio"], &two["here"]["ratio"]), (&4.0.into(), &10.0.into()));
            assert_eq!(
                (&two["check"], &two["agrees"]),
                (&"counter --counters 2 --reduce none --threads 1".into(), &true.into())
            );
            assert_eq!((&limited["here"]["ratio"], &limited["agrees"]), (&Value::Null, &Value::Null));
            assert_eq!((&wrong["here"]["result"], &wrong["agrees"]), (&"violated".into(), &false.into()));
        });
    }
}
