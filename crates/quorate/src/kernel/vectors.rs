//! Global states as vectors, a number for each process: what is known of their states, and of what they do.
//!
//! From: docs/theory/kernel.md 10. Groups of processes, as in `groups/`, pay where every process steps in every state.
//! Where few do and each successor is replaced by another vector, groups hardly repeat; states of single processes do.
//! So each process has a table of what its states do, and what is not known yet is worked out on the spot.
//!
//! PERF: docs/decisions/0018. Nothing is allocated for a state whose parts are known.
//! Invariant: the successors of a vector do not depend on what was expanded before, but for the numbers of states that
//! are met for the first time.
//! Held by: testkit/tests/reductions.rs, crates/quorate-zoo/tests/reductions.rs.

use super::groups::{Judgement, PropertyViews};
use super::process::{AskContext, NOTHING, SendListId};
use super::reductions::{Looking, Orbits, ProcessStates, Stubborn, Traits, ViewId};
use crate::base::{Lists, PairMap, ProcessId, ProcessSet};

/// What is known of vectors and of the states in them.
pub(super) struct Vectors {
    parts: Vec<Part>,
    /// For each list of messages, who receives which of them.
    deliveries: Vec<Option<Delivery>>,
    /// What is seen of all processes together, and what the properties say of it.
    views: Lists,
    judgements: Vec<Judgement>,
    /// Room for what expanding a vector needs.
    traits: Vec<Traits>,
    seen: Vec<ViewId>,
    reached: Vec<u32>,
}

/// Who receives which of the messages that are sent together.
type Delivery = Box<[(usize, SendListId)]>;

/// The states of one process or monitor.
#[derive(Default)]
struct Part {
    known: Vec<Known>,
    steps: Vec<PartStep>,
    /// For a state and messages that arrive, the state after that.
    arrivals: PairMap,
}

/// What is known of a state of a process.
#[derive(Clone, Copy)]
struct Known {
    /// Where its steps begin and end; the beginning is [`UNKNOWN`] as long as they are not known.
    steps: (u32, u32),
    view: ViewId,
    /// The state in which it never steps again, [`UNKNOWN`] or [`NONE`].
    still: u32,
    panics: bool,
    traits: Traits,
}

/// A step of a state of a process.
#[derive(Clone, Copy)]
pub(super) struct PartStep {
    pub(super) next: u32,
    pub(super) sends: SendListId,
    owed: bool,
}

const UNKNOWN: u32 = u32::MAX;

/// There is no such state: no room for what arrives, or no way to stay for ever.
const NONE: u32 = u32::MAX - 1;

/// Everything but the tables of vectors that expanding one needs.
pub(super) struct Context<'c, 'm> {
    pub(super) ask: &'c mut AskContext<'m>,
    pub(super) states_of: &'c mut [ProcessStates],
    pub(super) orbits: &'c mut Orbits,
    pub(super) views: &'c mut PropertyViews,
    pub(super) stubborn: &'c mut Option<Stubborn>,
}

impl Vectors {
    pub(super) fn new(width: usize) -> Self {
        Vectors {
            parts: (0..width).map(|_| Part::default()).collect(),
            deliveries: Vec::new(),
            views: Lists::default(),
            judgements: Vec::new(),
            traits: Vec::new(),
            seen: Vec::new(),
            reached: Vec::new(),
        }
    }

    /// Finds out what the states of a vector do.
    pub(super) fn look_at(&mut self, vector: &[u32], context: &mut Context<'_, '_>) {
        for (process, state) in vector.iter().enumerate() {
            let known = self.parts[process].known.get(*state as usize);
            if known.is_none_or(|known| known.steps.0 == UNKNOWN) {
                self.parts[process].learn(process, *state, context);
            }
        }
    }

    fn known(&self, process: usize, state: u32) -> &Known {
        &self.parts[process].known[state as usize]
    }

    /// What matters of a state that was looked at.
    pub(super) fn traits(&self, process: usize, state: u32) -> &Traits {
        &self.known(process, state).traits
    }

    /// Does a step of one of its states panic?
    pub(super) fn panics(&self, vector: &[u32]) -> bool {
        vector.iter().enumerate().any(|(process, state)| self.known(process, *state).panics)
    }

