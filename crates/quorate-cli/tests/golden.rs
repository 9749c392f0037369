//! Golden answers: every protocol and planted bug, with every engine and combination of reductions, and worlds with
//! faults, must be answered as the file beside this one says: verdict, counts, trace.
//!
//! What a line leaves out: times, memory, threads, what only repeats the command line, and the texts of states, which
//! follow from the schedule. Refusals are compared by their exit code. To accept a change, run the test with
//! `QUORATE_GOLDEN=write` and read the difference.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::program::run;
use quorate::Protocol;
use serde_json::{Value, json};

/// Fields of an answer that differ between two runs, or repeat the question.
const LEFT_OUT: &[&str] = &[
    "seconds",
    "peak_bytes",
    "table_bytes",
    "threads",
    "quorate",
    "protocol",
    "parameters",
    "bug",
    "model",
    "channel",
    "engine",
    "order",
    "visited",
    "processes",
    "initial",
    "observed",
    "checksum",
    // Reductions that were given up are in `switched_off`; the rest has tests of its own.
    "fallbacks",
    "sleep_sets",
];

/// Options that texts name, as they are spelled and as they were when the file was written.
const SPELLINGS: &[(&str, &str)] = &[("--delivery at-once", "--model m"), ("--copies-max", "--duplicates")];

/// Searches that are tried on every protocol and planted bug. Slow engines of papers get a limit.
const SEARCHES: &[&str] = &[
    "--reduce none",
    "--reduce inert",
    "--reduce stubborn",
    "--reduce beliefs",
    "--reduce symmetry",
    "--reduce inert,stubborn",
    "--reduce inert,beliefs",
    "--reduce inert,symmetry",
    "--reduce stubborn,symmetry",
    "--reduce beliefs,symmetry",
    "--reduce inert,beliefs,symmetry",
    "--reduce inert,stubborn,symmetry",
    "--reduce auto",
    "--order depth",
    "--visited fingerprint --reduce none --states-max 200000",
    "--engine local",
    "--engine b-dfs --states-max 100000",
    "--engine b-dfs-memo",
    "--engine lmc-gen --states-max 500",
    "--engine lmc-opt --states-max 500",
    "--engine dir",
];

/// Instances for which only some of the searches end soon enough, with these.
const LARGE: &[(&str, &[&str])] = &[
    ("raft --bug no-previous-check", &["--reduce none", "--reduce auto", "--order depth", "--engine dir"]),
    ("raft --bug commit-by-counting", &["--reduce auto"]),
];

/// Protocols whose answers in worlds with faults are compared too.
const IN_WORLDS: &[&str] = &["paxos", "two-phase-commit", "regular-storage --writes 2", "paxos-node", "pam"];

const WORLDS: &[&str] = &[
    "--channel set",
    "--channel fifo",
    "--channel mailbox",
    "--channel lossy",
    "--channel lossy-fifo",
    "--channel lossy-mailbox",
    "--channel duplicating",
    "--channel blocking:2",
    "--channel overwriting:2",
    "--model mp",
    "--model m-mp",
    "--model m-mp --channel fifo",
    "--crash explicit",
    "--crash explicit --partial-sends",
    "--losses 1",
    "--duplications 1",
    "--duplicates 1",
    "--channel fifo --losses 1 --duplications 1",
];

const WORLD_SEARCHES: &[&str] = &["--reduce none", "--reduce auto", "--engine local", "--engine dir"];

/// Searches with options of their own.
const OTHERS: &[&str] = &[
    "paxos --stale keep --crash explicit --crash-prone acceptor=1 --count-system-states",
    "paxos --split none",
    "paxos --split reply --seeds first",
    "paxos --split quorum --seeds last",
    "paxos --transitions tally --reduce beliefs",
    "paxos --transitions single --proposers 1 --engine local --classes states",
    "paxos-node --proposals 2 --engine local",
    "paxos-node --proposals 2 --engine local --local-events 2",
    "paxos --engine lmc-opt --stage explore",
    "paxos --engine lmc-gen --stage system-states",
    "rand-tree --engine lmc-gen --states-max 20000",
    "pam --bug first-value --ballots 6 --engine dir --states-max 2500",
    "pam --bug first-value --ballots 6 --engine dir --states-max 2500 --stones 10 --stage-states 400",
    "pam --restart node=1 --nodes 2",
    "pam --restart node=1 --nodes 2 --reduce none",
    "paxos --stones 3 --stage-states 200",
    "dining-philosophers --philosophers 4 --engine dir --components 2",
    "dining-philosophers --philosophers 8 --engine dir --components 2x2",
    "dining-philosophers --philosophers 4 --engine dir --component philosopher=0-1,fork=0-1",
    "dining-philosophers --bug all-left-first --philosophers 4 --engine dir --components 2",
    "accumulator --sequences 1 --servers 3 --numbers 2 --engine dir",
    "chord --nodes 2 --engine dir --components 2",
    "paxos --depth-max 9",
    "paxos --states-max 1000 --reduce none",
    "paxos-node --bug last-reply --reduce none --order depth --depth-max 40",
];

