//! Guards, selections, handlers and restarts must be functions of what they are shown: answers are remembered. What
//! answers differently when it is asked twice is named, whatever it is.

use std::sync::atomic::{AtomicUsize, Ordering};

use quorate::engine::{BoundedDepth, Explore, Local};
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
const ENGINES: [With; 5] = [
    |check| check.engine(Explore::default()),
    |check| check.engine(Local::default()),
    |check| check.engine(BoundedDepth::default()),
    |check| check.engine(PlainDepth),
    |check| check.engine(Lmc::OPTIMISED),
];

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
        let report = with_engine(check(system)).depth_max(20).run().unwrap();
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
        let report = with_engine(check(system)).depth_max(20).run().unwrap();
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
    for (with_engine, most) in [(ENGINES[0], 4), (ENGINES[0], 100), (ENGINES[1], 100)] {
        let report = with_engine(check(system(most))).world(restarting()).run().unwrap();
        let what = impure(&report);
        assert!(what.contains("restarted state of clock"), "{what}");
    }
}
