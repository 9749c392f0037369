//! The embedded checker for protocols: it runs handlers, each once for a local state, the messages it consumes and
//! the choices it makes.
//!
//! From: ALGORITHMS 2 and 6. A component is a process or a group of processes; messages inside a group are part of
//! its place in the run.
//! Differs from the kernel: a process by itself keeps no history, so traces that lead to the same place are counted,
//! not kept apart; a group does, since two orders of independent steps are one trace and must be counted once.
//! Invariant: equal places have equal futures; in a group they also have equal pasts.
//! Held by: testkit/tests/dir.rs.

use std::collections::HashMap;
use std::sync::Arc;

use super::checker::{Embedded, MessageId, Move};
use super::trace::{Components, LocalStep, join};
use crate::protocol::{Envelope, Model, Outcome, Panicked, ProcessId, QuorumSystem, Trigger, Value};
use crate::verdict::Stopped;
use crate::world::{Channel, StepKind};

type LocalId = u32;
type HistoryId = u32;

/// A message on its way between processes of a group, or from a process to itself.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Letter {
    message: MessageId,
    /// In a group: the step that sent it, its position there, and the clock of that step.
    origin: (HistoryId, usize),
    clock: Vec<usize>,
}

/// One process of a component.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Member {
    local: LocalId,
    restarts: u8,
    /// How many interface events of each member it knows of.
    clock: Vec<usize>,
    /// In a group: its last step.
    last: HistoryId,
}

/// A place in the run of a component.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Point {
    members: Vec<Member>,
    inside: Vec<Letter>,
}

/// A message that a step may consume.
#[derive(Clone, Copy)]
struct Candidate {
    message: MessageId,
    /// Where it is inside the component; nowhere if it is on offer.
    place: Option<usize>,
    /// How many equal ones there are, if they need not be told apart.
    copies: u128,
}

/// What a handler answers: a local state and messages, in order, or a panic; and the choices on the way.
struct Answer {
    done: Option<(LocalId, Vec<MessageId>)>,
    choices: Vec<usize>,
}

type Occasion = (ProcessId, LocalId, usize, Vec<MessageId>);
/// A step in the history of a group: who, its step before, which, how, and what it consumed.
type Past = (ProcessId, HistoryId, StepKind, usize, Vec<usize>, Vec<(MessageId, HistoryId, usize)>);

/// The handlers of a model, asked once each.
pub struct Handlers<'m> {
    model: &'m Model,
    components: Components,
    messages: Vec<(ProcessId, Envelope)>,
    message_numbers: HashMap<(ProcessId, Envelope), MessageId>,
    locals: Vec<Value>,
    local_numbers: HashMap<Value, LocalId>,
    answers: HashMap<Occasion, Arc<[Answer]>>,
    histories: HashMap<Past, HistoryId>,
    impure: Option<String>,
    /// Runs of handlers.
    pub handler_calls: u64,
    /// Distinct local steps.
    pub local_steps: u64,
}

impl<'m> Handlers<'m> {
    /// A model, in components.
    pub fn new(model: &'m Model, components: Components) -> Self {
        Handlers {
            model,
            components,
            messages: Vec::new(),
            message_numbers: HashMap::new(),
            locals: Vec::new(),
            local_numbers: HashMap::new(),
            answers: HashMap::new(),
            histories: HashMap::new(),
            impure: None,
            handler_calls: 0,
            local_steps: 0,
        }
    }

    /// About how many bytes it takes.
    pub fn bytes(&self) -> u64 {
        let entries = self.messages.len() + self.locals.len() + self.answers.len() + self.histories.len();
        entries as u64 * 256
    }

    fn number_message(&mut self, to: ProcessId, envelope: Envelope) -> MessageId {
        let fresh = MessageId::try_from(self.messages.len()).expect("fewer messages than memory");
        let Handlers { messages, message_numbers, .. } = self;
        *message_numbers.entry((to, envelope)).or_insert_with_key(|message| {
            messages.push(message.clone());
            fresh
        })
    }

    fn number_local(&mut self, local: Value) -> LocalId {
        let fresh = LocalId::try_from(self.locals.len()).expect("fewer states than memory");
        let Handlers { locals, local_numbers, .. } = self;
        *local_numbers.entry(local).or_insert_with_key(|local| {
            locals.push(local.clone());
            fresh
        })
    }

