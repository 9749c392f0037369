//! Tables: what a component can do at a local skeleton, remembered for each set of messages that it can receive.
//!
//! From: DEMETER, section 3.2, partial-replay local systems; docs/theory/components.md 2. A node is a local skeleton.
//! Where the component can be there, and what it can do next, depends on the messages on offer: those that others
//! have sent and the component has not received. Every step that others see leads to another node, whether it differs
//! from a known one in what it sends or in what was received before (docs/theory/components.md 2, first difference).
//! What is on offer but not received is no part of a skeleton (gap 3).
//! Known: at one node the component may be able to end in one run and to go on in another. Others see no difference, so
//! the first run would be lost when the second goes on. A *pause* keeps it: the component stays at a point, and what
//! happens after that has a node of its own, with this point as its only beginning.
//! Invariant: the points of a table are all those to which traces with its skeleton lead, if they receive no more than
//! what is on offer.
//! Held by: testkit/tests/dir.rs.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::base::{Mutants, Numbering, discard};
use crate::engine::Search;
use crate::engine::components::embedded::{ComponentChecker, LocalPointId, MessageId};
use crate::engine::components::events::{Label, LabelId, NodeId};
use crate::engine::components::meter::{Halt, Meter, Panic};

/// About how many bytes a table takes besides its lists.
const TABLE_BYTES: u64 = 256;

/// A local skeleton: the pause it follows, if any, and the interface events of each process since.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) component: usize,
    pub(super) pause: Option<(NodeId, usize)>,
    pub(super) labels: Vec<Vec<LabelId>>,
}

/// How a point was reached first.
#[derive(Clone)]
pub(super) enum Cause<S> {
    Start,
    Pause(NodeId, usize),
    /// From a point of the same node.
    Inside(usize, S),
    /// From a point of an earlier node.
    Across(NodeId, usize, S),
    /// From the beginning, by operations of agents.
    Run(Vec<(usize, S)>),
}

/// A point in the run of a component, at a node.
pub(crate) struct NodePoint<S> {
    /// Its number in the checker, where points can be compared.
    pub(super) local_point: LocalPointId,
    /// What properties see of each member there.
    pub(crate) observed: Vec<usize>,
    /// What was received since others last saw something.
    pub(crate) taken: Vec<MessageId>,
    /// How many traces lead there, for each choice of the messages that were received.
    pub(crate) traces: u128,
    pub(super) cause: Cause<S>,
}

/// What a component can do at a node with certain messages on offer. Points are those of the node.
#[derive(Default)]
pub(crate) struct Table {
    /// The points where it can be.
    pub(crate) points: Vec<usize>,
    /// The interface events that can come next.
    pub(crate) branches: Vec<LabelId>,
    /// The points at which nothing can happen.
    pub(crate) quiescent: Vec<usize>,
    /// Where runs are enumerated: the points at which nothing can happen that others do not see, each with what they
    /// could see next.
    pub(crate) last: Vec<(usize, Vec<LabelId>)>,
    pub(crate) panics: Vec<Panic>,
    /// The points at which the component may pause: from another point of the node it could go on.
    pub(crate) pauses: Vec<usize>,
    /// Can the component go on for ever without being seen?
    pub(crate) endless: bool,
}

/// A table that is asked for: what a component can do at a node with these messages on offer.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Wanted {
    pub(crate) node: NodeId,
    pub(crate) offers: Vec<MessageId>,
}

/// A point at which a node begins: its number in the checker, how many traces lead there, and how it was reached.
pub(super) type Seed<S> = (LocalPointId, u128, Cause<S>);

pub(super) struct Node<S> {
    pub(super) key: Key,
    pub(super) seeds: Vec<Seed<S>>,
    pub(super) points: Vec<NodePoint<S>>,
    /// The points, by their number in the checker and what was taken, where points can be compared.
    pub(super) numbers: HashMap<(LocalPointId, Vec<MessageId>), usize>,
    /// The points, by the operations of each agent, where runs are enumerated.
    pub(super) runs: HashMap<Vec<(usize, S)>, usize>,
    tables: HashMap<Vec<MessageId>, Arc<Table>>,
    /// The messages on offer in the first of these tables in which nothing panics.
    sound: Option<Vec<MessageId>>,
    /// The nodes after one more interface event, as far as they were asked for.
    children: HashMap<LabelId, NodeId>,
}

