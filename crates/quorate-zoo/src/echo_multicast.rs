//! Echo multicast: Byzantine-tolerant multicast in which no two honest receivers deliver different messages.
//!
//! From: Reiter, Secure Agreement Protocols (CCS 1994); settings, attacks and quorum transitions from Bokor
//! et al., MP-Basset (DSN 2011), section V-A. An initiator sends INIT to all receivers; a receiver echoes the
//! first INIT of each initiator; with ⌈(2n+1)/3⌉ echoes of n receivers the initiator sends COMMIT, on which
//! receivers deliver. Byzantine processes follow a script: an initiator multicasts two messages, each to a
//! half of the honest receivers (`--attack both`: to all of them), and commits whatever gets a quorum; a
//! receiver signs both messages of such an initiator and answers an honest one with an invalid echo.
//! Differs: signatures are not modelled. Echoes are counted where they arrive, at the initiator, which can
//! stand for the receivers' check since no script commits without a quorum.
//! Known: as rumur counts states and transitions, quorum transitions: (honest receivers, honest initiators,
//! Byzantine receivers, Byzantine initiators) = (3,0,1,1) 33 and 67; (2,1,0,1) 45 and 95; (3,1,1,1) 1,089 and
//! 4,422; single messages: 178 and 527, 130 and 339, 12,282 and 66,089. With `--attack both`, (3,0,1,1): 1,467
//! and 4,942, single messages 6,293 and 28,071. The papers' "wrong agreement" is a setting in which too many
//! receivers are Byzantine: (2,1,2,1) violates agreement in 9 steps, in 13 with single messages.
//! Held by: `tests/storage_echo.rs`.

use std::collections::{BTreeMap, BTreeSet};

use quorate::protocol::Arguments;
use quorate::{Outbox, ProcessId, Protocol, Received, Role, RoleName, System, Transitions, observe, some_of};

const INITIATORS: RoleName = RoleName::new("initiator");
const RECEIVERS: RoleName = RoleName::new("receiver");

/// What is multicast. Honest initiators multicast A.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Payload {
    A,
    B,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Msg {
    Init(Payload),
    /// From a Byzantine initiator to a Byzantine receiver.
    SignBoth,
    Echo(Payload),
    InvalidEcho,
    Commit(Payload),
}

/// What a Byzantine initiator sends to honest receivers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Attack {
    /// A to the first half of them, rounded up, and B to the others.
    Split,
    /// Both to each of them.
    Both,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Bug {
    DeliverAtOnce,
    FewEchoes,
    EchoEveryInit,
}

/// How the protocol is modelled, and what is wrong with it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Variant {
    single: bool,
    /// The receivers that come first are honest.
    honest_receivers: usize,
    attack: Attack,
    /// How many echoes let an initiator commit.
    echoes: usize,
    bug: Option<Bug>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Initiator {
    byzantine: bool,
    started: bool,
    /// With single messages: how many echoes have come since the last quorum of them.
    echoes: BTreeMap<Payload, usize>,
    variant: Variant,
}

impl Role for Initiator {
    type Message = Msg;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("start").when(|i| !i.started).run(Self::start);
        if self.variant.single {
            t.message("echo").of(|_, m| echoed(m)).run(Self::count_echo);
        } else {
            t.quorum("echo", some_of(self.variant.echoes, RECEIVERS))
                .of(|_, m| echoed(m))
                .run(|_, echoes, out| commit(&echoes.first(), out));
        }
    }
}

fn echoed(message: &Msg) -> Option<Payload> {
    if let Msg::Echo(payload) = message { Some(*payload) } else { None }
}

/// Commits what a quorum echoes, this echo among them.
fn commit(echo: &Msg, out: &mut Outbox<Msg>) {
    if let Some(payload) = echoed(echo) {
        out.send_all(RECEIVERS, Msg::Commit(payload));
    }
}

impl Initiator {
    fn start(&mut self, out: &mut Outbox<Msg>) {
        self.started = true;
        if self.byzantine {
            self.attack(out);
        } else {
            out.send_all(RECEIVERS, Msg::Init(Payload::A));
        }
    }

    fn attack(&self, out: &mut Outbox<Msg>) {
        let receivers = out.members(RECEIVERS).to_vec();
        let (honest, byzantine) = receivers.split_at(self.variant.honest_receivers);
        let (first_half, second_half) = honest.split_at(honest.len().div_ceil(2));
        let (to_a, to_b) = match self.variant.attack {
            Attack::Split => (first_half, second_half),
            Attack::Both => (honest, honest),
        };
        for &to in to_a {
            out.send(to, Msg::Init(Payload::A));
        }
        for &to in to_b {
            out.send(to, Msg::Init(Payload::B));
        }
        for &to in byzantine {
            out.send(to, Msg::SignBoth);
        }
    }

