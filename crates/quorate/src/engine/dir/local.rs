//! The local explorer: everything that a component can do while others see a certain local skeleton of it.
//!
//! From: DEMETER, section 3.2, partial-replay local systems; ALGORITHMS 6.1. A node is a local skeleton, with every
//! place that the component's run can be at; what it can do next depends on the messages on offer there, and the
//! answer is remembered for each set of them. Steps that deviate are all steps: whether they send or receive
//! something else (gap 1 of ALGORITHMS 6.1). What is on offer but not received is no part of a skeleton (gap 3).
//! Differs: places with the same future are one, with the number of traces that lead there.
//! Known: where one way of a component can end and another goes on, the first must be noticed by itself, though nobody
//! sees anything of it. A *rest* is such a way: a node of its own, with one place.
//! Invariant: a node's places are all that the traces with its skeleton lead to.
//! Held by: testkit/tests/dir.rs.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::Halt;
use super::checker::{Embedded, MessageId, Move};
use super::meter::Meter;
use super::trace::LocalStep;
use crate::protocol::ProcessId;

pub(super) type LabelId = u32;
pub(super) type NodeId = usize;

/// What others see of a step.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Label {
    pub(super) member: usize,
    pub(super) clock: Vec<usize>,
    pub(super) received: Vec<MessageId>,
    pub(super) sent: Vec<MessageId>,
}

/// What a local skeleton is: the rest it follows, if any, and the interface events of each process since.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    component: usize,
    rest: Option<(NodeId, usize)>,
    labels: Vec<Vec<LabelId>>,
}

/// How a place was reached first.
#[derive(Clone)]
enum Cause {
    Start,
    Rest(NodeId, usize),
    /// From a place of the same node.
    Inside(usize, ProcessId, LocalStep),
    /// From a place of an earlier node.
    Across(NodeId, usize, ProcessId, LocalStep),
}

/// A place in the run of a component.
pub(super) struct Place<P> {
    pub(super) point: P,
    /// How many traces lead there.
    pub(super) traces: u128,
    cause: Cause,
    /// Where steps lead that nobody sees, and how many ways each is.
    inner: Vec<(usize, u128)>,
}

/// A panic: at a place, with these messages on offer.
#[derive(Clone)]
pub(super) struct Panic {
    pub(super) place: usize,
    pub(super) process: ProcessId,
    pub(super) step: LocalStep,
}

/// What a component can do at a node with certain messages on offer.
pub(super) struct Table {
    /// The interface events that can come next.
    pub(super) branches: Vec<LabelId>,
    /// The places at which nothing can happen.
    pub(super) quiescent: Vec<usize>,
    pub(super) panics: Vec<Panic>,
    /// The places at which the component may rest, though it could do something elsewhere.
    pub(super) rests: Vec<usize>,
}

type Seed<P> = (P, u128, Cause);

struct Node<P> {
    key: Key,
    seeds: Vec<Seed<P>>,
    explored: bool,
    places: Vec<Place<P>>,
    /// Can the component go on for ever without others seeing it?
    endless: bool,
    tables: HashMap<Vec<MessageId>, Arc<Table>>,
}

/// The local explorers of all components.
pub(super) struct Locals<E: Embedded> {
    pub(super) checker: E,
    nodes: Vec<Node<E::Point>>,
    numbers: HashMap<Key, NodeId>,
    labels: Vec<Label>,
    label_numbers: HashMap<Label, LabelId>,
    /// How many places there are.
    pub(super) places: u64,
    /// How many steps were taken from them.
    pub(super) steps: u64,
}

impl<E: Embedded> Locals<E> {
    pub(super) fn new(mut checker: E) -> Self {
        let mut nodes = Vec::new();
        let mut numbers = HashMap::new();
        for component in 0..checker.components().count() {
            let labels = vec![Vec::new(); checker.components().members(component).len()];
            let key = Key { component, rest: None, labels };
            numbers.insert(key.clone(), nodes.len());
            nodes.push(Node::new(key, vec![(checker.reset(component), 1, Cause::Start)]));
        }
        Locals {
            checker,
            nodes,
            numbers,
            labels: Vec::new(),
            label_numbers: HashMap::new(),
            places: 0,
            steps: 0,
        }
    }

    /// The node of a component that has done nothing yet.
    pub(super) fn root(component: usize) -> NodeId {
        component
    }

    pub(super) fn label(&self, label: LabelId) -> &Label {
        &self.labels[label as usize]
    }

