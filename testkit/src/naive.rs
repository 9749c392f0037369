//! The naive checker: breadth-first search over whole states, with no idea in it that could be wrong.
//!
//! From: the definition of a step in ALGORITHMS 1. Nothing here is shared with the kernel or the engines:
//! a state is the local states and the inboxes as they are, every set of messages of a fitting size is
//! tried, and the model is asked again each time.
//! Known: equal messages from one sender are interchangeable, so each distinct bag of messages is one way
//! to take a transition; each outcome of it is one step. A step that panics has no next state and is not
//! counted as a transition, but the state before it is not terminal.
//! Invariant: `order` holds every state reached so far, nearest first.
//! Held by: tests/naive.rs (counted by hand, and Paxos as other checkers count it); [`Semantics`] lets
//! tests/mutants.rs plant mistakes, to see that they are noticed.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use quorate::property::Moment;
use quorate::protocol::{
    Choice, Envelope, Model, Outcome, Panicked, ProcessId, QuorumSystem, Trigger, Value,
};

/// What the property that no handler panics is called.
pub const NO_PANIC: &str = "no panic";

/// A step of one process, apart from the state of the others.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LocalStep {
    /// Who.
    pub process: ProcessId,
    /// Which transition.
    pub transition: usize,
    /// From which local state.
    pub state: Value,
    /// What it consumes, as positions in [`Findings::messages`], in ascending order.
    pub consumed: Vec<usize>,
    /// How it chooses.
    pub choices: Vec<usize>,
}

/// Everything there is to know about the runs of a model.
#[derive(Default)]
pub struct Findings {
    /// The distance of every reachable state, nearest first.
    pub depths: Vec<u32>,
    /// The steps between them, as pairs of positions in `depths`.
    pub edges: Vec<(usize, usize)>,
    /// How many states have no step.
    pub terminal_states: usize,
    /// The properties that break, each with the length of a shortest run that shows it.
    pub broken: BTreeMap<String, u32>,
    /// The distinct local steps that do not panic.
    pub local_steps: HashSet<LocalStep>,
    /// The distinct local steps, those included that end in a panic of their handler or their guard.
    pub handler_runs: HashSet<LocalStep>,
    /// The vectors of local states.
    pub system_states: HashSet<Vec<Value>>,
    /// The local states of each process.
    pub local_states: Vec<HashSet<Value>>,
    /// Every message that was ever sent.
    pub messages: Vec<Envelope>,
    /// The most copies of one message that an inbox held.
    pub copies_max: usize,
}

/// A local step with what it leads to; `None` for a panic.
pub type Attempt = (LocalStep, Option<Outcome>);

/// Does this process, in this local state, take this transition with these messages?
pub type Accepts = fn(&Model, ProcessId, usize, &Value, &[&Envelope]) -> Result<bool, Panicked>;

/// What a step is, in parts that a test can replace to plant a mistake.
#[derive(Clone, Copy)]
pub struct Semantics {
    /// Which steps there are.
    pub accepts: Accepts,
    /// Which of the steps that one transition offers in one state are followed.
    pub follow: fn(&mut Vec<Attempt>),
    /// Takes a message out of an inbox.
    pub take: fn(&mut Vec<usize>, usize),
    /// Puts a message into an inbox, which may be the sender's own.
    pub put: fn(&mut Vec<usize>, usize, bool),
    /// Must a property of this kind hold in a state which has a step or has none?
    pub due: fn(Moment, bool) -> bool,
    /// How many states are explored.
    pub explores_max: usize,
}

impl Default for Semantics {
    fn default() -> Self {
        Semantics {
            accepts: |model, process, transition, local, consumed| {
                let senders: BTreeSet<ProcessId> = consumed.iter().map(|message| message.from).collect();
                if senders.len() < consumed.len() {
                    return Ok(false);
                }
                model.accepts(process, transition, local, consumed)
            },
            follow: |_| {},
            take: |inbox, message| {
                let position = inbox.iter().position(|held| *held == message).expect("it was in the inbox");
                inbox.remove(position);
            },
            put: |inbox, message, _to_self| inbox.push(message),
            due: |moment, stuck| moment == Moment::Always || stuck,
            explores_max: usize::MAX,
        }
    }
}

/// A whole state: the inboxes hold positions in [`Findings::messages`], in ascending order.
#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    locals: Vec<Value>,
    inboxes: Vec<Vec<usize>>,
}

/// Explores every reachable state; `None` if there are more than `states_max`.
pub fn search(model: &Model, states_max: usize) -> Option<Findings> {
    search_with(model, states_max, Semantics::default())
}

/// As [`search`], for another idea of what a step is.
pub fn search_with(model: &Model, states_max: usize, semantics: Semantics) -> Option<Findings> {
    let locals: Vec<Value> = model.processes().iter().map(|process| process.initial().clone()).collect();
    let initial = State { inboxes: vec![Vec::new(); locals.len()], locals };
    let local_states = vec![HashSet::new(); model.processes().len()];
    let mut found = Findings { depths: vec![0], local_states, ..Findings::default() };
    let mut numbers: HashMap<Envelope, usize> = HashMap::new();
    let mut positions = HashMap::from([(initial.clone(), 0)]);
    let mut order = vec![initial];
    let mut at = 0;
    while at < order.len().min(semantics.explores_max) {
        let (state, depth) = (order[at].clone(), found.depths[at]);
        let attempts = steps(model, &state, &found.messages, semantics);
        found.note_state(model, &state, depth, (semantics.due)(Moment::AtEnd, attempts.is_empty()));
        found.terminal_states += usize::from(attempts.is_empty());
        for (step, outcome) in attempts {
            found.handler_runs.insert(step.clone());
            let Some(outcome) = outcome else {
                found.note_broken(NO_PANIC, depth + 1);
                continue;
            };
            let next = after(&state, &step, &outcome, &mut found.messages, &mut numbers, semantics);
            found.local_steps.insert(step);
            let position = *positions.entry(next).or_insert_with_key(|next| {
                order.push(next.clone());
                found.depths.push(depth + 1);
                order.len() - 1
            });
            found.edges.push((at, position));
        }
        at += 1;
        if order.len() > states_max {
            return None;
        }
    }
    Some(found)
}

