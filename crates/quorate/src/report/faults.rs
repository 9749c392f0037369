//! Whether a search covers crashes and lost messages, and why not; and what a reader should know of an answer.
//!
//! Held by: tests/verdicts.rs, quorate-cli/tests/faults.rs.

use std::fmt;

use crate::model::{Model, at_end};
use crate::world::{Channel, Crashes, MustCrashInSteps, StepKind};

/// Whether a search covers a kind of fault, and how.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Covered {
    /// It needs no steps: runs without it show all that it can do.
    WithoutSteps,
    /// It is a step.
    InSteps,
    /// No.
    Not(
        /// Why.
        NotCovered,
    ),
}

/// A kind of fault that a search does not cover, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum NotCovered {
    /// Crashes, which would have to be steps.
    Crashes(
        /// Why they would have to be.
        MustCrashInSteps,
    ),
    /// Lost messages, though a property looks at the end of runs.
    LossesAtEnd {
        /// The property.
        property: String,
    },
    /// Lost messages, though in such channels a message that is not consumed holds up others.
    LossesInOrder(
        /// The channel.
        Channel,
    ),
}

impl Covered {
    /// How crashes are covered in the world of a model.
    pub fn crashes(model: &Model) -> Self {
        match (&model.world().crashes, model.world().why_crashes_must_be_steps(model)) {
            (Crashes::Explicit { .. }, _) => Covered::InSteps,
            (Crashes::Implicit, None) => Covered::WithoutSteps,
            (Crashes::Implicit, Some(reason)) => Covered::Not(NotCovered::Crashes(reason)),
        }
    }

    /// How lost messages are covered in the world of a model.
    pub fn losses(model: &Model) -> Self {
        let world = model.world();
        match (world.channel, at_end(model)) {
            _ if world.faults().contains(&StepKind::Loss) => Covered::InSteps,
            (Channel::Lossy, _) | (Channel::Bag | Channel::Set | Channel::Duplicating, None) => {
                Covered::WithoutSteps
            }
            (Channel::Bag | Channel::Set | Channel::Duplicating, Some(property)) => {
                Covered::Not(NotCovered::LossesAtEnd { property: property.to_string() })
            }
            (channel, _) => Covered::Not(NotCovered::LossesInOrder(channel)),
        }
    }
}

impl fmt::Display for NotCovered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotCovered::Crashes(reason) => write!(f, "{reason}"),
            NotCovered::LossesAtEnd { property } => write!(f, "'{property}' looks at the end of runs"),
            NotCovered::LossesInOrder(channel) => {
                write!(f, "in {channel} channels a message in front holds up the others")
            }
        }
    }
}

impl NotCovered {
    /// What is not covered.
    pub fn what(&self) -> &'static str {
        match self {
            NotCovered::Crashes(_) => "crashes",
            NotCovered::LossesAtEnd { .. } | NotCovered::LossesInOrder(_) => "lost messages",
        }
    }
}

/// What a reader should know of an answer, lest it be taken for more than it is.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Warning {
    /// A kind of fault was asked for and never happened.
    NeverHappened(
        /// The kind.
        StepKind,
    ),
    /// A property looks at the end of runs, and no run ends.
    NoRunEnds {
        /// The property.
        property: String,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::NeverHappened(kind) => {
                write!(f, "{} were asked for and never happened: nothing is known of them", kind.plural())
            }
            Warning::NoRunEnds { property } => {
                write!(f, "no run ends: '{property}' looks at the end of runs and was never asked")
            }
        }
    }
}
