//! Names of points and runs that mean the same in another search: for the log, and to count each local trace once.

use super::enumerate::by_agent;
use super::tables::{Cause, Key, Kind, Locals, NodePoint, Wanted};
use crate::engine::components::embedded::ComponentChecker;
use crate::engine::components::events::{Label, LabelId, NodeId};
use crate::engine::components::log::{LoggedPoint, hash128};
use crate::engine::components::meter::{Halt, Meter};

impl<E: ComponentChecker> Locals<'_, E> {
    /// A hash of a point with its node: the same in every search in which labels have the same numbers.
    fn hash(&mut self, node: NodeId, point: usize) -> u128 {
        if let Some(known) = self.hashes.get(&(node, point)) {
            return *known;
        }
        let component = self.component(node);
        let NodePoint { local_point, taken, cause, .. } = &self.nodes[node].points[point];
        let local_point = *local_point;
        let run = match cause {
            Cause::Run(operations) => hash128(&by_agent(operations)),
            _ => 0,
        };
        let mut parts = vec![hash128(&(component, &self.nodes[node].key.labels, taken)), run];
        if let Some(points) = self.checker.local_points(component) {
            parts.push(points.fingerprint(component, local_point));
        }
        parts.extend(self.explorer(component).distinction(node, point));
        if let Some((before, at)) = self.nodes[node].key.pause {
            parts.push(self.hash(before, at));
        }
        let hash = hash128(&parts);
        self.hashes.insert((node, point), hash);
        hash
    }

    /// A hash of the traces that end at a point: the same at whatever node they are found.
    fn end(&mut self, node: NodeId, point: usize) -> u128 {
        let component = self.component(node);
        if !self.is_enumerated(component) {
            return self.hash(node, point);
        }
        if let Some(known) = self.ends.get(&(node, point)) {
            return *known;
        }
        let run = by_agent(self.run(node, point));
        let end = hash128(&(self.checker.components().members(component), run));
        self.ends.insert((node, point), end);
        end
    }

    /// The maximal traces of components that are not systems, for a point at the end of a run: hashes, each with how
    /// many traces it counts.
    pub(crate) fn ends(&mut self, node: NodeId, point: usize) -> Vec<(u128, u128)> {
        let component = self.component(node);
        let of_parts = self.explorer(component).ends_of_parts(node, point);
        of_parts.unwrap_or_else(|| vec![(self.end(node, point), self.point(node, point).traces)])
    }

    /// A point, as it is logged.
    pub(crate) fn logged(&mut self, node: NodeId, point: usize) -> LoggedPoint {
        let hash = self.hash(node, point);
        let Key { component, pause, labels } = self.nodes[node].key.clone();
        let pause = pause.map(|(before, at)| Box::new(self.logged(before, at)));
        let taken = self.nodes[node].points[point].taken.clone();
        LoggedPoint { component, pause, labels, taken, hash }
    }

    /// A point that was logged; `None` if there is no such point.
    pub(crate) fn found_again(
        &mut self,
        logged: &LoggedPoint,
        meter: &mut Meter<'_>,
    ) -> Result<Option<(NodeId, usize)>, Halt> {
        let mut node = Self::root(logged.component);
        if let Some(pause) = &logged.pause {
            let Some((before, at)) = self.found_again(pause, meter)? else { return Ok(None) };
            node = self.pause(before, at);
        }
        let before: Vec<usize> = self.skeleton(node).iter().map(Vec::len).collect();
        let mut known = vec![0; logged.labels.len()];
        while let Some(label) =
            next_in_causal_order(&logged.labels, &known, &before, |label| self.label(label))
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
        let table = self.table(node, &logged.taken, meter)?;
        let mut points: Vec<usize> = Vec::new();
        if self.kind(logged.component) == Kind::Composed {
            // A point that stands for several runs has the steps of the first of them, but one run pauses.
            for (point, _) in &table.last {
                points.extend(self.apart(node, *point, meter)?);
            }
        } else {
            points.extend(0..self.nodes[node].points.len());
        }
        Ok(points.into_iter().find(|point| self.hash(node, *point) == logged.hash).map(|point| (node, point)))
    }
}

/// The next label of a local skeleton to replay: each member's labels are replayed in order, and this is the first
/// whose causes have all been replayed. `known` says how many labels of each member have been, and `before` how many
/// events each had before these labels.
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
