//! The network, as a component sees it.
//!
//! In a run of a component by itself messages arrive as a script says, and every reception may be any of those that can
//! come next. In the whole program, all components under one Shuttle, they go through Shuttle's channels.
//! From: DEMETER, section 4.1: all operations of a component on its network are kept in order.
//! Held by: tests/network.rs.

use std::collections::HashMap;
use std::fmt::{self, Debug};
use std::hash::Hash;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use quorate::engine::components::MessageId;

use crate::conductor::reach;
use crate::shared::Request;
use crate::step::{Act, Need};
use crate::system::{Invariants, Links};

/// Things with numbers: equal ones have the same.
#[derive(Debug)]
pub(crate) struct Numbers<T> {
    list: Vec<T>,
    numbers: HashMap<T, usize>,
}

impl<T> Default for Numbers<T> {
    fn default() -> Self {
        Numbers { list: Vec::new(), numbers: HashMap::new() }
    }
}

impl<T: Clone + Eq + Hash> Numbers<T> {
    fn number(&mut self, thing: T) -> usize {
        let Numbers { list, numbers } = self;
        *numbers.entry(thing).or_insert_with_key(|thing| {
            list.push(thing.clone());
            list.len() - 1
        })
    }

    /// The things that have this number or a higher one.
    pub(crate) fn since(&self, number: usize) -> &[T] {
        &self.list[number..]
    }

    pub(crate) fn get(&self, number: usize) -> &T {
        &self.list[number]
    }
}

/// A message with its sender and its receiver.
pub(crate) type Envelope<M> = (usize, usize, M);

/// The messages and observations of all runs. Observation 0 is none.
pub(crate) struct Book<M, O> {
    messages: Mutex<Numbers<Envelope<M>>>,
    observations: Mutex<Numbers<Option<O>>>,
    links: Links,
    /// How often a component was run, with this book or another.
    pub(crate) runs: Arc<AtomicU64>,
}

impl<M: Clone + Eq + Hash, O: Clone + Eq + Hash> Book<M, O> {
    pub(crate) fn new(links: Links) -> Self {
        let mut observations = Numbers::default();
        observations.number(None);
        Book {
            messages: Mutex::default(),
            observations: Mutex::new(observations),
            links,
            runs: Arc::default(),
        }
    }

    /// A book for the same components, in which nothing has a number yet.
    pub(crate) fn fork(&self) -> Self {
        Book { runs: Arc::clone(&self.runs), ..Book::new(Arc::clone(&self.links)) }
    }

    pub(crate) fn number_message(&self, from: usize, to: usize, message: M) -> MessageId {
        let number = self.messages().number((from, to, message));
        MessageId::try_from(number).expect("fewer messages than memory")
    }

    /// The messages; a panic cannot leave them half changed.
    pub(crate) fn messages(&self) -> MutexGuard<'_, Numbers<Envelope<M>>> {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number here of a message that has this number in another book.
    pub(crate) fn message_of(&self, other: &Book<M, O>, message: MessageId) -> MessageId {
        let (from, to, content) = other.messages().get(message as usize).clone();
        self.number_message(from, to, content)
    }

    /// The number here of an observation that has this number in another book.
    pub(crate) fn observed_of(&self, other: &Book<M, O>, observed: usize) -> usize {
        let observation = other.observations().get(observed).clone();
        self.observations().number(observation)
    }

    pub(crate) fn observations(&self) -> MutexGuard<'_, Numbers<Option<O>>> {
        self.observations.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What properties see of all components of the whole program, now.
pub(crate) struct Sight<O> {
    pub(crate) seen: Mutex<Vec<Option<O>>>,
    pub(crate) invariants: Invariants<O>,
}

/// How messages go.
enum Way<M, O> {
    Scripted(Arc<Book<M, O>>),
    Live { to: Vec<Option<shuttle::sync::mpsc::Sender<(usize, M)>>>, sight: Arc<Sight<O>> },
}

impl<M, O> Clone for Way<M, O> {
    fn clone(&self) -> Self {
        match self {
            Way::Scripted(book) => Way::Scripted(Arc::clone(book)),
            Way::Live { to, sight } => Way::Live { to: to.clone(), sight: Arc::clone(sight) },
        }
    }
}

/// What a component sends through. Other threads may have it, too.
pub struct Outbox<M, O = ()> {
    me: usize,
    way: Way<M, O>,
}

impl<M, O> Clone for Outbox<M, O> {
    fn clone(&self) -> Self {
        Outbox { me: self.me, way: self.way.clone() }
    }
}

impl<M, O> Debug for Outbox<M, O> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Outbox").field("me", &self.me).finish_non_exhaustive()
    }
}

