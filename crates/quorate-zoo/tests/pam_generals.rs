//! PAM, the Byzantine generals and Paxos with interchangeable leaders: exact counts, verdicts, planted bugs.
//!
//! The counts of the interchangeable leaders are those of rumur for the model named in their header. Those of
//! PAM are powers of the number of states of one ballot, as its header explains; all others were seen by this
//! search alone, and are here to be noticed when they change.

use quorate::Report;
use quorate::engine::{Engine, Explore, Search};
use quorate::model::Model;
use quorate::replay::Replay;
use quorate::world::{StepKind, World};

use crate::instance::model;

type Given<'a> = &'a [(&'a str, &'a str)];

fn search(model: &Model) -> Report {
    Explore::default().run(model, &Search::default(), &mut ())
}

fn restarts(times: usize) -> World {
    World::default().restarts(vec![("node".to_string(), times)])
}

#[track_caller]
fn check_holds(model: &Model, states: u64, transitions: u64) {
    let report = search(model);
    report.assert_holds_without_faults();
    assert_eq!((report.coverage.states, report.coverage.transitions), (states, transitions));
}

/// Violated, on a shortest way of this length, which replays.
#[track_caller]
fn check_violated(model: &Model, property: &str, steps: usize) -> Report {
    let report = search(model);
    let violation = report.assert_violated();
    assert_eq!(violation.broken.property(), property);
    assert_eq!(violation.trace.steps.len(), steps, "{violation}");
    let mut replay = Replay::new(model);
    for step in &violation.trace.steps {
        assert_eq!(replay.broken(), None, "broken before the last step:\n{violation}");
        replay.follow(step).unwrap_or_else(|error| panic!("{error}"));
    }
    assert_eq!(replay.broken().as_ref(), Some(&violation.broken));
    report
}

const INTERCHANGEABLE: (&str, &str) = ("leaders", "interchangeable");

#[test]
fn interchangeable_leaders_have_the_counts_of_rumur() {
    check_holds(&model("paxos", &[INTERCHANGEABLE], None), 1_413_905, 6_607_864);
    check_holds(&model("paxos", &[INTERCHANGEABLE, ("stale", "keep")], None), 355_657, 1_437_964);
}

#[test]
fn the_bugs_of_paxos_are_found_with_interchangeable_leaders() {
    // Each accept is a step of the learner's here, and each reply one of a leader's.
    let given: Given<'_> = &[INTERCHANGEABLE];
    check_violated(&model("paxos", given, Some("always-accept")), "agreement", 18);
    check_violated(&model("paxos", given, Some("learner-ignores-value")), "agreement", 16);
    check_violated(&model("paxos", given, Some("first-reply")), "agreement", 18);
}

#[test]
fn not_all_that_is_accepted_is_chosen() {
    let property = ("property", "chosen-is-accepted");
    check_violated(&model("paxos", &[property], None), "chosen is accepted", 10);
    check_violated(&model("paxos", &[property, INTERCHANGEABLE], None), "chosen is accepted", 12);
}

#[test]
fn oral_messages_need_more_than_three_generals_a_traitor() {
    check_holds(&model("byzantine-generals", &[], None), 191, 354);
    check_holds(&model("byzantine-generals", &[("generals", "5")], None), 789, 1_826);
    check_holds(&model("byzantine-generals", &[("generals", "6")], None), 3_191, 8_862);
    let obeyed = "IC2: a loyal commander is obeyed";
    check_violated(&model("byzantine-generals", &[("generals", "3")], None), obeyed, 5);
    check_violated(&model("byzantine-generals", &[("traitors", "2")], None), obeyed, 10);
    check_violated(&model("byzantine-generals", &[("generals", "5"), ("traitors", "2")], None), obeyed, 14);
}

#[test]
fn generals_without_traitors_obey() {
    check_holds(&model("byzantine-generals", &[("generals", "3"), ("traitors", "0")], None), 9, 10);
    check_holds(&model("byzantine-generals", &[("traitors", "0")], None), 17, 26);
}

#[test]
fn each_bug_of_the_generals_breaks_one_condition() {
    let short = model("byzantine-generals", &[], Some("one-round-short"));
    check_violated(&short, "IC1: loyal lieutenants agree", 3);
    let any = model("byzantine-generals", &[], Some("any-attack"));
    check_violated(&any, "IC2: a loyal commander is obeyed", 6);
}

#[test]
fn the_ballots_of_pam_multiply() {
    check_holds(&model("pam", &[("ballots", "1")], None), 37, 55);
    check_holds(&model("pam", &[("ballots", "2")], None), 37 * 37, 2_280);
    check_holds(&model("pam", &[], None), 37 * 37 * 37, 85_320);
    check_holds(&model("pam", &[("learners", "all")], None), 231_469, 484_865);
    check_holds(&model("pam", &[("nodes", "2")], None), 136, 148);
    check_holds(&model("pam", &[("nodes", "5"), ("ballots", "2")], None), 954_529, 2_435_534);
}

#[test]
fn a_ledger_written_in_steps_has_more_states() {
    let in_steps = |ballots| model("pam", &[("ledger", "in-steps"), ("ballots", ballots)], None);
    check_holds(&in_steps("1"), 69, 107);
    check_holds(&in_steps("2"), 69 * 69, 10_002);
    check_holds(&in_steps("3"), 69 * 69 * 69, 844_266);
    // A decree that is passed and not written is forgotten.
    check_holds(&in_steps("2").in_world(restarts(1)).unwrap(), 137 * 137, 43_812);
}

#[test]
fn pam_survives_restarts() {
    let restarting = |given: Given<'_>, times| model("pam", given, None).in_world(restarts(times)).unwrap();
    check_holds(&restarting(&[], 1), 57 * 57 * 57, 367_884);
    // A node leads one ballot of three at most, and has nothing else to lose.
    check_holds(&restarting(&[], 2), 57 * 57 * 57, 367_884);
    check_holds(&restarting(&[("learners", "all")], 1), 631_353, 1_508_709);
}

#[test]
fn pam_that_loses_its_state_passes_two_decrees() {
    let lossy = model("pam", &[], Some("lost-state"));
    assert_eq!(lossy.world(), &restarts(1));
    let report = check_violated(&lossy, "agreement", 11);
    let steps = &report.assert_violated().trace.steps;
    assert_eq!(steps.iter().filter(|step| step.kind == StepKind::Restart).count(), 1);
    // Two ballots are enough, one is not, and without a restart there is nothing to lose.
    check_violated(&model("pam", &[("ballots", "2")], Some("lost-state")), "agreement", 11);
    search(&model("pam", &[("ballots", "1")], Some("lost-state"))).assert_holds_without_faults();
    check_holds(&lossy.in_world(World::default()).unwrap(), 37 * 37 * 37, 85_320);
}

#[test]
fn pam_that_takes_the_first_value_passes_two_decrees() {
    check_violated(&model("pam", &[], Some("first-value")), "agreement", 13);
    // Two different decrees must have been accepted before a third ballot.
    search(&model("pam", &[("ballots", "2")], Some("first-value"))).assert_holds_without_faults();
}
