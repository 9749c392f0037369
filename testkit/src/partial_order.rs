//! Runs as partial orders: what each process did, one step after the other, and which message went where.
//!
//! From: Guo et al., DEMETER (SOSP 2011), sections 3.1 and 4.2; docs/theory/components.md 1. A message is named by the
//! step that sent it, counted along its sender, so a trace has no order but that of causes: runs that differ only in
//! the order of independent steps are equal values, and have the same signature.
//! Differs: a step consumes several messages and sends several, so an interface event is a step that receives from or
//! sends to another component, not a single send or receive. Clocks that only count what happens inside a component
//! order its interface events: an order that comes about through other components is theirs to keep.
//! Invariant: every message that a step consumes was sent by a step of the trace, to that process, and is consumed
//! once; following causes never leads in a circle.
//! Held by: testkit/tests/traces.rs (substitution, prefixes and signatures on runs of random protocols).

use std::hash::{DefaultHasher, Hash, Hasher};

use quorate::ProcessId;
use quorate::engine::components::{LocalStep, Partition};
use quorate::model::{Envelope, Model, Schedule, ScheduledStep, Sending, Taken, Value};
use quorate::replay::ReplayError;
use quorate::world::StepKind;

/// A message, by where it was sent: the step of its sender, counted along that process, and its position in it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Instance {
    /// Who sent it.
    pub process: ProcessId,
    /// In which of its steps, from 0.
    pub step: usize,
    /// Its position among what that step sent, from 0.
    pub send: usize,
}

/// One step of a process.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Happening {
    /// What kind of step.
    pub kind: StepKind,
    /// Which transition, by its position in the role, if it is one.
    pub transition: usize,
    /// How it chooses.
    pub choices: Vec<usize>,
    /// The messages that it consumes, in ascending order.
    pub consumed: Vec<Instance>,
    /// What it sends, in order.
    pub sent: Vec<Sending>,
}

/// An interface event of a component: what others see of one of its steps.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct InterfaceEvent {
    /// How many interface events of each process of the component it follows, itself included, by causes inside the
    /// component.
    pub clock: Vec<usize>,
    /// What it receives from other components, by sender.
    pub received: Vec<Envelope>,
    /// What it sends to other components, in order for each receiver.
    pub sent: Vec<Sending>,
}

/// What others see of a component: the interface events of each of its processes, in order.
pub type LocalSkeleton = Vec<Vec<InterfaceEvent>>;

/// A run, or a beginning of one, as a partial order.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Trace {
    steps: Vec<Vec<Happening>>,
}

impl Trace {
    /// The trace of a schedule, whose steps are transitions and restarts.
    pub fn run(model: &Model, schedule: &Schedule) -> Result<Self, ReplayError> {
        let mut run = Run::new(model);
        for (at, step) in schedule.iter().enumerate() {
            let refused =
                || ReplayError { step: at, reason: "these messages are not in the inbox".to_string() };
            let mut places: Vec<usize> = Vec::new();
            for Taken { envelope, nth, .. } in &step.consumed {
                let inbox = &run.inboxes[step.process.index()];
                let equal = (0..inbox.len()).filter(|place| inbox[*place].1 == *envelope);
                places.push(equal.skip(*nth).find(|place| !places.contains(place)).ok_or_else(refused)?);
            }
            let local = LocalStep {
                kind: step.kind,
                transition: step.transition,
                choices: step.choices.clone(),
                consumed: step.consumed.iter().map(|taken| taken.envelope.clone()).collect(),
            };
            run.take(step.process, &local, &places).map_err(|reason| ReplayError { step: at, reason })?;
        }
        Ok(run.trace)
    }

    /// The steps of a process, in order.
    pub fn steps_of(&self, process: ProcessId) -> &[Happening] {
        &self.steps[process.index()]
    }

    /// How many steps it has.
    pub fn len(&self) -> usize {
        self.steps.iter().map(Vec::len).sum()
    }

