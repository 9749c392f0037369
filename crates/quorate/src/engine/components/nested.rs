//! Components that are systems of components: what such a one can do is composed of what its parts do.
//!
//! From: DEMETER, section 3, where a component may be any part of a system; docs/theory/components.md 9: its local explorer may be any
//! that finds all that can be seen of it. Here it is the global explorer, of the parts: what comes from outside is there
//! from the beginning, as it is for a group, and what is seen outside happens as the local skeleton says. Whether an
//! event is seen outside, and as what, is told by the event itself with its causes; so holding the parts to a skeleton
//! is leaving events out.
//! Differs from a group: runs of parts are not combined with each other, only counted: those of a part that end alike
//! are one, as far as properties and others can see.
//! Known: as in `local.rs`, a run that may stay where it is must be told by itself, so such runs are taken apart again.
//! Invariant: a table is that of the group of all members, but for how runs are told apart.
//! Restriction by: testkit/tests/dir.rs (the counts and verdicts of groups, and of an enumerator of runs), testkit/tests/nested.rs
//! (searches that are stopped and go on, planted bugs, panics, restarts).

use std::collections::{BTreeSet, HashMap, HashSet};

use super::Halt;
use super::checker::{ComponentChecker, MessageId};
use super::events::{Event, EventId, Skeleton, What, for_each_choice, for_each_closed_set};
use super::global::{Global, Situation};
use super::journal::{Judged, hash128};
use super::local::{Explored, FoundPoint, LabelId, Last, Locals, NodeId, Panic, Panicked, Table, Way};
use super::meter::{Done, Meter, POINT_BYTES};
use super::partition::Partition;
use super::runs::{Label, Restriction};
use crate::base::ProcessId;
use crate::engine::Search;

/// What the components of a system are held to that is a component itself.
pub(super) struct Frame {
    /// What comes from outside, with how every skeleton begins.
    begins: Skeleton,
    /// What is seen outside of each member: all of it, in order.
    skeleton: Vec<Vec<Label>>,
    /// What could be seen outside next.
    next: Vec<Label>,
    /// Panics that can come next.
    panics: Vec<(Skeleton, usize, Panic)>,
}

impl Frame {
    /// How many events are seen outside.
    fn seen(&self) -> usize {
        self.skeleton.iter().map(Vec::len).sum()
    }
}

/// What is seen outside of an event.
pub(super) struct Outside {
    /// How many events that are seen outside it follows, by member, itself included if it is one.
    clock: Vec<usize>,
    label: Option<Label>,
}

/// What becomes of an event.
enum Fate {
    /// It can happen.
    Happens,
    /// Something else should be seen outside.
    Deviates,
    /// It would be seen outside next.
    Next(Label),
}

/// Runs of the parts that end alike: in a skeleton, for each part, the node and the points.
struct Class {
    skeleton: Skeleton,
    nodes: Vec<NodeId>,
    points: Vec<Vec<usize>>,
}

/// One of them.
#[derive(Clone)]
struct Pin {
    skeleton: Skeleton,
    points: Vec<usize>,
    /// A hash of who received what from whom: the steps of the members do not tell that of equal messages.
    letters: u128,
}

/// A component that is a system.
pub(super) struct Nested<E: ComponentChecker> {
    global: Global<E>,
    classes: HashMap<(NodeId, usize), Class>,
    pins: HashMap<(NodeId, usize), Pin>,
    /// The numbers of those that were taken apart, by the skeleton, without what comes from outside, and the points.
    numbers: HashMap<(NodeId, Skeleton, Vec<usize>), usize>,
}

/// Runs of a part that end alike.
struct Alike {
    observed: Vec<usize>,
    /// What could be seen outside next.
    next: Vec<Label>,
    points: Vec<usize>,
    traces: u128,
}

impl<E: ComponentChecker> Global<E> {
    /// What is seen outside of an event.
    fn outside(&mut self, event: EventId) -> &Outside {
        if !self.outside.contains_key(&event) {
            let outside = self.look_from_outside(event);
            self.outside.insert(event, outside);
        }
        &self.outside[&event]
    }

    fn look_from_outside(&mut self, event: EventId) -> Outside {
        let Event { component, what, before, received, .. } = self.events.get(event).clone();
        let mut clock = vec![0; self.members.len()];
        // A pause is a device of the search: what comes after it does not follow all that came before.
        for cause in before.into_iter().chain(received.iter().map(|(sender, _)| *sender)) {
            let before = &self.outside(cause).clock;
            clock.iter_mut().zip(before).for_each(|(ours, theirs)| *ours = (*theirs).max(*ours));
        }
        let label = match what {
            What::Interface(label) if component != Partition::OUTSIDE => {
                self.label_outside(component, label, &received, &mut clock)
            }
            What::Interface(_) | What::Pause(..) => None,
        };
        Outside { clock, label }
    }

