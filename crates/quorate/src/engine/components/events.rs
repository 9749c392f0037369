//! Interface events of the whole system, and skeletons: sets of them that contain the causes of all they contain.
//!
//! From: docs/theory/components.md 1 and 2. An event is what it is because of its causes: the events of its component that it
//! follows and the messages it receives, each named by the event that sent it. A skeleton is then just a set of events,
//! and one is a prefix of another if it is a subset.
//! Invariant: causes have smaller numbers than effects; equal events have one number.
//! Restriction by: the tests below, testkit/tests/dir.rs.

use std::collections::HashMap;

use super::local::{LabelId, NodeId};

pub(super) type EventId = u32;

/// A message between components: the event that sent it and its position among what that event sends.
pub(super) type InterfaceMessage = (EventId, usize);

/// What an event is to its component.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum What {
    /// It receives or sends.
    Interface(LabelId),
    /// The component pauses at a point of a node, until something new is on offer. Nobody sees it: it is a device of
    /// the search (see `local.rs`).
    Pause(NodeId, usize),
}

/// An event with its causes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Event {
    pub(super) component: usize,
    pub(super) what: What,
    /// The last events before it of each process of its component, by causes inside the component.
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
    list: Vec<Event>,
    numbers: HashMap<Event, EventId>,
    /// Each event as it is without pauses.
    bare: Vec<Option<EventId>>,
}

impl Events {
    pub(super) fn get(&self, event: EventId) -> &Event {
        &self.list[event as usize]
    }

    /// The number of an event, if it is known.
    pub(super) fn known(&self, event: &Event) -> Option<EventId> {
        self.numbers.get(event).copied()
    }

    /// The pauses that came since the last thing that others saw of an event's component.
    pub(super) fn pauses_before(&self, event: &Event) -> Vec<EventId> {
        let since = |pause: &EventId| self.get(*pause).before == event.before;
        let first = event.pause.filter(since);
        std::iter::successors(first, |pause| self.get(*pause).pause.filter(since)).collect()
    }

    /// The number of an event. Without pauses it is another, in which what was received before a pause is received by
    /// what comes after it: `bare` says what it is then.
    pub(super) fn number(&mut self, event: Event, bare: What) -> EventId {
        if let Some(known) = self.numbers.get(&event) {
            return *known;
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
        let fresh = EventId::try_from(self.list.len()).expect("fewer events than memory");
        let itself = matches!(event.what, What::Interface(_)).then_some(fresh);
        self.bare.push(bare.or(itself));
        self.list.push(event.clone());
        self.numbers.insert(event, fresh);
        fresh
    }

    /// The events from this one on, each with what it is without pauses.
    pub(super) fn from(&self, from: usize) -> impl Iterator<Item = (&Event, Option<EventId>)> {
        self.list[from..].iter().zip(self.bare[from..].iter().copied())
    }

    pub(super) fn count(&self) -> usize {
        self.list.len()
    }

    /// Adds an event that was known before, with what it is without pauses.
    pub(super) fn restore(&mut self, event: Event, bare: Option<EventId>) {
        let fresh = EventId::try_from(self.list.len()).expect("fewer events than memory");
        self.bare.push(bare);
        self.list.push(event.clone());
        self.numbers.insert(event, fresh);
    }

    /// A skeleton without its pauses.
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
    pub(super) fn max_prefix(&self, skeleton: &[EventId], component: usize, kept: &[EventId]) -> Skeleton {
        self.without(skeleton, |event| {
            self.get(event).component == component && kept.binary_search(&event).is_err()
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

/// Calls something for every set of elements that contains all that its elements need, each once. What an element
/// needs comes before it.
pub(super) fn for_each_closed_set<H>(
    needs: &[Vec<usize>],
    each: &mut dyn FnMut(&[usize]) -> Result<(), H>,
) -> Result<(), H> {
    fn extend<H>(
        needs: &[Vec<usize>],
        from: usize,
        chosen: &mut Vec<usize>,
        each: &mut dyn FnMut(&[usize]) -> Result<(), H>,
    ) -> Result<(), H> {
        each(chosen)?;
        for next in from..needs.len() {
            if needs[next].iter().all(|needed| chosen.binary_search(needed).is_ok()) {
                chosen.push(next);
                extend(needs, next + 1, chosen, each)?;
                chosen.pop();
            }
        }
        Ok(())
    }
    extend(needs, 0, &mut Vec::new(), each)
}

/// Every choice of one out of each of some lists of these sizes.
pub(super) fn for_each_choice<H>(
    sizes: &[usize],
    each: &mut dyn FnMut(&[usize]) -> Result<(), H>,
) -> Result<(), H> {
    if sizes.contains(&0) {
        return Ok(());
    }
    let mut chosen = vec![0; sizes.len()];
    loop {
        each(&chosen)?;
        let Some(next) = (0..sizes.len()).find(|at| chosen[*at] + 1 < sizes[*at]) else { return Ok(()) };
        chosen[next] += 1;
        chosen[..next].fill(0);
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

    /// An event that is called the same without pauses.
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

    #[test]
    fn closed_sets_are_each_found_once() {
        // Two chains of two, of which the second's last needs the first's first.
        let needs = vec![vec![], vec![], vec![0], vec![0, 1]];
        let mut found: Vec<Vec<usize>> = Vec::new();
        let mut note = |set: &[usize]| {
            found.push(set.to_vec());
            Ok::<(), ()>(())
        };
        for_each_closed_set(&needs, &mut note).unwrap();
        found.sort();
        let count = found.len();
        found.dedup();
        // {}, 0, 1, 01, 02, 012, 013, 0123.
        assert_eq!((count, found.len()), (8, 8));
    }

    #[test]
    fn choices_are_each_found_once() {
        let choices = |sizes: &[usize]| {
            let mut found: Vec<Vec<usize>> = Vec::new();
            let mut note = |chosen: &[usize]| {
                found.push(chosen.to_vec());
                Ok::<(), ()>(())
            };
            for_each_choice(sizes, &mut note).unwrap();
            found
        };
        assert_eq!(choices(&[2, 1, 2]), [[0, 0, 0], [1, 0, 0], [0, 0, 1], [1, 0, 1]]);
        assert_eq!(choices(&[]), [[0; 0]]);
        assert!(choices(&[2, 0]).is_empty());
    }
}
