//! The local explorer: everything that a component can do while others see a certain local skeleton of it.
//!
//! From: DEMETER, section 3.2, partial-replay local systems; docs/theory/components.md 2. A node is a local skeleton; where the
//! component's run can be there, and what it can do next, depends on the messages on offer, and the answer is
//! remembered for each set of them. Steps that deviate are all steps that others see, whether they deviate in what they
//! send or in what was received before (docs/theory/components.md 2, first difference). What is on offer but not received is no part of a
//! skeleton (gap 3).
//! Differs: a process by itself shows only what it sends. The paper's skeletons have receptions as events; but nobody
//! sees those, and what was received since the last send can be told when the next is sent. The order of receptions is
//! then the process's own affair: single-message Paxos (2,3,1) has 312 skeletons for its 167,040 runs. Where there are
//! several agents it would have to be told which of them knows of which reception, so there receptions are events, and
//! runs are enumerated (`enumerate.rs`). `LocalPoints` with the same future are one, with the number of traces that lead there.
//! Known: where one way of a component can end and another goes on, the first must be noticed by itself, though nobody
//! sees anything of it. A *pause* is such a way: a node of its own, with one point.
//! Invariant: the points of a table are all that the traces with its skeleton lead to, if they receive no more than
//! what is on offer.
//! Restriction by: testkit/tests/dir.rs.

mod enumerate;
mod workers;

pub(super) use enumerate::{Explored, FoundPoint, Last, Panicked, Way};

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::Halt;
use super::checker::{ComponentChecker, LocalPointId, MessageId, Move};
use super::journal::{LoggedPoint, hash128};
use super::meter::{Done, Meter};
use super::nested::Nested;
use super::runs::Label;
use crate::engine::Search;
use crate::kernel::Mutant;

pub(super) type LabelId = u32;
pub(super) type NodeId = usize;

/// About what a table takes besides what it lists.
const TABLE_BYTES: u64 = 256;

/// What a local skeleton is: the pause it follows, if any, and the interface events of each process since.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    component: usize,
    pause: Option<(NodeId, usize)>,
    labels: Vec<Vec<LabelId>>,
}

/// How a point was reached first.
#[derive(Clone)]
enum Cause<S> {
    Start,
    Pause(NodeId, usize),
    /// From a point of the same node.
    Inside(usize, S),
    /// From a point of an earlier node.
    Across(NodeId, usize, S),
    /// From the beginning, by operations of agents.
    Run(Vec<(usize, S)>),
}

/// A point in the run of a component.
pub(super) struct NodePoint<S> {
    /// Its number, where points can be told.
    local_point: LocalPointId,
    /// What properties see of each member there.
    pub(super) observed: Vec<usize>,
    /// What was received since others last saw something.
    pub(super) taken: Vec<MessageId>,
    /// How many traces lead there, for each choice of the messages that were received.
    pub(super) traces: u128,
    cause: Cause<S>,
}

/// A panic at a point.
#[derive(Clone)]
pub(super) struct Panic {
    pub(super) point: usize,
    /// Which of all panics.
    pub(super) number: usize,
}

/// What a component can do at a node with certain messages on offer.
#[derive(Default)]
pub(super) struct Table {
    /// The points where it can be.
    pub(super) points: Vec<usize>,
    /// The interface events that can come next.
    pub(super) branches: Vec<LabelId>,
    /// The points at which nothing can happen.
    pub(super) quiescent: Vec<usize>,
    /// Where runs are enumerated: the points at which nothing can happen but what others see, and what that is.
    pub(super) last: Vec<(usize, Vec<LabelId>)>,
    pub(super) panics: Vec<Panic>,
    /// The points at which the component may pause, though it could do something elsewhere.
    pub(super) pauses: Vec<usize>,
    /// Can it go on for ever without others seeing it?
    pub(super) endless: bool,
}

/// A table that is asked for: what a component can do at a node with these messages on offer.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Wanted {
    pub(super) node: NodeId,
    pub(super) offers: Vec<MessageId>,
}

type Seed<S> = (LocalPointId, u128, Cause<S>);

