//! Registers: what reads may return, by the history of reads and writes.
//!
//! From: regular and atomic registers are Lamport's (On interprocess communication, 1986), for one writer.
//! Regularity with several writers is the weakest of the conditions of Shao, Welch, Pierce and Lee
//! (Multiwriter consistency conditions for shared memory registers, 2011): for each read alone, the writes and
//! that read can be put into one order that agrees with time. Two reads need not agree on the order of
//! concurrent writes.
//! Differs: the definition speaks of whole histories. Kept is what future reads can distinguish, and nothing
//! else: the completed writes that no later write has replaced, the writes under way, and for each read
//! under way the values it may return.
//! Known: for one writer that never repeats a value, this is as much as the usual ghost variable, the last
//! write that was complete when the read began.
//! Held by: `tests/monitors.rs`, which compares with the definitions on every short history, and counts.

use std::collections::{BTreeMap, BTreeSet};

use super::linearizable::{Linearizable, ObjectEvent, Sequential};
use super::monitor::Monitor;
use crate::Rename;
use crate::base::{Content, ProcessId, Renaming};

/// What a process reports to the monitor of a register about its reads and writes.
///
/// The operations of one process follow each other. One that never ends, because its process has crashed,
/// is under way for ever. A process that goes on nevertheless, after a restart or because it lost patience,
/// says that it [abandons](RegisterEvent::Abandons) what it had begun.
///
/// A monitor hears events of its own type only, so let one alias name it: `type Event = RegisterEvent<u8>`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Rename)]
pub enum RegisterEvent<V> {
    /// The process begins to write this value.
    WriteBegins(V),
    /// Its write is complete.
    WriteEnds,
    /// The process begins to read.
    ReadBegins,
    /// Its read is complete and returns this value.
    ReadReturns(V),
    /// The process will not end what it had begun, if anything, and may begin something else. A write that
    /// is abandoned may still take effect, at any time.
    Abandons,
}

/// A completed write that no later write has replaced.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Rename)]
struct Written<V> {
    value: V,
    /// Whose writes, still under way, ran beside this one: they do not replace it when they end.
    beside: BTreeSet<ProcessId>,
}

/// A monitor: each read returns the value of the last write completed before it began, or of a write
/// concurrent with it.
///
/// With several writers, of the writes completed before the read began, any may be the last that is not
/// followed by another one of them. Values are compared, not writes: a value that is written twice may be
/// returned if one of the writes allows it.
///
/// Hears [`RegisterEvent`]s and panics, which breaks the property, if a process ends what it has not begun or
/// begins one operation inside another.
///
/// ```
/// use quorate::property::{Monitor, RegisterEvent, RegularRegister};
/// use quorate::ProcessId;
///
/// let (writer, reader) = (ProcessId::new(0), ProcessId::new(1));
/// let mut register = RegularRegister::new(0);
/// register.hear(writer, &RegisterEvent::WriteBegins(1));
/// for either in [1, 0] {
///     // New, then old: a regular register allows it while the write is under way.
///     register.hear(reader, &RegisterEvent::ReadBegins);
///     register.hear(reader, &RegisterEvent::ReadReturns(either));
///     assert!(register.holds());
/// }
/// register.hear(writer, &RegisterEvent::WriteEnds);
/// register.hear(reader, &RegisterEvent::ReadBegins);
/// register.hear(reader, &RegisterEvent::ReadReturns(0));
/// assert!(!register.holds());
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RegularRegister<V> {
    written: BTreeSet<Written<V>>,
    writing: BTreeMap<ProcessId, V>,
    abandoned: BTreeSet<V>,
    /// What each read under way may return.
    reading: BTreeMap<ProcessId, BTreeSet<V>>,
    /// A read that returned what it must not.
    wrong: Option<(ProcessId, V)>,
}

impl<V: Rename + Ord> Rename for RegularRegister<V> {
    fn rename(&self, ids: &Renaming) -> Self {
        RegularRegister {
            written: self.written.rename(ids),
            writing: self.writing.rename(ids),
            abandoned: self.abandoned.rename(ids),
            reading: self.reading.rename(ids),
            wrong: self.wrong.rename(ids),
        }
    }
}

impl<V: Content + Clone + Ord> RegularRegister<V> {
    /// A register that nobody has written: reads return `initial`.
    pub fn new(initial: V) -> Self {
        RegularRegister {
            written: BTreeSet::from([Written { value: initial, beside: BTreeSet::new() }]),
            writing: BTreeMap::new(),
            abandoned: BTreeSet::new(),
            reading: BTreeMap::new(),
            wrong: None,
        }
    }

