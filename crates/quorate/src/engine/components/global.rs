//! The global explorer: composes what the components do into skeletons of the whole system, until there are no more.
//!
//! From: DEMETER, sections 3.3 and 3.4, composition by substitution; docs/theory/components.md 2 and 5. A skeleton that is found
//! is cut back, for each component and each prefix of what others see of it, to the largest prefix of the whole in
//! which the component got no further (gap 2); whatever else the component can do there makes a new skeleton, which is
//! run to completion in any order, unless a known one begins like it.
//! Differs: what a component can do at a local skeleton is found in one go, for all that is on offer there, so new
//! branches never have to be matched with old skeletons; the index over (component, local skeleton) is the table of
//! nodes. No run is kept: every point of a node has the steps that lead to it, and steps of different components fit
//! together because their skeletons do.
//! Known: finds the skeleton of every maximal run. Take one that is not found, with its pauses, and a known one that has
//! as much in common with it as any. The first event that is missing is possible in the known one, cut back to where
//! its component differs; the skeleton that comes of this has more in common. If no event is missing, the known one
//! goes on where all components of the other could stay, which a pause would have shown.
//! Invariant: every skeleton happens in a run; the known ones are complete, that is, no component can do anything more
//! that others see.
//! Restriction by: testkit/tests/dir.rs (as many runs as an enumerator of runs finds), quorate-zoo/tests/dir.rs.

mod kept;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use super::Halt;
use super::checker::{ComponentChecker, MessageId};
use super::events::{Event, EventId, Events, InterfaceMessage, Skeleton, What, for_each_closed_set};
use super::journal::{Judged, ProgressLog, Record};
use super::local::{Locals, NodeId, Panic, Table, Wanted};
use super::meter::{Done, Meter};
use super::nested::{Frame, Outside};
use super::partition::Partition;
use super::runs::Label;
use crate::base::ProcessId;
use crate::engine::Search;
use crate::kernel::Mutant;

/// Where a component is in a skeleton.
pub(super) struct Position {
    pub(super) node: NodeId,
    /// The interface events of each of its processes.
    events: Vec<Vec<EventId>>,
    /// Its latest pause.
    pause: Option<EventId>,
}

/// What a component can receive in a skeleton.
#[derive(Default)]
pub(super) struct Receivable {
    /// The messages, by what they say, in the form in which messages are kept.
    pub(super) contents: Vec<MessageId>,
    pub(super) messages: Vec<(MessageId, InterfaceMessage)>,
    in_order: bool,
}

/// Where a component is in a skeleton, what is on offer to it, and what it can do.
pub(super) struct Situation {
    pub(super) position: Position,
    offer: Receivable,
    pub(super) table: Arc<Table>,
    /// Has all happened that is to be seen outside?
    has_all: bool,
}

/// A panic that can happen after a skeleton.
pub(super) struct Panicking {
    pub(super) skeleton: Skeleton,
    pub(super) component: usize,
    pub(super) panic: Panic,
}

/// The skeletons of a system.
pub(super) struct Global<E: ComponentChecker> {
    pub(super) locals: Locals<E>,
    pub(super) events: Events,
    in_order: bool,
    mutant: Option<Mutant>,
    found: Vec<Skeleton>,
    /// Which of the found skeletons an event is in.
    containing: HashMap<EventId, Vec<usize>>,
    bare: HashSet<Skeleton>,
    /// How many of the found skeletons have no branches that are not known.
    explored: usize,
    /// What the components are held to, if they are parts of one, and the members of that.
    pub(super) frame: Option<Frame>,
    pub(super) members: Vec<ProcessId>,
    pub(super) outside: HashMap<EventId, Outside>,
    logbook: Option<ProgressLog>,
    /// How many labels and events are kept.
    kept: (usize, usize),
    kept_at: Instant,
}

impl<E: ComponentChecker> Global<E> {
    /// A system whose messages of one sender to one receiver stay in order, or do not.
    pub(super) fn new(checker: E, in_order: bool, search: &Search, log: Option<ProgressLog>) -> Self {
        let mutant = search.tuning.mutant;
        Global {
            locals: Locals::new(checker, in_order, search),
            events: Events::default(),
            in_order,
            mutant,
            found: Vec::new(),
            containing: HashMap::new(),
            bare: HashSet::new(),
            explored: 0,
            frame: None,
            members: Vec::new(),
            outside: HashMap::new(),
            logbook: log,
            kept: (0, 0),
            kept_at: Instant::now(),
        }
    }

    pub(super) fn is_in_order(&self) -> bool {
        self.in_order
    }

    /// Forgets what was found, to find what there is if the components are held to something.
    pub(super) fn restrict(&mut self, frame: Frame) {
        self.frame = Some(frame);
        self.found.clear();
        self.containing.clear();
        self.bare.clear();
        self.explored = 0;
    }

