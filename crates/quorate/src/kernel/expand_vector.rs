//! The successors of a vector: what a search with stubborn sets or symmetry visits after it.
//!
//! From: docs/theory/kernel.md 10. What is not known of a vector is worked out on the spot, so this may run the user's code.
//!
//! PERF: this is the loop in which a reduced search spends its time; docs/decisions/0018.
//! Held by: testkit/tests/reductions.rs, crates/quorate-zoo/tests/reductions.rs.

use super::groups::Judgement;
use super::prepare::Kernel;
use super::reductions::Renaming;
use super::vectors::Context;
use crate::base::{Mutant, ProcessId, ProcessSet, heed};

/// What there is to say of a vector.
pub(crate) struct Expansion {
    /// How many steps a search takes from it.
    pub(crate) taken: usize,
    /// Does a run end in it?
    pub(crate) ended: bool,
    pub(crate) judgement: Judgement,
}

impl Kernel<'_> {
    /// Does a search expand vectors, and not pairs of states of groups?
    pub(crate) fn searches_vectors(&self) -> bool {
        self.stubborn.is_some() || self.symmetry.is_some() || self.is_plain()
    }

    /// The vector in which everything starts.
    pub(crate) fn initial_vector(&self) -> Vec<u32> {
        vec![0; self.states_of.len()]
    }

    /// Calls `successor` for each vector that a search must visit after one: the steps of the chosen processes, and where
    /// these may never step, the vector in which they do not. Each is replaced by the one that stands for it.
    pub(crate) fn expand_vector(&mut self, vector: &[u32], mut successor: impl FnMut(&[u32])) -> Expansion {
        heed();
        let Kernel { vectors, ask, states_of, orbits, views, stubborn, symmetry, model, mutants, .. } = self;
        let mut context = Context { ask, states_of, orbits, views, stubborn };
        vectors.look_at(vector, &mut context);
        let members = vectors.choose(vector, &mut context);
        let processes = model.processes().len();
        let mut reached = vectors.room();
        let mut taken = 0;
        let mut visit = |reached: &mut Vec<u32>, context: &mut Context<'_, '_>| {
            if let Some(symmetry) = symmetry {
                let Context { ask, states_of, orbits, .. } = context;
                symmetry.represent(reached, &mut Renaming { images: &mut orbits.images, states_of, ask });
            }
            taken += 1;
            successor(reached);
        };
        for process in (0..processes).filter(|process| members.contains(ProcessId::new(*process))) {
            for at in 0..vectors.steps(process, vector[process]).len() {
                let step = vectors.steps(process, vector[process])[at];
                reached.clear();
                reached.extend_from_slice(vector);
                reached[process] = step.next;
                if vectors.deliver(step.sends, &mut reached, &mut context) {
                    visit(&mut reached, &mut context);
                }
            }
        }
        let rest = members != ProcessSet::ALL && !mutants.has(Mutant::NoQuiescence);
        if rest && vectors.still(vector, members, processes, &mut reached, &mut context) {
            visit(&mut reached, &mut context);
        }
        vectors.give_back(reached);
        let judgement = vectors.judge(vector, &mut context);
        let ended = if context.views.believes() { taken == 0 } else { vectors.ends(vector, &mut context) };
        Expansion { taken, ended: ended && !judgement.panics(), judgement }
    }

    /// Does a run end in a vector of configurations?
    pub(super) fn ends_in(&mut self, vector: &[u32]) -> bool {
        let Kernel { vectors, ask, states_of, orbits, views, stubborn, .. } = self;
        let mut context = Context { ask, states_of, orbits, views, stubborn };
        vectors.look_at(vector, &mut context);
        !vectors.panics(vector) && vectors.ends(vector, &mut context)
    }

    /// The processes whose steps are enough in a vector.
    pub(super) fn members_that_step(&mut self, vector: &[u32]) -> ProcessSet {
        let Kernel { vectors, ask, states_of, orbits, views, stubborn, .. } = self;
        let mut context = Context { ask, states_of, orbits, views, stubborn };
        vectors.look_at(vector, &mut context);
        vectors.choose(vector, &mut context)
    }

    /// Turns a vector into the one that stands for it.
    pub(super) fn represent(&mut self, vector: &mut [u32]) {
        let Kernel { ask, states_of, orbits, symmetry, .. } = self;
        if let Some(symmetry) = symmetry {
            symmetry.represent(vector, &mut Renaming { images: &mut orbits.images, states_of, ask });
        }
    }
}
