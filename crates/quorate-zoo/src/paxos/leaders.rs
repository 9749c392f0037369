//! Interchangeable leaders for Paxos: each takes any free ballot and one of two values, and replies and
//! accepts are collected one message at a time and remembered by sender.
//!
//! From: Bokor, Serafini, Suri: On Efficient Models for Model Checking Message-Passing Distributed Protocols
//! (FORTE 2010), Table 1, whose leaders are symmetric and so cannot be born with a ballot.
//! Differs: that two leaders never take the same ballot is global knowledge, which no process has. It is
//! kept by a process of its own, the client. It hands a leader, a free ballot and a value to the acceptors
//! in one step, as a Read in the leader's name; the leader hears of it from the replies. So there is no
//! state in which a leader has its ballot and has not sent its Read, as in the paper's model, and the
//! state spaces are equal one to one for any number of leaders.
//! Known: rumur counts 1,413,905 states and 6,607,864 transitions for 2 leaders, 3 acceptors and one
//! learner, and 355,657 and 1,437,964 if stale messages are kept, for a model of the same protocol; the
//! paper has 1,577,161 and 11,411,586 for a model that is not published.
//! Held by: `tests/pam_generals.rs`.

use std::collections::{BTreeMap, BTreeSet};

use quorate::{Outbox, ProcessId, Received, Rename, Role, RoleName, Transitions};

use super::{ACCEPTORS, Accepted, Ballot, Bug, Msg, PROPOSERS, PaxosValue, Variant};

pub(super) const CLIENT: RoleName = RoleName::new("client");

/// What a leader may propose.
const VALUES: [PaxosValue; 2] = [1, 2];

/// Who starts the leaders, and knows which ballots are taken.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Rename)]
pub(super) struct Client {
    leaders: usize,
    /// The ballot and the value of each leader that has started.
    proposals: BTreeMap<ProcessId, (Ballot, PaxosValue)>,
}

impl Role for Client {
    type Message = Msg;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("start").when(|c| c.proposals.len() < c.leaders).run(Self::start);
    }
}

impl Client {
    pub(super) fn new(leaders: usize) -> Self {
        Client { leaders, proposals: BTreeMap::new() }
    }

    fn start(&mut self, out: &mut Outbox<Msg>) {
        let leaders = out.members(PROPOSERS).to_vec();
        let leader = out.choose(leaders.into_iter().filter(|leader| !self.proposals.contains_key(leader)));
        let ballots = 1..=self.leaders;
        let ballot = out.choose(ballots.filter(|ballot| !self.is_taken(*ballot)));
        let value = out.choose(VALUES);
        self.proposals.insert(leader, (ballot, value));
        out.send_all(ACCEPTORS, Msg::ReadFor { leader, ballot, value });
    }

    fn is_taken(&self, ballot: Ballot) -> bool {
        self.proposals.values().any(|(taken, _)| *taken == ballot)
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Rename)]
pub(super) struct Leader {
    /// What each acceptor that has replied had accepted.
    replies: BTreeMap<ProcessId, Option<Accepted>>,
    /// With a planted bug: what the first to reply had accepted.
    first: Option<Accepted>,
    #[rename(skip)]
    variant: Variant,
}

impl Role for Leader {
    type Message = Msg;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.message("read_reply").run(Self::collect_reply);
    }
}

impl Leader {
    pub(super) fn new(variant: Variant) -> Self {
        Leader { replies: BTreeMap::new(), first: None, variant }
    }

    fn collect_reply(&mut self, reply: Received<'_, Msg>, out: &mut Outbox<Msg>) {
        let Msg::ReplyTo { ballot, value, accepted } = *reply else { return };
        if self.variant.bug == Some(Bug::FirstReply) && self.replies.is_empty() {
            self.first = accepted;
        }
        let is_new = self.replies.insert(reply.from, accepted).is_none();
        if is_new && self.replies.len() == self.variant.majority {
            let value = self.found().map_or(value, |accepted| accepted.value);
            out.send_all(ACCEPTORS, Msg::Write { ballot, value });
        }
    }

    fn found(&self) -> Option<Accepted> {
        if self.variant.bug == Some(Bug::FirstReply) {
            self.first
        } else {
            self.replies.values().copied().max().flatten()
        }
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Rename)]
pub(super) struct Learner {
    pub(super) learnt: BTreeSet<PaxosValue>,
    /// Whose accepts have come, by ballot.
    accepts: BTreeMap<Ballot, BTreeSet<ProcessId>>,
    #[rename(skip)]
    variant: Variant,
}

impl Role for Learner {
    type Message = Msg;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.message("accept").run(Self::collect_accept);
    }
}

impl Learner {
    pub(super) fn new(variant: Variant) -> Self {
        Learner { learnt: BTreeSet::new(), accepts: BTreeMap::new(), variant }
    }

    fn collect_accept(&mut self, accept: Received<'_, Msg>, _: &mut Outbox<Msg>) {
        let Msg::Accept { ballot, value } = *accept else { return };
        let accepts = self.accepts.entry(self.variant.counts_as(ballot)).or_default();
        accepts.insert(accept.from);
        if accepts.len() >= self.variant.majority {
            self.learnt.insert(value);
        }
    }
}
