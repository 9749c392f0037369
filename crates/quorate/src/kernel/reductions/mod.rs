//! Ways to search less. What each relies on stands in its file; which go together is in `reduce/`.

mod beliefs;
mod certificate;
mod cycles;
mod futures;
mod images;
mod orbits;
mod permutations;
mod sleep;
mod stable;
mod stubborn;
mod symmetry;

pub(in crate::kernel) use beliefs::{BeliefLimits, ProcessStates};
pub(in crate::kernel) use certificate::{Certificate, Why};
pub(in crate::kernel) use orbits::{Orbits, ViewId};
pub(in crate::kernel) use permutations::Renaming;
pub(in crate::kernel) use sleep::SleepSets;
pub(in crate::kernel) use stable::all_stable;
pub(in crate::kernel) use stubborn::{Looking, Needs, Stubborn, Traits};
pub(in crate::kernel) use symmetry::{Symmetry, saturate};
