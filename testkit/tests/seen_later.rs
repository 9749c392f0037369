//! What a search sees only after it has chosen without it: what was left out, and who stepped, is then compared, and the
//! search is done again. No walks go before these searches, so they see everything late.

use quorate::engine::{Engine, Explore, Search};
use quorate::model::Model;
use quorate::reduce::{Reductions, Refinement, Seeds};
use quorate::testing::Tuning;
use quorate::{Role, RoleName, System, Transitions, Verdict, observe, some_of};
use quorate_testkit::naive;
use quorate_testkit::reductions::combinations;

const READER: RoleName = RoleName::new("reader");
const SPEAKER: RoleName = RoleName::new("speaker");
const HELPER: RoleName = RoleName::new("helper");
const LISTENER: RoleName = RoleName::new("listener");
const STROLLER: RoleName = RoleName::new("stroller");
const SINK: RoleName = RoleName::new("sink");

/// Whatever is left out, and whoever steps, the violation is found.
#[track_caller]
fn is_found_late(model: &Model, tuned: impl Fn(Tuning) -> Tuning) {
    let found = naive::search(model, 10_000).expect("a small system");
    assert!(!found.broken.is_empty(), "there is nothing to find");
    let tuning = tuned(Tuning { walks_in_vain: 0, ..Tuning::default() });
    for which in combinations(model) {
        let checked = Reductions::checked(&which, model).expect("checked before");
        for refinement in [Refinement::Auto, Refinement::Combined, Refinement::Quorum, Refinement::None] {
            for seeds in [Seeds::Best, Seeds::First, Seeds::Last] {
                let reductions = Reductions { refinement, seeds, ..checked.clone() };
                let search = Search::default().reductions(reductions).tuning(tuning);
                let report = Explore::default().search(model, &search, &mut ());
                assert!(
                    matches!(report.verdict, Verdict::Violated(_)),
                    "{which:?}, {refinement:?}, {seeds:?}: {}",
                    report.verdict.word()
                );
            }
        }
    }
}

/// Says some words, the largest first.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Speaker {
    left: u8,
}

impl Role for Speaker {
    type Message = u8;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("say").when(|s| s.left > 0).run(|s, out| {
            out.send_all(READER, s.left);
            s.left -= 1;
        });
    }
}

/// Reads the last word first: what came before waits.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Reader {
    place: u8,
}

impl Role for Reader {
    type Message = u8;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.message("read").of(|r, word| *word == r.place + 1).run(|r: &mut Reader, _, _| r.place += 1);
    }
}

#[test]
fn what_was_left_out_before_there_were_more_messages_than_bits() {
    for words in 2..=4 {
        for inbox_bits_max in 0..=words {
            let system = System::new()
                .role(SPEAKER, 1, |_| Speaker { left: words })
                .role(READER, 1, |_| Reader { place: 0 })
                .invariant("not all is read", observe(|r: &Reader| r.place), move |all| all[0] < words);
            let model = system.build().expect("a system");
            is_found_late(&model, |tuning| Tuning { inbox_bits_max: u32::from(inbox_bits_max), ..tuning });
        }
    }
}

/// Goes one of two ways when it hears the last word, and reads the one before on one of them.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Forked {
    reads_at: u8,
    place: u8,
}

impl Role for Forked {
    type Message = u8;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.message("split")
            .of(|f, word| f.place == 0 && *word == 1)
            .run(|f: &mut Forked, _, out| f.place = out.choose([1, 2]));
        t.message("read")
            .of(|f, word| f.place == f.reads_at && *word == 2)
            .run(|f: &mut Forked, _, _| f.place = 3);
    }
}

#[test]
fn what_makes_a_difference_on_one_of_two_ways() {
    for (reads_at, walks_in_vain) in [(1, 0), (2, 0), (1, 16), (2, 16)] {
        let system = System::new()
            .role(SPEAKER, 1, |_| Speaker { left: 2 })
            .role(READER, 1, |_| Forked { reads_at, place: 0 })
            .invariant("nothing is read", observe(|f: &Forked| f.place), |all| all[0] != 3);
        let model = system.build().expect("a system");
        is_found_late(&model, |tuning| Tuning { walks_in_vain, ..tuning });
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
        t.quorum("collect", some_of(2, SPEAKER)).run(|c: &mut Collector, _, _| c.done = true);
    }
}