    fn label_outside(
        &self,
        component: usize,
        label: LabelId,
        received: &[(EventId, usize)],
        clock: &mut [usize],
    ) -> Option<Label> {
        let components = self.locals.checker.components();
        let Label { member, sent, .. } = self.locals.label(label);
        let from_outside = |(sender, at): &(EventId, usize)| {
            let Event { component, what: What::Interface(label), .. } = self.events.get(*sender) else {
                return None;
            };
            (*component == Partition::OUTSIDE).then(|| self.locals.label(*label).sent[*at])
        };
        let mut received: Vec<MessageId> = received.iter().filter_map(from_outside).collect();
        received.sort_unstable();
        let leaves = |message: &MessageId| {
            components.of(self.locals.checker.ends_of(*message).1) == Partition::OUTSIDE
        };
        let sent: Vec<MessageId> = sent.iter().copied().filter(leaves).collect();
        if received.is_empty() && sent.is_empty() {
            return None;
        }
        let process = components.members(component)[*member];
        let member = self.members.binary_search(&process).ok()?;
        clock[member] += 1;
        Some(Label { member, clock: clock.to_vec(), received, sent })
    }

    /// May an event happen, if the system is held to what is seen of it outside?
    fn fate(&mut self, event: EventId) -> Fate {
        let label = self.outside(event).label.clone();
        let (Some(frame), Some(label)) = (&self.frame, label) else { return Fate::Happens };
        let of_member = &frame.skeleton[label.member];
        match of_member.get(label.clock[label.member] - 1) {
            Some(allowed) if *allowed == label => Fate::Happens,
            None if label.clock[label.member] == of_member.len() + 1 => Fate::Next(label),
            _ => Fate::Deviates,
        }
    }

    /// Has everything happened that is to be seen outside?
    pub(super) fn has_all(&mut self, skeleton: &[EventId]) -> bool {
        let Some(wanted) = self.frame.as_ref().map(Frame::seen) else { return true };
        skeleton.iter().filter(|event| self.outside(**event).label.is_some()).count() == wanted
    }

    /// Of some events those that may happen. What could be seen outside next is noted.
    pub(super) fn allowed(&mut self, events: Vec<EventId>, has_all: bool) -> Vec<EventId> {
        if self.frame.is_none() {
            return events;
        }
        let mut allowed = Vec::new();
        for event in events {
            match (self.fate(event), &mut self.frame) {
                (Fate::Happens, _) => allowed.push(event),
                (Fate::Next(label), Some(frame)) if has_all && !frame.next.contains(&label) => {
                    frame.next.push(label);
                }
                (Fate::Next(_) | Fate::Deviates, _) => {}
            }
        }
        allowed
    }

    /// A panic that can come next: inside of a component it counts if all has happened that is to be seen of that.
    /// `false` if nothing holds these components to anything.
    pub(super) fn note_panic(&mut self, skeleton: &Skeleton, component: usize, panic: &Panic) -> bool {
        let has_all = self.has_all(skeleton);
        let Some(frame) = &mut self.frame else { return false };
        if has_all && frame.panics.is_empty() {
            frame.panics.push((skeleton.clone(), component, panic.clone()));
        }
        true
    }

    /// With what every skeleton begins.
    pub(super) fn beginning(&self) -> Skeleton {
        self.frame.as_ref().map_or(Skeleton::new(), |frame| frame.begins.clone())
    }

    /// Of the points where a component that is held may be at the end, those at which it may stay, though it could do
    /// something elsewhere: the events that can happen are given.
    pub(super) fn allowed_pauses(&self, table: &Table, possible: &[EventId]) -> Vec<usize> {
        let received = |event: &EventId| &self.events.get(*event).received;
        let within = |less: &EventId, more: &EventId| {
            received(less).iter().all(|message| received(more).contains(message))
        };
        let label = |event: &EventId| match self.events.get(*event).what {
            What::Interface(label) => Some(label),
            What::Pause(..) => None,
        };
        let stays = |next: &[LabelId]| {
            let own: Vec<&EventId> = possible
                .iter()
                .filter(|event| label(event).is_some_and(|label| next.contains(&label)))
                .collect();
            possible.iter().any(|wanted| !own.iter().any(|event| within(event, wanted)))
        };
        table.last.iter().filter(|(_, next)| stays(next)).map(|(point, _)| *point).collect()
    }

