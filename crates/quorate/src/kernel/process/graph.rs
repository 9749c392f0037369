//! The local graph of one process: its local states, inboxes and configurations, and its memoized steps.
//!
//! From: docs/theory/kernel.md 2. A handler runs once for a local state, the messages it consumes and the choices it
//! makes, and its answer is remembered. What the world does to a process, from the delivery of a message to a crash, is
//! a step of its configuration like any other.
//!
//! A monitor is a process without steps on which arriving messages, the events that it hears, take effect at
//! once.
//! Invariant: numbers name values one to one; inboxes forget all order but what the channel keeps, so that
//! equal ones have one number.
//! Held by: testkit/tests/agreement.rs (local steps and handler calls equal the naive checker's).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::mail::{InboxEntry, MessageId, Messages, SendListId};
use super::questions::Questions;
use super::seen::{Live, SeenSteps};
use super::values::{ConfigurationId, HandlerInput, INITIAL, LocalId, LocalStep, Start};
use crate::base::{Numbering, ProcessId, Value};
use crate::model::{Envelope, Model};
use crate::world::{Channel, FaultsSoFar, Inbox, StepKind};

/// One process with everything known about it.
pub(in crate::kernel) struct ProcessGraph {
    pub(super) id: ProcessId,
    pub(super) start: Start,
    pub(super) locals: Numbering<Value>,
    pub(super) inboxes: Numbering<Arc<Inbox<InboxEntry>>>,
    /// Messages in all inboxes together.
    pub(super) entries: usize,
    pub(super) configurations: Numbering<(LocalId, FaultsSoFar, u32)>,
    pub(super) outcomes: HashMap<HandlerInput, Option<Arc<[LocalStep]>>>,
    /// For each local state, the one after a restart; nothing if a restart panics.
    pub(super) after_restart: HashMap<LocalId, Option<LocalId>>,
    /// How many steps of each kind the configurations have whose steps were asked for.
    pub(super) kinds: HashMap<StepKind, u64>,
    pub(super) counted: Vec<bool>,
    /// Its local steps so far, whatever was left out of its inbox.
    pub(in crate::kernel) seen: SeenSteps,
    /// Which messages can still make a difference; all of them if nothing is left out.
    pub(super) live: Option<Arc<Live>>,
    /// What was asked, where it must be the same for exchanged processes.
    pub(in crate::kernel) questions: Option<Questions>,
    /// Steps that only consume are left out, and with them what only they would consume.
    pub(in crate::kernel) leaves_out_idle_steps: bool,
    /// Steps that lead to other local states are left out.
    pub(in crate::kernel) allowed_locals: Option<HashSet<Value>>,
    /// Of equal messages, at most so many wait. More are lost, and `lost_copies` says so.
    pub(in crate::kernel) copies_max: Option<usize>,
    pub(in crate::kernel) lost_copies: bool,
    pub(in crate::kernel) local_steps: u64,
}

impl ProcessGraph {
    pub(in crate::kernel) fn new(id: ProcessId, start: Start, channel: Channel) -> Self {
        let mut graph = ProcessGraph {
            id,
            start,
            locals: Numbering::default(),
            inboxes: Numbering::default(),
            entries: 0,
            configurations: Numbering::default(),
            outcomes: HashMap::new(),
            after_restart: HashMap::new(),
            kinds: HashMap::new(),
            counted: Vec::new(),
            seen: SeenSteps::default(),
            live: None,
            questions: None,
            leaves_out_idle_steps: false,
            allowed_locals: None,
            copies_max: None,
            lost_copies: false,
            local_steps: 0,
        };
        graph.locals.number(graph.start.local.clone());
        graph.seen.hear(&graph.start.messages().collect::<Vec<MessageId>>());
        graph.prepare(None, channel);
        graph
    }

    /// Where it starts.
    pub(in crate::kernel) fn start(&self) -> &Start {
        &self.start
    }

    /// Starts anew from the initial configuration, leaving out what is not live. Local states, and what handlers
    /// have answered, stay known.
    pub(in crate::kernel) fn prepare(&mut self, live: Option<Arc<Live>>, channel: Channel) {
        (self.inboxes, self.configurations) = (Numbering::default(), Numbering::default());
        self.entries = 0;
        self.counted.clear();
        self.kinds.clear();
        self.live = live;
        self.configuration(INITIAL, self.start.past, self.start.inbox.clone(), channel);
    }

    pub(in crate::kernel) fn id(&self) -> ProcessId {
        self.id
    }