    /// Has nothing happened?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// An order of the steps, each a process and a position along it, in which causes come before effects.
    pub fn order(&self) -> Vec<(ProcessId, usize)> {
        let mut done = vec![0; self.steps.len()];
        let mut order = Vec::with_capacity(self.len());
        while order.len() < self.len() {
            let before = order.len();
            for (process, steps) in self.steps.iter().enumerate() {
                let ready = |step: &Happening, done: &[usize]| {
                    step.consumed.iter().all(|instance| instance.step < done[instance.process.index()])
                };
                while steps.get(done[process]).is_some_and(|step| ready(step, &done)) {
                    order.push((ProcessId::new(process), done[process]));
                    done[process] += 1;
                }
            }
            assert!(order.len() > before, "a bug in quorate: the causes of a trace lead in a circle");
        }
        order
    }

    /// The clock of every step: how many steps of each process it follows, itself included.
    pub fn clocks(&self) -> Vec<Vec<Vec<usize>>> {
        let mut clocks: Vec<Vec<Vec<usize>>> = vec![Vec::new(); self.steps.len()];
        for (process, at) in self.order() {
            let mut clock = match at.checked_sub(1) {
                Some(previous) => clocks[process.index()][previous].clone(),
                None => vec![0; self.steps.len()],
            };
            for instance in &self.steps[process.index()][at].consumed {
                join(&mut clock, &clocks[instance.process.index()][instance.step]);
            }
            clock[process.index()] = at + 1;
            clocks[process.index()].push(clock);
        }
        clocks
    }

    /// Is this trace a beginning of another?
    pub fn is_prefix_of(&self, other: &Trace) -> bool {
        self.steps.iter().zip(&other.steps).all(|(ours, theirs)| theirs.starts_with(ours))
    }

    /// What both traces begin with.
    #[must_use]
    pub fn common_prefix(&self, other: &Trace) -> Trace {
        let common = |(ours, theirs): (&Vec<Happening>, &Vec<Happening>)| {
            ours.iter()
                .zip(theirs)
                .take_while(|(our, their)| our == their)
                .map(|(our, _)| our.clone())
                .collect()
        };
        // A step that is equal may still consume what an unequal one has sent.
        let steps: Vec<Vec<Happening>> = self.steps.iter().zip(&other.steps).map(common).collect();
        Trace { steps }.closed()
    }

    /// The largest prefix in which a process takes no more than so many steps.
    #[must_use]
    pub fn up_to(&self, process: ProcessId, steps: usize) -> Trace {
        let mut prefix = self.clone();
        prefix.steps[process.index()].truncate(steps);
        prefix.closed()
    }

    /// Drops the steps whose causes are missing.
    fn closed(mut self) -> Trace {
        loop {
            let lengths: Vec<usize> = self.steps.iter().map(Vec::len).collect();
            let caused = |step: &Happening| {
                step.consumed.iter().all(|instance| instance.step < lengths[instance.process.index()])
            };
            let kept: Vec<usize> =
                self.steps.iter().map(|steps| steps.iter().take_while(|step| caused(step)).count()).collect();
            if kept == lengths {
                return self;
            }
            self.steps.iter_mut().zip(kept).for_each(|(steps, kept)| steps.truncate(kept));
        }
    }

    /// A hash of the trace, which depends on nothing but causes and contents.
    pub fn signature(&self) -> u128 {
        let half = |salt: u64| {
            let mut hasher = DefaultHasher::new();
            (salt, &self.steps).hash(&mut hasher);
            hasher.finish()
        };
        u128::from(half(0)) << 64 | u128::from(half(1))
    }

    /// Is a step of a process part of the interface of its component?
    pub fn is_interface(&self, components: &Partition, process: ProcessId, at: usize) -> bool {
        let own = components.of(process);
        let step = &self.steps[process.index()][at];
        step.consumed.iter().any(|instance| components.of(instance.process) != own)
            || step.sent.iter().any(|sending| components.of(sending.to) != own)
    }

