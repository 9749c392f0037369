//! Does a local step do the same when processes are exchanged? Asked of every step of a search that relies on it.

use crate::base::{ProcessId, Renaming, Value};
use crate::model::{Asked, Envelope, Model, Outcome, Panicked, asked_once};

/// A local state, and what is sent to whom.
type Done = (Value, Vec<(ProcessId, Value)>);

/// How a local step differs when processes are exchanged; `None` if it does not.
pub(super) fn difference(
    model: &Model,
    process: ProcessId,
    transition: usize,
    state: &Value,
    consumed: &[&Envelope],
) -> Option<String> {
    let symmetry = model.symmetry();
    let outcomes = |process, state: &Value, consumed: &[&Envelope]| {
        asked_once(model, Asked { process, transition, state }, consumed)
    };
    // What is sent, as a bag, and what is left; choices may be offered in another order.
    let count = |outcomes: Vec<Result<Outcome, Panicked>>, ids: &Renaming| {
        let mut seen: Vec<Option<Done>> = outcomes
            .into_iter()
            .map(|outcome| {
                let outcome = symmetry.rename_outcome(&outcome.ok()?, ids);
                let mut sends: Vec<(ProcessId, Value)> =
                    outcome.sends.into_iter().map(|sending| (sending.to, sending.body)).collect();
                sends.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| a.1.content_order(&b.1)));
                Some((outcome.state, sends))
            })
            .collect();
        seen.sort_by_key(|outcome| {
            let hash = |(state, sends): &Done| {
                let sends: Vec<(usize, u64)> =
                    sends.iter().map(|(to, body)| (to.index(), body.content_hash())).collect();
                (state.content_hash(), sends)
            };
            outcome.as_ref().map(hash)
        });
        seen
    };
    let identity = Renaming::identity(model.processes().len());
    symmetry.generators().iter().find_map(|ids| {
        let renamed: Vec<Envelope> =
            consumed.iter().map(|message| symmetry.rename_envelope(message, ids)).collect();
        let renamed: Vec<&Envelope> = renamed.iter().collect();
        let before = count(outcomes(process, state, consumed), ids);
        let other = ids.of(process);
        let after = count(outcomes(other, &symmetry.rename_state(state, ids), &renamed), &identity);
        (before != after).then(|| {
            let name = model.process(process).transitions()[transition].name();
            let exchanged: Vec<&str> = model
                .ids()
                .filter(|id| ids.of(*id) != *id)
                .map(|id| model.process(id).name())
                .collect();
            format!(
                "'{name}' of {} does not treat {} alike: the role is not symmetric, leave out .symmetric() or mend \
                 the handler",
                model.process(process).name(),
                exchanged.join(" and "),
            )
        })
    })
}
