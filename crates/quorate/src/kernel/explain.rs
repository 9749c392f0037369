//! From a path of reduced states to a schedule: steps of processes, one after the other.
//!
//! A path of vectors of beliefs says what was sent, in which order. For each process there is a run that receives
//! and sends just that, whatever the others do, so the runs can be found one by one and put together. A path of
//! representatives of symmetric states is followed by a path of states that they stand for.
//! It stands beside `expand` and not with the reductions, since it asks the kernel for steps and representatives.
//!
//! Held by: every violation that a reduced search finds is confirmed by replay.

use std::collections::HashMap;

use super::groups::PropertyViews;
use super::prepare::Kernel;
use super::process::{AskContext, ConfigurationId, ConfigurationStep, NOTHING, SendListId};
use super::reductions::ProcessStates;
use crate::base::{ProcessId, ProcessSet};
use crate::model::{Schedule, ScheduledStep, Sending, Taken};
use crate::world::StepKind;

/// What happens between two vectors.
enum Move {
    /// A process steps to another of its states, and sends.
    Step { process: usize, next: u32, sends: SendListId },
    /// These processes never step again.
    Still(Vec<usize>),
}

/// How a process came to a configuration.
#[derive(Clone, Copy)]
enum Came {
    /// It started there, or a message came to the configuration of the layer before.
    From(ConfigurationId),
    /// By a step of the configuration of the layer before.
    Sending(ConfigurationId, usize),
    /// By a step, from a configuration of the same layer.
    Silently(ConfigurationId, usize),
}

/// Where a process can be after each thing that it received or sent: a layer for each.
struct Layers(Vec<HashMap<ConfigurationId, Came>>);

/// Something that a process receives, sends or decides.
enum Turn {
    Received(SendListId),
    Sent { next: u32, sends: SendListId },
    Stilled,
}

/// Where a process is in the end.
struct End {
    configuration: ConfigurationId,
    /// It has a step that panics.
    panics: bool,
}

impl Kernel<'_> {
    /// The steps along a path of states, to the violation in the last one, or to its panicking step. `None` if they do
    /// not follow from a reduced path.
    pub(crate) fn schedule(&mut self, path: &[Vec<u32>], panics: bool) -> Option<Schedule> {
        self.schedule_of_path(path, panics)
    }

    /// A schedule that follows a path of reduced states, to a violation in the last one, or to a step that panics
    /// there. `None` if it does not follow from the path alone.
    fn schedule_of_path(&mut self, path: &[Vec<u32>], panics: bool) -> Option<Schedule> {
        let mut vector = self.initial_vector();
        let mut moves = Vec::new();
        for next in &path[1..] {
            let (made, reached) = self.move_to(&vector, next)?;
            moves.push(made);
            vector = reached;
        }
        let processes = self.states_of.len();
        let mut turns: Vec<Vec<Turn>> = (0..processes).map(|_| Vec::new()).collect();
        // For each move, who takes a turn in it, in order.
        let mut order: Vec<Vec<usize>> = Vec::new();
        for made in &moves {
            order.push(self.turns_of(made, &mut turns));
        }
        let mut runs = Vec::new();
        let ends = self.ends(&vector, panics)?;
        for ((at, turns), end) in turns.iter().enumerate().zip(&ends) {
            runs.push(self.local_run(at, turns, end.configuration)?);
        }
        let mut schedule = Schedule::new();
        let mut taken = vec![0; processes];
        let everyone: Vec<usize> = (0..processes).collect();
        for who in std::iter::once(&everyone).chain(&order) {
            for &at in who {
                schedule.extend(runs[at].get(taken[at]).cloned().into_iter().flatten());
                taken[at] += 1;
            }
        }
        for (at, end) in ends.iter().enumerate().filter(|(_, end)| end.panics) {
            let steps = self.states_of[at].graph.steps(end.configuration, &mut self.ask);
            let step = steps.into_iter().find(|step| step.leads.is_none())?;
            schedule.push(self.scheduled(ProcessId::new(at), step));
        }
        Some(schedule)
    }

    /// A move from a vector to one that another stands for.
    fn move_to(&mut self, vector: &[u32], to: &[u32]) -> Option<(Move, Vec<u32>)> {
        for process in 0..self.model.processes().len() {
            let leads = self.states_of[process].steps(vector[process], &mut self.ask);
            for (next, sends) in leads.into_iter().filter_map(|lead| lead.to) {
                let Some(reached) = self.vector_after(vector, process, next, sends) else { continue };
                if self.stands_for(to, &reached) {
                    return Some((Move::Step { process, next, sends }, reached));
                }
            }
        }
        let members = self.members_that_step(vector);
        if members == ProcessSet::ALL {
            return None;
        }
        let still: Vec<usize> =
            (0..self.model.processes().len()).filter(|at| members.contains(ProcessId::new(*at))).collect();
        let reached = self.stilled(vector, members)?;
        self.stands_for(to, &reached).then_some((Move::Still(still), reached))
    }

    /// Is this the vector that stands for another?
    fn stands_for(&mut self, this: &[u32], other: &[u32]) -> bool {
        let mut represented = other.to_vec();
        self.represent(&mut represented);
        represented == this
    }

    /// Adds the turns that make up a move, and returns whose they are.
    fn turns_of(&mut self, made: &Move, turns: &mut [Vec<Turn>]) -> Vec<usize> {
        match made {
            Move::Step { process, next, sends } => {
                turns[*process].push(Turn::Sent { next: *next, sends: *sends });
                let mut who = vec![*process];
                for (at, turns) in turns.iter_mut().enumerate() {
                    let (arriving, _) = self.ask.mail.split_own(*sends, ProcessId::new(at));
                    if arriving != NOTHING {
                        turns.push(Turn::Received(arriving));
                        who.push(at);
                    }
                }
                who
            }
            Move::Still(processes) => {
                for at in processes {
                    turns[*at].push(Turn::Stilled);
                }
                processes.clone()
            }
        }
    }

    /// The steps that lead a process to a configuration: those before its first turn, then those of each turn.
    fn local_run(
        &mut self,
        at: usize,
        turns: &[Turn],
        end: ConfigurationId,
    ) -> Option<Vec<Vec<ScheduledStep>>> {
        let layers = Layers::of(&mut self.states_of[at], turns, &mut self.ask);
        let mut run: Vec<Vec<ScheduledStep>> = vec![Vec::new(); layers.0.len()];
        let (mut layer, mut configuration) = (layers.0.len() - 1, end);
        loop {
            let came = *layers.0[layer].get(&configuration)?;
            let (from, step) = match came {
                Came::From(from) => (from, None),
                Came::Sending(from, step) | Came::Silently(from, step) => (from, Some(step)),
            };
            if let Some(step) = step {
                let step = self.states_of[at].graph.steps(from, &mut self.ask).swap_remove(step);
                run[layer].push(self.scheduled(ProcessId::new(at), step));
            }
            configuration = from;
            if !matches!(came, Came::Silently(..)) {
                let Some(before) = layer.checked_sub(1) else { break };
                layer = before;
            }
        }
        for steps in &mut run {
            steps.reverse();
        }
        Some(run)
    }

    /// For each process, a configuration that it can be in, such that together they violate a property; or, of one
    /// of them, that has a step that panics.
    fn ends(&mut self, vector: &[u32], panics: bool) -> Option<Vec<End>> {
        let first = |at: usize| self.states_of[at].members(vector[at])[0];
        let mut ends: Vec<End> =
            (0..vector.len()).map(|at| End { configuration: first(at), panics: false }).collect();
        if panics {
            for at in 0..self.model.processes().len() {
                for configuration in self.states_of[at].members(vector[at]) {
                    let steps = self.states_of[at].graph.steps(configuration, &mut self.ask);
                    if steps.iter().any(|step| step.leads.is_none()) {
                        ends[at] = End { configuration, panics: true };
                        return Some(ends);
                    }
                }
            }
            return None;
        }
        let chosen = PropertyViews::violating(self.model, vector, &mut self.states_of, &mut self.ask)?;
        for (end, configuration) in ends.iter_mut().zip(chosen) {
            end.configuration = configuration;
        }
        Some(ends)
    }

    /// A step of a process with all that replay needs to take it.
    fn scheduled(&self, process: ProcessId, step: ConfigurationStep) -> ScheduledStep {
        let mail = &self.ask.mail;
        let taken = step.consumed.iter().map(|offer| Taken {
            envelope: mail.envelope(offer.message).clone(),
            nth: offer.nth,
            forged: offer.position.is_none(),
        });
        let sent = mail.messages_of(step.sent).iter().filter_map(|message| {
            let (to, body) = (mail.receiver(*message), mail.envelope(*message).body.clone());
            self.model.monitor(to).is_none().then_some(Sending { to, body })
        });
        ScheduledStep {
            process,
            kind: step.kind,
            transition: step.transition,
            consumed: taken.collect(),
            sent: if step.kind == StepKind::Crash { sent.collect() } else { Vec::new() },
            choices: step.choices,
        }
    }
}

