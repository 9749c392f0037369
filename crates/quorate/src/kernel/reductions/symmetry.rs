//! Symmetry: of states that differ only in which of several interchangeable processes does what, one is searched.
//!
//! From: docs/theory/symmetry.md 2. A permutation acts on a vector of states: it moves the states and renames the
//! processes inside them. The representative of a vector is the least vector that permutations make of it. To find it
//! without trying them all, the members of a group are sorted by what the whole vector says of them, whatever their
//! names are; only where that leaves a choice is every one tried.
//!
//! That a permutation makes no difference is not believed but checked (`certificate`).
//!
//! Known: reductions rely on what was seen of all processes, and a search sees representatives only. So what was seen
//! of one process is added to what was seen of those it can be exchanged with ([`saturate`]).
//! Held by: testkit/tests/reductions.rs; crates/quorate-zoo/tests/reductions.rs (orbits add up to all states).

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::beliefs::ProcessStates;
use super::images::Images;
use crate::base::{ProcessId, fold, heed};
use crate::kernel::process::{AskContext, ConfigurationId, Edge, MessageId};
use crate::model::Model;

const UNKNOWN: u32 = u32::MAX;

/// The groups of interchangeable processes, and what exchanging two neighbours makes of states.
pub(in crate::kernel) struct Symmetry {
    /// The places of the members of each group.
    groups: Vec<Vec<usize>>,
    /// For each group, the position in `swaps` of the swap of its first two members; others follow.
    first_swap: Vec<usize>,
    swaps: Vec<Swap>,
    /// For each process and state, what it says of each member of each group, whatever their names are.
    classes: Vec<Vec<Option<Box<[u32]>>>>,
    class_count: u32,
    /// For each process, the group it is in.
    group_of: Vec<Option<usize>>,
    members: Vec<usize>,
}

/// Two neighbours in a group change places.
struct Swap {
    one: usize,
    other: usize,
    /// For each process, what becomes of its states.
    images: Vec<Vec<u32>>,
    configurations: HashMap<(usize, ConfigurationId), ConfigurationId>,
}

impl Swap {
    /// Where a process's state goes.
    fn place(&self, process: usize) -> usize {
        match process {
            _ if process == self.one => self.other,
            _ if process == self.other => self.one,
            _ => process,
        }
    }

    fn image(&self, process: usize, state: u32) -> Option<u32> {
        self.images[process].get(state as usize).copied().filter(|image| *image != UNKNOWN)
    }

    /// What becomes of a vector, if that is known.
    fn apply(&self, vector: &[u32]) -> Option<Vec<u32>> {
        let mut swapped = vector.to_vec();
        for (process, state) in vector.iter().enumerate() {
            swapped[self.place(process)] = self.image(process, *state)?;
        }
        Some(swapped)
    }
}

impl Symmetry {
    pub(in crate::kernel) fn new(model: &Model) -> Self {
        let processes = model.processes().len() + model.monitors().len();
        let index =
            |group: &Vec<ProcessId>| group.iter().map(|member| member.index()).collect::<Vec<usize>>();
        let groups: Vec<Vec<usize>> = model.symmetry().groups().iter().map(index).collect();
        let (mut swaps, mut first_swap) = (Vec::new(), Vec::new());
        let mut group_of = vec![None; processes];
        for (at, group) in groups.iter().enumerate() {
            first_swap.push(swaps.len());
            for member in group {
                group_of[*member] = Some(at);
            }
            for pair in group.windows(2) {
                let (images, configurations) = (vec![Vec::new(); processes], HashMap::new());
                swaps.push(Swap { one: pair[0], other: pair[1], images, configurations });
            }
        }
        let members = groups.iter().flatten().copied().collect();
        let classes = vec![Vec::new(); processes];
        Symmetry { groups, first_swap, swaps, classes, class_count: 0, group_of, members }
    }

