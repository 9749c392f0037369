//! Random protocols with interchangeable processes, each from a seed, and some that are wrong about it.
//!
//! A role of two or three twins, and a hub that is alone. They know each other by [`ProcessId`] only, in states and in
//! messages, and treat all alike: what they take from a quorum does not depend on an order. Declared symmetric, that
//! is true by construction. With a [`Mistake`] it is not: some rule, selection, restart or property looks at the
//! order of ids.
//! Invariant: a message is paid for by one that was consumed or by the sender's budget, so that there are few states;
//! a rule that consumes nothing spends some budget, or, where that is wanted, goes round in circles.
//! Held by: tests/reductions.rs, which asks `symmetry.rs` whether the declarations are true.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use quorate::Renaming;
use quorate::model::Model;
use quorate::property::{Property, When};
use quorate::protocol::QuorumOf;
use quorate::{
    Outbox, ProcessId, Received, Rename, Role, RoleName, System, Transitions, majority_of, observe, some_of,
};

use crate::dice::Random;

const TWINS: RoleName = RoleName::new("twin");
const HUBS: RoleName = RoleName::new("hub");
const PLACES: u8 = 3;

/// What the processes say to each other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Rename)]
struct Word {
    kind: u8,
    about: Option<ProcessId>,
}

/// A local state.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Rename)]
struct Local {
    place: u8,
    heard: u8,
    budget: u8,
    friend: Option<ProcessId>,
}

/// A twin, or the hub.
#[derive(Clone)]
struct Somebody<const HUB: bool> {
    local: Local,
    table: Arc<Table>,
}

impl<const HUB: bool> PartialEq for Somebody<HUB> {
    fn eq(&self, other: &Self) -> bool {
        self.local == other.local
    }
}

impl<const HUB: bool> Eq for Somebody<HUB> {}

impl<const HUB: bool> Hash for Somebody<HUB> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.local.hash(state);
    }
}

impl<const HUB: bool> fmt::Debug for Somebody<HUB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.local.fmt(f)
    }
}

impl<const HUB: bool> Rename for Somebody<HUB> {
    fn rename(&self, ids: &Renaming) -> Self {
        Somebody { local: self.local.rename(ids), table: Arc::clone(&self.table) }
    }
}

#[derive(Clone, Debug)]
struct Table {
    rules: Vec<Rule>,
    /// What a restart leaves: whether it keeps the place, and its friend.
    keeps: (bool, bool),
    partial_restart: bool,
}

#[derive(Clone, Debug)]
struct Rule {
    name: String,
    reads: Reads,
    /// The kind of message that it selects, if it selects.
    kind: Option<u8>,
    /// The places where it is taken, as bits.
    at: u8,
    when: Condition,
    moves: u8,
    hears: Hears,
    meets: Meets,
    sends: Vec<Send>,
    picks: bool,
    panics_at: Option<u8>,
    mistake: Option<Mistake>,
    /// The twin that a mistake knows.
    odd: ProcessId,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reads {
    Nothing,
    Message,
    Quorum(usize),
    Majority,
}

/// A condition that no order of ids comes into.
#[derive(Clone, Copy, Debug)]
enum Condition {
    Always,
    FromFriend,
    AboutAnother,
    AboutFriend,
    NotFromFriend,
    HeardSomething,
}

#[derive(Clone, Copy, Debug)]
enum Hears {
    Nothing,
    Count,
    Kinds,
    Forget,
}

/// Who becomes the friend.
#[derive(Clone, Copy, Debug)]
enum Meets {
    Nobody,
    Sender,
    Subject,
    AnyTwin,
    Forgets,
}

#[derive(Clone, Copy, Debug)]
struct Send {
    to: To,
    kind: u8,
    about: About,
}

#[derive(Clone, Copy, Debug)]
enum To {
    Friend,
    Senders,
    Subject,
    Twins,
    Hub,
    Me,
}

#[derive(Clone, Copy, Debug)]
enum About {
    Nobody,
    Me,
    Friend,
    Sender,
}

/// What distinguishes twins although they are said to be interchangeable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mistake {
    /// A handler prefers the lower id.
    PrefersLower,
    /// A handler sends to the first member only.
    SendsToFirst,
    /// A handler does something special when its friend is the last member.
    KnowsTheLast,
    /// A guard compares ids.
    GuardCompares,
    /// A selection compares ids.
    SelectionCompares,
    /// A restart looks at ids.
    RestartCompares,
    /// A property looks at the last member only.
    PropertyKnowsTheLast,
    /// A property looks at who is the friend, not at whether it is one of the twins.
    PropertyKnowsFriends,
    /// A handler does something special when its friend is one certain twin.
    KnowsOne,
    /// A selection never takes what is about one certain twin.
    SelectionKnowsOne,
    /// A guard never lets one certain twin be heard.
    GuardKnowsOne,
    /// A property looks at one certain twin only.
    PropertyKnowsOne,
    /// A property knows all twins by their order.
    PropertyKnowsTheOrder,
}

