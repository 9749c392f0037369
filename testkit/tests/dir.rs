//! Components explored one by one: the verdicts of the naive checker, and as many runs as an enumerator that knows
//! nothing of components finds; on random protocols, process by process and in groups, with bags and in order.

use std::sync::atomic::{AtomicU64, Ordering};

use quorate::engine::components::{Part, Partition};
use quorate::engine::{Components, Engine, Search};
use quorate::model::Model;
use quorate::replay::Replay;
use quorate::report::{Coverage, Report, Stopped, Verdict};
use quorate::testing::{Mutant, Tuning};
use quorate::world::{Channel, World};
use quorate::{ProcessId, Role, RoleName, System, Transitions, observe};
use quorate_testkit::corpus::{STATES_MAX, for_each_seed, one_seed};
use quorate_testkit::maximal_runs::{self, Runs};
use quorate_testkit::naive::{Findings, search};
use quorate_testkit::random::RandomProtocol;
use quorate_testkit::tier::{COMPONENTS, COMPONENTS_IN_ORDER, Family, SYSTEMS_AS_GROUPS, are_seeds_named};

/// Protocols with more are skipped.
const RUN_STATES_MAX: usize = 5_000;
/// Components with more points are too large.
const POINTS_MAX: u64 = 2_000;

fn zoo(name: &str, given: &[(&str, &str)]) -> Model {
    let protocols = quorate_zoo::protocols();
    let protocol = protocols.iter().find(|protocol| protocol.name() == name).expect("it is in the zoo");
    let arguments = protocol.arguments(given.iter().copied(), None).expect("arguments that it takes");
    protocol.instance(&arguments).expect("an instance that makes sense")
}

/// The counts that DEMETER gives.
#[test]
fn the_enumerator_finds_the_known_numbers_of_runs() {
    let one = |servers, numbers| vec![("sequences", "1"), ("servers", servers), ("numbers", numbers)];
    let storage = |writes| vec![("objects", "3"), ("readers", "1"), ("writes", writes)];
    for (name, given, runs) in [
        ("accumulator", vec![], 18),
        ("accumulator", one("3", "2"), 27),
        ("accumulator", one("3", "4"), 125),
        ("accumulator", one("4", "3"), 256),
        ("paxos", vec![("proposers", "1"), ("stale", "keep")], 18),
        ("paxos", vec![("stale", "keep")], 1_800),
        ("paxos", vec![], 8_568),
        ("regular-storage", storage("1"), 72),
        ("regular-storage", storage("2"), 1_458),
    ] {
        assert_eq!(maximal_runs::count(&zoo(name, &given), 2_000_000), Runs::Count(runs), "{name} {given:?}");
    }
}

/// The same model process by process and, if there are enough, in groups of two.
fn partitions(model: &Model) -> Vec<Partition> {
    let ids: Vec<ProcessId> = model.ids().collect();
    let pairs: Vec<Vec<ProcessId>> = ids.chunks(2).map(<[ProcessId]>::to_vec).collect();
    // Neighbours tend to have the same role; these do not.
    let apart: Vec<Vec<ProcessId>> =
        [ids.iter().step_by(2).copied().collect(), ids.iter().skip(1).step_by(2).copied().collect()].to_vec();
    let whole = vec![ids.clone()];
    let groups =
        [pairs.clone(), apart, whole].map(|groups| Partition::groups(model, &groups).expect("all are there"));
    [Partition::processes(model)].into_iter().chain(groups).chain(systems(model, &ids, &pairs)).collect()
}