    /// The least of all vectors that permutations make of one; `None` if something about its states is not known.
    pub(in crate::kernel) fn least(&self, vector: &[u32]) -> Option<Vec<u32>> {
        let mut vector = vector.to_vec();
        let mut ties: Vec<&Swap> = Vec::new();
        for (group, first) in self.groups.iter().zip(&self.first_swap) {
            let mut keys: Vec<u64> =
                group.iter().map(|member| self.key(&vector, *member)).collect::<Option<_>>()?;
            // Neighbours change places until all are in order: that is all that a permutation is.
            for end in (1..group.len()).rev() {
                for at in 0..end {
                    if keys[at] > keys[at + 1] {
                        keys.swap(at, at + 1);
                        vector = self.swaps[first + at].apply(&vector)?;
                    }
                }
            }
            let equal = (0..group.len() - 1).filter(|at| keys[*at] == keys[at + 1]);
            ties.extend(equal.map(|at| &self.swaps[first + at]));
        }
        Self::orbit(vector, &ties)?.into_iter().next()
    }

    /// Every vector that these swaps make of one.
    fn orbit(vector: Vec<u32>, swaps: &[&Swap]) -> Option<BTreeSet<Vec<u32>>> {
        let (mut orbit, mut waiting) = (BTreeSet::from([vector.clone()]), vec![vector]);
        while let Some(vector) = waiting.pop() {
            heed();
            for swap in swaps {
                let swapped = swap.apply(&vector)?;
                if !orbit.contains(&swapped) {
                    orbit.insert(swapped.clone());
                    waiting.push(swapped);
                }
            }
        }
        Some(orbit)
    }

    /// How many vectors permutations make of one.
    pub(in crate::kernel) fn orbit_size(&self, vector: Vec<u32>) -> Option<u64> {
        let swaps: Vec<&Swap> = self.swaps.iter().collect();
        Self::orbit(vector, &swaps).map(|orbit| orbit.len() as u64)
    }

    /// What a vector says of a member, whatever the members are called.
    fn key(&self, vector: &[u32], member: usize) -> Option<u64> {
        let position = self.members.iter().position(|other| *other == member)?;
        let mut key = 0u64;
        for (process, state) in vector.iter().enumerate() {
            let class = self.classes[process].get(*state as usize)?.as_ref()?[position];
            // Others of a group have no names either: what they say is added up in any order.
            let who = match self.group_of[process] {
                _ if process == member => 1,
                Some(group) => 2 + group as u64,
                None => 1000 + process as u64,
            };
            key = key.wrapping_add(fold(u64::from(class) ^ who << 32, 0xd6e8_feb8_6659_fd93));
        }
        Some(key)
    }

    /// Works out all that is needed about the states of a vector.
    pub(in crate::kernel) fn learn(
        &mut self,
        vector: &[u32],
        images: &mut Images,
        states_of: &mut [ProcessStates],
        ask: &mut AskContext<'_>,
    ) {
        for (process, state) in vector.iter().enumerate() {
            self.learn_state(process, *state, images, states_of, ask);
        }
    }

    /// Finds every state that permutations make of one, and for each the class in which it puts each member.
    fn learn_state(
        &mut self,
        process: usize,
        state: u32,
        images: &mut Images,
        states_of: &mut [ProcessStates],
        ask: &mut AskContext<'_>,
    ) {
        let known = self.classes[process].get(state as usize).is_some_and(Option::is_some);
        if known {
            return;
        }
        let (mut orbit, mut places) = (vec![(process, state)], BTreeMap::from([((process, state), 0)]));
        let mut at = 0;
        while at < orbit.len() {
            heed();
            let (process, state) = orbit[at];
            if images.exceed(orbit.len()) {
                return;
            }
            for swap in 0..self.swaps.len() {
                let image = self.learn_image(swap, process, state, images, states_of, ask);
                let image = (self.swaps[swap].place(process), image);
                places.entry(image).or_insert_with(|| {
                    orbit.push(image);
                    orbit.len() - 1
                });
            }
            at += 1;
        }
        if images.mean_nothing() {
            return;
        }
        // A state with a member singled out is the same as its image with the member's image singled out.
        let mut classes: Vec<Vec<u32>> = vec![vec![UNKNOWN; self.members.len()]; orbit.len()];
        for start in (0..orbit.len()).flat_map(|at| (0..self.members.len()).map(move |member| (at, member))) {
            if classes[start.0][start.1] != UNKNOWN {
                continue;
            }
            heed();
            let class = self.class_count;
            self.class_count += 1;
            classes[start.0][start.1] = class;
            let mut waiting = vec![start];
            while let Some((at, member)) = waiting.pop() {
                let (process, state) = orbit[at];
                for swap in &self.swaps {
                    let image = swap.image(process, state).expect("learnt above");
                    let to = places[&(swap.place(process), image)];
                    let place = swap.place(self.members[member]);
                    let member = self.members.iter().position(|other| *other == place).expect("a member");
                    if classes[to][member] == UNKNOWN {
                        classes[to][member] = class;
                        waiting.push((to, member));
                    }
                }
            }
        }
        for ((process, state), classes) in orbit.into_iter().zip(classes) {
            let known = &mut self.classes[process];
            if known.len() <= state as usize {
                known.resize(state as usize + 1, None);
            }
            known[state as usize] = Some(classes.into());
        }
    }

