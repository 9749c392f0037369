//! Components that are systems of components, where it is easy to lose something: searches that are stopped anywhere
//! and go on, planted bugs and panics inside, restarts.

use std::sync::{Arc, Mutex};

use quorate::engine::components::{LogStore, Part, Partition, ProgressLog};
use quorate::engine::{Components, Engine, Search};
use quorate::model::Model;
use quorate::replay::Replay;
use quorate::report::{Report, Verdict};
use quorate::world::{Channel, World};
use quorate::{ProcessId, Role, RoleName, System, Transitions};
use quorate_testkit::corpus::{STATES_MAX, for_each_seed};
use quorate_testkit::maximal_runs::{self, Runs};
use quorate_testkit::naive::search;
use quorate_testkit::random::RandomProtocol;
use quorate_testkit::tier::{RESTARTS, RESUMED};

/// Searches with more points are skipped.
const POINTS_MAX: u64 = 2_000;

fn each(ids: &[ProcessId]) -> Vec<Part> {
    ids.iter().map(|id| Part::Processes(vec![*id])).collect()
}

/// Two systems, one system of everything, one with neighbours apart, and a system inside of a system.
fn systems(model: &Model) -> Vec<Partition> {
    let ids: Vec<ProcessId> = model.ids().collect();
    let (half, last) = (ids.len() / 2, ids.len() - 1);
    let every_other = |from: usize| -> Vec<ProcessId> { ids.iter().skip(from).step_by(2).copied().collect() };
    let mut divisions = vec![
        vec![Part::System(each(&ids))],
        vec![Part::System(each(&every_other(0))), Part::System(each(&every_other(1)))],
    ];
    if ids.len() > 2 {
        divisions.push(vec![Part::System(each(&ids[..half])), Part::System(each(&ids[half..]))]);
        divisions.push(vec![
            Part::System(vec![Part::Processes(ids[..1].to_vec()), Part::System(each(&ids[1..last]))]),
            Part::Processes(ids[last..].to_vec()),
        ]);
    }
    divisions.iter().map(|parts| Partition::parts(model, parts).expect("all are there")).collect()
}

/// A violation is a run that does what it says.
fn is_replayed(model: &Model, report: &Report) -> bool {
    let Verdict::Violated(violation) = &report.verdict else { return false };
    let mut replay = Replay::new(model);
    violation.trace.steps.iter().all(|step| replay.follow(step).is_ok())
        && replay.broken().as_ref() == Some(&violation.broken)
}

/// A store in memory.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<Vec<u64>>>>);

impl LogStore for Memory {
    fn read(&mut self) -> Result<Vec<Vec<u64>>, String> {
        Ok(self.0.lock().expect("nobody panics").clone())
    }

    fn append(&mut self, record: &[u64]) -> Result<(), String> {
        self.0.lock().expect("nobody panics").push(record.to_vec());
        Ok(())
    }

    fn commit(&mut self) -> Result<(), String> {
        Ok(())
    }
}

/// What must be the same however often a search was stopped.
fn counts(report: &Report) -> String {
    let seen = report.components().map(|seen| (seen.local_traces, seen.global_skeletons, seen.global_traces));
    format!("{}, {seen:?}", report.verdict.word())
}

/// Stops a search after every so many records, and lets it go on. Returns in what it differs.
fn stopped_anywhere(model: &Model, components: &Partition) -> Option<Vec<String>> {
    let whole = Memory::default();
    let keeping = |memory: &Memory, states_max| {
        let engine =
            Components::default().partition(components.clone()).log(ProgressLog::new(memory.clone()));
        engine.run(model, &Search::default().states_max(states_max), &mut ())
    };
    let report = keeping(&whole, POINTS_MAX / 4);
    if report.verdict.word() != "holds" {
        return None;
    }
    let records = whole.0.lock().expect("nobody panics").clone();
    let mut differences = Vec::new();
    for kept in (0..=records.len()).step_by((records.len() / 8).max(1)) {
        let store = Memory(Arc::new(Mutex::new(records[..kept].to_vec())));
        let again = keeping(&store, 10 * POINTS_MAX);
        if counts(&again) != counts(&report) {
            let (before, now) = (counts(&report), counts(&again));
            differences.push(format!("{kept} of {}: {now}, not {before}", records.len()));
        }
        if records.len() == kept && store.0.lock().expect("nobody panics").len() != kept {
            differences.push("something is learned after the end".to_string());
        }
    }
    Some(differences)
}

/// Two pauses of this protocol's log are found again as one.
#[test]
fn a_log_with_two_numbers_for_one_event_is_read() {
    let model = RandomProtocol::new(1_000_017).without_properties().model();
    let stopped = systems(&model).iter().filter_map(|of| stopped_anywhere(&model, of)).collect::<Vec<_>>();
    assert!(!stopped.is_empty() && stopped.iter().all(Vec::is_empty), "{stopped:#?}");
}

#[test]
fn searches_of_systems_go_on_from_anywhere() {
    for channel in [Channel::Bag, Channel::Fifo] {
        let found = for_each_seed(RESUMED.seeds(), |seed| {
            let protocol = RandomProtocol::new(seed).without_properties();
            if protocol.cyclic() {
                return None;
            }
            let world = World::default().channel(channel);
            let model = protocol.model().in_world(world).expect("a world that fits");
            let of = systems(&model);
            let found: Vec<Vec<String>> = of.iter().filter_map(|of| stopped_anywhere(&model, of)).collect();
            Some(found)
        });
        let found: Vec<(u64, Vec<Vec<String>>)> =
            found.into_iter().filter_map(|(seed, found)| Some((seed, found?))).collect();
        let compared: usize = found.iter().map(|(_, found)| found.len()).sum();
        let differ: Vec<String> = found
            .iter()
            .flat_map(|(seed, found)| found.iter().flatten().map(move |line| format!("{seed}: {line}")))
            .collect();
        assert!(
            differ.is_empty(),
            "{channel}, {} of {compared}: {:#?}",
            differ.len(),
            &differ[..differ.len().min(8)]
        );
        assert!(compared >= RESUMED.least(81), "only {compared} were compared");
    }
}