impl Mistake {
    /// All of them.
    pub const ALL: [Mistake; 13] = [
        Mistake::PrefersLower,
        Mistake::SendsToFirst,
        Mistake::KnowsTheLast,
        Mistake::GuardCompares,
        Mistake::SelectionCompares,
        Mistake::RestartCompares,
        Mistake::PropertyKnowsTheLast,
        Mistake::PropertyKnowsFriends,
        Mistake::KnowsOne,
        Mistake::SelectionKnowsOne,
        Mistake::GuardKnowsOne,
        Mistake::PropertyKnowsOne,
        Mistake::PropertyKnowsTheOrder,
    ];

    fn in_a_rule(self) -> bool {
        !self.in_a_property() && self != Mistake::RestartCompares
    }

    fn in_a_property(self) -> bool {
        matches!(
            self,
            Mistake::PropertyKnowsTheLast
                | Mistake::PropertyKnowsFriends
                | Mistake::PropertyKnowsOne
                | Mistake::PropertyKnowsTheOrder
        )
    }

    /// Does it know one of the twins, or their order, whatever their number?
    fn knows_one_of_many(self) -> bool {
        matches!(
            self,
            Mistake::KnowsOne
                | Mistake::SelectionKnowsOne
                | Mistake::GuardKnowsOne
                | Mistake::PropertyKnowsOne
                | Mistake::PropertyKnowsTheOrder
        )
    }
}

/// A protocol of twins that nobody would write.
#[derive(Clone, Debug)]
pub struct TwinProtocol {
    seed: u64,
    twins: usize,
    hub: bool,
    tables: [Arc<Table>; 2],
    budgets: [u8; 2],
    properties: Vec<(When, Demand)>,
    mistake: Option<Mistake>,
}

/// What a property demands.
#[derive(Clone, Copy, Debug)]
enum Demand {
    /// At most so many twins at a place.
    AtMost { place: u8, count: usize },
    /// Twins at the last place have the same friend.
    Agreement,
    /// No twin heard so much.
    HeardBelow(u8),
    /// The sum of the places of the twins.
    PlacesFrom(u8),
    /// The hub is not there before a twin is.
    HubAfterTwins(u8),
}

impl TwinProtocol {
    /// The protocol of this seed, which is what it says it is.
    pub fn new(seed: u64) -> Self {
        Self::generate(seed, None)
    }

    /// The protocol of this seed, with a mistake.
    pub fn with_mistake(seed: u64, mistake: Mistake) -> Self {
        Self::generate(seed, Some(mistake))
    }

    fn generate(seed: u64, mistake: Option<Mistake>) -> Self {
        let mut random = Random(seed ^ 0x7477_696e_7300);
        let many = mistake.is_some_and(Mistake::knows_one_of_many);
        let more = if many { usize::try_from(seed % 3).expect("small") } else { 0 };
        let twins = 2 + usize::from(random.chance(50)) + more;
        let hub = random.chance(60);
        let cyclic = random.chance(40);
        let kinds = 1 + random.below(2);
        let mut generator = Generator { random, twins, hub, kinds, cyclic };
        let tables = [generator.table(false), generator.table(true)];
        let mut tables = tables.map(|rules| {
            let keeps = (generator.random.chance(50), generator.random.chance(50));
            Table { rules, keeps, partial_restart: mistake == Some(Mistake::RestartCompares) }
        });
        if let Some(mistake) = mistake.filter(|mistake| mistake.in_a_rule()) {
            generator.plant(mistake, &mut tables[0].rules);
        }
        let most = match twins {
            2 => 3,
            3 => 2,
            _ => 1,
        };
        let budgets = [1 + generator.random.below(most), 1 + generator.random.below(2)];
        let properties = (0..=generator.random.below(2)).map(|_| generator.property()).collect();
        TwinProtocol { seed, twins, hub, tables: tables.map(Arc::new), budgets, properties, mistake }
    }

