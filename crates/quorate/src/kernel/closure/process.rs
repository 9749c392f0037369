//! The local closure of one process, from the messages that were ever sent to it.
//!
//! It numbers messages by itself, so that the processes of a system can be followed at the same time.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::parts::{Bag, Edge, GaveUp, Level, with};
use super::supply::{Supplies, Supply};
use crate::base::{Numbering, ProcessId, Value, heed};
use crate::kernel::options::Tuning;
use crate::kernel::process::{
    AskContext, INITIAL, LocalId, LocalStep, MessageId, NOTHING, Possibility, ProcessGraph, Start, StepSeen,
};
use crate::model::{Envelope, Model, Sending, Trigger};
use crate::world::StepKind;

/// How many edges are found at least before somebody may look how many there are.
const EDGES_AT_ONCE: usize = 512;

/// A local state, and at higher levels what was consumed on the way to it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Node {
    local: LocalId,
    restarts: u8,
    /// What was consumed on the way, where that is followed exactly.
    consumed: Option<Arc<Bag>>,
}

/// What a local state can do with the messages that were tried on it; none were at first.
#[derive(Default)]
struct Tried {
    messages: Option<usize>,
    possibilities: Vec<Possibility>,
}

/// What is known of a node.
#[derive(Default)]
struct Progress {
    /// How many of the possibilities of its local state were looked at, and which of these had to wait.
    seen: usize,
    waiting: Vec<usize>,
    restarted: bool,
    /// What was consumed on all ways to it.
    least: Bag,
    /// How few steps by themselves lead to it.
    events: u32,
}

/// The closure of one process.
pub(in crate::kernel) struct ProcessClosure<'m> {
    pub(super) graph: ProcessGraph,
    pub(super) ask: AskContext<'m>,
    pub(super) level: Level,
    nodes: Numbering<Node>,
    pub(in crate::kernel) edges: Vec<Edge>,
    known: HashSet<Edge>,
    /// Every message that was ever sent to the process, in the order of discovery.
    pub(super) messages: Vec<MessageId>,
    tried: HashMap<LocalId, Tried>,
    progress: Vec<Progress>,
    /// How many of the edges have had their messages delivered.
    pub(super) delivered: usize,
    /// How many edges there were each time before it was started anew.
    pub(super) followed: u64,
}

/// How far a process is followed.
pub(super) struct Bounds<'b> {
    pub(super) model: &'b Model,
    pub(super) tuning: Tuning,
    pub(super) events_max: Option<u32>,
    pub(super) supply: Supplies,
}

impl<'m> ProcessClosure<'m> {
    pub(super) fn new(id: ProcessId, model: &'m Model) -> Self {
        let mut ask = AskContext::new(model);
        let graph = ProcessGraph::new(id, Start::of(id, model, &mut ask.mail), model);
        let mut closure = ProcessClosure {
            graph,
            ask,
            level: Level::Loose,
            nodes: Numbering::default(),
            edges: Vec::new(),
            known: HashSet::new(),
            messages: Vec::new(),
            tried: HashMap::new(),
            progress: Vec::new(),
            delivered: 0,
            followed: 0,
        };
        closure.prepare(Level::Loose);
        closure
    }

    /// Starts anew. What handlers have answered stays known.
    pub(super) fn prepare(&mut self, level: Level) {
        self.level = level;
        self.nodes = Numbering::default();
        self.followed += self.edges.len() as u64;
        self.edges.clear();
        self.known.clear();
        self.messages = self.graph.start().messages().collect::<BTreeSet<MessageId>>().into_iter().collect();
        self.tried.clear();
        self.progress.clear();
        self.delivered = 0;
        let consumed = (level == Level::Exact).then(Arc::default);
        let restarts = self.graph.start().past.restarts;
        self.node(Node { local: INITIAL, restarts, consumed }, Bag::new(), 0);
    }

    fn node(&mut self, node: Node, least: Bag, events: u32) -> u32 {
        let number = self.nodes.number(node);
        if number as usize == self.progress.len() {
            self.progress.push(Progress { least, events, ..Progress::default() });
        }
        number
    }

