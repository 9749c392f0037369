//! What a check answers beyond holds and violated: panics, limits, impure handlers, systems that make no
//! sense; and that a counterexample is as short as it can be.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use quorate::engine::{Components, Engine, Explore, Local, Order, Search, Visited};
use quorate::model::Content;
use quorate::protocol::SystemError;
use quorate::replay::Broken;
use quorate::report::{NotCovered, Stopped};
use quorate::world::{Channel, CrashSends, Crashes};
use quorate::{
    Outbox, Received, Role, RoleName, System, Transitions, Verdict, World, majority_of, observe, quorums_of,
    some_of,
};

const COUNTERS: RoleName = RoleName::new("counter");
const SINKS: RoleName = RoleName::new("sink");

type Handler = fn(&mut Counter, &mut Outbox<usize>);

/// Counts up to a limit and sends each number to everybody.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Counter {
    count: usize,
    limit: usize,
}

thread_local! {
    static COUNT: std::cell::Cell<Handler> = const { std::cell::Cell::new(Counter::count_up) };
}

impl Role for Counter {
    type Message = usize;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("count").when(|c| c.count < c.limit).run(COUNT.get());
    }
}

impl Counter {
    fn count_up(&mut self, out: &mut Outbox<usize>) {
        self.count += 1;
        out.send_all(SINKS, self.count);
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Sink {
    sum: usize,
}

impl Role for Sink {
    type Message = usize;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.message("add").run(|s: &mut Sink, n: Received<'_, usize>, _| s.sum += *n);
    }
}

fn system(limit: usize, count: Handler) -> System<usize> {
    COUNT.set(count);
    System::new()
        .role(COUNTERS, 2, |_| Counter { count: 0, limit })
        .role(SINKS, 1, |_| Sink::default())
        .invariant("small", observe(|s: &Sink| s.sum), move |sums| sums[0] <= limit * (limit + 1))
}

#[test]
fn a_panic_is_a_violation_with_the_step_that_panics() {
    fn brittle(counter: &mut Counter, out: &mut Outbox<usize>) {
        assert!(counter.count < 2, "cannot count to three");
        counter.count_up(out);
    }
    let violation = quorate::check(system(3, brittle)).assert_violated();
    let Broken::Panic { transition, message, .. } = &violation.broken else {
        panic!("{:?}", violation.broken)
    };
    assert_eq!(transition, "count");
    assert!(message.contains("cannot count to three") && message.contains("verdicts.rs"), "{message}");
    assert_eq!(violation.trace.steps.len(), 3);
    assert!(violation.trace.steps[2].panic.is_some());
}

#[test]
fn a_limit_does_not_undo_a_panic_that_was_found() {
    fn brittle(_: &mut Counter, _: &mut Outbox<usize>) {
        panic!("at once");
    }
    COUNT.set(brittle);
    let system = System::new()
        .role(COUNTERS, 2, |_| Counter { count: 0, limit: 1 })
        .role(SINKS, 3, |_| Busy(0))
        .invariant("true", observe(|b: &Busy| b.0), |_| true);
    assert_eq!(quorate::check(system).states_max(2).assert_violated().trace.steps.len(), 1);
}

/// Keeps the search busy.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Busy(u8);

impl Role for Busy {
    type Message = usize;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("work").when(|b| b.0 < 9).run(|b, _| b.0 += 1);
    }
}

#[test]
fn a_panic_after_a_choice_keeps_the_choice() {
    fn risky(counter: &mut Counter, out: &mut Outbox<usize>) {
        let dice = out.choose([1, 2, 3]);
        assert!(dice != 2, "rolled {dice}");
        counter.count_up(out);
    }
    let violation = quorate::check(system(1, risky)).assert_violated();
    assert_eq!(violation.trace.steps.len(), 1);
    assert_eq!(violation.trace.steps[0].choices[0].index, 1);
    assert_eq!(violation.trace.steps[0].choices[0].text, "2");
}

#[test]
fn a_panicking_guard_or_selection_is_a_violation_too() {
    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct Fussy(usize);
    impl Role for Fussy {
        type Message = usize;
        fn transitions(&self, t: &mut Transitions<Self>) {
            t.internal("send").when(|f| f.0 == 0).run(|f, out| {
                f.0 = 1;
                out.send(out.me(), 5);
            });
            t.quorum("take", majority_of(COUNTERS))
                .of(|_, n| {
                    assert!(*n != 5, "no fives");
                    true
                })
                .run(|_, _, _| {});
        }
    }
    let system =
        System::new().role(COUNTERS, 3, |_| Fussy(0)).invariant("true", observe(|f: &Fussy| f.0), |_| true);
    let violation = quorate::check(system).assert_violated();
    assert!(violation.broken.to_string().contains("no fives"), "{}", violation.broken);
    assert_eq!(violation.trace.steps.len(), 2);
}

#[test]
fn a_property_that_panics_is_broken() {
    let fails = |sums: &[usize]| {
        assert!(sums[0] < 2);
        true
    };
    let system = system(3, Counter::count_up).invariant("panics", observe(|s: &Sink| s.sum), fails);
    assert_eq!(quorate::check(system).assert_violated().broken.property(), "panics");
}

#[test]
fn limits_end_in_unknown_with_what_was_covered() {
    let check = || quorate::check(system(6, Counter::count_up)).unreduced();
    let all = check().run().unwrap();
    assert!(matches!(all.verdict, Verdict::Holds));
    let stopped = |report: quorate::Report| match report.verdict {
        Verdict::Unknown(stopped) => (stopped, report.coverage),
        other => panic!("{}", other.word()),
    };
    let (why, coverage) = stopped(check().states_max(100).run().unwrap());
    assert_eq!(why, Stopped::States(100));
    assert!(coverage.states >= 100 && coverage.states < all.coverage.states, "{coverage:?}");
    let (why, coverage) = stopped(check().depth_max(4).run().unwrap());
    assert_eq!((why, coverage.depth), (Stopped::Depth(4), 4));
    let (why, _) = stopped(check().bytes_max(10_000).run().unwrap());
    assert_eq!(why, Stopped::Memory(10_000));
    let (why, _) = stopped(check().time_max(Duration::ZERO).run().unwrap());
    assert_eq!(why, Stopped::Time(Duration::ZERO));
    // A limit that is not reached changes nothing.
    let roomy = check().states_max(1_000_000).depth_max(all.coverage.depth).run().unwrap();
    assert!(matches!(roomy.verdict, Verdict::Holds));
    assert_eq!(roomy.coverage.states, all.coverage.states);
}

#[test]
fn fingerprints_never_claim_a_proof() {
    let model = system(4, Counter::count_up).build().unwrap();
    let engine = Explore::default().visited(Visited::Fingerprint);
    let report = engine.run(&model, &Search::default(), &mut ());
    assert!(matches!(report.verdict, Verdict::Holds), "few states are known exactly all the same");
}

#[test]
fn an_impure_handler_is_named() {
    fn impure(counter: &mut Counter, out: &mut Outbox<usize>) {
        static CALLS: AtomicUsize = AtomicUsize::new(0);
        counter.count_up(out);
        out.send_all(SINKS, CALLS.fetch_add(1, Ordering::Relaxed));
    }
    let report = quorate::check(system(2, impure)).run().unwrap();
    let Verdict::Unknown(Stopped::Impure(what)) = &report.verdict else {
        panic!("{}", report.verdict.word())
    };
    assert!(what.contains("'count' of counter"), "{what}");
}

#[test]
fn depth_first_counterexamples_are_minimised() {
    let small = |order| {
        let system =
            system(4, Counter::count_up).invariant("under 5", observe(|s: &Sink| s.sum), |sums| sums[0] < 5);
        quorate::check(system).order(order).assert_violated().trace.steps.len()
    };
    let (breadth, depth) = (small(Order::Breadth), small(Order::Depth));
    assert_eq!(breadth, 5, "count to 3 and take the 3, and a 2 of whoever counts it first");
    assert!(depth >= breadth && depth <= breadth + 2, "{depth}");
}

#[test]
fn a_failing_assertion_shows_the_diagram() {
    let system =
        system(2, Counter::count_up).invariant("none", observe(|s: &Sink| s.sum), |sums| sums[0] < 1);
    let fails = std::panic::AssertUnwindSafe(|| quorate::check(system).assert_holds());
    let panic = std::panic::catch_unwind(fails).unwrap_err();
    let text = panic.downcast_ref::<String>().unwrap();
    for wanted in ["none", "counter", "count", "sink", "add"] {
        assert!(text.contains(wanted), "no '{wanted}' in\n{text}");
    }
}

/// A choice that depends on the state: minimising must not mistake a choice that is not there for a panic.
#[test]
fn a_choice_that_does_not_exist_is_no_panic() {
    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct Picker(usize, usize);
    impl Role for Picker {
        type Message = usize;
        fn transitions(&self, t: &mut Transitions<Self>) {
            t.internal("grow").when(|p| p.0 < 3).run(|p, _| p.0 += 1);
            t.internal("pick").when(|p| p.1 == 0).run(|p, out| {
                p.1 = 1 + out.choose(0..=p.0);
                assert!(p.1 < 3, "picked {}", p.1);
            });
        }
    }
    for order in [Order::Breadth, Order::Depth] {
        let system = System::new().role(COUNTERS, 1, |_| Picker(0, 0)).invariant(
            "true",
            observe(|p: &Picker| p.0),
            |_| true,
        );
        let violation = quorate::check(system).order(order).assert_violated();
        assert!(violation.broken.to_string().contains("picked 3"), "{}", violation.broken);
        assert_eq!(violation.trace.steps.len(), 3, "grow, grow, pick");
    }
}

/// Keys that cannot be compared panic only where two messages meet.
#[test]
fn keys_that_panic_together_are_noticed() {
    #[derive(Debug)]
    struct Touchy;
    impl PartialEq for Touchy {
        fn eq(&self, _: &Self) -> bool {
            panic!("do not compare me");
        }
    }
    impl Eq for Touchy {}
    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct Grouping;
    impl Role for Grouping {
        type Message = usize;
        fn transitions(&self, t: &mut Transitions<Self>) {
            t.quorum("group", majority_of(COUNTERS)).of(|_, _| Some(Touchy)).run(|_, _, _| {});
        }
    }
    COUNT.set(Counter::count_up);
    let system = System::new()
        .role(COUNTERS, 2, |_| Counter { count: 0, limit: 1 })
        .role(SINKS, 1, |_| Grouping)
        .invariant("true", observe(|c: &Counter| c.count), |_| true);
    let violation = quorate::check(system).assert_violated();
    assert!(violation.broken.to_string().contains("do not compare me"), "{}", violation.broken);
}

#[test]
fn a_role_that_does_not_exist_is_no_empty_role() {
    fn lost(counter: &mut Counter, out: &mut Outbox<usize>) {
        counter.count += 1;
        out.send_all(RoleName::new("nobody"), 1);
    }
    let violation = quorate::check(system(1, lost)).assert_violated();
    assert!(violation.broken.to_string().contains("no role 'nobody'"), "{}", violation.broken);
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Waiting(Option<Vec<Vec<usize>>>, usize);

impl Role for Waiting {
    type Message = usize;
    fn transitions(&self, t: &mut Transitions<Self>) {
        let quorum = match &self.0 {
            Some(listed) => quorums_of(COUNTERS, listed),
            None => some_of(self.1, COUNTERS),
        };
        t.quorum("wait", quorum).run(|_, _, _| {});
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Twins;
impl Role for Twins {
    type Message = usize;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("twin").run(|_, _| {});
        t.internal("twin").run(|_, _| {});
    }
}

fn refused<M: Content + Clone>(system: System<M>) -> SystemError {
    system.build().err().expect("the system makes no sense")
}

#[test]
fn systems_that_make_no_sense_are_refused() {
    let counters = |count| System::new().role(COUNTERS, count, |_| Counter { count: 0, limit: 1 });
    let waiting = |quorums, size| counters(3).role(SINKS, 1, move |_| Waiting(Clone::clone(&quorums), size));
    assert_eq!(refused(System::<usize>::new()), SystemError::NoProcesses);
    assert_eq!(refused(counters(0)), SystemError::EmptyRole { role: "counter" });
    assert_eq!(refused(counters(65)), SystemError::TooManyProcesses { role: "counter", wanted: 65 });
    let twice = counters(1).role(COUNTERS, 1, |_| Sink::default());
    assert_eq!(refused(twice), SystemError::RoleTwice { role: "counter" });
    let too_large = refused(waiting(None, 4));
    assert_eq!(
        too_large.to_string(),
        "transition 'wait' waits for a quorum of 4 of role 'counter', which has 3: expected 1 to 3"
    );
    assert!(matches!(refused(waiting(None, 0)), SystemError::BadQuorum { .. }));
    assert!(matches!(refused(waiting(Some(vec![vec![0, 3]]), 0)), SystemError::BadQuorum { .. }));
    assert!(matches!(refused(waiting(Some(vec![]), 0)), SystemError::BadQuorum { .. }));
    let alone = System::new().role(SINKS, 1, |_| Waiting(None, 1));
    assert!(matches!(refused(alone), SystemError::UnknownRole { unknown: "counter", .. }));
    let blind = counters(1).invariant("blind", observe(|s: &Sink| s.sum), |_| true);
    assert!(matches!(refused(blind), SystemError::ObservesNobody { .. }));
    let twins = System::new().role(SINKS, 1, |_| Twins);
    assert!(matches!(refused(twins), SystemError::TransitionTwice { .. }));
    let same = |system: System<usize>| system.invariant("p", observe(|c: &Counter| c.count), |_| true);
    assert!(matches!(refused(same(same(counters(1)))), SystemError::PropertyTwice { .. }));
}

/// What a panic says.
fn panic_of(run: impl FnOnce() + std::panic::UnwindSafe) -> String {
    let panic = std::panic::catch_unwind(run).expect_err("a panic");
    panic.downcast_ref::<String>().expect("a text").clone()
}

/// Counts to two; with a property of the end of runs.
fn counting_to_two() -> System<usize> {
    system(2, Counter::count_up).at_end("counted", observe(|c: &Counter| c.count), |counts| counts[0] == 2)
}

#[test]
fn a_test_is_as_loud_as_the_report_about_faults_that_are_not_covered() {
    let report = quorate::check(counting_to_two()).run().unwrap();
    assert!(matches!(report.verdict, Verdict::Holds));
    let what: Vec<&str> = report.not_covered.iter().map(NotCovered::what).collect();
    assert_eq!(what, ["crashes", "lost messages"]);
    report.assert_holds_without_faults();
    quorate::check(counting_to_two()).assert_holds_without_faults();
    let said = panic_of(|| quorate::check(counting_to_two()).assert_holds());
    assert!(said.contains("'counted' holds, but only as long as nothing fails"), "{said}");
    assert!(said.contains("crashes and lost messages are not covered"), "{said}");
    assert!(said.contains("assert_holds_without_faults"), "{said}");
}

#[test]
fn what_is_covered_needs_no_opting_in() {
    // Nobody has to say anything of faults where they cannot change the answer.
    quorate::check(system(2, Counter::count_up)).assert_holds();
    // Nor where they were looked for: nobody crashes, and what is lost is not counted.
    let losing_and_crashing = |role: &str| {
        let prone = vec![(role.to_string(), 1)];
        let crashes = Crashes::Explicit { prone, sends: CrashSends::Some };
        World::default().channel(Channel::Lossy).crashes(crashes)
    };
    quorate::check(counting_to_two()).world(losing_and_crashing("sink")).assert_holds();
    // A violation is one in any world.
    quorate::check(counting_to_two()).world(losing_and_crashing("counter")).assert_violated();
}

/// Counts to two, and nobody hears of it.
fn quiet_counter() -> System<usize> {
    COUNT.set(|counter, _| counter.count += 1);
    System::new().role(COUNTERS, 1, |_| Counter { count: 0, limit: 2 }).at_end(
        "counted",
        observe(|c: &Counter| c.count),
        |counts| counts[0] == 2,
    )
}

/// Turns round for ever.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Wheel(u8);

impl Role for Wheel {
    type Message = ();
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("turn").run(|wheel, _| wheel.0 = (wheel.0 + 1) % 3);
    }
}

#[test]
fn a_property_of_ends_that_never_come_is_warned_of_by_every_engine() {
    let wheels = |most| {
        System::new()
            .role(COUNTERS, 1, |_| Wheel(0))
            .invariant("in the rim", observe(|w: &Wheel| w.0), |all| all.iter().all(|one| *one < 3))
            .at_end("at the top", observe(|w: &Wheel| w.0), move |all| all[0] <= most)
    };
    let engines: [(&str, Box<dyn Engine>); 4] = [
        ("explore", Box::new(Explore::DEFAULT)),
        ("depth-first", Box::new(Explore::DEFAULT.order(Order::Depth))),
        ("local", Box::new(Local::default())),
        ("components", Box::new(Components::default())),
    ];
    for (name, engine) in engines {
        let model = wheels(0).build().unwrap();
        let report = engine.run(&model, &Search::default(), &mut ());
        assert!(matches!(report.verdict, Verdict::Holds), "{name}: {:?}", report.verdict);
        let warnings: Vec<String> = report.warnings().iter().map(ToString::to_string).collect();
        let expected = "no run ends: 'at the top' looks at the end of runs and was never asked";
        assert_eq!(warnings, [expected], "{name}");
        let said = panic_of(std::panic::AssertUnwindSafe(|| report.assert_holds_without_faults()));
        assert!(said.contains(expected), "{name}: {said}");
        let ends = engine.run(&quiet_counter().build().unwrap(), &Search::default(), &mut ());
        assert_eq!(ends.warnings(), [], "{name}");
    }
    // Where nothing is asked of ends, nobody minds that there are none.
    let forever = System::new().role(COUNTERS, 1, |_| Wheel(0)).invariant(
        "in the rim",
        observe(|w: &Wheel| w.0),
        |all| all[0] < 3,
    );
    quorate::check(forever).assert_holds();
}
