//! Components that are systems of components: what such a one can do is composed of what its parts do.
//!
//! From: DEMETER, section 3, where a component may be any part of a system; docs/theory/components.md 9: its local
//! explorer may be any that finds all that can be seen of it. Here it is the global explorer, for the parts. The
//! messages from outside are there from the beginning, as they are for a group, and what the outside sees happens as
//! the local skeleton says (`global/boundary.rs`).
//! Differs from a group: runs of different parts are not combined with each other, only counted. Runs of a part that
//! end alike, as far as properties and the outside can see, are one class.
//! Known: as in `local/tables.rs`, a run that may pause must be a point of its own, so the runs of such a class are
//! taken apart again.
//! Invariant: a table is that of the group of all members, but for which runs share a point.
//! Held by: testkit/tests/dir.rs (the counts and verdicts of groups, and of an enumerator of runs),
//! testkit/tests/nested.rs (searches that are stopped and go on, planted bugs, panics, restarts).

use std::collections::{BTreeSet, HashMap, HashSet};

use super::embedded::{ComponentChecker, MessageId};
use super::events::{Event, EventId, Label, LabelId, NodeId, Skeleton, What};
use super::global::{Boundary, Fate, Global, Situation};
use super::local::{
    Enumerate, ExploreComponent, Explored, Explorers, FoundPoint, Kind, Last, Locals, Merge, Panicked,
    Restriction, Table, Wanted, Way,
};
use super::log::hash128;
use super::meter::{Done, Halt, Meter, POINT_BYTES, Panic};
use super::partition::Partition;
use crate::base::{ProcessId, for_each_choice, for_each_closed_set};
use crate::engine::Search;

/// An explorer for each component of a checker: of points, of runs, or, where a component is a system, of its parts.
pub(super) fn explorers<'e, E: ComponentChecker + 'e>(
    checker: &mut E,
    in_order: bool,
    search: &Search,
) -> Explorers<'e, E> {
    let mut explorers: Explorers<'e, E> = Vec::new();
    for component in 0..checker.components().count() {
        explorers.push(if let Some(inside) = checker.inside(component) {
            let members = checker.components().members(component).to_vec();
            Box::new(Nested::new(inside, members, in_order, search))
        } else if checker.local_points(component).is_some() {
            Box::new(Merge)
        } else {
            Box::new(Enumerate)
        });
    }
    explorers
}

/// Runs of the parts that end alike: a skeleton, and for each part its node there and the points at which runs end.
struct Class {
    skeleton: Skeleton,
    nodes: Vec<NodeId>,
    points: Vec<Vec<usize>>,
}

/// One of them: a skeleton without the messages from outside, and one point for each part.
#[derive(Clone)]
struct OneRun {
    skeleton: Skeleton,
    points: Vec<usize>,
    /// A hash of who received what from whom: if messages are equal, the steps of the members do not show that.
    receptions: u128,
}

/// The explorer of a component that is a system.
struct Nested<'e, E: ComponentChecker> {
    global: Global<'e, E>,
    /// What a point of the component at the end of a run stands for.
    classes: HashMap<(NodeId, usize), Class>,
    /// The points of runs that were taken apart.
    runs: HashMap<(NodeId, usize), OneRun>,
    /// Their numbers, by skeleton, without the messages from outside, and points of the parts.
    numbers: HashMap<(NodeId, Skeleton, Vec<usize>), usize>,
}

/// Runs of a part that end alike.
struct Alike {
    observed: Vec<usize>,
    /// What the outside could see next.
    next: Vec<Label>,
    points: Vec<usize>,
    traces: u128,
}

/// What was seen at cuts so far: nodes of the parts, and observations of the members.
#[derive(Default)]
struct SeenAtCuts {
    nodes: HashSet<Vec<NodeId>>,
    observed: HashSet<Vec<usize>>,
}

impl<'e, E: ComponentChecker> Nested<'e, E> {
    fn new(mut checker: E, members: Vec<ProcessId>, in_order: bool, search: &Search) -> Self
    where
        E: 'e,
    {
        let explorers = explorers(&mut checker, in_order, search);
        let global = Global::new(checker, explorers, Boundary::inside(members), in_order, search, None);
        let (classes, runs, numbers) = (HashMap::new(), HashMap::new(), HashMap::new());
        Nested { global, classes, runs, numbers }
    }

