//! The messages on their way to one process, as the channel keeps them: what each kind of channel does.

use super::channel::Channel;
use super::{Delivery, World};
use crate::base::ProcessId;

/// What an inbox must know of a message.
pub(crate) trait InboxItem: Clone {
    /// Do both say the same, and come from the same sender?
    fn same(&self, other: &Self) -> bool;
    /// Who sent it.
    fn from(&self) -> ProcessId;
}

/// What was sent to a process and has not been consumed.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Inbox<T> {
    /// Not delivered yet, where delivery is a step.
    pub(crate) travelling: Vec<T>,
    /// Ready to be consumed.
    pub(crate) waiting: Vec<T>,
    /// Of those that wait, which were consumed before: a further copy of them may never come. Noted only where the
    /// channel keeps what is consumed and a property looks at the end of runs.
    pub(crate) received: Vec<T>,
}

impl<T> Default for Inbox<T> {
    fn default() -> Self {
        Inbox { travelling: Vec::new(), waiting: Vec::new(), received: Vec::new() }
    }
}

impl<T: InboxItem> Inbox<T> {
    /// A message is sent to the process. `false` if there is no room for it.
    #[must_use]
    pub(crate) fn arrive(&mut self, world: &World, item: T) -> bool {
        // What is sent again must be received again.
        self.received.retain(|received| !received.same(&item));
        let items = if world.delivery.in_steps() { &mut self.travelling } else { &mut self.waiting };
        put(items, world.channel, item)
    }

    /// Does it hold the same messages as another, in the same order where the channel keeps one?
    pub(crate) fn is_like(&self, other: &Self, channel: Channel) -> bool {
        let lists = [
            (&self.travelling, &other.travelling),
            (&self.waiting, &other.waiting),
            (&self.received, &other.received),
        ];
        lists.into_iter().all(|(one, two)| alike(one, two, channel))
    }

    /// Was the message at a position consumed before?
    pub(crate) fn is_further_copy(&self, position: usize) -> bool {
        self.received.iter().any(|received| received.same(&self.waiting[position]))
    }

    /// Notes that the messages at these positions, which stay, were consumed.
    pub(crate) fn note_received(&mut self, positions: &[usize]) {
        for &position in positions {
            if !self.is_further_copy(position) {
                self.received.push(self.waiting[position].clone());
            }
        }
    }

    /// The messages that may be delivered, lost or doubled, equal ones once where it makes no difference.
    pub(crate) fn on_their_way(&self, world: &World) -> Vec<usize> {
        let items = self.way(world);
        match world.channel {
            Channel::Bag | Channel::Lossy | Channel::Set | Channel::Duplicating | Channel::Blocking(_) => {
                distinct(items)
            }
            _ => (0..items.len()).collect(),
        }
    }

    /// Where messages are that may be delivered, lost or doubled.
    pub(crate) fn way(&self, world: &World) -> &[T] {
        if world.delivery.in_steps() { &self.travelling } else { &self.waiting }
    }

    fn way_mut(&mut self, world: &World) -> &mut Vec<T> {
        if world.delivery.in_steps() { &mut self.travelling } else { &mut self.waiting }
    }

    /// A message is delivered.
    pub(crate) fn deliver(&mut self, world: &World, position: usize) {
        let item = self.travelling.remove(position);
        let room = put(&mut self.waiting, world.channel, item);
        assert!(room, "delivery is a step only for channels without bounds");
    }

    /// A message is lost.
    pub(crate) fn lose(&mut self, world: &World, position: usize) {
        self.way_mut(world).remove(position);
    }

    /// A message is doubled: the copy follows it.
    pub(crate) fn double(&mut self, world: &World, position: usize) {
        let items = self.way_mut(world);
        items.insert(position, items[position].clone());
    }

    /// The positions of messages that a step may consume, equal ones once where it makes no difference.
    pub(crate) fn offers(&self, channel: Channel) -> Vec<usize> {
        match channel {
            Channel::Bag
            | Channel::Lossy
            | Channel::Set
            | Channel::Duplicating
            | Channel::Blocking(_)
            | Channel::Overwriting(_) => distinct(&self.waiting),
            Channel::Fifo | Channel::Mailbox | Channel::LossyFifo | Channel::LossyMailbox => {
                (0..self.waiting.len()).filter(|at| self.is_open(channel, *at)).collect()
            }
        }
    }

