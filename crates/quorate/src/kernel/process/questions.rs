//! What was asked of the user's code for a process, in the order in which it was asked: what the check of symmetry goes
//! through. A question is *met* if a configuration of the search asks it, and *considered* if only a reduction does,
//! which asks about messages that may never be there together.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::mail::MessageId;
use super::values::{HandlerInput, LocalId, Offer};

/// What was asked since the last look.
#[derive(Default)]
pub(in crate::kernel) struct Questions {
    pub(in crate::kernel) met: AskedSoFar,
    pub(in crate::kernel) considered: AskedSoFar,
    met_before: HashSet<HandlerInput>,
}

/// Questions of one kind.
#[derive(Default)]
pub(in crate::kernel) struct AskedSoFar {
    /// What a transition does with these messages.
    pub(in crate::kernel) steps: Vec<HandlerInput>,
    /// For each local state and transition, the messages among which it had to select.
    pub(in crate::kernel) offered: BTreeMap<(LocalId, usize), BTreeSet<MessageId>>,
    /// Local states in which the process was restarted.
    pub(in crate::kernel) restarts: Vec<LocalId>,
}

impl Questions {
    /// A configuration asks what a transition does.
    pub(super) fn meet(&mut self, input: &HandlerInput) {
        if !self.met_before.contains(input) {
            self.met_before.insert(input.clone());
            self.met.steps.push(input.clone());
        }
    }
}

impl AskedSoFar {
    /// A transition has to select among these messages.
    pub(super) fn offer(&mut self, local: LocalId, transition: usize, offers: &[Offer]) {
        self.offer_messages(local, transition, offers.iter().map(|offer| offer.message));
    }

    pub(super) fn offer_messages(
        &mut self,
        local: LocalId,
        transition: usize,
        messages: impl Iterator<Item = MessageId>,
    ) {
        self.offered.entry((local, transition)).or_default().extend(messages);
    }
}
