//! `explore` agrees with the naive checker, on random protocols and on the zoo, in every order, on any
//! number of threads, exactly or by fingerprint; and it says the same each time.

use std::hash::{Hash, Hasher};

use quorate::engine::{Engine, Explore, Order, Search, Visited};
use quorate::model::Model;
use quorate::protocol::Bug;
use quorate::report::{Coverage, Verdict};
use quorate::testing::{Sleep, Tuning};
use quorate::world::World;
use quorate::{Report, Role, RoleName, System, Transitions, majority_of, observe};
use quorate_testkit::compare::{differences, explored};
use quorate_testkit::corpus::{STATES_MAX, for_each_seed, one_seed};
use quorate_testkit::naive::{Findings, NO_PANIC, search};
use quorate_testkit::random::RandomProtocol;
use quorate_testkit::tier::AGREEMENT;

/// The zoo's default instances are small enough for the naive checker.
const ZOO_STATES_MAX: usize = 200_000;

/// Sizes so small that a small protocol is searched as a large one: shared between threads, in wide slots,
/// started again with the system split anew.
const SMALL: Tuning = Tuning { chunk: 2, narrow_max: 0, first_states: 30, ..Tuning::DEFAULT };

/// Searches which differ in the number of threads only must say the same.
fn searches() -> Vec<Vec<(Explore, Search)>> {
    let on_threads = |order, visited, tuning: Tuning, threads: &[usize]| -> Vec<(Explore, Search)> {
        let with = |threads: &usize| {
            // An engine that never comes to an end should fail, not hang.
            let search = Search::default().threads(*threads).states_max(2 * ZOO_STATES_MAX as u64);
            (Explore::default().order(order).visited(visited), search.tuning(tuning))
        };
        threads.iter().map(with).collect()
    };
    let awake = Tuning { sleep: Sleep::Nobody, ..Tuning::default() };
    vec![
        on_threads(Order::Breadth, Visited::Exact, Tuning::default(), &[1, 1, 2]),
        on_threads(Order::Breadth, Visited::Exact, SMALL, &[1, 2, 3]),
        on_threads(Order::Breadth, Visited::Exact, awake, &[1]),
        on_threads(Order::Depth, Visited::Exact, SMALL, &[1, 2, 3]),
        on_threads(Order::Breadth, Visited::Fingerprint, SMALL, &[1, 2]),
        on_threads(Order::Depth, Visited::Fingerprint, Tuning::default(), &[3]),
    ]
}

/// What the engine says, but for what depends on the machine.
fn saying(report: &Report) -> String {
    let coverage = Coverage { bytes: 0, ..report.coverage };
    format!("{:?} {coverage:?} {:?}", report.verdict, report.properties)
}

/// In what the searches differ from the naive checker and from each other.
fn disagreements(model: &Model, found: &Findings) -> Vec<String> {
    let mut all = Vec::new();
    for group in searches() {
        let mut said: Option<String> = None;
        for (engine, search) in group {
            let mut differ = match explored(model, &engine, &search) {
                Err(panicked) => vec![panicked],
                Ok(report) => {
                    let mut differ = differences(model, found, (&engine, &search), &report);
                    let says = saying(&report);
                    if said.get_or_insert_with(|| says.clone()) != &says {
                        differ.push(format!("first it said {}, then {says}", said.as_deref().unwrap_or("")));
                    }
                    differ
                }
            };
            let how = format!("{:?} {:?} on {} threads", engine.order, engine.visited, search.threads);
            all.extend(differ.drain(..).map(|line| format!("{how}: {line}")));
        }
    }
    all
}

/// What came of one protocol.
struct Compared {
    violated: bool,
    counted: bool,
    /// In how many ways it was searched.
    searches: usize,
    disagreements: Vec<String>,
}

/// Compares a protocol as it is and, if a property breaks, without its properties, so that its states are
/// counted all the same. `None` if it is too large.
fn compare(protocol: &RandomProtocol) -> Option<Compared> {
    let model = protocol.model();
    let mut found = search(&model, STATES_MAX)?;
    let mut all = disagreements(&model, &found);
    let violated = !found.broken.is_empty();
    found.broken.retain(|property, _| property == NO_PANIC);
    if violated {
        let bare = disagreements(&protocol.without_properties().model(), &found);
        all.extend(bare.into_iter().map(|line| format!("without properties: {line}")));
    }
    let ways: usize = searches().iter().map(Vec::len).sum();
    let searches = ways * (1 + usize::from(violated));
    Some(Compared { violated, counted: found.broken.is_empty(), searches, disagreements: all })
}

