//! What the benchmark prints: a table, the targets, and the same figures as JSON.

use std::fmt::Write as _;

use super::{Instance, Options, Row};

const ONE_THREAD: &str = "Quorate, 1 thread";

pub(super) fn heading(instance: &Instance, options: &Options) -> String {
    format!(
        "\nreference Paxos ({},3,1), unreduced unless it says otherwise; medians of {} round{}\n",
        instance.proposers,
        options.rounds,
        if options.rounds == 1 { "" } else { "s" }
    )
}

/// One line a contestant, columns set to the widest entry, numbers to the right.
pub(super) fn table(rows: &[Row]) -> String {
    let titles = [
        "contestant",
        "states",
        "transitions",
        "wall s",
        "CPU s",
        "states/s",
        "transitions/s",
        "bytes/state",
        "Quorate",
    ];
    let mut cells = vec![titles.map(str::to_string).to_vec()];
    let ours = find(rows, |name| name == ONE_THREAD);
    for row in rows {
        cells.push(vec![
            row.name.clone(),
            thousands(row.counts.states),
            thousands(row.counts.transitions),
            format!("{:.2}", row.wall_s),
            row.cpu_s.map_or("-".to_string(), |cpu| format!("{cpu:.2}")),
            thousands(rounded(row.states_per_second())),
            thousands(rounded(row.transitions_per_second())),
            row.bytes_per_state().map_or("-".to_string(), |bytes| format!("{bytes:.1}")),
            ours.filter(|_| !row.reduced)
                .map_or("-".to_string(), |ours| format!("{:.2}x", ours.times_as_fast_as(row))),
        ]);
    }
    let mut text = aligned(&cells, 1);
    text.push_str(
        "\nRates are per second of the processor with one thread, of the wall with several. Bytes are peak\n\
         memory, everything included. The last column: how many times as fast Quorate is with one thread.\n\
         stateright's actors take single messages, so their state space is another one.\n\
         Who is reduced leaves out states: only the time to the verdict can be compared.",
    );
    text
}

