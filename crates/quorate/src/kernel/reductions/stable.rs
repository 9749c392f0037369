//! Is what is wrong once wrong for ever?
//!
//! From: docs/theory/stubborn.md 6. A stubborn search finds every violation that stays, and every one of a single
//! process; for these it need not care which steps change what properties see. Agreement stays broken once two have
//! decided differently: that is read off the local graphs, by trying every change of a view in every combination of
//! views.

use std::collections::{BTreeSet, HashMap};

use super::beliefs::ProcessStates;
use crate::base::Value;
use crate::kernel::process::{Edge, LocalId};
use crate::model::Model;
use crate::property::{Property, When};

/// What one process shows to a property, and how that changes in its steps.
struct Shown {
    values: Vec<Value>,
    changes: BTreeSet<(usize, usize)>,
}

/// Is every property that must always hold one of a single process, or broken for ever once it is broken? One with more
/// combinations of views than `most` is taken for one that may hold again.
pub(in crate::kernel) fn all_stable(model: &Model, states_of: &[ProcessStates], most: usize) -> bool {
    let always = model.properties().iter().filter(|property| property.when() == When::Always);
    always.into_iter().all(|property| {
        let shown: Vec<Shown> = states_of[..model.processes().len()]
            .iter()
            .filter_map(|states| shown(property, states))
            .collect();
        shown.len() <= 1 || is_stable(property, &shown, most)
    })
}

fn shown(property: &Property, states: &ProcessStates) -> Option<Shown> {
    let graph = &states.graph;
    let mut values: Vec<Value> = Vec::new();
    let mut of: HashMap<LocalId, usize> = HashMap::new();
    for local in graph.seen.locals() {
        let value = property.observe(graph.local_value(local))?;
        let number = values.iter().position(|known| *known == value).unwrap_or(values.len());
        if number == values.len() {
            values.push(value);
        }
        of.insert(local, number);
    }
    let change = |edge: &Edge| (of[&edge.from], of[&edge.to]);
    let changes = graph.seen.edges().iter().map(change).filter(|(before, after)| before != after).collect();
    Some(Shown { values, changes })
}

fn is_stable(property: &Property, shown: &[Shown], most: usize) -> bool {
    let mut combinations = 1usize;
    for process in shown {
        combinations = combinations.saturating_mul(process.values.len());
        if combinations > most {
            return false;
        }
    }
    let holds = |chosen: &[usize]| {
        let values: Vec<&Value> =
            chosen.iter().zip(shown).map(|(at, process)| &process.values[*at]).collect();
        property.holds(&values)
    };
    (0..combinations).all(|combination| {
        let mut rest = combination;
        let digit = |process: &Shown| {
            let digit = rest % process.values.len();
            rest /= process.values.len();
            digit
        };
        let chosen: Vec<usize> = shown.iter().map(digit).collect();
        holds(&chosen)
            || shown.iter().enumerate().all(|(at, process)| {
                process.changes.iter().filter(|(before, _)| *before == chosen[at]).all(|(_, after)| {
                    let mut changed = chosen.clone();
                    changed[at] = *after;
                    !holds(&changed)
                })
            })
    })
}
