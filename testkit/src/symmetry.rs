//! Is what is declared about symmetry true? Asks every handler that ran, with the processes exchanged.
//!
//! From: docs/theory/symmetry.md 4. A step from s that consumes X is equivariant if the renamed step, from the renamed
//! s with the renamed X, has the renamed outcomes, for each exchange of two interchangeable processes. Properties must
//! hold in a renamed state where they hold, and a restart must leave the renamed rest.
//! Known: what no run reaches is not asked. Nor are monitors.
//! Held by: tests/symmetry.rs, which also plants mistakes.

use std::collections::BTreeSet;

use quorate::Renaming;
use quorate::model::{Envelope, Model, Outcome, Value};

use crate::naive::{Findings, LocalStep};

/// What distinguishes interchangeable processes of a model: handlers, restarts and properties, each once, by name.
pub fn asymmetries(model: &Model, found: &Findings) -> BTreeSet<String> {
    let generators = model.symmetry().generators();
    let for_all = |holds: &dyn Fn(&Renaming) -> bool| generators.iter().all(holds);
    let transitions = found
        .handler_runs
        .iter()
        .filter(|step| !for_all(&|ids| is_equivariant(model, step, &found.messages, ids)))
        .map(|step| model.process(step.process).transitions()[step.transition].name().to_string());
    let restarts = model.ids().filter(|&process| {
        let restarts_alike = |state: &Value, ids: &Renaming| {
            let renamed = model.restarted(ids.of(process), &model.symmetry().rename_state(state, ids));
            let after =
                model.restarted(process, state).map(|after| model.symmetry().rename_state(&after, ids));
            renamed == after
        };
        let mut states = found.local_states[process.index()].iter();
        !states.all(|state| for_all(&|ids| restarts_alike(state, ids)))
    });
    let properties = model.properties().iter().filter(|property| {
        let judges_alike = |locals: &[Value], ids: &Renaming| {
            let mut renamed = locals.to_vec();
            for (process, state) in model.ids().zip(locals) {
                renamed[ids.of(process).index()] = model.symmetry().rename_state(state, ids);
            }
            property.check(&renamed).is_ok() == property.check(locals).is_ok()
        };
        !found.system_states.iter().all(|locals| for_all(&|ids| judges_alike(locals, ids)))
    });
    transitions
        .chain(restarts.map(|process| format!("restart of {}", model.process(process).name())))
        .chain(properties.map(|property| property.name().to_string()))
        .collect()
}

/// Does the exchanged process do the exchanged thing?
fn is_equivariant(model: &Model, step: &LocalStep, messages: &[Envelope], ids: &Renaming) -> bool {
    let symmetry = model.symmetry();
    let consumed: Vec<&Envelope> = step.consumed.iter().map(|&message| &messages[message]).collect();
    let renamed: Vec<Envelope> =
        consumed.iter().map(|message| symmetry.rename_envelope(message, ids)).collect();
    let here = outcomes(model, step.process, step.transition, &step.state, &consumed, ids);
    let (process, state) = (ids.of(step.process), symmetry.rename_state(&step.state, ids));
    let nobody = Renaming::identity(0);
    let there =
        outcomes(model, process, step.transition, &state, &renamed.iter().collect::<Vec<_>>(), &nobody);
    let times = |outcome: &Option<Outcome>, all: &[Option<Outcome>]| {
        all.iter().filter(|other| *other == outcome).count()
    };
    here.len() == there.len() && here.iter().all(|outcome| times(outcome, &here) == times(outcome, &there))
}

/// The renamed outcomes of a step, `None` for a panic: how it chose is not compared, only to what effect. Nothing if
/// the step cannot be taken.
fn outcomes(
    model: &Model,
    process: quorate::ProcessId,
    transition: usize,
    state: &Value,
    consumed: &[&Envelope],
    ids: &Renaming,
) -> Vec<Option<Outcome>> {
    let outcomes = match model.accepts(process, transition, state, consumed) {
        Ok(true) => model.run(process, transition, state, consumed),
        Ok(false) => Vec::new(),
        Err(panicked) => vec![Err(panicked)],
    };
    let renamed =
        |outcome: Outcome| Outcome { choices: Vec::new(), ..model.symmetry().rename_outcome(&outcome, ids) };
    outcomes.into_iter().map(|outcome| outcome.ok().map(renamed)).collect()
}
