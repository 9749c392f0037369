//! Reductions on the command line: which are asked for, which can be used, and why others cannot.

use clap::{Arg, ArgMatches};
use serde::Serialize;

use super::arguments::named;
use super::failure::Failure;
use crate::engine::Search;
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

/// `--reduce`, `--split` and `--seeds`.
pub(super) fn options() -> Vec<Arg> {
    vec![
        named(Arg::new("reduce")).value_name("WHAT").value_parser(asked).default_value("auto").help(
            "Reductions: none, some of inert,stubborn,beliefs,symmetry, or auto: all that are sound here",
        ),
        named(Arg::new("split"))
            .value_name("HOW")
            .value_parser(["auto", "none", "reply", "quorum", "combined"])
            .default_value("auto")
            .help(
                "How finely stubborn sets tell who can send what; auto also by what a process can still send",
            ),
        named(Arg::new("seeds"))
            .value_name("HOW")
            .value_parser(["best", "first", "last"])
            .default_value("best")
            .help("Grow stubborn sets from each process that can step and take the best, or from one only"),
    ]
}

/// Why stubborn sets do not go with `--duplicates`.
const DUPLICATES_IN_ORDER: &str = "with --duplicates it makes a difference whether a message comes before or after an equal one is consumed";

/// The reductions to use for a model, and those that auto cannot use.
pub(super) fn chosen(
    model: &Model,
    matches: &ArgMatches,
    search: &Search,
) -> Result<(Reductions, Vec<Refused>), Failure> {
    let asked = matches.get_one::<Asked>("reduce").cloned().unwrap_or(Asked::Auto);
    if !search.engine.can_be_told() {
        return match asked {
            Asked::These(which) if !which.is_empty() => Err(Failure::Usage(format!(
                "--reduce {} goes with --engine explore or local only: expected --reduce none or auto",
                names(&which).join(",")
            ))),
            Asked::Auto | Asked::These(_) => Ok((Reductions::default(), Vec::new())),
        };
    }
    let (needs_all_states, limits_copies) = (search.count_system_states, search.duplicates_max.is_some());
    let word = |name: &str| matches.get_one::<String>(name).map(String::as_str);
    let refinement = match word("split") {
        Some("none") => Refinement::None,
        Some("reply") => Refinement::Reply,
        Some("quorum") => Refinement::Quorum,
        Some("combined") => Refinement::Combined,
        _ => Refinement::Auto,
    };
    let seeds = match word("seeds") {
        Some("first") => Seeds::First,
        Some("last") => Seeds::Last,
        _ => Seeds::Best,
    };
    let keeps_states = |reduction: &Reduction| *reduction == Reduction::Inert;
    let (reductions, refused) = match asked {
        Asked::Auto => {
            let (mut strongest, mut refused) = Reductions::strongest(model);
            if needs_all_states {
                let (kept, left) = strongest.which.into_iter().partition(keeps_states);
                strongest.which = kept;
                let left: Vec<Reduction> = left;
                let reason = "--count-system-states needs all system states".to_string();
                refused
                    .extend(left.into_iter().map(|reduction| Refused { reduction, reason: reason.clone() }));
            }
            if limits_copies && strongest.has(Reduction::Stubborn) {
                strongest.which.retain(|reduction| *reduction != Reduction::Stubborn);
                let reason = DUPLICATES_IN_ORDER.to_string();
                refused.push(Refused { reduction: Reduction::Stubborn, reason });
            }
            (strongest, refused)
        }
        Asked::These(which) => {
            if limits_copies && which.contains(&Reduction::Stubborn) {
                return Err(Failure::Usage(format!("--reduce stubborn: {DUPLICATES_IN_ORDER}")));
            }
            if needs_all_states && let Some(other) = which.iter().find(|reduction| !keeps_states(reduction)) {
                return Err(Failure::Usage(format!(
                    "--count-system-states needs all system states, which --reduce {other} leaves out: expected \
                     --reduce none or inert"
                )));
            }
            let reductions = Reductions::checked(&which, model).map_err(|refused| {
                Failure::Usage(format!("--reduce {}: {}", refused.reduction, refused.reason))
            })?;
            (reductions, Vec::new())
        }
    };
    Ok((Reductions { refinement, seeds, ..reductions }, refused))
}

/// A reduction that was not used, and why.
#[derive(Serialize)]
pub(super) struct SwitchedOff {
    pub(super) reduction: &'static str,
    pub(super) reason: String,
}

/// What was switched off: before the search, and in it.
pub(super) fn switched_off(asked: &Reductions, refused: &[Refused], report: &Report) -> Vec<SwitchedOff> {
    let before = refused
        .iter()
        .map(|refused| SwitchedOff { reduction: refused.reduction.name(), reason: refused.reason.clone() });
    // Where nothing was searched, nothing was reduced.
    let searched_without = report.rounds > 0
        && asked.has(Reduction::Stubborn)
        && asked.has(Reduction::Beliefs)
        && !report.reductions.contains(&Reduction::Stubborn);
    let reason = "a property may hold again after it was broken, which it does not find with beliefs";
    let dropped = searched_without
        .then(|| SwitchedOff { reduction: Reduction::Stubborn.name(), reason: reason.to_string() });
    before.chain(dropped).collect()
}

/// The names of reductions.
pub(super) fn names(reductions: &[Reduction]) -> Vec<&'static str> {
    reductions.iter().map(|reduction| reduction.name()).collect()
}
