//! The comparison of reductions.rs can fail: a reduction without one of the parts that make it right disagrees with the
//! naive checker, on the same protocols and by the same comparison. tests/saturation.rs has a protocol by hand.

use quorate::model::{Model, Refusal};
use quorate::reduce::{Reduction, Reductions};
use quorate::testing::{Mutant, Tuning};
use quorate_testkit::naive::search;
use quorate_testkit::random::RandomProtocol;
use quorate_testkit::reductions::{difference, search_by, search_with};
use quorate_testkit::tier::{Family, REDUCTIONS, TWINS, WORLDLY};
use quorate_testkit::twins::TwinProtocol;
use quorate_testkit::worlds::random_world;

/// On how many protocols a mistake must be noticed.
const NOTICED_MIN: usize = 3;
/// Protocols with more states are skipped.
const STATES_MAX: usize = 1_000;

/// A family, and how its protocols are made: each with its properties, without, and so on.
type Protocols = (Family, fn(u64) -> Vec<Model>);

/// A search without this part, with these reductions, is noticed on some of the first protocols of a family.
#[track_caller]
fn noticed(mutant: Mutant, which: &[Reduction], (family, protocols): Protocols, seeds_max: u64) {
    let differs = |seed: &u64| {
        protocols(*seed).iter().any(|model| {
            if Reductions::checked(which, model).is_err() {
                return false;
            }
            let Some(found) = search(model, STATES_MAX) else { return false };
            let (engine, right) = search_with(which, model, *seed);
            let tuning = Tuning { mutants: mutant.into(), ..right.current_tuning() };
            difference(model, &found, &engine, &right.tuning(tuning)).is_some()
        })
    };
    let noticed: Vec<u64> = (0..seeds_max).filter(differs).take(NOTICED_MIN).collect();
    assert_eq!(noticed.len(), NOTICED_MIN, "{mutant:?} is noticed by seeds {noticed:?} only");
    family.catches((mutant, which), &noticed);
}

fn plain(seed: u64) -> Vec<Model> {
    let protocol = RandomProtocol::new(seed);
    vec![protocol.model(), protocol.without_properties().model()]
}

fn twins(seed: u64) -> Vec<Model> {
    let protocol = TwinProtocol::new(seed);
    vec![protocol.model(), protocol.without_properties().model()]
}

/// Each in the random world that fits it, if there is one.
fn worldly(seed: u64) -> Vec<Model> {
    let protocol = RandomProtocol::for_worlds(seed);
    let all = [protocol.without_properties(), protocol.content_with_all_ends(), protocol];
    let in_world = |protocol: RandomProtocol| {
        let model = protocol.model();
        let world = random_world(seed, &model);
        model.in_world(world).ok()
    };
    all.into_iter().filter_map(in_world).collect()
}

#[test]
fn nobody_is_waited_for() {
    noticed(Mutant::NoEnabling, &[Reduction::Stubborn], (REDUCTIONS[0].clone(), plain), 200);
}

#[test]
fn what_properties_see_does_not_matter() {
    noticed(Mutant::NoVisibility, &[Reduction::Stubborn], (REDUCTIONS[0].clone(), plain), 1_500);
}

#[test]
fn what_goes_on_for_ever_does_not_matter() {
    noticed(Mutant::NoProviso, &[Reduction::Stubborn], (REDUCTIONS[0].clone(), plain), 500);
}

#[test]
fn whoever_may_send_does() {
    noticed(
        Mutant::NoQuiescence,
        &[Reduction::Stubborn, Reduction::Beliefs],
        (REDUCTIONS[0].clone(), plain),
        500,
    );
}

#[test]
fn what_was_seen_of_a_twin_is_not_noted_for_the_others() {
    // With inert messages alone: `saturation.rs`.
    noticed(
        Mutant::NoSaturation,
        &[Reduction::Inert, Reduction::Stubborn, Reduction::Symmetry],
        (TWINS[0].clone(), twins),
        500,
    );
}

/// Without walks most searches see more than their reductions knew of, so that what they did is compared.
#[test]
fn what_was_left_out_is_not_compared_with_what_was_seen() {
    noticed(Mutant::LeftOutForGood, &[Reduction::Inert], (REDUCTIONS[0].clone(), plain), 500);
    noticed(
        Mutant::LeftOutForGood,
        &[Reduction::Inert, Reduction::Beliefs],
        (REDUCTIONS[0].clone(), plain),
        500,
    );
}

#[test]
fn who_stepped_is_not_compared_with_what_was_seen() {
    noticed(Mutant::ChosenForGood, &[Reduction::Stubborn], (REDUCTIONS[0].clone(), plain), 500);
    noticed(
        Mutant::ChosenForGood,
        &[Reduction::Stubborn, Reduction::Beliefs],
        (REDUCTIONS[0].clone(), plain),
        500,
    );
}

#[test]
fn what_seemed_to_stay_broken_is_not_compared_with_what_was_seen() {
    noticed(Mutant::StableForGood, &[Reduction::Stubborn], (REDUCTIONS[0].clone(), plain), 3_000);
}

#[test]
fn those_step_who_need_not() {
    noticed(Mutant::IdleSeeds, &[Reduction::Stubborn], (WORLDLY[0].clone(), worldly), 1_000);
}

/// Where ends of runs are the reason to refuse a reduction, it would be wrong: used all the same, it misses an end, or
/// finds one that is none, on some of the first protocols of a family.
#[track_caller]
fn is_refused_rightly(reduction: Reduction, (family, protocols): Protocols) {
    let differs = |seed: &u64| {
        protocols(*seed).iter().any(|model| {
            let refused = Reductions::checked(&[reduction], model).err().map(|refused| refused.reason);
            let because_of_ends = matches!(
                refused,
                Some(
                    Refusal::EndsDespiteFaults { .. }
                        | Refusal::EndsDespiteEvents { .. }
                        | Refusal::EndsComeLater { .. }
                )
            );
            if !because_of_ends {
                return false;
            }
            let Some(found) = search(model, STATES_MAX) else { return false };
            let (engine, search) =
                search_by(Reductions { which: vec![reduction], ..Reductions::default() }, *seed);
            difference(model, &found, &engine, &search).is_some()
        })
    };
    let noticed: Vec<u64> = family.full.clone().filter(differs).take(NOTICED_MIN).collect();
    assert_eq!(noticed.len(), NOTICED_MIN, "{reduction} is missed by seeds {noticed:?} only");
    family.catches(("not refused", reduction), &noticed);
}

#[test]
fn beliefs_are_used_where_runs_end_early() {
    is_refused_rightly(Reduction::Beliefs, (WORLDLY[0].clone(), worldly));
}

#[test]
fn inert_messages_are_left_out_where_ends_matter() {
    is_refused_rightly(Reduction::Inert, (WORLDLY[0].clone(), worldly));
}