    fn write_begins(&mut self, process: ProcessId, value: &V) {
        for allowed in self.reading.values_mut() {
            allowed.insert(value.clone());
        }
        self.writing.insert(process, value.clone());
        self.forget();
    }

    fn write_ends(&mut self, process: ProcessId) {
        let Some(value) = self.writing.remove(&process) else {
            panic!("process {process:?} ends a write, but it has begun none");
        };
        self.written.retain(|written| written.beside.contains(&process));
        self.leave(process);
        self.written.insert(Written { value, beside: self.writing.keys().copied().collect() });
        self.forget();
    }

    fn read_begins(&mut self, process: ProcessId) {
        let written = self.written.iter().map(|written| &written.value);
        let allowed = written.chain(self.writing.values()).chain(&self.abandoned).cloned().collect();
        self.reading.insert(process, allowed);
    }

    fn read_returns(&mut self, process: ProcessId, value: &V) {
        let Some(allowed) = self.reading.get(&process) else {
            panic!("process {process:?} returns from a read, but it has begun none");
        };
        if allowed.contains(value) {
            self.reading.remove(&process);
        } else {
            self.wrong = Some((process, value.clone()));
        }
    }

    fn abandons(&mut self, process: ProcessId) {
        self.reading.remove(&process);
        self.abandoned.extend(self.writing.remove(&process));
        self.leave(process);
        self.forget();
    }

    /// The write of a process is no longer under way.
    fn leave(&mut self, process: ProcessId) {
        let leave = |mut written: Written<V>| {
            written.beside.remove(&process);
            written
        };
        self.written = std::mem::take(&mut self.written).into_iter().map(leave).collect();
    }

    /// Forgets completed writes that allow nothing that is not allowed anyway, so that histories with the
    /// same future have the same state.
    ///
    /// While a value is being written, every read may return it. Once that is complete, it lasts at least as
    /// long as any earlier write of the same value. And of two completed writes of one value, the one
    /// counts that fewer of the writes under way will replace.
    fn forget(&mut self) {
        let counts = |written: &Written<V>| {
            let under_way = self.writing.values().chain(&self.abandoned).any(|value| *value == written.value);
            let outlasts = |other: &Written<V>| {
                other != written && other.value == written.value && other.beside.is_superset(&written.beside)
            };
            !under_way && !self.written.iter().any(outlasts)
        };
        self.written = self.written.iter().filter(|written| counts(written)).cloned().collect();
    }
}

impl<V: Content + Clone + Ord> Monitor for RegularRegister<V> {
    type Event = RegisterEvent<V>;

    fn hear(&mut self, process: ProcessId, event: &RegisterEvent<V>) {
        if let RegisterEvent::WriteBegins(_) | RegisterEvent::ReadBegins = event {
            let busy = self.writing.contains_key(&process) || self.reading.contains_key(&process);
            assert!(!busy, "process {process:?} begins {event:?} before it has ended what it began");
        }
        match event {
            RegisterEvent::WriteBegins(value) => self.write_begins(process, value),
            RegisterEvent::WriteEnds => self.write_ends(process),
            RegisterEvent::ReadBegins => self.read_begins(process),
            RegisterEvent::ReadReturns(value) => self.read_returns(process, value),
            RegisterEvent::Abandons => self.abandons(process),
        }
    }

    fn holds(&self) -> bool {
        self.wrong.is_none()
    }
}

/// A register as an object used by one process at a time.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Rename)]
struct Cell<V>(V);

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Rename)]
enum Access<V> {
    Write(V),
    Read,
}

impl<V: Content + Clone + Ord> Sequential for Cell<V> {
    type Operation = Access<V>;
    /// The value read; `None` from a write.
    type Response = Option<V>;

    fn apply(&mut self, access: &Access<V>) -> Option<V> {
        match access {
            Access::Write(value) => {
                self.0.clone_from(value);
                None
            }
            Access::Read => Some(self.0.clone()),
        }
    }
}

