//! Runs of a system: as a schedule, which an engine finds, and as a trace, which people read.
//!
//! A trace refers to a consumed message by where it was sent, and to a forged one by its number, so it can be replayed
//! without reading the user's types back from text; the texts are there for people, and to notice a foreign file.
//! Messages that differ may print alike.

use super::{Choice, Envelope, Sending};
use crate::base::ProcessId;
use crate::world::StepKind;

/// One step, as an engine finds it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScheduledStep {
    /// Whose step.
    pub process: ProcessId,
    /// What kind of step.
    pub kind: StepKind,
    /// Which transition, by its position in the role, if it is one.
    pub transition: usize,
    /// The messages that it takes.
    pub consumed: Vec<Taken>,
    /// How it chooses.
    pub choices: Vec<usize>,
    /// If the process crashes: what it still sends.
    pub sent: Vec<Sending>,
}

/// A message that a step takes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Taken {
    /// The message.
    pub envelope: Envelope,
    /// How many equal messages, on their way to the same process, are before it.
    pub nth: usize,
    /// Is it forged, and so from no inbox?
    pub forged: bool,
}

/// The steps of a run, in order.
pub type Schedule = Vec<ScheduledStep>;

/// Where a message was sent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Origin {
    /// The step that sent it, from 0.
    pub step: usize,
    /// Its position among what that step sent, from 0.
    pub send: usize,
}

/// Where a consumed message comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// It was sent in the run.
    Sent(Origin),
    /// It is forged.
    Forged(Forged),
}

/// Which of the messages that can be forged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Forged {
    /// Its position in [`Model::forgeable`](super::Model::forgeable) of the receiver, from 0.
    pub number: usize,
    /// The hash of its content, by which it is found where other messages can be forged as well.
    pub content: u64,
}

impl Source {
    /// Where it was sent; nowhere if it is forged.
    pub fn origin(self) -> Option<Origin> {
        match self {
            Source::Sent(origin) => Some(origin),
            Source::Forged(_) => None,
        }
    }
}

/// A message that a step consumed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Consumed {
    /// Who sent it.
    pub from: ProcessId,
    /// What it says, as `Debug` prints it.
    pub message: String,
    /// Where it comes from.
    pub source: Source,
}

/// A message that a step sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sent {
    /// The receiver.
    pub to: ProcessId,
    /// What it says, as `Debug` prints it.
    pub message: String,
}

/// One step of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceStep {
    /// Who steps.
    pub process: ProcessId,
    /// What kind of step.
    pub kind: StepKind,
    /// The transition's name; the name of the kind if it is none.
    pub transition: String,
    /// What it consumed.
    pub consumed: Vec<Consumed>,
    /// What it chose.
    pub choices: Vec<Choice>,
    /// What it sent.
    pub sent: Vec<Sent>,
    /// If the process crashed: the positions, among all that it would have sent, of what it did not send.
    pub unsent: Vec<usize>,
    /// What it emitted, as `Debug` prints it.
    pub events: Vec<String>,
    /// The local state afterwards, as `Debug` prints it; unchanged if the step panicked.
    pub state: String,
    /// The panic in which the step ended.
    pub panic: Option<String>,
}

impl TraceStep {
    /// What the step is called: its transition, and which of several things it is if a choice says so, as in
    /// `on_timer Election`.
    pub fn title(&self) -> String {
        let named = self.choices.iter().filter(|choice| choice.names_step);
        named.fold(self.transition.clone(), |title, choice| format!("{title} {}", choice.text))
    }
}

/// A run, as text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trace {
    /// The names of the processes.
    pub processes: Vec<String>,
    /// Their initial states, as `Debug` prints them.
    pub initial: Vec<String>,
    /// What happened.
    pub steps: Vec<TraceStep>,
}
