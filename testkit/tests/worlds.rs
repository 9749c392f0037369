//! `explore` agrees with the naive checker on random protocols in random worlds: every channel, every model of
//! delivery, crashes, restarts, lost, doubled and forged messages, and monitors.

use std::collections::{BTreeMap, BTreeSet};

use quorate::engine::{Count, Explore, Order, Search, Visited};
use quorate::model::Model;
use quorate::testing::Tuning;
use quorate::world::{Channel, CrashSends, Crashes, Delivery, StepKind, World};
use quorate_testkit::compare::{differences, explored};
use quorate_testkit::corpus::{for_each_seed, one_seed};
use quorate_testkit::naive::{Findings, NO_PANIC, search};
use quorate_testkit::random::RandomProtocol;
use quorate_testkit::tier::WORLDS;
use quorate_testkit::worlds::random_world;

/// Protocols with more states are skipped.
const STATES_MAX: usize = 1_500;

/// Sizes so small that a small protocol is searched as a large one.
const SMALL: Tuning = Tuning { chunk: 2, narrow_max: 0, first_states: 30, ..Tuning::DEFAULT };

/// The searches for a seed: starting threads takes longer than such a search, so most have one.
fn searches(seed: u64) -> Vec<(Explore, Search)> {
    let with = |order, visited, tuning, threads| {
        let count = if visited == Visited::Exact { Count::SystemStates } else { Count::Nothing };
        let engine = Explore::default().order(order).visited(visited).count(count);
        // An engine that never comes to an end should fail, not hang.
        let search = Search::default().threads(threads).states_max(10 * STATES_MAX as u64);
        (engine, search.tuning(tuning))
    };
    let mut searches = vec![
        with(Order::Breadth, Visited::Exact, Tuning::default(), 1),
        with(Order::Breadth, Visited::Exact, SMALL, 1),
        with(Order::Depth, Visited::Exact, SMALL, 1),
    ];
    if seed.is_multiple_of(7) {
        searches.push(with(Order::Breadth, Visited::Exact, SMALL, 2));
        searches.push(with(Order::Depth, Visited::Fingerprint, SMALL, 2));
    }
    searches
}

/// A protocol in a world that fits it; `None` if there is no such world.
fn in_world(protocol: &RandomProtocol) -> Option<Model> {
    let model = protocol.model();
    let world = random_world(protocol.seed(), &model);
    model.in_world(world).ok()
}

fn disagreements(seed: u64, model: &Model, found: &Findings) -> Vec<String> {
    let disagreeing = |(engine, search): (Explore, Search)| {
        let differ = match explored(model, &engine, &search) {
            Err(panicked) => vec![panicked],
            Ok(report) => differences(model, found, (&engine, &search), &report),
        };
        let how = format!("{:?} {:?} on {} threads", engine.order, engine.visited, search.threads);
        differ.into_iter().map(move |line| format!("{how}: {line}"))
    };
    searches(seed).into_iter().flat_map(disagreeing).collect()
}

/// What came of one protocol.
struct Compared {
    features: BTreeSet<String>,
    /// In how many ways it was searched.
    searches: usize,
    disagreements: Vec<String>,
}

/// Compares a protocol as it is and, if something breaks, without its properties, so that its states are counted all
/// the same; and with a property of ends that is content with every one, for then more matters than otherwise. `None`
/// if it is too large or the world does not fit.
fn compare(seed: u64) -> Option<Compared> {
    let protocol = RandomProtocol::for_worlds(seed);
    let model = in_world(&protocol)?;
    let found = search(&model, STATES_MAX)?;
    let mut all = disagreements(seed, &model, &found);
    let mut features = features(&protocol, &model, &found);
    let mut compared = 1;
    if found.broken.keys().any(|property| property != NO_PANIC) {
        let bare = in_world(&protocol.without_properties()).expect("fewer properties fit as well");
        // Without properties more states may be reached, never so many more that it is worth skipping them.
        let found = search(&bare, 10 * STATES_MAX)?;
        let bare = disagreements(seed, &bare, &found);
        all.extend(bare.into_iter().map(|line| format!("without properties: {line}")));
        features.extend(found.broken.is_empty().then(|| "counted".to_string()));
        compared += 1;
    }
    if let Some((lines, of_ends)) = compare_ends(&protocol) {
        all.extend(lines.into_iter().map(|line| format!("content with all ends: {line}")));
        features.extend(of_ends);
        compared += 1;
    }
    Some(Compared { features, searches: compared * searches(seed).len(), disagreements: all })
}

