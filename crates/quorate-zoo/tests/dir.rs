//! The engine `components` on the zoo: the figures of the DEMETER paper and of known counts of runs, every planted bug
//! that it can look for, and what it refuses.

use std::time::{Duration, Instant};

use quorate::engine::components::{ComponentCounts, Partition};
use quorate::engine::{Components, Engine, Explore, Refusal, Search};
use quorate::model::Model;
use quorate::replay::Replay;
use quorate::report::{Coverage, Stopped, Verdict, Watch};
use quorate::world::{Channel, World};
use quorate::{ProcessId, Report};

use crate::instance::{model, protocol};

type Given = &'static [(&'static str, &'static str)];

fn holding(report: &Report) -> ComponentCounts {
    report.assert_holds_without_faults();
    report.components().expect("it explores components")
}

fn refuses(model: &Model) -> Option<Refusal> {
    Components::default().refuses(model, &Search::default())
}

/// Holds with these counts: how many runs there are for each local trace.
#[track_caller]
fn check(name: &str, given: Given, local_traces: u128, global_skeletons: u64, global_traces: u128) -> u128 {
    let found = holding(&Components::default().run(&model(name, given, None), &Search::default(), &mut ()));
    let expected = ComponentCounts {
        local_traces: Some(local_traces),
        global_skeletons,
        global_traces: Some(global_traces),
        enumerated_runs: 0,
        ..found
    };
    assert_eq!(found, expected, "{name} {given:?}");
    global_traces / local_traces
}

#[test]
fn the_accumulator_has_the_figures_of_the_paper() {
    check("accumulator", &[], 14, 2, 18);
    check("accumulator", &[("sequences", "1"), ("servers", "3"), ("numbers", "2")], 10, 1, 27);
    check("accumulator", &[("sequences", "1"), ("servers", "3"), ("numbers", "4")], 16, 1, 125);
    check("accumulator", &[("sequences", "1"), ("servers", "4"), ("numbers", "3")], 17, 1, 256);
}

#[test]
fn paxos_has_the_known_numbers_of_runs() {
    check("paxos", &[("proposers", "1"), ("stale", "keep")], 12, 6, 18);
    check("paxos", &[("stale", "keep")], 88, 312, 1_800);
    check("paxos", &[], 202, 1_401, 8_568);
    check("paxos", &[("stale", "keep"), ("transitions", "single")], 1_366, 312, 167_040);
}

#[test]
fn joins_have_these_states_and_runs() {
    for (name, nodes, states) in
        [("chord", "2", 280), ("chord", "3", 71_424), ("pastry", "2", 79), ("pastry", "3", 57_044)]
    {
        let protocol = protocol(name);
        let model = protocol.instance(&protocol.arguments([("nodes", nodes)], None).unwrap()).unwrap();
        let report = Explore::default().run(&model, &Search::default(), &mut ());
        report.assert_holds_without_faults();
        assert_eq!(report.coverage.states, states, "{name} with {nodes} nodes");
    }
    check("chord", &[("nodes", "2")], 120, 3, 1_019);
    check("pastry", &[("nodes", "2")], 26, 5, 75);
}

/// The paper's ratios are 1,587, 132 and 97.8.
#[test]
fn three_nodes_have_many_more_runs_than_local_traces() {
    assert!(check("chord", &[], 54_673, 76, 101_580_210) > 1_000);
    assert!(check("pastry", &[], 21_403, 5_870, 8_172_939) > 100);
    assert!(check("pam", &[("ledger", "in-steps")], 824, 5_476, 164_328) > 100);
}

