//! A state of the whole system in the middle of a run.

use super::{Envelope, Model, Origin, Trace, TraceStep};
use crate::base::{ProcessId, Value};
use crate::world::{FaultsSoFar, Inbox, InboxItem};

/// A message in an inbox, with where it was sent.
#[derive(Clone, Debug)]
pub(crate) struct TracedMessage {
    pub(crate) origin: Origin,
    pub(crate) envelope: Envelope,
}

impl InboxItem for TracedMessage {
    fn same(&self, other: &Self) -> bool {
        self.envelope == other.envelope
    }

    fn from(&self) -> ProcessId {
        self.envelope.from
    }
}

/// A state of the whole system, with what waits for each process and how it came about.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(crate) locals: Vec<Value>,
    pub(crate) faults_so_far: Vec<FaultsSoFar>,
    pub(crate) monitors: Vec<Value>,
    pub(crate) inboxes: Vec<Inbox<TracedMessage>>,
    pub(crate) trace: Trace,
}

impl Snapshot {
    /// How many steps led there.
    pub(crate) fn steps(&self) -> usize {
        self.trace.steps.len()
    }

    /// The steps that led there.
    pub(crate) fn way(&self) -> &[TraceStep] {
        &self.trace.steps
    }

    /// What waits for a process, with each message as a search keeps it.
    pub(crate) fn inbox<T>(&self, process: ProcessId, mut of: impl FnMut(&Envelope) -> T) -> Inbox<T> {
        let Inbox { travelling, waiting, received } = &self.inboxes[process.index()];
        let mut all = |letters: &[TracedMessage]| letters.iter().map(|letter| of(&letter.envelope)).collect();
        Inbox { travelling: all(travelling), waiting: all(waiting), received: all(received) }
    }
}

impl Model {
    /// The local states in which runs start, and the messages that are on their way then, each with its receiver.
    pub fn start_state(&self) -> (Vec<Value>, Vec<(ProcessId, Envelope)>) {
        let Some(start) = self.start() else {
            return (self.processes().iter().map(|process| process.initial().clone()).collect(), Vec::new());
        };
        let waiting = |process| start.inbox(process, |envelope| (process, envelope.clone())).waiting;
        (start.locals.clone(), self.ids().flat_map(waiting).collect())
    }
}
