//! Processes that do what a table says: the roles of the random protocols.
//!
//! Known: two processes of different roles can be in equal local states and yet behave differently, as
//! they can in a protocol written by hand: the table is no part of the local state.
//! Invariant: a message is sent in exchange for one that was consumed or for a part of the sender's budget,
//! so the reachable states are finite. In a protocol without cycles every step moves a process on to a later
//! place, or consumes without sending when it is at its last.
//! Held by: tests/corpus.rs.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use quorate::protocol::QuorumOf;
use quorate::{
    Outbox, Quorum, Received, Role, RoleName, Transitions, all_of, majority_of, quorums_of, some_of,
};

/// The names of the roles; the type of role *k* is `Machine<k>`.
pub(crate) const ROLES: [RoleName; 3] =
    [RoleName::new("ash"), RoleName::new("birch"), RoleName::new("cedar")];

/// What the processes say to each other. Those of the first kind print alike, whatever their round.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Note {
    pub(crate) kind: u8,
    pub(crate) round: u8,
}

impl fmt::Debug for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note { kind: 0, .. } => f.write_str("Note { kind: 0, .. }"),
            Note { kind, round } => write!(f, "Note {{ kind: {kind}, round: {round} }}"),
        }
    }
}

/// A local state.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Local {
    pub(crate) place: u8,
    pub(crate) heard: u8,
    pub(crate) budget: u8,
}

/// A process of the role at this position.
#[derive(Clone)]
pub(crate) struct Machine<const ROLE: usize> {
    pub(crate) local: Local,
    pub(crate) table: Arc<Table>,
}

impl<const ROLE: usize> PartialEq for Machine<ROLE> {
    fn eq(&self, other: &Self) -> bool {
        self.local == other.local
    }
}

impl<const ROLE: usize> Eq for Machine<ROLE> {}

impl<const ROLE: usize> Hash for Machine<ROLE> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.local.hash(state);
    }
}

impl<const ROLE: usize> fmt::Debug for Machine<ROLE> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Local { place, heard, budget } = self.local;
        write!(f, "place {place} heard {heard} budget {budget}")
    }
}

/// What the processes of a role do.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) cyclic: bool,
    /// Places are below this.
    pub(crate) places: u8,
    /// Rounds are below this.
    pub(crate) rounds: u8,
    pub(crate) rules: Vec<Rule>,
    pub(crate) keeps: Keeps,
    /// What can be forged to the processes of the role, and in whose name.
    pub(crate) forged: Vec<(quorate::ProcessId, Note)>,
}

/// What a process keeps when it restarts; of its budget nothing comes back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keeps {
    pub(crate) place: bool,
    pub(crate) heard: bool,
    /// At this place it panics instead.
    pub(crate) alarm: Option<u8>,
}

impl Default for Keeps {
    fn default() -> Self {
        Keeps { place: true, heard: true, alarm: None }
    }
}

/// A transition.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) name: String,
    pub(crate) trigger: Reads,
    pub(crate) of: Of,
    pub(crate) when: Condition,
    /// The places where it may be taken, as bits; looked at by `of` or `when`, whichever there is.
    pub(crate) at: u8,
    pub(crate) fork: Option<Fork>,
    pub(crate) moves: Moves,
    pub(crate) hears: Hears,
    pub(crate) sends: Vec<Send>,
    /// How many events.
    pub(crate) emits: u8,
    pub(crate) alarm: Option<Alarm>,
}

/// What it consumes.
#[derive(Clone, Debug)]
pub(crate) enum Reads {
    Nothing,
    Message { from: Option<usize> },
    Quorum { of: usize, kind: Quora },
}

/// Which quorums.
#[derive(Clone, Debug)]
pub(crate) enum Quora {
    Majority,
    All,
    Some(usize),
    Listed(Vec<Vec<usize>>),
}

/// Which messages are of interest, and what those of one quorum have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Of {
    Absent,
    Kind(u8),
    RoundOfKind(u8),
    Whole,
    ParityWithHeard,
}

/// A guard over the local state and all consumed messages.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Condition {
    Absent,
    Place,
    RoundsUpToHeard,
    FirstSender { odd: bool },
    SumOfRounds { odd: bool },
}

/// A choice, and a second one that is only made if the first came out as `again`.
#[derive(Clone, Debug)]
pub(crate) struct Fork {
    pub(crate) first: Vec<u8>,
    pub(crate) again: u8,
    pub(crate) second: Vec<u8>,
}

/// How the place changes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Moves {
    By(u8),
    ByPick,
    ByRound,
}

/// How the memory changes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Hears {
    Nothing,
    Count,
    HighestRound,
    Pick,
    Forget,
}

