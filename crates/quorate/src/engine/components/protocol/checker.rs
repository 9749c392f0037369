//! What the checker for protocols knows: numbers for messages, local states and points, and the answers of handlers.
//!
//! Held by: testkit/tests/dir.rs.

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use crate::base::{Numbering, ProcessId, Value};
use crate::engine::components::embedded::{ComponentChecker, LocalPoints, MessageId};
use crate::engine::components::partition::{LocalStep, Partition};
use crate::model::{Envelope, Handlers, Model};
use crate::report::Stopped;
use crate::world::StepKind;

pub(super) type LocalId = u32;

/// A step of a process. Its contents are in memory once, however many runs contain the step.
#[derive(Clone, Debug)]
pub(crate) struct StepRef {
    /// A hash of the contents that does not depend on how messages and states are numbered.
    hash: u64,
    pub(super) contents: Arc<StepContents>,
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
pub(super) struct StepContents {
    pub(super) process: ProcessId,
    /// In which local state.
    pub(super) local: LocalId,
    pub(super) kind: StepKind,
    pub(super) transition: usize,
    pub(super) choices: Vec<usize>,
    /// What it consumes; for a message inside a group, also where that comes from.
    pub(super) consumed: Vec<(MessageId, Option<Origin>)>,
    /// What it sends to other members of its group.
    pub(super) inside: Vec<(usize, MessageId)>,
}

/// Where a message inside a group comes from: a member, which of its steps, and the position among what that step
/// sends.
pub(super) type Origin = (usize, usize, usize);

/// What the properties see of a local state, one after the other; nothing where they do not look at the process.
type ObservedState = Vec<Option<Value>>;

/// A point in the run of a process.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct LocalPoint {
    pub(super) local: LocalId,
    pub(super) restarts: u8,
    /// Messages to itself: in ascending order, or in the order of sending.
    pub(super) inside: Vec<MessageId>,
}

/// A process in a local state, a transition, and the messages that it consumes.
pub(super) type HandlerInput = (ProcessId, LocalId, usize, Vec<MessageId>);

/// What a handler answers: a local state and messages, in order, or a panic; and the choices it makes.
pub(super) struct Answer {
    pub(super) done: Option<(LocalId, Vec<MessageId>)>,
    pub(super) choices: Vec<usize>,
}

/// Kinds of questions, as they are logged.
pub(super) const INITIAL: u64 = 0;
pub(super) const RESTART: u64 = 1;
pub(super) const ANSWERS: u64 = 2;

/// A checker for the components of a model.
pub(crate) struct ProtocolChecker<'m> {
    pub(super) model: &'m Model,
    pub(super) components: Partition,
    /// Are these the components inside a component?
    is_inside: bool,
    pub(super) messages: Numbering<(ProcessId, Envelope)>,
    /// Local states, of each process by itself: of two processes they may be equal though they were made by different
    /// code, which equality need not show.
    pub(super) locals: Numbering<(ProcessId, Value)>,
    pub(super) local_points: Numbering<LocalPoint>,
    /// Answers of handlers.
    pub(super) answers: HashMap<HandlerInput, Arc<[Answer]>>,
    /// What properties see of local states, by number; local states that look alike have the same number.
    observed: HashMap<LocalId, usize>,
    observed_states: Numbering<ObservedState>,
    /// For each of these, one local state that looks so.
    examples: Vec<LocalId>,
    /// Whether a process can do something with a message in a local state.
    pub(super) interests: HashMap<(ProcessId, LocalId, MessageId), bool>,
    /// The questions that were answered since [`ComponentChecker::learned`] was last called.
    pub(super) asked: Vec<Vec<u64>>,
    pub(crate) handlers: Handlers<'m>,
    /// Distinct local steps.
    pub(crate) local_steps: u64,
}

impl<'m> ProtocolChecker<'m> {
    /// A checker for a model that is divided in this way.
    pub(crate) fn new(model: &'m Model, components: Partition) -> Self {
        ProtocolChecker {
            model,
            components,
            is_inside: false,
            messages: Numbering::default(),
            locals: Numbering::default(),
            local_points: Numbering::default(),
            answers: HashMap::new(),
            observed: HashMap::new(),
            observed_states: Numbering::default(),
            examples: Vec::new(),
            interests: HashMap::new(),
            asked: Vec::new(),
            handlers: Handlers::new(model),
            local_steps: 0,
        }
    }

    /// About how many bytes it takes.
    pub(crate) fn bytes(&self) -> u64 {
        let entries = self.messages.len() + self.locals.len() + self.answers.len() + self.local_points.len();
        entries as u64 * 256
    }

    pub(super) fn number_message(&mut self, to: ProcessId, envelope: Envelope) -> MessageId {
        self.messages.number((to, envelope))
    }

    pub(super) fn number_local(&mut self, process: ProcessId, local: Value) -> LocalId {
        self.locals.number((process, local))
    }

    pub(super) fn local(&self, local: LocalId) -> &Value {
        &self.locals.value(local).1
    }

