//! Quorate checks message-passing, fault-tolerant distributed systems written in Rust.
//!
//! Write a protocol as ordinary Rust: a type for each role, its transitions listed once, each handler a
//! method. Quorate explores every order of messages and every quorum, and answers *holds*, *violated* with
//! the shortest run that shows it, or *unknown* with what was covered.
//!
//! A whole protocol with its invariant, checked:
//!
//! ```
//! use quorate::{Outbox, Quorum, Received, Role, RoleName, System, Transitions, majority_of, observe};
//!
//! const CANDIDATES: RoleName = RoleName::new("candidate");
//! const VOTERS: RoleName = RoleName::new("voter");
//!
//! #[derive(Clone, PartialEq, Eq, Hash, Debug)]
//! enum Msg { VoteForMe, Vote }
//!
//! #[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
//! struct Candidate { stands: bool, leads: bool }
//!
//! impl Role for Candidate {
//!     type Message = Msg;
//!     fn transitions(&self, t: &mut Transitions<Self>) {
//!         t.internal("stand").when(|c| !c.stands).run(Self::stand);
//!         t.quorum("win", majority_of(VOTERS)).run(Self::win);
//!     }
//! }
//!
//! impl Candidate {
//!     fn stand(&mut self, out: &mut Outbox<Msg>) {
//!         self.stands = true;
//!         out.send_all(VOTERS, Msg::VoteForMe);
//!     }
//!
//!     fn win(&mut self, _votes: Quorum<'_, Msg>, _: &mut Outbox<Msg>) {
//!         self.leads = true;
//!     }
//! }
//!
//! #[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
//! struct Voter { voted: bool }
//!
//! impl Role for Voter {
//!     type Message = Msg;
//!     fn transitions(&self, t: &mut Transitions<Self>) {
//!         t.message("vote").of(|voter, _| !voter.voted).run(Self::vote);
//!     }
//! }
//!
//! impl Voter {
//!     fn vote(&mut self, plea: Received<'_, Msg>, out: &mut Outbox<Msg>) {
//!         self.voted = true;
//!         out.send(plea.from, Msg::Vote);
//!     }
//! }
//!
//! let system = System::new()
//!     .role(CANDIDATES, 2, |_| Candidate::default())
//!     .role(VOTERS, 3, |_| Voter::default())
//!     .invariant("one leader", observe(|c: &Candidate| c.leads), |leads| {
//!         leads.iter().filter(|leads| **leads).count() <= 1
//!     });
//! quorate::check(system).assert_holds();
//! ```
//!
//! Let the voters vote twice and the last line panics with a diagram of two elections won.
//!
//! # Where to go from here
//!
//! * [`Role`] and [`Transitions`]: what a process can do. Handlers choose with [`Outbox::choose`].
//! * [`Node`]: an existing state machine with `on_message` and `on_timer`, brought in as it is.
//! * [`observe`] and [`System::invariant`]: what must hold in every state.
//! * [`Monitor`] and [`System::monitor`]: what must hold of every history.
//! * [`World`]: channels, crashes, restarts, lost and doubled messages; [`System::forges`]: an adversary.
//! * [`System::symmetric`] and [`Rename`](trait@Rename): processes that are interchangeable.
//! * [`check`] and [`Check`]: in a `#[test]`, with limits.
//! * [`engine::local_graphs::local_graphs`]: the states and steps of each process by itself, as a picture.
//! * `quorate::main` and [`Protocol`]: the whole command line, for a binary of your own, in one line.

// The derive says `::quorate`, here too.
extern crate self as quorate;

mod base;
mod check;
pub mod engine;
mod kernel;
pub mod model;
#[cfg(feature = "program")]
pub mod program;
pub mod property;
pub mod protocol;
pub mod reduce;
pub mod render;
pub mod replay;
pub mod report;
#[cfg(feature = "testing")]
pub mod testing;
pub mod world;

pub use base::{ProcessId, Rename, Renaming, RoleName};
pub use check::{Check, check};
#[cfg(feature = "program")]
pub use program::main;
pub use property::{Monitor, observe};
pub use protocol::{
    Node, Outbox, Protocol, Quorum, Received, Role, System, Transitions, all_of, majority_of, quorums_of,
    some_of,
};
pub use quorate_derive::Rename;
pub use report::{Report, Verdict};
pub use world::World;