    /// The events that stand for the messages from outside. Messages that are equal, or where channels keep their
    /// order those of one sender to one receiver, follow each other.
    fn environment(&mut self, arrivals: &[MessageId]) -> Skeleton {
        let mut last: HashMap<(Option<MessageId>, ProcessId, ProcessId), EventId> = HashMap::new();
        let mut environment = Skeleton::new();
        for &message in arrivals {
            let (from, to) = self.global.locals.checker.ends_of(message);
            let line = ((!self.global.in_order).then_some(message), from, to);
            let label = Label { member: 0, clock: Vec::new(), received: Vec::new(), sent: vec![message] };
            let what = What::Interface(self.global.locals.number_label(label));
            let before = last.get(&line).copied().into_iter().collect();
            let (component, pause, received) = (Partition::OUTSIDE, None, Vec::new());
            let event = self.global.events.number(Event { component, what, before, pause, received }, what);
            last.insert(line, event);
            environment.push(event);
        }
        environment.sort_unstable();
        environment
    }

    /// A skeleton without the messages from outside: with others on offer the run is the same.
    fn without_environment(&self, skeleton: &Skeleton) -> Skeleton {
        let is_own = |event: &EventId| self.global.events.get(*event).component != Partition::OUTSIDE;
        skeleton.iter().copied().filter(is_own).collect()
    }

    /// A hash of who received what from whom, which does not depend on how events are numbered.
    fn receptions(&self, skeleton: &Skeleton) -> u128 {
        let mut events: HashMap<EventId, (ProcessId, usize)> = HashMap::new();
        let mut done: HashMap<ProcessId, usize> = HashMap::new();
        let mut receptions: BTreeSet<_> = BTreeSet::new();
        for &number in skeleton {
            let event = self.global.events.get(number);
            let What::Interface(label) = event.what else { continue };
            let process = self.global.locals.checker.components().members(event.component)
                [self.global.locals.label(label).member];
            let nth = done.entry(process).or_default();
            *nth += 1;
            events.insert(number, (process, *nth));
            let senders = event.received.iter().map(|(sender, at)| (events.get(sender).copied(), *at));
            receptions.extend(senders.map(|from| (process, *nth, from)));
        }
        hash128(&receptions)
    }

    /// The skeleton of a run in which every part pauses at its point.
    fn paused(&mut self, run: &OneRun, meter: &mut Meter<'_>) -> Result<Skeleton, Halt> {
        let mut skeleton = run.skeleton.clone();
        for (component, point) in run.points.iter().enumerate() {
            let position = self.global.position(&run.skeleton, component, meter)?;
            let pause = self.global.pause_event(component, &position, point.to_owned(), Vec::new());
            skeleton.push(pause);
        }
        skeleton.sort_unstable();
        Ok(skeleton)
    }

    /// The nodes of the parts in a skeleton.
    fn nodes_in(&mut self, skeleton: &Skeleton, meter: &mut Meter<'_>) -> Result<Vec<NodeId>, Halt> {
        let parts = 0..self.global.components();
        parts.map(|part| Ok(self.global.position(skeleton, part, meter)?.node)).collect()
    }

    /// Where the parts are in a skeleton, and what they can do.
    fn situations(&mut self, skeleton: &Skeleton, meter: &mut Meter<'_>) -> Result<Vec<Situation>, Halt> {
        (0..self.global.components()).map(|part| self.global.situation(skeleton, part, meter)).collect()
    }

    /// The runs of a part that end in a skeleton, by what properties and the outside see of them.
    fn alike(&mut self, part: usize, situation: &Situation) -> Vec<Alike> {
        let events = self.global.possible_events(part, situation);
        let mut classes: Vec<Alike> = Vec::new();
        let mut numbers: HashMap<(Vec<usize>, Vec<usize>), usize> = HashMap::new();
        let mut labels: Vec<Label> = Vec::new();
        let mut fates: HashMap<LabelId, Vec<Fate>> = HashMap::new();
        for event in events {
            if let What::Interface(label) = self.global.events.get(event).what {
                let fate = self.global.fate(event);
                fates.entry(label).or_default().push(fate);
            }
        }
        for (point, next) in &situation.table.last {
            let of_next: Vec<&Fate> = next.iter().filter_map(|label| fates.get(label)).flatten().collect();
            if of_next.iter().any(|fate| matches!(fate, Fate::Allowed)) {
                continue;
            }
            let mut outside: BTreeSet<usize> = BTreeSet::new();
            for fate in of_next {
                if let Fate::Next(label) = fate {
                    let known = labels.iter().position(|other| other == label);
                    outside.insert(known.unwrap_or_else(|| {
                        labels.push(label.clone());
                        labels.len() - 1
                    }));
                }
            }
            let outside: Vec<usize> = outside.into_iter().collect();
            let there = self.global.locals.point(situation.position.node, *point);
            let key = (there.observed.clone(), outside);
            let class = *numbers.entry(key).or_insert_with_key(|(observed, outside)| {
                let next = outside.iter().map(|at| labels[*at].clone()).collect();
                classes.push(Alike { observed: observed.clone(), next, points: Vec::new(), traces: 0 });
                classes.len() - 1
            });
            classes[class].points.push(*point);
            classes[class].traces = classes[class].traces.saturating_add(there.traces);
        }
        classes
    }

