//! The local closure, and how properties could be broken in it.

mod candidates;
mod close;
mod parts;
mod process;
mod supply;

pub use candidates::CombineBy;
pub(crate) use candidates::{Candidate, Candidates};
pub(crate) use close::Closure;
pub use close::ClosureSize;
pub(crate) use parts::Level;
