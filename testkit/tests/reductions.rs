//! Reductions change no verdict: on random protocols and in random worlds, each reduction alone and every combination
//! that is allowed, against the naive checker.

use quorate::engine::{Search, Tuning};
use quorate::protocol::Model;
use quorate::reduce::{Reduction, Reductions};
use quorate::verdict::Verdict;
use quorate_testkit::compare::explored;
use quorate_testkit::corpus::{STATES_MAX, for_each_seed, seeds};
use quorate_testkit::naive::{Findings, search};
use quorate_testkit::random::RandomProtocol;

/// Every set of reductions that a model can be searched with.
fn combinations(model: &Model) -> Vec<Reductions> {
    let sets = (1..1 << Reduction::ALL.len()).map(|bits: usize| {
        let chosen = |at: &usize| bits >> at & 1 == 1;
        (0..Reduction::ALL.len()).filter(chosen).map(|at| Reduction::ALL[at]).collect::<Vec<_>>()
    });
    sets.filter_map(|which| Reductions::checked(&which, model).ok()).collect()
}

/// In what reduced searches differ from the naive checker.
fn disagreements(model: &Model, found: &Findings) -> Vec<String> {
    let mut all = Vec::new();
    for reductions in combinations(model) {
        let counts_all = reductions.which == [Reduction::Inert];
        let which = format!("{:?}", reductions.which);
        let search = Search {
            threads: 1,
            reductions,
            count_system_states: counts_all,
            states_max: Some(10 * STATES_MAX as u64),
            tuning: Tuning { first_states: 30, ..Tuning::default() },
            ..Search::default()
        };
        match explored(model, &search) {
            Err(panicked) => all.push(format!("{which}: {panicked}")),
            Ok(report) => match &report.verdict {
                Verdict::Violated(violation) => {
                    let property = violation.broken.property();
                    if !found.broken.contains_key(property) {
                        all.push(format!("{which}: finds '{property}' broken, which holds"));
                    }
                }
                Verdict::Holds if found.broken.is_empty() => {
                    if counts_all && report.system_states != Some(found.system_states.len() as u64) {
                        let (counted, expected) = (report.system_states, found.system_states.len());
                        all.push(format!("{which}: {counted:?} system states, not {expected}"));
                    }
                }
                other => all.push(format!("{which}: says {other:?}, but {:?} break", found.broken)),
            },
        }
    }
    all
}

#[test]
fn random_protocols() {
    let results = for_each_seed(seeds(), |seed| {
        let model = RandomProtocol::new(seed).model();
        let found = search(&model, STATES_MAX)?;
        Some((!found.broken.is_empty(), disagreements(&model, &found)))
    });
    let compared = || results.iter().filter_map(|(seed, compared)| Some((seed, compared.as_ref()?)));
    let violated = compared().filter(|(_, (violated, _))| *violated).count();
    println!("{} protocols compared, {violated} of them violated", compared().count());
    let disagreeing: Vec<String> = compared()
        .filter(|(_, (_, lines))| !lines.is_empty())
        .map(|(seed, (_, lines))| format!("seed {seed}: {}", lines.join("; ")))
        .collect();
    let first: Vec<&str> = disagreeing.iter().take(8).map(String::as_str).collect();
    assert!(disagreeing.is_empty(), "{} protocols disagree:\n{}", disagreeing.len(), first.join("\n"));
}
