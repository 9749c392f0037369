//! Which local steps can be repeated for ever: a stubborn set must not put others off for those alone.

use std::collections::{HashMap, HashSet};

use crate::base::{ProcessId, heed};
use crate::kernel::process::{Edge, LocalId, MessageId, Messages, SeenSteps};
use crate::model::Model;

/// The steps of all processes that can be part of a cycle of global states: each is on a cycle of its process's
/// graph, and consumes only what others of these send.
pub(super) fn cyclic<'g>(
    graphs: impl Iterator<Item = (ProcessId, &'g SeenSteps)>,
    mail: &Messages,
    model: &Model,
) -> HashSet<(ProcessId, Edge)> {
    let mut left: Vec<(ProcessId, Vec<Edge>)> =
        graphs.map(|(process, graph)| (process, graph.edges().to_vec())).collect();
    let mut count = usize::MAX;
    while count != left.iter().map(|(_, edges)| edges.len()).sum::<usize>() {
        count = left.iter().map(|(_, edges)| edges.len()).sum();
        let all = || left.iter().flat_map(|(_, edges)| edges);
        let sent: HashSet<MessageId> = all().flat_map(|edge| mail.messages_of(edge.sent)).copied().collect();
        // What is consumed and not gone, or there at any time, can be consumed again.
        let returns = |message: &MessageId| {
            sent.contains(message)
                || model.world().channel.keeps_consumed()
                || model.forgeable(mail.receiver(*message)).contains(mail.envelope(*message))
        };
        left = left
            .iter()
            .map(|(process, edges)| {
                let repeated = edges.iter().filter(|edge| edge.consumed.iter().all(returns)).cloned();
                (*process, on_cycles(&repeated.collect::<Vec<Edge>>()))
            })
            .collect();
    }
    left.into_iter().flat_map(|(process, edges)| edges.into_iter().map(move |edge| (process, edge))).collect()
}

/// The edges whose end leads back to their beginning.
fn on_cycles(edges: &[Edge]) -> Vec<Edge> {
    let mut after: HashMap<LocalId, Vec<LocalId>> = HashMap::new();
    for edge in edges {
        after.entry(edge.from).or_default().push(edge.to);
    }
    let leads_back = |edge: &&Edge| {
        heed();
        let (mut seen, mut waiting) = (HashSet::from([edge.to]), vec![edge.to]);
        while let Some(at) = waiting.pop() {
            if at == edge.from {
                return true;
            }
            waiting.extend(after.get(&at).into_iter().flatten().filter(|next| seen.insert(**next)));
        }
        false
    };
    edges.iter().filter(leads_back).cloned().collect()
}
