//! What the threads of a component share, as far as it decides what each of them can do next.
//!
//! Differs: Shuttle has locks and channels of its own, and those do the work; but its scheduler does not know what a
//! thread is about to do. So what is held, what waits and what is in a channel is kept here a second time, and a thread
//! is only let go on when the primitive under it will not block.
//! Invariant: `possible` is empty exactly when the primitive would block.
//! Held by: tests/primitives.rs, tests/runs.rs.

use std::collections::HashMap;

use quorate::engine::components::MessageId;

use crate::step::{Act, Agent, Hold, Need, Object};

/// What comes of a request, and how often its object was changed before.
type Happens = (Act, usize);

/// What a thread wants to do next. What comes of it depends on what others do before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Request {
    Spawn(Agent),
    Exit,
    Join(Agent),
    Acquire(Object, Hold, Need),
    Release(Object, Hold),
    Wait { condvar: Object, lock: Object },
    Wake { condvar: Object, lock: Object },
    NotifyOne(Object),
    NotifyAll(Object),
    Put(Object),
    Take(Object, Need),
    HangUp(Object),
    Deafen(Object),
    Load(Object),
    Update(Object),
    Send(MessageId),
    Receive(Need),
    Expose(usize),
}

#[derive(Default)]
struct Lock {
    exclusive: Option<Agent>,
    shared: Vec<Agent>,
    /// How often it was held by one thread alone.
    taken: usize,
    /// How often it was taken or given back, by anyone.
    changes: usize,
}

impl Lock {
    fn is_free(&self, hold: Hold) -> bool {
        self.exclusive.is_none() && (hold == Hold::Shared || self.shared.is_empty())
    }
}

#[derive(Default)]
struct Condvar {
    waiting: Vec<Agent>,
    woken: Vec<Agent>,
    notified: usize,
}

#[derive(Default)]
struct Channel {
    put: usize,
    taken: usize,
    senders: usize,
    /// Who has given up a sender.
    hung_up: Vec<Agent>,
}

/// A message that arrives from another component.
#[derive(Clone, Copy)]
pub(crate) struct Arrival {
    pub(crate) from: usize,
    pub(crate) message: MessageId,
}

/// What threads share.
#[derive(Default)]
pub(crate) struct Shared {
    locks: HashMap<Object, Lock>,
    condvars: HashMap<Object, Condvar>,
    channels: HashMap<Object, Channel>,
    updates: HashMap<Object, usize>,
    ended: Vec<Agent>,
    /// What has not been received yet, in order.
    arrivals: Vec<Arrival>,
    in_order: bool,
    sent_and_received: usize,
    exposed: usize,
    /// Is the run being wound up: will nothing come from other components?
    pub(crate) winds_up: bool,
    /// Do threads that wait for an empty channel go on too, as if its senders were given up?
    pub(crate) hangs_up: bool,
}

impl Shared {
    pub(crate) fn new(arrivals: Vec<Arrival>, in_order: bool) -> Self {
        Shared { arrivals, in_order, ..Shared::default() }
    }

    /// A channel has one more sender.
    pub(crate) fn add_sender(&mut self, channel: Object) {
        self.channels.entry(channel).or_default().senders += 1;
    }

    /// Everything that may come of a request now.
    pub(crate) fn possible(&self, request: &Request) -> Vec<Happens> {
        let one = |act: Act, nth: usize| vec![(act, nth)];
        let taken = |lock: &Object| self.locks.get(lock).map_or(0, |lock| lock.taken);
        let is_free = |lock: &Object, hold| self.locks.get(lock).is_none_or(|lock| lock.is_free(hold));
        match request {
            Request::Spawn(child) => one(Act::Spawn(*child), 0),
            Request::Exit => one(Act::Exit, 0),
            Request::Join(other) if self.ended.contains(other) => one(Act::Join(*other), 0),
            Request::Acquire(lock, hold, need) if is_free(lock, *hold) => {
                one(Act::Acquire(*lock, *hold, *need), taken(lock))
            }
            Request::Acquire(lock, Hold::Shared, Need::Tries) => {
                one(Act::Busy(*lock, Hold::Shared), taken(lock))
            }
            Request::Acquire(lock, Hold::Exclusive, Need::Tries) => {
                let changes = self.locks.get(lock).map_or(0, |lock| lock.changes);
                one(Act::Busy(*lock, Hold::Exclusive), changes)
            }
            Request::Release(lock, hold) => one(Act::Release(*lock, *hold), taken(lock)),
            Request::Wait { condvar, lock } => one(Act::Wait { condvar: *condvar, lock: *lock }, taken(lock)),
            Request::NotifyOne(condvar) | Request::NotifyAll(condvar) => {
                self.notifications(*condvar, matches!(request, Request::NotifyAll(_)))
            }
            Request::Put(channel) => one(Act::Put(*channel), self.channel(channel).map_or(0, |it| it.put)),
            Request::Take(channel, need) => self.what_comes_out(*channel, *need),
            Request::HangUp(channel) => one(Act::HangUp(*channel), 0),
            Request::Deafen(channel) => one(Act::Deafen(*channel), 0),
            Request::Load(object) => one(Act::Load(*object), self.updates_of(object)),
            Request::Update(object) => one(Act::Update(*object), self.updates_of(object)),
            Request::Send(message) => one(Act::Send(*message), self.sent_and_received),
            Request::Receive(need) => self.receptions(*need),
            Request::Expose(observed) => one(Act::Expose(*observed), self.exposed),
            Request::Join(_) | Request::Acquire(..) | Request::Wake { .. } => Vec::new(),
        }
    }

