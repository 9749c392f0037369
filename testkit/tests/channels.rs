//! The naive checker counts every channel and every fault as one can by hand, and `explore` agrees.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use quorate::engine::{Count, Explore, Order, Search};
use quorate::model::Model;
use quorate::world::{Channel, CrashSends, Crashes, Delivery, World, WorldError};
use quorate::{Monitor, ProcessId, Role, System, Transitions, observe, some_of};
use quorate_testkit::compare::{differences, explored};
use quorate_testkit::naive::{Findings, NO_PANIC, search};
use quorate_testkit::speaking::{HEARERS, Hearer, SPEAKERS, Speaker, speaking};

/// Nobody may hear this.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Forbidden {
    text: &'static str,
    heard: String,
}

impl Monitor for Forbidden {
    type Event = char;

    fn hear(&mut self, _: ProcessId, letter: &char) {
        self.heard.push(*letter);
    }

    fn holds(&self) -> bool {
        self.heard != self.text
    }
}

/// What the naive checker finds; `explore` must find the same.
#[track_caller]
fn found(system: System<char>, world: World) -> Findings {
    agreed(&system.build().unwrap().in_world(world).unwrap())
}

#[track_caller]
fn agreed(model: &Model) -> Findings {
    let found = search(model, 1_000).unwrap();
    for order in [Order::Breadth, Order::Depth] {
        let engine = Explore::default().order(order).count(Count::SystemStates);
        let search = Search::default().threads(1);
        let report = explored(model, &engine, &search).unwrap();
        assert_eq!(differences(model, &found, (&engine, &search), &report), Vec::<String>::new());
    }
    found
}

/// States and transitions, with one speaker.
#[track_caller]
fn counts(batches: &[&'static str], world: World) -> (usize, usize) {
    let found = found(speaking(&[batches], false), world);
    (found.depths.len(), found.edges.len())
}

fn with(channel: Channel) -> World {
    World::default().channel(channel)
}

#[test]
fn bags_and_sets() {
    assert_eq!(counts(&["ab"], with(Channel::Bag)), (6, 5));
    // One a is as good as two.
    assert_eq!(counts(&["aa"], with(Channel::Set)), (3, 2));
    // Two are heard only if the second is said after the first was heard.
    assert_eq!(counts(&["a", "a"], with(Channel::Set)), (7, 6));
    // a, b, aa, ab, ba, bb are heard, and both stay.
    assert_eq!(counts(&["ab"], with(Channel::Duplicating)), (8, 7));
}

#[test]
fn queues() {
    for channel in [Channel::Fifo, Channel::Mailbox] {
        assert_eq!(counts(&["ab"], with(channel)), (4, 3), "{channel}");
    }
    // b may be heard with a lost.
    for channel in [Channel::LossyFifo, Channel::LossyMailbox] {
        assert_eq!(counts(&["ab"], with(channel)), (5, 4), "{channel}");
    }
    // What two speakers say in one order or the other: one state in queues for each, two in a mailbox.
    let both = |channel| found(speaking(&[&["a"], &["b"]], true), with(channel));
    assert_eq!((both(Channel::Fifo).depths.len(), both(Channel::Fifo).edges.len()), (5, 5));
    assert_eq!((both(Channel::Mailbox).depths.len(), both(Channel::Mailbox).edges.len()), (6, 6));
    // Two from one speaker are no pair: behind aa, the b is out of reach in a mailbox.
    let blocked = |channel| found(speaking(&[&["aa"], &["b"]], true), with(channel)).local_steps.len();
    assert_eq!(
        (blocked(Channel::Fifo), blocked(Channel::Mailbox), blocked(Channel::LossyMailbox)),
        (3, 3, 3)
    );
    let heard = |channel| found(speaking(&[&["aa"], &["b"]], true), with(channel)).edges.len();
    // From nothing, aa and b in both orders, then aab as a and b in one way if it is a queue for each speaker;
    // in a mailbox not at all from aab, and once from baa.
    assert_eq!((heard(Channel::Fifo), heard(Channel::Mailbox)), (5, 5));
    // aab: either a, with the same left, so once. baa: b with the first a or with the second.
    assert_eq!(heard(Channel::LossyMailbox), 4 + 1 + 2);
}

#[test]
fn bounded_channels() {
    // Two never fit at once into one place.
    assert_eq!(counts(&["ab"], with(Channel::Blocking(1))), (1, 0));
    assert_eq!(counts(&["ab"], with(Channel::Blocking(2))), (6, 5));
    // The second is said when the first was heard.
    assert_eq!(counts(&["a", "b"], with(Channel::Blocking(1))), (5, 4));
    // Only b is there to be heard.
    assert_eq!(counts(&["ab"], with(Channel::Overwriting(1))), (3, 2));
    // Heard: nothing, a or b, or ab.
    assert_eq!(counts(&["a", "b"], with(Channel::Overwriting(1))), (7, 6));
    // Of equal ones the oldest is taken: after aba it is ba, never ab.
    let aba = found(speaking(&[&["aba", "c"]], false), with(Channel::Overwriting(3)));
    let reaches = |text: &str| aba.locals.iter().any(|locals| format!("{:?}", locals[1]).contains(text));
    assert!(reaches("\"ab\"") && reaches("\"aa\"") && reaches("\"ba\"") && reaches("\"ac\""));
    // With room for two, the first of three is never heard.
    let heard = observe(|hearer: &Hearer| hearer.heard.clone());
    let abc = speaking(&[&["abc"]], false).invariant("a is lost", heard, |heard| !heard[0].contains('a'));
    assert_eq!(found(abc, with(Channel::Overwriting(2))).broken, BTreeMap::new());
}

/// Hears a letter of each speaker together, and then one alone.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct PairFirst {
    steps: u8,
}