    /// What properties see of the members at points of the parts.
    fn observed(&self, of_parts: &[&[usize]]) -> Vec<usize> {
        let mut observed = vec![0; self.global.boundary.members().len()];
        for (part, of_part) in of_parts.iter().enumerate() {
            let members = self.global.locals.checker.components().members(part);
            for (process, number) in members.iter().zip(*of_part) {
                let at = self
                    .global
                    .boundary
                    .members()
                    .binary_search(process)
                    .expect("a part has members of the whole");
                observed[at] = *number;
            }
        }
        observed
    }

    /// What the members do to get to points of the parts, one part after the other.
    fn way(&self, nodes: &[NodeId], points: &[usize]) -> Way<E::Step> {
        let mut way = Vec::new();
        for (part, (node, point)) in nodes.iter().zip(points).enumerate() {
            let members = self.global.locals.checker.components().members(part);
            for (agent, step) in self.global.locals.run(*node, *point) {
                let all = self.global.boundary.members();
                let at = all.binary_search(&members[*agent]).expect("a part has members of the whole");
                way.push((at, step.clone()));
            }
        }
        way
    }

    /// Notes the ends of runs in a skeleton: every combination of ends of the parts.
    fn note_ends(
        &mut self,
        skeleton: &Skeleton,
        found: &mut Explored<E::Step>,
        classes: &mut Vec<Class>,
        meter: &mut Meter<'_>,
    ) -> Result<(), Halt> {
        let situations = self.situations(skeleton, meter)?;
        let nodes: Vec<NodeId> = situations.iter().map(|situation| situation.position.node).collect();
        let parts: Vec<Vec<Alike>> =
            situations.iter().enumerate().map(|(part, situation)| self.alike(part, situation)).collect();
        let sizes: Vec<usize> = parts.iter().map(Vec::len).collect();
        for_each_choice(&sizes, &mut |chosen| {
            meter.pass()?;
            let chosen: Vec<&Alike> = parts.iter().zip(chosen).map(|(part, at)| &part[*at]).collect();
            let observed: Vec<&[usize]> = chosen.iter().map(|class| class.observed.as_slice()).collect();
            let first: Vec<usize> = chosen.iter().map(|class| class.points[0]).collect();
            let traces = chosen.iter().fold(1_u128, |traces, class| traces.saturating_mul(class.traces));
            let mut next: Vec<Label> = Vec::new();
            for label in chosen.iter().flat_map(|class| &class.next) {
                if !next.contains(label) {
                    next.push(label.clone());
                }
            }
            let (way, observed) = (self.way(&nodes, &first), self.observed(&observed));
            found.last.push(Last { point: found.points.len(), next });
            found.points.push(FoundPoint { way, observed, alike: Some(traces) });
            let points = chosen.iter().map(|class| class.points.clone()).collect();
            classes.push(Class { skeleton: skeleton.clone(), nodes: nodes.clone(), points });
            Ok(())
        })
    }

