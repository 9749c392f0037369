//! Interface events of the whole system, and skeletons: sets of events that contain the causes of all they contain.
//!
//! From: docs/theory/components.md 1 and 2. An event is identified by its causes: the events of its component that it
//! follows and the messages it receives, each named by the event that sent it. So a skeleton is just a set of events,
//! and one is a prefix of another if it is a subset.
//! Invariant: causes have smaller numbers than effects; equal events have one number.
//! Held by: the tests below, testkit/tests/dir.rs.

use super::embedded::MessageId;
use crate::base::Numbering;

pub(super) type EventId = u32;
/// What others see of an operation, by number: see [`Label`].
pub(super) type LabelId = u32;
/// A local skeleton of a component, by number (`local/tables.rs`).
pub(super) type NodeId = usize;

/// What others see of an operation.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Label {
    /// The process that acts, by its position in its component.
    pub(super) member: usize,
    /// How many interface events of each member it follows, itself included.
    pub(super) clock: Vec<usize>,
    pub(super) received: Vec<MessageId>,
    pub(super) sent: Vec<MessageId>,
}

/// A message between components: the event that sent it and its position among what that event sends.
pub(super) type InterfaceMessage = (EventId, usize);

/// What happens in an event.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum What {
    /// The component receives or sends.
    Interface(LabelId),
    /// The component pauses at a point of a node, until it can receive something new. Nobody sees it: pauses are a
    /// device of the search (see `local/tables.rs`).
    Pause(NodeId, usize),
}

/// An event with its causes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Event {
    pub(super) component: usize,
    pub(super) what: What,
    /// For each process of the component the last event that this one follows, by causes inside the component.
    pub(super) before: Vec<EventId>,
    /// The pause that it follows.
    pub(super) pause: Option<EventId>,
    pub(super) received: Vec<InterfaceMessage>,
}

impl Event {
    /// Its immediate causes.
    pub(super) fn causes(&self) -> impl Iterator<Item = EventId> {
        let senders = self.received.iter().map(|(sender, _)| *sender);
        self.before.iter().copied().chain(self.pause).chain(senders)
    }
}

/// A set of events with all their causes, in ascending order.
pub(super) type Skeleton = Vec<EventId>;

/// All events known so far.
#[derive(Default)]
pub(super) struct Events {
    numbers: Numbering<Event>,
    /// For each event the one that happens in its place if no component ever pauses; `None` for pauses.
    bare: Vec<Option<EventId>>,
}

impl Events {
    pub(super) fn get(&self, event: EventId) -> &Event {
        self.numbers.value(event)
    }

    /// The number of an event, if it is known.
    pub(super) fn known(&self, event: &Event) -> Option<EventId> {
        self.numbers.find(event)
    }

    /// The pauses of an event's component since others last saw something of it.
    pub(super) fn pauses_before(&self, event: &Event) -> Vec<EventId> {
        let since = |pause: &EventId| self.get(*pause).before == event.before;
        let first = event.pause.filter(since);
        std::iter::successors(first, |pause| self.get(*pause).pause.filter(since)).collect()
    }

    /// The number of an event. If no component ever paused, another event would happen in its place: one that also
    /// receives what the component received before it paused, and whose causes have no pauses either. `bare` is what
    /// happens in that event.
    pub(super) fn number(&mut self, event: Event, bare: What) -> EventId {
        if let Some(known) = self.known(&event) {
            return known;
        }
        let without_pauses = match event.what {
            What::Pause(..) => None,
            What::Interface(_) => {
                let pauses = self.pauses_before(&event);
                let earlier = pauses.iter().flat_map(|pause| &self.get(*pause).received);
                let of = |event: &EventId| self.bare[*event as usize];
                let received = event.received.iter().chain(earlier);
                let mut received: Vec<InterfaceMessage> =
                    received.filter_map(|(from, at)| Some((of(from)?, *at))).collect();
                received.sort_unstable();
                let before = event.before.iter().filter_map(of).collect();
                Some(Event { component: event.component, what: bare, before, pause: None, received })
            }
        };
        let bare = without_pauses.filter(|other| *other != event).map(|other| self.number(other, bare));
        let is_interface = matches!(event.what, What::Interface(_));
        let fresh = self.numbers.number(event);
        self.bare.push(bare.or(is_interface.then_some(fresh)));
        fresh
    }