/// One component for each philosopher with the fork on the left; the runs are the same.
#[test]
fn groups_of_processes_have_the_same_runs() {
    let model = model("dining-philosophers", &[], None);
    let ids: Vec<ProcessId> = model.ids().collect();
    let seats: Vec<Vec<ProcessId>> = (0..3).map(|seat| vec![ids[seat], ids[seat + 3]]).collect();
    let seats = Partition::groups(&model, &seats).unwrap();
    let apart = holding(&Components::default().run(&model, &Search::default(), &mut ()));
    let seated = Components::default().partition(seats);
    let seated = holding(&seated.run(&model, &Search::default(), &mut ()));
    assert_eq!(seated.global_traces, apart.global_traces);
    assert!(Partition::groups(&model, &[ids[..2].to_vec()]).is_none(), "somebody is missing");
    assert!(Partition::groups(&model, &[ids.clone(), ids]).is_none(), "everybody is there twice");
}

/// Four terms of Raft have more local traces than can be gone through.
const FAR_AWAY: [&str; 1] = ["commit-by-counting"];

#[test]
fn every_bug_that_it_can_look_for_is_found() {
    let mut found = 0;
    for protocol in quorate_zoo::protocols() {
        for bug in protocol.bugs() {
            let arguments = protocol.arguments([], Some(bug.name)).unwrap();
            let model = protocol.instance(&arguments).unwrap().in_world(bug.world.clone()).unwrap();
            if refuses(&model).is_some() || FAR_AWAY.contains(&bug.name) {
                continue;
            }
            let report = Components::default().run(&model, &Search::default(), &mut Patience::new(300));
            let Verdict::Violated(violation) = report.verdict else {
                panic!("{} with bug {}: {}", protocol.name(), bug.name, report.verdict.word());
            };
            let mut replay = Replay::new(&model);
            violation.trace.steps.iter().for_each(|step| replay.follow(step).unwrap());
            assert_eq!(replay.broken().as_ref(), Some(&violation.broken));
            found += 1;
        }
    }
    assert!(found > 15, "only {found} bugs were looked for");
}

/// Stops a search that takes too long.
struct Patience(Instant, u64);

impl Patience {
    fn new(seconds: u64) -> Self {
        Patience(Instant::now(), seconds)
    }
}

impl Watch for Patience {
    fn progress(&mut self, _: &Coverage) -> Option<Stopped> {
        let limit = Duration::from_secs(self.1);
        (self.0.elapsed() > limit).then_some(Stopped::Time(limit))
    }
}

#[test]
fn limits_end_in_unknown() {
    let search = Search::default().states_max(100);
    let report = Components::default().run(&model("paxos", &[], None), &search, &mut ());
    assert!(matches!(report.verdict, Verdict::Unknown(Stopped::States(100))), "{:?}", report.verdict);
    let found = report.components().unwrap();
    assert!(found.global_skeletons > 0 && found.global_traces.is_none() && found.local_traces.is_none());
    let search = Search::default().bytes_max(100_000);
    let report = Components::default().run(&model("paxos", &[], None), &search, &mut ());
    assert!(matches!(report.verdict, Verdict::Unknown(Stopped::Memory(100_000))), "{:?}", report.verdict);
    let report = Components::default().run(
        &model("pam", &[("ballots", "4")], None),
        &Search::default(),
        &mut Patience::new(1),
    );
    assert!(matches!(report.verdict, Verdict::Unknown(Stopped::Time(_))), "{:?}", report.verdict);
}

#[test]
fn worlds_that_it_does_not_know_are_refused() {
    let in_world = |world| model("accumulator", &[], None).in_world(world).unwrap();
    let refused = |world| refuses(&in_world(world)).unwrap().to_string();
    let mailbox = World::default().channel(Channel::Mailbox);
    assert_eq!(refused(mailbox), "it knows bag and fifo channels, not mailbox");
    let losses = World::default().losses(1);
    assert_eq!(refused(losses), "it knows no budgets of lost or doubled messages");
    assert!(refuses(&model("regular-storage", &[], None)).unwrap().to_string().contains("'regularity'"));
    assert_eq!(refuses(&in_world(World::default().channel(Channel::Fifo))), None);
}
