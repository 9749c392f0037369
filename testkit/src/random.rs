//! Random protocols, each from a seed.
//!
//! Two families: in one, every run ends because each step takes a process to a later place; in the other processes go
//! round in circles, and only the number of messages is bounded. Both have internal steps, single messages, quorums of
//! every kind, choices, messages sent twice, planted panics, and properties of which some hold and some do not; and
//! about every third state is marked as a stepping stone. What a protocol does is in the tables that `machine.rs` runs.
//! Those for worlds in which more can happen have fewer processes, and more to go wrong.
//!
//! Invariant: a seed yields the same protocol everywhere and always; there is no other source of chance.
//! Held by: tests/corpus.rs, which counts what the protocols really do.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use quorate::model::{Content, Model};
use quorate::property::{Observation, Property, When};
use quorate::{ProcessId, Protocol, RoleName, System, observe};

use crate::dice::Random;
use crate::listener::Listener;
use crate::machine::{
    Alarm, Condition, Fork, HEARD_MAX, Hears, Keeps, Local, Machine, Moves, Note, Of, Quora, ROLES, Reads,
    Round, Rule, Send, Spot, Table, To,
};

/// A protocol that nobody would write.
#[derive(Clone, Debug)]
pub struct RandomProtocol {
    seed: u64,
    roles: Vec<RandomRole>,
    properties: Vec<RandomProperty>,
    limit: Option<Limit>,
    monitors: Vec<Listener>,
    forgeries: Vec<Forgery>,
    of_one_type: bool,
    /// Is some property of ends there, though it is content with every one?
    looks_at_ends: bool,
}

/// A message that a process may send at any time to all processes of a role.
#[derive(Clone, Copy, Debug)]
struct Forgery {
    /// The role, and the position in it.
    from: (usize, usize),
    to: usize,
    kind: u8,
    round: u8,
}

impl Forgery {
    fn note(self) -> Note {
        Note { kind: self.kind, round: self.round }
    }
}

#[derive(Clone, Debug)]
struct RandomRole {
    table: Arc<Table>,
    starts: Vec<Local>,
}

#[derive(Clone, Debug)]
struct RandomProperty {
    name: String,
    when: When,
    /// The roles it looks at.
    roles: Vec<usize>,
    sees: Sees,
    demands: Demands,
}

/// How many processes of some roles may satisfy a local predicate at once.
#[derive(Clone, Debug)]
struct Limit {
    roles: Vec<usize>,
    predicate: Predicate,
    processes: usize,
    is_written_out: bool,
}

/// A set of local states of each role, distinguished by place and what was heard.
#[derive(Clone, Copy, Debug)]
struct Predicate {
    /// For each of them one bit.
    states: [u32; ROLES.len()],
    /// Cannot be asked of this one.
    panics_at: Option<u8>,
}

/// What a property observes of a process.
#[derive(Clone, Copy, Debug)]
enum Sees {
    Place,
    Heard,
    Both,
}

/// What it demands of the observations.
#[derive(Clone, Copy, Debug)]
enum Demands {
    AtMost { value: u32, processes: usize },
    SumUpTo { sum: u32 },
    SumFrom { sum: u32 },
    NotFirstAndLast { first: u32, last: u32 },
}

