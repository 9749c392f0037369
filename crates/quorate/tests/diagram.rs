//! What a person sees of a trace, letter by letter.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

use quorate::model::{Choice, Envelope, Value};
use quorate::model::{Consumed, Origin, ScheduledStep, Sent, Source, Taken, Trace, TraceStep};
use quorate::render::{Diagram, Paint};
use quorate::replay::{Broken, replay};
use quorate::world::StepKind;
use quorate::{
    Outbox, ProcessId, Quorum, Received, Role, RoleName, System, Transitions, majority_of, observe,
};

type Run = (Trace, Broken);

/// Compares a diagram with what it should be, and shows where they part.
#[track_caller]
fn check(run: &Run, width: usize, expected: &str) {
    let actual = Diagram::new(&run.0, &run.1, Paint::Plain).width(width).to_string();
    let expected = expected.strip_prefix('\n').unwrap_or(expected);
    if actual != expected {
        let rows = actual.lines().count().max(expected.lines().count());
        let compared = |at: usize| match (actual.lines().nth(at), expected.lines().nth(at)) {
            (is, should) if is == should => format!("  {}", is.unwrap_or_default()),
            (is, should) => format!("- {}\n+ {}", should.unwrap_or_default(), is.unwrap_or_default()),
        };
        let compared = (0..rows).map(compared).collect::<Vec<_>>().join("\n");
        panic!("the diagram (+) is not the expected one (-):\n{compared}\n\nall of it:\n{actual}");
    }
}

/// The picture of a run, below a title.
fn picture((trace, broken): &Run) -> String {
    Diagram::new(trace, broken, Paint::Plain).svg("violated: 'x'", "election --nodes 3\nworld: --lose 1")
}

/// Makes traces by hand: a step finds the messages it consumes by their text.
struct Script(Trace);

struct Step<'s> {
    script: &'s mut Script,
    at: usize,
}

impl Script {
    fn new(processes: &[(&str, &str)]) -> Self {
        Script(Trace {
            processes: processes.iter().map(|(name, _)| (*name).to_string()).collect(),
            initial: processes.iter().map(|(_, state)| (*state).to_string()).collect(),
            steps: Vec::new(),
        })
    }

    fn process(&self, name: &str) -> ProcessId {
        ProcessId::new(self.0.processes.iter().position(|known| known == name).unwrap())
    }

    /// A step that changes nothing yet.
    fn step(&mut self, process: &str, transition: &str) -> Step<'_> {
        let process = self.process(process);
        let earlier = self.0.steps.iter().rev().find(|step| step.process == process);
        let state = earlier.map_or(&self.0.initial[process.index()], |step| &step.state).clone();
        self.0.steps.push(TraceStep {
            process,
            kind: StepKind::Transition,
            transition: transition.to_string(),
            consumed: Vec::new(),
            choices: Vec::new(),
            sent: Vec::new(),
            unsent: Vec::new(),
            events: Vec::new(),
            state,
            panic: None,
        });
        Step { at: self.0.steps.len() - 1, script: self }
    }

    fn breaks(self, property: &str, observed: &[(&str, &str)]) -> Run {
        let observed =
            observed.iter().map(|(name, text)| (self.process(name), (*text).to_string())).collect();
        (self.0, Broken::Property { name: property.to_string(), observed })
    }
}

impl Step<'_> {
    fn edit(&mut self) -> &mut TraceStep {
        &mut self.script.0.steps[self.at]
    }

    fn gets(mut self, from: &str, message: &str) -> Self {
        let (me, from) = (self.edit().process, self.script.process(from));
        let origin = self.script.0.steps[..self.at].iter().enumerate().find_map(|(step, earlier)| {
            let fits = |sent: &Sent| earlier.process == from && sent.to == me && sent.message == message;
            Some(Origin { step, send: earlier.sent.iter().position(fits)? })
        });
        let source = Source::Sent(origin.expect("it was sent"));
        let consumed = Consumed { from, message: message.to_string(), source };
        self.edit().consumed.push(consumed);
        self
    }

    fn chooses(mut self, text: &str) -> Self {
        self.edit().choices.push(Choice { index: 0, of: 2, text: text.to_string(), names_step: false });
        self
    }

    fn sends(mut self, message: &str, to: &[&str]) -> Self {
        for name in to {
            let to = self.script.process(name);
            self.edit().sent.push(Sent { to, message: message.to_string() });
        }
        self
    }

    fn emits(mut self, event: &str) -> Self {
        self.edit().events.push(event.to_string());
        self
    }

    fn becomes(mut self, state: &str) {
        self.edit().state = state.to_string();
    }
}

