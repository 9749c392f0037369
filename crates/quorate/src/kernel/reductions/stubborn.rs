//! Stubborn sets: of all processes that can step in a state, some that are enough.
//!
//! From: docs/theory/stubborn.md; MP-Basset's refinements (Bokor et al., DSN 2011) come out of the local graphs,
//! since a step names the messages that it consumes and those that it sends. Steps of different processes commute;
//! one process depends on another only in that it waits for its messages. So a set of processes is enough if nobody
//! outside can send what would let a member do something new, and if what members do cannot be repeated for ever.
//!
//! Known: all local states, local steps and ends of runs are found; what is violated in a state and stays
//! so for ever is found too. Other properties need [`Needs::visible`]. With monitors, steps that emit depend on
//! each other.
//! Held by: testkit/tests/reductions.rs, with mutants.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::beliefs::ProcessStates;
use super::cycles::cyclic;
use super::orbits::Orbits;
use crate::base::{Mutant, Mutants};
use crate::base::{ProcessId, ProcessSet, heed};
use crate::kernel::process::{AskContext, ConfigurationId, Edge, LocalId, MessageId, Messages, emits};
use crate::kernel::state::State;
use crate::model::Model;
use crate::reduce::{Refinement, Seeds};

/// How stubborn sets are made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::kernel) struct Needs {
    /// How finely the search looks at who can send what to whom.
    pub(in crate::kernel) refinement: Refinement,
    /// From which processes sets are grown.
    pub(in crate::kernel) seeds: Seeds,
    /// May a step that changes what properties see be taken apart from others?
    pub(in crate::kernel) visible: bool,
    /// What is left out, to show that the tests notice.
    pub(in crate::kernel) mutants: Mutants,
}

/// The messages that a transition lacks, for each way to take it.
type Missing = Arc<[(usize, Vec<MessageId>)]>;

/// What stubborn sets are built from, and those that were chosen.
pub(in crate::kernel) struct Stubborn {
    needs: Needs,
    /// For each process and local state, what may still be sent.
    futures: Vec<HashMap<LocalId, BTreeSet<MessageId>>>,
    /// For each process, what it may ever send.
    ever: Vec<BTreeSet<MessageId>>,
    /// The steps that may be repeated for ever.
    sticky: HashSet<(ProcessId, Edge)>,
    traits: HashMap<(usize, u32), Arc<Traits>>,
    missing: HashMap<(usize, u32, Vec<MessageId>), Missing>,
    chosen: HashMap<State, Choice>,
}

/// Who steps in a state, and the state in which they never will, where that is another possibility.
#[derive(Clone, Copy)]
pub(in crate::kernel) struct Choice {
    pub(in crate::kernel) members: ProcessSet,
    pub(in crate::kernel) still: Option<State>,
}

/// What matters of a state of a process.
#[expect(clippy::struct_excessive_bools, reason = "each says something else of the state")]
struct Traits {
    steps: usize,
    /// Is one of them owed? A run may end before others are taken, so a set of processes without one is not enough.
    owes: bool,
    emits: bool,
    sticky: bool,
    visible: bool,
    /// What may still be sent, by receiver.
    future: Vec<Vec<MessageId>>,
    may_emit: bool,
}

impl Stubborn {
    pub(in crate::kernel) fn new(
        needs: Needs,
        states_of: &[ProcessStates],
        mail: &Messages,
        model: &Model,
    ) -> Self {
        let processes = &states_of[..model.processes().len()];
        let graphs = || model.ids().zip(processes).map(|(id, states)| (id, &states.graph.seen));
        let futures: Vec<HashMap<LocalId, BTreeSet<MessageId>>> =
            graphs().map(|(_, graph)| graph.futures(mail)).collect();
        let ever = futures.iter().map(|of| of.values().flatten().copied().collect()).collect();
        let sticky =
            if needs.mutants.has(Mutant::NoProviso) { HashSet::new() } else { cyclic(graphs(), mail, model) };
        let (traits, missing, chosen) = (HashMap::new(), HashMap::new(), HashMap::new());
        Stubborn { needs, futures, ever, sticky, traits, missing, chosen }
    }

    /// Who steps in a state, if that has been worked out.
    pub(in crate::kernel) fn chosen(&self, state: State) -> Option<Choice> {
        self.chosen.get(&state).copied()
    }

    /// The numbers of states mean something else now.
    pub(in crate::kernel) fn forget_states(&mut self) {
        self.chosen.clear();
    }

    pub(in crate::kernel) fn remember(&mut self, state: State, choice: Choice) {
        self.chosen.insert(state, choice);
    }

