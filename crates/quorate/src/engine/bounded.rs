//! Bounded depth-first search over global states: the baseline that local model checking is measured against.
//!
//! From: Guerraoui, Yabandeh, *Model Checking a Networked System Without the Network*, 3.2 (B-DFS).
//! Differs: states are the kernel's numbers, so a handler runs once for a local step and not once for a transition
//! (crates/quorate-papers/src/engines/plain_depth.rs is as the paper's in that); there is one search with the bound
//! that is given, none with smaller ones before it.
//! Known: complete up to its bound. A state that is met again on a shorter way is expanded again, since what the
//! bound cut off behind it may be in reach now. Steps of a state are counted once, however often it is expanded.
//! Invariant: the path leads from the start to where the search is; `met` holds, for each state that was ever on it,
//! the least length that the path had then.
//! Held by: testkit/tests/bounded.rs.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hash};

use super::explore::limit_reached;
use super::{Count, Engine, Explore, Order, Refusal, Search, violation};
use crate::base::{FoldHasher, Mutant, discard, heed};
use crate::kernel::{Found, Kernel, NO_SLEEP, Sleep, State};
use crate::model::Model;
use crate::replay::Length;
use crate::report::{Coverage, Details, ExploreDetails, Report, Stopped, Verdict, Watch, heeding};

/// Searches global states newest first, up to a depth; handlers run once for each distinct local step.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct BoundedDepth {
    /// Of equal messages that wait for a process, at most so many besides the first: see [`Explore::copies_max`].
    pub copies_max: Option<u32>,
    /// What is counted beside states.
    pub count: Count,
    pub(crate) census: bool,
}

impl BoundedDepth {
    /// As it is unless it is configured.
    pub const DEFAULT: BoundedDepth = BoundedDepth { copies_max: None, count: Count::Nothing, census: false };

    /// The search over global states that is like this one, but for the order.
    fn explore(&self) -> Explore {
        Explore {
            order: Order::Depth,
            copies_max: self.copies_max,
            count: self.count,
            census: self.census,
            ..Explore::DEFAULT
        }
    }
}

impl Engine for BoundedDepth {
    fn name(&self) -> &'static str {
        "b-dfs-memo"
    }

    fn purpose(&self) -> &'static str {
        "global states newest first up to a depth: the baseline of local model checking, with handlers remembered"
    }

    fn refuses(&self, model: &Model, search: &Search) -> Option<Refusal> {
        // It may come back to a state on a shorter way, so it has a bound.
        let unbounded = Search { depth_max: None, ..search.clone() };
        self.explore().refuses(model, &unbounded)
    }

    fn search(&self, model: &Model, search: &Search, watch: &mut dyn Watch) -> Report {
        let explore = self.explore();
        let mut kernel = Kernel::new(model, &explore.kernel(search), Sleep::Nobody);
        kernel.prepare();
        let Walked { end, path, met, coverage } =
            walk(&mut Numbers { kernel: &mut kernel, search }, search, watch);
        let mut details = ExploreDetails { repeats: 1, ..ExploreDetails::default() };
        let counted = heeding(watch.stop(), || {
            let count = self.count == Count::SystemStates;
            details.system_states = count.then(|| kernel.system_states(met.iter().copied()));
            details.census = self.census.then(|| kernel.seen_in(vectors(&kernel, &met).into_iter()));
            kernel.conclude();
        });
        let verdict = match (kernel.impure(), end) {
            (Some(handler), _) => Verdict::Unknown(Stopped::Impure(handler.to_string())),
            (None, End::Stopped(stopped)) => Verdict::Unknown(stopped),
            (None, End::Violated { panics }) => violation(watch, || {
                let path = vectors(&kernel, &path);
                let schedule = kernel.schedule(&path, panics);
                let schedule = schedule.expect("a path of states without reductions is a run");
                Verdict::shown_by(model, schedule, Length::MayShrink)
            }),
            (None, End::Exhausted) => counted.map_or_else(Verdict::Unknown, |()| explore.all_seen(&kernel)),
        };
        let faults = model.world().faults().into_iter().map(|kind| (kind, kernel.steps_of(kind))).collect();
        if matches!(verdict, Verdict::Unknown(_)) {
            kernel.discard();
        }
        Report { faults, ..Report::new(model, verdict, coverage, Details::Explore(details)) }
    }
}

