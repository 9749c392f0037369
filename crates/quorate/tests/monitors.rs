//! Monitors as a user meets them: added to a system, named beside its properties, fed with what the
//! handlers emit. And the ready-made ones for registers, against their definitions.

use std::collections::HashSet;

use quorate::property::RegisterEvent::{self, Abandons, ReadBegins, ReadReturns, WriteBegins, WriteEnds};
use quorate::property::{AtomicRegister, Monitor, RegularRegister};
use quorate::protocol::SystemError;
use quorate::{Outbox, ProcessId, Role, RoleName, System, Transitions, observe};

const DRINKERS: RoleName = RoleName::new("drinker");

/// Takes a sip from the one cup that all share, in two steps.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Drinker {
    sips: u8,
    lifted: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Cup {
    Lifted,
    PutDown,
}

impl Role for Drinker {
    type Message = ();

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("lift").when(|drinker| !drinker.lifted && drinker.sips < 1).run(Self::lift);
        t.internal("put down").when(|drinker| drinker.lifted).run(Self::put_down);
    }
}

impl Drinker {
    fn lift(&mut self, out: &mut Outbox<()>) {
        self.lifted = true;
        out.emit("not for the monitor");
        out.emit(Cup::Lifted);
    }

    fn put_down(&mut self, out: &mut Outbox<()>) {
        self.sips += 1;
        self.lifted = false;
        out.emit(Cup::PutDown);
    }
}

/// Nobody lifts the cup while somebody holds it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct OneCup {
    held: Option<ProcessId>,
    spilt: bool,
}

impl Monitor for OneCup {
    type Event = Cup;

    fn hear(&mut self, process: ProcessId, event: &Cup) {
        match event {
            Cup::Lifted => self.spilt |= self.held.replace(process).is_some(),
            Cup::PutDown => self.held = None,
        }
    }

    fn holds(&self) -> bool {
        !self.spilt
    }
}

fn drinkers(count: usize) -> System<()> {
    System::new().role(DRINKERS, count, |_| Drinker::default())
}

#[test]
fn a_monitor_has_a_name_of_its_own() {
    let twice = |name: &str| Err(SystemError::PropertyTwice { property: name.to_string() });
    let sober = || observe(|drinker: &Drinker| drinker.sips);
    let built = |system: System<()>| system.build().map(|_| ());

    let one_cup = || drinkers(2).monitor("one cup", OneCup::default());
    assert_eq!(built(one_cup()), Ok(()));
    assert_eq!(built(one_cup().monitor("one cup", OneCup::default())), twice("one cup"));
    assert_eq!(built(one_cup().invariant("one cup", sober(), |_| true)), twice("one cup"));
    let invariant_first = drinkers(2).invariant("one cup", sober(), |_| true);
    assert_eq!(built(invariant_first.monitor("one cup", OneCup::default())), twice("one cup"));
}

#[test]
fn a_monitor_follows_the_events_of_the_handlers() {
    let model = drinkers(2).monitor("one cup", OneCup::default()).build().unwrap();
    let [monitor] = model.monitors() else { panic!("one monitor: {:?}", model.monitors()) };
    let [lift, put_down] = [0, 1];
    // Runs the transitions of processes in this order; says after how many the monitor was broken.
    let broken_after = |schedule: &[(usize, usize)]| {
        let mut locals: Vec<_> = model.processes().iter().map(|process| process.initial().clone()).collect();
        let mut state = monitor.initial().clone();
        schedule.iter().position(|&(process, transition)| {
            let id = ProcessId::new(process);
            let outcome = model.run_with(id, transition, &locals[process], &[], &[]).unwrap();
            locals[process] = outcome.state;
            state = monitor.after(&state, id, &outcome.events);
            !monitor.holds(&state)
        })
    };
    assert_eq!(broken_after(&[(0, lift), (0, put_down), (1, lift), (1, put_down)]), None);
    assert_eq!(broken_after(&[(0, lift), (1, lift), (1, put_down)]), Some(1));
}

/// What happened to one operation of a history: when it was called, and when it returned.
#[derive(Clone, Debug)]
struct Operation {
    /// The value written; `None` for a read.
    writes: Option<u8>,
    begins: usize,
    /// The moment, and the value of a read.
    ends: Option<(usize, Option<u8>)>,
}

