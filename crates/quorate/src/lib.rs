//! Quorate checks message-passing, fault-tolerant distributed systems written in Rust.

mod check;
pub mod engine;
mod kernel;
pub mod property;
pub mod protocol;
pub mod verdict;

pub use check::{Check, check};
pub use property::observe;
pub use protocol::{
    Node, Outbox, ProcessId, Protocol, Quorum, Received, Role, RoleName, System, Transitions, all_of,
    majority_of, quorums_of, some_of,
};
pub use verdict::{Report, Verdict};