fn vectors(kernel: &Kernel<'_>, states: &[State]) -> Vec<Vec<u32>> {
    states.iter().map(|state| kernel.vector(*state)).collect()
}

/// What is searched: states, and where their steps lead.
pub trait Space {
    /// A state.
    type State: Clone + Eq + Hash + Send + 'static;

    /// Where the search starts.
    fn initial(&self) -> Self::State;

    /// Adds the successors of a state.
    fn expand(&mut self, state: &Self::State, successors: &mut Vec<Self::State>) -> Expanded;

    /// Bytes of a state elsewhere than in itself.
    fn bytes_of(&self, state: &Self::State) -> usize;

    /// Local steps, runs of handlers, and bytes in tables.
    fn measure(&self, coverage: &mut Coverage);

    /// A reason to stop.
    fn limit_reached(&self, coverage: &Coverage) -> Option<Stopped>;
}

/// What there is to say of a state.
pub struct Expanded {
    /// How many steps it has, without those that panic.
    pub steps: usize,
    /// Does a run end in it: is no step owed, and does none panic?
    pub ends: bool,
    /// Does it violate a property, as an end if it is one?
    pub broken: bool,
    /// Does a step of it panic?
    pub panics: bool,
}

/// The kernel's states.
struct Numbers<'r, 'm> {
    kernel: &'r mut Kernel<'m>,
    search: &'r Search,
}

impl Space for Numbers<'_, '_> {
    type State = State;

    fn initial(&self) -> State {
        self.kernel.initial()
    }

    fn expand(&mut self, state: &State, successors: &mut Vec<State>) -> Expanded {
        let (state, before) = (*state, successors.len());
        loop {
            let expanded = self
                .kernel
                .expand(Found { state, sleep: NO_SLEEP }, |successor| successors.push(successor.state))
                .and_then(|steps| Ok((steps, self.kernel.ended(state, steps)?, self.kernel.judge(state)?)));
            match expanded {
                Ok((steps, ends, judgement)) => {
                    let ends = ends && !judgement.panics();
                    let broken = judgement.broken() || ends && judgement.broken_at_end();
                    return Expanded { steps, ends, broken, panics: judgement.panics() };
                }
                Err(unknown) => {
                    successors.truncate(before);
                    self.kernel.learn(unknown);
                }
            }
        }
    }

    fn bytes_of(&self, _: &State) -> usize {
        0
    }

    fn measure(&self, coverage: &mut Coverage) {
        (coverage.local_steps, coverage.handler_calls) = self.kernel.local_counts();
        coverage.bytes = self.kernel.bytes();
    }

    fn limit_reached(&self, coverage: &Coverage) -> Option<Stopped> {
        limit_reached(self.kernel, self.search, coverage)
    }
}

/// How a search ended.
pub enum End {
    /// There is nothing left to look at.
    Exhausted,
    /// It had to stop.
    Stopped(
        /// Why.
        Stopped,
    ),
    /// The last state of the path violates, by itself or with a step that panics.
    Violated {
        /// With a step that panics.
        panics: bool,
    },
}

type Met<S> = HashMap<S, u32, BuildHasherDefault<FoldHasher>>;

/// What a search has left.
pub struct Walked<S> {
    /// How it ended.
    pub end: End,
    /// The states from the start to where it ended.
    pub path: Vec<S>,
    /// Every state that it has met.
    pub met: Vec<S>,
    /// How much it has seen.
    pub coverage: Coverage,
}

