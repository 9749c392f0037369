//! Searches with the default reductions, on one thread: what they find, what they cost, and what another program of
//! Quorate's costs, side by side in the same run.

mod answer;
mod choices;
mod picture;
mod program;
mod rows;

use std::path::PathBuf;

use super::contestant::{self, Contestant};
use super::{FULL, Instance, Options, SMALL};
use crate::failure::Failure;
use crate::run::{cargo, run, say};
use answer::{Answer, Protocol};
use picture::Group;
use program::{Cost, Program, REPEATED_MAX, Run};
use rows::Row;

const ALONE: &str = "Quorate";
const AFTER: &str = "after";
const BEFORE: &str = "before";

/// A check that stands in the table.
struct Case {
    name: &'static str,
    words: &'static str,
    /// The same protocol for peers.
    peers: Option<&'static Instance>,
}

const fn case(name: &'static str, words: &'static str) -> Case {
    Case { name, words, peers: None }
}

const CASES: &[Case] = &[
    Case { name: "Paxos (2,3,1)", words: "paxos --proposers 2 --acceptors 3", peers: Some(&SMALL) },
    case("Paxos (2,5,1)", "paxos --proposers 2 --acceptors 5"),
    Case { name: "Paxos (3,3,1)", words: "paxos --proposers 3 --acceptors 3", peers: Some(&FULL) },
    case("Paxos (3,5,1)", "paxos --proposers 3 --acceptors 5"),
    case("Paxos (4,5,1)", "paxos --proposers 4 --acceptors 5"),
    case("paxos-node, 2 propose", "paxos-node --proposals 2"),
    case("pam, 4 ballots", "pam --ballots 4"),
    case("storage, 5 objects", "regular-storage --objects 5"),
    case("echo (5,2,1,1)", "echo-multicast --honest-receivers 5 --honest-initiators 2"),
    case("rand-tree 5, restless 4", "rand-tree --nodes 5 --restless 4"),
    case("Raft, 2 terms 2 commands", "raft --terms 2 --commands 2"),
];

/// Measures the cases, prints the table, draws the picture.
pub(super) fn table(options: &Options) -> Result<(), Failure> {
    let programs = programs(options)?;
    let zoos = programs.iter().map(Program::zoo).collect::<Result<Vec<_>, _>>()?;
    let mut rows = Vec::new();
    for case in CASES.iter().filter(|case| !options.skips(case.name)) {
        let mut here = measured(case, &programs, &zoos, options.rounds)?;
        here.extend(peers(case, options)?);
        rows.push(here);
    }
    say(format!(
        "\ndefault reductions, one thread; rounds of which the middle one is shown: {}\n",
        options.rounds
    ));
    say(rows::table(&rows));
    super::write(options.picture.as_ref(), || drawn(&programs, &rows))?;
    super::write(options.json.as_ref(), || rows::json(&rows))
}

/// Every choice beside the default.
pub(super) fn default(options: &Options) -> Result<(), Failure> {
    let programs = programs(options)?;
    let program = &programs[0];
    if !program.counts() {
        eprintln!("there is no valgrind: everything is compared by processor time");
    }
    let mut all = Vec::new();
    for Protocol { name, bugs } in program.zoo()?.iter().filter(|one| !options.skips(&one.name)) {
        for bug in std::iter::once(None).chain(bugs.iter().map(|bug| Some(bug.as_str()))) {
            let compared = choices::compare(program, name, bug)?;
            eprintln!("{compared}");
            all.push(compared);
        }
    }
    say(choices::table(&all));
    super::write(options.json.as_ref(), || choices::json(&all))?;
    if !options.skips("random") {
        random_protocols()?;
    }
    let disagreements = choices::disagreements(&all);
    if disagreements.is_empty() { Ok(()) } else { Err(Failure::Bench(disagreements.join("\n"))) }
}

/// The same on random protocols, within one program.
fn random_protocols() -> Result<(), Failure> {
    let words = ["run", "--release", "--quiet", "--package", "quorate-testkit", "--example", "default"];
    run(cargo(words))
}

/// This program, and the one to measure beside it.
fn programs(options: &Options) -> Result<Vec<Program>, Failure> {
    let this = match &options.program {
        Some(path) => path.clone(),
        None => contestant::built_quorate(options.as_tested)?,
    };
    let one = |name: &str, path: PathBuf| Program::new(name, path, options.limit_s);
    let other = options.against.as_ref().map(|path| one(BEFORE, path.clone()));
    let name = if other.is_some() { AFTER } else { ALONE };
    Ok(std::iter::once(one(name, this)).chain(other).collect())
}

