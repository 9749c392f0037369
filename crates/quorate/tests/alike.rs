//! Messages that print alike and are not: traces in files and snapshots keep them apart, whether they are sent or
//! forged.

#![cfg(feature = "program")]

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use quorate::model::{Source, TraceStep};
use quorate::program::{Failure, Program};
use quorate::{Outbox, Protocol, Received, Role, RoleName, System, Transitions, observe};

const SPEAKER: RoleName = RoleName::new("speaker");
const HEARER: RoleName = RoleName::new("hearer");

/// What is in the envelope does not show.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Word {
    Sealed(u8),
    Open(u8),
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Word::Sealed(_) => f.write_str("Sealed"),
            Word::Open(word) => write!(f, "Open({word})"),
        }
    }
}

/// Says the same twice, as it looks, if it is honest.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Speaker {
    to_say: bool,
}

impl Role for Speaker {
    type Message = Word;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("speak").when(|speaker| speaker.to_say).run(
            |speaker: &mut Speaker, out: &mut Outbox<Word>| {
                speaker.to_say = false;
                out.send_all(HEARER, Word::Sealed(0));
                out.send_all(HEARER, Word::Sealed(1));
            },
        );
    }
}

/// Takes an envelope, and opens it later.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
struct Hearer {
    envelope: Option<u8>,
    opened: Option<u8>,
}

impl fmt::Debug for Hearer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hearer").field("has", &self.envelope.is_some()).field("opened", &self.opened).finish()
    }
}

impl Role for Hearer {
    type Message = Word;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.message("hear").when(|hearer, _| hearer.envelope.is_none()).run(
            |hearer: &mut Hearer, word: Received<'_, Word>, _: &mut Outbox<Word>| {
                let (Word::Sealed(word) | Word::Open(word)) = *word.body;
                hearer.envelope = Some(word);
            },
        );
        t.internal("open")
            .when(|hearer| hearer.envelope.is_some() && hearer.opened.is_none())
            .run(|hearer: &mut Hearer, _: &mut Outbox<Word>| hearer.opened = hearer.envelope);
    }
}

/// The word 1 must not be read; a liar may forge it, or the speaker says it.
fn system(lies: bool, shifted: bool) -> System<Word> {
    let system = System::new()
        .role(SPEAKER, 1, |_| Speaker { to_say: !lies })
        .role(HEARER, 1, |_| Hearer::default())
        .invariant("never 1", observe(|hearer: &Hearer| hearer.opened), |opened| opened[0] != Some(1));
    let system = if shifted { system.forges((SPEAKER, 0), HEARER, [Word::Open(0)]) } else { system };
    if lies { system.forges((SPEAKER, 0), HEARER, [Word::Sealed(0), Word::Sealed(1)]) } else { system }
}

fn program() -> Program {
    let protocol = |name, lies| {
        Protocol::new(name, "words in envelopes", move |arguments| {
            system(lies, arguments.number("more") == 1)
        })
        .number("more", 0, 0..=1, "another word that can be forged")
    };
    Program::new([protocol("honest", false), protocol("lying", true)])
}

fn run(program: &Program, words: &[&str]) -> Result<u8, Failure> {
    let line: Vec<OsString> = ["quorate"].iter().chain(words).map(OsString::from).collect();
    program.run(&line)
}

/// A file of a test's own.
fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("quorate-alike-{}-{name}", std::process::id()))
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

/// The trace of a violation, in a file.
fn trace(program: &Program, protocol: &str) -> (PathBuf, Vec<TraceStep>) {
    let answer = program.answer(&[protocol, "--quiet"]).expect("an answer");
    let file = scratch(&format!("{protocol}.json"));
    std::fs::write(&file, &answer.json).expect("there is room");
    (file, answer.report.verdict.violation().expect("the word can be read").trace.steps.clone())
}

#[test]
fn a_trace_is_replayed_with_the_messages_it_had() {
    let program = program();
    for protocol in ["honest", "lying"] {
        let (file, steps) = trace(&program, protocol);
        let heard = steps.iter().flat_map(|step| &step.consumed).map(|consumed| consumed.source);
        match heard.collect::<Vec<_>>().as_slice() {
            [Source::Sent(origin)] => assert_eq!((protocol, origin.send), ("honest", 1)),
            [Source::Forged(forged)] => assert_eq!((protocol, forged.number), ("lying", 1)),
            other => panic!("{other:?}"),
        }
        assert_eq!(run(&program, &["replay", text(&file)]), Ok(1), "{protocol}");
        std::fs::remove_file(file).expect("it is there");
    }
}

#[test]
fn a_snapshot_is_of_the_messages_it_had() {
    let program = program();
    for (protocol, step) in [("honest", "2"), ("lying", "1")] {
        let (file, _) = trace(&program, protocol);
        let state = scratch(&format!("{protocol}-state.json"));
        assert_eq!(
            run(&program, &["snapshot", text(&file), "--step", step, "--output", text(&state)]),
            Ok(0)
        );
        let answer = program.answer(&[protocol, "--from", text(&state), "--quiet"]).expect("an answer");
        assert_eq!(answer.report.verdict.word(), "violated", "{protocol}");
        for file in [file, state] {
            std::fs::remove_file(file).expect("it is there");
        }
    }
}

/// The number is another one there, the content is the same.
#[test]
fn where_more_can_be_forged_a_snapshot_is_of_the_same_message() {
    let program = program();
    let (file, _) = trace(&program, "lying");
    let state = scratch("shifted-state.json");
    let step = ["snapshot", text(&file), "--step", "1", "--output", text(&state)];
    assert_eq!(run(&program, &step), Ok(0));
    let more = program.answer(&["lying", "--more", "1", "--from", text(&state), "--quiet"]);
    assert_eq!(more.expect("an answer").report.verdict.word(), "violated");
    for file in [file, state] {
        std::fs::remove_file(file).expect("it is there");
    }
}
