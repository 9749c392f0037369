//! Re-runs a schedule or a trace on the user's handlers, directly: no interning, no memory of earlier
//! answers, no code of the kernel or the engines. What it accepts has really happened.
//!
//! Invariant: every step taken was enabled by the definition in [`Model::accepts`], and every message
//! consumed was in the inbox.
//! Held by: every `Violated` of every test passes through here; mutated traces are refused
//! (tests/replay.rs).

use std::fmt;

use super::trace::{Consumed, Origin, Schedule, ScheduledStep, Sent, Trace, TraceStep};
use crate::property::Moment;
use crate::protocol::{Envelope, MISFIT, Model, Panicked, ProcessId, QuorumSystem, Trigger, Value};

/// What is wrong in the last state of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Broken {
    /// A property does not hold for these observations.
    Property {
        /// Its name.
        name: String,
        /// What it saw, process by process, as `Debug` prints it.
        observed: Vec<(ProcessId, String)>,
    },
    /// The last step panicked.
    Panic {
        /// Whose step.
        process: ProcessId,
        /// Which transition.
        transition: String,
        /// The message.
        message: String,
    },
}

impl Broken {
    /// The name of the property; `no panic` for a panic.
    pub fn property(&self) -> &str {
        match self {
            Broken::Property { name, .. } => name,
            Broken::Panic { .. } => "no panic",
        }
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Broken::Property { name, .. } => write!(f, "{name}"),
            Broken::Panic { transition, message, .. } => {
                write!(f, "no panic ('{transition}' panicked: {message})")
            }
        }
    }
}

/// A message in an inbox, with where it was sent.
#[derive(Clone, Debug)]
struct Letter {
    origin: Origin,
    envelope: Envelope,
}

/// A run in progress: the local states and inboxes of the system, one step after the other.
pub struct Replay<'m> {
    model: &'m Model,
    locals: Vec<Value>,
    inboxes: Vec<Vec<Letter>>,
    trace: Trace,
}

/// Why a run cannot have happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReplayError {
    /// The step, from 0.
    pub step: usize,
    /// What is wrong with it.
    pub reason: String,
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {}: {}", self.step + 1, self.reason)
    }
}

impl std::error::Error for ReplayError {}

impl<'m> Replay<'m> {
    /// A run that has not begun.
    pub fn new(model: &'m Model) -> Self {
        let locals: Vec<Value> = model.processes().iter().map(|process| process.initial().clone()).collect();
        let trace = Trace {
            processes: model.processes().iter().map(|process| process.name().to_string()).collect(),
            initial: locals.iter().map(|local| format!("{local:?}")).collect(),
            steps: Vec::new(),
        };
        Replay { model, inboxes: vec![Vec::new(); locals.len()], locals, trace }
    }

    /// The local states now.
    pub fn locals(&self) -> &[Value] {
        &self.locals
    }

    /// The run so far.
    pub fn into_trace(self) -> Trace {
        self.trace
    }

    fn refuse<T>(&self, reason: impl Into<String>) -> Result<T, ReplayError> {
        Err(ReplayError { step: self.trace.steps.len(), reason: reason.into() })
    }

    /// Takes a step that consumes messages with these contents.
    pub fn step(&mut self, step: &ScheduledStep) -> Result<(), ReplayError> {
        let mut positions: Vec<usize> = Vec::new();
        for wanted in &step.consumed {
            let inbox = &self.inboxes[step.process.index()];
            let free = |at: &usize| !positions.contains(at) && inbox[*at].envelope == *wanted;
            match (0..inbox.len()).find(free) {
                Some(position) => positions.push(position),
                None => return self.refuse(format!("{:?} is not in the inbox", wanted.body)),
            }
        }
        self.take(step.process, step.transition, &positions, &step.choices)
    }

    /// Takes the step that a trace describes, and compares what happens with what it says.
    pub fn follow(&mut self, step: &TraceStep) -> Result<(), ReplayError> {
        let Some(process) = self.model.processes().get(step.process.index()) else {
            return self.refuse(format!("there is no process {:?}", step.process));
        };
        let transitions = process.transitions();
        let Some(transition) = transitions.iter().position(|known| known.name() == step.transition) else {
            return self.refuse(format!("{} has no transition '{}'", process.name(), step.transition));
        };
        let mut positions = Vec::new();
        for consumed in &step.consumed {
            let inbox = &self.inboxes[step.process.index()];
            match inbox.iter().position(|letter| letter.origin == consumed.origin) {
                Some(position) if !positions.contains(&position) => positions.push(position),
                _ => return self.refuse(format!("{} is not in the inbox", consumed.message)),
            }
        }
        let choices: Vec<usize> = step.choices.iter().map(|choice| choice.index).collect();
        let at = self.trace.steps.len();
        self.take(step.process, transition, &positions, &choices)?;
        if self.trace.steps[at] != *step {
            let (happened, said) = (&self.trace.steps[at], step);
            return Err(ReplayError {
                step: at,
                reason: format!("what happens differs from the file: {happened:?}, not {said:?}"),
            });
        }
        Ok(())
    }

