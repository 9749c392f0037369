//! Table 1 of Saissi, Bokor, Serafini, Suri: To Crash or Not To Crash: Efficient Modeling of Fail-Stop Faults.
//! Crashes as steps of 1, 2 and 3 crash-prone processes, against crashes that need no steps.
//!
//! Differs: the paper's figures are of partial-order reduced searches with MP-Basset, ours of full ones. It does
//! not say what is wrong with its faulty Paxos; here the acceptors of the first accept every proposal, and the
//! proposers of the second take the value of the first reply. Crash-prone are acceptors and base objects. Its 5
//! and 6 processes of a register are a writer, three base objects and one or two readers; how often they write is
//! not said, here twice.
//! As there, a crash is atomic with a step: all of its messages are sent.

use crate::tables::{Expected, Group, Row, Table};

use super::{NOT_ABSOLUTE, ended, over};

const IMPLICIT: &str = "implicit";

/// A group: states and time without crash steps, then for 1, 2, … crash-prone processes.
fn rows(result: &'static str, runs: &[(u64, &'static str, &'static str)]) -> Vec<Row> {
    let names = [IMPLICIT, "explicit, 1 crash", "explicit, 2 crashes", "explicit, 3 crashes"];
    let row = |(name, (states, time, here)): (&'static str, &(u64, &'static str, &'static str))| {
        let row = ended(name, &[*states], time, result, here);
        if name == IMPLICIT { row } else { over(IMPLICIT, row) }
    };
    names.into_iter().zip(runs).map(row).collect()
}

pub(super) fn table() -> Table {
    let group = |name, verdict, runs: &[(u64, &'static str, &'static str)]| {
        let result = if verdict == Expected::Holds { "OK" } else { "CE" };
        Group { name, verdict, rows: rows(result, runs) }
    };
    Table {
        name: "crash",
        about: "Crash models: crashes as steps (explicit) and without (implicit)",
        source: "Saissi, Bokor, Serafini, Suri: To Crash or Not To Crash: Efficient Modeling of Fail-Stop Faults, \
                 Table 1 (MP-Basset)",
        notes: vec![
            NOT_ABSOLUTE,
            "Its searches are reduced by partial orders, ours are full; a search that finds a counterexample ends there.",
            "Ratios are to the states of the implicit model.",
        ],
        figures: vec!["states"],
        options: "--reduce none",
        groups: vec![
            group(
                "Paxos (6 processes): safety",
                Expected::Holds,
                &[
                    (548_961, "3h18m", "paxos --stale keep"),
                    (1_541_622, "9h50m", "paxos --stale keep --crash explicit --crash-prone acceptor=1"),
                    (4_216_431, "27h44m", "paxos --stale keep --crash explicit --crash-prone acceptor=2"),
                    (11_843_034, "83h", "paxos --stale keep --crash explicit --crash-prone acceptor=3"),
                ],
            ),
            group(
                "Faulty Paxos (6 processes): safety",
                Expected::Violated,
                &[
                    (3_415, "1m40s", "paxos --stale keep --bug always-accept"),
                    (14_785, "4m49s", "paxos --stale keep --bug always-accept --crash-prone acceptor=1"),
                    (33_598, "10m53s", "paxos --stale keep --bug always-accept --crash-prone acceptor=2"),
                ],
            ),
            group(
                "Faulty Paxos 2 (7 processes): safety",
                Expected::Violated,
                &[
                    (173_414, "1h28m", "paxos --learners 2 --stale keep --bug first-reply"),
                    (
                        1_442_262,
                        "12h20m",
                        "paxos --learners 2 --stale keep --bug first-reply --crash-prone acceptor=1",
                    ),
                    (
                        3_047_842,
                        "25h40m",
                        "paxos --learners 2 --stale keep --bug first-reply --crash-prone acceptor=2",
                    ),
                ],
            ),
            group(
                "Register (5 processes): regularity",
                Expected::Holds,
                &[
                    (18_451, "4m32s", "regular-storage --writes 2"),
                    (56_508, "16m36s", "regular-storage --writes 2 --crash-prone object=1"),
                    (128_697, "40m50", "regular-storage --writes 2 --crash-prone object=2"),
                    (301_562, "1h40m", "regular-storage --writes 2 --crash-prone object=3"),
                ],
            ),
            group(
                "Register (5 processes): wrong regularity",
                Expected::Violated,
                &[
                    (3_497, "55s", "regular-storage --writes 2 --property wrong-regularity"),
                    (
                        9_781,
                        "2m45",
                        "regular-storage --writes 2 --property wrong-regularity --crash-prone object=1",
                    ),
                    (
                        1_213,
                        "29s",
                        "regular-storage --writes 2 --property wrong-regularity --crash-prone object=2",
                    ),
                ],
            ),
            group(
                "Register (6 processes): wrong regularity",
                Expected::Violated,
                &[
                    (6_987, "2m32s", "regular-storage --writes 2 --readers 2 --property wrong-regularity"),
                    (
                        18_272,
                        "7m",
                        "regular-storage --writes 2 --readers 2 --property wrong-regularity --crash-prone object=1",
                    ),
                    (
                        42_506,
                        "15m",
                        "regular-storage --writes 2 --readers 2 --property wrong-regularity --crash-prone object=2",
                    ),
                ],
            ),
        ],
    }
}