    pub(in crate::kernel) fn size(&self) -> usize {
        self.nodes.len()
    }

    /// Is there something that it could do by itself, and was left out?
    pub(super) fn leaves_out(&self, model: &Model) -> bool {
        let transitions = model.process(self.graph.id()).transitions();
        self.progress.iter().enumerate().any(|(node, progress)| {
            let local = self.nodes.value(u32::try_from(node).unwrap_or(u32::MAX)).local;
            let by_itself = |possibility: &usize| {
                let transition = self.tried[&local].possibilities[*possibility].transition;
                *transitions[transition].trigger() == Trigger::Internal
            };
            progress.waiting.iter().any(by_itself)
        })
    }

    pub(in crate::kernel) fn local(&self, node: u32) -> LocalId {
        self.nodes.value(node).local
    }

    pub(in crate::kernel) fn local_value(&self, node: u32) -> &Value {
        self.graph.local_value(self.local(node))
    }

    /// May a node consume this, given how often each message can be there?
    fn may_consume(&self, node: u32, consumed: &[MessageId], supply: &Supplies) -> bool {
        let spent = match (self.level, &self.nodes.value(node).consumed) {
            (Level::Loose, _) => return true,
            (_, Some(consumed)) => &**consumed,
            (_, None) => &self.progress[node as usize].least,
        };
        consumed.iter().all(|message| match supply.of(*message) {
            Supply::Times(times) => spent.get(message).copied().unwrap_or(0) < times,
            Supply::Always => true,
        })
    }

    /// Brings down what was consumed on all ways, where a new way consumes less.
    fn relax(&mut self) {
        let mut changed = self.level == Level::Least;
        while std::mem::take(&mut changed) {
            for edge in &self.edges {
                heed();
                let Some(to) = edge.to.filter(|to| *to != edge.from) else { continue };
                let spent = with(&self.progress[edge.from as usize].least, &edge.consumed);
                let least = &mut self.progress[to as usize].least;
                let before = least.clone();
                least.retain(|message, _| spent.contains_key(message));
                for (message, times) in least.iter_mut() {
                    *times = (*times).min(spent[message]);
                }
                changed |= *least != before;
            }
        }
    }

