//! The kinds of channels, and what sets each apart: a table of traits. Reductions and engines ask for a trait, never
//! for a kind; `inbox.rs` beside this does what the traits say.

use std::fmt;

/// The messages on their way to a process: how they are kept, and which of them it may consume.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Channel {
    /// Any message may be next; equal messages are counted. A message that is never consumed is a lost message, so
    /// loss needs no step.
    #[default]
    Bag,
    /// As a bag, and any message may get lost: a run may end while messages wait.
    Lossy,
    /// As a bag, but a message that is there already is not there twice.
    Set,
    /// Messages of one sender stay in order.
    Fifo,
    /// All messages to one receiver stay in the order in which they were sent.
    Mailbox,
    /// As [`Channel::Fifo`], and messages may be skipped: what is skipped is lost.
    LossyFifo,
    /// As [`Channel::Mailbox`], and messages may be skipped: what is skipped is lost.
    LossyMailbox,
    /// What was sent once can be received any number of times.
    Duplicating,
    /// At most so many messages of one sender wait at a receiver: a step that would send one more has to wait.
    Blocking(
        /// How many, from 1 to [`Channel::SIZE_MAX`].
        usize,
    ),
    /// At most so many messages of one sender wait at a receiver: one more takes the place of the oldest.
    Overwriting(
        /// How many, from 1 to [`Channel::SIZE_MAX`].
        usize,
    ),
}

/// What reductions and engines may ask of a channel.
#[derive(Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "a row of a table of traits")]
struct Traits {
    /// The order in which messages were sent that makes a difference.
    order: Order,
    /// May a message be consumed before earlier ones that it comes behind? These are lost then.
    may_skip: bool,
    /// Are equal messages so many messages, and not one?
    counts_copies: bool,
    /// Does a message that is consumed stay?
    keeps_consumed: bool,
    /// What happens if there is no room.
    room: Room,
    /// See [`Channel::commutes`].
    commutes: bool,
    /// See [`Channel::shows_missing_messages`].
    shows_missing_messages: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    None,
    OfSender,
    OfReceiver,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Room {
    Unlimited,
    SenderWaits,
    OldestIsLost,
}

/// Those of a bag.
const BAG: Traits = Traits {
    order: Order::None,
    may_skip: false,
    counts_copies: true,
    keeps_consumed: false,
    room: Room::Unlimited,
    commutes: true,
    shows_missing_messages: false,
};

impl Channel {
    /// The table: for each kind, what sets it apart from a bag.
    #[inline]
    fn traits(self) -> Traits {
        match self {
            Channel::Bag => BAG,
            Channel::Lossy => Traits { may_skip: true, ..BAG },
            Channel::Set => Traits { counts_copies: false, commutes: false, ..BAG },
            Channel::Duplicating => Traits { counts_copies: false, keeps_consumed: true, ..BAG },
            Channel::Fifo => Traits { order: Order::OfSender, ..BAG },
            Channel::LossyFifo => Traits { order: Order::OfSender, may_skip: true, ..BAG },
            Channel::Mailbox => {
                Traits { order: Order::OfReceiver, commutes: false, shows_missing_messages: true, ..BAG }
            }
            Channel::LossyMailbox => {
                Traits { order: Order::OfReceiver, may_skip: true, commutes: false, ..BAG }
            }
            Channel::Blocking(_) => {
                Traits { room: Room::SenderWaits, commutes: false, shows_missing_messages: true, ..BAG }
            }
            Channel::Overwriting(_) => Traits {
                order: Order::OfSender,
                room: Room::OldestIsLost,
                commutes: false,
                shows_missing_messages: true,
                ..BAG
            },
        }
    }

    /// Does it matter in which order a process sends messages to another?
    pub(crate) fn keeps_order(self) -> bool {
        self.traits().order != Order::None
    }

    /// Does it matter in which order messages of different senders come?
    pub(crate) fn keeps_order_of_all(self) -> bool {
        self.traits().order == Order::OfReceiver
    }

    /// Of the messages of one sender, can only the first be consumed?
    pub(crate) fn takes_first_of_sender(self) -> bool {
        let Traits { order, may_skip, room, .. } = self.traits();
        order == Order::OfSender && !may_skip && room == Room::Unlimited
    }

    /// May messages be skipped? What is skipped is lost.
    pub(crate) fn may_skip(self) -> bool {
        self.traits().may_skip
    }

    /// Does a message that was sent arrive in the end, unless a fault of the world prevents it?
    pub(crate) fn is_reliable(self) -> bool {
        !self.may_skip()
    }