    /// The same protocol, with nothing that must hold but that no handler panics.
    #[must_use]
    pub fn without_properties(&self) -> Self {
        TwinProtocol { properties: Vec::new(), ..self.clone() }
    }

    /// Its seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// What is wrong with it, by the name that a verdict must mention.
    pub fn culprit(&self) -> &'static str {
        match self.mistake {
            Some(mistake) if mistake.in_a_property() => "the wrong property",
            Some(Mistake::RestartCompares) => "restart",
            _ => "the wrong rule",
        }
    }

    /// The protocol, ready to be checked, with the twins declared symmetric.
    pub fn model(&self) -> Model {
        let local = |budget| Local { place: 0, heard: 0, budget, friend: None };
        let [twin, hub] = [0, 1].map(|at| (local(self.budgets[at]), Arc::clone(&self.tables[at])));
        let mut system = System::<Word>::new();
        if self.hub {
            system = system.role(HUBS, 1, |_| Somebody::<true> { local: hub.0, table: Arc::clone(&hub.1) });
        }
        system = system
            .role(TWINS, self.twins, |_| Somebody::<false> { local: twin.0, table: Arc::clone(&twin.1) });
        system = system.symmetric(TWINS).renames::<(Somebody<false>, Somebody<true>)>();
        for (at, (moment, demand)) in self.properties.iter().enumerate() {
            system = system.property(demand.property(&format!("property {at}"), *moment, self.hub));
        }
        if let Some(wrong) = self.wrong_property() {
            system = system.property(wrong);
        }
        system.build().expect("the generator makes valid systems")
    }

    fn wrong_property(&self) -> Option<Property> {
        let (name, place) = ("the wrong property", u8::try_from(self.seed % 2).expect("small") + 1);
        let last = ProcessId::new(self.twins - 1 + usize::from(self.hub));
        let odd = usize::try_from(self.seed).expect("64 bits") / 3 % self.twins;
        let places = observe(|twin: &Somebody<false>| twin.local.place);
        match self.mistake? {
            Mistake::PropertyKnowsOne => {
                let fine = move |places: &[u8]| places[odd] != place;
                Some(Property::new(name.to_string(), When::Always, places, fine))
            }
            Mistake::PropertyKnowsTheOrder => {
                let fine = |places: &[u8]| places.is_sorted_by(|a, b| a >= b);
                Some(Property::new(name.to_string(), When::Always, places, fine))
            }
            Mistake::PropertyKnowsTheLast => Some(Property::new(
                name.to_string(),
                When::Always,
                observe(|twin: &Somebody<false>| twin.local.place),
                move |places| places.last() != Some(&place),
            )),
            Mistake::PropertyKnowsFriends => Some(Property::new(
                name.to_string(),
                When::Always,
                observe(move |twin: &Somebody<false>| twin.local.friend == Some(last)),
                |befriended| !befriended.iter().any(|befriended| *befriended),
            )),
            _ => None,
        }
    }
}

