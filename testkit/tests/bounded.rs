//! Bounded depth-first search, on the kernel's states and on states by content, agrees with the naive checker: without
//! a bound on all that there is, with one on all that is no further away. Without its second look at states that it
//! meets on a shorter way it does not.

use std::collections::HashSet;

use quorate::Verdict;
use quorate::engine::{BoundedDepth, Engine, Explore, Order, Search};
use quorate::model::{Model, Value};
use quorate::report::{Report, Stopped};
use quorate::testing::{Mutant, Tuning};
use quorate_papers::PlainDepth;
use quorate_testkit::compare::{differences, explored};
use quorate_testkit::corpus::for_each_seed;
use quorate_testkit::naive::{Findings, NO_PANIC, search};
use quorate_testkit::random::RandomProtocol;
use quorate_testkit::tier::BOUNDED;

/// Protocols with more states are skipped.
const STATES_MAX: usize = 1_500;

/// The engines to compare on a protocol of so many states: whoever runs handlers each time is slow.
fn engines(states: usize) -> &'static [Which] {
    if states <= 500 { &[Which::Remembering, Which::Plain] } else { &[Which::Remembering] }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    Remembering,
    Plain,
}

impl Which {
    fn engine(self) -> Box<dyn Engine> {
        match self {
            Which::Remembering => Box::new(BoundedDepth::default()),
            Which::Plain => Box::new(PlainDepth),
        }
    }

    /// The report of a search, and the vectors of local states that it has met.
    fn explored(self, model: &Model, search: &Search) -> (Report, HashSet<Vec<Value>>) {
        match self {
            Which::Plain => PlainDepth.search_and_collect(model, search, &mut ()),
            Which::Remembering => {
                let report = BoundedDepth::default().with_census().search(model, search, &mut ());
                let met = report.census().map(|census| census.system_states.clone()).unwrap_or_default();
                (report, met)
            }
        }
    }
}

fn bounded(depth_max: Option<u32>) -> Search {
    // An engine that never comes to an end should fail, not hang.
    let search = Search::default().states_max(10 * STATES_MAX as u64);
    depth_max.into_iter().fold(search, Search::depth_max)
}

/// In what a search up to a bound differs from what the naive checker found no further away.
fn differs_within(
    model: &Model,
    found: &Findings,
    which: Which,
    search: &Search,
    bound: u32,
) -> Option<String> {
    let (report, seen) = which.explored(model, search);
    let states = found.depths.iter().filter(|depth| **depth <= bound).count();
    let within = |edge: &&(usize, usize)| found.depths[edge.0] <= bound;
    let transitions = found.edges.iter().filter(within).count();
    let system_states: HashSet<Vec<Value>> = found.locals[..states].iter().cloned().collect();
    let cut = found.edges.iter().any(|(from, _)| found.depths[*from] == bound);
    let verdict = match &report.verdict {
        Verdict::Holds => !cut,
        Verdict::Unknown(Stopped::Depth(at)) => cut && *at == bound,
        _ => false,
    };
    let counted = (report.coverage.states, report.coverage.transitions);
    let expected = (states as u64, transitions as u64);
    if !verdict {
        Some(format!("bound {bound}: the verdict is {:?}, cut is {cut}", report.verdict))
    } else if counted != expected {
        Some(format!("bound {bound}: {counted:?} states and transitions, not {expected:?}"))
    } else if seen != system_states {
        Some(format!("bound {bound}: {seen:?}, not {system_states:?}"))
    } else if report.coverage.depth > bound {
        Some(format!("bound {bound}: depth {}", report.coverage.depth))
    } else {
        None
    }
}

/// In what searches without a bound differ from what the naive checker found.
fn differs(model: &Model, found: &Findings) -> Vec<String> {
    let mut all = Vec::new();
    for &which in engines(found.depths.len()) {
        let search = bounded(None);
        match explored(model, &*which.engine(), &search) {
            Err(panicked) => all.push(panicked),
            // Whoever runs handlers each time does not know how many local steps there are.
            Ok(report) if which == Which::Plain && report.verdict.violation().is_none() => {
                all.extend(differs_within(model, found, which, &search, u32::MAX));
                all.extend(
                    (!found.broken.is_empty()).then(|| format!("holds, but {:?} break", found.broken)),
                );
            }
            Ok(report) => {
                let depth_first = Explore::default().order(Order::Depth);
                all.extend(differences(model, found, (&depth_first, &search), &report));
            }
        }
    }
    all
}

