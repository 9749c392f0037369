//! What reductions rely on, a small protocol for each thing: whoever forgets it misses the violation.
//!
//! Every combination of reductions that is allowed is compared with the naive checker, with all kinds of stubborn sets,
//! and with the processes in both orders: of two who may step, a stubborn set prefers one.

use quorate::engine::{Engine, Explore, Search};
use quorate::property::Monitor;
use quorate::reduce::{Reductions, Refinement, Seeds};
use quorate::world::Channel;
use quorate::{ProcessId, Role, RoleName, System, Transitions, Verdict, World, observe, some_of};
use quorate_testkit::naive;
use quorate_testkit::reductions::combinations;

const ONE: RoleName = RoleName::new("one");
const OTHER: RoleName = RoleName::new("other");
const THIRD: RoleName = RoleName::new("third");

/// Whatever is left out, the violation is found.
#[track_caller]
fn is_found(system: System<u8>, world: &World) {
    let model = system.build().expect("a system").in_world(world.clone()).expect("a world that fits");
    let found = naive::search(&model, 10_000).expect("a small system");
    assert!(!found.broken.is_empty(), "there is nothing to find");
    let all = combinations(&model);
    assert!(!all.is_empty(), "every reduction is refused");
    for which in all {
        let checked = Reductions::checked(&which, &model).expect("checked before");
        for refinement in [Refinement::Auto, Refinement::Combined, Refinement::Quorum, Refinement::None] {
            for seeds in [Seeds::Best, Seeds::First, Seeds::Last] {
                let reductions = Reductions { refinement, seeds, ..checked.clone() };
                let report =
                    Explore::default().search(&model, &Search::default().reductions(reductions), &mut ());
                assert!(
                    matches!(report.verdict, Verdict::Violated(_)),
                    "{which:?}, {refinement:?}, {seeds:?}: {}",
                    report.verdict.word()
                );
            }
        }
    }
}

/// Counts in silence, or says each number to the third, or to who listens to events.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Counter {
    count: u8,
    last: u8,
    sends: bool,
    emits: bool,
}

impl Counter {
    fn to(last: u8) -> Counter {
        Counter { count: 0, last, sends: false, emits: false }
    }
}

impl Role for Counter {
    type Message = u8;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("count").when(|c| c.count < c.last).run(|c, out| {
            c.count += 1;
            if c.count == c.last && c.sends {
                out.send_all(THIRD, c.count);
            }
            if c.count == c.last && c.emits {
                out.emit(out.me());
            }
        });
    }
}

/// Never steps.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Idler;

impl Role for Idler {
    type Message = u8;
    fn transitions(&self, _: &mut Transitions<Self>) {}
}

/// Wants one process to be heard of before another.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct InOrder {
    first: ProcessId,
    heard: Vec<ProcessId>,
}

impl Monitor for InOrder {
    type Event = ProcessId;

    fn hear(&mut self, _: ProcessId, event: &ProcessId) {
        self.heard.push(*event);
    }

    fn holds(&self) -> bool {
        self.heard.first().is_none_or(|heard| *heard == self.first)
    }
}

#[test]
fn who_is_heard_of_first() {
    for last in [1, 2] {
        for first in 0..2 {
            // A step that emits may say something, too.
            for sends in [false, true] {
                let emits = || Counter { sends, emits: true, ..Counter::to(last) };
                let (first, heard) = (ProcessId::new(first), Vec::new());
                let system = System::new()
                    .role(ONE, 1, |_| emits())
                    .role(OTHER, 1, |_| emits())
                    .role(THIRD, 1, |_| Idler)
                    .monitor("in order", InOrder { first, heard });
                is_found(system, &World::default());
            }
        }
    }
}

/// Says something and goes one of two ways: on one it says something more, on the other somebody is told of it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Wanderer {
    is_loud_first: bool,
    place: u8,
}

impl Role for Wanderer {
    type Message = u8;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("split").when(|w| w.place == 0).run(|w, out| {
            let (one, other) = if w.is_loud_first { (2, 1) } else { (1, 2) };
            w.place = out.choose([one, other]);
            out.send_all(THIRD, 0);
        });
        t.internal("say").when(|w| w.place == 1).run(|w, out| {
            w.place = 3;
            out.send_all(THIRD, 1);
        });
        t.internal("tell").when(|w| w.place == 2).run(|w, out| {
            w.place = 3;
            out.emit(out.me());
        });
    }
}

