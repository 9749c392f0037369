//! What a thread does in one operation, and which operations get in each other's way.
//!
//! From: DEMETER, section 5: threads of a process are reordered by an embedded checker with partial-order reduction.
//! Differs: the paper's checker intercepts system calls; here the wrapper that performs an operation announces it, with
//! all that its dependences rest on. Where that says which of several things happened (a `try_lock` that failed,
//! the third item of a channel), fewer operations depend on each other than if only the object were known.
//! Known: the steps of each thread, in their order, determine in which order dependent operations came: a step says how
//! often its object was changed before.
//! Invariant: two operations that do not depend on each other can be exchanged wherever they are neighbours, and none
//! of them makes the other possible or impossible.
//! Held by: tests/runs.rs, which counts traces.

use std::fmt;

use quorate::engine::components::{MessageId, Operation};

/// A thread of a component. The same thread has the same number in every run.
pub type Agent = usize;

/// Something that threads share: named by the thread that made it and how many it had made before, so that it is the
/// same in every run in which the same went before.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Object {
    /// The thread that made it.
    pub maker: Agent,
    /// How many others it had made before.
    pub nth: usize,
}

/// How a lock is held.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Hold {
    /// By readers.
    Shared,
    /// By one thread.
    Exclusive,
}

/// What a thread does.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Act {
    /// It starts another.
    Spawn(Agent),
    /// It ends.
    Exit,
    /// It sees that another has ended.
    Join(Agent),
    /// It takes a lock, perhaps one that it would have gone on without.
    Acquire(Object, Hold, Need),
    /// It tries to take a lock and cannot.
    Busy(Object, Hold),
    /// It gives a lock back.
    Release(Object, Hold),
    /// It gives a lock back and waits to be woken.
    Wait {
        /// Where it waits.
        condvar: Object,
        /// What it gives back.
        lock: Object,
    },
    /// It was woken and takes the lock again.
    Wake {
        /// Where it waited.
        condvar: Object,
        /// What it takes.
        lock: Object,
    },
    /// It wakes threads that wait.
    Notify {
        /// Where they wait.
        condvar: Object,
        /// Which threads.
        woken: Vec<Agent>,
    },
    /// It puts something into a channel.
    Put(Object),
    /// It takes something out of a channel.
    Take(Object, Need),
    /// It looks into a channel and finds nothing. Exactly these threads have given up senders of it before.
    Empty(Object, Vec<Agent>),
    /// It gives up a sender of a channel.
    HangUp(Object),
    /// It sees that nothing will ever come out of a channel again.
    HungUp(Object, Need),
    /// It gives up the receiver of a channel.
    Deafen(Object),
    /// It reads an atomic.
    Load(Object),
    /// It writes an atomic, and may read it first.
    Update(Object),
    /// It sends a message to another component.
    Send(MessageId),
    /// It receives a message from another component.
    Receive(MessageId),
    /// It looks for a message from another component and finds none.
    Nothing,
    /// It shows something to properties, by number.
    Expose(usize),
}

/// Does a thread wait until it can do something?
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Need {
    /// It waits.
    Must,
    /// It goes on without.
    Tries,
}

/// What a thread does, and when.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Step {
    /// Who.
    pub agent: Agent,
    /// What it does.
    pub act: Act,
    /// How often its object was changed before: how much was put into a channel or taken out of it, how often a
    /// lock was taken by one thread alone, how many messages came and went.
    pub nth: usize,
}

/// Translates numbers of one book into those of another.
pub(crate) struct Renaming<'r> {
    /// Of threads.
    pub(crate) agent: &'r mut dyn FnMut(Agent) -> Agent,
    /// Of messages.
    pub(crate) message: &'r mut dyn FnMut(MessageId) -> MessageId,
    /// Of what is shown to properties.
    pub(crate) observed: &'r mut dyn FnMut(usize) -> usize,
}

