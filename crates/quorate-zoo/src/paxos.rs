//! Single-decree Paxos: the reference Paxos whose counts other checkers confirm to the last state.
//!
//! From: Lamport, The Part-Time Parliament (1998); quorum transitions and the single-message variant from
//! Bokor et al., MP-Basset (DSN 2011), figure 3. Proposer *i* has ballot and value *i* + 1 and acts once.
//! Known: TLC, SPIN, rumur and `CMurphi` agree on the counts below (states, transitions, one learner):
//! (2,3) 27,410 and 94,055; (2,4) 196,297 and 787,452; (3,3) 7,479,449 and 37,238,397; (2,3) with single
//! messages 131,022 and 648,709; (2,3) keeping stale messages 8,649 and 20,049.
//! Acceptors are interchangeable, and so are learners; proposers are not, their ballots have an order.
//! Held by: tests/counts.rs.

use std::collections::{BTreeMap, BTreeSet};

use quorate::protocol::Arguments;
use quorate::{
    Outbox, Protocol, Quorum, Received, Rename, Role, RoleName, System, Transitions, majority_of, observe,
};

const PROPOSERS: RoleName = RoleName::new("proposer");
const ACCEPTORS: RoleName = RoleName::new("acceptor");
const LEARNERS: RoleName = RoleName::new("learner");

type Ballot = usize;
type PaxosValue = usize;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Rename)]
struct Accepted {
    ballot: Ballot,
    value: PaxosValue,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Rename)]
enum Msg {
    Read { ballot: Ballot },
    Reply { ballot: Ballot, accepted: Option<Accepted> },
    Write { ballot: Ballot, value: PaxosValue },
    Accept { ballot: Ballot, value: PaxosValue },
}

/// How the protocol is modelled, and what is wrong with it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Variant {
    single: bool,
    keep_stale: bool,
    majority: usize,
    bug: Option<Bug>,
}

impl Variant {
    /// A quorum comes in the order of its senders: who takes the first of it tells acceptors apart.
    fn prefers_first_sender(self) -> bool {
        !self.single && matches!(self.bug, Some(Bug::FirstReply | Bug::LearnerIgnoresValue))
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Bug {
    AlwaysAccept,
    LearnerIgnoresValue,
    FirstReply,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Rename)]
enum Phase {
    Idle,
    Reading,
    Written,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Rename)]
struct Proposer {
    ballot: Ballot,
    phase: Phase,
    /// With single messages: how many replies have come since the last majority, and the first and the
    /// highest-numbered value in them.
    replies: usize,
    first: Option<Accepted>,
    highest: Option<Accepted>,
    #[rename(skip)]
    variant: Variant,
}

impl Role for Proposer {
    type Message = Msg;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("propose").when(|p| p.phase == Phase::Idle).run(Self::propose);
        if self.variant.single {
            t.message("read_reply").run(Self::count_reply);
        } else {
            t.quorum("read_reply", majority_of(ACCEPTORS))
                .of(|p, m| {
                    p.phase == Phase::Reading && matches!(m, Msg::Reply { ballot, .. } if *ballot == p.ballot)
                })
                .run(Self::read_reply);
        }
    }
}

impl Proposer {
    fn new(index: usize, variant: Variant) -> Self {
        let (ballot, phase) = (index + 1, Phase::Idle);
        Proposer { ballot, phase, replies: 0, first: None, highest: None, variant }
    }

    fn propose(&mut self, out: &mut Outbox<Msg>) {
        self.phase = Phase::Reading;
        out.send_all(ACCEPTORS, Msg::Read { ballot: self.ballot });
    }

    fn read_reply(&mut self, replies: Quorum<'_, Msg>, out: &mut Outbox<Msg>) {
        for reply in replies {
            self.note(reply);
        }
        self.write(out);
    }

    fn count_reply(&mut self, reply: Received<'_, Msg>, out: &mut Outbox<Msg>) {
        self.note(reply);
        if self.replies == self.variant.majority {
            self.write(out);
        }
    }

    fn note(&mut self, reply: Received<'_, Msg>) {
        let Msg::Reply { accepted, .. } = *reply else { return };
        if self.variant.bug == Some(Bug::FirstReply) && self.replies == 0 {
            self.first = accepted;
        }
        self.replies += 1;
        self.highest = self.highest.max(accepted);
    }

    fn write(&mut self, out: &mut Outbox<Msg>) {
        let found = if self.variant.bug == Some(Bug::FirstReply) { self.first } else { self.highest };
        let value = found.map_or(self.ballot, |accepted| accepted.value);
        *self = Proposer { ballot: self.ballot, phase: Phase::Written, ..Proposer::new(0, self.variant) };
        out.send_all(ACCEPTORS, Msg::Write { ballot: self.ballot, value });
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Rename)]
struct Acceptor {
    promised: Ballot,
    accepted: Option<Accepted>,
    #[rename(skip)]
    variant: Variant,
}

impl Role for Acceptor {
    type Message = Msg;

