//! Threads that wait, for a lock or to be seen by others, when a run ends: that they come first is found, too.

use quorate_threads::sync::atomic::{AtomicBool, Ordering::SeqCst};
use quorate_threads::sync::{Arc, Mutex, RwLock};
use quorate_threads::{Net, Threaded, thread};

/// Puts what it hears together, in order.
fn listener(net: &Net<u8, u64>) {
    let mut all = 0;
    while let Some((_, digit)) = net.recv() {
        all = 10 * all + u64::from(digit);
        net.expose(all);
    }
}

#[test]
fn two_threads_send_behind_a_lock_in_either_order() {
    for wrong in [12, 21] {
        let outcome = Threaded::new()
            .component("two", |net: Net<u8, u64>| {
                let lock = Arc::new(Mutex::new(()));
                let (outbox, other_lock) = (net.outbox(), Arc::clone(&lock));
                let other = thread::spawn(move || {
                    let _held = other_lock.lock().expect("no one panics");
                    outbox.send(1, 2);
                });
                {
                    let _held = lock.lock().expect("no one panics");
                    net.send(1, 1);
                }
                other.join().expect("no one panics");
            })
            .component("listener", |net| listener(&net))
            .invariant("not this order", move |seen: &[Option<u64>]| seen[1] != Some(wrong))
            .check();
        outcome.assert_violated();
        assert!(outcome.stopped.is_none());
    }
}

#[test]
fn a_thread_panics_if_it_has_a_lock_before_another_waits_for_messages_with_it() {
    let outcome = Threaded::<u8>::new()
        .component("greedy", |net: Net<u8>| {
            let lock = Arc::new(Mutex::new(()));
            let other_lock = Arc::clone(&lock);
            thread::spawn(move || {
                let _held = other_lock.lock().expect("no one panics");
                panic!("it has the lock");
            });
            let _held = lock.lock().expect("no one panics");
            net.recv();
        })
        .check();
    assert_eq!(outcome.assert_violated().wrong, "greedy: it has the lock");
}

#[test]
fn a_thread_panics_if_it_reads_before_another_writes_and_sends() {
    let outcome = Threaded::new()
        .component("writer", |net: Net<u8>| {
            let flag = Arc::new(RwLock::new(false));
            let other_flag = Arc::clone(&flag);
            let other = thread::spawn(move || {
                assert!(*other_flag.read().expect("no one panics"), "read too early");
            });
            {
                let mut flag = flag.write().expect("no one panics");
                net.send(1, 1);
                *flag = true;
            }
            other.join().expect("no one panics");
        })
        .component("listener", |net| while net.recv().is_some() {})
        .check();
    assert_eq!(outcome.assert_violated().wrong, "writer: read too early");
}

#[test]
fn a_thread_panics_if_it_sends_before_another_sends_the_same() {
    let outcome = Threaded::new()
        .component("two", |net: Net<u8>| {
            let flag = Arc::new(AtomicBool::new(false));
            let (outbox, other_flag) = (net.outbox(), Arc::clone(&flag));
            let other = thread::spawn(move || {
                outbox.send(1, 1);
                assert!(other_flag.load(SeqCst), "sent too early");
            });
            flag.store(true, SeqCst);
            net.send(1, 1);
            other.join().expect("no one panics");
        })
        .component("listener", |net| while net.recv().is_some() {})
        .check();
    assert_eq!(outcome.assert_violated().wrong, "two: sent too early");
}
