//! From a state that violates to a run that shows it: the searches that may follow a violation.
//!
//! A search remembers its states, not where they came from. So, once a violating state is found:
//!
//! 1. Breadth-first, the same search is repeated, now with the parent of each state, up to the violation
//!    ([`path_to`]). Depth-first search has remembered parents from the start, as has every search over vectors, and the
//!    beginning of any search, for when there is no time to repeat it.
//! 2. The kernel turns the path of states into a schedule, a list of steps. With reductions a path stands for many runs;
//!    the kernel looks for one of them.
//! 3. With reductions, a search without them looks for the shortest run, in a limited number of states. Where step 2 or
//!    replay found no run, because a property does not treat symmetric processes alike, it has no limit.
//! 4. Replay runs the schedule on the user's handlers and confirms it; a run that may be longer than needed loses the
//!    steps that it can do without (`replay/confirm.rs`).
//!
//! Limits are for finding a violation, not for losing one that was found. So this has a little more time than they
//! allow ([`Grace`]); if that is not enough either, the answer says that a violation was seen.
//! Held by: testkit/tests/agreement.rs, testkit/tests/reductions.rs.

use super::run::{Ended, Run, Violating};
use super::space::{Path, Way};
use super::{Count, Explore, Order, Visited};
use crate::engine::{Engine as _, Grace, Search, with_grace};
use crate::kernel::Kernel;
use crate::model::{Model, Schedule};
use crate::reduce::Reduction;
use crate::replay::{Impure, Length, confirm, replay};
use crate::report::{Fallback, Report, Stopped, Verdict, Watch};

/// The verdict for a violating state that a search with this kernel has found, and what it knows of the way there.
pub(super) fn explain(
    model: &Model,
    kernel: &mut Kernel<'_>,
    (engine, search): (&Explore, &Search),
    (found, way): (Violating, Way),
    watch: &mut dyn Watch,
) -> (Verdict, Option<Fallback>) {
    let shown = with_grace(watch, |watch| {
        let (path, panics) = match way {
            Way::Known(path) => (path, found.panics),
            // The little time that is left once there is a sign to stop is for what follows.
            Way::Long(path) => {
                path_to(kernel, engine, search, found, watch.0).unwrap_or((path, found.panics))
            }
            Way::Forgotten => path_to(kernel, engine, search, found, watch)?,
        };
        let schedule = kernel.schedule(&path, panics);
        Ok(shortest(model, engine, search, schedule, watch))
    });
    shown.unwrap_or_else(|stopped| (Verdict::Unknown(stopped), None))
}

/// The states on the way to a violation that breadth-first search has found, and whether a step panics at their end:
/// the search is repeated with parents, so that a proof takes no memory for them.
fn path_to(
    kernel: &mut Kernel<'_>,
    engine: &Explore,
    search: &Search,
    found: Violating,
    watch: &mut dyn Watch,
) -> Result<(Path, bool), Stopped> {
    let exact = Explore { visited: Visited::Exact, ..engine.clone() };
    let unlimited = Search { states_max: None, bytes_max: None, ..search.clone() };
    let mut run = Run::new(kernel, &exact, unlimited, true);
    match run.search(kernel, watch) {
        Ended::Violated(again) => match run.space.way_to(again.state, kernel) {
            Way::Known(path) | Way::Long(path) => Ok((path, again.panics)),
            Way::Forgotten => panic!("a bug in quorate: the second search has not remembered its way"),
        },
        Ended::Stopped(stopped) => Err(stopped),
        Ended::Exhausted | Ended::Paused => {
            panic!("a bug in quorate: the second search does not find the violation of the first, {found:?}")
        }
    }
}

/// The verdict for a violation with its schedule, if the kernel found one. A reduced search may have found it on a
/// detour: a search without reductions then looks for the shortest run.
fn shortest(
    model: &Model,
    engine: &Explore,
    search: &Search,
    schedule: Option<Schedule>,
    watch: &mut Grace<'_>,
) -> (Verdict, Option<Fallback>) {
    let reduced = !search.reductions.which.is_empty();
    let symmetric = search.reductions.has(Reduction::Symmetry);
    let length = if engine.order == Order::Depth || reduced { Length::MayShrink } else { Length::Shortest };
    // A property that is not symmetric may hold at the end of this run, while it breaks at the end of one like it.
    let shows = |schedule: &Schedule| !symmetric || matches!(replay(model, schedule), Ok((_, Some(_))));
    let known = schedule.filter(shows).map(|schedule| confirm(model, schedule, length));
    let known = match known.transpose() {
        Ok(known) => known,
        Err(Impure(what)) => return (Verdict::Unknown(Stopped::Impure(what)), None),
    };
    if !reduced {
        let violation = known.expect("every path of states without reductions is a run");
        return (Verdict::Violated(Box::new(violation)), None);
    }
    let limit = known.is_some().then_some(search.tuning.explain_states);
    let again = Explore {
        order: Order::Breadth,
        visited: Visited::Exact,
        count: Count::Nothing,
        census: false,
        ..engine.clone()
    };
    let unreduced = Search { states_max: limit, bytes_max: None, ..search.unreduced() };
    let Some(known) = known else {
        let verdict = again.search(model, &unreduced, watch).verdict;
        return (must_find(model, verdict, symmetric), None);
    };
    // Whatever ends this search, the violation stays found.
    let Report { verdict, coverage, .. } = again.search(model, &unreduced, watch.0);
    if let Verdict::Violated(shorter) = verdict {
        return (Verdict::Violated(shorter), None);
    }
    (Verdict::Violated(Box::new(known)), Some(Fallback::Shortest { states: coverage.states }))
}

/// The verdict of a search without reductions where a reduced one has found a violation that replay does not confirm.
fn must_find(model: &Model, verdict: Verdict, symmetric: bool) -> Verdict {
    model.ask_again();
    match (verdict, model.impure()) {
        (verdict @ (Verdict::Violated(_) | Verdict::Unknown(_)), _) => verdict,
        (_, Some(what)) => Verdict::Unknown(Stopped::Impure(what.to_string())),
        _ if symmetric => Verdict::Unknown(Stopped::Asymmetric(
            "a property does not treat processes of a symmetric role alike: leave out .symmetric() or mend the property"
                .to_string(),
        )),
        (other, None) => {
            panic!("a bug in quorate: only a reduced search finds a violation: {}", other.word())
        }
    }
}