    /// The events that stand for what comes from outside: equal messages, or those of one sender to one receiver, follow
    /// each other.
    fn environment(&mut self, arrivals: &[MessageId]) -> Skeleton {
        let mut last: HashMap<(Option<MessageId>, ProcessId, ProcessId), EventId> = HashMap::new();
        let mut environment = Skeleton::new();
        for &message in arrivals {
            let (from, to) = self.locals.checker.ends_of(message);
            let line = ((!self.is_in_order()).then_some(message), from, to);
            let label = Label { member: 0, clock: Vec::new(), received: Vec::new(), sent: vec![message] };
            let what = What::Interface(self.locals.number_label(label));
            let before = last.get(&line).copied().into_iter().collect();
            let (component, pause, received) = (Partition::OUTSIDE, None, Vec::new());
            let event = self.events.number(Event { component, what, before, pause, received }, what);
            last.insert(line, event);
            environment.push(event);
        }
        environment.sort_unstable();
        environment
    }

    /// A skeleton without what comes from outside: that may be more later, or less of what was not received.
    fn without_environment(&self, skeleton: &Skeleton) -> Skeleton {
        let is_own = |event: &EventId| self.events.get(*event).component != Partition::OUTSIDE;
        skeleton.iter().copied().filter(is_own).collect()
    }

    /// A hash of who received what from whom, the same whatever the numbers.
    fn letters(&self, skeleton: &Skeleton) -> u128 {
        let mut events: HashMap<EventId, (ProcessId, usize)> = HashMap::new();
        let mut done: HashMap<ProcessId, usize> = HashMap::new();
        let mut letters: BTreeSet<_> = BTreeSet::new();
        for &number in skeleton {
            let event = self.events.get(number);
            let What::Interface(label) = event.what else { continue };
            let process =
                self.locals.checker.components().members(event.component)[self.locals.label(label).member];
            let nth = done.entry(process).or_default();
            *nth += 1;
            events.insert(number, (process, *nth));
            let senders = event.received.iter().map(|(sender, at)| (events.get(sender).copied(), *at));
            letters.extend(senders.map(|from| (process, *nth, from)));
        }
        hash128(&letters)
    }

    /// A skeleton in which every component pauses at a point.
    fn pinned(&mut self, pin: &Pin, meter: &mut Meter<'_>) -> Result<Skeleton, Halt> {
        let mut skeleton = pin.skeleton.clone();
        for (component, point) in pin.points.iter().enumerate() {
            let position = self.position(&pin.skeleton, component, meter)?;
            let pause = self.pause_event(component, &position, point.to_owned(), Vec::new());
            skeleton.push(pause);
        }
        skeleton.sort_unstable();
        Ok(skeleton)
    }
}

impl<E: ComponentChecker> Nested<E> {
    pub(super) fn new(checker: E, members: Vec<ProcessId>, in_order: bool, search: &Search) -> Self {
        let mut global = Global::new(checker, in_order, search, None);
        global.members = members;
        let (classes, pins, numbers) = (HashMap::new(), HashMap::new(), HashMap::new());
        Nested { global, classes, pins, numbers }
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

    /// The runs of a part that end in a skeleton, by what properties and others see of it.
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
            if of_next.iter().any(|fate| matches!(fate, Fate::Happens)) {
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

    /// What the members see at points of the parts.
    fn observed(&self, of_parts: &[&[usize]]) -> Vec<usize> {
        let mut observed = vec![0; self.global.members.len()];
        for (part, of_part) in of_parts.iter().enumerate() {
            let members = self.global.locals.checker.components().members(part);
            for (process, number) in members.iter().zip(*of_part) {
                let at = self.global.members.binary_search(process).expect("a part has members of the whole");
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
                let at = self
                    .global
                    .members
                    .binary_search(&members[*agent])
                    .expect("a part has members of the whole");
                way.push((at, step.clone()));
            }
        }
        way
    }

    /// The ends of runs in a skeleton: every combination of ends of the parts.
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

    /// What can be seen in the course of a skeleton, once all has happened that is to be seen outside.
    fn note_sights(
        &mut self,
        skeleton: &Skeleton,
        known: &mut (HashSet<Vec<NodeId>>, HashSet<Vec<usize>>),
        found: &mut Explored<E::Step>,
        meter: &mut Meter<'_>,
    ) -> Result<(), Halt> {
        // What is seen outside has happened, with all its causes.
        let mut has_happened: BTreeSet<EventId> = BTreeSet::new();
        for &event in skeleton.iter().rev() {
            let is_seen = self.global.outside(event).label.is_some()
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
            if !known.0.insert(nodes.clone()) {
                return Ok(());
            }
            let mut shown: Vec<Vec<usize>> = Vec::new();
            for (part, node) in nodes.iter().enumerate() {
                let offers = self.global.offers_for_sights(&cut, part, *node);
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
                if known.1.insert(observed.clone()) {
                    found.shown.insert(found.points.len());
                    found.points.push(FoundPoint { way: self.way(&nodes, &points), observed, alike: None });
                }
                Ok(())
            })
        })
    }

