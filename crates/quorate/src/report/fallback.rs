//! What a search could not do as it set out to, and did in another way.
//!
//! None of them makes an answer wrong; they make searches larger, counts of reduced states others, counterexamples
//! longer. So each is a value in the report, and nothing is given up in silence.
//! Held by: testkit/tests/fallbacks.rs.

use std::fmt;

use crate::reduce::Reduction;

/// What was given up on the way.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Fallback {
    /// A process has too many beliefs, or one with too many members: its states were searched as they are.
    Beliefs {
        /// The process, or the monitor.
        process: String,
        /// How many beliefs there may be.
        beliefs_max: usize,
        /// How many members each may have.
        members_max: usize,
    },
    /// With beliefs, stubborn sets find only what stays broken, and it is not known that every property does.
    StubbornWithBeliefs,
    /// That processes are interchangeable could not be made sure of.
    Symmetry(
        /// Why.
        String,
    ),
    /// Processes had to stay in some local states, which need not be the same for interchangeable ones.
    SymmetryWithin,
    /// Stages after the first start in the middle of runs, where processes may differ; and stones may differ in them.
    SymmetryInStages,
    /// There are more different messages to a process than fit into a word: what it can consume was worked out message by
    /// message, which takes longer.
    Inboxes {
        /// The process.
        process: String,
        /// How many would have fitted.
        most: u32,
    },
    /// All reductions were dropped: the search without them was the first to end.
    Overtaken {
        /// How many states the search with them had seen.
        states: u64,
    },
    /// The search for a shorter counterexample was given up.
    Shortest {
        /// After so many states.
        states: u64,
    },
}

impl Fallback {
    /// The reduction that was not used, or not for all, if it was one.
    pub fn reduction(&self) -> Option<Reduction> {
        match self {
            Fallback::Beliefs { .. } => Some(Reduction::Beliefs),
            Fallback::StubbornWithBeliefs => Some(Reduction::Stubborn),
            Fallback::Symmetry(_) | Fallback::SymmetryWithin | Fallback::SymmetryInStages => {
                Some(Reduction::Symmetry)
            }
            Fallback::Inboxes { .. } | Fallback::Overtaken { .. } | Fallback::Shortest { .. } => None,
        }
    }
}

impl fmt::Display for Fallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fallback::Beliefs { process, beliefs_max, members_max } => write!(
                f,
                "{process} has more than {beliefs_max} beliefs, or one with more than {members_max} members, and was \
                 searched without"
            ),
            Fallback::StubbornWithBeliefs => {
                write!(
                    f,
                    "a property may hold again after it was broken, which it does not find with beliefs"
                )
            }
            Fallback::Symmetry(why) => write!(f, "{why}"),
            Fallback::SymmetryWithin => {
                write!(f, "processes stay in some local states, which need not be the same for all of them")
            }
            Fallback::SymmetryInStages => {
                write!(f, "only the first stage starts where no process differs from another")
            }
            Fallback::Inboxes { process, most } => {
                write!(
                    f,
                    "{process} is sent more than {most} different messages, which takes longer to search"
                )
            }
            Fallback::Overtaken { states } => {
                write!(
                    f,
                    "reductions were dropped after {states} states: they left out too little, and the search without \
                     them was the first to end"
                )
            }
            Fallback::Shortest { states } => {
                write!(
                    f,
                    "the search for a shorter counterexample was given up after {states} states: there may be one"
                )
            }
        }
    }
}