    /// Brings down how few steps by themselves lead to a node, where a new way needs fewer.
    fn count_events(&mut self) {
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for edge in &self.edges {
                heed();
                let Some(to) = edge.to else { continue };
                let events = self.progress[edge.from as usize].events + u32::from(edge.by_itself);
                let known = &mut self.progress[to as usize].events;
                changed |= events < *known;
                *known = events.min(*known);
            }
        }
    }

    /// Follows possibilities that have not been followed, all of them or as many as it has edges, and some. Says whether
    /// there were any.
    pub(super) fn extend(&mut self, bounds: &Bounds<'m>) -> Result<bool, GaveUp> {
        let (nodes, edges) = (self.size(), self.edges.len());
        let mut node = 0;
        while (node as usize) < self.size() {
            self.follow(node, bounds)?;
            node += 1;
            let nodes_max = bounds.tuning.closure_max;
            if self.size() > nodes_max || self.edges.len() > 16 * nodes_max {
                return Err(GaveUp::Diverged(self.graph.id()));
            }
            if self.edges.len() > 2 * edges + EDGES_AT_ONCE {
                break;
            }
        }
        self.relax();
        if bounds.events_max.is_some() {
            self.count_events();
        }
        Ok((nodes, edges) != (self.size(), self.edges.len()))
    }

    /// Follows the possibilities of a node that have not been followed.
    fn follow(&mut self, node: u32, bounds: &Bounds<'m>) -> Result<(), GaveUp> {
        let (id, place, model) = (self.graph.id(), node as usize, bounds.model);
        if self.graph.start().past.crashed {
            return Ok(());
        }
        let Node { local, restarts, consumed: spent } = self.nodes.value(node).clone();
        let tried = self.tried.entry(local).or_default();
        if tried.messages != Some(self.messages.len()) {
            let found = self.graph.possibilities(local, &self.messages, tried.messages, &mut self.ask);
            tried.possibilities.extend(found.map_err(|_| GaveUp::PanicsTogether(id))?);
            tried.messages = Some(self.messages.len());
        }
        let mut turn = std::mem::take(&mut self.progress[place].waiting);
        turn.extend(self.progress[place].seen..tried.possibilities.len());
        self.progress[place].seen = tried.possibilities.len();
        let mut leads = Vec::new();
        for possibility in turn {
            heed();
            let Possibility { transition, consumed, outcomes } =
                self.tried[&local].possibilities[possibility].clone();
            let by_itself = *model.process(id).transitions()[transition].trigger() == Trigger::Internal;
            let events = self.progress[place].events;
            let cut = by_itself && bounds.events_max.is_some_and(|max| events >= max);
            if cut || !self.may_consume(node, &consumed, &bounds.supply) {
                self.progress[place].waiting.push(possibility);
                continue;
            }
            for outcome in outcomes.iter() {
                let (to, sends) = match outcome {
                    LocalStep::Panicked { .. } => (None, NOTHING),
                    LocalStep::Done { local, sends, .. } => {
                        let consumed = spent.as_ref().map(|spent| Arc::new(with(spent, &consumed)));
                        (Some(Node { local: *local, restarts, consumed }), *sends)
                    }
                };
                leads.push((to, consumed.clone(), sends, by_itself, Some(transition)));
            }
        }
        let restarted = std::mem::replace(&mut self.progress[place].restarted, true);
        if !restarted && restarts < model.fault_limits_of(id).restarts {
            let node = self.graph.restarted(local, &mut self.ask).map(|local| Node {
                local,
                restarts: restarts + 1,
                consumed: spent,
            });
            leads.push((node, Vec::new(), NOTHING, false, None));
        }
        for (to, consumed, sent, by_itself, transition) in leads {
            heed();
            let least = with(&self.progress[place].least, &consumed);
            let events = self.progress[place].events + u32::from(by_itself);
            let to = to.map(|to| self.node(to, least, events));
            let edge = Edge { from: node, to, consumed, sent, by_itself, transition };
            if self.known.insert(edge.clone()) {
                self.edges.push(edge);
            }
        }
        Ok(())
    }

    /// Its steps, apart from those that panic.
    pub(super) fn steps_seen(&self) -> impl Iterator<Item = StepSeen> {
        self.edges.iter().filter_map(|edge| {
            let sending = |message: &MessageId| Sending {
                to: self.ask.mail.receiver(*message),
                body: self.ask.mail.envelope(*message).body.clone(),
            };
            Some(StepSeen {
                from: self.local_value(edge.from).clone(),
                to: self.local_value(edge.to?).clone(),
                kind: if edge.transition.is_some() { StepKind::Transition } else { StepKind::Restart },
                transition: edge.transition.unwrap_or_default(),
                consumed: edge
                    .consumed
                    .iter()
                    .map(|message| self.ask.mail.envelope(*message).clone())
                    .collect(),
                sent: self.ask.mail.messages_of(edge.sent).iter().map(sending).collect(),
            })
        })
    }

    /// What its steps have sent since this was last asked.
    pub(super) fn news(&mut self) -> Vec<(ProcessId, Envelope)> {
        let new = &self.edges[self.delivered..];
        let sent: BTreeSet<MessageId> =
            new.iter().flat_map(|edge| self.ask.mail.messages_of(edge.sent)).copied().collect();
        self.delivered = self.edges.len();
        sent.into_iter()
            .map(|message| (self.ask.mail.receiver(message), self.ask.mail.envelope(message).clone()))
            .collect()
    }

    /// A message that it can consume from now on.
    pub(super) fn hear(&mut self, envelope: Envelope) {
        let message = self.ask.mail.number(self.graph.id(), envelope);
        self.messages.push(message);
    }

    pub(super) fn bytes(&self) -> u64 {
        let nodes = self.nodes.bytes() + (self.progress.capacity() * size_of::<Progress>()) as u64;
        self.graph.bytes()
            + self.ask.mail.bytes()
            + nodes
            + 2 * (self.edges.capacity() * size_of::<Edge>()) as u64
    }
}
