//! The default: a search with reductions and, once it has gone on for a while, one without, in turns. The first to end is
//! the answer.
//!
//! A reduction that leaves out nothing costs much more than it saves, and whether it does is known only in the end. So
//! both go on until one ends, and the loss is bounded by the other's share; with two threads they go on at the same time. One whose frontier ebbs away will end soon
//! and goes ahead. The search without reductions is for systems of which it sees the end in little memory; beyond that
//! it is given up. Turns are measured in transitions, never in time, so an answer is always the same.
//! Held by: testkit/tests/fallbacks.rs.

use super::run::{Ended, Exploration};
use super::{Count, Explore, Order};
use crate::engine::Search;
use crate::engine::grace::Signed;
use crate::model::Model;
use crate::report::{Fallback, Stopped, Watch};

/// What a transition without reductions counts as.
const PLAIN_COST: u64 = 2;

/// What a transition of a search over vectors counts as: it costs as much as 24 without reductions.
///
/// PERF: rand-tree --nodes 5 --restless 4, paxos --proposers 4 --acceptors 5 (docs/decisions/0018).
const VECTOR_COST: u64 = 24 * PLAIN_COST;

/// What a transition of a search over pairs counts as, whose reductions make the states fewer and not the steps much
/// dearer. So little, that where they pay, as they mostly do, the other search costs no more than half as much.
const PAIR_COST: u64 = 1;

/// Who has less than one part in so many of the most that ever waited will end soon.
const EBB: u64 = 2;

/// Who will end soon may have so many times the work of the other.
const AHEAD: u64 = 3;

/// In how much memory a search without reductions may end.
const BYTES_MAX: u64 = 64 << 20;

/// Whose answer it is.
pub(super) struct Raced<'m> {
    pub(super) exploration: Exploration<'m>,
    pub(super) ended: Ended,
    /// The search with reductions was not the first to end.
    pub(super) overtaken: Option<Fallback>,
}

/// Is this a search that may have another beside it? One with a limit on what it looks at is to be the same up to there.
pub(super) fn may_race(engine: &Explore, search: &Search) -> bool {
    let limited = search.states_max.is_some() || search.depth_max.is_some() || engine.copies_max.is_some();
    let counted = engine.count != Count::Nothing || engine.census;
    engine.order == Order::Breadth && !limited && !counted && engine.allowed_locals.is_none()
}

/// A search in the race.
struct Runner<'m> {
    exploration: Exploration<'m>,
    /// The most that waited.
    most: u64,
}

impl<'m> Runner<'m> {
    fn new(exploration: Exploration<'m>) -> Self {
        Runner { exploration, most: 0 }
    }

    /// What a transition costs.
    fn cost(&self) -> u64 {
        let kernel = &self.exploration.kernel;
        match kernel.in_use().as_slice() {
            _ if kernel.searches_vectors() => VECTOR_COST,
            [] => PLAIN_COST,
            _ => PAIR_COST,
        }
    }

    fn work(&self) -> u64 {
        self.exploration.transitions() * self.cost()
    }

    /// Goes on until it has done so much work; how it ended, if it did.
    fn go_on(&mut self, work: u64, watch: &mut dyn Watch) -> Option<Ended> {
        self.take(work.div_ceil(self.cost()), watch)
    }

    /// Goes on until it has taken so many transitions; how it ended, if it did.
    fn take(&mut self, transitions: u64, watch: &mut dyn Watch) -> Option<Ended> {
        let ended = self.exploration.search(Some(transitions), watch);
        self.most = self.most.max(self.exploration.run.coverage.frontier);
        (ended != Ended::Paused).then_some(ended)
    }

    /// Why its answer means nothing, if a handler has answered differently when it was asked twice.
    fn impurity(&self) -> Option<Stopped> {
        self.exploration.kernel.impure().map(|what| Stopped::Impure(what.to_string()))
    }

