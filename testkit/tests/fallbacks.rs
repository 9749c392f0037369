//! What a search gives up on the way changes no answer, and is in the report: each way out at a limit so small that small
//! protocols take it, compared with the naive checker and with the search that does not have to.
#![expect(clippy::print_stdout, reason = "what was compared belongs to a test's output")]

use quorate::engine::{Engine, Explore, Local, Search, Staged, strongest_reductions};
use quorate::model::{Model, Process};
use quorate::reduce::{Reduction, Reductions};
use quorate::report::{Fallback, Verdict};
use quorate::testing::Tuning;
use quorate::{Report, Role, RoleName, System, Transitions, observe};
use quorate_testkit::compare::explored;
use quorate_testkit::corpus::for_each_seed;
use quorate_testkit::naive::search;
use quorate_testkit::random::RandomProtocol;
use quorate_testkit::reductions::{combinations, difference, search_with};
use quorate_testkit::tier::FALLBACKS;
use quorate_testkit::twins::TwinProtocol;
use quorate_testkit::worlds::random_world;

/// Protocols with more states are skipped.
const STATES_MAX: usize = 600;

/// Protocols of a seed: plain ones, in worlds, with interchangeable processes; with and without their properties.
fn protocols(seed: u64) -> Vec<Model> {
    let (plain, twins) = (RandomProtocol::new(seed), TwinProtocol::new(seed));
    let worldly = RandomProtocol::for_worlds(seed);
    let world = random_world(seed, &worldly.model());
    let worldly = worldly.model().in_world(world).ok();
    let bare = [plain.model(), twins.model(), plain.without_properties().model()];
    bare.into_iter().chain([twins.without_properties().model()]).chain(worldly).collect()
}

/// Compares searches with these sizes with the naive checker, for every combination of reductions that has these, and
/// counts those in which something was given up.
#[track_caller]
fn agrees(needed: &[Reduction], tuned: impl Fn(Tuning, u64) -> Tuning + Sync, is_it: fn(&Fallback) -> bool) {
    let results = for_each_seed(FALLBACKS.seeds(), |seed| {
        let mut taken = 0;
        for model in protocols(seed) {
            let Some(found) = search(&model, STATES_MAX) else { continue };
            for which in combinations(&model) {
                if !needed.iter().all(|reduction| which.contains(reduction)) {
                    continue;
                }
                let (engine, right) = search_with(&which, &model, seed);
                let tuning = tuned(right.current_tuning(), seed);
                let small = right.clone().tuning(tuning);
                let differ = difference(&model, &found, &engine, &small);
                assert_eq!(differ, None, "seed {seed}, {which:?}");
                let [with, without] =
                    [&small, &right].map(|search| explored(&model, &engine, search).expect("no panic"));
                assert_eq!(with.verdict.word(), without.verdict.word(), "seed {seed}, {which:?}");
                taken += usize::from(with.fallbacks.iter().any(is_it));
            }
        }
        taken
    });
    let taken: usize = results.iter().map(|(_, taken)| taken).sum();
    println!("{taken} searches of {} protocols gave something up", results.len());
    assert!(taken >= FALLBACKS.least(300), "only {taken} searches gave it up");
}

fn few_beliefs(tuning: Tuning, seed: u64) -> Tuning {
    let few = usize::try_from(seed % 4).unwrap_or_default();
    Tuning { beliefs_max: 1 + 2 * few, members_max: 1 + usize::from(seed.is_multiple_of(3)), ..tuning }
}

#[test]
fn beliefs_of_some_processes() {
    agrees(&[Reduction::Beliefs], few_beliefs, |fallback| matches!(fallback, Fallback::Beliefs { .. }));
}

/// Where processes are exchanged, their states are of one kind: all have beliefs, or none has.
#[test]
fn twins_give_beliefs_up_together() {
    let results = for_each_seed(FALLBACKS.seeds(), |seed| {
        let model = TwinProtocol::new(seed).model();
        search(&model, STATES_MAX)?;
        let which = [Reduction::Beliefs, Reduction::Symmetry];
        let (engine, right) = search_with(&which, &model, seed);
        let small = right.clone().tuning(few_beliefs(right.current_tuning(), seed));
        let report = explored(&model, &engine, &small).expect("no panic");
        // Without symmetry in the end there is nobody to be exchanged with.
        let in_use = &report.explored().expect("it explores").reductions;
        let gave_up = |process: &&Process| {
            let is_it = |fallback: &Fallback| match fallback {
                Fallback::Beliefs { process: name, .. } => name == process.name(),
                _ => false,
            };
            report.fallbacks.iter().any(is_it)
        };
        let twins: Vec<&Process> =
            model.symmetry().groups().iter().flatten().map(|id| model.process(*id)).collect();
        let count = twins.iter().filter(|process| gave_up(process)).count();
        let together = count == 0 || count == twins.len() || !in_use.contains(&Reduction::Symmetry);
        assert!(together, "seed {seed}: {count} of {} gave up", twins.len());
        Some(count > 0)
    });
    let taken = results.iter().filter(|(_, taken)| *taken == Some(true)).count();
    assert!(taken >= FALLBACKS.least(50), "only {taken} of {}", results.len());
}

