//! Guards, selections, handlers and restarts must be functions of what they are shown: answers are remembered. What
//! answers differently when it is asked twice is named, whatever it is.

use std::sync::atomic::{AtomicUsize, Ordering};

use quorate::engine::{BoundedDepth, Engine, Explore, Local, Search};
use quorate::report::Stopped;
use quorate::{Received, Report, Role, RoleName, System, Transitions, Verdict, World, majority_of, observe};

const CLOCKS: RoleName = RoleName::new("clock");

/// The engines that ask through `model/handlers.rs`; those of the papers are in testkit/tests/published.rs.
fn engines() -> [Box<dyn Engine>; 3] {
    [Box::new(Explore::default()), Box::new(Local::default()), Box::new(BoundedDepth::default())]
}

fn run(engine: &dyn Engine, system: System<u8>) -> Report {
    engine.run(&system.build().unwrap(), &Search::default().depth_max(20), &mut ())
}

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
    for engine in engines() {
        let system = System::new().role(CLOCKS, 2, |_| Guarded(0)).invariant(
            "true",
            observe(|clock: &Guarded| clock.0),
            |_| true,
        );
        let report = run(&*engine, system);
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
    for (engine, quorum) in engines().into_iter().zip([true; 3]).chain(engines().into_iter().zip([false; 3]))
    {
        let system = System::new()
            .role(CLOCKS, 3, move |_| Selective { sent: false, received: false, quorum })
            .invariant("true", observe(|one: &Selective| one.received), |_| true);
        let report = run(&*engine, system);
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
    for (engine, most) in engines().into_iter().zip([4, 100, 100]) {
        let model = system(most).build().unwrap().in_world(restarting()).unwrap();
        let report = engine.run(&model, &Search::default().depth_max(20), &mut ());
        let what = impure(&report);
        assert!(what.contains("restarted state of clock"), "{what}");
    }
}
