//! What the world can do to a configuration: deliveries, losses, duplications, crashes between steps, restarts.

use super::context::AskContext;
use super::graph::ProcessGraph;
use super::mail::{InboxEntry, NOTHING};
use super::values::{ConfigurationStep, LocalId, Offer, nth};
use crate::world::{FaultsSoFar, Inbox, StepKind};

impl ProcessGraph {
    /// What the world can do to a configuration.
    pub(super) fn world_steps(
        &mut self,
        local: LocalId,
        past: FaultsSoFar,
        inbox: &Inbox<InboxEntry>,
        ask: &mut AskContext<'_>,
        steps: &mut Vec<ConfigurationStep>,
    ) {
        let (model, world) = (ask.model, ask.model.world());
        let step = |kind, consumed, leads| ConfigurationStep {
            kind,
            transition: 0,
            consumed,
            choices: Vec::new(),
            sent: NOTHING,
            leads,
            owed: false,
        };
        let ways = [
            (StepKind::Delivery, world.delivery.in_steps(), past),
            (StepKind::Loss, usize::from(past.losses) < world.losses, past.with_loss()),
            (
                StepKind::Duplication,
                usize::from(past.duplications) < world.duplications,
                past.with_duplication(),
            ),
        ];
        for (kind, _, past) in ways.into_iter().filter(|(_, possible, _)| *possible) {
            for position in inbox.on_their_way(world) {
                let mut changed = inbox.clone();
                match kind {
                    StepKind::Delivery => changed.deliver(world, position),
                    StepKind::Loss => changed.lose(world, position),
                    _ => changed.double(world, position),
                }
                let (message, nth) = (inbox.way(world)[position].message, nth(inbox.way(world), position));
                let next = self.configuration(local, past, changed, ask);
                let offer = Offer { message, position: Some(position), nth };
                steps.push(step(kind, vec![offer], Some((next, NOTHING))));
            }
        }
        if model.fault_limits_of(self.id).stops {
            let next = self.configuration(local, past.with_crash(), inbox.clone(), ask);
            steps.push(step(StepKind::Stop, Vec::new(), Some((next, NOTHING))));
        }
        if past.restarts < model.fault_limits_of(self.id).restarts {
            match self.restarted(local, ask) {
                None => steps.push(step(StepKind::Restart, Vec::new(), None)),
                Some(after) if after == local || !self.is_allowed(after) => {}
                Some(after) => {
                    let next = self.configuration(after, past.with_restart(), inbox.clone(), ask);
                    steps.push(step(StepKind::Restart, Vec::new(), Some((next, NOTHING))));
                }
            }
        }
    }

    /// The local state after a restart in another; `None` if that panics.
    pub(in crate::kernel) fn restarted(
        &mut self,
        local: LocalId,
        ask: &mut AskContext<'_>,
    ) -> Option<LocalId> {
        if let Some(known) = self.after_restart.get(&local) {
            return *known;
        }
        if let Some(questions) = &mut self.questions {
            questions.met.restarts.push(local);
        }
        let after = ask.handlers.restarted(self.id, self.locals.value(local));
        let after = after.ok().map(|state| self.locals.number(state));
        self.after_restart.insert(local, after);
        after
    }
}
