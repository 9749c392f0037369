//! Chord: nodes join a ring, and each stabilises once.
//!
//! From: Stoica et al., Chord: A Scalable Peer-to-Peer Lookup Service for Internet Applications (SIGCOMM 2001), figure
//! 7: join, stabilize and notify; a benchmark of Guo et al. (DEMETER, SOSP 2011), whose instances are joins of two and
//! three nodes. Node 0 is the ring at first, and the others ask it to find their successors. Identifiers are positions.
//! Differs: a node finds successors by its own successor, without fingers; its timer goes off at most once.
//! Known: 2 and 3 nodes have 27 and 274 states, and 10 and 510 maximal runs. DEMETER counts 27,588,408 runs of three
//! nodes of an implementation with threads, which has much more of its own to decide.
//! Nobody is interchangeable: identifiers have an order.
//! Held by: tests/dir.rs, testkit/tests/dir.rs.

use std::collections::BTreeSet;

use quorate::protocol::Arguments;
use quorate::{Outbox, Protocol, Received, Role, RoleName, System, Transitions, observe};

const NODES: RoleName = RoleName::new("node");

/// A node, by its position on the ring.
type Position = usize;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Msg {
    Find { joining: Position },
    Successor(Position),
    AskPredecessor { asking: Position },
    Predecessor(Option<Position>),
    Notify { notifying: Position },
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Bug {
    NotifyAtOnce,
    LastNotifies,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct ChordNode {
    position: Position,
    has_asked: bool,
    has_stabilised: bool,
    successor: Option<Position>,
    predecessor: Option<Position>,
    /// Who has notified it.
    notified: BTreeSet<Position>,
    bug: Option<Bug>,
}

impl Role for ChordNode {
    type Message = Msg;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("join").when(|n| n.successor.is_none() && !n.has_asked).run(Self::join);
        t.message("find").of(|n, m| matches!(m, Msg::Find { .. }) && n.successor.is_some()).run(Self::find);
        t.message("found").of(|_, m| matches!(m, Msg::Successor(_))).run(Self::found);
        t.internal("stabilise").when(|n| !n.has_stabilised && n.successor.is_some()).run(Self::stabilise);
        t.message("ask").of(|_, m| matches!(m, Msg::AskPredecessor { .. })).run(Self::tell);
        t.message("told").of(|_, m| matches!(m, Msg::Predecessor(_))).run(Self::told);
        t.message("notify").of(|_, m| matches!(m, Msg::Notify { .. })).run(Self::be_notified);
    }
}

/// Is a node on the way from one to another, both excluded? From a node to itself is all the way round.
fn between(from: Position, node: Position, to: Position) -> bool {
    if from < to { from < node && node < to } else { node > from || node < to }
}

fn send(to: Position, message: Msg, out: &mut Outbox<Msg>) {
    let to = out.members(NODES)[to];
    out.send(to, message);
}

impl ChordNode {
    fn join(&mut self, out: &mut Outbox<Msg>) {
        self.has_asked = true;
        send(0, Msg::Find { joining: self.position }, out);
        if self.bug == Some(Bug::NotifyAtOnce) {
            send(0, Msg::Notify { notifying: self.position }, out);
        }
    }

    fn find(&mut self, find: Received<'_, Msg>, out: &mut Outbox<Msg>) {
        let (Msg::Find { joining }, Some(successor)) = (find.body, self.successor) else { return };
        if between(self.position, *joining, successor) {
            send(*joining, Msg::Successor(successor), out);
        } else {
            send(successor, Msg::Find { joining: *joining }, out);
        }
    }

    fn found(&mut self, found: Received<'_, Msg>, _: &mut Outbox<Msg>) {
        if let Msg::Successor(successor) = found.body {
            self.successor = Some(*successor);
        }
    }

    fn stabilise(&mut self, out: &mut Outbox<Msg>) {
        self.has_stabilised = true;
        match self.successor {
            Some(successor) if successor != self.position => {
                send(successor, Msg::AskPredecessor { asking: self.position }, out);
            }
            _ => self.look_at(self.predecessor, out),
        }
    }

    fn tell(&mut self, ask: Received<'_, Msg>, out: &mut Outbox<Msg>) {
        if let Msg::AskPredecessor { asking } = ask.body {
            send(*asking, Msg::Predecessor(self.predecessor), out);
        }
    }

    fn told(&mut self, told: Received<'_, Msg>, out: &mut Outbox<Msg>) {
        if let Msg::Predecessor(theirs) = told.body {
            self.look_at(*theirs, out);
        }
    }

    /// Takes the predecessor of its successor for its successor if that is nearer, and notifies it.
    fn look_at(&mut self, theirs: Option<Position>, out: &mut Outbox<Msg>) {
        let Some(successor) = self.successor else { return };
        let nearer = theirs.filter(|theirs| between(self.position, *theirs, successor));
        let successor = nearer.unwrap_or(successor);
        self.successor = Some(successor);
        send(successor, Msg::Notify { notifying: self.position }, out);
    }

    fn be_notified(&mut self, notify: Received<'_, Msg>, _: &mut Outbox<Msg>) {
        let Msg::Notify { notifying } = notify.body else { return };
        self.notified.insert(*notifying);
        let nearer = self.predecessor.is_none_or(|known| between(known, *notifying, self.position));
        if nearer || self.bug == Some(Bug::LastNotifies) {
            self.predecessor = Some(*notifying);
        }
    }

    /// Has nobody notified it who is nearer than its predecessor?
    fn nearest_precedes(&self) -> bool {
        let nearer =
            |node: &Position| self.predecessor.is_none_or(|known| between(known, *node, self.position));
        !self.notified.iter().any(nearer)
    }
}

/// The catalogue entry.
pub(crate) fn protocol() -> Protocol {
    Protocol::new("chord", "nodes join a ring and stabilise: who is pointed to has joined", system)
        .reference("Stoica et al., Chord: A Scalable Peer-to-Peer Lookup Service, SIGCOMM 2001")
        .number("nodes", 3, 2..=60, "how many nodes; node 0 is the ring that the others join")
        .bug("notify-at-once", "a node that asks to join notifies node 0 at once")
        .bug("last-notifies", "a node takes whoever has notified it last for its predecessor")
}

fn system(arguments: &Arguments) -> System<Msg> {
    let bug = arguments.bug().map(|bug| match bug {
        "notify-at-once" => Bug::NotifyAtOnce,
        _ => Bug::LastNotifies,
    });
    System::new()
        .role(NODES, arguments.number("nodes"), |position| ChordNode {
            position,
            has_asked: false,
            has_stabilised: false,
            successor: (position == 0).then_some(0),
            predecessor: None,
            notified: BTreeSet::new(),
            bug,
        })
        .invariant(
            "who is pointed to has joined",
            observe(|n: &ChordNode| (n.successor, n.predecessor)),
            |nodes| {
                let joined = |node: &Position| nodes[*node].0.is_some();
                nodes.iter().all(|(next, previous)| next.iter().chain(previous).all(joined))
            },
        )
        .invariant("the nearest precedes", observe(ChordNode::nearest_precedes), |nodes| {
            nodes.iter().all(|nearest| *nearest)
        })
}