/// Components with so many places are no longer soon explored.
const SOON_MAX: u64 = 10_000;

/// Every planted bug, with the processes in systems, as far as it is soon found.
#[test]
fn bugs_are_found_inside_of_systems() {
    let mut found = 0;
    let mut slow = Vec::new();
    for protocol in quorate_zoo::protocols() {
        for bug in protocol.bugs() {
            let arguments = protocol.arguments([], Some(bug.name)).unwrap();
            let model = protocol.instance(&arguments).unwrap().in_world(bug.world.clone()).unwrap();
            if Components::default().refuses(&model, &Search::default()).is_some() {
                continue;
            }
            for components in systems(&model) {
                let engine = Components::default().partition(components.clone());
                let search = Search::default().threads(2).states_max(SOON_MAX);
                let report = engine.run(&model, &search, &mut ());
                let name = format!("{} with bug {}, {components:?}", protocol.name(), bug.name);
                match report.verdict.word() {
                    "unknown" => slow.push(name),
                    "violated" => {
                        found += 1;
                        assert!(is_replayed(&model, &report), "{name}");
                    }
                    word => panic!("{name}: {word}"),
                }
            }
        }
    }
    assert!(found > 20, "only {found} were found, {} are slow: {slow:#?}", slow.len());
}

/// Restarts are steps that nobody sees, in a system as elsewhere.
#[test]
fn restarts_inside_of_systems() {
    let found = for_each_seed(RESTARTS.seeds(), |seed| {
        let protocol = RandomProtocol::for_worlds(seed);
        if protocol.cyclic() {
            return None;
        }
        let channel = if seed % 2 == 0 { Channel::Bag } else { Channel::Fifo };
        let plain = protocol.model();
        if !plain.monitors().is_empty() || protocol.forges() {
            return None;
        }
        let restarts = plain.roles().names().map(|role| (role.to_string(), 1)).collect();
        let model = plain.in_world(World::default().channel(channel).restarts(restarts)).ok()?;
        let found = search(&model, STATES_MAX)?;
        let runs = maximal_runs::count(&model, 5_000);
        let mut differences = Vec::new();
        let mut compared = 0;
        for components in systems(&model) {
            let engine = Components::default().partition(components.clone());
            let report = engine.run(&model, &Search::default().states_max(POINTS_MAX), &mut ());
            let counted = report.components().and_then(|seen| seen.global_traces);
            match (&report.verdict, runs) {
                (Verdict::Holds, _) if !found.broken.is_empty() => {
                    differences.push(format!("{components:?}: holds, but {:?}", found.broken));
                }
                (Verdict::Holds, Runs::Count(runs)) if counted != Some(runs) => {
                    differences.push(format!("{components:?}: {counted:?}, not {runs}"));
                }
                (Verdict::Violated(violation), _)
                    if !found.broken.contains_key(violation.broken.property())
                        || !is_replayed(&model, &report) =>
                {
                    differences.push(format!("{components:?}: {:?}", violation.broken));
                }
                (Verdict::Unknown(_), _) => continue,
                _ => {}
            }
            compared += 1;
        }
        Some((compared, differences))
    });
    let found: Vec<(u64, (usize, Vec<String>))> =
        found.into_iter().filter_map(|(seed, found)| Some((seed, found?))).collect();
    let compared: usize = found.iter().map(|(_, found)| found.0).sum();
    let differ: Vec<String> = found
        .iter()
        .flat_map(|(seed, (_, lines))| lines.iter().map(move |line| format!("{seed}: {line}")))
        .collect();
    assert!(differ.is_empty(), "{} of {compared}: {:#?}", differ.len(), &differ[..differ.len().min(8)]);
    assert!(compared >= RESTARTS.least(31), "only {compared} were compared");
}

/// Passes a number on to the next, which adds one; the last cannot bear what it gets after it has rested.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Link {
    at: usize,
    begins: bool,
    heard: u8,
}

const LINK: RoleName = RoleName::new("link");
const LINKS: usize = 4;

impl Role for Link {
    type Message = u8;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("begin").when(|link| link.begins).run(|link, out| {
            link.begins = false;
            let next = out.members(LINK)[1];
            out.send(next, 1);
        });
        t.message("pass").run(|link, received, out| {
            let number = *received;
            link.heard += 1;
            assert!(number < 4, "too much");
            let next = out.members(LINK)[(link.at + 1) % LINKS];
            out.send(next, number + 1);
        });
    }
}

#[test]
fn a_panic_inside_of_a_system_is_replayed() {
    let system = System::new().role(LINK, LINKS, |at| Link { at, begins: at == 0, heard: 0 });
    let model = system.build().unwrap();
    for components in systems(&model) {
        for threads in [1, 3] {
            let engine = Components::default().partition(components.clone());
            let report = engine.run(&model, &Search::default().threads(threads), &mut ());
            assert!(is_replayed(&model, &report), "{components:?}: {:?}", report.verdict);
        }
    }
}
