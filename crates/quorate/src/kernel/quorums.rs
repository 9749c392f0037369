//! The quorums that the messages on offer make.

use crate::base::ProcessId;
use crate::model::QuorumSystem;

/// Every way to fill a quorum with one message from each of its senders. The messages are in the order of their
/// senders.
pub fn quorums_among<T: Copy>(
    offers: &[T],
    quorums: &QuorumSystem,
    sender: impl Fn(&T) -> ProcessId,
    found: &mut Vec<Vec<T>>,
) {
    let mut by_sender: Vec<(ProcessId, Vec<T>)> = Vec::new();
    for &offer in offers {
        let from = sender(&offer);
        match by_sender.last_mut() {
            Some((sender, theirs)) if *sender == from => theirs.push(offer),
            _ => by_sender.push((from, vec![offer])),
        }
    }
    match quorums {
        QuorumSystem::Size { size, .. } => combine(&by_sender, *size, &mut Vec::new(), found),
        QuorumSystem::Listed(listed) => {
            for quorum in listed {
                let present: Vec<_> =
                    by_sender.iter().filter(|(sender, _)| quorum.contains(sender)).cloned().collect();
                if present.len() == quorum.len() {
                    combine(&present, quorum.len(), &mut Vec::new(), found);
                }
            }
        }
    }
}

/// Every choice of `size` senders and one message of each.
fn combine<T: Copy>(
    senders: &[(ProcessId, Vec<T>)],
    size: usize,
    chosen: &mut Vec<T>,
    found: &mut Vec<Vec<T>>,
) {
    if size == 0 {
        found.push(chosen.clone());
        return;
    }
    for at in 0..senders.len().saturating_sub(size - 1) {
        for &offer in &senders[at].1 {
            chosen.push(offer);
            combine(&senders[at + 1..], size - 1, chosen, found);
            chosen.pop();
        }
    }
}
