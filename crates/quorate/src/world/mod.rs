//! The world a protocol must survive: what its channels are, how messages are delivered, what may fail.
//!
//! From: ALGORITHMS 1; the message-passing models of Bokor et al. (FORTE 2010), the crash model of Saissi et al.
//! (ADVCS 2011). Everything that can happen to a process and to the messages on their way to it is a step of that
//! process: it reads and writes its own configuration only, so the kernel needs no other kind of step. A message
//! that is on its way is kept by its receiver; budgets are per process.
//!
//! Invariant: `Inbox` is the definition of a channel, for the kernel and for replay; the naive checker of the
//! tests has its own.
//! Held by: testkit/tests/worlds.rs, quorate-cli/tests/worlds.rs.

mod inbox;

use std::fmt;

pub(crate) use inbox::{Inbox, InboxItem};

/// The messages on their way to a process: how they are kept, and which of them it may consume.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Channel {
    /// Any message may be next; equal messages are counted. A message that is never consumed is a lost message, so
    /// loss needs no step.
    #[default]
    Bag,
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
        /// How many.
        usize,
    ),
    /// At most so many messages of one sender wait at a receiver: one more takes the place of the oldest.
    Overwriting(
        /// How many.
        usize,
    ),
}

impl Channel {
    /// Does it matter in which order a process sends messages to another?
    pub(crate) fn keeps_order(self) -> bool {
        match self {
            Channel::Bag | Channel::Set | Channel::Duplicating | Channel::Blocking(_) => false,
            Channel::Fifo
            | Channel::Mailbox
            | Channel::LossyFifo
            | Channel::LossyMailbox
            | Channel::Overwriting(_) => true,
        }
    }

    /// Do steps of different processes commute, and never disable each other (ALGORITHMS, theorem 1)?
    pub(crate) fn commutes(self) -> bool {
        matches!(self, Channel::Bag | Channel::Fifo | Channel::LossyFifo | Channel::Duplicating)
    }

    /// Can a message that a crashed process did not send be told from one that was never received: is it not in the
    /// way of others, or does it take up no room? Where messages may be skipped it never is in the way.
    pub(crate) fn shows_missing_messages(self) -> bool {
        matches!(self, Channel::Mailbox | Channel::Blocking(_) | Channel::Overwriting(_))
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Channel::Bag => write!(f, "bag"),
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

    /// Reads what `Display` writes; `lossy` is a bag, and a bounded channel without a size holds one message.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, size) = text.split_once(':').map_or((text, None), |(name, size)| (name, Some(size)));
        let number = size.map_or(Some(1), |size| size.parse().ok().filter(|size| (1..=255).contains(size)));
        match (name, size, number) {
            ("bag" | "lossy", None, _) => Ok(Channel::Bag),
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
    /// What can be given for a channel.
    pub const EXPECTED: &'static str = "bag, set, fifo, mailbox, lossy, lossy-fifo, lossy-mailbox, \
         duplicating, blocking:N or overwriting:N with N from 1 to 255";
}

/// How messages are delivered.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Delivery {
    /// M: a message that is sent can be consumed.
    #[default]
    AtOnce,
    /// M-MP: a message is delivered in a step of its own; a process consumes some of what was delivered.
    InSteps,
    /// MP: a message is delivered in a step of its own; a process consumes all that was delivered.
    InStepsConsumingAll,
}

impl Delivery {
    /// Is there a step for it?
    pub(crate) fn in_steps(self) -> bool {
        self != Delivery::AtOnce
    }
}

impl fmt::Display for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Delivery::AtOnce => "m",
            Delivery::InSteps => "m-mp",
            Delivery::InStepsConsumingAll => "mp",
        })
    }
}

/// Which of its messages a process sends that crashes in a step.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum CrashSends {
    /// All of them: it crashes between two steps.
    #[default]
    All,
    /// Some: any subset, and where channels keep the order of a sender, to each receiver the first few.
    Some,
    /// Any subset, even where channels keep the order: there, that is more than a crash can do.
    AnySubset,
}