    /// Who steps in a vector of states: all, or the smallest set that is enough.
    pub(in crate::kernel) fn choose(
        &mut self,
        vector: &[u32],
        orbits: &mut Orbits,
        states_of: &mut [ProcessStates],
        ask: &mut AskContext<'_>,
    ) -> ProcessSet {
        let processes = ask.model.processes().len();
        let traits: Vec<Arc<Traits>> =
            (0..processes).map(|at| self.traits(at, vector[at], orbits, states_of, ask)).collect();
        let all: usize = traits.iter().map(|traits| traits.steps).sum();
        let everyone = ProcessSet::ALL;
        let mut best = (everyone, all);
        let idle = self.needs.mutants.has(Mutant::IdleSeeds);
        let is_seed = |traits: &Traits| traits.owes || idle && traits.steps > 0;
        let mut seeds: Vec<usize> = (0..processes).filter(|at| is_seed(&traits[*at])).collect();
        match self.needs.seeds {
            Seeds::Best => {}
            Seeds::First => seeds.truncate(1),
            Seeds::Last => seeds = seeds.pop().into_iter().collect(),
        }
        for seed in seeds {
            let members = self.grow(seed, vector, &traits, states_of, ask);
            let inside = || (0..processes).filter(|at| members.contains(ProcessId::new(*at)));
            let steps = inside().map(|at| traits[at].steps).sum();
            let allowed =
                inside().all(|at| !traits[at].sticky && (self.needs.visible || !traits[at].visible));
            if allowed && steps < best.1 {
                best = (members, steps);
            }
        }
        best.0
    }

    /// The smallest set with this process that nobody outside can bring to do something new.
    fn grow(
        &mut self,
        seed: usize,
        vector: &[u32],
        traits: &[Arc<Traits>],
        states_of: &mut [ProcessStates],
        ask: &mut AskContext<'_>,
    ) -> ProcessSet {
        let mut members = ProcessSet::one(ProcessId::new(seed));
        let outside = |members: ProcessSet| {
            (0..traits.len()).filter(move |at| !members.contains(ProcessId::new(*at))).collect::<Vec<usize>>()
        };
        loop {
            heed();
            let before = members;
            let emitting =
                (0..traits.len()).any(|at| members.contains(ProcessId::new(at)) && traits[at].emits);
            if emitting {
                let others = outside(members).into_iter().filter(|at| traits[*at].may_emit);
                members =
                    others.fold(members, |members, at| members.union(ProcessSet::one(ProcessId::new(at))));
            }
            let mut waiting_for = Vec::new();
            for at in (0..traits.len()).filter(|at| members.contains(ProcessId::new(*at))) {
                let coming: BTreeSet<MessageId> =
                    outside(members).iter().flat_map(|other| &traits[*other].future[at]).copied().collect();
                let missing = self.missing(at, vector[at], coming.into_iter().collect(), states_of, ask);
                let senders = |message: &MessageId| -> ProcessSet {
                    let sends = |other: &usize| traits[*other].future[at].contains(message);
                    let senders = outside(members).into_iter().filter(sends);
                    senders
                        .fold(ProcessSet::EMPTY, |all, one| all.union(ProcessSet::one(ProcessId::new(one))))
                };
                let ways = |(_, lacking): &(usize, Vec<MessageId>)| lacking.iter().map(senders).collect();
                waiting_for.extend(missing.iter().map(ways));
            }
            if !self.needs.mutants.has(Mutant::NoEnabling) {
                members = members.union(self.enough(waiting_for));
            }
            if members == before {
                return members;
            }
        }
    }

    /// Senders to add, so that each of several things that members could do lacks a message that nobody outside
    /// sends. Each is given by the senders of the messages that it lacks.
    fn enough(&self, mut waiting_for: Vec<Vec<ProcessSet>>) -> ProcessSet {
        let mut added = ProcessSet::EMPTY;
        loop {
            heed();
            let lacks = |senders: &ProcessSet| senders.is_subset(added);
            waiting_for.retain(|lacking| !lacking.iter().any(lacks));
            if !self.needs.refinement.by_quorum() {
                // A quorum waits for everybody who could be in it.
                return waiting_for.into_iter().flatten().fold(added, ProcessSet::union);
            }
            let fewest = |lacking: &Vec<ProcessSet>| {
                lacking.iter().copied().min_by_key(|senders| senders.without(added).count())
            };
            match waiting_for.first().and_then(fewest) {
                Some(senders) => added = added.union(senders),
                None => return added,
            }
        }
    }

