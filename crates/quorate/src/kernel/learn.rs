//! Learning what a search found unknown: the only way from a search to the user's code.

use super::groups::LearnContext;
use super::prepare::Kernel;
use super::process::NOTHING;
use super::reductions::Choice;
use super::state::{State, Unknown};
use crate::base::Mutant;
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
            Unknown::Choice(state) => self.choose(state),
            Unknown::Representatives(state) => {
                let vector = self.vector(state);
                self.representative(&vector);
            }
        }
    }

    /// Works out who steps in a state.
    pub(super) fn choose(&mut self, state: State) {
        let vector = self.vector(state);
        let Some(members) = self.stubborn_members(&vector) else { return };
        let everyone = members == ProcessSet::ALL;
        let wanted = !everyone && !self.mutants.has(Mutant::NoQuiescence);
        let still = wanted.then(|| self.stilled(&vector, members)).flatten();
        let still = still.map(|vector| self.number(&vector));
        if let Some(stubborn) = &mut self.stubborn {
            stubborn.remember(state, Choice { members, still });
        }
    }

    /// Who steps in a vector, if not everybody does.
    pub(super) fn stubborn_members(&mut self, vector: &[u32]) -> Option<ProcessSet> {
        let stubborn = self.stubborn.as_mut()?;
        Some(stubborn.choose(vector, &mut self.orbits, &mut self.states_of, &mut self.ask))
    }

    /// The vector in which these processes, whose states are beliefs, never step again; `None` if they must.
    pub(super) fn stilled(&mut self, vector: &[u32], members: ProcessSet) -> Option<Vec<u32>> {
        let mut stilled = vector.to_vec();
        for at in (0..self.model.processes().len()).filter(|at| members.contains(ProcessId::new(*at))) {
            stilled[at] = self.states_of[at].quiescent(vector[at], &mut self.ask)?;
        }
        Some(stilled)
    }

    /// The states of the processes in a global state.
    pub(super) fn vector(&self, state: State) -> Vec<u32> {
        self.tree.configurations(state.left, state.right)
    }

    /// The number of the global state with these states of the processes.
    pub(super) fn number(&mut self, vector: &[u32]) -> State {
        let (left, right) = self.tree.number_of(vector);
        State { left, right }
    }

    /// The global state that stands for a vector.
    pub(super) fn representative(&mut self, vector: &[u32]) -> State {
        let Some(symmetry) = &mut self.symmetry else { return self.number(vector) };
        symmetry.learn(vector, &mut self.orbits.images, &mut self.states_of, &mut self.ask);
        // Where a state has more images than anybody can wait for, the search ends soon.
        let least = symmetry.least(vector);
        self.number(least.as_deref().unwrap_or(vector))
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
