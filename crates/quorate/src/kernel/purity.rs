//! Do handlers answer the same when they are asked twice? The kernel remembers answers, so it must know.
//!
//! From: ALGORITHMS 2, pitfall 1. A handler is asked again at once for the first runs of each transition
//! and for a sample of the later ones; a part of these once more when the search ends, for handlers that
//! look at a clock.

use crate::base::{ProcessId, Value};
use crate::model::{Envelope, Model, Outcome, Panicked};

/// The first runs of each transition, all of them asked again.
const FIRST_RUNS: u64 = 16;
/// Of the later ones, one in so many.
const SAMPLE: u64 = 64;
/// How many are asked once more at the end.
const LATE_MAX: usize = 256;

type Answers = Vec<Result<Outcome, Panicked>>;

struct Asked {
    process: ProcessId,
    transition: usize,
    state: Value,
    consumed: Vec<Envelope>,
    answers: Answers,
}

/// What was asked again, and the first handler that answered differently.
pub(super) struct Purity {
    runs: Vec<Vec<u64>>,
    late: Vec<Asked>,
    impure: Option<String>,
}

impl Purity {
    pub(super) fn new(model: &Model) -> Self {
        let runs = model.processes().iter().map(|process| vec![0; process.transitions().len()]).collect();
        Purity { runs, late: Vec::new(), impure: None }
    }

    /// The handler that answered differently, and how.
    pub(super) fn impure(&self) -> Option<&str> {
        self.impure.as_deref()
    }

    /// A handler has answered: asks it again, perhaps.
    pub(super) fn consider(
        &mut self,
        model: &Model,
        process: ProcessId,
        transition: usize,
        state: &Value,
        consumed: &[&Envelope],
        answers: &Answers,
    ) {
        let runs = &mut self.runs[process.index()][transition];
        *runs += 1;
        if *runs > FIRST_RUNS && !runs.is_multiple_of(SAMPLE) {
            return;
        }
        let consumed = consumed.iter().map(|envelope| (*envelope).clone()).collect();
        let asked = Asked { process, transition, state: state.clone(), consumed, answers: answers.clone() };
        self.ask_again(model, &asked);
        if self.late.len() < LATE_MAX {
            self.late.push(asked);
        }
    }

    /// The search has ended: asks some handlers once more.
    pub(super) fn conclude(&mut self, model: &Model) {
        for asked in std::mem::take(&mut self.late) {
            self.ask_again(model, &asked);
        }
    }

    fn ask_again(&mut self, model: &Model, asked: &Asked) {
        let consumed: Vec<&Envelope> = asked.consumed.iter().collect();
        let again = model.run(asked.process, asked.transition, &asked.state, &consumed);
        if self.impure.is_some() || again == asked.answers {
            return;
        }
        let process = model.process(asked.process);
        let (name, transition) = (process.name(), process.transitions()[asked.transition].name());
        let differs = again.iter().zip(&asked.answers).find(|(again, first)| again != first);
        let (again, first) = differs.map_or_else(
            || (format!("{} outcomes", again.len()), format!("{} outcomes", asked.answers.len())),
            |(again, first)| (format!("{again:?}"), format!("{first:?}")),
        );
        self.impure = Some(format!(
            "handler '{transition}' of {name} is not a function of its inputs (a clock, a random number, the order \
             of a hash map?): in state {:?} it first answered {first}, then {again}",
            asked.state
        ));
    }
}
