//! What a local state can consume of some messages, as bits: what is known of it.

use std::sync::Arc;

use super::inbox_bits::InboxMask;
use super::mail::MessageId;
use super::values::LocalStep;

/// What a local state can consume of some messages.
#[derive(Default)]
pub(super) struct Ways {
    /// The messages, as the bits of their first copies.
    pub(super) known: InboxMask,
    /// Those of them among which a configuration had to select.
    pub(super) offered: InboxMask,
    /// Those of them that a reduction has asked about.
    pub(super) considered: InboxMask,
    /// A selection panics, or there are too many ways.
    pub(super) unusable: bool,
    pub(super) list: Vec<Way>,
    /// What each of them consumes. PERF: in one place, since most ways are looked at in vain.
    pub(super) consumed: Vec<InboxMask>,
}

/// A transition with messages that it may consume.
pub(super) struct Way {
    pub(super) consumed: InboxMask,
    pub(super) transition: usize,
    pub(super) messages: Box<[MessageId]>,
    pub(super) answer: Answer,
    /// It was a step of some configuration.
    pub(super) met: bool,
    /// Its edges are among those that were seen.
    pub(super) noted: bool,
}

/// What is known of what a way does.
pub(super) enum Answer {
    NotAsked,
    /// Its guard forbids it.
    Forbidden,
    Outcomes(Arc<[LocalStep]>),
}

impl Answer {
    /// What it does; asked now if it was not asked before. `None` if its guard forbids it.
    pub(super) fn outcomes(
        &mut self,
        ask: impl FnOnce() -> Option<Arc<[LocalStep]>>,
    ) -> Option<Arc<[LocalStep]>> {
        if let Answer::NotAsked = self {
            *self = ask().map_or(Answer::Forbidden, Answer::Outcomes);
        }
        match self {
            Answer::Outcomes(outcomes) => Some(Arc::clone(outcomes)),
            Answer::NotAsked | Answer::Forbidden => None,
        }
    }
}
