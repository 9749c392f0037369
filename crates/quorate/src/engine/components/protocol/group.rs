//! Groups of processes: each process is an agent.
//!
//! From: docs/theory/components.md 8. A message inside the group is named by the step that sent it, so the order of
//! two steps of different processes matters only if one consumes what the other sends. A process can do something
//! else if a message comes earlier in which it is interested.
//! Held by: testkit/tests/dir.rs (groupings of random protocols).

use super::ask::{Candidate, Step};
use super::checker::{LocalId, Origin, ProtocolChecker, StepContents, StepRef};
use crate::base::ProcessId;
use crate::engine::components::embedded::{
    ComponentChecker, ComponentRunner, MessageId, Operation, Ran, Scheduler,
};
use crate::world::{Channel, StepKind};

/// Where an operation leads: a local state, and everything that is sent; nothing for a panic.
type Outcome = Option<(LocalId, Vec<MessageId>)>;

/// A process of a group in a run.
struct Member {
    process: ProcessId,
    local: LocalId,
    restarts: u8,
    /// How many steps it has taken.
    steps: usize,
    /// What others in the group have sent to it, in the order of sending.
    inbox: Vec<(MessageId, Origin)>,
    /// What it can do next, and where that leads.
    next: Vec<(Operation<StepRef>, Outcome)>,
}

/// A run of a group.
struct Group<'g, 'm> {
    checker: &'g mut ProtocolChecker<'m>,
    members: Vec<Member>,
    /// What can still be received from other components.
    arrivals: Vec<MessageId>,
    in_order: bool,
}

impl Group<'_, '_> {
    /// What a member may consume. Equal messages from outside count once: it makes no difference which is taken.
    fn candidates(&self, member: usize) -> Vec<Candidate> {
        let Member { process, inbox, .. } = &self.members[member];
        let ends = |message: MessageId| self.checker.ends_of(message);
        let mut candidates: Vec<Candidate> = Vec::new();
        for &message in self.arrivals.iter().filter(|message| ends(**message).1 == *process) {
            let is_later = |one: &Candidate| {
                one.message == message || self.in_order && ends(one.message) == ends(message)
            };
            if !candidates.iter().any(is_later) {
                candidates.push(Candidate { message, position: None, copies: 1, comes_back: false });
            }
        }
        for (position, (message, _)) in inbox.iter().enumerate() {
            let earlier = &inbox[..position];
            if !self.in_order || earlier.iter().all(|(earlier, _)| ends(*earlier) != ends(*message)) {
                let is_another =
                    |(other, _): &(MessageId, _)| other != message && ends(*other) == ends(*message);
                let comes_back = !self.in_order || !inbox.iter().any(is_another);
                let position = Some(position);
                candidates.push(Candidate { message: *message, position, copies: 1, comes_back });
            }
        }
        candidates
    }

    /// Finds out what a member can do next.
    fn look(&mut self, member: usize) {
        let candidates = self.candidates(member);
        let Member { process, local, restarts, .. } = self.members[member];
        let steps = self.checker.steps(process, local, restarts, &candidates);
        self.members[member].next = steps.into_iter().map(|step| self.operation(member, step)).collect();
    }

    fn operation(&self, member: usize, step: Step) -> (Operation<StepRef>, Outcome) {
        let Member { process, local, steps: index, inbox, .. } = &self.members[member];
        let Step { kind, transition, choices, consumed: candidates, done } = step;
        let origin = |candidate: &Candidate| candidate.position.map(|position| inbox[position].1);
        let consumed = candidates.iter().map(|candidate| (candidate.message, origin(candidate))).collect();
        let all_sent = done.as_ref().map_or(&[][..], |(_, sent)| sent.as_slice());
        let (mut inside, mut sent) = (Vec::new(), Vec::new());
        for &message in all_sent {
            match self.member_of(self.checker.ends_of(message).1) {
                Some(receiver) => inside.push((receiver, message)),
                None => sent.push(message),
            }
        }
        sent.sort_by_key(|message| self.checker.ends_of(*message).1);
        let outer = candidates.iter().filter(|candidate| candidate.position.is_none());
        // A step that panics counts as unseen: it ends the search, whatever the skeleton says.
        let received = outer.filter(|_| done.is_some()).map(|candidate| candidate.message).collect();
        let process = *process;
        let step = self.checker.step_ref(StepContents {
            process,
            local: *local,
            kind,
            transition,
            choices,
            consumed,
            inside,
        });
        (Operation { agent: member, index: *index, member, step, received, sent }, done)
    }

