//! Stepping stones on the command line: `--stones`, `--stage-states` and `--stage-time`, and what a protocol says is
//! interesting.
//! Held by: quorate-cli/tests/stones.rs.

use std::time::Duration;

use clap::{Arg, ArgMatches};

use super::arguments::{named, number};
use super::failure::Failure;
use super::units;
use crate::engine::{Engine, SteppingStones};
use crate::model::Model;
use crate::protocol::Protocol;

/// How many states a stage sees from a stone unless it is said.
const STAGE_STATES: u64 = 100_000;
/// With `--engine dir`, where a state is one of a component, and stands for many.
const STAGE_STATES_DIR: u64 = 2_000;

pub(super) fn options() -> Vec<Arg> {
    let count = |text: &str| number(text, 1, u64::from(u32::MAX));
    let args = [
        Arg::new("stones").value_name("NUMBER").allow_negative_numbers(true).value_parser(count).help(
            "Search in stages: keep up to so many of the interesting states that a stage reaches, and start the next \
             from each; finds violations further away, and proves nothing unless the first stage is complete",
        ),
        Arg::new("stage-states")
            .value_name("NUMBER")
            .allow_negative_numbers(true)
            .value_parser(|text: &str| number(text, 1, u64::MAX))
            .help("How many states a stage sees from each stone; 100000 unless given, 2000 with --engine dir"),
        Arg::new("stage-time")
            .value_name("TIME")
            .allow_negative_numbers(true)
            .value_parser(units::duration)
            .help("How long a stage searches from each stone"),
    ];
    args.into_iter().map(|arg| named(arg).help_heading("Stepping stones")).collect()
}

/// How to search in stages, if that is asked for.
pub(super) fn asked(
    protocol: &Protocol,
    model: &Model,
    engine: Engine,
    matches: &ArgMatches,
) -> Result<Option<SteppingStones>, Failure> {
    let number = |name: &str| matches.get_one::<u64>(name).copied();
    let Some(stones) = number("stones") else {
        let lost = ["stage-states", "stage-time"].into_iter().find(|name| matches.contains_id(name));
        return match lost {
            Some(name) => Err(Failure::Usage(format!("--{name} goes with --stones only"))),
            None => Ok(None),
        };
    };
    if model.stepping_stones().is_empty() {
        let name = protocol.name();
        return Err(Failure::Usage(format!(
            "--stones: '{name}' does not say which states are interesting: expected a protocol with stepping stones"
        )));
    }
    let default = if engine == Engine::Dir { STAGE_STATES_DIR } else { STAGE_STATES };
    Ok(Some(SteppingStones {
        per_stage: usize::try_from(stones).unwrap_or(usize::MAX),
        stage_states: Some(number("stage-states").unwrap_or(default)),
    }))
}

pub(super) fn stage_time(matches: &ArgMatches) -> Option<Duration> {
    matches.get_one::<Duration>("stage-time").copied()
}

/// What makes states interesting in the default instance of a protocol.
pub(super) fn names(protocol: &Protocol) -> Vec<String> {
    let model = protocol.arguments([], None).ok().and_then(|arguments| protocol.instance(&arguments).ok());
    let names = |model: Model| model.stepping_stones().iter().map(|stone| stone.name().to_string()).collect();
    model.map(names).unwrap_or_default()
}
