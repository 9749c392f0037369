//! Local model checking as it was published: for each of its shortcuts a protocol whose violation it loses by that
//! shortcut alone. Without shortcuts it agrees with the naive checker wherever it comes to an end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use quorate::engine::{CombineBy, Engine, Explore, Search};
use quorate::model::Model;
use quorate::model::ScheduledStep;
use quorate::property::When;
use quorate::replay::Replay;
use quorate::report::{Coverage, Stopped, Watch};
use quorate::world::StepKind;
use quorate::{ProcessId, Role, RoleName, System, Transitions, Verdict, observe};
use quorate_papers::PlainDepth;
use quorate_papers::lmc::{Found, Lmc, Options, Shortcut, check};
use quorate_testkit::corpus::for_each_seed;
use quorate_testkit::naive::{NO_PANIC, search};
use quorate_testkit::random::RandomProtocol;
use quorate_testkit::tier::PUBLISHED;

/// What moves a process from one place to another, and what it sends then.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum On {
    Itself,
    Message(&'static str),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Edge {
    from: u8,
    on: On,
    to: u8,
    sends: Vec<&'static str>,
}

fn alone(from: u8, to: u8, sends: &[&'static str]) -> Edge {
    Edge { from, on: On::Itself, to, sends: sends.to_vec() }
}

fn on(message: &'static str, from: u8, to: u8, sends: &[&'static str]) -> Edge {
    Edge { from, on: On::Message(message), to, sends: sends.to_vec() }
}

/// A process that goes along edges. It sends to the other one, and starts at place 0.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Automaton {
    place: u8,
    edges: Arc<Vec<Edge>>,
}

const AUTOMATA: RoleName = RoleName::new("automaton");
/// Where nobody may be.
const BAD: u8 = 99;
/// Whoever should go here panics.
const ASSERTED: u8 = 98;

impl Role for Automaton {
    type Message = &'static str;

    fn transitions(&self, t: &mut Transitions<Self>) {
        for edge in self.edges.iter().cloned() {
            let Edge { from, to, sends, .. } = edge.clone();
            let go = move |process: &mut Automaton,
                           me: ProcessId,
                           send: &mut dyn FnMut(ProcessId, &'static str)| {
                assert!(to != ASSERTED, "unexpected");
                process.place = to;
                for message in &sends {
                    send(ProcessId::new(1 - me.index()), message);
                }
            };
            let name = format!("{from} to {to} on {:?}", edge.on);
            match edge.on {
                On::Itself => t
                    .internal(&name)
                    .when(move |process| process.place == from)
                    .run(move |process, out| go(process, out.me(), &mut |to, message| out.send(to, message))),
                On::Message(awaited) => t
                    .message(&name)
                    .of(move |process, message| process.place == from && *message == awaited)
                    .run(move |process, _, out| {
                        go(process, out.me(), &mut |to, message| out.send(to, message));
                    }),
            }
        }
    }
}

/// Two processes with these edges, none of which may get to the bad place.
fn pair(first: &[Edge], second: &[Edge]) -> Model {
    let edges = [Arc::new(first.to_vec()), Arc::new(second.to_vec())];
    System::new()
        .role(AUTOMATA, 2, move |index| Automaton { place: 0, edges: Arc::clone(&edges[index]) })
        .invariant("nobody is bad", observe(|process: &Automaton| process.place), |places| {
            !places.contains(&BAD)
        })
        .build()
        .expect("a valid system")
}

fn checked(model: &Model, shortcuts: &[Shortcut], classes: CombineBy) -> Found {
    let options = Options { shortcuts: shortcuts.to_vec(), classes, ..Options::default() };
    check(model, &options, &mut ())
}

/// The violation is found by exploring and without shortcuts, and lost by this one alone and by all together.
#[track_caller]
fn loses(shortcut: Shortcut, model: &Model) {
    Explore::default().run(model, &Search::default(), &mut ()).assert_violated();
    for classes in [CombineBy::States, CombineBy::Observations] {
        let complete = checked(model, &[], classes);
        let violation = complete.verdict.violation().unwrap_or_else(|| panic!("{classes:?}: {complete:?}"));
        let before = Replay::new(model).into_trace().steps.len();
        let mut replay = Replay::new(model);
        for step in &violation.trace.steps[before..] {
            replay.follow(step).expect("the trace replays");
        }
        assert_eq!(replay.broken().as_ref(), Some(&violation.broken));
        for shortcuts in [&[shortcut][..], &Shortcut::ALL] {
            let short = checked(model, shortcuts, classes);
            assert_eq!(short.verdict.word(), "holds within", "{shortcuts:?} {classes:?}: {short:?}");
        }
    }
}

