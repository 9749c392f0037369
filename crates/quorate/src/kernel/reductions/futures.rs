//! What processes may still send, by receiver, as numbers: lists of messages, and rows of lists.
//!
//! From: docs/theory/stubborn.md 1. What may still be sent in a local state follows from the steps that were seen
//! (`seen`). A state that is a belief may send what any of its members may. There are few different lists, so unions are
//! worked out once and looked up after that.
//! Held by: testkit/tests/reductions.rs.

use std::collections::{BTreeSet, HashMap};

use crate::base::{Lists, PairMap, ProcessId};
use crate::kernel::process::{LocalId, MessageId, Messages};
use crate::model::Model;
use crate::reduce::Refinement;

/// The number of a row: for each receiver, the list of what a process may send to it.
pub(super) type RowId = u32;

/// The number of a list of messages to a process.
type ListId = u32;

/// What all processes may still send.
pub(super) struct Futures {
    refinement: Refinement,
    /// For each process and local state, what may still be sent.
    of_locals: Vec<HashMap<LocalId, BTreeSet<MessageId>>>,
    /// For each process, what it may ever send.
    ever: Vec<BTreeSet<MessageId>>,
    /// For each receiver, the lists of messages to it, and the unions of two of them.
    lists: Vec<Lists>,
    unions: Vec<PairMap>,
    /// For each sender, its rows.
    senders: Vec<Sender>,
}

struct Sender {
    /// A list for each receiver, and last whether something may be sent to a monitor.
    rows: Lists,
    of_locals: HashMap<LocalId, RowId>,
    unions: PairMap,
}

impl Futures {
    /// No messages.
    pub(super) const NOTHING: ListId = 0;

    pub(super) fn new(of_locals: Vec<HashMap<LocalId, BTreeSet<MessageId>>>, refinement: Refinement) -> Self {
        let processes = of_locals.len();
        let ever = of_locals.iter().map(|of| of.values().flatten().copied().collect()).collect();
        let lists = |_| {
            let mut lists = Lists::default();
            assert_eq!(lists.number(&[]), Self::NOTHING, "the empty list comes first");
            lists
        };
        let sender = |_| {
            let mut rows = Lists::default();
            assert_eq!(rows.number(&vec![Self::NOTHING; processes + 1]), 0, "the empty row comes first");
            Sender { rows, of_locals: HashMap::new(), unions: PairMap::default() }
        };
        Futures {
            refinement,
            ever,
            lists: (0..processes).map(lists).collect(),
            unions: (0..processes).map(|_| PairMap::default()).collect(),
            senders: (0..processes).map(sender).collect(),
            of_locals,
        }
    }

    /// Is the same still to come from a process in a local state?
    pub(super) fn same_in(&self, other: &Futures, process: usize, local: LocalId) -> bool {
        let coarse = !self.refinement.by_state() || !self.refinement.by_reply();
        let same = match (self.of_locals[process].get(&local), other.of_locals[process].get(&local)) {
            (Some(one), Some(other)) => one == other,
            (Some(one), None) | (None, Some(one)) => one.is_empty(),
            (None, None) => true,
        };
        same && (!coarse || self.ever == other.ever)
    }

    /// May something be sent to a monitor?
    pub(super) fn may_emit(&self, sender: usize, row: RowId) -> bool {
        self.senders[sender].rows.list(row).last() == Some(&1)
    }

    /// May anything be sent to a process?
    pub(super) fn sends_to(&self, receiver: usize, sender: usize, row: RowId) -> bool {
        self.senders[sender].rows.list(row)[receiver] != Self::NOTHING
    }

    /// A list of messages to a process.
    pub(super) fn messages(&self, receiver: usize, list: ListId) -> &[MessageId] {
        self.lists[receiver].list(list)
    }

    /// A list of messages to a process, with what another may send to it.
    #[inline]
    pub(super) fn with(&mut self, receiver: usize, list: ListId, sender: usize, row: RowId) -> ListId {
        let other = self.senders[sender].rows.list(row)[receiver];
        union(list, other, &mut self.unions[receiver], &mut self.lists[receiver])
    }

