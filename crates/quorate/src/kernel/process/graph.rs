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
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::sync::Arc;

use super::context::AskContext;
use super::inbox_bits::{InboxBits, InboxMask};
use super::left_out::LeftOut;
use super::mail::{InboxEntry, MessageId, Messages, SendListId};
use super::questions::Questions;
use super::seen::SeenSteps;
use super::values::{ConfigurationId, HandlerInput, INITIAL, LocalId, LocalStep, Start};
use super::way_list::{Way, Ways};
use crate::base::{FoldHasher, Numbering, ProcessId, Value};
use crate::model::{Envelope, Model};
use crate::world::{Channel, FaultsSoFar, Inbox, StepKind, World};

/// The answers of handlers.
type Answers = HashMap<HandlerInput, Option<Arc<[LocalStep]>>, BuildHasherDefault<FoldHasher>>;

/// An inbox as a configuration keeps it: its bits, or the number of its list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct StoredInbox([u64; 2]);

/// PERF: two words without their number.
impl Hash for StoredInbox {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.iter().for_each(|word| state.write_u64(*word));
    }
}

impl StoredInbox {
    #[expect(clippy::cast_possible_truncation, reason = "the two halves are wanted")]
    pub(super) fn of_mask(mask: InboxMask) -> Self {
        StoredInbox([mask as u64, (mask >> 64) as u64])
    }

    pub(super) fn mask(self) -> InboxMask {
        InboxMask::from(self.0[0]) | InboxMask::from(self.0[1]) << 64
    }

    fn of_list(number: u32) -> Self {
        StoredInbox([u64::from(number), 0])
    }

    #[expect(clippy::cast_possible_truncation, reason = "it was made from so few bits")]
    fn list(self) -> u32 {
        self.0[0] as u32
    }
}

/// One process with everything known about it.
pub(in crate::kernel) struct ProcessGraph {
    pub(super) id: ProcessId,
    pub(super) start: Start,
    pub(super) locals: Numbering<Value>,
    /// Inboxes are bits, as long as these suffice and the channel keeps no order.
    pub(super) bits: Option<InboxBits>,
    /// There are more messages than bits.
    outgrown: bool,
    /// Inboxes that are not bits.
    inboxes: Numbering<Arc<Inbox<InboxEntry>>>,
    /// Messages in all inboxes together.
    entries: usize,
    pub(super) configurations: Numbering<(LocalId, FaultsSoFar, StoredInbox)>,
    pub(super) outcomes: Answers,
    /// For each local state, what it can consume, as bits.
    pub(super) ways: Vec<Option<Box<Ways>>>,
    /// How many ways these are together.
    pub(super) ways_known: usize,
    /// For each local state, the one after a restart; nothing if a restart panics.
    pub(super) after_restart: HashMap<LocalId, Option<LocalId>>,
    /// How many steps of each kind the configurations have whose steps were asked for.
    pub(super) kinds: HashMap<StepKind, u64>,
    /// How many transitions of the configuration that is looked at lose messages on the way.
    pub(super) skips: u64,
    pub(super) counted: Vec<bool>,
    /// Its local steps so far, whatever was left out of its inbox.
    pub(in crate::kernel) seen: SeenSteps,
    /// Which messages can still make a difference, and what was left out since it cannot.
    pub(super) left_out: LeftOut,
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
    pub(in crate::kernel) fn new(id: ProcessId, start: Start, model: &Model) -> Self {
        let mut graph = ProcessGraph {
            id,
            start,
            locals: Numbering::default(),
            bits: None,
            outgrown: false,
            inboxes: Numbering::default(),
            entries: 0,
            configurations: Numbering::default(),
            outcomes: Answers::default(),
            ways: Vec::new(),
            ways_known: 0,
            after_restart: HashMap::new(),
            kinds: HashMap::new(),
            skips: 0,
            counted: Vec::new(),
            seen: SeenSteps::default(),
            left_out: LeftOut::default(),
            questions: None,
            leaves_out_idle_steps: false,
            allowed_locals: None,
            copies_max: None,
            lost_copies: false,
            local_steps: 0,
        };
        graph.locals.number(graph.start.local.clone());
        graph.seen.hear(&graph.start.messages().collect::<Vec<MessageId>>());
        let World { channel, delivery, .. } = *model.world();
        let as_bits =
            channel.unordered_and_unbounded() && !delivery.in_steps() && model.monitor(id).is_none();
        graph.bits = (as_bits && !model.tracks_copies()).then(InboxBits::default);
        graph.number(INITIAL, graph.start.past, graph.start.inbox.clone(), channel);
        graph
    }

