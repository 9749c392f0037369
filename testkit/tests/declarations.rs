//! Declarations of symmetry that are wrong in one place, for each of two to five processes as the odd one: none is
//! believed, whatever the reductions. And declarations that are true are not doubted.
//!
//! A server invites one or two clients, which ask it something and then walk on by themselves. Of two it says in which
//! order they have asked. Where a declaration is wrong, one client is treated in another way: by a handler, a guard, a
//! selection, a key of a quorum, a restart, a property; or a handler looks at the order of ids.

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};

use quorate::engine::{Engine, Explore, Search};
use quorate::model::Model;
use quorate::reduce::{Reduction, Reductions};
use quorate::report::{Report, Stopped, Verdict};
use quorate::testing::{Mutant, Tuning};
use quorate::world::Channel;
use quorate::{
    Outbox, ProcessId, Quorum, Received, Rename, Renaming, Role, RoleName, System, Transitions, World,
    observe, some_of,
};
use quorate_testkit::naive::search;
use quorate_testkit::reductions::combinations;

const CLIENTS: RoleName = RoleName::new("client");
const SERVER: RoleName = RoleName::new("server");
const SINK: RoleName = RoleName::new("sink");

/// What is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Wrong {
    Nothing,
    /// The handler of the server knows who asks.
    Handler,
    Guard,
    Selection,
    /// A key of a quorum keeps one client apart.
    Key,
    /// The leader knows its own name.
    Leader,
    Restart,
    /// The property looks at one client.
    Property,
    /// The property knows three clients by their order.
    Order,
    /// The property knows whom a local state mentions.
    Mentioned,
    /// The server sends names in the order of ids, to a receiver that takes the first.
    SendsInOrder,
}

const WRONGS: [Wrong; 10] = [
    Wrong::Handler,
    Wrong::Guard,
    Wrong::Selection,
    Wrong::Key,
    Wrong::Leader,
    Wrong::Restart,
    Wrong::Property,
    Wrong::Order,
    Wrong::Mentioned,
    Wrong::SendsInOrder,
];

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Case {
    wrong: Wrong,
    odd: ProcessId,
}

impl Case {
    fn is(self, wrong: Wrong, who: ProcessId) -> bool {
        self.wrong == wrong && self.odd == who
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Rename)]
enum Msg {
    Invited,
    Ask(ProcessId),
    Named(ProcessId),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Rename)]
struct Client {
    place: u8,
    me: Option<ProcessId>,
    #[rename(skip)]
    case: Case,
}

impl Role for Client {
    type Message = Msg;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.message("ask").of(|_, message| *message == Msg::Invited).run(
            |client: &mut Client, _: Received<'_, Msg>, out: &mut Outbox<Msg>| {
                client.me = Some(out.me());
                client.place = if client.case.is(Wrong::Leader, out.me()) { 9 } else { 1 };
                out.send_all(SERVER, Msg::Ask(out.me()));
            },
        );
        t.internal("walk").when(|client| client.place == 1).run(|client, _| client.place = 2);
    }

    fn restarted(&self) -> Self {
        let knows = self.me.is_some_and(|me| self.case.is(Wrong::Restart, me));
        Client { place: if knows { 9 } else { self.place }, ..*self }
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Rename)]
struct Server {
    invites: u8,
    invited: BTreeSet<ProcessId>,
    asked: Vec<ProcessId>,
    bad: bool,
    #[rename(skip)]
    case: Case,
}

impl Role for Server {
    type Message = Msg;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("invite").when(|server| server.invites > 0).run(|server, out| {
            let new = |one: &ProcessId| !server.invited.contains(one);
            let one = out.choose(out.members(CLIENTS).iter().copied().filter(new).collect::<Vec<_>>());
            server.invites -= 1;
            server.invited.insert(one);
            out.send(one, Msg::Invited);
        });
        t.message("hear")
            .of(|server, message| match message {
                Msg::Ask(who) => server.case.wrong != Wrong::Key && !server.case.is(Wrong::Selection, *who),
                _ => false,
            })
            .when(|server, message| !server.case.is(Wrong::Guard, message.from))
            .run(Self::hear);
        // What the odd one asks stays where it is, and is heard here.
        t.message("hear the odd one")
            .of(|server, message| match message {
                Msg::Ask(who) => server.case.is(Wrong::Selection, *who) || server.case.is(Wrong::Guard, *who),
                _ => false,
            })
            .run(|server, _, _| server.bad = true);
        t.quorum("gather", some_of(2, CLIENTS))
            .of(|server, message| match message {
                Msg::Ask(who) if server.case.wrong == Wrong::Key => {
                    Some(u8::from(server.case.is(Wrong::Key, *who)))
                }
                _ => None,
            })
            .run(|server, _: Quorum<'_, Msg>, _| server.bad = true);
    }
}

