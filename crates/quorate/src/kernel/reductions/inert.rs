//! Inert messages: those that can make no difference to their receiver any more are left out of its inbox.
//!
//! From: docs/theory/inert.md 2. A message is live in a local state if some transition there consumes it, alone or with
//! others that were ever sent, and does anything else, or if it is live in a local state that can be reached from
//! there.
//! Known: relies on what was seen of the process, as all reductions do.
//! Held by: testkit/tests/reductions.rs.

use std::collections::BTreeSet;

use crate::kernel::process::{AskContext, Live, ProcessGraph};

/// For each local state of a process, the messages that can still make a difference.
pub(in crate::kernel) fn live(graph: &mut ProcessGraph, ask: &mut AskContext<'_>) -> Live {
    let locals = graph.seen.locals();
    let effective = locals
        .into_iter()
        .map(|local| (local, graph.effective(local, ask).into_iter().collect::<BTreeSet<_>>()));
    let effective = effective.collect();
    graph.seen.live(effective)
}
