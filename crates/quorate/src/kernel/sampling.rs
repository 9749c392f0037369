//! Random walks before a search, the same ones every time. A search need not be repeated for local steps that they have
//! seen, and their states show how to divide the processes into groups.

use std::collections::HashMap;

use super::prepare::Kernel;
use super::state::State;
use crate::base::{ProcessId, ProcessSet, fold, heed};

/// No walk before a search has more steps.
const WALK_STEPS: usize = 100;

/// How many configurations are looked at, those of all processes together.
const SAMPLE: usize = 1 << 17;

/// Random numbers, the same in every run.
struct Dice(u64);

impl Default for Dice {
    fn default() -> Self {
        Dice(0x9e37_79b9_7f4a_7c15)
    }
}

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        fold(self.0, 0xd6e8_feb8_6659_fd93)
    }

    /// One of these, if there are any.
    fn pick<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        let roll = usize::try_from(self.roll() >> 33).expect("31 bits");
        from.get(roll % from.len().max(1)).copied()
    }
}

impl Kernel<'_> {
    /// Sees local steps on random walks without any reduction, before reductions are built on what was seen. Ends once so
    /// many walks in a row have seen nothing new.
    pub(super) fn sample_local_steps(&mut self, walks_in_vain: usize) {
        let processes = self.model.processes().len();
        let mut dice = Dice::default();
        let mut known: HashMap<(usize, u32), Vec<(u32, u32)>> = HashMap::new();
        let initial = vec![0; self.states_of.len()];
        let mut in_vain = 0;
        while in_vain < walks_in_vain {
            let before = self.seen_count();
            let mut vector = initial.clone();
            // Some processes move only when the others cannot, so that lagging behind is seen too.
            let slow = ProcessSet::from_bits(dice.roll());
            for _ in 0..WALK_STEPS {
                heed();
                let turn = dice.pick(&(0..processes).collect::<Vec<usize>>()).unwrap_or(0);
                let mut order: Vec<usize> = (0..processes).map(|at| (at + turn) % processes).collect();
                order.sort_by_key(|at| slow.contains(ProcessId::new(*at)));
                let next = order.into_iter().find_map(|at| {
                    let leads = known.entry((at, vector[at])).or_insert_with(|| {
                        let leads = self.states_of[at].steps(vector[at], &mut self.ask);
                        leads.into_iter().filter_map(|lead| lead.to).collect()
                    });
                    let (next, sends) = dice.pick(leads)?;
                    self.vector_after(&vector, at, next, sends)
                });
                let Some(next) = next else { break };
                vector = next;
            }
            in_vain = if self.seen_count() > before { 0 } else { in_vain + 1 };
        }
    }

    /// The states on random walks from the start, each until nothing can happen: the same ones every time.
    /// On each walk some processes, chosen at random, move only when the others cannot, so that states in
    /// which somebody lags far behind are seen too.
    pub(super) fn sample_states(
        &mut self,
        steps_max: u32,
        enough: &mut dyn FnMut(u64) -> bool,
    ) -> Vec<State> {
        let count = SAMPLE / self.states_of.len();
        let mut dice = Dice::default();
        let (mut states, mut state, mut slow) =
            (Vec::new(), self.initial(), ProcessSet::from_bits(dice.roll()));
        let mut steps = 0;
        while states.len() < count && !(states.len().is_multiple_of(256) && enough(self.bytes())) {
            let mut successors = Vec::new();
            while let Err(unknown) =
                self.expand_awake(state, slow, |successor| successors.push(successor.state))
            {
                self.learn(unknown);
                successors.clear();
            }
            match dice.pick(&successors) {
                Some(next) if steps < steps_max => {
                    states.push(state);
                    state = next;
                    steps += 1;
                }
                None if slow != ProcessSet::EMPTY => slow = slow.without(ProcessSet::from_bits(dice.roll())),
                _ => (state, slow, steps) = (self.initial(), ProcessSet::from_bits(dice.roll()), 0),
            }
        }
        states
    }
}