    /// Notes what properties can see at any cut of a skeleton in which everything has happened that the outside is to
    /// see.
    fn note_cuts(
        &mut self,
        skeleton: &Skeleton,
        seen: &mut SeenAtCuts,
        found: &mut Explored<E::Step>,
        meter: &mut Meter<'_>,
    ) -> Result<(), Halt> {
        // Everything that the outside sees has happened, with all causes.
        let mut has_happened: BTreeSet<EventId> = BTreeSet::new();
        for &event in skeleton.iter().rev() {
            let is_seen = self.global.is_seen_outside(event)
                || self.global.events.get(event).component == Partition::OUTSIDE;
            if is_seen || has_happened.contains(&event) {
                has_happened.insert(event);
                has_happened.extend(self.global.events.get(event).causes());
            }
        }
        let open: Vec<EventId> =
            skeleton.iter().copied().filter(|event| !has_happened.contains(event)).collect();
        let needs = |event: &EventId| {
            let causes = self.global.events.get(*event).causes();
            causes.filter_map(|cause| open.binary_search(&cause).ok()).collect()
        };
        let needs: Vec<Vec<usize>> = open.iter().map(needs).collect();
        for_each_closed_set(&needs, &mut |chosen: &[usize]| {
            meter.pass()?;
            let mut cut: Skeleton =
                has_happened.iter().copied().chain(chosen.iter().map(|at| open[*at])).collect();
            cut.sort_unstable();
            let nodes = self.nodes_in(&cut, meter)?;
            if !seen.nodes.insert(nodes.clone()) {
                return Ok(());
            }
            let mut shown: Vec<Vec<usize>> = Vec::new();
            for (part, node) in nodes.iter().enumerate() {
                let offers = self.global.offers_for_view(&cut, part, *node);
                shown.push(self.global.locals.table(*node, &offers, meter)?.points.clone());
            }
            let sizes: Vec<usize> = shown.iter().map(Vec::len).collect();
            for_each_choice(&sizes, &mut |chosen| {
                meter.pass()?;
                let points: Vec<usize> = shown.iter().zip(chosen).map(|(part, at)| part[*at]).collect();
                let of_part = |(node, point): (&NodeId, &usize)| {
                    self.global.locals.point(*node, *point).observed.as_slice()
                };
                let observed: Vec<&[usize]> = nodes.iter().zip(&points).map(of_part).collect();
                let observed = self.observed(&observed);
                if seen.observed.insert(observed.clone()) {
                    found.shown.insert(found.points.len());
                    found.points.push(FoundPoint { way: self.way(&nodes, &points), observed, alike: None });
                }
                Ok(())
            })
        })
    }

    /// Notes a panic of a part.
    fn note_panic(
        &mut self,
        (skeleton, part, panic): &(Skeleton, usize, Panic),
        found: &mut Explored<E::Step>,
        meter: &mut Meter<'_>,
    ) -> Result<(), Halt> {
        let nodes = self.nodes_in(skeleton, meter)?;
        let mut points = vec![0; nodes.len()];
        points[*part] = panic.point;
        // The other parts may be at any point of their nodes.
        for (part, node) in nodes.iter().enumerate() {
            let offers = self.global.offers_for_view(skeleton, part, *node);
            self.global.locals.table(*node, &offers, meter)?;
        }
        let (step, message) = self.global.locals.panics[panic.number].clone();
        let observed = vec![0; self.global.boundary.members().len()];
        found.panics.push(Panicked { point: found.points.len(), step: step.map(|step| (0, step)), message });
        found.points.push(FoundPoint { way: self.way(&nodes, &points), observed, alike: None });
        Ok(())
    }

    /// What the system can do under a restriction, in its own numbers; and for each end of a run, what it stands for.
    /// With a pause it is what the system can do after that.
    fn explore_parts(
        &mut self,
        restriction: &Restriction<E::Step>,
        pause: Option<(NodeId, usize)>,
        meter: &mut Meter<'_>,
    ) -> Result<(Explored<E::Step>, Vec<Class>), Halt> {
        let mut begins = self.environment(&restriction.arrivals);
        if let Some(pause) = pause {
            let run = self.runs.get(&pause).cloned();
            let run = run.expect("a bug in quorate: a system pauses where no run of it does");
            begins.extend(self.paused(&run, meter)?);
            begins.sort_unstable();
        }
        self.global.restrict(begins, restriction.skeleton.clone());
        let mut skeletons: Vec<Skeleton> = Vec::new();
        while let Some(skeleton) = self.global.next(meter)? {
            skeletons.push(skeleton);
        }
        // What follows a pause is about certain runs, so the pauses stay. Otherwise they have only helped to find
        // things.
        if pause.is_some() {
            skeletons = self.global.found().to_vec();
        }
        let mut found = Explored::default();
        let mut classes = Vec::new();
        let mut seen = SeenAtCuts::default();
        for skeleton in skeletons {
            if self.global.has_all(&skeleton) {
                self.note_ends(&skeleton, &mut found, &mut classes, meter)?;
                if pause.is_none() {
                    self.note_cuts(&skeleton, &mut seen, &mut found, meter)?;
                }
            }
        }
        let (next, panics) = self.global.boundary.came_up();
        found.branches = next;
        for label in found.last.iter().flat_map(|last| &last.next) {
            if !found.branches.contains(label) {
                found.branches.push(label.clone());
            }
        }
        for panic in &panics {
            self.note_panic(panic, &mut found, meter)?;
        }
        Ok((found, classes))
    }
}

