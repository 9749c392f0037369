//! The checker for protocols: it runs handlers, each once for a local state, the messages it consumes and the choices
//! it makes.
//!
//! From: docs/theory/kernel.md 2 and docs/theory/components.md 4. A component is a process, whose points can be
//! compared (`single.rs`), or a group of processes, whose runs are enumerated (`group.rs`). `checker.rs` has what the
//! checker knows; `ask.rs` alone runs the user's code; `mid_run.rs` starts processes in the middle of a run.
//! Differs from the kernel: the engine counts traces. So a process by itself distinguishes which of several equal
//! messages it consumes, and in a group every message is named by the step that sent it.
//! Held by: testkit/tests/dir.rs.

mod ask;
mod checker;
mod group;
mod mid_run;
mod single;

pub(super) use checker::{ProtocolChecker, StepRef};
pub(super) use mid_run::{MidRun, too_large};
