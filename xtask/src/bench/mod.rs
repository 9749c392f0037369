//! The race: the reference Paxos in Quorate and in its peers, in one run on one machine.
//!
//! The contestants alternate round by round and their medians are compared, for the machine is noisy. Each
//! must arrive at the known counts to the last state; one that does not ends the run. The peers get their
//! best: stateright the faster of its two orders and a package built with every optimisation, SPIN and
//! rumur the switches that their manuals recommend. Beside these searches of all states, Quorate and SPIN run once more
//! with the reductions that they choose by themselves, to compare the time to a verdict.

mod contestant;
mod measure;
mod report;

use std::path::PathBuf;

use crate::failure::Failure;
use crate::run::say;
use contestant::Contestant;
use measure::Measured;

pub(crate) use contestant::{STATERIGHT_MANIFEST, stateright_target};

/// How to run the benchmark.
pub(crate) struct Options {
    pub(crate) small: bool,
    /// Whether Quorate runs as the tests have built it, which says nothing of its speed.
    pub(crate) as_tested: bool,
    pub(crate) rounds: usize,
    /// Whether missing peers may be installed.
    pub(crate) install: bool,
    pub(crate) skip: Vec<String>,
    pub(crate) json: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Options { small: false, as_tested: false, rounds: 3, install: true, skip: Vec::new(), json: None }
    }
}

impl Options {
    pub(crate) fn parse(words: &[&str]) -> Result<Options, Failure> {
        let mut options = Options::default();
        let mut words = words.iter();
        while let Some(&word) = words.next() {
            let mut value =
                || words.next().ok_or_else(|| Failure::Usage(format!("{word} wants a value and got none")));
            match word {
                "--small" => options.small = true,
                "--rounds" => {
                    let given = value()?;
                    options.rounds = given.parse().ok().filter(|rounds| *rounds > 0).ok_or_else(|| {
                        Failure::Usage(format!("--rounds wants a whole number above zero, not `{given}`"))
                    })?;
                }
                "--skip" => options.skip.push(value()?.to_lowercase()),
                "--json" => options.json = Some(PathBuf::from(value()?)),
                unknown => {
                    let expected = "--small, --rounds N, --skip NAME or --json FILE";
                    return Err(Failure::Usage(format!("no option `{unknown}`; expected {expected}")));
                }
            }
        }
        Ok(options)
    }

    /// Whether a contestant of this name is left out.
    fn skips(&self, name: &str) -> bool {
        self.skip.iter().any(|part| name.to_lowercase().contains(part))
    }
}

/// States and transitions of an exhaustive search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Counts {
    states: u64,
    transitions: u64,
}

/// An instance of the reference Paxos with 3 acceptors and 1 learner, with the counts on which TLC, SPIN,
/// rumur and `CMurphi` agree.
pub(crate) struct Instance {
    proposers: usize,
    quorum: Counts,
    /// With single messages instead of quorums, where the search comes to an end in reasonable time.
    single: Option<Counts>,
}

const SMALL: Instance = Instance {
    proposers: 2,
    quorum: Counts { states: 27_410, transitions: 94_055 },
    single: Some(Counts { states: 131_022, transitions: 648_709 }),
};

const FULL: Instance =
    Instance { proposers: 3, quorum: Counts { states: 7_479_449, transitions: 37_238_397 }, single: None };

/// All runs of one contestant, reduced to their medians.
struct Row {
    name: String,
    threads: usize,
    reduced: bool,
    counts: Counts,
    wall_s: f64,
    cpu_s: Option<f64>,
    peak_bytes: Option<u64>,
}

/// Prepares the contestants, runs the rounds, prints the table and the targets.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let instance = if options.small { &SMALL } else { &FULL };
    let contestants = contestant::prepare(instance, options)?;
    let mut runs: Vec<Vec<Measured>> = contestants.iter().map(|_| Vec::new()).collect();
    for round in 1..=options.rounds {
        for (contestant, measured) in contestants.iter().zip(&mut runs) {
            eprint!("round {round}/{}: {} ... ", options.rounds, contestant.name);
            let one = contestant.run()?;
            eprintln!("{one}");
            measured.push(one);
        }
    }
    let rows: Vec<Row> =
        contestants.iter().zip(&runs).map(|(one, measured)| Row::median(one, measured)).collect();
    say(report::heading(instance, options));
    say(report::table(&rows));
    if options.small {
        say("Runs as short as these are mostly starting up: read the counts, not the ratios.");
    } else {
        say(report::targets(&rows));
    }
    if let Some(path) = &options.json {
        let doing = format!("writing {}", path.display());
        std::fs::write(path, report::json(&rows)).map_err(Failure::io(doing))?;
    }
    Ok(())
}

impl Row {
    fn median(contestant: &Contestant, runs: &[Measured]) -> Row {
        Row {
            name: contestant.name.clone(),
            threads: contestant.threads,
            reduced: contestant.reduced,
            counts: runs[0].counts,
            wall_s: measure::median(runs.iter().map(|run| run.wall_s)).unwrap_or_default(),
            cpu_s: measure::median(runs.iter().filter_map(|run| run.cpu_s)),
            peak_bytes: runs.iter().filter_map(|run| run.peak_bytes).max(),
        }
    }

    /// How many times the transitions per second of another. Where one of the two has several threads, both
    /// are measured by the wall clock.
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    fn times_as_fast_as(&self, other: &Row) -> f64 {
        if self.threads == 1 && other.threads == 1 {
            return self.transitions_per_second() / other.transitions_per_second();
        }
        let by_the_wall = |row: &Row| row.counts.transitions as f64 / row.wall_s;
        by_the_wall(self) / by_the_wall(other)
    }

    /// How many times sooner its verdict is there than another's.
    fn times_as_soon_as(&self, other: &Row) -> f64 {
        other.seconds() / self.seconds()
    }

    /// The seconds that speed is measured in: of the processor for one thread, since others share the
    /// machine; of the wall for several. Below a tenth of a second the processor's clock is too coarse.
    fn seconds(&self) -> f64 {
        self.cpu_s.filter(|cpu| self.threads == 1 && *cpu >= 0.1).unwrap_or(self.wall_s)
    }

    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    fn transitions_per_second(&self) -> f64 {
        self.counts.transitions as f64 / self.seconds()
    }

    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    fn states_per_second(&self) -> f64 {
        self.counts.states as f64 / self.seconds()
    }

    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    fn bytes_per_state(&self) -> Option<f64> {
        self.peak_bytes.map(|bytes| bytes as f64 / self.counts.states as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_and_mistakes_named() {
        let options = Options::parse(&["--rounds", "5", "--skip", "Rumur", "--small"]).unwrap();
        assert!(options.small && options.rounds == 5 && options.skips("rumur") && !options.skips("SPIN"));
        for mistake in [&["--rounds", "0"][..], &["--rounds"], &["--fast"]] {
            assert!(matches!(Options::parse(mistake), Err(Failure::Usage(_))), "{mistake:?}");
        }
    }
}
