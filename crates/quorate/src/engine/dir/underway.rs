//! Components that start in the middle of a run: any embedded checker, once it has run a prefix.
//!
//! From: DEMETER, section 4.1, where an embedded checker can run a prefix, and section 5.3, where explorations start from
//! a checkpoint. What was on its way then has no sender any more: it waits for its receiver as a part of the
//! receiver's place, so no skeleton tells of it, and clocks count from the checkpoint on.
//! Known: a group shows what it receives, and this shows nothing of what waited: only processes by themselves can start
//! in the middle.
//! Invariant: without a prefix this is the checker that it drives.
//! Held by: testkit/tests/stones.rs (what can be reached from the middle of runs is what `explore` reaches).

use std::collections::HashSet;

use super::checker::{Embedded, MessageId, Move};
use super::trace::{Components, LocalStep};
use crate::protocol::{Envelope, ProcessId, Value};
use crate::verdict::{ScheduledStep, Stopped};

/// A place in the run of a component, with what has waited for it since the start.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Spot<P> {
    point: P,
    waiting: Vec<MessageId>,
}

/// Where a component starts: its place, and how many interface events it has had by then.
struct Start<P> {
    spot: Spot<P>,
    clock: Vec<usize>,
}

/// An embedded checker after a prefix.
pub(super) struct Underway<E: Embedded> {
    pub(super) checker: E,
    in_order: bool,
    starts: Vec<Start<E::Point>>,
}

/// Can components of several processes not start after this prefix?
pub(super) fn too_large(components: &Components, prefix: &[ScheduledStep]) -> bool {
    !prefix.is_empty() && (0..components.count()).any(|component| components.members(component).len() > 1)
}

impl<E: Embedded> Underway<E> {
    /// A checker that has taken these steps, each component being one process if there are any.
    pub(super) fn after(mut checker: E, in_order: bool, prefix: &[ScheduledStep]) -> Self {
        let starts = (0..checker.components().count()).map(|component| Start {
            clock: vec![0; checker.components().members(component).len()],
            spot: Spot { point: checker.reset(component), waiting: Vec::new() },
        });
        let starts = starts.collect();
        let mut underway = Underway { checker, in_order, starts };
        for step in prefix {
            underway.follow(step);
        }
        underway
    }

    /// Takes a step of the prefix.
    fn follow(&mut self, step: &ScheduledStep) {
        let component = self.checker.components().of(step.process);
        let spot = self.starts[component].spot.clone();
        let moves = self.moves(component, &spot, &[]);
        let taken = moves.into_iter().find(|one| is_of(&one.step, step));
        let taken = taken.expect("a bug in quorate: a checker cannot take a step that was taken");
        let start = &mut self.starts[component];
        // Clocks are told from the start on, which so far is the beginning.
        start.clock[taken.member] += usize::from(!taken.sent.is_empty());
        start.spot = taken.leads.expect("a run does not go on after a panic");
        for message in taken.sent {
            let receiver = self.checker.components().of(self.checker.ends_of(message).1);
            self.starts[receiver].spot.waiting.push(message);
            let mut waiting = std::mem::take(&mut self.starts[receiver].spot.waiting);
            self.normalise(&mut waiting);
            self.starts[receiver].spot.waiting = waiting;
        }
    }

    fn normalise(&self, messages: &mut [MessageId]) {
        if self.in_order {
            messages.sort_by_key(|message| self.checker.ends_of(*message));
        } else {
            messages.sort_unstable();
        }
    }

    /// Of what waits and what is on offer, what can be received next: in order, what waits comes first.
    fn deliverable(&self, waiting: &[MessageId], offers: &[MessageId]) -> (Vec<MessageId>, Vec<MessageId>) {
        let ends = |message: &MessageId| self.checker.ends_of(*message);
        let mut first = HashSet::new();
        let mut heads = waiting.to_vec();
        if !self.in_order {
            heads.dedup();
            return (heads, offers.to_vec());
        }
        heads.retain(|message| first.insert(ends(message)));
        let offers = offers.iter().filter(|message| !first.contains(&ends(message)));
        (heads, offers.copied().collect())
    }

    /// The moves that a move of the checker stands for: what it receives may have waited, or be on offer.
    fn told_apart(
        &self,
        step: &Move<E::Point>,
        spot: &Spot<E::Point>,
        offers: &[MessageId],
    ) -> Vec<Move<Spot<E::Point>>> {
        let mut ways = vec![(Vec::new(), spot.waiting.clone(), step.ways)];
        for message in &step.received {
            let mut next = Vec::new();
            for (received, waiting, ways) in ways {
                if offers.contains(message) {
                    next.push(([received.as_slice(), &[*message]].concat(), waiting.clone(), ways));
                }
                if let Some(at) = waiting.iter().position(|other| other == message) {
                    let copies = waiting.iter().filter(|other| *other == message).count() as u128;
                    let mut left = waiting;
                    left.remove(at);
                    next.push((received, left, if self.in_order { ways } else { ways * copies }));
                }
            }
            ways = next;
        }
        let moves = ways.into_iter().map(|(received, waiting, ways)| Move {
            member: step.member,
            clock: step.clock.clone(),
            received,
            sent: step.sent.clone(),
            ways,
            leads: step.leads.clone().map(|point| Spot { point, waiting }),
            step: step.step.clone(),
        });
        moves.collect()
    }
}

/// Is this what a step of a schedule does?
fn is_of(local: &LocalStep, step: &ScheduledStep) -> bool {
    let among = |envelope: &Envelope| step.consumed.iter().any(|taken| taken.envelope == *envelope);
    // A step consumes at most one message of a sender, so no two of them are equal.
    (local.kind, local.transition) == (step.kind, step.transition)
        && local.choices == step.choices
        && local.consumed.len() == step.consumed.len()
        && local.consumed.iter().all(among)
}

impl<E: Embedded> Embedded for Underway<E> {
    type Point = Spot<E::Point>;

    fn components(&self) -> &Components {
        self.checker.components()
    }

    fn tells_past(&self, component: usize) -> bool {
        self.checker.tells_past(component)
    }

    fn reset(&mut self, component: usize) -> Self::Point {
        self.starts[component].spot.clone()
    }

    fn moves(
        &mut self,
        component: usize,
        spot: &Self::Point,
        offers: &[MessageId],
    ) -> Vec<Move<Self::Point>> {
        let (mut all, offers) = self.deliverable(&spot.waiting, offers);
        all.extend(&offers);
        if !self.in_order {
            all.sort_unstable();
            all.dedup();
        }
        let mut moves = Vec::new();
        for mut step in self.checker.moves(component, &spot.point, &all) {
            for (known, before) in step.clock.iter_mut().zip(&self.starts[component].clock) {
                *known = known.saturating_sub(*before);
            }
            moves.extend(self.told_apart(&step, spot, &offers));
        }
        moves
    }

    fn ends_of(&self, message: MessageId) -> (ProcessId, ProcessId) {
        self.checker.ends_of(message)
    }

    fn locals(&self, component: usize, spot: &Self::Point) -> Vec<Value> {
        self.checker.locals(component, &spot.point)
    }

    fn unreliable(&self) -> Option<Stopped> {
        self.checker.unreliable()
    }
}
