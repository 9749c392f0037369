//! The successors of a global state, from what is known: nothing is learnt here, so threads may share it.
//!
//! PERF: this is the loop in which a search spends its time; `cargo xtask bench`.

use super::groups::{BLOCKED, Judgement};
use super::prepare::Kernel;
use super::process::NOTHING;
use super::state::{Found, Side, State, Unknown};
use crate::base::ProcessSet;

impl Kernel<'_> {
    /// Calls `successor` for each step that a search must take from a state. Returns how many steps the state has, with
    /// those of processes that sleep. If something is unknown, the error says what, and `successor` may have been called
    /// for some steps.
    #[inline]
    pub(crate) fn expand(&self, found: Found, successor: impl FnMut(Found)) -> Result<usize, Unknown> {
        self.expand_awake(found.state, self.sleep_sets.asleep(found.sleep), successor)
    }

    #[inline]
    pub(super) fn expand_awake(
        &self,
        state: State,
        asleep: ProcessSet,
        mut successor: impl FnMut(Found),
    ) -> Result<usize, Unknown> {
        let (left, right) = (self.tree.left(), self.tree.right());
        let own = left.steps(state.left).ok_or(Unknown::Steps(Side::Left, state.left))?;
        let theirs = right.steps(state.right).ok_or(Unknown::Steps(Side::Right, state.right))?;
        let mut blocked = 0;
        if !left.members().is_subset(asleep) {
            for step in own.iter().filter(|step| !asleep.contains(step.process)) {
                let other = if step.sends == NOTHING {
                    state.right
                } else {
                    right.arrival(state.right, step.sends).ok_or(Unknown::Arrival(
                        Side::Right,
                        state.right,
                        step.sends,
                    ))?
                };
                if other == BLOCKED {
                    blocked += 1;
                    continue;
                }
                successor(Found { state: State { left: step.next, right: other }, sleep: step.sleep });
            }
        }
        for step in theirs.iter().filter(|step| !asleep.contains(step.process)) {
            let other = if step.sends == NOTHING {
                state.left
            } else {
                left.arrival(state.left, step.sends).ok_or(Unknown::Arrival(
                    Side::Left,
                    state.left,
                    step.sends,
                ))?
            };
            if other == BLOCKED {
                blocked += 1;
                continue;
            }
            successor(Found { state: State { left: other, right: step.next }, sleep: step.sleep });
        }
        Ok(own.len() + theirs.len() - blocked)
    }

    /// Does a run end in a state whose steps are known, of which a search takes so many? It does if no step is owed,
    /// and a step that leaves the whole state as it was is not.
    ///
    /// PERF: mostly one look at the first step.
    #[inline]
    pub(crate) fn ended(&self, state: State, steps: usize) -> Result<bool, Unknown> {
        if self.views.believes() {
            return Ok(steps == 0);
        }
        let goes_on = self.some_step_is_owed(Side::Left, (state.left, state.right))?
            || self.some_step_is_owed(Side::Right, (state.right, state.left))?;
        Ok(!goes_on)
    }

    /// Is a step of a group owed, whose state is the first of these and that of the other group the second?
    #[inline]
    fn some_step_is_owed(&self, side: Side, (own, other): (u32, u32)) -> Result<bool, Unknown> {
        let (left, right) = (self.tree.left(), self.tree.right());
        let (group, others, other_side) = match side {
            Side::Left => (left, right, Side::Right),
            Side::Right => (right, left, Side::Left),
        };
        let waits = self.model.world().channel.makes_senders_wait();
        for step in group.steps(own).ok_or(Unknown::Steps(side, own))?.iter().filter(|step| step.owed) {
            if step.next != own && (step.sends == NOTHING || !waits) {
                return Ok(true);
            }
            if step.sends != NOTHING {
                let arrived = others.arrival(other, step.sends);
                let arrived = arrived.ok_or(Unknown::Arrival(other_side, other, step.sends))?;
                if arrived != BLOCKED && (step.next != own || arrived != other) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// What the properties say of a state whose steps are known.
    #[inline]
    pub(crate) fn judge(&self, state: State) -> Result<Judgement, Unknown> {
        let (left, right) = (self.tree.left(), self.tree.right());
        let judgement = self.views.judge(left.view(state.left), right.view(state.right));
        let panics = left.panics(state.left) || right.panics(state.right);
        judgement.map(|judgement| judgement.or_panics(panics)).ok_or(Unknown::Judgement(state))
    }
}
