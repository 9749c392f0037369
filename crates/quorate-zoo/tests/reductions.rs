//! What the reductions leave of the reference Paxos, of regular storage, and of
//! searches for planted bugs.

use quorate::engine::{Count, Engine, Explore, Search};
use quorate::model::Model;
use quorate::reduce::Reduction::{self, Beliefs, Inert, Stubborn, Symmetry};
use quorate::reduce::Reductions;
use quorate::report::{Report, Verdict};
use quorate::world::{CrashSends, Crashes, World};

use crate::instance::model;

type Settings<'a> = &'a [(&'a str, &'a str)];

fn check(settings: Settings<'_>, which: &[Reduction], world: World) -> Report {
    let paxos = model("paxos", settings, None).in_world(world).expect("a world that fits");
    search_all(&paxos, which, Count::Nothing)
}

fn search_all(model: &Model, which: &[Reduction], count: Count) -> Report {
    let reductions = Reductions::checked(which, model).expect("reductions that can be used");
    let search = Search::default().reductions(reductions);
    let report = Explore::default().count(count).run(model, &search, &mut ());
    assert!(matches!(report.verdict, Verdict::Holds), "{:?}", report.verdict);
    report
}

fn states(proposers: &str, acceptors: &str, which: &[Reduction]) -> u64 {
    let sizes = [("proposers", proposers), ("acceptors", acceptors)];
    check(&sizes, which, World::default()).coverage.states
}

#[test]
fn without_inert_messages() {
    assert_eq!(states("2", "3", &[Inert]), 1034);
    assert_eq!(states("3", "3", &[Inert]), 25_068);
}

#[test]
fn stubborn_sets_alone() {
    assert_eq!(states("2", "3", &[Stubborn]), 3914);
}

#[test]
fn stubborn_sets_without_inert_messages() {
    assert_eq!(states("2", "3", &[Stubborn, Inert]), 419);
    assert!(states("3", "3", &[Stubborn, Inert]) <= 7300);
    assert!(states("2", "5", &[Stubborn, Inert]) <= 11_000);
}

#[test]
fn beliefs_do_not_depend_on_how_the_protocol_is_written() {
    // The reference counts from zero after a majority of single messages: beliefs alone do not see it, but what changes
    // a process is not inert.
    for stale in ["consume", "keep"] {
        for transitions in ["quorum", "single", "tally"] {
            let settings = [("transitions", transitions), ("stale", stale)];
            assert_eq!(check(&settings, &[Beliefs], World::default()).coverage.states, 4225, "{settings:?}");
        }
        for (transitions, vectors) in [("quorum", 625), ("single", 3091), ("tally", 625)] {
            let settings = [("transitions", transitions), ("stale", stale)];
            let report = check(&settings, &[Beliefs, Inert], World::default());
            assert_eq!(report.coverage.states, vectors, "{settings:?}");
        }
    }
    for prone in 1..=3 {
        let prone = vec![("acceptor".to_string(), prone)];
        let crashes = Crashes::Explicit { prone, sends: CrashSends::All };
        let report = check(&[], &[Beliefs, Inert], World::default().crashes(crashes));
        assert_eq!(report.coverage.states, 625);
    }
}

#[test]
fn single_messages_that_are_counted_as_far_as_they_matter() {
    let states = |stale, which: &[Reduction]| {
        check(&[("transitions", "tally"), ("stale", stale)], which, World::default()).coverage.states
    };
    assert_eq!(states("keep", &[]), 33_489);
    assert_eq!(states("consume", &[]), 98_160);
    // A prototype has 2,595; what makes the difference is not known.
    assert_eq!(states("consume", &[Stubborn]), 2749);
}

#[test]
fn storage_with_a_property_of_one_reader() {
    let states = |property: &str, which: &[Reduction]| {
        let storage = model("regular-storage", &[("readers", "2"), ("property", property)], None);
        search_all(&storage, which, Count::Nothing).coverage.states
    };
    assert_eq!(states("monotonic-reads", &[]), 17_992);
    assert_eq!(states("monotonic-reads", &[Stubborn]), 928);
    // What a monitor hears must be heard in any order.
    assert_eq!(states("regularity", &[]), 16_084);
    assert_eq!(states("regularity", &[Stubborn]), 6125);
}

#[test]
fn every_bug_is_found_in_fewer_states_than_without_reductions() {
    for protocol in quorate_zoo::protocols() {
        for bug in protocol.bugs() {
            let model = model(protocol.name(), &[], Some(bug.name));
            let (reductions, _) = Reductions::strongest(&model);
            let reduced =
                Explore::default().run(&model, &Search::default().reductions(reductions.kept()), &mut ());
            let broken = reduced.assert_violated().broken.property();
            // A search without reductions that takes this long takes long enough.
            let limited = Search::default().states_max(100_000);
            let whole = Explore::default().run(&model, &limited, &mut ());
            if let Verdict::Violated(violation) = &whole.verdict {
                assert_eq!(violation.broken.property(), broken, "{} --bug {}", protocol.name(), bug.name);
            }
            let (fewer, all) = (reduced.coverage.states, whole.coverage.states);
            // Two steps from the start there is nothing to leave out.
            assert!(
                fewer < all || fewer == all && all < 10,
                "{} --bug {}: {fewer} of {all}",
                protocol.name(),
                bug.name
            );
        }
    }
}

#[test]
fn orbits_of_symmetric_states_add_up_to_all_states() {
    for (acceptors, orbits, all) in [("3", 5037, 27_410), ("4", 11_504, 196_297)] {
        let report =
            search_all(&model("paxos", &[("acceptors", acceptors)], None), &[Symmetry], Count::Orbits);
        assert_eq!(
            (report.coverage.states, report.explored().and_then(|explored| explored.orbits)),
            (orbits, Some(all))
        );
    }
}

#[test]
fn everything_together() {
    assert!(states("2", "3", &Reduction::ALL) <= 130);
    assert!(states("3", "3", &Reduction::ALL) <= 1550);
    assert!(states("2", "5", &Reduction::ALL) <= 520);
}