impl RandomProtocol {
    /// The protocol of this seed.
    pub fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let cyclic = random.chance(45);
        let processes = 2 + random.index(if cyclic { 2 } else { 3 });
        Self::generate(seed, random, cyclic, processes, false)
    }

    /// The protocol of this seed, for worlds in which more can happen: with several messages to one receiver in a
    /// step, something to lose in a restart, monitors, and messages that can be forged.
    pub fn for_worlds(seed: u64) -> Self {
        let mut random = Random(!seed);
        let cyclic = random.chance(30);
        let processes = 2 + usize::from(random.chance(if cyclic { 20 } else { 40 }));
        Self::generate(seed, random, cyclic, processes, true)
    }

    fn generate(seed: u64, mut random: Random, cyclic: bool, processes: usize, worldly: bool) -> Self {
        let sizes = sizes(&mut random, processes);
        let kinds = 1 + random.below(3);
        let rounds = 1 + random.below(3);
        let mut generator =
            Generator { random, cyclic, sizes, kinds, rounds, worldly, forgeries: Vec::new() };
        generator.forgeries = generator.forgeries();
        let mut roles: Vec<RandomRole> =
            (0..generator.sizes.len()).map(|role| generator.role(role)).collect();
        if worldly {
            never_step(&mut Random(seed ^ 0x6964_6c65), &mut roles);
        }
        let properties =
            (0..generator.random.weighted(&[30, 45, 25])).map(|at| generator.property(at)).collect();
        let monitors = if worldly { generator.random.weighted(&[60, 30, 10]) } else { 0 };
        let monitors = (0..monitors).map(|_| Listener::random(&mut generator.random)).collect();
        let forgeries = generator.forgeries;
        let (of_one_type, looks_at_ends) = (false, false);
        RandomProtocol {
            seed,
            roles,
            properties,
            limit: None,
            monitors,
            forgeries,
            of_one_type,
            looks_at_ends,
        }
    }

    /// Its seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Is it of the family that goes round in circles?
    pub fn cyclic(&self) -> bool {
        self.roles.iter().any(|role| role.table.cyclic)
    }

    /// The same protocol with all roles of one type, so that processes with different tables can be in equal states.
    /// Properties look at all of them.
    #[must_use]
    pub fn of_one_type(&self) -> Self {
        RandomProtocol { of_one_type: true, ..self.clone() }
    }

    /// The same protocol, with nothing that must hold but that no handler panics. Monitors listen all the same.
    #[must_use]
    pub fn without_properties(&self) -> Self {
        let monitors = self.monitors.iter().map(Listener::content_with_all).collect();
        RandomProtocol { properties: Vec::new(), limit: None, monitors, ..self.clone() }
    }

    /// The same protocol, with nothing that must hold, but with a property that looks at the ends of runs and is content
    /// with every one: so that what matters for ends is counted to the end.
    #[must_use]
    pub fn content_with_all_ends(&self) -> Self {
        RandomProtocol { looks_at_ends: true, ..self.without_properties() }
    }

    /// Does it look at the ends of runs?
    pub fn looks_at_ends(&self) -> bool {
        self.looks_at_ends || self.properties.iter().any(|property| property.when == When::AtEnd)
    }

    /// The same protocol, of which nothing must hold but that few processes satisfy a local predicate at once: as
    /// [`Property::at_most`], or written out. Which predicate depends on the variant.
    #[must_use]
    pub fn with_limit(&self, variant: u64, is_written_out: bool) -> Self {
        let mut random = Random(self.seed.wrapping_mul(31).wrapping_add(variant));
        let roles = some_roles(&mut random, self.roles.len());
        let processes: usize = roles.iter().map(|role| self.roles[*role].starts.len()).sum();
        let states = ROLES.map(|_| {
            // Rarely, often, or nearly always: who satisfies it anyway does not have to go on for it.
            let percent = *random.pick(&[15, 40, 85]);
            (0..u32::BITS).filter(|_| random.chance(percent)).fold(0, |states, at| states | 1 << at)
        });
        let panics_at = random.chance(8).then(|| random.below(8));
        let processes = processes - 1 - random.weighted(&[60, 40]).min(processes - 1);
        let limit = Limit { roles, predicate: Predicate { states, panics_at }, processes, is_written_out };
        RandomProtocol { limit: Some(limit), ..self.without_properties() }
    }

    /// The same protocol, of which nothing is asked but a condition that holds, save in one of its calls.
    pub fn with_fickle_condition(&self, wrong_call: usize) -> Model {
        let types = if self.of_one_type { 1 } else { self.roles.len() };
        let all = observing(0..types, |_, local| Sees::Both.of(local));
        let calls = AtomicUsize::new(0);
        let holds = move |_: &[u32]| calls.fetch_add(1, Ordering::Relaxed) != wrong_call;
        self.without_properties().model().asking(Property::new("fickle", When::Always, all, holds))
    }

    /// Can messages be forged?
    pub fn forges(&self) -> bool {
        !self.forgeries.is_empty()
    }

    /// Is there a process that never steps, whatever it is sent?
    pub fn has_idlers(&self) -> bool {
        self.roles.iter().any(|role| role.table.rules.iter().all(Rule::is_never_taken))
    }

    /// The protocol, as a user would write it.
    pub fn protocol(self) -> Protocol {
        Protocol::new("random", "does what nobody would write", move |_| self.system())
    }

    fn system(&self) -> System<Note> {
        let mut system = System::<Note>::new();
        for (role, random) in self.roles.iter().enumerate() {
            system = match role {
                _ if self.of_one_type => random.add_to::<0>(ROLES[role], system),
                0 => random.add_to::<0>(ROLES[role], system),
                1 => random.add_to::<1>(ROLES[role], system),
                _ => random.add_to::<2>(ROLES[role], system),
            };
        }
        for property in &self.properties {
            system = system.property(property.property(self.of_one_type));
        }
        if let Some(limit) = &self.limit {
            system = system.property(limit.property());
        }
        if self.looks_at_ends {
            let all = observing(0..self.roles.len(), |_, local| Sees::Both.of(local));
            system = system.property(Property::new("any end", When::AtEnd, all, |_: &[u32]| true));
        }
        let seed = self.seed;
        let marked =
            move |seen: &[u32]| seen.iter().fold(seed, |mark, one| mark * 5 % 97 + u64::from(*one)) % 3 == 0;
        let types = if self.of_one_type { 1 } else { self.roles.len() };
        let all = observing(0..types, |_, local| Sees::Both.of(local));
        system = system.stepping_stone("marked", all, marked);
        for (at, monitor) in self.monitors.iter().enumerate() {
            system = system.monitor(&format!("history {at}"), monitor.clone());
        }
        for forgery in &self.forgeries {
            let (role, index) = forgery.from;
            system = system.forges((ROLES[role], index), ROLES[forgery.to], [forgery.note()]);
        }
        system
    }

    /// The protocol, ready to be checked.
    pub fn model(&self) -> Model {
        self.system().build().expect("the generator makes valid systems")
    }
}

