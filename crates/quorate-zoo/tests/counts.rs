//! Exact counts of every protocol, every planted bug with the length of its shortest trace, and the
//! messages about bad arguments.
//!
//! The counts of Paxos are those on which TLC, SPIN, rumur and `CMurphi` agree; those of the other protocols
//! follow from the formulas in their module headers or were counted by a search that only uses
//! `Model::accepts` and `Model::run`.

use quorate::engine::{Count, Engine, Explore, Search};
use quorate::model::Model;
use quorate::reduce::{Reduction, Reductions};
use quorate::replay::Replay;
use quorate::report::Coverage;
use quorate::{Protocol, Report};

use crate::instance::{model, protocol};

type Given = &'static [(&'static str, &'static str)];

fn search(model: &Model) -> Report {
    Explore::default().run(model, &Search::default(), &mut ())
}

/// With all reductions that the program uses by itself.
fn reduced_search(model: &Model) -> Report {
    let (reductions, _) = Reductions::strongest(model);
    Explore::default().run(model, &Search::default().reductions(reductions.kept()), &mut ())
}

/// Holds, with exactly these numbers of states, transitions and, where they are known, terminal states.
#[track_caller]
fn check_counts(
    name: &str,
    given: Given,
    states: u64,
    transitions: u64,
    terminal_states: impl Into<Option<u64>>,
) -> Coverage {
    let report = search(&model(name, given, None));
    report.assert_holds_without_faults();
    let coverage = report.coverage;
    assert_eq!((coverage.states, coverage.transitions), (states, transitions), "{name} {given:?}");
    if let Some(terminal_states) = terminal_states.into() {
        assert_eq!(coverage.terminal_states, terminal_states, "terminal states of {name} {given:?}");
    }
    coverage
}

#[test]
fn paxos_has_the_counts_of_the_other_checkers() {
    check_counts("paxos", &[], 27_410, 94_055, 468);
    check_counts("paxos", &[("stale", "keep")], 8_649, 20_049, 1_152);
    check_counts("paxos", &[("acceptors", "4")], 196_297, 787_452, None);
    check_counts("paxos", &[("learners", "2")], 100_520, 404_396, 2_268);
    check_counts("paxos", &[("transitions", "single")], 131_022, 648_709, 24);
}

#[test]
fn paxos_with_three_proposers_has_the_counts_of_the_other_checkers() {
    let coverage = check_counts("paxos", &[("proposers", "3")], 7_479_449, 37_238_397, None);
    // Handlers run once for each distinct local step, however many states contain it.
    assert!(coverage.handler_calls < 5_000, "{} handler calls", coverage.handler_calls);
}

#[test]
fn single_message_paxos_has_the_counts_of_the_other_checkers() {
    let four_acceptors: Given = &[("transitions", "single"), ("acceptors", "4")];
    check_counts("paxos", four_acceptors, 2_252_378, 14_134_676, None);
    let two_learners: Given = &[("transitions", "single"), ("learners", "2")];
    check_counts("paxos", two_learners, 1_886_078, 13_076_691, None);
}

#[test]
fn tree() {
    check_counts("tree", &[], 11, 16, 1);
    check_counts("tree", &[("nodes", "7")], 26, 51, 1);
    check_counts("tree", &[("nodes", "15")], 677, 2_653, 1);
}

#[test]
fn two_phase_commit() {
    check_counts("two-phase-commit", &[("participants", "1")], 7, 6, 2);
    check_counts("two-phase-commit", &[("participants", "2")], 24, 32, 7);
    check_counts("two-phase-commit", &[], 111, 215, 28);
    check_counts("two-phase-commit", &[("participants", "4")], 598, 1_558, 109);
}

#[test]
fn accumulator_ends_in_as_many_states_as_the_paper_counts_traces() {
    check_counts("accumulator", &[], 114, 174, 18);
    let given: Given = &[("sequences", "1"), ("servers", "3"), ("numbers", "2")];
    check_counts("accumulator", given, 415, 917, 27);
    let given: Given = &[("sequences", "1"), ("servers", "3"), ("numbers", "4")];
    check_counts("accumulator", given, 3_795, 9_197, 125);
    let given: Given = &[("sequences", "1"), ("servers", "4"), ("numbers", "3")];
    check_counts("accumulator", given, 17_043, 53_881, 256);
    let no_secondary: Given = &[("sequences", "1"), ("servers", "1"), ("numbers", "1")];
    check_counts("accumulator", no_secondary, 7, 7, 2);
}

