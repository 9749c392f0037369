//! Single-decree Paxos among nodes that are proposer, acceptor and learner at once, a message a step.
//!
//! From: Guerraoui and Yabandeh, Model Checking a Networked System Without the Network (LMC, NSDI 2011), sections
//! 5.1, 5.2 and 5.5, where it is the benchmark; its source is not published. Each node has an initialisation event,
//! and what it tells all nodes it tells itself too, through the network. The bug `last-reply` is that of section
//! 5.5: *once the leader receives the `PrepareResponse` message from a majority of nodes, it creates the Accept request
//! by using the submitted value from the last `PrepareResponse` message*.
//! Differs: node *i* has one ballot, *i* + 1, and proposes the value *i* + 1 in it; it is initialised before it
//! proposes, and answers messages before that too. A proposer remembers the majority that answered it. A node tells
//! what it accepted in lower ballots, so its answer does not depend on whether the Accept of the same ballot
//! overtook the Prepare. A learner counts until it has chosen, and so trusts that no message comes twice. What comes
//! too late is consumed without effect.
//! Known: with one proposal every run has 22 events (3 initialisations, 1 proposal, 3 Prepare, 3 `PrepareResponse`, 3
//! Accept, 9 Learn), as in the paper, and there are 26,332 states and 157,752 transitions, where the paper has
//! 157,332: 4 (2 + 20 + 9 * 9^3) states, as the two other nodes are initialised or not, the proposer waits for a
//! majority in 20 states and has then 3 majorities, the last answer in 3 stages, and 9 stages of each node's Accept
//! and its Learns. With two proposals the longest run has 41 events, as in the paper.
//! Held by: `tests/nodes.rs`.

use std::collections::{BTreeMap, BTreeSet};

use quorate::protocol::Arguments;
use quorate::{Outbox, ProcessId, Protocol, Received, Role, RoleName, System, Transitions, observe};

const NODES: RoleName = RoleName::new("node");