impl Role for PairFirst {
    type Message = char;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.quorum("hear both", some_of(2, SPEAKERS)).of(|p, _| p.steps == 0).run(|p, _, _| p.steps = 1);
        t.message("hear one").of(|p: &PairFirst, _| p.steps == 1).run(|p: &mut PairFirst, _, _| p.steps = 2);
    }
}

#[test]
fn who_waited_for_room_waits_in_a_trace() {
    // The first speaker says its second letter after the first was heard, which the other had a part in.
    let batches = |at| Speaker { batches: if at == 0 { vec!["a", "b"] } else { vec!["c"] } };
    let system = System::new()
        .role(SPEAKERS, 2, batches)
        .role(HEARERS, 1, |_| PairFirst::default())
        .invariant("never two", observe(|hearer: &PairFirst| hearer.steps), |steps| steps[0] < 2);
    let broken = found(system, with(Channel::Blocking(1))).broken;
    assert_eq!(broken, BTreeMap::from([("never two".to_string(), 5)]));
}

#[test]
fn delivery_in_steps() {
    let world = |delivery| World::default().delivery(delivery);
    // Either letter is on its way, delivered or heard, and both are heard in one order or the other.
    assert_eq!(counts(&["ab"], world(Delivery::InSteps)), (11, 13));
    // With both delivered, nobody takes both at once.
    assert_eq!(counts(&["ab"], world(Delivery::InStepsConsumingAll)), (11, 11));
    let pairs = |delivery| found(speaking(&[&["ab"], &["c"]], true), world(delivery)).local_steps.len();
    assert_eq!((pairs(Delivery::InSteps), pairs(Delivery::InStepsConsumingAll)), (4, 4));
}

#[test]
fn crashes() {
    let world = |channel, sends| {
        World::default()
            .channel(channel)
            .crashes(Crashes::Explicit { prone: vec![("speaker".to_string(), 1)], sends })
    };
    assert_eq!(counts(&["a"], world(Channel::Bag, CrashSends::All)), (5, 4));
    assert_eq!(counts(&["a"], world(Channel::Bag, CrashSends::Some)), (6, 5));
    // Crashed with nothing, a, or ab sent; with any subset also with b.
    for channel in [Channel::Fifo, Channel::Mailbox] {
        assert_eq!(counts(&["ab"], world(channel, CrashSends::All)), (7, 6), "{channel}");
        assert_eq!(
            counts(&["ab"], world(channel, CrashSends::Some)),
            (4 + 1 + 2 + 3, 4 + 1 + 2 + 2),
            "{channel}"
        );
        assert_eq!(counts(&["ab"], world(channel, CrashSends::AnySubset)), (12, 11), "{channel}");
    }
    // a, b, a, of which b and the second a are sent.
    let shuffled =
        speaking(&[&["aba"]], false)
            .invariant("not ba", observe(|h: &Hearer| h.heard.clone()), |heard| heard[0] != "ba");
    let shuffled = found(shuffled, world(Channel::Fifo, CrashSends::AnySubset));
    assert_eq!(shuffled.broken, BTreeMap::from([("not ba".to_string(), 3)]));
    // A monitor hears of a step in which the hearer crashes.
    let hearers = Crashes::Explicit { prone: vec![("hearer".to_string(), 1)], sends: CrashSends::Some };
    let monitored =
        speaking(&[&["ab"]], false).monitor("not ba", Forbidden { text: "ba", heard: String::new() });
    assert_eq!(found(monitored, with(Channel::Fifo).crashes(hearers)).broken, BTreeMap::new());
    // There is room for the first letter of two, and the speaker may crash after it.
    assert_eq!(counts(&["ab"], world(Channel::Blocking(1), CrashSends::Some)), (1 + 1 + 2 + 2, 3 + 2));
}

