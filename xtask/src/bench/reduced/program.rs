//! One of Quorate's programs: its checks, measured, and their instructions, counted.

use std::path::PathBuf;
use std::process::Command;

use super::super::contestant::present;
use super::super::measure::{Finished, measure};
use super::answer::{Answer, Protocol, zoo};
use crate::failure::Failure;
use crate::run::output;

/// A run that is shorter is repeated, for processor time comes in hundredths of a second.
const REPEATED_BELOW_S: f64 = 0.2;
/// How often at the most, where the time is what counts.
pub(super) const REPEATED_MAX: u32 = 20;
/// Longer runs are not counted: under valgrind each takes some fifty times as long.
const COUNTED_BELOW_S: f64 = 1.0;
/// What is taken for a run that is too short for the clock.
const SHORTEST_S: f64 = 0.000_5;

pub(super) struct Program {
    pub(super) name: String,
    path: PathBuf,
    limit_s: u32,
    /// Whether there is a valgrind to count instructions with.
    counts: bool,
}

/// A check that was run.
pub(super) struct Run {
    pub(super) answer: Answer,
    pub(super) cost: Cost,
    pub(super) peak_bytes: Option<u64>,
}

/// What a check costs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Cost {
    /// Of the processor, or of the wall where that is unknown.
    pub(super) seconds: f64,
    pub(super) instructions: Option<u64>,
}

impl Program {
    pub(super) fn new(name: &str, path: PathBuf, limit_s: u32) -> Program {
        Program { name: name.to_string(), path, limit_s, counts: present("valgrind") }
    }

    pub(super) fn counts(&self) -> bool {
        self.counts
    }

    /// The protocols that it knows.
    pub(super) fn zoo(&self) -> Result<Vec<Protocol>, Failure> {
        let mut list = Command::new(&self.path);
        list.args(["list", "--json"]);
        zoo(&String::from_utf8_lossy(&output(list)?))
            .ok_or_else(|| Failure::Bench(format!("{} names no protocols", self.name)))
    }

    /// Checks `words`, a short run up to so many times; nothing if the program refuses to.
    pub(super) fn check(&self, words: &str, times_max: u32) -> Result<Option<Run>, Failure> {
        let (mut seconds, mut times, mut peak_bytes) = (0.0, 0, None);
        loop {
            let limit = self.limit_s.to_string();
            let mut command = asked(Command::new(&self.path), words);
            command.args(["--time-max", &limit]);
            let finished = measure(command)?;
            let Some(answer) = Answer::read(&finished.printed) else {
                return refused(words, &finished);
            };
            seconds += finished.cpu_s.unwrap_or(finished.wall_s);
            times += 1;
            peak_bytes = peak_bytes.max(finished.peak_bytes);
            if seconds >= REPEATED_BELOW_S || times == times_max {
                let seconds = (seconds / f64::from(times)).max(SHORTEST_S);
                let cost = Cost { seconds, instructions: None };
                return Ok(Some(Run { answer, cost, peak_bytes }));
            }
        }
    }

    /// The instructions of a check that takes so many seconds, if it is short enough to count them.
    pub(super) fn instructions(&self, words: &str, seconds: f64) -> Result<Option<u64>, Failure> {
        if !self.counts || seconds >= COUNTED_BELOW_S {
            return Ok(None);
        }
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(&self.path);
        let Finished { printed, complained, .. } = measure(asked(valgrind, words))?;
        Ok(counted(&printed, &complained))
    }
}

fn asked(mut command: Command, words: &str) -> Command {
    command.arg("check").args(words.split(' ')).args(["--json", "--threads", "1"]);
    command
}

/// A reduction that is not sound is refused; anything else without an answer is a mistake.
fn refused(words: &str, finished: &Finished) -> Result<Option<Run>, Failure> {
    let Finished { printed, complained, .. } = finished;
    if complained.contains("error: --reduce") {
        return Ok(None);
    }
    Err(Failure::Bench(format!("no answer to `check {words}`:\n{printed}{complained}")))
}

/// The instructions of a run that came to its answer: one that is killed has a count as well, up to there.
fn counted(printed: &str, complained: &str) -> Option<u64> {
    Answer::read(printed).and_then(|_| collected(complained))
}

/// `==123== Collected : 34506387`
fn collected(complained: &str) -> Option<u64> {
    let line = complained.lines().find_map(|line| line.split_once("Collected :"))?;
    line.1.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_read() {
        let valgrind =
            "==7== Events    : Ir\n==7== Collected : 34506387\n==7== \n==7== I   refs:      34,506,387\n";
        assert_eq!(collected(valgrind), Some(34_506_387));
        assert_eq!(collected("valgrind: no such file"), None);
        let answer = r#"{"verdict":"holds","states":1,"transitions":2}"#;
        assert_eq!(counted(answer, valgrind), Some(34_506_387));
        assert_eq!(counted("", valgrind), None, "it was killed");
    }

    #[test]
    fn only_a_reduction_may_be_refused() {
        let said = |complained: &str| Finished {
            printed: String::new(),
            complained: complained.to_string(),
            wall_s: 0.1,
            cpu_s: None,
            peak_bytes: None,
        };
        assert!(matches!(refused("tree", &said("error: --reduce symmetry: none is symmetric")), Ok(None)));
        assert!(matches!(refused("tree", &said("error: no protocol `tree`")), Err(Failure::Bench(_))));
    }

    #[test]
    fn a_program_is_run_until_its_time_can_be_told() {
        let echo = Program { name: "echo".to_string(), path: "echo".into(), limit_s: 1, counts: false };
        // It prints its own words, which are no answer.
        assert!(
            matches!(echo.check("tree", 1), Err(Failure::Bench(said)) if said.contains("check tree --json"))
        );
        assert!(matches!(echo.instructions("tree", 0.1), Ok(None)));
    }
}
