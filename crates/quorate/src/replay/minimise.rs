//! Makes a run that violates easier to read: drops steps that it does not need, and puts what belongs together
//! side by side.
//!
//! Known: the result is minimal in that no single step can be dropped; breadth-first search finds the
//! shortest run without this.
//! Held by: tests/verdicts.rs.

use super::{Broken, Replay};
use crate::base::{heed, stopped, unless_stopped};
use crate::model::{Model, Schedule, Trace};

/// The schedule without steps that it does not need to break the same property; with some, if there is a sign to stop.
pub fn minimise(model: &Model, schedule: Schedule, broken: &Broken) -> Schedule {
    let mut schedule = schedule;
    let mut at = schedule.len();
    while at > 0 && !stopped() {
        at -= 1;
        if let Some(shorter) = unless_stopped(|| without(model, &schedule, at, broken)).flatten() {
            schedule = shorter;
            at = schedule.len().min(at + 1);
        }
    }
    schedule
}

/// The schedule without one step and without what can no longer happen then; `None` if the rest no
/// longer breaks the property.
fn without(model: &Model, schedule: &Schedule, dropped: usize, broken: &Broken) -> Option<Schedule> {
    let mut kept = Schedule::new();
    let mut run = Replay::new(model);
    for (at, step) in schedule.iter().enumerate() {
        heed();
        if at != dropped && run.step(step).is_ok() {
            kept.push(step.clone());
        }
    }
    (run.broken()?.property() == broken.property()).then_some(kept)
}

/// The same steps in an order that follows causes: next comes, if possible, a step that the latest steps have
/// led to, by the same process or by what they sent. Where steps of different processes commute, the run ends in the
/// same state; the last step stays the last, and events stay in their order.
pub fn follow_causes(schedule: &Schedule, trace: &Trace) -> Schedule {
    let steps = &trace.steps;
    let Some(last) = steps.len().checked_sub(1) else { return Schedule::new() };
    let caused = |cause: usize, effect: usize| {
        steps[effect]
            .consumed
            .iter()
            .any(|consumed| consumed.source.origin().is_some_and(|origin| origin.step == cause))
            || steps[cause].process == steps[effect].process
            || !steps[cause].events.is_empty() && !steps[effect].events.is_empty()
    };
    let mut ordered: Vec<usize> = Vec::new();
    while ordered.len() < steps.len() {
        heed();
        let ready = |step: &usize| {
            !ordered.contains(step)
                && (*step != last || ordered.len() == last)
                && (0..*step).all(|cause| ordered.contains(&cause) || !caused(cause, *step))
        };
        let effect =
            |cause: &usize| (cause + 1..steps.len()).find(|step| caused(*cause, *step) && ready(step));
        let next = ordered.iter().rev().find_map(effect).or_else(|| (0..steps.len()).find(ready));
        ordered.extend(next);
    }
    ordered.into_iter().map(|step| schedule[step].clone()).collect()
}
