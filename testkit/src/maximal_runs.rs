//! Every maximal run of a system, up to the order of independent steps: the runs that dynamic interface reduction has
//! to count, found with no idea of components.
//!
//! From: docs/theory/components.md 1. A step is an event: its process, the event before it there, its transition, the
//! messages it consumes, each by the event that sent it, and its choices. A state is the set of events that have
//! happened, so it remembers everything but the order of independent steps; the states without steps are the maximal
//! runs. Every set of messages of a fitting size is tried in every state.
//! Known: runs differ if they consume different ones of several equal messages.
//! Held by: tests/dir.rs, which has counts from elsewhere.

use std::collections::{BTreeSet, HashMap, HashSet};

use quorate::ProcessId;
use quorate::model::{Choice, Envelope, Model, QuorumSystem, Sending, Trigger, Value};
use quorate::model::{Schedule, ScheduledStep, Taken};
use quorate::world::{Channel, StepKind};

use crate::dice::Random;

type EventId = usize;
/// A message: the event that sent it and its position there.
type Message = (EventId, usize);

#[derive(Clone, PartialEq, Eq, Hash)]
struct Event {
    process: ProcessId,
    before: Option<EventId>,
    /// Which transition; none for a restart.
    transition: Option<usize>,
    consumed: Vec<Message>,
    choices: Vec<usize>,
}

/// What an event leads to.
struct Effect {
    state: Value,
    sends: Vec<Sending>,
    /// How many events of its process, and how many restarts, have been.
    ordinal: usize,
    restarts: u8,
}

/// The events that have happened, in ascending order.
type State = Vec<EventId>;

/// A handler or a guard can panic.
#[derive(Debug)]
pub struct Panics;

/// What came of counting runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Runs {
    /// So many maximal runs.
    Count(u128),
    /// Something can panic, and a run that panics is not maximal.
    Panics,
    /// There are too many states.
    TooMany,
}

/// Counts the maximal runs of a model with bag or fifo channels, unless there are more states than this.
pub fn count(model: &Model, states_max: usize) -> Runs {
    let mut system = System::new(model);
    let mut known: HashSet<State> = HashSet::from([State::new()]);
    let mut open = vec![State::new()];
    let mut runs = 0;
    while let Some(state) = open.pop() {
        let Ok(next) = system.next(&state) else { return Runs::Panics };
        if next.is_empty() {
            runs += 1;
        }
        for event in next {
            let mut after = state.clone();
            let place = after.binary_search(&event).expect_err("an event happens once");
            after.insert(place, event);
            if known.insert(after.clone()) {
                open.push(after);
            }
        }
        if known.len() > states_max {
            return Runs::TooMany;
        }
    }
    Runs::Count(runs)
}

/// A run of a model, of at most so many steps: the one that this seed leads to.
pub fn random_run(model: &Model, seed: u64, steps_max: usize) -> Result<Schedule, Panics> {
    let mut random = Random(seed);
    let mut system = System::new(model);
    let mut happened: Vec<EventId> = Vec::new();
    let mut schedule = Schedule::new();
    while schedule.len() < steps_max {
        let mut state = happened.clone();
        state.sort_unstable();
        let next = system.next(&state)?;
        if next.is_empty() {
            break;
        }
        let event = next[random.index(next.len())];
        schedule.push(system.scheduled(&happened, event));
        happened.push(event);
    }
    Ok(schedule)
}

struct System<'m> {
    model: &'m Model,
    events: Vec<(Event, Effect)>,
    numbers: HashMap<Event, EventId>,
}

impl<'m> System<'m> {
    fn new(model: &'m Model) -> Self {
        assert!(
            matches!(model.world().channel, Channel::Bag | Channel::Fifo),
            "other channels are not known here"
        );
        System { model, events: Vec::new(), numbers: HashMap::new() }
    }

    fn envelope(&self, (event, send): Message) -> Envelope {
        let (Event { process, .. }, Effect { sends, .. }) = &self.events[event];
        Envelope { from: *process, body: sends[send].body.clone() }
    }

    /// What was sent to a process and is not consumed, in the order of these events.
    fn inbox(&self, events: &[EventId], process: ProcessId) -> Vec<Message> {
        let own = events.iter().map(|event| &self.events[*event].0).filter(|event| event.process == process);
        let consumed: BTreeSet<Message> = own.flat_map(|event| event.consumed.iter().copied()).collect();
        let sent = |event: &EventId| {
            let event = *event;
            let sends = self.events[event].1.sends.iter().enumerate();
            sends
                .filter(|(_, sending)| sending.to == process)
                .map(move |(send, _)| (event, send))
                .collect::<Vec<_>>()
        };
        events.iter().flat_map(sent).filter(|message| !consumed.contains(message)).collect()
    }

