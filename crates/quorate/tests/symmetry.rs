//! What a user can say about symmetry: what it makes of a model, and what is refused with which words.

use std::collections::BTreeSet;

use quorate::Renaming;
use quorate::model::{Envelope, Model, Outcome, Sending, Value};
use quorate::property::Monitor;
use quorate::protocol::{Commands, Fingerprinted, QuorumOf, Stepped, SystemError};
use quorate::world::{CrashSends, Crashes};
use quorate::{
    Node, Outbox, ProcessId, Quorum, Received, Rename, Role, RoleName, System, Transitions, World,
    majority_of, quorums_of,
};

const LEADER: RoleName = RoleName::new("leader");
const FOLLOWERS: RoleName = RoleName::new("follower");

#[derive(Clone, PartialEq, Eq, Hash, Debug, Rename)]
enum Msg {
    Follow,
    Met(ProcessId),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Rename)]
struct Leader {
    met: BTreeSet<ProcessId>,
}

impl Role for Leader {
    type Message = Msg;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.message("meet").from(FOLLOWERS).run(|leader: &mut Leader, met: Received<'_, Msg>, out| {
            leader.met.insert(met.from);
            out.emit(Meeting(met.from));
            out.emit("a note that no monitor hears");
            out.send_all(FOLLOWERS, Msg::Met(met.from));
        });
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Rename)]
struct Follower {
    rank: u8,
    boss: Option<ProcessId>,
    #[rename(skip)]
    quorums: Vec<Vec<usize>>,
}

impl Role for Follower {
    type Message = Msg;

    fn transitions(&self, t: &mut Transitions<Self>) {
        let quorum: QuorumOf = if self.quorums.is_empty() {
            majority_of(FOLLOWERS)
        } else {
            quorums_of(FOLLOWERS, &self.quorums)
        };
        t.quorum("gather", quorum).run(|_: &mut Follower, _: Quorum<'_, Msg>, _: &mut Outbox<Msg>| {});
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Rename)]
struct Meeting(ProcessId);

/// Whom the leader has met last.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Rename)]
struct Diary(Option<ProcessId>);

impl Monitor for Diary {
    type Event = Meeting;

    fn hear(&mut self, _: ProcessId, event: &Meeting) {
        self.0 = Some(event.0);
    }

