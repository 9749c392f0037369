//! `RandTree`: nodes join a random tree in which no node has more than a few children.
//!
//! From: Guerraoui and Yabandeh, Model Checking a Networked System Without the Network (LMC, NSDI 2011), section 4.2,
//! which names the protocol and its invariant: *in all node states the children and siblings must be disjoint sets*.
//! It is an example of an invariant that each node can check alone.
//! Differs: the paper does not describe the protocol, which comes with the Mace toolkit; this is what its name and
//! its invariant need. A node joins at the root. A node with room takes it as a child, tells it its siblings and
//! tells these of it; a full one passes the join on to one of its children, whichever. A node may later ask its
//! parent for another place: the parent forgets it and passes its join on to the root. Nobody is told of siblings
//! that went away, so lists of siblings may be out of date, and messages of a former parent are left in the inbox.
//! Known: a node that takes a child must look for it among its siblings, and must look among its children when it
//! is told of a sibling: each of the two bugs leaves one of this out.
//! Held by: `tests/nodes.rs`.

use std::collections::BTreeSet;

use quorate::protocol::Arguments;
use quorate::{Outbox, ProcessId, Protocol, Received, Role, RoleName, System, Transitions, observe};

const NODES: RoleName = RoleName::new("node");

type Nodes = BTreeSet<ProcessId>;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Msg {
    Join { node: ProcessId },
    Welcome { siblings: Nodes },
    NewSibling { node: ProcessId },
    Leave,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Bug {
    KeepSibling,
    LateSibling,
}

/// What is the same at all times.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Setting {
    degree: usize,
    bug: Option<Bug>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Status {
    Outside,
    Joining,
    ChildOf(ProcessId),
    Root,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct RandNode {
    status: Status,
    children: Nodes,
    siblings: Nodes,
    /// Will leave for another place, at any time.
    restless: bool,
    setting: Setting,
}

impl Role for RandNode {
    type Message = Msg;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("join").when(|n| n.status == Status::Outside).run(Self::join);
        t.internal("leave").when(Self::may_leave).run(Self::leave);
        t.message("place").of(|_, m| matches!(m, Msg::Join { .. })).run(Self::place);
        t.message("settle").of(|_, m| matches!(m, Msg::Welcome { .. })).run(Self::settle);
        t.message("note-sibling")
            .of(|_, m| matches!(m, Msg::NewSibling { .. }))
            .when(|n, news| n.status == Status::ChildOf(news.from))
            .run(Self::note_sibling);
        t.message("let-go").of(|_, m| matches!(m, Msg::Leave)).run(Self::let_go);
    }
}

impl RandNode {
    fn new(status: Status, restless: bool, setting: Setting) -> Self {
        RandNode { status, children: Nodes::new(), siblings: Nodes::new(), restless, setting }
    }

    fn join(&mut self, out: &mut Outbox<Msg>) {
        self.status = Status::Joining;
        Self::ask_root(out.me(), out);
    }

    fn ask_root(node: ProcessId, out: &mut Outbox<Msg>) {
        out.send(out.members(NODES)[0], Msg::Join { node });
    }

    /// A place for the node, here or further down.
    fn place(&mut self, join: Received<'_, Msg>, out: &mut Outbox<Msg>) {
        let Msg::Join { node } = *join else { return };
        if self.children.len() == self.setting.degree {
            let child = out.choose(self.children.clone());
            out.send(child, Msg::Join { node });
            return;
        }
        for &child in &self.children {
            out.send(child, Msg::NewSibling { node });
        }
        out.send(node, Msg::Welcome { siblings: self.children.clone() });
        self.children.insert(node);
        if self.setting.bug != Some(Bug::KeepSibling) {
            self.siblings.remove(&node);
        }
    }

    fn settle(&mut self, welcome: Received<'_, Msg>, _: &mut Outbox<Msg>) {
        let Msg::Welcome { siblings } = welcome.body else { return };
        self.status = Status::ChildOf(welcome.from);
        self.siblings = siblings - &self.children;
    }

    fn note_sibling(&mut self, news: Received<'_, Msg>, _: &mut Outbox<Msg>) {
        let Msg::NewSibling { node } = *news else { return };
        if !self.children.contains(&node) || self.setting.bug == Some(Bug::LateSibling) {
            self.siblings.insert(node);
        }
    }

    fn may_leave(&self) -> bool {
        self.restless && matches!(self.status, Status::ChildOf(_))
    }

    /// Asks its parent for another place. Its own children stay with it.
    fn leave(&mut self, out: &mut Outbox<Msg>) {
        let Status::ChildOf(parent) = self.status else { return };
        self.status = Status::Joining;
        self.restless = false;
        out.send(parent, Msg::Leave);
    }

    fn let_go(&mut self, leave: Received<'_, Msg>, out: &mut Outbox<Msg>) {
        self.children.remove(&leave.from);
        Self::ask_root(leave.from, out);
    }
}

/// The catalogue entry.
pub(crate) fn protocol() -> Protocol {
    Protocol::new("rand-tree", "nodes join a random tree: nobody is both child and sibling", system)
        .reference("Guerraoui and Yabandeh, Model Checking a Networked System Without the Network, NSDI 2011")
        .number("nodes", 4, 1..=60, "how many nodes; the first is the root")
        .number("degree", 2, 1..=60, "how many children a node has at most")
        .number(
            "restless",
            1,
            0..=60,
            "how many nodes, the first ones after the root, may leave for another place, once",
        )
        .bug("keep-sibling", "a node that takes one of its siblings as a child keeps it among its siblings")
        .bug("late-sibling", "a node that is told of a sibling does not look whether it is its child by now")
}

fn system(arguments: &Arguments) -> System<Msg> {
    let setting = Setting {
        degree: arguments.number("degree"),
        bug: arguments.bug().map(|bug| match bug {
            "keep-sibling" => Bug::KeepSibling,
            _ => Bug::LateSibling,
        }),
    };
    let restless = arguments.number("restless");
    System::new()
        .role(NODES, arguments.number("nodes"), |index| {
            let status = if index == 0 { Status::Root } else { Status::Outside };
            RandNode::new(status, index <= restless, setting)
        })
        .invariant("disjoint", observe(|n: &RandNode| &n.children & &n.siblings), |shared| {
            shared.iter().all(Nodes::is_empty)
        })
        .at_end("everybody is in the tree", observe(|n: &RandNode| n.children.clone()), |children| {
            let below_root = below(0, children);
            below_root.len() + 1 == children.len() && children.iter().flatten().count() == below_root.len()
        })
}

/// All nodes below one.
fn below(position: usize, children: &[Nodes]) -> Nodes {
    let mut found = Nodes::new();
    let mut ahead: Vec<ProcessId> = children[position].iter().copied().collect();
    while let Some(node) = ahead.pop() {
        if found.insert(node) {
            ahead.extend(&children[node.index()]);
        }
    }
    found
}