/// Components that are systems of components: of pairs, of processes, and of a process and a system of the others but
/// the last.
fn systems(model: &Model, ids: &[ProcessId], pairs: &[Vec<ProcessId>]) -> Vec<Partition> {
    let each = |ids: &[ProcessId]| -> Vec<Part> { ids.iter().map(|id| Part::Processes(vec![*id])).collect() };
    let of_pairs = vec![Part::System(pairs.iter().cloned().map(Part::Processes).collect())];
    let half = ids.len() / 2;
    let halves = vec![Part::System(each(&ids[..half])), Part::System(each(&ids[half..]))];
    let last = ids.len() - 1;
    let deep = vec![
        Part::System(vec![Part::Processes(ids[..1].to_vec()), Part::System(each(&ids[1..last]))]),
        Part::Processes(ids[last..].to_vec()),
    ];
    [of_pairs, halves, deep].map(|parts| Partition::parts(model, &parts).expect("all are there")).to_vec()
}

/// In what a report differs from what the naive checker and the enumerator of runs found.
fn differences(model: &Model, found: &Findings, runs: Runs, report: &Report) -> Vec<String> {
    let mut differences = Vec::new();
    match &report.verdict {
        Verdict::Holds if !found.broken.is_empty() => {
            differences.push(format!("holds, but {:?} break", found.broken));
        }
        Verdict::Violated(violation) => {
            if !found.broken.contains_key(violation.broken.property()) {
                differences.push(format!("{} is violated, but {:?} break", violation.broken, found.broken));
            }
            let mut replay = Replay::new(model);
            let refused = violation.trace.steps.iter().find_map(|step| replay.follow(step).err());
            if refused.is_some() || replay.broken().as_ref() != Some(&violation.broken) {
                differences.push(format!("replay: {refused:?}, {:?}", replay.broken()));
            }
        }
        Verdict::Holds => {}
        other => differences.push(format!("the verdict is {}", other.word())),
    }
    let counted = report.components().and_then(|interfaces| interfaces.global_traces);
    if let (Verdict::Holds, Runs::Count(runs)) = (&report.verdict, runs)
        && counted != Some(runs)
    {
        differences.push(format!("{counted:?} runs, not {runs}"));
    }
    differences
}

/// What must not depend on the number of threads: everything but the time it takes.
fn figures(report: &Report) -> String {
    let Coverage { states, transitions, terminal_states, local_steps, handler_calls, .. } = report.coverage;
    let counts = (states, transitions, terminal_states, local_steps, handler_calls);
    format!("{:?}, {:?}, {counts:?}", report.verdict, report.components())
}

/// What came of one protocol.
struct Compared {
    violated: bool,
    runs: bool,
    reduced: bool,
    /// In how many groupings it was compared.
    groups: usize,
    differences: Vec<String>,
}

fn compare(seed: u64, channel: Channel) -> Option<Compared> {
    let protocol = RandomProtocol::new(seed);
    if protocol.cyclic() {
        return None;
    }
    let mut compared =
        Compared { violated: false, runs: false, reduced: false, groups: 0, differences: Vec::new() };
    let world = World::default().channel(channel);
    let model =
        |protocol: &RandomProtocol| protocol.model().in_world(world.clone()).expect("a world that fits");
    let bare = protocol.without_properties();
    let runs = maximal_runs::count(&model(&bare), RUN_STATES_MAX);
    if runs == Runs::TooMany {
        return None;
    }
    for protocol in [protocol, bare] {
        let model = model(&protocol);
        let found = search(&model, STATES_MAX)?;
        // Systems take longer.
        let count = if seed.is_multiple_of(2) { usize::MAX } else { 4 };
        for components in partitions(&model).into_iter().take(count) {
            let engine = Components::default().partition(components.clone());
            let search = Search::default().states_max(POINTS_MAX);
            let report = engine.run(&model, &search.clone().threads(3), &mut ());
            let alone = engine.run(&model, &search.threads(1), &mut ());
            if figures(&alone) != figures(&report) {
                compared.differences.push(format!("{:?} on one thread", figures(&alone)));
            }
            if components != Partition::processes(&model) && report.verdict.word() == "unknown" {
                // A group distinguishes all runs that led to it, which may be too many.
                continue;
            }
            compared.groups += usize::from(components != Partition::processes(&model));
            compared.violated |= report.verdict.violation().is_some();
            let holds = report.verdict.word() == "holds";
            let interfaces = report.components().expect("it explores components");
            compared.runs |= holds && runs != Runs::Panics;
            compared.reduced |= interfaces.global_traces > Some(interfaces.global_skeletons.into());
            let differ = differences(&model, &found, runs, &report);
            compared.differences.extend(differ.into_iter().map(|line| format!("{components:?}: {line}")));
        }
    }
    Some(compared)
}

