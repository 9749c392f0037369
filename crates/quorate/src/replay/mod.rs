//! Re-runs a schedule or a trace on the user's handlers, directly: no interning, no memory of earlier
//! answers, no code of the kernel or the engines. What it accepts has really happened.
//!
//! Invariant: every step taken was enabled by the definition in [`Model::accepts`], and every message
//! consumed was in the inbox.
//! Held by: every `Violated` of every test passes through here; mutated traces are refused
//! (quorate-cli/tests/replay.rs).

mod broken;
mod confirm;
mod minimise;

use std::fmt;
use std::sync::Arc;

pub use broken::Broken;
pub use confirm::{Impure, Length, Violation, confirm};
pub use minimise::{follow_causes, minimise};

use crate::base::{ProcessId, Value, heed};
use crate::model::{
    Consumed, Envelope, Forged, MISFIT, Model, Origin, Outcome, Panicked, QuorumSystem, Schedule,
    ScheduledStep, Sending, Sent, Snapshot, Source, Taken, Trace, TraceStep, TracedMessage, Trigger,
};
use crate::property::When;
use crate::world::{CrashSends, Crashes, FaultsSoFar, Inbox, StepKind};

impl Model {
    /// The same system, in the state after these steps, with the messages that are on their way then.
    pub fn after(mut self, steps: &[TraceStep]) -> Result<Self, ReplayError> {
        let mut run = Replay::new(&self);
        for step in steps {
            run.retrace(step)?;
        }
        let start = run.into_snapshot();
        self.start = Some(Arc::new(start));
        Ok(self)
    }
}

/// A message that a step takes: where it is in the inbox, or among what can be forged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Inbox(usize),
    Forged(usize),
}

/// A step to take.
struct Attempt<'s> {
    process: ProcessId,
    kind: StepKind,
    transition: usize,
    choices: &'s [usize],
    /// If the process crashes: which of the messages are sent.
    sent: &'s dyn Fn(&[Sending]) -> Option<Vec<usize>>,
}