/// Two leaders in one term: a quorum, a choice, events, messages that nobody reads, a step in vain.
fn election() -> Run {
    let voter = "Voter { term: 0, voted: None, leads: false }";
    let mut script =
        Script::new(&[("node 0", voter), ("node 1", voter), ("node 2", voter), ("client", "Idle")]);
    script
        .step("node 0", "timeout")
        .sends("Ask { term: 1 }", &["node 1", "node 2"])
        .becomes("Voter { term: 1, voted: Some(#0), leads: false }");
    script
        .step("node 2", "vote")
        .gets("node 0", "Ask { term: 1 }")
        .chooses("Forget")
        .sends("Vote { term: 1, wrote: false }", &["node 0"])
        .becomes("Voter { term: 1, voted: None, leads: false }");
    script
        .step("node 1", "vote")
        .gets("node 0", "Ask { term: 1 }")
        .chooses("Write")
        .sends("Vote { term: 1, wrote: true }", &["node 0"])
        .becomes("Voter { term: 1, voted: Some(#0), leads: false }");
    script
        .step("node 0", "win")
        .gets("node 1", "Vote { term: 1, wrote: true }")
        .gets("node 2", "Vote { term: 1, wrote: false }")
        .emits("Elected { term: 1 }")
        .sends("Hello", &["node 1", "node 2", "client"])
        .becomes("Voter { term: 1, voted: Some(#0), leads: true }");
    script.step("node 1", "note").gets("node 0", "Hello");
    script
        .step("node 2", "win")
        .emits("Elected { term: 1 }")
        .becomes("Voter { term: 1, voted: Some(#2), leads: true }");
    script.breaks("one leader a term", &[("node 0", "Some(1)"), ("node 1", "None"), ("node 2", "Some(1)")])
}

#[test]
fn quorums_choices_events_and_unread_messages() {
    check(
        &election(),
        110,
        "
        node 0        node 1        node 2     n──▶● receives what step n sent
          │             │             │
 1        ●             │             │        node 0 timeout
          │             │             │          term 0→1, voted None→Some(node 0)
          │             │             │          sends Ask { term: 1 } to every other node
 2        1──────Ask(1)─┼────────────▶●        node 2 vote ← Ask { term: 1 }
          │             │             │          chooses Forget
          │             │             │          term 0→1
          │             │             │          sends Vote { term: 1, wrote: false } to node 0
 3        1───Ask(1)───▶●             │        node 1 vote ← Ask { term: 1 }
          │             │             │          chooses Write
          │             │             │          term 0→1, voted None→Some(node 0)
          │             │             │          sends Vote { term: 1, wrote: true } to node 0
 4        ●◀───Vote─────3────Vote─────2        node 0 win
          │             │             │          ← Vote { term: 1, wrote: true } from node 1
          │             │             │          ← Vote { term: 1, wrote: false } from node 2
          │             │             │          leads false→true
          │             │             │          emits Elected { term: 1 }
          │             │             │          sends Hello to every other node and client, 1 received
 5        4────Hello───▶●             │        node 1 note ← Hello
          │             │             │          nothing changes
 6        │             │             ●        node 2 win
          │             │             │          voted None→Some(node 2), leads false→true
          │             │             │          emits Elected { term: 1 }
 ✗     Some(1)         None        Some(1)
 ✗ violated after step 6: 'one leader a term'
   node 0, 2  Some(1)
   node 1     None
",
    );
}

#[test]
fn narrow_lanes_have_short_labels() {
    check(
        &election(),
        56,
        "
        node     n──▶● receives what step n sent
     0   1   2
     │   │   │
 1   ●   │   │   node 0 timeout
     │   │   │     term 0→1, voted None→Some(node 0)
     │   │   │     sends Ask(1) to every other node
 2   1──Ask─▶●   node 2 vote ← Ask { term: 1 }
     │   │   │     chooses Forget
     │   │   │     term 0→1
     │   │   │     sends Vote(1, false) to node 0
 3   1──▶●   │   node 1 vote ← Ask { term: 1 }
     │   │   │     chooses Write
     │   │   │     term 0→1, voted None→Some(node 0)
     │   │   │     sends Vote(1, true) to node 0
 4   ●◀──3───2   node 0 win
     │   │   │     ← Vote(1, true) from node 1
     │   │   │     ← Vote(1, false) from node 2
     │   │   │     leads false→true
     │   │   │     emits Elected { term: 1 }
     │   │   │     sends Hello to every other node and
     │   │   │       client, 1 received
 5   4──▶●   │   node 1 note ← Hello
     │   │   │     nothing changes
 6   │   │   ●   node 2 win
     │   │   │     voted None→Some(node 2),
     │   │   │     leads false→true
     │   │   │     emits Elected { term: 1 }
     ✗   ✗   ✗
 ✗ violated after step 6: 'one leader a term'
   node 0, 2  Some(1)
   node 1     None
",
    );
}

