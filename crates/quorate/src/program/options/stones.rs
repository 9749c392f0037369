//! Stepping stones on the command line: `--stones`, `--stone-states` and `--stone-time`, and what a protocol says is
//! interesting.
//! Held by: quorate-cli/tests/stones.rs.

use std::time::Duration;

use clap::{Arg, ArgMatches};

use super::super::failure::Failure;
use super::super::output::units;
use super::{Given, named, number};
use crate::engine::{Components, Engine};
use crate::model::Model;
use crate::protocol::Protocol;

/// How many states a stage sees from a stone unless it is said.
const STATES: u64 = 100_000;
/// With `--engine components`, where a state is one of a component, and stands for many.
const COMPONENT_STATES: u64 = 2_000;

pub(super) fn options() -> Vec<Arg> {
    let count = |text: &str| number(text, 1, u64::from(u32::MAX));
    let args = [
        Arg::new("stones").value_name("NUMBER").allow_negative_numbers(true).value_parser(count).help(
            "Search in stages: keep up to so many of the interesting states that a stage reaches, and start the next \
             from each; finds violations further away, and proves nothing unless the first stage is complete",
        ),
        Arg::new("stone-states")
            .alias("stage-states")
            .value_name("NUMBER")
            .allow_negative_numbers(true)
            .value_parser(|text: &str| number(text, 1, u64::MAX))
            .help("How many states a stage sees from each stone; 100000 unless given, 2000 with --engine components"),
        Arg::new("stone-time")
            .alias("stage-time")
            .value_name("TIME")
            .allow_negative_numbers(true)
            .value_parser(units::duration)
            .help("How long a stage searches from each stone"),
    ];
    args.into_iter().map(|arg| named(arg).help_heading("Stepping stones")).collect()
}

/// How many stones are kept in each stage, and how many states a stage sees from each, if it is asked for.
pub(super) fn asked(engine: &dyn Engine, given: &Given<'_>) -> Result<Option<(usize, u64)>, Failure> {
    let number = |name: &str| given.matches.get_one::<u64>(name).copied();
    let Some(stones) = number("stones") else {
        let lost = ["stone-states", "stone-time"].into_iter().find(|name| given.matches.contains_id(name));
        return match lost {
            Some(name) => Err(Failure::Usage(format!("--{name} goes with --stones only"))),
            None => Ok(None),
        };
    };
    let default = if engine.name() == Components::DEFAULT.name() { COMPONENT_STATES } else { STATES };
    let states = number("stone-states").unwrap_or(default);
    Ok(Some((usize::try_from(stones).unwrap_or(usize::MAX), states)))
}

pub(crate) fn stage_time(matches: &ArgMatches) -> Option<Duration> {
    matches.get_one::<Duration>("stone-time").copied()
}

/// What makes states interesting in the default instance of a protocol.
pub(crate) fn names(protocol: &Protocol) -> Vec<String> {
    let model = protocol.arguments([], None).ok().and_then(|arguments| protocol.instance(&arguments).ok());
    let names = |model: Model| model.stepping_stones().iter().map(|stone| stone.name().to_string()).collect();
    model.map(names).unwrap_or_default()
}
