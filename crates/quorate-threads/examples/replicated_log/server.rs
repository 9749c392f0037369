//! A replicated log: a primary appends entries and sends them to backups, and acknowledges an entry when a backup has
//! stored it. Every replica has a thread for the network, a worker, and a thread that makes checkpoints.
//!
//! The planted race: the primary's checkpoint thread copies the log, and then asks an atomic up to which entry the copy
//! goes. An entry that is appended in between is said to be in the checkpoint and is not. The primary is content, and
//! so is a backup by itself, which drops from its log what a checkpoint is said to contain. Only together do they lose
//! an entry that was acknowledged.

use quorate_threads::sync::atomic::{AtomicU32, Ordering};
use quorate_threads::sync::{Arc, Condvar, Mutex, MutexGuard, mpsc};
use quorate_threads::{Net, Outbox, Threaded, thread};

/// An entry is its place in the log, from 1.
type Entry = u32;

/// What replicas send to each other.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Message {
    /// Store this.
    Replicate(Entry),
    /// It is stored.
    Stored(Entry),
    /// Here is all up to an entry.
    Checkpoint { entries: Vec<Entry>, up_to: Entry },
}

/// What can be seen of a replica.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Seen {
    /// A primary has acknowledged all up to this one.
    Acknowledged(Entry),
    /// A backup has these.
    Has(Vec<Entry>),
}

/// What is asked of the checkpoint thread.
#[derive(Clone, Copy, Default)]
struct Orders {
    make: bool,
    stop: bool,
}

/// What the threads of a replica share.
struct Replica {
    log: Mutex<Vec<Entry>>,
    last: AtomicU32,
    orders: Mutex<Orders>,
    ordered: Condvar,
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no thread panics")
}

impl Replica {
    fn new() -> Arc<Self> {
        Arc::new(Replica {
            log: Mutex::new(Vec::new()),
            last: AtomicU32::new(0),
            orders: Mutex::new(Orders::default()),
            ordered: Condvar::new(),
        })
    }

    fn append(&self, entry: Entry) {
        held(&self.log).push(entry);
        self.last.store(entry, Ordering::SeqCst);
    }

    /// Asks for a checkpoint, or for the end.
    fn order(&self, order: Orders) {
        let mut orders = held(&self.orders);
        orders.make |= order.make;
        orders.stop |= order.stop;
        drop(orders);
        self.ordered.notify_one();
    }

    /// Waits until a checkpoint is wanted; not if it is the end.
    fn is_checkpoint_wanted(&self) -> bool {
        let idle = |orders: &mut Orders| !orders.make && !orders.stop;
        let mut orders = self.ordered.wait_while(held(&self.orders), idle).expect("no thread panics");
        std::mem::take(&mut orders.make)
    }

    /// All entries, and up to which these are.
    fn checkpoint(&self, race: bool) -> Message {
        let entries = held(&self.log).clone();
        let up_to =
            if race { self.last.load(Ordering::SeqCst) } else { entries.last().copied().unwrap_or(0) };
        Message::Checkpoint { entries, up_to }
    }
}

/// Appends so many entries, and acknowledges each when a backup has it.
pub(crate) fn primary(net: Net<Message, Seen>, backups: usize, entries: Entry, race: bool) {
    let replica = Replica::new();
    let (requests, queue) = mpsc::channel();
    let worker = {
        let (replica, outbox) = (Arc::clone(&replica), net.outbox());
        thread::spawn(move || {
            for entry in queue.iter() {
                replica.append(entry);
                to_all(&outbox, backups, &Message::Replicate(entry));
                if entry == 1 {
                    replica.order(Orders { make: true, stop: false });
                }
            }
            replica.order(Orders { make: false, stop: true });
        })
    };
    let checkpoints = {
        let outbox = net.outbox();
        thread::spawn(move || {
            while replica.is_checkpoint_wanted() {
                to_all(&outbox, backups, &replica.checkpoint(race));
            }
        })
    };
    let io = thread::spawn(move || {
        for entry in 1..=entries {
            requests.send(entry).expect("the worker waits");
        }
        drop(requests);
        let mut stored = 0;
        while let Some((_, Message::Stored(entry))) = net.recv() {
            stored += 1;
            net.expose(Seen::Acknowledged(entry));
            if stored == entries {
                return;
            }
        }
    });
    for thread in [worker, checkpoints, io] {
        thread.join().expect("no thread panics");
    }
}

fn to_all(outbox: &Outbox<Message, Seen>, backups: usize, message: &Message) {
    for backup in 1..=backups {
        outbox.send(backup, message.clone());
    }
}

/// Stores what the primary sends. The first backup says so.
pub(crate) fn backup(net: Net<Message, Seen>) {
    let replica = Replica::new();
    let (jobs, queue) = mpsc::channel();
    let worker = {
        let (replica, outbox) = (Arc::clone(&replica), net.outbox());
        thread::spawn(move || {
            for message in queue.iter() {
                follow(&replica, &outbox, message);
            }
            replica.order(Orders { make: false, stop: true });
        })
    };
    let disk = Arc::new(Mutex::new(None));
    let checkpoints = thread::spawn(move || {
        while replica.is_checkpoint_wanted() {
            let checkpoint = replica.checkpoint(false);
            *held(&disk) = Some(checkpoint);
        }
    });
    let io = thread::spawn(move || {
        while let Some((_, message)) = net.recv() {
            jobs.send(message).expect("the worker waits");
        }
    });
    for thread in [worker, checkpoints, io] {
        thread.join().expect("no thread panics");
    }
}

/// Does what the primary says.
fn follow(replica: &Replica, outbox: &Outbox<Message, Seen>, message: Message) {
    match message {
        Message::Replicate(entry) => {
            replica.append(entry);
            outbox.expose(Seen::Has(held(&replica.log).clone()));
            if outbox.me() == 1 {
                outbox.send(0, Message::Stored(entry));
            }
        }
        Message::Checkpoint { entries, up_to } => {
            let mut log = held(&replica.log);
            let later: Vec<Entry> = log.iter().copied().filter(|entry| *entry > up_to).collect();
            *log = [entries, later].concat();
            outbox.expose(Seen::Has(log.clone()));
            drop(log);
            replica.order(Orders { make: true, stop: false });
        }
        Message::Stored(_) => {}
    }
}

/// A primary with backups: what is acknowledged, the first backup has.
pub(crate) fn system(backups: usize, entries: Entry, race: bool) -> Threaded<Message, Seen> {
    let mut system = Threaded::new().component("primary", move |net| primary(net, backups, entries, race));
    for at in 1..=backups {
        system = system.component(format!("backup {at}"), backup);
    }
    let system = system.links(|from, to| (from == 0) != (to == 0));
    system.invariant("what is acknowledged is stored", |seen| match (&seen[0], &seen[1]) {
        (Some(Seen::Acknowledged(entry)), Some(Seen::Has(stored))) => {
            (1..=*entry).all(|entry| stored.contains(&entry))
        }
        (acknowledged, _) => acknowledged.is_none(),
    })
}