/// A message to itself, alone and in a quorum that comes from both sides; then a panic.
fn loops() -> Run {
    let mut script = Script::new(&[("left", "0"), ("middle", "0"), ("right", "0"), ("idle", "0")]);
    script.step("middle", "begin").sends("Go(1)", &["left", "middle", "right"]).becomes("1");
    script.step("left", "go").gets("middle", "Go(1)").sends("Done", &["middle"]).becomes("1");
    script.step("middle", "go").gets("middle", "Go(1)").sends("Done", &["middle"]).becomes("2");
    script.step("right", "go").gets("middle", "Go(1)").sends("Done", &["middle"]).becomes("1");
    let message = "attempt to subtract with overflow at src/counter.rs:17";
    let last =
        script.step("middle", "done").gets("left", "Done").gets("middle", "Done").gets("right", "Done");
    { last }.edit().panic = Some(message.to_string());
    let process = script.process("middle");
    let broken = Broken::Panic { process, transition: "done".to_string(), message: message.to_string() };
    (script.0, broken)
}

#[test]
fn messages_to_itself_and_a_panic() {
    check(
        &loops(),
        100,
        "
         left         middle        right      n──▶● receives what step n sent
          │             │             │
 1        │             ●             │        middle begin
          │             │             │          0→1
          │             │             │          sends Go(1) to left, itself and right
 2        ●◀───Go(1)────1             │        left go ← Go(1)
          │             │             │          0→1
          │             │             │          sends Done to middle
 3        │             ●↺1           │        middle go ← Go(1)
          │             │             │          1→2
          │             │             │          sends Done to itself
 4        │             1────Go(1)───▶●        right go ← Go(1)
          │             │             │          0→1
          │             │             │          sends Done to middle
 5        2───Done────3↻✗◀───Done─────4        middle done ← 3 × Done
          │             │             │          ✗ panics: attempt to subtract with overflow at
          │             │             │            src/counter.rs:17
 ✗ middle panics in done: attempt to subtract with overflow at src/counter.rs:17
",
    );
}

/// One process sends to everyone, and hears from half of them.
fn gossip(nodes: usize) -> Run {
    let names: Vec<String> = (0..nodes).map(|node| format!("node {node}")).collect();
    let states: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "Node { heard: {} }")).collect();
    let mut script = Script::new(&states);
    let others: Vec<&str> = names[1..].iter().map(String::as_str).collect();
    script.step("node 0", "start").sends("Rumour { about: #1 }", &others);
    for name in &others {
        script
            .step(name, "hear")
            .gets("node 0", "Rumour { about: #1 }")
            .sends("Heard", &["node 0"])
            .becomes("Node { heard: {#1} }");
    }
    let mut step = script.step("node 0", "all heard");
    for name in &others[..nodes / 2] {
        step = step.gets(name, "Heard");
    }
    step.becomes("Node { heard: {#0, #1} }");
    script.breaks("secrecy", &[("node 0", "true"), ("node 1", "false"), ("node 2", "true")])
}

