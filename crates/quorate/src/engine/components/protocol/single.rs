//! The points of a process that is a component by itself.
//!
//! From: docs/theory/components.md 4. A process keeps no history: runs that lead to the same local state with the
//! same messages to itself are at one point. They are explored once, and counted.
//! Invariant: equal points have equal futures.

use super::ask::{Candidate, Step};
use super::checker::{LocalPoint, ProtocolChecker, StepContents, StepRef};
use crate::engine::components::embedded::{ComponentChecker, LocalPointId, LocalPoints, MessageId, Move};
use crate::engine::components::log::hash128;
use crate::world::{Channel, StepKind};

impl ProtocolChecker<'_> {
    fn in_order(&self) -> bool {
        self.model.world().channel == Channel::Fifo
    }

    /// The messages that a process may consume.
    fn candidates(&self, local_point: &LocalPoint, offers: &[MessageId]) -> Vec<Candidate> {
        let offered = offers.iter().map(|message| Candidate {
            message: *message,
            position: None,
            copies: 1,
            comes_back: false,
        });
        let mut candidates: Vec<Candidate> = offered.collect();
        if self.in_order() {
            let first = local_point.inside.first();
            candidates.extend(first.map(|message| Candidate {
                message: *message,
                position: Some(0),
                copies: 1,
                comes_back: local_point.inside.iter().all(|other| other == message),
            }));
            return candidates;
        }
        let mut position = 0;
        for equal in local_point.inside.chunk_by(|one, other| one == other) {
            candidates.push(Candidate {
                message: equal[0],
                position: Some(position),
                copies: equal.len() as u128,
                comes_back: true,
            });
            position += equal.len();
        }
        candidates
    }

    /// A step from a point, and where it leads.
    fn move_of(&mut self, component: usize, local_point: &LocalPoint, step: Step) -> Move<StepRef> {
        let process = self.components.members(component)[0];
        let Step { kind, transition, choices, consumed, done } = step;
        let outer = consumed.iter().filter(|candidate| candidate.position.is_none());
        let received = outer.map(|candidate| candidate.message).collect();
        let ways = consumed.iter().map(|candidate| candidate.copies).product();
        let (leads, sent) = match done {
            Some((local, all_sent)) => {
                let mut inside = local_point.inside.clone();
                let mut positions: Vec<usize> =
                    consumed.iter().filter_map(|candidate| candidate.position).collect();
                positions.sort_unstable();
                for position in positions.into_iter().rev() {
                    inside.remove(position);
                }
                let to_itself = |message: &MessageId| self.ends_of(*message).1 == process;
                inside.extend(all_sent.iter().copied().filter(to_itself));
                if !self.in_order() {
                    inside.sort_unstable();
                }
                let mut sent: Vec<MessageId> =
                    all_sent.into_iter().filter(|message| !to_itself(message)).collect();
                sent.sort_by_key(|message| self.ends_of(*message).1);
                let restarts = local_point.restarts + u8::from(kind == StepKind::Restart);
                (Some(self.local_points.number(LocalPoint { local, restarts, inside })), sent)
            }
            None => (None, Vec::new()),
        };
        let consumed = consumed.iter().map(|candidate| (candidate.message, None)).collect();
        let inside = Vec::new();
        let local = local_point.local;
        let step =
            self.step_ref(StepContents { process, local, kind, transition, choices, consumed, inside });
        Move { received, sent, ways, leads, step }
    }
}

impl LocalPoints<StepRef> for ProtocolChecker<'_> {
    fn start(&mut self, component: usize) -> LocalPointId {
        let process = self.components.members(component)[0];
        let local = self.initial(process);
        self.local_points.number(LocalPoint { local, restarts: 0, inside: Vec::new() })
    }

    fn moves(
        &mut self,
        component: usize,
        local_point: LocalPointId,
        offers: &[MessageId],
    ) -> Vec<Move<StepRef>> {
        let process = self.components.members(component)[0];
        let local_point = self.local_points.value(local_point).clone();
        let candidates = self.candidates(&local_point, offers);
        let steps = self.steps(process, local_point.local, local_point.restarts, &candidates);
        steps.into_iter().map(|step| self.move_of(component, &local_point, step)).collect()
    }

    fn fingerprint(&self, _: usize, local_point: LocalPointId) -> u128 {
        hash128(self.local_points.value(local_point))
    }

    fn observed_at(&mut self, _: usize, local_point: LocalPointId) -> usize {
        let local = self.local_points.value(local_point).local;
        self.observe(local)
    }
}
