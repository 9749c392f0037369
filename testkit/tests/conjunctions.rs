//! How many processes satisfy a local predicate at once, component by component: the verdicts of the naive checker,
//! with bags and in order, process by process and in groups; and at how many cuts that is looked at.

use quorate::engine::components::Partition;
use quorate::engine::{Components, Engine, Search};
use quorate::model::Model;
use quorate::property::{Observation, Property, When};
use quorate::replay::Replay;
use quorate::report::{Report, Verdict};
use quorate::testing::{Mutant, Tuning};
use quorate::world::{Channel, World};
use quorate::{ProcessId, Role, RoleName, System, Transitions, observe};
use quorate_testkit::corpus::{STATES_MAX, for_each_seed, one_seed};
use quorate_testkit::naive::{Findings, search};
use quorate_testkit::random::RandomProtocol;
use quorate_testkit::tier::{CONJUNCTIONS, CONJUNCTIONS_IN_ORDER, Family, are_seeds_named};

/// Components with more points are too large.
const POINTS_MAX: u64 = 1_000;
/// How many predicates are tried with each protocol; groups, which take their time, with the first of them only.
const VARIANTS: u64 = 4;

/// The same model process by process, in groups of neighbours and of others, and as a whole.
fn partitions(model: &Model) -> Vec<Partition> {
    let ids: Vec<ProcessId> = model.ids().collect();
    let pairs: Vec<Vec<ProcessId>> = ids.chunks(2).map(<[ProcessId]>::to_vec).collect();
    let every_second = |from: usize| ids.iter().skip(from).step_by(2).copied().collect();
    let apart: Vec<Vec<ProcessId>> = vec![every_second(0), every_second(1)];
    let groups = [pairs, apart, vec![ids.clone()]];
    let groups = groups.map(|groups| Partition::groups(model, &groups).expect("all are there"));
    [Partition::processes(model)].into_iter().chain(groups).collect()
}

/// In what a report differs from what the naive checker found.
fn difference(model: &Model, found: &Findings, report: &Report) -> Option<String> {
    match &report.verdict {
        Verdict::Holds if found.broken.is_empty() => None,
        Verdict::Holds => Some(format!("holds, but {:?} break", found.broken)),
        Verdict::Violated(violation) => {
            if !found.broken.contains_key(violation.broken.property()) {
                return Some(format!("{} is violated, but {:?} break", violation.broken, found.broken));
            }
            let mut replay = Replay::new(model);
            let refused = violation.trace.steps.iter().find_map(|step| replay.follow(step).err());
            (refused.is_some() || replay.broken().as_ref() != Some(&violation.broken))
                .then(|| format!("replay: {refused:?}, {:?}", replay.broken()))
        }
        other => Some(format!("the verdict is {}", other.word())),
    }
}

/// What came of one protocol with several predicates.
#[derive(Default)]
struct Compared {
    /// How often the limit held and how often not, with components of one process and with groups.
    held: [usize; 2],
    violated: [usize; 2],
    /// At how many cuts it was looked at where it held, and how many there are.
    cuts: [u64; 2],
    differences: Vec<String>,
}

fn compare(seed: u64, channel: Channel, mutant: Option<Mutant>) -> Option<Compared> {
    let protocol = RandomProtocol::new(seed);
    if protocol.cyclic() {
        return None;
    }
    let world = World::default().channel(channel);
    let mut compared = Compared::default();
    for variant in 0..VARIANTS {
        let [model, written_out] = [false, true].map(|is_written_out| {
            let protocol = protocol.with_limit(variant, is_written_out);
            protocol.model().in_world(world.clone()).expect("a world that fits")
        });
        let found = search(&model, STATES_MAX)?;
        let partitions = partitions(&model).into_iter().enumerate();
        for (at, components) in partitions.take(if variant == 0 && mutant.is_none() { 4 } else { 1 }) {
            let engine = Components::default().partition(components.clone());
            let tuning = Tuning { mutants: mutant.into(), ..Tuning::default() };
            let search = Search::default().states_max(POINTS_MAX).tuning(tuning);
            let report = engine.run(&model, &search, &mut ());
            let is_grouped = usize::from(at > 0);
            match &report.verdict {
                // A group distinguishes all runs that led to it, which may be too many.
                Verdict::Unknown(_) | Verdict::HoldsWithin(_) => continue,
                Verdict::Violated(_) => compared.violated[is_grouped] += 1,
                Verdict::Holds => {
                    compared.held[is_grouped] += 1;
                    let everywhere = engine.run(&written_out, &search, &mut ());
                    for (cuts, report) in compared.cuts.iter_mut().zip([&report, &everywhere]) {
                        *cuts += report.components().expect("it explores components").cuts;
                    }
                }
            }
            let difference = difference(&model, &found, &report);
            compared.differences.extend(difference.map(|line| format!("{variant}, {components:?}: {line}")));
        }
    }
    Some(compared)
}

