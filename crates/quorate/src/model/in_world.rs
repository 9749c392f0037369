//! A model in a world: what may happen to whom, and what a world demands of a model.

use super::Model;
use crate::base::ProcessId;
use crate::property::When;
use crate::world::{BUDGET_MAX, Crashes, FaultLimits, World, WorldError};

impl World {
    /// Does not covering crashes as steps miss what a crash can do? Says why, and what to do instead.
    pub fn why_crashes_must_be_steps(&self, model: &Model) -> Option<String> {
        if self.channel.shows_missing_messages() {
            return Some(format!(
                "with {} channels a message that a crashed process did not send can be told from one that was \
                 not received: use --crash explicit --partial-sends",
                self.channel
            ));
        }
        at_end(model).map(|property| {
            format!(
                "'{property}' looks at the end of runs, and a crash can bring it about: crashes must be steps"
            )
        })
    }

    /// What may happen to each process of a model; an error if this world makes no sense for it.
    pub(crate) fn fault_limits(&self, model: &Model) -> Result<Vec<FaultLimits>, WorldError> {
        self.validate(model)?;
        let mut fault_limits = vec![FaultLimits::default(); model.processes().len()];
        if let Crashes::Explicit { prone, .. } = &self.crashes {
            for (role, count) in prone {
                let members = role_members(model, role)?;
                if *count > members.len() {
                    return Err(WorldError(format!(
                        "{count} crash-prone processes of role '{role}', which has {}: expected 0 to {}",
                        members.len(),
                        members.len()
                    )));
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
        let refuse = |reason: String| Err(WorldError(reason));
        let budgets = self.restarts.iter().map(|(_, times)| *times).chain([self.losses, self.duplications]);
        if let Some(budget) = budgets.max().filter(|budget| *budget > BUDGET_MAX) {
            return refuse(format!("a budget of {budget} faults: expected at most {BUDGET_MAX}"));
        }
        let channel = self.channel;
        if self.delivery.in_steps() && !channel.can_deliver_in_steps() {
            return refuse(format!(
                "delivery in steps of its own goes with bags or sets, not with {channel}: deliver at once, which is equivalent"
            ));
        }
        if self.losses > 0 && !channel.can_lose_in_steps() {
            return refuse(format!(
                "messages in {channel} channels have no budget of losses: leave it out"
            ));
        }
        if self.duplications > 0 && !channel.can_double() {
            return refuse(format!(
                "messages in {channel} channels cannot be doubled: use bag, fifo, mailbox or duplicating channels"
            ));
        }
        if channel.may_skip()
            && let Some(property) = at_end(model)
        {
            return refuse(format!(
                "'{property}' looks at the end of runs, where skipping what is lost is not enough: use a budget of losses"
            ));
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
        let known: Vec<&str> = model.roles().names().collect();
        return Err(WorldError(format!("no role is called '{role}': expected {}", known.join(", "))));
    }
    Ok(members)
}