    fn holds(&self) -> bool {
        true
    }
}

fn id(position: usize) -> ProcessId {
    ProcessId::new(position)
}

fn leader() -> System<Msg> {
    System::new().role(LEADER, 1, |_| Leader { met: BTreeSet::new() })
}

fn group() -> System<Msg> {
    leader().role(FOLLOWERS, 3, |_| Follower::default())
}

fn symmetric(system: System<Msg>) -> System<Msg> {
    system.symmetric(FOLLOWERS).renames::<(Leader, Follower)>()
}

#[track_caller]
fn built(system: System<Msg>) -> Model {
    system.build().unwrap_or_else(|error| panic!("{error}"))
}

#[track_caller]
fn refused(system: System<Msg>, with: &str) {
    match system.build() {
        Ok(_) => panic!("expected: {with}"),
        Err(error) => {
            assert!(matches!(error, SystemError::Symmetry(_)), "{error:?}");
            assert_eq!(error.to_string(), with);
        }
    }
}

#[test]
fn a_symmetric_role_is_a_group() {
    let model = built(symmetric(group()));
    assert_eq!(model.symmetry().groups(), [[1, 2, 3].map(id).to_vec()]);
    let swaps = [(1, 2), (2, 3)].map(|(one, other)| Renaming::swap(4, id(one), id(other)));
    assert_eq!(model.symmetry().generators(), swaps);
    assert!(built(group()).symmetry().groups().is_empty());
    // A role of one is symmetric, and no group. To say something twice changes nothing.
    let model = built(symmetric(group()).symmetric(LEADER).symmetric(FOLLOWERS));
    assert_eq!(model.symmetry().groups(), [[1, 2, 3].map(id).to_vec()]);
}

#[test]
fn only_processes_to_which_the_same_may_happen_are_interchangeable() {
    let prone = |count| {
        World::default().crashes(Crashes::Explicit {
            prone: vec![("follower".to_string(), count)],
            sends: CrashSends::All,
        })
    };
    let mut model = built(symmetric(group()));
    for (count, groups) in [(1, vec![vec![2, 3]]), (2, vec![vec![1, 2]]), (3, vec![vec![1, 2, 3]])] {
        model = model.in_world(prone(count)).expect("a world that makes sense");
        let groups: Vec<Vec<ProcessId>> =
            groups.into_iter().map(|group| group.into_iter().map(id).collect()).collect();
        assert_eq!(model.symmetry().groups(), groups, "{count} may crash");
    }
}

#[test]
fn states_messages_events_and_outcomes_are_renamed() {
    let model = built(symmetric(group()).monitor("diary", Diary::default()).renames_monitor::<Diary>());
    let (symmetry, ids) = (model.symmetry(), Renaming::swap(4, id(1), id(2)));
    let met = |met: usize| Value::new(Leader { met: BTreeSet::from([id(met)]) });
    assert_eq!(symmetry.rename_state(&met(1), &ids), met(2));
    assert_eq!(symmetry.rename_message(&Value::new(Msg::Met(id(2))), &ids), Value::new(Msg::Met(id(1))));
    assert_eq!(symmetry.rename_message(&Value::new(Msg::Follow), &ids), Value::new(Msg::Follow));
    assert_eq!(
        symmetry.rename_monitor(&Value::new(Diary(Some(id(1)))), &ids),
        Value::new(Diary(Some(id(2))))
    );
    assert_eq!(symmetry.rename_event(&Value::new(7u8), &ids), None);

    let from = |from: usize| Envelope { from: id(from), body: Value::new(Msg::Follow) };
    assert_eq!(symmetry.rename_envelope(&from(1), &ids), from(2));
    let run = |from: &Envelope| model.run_with(id(0), 0, model.process(id(0)).initial(), &[from], &[]);
    let outcome = run(&from(1)).expect("the handler does not panic");
    assert_eq!(outcome.events.len(), 2);
    let sent = |to: usize| Sending { to: id(to), body: Value::new(Msg::Met(id(2))) };
    let renamed = Outcome {
        choices: Vec::new(),
        state: met(2),
        sends: [1, 2, 3].map(sent).to_vec(),
        events: vec![Value::new(Meeting(id(2)))],
    };
    assert_eq!(symmetry.rename_outcome(&outcome, &ids), renamed);
    let other = run(&from(2)).expect("the handler does not panic");
    assert_eq!(symmetry.rename_outcome(&other, &Renaming::identity(4)), renamed);
}

#[test]
fn everything_must_be_renamed() {
    refused(
        group().symmetric(FOLLOWERS).renames::<Follower>(),
        "role 'follower' is symmetric, so ids in the states of role 'leader' must be renamed: derive Rename for \
         main::symmetry::Leader and add .renames::<…>() of it to the system",
    );
    refused(
        symmetric(group()).monitor("diary", Diary::default()),
        "role 'follower' is symmetric, so ids in monitor 'diary' must be renamed: derive Rename for main::symmetry::Diary \
         and its events and add .renames_monitor::<…>() of it to the system",
    );
    // Nothing is needed where nothing is symmetric.
    built(group().monitor("diary", Diary::default()));
}

#[test]
fn a_role_that_does_not_exist_is_not_symmetric() {
    refused(
        symmetric(group()).symmetric(RoleName::new("dragon")),
        "role 'dragon' is said to be symmetric, but the system does not have it",
    );
}

#[test]
fn processes_that_start_differently_are_not_interchangeable() {
    let ranked = |rank| Follower { rank, ..Follower::default() };
    refused(
        symmetric(leader().role(FOLLOWERS, 2, |position| ranked(u8::try_from(position).unwrap_or_default()))),
        "role 'follower' is not symmetric: follower 0 starts in Follower { rank: 0, boss: None, quorums: [] }, \
         follower 1 in Follower { rank: 1, boss: None, quorums: [] }; expected processes that are the same up to their ids",
    );
    // Up to renaming: each knows itself, and that is all right; each follows the next, and that is not.
    let following = |boss: ProcessId| Follower { boss: Some(boss), ..Follower::default() };
    built(symmetric(leader().role(FOLLOWERS, 3, |position| following(id(position + 1)))));
    assert!(
        symmetric(leader().role(FOLLOWERS, 3, |position| following(id((position + 1) % 3 + 1))))
            .build()
            .is_err()
    );
}

#[test]
fn nobody_else_knows_one_from_another() {
    let biased = System::new().role(LEADER, 1, |_| Leader { met: BTreeSet::from([id(2)]) });
    refused(
        symmetric(biased.role(FOLLOWERS, 2, |_| Follower::default())),
        "role 'follower' is not symmetric: leader starts in Leader { met: {#2} }, which distinguishes follower 0 from \
         follower 1; expected processes that are the same up to their ids",
    );
    refused(
        symmetric(group()).monitor("diary", Diary(Some(id(3)))).renames_monitor::<Diary>(),
        "role 'follower' is not symmetric: monitor 'diary' starts in Diary(Some(#3)), which distinguishes follower 1 \
         from follower 2; expected processes that are the same up to their ids",
    );
}

#[test]
fn quorums_do_not_prefer_members() {
    let with = |quorums: &[&[usize]]| {
        let quorums: Vec<Vec<usize>> = quorums.iter().map(|quorum| quorum.to_vec()).collect();
        symmetric(
            leader().role(FOLLOWERS, 3, |_| Follower { quorums: quorums.clone(), ..Follower::default() }),
        )
    };
    built(with(&[&[0, 1], &[1, 2], &[2, 0]]));
    refused(
        with(&[&[0, 1], &[1, 2]]),
        "role 'follower' is not symmetric: transition 'gather' of follower 0 distinguishes follower 0 from follower 1; \
         expected processes that are the same up to their ids",
    );
}

/// A process whose transitions depend on where it starts, which its state does not show.
#[derive(Clone, Debug, Rename)]
struct Hidden(bool);

impl PartialEq for Hidden {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Hidden {}

impl std::hash::Hash for Hidden {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}

impl Role for Hidden {
    type Message = Msg;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("act").run(|_: &mut Hidden, _: &mut Outbox<Msg>| {});
        if self.0 {
            t.internal("act more").run(|_: &mut Hidden, _: &mut Outbox<Msg>| {});
        }
    }
}

#[test]
fn interchangeable_processes_have_the_same_transitions() {
    refused(
        System::new()
            .role(FOLLOWERS, 2, |position| Hidden(position == 1))
            .symmetric(FOLLOWERS)
            .renames::<Hidden>(),
        "role 'follower' is not symmetric: follower 0 has the transitions act; follower 1 has act, act more; \
         expected processes that are the same up to their ids",
    );
}

#[test]
fn what_is_forged_does_not_distinguish_processes() {
    refused(
        symmetric(group()).forges((FOLLOWERS, 0), LEADER, [Msg::Follow]),
        "role 'follower' is not symmetric: with follower 0 and follower 1 exchanged, follower 1 would forge Follow \
         to leader, which it does not; expected processes that are the same up to their ids",
    );
    assert!(symmetric(group()).forges((LEADER, 0), FOLLOWERS, [Msg::Met(id(1))]).build().is_err());
    built(
        (0..3).fold(symmetric(group()), |system, at| system.forges((FOLLOWERS, at), LEADER, [Msg::Follow])),
    );
    built(symmetric(group()).forges((LEADER, 0), FOLLOWERS, [1, 2, 3].map(|met| Msg::Met(id(met)))));
}

/// A node that remembers who has written to it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Rename)]
struct Pen(Vec<ProcessId>);

impl Node for Pen {
    type Message = Msg;
    type Timer = ProcessId;

