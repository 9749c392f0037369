//! The engines of the papers, and how the command line makes them.

pub mod lmc;
mod messages;
mod plain_depth;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches};
use quorate::engine::Engine;
use quorate::program::EngineOption;

use self::lmc::{Lmc, Stage};
pub use self::plain_depth::PlainDepth;

/// The engines of the papers on the command line.
pub fn all() -> [EngineOption; 3] {
    [
        EngineOption {
            engine: &PlainDepth,
            former_name: None,
            heeds: &[],
            options: Vec::new,
            build: |_| Ok(Box::new(PlainDepth)),
        },
        EngineOption {
            engine: &Lmc::GENERAL,
            former_name: None,
            heeds: &["lmc-stage"],
            options: stage_option,
            build: |given| Ok(with_stage(Lmc::GENERAL, given.matches)),
        },
        EngineOption {
            engine: &Lmc::OPTIMISED,
            former_name: None,
            heeds: &["lmc-stage"],
            options: Vec::new,
            build: |given| Ok(with_stage(Lmc::OPTIMISED, given.matches)),
        },
    ]
}

/// `--lmc-stage`, for both algorithms.
fn stage_option() -> Vec<Arg> {
    let stage = Arg::new("lmc-stage")
        .long("lmc-stage")
        .alias("stage")
        .value_name("STAGE")
        .value_parser(PossibleValuesParser::new(Stage::NAMED.map(|(name, _)| name)))
        .default_value("soundness")
        .help("How far lmc-gen and lmc-opt go, to measure their parts");
    vec![stage.help_heading("Local model checking as published (--engine lmc-gen, lmc-opt)")]
}

fn with_stage(lmc: Lmc, matches: &ArgMatches) -> Box<dyn Engine> {
    let word = matches.get_one::<String>("lmc-stage").map(String::as_str);
    let stage = Stage::NAMED.into_iter().find(|(name, _)| Some(*name) == word);
    Box::new(Lmc { stage: stage.map(|(_, stage)| stage).unwrap_or_default(), ..lmc })
}
