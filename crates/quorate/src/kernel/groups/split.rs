//! Which processes are in the left group, and which in the right.
//!
//! A group's tables grow with the number of its states, so the best division is the one with the fewest states
//! of the two groups together. That cannot be known beforehand, but random walks show it: among the global
//! states on them, count the distinct states of either group. From the processes in their given order, move or swap
//! processes as long as the count falls.
//!
//! Known: any division is right; this one only decides what a search costs.
//! PERF: Paxos (2,5,1), 18,261,622 states, two threads: 7.7 s and 36 bytes a state split in the given
//! order, 4.8 s and 19 bytes with every second process on the other side (docs/decisions/0002).

use std::hash::{Hash, Hasher};

use crate::base::{FoldHasher, ProcessId, heed};

/// The processes of the two groups.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::kernel) struct GroupOrder {
    pub(in crate::kernel) left: Vec<ProcessId>,
    pub(in crate::kernel) right: Vec<ProcessId>,
}

impl GroupOrder {
    /// The given order, cut in the middle.
    pub(in crate::kernel) fn in_order(processes: usize) -> Self {
        let of = |range: std::ops::Range<usize>| range.map(ProcessId::new).collect();
        let middle = processes.div_ceil(2);
        GroupOrder { left: of(0..middle), right: of(middle..processes) }
    }

    /// The best division that can be reached by small changes, judged by a sample of global states: for each,
    /// the configurations of the processes.
    pub(in crate::kernel) fn for_sample(processes: usize, sample: &[Vec<u32>]) -> Self {
        let mut sides = Sides::new(processes, sample);
        let mut best = sides.cost();
        while let Some((change, cost)) = sides.best_change().filter(|(_, cost)| *cost < best) {
            sides.apply(change);
            best = cost;
        }
        let of =
            |side: bool| (0..processes).filter(|at| sides.right[*at] == side).map(ProcessId::new).collect();
        GroupOrder { left: of(false), right: of(true) }
    }
}

/// One process that changes sides, or two that change places.
type Change = (usize, Option<usize>);

struct Sides {
    /// Is a process on the right?
    right: Vec<bool>,
    /// For each process, a hash of its configuration in each state of the sample.
    hashes: Vec<Vec<u64>>,
    /// For each state of the sample, the hashes of the left processes together, and of the right ones.
    sums: Vec<(u64, u64)>,
}

impl Sides {
    fn new(processes: usize, sample: &[Vec<u32>]) -> Self {
        let hash = |process: usize, state: &Vec<u32>| {
            let mut hasher = FoldHasher::default();
            (process, state[process]).hash(&mut hasher);
            hasher.finish()
        };
        let hashes: Vec<Vec<u64>> =
            (0..processes).map(|process| sample.iter().map(|state| hash(process, state)).collect()).collect();
        let none = Sides { right: vec![false; processes], hashes, sums: vec![(0, 0); sample.len()] };
        let mut sides = none;
        for process in 0..processes {
            for (sum, hash) in sides.sums.iter_mut().zip(&sides.hashes[process]) {
                sum.0 ^= hash;
            }
        }
        for process in processes.div_ceil(2)..processes {
            sides.apply((process, None));
        }
        sides
    }

    /// How many states the two groups have together, as far as the sample shows.
    fn cost(&self) -> f64 {
        let estimate = |mut sums: Vec<u64>| {
            sums.sort_unstable();
            sums.dedup();
            population(sums.len(), self.sums.len())
        };
        let lefts = estimate(self.sums.iter().map(|(left, _)| *left).collect());
        let rights = estimate(self.sums.iter().map(|(_, right)| *right).collect());
        lefts + rights
    }

    fn apply(&mut self, (one, other): Change) {
        for process in [Some(one), other].into_iter().flatten() {
            self.right[process] ^= true;
            for (sum, hash) in self.sums.iter_mut().zip(&self.hashes[process]) {
                sum.0 ^= hash;
                sum.1 ^= hash;
            }
        }
    }

    fn best_change(&mut self) -> Option<(Change, f64)> {
        let processes = self.right.len();
        let moves = (0..processes).map(|process| (process, None));
        let swaps = (0..processes).flat_map(|one| (one + 1..processes).map(move |other| (one, Some(other))));
        let mut best: Option<(Change, f64)> = None;
        for change in moves.chain(swaps) {
            if change.1.is_some_and(|other| self.right[change.0] == self.right[other]) {
                continue;
            }
            heed();
            self.apply(change);
            let cost = self.cost();
            self.apply(change);
            if best.is_none_or(|(_, least)| cost < least) {
                best = Some((change, cost));
            }
        }
        best
    }
}

/// How many there are of something if so many draws show so many distinct ones: the k with
/// distinct = k (1 - exp(-draws / k)), by halving. A sample without repetitions says nothing but "many".
#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn population(distinct: usize, draws: usize) -> f64 {
    let (distinct, draws) = (distinct as f64, draws as f64);
    let (mut low, mut high) = (distinct, draws * draws);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        let expected = middle * -(-draws / middle).exp_m1();
        if expected < distinct {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_that_move_together_stay_together() {
        // 0 and 2 always agree, 1 and 3 always agree: 4 states each way, 16 if they are torn apart.
        let sample: Vec<Vec<u32>> = (0..16).map(|n| vec![n % 4, n / 4, n % 4, n / 4]).collect();
        let split = GroupOrder::for_sample(4, &sample);
        assert_eq!(split.left.len(), 2);
        assert_eq!(split.left[0].index() % 2, split.left[1].index() % 2, "{split:?}");
    }

    #[test]
    fn a_population_is_estimated_from_what_repeats() {
        // 1,000 draws from 1,000 show about 632.
        assert!((population(632, 1000) - 1000.0).abs() < 5.0);
        assert!((population(10, 1000) - 10.0).abs() < 0.1);
        assert!(population(1000, 1000) > 100_000.0);
    }

    #[test]
    fn the_given_order_is_cut_in_the_middle() {
        let split = GroupOrder::in_order(5);
        assert_eq!((split.left.len(), split.right.len()), (3, 2));
        assert_eq!(GroupOrder::in_order(1).right, []);
    }
}