#[test]
fn twelve_processes() {
    check(
        &gossip(12),
        100,
        "
                           node                       n──▶● receives what step n sent
      0   1   2   3   4   5   6   7   8   9   10  11
      │   │   │   │   │   │   │   │   │   │   │   │
  1   ●   │   │   │   │   │   │   │   │   │   │   │   node 0 start
      │   │   │   │   │   │   │   │   │   │   │   │     sends Rumour(node 1) to every other node
  2   1──▶●   │   │   │   │   │   │   │   │   │   │   node 1 hear ← Rumour { about: node 1 }
      │   │   │   │   │   │   │   │   │   │   │   │     heard {}→{node 1}
      │   │   │   │   │   │   │   │   │   │   │   │     sends Heard to node 0
  3   1───┼──▶●   │   │   │   │   │   │   │   │   │   node 2 hear ← Rumour { about: node 1 }
      │   │   │   │   │   │   │   │   │   │   │   │     heard {}→{node 1}
      │   │   │   │   │   │   │   │   │   │   │   │     sends Heard to node 0
  4   1──Rumour──▶●   │   │   │   │   │   │   │   │   node 3 hear ← Rumour { about: node 1 }
      │   │   │   │   │   │   │   │   │   │   │   │     heard {}→{node 1}
      │   │   │   │   │   │   │   │   │   │   │   │     sends Heard to node 0
  5   1───Rumour──┼──▶●   │   │   │   │   │   │   │   node 4 hear ← Rumour { about: node 1 }
      │   │   │   │   │   │   │   │   │   │   │   │     heard {}→{node 1}
      │   │   │   │   │   │   │   │   │   │   │   │     sends Heard to node 0
  6   1──Rumour(node 1)──▶●   │   │   │   │   │   │   node 5 hear ← Rumour { about: node 1 }
      │   │   │   │   │   │   │   │   │   │   │   │     heard {}→{node 1}
      │   │   │   │   │   │   │   │   │   │   │   │     sends Heard to node 0
  7   1───Rumour(node 1)──┼──▶●   │   │   │   │   │   node 6 hear ← Rumour { about: node 1 }
      │   │   │   │   │   │   │   │   │   │   │   │     heard {}→{node 1}
      │   │   │   │   │   │   │   │   │   │   │   │     sends Heard to node 0
  8   1───┼──Rumour(node 1)───┼──▶●   │   │   │   │   node 7 hear ← Rumour { about: node 1 }
      │   │   │   │   │   │   │   │   │   │   │   │     heard {}→{node 1}
      │   │   │   │   │   │   │   │   │   │   │   │     sends Heard to node 0, unread
  9   1───┼───Rumour(node 1)──┼───┼──▶●   │   │   │   node 8 hear ← Rumour { about: node 1 }
      │   │   │   │   │   │   │   │   │   │   │   │     heard {}→{node 1}
      │   │   │   │   │   │   │   │   │   │   │   │     sends Heard to node 0, unread
 10   1───┼───┼──Rumour(node 1)───┼───┼──▶●   │   │   node 9 hear ← Rumour { about: node 1 }
      │   │   │   │   │   │   │   │   │   │   │   │     heard {}→{node 1}
      │   │   │   │   │   │   │   │   │   │   │   │     sends Heard to node 0, unread
 11   1───┼───┼───Rumour(node 1)──┼───┼───┼──▶●   │   node 10 hear ← Rumour { about: node 1 }
      │   │   │   │   │   │   │   │   │   │   │   │     heard {}→{node 1}
      │   │   │   │   │   │   │   │   │   │   │   │     sends Heard to node 0, unread
 12   1───┼───┼───┼──Rumour(node 1)───┼───┼───┼──▶●   node 11 hear ← Rumour { about: node 1 }
      │   │   │   │   │   │   │   │   │   │   │   │     heard {}→{node 1}
      │   │   │   │   │   │   │   │   │   │   │   │     sends Heard to node 0, unread
 13   ●◀──2───3───4───5───6───7   │   │   │   │   │   node 0 all heard ← 6 × Heard
      │   │   │   │   │   │   │   │   │   │   │   │     heard {}→{node 0, node 1}
      ✗   ✗   ✗   │   │   │   │   │   │   │   │   │
 ✗ violated after step 13: 'secrecy'
   node 0, 2  true
   node 1     false
",
    );
}

#[test]
fn sixty_four_processes_are_described_in_words() {
    let run = gossip(64);
    let text = Diagram::new(&run.0, &run.1, Paint::Plain).to_string();
    let beginning = [
        "  1 node 0 start",
        "      sends Rumour { about: node 1 } to every other node",
        "  2 node 1 hear ← Rumour { about: node 1 } from node 0 in 1",
        "      heard {}→{node 1}",
        "      sends Heard to node 0",
    ];
    assert_eq!(text.lines().take(5).collect::<Vec<_>>(), beginning);
    let wide = Diagram::new(&run.0, &run.1, Paint::Plain).width(200).to_string();
    assert!(wide.contains("○─┼▶●") && wide.contains("← 32 × Heard from node 1–32"), "{wide}");
}

