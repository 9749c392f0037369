//! The library's own tests, through its front door.
//!
//! One program for all of them: it is linked once.

mod alike;
mod diagram;
mod monitors;
mod nodes;
mod rename;
mod symmetry;
mod verdicts;