    /// The components are held to nothing any more.
    pub(super) fn let_go(&mut self) -> Option<Frame> {
        self.frame.take()
    }

    /// The skeletons, with pauses.
    pub(super) fn found(&self) -> &[Skeleton] {
        &self.found
    }

    pub(super) fn components(&self) -> usize {
        self.locals.checker.components().count()
    }

    /// How many skeletons there are, pauses apart.
    pub(super) fn skeletons(&self) -> usize {
        self.bare.len()
    }

    /// The longest skeleton.
    pub(super) fn longest(&self) -> usize {
        self.bare.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// Finds all skeletons, and tells each, once and without its pauses, as soon as it is found.
    pub(super) fn explore(
        &mut self,
        meter: &mut Meter<'_>,
        told: &mut dyn FnMut(&mut Self, &Skeleton, &mut Meter<'_>) -> Result<Judged, Halt>,
    ) -> Result<(), Halt> {
        if self.found.is_empty() {
            self.add(self.beginning(), meter, told)?;
        }
        let mut at = self.explored;
        while at < self.found.len() {
            let skeleton = self.found[at].clone();
            for component in 0..self.components() {
                let own = self.events.of(&skeleton, component);
                for kept in self.prefixes(&own) {
                    for branch in self.branches(&skeleton, component, &kept, meter)? {
                        if !self.begins_a_known_one(&branch) {
                            self.add(branch, meter, told)?;
                        }
                    }
                    meter.pass()?;
                }
            }
            at += 1;
            self.explored = at;
            self.keep(&[Record::Explored])?;
            meter.coverage.frontier = (self.found.len() - at) as u64;
        }
        Ok(())
    }

    /// Makes the tables that show what can happen instead of what a skeleton says, and what can be seen in its course. A
    /// panic in any of them comes first: where nothing but a panic can follow, there is nothing to be seen.
    fn prepare_branches(&mut self, skeleton: &Skeleton, meter: &mut Meter<'_>) -> Result<(), Halt> {
        let mut cases = Vec::new();
        for component in 0..self.components() {
            if self.locals.is_enumerated(component) {
                let own = self.events.of(skeleton, component);
                let prefixes = self.prefixes(&own).into_iter();
                let prefix = |kept: Vec<EventId>| self.events.max_prefix(skeleton, component, &kept);
                cases.extend(prefixes.map(|kept| (prefix(kept), component)));
            }
        }
        self.prepare(&cases, meter)?;
        for (prefix, component) in &cases {
            self.situation(prefix, *component, meter)?;
        }
        Ok(())
    }

    /// The prefixes of what a component does.
    fn prefixes(&self, own: &[EventId]) -> Vec<Vec<EventId>> {
        let position = |event: EventId| own.binary_search(&event).ok();
        let needs = |event: &EventId| {
            let event = self.events.get(*event);
            event.before.iter().copied().chain(event.pause).filter_map(position).collect()
        };
        let needs: Vec<Vec<usize>> = own.iter().map(needs).collect();
        let mut prefixes = Vec::new();
        let mut note = |chosen: &[usize]| {
            prefixes.push(chosen.iter().map(|at| own[*at]).collect());
            Ok::<(), std::convert::Infallible>(())
        };
        let Ok(()) = for_each_closed_set(&needs, &mut note);
        if self.frame.is_some() {
            let mut begun = self.beginning();
            begun.retain(|event| position(*event).is_some());
            prefixes.retain(|prefix: &Vec<EventId>| begun.iter().all(|event| prefix.contains(event)));
        }
        if self.mutant == Some(Mutant::NoPrefixes) {
            prefixes.retain(|prefix: &Vec<EventId>| prefix.len() == own.len());
        }
        prefixes
    }

    /// Completes a skeleton and notes it.
    fn add(
        &mut self,
        skeleton: Skeleton,
        meter: &mut Meter<'_>,
        told: &mut dyn FnMut(&mut Self, &Skeleton, &mut Meter<'_>) -> Result<Judged, Halt>,
    ) -> Result<(), Halt> {
        let complete = self.complete(skeleton, meter)?;
        self.prepare_branches(&complete, meter)?;
        let bare = self.events.bare(&complete);
        if self.frame.is_some() {
            // Inside of a component it stands for runs of that, as a point does.
            meter.add(Done { points: 1, ..Done::default() })?;
        }
        let judged = if self.note(complete.clone(), meter) { Some(told(self, &bare, meter)?) } else { None };
        self.keep(&[Record::Found(complete, judged)])
    }

    /// Notes a complete skeleton. `false` if it is known without its pauses.
    fn note(&mut self, complete: Skeleton, meter: &mut Meter<'_>) -> bool {
        let at = self.found.len();
        for event in &complete {
            self.containing.entry(*event).or_default().push(at);
        }
        let bare = self.events.bare(&complete);
        meter.other_bytes += (16 * complete.len() + 4 * bare.len() + 128) as u64;
        self.found.push(complete);
        self.bare.insert(bare)
    }

    /// Lets the components go on, in any order, as long as others see something of it: those whose tables are made
    /// together a step at a time, the others each as far as it can.
    fn complete(&mut self, mut skeleton: Skeleton, meter: &mut Meter<'_>) -> Result<Skeleton, Halt> {
        let (together, one_by_one): (Vec<usize>, Vec<usize>) =
            (0..self.components()).partition(|component| self.locals.is_enumerated(*component));
        loop {
            let before = skeleton.len();
            let cases: Vec<(Skeleton, usize)> =
                together.iter().map(|component| (skeleton.clone(), *component)).collect();
            self.prepare(&cases, meter)?;
            // What one component does next takes nothing from another.
            let mut next = Vec::new();
            for component in &together {
                next.extend(self.first_event(&skeleton, *component, meter)?);
            }
            for event in next {
                insert(&mut skeleton, event);
            }
            for component in &one_by_one {
                while let Some(next) = self.first_event(&skeleton, *component, meter)? {
                    insert(&mut skeleton, next);
                }
            }
            if skeleton.len() == before {
                return Ok(skeleton);
            }
        }
    }

    /// The first of the events of a component that may come next.
    fn first_event(
        &mut self,
        skeleton: &Skeleton,
        component: usize,
        meter: &mut Meter<'_>,
    ) -> Result<Option<EventId>, Halt> {
        meter.pass()?;
        let situation = self.situation(skeleton, component, meter)?;
        Ok(self.next_events(component, &situation).first().copied())
    }

    /// What can happen instead, if a component has got as far as this: every skeleton that comes of it, and is not a
    /// prefix of the one it comes from.
    fn branches(
        &mut self,
        skeleton: &Skeleton,
        component: usize,
        kept: &[EventId],
        meter: &mut Meter<'_>,
    ) -> Result<Vec<Skeleton>, Halt> {
        let prefix = self.events.max_prefix(skeleton, component, kept);
        let situation = self.situation(&prefix, component, meter)?;
        let mut next = self.next_events(component, &situation);
        if self.mutant == Some(Mutant::NoReceptions) {
            let own = self.events.of(skeleton, component);
            let mut after = own.into_iter().filter(|event| kept.binary_search(event).is_err());
            let follows = after.next().and_then(|event| self.sent(event));
            next.retain(|event| self.sent(*event) != follows);
        }
        if self.mutant != Some(Mutant::NoRests) {
            next.extend(self.next_pauses(component, &situation, &next, meter)?);
        }
        next.retain(|event| skeleton.binary_search(event).is_err());
        let branch = |event| {
            let mut branch = prefix.clone();
            insert(&mut branch, event);
            branch
        };
        Ok(next.into_iter().map(branch).collect())
    }

    /// What an event sends.
    fn sent(&self, event: EventId) -> Option<&[MessageId]> {
        let What::Interface(label) = self.events.get(event).what else { return None };
        Some(&self.locals.label(label).sent)
    }

    /// Where a component is in a skeleton.
    pub(super) fn position(
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

    /// Makes the tables of some components, each in a skeleton, together. What they are asked for may show which others
    /// are needed.
    fn prepare(&mut self, cases: &[(Skeleton, usize)], meter: &mut Meter<'_>) -> Result<(), Halt> {
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

    /// The table that is needed next to know what a component can do in a skeleton, if it is not known.
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

    /// What a component can receive: what was sent to it and is not received yet.
    pub(super) fn receivable(&self, skeleton: &[EventId], component: usize) -> Receivable {
        let checker = &self.locals.checker;
        let inside = |process| checker.components().of(process) == component;
        let events = skeleton.iter().map(|event| self.events.get(*event));
        let own = events.filter(|event| event.component == component);
        let received: Vec<InterfaceMessage> = own.flat_map(|event| event.received.iter().copied()).collect();
        let mut offer = Receivable { in_order: self.in_order, ..Receivable::default() };
        for &event in skeleton {
            let What::Interface(label) = self.events.get(event).what else { continue };
            for (at, &message) in self.locals.label(label).sent.iter().enumerate() {
                // The events of a process follow each other, so their numbers tell which was first.
                if inside(checker.ends_of(message).1) && !received.contains(&(event, at)) {
                    offer.messages.push((message, (event, at)));
                }
            }
        }
        offer.contents = offer.messages.iter().map(|(message, _)| *message).collect();
        if self.frame.is_some() && !self.in_order {
            // Of equal messages from outside it does not matter which.
            let mut known = HashSet::new();
            let from_outside =
                |(sender, _): &InterfaceMessage| self.events.get(*sender).component == Partition::OUTSIDE;
            offer.messages.retain(|(message, from)| !from_outside(from) || known.insert(*message));
        }
        self.locals.normalise(&mut offer.contents);
        offer
    }

    /// With which messages on offer there is a table that shows all that can be seen of a component at a node. Where runs
    /// are enumerated, what is received is seen, so what is on offer makes no difference.
    pub(super) fn offers_for_sights(
        &mut self,
        skeleton: &[EventId],
        component: usize,
        node: NodeId,
    ) -> Vec<MessageId> {
        let known = self.locals.is_enumerated(component).then(|| self.locals.sound_table(node)).flatten();
        known.unwrap_or_else(|| self.receivable(skeleton, component).contents)
    }

    /// Where a component is in a skeleton and what it can do there; a panic that can come next ends the search.
    pub(super) fn situation(
        &mut self,
        skeleton: &Skeleton,
        component: usize,
        meter: &mut Meter<'_>,
    ) -> Result<Situation, Halt> {
        let position = self.position(skeleton, component, meter)?;
        let offer = self.receivable(skeleton, component);
        let table = self.locals.table(position.node, &offer.contents, meter)?;
        if let Some(panic) = table.panics.first().cloned()
            && !self.note_panic(skeleton, component, &panic)
        {
            let skeleton = skeleton.clone();
            return Err(Halt::Panicking(Box::new(Panicking { skeleton, component, panic })));
        }
        let has_all = self.has_all(skeleton);
        Ok(Situation { position, offer, table, has_all })
    }

    /// The interface events of a component that may come next.
    fn next_events(&mut self, component: usize, situation: &Situation) -> Vec<EventId> {
        let possible = self.possible_events(component, situation);
        self.allowed(possible, situation.has_all)
    }

    /// The interface events of a component that it can do next, whatever it is held to.
    pub(super) fn possible_events(&mut self, component: usize, situation: &Situation) -> Vec<EventId> {
        let Situation { position, offer, table, .. } = situation;
        let mut next = Vec::new();
        for &branch in &table.branches {
            let Label { member, clock, received, .. } = self.locals.label(branch).clone();
            let last = |(process, known): (usize, &usize)| {
                let before = if process == member { known.checked_sub(2) } else { known.checked_sub(1) };
                before.map(|at| position.events[process][at])
            };
            let before: Vec<EventId> = clock.iter().enumerate().filter_map(last).collect();
            for received in offer.ways_to_receive(&received, |message| self.locals.checker.ends_of(message)) {
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
    fn next_pauses(
        &mut self,
        component: usize,
        situation: &Situation,
        events: &[EventId],
        meter: &mut Meter<'_>,
    ) -> Result<Vec<EventId>, Halt> {
        let Situation { position, offer, table, .. } = situation;
        let is_held = self.frame.is_some() && self.mutant != Some(Mutant::NoHeldRests);
        let pauses = if is_held { self.allowed_pauses(table, events) } else { table.pauses.clone() };
        let mut apart = Vec::new();
        for point in pauses {
            apart.extend(self.locals.apart(position.node, point, meter)?);
        }
        let mut next = Vec::new();
        for point in apart {
            let taken = &self.locals.point(position.node, point).taken;
            for received in offer.ways_to_receive(taken, |message| self.locals.checker.ends_of(message)) {
                next.push(self.pause_event(component, position, point, received));
            }
        }
        Ok(next)
    }

    /// The event that a component pauses at a point of its node.
    pub(super) fn pause_event(
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

    /// In how many ways messages with these contents can be taken from what is on offer.
    pub(super) fn ways_to_take(&self, offers: &[MessageId], taken: &[MessageId]) -> u128 {
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

    /// Is this a prefix of a skeleton that is known?
    fn begins_a_known_one(&self, skeleton: &Skeleton) -> bool {
        let containing = |event: &EventId| self.containing.get(event).map_or(&[][..], Vec::as_slice);
        let Some(fewest) = skeleton.iter().map(containing).min_by_key(|known| known.len()) else {
            return !self.found.is_empty();
        };
        fewest.iter().any(|known| {
            let mut remaining = self.found[*known].iter();
            skeleton.iter().all(|event| remaining.any(|other| other == event))
        })
    }
}

impl Receivable {
    /// Every choice of messages that say this; in order, there is one.
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
            // Of equal messages a set is chosen: each comes after those chosen before it.
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

fn insert(skeleton: &mut Skeleton, event: EventId) {
    if let Err(position) = skeleton.binary_search(&event) {
        skeleton.insert(position, event);
    }
}
