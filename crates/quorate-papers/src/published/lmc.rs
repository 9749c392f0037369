//! Figures 10 to 13 of Guerraoui, Yabandeh: Model Checking a Networked System Without the Network, and the numbers of
//! its section 5: time, explored states, memory and overheads of local model checking, against the depth.
//!
//! Differs: the plots of the paper give no numbers, so what it says in words stands beside ours. B-DFS is as there: a
//! handler runs for each transition; *B-DFS, memoised* is the same search on the states of this checker, which remember
//! what a handler has answered. Figure 13 is about the bug of section 5.5, and starts from the live state of that
//! section: the first node has proposed and learnt, two have accepted.
//! Known: depth means the same in all searches: events in a run. Of LMC it is how many events a local state rests on,
//! which is less than a whole run has.

use crate::tables::{Curve, Depths, Expected, Fact, Figure, Plot, Series, Sought, Unit};

const B_DFS: &str = "B-DFS";
const MEMOISED: &str = "B-DFS, memoised";
const LMC_GEN: &str = "LMC-GEN";
const LMC_OPT: &str = "LMC-OPT";
const LMC_LOCAL: &str = "LMC-local";
const OURS: &str = "local";
const TWO_OPT: &str = "LMC-OPT, two proposals";
const TWO_OURS: &str = "local, two proposals";
const BUG_EXPLORE: &str = "LMC-explore, buggy";
const BUG_SYSTEM: &str = "LMC-system-state, buggy";
const BUG_OPT: &str = "LMC-OPT, buggy";
const BUG_OURS: &str = "local, buggy";

/// The longest run that the paper's algorithm explores, and a bit.
const DEPTH_MAX: u32 = 30;

fn curve(series: &'static str, field: &'static str) -> Curve {
    Curve { name: series, series, field }
}

fn last(
    name: &'static str,
    published: &'static str,
    unit: Unit,
    series: &'static str,
    field: &'static str,
) -> Fact {
    Fact { name, published, unit, here: Sought::Last { series, field } }
}

fn over(
    name: &'static str,
    published: &'static str,
    over: &'static str,
    under: &'static str,
    field: &'static str,
) -> Fact {
    Fact { name, published, unit: Unit::Times, here: Sought::Ratio { over, under, field } }
}

/// Searches of Paxos as it should be.
fn sound(name: &'static str, check: &'static str) -> Series {
    let depths = if [OURS, TWO_OURS].contains(&name) { Depths::Any } else { Depths::UpTo(DEPTH_MAX) };
    let time_max = if name == TWO_OURS { 60 } else { 10 };
    Series { name, check, start: None, depths, time_max, verdict: Expected::Holds }
}

/// Searches for the bug, when a second node is about to propose.
fn buggy(name: &'static str, check: &'static str, verdict: Expected) -> Series {
    let depths = if name == BUG_OURS { Depths::Any } else { Depths::UpTo(DEPTH_MAX) };
    let start = Some("paxos-node --property nothing-chosen");
    Series { name, check, start, depths, time_max: 10, verdict }
}

fn series() -> Vec<Series> {
    vec![
        sound(B_DFS, "paxos-node --engine b-dfs"),
        sound(MEMOISED, "paxos-node --engine b-dfs-memo"),
        sound(LMC_GEN, "paxos-node --engine lmc-gen"),
        sound(LMC_OPT, "paxos-node --engine lmc-opt"),
        sound(LMC_LOCAL, "paxos-node --engine lmc-opt --lmc-stage explore"),
        sound(OURS, "paxos-node --engine local"),
        sound(TWO_OPT, "paxos-node --proposals 2 --engine lmc-opt"),
        sound(TWO_OURS, "paxos-node --proposals 2 --engine local"),
        buggy(
            BUG_EXPLORE,
            "paxos-node --proposals 2 --bug last-reply --engine lmc-opt --lmc-stage explore",
            Expected::Holds,
        ),
        buggy(
            BUG_SYSTEM,
            "paxos-node --proposals 2 --bug last-reply --engine lmc-opt --lmc-stage system-states",
            Expected::Holds,
        ),
        buggy(BUG_OPT, "paxos-node --proposals 2 --bug last-reply --engine lmc-opt", Expected::Violated),
        buggy(BUG_OURS, "paxos-node --proposals 2 --bug last-reply --engine local", Expected::Violated),
    ]
}

