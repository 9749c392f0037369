//! Linearizability against a sequential specification, as a monitor.
//!
//! From: Herlihy and Wing (Linearizability: a correctness condition for concurrent objects, 1990): each
//! operation takes effect at one moment between its call and its return, and one that never returns at one
//! moment after its call or never. To follow all the orders at once is the usual construction for a
//! history that is known only step by step.
//! Differs: the set of what may have happened is always complete, also before a return asks for it. A call
//! adds to it, a return only strikes out; and two histories with the same possibilities have the same state.
//! Known: the set grows with the orders of the operations that are under way at the same time.
//! Invariant: `possible` is closed: with a possibility it holds each one that an operation under way leads to
//! by taking effect. It is not empty.
//! Held by: `tests/monitors.rs`, which compares with a search for an order on every short history.

use std::collections::{BTreeMap, BTreeSet};

use super::monitor::Monitor;
use crate::Rename;
use crate::base::{Content, ProcessId, Renaming, heed};

/// A sequential specification: an object used by one process at a time.
///
/// Its value is the object's state. The response must depend on the state and the operation alone.
pub trait Sequential: Content + Clone + Ord {
    /// What can be asked of the object.
    type Operation: Content + Clone + Ord;
    /// What it answers.
    type Response: Content + Clone + Ord;

    /// Carries out an operation.
    fn apply(&mut self, operation: &Self::Operation) -> Self::Response;
}

/// What a process reports to the monitor of an object `S` about its operations.
///
/// The operations of one process follow each other. One that never returns, because its process has crashed,
/// is under way for ever. A process that goes on nevertheless, after a restart or because it lost patience,
/// says that it [abandons](ObjectEvent::Abandon) what it had called.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Rename)]
pub enum ObjectEvent<S: Sequential> {
    /// The process calls an operation.
    Call(S::Operation),
    /// Its operation returns with this response.
    Return(S::Response),
    /// The process will not return from what it had called, if anything, and may call something else. What
    /// is abandoned may still take effect, once, at any time.
    Abandon,
}

/// One way in which the history may have come about.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Possibility<S: Sequential> {
    object: S,
    /// The responses of the operations under way that have taken effect.
    effected: BTreeMap<ProcessId, S::Response>,
    /// The abandoned operations that have not taken effect, sorted.
    abandoned: Vec<S::Operation>,
}

/// A monitor: the operations on an object look as if each happened at one moment between its call and its
/// return.
///
/// Hears [`ObjectEvent`]s and panics, which breaks the property, if a process returns from what it has not
/// called or calls one operation inside another.
///
/// ```
/// use quorate::property::{Linearizable, Monitor, ObjectEvent, Sequential};
/// use quorate::ProcessId;
///
/// /// Hands out numbers, none twice.
/// #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
/// struct Tickets { next: u32 }
///
/// #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
/// struct Draw;
///
/// impl Sequential for Tickets {
///     type Operation = Draw;
///     type Response = u32;
///     fn apply(&mut self, _: &Draw) -> u32 {
///         self.next += 1;
///         self.next
///     }
/// }
///
/// let (ann, bob) = (ProcessId::new(0), ProcessId::new(1));
/// let mut tickets = Linearizable::new(Tickets { next: 0 });
/// tickets.hear(ann, &ObjectEvent::Call(Draw));
/// tickets.hear(bob, &ObjectEvent::Call(Draw));
/// tickets.hear(bob, &ObjectEvent::Return(2)); // Then ann's draw must have been before bob's,
/// assert!(tickets.holds());
/// tickets.hear(ann, &ObjectEvent::Return(3)); // and cannot have got a later ticket.
/// assert!(!tickets.holds());
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug, Rename)]
pub struct Linearizable<S: Sequential> {
    under_way: BTreeMap<ProcessId, S::Operation>,
    possible: BTreeSet<Possibility<S>>,
    /// A response that fits none of what is possible.
    unexplained: Option<(ProcessId, S::Response)>,
}

impl<S: Sequential> Linearizable<S> {
    /// An object in its initial state, with no operation under way.
    pub fn new(initial: S) -> Self {
        let untouched = Possibility { object: initial, effected: BTreeMap::new(), abandoned: Vec::new() };
        Linearizable { under_way: BTreeMap::new(), possible: BTreeSet::from([untouched]), unexplained: None }
    }