impl<M: Clone + Eq + Hash, O: Clone + Eq + Hash + Debug> Outbox<M, O> {
    /// The number of this component.
    pub fn me(&self) -> usize {
        self.me
    }

    /// Sends a message to another component.
    ///
    /// # Panics
    ///
    /// If there is no link to it: to the component itself there is none.
    pub fn send(&self, to: usize, message: M) {
        match &self.way {
            Way::Scripted(book) => {
                assert!((book.links)(self.me, to), "there is no link from {} to {to}", self.me);
                reach(Request::Send(book.number_message(self.me, to, message)));
            }
            // A component that has ended receives nothing.
            Way::Live { to: others, .. } => {
                let other = others[to].as_ref().expect("there is a link");
                drop(other.send((self.me, message)));
            }
        }
    }

    /// Shows something to properties, instead of what was shown before.
    pub fn expose(&self, observation: O) {
        match &self.way {
            Way::Scripted(book) => {
                let number = book.observations().number(Some(observation));
                reach(Request::Expose(number));
            }
            Way::Live { sight, .. } => {
                // Showing is a step of its own: others may go on between the last operation and this one.
                shuttle::thread::yield_now();
                let seen = {
                    let mut seen = sight.seen.lock().unwrap_or_else(PoisonError::into_inner);
                    seen[self.me] = Some(observation);
                    seen.clone()
                };
                if let Some(broken) = sight.invariants.broken_by(&seen) {
                    panic!("'{broken}' is broken by {seen:?}");
                }
            }
        }
    }
}

/// A component's end of the network.
pub struct Net<M, O = ()> {
    outbox: Outbox<M, O>,
    /// What arrives, in the whole program.
    live: Option<shuttle::sync::mpsc::Receiver<(usize, M)>>,
}

impl<M, O> Debug for Net<M, O> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Net").field("me", &self.outbox.me).finish_non_exhaustive()
    }
}

impl<M: Clone + Eq + Hash, O: Clone + Eq + Hash + Debug> Net<M, O> {
    pub(crate) fn scripted(me: usize, book: Arc<Book<M, O>>) -> Self {
        Net { outbox: Outbox { me, way: Way::Scripted(book) }, live: None }
    }

    pub(crate) fn live(
        me: usize,
        to: Vec<Option<shuttle::sync::mpsc::Sender<(usize, M)>>>,
        sight: Arc<Sight<O>>,
        from: shuttle::sync::mpsc::Receiver<(usize, M)>,
    ) -> Self {
        Net { outbox: Outbox { me, way: Way::Live { to, sight } }, live: Some(from) }
    }

    /// The number of this component.
    pub fn me(&self) -> usize {
        self.outbox.me
    }

    /// What to send through, for another thread.
    pub fn outbox(&self) -> Outbox<M, O> {
        self.outbox.clone()
    }

    /// Sends a message to another component.
    ///
    /// # Panics
    ///
    /// If there is no link to it: to the component itself there is none.
    pub fn send(&self, to: usize, message: M) {
        self.outbox.send(to, message);
    }

    /// Shows something to properties, instead of what was shown before.
    pub fn expose(&self, observation: O) {
        self.outbox.expose(observation);
    }

    /// Waits for a message; returns its sender too. `None` if none will ever come: the thread should end then.
    pub fn recv(&self) -> Option<(usize, M)> {
        match &self.live {
            Some(live) => live.recv().ok(),
            None => self.scripted_message(Need::Must),
        }
    }

    /// A message, if one has arrived.
    pub fn try_recv(&self) -> Option<(usize, M)> {
        match &self.live {
            Some(live) => live.try_recv().ok(),
            None => self.scripted_message(Need::Tries),
        }
    }

    fn scripted_message(&self, need: Need) -> Option<(usize, M)> {
        let Way::Scripted(book) = &self.outbox.way else { return None };
        let Some(Act::Receive(message)) = reach(Request::Receive(need)) else { return None };
        let messages = book.messages();
        let (from, _, message) = messages.get(message as usize);
        Some((*from, message.clone()))
    }
}
