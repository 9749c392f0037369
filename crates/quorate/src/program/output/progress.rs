//! Follows a search: shows its progress on standard error, ends it when its time or memory is up or when
//! the user interrupts it. Engines read no clock; this is where the clock is.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::memory;
use super::units::{bytes, decimal, grouped, rate};
use crate::report::{Coverage, Sentinel, Stone, Stop, Stopped, Watch};

/// How often the memory of the whole program is looked up.
const MEMORY_EVERY: Duration = Duration::from_millis(50);
/// On a terminal, a search shorter than this shows no progress.
const BAR_AFTER: Duration = Duration::from_millis(500);
const BAR_EVERY: Duration = Duration::from_millis(100);
/// Elsewhere, plain lines: the first after a second.
const LINE_AFTER: Duration = Duration::from_secs(1);
const LINE_EVERY: Duration = Duration::from_secs(5);

/// How often the user has asked to stop.
static INTERRUPTS: AtomicUsize = AtomicUsize::new(0);

/// The exit code of a program that was ended by force.
const EXIT_INTERRUPTED: i32 = 130;
/// How long after an interrupt the program may still say what it has found. It takes a second at most, unless something
/// is wrong, or what it writes to is slow.
const FAREWELL: Duration = Duration::from_secs(5);

/// From now on Ctrl-C asks the search to end with what is known; a second one ends the program.
pub(crate) fn heed_interrupts() {
    let handler = || {
        if INTERRUPTS.fetch_add(1, Ordering::Relaxed) > 0 {
            std::process::exit(EXIT_INTERRUPTED);
        }
        std::thread::spawn(|| {
            std::thread::sleep(FAREWELL);
            std::process::exit(EXIT_INTERRUPTED);
        });
    };
    // Where no handler can be set, Ctrl-C ends the program, as it does anywhere.
    _ = ctrlc::set_handler(handler);
}

/// What ends a search from outside, and how much of it is shown.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) states_max: Option<u64>,
    pub(crate) time_max: Option<Duration>,
    pub(crate) memory_max: Option<u64>,
    /// For each part of a search in stages.
    pub(crate) stage_time_max: Option<Duration>,
    pub(crate) quiet: bool,
}

enum Display {
    None,
    /// A bar if the number of states is bounded, a spinner otherwise; made when it is first shown.
    Bar(Option<ProgressBar>),
    Lines,
}

/// Looks whether a limit is reached, or somebody has interrupted.
#[derive(Clone, Copy)]
pub(crate) struct Lookout {
    limits: Limits,
    start: Instant,
    stage_start: Instant,
    memory_due: Instant,
}

/// The program's [`Watch`].
pub(crate) struct Progress {
    pub(crate) lookout: Lookout,
    sentinel: Sentinel,
    /// The latest that is known, for whoever cannot wait.
    pub(crate) latest: Arc<Mutex<Coverage>>,
    display: Display,
    /// When progress is next shown; never if it is not.
    display_due: Option<Instant>,
}

impl Progress {
    pub(crate) fn new(limits: Limits) -> Self {
        let start = Instant::now();
        let (display, display_after) = match (limits.quiet, io::stderr().is_terminal()) {
            (true, _) => (Display::None, None),
            (false, true) => (Display::Bar(None), Some(BAR_AFTER)),
            (false, false) => (Display::Lines, Some(LINE_AFTER)),
        };
        let display_due = display_after.map(|after| start + after);
        let lookout = Lookout { limits, start, stage_start: start, memory_due: start };
        let latest = Arc::default();
        Progress { lookout, sentinel: lookout.sentinel(), latest, display, display_due }
    }

    fn show(&mut self, now: Instant, coverage: &Coverage) {
        let line = line(coverage, now - self.lookout.start);
        match &mut self.display {
            Display::None => {}
            Display::Bar(bar) => {
                self.display_due = Some(now + BAR_EVERY);
                let bar = bar.get_or_insert_with(|| new_bar(self.lookout.limits.states_max));
                bar.set_position(coverage.states);
                bar.set_message(line);
                bar.tick();
            }
            Display::Lines => {
                self.display_due = Some(now + LINE_EVERY);
                // Progress that nobody reads is no reason to stop.
                _ = writeln!(io::stderr().lock(), "{line}");
            }
        }
    }
}

impl Lookout {
    /// How long the search has taken.
    pub(crate) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// A reason to stop the whole search, whatever its stages do.
    pub(crate) fn for_all(&mut self) -> Option<Stopped> {
        self.limits.stage_time_max = None;
        self.exhausted(Instant::now())
    }

    /// A thread that looks, whatever the search is doing.
    fn sentinel(self) -> Sentinel {
        let mut lookout = self;
        Sentinel::new(move || lookout.exhausted(Instant::now()))
    }

