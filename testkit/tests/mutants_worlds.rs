//! The comparison of worlds.rs can fail: every mistake about channels, delivery, faults, monitors and forged messages
//! that is planted in the naive checker is noticed on some random protocol in some random world, and every mistake about
//! where runs end, on protocols that look at ends.

use quorate::engine::{Count, Explore, Search};
use quorate::world::{Channel, CrashSends, Crashes, Delivery, StepKind, World};
use quorate_testkit::compare::{differences, explored};
use quorate_testkit::naive::{Excuse, Inbox, Semantics, happen, left, may_take, put, search_with};
use quorate_testkit::random::RandomProtocol;
use quorate_testkit::tier::WORLDS;
use quorate_testkit::worlds::random_world;

/// On how many protocols a mistake must be noticed.
const NOTICED_MIN: usize = 3;
/// Among how many.
const SEEDS_MAX: u64 = 2_200;
/// Protocols with more states are skipped: a mistake may make inboxes grow without end.
const STATES_MAX: usize = 1_000;

/// A mistake that matters in some worlds is noticed in some of them.
#[track_caller]
fn noticed(matters: impl Fn(&World) -> bool, mistake: Semantics) {
    noticed_on(|protocol| vec![protocol.without_properties()], matters, mistake);
}

/// A mistake about ends that matters in some worlds is noticed in some of them: by the protocol's own properties, or by
/// counting, with a property that is content with every end.
#[track_caller]
fn noticed_at_ends(matters: impl Fn(&World) -> bool, mistake: Semantics) {
    let looking = |protocol: RandomProtocol| {
        let content = protocol.content_with_all_ends();
        Some(protocol).filter(RandomProtocol::looks_at_ends).into_iter().chain([content]).collect()
    };
    noticed_on(looking, matters, mistake);
}

/// A mistake is noticed on some of what is made of random protocols.
#[track_caller]
fn noticed_on(
    made_of: impl Fn(RandomProtocol) -> Vec<RandomProtocol>,
    matters: impl Fn(&World) -> bool,
    mistake: Semantics,
) {
    let differs = |protocol: &RandomProtocol| {
        let model = protocol.model();
        let world = random_world(protocol.seed(), &model);
        if !matters(&world) {
            return false;
        }
        let Ok(model) = model.in_world(world) else { return false };
        let engine = Explore::default().count(Count::SystemStates);
        let search = Search::default().threads(1);
        let Some(found) = search_with(&model, STATES_MAX, mistake) else { return false };
        let report = explored(&model, &engine, &search).expect("the engine does not panic");
        !differences(&model, &found, (&engine, &search), &report).is_empty()
    };
    let differs = |seed: &u64| made_of(RandomProtocol::for_worlds(*seed)).iter().any(differs);
    let noticed: Vec<u64> = (0..SEEDS_MAX).filter(differs).take(NOTICED_MIN).collect();
    assert_eq!(noticed.len(), NOTICED_MIN, "the mistake is noticed by seeds {noticed:?} only");
    WORLDS.catches(std::thread::current().name(), &noticed);
}

/// A channel that is taken for another.
fn mistaken(world: &World, channel: Channel, for_another: Channel) -> World {
    world.clone().channel(if world.channel == channel { for_another } else { world.channel })
}

fn has(channel: Channel) -> impl Fn(&World) -> bool {
    move |world| world.channel == channel
}

fn blocks(world: &World) -> bool {
    matches!(world.channel, Channel::Blocking(_))
}

fn overwrites(world: &World) -> bool {
    matches!(world.channel, Channel::Overwriting(_))
}

/// Crashes as they are, but for what is still sent.
fn crashes_sending(world: &World, sends: CrashSends) -> World {
    let crashes = match &world.crashes {
        Crashes::Explicit { prone, .. } => Crashes::Explicit { prone: prone.clone(), sends },
        Crashes::Implicit => Crashes::Implicit,
    };
    world.clone().crashes(crashes)
}

fn crashes(world: &World) -> bool {
    world.crashes != Crashes::Implicit
}

#[test]
fn a_set_counts() {
    let world = |world: &World| mistaken(world, Channel::Set, Channel::Bag);
    noticed(has(Channel::Set), Semantics { world, ..Semantics::default() });
}

#[test]
fn a_bag_does_not_count() {
    let world = |world: &World| mistaken(world, Channel::Bag, Channel::Set);
    noticed(has(Channel::Bag), Semantics { world, ..Semantics::default() });
}

#[test]
fn a_queue_gives_any_message() {
    noticed(has(Channel::Fifo), Semantics { may_take: |_, _, _| true, ..Semantics::default() });
}

#[test]
fn a_queue_is_for_all_senders() {
    let world = |world: &World| mistaken(world, Channel::Fifo, Channel::Mailbox);
    noticed(has(Channel::Fifo), Semantics { world, ..Semantics::default() });
}

#[test]
fn the_head_of_a_mailbox_is_off_by_one() {
    let may_take =
        |_: &World, _: &_, chosen: &[(usize, usize)]| chosen.iter().all(|(_, at)| *at <= chosen.len());
    noticed(has(Channel::Mailbox), Semantics { may_take, ..Semantics::default() });
}