#[test]
fn stubborn_sets_beside_beliefs() {
    let none_stable = |tuning, _| Tuning { stable_max: 0, ..tuning };
    let is_it = |fallback: &Fallback| *fallback == Fallback::StubbornWithBeliefs;
    agrees(&[Reduction::Stubborn, Reduction::Beliefs], none_stable, is_it);
}

fn run(engine: &dyn Engine, model: &Model, tuning: Tuning) -> Report {
    let reductions = strongest_reductions(engine, model).0.kept();
    engine.run(model, &Search::default().threads(1).reductions(reductions).tuning(tuning), &mut ())
}

#[test]
fn combinations_of_local_states() {
    let results = for_each_seed(FALLBACKS.seeds(), |seed| {
        let model = RandomProtocol::new(seed).model();
        let found = search(&model, STATES_MAX)?;
        let few = Tuning { combinations_max: 1, closure_max: 400, ..Tuning::DEFAULT };
        let report = run(&Local::default(), &model, few);
        let expected = if found.broken.is_empty() { "holds" } else { "violated" };
        assert_eq!(report.verdict.word(), expected, "seed {seed}");
        let reservation = report.local().and_then(|local| local.reservation.clone()).unwrap_or_default();
        Some(reservation.contains("too many combinations"))
    });
    let taken = results.iter().filter(|(_, taken)| *taken == Some(true)).count();
    println!("{taken} searches had too many combinations");
    assert!(taken >= FALLBACKS.least(30), "only {taken}");
}

/// Local states, and global ones beside them from the first step on: whoever is through first is right.
#[test]
fn local_states_that_global_ones_overtake() {
    let results = for_each_seed(FALLBACKS.seeds(), |seed| {
        let model = RandomProtocol::new(seed).model();
        let found = search(&model, STATES_MAX)?;
        let tuning = Tuning { local_first: 0, closure_max: 400, ..Tuning::DEFAULT };
        let reductions = strongest_reductions(&Local::default(), &model).0;
        let dropped = Search::default().reductions(reductions.clone()).tuning(tuning);
        let mut overtaken = false;
        for searched in [dropped.clone(), dropped.reductions(reductions.kept())] {
            let on = |threads| Local::default().run(&model, &searched.clone().threads(threads), &mut ());
            let [report, again] = [1, 2].map(on);
            let expected = if found.broken.is_empty() { "holds" } else { "violated" };
            assert_eq!(report.verdict.word(), expected, "seed {seed}");
            assert_eq!(
                (report.coverage, &report.fallbacks),
                (again.coverage, &again.fallbacks),
                "seed {seed}"
            );
            let reservation = again.local().and_then(|local| local.reservation.clone());
            overtaken |= reservation.is_some_and(|why| why.contains("at the same time"));
        }
        Some(overtaken)
    });
    let asked = results.iter().filter(|(_, overtaken)| overtaken.is_some()).count();
    let overtaken = results.iter().filter(|(_, overtaken)| *overtaken == Some(true)).count();
    println!("{overtaken} of {asked} searches were overtaken");
    assert!(overtaken >= FALLBACKS.least(30), "only {overtaken} of {asked}");
    assert!(asked - overtaken >= FALLBACKS.least(30), "only {overtaken} of {asked} were");
}

#[test]
fn inboxes_with_more_messages_than_bits() {
    let few_bits =
        |tuning, seed| Tuning { inbox_bits_max: u32::try_from(seed % 5).unwrap_or_default(), ..tuning };
    agrees(&[], few_bits, |fallback| matches!(fallback, Fallback::Inboxes { .. }));
}