#[track_caller]
#[expect(clippy::print_stdout, reason = "a test may say what it has seen")]
fn compare_all(channel: Channel, family: &Family, wanted: usize) {
    let results = for_each_seed(family.seeds(), |seed| compare(seed, channel));
    let compared: Vec<(u64, &Compared)> =
        results.iter().filter_map(|(seed, compared)| Some((*seed, compared.as_ref()?))).collect();
    let with = |has: fn(&Compared) -> bool| compared.iter().filter(|(_, compared)| has(compared)).count();
    let (violated, runs, reduced) = (with(|c| c.violated), with(|c| c.runs), with(|c| c.reduced));
    let groups: usize = compared.iter().map(|(_, compared)| compared.groups).sum();
    println!(
        "{} protocols, {groups} groupings, {violated} violated, {runs} with runs counted, {reduced} reduced",
        compared.len()
    );
    let different: Vec<String> = compared
        .iter()
        .filter(|(_, compared)| !compared.differences.is_empty())
        .map(|(seed, compared)| format!("seed {seed}: {}", compared.differences[0]))
        .collect();
    let first: Vec<&str> = different.iter().take(8).map(String::as_str).collect();
    assert!(different.is_empty(), "{} protocols differ:\n{}", different.len(), first.join("\n"));
    if are_seeds_named() {
        return;
    }
    let wanted = family.least(wanted);
    assert!(compared.len() >= wanted, "only {} protocols were compared", compared.len());
    assert!(groups > 2 * wanted, "only {groups} groupings were compared");
    assert!(violated > wanted / 10 && runs > wanted / 2 && reduced > wanted / 20, "they test too little");
}

#[test]
fn random_protocols() {
    compare_all(Channel::Bag, &COMPONENTS, 500);
}

#[test]
fn random_protocols_in_order() {
    compare_all(Channel::Fifo, &COMPONENTS_IN_ORDER, 200);
}

/// The comparison can fail: without one of the parts that make it right, the engine is noticed.
#[test]
fn mutants_are_noticed() {
    for (mutant, seeds, wanted) in [
        (Mutant::NoPauses, 0..600, 3),
        (Mutant::NoReceptions, 0..600, 3),
        (Mutant::NoPrefixes, 0..600, 3),
        (Mutant::NoRaces, 0..600, 3),
        (Mutant::NoRestrictedPauses, 250..260, 1),
    ] {
        let tuning = Tuning { mutants: mutant.into(), ..Tuning::default() };
        let differs = |seed: &u64| {
            let model = RandomProtocol::new(*seed).without_properties().model();
            // Only in a group there is more than one to come late, and only a system inside a component is restricted.
            let components = match mutant {
                Mutant::NoRaces => Some(partitions(&model).remove(1)),
                Mutant::NoRestrictedPauses => partitions(&model).pop(),
                _ => None,
            };
            let engine = components.into_iter().fold(Components::default(), Components::partition);
            let search = Search::default().states_max(POINTS_MAX).tuning(tuning);
            let runs = maximal_runs::count(&model, 1_000);
            let report = |runs| (runs, engine.run(&model, &search, &mut ()).components());
            matches!(runs, Runs::Count(runs) if !RandomProtocol::new(*seed).cyclic()
                && matches!(report(runs), (runs, Some(counted)) if counted.global_traces != Some(runs)))
        };
        let noticed: Vec<u64> = seeds.filter(differs).take(wanted).collect();
        assert_eq!(noticed.len(), wanted, "{mutant:?} is noticed by seeds {noticed:?} only");
        COMPONENTS.catches(mutant, &noticed);
    }
}

