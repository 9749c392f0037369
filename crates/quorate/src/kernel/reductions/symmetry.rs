//! Symmetry: of states that differ only in which of several interchangeable processes does what, one is searched.
//!
//! From: docs/theory/symmetry.md 3. A permutation acts on a vector of states: it moves the states and renames the
//! processes inside them. A vector is brought into order by sorting the members of each group by a *key*: what the
//! whole vector says of a member, whatever the members are called. Keys are sums over the parts of the states, local
//! states and messages, of which there are few. The permutation that sorts them is worked out first and applied once, so
//! that no state comes up only on the way. Where keys leave a choice, every one is tried.
//!
//! That a permutation makes no difference is not believed but checked (`certificate`).
//!
//! Known: keys are made of what is printed of contents, with processes numbered by the names of their roles. So which
//! vector stands for others depends neither on the order of discovery nor on that of declarations.
//! Reductions rely on what was seen of all processes, and a search sees representatives only. So what was seen
//! of one process is added to what was seen of those it can be exchanged with ([`saturate`]).
//! Held by: testkit/tests/reductions.rs; crates/quorate-zoo/tests/reductions.rs (orbits add up to all states).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};
use std::hash::Hasher as _;

use super::beliefs::ProcessStates;
use super::images::Images;
use super::permutations::{Permutations, Renaming};
use crate::base::{self, FoldHasher, ProcessId, Value, catching, fold, heed};
use crate::kernel::process::{AskContext, ConfigurationId, Edge, LocalId, MessageId};
use crate::model::Model;

/// The groups of interchangeable processes, and what states say of their members.
pub(in crate::kernel) struct Symmetry {
    /// The places of the members of each group.
    groups: Vec<Vec<usize>>,
    /// The places of all members, group by group.
    members: Vec<usize>,
    /// For each process, a number that tells it from others but not from those of its group.
    kind_of: Vec<u64>,
    names: Names,
    /// For each message, and for each process and local state, what it says of each member.
    message_classes: Vec<Option<Box<[u64]>>>,
    local_classes: Vec<Vec<Option<Box<[u64]>>>>,
    /// For each process, what its states say of each member, and whether that is known.
    keys: Vec<Vec<u32>>,
    keyed: Vec<Vec<bool>>,
    permutations: Permutations,
}

/// A message or, of a process, a local state.
type Thing = (usize, u32);

impl Symmetry {
    pub(in crate::kernel) fn new(model: &Model) -> Self {
        let processes = model.processes().len() + model.monitors().len();
        let index = |group: &Vec<ProcessId>| group.iter().map(|member| member.index()).collect();
        let groups: Vec<Vec<usize>> = model.symmetry().groups().iter().map(index).collect();
        let names = Names::new(model);
        let mut kind_of: Vec<u64> = (0..processes).map(|process| 1000 + names.place(process)).collect();
        for group in &groups {
            let first = group.iter().map(|member| names.place(*member)).min().unwrap_or(0);
            for member in group {
                kind_of[*member] = first;
            }
        }
        let members: Vec<usize> = groups.iter().flatten().copied().collect();
        Symmetry {
            permutations: Permutations::new(processes, groups.iter().map(Vec::len)),
            groups,
            members,
            kind_of,
            names,
            message_classes: Vec::new(),
            local_classes: vec![Vec::new(); processes],
            keys: vec![Vec::new(); processes],
            keyed: vec![Vec::new(); processes],
        }
    }

    /// Turns a vector into the one that stands for all that permutations make of it.
    pub(in crate::kernel) fn represent(&mut self, vector: &mut [u32], renaming: &mut Renaming<'_, '_>) {
        if renaming.images.mean_nothing() {
            return;
        }
        let mut keys = std::mem::take(&mut self.permutations.sums);
        self.add_up(vector, &mut keys, renaming);
        let mut start = 0;
        let mut in_order = true;
        let mut order = std::mem::take(&mut self.permutations.order);
        order.clear();
        for group in &self.groups {
            let range = start..start + group.len();
            order.extend(range.clone().map(|at| u8::try_from(at).expect("at most 64 processes")));
            // Those with equal keys stay in their order.
            order[range.clone()].sort_by_key(|at| keys[usize::from(*at)]);
            in_order &= order[range.clone()].is_sorted();
            start = range.end;
        }
        if !in_order {
            let permutation = self.permutations.number(&order);
            self.permutations.apply(permutation, vector, renaming);
        }
        let equal = |at: &usize| keys[usize::from(order[*at])] == keys[usize::from(order[at + 1])];
        let mut ties = std::mem::take(&mut self.permutations.ties);
        ties.clear();
        let mut start = 0;
        for (at, group) in self.groups.iter().enumerate() {
            // Exchanges are numbered from group to group as members are, with one less in each.
            ties.extend((start..start + group.len() - 1).filter(equal).map(|member| member - at));
            start += group.len();
        }
        self.break_ties(vector, &ties, renaming);
        self.permutations.ties = ties;
        self.permutations.sums = keys;
        self.permutations.order = order;
    }

