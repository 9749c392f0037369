//! The random protocols really do what they are there for: each thing that an engine could get wrong
//! happens in a healthy share of them.

use std::collections::{BTreeMap, HashMap, HashSet};

use quorate::model::{Model, QuorumSystem, Trigger};
use quorate::property::When;
use quorate_testkit::corpus::{STATES_MAX, for_each_seed};
use quorate_testkit::naive::{Findings, LocalStep, NO_PANIC, search};
use quorate_testkit::random::RandomProtocol;
use quorate_testkit::tier::CORPUS;

/// What must happen in at least so many of a thousand protocols.
const SHARES: [(&str, usize); 20] = [
    ("a few states", 800),
    ("hundreds of states", 150),
    ("thousands of states", 25),
    ("an internal step", 900),
    ("a single message", 400),
    ("a quorum of several", 120),
    ("a quorum of three", 10),
    ("a listed quorum", 50),
    ("several quorums to choose from", 40),
    ("a choice", 400),
    ("two choices in one handler", 50),
    ("copies of one message in an inbox", 400),
    ("equal messages from several senders", 400),
    ("a cycle", 300),
    ("no cycle", 400),
    ("several ends", 300),
    ("a property that holds", 200),
    ("a violation", 200),
    ("a violation at the end", 30),
    ("a panic", 20),
];

#[test]
fn every_danger_has_its_share() {
    let results = for_each_seed(CORPUS.full, |seed| {
        let protocol = RandomProtocol::new(seed);
        let model = protocol.model();
        let found = search(&model, STATES_MAX)?;
        assert!(protocol.cyclic() || !has_cycle(&found), "seed {seed} should not go round in circles");
        Some(features(&model, &found))
    });
    let total = results.len();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for feature in results.iter().flat_map(|(_, features)| features.iter().flatten()) {
        *counts.entry(feature).or_default() += 1;
    }
    let skipped = results.iter().filter(|(_, features)| features.is_none()).count();
    println!("{total} protocols, {skipped} skipped for their size");
    let count = |feature| counts.get(feature).copied().unwrap_or(0);
    for (feature, _) in SHARES {
        println!("{:>6} have {feature}", count(feature));
    }
    for (feature, share) in SHARES {
        let count = count(feature);
        assert!(count * 1000 >= share * total, "only {count} of {total} protocols have {feature}");
    }
    assert!(skipped * 50 <= total, "{skipped} of {total} protocols are too large");
}

fn features(model: &Model, found: &Findings) -> Vec<&'static str> {
    let trigger =
        |step: &LocalStep| model.process(step.process).transitions()[step.transition].trigger().clone();
    let fired = |test: &dyn Fn(&LocalStep) -> bool| found.local_steps.iter().any(test);
    let at_end = |name: &str| {
        model.properties().iter().any(|property| property.name() == name && property.when() == When::AtEnd)
    };
    let rivals = || {
        let mut of_one_kind = HashMap::<_, HashSet<_>>::new();
        for step in found.local_steps.iter().filter(|step| step.consumed.len() > 1) {
            let state = (step.process, step.transition, &step.state);
            of_one_kind.entry(state).or_default().insert(&step.consumed);
        }
        of_one_kind.values().any(|sets| sets.len() > 1)
    };
    let echoed = || {
        let bodies: HashSet<_> = found.messages.iter().map(|message| &message.body).collect();
        bodies.len() < found.messages.len()
    };
    let listed = |step: &LocalStep| matches!(trigger(step), Trigger::Quorum(QuorumSystem::Listed(_)));
    let states = found.depths.len();
    let cyclic = has_cycle(found);
    let facts = [
        ("a few states", states >= 5),
        ("hundreds of states", states >= 100),
        ("thousands of states", states >= 1000),
        ("an internal step", fired(&|step| trigger(step) == Trigger::Internal)),
        ("a single message", fired(&|step| matches!(trigger(step), Trigger::Message(_)))),
        ("a quorum of several", fired(&|step| step.consumed.len() > 1)),
        ("a quorum of three", fired(&|step| step.consumed.len() > 2)),
        ("a listed quorum", fired(&listed)),
        ("several quorums to choose from", rivals()),
        ("a choice", fired(&|step| !step.choices.is_empty())),
        ("two choices in one handler", fired(&|step| step.choices.len() > 1)),
        ("copies of one message in an inbox", found.copies_max > 1),
        ("equal messages from several senders", echoed()),
        ("a cycle", cyclic),
        ("no cycle", !cyclic),
        ("several ends", found.terminal_states > 1),
        ("a property that holds", model.properties().iter().any(|p| !found.broken.contains_key(p.name()))),
        ("a violation", !found.broken.is_empty()),
        ("a violation at the end", found.broken.keys().any(|name| at_end(name))),
        ("a panic", found.broken.contains_key(NO_PANIC)),
    ];
    facts.into_iter().filter_map(|(feature, present)| present.then_some(feature)).collect()
}

/// Can a run come back to a state? States without a step to a remaining state are removed until none is.
fn has_cycle(found: &Findings) -> bool {
    let mut left = vec![0usize; found.depths.len()];
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); found.depths.len()];
    for &(from, to) in &found.edges {
        left[from] += 1;
        before[to].push(from);
    }
    let mut ends: Vec<usize> = (0..left.len()).filter(|&state| left[state] == 0).collect();
    let mut removed = 0;
    while let Some(end) = ends.pop() {
        removed += 1;
        for &state in &before[end] {
            left[state] -= 1;
            if left[state] == 0 {
                ends.push(state);
            }
        }
    }
    removed < left.len()
}
