//! Messages and bags of messages on their way, as numbers.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use super::table::Interner;
use crate::protocol::{Envelope, ProcessId, Sending};

pub(super) type MessageId = u32;
/// A bag of messages, sorted.
pub(super) type SendsId = u32;

/// A set of processes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Members(u64);

impl Members {
    pub(super) const NOBODY: Members = Members(0);

    /// Those whose bits are set.
    pub(super) fn some(bits: u64) -> Self {
        Members(bits)
    }

    pub(super) fn one(process: ProcessId) -> Self {
        Members(1 << process.index())
    }

    pub(super) fn and(self, other: Members) -> Self {
        Members(self.0 | other.0)
    }

    /// The processes that come before this one.
    pub(super) fn before(process: ProcessId) -> Self {
        Members((1 << process.index()) - 1)
    }

    pub(super) fn without(self, others: Members) -> Self {
        Members(self.0 & !others.0)
    }

    #[inline]
    pub(super) fn all_in(self, others: Members) -> bool {
        self.0 & !others.0 == 0
    }

    #[inline]
    pub(super) fn contains(self, process: ProcessId) -> bool {
        self.0 >> process.index() & 1 == 1
    }
}

/// No messages.
pub(super) const NOTHING: SendsId = 0;

/// Every message and every bag of messages that a step sent.
pub(super) struct Mail {
    messages: Interner<(ProcessId, Envelope)>,
    bags: Interner<Arc<[MessageId]>>,
    splits: HashMap<(SendsId, Members), (SendsId, SendsId)>,
}

impl Mail {
    pub(super) fn new() -> Self {
        let mut bags = Interner::default();
        assert_eq!(bags.number(Arc::from([])), NOTHING, "the empty bag comes first");
        Mail { messages: Interner::default(), bags, splits: HashMap::new() }
    }

    pub(super) fn envelope(&self, message: MessageId) -> &Envelope {
        &self.messages.value(message).1
    }

    pub(super) fn receiver(&self, message: MessageId) -> ProcessId {
        self.messages.value(message).0
    }

    pub(super) fn messages_of(&self, sends: SendsId) -> &[MessageId] {
        self.bags.value(sends)
    }

    /// By sender, then by content.
    pub(super) fn content_order(&self, a: MessageId, b: MessageId) -> Ordering {
        let (a, b) = (self.envelope(a), self.envelope(b));
        a.from.cmp(&b.from).then_with(|| a.body.content_order(&b.body))
    }

    pub(super) fn send(&mut self, from: ProcessId, sends: &[Sending]) -> SendsId {
        let messages = sends
            .iter()
            .map(|sending| self.messages.number((sending.to, Envelope { from, body: sending.body.clone() })));
        let messages = messages.collect();
        self.bag(messages)
    }

    fn bag(&mut self, mut messages: Vec<MessageId>) -> SendsId {
        messages.sort_unstable();
        self.bags.number(messages.into())
    }

    /// Who receives a bag of messages.
    pub(super) fn receivers(&self, sends: SendsId) -> Members {
        let receivers = self.messages_of(sends).iter().map(|message| Members::one(self.receiver(*message)));
        receivers.fold(Members::NOBODY, Members::and)
    }

    /// The messages for these processes, and the others.
    pub(super) fn split(&mut self, sends: SendsId, members: Members) -> (SendsId, SendsId) {
        if sends == NOTHING {
            return (NOTHING, NOTHING);
        }
        let key = (sends, members);
        if let Some(&known) = self.splits.get(&key) {
            return known;
        }
        let for_them = |message: &MessageId| members.contains(self.receiver(*message));
        let (inside, outside) = self.messages_of(sends).iter().partition(|message| for_them(message));
        let split = (self.bag(inside), self.bag(outside));
        self.splits.insert(key, split);
        split
    }

    pub(super) fn split_own(&mut self, sends: SendsId, own: ProcessId) -> (SendsId, SendsId) {
        self.split(sends, Members::one(own))
    }

    pub(super) fn bytes(&self) -> u64 {
        self.messages.bytes() + self.bags.bytes() + (self.splits.capacity() * 33) as u64
    }
}