impl Server {
    fn hear(&mut self, ask: Received<'_, Msg>, out: &mut Outbox<Msg>) {
        self.bad |= self.case.is(Wrong::Handler, ask.from);
        self.asked.push(ask.from);
        if self.asked.len() == 2 {
            let mut names = self.asked.clone();
            if self.case.wrong == Wrong::SendsInOrder {
                names.sort_unstable();
            }
            let sink = out.members(SINK)[0];
            for name in names {
                out.send(sink, Msg::Named(name));
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Rename)]
struct Sink(Option<ProcessId>);

impl Role for Sink {
    type Message = Msg;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.message("note").of(|sink, _| sink.0.is_none()).run(|sink, named, _| {
            if let Msg::Named(who) = *named {
                sink.0 = Some(who);
            }
        });
    }
}

/// What a property sees of a process.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Seen {
    Client(u8),
    Server { bad: bool, first: Option<ProcessId>, all: usize },
    Sink(Option<ProcessId>),
}

fn system(clients: usize, case: Case) -> Model {
    let odd = case.odd;
    let all = observe(|client: &Client| Seen::Client(client.place))
        .and(|server: &Server| Seen::Server {
            bad: server.bad,
            first: server.asked.first().copied(),
            all: server.asked.len(),
        })
        .and(|sink: &Sink| Seen::Sink(sink.0));
    let fine = move |seen: &[Seen]| match case.wrong {
        Wrong::Property => seen[odd.index()] != Seen::Client(2),
        Wrong::Order => {
            let next = (odd.index() + 1) % clients;
            (&seen[odd.index()], &seen[next]) != (&Seen::Client(2), &Seen::Client(1))
        }
        // Of two that ask, the first is named first.
        Wrong::SendsInOrder | Wrong::Nothing => match &seen[clients..] {
            [Seen::Server { first: Some(first), all: 2, .. }, Seen::Sink(Some(named))] => first == named,
            _ => true,
        },
        _ => seen.iter().all(|one| !matches!(one, Seen::Client(9) | Seen::Server { bad: true, .. })),
    };
    let mentioned =
        observe(move |server: &Server| case.wrong == Wrong::Mentioned && server.asked.last() == Some(&odd));
    let two = matches!(case.wrong, Wrong::Key | Wrong::Order | Wrong::SendsInOrder | Wrong::Nothing);
    let invites = if two { 2 } else { 1 };
    let nobody = (BTreeSet::new(), Vec::new());
    let server = Server { invites, invited: nobody.0, asked: nobody.1, bad: false, case };
    let system = System::new()
        .role(CLIENTS, clients, |_| Client { place: 0, me: None, case })
        .role(SERVER, 1, |_| server.clone())
        .role(SINK, 1, |_| Sink(None))
        .symmetric(CLIENTS)
        .renames::<(Client, Server, Sink)>()
        .invariant("all are fine", all, move |seen: &[Seen]| fine(seen))
        .invariant("nobody is mentioned", mentioned, |mentioned| !mentioned.contains(&true));
    let model = system.build().unwrap_or_else(|error| panic!("{error}"));
    let world = World::default().channel(Channel::Fifo).restarts(match case.wrong {
        Wrong::Restart => vec![("client".to_string(), 1)],
        _ => Vec::new(),
    });
    model.in_world(world).unwrap_or_else(|error| panic!("{error}"))
}

fn explored(model: &Model, which: &[Reduction], tuning: Tuning) -> Report {
    let reductions = Reductions::checked(which, model).expect("an allowed combination");
    let search = Search::default().threads(1).states_max(200_000).reductions(reductions).tuning(tuning);
    Explore::default().run(model, &search, &mut ())
}

