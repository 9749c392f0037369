//! The local closure: every local state of a process that could be reached if no message were ever gone, and the steps
//! between them. It contains every local step of every run, and needs no search over global states.
//!
//! From: Guerraoui and Yabandeh, Model Checking a Networked System Without the Network (NSDI 2011), section 4;
//! docs/theory/closure.md 1. There a message that was sent once can be received in any local state (level
//! [`Level::Loose`]), which on a finite system may go on for ever: a counter that counts one message again and again.
//! Where that happens precision is raised, process by process: a message is not consumed more often than its sender can
//! send it, on all ways to a local state
//! ([`Level::Least`]) or on the one way that leads there ([`Level::Exact`], where what was consumed is a part of the
//! node). All three contain every step of every run: how often a message can be sent is taken from the sender's graph
//! itself, which only grows.
//! Differs: no state is discarded and nothing that was consumed is forgotten; the shortcuts of the paper that lose
//! violations are in `quorate-papers/src/engines/lmc.rs`.
//! Invariant: when [`Closure::complete`], each local step of each run is an edge.
//! Held by: testkit/tests/local.rs.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::parts::{Edge, FlatStep, Flattened, GaveUp, Level};
use super::process::{Bounds, ProcessClosure};
use super::supply::{Supplies, Supply, sent_at_most};
use crate::base::Mutant;
use crate::base::{Numbering, ProcessId, in_parallel_mut};
use crate::kernel::options::Tuning;
use crate::kernel::process::{LocalId, MessageId, StepSeen};
use crate::model::{Envelope, Model};

/// How much there is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClosureSize {
    /// Local states of all processes.
    pub local_states: u64,
    /// Messages that could be sent.
    pub messages: u64,
    /// Local steps.
    pub steps: u64,
}

/// The closures of all processes.
pub(crate) struct Closure<'m> {
    model: &'m Model,
    pub(super) processes: Vec<ProcessClosure<'m>>,
    heard: HashSet<(ProcessId, Envelope)>,
    pub(super) tuning: Tuning,
    threads: usize,
    /// At most so many steps of a process by itself.
    events_max: Option<u32>,
    /// Why there is no closure, if there is none.
    gave_up: Option<GaveUp>,
}

impl<'m> Closure<'m> {
    /// Nothing is known yet.
    pub(crate) fn new(model: &'m Model, tuning: Tuning, threads: usize) -> Self {
        let processes = model.ids().map(|process| ProcessClosure::new(process, model)).collect();
        Closure { model, processes, heard: HashSet::new(), tuning, threads, events_max: None, gave_up: None }
    }

    /// Closes it, with so many steps of each process by itself. What handlers have answered stays known. `enough` is
    /// asked now and then, and ends it.
    pub(crate) fn close(&mut self, events_max: Option<u32>, enough: &mut dyn FnMut(&Self) -> bool) {
        self.events_max = events_max;
        let mut levels = vec![Level::Loose; self.processes.len()];
        if self.tuning.mutants.has(Mutant::ConsumedOnce) {
            levels.fill(Level::Exact);
        }
        loop {
            for (process, level) in self.processes.iter_mut().zip(&levels) {
                process.prepare(*level);
            }
            self.heard = self.in_flight().collect();
            self.gave_up = self.attempt(enough).err();
            let Some(GaveUp::Diverged(process)) = self.gave_up else { return };
            // If following one process closely is not enough, it hears too much from others.
            match levels[process.index()] {
                Level::Exact if levels.iter().all(|level| *level == Level::Exact) => return,
                Level::Exact => levels.fill(Level::Exact),
                Level::Least => levels[process.index()] = Level::Exact,
                Level::Loose => levels[process.index()] = Level::Least,
            }
        }
    }

    /// Goes on until nothing is new: each process by itself, then what they have sent is heard.
    fn attempt(&mut self, enough: &mut dyn FnMut(&Self) -> bool) -> Result<(), GaveUp> {
        let mut grown = true;
        while std::mem::take(&mut grown) {
            if enough(self) {
                return Err(GaveUp::Stopped);
            }
            let supplies = self.supplies();
            let (model, tuning, events_max) = (self.model, self.tuning, self.events_max);
            let mut followed: Vec<(&mut ProcessClosure<'_>, Bounds<'_>)> = self
                .processes
                .iter_mut()
                .zip(supplies)
                .map(|(process, supply)| (process, Bounds { model, tuning, events_max, supply }))
                .collect();
            let extended =
                in_parallel_mut(&mut followed, self.threads, |(process, bounds)| process.extend(bounds));
            for new in extended {
                grown |= new?;
            }
            self.exchange();
        }
        Ok(())
    }

    /// What new steps have sent can be consumed by those who hear it, for ever.
    fn exchange(&mut self) {
        for at in 0..self.processes.len() {
            for (to, envelope) in self.processes[at].news() {
                let new = self.model.monitor(to).is_none() && self.heard.insert((to, envelope.clone()));
                if new && !self.at_any_time(to, &envelope) {
                    self.processes[to.index()].hear(envelope);
                }
            }
        }
    }

    /// Every message that is on its way at the start.
    fn in_flight(&self) -> impl Iterator<Item = (ProcessId, Envelope)> {
        self.processes.iter().flat_map(|process| {
            let named =
                |message| (process.ask.mail.receiver(message), process.ask.mail.envelope(message).clone());
            process.graph.start().messages().map(named)
        })
    }

    /// Can a message be consumed without being sent?
    fn at_any_time(&self, to: ProcessId, envelope: &Envelope) -> bool {
        self.model.forgeable(to).contains(envelope)
    }