/// Others see of a system what they see of the group of its processes.
#[test]
fn a_system_is_seen_as_its_group_is() {
    let seen = |seed| {
        let protocol = RandomProtocol::new(seed).without_properties();
        let model = protocol.model();
        let ids: Vec<ProcessId> = model.ids().collect();
        if protocol.cyclic() || ids.len() < 4 {
            return None;
        }
        let (one, other) = ids.split_at(ids.len() / 2);
        let each = |ids: &[ProcessId]| ids.iter().map(|id| Part::Processes(vec![*id])).collect();
        let groups = [one, other].map(|ids| Part::Processes(ids.to_vec()));
        let systems = [one, other].map(|ids| Part::System(each(ids)));
        let seen = [groups, systems].map(|parts| {
            let partition = Partition::parts(&model, &parts).expect("all are there");
            let engine = Components::default().partition(partition);
            let report = engine.run(&model, &Search::default().states_max(POINTS_MAX / 4), &mut ());
            let interfaces = report.components().filter(|_| report.verdict.word() == "holds");
            interfaces.map(|seen| (seen.global_skeletons, seen.global_traces, seen.local_traces))
        });
        let [Some(groups), Some(systems)] = seen else { return None };
        Some((groups, systems))
    };
    let seen: Vec<_> =
        for_each_seed(SYSTEMS_AS_GROUPS.seeds(), seen).into_iter().filter_map(|(_, seen)| seen).collect();
    let mut fewer = 0;
    for (groups, systems) in &seen {
        assert_eq!((groups.0, groups.1), (systems.0, systems.1));
        fewer += usize::from(systems.2 < groups.2);
    }
    let least = |of| SYSTEMS_AS_GROUPS.least(of);
    assert!(
        seen.len() > least(60) && fewer > least(20),
        "{} were compared, {fewer} have fewer local traces",
        seen.len()
    );
}

/// Reproduces one protocol of the above: the one that `QUORATE_SEED` names.
#[test]
fn one_seed_in_detail() {
    let seed = one_seed().unwrap_or(1);
    println!("{:#?}", RandomProtocol::new(seed));
    for channel in [Channel::Bag, Channel::Fifo] {
        let differences = compare(seed, channel).map_or(Vec::new(), |compared| compared.differences);
        assert!(differences.is_empty(), "seed {seed}, {channel}:\n{}", differences.join("\n"));
    }
}

/// Sends another number each time it is asked.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Moody(bool);

const MOODY: RoleName = RoleName::new("moody");
static MOOD: AtomicU64 = AtomicU64::new(0);

impl Role for Moody {
    type Message = u64;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("send").when(|moody| !moody.0).run(|moody, out| {
            moody.0 = true;
            out.send_all(MOODY, MOOD.fetch_add(1, Ordering::Relaxed));
        });
    }
}

/// Answers are remembered, so nothing follows from those of a handler that changes its mind.
#[test]
fn handlers_that_are_no_functions_are_noticed() {
    let model = System::new().role(MOODY, 2, |_| Moody(false)).build().unwrap();
    let report = Components::default().run(&model, &Search::default(), &mut ());
    let verdict = format!("{:?}", report.verdict);
    assert!(
        matches!(report.verdict, Verdict::Unknown(Stopped::Impure(_))) && verdict.contains("'send'"),
        "{verdict}"
    );
}

/// Says hello once, and cannot bear to hear anything before.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Shy {
    said: bool,
    talks: bool,
}

const SHY: RoleName = RoleName::new("shy");
const LOUD: RoleName = RoleName::new("loud");

impl Role for Shy {
    type Message = ();

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("hello").when(|shy| shy.talks && !shy.said).run(|shy, out| {
            shy.said = true;
            out.send_all(LOUD, ());
        });
        t.message("hear").of(|shy, ()| shy.talks && !shy.said).run(|_, _, _| panic!("too loud"));
    }
}