impl Findings {
    /// The number of steps to the furthest state.
    pub fn depth(&self) -> u32 {
        self.depths.last().copied().unwrap_or(0)
    }

    /// The length of a shortest run that breaks something.
    pub fn shortest_violation(&self) -> Option<u32> {
        self.broken.values().min().copied()
    }

    /// Lengths need not come in ascending order: a panic is one step further than the state before it.
    fn note_broken(&mut self, property: &str, length: u32) {
        let shortest = self.broken.entry(property.to_string()).or_insert(length);
        *shortest = length.min(*shortest);
    }

    fn note_state(&mut self, model: &Model, state: &State, depth: u32, at_end: bool) {
        for property in model.properties() {
            let due = property.moment() == Moment::Always || at_end;
            if due && property.check(&state.locals).is_err() {
                self.note_broken(property.name(), depth);
            }
        }
        self.system_states.insert(state.locals.clone());
        for (seen, local) in self.local_states.iter_mut().zip(&state.locals) {
            seen.insert(local.clone());
        }
        let copies = |inbox: &Vec<usize>| inbox.chunk_by(|a, b| a == b).map(<[usize]>::len).max();
        self.copies_max = state.inboxes.iter().filter_map(copies).max().unwrap_or(0).max(self.copies_max);
    }
}

/// The state after a step: what it consumes is taken out, its local state replaced, its sends put in.
fn after(
    state: &State,
    step: &LocalStep,
    outcome: &Outcome,
    messages: &mut Vec<Envelope>,
    numbers: &mut HashMap<Envelope, usize>,
    semantics: Semantics,
) -> State {
    let mut next = state.clone();
    next.locals[step.process.index()] = outcome.state.clone();
    for &message in &step.consumed {
        (semantics.take)(&mut next.inboxes[step.process.index()], message);
    }
    for sending in &outcome.sends {
        let envelope = Envelope { from: step.process, body: sending.body.clone() };
        let number = *numbers.entry(envelope).or_insert_with_key(|envelope| {
            messages.push(envelope.clone());
            messages.len() - 1
        });
        let inbox = &mut next.inboxes[sending.to.index()];
        (semantics.put)(inbox, number, sending.to == step.process);
        inbox.sort_unstable();
    }
    next
}

/// Every step of a state.
fn steps(model: &Model, state: &State, messages: &[Envelope], semantics: Semantics) -> Vec<Attempt> {
    let mut steps = Vec::new();
    for process in model.ids() {
        let local = &state.locals[process.index()];
        for (transition, declared) in model.process(process).transitions().iter().enumerate() {
            let mut sizes = match declared.trigger() {
                Trigger::Internal => BTreeSet::from([0]),
                Trigger::Message(_) => BTreeSet::from([1]),
                Trigger::Quorum(QuorumSystem::Size { size, .. }) => BTreeSet::from([*size]),
                Trigger::Quorum(QuorumSystem::Listed(quorums)) => quorums.iter().map(Vec::len).collect(),
            };
            if matches!(declared.trigger(), Trigger::Quorum(_)) {
                // One message may be too few to act on, but it is enough for the selection to panic.
                sizes.insert(1);
            }
            let mut offered = Vec::new();
            for bag in sizes.iter().flat_map(|&size| sub_bags(&state.inboxes[process.index()], size)) {
                let consumed: Vec<&Envelope> = bag.iter().map(|&message| &messages[message]).collect();
                let step = |choices: &[Choice]| LocalStep {
                    process,
                    transition,
                    state: local.clone(),
                    consumed: bag.clone(),
                    choices: choices.iter().map(|choice| choice.index).collect(),
                };
                let outcomes = match (semantics.accepts)(model, process, transition, local, &consumed) {
                    Ok(true) => model.run(process, transition, local, &consumed),
                    Ok(false) => Vec::new(),
                    Err(panicked) => vec![Err(panicked)],
                };
                offered.extend(outcomes.into_iter().map(|outcome| match outcome {
                    Ok(outcome) => (step(&outcome.choices), Some(outcome)),
                    Err(panicked) => (step(&panicked.choices), None),
                }));
            }
            (semantics.follow)(&mut offered);
            steps.append(&mut offered);
        }
    }
    steps
}

/// Every distinct bag of this many messages out of an inbox, each in ascending order.
fn sub_bags(inbox: &[usize], size: usize) -> BTreeSet<Vec<usize>> {
    if size == 0 {
        return BTreeSet::from([Vec::new()]);
    }
    let mut bags = BTreeSet::new();
    for (at, &first) in inbox.iter().enumerate() {
        bags.extend(
            sub_bags(&inbox[at + 1..], size - 1).into_iter().map(|rest| [vec![first], rest].concat()),
        );
    }
    bags
}