struct Node<S> {
    key: Key,
    seeds: Vec<Seed<S>>,
    points: Vec<NodePoint<S>>,
    numbers: HashMap<(LocalPointId, Vec<MessageId>), usize>,
    /// Where runs are enumerated: their operations, by agent.
    runs: HashMap<Vec<(usize, S)>, usize>,
    tables: HashMap<Vec<MessageId>, Arc<Table>>,
    /// What is on offer in the first of them in which nothing panics.
    sound: Option<Vec<MessageId>>,
    /// The nodes after one more interface event, as far as they were asked for.
    children: HashMap<LabelId, NodeId>,
}

/// The local explorers of all components.
pub(super) struct Locals<E: ComponentChecker> {
    pub(super) checker: E,
    in_order: bool,
    mutant: Option<Mutant>,
    /// How many tables are made at a time.
    threads: usize,
    /// Checkers that make them.
    forks: Vec<E>,
    /// The components that are systems themselves.
    pub(super) nested: HashMap<usize, Box<Nested<E>>>,
    nodes: Vec<Node<E::Step>>,
    numbers: HashMap<Key, NodeId>,
    labels: Vec<Label>,
    label_numbers: HashMap<Label, LabelId>,
    /// The steps that panic, or after which agents wait for each other, with what is known of why.
    pub(super) panics: Vec<(Option<E::Step>, String)>,
    /// The hashes of points that were asked for.
    hashes: HashMap<(NodeId, usize), u128>,
    /// The hashes of traces that were asked for.
    ends: HashMap<(NodeId, usize), u128>,
}

impl<E: ComponentChecker> Locals<E> {
    pub(super) fn new(mut checker: E, in_order: bool, search: &Search) -> Self {
        let mut nodes = Vec::new();
        let mut numbers = HashMap::new();
        for component in 0..checker.components().count() {
            let labels = vec![Vec::new(); checker.components().members(component).len()];
            let key = Key { component, pause: None, labels };
            numbers.insert(key.clone(), nodes.len());
            let start = checker.local_points(component).map(|points| points.start(component));
            nodes.push(Node::new(key, start.map(|start| (start, 1, Cause::Start)).into_iter().collect()));
        }
        let (labels, label_numbers) = (Vec::new(), HashMap::new());
        let system = |component: usize| {
            let members = checker.components().members(component).to_vec();
            let inside = checker.inside(component)?;
            Some((component, Box::new(Nested::new(inside, members, in_order, search))))
        };
        let nested = (0..checker.components().count()).filter_map(system).collect();
        Locals {
            checker,
            in_order,
            mutant: search.tuning.mutant,
            threads: search.threads,
            forks: Vec::new(),
            nested,
            nodes,
            numbers,
            labels,
            label_numbers,
            panics: Vec::new(),
            hashes: HashMap::new(),
            ends: HashMap::new(),
        }
    }

    /// The node of a component that has done nothing yet.
    pub(super) fn root(component: usize) -> NodeId {
        component
    }

    pub(super) fn label(&self, label: LabelId) -> &Label {
        &self.labels[label as usize]
    }

