//! What replay refuses: every engine's counterexample goes through it, so a step that cannot happen must not pass. And
//! what becomes of a run on its way to the reader: it is as short as it can be made, breaks what it broke, and keeps the
//! order that makes a difference.

use quorate::engine::{Engine, Explore, Search};
use quorate::model::{Envelope, Model, ScheduledStep, Sending, Taken, Value};
use quorate::replay::{Replay, follow_causes, minimise, replay};
use quorate::world::{Channel, CrashSends, Crashes, StepKind, World};
use quorate::{Monitor, ProcessId, Role, RoleName, System, Transitions, Verdict, observe, some_of};
use quorate_testkit::naive;
use quorate_testkit::speaking::{HEARERS, SPEAKERS, speaking};

fn speaker() -> ProcessId {
    ProcessId::new(0)
}

fn hearer() -> ProcessId {
    ProcessId::new(1)
}

/// A step that takes nothing.
fn alone(process: ProcessId, kind: StepKind) -> ScheduledStep {
    ScheduledStep {
        process,
        kind,
        transition: 0,
        consumed: Vec::new(),
        choices: Vec::new(),
        sent: Vec::new(),
    }
}

fn taken(letter: char) -> Taken {
    Taken { envelope: Envelope { from: speaker(), body: Value::new(letter) }, nth: 0, forged: false }
}

/// A step of the hearer, or of the world on what is on its way there, that takes a letter.
fn takes(kind: StepKind, letter: char) -> ScheduledStep {
    ScheduledStep { consumed: vec![taken(letter)], ..alone(hearer(), kind) }
}

/// The speaker crashes as it speaks, with these letters sent.
fn crash(letters: &str) -> ScheduledStep {
    let sending = |letter: char| Sending { to: hearer(), body: Value::new(letter) };
    ScheduledStep { sent: letters.chars().map(sending).collect(), ..alone(speaker(), StepKind::Crash) }
}

fn say() -> ScheduledStep {
    alone(speaker(), StepKind::Transition)
}

