//! Table 2 of Guo et al.: Practical Software Model Checking via Dynamic Interface Reduction (DEMETER), and the example
//! of its section 2: reduction ratio, global skeletons, local traces, cost and speed-up.
//!
//! Differs: the applications of the paper are implementations, ours are models of the same protocols, so that counts
//! differ and a trace costs microseconds, not seconds. A component is a process, but of the philosophers, of whom eight
//! with their forks are one. MPS and BDB, products of tens of thousands of lines, have no counterpart. Of the
//! accumulator the paper says 14 executions against 18, and two message traces; the ratio is of these.
//! Held by: crates/quorate-cli/tests/dir_table.rs.

use crate::tables::{ComponentRow, ComponentTable, Saving};

/// A row with a component for each process: ratio, skeletons, local traces, RT-ratio and speed-up, as published.
fn row(
    name: &'static str,
    instance: &'static str,
    (ratio, skeletons, local_traces, rt_ratio, speed_up): (f64, u64, u128, f64, f64),
) -> ComponentRow {
    let published = Saving {
        reduction_ratio: Some(ratio),
        global_skeletons: Some(skeletons),
        local_traces: Some(local_traces),
        rt_ratio: Some(rt_ratio),
        speed_up: Some(speed_up),
    };
    ComponentRow { name, instance, components: "", published }
}

fn accumulator() -> ComponentRow {
    let published = Saving {
        reduction_ratio: Some(18.0 / 14.0),
        global_skeletons: Some(2),
        local_traces: Some(14),
        rt_ratio: None,
        speed_up: None,
    };
    ComponentRow { name: "Accumulator", instance: "accumulator", components: "", published }
}

pub(super) fn table() -> ComponentTable {
    ComponentTable {
        name: "dir",
        about: "Dynamic interface reduction: components one by one, against all runs of the system",
        source: "Guo, Wu, Zhou, Hu, Yang, Zhang: Practical Software Model Checking via Dynamic Interface Reduction, \
                 Table 2 and section 2 (DEMETER)",
        notes: vec![
            "ratio: global traces over local traces. RT-ratio: the time for a local trace over the time for a run of the",
            "plain enumeration, which goes through the runs of the whole system one by one, with partial-order reduction,",
            "and is stopped after some seconds; both explore only, and ask no property. speed-up: the first over the second.",
            "MPS and BDB of the paper, products of tens of thousands of lines, have no counterpart here. The other",
            "applications are models of the same protocols, not the same programs: what compares is how ratios grow.",
            "Where a component is one process, its local traces are counted rather than gone through one by one.",
        ],
        plain_time_max: 3,
        rows: vec![
            accumulator(),
            ComponentRow {
                components: "--components 2",
                ..row("DPhi-2", "dining-philosophers --philosophers 16", (41.7, 6, 1_510, 2.0, 20.9))
            },
            ComponentRow {
                components: "--components 3",
                ..row("DPhi-3", "dining-philosophers --philosophers 24", (7_098.0, 25, 2_236, 1.2, 5_915.0))
            },
            row("Pam-2", "pam --nodes 2 --ledger in-steps", (5.4, 39, 856, 2.3, 2.3)),
            row("Pam-3", "pam --nodes 3 --ledger in-steps", (97.8, 65, 6_081, 5.2, 18.9)),
            row("Pastry-2", "pastry --nodes 2", (4.9, 48, 713, 1.5, 3.3)),
            row("Pastry-3", "pastry --nodes 3", (132.4, 2_220, 7_360, 9.7, 13.6)),
            row("Chord-2", "chord --nodes 2", (19.0, 48, 3_282, 2.7, 7.0)),
            row("Chord-3", "chord --nodes 3", (1_587.0, 1_326, 17_384, 2.9, 547.2)),
        ],
    }
}
