//! Counts of what a search has seen, and its local steps with their values.

#![cfg_attr(not(feature = "testing"), allow(unreachable_pub, reason = "testing.rs exports it"))]

use std::collections::{HashMap, HashSet};

use super::groups::Group;
use super::prepare::Kernel;
use super::process::{Edge, MessageId, StepSeen};
use super::reductions::{ProcessStates, Renaming, Stubborn, Symmetry};
use super::state::State;
use crate::base::{Numbering, ProcessId, Value, heed};
use crate::model::Sending;
use crate::world::StepKind;

/// What the visited states of a search are made of: the local states of its processes, whatever waits for them.
#[derive(Clone, Debug, Default)]
pub struct Census {
    /// The vectors of local states; of beliefs, every one that their members make.
    pub system_states: HashSet<Vec<Value>>,
    /// Those in which nothing can happen any more.
    pub ends: HashSet<Vec<Value>>,
}

/// Numbers for the local states in the states of a group.
#[derive(Default)]
struct SystemStates {
    numbers: HashMap<u32, u32>,
    locals: Numbering<Vec<u32>>,
}

impl SystemStates {
    fn number(&mut self, state: u32, locals: impl FnOnce() -> Vec<u32>) -> u32 {
        *self.numbers.entry(state).or_insert_with(|| self.locals.number(locals()))
    }
}

/// Every vector with one value from each of these sets.
fn choices(sets: &[HashSet<Value>]) -> Vec<Vec<Value>> {
    sets.iter().fold(vec![Vec::new()], |vectors, set| {
        let longer = |vector: &Vec<Value>| -> Vec<Vec<Value>> {
            set.iter().map(|value| [vector.as_slice(), std::slice::from_ref(value)].concat()).collect()
        };
        vectors.iter().flat_map(longer).collect()
    })
}

impl Kernel<'_> {
    /// How many steps of a kind the configurations of the processes have.
    pub(crate) fn steps_of(&self, kind: StepKind) -> u64 {
        self.states_of.iter().map(|states| states.graph.steps_of(kind)).sum()
    }

    /// How many vectors of local states there are among these global states: what is left of a state without
    /// what waits for a process or has happened to it, and without monitors.
    pub(crate) fn system_states(&self, states: impl Iterator<Item = State>) -> u64 {
        let mut seen = HashSet::new();
        let (mut lefts, mut rights) = (SystemStates::default(), SystemStates::default());
        for state in states {
            heed();
            let left = lefts.number(state.left, || self.locals(self.tree.left(), state.left));
            let right = rights.number(state.right, || self.locals(self.tree.right(), state.right));
            seen.insert((left, right));
        }
        seen.len() as u64
    }

    /// How many states the visited ones stand for, with those in which processes are exchanged.
    pub(crate) fn orbits(&mut self, vectors: impl Iterator<Item = Vec<u32>>) -> Option<u64> {
        let Kernel { ask, states_of, orbits, symmetry, .. } = self;
        let mut renaming = Renaming { images: &mut orbits.images, states_of, ask };
        let symmetry = symmetry.as_mut()?;
        Some(vectors.map(|vector| symmetry.orbit_size(vector, &mut renaming)).sum())
    }

    /// What these global states are made of.
    pub(crate) fn seen_in(&mut self, vectors: impl Iterator<Item = Vec<u32>>) -> Census {
        let mut seen = Census::default();
        let processes = self.model.processes().len();
        for vector in vectors {
            heed();
            let ends = !self.views.believes() && self.ends_in(&vector);
            let (mut all, mut still) = (Vec::new(), Vec::new());
            for (states, state) in self.states_of[..processes].iter_mut().zip(vector) {
                all.push(states.local_values(&states.members(state)));
                let members = if self.views.believes() {
                    states.still_members(state, &mut self.ask)
                } else {
                    states.members(state)
                };
                still.push(states.local_values(&members));
            }
            if !self.views.believes() && !ends {
                still.clear();
            }
            seen.system_states.extend(choices(&all));
            if !still.is_empty() {
                seen.ends.extend(choices(&still));
            }
        }
        seen
    }

    /// The local states of the processes of a group.
    fn locals(&self, group: &Group, state: u32) -> Vec<u32> {
        let mut configurations = vec![None; self.states_of.len()];
        group.configurations(state, &mut configurations);
        let processes = self.states_of.iter().zip(configurations).take(self.model.processes().len());
        processes.filter_map(|(process, at)| at.map(|at| process.graph.local(at))).collect()
    }

    /// Distinct local steps and runs of handlers so far.
    pub(crate) fn local_counts(&self) -> (u64, u64) {
        let steps = self.states_of.iter().map(|states| states.graph.local_steps).sum();
        (steps, self.ask.handlers.calls())
    }

    /// How many states of the left and of the right group are known.
    pub(crate) fn sizes(&self) -> (usize, usize) {
        (self.tree.left().size(&self.states_of), self.tree.right().size(&self.states_of))
    }

    /// Bytes in the tables.
    pub(crate) fn bytes(&self) -> u64 {
        let processes: u64 = self.states_of.iter().map(ProcessStates::bytes).sum();
        let symmetry = self.orbits.bytes() + self.certificate.bytes();
        let vectors = self.vectors.bytes() + self.stubborn.as_ref().map_or(0, Stubborn::bytes);
        let symmetry = symmetry + self.symmetry.as_ref().map_or(0, Symmetry::bytes);
        processes + self.ask.mail.bytes() + self.tree.bytes() + vectors + self.views.bytes() + symmetry
    }

    /// The steps of a process that were seen, apart from those that panic.
    pub(crate) fn steps_seen(&self, process: ProcessId) -> impl Iterator<Item = StepSeen> {
        let graph = &self.states_of[process.index()].graph;
        graph.seen.names.iter().map(move |(place, kind, transition)| {
            let Edge { from, to, consumed, sent } = &graph.seen.edges[*place];
            let sending = |message: &MessageId| Sending {
                to: self.ask.mail.receiver(*message),
                body: self.ask.mail.envelope(*message).body.clone(),
            };
            StepSeen {
                from: graph.local_value(*from).clone(),
                to: graph.local_value(*to).clone(),
                kind: *kind,
                transition: *transition,
                consumed: consumed.iter().map(|message| self.ask.mail.envelope(*message).clone()).collect(),
                sent: self.ask.mail.messages_of(*sent).iter().map(sending).collect(),
            }
        })
    }
}