impl Renaming<'_> {
    fn object(&mut self, object: Object) -> Object {
        Object { maker: (self.agent)(object.maker), ..object }
    }

    fn agents(&mut self, agents: &[Agent]) -> Vec<Agent> {
        agents.iter().map(|agent| (self.agent)(*agent)).collect()
    }

    /// A step with its numbers translated.
    pub(crate) fn step(&mut self, step: &Step) -> Step {
        Step { agent: (self.agent)(step.agent), act: self.act(&step.act), nth: step.nth }
    }

    fn act(&mut self, act: &Act) -> Act {
        match act {
            Act::Spawn(child) => Act::Spawn((self.agent)(*child)),
            Act::Exit => Act::Exit,
            Act::Join(other) => Act::Join((self.agent)(*other)),
            Act::Acquire(lock, hold, need) => Act::Acquire(self.object(*lock), *hold, *need),
            Act::Busy(lock, hold) => Act::Busy(self.object(*lock), *hold),
            Act::Release(lock, hold) => Act::Release(self.object(*lock), *hold),
            Act::Wait { condvar, lock } => {
                Act::Wait { condvar: self.object(*condvar), lock: self.object(*lock) }
            }
            Act::Wake { condvar, lock } => {
                Act::Wake { condvar: self.object(*condvar), lock: self.object(*lock) }
            }
            Act::Notify { condvar, woken } => {
                Act::Notify { condvar: self.object(*condvar), woken: self.agents(woken) }
            }
            Act::Put(channel) => Act::Put(self.object(*channel)),
            Act::Take(channel, need) => Act::Take(self.object(*channel), *need),
            Act::Empty(channel, hung_up) => {
                let mut hung_up = self.agents(hung_up);
                hung_up.sort_unstable();
                Act::Empty(self.object(*channel), hung_up)
            }
            Act::HangUp(channel) => Act::HangUp(self.object(*channel)),
            Act::HungUp(channel, need) => Act::HungUp(self.object(*channel), *need),
            Act::Deafen(channel) => Act::Deafen(self.object(*channel)),
            Act::Load(number) => Act::Load(self.object(*number)),
            Act::Update(number) => Act::Update(self.object(*number)),
            Act::Send(message) => Act::Send((self.message)(*message)),
            Act::Receive(message) => Act::Receive((self.message)(*message)),
            Act::Nothing => Act::Nothing,
            Act::Expose(observed) => Act::Expose((self.observed)(*observed)),
        }
    }
}

impl fmt::Display for Object {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.maker, self.nth)
    }
}

/// For people, who know the program: objects are named after the thread that made them.
impl fmt::Display for Act {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Act::Spawn(child) => write!(formatter, "starts thread {child}"),
            Act::Exit => write!(formatter, "ends"),
            Act::Join(other) => write!(formatter, "sees that thread {other} has ended"),
            Act::Acquire(lock, Hold::Exclusive, _) => write!(formatter, "takes lock {lock}"),
            Act::Acquire(lock, Hold::Shared, _) => write!(formatter, "takes lock {lock} to read"),
            Act::Busy(lock, _) => write!(formatter, "finds lock {lock} taken"),
            Act::Release(lock, _) => write!(formatter, "gives lock {lock} back"),
            Act::Wait { condvar, lock } => write!(formatter, "gives lock {lock} back and waits at {condvar}"),
            Act::Wake { condvar, lock } => write!(formatter, "is woken at {condvar} and takes lock {lock}"),
            Act::Notify { condvar, woken } if woken.is_empty() => {
                write!(formatter, "wakes nobody at {condvar}")
            }
            Act::Notify { condvar, woken } => write!(formatter, "wakes threads {woken:?} at {condvar}"),
            Act::Put(channel) => write!(formatter, "puts something into channel {channel}"),
            Act::Take(channel, _) => write!(formatter, "takes something out of channel {channel}"),
            Act::Empty(channel, _) => write!(formatter, "finds channel {channel} empty"),
            Act::HangUp(channel) => write!(formatter, "gives up a sender of channel {channel}"),
            Act::HungUp(channel, _) => write!(formatter, "sees that channel {channel} has ended"),
            Act::Deafen(channel) => write!(formatter, "gives up the receiver of channel {channel}"),
            Act::Load(number) => write!(formatter, "reads atomic {number}"),
            Act::Update(number) => write!(formatter, "writes atomic {number}"),
            Act::Send(message) => write!(formatter, "sends message {message}"),
            Act::Receive(message) => write!(formatter, "receives message {message}"),
            Act::Nothing => write!(formatter, "finds no message"),
            Act::Expose(observed) => write!(formatter, "shows observation {observed}"),
        }
    }
}

