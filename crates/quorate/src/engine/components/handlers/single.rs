//! The places of a process that is a component by itself.
//!
//! From: ALGORITHMS 6.4. A process keeps no history: ways that lead to the same local state with the same messages to
//! itself are one place, and are counted.
//! Invariant: equal places have equal futures.

use super::{Candidate, LocalId, ProtocolChecker, Step, StepContents, StepRef};
use crate::engine::components::checker::{ComponentChecker, MessageId, Move, Places, PointId};
use crate::engine::components::journal::hash128;
use crate::world::{Channel, StepKind};

/// A place in the run of a process.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Point {
    local: LocalId,
    restarts: u8,
    /// Messages to itself: in ascending order, or in the order of sending.
    inside: Vec<MessageId>,
}

impl ProtocolChecker<'_> {
    fn number_point(&mut self, point: Point) -> PointId {
        let fresh = PointId::try_from(self.points.len()).expect("fewer places than memory");
        let ProtocolChecker { points, point_numbers, .. } = self;
        *point_numbers.entry(point).or_insert_with_key(|point| {
            points.push(point.clone());
            fresh
        })
    }

    fn in_order(&self) -> bool {
        self.model.world().channel == Channel::Fifo
    }

    /// The messages that a process may consume.
    fn candidates(&self, point: &Point, offers: &[MessageId]) -> Vec<Candidate> {
        let offered = offers.iter().map(|message| Candidate { message: *message, place: None, copies: 1 });
        let mut candidates: Vec<Candidate> = offered.collect();
        if self.in_order() {
            let first = point.inside.first();
            candidates.extend(first.map(|message| Candidate {
                message: *message,
                place: Some(0),
                copies: 1,
            }));
            return candidates;
        }
        let mut place = 0;
        for equal in point.inside.chunk_by(|one, other| one == other) {
            candidates.push(Candidate { message: equal[0], place: Some(place), copies: equal.len() as u128 });
            place += equal.len();
        }
        candidates
    }

    /// A step from a place, and where it leads.
    fn move_of(&mut self, component: usize, point: &Point, step: Step) -> Move<StepRef> {
        let process = self.components.members(component)[0];
        let Step { kind, transition, choices, bag, done } = step;
        let outer = bag.iter().filter(|candidate| candidate.place.is_none());
        let received = outer.map(|candidate| candidate.message).collect();
        let ways = bag.iter().map(|candidate| candidate.copies).product();
        let (leads, sent) = match done {
            Some((local, all_sent)) => {
                let mut inside = point.inside.clone();
                let mut places: Vec<usize> = bag.iter().filter_map(|candidate| candidate.place).collect();
                places.sort_unstable();
                for place in places.into_iter().rev() {
                    inside.remove(place);
                }
                let to_itself = |message: &MessageId| self.ends_of(*message).1 == process;
                inside.extend(all_sent.iter().copied().filter(to_itself));
                if !self.in_order() {
                    inside.sort_unstable();
                }
                let mut sent: Vec<MessageId> =
                    all_sent.into_iter().filter(|message| !to_itself(message)).collect();
                sent.sort_by_key(|message| self.ends_of(*message).1);
                let restarts = point.restarts + u8::from(kind == StepKind::Restart);
                (Some(self.number_point(Point { local, restarts, inside })), sent)
            }
            None => (None, Vec::new()),
        };
        let consumed = bag.iter().map(|candidate| (candidate.message, None)).collect();
        let inside = Vec::new();
        let local = point.local;
        let step =
            self.step_ref(StepContents { process, local, kind, transition, choices, consumed, inside });
        Move { received, sent, ways, leads, step }
    }
}

impl Places<StepRef> for ProtocolChecker<'_> {
    fn start(&mut self, component: usize) -> PointId {
        let process = self.components.members(component)[0];
        let local = self.initial(process);
        self.number_point(Point { local, restarts: 0, inside: Vec::new() })
    }

    fn moves(&mut self, component: usize, point: PointId, offers: &[MessageId]) -> Vec<Move<StepRef>> {
        let process = self.components.members(component)[0];
        let point = self.points[point as usize].clone();
        let candidates = self.candidates(&point, offers);
        let steps = self.steps(process, point.local, point.restarts, &candidates);
        steps.into_iter().map(|step| self.move_of(component, &point, step)).collect()
    }

    fn fingerprint(&self, _: usize, point: PointId) -> u128 {
        hash128(&self.points[point as usize])
    }

    fn observed_at(&mut self, _: usize, point: PointId) -> usize {
        let local = self.points[point as usize].local;
        self.observe(local)
    }
}
