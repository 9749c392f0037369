//! Guards, selections, handlers and restarts must be functions of what they are shown: answers are remembered. What
//! answers differently when it is asked twice is named, whatever it is.

use std::sync::atomic::{AtomicUsize, Ordering};

use quorate::engine::local_graphs::{local_closure, local_graphs};
use quorate::engine::{BoundedDepth, Components, Explore, Local, Search};
use quorate::report::Stopped;
use quorate::{
    Check, Received, Report, Role, RoleName, System, Transitions, Verdict, World, check, majority_of, observe,
};
use quorate_papers::PlainDepth;
use quorate_papers::lmc::Lmc;

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
    let restarting = || World { restarts: vec![("clock".to_string(), 2)], ..World::default() };
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
