//! Stateful search over global states.
//!
//! From: docs/theory/kernel.md 8. Breadth-first or depth-first is a value, the frontier; a search is the same for every
//! number of threads (see `round`). The loop is in `run`, what follows a violation in `explain`.
//! Known: breadth-first counterexamples are shortest; depth-first ones are minimised.
//! Held by: testkit/tests/agreement.rs, crates/quorate-zoo/tests/counts.rs.

mod explain;
mod frontier;
mod pairs;
mod race;
mod round;
mod rows;
mod run;
mod space;
mod visited;

use std::sync::Arc;

pub(super) use race::{CALL_COST, Race, Raced, VECTOR_COST, may_race};
pub(super) use run::limit_reached;

use self::explain::explain;
use self::run::{Ended, Exploration, Run, Violating};
use self::space::Way;
use super::{Engine, Refusal, Search};
use crate::base::ProcessId;
use crate::kernel::{self, AllowedLocals, Kernel, Tuning};
use crate::model::{Model, at_end};
use crate::reduce::Reduction;
use crate::report::{
    Details, ExploreDetails, Fallback, Report, Stopped, SymmetryCompared, Verdict, Watch, heeding,
};
use crate::world::{Delivery, World};

/// In which order states are expanded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Order {
    /// Nearest first: finds shortest counterexamples.
    #[default]
    Breadth,
    /// Newest first: reaches deep states early, with a small frontier.
    Depth,
}

/// How visited states are remembered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Visited {
    /// Exactly.
    #[default]
    Exact,
    /// By a fingerprint where a state no longer fits 32 bits: less memory then, and a small probability of
    /// missing a state, which is reported.
    Fingerprint,
}

/// What is counted beside states; not by fingerprint, which forgets the states.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Count {
    /// Nothing.
    #[default]
    Nothing,
    /// The vectors of local states.
    SystemStates,
    /// With symmetry, the states that the visited ones stand for.
    Orbits,
}

/// Explores every reachable global state, or as many as the reductions say are enough.
///
/// ```
/// use quorate::engine::{Engine, Explore, Order, Visited};
///
/// let engine = Explore::default().order(Order::Depth).visited(Visited::Fingerprint);
/// assert_eq!(engine.name(), "explore");
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Explore {
    /// In which order.
    pub order: Order,
    /// How visited states are remembered.
    pub visited: Visited,
    /// Of equal messages that wait for a process, at most so many besides the first: more are lost. What holds then
    /// holds within this limit, if it was reached. Not for properties that look at the end of runs, which may come
    /// earlier then, nor where a message that is left out makes a difference: in channels that keep an order or have
    /// little room, and where all that was delivered must be consumed.
    pub copies_max: Option<u32>,
    /// What is counted beside states.
    pub count: Count,
    /// The local states in which the processes stay; whatever else they could do is left out.
    pub(crate) allowed_locals: Option<Arc<AllowedLocals>>,
    /// Report what the visited states are made of: for tests, which compare it with what there is.
    pub(crate) census: bool,
}

impl Explore {
    /// As it is unless it is configured.
    pub const DEFAULT: Explore = Explore {
        order: Order::Breadth,
        visited: Visited::Exact,
        copies_max: None,
        count: Count::Nothing,
        allowed_locals: None,
        census: false,
    };

    /// In this order.
    #[must_use]
    pub fn order(self, order: Order) -> Self {
        Explore { order, ..self }
    }

    /// Remembers visited states in this way.
    #[must_use]
    pub fn visited(self, visited: Visited) -> Self {
        Explore { visited, ..self }
    }

    /// Keeps so many equal messages besides the first.
    #[must_use]
    pub fn copies_max(self, copies: u32) -> Self {
        Explore { copies_max: Some(copies), ..self }
    }

    /// Counts this beside states.
    #[must_use]
    pub fn count(self, count: Count) -> Self {
        Explore { count, ..self }
    }

    /// What of it, and of a search, concerns the kernel.
    pub(super) fn kernel(&self, search: &Search) -> kernel::Options {
        kernel::Options {
            reductions: search.reductions.clone(),
            copies_max: self.copies_max,
            allowed_locals: self.allowed_locals.clone(),
            tuning: search.tuning,
        }
    }

