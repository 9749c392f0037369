//! What the tests of Quorate measure it against.
//!
//! [`naive`] is a checker so plain that it can be read in one sitting; [`random`] makes protocols by the thousand, and
//! [`worlds`] the worlds to check them in; [`symmetry`] says where interchangeable processes are not; [`compare`] says
//! in what a report of an engine differs from what the naive checker found, and [`words`] whether two systems look the
//! same; [`tier`] says which seeds a test goes through; [`maximal_runs`] counts runs up to the order of independent
//! steps; [`partial_order`] has runs as partial orders; [`reductions`] does so for reduced searches, also of the
//! protocols of [`twins`]. The engines, and every reduction they will learn, have to agree with the naive checker on
//! whatever the generator comes up with.

pub mod compare;
pub mod corpus;
mod dice;
mod listener;
mod machine;
pub mod maximal_runs;
pub mod naive;
pub mod partial_order;
pub mod random;
pub mod reductions;
pub mod speaking;
pub mod symmetry;
pub mod tier;
pub mod twins;
pub mod words;
pub mod worlds;