    /// Where members have equal keys, exchanging them mostly changes nothing. Else one of all possibilities is taken.
    fn break_ties(&mut self, vector: &mut [u32], ties: &[usize], renaming: &mut Renaming<'_, '_>) {
        if ties.iter().all(|exchange| self.permutations.is_fixed(*exchange, vector, renaming)) {
            return;
        }
        let orbit = self.orbit(vector.to_vec(), ties, renaming);
        let contents = |vector: &Vec<u32>| -> Vec<u64> {
            let states = vector.iter().enumerate();
            states.map(|(process, state)| self.names.of_state(process, *state, renaming)).collect()
        };
        // Numbers, which depend on the order of discovery, decide only between what looks alike.
        let least = orbit.into_iter().min_by_key(|vector| (contents(vector), vector.clone()));
        vector.copy_from_slice(&least.expect("a vector is in its orbit"));
    }

    /// Every vector that some exchanges of neighbours make of one.
    fn orbit(
        &mut self,
        vector: Vec<u32>,
        exchanges: &[usize],
        renaming: &mut Renaming<'_, '_>,
    ) -> BTreeSet<Vec<u32>> {
        let (mut orbit, mut waiting) = (BTreeSet::from([vector.clone()]), vec![vector]);
        while let Some(vector) = waiting.pop() {
            heed();
            for exchange in exchanges {
                let mut after = vector.clone();
                self.permutations.exchange(*exchange, &mut after, renaming);
                if !orbit.contains(&after) {
                    orbit.insert(after.clone());
                    waiting.push(after);
                }
            }
        }
        orbit
    }

    /// How many vectors permutations make of one.
    pub(in crate::kernel) fn orbit_size(&mut self, vector: Vec<u32>, renaming: &mut Renaming<'_, '_>) -> u64 {
        let exchanges: Vec<usize> = (0..renaming.images.count()).collect();
        self.orbit(vector, &exchanges, renaming).len() as u64
    }

    /// What a vector says of each member.
    fn add_up(&mut self, vector: &[u32], sums: &mut Vec<u64>, renaming: &mut Renaming<'_, '_>) {
        let count = self.members.len();
        sums.clear();
        sums.resize(count, 0);
        for (process, state) in vector.iter().enumerate() {
            let at = *state as usize;
            if !self.keyed[process].get(at).is_some_and(|known| *known) {
                self.learn_keys(process, *state, renaming);
            }
            let keys = &self.keys[process][at * count..(at + 1) * count];
            for (sum, key) in sums.iter_mut().zip(keys) {
                *sum = sum.wrapping_add(mix(u64::from(*key), self.kind_of[process]));
            }
        }
    }

    /// Works out what a state says of each member.
    #[cold]
    fn learn_keys(&mut self, process: usize, state: u32, renaming: &mut Renaming<'_, '_>) {
        let count = self.members.len();
        let mut keys = vec![0u64; count];
        let members = renaming.states_of[process].members(state);
        for configuration in members {
            self.add_configuration(process, configuration, &mut keys, renaming);
        }
        let at = state as usize;
        if self.keyed[process].len() <= at {
            self.keyed[process].resize(at + 1, false);
            self.keys[process].resize((at + 1) * count, 0);
        }
        for (member, key) in keys.into_iter().enumerate() {
            // Its own state says something else of a member than a state of others.
            let own = u64::from(self.members[member] == process);
            let key = (mix(key, own) >> 32) as u32;
            self.keys[process][at * count + member] = key;
        }
        self.keyed[process][at] = true;
    }

