//! The answer to a check, and why a search ended without one.

use std::fmt;
use std::time::Duration;

use crate::model::{Model, Schedule};
use crate::replay::{Impure, Length, Violation, confirm};

/// The answer.
///
/// ```
/// use quorate::{Role, RoleName, System, Transitions, Verdict, observe};
///
/// # #[derive(Clone, PartialEq, Eq, Hash, Debug)]
/// # struct Counter(u8);
/// # impl Role for Counter {
/// #     type Message = ();
/// #     fn transitions(&self, t: &mut Transitions<Self>) {
/// #         t.internal("count").when(|c| c.0 < 3).run(|c, _| c.0 += 1);
/// #     }
/// # }
/// # let system = System::new()
/// #     .role(RoleName::new("counter"), 1, |_| Counter(0))
/// #     .invariant("at most two", observe(|c: &Counter| c.0), |counts| counts.iter().all(|c| *c <= 2));
/// // A process that counts to three, which its property forbids.
/// let answer = match quorate::check(system).run()?.verdict {
///     Verdict::Holds => "right".to_string(),
///     Verdict::HoldsWithin(reservation) => format!("right, but {reservation}"),
///     Verdict::Violated(violation) => format!("wrong after {} steps", violation.trace.steps.len()),
///     Verdict::Unknown(stopped) => format!("who knows: {stopped}"),
/// };
/// assert_eq!(answer, "wrong after 3 steps");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Every reachable state was seen and none violates a property.
    Holds,
    /// No violation was found, with a reservation.
    HoldsWithin(
        /// The reservation.
        String,
    ),
    /// A property is violated; the trace has passed replay.
    Violated(
        /// How.
        Box<Violation>,
    ),
    /// The search stopped before it had an answer.
    Unknown(
        /// Why it stopped.
        Stopped,
    ),
}

impl Verdict {
    /// The word for it: `holds`, `holds within`, `violated` or `unknown`.
    pub fn word(&self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::HoldsWithin(_) => "holds within",
            Verdict::Violated(_) => "violated",
            Verdict::Unknown(_) => "unknown",
        }
    }

    /// The verdict for a schedule that shows a violation, as replay confirms it.
    pub fn shown_by(model: &Model, schedule: Schedule, length: Length) -> Self {
        match confirm(model, schedule, length) {
            Ok(violation) => Verdict::Violated(Box::new(violation)),
            Err(Impure(what)) => Verdict::Unknown(Stopped::Impure(what)),
        }
    }

    /// The violation, if there is one.
    pub fn violation(&self) -> Option<&Violation> {
        match self {
            Verdict::Violated(violation) => Some(violation),
            _ => None,
        }
    }
}

/// Why a search stopped early.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Stopped {
    /// The limit on states.
    States(
        /// The limit.
        u64,
    ),
    /// The limit on depth: some states at this depth were not expanded.
    Depth(
        /// The limit.
        u32,
    ),
    /// The limit on time.
    Time(
        /// The limit.
        Duration,
    ),
    /// The limit on memory, in bytes.
    Memory(
        /// The limit.
        u64,
    ),
    /// The user interrupted it.
    Interrupted,
    /// Processes that are said to be interchangeable are not: nothing can be concluded.
    Asymmetric(
        /// What distinguishes them.
        String,
    ),
    /// The engine is not made for such a system: nothing was searched.
    Unsuited(
        /// What it is made for.
        String,
    ),
    /// Code of the user's answered differently when it was asked twice: nothing can be concluded.
    Impure(
        /// Which, and what it answered.
        String,
    ),
    /// What was learned could not be kept, or not be read again.
    Store(
        /// What went wrong.
        String,
    ),
    /// A violation was seen, but it was too late to find out which run leads to it.
    Untraced(
        /// What ended the search for it.
        Box<Stopped>,
    ),
    /// Only stages were explored, from stepping stones.
    Stages {
        /// How many stages.
        stages: u32,
        /// How many stones.
        stones: u64,
        /// What ended it; nothing if there were no more stones.
        last: Option<Box<Stopped>>,
    },
}

impl Stopped {
    /// What is known of a violation that was only seen.
    pub(crate) const SEEN: &str =
        "a violation was seen, but there was no time to find the run that leads to it";
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stopped::States(limit) => write!(f, "the limit of {limit} states was reached"),
            Stopped::Depth(limit) => write!(f, "the limit of {limit} steps was reached"),
            Stopped::Time(limit) => {
                let (number, unit) = match (limit.as_secs(), limit.subsec_millis()) {
                    (0, millis) => (millis.to_string(), "millisecond"),
                    (seconds, 0) => (seconds.to_string(), "second"),
                    _ => (limit.as_secs_f64().to_string(), "second"),
                };
                let plural = if number == "1" { "" } else { "s" };
                write!(f, "the limit of {number} {unit}{plural} was reached")
            }
            Stopped::Memory(bytes) => write!(f, "the limit of {bytes} bytes of memory was reached"),
            Stopped::Interrupted => write!(f, "interrupted"),
            Stopped::Stages { stages, stones, last } => {
                let plural = |number: u64| if number == 1 { "" } else { "s" };
                let (s, t) = (plural(u64::from(*stages)), plural(*stones));
                write!(
                    f,
                    "only {stages} stage{s} of a limited size, from {stones} stepping stone{t}, were explored: "
                )?;
                match last {
                    Some(last) => write!(f, "{last}"),
                    None => write!(f, "there are no more stones"),
                }
            }
            Stopped::Untraced(last) => {
                write!(f, "{}: {last}", Stopped::SEEN)
            }
            Stopped::Impure(reason)
            | Stopped::Asymmetric(reason)
            | Stopped::Unsuited(reason)
            | Stopped::Store(reason) => {
                write!(f, "{reason}")
            }
        }
    }
}
