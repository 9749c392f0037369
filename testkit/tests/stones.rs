//! Stepping stones: a search in stages says nothing wrong, whatever its limits, and without limits what the naive
//! checker says; its violations happen from the beginning. And components that start in the middle of a run reach what
//! a search of global states reaches from there.

use std::panic::{AssertUnwindSafe, catch_unwind};

use quorate::engine::{BoundedDepth, Components, Engine, Explore, Local, Search, Staged};
use quorate::model::TraceStep;
use quorate::model::{Model, Value};
use quorate::property::Property;
use quorate::replay::Replay;
use quorate::report::{Report, Verdict};
use quorate::testing::{Mutant, Tuning};
use quorate::world::{Channel, World};
use quorate_testkit::corpus::{STATES_MAX, for_each_seed};
use quorate_testkit::naive::{Findings, search};
use quorate_testkit::random::RandomProtocol;
use quorate_testkit::tier::{Family, MIDDLE, MIDDLE_IN_ORDER, STONES, STONES_IN_ORDER};

/// Components with more points are too large.
const POINTS_MAX: u64 = 2_000;

fn model(seed: u64, channel: Channel) -> Model {
    in_world(&RandomProtocol::new(seed), channel)
}

fn in_world(protocol: &RandomProtocol, channel: Channel) -> Model {
    let world = World::default().channel(channel);
    protocol.model().in_world(world).expect("a world that fits")
}

fn in_stages<E: Engine>(engine: E, stones: usize, stone_states: Option<u64>) -> Staged<E> {
    let staged = Staged::new(engine, stones);
    stone_states.into_iter().fold(staged, Staged::stone_states)
}

fn limited() -> Search {
    Search::default().threads(1).states_max(20 * POINTS_MAX)
}

/// What is wrong with a run that is said to break a property.
fn wrong_story(model: &Model, steps: &[TraceStep], property: &str) -> Option<String> {
    let mut replay = Replay::new(model);
    if let Some(error) = steps.iter().find_map(|step| replay.follow(step).err()) {
        return Some(error.to_string());
    }
    let broken = replay.broken();
    let is_same = broken.as_ref().is_some_and(|broken| broken.property() == property);
    (!is_same).then(|| format!("it breaks {broken:?}, not {property}"))
}

/// In what a report differs from what the naive checker found. A limit may leave a violation out.
fn difference(model: &Model, found: &Findings, report: &Report, limited: bool) -> Option<String> {
    match &report.verdict {
        Verdict::Holds => (!found.broken.is_empty()).then(|| format!("holds, but {:?} break", found.broken)),
        Verdict::Violated(violation) => {
            let property = violation.broken.property();
            if found.broken.contains_key(property) {
                return wrong_story(model, &violation.trace.steps, property);
            }
            Some(format!("{property} is violated, but {:?} break", found.broken))
        }
        Verdict::Unknown(_) if limited => None,
        other => Some(format!("the verdict is {other:?}")),
    }
}

#[derive(Default)]
struct Compared {
    differences: Vec<String>,
    /// Violations that were found over so many stones, at least.
    over_one: usize,
    over_two: usize,
    holds: usize,
    unknown: usize,
}

fn compare(seed: u64, channel: Channel) -> Option<Compared> {
    let model = model(seed, channel);
    let found = search(&model, STATES_MAX)?;
    let mut compared = Compared::default();
    let engines: [fn() -> Box<dyn Engine>; 4] = [
        || Box::new(Explore::default()),
        || Box::new(Local::default()),
        || Box::new(BoundedDepth::default()),
        || Box::new(Components::default()),
    ];
    for engine in engines {
        let name = engine().name();
        let endless = name == "components" && RandomProtocol::new(seed).cyclic();
        for (per_stage, stage_states) in [(1, Some(3)), (2, Some(8)), (4, Some(30)), (2, None)] {
            if endless && stage_states.is_none() {
                continue;
            }
            let report = in_stages(engine(), per_stage, stage_states).search(&model, &limited(), &mut ());
            let stages = report.stages().expect("it is searched in stages");
            let passed = stages.passed.unwrap_or(0);
            compared.over_one += usize::from(passed >= 1);
            compared.over_two += usize::from(passed >= 2);
            compared.holds += usize::from(report.verdict.word() == "holds");
            compared.unknown += usize::from(report.verdict.word() == "unknown");
            let limited = stage_states.is_some() || report.coverage.states > POINTS_MAX;
            let differs = difference(&model, &found, &report, limited);
            let differs = differs.or_else(|| {
                let more = report.verdict.word() == "holds" && stages.stages > 1;
                more.then(|| format!("holds after {stages:?}"))
            });
            let line = |line| format!("seed {seed}, {name}, {per_stage}, {stage_states:?}: {line}");
            compared.differences.extend(differs.map(line));
        }
    }
    Some(compared)
}

#[track_caller]
#[expect(clippy::print_stdout, reason = "a test may say what it has seen")]
fn compare_all(channel: Channel, family: &Family) {
    let compared: Vec<Compared> = for_each_seed(family.seeds(), |seed| compare(seed, channel))
        .into_iter()
        .filter_map(|(_, one)| one)
        .collect();
    let sum = |of: fn(&Compared) -> usize| compared.iter().map(of).sum::<usize>();
    let (one, two) = (sum(|one| one.over_one), sum(|one| one.over_two));
    let (holds, unknown) = (sum(|one| one.holds), sum(|one| one.unknown));
    println!(
        "{} protocols, {one} violations over a stone, {two} over two, {holds} hold, {unknown} unknown",
        compared.len()
    );
    let different: Vec<&String> = compared.iter().flat_map(|one| &one.differences).collect();
    let first: Vec<&str> = different.iter().take(8).map(|one| one.as_str()).collect();
    assert!(different.is_empty(), "{} differ:\n{}", different.len(), first.join("\n"));
    let least = |of| family.least(of);
    assert!(one >= least(51) && two >= least(11), "they test too little");
    assert!(holds >= least(51) && unknown >= least(51), "they test too little");
}