#[test]
fn restarts_losses_and_duplications() {
    let restarts = World::default().restarts(vec![("hearer".to_string(), 1)]);
    assert_eq!(counts(&["a"], restarts), (4, 3));
    let loses = |channel| World::default().channel(channel).losses(1);
    assert_eq!(counts(&["a"], loses(Channel::Bag)), (4, 3));
    // Either a may be lost, as a step of its own where they stand in a queue.
    assert_eq!(counts(&["aa"], loses(Channel::Bag)), (6, 6));
    assert_eq!(counts(&["aa"], loses(Channel::Fifo)), (6, 7));
    let doubles = |channel| World::default().channel(channel).duplications(1);
    assert_eq!(counts(&["a"], doubles(Channel::Bag)), (6, 5));
    // The copy follows: aab or abb, never aba.
    let copied = found(speaking(&[&["ab"]], false), doubles(Channel::Fifo));
    let reaches = |text: &str| copied.locals.iter().any(|locals| format!("{:?}", locals[1]).contains(text));
    assert!(reaches("\"aa\"") && reaches("\"ab\"") && !reaches("\"ba\""));
}

#[test]
fn forged_messages_and_monitors() {
    let forging = |batches| speaking(&[batches], false).forges((SPEAKERS, 0), HEARERS, ['a']);
    let counts = |found: &Findings| (found.depths.len(), found.edges.len());
    assert_eq!(counts(&found(forging(&[]), World::default())), (3, 2));
    // What is said is there anyway.
    assert_eq!(counts(&found(forging(&["a"]), World::default())), (6, 7));
    let monitored =
        speaking(&[&["ab"]], false).monitor("not ba", Forbidden { text: "ba", heard: String::new() });
    assert_eq!(found(monitored, World::default()).broken, BTreeMap::from([("not ba".to_string(), 3)]));
    let monitored =
        speaking(&[&["ab"]], false).monitor("not ba", Forbidden { text: "ba", heard: String::new() });
    assert_eq!(found(monitored, with(Channel::Fifo)).broken, BTreeMap::new());
}

