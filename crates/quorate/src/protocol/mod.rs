//! What a user writes: roles with their transitions, the system they form, the catalogue entry that gives
//! a protocol its command line. Everything is checked once, in [`System::build`], which yields the
//! [`Model`](crate::model::Model) that the rest of the crate works on.

mod catalogue;
mod node;
mod outbox;
mod role;
mod symmetry;
mod system;

pub use catalogue::{Argument, ArgumentError, Arguments, Bug, Domain, Parameter, Protocol};
pub use node::{Commands, Fingerprinted, Holder, Hosted, Input, Node, Replayed, Stepped};
pub use outbox::{Outbox, Quorum, Received};
pub use role::{
    Internal, IntoKey, Message, OneMessage, QuorumMessages, QuorumOf, Role, Transitions, all_of, majority_of,
    quorums_of, some_of,
};
pub use symmetry::States;
pub use system::{System, SystemError};