impl Layers {
    fn of(states: &mut ProcessStates, turns: &[Turn], ask: &mut AskContext<'_>) -> Self {
        let mut layers = Layers(vec![HashMap::from([(0, Came::From(0))])]);
        layers.spread(states, ask);
        for turn in turns {
            let before: Vec<ConfigurationId> = layers.newest();
            let mut layer: HashMap<ConfigurationId, Came> = HashMap::new();
            for from in before {
                match turn {
                    Turn::Received(sends) => {
                        if let Some(next) = states.graph.arrive(from, *sends, ask) {
                            layer.entry(next).or_insert(Came::From(from));
                        }
                    }
                    Turn::Sent { next: wanted, sends } => {
                        let steps: Vec<ConfigurationStep> = states.graph.steps(from, ask);
                        for (at, step) in steps.iter().enumerate() {
                            let Some((next, sent)) = step.leads else { continue };
                            // A process without beliefs goes exactly where the path goes.
                            if sent == *sends && (states.believes() || next == *wanted) {
                                layer.entry(next).or_insert(Came::Sending(from, at));
                            }
                        }
                    }
                    Turn::Stilled => {
                        if states.graph.steps(from, ask).iter().all(|step| !step.goes_on()) {
                            layer.insert(from, Came::From(from));
                        }
                    }
                }
            }
            layers.0.push(layer);
            if !matches!(turn, Turn::Stilled) {
                layers.spread(states, ask);
            }
        }
        layers
    }

    /// The configurations of the newest layer, in order.
    fn newest(&self) -> Vec<ConfigurationId> {
        let mut newest: Vec<ConfigurationId> =
            self.0.last().into_iter().flatten().map(|(at, _)| *at).collect();
        newest.sort_unstable();
        newest
    }

    /// Adds what the newest layer reaches without sending.
    fn spread(&mut self, states: &mut ProcessStates, ask: &mut AskContext<'_>) {
        if !states.believes() {
            return;
        }
        let mut waiting = self.newest();
        let Some(layer) = self.0.last_mut() else { return };
        while let Some(from) = waiting.pop() {
            for (at, step) in states.graph.steps(from, ask).iter().enumerate() {
                if let Some((next, NOTHING)) = step.leads
                    && !layer.contains_key(&next)
                {
                    layer.insert(next, Came::Silently(from, at));
                    waiting.push(next);
                }
            }
        }
    }
}
