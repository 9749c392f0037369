//! PAM's second bug, as the DEMETER paper found it: from stepping stones, where a search from the beginning ends at the
//! same limit with nothing.

use quorate::engine::{self, Engine, Search, SteppingStones};
use quorate::model::Model;
use quorate::replay::Replay;
use quorate::report::{Stages, Stopped, Verdict};

use crate::instance::{model, protocol};

const IN_STAGES: SteppingStones = SteppingStones { per_stage: 10, stage_states: Some(400) };

fn search(states_max: u64, stones: Option<SteppingStones>) -> Search {
    Search { engine: Engine::Dir, states_max: Some(states_max), stones, ..Search::default() }
}

/// The bug that takes three ballots, where there are six.
fn first_value() -> Model {
    model("pam", &[("ballots", "6")], Some("first-value"))
}

#[test]
fn the_second_bug_of_pam_is_found_from_stepping_stones() {
    let model = first_value();
    let from_the_beginning = engine::search(&model, &search(2_500, None), &mut ());
    assert!(matches!(from_the_beginning.verdict, Verdict::Unknown(Stopped::States(2_500))));
    assert_eq!(from_the_beginning.stages, None);

    let report = engine::search(&model, &search(2_500, Some(IN_STAGES)), &mut ());
    let violation = report.assert_violated();
    assert!(report.coverage.states <= 2_500, "{} states", report.coverage.states);
    let Stages { stages, stones, passed } = report.stages.expect("it is searched in stages");
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
    let report = engine::search(&sound, &search(2_500, Some(IN_STAGES)), &mut ());
    let Verdict::Unknown(stopped @ Stopped::Stages { .. }) = &report.verdict else {
        panic!("{:?}", report.verdict);
    };
    assert!(stopped.to_string().starts_with("only "), "{stopped}");
    let small = model("pam", &[("ballots", "1")], None);
    let report = engine::search(&small, &search(2_500, Some(IN_STAGES)), &mut ());
    report.assert_holds();
    assert_eq!(report.stages, Some(Stages { stages: 1, stones: 0, passed: None }));
    let plain = engine::search(&small, &search(2_500, None), &mut ());
    assert_eq!((report.coverage, report.interfaces), (plain.coverage, plain.interfaces));
}

/// The first bug needs no stones.
#[test]
fn the_first_bug_of_pam_is_found_from_the_beginning() {
    let protocol = protocol("pam");
    let arguments = protocol.arguments([], Some("lost-state")).unwrap();
    let model = protocol.instance(&arguments).unwrap();
    for stones in [None, Some(SteppingStones { stage_states: None, ..IN_STAGES })] {
        let report = engine::search(&model, &Search { stones, ..search(100_000, None) }, &mut ());
        assert_eq!(report.assert_violated().broken.property(), "agreement");
        assert_eq!(report.stages.map(|stages| stages.passed), stones.map(|_| Some(0)));
    }
}

/// The same without components: stages are for every engine.
#[test]
fn global_states_find_it_from_stones_too() {
    let model = first_value();
    let plain = Search { states_max: Some(20_000), ..Search::default() };
    let stones = Some(SteppingStones { per_stage: 4, stage_states: Some(4_000) });
    let report = engine::search(&model, &Search { stones, ..plain }, &mut ());
    let violation = report.assert_violated();
    assert!(report.stages.and_then(|stages| stages.passed) > Some(0), "{:?}", report.stages);
    let mut replay = Replay::new(&model);
    violation.trace.steps.iter().for_each(|step| replay.follow(step).unwrap());
    assert_eq!(replay.broken().as_ref(), Some(&violation.broken));
}