    fn count_echo(&mut self, echo: Received<'_, Msg>, out: &mut Outbox<Msg>) {
        let Some(payload) = echoed(&echo) else { return };
        let count = self.echoes.remove(&payload).unwrap_or(0) + 1;
        if count == self.variant.echoes {
            commit(&echo, out);
        } else {
            self.echoes.insert(payload, count);
        }
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Receiver {
    byzantine: bool,
    /// The initiators one of whose messages has been echoed.
    echoed: BTreeSet<ProcessId>,
    /// By initiator.
    delivered: BTreeMap<ProcessId, Payload>,
    variant: Variant,
}

impl Role for Receiver {
    type Message = Msg;

    fn transitions(&self, t: &mut Transitions<Self>) {
        if self.byzantine {
            t.message("sign").of(|_, m| matches!(m, Msg::Init(_) | Msg::SignBoth)).run(sign);
        } else {
            t.message("init").of(|_, m| matches!(m, Msg::Init(_))).run(Self::echo);
            t.message("commit").of(|_, m| matches!(m, Msg::Commit(_))).run(Self::commit);
        }
    }
}

impl Receiver {
    fn echo(&mut self, init: Received<'_, Msg>, out: &mut Outbox<Msg>) {
        let Msg::Init(payload) = *init else { return };
        let is_first = self.echoed.insert(init.from);
        if is_first || self.variant.bug == Some(Bug::EchoEveryInit) {
            out.send(init.from, Msg::Echo(payload));
        }
        if self.variant.bug == Some(Bug::DeliverAtOnce) {
            self.deliver(init.from, payload);
        }
    }

    fn commit(&mut self, commit: Received<'_, Msg>, _: &mut Outbox<Msg>) {
        if let Msg::Commit(payload) = *commit {
            self.deliver(commit.from, payload);
        }
    }

    fn deliver(&mut self, from: ProcessId, payload: Payload) {
        self.delivered.entry(from).or_insert(payload);
    }
}

/// What a Byzantine receiver does.
fn sign(_: &mut Receiver, plea: Received<'_, Msg>, out: &mut Outbox<Msg>) {
    if *plea == Msg::SignBoth {
        out.send(plea.from, Msg::Echo(Payload::A));
        out.send(plea.from, Msg::Echo(Payload::B));
    } else {
        out.send(plea.from, Msg::InvalidEcho);
    }
}

/// The catalogue entry.
pub(crate) fn protocol() -> Protocol {
    Protocol::new(
        "echo-multicast",
        "echo multicast: honest receivers deliver the same message, though others are Byzantine",
        system,
    )
    .reference("Reiter, Secure Agreement Protocols, 1994; attacks as in MP-Basset, DSN 2011")
    .number("honest-receivers", 3, 1..=60, "how many honest receivers")
    .number("honest-initiators", 0, 0..=60, "how many honest initiators")
    .number(
        "byzantine-receivers",
        1,
        0..=60,
        "how many Byzantine receivers; agreement needs fewer than a third of all",
    )
    .number("byzantine-initiators", 1, 0..=60, "how many Byzantine initiators")
    .choice(
        "transitions",
        ["quorum", "single"],
        "consume a quorum of echoes in one step, or count message by message",
    )
    .choice(
        "attack",
        ["split", "both"],
        "does a Byzantine initiator send a message to each half of the honest receivers, or both to all",
    )
    .bug("deliver-at-once", "a receiver delivers the message that it echoes, without waiting for COMMIT")
    .bug("few-echoes", "f + 1 of n > 3f receivers are a quorum, as if one honest echo were enough")
    .bug("echo-every-init", "a receiver echoes every INIT, not only the first; implies --attack both")
}

fn system(arguments: &Arguments) -> System<Msg> {
    let bug = arguments.bug().map(|bug| match bug {
        "deliver-at-once" => Bug::DeliverAtOnce,
        "few-echoes" => Bug::FewEchoes,
        _ => Bug::EchoEveryInit,
    });
    let honest_receivers = arguments.number("honest-receivers");
    let honest_initiators = arguments.number("honest-initiators");
    let receivers = honest_receivers + arguments.number("byzantine-receivers");
    let initiators = honest_initiators + arguments.number("byzantine-initiators");
    let attacks_with_both = arguments.choice("attack") == "both" || bug == Some(Bug::EchoEveryInit);
    let variant = Variant {
        single: arguments.choice("transitions") == "single",
        honest_receivers,
        attack: if attacks_with_both { Attack::Both } else { Attack::Split },
        echoes: if bug == Some(Bug::FewEchoes) {
            (receivers - 1) / 3 + 1
        } else {
            (2 * receivers + 1).div_ceil(3)
        },
        bug,
    };
    System::new()
        .role(INITIATORS, initiators, |index| Initiator {
            byzantine: index >= honest_initiators,
            started: false,
            echoes: BTreeMap::new(),
            variant,
        })
        .role(RECEIVERS, receivers, |index| Receiver {
            byzantine: index >= honest_receivers,
            echoed: BTreeSet::new(),
            delivered: BTreeMap::new(),
            variant,
        })
        // Byzantine receivers deliver nothing, so that this speaks of honest ones only.
        .invariant("agreement", observe(|r: &Receiver| r.delivered.clone()), |delivered| {
            let mut by_initiator = BTreeMap::new();
            delivered
                .iter()
                .flatten()
                .all(|(initiator, payload)| by_initiator.entry(*initiator).or_insert(*payload) == payload)
        })
}
