//! Raft: leaders, elected term by term, replicate a log.
//!
//! From: Ongaro and Ousterhout, In Search of an Understandable Consensus Algorithm (USENIX ATC 2014), sections 5.1 to
//! 5.4, in handler style. The log, the term and the vote survive a restart (`--restart node=1`), nothing else does.
//! The properties are four of the five in its figure 3; the fifth, that a leader only appends, is about steps. The bug
//! `commit-by-counting` is what its figure 8 warns of.
//! Differs: clients are no processes; when its timer says so, a leader takes a command, known by the term and its place
//! in the log, until the log is as long as `--commands` says. Timers go off at any time, and nobody stands for election
//! once the last term is reached: so runs end. Nobody answers a message of an older term, nor says that it does not vote.
//! A leader has no `nextIndex`: who misses an entry says which, and is then sent one more. There are
//! heartbeats after an election, and to those who have an entry when it is committed; all are answered. No snapshots,
//! and the members stay the same.
//! Known: of the default instance the reductions leave 126 of 14,238 states, of two terms and two commands 43,683.
//! Figure 8 takes four terms, one command and 23 steps, of which 3 are starts: a search with reductions gets there with
//! 29,000 states in seconds, one without does not. All other bugs show in at most two terms.
//! Held by: `tests/counts.rs`, `testkit/tests/agreement.rs`.

use std::collections::{BTreeMap, BTreeSet};

use quorate::protocol::{Arguments, Commands, Stepped};
use quorate::world::World;
use quorate::{Node, ProcessId, Protocol, Rename, RoleName, System, observe};

const NODES: RoleName = RoleName::new("node");

type Term = usize;
/// How many entries a log has up to somewhere: 0 is before the first.
type Index = usize;

/// A command in a log: the one that the leader of a term took when its log was so long.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Rename)]
struct Entry {
    term: Term,
    command: Index,
}

/// A place in a log, by which it is known what stands before: the index, and the term of the entry there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Rename)]
struct Place {
    term: Term,
    index: Index,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Rename)]
enum Msg {
    RequestVote {
        term: Term,
        last: Place,
    },
    Vote {
        term: Term,
    },
    AppendEntries {
        term: Term,
        previous: Place,
        entries: Vec<Entry>,
        commit: Index,
    },
    /// The log is the leader's up to here.
    Appended {
        term: Term,
        matched: Index,
    },
    /// The log has no such entry here.
    Missing {
        term: Term,
        previous: Index,
    },
}

impl Msg {
    fn term(&self) -> Term {
        match self {
            Msg::RequestVote { term, .. }
            | Msg::Vote { term }
            | Msg::AppendEntries { term, .. }
            | Msg::Appended { term, .. }
            | Msg::Missing { term, .. } => *term,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Rename)]
enum Timer {
    /// No leader was heard of.
    Election,
    /// A client has a command for the leader.
    Client,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Bug {
    DoubleVote,
    VoteForOldLog,
    NoPreviousCheck,
    KeepConflicting,
    ForgetVote,
    CommitByCounting,
}

/// What is the same for all nodes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Setting {
    nodes: usize,
    terms: Term,
    commands: Index,
    bug: Option<Bug>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Rename)]
enum Stage {
    Follower,
    /// With the votes of others.
    Candidate(BTreeSet<ProcessId>),
    /// With how much of its log others have, if they have said so.
    Leader(BTreeMap<ProcessId, Index>),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Rename)]
struct Raft {
    term: Term,
    voted: Option<ProcessId>,
    log: Vec<Entry>,
    stage: Stage,
    commit: Index,
    #[rename(skip)]
    setting: Setting,
}

type Out<'a, 'b> = &'a mut Commands<'b, Msg, Timer>;

impl Node for Raft {
    type Message = Msg;
    type Timer = Timer;

    fn on_start(&mut self, out: &mut Commands<'_, Msg, Timer>) {
        self.wait_for_a_leader(out);
    }

    fn on_message(&mut self, from: ProcessId, message: &Msg, out: &mut Commands<'_, Msg, Timer>) {
        if message.term() > self.term {
            self.term = message.term();
            self.voted = None;
            self.follow(out);
        } else if message.term() < self.term {
            return;
        }
        match message {
            Msg::RequestVote { last, .. } => self.request_vote(from, *last, out),
            Msg::Vote { .. } => self.count_vote(from, out),
            Msg::AppendEntries { previous, entries, commit, .. } => {
                self.append_entries(from, *previous, entries, *commit, out);
            }
            Msg::Appended { matched, .. } => self.count_appended(from, *matched, out),
            Msg::Missing { previous, .. } => self.send_more(from, *previous, out),
        }
    }

    fn on_timer(&mut self, timer: &Timer, out: &mut Commands<'_, Msg, Timer>) {
        match timer {
            Timer::Election => self.stand(out),
            Timer::Client => self.take_command(out),
        }
    }

    fn on_restart(&mut self) {
        self.stage = Stage::Follower;
        self.commit = 0;
        if self.has(Bug::ForgetVote) {
            self.voted = None;
        }
    }
}

