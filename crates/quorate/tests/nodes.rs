//! Handler-style nodes: the same little ring election as a node that can be copied and compared, as one
//! compared by a fingerprint, and as one that is rebuilt by replaying its inputs.

use quorate::model::{Model, TraceStep, Transition};
use quorate::protocol::{Commands, Fingerprinted, Replayed, Stepped};
use quorate::{Node, ProcessId, RoleName, System, observe};

const NODES: RoleName = RoleName::new("node");
const COUNT: usize = 3;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Msg {
    Token(usize),
    Elected(usize),
}

/// Chang and Roberts: the highest token goes all the way round.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Election {
    id: usize,
    leader: Option<usize>,
    /// A bug: every token is passed on, also lower ones.
    passes_everything: bool,
}

type Out<'a, 'b> = &'a mut Commands<'b, Msg, &'static str>;

impl Election {
    fn new(id: usize, passes_everything: bool) -> Self {
        Election { id, leader: None, passes_everything }
    }

    fn timer(&mut self, out: Out<'_, '_>) {
        let next = self.next(out);
        out.send(next, Msg::Token(self.id));
    }

    fn message(&mut self, message: &Msg, out: Out<'_, '_>) {
        let next = self.next(out);
        match *message {
            Msg::Token(id) if id == self.id => {
                self.leader = Some(id);
                out.send(next, Msg::Elected(id));
            }
            Msg::Token(id) if id > self.id || self.passes_everything => out.send(next, Msg::Token(id)),
            Msg::Elected(id) if id != self.id => {
                self.leader = Some(id);
                out.send(next, Msg::Elected(id));
            }
            Msg::Token(_) | Msg::Elected(_) => {}
        }
    }

    fn next(&self, out: Out<'_, '_>) -> ProcessId {
        out.members(NODES)[(self.id + 1) % COUNT]
    }
}

macro_rules! election_node {
    ($node:ty, $($path:tt)+) => {
        impl Node for $node {
            type Message = Msg;
            type Timer = &'static str;
            fn on_start(&mut self, out: &mut Commands<'_, Msg, &'static str>) {
                out.set_timer("stand");
            }
            fn on_message(&mut self, _: ProcessId, message: &Msg, out: &mut Commands<'_, Msg, &'static str>) {
                self.$($path)+.message(message, out);
            }
            fn on_timer(&mut self, _: &&'static str, out: &mut Commands<'_, Msg, &'static str>) {
                self.$($path)+.timer(out);
            }
        }
    };
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Comparable(Election);
election_node!(Comparable, 0);

/// Can be copied, but a function in it cannot be compared.
#[derive(Clone)]
struct CloneOnly(Election, #[expect(dead_code, reason = "what makes it incomparable")] fn() -> usize);
election_node!(CloneOnly, 0);

/// Can be neither copied nor compared.
struct Opaque(Election);
election_node!(Opaque, 0);

fn stepped(bug: bool) -> System<Msg> {
    System::new().role(NODES, COUNT, |id| Stepped::new(Comparable(Election::new(id, bug)))).invariant(
        "one leader",
        observe(|n: &Stepped<Comparable>| n.inspect(|n| n.0.leader)),
        agree,
    )
}

fn fingerprinted(bug: bool) -> System<Msg> {
    System::new()
        .role(NODES, COUNT, |id| Fingerprinted::new(CloneOnly(Election::new(id, bug), || 7), |n| n.0.clone()))
        .invariant("one leader", observe(|n: &Fingerprinted<CloneOnly>| n.inspect(|n| n.0.leader)), agree)
}

fn replayed(bug: bool) -> System<Msg> {
    System::new().role(NODES, COUNT, |id| Replayed::new(move || Opaque(Election::new(id, bug)))).invariant(
        "one leader",
        observe(|n: &Replayed<Opaque>| n.inspect(|n| n.0.leader)),
        agree,
    )
}

fn replayed_and_compared(bug: bool) -> System<Msg> {
    System::new()
        .role(NODES, COUNT, |id| {
            Replayed::new(move || Opaque(Election::new(id, bug))).compared_by(|n| n.0.clone())
        })
        .invariant("one leader", observe(|n: &Replayed<Opaque>| n.inspect(|n| n.0.leader)), agree)
}

fn agree(leaders: &[Option<usize>]) -> bool {
    let mut known: Vec<usize> = leaders.iter().flatten().copied().collect();
    known.dedup();
    known.len() <= 1
}

#[test]
fn the_three_kinds_of_node_behave_alike() {
    let counts = |system: System<Msg>| {
        let report = quorate::check(system).unreduced().run().unwrap();
        report.assert_holds();
        (report.coverage.states, report.coverage.transitions, report.coverage.terminal_states)
    };
    let expected = counts(stepped(false));
    assert!(expected.0 > 50, "{expected:?}");
    assert_eq!(counts(fingerprinted(false)), expected);
    assert_eq!(counts(replayed_and_compared(false)), expected);
    // Compared by its inputs, a node that has heard the same in another order is another node.
    assert!(counts(replayed(false)).0 > expected.0);
}

#[test]
fn the_bug_is_found_in_all_of_them() {
    let lengths = [stepped, fingerprinted, replayed, replayed_and_compared]
        .map(|system| quorate::check(system(true)).assert_violated().trace.steps.len());
    assert!(lengths.iter().all(|length| *length == lengths[0]), "{lengths:?}");
}

#[test]
fn a_node_is_a_process_like_any_other() {
    let model: Model = stepped(false).build().unwrap();
    let names: Vec<&str> = model.processes()[0].transitions().iter().map(Transition::name).collect();
    assert_eq!(names, ["on_start", "on_message", "on_timer"]);
}

#[test]
fn a_violation_names_the_timers_that_fired() {
    let violation = quorate::check(stepped(true)).assert_violated();
    let titles: Vec<String> = violation.trace.steps.iter().map(TraceStep::title).collect();
    assert!(titles.contains(&"on_timer \"stand\"".to_string()), "{titles:?}");
    assert!(violation.to_string().contains(" on_timer \"stand\""), "{violation}");
    assert!(!violation.to_string().contains("chooses"), "{violation}");
}