#[test]
fn random_protocols() {
    compare_all(Channel::Bag, &STONES);
}

#[test]
fn random_protocols_in_order() {
    compare_all(Channel::Fifo, &STONES_IN_ORDER);
}

/// A stone's story without its first part is noticed: by replay, before it is reported.
#[test]
fn a_story_without_its_first_part_is_noticed() {
    let noticed = |seed: &u64| {
        let model = model(*seed, Channel::Bag);
        let engine = in_stages(Explore::default(), 2, Some(5));
        let right = engine.search(&model, &limited(), &mut ());
        if right.stages().and_then(|one| one.passed).is_none_or(|stones| stones == 0) {
            return false;
        }
        let tuning = Tuning { mutants: Mutant::NoFirstPart.into(), ..Tuning::default() };
        let wrong = limited().tuning(tuning);
        let found = catch_unwind(AssertUnwindSafe(|| engine.search(&model, &wrong, &mut ())));
        found.map_or(true, |report| {
            let violation = report.verdict.violation().expect("it is found all the same");
            wrong_story(&model, &violation.trace.steps, violation.broken.property()).is_some()
        })
    };
    let noticed: Vec<u64> = (0..600).filter(noticed).take(3).collect();
    assert_eq!(noticed.len(), 3, "it is noticed by seeds {noticed:?} only");
    STONES.catches(Mutant::NoFirstPart, &noticed);
}

/// The way to a state that has these local states.
fn way_to(model: &Model, locals: &[Value]) -> Option<Vec<TraceStep>> {
    let asking = model.clone().asking(never(locals));
    let report = Explore::default().run(&asking, &Search::default().threads(1), &mut ());
    let steps = &report.verdict.violation()?.trace.steps;
    steps.iter().all(|step| step.panic.is_none()).then(|| steps.clone())
}

fn never(locals: &[Value]) -> Property {
    Property::never((0..).map(quorate::ProcessId::new).zip(locals.iter().cloned()).collect())
}

/// In what components that start in the middle of a run differ from global states, and how many states were compared.
fn differs_from_the_middle(seed: u64, channel: Channel) -> Option<(usize, Vec<String>)> {
    let model = model(seed, channel);
    let found = search(&model, 1_000)?;
    let mut all: Vec<Vec<Value>> = found.system_states.iter().cloned().collect();
    all.sort_by_cached_key(|locals| locals.iter().map(Value::content_hash).collect::<Vec<_>>());
    let way = way_to(&model, &all[all.len() / 2])?;
    let start = model.clone().after(&way).expect("steps that were taken");
    let bare = in_world(&RandomProtocol::new(seed).without_properties(), channel);
    let bare = bare.after(&way).expect("the same steps");
    let bare = Explore::default().with_census().run(&bare, &Search::default().threads(1), &mut ());
    let limited = Search::default().threads(1).states_max(POINTS_MAX);
    let mut differences = Vec::new();
    let (global, components) = (
        Explore::default().run(&start, &Search::default().threads(1), &mut ()),
        Components::default().run(&start, &limited, &mut ()),
    );
    let (global, components) = (global.verdict.word(), components.verdict.word());
    if components != "unknown" && components != global {
        differences.push(format!("{components}, but globally {global}"));
    }
    let mut compared = 0;
    if let Some(reached) = bare.census().filter(|_| bare.verdict.word() == "holds") {
        for locals in all.iter().step_by(1 + all.len() / 12) {
            let can = reached.system_states.contains(locals);
            let asking = start.clone().asking(never(locals));
            let report = Components::default().run(&asking, &limited, &mut ());
            match report.verdict.word() {
                "unknown" => continue,
                word if (word == "violated") == can => compared += 1,
                word => differences.push(format!("{locals:?}: {word}, but reached: {can}")),
            }
            if let Some(violation) = report.verdict.violation() {
                let asking = model.clone().asking(never(locals));
                let wrong = wrong_story(&asking, &violation.trace.steps, violation.broken.property());
                differences.extend(wrong);
            }
        }
    }
    Some((compared, differences))
}

#[test]
fn components_that_start_in_the_middle_reach_what_global_states_reach() {
    for (channel, family) in [(Channel::Bag, MIDDLE), (Channel::Fifo, MIDDLE_IN_ORDER)] {
        let results = for_each_seed(family.seeds(), |seed| differs_from_the_middle(seed, channel));
        let differing = results.iter().filter_map(|(seed, one)| {
            let (_, differences) = one.as_ref()?;
            Some(format!("seed {seed}: {}", differences.first()?))
        });
        let differing: Vec<String> = differing.collect();
        let first = differing.iter().take(8).map(String::as_str).collect::<Vec<_>>().join("\n");
        assert!(differing.is_empty(), "{channel}: {} differ:\n{first}", differing.len());
        let compared: usize = results.iter().filter_map(|(_, one)| Some(one.as_ref()?.0)).sum();
        assert!(compared >= family.least(501), "{channel}: only {compared} states were compared");
    }
}
