//! PAM's second bug, as the DEMETER paper found it: from stepping stones, where a search from the beginning ends at the
//! same limit with nothing.

use quorate::engine::{Components, Engine, Explore, Search, Staged};
use quorate::model::Model;
use quorate::replay::Replay;
use quorate::report::{Report, Stages, Stopped, Verdict};

use crate::instance::{model, protocol};

fn in_stages() -> Staged<Components> {
    Staged::new(Components::default(), 10).stone_states(400)
}

fn limited(engine: &dyn Engine, model: &Model, states_max: u64) -> Report {
    engine.run(model, &Search::default().states_max(states_max), &mut ())
}

/// The bug that takes three ballots, where there are six.
fn first_value() -> Model {
    model("pam", &[("ballots", "6")], Some("first-value"))
}

#[test]
fn the_second_bug_of_pam_is_found_from_stepping_stones() {
    let model = first_value();
    let from_the_beginning = limited(&Components::default(), &model, 2_500);
    assert!(matches!(from_the_beginning.verdict, Verdict::Unknown(Stopped::States(2_500))));
    assert_eq!(from_the_beginning.stages(), None);

    let report = limited(&in_stages(), &model, 2_500);
    let violation = report.assert_violated();
    assert!(report.coverage.states <= 2_500, "{} states", report.coverage.states);
    let Stages { stages, stones, passed } = report.stages().expect("it is searched in stages");
    assert!(stages > 1 && stones > 0 && passed > Some(0), "{stages} stages, {stones} stones, {passed:?}");
    let mut replay = Replay::new(&model);
    for step in &violation.trace.steps {
        assert_eq!(replay.broken(), None, "broken before the last step:\n{violation}");
        replay.follow(step).unwrap_or_else(|error| panic!("{error}"));
    }
    assert_eq!(replay.broken().map(|broken| broken.property().to_string()), Some("agreement".to_string()));
}

/// What is not broken is never said to hold because of stages that find nothing.
#[test]
fn stages_prove_nothing_unless_the_first_is_complete() {
    let sound = model("pam", &[("ballots", "6")], None);
    let report = limited(&in_stages(), &sound, 2_500);
    let Verdict::Unknown(stopped @ Stopped::Stages { .. }) = &report.verdict else {
        panic!("{:?}", report.verdict);
    };
    assert!(stopped.to_string().starts_with("only "), "{stopped}");
    let small = model("pam", &[("ballots", "1")], None);
    let report = limited(&in_stages(), &small, 2_500);
    report.assert_holds_without_faults();
    assert_eq!(report.stages(), Some(Stages { stages: 1, stones: 0, passed: None }));
    let plain = limited(&Components::default(), &small, 2_500);
    assert_eq!((report.coverage, report.components()), (plain.coverage, plain.components()));
}

/// The first bug needs no stones.
#[test]
fn the_first_bug_of_pam_is_found_from_the_beginning() {
    let protocol = protocol("pam");
    let arguments = protocol.arguments([], Some("lost-state")).unwrap();
    let model = protocol.instance(&arguments).unwrap();
    let staged = Staged::new(Components::default(), 10);
    let engines: [(&dyn Engine, _); 2] = [(&Components::default(), None), (&staged, Some(Some(0)))];
    for (engine, passed) in engines {
        let report = limited(engine, &model, 100_000);
        assert_eq!(report.assert_violated().broken.property(), "agreement");
        assert_eq!(report.stages().map(|stages| stages.passed), passed);
    }
}

/// The same without components: stages are for every engine.
#[test]
fn global_states_find_it_from_stones_too() {
    let model = first_value();
    let engine = Staged::new(Explore::default(), 4).stone_states(4_000);
    let report = limited(&engine, &model, 20_000);
    let violation = report.assert_violated();
    assert!(report.stages().and_then(|stages| stages.passed) > Some(0), "{:?}", report.stages());
    let mut replay = Replay::new(&model);
    violation.trace.steps.iter().for_each(|step| replay.follow(step).unwrap());
    assert_eq!(replay.broken().as_ref(), Some(&violation.broken));
}
