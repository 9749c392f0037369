//! Several groups of interchangeable processes, and one with more permutations than are remembered: whatever is
//! exchanged, the right thing is made of it.

use quorate::engine::{Count, Engine, Explore, Search};
use quorate::model::Model;
use quorate::property::Monitor;
use quorate::reduce::{Reduction, Reductions};
use quorate::world::{Channel, Delivery};
use quorate::{Outbox, ProcessId, Rename, Role, RoleName, System, Transitions, World, observe};
use quorate_testkit::naive::search;
use quorate_testkit::reductions::disagreements;

const CLIENTS: RoleName = RoleName::new("client");
const SERVERS: RoleName = RoleName::new("server");

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Rename)]
enum Msg {
    Ask,
    Answer,
}

/// Asks a server, and hears it twice at most.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Rename)]
struct Client {
    asked: Option<ProcessId>,
    heard: Vec<ProcessId>,
}

impl Role for Client {
    type Message = Msg;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("ask").when(|client| client.asked.is_none()).run(|client, out: &mut Outbox<Msg>| {
            let server = out.choose(out.members(SERVERS).to_vec());
            client.asked = Some(server);
            out.send(server, Msg::Ask);
        });
        t.message("hear")
            .of(|client, message| *message == Msg::Answer && client.heard.len() < 2)
            .run(|client: &mut Client, answer, _| client.heard.push(answer.from));
    }
}

/// Answers who asks first.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Rename)]
struct Server {
    first: Option<ProcessId>,
}

impl Role for Server {
    type Message = Msg;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.message("answer").of(|server, message| *message == Msg::Ask && server.first.is_none()).run(
            |server: &mut Server, ask, out| {
                server.first = Some(ask.from);
                out.send(ask.from, Msg::Answer);
            },
        );
    }
}

fn model(clients_first: bool, looks_at_ends: bool, world: World) -> Model {
    let clients = |system: System<Msg>| system.role(CLIENTS, 2, |_| Client::default()).symmetric(CLIENTS);
    let servers = |system: System<Msg>| system.role(SERVERS, 3, |_| Server::default()).symmetric(SERVERS);
    let system =
        if clients_first { servers(clients(System::new())) } else { clients(servers(System::new())) };
    let system = system.renames::<(Client, Server)>();
    let heard = || observe(|client: &Client| client.heard.len());
    let system = if looks_at_ends {
        system.at_end("any end", heard(), |_| true)
    } else {
        system.invariant("heard twice at most", heard(), |heard| heard.iter().all(|heard| *heard <= 2))
    };
    system.build().expect("a system").in_world(world).expect("a world that fits")
}

#[test]
fn two_groups_are_exchanged_each_by_itself() {
    let mut worlds: Vec<World> = [Channel::Bag, Channel::Fifo, Channel::Duplicating]
        .map(|channel| World::default().channel(channel))
        .into();
    worlds.push(World::default().delivery(Delivery::InSteps));
    worlds.push(World::default().duplications(1));
    for world in worlds {
        for (clients_first, looks_at_ends) in [(false, false), (false, true), (true, false), (true, true)] {
            let model = model(clients_first, looks_at_ends, world.clone());
            let found = search(&model, 50_000).expect("few states");
            for seed in 0..3 {
                let differ = disagreements(&model, &found, seed);
                assert_eq!(differ, Vec::<String>::new(), "{world:?}, {clients_first}, {looks_at_ends}");
            }
        }
    }
}

const HOSTS: RoleName = RoleName::new("host");
const GUESTS: RoleName = RoleName::new("guest");
const WAITERS: RoleName = RoleName::new("waiter");

/// How many guests there are: they have 5040 permutations.
const SEATS: u8 = 7;

/// Knows who sits where, and says to each guest on which side that is.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Rename)]
struct Host {
    seats: Vec<ProcessId>,
    done: bool,
    /// Does it remember who sits where?
    remembers: bool,
    /// Is every guest told which seat it is, and not only the side?
    tells: bool,
}

impl Host {
    fn new(remembers: bool, tells: bool) -> Host {
        Host { seats: Vec::new(), done: false, remembers, tells }
    }
}

