//! Stubborn sets: of all processes that can step in a state, some that are enough.
//!
//! From: docs/theory/stubborn.md; MP-Basset's refinements (Bokor et al., DSN 2011) come out of the local graphs,
//! since a step names the messages that it consumes and those that it sends. Steps of different processes commute;
//! one process depends on another only in that it waits for its messages. So a set of processes is enough if nobody
//! outside can send what would let a member do something new, and if what members do cannot be repeated for ever.
//!
//! Known: all local states, local steps and ends of runs are found; what is violated in a state and stays
//! so for ever is found too. Other properties need [`Needs::visible`]. With monitors, steps that emit depend on
//! each other. Processes are looked at in the order of their roles' names, so that a choice does not depend on the
//! order in which anything was declared or discovered.
//! Held by: testkit/tests/reductions.rs, with mutants.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::BuildHasherDefault;
use std::sync::Arc;

use super::beliefs::ProcessStates;
use super::cycles::cyclic;
use super::futures::{Futures, RowId};
use super::orbits::Orbits;
use crate::base::{FoldHasher, Mutant, Mutants, PairMap, ProcessId, ProcessSet, heed};
use crate::kernel::process::{
    AskContext, ConfigurationId, Edge, InboxMask, LocalId, LocalStep, MessageId, Messages, emits,
};
use crate::model::Model;
use crate::reduce::{Refinement, Seeds};

/// How stubborn sets are made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::kernel) struct Needs {
    /// How finely the search looks at who can send what to whom.
    pub(in crate::kernel) refinement: Refinement,
    /// From which processes sets are grown.
    pub(in crate::kernel) seeds: Seeds,
    /// Of the senders that a member waits for, is the one with the fewest steps added, or the first? The former leaves
    /// fewer vectors of beliefs, the latter fewer of configurations: measured on Paxos, docs/decisions/0018.
    pub(in crate::kernel) fewest_steps: bool,
    /// May a step that changes what properties see be taken apart from others?
    pub(in crate::kernel) visible: bool,
    /// What is left out, to show that the tests notice.
    pub(in crate::kernel) mutants: Mutants,
}

/// What stubborn sets are built from.
pub(in crate::kernel) struct Stubborn {
    needs: Needs,
    /// The processes in the order of their roles' names. A set of processes is a word with their bits in this order.
    order: Vec<usize>,
    /// For each process, its place in that order.
    place: Vec<usize>,
    /// What may still be sent.
    futures: Futures,
    /// The steps that may be repeated for ever.
    sticky: HashSet<(ProcessId, Edge)>,
    /// For each process and configuration, what its steps do, as far as somebody asked. A configuration is a member of
    /// many beliefs.
    does: Vec<Vec<Option<Does>>>,
    /// The same for each process, local state and way to take a step there.
    ways_do: Vec<HashMap<Way, Does, BuildHasherDefault<FoldHasher>>>,
    /// For each process and list of messages to it, their bits.
    list_bits: Vec<Vec<Option<InboxMask>>>,
    /// For each process, state and messages that may come, where `waiting_for` says for whom it waits.
    missing: Vec<PairMap>,
    ranges: Vec<(u32, u32)>,
    /// Sets of senders. A process waits for one of each.
    waiting_for: Vec<u64>,
}

/// A local state, a transition, and the messages that it consumes, as bits.
type Way = (LocalId, (usize, InboxMask));

/// What some step of a configuration or a state does.
#[derive(Clone, Copy, Default)]
struct Does {
    /// A monitor hears of it.
    emits: bool,
    /// It may be repeated for ever.
    sticky: bool,
    /// A property sees a difference.
    visible: bool,
}

impl Does {
    fn or(self, other: Does) -> Does {
        Does {
            emits: self.emits | other.emits,
            sticky: self.sticky | other.sticky,
            visible: self.visible | other.visible,
        }
    }
}

/// What matters of a state of a process.
#[derive(Clone, Copy)]
pub(in crate::kernel) struct Traits {
    pub(in crate::kernel) steps: u32,
    /// Is one of them owed? A run may end before others are taken, so a set of processes without one is not enough.
    pub(in crate::kernel) owes: bool,
    does: Does,
    /// What may still be sent.
    future: RowId,
}

impl Traits {
    /// Of a state that was not looked at.
    pub(in crate::kernel) const NONE: Traits = Traits {
        steps: 0,
        owes: false,
        does: Does { emits: false, sticky: false, visible: false },
        future: 0,
    };
}

