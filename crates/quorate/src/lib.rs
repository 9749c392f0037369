//! Quorate checks message-passing, fault-tolerant distributed systems written in Rust.

mod check;
pub mod engine;
mod kernel;
#[cfg(feature = "program")]
pub mod program;
pub mod property;
pub mod protocol;
pub mod verdict;

pub use check::{Check, check};
#[cfg(feature = "program")]
pub use program::main;
pub use property::observe;
pub use protocol::{
    Node, Outbox, ProcessId, Protocol, Quorum, Received, Role, RoleName, System, Transitions, all_of,
    majority_of, quorums_of, some_of,
};
pub use verdict::{Report, Verdict};
