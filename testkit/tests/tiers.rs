//! The seeds of the two tiers are what they are said to be.

use quorate_testkit::tier::{AGREEMENT, Family, Tier};

#[test]
fn quick_seeds_are_the_first_of_all() {
    let family = Family { name: "some", full: 100..200, quick: 30, has_fresh: true };
    assert_eq!((family.fixed(Tier::Quick), family.fixed(Tier::Full)), (100..130, 100..200));
}

#[test]
fn seeds_of_the_commit_come_on_top() {
    let (fixed, all) = (AGREEMENT.fixed(Tier::Quick), AGREEMENT.seeds());
    let is_named = quorate_testkit::tier::are_seeds_named();
    assert!(is_named || fixed.clone().all(|seed| all.contains(&seed)));
    assert!(is_named || all.iter().any(|seed| !AGREEMENT.full.contains(seed)));
}

#[test]
fn a_mutant_that_is_noticed_late_needs_more_seeds() {
    let family = Family { name: "some", full: 100..200, quick: 30, has_fresh: true };
    family.catches("early", &[109, 150]);
    let late = std::panic::catch_unwind(|| family.catches("late", &[110]));
    assert!(late.is_err());
    Family { quick: 100, ..family }.catches("with all of them", &[199]);
}
