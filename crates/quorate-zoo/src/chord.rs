//! Chord: nodes join a ring, stabilise, fix their fingers and tell their applications what has changed.
//!
//! From: Stoica et al., Chord: A Scalable Peer-to-Peer Lookup Service for Internet Applications (SIGCOMM 2001), figure
//! 7: join, stabilize, notify and `fix_fingers`; section 3: Chord notifies the application of changes in the set of
//! keys that its node is responsible for; and, of failures and replication: it tells when successors come and go, so
//! that the application makes new copies. A benchmark of Guo et al. (DEMETER, SOSP 2011), whose instances are joins of
//! two and three nodes, with timers that go off at most once. Node 0 is the ring at first, and the others ask it to
//! find their successors.
//! Differs: nodes have evenly spread identifiers, and each finger but the first, which is the successor, is fixed
//! once, in turn, with the nodes that its owner knows of instead of by a lookup. What the application is told is what
//! is true when it listens: it may sleep through a change. A node that is alone notifies itself without a message.
//! Known: 2 and 3 nodes have 280 and 71,424 states, with 1,019 and 101,580,210 maximal runs made of 120 and 54,673
//! local traces, a ratio of 8.5 and of 1,858; DEMETER has 19 and 1,587, with 27,588,408 runs of three nodes.
//! Nobody is interchangeable: identifiers have an order.
//! Held by: tests/dir.rs, testkit/tests/dir.rs.

use std::collections::BTreeSet;

use quorate::property::Property;
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

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Neighbours {
    predecessor: Option<Position>,
    successor: Option<Position>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct ChordNode {
    position: Position,
    has_asked: bool,
    has_stabilised: bool,
    neighbours: Neighbours,
    /// The neighbours that its application has been told of: its keys begin after the predecessor's, and copies of them
    /// are at the successor.
    application: Neighbours,
    /// The fingers that it has fixed, from the second on: its first is its successor.
    fingers: Vec<Position>,
    ring: Ring,
    bug: Option<Bug>,
}

impl Role for ChordNode {
    type Message = Msg;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("join").when(|n| n.neighbours.successor.is_none() && !n.has_asked).run(Self::join);
        t.message("find")
            .of(|n, m| matches!(m, Msg::Find { .. }) && n.neighbours.successor.is_some())
            .run(Self::find);
        t.message("found").of(|_, m| matches!(m, Msg::Successor(_))).run(Self::found);
        t.internal("stabilise")
            .when(|n| !n.has_stabilised && n.neighbours.successor.is_some())
            .run(Self::stabilise);
        t.message("ask").of(|_, m| matches!(m, Msg::AskPredecessor { .. })).run(Self::answer_predecessor);
        t.message("told").of(|_, m| matches!(m, Msg::Predecessor(_))).run(Self::hear_predecessor);
        t.message("notify").of(|_, m| matches!(m, Msg::Notify { .. })).run(Self::be_notified);
        t.internal("fix finger")
            .when(|n| n.neighbours.successor.is_some() && n.fingers.len() + 1 < n.ring.bits())
            .run(Self::fix_finger);
        t.internal("tell application")
            .when(|n| n.application != n.neighbours)
            .run(|n, _| n.application = n.neighbours);
    }
}

/// The circle of identifiers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Ring {
    nodes: usize,
}

impl Ring {
    /// How many bits an identifier has: enough that there are twice as many identifiers as nodes.
    fn bits(self) -> usize {
        1 + self.nodes.next_power_of_two().ilog2() as usize
    }

    /// The identifier of a node: nodes are spread evenly.
    fn identifier(self, node: Position) -> usize {
        (node << self.bits()) / self.nodes
    }

    /// How far it is from an identifier on to a node.
    fn distance(self, from: usize, to: Position) -> usize {
        let size = 1 << self.bits();
        (self.identifier(to) + size - from % size) % size
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
        let (Msg::Find { joining }, Some(successor)) = (find.body, self.neighbours.successor) else { return };
        if between(self.position, *joining, successor) {
            send(*joining, Msg::Successor(successor), out);
        } else {
            let to = self.closest_preceding(*joining).unwrap_or(successor);
            send(to, Msg::Find { joining: *joining }, out);
        }
    }

    /// Of its fingers the closest before a node.
    fn closest_preceding(&self, node: Position) -> Option<Position> {
        let fingers = self.neighbours.successor.into_iter().chain(self.fingers.iter().copied());
        let preceding = fingers.filter(|finger| between(self.position, *finger, node));
        preceding.min_by_key(|finger| self.ring.distance(self.ring.identifier(*finger), node))
    }