    /// The operation of a process that is under way.
    pub(super) fn pending(&self, process: ProcessId) -> Option<&S::Operation> {
        self.under_way.get(&process)
    }

    fn call(&mut self, process: ProcessId, operation: &S::Operation) {
        if let Some(before) = self.under_way.insert(process, operation.clone()) {
            panic!("process {process:?} calls {operation:?} before it has ended {before:?}");
        }
        // Once the new operation has taken effect, the others that wait may do so again, to other ends.
        let mut fresh: Vec<Possibility<S>> = self.possible.iter().cloned().collect();
        while let Some(possibility) = fresh.pop() {
            heed();
            for next in possibility.nexts(&self.under_way) {
                if self.possible.insert(next.clone()) {
                    fresh.push(next);
                }
            }
        }
    }

    fn returns(&mut self, process: ProcessId, response: &S::Response) {
        assert!(
            self.under_way.contains_key(&process),
            "process {process:?} returns {response:?}, but it has called nothing"
        );
        let explains = |possibility: &&Possibility<S>| possibility.effected.get(&process) == Some(response);
        let explained: BTreeSet<_> =
            self.possible.iter().filter(explains).map(|possibility| possibility.without(process)).collect();
        if explained.is_empty() {
            self.unexplained = Some((process, response.clone()));
        } else {
            self.under_way.remove(&process);
            self.possible = explained;
        }
    }

    fn abandon(&mut self, process: ProcessId) {
        let Some(operation) = self.under_way.remove(&process) else { return };
        let abandon = |possibility: &Possibility<S>| {
            let mut after = possibility.without(process);
            if !possibility.effected.contains_key(&process) {
                let place = after.abandoned.partition_point(|other| *other < operation);
                after.abandoned.insert(place, operation.clone());
            }
            after
        };
        self.possible = self.possible.iter().map(abandon).collect();
    }
}

impl<S: Sequential + Rename> Rename for Possibility<S>
where
    S::Operation: Rename,
    S::Response: Rename,
{
    fn rename(&self, ids: &Renaming) -> Self {
        let mut abandoned = self.abandoned.rename(ids);
        abandoned.sort();
        Possibility { object: self.object.rename(ids), effected: self.effected.rename(ids), abandoned }
    }
}

impl<S: Sequential> Possibility<S> {
    /// What is possible after one more operation has taken effect.
    fn nexts(&self, under_way: &BTreeMap<ProcessId, S::Operation>) -> Vec<Self> {
        let waiting = under_way.iter().filter(|(process, _)| !self.effected.contains_key(process));
        let called = waiting.map(|(process, operation)| {
            let mut next = self.clone();
            let response = next.object.apply(operation);
            next.effected.insert(*process, response);
            next
        });
        let abandoned = (0..self.abandoned.len()).map(|place| {
            let mut next = self.clone();
            let operation = next.abandoned.remove(place);
            next.object.apply(&operation);
            next
        });
        called.chain(abandoned).collect()
    }

    fn without(&self, process: ProcessId) -> Self {
        let mut without = self.clone();
        without.effected.remove(&process);
        without
    }
}

impl<S: Sequential> Monitor for Linearizable<S> {
    type Event = ObjectEvent<S>;

    fn hear(&mut self, process: ProcessId, event: &ObjectEvent<S>) {
        match event {
            ObjectEvent::Call(operation) => self.call(process, operation),
            ObjectEvent::Return(response) => self.returns(process, response),
            ObjectEvent::Abandon => self.abandon(process),
        }
    }

