//! The distributed tree: a message goes from the root down to every node.
//!
//! From: Guerraoui and Yabandeh, Model Checking a Networked System Without the Network (LMC, NSDI 2011),
//! section 2, figures 2 to 4. Node 0 sends a message for node 4 and so becomes *sent*, each node forwards
//! what it receives to its children, node 4 becomes *received*; the other nodes never change.
//! Differs: the tree is the binary tree in level order (0 above 1 and 2, 1 above 3 and 4), for any number
//! of nodes, and the message is for the last one. The paper's text does not spell the edges out: this tree
//! has 11 global states, which fits the 12 of figure 3 if one of its duplicates is drawn twice. The paper
//! names no property; ours is that the system state which it calls invalid, where node 4 has received what
//! node 0 has not sent, cannot be reached. One planted bug makes it reachable.
//! Known: 11 states for 5 nodes; a full tree of height h has f(h) = 1 + f(h-1)^2 states, f(0) = 1: 26 for 7 nodes, 677
//! for 15.
//! Held by: tests/counts.rs.

use quorate::protocol::Arguments;
use quorate::{Outbox, ProcessId, Protocol, Received, Role, RoleName, System, Transitions, observe};

const NODES: RoleName = RoleName::new("node");

/// What is passed down the tree.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Packet;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Bug {
    SendBeforeNoting,
    FirstChildOnly,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Status {
    Waiting,
    /// With a planted bug: has sent, and does not know it yet.
    Sending,
    Sent,
    Received,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct TreeNode {
    position: usize,
    status: Status,
    bug: Option<Bug>,
}

impl Role for TreeNode {
    type Message = Packet;

    fn transitions(&self, t: &mut Transitions<Self>) {
        if self.position == 0 {
            t.internal("send").when(|root| root.status == Status::Waiting).run(Self::send);
            t.internal("note").when(|root| root.status == Status::Sending).run(Self::note);
        } else {
            t.message("receive").run(Self::receive);
        }
    }
}

impl TreeNode {
    fn send(&mut self, out: &mut Outbox<Packet>) {
        let late = self.bug == Some(Bug::SendBeforeNoting);
        self.status = if late { Status::Sending } else { Status::Sent };
        self.forward(out);
    }

    fn note(&mut self, _: &mut Outbox<Packet>) {
        self.status = Status::Sent;
    }

    fn receive(&mut self, _: Received<'_, Packet>, out: &mut Outbox<Packet>) {
        if out.members(NODES).last() == Some(&out.me()) {
            self.status = Status::Received;
        }
        self.forward(out);
    }

    fn forward(&self, out: &mut Outbox<Packet>) {
        let count = if self.bug == Some(Bug::FirstChildOnly) { 1 } else { 2 };
        let children: Vec<ProcessId> =
            out.members(NODES).iter().skip(2 * self.position + 1).take(count).copied().collect();
        for child in children {
            out.send(child, Packet);
        }
    }
}

/// The catalogue entry.
pub(crate) fn protocol() -> Protocol {
    Protocol::new("tree", "a message goes down a tree: nobody receives what nobody has sent", system)
        .reference("Guerraoui and Yabandeh, Model Checking a Networked System Without the Network, NSDI 2011")
        .number("nodes", 5, 2..=60, "how many nodes; node i is the parent of nodes 2i+1 and 2i+2")
        .bug("send-before-noting", "the root sends first, and notes in a later step that it has sent")
        .bug("first-child-only", "a node forwards the message to the first of its children only")
}

fn system(arguments: &Arguments) -> System<Packet> {
    let bug = arguments.bug().map(|bug| match bug {
        "send-before-noting" => Bug::SendBeforeNoting,
        _ => Bug::FirstChildOnly,
    });
    let statuses = || observe(|node: &TreeNode| node.status);
    System::new()
        .role(NODES, arguments.number("nodes"), |position| TreeNode {
            position,
            status: Status::Waiting,
            bug,
        })
        .invariant("received only if sent", statuses(), |status| {
            status[status.len() - 1] != Status::Received || status[0] == Status::Sent
        })
        .at_end("the message arrives", statuses(), |status| status[status.len() - 1] == Status::Received)
}