    fn number_history(&mut self, past: Past) -> HistoryId {
        // Nothing has happened yet in history 0.
        let fresh = HistoryId::try_from(self.histories.len() + 1).expect("fewer steps than memory");
        *self.histories.entry(past).or_insert(fresh)
    }

    fn envelope(&self, message: MessageId) -> &Envelope {
        &self.messages[message as usize].1
    }

    fn in_group(&self, component: usize) -> bool {
        self.components.members(component).len() > 1
    }

    /// The messages that a process may consume.
    fn candidates(
        &self,
        component: usize,
        point: &Point,
        process: ProcessId,
        offers: &[MessageId],
    ) -> Vec<Candidate> {
        let offered = offers.iter().filter(|message| self.ends_of(**message).1 == process);
        let mut candidates: Vec<Candidate> =
            offered.map(|message| Candidate { message: *message, place: None, copies: 1 }).collect();
        let in_order = self.model.world().channel == Channel::Fifo;
        for (place, letter) in point.inside.iter().enumerate() {
            let (from, to) = self.ends_of(letter.message);
            if to != process {
                continue;
            }
            let earlier = &point.inside[..place];
            if in_order && earlier.iter().any(|earlier| self.ends_of(earlier.message) == (from, to)) {
                continue;
            }
            let copies = if in_order || self.in_group(component) {
                1
            } else if earlier.iter().any(|earlier| earlier.message == letter.message) {
                continue;
            } else {
                point.inside.iter().filter(|other| other.message == letter.message).count() as u128
            };
            candidates.push(Candidate { message: letter.message, place: Some(place), copies });
        }
        candidates
    }

    /// What a transition answers for these messages: nothing if it does not accept them.
    fn answers(
        &mut self,
        process: ProcessId,
        local: LocalId,
        transition: usize,
        bag: &[MessageId],
    ) -> Arc<[Answer]> {
        let occasion = (process, local, transition, bag.to_vec());
        if let Some(answers) = self.answers.get(&occasion) {
            return Arc::clone(answers);
        }
        let outcomes = self.ask(process, local, transition, bag);
        self.handler_calls += outcomes.len() as u64;
        if outcomes != self.ask(process, local, transition, bag) {
            let process = self.model.process(process);
            self.impure.get_or_insert_with(|| {
                format!(
                    "handler '{}' of {} is not a function of its inputs: it answers differently when it is asked twice",
                    process.transitions()[transition].name(),
                    process.name()
                )
            });
        }
        let mut answers = Vec::new();
        for outcome in outcomes {
            let indices =
                |choices: &[crate::protocol::Choice]| choices.iter().map(|choice| choice.index).collect();
            answers.push(match outcome {
                Ok(Outcome { choices, state, sends, .. }) => {
                    self.local_steps += 1;
                    let sent = sends.into_iter().map(|sending| {
                        self.number_message(sending.to, Envelope { from: process, body: sending.body })
                    });
                    let sent = sent.collect();
                    Answer { done: Some((self.number_local(state), sent)), choices: indices(&choices) }
                }
                Err(Panicked { choices, .. }) => Answer { done: None, choices: indices(&choices) },
            });
        }
        let answers: Arc<[Answer]> = answers.into();
        self.answers.insert(occasion, Arc::clone(&answers));
        answers
    }

    fn ask(
        &self,
        process: ProcessId,
        local: LocalId,
        transition: usize,
        bag: &[MessageId],
    ) -> Vec<Result<Outcome, Panicked>> {
        let consumed: Vec<&Envelope> = bag.iter().map(|message| self.envelope(*message)).collect();
        let state = &self.locals[local as usize];
        match self.model.accepts(process, transition, state, &consumed) {
            Ok(true) => self.model.run(process, transition, state, &consumed),
            Ok(false) => Vec::new(),
            Err(panicked) => vec![Err(panicked)],
        }
    }