    /// May the message at a position be consumed at all?
    pub(crate) fn is_open(&self, channel: Channel, position: usize) -> bool {
        let from = self.waiting[position].from();
        channel != Channel::Fifo || self.waiting[..position].iter().all(|earlier| earlier.from() != from)
    }

    /// May messages at these positions, which are on offer, be consumed in one step?
    pub(crate) fn allows(&self, world: &World, positions: &[usize]) -> bool {
        match (world.delivery, world.channel) {
            (Delivery::InStepsConsumingAll, _) => positions.len() == self.waiting.len(),
            (_, Channel::Mailbox) => positions.iter().all(|position| *position < positions.len()),
            // Whatever comes before the last is gone afterwards, so among equal messages the first stands for all.
            (_, Channel::LossyMailbox) => {
                let last = positions.iter().max();
                positions.iter().all(|position| Some(position) == last || self.is_first(*position))
            }
            _ => true,
        }
    }

    /// Is there no equal message before this one?
    fn is_first(&self, position: usize) -> bool {
        self.waiting[..position].iter().all(|earlier| !earlier.same(&self.waiting[position]))
    }

    /// Consumes messages, and with them those that a lossy channel skips. Returns how many were skipped.
    pub(crate) fn consume(&mut self, channel: Channel, positions: &[usize]) -> usize {
        let waiting = &self.waiting;
        let skipped_by = |at: usize, taken: usize| match channel {
            Channel::LossyFifo => at < taken && waiting[at].from() == waiting[taken].from(),
            Channel::LossyMailbox => at < taken,
            _ => false,
        };
        let gone = |at: usize| {
            channel != Channel::Duplicating
                && (positions.contains(&at) || positions.iter().any(|taken| skipped_by(at, *taken)))
        };
        let kept: Vec<T> = (0..waiting.len()).filter(|at| !gone(*at)).map(|at| waiting[at].clone()).collect();
        let skipped = waiting.len() - kept.len();
        self.waiting = kept;
        skipped.saturating_sub(positions.len())
    }
}

impl<T: InboxItem + Ord> Inbox<T> {
    /// Forgets all order but what the channel keeps, so that equal inboxes are equal values.
    pub(crate) fn normalise(&mut self, channel: Channel) {
        for items in [&mut self.travelling, &mut self.waiting, &mut self.received] {
            match channel {
                Channel::Bag
                | Channel::Lossy
                | Channel::Set
                | Channel::Duplicating
                | Channel::Blocking(_) => {
                    items.sort_unstable();
                }
                Channel::Fifo | Channel::LossyFifo | Channel::Overwriting(_) => {
                    items.sort_by_key(InboxItem::from);
                }
                Channel::Mailbox | Channel::LossyMailbox => {}
            }
        }
    }
}

fn put<T: InboxItem>(items: &mut Vec<T>, channel: Channel, item: T) -> bool {
    let of_sender = |items: &[T]| items.iter().filter(|other| other.from() == item.from()).count();
    match channel {
        Channel::Set | Channel::Duplicating if items.iter().any(|other| other.same(&item)) => {
            return true;
        }
        Channel::Blocking(size) if of_sender(items) >= size => return false,
        Channel::Overwriting(size) if of_sender(items) >= size => {
            let oldest = items.iter().position(|other| other.from() == item.from());
            oldest.map(|oldest| items.remove(oldest));
        }
        _ => {}
    }
    items.push(item);
    true
}

/// Are these the same messages, in the same order where the channel keeps one?
fn alike<T: InboxItem>(one: &[T], two: &[T], channel: Channel) -> bool {
    // Messages that may change places: the first that is not behind another of its queue.
    let same_queue =
        |a: &T, b: &T| channel.keeps_order_of_all() || channel.keeps_order() && a.from() == b.from();
    let mut rest: Vec<&T> = two.iter().collect();
    let found = |rest: &mut Vec<&T>, item: &T| {
        let at = rest.iter().position(|other| other.same(item) || same_queue(other, item));
        at.is_some_and(|at| rest.remove(at).same(item))
    };
    one.len() == two.len() && one.iter().all(|item| found(&mut rest, item))
}

/// The first of each kind of equal messages.
fn distinct<T: InboxItem>(items: &[T]) -> Vec<usize> {
    let first = |at: &usize| items[..*at].iter().all(|earlier| !earlier.same(&items[*at]));
    (0..items.len()).filter(first).collect()
}
