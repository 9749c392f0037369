//! Guards, selections, handlers, restarts, observations, conditions, monitors and renamings must be functions of what
//! they are shown: answers are remembered. What answers differently when it is asked twice is named, whatever it is; so
//! is what does not equal itself.

use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use quorate::engine::local_graphs::{local_closure, local_graphs};
use quorate::engine::{
    BoundedDepth, Components, Engine, Explore, Local, Order, Search, strongest_reductions,
};
use quorate::reduce::Reduction;
use quorate::report::Stopped;
use quorate::{
    Check, Monitor, ProcessId, Received, Rename, Renaming, Report, Role, RoleName, System, Transitions,
    Verdict, World, check, majority_of, observe,
};
use quorate_papers::PlainDepth;
use quorate_papers::lmc::Lmc;
use quorate_testkit::corpus::for_each_seed;
use quorate_testkit::naive::search;
use quorate_testkit::random::RandomProtocol;
use quorate_testkit::tier::PURITY;

const CLOCKS: RoleName = RoleName::new("clock");

/// With an engine.
type With = fn(Check) -> Check;

/// Those that ask through one door.
const ENGINES: [With; 6] = [
    |check| check.engine(Explore::default()),
    |check| check.engine(Local::default()),
    |check| check.engine(Components::default()),
    |check| check.engine(BoundedDepth::default()).depth_max(20),
    |check| check.engine(PlainDepth).depth_max(20),
    |check| check.engine(Lmc::OPTIMISED).depth_max(20),
];
/// Those of them that know restarts.
const WITH_RESTARTS: [With; 3] = [ENGINES[0], ENGINES[1], ENGINES[2]];

/// Says something else each time.
fn odd(calls: &AtomicUsize) -> bool {
    calls.fetch_add(1, Ordering::Relaxed) % 2 == 1
}

fn impure(report: &Report) -> &str {
    let Verdict::Unknown(Stopped::Impure(what)) = &report.verdict else {
        panic!("{}", report.verdict.word())
    };
    what
}

/// Ticks, if its guard lets it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Guarded(u8);

impl Role for Guarded {
    type Message = u8;
    fn transitions(&self, t: &mut Transitions<Self>) {
        static CALLS: AtomicUsize = AtomicUsize::new(0);
        t.internal("tick").when(|clock| clock.0 < 3 && odd(&CALLS)).run(|clock, _| clock.0 += 1);
    }
}

#[test]
fn an_impure_guard_is_named() {
    for with_engine in ENGINES {
        let system = System::new().role(CLOCKS, 2, |_| Guarded(0)).invariant(
            "true",
            observe(|clock: &Guarded| clock.0),
            |_| true,
        );
        let report = with_engine(check(system)).run().unwrap();
        let what = impure(&report);
        assert!(what.contains("guard of 'tick' of clock"), "{what}");
    }
}

/// Sends itself a message, and selects it now and then.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Selective {
    sent: bool,
    received: bool,
    quorum: bool,
}

impl Role for Selective {
    type Message = u8;
    fn transitions(&self, t: &mut Transitions<Self>) {
        static CALLS: AtomicUsize = AtomicUsize::new(0);
        t.internal("send").when(|one| !one.sent).run(|one, out| {
            one.sent = true;
            out.send_all(CLOCKS, 1);
        });
        if self.quorum {
            t.quorum("hear", majority_of(CLOCKS)).of(|_, _| odd(&CALLS)).run(|one, _, _| one.received = true);
        } else {
            t.message("hear")
                .of(|_, _| odd(&CALLS))
                .run(|one: &mut Selective, _: Received<'_, u8>, _| one.received = true);
        }
    }
}

#[test]
fn an_impure_selection_is_named() {
    for (with_engine, quorum) in ENGINES.into_iter().flat_map(|with| [(with, false), (with, true)]) {
        let system = System::new()
            .role(CLOCKS, 3, move |_| Selective { sent: false, received: false, quorum })
            .invariant("true", observe(|one: &Selective| one.received), |_| true);
        let report = with_engine(check(system)).run().unwrap();
        let what = impure(&report);
        assert!(what.contains("selection of 'hear' of clock"), "{what}");
    }
}

/// Keeps on its disk whatever it likes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Forgetful(usize);

impl Role for Forgetful {
    type Message = u8;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("tick").when(|clock| clock.0 < 3).run(|clock, _| clock.0 += 1);
    }

    fn restarted(&self) -> Self {
        static CALLS: AtomicUsize = AtomicUsize::new(0);
        Forgetful(10 + CALLS.fetch_add(1, Ordering::Relaxed) % 3)
    }
}

#[test]
fn an_impure_restart_is_named() {
    let restarting = || World::default().restarts(vec![("clock".to_string(), 2)]);
    let system = |most: usize| {
        System::new().role(CLOCKS, 2, |_| Forgetful(0)).invariant(
            "small",
            observe(|clock: &Forgetful| clock.0),
            move |clocks| clocks[0] < most,
        )
    };
    // A violation that rests on impure code is none.
    let with_most =
        WITH_RESTARTS.into_iter().map(|with| (with, 100)).chain([(ENGINES[0], 4), (ENGINES[2], 4)]);
    for (with_engine, most) in with_most {
        let report = with_engine(check(system(most))).world(restarting()).run().unwrap();
        let what = impure(&report);
        assert!(what.contains("restarted state of clock"), "{what}");
    }
}

