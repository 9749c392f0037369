//! The local explorer: everything that a component can do while others see a certain local skeleton of it.
//!
//! `tables.rs` remembers the answers, and asks the explorer of each component for those that are missing. Explorers:
//! `merge.rs`, for a component whose points can be compared; `enumerate.rs`, for one whose runs are enumerated by
//! `dpor.rs`; and whatever else implements [`ExploreComponent`]. `workers.rs` makes several tables at a time, and
//! `identify.rs` names points so that another search can find them again.

mod dpor;
mod enumerate;
mod identify;
mod merge;
mod tables;
mod workers;

pub(super) use dpor::Restriction;
pub(super) use enumerate::{Enumerate, Explored, FoundPoint, Last, Panicked, Way};
pub(super) use merge::Merge;
pub(super) use tables::{ExploreComponent, Explorers, Kind, Locals, Table, Wanted};
