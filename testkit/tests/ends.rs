//! Ends of runs: what may happen is no reason to wait for it. Each protocol here is stuck unless a fault, a copy, a
//! forgery or luck helps it, and a property of ends says that it is not; or the other way round.
//!
//! Every engine and every combination of reductions must say what a user would expect, and so must the naive checker.

use quorate::engine::{BoundedDepth, Components, Engine, Explore, Local, Refusal, Search};
use quorate::property::Monitor;
use quorate::reduce::{Reduction, Reductions};
use quorate::world::{Channel, CrashSends, Crashes};
use quorate::{
    Check, ProcessId, Received, Role, RoleName, System, Transitions, Verdict, World, check, observe, some_of,
};
use quorate_testkit::naive;

const CLIENT: RoleName = RoleName::new("client");
const SERVER: RoleName = RoleName::new("server");
const BYSTANDER: RoleName = RoleName::new("bystander");

/// What must come out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Answer {
    Holds,
    Violated,
}

/// Checks a system in a world with everything that does not refuse it.
fn expect(system: impl Fn() -> System<u8>, world: &World, answer: Answer) {
    let model = system().build().expect("a system").in_world(world.clone()).expect("a world that fits");
    let found = naive::search(&model, 100_000).expect("a small system");
    assert_eq!(found.broken.is_empty(), answer == Answer::Holds, "the naive checker, {world:?}");
    let engines: [fn(Check) -> Check; 4] = [
        |check| check.engine(Explore::default()),
        |check| check.engine(Local::default()),
        |check| check.engine(Components::default()),
        |check| check.engine(BoundedDepth::default()).depth_max(30),
    ];
    for (at, with_engine) in engines.into_iter().enumerate() {
        // An engine may refuse; what it does not refuse it must answer.
        if let Ok(report) = with_engine(check(system()).world(world.clone())).run() {
            let same = match answer {
                Answer::Holds => matches!(report.verdict, Verdict::Holds),
                Answer::Violated => matches!(report.verdict, Verdict::Violated(_)),
            };
            assert!(same, "engine {at}, {world:?}: {}", report.verdict.word());
        }
    }
    for which in 0..1_usize << Reduction::ALL.len() {
        let of = |(at, reduction): (usize, Reduction)| (which >> at & 1 == 1).then_some(reduction);
        let which: Vec<Reduction> = Reduction::ALL.into_iter().enumerate().filter_map(of).collect();
        if Reductions::checked(&which, &model).is_err() {
            continue;
        }
        let report = check(system()).world(world.clone()).reductions(&which).run().expect("checked before");
        let violated = matches!(report.verdict, Verdict::Violated(_));
        assert_eq!(violated, answer == Answer::Violated, "{which:?}, {world:?}: {}", report.verdict.word());
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Client {
    asked: bool,
    answers: u8,
    /// How many answers it wants.
    wants: u8,
}

impl Role for Client {
    type Message = u8;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("ask").when(|c| !c.asked).run(|c, out| {
            c.asked = true;
            out.send_all(SERVER, 1);
        });
        t.message("answer").of(|c, _| c.answers < c.wants).run(|c, _: Received<'_, u8>, _| c.answers += 1);
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Server;

impl Role for Server {
    type Message = u8;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.message("serve").run(|_: &mut Server, ask: Received<'_, u8>, out| out.send(ask.from, 2));
    }
}

fn asks(wants: u8) -> impl Fn() -> System<u8> {
    move || {
        System::new()
            .role(CLIENT, 1, |_| Client { wants, ..Client::default() })
            .role(SERVER, 1, |_| Server)
            .at_end("the client is answered", observe(move |c: &Client| c.answers == wants), |all| all[0])
    }
}

#[test]
fn a_server_may_crash_before_its_first_step() {
    expect(asks(1), &World::default(), Answer::Holds);
    for sends in [CrashSends::All, CrashSends::Some] {
        let prone = vec![("server".to_string(), 1)];
        expect(asks(1), &World::default().crashes(Crashes::Explicit { prone, sends }), Answer::Violated);
    }
}

#[test]
fn a_lossy_channel_loses() {
    for channel in [Channel::Lossy, Channel::LossyFifo, Channel::LossyMailbox] {
        expect(asks(1), &World::default().channel(channel), Answer::Violated);
    }
    for channel in [Channel::Bag, Channel::Set, Channel::Fifo, Channel::Mailbox, Channel::Blocking(1)] {
        expect(asks(1), &World::default().channel(channel), Answer::Holds);
        if channel != Channel::Set {
            expect(asks(1), &World::default().channel(channel).losses(1), Answer::Violated);
        }
    }
}

#[test]
fn a_further_copy_may_never_come() {
    expect(asks(1), &World::default().channel(Channel::Duplicating), Answer::Holds);
    expect(asks(2), &World::default().channel(Channel::Duplicating), Answer::Violated);
    expect(asks(2), &World::default().duplications(1), Answer::Violated);
}

/// Stuck, unless a restart wakes it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Sleeper {
    asleep: bool,
    done: bool,
}

impl Role for Sleeper {
    type Message = u8;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("work").when(|s| !s.asleep && !s.done).run(|s, _| s.done = true);
    }

    fn restarted(&self) -> Self {
        Sleeper { asleep: false, ..self.clone() }
    }
}

#[test]
fn a_restart_that_would_help_may_never_come() {
    let system = || {
        System::new().role(CLIENT, 2, |_| Sleeper { asleep: true, done: false }).at_end(
            "done",
            observe(|s: &Sleeper| s.done),
            |all| all.iter().all(|done| *done),
        )
    };
    expect(system, &World::default(), Answer::Violated);
    expect(system, &World::default().restart("client", 1), Answer::Violated);
}

/// Waits for a word.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Hearer {
    heard: u8,
}

impl Role for Hearer {
    type Message = u8;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.message("hear")
            .of(|h, _| h.heard == 0)
            .run(|h: &mut Hearer, word: Received<'_, u8>, _| h.heard = *word.body);
    }
}

/// Says a word to every hearer, once, or nothing.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Speaker {
    speaks: bool,
}

