//! Processes whose local states are equal though they are not the same: what made a state, a closure or a part of the
//! node that is not compared, need not show in it. Engines remember answers for each process by itself.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;

use quorate::engine::components::{Components, Part, Partition};
use quorate::engine::{BoundedDepth, Engine, Explore, Local, Search};
use quorate::model::{Model, Process};
use quorate::property::Observation;
use quorate::protocol::{Commands, Fingerprinted, Message, Replayed};
use quorate::report::Verdict;
use quorate::testing::Tuning;
use quorate::{Node, ProcessId, Role, RoleName, System, Transitions, observe};
use quorate_papers::PlainDepth;
use quorate_papers::lmc::Lmc;
use quorate_testkit::corpus::for_each_seed;
use quorate_testkit::naive;
use quorate_testkit::random::RandomProtocol;
use quorate_testkit::tier::ALIKE;

const NODES: RoleName = RoleName::new("node");
const COUNT: usize = 3;

/// Tells the next one its number, once it has started or heard of a smaller one; the odd one tells another.
#[derive(Clone)]
struct Numbered {
    number: usize,
    heard: Option<usize>,
}

impl Node for Numbered {
    type Message = usize;
    type Timer = ();

    fn on_start(&mut self, out: &mut Commands<'_, usize, ()>) {
        if self.number == 0 {
            self.say(out);
        }
    }

    fn on_message(&mut self, _: ProcessId, heard: &usize, out: &mut Commands<'_, usize, ()>) {
        self.heard = Some(*heard);
        self.say(out);
    }
}

impl Numbered {
    fn say(&self, out: &mut Commands<'_, usize, ()>) {
        if let Some(next) = out.members(NODES).get(self.number + 1).copied() {
            out.send(next, self.number);
        }
    }
}

fn numbered(number: usize) -> Numbered {
    Numbered { number, heard: None }
}

/// The last one hears of a number, which must stay small.
fn hears<M: Message>(system: System<M>, heard: Observation<Option<usize>>) -> Model {
    let small = |heard: &[Option<usize>]| heard[COUNT - 1].is_none_or(|heard| heard == 0);
    system.invariant("small", heard, small).build().unwrap()
}

/// By its inputs alone: what `new` captures does not show.
fn replayed() -> Model {
    let system = System::new().role(NODES, COUNT, |at| Replayed::new(move || numbered(at)));
    hears(system, observe(|node: &Replayed<Numbered>| node.inspect(|node| node.heard)))
}

/// By what it has heard, rebuilt from its inputs.
fn compared() -> Model {
    let node = |at: usize| Replayed::new(move || numbered(at)).compared_by(|node| node.heard);
    let system = System::new().role(NODES, COUNT, node);
    hears(system, observe(|node: &Replayed<Numbered>| node.inspect(|node| node.heard)))
}

/// By what it has heard, without the number.
fn fingerprinted() -> Model {
    let system = System::new().role(NODES, COUNT, |at| Fingerprinted::new(numbered(at), |node| node.heard));
    hears(system, observe(|node: &Fingerprinted<Numbered>| node.inspect(|node| node.heard)))
}

/// A role whose equality leaves its number out, and which shows it.
#[derive(Clone, Debug)]
struct Masked {
    number: usize,
    stepped: bool,
}

impl PartialEq for Masked {
    fn eq(&self, other: &Self) -> bool {
        self.stepped == other.stepped
    }
}

impl Eq for Masked {}

impl std::hash::Hash for Masked {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.stepped.hash(state);
    }
}

impl Role for Masked {
    type Message = ();
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("step").when(|one| !one.stepped).run(|one, _| one.stepped = true);
    }
}

fn masked() -> Model {
    let shown = observe(|one: &Masked| one.stepped.then_some(one.number));
    let system = System::<()>::new().role(NODES, COUNT, |number| Masked { number, stepped: false });
    let unseen = |shown: &[Option<usize>]| shown.iter().all(|number| *number != Some(COUNT - 1));
    system.invariant("the last is masked", shown, unseen).build().unwrap()
}

/// Random protocols whose processes can be in equal states though their tables differ.
#[test]
fn random_protocols_of_one_type() {
    let results = for_each_seed(ALIKE.seeds(), |seed| {
        let protocol = RandomProtocol::new(seed).of_one_type();
        let model = protocol.model();
        let found = naive::search(&model, 500)?;
        let ids: Vec<ProcessId> = model.ids().collect();
        let pairs: Vec<Vec<ProcessId>> = ids.chunks(2).map(<[ProcessId]>::to_vec).collect();
        let pairs = Partition::groups(&model, &pairs).unwrap();
        let engines: [&dyn Engine; 4] =
            [&Explore::DEFAULT, &PlainDepth, &Components::DEFAULT, &Components::default().partition(pairs)];
        // Of a group every run is enumerated, and a run that goes round in circles has no end.
        let engines = if protocol.cyclic() { &engines[..3] } else { &engines };
        for engine in engines {
            let search = Search::default().threads(1).states_max(2_000);
            let verdict = engine.run(&model, &search, &mut ()).verdict;
            let wrong = match verdict {
                Verdict::Holds => !found.broken.is_empty(),
                Verdict::Violated(_) => found.broken.is_empty(),
                _ => false,
            };
            assert!(!wrong, "seed {seed}, {engine:?}, but {:?} break", found.broken);
        }
        let types: BTreeSet<&str> = model.processes().iter().map(Process::role).collect();
        Some(types.len() > 1)
    });
    let mixed = results.iter().filter(|(_, mixed)| *mixed == Some(true)).count();
    assert!(mixed >= ALIKE.least(100), "only {mixed} protocols have several roles");
}

#[test]
fn processes_that_compare_equal_are_not_taken_for_one() {
    for model in [replayed(), compared(), fingerprinted(), masked()] {
        assert!(!naive::search(&model, 1_000).unwrap().broken.is_empty());
        let ids: Vec<ProcessId> = model.ids().collect();
        let pair = [Part::Processes(ids[..2].to_vec()), Part::Processes(ids[2..].to_vec())];
        let all = Part::System(vec![Part::Processes(ids[..1].to_vec()), Part::Processes(ids[1..].to_vec())]);
        let [pair, all] = [&pair[..], &[all][..]].map(|parts| Partition::parts(&model, parts).unwrap());
        let engines: [&dyn Engine; 9] = [
            &Explore::DEFAULT,
            &Local::DEFAULT,
            &BoundedDepth::DEFAULT,
            &PlainDepth,
            &Lmc::GENERAL,
            &Lmc::OPTIMISED,
            &Components::DEFAULT,
            &Components::default().partition(pair),
            &Components::default().partition(all),
        ];
        // A node that is known by its inputs could be given more and more of them.
        let small = Tuning { closure_max: 50, ..Tuning::DEFAULT };
        let search = Search::default().threads(1).tuning(small);
        for engine in engines {
            let report = engine.run(&model, &search, &mut ());
            assert_eq!(report.verdict.word(), "violated", "{engine:?}");
        }
    }
}
