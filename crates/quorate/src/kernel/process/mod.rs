//! One process: its local states, inboxes and configurations, and its remembered steps. Everything that runs the user's
//! code for the kernel is in here.

mod context;
mod graph;
mod inbox_bits;
mod left_out;
mod live;
mod mail;
mod queries;
mod questions;
mod seen;
mod steps;
mod values;
mod way_list;
mod ways;
mod world_steps;

pub(in crate::kernel) use context::AskContext;
pub(in crate::kernel) use graph::ProcessGraph;
pub(in crate::kernel) use inbox_bits::{InboxMask, bits};
pub(in crate::kernel) use mail::{MessageId, Messages, NOTHING, SendListId};
pub(in crate::kernel) use queries::Possibility;
pub(in crate::kernel) use questions::{AskedSoFar, Questions};
pub(crate) use seen::StepSeen;
pub(in crate::kernel) use seen::{Edge, SeenSteps, emits};
pub(in crate::kernel) use values::{
    ConfigurationId, ConfigurationStep, HandlerInput, INITIAL, Lead, LocalId, LocalStep, Start, StoredLead,
};