const CLIENTS: RoleName = RoleName::new("client");
const STORES: RoleName = RoleName::new("store");

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Msg {
    Put { key: char, value: Option<u8> },
    Stored { copies: Vec<u8> },
}

#[derive(PartialEq, Eq, Hash, Debug)]
enum Event {
    Acknowledged,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Client {
    acknowledged: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Store {
    Empty,
    Holding { value: u8, synced: bool },
}

impl Role for Client {
    type Message = Msg;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("put").run(|_, out: &mut Outbox<Msg>| {
            let value = out.choose([3, 7]);
            out.send_all(STORES, Msg::Put { key: 'k', value: Some(value) });
        });
        t.quorum("stored", majority_of(STORES)).run(|client, _: Quorum<'_, Msg>, out| {
            client.acknowledged = true;
            out.emit(Event::Acknowledged);
        });
    }
}

impl Role for Store {
    type Message = Msg;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.message("put").run(|store, put: Received<'_, Msg>, out: &mut Outbox<Msg>| {
            let Msg::Put { value: Some(value), .. } = *put else { return };
            *store = Store::Holding { value, synced: false };
            out.send(put.from, Msg::Stored { copies: vec![value] });
        });
        t.internal("crash").when(|store| *store != Store::Empty).run(|store, _| *store = Store::Empty);
    }
}

/// A run that really happened: an acknowledged value is lost.
fn lost_value() -> Run {
    let system = System::new()
        .role(CLIENTS, 1, |_| Client { acknowledged: false })
        .role(STORES, 3, |_| Store::Empty)
        .invariant(
            "an acknowledged value is stored",
            observe(|client: &Client| client.acknowledged).and(|store: &Store| *store != Store::Empty),
            |seen| !seen[0] || seen[1..].iter().filter(|stored| **stored).count() >= 2,
        );
    let model = system.build().unwrap();
    let [client, first, second] = [0, 1, 3].map(ProcessId::new);
    let message = |from, message: Msg| Envelope { from, body: Value::new(message) };
    let put = || message(client, Msg::Put { key: 'k', value: Some(7) });
    let stored = |from| message(from, Msg::Stored { copies: vec![7] });
    let step = |process, transition, consumed: Vec<Envelope>, choices: &[usize]| ScheduledStep {
        process,
        kind: StepKind::Transition,
        transition,
        consumed: consumed.into_iter().map(|envelope| Taken { envelope, nth: 0, forged: false }).collect(),
        choices: choices.to_vec(),
        sent: Vec::new(),
    };
    let schedule = vec![
        step(client, 0, vec![], &[1]),
        step(first, 0, vec![put()], &[]),
        step(second, 0, vec![put()], &[]),
        step(client, 1, vec![stored(first), stored(second)], &[]),
        step(first, 1, vec![], &[]),
    ];
    let (trace, broken) = replay(&model, &schedule).unwrap();
    (trace, broken.unwrap())
}

#[test]
fn a_run_that_really_happened() {
    check(
        &lost_value(),
        100,
        "
       client     store 0     store 1     store 2    n──▶● receives what step n sent
         │           │           │           │
 1       ●           │           │           │       client put
         │           │           │           │         chooses 7
         │           │           │           │         sends Put('k', Some(7)) to every store,
         │           │           │           │           2 received
 2       1────Put───▶●           │           │       store 0 put ← Put { key: 'k', value: Some(7) }
         │           │           │           │         becomes Holding { value: 7, synced: false }
         │           │           │           │         sends Stored { copies: [7] } to client
 3       1─────Put('k', Some(7))─┼──────────▶●       store 2 put ← Put { key: 'k', value: Some(7) }
         │           │           │           │         becomes Holding { value: 7, synced: false }
         │           │           │           │         sends Stored { copies: [7] } to client
 4       ●◀─Stored───2──────Stored([7])──────3       client stored ← 2 × Stored { copies: [7] }
         │           │           │           │         acknowledged false→true
         │           │           │           │         emits Acknowledged
 5       │           ●           │           │       store 0 crash
         │           │           │           │         becomes Empty
 ✗      true       false       false        true
 ✗ violated after step 5: 'an acknowledged value is stored'
   client, store 2  true
   store 0, 1       false
",
    );
}

