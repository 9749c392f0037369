//! Components that start in the middle of a run: the checker for protocols, after a prefix.
//!
//! From: DEMETER, section 4.1, where an embedded checker can run a prefix, and section 5.3, where explorations start
//! from a checkpoint. A message that was on its way at the end of the prefix has no sender any more. It waits for its
//! receiver as a part of the receiver's point, so no skeleton contains it, and nothing else has to know of the
//! prefix.
//! Known: others see what a group receives, but would not see it receive what waited; so only processes by themselves
//! can start in the middle.
//! Invariant: without a prefix this is the checker that it wraps.
//! Held by: testkit/tests/stones.rs (what can be reached from the middle of runs is what `explore` reaches).

use std::collections::HashSet;

use super::checker::{ProtocolChecker, StepRef};
use crate::base::{Numbering, ProcessId, Value};
use crate::engine::components::embedded::{
    ComponentChecker, ComponentRunner, LocalPointId, LocalPoints, MessageId, Move, Operation, Ran, Scheduler,
};
use crate::engine::components::log::hash128;
use crate::engine::components::partition::{LocalStep, Partition};
use crate::model::{Envelope, ScheduledStep};
use crate::report::Stopped;

/// A point in the run of a process, with what has waited for it since the start.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct MidRunPoint {
    local_point: LocalPointId,
    waiting: Vec<MessageId>,
}

/// A checker after a prefix.
pub(crate) struct MidRun<'m> {
    pub(crate) checker: ProtocolChecker<'m>,
    in_order: bool,
    /// Where each component starts; empty without a prefix.
    starts: Vec<MidRunPoint>,
    points: Numbering<MidRunPoint>,
}

/// Is there a prefix and a component of several processes, which cannot start after it?
pub(crate) fn too_large(components: &Partition, prefix: &[ScheduledStep]) -> bool {
    !prefix.is_empty() && (0..components.count()).any(|component| components.members(component).len() > 1)
}

impl<'m> MidRun<'m> {
    /// A checker that has taken these steps, each component being one process if there are any.
    pub(crate) fn after(mut checker: ProtocolChecker<'m>, in_order: bool, prefix: &[ScheduledStep]) -> Self {
        let count = if prefix.is_empty() { 0 } else { checker.components().count() };
        let begin = |component| MidRunPoint { local_point: checker.start(component), waiting: Vec::new() };
        let starts = (0..count).map(begin).collect();
        let mut mid_run = MidRun { checker, in_order, starts, points: Numbering::default() };
        for step in prefix {
            mid_run.follow(step);
        }
        mid_run
    }

    /// Takes a step of the prefix.
    fn follow(&mut self, step: &ScheduledStep) {
        let component = self.checker.components().of(step.process);
        let point = self.starts[component].clone();
        let moves = self.moves_from(component, &point, &[]);
        let is_it =
            |one: &(Move<StepRef>, Option<MidRunPoint>)| is_of(&self.checker.local_step(&one.0.step).1, step);
        let taken = moves.into_iter().find(is_it);
        let (taken, next) = taken.expect("a bug in quorate: a checker cannot take a step that was taken");
        self.starts[component] = next.expect("a run does not go on after a panic");
        for message in taken.sent {
            let receiver = self.checker.components().of(self.checker.ends_of(message).1);
            let mut waiting = std::mem::take(&mut self.starts[receiver].waiting);
            waiting.push(message);
            if self.in_order {
                waiting.sort_by_key(|message| self.checker.ends_of(*message));
            } else {
                waiting.sort_unstable();
            }
            self.starts[receiver].waiting = waiting;
        }
    }

    /// What can be received next, of the messages that wait and of those on offer. Where channels keep their order,
    /// those that wait come first.
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

    /// Every step from a point, and where it leads.
    fn moves_from(
        &mut self,
        component: usize,
        point: &MidRunPoint,
        offers: &[MessageId],
    ) -> Vec<(Move<StepRef>, Option<MidRunPoint>)> {
        let (mut all, offers) = self.deliverable(&point.waiting, offers);
        all.extend(&offers);
        if !self.in_order {
            all.sort_unstable();
            all.dedup();
        }
        let moves = self.checker.moves(component, point.local_point, &all);
        moves.into_iter().flat_map(|step| self.by_source(&step, point, &offers)).collect()
    }