#[test]
fn random_protocols() {
    let results = for_each_seed(AGREEMENT.seeds(), |seed| compare(&RandomProtocol::new(seed)));
    let compared = || results.iter().filter_map(|(seed, compared)| Some((seed, compared.as_ref()?)));
    let (count, skipped) = (compared().count(), results.len() - compared().count());
    let violated = compared().filter(|(_, compared)| compared.violated).count();
    let counted = compared().filter(|(_, compared)| compared.counted).count();
    let searches: usize = compared().map(|(_, compared)| compared.searches).sum();
    println!("{count} protocols compared, {violated} of them violated, {counted} counted; {skipped} skipped");
    println!("{searches} searches compared");
    let disagreeing: Vec<String> = compared()
        .filter(|(_, compared)| !compared.disagreements.is_empty())
        .map(|(seed, compared)| {
            format!(
                "seed {seed}: {}\n  QUORATE_SEED={seed} cargo test -p quorate-testkit --test main agreement::one_seed -- --nocapture",
                compared.disagreements[0]
            )
        })
        .collect();
    let first: Vec<&str> = disagreeing.iter().take(5).map(String::as_str).collect();
    assert!(disagreeing.is_empty(), "{} protocols disagree:\n{}", disagreeing.len(), first.join("\n"));
    assert!(count >= AGREEMENT.least(2_000), "only {count} protocols were compared");
}

/// Reproduces one protocol of the above: the one that `QUORATE_SEED` names.
#[test]
fn one_seed_in_detail() {
    let seed = one_seed().unwrap_or(0);
    let protocol = RandomProtocol::new(seed);
    println!("{protocol:#?}");
    let Some(found) = search(&protocol.model(), STATES_MAX) else {
        println!("seed {seed} has more than {STATES_MAX} states");
        return;
    };
    println!(
        "seed {seed}, {} states, {} transitions, {} terminal, depth {}, {} local steps, broken: {:?}",
        found.depths.len(),
        found.edges.len(),
        found.terminal_states,
        found.depth(),
        found.local_steps.len(),
        found.broken
    );
    let all = compare(&protocol).map_or(Vec::new(), |compared| compared.disagreements);
    assert!(all.is_empty(), "seed {seed}:\n{}", all.join("\n"));
}

#[test]
fn the_zoo_and_its_bugs() {
    for protocol in quorate_zoo::protocols() {
        // The naive checker knows no worlds, and in its own, or with its own parameters, a bug has more states than
        // it could visit.
        let plain = |bug: &&Bug| bug.world == World::default() && bug.parameters.is_empty();
        let bugs = protocol.bugs().iter().filter(plain);
        let bugs = bugs.map(|bug| Some(bug.name));
        for bug in std::iter::once(None).chain(bugs) {
            let arguments = protocol.arguments([], bug).unwrap();
            let model = protocol.instance(&arguments).unwrap();
            let name = format!("{} with bug {bug:?}", protocol.name());
            let found = search(&model, ZOO_STATES_MAX)
                .unwrap_or_else(|| panic!("{name} has more than {ZOO_STATES_MAX} states"));
            println!("{name}: {} states, broken: {:?}", found.depths.len(), found.broken);
            assert_eq!(found.broken.is_empty(), bug.is_none(), "{name} breaks {:?}", found.broken);
            let all = disagreements(&model, &found);
            assert!(all.is_empty(), "{name}:\n{}", all.join("\n"));
        }
    }
}

/// Levels of many thousand states, which several threads share; those of the random protocols are so small
/// that one thread may well do them all.
#[test]
fn paxos_by_single_messages() {
    let protocols = quorate_zoo::protocols();
    let paxos = protocols.iter().find(|protocol| protocol.name() == "paxos").unwrap();
    let model = paxos.instance(&paxos.arguments([("transitions", "single")], None).unwrap()).unwrap();
    let found = search(&model, ZOO_STATES_MAX).unwrap();
    let widest = found.depths.chunk_by(|a, b| a == b).map(<[u32]>::len).max().unwrap();
    assert!(widest > 10_000, "no level has more than {widest} states");
    let all = disagreements(&model, &found);
    assert!(all.is_empty(), "{}", all.join("\n"));
}

