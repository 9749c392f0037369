//! The default: a search with reductions and, once it has gone on for a while, one without, in turns. The first to end is
//! the answer. At first the reductions are set aside for a moment: where there is little to search, nothing pays that has
//! to be prepared, and a violation is found on a shortest way at once.
//!
//! A reduction that leaves out nothing costs much more than it saves, and whether it does is known only in the end. So
//! both go on until one ends, and the loss is bounded by the other's share; with two threads they go on at the same time. One whose frontier ebbs away will end soon
//! and goes ahead. The search without reductions is for systems of which it sees the end in little memory; beyond that
//! it is given up. Turns are measured in transitions, never in time, so an answer is always the same.
//! Held by: testkit/tests/fallbacks.rs.

use super::run::{Ended, Exploration};
use super::{Count, Explore, Order, conclude};
use crate::engine::Search;
use crate::engine::grace::Signed;
use crate::kernel::Tuning;
use crate::model::Model;
use crate::report::{Coverage, Fallback, Report, Stopped, Verdict, Watch};

/// What a transition without reductions counts as.
const PLAIN_COST: u64 = 2;

/// What a transition of a search over vectors counts as: it costs as much as 24 without reductions.
///
/// PERF: rand-tree --nodes 5 --restless 4, paxos --proposers 4 --acceptors 5 (docs/decisions/0018).
pub(in crate::engine) const VECTOR_COST: u64 = 24 * PLAIN_COST;

/// What a transition of a search over pairs counts as, whose reductions make the states fewer and not the steps much
/// dearer. So little, that where they pay, as they mostly do, the other search costs no more than half as much.
const PAIR_COST: u64 = 1;

/// Who has less than one part in so many of the most that ever waited will end soon.
const EBB: u64 = 2;

/// Who will end soon may have so many times the work of the other.
const AHEAD: u64 = 3;

/// In how much memory a search without reductions may end.
const BYTES_MAX: u64 = 64 << 20;

/// What a run of a handler counts as for those who compare a race with something else: as much as so many transitions
/// over vectors, with what is done about its answer.
pub(in crate::engine) const CALL_COST: u64 = 5 * VECTOR_COST;

/// Is this a search that may have another beside it? One with a limit on what it looks at is to be the same up to there.
pub(in crate::engine) fn may_race(engine: &Explore, search: &Search) -> bool {
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

    /// The same, runs of handlers included.
    fn all_work(&self) -> u64 {
        self.work() + CALL_COST * self.exploration.kernel.local_counts().1
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

/// A search that can pause. Where its reductions may be dropped, it is a race.
pub(in crate::engine) struct Race<'m> {
    model: &'m Model,
    engine: Explore,
    search: Search,
    reduced: Runner<'m>,
    beside: Beside<'m>,
}

/// The search without reductions.
enum Beside<'m> {
    NotYet,
    /// With what the search with reductions had done when it began.
    Runs(Box<Runner<'m>>, u64),
    Never,
}

impl<'m> Beside<'m> {
    fn runner(&self) -> Option<&Runner<'m>> {
        match self {
            Beside::Runs(plain, _) => Some(plain),
            Beside::NotYet | Beside::Never => None,
        }
    }

    fn into_runner(self) -> Option<Runner<'m>> {
        match self {
            Beside::Runs(plain, _) => Some(*plain),
            Beside::NotYet | Beside::Never => None,
        }
    }
}

/// How a race ended, and whose answer it is.
pub(in crate::engine) struct Raced {
    ended: Ended,
    /// The search with reductions was not the first to end.
    overtaken: bool,
}

impl Raced {
    /// Did a limit end it that is its own?
    pub(in crate::engine) fn is_out_of_memory(&self) -> bool {
        matches!(self.ended, Ended::Stopped(Stopped::Memory(_)))
    }

    fn reduced(ended: Ended) -> Self {
        Raced { ended, overtaken: false }
    }

    fn plain(ended: Ended) -> Self {
        Raced { ended, overtaken: true }
    }
}

