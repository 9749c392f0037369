//! Tests of the program, run as a shell would run it, and of the pages that show it.
//!
//! One program for all of them: it is linked once.

mod compile_errors;
mod contract;
mod damage;
mod dir;
mod dir_page;
mod dir_table;
mod errors;
mod faults;
mod first_protocol;
#[expect(
    clippy::needless_for_each,
    clippy::format_collect,
    reason = "golden answers stay as they are, and so does what compares them"
)]
mod golden;
mod help;
mod limits;
mod local;
mod local_page;
mod options;
mod page;
mod program;
mod progress;
mod readme;
mod replay;
mod resume;
mod snapshot;
mod stones;
mod tables;
mod worlds;