impl Role for Host {
    type Message = u8;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("seat").when(|host| !host.done).run(|host, out: &mut Outbox<u8>| {
            host.done = true;
            let mut left = out.members(GUESTS).to_vec();
            for seat in 0..SEATS {
                let guest = out.choose(left.clone());
                left.retain(|one| *one != guest);
                if host.remembers {
                    host.seats.push(guest);
                }
                if host.tells {
                    out.send(guest, seat);
                } else {
                    out.send(guest, seat % 2);
                }
            }
        });
    }
}

/// Stands around, and is one of several.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Rename)]
struct Bystander<const GUEST: bool>;

impl<const GUEST: bool> Role for Bystander<GUEST> {
    type Message = u8;

    fn transitions(&self, _: &mut Transitions<Self>) {}
}

#[test]
fn permutations_that_were_forgotten_are_worked_out_again() {
    let system = System::new()
        .role(HOSTS, 1, |_| Host::new(true, false))
        .role(GUESTS, usize::from(SEATS), |_| Bystander::<true>)
        .role(WAITERS, 2, |_| Bystander::<false>)
        .symmetric(GUESTS)
        .symmetric(WAITERS)
        .renames::<(Host, Bystander<true>, Bystander<false>)>();
    let model = system.build().expect("a system");
    let reductions = Reductions::checked(&[Reduction::Symmetry], &model).expect("it is symmetric");
    let search = Search::default().threads(1).reductions(reductions);
    let report = Explore::default().count(Count::Orbits).run(&model, &search, &mut ());
    assert_eq!(report.verdict.word(), "holds");
    let arrangements = (1..=u64::from(SEATS)).product::<u64>();
    let orbits = report.explored().and_then(|explored| explored.orbits);
    assert_eq!((report.coverage.states, orbits), (2, Some(1 + arrangements)));
}

#[test]
fn what_is_known_of_one_permutation_is_not_taken_for_another() {
    // Of what one host remembers, each of the words of the other makes something else.
    let system = System::new()
        .role(HOSTS, 2, |at| Host::new(at == 0, at == 1))
        .role(GUESTS, usize::from(SEATS), |_| Bystander::<true>)
        .symmetric(GUESTS)
        .renames::<(Host, Bystander<true>)>();
    let model = system.build().expect("a system");
    let reductions = Reductions::checked(&[Reduction::Symmetry], &model).expect("it is symmetric");
    let search = Search::default().threads(1).reductions(reductions);
    let report = Explore::default().run(&model, &search, &mut ());
    assert_eq!(report.verdict.word(), "holds");
    // Two sides for each order of seats, and nobody seated by one of the hosts.
    let arrangements = (1..=u64::from(SEATS)).product::<u64>();
    assert_eq!(report.coverage.states, 3 + arrangements);
}

/// Says who it is, once.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Rename)]
struct Speaker {
    spoke: bool,
}

impl Role for Speaker {
    type Message = u8;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("speak").when(|speaker| !speaker.spoke).run(|speaker, out| {
            speaker.spoke = true;
            out.emit(out.me());
        });
    }
}

/// Does not want to hear of them in this order.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Rename)]
struct NotThis {
    #[rename(skip)]
    order: [ProcessId; 2],
    heard: Vec<ProcessId>,
}

impl Monitor for NotThis {
    type Event = ProcessId;

    fn hear(&mut self, _: ProcessId, event: &ProcessId) {
        self.heard.push(*event);
    }

    fn holds(&self) -> bool {
        self.heard != self.order
    }
}

#[test]
fn a_monitor_that_knows_its_own_order() {
    for order in [[0, 1], [1, 0]] {
        let order = order.map(ProcessId::new);
        let system = System::<u8>::new()
            .role(GUESTS, 2, |_| Speaker { spoke: false })
            .symmetric(GUESTS)
            .renames::<(Speaker,)>()
            .renames_monitor::<NotThis>()
            .monitor("not this", NotThis { order, heard: Vec::new() });
        let model = system.build().expect("a system");
        let found = search(&model, 1_000).expect("few states");
        assert!(!found.broken.is_empty());
        for seed in 0..3 {
            assert_eq!(disagreements(&model, &found, seed), Vec::<String>::new(), "{order:?}");
        }
    }
}