impl<S> Node<S> {
    fn new(key: Key, seeds: Vec<Seed<S>>) -> Self {
        let (numbers, runs, tables, children) =
            (HashMap::new(), HashMap::new(), HashMap::new(), HashMap::new());
        Node { key, seeds, points: Vec::new(), numbers, runs, tables, sound: None, children }
    }
}

/// Ways to explore a component.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Points with the same future are one.
    Merged,
    /// Runs are enumerated, by any thread.
    Enumerated,
    /// The component is a system, whose parts are composed. To others it looks as if its runs were enumerated.
    Composed,
}

/// Explores one component. Nodes and points are those of [`Locals`].
pub(crate) trait ExploreComponent<E: ComponentChecker> {
    /// How it does so.
    fn kind(&self) -> Kind;

    /// Finds what the component can do at a node with these messages on offer.
    fn explore(
        &mut self,
        locals: &mut Locals<'_, E>,
        wanted: &Wanted,
        meter: &mut Meter<'_>,
    ) -> Result<Table, Halt>;

    /// The runs that a point stands for, each with a point of its own.
    fn apart(
        &mut self,
        _locals: &mut Locals<'_, E>,
        (_, point): (NodeId, usize),
        _meter: &mut Meter<'_>,
    ) -> Result<Vec<usize>, Halt> {
        Ok(vec![point])
    }

    /// A hash of whatever distinguishes the run that leads to a point from others with the same steps.
    fn distinction(&self, _node: NodeId, _point: usize) -> Option<u128> {
        None
    }

    /// If the component is a system: the maximal traces of its parts that a point at the end of a run stands for, as
    /// hashes, each with how many traces it counts.
    fn ends_of_parts(&mut self, _node: NodeId, _point: usize) -> Option<Vec<(u128, u128)>> {
        None
    }
}

/// An explorer for each component.
pub(crate) type Explorers<'e, E> = Vec<Box<dyn ExploreComponent<E> + 'e>>;

/// The nodes and tables of all components.
pub(crate) struct Locals<'e, E: ComponentChecker> {
    pub(crate) checker: E,
    pub(super) in_order: bool,
    pub(super) mutants: Mutants,
    /// How many tables are made at a time.
    pub(super) threads: usize,
    /// Checkers that make them.
    pub(super) forks: Vec<E>,
    kinds: Vec<Kind>,
    /// The explorer of each component, unless it is at work.
    explorers: Vec<Option<Box<dyn ExploreComponent<E> + 'e>>>,
    pub(super) nodes: Vec<Node<E::Step>>,
    numbers: HashMap<Key, NodeId>,
    labels: Numbering<Label>,
    /// The steps that panic, each with a message; no step if agents wait for each other.
    pub(crate) panics: Vec<(Option<E::Step>, String)>,
    /// Hashes of points (`identify.rs`).
    pub(super) hashes: HashMap<(NodeId, usize), u128>,
    /// Hashes of runs (`identify.rs`).
    pub(super) ends: HashMap<(NodeId, usize), u128>,
}

impl<'e, E: ComponentChecker> Locals<'e, E> {
    /// The checker. Everything else is given back, without waiting for it.
    pub(crate) fn into_checker(self) -> E {
        let Locals { checker, nodes, numbers, labels, panics, hashes, ends, .. } = self;
        discard((nodes, numbers, labels, panics, hashes, ends));
        checker
    }

    pub(crate) fn new(mut checker: E, explorers: Explorers<'e, E>, in_order: bool, search: &Search) -> Self {
        let mut nodes = Vec::new();
        let mut numbers = HashMap::new();
        for component in 0..checker.components().count() {
            let labels = vec![Vec::new(); checker.components().members(component).len()];
            let key = Key { component, pause: None, labels };
            numbers.insert(key.clone(), nodes.len());
            let start = checker.local_points(component).map(|points| points.start(component));
            nodes.push(Node::new(key, start.map(|start| (start, 1, Cause::Start)).into_iter().collect()));
        }
        Locals {
            checker,
            in_order,
            mutants: search.tuning.mutants,
            threads: search.threads,
            forks: Vec::new(),
            kinds: explorers.iter().map(|explorer| explorer.kind()).collect(),
            explorers: explorers.into_iter().map(Some).collect(),
            nodes,
            numbers,
            labels: Numbering::default(),
            panics: Vec::new(),
            hashes: HashMap::new(),
            ends: HashMap::new(),
        }
    }

