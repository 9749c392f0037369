//! `completions`: a script for a shell.

use clap::{Arg, ArgMatches, value_parser};

use super::Command;
use crate::program::Program;
use crate::program::failure::Failure;
use crate::program::output;

/// The command `completions`.
pub(crate) struct Completions;

impl Command for Completions {
    fn name(&self) -> &'static str {
        "completions"
    }

    fn arguments(&self, _: &Program, name: &str) -> Result<clap::Command, Failure> {
        Ok(clap::Command::new("completions")
            .about("Prints a script that completes commands, protocols, parameters and bugs in a shell")
            .arg(
                Arg::new("SHELL")
                    .required(true)
                    .value_parser(value_parser!(clap_complete::Shell))
                    .help("Which shell"),
            )
            .after_help(format!(
                "Examples:\n  \
                 {name} completions bash > ~/.local/share/bash-completion/completions/{name}\n  \
                 {name} completions zsh > ~/.zfunc/_{name}\n  \
                 {name} completions fish > ~/.config/fish/completions/{name}.fish"
            )))
    }

    fn run(&self, program: &Program, given: &ArgMatches) -> Result<u8, Failure> {
        let Some(shell) = given.get_one::<clap_complete::Shell>("SHELL") else {
            return Err(Failure::Usage("no shell given: expected one".to_string()));
        };
        let mut script = Vec::new();
        let name = program.name();
        clap_complete::generate(*shell, &mut program.command_line(name)?, name, &mut script);
        output::print(&String::from_utf8_lossy(&script), "the completions")?;
        Ok(0)
    }
}