type Ballot = usize;
type Submitted = usize;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Accepted {
    ballot: Ballot,
    value: Submitted,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Msg {
    Prepare { ballot: Ballot },
    PrepareResponse { accepted: Option<Accepted> },
    Accept { ballot: Ballot, value: Submitted },
    Learn { ballot: Ballot, value: Submitted },
}

/// What is the same at all times.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Setting {
    index: usize,
    nodes: usize,
    proposes: bool,
    takes_last_reply: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Proposer {
    Idle,
    Preparing { responders: BTreeSet<ProcessId>, highest: Option<Accepted> },
    Accepting { responders: BTreeSet<ProcessId> },
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Learner {
    /// How many nodes have accepted, by ballot.
    Counting(BTreeMap<Ballot, usize>),
    Chosen(Submitted),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct PaxosNode {
    initialised: bool,
    proposer: Proposer,
    promised: Ballot,
    accepted: Option<Accepted>,
    learner: Learner,
    setting: Setting,
}

impl Role for PaxosNode {
    type Message = Msg;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("init").when(|n| !n.initialised).run(|n, _| n.initialised = true);
        t.internal("propose").when(Self::may_propose).run(Self::propose);
        t.message("prepare").of(|_, m| matches!(m, Msg::Prepare { .. })).run(Self::promise);
        t.message("prepare-response")
            .of(|_, m| matches!(m, Msg::PrepareResponse { .. }))
            .run(Self::count_response);
        t.message("accept").of(|_, m| matches!(m, Msg::Accept { .. })).run(Self::accept);
        t.message("learn").of(|_, m| matches!(m, Msg::Learn { .. })).run(Self::count_learn);
    }
}

impl PaxosNode {
    fn new(setting: Setting) -> Self {
        PaxosNode {
            initialised: false,
            proposer: Proposer::Idle,
            promised: 0,
            accepted: None,
            learner: Learner::Counting(BTreeMap::new()),
            setting,
        }
    }

    fn is_majority(&self, count: usize) -> bool {
        2 * count > self.setting.nodes
    }

    fn own_ballot(&self) -> Ballot {
        self.setting.index + 1
    }

    fn own_value(&self) -> Submitted {
        self.setting.index + 1
    }

    fn may_propose(&self) -> bool {
        self.setting.proposes && self.initialised && self.proposer == Proposer::Idle
    }

    fn propose(&mut self, out: &mut Outbox<Msg>) {
        self.proposer = Proposer::Preparing { responders: BTreeSet::new(), highest: None };
        out.send_all(NODES, Msg::Prepare { ballot: self.own_ballot() });
    }

    fn promise(&mut self, prepare: Received<'_, Msg>, out: &mut Outbox<Msg>) {
        let Msg::Prepare { ballot } = *prepare else { return };
        if ballot >= self.promised {
            self.promised = ballot;
            let accepted = self.accepted.filter(|accepted| accepted.ballot < ballot);
            out.send(prepare.from, Msg::PrepareResponse { accepted });
        }
    }

    fn count_response(&mut self, response: Received<'_, Msg>, out: &mut Outbox<Msg>) {
        let Msg::PrepareResponse { accepted } = *response else { return };
        let Proposer::Preparing { responders, highest } = &self.proposer else { return };
        let (mut responders, highest) = (responders.clone(), accepted.max(*highest));
        responders.insert(response.from);
        if self.is_majority(responders.len()) {
            // A node that has accepted nothing is as one that answers with the proposer's own value.
            let found = if self.setting.takes_last_reply { accepted } else { highest };
            let value = found.map_or(self.own_value(), |found| found.value);
            self.proposer = Proposer::Accepting { responders };
            out.send_all(NODES, Msg::Accept { ballot: self.own_ballot(), value });
        } else {
            self.proposer = Proposer::Preparing { responders, highest };
        }
    }

    fn accept(&mut self, accept: Received<'_, Msg>, out: &mut Outbox<Msg>) {
        let Msg::Accept { ballot, value } = *accept else { return };
        if ballot >= self.promised {
            self.promised = ballot;
            self.accepted = Some(Accepted { ballot, value });
            out.send_all(NODES, Msg::Learn { ballot, value });
        }
    }

    fn count_learn(&mut self, learn: Received<'_, Msg>, _: &mut Outbox<Msg>) {
        let Msg::Learn { ballot, value } = *learn else { return };
        let nodes = self.setting.nodes;
        if let Learner::Counting(counts) = &mut self.learner {
            let count = counts.entry(ballot).or_insert(0);
            *count += 1;
            if 2 * *count > nodes {
                self.learner = Learner::Chosen(value);
            }
        }
    }

    fn chosen(&self) -> Option<Submitted> {
        if let Learner::Chosen(value) = self.learner { Some(value) } else { None }
    }
}

/// The catalogue entry.
pub(crate) fn protocol() -> Protocol {
    Protocol::new("paxos-node", "Paxos nodes with all roles in each, a message a step: one value", system)
        .reference("Guerraoui and Yabandeh, Model Checking a Networked System Without the Network, NSDI 2011")
        .number("nodes", 3, 1..=60, "how many nodes; node i has ballot and value i+1")
        .number("proposals", 1, 1..=60, "how many nodes propose, the first ones; not more than there are")
        .choice(
            "property",
            ["agreement", "nothing-chosen", "first-not-alone"],
            "nothing-chosen: no node ever chooses; first-not-alone: nor is the first node ever the only one \
             that has, when just the majority of the first nodes has accepted its value; both are violated, \
             to have runs",
        )
        .bug_with(
            &[("proposals", "2")],
            "last-reply",
            "a proposer takes the value in the last reply, not the highest-numbered: two propose, as by \
             --proposals 2",
        )
}

fn system(arguments: &Arguments) -> System<Msg> {
    let (nodes, proposals) = (arguments.number("nodes"), arguments.number("proposals"));
    let takes_last_reply = arguments.bug().is_some();
    let system = System::new().role(NODES, nodes, |index| {
        PaxosNode::new(Setting { index, nodes, proposes: index < proposals, takes_last_reply })
    });
    let chosen = observe(PaxosNode::chosen);
    match arguments.choice("property") {
        "agreement" => system.invariant("agreement", chosen, |chosen| {
            chosen.iter().flatten().collect::<BTreeSet<_>>().len() <= 1
        }),
        "nothing-chosen" => {
            system.invariant("nothing chosen", chosen, |chosen| chosen.iter().all(Option::is_none))
        }
        _ => {
            let seen = observe(|n: &PaxosNode| (n.accepted.map(|accepted| accepted.value), n.chosen()));
            system.invariant("first not alone", seen, |seen| !first_is_alone(seen))
        }
    }
}

/// The live state of section 5.5: the value of the first node is accepted by a majority, itself among them, and it
/// alone has learnt so.
fn first_is_alone(seen: &[(Option<Submitted>, Option<Submitted>)]) -> bool {
    let majority = seen.len() / 2 + 1;
    seen.iter().enumerate().all(|(index, &(accepted, chosen))| {
        accepted == (index < majority).then_some(1) && chosen == (index == 0).then_some(1)
    })
}
