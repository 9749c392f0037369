//! Regular storage and echo multicast: the counts of rumur for the same models, the papers' deliberately
//! wrong properties, and every planted bug with single-message transitions (tests/counts.rs has them with
//! quorum transitions).

use quorate::Report;
use quorate::engine::{Engine, Explore, Search};

use crate::instance::model;

type Given = Vec<(&'static str, &'static str)>;

fn search(name: &str, given: &Given, bug: Option<&str>) -> Report {
    Explore::default().run(&model(name, given, bug), &Search::default(), &mut ())
}

/// Holds, with exactly these numbers of states and transitions.
#[track_caller]
fn check_counts(name: &str, given: &Given, states: u64, transitions: u64) {
    let report = search(name, given, None);
    report.assert_holds();
    let coverage = report.coverage;
    assert_eq!((coverage.states, coverage.transitions), (states, transitions), "{name} {given:?}");
}

/// Violates the property, in no fewer than this many steps.
#[track_caller]
fn check_violated(name: &str, given: &Given, bug: Option<&str>, property: &str, steps: usize) {
    let report = search(name, given, bug);
    let violation = report.assert_violated();
    assert_eq!(violation.broken.property(), property, "{name} {given:?} {bug:?}");
    assert_eq!(violation.trace.steps.len(), steps, "{name} {given:?} {bug:?}:\n{violation}");
}

/// Settings as the papers give them: honest receivers and initiators, Byzantine receivers and initiators.
fn multicast(setting: [&'static str; 4], transitions: &'static str) -> Given {
    let names = ["honest-receivers", "honest-initiators", "byzantine-receivers", "byzantine-initiators"];
    names.into_iter().zip(setting).chain([("transitions", transitions)]).collect()
}

#[test]
fn echo_multicast_has_the_counts_of_rumur() {
    let check = |setting, transitions, states, fired| {
        check_counts("echo-multicast", &multicast(setting, transitions), states, fired);
    };
    check(["3", "0", "1", "1"], "quorum", 33, 67);
    check(["2", "1", "0", "1"], "quorum", 45, 95);
    check(["3", "1", "1", "1"], "quorum", 1_089, 4_422);
    check(["3", "0", "1", "1"], "single", 178, 527);
    check(["2", "1", "0", "1"], "single", 130, 339);
    check(["3", "1", "1", "1"], "single", 12_282, 66_089);
}

#[test]
fn echo_multicast_survives_an_initiator_that_sends_both_messages_to_everybody() {
    check_counts("echo-multicast", &vec![("attack", "both")], 1_467, 4_942);
    check_counts("echo-multicast", &vec![("attack", "both"), ("transitions", "single")], 6_293, 28_071);
}

#[test]
fn echo_multicast_without_byzantine_processes_holds() {
    // One state before the start, and twice the four subsets of the two receivers: those that have echoed,
    // then those that have delivered.
    check_counts("echo-multicast", &multicast(["2", "1", "0", "0"], "quorum"), 9, 10);
}

#[test]
fn wrong_agreement_two_byzantine_receivers_of_four_break_agreement() {
    let wrong = |transitions| multicast(["2", "1", "2", "1"], transitions);
    check_violated("echo-multicast", &wrong("quorum"), None, "agreement", 9);
    check_violated("echo-multicast", &wrong("single"), None, "agreement", 13);
}

#[test]
fn every_bug_of_echo_multicast_is_found_with_single_messages() {
    let check = |bug, steps| {
        let given = vec![("transitions", "single")];
        check_violated("echo-multicast", &given, Some(bug), "agreement", steps);
    };
    check("deliver-at-once", 3);
    check("few-echoes", 10);
    check("echo-every-init", 14);
}

#[test]
fn echo_multicast_without_initiators_says_that_there_are_none() {
    let protocols = quorate_zoo::protocols();
    let protocol = protocols.iter().find(|protocol| protocol.name() == "echo-multicast");
    let protocol = protocol.unwrap_or_else(|| panic!("the zoo has no echo-multicast"));
    let arguments = protocol.arguments([("byzantine-initiators", "0")], None);
    let arguments = arguments.unwrap_or_else(|error| panic!("{error}"));
    let refusal = protocol.instance(&arguments).err().map(|error| error.to_string());
    assert_eq!(refusal.as_deref(), Some("role 'initiator' has no processes: it needs at least one"));
}

/// Three objects; how many readers, and how many writes.
fn storage(readers: &'static str, writes: &'static str, transitions: &'static str) -> Given {
    vec![("readers", readers), ("writes", writes), ("transitions", transitions)]
}

#[test]
fn regular_storage_has_the_counts_of_rumur() {
    let check = |readers, writes, transitions, states, fired| {
        check_counts("regular-storage", &storage(readers, writes, transitions), states, fired);
    };
    check("1", "1", "quorum", 460, 1_368);
    check("1", "2", "quorum", 7_174, 27_114);
    check("2", "1", "quorum", 16_084, 73_610);
    check("1", "1", "single", 1_982, 7_709);
    check("1", "2", "single", 45_989, 224_577);
    check("2", "1", "single", 165_850, 968_639);
}

#[test]
fn wrong_regularity_is_violated_by_a_read_that_overlaps_a_write() {
    let check = |readers, transitions, steps| {
        let mut given = storage(readers, "1", transitions);
        given.push(("property", "wrong-regularity"));
        check_violated("regular-storage", &given, None, "wrong-regularity", steps);
    };
    check("1", "quorum", 8);
    check("2", "quorum", 8);
    check("1", "single", 10);
    check("2", "single", 10);
}

#[test]
fn regular_storage_is_not_atomic_once_there_are_two_reads() {
    let atomicity = ("property", "atomicity");
    search("regular-storage", &vec![atomicity], None).assert_holds();
    for two_reads in [("reads", "2"), ("readers", "2")] {
        check_violated("regular-storage", &vec![atomicity, two_reads], None, "atomicity", 10);
    }
}

#[test]
fn a_reader_of_a_regular_register_may_go_back() {
    let monotonic = ("property", "monotonic-reads");
    search("regular-storage", &vec![monotonic], None).assert_holds();
    let two_reads = vec![monotonic, ("reads", "2")];
    check_violated("regular-storage", &two_reads, None, "monotonic-reads", 10);
}

#[test]
fn every_bug_of_regular_storage_is_found_with_single_messages() {
    let check = |bug, steps| {
        let given = vec![("transitions", "single")];
        check_violated("regular-storage", &given, Some(bug), "regularity", steps);
    };
    check("one-ack", 8);
    check("one-reply", 8);
    check("first-reply", 10);
    check("overwrite", 16);
}
