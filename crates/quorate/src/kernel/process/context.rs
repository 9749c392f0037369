//! What it takes to run a handler and to number what it sends.

use super::mail::Messages;
use crate::model::{Handlers, Model};

/// What it takes to run a handler and to number what it sends.
pub(in crate::kernel) struct AskContext<'m> {
    pub(in crate::kernel) model: &'m Model,
    pub(in crate::kernel) mail: Messages,
    pub(in crate::kernel) handlers: Handlers<'m>,
}

impl<'m> AskContext<'m> {
    /// Nothing was asked or sent yet.
    pub(in crate::kernel) fn new(model: &'m Model) -> Self {
        let mail = Messages::new(model.world().channel);
        AskContext { model, mail, handlers: Handlers::new(model) }
    }
}