    /// The node of a component that has done nothing yet.
    pub(crate) fn root(component: usize) -> NodeId {
        component
    }

    pub(crate) fn label(&self, label: LabelId) -> &Label {
        self.labels.value(label)
    }

    pub(crate) fn number_label(&mut self, label: Label) -> LabelId {
        self.labels.number(label)
    }

    /// All labels, in the order of their numbers.
    pub(crate) fn labels(&self) -> &[Label] {
        self.labels.values()
    }

    pub(crate) fn component(&self, node: NodeId) -> usize {
        self.nodes[node].key.component
    }

    pub(crate) fn point(&self, node: NodeId, point: usize) -> &NodePoint<E::Step> {
        &self.nodes[node].points[point]
    }

    pub(crate) fn kind(&self, component: usize) -> Kind {
        self.kinds[component]
    }

    /// Are the runs of a component enumerated, so that others see what it receives?
    pub(crate) fn is_enumerated(&self, component: usize) -> bool {
        self.kinds[component] != Kind::Merged
    }

    /// Lets the explorer of a component work on the tables.
    fn with_explorer<T>(
        &mut self,
        component: usize,
        work: impl FnOnce(&mut Self, &mut dyn ExploreComponent<E>) -> T,
    ) -> T {
        let explorer = self.explorers[component].take();
        let mut explorer = explorer.expect("a bug in quorate: the exploration of a component needs itself");
        let done = work(self, explorer.as_mut());
        self.explorers[component] = Some(explorer);
        done
    }

    pub(super) fn explorer(&mut self, component: usize) -> &mut (dyn ExploreComponent<E> + 'e) {
        let explorer = self.explorers[component].as_mut();
        explorer.expect("a bug in quorate: the exploration of a component needs itself").as_mut()
    }

    /// Puts messages into the one order in which sets of messages are compared: ascending, or, where channels keep
    /// their order, by sender and receiver.
    pub(crate) fn normalise(&self, messages: &mut [MessageId]) {
        if self.in_order {
            messages.sort_by_key(|message| self.checker.ends_of(*message));
        } else {
            messages.sort_unstable();
        }
    }

    /// Messages, and those received after them.
    pub(crate) fn joined(&self, first: &[MessageId], then: &[MessageId]) -> Vec<MessageId> {
        let mut joined = [first, then].concat();
        self.normalise(&mut joined);
        joined
    }

    /// What can be received next, each content once, if these messages are on offer and some of them are taken.
    pub(super) fn deliverable(&self, offers: &[MessageId], taken: &[MessageId]) -> Vec<MessageId> {
        let mut taken = taken.to_vec();
        let mut left: Vec<MessageId> = Vec::new();
        let mut ends = HashSet::new();
        for &message in offers {
            if let Some(at) = taken.iter().position(|other| *other == message) {
                taken.swap_remove(at);
            } else if !left.contains(&message)
                && (!self.in_order || ends.insert(self.checker.ends_of(message)))
            {
                left.push(message);
            }
        }
        left
    }

    /// The node after one more interface event; or the table that has to be made first, to show it.
    pub(crate) fn child(&mut self, node: NodeId, label: LabelId) -> Result<NodeId, Wanted> {
        if let Some(known) = self.nodes[node].children.get(&label) {
            return Ok(*known);
        }
        let mut key = self.nodes[node].key.clone();
        let Label { member, received, .. } = self.label(label);
        key.labels[*member].push(label);
        let Some(child) = self.numbers.get(&key).copied() else {
            // The event can happen if what it receives is on offer, and then its node is in the table.
            return Err(Wanted { node, offers: received.clone() });
        };
        self.nodes[node].children.insert(label, child);
        Ok(child)
    }

    /// The messages on offer in the first table of a node in which nothing panics.
    pub(crate) fn sound_table(&self, node: NodeId) -> Option<Vec<MessageId>> {
        self.nodes[node].sound.clone()
    }

    /// Is a table known?
    pub(crate) fn knows(&self, wanted: &Wanted) -> bool {
        self.nodes[wanted.node].tables.contains_key(&wanted.offers)
    }