/// What the engines say of a protocol that the naive checker does not; `None` if the protocol is too large.
fn disagreements(protocol: &RandomProtocol) -> Option<Vec<String>> {
    let model = protocol.model();
    let mut found = search(&model, STATES_MAX)?;
    let mut all = differs(&model, &found);
    found.broken.retain(|property, _| property == NO_PANIC);
    if found.broken.is_empty() {
        let bare = protocol.without_properties().model();
        all.extend(differs(&bare, &found));
        let bounds = [0, found.depth() / 2, found.depth().saturating_sub(1), found.depth()];
        for &which in engines(found.depths.len()) {
            let differs = |at: u32| differs_within(&bare, &found, which, &bounded(Some(at)), at);
            all.extend(bounds.into_iter().filter_map(differs));
        }
    }
    Some(all)
}

#[test]
fn random_protocols() {
    let results = for_each_seed(BOUNDED.seeds(), |seed| disagreements(&RandomProtocol::new(seed)));
    let compared = results.iter().filter(|(_, result)| result.is_some()).count();
    let disagreeing: Vec<String> = results
        .iter()
        .filter_map(|(seed, result)| Some(format!("seed {seed}: {}", result.as_ref()?.first()?)))
        .collect();
    println!("{compared} protocols compared");
    let first = disagreeing.iter().take(5).map(String::as_str).collect::<Vec<_>>().join("\n");
    assert!(disagreeing.is_empty(), "{} protocols disagree:\n{first}", disagreeing.len());
    assert!(compared >= BOUNDED.least(2_000), "{compared} compared");
}

/// On how many protocols a mistake must be noticed.
const NOTICED_MIN: usize = 3;

#[test]
fn a_state_met_on_a_shorter_way_is_not_looked_at_again() {
    let differs = |seed: &u64| {
        let bare = RandomProtocol::new(*seed).without_properties().model();
        let Some(found) = search(&bare, 1_000).filter(|found| found.broken.is_empty()) else { return false };
        (1..found.depth()).any(|bound| {
            let tuning = Tuning { mutants: Mutant::NoSecondLook.into(), ..Tuning::default() };
            let wrong = bounded(Some(bound)).tuning(tuning);
            differs_within(&bare, &found, Which::Remembering, &wrong, bound).is_some()
        })
    };
    let noticed: Vec<u64> = (0..500).filter(differs).take(NOTICED_MIN).collect();
    assert_eq!(noticed.len(), NOTICED_MIN, "noticed by seeds {noticed:?} only");
    BOUNDED.catches(Mutant::NoSecondLook, &noticed);
}

/// Counts alone: one step leads on from each state, and no other.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Lonely(u8);

impl quorate::Role for Lonely {
    type Message = ();

    fn transitions(&self, t: &mut quorate::Transitions<Self>) {
        t.internal("count").when(|lonely| lonely.0 < 6).run(|lonely, _| lonely.0 += 1);
    }
}

#[test]
fn a_bound_beyond_which_there_is_one_step_is_a_bound() {
    let system = quorate::System::new().role(quorate::RoleName::new("lonely"), 1, |_| Lonely(0)).invariant(
        "never 6",
        quorate::observe(|lonely: &Lonely| lonely.0),
        |all| all[0] < 6,
    );
    let model = system.build().expect("a system");
    for which in std::iter::once(Vec::new()).chain(quorate_testkit::reductions::combinations(&model)) {
        let reductions =
            quorate::reduce::Reductions::checked(&which, &model).expect("an allowed combination");
        for depth in 0..8 {
            let search = Search::default().reductions(reductions.clone()).depth_max(depth);
            let verdict = Explore::default().run(&model, &search, &mut ()).verdict;
            // With beliefs a step in silence is none, so what is broken may be nearer.
            let near = depth >= 6 || which.contains(&quorate::reduce::Reduction::Beliefs);
            let expected = if near { "violated" } else { "unknown" };
            assert_eq!(verdict.word(), expected, "{which:?}, {depth}");
        }
    }
}