    /// The sets of messages that a transition may consume. One message may be too few for a quorum, but it is enough
    /// for the selection to panic; and a message on which the selection panics is not selected together with others.
    fn bags(
        &self,
        process: ProcessId,
        local: LocalId,
        transition: usize,
        candidates: &[Candidate],
    ) -> Vec<Vec<Candidate>> {
        let trigger = self.model.process(process).transitions()[transition].trigger();
        let heard: Vec<Candidate> = candidates
            .iter()
            .filter(|candidate| trigger.listens_to(self.envelope(candidate.message).from))
            .copied()
            .collect();
        let mut bags = match trigger {
            Trigger::Internal => return vec![Vec::new()],
            Trigger::Message(_) | Trigger::Quorum(_) => heard.iter().map(|one| vec![*one]).collect(),
        };
        let state = &self.locals[local as usize];
        let clear = |candidate: &Candidate| {
            self.model.keys(process, transition, state, &[self.envelope(candidate.message)]).is_ok()
        };
        let from = |candidate: &Candidate| self.envelope(candidate.message).from;
        match trigger {
            Trigger::Quorum(QuorumSystem::Size { size, .. }) if *size != 1 => {
                let clear: Vec<Candidate> = heard.iter().filter(|one| clear(one)).copied().collect();
                choose(&clear, *size, &from, &mut Vec::new(), &mut bags);
            }
            Trigger::Quorum(QuorumSystem::Listed(quorums)) => {
                for quorum in quorums.iter().filter(|quorum| quorum.len() != 1) {
                    let members = heard.iter().filter(|one| quorum.contains(&from(one)) && clear(one));
                    choose(
                        &members.copied().collect::<Vec<_>>(),
                        quorum.len(),
                        &from,
                        &mut Vec::new(),
                        &mut bags,
                    );
                }
            }
            _ => {}
        }
        bags
    }

    /// Where a step of a member leads.
    fn after(
        &mut self,
        component: usize,
        point: &Point,
        member: usize,
        step: &Taken<'_>,
    ) -> (Point, Vec<usize>, Vec<MessageId>) {
        let grouped = self.in_group(component);
        let process = self.components.members(component)[member];
        let mut next = point.clone();
        let mut clock = point.members[member].clock.clone();
        let places: Vec<usize> = step.bag.iter().filter_map(|candidate| candidate.place).collect();
        for place in &places {
            join(&mut clock, &point.inside[*place].clock);
        }
        let outside = |message: &MessageId| self.components.of(self.ends_of(*message).1) != component;
        let mut sent: Vec<MessageId> = step.sent.iter().filter(|message| outside(message)).copied().collect();
        sent.sort_by_key(|message| self.ends_of(*message).1);
        if !sent.is_empty() || grouped && step.bag.iter().any(|candidate| candidate.place.is_none()) {
            clock[member] += 1;
        }
        let inner: Vec<(usize, MessageId)> =
            step.sent.iter().copied().enumerate().filter(|(_, message)| !outside(message)).collect();
        let last = if grouped {
            let consumed = step.bag.iter().map(|candidate| {
                let origin = candidate.place.map_or((0, 0), |place| point.inside[place].origin);
                (candidate.message, origin.0, origin.1)
            });
            let mut consumed: Vec<_> = consumed.collect();
            consumed.sort_unstable();
            let before = point.members[member].last;
            self.number_history((
                process,
                before,
                step.kind,
                step.transition,
                step.choices.to_vec(),
                consumed,
            ))
        } else {
            0
        };
        let mut at = 0;
        next.inside.retain(|_| {
            at += 1;
            !places.contains(&(at - 1))
        });
        next.inside.extend(inner.into_iter().map(|(send, message)| Letter {
            message,
            origin: if grouped { (last, send) } else { (0, 0) },
            clock: if grouped { clock.clone() } else { Vec::new() },
        }));
        if self.model.world().channel == Channel::Fifo {
            next.inside.sort_by_key(|letter| self.ends_of(letter.message));
        } else {
            next.inside.sort_unstable();
        }
        next.members[member] =
            Member { local: step.local, restarts: step.restarts, clock: clock.clone(), last };
        (next, clock, sent)
    }

    /// A restart of a member, if it may and it changes anything.
    fn restart(&mut self, component: usize, point: &Point, member: usize) -> Option<Move<Point>> {
        let process = self.components.members(component)[member];
        let Member { local, restarts, .. } = point.members[member];
        if restarts >= self.model.exposure(process).restarts {
            return None;
        }
        let step =
            LocalStep { kind: StepKind::Restart, transition: 0, choices: Vec::new(), consumed: Vec::new() };
        let (leads, clock) = match self.model.restarted(process, &self.locals[local as usize]) {
            Ok(state) => {
                let state = self.number_local(state);
                if state == local {
                    return None;
                }
                let taken = Taken {
                    kind: StepKind::Restart,
                    transition: 0,
                    choices: &[],
                    bag: &[],
                    local: state,
                    restarts: restarts + 1,
                    sent: &[],
                };
                let (next, clock, _) = self.after(component, point, member, &taken);
                (Some(next), clock)
            }
            Err(_) => (None, Vec::new()),
        };
        Some(Move { member, clock, received: Vec::new(), sent: Vec::new(), ways: 1, leads, step })
    }
}

