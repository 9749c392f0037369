//! Why an engine or a reduction cannot be used: the one list. A refusal is a value; its text names no option of a
//! command line, which the program adds.

use std::fmt;

use crate::world::{Channel, Delivery};

/// Why an engine or a reduction cannot be used for a model in its world, or not as it is asked to.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Refusal {
    /// It needs messages to be delivered in another way.
    NeedsDelivery(
        /// In which.
        Delivery,
    ),
    /// It knows some channels only.
    NeedsChannel {
        /// Which it knows.
        known: &'static str,
        /// Which there are.
        channel: Channel,
    },
    /// A message that makes no difference still keeps others waiting.
    KeepsWaiting(
        /// In such channels.
        Channel,
    ),
    /// Steps of different processes do not commute.
    DoesNotCommute(
        /// With such channels.
        Channel,
    ),
    /// A process sees whether another has room.
    ShowsRoom(
        /// With such channels.
        Channel,
    ),
    /// It takes a crashed process for a slow one, and crashes are steps.
    NeedsImplicitCrashes,
    /// It knows no budgets of lost or doubled messages.
    HasBudgets,
    /// It looks at states, not at histories.
    LooksAtHistories {
        /// The monitor that does.
        monitor: String,
    },
    /// It looks at states, and does not know which of them are the end of a run.
    LooksNotAtEnds {
        /// The property of ends.
        property: String,
    },
    /// It knows no messages that can be forged at any time.
    HasForgeries,
    /// It knows the default world only.
    NeedsDefaultWorld,
    /// Runs end later if nothing is left out, and a property looks at their ends.
    EndsComeLater {
        /// The property.
        property: String,
    },
    /// Runs end earlier if equal messages are lost, and a property looks at their ends.
    EndsComeEarlier {
        /// The property.
        property: String,
    },
    /// A message that is left out, since an equal one waits, makes a difference to those behind it or to the room there
    /// is.
    MissesCopies(
        /// In such channels.
        Channel,
    ),
    /// A message that is left out, since an equal one waits, would have to be consumed with all that was delivered.
    ConsumesCopies,
    /// A run may end though a fault could still happen, and a property looks at the ends of runs.
    EndsDespiteFaults {
        /// The property.
        property: String,
    },
    /// A run may end though a process could emit events, and a property looks at the ends of runs.
    EndsDespiteEvents {
        /// The property.
        property: String,
    },
    /// The state in which the search starts may treat processes differently.
    StartsInTheMiddle,
    /// No role with two or more processes is declared symmetric.
    NothingSymmetric,
    /// Monitors treat processes differently.
    HasMonitors,
    /// Depth-first search may meet a state at the bound that a shorter way leads to.
    DepthFirstWithBound,
    /// The states are needed to count, which fingerprints forget.
    CountsForgottenStates,
    /// All system states are needed to count them, and a reduction leaves some out.
    CountsAllStates {
        /// The reduction.
        reduction: &'static str,
    },
    /// It looks at few global states, so counting them says nothing.
    CountsFewStates,
    /// It is asked to cover runs in which no process does anything by itself: there is nothing to look at.
    CoversNothing,
    /// With a limit on equal messages it makes a difference whether a message comes before or after an equal one is
    /// consumed.
    LimitsEqualMessages,
    /// The engine does not go step by step from the start, so there is no depth to limit.
    UsesNoDepth,
    /// The engine has no use for reductions.
    UsesNoReductions,
    /// The model does not say which states are interesting.
    NothingInteresting,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::NeedsDelivery(Delivery::AtOnce) => {
                write!(f, "it needs messages that are delivered at once")
            }
            Refusal::NeedsDelivery(_) => {
                write!(f, "it needs messages that are delivered in steps of their own")
            }
            Refusal::NeedsChannel { known, channel } => write!(f, "it knows {known} channels, not {channel}"),
            Refusal::KeepsWaiting(channel) => write!(
                f,
                "with {channel} channels a message that makes no difference still keeps others waiting"
            ),
            Refusal::DoesNotCommute(channel) => {
                write!(f, "with {channel} channels steps of different processes do not commute")
            }
            Refusal::ShowsRoom(channel) => {
                write!(f, "with {channel} channels a process sees whether another has room")
            }
            Refusal::NeedsImplicitCrashes => write!(f, "it takes a crashed process for a slow one"),
            Refusal::HasBudgets => write!(f, "it knows no budgets of lost or doubled messages"),
            Refusal::LooksAtHistories { monitor } => {
                write!(f, "it looks at states, not at histories: '{monitor}' needs another engine")
            }
            Refusal::LooksNotAtEnds { property } => {
                write!(f, "it does not know where runs end: '{property}' needs another engine")
            }
            Refusal::HasForgeries => write!(f, "it knows no messages that can be forged at any time"),
            Refusal::NeedsDefaultWorld => write!(
                f,
                "the published algorithms know bags of messages, no faults and no histories: expected the default world"
            ),
            Refusal::EndsComeLater { property } => {
                write!(f, "'{property}' looks at the end of runs, which come later if nothing is left out")
            }
            Refusal::EndsComeEarlier { property } => {
                write!(
                    f,
                    "'{property}' looks at the end of runs, which come earlier if equal messages are lost"
                )
            }
            Refusal::MissesCopies(channel) => write!(
                f,
                "with {channel} channels a message that is left out, since an equal one waits, makes a difference"
            ),
            Refusal::ConsumesCopies => write!(
                f,
                "a process that must consume all that was delivered misses a message that is left out, since an equal one \
                 waits"
            ),
            Refusal::EndsDespiteFaults { property } => {
                write!(
                    f,
                    "'{property}' looks at the end of runs, and a run may end though a fault could still happen"
                )
            }
            Refusal::EndsDespiteEvents { property } => {
                write!(
                    f,
                    "'{property}' looks at the end of runs, and a run may end though a step that a monitor hears of could \
                     be taken"
                )
            }
            Refusal::StartsInTheMiddle => {
                write!(f, "the state in which the search starts may distinguish processes")
            }
            Refusal::NothingSymmetric => {
                write!(f, "no role with two or more processes is declared symmetric")
            }
            Refusal::HasMonitors => write!(f, "monitors distinguish processes"),
            Refusal::DepthFirstWithBound => {
                write!(f, "depth-first search may meet a state at the limit that a shorter way leads to")
            }
            Refusal::CountsForgottenStates => {
                write!(f, "to count system states takes the states, which fingerprints forget")
            }
            Refusal::CountsAllStates { reduction } => {
                write!(f, "to count system states takes all of them, and {reduction} leaves some out")
            }
            Refusal::CountsFewStates => {
                write!(f, "it looks at few global states, of which a count says nothing")
            }
            Refusal::CoversNothing => {
                write!(
                    f,
                    "it is asked for runs in which no process steps by itself: expected one step or more"
                )
            }
            Refusal::LimitsEqualMessages => write!(
                f,
                "with a limit on equal messages it makes a difference whether a message comes before or after an equal one is \
                 consumed"
            ),
            Refusal::UsesNoDepth => {
                write!(f, "it does not go step by step from the start, so there is no depth to limit")
            }
            Refusal::UsesNoReductions => write!(f, "the engine has no use for reductions"),
            Refusal::NothingInteresting => {
                write!(f, "the protocol does not say which states are interesting")
            }
        }
    }
}

impl std::error::Error for Refusal {}
