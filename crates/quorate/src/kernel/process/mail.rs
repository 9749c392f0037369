//! Messages and bags of messages on their way, as numbers.

use std::cmp::Ordering;

use std::collections::{BTreeSet, HashMap};

use std::sync::Arc;

use crate::base::Numbering;

use crate::base::{ProcessId, ProcessSet};

use crate::model::{Envelope, Model, Sending};

use crate::world::{Channel, CrashSends, InboxItem};

pub(in crate::kernel) type MessageId = u32;

/// Some messages: sorted, or by receiver and in the order in which they are sent where channels keep it.
pub(in crate::kernel) type SendListId = u32;

/// A message in an inbox.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(in crate::kernel) struct InboxEntry {
    from: ProcessId,
    pub(in crate::kernel) message: MessageId,
}

impl InboxItem for InboxEntry {
    fn same(&self, other: &Self) -> bool {
        self.message == other.message
    }

    fn from(&self) -> ProcessId {
        self.from
    }
}

/// No messages.
pub(in crate::kernel) const NOTHING: SendListId = 0;

/// Every message, and whatever steps sent together.
pub(in crate::kernel) struct Messages {
    channel: Channel,
    numbers: Numbering<(ProcessId, Envelope)>,
    bags: Numbering<Arc<[MessageId]>>,
    splits: HashMap<(SendListId, ProcessSet), (SendListId, SendListId)>,
}

impl Messages {
    pub(in crate::kernel) fn new(channel: Channel) -> Self {
        let mut bags = Numbering::default();
        assert_eq!(bags.number(Arc::from([])), NOTHING, "the empty bag comes first");
        Messages { channel, numbers: Numbering::default(), bags, splits: HashMap::new() }
    }

    pub(in crate::kernel) fn envelope(&self, message: MessageId) -> &Envelope {
        &self.numbers.value(message).1
    }

    pub(in crate::kernel) fn receiver(&self, message: MessageId) -> ProcessId {
        self.numbers.value(message).0
    }

    pub(in crate::kernel) fn messages_of(&self, sends: SendListId) -> &[MessageId] {
        self.bags.value(sends)
    }

    /// By sender, then by content.
    pub(in crate::kernel) fn content_order(&self, a: MessageId, b: MessageId) -> Ordering {
        let (a, b) = (self.envelope(a), self.envelope(b));
        a.from.cmp(&b.from).then_with(|| a.body.content_order(&b.body))
    }

    /// The number of a message to a process.
    pub(in crate::kernel) fn number(&mut self, to: ProcessId, envelope: Envelope) -> MessageId {
        self.numbers.number((to, envelope))
    }

    /// A message as an inbox keeps it.
    pub(in crate::kernel) fn entry(&self, message: MessageId) -> InboxEntry {
        InboxEntry { from: self.envelope(message).from, message }
    }

    /// What a process sends in a step: to other processes, and to monitors what they hear.
    pub(super) fn send(&mut self, from: ProcessId, sends: &[Sending], heard: &[Sending]) -> SendListId {
        let all = sends.iter().chain(heard);
        let messages =
            all.map(|sending| self.number(sending.to, Envelope { from, body: sending.body.clone() }));
        let messages = messages.collect();
        self.bag(messages)
    }

    fn bag(&mut self, mut messages: Vec<MessageId>) -> SendListId {
        if self.channel.keeps_order() {
            messages.sort_by_key(|message| self.receiver(*message));
        } else {
            messages.sort_unstable();
        }
        self.bags.number(messages.into())
    }

    /// Messages that are sent together.
    pub(in crate::kernel) fn together(&mut self, messages: Vec<MessageId>) -> SendListId {
        self.bag(messages)
    }

    /// What may be left of the messages of a step in which their sender crashes. Monitors hear of the step all the
    /// same: they do not depend on messages.
    pub(super) fn kept_in_a_crash(
        &mut self,
        sends: SendListId,
        kept: CrashSends,
        model: &Model,
    ) -> Vec<SendListId> {
        if kept == CrashSends::All {
            return vec![sends];
        }
        let in_order = kept == CrashSends::Some && self.channel.keeps_order();
        let messages = self.messages_of(sends).to_vec();
        let mut ways: BTreeSet<Vec<MessageId>> = BTreeSet::from([Vec::new()]);
        for (at, &message) in messages.iter().enumerate() {
            let to = self.receiver(message);
            let before = messages[..at].iter().filter(|earlier| self.receiver(**earlier) == to).count();
            let with = |way: &Vec<MessageId>| {
                let sent = way.iter().filter(|earlier| self.receiver(**earlier) == to).count();
                (!in_order || sent == before).then(|| [way.as_slice(), &[message]].concat())
            };
            let longer: Vec<_> = ways.iter().filter_map(with).collect();
            if model.monitor(to).is_some() {
                ways.clear();
            }
            ways.extend(longer);
        }
        ways.into_iter().map(|way| self.bag(way)).collect()
    }

    /// Who receives a bag of messages.
    pub(in crate::kernel) fn receivers(&self, sends: SendListId) -> ProcessSet {
        let receivers =
            self.messages_of(sends).iter().map(|message| ProcessSet::one(self.receiver(*message)));
        receivers.fold(ProcessSet::EMPTY, ProcessSet::union)
    }

    /// The messages for these processes, and the others.
    pub(in crate::kernel) fn split(
        &mut self,
        sends: SendListId,
        members: ProcessSet,
    ) -> (SendListId, SendListId) {
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

    pub(in crate::kernel) fn split_own(
        &mut self,
        sends: SendListId,
        own: ProcessId,
    ) -> (SendListId, SendListId) {
        self.split(sends, ProcessSet::one(own))
    }

    pub(in crate::kernel) fn bytes(&self) -> u64 {
        self.numbers.bytes() + self.bags.bytes() + (self.splits.capacity() * 33) as u64
    }
}