impl Operation {
    fn ends_before(&self, other: &Operation) -> bool {
        self.ends.is_some_and(|(end, _)| end < other.begins)
    }
}

/// A history as a list of operations, from which the definitions can be read off.
#[derive(Clone, Debug, Default)]
struct History {
    length: usize,
    /// How many processes have done anything.
    processes: usize,
    operations: Vec<Operation>,
    /// The operation under way of each process.
    busy: [Option<usize>; PROCESSES],
}

const PROCESSES: usize = 3;
const LENGTH_MAX: usize = 7;
const VALUES: [u8; 3] = [0, 1, 2];

impl History {
    /// Every event that may come next. Processes come in by their order: other names show nothing new.
    fn nexts(&self) -> Vec<(usize, RegisterEvent<u8>)> {
        let of = |process: usize| match self.busy[process].map(|at| self.operations[at].writes) {
            None => vec![WriteBegins(1), WriteBegins(2), ReadBegins],
            Some(Some(_)) => vec![WriteEnds, Abandons],
            Some(None) => VALUES.map(ReadReturns).to_vec(),
        };
        (0..PROCESSES.min(self.processes + 1))
            .flat_map(|process| of(process).into_iter().map(move |event| (process, event)))
            .collect()
    }

    fn push(&mut self, process: usize, event: &RegisterEvent<u8>) {
        self.length += 1;
        self.processes = self.processes.max(process + 1);
        let writes = match event {
            WriteBegins(value) => Some(*value),
            ReadBegins => None,
            WriteEnds | ReadReturns(_) => {
                let returned = if let ReadReturns(value) = event { Some(*value) } else { None };
                let ended = self.busy[process].take().map(|at| &mut self.operations[at]);
                ended.expect("only what has begun ends").ends = Some((self.length, returned));
                return;
            }
            Abandons => {
                self.busy[process] = None;
                return;
            }
        };
        self.busy[process] = Some(self.operations.len());
        self.operations.push(Operation { writes, begins: self.length, ends: None });
    }

    /// The definition of a regular register, read by read: a write of the value began before the read ended,
    /// and no other write lies wholly between the two. The initial 0 is a write before all others.
    fn is_regular(&self) -> bool {
        let initial = Operation { writes: Some(0), begins: 0, ends: Some((0, None)) };
        let writes: Vec<&Operation> =
            std::iter::once(&initial).chain(&self.operations).filter(|op| op.writes.is_some()).collect();
        self.operations.iter().all(|read| {
            let Some((end, returned @ Some(_))) = read.ends else { return true };
            writes.iter().any(|write| {
                let lies_between = |other: &&Operation| write.ends_before(other) && other.ends_before(read);
                write.writes == returned && write.begins < end && !writes.iter().any(lies_between)
            })
        })
    }

    /// Is there an order of the operations that agrees with time and with what was read? Looks for it from
    /// the first operation on; those that never ended may be left out.
    fn is_linearizable(&self) -> bool {
        fn search(left: &[&Operation], value: u8) -> bool {
            left.iter().all(|op| op.ends.is_none())
                || (0..left.len()).any(|first| {
                    let mut rest = left.to_vec();
                    let first = rest.remove(first);
                    let may_be_first = !rest.iter().any(|other| other.ends_before(first));
                    let fits = match (first.writes, first.ends) {
                        (None, Some((_, returned))) => returned == Some(value),
                        _ => true,
                    };
                    may_be_first && fits && search(&rest, first.writes.unwrap_or(value))
                })
        }
        search(&self.operations.iter().collect::<Vec<_>>(), 0)
    }
}

/// How many histories are ruled out by both definitions, by the stronger only, by none.
#[derive(Debug, Default, PartialEq)]
struct Counted {
    neither: usize,
    only_regular: usize,
    both: usize,
}

fn heard<A: Monitor>(monitor: &A, process: usize, event: &A::Event) -> A {
    let mut monitor = monitor.clone();
    monitor.hear(ProcessId::new(process), event);
    monitor
}