/// Compares a protocol of which every end is looked at, and says in which channels that was.
fn compare_ends(protocol: &RandomProtocol) -> Option<(Vec<String>, Vec<String>)> {
    let protocol = protocol.content_with_all_ends();
    let model = in_world(&protocol)?;
    let found = search(&model, 2 * STATES_MAX)?;
    let channel = channel_name(model.world().channel);
    let mut features = vec![format!("ends in {channel}")];
    features.extend(protocol.forges().then(|| format!("forged messages and ends in {channel}")));
    Some((disagreements(protocol.seed(), &model, &found), features))
}

fn channel_name(channel: Channel) -> String {
    match channel {
        Channel::Blocking(_) => "blocking".to_string(),
        Channel::Overwriting(_) => "overwriting".to_string(),
        other => other.to_string(),
    }
}

/// What a protocol in a world is there for.
fn features(protocol: &RandomProtocol, model: &Model, found: &Findings) -> BTreeSet<String> {
    let World { channel, delivery, crashes, .. } = model.world();
    let channel = channel_name(*channel);
    let happens = |kind: &StepKind| found.kinds.get(kind).is_some_and(|count| *count > 0);
    let mut features: BTreeSet<String> =
        StepKind::ALL.iter().filter(|kind| happens(kind)).map(|kind| kind.name().to_string()).collect();
    if let Crashes::Explicit { sends, .. } = crashes
        && happens(&StepKind::Crash)
    {
        let sends = match sends {
            CrashSends::All => "all",
            CrashSends::Some => "some",
            CrashSends::AnySubset => "any",
        };
        features.insert(format!("crash sending {sends}"));
        features.insert(format!("crash in {channel}"));
    }
    let facts = [
        ("forged messages", protocol.forges()),
        ("a process that never steps", protocol.has_idlers()),
        ("nobody who steps", found.handler_runs.is_empty()),
        ("a monitor", !model.monitors().is_empty()),
        ("a broken monitor", found.broken.keys().any(|name| name.starts_with("history"))),
        ("a broken property", found.broken.keys().any(|name| name.starts_with("property"))),
        ("a panic", found.broken.contains_key(NO_PANIC)),
        ("counted", found.broken.is_empty()),
        ("hundreds of states", found.depths.len() >= 100),
    ];
    features.extend(facts.into_iter().filter(|(_, present)| *present).map(|(fact, _)| fact.to_string()));
    if *delivery != Delivery::AtOnce {
        features.insert(format!("{delivery} with {channel}"));
    }
    features.insert(channel);
    features
}

