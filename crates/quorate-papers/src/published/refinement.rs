//! Tables I and II of Bokor, Kinder, Serafini, Suri: Efficient Model Checking of Fault-Tolerant Distributed Protocols
//! (DSN 2011). Quorum transitions against messages one by one, transitions split in the paper's ways, and below
//! them what needs no splits by hand: `--stubborn-split auto`, inert messages, beliefs, and `--reduce auto`.
//!
//! Differs: the paper grows its stubborn sets from seeds that were ranked by hand, here each process is tried as a
//! seed. The search here goes breadth first, so a counterexample is a shortest one and takes more states to find
//! than the paper's. Its first column, of dynamic reduction in a stateless search, is left out except where it is
//! an unreduced search. How often a register is written is not said; here twice, as in the crash table.
//! Known: which split pays depends on the model; in Echo Multicast (3,0,1,1) it is the paper's quorum-split and
//! the reply-split here.

use crate::tables::{Expected, Group, Row, Table};

use super::{NOT_ABSOLUTE, ended, over};

const UNSPLIT: &str = "quorum, unsplit";

/// How the rows of a group are called, in the order of `ways!`.
const NAMES: [&str; 12] = [
    "no quorum, unreduced",
    "no quorum, unsplit",
    "quorum, unreduced",
    UNSPLIT,
    "reply-split",
    "quorum-split",
    "combined-split",
    "split auto",
    "inert",
    "stubborn, inert",
    "beliefs, inert",
    "auto",
];

/// The ways in which an instance is searched: those of the paper with quorums and splits, then those that it has not.
macro_rules! ways {
    ($instance:literal) => {
        [
            concat!($instance, " --transitions single --reduce none"),
            concat!($instance, " --transitions single --reduce stubborn --stubborn-split none"),
            concat!($instance, " --reduce none"),
            concat!($instance, " --reduce stubborn --stubborn-split none"),
            concat!($instance, " --reduce stubborn --stubborn-split reply"),
            concat!($instance, " --reduce stubborn --stubborn-split quorum"),
            concat!($instance, " --reduce stubborn --stubborn-split combined"),
            concat!($instance, " --reduce stubborn --stubborn-split auto"),
            concat!($instance, " --reduce inert"),
            concat!($instance, " --reduce stubborn,inert"),
            concat!($instance, " --reduce beliefs,inert"),
            concat!($instance, " --reduce auto"),
        ]
    };
}