    /// Will it end soon?
    fn ebbs(&self) -> bool {
        self.exploration.run.coverage.frontier * EBB < self.most
    }

    fn won(self, ended: Ended, overtaken: Option<Fallback>) -> Raced<'m> {
        Raced { exploration: self.exploration, ended, overtaken }
    }
}

/// Who goes on next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    Both,
    Reduced,
    Plain,
}

impl Turn {
    fn next(reduced: &Runner<'_>, plain: &Runner<'_>, first: u64) -> Self {
        let (with, without) = (reduced.work(), plain.work().max(first));
        match (reduced.ebbs(), plain.ebbs()) {
            (true, false) if with < AHEAD * without => Turn::Reduced,
            (false, true) if without < AHEAD * with => Turn::Plain,
            _ => Turn::Both,
        }
    }
}

pub(super) fn race<'m>(
    model: &'m Model,
    engine: &Explore,
    search: &Search,
    watch: &mut dyn Watch,
) -> Raced<'m> {
    let mut reduced = Runner::new(Exploration::new(model, engine, search));
    if let Some(ended) = reduced.take(search.tuning.race_after, watch) {
        return reduced.won(ended, None);
    }
    let first = reduced.work();
    let bytes_max = search.bytes_max.map_or(BYTES_MAX, |most| BYTES_MAX.min(most / 4));
    let threads = (search.threads - 1).max(1);
    let unreduced = Search { bytes_max: Some(bytes_max), threads, ..search.unreduced() };
    let mut plain = Runner::new(Exploration::new(model, engine, &unreduced));
    loop {
        let turn = Turn::next(&reduced, &plain, first);
        // Both are to have done as much when they have had their turns.
        let most = if turn == Turn::Plain { plain.work() } else { reduced.work().max(plain.work()) };
        let work = most + most / 4;
        let mut beside = Signed(watch.stop());
        let (with, without) = match turn {
            Turn::Reduced => (reduced.go_on(work, watch), None),
            Turn::Plain => (None, plain.go_on(work, &mut beside)),
            Turn::Both if search.threads > 1 => {
                at_once(|| reduced.go_on(work, watch), || plain.go_on(work, &mut beside))
            }
            // One after the other comes to the same: if both end, the one with reductions is first.
            Turn::Both => match reduced.go_on(work, watch) {
                None => (None, plain.go_on(work, &mut beside)),
                ended => (ended, None),
            },
        };
        match (with, without) {
            // What one of them has found out about the user's code holds for the other, which may not have asked.
            (Some(Ended::Exhausted), _) | (None, Some(Ended::Stopped(_))) if plain.impurity().is_some() => {
                let ended = plain.impurity().map_or(Ended::Exhausted, Ended::Stopped);
                return plain.won(ended, None);
            }
            (None, Some(Ended::Exhausted)) if reduced.impurity().is_some() => {
                let ended = reduced.impurity().map_or(Ended::Exhausted, Ended::Stopped);
                return reduced.won(ended, None);
            }
            (Some(ended), _) => {
                plain.exploration.kernel.discard();
                return reduced.won(ended, None);
            }
            (None, None) => {}
            (None, Some(Ended::Stopped(_))) => {
                plain.exploration.kernel.discard();
                let ended = reduced.exploration.search(None, watch);
                return reduced.won(ended, None);
            }
            (None, Some(ended)) => {
                plain.exploration.search.threads = search.threads;
                let states = reduced.exploration.run.coverage.states;
                reduced.exploration.kernel.discard();
                return plain.won(ended, Some(Fallback::Overtaken { states }));
            }
        }
    }
}

/// Does one thing here and another on a thread of its own.
fn at_once<T, U: Send>(here: impl FnOnce() -> T, there: impl FnOnce() -> U + Send) -> (T, U) {
    std::thread::scope(|scope| {
        let there = scope.spawn(there);
        let here = here();
        (here, there.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}
