//! A default that never loses: the default reductions beside each choice that can be made by hand, over the whole zoo
//! with every planted bug.
//!
//! Compared are instructions where both runs take less than a second, and seconds of the processor otherwise. A choice
//! that takes several times as long as the quickest is not counted: it cannot be the best.

use std::fmt::Write as _;

use super::super::report::aligned;
use super::program::{Cost, Program, REPEATED_MAX, Run};
use crate::failure::Failure;

/// More than this is a loss.
const LOST_ABOVE: f64 = 1.5;
/// Choices that take this many times the quickest one's time, and a little for the clock, are not counted.
const HOPELESS_TIMES: f64 = 2.0;
const CLOCK_S: f64 = 0.01;

const CHOICES: [&str; 7] =
    ["none", "inert", "stubborn", "beliefs", "symmetry", "inert,stubborn", "inert,beliefs"];

/// The default and the best choice on one protocol, whole or with a bug.
#[derive(Debug)]
pub(super) struct Compared {
    pub(super) protocol: String,
    pub(super) bug: Option<String>,
    auto: Tried,
    /// Nothing if no choice came to an end.
    best: Option<Tried>,
    /// Choices that came to another verdict. There is no excuse for one.
    differ: Vec<String>,
}

/// One choice and what it cost.
#[derive(Clone, PartialEq, Debug)]
struct Tried {
    choice: String,
    verdict: String,
    cost: Cost,
}

impl Tried {
    fn new(choice: &str, run: &Run) -> Tried {
        Tried { choice: choice.to_string(), verdict: run.answer.verdict.clone(), cost: run.cost }
    }

    fn ended(&self) -> bool {
        self.verdict != "unknown"
    }
}

/// Every choice on one protocol.
pub(super) fn compare(program: &Program, protocol: &str, bug: Option<&str>) -> Result<Compared, Failure> {
    let planted = bug.map(|bug| format!(" --bug {bug}")).unwrap_or_default();
    let words = |choice: &str| format!("{protocol}{planted} --reduce {choice}");
    // Short runs are compared by instructions, of which one run tells.
    let times_max = if program.counts() { 1 } else { REPEATED_MAX };
    let Some(run) = program.check(&words("auto"), times_max)? else {
        return Err(Failure::Bench(format!("the default is refused on {protocol}{planted}")));
    };
    let mut auto = Tried::new("auto", &run);
    let all = run.answer.sound.join(",");
    let mut tried = Vec::new();
    for choice in CHOICES.into_iter().chain((!CHOICES.contains(&all.as_str())).then_some(all.as_str())) {
        if let Some(run) = program.check(&words(choice), times_max)? {
            tried.push(Tried::new(choice, &run));
        }
    }
    let quickest = quickest(&tried);
    for one in tried.iter_mut().filter(|one| one.cost.seconds <= quickest * HOPELESS_TIMES + CLOCK_S) {
        one.cost.instructions = program.instructions(&words(&one.choice), one.cost.seconds)?;
    }
    auto.cost.instructions = program.instructions(&words("auto"), auto.cost.seconds)?;
    Ok(Compared::of(protocol, bug, auto, &tried))
}

/// The time of the quickest that ended.
fn quickest(tried: &[Tried]) -> f64 {
    tried.iter().filter(|one| one.ended()).map(|one| one.cost.seconds).fold(f64::INFINITY, f64::min)
}

/// The choice that costs least: by instructions if any is counted, by time otherwise.
fn best(tried: &[Tried]) -> Option<&Tried> {
    let ended = || tried.iter().filter(|one| one.ended());
    let counted = ended().filter(|one| one.cost.instructions.is_some());
    counted
        .min_by_key(|one| one.cost.instructions)
        .or_else(|| ended().min_by(|a, b| a.cost.seconds.total_cmp(&b.cost.seconds)))
}

/// How many times the cost of another, and what that was measured by.
fn times(cost: Cost, other: Cost) -> (f64, &'static str) {
    #[expect(clippy::cast_precision_loss, reason = "instructions of a second are far below 2^52")]
    let counted = |(ours, theirs): (u64, u64)| ours as f64 / theirs as f64;
    match cost.instructions.zip(other.instructions) {
        Some(both) => (counted(both), "instructions"),
        None => (cost.seconds / other.seconds, "seconds"),
    }
}

impl Compared {
    fn of(protocol: &str, bug: Option<&str>, auto: Tried, tried: &[Tried]) -> Compared {
        let differs = |one: &&Tried| auto.ended() && one.ended() && one.verdict != auto.verdict;
        Compared {
            protocol: protocol.to_string(),
            bug: bug.map(str::to_string),
            best: best(tried).cloned(),
            differ: tried.iter().filter(differs).map(|one| one.choice.clone()).collect(),
            auto,
        }
    }

    /// How many times the cost of the best choice the default takes, at least; and by what.
    fn ratio(&self) -> Option<(f64, &'static str)> {
        self.best.as_ref().map(|best| times(self.auto.cost, best.cost))
    }

    fn shown(&self) -> [String; 7] {
        let at_least = if self.auto.ended() { "" } else { ">" };
        let ratio = self.ratio();
        let shown = |cost: Cost| match (cost.instructions, ratio) {
            (Some(instructions), Some((_, "instructions"))) => millions(instructions),
            _ => format!("{:.3} s", cost.seconds),
        };
        let best = self.best.as_ref();
        [
            self.protocol.clone(),
            self.bug.clone().unwrap_or_else(|| "-".to_string()),
            best.map_or("no choice ended", |best| best.choice.as_str()).to_string(),
            self.auto.verdict.clone(),
            ratio.map_or("-".to_string(), |(times, _)| format!("{at_least}{times:.2}")),
            shown(self.auto.cost),
            best.map_or("-".to_string(), |best| shown(best.cost)),
        ]
    }
}