fn model(batches: &[&'static str], world: World) -> Model {
    speaking(&[batches], false).build().expect("a system").in_world(world).expect("a world that fits")
}

/// All steps but the last can happen, and the last cannot.
#[track_caller]
fn refused(model: &Model, steps: &[ScheduledStep], reason: &str) {
    let mut run = Replay::new(model);
    let (last, before) = steps.split_last().expect("a step to refuse");
    for step in before {
        run.step(step).expect("a step that can happen");
    }
    let error = run.step(last).expect_err("a step that cannot happen");
    assert!(error.reason.contains(reason), "{error}, not: {reason}");
}

fn crashing(channel: Channel, sends: CrashSends) -> World {
    let prone = vec![(SPEAKERS.name().to_string(), 1)];
    World::default().channel(channel).crashes(Crashes::Explicit { prone, sends })
}

#[test]
fn only_what_can_be_forged_is() {
    let forged = Taken { forged: true, ..taken('a') };
    let hear = ScheduledStep { consumed: vec![forged], ..alone(hearer(), StepKind::Transition) };
    refused(&model(&["a"], World::default()), std::slice::from_ref(&hear), "cannot be forged");
    let forging = speaking(&[&[]], false).forges((SPEAKERS, 0), HEARERS, ['b']);
    refused(&forging.build().expect("a system"), &[hear], "cannot be forged");
}

#[test]
fn nobody_steps_after_a_crash() {
    let model = model(&["a", "b"], crashing(Channel::Bag, CrashSends::Some));
    refused(&model, &[crash("a"), say()], "has crashed");
    refused(&model, &[crash(""), crash("b")], "has crashed");
}

#[test]
fn nothing_happens_after_a_panic() {
    let hear = takes(StepKind::Transition, '!');
    refused(&model(&["!", "a"], World::default()), &[say(), hear, say()], "already ended in a panic");
}

#[test]
fn a_crash_sends_what_it_may() {
    let cannot = "cannot crash like this";
    refused(&model(&["ab"], World::default()), &[crash("ab")], cannot);
    refused(&model(&["ab"], crashing(Channel::Bag, CrashSends::All)), &[crash("a")], cannot);
    let in_order = model(&["ab"], crashing(Channel::Fifo, CrashSends::Some));
    refused(&in_order, &[crash("b")], cannot);
    refused(&in_order, &[crash("ba")], cannot);
    let any = model(&["ab"], crashing(Channel::Fifo, CrashSends::AnySubset));
    refused(&any, &[crash("ba")], cannot);
    for (world, sent) in [
        (crashing(Channel::Bag, CrashSends::All), "ab"),
        (crashing(Channel::Bag, CrashSends::Some), "b"),
        (crashing(Channel::Fifo, CrashSends::Some), "a"),
        (crashing(Channel::Fifo, CrashSends::AnySubset), "b"),
    ] {
        replay(&model(&["ab"], world), &vec![crash(sent)]).expect("a crash that can happen");
    }
}

#[test]
fn nobody_stops_who_may_not() {
    let stop = [alone(speaker(), StepKind::Stop)];
    refused(&model(&["a"], World::default()), &stop, "cannot crash");
    // Before its end, a run shows nothing of a process that has stopped.
    refused(&model(&["a"], crashing(Channel::Bag, CrashSends::All)), &stop, "cannot crash");
}

#[test]
fn restarts_are_counted_and_lose_something() {
    let restart = || alone(hearer(), StepKind::Restart);
    let hear = |letter| takes(StepKind::Transition, letter);
    let model = model(&["ab"], World::default().restart(HEARERS.name(), 1));
    refused(&model, &[restart()], "loses nothing in a restart");
    refused(&model, &[say(), hear('a'), restart(), hear('b'), restart()], "cannot restart any more");
    refused(&model, &[alone(speaker(), StepKind::Restart)], "cannot restart any more");
}

#[test]
fn losses_and_copies_are_counted() {
    let losing = model(&["ab"], World::default().losses(1));
    let loss = |letter| takes(StepKind::Loss, letter);
    refused(&losing, &[say(), loss('a'), loss('b')], "there is no loss any more");
    refused(&losing, &[say(), loss('a'), loss('a')], "is not in the inbox");
    let doubles = model(&["ab"], World::default().duplications(1));
    let double = |letter| takes(StepKind::Duplication, letter);
    refused(&doubles, &[say(), double('a'), double('b')], "there is no duplication any more");
    refused(&doubles, &[say(), takes(StepKind::Delivery, 'a')], "there is no delivery any more");
}

#[test]
fn channels_give_what_they_may() {
    let hear = |letter| takes(StepKind::Transition, letter);
    for channel in [Channel::Fifo, Channel::Mailbox] {
        let model = model(&["ab"], World::default().channel(channel));
        refused(&model, &[say(), hear('b')], "cannot take these messages");
    }
    let full = model(&["ab"], World::default().channel(Channel::Blocking(1)));
    refused(&full, &[say()], "there is no room");
    let twice = ScheduledStep { consumed: vec![taken('a'), taken('a')], ..hear('a') };
    refused(&model(&["a"], World::default()), &[say(), twice], "is not in the inbox");
}

#[test]
fn choices_are_those_of_the_handler() {
    let chooses = ScheduledStep { choices: vec![0], ..say() };
    refused(&model(&["a"], World::default()), &[chooses], "the handler made 0 choices, not 1");
}

const FLAGS: RoleName = RoleName::new("flag");

/// Sets flags, each once, and says so if it is not quiet.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Flags {
    set: [bool; 3],
    quiet: bool,
}

impl Role for Flags {
    type Message = ();
    fn transitions(&self, t: &mut Transitions<Self>) {
        for (flag, name) in ["x", "y", "z"].into_iter().enumerate() {
            t.internal(name).when(move |f| !f.set[flag]).run(move |f, out| {
                f.set[flag] = true;
                if !f.quiet {
                    out.emit(flag);
                }
            });
        }
    }
}

fn flags(count: usize, quiet: bool) -> System<()> {
    System::new().role(FLAGS, count, |_| Flags { set: [false; 3], quiet })
}

fn sets(process: usize, flag: usize) -> ScheduledStep {
    ScheduledStep { transition: flag, ..alone(ProcessId::new(process), StepKind::Transition) }
}

/// What is left of a run that sets x, y and z.
fn shortened(system: System<()>) -> usize {
    let model = system.build().expect("a system");
    let schedule = vec![sets(0, 0), sets(0, 1), sets(0, 2)];
    let (_, broken) = replay(&model, &schedule).expect("a run");
    let broken = broken.expect("it breaks something");
    let shorter = minimise(&model, schedule, &broken);
    let (_, again) = replay(&model, &shorter).expect("a run");
    assert_eq!(again.expect("it still breaks").property(), broken.property());
    shorter.len()
}

