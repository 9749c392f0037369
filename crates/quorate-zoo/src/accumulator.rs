//! The distributed accumulator: a client sends numbers, servers add them up and write a checkpoint.
//!
//! From: Guo et al., Practical Software Model Checking via Dynamic Interface Reduction (DEMETER, SOSP
//! 2011), figure 1 and section 2.3. The client chooses one of several sequences of numbers (in the figure
//! 1, 2 or 1, 3) and sends it to the primary, which adds each number to its sum and forwards it to every
//! secondary. Each server's checkpoint thread writes the sum to disk once, at any time.
//! Differs: the critical sections are the steps (receive, sum and forward in one; checkpoint in another),
//! which is what the paper counts as interleavings. The paper's channels are in order and ours are bags, so
//! a number carries its position and a server takes the next one only: the two are then the same. With
//! more than two sequences or numbers, sequence *s* of *n* numbers is 1, 2, …, n-1, n+s.
//! Known: the figure has 2*3*3 = 18 maximal traces and one sequence of n numbers with m servers has
//! (n+1)^m, where DEMETER needs 14 and 1 + m(n+1). All that varies is the place of the checkpoint among the
//! sums of a server, so every maximal trace has a terminal state of its own. One sequence has
//! 2^m + sum over i = 0..n of (i+2) ((i+1)(i+4)/2)^(m-1) states: 17,043 for m = 4 and n = 3.
//! Secondaries are interchangeable.
//! Held by: tests/counts.rs.

use quorate::protocol::Arguments;
use quorate::{Outbox, Protocol, Received, Rename, Role, RoleName, System, Transitions, observe};

const CLIENT: RoleName = RoleName::new("client");
const PRIMARY: RoleName = RoleName::new("primary");
const SECONDARIES: RoleName = RoleName::new("secondary");

#[derive(Clone, PartialEq, Eq, Hash, Debug, Rename)]
struct Number {
    position: usize,
    value: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Bug {
    AnyOrder,
    ForwardSum,
    CheckpointStopsForwarding,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Rename)]
struct Client {
    sequences: Vec<Vec<usize>>,
    sent: Option<Vec<usize>>,
}

impl Role for Client {
    type Message = Number;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("send").when(|c| c.sent.is_none()).run(Self::send);
    }
}

impl Client {
    fn send(&mut self, out: &mut Outbox<Number>) {
        let sequence = out.choose(self.sequences.clone());
        for (position, &value) in sequence.iter().enumerate() {
            out.send_all(PRIMARY, Number { position, value });
        }
        self.sent = Some(sequence);
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Rename)]
struct Server {
    has_secondaries: bool,
    taken: usize,
    sum: usize,
    checkpoint: Option<usize>,
    #[rename(skip)]
    bug: Option<Bug>,
}

impl Role for Server {
    type Message = Number;

    fn transitions(&self, t: &mut Transitions<Self>) {
        let any_order = self.bug == Some(Bug::AnyOrder);
        t.message("sum").of(move |s, number| any_order || number.position == s.taken).run(Self::add);
        t.internal("checkpoint").when(|s| s.checkpoint.is_none()).run(Self::write_checkpoint);
    }
}

impl Server {
    fn add(&mut self, number: Received<'_, Number>, out: &mut Outbox<Number>) {
        let Number { position, value } = *number.body;
        self.taken += 1;
        self.sum += value;
        if self.has_secondaries && self.forwards() {
            let value = if self.bug == Some(Bug::ForwardSum) { self.sum } else { value };
            out.send_all(SECONDARIES, Number { position, value });
        }
    }

    fn forwards(&self) -> bool {
        self.checkpoint.is_none() || self.bug != Some(Bug::CheckpointStopsForwarding)
    }

    fn write_checkpoint(&mut self, _: &mut Outbox<Number>) {
        self.checkpoint = Some(self.sum);
    }
}

/// What the properties see of a process.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Seen {
    Sent(Vec<usize>),
    Sum(Option<usize>),
}

/// The numbers that the client has sent, and whether a condition over them holds for all sums seen.
fn all_sums(seen: &[Seen], holds: impl Fn(&[usize], usize) -> bool) -> bool {
    let sent = seen.iter().find_map(|seen| if let Seen::Sent(sent) = seen { Some(&sent[..]) } else { None });
    let sent = sent.unwrap_or_default();
    seen.iter().all(|seen| if let Seen::Sum(Some(sum)) = seen { holds(sent, *sum) } else { true })
}

fn is_prefix_sum(sent: &[usize], sum: usize) -> bool {
    (0..=sent.len()).any(|taken| sent[..taken].iter().sum::<usize>() == sum)
}

/// The catalogue entry.
pub(crate) fn protocol() -> Protocol {
    Protocol::new("accumulator", "servers add up a client's numbers and write checkpoints", system)
        .reference("Guo et al., Practical Software Model Checking via Dynamic Interface Reduction, SOSP 2011")
        .number("sequences", 2, 1..=60, "between how many sequences of numbers the client chooses")
        .number("servers", 2, 1..=60, "how many servers; the first is the primary")
        .number("numbers", 2, 1..=60, "how many numbers are in a sequence")
        .bug(
            "any-order",
            "a server adds numbers in the order in which they arrive, not in that of the client",
        )
        .bug("forward-sum", "the primary forwards its sum in the place of the number")
        .bug("checkpoint-stops-forwarding", "the primary forwards nothing after its checkpoint")
}

fn system(arguments: &Arguments) -> System<Number> {
    let (servers, numbers) = (arguments.number("servers"), arguments.number("numbers"));
    let bug = arguments.bug().map(|bug| match bug {
        "any-order" => Bug::AnyOrder,
        "forward-sum" => Bug::ForwardSum,
        _ => Bug::CheckpointStopsForwarding,
    });
    let sequence = |s| (1..numbers).chain([numbers + s]).collect();
    let sequences: Vec<Vec<usize>> = (0..arguments.number("sequences")).map(sequence).collect();
    let server = |has_secondaries| Server { has_secondaries, taken: 0, sum: 0, checkpoint: None, bug };
    let system = System::new().role(CLIENT, 1, |_| Client { sequences: sequences.clone(), sent: None }).role(
        PRIMARY,
        1,
        |_| server(servers > 1),
    );
    let system = if servers > 1 {
        system.role(SECONDARIES, servers - 1, |_| server(false)).symmetric(SECONDARIES)
    } else {
        system
    };
    let sent = || observe(|c: &Client| Seen::Sent(c.sent.clone().unwrap_or_default()));
    system
        .renames::<(Client, Server)>()
        .invariant(
            "checkpoints are sums of prefixes",
            sent().and(|s: &Server| Seen::Sum(s.checkpoint)),
            |seen| all_sums(seen, is_prefix_sum),
        )
        .at_end("sums agree", sent().and(|s: &Server| Seen::Sum(Some(s.sum))), |seen| {
            all_sums(seen, |sent, sum| sent.iter().sum::<usize>() == sum)
        })
}
