//! No reduction changes what is found: each alone, and every combination that is allowed, against the naive checker, on
//! random protocols, on protocols with interchangeable processes, and in all worlds that reductions are allowed in.
//!
//! A failure names its seed; `QUORATE_SEED=17` looks at one protocol, `QUORATE_SEEDS=50000..60000` at others than
//! usual.

#![expect(clippy::print_stdout, reason = "what was compared belongs to a test's output")]

use std::collections::BTreeSet;
use std::fmt::Debug;

use quorate::model::Model;
use quorate::reduce::Reduction;
use quorate::testing::{Mutant, Tuning};
use quorate_testkit::corpus::one_seed;
use quorate_testkit::naive::{Findings, NO_PANIC, search};
use quorate_testkit::random::RandomProtocol;
use quorate_testkit::reductions::{combinations, disagreements, search_with, wrong_symmetry_misleads};
use quorate_testkit::symmetry::asymmetries;
use quorate_testkit::tier::{
    self, ORDERED, REDUCTIONS, TWINS, TWINS_ALIKE, WORLDLY, WORLDLY_TWINS, WRONG_SYMMETRY,
};
use quorate_testkit::twins::{Mistake, TwinProtocol};
use quorate_testkit::worlds::{ordered_world, random_world};

/// Protocols with more states are skipped.
const STATES_MAX: usize = 1_000;

/// What came of one protocol.
#[derive(Default)]
struct Compared {
    violated: bool,
    held: bool,
    /// With how many combinations of reductions it was searched.
    combinations: usize,
    disagreements: Vec<String>,
}

/// A protocol of a seed, the same without its properties and, in some families, with one of ends that is content with
/// all; `None` if there is no such protocol.
type Family = fn(u64) -> Option<(Model, Model, Option<Model>)>;

/// Goes through protocols: at least so many of them must be compared, and of these each number must hold and be
/// violated.
#[track_caller]
fn agrees(test: &str, family: Family, usual: &tier::Family, least: usize) {
    let compared = go_through(test, usual, |seed| compare(family, seed));
    let violated = compared.iter().filter(|compared| compared.violated).count();
    let held = compared.iter().filter(|compared| compared.held).count();
    let combinations: usize = compared.iter().map(|compared| compared.combinations).sum();
    println!("{test}: {} compared, {violated} violated, {held} held", compared.len());
    println!("{combinations} combinations compared");
    if usual_seeds() {
        assert!(compared.len() >= usual.least(least), "only {} protocols were compared", compared.len());
        assert!(violated * 6 >= compared.len(), "only {violated} are violated");
        assert!(held * 2 >= compared.len(), "only {held} hold, with or without their properties");
    }
}

fn usual_seeds() -> bool {
    one_seed().is_none() && !tier::are_seeds_named()
}

/// Compares every protocol of these seeds, or of those that the environment names.
#[track_caller]
fn go_through(test: &str, usual: &tier::Family, compare: impl Fn(u64) -> Option<Compared>) -> Vec<Compared> {
    let seeds = one_seed().map_or_else(|| usual.seeds(), |seed| vec![seed]);
    let results: Vec<(u64, Compared)> =
        seeds.into_iter().filter_map(|seed| Some((seed, compare(seed)?))).collect();
    let described = |(seed, compared): &(u64, Compared)| {
        let lines = compared.disagreements.join("\n  ");
        (!lines.is_empty()).then(|| {
            format!(
                "seed {seed}: {lines}\n  QUORATE_SEED={seed} cargo test -p quorate-testkit --test main reductions::{test} -- \
                 --nocapture"
            )
        })
    };
    let disagreeing: Vec<String> = results.iter().filter_map(described).collect();
    let first: Vec<&str> = disagreeing.iter().take(5).map(String::as_str).collect();
    assert!(
        disagreeing.is_empty(),
        "{} of {} protocols disagree:\n{}",
        disagreeing.len(),
        results.len(),
        first.join("\n")
    );
    results.into_iter().map(|(_, compared)| compared).collect()
}