#[test]
fn a_step_that_another_needed_is_dropped_with_it() {
    // Without y it needs x to be unset; so y can go once x is gone, and not before.
    let system = flags(1, true).invariant("z means x and not y", observe(|f: &Flags| f.set), |all| {
        let [x, y, z] = all[0];
        !z || x && !y
    });
    assert_eq!(shortened(system), 1);
}

#[test]
fn a_shorter_run_breaks_the_same_property() {
    let system = flags(1, true)
        .invariant("never y and z", observe(|f: &Flags| f.set), |all| !(all[0][1] && all[0][2]))
        .invariant("never z", observe(|f: &Flags| f.set), |all| !all[0][2]);
    assert_eq!(shortened(system), 2);
}

/// The order in which flags are set.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Order(Vec<(ProcessId, usize)>);

impl Monitor for Order {
    type Event = usize;

    fn hear(&mut self, from: ProcessId, flag: &usize) {
        self.0.push((from, *flag));
    }

    fn holds(&self) -> bool {
        self.0.len() < 4
    }
}

fn reordered(system: System<()>, schedule: &Vec<ScheduledStep>) -> Vec<ScheduledStep> {
    let model = system.build().expect("a system");
    let (trace, _) = replay(&model, schedule).expect("a run");
    let reordered = follow_causes(schedule, &trace);
    replay(&model, &reordered).expect("the same steps, in an order that can happen");
    reordered
}

#[test]
fn the_last_step_stays_the_last() {
    let schedule = vec![sets(0, 0), sets(1, 0), sets(0, 1)];
    // The steps of the first process could stand side by side, but the last is the one that breaks something.
    let followed = reordered(flags(2, true), &schedule);
    assert_eq!(followed.last(), schedule.last());
    let schedule = vec![sets(0, 0), sets(1, 0), sets(0, 1), sets(1, 1)];
    assert_eq!(reordered(flags(2, true), &schedule).last(), schedule.last());
}

#[test]
fn what_a_monitor_hears_stays_in_order() {
    let schedule = vec![sets(0, 0), sets(1, 0), sets(0, 1), sets(1, 1)];
    assert_eq!(reordered(flags(2, false).monitor("few", Order::default()), &schedule), schedule);
}

const TURNS: RoleName = RoleName::new("in turn");
const COLLECTOR: RoleName = RoleName::new("collector");

/// The first says 1, and then the second says 2.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct InTurn {
    speaks: bool,
}

impl Role for InTurn {
    type Message = u8;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("say 1").when(|one| one.speaks).run(|one, out| {
            one.speaks = false;
            out.send_all(COLLECTOR, 1);
            out.send(out.members(TURNS)[1], 1);
        });
        t.message("say 2").run(|_: &mut InTurn, _, out| out.send_all(COLLECTOR, 2));
    }
}

/// Takes two together, and must not be asked about 2.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Collector {
    done: bool,
}

impl Role for Collector {
    type Message = u8;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.quorum("collect", some_of(2, TURNS))
            .of(|_: &Collector, word| {
                assert!(*word != 2, "nobody asks about 2");
                true
            })
            .run(|c: &mut Collector, _, _| c.done = true);
    }
}

#[test]
fn what_cannot_be_selected_behind_another_is_no_reason_to_go_on() {
    // In a mailbox the second word is never first, so it never comes to the panic; and nothing is taken with it.
    let system = System::new()
        .role(TURNS, 2, |at| InTurn { speaks: at == 0 })
        .role(COLLECTOR, 1, |_| Collector { done: false })
        .at_end("collected", observe(|c: &Collector| c.done), |all| all[0]);
    let world = World::default().channel(Channel::Mailbox);
    let model = system.build().expect("a system").in_world(world).expect("a world that fits");
    let found = naive::search(&model, 1_000).expect("few states");
    assert_eq!(found.broken.keys().collect::<Vec<_>>(), ["collected"]);
    let report = Explore::default().run(&model, &Search::default(), &mut ());
    match report.verdict {
        Verdict::Violated(violation) => assert_eq!(violation.broken.property(), "collected"),
        other => panic!("the verdict is {other:?}"),
    }
}
