//! What the papers claim about message-passing models and crashes, and where it fails (docs/theory/faults.md 2).
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::HashSet;

use quorate::engine::{Count, Engine, Explore, Search};
use quorate::model::{Model, Value};
use quorate::property::{Property, When, shown};
use quorate::world::{Channel, CrashSends, Crashes, Delivery, World};
use quorate::{Report, Role, RoleName, System, Transitions, Verdict};
use quorate_testkit::corpus::for_each_seed;
use quorate_testkit::naive::{Findings, search};
use quorate_testkit::random::RandomProtocol;
use quorate_testkit::speaking::{HEARERS, Hearer, speaking};
use quorate_testkit::tier::{BLOCKED_CRASHES, CRASHES, DELIVERY, LOSSES};
use quorate_testkit::words::{Alphabet, shortest_difference};

/// MP, M-MP and M.
const MODELS: [Delivery; 3] = [Delivery::InStepsConsumingAll, Delivery::InSteps, Delivery::AtOnce];

fn with(channel: Channel) -> World {
    World::default().channel(channel)
}

/// What is found in the three models of delivery; `None` if there are too many states.
fn in_models(build: impl Fn() -> Model, channel: Channel, states_max: usize) -> Option<Vec<Findings>> {
    let found = |delivery| {
        let world = with(channel).delivery(delivery);
        search(&build().in_world(world).expect("bags and sets can be delivered in steps"), states_max)
    };
    MODELS.into_iter().map(found).collect()
}

/// Do all these have the same words?
fn same_words(found: &[Findings]) -> bool {
    let mut alphabet = Alphabet::default();
    let automata: Vec<_> = found.iter().map(|found| alphabet.automaton(found)).collect();
    automata[1..].iter().all(|other| shortest_difference(&automata[0], other).is_none())
}

/// A1. Whether messages are delivered in steps, and whether a step takes all that was delivered, is nothing that
/// local states could show, if channels are bags.
#[test]
fn models_of_delivery_have_the_same_words_with_bags() {
    let results = for_each_seed(DELIVERY.seeds(), |seed| {
        let protocol = RandomProtocol::for_worlds(seed).without_properties();
        let found = in_models(|| protocol.model(), Channel::Bag, 1_500)?;
        assert!(same_words(&found), "seed {seed}");
        // Is it a case in point: is there something to deliver, and has it been noticed?
        Some(found[1].depths.len() > found[2].depths.len())
    });
    let compared = results.iter().filter(|(_, result)| result.is_some()).count();
    let delivering = results.iter().filter(|(_, result)| *result == Some(true)).count();
    println!("{compared} protocols compared, {delivering} of them with deliveries");
    let least = |of| DELIVERY.least(of);
    assert!(
        compared >= least(600) && delivering >= least(400),
        "{compared} protocols compared, {delivering} with deliveries"
    );
}

#[test]
fn models_of_delivery_have_the_same_words_in_the_zoo() {
    let mut compared = Vec::new();
    for protocol in quorate_zoo::protocols() {
        let anything = || Property::new("anything goes", When::Always, shown::<()>(), |_| true);
        let build = || {
            let model = protocol.instance(&protocol.arguments([], None).unwrap()).unwrap();
            // What is asked of runs makes no difference to their words.
            model.asking(anything())
        };
        if let Some(found) = in_models(build, Channel::Bag, 12_000) {
            assert!(same_words(&found), "{}", protocol.name());
            compared.push(protocol.name());
        }
    }
    println!("compared: {}", compared.join(", "));
    assert!(compared.len() >= 3, "only {compared:?} are small enough");
}

/// A1, where it fails: a message that is sent twice. The words that show both of them heard are two, unless M has
/// sets, which have lost one of them if both are sent before the first is heard.
#[test]
fn models_of_delivery_differ_with_sets_and_a_message_sent_twice() {
    let words = |channel| {
        let said_twice = || speaking(&[&["a", "a"]], false).build().unwrap();
        let found = in_models(said_twice, channel, 1_000).unwrap();
        let mut alphabet = Alphabet::default();
        let words = |found: &Findings| {
            let words = alphabet.automaton(found).longest_words();
            // Nothing, said once, said twice, heard once and heard twice, in some order.
            words.iter().filter(|word| word.len() == 5).count()
        };
        (found.iter().map(words).collect::<Vec<_>>(), same_words(&found))
    };
    assert_eq!(words(Channel::Bag), (vec![2, 2, 2], true));
    assert_eq!(words(Channel::Set), (vec![2, 2, 1], false));
    // Messages that are sent once are another matter.
    let said_once = || speaking(&[&["a", "b"]], false).build().unwrap();
    assert!(same_words(&in_models(said_once, Channel::Set, 1_000).unwrap()));
}

