//! From a schedule that an engine found to a violation that can be shown: replay runs it again on the handlers alone.
//!
//! Invariant: nothing but this makes a [`Violation`], so every one carries a trace that replay has accepted.
//! Held by: tests/verdicts.rs.

use super::{Broken, follow_causes, minimise, replay};
use crate::base::unless_stopped;
use crate::model::{Model, Schedule, Trace};

/// A violated property and the run that shows it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Violation {
    /// What is broken in the last state of the run.
    pub broken: Broken,
    /// The run.
    pub trace: Trace,
}

/// Is a schedule as short as it can be?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Length {
    /// Yes: a breadth-first search over all states found it.
    Shortest,
    /// No: it may contain steps that the violation does not need.
    MayShrink,
}

/// The violation that a schedule shows, as replay confirms it. If there is a sign to stop, it is left as long as it is
/// by then.
///
/// # Panics
///
/// If replay does not accept the schedule, or finds nothing broken: then the engine that found it is wrong.
pub fn confirm(model: &Model, schedule: Schedule, length: Length) -> Violation {
    let confirmed = |schedule: &Schedule| match replay(model, schedule) {
        Ok((trace, Some(broken))) => Violation { broken, trace },
        Ok((_, None)) => panic!("a bug in quorate: replay finds nothing wrong with the counterexample"),
        Err(error) => panic!("a bug in quorate: replay refuses the counterexample: {error}"),
    };
    let found = confirmed(&schedule);
    let (schedule, violation) = match length {
        Length::Shortest => (schedule, found),
        Length::MayShrink => {
            let shorter = minimise(model, schedule, &found.broken);
            let Some(violation) = unless_stopped(|| confirmed(&shorter)) else { return found };
            (shorter, violation)
        }
    };
    if !model.world().channel.commutes() || model.start().is_some() {
        return violation;
    }
    unless_stopped(|| confirmed(&follow_causes(&schedule, &violation.trace))).unwrap_or(violation)
}