    /// The moves that a move of the checker stands for: each message that it receives may have waited or be on offer.
    fn by_source(
        &self,
        step: &Move<StepRef>,
        point: &MidRunPoint,
        offers: &[MessageId],
    ) -> Vec<(Move<StepRef>, Option<MidRunPoint>)> {
        let mut ways = vec![(Vec::new(), point.waiting.clone(), step.ways)];
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
        let moves = ways.into_iter().map(|(received, waiting, ways)| {
            let next = step.leads.map(|local_point| MidRunPoint { local_point, waiting });
            (Move { received, ways, ..step.clone() }, next)
        });
        moves.collect()
    }
}

/// Is this the step of a schedule?
fn is_of(local: &LocalStep, step: &ScheduledStep) -> bool {
    let among = |envelope: &Envelope| step.consumed.iter().any(|taken| taken.envelope == *envelope);
    // A step consumes at most one message of a sender, so no two of them are equal.
    (local.kind, local.transition) == (step.kind, step.transition)
        && local.choices == step.choices
        && local.consumed.len() == step.consumed.len()
        && local.consumed.iter().all(among)
}

impl LocalPoints<StepRef> for MidRun<'_> {
    fn start(&mut self, component: usize) -> LocalPointId {
        self.points.number(self.starts[component].clone())
    }

    fn moves(
        &mut self,
        component: usize,
        local_point: LocalPointId,
        offers: &[MessageId],
    ) -> Vec<Move<StepRef>> {
        let point = self.points.value(local_point).clone();
        let moves = self.moves_from(component, &point, offers).into_iter();
        moves
            .map(|(step, next)| Move { leads: next.map(|point| self.points.number(point)), ..step })
            .collect()
    }

    fn fingerprint(&self, component: usize, local_point: LocalPointId) -> u128 {
        let MidRunPoint { local_point, waiting } = self.points.value(local_point);
        hash128(&(self.checker.fingerprint(component, *local_point), waiting))
    }

    fn observed_at(&mut self, component: usize, local_point: LocalPointId) -> usize {
        self.checker.observed_at(component, self.points.value(local_point).local_point)
    }
}

impl ComponentRunner for MidRun<'_> {
    type Step = StepRef;

    fn run(
        &mut self,
        component: usize,
        arrivals: &[MessageId],
        scheduler: &mut dyn Scheduler<StepRef>,
    ) -> Ran {
        self.checker.run(component, arrivals, scheduler)
    }

    fn depends(first: &Operation<StepRef>, second: &Operation<StepRef>) -> bool {
        ProtocolChecker::depends(first, second)
    }

    fn reaches(operation: &Operation<StepRef>, agent: usize) -> bool {
        ProtocolChecker::reaches(operation, agent)
    }

    fn races(&mut self, first: &Operation<StepRef>, second: &Operation<StepRef>) -> bool {
        self.checker.races(first, second)
    }
}

impl ComponentChecker for MidRun<'_> {
    fn components(&self) -> &Partition {
        self.checker.components()
    }

    fn ends_of(&self, message: MessageId) -> (ProcessId, ProcessId) {
        self.checker.ends_of(message)
    }

    fn local_points(&mut self, component: usize) -> Option<&mut dyn LocalPoints<StepRef>> {
        if self.starts.is_empty() { self.checker.local_points(component) } else { Some(self) }
    }

    fn observed(&self, observed: usize) -> &Value {
        self.checker.observed(observed)
    }

    fn learned(&mut self) -> Option<Vec<Vec<u64>>> {
        self.checker.learned()
    }

    fn relearn(&mut self, asked: &[u64]) -> Result<(), String> {
        self.checker.relearn(asked)
    }

    fn inside(&self, component: usize) -> Option<Self> {
        Some(MidRun::after(self.checker.inside(component)?, self.in_order, &[]))
    }

    fn fork(&self) -> Self {
        let (starts, points) = (self.starts.clone(), self.points.clone());
        MidRun { checker: self.checker.fork(), in_order: self.in_order, starts, points }
    }

    fn message_of(&mut self, other: &Self, message: MessageId) -> MessageId {
        self.checker.message_of(&other.checker, message)
    }

    fn step_of(&mut self, other: &Self, component: usize, agent: usize, step: &StepRef) -> (usize, StepRef) {
        self.checker.step_of(&other.checker, component, agent, step)
    }

    fn observed_of(&mut self, other: &Self, observed: usize) -> usize {
        self.checker.observed_of(&other.checker, observed)
    }

    fn learn_from(&mut self, other: &Self, asked: &[u64]) {
        self.checker.learn_from(&other.checker, asked);
    }

    fn unreliable(&self) -> Option<Stopped> {
        self.checker.unreliable()
    }
}
