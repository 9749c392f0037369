//! The embedded checker for protocols: it runs handlers, each once for a local state, the messages it consumes and
//! the choices it makes.
//!
//! From: docs/theory/kernel.md 2 and docs/theory/components.md 4. A component is a process, whose points can be told (`single.rs`), or a group of processes,
//! whose runs are enumerated (`group.rs`).
//! Differs from the kernel: traces are counted, so a process by itself tells which of several equal messages it may
//! consume, and in a group each message is told by the step that sent it.
//! Restriction by: testkit/tests/dir.rs.

mod group;
mod single;

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use self::single::LocalPoint;
use super::checker::{ComponentChecker, LocalPointId, LocalPoints, MessageId};
use super::partition::{LocalStep, Partition};
use crate::base::{ProcessId, Value, fold};
use crate::model::{Envelope, Model, Outcome, Panicked, QuorumSystem, Trigger};
use crate::report::Stopped;
use crate::world::StepKind;

type LocalId = u32;

/// A step of a process. It is kept once, however many runs contain it.
#[derive(Clone, Debug)]
pub struct StepRef {
    /// A hash of what it says, whatever the numbers.
    hash: u64,
    contents: Arc<StepContents>,
}

impl PartialEq for StepRef {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash
            && (Arc::ptr_eq(&self.contents, &other.contents) || self.contents == other.contents)
    }
}

impl Eq for StepRef {}

impl Hash for StepRef {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

/// What a process does in a step.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct StepContents {
    process: ProcessId,
    /// In which local state.
    local: LocalId,
    kind: StepKind,
    transition: usize,
    choices: Vec<usize>,
    /// What it consumes, and in a group the step of which member sent it, and at which position.
    consumed: Vec<(MessageId, Option<Origin>)>,
    /// What it sends to other members of its group.
    inside: Vec<(usize, MessageId)>,
}

/// Where a message inside a group comes from: a member, which of its steps, and the position among what that sends.
type Origin = (usize, usize, usize);

/// A message that a step may consume.
#[derive(Clone, Copy)]
struct Candidate {
    message: MessageId,
    /// Where it is inside the component; nowhere if it is on offer.
    position: Option<usize>,
    /// How many equal ones there are, if they need not be told apart.
    copies: u128,
}

/// A step that a process can take.
struct Step {
    kind: StepKind,
    transition: usize,
    choices: Vec<usize>,
    /// What it consumes, in ascending order.
    bag: Vec<Candidate>,
    /// The local state it leads to and what it sends, in order; nothing for a panic.
    done: Option<(LocalId, Vec<MessageId>)>,
}

/// What a handler answers: a local state and messages, in order, or a panic; and the choices on the way.
struct Answer {
    done: Option<(LocalId, Vec<MessageId>)>,
    choices: Vec<usize>,
}

/// Kinds of questions, in what is kept of them.
const INITIAL: u64 = 0;
const RESTART: u64 = 1;
const ANSWERS: u64 = 2;

/// How many answers are compared once more at the end.
const LATE_MAX: usize = 256;

/// A transition in a local state, with the messages that it consumes.
type Occasion = (ProcessId, LocalId, usize, Vec<MessageId>);
/// The handlers of a model, asked once each.
pub struct ProtocolChecker<'m> {
    model: &'m Model,
    components: Partition,
    /// Are the components parts of another?
    is_inside: bool,
    messages: Vec<(ProcessId, Envelope)>,
    message_numbers: HashMap<(ProcessId, Envelope), MessageId>,
    locals: Vec<Value>,
    local_numbers: HashMap<Value, LocalId>,
    answers: HashMap<Occasion, Arc<[Answer]>>,
    /// What properties see of local states: for each, one that looks like it, by number, and what they see of that.
    observed: HashMap<LocalId, usize>,
    sights: HashMap<Vec<Option<Value>>, usize>,
    shown: Vec<LocalId>,
    local_points: Vec<LocalPoint>,
    local_point_numbers: HashMap<LocalPoint, LocalPointId>,
    /// Whether a process can do something with a message in a local state.
    interests: HashMap<(ProcessId, LocalId, MessageId), bool>,
    /// What was asked since it was last told.
    asked: Vec<Vec<u64>>,
    impure: Option<String>,
    /// The first answers, to be compared once more at the end.
    late: Vec<(Occasion, Vec<Result<Outcome, Panicked>>)>,
    /// Runs of handlers.
    pub handler_calls: u64,
    /// Distinct local steps.
    pub local_steps: u64,
}

