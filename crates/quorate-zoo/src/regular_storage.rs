//! Regular storage: one writer, some readers, and base objects of which a majority must answer.
//!
//! From: Attiya, Bar-Noy, Dolev, Sharing Memory Robustly in Message-Passing Systems (1995), without the
//! write-back of reads, as in Bokor et al., MP-Basset (DSN 2011), section V. A write sends its timestamp to all
//! objects and is complete when a majority has acknowledged it; a read asks all objects and returns the highest
//! timestamp that a majority replies with. Timestamps stand for the values that are written with them; the
//! register starts with timestamp 0.
//! Differs: nobody crashes explicitly. A crashed object is one that takes no step any more.
//! Known: as rumur counts states and transitions, the monitor's memory included, quorum transitions: 3 objects
//! and 1 reader 460 and 1,368; 2 writes 7,174 and 27,114; 2 readers 16,084 and 73,610; single messages: 1,982 and
//! 7,709; 45,989 and 224,577; 165,850 and 968,639. The papers' "wrong regularity" is violated in 8 steps, in 10
//! with single messages. Without the write-back the register is not atomic: two reads show it in 10 steps.
//! `--property monotonic-reads` is about the state of one reader, without a monitor: readers remember what they
//! returned, which makes 17,992 states of 2 readers, of which stubborn sets leave 1,168.
//! It holds for one read and is violated by two that overlap a write, as regular registers may.
//! Held by: `tests/storage_echo.rs`, tests/reductions.rs.

use quorate::property::{AtomicRegister, RegisterEvent, RegularRegister};
use quorate::protocol::Arguments;
use quorate::{
    Monitor, Outbox, ProcessId, Protocol, Quorum, Received, Role, RoleName, System, Transitions, observe,
    some_of,
};

const WRITER: RoleName = RoleName::new("writer");
const OBJECTS: RoleName = RoleName::new("object");
const READERS: RoleName = RoleName::new("reader");

type Timestamp = usize;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Msg {
    Write { timestamp: Timestamp },
    WriteAck { timestamp: Timestamp },
    Read { number: usize },
    ReadReply { number: usize, timestamp: Timestamp },
}

/// What the history of the register is made of.
type Operation = RegisterEvent<Timestamp>;

/// The papers' deliberately wrong regularity: a read returns no write older than the last that was complete
/// when the read *ended*, even if the two were concurrent.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct WrongRegularity {
    begun: Timestamp,
    complete: Timestamp,
    broken: bool,
}

impl Monitor for WrongRegularity {
    type Event = Operation;

    fn hear(&mut self, _: ProcessId, operation: &Operation) {
        match *operation {
            Operation::WriteBegins(timestamp) => self.begun = timestamp,
            Operation::WriteEnds => self.complete = self.begun,
            Operation::ReadReturns(timestamp) => self.broken = timestamp < self.complete,
            Operation::ReadBegins | Operation::Abandons => {}
        }
    }

    fn holds(&self) -> bool {
        !self.broken
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Bug {
    OneAck,
    OneReply,
    FirstReply,
    Overwrite,
}

/// How the protocol is modelled, and what is wrong with it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Variant {
    single: bool,
    writes: usize,
    reads: usize,
    /// How many objects must acknowledge a write.
    acks: usize,
    /// How many objects must reply to a read.
    replies: usize,
    /// Does a reader remember what it has returned?
    remembers: bool,
    bug: Option<Bug>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Writer {
    /// Of the last write that began.
    timestamp: Timestamp,
    writing: bool,
    /// With single messages: how many objects have acknowledged this write.
    acks: usize,
    variant: Variant,
}

impl Role for Writer {
    type Message = Msg;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("begin_write")
            .when(|w| !w.writing && w.timestamp < w.variant.writes)
            .run(Self::begin_write);
        if self.variant.single {
            t.message("write_ack").run(Self::count_ack);
        } else {
            t.quorum("end_write", some_of(self.variant.acks, OBJECTS))
                .of(Self::waits_for)
                .run(|w, _, out| w.end_write(out));
        }
    }
}

impl Writer {
    fn waits_for(&self, ack: &Msg) -> bool {
        self.writing && *ack == Msg::WriteAck { timestamp: self.timestamp }
    }

    fn begin_write(&mut self, out: &mut Outbox<Msg>) {
        self.timestamp += 1;
        self.writing = true;
        out.emit(Operation::WriteBegins(self.timestamp));
        out.send_all(OBJECTS, Msg::Write { timestamp: self.timestamp });
    }

    fn count_ack(&mut self, ack: Received<'_, Msg>, out: &mut Outbox<Msg>) {
        if self.waits_for(&ack) {
            self.acks += 1;
            if self.acks == self.variant.acks {
                self.end_write(out);
            }
        }
    }

    fn end_write(&mut self, out: &mut Outbox<Msg>) {
        out.emit(Operation::WriteEnds);
        self.writing = false;
        self.acks = 0;
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Object {
    timestamp: Timestamp,
    variant: Variant,
}

impl Role for Object {
    type Message = Msg;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.message("write").of(|_, m| matches!(m, Msg::Write { .. })).run(Self::write);
        t.message("read").of(|_, m| matches!(m, Msg::Read { .. })).run(Self::read);
    }
}

impl Object {
    fn write(&mut self, write: Received<'_, Msg>, out: &mut Outbox<Msg>) {
        let Msg::Write { timestamp } = *write else { return };
        if timestamp > self.timestamp || self.variant.bug == Some(Bug::Overwrite) {
            self.timestamp = timestamp;
        }
        out.send(write.from, Msg::WriteAck { timestamp });
    }

