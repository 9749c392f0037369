//! Pastry: nodes join by way of the node next to them, announce themselves, and tell their applications who is next to
//! them.
//!
//! From: Rowstron and Druschel, Pastry: Scalable, Decentralized Object Location and Routing (Middleware 2001): a join
//! is routed to the node whose identifier is nearest, which answers with its leaf set; the new node then sends its own
//! state to all that it has heard of; whenever a leaf set changes the application hears of it (`newLeafs`). Castro,
//! Costa and Rowstron, Performance and Dependability of Structured Peer-to-Peer Overlays (DSN 2004): a node's
//! heartbeats go to its left neighbour. A benchmark of Guo et al. (DEMETER, SOSP 2011), whose instances are joins of
//! two and three nodes. Node 0 is there at first. Identifiers are positions.
//! Differs: there are so few nodes that all are leaves of each other, so there are no routing tables; the timer of the
//! heartbeat, which carries the leaf set, goes off at most once in a node. An application may sleep through a change:
//! it is told what is true when it listens.
//! Known: 2 and 3 nodes have 79 and 57,044 states, with 75 and 8,172,939 maximal runs made of 26 and 21,403 local
//! traces, a ratio of 2.9 and of 382; DEMETER has 4.9 and 132. All meet in the end only because a node that knows more
//! than whoever announces itself says so.
//! Nobody is interchangeable: identifiers have an order.
//! Held by: tests/dir.rs, testkit/tests/dir.rs.

use std::collections::BTreeSet;

use quorate::protocol::Arguments;
use quorate::{Outbox, Protocol, Received, Role, RoleName, System, Transitions, observe};

const NODES: RoleName = RoleName::new("node");

