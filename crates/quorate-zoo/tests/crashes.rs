//! Crashes as steps and crashes that need none reach the same system states (Saissi et al.; docs/theory/faults.md 2).

use quorate::engine::{Count, Engine, Explore, Search};
use quorate::report::{Report, Verdict};
use quorate::world::{CrashSends, Crashes, World};

use crate::instance::model;

fn check(protocol: &str, settings: &[(&str, &str)], world: World) -> Report {
    let model = model(protocol, settings, None).in_world(world).expect("a world that fits");
    Explore::default().count(Count::SystemStates).run(&model, &Search::default(), &mut ())
}

fn explicit(role: &str, prone: usize, sends: CrashSends) -> World {
    World::default().crashes(Crashes::Explicit { prone: vec![(role.to_string(), prone)], sends })
}

fn system_states(report: &Report) -> Option<u64> {
    report.explored().and_then(|explored| explored.system_states)
}

#[test]
fn paxos_with_crashes_as_steps() {
    let stale = [("stale", "keep")];
    let implicit = check("paxos", &stale, World::default());
    assert_eq!(implicit.coverage.states, 8649);
    for (sends, counts) in
        [(CrashSends::All, [17_198, 34_205, 68_042]), (CrashSends::Some, [21_215, 51_033, 121_995])]
    {
        for (prone, states) in (1..).zip(counts) {
            let report = check("paxos", &stale, explicit("acceptor", prone, sends));
            assert!(matches!(report.verdict, Verdict::Holds));
            assert_eq!(report.coverage.states, states, "{sends:?}, {prone} crash-prone");
            assert_eq!(system_states(&report), system_states(&implicit), "{sends:?}, {prone} crash-prone");
        }
    }
}
