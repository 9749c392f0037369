//! The naive checker counts what can be counted by hand, and the reference Paxos as TLC, SPIN, rumur and
//! `CMurphi` do.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, HashSet};

use quorate::model::Value;
use quorate::{Outbox, Role, RoleName, System, Transitions, observe, quorums_of, some_of};
use quorate_testkit::naive::{Findings, NO_PANIC, search};

const SENDERS: RoleName = RoleName::new("sender");
const RECEIVERS: RoleName = RoleName::new("receiver");

/// Sends the messages it is given in one step, each with a letter.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Sender {
    letters: Vec<char>,
}

impl Role for Sender {
    type Message = char;
    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("send").when(|s| !s.letters.is_empty()).run(|s, out| {
            for letter in s.letters.drain(..) {
                out.send_all(RECEIVERS, letter);
            }
        });
    }
}

/// How a receiver reads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Reading {
    OneByOne,
    Pairs,
    EqualPairs,
    FirstAndSecondSender,
    Choosing,
    Panicking,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Receiver {
    reading: Reading,
    read: Vec<char>,
}

impl Role for Receiver {
    type Message = char;
    fn transitions(&self, t: &mut Transitions<Self>) {
        let quorum = match self.reading {
            Reading::OneByOne => return t.message("read").run(|r, m, _| r.read.push(*m)),
            Reading::Choosing => return t.message("read").run(|r, m, out| r.choose(*m, out)),
            Reading::Panicking => {
                return t.message("read").run(|_, m, out| assert!(out.choose([true, false]) || *m == 'a'));
            }
            Reading::Pairs | Reading::EqualPairs => some_of(2, SENDERS),
            Reading::FirstAndSecondSender => quorums_of(SENDERS, [[1, 0]]),
        };
        let equal = self.reading == Reading::EqualPairs;
        t.quorum("read", quorum)
            .of(move |_, m| if equal { Some(*m) } else { Some('*') })
            .run(|r, pair, _| r.read.extend(pair.iter().map(|m| *m.body)));
    }
}

impl Receiver {
    /// Reads a letter as it is or in upper case; in upper case, once or twice.
    fn choose(&mut self, letter: char, out: &mut Outbox<char>) {
        let upper = out.choose([false, true]);
        let times = if upper { out.choose([1, 2]) } else { 1 };
        let letter = if upper { letter.to_ascii_uppercase() } else { letter };
        self.read.extend(std::iter::repeat_n(letter, times));
    }
}

/// Senders of these letters, and one receiver; at the end it should have read at most `read_max`, and it
/// should never read a `z`.
fn found(letters: &[&str], reading: Reading, read_max: usize) -> Findings {
    let system = System::new()
        .role(SENDERS, letters.len(), |index| Sender { letters: letters[index].chars().collect() })
        .role(RECEIVERS, 1, |_| Receiver { reading, read: Vec::new() })
        .invariant("no z", observe(|r: &Receiver| r.read.contains(&'z')), |seen| !seen[0])
        .at_end("short", observe(|r: &Receiver| r.read.len()), move |read| read[0] <= read_max);
    search(&system.build().unwrap(), 1_000).unwrap()
}

/// States, transitions, terminal states, depth and local steps.
fn counts(found: &Findings) -> (usize, usize, usize, u32, usize) {
    let steps = found.local_steps.len();
    (found.depths.len(), found.edges.len(), found.terminal_states, found.depth(), steps)
}

#[test]
fn equal_messages_are_interchangeable() {
    // sent nothing; aa waiting; a read, a waiting; aa read. One step between each.
    let found = found(&["aa"], Reading::OneByOne, 2);
    assert_eq!(counts(&found), (4, 3, 1, 3, 3));
    assert_eq!(found.copies_max, 2);
    assert_eq!(found.broken, BTreeMap::new());
}

#[test]
fn different_messages_are_not() {
    // nothing; ab waiting; a or b read; ab or ba read. Two steps from ab, one from each after it.
    let found = found(&["ab"], Reading::OneByOne, 2);
    assert_eq!(counts(&found), (6, 5, 2, 3, 5));
    // The system states are the same but for "nothing" and "waiting", in which only the sender differs.
    assert_eq!(found.system_states.len(), 6);
    assert_eq!(found.local_states.iter().map(HashSet::len).collect::<Vec<_>>(), [2, 5]);
}

#[test]
fn equal_messages_of_different_senders_are_not() {
    // Each message is unsent, waiting or read: 9 states if the order of reading left no trace, and it
    // leaves none here, both being 'a'. 3 x 2 steps in each of two directions.
    let found = found(&["a", "a"], Reading::OneByOne, 2);
    assert_eq!((found.depths.len(), found.edges.len()), (9, 12));
    assert_eq!((found.terminal_states, found.depth()), (1, 4));
    // The two senders' steps; from "" and from "a", a message of either sender.
    assert_eq!(found.local_steps.len(), 2 + 4);
}