/// A node, by its identifier.
type Identifier = usize;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Msg {
    Join {
        joining: Identifier,
    },
    /// The answer to a join: the leaf set of the nearest node, with that node.
    Welcome(BTreeSet<Identifier>),
    /// The leaf set of a new node, with that node.
    Announce {
        new: Identifier,
        known: BTreeSet<Identifier>,
    },
    Leaves(BTreeSet<Identifier>),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Bug {
    EarlyLeaf,
    NoLeavesForNewcomers,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct PastryNode {
    identifier: Identifier,
    has_asked: bool,
    is_member: bool,
    heart_has_beaten: bool,
    leaves: BTreeSet<Identifier>,
    /// The leaf set as its application saw it last.
    application: BTreeSet<Identifier>,
    bug: Option<Bug>,
}

impl Role for PastryNode {
    type Message = Msg;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("join").when(|n| !n.is_member && !n.has_asked).run(Self::join);
        t.message("route").of(|n, m| matches!(m, Msg::Join { .. }) && n.is_member).run(Self::route);
        t.message("welcome").of(|_, m| matches!(m, Msg::Welcome(_))).run(Self::enter);
        t.message("announce").of(|_, m| matches!(m, Msg::Announce { .. })).run(Self::meet);
        t.message("leaves").of(|_, m| matches!(m, Msg::Leaves(_))).run(Self::learn);
        t.internal("heartbeat")
            .when(|n| !n.heart_has_beaten && !n.leaves.is_empty() && n.is_member)
            .run(Self::beat);
        t.internal("new leaves")
            .when(|n| n.application != n.leaves)
            .run(|n, _| n.application.clone_from(&n.leaves));
    }
}

impl PastryNode {
    fn send(to: Identifier, message: Msg, out: &mut Outbox<Msg>) {
        let to = out.members(NODES)[to];
        out.send(to, message);
    }

    fn join(&mut self, out: &mut Outbox<Msg>) {
        self.has_asked = true;
        Self::send(0, Msg::Join { joining: self.identifier }, out);
    }

    /// Its leaves and itself.
    fn known(&self) -> BTreeSet<Identifier> {
        self.leaves.iter().copied().chain([self.identifier]).collect()
    }

    fn route(&mut self, join: Received<'_, Msg>, out: &mut Outbox<Msg>) {
        let Msg::Join { joining } = *join.body else { return };
        let nearest = self.known().into_iter().filter(|known| *known != joining);
        let nearest = nearest.min_by_key(|known| known.abs_diff(joining)).unwrap_or(self.identifier);
        if nearest == self.identifier {
            Self::send(joining, Msg::Welcome(self.known()), out);
        } else {
            Self::send(nearest, Msg::Join { joining }, out);
        }
        if self.bug == Some(Bug::EarlyLeaf) {
            self.leaves.insert(joining);
        }
    }

    fn enter(&mut self, welcome: Received<'_, Msg>, out: &mut Outbox<Msg>) {
        let Msg::Welcome(leaves) = welcome.body else { return };
        self.is_member = true;
        self.hear_of(leaves, out);
    }

    fn meet(&mut self, announce: Received<'_, Msg>, out: &mut Outbox<Msg>) {
        let Msg::Announce { new, known } = announce.body else { return };
        self.leaves.insert(*new);
        if self.bug != Some(Bug::NoLeavesForNewcomers) && !self.known().is_subset(known) {
            Self::send(*new, Msg::Leaves(self.known()), out);
        }
    }

    fn learn(&mut self, leaves: Received<'_, Msg>, out: &mut Outbox<Msg>) {
        if let Msg::Leaves(leaves) = leaves.body {
            self.hear_of(leaves, out);
        }
    }

    /// Takes nodes that it has not known into its leaf set, and announces itself to them.
    fn hear_of(&mut self, nodes: &BTreeSet<Identifier>, out: &mut Outbox<Msg>) {
        let unknown: Vec<Identifier> = nodes.difference(&self.known()).copied().collect();
        self.leaves.extend(&unknown);
        for node in unknown {
            Self::send(node, Msg::Announce { new: self.identifier, known: self.known() }, out);
        }
    }

    fn beat(&mut self, out: &mut Outbox<Msg>) {
        self.heart_has_beaten = true;
        // Identifiers are a circle: left of the least is the greatest.
        let left = self.leaves.range(..self.identifier).next_back().or(self.leaves.last());
        if let Some(left) = left {
            Self::send(*left, Msg::Leaves(self.known()), out);
        }
    }
}

/// The catalogue entry.
pub(crate) fn protocol() -> Protocol {
    Protocol::new(
        "pastry",
        "nodes join by way of the nearest: leaves are members, all meet in the end",
        system,
    )
    .reference("Rowstron and Druschel, Pastry: Scalable, Decentralized Object Location and Routing, 2001")
    .number("nodes", 3, 2..=60, "how many nodes; node 0 is there when the others join")
    .bug("early-leaf", "a node that routes a join takes the new node into its leaf set at once")
    .bug("no-leaves-for-newcomers", "a node does not tell whoever announces itself which others it knows")
}

fn system(arguments: &Arguments) -> System<Msg> {
    let bug = arguments.bug().map(|bug| match bug {
        "early-leaf" => Bug::EarlyLeaf,
        _ => Bug::NoLeavesForNewcomers,
    });
    System::new()
        .role(NODES, arguments.number("nodes"), |identifier| PastryNode {
            identifier,
            has_asked: false,
            is_member: identifier == 0,
            heart_has_beaten: false,
            leaves: BTreeSet::new(),
            application: BTreeSet::new(),
            bug,
        })
        .invariant("leaves are members", observe(|n: &PastryNode| (n.is_member, n.leaves.clone())), |nodes| {
            nodes.iter().flat_map(|(_, leaves)| leaves).all(|leaf| nodes[*leaf].0)
        })
        .at_end("everybody knows everybody", observe(|n: &PastryNode| n.leaves.len()), |nodes| {
            nodes.iter().all(|leaves| leaves + 1 == nodes.len())
        })
}
