//! Single-decree Paxos: the reference Paxos whose counts other checkers confirm to the last state.
//!
//! From: Lamport, The Part-Time Parliament (1998); quorum transitions and the single-message variant from
//! Bokor et al., MP-Basset (DSN 2011), figure 3. Proposer *i* has ballot and value *i* + 1 and acts once.
//! With `--leaders interchangeable` the proposers are those of paxos/leaders.rs; acceptors are the same.
//! Known: TLC, SPIN, rumur and `CMurphi` agree on the counts below (states, transitions, one learner): (2,3) 27,410 and
//! 94,055; (2,4) 196,297 and 787,452; (3,3) 7,479,449 and 37,238,397; (2,3) with single messages 131,022 and 648,709;
//! (2,3) keeping stale messages 8,649 and 20,049. With single messages, `single` counts from zero again after a
//! majority, as figure 3 of MP-Basset does, so a reply too many still changes its proposer and `--reduce beliefs,inert`
//! leaves 3,091 vectors of (2,3,1). With `tally` a proposer that has written has no use for replies and a learner
//! counts on: tests/reductions.rs has 33,489 states keeping stale messages and 98,160 without, and 625 vectors in both,
//! as many as with quorum transitions. Acceptors are interchangeable, and so are learners; proposers are not, their
//! ballots have an order, unless they take any free one. That two acceptors never accept different values is not a
//! property of Paxos: `--property chosen-is-accepted` is the erroneous property of Bokor et al., FORTE 2010, Table 1,
//! and is violated.
//! Held by: tests/counts.rs, tests/reductions.rs, `tests/pam_generals.rs`.

mod leaders;

use std::collections::{BTreeMap, BTreeSet};

use quorate::protocol::Arguments;
use quorate::{
    Outbox, ProcessId, Protocol, Quorum, Received, Rename, Role, RoleName, System, Transitions, majority_of,
    observe,
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
    Read {
        ballot: Ballot,
    },
    Reply {
        ballot: Ballot,
        accepted: Option<Accepted>,
    },
    Write {
        ballot: Ballot,
        value: PaxosValue,
    },
    Accept {
        ballot: Ballot,
        value: PaxosValue,
    },
    /// A Read in the name of an interchangeable leader, and its Reply, which go with the leader's value.
    ReadFor {
        leader: ProcessId,
        ballot: Ballot,
        value: PaxosValue,
    },
    ReplyTo {
        ballot: Ballot,
        value: PaxosValue,
        accepted: Option<Accepted>,
    },
}

impl Msg {
    /// The ballot that an acceptor is asked to promise.
    fn read_ballot(&self) -> Option<Ballot> {
        match self {
            Msg::Read { ballot } | Msg::ReadFor { ballot, .. } => Some(*ballot),
            _ => None,
        }
    }
}

/// How a majority is collected.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Collect {
    /// In one step.
    Quorum,
    /// Message by message; after a majority the count is zero again.
    Single,
    /// Message by message; a proposer counts to a majority, a learner goes on.
    Tally,
}

/// How the protocol is modelled, and what is wrong with it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Variant {
    collect: Collect,
    keep_stale: bool,
    majority: usize,
    bug: Option<Bug>,
}

impl Variant {
    /// Accepts whose ballots count as the same one make a majority together.
    fn counts_as(self, ballot: Ballot) -> Ballot {
        if self.bug == Some(Bug::LearnerIgnoresValue) { 0 } else { ballot }
    }

