//! What lies outside a system: nothing, or the rest of a larger system of which it is a component.
//!
//! From: docs/theory/components.md 9. A system inside a component is restricted to a local skeleton: what the outside
//! sees of it happens as the skeleton says. An event and its causes show whether the outside sees it, and as what; so
//! to restrict the parts is to leave events out.
//! Held by: testkit/tests/dir.rs and testkit/tests/nested.rs, through `nested.rs`.

use std::collections::HashMap;

use crate::base::{ProcessId, join};
use crate::engine::components::embedded::{ComponentChecker, MessageId};
use crate::engine::components::events::{Event, EventId, Events, Label, LabelId, Skeleton, What};
use crate::engine::components::local::Locals;
use crate::engine::components::meter::Panic;
use crate::engine::components::partition::Partition;

/// What lies outside a system.
pub(crate) enum Boundary {
    /// Nothing: it is the whole system.
    Open,
    /// The rest of a larger system.
    Inside(Box<Inside>),
}

/// A system inside a component, restricted to what the outside sees of it.
pub(crate) struct Inside {
    /// The processes of the component.
    members: Vec<ProcessId>,
    /// The events with which every skeleton begins: the messages from outside, and pauses.
    begins: Skeleton,
    /// All that the outside sees of each member, in order.
    skeleton: Vec<Vec<Label>>,
    /// What the outside could see next.
    next: Vec<Label>,
    /// Panics that can come next: where, and of which part.
    panics: Vec<(Skeleton, usize, Panic)>,
    seen: HashMap<EventId, SeenOutside>,
}

/// What the outside sees of an event.
struct SeenOutside {
    /// How many events of each member that the outside sees this one follows, itself included if the outside sees it.
    clock: Vec<usize>,
    label: Option<Label>,
}

/// Does an event go with what the outside is to see?
pub(crate) enum Fate {
    Allowed,
    /// The outside would see something else than it should.
    Deviates,
    /// The outside would see it, after all that it should see of this member.
    Next(Label),
}

impl Boundary {
    /// The boundary of a component with these members. It has to be restricted before it is explored.
    pub(crate) fn inside(members: Vec<ProcessId>) -> Self {
        Boundary::Inside(Box::new(Inside {
            skeleton: vec![Vec::new(); members.len()],
            members,
            begins: Skeleton::new(),
            next: Vec::new(),
            panics: Vec::new(),
            seen: HashMap::new(),
        }))
    }

    pub(crate) fn is_open(&self) -> bool {
        matches!(self, Boundary::Open)
    }

    /// From now on every skeleton begins like this, and the outside is to see exactly this of each member.
    pub(super) fn restrict(&mut self, begins: Skeleton, skeleton: Vec<Vec<Label>>) {
        if let Boundary::Inside(inside) = self {
            (inside.begins, inside.skeleton) = (begins, skeleton);
            inside.next.clear();
            inside.panics.clear();
        }
    }

    /// What came up under the last restriction: what the outside could see next, and panics that can come next.
    pub(crate) fn came_up(&mut self) -> (Vec<Label>, Vec<(Skeleton, usize, Panic)>) {
        match self {
            Boundary::Open => (Vec::new(), Vec::new()),
            Boundary::Inside(inside) => {
                (std::mem::take(&mut inside.next), std::mem::take(&mut inside.panics))
            }
        }
    }

    /// The processes inside.
    pub(crate) fn members(&self) -> &[ProcessId] {
        match self {
            Boundary::Open => &[],
            Boundary::Inside(inside) => &inside.members,
        }
    }

    /// The events with which every skeleton begins.
    pub(super) fn beginning(&self) -> Skeleton {
        match self {
            Boundary::Open => Skeleton::new(),
            Boundary::Inside(inside) => inside.begins.clone(),
        }
    }

    /// Does the outside see an event?
    pub(super) fn is_seen<E: ComponentChecker>(
        &mut self,
        event: EventId,
        events: &Events,
        locals: &Locals<'_, E>,
    ) -> bool {
        match self {
            Boundary::Open => false,
            Boundary::Inside(inside) => inside.seen(event, events, locals).label.is_some(),
        }
    }

    /// Has everything happened in a skeleton that the outside is to see?
    pub(super) fn has_all<E: ComponentChecker>(
        &mut self,
        skeleton: &[EventId],
        events: &Events,
        locals: &Locals<'_, E>,
    ) -> bool {
        match self {
            Boundary::Open => true,
            Boundary::Inside(inside) => {
                let is_seen = |event: &&EventId| inside.seen(**event, events, locals).label.is_some();
                let seen = skeleton.iter().filter(is_seen).count();
                seen == inside.skeleton.iter().map(Vec::len).sum::<usize>()
            }
        }
    }

