//! The Byzantine generals with oral messages: a commander gives an order, lieutenants tell each other what
//! they heard, and traitors say anything.
//!
//! From: Lamport, Shostak and Pease, The Byzantine Generals Problem (TOPLAS 1982), algorithm OM(m), where m
//! is the number of traitors. Who relayed a report is its path; in round *r* a lieutenant tells each other
//! one, in one message, what it heard along the paths of *r* - 1 lieutenants, and after round m it decides
//! by majorities of majorities; without a majority the order is to retreat.
//! Differs: rounds are not timed; a lieutenant waits for the reports of all others. A traitor therefore
//! always says something: silence would be taken for *retreat*, which it may say. Traitors say nothing to
//! each other. The first step decides whether the commander is one of them and tells the lieutenants with
//! the order; as lieutenants are alike, the other traitors are the last ones. So one search covers a loyal
//! commander and a traitor.
//! Known: the properties hold if there are more than 3m generals, and only then.
//! Held by: `tests/pam_generals.rs`.

use std::collections::BTreeMap;

use quorate::protocol::Arguments;
use quorate::{Outbox, Protocol, Quorum, Received, Role, RoleName, System, Transitions, observe, quorums_of};

const COMMANDER: RoleName = RoleName::new("commander");
const LIEUTENANTS: RoleName = RoleName::new("lieutenant");

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Order {
    Attack,
    Retreat,
}

const ORDERS: [Order; 2] = [Order::Attack, Order::Retreat];

/// The lieutenants, by position, who relayed an order of the commander's.
type Path = Vec<usize>;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Msg {
    /// The commander's order. How many of the lieutenants are traitors is for these alone to see.
    Command { order: Order, traitors: usize },
    /// What the sender says that it heard along paths of the length of this round.
    Reports { round: usize, heard: BTreeMap<Path, Order> },
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Bug {
    OneRoundShort,
    AnyAttack,
}

/// What is the same for all generals.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Setting {
    lieutenants: usize,
    traitors: usize,
    /// How often lieutenants relay to the others what they heard.
    rounds: usize,
    bug: Option<Bug>,
}

impl Setting {
    /// The lieutenants who are neither on a path nor among the given ones.
    fn others(self, path: &[usize], not: &[usize]) -> Vec<usize> {
        (0..self.lieutenants).filter(|other| !path.contains(other) && !not.contains(other)).collect()
    }

    /// The paths of a length on which nobody appears twice, nor any of the given ones.
    fn paths(self, length: usize, not: &[usize]) -> Vec<Path> {
        let longer =
            |path: Path| self.others(&path, not).into_iter().map(move |other| extended(&path, other));
        (0..length).fold(vec![Path::new()], |paths, _| paths.into_iter().flat_map(longer).collect())
    }
}

fn extended(path: &[usize], by: usize) -> Path {
    path.iter().copied().chain([by]).collect()
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Commander {
    commanded: bool,
    /// What was ordered, of a loyal commander.
    order: Option<Order>,
    setting: Setting,
}

impl Role for Commander {
    type Message = Msg;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("command").when(|c| !c.commanded).run(Self::command);
    }
}

