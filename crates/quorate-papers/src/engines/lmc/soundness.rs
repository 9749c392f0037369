//! Can a combination of local states happen? Goes through the sequences of events that lead to them.
//!
//! From: figure 9, `isStateSound` and `isSequenceValid`; 4.2 for how a sequence is executed on hashes alone.
//! Known: exponential in the number of ways to the local states, which is what makes the published algorithm slow.

use quorate::ProcessId;
use quorate::model::{Schedule, ScheduledStep, Taken};
use quorate::report::heed;
use quorate::world::StepKind;

use super::{LocalId, MessageId, Predecessor, Run, Shortcut};

/// The steps from the start to a local state, each named by where it leads and which of the ways there it is.
type Sequence = Vec<(LocalId, usize)>;

impl Run<'_> {
    /// Verifies a combination that violates a property: notes the run that leads to it, or that there is none so far.
    pub(super) fn verify(&mut self, combination: &[LocalId]) {
        if !self.goes_on() {
            return;
        }
        self.figures.verifications += 1;
        self.schedule = self.sound(combination);
        if self.schedule.is_none() {
            self.rejected.insert(combination.to_vec());
        }
    }

    /// `isStateSound`: a run that leads to a combination, in any of the ways in which its local states come about.
    fn sound(&mut self, combination: &[LocalId]) -> Option<Schedule> {
        let mut lists: Vec<Vec<Sequence>> = Vec::new();
        for (at, local) in combination.iter().enumerate() {
            let (mut found, mut way) = (Vec::new(), Vec::new());
            let distances = self.distances(at);
            self.sequences(at, *local, &distances, &mut way, &mut found);
            lists.push(found);
        }
        let mut chosen = vec![0; lists.len()];
        while self.goes_on() {
            let sequences: Option<Vec<&Sequence>> =
                lists.iter().zip(&chosen).map(|(list, at)| list.get(*at)).collect();
            self.figures.sequences += 1;
            self.tick();
            if let Some(schedule) = self.valid(&sequences?) {
                return Some(schedule);
            }
            // The next choice of one sequence for each process.
            let next = (0..lists.len()).rev().find(|at| chosen[*at] + 1 < lists[*at].len())?;
            chosen[next] += 1;
            chosen[next + 1..].fill(0);
        }
        None
    }

    /// How many events it takes at least to come to each local state.
    fn distances(&self, at: usize) -> Vec<usize> {
        let locals = &self.nodes[at].locals;
        let mut distances = vec![usize::MAX; locals.len()];
        distances[0] = 0;
        let mut changed = true;
        while changed {
            changed = false;
            for (to, local) in locals.iter().enumerate() {
                heed();
                let nearest = local.predecessors.iter().map(|step| distances[step.from].saturating_add(1));
                if let Some(distance) = nearest.min().filter(|distance| *distance < distances[to]) {
                    (distances[to], changed) = (distance, true);
                }
            }
        }
        distances
    }

    /// Every sequence of events from the start to a local state, and on along a way that was taken backwards from
    /// where it should lead.
    fn sequences(
        &mut self,
        at: usize,
        local: LocalId,
        distances: &[usize],
        way: &mut Sequence,
        found: &mut Vec<Sequence>,
    ) {
        self.tick();
        if !self.goes_on() {
            return;
        }
        if local == 0 {
            found.push(way.iter().rev().copied().collect());
        }
        let steps = self.nodes[at].locals[local].predecessors.len();
        for step in 0..steps {
            let from = self.nodes[at].locals[local].predecessors[step].from;
            if self.takes(Shortcut::SelfLoops) {
                if from == local || way.iter().any(|(passed, _)| *passed == from) {
                    continue;
                }
            } else if way.len() + distances[from] >= self.options.events_max {
                self.cut = true;
                continue;
            }
            way.push((local, step));
            self.sequences(at, from, distances, way, found);
            way.pop();
        }
    }

    fn step(&self, at: usize, (local, step): (LocalId, usize)) -> &Predecessor {
        &self.nodes[at].locals[local].predecessors[step]
    }

    /// `isSequenceValid`: executes whatever is enabled, the first process first, until nothing is left or enabled.
    fn valid(&self, sequences: &[&Sequence]) -> Option<Schedule> {
        let mut network = Network::new(self.messages.len());
        for message in &self.in_flight {
            network.put(*message, self);
        }
        let mut done = vec![0; sequences.len()];
        let mut order: Vec<(usize, (LocalId, usize))> = Vec::new();
        let next = |network: &Network, done: &[usize]| {
            (0..sequences.len()).find_map(|at| {
                let step = *sequences[at].get(done[at])?;
                network.offers(&self.step(at, step).consumed).then_some((at, step))
            })
        };
        while let Some((at, step)) = next(&network, &done) {
            done[at] += 1;
            let Predecessor { consumed, sends, .. } = self.step(at, step);
            network.take(consumed);
            for message in sends {
                network.put(*message, self);
            }
            order.push((at, step));
        }
        let whole = sequences.iter().zip(&done).all(|(sequence, done)| sequence.len() == *done);
        whole.then(|| {
            // A step that panics is the last of its process, and ends the run.
            order.sort_by_key(|(at, (local, _))| self.nodes[*at].locals[*local].value.is_none());
            order.into_iter().map(|(at, step)| self.scheduled(at, step)).collect()
        })
    }

    fn scheduled(&self, at: usize, step: (LocalId, usize)) -> ScheduledStep {
        let Predecessor { transition, consumed, choices, .. } = self.step(at, step);
        let taken = |message: &MessageId| Taken {
            envelope: self.messages.envelope(*message).clone(),
            nth: 0,
            forged: false,
        };
        ScheduledStep {
            process: ProcessId::new(at),
            kind: StepKind::Transition,
            transition: *transition,
            consumed: consumed.iter().map(taken).collect(),
            choices: choices.clone(),
            sent: Vec::new(),
        }
    }
}

/// The messages on their way while a sequence is executed.
struct Network {
    copies: Vec<usize>,
    sent: Vec<bool>,
}

impl Network {
    fn new(messages: usize) -> Self {
        Network { copies: vec![0; messages], sent: vec![false; messages] }
    }

    fn offers(&self, messages: &[MessageId]) -> bool {
        messages.iter().all(|message| self.copies[*message] > 0)
    }

    fn take(&mut self, messages: &[MessageId]) {
        for message in messages {
            self.copies[*message] -= 1;
        }
    }

    fn put(&mut self, message: MessageId, run: &Run<'_>) {
        let again = std::mem::replace(&mut self.sent[message], true);
        if again && run.takes(Shortcut::NoDuplicates) {
            return;
        }
        let kept = if run.takes(Shortcut::SetOfHashes) { 0 } else { self.copies[message] };
        self.copies[message] = kept + 1;
    }
}
