//! How a property could be broken, by what the local closure allows: combinations of local states that violate it.
//!
//! From: LMC 4.1 and 4.2; docs/theory/closure.md 3. Local states that look the same to a property are interchangeable,
//! so combinations are of classes of such states, and a process that makes no difference to one is left open. A
//! combination that a run can reach is reached by local states that lead to it in the closure: a process never leaves
//! them. If these states alone cannot send each other what it takes, the combination is refuted at once; if not, a
//! search that stays within them decides (`engine/local.rs`).
//! Differs: there, every combination is followed back along all sequences of events that lead to it.
//! Held by: testkit/tests/local.rs.

use std::collections::BTreeSet;

use super::close::Closure;
use super::parts::{Edge, Flattened};
use super::process::ProcessClosure;
use crate::base::Mutant;
use crate::base::{Value, heed};
use crate::kernel::options::AllowedLocals;
use crate::kernel::process::INITIAL;
use crate::model::Model;
use crate::property::{Property, When};

/// Which local states are different when they are combined.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CombineBy {
    /// What the property observes of them: LMC-OPT, for every property.
    #[default]
    Observations,
    /// Everything: LMC-GEN.
    States,
}

/// A way in which something could go wrong: for each process, the nodes of the closure that it must be in for that, or
/// `None` if it makes no difference.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Candidate {
    targets: Vec<Option<BTreeSet<u32>>>,
}

/// Of up to how many combinations is it tried which processes make no difference.
const MERGED_MAX: usize = 4096;

/// The ways in which a model could go wrong.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    /// Those that were found.
    pub(crate) all: Vec<Candidate>,
    /// How many combinations were looked at.
    pub(crate) combinations: u64,
    /// There are too many combinations to look at them all.
    pub(crate) too_many: bool,
}

/// A class of each process by its place, or `None` if it makes no difference.
type Combination = Vec<Option<usize>>;

impl Closure<'_> {
    /// Every combination of classes that violates a property, and every local state with a step that panics.
    pub(crate) fn candidates(&self, model: &Model, classes: CombineBy) -> Candidates {
        let mut candidates = Candidates::default();
        for (at, process) in self.processes.iter().enumerate() {
            let panics = |edge: &&Edge| edge.to.is_none();
            let nodes: BTreeSet<u32> = process.edges.iter().filter(panics).map(|edge| edge.from).collect();
            if !nodes.is_empty() {
                let mut targets = vec![None; self.processes.len()];
                targets[at] = Some(nodes);
                candidates.all.push(Candidate { targets });
            }
        }
        for property in model.properties().iter().filter(|property| property.when() == When::Always) {
            self.violating(property, classes, &mut candidates);
        }
        candidates
    }

    /// The combinations that violate a property.
    fn violating(&self, property: &Property, classes: CombineBy, candidates: &mut Candidates) {
        let parted: Vec<Option<Vec<Class>>> =
            (0..self.processes.len()).map(|at| self.parted(at, property, classes)).collect();
        let sizes: Vec<usize> = parted.iter().flatten().map(Vec::len).collect();
        let product = sizes.iter().try_fold(1u64, |product, size| product.checked_mul(*size as u64));
        let Some(count) = product.filter(|product| *product <= self.tuning.combinations_max) else {
            candidates.too_many = true;
            return;
        };
        candidates.combinations += count;
        let observed: Vec<&Vec<Class>> = parted.iter().flatten().collect();
        let mut violating: Vec<Combination> = Vec::new();
        let mut chosen = vec![0; observed.len()];
        for _ in 0..count {
            heed();
            let seen: Vec<&Value> =
                observed.iter().zip(&chosen).map(|(classes, at)| &classes[*at].observed).collect();
            if !property.holds(&seen) {
                violating.push(chosen.iter().copied().map(Some).collect());
            }
            advance(&mut chosen, &sizes);
        }
        for combination in without_what_makes_no_difference(violating, &sizes) {
            let mut chosen = combination.into_iter();
            let target = |classes: &Option<Vec<Class>>| {
                let classes = classes.as_ref()?;
                chosen.next().flatten().map(|at| classes[at].nodes.clone())
            };
            candidates.all.push(Candidate { targets: parted.iter().map(target).collect() });
        }
    }

    /// The classes of a process's nodes; `None` if the property does not look at it.
    fn parted(&self, at: usize, property: &Property, by: CombineBy) -> Option<Vec<Class>> {
        let process = &self.processes[at];
        let mut classes: Vec<Class> = Vec::new();
        for node in 0..u32::try_from(process.size()).expect("few nodes") {
            heed();
            let state = process.local_value(node);
            let observed = property.observe(state)?;
            let same = |class: &&mut Class| match by {
                CombineBy::Observations => class.observed == observed,
                CombineBy::States => class.state == *state,
            };
            if let Some(class) = classes.iter_mut().find(same) {
                class.nodes.insert(node);
            } else {
                let nodes = BTreeSet::from([node]);
                classes.push(Class { observed, state: state.clone(), nodes });
            }
        }
        Some(classes)
    }

    /// For each process, the local states within which a candidate happens if it does; `None` if it does not.
    pub(crate) fn allowed_locals(&self, candidate: &Candidate, steps: &Flattened) -> Option<AllowedLocals> {
        let mut alive: Vec<BTreeSet<u32>> = self
            .processes
            .iter()
            .map(|process| (0..u32::try_from(process.size()).expect("few nodes")).collect())
            .collect();
        loop {
            let before: usize = alive.iter().map(BTreeSet::len).sum();
            let reached = reached_within(&alive, steps);
            for (at, target) in candidate.targets.iter().enumerate() {
                alive[at] = match target {
                    None => reached[at].clone(),
                    Some(target) => self.leading_to(target, &reached[at], at),
                };
                if !alive[at].contains(&INITIAL) {
                    return None;
                }
            }
            if alive.iter().map(BTreeSet::len).sum::<usize>() == before {
                break;
            }
        }
        let values = |(at, nodes): (usize, &BTreeSet<u32>)| {
            nodes.iter().map(|node| self.processes[at].local_value(*node).clone()).collect()
        };
        Some(alive.iter().enumerate().map(values).collect())
    }

    /// For each process, all its local states.
    pub(crate) fn everything(&self) -> AllowedLocals {
        let all = |process: &ProcessClosure<'_>| {
            (0..u32::try_from(process.size()).expect("few nodes"))
                .map(|node| process.local_value(node).clone())
                .collect()
        };
        self.processes.iter().map(all).collect()
    }

    /// Those of some nodes of a process that lead, within them, to a target.
    fn leading_to(&self, target: &BTreeSet<u32>, alive: &BTreeSet<u32>, at: usize) -> BTreeSet<u32> {
        let mut leading: BTreeSet<u32> = target.intersection(alive).copied().collect();
        let mut grown = true;
        while std::mem::take(&mut grown) {
            heed();
            let known = leading.clone();
            for edge in self.processes[at].edges.iter().rev().filter(|edge| alive.contains(&edge.from)) {
                let nearer = if self.tuning.mutants.has(Mutant::NoAncestors) { &known } else { &leading };
                if edge.to.is_some_and(|to| nearer.contains(&to)) {
                    grown |= leading.insert(edge.from) && !self.tuning.mutants.has(Mutant::NoAncestors);
                }
            }
        }
        leading
    }
}

