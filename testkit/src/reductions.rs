//! In what a reduced search differs from what the naive checker found.
//!
//! From: docs/theory/README.md 4, whose promises are compared, for every combination of reductions that is allowed:
//! whatever breaks is found and nothing else; every local state is seen; the ends of runs are the same, as vectors of
//! local states; and without stubborn sets the reached vectors of local states are the same too. Of symmetric states
//! some stand for others, so what was seen of them is completed by all permutations before it is compared.
//! Known: of stubborn sets only local states and ends are promised, not their combinations (docs/theory/stubborn.md 3).
//! Without inert messages runs end early, or end that would not: inert messages are refused where a property looks at
//! ends, and ends are not compared with them.
//! Held by: `tests/reduction_mutants.rs`.

use std::collections::HashSet;

use quorate::Report;
use quorate::engine::{Count, Explore, Order, Search};
use quorate::model::{Model, Value};
use quorate::reduce::{Reduction, Reductions, Refinement, Seeds};
use quorate::report::{Stopped, Verdict};
use quorate::testing::{Census, Tuning};
use quorate::world::Channel;

use crate::compare::{explored, violation_differs};
use crate::naive::Findings;

/// Sizes so small that a small protocol is searched as a large one.
const SMALL: Tuning =
    Tuning { chunk: 2, narrow_max: 0, first_states: 30, walks_in_vain: 0, look_after: 4, ..Tuning::DEFAULT };

/// Every combination of reductions that a model allows.
pub fn combinations(model: &Model) -> Vec<Vec<Reduction>> {
    let of_bits = |bits: usize| -> Vec<Reduction> {
        let all = Reduction::ALL.into_iter().enumerate();
        all.filter(|(at, _)| bits >> at & 1 == 1).map(|(_, reduction)| reduction).collect()
    };
    let allowed = |which: &Vec<Reduction>| Reductions::checked(which, model).is_ok();
    (1..1 << Reduction::ALL.len()).map(of_bits).filter(allowed).collect()
}

/// The search of a model with these reductions. Seeds go through orders of search and kinds of stubborn sets.
pub fn search_with(which: &[Reduction], model: &Model, seed: u64) -> (Explore, Search) {
    let checked = Reductions::checked(which, model).expect("an allowed combination");
    search_by(checked, seed)
}

/// The search with these reductions, which are not checked again.
pub fn search_by(checked: Reductions, seed: u64) -> (Explore, Search) {
    let splits = [
        Refinement::Auto,
        Refinement::Combined,
        Refinement::Auto,
        Refinement::Quorum,
        Refinement::Reply,
        Refinement::None,
    ];
    let starts = [Seeds::Best, Seeds::First, Seeds::Best, Seeds::Last];
    let pick = |of: usize| usize::try_from(seed % of as u64).expect("it is below a usize");
    let (order, tuning) = match seed % 3 {
        0 => (Order::Breadth, Tuning::default()),
        1 => (Order::Breadth, SMALL),
        _ => (Order::Depth, SMALL),
    };
    let reductions =
        Reductions { refinement: splits[pick(splits.len())], seeds: starts[pick(starts.len())], ..checked };
    let count = if reductions.which == [Reduction::Symmetry] { Count::Orbits } else { Count::Nothing };
    let threads = if seed.is_multiple_of(97) { 2 } else { 1 };
    let engine = Explore::default().order(order).count(count).with_census();
    // An engine that never comes to an end should fail, not hang.
    let search = Search::default().threads(threads).states_max(1_000_000);
    (engine, search.reductions(reductions).tuning(tuning))
}

/// In what searches with all allowed combinations differ from the naive checker, one line each.
pub fn disagreements(model: &Model, found: &Findings, seed: u64) -> Vec<String> {
    let disagreeing = |which: Vec<Reduction>| {
        let (engine, search) = search_with(&which, model, seed);
        let names: Vec<&str> = which.iter().map(|reduction| reduction.name()).collect();
        let differ = difference(model, found, &engine, &search);
        differ.map(|line| format!("{} ({:?}): {line}", names.join(","), engine.order))
    };
    combinations(model).into_iter().filter_map(disagreeing).collect()
}

