//! Components of ordinary multi-threaded Rust, for Quorate's dynamic interface reduction.
//!
//! Write servers as usual, with [`thread`] and [`sync`] of this crate instead of those of `std`, and give each a
//! [`Net`] to talk to the others. [`Threaded`] puts them together. Each component is then run by itself, in all ways in
//! which its threads and its messages can be ordered, as far as the order makes a difference; see `docs/threads.md`.
//! The threads are coroutines of [Shuttle](shuttle), whose primitives are under those of this crate.

mod conductor;
mod net;
mod outcome;
mod shared;
mod step;
pub mod sync;
mod system;
pub mod thread;

pub use net::{Net, Outbox};
pub use outcome::{Outcome, Violation};
pub use step::{Act, Agent, Hold, Need, Object, Step};
pub use system::{Processes, Threaded};