impl RandomRole {
    fn add_to<const ROLE: usize>(&self, name: RoleName, system: System<Note>) -> System<Note> {
        system.role(name, self.starts.len(), |index| Machine::<ROLE> {
            local: self.starts[index],
            table: Arc::clone(&self.table),
        })
    }
}

impl RandomProperty {
    /// If all roles are of one type, it looks at all of them.
    fn property(&self, of_one_type: bool) -> Property {
        let (sees, demands) = (self.sees, self.demands);
        let types = self.roles.iter().copied().map(|role| if of_one_type { 0 } else { role });
        let observation = observing(types, move |_, local| sees.of(local));
        Property::new(self.name.clone(), self.when, observation, move |observed| demands.hold(observed))
    }
}

impl Limit {
    fn property(&self) -> Property {
        let (name, predicate, processes) = ("a limit", self.predicate, self.processes);
        let observation = observing(self.roles.iter().copied(), move |role, local| predicate.of(role, local));
        if self.is_written_out {
            let few = move |satisfied: &[bool]| satisfied.iter().filter(|one| **one).count() <= processes;
            return Property::new(name, When::Always, observation, few);
        }
        Property::at_most(name, processes, observation)
    }
}

impl Predicate {
    fn of(self, role: usize, local: Local) -> bool {
        let state = local.place * (HEARD_MAX + 1) + local.heard;
        assert!(self.panics_at != Some(state), "this state cannot be looked at");
        self.states[role] >> state & 1 == 1
    }
}

/// What is seen of some roles.
fn observing<O: Content>(
    roles: impl Iterator<Item = usize>,
    of: impl Fn(usize, Local) -> O + Copy + std::marker::Send + Sync + 'static,
) -> Observation<O> {
    let observation = roles.fold(None, |so_far, role| {
        Some(match role {
            0 => see::<0, O>(so_far, of),
            1 => see::<1, O>(so_far, of),
            _ => see::<2, O>(so_far, of),
        })
    });
    observation.expect("a property looks at some role")
}