    /// What others see of a component.
    pub fn skeleton(&self, components: &Partition, component: usize) -> LocalSkeleton {
        let members = components.members(component);
        let place = |process: ProcessId| members.binary_search(&process).ok();
        let mut clocks: Vec<Vec<Vec<usize>>> = vec![Vec::new(); members.len()];
        let mut skeleton: LocalSkeleton = vec![Vec::new(); members.len()];
        for (process, at) in self.order() {
            let Some(member) = place(process) else { continue };
            let step = &self.steps[process.index()][at];
            let mut clock = clocks[member].last().cloned().unwrap_or_else(|| vec![0; members.len()]);
            let mut received: Vec<Envelope> = Vec::new();
            for instance in &step.consumed {
                match place(instance.process) {
                    Some(sender) => join(&mut clock, &clocks[sender][instance.step]),
                    None => received.push(self.envelope(*instance)),
                }
            }
            if self.is_interface(components, process, at) {
                clock[member] += 1;
                let sent = interface_sends(&step.sent, |to| place(to).is_some());
                skeleton[member].push(InterfaceEvent { clock: clock.clone(), received, sent });
            }
            clocks[member].push(clock);
        }
        skeleton
    }

    /// A message of the trace.
    pub fn envelope(&self, instance: Instance) -> Envelope {
        let step = &self.steps[instance.process.index()][instance.step];
        Envelope { from: instance.process, body: step.sent[instance.send].body.clone() }
    }

    /// This trace with what a component does taken from another trace, in which others see the same of it; `None` if
    /// they do not.
    pub fn substitute(&self, components: &Partition, component: usize, other: &Trace) -> Option<Trace> {
        if self.skeleton(components, component) != other.skeleton(components, component) {
            return None;
        }
        let mut result = self.clone();
        for &process in components.members(component) {
            result.steps[process.index()].clone_from(&other.steps[process.index()]);
            let ours = self.interface_steps(components, process);
            let theirs = other.interface_steps(components, process);
            for (&our, &their) in ours.iter().zip(&theirs) {
                // What comes from other components comes from where it came from in this trace. A step consumes at
                // most one message of a sender, so the sender determines which.
                let step = &mut result.steps[process.index()][their];
                for instance in &mut step.consumed {
                    let from = instance.process;
                    if components.of(from) != component {
                        let mut consumed = self.steps[process.index()][our].consumed.iter();
                        *instance = *consumed.find(|ours| ours.process == from)?;
                    }
                }
                step.consumed.sort_unstable();
            }
        }
        // Others consume what the component sends now, in the same place of its interface.
        for (process, steps) in result.steps.iter_mut().enumerate() {
            if components.of(ProcessId::new(process)) == component {
                continue;
            }
            for instance in steps.iter_mut().flat_map(|step| &mut step.consumed) {
                if components.of(instance.process) == component {
                    *instance = moved(self, other, components, *instance)?;
                }
            }
        }
        for step in result.steps.iter_mut().flatten() {
            step.consumed.sort_unstable();
        }
        Some(result)
    }

    fn interface_steps(&self, components: &Partition, process: ProcessId) -> Vec<usize> {
        let steps = 0..self.steps[process.index()].len();
        steps.filter(|at| self.is_interface(components, process, *at)).collect()
    }

    /// The steps one after the other, so that replay can run them.
    pub fn schedule(&self) -> Schedule {
        let mut inboxes: Vec<Vec<(Instance, Envelope)>> = vec![Vec::new(); self.steps.len()];
        let mut schedule = Schedule::new();
        for (process, at) in self.order() {
            let step = &self.steps[process.index()][at];
            let inbox = &mut inboxes[process.index()];
            let taken = |instance: &Instance| {
                let place = inbox.iter().position(|(there, _)| there == instance)?;
                let envelope = inbox[place].1.clone();
                let nth = inbox[..place].iter().filter(|(_, before)| *before == envelope).count();
                Some(Taken { envelope, nth, forged: false })
            };
            schedule.push(ScheduledStep {
                process,
                kind: step.kind,
                transition: step.transition,
                consumed: step.consumed.iter().filter_map(taken).collect(),
                choices: step.choices.clone(),
                sent: Vec::new(),
            });
            inbox.retain(|(instance, _)| !step.consumed.contains(instance));
            for (send, Sending { to, body }) in step.sent.iter().enumerate() {
                let envelope = Envelope { from: process, body: body.clone() };
                inboxes[to.index()].push((Instance { process, step: at, send }, envelope));
            }
        }
        schedule
    }
}