    /// Where it starts.
    pub(in crate::kernel) fn start(&self) -> &Start {
        &self.start
    }

    /// Starts anew from the initial configuration, leaving out what is not live. Local states, and what handlers
    /// have answered, stay known.
    pub(in crate::kernel) fn prepare(&mut self, leaves_out: bool, ask: &mut AskContext<'_>) {
        (self.inboxes, self.configurations) = (Numbering::default(), Numbering::default());
        self.entries = 0;
        self.counted.clear();
        self.kinds.clear();
        self.left_out = LeftOut::new(leaves_out);
        self.configuration(INITIAL, self.start.past, self.start.inbox.clone(), ask);
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
    ) -> (LocalId, FaultsSoFar, Inbox<InboxEntry>) {
        let (local, past, inbox) = *self.configurations.value(configuration);
        (local, past, self.inbox(inbox))
    }

    /// The messages in an inbox.
    fn inbox(&self, stored: StoredInbox) -> Inbox<InboxEntry> {
        let Some(bits) = &self.bits else { return (**self.inboxes.value(stored.list())).clone() };
        let mut waiting: Vec<InboxEntry> = bits.entries(stored.mask()).collect();
        waiting.sort_unstable();
        Inbox { waiting, ..Inbox::default() }
    }

    /// Keeps an inbox that is in order.
    fn stored(&mut self, inbox: Inbox<InboxEntry>) -> StoredInbox {
        if let Some(bits) = &mut self.bits {
            match bits.mask(&inbox.waiting) {
                Some(mask) => return StoredInbox::of_mask(mask),
                None => self.outgrow_bits(),
            }
        }
        let (known, entries) = (self.inboxes.len(), inbox.waiting.len() + inbox.travelling.len());
        let inbox = self.inboxes.number(Arc::new(inbox));
        if self.inboxes.len() > known {
            self.entries += entries;
        }
        StoredInbox::of_list(inbox)
    }

    /// There are more messages than bits: inboxes are lists from now on. Configurations keep their numbers.
    pub(super) fn outgrow_bits(&mut self) {
        if let Some(bits) = &self.bits {
            self.left_out.forget_bits(bits);
        }
        let before = std::mem::take(&mut self.configurations);
        let inboxes: Vec<_> = before.values().iter().map(|(_, _, inbox)| self.inbox(*inbox)).collect();
        self.bits = None;
        self.outgrown = true;
        self.ways.clear();
        self.ways_known = 0;
        for ((local, past, _), inbox) in before.values().iter().zip(inboxes) {
            let inbox = self.stored(inbox);
            self.configurations.number((*local, *past, inbox));
        }
    }

    /// Keeps inboxes as bits as long as so many suffice.
    pub(in crate::kernel) fn use_bits(&mut self, most: u32) {
        if let Some(bits) = &mut self.bits {
            bits.use_at_most(most);
        }
    }

    /// Are there more messages than bits, so that inboxes are lists?
    pub(in crate::kernel) fn has_outgrown_bits(&self) -> bool {
        self.outgrown
    }

    /// Are inboxes bits?
    pub(in crate::kernel) fn has_bits(&self) -> bool {
        self.bits.is_some()
    }

    /// The message that a bit stands for, and which of its copies.
    pub(in crate::kernel) fn message_of_bit(&self, bit: u32) -> Option<(MessageId, usize)> {
        self.bits.as_ref().map(|bits| (bits.entry(bit).message, bits.copy_of(bit)))
    }

    /// The bit of a copy of a message; `None` if inboxes are not bits, or no longer.
    pub(in crate::kernel) fn bit_of_message(&mut self, entry: InboxEntry, copy: usize) -> Option<u32> {
        let bit = self.bits.as_mut()?.same_copy(entry, copy);
        if bit.is_none() {
            self.outgrow_bits();
        }
        bit
    }