fn see<const ROLE: usize, O: Content>(
    so_far: Option<Observation<O>>,
    of: impl Fn(usize, Local) -> O + std::marker::Send + Sync + 'static,
) -> Observation<O> {
    let of = move |machine: &Machine<ROLE>| of(ROLE, machine.local);
    match so_far {
        None => observe(of),
        Some(observation) => observation.and(of),
    }
}

impl Sees {
    fn of(self, local: Local) -> u32 {
        match self {
            Sees::Place => local.place.into(),
            Sees::Heard => local.heard.into(),
            Sees::Both => (local.place + local.heard).into(),
        }
    }
}

impl Demands {
    fn hold(self, observed: &[u32]) -> bool {
        let sum: u32 = observed.iter().sum();
        match self {
            Demands::AtMost { value, processes } => {
                observed.iter().filter(|&&seen| seen == value).count() <= processes
            }
            Demands::SumUpTo { sum: limit } => sum <= limit,
            Demands::SumFrom { sum: limit } => sum >= limit,
            Demands::NotFirstAndLast { first, last } => {
                observed.first() != Some(&first) || observed.last() != Some(&last)
            }
        }
    }
}

/// A protocol in the making.
struct Generator {
    random: Random,
    cyclic: bool,
    /// How many processes each role has.
    sizes: Vec<usize>,
    kinds: u8,
    rounds: u8,
    /// Is it for worlds in which more can happen?
    worldly: bool,
    forgeries: Vec<Forgery>,
}

impl Generator {
    fn role(&mut self, role: usize) -> RandomRole {
        let processes: usize = self.sizes.iter().sum();
        let places = match (self.cyclic, processes) {
            (true, _) => 1 + self.random.below(3),
            (false, 0..=3) => 2 + self.random.below(3),
            (false, _) => 2 + self.random.below(2),
        };
        // The first rule of the first role can be taken at once, or nothing would ever happen.
        let begins = role == 0 || self.random.chance(40);
        let rules = 2 + usize::from(self.random.below(3));
        let rules = (0..rules).map(|at| self.rule(at, places, begins && at == 0)).collect();
        let forged = self.forgeries.iter().filter(|forgery| forgery.to == role);
        let forged = forged.map(|forgery| (self.process(forgery.from), forgery.note())).collect();
        let keeps = if self.worldly { self.keeps(places) } else { Keeps::default() };
        let table = Table { cyclic: self.cyclic, places, rounds: self.rounds, rules, keeps, forged };
        let starts = (0..self.sizes[role])
            .map(|index| Local {
                place: if self.random.chance(15) { self.random.below(places) } else { 0 },
                heard: if self.random.chance(15) { self.random.below(HEARD_MAX) } else { 0 },
                budget: match (self.cyclic, role == 0 && index == 0) {
                    (true, true) => 2 + self.random.below(2),
                    (true, false) => self.random.below(3),
                    (false, true) => 3 + self.random.below(4),
                    (false, false) => 1 + self.random.below(3),
                },
            })
            .collect();
        RandomRole { table: Arc::new(table), starts }
    }

    /// The process at a position of a role.
    fn process(&self, (role, index): (usize, usize)) -> ProcessId {
        ProcessId::new(self.sizes[..role].iter().sum::<usize>() + index)
    }

    fn forgeries(&mut self) -> Vec<Forgery> {
        let count = if self.worldly { self.random.weighted(&[70, 20, 10]) } else { 0 };
        let forgery = |_| {
            let role = self.random.index(self.sizes.len());
            let (kind, round) = (self.random.below(self.kinds), self.random.below(self.rounds));
            Forgery {
                from: (role, self.random.index(self.sizes[role])),
                to: self.random.index(self.sizes.len()),
                kind,
                round,
            }
        };
        let mut forgeries: Vec<Forgery> = (0..count).map(forgery).collect();
        // With a message that prints like another one goes that other one.
        if let Some(first) = forgeries.first().copied().filter(|first| first.kind == 0 && self.rounds > 1) {
            forgeries.push(Forgery { round: (first.round + 1) % self.rounds, ..first });
        }
        forgeries
    }