/// A search whose reductions may be dropped, with one without them beside it from almost the first transition on.
#[test]
fn reductions_that_the_search_without_them_overtakes() {
    let results = for_each_seed(FALLBACKS.seeds(), |seed| {
        let (mut raced, mut overtaken) = (0, 0);
        for model in protocols(seed) {
            let Some(found) = search(&model, STATES_MAX) else { continue };
            for which in combinations(&model) {
                let checked = Reductions::checked(&which, &model).expect("an allowed combination");
                let reductions = Reductions { may_be_dropped: true, ..checked };
                let plain_first = [0, 20, 200][usize::try_from(seed % 3).unwrap_or_default()];
                let tuning =
                    Tuning { plain_first, race_after: 1 + seed % 7, first_states: 30, ..Tuning::DEFAULT };
                let searched = Search::default().threads(1).reductions(reductions).tuning(tuning);
                let differ = difference(&model, &found, &Explore::default(), &searched);
                assert_eq!(differ, None, "seed {seed}, {which:?}");
                let on = |threads| explored(&model, &Explore::default(), &searched.clone().threads(threads));
                let [report, again] = [1, 2].map(|threads| on(threads).expect("no panic"));
                let alike = (report.coverage, &report.fallbacks) == (again.coverage, &again.fallbacks);
                assert!(alike, "seed {seed}, {which:?}: {:?}, {:?}", report.coverage, again.coverage);
                let dropped =
                    report.fallbacks.iter().any(|fallback| matches!(fallback, Fallback::Overtaken { .. }));
                let in_use = &report.explored().expect("it explores").reductions;
                assert!(!dropped || in_use.is_empty(), "seed {seed}, {which:?}: {in_use:?}");
                (raced, overtaken) = (raced + 1, overtaken + usize::from(dropped));
            }
        }
        (raced, overtaken)
    });
    let (raced, overtaken) =
        results.iter().fold((0, 0), |sum, (_, counts)| (sum.0 + counts.0, sum.1 + counts.1));
    println!("{overtaken} of {raced} searches were overtaken");
    assert!(overtaken >= FALLBACKS.least(300), "only {overtaken} of {raced}");
    assert!(raced - overtaken >= FALLBACKS.least(300), "only {overtaken} of {raced} were overtaken");
}

#[test]
fn the_search_for_a_shorter_counterexample() {
    let results = for_each_seed(FALLBACKS.seeds(), |seed| {
        let model = RandomProtocol::new(seed).model();
        let found = search(&model, STATES_MAX)?;
        if found.broken.is_empty() {
            return None;
        }
        let reports = [1, Tuning::DEFAULT.explain_states].map(|states| {
            run(&Explore::default(), &model, Tuning { explain_states: states, ..Tuning::DEFAULT })
        });
        let [long, short] = reports.each_ref().map(|report| report.assert_violated().trace.steps.len());
        let given_up =
            reports.each_ref().map(|report| report.fallbacks.contains(&Fallback::Shortest { states: 1 }));
        assert!(long >= short && !given_up[1], "seed {seed}");
        assert!(given_up[0] || long == short, "seed {seed}: {long} steps, not {short}, without a word");
        Some(given_up[0])
    });
    let taken = results.iter().filter(|(_, taken)| *taken == Some(true)).count();
    assert!(taken >= FALLBACKS.least(30), "only {taken}");
}

const CLOCKS: RoleName = RoleName::new("clock");

/// Ticks for ever, modulo four.
#[derive(Clone, PartialEq, Eq, Hash, Debug, quorate::Rename)]
struct Clock(u8);

impl Role for Clock {
    type Message = u8;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("tick").run(|clock, out| {
            clock.0 = (clock.0 + 1) % 4;
            out.emit(clock.0);
        });
    }
}

fn clocks() -> System<u8> {
    System::new()
        .role(CLOCKS, 3, |_| Clock(0))
        .symmetric(CLOCKS)
        .renames::<Clock>()
        .invariant("not all late", observe(|clock: &Clock| clock.0), |clocks| {
            clocks.iter().map(|clock| usize::from(*clock)).sum::<usize>() < 100
        })
        .stepping_stone("late", observe(|clock: &Clock| clock.0), |clocks| clocks.contains(&3))
}

#[test]
fn symmetry_where_processes_stay_or_start_in_the_middle() {
    let model = clocks().build().unwrap();
    // So few combinations that global states are searched, within the local states of so many steps.
    let few = Tuning { combinations_max: 1, ..Tuning::DEFAULT };
    let within = run(&Local::default().own_steps_max(2), &model, few);
    assert_eq!(within.fallbacks, [Fallback::SymmetryWithin]);
    assert!(matches!(within.verdict, Verdict::HoldsWithin(_)), "{:?}", within.verdict);
    let staged = Staged::new(Explore::default(), 2).stone_states(3);
    let symmetric = Reductions::checked(&[Reduction::Symmetry], &model).unwrap();
    let report = staged.run(&model, &Search::default().threads(1).reductions(symmetric), &mut ());
    assert_eq!(report.fallbacks, [Fallback::SymmetryInStages]);
    let plain = run(&Explore::default(), &model, Tuning::DEFAULT);
    assert_eq!((plain.verdict.word(), plain.fallbacks.as_slice()), ("holds", &[][..]));
}

#[test]
fn sleep_sets_are_in_the_report() {
    let model = RandomProtocol::new(1).model();
    let slept = |reductions: &[Reduction]| {
        let reductions = Reductions::checked(reductions, &model).unwrap();
        let search = Search::default().threads(1).reductions(reductions);
        let report = Explore::default().run(&model, &search, &mut ());
        report.explored().unwrap().sleep_sets
    };
    assert_eq!((slept(&[]), slept(&[Reduction::Beliefs])), (true, false));
}
