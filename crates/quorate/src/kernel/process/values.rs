//! What a process is made of, as numbers: local states, configurations, steps.

use super::mail::{InboxEntry, MessageId, Messages, NOTHING, SendListId};
use crate::base::{ProcessId, Value};
use crate::model::Model;
use crate::world::{FaultsSoFar, Inbox, StepKind};

pub(in crate::kernel) type LocalId = u32;

/// The local state in which a process starts.
pub(in crate::kernel) const INITIAL: LocalId = 0;

pub(in crate::kernel) type ConfigurationId = u32;

/// A transition in a local state, with the messages that it consumes.
pub(in crate::kernel) type HandlerInput = (LocalId, usize, Vec<MessageId>);

/// One outcome of a local step.
#[derive(Clone)]
pub(in crate::kernel) enum LocalStep {
    Done { local: LocalId, sends: SendListId, choices: Vec<usize> },
    Panicked { choices: Vec<usize> },
}

impl LocalStep {
    /// Does it do anything but consume?
    pub(super) fn changes(&self, from: LocalId) -> bool {
        match self {
            LocalStep::Panicked { .. } => true,
            LocalStep::Done { local, sends, .. } => *local != from || *sends != NOTHING,
        }
    }
}

/// A message that a step may consume.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::kernel) struct Offer {
    pub(in crate::kernel) message: MessageId,
    /// Where it waits; nowhere if it can be forged at any time.
    pub(in crate::kernel) position: Option<usize>,
    /// How many equal messages wait before it.
    pub(in crate::kernel) nth: usize,
}

/// Where a process starts: its local state, what it has been through, and what waits for it.
#[derive(Clone)]
pub(in crate::kernel) struct Start {
    pub(in crate::kernel) local: Value,
    pub(in crate::kernel) past: FaultsSoFar,
    pub(in crate::kernel) inbox: Inbox<InboxEntry>,
}

impl Start {
    /// Where a process or a monitor of a model starts.
    pub(in crate::kernel) fn of(process: ProcessId, model: &Model, mail: &mut Messages) -> Self {
        let monitor = process.index().checked_sub(model.processes().len());
        let (past, inbox) = (FaultsSoFar::default(), Inbox::default());
        match (model.start(), monitor) {
            (None, None) => Start { local: model.process(process).initial().clone(), past, inbox },
            (None, Some(at)) => Start { local: model.monitors()[at].initial().clone(), past, inbox },
            (Some(start), Some(at)) => Start { local: start.monitors[at].clone(), past, inbox },
            (Some(start), None) => {
                let inbox = start.inbox(process, |envelope| {
                    let message = mail.number(process, envelope.clone());
                    mail.entry(message)
                });
                let at = process.index();
                Start { local: start.locals[at].clone(), past: start.faults_so_far[at], inbox }
            }
        }
    }

    /// The messages that wait.
    pub(in crate::kernel) fn messages(&self) -> impl Iterator<Item = MessageId> {
        self.inbox.travelling.iter().chain(&self.inbox.waiting).map(|entry| entry.message)
    }
}

/// A step of a configuration, with everything that names it.
pub(in crate::kernel) struct ConfigurationStep {
    pub(in crate::kernel) kind: StepKind,
    /// The transition, if it is one.
    pub(in crate::kernel) transition: usize,
    pub(in crate::kernel) consumed: Vec<Offer>,
    pub(in crate::kernel) choices: Vec<usize>,
    /// All that is sent.
    pub(in crate::kernel) sent: SendListId,
    /// Where it leads, and what leaves the process; `None` if it panics.
    pub(in crate::kernel) leads: Option<(ConfigurationId, SendListId)>,
    /// Must a run go on while it can be taken (docs/theory/faults.md 5)? Faults, forgeries, further copies and messages
    /// that may get lost are not owed, nor is a step after which everything is as before.
    pub(in crate::kernel) owed: bool,
}

/// Where a step leads, and what leaves the process; nowhere if it panics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::kernel) struct Lead {
    pub(in crate::kernel) to: Option<(ConfigurationId, SendListId)>,
    /// As in [`ConfigurationStep`].
    pub(in crate::kernel) owed: bool,
}

/// A lead in less room, for those who remember many.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::kernel) struct StoredLead {
    next: ConfigurationId,
    sends: SendListId,
}

impl StoredLead {
    const NOWHERE: ConfigurationId = ConfigurationId::MAX;
    const OWED: SendListId = 1 << 31;

    #[inline]
    pub(in crate::kernel) fn lead(self) -> Lead {
        let sends = self.sends & !Self::OWED;
        let to = (self.next != Self::NOWHERE).then_some((self.next, sends));
        Lead { to, owed: self.sends & Self::OWED != 0 }
    }
}

impl From<Lead> for StoredLead {
    fn from(lead: Lead) -> Self {
        let (next, sends) = lead.to.unwrap_or((Self::NOWHERE, NOTHING));
        assert!(sends < Self::OWED, "fewer than 2^31 lists of messages");
        StoredLead { next, sends: if lead.owed { sends | Self::OWED } else { sends } }
    }
}

impl Lead {
    /// Does a run not end here because of this step? A panic is no end either.
    pub(in crate::kernel) fn goes_on(self) -> bool {
        self.owed || self.to.is_none()
    }
}

impl ConfigurationStep {
    /// As [`Lead::goes_on`].
    pub(in crate::kernel) fn goes_on(&self) -> bool {
        self.lead().goes_on()
    }

    pub(in crate::kernel) fn lead(&self) -> Lead {
        Lead { to: self.leads, owed: self.owed }
    }
}

/// How many equal messages are before one.
pub(super) fn nth(letters: &[InboxEntry], position: usize) -> usize {
    letters[..position].iter().filter(|earlier| **earlier == letters[position]).count()
}
