//! The kernel: global states and steps as integers.
//!
//! From: docs/theory/kernel.md 2, one level further. There, a process's steps and the effect of arriving
//! messages on its configuration are memoized. Here the same is done for *groups* of processes: processes
//! are the leaves of a binary tree, a state of an inner node is a pair of states of its children, and a
//! node memoizes its steps and the effect of arriving messages exactly as a process does. A global state
//! is then a pair of numbers, one for the left group and one for the right; a global step is one entry of a
//! group's list of steps and, if it sends to the other group, one look-up.
//!
//! In the order in which they build on each other: `options`, `state`; `process/`; `closure/`; `reductions/`;
//! `groups/`; `vectors`; `prepare`; `second_look`; `expand`, `expand_vector`, `learn`, `sampling`, `explain`, `census`.
//!
//! PERF: `cargo xtask bench`, Paxos (3,3,1): docs/decisions/0002.
//!
//! Invariant: the numbers of a node name its reachable states one to one, so a pair of numbers *is* the
//! global state, exactly.
//! Held by: testkit/tests/agreement.rs, crates/quorate-zoo/tests/counts.rs.

mod census;
mod closure;
mod expand;
mod expand_vector;
mod explain;
mod groups;
mod learn;
mod options;
mod prepare;
mod process;
mod reductions;
mod sampling;
mod second_look;
mod state;
mod vectors;

#[cfg_attr(not(feature = "testing"), allow(unreachable_pub, reason = "testing.rs exports it"))]
pub use census::Census;
pub(crate) use closure::{Candidate, Candidates, Closure, Level};
pub use closure::{ClosureSize, CombineBy};
pub(crate) use options::{AllowedLocals, Options};
#[cfg_attr(not(feature = "testing"), allow(unreachable_pub, reason = "testing.rs exports them"))]
pub use options::{Sleep, Tuning};
pub(crate) use prepare::Kernel;
pub(crate) use process::StepSeen;
pub(crate) use state::{Found, NO_SLEEP, SleepSetId, State, Unknown};