/// Whether crashes are steps.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum Crashes {
    /// No: a process that has crashed cannot be told from one that is slow.
    #[default]
    Implicit,
    /// Yes, of some processes.
    Explicit {
        /// How many processes of a role may crash: the first ones.
        prone: Vec<(String, usize)>,
        /// What a crashing process still sends.
        sends: CrashSends,
    },
}

/// What a protocol is checked against. The default is the world of the papers' theorems: bags, in which lost
/// messages and crashed processes need no steps.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct World {
    /// The messages on their way.
    pub channel: Channel,
    /// How they are delivered.
    pub delivery: Delivery,
    /// Whether crashes are steps.
    pub crashes: Crashes,
    /// How often each process of a role may restart, with what [`Role::restarted`](crate::Role::restarted) leaves
    /// it.
    pub restarts: Vec<(String, usize)>,
    /// How many messages may get lost on their way to each process, as steps.
    pub losses: usize,
    /// How many messages may be doubled on their way to each process, as steps.
    pub duplications: usize,
}

/// More than this of a fault is surely a slip of the finger, and does not fit where it is counted.
pub const BUDGET_MAX: usize = 255;

/// What may happen to one process.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct FaultLimits {
    /// It may crash.
    pub crashes: bool,
    /// It may restart so often.
    pub restarts: u8,
}

/// What a process has been through: a part of its configuration.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct FaultsSoFar {
    /// It has crashed.
    pub crashed: bool,
    /// It has restarted so often.
    pub restarts: u8,
    /// So many messages to it were lost in steps.
    pub losses: u8,
    /// So many messages to it were doubled in steps.
    pub duplications: u8,
}

impl FaultsSoFar {
    pub(crate) fn with_restart(self) -> Self {
        FaultsSoFar { restarts: self.restarts + 1, ..self }
    }

    pub(crate) fn with_loss(self) -> Self {
        FaultsSoFar { losses: self.losses.saturating_add(1), ..self }
    }

    pub(crate) fn with_duplication(self) -> Self {
        FaultsSoFar { duplications: self.duplications.saturating_add(1), ..self }
    }
}

/// What kind of step.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum StepKind {
    /// A transition of the protocol.
    Transition,
    /// A transition after which the process is no more.
    Crash,
    /// A message is delivered.
    Delivery,
    /// A process starts anew with what it has kept.
    Restart,
    /// A message is lost.
    Loss,
    /// A message is doubled.
    Duplication,
}

impl StepKind {
    /// Every kind, in order.
    pub const ALL: [StepKind; 6] = [
        StepKind::Transition,
        StepKind::Crash,
        StepKind::Delivery,
        StepKind::Restart,
        StepKind::Loss,
        StepKind::Duplication,
    ];

    /// Its name, in traces and reports.
    pub fn name(self) -> &'static str {
        match self {
            StepKind::Transition => "transition",
            StepKind::Crash => "crash",
            StepKind::Delivery => "delivery",
            StepKind::Restart => "restart",
            StepKind::Loss => "loss",
            StepKind::Duplication => "duplication",
        }
    }

    /// The kind with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Is it something that goes wrong?
    pub fn is_fault(self) -> bool {
        !matches!(self, StepKind::Transition | StepKind::Delivery)
    }
}

impl World {
    /// The kinds of faults that are steps in this world.
    pub fn faults(&self) -> Vec<StepKind> {
        let explicit =
            matches!(&self.crashes, Crashes::Explicit { prone, .. } if prone.iter().any(|(_, n)| *n > 0));
        let wanted = [
            (StepKind::Crash, explicit),
            (StepKind::Restart, self.restarts.iter().any(|(_, times)| *times > 0)),
            (
                StepKind::Loss,
                self.losses > 0 || matches!(self.channel, Channel::LossyFifo | Channel::LossyMailbox),
            ),
            (StepKind::Duplication, self.duplications > 0),
        ];
        wanted.into_iter().filter(|(_, wanted)| *wanted).map(|(kind, _)| kind).collect()
    }
}

/// Why a world makes no sense for a model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WorldError(pub(crate) String);

impl fmt::Display for WorldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for WorldError {}
