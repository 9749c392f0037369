//! Runs that differ only in the order of independent operations are run once: as many as the simplest enumerator finds
//! when it forgets that order.

use std::collections::BTreeSet;

use crate::support::{everything, spawn_all};
use quorate_threads::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use quorate_threads::sync::{Arc, Mutex, RwLock, mpsc};
use quorate_threads::{Net, Outcome, Threaded, thread};

type Program = Arc<dyn Fn(Net<u8, u64>) + Send + Sync>;

fn system(program: &Program) -> Threaded<u8, u64> {
    let main = Arc::clone(program);
    Threaded::new().component("alone", move |net| main(net))
}

fn checked(program: &Program) -> Outcome {
    let outcome = system(program).check();
    outcome.assert_holds();
    outcome
}

/// Each of some threads takes a lock once.
fn counter(threads: usize) -> Program {
    Arc::new(move |net| {
        let count = Arc::new(Mutex::new(0));
        let shared = Arc::clone(&count);
        spawn_all(threads, move |_| *shared.lock().expect("no one panics") += 1);
        net.expose(*count.lock().expect("no one panics"));
    })
}

#[test]
fn a_counter_is_run_once_for_each_order() {
    for (threads, orders) in [(1, 1), (2, 2), (3, 6), (4, 24), (5, 120)] {
        let outcome = checked(&counter(threads));
        assert_eq!(outcome.counts.local_traces, Some(orders), "{threads} threads");
        assert!(u128::from(outcome.runs) <= 2 * orders, "{} runs for {threads} threads", outcome.runs);
    }
}

#[test]
fn independent_threads_and_readers_are_run_once() {
    let apart: Program = Arc::new(|_| {
        spawn_all(4, |_| {
            let own = Mutex::new(0);
            for _ in 0..4 {
                *own.lock().expect("no one panics") += 1;
            }
        });
    });
    let reading: Program = Arc::new(|_| {
        let value = Arc::new(RwLock::new(0));
        spawn_all(4, move |_| drop(value.read()));
    });
    for program in [apart, reading] {
        let outcome = checked(&program);
        assert_eq!(outcome.counts.local_traces, Some(1));
    }
}

/// A component of three threads: two add to a sum behind a lock twice, one reads it twice; each keeps a tally of its
/// own that nobody else touches.
fn three_threads() -> Program {
    Arc::new(|_| {
        let sum = Arc::new(RwLock::new(0));
        spawn_all(3, move |me| {
            let tally = AtomicUsize::new(0);
            for _ in 0..2 {
                tally.fetch_add(1, SeqCst);
                if me == 0 {
                    drop(sum.read());
                } else if me == 1 || tally.load(SeqCst) == 2 {
                    *sum.write().expect("no one panics") += 1;
                }
            }
        });
    })
}

/// Shuttle's own search needs more runs than anyone can wait for.
fn assert_shuttle_is_not_through(program: &Program) {
    let runs_max = 20_000;
    let scheduler = shuttle::scheduler::DfsScheduler::new(Some(runs_max), false);
    let runs = shuttle::Runner::new(scheduler, shuttle::Config::new()).run(system(program).whole());
    assert_eq!(runs, runs_max, "Shuttle's own search is through");
}

#[test]
fn a_few_runs_do_where_shuttle_needs_more_than_anyone_can_wait_for() {
    let outcome = checked(&three_threads());
    // Two writers, of two writes and one, make three orders; the two reads come between them in C(3+2, 2) ways.
    assert_eq!(outcome.counts.local_traces, Some(30));
    assert!(outcome.runs <= 40, "{} runs", outcome.runs);
    assert_shuttle_is_not_through(&three_threads());
}

/// Three threads take one lock and then another: in any order the first, and in any order the second.
#[test]
fn locks_that_are_taken_one_after_the_other_have_a_trace_for_each_pair_of_orders() {
    let taking_both = program(vec![vec![Op::Lock(0), Op::Lock(1)]; 3]);
    let outcome = checked(&taking_both);
    assert_eq!(outcome.counts.local_traces, Some(36));
    assert!(outcome.runs <= 40, "{} runs", outcome.runs);
    assert_shuttle_is_not_through(&taking_both);
}

/// What a thread of a random program does.
#[derive(Clone, Copy, Debug)]
enum Op {
    Lock(usize),
    Nested,
    Try(usize),
    Load(usize),
    Add(usize),
    Read,
    Write,
    Put,
    Look,
    Expose,
}