    pub(super) fn fate<E: ComponentChecker>(
        &mut self,
        event: EventId,
        events: &Events,
        locals: &Locals<'_, E>,
    ) -> Fate {
        match self {
            Boundary::Open => Fate::Allowed,
            Boundary::Inside(inside) => inside.fate(event, events, locals),
        }
    }

    /// Of some events that are possible next, those that are allowed. If everything has happened that the outside is to
    /// see, notes what it could see next.
    pub(super) fn allowed<E: ComponentChecker>(
        &mut self,
        possible: Vec<EventId>,
        has_all: bool,
        events: &Events,
        locals: &Locals<'_, E>,
    ) -> Vec<EventId> {
        let Boundary::Inside(inside) = self else { return possible };
        let mut allowed = Vec::new();
        for event in possible {
            match inside.fate(event, events, locals) {
                Fate::Allowed => allowed.push(event),
                Fate::Next(label) if has_all && !inside.next.contains(&label) => inside.next.push(label),
                Fate::Next(_) | Fate::Deviates => {}
            }
        }
        allowed
    }

    /// Notes a panic of a part that can come next; it counts if everything has happened that the outside is to see.
    /// `false` if there is no outside: then it is a panic of the whole system.
    pub(super) fn note_panic(
        &mut self,
        panic: impl FnOnce() -> (Skeleton, usize, Panic),
        has_all: bool,
    ) -> bool {
        let Boundary::Inside(inside) = self else { return false };
        if has_all && inside.panics.is_empty() {
            inside.panics.push(panic());
        }
        true
    }
}

impl Inside {
    fn seen<E: ComponentChecker>(
        &mut self,
        event: EventId,
        events: &Events,
        locals: &Locals<'_, E>,
    ) -> &SeenOutside {
        if !self.seen.contains_key(&event) {
            let seen = self.look_at(event, events, locals);
            self.seen.insert(event, seen);
        }
        &self.seen[&event]
    }

    fn look_at<E: ComponentChecker>(
        &mut self,
        event: EventId,
        events: &Events,
        locals: &Locals<'_, E>,
    ) -> SeenOutside {
        let Event { component, what, before, received, .. } = events.get(event);
        let mut clock = vec![0; self.members.len()];
        // The pause is no cause here: it is a device of the search, and what comes after it need not follow everything
        // that came before it.
        for &cause in before.iter().chain(received.iter().map(|(sender, _)| sender)) {
            join(&mut clock, &self.seen(cause, events, locals).clock);
        }
        let label = match what {
            What::Interface(label) if *component != Partition::OUTSIDE => {
                self.label(*component, *label, received, &mut clock, events, locals)
            }
            What::Interface(_) | What::Pause(..) => None,
        };
        SeenOutside { clock, label }
    }

    /// What the outside sees of an event of a part, if anything; counts it in the clock then.
    fn label<E: ComponentChecker>(
        &self,
        component: usize,
        label: LabelId,
        received: &[(EventId, usize)],
        clock: &mut [usize],
        events: &Events,
        locals: &Locals<'_, E>,
    ) -> Option<Label> {
        let components = locals.checker.components();
        let Label { member, sent, .. } = locals.label(label);
        let from_outside = |(sender, at): &(EventId, usize)| {
            let Event { component, what: What::Interface(label), .. } = events.get(*sender) else {
                return None;
            };
            (*component == Partition::OUTSIDE).then(|| locals.label(*label).sent[*at])
        };
        let mut received: Vec<MessageId> = received.iter().filter_map(from_outside).collect();
        received.sort_unstable();
        let leaves =
            |message: &MessageId| components.of(locals.checker.ends_of(*message).1) == Partition::OUTSIDE;
        let sent: Vec<MessageId> = sent.iter().copied().filter(leaves).collect();
        if received.is_empty() && sent.is_empty() {
            return None;
        }
        let process = components.members(component)[*member];
        let member = self.members.binary_search(&process).ok()?;
        clock[member] += 1;
        Some(Label { member, clock: clock.to_vec(), received, sent })
    }

    fn fate<E: ComponentChecker>(&mut self, event: EventId, events: &Events, locals: &Locals<'_, E>) -> Fate {
        let Some(label) = self.seen(event, events, locals).label.clone() else { return Fate::Allowed };
        let of_member = &self.skeleton[label.member];
        match of_member.get(label.clock[label.member] - 1) {
            Some(wanted) if *wanted == label => Fate::Allowed,
            None if label.clock[label.member] == of_member.len() + 1 => Fate::Next(label),
            _ => Fate::Deviates,
        }
    }
}