    fn number_label(&mut self, label: Label) -> LabelId {
        let fresh = LabelId::try_from(self.labels.len()).expect("fewer labels than memory");
        let Locals { labels, label_numbers, .. } = self;
        *label_numbers.entry(label).or_insert_with_key(|label| {
            labels.push(label.clone());
            fresh
        })
    }

    pub(super) fn component(&self, node: NodeId) -> usize {
        self.nodes[node].key.component
    }

    /// The places of a node.
    pub(super) fn places(&mut self, node: NodeId, meter: &mut Meter<'_>) -> Result<&[Place<E::Point>], Halt> {
        self.explore(node, meter)?;
        Ok(&self.nodes[node].places)
    }

    /// Can a component go on for ever at this node?
    pub(super) fn endless(&self, node: NodeId) -> bool {
        self.nodes[node].endless
    }

    /// The node after one more interface event.
    pub(super) fn child(
        &mut self,
        node: NodeId,
        label: LabelId,
        meter: &mut Meter<'_>,
    ) -> Result<NodeId, Halt> {
        let mut key = self.nodes[node].key.clone();
        let Label { member, received, .. } = self.label(label);
        let (member, received) = (*member, received.clone());
        key.labels[member].push(label);
        if !self.numbers.contains_key(&key) {
            // The event is possible with what it receives on offer, so its node is found when that is asked for.
            self.table(node, &received, meter)?;
        }
        Ok(self.numbers[&key])
    }

    /// The node of a component that rests at a place of a node.
    pub(super) fn rest(&mut self, node: NodeId, place: usize) -> NodeId {
        let Key { component, labels, .. } = &self.nodes[node].key;
        let key =
            Key { component: *component, rest: Some((node, place)), labels: vec![Vec::new(); labels.len()] };
        if let Some(known) = self.numbers.get(&key) {
            return *known;
        }
        let Place { point, traces, .. } = &self.nodes[node].places[place];
        let seed = (point.clone(), *traces, Cause::Rest(node, place));
        self.insert(key, vec![seed])
    }

    fn insert(&mut self, key: Key, seeds: Vec<Seed<E::Point>>) -> NodeId {
        let fresh = self.nodes.len();
        self.numbers.insert(key.clone(), fresh);
        self.nodes.push(Node::new(key, seeds));
        fresh
    }

    /// Finds every place of a node: what was known when its skeleton was first seen, and what nobody sees after that.
    fn explore(&mut self, node: NodeId, meter: &mut Meter<'_>) -> Result<(), Halt> {
        if self.nodes[node].explored {
            return Ok(());
        }
        let component = self.component(node);
        let mut numbers: HashMap<E::Point, usize> = HashMap::new();
        let mut places: Vec<Place<E::Point>> = Vec::new();
        let mut layer: BTreeMap<usize, u128> = BTreeMap::new();
        for (point, traces, cause) in self.nodes[node].seeds.clone() {
            let at = *numbers.entry(point).or_insert_with_key(|point| {
                places.push(Place { point: point.clone(), traces: 0, cause, inner: Vec::new() });
                places.len() - 1
            });
            let so_far = layer.entry(at).or_default();
            *so_far = so_far.saturating_add(traces);
        }
        let mut expanded = 0;
        while expanded < places.len() {
            let point = places[expanded].point.clone();
            for Move { member, leads, ways, step, .. } in
                self.checker.moves(component, &point, &[]).into_iter().filter(|step| !step.is_interface())
            {
                self.steps += 1;
                let Some(next) = leads else { continue };
                let process = self.checker.components().members(component)[member];
                let at = *numbers.entry(next).or_insert_with_key(|next| {
                    let cause = Cause::Inside(expanded, process, step);
                    places.push(Place { point: next.clone(), traces: 0, cause, inner: Vec::new() });
                    places.len() - 1
                });
                places[expanded].inner.push((at, ways));
            }
            expanded += 1;
            self.places += 1;
            meter.tick(self.places, self.steps)?;
        }
        if self.checker.tells_past(component) {
            for place in &mut places {
                place.traces = 1;
            }
        } else {
            self.nodes[node].endless = !count_traces(&mut places, layer);
        }
        let explored = &mut self.nodes[node];
        (explored.places, explored.explored, explored.seeds) = (places, true, Vec::new());
        if let Some(stopped) = self.checker.unreliable() {
            return Err(Halt::Stopped(stopped));
        }
        Ok(())
    }

