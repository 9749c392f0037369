//! What everything else stands on: values of the user's types, ids, numbers for values, threads.

mod asked_again;
mod choose;
mod clock;
mod discard;
mod ids;
mod mutants;
mod numbering;
mod parallel;
mod process_set;
mod rename;
mod stop;
mod user_code;
mod value;

pub(crate) use asked_again::{AskedAgain, LATE_MAX, is_due, no_function, not_itself};
pub(crate) use choose::{for_each_choice, for_each_closed_set};
pub(crate) use clock::{is_before, join};
pub(crate) use discard::discard;
pub use ids::{PROCESSES_MAX, ProcessId, RoleName};
#[cfg_attr(not(feature = "testing"), allow(unreachable_pub, reason = "testing.rs exports it"))]
pub use mutants::{Mutant, Mutants};
pub(crate) use numbering::{FoldHasher, Lists, Numbering, PairMap, Pairs, Rows};
pub(crate) use parallel::{in_parallel, in_parallel_mut};
pub(crate) use process_set::ProcessSet;
pub use rename::{Rename, Renaming};
pub use stop::heed;
pub(crate) use stop::{Heeded, Sign, stopped, unless_stopped};
pub(crate) use user_code::catching;
pub(crate) use value::fold;
pub use value::{Content, Value};
