//! Table 1 of Bokor, Serafini, Suri: On Efficient Models for Model Checking Message-Passing Distributed Protocols
//! (FORTE 2010). Paxos with Mur φ in the models M, MP and M-MP, with and without symmetry reduction.
//!
//! Differs: the nearest known variant of its Paxos is the one with interchangeable leaders: 1,413,905 states in
//! model M against 1,577,161, and 123,689 against 135,271 under symmetry.
//! Known: the largest rows, symmetric ones among them, may not finish within the default limits of a row, and then
//! say so.

use crate::tables::{Expected, Group, Row, Table};

use super::{NOT_ABSOLUTE, ended, over};

const OUT_OF_MEMORY: &str = "Out of mem.";

/// An instance without symmetry reduction and with it.
macro_rules! both {
    ($instance:literal) => {
        [concat!($instance, " --reduce none"), concat!($instance, " --reduce symmetry")]
    };
}

/// What Mur φ said of a model: states, transitions and time, unless it ran out of memory.
type Figures = Option<(u64, u64, &'static str)>;

fn row(name: &'static str, figures: Figures, result: &'static str, here: &'static str) -> Row {
    match figures {
        Some((states, transitions, time)) => ended(name, &[states, transitions], time, result, here),
        None => ended(name, &[], "", OUT_OF_MEMORY, here),
    }
}

/// The six rows of a group: each model without symmetry reduction and with it.
#[expect(clippy::large_types_passed_by_value, reason = "called once a group, with a literal")]
fn rows(result: &'static str, models: [(Figures, Figures, [&'static str; 2]); 3]) -> Vec<Row> {
    let names = [("M-MP", "M-MP symm."), ("MP", "MP symm."), ("M", "M symm.")];
    let mut rows = Vec::new();
    for ((name, symmetric_name), (plain, symmetric, [here, reduced])) in names.into_iter().zip(models) {
        let plain = row(name, plain, result, here);
        rows.push(if name == "M" { plain } else { over("M", plain) });
        let symmetric = row(symmetric_name, symmetric, result, reduced);
        rows.push(if name == "M" { symmetric } else { over("M symm.", symmetric) });
    }
    rows
}

#[expect(clippy::too_many_lines, reason = "it is a table")]
pub(super) fn table() -> Table {
    let [plain, symmetric] = both!("paxos --leaders interchangeable --acceptors 4 --delivery at-once");
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
        options: "",
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
                            both!("paxos --leaders interchangeable --delivery in-steps"),
                        ),
                        (
                            None,
                            Some((1_754_621, 11_647_308, "13 m")),
                            both!("paxos --leaders interchangeable --delivery in-steps-all"),
                        ),
                        (
                            Some((1_577_161, 11_411_586, "3 m")),
                            Some((135_271, 980_290, "24 s")),
                            both!("paxos --leaders interchangeable --delivery at-once"),
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
                            both!(
                                "paxos --leaders interchangeable --property chosen-is-accepted --delivery in-steps"
                            ),
                        ),
                        (
                            None,
                            Some((468_444, 2_488_162, "2 m")),
                            both!(
                                "paxos --leaders interchangeable --property chosen-is-accepted --delivery in-steps-all"
                            ),
                        ),
                        (
                            Some((476_575, 2_435_659, "31 s")),
                            Some((49_290, 256_761, "8 s")),
                            both!(
                                "paxos --leaders interchangeable --property chosen-is-accepted --delivery at-once"
                            ),
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
                            both!("paxos --leaders interchangeable --bug always-accept --delivery in-steps"),
                        ),
                        (
                            None,
                            Some((894_166, 4_840_435, "6 m")),
                            both!(
                                "paxos --leaders interchangeable --bug always-accept --delivery in-steps-all"
                            ),
                        ),
                        (
                            Some((1_026_203, 5_598_379, "1 m")),
                            Some((99_781, 553_159, "15 s")),
                            both!("paxos --leaders interchangeable --bug always-accept --delivery at-once"),
                        ),
                    ],
                ),
            },
            Group {
                name: "Paxos, 2 leaders, 4 acceptors: safety",
                verdict: Expected::Holds,
                rows: vec![
                    row("M", None, "Verified", plain),
                    row("M symm.", Some((775_355, 7_701_472, "4 m")), "Verified", symmetric),
                ],
            },
        ],
    }
}