    /// The verdict when every state was seen, but for those that a limit on equal messages hides.
    pub(super) fn all_seen(&self, kernel: &Kernel<'_>) -> Verdict {
        if kernel.lost_copies() {
            return Verdict::HoldsWithin(format!(
                "of equal messages that wait for a process, at most {} besides the first are kept",
                self.copies_max.unwrap_or_default()
            ));
        }
        Verdict::Holds
    }
}

impl Engine for Explore {
    fn name(&self) -> &'static str {
        "explore"
    }

    fn purpose(&self) -> &'static str {
        "all global states, with reductions: proofs, and shortest counterexamples"
    }

    fn refuses(&self, model: &Model, search: &Search) -> Option<Refusal> {
        if self.order == Order::Depth && search.depth_max.is_some() {
            return Some(Refusal::DepthFirstWithBound);
        }
        if self.count == Count::SystemStates && self.visited == Visited::Fingerprint {
            return Some(Refusal::CountsForgottenStates);
        }
        self.copies_max?;
        let World { channel, delivery, .. } = *model.world();
        if delivery == Delivery::InStepsConsumingAll {
            return Some(Refusal::ConsumesCopies);
        }
        if channel.shows_missing_copies() {
            return Some(Refusal::MissesCopies(channel));
        }
        at_end(model).map(|property| Refusal::EndsComeEarlier { property: property.to_string() })
    }

    fn refuses_reduction(&self, reduction: Reduction) -> Option<Refusal> {
        if self.count == Count::SystemStates && reduction != Reduction::Inert {
            return Some(Refusal::CountsAllStates { reduction: reduction.name() });
        }
        (self.copies_max.is_some() && reduction == Reduction::Stubborn)
            .then_some(Refusal::LimitsEqualMessages)
    }

    fn search(&self, model: &Model, search: &Search, watch: &mut dyn Watch) -> Report {
        let mut race = Race::new(model, self, search);
        let raced = race.finish(watch);
        race.report(raced, watch)
    }
}

/// What a search has given up of its reductions.
fn given_up(model: &Model, kernel: &Kernel<'_>, search: &Search) -> Vec<Fallback> {
    let name = |process: ProcessId| match model.monitor(process) {
        Some(monitor) => format!("monitor '{}'", monitor.name()),
        None => model.process(process).name().to_string(),
    };
    let Tuning { beliefs_max, members_max, .. } = search.tuning;
    let beliefs = kernel.disbelieved().map(|process| Fallback::Beliefs {
        process: name(process),
        beliefs_max,
        members_max,
    });
    let most = search.tuning.inbox_bits_max;
    let inboxes =
        kernel.with_long_inboxes().map(|process| Fallback::Inboxes { process: name(process), most });
    let asked = &search.reductions;
    let stubborn = asked.has(Reduction::Stubborn) && !kernel.in_use().contains(&Reduction::Stubborn);
    let symmetry = kernel.without_symmetry().map(|why| Fallback::Symmetry(why.to_string()));
    beliefs.chain(inboxes).chain(stubborn.then_some(Fallback::StubbornWithBeliefs)).chain(symmetry).collect()
}