#[track_caller]
#[expect(clippy::print_stdout, reason = "a test may say what it has seen")]
fn compare_all(channel: Channel, family: &Family) {
    let results = for_each_seed(family.seeds(), |seed| compare(seed, channel, None));
    let compared: Vec<(u64, &Compared)> =
        results.iter().filter_map(|(seed, compared)| Some((*seed, compared.as_ref()?))).collect();
    let sum = |of: fn(&Compared) -> usize| compared.iter().map(|(_, compared)| of(compared)).sum::<usize>();
    let (held, violated) = (sum(|c| c.held[0]), sum(|c| c.violated[0]));
    let (held_in_groups, violated_in_groups) = (sum(|c| c.held[1]), sum(|c| c.violated[1]));
    let cuts = [0, 1].map(|way: usize| compared.iter().map(|(_, compared)| compared.cuts[way]).sum::<u64>());
    println!(
        "{} protocols: held {held}, violated {violated}; in groups held {held_in_groups}, violated \
         {violated_in_groups}; cuts {cuts:?}",
        compared.len()
    );
    let different: Vec<String> = compared
        .iter()
        .filter_map(|(seed, compared)| Some(format!("seed {seed}: {}", compared.differences.first()?)))
        .collect();
    let first: Vec<&str> = different.iter().take(8).map(String::as_str).collect();
    assert!(different.is_empty(), "{} protocols differ:\n{}", different.len(), first.join("\n"));
    if are_seeds_named() {
        return;
    }
    let least = family.least(200);
    assert!(compared.len() >= least, "only {} protocols were compared", compared.len());
    assert!(
        held.min(violated) > least && held_in_groups.min(violated_in_groups) > least,
        "they test too little"
    );
}

#[test]
fn random_protocols() {
    compare_all(Channel::Bag, &CONJUNCTIONS);
}

#[test]
fn random_protocols_in_order() {
    compare_all(Channel::Fifo, &CONJUNCTIONS_IN_ORDER);
}

/// The comparison can fail: if no component waits for what others send, violations are missed.
#[test]
fn a_mutant_is_noticed() {
    let differs = |seed: &u64| {
        let compared = compare(*seed, Channel::Bag, Some(Mutant::NoWaiting));
        compared.is_some_and(|compared| !compared.differences.is_empty())
    };
    let noticed: Vec<u64> = (0..560).filter(differs).take(3).collect();
    assert_eq!(noticed.len(), 3, "noticed by seeds {noticed:?} only");
    CONJUNCTIONS.catches(Mutant::NoWaiting, &noticed);
}

/// Reproduces one protocol of the above: the one that `QUORATE_SEED` names.
#[test]
fn one_seed_in_detail() {
    let seed = one_seed().unwrap_or(1);
    for channel in [Channel::Bag, Channel::Fifo] {
        let differences = compare(seed, channel, None).map_or(Vec::new(), |compared| compared.differences);
        assert!(differences.is_empty(), "seed {seed}, {channel}:\n{}", differences.join("\n"));
    }
}

const WORKER: RoleName = RoleName::new("worker");
const SINK: RoleName = RoleName::new("sink");
const STEPS: usize = 3;

/// The first gives a signal, and each of the others waits for it; then all report so many steps to the sink.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Worker {
    is_first: bool,
    has_begun: bool,
    reported: usize,
}

impl Role for Worker {
    type Message = ();

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("signal").when(|worker| worker.is_first && !worker.has_begun).run(|worker, out| {
            worker.has_begun = true;
            out.send_all(WORKER, ());
        });
        t.message("begin").of(|worker, ()| !worker.has_begun).run(|worker, _, _| worker.has_begun = true);
        t.internal("report").when(|worker| worker.has_begun && worker.reported < STEPS).run(|worker, out| {
            worker.reported += 1;
            out.send_all(SINK, ());
        });
    }
}

/// Never reads what it is sent.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Sink;

impl Role for Sink {
    type Message = ();

    fn transitions(&self, _: &mut Transitions<Self>) {}
}

/// Explores a system, with every process a component.
fn explored(system: System<()>, mutant: Option<Mutant>) -> Report {
    let model = system.build().expect("it makes sense");
    let tuning = Tuning { mutants: mutant.into(), ..Tuning::default() };
    Components::default().run(&model, &Search::default().tuning(tuning), &mut ())
}

fn cuts(report: &Report) -> u64 {
    report.components().expect("it explores components").cuts
}

/// The first has not begun when the others are done: they would have to, for all to satisfy it.
fn done_before_the_first_begins() -> Observation<bool> {
    observe(|worker: &Worker| if worker.is_first { !worker.has_begun } else { worker.reported == STEPS })
}