/// A run in progress: the local states and inboxes of the system, one step after the other.
pub struct Replay<'m> {
    model: &'m Model,
    locals: Vec<Value>,
    faults_so_far: Vec<FaultsSoFar>,
    inboxes: Vec<Inbox<TracedMessage>>,
    monitors: Vec<Value>,
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
    /// A run that has not begun; or that has come as far as the snapshot in which the model starts.
    pub fn new(model: &'m Model) -> Self {
        if let Some(start) = model.start() {
            let Snapshot { locals, faults_so_far, inboxes, monitors, trace } = start.clone();
            return Replay { model, locals, faults_so_far, inboxes, monitors, trace };
        }
        Replay::from_the_beginning(model)
    }

    /// A run that has not begun, wherever the model starts.
    pub(crate) fn from_the_beginning(model: &'m Model) -> Self {
        let locals: Vec<Value> = model.processes().iter().map(|process| process.initial().clone()).collect();
        let trace = Trace {
            processes: model.processes().iter().map(|process| process.name().to_string()).collect(),
            initial: locals.iter().map(|local| format!("{local:?}")).collect(),
            steps: Vec::new(),
        };
        Replay {
            model,
            faults_so_far: vec![FaultsSoFar::default(); locals.len()],
            inboxes: vec![Inbox::default(); locals.len()],
            monitors: model.monitors().iter().map(|monitor| monitor.initial().clone()).collect(),
            locals,
            trace,
        }
    }

    /// The local states now.
    pub fn locals(&self) -> &[Value] {
        &self.locals
    }

    /// The run so far.
    pub fn into_trace(self) -> Trace {
        self.trace
    }

    /// The state now.
    pub(crate) fn into_snapshot(self) -> Snapshot {
        let Replay { locals, faults_so_far, inboxes, monitors, trace, .. } = self;
        Snapshot { locals, faults_so_far, monitors, inboxes, trace }
    }

    /// The messages on their way now: to whom, from whom, and what they say, as `Debug` prints it.
    pub fn in_flight(&self) -> Vec<(ProcessId, ProcessId, String)> {
        let of = |(at, inbox): (usize, &Inbox<TracedMessage>)| -> Vec<(ProcessId, ProcessId, String)> {
            let letters = inbox.travelling.iter().chain(&inbox.waiting).map(|letter| &letter.envelope);
            letters.map(|sent| (ProcessId::new(at), sent.from, format!("{:?}", sent.body))).collect()
        };
        self.inboxes.iter().enumerate().flat_map(of).collect()
    }

    fn refuse<T>(&self, reason: impl Into<String>) -> Result<T, ReplayError> {
        Err(ReplayError { step: self.trace.steps.len(), reason: reason.into() })
    }

    /// Takes a step that consumes messages with these contents.
    pub fn step(&mut self, step: &ScheduledStep) -> Result<(), ReplayError> {
        let mut places: Vec<Place> = Vec::new();
        for Taken { envelope, nth, forged } in &step.consumed {
            if *forged {
                let known = self.model.forgeable(step.process).iter().position(|known| known == envelope);
                let Some(number) = known else {
                    return self.refuse(format!("{:?} cannot be forged", envelope.body));
                };
                places.push(Place::Forged(number));
                continue;
            }
            let letters = self.letters(step.process, step.kind);
            let equal = |at: &usize| letters[*at].envelope == *envelope;
            match (0..letters.len()).filter(equal).nth(*nth).map(Place::Inbox) {
                Some(place) if !places.contains(&place) => places.push(place),
                _ => return self.refuse(format!("{:?} is not in the inbox", envelope.body)),
            }
        }
        let in_order = self.model.world().channel.keeps_order();
        let sent = |sends: &[Sending]| {
            let mut positions: Vec<usize> = Vec::new();
            for wanted in &step.sent {
                // Where the order matters, it is that of the messages to each receiver.
                let behind = |at: &usize| {
                    !in_order || positions.iter().all(|taken| taken < at || sends[*taken].to != wanted.to)
                };
                let free = |at: &usize| !positions.contains(at) && behind(at) && sends[*at] == *wanted;
                positions.push((0..sends.len()).find(free)?);
            }
            positions.sort_unstable();
            Some(positions)
        };
        let (process, kind, transition) = (step.process, step.kind, step.transition);
        self.take(&Attempt { process, kind, transition, choices: &step.choices, sent: &sent }, &places)
    }

    /// Takes the step that a trace describes, and compares what happens with what it says.
    pub fn follow(&mut self, step: &TraceStep) -> Result<(), ReplayError> {
        let at = self.trace.steps.len();
        self.retrace(step)?;
        if self.trace.steps[at] != *step {
            let (happened, said) = (&self.trace.steps[at], step);
            return Err(ReplayError {
                step: at,
                reason: format!("what happens differs from the file: {happened:?}, not {said:?}"),
            });
        }
        Ok(())
    }

    /// Takes the step that a trace describes, whatever it leads to.
    pub fn retrace(&mut self, step: &TraceStep) -> Result<(), ReplayError> {
        let Some(process) = self.model.processes().get(step.process.index()) else {
            return self.refuse(format!("there is no process {:?}", step.process));
        };
        let position = process.transitions().iter().position(|known| known.name() == step.transition);
        let transition = match (step.kind, position) {
            (StepKind::Transition | StepKind::Crash, Some(position)) => position,
            (StepKind::Transition | StepKind::Crash, None) => {
                return self.refuse(format!("{} has no transition '{}'", process.name(), step.transition));
            }
            _ => 0,
        };
        let places = self.places(step)?;
        let choices: Vec<usize> = step.choices.iter().map(|choice| choice.index).collect();
        let sent = |sends: &[Sending]| {
            Some((0..sends.len()).filter(|position| !step.unsent.contains(position)).collect())
        };
        let (process, kind, choices) = (step.process, step.kind, choices.as_slice());
        self.take(&Attempt { process, kind, transition, choices, sent: &sent }, &places)
    }

    /// Where the messages are that a step of a trace takes.
    fn places(&self, step: &TraceStep) -> Result<Vec<Place>, ReplayError> {
        let mut places = Vec::new();
        for consumed in &step.consumed {
            let place = match consumed.source {
                Source::Sent(origin) => {
                    let letters = self.letters(step.process, step.kind);
                    letters.iter().position(|letter| letter.origin == origin).map(Place::Inbox)
                }
                Source::Forged(forged) => self.forged(step.process, consumed, forged).map(Place::Forged),
            };
            match place {
                Some(place) if !places.contains(&place) => places.push(place),
                _ => return self.refuse(format!("{} is not in the inbox", consumed.message)),
            }
        }
        Ok(places)
    }

    /// The number of a message that can be forged: as the trace says, or, in an instance where other messages can be
    /// forged as well, that of the one with this content.
    fn forged(&self, to: ProcessId, said: &Consumed, forged: Forged) -> Option<usize> {
        let forgeable = self.model.forgeable(to);
        let fits = |number: &usize| {
            forgeable.get(*number).is_some_and(|known| {
                known.from == said.from
                    && known.body.content_hash() == forged.content
                    && format!("{:?}", known.body) == said.message
            })
        };
        Some(forged.number).filter(fits).or_else(|| (0..forgeable.len()).find(fits))
    }

    /// Takes the steps that a trace describes, and returns them as the schedule that an engine would find.
    pub(crate) fn schedule(&mut self, steps: &[TraceStep]) -> Result<Schedule, ReplayError> {
        let mut schedule = Schedule::new();
        for step in steps {
            let forgeable = self.model.forgeable(step.process);
            let taken = |place| match place {
                Place::Inbox(at) => {
                    let letters = self.letters(step.process, step.kind);
                    let envelope = letters[at].envelope.clone();
                    let nth = letters[..at].iter().filter(|letter| letter.envelope == envelope).count();
                    Taken { envelope, nth, forged: false }
                }
                Place::Forged(number) => Taken { envelope: forgeable[number].clone(), nth: 0, forged: true },
            };
            let consumed: Vec<Taken> = self.places(step)?.into_iter().map(taken).collect();
            let local = self.locals[step.process.index()].clone();
            self.retrace(step)?;
            // The step was taken, so its process exists, and so does its transition unless the step is the world's.
            let process = self.model.process(step.process);
            let position = process.transitions().iter().position(|known| known.name() == step.transition);
            let transition = position.unwrap_or_default();
            let choices: Vec<usize> = step.choices.iter().map(|choice| choice.index).collect();
            let mut sent = Vec::new();
            if step.kind == StepKind::Crash {
                let envelopes: Vec<&Envelope> = consumed.iter().map(|taken| &taken.envelope).collect();
                let outcome = self.model.run_with(step.process, transition, &local, &envelopes, &choices);
                let sends = outcome.map(|outcome| outcome.sends).unwrap_or_default().into_iter().enumerate();
                sent.extend(sends.filter(|(at, _)| !step.unsent.contains(at)).map(|(_, sending)| sending));
            }
            let (process, kind) = (step.process, step.kind);
            schedule.push(ScheduledStep { process, kind, transition, consumed, choices, sent });
        }
        Ok(schedule)
    }

    /// The messages that a step of this kind can take.
    fn letters(&self, process: ProcessId, kind: StepKind) -> &[TracedMessage] {
        let inbox = &self.inboxes[process.index()];
        match kind {
            StepKind::Transition | StepKind::Crash => &inbox.waiting,
            _ => inbox.way(self.model.world()),
        }
    }

    /// Takes a step, if it is one.
    fn take(&mut self, attempt: &Attempt<'_>, places: &[Place]) -> Result<(), ReplayError> {
        let Attempt { process, kind, .. } = *attempt;
        if self.trace.steps.last().is_some_and(|last| last.panic.is_some()) {
            return self.refuse("the run has already ended in a panic");
        }
        if self.faults_so_far[process.index()].crashed {
            return self.refuse(format!("{} has crashed", self.model.process(process).name()));
        }
        let (letters, forgeable) = (self.letters(process, kind), self.model.forgeable(process));
        let consumed = places.iter().map(|place| match *place {
            Place::Inbox(at) => (Source::Sent(letters[at].origin), letters[at].envelope.clone()),
            Place::Forged(number) => {
                let (envelope, content) = (&forgeable[number], forgeable[number].body.content_hash());
                (Source::Forged(Forged { number, content }), envelope.clone())
            }
        });
        let consumed: Vec<(Source, Envelope)> = consumed.collect();
        let mut step = TraceStep {
            process,
            kind,
            transition: kind.name().to_string(),
            consumed: consumed
                .iter()
                .map(|(source, envelope)| Consumed {
                    from: envelope.from,
                    message: format!("{:?}", envelope.body),
                    source: *source,
                })
                .collect(),
            choices: Vec::new(),
            sent: Vec::new(),
            unsent: Vec::new(),
            events: Vec::new(),
            state: String::new(),
            panic: None,
        };
        let position = |place: &Place| match place {
            Place::Inbox(at) => Some(*at),
            Place::Forged(_) => None,
        };
        let positions: Vec<usize> = places.iter().filter_map(position).collect();
        match kind {
            StepKind::Transition | StepKind::Crash => {
                let consumed: Vec<&Envelope> = consumed.iter().map(|(_, envelope)| envelope).collect();
                self.take_transition(attempt, &positions, &consumed, &mut step)?;
            }
            StepKind::Stop => self.stop(process)?,
            StepKind::Restart => self.restart(process, &mut step)?,
            StepKind::Delivery | StepKind::Loss | StepKind::Duplication => {
                let &[position] = positions.as_slice() else {
                    return self.refuse(format!("a {} takes one message", kind.name()));
                };
                self.happen(process, kind, position)?;
            }
        }
        step.state = format!("{:?}", self.locals[process.index()]);
        self.trace.steps.push(step);
        Ok(())
    }

    fn take_transition(
        &mut self,
        attempt: &Attempt<'_>,
        positions: &[usize],
        consumed: &[&Envelope],
        step: &mut TraceStep,
    ) -> Result<(), ReplayError> {
        let Attempt { process, kind, transition, choices, sent } = *attempt;
        let name = self.model.process(process).transitions()[transition].name();
        step.transition = name.to_string();
        if !self.may_consume(process, positions) {
            return self.refuse(format!("'{name}' cannot take these messages from the channel now"));
        }
        let local = &self.locals[process.index()];
        let outcome = match self.model.accepts(process, transition, local, consumed) {
            Ok(true) => self.model.run_with(process, transition, local, consumed, choices),
            Ok(false) => return self.refuse(format!("'{name}' is not enabled")),
            Err(panicked) => Err(panicked),
        };
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(Panicked { message, .. }) if message.starts_with(MISFIT) => return self.refuse(message),
            Err(Panicked { choices, message }) => {
                (step.choices, step.panic) = (choices, Some(message));
                return Ok(());
            }
        };
        if outcome.choices.len() != choices.len() {
            let (made, expected) = (outcome.choices.len(), choices.len());
            return self.refuse(format!("the handler made {made} choices, not {expected}"));
        }
        let all: Vec<usize> = (0..outcome.sends.len()).collect();
        let sent = if kind == StepKind::Crash { sent(&outcome.sends) } else { Some(all.clone()) };
        let Some(sent) =
            sent.filter(|sent| kind != StepKind::Crash || self.may_crash(process, &outcome.sends, sent))
        else {
            return self.refuse(format!("{} cannot crash like this", self.model.process(process).name()));
        };
        let mut inboxes = self.inboxes.clone();
        inboxes[process.index()].consume(self.model.world().channel, positions);
        if self.model.tracks_copies() {
            inboxes[process.index()].note_received(positions);
        }
        for (send, &position) in sent.iter().enumerate() {
            let Sending { to, body } = &outcome.sends[position];
            let origin = Origin { step: self.trace.steps.len(), send };
            let envelope = Envelope { from: process, body: body.clone() };
            step.sent.push(Sent { to: *to, message: format!("{body:?}") });
            if !self.model.is_there_anyway(*to, &envelope)
                && !inboxes[to.index()].arrive(self.model.world(), TracedMessage { origin, envelope })
            {
                return self.refuse(format!("'{name}' has to wait: there is no room for what it sends"));
            }
        }
        self.inboxes = inboxes;
        self.faults_so_far[process.index()].crashed = kind == StepKind::Crash;
        for (monitor, state) in self.model.monitors().iter().zip(&mut self.monitors) {
            *state = monitor.after(state, process, &outcome.events);
        }
        step.unsent = all.into_iter().filter(|position| !sent.contains(position)).collect();
        step.events = outcome.events.iter().map(|event| format!("{event:?}")).collect();
        step.choices = outcome.choices;
        self.locals[process.index()] = outcome.state;
        Ok(())
    }

    /// Does the channel give these messages to one step?
    fn may_consume(&self, process: ProcessId, positions: &[usize]) -> bool {
        let (inbox, world) = (&self.inboxes[process.index()], self.model.world());
        positions.iter().all(|position| inbox.is_open(world.channel, *position))
            && inbox.allows(world, positions)
    }

    /// Can the process crash in a step in which it sends these of its messages?
    fn may_crash(&self, process: ProcessId, sends: &[Sending], sent: &[usize]) -> bool {
        let Crashes::Explicit { sends: kept, .. } = self.model.world().crashes else { return false };
        let missed = |position: &usize| !sent.contains(position);
        // Whatever comes after a missing message to a receiver is missing too.
        let first_few = (0..sends.len())
            .filter(missed)
            .all(|gap| (gap..sends.len()).all(|later| missed(&later) || sends[later].to != sends[gap].to));
        self.model.fault_limits_of(process).crashes
            && match kept {
                CrashSends::All => sent.len() == sends.len(),
                CrashSends::Some => first_few || !self.model.world().channel.keeps_order(),
                CrashSends::AnySubset => true,
            }
    }

    /// A process crashes between two of its steps.
    fn stop(&mut self, process: ProcessId) -> Result<(), ReplayError> {
        if !self.model.fault_limits_of(process).stops {
            return self.refuse(format!("{} cannot crash", self.model.process(process).name()));
        }
        self.faults_so_far[process.index()].crashed = true;
        Ok(())
    }

    fn restart(&mut self, process: ProcessId, step: &mut TraceStep) -> Result<(), ReplayError> {
        let past = self.faults_so_far[process.index()];
        if past.restarts >= self.model.fault_limits_of(process).restarts {
            return self.refuse(format!("{} cannot restart any more", self.model.process(process).name()));
        }
        match self.model.restarted(process, &self.locals[process.index()]) {
            Ok(state) if state == self.locals[process.index()] => {
                let name = self.model.process(process).name();
                return self.refuse(format!("{name} loses nothing in a restart, so it is no step"));
            }
            Ok(state) => {
                self.faults_so_far[process.index()] = past.with_restart();
                self.locals[process.index()] = state;
            }
            Err(Panicked { message, .. }) => step.panic = Some(message),
        }
        Ok(())
    }

    /// A message is delivered, lost or doubled.
    fn happen(&mut self, process: ProcessId, kind: StepKind, position: usize) -> Result<(), ReplayError> {
        let (world, past) = (self.model.world(), self.faults_so_far[process.index()]);
        let (possible, after) = match kind {
            StepKind::Delivery => (world.delivery.in_steps(), past),
            StepKind::Loss => (usize::from(past.losses) < world.losses, past.with_loss()),
            _ => (usize::from(past.duplications) < world.duplications, past.with_duplication()),
        };
        if !possible {
            return self.refuse(format!("there is no {} any more", kind.name()));
        }
        let inbox = &mut self.inboxes[process.index()];
        match kind {
            StepKind::Delivery => inbox.deliver(world, position),
            StepKind::Loss => inbox.lose(world, position),
            _ => inbox.double(world, position),
        }
        self.faults_so_far[process.index()] = after;
        Ok(())
    }

    /// What is wrong now: the panic of the last step, or the first property that does not hold.
    pub fn broken(&self) -> Option<Broken> {
        if let Some(last) = self.trace.steps.last()
            && let Some(message) = &last.panic
        {
            let (transition, message) = (last.title(), message.clone());
            return Some(Broken::Panic { process: last.process, transition, message });
        }
        let properties = self.model.properties().iter().find_map(|property| {
            let observed = property.check(&self.locals).err()?;
            if property.when() == When::AtEnd && !self.ended() {
                return None;
            }
            let observed = observed.iter().map(|(process, value)| (*process, format!("{value:?}"))).collect();
            Some(Broken::Property { name: property.name().to_string(), observed })
        });
        properties.or_else(|| {
            let mut monitors = self.model.monitors().iter().zip(&self.monitors);
            let (monitor, state) = monitors.find(|(monitor, state)| !monitor.holds(state))?;
            Some(Broken::History { name: monitor.name().to_string(), heard: format!("{state:?}") })
        })
    }

    /// Does the run end here: is no step owed? Tries every transition with every set of messages of a fitting size.
    pub fn ended(&self) -> bool {
        let alive = |process: &ProcessId| !self.faults_so_far[process.index()].crashed;
        self.model.ids().filter(alive).all(|process| {
            let count = self.model.process(process).transitions().len();
            let inbox = &self.inboxes[process.index()];
            let delivers = self.model.world().channel.is_reliable() && !inbox.travelling.is_empty();
            !delivers
                && !self.restart_panics(process)
                && (0..count).all(|transition| !self.some_step_is_owed(process, transition))
        })
    }

    /// Can the process restart, into a panic?
    fn restart_panics(&self, process: ProcessId) -> bool {
        let so_far = self.faults_so_far[process.index()].restarts;
        so_far < self.model.fault_limits_of(process).restarts
            && self.model.restarted(process, &self.locals[process.index()]).is_err()
    }

    /// Must a run go on while the process can consume these messages? Not if they are forged, may get lost, or are
    /// further copies.
    fn must_arrive(&self, process: ProcessId, chosen: &[OnOffer<'_>]) -> bool {
        let inbox = &self.inboxes[process.index()];
        let reliable = self.model.world().channel.is_reliable();
        chosen.iter().all(|(position, _)| {
            position.is_some_and(|position| reliable && !inbox.is_further_copy(position))
        })
    }

    /// Can the process take this transition in a way that is owed, or into a panic?
    fn some_step_is_owed(&self, process: ProcessId, transition: usize) -> bool {
        let inbox = &self.inboxes[process.index()];
        let waiting = (0..inbox.waiting.len())
            .filter(|position| inbox.is_open(self.model.world().channel, *position))
            .map(|position| (Some(position), &inbox.waiting[position].envelope));
        let forged = self.model.forgeable(process).iter().map(|envelope| (None, envelope));
        let on_offer: Vec<OnOffer<'_>> = waiting.chain(forged).collect();
        let accepted = |chosen: &[OnOffer<'_>]| {
            let positions: Vec<usize> = chosen.iter().filter_map(|(position, _)| *position).collect();
            let consumed: Vec<&Envelope> = chosen.iter().map(|(_, envelope)| *envelope).collect();
            let local = &self.locals[process.index()];
            if !self.may_consume(process, &positions) {
                return false;
            }
            match self.model.accepts(process, transition, local, &consumed) {
                Ok(accepted) => {
                    accepted && self.some_outcome_is_owed(process, transition, chosen, &positions)
                }
                // What panics counts as a step: the run could go on, into the panic. But a message on which the
                // selection panics is not selected together with others.
                Err(_) => {
                    consumed.len() < 2 || self.model.keys(process, transition, local, &consumed).is_ok()
                }
            }
        };
        if on_offer.iter().any(|message| accepted(&[*message])) {
            return true;
        }
        match self.model.process(process).transitions()[transition].trigger() {
            Trigger::Internal => accepted(&[]),
            Trigger::Message(_) => false,
            Trigger::Quorum(QuorumSystem::Size { members, size }) => {
                some_choice(&from(members, &on_offer), *size, &mut Vec::new(), &accepted)
            }
            Trigger::Quorum(QuorumSystem::Listed(quorums)) => quorums.iter().any(|quorum| {
                some_choice(&from(quorum, &on_offer), quorum.len(), &mut Vec::new(), &accepted)
            }),
        }
    }

    /// Does some outcome of a transition panic, or is it owed: must the messages arrive, is there room for what it sends,
    /// and does it change anything?
    fn some_outcome_is_owed(
        &self,
        process: ProcessId,
        transition: usize,
        chosen: &[OnOffer<'_>],
        positions: &[usize],
    ) -> bool {
        let consumed: Vec<&Envelope> = chosen.iter().map(|(_, envelope)| *envelope).collect();
        let must_arrive = self.must_arrive(process, chosen);
        let local = &self.locals[process.index()];
        let outcomes = self.model.run(process, transition, local, &consumed);
        outcomes.into_iter().any(|outcome| {
            outcome.map_or(true, |outcome| must_arrive && self.fits_and_changes(process, positions, outcome))
        })
    }

    /// Is there room for what an outcome sends, and is something different afterwards?
    fn fits_and_changes(&self, process: ProcessId, positions: &[usize], outcome: Outcome) -> bool {
        let (world, mut inboxes) = (self.model.world(), self.inboxes.clone());
        inboxes[process.index()].consume(world.channel, positions);
        if self.model.tracks_copies() {
            inboxes[process.index()].note_received(positions);
        }
        let origin = Origin { step: self.trace.steps.len(), send: 0 };
        let fits = outcome.sends.into_iter().all(|Sending { to, body }| {
            let envelope = Envelope { from: process, body };
            self.model.is_there_anyway(to, &envelope)
                || inboxes[to.index()].arrive(world, TracedMessage { origin, envelope })
        });
        let mut monitors = self.model.monitors().iter().zip(&self.monitors);
        let heard = monitors.any(|(monitor, state)| monitor.after(state, process, &outcome.events) != *state);
        let alike = |(before, after): (&Inbox<TracedMessage>, &Inbox<TracedMessage>)| {
            before.is_like(after, world.channel)
        };
        let changes = heard
            || outcome.state != self.locals[process.index()]
            || !self.inboxes.iter().zip(&inboxes).all(alike);
        fits && changes
    }
}

/// A message that can be consumed: its position in the inbox, none if it is forged.
type OnOffer<'a> = (Option<usize>, &'a Envelope);

/// The messages from these senders.
fn from<'a>(senders: &[ProcessId], messages: &[OnOffer<'a>]) -> Vec<OnOffer<'a>> {
    messages.iter().filter(|(_, message)| senders.contains(&message.from)).copied().collect()
}

/// Is some choice of so many more messages, from distinct senders, accepted?
fn some_choice<'a>(
    rest: &[OnOffer<'a>],
    wanted: usize,
    chosen: &mut Vec<OnOffer<'a>>,
    accepted: &impl Fn(&[OnOffer<'_>]) -> bool,
) -> bool {
    if wanted == 0 {
        heed();
        return accepted(chosen);
    }
    (0..rest.len()).take_while(|at| rest.len() - at >= wanted).any(|at| {
        if chosen.iter().any(|(_, other)| other.from == rest[at].1.from) {
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