    fn on_message(&mut self, from: ProcessId, _: &Msg, out: &mut Commands<'_, Msg, ProcessId>) {
        self.0.push(from);
        out.set_timer(from);
    }
}

/// After a message from process 1, and after one from process 2: the one is the other, renamed.
#[track_caller]
fn hosted<S: Role<Message = Msg> + Rename>(new: impl Fn() -> S) {
    let system = System::new().role(FOLLOWERS, 3, |_| new()).symmetric(FOLLOWERS).renames::<S>();
    let model = built(system);
    assert_eq!(model.symmetry().groups().len(), 1);
    let states = [1, 2].map(|from| {
        let started = model.run(id(0), 0, model.process(id(0)).initial(), &[]).remove(0).expect("it starts");
        let letter = Envelope { from: id(from), body: Value::new(Msg::Follow) };
        model.run(id(0), 1, &started.state, &[&letter]).remove(0).expect("it receives").state
    });
    let ids = Renaming::swap(3, id(1), id(2));
    assert_ne!(states[0], states[1]);
    assert_eq!(model.symmetry().rename_state(&states[0], &ids), states[1]);
    assert!(format!("{:?}", states[0]).contains("timers {#1}"), "{:?}", states[0]);
}

#[test]
fn nodes_are_renamed_in_their_holders() {
    hosted(|| Stepped::new(Pen(Vec::new())));
    hosted(|| Fingerprinted::new(Pen(Vec::new()), |pen| pen.0.clone()));
}