    /// What a component can do at a node with these messages on offer, in ascending order.
    pub(super) fn table(
        &mut self,
        node: NodeId,
        offers: &[MessageId],
        meter: &mut Meter<'_>,
    ) -> Result<Arc<Table>, Halt> {
        if let Some(known) = self.nodes[node].tables.get(offers) {
            return Ok(Arc::clone(known));
        }
        self.explore(node, meter)?;
        let component = self.component(node);
        let mut seeds: BTreeMap<LabelId, Vec<Seed<E::Point>>> = BTreeMap::new();
        let mut table =
            Table { branches: Vec::new(), quiescent: Vec::new(), panics: Vec::new(), rests: Vec::new() };
        // For each place, what each of its steps needs to receive; and what those need that others see.
        let mut needs: Vec<Vec<Vec<MessageId>>> = Vec::new();
        let mut seen: Vec<Vec<MessageId>> = Vec::new();
        for at in 0..self.nodes[node].places.len() {
            let Place { point, traces, .. } = &self.nodes[node].places[at];
            let (point, traces) = (point.clone(), *traces);
            let moves = self.checker.moves(component, &point, offers);
            if moves.is_empty() {
                table.quiescent.push(at);
            }
            needs.push(moves.iter().map(|step| step.received.clone()).collect());
            seen.extend(moves.iter().filter(|step| step.is_interface()).map(|step| step.received.clone()));
            for step in moves {
                self.steps += 1;
                let interface = step.is_interface();
                let Move { member, clock, received, sent, ways, leads, step } = step;
                let process = self.checker.components().members(component)[member];
                match leads {
                    None => table.panics.push(Panic { place: at, process, step }),
                    Some(next) if interface => {
                        let label = self.number_label(Label { member, clock, received, sent });
                        let cause = Cause::Across(node, at, process, step);
                        seeds.entry(label).or_default().push((next, traces.saturating_mul(ways), cause));
                    }
                    Some(_) => {}
                }
            }
            meter.tick(self.places, self.steps)?;
        }
        table.rests = rests(&needs, &seen, &self.nodes[node].places);
        for (label, seeds) in seeds {
            let mut key = self.nodes[node].key.clone();
            key.labels[self.labels[label as usize].member].push(label);
            if !self.numbers.contains_key(&key) {
                self.insert(key, seeds);
            }
            table.branches.push(label);
        }
        let table = Arc::new(table);
        self.nodes[node].tables.insert(offers.to_vec(), Arc::clone(&table));
        Ok(table)
    }

    /// The steps that lead to a place, each with its process, from the start.
    pub(super) fn way_to(&self, mut node: NodeId, mut place: usize) -> Vec<(ProcessId, LocalStep)> {
        let mut way = Vec::new();
        loop {
            match &self.nodes[node].places[place].cause {
                Cause::Start => break,
                Cause::Rest(before, at) => (node, place) = (*before, *at),
                Cause::Inside(at, process, step) => {
                    way.push((*process, step.clone()));
                    place = *at;
                }
                Cause::Across(before, at, process, step) => {
                    way.push((*process, step.clone()));
                    (node, place) = (*before, *at);
                }
            }
        }
        way.reverse();
        way
    }
}

/// Counts the traces that lead to each place, given those that others see something of at their end. They are counted
/// by their length, so that each place passes all that lead to it on to the next. `false` if they never end.
fn count_traces<P>(places: &mut [Place<P>], mut layer: BTreeMap<usize, u128>) -> bool {
    // A way that is longer than this comes to a place twice.
    for _ in 0..=places.len() {
        if layer.is_empty() {
            return true;
        }
        let mut next: BTreeMap<usize, u128> = BTreeMap::new();
        for (at, traces) in layer {
            places[at].traces = places[at].traces.saturating_add(traces);
            for &(to, ways) in &places[at].inner {
                let so_far = next.entry(to).or_default();
                *so_far = so_far.saturating_add(traces.saturating_mul(ways));
            }
        }
        layer = next;
    }
    false
}

/// The places where a component may stay although, with something on offer, others could see it do something from
/// another place: those from which no step needs as little.
fn rests<P>(needs: &[Vec<Vec<MessageId>>], seen: &[Vec<MessageId>], places: &[Place<P>]) -> Vec<usize> {
    let enough =
        |offers: &[MessageId], needed: &[MessageId]| needed.iter().all(|message| offers.contains(message));
    let stays = |at: usize, offers: &[MessageId]| !needs[at].iter().any(|needed| enough(offers, needed));
    let rests = |at: &usize| places[*at].inner.is_empty() && seen.iter().any(|offers| stays(*at, offers));
    (0..places.len()).filter(|at| places.len() > 1 && rests(at)).collect()
}

impl<P> Node<P> {
    fn new(key: Key, seeds: Vec<Seed<P>>) -> Self {
        Node { key, seeds, explored: false, places: Vec::new(), endless: false, tables: HashMap::new() }
    }
}