impl Role for Speaker {
    type Message = u8;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("speak").when(|s| s.speaks).run(|s, out| {
            s.speaks = false;
            out.send_all(CLIENT, 1);
        });
    }
}

fn hearing(speaks: bool) -> impl Fn() -> System<u8> {
    move || {
        System::new()
            .role(CLIENT, 2, |_| Hearer::default())
            .role(SERVER, 1, |_| Speaker { speaks })
            .forges((SERVER, 0), CLIENT, [1])
            .at_end("heard", observe(|h: &Hearer| h.heard), |all| all.iter().all(|heard| *heard > 0))
    }
}

#[test]
fn a_liar_may_stay_silent_and_an_honest_message_arrives() {
    for channel in [Channel::Bag, Channel::Set, Channel::Fifo, Channel::Mailbox, Channel::Blocking(1)] {
        expect(hearing(false), &World::default().channel(channel), Answer::Violated);
        // It could be forged, but it was sent, and so it must arrive.
        expect(hearing(true), &World::default().channel(channel), Answer::Holds);
    }
}

/// Where a run may end though a message waits that may be lost or was forged, beliefs and stubborn sets cannot tell.
#[test]
fn reductions_that_cannot_tell_such_ends_are_refused() {
    let refused = |reduction, channel| {
        let model = hearing(true)().build().expect("a system");
        let model = model.in_world(World::default().channel(channel)).expect("a world that fits");
        let why = Reductions::checked(&[reduction], &model).err().map(|refused| refused.reason);
        matches!(why, Some(Refusal::EndsDespiteFaults { .. }))
    };
    assert!(refused(Reduction::Beliefs, Channel::Bag));
    for channel in [Channel::LossyFifo, Channel::LossyMailbox] {
        assert!(refused(Reduction::Stubborn, channel), "{channel:?}");
    }
    assert!(!refused(Reduction::Stubborn, Channel::Fifo));
}

/// Says 1 and then 2, to a hearer of either.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Counter {
    said: u8,
}

impl Role for Counter {
    type Message = u8;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("count").when(|c| c.said < 2).run(|c, out| {
            c.said += 1;
            out.send_all(CLIENT, c.said);
        });
    }
}

#[test]
fn a_message_that_could_be_forged_keeps_its_place() {
    // 1 may be forged, but the 1 that was sent stands before the 2: who hears 2 first, hears a forged 1 later at most.
    let system = || {
        System::new()
            .role(CLIENT, 1, |_| Hearer::default())
            .role(SERVER, 1, |_| Counter { said: 0 })
            .forges((SERVER, 0), CLIENT, [1])
            .invariant("2 is not first", observe(|h: &Hearer| h.heard), |all| all[0] < 2)
    };
    for channel in [Channel::Fifo, Channel::Mailbox, Channel::Overwriting(2)] {
        let answer = if channel == Channel::Overwriting(2) { Answer::Violated } else { Answer::Holds };
        expect(system, &World::default().channel(channel), answer);
    }
    expect(system, &World::default(), Answer::Violated);
}

/// Ticks for ever, and nothing comes of it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Idler {
    done: bool,
}

impl Role for Idler {
    type Message = u8;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("tick").run(|_, _| {});
    }
}

#[test]
fn a_step_that_changes_nothing_is_no_reason_to_go_on() {
    let system = || {
        System::new().role(CLIENT, 2, |_| Idler::default()).at_end(
            "done",
            observe(|i: &Idler| i.done),
            |all| all.iter().all(|done| *done),
        )
    };
    expect(system, &World::default(), Answer::Violated);
}