    /// The row of a state whose members are in these local states.
    pub(super) fn of_locals(
        &mut self,
        process: usize,
        locals: impl Iterator<Item = LocalId>,
        mail: &Messages,
        model: &Model,
    ) -> RowId {
        let mut all = 0;
        for local in locals {
            let row = match self.senders[process].of_locals.get(&local) {
                Some(row) => *row,
                None => self.learn_local(process, local, mail, model),
            };
            all = self.union_of_rows(process, all, row);
        }
        all
    }

    fn union_of_rows(&mut self, process: usize, one: RowId, other: RowId) -> RowId {
        let Sender { rows, unions, .. } = &mut self.senders[process];
        if one == other || other == 0 {
            return one;
        }
        if one == 0 {
            return other;
        }
        if let Some(known) = unions.get(one, other) {
            return known;
        }
        let mut row: Vec<ListId> = rows.list(one).to_vec();
        let emits = row.len() - 1;
        for (receiver, (list, other)) in row[..emits].iter_mut().zip(rows.list(other)).enumerate() {
            *list = union(*list, *other, &mut self.unions[receiver], &mut self.lists[receiver]);
        }
        row[emits] |= rows.list(other)[emits];
        let row = rows.number(&row);
        unions.insert(one, other, row);
        row
    }

    fn learn_local(&mut self, process: usize, local: LocalId, mail: &Messages, model: &Model) -> RowId {
        let nothing = BTreeSet::new();
        let future = self.of_locals[process].get(&local).unwrap_or(&nothing);
        let to_monitor = |message: &MessageId| model.monitor(mail.receiver(*message)).is_some();
        let emits = ListId::from(future.iter().any(to_monitor));
        let coarse = if self.refinement.by_state() { future } else { &self.ever[process] };
        let sent: Vec<Vec<MessageId>> =
            model.ids().map(|to| self.can_send(coarse, to, mail, model)).collect();
        let lists = self.lists.iter_mut().zip(&sent);
        let mut row: Vec<ListId> = lists.map(|(lists, sent)| lists.number(sent)).collect();
        row.push(emits);
        let row = self.senders[process].rows.number(&row);
        self.senders[process].of_locals.insert(local, row);
        row
    }

    /// Of these messages, those to a process; without the paper's reply split, also what goes to others of its role.
    fn can_send(
        &self,
        sent: &BTreeSet<MessageId>,
        to: ProcessId,
        mail: &Messages,
        model: &Model,
    ) -> Vec<MessageId> {
        let direct = |message: &&MessageId| mail.receiver(**message) == to;
        if self.refinement.by_reply()
            || !sent.iter().any(|message| {
                let receiver = mail.receiver(*message);
                model.monitor(receiver).is_none()
                    && model.process(receiver).role() == model.process(to).role()
            })
        {
            return sent.iter().filter(direct).copied().collect();
        }
        // Who sends to one of a role is taken to send to all: whatever the process was ever sent by anybody.
        let ever = self.ever.iter().flatten().filter(direct).copied();
        ever.collect::<BTreeSet<MessageId>>().into_iter().collect()
    }

    pub(super) fn bytes(&self) -> u64 {
        let lists: u64 = self.lists.iter().map(Lists::bytes).sum();
        let unions: u64 = self.unions.iter().map(PairMap::bytes).sum();
        let senders = self.senders.iter().map(|sender| sender.rows.bytes() + sender.unions.bytes());
        lists + unions + senders.sum::<u64>()
    }
}

#[inline]
fn union(one: ListId, other: ListId, unions: &mut PairMap, lists: &mut Lists) -> ListId {
    if one == other || other == Futures::NOTHING {
        return one;
    }
    if one == Futures::NOTHING {
        return other;
    }
    if let Some(known) = unions.get(one, other) {
        return known;
    }
    let both: BTreeSet<MessageId> = lists.list(one).iter().chain(lists.list(other)).copied().collect();
    let both = lists.number(&both.into_iter().collect::<Vec<MessageId>>());
    unions.insert(one, other, both);
    both
}
