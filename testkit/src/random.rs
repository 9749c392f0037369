//! Random protocols, each from a seed.
//!
//! Two families: in one, every run ends because each step takes a process to a later place; in the other
//! processes go round in circles, and only the number of messages is bounded. Both have internal steps,
//! single messages, quorums of every kind, choices, messages sent twice, planted panics, and properties
//! of which some hold and some do not. What a protocol does is in the tables that `machine.rs` runs.
//!
//! Invariant: a seed yields the same protocol everywhere and always; there is no other source of chance.
//! Held by: tests/corpus.rs, which counts what the protocols really do.

use std::sync::Arc;

use quorate::property::{Moment, Observation, Property};
use quorate::protocol::Model;
use quorate::{ProcessId, System, observe};

use crate::machine::{
    Alarm, Fork, HEARD_MAX, Hears, Local, Machine, Moves, Note, Of, Quora, ROLES, Reads, Round, Rule, Send,
    Spot, Table, To, When,
};

/// A protocol that nobody would write.
#[derive(Clone, Debug)]
pub struct RandomProtocol {
    seed: u64,
    roles: Vec<RandomRole>,
    properties: Vec<RandomProperty>,
}

#[derive(Clone, Debug)]
struct RandomRole {
    table: Arc<Table>,
    starts: Vec<Local>,
}

#[derive(Clone, Debug)]
struct RandomProperty {
    name: String,
    moment: Moment,
    /// The roles it looks at.
    roles: Vec<usize>,
    sees: Sees,
    demands: Demands,
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
        let sizes = random.sizes(cyclic);
        let kinds = 1 + random.below(3);
        let rounds = 1 + random.below(3);
        let mut generator = Generator { random, cyclic, sizes, kinds, rounds };
        let roles: Vec<RandomRole> = (0..generator.sizes.len()).map(|role| generator.role(role)).collect();
        let properties =
            (0..generator.random.weighted(&[30, 45, 25])).map(|at| generator.property(at)).collect();
        RandomProtocol { seed, roles, properties }
    }

    /// Its seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Is it of the family that goes round in circles?
    pub fn cyclic(&self) -> bool {
        self.roles.iter().any(|role| role.table.cyclic)
    }

    /// The same protocol, with nothing that must hold but that no handler panics.
    #[must_use]
    pub fn without_properties(&self) -> Self {
        RandomProtocol { properties: Vec::new(), ..self.clone() }
    }

    /// The protocol, ready to be checked.
    pub fn model(&self) -> Model {
        let mut system = System::<Note>::new();
        for (role, random) in self.roles.iter().enumerate() {
            system = match role {
                0 => random.add_to::<0>(system),
                1 => random.add_to::<1>(system),
                _ => random.add_to::<2>(system),
            };
        }
        for property in &self.properties {
            system = system.property(property.property());
        }
        system.build().expect("the generator makes valid systems")
    }
}

impl RandomRole {
    fn add_to<const ROLE: usize>(&self, system: System<Note>) -> System<Note> {
        system.role(ROLES[ROLE], self.starts.len(), |index| Machine::<ROLE> {
            local: self.starts[index],
            table: Arc::clone(&self.table),
        })
    }
}

impl RandomProperty {
    fn property(&self) -> Property {
        let (sees, demands) = (self.sees, self.demands);
        let observation = self.roles.iter().fold(None, |so_far, role| {
            Some(match role {
                0 => see::<0>(so_far, sees),
                1 => see::<1>(so_far, sees),
                _ => see::<2>(so_far, sees),
            })
        });
        let observation = observation.expect("a property looks at some role");
        Property::new(self.name.clone(), self.moment, observation, move |observed| demands.hold(observed))
    }
}

fn see<const ROLE: usize>(so_far: Option<Observation<u32>>, sees: Sees) -> Observation<u32> {
    let of = move |machine: &Machine<ROLE>| sees.of(machine.local);
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
        let table = Table { cyclic: self.cyclic, places, rounds: self.rounds, rules };
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

    fn rule(&mut self, at: usize, places: u8, begins: bool) -> Rule {
        let trigger = if begins { Reads::Nothing } else { self.trigger() };
        let internal = matches!(trigger, Reads::Nothing);
        let all_places = (1u8 << places) - 1;
        let mut taken_at = all_places;
        if self.random.chance(60) {
            taken_at &= 1 + self.random.below(all_places);
        }
        let mut when = match self.random.below(8) {
            0..3 => When::Absent,
            3..5 => When::Place,
            5 => When::RoundsUpToHeard,
            6 => When::FirstSender { odd: self.random.chance(50) },
            _ => When::SumOfRounds { odd: self.random.chance(50) },
        };
        if internal && !self.cyclic {
            // An internal step at the last place could be repeated for ever.
            when = When::Place;
            taken_at &= all_places >> 1;
        }
        if begins {
            (when, taken_at) = (When::Place, taken_at | 1);
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
            emits: self.random.chance(30),
            alarm: self.random.chance(3).then(|| self.alarm(places)),
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
        let spot = *self.random.pick(&[Spot::Of, Spot::When, Spot::Handler, Spot::Handler]);
        Alarm { spot, place: self.random.below(places), value: self.random.below(2) }
    }

    fn property(&mut self, at: usize) -> RandomProperty {
        let some_roles = |random: &mut Random, roles: usize| {
            let roles: Vec<usize> = (0..roles).filter(|_| random.chance(60)).collect();
            if roles.is_empty() { vec![0] } else { roles }
        };
        let roles = some_roles(&mut self.random, self.sizes.len());
        let processes: usize = roles.iter().map(|&role| self.sizes[role]).sum();
        let sum = u32::from(self.random.below(9));
        let at_end = self.random.chance(35);
        RandomProperty {
            name: format!("property {at}"),
            moment: if at_end { Moment::AtEnd } else { Moment::Always },
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

/// The splitmix64 generator of Steele, Lea and Flood (OOPSLA 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    fn index(&mut self, below: usize) -> usize {
        usize::try_from(self.next() % below as u64).expect("it is below a usize")
    }

    fn below(&mut self, below: u8) -> u8 {
        u8::try_from(self.next() % u64::from(below)).expect("it is below a u8")
    }

    fn chance(&mut self, percent: u8) -> bool {
        self.below(100) < percent
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.index(of.len())]
    }

    /// The position of one of these weights, the heavier the likelier.
    fn weighted(&mut self, weights: &[u8]) -> usize {
        let mut left = self.below(weights.iter().sum());
        let chosen = weights.iter().position(|&weight| {
            let chosen = left < weight;
            left = left.saturating_sub(weight);
            chosen
        });
        chosen.expect("less than all weights together is left")
    }

    /// How many processes each of one to three roles has: two to four together, three if in circles.
    fn sizes(&mut self, cyclic: bool) -> Vec<usize> {
        let processes = 2 + self.index(if cyclic { 2 } else { 3 });
        let roles = 1 + self.index(processes.min(3));
        let mut sizes = vec![1; roles];
        for _ in roles..processes {
            // The first role is the one that begins: quorums of its members are the likeliest to fill.
            let role = if self.chance(50) { 0 } else { self.index(roles) };
            sizes[role] += 1;
        }
        sizes
    }
}
