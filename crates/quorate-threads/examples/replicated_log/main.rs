//! Checks the replicated log, component by component, and then the whole program with Shuttle's own search, side by
//! side: `cargo run --example replicated_log -- [backups] [entries]`.
#![expect(clippy::print_stdout, reason = "it is an example: what it finds is for people")]

mod server;

use std::time::{Duration, Instant};

use quorate_threads::Outcome;
use server::system;

fn main() {
    let mut arguments = std::env::args().skip(1).filter_map(|text| text.parse().ok());
    let backups = arguments.next().unwrap_or(1);
    let entries = u32::try_from(arguments.next().unwrap_or(2)).unwrap_or(2);
    let (racing, took) = timed(|| system(backups, entries, true).check());
    match &racing.violation {
        Some(violation) => println!("with the race ({took:.2?}): {violation}"),
        None => println!("with the race ({took:.2?}): nothing is found"),
    }
    let (fixed, took) = timed(|| system(backups, entries, false).check());
    println!("without it, component by component: {}, in {took:.2?}", summary(&fixed));
    let (runs, is_through, whole_took) = shuttle_alone(backups, entries, 10 * took);
    let end = if is_through { "all" } else { "not all" };
    println!(
        "without it, the whole program under Shuttle's own search: {runs} runs, {end}, in {whole_took:.2?}"
    );
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed())
}

fn summary(outcome: &Outcome) -> String {
    match (&outcome.violation, &outcome.stopped, outcome.counts.local_traces, outcome.counts.global_traces) {
        (None, None, Some(local), Some(global)) => format!(
            "holds; {} runs, {local} local traces, {} skeletons, which stand for {global} traces of the whole",
            outcome.runs, outcome.counts.global_skeletons
        ),
        (Some(violation), ..) => violation.to_string(),
        (_, stopped, ..) => format!("unknown: {stopped:?}"),
    }
}

/// How far Shuttle's depth-first search over all threads of all components gets.
fn shuttle_alone(backups: usize, entries: u32, time_max: Duration) -> (usize, bool, Duration) {
    let mut config = shuttle::Config::new();
    config.max_time = Some(time_max);
    config.silence_warnings = true;
    let scheduler = shuttle::scheduler::DfsScheduler::new(None, false);
    let (runs, took) =
        timed(|| shuttle::Runner::new(scheduler, config).run(system(backups, entries, false).whole()));
    (runs, took < time_max, took)
}