/// What it takes to look at processes.
pub(in crate::kernel) struct Looking<'l, 'm> {
    pub(in crate::kernel) orbits: &'l mut Orbits,
    pub(in crate::kernel) states_of: &'l mut [ProcessStates],
    pub(in crate::kernel) ask: &'l mut AskContext<'m>,
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
        let of_locals: Vec<HashMap<LocalId, BTreeSet<MessageId>>> =
            graphs().map(|(_, graph)| graph.futures(mail)).collect();
        let sticky =
            if needs.mutants.has(Mutant::NoProviso) { HashSet::new() } else { cyclic(graphs(), mail, model) };
        let mut order: Vec<usize> = (0..processes.len()).collect();
        order.sort_by_key(|at| (model.process(ProcessId::new(*at)).role().to_string(), *at));
        let mut place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(at, process)| place[*process] = at);
        Stubborn {
            needs,
            order,
            place,
            futures: Futures::new(of_locals, needs.refinement),
            sticky,
            does: vec![Vec::new(); processes.len()],
            ways_do: vec![HashMap::default(); processes.len()],
            list_bits: vec![Vec::new(); processes.len()],
            missing: (0..processes.len()).map(|_| PairMap::default()).collect(),
            ranges: Vec::new(),
            waiting_for: Vec::new(),
        }
    }

    pub(in crate::kernel) fn needs(&self) -> Needs {
        self.needs
    }

    /// For each process, the local states in which something else matters than before: what may still be sent, or which
    /// steps can be repeated for ever.
    pub(in crate::kernel) fn changed_locals(
        &self,
        before: &Stubborn,
        states_of: &[ProcessStates],
    ) -> Vec<Vec<bool>> {
        let mut changed: Vec<Vec<bool>> = (0..self.order.len())
            .map(|process| {
                let same = |local| self.futures.same_in(&before.futures, process, local);
                let locals = states_of[process].graph.number_of_locals();
                (0..locals).map(|local| !same(local)).collect()
            })
            .collect();
        for (process, edge) in self.sticky.symmetric_difference(&before.sticky) {
            changed[process.index()][edge.from as usize] = true;
        }
        changed
    }

    /// Who steps in a vector of states with these traits: all, or the smallest set that is enough.
    pub(in crate::kernel) fn choose(
        &mut self,
        vector: &[u32],
        traits: &[Traits],
        looking: &mut Looking<'_, '_>,
    ) -> ProcessSet {
        let all: u32 = traits.iter().map(|traits| traits.steps).sum();
        let mut best = (None, all);
        let idle = self.needs.mutants.has(Mutant::IdleSeeds);
        let is_seed = |at: &usize| traits[*at].owes || idle && traits[*at].steps > 0;
        let seeds: &mut dyn Iterator<Item = usize> = match self.needs.seeds {
            Seeds::Best => &mut (0..self.order.len()).map(|at| self.order[at]).filter(is_seed),
            Seeds::First => &mut (0..traits.len()).find(is_seed).into_iter(),
            Seeds::Last => &mut (0..traits.len()).rev().find(is_seed).into_iter(),
        };
        // A set with one step cannot be bettered, and one has at least the steps of its seed.
        let seeds: Vec<usize> = seeds.collect();
        for seed in seeds {
            if best.1 <= 1 || traits[seed].steps >= best.1 {
                continue;
            }
            let members = self.grow((seed, best.1), vector, traits, looking);
            let inside = || bits(members).map(|at| &traits[self.order[at]]);
            let steps = inside().map(|traits| traits.steps).sum();
            let allowed =
                inside().all(|traits| !traits.does.sticky && (self.needs.visible || !traits.does.visible));
            if allowed && steps < best.1 {
                best = (Some(members), steps);
            }
        }
        let named = |members: u64| {
            let one = |at: usize| ProcessSet::one(ProcessId::new(self.order[at]));
            bits(members).map(one).fold(ProcessSet::EMPTY, ProcessSet::union)
        };
        best.0.map_or(ProcessSet::ALL, named)
    }

    /// The smallest set with this process that nobody outside can bring to do something new. Ends early, with a part of it,
    /// once that has as many steps as `most`.
    fn grow(
        &mut self,
        (seed, most): (usize, u32),
        vector: &[u32],
        traits: &[Traits],
        looking: &mut Looking<'_, '_>,
    ) -> u64 {
        let mut members = 1 << self.place[seed];
        let mut so_many = traits[seed].steps;
        let everyone = u64::MAX >> (64 - self.order.len());
        loop {
            heed();
            let before = members;
            if bits(members).any(|at| traits[self.order[at]].does.emits) {
                let may_emit =
                    |at: &usize| self.futures.may_emit(self.order[*at], traits[self.order[*at]].future);
                members |= bits(everyone & !members).filter(may_emit).fold(0, |all, at| all | 1 << at);
            }
            let outside = everyone & !members;
            let mut added = 0;
            for at in bits(members) {
                let process = self.order[at];
                let coming = bits(outside).fold(Futures::NOTHING, |coming, other| {
                    let other = self.order[other];
                    self.futures.with(process, coming, other, traits[other].future)
                });
                if coming == Futures::NOTHING {
                    continue;
                }
                let (start, end) = self.missing(process, vector[process], coming, looking);
                if start == end {
                    continue;
                }
                if !self.needs.refinement.by_reply() {
                    // Who sends to one of a role is taken to send to all.
                    let sends = |other: &usize| {
                        let other = self.order[*other];
                        self.futures.sends_to(process, other, traits[other].future)
                    };
                    added |= bits(outside).filter(sends).fold(0, |all, other| all | 1 << other);
                    continue;
                }
                for senders in &self.waiting_for[start as usize..end as usize] {
                    if !self.needs.refinement.by_quorum() {
                        // A quorum waits for everybody who could be in it.
                        added |= senders;
                    } else if senders & added == 0 {
                        let fewest_steps = |at: &usize| {
                            if self.needs.fewest_steps { traits[self.order[*at]].steps } else { 0 }
                        };
                        added |= bits(*senders).min_by_key(fewest_steps).map_or(0, |at| 1 << at);
                    }
                }
            }
            if !self.needs.mutants.has(Mutant::NoEnabling) {
                members |= added;
            }
            let steps: u32 = bits(members & !before).map(|at| traits[self.order[at]].steps).sum();
            so_many += steps;
            if members == before || so_many >= most {
                return members;
            }
        }
    }

    /// What a state of a process could newly do with messages that may come: for each way the senders of what it lacks.
    #[inline]
    fn missing(
        &mut self,
        process: usize,
        state: u32,
        coming: u32,
        looking: &mut Looking<'_, '_>,
    ) -> (u32, u32) {
        if let Some(known) = self.missing[process].get(state, coming) {
            return self.ranges[known as usize];
        }
        let found = self.learn_missing(process, state, coming, looking);
        let number = |length| u32::try_from(length).expect("fewer than 2^32 sets of senders");
        let start = number(self.waiting_for.len());
        self.waiting_for.extend(found);
        self.missing[process].insert(state, coming, number(self.ranges.len()));
        self.ranges.push((start, number(self.waiting_for.len())));
        *self.ranges.last().expect("it was just put there")
    }

    #[cold]
    fn learn_missing(
        &mut self,
        process: usize,
        state: u32,
        coming: u32,
        looking: &mut Looking<'_, '_>,
    ) -> Vec<u64> {
        let Looking { states_of, ask, .. } = looking;
        let coming_bits = self.bits_of_list(process, coming, states_of, ask);
        let coming: Vec<MessageId> = self.futures.messages(process, coming).to_vec();
        // Who waits for one of few waits for one of more.
        let fewest = self.needs.refinement.by_quorum() && self.needs.refinement.by_reply();
        let mut found: Vec<u64> = Vec::new();
        let sender = |message: &MessageId, ask: &AskContext<'_>| {
            1u64 << self.place[ask.mail.envelope(*message).from.index()]
        };
        for at in 0..states_of[process].member_count(state) {
            let member = states_of[process].member(state, at);
            let graph = &mut states_of[process].graph;
            let by_bits = coming_bits
                .is_some_and(|bits| graph.lacking(member, bits, (&self.place, fewest), ask, &mut found));
            if !by_bits {
                for (_, lacks) in graph.missing(member, &coming, ask) {
                    found.push(lacks.iter().fold(0, |all, message| all | sender(message, ask)));
                }
            }
            if graph.may_lose_or_double(member, ask) {
                // No transition, but a step that lacks the message.
                found.extend(coming.iter().map(|message| sender(message, ask)));
            }
        }
        found.sort_unstable();
        found.dedup();
        if fewest {
            let all = found.clone();
            found.retain(|senders| !all.iter().any(|fewer| fewer != senders && fewer & senders == *fewer));
        }
        found.sort_unstable_by_key(|senders| (senders.count_ones(), *senders));
        found
    }

    /// A list of messages to a process as bits, if its inboxes are bits.
    fn bits_of_list(
        &mut self,
        process: usize,
        list: u32,
        states_of: &mut [ProcessStates],
        ask: &AskContext<'_>,
    ) -> Option<InboxMask> {
        let known = &mut self.list_bits[process];
        let at = list as usize;
        if known.len() <= at {
            known.resize(at + 1, None);
        }
        if known[at].is_none() {
            let messages = self.futures.messages(process, list);
            known[at] = states_of[process].graph.bits_of_messages(messages, &ask.mail);
        }
        known[at]
    }

    /// What matters of a state of a process, whose steps are so many.
    pub(in crate::kernel) fn traits(
        &mut self,
        process: usize,
        state: u32,
        (steps, owes): (u32, bool),
        looking: &mut Looking<'_, '_>,
    ) -> Traits {
        let mut traits = Traits { steps, owes, ..Traits::NONE };
        let members = looking.states_of[process].members(state);
        let looks =
            !self.sticky.is_empty() || !looking.ask.model.monitors().is_empty() || !self.needs.visible;
        if looks {
            for &member in &members {
                traits.does = traits.does.or(self.does(process, member, looking));
            }
        }
        let Looking { states_of, ask, .. } = looking;
        let locals = members.iter().map(|member| states_of[process].graph.local(*member));
        traits.future = self.futures.of_locals(process, locals, &ask.mail, ask.model);
        traits
    }

    fn does(&mut self, process: usize, member: ConfigurationId, looking: &mut Looking<'_, '_>) -> Does {
        let at = member as usize;
        if self.does[process].len() <= at {
            self.does[process].resize(at + 1, None);
        }
        if let Some(known) = self.does[process][at] {
            return known;
        }
        let does = self.look_at_steps(process, member, looking);
        self.does[process][at] = Some(does);
        does
    }

    fn look_at_steps(&mut self, at: usize, member: ConfigurationId, looking: &mut Looking<'_, '_>) -> Does {
        let (mut does, mut new) = (Does::default(), Vec::new());
        let local = looking.states_of[at].graph.local(member);
        let known = &mut self.ways_do[at];
        let by_ways =
            looking.states_of[at].graph.each_way(member, looking.ask, |way, messages, outcomes| match known
                .get(&(local, way))
            {
                Some(way) => does = does.or(*way),
                None => new.push((way, messages.to_vec(), Arc::clone(outcomes))),
            });
        for (way, messages, outcomes) in new {
            let mut way_does = Does::default();
            for outcome in outcomes.iter() {
                let LocalStep::Done { local: to, sends, .. } = *outcome else { continue };
                let edge = Edge { from: local, to, consumed: messages.clone(), sent: sends };
                way_does = way_does.or(self.edge_does(at, edge, looking));
            }
            self.ways_do[at].insert((local, way), way_does);
            does = does.or(way_does);
        }
        if by_ways {
            return does;
        }
        let Looking { states_of, ask, .. } = looking;
        let mut edges = Vec::new();
        for step in states_of[at].graph.steps(member, ask) {
            let Some((next, _)) = step.leads else { continue };
            let consumed = step.consumed.iter().map(|offer| offer.message).collect();
            edges.push((next, consumed, step.sent));
        }
        for (next, consumed, sent) in edges {
            let to = looking.states_of[at].graph.local(next);
            does = does.or(self.edge_does(at, Edge { from: local, to, consumed, sent }, looking));
        }
        does
    }

    fn edge_does(&self, at: usize, edge: Edge, looking: &mut Looking<'_, '_>) -> Does {
        let Looking { orbits, states_of, ask } = looking;
        let Edge { from, to, sent, .. } = edge;
        Does {
            emits: emits(sent, &ask.mail, ask.model),
            // Where processes are interchangeable, a step is also visible that is so with processes exchanged.
            visible: from != to
                && orbits.view(at, from, states_of, ask) != orbits.view(at, to, states_of, ask),
            sticky: self.sticky.contains(&(ProcessId::new(at), edge)),
        }
    }

    pub(in crate::kernel) fn bytes(&self) -> u64 {
        let missing: u64 = self.missing.iter().map(PairMap::bytes).sum();
        let lists = self.ranges.capacity() * size_of::<(u32, u32)>() + self.waiting_for.capacity() * 8;
        missing + lists as u64 + self.futures.bytes()
    }
}

/// The positions of the bits that are set.
fn bits(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = set.trailing_zeros() as usize;
        (set != 0).then(|| {
            set &= set - 1;
            bit
        })
    })
}