/// A world in which every process may crash.
fn crashing(model: &Model, world: World, sends: CrashSends) -> World {
    let prone = model.roles().names().map(|role| (role.to_string(), model.roles().of(role).len()));
    world.crashes(Crashes::Explicit { prone: prone.collect(), sends })
}

/// Vectors of local states.
type SystemStates = HashSet<Vec<Value>>;

/// The system states, without crashes as steps and with them.
fn with_and_without_crashes(
    build: impl Fn() -> Model,
    world: &World,
    sends: CrashSends,
    states_max: usize,
) -> Option<(SystemStates, SystemStates)> {
    let implicit = build().in_world(world.clone()).expect("the world fits");
    let explicit = build();
    let crashing = crashing(&explicit, world.clone(), sends);
    let explicit = search(&explicit.in_world(crashing).expect("the world fits"), states_max)?;
    Some((search(&implicit, states_max)?.system_states, explicit.system_states))
}

/// A2. Crashes need no steps: random protocols reach the same local states with and without.
#[test]
fn crashes_need_no_steps() {
    let unordered = [Channel::Bag, Channel::Set].into_iter();
    let delivered = unordered.flat_map(|channel| MODELS.map(|delivery| with(channel).delivery(delivery)));
    let others = [Channel::Fifo, Channel::LossyFifo, Channel::LossyMailbox, Channel::Duplicating].map(with);
    for world in delivered.chain(others) {
        let results = for_each_seed(CRASHES.seeds(), |seed| {
            let protocol = RandomProtocol::for_worlds(seed).without_properties();
            let model = protocol.model();
            assert_eq!(world.why_crashes_must_be_steps(&model), None, "{world:?}");
            let mut reached = 0;
            for sends in [CrashSends::All, CrashSends::Some] {
                let (without, with) = with_and_without_crashes(|| protocol.model(), &world, sends, 2_000)?;
                assert_eq!(without, with, "seed {seed} in {world:?}, sending {sends:?}");
                reached += with.len();
            }
            Some(reached)
        });
        let compared =
            results.iter().filter(|(_, reached)| reached.is_some_and(|reached| reached > 4)).count();
        println!("{} {}: {compared} protocols compared", world.channel, world.delivery);
        assert!(compared >= CRASHES.least(40), "only {compared} protocols compared in {world:?}");
    }
}

/// Where steps may have to wait for room, a crash between two steps still needs no step.
#[test]
fn crashes_between_steps_never_need_steps() {
    let channels = [Channel::Mailbox, Channel::Blocking(1), Channel::Blocking(2), Channel::Overwriting(1)];
    for channel in channels {
        let results = for_each_seed(BLOCKED_CRASHES.seeds(), |seed| {
            let protocol = RandomProtocol::for_worlds(seed).without_properties();
            let build = || protocol.model();
            let (without, with) = with_and_without_crashes(build, &with(channel), CrashSends::All, 2_000)?;
            assert_eq!(without, with, "seed {seed} with {channel}");
            Some(())
        });
        let compared = results.iter().filter(|(_, compared)| compared.is_some()).count();
        assert!(compared >= BLOCKED_CRASHES.least(40), "{channel}");
    }
}

fn system_states(report: &Report) -> Option<u64> {
    report.explored().and_then(|explored| explored.system_states)
}

fn explored(model: Model, world: World) -> Report {
    let engine = Explore::default().count(Count::SystemStates);
    let report = engine.run(&model.in_world(world).unwrap(), &Search::default(), &mut ());
    assert!(matches!(report.verdict, Verdict::Holds), "{:?}", report.verdict);
    report
}

/// A2 for Paxos with stale messages kept, with as many states as a prototype counted. What is reached without crashes
/// is reached with them, so as many local states are the same ones.
#[test]
fn paxos_needs_no_crashes() {
    let protocols = quorate_zoo::protocols();
    let paxos = protocols.iter().find(|protocol| protocol.name() == "paxos").unwrap();
    let build = || paxos.instance(&paxos.arguments([("stale", "keep")], None).unwrap()).unwrap();
    let implicit = explored(build(), World::default());
    assert_eq!(implicit.coverage.states, 8_649);
    let explicit = |count, sends| {
        let prone = vec![("acceptor".to_string(), count)];
        let world = World::default().crashes(Crashes::Explicit { prone, sends });
        let report = explored(build(), world);
        assert_eq!(system_states(&report), system_states(&implicit), "{count} acceptors, {sends:?}");
        report.coverage.states
    };
    assert_eq!([1, 2, 3].map(|count| explicit(count, CrashSends::All)), [17_198, 34_205, 68_042]);
    assert_eq!([1, 2, 3].map(|count| explicit(count, CrashSends::Some)), [21_215, 51_033, 121_995]);
}