/// Compares the monitors with the definitions on every history that is longer than this one, which is
/// regular; `atomic` while it is atomic too.
fn compare(
    history: &History,
    regular: &RegularRegister<u8>,
    atomic: Option<&AtomicRegister<u8>>,
    counted: &mut Counted,
) {
    if history.length == LENGTH_MAX {
        return;
    }
    for (process, event) in history.nexts() {
        let mut longer = history.clone();
        longer.push(process, &event);
        let regular = heard(regular, process, &event);
        assert_eq!(regular.holds(), longer.is_regular(), "{longer:?} {regular:?}");
        let atomic = atomic.map(|atomic| heard(atomic, process, &event));
        if let Some(atomic) = &atomic {
            assert_eq!(atomic.holds(), longer.is_linearizable(), "{longer:?} {atomic:?}");
        }
        let atomic = atomic.filter(Monitor::holds);
        match (regular.holds(), &atomic) {
            (false, None) => counted.neither += 1,
            (false, Some(_)) => panic!("atomic but not regular: {longer:?}"),
            (true, None) => counted.only_regular += 1,
            (true, Some(_)) => counted.both += 1,
        }
        if regular.holds() {
            compare(&longer, &regular, atomic.as_ref(), counted);
        }
    }
}

#[test]
fn registers_agree_with_their_definitions_on_every_short_history() {
    let mut counted = Counted::default();
    let (regular, atomic) = (RegularRegister::new(0), AtomicRegister::new(0));
    compare(&History::default(), &regular, Some(&atomic), &mut counted);
    assert_eq!(counted, Counted { neither: 18_070, only_regular: 3_170, both: 280_520 });
}

/// One writer of 1, 2, … and readers, as the usual model of regular storage sees them.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Storage {
    begun: u8,
    ended: u8,
    reads: [u8; 2],
    busy: [bool; 2],
}

/// Its ghost variable: the last write that was complete when the read under way began.
type Since = [u8; 2];

impl Storage {
    const WRITES: u8 = 3;
    const READS: u8 = 2;

    /// Every step, with its event and the ghost variable after it; reads return whatever is regular.
    fn steps(&self, since: Since) -> Vec<(Storage, Since, usize, RegisterEvent<u8>)> {
        let mut steps = Vec::new();
        if self.begun > self.ended {
            steps.push((Storage { ended: self.begun, ..self.clone() }, since, 0, WriteEnds));
        } else if self.begun < Self::WRITES {
            let begun = self.begun + 1;
            steps.push((Storage { begun, ..self.clone() }, since, 0, WriteBegins(begun)));
        }
        for reader in 0..2 {
            let (mut after, mut since) = (self.clone(), since);
            after.busy[reader] = !self.busy[reader];
            if self.busy[reader] {
                let returned = since[reader]..=self.begun;
                since[reader] = 0;
                steps.extend(returned.map(|v| (after.clone(), since, 1 + reader, ReadReturns(v))));
            } else if self.reads[reader] < Self::READS {
                after.reads[reader] += 1;
                since[reader] = self.ended;
                steps.push((after, since, 1 + reader, ReadBegins));
            }
        }
        steps
    }
}

#[test]
fn the_regular_register_distinguishes_no_more_states_than_a_ghost_variable() {
    let initial = (Storage::default(), Since::default(), RegularRegister::new(0));
    let (mut seen, mut left) = (HashSet::from([initial.clone()]), vec![initial]);
    while let Some((storage, since, monitor)) = left.pop() {
        for (storage, since, process, event) in storage.steps(since) {
            let monitor = heard(&monitor, process, &event);
            assert!(monitor.holds(), "{monitor:?} after {event:?}");
            let next = (storage, since, monitor);
            if seen.insert(next.clone()) {
                left.push(next);
            }
        }
    }
    let with_ghost: HashSet<_> = seen.iter().map(|(storage, since, _)| (storage, since)).collect();
    let with_monitor: HashSet<_> = seen.iter().map(|(storage, _, monitor)| (storage, monitor)).collect();
    assert!(with_ghost.len() > 100, "{}", with_ghost.len());
    assert_eq!((with_monitor.len(), seen.len()), (with_ghost.len(), with_ghost.len()));
}