    fn take(
        &mut self,
        process: ProcessId,
        transition: usize,
        positions: &[usize],
        choices: &[usize],
    ) -> Result<(), ReplayError> {
        if self.trace.steps.last().is_some_and(|last| last.panic.is_some()) {
            return self.refuse("the run has already ended in a panic");
        }
        let letters: Vec<Letter> =
            positions.iter().map(|&position| self.inboxes[process.index()][position].clone()).collect();
        let consumed: Vec<&Envelope> = letters.iter().map(|letter| &letter.envelope).collect();
        let local = &self.locals[process.index()];
        let outcome = match self.model.accepts(process, transition, local, &consumed) {
            Ok(true) => self.model.run_with(process, transition, local, &consumed, choices),
            Ok(false) => {
                let name = self.model.process(process).transitions()[transition].name();
                return self.refuse(format!("'{name}' is not enabled"));
            }
            Err(panicked) => Err(panicked),
        };
        let at = self.trace.steps.len();
        let mut step = TraceStep {
            process,
            transition: self.model.process(process).transitions()[transition].name().to_string(),
            consumed: letters
                .iter()
                .map(|letter| Consumed {
                    from: letter.envelope.from,
                    message: format!("{:?}", letter.envelope.body),
                    origin: letter.origin,
                })
                .collect(),
            choices: Vec::new(),
            sent: Vec::new(),
            events: Vec::new(),
            state: String::new(),
            panic: None,
        };
        match outcome {
            Ok(outcome) => {
                if outcome.choices.len() != choices.len() {
                    let (made, told) = (outcome.choices.len(), choices.len());
                    return self.refuse(format!("the handler made {made} choices, not {told}"));
                }
                let mut position = 0;
                self.inboxes[process.index()].retain(|_| {
                    position += 1;
                    !positions.contains(&(position - 1))
                });
                for (send, sending) in outcome.sends.iter().enumerate() {
                    step.sent.push(Sent { to: sending.to, message: format!("{:?}", sending.body) });
                    self.inboxes[sending.to.index()].push(Letter {
                        origin: Origin { step: at, send },
                        envelope: Envelope { from: process, body: sending.body.clone() },
                    });
                }
                step.events = outcome.events.iter().map(|event| format!("{event:?}")).collect();
                step.choices = outcome.choices;
                self.locals[process.index()] = outcome.state;
            }
            Err(Panicked { message, .. }) if message.starts_with(MISFIT) => return self.refuse(message),
            Err(Panicked { choices, message }) => {
                step.choices = choices;
                step.panic = Some(message);
            }
        }
        step.state = format!("{:?}", self.locals[process.index()]);
        self.trace.steps.push(step);
        Ok(())
    }

    /// What is wrong now: the panic of the last step, or the first property that does not hold.
    pub fn broken(&self) -> Option<Broken> {
        if let Some(last) = self.trace.steps.last()
            && let Some(message) = &last.panic
        {
            let (transition, message) = (last.transition.clone(), message.clone());
            return Some(Broken::Panic { process: last.process, transition, message });
        }
        self.model.properties().iter().find_map(|property| {
            let observed = property.check(&self.locals).err()?;
            if property.moment() == Moment::AtEnd && !self.ended() {
                return None;
            }
            let observed = observed.iter().map(|(process, value)| (*process, format!("{value:?}"))).collect();
            Some(Broken::Property { name: property.name().to_string(), observed })
        })
    }

    /// Can nothing happen any more? Tries every transition with every set of messages of a fitting size.
    pub fn ended(&self) -> bool {
        self.model.ids().all(|process| {
            let count = self.model.process(process).transitions().len();
            (0..count).all(|transition| !self.some_subset_accepted(process, transition))
        })
    }

    fn some_subset_accepted(&self, process: ProcessId, transition: usize) -> bool {
        let inbox: Vec<&Envelope> =
            self.inboxes[process.index()].iter().map(|letter| &letter.envelope).collect();
        let accepted = |consumed: &[&Envelope]| {
            // A guard that panics counts as a step: the run could go on, into the panic.
            self.model.accepts(process, transition, &self.locals[process.index()], consumed).unwrap_or(true)
        };
        if inbox.iter().any(|message| accepted(&[message])) {
            return true;
        }
        match self.model.process(process).transitions()[transition].trigger() {
            Trigger::Internal => accepted(&[]),
            Trigger::Message(_) => false,
            Trigger::Quorum(QuorumSystem::Size { members, size }) => {
                some_choice(&from(members, &inbox), *size, &mut Vec::new(), &accepted)
            }
            Trigger::Quorum(QuorumSystem::Listed(quorums)) => quorums
                .iter()
                .any(|quorum| some_choice(&from(quorum, &inbox), quorum.len(), &mut Vec::new(), &accepted)),
        }
    }
}

/// The messages from these senders.
fn from<'a>(senders: &[ProcessId], messages: &[&'a Envelope]) -> Vec<&'a Envelope> {
    messages.iter().filter(|message| senders.contains(&message.from)).copied().collect()
}

/// Is some choice of so many more messages, from distinct senders, accepted?
fn some_choice<'a>(
    rest: &[&'a Envelope],
    wanted: usize,
    chosen: &mut Vec<&'a Envelope>,
    accepted: &impl Fn(&[&Envelope]) -> bool,
) -> bool {
    if wanted == 0 {
        return accepted(chosen);
    }
    (0..rest.len()).take_while(|at| rest.len() - at >= wanted).any(|at| {
        if chosen.iter().any(|other| other.from == rest[at].from) {
            return false;
        }
        chosen.push(rest[at]);
        let found = some_choice(&rest[at + 1..], wanted - 1, chosen, accepted);
        chosen.pop();
        found
    })
}

/// Re-runs a schedule. The trace, and what is broken in its last state.
pub fn replay(model: &Model, schedule: &Schedule) -> Result<(Trace, Option<Broken>), ReplayError> {
    let mut replay = Replay::new(model);
    for step in schedule {
        replay.step(step)?;
    }
    let broken = replay.broken();
    Ok((replay.into_trace(), broken))
}