/// The cuts of a skeleton are a product, the steps of a search a sum.
#[test]
fn conjunctions_are_found_in_few_cuts() {
    for workers in 2..=6 {
        let system = |property: Property| {
            let worker = |at| Worker { is_first: at == 0, has_begun: false, reported: 0 };
            System::new().role(WORKER, workers, worker).role(SINK, 1, |_| Sink).property(property)
        };
        let few = move |done: &[bool]| !done.iter().all(|done| *done);
        let everywhere = Property::new("not all", When::Always, done_before_the_first_begins(), few);
        let everywhere = explored(system(everywhere), None);
        let together = Property::at_most("not all", workers - 1, done_before_the_first_begins());
        let together = explored(system(together), None);
        everywhere.assert_holds();
        together.assert_holds();
        assert_eq!(together.components().map(|all| all.global_skeletons), Some(1));
        // Before the signal there is one cut; after it everybody has reported any number of steps.
        let all = (STEPS + 1).pow(u32::try_from(workers).expect("a few")) + 1;
        assert_eq!(cuts(&everywhere), all as u64, "{workers} workers");
        // Each by itself: the steps and, of the first, the signal. Together: nothing has happened; the first has given
        // the signal, then takes one step after another; it is never again where it was.
        let few = workers * (STEPS + 1) + 1 + STEPS + 2;
        assert_eq!(cuts(&together), few as u64, "{workers} workers");
    }
}

const ALICE: RoleName = RoleName::new("alice");
const BOB: RoleName = RoleName::new("bob");

/// Reports to the sink once, and may hear a hint before or after.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Alice {
    has_heard: bool,
    has_reported: bool,
}

impl Role for Alice {
    type Message = ();

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("report").when(|alice| !alice.has_reported).run(|alice, out| {
            alice.has_reported = true;
            out.send_all(SINK, ());
        });
        t.message("hear").of(|alice, ()| !alice.has_heard).run(|alice, _, _| alice.has_heard = true);
    }
}

/// Gives a hint.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Bob(bool);

impl Role for Bob {
    type Message = ();

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("hint").when(|bob| !bob.0).run(|bob, out| {
            bob.0 = true;
            out.send_all(ALICE, ());
        });
    }
}

/// Where a component may have taken a message or not, it may be the one or the other that is looked for: to wait for
/// the message, or to go on without it. Alice can always do both, and only one of them leads anywhere.
#[test]
fn both_alternatives_are_tried() {
    let explored_with = |of_alice: fn(&Alice) -> bool, of_bob: fn(&Bob) -> bool, mutant| {
        let alice = Alice { has_heard: false, has_reported: false };
        let both = Property::at_most("not both", 1, observe(of_alice).and(of_bob));
        let system = System::new().role(ALICE, 1, move |_| alice.clone()).role(BOB, 1, |_| Bob(false));
        explored(system.role(SINK, 1, |_| Sink).property(both), mutant)
    };
    let waits = |mutant| explored_with(|alice| alice.has_heard && !alice.has_reported, |_| true, mutant);
    let goes_on = |mutant| explored_with(|alice| alice.has_heard != alice.has_reported, |bob| !bob.0, mutant);
    let is_found = |report: Report| report.verdict.violation().is_some();
    assert!(is_found(waits(None)) && is_found(goes_on(None)));
    assert!(!is_found(waits(Some(Mutant::NoWaiting))) && is_found(goes_on(Some(Mutant::NoWaiting))));
}

const EARLY: RoleName = RoleName::new("early");
const LATE: RoleName = RoleName::new("late");
const GUESTS: u8 = 7;

/// Is there until it says goodbye.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Early(bool);

impl Role for Early {
    type Message = ();

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("goodbye").when(|early| early.0).run(|early, out| {
            early.0 = false;
            out.send_all(LATE, ());
        });
    }
}

/// Comes when all the others have said goodbye.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Late(u8);

impl Role for Late {
    type Message = ();

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.message("hear").run(|late, _, _| late.0 += 1);
    }
}

/// Where there are more sets of processes than cuts, it is the cuts that are gone through.
#[test]
fn many_conjunctions_are_not_looked_for_one_by_one() {
    let system = |limit: u8| {
        let is_there = observe(|early: &Early| early.0).and(|late: &Late| late.0 == GUESTS);
        let system =
            System::new().role(EARLY, GUESTS.into(), |_| Early(true)).role(LATE, GUESTS.into(), |_| Late(0));
        system.property(Property::at_most("few are there", limit.into(), is_there))
    };
    let report = explored(system(GUESTS), None);
    report.assert_holds();
    // Each by itself: the early ones before and after; then all cuts. There are 3,003 sets of eight.
    assert_eq!(cuts(&report), 2 * 7 + 7 + (1 << 7));
    assert!(explored(system(GUESTS - 1), None).verdict.violation().is_some());
}

/// A state of which the predicate cannot be asked breaks it, whatever the limit.
#[test]
fn a_predicate_that_panics_is_broken() {
    for limit in [0, 1, usize::MAX] {
        let bad = |bob: &Bob| {
            assert!(!bob.0, "nobody can say");
            false
        };
        let alice = Alice { has_heard: false, has_reported: false };
        let system = System::new().role(ALICE, 1, move |_| alice.clone()).role(BOB, 1, |_| Bob(false));
        let system = system.role(SINK, 1, |_| Sink).property(Property::at_most("few", limit, observe(bad)));
        let model = system.build().expect("it makes sense");
        let found = search(&model, STATES_MAX).expect("few states");
        let report = Components::default().run(&model, &Search::default(), &mut ());
        assert_eq!(difference(&model, &found, &report), None, "limit {limit}");
        assert!(report.verdict.violation().is_some(), "limit {limit}");
    }
}
