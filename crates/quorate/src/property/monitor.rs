//! Monitors: safety automata over the events that steps emit, for properties over histories.
//!
//! A property over histories cannot be read off local states: whether a read may return a value depends on
//! which writes were complete when it began. A [`Monitor`] remembers as much of the history as the property
//! needs. It hears the events of a step in the order in which they were emitted, in the very moment of the
//! step, so its state belongs to the state of the system. An [`Automaton`] is a monitor with its types
//! erased, as the model keeps it.
//!
//! Invariant: what is broken stays broken, whatever the monitor itself would say; a step that emits nothing
//! for a monitor leaves its state as it is.
//! Held by: the tests below and `tests/monitors.rs`.

use std::fmt;
use std::sync::Arc;

use crate::base::{AskedAgain, Content, ProcessId, Value, catching};

/// A safety automaton over events: what a property over histories remembers, and whether it still holds.
///
/// Every state of the system is explored once for each state of its monitors. A monitor should therefore
/// remember as little as it can, in one form only: two states from which the same futures are allowed should
/// be equal.
///
/// A monitor that panics counts as broken, with the text of the panic.
///
/// ```
/// use quorate::property::Monitor;
/// use quorate::ProcessId;
///
/// /// What a process emits when it enters and leaves.
/// #[derive(Clone, PartialEq, Eq, Hash, Debug)]
/// enum Door { Enters, Leaves }
///
/// /// At most one process is inside.
/// #[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
/// struct Exclusion { inside: Option<ProcessId>, broken: bool }
///
/// impl Monitor for Exclusion {
///     type Event = Door;
///
///     fn hear(&mut self, process: ProcessId, event: &Door) {
///         match event {
///             Door::Enters => self.broken |= self.inside.replace(process).is_some(),
///             Door::Leaves => self.inside = None,
///         }
///     }
///
///     fn holds(&self) -> bool {
///         !self.broken
///     }
/// }
///
/// let mut exclusion = Exclusion::default();
/// exclusion.hear(ProcessId::new(0), &Door::Enters);
/// assert!(exclusion.holds());
/// exclusion.hear(ProcessId::new(1), &Door::Enters);
/// assert!(!exclusion.holds());
/// ```
pub trait Monitor: Clone + Content {
    /// The events it hears. Events of other types pass it by.
    type Event: Content;

    /// A process emits an event.
    fn hear(&mut self, process: ProcessId, event: &Self::Event);

    /// Is the history so far allowed? Once it is not, the monitor hears nothing more.
    fn holds(&self) -> bool;
}

/// The state of a monitor that panicked.
#[derive(PartialEq, Eq, Hash)]
struct MonitorPanicked(String);

impl fmt::Debug for MonitorPanicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "panicked: {}", self.0)
    }
}

/// A monitor with its types erased: its states are [`Value`]s.
#[derive(Clone)]
pub struct Automaton {
    name: String,
    initial: Value,
    hears: fn(&Value) -> bool,
    after: fn(&Value, ProcessId, &[Value]) -> Value,
    holds: fn(&Value) -> bool,
    asked: Arc<AskedAgain>,
}

