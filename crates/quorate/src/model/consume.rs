//! What a transition may consume: nothing, one message, or one message of each member of a quorum.
//!
//! The one enumeration, for every engine but replay, of the sets that [`Model::accepts`](super::Model::accepts) accepts
//! but for the guard. A search keeps messages as it likes; it hands over those on offer, how to read one, and what its
//! channel lets go together.
//! Invariant: sets come out in the order of the messages that are handed over, group by group and quorum by quorum.
//! Held by: testkit/tests/agreement.rs, testkit/tests/worlds.rs.

use super::handlers::{Asked, Handlers};
use super::{Envelope, QuorumSystem, Trigger};
use crate::base::{ProcessId, heed};

/// What a transition may consume.
pub struct Consumptions<T> {
    /// Without what is in `panicking`.
    pub sets: Vec<Vec<T>>,
    /// Messages on which the selection panics, as soon as they are there: each that does so alone, or else all
    /// together.
    pub panicking: Vec<Vec<T>>,
}

/// What a transition may consume of the messages on offer, those of one sender being next to each other. `allowed` says
/// whether the channel lets some be consumed in one step.
pub fn consumptions<'e, T: Copy>(
    of: Asked<'_>,
    offers: &[T],
    handlers: &mut Handlers<'_>,
    envelope: impl Fn(T) -> &'e Envelope,
    allowed: impl Fn(&[T]) -> bool,
) -> Consumptions<T> {
    let trigger = handlers.model().process(of.process).transitions()[of.transition].trigger();
    if *trigger == Trigger::Internal {
        let sets = if allowed(&[]) { vec![Vec::new()] } else { Vec::new() };
        return Consumptions { sets, panicking: Vec::new() };
    }
    let heard: Vec<T> =
        offers.iter().copied().filter(|offer| trigger.listens_to(envelope(*offer).from)).collect();
    if heard.is_empty() {
        return Consumptions { sets: Vec::new(), panicking: Vec::new() };
    }
    let envelopes: Vec<&Envelope> = heard.iter().map(|offer| envelope(*offer)).collect();
    let (sets, panicking) = match handlers.select(of, &envelopes) {
        Ok(keys) => (sets(trigger, &heard, &keys, &envelope), Vec::new()),
        Err(_) => around_panics(of, trigger, &heard, handlers, &envelope, &allowed),
    };
    let allowed = |set: &Vec<T>| {
        heed();
        allowed(set)
    };
    let sets = sets.into_iter().filter(allowed).collect();
    Consumptions { sets, panicking }
}

/// The selection panics on some messages. If the channel keeps one back for now, it is as if that were not there.
fn around_panics<'e, T: Copy>(
    of: Asked<'_>,
    trigger: &Trigger,
    heard: &[T],
    handlers: &mut Handlers<'_>,
    envelope: &impl Fn(T) -> &'e Envelope,
    allowed: &impl Fn(&[T]) -> bool,
) -> (Vec<Vec<T>>, Vec<Vec<T>>) {
    let (bad, good): (Vec<T>, Vec<T>) =
        heard.iter().partition(|offer| handlers.select(of, &[envelope(**offer)]).is_err());
    let alone = bad.iter().filter(|offer| allowed(&[**offer])).map(|offer| vec![*offer]);
    let mut panicking: Vec<Vec<T>> = alone.collect();
    let envelopes: Vec<&Envelope> = good.iter().map(|offer| envelope(*offer)).collect();
    let Ok(keys) = handlers.select(of, &envelopes) else {
        panicking.push(good);
        return (Vec::new(), panicking);
    };
    (sets(trigger, &good, &keys, envelope), panicking)
}

/// The sets that fit a trigger, of messages that were selected with these keys.
fn sets<'e, T: Copy>(
    trigger: &Trigger,
    offers: &[T],
    keys: &[Option<usize>],
    envelope: &impl Fn(T) -> &'e Envelope,
) -> Vec<Vec<T>> {
    let selected = || offers.iter().zip(keys).filter_map(|(offer, key)| key.map(|key| (*offer, key)));
    match trigger {
        Trigger::Internal => vec![Vec::new()],
        Trigger::Message(_) => selected().map(|(offer, _)| vec![offer]).collect(),
        Trigger::Quorum(quorums) => {
            let groups = keys.iter().flatten().max().map_or(0, |last| last + 1);
            let mut found = Vec::new();
            for group in 0..groups {
                let of_group: Vec<T> =
                    selected().filter(|(_, key)| *key == group).map(|(offer, _)| offer).collect();
                quorums_among(&of_group, quorums, |offer| envelope(offer).from, &mut found);
            }
            found
        }
    }
}

/// Every way to fill a quorum with one message from each of its senders.
fn quorums_among<T: Copy>(
    offers: &[T],
    quorums: &QuorumSystem,
    sender: impl Fn(T) -> ProcessId,
    found: &mut Vec<Vec<T>>,
) {
    let mut by_sender: Vec<(ProcessId, Vec<T>)> = Vec::new();
    for &offer in offers {
        let from = sender(offer);
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
        heed();
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