    /// A panic of a part.
    fn note_panic(
        &mut self,
        (skeleton, part, panic): &(Skeleton, usize, Panic),
        found: &mut Explored<E::Step>,
        meter: &mut Meter<'_>,
    ) -> Result<(), Halt> {
        let nodes = self.nodes_in(skeleton, meter)?;
        let mut points = vec![0; nodes.len()];
        points[*part] = panic.point;
        // Whatever the others do there, it goes together.
        for (part, node) in nodes.iter().enumerate() {
            let offers = self.global.offers_for_sights(skeleton, part, *node);
            self.global.locals.table(*node, &offers, meter)?;
        }
        let (step, message) = self.global.locals.panics[panic.number].clone();
        let observed = vec![0; self.global.members.len()];
        found.panics.push(Panicked { point: found.points.len(), step: step.map(|step| (0, step)), message });
        found.points.push(FoundPoint { way: self.way(&nodes, &points), observed, alike: None });
        Ok(())
    }

    /// What the system can do that is held to a local skeleton, in its own numbers; and for each end, what it stands for.
    fn explore(
        &mut self,
        restriction: &Restriction<E::Step>,
        pin: Option<(NodeId, usize)>,
        meter: &mut Meter<'_>,
    ) -> Result<(Explored<E::Step>, Vec<Class>), Halt> {
        let mut begins = self.global.environment(&restriction.arrivals);
        let pinned = |point| self.pins.get(&point).cloned();
        let pin = pin
            .map(|point| pinned(point).expect("a bug in quorate: a system pauses where no run of it does"));
        if let Some(pin) = &pin {
            begins.extend(self.global.pinned(pin, meter)?);
            begins.sort_unstable();
        }
        let (next, panics) = (Vec::new(), Vec::new());
        self.global.restrict(Frame { begins, skeleton: restriction.skeleton.clone(), next, panics });
        let mut bare: Vec<Skeleton> = Vec::new();
        self.global.explore(meter, &mut |_, skeleton, _| {
            bare.push(skeleton.clone());
            Ok(Judged::default())
        })?;
        let mut found = Explored::default();
        let mut classes = Vec::new();
        let mut known = (HashSet::new(), HashSet::new());
        // What begins with a pause is looked at with it, since it is about certain runs; otherwise pauses only help to find
        // things.
        let skeletons = if pin.is_some() { self.global.found().to_vec() } else { bare };
        for skeleton in skeletons {
            if self.global.has_all(&skeleton) {
                self.note_ends(&skeleton, &mut found, &mut classes, meter)?;
                if pin.is_none() {
                    self.note_sights(&skeleton, &mut known, &mut found, meter)?;
                }
            }
        }
        let Some(Frame { next, panics, .. }) = self.global.let_go() else { return Ok((found, classes)) };
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

impl<E: ComponentChecker> Locals<E> {
    /// Is a component a system itself?
    pub(super) fn is_nested(&self, component: usize) -> bool {
        self.nested.contains_key(&component)
    }

    /// What a component can do that is a system itself.
    pub(super) fn compose_inside(
        &mut self,
        node: NodeId,
        offers: &[MessageId],
        meter: &mut Meter<'_>,
    ) -> Result<Table, Halt> {
        let compose =
            |locals: &mut Self, nested: &mut Nested<E>| locals.compose_parts(nested, node, offers, meter);
        self.with_nested(self.component(node), compose).expect("it is a system")
    }

    /// Does something with a component that is a system; nothing with others.
    fn with_nested<T>(
        &mut self,
        component: usize,
        what: impl FnOnce(&mut Self, &mut Nested<E>) -> T,
    ) -> Option<T> {
        let mut nested = self.nested.remove(&component)?;
        let done = what(self, &mut nested);
        self.nested.insert(component, nested);
        Some(done)
    }

    fn compose_parts(
        &mut self,
        nested: &mut Nested<E>,
        node: NodeId,
        offers: &[MessageId],
        meter: &mut Meter<'_>,
    ) -> Result<Table, Halt> {
        // How its runs begin is told by a pin.
        let restriction = Restriction { begins: Vec::new(), ..self.restriction(node, offers) };
        let restriction = restriction.translated_to(&mut nested.global.locals.checker, &self.checker);
        let (found, classes) = nested.explore(&restriction, self.pause_before(node), meter)?;
        let inner = &mut nested.global.locals.checker;
        for asked in inner.learned().unwrap_or_default() {
            self.checker.learn_from(inner, &asked);
        }
        let found = found.translated_to(&mut self.checker, inner, restriction.component);
        let ends: Vec<usize> = found.last.iter().map(|last| last.point).collect();
        let (table, numbers) = self.adopt(node, found, meter)?;
        for (point, class) in ends.into_iter().zip(classes) {
            nested.classes.insert((node, numbers[point]), class);
        }
        Ok(table)
    }

    /// The runs of a component that a point stands for, each by itself.
    pub(super) fn apart(
        &mut self,
        node: NodeId,
        point: usize,
        meter: &mut Meter<'_>,
    ) -> Result<Vec<usize>, Halt> {
        let take_apart =
            |locals: &mut Self, nested: &mut Nested<E>| locals.taken_apart(nested, node, point, meter);
        self.with_nested(self.component(node), take_apart).unwrap_or_else(|| Ok(vec![point]))
    }

    fn taken_apart(
        &mut self,
        nested: &mut Nested<E>,
        node: NodeId,
        point: usize,
        meter: &mut Meter<'_>,
    ) -> Result<Vec<usize>, Halt> {
        let Some(Class { skeleton, nodes, points }) = nested.classes.get(&(node, point)) else {
            return Ok(vec![point]);
        };
        let skeleton = nested.global.without_environment(skeleton);
        let letters = nested.global.letters(&skeleton);
        let (nodes, points) = (nodes.clone(), points.clone());
        let inner = &mut nested.global.locals;
        let mut parts: Vec<Vec<usize>> = Vec::new();
        for (node, points) in nodes.iter().zip(&points) {
            let mut of_part = Vec::new();
            for point in points {
                of_part.extend(inner.apart(*node, *point, meter)?);
            }
            parts.push(of_part);
        }
        let sizes: Vec<usize> = parts.iter().map(Vec::len).collect();
        let (component, observed) = (self.component(node), self.point(node, point).observed.clone());
        let mut apart = Vec::new();
        for_each_choice(&sizes, &mut |chosen| {
            // There may be very many, though few are told as long as they are alike.
            meter.glance(Done::default())?;
            let points: Vec<usize> = parts.iter().zip(chosen).map(|(part, at)| part[*at]).collect();
            let key = (node, skeleton.clone(), points);
            if let Some(known) = nested.numbers.get(&key) {
                apart.push(*known);
                return Ok(());
            }
            let way = nested.way(&nodes, &key.2);
            let inner = &nested.global.locals.checker;
            let told = way
                .iter()
                .map(|(agent, step)| self.checker.step_of(inner, component, *agent, step))
                .collect();
            let number =
                self.run_point(node, FoundPoint { way: told, observed: observed.clone(), alike: Some(1) });
            meter.other_bytes += POINT_BYTES;
            let pin = Pin { skeleton: key.1.clone(), points: key.2.clone(), letters };
            nested.pins.insert((node, number), pin);
            nested.numbers.insert(key, number);
            apart.push(number);
            Ok(())
        })?;
        Ok(apart)
    }

    /// For a run of a system that was taken apart: a hash of what its steps do not tell.
    pub(super) fn letters(&self, node: NodeId, point: usize) -> Option<u128> {
        let nested = self.nested.get(&self.component(node))?;
        nested.pins.get(&(node, point)).map(|pin| pin.letters)
    }

    /// The maximal traces of components that are no systems that a point at the end of a run stands for: hashes, and how
    /// many each is for.
    pub(super) fn ends(&mut self, node: NodeId, point: usize) -> Vec<(u128, u128)> {
        let component = self.component(node);
        let Some(nested) = self.nested.get_mut(&component) else {
            return vec![(self.end(node, point), self.point(node, point).traces)];
        };
        let Some(Class { nodes, points, .. }) = nested.classes.get(&(node, point)) else { return Vec::new() };
        let inner = &mut nested.global.locals;
        let of_part =
            nodes.iter().zip(points).flat_map(|(node, points)| points.iter().map(|at| (*node, *at)));
        of_part.flat_map(|(node, point)| inner.ends(node, point)).collect()
    }
}
