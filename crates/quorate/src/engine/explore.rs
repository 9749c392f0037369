//! Stateful search over global states.

use super::{Search, Watch};
use crate::protocol::Model;
use crate::verdict::{Coverage, Report, Stopped, Verdict};

/// Explores every reachable state of a model.
pub fn explore(model: &Model, search: &Search, watch: &mut dyn Watch) -> Report {
    let coverage = Coverage::default();
    let stopped = watch.round(&coverage).unwrap_or(Stopped::Interrupted);
    Report {
        verdict: Verdict::Unknown(stopped),
        properties: model.properties().iter().map(|property| property.name().to_string()).collect(),
        coverage,
        threads: search.threads,
    }
}