    /// Can a message that arrives leave everything as it was, or take the place of another?
    pub(crate) fn absorbs_messages(self) -> bool {
        let Traits { counts_copies, room, .. } = self.traits();
        !counts_copies || room == Room::OldestIsLost
    }

    /// Can a message that was consumed be consumed again?
    pub(crate) fn keeps_consumed(self) -> bool {
        self.traits().keeps_consumed
    }

    /// Must a step wait if there is no room for what it sends?
    pub(crate) fn makes_senders_wait(self) -> bool {
        self.traits().room == Room::SenderWaits
    }

    /// Is a message that nobody consumes never in the way of another, nor does it take up room?
    pub(crate) fn unordered_and_unbounded(self) -> bool {
        let Traits { order, room, .. } = self.traits();
        order == Order::None && room == Room::Unlimited
    }

    /// How many messages of a sender have room at a receiver, if that is limited.
    pub(crate) fn size(self) -> Option<usize> {
        match self {
            Channel::Blocking(size) | Channel::Overwriting(size) => Some(size),
            _ => None,
        }
    }

    /// Does it make a difference if one of two equal messages that wait is left out? It does to what is behind it, unless
    /// that may skip it, and where it would take up room.
    pub(crate) fn shows_missing_copies(self) -> bool {
        !self.unordered_and_unbounded() && !self.may_skip()
    }

    /// Can a message be delivered in a step of its own?
    pub(crate) fn can_deliver_in_steps(self) -> bool {
        self.unordered_and_unbounded() && !self.keeps_consumed()
    }

    /// Can a message be lost in a step of its own, and does that make a difference?
    pub(crate) fn can_lose_in_steps(self) -> bool {
        !self.may_skip() && !self.keeps_consumed()
    }

    /// Can a message be doubled in a step of its own?
    pub(crate) fn can_double(self) -> bool {
        let Traits { may_skip, counts_copies, room, .. } = self.traits();
        counts_copies && !may_skip && room == Room::Unlimited
    }

    /// Do steps of different processes commute, and never disable each other (docs/theory/kernel.md 4)?
    pub(crate) fn commutes(self) -> bool {
        self.traits().commutes
    }

    /// Does it show whether a message was never sent or is not received yet? It does where a message that waits is in
    /// the way of others or takes up room. Then a crash, after which messages are missing, can show too.
    pub(crate) fn shows_missing_messages(self) -> bool {
        self.traits().shows_missing_messages
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Channel::Bag => write!(f, "bag"),
            Channel::Lossy => write!(f, "lossy"),
            Channel::Set => write!(f, "set"),
            Channel::Fifo => write!(f, "fifo"),
            Channel::Mailbox => write!(f, "mailbox"),
            Channel::LossyFifo => write!(f, "lossy-fifo"),
            Channel::LossyMailbox => write!(f, "lossy-mailbox"),
            Channel::Duplicating => write!(f, "duplicating"),
            Channel::Blocking(size) => write!(f, "blocking:{size}"),
            Channel::Overwriting(size) => write!(f, "overwriting:{size}"),
        }
    }
}

impl std::str::FromStr for Channel {
    type Err = String;

    /// Reads what `Display` writes; a bounded channel without a size holds one message.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, size) = text.split_once(':').map_or((text, None), |(name, size)| (name, Some(size)));
        let number = size
            .map_or(Some(1), |size| size.parse().ok().filter(|size| (1..=Channel::SIZE_MAX).contains(size)));
        match (name, size, number) {
            ("bag", None, _) => Ok(Channel::Bag),
            ("lossy", None, _) => Ok(Channel::Lossy),
            ("set", None, _) => Ok(Channel::Set),
            ("fifo", None, _) => Ok(Channel::Fifo),
            ("mailbox", None, _) => Ok(Channel::Mailbox),
            ("lossy-fifo", None, _) => Ok(Channel::LossyFifo),
            ("lossy-mailbox", None, _) => Ok(Channel::LossyMailbox),
            ("duplicating", None, _) => Ok(Channel::Duplicating),
            ("blocking", _, Some(size)) => Ok(Channel::Blocking(size)),
            ("overwriting", _, Some(size)) => Ok(Channel::Overwriting(size)),
            _ => Err(format!("expected {}", Channel::EXPECTED)),
        }
    }
}

impl Channel {
    /// The most messages of a sender that a channel of a limited size may have room for.
    pub const SIZE_MAX: usize = 255;

    /// What can be given for a channel.
    pub const EXPECTED: &'static str = "bag, set, fifo, mailbox, lossy, lossy-fifo, lossy-mailbox, \
         duplicating, blocking:N or overwriting:N with N from 1 to 255";
}
