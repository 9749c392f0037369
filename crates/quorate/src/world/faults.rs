//! What may go wrong: the kinds of faults, how many of each, and what a process has been through.

use std::hash::{Hash, Hasher};

/// Which of its messages a process sends that crashes in a step.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum CrashSends {
    /// All of them: it crashes between two steps.
    #[default]
    All,
    /// Some: any subset, and where channels keep the order of a sender, to each receiver the first few.
    Some,
    /// Any subset, even where channels keep the order: there, that is more than a crash can do.
    AnySubset,
}

/// Whether crashes are steps.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum Crashes {
    /// No: a process that has crashed looks like one that is slow.
    #[default]
    Implicit,
    /// Yes, of some processes.
    Explicit {
        /// How many processes of a role may crash: the first ones.
        prone: Vec<(String, usize)>,
        /// What a crashing process still sends.
        sends: CrashSends,
    },
}

/// The most faults of a kind that a world may allow: they are counted in a byte.
pub const BUDGET_MAX: usize = 255;

/// What may happen to one process.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct FaultLimits {
    /// It may crash.
    pub crashes: bool,
    /// A crash between two of its steps is a step too: where a property looks at the end of runs, for else a process
    /// that has stopped is like a slow one.
    pub stops: bool,
    /// It may restart so often.
    pub restarts: u8,
}

/// What a process has been through: a part of its configuration.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct FaultsSoFar {
    /// It has crashed.
    pub crashed: bool,
    /// It has restarted so often.
    pub restarts: u8,
    /// So many messages to it were lost in steps.
    pub losses: u8,
    /// So many messages to it were doubled in steps.
    pub duplications: u8,
}

/// PERF: one word, since it is in every configuration.
impl Hash for FaultsSoFar {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let FaultsSoFar { crashed, restarts, losses, duplications } = *self;
        state.write_u32(u32::from_le_bytes([u8::from(crashed), restarts, losses, duplications]));
    }
}

impl FaultsSoFar {
    pub(crate) fn with_crash(self) -> Self {
        FaultsSoFar { crashed: true, ..self }
    }

    pub(crate) fn with_restart(self) -> Self {
        FaultsSoFar { restarts: self.restarts + 1, ..self }
    }

    pub(crate) fn with_loss(self) -> Self {
        FaultsSoFar { losses: self.losses.saturating_add(1), ..self }
    }

    pub(crate) fn with_duplication(self) -> Self {
        FaultsSoFar { duplications: self.duplications.saturating_add(1), ..self }
    }
}

/// What kind of step.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum StepKind {
    /// A transition of the protocol.
    Transition,
    /// A transition after which the process is no more.
    Crash,
    /// A process crashes between two of its steps, or before the first.
    Stop,
    /// A message is delivered.
    Delivery,
    /// A process starts anew with what it has kept.
    Restart,
    /// A message is lost.
    Loss,
    /// A message is doubled.
    Duplication,
}

impl StepKind {
    /// Every kind, in order.
    pub const ALL: [StepKind; 7] = [
        StepKind::Transition,
        StepKind::Crash,
        StepKind::Stop,
        StepKind::Delivery,
        StepKind::Restart,
        StepKind::Loss,
        StepKind::Duplication,
    ];

    /// Its name, in traces and reports.
    pub fn name(self) -> &'static str {
        match self {
            StepKind::Transition => "transition",
            StepKind::Crash => "crash",
            StepKind::Stop => "stop",
            StepKind::Delivery => "delivery",
            StepKind::Restart => "restart",
            StepKind::Loss => "loss",
            StepKind::Duplication => "duplication",
        }
    }

    /// Several of them, in words.
    pub fn plural(self) -> &'static str {
        match self {
            StepKind::Transition => "transitions",
            StepKind::Crash | StepKind::Stop => "crashes",
            StepKind::Delivery => "deliveries",
            StepKind::Restart => "restarts",
            StepKind::Loss => "lost messages",
            StepKind::Duplication => "doubled messages",
        }
    }

    /// The kind with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Is it something that goes wrong?
    pub fn is_fault(self) -> bool {
        !matches!(self, StepKind::Transition | StepKind::Delivery)
    }
}
