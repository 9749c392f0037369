//! PAM: single-decree Paxos where every node is proposer, acceptor and learner at once.
//!
//! From: Guo et al., Practical Software Model Checking via Dynamic Interface Reduction (DEMETER, SOSP 2011), section
//! 5, where PAM is an unoptimised Paxos by a student; its source is not published. The two bugs are those that the
//! paper describes: *a* passes a decree with *b*'s vote, *b* restarts, has lost what it wrote and helps *c* to pass
//! another; and a leader that votes for the first value it is told of, not for the highest-numbered.
//! Differs: a node is its own first voter, at once and without a message. A leader that promises a higher ballot steps
//! down, even if the other nodes alone are a majority. Messages that come too late are left in the inbox. A decree
//! that has passed is on disk at once; with `--ledger in-steps` it is written to the ledger and then carried out by
//! the application, in steps of their own: who restarts before has forgotten it. Of *n* nodes, node *i* proposes
//! decree *i* + 1, with its ballots *i* + 1, *i* + 1 + *n*, …
//! Known: with leaders as the only learners, *b* ballots of 3 nodes have 37^b states, and 57^b if nodes restart: that
//! late messages stay makes the state of a ballot independent of the others'. The bug `first-value` takes three
//! ballots, `lost-state` two and a restart. With `--ledger in-steps` there are 69^b states, and 137^b if nodes
//! restart; three ballots have 164,328 maximal runs made of 824 local traces, a ratio of 199 where DEMETER has 97.8.
//! Held by: `tests/pam_generals.rs`, tests/dir.rs, testkit/tests/dir.rs.

use std::collections::BTreeSet;

use quorate::protocol::Arguments;
use quorate::world::World;
use quorate::{Outbox, Protocol, Quorum, Received, Role, RoleName, System, Transitions, observe, some_of};

const NODES: RoleName = RoleName::new("node");