/// Wants the second of two messages first.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Picky {
    heard: bool,
}

impl Role for Picky {
    type Message = u8;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.message("hear")
            .of(|_, word| *word == 2)
            .run(|p: &mut Picky, _: Received<'_, u8>, _| p.heard = true);
    }
}

/// One of two words is wanted, and the other comes first.
fn picky() -> System<u8> {
    System::new().role(CLIENT, 1, |_| Picky::default()).role(SERVER, 1, |_| Counter { said: 0 }).at_end(
        "never heard",
        observe(|p: &Picky| p.heard),
        |all| !all[0],
    )
}

#[test]
fn a_lost_message_lets_another_through() {
    for channel in [Channel::Fifo, Channel::Mailbox] {
        expect(picky, &World::default().channel(channel), Answer::Holds);
        expect(picky, &World::default().channel(channel).losses(1), Answer::Violated);
    }
}

/// Hears everything, and is not moved by it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Unmoved;

impl Monitor for Unmoved {
    type Event = u8;

    fn hear(&mut self, _: ProcessId, _: &u8) {}

    fn holds(&self) -> bool {
        true
    }
}

/// Says that it ticks, for ever, and nothing comes of it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Announcer {
    done: bool,
}

impl Role for Announcer {
    type Message = u8;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("tick").run(|_, out| out.emit(1_u8));
    }
}

#[test]
fn an_event_that_moves_no_monitor_is_no_reason_to_go_on() {
    let system = || {
        System::new().role(CLIENT, 2, |_| Announcer::default()).monitor("unmoved", Unmoved).at_end(
            "done",
            observe(|i: &Announcer| i.done),
            |all| all.iter().all(|done| *done),
        )
    };
    expect(system, &World::default(), Answer::Violated);
    expect(system, &World::default().channel(Channel::Fifo), Answer::Violated);
}

/// Says the same word twice: by itself, and when it is asked to.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Repeater {
    said: u8,
}

const REPEATER: RoleName = RoleName::new("repeater");
const ASKER: RoleName = RoleName::new("asker");

impl Role for Repeater {
    type Message = u8;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("say").when(|r| r.said == 0).run(|r, out| {
            r.said = 1;
            out.send_all(CLIENT, 1);
        });
        t.message("again").of(|r, _| r.said == 1).run(|r: &mut Repeater, _: Received<'_, u8>, out| {
            r.said = 2;
            out.send_all(CLIENT, 1);
        });
    }
}

/// Asks once.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Asker {
    asked: bool,
}

impl Role for Asker {
    type Message = u8;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("ask").when(|a| !a.asked).run(|a, out| {
            a.asked = true;
            out.send_all(REPEATER, 9);
        });
    }
}

/// Adds a role.
type Adds<'a> = &'a dyn Fn(System<u8>) -> System<u8>;
/// Adds four roles in some order.
type Order = fn(System<u8>, [Adds<'_>; 4]) -> System<u8>;

#[test]
fn what_is_sent_again_after_it_was_received_is_owed_again() {
    // A word that is sent twice may be received before the second time or after it, and only then is the run over: these
    // are different states, in whatever order the roles come.
    let repeater = |system: System<u8>| system.role(REPEATER, 1, |_| Repeater::default());
    let asker = |system: System<u8>| system.role(ASKER, 1, |_| Asker::default());
    let client = |system: System<u8>| system.role(CLIENT, 1, |_| Client { wants: 2, ..Client::default() });
    let server = |system: System<u8>| system.role(SERVER, 1, |_| Sleeper { asleep: false, done: false });
    let orders: [Order; 3] = [
        |system, [r, a, c, s]| s(c(a(r(system)))),
        |system, [r, a, c, s]| r(s(c(a(system)))),
        |system, [r, a, c, s]| a(c(s(r(system)))),
    ];
    for order in orders {
        let roles = || order(System::new(), [&repeater, &asker, &client, &server]);
        let answers = || observe(|c: &Client| c.answers);
        let all = || roles().at_end("answered at all", answers(), |all| all[0] > 0);
        let world = World::default().channel(Channel::Duplicating);
        expect(all, &world, Answer::Holds);
        let twice = || roles().at_end("answered twice", answers(), |all| all[0] > 1);
        expect(twice, &world, Answer::Violated);
        let model = all().build().expect("a system").in_world(world.clone()).expect("a world that fits");
        let found = naive::search(&model, 100_000).expect("a small system");
        let report = check(all()).world(world).reductions(&[]).run().expect("a search");
        assert_eq!(report.coverage.states, found.depths.len() as u64);
    }
}

/// Passes on what it hears twice.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Doubter {
    heard: u8,
}

const DOUBTER: RoleName = RoleName::new("doubter");

impl Role for Doubter {
    type Message = u8;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.message("hear").of(|d, _| d.heard < 2).run(|d: &mut Doubter, _: Received<'_, u8>, out| {
            d.heard += 1;
            if d.heard == 2 {
                out.send_all(CLIENT, 1);
            }
        });
    }
}

