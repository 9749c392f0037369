//! A table for people: both sides of a row on one line, the ratios next to what they are of.

use std::fmt::Write as _;

use owo_colors::OwoColorize as _;

use quorate::program::output::units::{grouped, time};

use super::{Line, Outcome, Ratio, Table};

/// The page.
pub(super) fn page(table: &Table, lines: &[Line<'_>]) -> String {
    let mut page = format!("{}\n{}\n", table.about.bold(), table.source);
    for note in &table.notes {
        _ = writeln!(page, "{note}");
    }
    let header = header(table);
    let cells: Vec<Vec<String>> = lines.iter().map(|line| cells(table, line, lines)).collect();
    let width = |column: usize| {
        let all = cells.iter().chain([&header]);
        all.map(|row| row[column].chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    // Names and results read from the left, numbers from the right.
    let sides = table.figures.len() + 3;
    let reads_left = |column: usize| column.is_multiple_of(sides);
    let set = |row: &[String]| {
        let cell = |(column, cell): (usize, &String)| {
            let gap = if column == 1 + sides { "   │ " } else { "  " };
            let pad = " ".repeat(widths[column] - cell.chars().count());
            if reads_left(column) { format!("{gap}{cell}{pad}") } else { format!("{gap}{pad}{cell}") }
        };
        row.iter().enumerate().map(cell).collect::<String>().trim_end().to_string()
    };
    let published = 2 + widths[0] + 2;
    let here: usize = widths[..=sides].iter().sum::<usize>() + 2 * (sides + 1) + 3;
    _ = writeln!(page, "\n{:published$}{:<rest$}│ here", "", "published", rest = here - published);
    _ = writeln!(page, "{}", set(&header).dimmed());
    let mut group = None;
    for (line, cells) in lines.iter().zip(&cells) {
        if group != Some(line.group) {
            group = Some(line.group);
            _ = writeln!(page, "{}", line.group.name.bold());
        }
        let text = set(cells);
        let differs = line.outcome.agrees(line.group.verdict) == Some(false);
        _ = if differs { writeln!(page, "{}", text.red()) } else { writeln!(page, "{text}") };
    }
    _ = write!(page, "\n{}\n", summary(lines));
    page
}

fn header(table: &Table) -> Vec<String> {
    let mut side: Vec<String> = Vec::new();
    for (at, figure) in table.figures.iter().enumerate() {
        side.push((*figure).to_string());
        if at == 0 {
            side.push("ratio".to_string());
        }
    }
    side.extend(["time".to_string(), "result".to_string()]);
    [vec![String::new()], side.clone(), side].concat()
}

/// The cells of a row: its name, then the figures, the ratio, the time and the result of both sides.
fn cells(table: &Table, line: &Line<'_>, lines: &[Line<'_>]) -> Vec<String> {
    let published = &line.row.published;
    let mut cells = vec![line.row.name.to_string()];
    let mut side = |figures: Vec<String>, ratio: String, time: String, result: String| {
        for (at, figure) in figures.into_iter().enumerate() {
            cells.push(figure);
            if at == 0 {
                cells.push(ratio.clone());
            }
        }
        cells.extend([time, result]);
    };
    let whole = |value: f64| shown(&Ratio { value, at_least: false });
    side(
        (0..table.figures.len())
            .map(|at| published.figures.get(at).map(|figure| grouped(*figure)).unwrap_or_default())
            .collect(),
        line.published_ratio().map(whole).unwrap_or_default(),
        published.time.to_string(),
        published.result.to_string(),
    );
    let figure = |name: &&str| match line.outcome.figure(name) {
        Some((figure, true)) => grouped(figure),
        Some((figure, false)) => format!(">{}", grouped(figure)),
        None => String::new(),
    };
    let result = match line.outcome.agrees(line.group.verdict) {
        Some(false) => format!("{}, DIFFERS", line.outcome.words()),
        _ => line.outcome.words(),
    };
    let spent = match &line.outcome {
        Outcome::Ran { time: spent, .. } => time(*spent),
        Outcome::Needs(_) | Outcome::NotRun => String::new(),
    };
    let ratio = line.ratio(table, lines).as_ref().map(shown).unwrap_or_default();
    side(table.figures.iter().map(figure).collect(), ratio, spent, result);
    cells
}

/// `12.97`, `>39.40`, `140.2`.
fn shown(ratio: &Ratio) -> String {
    let digits = if ratio.value < 100.0 { 2 } else { 1 };
    let sign = if ratio.at_least { ">" } else { "" };
    format!("{sign}{:.digits$}", ratio.value)
}

/// How many rows came to what.
fn summary(lines: &[Line<'_>]) -> String {
    let count = |wanted: &dyn Fn(&Line<'_>) -> bool| lines.iter().filter(|line| wanted(line)).count();
    let same = count(&|line| line.outcome.agrees(line.group.verdict) == Some(true));
    let differ = count(&|line| line.outcome.agrees(line.group.verdict) == Some(false));
    let needing = count(&|line| matches!(line.outcome, Outcome::Needs(_)));
    let mut text = format!("{} rows: {same} with the published verdict, {differ} with another", lines.len());
    let unfinished = lines.len() - same - differ - needing;
    if unfinished > 0 {
        _ = write!(text, ", {unfinished} not finished within the limits");
    }
    if needing > 0 {
        _ = write!(text, ", {needing} that cannot be run yet");
    }
    text
}
