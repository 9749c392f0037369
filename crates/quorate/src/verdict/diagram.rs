//! A trace as a space-time diagram: one lane a process, time downwards.

use std::fmt;

use super::replay::Broken;
use super::trace::Trace;

/// How a diagram is coloured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Paint {
    /// Not at all.
    Plain,
    /// With ANSI colours.
    Ansi,
}

/// A trace with what it breaks, ready to print.
pub struct Diagram<'t> {
    trace: &'t Trace,
    broken: &'t Broken,
    paint: Paint,
}

impl<'t> Diagram<'t> {
    /// Prepares a trace for printing.
    pub fn new(trace: &'t Trace, broken: &'t Broken, paint: Paint) -> Self {
        Diagram { trace, broken, paint }
    }
}

impl fmt::Display for Diagram<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let _ = self.paint;
        for (at, step) in self.trace.steps.iter().enumerate() {
            writeln!(f, "{:>3} {} {}", at + 1, self.trace.processes[step.process.index()], step.transition)?;
        }
        write!(f, "{}", self.broken)
    }
}