/// A message, and a local state, that hash like all others: legal, and the worst case for a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Blunt(u8);

impl Hash for Blunt {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

const BLUNT: RoleName = RoleName::new("blunt");

impl Role for Blunt {
    type Message = Blunt;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("send").when(|b| b.0 < 2).run(|b, out| {
            out.send_all(BLUNT, *b);
            b.0 += 1;
        });
        t.message("add").of(|b, m| m.0 < 2 && b.0 < 4).run(|b, m, _| b.0 += m.0 + 1);
        t.quorum("meet", majority_of(BLUNT)).of(|_, m| Some(m.0)).run(|b, ms, _| b.0 |= 4 + ms.first().0);
    }
}

/// Values whose hashes collide are distinguished; fingerprints cannot do that, and do not promise it.
#[test]
fn equal_hashes_do_not_confuse_an_exact_search() {
    let blunt = || System::new().role(BLUNT, 2, |_| Blunt(0));
    let holds = blunt().build().unwrap();
    let breaks = blunt().invariant("low", observe(|b: &Blunt| b.0), |seen| seen.iter().all(|seen| *seen < 6));
    for model in [holds, breaks.build().unwrap()] {
        let found = search(&model, ZOO_STATES_MAX).unwrap();
        assert_eq!(found.broken.is_empty(), model.properties().is_empty());
        let exact = |(engine, _): &(Explore, Search)| engine.visited == Visited::Exact;
        for (engine, search) in searches().into_iter().flatten().filter(exact) {
            let report = explored(&model, &engine, &search).unwrap();
            let differ = differences(&model, &found, (&engine, &search), &report);
            assert_eq!(differ, Vec::<String>::new(), "{engine:?} {search:?}");
        }
    }
}

/// Counts, and lets the process two places further on count after it: processes in pairs, which a good
/// split keeps together although they do not stand together.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Counter {
    leads: bool,
    count: u8,
}

const COUNTERS: RoleName = RoleName::new("counter");

impl Role for Counter {
    type Message = ();
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("count").when(|c| c.leads && c.count < 4).run(|c, out| {
            c.count += 1;
            let follower = out.members(COUNTERS)[out.me().index() + 2];
            out.send(follower, ());
        });
        t.message("follow").run(|c, _, _| c.count += 1);
    }
}

/// What a property sees of a process must stay with that process when the system is split anew.
#[test]
fn a_new_split_does_not_mix_up_who_is_who() {
    let mut violated = 0;
    for forbidden in (0..5u16.pow(4)).step_by(11) {
        let digits = [125, 25, 5, 1].map(|place| u8::try_from(forbidden / place % 5).expect("a digit"));
        let model = System::new()
            .role(COUNTERS, 4, |at| Counter { leads: at < 2, count: 0 })
            .invariant("not these", observe(|c: &Counter| c.count), move |counts| counts != digits)
            .build()
            .expect("a system that makes sense");
        let found = search(&model, STATES_MAX).expect("few states");
        violated += usize::from(!found.broken.is_empty());
        let disagreements = disagreements(&model, &found);
        assert!(disagreements.is_empty(), "{digits:?}: {disagreements:?}");
    }
    assert!(
        violated > 15 && violated < 40,
        "{violated} are reachable: a follower is not ahead of its leader"
    );
}

/// Where states no longer fit narrow slots, fingerprints are a reservation.
#[test]
fn fingerprints_never_claim_a_proof() {
    let model = RandomProtocol::new(0).without_properties().model();
    let tuning = Tuning { narrow_max: 0, ..Tuning::default() };
    let engine = Explore::default().visited(Visited::Fingerprint);
    let report = engine.run(&model, &Search::default().tuning(tuning), &mut ());
    let Verdict::HoldsWithin(reservation) = &report.verdict else { panic!("{}", report.verdict.word()) };
    assert!(reservation.contains("probability of"), "{reservation}");
}
