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

/// Code that answers differently when it is asked again: what was found with it is no violation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Impure(
    /// Which, and what it answered.
    pub String,
);

/// How often a run that shows nothing is repeated, to see whether it always does the same.
const REPEATS: usize = 8;

/// The violation that a schedule shows, as replay confirms it. If there is a sign to stop, it is left as long as it is
/// by then.
///
/// # Panics
///
/// If replay does not accept the schedule, or finds nothing broken, and no code answers differently when it is asked
/// again: then the engine that found it is wrong.
pub fn confirm(model: &Model, mut schedule: Schedule, length: Length) -> Result<Violation, Impure> {
    let mut violation = confirmed(model, &schedule)?;
    if length == Length::MayShrink {
        schedule = minimise(model, schedule, &violation.broken);
        let Some(shorter) = unless_stopped(|| confirmed(model, &schedule)) else { return Ok(violation) };
        violation = shorter?;
    }
    if !model.world().channel.commutes() || model.tracks_copies() || model.start().is_some() {
        return Ok(violation);
    }
    unless_stopped(|| confirmed(model, &follow_causes(&schedule, &violation.trace))).unwrap_or(Ok(violation))
}

fn confirmed(model: &Model, schedule: &Schedule) -> Result<Violation, Impure> {
    let shown = match replay(model, schedule) {
        Ok((trace, Some(broken))) => return Ok(Violation { broken, trace }),
        Ok((_, None)) => "replay finds nothing wrong with the counterexample".to_string(),
        Err(error) => format!("replay refuses the counterexample: {error}"),
    };
    model.ask_again();
    if let Some(impure) = model.impure() {
        return Err(Impure(impure.to_string()));
    }
    if (0..REPEATS).any(|_| matches!(replay(model, schedule), Ok((_, Some(_))))) {
        return Err(Impure(format!("a run is not the same when it is repeated: now and then {shown}")));
    }
    panic!("a bug in quorate: {shown}")
}
