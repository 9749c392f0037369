//! Random systems of two components: what properties can ever see, found component by component, is what they see when
//! Shuttle searches the whole program.

use std::collections::BTreeSet;

use quorate_threads::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use quorate_threads::sync::{Arc, Mutex};
use quorate_threads::{Net, Outbox, Threaded, thread};
use shuttle::scheduler::DfsScheduler;

/// What a thread does next.
#[derive(Clone, Copy, Debug)]
enum Op {
    Send,
    /// Waits for a message.
    Receive,
    /// Looks for a message.
    Look,
    Expose,
    Add,
    /// Adds what it has seen so far, behind a lock.
    Lock,
    /// Sends while it has the lock.
    SendLocked,
    /// Waits for a message while it has the lock.
    ReceiveLocked,
}

#[derive(Clone, Debug)]
struct Program {
    /// The main thread, which has the network.
    main: Vec<Op>,
    /// Another, which can only send.
    other: Vec<Op>,
}

/// What the threads of a component share.
struct Shared {
    number: AtomicUsize,
    sum: Mutex<u64>,
}

/// Does something that needs no reception, and returns what a thread has seen since.
fn act(op: Op, seen: u64, shared: &Shared, outbox: &Outbox<u8, u64>) -> u64 {
    match op {
        Op::Send => {
            outbox.send(1 - outbox.me(), u8::try_from(seen % 4).expect("small"));
            seen
        }
        Op::Expose => {
            outbox.expose(seen);
            seen
        }
        Op::Add => 3 * seen + shared.number.fetch_add(1, SeqCst) as u64,
        Op::Lock => {
            let mut sum = shared.sum.lock().expect("no one panics");
            *sum += seen + 1;
            *sum
        }
        Op::SendLocked => {
            let mut sum = shared.sum.lock().expect("no one panics");
            *sum += 1;
            outbox.send(1 - outbox.me(), u8::try_from(*sum % 4).expect("small"));
            seen
        }
        Op::Receive | Op::Look | Op::ReceiveLocked => seen,
    }
}

fn component(program: &Program, net: &Net<u8, u64>) {
    let shared = Arc::new(Shared { number: AtomicUsize::new(0), sum: Mutex::new(0) });
    let other = (!program.other.is_empty()).then(|| {
        let (ops, shared, outbox) = (program.other.clone(), Arc::clone(&shared), net.outbox());
        thread::spawn(move || {
            ops.into_iter().fold(1, |seen, op| act(op, seen, &shared, &outbox));
        })
    });
    let mut seen = 0;
    for op in &program.main {
        let received = match op {
            Op::Receive => net.recv(),
            Op::Look => net.try_recv(),
            Op::ReceiveLocked => {
                let _locked = shared.sum.lock().expect("no one panics");
                net.recv()
            }
            _ => None,
        };
        match (op, received) {
            (_, Some((_, number))) => seen = 5 * seen + u64::from(number) + 1,
            (Op::Receive | Op::ReceiveLocked, None) => break,
            (op, None) => seen = act(*op, seen, &shared, &net.outbox()),
        }
    }
    if let Some(other) = other {
        other.join().expect("no one panics");
    }
}

type Sights = Arc<std::sync::Mutex<BTreeSet<Vec<Option<u64>>>>>;

/// The system, and everything that its property ever sees.
fn system(programs: &[Program]) -> (Threaded<u8, u64>, Sights) {
    let sights = Sights::default();
    let mut system = Threaded::new();
    for program in programs {
        let program = program.clone();
        system = system.component("", move |net: Net<u8, u64>| component(&program, &net));
    }
    let noted = Arc::clone(&sights);
    let system = system.invariant("seen", move |seen| {
        noted.lock().expect("no one panics").insert(seen.to_vec());
        true
    });
    (system, sights)
}

/// A generator of numbers that are as good as random, and the same in every test.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % bound
    }

    fn ops(&mut self, count_max: usize, among: &[Op]) -> Vec<Op> {
        (0..self.below(count_max + 1)).map(|_| among[self.below(among.len())]).collect()
    }
}

/// Compares so many systems. Returns how many have a whole program that ends soon enough, and the most sights that one
/// had.
fn compare(systems: usize, waiting: &[Op], quiet: &[Op]) -> (usize, usize) {
    let runs_max = 50_000;
    let mut chance = Chance(11);
    let (mut compared, mut sights_max) = (0, 0);
    for _ in 0..systems {
        // Only one of the two waits, so the whole program always ends.
        let alone = [Op::Send, Op::Send, Op::Look, Op::Expose, Op::Expose, Op::Add];
        let first = Program { main: chance.ops(5, &alone), other: Vec::new() };
        let second = Program { main: chance.ops(4, waiting), other: chance.ops(2, quiet) };
        let programs = [first, second];
        let (whole, expected) = system(&programs);
        let scheduler = DfsScheduler::new(Some(runs_max), false);
        let runs = shuttle::Runner::new(scheduler, shuttle::Config::new()).run(whole.whole());
        if runs == runs_max {
            continue;
        }
        let (parts, sights) = system(&programs);
        parts.check().assert_holds();
        let mut expected = expected.lock().expect("no one panics").clone();
        // At first nothing is exposed.
        expected.insert(vec![None; 2]);
        assert_eq!(*sights.lock().expect("no one panics"), expected, "{programs:?}");
        compared += 1;
        sights_max = sights_max.max(expected.len());
    }
    (compared, sights_max)
}

#[test]
fn components_one_by_one_show_what_the_whole_program_shows() {
    let waiting = [Op::Send, Op::Receive, Op::Receive, Op::Expose, Op::Expose, Op::Add, Op::Lock];
    let quiet = [Op::Send, Op::Expose, Op::Expose, Op::Add, Op::Lock];
    let (compared, sights_max) = compare(80, &waiting, &quiet);
    assert!(compared >= 30 && sights_max >= 6, "{compared} systems compared, at most {sights_max} sights");
}

/// Threads that wait for a lock wait for the network, too.
#[test]
fn also_if_they_send_and_receive_while_they_have_a_lock() {
    let waiting = [Op::SendLocked, Op::ReceiveLocked, Op::ReceiveLocked, Op::Expose, Op::Lock];
    let quiet = [Op::SendLocked, Op::Expose, Op::Lock];
    let (compared, sights_max) = compare(50, &waiting, &quiet);
    assert!(compared >= 20 && sights_max >= 4, "{compared} systems compared, at most {sights_max} sights");
}