#[test]
fn who_may_be_heard_of_on_one_of_two_ways() {
    for is_loud_first in [false, true] {
        for first in 0..2 {
            let (first, heard) = (ProcessId::new(first), Vec::new());
            let system = System::new()
                .role(ONE, 1, |_| Counter { emits: true, ..Counter::to(1) })
                .role(OTHER, 1, |_| Wanderer { is_loud_first, place: 0 })
                .role(THIRD, 1, |_| Idler)
                .monitor("in order", InOrder { first, heard });
            is_found(system, &World::default());
        }
    }
}

#[test]
fn what_is_broken_for_a_moment() {
    for ahead in 0..2 {
        let system = |idlers: usize| {
            System::new().role(ONE, 1, |_| Counter::to(1)).role(OTHER, 1, |_| Counter::to(1)).role(
                THIRD,
                idlers,
                |_| Idler,
            )
        };
        let count = || observe(|c: &Counter| c.count);
        let not_ahead = move |seen: &[u8]| seen[ahead] <= seen[1 - ahead];
        is_found(system(1).invariant("not ahead", count(), not_ahead), &World::default());
        // Who never steps is seen all the same.
        let with_idler = count().and(|_: &Idler| 0);
        is_found(system(1).invariant("not ahead", with_idler, not_ahead), &World::default());
    }
}

#[test]
fn what_is_broken_for_a_moment_after_a_step_in_silence() {
    // Before its last step a process has taken one that nobody sees.
    for ahead in 0..2 {
        let sends = || Counter { sends: true, ..Counter::to(2) };
        let system = System::new()
            .role(ONE, 1, |_| sends())
            .role(OTHER, 1, |_| sends())
            .role(THIRD, 1, |_| Idler)
            .invariant("not ahead", observe(|c: &Counter| c.count == 2), move |done| {
                !done[ahead] || done[1 - ahead]
            });
        is_found(system, &World::default());
    }
}

/// Closes, and must not be asked before that.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Door {
    closed: bool,
}

impl Role for Door {
    type Message = u8;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("close").when(|d| !d.closed).run(|d, _| d.closed = true);
        t.message("ask")
            .of(|d: &Door, _| {
                assert!(d.closed, "nobody asks an open door");
                false
            })
            .run(|_, _, _| {});
    }
}

#[test]
fn a_selection_that_would_panic() {
    let door = |system: System<u8>| system.role(THIRD, 1, |_| Door { closed: false });
    let counter = |system: System<u8>| system.role(ONE, 1, |_| Counter { sends: true, ..Counter::to(1) });
    is_found(door(counter(System::new())), &World::default());
    is_found(counter(door(System::new())), &World::default());
}

/// Is switched on and off by every word, for ever.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Switch {
    on: bool,
}

impl Role for Switch {
    type Message = u8;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.message("switch").run(|s: &mut Switch, _, _| s.on = !s.on);
    }
}

/// A switch, who says a word to it once, and who breaks something for good.
fn switched(switch_first: bool, speaks: bool) -> System<u8> {
    let switch = |system: System<u8>| system.role(THIRD, 1, |_| Switch { on: false });
    let others = |system: System<u8>| {
        system.role(ONE, 1, |_| Counter { sends: speaks, ..Counter::to(u8::from(speaks)) }).role(
            OTHER,
            1,
            |_| Counter::to(7),
        )
    };
    let system = if switch_first { others(switch(System::new())) } else { switch(others(System::new())) };
    system.invariant("never 7", observe(|c: &Counter| c.count), |seen| seen.iter().all(|count| *count < 7))
}

#[test]
fn what_goes_on_for_ever_by_messages_that_stay() {
    for switch_first in [false, true] {
        is_found(switched(switch_first, true), &World::default().channel(Channel::Duplicating));
        is_found(switched(switch_first, false).forges((ONE, 0), THIRD, [1]), &World::default());
    }
}

/// Skips words until it listens, and then takes one.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Listener {
    listens: bool,
    heard: bool,
}

impl Role for Listener {
    type Message = u8;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("listen").when(|l| !l.listens).run(|l, _| l.listens = true);
        t.message("skip").of(|l: &Listener, _| !l.listens).run(|_, _, _| {});
        t.message("hear").of(|l: &Listener, _| l.listens).run(|l: &mut Listener, _, _| l.heard = true);
    }
}

#[test]
fn what_is_consumed_and_changes_nothing_is_gone() {
    let listener = |system: System<u8>| system.role(THIRD, 1, |_| Listener { listens: false, heard: false });
    let counter = |system: System<u8>| system.role(ONE, 1, |_| Counter { sends: true, ..Counter::to(1) });
    for system in [listener(counter(System::new())), counter(listener(System::new()))] {
        let heard = observe(|l: &Listener| l.heard);
        is_found(system.at_end("heard", heard, |all| all[0]), &World::default());
    }
}

/// Says one of two words.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Chooser {
    said: bool,
}

