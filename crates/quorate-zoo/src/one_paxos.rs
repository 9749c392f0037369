//! 1Paxos: consensus with a single active acceptor, over a utility that agrees on who leads and who accepts.
//!
//! From: Guerraoui and Yabandeh, Model Checking a Networked System Without the Network (LMC, NSDI 2011), section
//! 5.6. The leader and the active acceptor are those of the last `LeaderChange` and `AcceptorChange` entries of the
//! Paxos utility. A node that suspects the leader inserts a `LeaderChange` of its own and then reads the acceptor
//! there. A leader from the start *does not refer to the utility*; it uses what its initialisation says. The bug
//! `init-increment` is the paper's `acceptor = *(members.begin()++)`, which is the leader's node and not the second.
//! Differs: one value is agreed on, and the acceptor is never replaced. A new leader asks the acceptor what it has
//! accepted before it proposes, as leaders of Paxos do. The utility is Paxos among the nodes for one entry after the
//! other; a node is its own first voter there, has one ballot an entry, and takes part in the entry after those that
//! it knows. Messages that come too late are left in the inbox.
//! Known: agreement holds, whoever is suspected, though nobody hears of a new leader in time: the acceptor decides.
//! Held by: `tests/nodes.rs`.

use std::collections::BTreeSet;

use quorate::protocol::Arguments;
use quorate::{
    Outbox, ProcessId, Protocol, Quorum, Received, Role, RoleName, System, Transitions, observe, some_of,
};

const NODES: RoleName = RoleName::new("node");

type Submitted = usize;
/// Of a leader: how long the log of the utility is with the entry that made it the leader.
type Ballot = usize;
/// Of a node that proposes an entry to the utility: its position, from 1.
type UtilityBallot = usize;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Entry {
    LeaderChange(ProcessId),
    AcceptorChange(ProcessId),
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Vote {
    ballot: UtilityBallot,
    entry: Entry,
}

/// In the utility, a slot is a position in the log.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Msg {
    Prepare { ballot: Ballot },
    PrepareResponse { ballot: Ballot, accepted: Option<Submitted> },
    Accept { ballot: Ballot, value: Submitted },
    Learn { value: Submitted },
    UtilityPrepare { slot: usize, ballot: UtilityBallot },
    UtilityPromise { slot: usize, ballot: UtilityBallot, voted: Option<Vote> },
    UtilityVote { slot: usize, vote: Vote },
    UtilityVoted { slot: usize, ballot: UtilityBallot },
    UtilityEntry { slot: usize, entry: Entry },
}

/// What a node does for the value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Stage {
    Following,
    /// Leads, and waits to hear what the acceptor has accepted.
    TakingOver,
    /// Leads from the start, when nothing can have been accepted.
    Ready,
    Proposed,
}

/// What a node does for the next entry of the utility.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Phase {
    Voter,
    Preparing,
    Voting,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Utility {
    log: Vec<Entry>,
    phase: Phase,
    promised: UtilityBallot,
    voted: Option<Vote>,
}

/// What is the same at all times.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Setting {
    me: ProcessId,
    nodes: usize,
    suspicious: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct OneNode {
    stage: Stage,
    /// Whom it takes for the active acceptor.
    acceptor: ProcessId,
    /// As an acceptor.
    promised: Ballot,
    accepted: Option<Submitted>,
    /// As a learner.
    chosen: BTreeSet<Submitted>,
    suspected: bool,
    utility: Utility,
    setting: Setting,
}

impl Role for OneNode {
    type Message = Msg;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("propose").when(|n| n.stage == Stage::Ready).run(Self::propose);
        t.message("prepare")
            .of(|n, m| matches!(m, Msg::Prepare { ballot } if *ballot > n.promised))
            .run(Self::promise);
        t.message("prepare-response")
            .of(|n, m| {
                let ours = matches!(m, Msg::PrepareResponse { ballot, .. } if *ballot == n.utility.log.len());
                ours && n.stage == Stage::TakingOver
            })
            .run(Self::propose_again);
        t.message("accept")
            .of(|n, m| matches!(m, Msg::Accept { ballot, .. } if *ballot >= n.promised))
            .run(Self::accept);
        t.message("learn")
            .of(|n, m| matches!(m, Msg::Learn { value } if !n.chosen.contains(value)))
            .run(Self::learn);
        self.utility_transitions(t);
    }
}