const OPS: [Op; 13] = [
    Op::Lock(0),
    Op::Lock(1),
    Op::Nested,
    Op::Try(0),
    Op::Load(0),
    Op::Load(1),
    Op::Add(0),
    Op::Add(1),
    Op::Read,
    Op::Write,
    Op::Put,
    Op::Look,
    Op::Expose,
];

/// A program whose threads do these things, and whose main thread looks into a channel if it is to.
fn program(threads: Vec<Vec<Op>>) -> Program {
    Arc::new(move |net| {
        let locks = Arc::new([Mutex::new(0), Mutex::new(0)]);
        let numbers = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        let shared = Arc::new(RwLock::new(0));
        let (sender, receiver) = mpsc::channel();
        let receiver = Arc::new(Mutex::new(receiver));
        let mut handles = Vec::new();
        for ops in threads.clone() {
            let (locks, numbers, shared) = (Arc::clone(&locks), Arc::clone(&numbers), Arc::clone(&shared));
            let sender = ops.iter().any(|op| matches!(op, Op::Put)).then(|| sender.clone());
            let (receiver, net) = (Arc::clone(&receiver), net.outbox());
            handles.push(thread::spawn(move || {
                let mut seen = 0;
                for op in ops {
                    match op {
                        Op::Lock(at) => *locks[at].lock().expect("no one panics") += 1,
                        Op::Nested => {
                            let outer = locks[0].lock().expect("no one panics");
                            seen += *outer + *locks[1].lock().expect("no one panics");
                        }
                        Op::Try(at) => seen += u64::from(locks[at].try_lock().is_ok()),
                        Op::Load(at) => seen += numbers[at].load(SeqCst) as u64,
                        Op::Add(at) => seen += numbers[at].fetch_add(1, SeqCst) as u64,
                        Op::Read => seen += *shared.read().expect("no one panics"),
                        Op::Write => *shared.write().expect("no one panics") += 1,
                        Op::Put => {
                            let sender = sender.as_ref().expect("whoever puts has one");
                            sender.send(1).expect("there is a receiver");
                        }
                        Op::Look => {
                            let receiver = receiver.lock().expect("no one panics");
                            seen += receiver.try_recv().unwrap_or(0);
                        }
                        Op::Expose => net.expose(seen),
                    }
                }
                seen
            }));
        }
        let seen = handles.into_iter().map(|handle| handle.join().expect("no one panics"));
        net.expose(seen.fold(1, |all, seen| 100 * all + seen));
    })
}

/// A generator of numbers that are as good as random, and the same in every test.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % bound
    }
}

/// Compares a program's runs, and what is seen in them, with those of the simplest enumerator.
fn compare(threads: &[Vec<Op>]) {
    let program = program(threads.to_vec());
    let mut runner = system(&program).runner();
    let all = everything(&mut runner, 0, &[]);
    assert!(all.stuck.is_empty() && all.panics.is_empty(), "{threads:?}: {:?}", all.panics);
    let mut expected: BTreeSet<Option<u64>> =
        all.traces.values().flatten().map(|shown| runner.observation(*shown)).collect();
    expected.insert(None);
    let sights: Arc<std::sync::Mutex<BTreeSet<Option<u64>>>> = Arc::default();
    let noted = Arc::clone(&sights);
    let system = system(&program).invariant("seen", move |seen| {
        noted.lock().expect("no one panics").insert(seen[0]);
        true
    });
    let outcome = system.check();
    outcome.assert_holds();
    let traces = all.traces.len() as u128;
    assert_eq!(outcome.counts.local_traces, Some(traces), "{threads:?} has {} runs", all.runs);
    assert!(u128::from(outcome.runs) <= 2 * traces + 2, "{} runs for {traces} traces", outcome.runs);
    assert_eq!(*sights.lock().expect("no one panics"), expected, "{threads:?}");
}

#[test]
fn random_programs_are_run_as_often_as_they_have_traces() {
    let mut chance = Chance(7);
    for _ in 0..120 {
        let ops = |chance: &mut Chance| (0..=chance.below(2)).map(|_| OPS[chance.below(OPS.len())]).collect();
        compare(&[ops(&mut chance), ops(&mut chance)]);
    }
}

#[test]
fn three_threads_are_run_as_often_as_they_have_traces() {
    let mut chance = Chance(23);
    for _ in 0..15 {
        let op = |chance: &mut Chance| vec![OPS[chance.below(OPS.len())]];
        compare(&[op(&mut chance), op(&mut chance), op(&mut chance)]);
    }
}
