//! The tables of the papers, one file each: the published figures, and which instance of which protocol stands for
//! each row.
//!
//! Known: the papers' model files are not published, so the absolute figures differ; verdicts and the ratios
//! between rows are what is reproduced.
//! Held by: crates/quorate-cli/tests/tables.rs.

use crate::tables::{Exhibit, Here, Published, Row};

mod crash;
mod dir;
mod lmc;
mod m_models;
mod refinement;

/// Every table, and figures.
pub(crate) fn all() -> Vec<Exhibit> {
    let tables = [m_models::table(), crash::table(), refinement::table()];
    tables.into_iter().map(Exhibit::from).chain([lmc::figure().into(), dir::table().into()]).collect()
}

/// What no table of these papers can say.
const NOT_ABSOLUTE: &str = "The papers' model files are not published: absolute counts cannot be reproduced, \
                            verdicts and ratios can.";

/// A row that was run to its end.
fn ended(
    name: &'static str,
    figures: &[u64],
    time: &'static str,
    result: &'static str,
    here: &'static str,
) -> Row {
    let published = Published { figures: figures.to_vec(), time, result };
    Row { name, published, over: None, here: Here::Check(here) }
}

/// Compares a row with another one of its group.
fn over(other: &'static str, row: Row) -> Row {
    Row { over: Some(other), ..row }
}
