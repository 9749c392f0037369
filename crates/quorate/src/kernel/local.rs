//! The local graph of a process as a search has seen it, and what follows from it: which messages a process may
//! still send, which can still make a difference to it, and which of its steps can be part of a cycle.
//!
//! From: ALGORITHMS 3.4 and 3.6. A reduced search rests on a local graph, and is right if that graph contains all
//! local steps of the search itself. So the search is repeated until it sees nothing new.
//! Invariant: graphs only grow, so the repetition ends.
//! Held by: testkit/tests/reductions.rs.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::Kernel;
use super::mail::{Mail, MessageId, NOTHING, SendsId};
use super::process::LocalId;
use crate::base::{ProcessId, Value};
use crate::model::{Envelope, Model, Sending};
use crate::world::{Channel, StepKind};

/// A step of a process, apart from its inbox.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Edge {
    pub(super) from: LocalId,
    pub(super) to: LocalId,
    pub(super) consumed: Vec<MessageId>,
    pub(super) sent: SendsId,
}

/// What a search has seen of a process.
#[derive(Default)]
pub(super) struct LocalGraph {
    edges: Vec<Edge>,
    places: HashMap<Edge, usize>,
    /// What the edges are called: the place of each, with the kind of a step and its transition.
    names: BTreeSet<(usize, StepKind, usize)>,
    heard: BTreeSet<MessageId>,
}

impl LocalGraph {
    /// Notes a step, and says where it is among the others.
    pub(super) fn note(&mut self, edge: Edge) -> usize {
        if let Some(place) = self.places.get(&edge) {
            return *place;
        }
        self.edges.push(edge.clone());
        self.places.insert(edge, self.edges.len() - 1);
        self.edges.len() - 1
    }

    /// Notes a step, and what it is called: to the reductions, which know edges only, it makes no difference.
    pub(super) fn note_named(&mut self, edge: Edge, kind: StepKind, transition: usize) {
        let place = self.note(edge);
        self.names.insert((place, kind, transition));
    }

    /// Notes messages to the process.
    pub(super) fn hear(&mut self, messages: &[MessageId]) {
        self.heard.extend(messages);
    }

    /// Every message that was sent to the process.
    pub(super) fn heard(&self) -> impl Iterator<Item = MessageId> {
        self.heard.iter().copied()
    }

    pub(super) fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// How much was seen: grows whenever something is new.
    pub(super) fn seen(&self) -> usize {
        self.edges.len() + self.heard.len()
    }

    /// The local states, as far as steps begin or end in them.
    pub(super) fn locals(&self) -> BTreeSet<LocalId> {
        self.edges.iter().flat_map(|edge| [edge.from, edge.to]).chain([super::process::INITIAL]).collect()
    }

    /// For each local state, what a step itself says of it, added up over all states that can be reached from it.
    fn onwards(
        &self,
        mut of: HashMap<LocalId, BTreeSet<MessageId>>,
    ) -> HashMap<LocalId, BTreeSet<MessageId>> {
        // The last edges were found last and are furthest along: going backwards, few turns are needed.
        let mut grown = true;
        while std::mem::take(&mut grown) {
            for edge in self.edges.iter().rev().filter(|edge| edge.from != edge.to) {
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
    pub(super) fn futures(&self, mail: &Mail) -> HashMap<LocalId, BTreeSet<MessageId>> {
        let mut of: HashMap<LocalId, BTreeSet<MessageId>> = HashMap::new();
        for edge in &self.edges {
            of.entry(edge.from).or_default().extend(mail.messages_of(edge.sent));
            of.entry(edge.to).or_default();
        }
        self.onwards(of)
    }

    /// For each local state, the messages that can still make a difference, from those that make one at once.
    pub(super) fn live(&self, effective: HashMap<LocalId, BTreeSet<MessageId>>) -> Live {
        Live(self.onwards(effective))
    }
}

/// For each local state, the messages that can still make a difference. None can in a state that was never seen:
/// once it is, the search is repeated.
pub(super) struct Live(HashMap<LocalId, BTreeSet<MessageId>>);

impl Live {
    pub(super) fn contains(&self, local: LocalId, message: MessageId) -> bool {
        self.0.get(&local).is_some_and(|live| live.contains(&message))
    }
}

/// The steps of all processes that can be part of a cycle of global states: each is on a cycle of its process's
/// graph, and consumes only what others of these send.
pub(super) fn cyclic<'g>(
    graphs: impl Iterator<Item = (ProcessId, &'g LocalGraph)>,
    mail: &Mail,
    model: &Model,
) -> HashSet<(ProcessId, Edge)> {
    let mut left: Vec<(ProcessId, Vec<Edge>)> =
        graphs.map(|(process, graph)| (process, graph.edges().to_vec())).collect();
    let mut count = usize::MAX;
    while count != left.iter().map(|(_, edges)| edges.len()).sum::<usize>() {
        count = left.iter().map(|(_, edges)| edges.len()).sum();
        let all = || left.iter().flat_map(|(_, edges)| edges);
        let sent: HashSet<MessageId> = all().flat_map(|edge| mail.messages_of(edge.sent)).copied().collect();
        // What is consumed and not gone, or there at any time, can be consumed again.
        let returns = |message: &MessageId| {
            sent.contains(message)
                || model.world().channel == Channel::Duplicating
                || model.forgeable(mail.receiver(*message)).contains(mail.envelope(*message))
        };
        left = left
            .iter()
            .map(|(process, edges)| {
                let repeated = edges.iter().filter(|edge| edge.consumed.iter().all(returns)).cloned();
                (*process, on_cycles(&repeated.collect::<Vec<Edge>>()))
            })
            .collect();
    }
    left.into_iter().flat_map(|(process, edges)| edges.into_iter().map(move |edge| (process, edge))).collect()
}

/// The edges whose end leads back to their beginning.
fn on_cycles(edges: &[Edge]) -> Vec<Edge> {
    let mut after: HashMap<LocalId, Vec<LocalId>> = HashMap::new();
    for edge in edges {
        after.entry(edge.from).or_default().push(edge.to);
    }
    let leads_back = |edge: &&Edge| {
        let (mut seen, mut waiting) = (HashSet::from([edge.to]), vec![edge.to]);
        while let Some(at) = waiting.pop() {
            if at == edge.from {
                return true;
            }
            waiting.extend(after.get(&at).into_iter().flatten().filter(|next| seen.insert(**next)));
        }
        false
    };
    edges.iter().filter(leads_back).cloned().collect()
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

impl Kernel<'_> {
    /// The steps of a process that were seen, apart from those that panic.
    pub(crate) fn steps_seen(&self, process: ProcessId) -> impl Iterator<Item = StepSeen> {
        let graph = &self.components[process.index()].graph;
        graph.observed.names.iter().map(move |(place, kind, transition)| {
            let Edge { from, to, consumed, sent } = &graph.observed.edges[*place];
            let sending = |message: &MessageId| Sending {
                to: self.mail.receiver(*message),
                body: self.mail.envelope(*message).body.clone(),
            };
            StepSeen {
                from: graph.local_value(*from).clone(),
                to: graph.local_value(*to).clone(),
                kind: *kind,
                transition: *transition,
                consumed: consumed.iter().map(|message| self.mail.envelope(*message).clone()).collect(),
                sent: self.mail.messages_of(*sent).iter().map(sending).collect(),
            }
        })
    }
}

/// Does a step tell a monitor something?
pub(super) fn emits(sent: SendsId, mail: &Mail, model: &Model) -> bool {
    sent != NOTHING
        && mail.messages_of(sent).iter().any(|message| model.monitor(mail.receiver(*message)).is_some())
}
