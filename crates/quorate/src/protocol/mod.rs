//! What a user writes: roles with their transitions, the system they form, the catalogue entry that gives
//! a protocol its command line. Everything is checked once, in [`System::build`], which yields the
//! [`Model`] that the rest of the crate works on.

mod catalogue;
mod model;
mod node;
mod outbox;
mod rename;
mod role;
mod symmetry;
mod system;
mod value;

pub use catalogue::{Argument, ArgumentError, Arguments, Bug, Domain, Parameter, Protocol};
pub use model::{
    Choice, Envelope, Model, Outcome, PROCESSES_MAX, Panicked, Process, ProcessId, QuorumSystem, RoleMembers,
    Sending, Transition, Trigger,
};
pub use node::{Commands, Fingerprinted, Holder, Hosted, Input, Node, Replayed, Stepped};
pub use outbox::{Outbox, Quorum, Received};
pub use rename::{Rename, Renaming};
pub use role::{
    Internal, IntoKey, Message, OneMessage, QuorumMessages, QuorumOf, Role, RoleName, Transitions, all_of,
    majority_of, quorums_of, some_of,
};
pub use symmetry::{Difference, RenameFn, States, Symmetry, SymmetryError};
pub use system::{System, SystemError};
pub use value::{Content, Value};

pub(crate) use model::catching;
pub(crate) use outbox::MISFIT;
pub(crate) use value::fold;