/// Compares a protocol as it is and, if a property breaks, without its properties, so that all that can be seen is
/// compared. `None` if it is too large.
fn compare(family: Family, seed: u64) -> Option<Compared> {
    let (model, bare, ends) = family(seed)?;
    let found = search(&model, STATES_MAX)?;
    let mut compared = Compared {
        violated: !found.broken.is_empty(),
        held: found.broken.is_empty(),
        combinations: combinations(&model).len(),
        disagreements: disagreements(&model, &found, seed),
    };
    if found.broken.keys().any(|property| property != NO_PANIC) {
        let found = search(&bare, 10 * STATES_MAX)?;
        compared.held |= found.broken.is_empty();
        compared.combinations += combinations(&bare).len();
        let bare = disagreements(&bare, &found, seed);
        compared.disagreements.extend(bare.into_iter().map(|line| format!("without properties: {line}")));
    }
    if let Some((ends, found)) =
        ends.and_then(|ends| search(&ends, 2 * STATES_MAX).map(|found| (ends, found)))
    {
        compared.combinations += combinations(&ends).len();
        let ends = disagreements(&ends, &found, seed);
        compared.disagreements.extend(ends.into_iter().map(|line| format!("content with all ends: {line}")));
    }
    Some(compared)
}

/// Prints a protocol that was asked for by its seed.
fn shown<P: Debug>(protocol: P) -> P {
    if one_seed().is_some() {
        println!("{protocol:#?}");
    }
    protocol
}

#[expect(clippy::unnecessary_wraps, reason = "not every family has a protocol for every seed")]
fn plain(seed: u64) -> Option<(Model, Model, Option<Model>)> {
    let protocol = shown(RandomProtocol::new(seed));
    Some((protocol.model(), protocol.without_properties().model(), None))
}

#[expect(clippy::unnecessary_wraps, reason = "not every family has a protocol for every seed")]
fn twins(seed: u64) -> Option<(Model, Model, Option<Model>)> {
    let protocol = shown(TwinProtocol::new(seed));
    Some((protocol.model(), protocol.without_properties().model(), None))
}

/// The first two in the world that fits the first of them, the third if its own fits.
fn in_world(
    seed: u64,
    (model, bare, ends): (Model, Model, Option<Model>),
) -> Option<(Model, Model, Option<Model>)> {
    let world = shown(random_world(seed, &model));
    let (model, bare) = (model.in_world(world.clone()).ok()?, bare.in_world(world).ok()?);
    let of_ends = |ends: Model| {
        let world = random_world(seed, &ends);
        ends.in_world(world).ok()
    };
    (!combinations(&model).is_empty()).then_some((model, bare, ends.and_then(of_ends)))
}

fn worldly(seed: u64) -> Option<(Model, Model, Option<Model>)> {
    let protocol = shown(RandomProtocol::for_worlds(seed));
    let ends = protocol.content_with_all_ends().model();
    in_world(seed, (protocol.model(), protocol.without_properties().model(), Some(ends)))
}

/// In a world that keeps an order and loses messages, with ends looked at.
fn ordered(seed: u64) -> Option<(Model, Model, Option<Model>)> {
    let protocol = shown(RandomProtocol::for_worlds(seed));
    let world = shown(ordered_world(seed));
    let all = [protocol.without_properties(), protocol.content_with_all_ends(), protocol];
    let all = all.map(|protocol| protocol.model().in_world(world.clone()).ok());
    let [bare, ends, model] = all;
    Some((model?, bare?, ends))
}

fn worldly_twins(seed: u64) -> Option<(Model, Model, Option<Model>)> {
    in_world(seed, twins(seed)?)
}

#[test]
fn random_protocols_1() {
    agrees("random_protocols_1", plain, &REDUCTIONS[0], 700);
}

#[test]
fn random_protocols_2() {
    agrees("random_protocols_2", plain, &REDUCTIONS[1], 700);
}

#[test]
fn random_protocols_3() {
    agrees("random_protocols_3", plain, &REDUCTIONS[2], 700);
}

#[test]
fn random_protocols_4() {
    agrees("random_protocols_4", plain, &REDUCTIONS[3], 700);
}

#[test]
fn twins_1() {
    agrees("twins_1", twins, &TWINS[0], 350);
}

#[test]
fn twins_2() {
    agrees("twins_2", twins, &TWINS[1], 350);
}

#[test]
fn worlds_1() {
    agrees("worlds_1", worldly, &WORLDLY[0], 550);
}

#[test]
fn worlds_2() {
    agrees("worlds_2", worldly, &WORLDLY[1], 450);
}

#[test]
fn worlds_in_order() {
    agrees("worlds_in_order", ordered, &ORDERED, 1_000);
}

#[test]
fn twins_in_worlds() {
    agrees("twins_in_worlds", worldly_twins, &WORLDLY_TWINS, 300);
}

