//! The protocols of LMC, whose processes are nodes with all roles: exact counts, verdicts, planted bugs.
//!
//! The counts of one proposal of `paxos-node` follow from the formula in its header, and its runs are as long as the
//! paper's. All others were seen by this search alone, and are here to be noticed when they change.

use quorate::Report;
use quorate::engine::{Search, explore};
use quorate::protocol::Model;
use quorate::reduce::Reductions;
use quorate::verdict::{Broken, Replay, Violation};

type Given<'a> = &'a [(&'a str, &'a str)];

fn model(name: &str, given: Given<'_>, bug: Option<&str>) -> Model {
    let protocols = quorate_zoo::protocols();
    let protocol = protocols.iter().find(|protocol| protocol.name() == name).expect("a protocol of the zoo");
    let arguments = protocol.arguments(given.iter().copied(), bug).unwrap_or_else(|error| panic!("{error}"));
    protocol.instance(&arguments).unwrap_or_else(|error| panic!("{error}"))
}

fn unreduced(model: &Model) -> Report {
    explore(model, &Search::default(), &mut ())
}

/// With all reductions that go together, as from the command line.
fn reduced(model: &Model) -> Report {
    let (reductions, _) = Reductions::strongest(model);
    explore(model, &Search { reductions, ..Search::default() }, &mut ())
}

/// Holds with and without reductions, with these numbers of states, transitions and steps of the longest run.
#[track_caller]
fn check_holds(model: &Model, states: u64, transitions: u64, depth: u32) {
    let report = unreduced(model);
    report.assert_holds();
    let coverage = &report.coverage;
    assert_eq!((coverage.states, coverage.transitions, coverage.depth), (states, transitions, depth));
    reduced(model).assert_holds();
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
    report.assert_holds();
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
