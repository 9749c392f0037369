//! The table of searches with the default reductions.

use super::super::report::{aligned, rounded, thousands};
use super::answer::Answer;
use super::program::Cost;

/// One program on one case.
pub(super) struct Row {
    pub(super) case: String,
    pub(super) program: String,
    pub(super) answer: Answer,
    pub(super) cost: Cost,
    pub(super) peak_bytes: Option<u64>,
}

impl Row {
    pub(super) fn microseconds_per_state(&self) -> f64 {
        1e6 / self.states_per_second()
    }

    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    fn states_per_second(&self) -> f64 {
        self.answer.states as f64 / self.cost.seconds
    }

    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    fn bytes_per_state(&self) -> Option<f64> {
        self.answer.table_bytes.map(|bytes| bytes as f64 / self.answer.states as f64)
    }

    /// How many times the states, and the time, of another.
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    fn times(&self, other: &Row) -> (f64, f64) {
        let states = self.answer.states as f64 / other.answer.states as f64;
        (states, self.cost.seconds / other.cost.seconds)
    }
}

/// A line for each program on each case. The last two columns: how many times the states, and the time, of the first
/// program on the same case.
pub(super) fn table(cases: &[Vec<Row>]) -> String {
    let titles = [
        "instance",
        "program",
        "verdict",
        "states",
        "transitions",
        "CPU s",
        "states/s",
        "bytes/state",
        "peak MiB",
        "handler calls",
        "instructions",
        "states x",
        "time x",
    ];
    let mut cells = vec![titles.map(str::to_string).to_vec()];
    for here in cases {
        for (at, row) in here.iter().enumerate() {
            let times = (at > 0 && here[0].answer.ended()).then(|| row.times(&here[0]));
            // One that was stopped would have taken longer, and found more.
            let at_least = if row.answer.ended() { "" } else { ">" };
            let shown = |times: f64| format!("{at_least}{times:.2}");
            cells.push(vec![
                row.case.clone(),
                row.program.clone(),
                row.answer.verdict.clone(),
                thousands(row.answer.states),
                thousands(row.answer.transitions),
                format!("{:.3}", row.cost.seconds),
                thousands(rounded(row.states_per_second())),
                or_dash(row.bytes_per_state().map(|bytes| format!("{bytes:.0}"))),
                or_dash(row.peak_bytes.map(|bytes| thousands(bytes >> 20))),
                or_dash(row.answer.handler_calls.map(thousands)),
                or_dash(row.cost.instructions.map(thousands)),
                or_dash(times.map(|(states, _)| shown(states))),
                or_dash(times.map(|(_, seconds)| shown(seconds))),
            ]);
        }
    }
    aligned(&cells, 3)
        + "\nSeconds are of the processor, starting up included, and rates are per second of them. Bytes a state are\n\
           the tables of the search, peak memory is everything. Times x: the first program of the instance is 1; a\n\
           `>` means that the search was stopped. Instructions are counted in runs of less than a second."
}

/// The figures as a JSON array of objects.
pub(super) fn json(cases: &[Vec<Row>]) -> String {
    let objects = cases.iter().flatten().map(|row| {
        let or_null = |value: Option<u64>| value.map_or("null".to_string(), |value| value.to_string());
        format!(
            "  {{\"instance\": \"{}\", \"program\": \"{}\", \"verdict\": \"{}\", \"states\": {}, \"transitions\": {}, \
             \"cpu_seconds\": {:.4}, \"table_bytes\": {}, \"peak_bytes\": {}, \"handler_calls\": {}, \
             \"instructions\": {}}}",
            row.case,
            row.program,
            row.answer.verdict,
            row.answer.states,
            row.answer.transitions,
            row.cost.seconds,
            or_null(row.answer.table_bytes),
            or_null(row.peak_bytes),
            or_null(row.answer.handler_calls),
            or_null(row.cost.instructions),
        )
    });
    format!("[\n{}\n]\n", objects.collect::<Vec<_>>().join(",\n"))
}

fn or_dash(cell: Option<String>) -> String {
    cell.unwrap_or_else(|| "-".to_string())
}

#[cfg(test)]
mod tests {
    use super::super::super::json::Json;
    use super::*;

    fn row(program: &str, verdict: &str, states: u64, seconds: f64) -> Row {
        Row {
            case: "tree".to_string(),
            program: program.to_string(),
            answer: Answer {
                verdict: verdict.to_string(),
                states,
                transitions: 2 * states,
                table_bytes: Some(40 * states),
                handler_calls: None,
                sound: Vec::new(),
            },
            cost: Cost { seconds, instructions: None },
            peak_bytes: Some(3 << 20),
        }
    }

    #[test]
    fn the_first_program_is_one() {
        let cases = [vec![
            row("after", "holds", 1_000, 0.5),
            row("before", "holds", 2_000, 1.5),
            row("older", "unknown", 4_000, 60.0),
        ]];
        let text = table(&cases);
        let line =
            |at: usize| text.lines().nth(at + 2).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(line(0), "tree after holds 1,000 2,000 0.500 2,000 40 3 - - - -");
        assert_eq!(line(1), "tree before holds 2,000 4,000 1.500 1,333 40 3 - - 2.00 3.00");
        assert!(line(2).ends_with(">4.00 >120.00"), "{text}");
        assert!((cases[0][0].microseconds_per_state() - 500.0).abs() < 1e-9);
    }

    #[test]
    fn json_can_be_read_again() {
        let text = json(&[vec![row("after", "holds", 1_000, 0.5)], vec![row("after", "holds", 7, 0.5)]]);
        let Some(Json::List(rows)) = Json::read(&text) else { panic!("{text}") };
        assert_eq!((rows.len(), rows[0].number("table_bytes")), (2, Some(40_000)));
        assert_eq!((rows[1].number("states"), rows[1].number("handler_calls")), (Some(7), None));
    }
}
