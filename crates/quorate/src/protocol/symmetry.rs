//! Symmetry as a user declares it: roles whose processes are interchangeable, and how ids are renamed.
//!
//! From: docs/theory/symmetry.md 1. [`System::build`](super::System::build) checks what can be seen before a single
//! step: that processes which are said to be interchangeable start in the same state, up to their ids, with the same
//! transitions, and that nothing else in the system distinguishes them. What handlers do is not checked here.
//! Invariant: if there is a group then every state, message and monitor of the system can be renamed.
//! Held by: `tests/symmetry.rs`; `testkit/tests/symmetry.rs` for what the zoo declares.

use super::role::Role;
use crate::base::{Content, Rename, Renaming, RoleName, Value};
use crate::model::{History, Model, RenameFn, Renames, Symmetry, SymmetryError};
use crate::property::Monitor;

fn rename_as<T: Content + Rename>(value: &Value, ids: &Renaming) -> Option<Value> {
    value.get::<T>().map(|value| Value::new(value.rename(ids)))
}

/// The state types of roles: one, or a tuple of up to six.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the state of a role with `Rename`, nor a tuple of up to six of them",
    note = "every state needs `#[derive(quorate::Rename)]`: an error beside this one names what lacks it"
)]
pub trait States {
    /// How to rename each.
    fn renames() -> Vec<RenameFn>;
}

impl<S: Role + Rename> States for S {
    fn renames() -> Vec<RenameFn> {
        vec![rename_as::<S>]
    }
}

macro_rules! states_in_tuples {
    ($(($($name:ident),+))*) => {
        $(impl<$($name: States),+> States for ($($name,)+) {
            fn renames() -> Vec<RenameFn> {
                [$($name::renames()),+].concat()
            }
        })*
    };
}

states_in_tuples! { (A) (A, B) (A, B, C) (A, B, C, D) (A, B, C, D, E) (A, B, C, D, E, F) }

/// What the user has said so far.
#[derive(Default)]
pub(super) struct Declaration {
    roles: Vec<RoleName>,
    renames: Renames,
}

impl Declaration {
    pub(super) fn symmetric<M: Content + Rename>(&mut self, role: RoleName) {
        if !self.roles.contains(&role) {
            self.roles.push(role);
        }
        self.renames.message = Some(rename_as::<M>);
    }

    pub(super) fn renames<S: States>(&mut self) {
        self.renames.states.extend(S::renames());
    }

    pub(super) fn renames_monitor<A: Monitor + Rename>(&mut self)
    where
        A::Event: Rename,
    {
        self.renames.histories.push(History { state: rename_as::<A>, event: rename_as::<A::Event> });
    }

    /// Compares what was said with the system.
    pub(super) fn check(self, model: &Model) -> Result<Symmetry, SymmetryError> {
        let mut symmetry =
            Symmetry { processes: model.processes.len(), renames: self.renames, ..Symmetry::default() };
        let Some(symmetric) = self.roles.first().map(|role| role.name()) else {
            return Ok(symmetry);
        };
        for process in &model.processes {
            if symmetry.find_state(&process.initial, &Renaming::identity(0)).is_none() {
                let (role, state) = (process.role.clone(), process.initial.type_name());
                return Err(SymmetryError::StatesNotRenamed { role, state, symmetric });
            }
        }
        for monitor in &model.monitors {
            if symmetry.find_monitor(monitor.initial(), &Renaming::identity(0)).is_none() {
                let (monitor, state) = (monitor.name().to_string(), monitor.initial().type_name());
                return Err(SymmetryError::MonitorNotRenamed { monitor, state, symmetric });
            }
        }
        for role in self.roles.iter().map(|role| role.name()) {
            let members = model.roles.of(role).to_vec();
            if members.is_empty() {
                return Err(SymmetryError::UnknownRole { role });
            }
            for pair in members.windows(2) {
                if let Some(how) = symmetry.difference(model, pair[0], pair[1]) {
                    let [one, other] = [pair[0], pair[1]].map(|process| model.process(process).name.clone());
                    return Err(SymmetryError::NotSymmetric { role, one, other, how: Box::new(how) });
                }
            }
            symmetry.roles.push(members);
        }
        symmetry.expose(&model.fault_limits);
        Ok(symmetry)
    }
}