/// The most that a process remembers.
pub(crate) const HEARD_MAX: u8 = 2;

/// A message to send.
#[derive(Clone, Debug)]
pub(crate) struct Send {
    pub(crate) to: To,
    pub(crate) kind: u8,
    pub(crate) round: Round,
    pub(crate) copies: u8,
}

/// To whom.
#[derive(Clone, Copy, Debug)]
pub(crate) enum To {
    Process(quorate::ProcessId),
    Role(usize),
    Me,
    Senders,
}

/// With which round.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Round {
    Fixed(u8),
    Place,
    Heard,
    Pick,
    Echo,
}

/// A planted panic.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alarm {
    pub(crate) spot: Spot,
    pub(crate) place: u8,
    /// What the process must remember or, in a handler, have picked.
    pub(crate) value: u8,
}

/// Where it panics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Spot {
    Of,
    Condition,
    Handler,
}

impl<const ROLE: usize> Role for Machine<ROLE> {
    type Message = Note;

    fn restarted(&self) -> Self {
        let (Keeps { place, heard, alarm }, local) = (self.table.keeps, self.local);
        assert!(alarm != Some(local.place), "planted in a restart");
        let place = if place { local.place } else { 0 };
        let heard = if heard { local.heard } else { 0 };
        Machine { local: Local { place, heard, ..local }, table: Arc::clone(&self.table) }
    }

    fn transitions(&self, t: &mut Transitions<Self>) {
        for (position, rule) in self.table.rules.iter().enumerate() {
            let table = Arc::clone(&self.table);
            let guard = {
                let table = Arc::clone(&table);
                move |local: Local, received: &[Received<'_, Note>]| {
                    table.rules[position].guard(local, received)
                }
            };
            match &rule.trigger {
                Reads::Nothing => {
                    let mut internal = t.internal(&rule.name);
                    if !matches!(rule.when, Condition::Absent) {
                        internal = internal.when(move |m| guard(m.local, &[]));
                    }
                    internal.run(move |m, out| table.run(position, &mut m.local, &[], out));
                }
                Reads::Message { from } => {
                    let mut one = t.message(&rule.name);
                    if let Some(from) = from {
                        one = one.from(ROLES[*from]);
                    }
                    let rule = rule.clone();
                    one = match rule.of {
                        Of::Absent => one,
                        Of::Kind(_) => one.of(move |m, note| rule.key(m.local, *note).is_some()),
                        _ => one.of(move |m, note| rule.key(m.local, *note)),
                    };
                    if !matches!(self.table.rules[position].when, Condition::Absent) {
                        one = one.when(move |m, received| guard(m.local, &[received]));
                    }
                    one.run(move |m, received, out| table.run(position, &mut m.local, &[received], out));
                }
                Reads::Quorum { of, kind } => {
                    let mut quorum = t.quorum(&rule.name, kind.of(*of));
                    let rule = rule.clone();
                    quorum = match rule.of {
                        Of::Absent => quorum,
                        Of::Kind(_) => quorum.of(move |m, note| rule.key(m.local, *note).is_some()),
                        _ => quorum.of(move |m, note| rule.key(m.local, *note)),
                    };
                    if !matches!(self.table.rules[position].when, Condition::Absent) {
                        quorum = quorum.when(move |m, received| guard(m.local, &all(received)));
                    }
                    quorum.run(move |m, received, out| {
                        table.run(position, &mut m.local, &all(received), out);
                    });
                }
            }
        }
    }
}

