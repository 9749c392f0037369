//! Reductions on the command line: which are asked for, which can be used, and why others cannot.

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
            "Reductions: none, some of inert,stubborn,beliefs,symmetry, or auto: all that are sound here",
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
    Ok((Reductions { refinement, seeds, ..reductions }, refused))
}

/// A reduction that was not used, and why.
#[derive(Serialize)]
pub(crate) struct SwitchedOff {
    pub(crate) reduction: &'static str,
    pub(crate) reason: String,
}

/// What was switched off: before the search, and in it.
pub(crate) fn switched_off(asked: &Reductions, refused: &[Refused], report: &Report) -> Vec<SwitchedOff> {
    let before = refused.iter().map(|refused| SwitchedOff {
        reduction: refused.reduction.name(),
        reason: refusals::with_option(&refused.reason),
    });
    // Where nothing was searched, nothing was reduced.
    let searched_without = report.explored().is_some_and(|explored| {
        asked.has(Reduction::Stubborn)
            && asked.has(Reduction::Beliefs)
            && !explored.reductions.contains(&Reduction::Stubborn)
    });
    let reason = "a property may hold again after it was broken, which it does not find with beliefs";
    let dropped = searched_without
        .then(|| SwitchedOff { reduction: Reduction::Stubborn.name(), reason: reason.to_string() });
    let without_symmetry = report.explored().and_then(|explored| explored.without_symmetry.clone());
    let without_symmetry =
        without_symmetry.map(|reason| SwitchedOff { reduction: Reduction::Symmetry.name(), reason });
    before.chain(dropped).chain(without_symmetry).collect()
}

/// The names of reductions.
pub(crate) fn names(reductions: &[Reduction]) -> Vec<&'static str> {
    reductions.iter().map(|reduction| reduction.name()).collect()
}
