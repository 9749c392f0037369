//! Each primitive by itself: how many runs a small program has, up to the order of independent operations, and what can
//! come of them.

use crate::support::{Everything, everything, spawn_all};
use quorate_threads::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use quorate_threads::sync::{Arc, Condvar, Mutex, RwLock, mpsc};
use quorate_threads::{Net, Processes, Threaded, thread};

fn all(main: impl Fn(Net<u8, u64>) + Send + Sync + 'static) -> (Processes<u8, u64>, Everything) {
    let mut runner = Threaded::new().component("alone", main).runner();
    let everything = everything(&mut runner, 0, &[]);
    (runner, everything)
}

/// What was exposed last in some run.
fn outcomes(runner: &Processes<u8, u64>, everything: &Everything) -> Vec<u64> {
    let mut outcomes: Vec<u64> =
        everything.observed.iter().filter_map(|number| runner.observation(*number)).collect();
    outcomes.sort_unstable();
    outcomes
}

#[test]
fn a_counter_behind_a_lock_has_a_trace_for_each_order() {
    for (threads, orders) in [(1, 1), (2, 2), (3, 6)] {
        let (runner, all) = all(move |net| {
            let counter = Arc::new(Mutex::new(0));
            let shared = Arc::clone(&counter);
            spawn_all(threads, move |_| *shared.lock().unwrap() += 1);
            net.expose(*counter.lock().unwrap());
        });
        assert_eq!(all.traces.len(), orders);
        assert_eq!(outcomes(&runner, &all), [threads as u64]);
        assert!(all.panics.is_empty() && all.stuck.is_empty());
    }
}

#[test]
fn independent_threads_have_one_trace() {
    let (_, all) = all(|_| {
        spawn_all(2, |_| {
            let own = Mutex::new(0);
            *own.lock().unwrap() += 1;
            AtomicUsize::new(0).fetch_add(1, SeqCst);
        });
    });
    assert!(all.runs > 100, "{} runs", all.runs);
    assert_eq!(all.traces.len(), 1);
}

#[test]
fn readers_have_one_trace_and_a_writer_comes_before_or_after_each() {
    let (_, readers) = all(|_| {
        let value = Arc::new(RwLock::new(0));
        spawn_all(2, move |_| drop(value.read().unwrap()));
    });
    assert_eq!(readers.traces.len(), 1);
    let (_, with_writer) = all(|_| {
        let value = Arc::new(RwLock::new(0));
        let readers = Arc::clone(&value);
        let writer = thread::spawn(move || *value.write().unwrap() += 1);
        spawn_all(2, move |_| drop(readers.read().unwrap()));
        writer.join().unwrap();
    });
    assert_eq!(with_writer.traces.len(), 4);
}

#[test]
fn a_lost_update_is_found() {
    let (runner, all) = all(|net| {
        let value = Arc::new(AtomicUsize::new(0));
        let shared = Arc::clone(&value);
        spawn_all(2, move |_| {
            let old = shared.load(SeqCst);
            shared.store(old + 1, SeqCst);
        });
        net.expose(value.load(SeqCst) as u64);
    });
    assert_eq!(outcomes(&runner, &all), [1, 2]);
    // Each load comes before or after the other thread's store, and if both come before, one store is first.
    assert_eq!(all.traces.len(), 4);
}

#[test]
fn what_was_tried_depends_on_who_was_first() {
    let (runner, all) = all(|net| {
        let lock = Arc::new(Mutex::new(()));
        let free = Arc::new(AtomicUsize::new(0));
        let (shared, count) = (Arc::clone(&lock), Arc::clone(&free));
        spawn_all(2, move |_| {
            if let Ok(_guard) = shared.try_lock() {
                count.fetch_add(1, SeqCst);
            }
        });
        net.expose(free.load(SeqCst) as u64);
    });
    assert_eq!(outcomes(&runner, &all), [1, 2]);
    assert!(all.stuck.is_empty());
}

#[test]
fn a_channel_keeps_order_and_ends() {
    let (runner, all) = all(|net| {
        let (sender, receiver) = mpsc::channel();
        let second = sender.clone();
        let one = thread::spawn(move || {
            sender.send(1).unwrap();
            sender.send(2).unwrap();
        });
        let other = thread::spawn(move || second.send(3).unwrap());
        let digits: u64 = receiver.iter().fold(0, |all, digit| 10 * all + digit);
        net.expose(digits);
        one.join().unwrap();
        other.join().unwrap();
    });
    assert_eq!(outcomes(&runner, &all), [123, 132, 312]);
    assert_eq!(all.traces.len(), 3, "what is put in and what is taken out do not get in each other's way");
    assert!(all.stuck.is_empty());
}