fn symmetric(model: &Model) -> Vec<Vec<Reduction>> {
    combinations(model).into_iter().filter(|which| which.contains(&Reduction::Symmetry)).collect()
}

/// Every mistake, with each of so many clients as the odd one; and whether it breaks anything.
fn cases(clients: usize) -> impl Iterator<Item = (Wrong, usize, Model, bool)> {
    WRONGS.iter().flat_map(move |wrong| (0..clients).map(move |odd| (*wrong, odd))).map(
        move |(wrong, odd)| {
            let model = system(clients, Case { wrong, odd: ProcessId::new(odd) });
            let broken = !search(&model, 50_000).expect("few enough states").broken.is_empty();
            (wrong, odd, model, broken)
        },
    )
}

#[test]
fn no_odd_one_is_overlooked() {
    for clients in 2..=5 {
        for (wrong, odd, model, broken) in cases(clients) {
            // Two that are kept apart never make a quorum.
            assert!(broken || (wrong, clients) == (Wrong::Key, 2), "{wrong:?} {odd} breaks nothing");
            for which in symmetric(&model).into_iter().filter(|_| broken) {
                let report = explored(&model, &which, Tuning::default());
                assert!(
                    matches!(report.verdict, Verdict::Violated(_) | Verdict::Unknown(Stopped::Asymmetric(_))),
                    "{clients} clients, {wrong:?} {odd}, {which:?}: {:?}",
                    report.verdict
                );
            }
        }
    }
}

#[test]
fn what_is_true_is_not_doubted() {
    for clients in 2..=4 {
        let model = system(clients, Case { wrong: Wrong::Nothing, odd: ProcessId::new(63) });
        for which in symmetric(&model) {
            let report = explored(&model, &which, Tuning::default());
            assert_eq!(report.verdict.word(), "holds", "{which:?}: {:?}", report.verdict);
            let details = report.explored().expect("it was explored");
            assert_eq!(details.without_symmetry, None, "{which:?}");
            let compared = details.symmetry.expect("symmetry was used");
            assert!(compared.steps > 0 && compared.combinations > 0, "{which:?}: {compared:?}");
        }
    }
}

/// Without the check, each kind of mistake is believed by some search.
#[test]
fn the_check_is_needed() {
    let believing = Tuning { mutants: Mutant::NoCertificate.into(), ..Tuning::default() };
    let mut found: Vec<Wrong> = WRONGS.to_vec();
    for (wrong, _, model, _) in (2..=4).flat_map(cases).filter(|(.., broken)| *broken) {
        let misled = |which: &Vec<Reduction>| explored(&model, which, believing).verdict.word() == "holds";
        if symmetric(&model).iter().any(misled) {
            found.retain(|one| *one != wrong);
        }
    }
    assert!(found.is_empty(), "{found:?} are found without the check");
}

/// With too little room for the comparison a search does without symmetry, says so, and answers as it would without.
#[test]
fn what_cannot_be_compared_is_not_reduced() {
    let model = system(3, Case { wrong: Wrong::Nothing, odd: ProcessId::new(63) });
    for which in symmetric(&model) {
        let without: Vec<Reduction> =
            which.iter().copied().filter(|reduction| *reduction != Reduction::Symmetry).collect();
        let expected = explored(&model, &without, Tuning::default());
        for symmetry_max in [0, 1, 5, 20, 60] {
            let report = explored(&model, &which, Tuning { symmetry_max, ..Tuning::default() });
            let details = report.explored().expect("it was explored");
            let reason = details.without_symmetry.as_deref().unwrap_or_default();
            assert!(reason.contains("comparisons would show"), "{which:?} {symmetry_max}: {reason}");
            assert_eq!(details.reductions, without, "{which:?} {symmetry_max}");
            assert_eq!(report.verdict.word(), expected.verdict.word());
            // Which stubborn sets are chosen depends on what was found before.
            if !which.contains(&Reduction::Stubborn) {
                assert_eq!(report.coverage.states, expected.coverage.states, "{which:?} {symmetry_max}");
            }
        }
    }
}

const PEERS: RoleName = RoleName::new("peer");

/// A peer with the same hash as all others: legal, and slow.
#[derive(Clone, PartialEq, Eq, Debug, Rename)]
struct Peer {
    heard: Vec<ProcessId>,
    spoke: bool,
}

