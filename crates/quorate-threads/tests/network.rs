//! A component and its network: what can be received when, and how a run is wound up.

use crate::support::everything;
use quorate::engine::components::{ComponentRunner, MessageId, Operation, Ran, Scheduler};
use quorate_threads::sync::{Arc, Mutex, mpsc};
use quorate_threads::{Act, Net, Processes, Step, Threaded, thread};

/// Puts three numbers from two senders together, in the order in which they come.
fn listener(net: &Net<u8, u64>) {
    let mut all = 0;
    while let Some((_, digit)) = net.recv() {
        all = 10 * all + u64::from(digit);
        net.expose(all);
    }
}

fn listening(in_order: bool) -> (Processes<u8, u64>, Vec<MessageId>) {
    let system = Threaded::new().component("listener", |net: Net<u8, u64>| listener(&net));
    let system = if in_order { system } else { system.unordered() };
    let mut runner = system.runner();
    let arrivals = [(1, 1), (1, 2), (2, 3)].map(|(from, digit)| runner.number_message(from, 0, digit));
    (runner, arrivals.to_vec())
}

/// A component that remembers earlier runs cannot be relied on.
#[test]
fn a_component_that_does_something_else_in_every_run_is_noticed() {
    static RUNS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let system = Threaded::new().component("moody", |_: Net<u8, u64>| {
        let count = 1 + RUNS.fetch_add(1, std::sync::atomic::Ordering::Relaxed) % 3;
        let number = Arc::new(Mutex::new(0));
        let theirs = Arc::clone(&number);
        let other = thread::spawn(move || *theirs.lock().unwrap() += 1);
        for _ in 0..count {
            *number.lock().unwrap() += 1;
        }
        other.join().unwrap();
    });
    let outcome = system.check();
    let stopped = outcome.stopped.expect("nothing can be concluded");
    assert!(stopped.to_string().contains("does not do the same"), "{stopped}");
    assert_eq!(outcome.violation, None);
}

#[test]
fn messages_of_one_sender_stay_in_order_unless_they_need_not() {
    for (in_order, expected) in [(true, 3), (false, 6)] {
        let (mut runner, arrivals) = listening(in_order);
        let all = everything(&mut runner, 0, &arrivals);
        assert_eq!((all.runs, all.traces.len(), all.observed.len()), (expected, expected, expected));
        assert!(all.stuck.is_empty(), "to wait for messages is not to be stuck");
    }
}

#[test]
fn a_message_that_is_looked_for_may_not_have_come() {
    let main = |net: Net<u8, u64>| net.expose(net.try_recv().map_or(0, |(_, number)| u64::from(number)));
    let mut runner = Threaded::new().component("one look", main).runner();
    let arrival = runner.number_message(1, 0, 7);
    let all = everything(&mut runner, 0, &[arrival]);
    let seen: Vec<Option<u64>> = all.observed.iter().map(|number| runner.observation(*number)).collect();
    assert_eq!((all.runs, seen), (2, vec![Some(7), Some(0)]));
}

/// An I/O thread hands what arrives to a worker, which answers.
fn server(net: Net<u8, u64>) {
    let (sender, jobs) = mpsc::channel();
    let answers = net.outbox();
    let done = Arc::new(Mutex::new(0));
    let count = Arc::clone(&done);
    let io = thread::spawn(move || {
        while let Some(job) = net.recv() {
            *count.lock().expect("no one panics") += 1;
            sender.send(job).expect("the worker waits");
        }
    });
    let worker = thread::spawn(move || {
        for (client, number) in jobs.iter() {
            answers.send(client, number + 1);
        }
    });
    io.join().expect("it does not panic");
    worker.join().expect("it does not panic");
}

#[test]
fn receptions_and_sends_of_a_component_are_in_one_order() {
    let mut runner = Threaded::new().component("server", server).runner();
    let jobs = [runner.number_message(1, 0, 3), runner.number_message(1, 0, 5)];
    let all = everything(&mut runner, 0, &jobs);
    let answers = [runner.number_message(0, 1, 4), runner.number_message(0, 1, 6)];
    assert_eq!(all.sent.iter().collect::<Vec<_>>(), [&answers.to_vec()]);
    // The first answer comes before or after the second job.
    assert_eq!(all.traces.len(), 2);
    assert!(all.panics.is_empty() && all.stuck.is_empty());
}

/// Chooses the first operation, so many times.
struct First(usize);

impl Scheduler<Step> for First {
    fn choose(&mut self, possible: &[Operation<Step>]) -> Option<usize> {
        assert!(possible.iter().all(|one| one.step.act != Act::Nothing), "only when a run is wound up");
        self.0 = self.0.checked_sub(1)?;
        Some(0)
    }

    fn observe(&mut self, _member: usize, _observed: usize) {}
}

#[test]
fn a_run_can_be_given_up_at_any_moment() {
    let mut runner = Threaded::new().component("server", server).runner();
    let jobs = [runner.number_message(1, 0, 3), runner.number_message(1, 0, 5)];
    for length in 0..20 {
        assert_eq!(runner.run(0, &jobs, &mut First(length)), Ran::Through);
    }
}

#[test]
fn a_panic_in_the_scheduler_is_its_own() {
    struct Broken;
    impl Scheduler<Step> for Broken {
        fn choose(&mut self, _possible: &[Operation<Step>]) -> Option<usize> {
            panic!("the scheduler is broken")
        }
        fn observe(&mut self, _member: usize, _observed: usize) {}
    }
    let (mut runner, arrivals) = listening(true);
    let run = std::panic::AssertUnwindSafe(|| runner.run(0, &arrivals, &mut Broken));
    let panic = std::panic::catch_unwind(run).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"the scheduler is broken"));
    assert_eq!(everything(&mut runner, 0, &arrivals).runs, 3);
}

#[test]
fn a_thread_that_waits_for_a_lock_for_ever_is_stuck_though_another_waits_for_messages() {
    let main = |net: Net<u8, u64>| {
        let lock = Arc::new(Mutex::new(()));
        let stuck = thread::spawn(move || {
            let _once = lock.lock().unwrap();
            let _twice = lock.lock().unwrap();
        });
        net.recv();
        stuck.join().unwrap();
    };
    let mut runner = Threaded::new().component("stuck", main).runner();
    let all = everything(&mut runner, 0, &[]);
    assert_eq!(all.stuck.len(), 1);
}

#[test]
fn the_whole_program_can_be_run_under_shuttle() {
    let echo = |net: Net<u8, u64>| {
        if let Some((client, number)) = net.recv() {
            net.send(client, number + 1);
        }
    };
    let client = |net: Net<u8, u64>| {
        net.send(1, 3);
        net.expose(net.recv().map_or(0, |(_, answer)| u64::from(answer)));
    };
    let system = || Threaded::new().component("client", client).component("echo", echo);
    let right = system().invariant("answers are right", |seen| seen[0].is_none_or(|it| it == 4));
    shuttle::check_dfs(right.whole(), None);
    let wrong = system().invariant("answers are wrong", |seen| seen[0].is_none_or(|it| it == 3)).whole();
    let check = std::panic::AssertUnwindSafe(|| shuttle::check_dfs(wrong, None));
    assert!(std::panic::catch_unwind(check).is_err());
}