    pub(super) fn number_label(&mut self, label: Label) -> LabelId {
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

    pub(super) fn point(&self, node: NodeId, point: usize) -> &NodePoint<E::Step> {
        &self.nodes[node].points[point]
    }

    /// Puts messages into the one form in which they are kept: sorted, or in their order for each sender and receiver.
    pub(super) fn normalise(&self, messages: &mut [MessageId]) {
        if self.in_order {
            messages.sort_by_key(|message| self.checker.ends_of(*message));
        } else {
            messages.sort_unstable();
        }
    }

    /// Messages and those received after them.
    pub(super) fn joined(&self, first: &[MessageId], then: &[MessageId]) -> Vec<MessageId> {
        let mut joined = [first, then].concat();
        self.normalise(&mut joined);
        joined
    }

    /// What can be received next, each content once, if these messages are on offer and some are taken.
    fn deliverable(&self, offers: &[MessageId], taken: &[MessageId]) -> Vec<MessageId> {
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

    /// The node after one more interface event; or else the table that shows it, which is not known yet.
    pub(super) fn child(&mut self, node: NodeId, label: LabelId) -> Result<NodeId, Wanted> {
        if let Some(known) = self.nodes[node].children.get(&label) {
            return Ok(*known);
        }
        let mut key = self.nodes[node].key.clone();
        let Label { member, received, .. } = self.label(label);
        key.labels[*member].push(label);
        let Some(child) = self.numbers.get(&key).copied() else {
            // The event is possible with what it receives on offer, so its node is found when that is asked for.
            return Err(Wanted { node, offers: received.clone() });
        };
        self.nodes[node].children.insert(label, child);
        Ok(child)
    }

    /// The messages on offer in the first table of a node that was made and in which nothing panics.
    pub(super) fn sound_table(&self, node: NodeId) -> Option<Vec<MessageId>> {
        self.nodes[node].sound.clone()
    }

    /// Is a table known?
    pub(super) fn knows(&self, wanted: &Wanted) -> bool {
        self.nodes[wanted.node].tables.contains_key(&wanted.offers)
    }

    /// The node of a component that pauses at a point of a node.
    pub(super) fn pause(&mut self, node: NodeId, point: usize) -> NodeId {
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

    fn insert(&mut self, key: Key, seeds: Vec<Seed<E::Step>>) -> NodeId {
        let fresh = self.nodes.len();
        self.numbers.insert(key.clone(), fresh);
        self.nodes.push(Node::new(key, seeds));
        fresh
    }

    /// The number of a point of a node, where points can be told.
    fn number_point(
        &mut self,
        node: NodeId,
        local_point: LocalPointId,
        taken: Vec<MessageId>,
        cause: Cause<E::Step>,
        done: &mut Done,
    ) -> usize {
        let component = self.component(node);
        let Locals { nodes, checker, .. } = self;
        let Node { points, numbers, .. } = &mut nodes[node];
        *numbers.entry((local_point, taken)).or_insert_with_key(|(local_point, taken)| {
            done.points += 1;
            let observed =
                checker.local_points(component).map(|there| there.observed_at(component, *local_point));
            let observed = observed.into_iter().collect();
            points.push(NodePoint {
                local_point: *local_point,
                observed,
                taken: taken.clone(),
                traces: 0,
                cause,
            });
            points.len() - 1
        })
    }

    /// What a component can do at a node with these messages on offer: finds every point where it can be, from those
    /// that were known when its skeleton was first seen, by what nobody sees after that.
    pub(super) fn table(
        &mut self,
        node: NodeId,
        offers: &[MessageId],
        meter: &mut Meter<'_>,
    ) -> Result<Arc<Table>, Halt> {
        if let Some(known) = self.nodes[node].tables.get(offers) {
            return Ok(Arc::clone(known));
        }
        let component = self.component(node);
        let table = if self.is_nested(component) {
            self.compose_inside(node, offers, meter)?
        } else if self.is_enumerated(component) {
            self.enumerate(node, offers, meter)?
        } else {
            self.merge(node, offers, meter)?
        };
        self.keep_table(node, offers, table, meter)
    }

    /// Are the runs of a component enumerated, one by one?
    pub(super) fn is_enumerated(&mut self, component: usize) -> bool {
        self.checker.local_points(component).is_none()
    }

    fn keep_table(
        &mut self,
        node: NodeId,
        offers: &[MessageId],
        table: Table,
        meter: &mut Meter<'_>,
    ) -> Result<Arc<Table>, Halt> {
        let table = Arc::new(table);
        let entries = offers.len() + table.points.len() + table.quiescent.len() + table.branches.len();
        meter.other_bytes += 8 * entries as u64 + TABLE_BYTES;
        if table.panics.is_empty() {
            self.nodes[node].sound.get_or_insert_with(|| offers.to_vec());
        }
        self.nodes[node].tables.insert(offers.to_vec(), Arc::clone(&table));
        match self.checker.unreliable() {
            Some(stopped) => Err(Halt::Stopped(stopped)),
            None => Ok(table),
        }
    }

    /// What a component can do whose points can be told.
    fn merge(&mut self, node: NodeId, offers: &[MessageId], meter: &mut Meter<'_>) -> Result<Table, Halt> {
        let mut found = Found::default();
        for (local_point, traces, cause) in self.nodes[node].seeds.clone() {
            let point = self.number_point(node, local_point, Vec::new(), cause, &mut found.done);
            let at = found.note(point);
            let so_far = found.begin.entry(at).or_default();
            *so_far = so_far.saturating_add(traces);
        }
        let mut expanded = 0;
        while expanded < found.table.points.len() {
            self.expand(node, offers, expanded, &mut found);
            expanded += 1;
            meter.add(std::mem::take(&mut found.done))?;
        }
        found.table.endless = !self.count_traces(node, &found);
        found.table.pauses = self.pauses(node, &found);
        for (label, steps) in found.branches {
            found.table.branches.push(label);
            let mut key = self.nodes[node].key.clone();
            key.labels[self.labels[label as usize].member].push(label);
            if !self.numbers.contains_key(&key) {
                let seeds =
                    steps.into_iter().filter_map(|(point, step)| self.seed(node, point, step)).collect();
                self.insert(key, seeds);
            }
        }
        Ok(found.table)
    }

    /// Finds what can happen at a point of a table.
    fn expand(&mut self, node: NodeId, offers: &[MessageId], at: usize, found: &mut Found<E::Step>) {
        let component = self.component(node);
        let point = found.table.points[at];
        let NodePoint { local_point, taken, .. } = &self.nodes[node].points[point];
        let (local_point, taken) = (*local_point, taken.clone());
        let offered = self.deliverable(offers, &taken);
        let moves =
            self.checker.local_points(component).map(|points| points.moves(component, local_point, &offered));
        let moves = moves.unwrap_or_default();
        if moves.is_empty() {
            found.table.quiescent.push(point);
        }
        found.needs.push(moves.iter().map(|step| step.received.clone()).collect());
        let clock = vec![self.depth(node) + 1];
        for mut step in moves {
            found.done.steps += 1;
            let together = self.joined(&taken, &step.received);
            if !self.in_order {
                // Of equal messages each may be the one that is received first.
                let copies = |message| together.iter().filter(|other| *other == message).count() as u128;
                step.ways = step.received.iter().fold(step.ways, |ways, message| ways * copies(message));
            }
            match step.leads {
                None => {
                    found.table.panics.push(Panic { point, number: self.panics.len() });
                    self.panics.push((Some(step.step), String::new()));
                }
                Some(_) if !step.sent.is_empty() => {
                    found.seen.push(together.clone());
                    let (clock, sent) = (clock.clone(), step.sent.clone());
                    let label = self.number_label(Label { member: 0, clock, received: together, sent });
                    found.branches.entry(label).or_default().push((point, step));
                }
                Some(next) => {
                    let cause = Cause::Inside(point, step.step);
                    let next = self.number_point(node, next, together, cause, &mut found.done);
                    let next = found.note(next);
                    found.ways[at].push((next, step.ways));
                }
            }
        }
    }

    /// How many interface events of a component of one member there are at a node.
    fn depth(&self, node: NodeId) -> usize {
        let Key { pause, labels, .. } = &self.nodes[node].key;
        labels[0].len() + pause.map_or(0, |(before, _)| self.depth(before))
    }

    /// Where a step from a point of a node leads, as a point of the next node.
    fn seed(&self, node: NodeId, point: usize, step: Move<E::Step>) -> Option<Seed<E::Step>> {
        let traces = self.nodes[node].points[point].traces.saturating_mul(step.ways);
        Some((step.leads?, traces, Cause::Across(node, point, step.step)))
    }

    /// Counts the traces that lead to each point. They are counted by their length, so that each point passes all that
    /// lead to it on to the next. `false` if they never end.
    fn count_traces(&mut self, node: NodeId, found: &Found<E::Step>) -> bool {
        let points = &found.table.points;
        let mut traces: Vec<u128> = vec![0; points.len()];
        let mut layer = found.begin.clone();
        let mut layers = 0;
        // A way that is longer than this comes to a point twice.
        while !layer.is_empty() && layers <= points.len() {
            let mut next: BTreeMap<usize, u128> = BTreeMap::new();
            for (at, more) in layer {
                traces[at] = traces[at].saturating_add(more);
                for &(to, ways) in &found.ways[at] {
                    let so_far = next.entry(to).or_default();
                    *so_far = so_far.saturating_add(more.saturating_mul(ways));
                }
            }
            layer = next;
            layers += 1;
        }
        for (point, traces) in points.iter().zip(traces) {
            self.nodes[node].points[*point].traces = traces;
        }
        layer.is_empty()
    }

    /// The points where a component may stay although, with something on offer, others could see it do something from
    /// another point: those from which no step needs as little.
    fn pauses(&self, node: NodeId, found: &Found<E::Step>) -> Vec<usize> {
        let points = &found.table.points;
        let stays = |at: usize, wanted: &[MessageId]| {
            let taken = &self.nodes[node].points[points[at]].taken;
            let mut left = wanted.to_vec();
            for message in taken {
                if let Some(at) = left.iter().position(|other| other == message) {
                    left.swap_remove(at);
                }
            }
            !found.needs[at].iter().any(|needed| needed.iter().all(|message| left.contains(message)))
        };
        let pauses = |at: &usize| points.len() > 1 && found.seen.iter().any(|wanted| stays(*at, wanted));
        (0..points.len()).filter(pauses).map(|at| points[at]).collect()
    }

    /// The labels from this one on.
    pub(super) fn labels_from(&self, from: usize) -> &[Label] {
        &self.labels[from..]
    }

    /// A hash of a point with its node, the same in every process in which labels have the same numbers.
    pub(super) fn hash(&mut self, node: NodeId, point: usize) -> u128 {
        if let Some(known) = self.hashes.get(&(node, point)) {
            return *known;
        }
        let component = self.component(node);
        let NodePoint { local_point, taken, cause, .. } = &self.nodes[node].points[point];
        let local_point = *local_point;
        let run = match cause {
            Cause::Run(operations) => {
                let mut by_agent = operations.clone();
                by_agent.sort_by_key(|(agent, _)| *agent);
                hash128(&by_agent)
            }
            _ => 0,
        };
        let mut parts = vec![hash128(&(component, &self.nodes[node].key.labels, taken)), run];
        if let Some(there) = self.checker.local_points(component) {
            parts.push(there.fingerprint(component, local_point));
        }
        parts.extend(self.letters(node, point));
        if let Some((before, at)) = self.nodes[node].key.pause {
            parts.push(self.hash(before, at));
        }
        let hash = hash128(&parts);
        self.hashes.insert((node, point), hash);
        hash
    }

    /// A hash of the traces that end at a point, the same wherever they are told.
    pub(super) fn end(&mut self, node: NodeId, point: usize) -> u128 {
        let component = self.component(node);
        if !self.is_enumerated(component) {
            return self.hash(node, point);
        }
        if let Some(known) = self.ends.get(&(node, point)) {
            return *known;
        }
        let run = enumerate::by_agent(self.run(node, point));
        let end = hash128(&(self.checker.components().members(component), run));
        self.ends.insert((node, point), end);
        end
    }

    /// The pause that a node follows, if any.
    pub(super) fn pause_before(&self, node: NodeId) -> Option<(NodeId, usize)> {
        self.nodes[node].key.pause
    }

    /// The number of the point to which a run leads.
    pub(super) fn run_point(&mut self, node: NodeId, found: FoundPoint<E::Step>) -> usize {
        self.nodes[node].run_point(found)
    }

    /// The run that leads to a point, where runs are enumerated: who does what.
    pub(super) fn run(&self, node: NodeId, point: usize) -> &[(usize, E::Step)] {
        match &self.nodes[node].points[point].cause {
            Cause::Run(way) => way,
            _ => &[],
        }
    }

    /// A point in a form in which it can be kept.
    pub(super) fn kept(&mut self, node: NodeId, point: usize) -> LoggedPoint {
        let hash = self.hash(node, point);
        let Key { component, pause, labels } = self.nodes[node].key.clone();
        let pause = pause.map(|(before, at)| Box::new(self.kept(before, at)));
        let taken = self.nodes[node].points[point].taken.clone();
        LoggedPoint { component, pause, labels, taken, hash }
    }

    /// A point that was kept; nothing if there is no such point.
    pub(super) fn found_again(
        &mut self,
        kept: &LoggedPoint,
        meter: &mut Meter<'_>,
    ) -> Result<Option<(NodeId, usize)>, Halt> {
        let mut node = Self::root(kept.component);
        if let Some(pause) = &kept.pause {
            let Some((before, at)) = self.found_again(pause, meter)? else { return Ok(None) };
            node = self.pause(before, at);
        }
        let before: Vec<usize> = self.skeleton(node).iter().map(Vec::len).collect();
        let mut known = vec![0; kept.labels.len()];
        while let Some(label) = next_in_causal_order(&kept.labels, &known, &before, |label| self.label(label))
        {
            known[self.label(label).member] += 1;
            node = match self.child(node, label) {
                Ok(child) => child,
                Err(Wanted { node, offers }) => {
                    self.table(node, &offers, meter)?;
                    let there = self.child(node, label).ok();
                    let Some(child) = there else { return Ok(None) };
                    child
                }
            };
        }
        let table = self.table(node, &kept.taken, meter)?;
        let mut points: Vec<usize> = Vec::new();
        if self.is_nested(kept.component) {
            // A point that stands for several runs looks like the first of them, but a pause is of one run.
            for (point, _) in &table.last {
                points.extend(self.apart(node, *point, meter)?);
            }
        } else {
            points.extend(0..self.nodes[node].points.len());
        }
        Ok(points.into_iter().find(|point| self.hash(node, *point) == kept.hash).map(|point| (node, point)))
    }

    /// The steps that lead to a point, from the start.
    pub(super) fn way_to(&self, mut node: NodeId, mut point: usize) -> Vec<E::Step> {
        let mut way = Vec::new();
        loop {
            match &self.nodes[node].points[point].cause {
                Cause::Start => break,
                Cause::Pause(before, at) => (node, point) = (*before, *at),
                Cause::Inside(at, step) => {
                    way.push(step.clone());
                    point = *at;
                }
                Cause::Across(before, at, step) => {
                    way.push(step.clone());
                    (node, point) = (*before, *at);
                }
                Cause::Run(operations) => {
                    way.extend(operations.iter().rev().map(|(_, step)| step.clone()));
                    break;
                }
            }
        }
        way.reverse();
        way
    }
}

/// Of what is to be done by members, the next that follows only what is done.
fn next_in_causal_order<'l>(
    labels: &[Vec<LabelId>],
    known: &[usize],
    before: &[usize],
    of: impl Fn(LabelId) -> &'l Label,
) -> Option<LabelId> {
    let next = labels.iter().zip(known).filter_map(|(labels, known)| labels.get(*known).copied());
    next.into_iter().find(|label| {
        let Label { member, clock, .. } = of(*label);
        let there = |at: usize| before[at] + known[at] + usize::from(at == *member);
        clock.iter().enumerate().all(|(at, count)| *count <= there(at))
    })
}

/// A table in the making. `LocalPoints` are told by their position in it.
struct Found<S> {
    table: Table,
    at: HashMap<usize, usize>,
    /// Where steps lead that nobody sees, and how many ways each is.
    ways: Vec<Vec<(usize, u128)>>,
    /// How many traces lead to a point as the first at this node.
    begin: BTreeMap<usize, u128>,
    /// What each of its steps needs to receive.
    needs: Vec<Vec<Vec<MessageId>>>,
    /// What was received, from the beginning of the node on, with each step that others see.
    seen: Vec<Vec<MessageId>>,
    /// The steps that others see, each with the number of its point.
    branches: BTreeMap<LabelId, Vec<(usize, Move<S>)>>,
    /// What was done since the meter was told.
    done: Done,
}

impl<S> Default for Found<S> {
    fn default() -> Self {
        Found {
            table: Table::default(),
            at: HashMap::new(),
            ways: Vec::new(),
            begin: BTreeMap::new(),
            needs: Vec::new(),
            seen: Vec::new(),
            branches: BTreeMap::new(),
            done: Done::default(),
        }
    }
}

impl<S> Found<S> {
    /// The position of a point.
    fn note(&mut self, point: usize) -> usize {
        *self.at.entry(point).or_insert_with(|| {
            self.table.points.push(point);
            self.ways.push(Vec::new());
            self.ways.len() - 1
        })
    }
}

impl<S> Node<S> {
    fn new(key: Key, seeds: Vec<Seed<S>>) -> Self {
        let (numbers, runs, tables, children) =
            (HashMap::new(), HashMap::new(), HashMap::new(), HashMap::new());
        Node { key, seeds, points: Vec::new(), numbers, runs, tables, sound: None, children }
    }
}
