//! The page on faults is right: its commands print what it shows, on both outputs, and its Rust is the Rust
//! of this file.

use crate::page::Page;
use crate::program;
use quorate::property::{RegisterEvent, RegularRegister};
use quorate::world::{Channel, CrashSends, Crashes};
use quorate::{Outbox, Received, Role, RoleName, System, Transitions, World, observe};

const PAGE: &str = "docs/faults.md";
const RUN: &str = "cargo run --release -- ";

#[test]
fn commands_print_what_is_shown() {
    let mut page = Page::read(PAGE);
    let run = |command: &str| {
        let words = command.strip_prefix(RUN).unwrap_or_else(|| panic!("unknown: {command}"));
        let mut command = program::command(&words.split_whitespace().collect::<Vec<_>>());
        let ran = command.current_dir(env!("CARGO_TARGET_TMPDIR")).output().expect("the program starts");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).to_string();
        Some(text(&ran.stdout) + &text(&ran.stderr))
    };
    assert!(page.compare_all(run) >= 10, "the page runs the program a few times only");
    page.finish();
}

#[test]
fn its_rust_is_compiled_here() {
    let page = Page::read(PAGE);
    let blocks: Vec<_> = page.blocks().into_iter().filter(|block| block.language == "rust").collect();
    assert_eq!(blocks.len(), 4);
    let here: Vec<&str> = include_str!("faults.rs").lines().map(str::trim).collect();
    for block in blocks {
        let text = page.text(block.lines);
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        assert!(here.windows(lines.len()).any(|window| window == lines), "not in this file:\n{text}");
    }
}

type Msg = u32;

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Acceptor {
    promised: u32,
    working_on: Option<u32>,
}

impl Role for Acceptor {
    type Message = Msg;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.message("promise").of(|a, ballot| *ballot > a.promised).run(Self::promise);
    }

    // The promise is on disk; what was being worked on is not.
    fn restarted(&self) -> Self {
        Acceptor { promised: self.promised, working_on: None }
    }
}

impl Acceptor {
    fn promise(&mut self, ballot: Received<'_, Msg>, _: &mut Outbox<Msg>) {
        (self.promised, self.working_on) = (*ballot.body, Some(*ballot.body));
    }
}

#[test]
fn a_promise_survives_a_restart_and_work_does_not() {
    let system = |forgets: bool| {
        System::new()
            .role(RoleName::new("acceptor"), 1, |_| Acceptor::default())
            .forges((RoleName::new("acceptor"), 0), RoleName::new("acceptor"), [1, 2])
            .invariant("kept", observe(|a: &Acceptor| (a.promised, a.working_on)), move |seen| {
                seen.iter().all(|(promised, working_on)| match working_on {
                    Some(ballot) => ballot == promised,
                    None => forgets || *promised == 0,
                })
            })
    };
    let world = World::default().restarts(vec![("acceptor".to_string(), 1)]);
    quorate::check(system(true)).world(world.clone()).assert_holds();
    quorate::check(system(false)).assert_holds();
    quorate::check(system(false)).world(world).assert_violated();
}

const LIAR: RoleName = RoleName::new("liar");
const HEARER: RoleName = RoleName::new("hearer");

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Liar;

impl Role for Liar {
    type Message = Msg;
    fn transitions(&self, _: &mut Transitions<Self>) {}
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Hearer {
    believes: u32,
}

impl Role for Hearer {
    type Message = Msg;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.message("believe").run(|h: &mut Hearer, lie: Received<'_, Msg>, _| h.believes = *lie.body);
    }
}

#[test]
fn a_liar_makes_hearers_disagree() {
    let system = System::new()
        .role(LIAR, 1, |_| Liar)
        .role(HEARER, 2, |_| Hearer::default())
        .forges((LIAR, 0), HEARER, [1, 2])
        .invariant("agreement", observe(|h: &Hearer| h.believes), |beliefs| beliefs[0] == beliefs[1]);
    quorate::check(system).assert_violated();
}

/// One process that writes to and reads from what it remembers.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Object {
    value: u32,
}

impl Role for Object {
    type Message = Msg;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("write").when(|o| o.value < 3).run(|o: &mut Object, out: &mut Outbox<Msg>| {
            o.value += 1;
            out.emit(RegisterEvent::WriteBegins(o.value));
            out.emit(RegisterEvent::<u32>::WriteEnds);
        });
        t.internal("read").run(|o: &mut Object, out: &mut Outbox<Msg>| {
            out.emit(RegisterEvent::<u32>::ReadBegins);
            out.emit(RegisterEvent::ReadReturns(o.value));
        });
    }
}

#[test]
fn a_register_that_keeps_its_value_is_regular() {
    let system = System::new().role(RoleName::new("object"), 1, |_| Object::default());
    let system = system.monitor("regularity", RegularRegister::<u32>::new(0));
    let world = World::default().restart("object", 1);
    quorate::check(system).world(world).assert_holds();
}

/// An object that counts for itself: nobody can keep it from ending, but a crash.
fn system() -> System<Msg> {
    let counts = |seen: &[u32]| seen[1] == 0 || seen[0] <= 3;
    System::new()
        .role(RoleName::new("object"), 1, |_| Object::default())
        .role(HEARER, 1, |_| Hearer::default())
        .at_end("it counts", observe(|o: &Object| o.value).and(|h: &Hearer| h.believes), counts)
}

#[test]
fn faults_are_covered_or_not_meant() {
    let explicit = Crashes::Explicit { prone: vec![("object".to_string(), 1)], sends: CrashSends::All };
    quorate::check(system()).assert_holds_without_faults();
    quorate::check(system()).world(World::default().channel(Channel::Lossy).crashes(explicit)).assert_holds();
}