#[test]
fn dining_philosophers() {
    check_counts("dining-philosophers", &[("philosophers", "2")], 55, 82, 1);
    check_counts("dining-philosophers", &[], 439, 995, 1);
    check_counts("dining-philosophers", &[("philosophers", "4")], 3_427, 10_404, 1);
}

#[test]
fn raft() {
    check_counts("raft", &[("nodes", "2")], 50, 74, 3);
    check_counts("raft", &[("nodes", "2"), ("terms", "2")], 600, 1374, 11);
    check_counts("raft", &[("nodes", "2"), ("terms", "2"), ("commands", "2")], 7_014, 21_502, 27);
    check_counts("raft", &[], 14_238, 56_811, 31);
    check_counts("raft", &[("terms", "2"), ("commands", "0")], 191_434, 1_062_801, 10);
    check_counts("raft", &[("commands", "2")], 2_252_151, 12_628_725, 76);
}

#[test]
fn raft_reduced() {
    let instances: [(Given, u64, u64); 5] = [
        (&[("nodes", "2"), ("terms", "2"), ("commands", "2")], 286, 607),
        (&[], 126, 242),
        (&[("terms", "2"), ("commands", "0")], 98, 359),
        (&[("commands", "2")], 9_135, 23_295),
        (&[("terms", "2"), ("commands", "2")], 43_683, 197_749),
    ];
    for (given, states, transitions) in instances {
        let report = reduced_search(&model("raft", given, None));
        report.assert_holds();
        let coverage = &report.coverage;
        assert_eq!((coverage.states, coverage.transitions), (states, transitions), "{given:?}");
    }
}

#[test]
fn nodes_of_raft_are_interchangeable() {
    let symmetric = Reductions::checked(&[Reduction::Symmetry], &model("raft", &[], None));
    let search = Search::default().reductions(symmetric.expect("a symmetric role"));
    let report = Explore::default().count(Count::Orbits).run(&model("raft", &[], None), &search, &mut ());
    report.assert_holds();
    assert_eq!(report.explored().and_then(|explored| explored.orbits), Some(14_238));
}

/// Every planted bug: what it breaks with the parameters with which it shows, and in how many steps at least.
const BUGS: [(&str, &str, &str, usize); 38] = [
    ("paxos", "always-accept", "agreement", 14),
    ("paxos", "learner-ignores-value", "agreement", 14),
    ("paxos", "first-reply", "agreement", 14),
    ("tree", "send-before-noting", "received only if sent", 3),
    ("tree", "first-child-only", "the message arrives", 3),
    ("two-phase-commit", "commit-on-majority", "atomicity", 5),
    ("two-phase-commit", "participant-unilateral-abort", "atomicity", 6),
    ("two-phase-commit", "silent-abort", "everybody decides", 5),
    ("accumulator", "any-order", "checkpoints are sums of prefixes", 3),
    ("accumulator", "forward-sum", "checkpoints are sums of prefixes", 6),
    ("accumulator", "checkpoint-stops-forwarding", "sums agree", 5),
    ("dining-philosophers", "all-left-first", "everybody has eaten", 9),
    ("dining-philosophers", "forgetful-fork", "no two neighbours eat", 10),
    ("echo-multicast", "deliver-at-once", "agreement", 3),
    ("echo-multicast", "few-echoes", "agreement", 8),
    ("echo-multicast", "echo-every-init", "agreement", 10),
    ("regular-storage", "one-ack", "regularity", 7),
    ("regular-storage", "one-reply", "regularity", 7),
    ("regular-storage", "first-reply", "regularity", 8),
    ("regular-storage", "overwrite", "regularity", 13),
    ("byzantine-generals", "one-round-short", "IC1: loyal lieutenants agree", 3),
    ("byzantine-generals", "any-attack", "IC2: a loyal commander is obeyed", 6),
    ("pam", "lost-state", "agreement", 11),
    ("pam", "first-value", "agreement", 13),
    ("chord", "notify-at-once", "who is pointed to has joined", 2),
    ("chord", "last-notifies", "nobody answers for keys given away", 15),
    ("pastry", "early-leaf", "leaves are members", 2),
    ("pastry", "no-leaves-for-newcomers", "everybody knows everybody", 17),
    ("paxos-node", "last-reply", "agreement", 20),
    ("one-paxos", "init-increment", "agreement", 12),
    ("rand-tree", "keep-sibling", "disjoint", 12),
    ("rand-tree", "late-sibling", "disjoint", 13),
    ("raft", "double-vote", "election safety", 8),
    ("raft", "vote-for-old-log", "leader completeness", 12),
    ("raft", "no-previous-check", "log matching", 8),
    ("raft", "keep-conflicting", "state machine safety", 16),
    ("raft", "forget-vote", "election safety", 11),
    ("raft", "commit-by-counting", "leader completeness", 23),
];

