//! The reference Paxos in stateright, to compare counts and speed with Quorate.
//!
//! Prints one line of JSON. The seconds are the checker's alone; `transitions` counts generated states
//! without the initial one, `states` the unique ones. With a limit the search stops after about that many
//! generated states, and `complete` is false.

mod actors;
mod packed;

use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::time::Instant;

use stateright::{Checker, Model};

const USAGE: &str = "usage: quorate-bench-stateright model|actors PROPOSERS ACCEPTORS THREADS bfs|dfs [LIMIT]
model takes (PROPOSERS, ACCEPTORS) of (2,3), (2,4), (3,3); actors takes any";

/// How to search.
#[derive(Clone, Copy)]
struct Search {
    threads: usize,
    depth_first: bool,
    generated_max: Option<NonZeroUsize>,
}

struct Outcome {
    states: usize,
    transitions: usize,
    seconds: f64,
    complete: bool,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(outcome) = parsed(&arguments) else {
        eprintln!("{USAGE}");
        return ExitCode::from(64);
    };
    println!(
        r#"{{"states": {}, "transitions": {}, "seconds": {:.6}, "peak_bytes": {}, "complete": {}}}"#,
        outcome.states,
        outcome.transitions,
        outcome.seconds,
        peak_bytes().unwrap_or(0),
        outcome.complete
    );
    ExitCode::SUCCESS
}

fn parsed(arguments: &[String]) -> Option<Outcome> {
    let [variant, proposers, acceptors, threads, order, limit @ ..] = arguments else { return None };
    let generated_max = match limit {
        [] => None,
        [limit] => Some(limit.parse().ok()?),
        _ => return None,
    };
    let depth_first = match order.as_str() {
        "dfs" => true,
        "bfs" => false,
        _ => return None,
    };
    let search = Search { threads: threads.parse().ok()?, depth_first, generated_max };
    match (variant.as_str(), proposers.parse().ok()?, acceptors.parse().ok()?) {
        ("model", 2, 3) => Some(run(packed::Paxos::<2, 3>::new(), search)),
        ("model", 2, 4) => Some(run(packed::Paxos::<2, 4>::new(), search)),
        ("model", 3, 3) => Some(run(packed::Paxos::<3, 3>::new(), search)),
        ("actors", proposers @ 1.., acceptors @ 1..) => {
            Some(run(actors::paxos(proposers, acceptors), search))
        }
        _ => None,
    }
}

fn run<M>(model: M, search: Search) -> Outcome
where
    M: Model + Send + Sync + 'static,
    M::State: std::hash::Hash + Send + Sync + Clone + PartialEq + std::fmt::Debug + 'static,
    M::Action: Clone + PartialEq + std::fmt::Debug,
{
    let mut builder = model.checker().threads(search.threads);
    if let Some(max) = search.generated_max {
        builder = builder.target_state_count(max.get());
    }
    let started = Instant::now();
    // The two checkers have different types, so the rest is generic over them.
    if search.depth_first {
        finish(&builder.spawn_dfs().join(), started, search)
    } else {
        finish(&builder.spawn_bfs().join(), started, search)
    }
}

fn finish<M>(checker: &impl Checker<M>, started: Instant, search: Search) -> Outcome
where
    M: Model,
    M::State: std::hash::Hash + Clone + PartialEq + std::fmt::Debug,
    M::Action: Clone + PartialEq + std::fmt::Debug,
{
    let seconds = started.elapsed().as_secs_f64();
    let generated = checker.state_count();
    let complete = search.generated_max.is_none_or(|max| generated < max.get());
    assert!(checker.discoveries().is_empty(), "agreement holds in the reference Paxos");
    Outcome { states: checker.unique_state_count(), transitions: generated - 1, seconds, complete }
}

/// The most memory the process has had, from the kernel; where there is no such file, nothing.
fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}