    /// Room for a vector.
    pub(super) fn room(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.reached)
    }

    /// Gives back the room.
    pub(super) fn give_back(&mut self, room: Vec<u32>) {
        self.reached = room;
    }

    pub(super) fn steps(&self, process: usize, state: u32) -> &[PartStep] {
        let part = &self.parts[process];
        let (start, end) = part.known[state as usize].steps;
        &part.steps[start as usize..end as usize]
    }

    pub(super) fn choose(&mut self, vector: &[u32], context: &mut Context<'_, '_>) -> ProcessSet {
        let Context { ask, states_of, orbits, stubborn: Some(stubborn), .. } = context else {
            return ProcessSet::ALL;
        };
        let processes = ask.model.processes().len();
        let mut traits = std::mem::take(&mut self.traits);
        traits.clear();
        traits.extend((0..processes).map(|process| self.known(process, vector[process]).traits));
        let members = stubborn.choose(vector, &traits, &mut Looking { orbits, states_of, ask });
        self.traits = traits;
        members
    }

    /// Delivers messages. Says whether there is room for them.
    #[inline]
    pub(super) fn deliver(
        &mut self,
        sends: SendListId,
        vector: &mut [u32],
        context: &mut Context<'_, '_>,
    ) -> bool {
        if sends == NOTHING {
            return true;
        }
        let Vectors { parts, deliveries, .. } = self;
        let at = sends as usize;
        if deliveries.get(at).is_none_or(Option::is_none) {
            learn_delivery(deliveries, sends, vector.len(), context.ask);
        }
        let received = deliveries[at].as_deref().unwrap_or_default();
        received.iter().all(|(receiver, messages)| {
            let state = &mut vector[*receiver];
            *state = match parts[*receiver].arrivals.get(*state, *messages) {
                Some(known) => known,
                None => parts[*receiver].learn_arrival(*receiver, *state, *messages, context),
            };
            *state != NONE
        })
    }

    /// The vector in which some processes, whose states are beliefs, never step again. Says whether there is one.
    pub(super) fn still(
        &mut self,
        vector: &[u32],
        members: ProcessSet,
        processes: usize,
        stilled: &mut Vec<u32>,
        context: &mut Context<'_, '_>,
    ) -> bool {
        stilled.clear();
        stilled.extend_from_slice(vector);
        (0..processes).filter(|at| members.contains(ProcessId::new(*at))).all(|process| {
            let state = vector[process];
            if self.known(process, state).still == UNKNOWN {
                let still = context.states_of[process].quiescent(state, context.ask);
                self.parts[process].known[state as usize].still = still.unwrap_or(NONE);
            }
            stilled[process] = self.known(process, state).still;
            stilled[process] != NONE
        })
    }

    /// Does a run end in a vector of configurations? It does if no step is owed, and a step that leaves the whole vector
    /// as it was is not.
    ///
    /// PERF: mostly one look at the first step.
    pub(super) fn ends(&mut self, vector: &[u32], context: &mut Context<'_, '_>) -> bool {
        let waits = context.ask.model.world().channel.makes_senders_wait();
        for process in 0..vector.len() {
            for at in 0..self.steps(process, vector[process]).len() {
                let step = self.steps(process, vector[process])[at];
                let moves = step.next != vector[process];
                if !step.owed {
                    continue;
                }
                if moves && (step.sends == NOTHING || !waits) {
                    return false;
                }
                let mut reached = vector.to_vec();
                reached[process] = step.next;
                if self.deliver(step.sends, &mut reached, context) && reached != vector {
                    return false;
                }
            }
        }
        true
    }

    /// What the properties say of a vector.
    pub(super) fn judge(&mut self, vector: &[u32], context: &mut Context<'_, '_>) -> Judgement {
        let mut seen = std::mem::take(&mut self.seen);
        seen.clear();
        let mut panics = false;
        for (process, state) in vector.iter().enumerate() {
            let known = self.known(process, *state);
            seen.push(known.view);
            panics |= known.panics;
        }
        let judgement = if let Some(known) = self.views.find(&seen) {
            self.judgements[known as usize]
        } else {
            let judgement = context.views.judgement(context.ask.model, &seen, context.orbits);
            self.views.number(&seen);
            self.judgements.push(judgement);
            judgement
        };
        self.seen = seen;
        judgement.or_panics(panics)
    }

    pub(super) fn bytes(&self) -> u64 {
        let part = |part: &Part| {
            let tables =
                part.known.capacity() * size_of::<Known>() + part.steps.capacity() * size_of::<PartStep>();
            tables as u64 + part.arrivals.bytes()
        };
        let parts: u64 = self.parts.iter().map(part).sum();
        parts + self.views.bytes() + (self.deliveries.capacity() * 40) as u64
    }
}

impl Part {
    #[cold]
    fn learn(&mut self, process: usize, state: u32, context: &mut Context<'_, '_>) {
        let Context { ask, states_of, orbits, views, stubborn } = context;
        let leads = states_of[process].steps(state, ask);
        let start = number(self.steps.len());
        for lead in &leads {
            if let Some((next, sends)) = lead.to {
                self.steps.push(PartStep { next, sends, owed: lead.owed });
            }
        }
        let steps = (start, number(self.steps.len()));
        let view = views.of_process(ProcessId::new(process), state, states_of, orbits, ask);
        let panics = leads.iter().any(|lead| lead.to.is_none());
        let is_process = process < ask.model.processes().len();
        let traits = stubborn.as_mut().filter(|_| is_process).map_or(Traits::NONE, |stubborn| {
            let count = number(leads.len());
            let owes = leads.iter().any(|lead| lead.goes_on());
            stubborn.traits(process, state, (count, owes), &mut Looking { orbits, states_of, ask })
        });
        let at = state as usize;
        if self.known.len() <= at {
            self.known.resize(at + 1, NOTHING_KNOWN);
        }
        self.known[at] = Known { steps, view, still: UNKNOWN, panics, traits };
    }

    #[cold]
    fn learn_arrival(
        &mut self,
        process: usize,
        state: u32,
        messages: SendListId,
        context: &mut Context<'_, '_>,
    ) -> u32 {
        let arrived = context.states_of[process].arrive(state, messages, context.ask).unwrap_or(NONE);
        self.arrivals.insert(state, messages, arrived);
        arrived
    }
}

const NOTHING_KNOWN: Known =
    Known { steps: (UNKNOWN, UNKNOWN), view: 0, still: UNKNOWN, panics: false, traits: Traits::NONE };

#[cold]
fn learn_delivery(
    deliveries: &mut Vec<Option<Delivery>>,
    sends: SendListId,
    width: usize,
    ask: &mut AskContext<'_>,
) {
    let received = |process: usize| {
        let (messages, _) = ask.mail.split_own(sends, ProcessId::new(process));
        (messages != NOTHING).then_some((process, messages))
    };
    let received: Delivery = (0..width).filter_map(received).collect();
    if deliveries.len() <= sends as usize {
        deliveries.resize(sends as usize + 1, None);
    }
    deliveries[sends as usize] = Some(received);
}

fn number(length: usize) -> u32 {
    u32::try_from(length).expect("fewer than 2^32 remembered steps")
}