/// A row for each program that knows the protocol. They take turns.
fn measured(
    case: &Case,
    programs: &[Program],
    zoos: &[Vec<Protocol>],
    rounds: usize,
) -> Result<Vec<Row>, Failure> {
    let protocol = case.words.split(' ').next().unwrap_or_default();
    let knows = |zoo: &[Protocol]| zoo.iter().any(|one| one.name == protocol);
    let mut runs: Vec<(&Program, Vec<Run>)> = Vec::new();
    for (program, zoo) in programs.iter().zip(zoos) {
        if knows(zoo) {
            runs.push((program, Vec::new()));
        } else {
            eprintln!("{}: there is no protocol `{protocol}` in the program {}", case.name, program.name);
        }
    }
    for round in 1..=rounds {
        for (program, measured) in &mut runs {
            let Some(run) = program.check(case.words, REPEATED_MAX)? else { continue };
            let (name, Cost { seconds, .. }) = (&program.name, run.cost);
            eprintln!(
                "{}, round {round}/{rounds}, {name}: {seconds:.3} s, {}",
                case.name, run.answer.verdict
            );
            measured.push(run);
        }
    }
    runs.into_iter().filter_map(|(program, runs)| row(case, program, runs).transpose()).collect()
}

/// The middle of some runs of a program; nothing of none.
fn row(case: &Case, program: &Program, mut runs: Vec<Run>) -> Result<Option<Row>, Failure> {
    let peak_bytes = runs.iter().filter_map(|run| run.peak_bytes).max();
    runs.sort_by(|a, b| a.cost.seconds.total_cmp(&b.cost.seconds));
    let middle = runs.len().saturating_sub(1) / 2;
    let Some(Run { answer, cost: Cost { seconds, .. }, .. }) = runs.into_iter().nth(middle) else {
        return Ok(None);
    };
    // One that was stopped would be stopped elsewhere under valgrind.
    let instructions = if answer.ended() { program.instructions(case.words, seconds)? } else { None };
    Ok(Some(Row {
        case: case.name.to_string(),
        program: program.name.clone(),
        answer,
        cost: Cost { seconds, instructions },
        peak_bytes,
    }))
}

/// Peers with a model of the same protocol, reduced as well.
fn peers(case: &Case, options: &Options) -> Result<Vec<Row>, Failure> {
    let Some(instance) = case.peers.filter(|_| !options.skips("spin")) else { return Ok(Vec::new()) };
    if !(contestant::present("spin") && contestant::present("gcc")) {
        eprintln!("{}: SPIN is not installed; for TLC there is no model here", case.name);
        return Ok(Vec::new());
    }
    let mut rows = Vec::new();
    for contestant in contestant::spin(instance)?.iter().filter(|one| one.reduced) {
        rows.push(peer(case, contestant)?);
    }
    Ok(rows)
}

fn peer(case: &Case, contestant: &Contestant) -> Result<Row, Failure> {
    let measured = contestant.run()?;
    Ok(Row {
        case: case.name.to_string(),
        program: contestant.name.clone(),
        answer: Answer {
            // One that found a mistake has no counts, and ends the run.
            verdict: "holds".to_string(),
            states: measured.counts.states,
            transitions: measured.counts.transitions,
            table_bytes: None,
            handler_calls: None,
            sound: Vec::new(),
        },
        cost: Cost { seconds: measured.cpu_s.unwrap_or(measured.wall_s), instructions: None },
        peak_bytes: measured.peak_bytes,
    })
}

/// Time per state, a group of bars for each case, in the order of the programs.
fn drawn(programs: &[Program], rows: &[Vec<Row>]) -> String {
    let names: Vec<&str> = programs.iter().rev().map(|program| program.name.as_str()).collect();
    let groups: Vec<Group> = rows
        .iter()
        .filter(|here| !here.is_empty())
        .map(|here| {
            let bar =
                |name: &&str| here.iter().find(|row| row.program == **name).map(Row::microseconds_per_state);
            Group { name: here[0].case.clone(), bars: names.iter().map(bar).collect() }
        })
        .collect();
    picture::bars("Microseconds of the processor per state", &names, &groups)
}