#[test]
fn no_line_is_longer_than_the_width() {
    for run in [election(), loops(), gossip(12), gossip(33), gossip(64), lost_value()] {
        for width in 40..160 {
            let text = Diagram::new(&run.0, &run.1, Paint::Plain).width(width).to_string();
            let longest = text.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(longest <= width, "{longest} columns instead of {width}:\n{text}");
        }
    }
}

/// The text without its colours.
fn without_colours(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |plain, part| plain + part.split_once('m').unwrap().1)
}

#[test]
fn colours_change_nothing_else() {
    for run in [election(), loops(), gossip(12), gossip(64), lost_value()] {
        let plain = Diagram::new(&run.0, &run.1, Paint::Plain).to_string();
        let coloured = Diagram::new(&run.0, &run.1, Paint::Ansi).to_string();
        assert!(!plain.contains('\x1b'));
        assert_eq!(without_colours(&coloured), plain);
        let broken = coloured.lines().find(|line| line.contains("✗ ") && !line.contains('│')).unwrap();
        assert!(broken.contains("\x1b[1;31m"), "{broken:?}");
    }
}

#[test]
fn a_text_cannot_reach_the_terminal() {
    let mut script = Script::new(&[("node\x1b[2J", "\x1b]0;title\x07")]);
    script.step("node\x1b[2J", "st\nep").emits("\x1b[31mred").becomes("\u{9b}1m");
    let run = script.breaks("sa\rfe", &[("node\x1b[2J", "\x1b[0m")]);
    let text = Diagram::new(&run.0, &run.1, Paint::Plain).to_string();
    assert!(!text.chars().any(|letter| letter.is_control() && letter != '\n'), "{text:?}");
}

/// The names of the elements that are open at the end; panics where one is closed that is not open.
fn open_elements(picture: &str) -> Vec<&str> {
    let mut open = Vec::new();
    for tag in picture.split('<').skip(1) {
        let (tag, _) = tag.split_once('>').unwrap();
        let name = tag.split([' ', '/']).find(|part| !part.is_empty()).unwrap();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "{picture}");
        } else if !tag.ends_with('/') {
            open.push(name);
        }
    }
    open
}

#[test]
fn a_picture_shows_every_arrow_and_every_step() {
    for run in [election(), loops(), gossip(12), gossip(64), lost_value()] {
        let picture = picture(&run);
        let consumed: usize = run.0.steps.iter().map(|step| step.consumed.len()).sum();
        let quorums = run.0.steps.iter().filter(|step| step.consumed.len() > 1).count();
        assert_eq!(picture.matches("class=\"arrow ").count(), consumed);
        assert_eq!(picture.matches("class=\"ring ").count(), quorums);
        assert_eq!(picture.matches("class=\"number\"").count(), run.0.steps.len());
        assert_eq!(open_elements(&picture), Vec::<&str>::new());
        assert!(!picture.contains("NaN") && !picture.contains("inf"), "{picture}");
    }
}

#[test]
fn a_text_cannot_break_a_picture() {
    let mut script = Script::new(&[("<node>", "0")]);
    script.step("<node>", "a&b").emits("</text><script>").becomes("\"<1>\"");
    let run = script.breaks("x<y", &[("<node>", "</svg>")]);
    let picture = picture(&run);
    assert_eq!(open_elements(&picture), Vec::<&str>::new());
    assert!(!picture.contains("<script") && picture.contains("a&amp;b"), "{picture}");
}

/// Nodes of which one, or all, have nothing to do when they start.
fn starts() -> Run {
    let mut script =
        Script::new(&[("node 0", "Idle"), ("node 1", "Idle"), ("node 2", "Idle"), ("node 3", "Idle")]);
    script.step("node 0", "on_start");
    script.step("node 1", "on_start");
    let mut timer = script.step("node 0", "on_timer").sends("Go(1)", &["node 1", "node 3"]);
    timer.edit().choices.push(Choice { index: 0, of: 1, text: "Tick".to_string(), names_step: true });
    timer.becomes("Busy");
    script.step("node 2", "on_start");
    script.step("node 1", "on_message").gets("node 0", "Go(1)").becomes("Busy");
    script.step("node 3", "on_start");
    script.breaks("one is busy", &[("node 0", "true"), ("node 1", "true")])
}