/// A server that answers and stays as it is: without what leads from a state to itself, nobody has answered.
#[test]
fn self_loops() {
    let client = [alone(0, 1, &["question"]), on("answer", 1, BAD, &[])];
    let server = [on("question", 0, 0, &["answer"])];
    loses(Shortcut::SelfLoops, &pair(&client, &server));
}

/// Two ways to one state, and only on the second is the message left that leads on.
#[test]
fn the_history_of_the_first_way() {
    let sender = [alone(0, 1, &["x", "y"])];
    let receiver = [on("x", 0, 1, &[]), on("y", 0, 1, &[]), on("x", 1, BAD, &[])];
    loses(Shortcut::FirstHistory, &pair(&sender, &receiver));
}

/// The bad state is first found with messages of two runs that exclude each other, and later by a message of one run,
/// when all its combinations have been rejected.
#[test]
fn what_was_rejected_once() {
    let sender = [
        alone(0, 1, &["p"]),
        alone(0, 2, &["q"]),
        alone(1, 3, &[]),
        alone(3, 4, &[]),
        alone(4, 5, &[]),
        alone(5, 6, &["r"]),
    ];
    let receiver = [on("p", 0, 1, &[]), on("q", 1, BAD, &[]), on("r", 0, BAD, &[])];
    loses(Shortcut::RejectedForGood, &pair(&sender, &receiver));
}

/// What is sent twice, and must be received twice.
fn twice() -> ([Edge; 2], [Edge; 2]) {
    ([alone(0, 1, &["m"]), alone(1, 2, &["m"])], [on("m", 0, 1, &[]), on("m", 1, BAD, &[])])
}

#[test]
fn duplicates() {
    let (sender, receiver) = twice();
    loses(Shortcut::NoDuplicates, &pair(&sender, &receiver));
}

/// In a set the second copy is lost, if it is sent before the first is received.
#[test]
fn a_set_of_hashes() {
    let (sender, receiver) = twice();
    loses(Shortcut::SetOfHashes, &pair(&sender, &receiver));
    // The answer depends on the order in which enabled events are executed.
    let reversed = checked(&pair(&receiver, &sender), &[Shortcut::SetOfHashes], CombineBy::Observations);
    assert_eq!(reversed.verdict.word(), "violated");
}

#[test]
fn assertions() {
    let sender = [alone(0, 1, &["x"])];
    let receiver = [on("x", 0, ASSERTED, &[])];
    loses(Shortcut::Assertions, &pair(&sender, &receiver));
}

/// A system that starts when a message is on its way.
#[test]
fn an_empty_network() {
    let model = || pair(&[alone(0, 1, &["x"])], &[on("x", 0, BAD, &[])]);
    let sends = ScheduledStep {
        process: ProcessId::new(0),
        kind: StepKind::Transition,
        transition: 0,
        consumed: Vec::new(),
        choices: Vec::new(),
        sent: Vec::new(),
    };
    let (trace, _) = quorate::replay::replay(&model(), &vec![sends]).expect("a step");
    loses(Shortcut::EmptyNetwork, &model().after(&trace.steps).expect("a run"));
}

/// The example of the paper's figures 2 to 4: four system states, of which one cannot happen.
#[test]
fn the_tree_of_the_paper() {
    let protocols = quorate_zoo::protocols();
    let tree = protocols.iter().find(|protocol| protocol.name() == "tree").expect("the tree");
    let model = tree.instance(&tree.arguments([], None).expect("defaults")).expect("a model");
    let found = checked(&model, &Shortcut::ALL, CombineBy::States);
    assert_eq!((found.system_states, found.preliminary, found.verifications), (4, 1, 1), "{found:?}");
    assert_eq!(found.verdict.word(), "holds within");
}

/// What cannot happen is rejected: the two messages exclude each other.
#[test]
fn an_impossible_combination() {
    let sender = [alone(0, 1, &["p"]), alone(0, 2, &["q"])];
    let receiver = [on("p", 0, 1, &[]), on("q", 1, BAD, &[])];
    let model = pair(&sender, &receiver);
    for classes in [CombineBy::States, CombineBy::Observations] {
        let found = checked(&model, &[], classes);
        assert_eq!(found.verdict.word(), "holds", "{found:?}");
        assert!(found.preliminary > 0 && found.sequences >= found.preliminary, "{found:?}");
        let states = if classes == CombineBy::States { 9 } else { 3 };
        assert_eq!((found.local_states, found.system_states), (6, states), "{found:?}");
    }
}