/// In what a reduced search differs from the naive checker, if it does.
pub fn difference(model: &Model, found: &Findings, engine: &Explore, search: &Search) -> Option<String> {
    let report = match explored(model, engine, search) {
        Ok(report) => report,
        Err(panicked) => return Some(panicked),
    };
    match &report.verdict {
        Verdict::Violated(violation) => {
            // However it was found, a search without reductions finds the shortest run.
            let mut differences = Vec::new();
            violation_differs(model, found, Order::Breadth, violation, &mut differences);
            differences.into_iter().next()
        }
        Verdict::Holds if !found.broken.is_empty() => {
            Some(format!("the verdict is holds, but {:?} break", found.broken))
        }
        Verdict::Holds => seen_differs(model, found, search, &report),
        other => Some(format!("the verdict is {other:?}")),
    }
}

/// A declaration of symmetry that is wrong may be harmless; if it is noticed, the verdict names the culprit; in no case
/// does something hold that does not.
pub fn wrong_symmetry_misleads(
    model: &Model,
    found: &Findings,
    (engine, search): (&Explore, &Search),
    culprit: &str,
) -> Option<String> {
    let report = match explored(model, engine, search) {
        Ok(report) => report,
        Err(panicked) => return Some(panicked),
    };
    match &report.verdict {
        Verdict::Unknown(Stopped::Asymmetric(reason)) if reason.contains(culprit) => None,
        Verdict::Violated(_) if !found.broken.is_empty() => None,
        Verdict::Holds if found.broken.is_empty() => None,
        other => Some(format!("the verdict is {other:?}, but {:?} break because of {culprit}", found.broken)),
    }
}

fn seen_differs(model: &Model, found: &Findings, search: &Search, report: &Report) -> Option<String> {
    let seen = report.census()?;
    let symmetric = search.reductions.has(Reduction::Symmetry);
    let all = |vectors: &HashSet<Vec<Value>>| {
        if symmetric { completed(model, vectors) } else { vectors.clone() }
    };
    let Census { system_states, ends } = seen;
    let system_states = all(system_states);
    let mut locals = vec![HashSet::new(); model.processes().len()];
    for (process, seen) in locals.iter_mut().enumerate() {
        seen.extend(system_states.iter().map(|vector| vector[process].clone()));
    }
    let wrong = locals.iter().zip(&found.local_states).position(|(seen, expected)| seen != expected);
    if let Some(process) = wrong {
        let (seen, expected) = (locals[process].len(), found.local_states[process].len());
        return Some(format!("{seen} local states of process {process}, not {expected}"));
    }
    // Of beliefs ends are not promised where a run may end though its processes could step: they are refused then, if a
    // property looks at ends.
    let ends_differ = search.reductions.has(Reduction::Inert)
        || search.reductions.has(Reduction::Beliefs) && ends_despite_steps(model);
    if !ends_differ {
        let (ends, expected) = (all(ends), ends_of(found));
        if ends != expected {
            return Some(format!("{} ends of runs, not {}", ends.len(), expected.len()));
        }
    }
    if !search.reductions.has(Reduction::Stubborn) && system_states != found.system_states {
        let (seen, expected) = (system_states.len(), found.system_states.len());
        return Some(format!("{seen} vectors of local states, not {expected}"));
    }
    let orbits = report
        .explored()
        .and_then(|explored| explored.orbits)
        .filter(|orbits| *orbits != found.depths.len() as u64);
    orbits.map(|orbits| format!("orbits of {orbits} states together, not {}", found.depths.len()))
}

/// The vectors of local states in which runs end.
fn ends_of(found: &Findings) -> HashSet<Vec<Value>> {
    found.ends.iter().map(|at| found.locals[*at].clone()).collect()
}

/// Can a run end though its processes could step: by faults, forgeries, or messages and events that change nothing?
fn ends_despite_steps(model: &Model) -> bool {
    let world = model.world();
    !matches!(world.channel, Channel::Bag | Channel::Fifo | Channel::Mailbox)
        || !world.faults().is_empty()
        || !model.monitors().is_empty()
        || model.ids().any(|process| !model.forgeable(process).is_empty())
}

/// These vectors, and all that permutations of interchangeable processes make of them.
fn completed(model: &Model, vectors: &HashSet<Vec<Value>>) -> HashSet<Vec<Value>> {
    let symmetry = model.symmetry();
    let generators = symmetry.generators();
    let (mut all, mut waiting) = (vectors.clone(), vectors.iter().cloned().collect::<Vec<_>>());
    while let Some(vector) = waiting.pop() {
        for ids in &generators {
            let mut renamed = vector.clone();
            for (process, local) in model.ids().zip(&vector) {
                renamed[ids.of(process).index()] = symmetry.rename_state(local, ids);
            }
            if all.insert(renamed.clone()) {
                waiting.push(renamed);
            }
        }
    }
    all
}