fn all(quorum: Quorum<'_, Note>) -> Vec<Received<'_, Note>> {
    quorum.into_iter().collect()
}

impl Quora {
    fn of(&self, role: usize) -> QuorumOf {
        match self {
            Quora::Majority => majority_of(ROLES[role]),
            Quora::All => all_of(ROLES[role]),
            Quora::Some(size) => some_of(*size, ROLES[role]),
            Quora::Listed(quorums) => quorums_of(ROLES[role], quorums),
        }
    }
}

impl Rule {
    /// From now on nobody takes it, and it does not panic when somebody asks.
    pub(crate) fn take_never(&mut self) {
        (self.when, self.at, self.alarm) = (Condition::Place, 0, None);
    }

    pub(crate) fn is_never_taken(&self) -> bool {
        matches!(self.when, Condition::Place) && self.at == 0 && self.alarm.is_none()
    }

    fn may_be_taken_at(&self, place: u8) -> bool {
        self.at >> place & 1 == 1
    }

    fn raise(&self, spot: Spot, local: Local, value: u8) {
        if let Some(alarm) = self.alarm {
            let due = alarm.spot == spot && alarm.place == local.place && alarm.value == value;
            assert!(!due, "planted in '{}'", self.name);
        }
    }

    fn key(&self, local: Local, note: Note) -> Option<(u8, u8)> {
        self.raise(Spot::Of, local, note.round);
        let key = match self.of {
            Of::Kind(kind) => (note.kind == kind).then_some((0, 0)),
            Of::RoundOfKind(kind) => (note.kind == kind).then_some((0, note.round)),
            Of::Whole => Some((note.kind, note.round)),
            Of::ParityWithHeard => Some((0, (note.round + local.heard) % 2)),
            Of::Absent => unreachable!("a rule without `of` is asked for no keys"),
        };
        key.filter(|_| self.may_be_taken_at(local.place))
    }

    fn guard(&self, local: Local, received: &[Received<'_, Note>]) -> bool {
        self.raise(Spot::Condition, local, local.heard);
        let condition = match self.when {
            Condition::Absent | Condition::Place => true,
            Condition::RoundsUpToHeard => received.iter().all(|note| note.round <= local.heard),
            Condition::FirstSender { odd } => {
                received.first().is_none_or(|note| (note.from.index() % 2 == 1) == odd)
            }
            Condition::SumOfRounds { odd } => {
                (received.iter().map(|note| note.round).sum::<u8>() % 2 == 1) == odd
            }
        };
        condition && self.may_be_taken_at(local.place)
    }
}

impl Table {
    fn run(
        &self,
        position: usize,
        local: &mut Local,
        received: &[Received<'_, Note>],
        out: &mut Outbox<Note>,
    ) {
        let rule = &self.rules[position];
        let pick = rule.fork.as_ref().map_or(0, |fork| fork.pick(out));
        rule.raise(Spot::Handler, *local, if rule.fork.is_some() { pick } else { local.heard });
        let last = self.places - 1;
        if !self.cyclic && local.place == last {
            return;
        }
        let before = *local;
        let first_round = received.first().map_or(0, |note| note.round);
        let distance = match rule.moves {
            Moves::By(distance) => distance,
            Moves::ByPick => pick,
            Moves::ByRound => first_round,
        };
        local.place = if self.cyclic {
            (local.place + distance) % self.places
        } else {
            (local.place + distance.max(1)).min(last)
        };
        local.heard = match rule.hears {
            Hears::Nothing => local.heard,
            Hears::Count => (local.heard + 1).min(HEARD_MAX),
            Hears::HighestRound => received.iter().map(|note| note.round).fold(local.heard, u8::max),
            Hears::Pick => pick.min(HEARD_MAX),
            Hears::Forget => 0,
        };
        // What is forged costs nobody anything, and pays for nothing.
        let paid_for = |note: &&Received<'_, Note>| !self.forged.contains(&(note.from, *note.body));
        let mut consumed = received.iter().filter(paid_for).count();
        for send in &rule.sends {
            let round = match send.round {
                Round::Fixed(round) => round,
                Round::Place => before.place,
                Round::Heard => local.heard,
                Round::Pick => pick,
                Round::Echo => first_round,
            };
            let note = Note { kind: send.kind, round: round % self.rounds };
            for _ in 0..send.copies {
                Table::send(send.to, note, received, &mut consumed, &mut local.budget, out);
            }
        }
        let events = [(before.place, pick), (local.place, local.heard), (before.heard, pick)];
        for event in &events[..rule.emits.into()] {
            out.emit(*event);
        }
    }

    /// Sends a message if what was consumed or what is left of the budget pays for it.
    fn send(
        to: To,
        note: Note,
        received: &[Received<'_, Note>],
        consumed: &mut usize,
        budget: &mut u8,
        out: &mut Outbox<Note>,
    ) {
        let receivers = match to {
            To::Process(process) => vec![process],
            To::Role(role) => out.members(ROLES[role]).to_vec(),
            To::Me => vec![out.me()],
            To::Senders => received.iter().map(|note| note.from).collect(),
        };
        let free = receivers.len().min(*consumed);
        let owed = receivers.len() - free;
        let Some(left) = u8::try_from(owed).ok().and_then(|owed| budget.checked_sub(owed)) else { return };
        *consumed -= free;
        *budget = left;
        match to {
            To::Role(role) => out.send_all(ROLES[role], note),
            _ => receivers.into_iter().for_each(|receiver| out.send(receiver, note)),
        }
    }
}

impl Fork {
    fn pick(&self, out: &mut Outbox<Note>) -> u8 {
        let first = out.choose(self.first.iter().copied());
        if self.second.is_empty() || first != self.again {
            return first;
        }
        first + out.choose(self.second.iter().copied())
    }
}
