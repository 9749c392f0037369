//! What each channel is, written down once more: the messages on their way to one process, which of them a
//! step may take, and what is left.
//!
//! From: the documentation of [`Channel`] and [`Delivery`]. Shares nothing with the inboxes of the library: here
//! an inbox is a queue for each sender, or one for all, and every set of places in it is tried.
//! Invariant: equal inboxes are equal values. Queues without order are sorted, empty ones are not kept.
//! Held by: tests/naive.rs, where every channel is counted by hand, and the planted mistakes of tests/mutants.rs.

use std::collections::{BTreeMap, BTreeSet};

use quorate::world::{Channel, Delivery, StepKind, World};

/// A message and its sender, both as numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Letter {
    /// Who sent it.
    pub from: usize,
    /// Its position in [`Findings::messages`](super::Findings::messages).
    pub message: usize,
}

/// The messages to one process that were sent and not consumed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Inbox {
    /// Not delivered yet, where delivery is a step.
    pub travelling: Vec<Letter>,
    /// Ready to be consumed, oldest first: a queue for each sender where the channel distinguishes them.
    pub queues: BTreeMap<usize, Vec<Letter>>,
    /// Of messages that stay when they are taken, those that were taken, where that matters: a further copy may never
    /// come.
    pub taken: BTreeSet<Letter>,
}

/// A place in an inbox: the queue and the position in it.
pub type Place = (usize, usize);

/// One way to take messages out of an inbox.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Taking {
    /// The messages, in ascending order.
    pub(super) consumed: Vec<usize>,
    /// The inbox afterwards.
    pub(super) left: Inbox,
    /// How many messages were lost on the way.
    pub(super) skipped: usize,
    /// Is each of them the first copy?
    pub(super) first_copies: bool,
}

/// Where a message queues.
fn queue_of(channel: Channel, letter: Letter) -> usize {
    match channel {
        Channel::Fifo | Channel::LossyFifo | Channel::Blocking(_) | Channel::Overwriting(_) => letter.from,
        Channel::Bag
        | Channel::Lossy
        | Channel::Set
        | Channel::Duplicating
        | Channel::Mailbox
        | Channel::LossyMailbox => 0,
    }
}

/// Does a queue remember in which order messages came?
pub(super) fn remembers_order(channel: Channel) -> bool {
    match channel {
        Channel::Bag | Channel::Lossy | Channel::Set | Channel::Duplicating | Channel::Blocking(_) => false,
        Channel::Fifo
        | Channel::LossyFifo
        | Channel::Mailbox
        | Channel::LossyMailbox
        | Channel::Overwriting(_) => true,
    }
}

impl Inbox {
    /// All that waits to be consumed.
    pub fn waiting(&self) -> impl Iterator<Item = Letter> {
        self.queues.values().flatten().copied()
    }

    fn at(&self, (queue, position): Place) -> Letter {
        self.queues[&queue][position]
    }

    fn places(&self) -> Vec<Place> {
        let of_queue =
            |(&queue, letters): (&usize, &Vec<Letter>)| (0..letters.len()).map(move |at| (queue, at));
        self.queues.iter().flat_map(of_queue).collect()
    }

    /// Joins a queue, as the channel has it; `false` if there is no room.
    fn join(&mut self, channel: Channel, letter: Letter) -> bool {
        let queue = self.queues.entry(queue_of(channel, letter)).or_default();
        match channel {
            Channel::Set | Channel::Duplicating if queue.contains(&letter) => return true,
            Channel::Blocking(size) if queue.len() == size => return false,
            Channel::Overwriting(size) if queue.len() == size => {
                queue.remove(0);
            }
            _ => {}
        }
        queue.push(letter);
        if !remembers_order(channel) {
            queue.sort_unstable();
        }
        true
    }

    fn without(&self, gone: impl Fn(Place) -> bool) -> Self {
        let kept = |(&queue, letters): (&usize, &Vec<Letter>)| {
            let letters: Vec<Letter> =
                (0..letters.len()).filter(|&at| !gone((queue, at))).map(|at| letters[at]).collect();
            (!letters.is_empty()).then_some((queue, letters))
        };
        let queues = self.queues.iter().filter_map(kept).collect();
        Inbox { travelling: self.travelling.clone(), queues, taken: self.taken.clone() }
    }
}

/// A message is sent to the owner of an inbox; `false` if there is no room for it.
pub fn put(world: &World, inbox: &mut Inbox, letter: Letter) -> bool {
    // What is sent again must be received again.
    inbox.taken.remove(&letter);
    if world.delivery == Delivery::AtOnce {
        return inbox.join(world.channel, letter);
    }
    if world.channel != Channel::Set || !inbox.travelling.contains(&letter) {
        inbox.travelling.push(letter);
        inbox.travelling.sort_unstable();
    }
    true
}