/// In how many of the protocols a thing must happen at least.
const AT_LEAST: [(&str, usize); 60] = [
    ("bag", 150),
    ("set", 150),
    ("fifo", 100),
    ("mailbox", 100),
    ("lossy-fifo", 80),
    ("lossy-mailbox", 80),
    ("duplicating", 100),
    ("blocking", 100),
    ("overwriting", 100),
    ("m-mp with bag", 50),
    ("m-mp with set", 50),
    ("mp with bag", 50),
    ("mp with set", 50),
    ("transition", 1400),
    ("delivery", 200),
    ("crash", 450),
    ("crash sending all", 100),
    ("crash sending some", 200),
    ("crash sending any", 100),
    ("crash in bag", 50),
    ("crash in set", 50),
    ("crash in fifo", 40),
    ("crash in mailbox", 40),
    ("crash in lossy-fifo", 30),
    ("crash in lossy-mailbox", 25),
    ("crash in duplicating", 50),
    ("crash in blocking", 50),
    ("crash in overwriting", 50),
    ("restart", 200),
    ("loss", 300),
    ("duplication", 100),
    ("forged messages", 300),
    ("a monitor", 400),
    ("a broken monitor", 200),
    ("a broken property", 200),
    ("a panic", 100),
    ("counted", 1200),
    ("hundreds of states", 300),
    ("a process that never steps", 150),
    ("nobody who steps", 30),
    ("ends in bag", 150),
    ("ends in lossy", 30),
    ("ends in set", 150),
    ("ends in fifo", 100),
    ("ends in mailbox", 100),
    ("ends in lossy-fifo", 100),
    ("ends in lossy-mailbox", 100),
    ("ends in duplicating", 100),
    ("ends in blocking", 100),
    ("ends in overwriting", 100),
    ("forged messages and ends in bag", 30),
    ("forged messages and ends in lossy", 5),
    ("forged messages and ends in set", 40),
    ("forged messages and ends in fifo", 25),
    ("forged messages and ends in mailbox", 20),
    ("forged messages and ends in lossy-fifo", 25),
    ("forged messages and ends in lossy-mailbox", 25),
    ("forged messages and ends in duplicating", 30),
    ("forged messages and ends in blocking", 30),
    ("forged messages and ends in overwriting", 25),
];

#[test]
fn random_protocols_in_random_worlds() {
    let results = for_each_seed(WORLDS.seeds(), compare);
    let compared = || results.iter().filter_map(|(seed, compared)| Some((seed, compared.as_ref()?)));
    let count = compared().count();
    let searches: usize = compared().map(|(_, compared)| compared.searches).sum();
    println!("{count} protocols compared, {} skipped", results.len() - count);
    println!("{searches} searches compared");
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for feature in compared().flat_map(|(_, compared)| &compared.features) {
        *counts.entry(feature).or_default() += 1;
    }
    let counted = |feature: &str| counts.get(feature).copied().unwrap_or(0);
    for (feature, least) in AT_LEAST {
        println!("{:>6} have {feature}, of {}", counted(feature), WORLDS.least(least));
    }
    let disagreeing: Vec<String> = compared()
        .filter(|(_, compared)| !compared.disagreements.is_empty())
        .map(|(seed, compared)| {
            format!(
                "seed {seed}: {}\n  QUORATE_SEED={seed} cargo test -p quorate-testkit --test main worlds::one_seed -- --nocapture",
                compared.disagreements[0]
            )
        })
        .collect();
    let first: Vec<&str> = disagreeing.iter().take(5).map(String::as_str).collect();
    assert!(disagreeing.is_empty(), "{} protocols disagree:\n{}", disagreeing.len(), first.join("\n"));
    assert!(count >= WORLDS.least(1_500), "only {count} protocols were compared");
    for (feature, least) in AT_LEAST {
        assert!(
            counted(feature) >= WORLDS.least(least),
            "only {} protocols have {feature}",
            counted(feature)
        );
    }
}

/// Reproduces one protocol of the above: the one that `QUORATE_SEED` names.
#[test]
fn one_seed_in_detail() {
    let seed = one_seed().unwrap_or(0);
    let protocol = RandomProtocol::for_worlds(seed);
    println!("{protocol:#?}\n{:#?}", random_world(seed, &protocol.model()));
    let Some(found) = in_world(&protocol).and_then(|model| search(&model, STATES_MAX)) else {
        println!("seed {seed} has more than {STATES_MAX} states, or its world does not fit");
        return;
    };
    println!(
        "seed {seed}, {} states, {} transitions, {} terminal, depth {}, {} local steps, {:?}, broken: {:?}",
        found.depths.len(),
        found.edges.len(),
        found.terminal_states,
        found.depth(),
        found.local_steps.len(),
        found.kinds,
        found.broken
    );
    let all = compare(seed).map_or(Vec::new(), |compared| compared.disagreements);
    assert!(all.is_empty(), "seed {seed}:\n{}", all.join("\n"));
}
