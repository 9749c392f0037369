//! What a component can do in a skeleton: where it is, what it can receive, and which events can come next.

use std::collections::HashSet;
use std::sync::Arc;

use super::boundary::Fate;
use super::skeletons::Global;
use crate::base::Mutant;
use crate::engine::components::embedded::{ComponentChecker, MessageId};
use crate::engine::components::events::{
    Event, EventId, InterfaceMessage, Label, LabelId, NodeId, Skeleton, What,
};
use crate::engine::components::local::{Locals, Table, Wanted};
use crate::engine::components::meter::{Halt, Meter, Panicking};
use crate::engine::components::partition::Partition;

/// Where a component is in a skeleton.
pub(crate) struct Position {
    pub(crate) node: NodeId,
    /// The interface events of each of its processes.
    events: Vec<Vec<EventId>>,
    /// Its latest pause.
    pause: Option<EventId>,
}

/// What a component can receive in a skeleton: what was sent to it and is not received yet.
#[derive(Default)]
pub(crate) struct Receivable {
    /// The messages by content, in the order in which messages are compared.
    pub(crate) contents: Vec<MessageId>,
    /// Each message with where it comes from.
    pub(crate) messages: Vec<(MessageId, InterfaceMessage)>,
    in_order: bool,
}

/// Where a component is in a skeleton, what it can receive, and what it can do.
pub(crate) struct Situation {
    pub(crate) position: Position,
    receivable: Receivable,
    pub(crate) table: Arc<Table>,
    /// Has everything happened that the outside is to see?
    has_all: bool,
}