    /// Everything that may come of a thread's request now.
    pub(crate) fn possible_for(&self, agent: Agent, request: &Request) -> Vec<Happens> {
        let Request::Wake { condvar, lock } = request else { return self.possible(request) };
        let woken = self.condvars.get(condvar).is_some_and(|it| it.woken.contains(&agent));
        let lock_now = self.locks.get(lock);
        if !woken || !lock_now.is_none_or(|lock| lock.is_free(Hold::Exclusive)) {
            return Vec::new();
        }
        let nth = lock_now.map_or(0, |lock| lock.taken);
        vec![(Act::Wake { condvar: *condvar, lock: *lock }, nth)]
    }

    /// What a thread cannot do now, and could if another had not taken the lock or the item in the channel.
    pub(crate) fn waits_to(&self, agent: Agent, request: &Request) -> Option<Happens> {
        if !self.possible_for(agent, request).is_empty() {
            return None;
        }
        let taken = |lock: &Object| self.locks.get(lock).map_or(0, |lock| lock.taken);
        match request {
            Request::Acquire(lock, hold, need) => Some((Act::Acquire(*lock, *hold, *need), taken(lock))),
            Request::Wake { condvar, lock } => {
                let woken = self.condvars.get(condvar).is_some_and(|it| it.woken.contains(&agent));
                woken.then(|| (Act::Wake { condvar: *condvar, lock: *lock }, taken(lock)))
            }
            Request::Take(channel, need) => {
                Some((Act::Take(*channel, *need), self.channel(channel).map_or(0, |it| it.taken)))
            }
            // All operations on the network depend on each other, so this one may stand for any reception.
            Request::Receive(_) => Some((Act::Nothing, self.sent_and_received)),
            _ => None,
        }
    }

    fn channel(&self, channel: &Object) -> Option<&Channel> {
        self.channels.get(channel)
    }

    fn updates_of(&self, object: &Object) -> usize {
        self.updates.get(object).copied().unwrap_or(0)
    }

    /// Whom a notification may wake: any one of those that wait, or all.
    fn notifications(&self, condvar: Object, all: bool) -> Vec<Happens> {
        let now = self.condvars.get(&condvar);
        let waiting = now.map_or(&[][..], |it| &it.waiting);
        let nth = now.map_or(0, |it| it.notified);
        let wakes = |woken: &[Agent]| (Act::Notify { condvar, woken: woken.to_vec() }, nth);
        if all || waiting.is_empty() {
            return vec![wakes(waiting)];
        }
        waiting.chunks(1).map(wakes).collect()
    }

    fn what_comes_out(&self, channel: Object, need: Need) -> Vec<Happens> {
        let unknown = Channel::default();
        let Channel { put, taken, senders, hung_up } = self.channel(&channel).unwrap_or(&unknown);
        let act = if taken < put {
            Act::Take(channel, need)
        } else if *senders == 0 || self.hangs_up {
            Act::HungUp(channel, need)
        } else if need == Need::Tries {
            Act::Empty(channel, hung_up.clone())
        } else {
            return Vec::new();
        };
        vec![(act, *taken)]
    }

