//! The judge: what must hold is asked of each skeleton, and the runs that it stands for are counted.
//!
//! `properties.rs` asks at every consistent cut; `conjunction.rs` looks for violations of a limit without going through
//! all cuts.

mod conjunction;
mod properties;

pub(super) use properties::Judge;