impl Role for Chooser {
    type Message = u8;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("say").when(|c| !c.said).run(|c, out| {
            c.said = true;
            let word = out.choose([1, 2]);
            out.send_all(THIRD, word);
        });
    }
}

/// Hears what it wants, perhaps, if it has not closed before.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a case of its own")]
struct Closer {
    wants: u8,
    doubts: bool,
    /// Is an event emitted when it hears?
    tells: bool,
    closed: bool,
    heard: bool,
}

impl Closer {
    fn who_wants(wants: u8) -> Closer {
        Closer { wants, doubts: false, tells: false, closed: false, heard: false }
    }
}

impl Role for Closer {
    type Message = u8;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("close").when(|c| !c.closed).run(|c, _| c.closed = true);
        t.message("hear").of(|c: &Closer, word| !c.closed && *word == c.wants).run(
            |c: &mut Closer, _, out| {
                c.heard |= !c.doubts || out.choose([false, true]);
                if c.tells {
                    out.emit(out.me());
                }
            },
        );
    }
}

/// In both orders of roles: the third hears nothing that it wants.
#[track_caller]
fn is_heard(
    third: impl Fn(System<u8>) -> System<u8>,
    others: impl Fn(System<u8>) -> System<u8>,
    world: &World,
) {
    for system in [third(others(System::new())), others(third(System::new()))] {
        let heard = observe(|c: &Closer| c.heard);
        is_found(system.invariant("nothing is heard", heard, |all| !all[0]), world);
    }
}

#[test]
fn any_of_the_words_may_come_first() {
    for channel in [Channel::Fifo, Channel::LossyFifo, Channel::Bag, Channel::Duplicating] {
        for wants in [1, 2] {
            is_heard(
                |system| system.role(THIRD, 1, |_| Closer::who_wants(wants)),
                |system| system.role(ONE, 1, |_| Chooser { said: false }),
                &World::default().channel(channel),
            );
        }
    }
}

#[test]
fn a_word_that_may_make_no_difference_can_make_one() {
    // Where something can be forged, what is missing is found out in another way.
    for forges in [false, true] {
        is_heard(
            |system| system.role(THIRD, 1, |_| Closer { doubts: true, ..Closer::who_wants(1) }),
            |system| {
                let system =
                    system
                        .role(ONE, 1, |_| Counter { sends: true, ..Counter::to(1) })
                        .role(OTHER, 1, |_| Idler);
                if forges { system.forges((OTHER, 0), THIRD, [7]) } else { system }
            },
            &World::default(),
        );
    }
}

/// Hears two together.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Collector {
    done: bool,
}

impl Role for Collector {
    type Message = u8;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.quorum("collect", some_of(2, ONE)).run(|c: &mut Collector, _, _| c.done = true);
    }
}

#[test]
fn what_makes_a_difference_together_with_what_is_forged() {
    let counter = |at| if at == 0 { Counter { sends: true, ..Counter::to(1) } } else { Counter::to(0) };
    let system = System::new()
        .role(ONE, 2, counter)
        .role(THIRD, 1, |_| Collector { done: false })
        .forges((ONE, 1), THIRD, [1])
        .invariant("nothing is collected", observe(|c: &Collector| c.done), |all| !all[0]);
    is_found(system, &World::default());
}

/// Says 129 words at once.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Talker {
    said: bool,
}

impl Role for Talker {
    type Message = u8;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("say all").when(|s| !s.said).run(|s, out| {
            s.said = true;
            (0..=128).for_each(|word| out.send_all(THIRD, word));
        });
    }
}

#[test]
fn more_messages_than_a_word_has_bits() {
    // Inboxes are words of 128 bits, and then lists.
    for wants in [0, 128] {
        is_heard(
            |system| system.role(THIRD, 1, |_| Closer::who_wants(wants)),
            |system| system.role(ONE, 1, |_| Talker { said: false }),
            &World::default(),
        );
    }
}

/// Does not want processes to be heard of in this order.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct NotThis {
    order: Vec<ProcessId>,
    heard: Vec<ProcessId>,
}

impl Monitor for NotThis {
    type Event = ProcessId;

    fn hear(&mut self, _: ProcessId, event: &ProcessId) {
        self.heard.push(*event);
    }

    fn holds(&self) -> bool {
        self.heard != self.order
    }
}