/// A2 for whatever in the zoo is small enough, in bags and queues.
#[test]
fn the_zoo_needs_no_crashes() {
    for channel in [Channel::Bag, Channel::Set, Channel::Fifo, Channel::Duplicating] {
        let mut compared = Vec::new();
        for protocol in quorate_zoo::protocols() {
            let build = || protocol.instance(&protocol.arguments([], None).unwrap()).unwrap();
            for sends in [CrashSends::All, CrashSends::Some] {
                let found = with_and_without_crashes(build, &with(channel), sends, 6_000);
                if let Some((without, with)) = found {
                    assert_eq!(without, with, "{} with {channel}", protocol.name());
                    compared.push(protocol.name());
                }
            }
        }
        println!("{channel}: {}", compared.join(", "));
        assert!(compared.len() >= 4, "with {channel} only {compared:?} are small enough");
    }
}

/// Does a crash of a speaker let the hearer hear something that it could not hear otherwise, when all is said?
fn shows(build: impl Fn() -> System<char>, channel: Channel, sends: CrashSends) -> bool {
    let build = || build().build().unwrap();
    let (without, with) = with_and_without_crashes(build, &with(channel), sends, 10_000).unwrap();
    assert!(without.is_subset(&with), "crashes take nothing away");
    without != with
}

const RELAYS: RoleName = RoleName::new("relay");

/// Says something to the hearer when it is asked to.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Relay {
    starts: bool,
}

impl Role for Relay {
    type Message = char;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("start").when(|r| r.starts).run(|r, out| {
            r.starts = false;
            out.send_all(HEARERS, 'a');
            let other = out.members(RELAYS)[1];
            out.send(other, 'x');
        });
        t.message("go on").run(|_, _, out| out.send_all(HEARERS, 'b'));
    }
}

/// The hearer receives a before anybody knows that b is to be said.
fn relayed() -> System<char> {
    System::new()
        .role(RELAYS, 2, |index| Relay { starts: index == 0 })
        .role(HEARERS, 1, |_| Hearer::default())
}

fn both_at_once() -> System<char> {
    speaking(&[&["ab"]], false)
}

/// A3. Where A2 fails: a gap that a crash leaves in what is sent can be distinguished from a message that is not
/// received.
#[test]
fn some_channels_show_what_a_crash_did_not_send() {
    // A queue shows a gap, but not the end. Only something worse than a crash leaves a gap.
    assert!(!shows(both_at_once, Channel::Fifo, CrashSends::Some));
    assert!(shows(both_at_once, Channel::Fifo, CrashSends::AnySubset));
    // Without order, or where messages get lost anyway, there is nothing to be seen.
    for channel in
        [Channel::Bag, Channel::Set, Channel::Duplicating, Channel::LossyFifo, Channel::LossyMailbox]
    {
        assert!(!shows(both_at_once, channel, CrashSends::AnySubset), "{channel}");
        assert!(!shows(relayed, channel, CrashSends::AnySubset), "{channel}");
    }
    // In a mailbox b comes after a, unless a was never sent.
    assert!(shows(relayed, Channel::Mailbox, CrashSends::Some));
    assert!(!shows(relayed, Channel::Fifo, CrashSends::Some));
    // b takes the place of a, unless b was never sent.
    assert!(shows(both_at_once, Channel::Overwriting(1), CrashSends::Some));
    assert!(!shows(both_at_once, Channel::Overwriting(2), CrashSends::Some));
    // There is never room for both, and there is for a.
    assert!(shows(both_at_once, Channel::Blocking(1), CrashSends::Some));
    assert!(!shows(both_at_once, Channel::Blocking(2), CrashSends::Some));
    let model = both_at_once().build().unwrap();
    for channel in [Channel::Mailbox, Channel::Overwriting(1), Channel::Blocking(1)] {
        assert!(with(channel).why_crashes_must_be_steps(&model).is_some(), "{channel} does not warn");
    }
}

/// A message in a bag that is never consumed is a lost message; in a queue it would be in the way.
#[test]
fn losses_in_bags_need_no_steps() {
    let reached = |model: Model, world| Some(search(&model.in_world(world).unwrap(), 3_000)?.system_states);
    let losing = |channel| with(channel).losses(2);
    let results = for_each_seed(LOSSES.seeds(), |seed| {
        let protocol = RandomProtocol::for_worlds(seed).without_properties();
        let with_losses = reached(protocol.model(), losing(Channel::Bag))?;
        assert_eq!(Some(with_losses), reached(protocol.model(), World::default()), "seed {seed}");
        Some(())
    });
    let compared = results.iter().filter(|(_, compared)| compared.is_some()).count();
    assert!(compared >= LOSSES.least(100), "only {compared} protocols compared");
    let spoken = || both_at_once().build().unwrap();
    let reached = |world| reached(spoken(), world).unwrap().len();
    assert_eq!(reached(losing(Channel::Bag)), reached(World::default()));
    assert_eq!((reached(losing(Channel::Fifo)), reached(with(Channel::Fifo))), (5, 4));
}
