//! Learning what a search found unknown: the only way from a search to the user's code.

use super::groups::LearnContext;
use super::prepare::Kernel;
use super::process::NOTHING;
use super::state::{State, Unknown};
use crate::base::{ProcessId, ProcessSet};

impl Kernel<'_> {
    /// Works out what was unknown.
    pub(crate) fn learn(&mut self, unknown: Unknown) {
        let mut context = LearnContext {
            ask: &mut self.ask,
            states_of: &mut self.states_of,
            views: &mut self.views,
            orbits: &mut self.orbits,
            sleep_sets: &mut self.sleep_sets,
        };
        match unknown {
            Unknown::Steps(side, of) => self.tree.learn_steps(side, of, &mut context),
            Unknown::Arrival(side, at, sends) => self.tree.learn_arrival(side, at, sends, &mut context),
            Unknown::Judgement(state) => {
                let vector = self.tree.configurations(state.left, state.right);
                let views = (self.tree.left().view(state.left), self.tree.right().view(state.right));
                self.views.learn(self.model, &vector, views, &self.orbits);
            }
        }
    }

    /// What is left of some processes, whose states are beliefs, if they never step again; `None` if they must.
    pub(super) fn stilled(&mut self, vector: &[u32], members: ProcessSet) -> Option<Vec<u32>> {
        let mut stilled = vector.to_vec();
        for at in (0..self.model.processes().len()).filter(|at| members.contains(ProcessId::new(*at))) {
            stilled[at] = self.states_of[at].quiescent(vector[at], &mut self.ask)?;
        }
        Some(stilled)
    }

    /// The states of the processes in a global state.
    pub(crate) fn vector(&self, state: State) -> Vec<u32> {
        self.tree.configurations(state.left, state.right)
    }

    /// The vector after a step of a process; `None` if there is no room for what it sends.
    pub(super) fn vector_after(
        &mut self,
        from: &[u32],
        process: usize,
        next: u32,
        sends: u32,
    ) -> Option<Vec<u32>> {
        let mut to = from.to_vec();
        to[process] = next;
        for (at, state) in to.iter_mut().enumerate() {
            let (arriving, _) = self.ask.mail.split_own(sends, ProcessId::new(at));
            if arriving != NOTHING {
                *state = self.states_of[at].arrive(*state, arriving, &mut self.ask)?;
            }
        }
        Some(to)
    }
}
