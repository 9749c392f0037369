//! The tables of the papers, one file each: the published figures, and which instance of which protocol stands for
//! each row.
//!
//! Known: the papers' model files are not published, so the absolute figures differ; verdicts and the ratios
//! between rows are what is reproduced.
//! Held by: tests/tables.rs.

use quorate::program::tables::{Here, Published, Row, Table};

mod crash;
mod m_models;

/// Every table.
pub(crate) fn all() -> Vec<Table> {
    vec![m_models::table(), crash::table()]
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

/// A row that cannot be run here yet.
fn needing(what: &'static str, row: Row) -> Row {
    Row { here: Here::Needs(what), ..row }
}