    fn missing(
        &mut self,
        at: usize,
        state: u32,
        coming: Vec<MessageId>,
        states_of: &mut [ProcessStates],
        ask: &mut AskContext<'_>,
    ) -> Missing {
        if coming.is_empty() {
            return Arc::from([]);
        }
        let key = (at, state, coming);
        if let Some(known) = self.missing.get(&key) {
            return Arc::clone(known);
        }
        let states = &mut states_of[at];
        let mut missing: BTreeSet<(usize, Vec<MessageId>)> = BTreeSet::new();
        for member in states.members(state) {
            missing.extend(states.graph.missing(member, &key.2, ask));
            if states.graph.may_lose_or_double(member, ask) {
                // No transition, but a step that lacks the message.
                let none = ask.model.process(ProcessId::new(at)).transitions().len();
                missing.extend(key.2.iter().map(|message| (none, vec![*message])));
            }
        }
        let missing: Missing = missing.into_iter().collect();
        self.missing.insert(key, Arc::clone(&missing));
        missing
    }

    fn traits(
        &mut self,
        at: usize,
        state: u32,
        orbits: &mut Orbits,
        states_of: &mut [ProcessStates],
        ask: &mut AskContext<'_>,
    ) -> Arc<Traits> {
        if let Some(known) = self.traits.get(&(at, state)) {
            return Arc::clone(known);
        }
        let traits = Arc::new(self.work_out(at, state, orbits, states_of, ask));
        self.traits.insert((at, state), Arc::clone(&traits));
        traits
    }

    fn work_out(
        &self,
        at: usize,
        state: u32,
        orbits: &mut Orbits,
        states_of: &mut [ProcessStates],
        ask: &mut AskContext<'_>,
    ) -> Traits {
        let (process, model) = (ProcessId::new(at), ask.model);
        let leads = states_of[at].steps(state, ask);
        let (steps, owes) = (leads.len(), leads.iter().any(|lead| lead.goes_on()));
        let members = states_of[at].members(state);
        let mut traits = Traits {
            steps,
            owes,
            emits: false,
            sticky: false,
            visible: false,
            future: Vec::new(),
            may_emit: false,
        };
        for &member in &members {
            self.look_at_steps(process, member, orbits, states_of, ask, &mut traits);
        }
        let mut future: BTreeSet<MessageId> = BTreeSet::new();
        for member in members {
            let local = states_of[at].graph.local(member);
            future.extend(self.futures[at].get(&local).into_iter().flatten());
        }
        let mail = &ask.mail;
        let to_monitor = |message: &MessageId| model.monitor(mail.receiver(*message)).is_some();
        traits.may_emit = future.iter().any(to_monitor);
        let coarse = if self.needs.refinement.by_state() { &future } else { &self.ever[at] };
        traits.future = model.ids().map(|to| self.can_send(coarse, to, mail, model)).collect();
        traits
    }

    /// Of these messages, those to a process; without the paper's reply split, also what goes to others of its role.
    fn can_send(
        &self,
        sent: &BTreeSet<MessageId>,
        to: ProcessId,
        mail: &Messages,
        model: &Model,
    ) -> Vec<MessageId> {
        let direct = |message: &&MessageId| mail.receiver(**message) == to;
        if self.needs.refinement.by_reply()
            || !sent.iter().any(|message| {
                let receiver = mail.receiver(*message);
                model.monitor(receiver).is_none()
                    && model.process(receiver).role() == model.process(to).role()
            })
        {
            return sent.iter().filter(direct).copied().collect();
        }
        // Who sends to one of a role is taken to send to all: whatever the process was ever sent by anybody.
        let ever = self.ever.iter().flatten().filter(direct).copied();
        ever.collect::<BTreeSet<MessageId>>().into_iter().collect()
    }

    fn look_at_steps(
        &self,
        process: ProcessId,
        member: ConfigurationId,
        orbits: &mut Orbits,
        states_of: &mut [ProcessStates],
        ask: &mut AskContext<'_>,
        traits: &mut Traits,
    ) {
        let at = process.index();
        let local = states_of[at].graph.local(member);
        for step in states_of[at].graph.steps(member, ask) {
            let Some((next, _)) = step.leads else { continue };
            let to = states_of[at].graph.local(next);
            let consumed = step.consumed.iter().map(|offer| offer.message).collect();
            traits.emits |= emits(step.sent, &ask.mail, ask.model);
            traits.sticky |=
                self.sticky.contains(&(process, Edge { from: local, to, consumed, sent: step.sent }));
            // Where processes are interchangeable, a step is also visible that is so with processes exchanged.
            traits.visible |=
                to != local && orbits.view(at, local, states_of, ask) != orbits.view(at, to, states_of, ask);
        }
    }
}
