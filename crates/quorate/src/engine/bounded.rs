//! Bounded depth-first search over global states: the baseline that local model checking is measured against.
//!
//! From: Guerraoui, Yabandeh, *Model Checking a Networked System Without the Network*, 3.2 (B-DFS).
//! Differs: states are the kernel's numbers, so a handler runs once for a local step and not once for a transition;
//! there is one search with the bound that is given, none with smaller ones before it.
//! Known: complete up to its bound. A state that is met again on a shorter way is expanded again, since what the
//! bound cut off behind it may be in reach now. Steps of a state are counted once, however often it is expanded.
//! Invariant: the path leads from the start to where the search is; `met` holds, for each state that was ever on it,
//! the least length that the path had then.
//! Held by: testkit/tests/bounded.rs.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::BuildHasherDefault;

use super::explore::{Ended, Violating, all_seen, limit_reached, violated};
use super::{Mutant, Order, Search, Sleep, Watch};
use crate::kernel::{AWAKE, FoldHasher, Found, Judgement, Kernel, State};
use crate::protocol::Model;
use crate::reduce::Reductions;
use crate::verdict::{Coverage, Report, Stopped, Verdict};

/// Searches newest states first, to the depth that is asked for.
pub(super) fn bounded_depth(model: &Model, search: &Search, watch: &mut dyn Watch) -> Report {
    let search =
        &Search { order: Order::Depth, reductions: Reductions::default(), threads: 1, ..search.clone() };
    let mut kernel = Kernel::new(model, search, Sleep::Nobody);
    let mut walk = Walk::new(&mut kernel, search);
    let ended = walk.search(watch);
    walk.measure();
    let Walk { met, path, coverage, .. } = walk;
    let path: Vec<State> = path.into_iter().map(|(state, _)| state).collect();
    let system_states = search.count_system_states.then(|| kernel.system_states(met.keys().copied()));
    let seen = search.look_back.then(|| kernel.seen_in(met.keys().copied()));
    kernel.conclude();
    let verdict = match (kernel.impure(), ended) {
        (Some(handler), _) => Verdict::Unknown(Stopped::Impure(handler.to_string())),
        (None, Ended::Stopped(stopped)) => Verdict::Unknown(stopped),
        (None, Ended::Violated(Violating { panics, .. })) => {
            let schedule = kernel.schedule(&path, panics);
            violated(model, search, schedule.expect("a path of states without reductions tells its steps"))
        }
        (None, Ended::Exhausted) => all_seen(&kernel, search),
    };
    Report {
        verdict,
        properties: model.property_names().map(str::to_string).collect(),
        coverage,
        faults: model.world().faults().into_iter().map(|kind| (kind, kernel.steps_of(kind))).collect(),
        system_states,
        orbits: None,
        seen,
        reductions: Vec::new(),
        rounds: 1,
        threads: search.threads,
        missed_probability: None,
        local: None,
    }
}

/// How many states are expanded between two looks at the watch.
const EXPANDED_UNWATCHED: u64 = 1024;

/// A search in progress.
struct Walk<'r, 'm> {
    kernel: &'r mut Kernel<'m>,
    search: &'r Search,
    met: HashMap<State, u32, BuildHasherDefault<FoldHasher>>,
    /// The states on the way from the start, each with where its successors begin among those that wait.
    path: Vec<(State, usize)>,
    /// The successors of the states on the path that have not been looked at.
    waiting: Vec<State>,
    /// How many states were met no nearer than the bound, and have steps.
    cut: u64,
    expanded: u64,
    coverage: Coverage,
}

impl<'r, 'm> Walk<'r, 'm> {
    fn new(kernel: &'r mut Kernel<'m>, search: &'r Search) -> Self {
        let waiting = vec![kernel.initial()];
        Walk {
            kernel,
            search,
            met: HashMap::default(),
            path: Vec::new(),
            waiting,
            cut: 0,
            expanded: 0,
            coverage: Coverage::default(),
        }
    }

    fn search(&mut self, watch: &mut dyn Watch) -> Ended {
        loop {
            let begin = self.path.last().map_or(0, |(_, begin)| *begin);
            let next = (self.waiting.len() > begin).then(|| self.waiting.pop()).flatten();
            let Some(state) = next else {
                if self.path.pop().is_none() {
                    break;
                }
                continue;
            };
            if let Some(violating) = self.visit(state) {
                return Ended::Violated(violating);
            }
            if self.expanded.is_multiple_of(EXPANDED_UNWATCHED) {
                self.measure();
                if let Some(stopped) = watch.round(&self.coverage) {
                    return Ended::Stopped(stopped);
                }
            }
            if !self.waiting.is_empty()
                && let Some(stopped) = limit_reached(self.kernel, self.search, &self.coverage)
            {
                return Ended::Stopped(stopped);
            }
        }
        match self.search.depth_max {
            Some(limit) if self.cut > 0 => Ended::Stopped(Stopped::Depth(limit)),
            _ => Ended::Exhausted,
        }
    }

    /// Puts a state on the path, if there is anything to find behind it.
    fn visit(&mut self, state: State) -> Option<Violating> {
        let depth = u32::try_from(self.path.len()).expect("a path has fewer than 2^32 states");
        let limit = self.search.depth_max;
        let again = limit.is_some() && self.search.tuning.mutant != Some(Mutant::NoSecondLook);
        let before = match self.met.entry(state) {
            Entry::Vacant(entry) => {
                entry.insert(depth);
                None
            }
            Entry::Occupied(mut entry) if again && depth < *entry.get() => Some(entry.insert(depth)),
            Entry::Occupied(_) => return None,
        };
        let begin = self.waiting.len();
        let (steps, judgement) = self.expand(state);
        self.path.push((state, begin));
        self.expanded += 1;
        self.coverage.depth = self.coverage.depth.max(depth);
        if limit == Some(depth) {
            self.waiting.truncate(begin);
            self.cut += u64::from(steps > 0);
        }
        if before.is_some() {
            self.cut -= u64::from(before == limit && steps > 0);
            return None;
        }
        self.coverage.states += 1;
        self.coverage.transitions += steps as u64;
        let ended = steps == 0 && !judgement.panics();
        self.coverage.terminal_states += u64::from(ended);
        let broken = judgement.broken() || ended && judgement.broken_at_end();
        (broken || judgement.panics()).then_some(Violating { state, panics: !broken })
    }

    /// Lets the successors of a state wait, and says how many steps lead to them.
    fn expand(&mut self, state: State) -> (usize, Judgement) {
        let begin = self.waiting.len();
        loop {
            let waiting = &mut self.waiting;
            let steps = self
                .kernel
                .expand(Found { state, rule: AWAKE }, |successor| waiting.push(successor.state))
                .and_then(|steps| Ok((steps, self.kernel.judge(state)?)));
            match steps {
                Ok(expanded) => return expanded,
                Err(unknown) => {
                    self.waiting.truncate(begin);
                    self.kernel.learn(unknown);
                }
            }
        }
    }

    fn measure(&mut self) {
        self.coverage.frontier = self.waiting.len() as u64;
        (self.coverage.local_steps, self.coverage.handler_calls) = self.kernel.local_counts();
        let met = self.met.capacity() * (size_of::<(State, u32)>() + 1);
        let waiting = self.waiting.capacity() * size_of::<State>();
        let path = self.path.capacity() * size_of::<(State, usize)>();
        self.coverage.bytes = self.kernel.bytes() + (met + waiting + path) as u64;
    }
}