    fn keeps(&mut self, places: u8) -> Keeps {
        Keeps {
            place: self.random.chance(40),
            heard: self.random.chance(40),
            alarm: self.random.chance(3).then(|| self.random.below(places)),
        }
    }

    fn rule(&mut self, at: usize, places: u8, begins: bool) -> Rule {
        let trigger = if begins { Reads::Nothing } else { self.trigger() };
        let internal = matches!(trigger, Reads::Nothing);
        let all_places = (1u8 << places) - 1;
        let mut taken_at = all_places;
        if self.random.chance(60) {
            taken_at &= 1 + self.random.below(all_places);
        }
        let mut when = match self.random.below(8) {
            0..3 => Condition::Absent,
            3..5 => Condition::Place,
            5 => Condition::RoundsUpToHeard,
            6 => Condition::FirstSender { odd: self.random.chance(50) },
            _ => Condition::SumOfRounds { odd: self.random.chance(50) },
        };
        if internal && !self.cyclic {
            // An internal step at the last place could be repeated for ever.
            when = Condition::Place;
            taken_at &= all_places >> 1;
        }
        if begins {
            (when, taken_at) = (Condition::Place, taken_at | 1);
        }
        Rule {
            name: format!("rule {at}"),
            of: if internal { Of::Absent } else { self.of() },
            trigger,
            when,
            at: taken_at,
            fork: self.random.chance(30).then(|| self.fork()),
            moves: match self.random.below(6) {
                0 => Moves::ByPick,
                1 => Moves::ByRound,
                distance => Moves::By(distance % 3),
            },
            hears: match self.random.below(7) {
                0 => Hears::Count,
                1 => Hears::HighestRound,
                2 => Hears::Pick,
                3 => Hears::Forget,
                _ => Hears::Nothing,
            },
            sends: self.sends(internal, begins),
            emits: u8::from(self.random.chance(30)) + if self.worldly { self.random.below(3) } else { 0 },
            alarm: self.random.chance(if self.worldly { 8 } else { 3 }).then(|| self.alarm(places)),
        }
    }

    fn trigger(&mut self) -> Reads {
        let role = self.a_role();
        match self.random.below(12) {
            0..2 => Reads::Nothing,
            2..5 => Reads::Message { from: None },
            5 => Reads::Message { from: Some(role) },
            6..8 => Reads::Quorum { of: role, kind: Quora::Majority },
            8 => Reads::Quorum { of: role, kind: Quora::All },
            9..11 => {
                let size = 1 + self.random.index(self.sizes[role]);
                Reads::Quorum { of: role, kind: Quora::Some(size) }
            }
            _ => {
                let listed = (0..=self.random.below(3)).map(|_| self.listed_quorum(role)).collect();
                Reads::Quorum { of: role, kind: Quora::Listed(listed) }
            }
        }
    }

    /// A set of members as a user may list it: unsorted, perhaps with one of them twice.
    fn listed_quorum(&mut self, role: usize) -> Vec<usize> {
        (0..=self.random.below(3)).map(|_| self.random.index(self.sizes[role])).collect()
    }

    /// Any role, but rather the first, which is the one that begins, and rather one with several processes.
    fn a_role(&mut self) -> usize {
        let role = if self.random.chance(40) { 0 } else { self.random.index(self.sizes.len()) };
        if self.sizes[role] == 1 { self.random.index(self.sizes.len()) } else { role }
    }

    fn of(&mut self) -> Of {
        match self.random.below(6) {
            0..2 => Of::Absent,
            2 => Of::Kind(self.random.below(self.kinds)),
            3 => Of::RoundOfKind(self.random.below(self.kinds)),
            4 => Of::Whole,
            _ => Of::ParityWithHeard,
        }
    }

    fn fork(&mut self) -> Fork {
        let alternatives = |random: &mut Random| (0..2 + random.below(2)).map(|_| random.below(3)).collect();
        let first: Vec<u8> = alternatives(&mut self.random);
        let again = first[0];
        let second = if self.random.chance(35) { alternatives(&mut self.random) } else { Vec::new() };
        Fork { first, again, second }
    }