impl Automaton {
    /// A monitor under a name.
    pub fn new<A: Monitor>(name: impl Into<String>, initial: A) -> Self {
        Automaton {
            name: name.into(),
            initial: Value::new(initial),
            hears: |event| event.get::<A::Event>().is_some(),
            after: after::<A>,
            holds: |state| state.get::<A>().is_some_and(A::holds),
            asked: Arc::default(),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The state it starts in.
    pub fn initial(&self) -> &Value {
        &self.initial
    }

    /// Does it hear such an event?
    pub fn hears(&self, event: &Value) -> bool {
        (self.hears)(event)
    }

    /// Its state after a step of `process` that emitted these events, in this order: `state` itself if it
    /// hears none of them or was broken before. A monitor that panics goes into a state in which it does
    /// not hold, and which prints as the text of the panic.
    pub fn after(&self, state: &Value, process: ProcessId, events: &[Value]) -> Value {
        if !events.iter().any(|event| self.hears(event)) {
            return state.clone();
        }
        let after = || {
            catching(|| (self.after)(state, process, events))
                .unwrap_or_else(|message| Value::new(MonitorPanicked(message)))
        };
        let next = after();
        if self.asked.is_due() {
            self.asked.compare(|| format!("the monitor '{}'", self.name), state, (&next, &after()));
        }
        next
    }

    /// Does the property hold in this state? A monitor that panicked, or panics when asked, does not.
    pub fn holds(&self, state: &Value) -> bool {
        let holds = || catching(|| (self.holds)(state)).unwrap_or(false);
        let answer = holds();
        if !answer || self.asked.is_due() {
            self.asked.compare(|| format!("the monitor '{}'", self.name), state, (&answer, &holds()));
        }
        answer
    }

    /// What it answered differently when it was asked again: then nothing can be concluded from it.
    pub(crate) fn impure(&self) -> Option<&str> {
        self.asked.impure()
    }
}

/// The events in their order, up to the first that breaks the monitor.
fn after<A: Monitor>(state: &Value, process: ProcessId, events: &[Value]) -> Value {
    let Some(mut monitor) = state.get::<A>().cloned() else {
        return state.clone();
    };
    for event in events.iter().filter_map(Value::get::<A::Event>) {
        if !monitor.holds() {
            break;
        }
        monitor.hear(process, event);
    }
    Value::new(monitor)
}

impl fmt::Debug for Automaton {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Automaton")
            .field("name", &self.name)
            .field("initial", &self.initial)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers must grow by one; hears `u8` only.
    #[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
    struct Counts {
        last: u8,
        broken: bool,
    }

    impl Monitor for Counts {
        type Event = u8;

        fn hear(&mut self, process: ProcessId, event: &u8) {
            assert!(process.index() < 2, "a stranger counts");
            self.broken = *event != self.last + 1;
            self.last = *event;
        }

        fn holds(&self) -> bool {
            assert!(self.last < 100, "asked too late");
            !self.broken
        }
    }

    fn after(events: &[Value]) -> (Automaton, Value) {
        let automaton = Automaton::new("counts", Counts::default());
        let state = automaton.after(automaton.initial(), ProcessId::new(0), events);
        (automaton, state)
    }

    #[test]
    fn events_are_heard_in_order_and_others_pass_by() {
        let (automaton, state) = after(&[Value::new(1u8), Value::new(1u16), Value::new(2u8)]);
        assert_eq!(state, Value::new(Counts { last: 2, broken: false }));
        assert!(automaton.holds(&state));
        assert_eq!(automaton.after(&state, ProcessId::new(1), &[Value::new(3u16)]), state);
        assert!(automaton.hears(&Value::new(9u8)) && !automaton.hears(&Value::new(9u16)));
    }

    #[test]
    fn what_is_broken_in_the_middle_of_a_step_stays_broken() {
        // The monitor itself would recover: 2 is wrong, 3 follows 2.
        let (automaton, state) = after(&[Value::new(2u8), Value::new(3u8)]);
        assert_eq!(state, Value::new(Counts { last: 2, broken: true }));
        assert!(!automaton.holds(&state));
        assert_eq!(automaton.after(&state, ProcessId::new(0), &[Value::new(3u8)]), state);
    }

    #[test]
    fn a_panic_breaks_the_property_and_keeps_its_text() {
        let automaton = Automaton::new("counts", Counts::default());
        let state = automaton.after(automaton.initial(), ProcessId::new(2), &[Value::new(1u8)]);
        assert!(!automaton.holds(&state));
        assert!(format!("{state:?}").starts_with("panicked: a stranger counts"), "{state:?}");
        assert_eq!(automaton.after(&state, ProcessId::new(0), &[Value::new(1u8)]), state);
        assert!(!automaton.holds(&Value::new(Counts { last: 100, broken: false })));
    }
}
