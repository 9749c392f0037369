//! A model in a world: what may happen to whom, and what a world demands of a model.

use super::{Envelope, Model};
use crate::base::ProcessId;
use crate::property::When;
use crate::world::{
    BUDGET_MAX, Channel, Crashes, Delivery, FaultLimits, MustCrashInSteps, World, WorldError,
};

impl World {
    /// Why crashes must be steps in this world: where they are not, a model is not checked for what a crash can do.
    pub fn why_crashes_must_be_steps(&self, model: &Model) -> Option<MustCrashInSteps> {
        if self.channel.shows_missing_messages() {
            return Some(MustCrashInSteps::ShowsMissing(self.channel));
        }
        at_end(model).map(|property| MustCrashInSteps::AtEnd { property: property.to_string() })
    }

    /// What may happen to each process of a model; an error if this world makes no sense for it.
    pub(crate) fn fault_limits(&self, model: &Model) -> Result<Vec<FaultLimits>, WorldError> {
        self.validate()?;
        if self.delivery == Delivery::InStepsConsumingAll
            && let Some(property) = at_end(model)
        {
            return Err(WorldError::EndsStuck { property: property.to_string() });
        }
        // Before its end, a run shows nothing of a process that has stopped: it may be slow.
        let stops = at_end(model).is_some();
        let mut fault_limits = vec![FaultLimits::default(); model.processes().len()];
        if let Crashes::Explicit { prone, .. } = &self.crashes {
            for (role, count) in prone {
                let members = role_members(model, role)?;
                if *count > members.len() {
                    let (role, count, members) = (role.clone(), *count, members.len());
                    return Err(WorldError::TooManyCrashProne { role, count, members });
                }
                for process in &members[..*count] {
                    let limits = &mut fault_limits[process.index()];
                    (limits.crashes, limits.stops) = (true, stops);
                }
            }
        }
        for (role, times) in &self.restarts {
            for process in role_members(model, role)? {
                fault_limits[process.index()].restarts = u8::try_from(*times).unwrap_or(u8::MAX);
            }
        }
        Ok(fault_limits)
    }

    fn validate(&self) -> Result<(), WorldError> {
        let budgets = self.restarts.iter().map(|(_, times)| *times).chain([self.losses, self.duplications]);
        if let Some(budget) = budgets.max().filter(|budget| *budget > BUDGET_MAX) {
            return Err(WorldError::Budget { budget, most: BUDGET_MAX });
        }
        let channel = self.channel;
        if let Some(size) = channel.size().filter(|size| !(1..=Channel::SIZE_MAX).contains(size)) {
            return Err(WorldError::ChannelSize { size, most: Channel::SIZE_MAX });
        }
        if self.delivery.in_steps() && !channel.can_deliver_in_steps() {
            return Err(WorldError::DeliveryInSteps(channel));
        }
        if self.losses > 0 && !channel.can_lose_in_steps() {
            return Err(WorldError::Losses(channel));
        }
        if self.duplications > 0 && !channel.can_double() {
            return Err(WorldError::Duplications(channel));
        }
        Ok(())
    }
}

impl Model {
    /// May a message that was sent and could be forged as well be left out, since it is there anyway? Not where it has
    /// a place in a queue, takes up room, or must be received before a run ends.
    pub(crate) fn forgeries_stand_for_messages(&self) -> bool {
        self.world.channel.unordered_and_unbounded() && at_end(self).is_none()
    }

    /// Is a message that was sent to a process there anyway?
    pub(crate) fn is_there_anyway(&self, to: ProcessId, envelope: &Envelope) -> bool {
        self.forgeries_stand_for_messages() && self.forgeable(to).contains(envelope)
    }

    /// Must it be known which messages were received, because further copies may never come?
    pub(crate) fn tracks_copies(&self) -> bool {
        self.world.channel.keeps_consumed() && at_end(self).is_some()
    }

    /// A property that looks at the end of runs, if a run may end where processes could still step.
    pub(crate) fn ends_early(&self) -> Option<&str> {
        let forges = self.ids().any(|process| !self.forgeable(process).is_empty());
        let channel = self.world.channel;
        let unreliable = !channel.is_reliable() || channel.absorbs_messages();
        let unowed = forges || unreliable || !self.world.faults().is_empty();
        at_end(self).filter(|_| unowed)
    }
}

/// A property that looks at the end of runs.
pub(crate) fn at_end(model: &Model) -> Option<&str> {
    let property = model.properties().iter().find(|property| property.when() == When::AtEnd);
    property.map(crate::property::Property::name)
}

fn role_members<'m>(model: &'m Model, role: &str) -> Result<&'m [ProcessId], WorldError> {
    let members = model.roles().of(role);
    if members.is_empty() {
        let known = model.roles().names().map(str::to_string).collect();
        return Err(WorldError::UnknownRole { role: role.to_string(), known });
    }
    Ok(members)
}
