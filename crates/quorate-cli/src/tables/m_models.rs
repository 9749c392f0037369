//! Table 1 of Bokor, Serafini, Suri: On Efficient Models for Model Checking Message-Passing Distributed Protocols
//! (FORTE 2010). Paxos with Mur φ in the models M, MP and M-MP, with and without symmetry reduction.
//!
//! Differs: the nearest known variant of its Paxos is the one with interchangeable leaders: 1,413,905 states in
//! model M against 1,577,161. The paper's symmetric rows need a reduction that does not exist here yet, its other
//! rows in MP and M-MP ran out of memory; so the ratios of its symmetric rows stand beside those of the plain rows
//! here.

use quorate::program::tables::{Expected, Group, Row, Table};

use super::{NOT_ABSOLUTE, ended, needing, over};

const OUT_OF_MEMORY: &str = "Out of mem.";
const SYMMETRY: &str = "--reduce symmetry";

/// What Mur φ said of a model: states, transitions and time, unless it ran out of memory.
type Figures = Option<(u64, u64, &'static str)>;

/// The six rows of a group: each model without symmetry reduction and with it.
fn rows(result: &'static str, models: [(Figures, Figures, &'static str); 3]) -> Vec<Row> {
    let names = [("M-MP", "M-MP symm."), ("MP", "MP symm."), ("M", "M symm.")];
    let row = |name, figures: Figures, here| match figures {
        Some((states, transitions, time)) => ended(name, &[states, transitions], time, result, here),
        None => ended(name, &[], "", OUT_OF_MEMORY, here),
    };
    let mut rows = Vec::new();
    for ((name, symmetric_name), (plain, symmetric, here)) in names.into_iter().zip(models) {
        let (plain, symmetric) = (row(name, plain, here), row(symmetric_name, symmetric, here));
        rows.push(if name == "M" { plain } else { over("M", plain) });
        let symmetric = needing(SYMMETRY, symmetric);
        rows.push(if name == "M" { symmetric } else { over("M symm.", symmetric) });
    }
    rows
}

pub(super) fn table() -> Table {
    Table {
        name: "m-models",
        about: "Message-passing models: delivery in steps of its own (MP, M-MP) and without (M)",
        source: "Bokor, Serafini, Suri: On Efficient Models for Model Checking Message-Passing Distributed \
                 Protocols, FORTE 2010, Table 1 (Mur φ)",
        notes: vec![
            NOT_ABSOLUTE,
            "Ratios are to the states of M, for the symmetric rows to those of M symm.",
        ],
        figures: vec!["states", "transitions"],
        options: "--reduce none",
        groups: vec![
            Group {
                name: "Paxos, 2 leaders, 3 acceptors: safety",
                verdict: Expected::Holds,
                rows: rows(
                    "Verified",
                    [
                        (
                            None,
                            Some((1_754_621, 12_463_946, "15 m")),
                            "paxos --leaders interchangeable --model m-mp",
                        ),
                        (
                            None,
                            Some((1_754_621, 11_647_308, "13 m")),
                            "paxos --leaders interchangeable --model mp",
                        ),
                        (
                            Some((1_577_161, 11_411_586, "3 m")),
                            Some((135_271, 980_290, "24 s")),
                            "paxos --leaders interchangeable --model m",
                        ),
                    ],
                ),
            },
            Group {
                name: "Paxos, 2 leaders, 3 acceptors: erroneous safety (chosen = accepted)",
                verdict: Expected::Violated,
                rows: rows(
                    "CE found",
                    [
                        (
                            None,
                            Some((468_581, 2_676_397, "2 m")),
                            "paxos --leaders interchangeable --property chosen-is-accepted --model m-mp",
                        ),
                        (
                            None,
                            Some((468_444, 2_488_162, "2 m")),
                            "paxos --leaders interchangeable --property chosen-is-accepted --model mp",
                        ),
                        (
                            Some((476_575, 2_435_659, "31 s")),
                            Some((49_290, 256_761, "8 s")),
                            "paxos --leaders interchangeable --property chosen-is-accepted --model m",
                        ),
                    ],
                ),
            },
            Group {
                name: "Faulty Paxos (always accept proposals), 2 leaders, 3 acceptors: safety",
                verdict: Expected::Violated,
                rows: rows(
                    "CE found",
                    [
                        (
                            None,
                            Some((890_127, 5_174_054, "7 m")),
                            "paxos --leaders interchangeable --bug always-accept --model m-mp",
                        ),
                        (
                            None,
                            Some((894_166, 4_840_435, "6 m")),
                            "paxos --leaders interchangeable --bug always-accept --model mp",
                        ),
                        (
                            Some((1_026_203, 5_598_379, "1 m")),
                            Some((99_781, 553_159, "15 s")),
                            "paxos --leaders interchangeable --bug always-accept --model m",
                        ),
                    ],
                ),
            },
            Group {
                name: "Paxos, 2 leaders, 4 acceptors: safety",
                verdict: Expected::Holds,
                rows: vec![
                    ended(
                        "M",
                        &[],
                        "",
                        OUT_OF_MEMORY,
                        "paxos --leaders interchangeable --acceptors 4 --model m",
                    ),
                    needing(SYMMETRY, ended("M symm.", &[775_355, 7_701_472], "4 m", "Verified", "paxos")),
                ],
            },
        ],
    }
}