#[test]
fn a_mailbox_loses_what_is_skipped() {
    let world = |world: &World| mistaken(world, Channel::Mailbox, Channel::LossyMailbox);
    noticed(has(Channel::Mailbox), Semantics { world, ..Semantics::default() });
}

#[test]
fn what_is_skipped_is_not_lost() {
    let left = |world: &World, inbox: &_, chosen: &[_]| {
        let world = mistaken(world, Channel::LossyFifo, Channel::Fifo);
        left(&mistaken(&world, Channel::LossyMailbox, Channel::Mailbox), inbox, chosen)
    };
    noticed(has(Channel::LossyFifo), Semantics { left, ..Semantics::default() });
    noticed(has(Channel::LossyMailbox), Semantics { left, ..Semantics::default() });
}

#[test]
fn what_could_be_duplicated_is_consumed() {
    let left = |world: &World, inbox: &_, chosen: &[_]| {
        left(&mistaken(world, Channel::Duplicating, Channel::Set), inbox, chosen)
    };
    noticed(has(Channel::Duplicating), Semantics { left, ..Semantics::default() });
}

#[test]
fn a_full_channel_drops_messages() {
    let put = |world: &World, inbox: &mut _, letter, _| put(world, inbox, letter) || blocks(world);
    noticed(blocks, Semantics { put, ..Semantics::default() });
}

#[test]
fn a_full_channel_keeps_the_oldest() {
    let put = |world: &World, inbox: &mut _, letter, _| {
        let Channel::Overwriting(size) = world.channel else { return put(world, inbox, letter) };
        put(&world.clone().channel(Channel::Blocking(size)), inbox, letter);
        true
    };
    noticed(overwrites, Semantics { put, ..Semantics::default() });
}

#[test]
fn a_channel_holds_one_message_more() {
    let world = |world: &World| {
        let channel = match world.channel {
            Channel::Blocking(size) => Channel::Blocking(size + 1),
            Channel::Overwriting(size) => Channel::Overwriting(size + 1),
            other => other,
        };
        world.clone().channel(channel)
    };
    noticed(blocks, Semantics { world, ..Semantics::default() });
    noticed(overwrites, Semantics { world, ..Semantics::default() });
}

#[test]
fn any_copy_is_taken_from_an_overwriting_channel() {
    let may_take =
        |world: &World, inbox: &_, chosen: &[_]| overwrites(world) || may_take(world, inbox, chosen);
    noticed(overwrites, Semantics { may_take, ..Semantics::default() });
}

#[test]
fn some_of_what_was_delivered_will_do() {
    let world = |world: &World| world.clone().delivery(Delivery::InSteps);
    noticed(
        |world| world.delivery == Delivery::InStepsConsumingAll,
        Semantics { world, ..Semantics::default() },
    );
}

#[test]
fn delivery_takes_no_step() {
    let world = |world: &World| world.clone().delivery(Delivery::AtOnce);
    noticed(|world| world.delivery == Delivery::InSteps, Semantics { world, ..Semantics::default() });
}

#[test]
fn a_crash_loses_the_step() {
    noticed(crashes, Semantics { crashed: |before, _| before.clone(), ..Semantics::default() });
}

#[test]
fn a_crashing_process_sends_everything() {
    let world = |world: &World| crashes_sending(world, CrashSends::All);
    noticed(crashes, Semantics { world, ..Semantics::default() });
}

#[test]
fn a_crashing_process_sends_the_last_but_not_the_first() {
    let world = |world: &World| crashes_sending(world, CrashSends::AnySubset);
    let matters = |channel| {
        move |world: &World| {
            world.channel == channel
                && matches!(world.crashes, Crashes::Explicit { sends: CrashSends::Some, .. })
        }
    };
    noticed(matters(Channel::Fifo), Semantics { world, ..Semantics::default() });
    noticed(matters(Channel::Mailbox), Semantics { world, ..Semantics::default() });
}

#[test]
fn nobody_crashes() {
    let world = |world: &World| world.clone().crashes(Crashes::Implicit);
    noticed(crashes, Semantics { world, ..Semantics::default() });
}

#[test]
fn one_restart_too_many() {
    let world = |world: &World| {
        let more = world.restarts.iter().map(|(role, times)| (role.clone(), times + 1));
        world.clone().restarts(more.collect())
    };
    noticed(|world| !world.restarts.is_empty(), Semantics { world, ..Semantics::default() });
}

#[test]
fn losses_have_no_budget() {
    let world = |world: &World| world.clone().losses(200);
    noticed(|world| world.losses > 0, Semantics { world, ..Semantics::default() });
}

#[test]
fn one_duplication_too_many() {
    let world = |world: &World| world.clone().duplications(world.duplications + 1);
    noticed(|world| world.duplications > 0, Semantics { world, ..Semantics::default() });
}