type Ballot = usize;
type Decree = usize;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Accepted {
    ballot: Ballot,
    decree: Decree,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Msg {
    Prepare { ballot: Ballot },
    Promise { ballot: Ballot, accepted: Option<Accepted> },
    Vote { ballot: Ballot, decree: Decree },
    Voted { ballot: Ballot },
    Passed { decree: Decree },
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Bug {
    LostState,
    FirstValue,
}

/// What a node is doing with the ballot that it has promised to itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Phase {
    Following,
    Preparing,
    Voting,
}

/// What is the same for all nodes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Setting {
    nodes: usize,
    ballots: usize,
    all_learn: bool,
    /// Is a decree that has passed written and carried out in steps of their own?
    in_steps: bool,
    bug: Option<Bug>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Node {
    index: usize,
    phase: Phase,
    /// Its own last ballot.
    own: Ballot,
    promised: Ballot,
    accepted: Option<Accepted>,
    passed: BTreeSet<Decree>,
    /// Of these the decrees that are on disk, if writing them is a step.
    ledger: BTreeSet<Decree>,
    /// Of these the decrees that its application has carried out, if that is a step.
    carried_out: BTreeSet<Decree>,
    setting: Setting,
}

impl Role for Node {
    type Message = Msg;

    fn transitions(&self, t: &mut Transitions<Self>) {
        let others = self.setting.nodes / 2;
        t.internal("propose").when(Self::may_propose).run(Self::propose);
        t.message("prepare")
            .of(|n, m| matches!(m, Msg::Prepare { ballot } if *ballot > n.promised))
            .run(Self::promise);
        t.quorum("promise", some_of(others, NODES))
            .of(|n, m| {
                n.phase == Phase::Preparing
                    && matches!(m, Msg::Promise { ballot, .. } if *ballot == n.promised)
            })
            .run(Self::call_vote);
        t.message("vote")
            .of(|n, m| matches!(m, Msg::Vote { ballot, .. } if *ballot >= n.promised))
            .run(Self::vote);
        t.quorum("voted", some_of(others, NODES))
            .of(|n, m| {
                n.phase == Phase::Voting && matches!(m, Msg::Voted { ballot } if *ballot == n.promised)
            })
            .run(Self::pass);
        t.message("passed")
            .of(|n, m| matches!(m, Msg::Passed { decree } if !n.passed.contains(decree)))
            .run(Self::learn);
        if self.setting.in_steps {
            t.internal("write").when(|n| n.ledger != n.passed).run(|n, _| n.ledger.clone_from(&n.passed));
            t.internal("carry out")
                .when(|n| n.carried_out != n.ledger)
                .run(|n, _| n.carried_out.clone_from(&n.ledger));
        }
    }

    /// On disk are the last ballot of its own, its vote and its ledger: what it knows to have passed. Its application
    /// carries out all of the ledger again.
    fn restarted(&self) -> Self {
        let passed = if self.setting.in_steps { self.ledger.clone() } else { self.passed.clone() };
        let kept = Node { phase: Phase::Following, passed, carried_out: BTreeSet::new(), ..self.clone() };
        if self.setting.bug == Some(Bug::LostState) {
            Node { promised: 0, accepted: None, ..kept }
        } else {
            kept
        }
    }
}

impl Node {
    fn new(index: usize, setting: Setting) -> Self {
        Node {
            index,
            phase: Phase::Following,
            own: 0,
            promised: 0,
            accepted: None,
            passed: BTreeSet::new(),
            ledger: BTreeSet::new(),
            carried_out: BTreeSet::new(),
            setting,
        }
    }

    fn may_propose(&self) -> bool {
        self.phase == Phase::Following && self.passed.is_empty() && self.next_ballot() <= self.setting.ballots
    }

    /// The lowest ballot of its own that is new, and above all that it has promised.
    fn next_ballot(&self) -> Ballot {
        let (first, nodes) = (self.index + 1, self.setting.nodes);
        let last = self.promised.max(self.own);
        if last < first { first } else { first + ((last - first) / nodes + 1) * nodes }
    }

    /// Sends to every other node.
    fn send_to_others(message: &Msg, out: &mut Outbox<Msg>) {
        let me = out.me();
        for node in out.members(NODES).to_vec() {
            if node != me {
                out.send(node, message.clone());
            }
        }
    }

    fn propose(&mut self, out: &mut Outbox<Msg>) {
        self.phase = Phase::Preparing;
        self.own = self.next_ballot();
        self.promised = self.own;
        Self::send_to_others(&Msg::Prepare { ballot: self.promised }, out);
    }

    fn promise(&mut self, prepare: Received<'_, Msg>, out: &mut Outbox<Msg>) {
        let Msg::Prepare { ballot } = *prepare else { return };
        self.phase = Phase::Following;
        self.promised = ballot;
        out.send(prepare.from, Msg::Promise { ballot, accepted: self.accepted });
    }

    fn call_vote(&mut self, promises: Quorum<'_, Msg>, out: &mut Outbox<Msg>) {
        let accepted = promises.iter().filter_map(|promise| match *promise {
            Msg::Promise { accepted, .. } => accepted,
            _ => None,
        });
        let mut known = accepted.chain(self.accepted);
        let found = if self.setting.bug == Some(Bug::FirstValue) { known.next() } else { known.max() };
        let decree = found.map_or(self.index + 1, |accepted| accepted.decree);
        self.phase = Phase::Voting;
        self.accepted = Some(Accepted { ballot: self.promised, decree });
        Self::send_to_others(&Msg::Vote { ballot: self.promised, decree }, out);
    }

    fn vote(&mut self, vote: Received<'_, Msg>, out: &mut Outbox<Msg>) {
        let Msg::Vote { ballot, decree } = *vote else { return };
        self.phase = Phase::Following;
        self.promised = ballot;
        self.accepted = Some(Accepted { ballot, decree });
        out.send(vote.from, Msg::Voted { ballot });
    }

    fn pass(&mut self, _: Quorum<'_, Msg>, out: &mut Outbox<Msg>) {
        let Some(Accepted { decree, .. }) = self.accepted else { return };
        self.phase = Phase::Following;
        self.passed.insert(decree);
        if self.setting.all_learn {
            Self::send_to_others(&Msg::Passed { decree }, out);
        }
    }

    fn learn(&mut self, passed: Received<'_, Msg>, _: &mut Outbox<Msg>) {
        let Msg::Passed { decree } = *passed else { return };
        self.passed.insert(decree);
    }
}

/// The catalogue entry.
pub(crate) fn protocol() -> Protocol {
    Protocol::new("pam", "Paxos nodes with all roles in each, which may restart: one decree passes", system)
        .reference("Guo et al., Practical Software Model Checking via Dynamic Interface Reduction, SOSP 2011")
        .number("nodes", 3, 2..=60, "how many nodes; node i proposes decree i+1")
        .number(
            "ballots",
            3,
            1..=60,
            "how many ballots there are; node i has ballot i+1 and every n-th after it",
        )
        .choice("learners", ["leader", "all"], "who hears that a decree has passed: its leader, or all nodes")
        .choice(
            "ledger",
            ["at-once", "in-steps"],
            "a decree is on disk as soon as it has passed, or written and carried out in steps of their own",
        )
        .bug_in(
            World::default().restarts(vec![(NODES.name().to_string(), 1)]),
            "lost-state",
            "a node that restarts has lost what it promised and accepted: each restarts once, as by --restart node=1",
        )
        .bug("first-value", "a leader votes for the first value it is told of, not for the highest-numbered")
}

fn system(arguments: &Arguments) -> System<Msg> {
    let setting = Setting {
        nodes: arguments.number("nodes"),
        ballots: arguments.number("ballots"),
        all_learn: arguments.choice("learners") == "all",
        in_steps: arguments.choice("ledger") == "in-steps",
        bug: arguments.bug().map(|bug| match bug {
            "lost-state" => Bug::LostState,
            _ => Bug::FirstValue,
        }),
    };
    System::new()
        .role(NODES, setting.nodes, |index| Node::new(index, setting))
        .invariant("agreement", observe(|n: &Node| n.passed.clone()), |passed| {
            passed.iter().flatten().collect::<BTreeSet<_>>().len() <= 1
        })
        .stepping_stone(
            "nodes have accepted different decrees",
            observe(|n: &Node| n.accepted.map(|accepted| accepted.decree)),
            |accepted| accepted.iter().flatten().collect::<BTreeSet<_>>().len() > 1,
        )
}