impl OneNode {
    /// Beliefs of the start are the first entries of the log, unless the initialisation is wrong.
    fn new(setting: Setting, bug: bool) -> Self {
        let (first, second) = (ProcessId::new(0), ProcessId::new(1));
        OneNode {
            stage: if setting.me == first { Stage::Ready } else { Stage::Following },
            acceptor: if bug { first } else { second },
            promised: 0,
            accepted: None,
            chosen: BTreeSet::new(),
            suspected: false,
            utility: Utility {
                log: vec![Entry::LeaderChange(first), Entry::AcceptorChange(second)],
                phase: Phase::Voter,
                promised: 0,
                voted: None,
            },
            setting,
        }
    }

    fn own_value(&self) -> Submitted {
        self.setting.me.index() + 1
    }

    fn propose(&mut self, out: &mut Outbox<Msg>) {
        self.submit(self.own_value(), out);
    }

    fn propose_again(&mut self, response: Received<'_, Msg>, out: &mut Outbox<Msg>) {
        let Msg::PrepareResponse { accepted, .. } = *response else { return };
        self.submit(accepted.unwrap_or(self.own_value()), out);
    }

    fn submit(&mut self, value: Submitted, out: &mut Outbox<Msg>) {
        self.stage = Stage::Proposed;
        out.send(self.acceptor, Msg::Accept { ballot: self.utility.log.len(), value });
    }

    fn promise(&mut self, prepare: Received<'_, Msg>, out: &mut Outbox<Msg>) {
        let Msg::Prepare { ballot } = *prepare else { return };
        self.promised = ballot;
        out.send(prepare.from, Msg::PrepareResponse { ballot, accepted: self.accepted });
    }

    fn accept(&mut self, accept: Received<'_, Msg>, out: &mut Outbox<Msg>) {
        let Msg::Accept { ballot, value } = *accept else { return };
        self.promised = ballot;
        self.accepted = Some(value);
        out.send_all(NODES, Msg::Learn { value });
    }

    fn learn(&mut self, learn: Received<'_, Msg>, _: &mut Outbox<Msg>) {
        if let Msg::Learn { value } = *learn {
            self.chosen.insert(value);
        }
    }
}

/// The utility, and what becomes of a leader and its acceptor by an entry of it.
impl OneNode {
    fn utility_transitions(&self, t: &mut Transitions<Self>) {
        let others = self.setting.nodes / 2;
        t.internal("suspect").when(Self::may_suspect).run(Self::suspect);
        t.message("utility-prepare")
            .of(|n, m| {
                matches!(m, Msg::UtilityPrepare { slot, ballot }
                    if n.is_next(*slot) && *ballot > n.utility.promised)
            })
            .run(Self::utility_promise);
        t.quorum("utility-promise", some_of(others, NODES))
            .of(|n, m| {
                let ours = matches!(m, Msg::UtilityPromise { slot, ballot, .. } if n.is_own(*slot, *ballot));
                ours && n.utility.phase == Phase::Preparing
            })
            .run(Self::utility_call_vote);
        t.message("utility-vote")
            .of(|n, m| {
                matches!(m, Msg::UtilityVote { slot, vote }
                    if n.is_next(*slot) && vote.ballot >= n.utility.promised)
            })
            .run(Self::utility_vote);
        t.quorum("utility-voted", some_of(others, NODES))
            .of(|n, m| {
                let ours = matches!(m, Msg::UtilityVoted { slot, ballot } if n.is_own(*slot, *ballot));
                ours && n.utility.phase == Phase::Voting
            })
            .run(Self::utility_decide);
        t.message("utility-entry")
            .of(|n, m| matches!(m, Msg::UtilityEntry { slot, .. } if n.is_next(*slot)))
            .run(Self::utility_learn);
    }

    fn is_next(&self, slot: usize) -> bool {
        slot == self.utility.log.len()
    }

    fn is_own(&self, slot: usize, ballot: UtilityBallot) -> bool {
        self.is_next(slot) && ballot == self.utility.promised
    }

    fn utility_ballot(&self) -> UtilityBallot {
        self.setting.me.index() + 1
    }

    /// The leader and the acceptor must be two nodes.
    fn may_suspect(&self) -> bool {
        self.setting.suspicious
            && !self.suspected
            && self.stage == Stage::Following
            && self.acceptor != self.setting.me
            && self.utility_ballot() > self.utility.promised
    }

    fn suspect(&mut self, out: &mut Outbox<Msg>) {
        let ballot = self.utility_ballot();
        self.suspected = true;
        self.utility.phase = Phase::Preparing;
        self.utility.promised = ballot;
        Self::send_to_others(&Msg::UtilityPrepare { slot: self.utility.log.len(), ballot }, out);
    }