fn plots() -> Vec<Plot> {
    let all = |field| [B_DFS, MEMOISED, LMC_GEN, LMC_OPT, OURS].map(|series| curve(series, field)).to_vec();
    vec![
        Plot { file: "figure-10", title: "Figure 10: time", unit: Unit::Seconds, curves: all("/seconds") },
        Plot {
            file: "figure-11",
            title: "Figure 11: explored states (global, combined, local)",
            unit: Unit::Count,
            curves: vec![
                curve(B_DFS, "/states"),
                curve(LMC_GEN, "/states"),
                curve(LMC_OPT, "/states"),
                curve(LMC_LOCAL, "/closure/local_states"),
                Curve { name: "local: combined", series: OURS, field: "/local/combinations" },
                Curve { name: "local: local", series: OURS, field: "/closure/local_states" },
            ],
        },
        Plot {
            file: "figure-12",
            title: "Figure 12: memory",
            unit: Unit::Bytes,
            curves: all("/table_bytes"),
        },
        Plot {
            file: "figure-13",
            title: "Figure 13: time with a bug, from a live state, and what it is spent on",
            unit: Unit::Seconds,
            curves: [
                ("LMC-explore", BUG_EXPLORE),
                ("LMC-system-state", BUG_SYSTEM),
                ("LMC-OPT", BUG_OPT),
                ("local", BUG_OURS),
            ]
            .map(|(name, series)| Curve { name, series, field: "/seconds" })
            .to_vec(),
        },
    ]
}

fn facts() -> Vec<Fact> {
    vec![
        last("B-DFS: events in a run", "22", Unit::Count, B_DFS, "/depth"),
        last("B-DFS: transitions", "157,332", Unit::Count, B_DFS, "/transitions"),
        last("LMC: transitions", "1,186", Unit::Count, LMC_OPT, "/transitions"),
        last("local: transitions", "", Unit::Count, OURS, "/local_steps"),
        over("transitions, B-DFS over LMC", "132", B_DFS, LMC_OPT, "/transitions"),
        last("LMC-OPT: combined states", "0", Unit::Count, LMC_OPT, "/states"),
        last("local: combined states", "", Unit::Count, OURS, "/local/combinations"),
        last("B-DFS: time", "1514 s", Unit::Seconds, B_DFS, "/seconds"),
        last("B-DFS, memoised: time", "", Unit::Seconds, MEMOISED, "/seconds"),
        last("LMC-GEN: time", "5.16 s", Unit::Seconds, LMC_GEN, "/seconds"),
        last("LMC-OPT: time", "189 ms", Unit::Seconds, LMC_OPT, "/seconds"),
        last("local: time", "", Unit::Seconds, OURS, "/seconds"),
        over("time, B-DFS over LMC-GEN", "300", B_DFS, LMC_GEN, "/seconds"),
        over("time, B-DFS over LMC-OPT", "8,000", B_DFS, LMC_OPT, "/seconds"),
        over("time, B-DFS over local", "", B_DFS, OURS, "/seconds"),
        over("time, B-DFS, memoised, over local", "", MEMOISED, OURS, "/seconds"),
        last("LMC-OPT: memory", "200 KB", Unit::Bytes, LMC_OPT, "/table_bytes"),
        last("two proposals, LMC-OPT: depth", "39 of 68, hours", Unit::Count, TWO_OPT, "/depth"),
        last("two proposals, LMC-OPT: time", "not finished", Unit::Seconds, TWO_OPT, "/seconds"),
        last("two proposals, local: time", "", Unit::Seconds, TWO_OURS, "/seconds"),
        last("bug, LMC-OPT: combinations verified", "773", Unit::Count, BUG_OPT, "/local/searched"),
        last("bug, LMC-OPT: sequences", "427,731", Unit::Count, BUG_OPT, "/local/sequences"),
        last("bug, LMC-OPT: time", "11 s", Unit::Seconds, BUG_OPT, "/seconds"),
        last("bug, local: candidates", "", Unit::Count, BUG_OURS, "/local/candidates"),
        last("bug, local: time", "", Unit::Seconds, BUG_OURS, "/seconds"),
    ]
}

pub(super) fn figure() -> Figure {
    Figure {
        name: "lmc",
        about: "Local model checking of Paxos, three nodes, one proposal: against the depth of the search",
        source: "Guerraoui, Yabandeh: Model Checking a Networked System Without the Network, figures 10 to 13 and section 5 \
                 (LMC, MaceMC)",
        notes: vec![
            "The source of its Paxos is not published. Its plots give no numbers: what it says in words is below.",
            "LMC-GEN and LMC-OPT are its algorithms, with its shortcuts; 'local' is complete and needs no bound.",
        ],
        series: series(),
        plots: plots(),
        facts: facts(),
    }
}
