//! The race: the reference Paxos in Quorate and in its peers, in one run on one machine.
//!
//! The contestants alternate round by round and their medians are compared, for the machine is noisy. Each
//! must arrive at the known counts to the last state; one that does not ends the run. The peers get their
//! best: stateright the faster of its two orders and a package built with every optimisation, SPIN and
//! rumur the switches that their manuals recommend. Beside these searches of all states, Quorate and SPIN run once more
//! with the reductions that they choose by themselves, to compare the time to a verdict.

mod contestant;
mod json;
mod measure;
mod reduced;
mod report;

use std::path::PathBuf;
use std::str::FromStr;

use crate::failure::Failure;
use crate::run::say;
use contestant::Contestant;
use measure::Measured;

pub(crate) use contestant::{STATERIGHT_MANIFEST, stateright_target};

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What {
    /// The race with peers.
    Race,
    /// Searches with the default reductions.
    Reduced,
    /// The default reductions beside each choice that can be made by hand.
    Default,
}

/// How to run the benchmark.
pub(crate) struct Options {
    pub(crate) what: What,
    pub(crate) small: bool,
    /// Whether Quorate runs as the tests have built it, which says nothing of its speed.
    pub(crate) as_tested: bool,
    pub(crate) rounds: usize,
    /// How long a reduced search may take.
    pub(crate) limit_s: u32,
    /// Whether missing peers may be installed.
    pub(crate) install: bool,
    pub(crate) skip: Vec<String>,
    pub(crate) json: Option<PathBuf>,
    /// Quorate's program, if none is to be built.
    pub(crate) program: Option<PathBuf>,
    /// Another of Quorate's programs, to be measured beside this one.
    pub(crate) against: Option<PathBuf>,
    pub(crate) picture: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            what: What::Race,
            small: false,
            as_tested: false,
            rounds: 3,
            limit_s: 60,
            install: true,
            skip: Vec::new(),
            json: None,
            program: None,
            against: None,
            picture: None,
        }
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
                "--reduced" if options.what == What::Race => options.what = What::Reduced,
                "--reduced" => {}
                "--default" => options.what = What::Default,
                "--small" => options.small = true,
                "--rounds" => options.rounds = above_zero(word, value()?)?,
                "--limit" => options.limit_s = above_zero(word, value()?)?,
                "--skip" => options.skip.push(value()?.to_lowercase()),
                "--json" => options.json = Some(PathBuf::from(value()?)),
                "--program" => options.program = Some(PathBuf::from(value()?)),
                "--against" => options.against = Some(PathBuf::from(value()?)),
                "--picture" => options.picture = Some(PathBuf::from(value()?)),
                unknown => {
                    let expected = "--small, --rounds N, --skip NAME, --json FILE, --reduced, --default, \
                                    --program PATH, --against PATH, --limit SECONDS or --picture FILE";
                    return Err(Failure::Usage(format!("no option `{unknown}`; expected {expected}")));
                }
            }
        }
        options.fit_together()
    }

    /// Some options say nothing of some measurements.
    fn fit_together(self) -> Result<Options, Failure> {
        let race = self.what == What::Race;
        let table = self.what == What::Reduced;
        for (given, fits, says) in [
            (self.small, race, "--small is for the race with peers"),
            (self.program.is_some(), !race, "--program wants --reduced or --default"),
            (self.against.is_some(), table, "--against wants --reduced"),
            (self.picture.is_some(), table, "--picture wants --reduced"),
        ] {
            if given && !fits {
                return Err(Failure::Usage(says.to_string()));
            }
        }
        Ok(self)
    }

    /// Whether a contestant of this name is left out.
    fn skips(&self, name: &str) -> bool {
        self.skip.iter().any(|part| name.to_lowercase().contains(part))
    }
}

/// A whole number above zero.
fn above_zero<T: FromStr + Default + PartialOrd>(option: &str, given: &str) -> Result<T, Failure> {
    given
        .parse()
        .ok()
        .filter(|number| *number > T::default())
        .ok_or_else(|| Failure::Usage(format!("{option} wants a whole number above zero, not `{given}`")))
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

/// Measures what is asked for.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    match options.what {
        What::Race => race(options),
        What::Reduced => reduced::table(options),
        What::Default => reduced::default(options),
    }
}

/// Prepares the contestants, runs the rounds, prints the table and the targets.
fn race(options: &Options) -> Result<(), Failure> {
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
    write(options.json.as_ref(), || report::json(&rows))
}

/// Writes a file, if one is asked for.
fn write(path: Option<&PathBuf>, text: impl FnOnce() -> String) -> Result<(), Failure> {
    let Some(path) = path else { return Ok(()) };
    std::fs::write(path, text()).map_err(Failure::io(format!("writing {}", path.display())))
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
        let options = Options::parse(&["--reduced", "--against", "before"]).unwrap();
        assert_eq!((options.what, options.against), (What::Reduced, Some(PathBuf::from("before"))));
        assert_eq!(Options::parse(&["--default", "--reduced"]).unwrap().what, What::Default);
        let mistakes = [
            &["--rounds", "0"][..],
            &["--rounds"],
            &["--reduced", "--limit", "soon"],
            &["--fast"],
            &["--reduced", "--small"],
            &["--default", "--picture", "a.svg"],
            &["--against", "before"],
        ];
        for mistake in mistakes {
            assert!(matches!(Options::parse(mistake), Err(Failure::Usage(_))), "{mistake:?}");
        }
    }
}