#[test]
fn quorums_come_from_distinct_senders() {
    // Without distinct senders "aa" would be read at once.
    assert_eq!(counts(&found(&["aa", ""], Reading::Pairs, 0)), (2, 1, 1, 1, 1));
    // Each sender sends or not: 4 states, 4 steps. With both sent, "ac" or "bc" is read, leaving b or a.
    assert_eq!(counts(&found(&["ab", "c"], Reading::Pairs, 2)), (6, 6, 2, 3, 4));
    // Messages of one quorum have equal keys: only "aa" is read, with c left.
    assert_eq!(counts(&found(&["ac", "a"], Reading::EqualPairs, 2)), (5, 5, 1, 3, 3));
}

#[test]
fn listed_quorums_are_exact() {
    // Of 8 states of the senders, 2 have the first two senders' messages: each has one more step. With the
    // third's message both lead to different states, between which the third sender's step leads.
    let found = found(&["a", "b", "c"], Reading::FirstAndSecondSender, 2);
    assert_eq!(counts(&found), (10, 12 + 2 + 1, 1, 4, 3 + 1));
}

#[test]
fn every_combination_of_choices_is_a_step() {
    // "x" is read as x, X or XX.
    assert_eq!(counts(&found(&["x"], Reading::Choosing, 2)), (5, 4, 3, 2, 4));
}

#[test]
fn properties_and_their_shortest_violations() {
    let z = found(&["az"], Reading::OneByOne, 1);
    assert_eq!(z.broken, BTreeMap::from([("no z".to_string(), 2), ("short".to_string(), 3)]));
    assert_eq!(z.shortest_violation(), Some(2));
    // "xx" is too long, but only once there is nothing left to do.
    let long = found(&["xx"], Reading::OneByOne, 1);
    assert_eq!(long.broken, BTreeMap::from([("short".to_string(), 3)]));
}

#[test]
fn a_panic_is_one_step_further_and_no_transition() {
    // Sent, then read: the first choice is fine and leaves the state as it is but for the message, the
    // second panics on anything but 'a'.
    let found = found(&["b"], Reading::Panicking, 0);
    assert_eq!(found.broken, BTreeMap::from([(NO_PANIC.to_string(), 2)]));
    assert_eq!(counts(&found), (3, 2, 1, 2, 2));
    assert_eq!(found.handler_runs.len(), 3);
}

#[test]
fn it_gives_up_beyond_the_limit() {
    let system = System::new()
        .role(SENDERS, 1, |_| Sender { letters: vec!['a'] })
        .role(RECEIVERS, 1, |_| Receiver { reading: Reading::OneByOne, read: Vec::new() });
    let model = system.build().unwrap();
    assert!(search(&model, 2).is_none());
    assert_eq!(search(&model, 3).unwrap().depths.len(), 3);
}

#[test]
fn local_states_are_distinguished_by_value_alone() {
    let found = found(&["a"], Reading::OneByOne, 1);
    let empty = Value::new(Receiver { reading: Reading::OneByOne, read: Vec::new() });
    assert!(found.local_states[1].contains(&empty));
    assert!(!found.local_states[0].contains(&empty));
}

/// Paxos with 2 proposers, 3 acceptors and 1 learner.
fn paxos(parameters: &[(&str, &str)]) -> Findings {
    let protocols = quorate_zoo::protocols();
    let paxos = protocols.iter().find(|protocol| protocol.name() == "paxos").unwrap();
    let arguments = paxos.arguments(parameters.iter().copied(), None).unwrap();
    let found = search(&paxos.instance(&arguments).unwrap(), 200_000).unwrap();
    assert_eq!(found.broken, BTreeMap::new());
    found
}

#[test]
fn paxos_as_other_checkers_count_it() {
    let quorum = paxos(&[]);
    // 18 steps at most: 2 propose, 3 x 4 messages to acceptors, 2 majorities of replies, 2 of accepts.
    // Checkers that count levels of states say 19.
    assert_eq!((quorum.depths.len(), quorum.edges.len(), quorum.depth()), (27_410, 94_055, 18));
    let keep = paxos(&[("stale", "keep")]);
    assert_eq!((keep.depths.len(), keep.edges.len()), (8_649, 20_049));
    let single = paxos(&[("transitions", "single")]);
    assert_eq!((single.depths.len(), single.edges.len()), (131_022, 648_709));
}