impl<'m> Race<'m> {
    pub(in crate::engine) fn new(model: &'m Model, engine: &Explore, search: &Search) -> Self {
        let (engine, search) = (engine.clone(), search.clone());
        let mut exploration = Exploration::new(model, &engine, &search);
        let races = search.reductions.may_be_dropped && may_race(&engine, &search);
        if races {
            exploration.begin_plainly();
        }
        let beside = if races { Beside::NotYet } else { Beside::Never };
        Race { model, engine, search, reduced: Runner::new(exploration), beside }
    }

    /// What it has done, runs of handlers included.
    pub(in crate::engine) fn work(&self) -> u64 {
        self.reduced.all_work() + self.beside.runner().map_or(0, Runner::all_work)
    }

    /// What the search with reductions has seen.
    pub(in crate::engine) fn coverage(&self) -> Coverage {
        self.reduced.exploration.run.coverage
    }

    /// Bytes in its tables.
    pub(in crate::engine) fn bytes(&self) -> u64 {
        let of = |runner: &Runner<'_>| runner.exploration.run.coverage.bytes;
        of(&self.reduced) + self.beside.runner().map_or(0, of)
    }

    /// Goes on until it has done so much work, and no further than where it ends.
    pub(in crate::engine) fn go_on(&mut self, work: u64, watch: &mut dyn Watch) -> Option<Raced> {
        while self.work() < work {
            let raced = self.take_turn(work - self.work(), watch);
            if raced.is_some() {
                return raced;
            }
        }
        None
    }

    /// Goes on for a while, with about so much more work at most.
    fn take_turn(&mut self, more: u64, watch: &mut dyn Watch) -> Option<Raced> {
        let at_most = self.reduced.work().saturating_add(more);
        let Tuning { plain_first, race_after, .. } = self.search.tuning;
        let race_after = plain_first + race_after;
        let raced = match &mut self.beside {
            Beside::Never => return self.reduced.go_on(at_most, watch).map(Raced::reduced),
            Beside::NotYet if self.reduced.exploration.transitions() < race_after => {
                let until = at_most.div_ceil(self.reduced.cost()).min(race_after);
                return self.reduced.take(until, watch).map(Raced::reduced);
            }
            Beside::NotYet => {
                self.begin_beside();
                return None;
            }
            Beside::Runs(plain, first) => both(&mut self.reduced, plain, *first, self.search.threads, watch),
        };
        if let Some(Raced { ended: Ended::Stopped(_), overtaken: true }) = raced
            && self.beside.runner().is_some_and(|plain| plain.impurity().is_none())
        {
            // A limit of its own ended it. If it was that of both, the other will notice.
            let given_up = std::mem::replace(&mut self.beside, Beside::Never);
            given_up.into_runner().into_iter().for_each(|plain| plain.exploration.kernel.discard());
            return None;
        }
        raced
    }

    fn begin_beside(&mut self) {
        let bytes_max = self.search.bytes_max.map_or(BYTES_MAX, |most| BYTES_MAX.min(most / 4));
        let threads = (self.search.threads - 1).max(1);
        let unreduced = Search { bytes_max: Some(bytes_max), threads, ..self.search.unreduced() };
        let plain = Runner::new(Exploration::new(self.model, &self.engine, &unreduced));
        self.beside = Beside::Runs(Box::new(plain), self.reduced.work());
    }

    /// Goes on to the end.
    pub(in crate::engine) fn finish(&mut self, watch: &mut dyn Watch) -> Raced {
        loop {
            if let Some(raced) = self.go_on(u64::MAX, watch) {
                return raced;
            }
        }
    }

    /// The report of whose answer it is.
    pub(in crate::engine) fn report(self, raced: Raced, watch: &mut dyn Watch) -> Report {
        let model = self.model;
        let (exploration, overtaken) = self.winner(&raced);
        let (mut report, kernel) = conclude(model, exploration, raced.ended, watch);
        report.fallbacks.extend(overtaken);
        if matches!(report.verdict, Verdict::Unknown(_)) {
            kernel.discard();
        }
        report
    }