    /// For each process, how often each message to it can be there, in all, as far as is known.
    fn supplies(&mut self) -> Vec<Supplies> {
        let world = self.model.world();
        let loose = self.processes.iter().all(|process| process.level == Level::Loose);
        if loose || world.channel.keeps_consumed() {
            return self.processes.iter().map(|_| Supplies { limited: None }).collect();
        }
        let doubled = u32::try_from(world.duplications).unwrap_or(u32::MAX);
        let once = self.tuning.mutants.has(Mutant::ConsumedOnce);
        let times = |sent: u32| Supply::Times(if once { 1 } else { sent.saturating_add(doubled) });
        let mut all: Vec<(ProcessId, Envelope, Supply)> = Vec::new();
        for process in &self.processes {
            for (message, sent) in sent_at_most(process.size(), &process.edges, &process.ask.mail) {
                let (to, envelope) =
                    (process.ask.mail.receiver(message), process.ask.mail.envelope(message).clone());
                all.push((to, envelope, sent.map_or(Supply::Always, times)));
            }
        }
        let forged = |to: ProcessId| {
            let always = move |envelope: &Envelope| (to, envelope.clone(), Supply::Always);
            self.model.forgeable(to).iter().map(always)
        };
        all.extend(self.model.ids().flat_map(forged));
        let mut supplies: Vec<HashMap<MessageId, Supply>> = vec![HashMap::new(); self.processes.len()];
        for (to, envelope, supply) in all.into_iter().filter(|(to, ..)| self.model.monitor(*to).is_none()) {
            let message = self.processes[to.index()].ask.mail.number(to, envelope);
            supplies[to.index()].insert(message, supply);
        }
        for (process, supply) in self.processes.iter().zip(&mut supplies) {
            for message in process.graph.start().messages() {
                if let Supply::Times(times) = supply.entry(message).or_insert(Supply::Times(doubled)) {
                    *times = times.saturating_add(1);
                }
            }
        }
        supplies.into_iter().map(|limited| Supplies { limited: Some(limited) }).collect()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.processes.iter().map(ProcessClosure::bytes).sum()
    }

    /// Why there is no closure, if there is none.
    pub(crate) fn gave_up(&self) -> Option<GaveUp> {
        self.gave_up
    }

    /// Was nothing left out because of the bound on what processes do by themselves?
    pub(crate) fn complete(&self) -> bool {
        let waits =
            |process: &ProcessClosure<'_>| self.events_max.is_some() && process.leaves_out(self.model);
        self.gave_up.is_none() && !self.processes.iter().any(waits)
    }

    /// How closely the processes are followed.
    pub(crate) fn levels(&self) -> impl Iterator<Item = Level> {
        self.processes.iter().map(|process| process.level)
    }

    /// How much there is. A local state counts once, in however many nodes it is.
    pub(crate) fn size(&self) -> ClosureSize {
        let locals = |process: &ProcessClosure<'_>| {
            let nodes = 0..u32::try_from(process.size()).unwrap_or(u32::MAX);
            nodes.map(|node| process.local(node)).collect::<BTreeSet<LocalId>>().len()
        };
        let steps = |process: &ProcessClosure<'_>| {
            let step = |edge: &Edge| {
                let to = edge.to.map(|to| process.local(to));
                (process.local(edge.from), to, edge.consumed.clone(), edge.sent)
            };
            process.edges.iter().map(step).collect::<HashSet<_>>().len()
        };
        ClosureSize {
            local_states: self.processes.iter().map(locals).sum::<usize>() as u64,
            messages: self.heard.len() as u64,
            steps: self.processes.iter().map(steps).sum::<usize>() as u64,
        }
    }

    /// Steps that were followed so far, at every level.
    pub(crate) fn followed(&self) -> u64 {
        self.processes.iter().map(|process| process.followed + process.edges.len() as u64).sum()
    }

    /// Runs of handlers so far.
    pub(crate) fn handler_calls(&self) -> u64 {
        self.processes.iter().map(|process| process.ask.handlers.calls()).sum()
    }

    /// What answered differently when it was asked twice, and how.
    pub(crate) fn impure(&mut self) -> Option<&str> {
        self.processes.iter_mut().for_each(|process| process.ask.handlers.conclude());
        self.processes.iter().find_map(|process| process.ask.handlers.impure())
    }

    /// The steps of a process, apart from those that panic.
    pub(crate) fn steps_seen(&self, process: ProcessId) -> impl Iterator<Item = StepSeen> {
        self.processes[process.index()].steps_seen()
    }

    /// The steps of all processes, with the messages numbered in common.
    pub(crate) fn flattened(&self) -> Flattened {
        let mut numbers: Numbering<(ProcessId, Envelope)> = Numbering::default();
        let mut steps = Vec::new();
        for process in &self.processes {
            let mut number = |message: &MessageId| {
                numbers.number((
                    process.ask.mail.receiver(*message),
                    process.ask.mail.envelope(*message).clone(),
                ))
            };
            let mut flat = |edge: &Edge| FlatStep {
                from: edge.from,
                to: edge.to,
                consumed: edge.consumed.iter().map(&mut number).collect(),
                sent: process.ask.mail.messages_of(edge.sent).iter().map(&mut number).collect(),
            };
            steps.push(process.edges.iter().map(&mut flat).collect());
        }
        let mut at_first: HashSet<u32> = self.in_flight().map(|message| numbers.number(message)).collect();
        for to in self.model.ids() {
            at_first.extend(self.model.forgeable(to).iter().map(|sent| numbers.number((to, sent.clone()))));
        }
        Flattened { steps, at_first }
    }
}
