//! Inert messages: those that can make no difference to their receiver any more are left out of its inbox.
//!
//! From: docs/theory/inert.md 2. A message is live in a local state if some transition there consumes it, alone or with
//! others that were ever sent, and does anything else, or if it is live in a local state that can be reached from
//! there.
//! Known: relies on what was seen of the process, as all reductions do.
//! Held by: testkit/tests/reductions.rs.

use std::collections::{BTreeSet, HashMap};

use crate::kernel::process::{AskContext, Live, LocalId, MessageId, ProcessGraph};

/// For each local state of a process, the messages that can still make a difference. Those are not asked about that make
/// one later: the latest local states come first.
pub(in crate::kernel) fn live(graph: &mut ProcessGraph, ask: &mut AskContext<'_>) -> Live {
    let mut onwards: HashMap<LocalId, Vec<LocalId>> = HashMap::new();
    for edge in graph.seen.edges().iter().filter(|edge| edge.from != edge.to) {
        onwards.entry(edge.from).or_default().push(edge.to);
    }
    let mut known: HashMap<LocalId, BTreeSet<MessageId>> = HashMap::new();
    for local in graph.seen.locals().into_iter().rev() {
        let mut live = BTreeSet::new();
        for to in onwards.remove(&local).unwrap_or_default() {
            live.extend(known.get(&to).into_iter().flatten());
        }
        live.extend(graph.effective(local, &live, ask));
        known.insert(local, live);
    }
    graph.seen.live(known)
}
