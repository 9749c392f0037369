//! Laws of traces, on runs of random protocols: a trace forgets the order of independent steps and nothing else;
//! prefixes are prefixes; what a component does can be replaced by what it does in another run in which others see the
//! same of it, and the result is a run.

use std::collections::HashMap;

use quorate::ProcessId;
use quorate::engine::components::Partition;
use quorate::model::Model;
use quorate::model::Schedule;
use quorate::replay::replay;
use quorate_testkit::maximal_runs::random_run;
use quorate_testkit::partial_order::Trace;
use quorate_testkit::random::RandomProtocol;

const STEPS_MAX: usize = 12;

/// Runs of a random protocol that do not panic.
fn runs(model: &Model, seed: u64, count: u64) -> Vec<Schedule> {
    (0..count).filter_map(|at| random_run(model, seed.wrapping_mul(1_000) + at, STEPS_MAX).ok()).collect()
}

fn models(seeds: std::ops::Range<u64>) -> impl Iterator<Item = (u64, Model)> {
    seeds.map(|seed| (seed, RandomProtocol::new(seed).without_properties().model()))
}

/// Process by process, and in two groups.
fn partitions(model: &Model) -> [Partition; 2] {
    let ids: Vec<ProcessId> = model.ids().collect();
    let groups = [ids[..1].to_vec(), ids[1..].to_vec()];
    [Partition::processes(model), Partition::groups(model, &groups).expect("all are there")]
}

/// The same steps, another order of independent ones: neighbours are exchanged where replay lets them.
fn shuffled(model: &Model, schedule: &Schedule) -> Schedule {
    let trace = Trace::run(model, schedule).expect("it has been run before");
    let mut other = schedule.clone();
    for at in 1..other.len() {
        let mut swapped = other.clone();
        swapped.swap(at - 1, at);
        // Equal messages may be distinguished by when they were sent: then it is another run.
        if other[at].process != other[at - 1].process
            && replay(model, &swapped).is_ok()
            && Trace::run(model, &swapped).is_ok_and(|swapped| swapped == trace)
        {
            other = swapped;
        }
    }
    other
}

#[test]
fn a_trace_forgets_the_order_of_independent_steps_only() {
    let (mut reordered, mut different) = (0, 0);
    for (seed, model) in models(0..150) {
        let mut signatures: HashMap<u128, Trace> = HashMap::new();
        for schedule in runs(&model, seed, 12) {
            let trace = Trace::run(&model, &schedule).unwrap();
            let other = shuffled(&model, &schedule);
            reordered += usize::from(other != schedule);
            assert_eq!(Trace::run(&model, &other).unwrap().signature(), trace.signature(), "seed {seed}");
            let (end, _) = replay(&model, &schedule).unwrap();
            let (again, _) = replay(&model, &trace.schedule()).unwrap();
            for process in model.ids() {
                let last = |run: &quorate::model::Trace| {
                    run.steps.iter().rev().find(|step| step.process == process).map(|step| step.state.clone())
                };
                assert_eq!(last(&end), last(&again), "seed {seed}");
            }
            assert_eq!(Trace::run(&model, &trace.schedule()).unwrap(), trace, "seed {seed}");
            if let Some(known) = signatures.insert(trace.signature(), trace.clone()) {
                assert_eq!(known, trace, "seed {seed}: two traces with one signature");
            }
        }
        different += signatures.len();
    }
    assert!(reordered > 200 && different > 500, "{reordered} reordered, {different} different");
}

#[test]
fn prefixes_are_closed_and_as_large_as_they_can_be() {
    let mut proper = 0;
    for (seed, model) in models(0..150) {
        for schedule in runs(&model, seed, 4) {
            let trace = Trace::run(&model, &schedule).unwrap();
            let clocks = trace.clocks();
            for process in model.ids() {
                for steps in 0..=trace.steps_of(process).len() {
                    let prefix = trace.up_to(process, steps);
                    proper += usize::from(!prefix.is_empty() && prefix.len() < trace.len());
                    assert!(
                        prefix.is_prefix_of(&trace) && replay(&model, &prefix.schedule()).is_ok(),
                        "seed {seed}"
                    );
                    assert_eq!(prefix.common_prefix(&trace), prefix, "seed {seed}");
                    // What is left out follows the step that must not be taken, and nothing else is.
                    for other in model.ids() {
                        for (at, clock) in clocks[other.index()].iter().enumerate() {
                            let left_out = at >= prefix.steps_of(other).len();
                            assert_eq!(left_out, clock[process.index()] > steps, "seed {seed}");
                        }
                    }
                    for components in partitions(&model) {
                        for component in 0..components.count() {
                            let whole = trace.skeleton(&components, component);
                            let part = prefix.skeleton(&components, component);
                            let begins = part.iter().zip(&whole).all(|(part, whole)| whole.starts_with(part));
                            assert!(
                                begins,
                                "seed {seed}: the skeleton of a prefix is a prefix of the skeleton"
                            );
                        }
                    }
                }
            }
        }
    }
    assert!(proper > 1_000, "{proper} proper prefixes");
}

#[test]
fn what_a_component_does_can_be_replaced() {
    let (mut replaced, mut refused) = (0, 0);
    for (seed, model) in models(0..200) {
        let traces: Vec<Trace> =
            runs(&model, seed, 14).iter().map(|schedule| Trace::run(&model, schedule).unwrap()).collect();
        for components in partitions(&model) {
            for (one, other) in traces.iter().flat_map(|one| traces.iter().map(move |other| (one, other))) {
                for component in 0..components.count() {
                    let fits = one.skeleton(&components, component) == other.skeleton(&components, component);
                    let Some(result) = one.substitute(&components, component, other) else {
                        assert!(!fits, "seed {seed}: the same skeletons, but no substitution");
                        refused += 1;
                        continue;
                    };
                    let part = |trace: &Trace, own: bool| -> Vec<Vec<(usize, Vec<usize>)>> {
                        let of = |process: &ProcessId| (components.of(*process) == component) == own;
                        let steps = |process| {
                            trace
                                .steps_of(process)
                                .iter()
                                .map(|step| (step.transition, step.choices.clone()))
                                .collect()
                        };
                        model.ids().filter(of).map(steps).collect()
                    };
                    assert!(replay(&model, &result.schedule()).is_ok(), "seed {seed}: it cannot happen");
                    assert_eq!(Trace::run(&model, &result.schedule()).unwrap(), result, "seed {seed}");
                    assert_eq!(part(&result, true), part(other, true), "seed {seed}");
                    assert_eq!(part(&result, false), part(one, false), "seed {seed}");
                    for seen in 0..components.count() {
                        let (before, after) =
                            (one.skeleton(&components, seen), result.skeleton(&components, seen));
                        assert_eq!(before, after, "seed {seed}: others see a difference");
                    }
                    assert_eq!(
                        result.substitute(&components, component, one).as_ref(),
                        Some(one),
                        "seed {seed}"
                    );
                    replaced += usize::from(&result != one);
                }
            }
        }
    }
    assert!(replaced > 100 && refused > 1_000, "{replaced} replaced, {refused} refused");
}