#[test]
fn a_selection_panics_on_what_can_be_taken_alone() {
    let broken = |pairs, speakers: &[&[&'static str]], world| found(speaking(speakers, pairs), world).broken;
    let panics = |after: u32| BTreeMap::from([(NO_PANIC.to_string(), after)]);
    assert_eq!(broken(false, &[&["!"]], World::default()), panics(2));
    assert_eq!(broken(true, &[&["!"], &[]], World::default()), panics(2));
    // Behind the a it is out of reach.
    for channel in [Channel::Fifo, Channel::Mailbox] {
        assert_eq!(broken(false, &[&["a!"]], with(channel)), panics(3), "{channel}");
    }
    // With the mark in second place nobody looks at it, and it spoils the pair.
    assert_eq!(broken(true, &[&["a!"], &[]], with(Channel::Mailbox)), BTreeMap::new());
    assert_eq!(broken(true, &[&["aa"], &["!"]], with(Channel::Mailbox)), panics(2));
    let all = World::default().delivery(Delivery::InStepsConsumingAll);
    assert_eq!(broken(false, &[&["a!"]], all), panics(3));
}

#[test]
fn a_channel_without_room_makes_no_sense() {
    for size in [0, Channel::SIZE_MAX + 1] {
        for channel in [Channel::Blocking(size), Channel::Overwriting(size)] {
            let model = speaking(&[&["a"]], false).build().unwrap();
            let error = model.in_world(with(channel)).err();
            assert_eq!(error, Some(WorldError::ChannelSize { size, most: Channel::SIZE_MAX }), "{channel}");
        }
    }
}

#[test]
fn ends_are_not_looked_for_where_processes_get_stuck() {
    let both = |delivery| {
        let heard = observe(|hearer: &Hearer| hearer.heard.clone());
        let system = speaking(&[&["a"], &["b"]], false).at_end("both", heard, |_| true);
        system.build().unwrap().in_world(World::default().delivery(delivery)).err()
    };
    let stuck = WorldError::EndsStuck { property: "both".to_string() };
    assert_eq!(both(Delivery::InStepsConsumingAll), Some(stuck));
    assert_eq!((both(Delivery::InSteps), both(Delivery::AtOnce)), (None, None));
}

#[test]
fn worlds_that_make_no_sense_are_refused() {
    let fits = |world: World| speaking(&[&["a"]], false).build().unwrap().in_world(world).is_ok();
    // The channel, and whether messages can be delivered, lost and doubled in steps.
    let table = [
        (Channel::Bag, true, true, true),
        (Channel::Lossy, true, false, false),
        (Channel::Set, true, true, false),
        (Channel::Duplicating, false, false, false),
        (Channel::Fifo, false, true, true),
        (Channel::Mailbox, false, true, true),
        (Channel::LossyFifo, false, false, false),
        (Channel::LossyMailbox, false, false, false),
        (Channel::Blocking(1), false, true, false),
        (Channel::Overwriting(1), false, true, false),
    ];
    for (channel, delivered, lost, doubled) in table {
        for delivery in [Delivery::InSteps, Delivery::InStepsConsumingAll] {
            assert_eq!(fits(with(channel).delivery(delivery)), delivered, "{delivery}, {channel}");
        }
        assert_eq!(fits(with(channel).losses(1)), lost, "losses, {channel}");
        assert_eq!(fits(with(channel).duplications(1)), doubled, "duplications, {channel}");
    }
    assert!(fits(World::default().losses(255)) && !fits(World::default().losses(256)));
    assert!(fits(World::default().duplications(255)) && !fits(World::default().duplications(256)));
    assert!(fits(World::default().restart("hearer", 255)) && !fits(World::default().restart("hearer", 256)));
    assert!(!fits(World::default().restart("nobody", 1)));
    let prone =
        |count| Crashes::Explicit { prone: vec![("speaker".to_string(), count)], sends: CrashSends::All };
    assert!(fits(World::default().crashes(prone(1))) && !fits(World::default().crashes(prone(2))));
}

/// Puts what it hears at the end of its queue.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Spinner {
    begun: bool,
}

impl Role for Spinner {
    type Message = char;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("begin").when(|s| !s.begun).run(|s, out| {
            s.begun = true;
            out.send(out.me(), 'a');
            out.send(out.me(), 'b');
        });
        t.message("spin").run(|_: &mut Spinner, letter, out| out.send(out.me(), *letter.body));
    }
}

/// Says the same for ever.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Droning;

impl Role for Droning {
    type Message = char;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("drone").run(|_, out| out.send_all(HEARERS, 'a'));
    }
}

/// Hears nothing.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Deaf;

impl Role for Deaf {
    type Message = char;
    fn transitions(&self, _: &mut Transitions<Self>) {}
}

#[test]
fn a_trace_to_an_end_goes_on_to_the_end() {
    let never = |after| BTreeMap::from([("never".to_string(), after)]);
    // Two letters change places for ever, until one of them is lost.
    let spinning = System::new().role(HEARERS, 1, |_| Spinner::default());
    let spinning = spinning.at_end("never", observe(|s: &Spinner| s.begun), |_| false);
    assert_eq!(found(spinning, with(Channel::Fifo).losses(1)).broken, never(2));
    // The first time something is said makes a difference to the first process, and to nobody else.
    let droning = System::new().role(HEARERS, 1, |_| Deaf).role(SPEAKERS, 1, |_| Droning);
    let droning = droning.at_end("never", observe(|_: &Droning| false), |_| false);
    assert_eq!(found(droning, with(Channel::Set)).broken, never(1));
    // Who waits for room for ever has come to an end, whatever it has still to do.
    let waiting =
        System::new().role(HEARERS, 1, |_| Deaf).role(SPEAKERS, 1, |_| Speaker { batches: vec!["a", "b"] });
    let waiting = waiting.at_end("never", observe(|_: &Speaker| false), |_| false);
    assert_eq!(found(waiting, with(Channel::Blocking(1))).broken, never(1));
}
