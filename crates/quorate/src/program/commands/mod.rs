//! The commands of the program, one file each.

mod check;
mod completions;
mod graph;
mod list;
mod replay;
pub(crate) mod snapshot;

use clap::ArgMatches;

use super::Program;
use super::failure::Failure;

/// A command of the program: what it takes, and what it does. Other crates add theirs with [`Program::command`].
pub trait Command {
    /// What it is called.
    fn name(&self) -> &'static str;

    /// Its arguments. `name` is what the user calls the program.
    fn arguments(&self, program: &Program, name: &str) -> Result<clap::Command, Failure>;

    /// Does it, and returns the exit code.
    fn run(&self, program: &Program, given: &ArgMatches) -> Result<u8, Failure>;
}

/// The commands of this crate.
pub(super) fn all() -> Vec<Box<dyn Command>> {
    vec![
        Box::new(check::Check),
        Box::new(graph::Graph),
        Box::new(replay::ReplayCommand),
        Box::new(snapshot::SnapshotCommand),
        Box::new(list::List),
        Box::new(completions::Completions),
    ]
}