/// Elections.
impl Raft {
    fn new(setting: Setting) -> Self {
        Raft { term: 0, voted: None, log: Vec::new(), stage: Stage::Follower, commit: 0, setting }
    }

    fn has(&self, bug: Bug) -> bool {
        self.setting.bug == Some(bug)
    }

    fn is_majority(&self, count: usize) -> bool {
        2 * count > self.setting.nodes
    }

    fn wait_for_a_leader(&self, out: Out<'_, '_>) {
        out.cancel_timer(&Timer::Client);
        if self.term < self.setting.terms {
            out.set_timer(Timer::Election);
        } else {
            out.cancel_timer(&Timer::Election);
        }
    }

    fn follow(&mut self, out: Out<'_, '_>) {
        self.stage = Stage::Follower;
        self.wait_for_a_leader(out);
    }

    fn stand(&mut self, out: Out<'_, '_>) {
        self.term += 1;
        self.voted = Some(out.me());
        self.stage = Stage::Candidate(BTreeSet::new());
        self.wait_for_a_leader(out);
        for other in others(out) {
            out.send(other, Msg::RequestVote { term: self.term, last: self.place(self.log.len()) });
        }
    }

    fn request_vote(&mut self, candidate: ProcessId, last: Place, out: Out<'_, '_>) {
        let free = self.voted.is_none_or(|voted| voted == candidate);
        let up_to_date = last >= self.place(self.log.len());
        if (free || self.has(Bug::DoubleVote)) && (up_to_date || self.has(Bug::VoteForOldLog)) {
            self.voted = Some(candidate);
            out.send(candidate, Msg::Vote { term: self.term });
        }
    }

    fn count_vote(&mut self, from: ProcessId, out: Out<'_, '_>) {
        let Stage::Candidate(votes) = &mut self.stage else { return };
        votes.insert(from);
        let count = votes.len() + 1;
        if self.is_majority(count) {
            self.stage = Stage::Leader(BTreeMap::new());
            out.cancel_timer(&Timer::Election);
            self.wait_for_clients(out);
            for other in others(out) {
                self.send_entries(other, self.log.len(), out);
            }
        }
    }
}

/// The log.
impl Raft {
    /// Where so much of the log ends.
    fn place(&self, index: Index) -> Place {
        let last = index.checked_sub(1).and_then(|before| self.log.get(before));
        Place { term: last.map_or(0, |entry| entry.term), index }
    }

    fn wait_for_clients(&self, out: Out<'_, '_>) {
        if self.log.len() < self.setting.commands {
            out.set_timer(Timer::Client);
        }
    }

    fn take_command(&mut self, out: Out<'_, '_>) {
        let before = self.log.len();
        self.log.push(Entry { term: self.term, command: before + 1 });
        self.wait_for_clients(out);
        for other in others(out) {
            self.send_entries(other, before, out);
        }
    }

    /// Sends what stands behind this place.
    fn send_entries(&self, to: ProcessId, previous: Index, out: Out<'_, '_>) {
        let entries = self.log[previous..].to_vec();
        let previous = self.place(previous);
        out.send(to, Msg::AppendEntries { term: self.term, previous, entries, commit: self.commit });
    }

    fn append_entries(
        &mut self,
        leader: ProcessId,
        previous: Place,
        entries: &[Entry],
        commit: Index,
        out: Out<'_, '_>,
    ) {
        if matches!(self.stage, Stage::Leader(_)) {
            return;
        }
        self.stage = Stage::Follower;
        let known = previous.index <= self.log.len() && self.place(previous.index) == previous;
        if !known && !self.has(Bug::NoPreviousCheck) {
            out.send(leader, Msg::Missing { term: self.term, previous: previous.index });
            return;
        }
        for (index, entry) in (previous.index..).zip(entries) {
            let conflicts = self.log.get(index).is_some_and(|mine| mine.term != entry.term);
            if conflicts && !self.has(Bug::KeepConflicting) {
                self.log.truncate(index);
            }
            if index >= self.log.len() {
                self.log.push(*entry);
            }
        }
        let matched = previous.index + entries.len();
        self.commit = self.commit.max(commit.min(matched));
        out.send(leader, Msg::Appended { term: self.term, matched });
    }

    /// Commits what a majority has, if it is of this term: then nobody leads again who has not got it.
    fn count_appended(&mut self, follower: ProcessId, matched: Index, out: Out<'_, '_>) {
        let own_term = self.place(matched).term == self.term;
        let Stage::Leader(others) = &mut self.stage else { return };
        if matched <= others.get(&follower).copied().unwrap_or(0) {
            return;
        }
        others.insert(follower, matched);
        let having: Vec<ProcessId> =
            others.iter().filter(|(_, has)| **has >= matched).map(|(other, _)| *other).collect();
        let commits = own_term || self.has(Bug::CommitByCounting);
        if matched > self.commit && self.is_majority(having.len() + 1) && commits {
            self.commit = matched;
            for other in having {
                self.send_entries(other, matched, out);
            }
        }
    }

