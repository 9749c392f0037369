//! A model in a world: what may happen to whom, and what a world demands of a model.

use super::Model;
use crate::base::ProcessId;
use crate::property::When;
use crate::world::{BUDGET_MAX, Crashes, FaultLimits, MustCrashInSteps, World, WorldError};

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
        self.validate(model)?;
        let mut fault_limits = vec![FaultLimits::default(); model.processes().len()];
        if let Crashes::Explicit { prone, .. } = &self.crashes {
            for (role, count) in prone {
                let members = role_members(model, role)?;
                if *count > members.len() {
                    let (role, count, members) = (role.clone(), *count, members.len());
                    return Err(WorldError::TooManyCrashProne { role, count, members });
                }
                members[..*count].iter().for_each(|process| fault_limits[process.index()].crashes = true);
            }
        }
        for (role, times) in &self.restarts {
            for process in role_members(model, role)? {
                fault_limits[process.index()].restarts = u8::try_from(*times).unwrap_or(u8::MAX);
            }
        }
        Ok(fault_limits)
    }

    fn validate(&self, model: &Model) -> Result<(), WorldError> {
        let budgets = self.restarts.iter().map(|(_, times)| *times).chain([self.losses, self.duplications]);
        if let Some(budget) = budgets.max().filter(|budget| *budget > BUDGET_MAX) {
            return Err(WorldError::Budget { budget, most: BUDGET_MAX });
        }
        let channel = self.channel;
        if self.delivery.in_steps() && !channel.can_deliver_in_steps() {
            return Err(WorldError::DeliveryInSteps(channel));
        }
        if self.losses > 0 && !channel.can_lose_in_steps() {
            return Err(WorldError::Losses(channel));
        }
        if self.duplications > 0 && !channel.can_double() {
            return Err(WorldError::Duplications(channel));
        }
        if channel.may_skip()
            && let Some(property) = at_end(model)
        {
            return Err(WorldError::SkippingAtEnd { property: property.to_string() });
        }
        Ok(())
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