    /// How many configurations are known.
    pub(in crate::kernel) fn size(&self) -> usize {
        self.configurations.len()
    }

    /// What a configuration is made of.
    pub(in crate::kernel) fn parts(
        &self,
        configuration: ConfigurationId,
    ) -> (LocalId, FaultsSoFar, Arc<Inbox<InboxEntry>>) {
        let (local, past, inbox) = *self.configurations.value(configuration);
        (local, past, Arc::clone(self.inboxes.value(inbox)))
    }

    /// The number of a local state.
    pub(in crate::kernel) fn number_local(&mut self, local: Value) -> LocalId {
        self.locals.number(local)
    }

    /// The local state of a configuration.
    pub(in crate::kernel) fn local(&self, configuration: ConfigurationId) -> LocalId {
        self.configurations.value(configuration).0
    }

    pub(in crate::kernel) fn local_value(&self, local: LocalId) -> &Value {
        self.locals.value(local)
    }

    /// How many steps of a kind its configurations have.
    pub(in crate::kernel) fn steps_of(&self, kind: StepKind) -> u64 {
        let of = |kind| self.kinds.get(&kind).copied().unwrap_or(0);
        // A stop is a crash, at another moment.
        of(kind) + if kind == StepKind::Crash { of(StepKind::Stop) } else { 0 }
    }

    pub(in crate::kernel) fn bytes(&self) -> u64 {
        self.locals.bytes()
            + self.inboxes.bytes()
            + self.configurations.bytes()
            + (self.entries * size_of::<InboxEntry>() + self.outcomes.capacity() * 96) as u64
    }

    /// The configuration after these messages have arrived, all of them for this process; `None` if there is no
    /// room for them.
    pub(in crate::kernel) fn arrive(
        &mut self,
        configuration: ConfigurationId,
        sends: SendListId,
        model: &Model,
        mail: &Messages,
    ) -> Option<ConfigurationId> {
        let (local, past, inbox) = *self.configurations.value(configuration);
        if let Some(monitor) = model.monitor(self.id) {
            let mut state = self.locals.value(local).clone();
            for &message in mail.messages_of(sends) {
                let Envelope { from, body } = mail.envelope(message);
                state = monitor.after(&state, *from, body.expect::<Vec<Value>>());
            }
            let local = self.locals.number(state);
            return Some(self.configurations.number((local, past, inbox)));
        }
        let mut inbox = (**self.inboxes.value(inbox)).clone();
        let fits = self.put(&mut inbox, sends, model, mail);
        fits.then(|| self.configuration(local, past, inbox, model.world().channel))
    }

    /// Puts messages into an inbox, without those that are there anyway.
    pub(super) fn put(
        &mut self,
        inbox: &mut Inbox<InboxEntry>,
        sends: SendListId,
        model: &Model,
        mail: &Messages,
    ) -> bool {
        self.seen.hear(mail.messages_of(sends));
        mail.messages_of(sends).iter().all(|&message| {
            model.is_there_anyway(self.id, mail.envelope(message))
                || self.is_one_too_many(inbox, message, model)
                || inbox.arrive(model.world(), mail.entry(message))
        })
    }

    /// Is a message lost because enough equal ones wait?
    fn is_one_too_many(&mut self, inbox: &Inbox<InboxEntry>, message: MessageId, model: &Model) -> bool {
        let Some(copies_max) = self.copies_max else { return false };
        let copies = inbox.way(model.world()).iter().filter(|entry| entry.message == message).count();
        self.lost_copies |= copies >= copies_max;
        copies >= copies_max
    }

    /// May it be in a local state?
    pub(super) fn is_allowed(&self, local: LocalId) -> bool {
        self.allowed_locals.as_ref().is_none_or(|allowed| allowed.contains(self.locals.value(local)))
    }

    /// The configuration that is made of this, without messages that can make no difference.
    pub(in crate::kernel) fn configuration(
        &mut self,
        local: LocalId,
        past: FaultsSoFar,
        mut inbox: Inbox<InboxEntry>,
        channel: Channel,
    ) -> ConfigurationId {
        if let Some(live) = &self.live {
            inbox.waiting.retain(|entry| !past.crashed && live.contains(local, entry.message));
        }
        inbox.normalise(channel);
        let (known, entries) = (self.inboxes.len(), inbox.waiting.len() + inbox.travelling.len());
        let inbox = self.inboxes.number(Arc::new(inbox));
        if self.inboxes.len() > known {
            self.entries += entries;
        }
        self.configurations.number((local, past, inbox))
    }
}