impl<'m> ProtocolChecker<'m> {
    /// A model, in components.
    pub fn new(model: &'m Model, components: Partition) -> Self {
        ProtocolChecker {
            model,
            components,
            is_inside: false,
            messages: Vec::new(),
            message_numbers: HashMap::new(),
            locals: Vec::new(),
            local_numbers: HashMap::new(),
            answers: HashMap::new(),
            observed: HashMap::new(),
            sights: HashMap::new(),
            shown: Vec::new(),
            local_points: Vec::new(),
            local_point_numbers: HashMap::new(),
            interests: HashMap::new(),
            asked: Vec::new(),
            impure: None,
            late: Vec::new(),
            handler_calls: 0,
            local_steps: 0,
        }
    }

    /// About how many bytes it takes.
    pub fn bytes(&self) -> u64 {
        let entries = self.messages.len() + self.locals.len() + self.answers.len() + self.local_points.len();
        entries as u64 * 256
    }

    fn number_message(&mut self, to: ProcessId, envelope: Envelope) -> MessageId {
        let fresh = MessageId::try_from(self.messages.len()).expect("fewer messages than memory");
        let ProtocolChecker { messages, message_numbers, .. } = self;
        *message_numbers.entry((to, envelope)).or_insert_with_key(|message| {
            messages.push(message.clone());
            fresh
        })
    }

    fn number_local(&mut self, local: Value) -> LocalId {
        let fresh = LocalId::try_from(self.locals.len()).expect("fewer states than memory");
        let ProtocolChecker { locals, local_numbers, .. } = self;
        *local_numbers.entry(local).or_insert_with_key(|local| {
            locals.push(local.clone());
            fresh
        })
    }

    /// The number of the local state in which a process begins.
    fn initial(&mut self, process: ProcessId) -> LocalId {
        let known = self.locals.len();
        let state = self.model.process(process).initial().clone();
        let hash = state.content_hash();
        let local = self.number_local(state);
        if self.locals.len() > known {
            self.asked.push(vec![INITIAL, process.index() as u64, hash]);
        }
        local
    }

    /// What properties see of a local state.
    fn observe(&mut self, local: LocalId) -> usize {
        if let Some(known) = self.observed.get(&local) {
            return *known;
        }
        let state = &self.locals[local as usize];
        let sight: Vec<Option<Value>> =
            self.model.properties().iter().map(|property| property.observe(state)).collect();
        let ProtocolChecker { sights, shown, .. } = self;
        let number = *sights.entry(sight).or_insert_with(|| {
            shown.push(local);
            shown.len() - 1
        });
        self.observed.insert(local, number);
        number
    }

    fn envelope(&self, message: MessageId) -> &Envelope {
        &self.messages[message as usize].1
    }

    fn step_ref(&self, contents: StepContents) -> StepRef {
        let StepContents { process, local, kind, transition, choices, consumed, inside } = &contents;
        let content = |message: &MessageId| {
            let (to, Envelope { from, body }) = &self.messages[*message as usize];
            (*from, *to, body.content_hash())
        };
        let mut hasher = DefaultHasher::new();
        let local = self.locals[*local as usize].content_hash();
        (process, local, kind, transition, choices, consumed.len()).hash(&mut hasher);
        // What is consumed is in the order of its numbers.
        let consumed = consumed.iter().map(|(message, from)| (content(message), from));
        consumed.collect::<BTreeSet<_>>().hash(&mut hasher);
        for (to, message) in inside {
            (to, content(message)).hash(&mut hasher);
        }
        StepRef { hash: hasher.finish(), contents: Arc::new(contents) }
    }