#[test]
fn what_makes_a_difference_only_together_where_inboxes_are_lists() {
    for inbox_bits_max in 0..=2 {
        let system = System::new()
            .role(SPEAKER, 2, |_| Speaker { left: 1 })
            .role(READER, 1, |_| Collector { done: false })
            .invariant("nothing is collected", observe(|c: &Collector| c.done), |all| !all[0]);
        let model = system.build().expect("a system");
        is_found_late(&model, |tuning| Tuning { inbox_bits_max, ..tuning });
    }
}

const KEY: u8 = 1;
const KNOCK: u8 = 2;
const ANSWER: u8 = 3;
const WORD: u8 = 4;
const CLOSED: u8 = 5;

/// Sends the stroller a key, or an answer when there is a knock.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Helper {
    has_key: bool,
    answers: bool,
}

impl Role for Helper {
    type Message = u8;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("give").when(|h| h.has_key).run(|h, out| {
            h.has_key = false;
            out.send_all(STROLLER, KEY);
        });
        t.message("answer").of(|h, _| h.answers).run(|h: &mut Helper, _, out| {
            h.answers = false;
            out.send_all(STROLLER, ANSWER);
        });
    }
}

/// Opens when there is a knock, and then hears a word, or closes and says so.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Listener {
    Asleep,
    Open,
    Closed,
    Told,
}

impl Role for Listener {
    type Message = u8;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.message("open")
            .of(|l, word| *l == Listener::Asleep && *word == KNOCK)
            .run(|l: &mut Listener, _, _| *l = Listener::Open);
        t.internal("close").when(|l| *l == Listener::Open).run(|l, out| {
            *l = Listener::Closed;
            out.send_all(SINK, CLOSED);
        });
        t.message("hear")
            .of(|l, word| *l == Listener::Open && *word == WORD)
            .run(|l: &mut Listener, _, _| *l = Listener::Told);
    }
}

/// Knocks in one of two places; in one of them it says a word, after an answer, if it has the key.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Stroller {
    is_loud_first: bool,
    place: u8,
}

impl Role for Stroller {
    type Message = u8;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("stroll").when(|s| s.place == 0).run(|s, out| {
            let (one, other) = if s.is_loud_first { (2, 1) } else { (1, 2) };
            s.place = out.choose([one, other]);
        });
        t.internal("knock").when(|s| matches!(s.place, 1 | 2)).run(|s, out| {
            s.place += 2;
            out.send_all(HELPER, KNOCK);
            out.send_all(LISTENER, KNOCK);
        });
        t.message("go on")
            .of(|s, word| s.place == 4 && *word == ANSWER)
            .run(|s: &mut Stroller, _, _| s.place = 5);
        t.message("say").of(|s, word| s.place == 5 && *word == KEY).run(|s: &mut Stroller, _, out| {
            s.place = 6;
            out.send_all(LISTENER, WORD);
        });
    }
}

/// Hears nothing.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Sink;

impl Role for Sink {
    type Message = u8;
    fn transitions(&self, _: &mut Transitions<Self>) {}
}

#[test]
fn what_is_different_in_one_of_the_places_where_somebody_may_be() {
    for is_loud_first in [false, true] {
        let system = System::new()
            .role(HELPER, 2, |at| Helper { has_key: at == 0, answers: at == 1 })
            .role(LISTENER, 1, |_| Listener::Asleep)
            .role(STROLLER, 1, |_| Stroller { is_loud_first, place: 0 })
            .role(SINK, 1, |_| Sink)
            .invariant("nothing is told", observe(|l: &Listener| *l), |all| all[0] != Listener::Told);
        is_found_late(&system.build().expect("a system"), |tuning| tuning);
    }
}

/// Says a word to the listener, at once.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Caller {
    called: bool,
}

impl Role for Caller {
    type Message = u8;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("call").when(|c| !c.called).run(|c, out| {
            c.called = true;
            out.send_all(LISTENER, WORD);
        });
    }
}

#[test]
fn who_steps_in_the_first_state() {
    let listener = |system: System<u8>| system.role(LISTENER, 1, |_| Listener::Open);
    let caller = |system: System<u8>| system.role(SPEAKER, 1, |_| Caller { called: false });
    for system in [listener(caller(System::new())), caller(listener(System::new()))] {
        let system = system.role(SINK, 1, |_| Sink);
        let told = observe(|l: &Listener| *l);
        let system = system.invariant("nothing is told", told, |all| all[0] != Listener::Told);
        is_found_late(&system.build().expect("a system"), |tuning| tuning);
    }
}
