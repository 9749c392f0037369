//! Tests of the protocols of the zoo: their counts, their planted bugs, and what engines say of them.
//!
//! One program for all of them: it is linked once.

mod counts;
mod crashes;
mod dir;
mod instance;
mod nodes;
mod pam_generals;
mod reductions;
mod stones;
mod storage_echo;
