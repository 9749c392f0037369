//! Watches that stand for others: for parts of a search, and for what is left to do once a violation was found and there
//! is no more time: a little, and then to say what was seen.

use crate::report::{Coverage, Stop, Stopped, Verdict, Watch, heeding};

/// The sign of a watch alone, for a part of its search that shows no progress of its own.
pub(super) struct Signed(pub(super) Option<Stop>);

impl Watch for Signed {
    fn progress(&mut self, _: &Coverage) -> Option<Stopped> {
        self.0.as_ref().and_then(Stop::why).cloned()
    }

    fn stop(&self) -> Option<Stop> {
        self.0.clone()
    }
}

/// A watch for what follows a violation: it passes progress on, and stops when the watch insists. One that has no sign
/// to insist by stops for an interruption alone.
pub(super) struct Grace<'w>(pub(super) &'w mut dyn Watch);

impl Watch for Grace<'_> {
    fn progress(&mut self, coverage: &Coverage) -> Option<Stopped> {
        let stopped = self.0.progress(coverage);
        match self.stop() {
            Some(stop) => stop.why().cloned(),
            None => stopped.filter(|stopped| *stopped == Stopped::Interrupted),
        }
    }

    fn stop(&self) -> Option<Stop> {
        self.0.stop().map(|stop| stop.with_grace())
    }
}

/// What shows a violation that was found. If there is not even a little time for that, the reason to stop says that it
/// was seen.
pub(super) fn with_grace<T>(
    watch: &mut dyn Watch,
    show: impl FnOnce(&mut Grace<'_>) -> Result<T, Stopped>,
) -> Result<T, Stopped> {
    let mut grace = Grace(watch);
    let shown = heeding(grace.stop(), || show(&mut grace)).flatten();
    shown.map_err(|last| Stopped::Untraced(Box::new(last)))
}

/// The verdict on a violation that was found and only has to be confirmed, if there is a little time for that.
pub fn violation(watch: &mut dyn Watch, confirmed: impl FnOnce() -> Verdict) -> Verdict {
    with_grace(watch, |_| Ok(confirmed())).unwrap_or_else(Verdict::Unknown)
}
