//! The dining philosophers, who ask their forks politely: each eats once.
//!
//! From: Dijkstra, Hierarchical Ordering of Sequential Processes (1971); as processes that send messages
//! in the manner of Chandy and Misra, The Drinking Philosophers Problem (1984). Philosopher *i* has fork
//! *i* on the left and fork *i* + 1 on the right; a fork that is taken leaves further requests in its inbox.
//! Differs: the last philosopher takes the right fork first, so forks are always taken in rising order and
//! there is no deadlock; forks stay in their place and do not become dirty.
//! Known: 2, 3 and 4 philosophers have 55, 439 and 3,427 states, of which one is terminal; if all take the
//! left fork first, n philosophers can be stuck after 3n steps.
//! Nobody is interchangeable: who sits beside whom matters, and turning the table would seat the last elsewhere.
//! Held by: tests/counts.rs.

use quorate::protocol::Arguments;
use quorate::{Outbox, ProcessId, Protocol, Received, Role, RoleName, System, Transitions, observe};

const PHILOSOPHERS: RoleName = RoleName::new("philosopher");
const FORKS: RoleName = RoleName::new("fork");

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Msg {
    Take,
    Taken,
    PutBack,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Phase {
    Thinking,
    WaitingForFirst,
    WaitingForSecond,
    Eating,
    Full,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Philosopher {
    phase: Phase,
    /// The positions of the forks, in the order in which they are taken.
    forks: [usize; 2],
}

impl Role for Philosopher {
    type Message = Msg;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("sit_down").when(|p| p.phase == Phase::Thinking).run(Self::sit_down);
        t.message("taken").of(|_, m| *m == Msg::Taken).run(Self::taken);
        t.internal("rise").when(|p| p.phase == Phase::Eating).run(Self::rise);
    }
}

impl Philosopher {
    fn ask(&self, fork: usize, what: Msg, out: &mut Outbox<Msg>) {
        let fork = out.members(FORKS)[self.forks[fork]];
        out.send(fork, what);
    }

    fn sit_down(&mut self, out: &mut Outbox<Msg>) {
        self.phase = Phase::WaitingForFirst;
        self.ask(0, Msg::Take, out);
    }

    fn taken(&mut self, _: Received<'_, Msg>, out: &mut Outbox<Msg>) {
        if self.phase == Phase::WaitingForFirst {
            self.phase = Phase::WaitingForSecond;
            self.ask(1, Msg::Take, out);
        } else {
            self.phase = Phase::Eating;
        }
    }

    fn rise(&mut self, out: &mut Outbox<Msg>) {
        self.phase = Phase::Full;
        self.ask(0, Msg::PutBack, out);
        self.ask(1, Msg::PutBack, out);
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Fork {
    taken_by: Option<ProcessId>,
    /// With a planted bug: lets itself be taken from somebody's hand.
    forgetful: bool,
}

impl Role for Fork {
    type Message = Msg;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.message("take").of(|f, m| *m == Msg::Take && (f.taken_by.is_none() || f.forgetful)).run(
            |fork, take, out| {
                fork.taken_by = Some(take.from);
                out.send(take.from, Msg::Taken);
            },
        );
        t.message("put_back").of(|_, m| *m == Msg::PutBack).run(|fork, _, _| fork.taken_by = None);
    }
}

/// The catalogue entry.
pub(crate) fn protocol() -> Protocol {
    Protocol::new("dining-philosophers", "dining philosophers: all eat, never two neighbours at once", system)
        .reference("Dijkstra, Hierarchical Ordering of Sequential Processes, 1971")
        .number("philosophers", 3, 2..=30, "how many philosophers, and as many forks")
        .bug("all-left-first", "everybody takes the left fork first: all can hold one and wait for ever")
        .bug("forgetful-fork", "a fork lets itself be taken while somebody has it")
}

fn system(arguments: &Arguments) -> System<Msg> {
    let count = arguments.number("philosophers");
    let all_left_first = arguments.bug() == Some("all-left-first");
    let forgetful = arguments.bug() == Some("forgetful-fork");
    System::new()
        .role(PHILOSOPHERS, count, |position| {
            let (left, right) = (position, (position + 1) % count);
            let left_first = all_left_first || position + 1 < count;
            let forks = if left_first { [left, right] } else { [right, left] };
            Philosopher { phase: Phase::Thinking, forks }
        })
        .role(FORKS, count, |_| Fork { taken_by: None, forgetful })
        .invariant("no two neighbours eat", observe(|p: &Philosopher| p.phase == Phase::Eating), |eating| {
            (0..eating.len()).all(|p| !(eating[p] && eating[(p + 1) % eating.len()]))
        })
        .at_end("everybody has eaten", observe(|p: &Philosopher| p.phase == Phase::Full), |full| {
            full.iter().all(|full| *full)
        })
}