    fn transitions(&self, t: &mut Transitions<Self>) {
        let keep = self.variant.keep_stale;
        t.message("read")
            .of(move |a, m| matches!(m, Msg::Read { ballot } if !keep || a.promises(*ballot)))
            .run(Self::read);
        t.message("write")
            .of(move |a, m| matches!(m, Msg::Write { ballot, .. } if !keep || a.accepts(*ballot)))
            .run(Self::write);
    }
}

impl Acceptor {
    fn promises(&self, ballot: Ballot) -> bool {
        ballot > self.promised
    }

    fn accepts(&self, ballot: Ballot) -> bool {
        ballot >= self.promised || self.variant.bug == Some(Bug::AlwaysAccept)
    }

    fn read(&mut self, read: Received<'_, Msg>, out: &mut Outbox<Msg>) {
        let Msg::Read { ballot } = *read else { return };
        if self.promises(ballot) {
            self.promised = ballot;
            out.send(read.from, Msg::Reply { ballot, accepted: self.accepted });
        }
    }

    fn write(&mut self, write: Received<'_, Msg>, out: &mut Outbox<Msg>) {
        let Msg::Write { ballot, value } = *write else { return };
        if self.accepts(ballot) {
            self.promised = ballot;
            self.accepted = Some(Accepted { ballot, value });
            out.send_all(LEARNERS, Msg::Accept { ballot, value });
        }
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Rename)]
struct Learner {
    learnt: BTreeSet<PaxosValue>,
    /// With single messages: how many accepts have come for a ballot since its last majority.
    accepts: BTreeMap<Ballot, usize>,
    #[rename(skip)]
    variant: Variant,
}

impl Role for Learner {
    type Message = Msg;

    fn transitions(&self, t: &mut Transitions<Self>) {
        if self.variant.single {
            t.message("accept").run(Self::count_accept);
        } else {
            t.quorum("accept", majority_of(ACCEPTORS))
                .of(|l, m| if let Msg::Accept { ballot, .. } = m { Some(l.group(*ballot)) } else { None })
                .run(Self::accept);
        }
    }
}

impl Learner {
    /// Accepts of one group count together.
    fn group(&self, ballot: Ballot) -> Ballot {
        if self.variant.bug == Some(Bug::LearnerIgnoresValue) { 0 } else { ballot }
    }

    fn accept(&mut self, accepts: Quorum<'_, Msg>, _: &mut Outbox<Msg>) {
        if let Msg::Accept { value, .. } = *accepts.first() {
            self.learnt.insert(value);
        }
    }

    fn count_accept(&mut self, accept: Received<'_, Msg>, _: &mut Outbox<Msg>) {
        let Msg::Accept { ballot, value } = *accept else { return };
        let group = self.group(ballot);
        let count = self.accepts.remove(&group).unwrap_or(0) + 1;
        if count == self.variant.majority {
            self.learnt.insert(value);
        } else {
            self.accepts.insert(group, count);
        }
    }
}

/// The catalogue entry.
pub(crate) fn protocol() -> Protocol {
    Protocol::new("paxos", "single-decree Paxos: at most one value is ever learnt", system)
        .reference("Lamport, The Part-Time Parliament, 1998; quorum transitions as in MP-Basset, DSN 2011")
        .number("proposers", 2, 1..=60, "how many proposers; proposer i has ballot and value i+1")
        .number("acceptors", 3, 1..=60, "how many acceptors")
        .number("learners", 1, 1..=60, "how many learners")
        .choice(
            "transitions",
            ["quorum", "single"],
            "consume a majority in one step, or count message by message",
        )
        .choice("stale", ["consume", "keep"], "what an acceptor does with a message it will not act on")
        .bug("always-accept", "an acceptor accepts every Write, whatever it has promised")
        .bug("learner-ignores-value", "any majority of accepts counts, whatever their ballots")
        .bug("first-reply", "a proposer takes the value in the first reply, not the highest-numbered")
}

fn system(arguments: &Arguments) -> System<Msg> {
    let acceptors = arguments.number("acceptors");
    let variant = Variant {
        single: arguments.choice("transitions") == "single",
        keep_stale: arguments.choice("stale") == "keep",
        majority: acceptors / 2 + 1,
        bug: arguments.bug().map(|bug| match bug {
            "always-accept" => Bug::AlwaysAccept,
            "learner-ignores-value" => Bug::LearnerIgnoresValue,
            _ => Bug::FirstReply,
        }),
    };
    let system = System::new()
        .role(PROPOSERS, arguments.number("proposers"), |index| Proposer::new(index, variant))
        .role(ACCEPTORS, acceptors, |_| Acceptor { promised: 0, accepted: None, variant })
        .role(LEARNERS, arguments.number("learners"), |_| Learner {
            learnt: BTreeSet::new(),
            accepts: BTreeMap::new(),
            variant,
        })
        .invariant("agreement", observe(|l: &Learner| l.learnt.clone()), |learnt| {
            learnt.iter().flat_map(|values| values.iter()).collect::<BTreeSet<_>>().len() <= 1
        })
        .renames::<(Proposer, Acceptor, Learner)>()
        .symmetric(LEARNERS);
    if variant.prefers_first_sender() { system } else { system.symmetric(ACCEPTORS) }
}