    /// The messages that can be received next, each content once. A thread that does not wait may always find nothing,
    /// since no message has to arrive by a given time.
    fn receptions(&self, need: Need) -> Vec<Happens> {
        let step = |act: Act| (act, self.sent_and_received);
        if self.winds_up {
            return vec![step(Act::Nothing)];
        }
        let mut senders: Vec<usize> = Vec::new();
        let mut steps: Vec<Happens> = Vec::new();
        for Arrival { from, message } in &self.arrivals {
            if self.in_order && senders.contains(from) {
                continue;
            }
            senders.push(*from);
            let receive = step(Act::Receive(*message));
            if !steps.contains(&receive) {
                steps.push(receive);
            }
        }
        if need == Need::Tries {
            steps.push(step(Act::Nothing));
        }
        steps
    }

    /// A thread does something that is possible.
    pub(crate) fn perform(&mut self, agent: Agent, act: &Act) {
        match act {
            Act::Exit => self.ended.push(agent),
            Act::Acquire(lock, hold, _) => self.acquire(agent, *lock, *hold),
            Act::Release(lock, hold) => self.release(agent, *lock, *hold),
            Act::Wait { condvar, lock } => {
                self.release(agent, *lock, Hold::Exclusive);
                self.condvars.entry(*condvar).or_default().waiting.push(agent);
            }
            Act::Wake { condvar, lock } => {
                self.condvars.entry(*condvar).or_default().woken.retain(|other| *other != agent);
                self.acquire(agent, *lock, Hold::Exclusive);
            }
            Act::Notify { condvar, woken } => {
                let now = self.condvars.entry(*condvar).or_default();
                now.waiting.retain(|other| !woken.contains(other));
                now.woken.extend(woken);
                now.notified += 1;
            }
            Act::Put(channel) => self.channels.entry(*channel).or_default().put += 1,
            Act::Take(channel, _) => self.channels.entry(*channel).or_default().taken += 1,
            Act::HangUp(channel) => {
                let channel = self.channels.entry(*channel).or_default();
                channel.senders -= 1;
                channel.hung_up.push(agent);
                channel.hung_up.sort_unstable();
            }
            Act::Update(object) => *self.updates.entry(*object).or_default() += 1,
            Act::Send(_) | Act::Nothing => self.sent_and_received += 1,
            Act::Receive(message) => {
                self.sent_and_received += 1;
                let at = self.arrivals.iter().position(|arrival| arrival.message == *message);
                self.arrivals.remove(at.expect("only what has arrived is received"));
            }
            Act::Expose(_) => self.exposed += 1,
            Act::Spawn(_)
            | Act::Join(_)
            | Act::Busy(..)
            | Act::Empty(..)
            | Act::HungUp(..)
            | Act::Deafen(_)
            | Act::Load(_) => {}
        }
    }

    fn acquire(&mut self, agent: Agent, lock: Object, hold: Hold) {
        let lock = self.locks.entry(lock).or_default();
        lock.changes += 1;
        match hold {
            Hold::Shared => lock.shared.push(agent),
            Hold::Exclusive => {
                lock.exclusive = Some(agent);
                lock.taken += 1;
            }
        }
    }

    fn release(&mut self, agent: Agent, lock: Object, hold: Hold) {
        let lock = self.locks.entry(lock).or_default();
        lock.changes += 1;
        match hold {
            Hold::Exclusive => lock.exclusive = None,
            Hold::Shared => {
                if let Some(at) = lock.shared.iter().position(|other| *other == agent) {
                    lock.shared.swap_remove(at);
                }
            }
        }
    }

    /// Of threads that cannot go on, those that never will: no message that may yet arrive can help them. Which thread
    /// ends or holds a lock is known; which might put something into a channel, or notify, is not, so any thread that
    /// can still be helped is taken to.
    pub(crate) fn hopeless(&self, waiting: &[(Agent, &Request)]) -> Vec<Agent> {
        let mut hopeful: Vec<Agent> = Vec::new();
        loop {
            let helped = |request: &Request| match request {
                Request::Receive(_) => true,
                Request::Join(other) => hopeful.contains(other),
                Request::Acquire(lock, ..) => self.holders_have_hope(lock, &hopeful),
                _ => !hopeful.is_empty(),
            };
            let fresh = waiting.iter().find(|(agent, request)| !hopeful.contains(agent) && helped(request));
            match fresh {
                Some((agent, _)) => hopeful.push(*agent),
                None => break,
            }
        }
        waiting.iter().map(|(agent, _)| *agent).filter(|agent| !hopeful.contains(agent)).collect()
    }

    fn holders_have_hope(&self, lock: &Object, hopeful: &[Agent]) -> bool {
        let Some(lock) = self.locks.get(lock) else { return true };
        lock.shared.iter().chain(&lock.exclusive).all(|holder| hopeful.contains(holder))
    }
}
