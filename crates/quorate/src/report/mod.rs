//! What a check answers: the verdict, the trace that shows a violation, and the replay that confirms it.

use std::fmt;

pub use crate::kernel::{ClosureSize, Seen};
use crate::model::Trace;
use crate::reduce::Reduction;
use crate::replay::Broken;
use crate::world::StepKind;

/// The answer.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Every reachable state was seen and none violates a property.
    Holds,
    /// As far as the search could tell, with the reservation it says.
    HoldsWithin(
        /// The reservation.
        String,
    ),
    /// A property is violated; the trace has passed replay.
    Violated(
        /// How.
        Box<Violation>,
    ),
    /// The search stopped before it could tell.
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

    /// The violation, if there is one.
    pub fn violation(&self) -> Option<&Violation> {
        match self {
            Verdict::Violated(violation) => Some(violation),
            _ => None,
        }
    }
}

/// A violated property and the run that shows it.
#[derive(Clone, Debug)]
pub struct Violation {
    /// What is broken in the last state of the run.
    pub broken: Broken,
    /// The run.
    pub trace: Trace,
}

/// Why a search stopped early.
#[derive(Clone, PartialEq, Eq, Debug)]
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
    /// The limit on time, in seconds.
    Time(
        /// The limit.
        u64,
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
        /// What tells them apart.
        String,
    ),
    /// The engine is not made for such a system: nothing was searched.
    Unsuited(
        /// What it is made for.
        String,
    ),
    /// A handler answered differently when it was asked twice: nothing can be concluded.
    Impure(
        /// The handler, and what it answered.
        String,
    ),
    /// What was learned could not be kept, or not be read again.
    Store(
        /// What went wrong.
        String,
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

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stopped::States(limit) => write!(f, "the limit of {limit} states was reached"),
            Stopped::Depth(limit) => write!(f, "the limit of {limit} steps was reached"),
            Stopped::Time(seconds) => write!(f, "the limit of {seconds} seconds was reached"),
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
            Stopped::Impure(told)
            | Stopped::Asymmetric(told)
            | Stopped::Unsuited(told)
            | Stopped::Store(told) => {
                write!(f, "{told}")
            }
        }
    }
}

/// The answer, with what was done to find it.
#[derive(Clone, Debug)]
pub struct Report {
    /// The answer.
    pub verdict: Verdict,
    /// The properties that were checked.
    pub properties: Vec<String>,
    /// What it took.
    pub coverage: Coverage,
    /// The kinds of faults that were asked for, each with how many distinct steps of processes it is: a fault that
    /// never fired says nothing about the protocol.
    pub faults: Vec<(StepKind, u64)>,
    /// How many vectors of local states were reached, if they were counted.
    pub system_states: Option<u64>,
    /// How many states the visited ones stand for, if that was counted.
    pub orbits: Option<u64>,
    /// What the visited states are made of, if that was asked for.
    #[doc(hidden)]
    pub seen: Option<Seen>,
    /// The reductions that were used.
    pub reductions: Vec<Reduction>,
    /// How often the search was done, until its reductions rested on all that it saw.
    pub rounds: u32,
    /// How many threads searched.
    pub threads: usize,
    /// In fingerprint mode: the probability that a state was missed, at most.
    pub missed_probability: Option<f64>,
    /// What the engines did that begin with local states.
    pub local: Option<LocalCoverage>,
    /// If components were explored one by one: what came of it.
    pub interfaces: Option<ComponentCounts>,
    /// If it was searched in stages: what they came to.
    pub stages: Option<Stages>,
}

/// What a search in stages came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stages {
    /// How many stages were begun.
    pub stages: u32,
    /// How many stepping stones were found.
    pub stones: u64,
    /// Over how many of them the violation was found, if there is one.
    pub passed: Option<u32>,
}

/// What was found out from local states alone.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LocalCoverage {
    /// How large the local closure is; `None` if there is none.
    pub closure: Option<ClosureSize>,
    /// Why there is none, or why it was of no use.
    pub reservation: Option<String>,
    /// How closely what a process has consumed had to be followed: 0 not at all, 1 roughly, 2 exactly.
    pub precision: u8,
    /// How many combinations of classes of local states were looked at.
    pub combinations: u64,
    /// How many ways there seemed to be to break a property.
    pub candidates: u64,
    /// How many of these were refuted by local states alone.
    pub refuted_at_once: u64,
    /// How many were searched for one by one, and how many of these were refuted so.
    pub searched: u64,
    /// See [`LocalCoverage::searched`].
    pub refuted_by_search: u64,
    /// How many sets of sequences of events were executed, by the published algorithm.
    pub sequences: Option<u64>,
    /// All runs were covered in which each process does at most so many steps by itself; `None` if all runs were or
    /// none.
    pub local_events: Option<u32>,
}

/// How much was seen.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Coverage {
    /// Distinct states reached.
    pub states: u64,
    /// Steps taken from them.
    pub transitions: u64,
    /// States in which no step is possible.
    pub terminal_states: u64,
    /// The number of steps to the furthest state, on the shortest way when breadth-first.
    pub depth: u32,
    /// States waiting to be expanded.
    pub frontier: u64,
    /// Distinct local steps: (process, local state, consumed messages, choices).
    pub local_steps: u64,
    /// Runs of the user's handlers.
    pub handler_calls: u64,
    /// Bytes in the tables of the search.
    pub bytes: u64,
}

impl Report {
    /// Panics with the diagram of the violation, or with the reason, unless the verdict is `Holds`.
    #[track_caller]
    pub fn assert_holds(&self) {
        match &self.verdict {
            Verdict::Holds => {}
            Verdict::HoldsWithin(reservation) => panic!("holds only within: {reservation}"),
            Verdict::Violated(violation) => panic!("{violation}"),
            Verdict::Unknown(stopped) => panic!("unknown: {stopped}; {} states seen", self.coverage.states),
        }
    }

    /// The violation; panics if there is none.
    #[track_caller]
    pub fn assert_violated(&self) -> &Violation {
        match &self.verdict {
            Verdict::Violated(violation) => violation,
            other => panic!("expected a violation, but the verdict is: {}", other.word()),
        }
    }
}

/// What came of exploring components one by one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ComponentCounts {
    /// How many maximal traces the components have by themselves; nothing if some run never ends.
    pub local_traces: Option<u128>,
    /// How many ways there are for components to deal with each other.
    pub global_skeletons: u64,
    /// How many maximal runs these stand for; nothing if some run never ends.
    pub global_traces: Option<u128>,
    /// How many runs of components with agents of their own were gone through, one by one, as far as nobody sees it. Of
    /// one component of all processes these are runs of the system; known of a search that is stopped, too.
    pub enumerated_runs: u64,
    /// At how many consistent cuts of skeletons properties were looked at, each property by itself; known of a search
    /// that is stopped, too.
    pub cuts: u64,
}