/// What the paper says of a row.
enum Paper {
    /// So many states in so much time.
    Ended(u64, &'static str),
    /// Stopped after 48 hours, with so many states.
    TimedOut(&'static str),
    /// Nothing.
    Silent,
}

use Paper::{Ended, Silent, TimedOut};

/// A group: the paper's figures for the first rows of [`NAMES`], as far as they go, and how all are run here.
fn group<const N: usize>(
    name: &'static str,
    verdict: Expected,
    paper: [Paper; N],
    ways: [&'static str; NAMES.len()],
) -> Group {
    let result = if verdict == Expected::Holds { "Verified" } else { "CE" };
    let mut paper = paper.into_iter();
    let mut row = |(name, here): (&'static str, &'static str)| -> Row {
        let row = match paper.next().unwrap_or(Silent) {
            Ended(states, time) => ended(name, &[states], time, result, here),
            TimedOut(at) => ended(name, &[], ">48h", at, here),
            Silent => ended(name, &[], "", "", here),
        };
        if name == UNSPLIT { row } else { over(UNSPLIT, row) }
    };
    Group { name, verdict, rows: NAMES.into_iter().zip(ways).map(&mut row).collect() }
}

pub(super) fn table() -> Table {
    Table {
        name: "refinement",
        about: "Quorum transitions and their refinement, and what is found without any split by hand",
        source: "Bokor, Kinder, Serafini, Suri: Efficient Model Checking of Fault-Tolerant Distributed Protocols, \
                 DSN 2011, Tables I and II (MP-Basset, static partial-order reduction)",
        notes: vec![
            NOT_ABSOLUTE,
            "Ratios are to the states of the quorum model with stubborn sets and no split.",
            "A search that finds a counterexample ends there; ours go breadth first, which takes more states to a bug.",
            "Rows without published figures are not in the paper. Its column of stateless dynamic reduction is left \
             out.",
        ],
        figures: vec!["states"],
        options: "",
        groups: groups(),
    }
}

#[expect(clippy::too_many_lines, reason = "it is a table")]
fn groups() -> Vec<Group> {
    vec![
        group(
            "Paxos (2,3,1): consensus",
            Expected::Holds,
            [
                Silent,
                Ended(6_247_530, "23h"),
                Silent,
                Ended(2_822_764, "9h37m"),
                Ended(1_087_486, "3h47m"),
                Ended(1_826_560, "11h28m"),
                Ended(548_061, "3h30m"),
            ],
            ways!("paxos --proposers 2 --acceptors 3 --learners 1"),
        ),
        group(
            "Faulty Paxos (2,3,1), learners do not compare values: consensus",
            Expected::Violated,
            [
                Silent,
                Ended(524, "12s"),
                Silent,
                Ended(279, "10s"),
                Ended(105, "8s"),
                Ended(279, "10s"),
                Ended(105, "8s"),
            ],
            ways!("paxos --proposers 2 --acceptors 3 --learners 1 --bug learner-ignores-value"),
        ),
        group(
            "Echo Multicast (3,0,1,1): agreement",
            Expected::Holds,
            [
                Silent,
                Ended(9_222, "2m22s"),
                Silent,
                Ended(652, "12s"),
                Ended(652, "12s"),
                Ended(232, "12s"),
                Ended(232, "12s"),
            ],
            ways!(
                "echo-multicast --honest-receivers 3 --honest-initiators 0 --byzantine-receivers 1 \
                 --byzantine-initiators 1"
            ),
        ),
        group(
            "Echo Multicast (2,1,0,1): agreement",
            Expected::Holds,
            [
                Silent,
                Ended(9_986, "1m55s"),
                Silent,
                Ended(2_787, "31s"),
                Ended(1_165, "18s"),
                Ended(2_787, "31s"),
                Ended(1_165, "18s"),
            ],
            ways!(
                "echo-multicast --honest-receivers 2 --honest-initiators 1 --byzantine-receivers 0 \
                 --byzantine-initiators 1"
            ),
        ),
        group(
            "Echo Multicast (3,1,1,1): agreement",
            Expected::Holds,
            [
                Silent,
                Silent,
                Silent,
                TimedOut("at 12,023,663"),
                TimedOut("at 10,472,557"),
                TimedOut("at 7,600,843"),
                Ended(7_087_193, "42h21m"),
            ],
            ways!(
                "echo-multicast --honest-receivers 3 --honest-initiators 1 --byzantine-receivers 1 \
                 --byzantine-initiators 1"
            ),
        ),
        group(
            "Echo Multicast (2,1,2,1): wrong agreement",
            Expected::Violated,
            [
                Silent,
                Ended(66, "9s"),
                Silent,
                Ended(48, "6s"),
                Ended(48, "7s"),
                Ended(48, "9s"),
                Ended(48, "9s"),
            ],
            ways!(
                "echo-multicast --honest-receivers 2 --honest-initiators 1 --byzantine-receivers 2 \
                 --byzantine-initiators 1"
            ),
        ),
        group(
            "Regular storage (3,1): regularity",
            Expected::Holds,
            [
                Ended(2_358_345, "8h57m"),
                Ended(185_711, "33m49s"),
                Silent,
                Ended(20_039, "3m4s"),
                Ended(18_451, "3m13s"),
                Ended(18_451, "4m31s"),
                Ended(18_451, "4m32s"),
            ],
            ways!("regular-storage --objects 3 --readers 1 --writes 2"),
        ),
        group(
            "Regular storage (3,2): wrong regularity",
            Expected::Violated,
            [
                Silent,
                Ended(72_937, "12m37s"),
                Silent,
                Ended(41_331, "6m46s"),
                Ended(6_969, "1m32s"),
                Ended(29_877, "9m51s"),
                Ended(6_987, "2m34s"),
            ],
            ways!("regular-storage --objects 3 --readers 2 --writes 2 --property wrong-regularity"),
        ),
    ]
}