    /// The search whose answer it is, and what was dropped for it.
    fn winner(self, raced: &Raced) -> (Exploration<'m>, Option<Fallback>) {
        let reduced = self.reduced.exploration;
        if !raced.overtaken {
            self.beside.into_runner().into_iter().for_each(|plain| plain.exploration.kernel.discard());
            return (reduced, None);
        }
        let Some(plain) = self.beside.into_runner() else { return (reduced, None) };
        let mut plain = plain.exploration;
        plain.search.threads = self.search.threads;
        let fallback = Fallback::Overtaken { states: reduced.run.coverage.states };
        reduced.kernel.discard();
        (plain, matches!(raced.ended, Ended::Exhausted | Ended::Violated(_)).then_some(fallback))
    }

    /// Gives back what is known, without waiting for it.
    pub(in crate::engine) fn discard(self) {
        self.reduced.exploration.kernel.discard();
        self.beside.into_runner().into_iter().for_each(|plain| plain.exploration.kernel.discard());
    }
}

/// Lets those go on whose turn it is; says how the first of them ended.
fn both(
    reduced: &mut Runner<'_>,
    plain: &mut Runner<'_>,
    first: u64,
    threads: usize,
    watch: &mut dyn Watch,
) -> Option<Raced> {
    let turn = Turn::next(reduced, plain, first);
    // Both are to have done as much when they have had their turns.
    let most = if turn == Turn::Plain { plain.work() } else { reduced.work().max(plain.work()) };
    let work = most + most / 4;
    let mut beside = Signed(watch.stop());
    let (with, without) = match turn {
        Turn::Reduced => (reduced.go_on(work, watch), None),
        Turn::Plain => (None, plain.go_on(work, &mut beside)),
        Turn::Both if threads > 1 => {
            at_once(|| reduced.go_on(work, watch), || plain.go_on(work, &mut beside))
        }
        // One after the other comes to the same: if both end, the one with reductions is first.
        Turn::Both => match reduced.go_on(work, watch) {
            None => (None, plain.go_on(work, &mut beside)),
            ended => (ended, None),
        },
    };
    decided((with, reduced.impurity()), (without, plain.impurity()))
}

/// How a race is decided in which these have ended, and have found out this about the user's code: it holds for the other
/// as well, which may not have asked.
fn decided(
    (with, found_with): (Option<Ended>, Option<Stopped>),
    (without, found_without): (Option<Ended>, Option<Stopped>),
) -> Option<Raced> {
    match (with, without, found_with, found_without) {
        (Some(Ended::Exhausted), _, _, Some(impure)) | (None, Some(Ended::Stopped(_)), _, Some(impure)) => {
            Some(Raced::plain(Ended::Stopped(impure)))
        }
        (None, Some(Ended::Exhausted), Some(impure), _) => Some(Raced::reduced(Ended::Stopped(impure))),
        (Some(ended), ..) => Some(Raced::reduced(ended)),
        (None, without, ..) => without.map(Raced::plain),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn stopped(raced: Option<Raced>) -> Option<(Stopped, bool)> {
        match raced? {
            Raced { ended: Ended::Stopped(why), overtaken } => Some((why, overtaken)),
            Raced { .. } => None,
        }
    }

    #[test]
    fn what_one_has_found_out_holds_for_the_other() {
        let impure = || Some(Stopped::Impure("handler".to_string()));
        let named = |overtaken| impure().map(|why| (why, overtaken));
        let limit = || Some(Ended::Stopped(Stopped::Memory(1)));
        let all = || Some(Ended::Exhausted);
        assert_eq!(stopped(decided((all(), None), (None, impure()))), named(true));
        assert_eq!(stopped(decided((None, None), (limit(), impure()))), named(true));
        assert_eq!(stopped(decided((None, impure()), (all(), None))), named(false));
        // Nobody has found out anything, or nothing has ended.
        assert!(decided((all(), None), (None, None)).is_some_and(|raced| !raced.overtaken));
        assert!(decided((None, None), (all(), None)).is_some_and(|raced| raced.overtaken));
        assert!(decided((None, impure()), (None, impure())).is_none());
    }
}
