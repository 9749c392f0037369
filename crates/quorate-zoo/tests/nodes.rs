//! The protocols of LMC, whose processes are nodes with all roles: exact counts, verdicts, planted bugs.
//!
//! The counts of one proposal of `paxos-node` follow from the formula in its header, and its runs are as long as the
//! paper's. All others were seen by this search alone, and are here to be noticed when they change.

use quorate::Report;
use quorate::engine::{Engine, Explore, Search};
use quorate::model::Model;
use quorate::reduce::Reductions;
use quorate::replay::Violation;
use quorate::replay::{Broken, Replay};

use crate::instance::model;

fn unreduced(model: &Model) -> Report {
    Explore::default().run(model, &Search::default(), &mut ())
}

/// With all reductions that go together, as from the command line.
fn reduced(model: &Model) -> Report {
    let (reductions, _) = Reductions::strongest(model);
    Explore::default().run(model, &Search::default().reductions(reductions.kept()), &mut ())
}

/// Holds with and without reductions, with these numbers of states, transitions and steps of the longest run.
#[track_caller]
fn check_holds(model: &Model, states: u64, transitions: u64, depth: u32) {
    let report = unreduced(model);
    report.assert_holds_without_faults();
    let coverage = &report.coverage;
    assert_eq!((coverage.states, coverage.transitions, coverage.depth), (states, transitions, depth));
    reduced(model).assert_holds_without_faults();
}

/// Violated, on a way of this length, which replays.
#[track_caller]
fn check_violated<'a>(model: &Model, report: &'a Report, property: &str, steps: usize) -> &'a Violation {
    let violation = report.assert_violated();
    assert_eq!(violation.broken.property(), property);
    assert_eq!(violation.trace.steps.len(), steps, "{violation}");
    let mut replay = Replay::new(model);
    for step in &violation.trace.steps {
        assert_eq!(replay.broken(), None, "broken before the last step:\n{violation}");
        replay.follow(step).unwrap_or_else(|error| panic!("{error}"));
    }
    assert_eq!(replay.broken().as_ref(), Some(&violation.broken));
    violation
}

/// What the property sees of each process at the end.
fn seen(violation: &Violation) -> Vec<&str> {
    let Broken::Property { observed, .. } = &violation.broken else { panic!("not a property:\n{violation}") };
    observed.iter().map(|(_, seen)| seen.as_str()).collect()
}

#[test]
fn one_proposal_among_paxos_nodes_is_as_large_as_in_the_paper() {
    check_holds(&model("paxos-node", &[], None), 26_332, 157_752, 22);
    assert_eq!(26_332, 4 * (2 + 20 + 9 * 9_u64.pow(3)));
    // The paper counts 157,332 transitions.
    assert!(157_752_u64.abs_diff(157_332) * 100 < 157_332);
    // Of two nodes both must answer, and each has 1 + 2^2 stages of its Accept and its Learns.
    check_holds(&model("paxos-node", &[("nodes", "2")], None), 2 * (2 + 8 + 25), 163, 13);
}

#[test]
fn two_proposals_among_paxos_nodes_agree() {
    let report = reduced(&model("paxos-node", &[("proposals", "2")], None));
    report.assert_holds_without_faults();
    assert_eq!((report.coverage.states, report.coverage.transitions), (1_866, 4_034));
}

#[test]
fn a_paxos_node_that_takes_the_last_reply_chooses_another_value() {
    let buggy = model("paxos-node", &[], Some("last-reply"));
    check_violated(&buggy, &reduced(&buggy), "agreement", 20);
    // With one proposal there is no other value to take.
    let alone = model("paxos-node", &[("proposals", "1")], Some("last-reply"));
    check_holds(&alone, 26_332, 157_752, 22);
}

#[test]
fn the_live_state_of_the_paper_is_reached() {
    for proposals in ["1", "2"] {
        let given = |property| [("proposals", proposals), ("property", property)];
        let chosen = model("paxos-node", &given("nothing-chosen"), None);
        check_violated(&chosen, &reduced(&chosen), "nothing chosen", 10);
        check_violated(&chosen, &unreduced(&chosen), "nothing chosen", 10);
        // The first two nodes have accepted the value of the first, and only the first has learnt it.
        let live = model("paxos-node", &given("first-not-alone"), None);
        for report in [reduced(&live), unreduced(&live)] {
            let violation = check_violated(&live, &report, "first not alone", 10);
            assert_eq!(seen(violation), ["(Some(1), Some(1))", "(Some(1), None)", "(None, None)"]);
        }
    }
}

#[test]
fn one_acceptor_decides_whoever_leads() {
    // Nobody is suspected: the first leader proposes, the acceptor accepts, three nodes learn.
    check_holds(&model("one-paxos", &[("suspicions", "0")], None), 2 + 8, 14, 5);
    check_holds(&model("one-paxos", &[], None), 3_666, 12_224, 17);
    // The second node is the acceptor, and does not want to lead as well.
    check_holds(&model("one-paxos", &[("suspicions", "2")], None), 3_666, 12_224, 17);
    check_holds(&model("one-paxos", &[("suspicions", "3")], None), 296_850, 1_063_148, 29);
    reduced(&model("one-paxos", &[("nodes", "4"), ("suspicions", "2")], None)).assert_holds();
}

#[test]
fn a_leader_that_takes_itself_for_the_acceptor_chooses_alone() {
    let buggy = model("one-paxos", &[], Some("init-increment"));
    check_violated(&buggy, &unreduced(&buggy), "agreement", 12);
    check_violated(&buggy, &reduced(&buggy), "agreement", 12);
    // A new leader reads the acceptor in the utility; without one there is nobody to disagree with.
    let undisturbed = model("one-paxos", &[("suspicions", "0")], Some("init-increment"));
    check_holds(&undisturbed, 2 + 8, 14, 5);
}

#[test]
fn all_but_the_first_node_choose_the_value_of_a_new_leader() {
    for bug in [None, Some("init-increment")] {
        let live = model("one-paxos", &[("property", "first-not-left-out")], bug);
        for report in [unreduced(&live), reduced(&live)] {
            let violation = check_violated(&live, &report, "first not left out", 10);
            assert_eq!(seen(violation), ["{}", "{3}", "{3}"]);
        }
    }
}

#[test]
fn children_and_siblings_are_disjoint() {
    check_holds(&model("rand-tree", &[("restless", "0")], None), 296, 651, 11);
    check_holds(&model("rand-tree", &[], None), 1_293, 3_113, 16);
    check_holds(&model("rand-tree", &[("restless", "3")], None), 57_606, 160_161, 24);
    check_holds(&model("rand-tree", &[("degree", "1"), ("restless", "3")], None), 4_296, 11_250, 23);
    check_holds(&model("rand-tree", &[("degree", "3"), ("restless", "3")], None), 93_896, 303_960, 25);
    check_holds(&model("rand-tree", &[("nodes", "5")], None), 30_316, 95_273, 21);
}

#[test]
fn a_sibling_that_becomes_a_child_must_be_one_only() {
    for (bug, steps) in [("keep-sibling", 12), ("late-sibling", 13)] {
        let buggy = model("rand-tree", &[], Some(bug));
        check_violated(&buggy, &unreduced(&buggy), "disjoint", steps);
        check_violated(&buggy, &reduced(&buggy), "disjoint", steps);
        // A node changes its place only if it is restless, and nobody has siblings in a tree that is a list.
        for given in [("restless", "0"), ("degree", "1")] {
            unreduced(&model("rand-tree", &[given], Some(bug))).assert_holds_without_faults();
        }
    }
}