    fn learn_image(
        &mut self,
        exchange: usize,
        process: usize,
        state: u32,
        images: &mut Images,
        states_of: &mut [ProcessStates],
        ask: &mut AskContext<'_>,
    ) -> u32 {
        let swap = &mut self.swaps[exchange];
        if let Some(known) = swap.image(process, state) {
            return known;
        }
        let to = swap.place(process);
        let members = states_of[process].members(state);
        let renamed = members.into_iter().map(|member| {
            *swap
                .configurations
                .entry((process, member))
                .or_insert_with(|| renamed_configuration(exchange, process, member, images, states_of, ask))
        });
        let renamed: Vec<ConfigurationId> = renamed.collect();
        let image = states_of[to].state_of(renamed);
        let known = &mut swap.images[process];
        if known.len() <= state as usize {
            known.resize(state as usize + 1, UNKNOWN);
        }
        known[state as usize] = image;
        image
    }
}

/// A configuration of one process as one of the process that takes its place.
fn renamed_configuration(
    exchange: usize,
    from: usize,
    configuration: ConfigurationId,
    images: &mut Images,
    states_of: &mut [ProcessStates],
    ask: &mut AskContext<'_>,
) -> ConfigurationId {
    let (local, past, inbox) = states_of[from].graph.parts(configuration);
    let local = images.local(exchange, from, local, states_of, ask);
    let mut inbox = (*inbox).clone();
    for entries in [&mut inbox.waiting, &mut inbox.travelling, &mut inbox.received] {
        for entry in entries.iter_mut() {
            let message = images.message(exchange, entry.message, ask);
            *entry = ask.mail.entry(message);
        }
    }
    let to = images.place(exchange, from);
    states_of[to].graph.configuration(local, past, inbox, ask.model.world().channel)
}

/// Adds, to what was seen of every process, what was seen of those it can be exchanged with.
pub(in crate::kernel) fn saturate(
    images: &mut Images,
    states_of: &mut [ProcessStates],
    ask: &mut AskContext<'_>,
) {
    let processes = ask.model.processes().len();
    let mut done = vec![(0, 0); processes];
    let seen = |states_of: &[ProcessStates]| -> Vec<(usize, usize)> {
        let of =
            |states: &ProcessStates| (states.graph.seen.edges().len(), states.graph.seen.heard().count());
        states_of[..processes].iter().map(of).collect()
    };
    while seen(states_of) != done && images.not_undone().is_none() {
        let now = seen(states_of);
        for process in 0..processes {
            let edges = states_of[process].graph.seen.edges()[done[process].0..].to_vec();
            let heard: Vec<MessageId> = states_of[process].graph.seen.heard().collect();
            for exchange in 0..images.count() {
                let to = images.place(exchange, process);
                for edge in &edges {
                    heed();
                    let from = images.local(exchange, process, edge.from, states_of, ask);
                    let after = images.local(exchange, process, edge.to, states_of, ask);
                    let consumed = edge.consumed.iter();
                    let consumed = consumed.map(|message| images.message(exchange, *message, ask)).collect();
                    let sent = images.sends(exchange, edge.sent, ask);
                    states_of[to].graph.seen.note(Edge { from, to: after, consumed, sent });
                }
                let heard: Vec<MessageId> =
                    heard.iter().map(|message| images.message(exchange, *message, ask)).collect();
                states_of[to].graph.seen.hear(&heard);
            }
        }
        done = now;
    }
}
