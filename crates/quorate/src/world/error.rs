//! What makes no sense in a world. Texts name no option of a command line; the program adds the one that helps.

use std::fmt;

use super::Channel;

/// A world that makes no sense, by itself or for a system.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum WorldError {
    /// A role that the system does not have.
    UnknownRole {
        /// What it is called.
        role: String,
        /// The roles that the system has.
        known: Vec<String>,
    },
    /// More processes of a role may crash than there are.
    TooManyCrashProne {
        /// The role.
        role: String,
        /// How many should.
        count: usize,
        /// How many there are.
        members: usize,
    },
    /// A budget that is too large.
    Budget {
        /// How large.
        budget: usize,
        /// How large it may be.
        most: usize,
    },
    /// A channel in which no message has room, or more than are counted.
    ChannelSize {
        /// How many messages of a sender have room.
        size: usize,
        /// How many may have.
        most: usize,
    },
    /// Messages in such channels are not delivered in steps of their own.
    DeliveryInSteps(
        /// The channel.
        Channel,
    ),
    /// A process that must consume all that was delivered may be stuck with it, and a property looks at the end of runs.
    EndsStuck {
        /// The property.
        property: String,
    },
    /// Messages in such channels have no budget of losses.
    Losses(
        /// The channel.
        Channel,
    ),
    /// Messages in such channels cannot be doubled.
    Duplications(
        /// The channel.
        Channel,
    ),
}

impl fmt::Display for WorldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WorldError::UnknownRole { role, known } => {
                write!(f, "no role is called '{role}': expected {}", known.join(", "))
            }
            WorldError::TooManyCrashProne { role, count, members } => write!(
                f,
                "{count} crash-prone processes of role '{role}', which has {members}: expected 0 to {members}"
            ),
            WorldError::Budget { budget, most } => {
                write!(f, "a budget of {budget} faults: expected at most {most}")
            }
            WorldError::ChannelSize { size, most } => {
                write!(f, "a channel with room for {size} messages of a sender: expected 1 to {most}")
            }
            WorldError::DeliveryInSteps(channel) => write!(
                f,
                "messages in {channel} channels are not delivered in steps of their own: expected bags or sets, or \
                 delivery at once, which is equivalent"
            ),
            WorldError::EndsStuck { property } => write!(
                f,
                "'{property}' looks at the end of runs, and a process that must consume all that was delivered is stuck \
                 where its transitions take fewer messages: expected delivery in steps, or at once"
            ),
            WorldError::Losses(channel) => {
                write!(f, "messages in {channel} channels have no budget of losses")
            }
            WorldError::Duplications(channel) => write!(
                f,
                "messages in {channel} channels cannot be doubled: use bag, fifo, mailbox or duplicating channels"
            ),
        }
    }
}

impl std::error::Error for WorldError {}

/// Why crashes must be steps: a slow process is not like a crashed one.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum MustCrashInSteps {
    /// In such channels, a message that a crashed process did not send keeps no other waiting, and takes up no room.
    ShowsMissing(
        /// The channel.
        Channel,
    ),
    /// A property looks at the end of runs, and a crash can bring it about.
    AtEnd {
        /// The property.
        property: String,
    },
}

impl fmt::Display for MustCrashInSteps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MustCrashInSteps::ShowsMissing(channel) => write!(
                f,
                "with {channel} channels a message that a crashed process did not send can be distinguished from \
                 one that was not received"
            ),
            MustCrashInSteps::AtEnd { property } => {
                write!(f, "'{property}' looks at the end of runs, and a crash can bring it about")
            }
        }
    }
}
