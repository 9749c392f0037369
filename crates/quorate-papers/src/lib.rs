//! What the papers have that Quorate builds on: their algorithms as they were published, to measure against, and their
//! tables and figures, each row beside what comes out here.
//!
//! Known: the engines here are baselines. They lose violations where the published algorithms do; nobody should prove
//! anything with them.

mod engines;
mod published;
mod tables;

pub use engines::lmc;
pub use engines::{PlainDepth, all as engines};
pub use tables::{
    ComponentRow, ComponentTable, Curve, Depths, Exhibit, Expected, Fact, Figure, Group, Here, Plot,
    Published, Row, Saving, Series, Sought, Table, Tables, Unit,
};
