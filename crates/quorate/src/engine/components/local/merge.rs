//! Components whose points can be compared: points with the same future are explored once, and counted.
//!
//! From: DEMETER, section 3.2; docs/theory/components.md 4.
//! Differs: others see only what the component sends. The paper's skeletons have receptions as events; but nobody
//! sees those, and the next send says what was received since the last one. So the order of receptions is the
//! component's own affair: single-message Paxos (2,3,1) has 312 skeletons for its 167,040 runs. With several agents a
//! skeleton would also have to say which of them knows of which reception, so there receptions are events
//! (`enumerate.rs`).
//! Held by: testkit/tests/dir.rs.

use std::collections::{BTreeMap, HashMap};

use super::tables::{Cause, ExploreComponent, Key, Kind, Locals, Node, NodePoint, Seed, Table, Wanted};
use crate::base::heed;
use crate::engine::components::embedded::{ComponentChecker, LocalPointId, MessageId, Move};
use crate::engine::components::events::{Label, LabelId, NodeId};
use crate::engine::components::meter::{Done, Halt, Meter, Panic};

/// The explorer of a component whose points can be compared.
pub(crate) struct Merge;

impl<E: ComponentChecker> ExploreComponent<E> for Merge {
    fn kind(&self) -> Kind {
        Kind::Merged
    }

    /// Finds every point where the component can be: from those at which the node begins, by steps that nobody sees.
    fn explore(
        &mut self,
        locals: &mut Locals<'_, E>,
        Wanted { node, offers }: &Wanted,
        meter: &mut Meter<'_>,
    ) -> Result<Table, Halt> {
        let node = *node;
        let mut found = Found::default();
        for (local_point, traces, cause) in locals.nodes[node].seeds.clone() {
            let point = locals.number_point(node, local_point, Vec::new(), cause, &mut found.done);
            let at = found.note(point);
            let so_far = found.begin.entry(at).or_default();
            *so_far = so_far.saturating_add(traces);
        }
        let mut expanded = 0;
        while expanded < found.table.points.len() {
            locals.expand(node, offers, expanded, &mut found);
            expanded += 1;
            meter.add(std::mem::take(&mut found.done))?;
        }
        found.table.endless = !locals.count_traces(node, &found);
        found.table.pauses = locals.pauses(node, &found);
        for (label, steps) in found.branches {
            found.table.branches.push(label);
            let key = locals.key_after(node, locals.label(label).member, label);
            if !locals.is_node(&key) {
                let seeds =
                    steps.into_iter().filter_map(|(point, step)| locals.seed(node, point, step)).collect();
                locals.insert(key, seeds);
            }
        }
        Ok(found.table)
    }
}

impl<E: ComponentChecker> Locals<'_, E> {
    /// The number of a point at a node.
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

    /// How many interface events the component has had at a node.
    fn depth(&self, node: NodeId) -> usize {
        let Key { pause, labels, .. } = &self.nodes[node].key;
        labels[0].len() + pause.map_or(0, |(before, _)| self.depth(before))
    }

    /// The point to which a step leads that others see, as a beginning of the next node.
    fn seed(&self, node: NodeId, point: usize, step: Move<E::Step>) -> Option<Seed<E::Step>> {
        let traces = self.nodes[node].points[point].traces.saturating_mul(step.ways);
        Some((step.leads?, traces, Cause::Across(node, point, step.step)))
    }

    /// Counts the traces that lead to each point, by length: each point passes all traces that lead to it on to the
    /// next points. `false` if they never end.
    fn count_traces(&mut self, node: NodeId, found: &Found<E::Step>) -> bool {
        let points = &found.table.points;
        let mut traces: Vec<u128> = vec![0; points.len()];
        let mut layer = found.begin.clone();
        let mut layers = 0;
        // A longer trace comes to a point twice.
        while !layer.is_empty() && layers <= points.len() {
            heed();
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

    /// The points at which the component may pause. With some messages on offer it could do something that others
    /// see, from another point of this node, while from here no step is possible with these messages.
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
        let pauses = |at: &usize| {
            heed();
            points.len() > 1 && found.seen.iter().any(|wanted| stays(*at, wanted))
        };
        (0..points.len()).filter(pauses).map(|at| points[at]).collect()
    }
}

/// A table that is being made. Points are named by their position in it.
struct Found<S> {
    table: Table,
    at: HashMap<usize, usize>,
    /// For each point, where steps lead that nobody sees, and how many steps these are.
    ways: Vec<Vec<(usize, u128)>>,
    /// The points at which the node begins, and how many traces lead there from earlier nodes.
    begin: BTreeMap<usize, u128>,
    /// For each point, what each of its steps receives.
    needs: Vec<Vec<Vec<MessageId>>>,
    /// For each step that others see, what was received since the node began.
    seen: Vec<Vec<MessageId>>,
    /// The steps that others see, each with the point from which it is possible.
    branches: BTreeMap<LabelId, Vec<(usize, Move<S>)>>,
    /// What was done since it was last added to the meter.
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