/// Searches a space, newest states first.
pub fn walk<S: Space>(space: &mut S, search: &Search, watch: &mut dyn Watch) -> Walked<S::State> {
    let waiting = vec![space.initial()];
    let (met, path, coverage) = (HashMap::default(), Vec::new(), Coverage::default());
    let mut walk = Walk { space, search, met, path, waiting, cut: 0, expanded: 0, bytes: 0, coverage };
    let end = heeding(watch.stop(), || walk.search(watch)).unwrap_or_else(End::Stopped);
    walk.measure();
    let Walk { path, met, waiting, coverage, .. } = walk;
    discard(waiting);
    Walked {
        end,
        path: path.into_iter().map(|(state, _)| state).collect(),
        met: met.into_keys().collect(),
        coverage,
    }
}

/// How many states are expanded between two looks at the watch.
const EXPANDED_UNWATCHED: u64 = 1024;

/// A search in progress.
struct Walk<'r, S: Space> {
    space: &'r mut S,
    search: &'r Search,
    met: Met<S::State>,
    /// The states on the way from the start, each with where its successors begin among those that wait.
    path: Vec<(S::State, usize)>,
    /// The successors of the states on the path that have not been looked at.
    waiting: Vec<S::State>,
    /// How many states were met no nearer than the bound, and have steps.
    cut: u64,
    expanded: u64,
    /// What the states have elsewhere than in themselves.
    bytes: usize,
    coverage: Coverage,
}

impl<S: Space> Walk<'_, S> {
    fn search(&mut self, watch: &mut dyn Watch) -> End {
        loop {
            let begin = self.path.last().map_or(0, |(_, begin)| *begin);
            let next = (self.waiting.len() > begin).then(|| self.waiting.pop()).flatten();
            let Some(state) = next else {
                if self.path.pop().is_none() {
                    break;
                }
                continue;
            };
            heed();
            if let Some(end) = self.visit(state) {
                return end;
            }
            if self.expanded.is_multiple_of(EXPANDED_UNWATCHED) {
                self.measure();
                if let Some(stopped) = watch.progress(&self.coverage) {
                    return End::Stopped(stopped);
                }
            }
            if !self.waiting.is_empty()
                && let Some(stopped) = self.space.limit_reached(&self.coverage)
            {
                return End::Stopped(stopped);
            }
        }
        match self.search.depth_max {
            Some(limit) if self.cut > 0 => End::Stopped(Stopped::Depth(limit)),
            _ => End::Exhausted,
        }
    }

    /// Puts a state on the path, if there is anything to find behind it.
    fn visit(&mut self, state: S::State) -> Option<End> {
        let depth = u32::try_from(self.path.len()).expect("a path has fewer than 2^32 states");
        let limit = self.search.depth_max;
        let again = limit.is_some() && !self.search.tuning.mutants.has(Mutant::NoSecondLook);
        let before = match self.met.entry(state.clone()) {
            Entry::Vacant(entry) => {
                entry.insert(depth);
                self.bytes += self.space.bytes_of(&state);
                None
            }
            Entry::Occupied(mut entry) if again && depth < *entry.get() => Some(entry.insert(depth)),
            Entry::Occupied(_) => return None,
        };
        let begin = self.waiting.len();
        let Expanded { steps, ends, broken, panics } = self.space.expand(&state, &mut self.waiting);
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
        self.coverage.terminal_states += u64::from(ends);
        (broken || panics).then_some(End::Violated { panics: !broken })
    }

    fn measure(&mut self) {
        self.space.measure(&mut self.coverage);
        self.coverage.frontier = self.waiting.len() as u64;
        let met = self.met.capacity() * (size_of::<(S::State, u32)>() + 1);
        let waiting = self.waiting.capacity() * size_of::<S::State>();
        let path = self.path.capacity() * size_of::<(S::State, usize)>();
        self.coverage.bytes += (self.bytes + met + waiting + path) as u64;
    }
}