impl Demand {
    fn property(self, name: &str, when: When, hub: bool) -> Property {
        let of_twins = observe(|twin: &Somebody<false>| (twin.local.place, twin.local.heard, None));
        let name = name.to_string();
        match self {
            Demand::AtMost { place, count } => Property::new(name, when, of_twins, move |seen| {
                seen.iter().filter(|(at, _, _)| *at == place).count() <= count
            }),
            Demand::Agreement => Property::new(
                name,
                when,
                observe(|twin: &Somebody<false>| {
                    (twin.local.place == PLACES - 1).then_some(twin.local.friend).flatten()
                }),
                |friends| {
                    let mut friends = friends.iter().flatten();
                    let first = friends.next();
                    friends.all(|friend| Some(friend) == first)
                },
            ),
            Demand::HeardBelow(limit) => Property::new(name, when, of_twins, move |seen| {
                seen.iter().all(|(_, heard, _)| *heard < limit)
            }),
            Demand::PlacesFrom(least) => Property::new(name, when, of_twins, move |seen| {
                seen.iter().map(|(place, _, _)| *place).sum::<u8>() >= least
            }),
            Demand::HubAfterTwins(place) => {
                let observation = if hub {
                    of_twins.and(|hub: &Somebody<true>| (0, 0, Some(hub.local.place)))
                } else {
                    of_twins
                };
                Property::new(name, when, observation, move |seen| {
                    let hub = seen.iter().any(|(_, _, hub)| *hub == Some(place));
                    !hub || seen.iter().any(|(at, _, hub)| hub.is_none() && *at >= place)
                })
            }
        }
    }
}

struct Generator {
    random: Random,
    twins: usize,
    hub: bool,
    kinds: u8,
    cyclic: bool,
}

impl Generator {
    fn table(&mut self, hub: bool) -> Vec<Rule> {
        let rules = 2 + usize::from(self.random.below(3));
        (0..rules).map(|at| self.rule(at, hub)).collect()
    }

    fn rule(&mut self, at: usize, hub: bool) -> Rule {
        let begins = at == 0 && (!hub || self.random.chance(40));
        let reads = match self.random.below(10) {
            _ if begins => Reads::Nothing,
            0 => Reads::Nothing,
            1..6 => Reads::Message,
            6..9 => Reads::Quorum(1 + self.random.index(self.twins)),
            _ => Reads::Majority,
        };
        let single = reads == Reads::Message;
        let places = if begins { 1 | self.random.below(8) } else { 1 + self.random.below(7) };
        Rule {
            name: format!("rule {at}"),
            reads,
            kind: self.random.chance(60).then(|| self.random.below(self.kinds)),
            at: places,
            when: match self.random.below(12) {
                0 if single => Condition::FromFriend,
                1 if single => Condition::AboutAnother,
                2 if single => Condition::AboutFriend,
                3 if single => Condition::NotFromFriend,
                4 if !begins => Condition::HeardSomething,
                _ => Condition::Always,
            },
            moves: if self.cyclic { self.random.below(3) } else { 1 + self.random.below(2) },
            hears: *self.random.pick(&[
                Hears::Nothing,
                Hears::Nothing,
                Hears::Count,
                Hears::Kinds,
                Hears::Forget,
            ]),
            meets: match self.random.below(8) {
                0..2 if single => Meets::Sender,
                2 if single => Meets::Subject,
                3 => Meets::AnyTwin,
                4 => Meets::Forgets,
                _ => Meets::Nobody,
            },
            sends: self.sends(begins),
            picks: self.random.chance(20),
            panics_at: self.random.chance(3).then(|| self.random.below(PLACES)),
            mistake: None,
            odd: ProcessId::new(0),
        }
    }

    fn sends(&mut self, begins: bool) -> Vec<Send> {
        let count = self.random.weighted(if begins { &[5, 75, 20] } else { &[35, 50, 15] });
        (0..count)
            .map(|_| Send {
                to: match self.random.below(12) {
                    0..2 => To::Friend,
                    2..5 => To::Senders,
                    5 => To::Subject,
                    9 | 10 if self.hub => To::Hub,
                    6..=9 => To::Twins,
                    _ => To::Me,
                },
                kind: self.random.below(self.kinds),
                about: *self.random.pick(&[
                    About::Nobody,
                    About::Nobody,
                    About::Me,
                    About::Friend,
                    About::Sender,
                ]),
            })
            .collect()
    }