/// A step with everything that it does.
struct Taken<'s> {
    kind: StepKind,
    transition: usize,
    choices: &'s [usize],
    bag: &'s [Candidate],
    local: LocalId,
    restarts: u8,
    sent: &'s [MessageId],
}

/// Every choice of so many candidates from different senders.
fn choose(
    rest: &[Candidate],
    wanted: usize,
    from: &impl Fn(&Candidate) -> ProcessId,
    chosen: &mut Vec<Candidate>,
    found: &mut Vec<Vec<Candidate>>,
) {
    if wanted == 0 {
        found.push(chosen.clone());
        return;
    }
    for at in 0..rest.len() {
        if chosen.iter().all(|other| from(other) != from(&rest[at])) {
            chosen.push(rest[at]);
            choose(&rest[at + 1..], wanted - 1, from, chosen, found);
            chosen.pop();
        }
    }
}

impl Embedded for Handlers<'_> {
    type Point = Point;

    fn components(&self) -> &Components {
        &self.components
    }

    fn tells_past(&self, component: usize) -> bool {
        self.in_group(component)
    }

    fn reset(&mut self, component: usize) -> Point {
        let processes = self.components.members(component).to_vec();
        let count = processes.len();
        let member = |process: &ProcessId| Member {
            local: self.number_local(self.model.process(*process).initial().clone()),
            restarts: 0,
            clock: vec![0; count],
            last: 0,
        };
        Point { members: processes.iter().map(member).collect(), inside: Vec::new() }
    }

    fn moves(&mut self, component: usize, point: &Point, offers: &[MessageId]) -> Vec<Move<Point>> {
        let mut moves = Vec::new();
        for member in 0..point.members.len() {
            let process = self.components.members(component)[member];
            let Member { local, restarts, .. } = point.members[member];
            let candidates = self.candidates(component, point, process, offers);
            for transition in 0..self.model.process(process).transitions().len() {
                for bag in self.bags(process, local, transition, &candidates) {
                    let mut contents: Vec<MessageId> =
                        bag.iter().map(|candidate| candidate.message).collect();
                    contents.sort_unstable();
                    let mut received: Vec<MessageId> =
                        bag.iter().filter(|one| one.place.is_none()).map(|one| one.message).collect();
                    received.sort_unstable();
                    let ways = bag.iter().map(|candidate| candidate.copies).product();
                    for answer in self.answers(process, local, transition, &contents).iter() {
                        let kind = StepKind::Transition;
                        let consumed =
                            contents.iter().map(|message| self.envelope(*message).clone()).collect();
                        let step = LocalStep { kind, transition, choices: answer.choices.clone(), consumed };
                        let received = received.clone();
                        let (leads, clock, sent) = match &answer.done {
                            Some((local, sent)) => {
                                let (bag, choices) = (bag.as_slice(), answer.choices.as_slice());
                                let local = *local;
                                let taken = Taken { kind, transition, choices, bag, local, restarts, sent };
                                let (next, clock, sent) = self.after(component, point, member, &taken);
                                (Some(next), clock, sent)
                            }
                            None => (None, Vec::new(), Vec::new()),
                        };
                        moves.push(Move { member, clock, received, sent, ways, leads, step });
                    }
                }
            }
            moves.extend(self.restart(component, point, member));
        }
        moves
    }

    fn ends_of(&self, message: MessageId) -> (ProcessId, ProcessId) {
        let (to, envelope) = &self.messages[message as usize];
        (envelope.from, *to)
    }

    fn locals(&self, _: usize, point: &Point) -> Vec<Value> {
        point.members.iter().map(|member| self.locals[member.local as usize].clone()).collect()
    }

    fn unreliable(&self) -> Option<Stopped> {
        self.impure.clone().map(Stopped::Impure)
    }
}