/// Ticks by as much as it likes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Irregular(u8);

impl Role for Irregular {
    type Message = u8;
    fn transitions(&self, t: &mut Transitions<Self>) {
        static CALLS: AtomicUsize = AtomicUsize::new(0);
        t.internal("tick")
            .when(|clock| clock.0 < 3)
            .run(|clock, _| clock.0 += if odd(&CALLS) { 1 } else { 2 });
    }
}

#[test]
fn an_impure_handler_is_named() {
    for with_engine in ENGINES {
        let system = System::new().role(CLOCKS, 2, |_| Irregular(0)).invariant(
            "true",
            observe(|clock: &Irregular| clock.0),
            |_| true,
        );
        let report = with_engine(check(system)).run().unwrap();
        let what = impure(&report);
        assert!(what.contains("handler 'tick' of clock"), "{what}");
    }
}

/// As [`Guarded`], with calls of its own: tests run at the same time.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Drawn(u8);

impl Role for Drawn {
    type Message = u8;
    fn transitions(&self, t: &mut Transitions<Self>) {
        static CALLS: AtomicUsize = AtomicUsize::new(0);
        t.internal("tick").when(|clock| clock.0 < 3 && odd(&CALLS)).run(|clock, _| clock.0 += 1);
    }
}

#[test]
fn local_graphs_of_an_impure_system_are_not_complete() {
    for graphs_of in [local_graphs, local_closure] {
        let system = System::new().role(CLOCKS, 2, |_| Drawn(0));
        let graphs = graphs_of(system.build().unwrap(), &Search::default(), &mut ());
        assert!(graphs.incomplete().is_some());
        let what = impure(&graphs.report);
        assert!(what.contains("guard of 'tick' of clock"), "{what}");
    }
}

/// Ticks, and is as it should be.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Ticking(u8);

impl Role for Ticking {
    type Message = u8;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("tick").when(|clock| clock.0 < 3).run(|clock, out| {
            clock.0 += 1;
            out.emit(clock.0);
        });
    }
}

/// Clocks with a condition that is asked for the so-manieth time.
fn with_condition(holds: impl Fn(usize) -> bool + Send + Sync + 'static) -> System<u8> {
    let calls = Arc::new(AtomicUsize::new(0));
    System::new().role(CLOCKS, 2, |_| Ticking(0)).invariant(
        "whatever it likes",
        observe(|clock: &Ticking| clock.0),
        move |_| holds(calls.fetch_add(1, Ordering::Relaxed)),
    )
}

/// What an engine says of a system.
fn answer<M: quorate::protocol::Message>(with_engine: With, system: System<M>) -> Report {
    with_engine(check(system)).run().expect("an engine that does not refuse")
}

#[test]
fn an_impure_condition_is_named() {
    // True and false in turn; true but for one time; wrong until replay asks.
    let conditions: [fn(usize) -> bool; 3] = [|call| call % 2 == 1, |call| call != 5, |call| call >= 2];
    for (with_engine, condition) in ENGINES.into_iter().flat_map(|with| conditions.map(|one| (with, one))) {
        let report = answer(with_engine, with_condition(condition));
        let what = impure(&report);
        assert!(what.contains("condition of 'whatever it likes'"), "{what}");
    }
}

#[test]
fn an_impure_observation_is_named() {
    for with_engine in ENGINES {
        let calls = Arc::new(AtomicUsize::new(0));
        let seen = observe(move |_: &Ticking| odd(&calls));
        let system = System::new().role(CLOCKS, 2, |_| Ticking(0)).invariant("even", seen, |_| true);
        let report = answer(with_engine, system);
        let what = impure(&report);
        assert!(what.contains("observation of 'even'"), "{what}");
    }
}

/// Hears what it likes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Deaf(bool);

impl Monitor for Deaf {
    type Event = u8;

    fn hear(&mut self, _: ProcessId, _: &u8) {
        static CALLS: AtomicUsize = AtomicUsize::new(0);
        self.0 = odd(&CALLS);
    }

    fn holds(&self) -> bool {
        true
    }
}

#[test]
fn an_impure_monitor_is_named() {
    for with_engine in [ENGINES[0], ENGINES[1], ENGINES[3]] {
        let system = System::new().role(CLOCKS, 2, |_| Ticking(0)).monitor("history", Deaf(false));
        let report = answer(with_engine, system);
        let what = impure(&report);
        assert!(what.contains("monitor 'history'"), "{what}");
    }
}

/// Another one each time it is renamed.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Nameless(usize);

