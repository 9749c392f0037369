//! What it takes to run a handler and to number what it sends.

use super::mail::Messages;
use crate::model::{Handlers, Model};

/// What it takes to run a handler and to number what it sends.
pub(in crate::kernel) struct AskContext<'a, 'm> {
    pub(in crate::kernel) model: &'m Model,
    pub(in crate::kernel) mail: &'a mut Messages,
    pub(in crate::kernel) handlers: &'a mut Handlers<'m>,
}
