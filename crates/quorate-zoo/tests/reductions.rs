//! What the reductions leave of the reference Paxos, as in DESIGN 2 and ALGORITHMS 11.

use quorate::engine::{Search, explore};
use quorate::reduce::Reduction::{self, Beliefs, Inert, Stubborn};
use quorate::reduce::Reductions;
use quorate::verdict::{Report, Verdict};
use quorate::world::{CrashSends, Crashes, World};

fn check(settings: &[(&str, &str)], which: &[Reduction], world: World) -> Report {
    let protocols = quorate_zoo::protocols();
    let protocol = protocols.iter().find(|known| known.name() == "paxos").expect("the zoo has Paxos");
    let arguments = protocol.arguments(settings.iter().copied(), None).expect("arguments that it takes");
    let model = protocol.instance(&arguments).expect("a system").in_world(world).expect("a world that fits");
    let reductions = Reductions::checked(which, &model).expect("reductions that can be used");
    let report = explore(&model, &Search { reductions, ..Search::default() }, &mut ());
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
    assert_eq!(states("2", "3", &[Stubborn]), 3933);
    assert_eq!(states("2", "4", &[Stubborn]), 16_032);
}

#[test]
fn stubborn_sets_without_inert_messages() {
    assert_eq!(states("2", "3", &[Stubborn, Inert]), 452);
    assert_eq!(states("2", "4", &[Stubborn, Inert]), 1506);
    assert_eq!(states("3", "3", &[Stubborn, Inert]), 7253);
    assert_eq!(states("2", "5", &[Stubborn, Inert]), 10_969);
}

#[test]
fn beliefs_do_not_depend_on_how_the_protocol_is_written() {
    for transitions in ["quorum", "single"] {
        for stale in ["consume", "keep"] {
            let settings = [("transitions", transitions), ("stale", stale)];
            let report = check(&settings, &[Beliefs, Inert], World::default());
            assert_eq!(report.coverage.states, 625, "{settings:?}");
        }
    }
    for prone in 1..=3 {
        let prone = vec![("acceptor".to_string(), prone)];
        let crashes = Crashes::Explicit { prone, sends: CrashSends::All };
        let report = check(&[], &[Beliefs, Inert], World { crashes, ..World::default() });
        assert_eq!(report.coverage.states, 625);
    }
}

#[test]
fn beliefs_without_inert_messages_and_with_stubborn_sets() {
    assert_eq!(states("3", "3", &[Beliefs, Inert]), 12_434);
    assert_eq!(states("2", "3", &[Beliefs, Inert, Stubborn]), 412);
    assert_eq!(states("3", "3", &[Beliefs, Inert, Stubborn]), 6725);
    assert_eq!(states("2", "5", &[Beliefs, Inert, Stubborn]), 10_935);
}