    fn read(&mut self, read: Received<'_, Msg>, out: &mut Outbox<Msg>) {
        let Msg::Read { number } = *read else { return };
        out.send(read.from, Msg::ReadReply { number, timestamp: self.timestamp });
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Reader {
    /// How many reads have begun: replies carry the number of their read.
    begun: usize,
    reading: bool,
    /// With single messages: how many objects have replied to this read, and what it would return.
    replies: usize,
    found: Timestamp,
    /// If it remembers: what its last read returned, and whether a read ever returned less than one before it.
    returned: Option<Timestamp>,
    went_back: bool,
    variant: Variant,
}

impl Role for Reader {
    type Message = Msg;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("begin_read").when(|r| !r.reading && r.begun < r.variant.reads).run(Self::begin_read);
        if self.variant.single {
            t.message("read_reply").run(Self::count_reply);
        } else {
            t.quorum("end_read", some_of(self.variant.replies, OBJECTS))
                .of(Self::waits_for)
                .run(Self::read_replies);
        }
    }
}

impl Reader {
    fn waits_for(&self, reply: &Msg) -> bool {
        self.reading && matches!(reply, Msg::ReadReply { number, .. } if *number == self.begun)
    }

    fn begin_read(&mut self, out: &mut Outbox<Msg>) {
        self.begun += 1;
        self.reading = true;
        out.emit(Operation::ReadBegins);
        out.send_all(OBJECTS, Msg::Read { number: self.begun });
    }

    fn read_replies(&mut self, replies: Quorum<'_, Msg>, out: &mut Outbox<Msg>) {
        for reply in replies {
            self.note(reply);
        }
        self.end_read(out);
    }

    fn count_reply(&mut self, reply: Received<'_, Msg>, out: &mut Outbox<Msg>) {
        if self.waits_for(&reply) {
            self.note(reply);
            if self.replies == self.variant.replies {
                self.end_read(out);
            }
        }
    }

    fn note(&mut self, reply: Received<'_, Msg>) {
        let Msg::ReadReply { timestamp, .. } = *reply else { return };
        if self.replies == 0 || self.variant.bug != Some(Bug::FirstReply) {
            self.found = self.found.max(timestamp);
        }
        self.replies += 1;
    }

    fn end_read(&mut self, out: &mut Outbox<Msg>) {
        out.emit(Operation::ReadReturns(self.found));
        if self.variant.remembers {
            self.went_back |= self.returned > Some(self.found);
            self.returned = Some(self.found);
        }
        self.reading = false;
        self.replies = 0;
        self.found = 0;
    }
}

/// The catalogue entry.
pub(crate) fn protocol() -> Protocol {
    Protocol::new(
        "regular-storage",
        "regular storage: a read returns the last complete write, or one that overlaps it",
        system,
    )
    .reference("Attiya, Bar-Noy, Dolev, Sharing Memory Robustly in Message-Passing Systems, 1995")
    .number("objects", 3, 1..=60, "how many base objects")
    .number("readers", 1, 1..=60, "how many readers")
    .number("writes", 1, 1..=60, "how many times the writer writes")
    .number("reads", 1, 1..=60, "how many times each reader reads")
    .choice(
        "transitions",
        ["quorum", "single"],
        "consume a majority in one step, or count message by message",
    )
    .choice(
        "property",
        ["regularity", "wrong-regularity", "atomicity", "monotonic-reads"],
        "regular; regular even if write and read are concurrent (violated); atomic (violated by two reads); the \
         first reader never returns less than before (violated if it reads twice)",
    )
    .bug("one-ack", "a write is complete when one object has acknowledged it")
    .bug("one-reply", "a read returns what the first object replies")
    .bug("first-reply", "a read returns the first timestamp in a majority of replies, not the highest")
    .bug("overwrite", "an object takes every Write, however old; implies two writes or more")
}

fn system(arguments: &Arguments) -> System<Msg> {
    let bug = arguments.bug().map(|bug| match bug {
        "one-ack" => Bug::OneAck,
        "one-reply" => Bug::OneReply,
        "first-reply" => Bug::FirstReply,
        _ => Bug::Overwrite,
    });
    let objects = arguments.number("objects");
    let needed = |bug_of_one| if bug == Some(bug_of_one) { 1 } else { objects / 2 + 1 };
    let writes = arguments.number("writes");
    let variant = Variant {
        single: arguments.choice("transitions") == "single",
        writes: if bug == Some(Bug::Overwrite) { writes.max(2) } else { writes },
        reads: arguments.number("reads"),
        acks: needed(Bug::OneAck),
        replies: needed(Bug::OneReply),
        remembers: arguments.choice("property") == "monotonic-reads",
        bug,
    };
    let system = System::new()
        .role(WRITER, 1, |_| Writer { timestamp: 0, writing: false, acks: 0, variant })
        .role(OBJECTS, objects, |_| Object { timestamp: 0, variant })
        .role(READERS, arguments.number("readers"), |_| Reader {
            begun: 0,
            reading: false,
            replies: 0,
            found: 0,
            returned: None,
            went_back: false,
            variant,
        });
    let property = arguments.choice("property");
    match property {
        "regularity" => system.monitor(property, RegularRegister::<Timestamp>::new(0)),
        "wrong-regularity" => system.monitor(property, WrongRegularity::default()),
        "monotonic-reads" => {
            system.invariant(property, observe(|r: &Reader| r.went_back), |went_back| !went_back[0])
        }
        _ => system.monitor(property, AtomicRegister::<Timestamp>::new(0)),
    }
}