impl Act {
    /// Does it use the network? All such operations are kept in order.
    pub(crate) fn is_network(&self) -> bool {
        matches!(self, Act::Send(_) | Act::Receive(_) | Act::Nothing)
    }

    /// The lock that it takes, gives back or finds busy, and how that is held.
    fn lock(&self) -> Option<(Object, Hold)> {
        match self {
            Act::Acquire(lock, hold, _) | Act::Busy(lock, hold) | Act::Release(lock, hold) => {
                Some((*lock, *hold))
            }
            Act::Wait { lock, .. } | Act::Wake { lock, .. } => Some((*lock, Hold::Exclusive)),
            _ => None,
        }
    }

    fn gives_lock_back(&self) -> bool {
        matches!(self, Act::Release(..) | Act::Wait { .. })
    }

    /// Can it only happen when the lock is free?
    fn waits_for_lock(&self) -> bool {
        matches!(self, Act::Acquire(_, _, Need::Must) | Act::Wake { .. })
    }

    /// The channel that it looks into.
    fn looks_into(&self) -> Option<Object> {
        match self {
            Act::Take(channel, _) | Act::Empty(channel, _) | Act::HungUp(channel, _) => Some(*channel),
            _ => None,
        }
    }
}

/// Does the order of two operations of different threads matter?
pub(crate) fn depends(one: &Operation<Step>, other: &Operation<Step>) -> bool {
    matters(one, other) || matters(other, one)
}

/// One half of a symmetric relation: [`depends`] asks it in both orders.
fn matters(one: &Operation<Step>, other: &Operation<Step>) -> bool {
    let (act, then) = (&one.step.act, &other.step.act);
    if let (Some((lock, hold)), Some((other_lock, other_hold))) = (act.lock(), then.lock()) {
        let both_busy = matches!((act, then), (Act::Busy(..), Act::Busy(..)));
        if lock == other_lock && !both_busy && (hold == Hold::Exclusive || other_hold == Hold::Exclusive) {
            return true;
        }
    }
    if act.looks_into().is_some() && act.looks_into() == then.looks_into() {
        return true;
    }
    match (act, then) {
        (Act::Spawn(child), _) => *child == other.agent,
        (Act::Exit, Act::Join(ended)) => *ended == one.agent,
        (Act::Notify { condvar, woken }, Act::Wake { condvar: of, .. }) => {
            condvar == of && woken.contains(&other.agent)
        }
        (Act::Notify { condvar, .. }, Act::Wait { condvar: of, .. } | Act::Notify { condvar: of, .. }) => {
            condvar == of
        }
        (Act::Put(channel), Act::Take(of, _) | Act::Empty(of, _)) => {
            channel == of && one.step.nth == other.step.nth
        }
        (Act::Put(channel) | Act::Deafen(channel), Act::Put(of))
        | (Act::HangUp(channel), Act::HungUp(of, _) | Act::Empty(of, _))
        | (Act::Load(channel) | Act::Update(channel), Act::Update(of)) => channel == of,
        (Act::Expose(_), Act::Expose(_)) => true,
        _ => act.is_network() && then.is_network(),
    }
}

/// Could the second of two operations have come before the first? Not if the first is what makes the second possible.
pub(crate) fn races(first: &Operation<Step>, second: &Operation<Step>) -> bool {
    depends(first, second) && !only_enables(&first.step.act, &second.step.act)
}

fn only_enables(first: &Act, second: &Act) -> bool {
    match (first, second) {
        (Act::Spawn(_), _)
        | (Act::Exit, Act::Join(_))
        | (Act::Notify { .. }, Act::Wake { .. })
        | (Act::Put(_), Act::Take(_, Need::Must))
        | (Act::HangUp(_), Act::HungUp(_, Need::Must)) => true,
        (Act::Busy(..), _) => false,
        // A lock must be taken before it is given back, and given back before it is taken again.
        _ if first.lock().is_some() && second.lock().is_some() => {
            second.gives_lock_back() || first.gives_lock_back() && second.waits_for_lock()
        }
        _ => false,
    }
}