    fn utility_promise(&mut self, prepare: Received<'_, Msg>, out: &mut Outbox<Msg>) {
        let Msg::UtilityPrepare { slot, ballot } = *prepare else { return };
        self.utility.phase = Phase::Voter;
        self.utility.promised = ballot;
        out.send(prepare.from, Msg::UtilityPromise { slot, ballot, voted: self.utility.voted });
    }

    fn utility_call_vote(&mut self, promises: Quorum<'_, Msg>, out: &mut Outbox<Msg>) {
        let voted = promises.iter().filter_map(|promise| match *promise {
            Msg::UtilityPromise { voted, .. } => voted,
            _ => None,
        });
        let found = voted.chain(self.utility.voted).max();
        let entry = found.map_or(Entry::LeaderChange(self.setting.me), |vote| vote.entry);
        let vote = Vote { ballot: self.utility.promised, entry };
        self.utility.phase = Phase::Voting;
        self.utility.voted = Some(vote);
        Self::send_to_others(&Msg::UtilityVote { slot: self.utility.log.len(), vote }, out);
    }

    fn utility_vote(&mut self, call: Received<'_, Msg>, out: &mut Outbox<Msg>) {
        let Msg::UtilityVote { slot, vote } = *call else { return };
        self.utility.phase = Phase::Voter;
        self.utility.promised = vote.ballot;
        self.utility.voted = Some(vote);
        out.send(call.from, Msg::UtilityVoted { slot, ballot: vote.ballot });
    }

    fn utility_decide(&mut self, _: Quorum<'_, Msg>, out: &mut Outbox<Msg>) {
        let Some(Vote { entry, .. }) = self.utility.voted else { return };
        Self::send_to_others(&Msg::UtilityEntry { slot: self.utility.log.len(), entry }, out);
        self.append(entry, out);
    }

    fn utility_learn(&mut self, decided: Received<'_, Msg>, out: &mut Outbox<Msg>) {
        if let Msg::UtilityEntry { entry, .. } = *decided {
            self.append(entry, out);
        }
    }

    fn append(&mut self, entry: Entry, out: &mut Outbox<Msg>) {
        let mut log = std::mem::take(&mut self.utility.log);
        log.push(entry);
        if entry == Entry::LeaderChange(self.setting.me) {
            let named = log.iter().rev().find_map(|entry| match *entry {
                Entry::AcceptorChange(node) => Some(node),
                Entry::LeaderChange(_) => None,
            });
            self.acceptor = named.unwrap_or(self.acceptor);
            self.stage = Stage::TakingOver;
            out.send(self.acceptor, Msg::Prepare { ballot: log.len() });
        } else {
            self.stage = Stage::Following;
        }
        self.utility = Utility { log, phase: Phase::Voter, promised: 0, voted: None };
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
}

/// The catalogue entry.
pub(crate) fn protocol() -> Protocol {
    Protocol::new("one-paxos", "1Paxos, with one acceptor, which a Paxos utility names: one value", system)
        .reference("Guerraoui and Yabandeh, Model Checking a Networked System Without the Network, NSDI 2011")
        .number(
            "nodes",
            3,
            2..=60,
            "how many nodes; the first leads, the second accepts, node i has value i+1",
        )
        .number("suspicions", 1, 0..=60, "how many nodes may suspect the leader, once each: the last ones")
        .choice(
            "property",
            ["agreement", "first-not-left-out"],
            "first-not-left-out: never has a new leader's value been chosen by all but the first node; \
             violated, to have a run",
        )
        .bug("init-increment", "nodes take the first node, the leader, for the acceptor, unlike the utility")
}

fn system(arguments: &Arguments) -> System<Msg> {
    let (nodes, suspicions) = (arguments.number("nodes"), arguments.number("suspicions"));
    let bug = arguments.bug().is_some();
    let system = System::new().role(NODES, nodes, |index| {
        let setting = Setting { me: ProcessId::new(index), nodes, suspicious: index + suspicions >= nodes };
        OneNode::new(setting, bug)
    });
    let chosen = observe(|n: &OneNode| n.chosen.clone());
    if arguments.choice("property") == "first-not-left-out" {
        system.invariant("first not left out", chosen, |chosen| !first_is_left_out(chosen))
    } else {
        system.invariant("agreement", chosen, |chosen| {
            chosen.iter().flatten().collect::<BTreeSet<_>>().len() <= 1
        })
    }
}

/// The live state of section 5.6: all nodes but the first have chosen the same value, and it is not the first's.
fn first_is_left_out(chosen: &[BTreeSet<Submitted>]) -> bool {
    let (first, others) = (&chosen[0], &chosen[1..]);
    first.is_empty()
        && others.iter().all(|values| *values == others[0] && values.len() == 1 && !values.contains(&1))
}
