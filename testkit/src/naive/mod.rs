//! The naive checker: breadth-first search over whole states, with no idea in it that could be wrong.
//!
//! From: the definition of a step in docs/theory/kernel.md 1. Nothing here is shared with the kernel or the engines:
//! a state is the local states, the inboxes and the monitors as they are, every set of messages of a fitting
//! size is tried, and the model is asked again each time. What channels are is in `channel.rs`, what a step is in
//! `steps.rs`.
//! Known: equal messages from one sender are interchangeable, so each distinct bag of messages is one way
//! to take a transition; each outcome of it is one step. A step that panics has no next state and is not
//! counted as a transition, but the state before it is not terminal.
//! Invariant: `order` holds every state reached so far, nearest first.
//! Held by: tests/naive.rs (counted by hand, and Paxos as other checkers count it); [`Semantics`] lets
//! tests/mutants.rs plant mistakes, to see that they are noticed.

mod channel;
mod steps;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use quorate::ProcessId;
use quorate::model::{Envelope, Model, Panicked, Value};
use quorate::property::{Automaton, When};
use quorate::world::{StepKind, World};

pub use channel::{Inbox, Left, Letter, MayTake, Place, happen, left, may_take, put};
pub use steps::{Attempt, Excuse};
use steps::{State, Step, System};

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
    /// The states in which runs end, as positions in `depths`.
    pub ends: Vec<usize>,
    /// How many states there are in which runs end.
    pub terminal_states: usize,
    /// The properties that break, each with the length of a shortest run that shows it.
    pub broken: BTreeMap<String, u32>,
    /// How many steps there are of each kind; those that skip messages count as losses too.
    pub kinds: BTreeMap<StepKind, usize>,
    /// The local states in each reachable state, in the order of `depths`.
    pub locals: Vec<Vec<Value>>,
    /// The distinct local steps that do not panic, those included that have to wait for room.
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

/// Does this process, in this local state, take this transition with these messages?
pub type Accepts = fn(&Model, ProcessId, usize, &Value, &[&Envelope]) -> Result<bool, Panicked>;

/// What a step is, in parts that a test can replace to plant a mistake.
#[derive(Clone, Copy)]
pub struct Semantics {
    /// The world as it is taken to be.
    pub world: fn(&World) -> World,
    /// Which steps there are.
    pub accepts: Accepts,
    /// Which of the steps that one transition offers in one state are followed.
    pub follow: fn(&mut Vec<Attempt>),
    /// May a step take the messages at these places of an inbox?
    pub may_take: MayTake,
    /// What it leaves there.
    pub left: Left,
    /// Puts a message into an inbox, which may be the sender's own; `false` if there is no room.
    pub put: fn(&World, &mut Inbox, Letter, bool) -> bool,
    /// What can happen to the messages on their way, in a step of this kind.
    pub happen: fn(&World, &Inbox, StepKind) -> Vec<Inbox>,
    /// The local state of a process that crashes in a step which leads from one to the other.
    pub crashed: fn(&Value, &Value) -> Value,
    /// The state of a monitor that hears of a step.
    pub hear: fn(&Automaton, &Value, ProcessId, &[Value]) -> Value,
    /// Is what can be forged there only once?
    pub forges_once: bool,
    /// Is a message that was sent and could be forged as well there anyway, so that it need not be stored? The second
    /// says whether some property looks at the end of runs.
    pub there_anyway: fn(&World, bool) -> bool,
    /// Must a step be taken in the end, although it has this excuse? As it is, no excuse is a bad one.
    pub is_owed_despite: fn(Excuse) -> bool,
    /// May a process crash between two steps, which started in the first of these local states and is in the second?
    pub crashes_between: fn(&Value, &Value) -> bool,
    /// Must a property of this kind hold in a state which has a step or has none?
    pub due: fn(When, bool) -> bool,
    /// How many states are explored.
    pub explores_max: usize,
}

impl Default for Semantics {
    fn default() -> Self {
        Semantics {
            world: World::clone,
            accepts: |model, process, transition, local, consumed| {
                let senders: BTreeSet<ProcessId> = consumed.iter().map(|message| message.from).collect();
                if senders.len() < consumed.len() {
                    return Ok(false);
                }
                model.accepts(process, transition, local, consumed)
            },
            follow: |_| {},
            may_take: channel::may_take,
            left: channel::left,
            put: |world, inbox, letter, _to_self| channel::put(world, inbox, letter),
            happen: channel::happen,
            crashed: |_, after| after.clone(),
            hear: Automaton::after,
            forges_once: false,
            there_anyway: steps::there_anyway,
            is_owed_despite: |_| false,
            crashes_between: |_, _| true,
            due: |when, stuck| when == When::Always || stuck,
            explores_max: usize::MAX,
        }
    }
}

/// Explores every reachable state; `None` if there are more than `states_max`.
pub fn search(model: &Model, states_max: usize) -> Option<Findings> {
    search_with(model, states_max, Semantics::default())
}

/// As [`search`], for another idea of what a step is.
pub fn search_with(model: &Model, states_max: usize, semantics: Semantics) -> Option<Findings> {
    let mut system = System::new(model, semantics);
    let initial = system.initial();
    let local_states = vec![HashSet::new(); model.processes().len()];
    let mut found = Findings { depths: vec![0], local_states, ..Findings::default() };
    let mut positions = HashMap::from([(initial.clone(), 0)]);
    let mut order = vec![initial];
    let mut at = 0;
    while at < order.len().min(semantics.explores_max) {
        let (state, depth) = (order[at].clone(), found.depths[at]);
        let (steps, tried) = system.steps(&state);
        let ended = !steps.iter().any(|step| step.goes_on(&state, semantics.is_owed_despite));
        found.note_state(model, &state, depth, (semantics.due)(When::AtEnd, ended));
        found.terminal_states += usize::from(ended);
        found.ends.extend(ended.then_some(at));
        for attempt in tried {
            if attempt.outcome.is_some() {
                found.local_steps.insert(attempt.step.clone());
            }
            found.handler_runs.insert(attempt.step);
        }
        for Step { kind, skips, leads, .. } in steps {
            *found.kinds.entry(kind).or_insert(0) += 1;
            if skips {
                *found.kinds.entry(StepKind::Loss).or_insert(0) += 1;
            }
            let Some(next) = leads else {
                found.note_broken(NO_PANIC, depth + 1);
                continue;
            };
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
    found.messages = system.messages;
    found.locals = order.into_iter().map(|state| state.locals).collect();
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
            let due = property.when() == When::Always || at_end;
            if due && property.check(&state.locals).is_err() {
                self.note_broken(property.name(), depth);
            }
        }
        for (monitor, heard) in model.monitors().iter().zip(&state.monitors) {
            if !monitor.holds(heard) {
                self.note_broken(monitor.name(), depth);
            }
        }
        self.system_states.insert(state.locals.clone());
        for (seen, local) in self.local_states.iter_mut().zip(&state.locals) {
            seen.insert(local.clone());
        }
        for inbox in &state.inboxes {
            let mut letters: Vec<Letter> = inbox.waiting().chain(inbox.travelling.iter().copied()).collect();
            letters.sort_unstable();
            let copies = letters.chunk_by(|a, b| a == b).map(<[Letter]>::len).max().unwrap_or(0);
            self.copies_max = copies.max(self.copies_max);
        }
    }
}