/// Lets a check do so many small pieces of work.
struct Patience(u32);

impl Watch for Patience {
    fn progress(&mut self, _: &Coverage) -> Option<Stopped> {
        self.0 = self.0.saturating_sub(1);
        (self.0 == 0).then_some(Stopped::Interrupted)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Compared {
    Violated,
    Holds,
    GaveUp,
}

/// In what the algorithm without shortcuts differs from the naive checker; with them, whether it claims too much.
fn compare(seed: u64) -> Option<Result<Compared, String>> {
    let model = RandomProtocol::new(seed).model();
    let all = search(&model, 300)?.broken;
    let mut truth = all.clone();
    let invariant = |name: &String| {
        let find = |property: &&quorate::property::Property| property.name() == name;
        let property = model.properties().iter().find(find);
        name == NO_PANIC || property.is_some_and(|property| property.when() == When::Always)
    };
    truth.retain(|name, _| invariant(name));
    let mut came_to = Compared::GaveUp;
    for (shortcuts, classes) in [
        (&[][..], CombineBy::Observations),
        (&[], CombineBy::States),
        (&Shortcut::ALL, CombineBy::Observations),
        (&Shortcut::ALL, CombineBy::States),
    ] {
        let options = Options {
            shortcuts: shortcuts.to_vec(),
            classes,
            states_max: Some(20_000),
            events_max: 6,
            ..Options::default()
        };
        let found = check(&model, &options, &mut Patience(40));
        let whole = shortcuts.is_empty();
        match &found.verdict {
            Verdict::Violated(violation)
                if truth.is_empty() || !all.contains_key(violation.broken.property()) =>
            {
                return Some(Err(format!("{shortcuts:?}: {} breaks", violation.broken)));
            }
            Verdict::Violated(_) if whole => came_to = Compared::Violated,
            Verdict::Holds if !whole || !truth.is_empty() => {
                return Some(Err(format!("{shortcuts:?}: holds, but {truth:?}")));
            }
            Verdict::Holds if came_to == Compared::Violated => {
                return Some(Err(format!("{classes:?} holds, but not what they look like")));
            }
            Verdict::Holds => came_to = Compared::Holds,
            _ => {}
        }
    }
    Some(Ok(came_to))
}

#[test]
fn random_protocols() {
    let results = for_each_seed(PUBLISHED.seeds(), compare);
    let mistakes: Vec<String> = results
        .iter()
        .filter_map(|(seed, result)| Some(format!("seed {seed}: {}", result.as_ref()?.as_ref().err()?)))
        .collect();
    assert!(
        mistakes.is_empty(),
        "{} mistakes:\n{}",
        mistakes.len(),
        mistakes[..mistakes.len().min(5)].join("\n")
    );
    let count = |wanted| results.iter().filter(|(_, result)| *result == Some(Ok(wanted))).count();
    let (violated, holds) = (count(Compared::Violated), count(Compared::Holds));
    println!("{violated} violated, {holds} hold, {} gave up", count(Compared::GaveUp));
    assert!(
        violated >= PUBLISHED.least(300) && holds >= PUBLISHED.least(900),
        "only {violated} violated and {holds} hold"
    );
}

/// Ticks, if a guard lets it that says something else each time.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Moody(u8);

impl Role for Moody {
    type Message = u8;
    fn transitions(&self, t: &mut Transitions<Self>) {
        static CALLS: AtomicUsize = AtomicUsize::new(0);
        let odd = || CALLS.fetch_add(1, Ordering::Relaxed) % 2 == 1;
        t.internal("tick").when(move |moody| moody.0 < 3 && odd()).run(|moody, _| moody.0 += 1);
    }
}

#[test]
fn an_impure_guard_is_named() {
    let engines: [&dyn Engine; 3] = [&PlainDepth, &Lmc::GENERAL, &Lmc::OPTIMISED];
    for engine in engines {
        let system = System::new().role(RoleName::new("moody"), 2, |_| Moody(0)).invariant(
            "true",
            observe(|moody: &Moody| moody.0),
            |_| true,
        );
        let report = engine.run(&system.build().unwrap(), &Search::default().depth_max(20), &mut ());
        let Verdict::Unknown(Stopped::Impure(what)) = &report.verdict else {
            panic!("{}: {}", engine.name(), report.verdict.word())
        };
        assert!(what.contains("guard of 'tick' of moody"), "{what}");
    }
}
