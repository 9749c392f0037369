//! The local steps of a process as searches have seen them, whatever was left out of its inbox, and what follows for
//! its local states: what may still be sent.
//!
//! From: docs/theory/stubborn.md 5 and docs/theory/inert.md 1. A reduced search relies on these steps, and is right if
//! they contain all local steps of the search itself. So the search is repeated until it sees nothing new.
//! Invariant: they only grow, so the repetition ends.
//! Held by: testkit/tests/reductions.rs.

use std::collections::{BTreeSet, HashMap};

use super::mail::{MessageId, Messages, NOTHING, SendListId};
use super::values::{INITIAL, LocalId};
use crate::base::{Value, heed};
use crate::model::{Envelope, Model, Sending};
use crate::world::StepKind;

/// A step of a process, apart from its inbox.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::kernel) struct Edge {
    pub(in crate::kernel) from: LocalId,
    pub(in crate::kernel) to: LocalId,
    pub(in crate::kernel) consumed: Vec<MessageId>,
    pub(in crate::kernel) sent: SendListId,
}

/// What a search has seen of a process.
#[derive(Default)]
pub(in crate::kernel) struct SeenSteps {
    pub(in crate::kernel) edges: Vec<Edge>,
    pub(in crate::kernel) places: HashMap<Edge, usize>,
    /// What the edges are called: the place of each, with the kind of a step and its transition.
    pub(in crate::kernel) names: BTreeSet<(usize, StepKind, usize)>,
    pub(in crate::kernel) heard: BTreeSet<MessageId>,
    /// For each local state, the others that its steps lead to.
    next: Vec<Vec<LocalId>>,
}

impl SeenSteps {
    /// Notes a step, and says where it is among the others.
    pub(in crate::kernel) fn note(&mut self, edge: Edge) -> usize {
        if let Some(place) = self.places.get(&edge) {
            return *place;
        }
        self.edges.push(edge.clone());
        let at = edge.from as usize;
        if self.next.len() <= at {
            self.next.resize_with(at + 1, Vec::new);
        }
        if edge.from != edge.to && !self.next[at].contains(&edge.to) {
            self.next[at].push(edge.to);
        }
        self.places.insert(edge, self.edges.len() - 1);
        self.edges.len() - 1
    }

    /// Notes a step, and what it is called: to the reductions, which know edges only, it makes no difference.
    pub(super) fn note_named(&mut self, edge: Edge, kind: StepKind, transition: usize) {
        let place = self.note(edge);
        self.names.insert((place, kind, transition));
    }

    /// Notes messages to the process.
    pub(in crate::kernel) fn hear(&mut self, messages: &[MessageId]) {
        self.heard.extend(messages);
    }

    /// Every message that was sent to the process.
    pub(in crate::kernel) fn heard(&self) -> impl Iterator<Item = MessageId> {
        self.heard.iter().copied()
    }

    pub(super) fn heard_count(&self) -> usize {
        self.heard.len()
    }

    pub(in crate::kernel) fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// The other local states that steps of this one lead to.
    pub(super) fn next(&self, local: LocalId) -> &[LocalId] {
        self.next.get(local as usize).map_or(&[], Vec::as_slice)
    }

    /// How much was seen: grows whenever something is new.
    pub(in crate::kernel) fn count(&self) -> usize {
        self.edges.len() + self.heard.len()
    }

    /// The local states, as far as steps begin or end in them.
    pub(in crate::kernel) fn locals(&self) -> BTreeSet<LocalId> {
        self.edges.iter().flat_map(|edge| [edge.from, edge.to]).chain([INITIAL]).collect()
    }

    /// Adds to the messages of each local state those of all states that can be reached from it.
    fn onwards(
        &self,
        mut of: HashMap<LocalId, BTreeSet<MessageId>>,
    ) -> HashMap<LocalId, BTreeSet<MessageId>> {
        // The last edges were found last and are furthest along: going backwards, few turns are needed.
        let mut grown = true;
        while std::mem::take(&mut grown) {
            for edge in self.edges.iter().rev().filter(|edge| edge.from != edge.to) {
                heed();
                let Some(after) = of.get(&edge.to).cloned() else { continue };
                let before = of.entry(edge.from).or_default();
                let size = before.len();
                before.extend(after);
                grown |= before.len() > size;
            }
        }
        of
    }

    /// For each local state, the messages that may still be sent.
    pub(in crate::kernel) fn futures(&self, mail: &Messages) -> HashMap<LocalId, BTreeSet<MessageId>> {
        let mut of: HashMap<LocalId, BTreeSet<MessageId>> = HashMap::new();
        for edge in &self.edges {
            of.entry(edge.from).or_default().extend(mail.messages_of(edge.sent));
            of.entry(edge.to).or_default();
        }
        self.onwards(of)
    }
}

/// A step of a process that a search has seen, with its values.
pub(crate) struct StepSeen {
    pub(crate) from: Value,
    pub(crate) to: Value,
    pub(crate) kind: StepKind,
    /// The transition, if it is one or ends in a crash.
    pub(crate) transition: usize,
    pub(crate) consumed: Vec<Envelope>,
    pub(crate) sent: Vec<Sending>,
}

/// Does a monitor hear of a step that sends this?
pub(in crate::kernel) fn emits(sent: SendListId, mail: &Messages, model: &Model) -> bool {
    sent != NOTHING
        && mail.messages_of(sent).iter().any(|message| model.monitor(mail.receiver(*message)).is_some())
}