    fn holds(&self) -> bool {
        self.unexplained.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::ObjectEvent::{Abandon, Call, Return};
    use super::*;
    use crate::base::Value;
    use crate::property::Automaton;

    #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
    struct Queue(Vec<u8>);

    /// `Some` puts a number in, `None` takes one out.
    impl Sequential for Queue {
        type Operation = Option<u8>;
        type Response = Option<u8>;

        fn apply(&mut self, operation: &Option<u8>) -> Option<u8> {
            match operation {
                Some(number) => {
                    self.0.push(*number);
                    None
                }
                None => (!self.0.is_empty()).then(|| self.0.remove(0)),
            }
        }
    }

    type Event = ObjectEvent<Queue>;

    fn after(history: &[(usize, Event)]) -> Linearizable<Queue> {
        let mut queue = Linearizable::new(Queue::default());
        for (process, event) in history {
            assert!(queue.holds(), "broken too early: {queue:?}");
            queue.hear(ProcessId::new(*process), event);
        }
        queue
    }

    fn holds(history: &[(usize, Event)]) -> bool {
        after(history).holds()
    }

    fn put(process: usize, number: u8) -> [(usize, Event); 2] {
        [(process, Call(Some(number))), (process, Return(None))]
    }

    fn take(process: usize, number: Option<u8>) -> [(usize, Event); 2] {
        [(process, Call(None)), (process, Return(number))]
    }

    #[test]
    fn operations_that_do_not_meet_keep_their_order() {
        assert!(holds(&[put(0, 1), put(1, 2), take(2, Some(1)), take(2, Some(2)), take(2, None)].concat()));
        assert!(!holds(&[put(0, 1), put(1, 2), take(2, Some(2))].concat()));
        assert!(!holds(&[put(0, 1), take(2, None)].concat()));
    }

    #[test]
    fn operations_that_meet_may_take_effect_in_either_order_but_all_must_agree() {
        let both = [(0, Call(Some(1))), (1, Call(Some(2))), (0, Return(None)), (1, Return(None))];
        assert!(holds(&[&both[..], &take(2, Some(1)), &take(2, Some(2))].concat()));
        assert!(holds(&[&both[..], &take(2, Some(2)), &take(2, Some(1))].concat()));
        assert!(!holds(&[&both[..], &take(2, Some(2)), &take(2, Some(2))].concat()));
        // A put under way was seen, and so it has happened.
        assert!(holds(&[&both[..1], &take(2, Some(1)), &take(2, None)].concat()));
        assert!(!holds(&[&both[..1], &take(2, Some(1)), &take(2, Some(1))].concat()));
    }

    #[test]
    fn an_operation_without_return_takes_effect_once_or_never() {
        for abandoned in [&[(0, Call(Some(1)))][..], &[(0, Call(Some(1))), (0, Abandon)]] {
            assert!(holds(&[abandoned, &take(2, None), &put(2, 5), &take(2, Some(5))].concat()));
            assert!(holds(&[abandoned, &take(2, None), &take(2, Some(1)), &take(2, None)].concat()));
            assert!(!holds(&[abandoned, &take(2, Some(1)), &take(2, Some(1))].concat()));
        }
        // A process that goes on: what it abandoned may come after what it did later.
        let again = [&[(0, Call(Some(1))), (0, Abandon)][..], &put(0, 2)].concat();
        assert!(holds(&[&again[..], &take(0, Some(2)), &take(0, Some(1))].concat()));
        assert!(holds(&[&again[..], &take(0, Some(1)), &take(0, Some(2))].concat()));
        assert!(!holds(&[&again[..], &take(0, None)].concat()));
    }

    #[test]
    fn histories_with_the_same_possibilities_have_the_same_state() {
        let either = [(0, Call(Some(1))), (1, Call(Some(1))), (0, Return(None)), (1, Return(None))];
        assert_eq!(after(&either), after(&[put(2, 1), put(0, 1)].concat()));
        assert_eq!(after(&[put(0, 1), take(1, Some(1))].concat()), after(&[]));
        assert_eq!(after(&[(0, Abandon)]), after(&[]));
    }

    #[test]
    fn misuse_breaks_the_property_and_says_how() {
        let monitor = Automaton::new("queue", Linearizable::new(Queue::default()));
        let says = |events: &[Event], text: &str| {
            let events: Vec<Value> = events.iter().cloned().map(Value::new).collect();
            let state = monitor.after(monitor.initial(), ProcessId::new(0), &events);
            assert!(!monitor.holds(&state));
            assert!(format!("{state:?}").contains(text), "{state:?}");
        };
        says(&[Return(None)], "process #0 returns None, but it has called nothing");
        says(&[Call(None), Call(Some(1))], "process #0 calls Some(1) before it has ended None");
    }
}