#[test]
fn starts_that_change_nothing_are_one_line_and_a_timer_has_its_name() {
    check(
        &starts(),
        100,
        "
        node 0        node 1        node 3     n──▶● receives what step n sent
          │             │             │
          │             │             │        steps 1, 2, 4 are not shown: node 0–2 on_start,
          │             │             │          nothing changes
 3        ●             │             │        node 0 on_timer Tick
          │             │             │          Idle→Busy
          │             │             │          sends Go(1) to node 1, 3, 1 received
 5        3────Go(1)───▶●             │        node 1 on_message ← Go(1)
          │             │             │          Idle→Busy
 6        │             │             ●        node 3 on_start
          │             │             │          nothing changes
 ✗       true          true           │
 ✗ violated after step 6: 'one is busy'
   node 0, 1  true
",
    );
    let list = Diagram::new(&starts().0, &starts().1, Paint::Plain).width(40).to_string();
    assert!(list.contains("steps 1, 2, 4 are not shown"), "{list}");
    let picture = picture(&starts());
    assert_eq!(picture.matches("class=\"number\"").count(), 3, "{picture}");
    assert!(picture.contains("steps 1, 2, 4 are not shown"), "{picture}");
}

#[test]
fn where_a_snapshot_ends_is_marked() {
    let (trace, broken) = lost_value();
    let marked = |step| Diagram::new(&trace, &broken, Paint::Plain).searched_from(step, "'state.json' ends");
    let rule = "┄ 'state.json' ends, the search begins";
    for (step, before, after) in [(0, "│", " 1 "), (2, "sends Stored", " 3 "), (5, "becomes Empty", " ✗ ")]
    {
        let text = marked(step).to_string();
        let lines: Vec<&str> = text.lines().collect();
        let at = lines.iter().position(|line| line.contains(rule)).unwrap_or_else(|| panic!("{text}"));
        assert!(lines[at - 1].contains(before) && lines[at + 1].starts_with(after), "{step}:\n{text}");
        let picture = marked(step).svg("a", "b");
        assert_eq!(picture.matches("class=\"rule\"").count(), 1);
        assert!(picture.contains("'state.json' ends"), "{picture}");
        assert_eq!(open_elements(&picture), Vec::<&str>::new());
    }
    let run = gossip(64);
    let list =
        Diagram::new(&run.0, &run.1, Paint::Plain).searched_from(2, "a run ends").width(60).to_string();
    let at = list.lines().position(|line| line.contains("┄┄ a run ends, the search begins")).unwrap();
    assert!(list.lines().nth(at + 1).unwrap().starts_with("  3 "), "{list}");
}

#[test]
fn what_becomes_of_a_message_is_said_however_narrow_it_is() {
    let mut script = Script::new(&[("client", "0"), ("server 0", "0"), ("server 1", "0")]);
    let long = "Request { key: \"a rather long key\", value: \"a rather long value\" }";
    script.step("client", "ask").sends(long, &["server 0", "server 1"]).sends("Ping", &["server 0"]);
    script.step("server 0", "loses").gets("client", long);
    script.0.steps[1].kind = StepKind::Loss;
    script.step("client", "ask again").sends(long, &["server 0"]).becomes("1");
    let run = script.breaks("answered", &[("client", "1")]);
    for width in [44, 60, 80, 100, 200] {
        let text = Diagram::new(&run.0, &run.1, Paint::Plain).width(width).to_string();
        // As one line, whatever it was broken into.
        let words = text.split_whitespace().filter(|word| !word.starts_with(['│', '●']));
        let joined = words.collect::<Vec<_>>().join(" ");
        for needle in [", 1 lost", "Ping to server 0, unread", "a rather long value"] {
            assert!(joined.contains(needle), "{needle} in {width} columns:\n{text}");
        }
        assert_eq!(text.matches("unread").count(), 2, "{text}");
    }
}

#[test]
fn a_wide_terminal_is_used() {
    let width_of = |width| {
        let run = lost_value();
        let text = Diagram::new(&run.0, &run.1, Paint::Plain).width(width).to_string();
        text.lines().map(|line| line.chars().count()).max().unwrap()
    };
    assert!(width_of(80) <= 80 && width_of(120) > 100 && width_of(200) > 120, "{}", width_of(200));
}

#[test]
fn a_picture_says_what_it_is_of() {
    let picture = picture(&election());
    assert!(picture.contains("<title>violated: 'x'</title>"), "{picture}");
    for line in ["violated: 'x'", "election --nodes 3", "world: --lose 1"] {
        assert!(picture.contains(&format!(">{line}</tspan>")), "{line}: {picture}");
    }
}