    /// A step as it can be told, with its process.
    pub fn local_step(&self, step: &StepRef) -> (ProcessId, LocalStep) {
        let StepContents { process, kind, transition, choices, consumed, .. } =
            step.contents.as_ref().clone();
        let consumed = consumed.iter().map(|(message, _)| self.envelope(*message).clone()).collect();
        (process, LocalStep { kind, transition, choices, consumed })
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
        let outcome_hash = hash_of(&outcomes);
        self.handler_calls += outcomes.len() as u64;
        self.ask_again(&occasion, &outcomes);
        if self.late.len() < LATE_MAX {
            self.late.push((occasion.clone(), outcomes.clone()));
        }
        let mut answers = Vec::new();
        for outcome in outcomes {
            let indices =
                |choices: &[crate::model::Choice]| choices.iter().map(|choice| choice.index).collect();
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
        let mut asked = vec![ANSWERS, process.index() as u64, local.into(), transition as u64, outcome_hash];
        asked.extend(bag.iter().map(|message| u64::from(*message)));
        self.asked.push(asked);
        self.answers.insert(occasion, Arc::clone(&answers));
        answers
    }

    /// The search has ended: asks some handlers once more, for those that look at a clock.
    pub fn conclude(&mut self) {
        for (occasion, outcomes) in std::mem::take(&mut self.late) {
            self.ask_again(&occasion, &outcomes);
        }
    }

    /// Answers are remembered, so they must not depend on anything else.
    fn ask_again(&mut self, occasion: &Occasion, outcomes: &[Result<Outcome, Panicked>]) {
        let (process, local, transition, bag) = occasion;
        if self.ask(*process, *local, *transition, bag) != outcomes {
            let process = self.model.process(*process);
            self.impure.get_or_insert_with(|| {
                format!(
                    "handler '{}' of {} is not a function of its inputs: it answers differently when it is asked twice",
                    process.transitions()[*transition].name(),
                    process.name()
                )
            });
        }
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

    /// Every step that a process can take in a local state, after so many restarts, with these messages.
    fn steps(
        &mut self,
        process: ProcessId,
        local: LocalId,
        restarts: u8,
        candidates: &[Candidate],
    ) -> Vec<Step> {
        let mut steps = Vec::new();
        for transition in 0..self.model.process(process).transitions().len() {
            for mut bag in self.bags(process, local, transition, candidates) {
                bag.sort_unstable_by_key(|candidate| (candidate.message, candidate.position));
                let contents: Vec<MessageId> = bag.iter().map(|candidate| candidate.message).collect();
                for answer in self.answers(process, local, transition, &contents).iter() {
                    let Answer { done, choices } = answer;
                    steps.push(Step {
                        kind: StepKind::Transition,
                        transition,
                        choices: choices.clone(),
                        bag: bag.clone(),
                        done: done.clone(),
                    });
                }
            }
        }
        steps.extend(self.restart(process, local, restarts));
        steps
    }

    /// A restart of a process, if it may and it changes anything.
    fn restart(&mut self, process: ProcessId, local: LocalId, restarts: u8) -> Option<Step> {
        if restarts >= self.model.fault_limits_of(process).restarts {
            return None;
        }
        let done = match self.model.restarted(process, &self.locals[local as usize]) {
            Ok(state) => {
                let (known, hash) = (self.locals.len(), state.content_hash());
                let state = self.number_local(state);
                if self.locals.len() > known {
                    self.asked.push(vec![RESTART, process.index() as u64, local.into(), hash]);
                }
                if state == local {
                    return None;
                }
                Some((state, Vec::new()))
            }
            Err(_) => None,
        };
        let (choices, bag) = (Vec::new(), Vec::new());
        Some(Step { kind: StepKind::Restart, transition: 0, choices, bag, done })
    }

    /// Can a process do anything with a message in a local state, if others come with it that it needs?
    fn is_interested(&self, process: ProcessId, local: LocalId, message: MessageId) -> bool {
        let envelope = self.envelope(message);
        let state = &self.locals[local as usize];
        let transitions = self.model.process(process).transitions().iter().enumerate();
        transitions.filter(|(_, transition)| transition.trigger().listens_to(envelope.from)).any(|(at, _)| {
            let keys = self.model.keys(process, at, state, &[envelope]);
            keys.map_or(true, |keys| keys.iter().all(Option::is_some))
        })
    }
}

/// Every choice of so many candidates from different senders.
fn choose(
    remaining: &[Candidate],
    wanted: usize,
    from: &impl Fn(&Candidate) -> ProcessId,
    chosen: &mut Vec<Candidate>,
    found: &mut Vec<Vec<Candidate>>,
) {
    if wanted == 0 {
        found.push(chosen.clone());
        return;
    }
    for at in 0..remaining.len() {
        if chosen.iter().all(|other| from(other) != from(&remaining[at])) {
            chosen.push(remaining[at]);
            choose(&remaining[at + 1..], wanted - 1, from, chosen, found);
            chosen.pop();
        }
    }
}

impl ComponentChecker for ProtocolChecker<'_> {
    fn components(&self) -> &Partition {
        &self.components
    }

    fn ends_of(&self, message: MessageId) -> (ProcessId, ProcessId) {
        let (to, envelope) = &self.messages[message as usize];
        (envelope.from, *to)
    }

    fn local_points(&mut self, component: usize) -> Option<&mut dyn LocalPoints<StepRef>> {
        (!self.is_inside && self.components.members(component).len() == 1).then_some(self)
    }

    fn observed(&self, observed: usize) -> &Value {
        &self.locals[self.shown[observed] as usize]
    }

    fn learned(&mut self) -> Option<Vec<Vec<u64>>> {
        Some(std::mem::take(&mut self.asked))
    }

    fn relearn(&mut self, asked: &[u64]) -> Result<(), String> {
        let known = self.asked.len();
        self.ask_as_before(asked).ok_or_else(|| "what was asked cannot be read".to_string())?;
        // What is asked at the beginning anyway is asked already.
        match self.asked.get(known..).and_then(<[_]>::last) {
            Some(now) if now != asked => {
                Err("the protocol has changed since: a handler answers differently".to_string())
            }
            _ => Ok(()),
        }
    }

    fn inside(&self, component: usize) -> Option<Self> {
        let components = self.components.inside(component)?.clone();
        Some(ProtocolChecker { is_inside: true, ..ProtocolChecker::new(self.model, components) })
    }

    fn fork(&self) -> Self {
        ProtocolChecker {
            is_inside: self.is_inside,
            ..ProtocolChecker::new(self.model, self.components.clone())
        }
    }

    fn message_of(&mut self, other: &Self, message: MessageId) -> MessageId {
        let (to, envelope) = &other.messages[message as usize];
        self.number_message(*to, envelope.clone())
    }

    fn step_of(&mut self, other: &Self, _: usize, agent: usize, step: &StepRef) -> (usize, StepRef) {
        let step = step.contents.as_ref();
        let StepContents { process, kind, transition, choices, .. } = step.clone();
        let local = self.number_local(other.locals[step.local as usize].clone());
        let mut consumed: Vec<(MessageId, Option<Origin>)> =
            step.consumed.iter().map(|(message, from)| (self.message_of(other, *message), *from)).collect();
        consumed.sort_unstable();
        let inside =
            step.inside.iter().map(|(to, message)| (*to, self.message_of(other, *message))).collect();
        (agent, self.step_ref(StepContents { process, local, kind, transition, choices, consumed, inside }))
    }

    fn observed_of(&mut self, other: &Self, observed: usize) -> usize {
        let local = self.number_local(other.observed(observed).clone());
        self.observe(local)
    }

    fn learn_from(&mut self, other: &Self, asked: &[u64]) {
        let translated = self.translated(other, asked);
        let asked = translated.and_then(|asked| self.ask_as_before(&asked));
        asked.expect("a bug in quorate: what a checker was asked cannot be asked of another");
    }

    fn unreliable(&self) -> Option<Stopped> {
        self.impure.clone().map(Stopped::Impure)
    }
}

impl ProtocolChecker<'_> {
    /// What another checker was asked, in the numbers of this one.
    fn translated(&mut self, other: &Self, asked: &[u64]) -> Option<Vec<u64>> {
        let mut asked = asked.to_vec();
        if asked.first() == Some(&INITIAL) {
            return Some(asked);
        }
        let local = usize::try_from(*asked.get(2)?).ok()?;
        asked[2] = self.number_local(other.locals.get(local)?.clone()).into();
        for message in asked.iter_mut().skip(5) {
            *message = self.message_of(other, u32::try_from(*message).ok()?).into();
        }
        if let Some(bag) = asked.get_mut(5..) {
            bag.sort_unstable();
        }
        Some(asked)
    }