    /// The node of a component that pauses at a point of a node.
    pub(crate) fn pause(&mut self, node: NodeId, point: usize) -> NodeId {
        let Key { component, labels, .. } = &self.nodes[node].key;
        let key =
            Key { component: *component, pause: Some((node, point)), labels: vec![Vec::new(); labels.len()] };
        if let Some(known) = self.numbers.get(&key) {
            return *known;
        }
        let NodePoint { local_point, traces, .. } = &self.nodes[node].points[point];
        let seed = (*local_point, *traces, Cause::Pause(node, point));
        self.insert(key, vec![seed])
    }

    /// The key of the node after one more interface event.
    pub(super) fn key_after(&self, node: NodeId, member: usize, label: LabelId) -> Key {
        let mut key = self.nodes[node].key.clone();
        key.labels[member].push(label);
        key
    }

    pub(super) fn is_node(&self, key: &Key) -> bool {
        self.numbers.contains_key(key)
    }

    pub(super) fn insert(&mut self, key: Key, seeds: Vec<Seed<E::Step>>) -> NodeId {
        let fresh = self.nodes.len();
        self.numbers.insert(key.clone(), fresh);
        self.nodes.push(Node::new(key, seeds));
        fresh
    }

    /// What a component can do at a node with these messages on offer.
    pub(crate) fn table(
        &mut self,
        node: NodeId,
        offers: &[MessageId],
        meter: &mut Meter<'_>,
    ) -> Result<Arc<Table>, Halt> {
        if let Some(known) = self.nodes[node].tables.get(offers) {
            return Ok(Arc::clone(known));
        }
        let wanted = Wanted { node, offers: offers.to_vec() };
        let table = self.with_explorer(self.component(node), |locals, explorer| {
            explorer.explore(locals, &wanted, meter)
        })?;
        self.remember(wanted, table, meter)
    }

    /// Remembers a table.
    pub(super) fn remember(
        &mut self,
        Wanted { node, offers }: Wanted,
        table: Table,
        meter: &mut Meter<'_>,
    ) -> Result<Arc<Table>, Halt> {
        let table = Arc::new(table);
        let entries = offers.len() + table.points.len() + table.quiescent.len() + table.branches.len();
        meter.other_bytes += 8 * entries as u64 + TABLE_BYTES;
        if table.panics.is_empty() {
            self.nodes[node].sound.get_or_insert_with(|| offers.clone());
        }
        self.nodes[node].tables.insert(offers, Arc::clone(&table));
        match self.checker.unreliable() {
            Some(stopped) => Err(Halt::Stopped(stopped)),
            None => Ok(table),
        }
    }

    /// The runs of a component that a point stands for, each with a point of its own.
    pub(crate) fn apart(
        &mut self,
        node: NodeId,
        point: usize,
        meter: &mut Meter<'_>,
    ) -> Result<Vec<usize>, Halt> {
        self.with_explorer(self.component(node), |locals, explorer| {
            explorer.apart(locals, (node, point), meter)
        })
    }

    /// The pause that a node follows, if any.
    pub(crate) fn pause_before(&self, node: NodeId) -> Option<(NodeId, usize)> {
        self.nodes[node].key.pause
    }

    /// What others see of each member at a node, from the beginning.
    pub(super) fn skeleton(&self, node: NodeId) -> Vec<Vec<LabelId>> {
        let key = &self.nodes[node].key;
        let Some((before, _)) = key.pause else { return key.labels.clone() };
        let before = self.skeleton(before).into_iter().zip(&key.labels);
        before.map(|(before, since)| [before.as_slice(), since].concat()).collect()
    }

    /// The run that leads to a point, where runs are enumerated: who does what.
    pub(crate) fn run(&self, node: NodeId, point: usize) -> &[(usize, E::Step)] {
        match &self.nodes[node].points[point].cause {
            Cause::Run(way) => way,
            _ => &[],
        }
    }

    /// The steps that lead to a point, from the start.
    pub(crate) fn path_to(&self, mut node: NodeId, mut point: usize) -> Vec<E::Step> {
        let mut path = Vec::new();
        loop {
            match &self.nodes[node].points[point].cause {
                Cause::Start => break,
                Cause::Pause(before, at) => (node, point) = (*before, *at),
                Cause::Inside(at, step) => {
                    path.push(step.clone());
                    point = *at;
                }
                Cause::Across(before, at, step) => {
                    path.push(step.clone());
                    (node, point) = (*before, *at);
                }
                Cause::Run(operations) => {
                    path.extend(operations.iter().rev().map(|(_, step)| step.clone()));
                    break;
                }
            }
        }
        path.reverse();
        path
    }
}