    fn found(&mut self, found: Received<'_, Msg>, _: &mut Outbox<Msg>) {
        if let Msg::Successor(successor) = found.body {
            self.neighbours.successor = Some(*successor);
        }
    }

    fn stabilise(&mut self, out: &mut Outbox<Msg>) {
        self.has_stabilised = true;
        match self.neighbours.successor {
            Some(successor) if successor != self.position => {
                send(successor, Msg::AskPredecessor { asking: self.position }, out);
            }
            _ => self.look_at(self.neighbours.predecessor, out),
        }
    }

    fn answer_predecessor(&mut self, ask: Received<'_, Msg>, out: &mut Outbox<Msg>) {
        if let Msg::AskPredecessor { asking } = ask.body {
            send(*asking, Msg::Predecessor(self.neighbours.predecessor), out);
        }
    }

    fn hear_predecessor(&mut self, answer: Received<'_, Msg>, out: &mut Outbox<Msg>) {
        if let Msg::Predecessor(theirs) = answer.body {
            self.look_at(*theirs, out);
        }
    }

    /// Takes the predecessor of its successor for its successor if that is nearer, and notifies it.
    fn look_at(&mut self, theirs: Option<Position>, out: &mut Outbox<Msg>) {
        let Some(successor) = self.neighbours.successor else { return };
        let nearer = theirs.filter(|theirs| between(self.position, *theirs, successor));
        let successor = nearer.unwrap_or(successor);
        self.neighbours.successor = Some(successor);
        if successor == self.position {
            self.be_notified_by(self.position);
        } else {
            send(successor, Msg::Notify { notifying: self.position }, out);
        }
    }

    fn be_notified(&mut self, notify: Received<'_, Msg>, _: &mut Outbox<Msg>) {
        if let Msg::Notify { notifying } = notify.body {
            self.be_notified_by(*notifying);
        }
    }

    fn be_notified_by(&mut self, notifying: Position) {
        let nearer = self.neighbours.predecessor.is_none_or(|known| between(known, notifying, self.position));
        if nearer || self.bug == Some(Bug::LastNotifies) {
            self.neighbours.predecessor = Some(notifying);
        }
    }

    /// Fixes the next finger: the first node that it knows of at or after the place where the finger begins.
    fn fix_finger(&mut self, _: &mut Outbox<Msg>) {
        let start = self.ring.identifier(self.position) + (2 << self.fingers.len());
        let known = self.pointed_to().into_iter().chain([self.position]);
        self.fingers.extend(known.min_by_key(|node| self.ring.distance(start, *node)));
    }

    /// The nodes that it knows of.
    fn pointed_to(&self) -> BTreeSet<Position> {
        let Neighbours { predecessor, successor } = self.neighbours;
        predecessor.into_iter().chain(successor).chain(self.fingers.iter().copied()).collect()
    }

    /// Does it answer for keys that its application has given away?
    fn answers_in_vain(&self) -> bool {
        let given_away =
            |start| self.neighbours.predecessor.is_none_or(|known| between(known, start, self.position));
        self.application.predecessor.is_some_and(given_away)
    }
}

/// The catalogue entry.
pub(crate) fn protocol() -> Protocol {
    Protocol::new("chord", "nodes join a ring and stabilise: who is pointed to has joined", system)
        .reference("Stoica et al., Chord: A Scalable Peer-to-Peer Lookup Service, SIGCOMM 2001")
        .number("nodes", 3, 2..=60, "how many nodes; node 0 is the ring that the others join")
        .bug_with(&[("nodes", "2")], "notify-at-once", "a node that asks to join notifies node 0 at once")
        .bug("last-notifies", "a node takes whoever has notified it last for its predecessor")
}

fn system(arguments: &Arguments) -> System<Msg> {
    let bug = arguments.bug().map(|bug| match bug {
        "notify-at-once" => Bug::NotifyAtOnce,
        _ => Bug::LastNotifies,
    });
    let ring = Ring { nodes: arguments.number("nodes") };
    let node = |position| {
        let neighbours = Neighbours { predecessor: None, successor: (position == 0).then_some(0) };
        ChordNode {
            position,
            has_asked: false,
            has_stabilised: false,
            neighbours,
            application: neighbours,
            fingers: Vec::new(),
            ring,
            bug,
        }
    };
    System::new()
        .role(NODES, ring.nodes, node)
        .invariant(
            "who is pointed to has joined",
            observe(|n: &ChordNode| (n.neighbours.successor.is_some(), n.pointed_to())),
            |nodes| nodes.iter().flat_map(|(_, pointed_to)| pointed_to).all(|node| nodes[*node].0),
        )
        .property(Property::at_most(
            "nobody answers for keys given away",
            0,
            observe(ChordNode::answers_in_vain),
        ))
}
