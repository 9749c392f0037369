//! The replicated log of the examples: the race that only shows across two components is found, without it everything
//! is explored, and Shuttle's own search of the whole program does not get there in ten times the runs.

#[path = "../examples/replicated_log/server.rs"]
mod server;

use server::system;

#[test]
fn the_race_is_found() {
    let outcome = system(1, 2, true).check();
    let violation = outcome.assert_violated();
    assert_eq!(
        violation.wrong,
        "'what is acknowledged is stored' is broken by [Some(Acknowledged(2)), Some(Has([1]))]"
    );
    let at = |text: &str| violation.lines.iter().position(|line| line.contains(text)).expect(text);
    let lost = "Checkpoint { entries: [1], up_to: 2 }";
    assert!(at("shows Has([1, 2])") < at("shows Acknowledged(2)"));
    assert!(at(&format!("sends {lost}")) < at(&format!("receives {lost}")));
}

#[test]
fn nothing_is_wrong_with_a_component_by_itself() {
    // What each shows is right for all that it knows; nothing panics and no one is stuck.
    let outcome = system(1, 2, true).without_invariants().check();
    outcome.assert_holds();
    assert!(outcome.counts.global_skeletons > 1);
}

#[test]
fn without_the_race_everything_is_explored_and_shuttle_alone_does_not_get_there() {
    let outcome = system(1, 2, false).check();
    outcome.assert_holds();
    let counts = outcome.counts;
    assert_eq!(
        (counts.local_traces, counts.global_skeletons, counts.global_traces),
        (Some(152), 40, Some(840))
    );
    let runs_max = usize::try_from(10 * outcome.runs).expect("few runs");
    let scheduler = shuttle::scheduler::DfsScheduler::new(Some(runs_max), false);
    let runs = shuttle::Runner::new(scheduler, shuttle::Config::new()).run(system(1, 2, false).whole());
    assert_eq!(runs, runs_max, "Shuttle is through");
}

#[test]
fn the_outcome_does_not_depend_on_how_many_are_explored_at_a_time() {
    for has_race in [true, false] {
        let alone = system(2, 1, has_race).explorers(1).check();
        assert!(alone.runs > 100, "{}", alone.runs);
        for explorers in [2, 3] {
            assert_eq!(system(2, 1, has_race).explorers(explorers).check(), alone, "{explorers} at a time");
        }
    }
}