impl Commander {
    fn command(&mut self, out: &mut Outbox<Msg>) {
        self.commanded = true;
        let traitors = self.setting.traitors;
        let is_loyal = traitors == 0 || out.choose(["loyal", "a traitor"]) == "loyal";
        if is_loyal {
            let order = out.choose(ORDERS);
            self.order = Some(order);
            out.send_all(LIEUTENANTS, Msg::Command { order, traitors });
        } else {
            for lieutenant in out.members(LIEUTENANTS).to_vec() {
                let order = out.choose(ORDERS);
                out.send(lieutenant, Msg::Command { order, traitors: traitors - 1 });
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Stance {
    Waiting,
    /// Loyal, and waiting for the reports of this round.
    Loyal {
        round: usize,
    },
    /// How many lies this traitor has sent, in a fixed order; and the position of the first traitor.
    Traitor {
        lies: usize,
        first: usize,
    },
    Decided(Order),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Lieutenant {
    position: usize,
    stance: Stance,
    heard: BTreeMap<Path, Order>,
    setting: Setting,
}

impl Role for Lieutenant {
    type Message = Msg;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.message("hear_order").of(|_, m| matches!(m, Msg::Command { .. })).run(Self::hear_order);
        if self.setting.rounds > 0 {
            t.quorum("hear_reports", quorums_of(LIEUTENANTS, [self.others()]))
                .of(|l, m| {
                    matches!((m, l.stance), (Msg::Reports { round, .. }, Stance::Loyal { round: now }) if *round == now)
                })
                .run(Self::hear_reports);
            t.internal("lie").when(|l| l.next_lie().is_some()).run(Self::lie);
        }
    }
}

impl Lieutenant {
    fn others(&self) -> Vec<usize> {
        self.setting.others(&[], &[self.position])
    }

    fn hear_order(&mut self, command: Received<'_, Msg>, out: &mut Outbox<Msg>) {
        let Msg::Command { order, traitors } = *command else { return };
        let first = self.setting.lieutenants - traitors;
        if self.position >= first {
            self.stance = Stance::Traitor { lies: 0, first };
        } else {
            self.heard.insert(Path::new(), order);
            self.begin(1, out);
        }
    }

    fn hear_reports(&mut self, reports: Quorum<'_, Msg>, out: &mut Outbox<Msg>) {
        // The reports of a quorum come in the order of their senders, who are all the others.
        for (other, report) in self.others().into_iter().zip(reports) {
            let Msg::Reports { round, heard } = report.body else { continue };
            self.heard.extend(heard.iter().map(|(path, order)| (extended(path, other), *order)));
            self.stance = Stance::Loyal { round: round + 1 };
        }
        if let Stance::Loyal { round } = self.stance {
            self.begin(round, out);
        }
    }

    /// Begins a round: tells the others what was heard in the last one; or decides, if there are no more.
    fn begin(&mut self, round: usize, out: &mut Outbox<Msg>) {
        if round > self.setting.rounds {
            self.stance = Stance::Decided(self.conclude(&[]));
            self.heard.clear();
            return;
        }
        self.stance = Stance::Loyal { round };
        for other in self.others() {
            let paths = self.setting.paths(round - 1, &[self.position, other]);
            let heard = paths.into_iter().map(|path| (path.clone(), self.heard[&path])).collect();
            let other = out.members(LIEUTENANTS)[other];
            out.send(other, Msg::Reports { round, heard });
        }
    }

    /// What the last on a path, or the commander, is taken to have said.
    fn conclude(&self, path: &[usize]) -> Order {
        let direct = self.heard[path];
        if path.len() == self.setting.rounds {
            return direct;
        }
        let others = self.setting.others(path, &[self.position]).into_iter();
        let said = others.map(|other| self.conclude(&extended(path, other))).chain([direct]);
        let said: Vec<Order> = said.collect();
        let attacks = said.iter().filter(|order| **order == Order::Attack).count();
        let is_attack =
            if self.setting.bug == Some(Bug::AnyAttack) { attacks > 0 } else { 2 * attacks > said.len() };
        if is_attack { Order::Attack } else { Order::Retreat }
    }

    /// The round and the receiver of a traitor's next lie.
    fn next_lie(&self) -> Option<(usize, usize)> {
        match self.stance {
            Stance::Traitor { lies, first } if first > 0 && lies < first * self.setting.rounds => {
                Some((lies / first + 1, lies % first))
            }
            _ => None,
        }
    }

    fn lie(&mut self, out: &mut Outbox<Msg>) {
        let Some((round, receiver)) = self.next_lie() else { return };
        if let Stance::Traitor { lies, .. } = &mut self.stance {
            *lies += 1;
        }
        let paths = self.setting.paths(round - 1, &[self.position, receiver]);
        let heard = paths.into_iter().map(|path| (path, out.choose(ORDERS))).collect();
        let receiver = out.members(LIEUTENANTS)[receiver];
        out.send(receiver, Msg::Reports { round, heard });
    }

    fn decision(&self) -> Option<Order> {
        if let Stance::Decided(order) = self.stance { Some(order) } else { None }
    }
}

/// The catalogue entry.
pub(crate) fn protocol() -> Protocol {
    Protocol::new("byzantine-generals", "generals with oral messages agree in spite of traitors", system)
        .reference("Lamport, Shostak and Pease, The Byzantine Generals Problem, TOPLAS 1982: OM(m)")
        .number("generals", 4, 3..=16, "how many generals, the commander included")
        .number("traitors", 1, 0..=2, "how many of them are traitors, and the m of OM(m)")
        .bug("one-round-short", "the lieutenants leave out the last round of reports: OM(m-1)")
        .bug("any-attack", "a lieutenant attacks if any report says so, majority or not")
}

fn system(arguments: &Arguments) -> System<Msg> {
    let bug = arguments.bug().map(|bug| match bug {
        "one-round-short" => Bug::OneRoundShort,
        _ => Bug::AnyAttack,
    });
    let lieutenants = arguments.number("generals") - 1;
    let traitors = arguments.number("traitors").min(lieutenants);
    // Nobody is on a path twice, so there is nothing more to relay after so many rounds.
    let rounds = traitors.min(lieutenants - 1);
    let rounds = if bug == Some(Bug::OneRoundShort) { rounds.saturating_sub(1) } else { rounds };
    let setting = Setting { lieutenants, traitors, rounds, bug };
    let decisions = || observe(Lieutenant::decision);
    System::new()
        .role(COMMANDER, 1, |_| Commander { commanded: false, order: None, setting })
        .role(LIEUTENANTS, lieutenants, |position| Lieutenant {
            position,
            stance: Stance::Waiting,
            heard: BTreeMap::new(),
            setting,
        })
        .invariant("IC1: loyal lieutenants agree", decisions(), |decisions| {
            ORDERS.iter().any(|order| decisions.iter().flatten().all(|decision| decision == order))
        })
        .invariant("IC2: a loyal commander is obeyed", decisions().and(|c: &Commander| c.order), |seen| {
            let (order, decisions) = (seen[0], &seen[1..]);
            order.is_none_or(|order| decisions.iter().flatten().all(|decision| *decision == order))
        })
        .at_end(
            "loyal lieutenants decide",
            observe(|l: &Lieutenant| matches!(l.stance, Stance::Decided(_) | Stance::Traitor { .. })),
            |settled| settled.iter().all(|settled| *settled),
        )
}