    fn exhausted(&mut self, now: Instant) -> Option<Stopped> {
        if INTERRUPTS.load(Ordering::Relaxed) > 0 {
            return Some(Stopped::Interrupted);
        }
        if let Some(time_max) = self.limits.time_max
            && now - self.start >= time_max
        {
            return Some(Stopped::Time(time_max));
        }
        if let Some(time_max) = self.limits.stage_time_max
            && now - self.stage_start >= time_max
        {
            return Some(Stopped::Time(time_max));
        }
        // The engine counts its own tables; what else the program takes is seen here.
        if let Some(memory_max) = self.limits.memory_max
            && now >= self.memory_due
        {
            self.memory_due = now + MEMORY_EVERY;
            if memory::in_use().is_some_and(|in_use| in_use > memory_max) {
                return Some(Stopped::Memory(memory_max));
            }
        }
        None
    }
}

impl Watch for Progress {
    fn progress(&mut self, coverage: &Coverage) -> Option<Stopped> {
        let now = Instant::now();
        if let Ok(mut latest) = self.latest.lock() {
            *latest = *coverage;
        }
        if self.display_due.is_some_and(|due| now >= due) {
            self.show(now, coverage);
        }
        self.sentinel.stop.why().cloned().or_else(|| self.lookout.exhausted(now))
    }

    fn stop(&self) -> Option<Stop> {
        Some(self.sentinel.stop.clone())
    }

    fn stage(&mut self) {
        self.lookout.stage_start = Instant::now();
        // A sign stays raised: the next stage gets a new one, unless this one is for the whole search.
        let for_all = matches!(self.sentinel.stop.why(), Some(Stopped::Interrupted | Stopped::Memory(_)));
        if self.lookout.limits.stage_time_max.is_some() && !for_all {
            self.sentinel = self.lookout.sentinel();
        }
    }

    fn stone(&mut self, stone: Stone<'_>) {
        let Stone { stage, number, steps, interesting } = stone;
        let line = format!("stage {stage}: stepping stone {number}, after {steps} steps: {interesting}");
        match &self.display {
            Display::None => {}
            Display::Bar(Some(bar)) => bar.println(line),
            Display::Bar(None) | Display::Lines => _ = writeln!(io::stderr().lock(), "{line}"),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Display::Bar(Some(bar)) = &self.display {
            bar.finish_and_clear();
        }
    }
}

fn line(coverage: &Coverage, elapsed: Duration) -> String {
    if coverage.states == 0 && coverage.local_steps > 0 {
        return format!(
            "{} local steps, {} handler calls, {}",
            grouped(coverage.local_steps),
            grouped(coverage.handler_calls),
            bytes(memory::in_use().unwrap_or(coverage.bytes)),
        );
    }
    format!(
        "{} states, {} states/s, depth {}, frontier {}, {}",
        grouped(coverage.states),
        decimal(rate(coverage.states, elapsed)),
        coverage.depth,
        grouped(coverage.frontier),
        bytes(memory::in_use().unwrap_or(coverage.bytes)),
    )
}

fn new_bar(states_max: Option<u64>) -> ProgressBar {
    let (bar, template) = match states_max {
        Some(total) => (ProgressBar::new(total), "{bar:24.cyan/dim} {percent}%  {msg}"),
        None => (ProgressBar::new_spinner(), "{spinner:.cyan} {elapsed_precise}  {msg}"),
    };
    bar.set_draw_target(ProgressDrawTarget::stderr());
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(time_max: Option<Duration>, memory_max: Option<u64>) -> Progress {
        Progress::new(Limits { states_max: None, time_max, memory_max, stage_time_max: None, quiet: true })
    }

    #[test]
    fn time_and_memory_end_a_search() {
        let coverage = Coverage::default();
        assert_eq!(watch(None, None).progress(&coverage), None);
        assert_eq!(
            watch(Some(Duration::ZERO), None).progress(&coverage),
            Some(Stopped::Time(Duration::ZERO))
        );
        if memory::in_use().is_some() {
            assert_eq!(watch(None, Some(1)).progress(&coverage), Some(Stopped::Memory(1)));
        }
    }

    #[test]
    fn a_line_names_what_people_follow() {
        let coverage = Coverage { states: 12_000, depth: 7, frontier: 345_678, ..Coverage::default() };
        let line = line(&coverage, Duration::from_secs(2));
        assert!(line.starts_with("12,000 states, 6,000 states/s, depth 7, frontier 345,678, "), "{line}");
        let local = Coverage { local_steps: 1_200, handler_calls: 900, ..Coverage::default() };
        let line = super::line(&local, Duration::from_secs(2));
        assert!(line.starts_with("1,200 local steps, 900 handler calls, "), "{line}");
    }
}