impl<E: ComponentChecker> Global<'_, E> {
    /// Where a component is in a skeleton.
    pub(crate) fn position(
        &mut self,
        skeleton: &[EventId],
        component: usize,
        meter: &mut Meter<'_>,
    ) -> Result<Position, Halt> {
        loop {
            match self.position_if_known(skeleton, component) {
                Ok(position) => return Ok(position),
                Err(wanted) => {
                    assert!(!self.locals.knows(&wanted), "a bug in quorate: an event cannot happen that did");
                    self.locals.table(wanted.node, &wanted.offers, meter)?;
                }
            }
        }
    }

    /// Makes the tables that are needed to know what some components can do, each in a skeleton. Tables that are made
    /// may show that others are needed.
    pub(super) fn prepare(&mut self, cases: &[(Skeleton, usize)], meter: &mut Meter<'_>) -> Result<(), Halt> {
        loop {
            let wanted: Vec<Wanted> =
                cases.iter().filter_map(|(skeleton, component)| self.wanted(skeleton, *component)).collect();
            if wanted.is_empty() {
                return Ok(());
            }
            let is_known = wanted.iter().all(|wanted| self.locals.knows(wanted));
            assert!(!is_known, "a bug in quorate: an event cannot happen that did");
            self.locals.make(wanted, meter)?;
        }
    }

    /// The table that is needed next to know what a component can do in a skeleton, unless all are known.
    fn wanted(&mut self, skeleton: &[EventId], component: usize) -> Option<Wanted> {
        let node = match self.position_if_known(skeleton, component) {
            Ok(position) => position.node,
            Err(wanted) => return Some(wanted),
        };
        let wanted = Wanted { node, offers: self.receivable(skeleton, component).contents };
        (!self.locals.knows(&wanted)).then_some(wanted)
    }

    /// Where a component is in a skeleton, or the table that would show it.
    fn position_if_known(&mut self, skeleton: &[EventId], component: usize) -> Result<Position, Wanted> {
        let members = self.locals.checker.components().members(component).len();
        let mut position =
            Position { node: Locals::<E>::root(component), events: vec![Vec::new(); members], pause: None };
        for event in self.events.of(skeleton, component) {
            position.node = match self.events.get(event).what {
                What::Interface(label) => {
                    position.events[self.locals.label(label).member].push(event);
                    self.locals.child(position.node, label)?
                }
                What::Pause(node, point) => {
                    position.pause = Some(event);
                    self.locals.pause(node, point)
                }
            };
        }
        Ok(position)
    }

    /// What a component can receive.
    pub(crate) fn receivable(&self, skeleton: &[EventId], component: usize) -> Receivable {
        let checker = &self.locals.checker;
        let inside = |process| checker.components().of(process) == component;
        let events = skeleton.iter().map(|event| self.events.get(*event));
        let own = events.filter(|event| event.component == component);
        let received: Vec<InterfaceMessage> = own.flat_map(|event| event.received.iter().copied()).collect();
        let mut receivable = Receivable { in_order: self.in_order, ..Receivable::default() };
        for &event in skeleton {
            let What::Interface(label) = self.events.get(event).what else { continue };
            for (at, &message) in self.locals.label(label).sent.iter().enumerate() {
                // The events of a process follow each other, so the order of their numbers is that of sending.
                if inside(checker.ends_of(message).1) && !received.contains(&(event, at)) {
                    receivable.messages.push((message, (event, at)));
                }
            }
        }
        receivable.contents = receivable.messages.iter().map(|(message, _)| *message).collect();
        if !self.boundary.is_open() && !self.in_order {
            // Equal messages from outside count once: it makes no difference which is taken.
            let mut known = HashSet::new();
            let from_outside =
                |(sender, _): &InterfaceMessage| self.events.get(*sender).component == Partition::OUTSIDE;
            receivable.messages.retain(|(message, from)| !from_outside(from) || known.insert(*message));
        }
        self.locals.normalise(&mut receivable.contents);
        receivable
    }

    /// Messages on offer with which there is a table that shows all that properties can see of a component at a node.
    /// Where runs are enumerated, receptions are events: then every table of the node shows it.
    pub(crate) fn offers_for_view(
        &mut self,
        skeleton: &[EventId],
        component: usize,
        node: NodeId,
    ) -> Vec<MessageId> {
        let known = self.locals.is_enumerated(component).then(|| self.locals.sound_table(node)).flatten();
        known.unwrap_or_else(|| self.receivable(skeleton, component).contents)
    }

    /// Where a component is in a skeleton and what it can do there. A panic that can come next ends the search.
    pub(crate) fn situation(
        &mut self,
        skeleton: &Skeleton,
        component: usize,
        meter: &mut Meter<'_>,
    ) -> Result<Situation, Halt> {
        let position = self.position(skeleton, component, meter)?;
        let receivable = self.receivable(skeleton, component);
        let table = self.locals.table(position.node, &receivable.contents, meter)?;
        let has_all = self.has_all(skeleton);
        if let Some(panic) = table.panics.first() {
            let noted = self.boundary.note_panic(|| (skeleton.clone(), component, panic.clone()), has_all);
            if !noted {
                let (skeleton, panic) = (skeleton.clone(), panic.clone());
                return Err(Halt::Panicking(Box::new(Panicking { skeleton, component, panic })));
            }
        }
        Ok(Situation { position, receivable, table, has_all })
    }

    /// Has everything happened in a skeleton that the outside is to see?
    pub(crate) fn has_all(&mut self, skeleton: &[EventId]) -> bool {
        self.boundary.has_all(skeleton, &self.events, &self.locals)
    }

    /// Does the outside see an event?
    pub(crate) fn is_seen_outside(&mut self, event: EventId) -> bool {
        self.boundary.is_seen(event, &self.events, &self.locals)
    }

    /// Does an event go with what the outside is to see?
    pub(crate) fn fate(&mut self, event: EventId) -> Fate {
        self.boundary.fate(event, &self.events, &self.locals)
    }

    /// The interface events of a component that may come next.
    pub(super) fn next_events(&mut self, component: usize, situation: &Situation) -> Vec<EventId> {
        let possible = self.possible_events(component, situation);
        self.boundary.allowed(possible, situation.has_all, &self.events, &self.locals)
    }

    /// The interface events of a component that are possible next, whether the outside may see them or not.
    pub(crate) fn possible_events(&mut self, component: usize, situation: &Situation) -> Vec<EventId> {
        let Situation { position, receivable, table, .. } = situation;
        let mut next = Vec::new();
        for &branch in &table.branches {
            let Label { member, clock, received, .. } = self.locals.label(branch).clone();
            let last = |(process, known): (usize, &usize)| {
                let before = if process == member { known.checked_sub(2) } else { known.checked_sub(1) };
                before.map(|at| position.events[process][at])
            };
            let before: Vec<EventId> = clock.iter().enumerate().filter_map(last).collect();
            for received in
                receivable.ways_to_receive(&received, |message| self.locals.checker.ends_of(message))
            {
                let (before, pause) = (before.clone(), position.pause);
                let event = Event { component, what: What::Interface(branch), before, pause, received };
                next.push(self.number_event(event));
            }
        }
        next
    }

    /// The number of an event.
    fn number_event(&mut self, event: Event) -> EventId {
        let What::Interface(label) = event.what else { return self.events.number(event.clone(), event.what) };
        if let Some(known) = self.events.known(&event) {
            return known;
        }
        let mut bare = self.locals.label(label).clone();
        for pause in self.events.pauses_before(&event) {
            if let What::Pause(node, point) = self.events.get(pause).what {
                let taken = &self.locals.point(node, point).taken;
                if !taken.is_empty() {
                    bare.received = self.locals.joined(taken, &bare.received);
                }
            }
        }
        let bare = self.locals.number_label(bare);
        self.events.number(event, What::Interface(bare))
    }

    /// The pauses of a component that can come next, if these events can.
    pub(super) fn next_pauses(
        &mut self,
        component: usize,
        situation: &Situation,
        events: &[EventId],
        meter: &mut Meter<'_>,
    ) -> Result<Vec<EventId>, Halt> {
        let Situation { position, receivable, table, .. } = situation;
        let is_restricted = !self.boundary.is_open() && !self.mutants.has(Mutant::NoRestrictedPauses);
        let pauses = if is_restricted { self.allowed_pauses(table, events) } else { table.pauses.clone() };
        let mut apart = Vec::new();
        for point in pauses {
            apart.extend(self.locals.apart(position.node, point, meter)?);
        }
        let mut next = Vec::new();
        for point in apart {
            let taken = &self.locals.point(position.node, point).taken;
            for received in receivable.ways_to_receive(taken, |message| self.locals.checker.ends_of(message))
            {
                next.push(self.pause_event(component, position, point, received));
            }
        }
        Ok(next)
    }

    /// The points at which a component inside a boundary may pause, if these events are possible and allowed: the
    /// ends of runs such that one of the events could happen with messages with which none of the run's own events
    /// could.
    fn allowed_pauses(&self, table: &Table, possible: &[EventId]) -> Vec<usize> {
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

    /// The event in which a component pauses at a point of its node.
    pub(crate) fn pause_event(
        &mut self,
        component: usize,
        position: &Position,
        point: usize,
        received: Vec<InterfaceMessage>,
    ) -> EventId {
        let what = What::Pause(position.node, point);
        let before = position.events.iter().filter_map(|events| events.last().copied()).collect();
        self.number_event(Event { component, what, before, pause: position.pause, received })
    }

    /// In how many ways messages with these contents can be taken from those on offer.
    pub(crate) fn ways_to_take(&self, offers: &[MessageId], taken: &[MessageId]) -> u128 {
        if self.in_order {
            return 1;
        }
        let copies =
            |of: &[MessageId], message: MessageId| of.iter().filter(|other| **other == message).count();
        let mut ways: u128 = 1;
        for chosen in taken.chunk_by(|one, other| one == other) {
            let there = copies(offers, chosen[0]);
            for at in 0..chosen.len() {
                ways = ways.saturating_mul((there - at) as u128) / (at + 1) as u128;
            }
        }
        ways
    }
}