impl Hash for Peer {
    fn hash<H: Hasher>(&self, state: &mut H) {
        0u8.hash(state);
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Rename)]
struct Word(u8, ProcessId);

impl Hash for Word {
    fn hash<H: Hasher>(&self, state: &mut H) {
        0u8.hash(state);
    }
}

impl Role for Peer {
    type Message = Word;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("speak").when(|peer| !peer.spoke).run(|peer, out| {
            peer.spoke = true;
            // Several outcomes and several messages, all with the same hash.
            let kind = out.choose([0, 1, 2]);
            out.send_all(PEERS, Word(kind, out.me()));
            out.send_all(PEERS, Word(kind + 1, out.me()));
        });
        t.message("hear").when(|peer, _| peer.heard.is_empty()).run(|peer, word, _| peer.heard.push(word.1));
    }
}

#[test]
fn a_coarse_hash_is_no_asymmetry() {
    let system = System::new()
        .role(PEERS, 3, |_| Peer { heard: Vec::new(), spoke: false })
        .symmetric(PEERS)
        .renames::<(Peer,)>()
        .invariant("few are heard", observe(|peer: &Peer| peer.heard.len()), |heard| {
            heard.iter().all(|n| *n < 2)
        });
    let model = system.build().unwrap_or_else(|error| panic!("{error}"));
    for which in symmetric(&model) {
        let report = explored(&model, &which, Tuning::default());
        assert_eq!(report.verdict.word(), "holds", "{which:?}: {:?}", report.verdict);
    }
}

/// A peer whose ids are renamed in a way that is no permutation.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Counter(u64);

impl Rename for Counter {
    fn rename(&self, ids: &Renaming) -> Self {
        let moved = (0..3).any(|at| ids.of(ProcessId::new(at)) != ProcessId::new(at));
        Counter(self.0 + u64::from(moved && self.0 > 0))
    }
}

impl Role for Counter {
    type Message = Word;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("count").when(|counter| counter.0 == 0).run(|counter, _| counter.0 = 1);
    }
}

#[test]
fn renaming_that_is_not_undone_is_named() {
    let system =
        System::<Word>::new().role(PEERS, 3, |_| Counter(0)).symmetric(PEERS).renames::<(Counter,)>();
    let model = system.build().unwrap_or_else(|error| panic!("{error}"));
    for which in symmetric(&model) {
        let report = explored(&model, &which, Tuning::default());
        match &report.verdict {
            Verdict::Unknown(Stopped::Asymmetric(reason)) => {
                assert!(reason.contains("not undone") && reason.contains("peer"), "{reason}");
            }
            other => panic!("{which:?}: the verdict is {other:?}"),
        }
    }
}

/// A peer of which each exchange of neighbours is undone when it is repeated, and yet both together make seven values
/// of one: three peers have six permutations. Before its first turn it is the same for all.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Turning(usize);

impl Rename for Turning {
    fn rename(&self, ids: &Renaming) -> Self {
        let goes_to = |from: usize, to: usize| ids.of(ProcessId::new(from)) == ProcessId::new(to);
        let mirrored_at = |at: usize| Turning(if self.0 == 0 { 0 } else { 1 + (8 + at - self.0) % 7 });
        match (goes_to(0, 1) && goes_to(1, 0), goes_to(1, 2) && goes_to(2, 1)) {
            (true, _) => mirrored_at(1),
            (_, true) => mirrored_at(0),
            _ => self.clone(),
        }
    }
}

impl Role for Turning {
    type Message = Word;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("turn").run(|turning, _| turning.0 = 1 + turning.0 % 7);
    }
}

#[test]
fn renaming_that_makes_more_of_a_value_than_there_are_permutations_is_named() {
    let system =
        System::<Word>::new().role(PEERS, 3, |_| Turning(0)).symmetric(PEERS).renames::<(Turning,)>();
    let model = system.build().unwrap_or_else(|error| panic!("{error}"));
    for which in symmetric(&model) {
        let report = explored(&model, &which, Tuning::default());
        match &report.verdict {
            Verdict::Unknown(Stopped::Asymmetric(reason)) => {
                assert!(reason.contains("not undone") && reason.contains("peer"), "{reason}");
            }
            other => panic!("{which:?}: the verdict is {other:?}"),
        }
    }
}