/// Says the same word twice.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Insistent {
    said: u8,
}

impl Role for Insistent {
    type Message = u8;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("say").when(|i| i.said < 2).run(|i, out| {
            i.said += 1;
            out.send_all(DOUBTER, 1);
        });
    }
}

#[test]
fn stubborn_sets_do_not_see_that_what_is_sent_again_is_owed_again() {
    // Who hears the word after it was said twice has heard it, and the run is over; who hears it before hears it again.
    let system = || {
        System::new()
            .role(CLIENT, 1, |_| Hearer::default())
            .role(DOUBTER, 1, |_| Doubter::default())
            .role(SERVER, 1, |_| Insistent::default())
            .at_end("heard", observe(|h: &Hearer| h.heard), |all| all[0] > 0)
    };
    let world = World::default().channel(Channel::Duplicating);
    expect(system, &world, Answer::Violated);
    let model = system().build().expect("a system").in_world(world).expect("a world that fits");
    let which = vec![Reduction::Stubborn];
    assert!(Reductions::checked(&which, &model).is_err());
    let search = Search::default().reductions(Reductions { which, ..Reductions::default() });
    let report = Explore::default().search(&model, &search, &mut ());
    assert!(matches!(report.verdict, Verdict::Holds), "then it need not be refused");
}

/// Says the same again and again.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Droning;

impl Role for Droning {
    type Message = u8;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("repeat").run(|_: &mut Droning, out| out.send_all(CLIENT, 1));
    }
}

/// Hears nothing.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Deaf;

impl Role for Deaf {
    type Message = u8;
    fn transitions(&self, _: &mut Transitions<Self>) {}
}

#[test]
fn what_is_there_already_is_no_reason_to_say_it_again() {
    // The repeater and who does not hear it are in one half of the system, or in two.
    for bystanders in [0, 1, 2] {
        let system = || {
            let others = (bystanders > 0).then(|| System::new().role(BYSTANDER, bystanders, |_| Deaf));
            others.unwrap_or_default().role(CLIENT, 1, |_| Deaf).role(SERVER, 1, |_| Droning).at_end(
                "it goes on",
                observe(|_: &Droning| false),
                |all| all[0],
            )
        };
        for channel in [Channel::Set, Channel::Duplicating, Channel::Overwriting(1)] {
            expect(system, &World::default().channel(channel), Answer::Violated);
        }
        // There is room for one, and nobody takes it.
        expect(system, &World::default().channel(Channel::Blocking(1)), Answer::Violated);
    }
}

/// Waits for a word of two.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Collector {
    done: u8,
    wants: u8,
}

impl Role for Collector {
    type Message = u8;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.quorum("collect", some_of(2, SERVER))
            .of(|c, _| c.done < c.wants)
            .run(|c: &mut Collector, _, _| c.done += 1);
    }
}

#[test]
fn a_quorum_of_which_one_may_stay_away_may_never_be_there() {
    // The second server lies if it likes, the first is honest and speaks.
    let system = |both: bool| {
        move || {
            System::new()
                .role(CLIENT, 1, |_| Collector { done: 0, wants: 1 })
                .role(SERVER, 2, |at| Speaker { speaks: at == 0 || both })
                .forges((SERVER, 1), CLIENT, [1])
                .at_end("collected", observe(|c: &Collector| c.done), |all| all[0] == 1)
        }
    };
    for channel in [Channel::Bag, Channel::Set, Channel::Fifo, Channel::Mailbox, Channel::Blocking(1)] {
        expect(system(false), &World::default().channel(channel), Answer::Violated);
        expect(system(true), &World::default().channel(channel), Answer::Holds);
    }
    // One of two words comes anew, the other would have to come again.
    let again = |speaks_twice: bool| {
        move || {
            System::new()
                .role(CLIENT, 1, |_| Collector { done: 0, wants: 2 })
                .role(SERVER, 2, |at| Patient { left: 1 + u8::from(at == 0 || speaks_twice), said: 0 })
                .at_end("collected twice", observe(|c: &Collector| c.done), |all| all[0] == 2)
        }
    };
    let duplicating = World::default().channel(Channel::Duplicating);
    expect(again(false), &duplicating, Answer::Violated);
    expect(again(true), &World::default(), Answer::Holds);
}

/// Says one thing after the other.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Patient {
    left: u8,
    said: u8,
}

impl Role for Patient {
    type Message = u8;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("say").when(|p| p.left > 0).run(|p, out| {
            (p.left, p.said) = (p.left - 1, p.said + 1);
            out.send_all(CLIENT, p.said);
        });
    }
}