#[test]
fn a_copy_goes_to_the_end_of_the_queue() {
    let happen = |world: &World, inbox: &Inbox, kind| {
        let mut inboxes = happen(world, inbox, kind);
        if kind == StepKind::Duplication {
            let doubled = inbox.waiting().map(|letter| {
                let mut after = inbox.clone();
                if let Some(queue) = after.queues.values_mut().find(|queue| queue.contains(&letter)) {
                    queue.push(letter);
                }
                after
            });
            inboxes = doubled.collect();
        }
        inboxes
    };
    noticed(
        |world| world.duplications > 0 && matches!(world.channel, Channel::Fifo | Channel::Mailbox),
        Semantics { happen, ..Semantics::default() },
    );
}

#[test]
fn a_monitor_misses_the_last_event() {
    noticed(
        |_| true,
        Semantics {
            hear: |monitor, state, process, events| {
                monitor.after(state, process, events.split_last().map_or(&[], |(_, rest)| rest))
            },
            ..Semantics::default()
        },
    );
}

#[test]
fn a_monitor_hears_the_last_event_first() {
    noticed(
        |_| true,
        Semantics {
            hear: |monitor, state, process, events| {
                let backwards: Vec<_> = events.iter().rev().cloned().collect();
                monitor.after(state, process, &backwards)
            },
            ..Semantics::default()
        },
    );
}

#[test]
fn a_forged_message_is_consumed() {
    noticed(|_| true, Semantics { forges_once: true, ..Semantics::default() });
}

#[test]
fn a_message_is_stored_although_it_could_be_forged() {
    noticed(|_| true, Semantics { there_anyway: |_, _| false, ..Semantics::default() });
}

fn keeps_order(world: &World) -> bool {
    matches!(world.channel, Channel::Fifo | Channel::Mailbox | Channel::LossyFifo | Channel::LossyMailbox)
}

fn is_unordered(world: &World) -> bool {
    matches!(world.channel, Channel::Bag | Channel::Set)
}

#[test]
fn a_message_that_could_be_forged_leaves_its_place() {
    let there_anyway = |_: &World, looks_at_ends: bool| !looks_at_ends;
    noticed(keeps_order, Semantics { there_anyway, ..Semantics::default() });
    noticed(blocks, Semantics { there_anyway, ..Semantics::default() });
    noticed(overwrites, Semantics { there_anyway, ..Semantics::default() });
}

#[test]
fn a_message_that_could_be_forged_need_not_arrive() {
    noticed_at_ends(is_unordered, Semantics { there_anyway: |_, _| true, ..Semantics::default() });
}

/// A mistake about what a run waits for is noticed.
#[track_caller]
fn waited_for(matters: impl Fn(&World) -> bool, is_owed_despite: fn(Excuse) -> bool) {
    noticed_at_ends(matters, Semantics { is_owed_despite, ..Semantics::default() });
}

#[test]
fn a_run_waits_for_crashes() {
    waited_for(crashes, |excuse| excuse == Excuse::Crash);
}

#[test]
fn a_run_waits_for_restarts() {
    waited_for(|world| !world.restarts.is_empty(), |excuse| excuse == Excuse::Restart);
}

#[test]
fn a_run_waits_for_losses() {
    waited_for(|world| world.losses > 0, |excuse| excuse == Excuse::Loss);
}

#[test]
fn a_run_waits_for_duplications() {
    waited_for(|world| world.duplications > 0, |excuse| excuse == Excuse::Duplication);
}

#[test]
fn a_run_waits_for_further_copies() {
    waited_for(has(Channel::Duplicating), |excuse| excuse == Excuse::FurtherCopy);
}

#[test]
fn a_run_waits_for_forged_messages() {
    waited_for(is_unordered, |excuse| excuse == Excuse::Forged);
    waited_for(keeps_order, |excuse| excuse == Excuse::Forged);
    waited_for(blocks, |excuse| excuse == Excuse::Forged);
    waited_for(overwrites, |excuse| excuse == Excuse::Forged);
}

#[test]
fn a_run_waits_for_what_may_get_lost() {
    waited_for(has(Channel::Lossy), |excuse| excuse == Excuse::MayGetLost);
    waited_for(has(Channel::LossyFifo), |excuse| excuse == Excuse::MayGetLost);
    waited_for(has(Channel::LossyMailbox), |excuse| excuse == Excuse::MayGetLost);
}

#[test]
fn a_run_waits_for_steps_that_change_nothing() {
    waited_for(|_| true, |excuse| excuse == Excuse::ChangesNothing);
}

#[test]
fn nobody_crashes_between_two_steps() {
    noticed_at_ends(crashes, Semantics { crashes_between: |_, _| false, ..Semantics::default() });
}

#[test]
fn nobody_crashes_before_the_first_step() {
    let crashes_between = |initial: &_, now: &_| initial != now;
    noticed_at_ends(crashes, Semantics { crashes_between, ..Semantics::default() });
}

#[test]
fn nobody_crashes_between_two_steps_but_before_the_first() {
    let crashes_between = |initial: &_, now: &_| initial == now;
    noticed_at_ends(crashes, Semantics { crashes_between, ..Semantics::default() });
}
