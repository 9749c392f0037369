//! Reductions on the command line: which are asked for, which can be used, and why others cannot.

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches};
use serde::Serialize;

use super::super::failure::Failure;
use super::super::refusals;
use super::named;
use crate::engine::{Engine, checked_reductions, strongest_reductions};
use crate::model::Model;
use crate::reduce::{Reduction, Reductions, Refinement, Refused, Seeds};
use crate::report::Report;

/// What `--reduce` says.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Asked {
    Auto,
    These(Vec<Reduction>),
}

fn asked(text: &str) -> Result<Asked, String> {
    match text {
        "auto" => return Ok(Asked::Auto),
        "none" => return Ok(Asked::These(Vec::new())),
        _ => {}
    }
    let named = |name: &str| Reduction::ALL.into_iter().find(|reduction| reduction.name() == name);
    let these: Option<Vec<Reduction>> = text.split(',').map(|name| named(name.trim())).collect();
    these.map(Asked::These).ok_or_else(|| {
        let all: Vec<&str> = Reduction::ALL.iter().map(|reduction| reduction.name()).collect();
        format!("expected none, auto, or some of {} with commas between", all.join(", "))
    })
}

/// `--reduce`, `--stubborn-split` and `--stubborn-from`.
pub(super) fn options() -> Vec<Arg> {
    vec![
        named(Arg::new("reduce")).value_name("WHAT").value_parser(asked).default_value("auto").help(
            "Reductions: none, some of inert,stubborn,beliefs,symmetry, or auto: all that are sound here, with a search without them beside one that takes a while",
        ),
        named(Arg::new("stubborn-split"))
            .alias("split")
            .value_name("HOW")
            .value_parser(["auto", "none", "reply", "quorum", "combined"])
            .default_value("auto")
            .help(
                "How finely stubborn sets distinguish who can send what; auto also by what a process can still send",
            ),
        named(Arg::new("stubborn-from"))
            .alias("seeds")
            .value_name("HOW")
            .value_parser(["best", "first", "last"])
            .default_value("best")
            .help("Grow stubborn sets from each process that can step and take the best, or from one only"),
    ]
}

/// The reductions that an engine is to use for a model, and those that auto cannot use.
pub(crate) fn chosen(
    engine: &dyn Engine,
    model: &Model,
    matches: &ArgMatches,
) -> Result<(Reductions, Vec<Refused>), Failure> {
    let word = |name: &str| matches.get_one::<String>(name).map(String::as_str);
    let refinement = match word("stubborn-split") {
        Some("none") => Refinement::None,
        Some("reply") => Refinement::Reply,
        Some("quorum") => Refinement::Quorum,
        Some("combined") => Refinement::Combined,
        _ => Refinement::Auto,
    };
    let seeds = match word("stubborn-from") {
        Some("first") => Seeds::First,
        Some("last") => Seeds::Last,
        _ => Seeds::Best,
    };
    let (reductions, refused) = match matches.get_one::<Asked>("reduce").cloned().unwrap_or(Asked::Auto) {
        Asked::Auto => strongest_reductions(engine, model),
        Asked::These(which) => {
            let checked = checked_reductions(engine, &which, model);
            (checked.map_err(|refused| Failure::Usage(refusals::of_reduction(&refused)))?, Vec::new())
        }
    };
    // Who says how stubborn sets are made wants them.
    let wanted = heed_stubborn_options(&reductions, &refused, matches)?;
    let may_be_dropped = reductions.may_be_dropped && !wanted;
    Ok((Reductions { refinement, seeds, may_be_dropped, ..reductions }, refused))
}

/// What is asked for is never ignored: options of stubborn sets where there are none are an error. Says whether there are
/// such options.
fn heed_stubborn_options(
    reductions: &Reductions,
    refused: &[Refused],
    matches: &ArgMatches,
) -> Result<bool, Failure> {
    let given = |option: &&str| matches.value_source(option) == Some(ValueSource::CommandLine);
    let Some(option) = ["stubborn-split", "stubborn-from"].into_iter().find(given) else { return Ok(false) };
    if reductions.has(Reduction::Stubborn) {
        return Ok(true);
    }
    let reason = refused.iter().find(|refused| refused.reduction == Reduction::Stubborn);
    let reason = reason.map(|refused| refusals::with_option(&refused.reason));
    let expected = "expected --reduce stubborn, or auto with an engine that uses it".to_string();
    Err(Failure::Usage(format!(
        "--{option} is about stubborn sets, which are not used: {}",
        reason.unwrap_or(expected)
    )))
}

/// A reduction that was not used, and why.
#[derive(Serialize)]
pub(crate) struct SwitchedOff {
    pub(crate) reduction: &'static str,
    pub(crate) reason: String,
}

/// What was switched off: before the search, and in it.
pub(crate) fn switched_off(refused: &[Refused], report: &Report) -> Vec<SwitchedOff> {
    let before = refused.iter().map(|refused| SwitchedOff {
        reduction: refused.reduction.name(),
        reason: refusals::with_option(&refused.reason),
    });
    let in_it = report.fallbacks.iter().filter_map(|fallback| {
        Some(SwitchedOff { reduction: fallback.reduction()?.name(), reason: fallback.to_string() })
    });
    before.chain(in_it).collect()
}

/// The names of reductions.
pub(crate) fn names(reductions: &[Reduction]) -> Vec<&'static str> {
    reductions.iter().map(|reduction| reduction.name()).collect()
}