/// A monitor: the register is [`Linearizable`], for any number of writers. Hears the same events as
/// [`RegularRegister`], and panics as it does.
///
/// ```
/// use quorate::property::{AtomicRegister, Monitor, RegisterEvent};
/// use quorate::ProcessId;
///
/// let (writer, reader) = (ProcessId::new(0), ProcessId::new(1));
/// let mut register = AtomicRegister::new(0);
/// register.hear(writer, &RegisterEvent::WriteBegins(1));
/// register.hear(reader, &RegisterEvent::ReadBegins);
/// register.hear(reader, &RegisterEvent::ReadReturns(1));
/// assert!(register.holds());
/// // New, then old: the write has taken effect, and is not undone.
/// register.hear(reader, &RegisterEvent::ReadBegins);
/// register.hear(reader, &RegisterEvent::ReadReturns(0));
/// assert!(!register.holds());
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug, Rename)]
pub struct AtomicRegister<V: Content + Clone + Ord>(Linearizable<Cell<V>>);

impl<V: Content + Clone + Ord> AtomicRegister<V> {
    /// A register that nobody has written: reads return `initial`.
    pub fn new(initial: V) -> Self {
        AtomicRegister(Linearizable::new(Cell(initial)))
    }
}

impl<V: Content + Clone + Ord> Monitor for AtomicRegister<V> {
    type Event = RegisterEvent<V>;

    fn hear(&mut self, process: ProcessId, event: &RegisterEvent<V>) {
        let writes = self.0.pending(process).is_some_and(|access| *access != Access::Read);
        let event = match event {
            RegisterEvent::WriteBegins(value) => ObjectEvent::Call(Access::Write(value.clone())),
            RegisterEvent::ReadBegins => ObjectEvent::Call(Access::Read),
            RegisterEvent::WriteEnds => {
                assert!(writes, "process {process:?} ends a write, but it has begun none");
                ObjectEvent::Return(None)
            }
            RegisterEvent::ReadReturns(value) => {
                assert!(!writes, "process {process:?} returns from a read, but it has begun none");
                ObjectEvent::Return(Some(value.clone()))
            }
            RegisterEvent::Abandons => ObjectEvent::Abandon,
        };
        self.0.hear(process, &event);
    }

    fn holds(&self) -> bool {
        self.0.holds()
    }
}

#[cfg(test)]
mod tests {
    use super::RegisterEvent::{Abandons, ReadBegins, ReadReturns, WriteBegins, WriteEnds};
    use super::*;
    use crate::base::Value;
    use crate::property::Automaton;

    type Event = RegisterEvent<u8>;

    const REGULAR: Automated = |initial| Automaton::new("regular", RegularRegister::new(initial));
    const ATOMIC: Automated = |initial| Automaton::new("atomic", AtomicRegister::new(initial));
    type Automated = fn(u8) -> Automaton;

    /// The state of a monitor of a register, at first 0, after a history of process, event.
    fn after(monitor: Automated, history: &[(usize, Event)]) -> Value {
        let monitor = monitor(0);
        history.iter().fold(monitor.initial().clone(), |state, (process, event)| {
            monitor.after(&state, ProcessId::new(*process), &[Value::new(event.clone())])
        })
    }

    fn holds(monitor: Automated, history: &[(usize, Event)]) -> bool {
        monitor(0).holds(&after(monitor, history))
    }

    #[test]
    fn reads_that_meet_no_write_return_the_last_one() {
        let writes = [(0, WriteBegins(1)), (0, WriteEnds), (0, WriteBegins(2)), (0, WriteEnds)];
        for (returned, expected) in [(0, false), (1, false), (2, true), (3, false)] {
            let history = [&writes[..], &[(1, ReadBegins), (1, ReadReturns(returned))]].concat();
            assert_eq!(holds(REGULAR, &history), expected, "{returned}");
            assert_eq!(holds(ATOMIC, &history), expected, "{returned}");
        }
        assert!(holds(REGULAR, &[(1, ReadBegins), (1, ReadReturns(0))]));
    }

    #[test]
    fn a_read_may_return_what_was_written_while_it_ran() {
        let history = [
            (0, WriteBegins(1)),
            (1, ReadBegins),
            (0, WriteEnds),
            (0, WriteBegins(2)),
            (0, WriteEnds),
            (0, WriteBegins(3)),
        ];
        for (returned, expected) in [(0, true), (1, true), (2, true), (3, true), (4, false)] {
            assert_eq!(holds(REGULAR, &[&history[..], &[(1, ReadReturns(returned))]].concat()), expected);
        }
    }

    #[test]
    fn new_old_inversion_is_regular_but_not_atomic() {
        let inversion = [
            (0, WriteBegins(1)),
            (1, ReadBegins),
            (1, ReadReturns(1)),
            (2, ReadBegins),
            (2, ReadReturns(0)),
            (0, WriteEnds),
        ];
        assert!(holds(REGULAR, &inversion));
        assert!(!holds(ATOMIC, &inversion));
    }