    fn add_configuration(
        &mut self,
        process: usize,
        configuration: ConfigurationId,
        keys: &mut [u64],
        renaming: &mut Renaming<'_, '_>,
    ) {
        let (local, past, inbox) = renaming.states_of[process].graph.parts(configuration);
        self.learn_local(process, local, renaming);
        for entry in inbox.travelling.iter().chain(&inbox.waiting).chain(&inbox.received) {
            self.learn_message(entry.message, renaming);
        }
        let faults = fold(u64::from(past.crashed) | u64::from(past.restarts) << 8, 11)
            ^ fold(u64::from(past.losses) | u64::from(past.duplications) << 8, 13);
        for (member, key) in keys.iter_mut().enumerate() {
            let class = self.local_classes[process][local as usize].as_ref().expect("learnt above")[member];
            let mut said = mix(class, faults);
            for (salt, entries) in [(3, &inbox.travelling), (5, &inbox.waiting), (7, &inbox.received)] {
                for entry in entries {
                    let classes = self.message_classes[entry.message as usize].as_ref();
                    said = said.wrapping_add(mix(classes.expect("learnt above")[member], salt));
                }
            }
            *key = key.wrapping_add(mix(said, 17));
        }
    }

    fn learn_local(&mut self, process: usize, local: LocalId, renaming: &mut Renaming<'_, '_>) {
        if self.local_classes[process].get(local as usize).is_some_and(Option::is_some) {
            return;
        }
        let image = |exchange: usize, (process, local): Thing, renaming: &mut Renaming<'_, '_>| {
            let image = renaming.images.local(exchange, process, local, renaming.states_of, renaming.ask);
            (renaming.images.place(exchange, process), image)
        };
        let content = |(process, local): Thing, renaming: &Renaming<'_, '_>| {
            self.names.of_local(process, local, renaming)
        };
        for ((process, local), classes) in self.classes((process, local), image, content, renaming) {
            set(&mut self.local_classes[process], local, classes);
        }
    }

    fn learn_message(&mut self, message: MessageId, renaming: &mut Renaming<'_, '_>) {
        if self.message_classes.get(message as usize).is_some_and(Option::is_some) {
            return;
        }
        let image = |exchange: usize, (_, message): Thing, renaming: &mut Renaming<'_, '_>| {
            (0, renaming.images.message(exchange, message, renaming.ask))
        };
        let content =
            |(_, message): Thing, renaming: &Renaming<'_, '_>| self.names.of_message(message, renaming);
        for ((_, message), classes) in self.classes((0, message), image, content, renaming) {
            set(&mut self.message_classes, message, classes);
        }
    }

    /// For all that exchanges make of a thing, what each says of each member: the same of a member as its image says of
    /// the image of the member, and made of the contents of all these.
    fn classes(
        &self,
        start: Thing,
        image: impl Fn(usize, Thing, &mut Renaming<'_, '_>) -> Thing,
        content: impl Fn(Thing, &Renaming<'_, '_>) -> u64,
        renaming: &mut Renaming<'_, '_>,
    ) -> Vec<(Thing, Box<[u64]>)> {
        let exchanges = renaming.images.count();
        let (mut orbit, mut places) = (vec![start], BTreeMap::from([(start, 0)]));
        let mut images: Vec<usize> = Vec::new();
        let mut at = 0;
        while at < orbit.len() {
            heed();
            for exchange in 0..exchanges {
                let image = image(exchange, orbit[at], renaming);
                images.push(*places.entry(image).or_insert_with(|| {
                    orbit.push(image);
                    orbit.len() - 1
                }));
            }
            at += 1;
        }
        let contents: Vec<u64> = orbit.iter().map(|thing| content(*thing, renaming)).collect();
        let count = self.members.len();
        let mut classes: Vec<Vec<u64>> = vec![vec![0; count]; orbit.len()];
        let mut done = vec![false; orbit.len() * count];
        for start in 0..done.len() {
            if std::mem::replace(&mut done[start], true) {
                continue;
            }
            let (mut alike, mut at) = (vec![start], 0);
            while at < alike.len() {
                let (thing, member) = (alike[at] / count, alike[at] % count);
                for exchange in 0..exchanges {
                    let place = renaming.images.place(exchange, self.members[member]);
                    let other = self.members.iter().position(|other| *other == place).expect("a member");
                    let image = images[thing * exchanges + exchange] * count + other;
                    if !std::mem::replace(&mut done[image], true) {
                        alike.push(image);
                    }
                }
                at += 1;
            }
            let add = |sum: u64, at: &usize| {
                sum.wrapping_add(mix(contents[at / count], self.names.place(self.members[at % count])))
            };
            let class = alike.iter().fold(0, add);
            for at in alike {
                classes[at / count][at % count] = class;
            }
        }
        orbit.into_iter().zip(classes.into_iter().map(Into::into)).collect()
    }