    /// Does it depend on which acceptor sent a message? A quorum comes in the order of its senders, and these bugs take
    /// the first of it.
    fn prefers_first_sender(self) -> bool {
        self.collect == Collect::Quorum
            && matches!(self.bug, Some(Bug::FirstReply | Bug::LearnerIgnoresValue))
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
        if self.variant.collect == Collect::Quorum {
            t.quorum("read_reply", majority_of(ACCEPTORS))
                .of(|p, m| {
                    p.phase == Phase::Reading && matches!(m, Msg::Reply { ballot, .. } if *ballot == p.ballot)
                })
                .run(Self::read_reply);
        } else {
            let keep = self.variant.keep_stale;
            t.message("read_reply").of(move |p, _| !keep || p.counts_replies()).run(Self::count_reply);
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

    fn counts_replies(&self) -> bool {
        self.variant.collect != Collect::Tally || self.phase == Phase::Reading
    }

    fn count_reply(&mut self, reply: Received<'_, Msg>, out: &mut Outbox<Msg>) {
        if !self.counts_replies() {
            return;
        }
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
            .of(move |a, m| m.read_ballot().is_some_and(|ballot| !keep || a.promises(ballot)))
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
        let Some(promised) = read.read_ballot().filter(|ballot| self.promises(*ballot)) else { return };
        self.promised = promised;
        let accepted = self.accepted;
        match *read {
            Msg::ReadFor { leader, ballot, value } => {
                out.send(leader, Msg::ReplyTo { ballot, value, accepted });
            }
            _ => out.send(read.from, Msg::Reply { ballot: promised, accepted }),
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
    /// With single messages: how many accepts have come for a ballot, since its last majority or in all.
    accepts: BTreeMap<Ballot, usize>,
    #[rename(skip)]
    variant: Variant,
}

impl Role for Learner {
    type Message = Msg;

    fn transitions(&self, t: &mut Transitions<Self>) {
        if self.variant.collect == Collect::Quorum {
            t.quorum("accept", majority_of(ACCEPTORS))
                .of(|l, m| {
                    // With the planted bug, accepts of different values count together.
                    let counted =
                        |value| if l.variant.bug == Some(Bug::LearnerIgnoresValue) { 0 } else { value };
                    let Msg::Accept { ballot, value } = m else { return None };
                    Some((l.variant.counts_as(*ballot), counted(*value)))
                })
                .run(Self::accept);
        } else {
            t.message("accept").run(Self::count_accept);
        }
    }
}

impl Learner {
    fn accept(&mut self, accepts: Quorum<'_, Msg>, _: &mut Outbox<Msg>) {
        if let Msg::Accept { value, .. } = *accepts.first() {
            self.learnt.insert(value);
        }
    }

    fn count_accept(&mut self, accept: Received<'_, Msg>, _: &mut Outbox<Msg>) {
        let Msg::Accept { ballot, value } = *accept else { return };
        let group = self.variant.counts_as(ballot);
        let count = self.accepts.remove(&group).unwrap_or(0) + 1;
        if count == self.variant.majority {
            self.learnt.insert(value);
        }
        if count != self.variant.majority || self.variant.collect == Collect::Tally {
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
            ["quorum", "single", "tally"],
            "consume a majority in one step; or count message by message, from zero again after a majority, or \
             only as far as it matters (tally)",
        )
        .choice("stale", ["consume", "keep"], "what is done with a message that will not be acted on")
        .choice(
            "leaders",
            ["ordered", "interchangeable"],
            "ordered: as above; interchangeable: each takes any free ballot and value 1 or 2, and everybody \
             collects message by message, whatever --transitions says",
        )
        .choice(
            "property",
            ["agreement", "chosen-is-accepted"],
            "chosen-is-accepted wrongly takes every accepted value for a chosen one, and is violated",
        )
        .bug("always-accept", "an acceptor accepts every Write, whatever it has promised")
        .bug("learner-ignores-value", "any majority of accepts counts, whatever their ballots")
        .bug("first-reply", "a proposer takes the value in the first reply, not the highest-numbered")
}

fn system(arguments: &Arguments) -> System<Msg> {
    let acceptors = arguments.number("acceptors");
    let variant = Variant {
        collect: match arguments.choice("transitions") {
            "quorum" => Collect::Quorum,
            "single" => Collect::Single,
            _ => Collect::Tally,
        },
        keep_stale: arguments.choice("stale") == "keep",
        majority: acceptors / 2 + 1,
        bug: arguments.bug().map(|bug| match bug {
            "always-accept" => Bug::AlwaysAccept,
            "learner-ignores-value" => Bug::LearnerIgnoresValue,
            _ => Bug::FirstReply,
        }),
    };
    let (proposers, learners) = (arguments.number("proposers"), arguments.number("learners"));
    let acceptor = |_| Acceptor { promised: 0, accepted: None, variant };
    let system = if arguments.choice("leaders") == "interchangeable" {
        System::new()
            .role(PROPOSERS, proposers, |_| leaders::Leader::new(variant))
            .role(ACCEPTORS, acceptors, acceptor)
            .role(LEARNERS, learners, |_| leaders::Learner::new(variant))
            .role(leaders::CLIENT, 1, |_| leaders::Client::new(proposers))
            .renames::<(leaders::Leader, Acceptor, leaders::Learner, leaders::Client)>()
            .symmetric(PROPOSERS)
            .symmetric(LEARNERS)
    } else {
        System::new()
            .role(PROPOSERS, proposers, |index| Proposer::new(index, variant))
            .role(ACCEPTORS, acceptors, acceptor)
            .role(LEARNERS, learners, |_| Learner {
                learnt: BTreeSet::new(),
                accepts: BTreeMap::new(),
                variant,
            })
            .renames::<(Proposer, Acceptor, Learner)>()
            .symmetric(LEARNERS)
    };
    let system = if variant.prefers_first_sender() { system } else { system.symmetric(ACCEPTORS) };
    if arguments.choice("property") == "chosen-is-accepted" {
        system.invariant("chosen is accepted", observe(|a: &Acceptor| a.accepted), |accepted| {
            let values: BTreeSet<PaxosValue> = accepted.iter().flatten().map(|found| found.value).collect();
            values.len() <= 1
        })
    } else {
        let learnt = observe(|l: &Learner| l.learnt.clone()).and(|l: &leaders::Learner| l.learnt.clone());
        system.invariant("agreement", learnt, |learnt| {
            learnt.iter().flatten().collect::<BTreeSet<_>>().len() <= 1
        })
    }
}
