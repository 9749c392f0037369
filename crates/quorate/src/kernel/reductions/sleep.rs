//! Sleeping processes: steps that need not be taken because their result is reached another way.
//!
//! From: sleep sets (Godefroid 1996), cut down to what breadth-first search can keep in one number a state.
//! Every state is still visited, at the same depth, and every step is still counted; what is saved is the
//! work of arriving at the same state again and again.
//!
//! The rule: a state s that was *first* found by a step b of process q, from s0, takes no steps of a process
//! p < q that b sent nothing to.
//!
//! Why every successor t = a(s) of s by a step a of such a p is found all the same, and not later than at
//! depth(s) + 1. Steps of different processes commute and do not disable each other (see `Channel::commutes`), and p's
//! configuration is the same in s0 and s, so t = a(b(s0)) = b(a(s0)). By induction on the depth, u = a(s0) is
//! found at depth(s) or before. If u takes b, it finds t. If not, u was first found by a step c of a process
//! r > q from some s1 in which b was possible, and t = b(c(s1)) = c(b(s1)): the same question again, for the
//! state b(s1) and its step c, with r > q in the place of q. There are finitely many processes, so some state
//! takes the step.
//!
//! Known: needs steps that commute, and breadth-first order, for the induction. Depth-first search does
//! without.
//! Held by: testkit/tests/agreement.rs (states, transitions, terminal states, depth equal the naive
//! checker's), with [`Sleep::Everybody`] as the mutant that testkit/tests/mutants.rs catches.

use crate::base::{Numbering, ProcessId, ProcessSet};
use crate::kernel::options::Sleep;
use crate::kernel::state::{NO_SLEEP, SleepSetId};

/// The sets of sleeping processes.
pub(in crate::kernel) struct SleepSets {
    sleep: Sleep,
    asleep: Numbering<ProcessSet>,
}

impl SleepSets {
    pub(in crate::kernel) fn new(sleep: Sleep) -> Self {
        let mut asleep = Numbering::default();
        asleep.number(ProcessSet::EMPTY);
        SleepSets { sleep, asleep }
    }

    /// Does anybody sleep?
    pub(in crate::kernel) fn in_use(&self) -> bool {
        self.sleep != Sleep::Nobody
    }

    /// Who sleeps after a step of a process that sent messages to these.
    pub(in crate::kernel) fn after(&mut self, process: ProcessId, receivers: ProcessSet) -> SleepSetId {
        let number = self.asleep.number(match self.sleep {
            Sleep::Nobody => ProcessSet::EMPTY,
            Sleep::Untouched => ProcessSet::before(process).without(receivers),
            #[cfg(feature = "testing")]
            Sleep::Everybody => ProcessSet::before(process),
        });
        // With more sets than numbers, the rest stay awake: more work, the same answer.
        SleepSetId::try_from(number).unwrap_or(NO_SLEEP)
    }

    #[inline]
    pub(in crate::kernel) fn asleep(&self, sleep: SleepSetId) -> ProcessSet {
        *self.asleep.value(u32::from(sleep))
    }
}