    pub(in crate::kernel) fn bytes(&self) -> u64 {
        let keys: usize = self.keys.iter().map(|keys| keys.capacity() * size_of::<u32>()).sum();
        let keyed: usize = self.keyed.iter().map(Vec::capacity).sum();
        (keys + keyed) as u64 + self.permutations.bytes()
    }
}

/// Contents as hashes of what is printed of them, with processes numbered by the names of their roles: the same in
/// whatever order roles, and messages in their type, are declared.
struct Names {
    ids: base::Renaming,
}

impl Names {
    fn new(model: &Model) -> Self {
        let mut order: Vec<ProcessId> = model.ids().collect();
        order.sort_by_key(|process| (model.process(*process).role().to_string(), *process));
        let mut places: Vec<ProcessId> = model.ids().collect();
        for (place, process) in order.iter().enumerate() {
            places[process.index()] = ProcessId::new(place);
        }
        Names { ids: base::Renaming::new(places) }
    }

    /// Which process it is, by the names of roles. Monitors come last.
    fn place(&self, process: usize) -> u64 {
        self.ids.of(ProcessId::new(process)).index() as u64
    }

    fn of_local(&self, process: usize, local: LocalId, renaming: &Renaming<'_, '_>) -> u64 {
        let value = renaming.states_of[process].graph.local_value(local);
        let named = || renaming.ask.model.symmetry().rename_state(value, &self.ids);
        mix(printed(&in_order(value, named)), self.place(process))
    }

    fn of_message(&self, message: MessageId, renaming: &Renaming<'_, '_>) -> u64 {
        let (mail, envelope) = (&renaming.ask.mail, renaming.ask.mail.envelope(message));
        let named = || renaming.ask.model.symmetry().rename_message(&envelope.body, &self.ids);
        let (from, to) = (envelope.from.index(), mail.receiver(message).index());
        let who = self.place(from) * 64 + self.place(to);
        mix(printed(&in_order(&envelope.body, named)), who)
    }

    fn of_state(&self, process: usize, state: u32, renaming: &Renaming<'_, '_>) -> u64 {
        let states = &renaming.states_of[process];
        let of_member = |configuration: ConfigurationId| {
            let (local, _, inbox) = states.graph.parts(configuration);
            let waiting = inbox.travelling.iter().chain(&inbox.waiting);
            let waiting = waiting.map(|entry| mix(self.of_message(entry.message, renaming), 5));
            let all = waiting.fold(0, u64::wrapping_add);
            mix(self.of_local(process, local, renaming), all)
        };
        states.members(state).into_iter().map(of_member).fold(0, u64::wrapping_add)
    }
}

/// A value with its processes numbered by the names of their roles; as it is, if its type does not know how to rename a
/// process to one of another role.
fn in_order(value: &Value, named: impl FnOnce() -> Value) -> Value {
    catching(named).unwrap_or_else(|_| value.clone())
}

/// A hash of what is printed of a value.
fn printed(value: &Value) -> u64 {
    struct Printer(FoldHasher);
    impl fmt::Write for Printer {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            text.bytes().for_each(|byte| self.0.write_u8(byte));
            Ok(())
        }
    }
    let mut printer = Printer(FoldHasher::default());
    _ = write!(printer, "{value:?}");
    printer.0.finish()
}

#[inline]
fn mix(a: u64, b: u64) -> u64 {
    fold(a ^ 0x9e37_79b9_7f4a_7c15 ^ b.rotate_left(31), 0xd6e8_feb8_6659_fd93)
}

fn set<T: Clone>(of: &mut Vec<Option<T>>, at: u32, value: T) {
    if of.len() <= at as usize {
        of.resize(at as usize + 1, None);
    }
    of[at as usize] = Some(value);
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
