//! The world a protocol must survive: what its channels are, how messages are delivered, what may fail.
//!
//! From: docs/theory/kernel.md 3; the message-passing models of Bokor et al. (FORTE 2010), the crash model of Saissi et
//! al. (ADVCS 2011). Everything that can happen to a process and to the messages on their way to it is a step of that
//! process: it reads and writes its own configuration only, so the kernel needs no other kind of step. A message that
//! is on its way is kept by its receiver; budgets are per process.
//!
//! Invariant: `Inbox` is the definition of a channel, for the kernel and for replay; the naive checker of the
//! tests has its own.
//! Held by: testkit/tests/worlds.rs, testkit/tests/channels.rs, quorate-cli/tests/worlds.rs.

mod channel;
mod error;
mod faults;
mod inbox;

use std::fmt;

pub use channel::Channel;
pub use error::{MustCrashInSteps, WorldError};
pub use faults::{BUDGET_MAX, CrashSends, Crashes, FaultLimits, FaultsSoFar, StepKind};
pub(crate) use inbox::{Inbox, InboxItem};

/// How messages are delivered.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Delivery {
    /// M: a message that is sent can be consumed.
    #[default]
    AtOnce,
    /// M-MP: a message is delivered in a step of its own; a process consumes some of what was delivered.
    InSteps,
    /// MP: a message is delivered in a step of its own; a process consumes all that was delivered. One whose transitions
    /// take fewer messages is stuck then, so no property may look at the end of runs.
    InStepsConsumingAll,
}

impl Delivery {
    /// Is a delivery a step?
    pub(crate) fn in_steps(self) -> bool {
        self != Delivery::AtOnce
    }
}

impl fmt::Display for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Delivery::AtOnce => "m",
            Delivery::InSteps => "m-mp",
            Delivery::InStepsConsumingAll => "mp",
        })
    }
}

/// What a protocol is checked against. The default is the world of the papers' theorems: bags, in which lost
/// messages and crashed processes need no steps.
///
/// ```
/// use quorate::World;
/// use quorate::world::Channel;
///
/// let world = World::default().channel(Channel::Fifo).losses(1).restart("server", 2);
/// assert_eq!(world.restarts, [("server".to_string(), 2)]);
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub struct World {
    /// The messages on their way.
    pub channel: Channel,
    /// How they are delivered.
    pub delivery: Delivery,
    /// Whether crashes are steps.
    pub crashes: Crashes,
    /// How often each process of a role may restart, with what [`Role::restarted`](crate::Role::restarted) leaves
    /// it.
    pub restarts: Vec<(String, usize)>,
    /// How many messages may get lost on their way to each process, as steps.
    pub losses: usize,
    /// How many messages may be doubled on their way to each process, as steps.
    pub duplications: usize,
}

impl World {
    /// With such channels.
    #[must_use]
    pub fn channel(self, channel: Channel) -> Self {
        World { channel, ..self }
    }

    /// Delivers messages so.
    #[must_use]
    pub fn delivery(self, delivery: Delivery) -> Self {
        World { delivery, ..self }
    }

    /// Processes crash so.
    #[must_use]
    pub fn crashes(self, crashes: Crashes) -> Self {
        World { crashes, ..self }
    }

    /// Each process of a role may restart so often, besides what was said of other roles.
    #[must_use]
    pub fn restart(mut self, role: impl Into<String>, times: usize) -> Self {
        self.restarts.push((role.into(), times));
        self
    }

    /// The processes of these roles may restart so often, and no others.
    #[must_use]
    pub fn restarts(self, restarts: Vec<(String, usize)>) -> Self {
        World { restarts, ..self }
    }

    /// So many messages to each process may get lost, as steps.
    #[must_use]
    pub fn losses(self, losses: usize) -> Self {
        World { losses, ..self }
    }

    /// So many messages to each process may be doubled, as steps.
    #[must_use]
    pub fn duplications(self, duplications: usize) -> Self {
        World { duplications, ..self }
    }

    /// May a message on its way to a process that has been through this still be lost or doubled in a step?
    pub(crate) fn touches_messages(&self, past: FaultsSoFar) -> bool {
        usize::from(past.losses) < self.losses || usize::from(past.duplications) < self.duplications
    }

    /// The kinds of faults that are steps in this world.
    pub fn faults(&self) -> Vec<StepKind> {
        let explicit =
            matches!(&self.crashes, Crashes::Explicit { prone, .. } if prone.iter().any(|(_, n)| *n > 0));
        let wanted = [
            (StepKind::Crash, explicit),
            (StepKind::Restart, self.restarts.iter().any(|(_, times)| *times > 0)),
            (StepKind::Loss, self.losses > 0 || self.channel.may_skip() && self.channel.keeps_order()),
            (StepKind::Duplication, self.duplications > 0),
        ];
        wanted.into_iter().filter(|(_, wanted)| *wanted).map(|(kind, _)| kind).collect()
    }
}