/// Explores, and in the end reads from what is known of the model then.
pub(crate) fn explore_and_read<T>(
    model: &Model,
    engine: &Explore,
    search: &Search,
    watch: &mut dyn Watch,
    read: impl FnOnce(&Kernel<'_>) -> T,
) -> (Report, T) {
    let mut exploration = Exploration::new(model, engine, search);
    let ended = exploration.search(None, watch);
    let (report, kernel) = conclude(model, exploration, ended, watch);
    let read = read(&kernel);
    if matches!(report.verdict, Verdict::Unknown(_)) {
        kernel.discard();
    }
    (report, read)
}

/// The report on a search that has ended.
fn conclude<'m>(
    model: &'m Model,
    exploration: Exploration<'m>,
    mut ended: Ended,
    watch: &mut dyn Watch,
) -> (Report, Kernel<'m>) {
    let search = exploration.searched();
    let needed_none = exploration.is_plain() && matches!(ended, Ended::Exhausted | Ended::Violated(_));
    let Exploration { mut kernel, mut run, repeats, .. } = exploration;
    if let (Ended::Stopped(_), Some((_, state))) = (&ended, run.panicking) {
        // A limit does not undo what was found before it.
        ended = Ended::Violated(Violating { state, panics: true });
    }
    let (coverage, missed) = (run.coverage, run.space.missed_probability());
    let way = match &ended {
        Ended::Violated(found) => run.space.way_to(found.state, &kernel),
        Ended::Exhausted | Ended::Stopped(_) | Ended::Paused => Way::Forgotten,
    };
    let mut details = ExploreDetails { needed_none, repeats, ..ExploreDetails::default() };
    // Nothing is proved before all was counted that is asked for, and code asked for the last time.
    let counted = heeding(watch.stop(), || run.count(&mut kernel, &mut details));
    let Run { engine, space, .. } = run;
    drop(space);
    let concluded = heeding(watch.stop(), || kernel.conclude());
    if let (Ended::Exhausted, Some(stopped)) = (&ended, counted.and(concluded).err()) {
        ended = Ended::Stopped(stopped);
    }
    details.reductions = kernel.in_use();
    details.sleep_sets = kernel.uses_sleep_sets();
    let mut fallbacks = given_up(model, &kernel, &search);
    details.symmetry = kernel
        .symmetry_compared()
        .map(|(steps, handler_calls, combinations)| SymmetryCompared { steps, handler_calls, combinations });
    details.without_symmetry = kernel.without_symmetry().map(ToString::to_string);
    details.missed_probability = (engine.visited == Visited::Fingerprint).then_some(missed);
    let unusable = match (kernel.impure(), kernel.asymmetric()) {
        (Some(handler), _) => Some(Stopped::Impure(handler.to_string())),
        (None, Some(difference)) => Some(Stopped::Asymmetric(difference.to_string())),
        (None, None) => None,
    };
    let verdict = match (unusable, ended) {
        (Some(stopped), _) | (None, Ended::Stopped(stopped)) => Verdict::Unknown(stopped),
        (None, Ended::Paused) => unreachable!("who pauses a search goes on with it"),
        (None, Ended::Violated(found)) => {
            let (verdict, shortest) = explain(model, &mut kernel, (&engine, &search), (found, way), watch);
            fallbacks.extend(shortest);
            verdict
        }
        (None, Ended::Exhausted) if missed > 0.0 => Verdict::HoldsWithin(format!(
            "states are known by their fingerprints; some state was missed with a probability of {missed:.1e}"
        )),
        (None, Ended::Exhausted) => engine.all_seen(&kernel),
    };
    let faults = model.world().faults().into_iter().map(|kind| (kind, kernel.steps_of(kind))).collect();
    let report = Report {
        faults,
        fallbacks,
        threads: search.threads,
        ..Report::new(model, verdict, coverage, Details::Explore(details))
    };
    (report, kernel)
}

impl Run {
    /// Counts what is asked for beside states.
    fn count(&mut self, kernel: &mut Kernel<'_>, details: &mut ExploreDetails) {
        let Some(states) = self.space.states() else { return };
        let beliefs = self.search.reductions.has(Reduction::Beliefs);
        match self.engine.count {
            Count::SystemStates if !beliefs => {
                details.system_states = Some(kernel.system_states(states));
            }
            Count::Orbits => {
                let vectors: Vec<Vec<u32>> = states.map(|state| self.space.vector(state, kernel)).collect();
                details.orbits = kernel.orbits(vectors.into_iter());
            }
            Count::SystemStates | Count::Nothing => {}
        }
        if self.engine.census {
            let states = self.space.states().into_iter().flatten();
            let vectors: Vec<Vec<u32>> = states.map(|state| self.space.vector(state, kernel)).collect();
            details.census = Some(kernel.seen_in(vectors.into_iter()));
        }
    }
}