    /// Asks what was asked before, in the form in which it is kept; nothing if it has another form.
    fn ask_as_before(&mut self, asked: &[u64]) -> Option<()> {
        let (kind, remaining) = asked.split_first()?;
        let process = ProcessId::new(usize::try_from(*remaining.first()?).ok()?);
        self.model.processes().get(process.index())?;
        let local = |at: usize| {
            u32::try_from(*remaining.get(at)?).ok().filter(|at| (*at as usize) < self.locals.len())
        };
        match *kind {
            INITIAL => {
                self.initial(process);
            }
            RESTART => {
                let local = local(1)?;
                self.restart(process, local, 0);
            }
            ANSWERS => {
                let local = local(1)?;
                let transition = usize::try_from(*remaining.get(2)?).ok()?;
                self.model.process(process).transitions().get(transition)?;
                let bag: Option<Vec<MessageId>> =
                    remaining.get(4..)?.iter().map(|message| u32::try_from(*message).ok()).collect();
                let bag = bag?;
                if bag.iter().any(|message| *message as usize >= self.messages.len()) {
                    return None;
                }
                self.answers(process, local, transition, &bag);
            }
            _ => return None,
        }
        Some(())
    }
}

/// A hash of what a handler did, the same in every process.
fn hash_of(outcomes: &[Result<Outcome, Panicked>]) -> u64 {
    let mut hash = outcomes.len() as u64;
    let mut absorb = |word: u64| hash = fold(hash ^ word, 0x9e37_79b9_7f4a_7c15).rotate_left(17);
    for outcome in outcomes {
        match outcome {
            Ok(outcome) => {
                absorb(outcome.state.content_hash());
                for sending in &outcome.sends {
                    absorb(sending.to.index() as u64);
                    absorb(sending.body.content_hash());
                }
            }
            Err(_) => absorb(u64::MAX),
        }
    }
    hash
}