/// So far away that a search without reductions does not get there. With them the violation that is found need not be a
/// shortest one.
const FAR_AWAY: [&str; 1] = ["commit-by-counting"];

#[test]
fn every_bug_is_found_on_a_shortest_way() {
    for (name, bug, property, steps) in BUGS {
        let model = model(name, &[], Some(bug));
        let report = if FAR_AWAY.contains(&bug) { reduced_search(&model) } else { search(&model) };
        let violation = report.assert_violated();
        assert_eq!(violation.broken.property(), property, "{name} --bug {bug}");
        assert_eq!(violation.trace.steps.len(), steps, "{name} --bug {bug}:\n{violation}");
        let mut replay = Replay::new(&model);
        for step in &violation.trace.steps {
            assert_eq!(replay.broken(), None, "{name} --bug {bug} is broken before its last step");
            replay.follow(step).unwrap_or_else(|error| panic!("{name} --bug {bug}: {error}"));
        }
        assert_eq!(replay.broken().as_ref(), Some(&violation.broken), "{name} --bug {bug}");
    }
}

#[test]
fn the_list_of_bugs_is_complete_and_every_protocol_has_one() {
    let listed: Vec<(&str, &str)> = BUGS.iter().map(|(name, bug, ..)| (*name, *bug)).collect();
    let protocols = quorate_zoo::protocols();
    let planted: Vec<(&str, &str)> = protocols
        .iter()
        .flat_map(|protocol| protocol.bugs().iter().map(|bug| (protocol.name(), bug.name)))
        .collect();
    assert_eq!(listed, planted);
    assert!(protocols.iter().all(|protocol| !protocol.bugs().is_empty()));
}

#[test]
fn the_zoo_lists_its_protocols_in_order() {
    let names: Vec<&str> = quorate_zoo::protocols().iter().map(Protocol::name).collect();
    let known = [
        "paxos",
        "tree",
        "two-phase-commit",
        "accumulator",
        "dining-philosophers",
        "echo-multicast",
        "regular-storage",
        "byzantine-generals",
        "pam",
        "chord",
        "pastry",
        "paxos-node",
        "one-paxos",
        "rand-tree",
        "raft",
    ];
    assert_eq!(names, known);
}

#[track_caller]
fn check_refused(name: &str, given: Given, bug: Option<&str>, says: &str) {
    match protocol(name).arguments(given.iter().copied(), bug) {
        Ok(arguments) => panic!("{name} accepts {given:?} and {bug:?} as {arguments:?}"),
        Err(error) => assert_eq!(error.to_string(), says),
    }
}

#[test]
fn bad_arguments_are_refused_with_what_was_expected() {
    let range = "expected a number from 1 to 60";
    check_refused("paxos", &[("acceptors", "0")], None, &format!("--acceptors is '0': {range}"));
    check_refused("paxos", &[("acceptors", "-3")], None, &format!("--acceptors is '-3': {range}"));
    check_refused("paxos", &[("learners", "61")], None, &format!("--learners is '61': {range}"));
    check_refused("accumulator", &[("numbers", "two")], None, &format!("--numbers is 'two': {range}"));
    check_refused("paxos", &[("stale", "fresh")], None, "--stale is 'fresh': expected consume, keep");
    check_refused("tree", &[("nodes", "1")], None, "--nodes is '1': expected a number from 2 to 60");
    check_refused(
        "dining-philosophers",
        &[("philosophers", "1")],
        None,
        "--philosophers is '1': expected a number from 2 to 30",
    );
    check_refused(
        "two-phase-commit",
        &[("acceptors", "3")],
        None,
        "two-phase-commit has no parameter 'acceptors': expected participants",
    );
    check_refused(
        "tree",
        &[],
        Some("always-accept"),
        "tree has no bug 'always-accept': expected send-before-noting, first-child-only",
    );
}

#[test]
fn too_many_processes_are_refused_with_how_many_are_supported() {
    let protocol = protocol("paxos");
    let arguments = protocol.arguments([("acceptors", "60"), ("learners", "60")], None);
    let arguments = arguments.unwrap_or_else(|error| panic!("{error}"));
    match protocol.instance(&arguments) {
        Ok(_) => panic!("a system of 122 processes was built"),
        Err(error) => {
            let expected = "122 processes once role 'learner' is added: at most 64 are supported";
            assert_eq!(error.to_string(), expected);
        }
    }
}