/// Sends to everybody once.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Loud(bool);

impl Role for Loud {
    type Message = ();

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("shout").when(|loud| !loud.0).run(|loud, out| {
            loud.0 = true;
            out.send_all(SHY, ());
        });
    }
}

/// A group that can only panic where it is cut back to has nothing to be seen there.
#[test]
fn a_group_panics_where_it_is_cut_back_to() {
    let system = System::new()
        .role(SHY, 2, |at| Shy { said: false, talks: at == 0 })
        .role(LOUD, 1, |_| Loud(false))
        .invariant("quiet", observe(|shy: &Shy| shy.said), |_| true);
    let model = system.build().unwrap();
    let ids: Vec<ProcessId> = model.ids().collect();
    let groups = Partition::groups(&model, &[ids[..2].to_vec(), ids[2..].to_vec()]);
    let engine = Components::default().partition(groups.expect("all are there"));
    let report = engine.run(&model, &Search::default(), &mut ());
    assert!(matches!(report.verdict, Verdict::Violated(_)), "{:?}", report.verdict);
}

/// A restart is a step that nobody sees.
#[test]
fn restarts_are_counted_too() {
    for restarts in [1, 2] {
        let world = World::default().restarts(vec![("node".to_string(), restarts)]);
        let model = zoo("pam", &[("nodes", "2"), ("ballots", "1")]).in_world(world).unwrap();
        let report = Components::default().run(&model, &Search::default(), &mut ());
        report.assert_holds_without_faults();
        let counted = report.components().unwrap().global_traces.map(Runs::Count);
        assert_eq!(counted, Some(maximal_runs::count(&model, 2_000_000)), "{restarts} restarts");
    }
}

/// The zoo, as far as it is small and asks nothing of histories.
#[test]
fn the_zoo_has_as_many_runs_as_the_enumerator_finds() {
    for (name, given) in [
        ("accumulator", vec![]),
        ("paxos", vec![("proposers", "1")]),
        ("paxos", vec![("stale", "keep")]),
        ("dining-philosophers", vec![("philosophers", "2")]),
        ("dining-philosophers", vec![]),
        ("two-phase-commit", vec![]),
        ("byzantine-generals", vec![]),
        ("pam", vec![("nodes", "2")]),
        ("pam", vec![("nodes", "2"), ("ledger", "in-steps")]),
        ("tree", vec![]),
        ("chord", vec![("nodes", "2")]),
        ("pastry", vec![("nodes", "2")]),
    ] {
        let model = zoo(name, &given);
        let report = Components::default().run(&model, &Search::default(), &mut ());
        report.assert_holds_without_faults();
        let counted = report.components().unwrap().global_traces.map(Runs::Count);
        assert_eq!(counted, Some(maximal_runs::count(&model, 2_000_000)), "{name} {given:?}");
    }
}

/// Two components, each of half of the philosophers with the forks on their left.
#[test]
fn philosophers_in_two_components_have_as_many_runs() {
    for philosophers in [2, 4] {
        let model = zoo("dining-philosophers", &[("philosophers", &philosophers.to_string())]);
        let ids: Vec<ProcessId> = model.ids().collect();
        let (sitting, forks) = ids.split_at(philosophers);
        let half = philosophers / 2;
        let together = |seats: std::ops::Range<usize>| [&sitting[seats.clone()], &forks[seats]].concat();
        let groups = [together(0..half), together(half..philosophers)];
        let components = Partition::groups(&model, &groups).expect("all are there");
        let engine = Components::default().partition(components);
        let report = engine.run(&model, &Search::default(), &mut ());
        report.assert_holds_without_faults();
        let counted = report.components().unwrap().global_traces.map(Runs::Count);
        assert_eq!(counted, Some(maximal_runs::count(&model, 2_000_000)), "{philosophers} philosophers");
    }
}