/// May a step take the messages at these places, and no others?
pub fn may_take(world: &World, inbox: &Inbox, chosen: &[Place]) -> bool {
    if world.delivery == Delivery::InStepsConsumingAll && chosen.len() < inbox.waiting().count() {
        return false;
    }
    chosen.iter().all(|&(queue, position)| match world.channel {
        Channel::Bag
        | Channel::Lossy
        | Channel::Set
        | Channel::Duplicating
        | Channel::Blocking(_)
        | Channel::LossyFifo
        | Channel::LossyMailbox => true,
        Channel::Fifo => position == 0,
        Channel::Mailbox => position < chosen.len(),
        Channel::Overwriting(_) => {
            let older = (0..position).map(|older| (queue, older));
            let equal = |place: &Place| inbox.at(*place) == inbox.at((queue, position));
            older.filter(equal).all(|place| chosen.contains(&place))
        }
    })
}

/// What is left when a step has taken the messages at these places.
pub fn left(world: &World, inbox: &Inbox, chosen: &[Place]) -> Inbox {
    match world.channel {
        Channel::Duplicating => inbox.clone(),
        Channel::LossyFifo | Channel::LossyMailbox => inbox.without(|(queue, position)| {
            chosen.iter().any(|&(other, taken)| other == queue && position <= taken)
        }),
        _ => inbox.without(|place| chosen.contains(&place)),
    }
}

/// May a step take the messages at these places, and no others?
pub type MayTake = fn(&World, &Inbox, &[Place]) -> bool;
/// What is left when a step has taken the messages at these places.
pub type Left = fn(&World, &Inbox, &[Place]) -> Inbox;

/// Every way to take so many messages. Ways that take the same and leave the same are one.
pub(super) fn takings(
    world: &World,
    inbox: &Inbox,
    size: usize,
    may_take: MayTake,
    left: Left,
) -> BTreeSet<Taking> {
    let chosen = choices(&inbox.places(), size);
    let allowed = chosen.into_iter().filter(|chosen| may_take(world, inbox, chosen));
    let taking = |chosen: Vec<Place>| {
        let mut consumed: Vec<usize> = chosen.iter().map(|&place| inbox.at(place).message).collect();
        consumed.sort_unstable();
        let left = left(world, inbox, &chosen);
        let gone = inbox.waiting().count().saturating_sub(left.waiting().count());
        let first_copies = chosen.iter().all(|&place| !inbox.taken.contains(&inbox.at(place)));
        Taking { consumed, left, skipped: gone.saturating_sub(size), first_copies }
    };
    allowed.map(taking).collect()
}

/// Every choice of so many of these, each in their order.
pub(super) fn choices<T: Clone>(of: &[T], size: usize) -> Vec<Vec<T>> {
    if size == 0 {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (at, first) in of.iter().enumerate() {
        let rest = choices(&of[at + 1..], size - 1);
        all.extend(rest.into_iter().map(|rest| [vec![first.clone()], rest].concat()));
    }
    all
}

/// What can happen to the messages on their way, with the inbox afterwards. In a queue that remembers its order
/// each message is another one; otherwise equal ones are one.
pub fn happen(world: &World, inbox: &Inbox, kind: StepKind) -> Vec<Inbox> {
    if world.delivery != Delivery::AtOnce {
        let mut letters = inbox.travelling.clone();
        letters.dedup();
        return letters.into_iter().map(|letter| happen_to_travelling(world, inbox, kind, letter)).collect();
    }
    let all = inbox.places().into_iter().map(|(queue, position)| match kind {
        StepKind::Duplication => {
            let mut after = inbox.clone();
            let letter = inbox.at((queue, position));
            after.queues.entry(queue).or_default().insert(position + 1, letter);
            after
        }
        _ => inbox.without(|place| place == (queue, position)),
    });
    let mut all: Vec<Inbox> = all.collect();
    if !remembers_order(world.channel) {
        all.sort_unstable();
        all.dedup();
    }
    all
}

fn happen_to_travelling(world: &World, inbox: &Inbox, kind: StepKind, letter: Letter) -> Inbox {
    let mut after = inbox.clone();
    let position = inbox.travelling.partition_point(|other| *other < letter);
    match kind {
        StepKind::Duplication => after.travelling.insert(position, letter),
        StepKind::Loss => {
            after.travelling.remove(position);
        }
        _ => {
            after.travelling.remove(position);
            assert!(after.join(world.channel, letter), "bags and sets have room for all");
        }
    }
    after
}