    /// The events from this one on, each with the one that happens in its place without pauses.
    pub(super) fn from(&self, from: usize) -> impl Iterator<Item = (&Event, Option<EventId>)> {
        self.numbers.values()[from..].iter().zip(self.bare[from..].iter().copied())
    }

    pub(super) fn count(&self) -> usize {
        self.numbers.len()
    }

    /// Adds an event of an earlier search. Two pauses that differed there may be found again as one: the event then has
    /// two numbers, as the log does.
    pub(super) fn restore(&mut self, event: Event, bare: Option<EventId>) {
        self.numbers.append(event);
        self.bare.push(bare);
    }

    /// A skeleton as it is if no component ever pauses.
    pub(super) fn bare(&self, skeleton: &[EventId]) -> Skeleton {
        let mut bare: Skeleton = skeleton.iter().filter_map(|event| self.bare[*event as usize]).collect();
        bare.sort_unstable();
        bare
    }

    /// The events of a component in a skeleton.
    pub(super) fn of(&self, skeleton: &[EventId], component: usize) -> Vec<EventId> {
        skeleton.iter().copied().filter(|event| self.get(*event).component == component).collect()
    }

    /// The largest prefix of a skeleton in which a component has these events and no others.
    pub(super) fn max_prefix(&self, skeleton: &[EventId], component: usize, own: &[EventId]) -> Skeleton {
        self.without(skeleton, |event| {
            self.get(event).component == component && own.binary_search(&event).is_err()
        })
    }

    /// What is left of a skeleton without some events and everything that follows one of them.
    pub(super) fn without(&self, skeleton: &[EventId], left_out: impl Fn(EventId) -> bool) -> Skeleton {
        let mut prefix = Skeleton::with_capacity(skeleton.len());
        for &event in skeleton {
            let caused = |cause: EventId| prefix.binary_search(&cause).is_ok();
            if !left_out(event) && self.get(event).causes().all(caused) {
                prefix.push(event);
            }
        }
        prefix
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(component: usize, label: LabelId, before: Option<EventId>, from: Option<EventId>) -> Event {
        Event {
            component,
            what: What::Interface(label),
            before: before.into_iter().collect(),
            pause: None,
            received: from.into_iter().map(|from| (from, 0)).collect(),
        }
    }

    /// Numbers an event whose label is the same without pauses.
    fn note(events: &mut Events, event: Event) -> EventId {
        let what = event.what;
        events.number(event, what)
    }

    #[test]
    fn the_largest_prefix_loses_what_follows() {
        let mut events = Events::default();
        for (component, before, from) in [
            (0, None, None),
            (1, None, Some(0)),
            (0, Some(0), None),
            (2, None, Some(2)),
            (1, Some(1), Some(2)),
        ] {
            note(&mut events, event(component, 0, before, from));
        }
        let all = [0, 1, 2, 3, 4];
        assert_eq!(events.max_prefix(&all, 0, &[0]), [0, 1]);
        assert_eq!(events.max_prefix(&all, 1, &[]), [0, 2, 3]);
        assert_eq!(events.max_prefix(&all, 2, &[]), [0, 1, 2, 4]);
    }

    #[test]
    fn pauses_can_be_taken_out() {
        let mut events = Events::default();
        let a = note(&mut events, event(0, 0, None, None));
        let pause = Event { what: What::Pause(7, 0), ..event(1, 0, None, None) };
        let pause = note(&mut events, pause);
        let b = note(&mut events, Event { pause: Some(pause), ..event(1, 1, None, Some(a)) });
        let c = note(&mut events, event(0, 2, Some(a), Some(b)));
        let plain = note(&mut events, event(1, 1, None, Some(a)));
        let after = note(&mut events, event(0, 2, Some(a), Some(plain)));
        assert_eq!(events.bare(&[a, pause, b, c]), vec![a, plain, after]);
        assert!(b > plain && c > after, "causes come first");
    }
}
