//! Tests of components written as ordinary threads.
//!
//! One program for all of them: it is linked once.

mod agreement;
mod held_back;
mod network;
mod primitives;
mod replicated_log;
mod runs;
mod support;