#[expect(clippy::cast_precision_loss, reason = "instructions of a second are far below 2^52")]
fn millions(instructions: u64) -> String {
    format!("{:.1} M", instructions as f64 / 1e6)
}

impl std::fmt::Display for Compared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.shown().join("  "))
    }
}

/// A line for each protocol and bug, and how often the default loses.
pub(super) fn table(all: &[Compared]) -> String {
    let titles = ["protocol", "bug", "best choice", "verdict", "auto/best", "auto", "best"];
    let mut cells = vec![titles.map(str::to_string).to_vec()];
    cells.extend(all.iter().map(|one| one.shown().to_vec()));
    let mut text = aligned(&cells, 4);
    let lost = |one: &&Compared| one.ratio().is_some_and(|(times, _)| times > LOST_ABOVE);
    let _ = write!(text, "\n{} of {} over {LOST_ABOVE}", all.iter().filter(lost).count(), all.len());
    let ratios = all.iter().filter_map(|one| Some((one, one.ratio()?.0)));
    if let Some((worst, times)) = ratios.max_by(|a, b| a.1.total_cmp(&b.1)) {
        let bug = worst.bug.as_ref().map(|bug| format!(" with {bug}")).unwrap_or_default();
        let _ = write!(text, "; the worst is {}{bug}: {times:.2}", worst.protocol);
    }
    text
}

/// Choices with another verdict than the default's, in a sentence each.
pub(super) fn disagreements(all: &[Compared]) -> Vec<String> {
    let says =
        |one: &Compared| format!("{} and {} disagree on {one}", one.differ.join(" and "), one.auto.choice);
    all.iter().filter(|one| !one.differ.is_empty()).map(says).collect()
}

/// The figures as a JSON array of objects.
pub(super) fn json(all: &[Compared]) -> String {
    let objects = all.iter().map(|one| {
        let bug = one.bug.as_ref().map_or("null".to_string(), |bug| format!("\"{bug}\""));
        let best = one.best.as_ref().map_or("null".to_string(), |best| format!("\"{}\"", best.choice));
        let (times, by) = one.ratio().map_or(("null".to_string(), "null".to_string()), |(times, by)| {
            (format!("{times:.3}"), format!("\"{by}\""))
        });
        format!(
            "  {{\"protocol\": \"{}\", \"bug\": {bug}, \"verdict\": \"{}\", \"best\": {best}, \"ratio\": {times}, \
             \"by\": {by}}}",
            one.protocol, one.auto.verdict
        )
    });
    format!("[\n{}\n]\n", objects.collect::<Vec<_>>().join(",\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(choice: &str, verdict: &str, seconds: f64, instructions: Option<u64>) -> Tried {
        let cost = Cost { seconds, instructions };
        Tried { choice: choice.to_string(), verdict: verdict.to_string(), cost }
    }

    #[test]
    fn the_best_ended_and_costs_least() {
        let mut all = vec![
            tried("none", "unknown", 0.01, Some(1)),
            tried("inert", "holds", 0.2, Some(900)),
            tried("beliefs", "holds", 0.3, Some(800)),
        ];
        assert_eq!(best(&all).map(|one| one.choice.as_str()), Some("beliefs"));
        assert!((quickest(&all) - 0.2).abs() < 1e-9);
        // Without instructions, time decides.
        for one in &mut all {
            one.cost.instructions = None;
        }
        assert_eq!(best(&all).map(|one| one.choice.as_str()), Some("inert"));
        assert_eq!(best(&all[..1]), None);
    }

    #[test]
    fn costs_are_compared_in_the_finest_unit_of_both() {
        let cost = |seconds, instructions| Cost { seconds, instructions };
        let (ratio, by) = times(cost(0.5, Some(300)), cost(0.5, Some(200)));
        assert!((ratio - 1.5).abs() < 1e-9 && by == "instructions");
        let (ratio, by) = times(cost(2.0, None), cost(0.5, Some(200)));
        assert!((ratio - 4.0).abs() < 1e-9 && by == "seconds");
    }

    #[test]
    fn losses_and_disagreements_are_counted() {
        let choices = [tried("none", "holds", 0.5, Some(2_000_000)), tried("inert", "violated", 0.6, None)];
        let all = [
            Compared::of("tree", None, tried("auto", "holds", 0.5, Some(2_500_000)), &choices),
            Compared::of("tree", Some("deaf"), tried("auto", "unknown", 60.0, None), &choices),
            Compared::of("paxos", None, tried("auto", "unknown", 60.0, None), &[]),
        ];
        let text = table(&all);
        assert!(text.ends_with("1 of 3 over 1.5; the worst is tree with deaf: 120.00"), "{text}");
        let line =
            |at: usize| text.lines().nth(at + 2).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(line(0), "tree - none holds 1.25 2.5 M 2.0 M");
        assert_eq!(line(1), "tree deaf none unknown >120.00 60.000 s 0.500 s");
        assert_eq!(line(2), "paxos - no choice ended unknown - 60.000 s -");
        let disagreements = disagreements(&all);
        assert_eq!(disagreements.len(), 1);
        assert!(disagreements[0].starts_with("inert and auto disagree on tree"), "{disagreements:?}");
        let json = json(&all);
        assert!(json.contains(r#""best": "none", "ratio": 1.250, "by": "instructions"}"#), "{json}");
        assert!(json.contains(r#""best": null, "ratio": null, "by": null}"#), "{json}");
    }
}
