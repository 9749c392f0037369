//! The random protocols that the tests go through, and how they go through them.
//!
//! `QUORATE_SEED=17` names one protocol; `QUORATE_SEEDS=50000..60000` goes through others than usual (`tier.rs`).

use std::sync::atomic::{AtomicUsize, Ordering};

/// The naive checker gives up on a protocol with more states, and the tests skip it.
pub const STATES_MAX: usize = 8_000;

/// The one seed to look at, if one is named.
pub fn one_seed() -> Option<u64> {
    let text = std::env::var("QUORATE_SEED").ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("QUORATE_SEED is '{text}': expected a number")))
}

/// Does something for every seed, on all cores; the results are in the order of the seeds.
pub fn for_each_seed<T: Send>(
    seeds: impl IntoIterator<Item = u64>,
    work: impl Fn(u64) -> T + Sync,
) -> Vec<(u64, T)> {
    let seeds: Vec<u64> = seeds.into_iter().collect();
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut done = Vec::new();
        while let Some(seed) = seeds.get(next.fetch_add(1, Ordering::Relaxed)) {
            done.push((*seed, work(*seed)));
        }
        done
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut results: Vec<(u64, T)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a worker panicked")).collect()
    });
    results.sort_unstable_by_key(|(seed, _)| *seed);
    results
}