/// Mentions one of the peers.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Rename)]
struct Picker {
    picked: Option<ProcessId>,
}

impl Role for Picker {
    type Message = Word;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("pick").when(|picker| picker.picked.is_none()).run(|picker, out| {
            picker.picked = Some(out.choose(out.members(PEERS).to_vec()));
        });
    }
}

/// A peer that does nothing.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Rename)]
struct Bystander;

impl Role for Bystander {
    type Message = Word;

    fn transitions(&self, _: &mut Transitions<Self>) {}
}

#[test]
fn an_odd_one_far_away_from_those_who_are_met_is_not_overlooked() {
    // One of seven is mentioned in the state that stands for all, and it takes many exchanges to get to the odd one.
    for odd in (1..=7).map(ProcessId::new) {
        let system = System::<Word>::new()
            .role(SERVER, 1, |_| Picker { picked: None })
            .role(PEERS, 7, |_| Bystander)
            .symmetric(PEERS)
            .renames::<(Picker, Bystander)>()
            .invariant(
                "not the odd one",
                observe(move |picker: &Picker| picker.picked == Some(odd)),
                |odd| !odd[0],
            );
        let model = system.build().unwrap_or_else(|error| panic!("{error}"));
        for which in symmetric(&model) {
            let verdict = explored(&model, &which, Tuning::default()).verdict;
            let is_noticed =
                matches!(verdict, Verdict::Violated(_) | Verdict::Unknown(Stopped::Asymmetric(_)));
            assert!(is_noticed, "{which:?}, {odd:?}: {verdict:?}");
        }
    }
}

/// Asks, and asks once more when it is answered.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Rename)]
struct Asker {
    asked: bool,
}

impl Role for Asker {
    type Message = Word;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("ask").when(|asker| !asker.asked).run(|asker, out| {
            asker.asked = true;
            out.send_all(SERVER, Word(0, out.me()));
        });
        t.message("ask again").of(|_, word| word.0 == 1).run(|_: &mut Asker, _, out| {
            out.send_all(SERVER, Word(2, out.me()));
        });
    }
}

/// Takes what it is first asked by all, and answers. After that it would treat one in another way, who asks no more.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Rename)]
struct Clerk {
    asked: usize,
    noted: bool,
    askers: usize,
    #[rename(skip)]
    odd: ProcessId,
}

impl Role for Clerk {
    type Message = Word;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.message("take").of(|clerk, word| word.0 == 0 && clerk.asked < clerk.askers).run(
            |clerk: &mut Clerk, _, out| {
                clerk.asked += 1;
                if clerk.asked == clerk.askers {
                    out.send_all(PEERS, Word(1, out.me()));
                }
            },
        );
        t.message("note")
            .of(|clerk, word| {
                clerk.asked == clerk.askers && (word.0 == 2 || word.0 == 0 && word.1 == clerk.odd)
            })
            .run(|clerk: &mut Clerk, _, _| clerk.noted = true);
    }
}

#[test]
fn what_is_different_in_steps_that_never_happen_is_no_mistake() {
    let mut considered = 0;
    for askers in 2..=3 {
        for odd in (0..askers).map(ProcessId::new) {
            let system = System::<Word>::new()
                .role(PEERS, askers, |_| Asker { asked: false })
                .role(SERVER, 1, |_| Clerk { asked: 0, noted: false, askers, odd })
                .symmetric(PEERS)
                .renames::<(Asker, Clerk)>()
                .invariant("few ask", observe(|clerk: &Clerk| clerk.asked), move |all| all[0] <= askers);
            let model = system.build().unwrap_or_else(|error| panic!("{error}"));
            for which in symmetric(&model) {
                let report = explored(&model, &which, Tuning::default());
                assert_eq!(report.verdict.word(), "holds", "{which:?}, {odd:?}: {:?}", report.verdict);
                let details = report.explored().expect("it was explored");
                let why = details.without_symmetry.as_deref().unwrap_or_default();
                considered += usize::from(why.contains("may never happen"));
            }
        }
    }
    assert!(considered > 0, "nothing is considered that never happens");
}