/// Where a message of a component's interface is in another trace with the same interface.
fn moved(from: &Trace, to: &Trace, components: &Partition, instance: Instance) -> Option<Instance> {
    let Instance { process, step, send } = instance;
    let ordinal = from.interface_steps(components, process).iter().position(|at| *at == step)?;
    let step_there = *to.interface_steps(components, process).get(ordinal)?;
    let (sent, sent_there) =
        (&from.steps[process.index()][step].sent, &to.steps[process.index()][step_there].sent);
    let receiver = sent[send].to;
    let nth = sent[..send].iter().filter(|sending| sending.to == receiver).count();
    let mut there = (0..sent_there.len()).filter(|at| sent_there[*at].to == receiver);
    Some(Instance { process, step: step_there, send: there.nth(nth)? })
}

/// What is sent to other components, in the order of receivers, and for each of them in the order of sending.
fn interface_sends(sent: &[Sending], inside: impl Fn(ProcessId) -> bool) -> Vec<Sending> {
    let mut outside: Vec<Sending> = sent.iter().filter(|sending| !inside(sending.to)).cloned().collect();
    outside.sort_by_key(|sending| sending.to);
    outside
}

fn join(clock: &mut [usize], other: &[usize]) {
    clock.iter_mut().zip(other).for_each(|(ours, theirs)| *ours = (*ours).max(*theirs));
}

/// A run in progress.
struct Run<'m> {
    model: &'m Model,
    locals: Vec<Value>,
    inboxes: Vec<Vec<(Instance, Envelope)>>,
    trace: Trace,
}

impl<'m> Run<'m> {
    fn new(model: &'m Model) -> Self {
        let locals: Vec<Value> = model.processes().iter().map(|process| process.initial().clone()).collect();
        let nothing = vec![Vec::new(); locals.len()];
        Run { model, inboxes: vec![Vec::new(); locals.len()], trace: Trace { steps: nothing }, locals }
    }

    /// Takes a step that may panic: then it sends nothing and the process stays as it is.
    fn take(&mut self, process: ProcessId, step: &LocalStep, places: &[usize]) -> Result<(), String> {
        let local = &self.locals[process.index()];
        let inbox = &mut self.inboxes[process.index()];
        let mut consumed: Vec<Instance> = places.iter().map(|place| inbox[*place].0).collect();
        consumed.sort_unstable();
        let (state, sent) = match step.kind {
            StepKind::Transition => {
                let messages: Vec<&Envelope> = places.iter().map(|place| &inbox[*place].1).collect();
                let outcome = self.model.run_with(process, step.transition, local, &messages, &step.choices);
                outcome.map_or_else(|_| (local.clone(), Vec::new()), |outcome| (outcome.state, outcome.sends))
            }
            StepKind::Restart => {
                (self.model.restarted(process, local).unwrap_or_else(|_| local.clone()), Vec::new())
            }
            other => return Err(format!("a {} is no step of a component", other.name())),
        };
        let mut at = 0;
        inbox.retain(|_| {
            at += 1;
            !places.contains(&(at - 1))
        });
        self.locals[process.index()] = state;
        let ordinal = self.trace.steps[process.index()].len();
        for (send, Sending { to, body }) in sent.iter().enumerate() {
            let envelope = Envelope { from: process, body: body.clone() };
            self.inboxes[to.index()].push((Instance { process, step: ordinal, send }, envelope));
        }
        let LocalStep { kind, transition, choices, .. } = step.clone();
        self.trace.steps[process.index()].push(Happening { kind, transition, choices, consumed, sent });
        Ok(())
    }
}