fn commands() -> Vec<String> {
    let mut commands = Vec::new();
    for protocol in quorate_zoo::protocols() {
        for instance in instances(&protocol) {
            let large = LARGE.iter().find(|(name, _)| *name == instance);
            let searches = large.map_or(SEARCHES, |(_, searches)| searches);
            commands.extend(searches.iter().map(|search| format!("{instance} {search}")));
        }
    }
    for protocol in IN_WORLDS {
        for world in WORLDS {
            commands.extend(
                WORLD_SEARCHES
                    .iter()
                    .map(|search| format!("{protocol} {world} {search} --states-max 100000")),
            );
        }
    }
    commands.extend(OTHERS.iter().map(|line| (*line).to_string()));
    commands
}

fn instances(protocol: &Protocol) -> Vec<String> {
    let bugs = protocol.bugs().iter().map(|bug| format!("{} --bug {}", protocol.name(), bug.name));
    std::iter::once(protocol.name().to_string()).chain(bugs).collect()
}

/// What is compared of the answer to a command, in one line.
fn answer(command: &str) -> String {
    let words: Vec<&str> = ["check"].into_iter().chain(command.split(' ')).collect();
    let ran = run(&[&words[..], &["--json", "--threads", "1", "--quiet"]].concat());
    if ran.stdout.is_empty() {
        return format!("exit {}", ran.code);
    }
    let mut json = ran.json();
    let fields = json.as_object_mut().expect("an object");
    fields.retain(|name, value| !LEFT_OUT.contains(&name.as_str()) && !value.is_null());
    fields.insert("exit".to_string(), ran.code.into());
    if let Some(trace) = fields.get_mut("trace").and_then(Value::as_array_mut) {
        trace.iter_mut().for_each(|step| *step = schedule_step(step));
    }
    SPELLINGS.iter().fold(json.to_string(), |answer, (now, then)| answer.replace(now, then))
}

/// A step as a schedule has it: who, what, with which messages and choices.
fn schedule_step(step: &Value) -> Value {
    let messages = step["consumed"].as_array().into_iter().flatten();
    let messages: Vec<_> =
        messages.map(|message| format!("{}.{}", message["step"], message["send"])).collect();
    let sent = step["sent"].as_array().map_or(0, Vec::len);
    json!([step["process"], step["transition"], messages.join(" "), step["choices"], sent, step["panic"]])
}

/// The answers to all commands, worked out on all cores.
fn answers(commands: &[String]) -> BTreeMap<usize, String> {
    let (next, found) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(command) = commands.get(at) else { return };
            let line = format!("{command}\t{}\n", answer(command));
            found.lock().expect("no thread panics while it writes").insert(at, line);
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(work);
        }
    });
    found.into_inner().expect("no thread panics while it writes")
}

#[test]
fn answers_are_the_golden_ones() {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden.txt");
    let answers: String = answers(&commands()).into_values().collect();
    if std::env::var_os("QUORATE_GOLDEN").is_some_and(|how| how == "write") {
        std::fs::write(&file, &answers).expect("the golden file can be written");
        return;
    }
    let golden = std::fs::read_to_string(&file).expect("the golden file is beside this test");
    let different: Vec<_> =
        golden.lines().zip(answers.lines()).filter(|(expected, found)| expected != found).collect();
    let shown: String = different
        .iter()
        .take(5)
        .map(|(expected, found)| format!("expected {expected}\n   found {found}\n"))
        .collect();
    assert!(different.is_empty(), "{} answers have changed, such as\n{shown}", different.len());
    assert_eq!(golden.lines().count(), answers.lines().count(), "commands were added or left out");
}
