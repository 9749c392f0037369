//! Which reductions a search uses, and which go together.
//!
//! From: docs/theory/README.md 4. A reduction is a value that the search is given; what makes it right is beside the
//! code that does it, in `kernel/reductions/`: inert, stubborn, beliefs, symmetry. Here is what each can be used with.
//! Held by: testkit/tests/reductions.rs: every combination that is allowed.

use std::fmt;

use crate::model::{Model, Refusal, at_end};
use crate::world::Delivery;

/// One way to search less.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Reduction {
    /// Messages that can make no difference any more are left out.
    Inert,
    /// Only some processes step in a state, where that is enough.
    Stubborn,
    /// What a process can have done, given what it received and sent, is one state.
    Beliefs,
    /// States that differ only in which of several interchangeable processes does what are one.
    Symmetry,
}

impl Reduction {
    /// All of them.
    pub const ALL: [Reduction; 4] =
        [Reduction::Inert, Reduction::Stubborn, Reduction::Beliefs, Reduction::Symmetry];

    /// Its name, as in `--reduce inert`.
    pub fn name(self) -> &'static str {
        match self {
            Reduction::Inert => "inert",
            Reduction::Stubborn => "stubborn",
            Reduction::Beliefs => "beliefs",
            Reduction::Symmetry => "symmetry",
        }
    }

    /// Why it cannot be used for a model.
    fn refuses(self, model: &Model) -> Option<Refusal> {
        let (channel, delivery) = (model.world().channel, model.world().delivery);
        match self {
            Reduction::Inert | Reduction::Stubborn if delivery != Delivery::AtOnce => {
                Some(Refusal::NeedsDelivery(Delivery::AtOnce))
            }
            Reduction::Inert => match at_end(model) {
                Some(property) => Some(Refusal::EndsComeLater { property: property.to_string() }),
                None => (!channel.unordered_and_unbounded()).then_some(Refusal::KeepsWaiting(channel)),
            },
            // A later copy of a message skips what is before it, which the sets do not look at; nor do they see that what
            // is sent again is owed again.
            Reduction::Stubborn
                if (channel.may_skip() || model.tracks_copies()) && at_end(model).is_some() =>
            {
                model
                    .ends_early()
                    .map(|property| Refusal::EndsDespiteFaults { property: property.to_string() })
            }
            Reduction::Stubborn => (!channel.commutes()).then_some(Refusal::DoesNotCommute(channel)),
            // Beliefs see what is sent to a monitor, not whether the monitor changes.
            Reduction::Beliefs => match (model.ends_early(), at_end(model)) {
                (Some(property), _) => Some(Refusal::EndsDespiteFaults { property: property.to_string() }),
                (None, Some(property)) if !model.monitors().is_empty() => {
                    Some(Refusal::EndsDespiteEvents { property: property.to_string() })
                }
                (None, _) => channel.makes_senders_wait().then_some(Refusal::ShowsRoom(channel)),
            },
            Reduction::Symmetry if model.start().is_some() => Some(Refusal::StartsInTheMiddle),
            Reduction::Symmetry if model.symmetry().groups().is_empty() => Some(Refusal::NothingSymmetric),
            Reduction::Symmetry => (!model.monitors().is_empty()).then_some(Refusal::HasMonitors),
        }
    }
}

impl fmt::Display for Reduction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How finely stubborn sets look at who can send what: the refinements of MP-Basset.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Refinement {
    /// Not at all: who sends to one of a role is taken to send to all, and a quorum waits for everybody.
    None,
    /// A reply goes to whom it goes.
    Reply,
    /// A quorum waits for its members.
    Quorum,
    /// Both.
    Combined,
    /// Both, and by what a process can still send from where it is.
    #[default]
    Auto,
}

impl Refinement {
    pub(crate) fn by_reply(self) -> bool {
        matches!(self, Refinement::Reply | Refinement::Combined | Refinement::Auto)
    }

    pub(crate) fn by_quorum(self) -> bool {
        matches!(self, Refinement::Quorum | Refinement::Combined | Refinement::Auto)
    }

    pub(crate) fn by_state(self) -> bool {
        self == Refinement::Auto
    }
}

/// From which of the processes that can step a stubborn set is grown.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Seeds {
    /// From each; the smallest is taken.
    #[default]
    Best,
    /// From the first, in the order of the system: what starts an instance comes before what continues it.
    First,
    /// From the last: what continues an instance comes before what starts one.
    Last,
}

/// The reductions of a search.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Reductions {
    /// Which.
    pub which: Vec<Reduction>,
    /// How stubborn sets look at who can send what.
    pub refinement: Refinement,
    /// Where stubborn sets begin.
    pub seeds: Seeds,
    /// They were not asked for: a search without them that ends first is as good.
    pub may_be_dropped: bool,
}

impl Reductions {
    /// These ones; an error says which of them cannot be used for a model, and why.
    pub fn checked(which: &[Reduction], model: &Model) -> Result<Self, Refused> {
        for reduction in which {
            if let Some(reason) = reduction.refuses(model) {
                return Err(Refused { reduction: *reduction, reason });
            }
        }
        let mut which = which.to_vec();
        which.sort_unstable();
        which.dedup();
        Ok(Reductions { which, ..Reductions::default() })
    }

    /// The same, of which none may be dropped.
    #[must_use]
    pub fn kept(self) -> Self {
        Reductions { may_be_dropped: false, ..self }
    }

    /// The strongest combination that can be used for a model, and what cannot be, with the reasons.
    pub fn strongest(model: &Model) -> (Self, Vec<Refused>) {
        let mut reductions = Reductions { may_be_dropped: true, ..Reductions::default() };
        let mut refused = Vec::new();
        for reduction in Reduction::ALL {
            match reduction.refuses(model) {
                None => reductions.which.push(reduction),
                Some(reason) => refused.push(Refused { reduction, reason }),
            }
        }
        (reductions, refused)
    }

    /// Those of them that can be used for a model.
    pub(crate) fn fitting(self, model: &Model) -> Self {
        let which = self.which.into_iter().filter(|reduction| reduction.refuses(model).is_none()).collect();
        Reductions { which, ..self }
    }

    /// Are steps that only consume left out? What they consume makes no difference, so this goes with leaving out such
    /// messages. Alone, that reduction keeps the steps, and whatever a quorum could consume, so that its states are
    /// those of the full search, without some messages.
    pub(crate) fn leave_out_idle_steps(&self, model: &Model) -> bool {
        self.has(Reduction::Inert) && self.which.len() > 1 && !model.world().channel.keeps_consumed()
    }

    /// Is this one of them?
    pub fn has(&self, reduction: Reduction) -> bool {
        self.which.contains(&reduction)
    }
}

/// A reduction that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Refused {
    /// Which.
    pub reduction: Reduction,
    /// Why.
    pub reason: Refusal,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.reduction, self.reason)
    }
}

impl std::error::Error for Refused {}