/// Lines of cells in columns set to the widest entry, the first as titles; some columns to the left, the rest to the
/// right.
pub(super) fn aligned(cells: &[Vec<String>], left: usize) -> String {
    let columns = cells.first().map_or(0, Vec::len);
    let widest = |column: usize| cells.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(widest).collect();
    let mut text = String::new();
    for (index, line) in cells.iter().enumerate() {
        let set = line.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
            if column < left { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        let _ = writeln!(text, "{}", set.collect::<Vec<_>>().join("  ").trim_end());
        if index == 0 {
            let total = widths.iter().sum::<usize>() + 2 * columns.saturating_sub(1);
            let _ = writeln!(text, "{}", "-".repeat(total));
        }
    }
    text
}

/// A target: what was measured, and whether it is enough.
struct Target {
    says: &'static str,
    measured: Option<f64>,
    reached: fn(f64) -> bool,
}

/// What the project promises, with the figures of this run.
pub(super) fn targets(rows: &[Row]) -> String {
    let ours = find(rows, |name| name == ONE_THREAD);
    let two = find(rows, |name| name == "Quorate, 2 threads");
    let against = |part: &str| {
        let peer = rows.iter().find(|row| !row.reduced && row.name.starts_with(part))?;
        Some(ours?.times_as_fast_as(peer))
    };
    let reduced = |part: &str| rows.iter().find(|row| row.reduced && row.name.starts_with(part));
    let most_bytes = [ours, two].into_iter().flatten().filter_map(Row::bytes_per_state).reduce(f64::max);
    let targets = [
        Target {
            says: "SPIN's transitions/s, at least 3 times",
            measured: against("SPIN"),
            reached: |x| x >= 3.0,
        },
        Target {
            says: "stateright's fastest encoding, at least 3 times",
            measured: against("stateright Model"),
            reached: |x| x >= 3.0,
        },
        Target {
            says: "stateright's actors, at least 15 times",
            measured: against("stateright actors"),
            reached: |x| x >= 15.0,
        },
        Target {
            says: "two threads over one, at least 1.7 times",
            measured: ours.zip(two).map(|(one, two)| two.times_as_fast_as(one)),
            reached: |x| x >= 1.7,
        },
        Target {
            says: "SPIN's time to verdict, both reduced, 100 times",
            measured: reduced("Quorate").zip(reduced("SPIN")).map(|(we, they)| we.times_as_soon_as(they)),
            reached: |x| x >= 100.0,
        },
        Target { says: "bytes per state, at most 24", measured: most_bytes, reached: |x| x <= 24.0 },
    ];
    let mut text = "\ntargets\n".to_string();
    for Target { says, measured, reached } in targets {
        let figure = measured.map_or("-".to_string(), |x| format!("{x:.2}"));
        let word = measured.map_or("not measured", |x| if reached(x) { "reached" } else { "NOT REACHED" });
        let _ = writeln!(text, "  {says:<50} {figure:>7}  {word}");
    }
    text
}

/// The figures as a JSON array of objects, one a contestant.
pub(super) fn json(rows: &[Row]) -> String {
    let objects: Vec<String> = rows
        .iter()
        .map(|row| {
            let or_null = |value: Option<String>| value.unwrap_or_else(|| "null".to_string());
            format!(
                "  {{\"contestant\": \"{}\", \"threads\": {}, \"states\": {}, \"transitions\": {}, \
                 \"wall_seconds\": {:.4}, \"cpu_seconds\": {}, \"peak_bytes\": {}}}",
                row.name,
                row.threads,
                row.counts.states,
                row.counts.transitions,
                row.wall_s,
                or_null(row.cpu_s.map(|cpu| format!("{cpu:.2}"))),
                or_null(row.peak_bytes.map(|bytes| bytes.to_string())),
            )
        })
        .collect();
    format!("[\n{}\n]\n", objects.join(",\n"))
}

fn find(rows: &[Row], wanted: impl Fn(&str) -> bool) -> Option<&Row> {
    rows.iter().find(|row| wanted(&row.name))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rate is positive and far below 2^63"
)]
pub(super) fn rounded(rate: f64) -> u64 {
    rate.round() as u64
}

pub(super) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::Counts;
    use super::*;

    fn row(name: &str, threads: u8, cpu_s: f64) -> Row {
        let counts = Counts { states: 1_000, transitions: 12_000 };
        let wall_s = cpu_s / f64::from(threads);
        Row {
            name: name.to_string(),
            threads: threads.into(),
            reduced: name.ends_with("reduced"),
            counts,
            wall_s,
            cpu_s: Some(cpu_s),
            peak_bytes: Some(25_000),
        }
    }

    #[test]
    fn targets_are_judged_by_their_figures() {
        let rows = [
            row(ONE_THREAD, 1, 2.0),
            row("Quorate, 2 threads", 2, 2.2),
            row("Quorate, reduced", 1, 0.2),
            row("SPIN, reduced", 1, 30.0),
            row("SPIN", 1, 5.0),
        ];
        let text = targets(&rows);
        let verdict =
            |says: &str| text.lines().find(|line| line.contains(says)).unwrap_or_default().to_string();
        assert!(verdict("SPIN's transitions").ends_with("2.50  NOT REACHED"), "{text}");
        assert!(verdict("both reduced").ends_with("150.00  reached"), "{text}");
        assert!(verdict("two threads").ends_with("1.82  reached"), "{text}");
        assert!(verdict("bytes").ends_with("25.00  NOT REACHED"), "{text}");
        assert!(verdict("actors").ends_with("not measured"), "{text}");
    }

    #[test]
    fn the_table_is_set() {
        let text = table(&[row(ONE_THREAD, 1, 2.0), row("SPIN", 1, 5.0)]);
        assert!(text.contains("SPIN                1,000       12,000    5.00   5.00"), "{text}");
        assert!(text.contains("2.50x"), "{text}");
    }

    #[test]
    fn long_numbers_are_readable() {
        assert_eq!([7, 999, 1_000, 37_238_397].map(thousands), ["7", "999", "1,000", "37,238,397"]);
    }
}