    /// The follower misses the entry before those that it was sent: it is sent one more.
    fn send_more(&mut self, follower: ProcessId, missing: Index, out: Out<'_, '_>) {
        if let (Stage::Leader(_), Some(before)) = (&self.stage, missing.checked_sub(1)) {
            self.send_entries(follower, before, out);
        }
    }
}

/// All nodes but the one whose step it is.
fn others(out: &Commands<'_, Msg, Timer>) -> Vec<ProcessId> {
    let me = out.me();
    out.members(NODES).iter().copied().filter(|node| *node != me).collect()
}

/// What properties see of a node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Seen {
    term: Term,
    leads: bool,
    log: Vec<Entry>,
    commit: Index,
}

/// The catalogue entry.
pub(crate) fn protocol() -> Protocol {
    Protocol::new("raft", "Raft: leaders are elected and replicate a log", system)
        .reference(
            "Ongaro and Ousterhout, In Search of an Understandable Consensus Algorithm, USENIX ATC 2014",
        )
        .number("nodes", 3, 2..=60, "how many nodes")
        .number("terms", 1, 1..=60, "how many terms there are")
        .number("commands", 1, 0..=60, "how long a log may grow: a leader takes commands until it is so long")
        .bug_with(
            &[("commands", "0")],
            "double-vote",
            "a node votes for everyone who asks in a term: elections show it, so there are no commands",
        )
        .bug_with(&[("terms", "2")], "vote-for-old-log", "a node votes without comparing logs")
        .bug_with(&[("commands", "2")], "no-previous-check", "a node appends entries to whatever it has")
        .bug_with(
            &[("terms", "2")],
            "keep-conflicting",
            "a node keeps entries of its own where the leader has others, and says that it has the leader's",
        )
        .bug_in(
            World::default().restarts(vec![(NODES.name().to_string(), 1)]),
            "forget-vote",
            "a node that restarts has forgotten its vote: each restarts once, as by --restart node=1",
        )
        .bug_with(
            &[("terms", "4")],
            "commit-by-counting",
            "a leader commits what a majority has, of whatever term: four terms, as by --terms 4",
        )
}

fn system(arguments: &Arguments) -> System<Msg> {
    let setting = Setting {
        nodes: arguments.number("nodes"),
        terms: arguments.number("terms"),
        commands: arguments.number("commands"),
        bug: arguments.bug().map(|bug| match bug {
            "double-vote" => Bug::DoubleVote,
            "vote-for-old-log" => Bug::VoteForOldLog,
            "keep-conflicting" => Bug::KeepConflicting,
            "no-previous-check" => Bug::NoPreviousCheck,
            "forget-vote" => Bug::ForgetVote,
            _ => Bug::CommitByCounting,
        }),
    };
    let leads =
        observe(|n: &Stepped<Raft>| n.inspect(|n| matches!(n.stage, Stage::Leader(_)).then_some(n.term)));
    let logs = observe(|n: &Stepped<Raft>| n.inspect(|n| n.log.clone()));
    let committed = observe(|n: &Stepped<Raft>| n.inspect(Raft::committed));
    let seen = observe(|n: &Stepped<Raft>| {
        n.inspect(|n| Seen {
            term: n.term,
            leads: matches!(n.stage, Stage::Leader(_)),
            log: n.log.clone(),
            commit: n.commit,
        })
    });
    System::new()
        .role(NODES, setting.nodes, |_| Stepped::new(Raft::new(setting)))
        .invariant("election safety", leads, |terms| {
            let terms: Vec<Term> = terms.iter().flatten().copied().collect();
            terms.iter().collect::<BTreeSet<_>>().len() == terms.len()
        })
        .invariant("log matching", logs, |logs| every_two(logs, |one, other| log_matching(one, other)))
        .invariant("leader completeness", seen, leaders_are_complete)
        .invariant("state machine safety", committed, |committed| {
            every_two(committed, |one, other| one.iter().zip(other).all(|(one, other)| one == other))
        })
        .symmetric(NODES)
        .renames::<Stepped<Raft>>()
}

impl Raft {
    fn committed(&self) -> Vec<Entry> {
        self.log.iter().take(self.commit).copied().collect()
    }
}

fn every_two<T>(all: &[T], holds: impl Fn(&T, &T) -> bool) -> bool {
    all.iter().enumerate().all(|(at, one)| all[..at].iter().all(|other| holds(one, other)))
}

fn log_matching(one: &[Entry], other: &[Entry]) -> bool {
    let same = one.iter().zip(other).take_while(|(one, other)| one == other).count();
    one[same..].iter().zip(&other[same..]).all(|(one, other)| one.term != other.term)
}

fn leaders_are_complete(seen: &[Seen]) -> bool {
    seen.iter().filter(|leader| leader.leads).all(|leader| {
        seen.iter().filter(|node| node.term < leader.term).all(|node| {
            let committed = node.log.iter().take(node.commit);
            committed.eq(leader.log.iter().take(node.commit))
        })
    })
}