    /// Puts a mistake into a rule of the twins where it can do something.
    fn plant(&mut self, mistake: Mistake, rules: &mut [Rule]) {
        if mistake == Mistake::SelectionKnowsOne {
            // Otherwise it would hardly ever hear of the one that it knows.
            rules.iter_mut().flat_map(|rule| &mut rule.sends).for_each(|send| send.about = About::Me);
        }
        let needs_message = matches!(
            mistake,
            Mistake::GuardCompares
                | Mistake::SelectionCompares
                | Mistake::GuardKnowsOne
                | Mistake::SelectionKnowsOne
        );
        let fits = |rule: &&mut Rule| (rule.reads == Reads::Message) || !needs_message;
        let at = if needs_message { 0 } else { self.random.index(rules.len()) };
        let mut fitting: Vec<&mut Rule> = rules.iter_mut().filter(fits).collect();
        let chosen = at.min(fitting.len().saturating_sub(1));
        if let Some(rule) = fitting.get_mut(chosen) {
            rule.mistake = Some(mistake);
            rule.name = "the wrong rule".to_string();
            if matches!(mistake, Mistake::KnowsTheLast | Mistake::KnowsOne)
                && matches!(rule.meets, Meets::Nobody)
            {
                rule.meets = Meets::AnyTwin;
            }
            if mistake.knows_one_of_many() {
                rule.odd = ProcessId::new(usize::from(self.hub) + self.random.index(self.twins));
            }
        }
    }

    fn property(&mut self) -> (When, Demand) {
        let moment = if self.random.chance(35) { When::AtEnd } else { When::Always };
        let place = 1 + self.random.below(PLACES - 1);
        let demand = match self.random.below(6) {
            0 => Demand::AtMost { place, count: self.random.index(self.twins) },
            1 => Demand::Agreement,
            2 => Demand::HeardBelow(1 + self.random.below(2)),
            3 if moment == When::AtEnd => Demand::PlacesFrom(1 + self.random.below(3)),
            3 => Demand::AtMost { place, count: 1 },
            _ => Demand::HubAfterTwins(place),
        };
        (moment, demand)
    }
}

impl<const HUB: bool> Role for Somebody<HUB> {
    type Message = Word;

    fn restarted(&self) -> Self {
        let Local { place, friend, .. } = self.local;
        let (keeps_place, keeps_friend) = self.table.keeps;
        let last = friend.is_some_and(|friend| friend.index() > 1);
        let keeps_place = keeps_place || self.table.partial_restart && last;
        let local = Local {
            place: if keeps_place { place } else { 0 },
            friend: friend.filter(|_| keeps_friend),
            ..self.local
        };
        Somebody { local, table: Arc::clone(&self.table) }
    }

    fn transitions(&self, t: &mut Transitions<Self>) {
        for (position, rule) in self.table.rules.iter().enumerate() {
            let (table, guard) = (Arc::clone(&self.table), rule.clone());
            let run = move |me: &mut Self, received: &[Received<'_, Word>], out: &mut Outbox<Word>| {
                table.rules[position].run(&mut me.local, received, out);
            };
            let quorum: QuorumOf = match rule.reads {
                Reads::Nothing => {
                    t.internal(&rule.name)
                        .when(move |me| guard.accepts(me.local, &[]))
                        .run(move |me, out| run(me, &[], out));
                    continue;
                }
                Reads::Message => {
                    let selects = rule.clone();
                    t.message(&rule.name)
                        .of(move |me, word| selects.selects(me.local, *word))
                        .when(move |me, word| guard.accepts(me.local, &[word]))
                        .run(move |me, word, out| run(me, &[word], out));
                    continue;
                }
                Reads::Quorum(size) => some_of(size, TWINS),
                Reads::Majority => majority_of(TWINS),
            };
            let selects = rule.clone();
            t.quorum(&rule.name, quorum)
                .of(move |me, word| selects.selects(me.local, *word))
                .when(move |me, words| guard.accepts(me.local, &words.iter().collect::<Vec<_>>()))
                .run(move |me, words, out| run(me, &words.iter().collect::<Vec<_>>(), out));
        }
    }
}

impl Rule {
    fn selects(&self, local: Local, word: Word) -> bool {
        let compares = self.mistake == Some(Mistake::SelectionCompares);
        let in_order = word.about.is_none_or(|about| about.index() > 1)
            && local.friend.is_none_or(|friend| word.about.is_none_or(|about| friend <= about));
        let avoids = self.mistake == Some(Mistake::SelectionKnowsOne) && word.about == Some(self.odd);
        self.kind.is_none_or(|kind| kind == word.kind) && (!compares || in_order) && !avoids
    }