impl Rename for Nameless {
    fn rename(&self, _: &Renaming) -> Self {
        static CALLS: AtomicUsize = AtomicUsize::new(0);
        if self.0 == 0 { self.clone() } else { Nameless(1 + CALLS.fetch_add(1, Ordering::Relaxed) % 3) }
    }
}

impl Role for Nameless {
    type Message = u8;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("tick").when(|clock| clock.0 < 3).run(|clock, _| clock.0 += 1);
    }
}

#[test]
fn an_impure_renaming_is_named() {
    for with_engine in [ENGINES[0], ENGINES[1]] {
        let system = System::new()
            .role(CLOCKS, 3, |_| Nameless(0))
            .symmetric(CLOCKS)
            .renames::<Nameless>()
            .at_end("true", observe(|clock: &Nameless| clock.0), |_| true);
        let report = with_engine(check(system)).reductions(&[Reduction::Symmetry]).run().unwrap();
        let what = impure(&report);
        assert!(what.contains("renaming of") && what.contains("Nameless"), "{what}");
    }
}

/// A number that may be none, and then does not equal itself.
#[derive(Clone, Copy, Debug)]
struct Measured(f64);

impl PartialEq for Measured {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Measured {}

impl Hash for Measured {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

/// Measures, and reports what it has measured.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Gauge {
    value: Measured,
    next: [Option<Measured>; 2],
    reports: bool,
}

impl Role for Gauge {
    type Message = Measured;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("measure").when(|gauge| gauge.next[0].is_some()).run(|gauge, out| {
            gauge.value = gauge.next[0].unwrap_or(gauge.value);
            gauge.next = [gauge.next[1], None];
            if gauge.reports {
                out.send_all(CLOCKS, gauge.value);
            }
        });
        t.message("hear").run(|gauge: &mut Gauge, heard, _| gauge.reports &= heard.body.0 < 1.0);
    }
}

#[test]
fn what_does_not_equal_itself_is_named() {
    let (none, zero, one) = (Measured(f64::NAN), Measured(0.0), Measured(1.0));
    let gauge = |value: Measured, next: [Option<Measured>; 2], reports: bool| Gauge { value, next, reports };
    // In the beginning, and the process never steps; in the first step; in the second; in a message.
    let cases = [
        [gauge(none, [None, None], false), gauge(zero, [Some(one), None], false)],
        [gauge(zero, [Some(none), None], false), gauge(zero, [Some(one), None], false)],
        [gauge(zero, [Some(one), Some(none)], false), gauge(zero, [Some(one), None], false)],
        [gauge(zero, [Some(one), Some(none)], true), gauge(zero, [Some(one), None], true)],
    ];
    for (with_engine, case) in ENGINES.into_iter().flat_map(|with| cases.clone().map(|case| (with, case))) {
        let system = System::new().role(CLOCKS, 2, move |at| case[at].clone()).invariant(
            "small",
            observe(|gauge: &Gauge| gauge.value.0 < 1.0),
            |small| small[1],
        );
        let report = answer(with_engine, system);
        let what = impure(&report);
        assert!(what.contains("not equal to itself") && what.contains("NaN"), "{what}");
    }
}

#[test]
fn what_is_observed_equals_itself() {
    for with_engine in ENGINES {
        let system = System::new().role(CLOCKS, 2, |_| Ticking(0)).invariant(
            "any",
            observe(|clock: &Ticking| Measured(if clock.0 == 2 { f64::NAN } else { 0.0 })),
            |_| true,
        );
        let report = answer(with_engine, system);
        let what = impure(&report);
        assert!(what.contains("what 'any' observes of Ticking(2)"), "{what}");
    }
}

/// A condition that does not hold once, and is right whenever it is asked again: named, or never asked that often.
#[test]
fn a_condition_that_fails_once_in_random_protocols() {
    let engines: [&dyn Engine; 7] = [
        &Explore::DEFAULT,
        &Explore::default().order(Order::Depth),
        &Local::DEFAULT,
        &Components::DEFAULT,
        &BoundedDepth::DEFAULT,
        &PlainDepth,
        &Lmc::GENERAL,
    ];
    let results = for_each_seed(PURITY.seeds(), |seed| {
        let protocol = RandomProtocol::new(seed);
        if !search(&protocol.without_properties().model(), 300)?.broken.is_empty() {
            return None;
        }
        let mut noticed = 0;
        for (engine, call) in engines.iter().flat_map(|engine| [0, 1, 2, 7, 30].map(|call| (*engine, call))) {
            let model = protocol.with_fickle_condition(call);
            let reductions = strongest_reductions(engine, &model).0;
            let search = Search::default().threads(1).states_max(3_000).reductions(reductions);
            match engine.run(&model, &search, &mut ()).verdict {
                Verdict::Violated(violation) => panic!("seed {seed}, {engine:?}, call {call}: {violation}"),
                Verdict::Unknown(Stopped::Impure(_)) => noticed += 1,
                _ => {}
            }
        }
        Some(noticed)
    });
    let noticed: usize = results.iter().filter_map(|(_, noticed)| *noticed).sum();
    assert!(noticed >= PURITY.least(1_000), "only {noticed} times");
}