    #[test]
    fn concurrent_writes_leave_either_value_until_a_later_one_replaces_both() {
        let both = [(0, WriteBegins(1)), (1, WriteBegins(2)), (0, WriteEnds), (1, WriteEnds)];
        let reads = |value| [(2, ReadBegins), (2, ReadReturns(value))];
        for monitor in [REGULAR, ATOMIC] {
            assert!(holds(monitor, &[&both[..], &reads(1)].concat()));
            assert!(holds(monitor, &[&both[..], &reads(2)].concat()));
            assert!(!holds(monitor, &[&both[..], &reads(0)].concat()));
            let third = [&both[..], &[(1, WriteBegins(3)), (1, WriteEnds)]].concat();
            assert!(!holds(monitor, &[&third[..], &reads(1)].concat()));
        }
        // Weak regularity: the reads disagree on which write was first.
        assert!(holds(REGULAR, &[&both[..], &reads(1), &reads(2)].concat()));
        assert!(!holds(ATOMIC, &[&both[..], &reads(1), &reads(2)].concat()));
    }

    #[test]
    fn a_write_that_never_ends_may_take_effect_at_any_time() {
        // The first writer crashes; the second writes and ends; reads may see the first write even so.
        let crash = [(0, WriteBegins(1)), (1, WriteBegins(2)), (1, WriteEnds)];
        for end in [&[][..], &[(0, Abandons)]] {
            for monitor in [REGULAR, ATOMIC] {
                let reads = |value| [&crash[..], end, &[(2, ReadBegins), (2, ReadReturns(value))]].concat();
                assert!(holds(monitor, &reads(1)) && holds(monitor, &reads(2)) && !holds(monitor, &reads(0)));
            }
        }
        // The writer that gave up writes again; its first write does not replace the second.
        let again = [(0, WriteBegins(1)), (0, Abandons), (0, WriteBegins(2)), (0, WriteEnds)];
        for monitor in [REGULAR, ATOMIC] {
            let reads = |value| [&again[..], &[(2, ReadBegins), (2, ReadReturns(value))]].concat();
            assert!(holds(monitor, &reads(1)) && holds(monitor, &reads(2)) && !holds(monitor, &reads(0)));
        }
    }

    #[test]
    fn histories_with_the_same_future_have_the_same_state() {
        let fresh = after(REGULAR, &[]);
        let read = [(1, ReadBegins), (1, ReadReturns(0))];
        assert_eq!(after(REGULAR, &read), fresh);
        assert_eq!(after(REGULAR, &[(1, ReadBegins), (1, Abandons)]), fresh);
        assert_eq!(after(REGULAR, &[(0, WriteBegins(0)), (0, WriteEnds)]), fresh);
        // Who wrote the newest value is forgotten.
        let by = |process| [(process, WriteBegins(3)), (process, WriteEnds)];
        assert_eq!(after(REGULAR, &by(0)), after(REGULAR, &by(1)));
        let both = [(0, WriteBegins(1)), (1, WriteBegins(2)), (0, WriteEnds), (1, WriteEnds)];
        assert_eq!(after(REGULAR, &[&both[..], &by(0)].concat()), after(REGULAR, &by(0)));
        // Two writes of one value at a time are as good as one.
        let same = [(0, WriteBegins(3)), (1, WriteBegins(3)), (0, WriteEnds), (1, WriteEnds)];
        assert_eq!(after(REGULAR, &same), after(REGULAR, &by(0)));
    }

    #[test]
    fn misuse_breaks_the_property_and_says_how() {
        let ends = [(0, WriteEnds)];
        let returns = [(0, ReadReturns(0))];
        let ends_a_read = [(0, ReadBegins), (0, WriteEnds)];
        let returns_from_a_write = [(0, WriteBegins(1)), (0, ReadReturns(1))];
        let inside = [(0, WriteBegins(1)), (0, ReadBegins)];
        for monitor in [REGULAR, ATOMIC] {
            let says = |history: &[(usize, Event)], text: &str| {
                assert!(!holds(monitor, history));
                let state = format!("{:?}", after(monitor, history));
                assert!(state.contains("panicked: process #0") && state.contains(text), "{state}");
            };
            says(&ends, "ends a write, but it has begun none");
            says(&returns, "returns");
            says(&ends_a_read, "ends a write, but it has begun none");
            says(&returns_from_a_write, "returns from a read, but it has begun none");
            says(&inside, "before it has ended");
        }
    }
}
