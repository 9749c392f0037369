//! The default reductions beside each choice that can be made by hand, on random protocols: what a search takes, again
//! and again, of which the quickest time counts. `cargo xtask bench --default` runs it.
//!
//! Usage: default [PROTOCOLS]

#![expect(clippy::print_stdout, reason = "a program that prints a table")]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use quorate::engine::{Engine, Explore, Search};
use quorate::model::Model;
use quorate::reduce::Reductions;
use quorate_testkit::random::RandomProtocol;
use quorate_testkit::reductions::combinations;

/// More than this is a loss, if it is by more than what threads and clocks take.
const LOST_ABOVE: f64 = 1.5;
const NOISE: Duration = Duration::from_micros(200);

/// Each search is repeated until it was done so often and took so long, together.
const TIMES: usize = 5;
const TOGETHER: Duration = Duration::from_millis(5);

/// Searches with more states are stopped.
const STATES_MAX: u64 = 1_000_000;

/// Far from the seeds of the tests.
const FIRST_SEED: u64 = 500_000;

fn took(model: &Model, reductions: &Reductions) -> (Duration, &'static str) {
    let search = Search::default().threads(1).reductions(reductions.clone());
    let (mut quickest, mut word, mut times) = (Duration::MAX, "", 0);
    let began = Instant::now();
    while times < TIMES || began.elapsed() < TOGETHER && times < 20 * TIMES {
        let start = Instant::now();
        let report = Explore::default().run(model, &search, &mut ());
        quickest = quickest.min(start.elapsed());
        word = report.verdict.word();
        if report.coverage.states > STATES_MAX || start.elapsed() > 20 * TOGETHER {
            break;
        }
        times += 1;
    }
    (quickest, word)
}

fn main() -> ExitCode {
    let count = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(1_000);
    let (mut lost, mut worst, mut differ) = (0, (0.0, 0, String::new()), 0);
    for seed in FIRST_SEED..FIRST_SEED + count {
        let model = RandomProtocol::new(seed).model();
        let (auto, word) = took(&model, &Reductions::strongest(&model).0);
        let mut best = (Duration::MAX, String::new());
        for which in combinations(&model).into_iter().chain([Vec::new()]) {
            let reductions = Reductions::checked(&which, &model).expect("an allowed combination");
            let (time, other) = took(&model, &reductions);
            if other != word {
                differ += 1;
                println!("seed {seed}: {word} by default, {other} with {which:?}");
            }
            best = best.min((time, format!("{which:?}")));
        }
        let times = auto.as_secs_f64() / best.0.as_secs_f64();
        if times > LOST_ABOVE && auto > best.0 + NOISE {
            lost += 1;
            println!("seed {seed}: {times:.2} times {}: {auto:.2?} and {:.2?}", best.1, best.0);
        }
        if times > worst.0 && auto > best.0 + NOISE {
            worst = (times, seed, best.1);
        }
    }
    println!("random protocols: {lost} of {count} over {LOST_ABOVE}");
    if worst.1 > 0 {
        println!("the worst is seed {}: {:.2} times {}", worst.1, worst.0, worst.2);
    }
    if differ == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