impl Receivable {
    /// Every choice of messages with these contents; where channels keep their order there is one.
    fn ways_to_receive<T: PartialEq>(
        &self,
        contents: &[MessageId],
        ends_of: impl Fn(MessageId) -> T,
    ) -> Vec<Vec<InterfaceMessage>> {
        let mut ways: Vec<Vec<InterfaceMessage>> = vec![Vec::new()];
        for (at, content) in contents.iter().enumerate() {
            let of_kind = |message: MessageId| {
                if self.in_order { ends_of(message) == ends_of(*content) } else { message == *content }
            };
            let messages = self.messages.iter().filter(|(message, _)| of_kind(*message));
            let messages: Vec<InterfaceMessage> = messages.map(|(_, message)| *message).collect();
            let earlier = contents[..at].iter().filter(|earlier| of_kind(**earlier)).count();
            if self.in_order {
                ways[0].push(messages[earlier]);
                continue;
            }
            // Equal messages are chosen as a set: each comes after those chosen before it.
            let with = |way: &Vec<InterfaceMessage>| {
                let last = (earlier > 0).then(|| way[at - 1]);
                let later = messages.iter().filter(|message| last.is_none_or(|last| last < **message));
                later.map(|message| [way.as_slice(), &[*message]].concat()).collect::<Vec<_>>()
            };
            ways = ways.iter().flat_map(with).collect();
        }
        for way in &mut ways {
            way.sort_unstable();
        }
        ways
    }
}
