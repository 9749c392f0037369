//! How often a message can be there: as often as a way through its sender's graph sends it, at most.

use std::collections::{BTreeMap, HashMap};

use super::parts::{Bag, Edge, with};
use crate::base::heed;
use crate::kernel::process::{MessageId, Messages};

/// How often a message can be there to be consumed, in all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Supply {
    Times(u32),
    Always,
}

/// How often messages can be there.
pub(super) struct Supplies {
    /// `None` if any message can be there any number of times.
    pub(super) limited: Option<HashMap<MessageId, Supply>>,
}

impl Supplies {
    /// Nobody is known to send a message that is not named.
    pub(super) fn of(&self, message: MessageId) -> Supply {
        let Some(limited) = &self.limited else { return Supply::Always };
        limited.get(&message).copied().unwrap_or(Supply::Times(0))
    }
}

/// For each message that the edges of a graph send, how often a way through the graph sends it at most; `None` if there
/// is no most.
pub(super) fn sent_at_most(
    nodes: usize,
    edges: &[Edge],
    mail: &Messages,
) -> BTreeMap<MessageId, Option<u32>> {
    let mut after: Vec<Vec<&Edge>> = vec![Vec::new(); nodes];
    for edge in edges.iter().filter(|edge| edge.to.is_some()) {
        after[edge.from as usize].push(edge);
    }
    let knot_of = knots(&after);
    let count = knot_of.iter().max().map_or(0, |last| last + 1);
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (node, knot) in knot_of.iter().enumerate() {
        members[*knot].push(node);
    }
    // Knots are numbered such that steps lead from higher to lower ones.
    let mut most: Vec<Bag> = Vec::with_capacity(count);
    let mut all: BTreeMap<MessageId, Option<u32>> = BTreeMap::new();
    for (knot, members) in members.iter().enumerate() {
        let mut here = Bag::new();
        for edge in members.iter().flat_map(|node| &after[*node]) {
            heed();
            let to = knot_of[edge.to.unwrap_or_default() as usize];
            let sent = mail.messages_of(edge.sent);
            if to == knot {
                all.extend(sent.iter().map(|message| (*message, None)));
                continue;
            }
            for (message, times) in with(&most[to], sent) {
                let known = here.entry(message).or_default();
                *known = times.max(*known);
            }
        }
        for (message, times) in &here {
            let known = all.entry(*message).or_insert(Some(0));
            *known = known.map(|known| known.max(*times));
        }
        most.push(here);
    }
    all
}

/// Which nodes lead to each other: for each node the number of its knot, such that steps lead from a knot to itself or
/// to one with a lower number (Tarjan's strongly connected components).
fn knots(after: &[Vec<&Edge>]) -> Vec<usize> {
    const UNSEEN: usize = usize::MAX;
    let (mut order, mut low, mut knot) =
        (vec![UNSEEN; after.len()], vec![UNSEEN; after.len()], vec![UNSEEN; after.len()]);
    let (mut next, mut knots) = (0, 0);
    let mut open: Vec<usize> = Vec::new();
    for root in 0..after.len() {
        let mut way: Vec<(usize, usize)> = Vec::new();
        if order[root] == UNSEEN {
            way.push((root, 0));
        }
        while let Some((node, edge)) = way.pop() {
            if edge == 0 {
                (order[node], low[node]) = (next, next);
                next += 1;
                open.push(node);
            } else {
                let child = after[node][edge - 1].to.unwrap_or_default() as usize;
                if knot[child] == UNSEEN {
                    low[node] = low[node].min(low[child]);
                }
            }
            if let Some(step) = after[node].get(edge) {
                way.push((node, edge + 1));
                let child = step.to.unwrap_or_default() as usize;
                if order[child] == UNSEEN {
                    way.push((child, 0));
                }
                continue;
            }
            if low[node] == order[node] {
                while let Some(member) = open.pop() {
                    knot[member] = knots;
                    if member == node {
                        break;
                    }
                }
                knots += 1;
            }
        }
    }
    knot
}
