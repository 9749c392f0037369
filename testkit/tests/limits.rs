//! Every engine ends soon after it is asked to, in whatever it is doing then, and what it has found by then is not lost.
//!
//! The one place where tests look at a clock: a limit is about time. What is asserted is generous, for a busy machine.

use std::thread;
use std::time::{Duration, Instant};

use quorate::engine::{Components, Engine, Explore, Local, Order, Search, Staged, strongest_reductions};
use quorate::model::Model;
use quorate::reduce::Reductions;
use quorate::report::{Coverage, Report, Stop, Stopped, Watch};
use quorate::testing::Tuning;
use quorate::{Outbox, Protocol, Role, RoleName, System, Transitions, Verdict, observe};
use quorate_papers::PlainDepth;
use quorate_papers::lmc::Lmc;

/// How long after a limit an answer may come. It comes within a second on a machine with nothing else to do.
const LATE_MAX: Duration = Duration::from_secs(10);

/// Raises its sign after some time, and insists a little later.
struct Alarm(Stop);

impl Alarm {
    fn after(time: Duration) -> Self {
        let stop = Stop::default();
        if time.is_zero() {
            stop.raise(Stopped::Time(Duration::ZERO));
        }
        let sign = stop.clone();
        thread::spawn(move || {
            thread::sleep(time);
            sign.raise(Stopped::Time(Duration::ZERO));
            thread::sleep(Duration::from_millis(500));
            sign.insist();
        });
        Alarm(stop)
    }
}

impl Watch for Alarm {
    fn progress(&mut self, _: &Coverage) -> Option<Stopped> {
        self.0.why().cloned()
    }

    fn stop(&self) -> Option<Stop> {
        Some(self.0.clone())
    }
}

fn engines() -> Vec<Box<dyn Engine>> {
    vec![
        Box::new(Explore::default()),
        Box::new(Explore::default().order(Order::Depth)),
        Box::new(Local::default()),
        Box::new(quorate::engine::BoundedDepth::default()),
        Box::new(Components::default()),
        Box::new(Staged::new(Explore::default(), 3).stone_states(100)),
        Box::new(PlainDepth),
        Box::new(Lmc::GENERAL),
        Box::new(Lmc::OPTIMISED),
    ]
}

fn model(protocol: &Protocol, given: &[(&str, &str)], bug: Option<&str>) -> Model {
    let arguments = protocol.arguments(given.iter().copied(), bug).unwrap_or_else(|error| panic!("{error}"));
    protocol.instance(&arguments).unwrap_or_else(|error| panic!("{error}"))
}

/// Searches with a limit; how late the answer came.
fn late(engine: &dyn Engine, model: &Model, reductions: Reductions, limit: Duration) -> (Report, Duration) {
    let search = Search::default().threads(2).reductions(reductions);
    let begin = Instant::now();
    let report = engine.run(model, &search, &mut Alarm::after(limit));
    (report, begin.elapsed().saturating_sub(limit))
}

/// Goes through engines and reductions. Returns how late the latest answer came.
fn latest(name: &str, model: &Model, limits: &[Duration], violated: bool) -> Duration {
    let mut latest = Duration::ZERO;
    for engine in engines() {
        let strongest = strongest_reductions(&*engine, model).0;
        let mut choices = vec![Reductions::default()];
        if !strongest.which.is_empty() {
            choices.extend([strongest.clone().kept(), strongest]);
        }
        let each = |one: Reductions| limits.iter().map(move |limit| (one.clone(), *limit));
        for (reductions, limit) in choices.into_iter().flat_map(each) {
            let what = format!("{name}, {} with {:?}, {limit:?}", engine.name(), reductions.which);
            let (report, late) = late(&*engine, model, reductions, limit);
            assert!(late < LATE_MAX, "{what}: {late:?} late");
            match &report.verdict {
                Verdict::Violated(_) => assert!(violated, "{what}"),
                Verdict::Holds => assert!(!violated, "{what}"),
                // The published algorithms say that they may lose violations.
                Verdict::HoldsWithin(_) | Verdict::Unknown(_) => {}
            }
            latest = latest.max(late);
        }
    }
    latest
}

