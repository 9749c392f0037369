//! The comparison of reductions.rs can fail: a reduction without one of the parts that make it right disagrees with the
//! naive checker, on the same protocols and by the same comparison. tests/saturation.rs has a protocol by hand.

use quorate::model::Model;
use quorate::reduce::{Reduction, Reductions};
use quorate::testing::{Mutant, Tuning};
use quorate_testkit::naive::search;
use quorate_testkit::random::RandomProtocol;
use quorate_testkit::reductions::{difference, search_with};
use quorate_testkit::tier::{Family, REDUCTIONS, TWINS};
use quorate_testkit::twins::TwinProtocol;

/// On how many protocols a mistake must be noticed.
const NOTICED_MIN: usize = 3;
/// Protocols with more states are skipped.
const STATES_MAX: usize = 1_000;

/// A family, and how its protocols are made: each with and without its properties.
type Protocols = (Family, fn(u64) -> [Model; 2]);

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

fn plain(seed: u64) -> [Model; 2] {
    let protocol = RandomProtocol::new(seed);
    [protocol.model(), protocol.without_properties().model()]
}

fn twins(seed: u64) -> [Model; 2] {
    let protocol = TwinProtocol::new(seed);
    [protocol.model(), protocol.without_properties().model()]
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
    noticed(Mutant::NoSaturation, &[Reduction::Inert, Reduction::Symmetry], (TWINS[0].clone(), twins), 1_000);
    noticed(
        Mutant::NoSaturation,
        &[Reduction::Inert, Reduction::Stubborn, Reduction::Symmetry],
        (TWINS[0].clone(), twins),
        500,
    );
}