    fn accepts(&self, local: Local, received: &[Received<'_, Word>]) -> bool {
        let first = received.first();
        let holds = match (self.when, first) {
            (Condition::FromFriend, Some(word)) => local.friend == Some(word.from),
            (Condition::NotFromFriend, Some(word)) => local.friend != Some(word.from),
            (Condition::AboutAnother, Some(word)) => word.about.is_some_and(|about| about != word.from),
            (Condition::AboutFriend, Some(word)) => word.about == local.friend,
            (Condition::HeardSomething, _) => local.heard > 0,
            _ => true,
        };
        let compares = self.mistake == Some(Mistake::GuardCompares);
        let in_order = || first.is_none_or(|word| local.friend.is_none_or(|friend| word.from > friend));
        let avoids =
            self.mistake == Some(Mistake::GuardKnowsOne) && received.iter().any(|word| word.from == self.odd);
        // A step that consumes nothing has to be paid for.
        let paid = !received.is_empty() || local.budget > 0;
        holds && paid && self.at >> local.place & 1 == 1 && (!compares || in_order()) && !avoids
    }

    fn run(&self, local: &mut Local, received: &[Received<'_, Word>], out: &mut Outbox<Word>) {
        let before = *local;
        assert!(self.panics_at != Some(before.place) || before.heard == 0, "planted in '{}'", self.name);
        let pick = if self.picks { out.choose([0, 1]) } else { 0 };
        let mut paid = received.len();
        if received.is_empty() && !(self.moves == 0 && self.sends.is_empty()) {
            local.budget = local.budget.saturating_sub(1);
            paid = 1;
        }
        local.place = (before.place + self.moves + pick) % PLACES;
        local.heard = match self.hears {
            Hears::Nothing => before.heard,
            Hears::Count => (before.heard + 1).min(2),
            Hears::Kinds => received.iter().map(|word| word.kind).sum::<u8>().min(2),
            Hears::Forget => 0,
        };
        let sender = received.first().map(|word| word.from).filter(|_| received.len() == 1);
        let subject = received.first().and_then(|word| word.about).filter(|_| received.len() == 1);
        local.friend = match self.meets {
            Meets::Nobody => before.friend,
            Meets::Sender => sender,
            Meets::Subject => subject,
            Meets::AnyTwin => Some(out.choose(out.members(TWINS).to_vec())),
            Meets::Forgets => None,
        };
        let twins = out.members(TWINS).to_vec();
        let first = twins.first().copied();
        match self.mistake {
            Some(Mistake::PrefersLower) => {
                let known = [before.friend, local.friend, sender, subject, received.first().map(|w| w.from)];
                local.friend = known.into_iter().flatten().min();
            }
            Some(Mistake::KnowsTheLast) if local.friend == twins.last().copied() => local.place = PLACES - 1,
            Some(Mistake::KnowsOne) if local.friend == Some(self.odd) => local.place = PLACES - 1,
            Some(Mistake::SendsToFirst) if paid > 0 => {
                paid -= 1;
                if let Some(first) = first {
                    out.send(first, Word { kind: 0, about: None });
                }
            }
            _ => {}
        }
        for send in &self.sends {
            let about = match send.about {
                About::Nobody => None,
                About::Me => Some(out.me()),
                About::Friend => local.friend,
                About::Sender => sender,
            };
            let receivers = match send.to {
                To::Friend => local.friend.into_iter().collect(),
                To::Senders => received.iter().map(|word| word.from).collect(),
                To::Subject => subject.into_iter().collect(),
                To::Twins => twins.clone(),
                To::Hub => out.members(HUBS).to_vec(),
                To::Me => vec![out.me()],
            };
            let owed = receivers.len().saturating_sub(paid);
            let Some(left) = u8::try_from(owed).ok().and_then(|owed| local.budget.checked_sub(owed)) else {
                continue;
            };
            paid = paid.saturating_sub(receivers.len());
            local.budget = left;
            for to in receivers {
                out.send(to, Word { kind: send.kind, about });
            }
        }
    }
}