/// The local states of a process that are interchangeable.
struct Class {
    observed: Value,
    /// The first of them.
    state: Value,
    nodes: BTreeSet<u32>,
}

/// The nodes that are reached if processes stay within these, and consume only what they then send.
fn reached_within(alive: &[BTreeSet<u32>], steps: &Flattened) -> Vec<BTreeSet<u32>> {
    let mut reached: Vec<BTreeSet<u32>> =
        alive.iter().map(|alive| alive.iter().copied().filter(|node| *node == INITIAL).collect()).collect();
    let mut sent = steps.at_first.clone();
    let mut grown = true;
    while std::mem::take(&mut grown) {
        for (at, steps) in steps.steps.iter().enumerate() {
            heed();
            for step in steps {
                let Some(to) = step.to.filter(|to| alive[at].contains(to)) else { continue };
                if reached[at].contains(&step.from) && step.consumed.iter().all(|one| sent.contains(one)) {
                    grown |= reached[at].insert(to);
                    for message in &step.sent {
                        grown |= sent.insert(*message);
                    }
                }
            }
        }
    }
    reached
}

/// The next combination, the last place fastest.
fn advance(chosen: &mut [usize], sizes: &[usize]) {
    for (at, size) in chosen.iter_mut().zip(sizes).rev() {
        *at += 1;
        if *at < *size {
            return;
        }
        *at = 0;
    }
}

/// The same combinations, as few as possible: where all classes of a process are there with the same of the others,
/// the process is left open.
fn without_what_makes_no_difference(violating: Vec<Combination>, sizes: &[usize]) -> Vec<Combination> {
    if violating.len() > MERGED_MAX {
        return violating;
    }
    let mut all: BTreeSet<Combination> = violating.into_iter().collect();
    let mut covered: BTreeSet<Combination> = BTreeSet::new();
    for (place, size) in sizes.iter().enumerate() {
        let open: BTreeSet<Combination> = all
            .iter()
            .filter(|combination| combination[place].is_some())
            .map(|combination| {
                let mut open = combination.clone();
                open[place] = None;
                open
            })
            .collect();
        for open in open {
            heed();
            let members: Vec<Combination> = (0..*size)
                .map(|class| {
                    let mut member = open.clone();
                    member[place] = Some(class);
                    member
                })
                .collect();
            if members.iter().all(|member| all.contains(member)) {
                covered.extend(members);
                all.insert(open);
            }
        }
        if all.len() > 2 * MERGED_MAX {
            break;
        }
    }
    all.into_iter().filter(|combination| !covered.contains(combination)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_that_make_no_difference_are_left_open() {
        // Two of three differ: the third makes no difference then.
        let differ = |chosen: &[usize]| {
            let decided: BTreeSet<usize> = chosen.iter().copied().filter(|class| *class > 0).collect();
            decided.len() > 1
        };
        let (mut chosen, sizes) = (vec![0; 3], [3; 3]);
        let mut violating = Vec::new();
        for _ in 0..27 {
            if differ(&chosen) {
                violating.push(chosen.iter().copied().map(Some).collect());
            }
            advance(&mut chosen, &sizes);
        }
        assert_eq!(violating.len(), 12);
        let merged = without_what_makes_no_difference(violating, &sizes);
        assert_eq!(merged.len(), 6);
        assert!(merged.iter().all(|combination| combination.iter().flatten().count() == 2));
    }
}