    /// One send to a role, or a few to single processes: the states grow fast with the messages.
    fn sends(&mut self, internal: bool, begins: bool) -> Vec<Send> {
        let count = self.random.weighted(if begins { &[0, 70, 30] } else { &[30, 50, 20] });
        let mut sends: Vec<Send> = (0..count).map(|_| self.send(internal)).collect();
        if let Some(broadcast) = sends.iter().position(|send| matches!(send.to, To::Role(_))) {
            sends = vec![Send { copies: 1, ..sends.swap_remove(broadcast) }];
        }
        if self.worldly && self.random.chance(50) {
            let again = sends.first().filter(|_| self.random.chance(40)).cloned();
            let more: Vec<Send> =
                sends.iter().map(|send| Send { to: send.to, ..self.send(internal) }).chain(again).collect();
            sends.extend(more);
        }
        sends
    }

    fn send(&mut self, internal: bool) -> Send {
        let to = match self.random.below(10) {
            0..4 => To::Process(ProcessId::new(self.random.index(self.sizes.iter().sum()))),
            4..7 => To::Role(self.random.index(self.sizes.len())),
            7 => To::Me,
            _ if internal => To::Process(ProcessId::new(self.random.index(self.sizes.iter().sum()))),
            _ => To::Senders,
        };
        let round = match self.random.below(6) {
            0..2 => Round::Fixed(self.random.below(self.rounds)),
            2 => Round::Place,
            3 => Round::Heard,
            4 => Round::Pick,
            _ => Round::Echo,
        };
        let copies = if self.random.chance(20) { 2 } else { 1 };
        Send { to, kind: self.random.below(self.kinds), round, copies }
    }

    fn alarm(&mut self, places: u8) -> Alarm {
        let spot = *self.random.pick(&[Spot::Of, Spot::Condition, Spot::Handler, Spot::Handler]);
        Alarm { spot, place: self.random.below(places), value: self.random.below(2) }
    }

    fn property(&mut self, at: usize) -> RandomProperty {
        let roles = some_roles(&mut self.random, self.sizes.len());
        let processes: usize = roles.iter().map(|&role| self.sizes[role]).sum();
        let sum = u32::from(self.random.below(9));
        let at_end = self.random.chance(35);
        RandomProperty {
            name: format!("property {at}"),
            when: if at_end { When::AtEnd } else { When::Always },
            roles,
            sees: *self.random.pick(&[Sees::Place, Sees::Heard, Sees::Both]),
            demands: match self.random.below(4) {
                0 => Demands::AtMost {
                    value: 1 + u32::from(self.random.below(3)),
                    processes: self.random.index(processes),
                },
                1 if at_end => Demands::SumFrom { sum: 1 + sum / 4 },
                1 | 2 => Demands::SumUpTo { sum },
                _ => Demands::NotFirstAndLast {
                    first: self.random.below(4).into(),
                    last: 1 + u32::from(self.random.below(3)),
                },
            },
        }
    }
}

/// In some protocols the processes of a role never step: they have no transitions, or none that can ever be taken. Now
/// and then nobody steps at all.
fn never_step(random: &mut Random, roles: &mut [RandomRole]) {
    if !random.chance(20) {
        return;
    }
    let first = usize::from(random.chance(85));
    for role in roles.iter_mut().skip(first) {
        let table = Arc::make_mut(&mut role.table);
        match random.below(3) {
            0 => table.rules.clear(),
            1 => table.rules.iter_mut().for_each(Rule::take_never),
            _ => {}
        }
    }
}

/// At least one of so many roles.
fn some_roles(random: &mut Random, roles: usize) -> Vec<usize> {
    let roles: Vec<usize> = (0..roles).filter(|_| random.chance(60)).collect();
    if roles.is_empty() { vec![0] } else { roles }
}

/// How many processes each of one to three roles has.
fn sizes(random: &mut Random, processes: usize) -> Vec<usize> {
    let roles = 1 + random.index(processes.min(3));
    let mut sizes = vec![1; roles];
    for _ in roles..processes {
        // The first role is the one that begins: quorums of its members are the likeliest to fill.
        let role = if random.chance(50) { 0 } else { random.index(roles) };
        sizes[role] += 1;
    }
    sizes
}