/// Twins are what they say they are.
#[test]
fn twins_are_interchangeable() {
    let asymmetric = |seed: &u64| {
        let model = TwinProtocol::new(*seed).model();
        let alike = |found: Findings| asymmetries(&model, &found).is_empty();
        search(&model, STATES_MAX).is_some_and(|found| !alike(found))
    };
    let asymmetric: Vec<u64> = TWINS_ALIKE.seeds().into_iter().filter(asymmetric).collect();
    assert_eq!(asymmetric, Vec::<u64>::new());
}

/// Twins that are wrong about their symmetry.
fn mistaken(protocol: &TwinProtocol, mistake: Mistake) -> Option<Model> {
    if mistake != Mistake::RestartCompares {
        return Some(protocol.model());
    }
    let restarts = vec![("twin".to_string(), 1)];
    protocol.model().in_world(quorate::world::World::default().restarts(restarts)).ok()
}

/// A declaration that is wrong is never believed.
fn is_not_misled(test: &str, mistakes: &[Mistake]) {
    for &mistake in mistakes {
        let harmful = std::cell::Cell::new(0);
        let compare = |seed: u64| {
            let protocol = shown(TwinProtocol::with_mistake(seed, mistake));
            let model = mistaken(&protocol, mistake)?;
            let found = search(&model, STATES_MAX)?;
            let wrong: BTreeSet<String> = asymmetries(&model, &found);
            harmful.set(harmful.get() + usize::from(!wrong.is_empty()));
            let misled = |which: Vec<Reduction>| {
                let (engine, search) = search_with(&which, &model, seed);
                let misled = wrong_symmetry_misleads(&model, &found, (&engine, &search), protocol.culprit());
                misled.map(|line| format!("{mistake:?}, {which:?}: {line}"))
            };
            let symmetric = |which: &Vec<Reduction>| which.contains(&Reduction::Symmetry);
            let disagreements =
                combinations(&model).into_iter().filter(symmetric).filter_map(misled).collect();
            Some(Compared { disagreements, ..Compared::default() })
        };
        let compared = go_through(test, &WRONG_SYMMETRY, compare);
        println!("{mistake:?}: {} compared, {} asymmetric", compared.len(), harmful.get());
        assert!(
            !usual_seeds() || harmful.get() >= WRONG_SYMMETRY.least(3),
            "{mistake:?} does something in {} only",
            harmful.get()
        );
    }
}

#[test]
fn wrong_rules() {
    is_not_misled("wrong_rules", &Mistake::ALL[..3]);
}

#[test]
fn wrong_conditions() {
    is_not_misled("wrong_conditions", &Mistake::ALL[3..5]);
}

#[test]
fn wrong_restarts() {
    is_not_misled("wrong_restarts", &Mistake::ALL[5..6]);
}

#[test]
fn wrong_properties() {
    is_not_misled("wrong_properties", &Mistake::ALL[6..8]);
}

#[test]
fn one_of_many_in_rules() {
    is_not_misled("one_of_many_in_rules", &Mistake::ALL[8..11]);
}

#[test]
fn one_of_many_in_properties() {
    is_not_misled("one_of_many_in_properties", &Mistake::ALL[11..]);
}

/// Without the check of symmetry, wrong declarations are believed.
#[test]
fn the_check_of_symmetry_is_needed() {
    let misled = |seed: &u64| {
        Mistake::ALL.into_iter().any(|mistake| {
            let protocol = TwinProtocol::with_mistake(*seed, mistake);
            let Some(model) = mistaken(&protocol, mistake) else { return false };
            let Some(found) = search(&model, STATES_MAX).filter(|found| !found.broken.is_empty()) else {
                return false;
            };
            combinations(&model).into_iter().any(|which| {
                let (engine, search) = search_with(&which, &model, *seed);
                let mutants = Mutant::NoCertificate.into();
                let tuning = Tuning { mutants, ..search.current_tuning() };
                let search = search.tuning(tuning);
                wrong_symmetry_misleads(&model, &found, (&engine, &search), protocol.culprit()).is_some()
            })
        })
    };
    let noticed: Vec<u64> = WRONG_SYMMETRY.fixed(tier::Tier::Full).filter(misled).take(3).collect();
    assert_eq!(noticed.len(), 3, "it is noticed by seeds {noticed:?} only");
    WRONG_SYMMETRY.catches(Mutant::NoCertificate, &noticed);
}
