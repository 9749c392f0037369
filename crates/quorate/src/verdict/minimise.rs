//! Shortens a run that violates: drops steps, with whatever depends on them, for as long as it still does.
//!
//! Known: the result is minimal in that no single step can be dropped; breadth-first search finds the
//! shortest run without this.
//! Held by: tests/verdicts.rs.

use super::replay::{Broken, Replay};
use super::trace::Schedule;
use crate::protocol::Model;

/// The schedule without steps that it does not need to break the same property.
pub fn minimise(model: &Model, schedule: Schedule, broken: &Broken) -> Schedule {
    let mut schedule = schedule;
    let mut at = schedule.len();
    while at > 0 {
        at -= 1;
        if let Some(shorter) = without(model, &schedule, at, broken) {
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
        if at != dropped && run.step(step).is_ok() {
            kept.push(step.clone());
        }
    }
    (run.broken()?.property() == broken.property()).then_some(kept)
}
