//! The global explorer: composes what the components do into skeletons of the whole system, until there are no more.
//!
//! `skeletons.rs` finds them; `situation.rs` says what a component can do in one; `boundary.rs` restricts a system that
//! is a component itself to what the rest of the larger system sees of it; `logged.rs` writes and reads the log.

mod boundary;
mod logged;
mod situation;
mod skeletons;

pub(super) use boundary::{Boundary, Fate};
pub(super) use situation::Situation;
pub(super) use skeletons::Global;