#[test]
fn every_engine_ends_in_time_with_every_planted_bug() {
    let mut worst = Duration::ZERO;
    let mut seed = 20_261_118_u64;
    for protocol in quorate_zoo::protocols() {
        for bug in protocol.bugs() {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at_random = Duration::from_micros((seed >> 33) % 30_000);
            let fixed = [0, 1, 10, 100].map(Duration::from_millis);
            let limits = [&fixed[..], &[at_random]].concat();
            let name = format!("{} --bug {}", protocol.name(), bug.name);
            worst = worst.max(latest(&name, &model(&protocol, &[], Some(bug.name)), &limits, true));
        }
    }
    eprintln!("the latest answer came {worst:?} after its limit");
}

/// A protocol by name, with parameters and perhaps a bug.
type Instance = (&'static str, &'static [(&'static str, &'static str)], Option<&'static str>);

#[test]
fn every_engine_ends_in_time_where_there_is_very_much_to_do() {
    let large: [Instance; 5] = [
        ("paxos", &[("proposers", "20"), ("acceptors", "20")], None),
        ("paxos", &[("proposers", "5"), ("acceptors", "7")], None),
        ("two-phase-commit", &[("participants", "12")], Some("commit-on-majority")),
        ("paxos-node", &[("proposals", "3")], None),
        ("regular-storage", &[("objects", "15"), ("readers", "4")], Some("one-ack")),
    ];
    let protocols = quorate_zoo::protocols();
    for (name, given, bug) in large {
        let protocol = protocols.iter().find(|protocol| protocol.name() == name).expect("in the zoo");
        let late = latest(name, &model(protocol, given, bug), &[Duration::from_millis(100)], bug.is_some());
        eprintln!("{name} {given:?}: {late:?}");
    }
}

/// Counts, and has nothing to say.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Counter(u8);

impl Role for Counter {
    type Message = ();

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("count").when(|c| c.0 < 9).run(|c: &mut Counter, _: &mut Outbox<()>| c.0 += 1);
    }
}

/// Four that count, until they have come to twelve together, which is wrong.
fn counters() -> Model {
    let system = System::new().role(RoleName::new("counter"), 4, |_| Counter(0)).invariant(
        "few in all",
        observe(|counter: &Counter| counter.0),
        |counts| counts.iter().sum::<u8>() < 12,
    );
    system.build().expect("a system without mistakes")
}

/// Asks to stop as soon as a search is repeated, which is after it has seen a violation.
#[derive(Default)]
struct AtTheRepetition {
    stop: Stop,
    insists: bool,
    /// How often the search begins before that.
    beginnings: u32,
    states: u64,
}

impl Watch for AtTheRepetition {
    fn progress(&mut self, coverage: &Coverage) -> Option<Stopped> {
        let begins = coverage.states < self.states;
        self.states = coverage.states;
        self.beginnings -= u32::from(begins && self.beginnings > 0);
        if begins && self.beginnings == 0 {
            self.stop.raise(Stopped::Interrupted);
            if self.insists {
                self.stop.insist();
            }
        }
        self.stop.why().cloned()
    }

    fn stop(&self) -> Option<Stop> {
        Some(self.stop.clone())
    }
}

#[test]
fn a_violation_that_was_seen_is_reported_though_its_trace_is_late() {
    // In the first states of a search it is known where they came from; one that starts anew, split, forgets it.
    for (first_states, beginnings) in [(u64::MAX, 1), (50, 2)] {
        let search = Search::default().threads(1).tuning(Tuning { first_states, ..Tuning::DEFAULT });
        let mut watch = AtTheRepetition { beginnings, ..AtTheRepetition::default() };
        let report = Explore::default().run(&counters(), &search, &mut watch);
        assert!(watch.stop.why().is_some(), "{:?}", report.verdict);
        assert_eq!(report.assert_violated().trace.steps.len(), 12);

        let mut watch = AtTheRepetition { beginnings, insists: true, ..AtTheRepetition::default() };
        let report = Explore::default().run(&counters(), &search, &mut watch);
        match &report.verdict {
            Verdict::Violated(_) if beginnings == 1 => {}
            Verdict::Unknown(Stopped::Untraced(last)) if beginnings == 2 => {
                assert_eq!(**last, Stopped::Interrupted);
            }
            other => panic!("{other:?}"),
        }
    }
}
