//! A search has ended and has seen more than its reductions were built on. Built on all that it has seen, would they have
//! done the same? Then it proves what a search that is repeated would prove.
//!
//! From: docs/theory/stubborn.md 5. Two things rest on what was seen: which messages are left out, and which processes step.
//! What was left out was noted, and is compared. Which processes step is worked out anew in those vectors in which
//! something is different: what a state may still send, or whether its steps can be repeated for ever.
//! Held by: testkit/tests/reductions.rs, with mutants.

use super::prepare::Kernel;
use super::process::LocalId;
use super::reductions::{Looking, ProcessStates, Stubborn, Traits};
use crate::base::{Mutant, ProcessSet, heed};

/// Reductions built on all that a search has seen, to be compared with those that it had.
pub(crate) struct SecondLook {
    /// How much was seen.
    seen: usize,
    choices: Option<Choices>,
}

/// Which processes step, on all that a search has seen.
struct Choices {
    stubborn: Stubborn,
    /// For each process, the local states in which something is different.
    changed_locals: Vec<Vec<bool>>,
    /// For each process and state, as far as somebody asked.
    changed: Vec<Vec<Option<bool>>>,
    traits: Vec<Vec<Option<Traits>>>,
}

impl Kernel<'_> {
    /// Has the search seen something that its reductions do not know of?
    pub(crate) fn has_seen_more(&self) -> bool {
        self.relies_on_seen() && self.seen_at_start != self.seen_count()
    }

    /// Has a search that goes on left out what can make a difference? Then it will have to be repeated.
    pub(crate) fn is_in_vain(&mut self) -> bool {
        self.has_seen_more() && {
            self.saturate();
            self.leaves_out_what_is_live()
        }
    }

    /// Builds its reductions anew; `None` if it is plain that the search must be repeated.
    pub(crate) fn look_again(&mut self) -> Option<SecondLook> {
        self.saturate();
        let seen = self.seen_count();
        if self.leaves_out_what_is_live() {
            return None;
        }
        let needs = self.needs();
        if needs != self.stubborn.as_ref().map(Stubborn::needs) && !self.mutants.has(Mutant::StableForGood) {
            return None;
        }
        let choices = self.stubborn.as_ref().map(|before| {
            let stubborn = Stubborn::new(before.needs(), &self.states_of, &self.ask.mail, self.model);
            let changed_locals = stubborn.changed_locals(before, &self.states_of);
            Choices::new(stubborn, changed_locals)
        });
        let choices =
            choices.filter(|choices| choices.changed_locals.iter().flatten().any(|changed| *changed));
        Some(SecondLook { seen, choices })
    }

    /// Was something left out that can make a difference?
    fn leaves_out_what_is_live(&mut self) -> bool {
        let Kernel { states_of, ask, mutants, .. } = self;
        !mutants.has(Mutant::LeftOutForGood)
            && states_of.iter_mut().any(|states| states.graph.has_left_out_live(ask))
    }

    /// Would the same processes step in a vector?
    pub(crate) fn chooses_again(&mut self, look: &mut SecondLook, vector: &[u32]) -> bool {
        heed();
        let Some(choices) = &mut look.choices else { return true };
        let differs = (0..self.model.processes().len())
            .any(|process| choices.is_changed(process, vector[process], &self.states_of));
        !differs
            || self.mutants.has(Mutant::ChosenForGood)
            || self.members_that_step(vector) == self.members_by(choices, vector)
    }

    fn members_by(&mut self, choices: &mut Choices, vector: &[u32]) -> ProcessSet {
        let Kernel { vectors, ask, states_of, orbits, .. } = self;
        let mut looking = Looking { orbits, states_of, ask };
        let traits: Vec<Traits> = (0..looking.ask.model.processes().len())
            .map(|process| {
                let known = vectors.traits(process, vector[process]);
                choices.traits(process, vector[process], known, &mut looking)
            })
            .collect();
        choices.stubborn.choose(vector, &traits, &mut looking)
    }

    /// All vectors were compared. Says whether the search need not be repeated.
    pub(crate) fn concludes(&mut self, look: &SecondLook) -> bool {
        // To choose is to leave out messages that may come.
        let same = self.seen_count() == look.seen && !self.leaves_out_what_is_live();
        if same {
            self.seen_at_start = look.seen;
        }
        same
    }
}

impl Choices {
    fn new(stubborn: Stubborn, changed_locals: Vec<Vec<bool>>) -> Self {
        let processes = changed_locals.len();
        let (changed, traits) = (vec![Vec::new(); processes], vec![Vec::new(); processes]);
        Choices { stubborn, changed_locals, changed, traits }
    }

    /// Is something different in a state of a process?
    fn is_changed(&mut self, process: usize, state: u32, states_of: &[ProcessStates]) -> bool {
        let states = &states_of[process];
        let of_locals = &self.changed_locals[process];
        let is_changed = |local: LocalId| of_locals.get(local as usize).is_none_or(|changed| *changed);
        *entry(&mut self.changed[process], state).get_or_insert_with(|| {
            (0..states.member_count(state)).any(|at| is_changed(states.graph.local(states.member(state, at))))
        })
    }

    fn traits(
        &mut self,
        process: usize,
        state: u32,
        known: &Traits,
        looking: &mut Looking<'_, '_>,
    ) -> Traits {
        let Choices { stubborn, traits, .. } = self;
        *entry(&mut traits[process], state)
            .get_or_insert_with(|| stubborn.traits(process, state, (known.steps, known.owes), looking))
    }
}

/// What is known of a state.
fn entry<T: Copy>(known: &mut Vec<Option<T>>, state: u32) -> &mut Option<T> {
    let at = state as usize;
    if known.len() <= at {
        known.resize(at + 1, None);
    }
    &mut known[at]
}