    fn member_of(&self, process: ProcessId) -> Option<usize> {
        self.members.iter().position(|member| member.process == process)
    }

    /// Takes a step of a member. `false` if it panics.
    fn take(&mut self, member: usize, nth: usize) -> bool {
        let (operation, done) = self.members[member].next[nth].clone();
        let Some((local, sent)) = done else { return false };
        for message in &operation.received {
            let at = self.arrivals.iter().position(|other| other == message);
            self.arrivals.remove(at.expect("what is received has arrived"));
        }
        let Member { steps, inbox, restarts, local: state, .. } = &mut self.members[member];
        inbox.retain(|(message, origin)| {
            !operation.step.contents.consumed.contains(&(*message, Some(*origin)))
        });
        *steps += 1;
        *restarts += u8::from(operation.step.contents.kind == StepKind::Restart);
        *state = local;
        let mut touched = vec![member];
        for (position, message) in sent.into_iter().enumerate() {
            if let Some(receiver) = self.member_of(self.checker.ends_of(message).1) {
                self.members[receiver].inbox.push((message, (member, operation.index, position)));
                touched.push(receiver);
            }
        }
        touched.sort_unstable();
        touched.dedup();
        for member in touched {
            self.look(member);
        }
        true
    }

    /// Reports what properties see of a member, if it has changed.
    fn show(&mut self, member: usize, before: Option<usize>, scheduler: &mut dyn Scheduler<StepRef>) {
        let now = self.checker.observe(self.members[member].local);
        if before != Some(now) {
            scheduler.observe(member, now);
        }
    }
}

impl ComponentRunner for ProtocolChecker<'_> {
    type Step = StepRef;

    fn run(
        &mut self,
        component: usize,
        arrivals: &[MessageId],
        scheduler: &mut dyn Scheduler<StepRef>,
    ) -> Ran {
        let in_order = self.model.world().channel == Channel::Fifo;
        let processes = self.components.members(component).to_vec();
        let member = |process: ProcessId| Member {
            process,
            local: self.initial(process),
            restarts: 0,
            steps: 0,
            inbox: Vec::new(),
            next: Vec::new(),
        };
        let members: Vec<Member> = processes.into_iter().map(member).collect();
        let arrivals = arrivals.to_vec();
        let mut group = Group { checker: self, members, arrivals, in_order };
        for member in 0..group.members.len() {
            group.look(member);
            group.show(member, None, scheduler);
        }
        loop {
            let mut possible = Vec::new();
            let mut choices = Vec::new();
            for (at, member) in group.members.iter().enumerate() {
                for (nth, (operation, _)) in member.next.iter().enumerate() {
                    possible.push(operation.clone());
                    choices.push((at, nth));
                }
            }
            if possible.is_empty() {
                return Ran::Through;
            }
            let Some(chosen) = scheduler.choose(&possible) else { return Ran::Through };
            let (member, nth) = choices[chosen];
            let before = group.checker.observe(group.members[member].local);
            if !group.take(member, nth) {
                return Ran::Panicked(String::new());
            }
            group.show(member, Some(before), scheduler);
        }
    }

    fn depends(first: &Operation<StepRef>, second: &Operation<StepRef>) -> bool {
        let from_first = |(_, origin): &(MessageId, Option<Origin>)| {
            origin.is_some_and(|(member, step, _)| (member, step) == (first.agent, first.index))
        };
        second.step.contents.consumed.iter().any(from_first)
    }

    fn reaches(operation: &Operation<StepRef>, agent: usize) -> bool {
        operation.step.contents.inside.iter().any(|(receiver, _)| *receiver == agent)
    }

    fn races(&mut self, first: &Operation<StepRef>, second: &Operation<StepRef>) -> bool {
        if Self::depends(first, second) {
            return false;
        }
        let StepContents { process, local, .. } = *first.step.contents;
        let sent = second.step.contents.inside.iter().filter(|(receiver, _)| *receiver == first.agent);
        let mut sent = sent.map(|(_, message)| (process, local, *message));
        sent.any(|asked| {
            if let Some(known) = self.interests.get(&asked) {
                return *known;
            }
            let interested = self.is_interested(process, local, asked.2);
            self.interests.insert(asked, interested);
            interested
        })
    }
}
