//! From a schedule that an engine found to a violation that can be shown: replay runs it again on the handlers alone.
//!
//! Invariant: nothing but this makes a [`Violation`], so every one carries a trace that replay has accepted.
//! Held by: tests/verdicts.rs.

use super::{Broken, follow_causes, minimise, replay};
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

/// The violation that a schedule shows, as replay confirms it.
///
/// # Panics
///
/// If replay does not accept the schedule, or finds nothing broken: then the engine that found it is wrong.
pub fn confirm(model: &Model, mut schedule: Schedule, length: Length) -> Violation {
    let confirmed = |schedule: &Schedule| match replay(model, schedule) {
        Ok((trace, Some(broken))) => (trace, broken),
        Ok((_, None)) => panic!("a bug in quorate: replay finds nothing wrong with the counterexample"),
        Err(error) => panic!("a bug in quorate: replay refuses the counterexample: {error}"),
    };
    let (mut trace, broken) = confirmed(&schedule);
    if length == Length::MayShrink {
        schedule = minimise(model, schedule, &broken);
        (trace, _) = confirmed(&schedule);
    }
    if model.world().channel.commutes() && !model.tracks_copies() && model.start().is_none() {
        schedule = follow_causes(&schedule, &trace);
    }
    let (trace, broken) = confirmed(&schedule);
    Violation { broken, trace }
}