#[test]
fn who_is_heard_of_beside_one_who_is_waited_for_in_silence() {
    // Who may close waits for one of those who are heard of, and is not heard of by closing.
    for (third, one, other) in [(0, 1, 2), (2, 0, 1), (0, 2, 1), (2, 1, 0)] {
        let closer =
            |system: System<u8>| system.role(THIRD, 1, |_| Closer { tells: true, ..Closer::who_wants(1) });
        let speaker = |system: System<u8>| {
            system.role(ONE, 1, |_| Counter { sends: true, emits: true, ..Counter::to(1) })
        };
        let loud = |system: System<u8>| system.role(OTHER, 1, |_| Counter { emits: true, ..Counter::to(1) });
        let both = |system| if one < other { loud(speaker(system)) } else { speaker(loud(system)) };
        let system = if third == 0 { both(closer(System::new())) } else { closer(both(System::new())) };
        let order = [other, one, third].map(ProcessId::new).to_vec();
        is_found(system.monitor("not this", NotThis { order, heard: Vec::new() }), &World::default());
    }
}

/// Sets out on one of four ways, of which all but the first go round and tell the third in passing; they meet, and a word
/// is said some steps later.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Walker {
    place: u8,
}

const WORD: u8 = 9;

impl Role for Walker {
    type Message = u8;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("walk").when(|w| w.place != 4).run(|w, out| {
            match w.place {
                3 => out.send_all(THIRD, WORD),
                10 | 20 | 30 => out.send_all(THIRD, w.place / 10),
                _ => {}
            }
            w.place = match w.place {
                0 => out.choose([1, 10, 20, 30]),
                12 | 22 | 32 => 1,
                place => place + 1,
            };
        });
    }
}

/// Is woken by one who passes, and then hears a word, or closes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Sleeper {
    by: u8,
    woken: bool,
    closer: Closer,
}

impl Role for Sleeper {
    type Message = u8;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.message("wake")
            .of(|s: &Sleeper, word| !s.woken && *word == s.by)
            .run(|s: &mut Sleeper, _, _| s.woken = true);
        t.internal("close").when(|s| s.woken && !s.closer.closed).run(|s, _| s.closer.closed = true);
        t.message("hear")
            .of(|s: &Sleeper, word| s.woken && !s.closer.closed && *word == WORD)
            .run(|s: &mut Sleeper, _, _| s.closer.heard = true);
    }
}

#[test]
fn what_may_be_said_on_the_way_that_was_found_last() {
    for by in 1..=3 {
        let sleeper = Sleeper { by, woken: false, closer: Closer::who_wants(WORD) };
        let third = |system: System<u8>| system.role(THIRD, 1, |_| sleeper.clone());
        let walker = |system: System<u8>| system.role(ONE, 1, |_| Walker { place: 0 });
        for system in [third(walker(System::new())), walker(third(System::new()))] {
            let heard = observe(|s: &Sleeper| s.closer.heard);
            is_found(system.invariant("nothing is heard", heard, |all| !all[0]), &World::default());
        }
    }
}

/// Says something to the third when it is told to, once.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Relay {
    done: bool,
}

impl Role for Relay {
    type Message = u8;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.message("pass on").of(|r: &Relay, _| !r.done).run(|r: &mut Relay, _, out| {
            r.done = true;
            out.send_all(THIRD, 1);
        });
    }
}

#[test]
fn what_is_forged_may_never_be_passed_on() {
    let system = System::new()
        .role(ONE, 1, |_| Idler)
        .role(OTHER, 1, |_| Relay { done: false })
        .role(THIRD, 1, |_| Switch { on: false })
        .forges((ONE, 0), OTHER, [1])
        .at_end("it is switched on", observe(|s: &Switch| s.on), |all| all[0]);
    is_found(system, &World::default());
}

/// Is told one of two words, or thinks of one when it is told something: of one it says that it has heard it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Repeater {
    loud: u8,
    thinks: bool,
    heard: bool,
}

impl Role for Repeater {
    type Message = u8;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.message("hear").when(|r: &Repeater, _| !r.heard).run(|r: &mut Repeater, word, out| {
            r.heard = true;
            let word = if r.thinks { out.choose([1, 2]) } else { *word };
            if word == r.loud {
                out.emit(out.me());
            }
        });
    }
}

#[test]
fn who_is_heard_of_after_one_of_two_words() {
    for (loud, thinks, order) in (0..8).map(|at| (1 + at % 2, at / 2 % 2 == 0, [at / 4 * 2, 2 - at / 4 * 2]))
    {
        let order = order.map(|at| ProcessId::new(usize::from(at))).to_vec();
        let system = System::new()
            .role(ONE, 1, |_| Counter { emits: true, ..Counter::to(1) })
            .role(OTHER, 1, |_| Chooser { said: false })
            .role(THIRD, 1, |_| Repeater { loud, thinks, heard: false })
            .monitor("not this", NotThis { order, heard: Vec::new() });
        is_found(system, &World::default());
    }
}