    /// What properties see of a local state.
    pub(super) fn observe(&mut self, local: LocalId) -> usize {
        if let Some(known) = self.observed.get(&local) {
            return *known;
        }
        let state = &self.locals.value(local).1;
        let seen: ObservedState =
            self.model.properties().iter().map(|property| property.observe(state)).collect();
        let number = self.observed_states.number(seen) as usize;
        if number == self.examples.len() {
            self.examples.push(local);
        }
        self.observed.insert(local, number);
        number
    }

    pub(super) fn envelope(&self, message: MessageId) -> &Envelope {
        &self.messages.value(message).1
    }

    pub(super) fn step_ref(&self, contents: StepContents) -> StepRef {
        let StepContents { process, local, kind, transition, choices, consumed, inside } = &contents;
        let content = |message: &MessageId| {
            let (to, Envelope { from, body }) = self.messages.value(*message);
            (*from, *to, body.content_hash())
        };
        let mut hasher = DefaultHasher::new();
        let local = self.local(*local).content_hash();
        (process, local, kind, transition, choices, consumed.len()).hash(&mut hasher);
        // What is consumed stands in the order of its numbers, which the hash must not depend on.
        let consumed = consumed.iter().map(|(message, from)| (content(message), from));
        consumed.collect::<BTreeSet<_>>().hash(&mut hasher);
        for (to, message) in inside {
            (to, content(message)).hash(&mut hasher);
        }
        StepRef { hash: hasher.finish(), contents: Arc::new(contents) }
    }

    /// A step with the messages that it consumes, and its process.
    pub(crate) fn local_step(&self, step: &StepRef) -> (ProcessId, LocalStep) {
        let StepContents { process, kind, transition, choices, consumed, .. } =
            step.contents.as_ref().clone();
        let consumed = consumed.iter().map(|(message, _)| self.envelope(*message).clone()).collect();
        (process, LocalStep { kind, transition, choices, consumed })
    }

    /// A question of another checker, in the numbers of this one.
    fn translated(&mut self, other: &Self, asked: &[u64]) -> Option<Vec<u64>> {
        let mut asked = asked.to_vec();
        if asked.first() == Some(&INITIAL) {
            return Some(asked);
        }
        let local = usize::try_from(*asked.get(2)?).ok()?;
        let (process, local) = other.locals.values().get(local)?.clone();
        asked[2] = self.number_local(process, local).into();
        for message in asked.iter_mut().skip(5) {
            *message = self.message_of(other, u32::try_from(*message).ok()?).into();
        }
        if let Some(bag) = asked.get_mut(5..) {
            bag.sort_unstable();
        }
        Some(asked)
    }
}

impl ComponentChecker for ProtocolChecker<'_> {
    fn components(&self) -> &Partition {
        &self.components
    }

    fn ends_of(&self, message: MessageId) -> (ProcessId, ProcessId) {
        let (to, envelope) = self.messages.value(message);
        (envelope.from, *to)
    }

    fn local_points(&mut self, component: usize) -> Option<&mut dyn LocalPoints<StepRef>> {
        (!self.is_inside && self.components.members(component).len() == 1).then_some(self)
    }

    fn observed(&self, observed: usize) -> &Value {
        self.local(self.examples[observed])
    }

    fn learned(&mut self) -> Option<Vec<Vec<u64>>> {
        Some(std::mem::take(&mut self.asked))
    }

    fn relearn(&mut self, asked: &[u64]) -> Result<(), String> {
        let known = self.asked.len();
        self.answer_again(asked).ok_or_else(|| "what was asked cannot be read".to_string())?;
        // The checker may have answered this already: some questions are asked at every start.
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
        let (to, envelope) = other.messages.value(message);
        self.number_message(*to, envelope.clone())
    }

    fn step_of(&mut self, other: &Self, _: usize, agent: usize, step: &StepRef) -> (usize, StepRef) {
        let step = step.contents.as_ref();
        let StepContents { process, kind, transition, choices, .. } = step.clone();
        let local = self.number_local(process, other.local(step.local).clone());
        let mut consumed: Vec<(MessageId, Option<Origin>)> =
            step.consumed.iter().map(|(message, from)| (self.message_of(other, *message), *from)).collect();
        consumed.sort_unstable();
        let inside =
            step.inside.iter().map(|(to, message)| (*to, self.message_of(other, *message))).collect();
        (agent, self.step_ref(StepContents { process, local, kind, transition, choices, consumed, inside }))
    }

    fn observed_of(&mut self, other: &Self, observed: usize) -> usize {
        let (process, local) = other.locals.value(other.examples[observed]).clone();
        let local = self.number_local(process, local);
        self.observe(local)
    }

    fn learn_from(&mut self, other: &Self, asked: &[u64]) {
        let translated = self.translated(other, asked);
        let asked = translated.and_then(|asked| self.answer_again(&asked));
        asked.expect("a bug in quorate: what a checker was asked cannot be asked of another");
    }

    fn unreliable(&self) -> Option<Stopped> {
        self.handlers.impure().map(|what| Stopped::Impure(what.to_string()))
    }
}