    /// What a configuration is made of, where inboxes are bits.
    pub(in crate::kernel) fn mask(
        &self,
        configuration: ConfigurationId,
    ) -> Option<(LocalId, FaultsSoFar, InboxMask)> {
        let (local, past, inbox) = *self.configurations.value(configuration);
        self.bits.as_ref().map(|_| (local, past, inbox.mask()))
    }

    /// The configuration with an inbox that is given as bits, without messages that can make no difference.
    pub(in crate::kernel) fn configuration_of_mask(
        &mut self,
        local: LocalId,
        past: FaultsSoFar,
        mask: InboxMask,
        ask: &mut AskContext<'_>,
    ) -> ConfigurationId {
        let dropped = past.crashed && self.left_out.leaves_out();
        let kept = if dropped { 0 } else { self.live_bits(local, mask, ask) };
        self.configurations.number((local, past, StoredInbox::of_mask(kept)))
    }

    /// The number of a local state.
    pub(in crate::kernel) fn number_local(&mut self, local: Value) -> LocalId {
        self.locals.number(local)
    }

    /// How many local states have numbers.
    pub(in crate::kernel) fn number_of_locals(&self) -> LocalId {
        LocalId::try_from(self.locals.len()).expect("local states have numbers of 32 bits")
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
            + (self.ways_known * (size_of::<Way>() + size_of::<InboxMask>() + 16)) as u64
    }

    /// The configuration after these messages have arrived, all of them for this process; `None` if there is no
    /// room for them.
    pub(in crate::kernel) fn arrive(
        &mut self,
        configuration: ConfigurationId,
        sends: SendListId,
        ask: &mut AskContext<'_>,
    ) -> Option<ConfigurationId> {
        let (local, past, inbox) = *self.configurations.value(configuration);
        let (model, mail) = (ask.model, &ask.mail);
        if let Some(monitor) = model.monitor(self.id) {
            let mut state = self.locals.value(local).clone();
            for &message in mail.messages_of(sends) {
                let Envelope { from, body } = mail.envelope(message);
                state = monitor.after(&state, *from, body.expect::<Vec<Value>>());
            }
            let local = self.locals.number(state);
            return Some(self.configurations.number((local, past, inbox)));
        }
        if self.bits.is_some() && self.copies_max.is_none() {
            self.seen.hear(mail.messages_of(sends));
            if let Some(mask) = self.put_bits(inbox.mask(), sends, model, mail) {
                return Some(self.configuration_of_mask(local, past, mask, ask));
            }
            self.outgrow_bits();
        }
        let (_, _, mut inbox) = self.parts(configuration);
        let fits = self.put(&mut inbox, sends, model, mail);
        fits.then(|| self.configuration(local, past, inbox, ask))
    }

    /// As [`ProcessGraph::put`], where inboxes are bits; `None` if these do not suffice.
    pub(super) fn put_bits(
        &mut self,
        mask: InboxMask,
        sends: SendListId,
        model: &Model,
        mail: &Messages,
    ) -> Option<InboxMask> {
        let copies = !model.world().channel.absorbs_messages();
        let bits = self.bits.as_mut()?;
        mail.messages_of(sends).iter().try_fold(mask, |mask, message| {
            if model.is_there_anyway(self.id, mail.envelope(*message)) {
                return Some(mask);
            }
            bits.put(mask, mail.entry(*message), copies)
        })
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
        ask: &mut AskContext<'_>,
    ) -> ConfigurationId {
        if self.left_out.leaves_out() {
            inbox.waiting.retain(|entry| !past.crashed && self.keeps(local, entry.message, ask));
        }
        self.number(local, past, inbox, ask.model.world().channel)
    }

    fn number(
        &mut self,
        local: LocalId,
        past: FaultsSoFar,
        mut inbox: Inbox<InboxEntry>,
        channel: Channel,
    ) -> ConfigurationId {
        inbox.normalise(channel);
        let inbox = self.stored(inbox);
        self.configurations.number((local, past, inbox))
    }
}