    /// What a process may consume: in order, only the first from each sender.
    fn open(&self, state: &State, process: ProcessId) -> Vec<Message> {
        let mut inbox = self.inbox(state, process);
        if self.model.world().channel == Channel::Fifo {
            inbox.sort_by_key(|(event, send)| (self.events[*event].1.ordinal, *send));
            let mut senders = BTreeSet::new();
            inbox.retain(|(event, _)| senders.insert(self.events[*event].0.process));
        }
        inbox
    }

    /// Every event that can happen next.
    fn next(&mut self, state: &State) -> Result<Vec<EventId>, Panics> {
        let mut next = Vec::new();
        let model = self.model;
        for process in model.ids() {
            let own = state.iter().copied().filter(|event| self.events[*event].0.process == process);
            let before = own.max_by_key(|event| self.events[*event].1.ordinal);
            let (local, ordinal, restarts) = match before {
                Some(event) => {
                    let Effect { state, ordinal, restarts, .. } = &self.events[event].1;
                    (state.clone(), ordinal + 1, *restarts)
                }
                None => (model.process(process).initial().clone(), 0, 0),
            };
            let open = self.open(state, process);
            for transition in 0..model.process(process).transitions().len() {
                for bag in self.bags(process, transition, &open) {
                    let envelopes: Vec<Envelope> =
                        bag.iter().map(|message| self.envelope(*message)).collect();
                    let consumed: Vec<&Envelope> = envelopes.iter().collect();
                    if !model.accepts(process, transition, &local, &consumed).map_err(|_| Panics)? {
                        continue;
                    }
                    for outcome in model.run(process, transition, &local, &consumed) {
                        let outcome = outcome.map_err(|_| Panics)?;
                        let index = |choice: &Choice| choice.index;
                        let choices = outcome.choices.iter().map(index).collect();
                        let (transition, consumed) = (Some(transition), bag.clone());
                        let event = Event { process, before, transition, consumed, choices };
                        let effect = Effect { state: outcome.state, sends: outcome.sends, ordinal, restarts };
                        next.push(self.number(event, effect));
                    }
                }
            }
            if restarts < model.fault_limits_of(process).restarts {
                let state = model.restarted(process, &local).map_err(|_| Panics)?;
                if state != local {
                    let event = Event {
                        process,
                        before,
                        transition: None,
                        consumed: Vec::new(),
                        choices: Vec::new(),
                    };
                    let effect = Effect { state, sends: Vec::new(), ordinal, restarts: restarts + 1 };
                    next.push(self.number(event, effect));
                }
            }
        }
        Ok(next)
    }

    fn number(&mut self, event: Event, effect: Effect) -> EventId {
        let fresh = self.events.len();
        let number = *self.numbers.entry(event.clone()).or_insert(fresh);
        if number == fresh {
            self.events.push((event, effect));
        }
        number
    }

    /// The sets of messages that a transition might consume. A selection may panic on a single message.
    fn bags(&self, process: ProcessId, transition: usize, open: &[Message]) -> Vec<Vec<Message>> {
        let sizes = match self.model.process(process).transitions()[transition].trigger() {
            Trigger::Internal => BTreeSet::from([0]),
            Trigger::Message(_) => BTreeSet::from([1]),
            Trigger::Quorum(QuorumSystem::Size { size, .. }) => BTreeSet::from([1, *size]),
            Trigger::Quorum(QuorumSystem::Listed(quorums)) => {
                quorums.iter().map(Vec::len).chain([1]).collect()
            }
        };
        sizes.into_iter().flat_map(|size| subsets(open, size)).collect()
    }

    /// An event as a step after others.
    fn scheduled(&self, happened: &[EventId], event: EventId) -> ScheduledStep {
        let Event { process, transition, consumed, choices, .. } = &self.events[event].0;
        let inbox = self.inbox(happened, *process);
        let taken = |message: &Message| {
            let envelope = self.envelope(*message);
            let earlier = inbox.iter().take_while(|other| *other != message);
            let nth = earlier.filter(|other| self.envelope(**other) == envelope).count();
            Taken { envelope, nth, forged: false }
        };
        ScheduledStep {
            process: *process,
            kind: if transition.is_some() { StepKind::Transition } else { StepKind::Restart },
            transition: transition.unwrap_or(0),
            consumed: consumed.iter().map(taken).collect(),
            choices: choices.clone(),
            sent: Vec::new(),
        }
    }
}

fn subsets(of: &[Message], size: usize) -> Vec<Vec<Message>> {
    match (size, of) {
        (0, _) => vec![Vec::new()],
        (_, []) => Vec::new(),
        (_, [first, rest @ ..]) => {
            let with = subsets(rest, size - 1).into_iter().map(|subset| {
                let mut subset = [&[*first], subset.as_slice()].concat();
                subset.sort_unstable();
                subset
            });
            with.chain(subsets(rest, size)).collect()
        }
    }
}