impl<'e, E: ComponentChecker + 'e> ExploreComponent<E> for Nested<'e, E> {
    fn kind(&self) -> Kind {
        Kind::Composed
    }

    fn explore(
        &mut self,
        locals: &mut Locals<'_, E>,
        wanted: &Wanted,
        meter: &mut Meter<'_>,
    ) -> Result<Table, Halt> {
        let node = wanted.node;
        // After a pause the skeleton of the parts says how runs begin, not their operations.
        let restriction = Restriction { begins: Vec::new(), ..locals.restriction(wanted) };
        let restriction = restriction.translated_to(&mut self.global.locals.checker, &locals.checker);
        let (found, classes) = self.explore_parts(&restriction, locals.pause_before(node), meter)?;
        let inner = &mut self.global.locals.checker;
        for asked in inner.learned().unwrap_or_default() {
            locals.checker.learn_from(inner, &asked);
        }
        let found = found.translated_to(&mut locals.checker, inner, restriction.component);
        let ends: Vec<usize> = found.last.iter().map(|last| last.point).collect();
        let (table, numbers) = locals.adopt(node, found, meter)?;
        for (point, class) in ends.into_iter().zip(classes) {
            self.classes.insert((node, numbers[point]), class);
        }
        Ok(table)
    }

    fn apart(
        &mut self,
        locals: &mut Locals<'_, E>,
        (node, point): (NodeId, usize),
        meter: &mut Meter<'_>,
    ) -> Result<Vec<usize>, Halt> {
        let Some(Class { skeleton, nodes, points }) = self.classes.get(&(node, point)) else {
            return Ok(vec![point]);
        };
        let skeleton = self.without_environment(skeleton);
        let receptions = self.receptions(&skeleton);
        let (nodes, points) = (nodes.clone(), points.clone());
        let inner = &mut self.global.locals;
        let mut parts: Vec<Vec<usize>> = Vec::new();
        for (node, points) in nodes.iter().zip(&points) {
            let mut of_part = Vec::new();
            for point in points {
                of_part.extend(inner.apart(*node, *point, meter)?);
            }
            parts.push(of_part);
        }
        let sizes: Vec<usize> = parts.iter().map(Vec::len).collect();
        let (component, observed) = (locals.component(node), locals.point(node, point).observed.clone());
        let mut apart = Vec::new();
        for_each_choice(&sizes, &mut |chosen| {
            // There may be very many, although they were few as long as they counted as alike.
            meter.glance(Done::default())?;
            let points: Vec<usize> = parts.iter().zip(chosen).map(|(part, at)| part[*at]).collect();
            let key = (node, skeleton.clone(), points);
            if let Some(known) = self.numbers.get(&key) {
                apart.push(*known);
                return Ok(());
            }
            let way = self.way(&nodes, &key.2);
            let inner = &self.global.locals.checker;
            let way = way
                .iter()
                .map(|(agent, step)| locals.checker.step_of(inner, component, *agent, step))
                .collect();
            let number =
                locals.run_point(node, FoundPoint { way, observed: observed.clone(), alike: Some(1) });
            meter.other_bytes += POINT_BYTES;
            let run = OneRun { skeleton: key.1.clone(), points: key.2.clone(), receptions };
            self.runs.insert((node, number), run);
            self.numbers.insert(key, number);
            apart.push(number);
            Ok(())
        })?;
        Ok(apart)
    }

    fn distinction(&self, node: NodeId, point: usize) -> Option<u128> {
        self.runs.get(&(node, point)).map(|run| run.receptions)
    }

    fn ends_of_parts(&mut self, node: NodeId, point: usize) -> Option<Vec<(u128, u128)>> {
        let Some(Class { nodes, points, .. }) = self.classes.get(&(node, point)) else {
            return Some(Vec::new());
        };
        let inner = &mut self.global.locals;
        let of_part =
            nodes.iter().zip(points).flat_map(|(node, points)| points.iter().map(|at| (*node, *at)));
        Some(of_part.flat_map(|(node, point)| inner.ends(node, point)).collect())
    }
}