#[test]
fn a_channel_that_is_looked_into_may_be_empty() {
    let (runner, all) = all(|net| {
        let (sender, receiver) = mpsc::channel();
        let thread = thread::spawn(move || sender.send(1_u64).unwrap());
        net.expose(match receiver.try_recv() {
            Ok(number) => number,
            Err(mpsc::TryRecvError::Empty) => 8,
            Err(mpsc::TryRecvError::Disconnected) => 9,
        });
        drop(receiver);
        drop(thread);
    });
    // The sender fails if the receiver is gone before.
    assert_eq!(outcomes(&runner, &all), [1, 8]);
    assert!(all.panics.iter().all(|text| text.contains("SendError")) && all.panics.len() == 1);
}

#[test]
fn a_notification_wakes_or_is_lost() {
    let program = |checks: bool| {
        move |_: Net<u8, u64>| {
            let shared = Arc::new((Mutex::new(false), Condvar::new()));
            let other = Arc::clone(&shared);
            let waiter = thread::spawn(move || {
                let (lock, condvar) = &*other;
                let guard = lock.lock().unwrap();
                if checks {
                    drop(condvar.wait_while(guard, |ready| !*ready).unwrap());
                } else {
                    drop(condvar.wait(guard).unwrap());
                }
            });
            *shared.0.lock().unwrap() = true;
            shared.1.notify_one();
            waiter.join().unwrap();
        }
    };
    let (_, right) = all(program(true));
    assert!(right.stuck.is_empty(), "{:?}", right.stuck);
    let (_, wrong) = all(program(false));
    assert_eq!(wrong.stuck.len(), 1, "the notification may come before the wait");
    // Runs that got stuck leave the next ones as they are.
    assert!(wrong.traces.len() > 1);
}

#[test]
fn one_of_those_that_wait_is_woken_whoever_it_is() {
    let (runner, all) = all(|net| {
        let shared = Arc::new((Mutex::new(0), Condvar::new()));
        let first = Arc::new(AtomicUsize::new(0));
        let (others, woken) = (Arc::clone(&shared), Arc::clone(&first));
        let waiter = move |me: usize| {
            let (lock, condvar) = &*others;
            let mut waiting = lock.lock().unwrap();
            *waiting += 1;
            drop(condvar.wait(waiting).unwrap());
            woken.compare_exchange(0, me, SeqCst, SeqCst).ok();
            condvar.notify_one();
        };
        let other = waiter.clone();
        let threads = [thread::spawn(move || waiter(1)), thread::spawn(move || other(2))];
        // Starts when both wait.
        if *shared.0.lock().unwrap() == 2 {
            shared.1.notify_one();
            for thread in threads {
                thread.join().unwrap();
            }
            net.expose(first.load(SeqCst) as u64);
        }
    });
    assert_eq!(outcomes(&runner, &all), [1, 2]);
}

#[test]
fn threads_that_wait_for_each_other_are_reported() {
    let (_, all) = all(|_| {
        let locks = Arc::new([Mutex::new(()), Mutex::new(())]);
        spawn_all(2, move |me| {
            let _mine = locks[me].lock().unwrap();
            let _other = locks[1 - me].lock().unwrap();
        });
    });
    assert!(!all.stuck.is_empty());
    assert_eq!(all.traces.len(), 3, "one first, the other first, or neither");
}

#[test]
fn a_panic_is_reported_and_later_runs_go_on() {
    let (runner, all) = all(|net| {
        let flag = Arc::new(AtomicBool::new(false));
        let shared = Arc::clone(&flag);
        let setter = thread::spawn(move || shared.store(true, SeqCst));
        assert!(!flag.load(SeqCst), "set too early");
        setter.join().unwrap();
        net.expose(1);
    });
    assert_eq!(all.panics.iter().collect::<Vec<_>>(), ["set too early"]);
    assert_eq!(outcomes(&runner, &all), [1]);
}

#[test]
fn what_is_shared_between_runs_is_refused() {
    let outside = Arc::new(Mutex::new(0));
    let (_, all) = all(move |_| drop(outside.lock()));
    assert!(all.panics.iter().all(|text| text.contains("must be made in its main function")));
    assert_eq!(all.panics.len(), 1);
}
