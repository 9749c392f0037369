//! Local graphs: the local states of each process by itself, and the steps between them with the messages that they
//! consume and send. What the reductions rest on is also a picture of a protocol, one role at a time.
//!
//! From: docs/theory/stubborn.md 3. The graphs are those of a search that has seen everything, so they contain just the
//! steps that can happen in a run of the whole system. Nothing is asked of the system meanwhile: a violation would end
//! the search early, and a property would make reductions weaker. Steps that only consume are left out, as reductions
//! may do. With blocking channels a step is shown even if there is never room for what it sends.
//! Invariant: states are numbered in the order of steps from the initial one, and steps ordered by what is written in
//! them, so that processes that do the same have the same graph.
//! Held by: quorate-cli/tests/local.rs.

use std::collections::{HashMap, HashSet};

use super::{Explore, Search, explore_and_read, read_closure};
use crate::base::{ProcessId, Value, heed};
use crate::kernel::StepSeen;
use crate::model::{Envelope, Model, Sending};
use crate::reduce::Reduction;
use crate::report::{Report, Stop, Stopped, Verdict, Watch, heeding};
use crate::world::StepKind;

/// A step between two local states that changes the state or sends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LocalStep {
    /// The number of the state before.
    pub from: usize,
    /// The number of the state after.
    pub to: usize,
    /// What kind of step.
    pub kind: StepKind,
    /// The transition, or the name of the kind if it is none.
    pub transition: String,
    /// What it consumes.
    pub consumed: Vec<Envelope>,
    /// What it sends.
    pub sent: Vec<Sending>,
}

/// The local states of a process, and its steps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LocalGraph {
    /// Which process.
    pub process: ProcessId,
    /// Its states; the first is the initial one.
    pub states: Vec<Value>,
    /// Its steps, by the state before.
    pub steps: Vec<LocalStep>,
}

/// The local graphs of a system.
pub struct LocalGraphs {
    /// The system, of which nothing is asked.
    pub model: Model,
    /// The graph of each process, in their order.
    pub graphs: Vec<LocalGraph>,
    /// The search that has seen them.
    pub report: Report,
}

/// The local graphs of a system, as a search sees them. Of the reductions of the search those are used that keep every
/// local step.
pub fn local_graphs(model: Model, search: &Search, watch: &mut dyn Watch) -> LocalGraphs {
    let model = model.without_properties();
    let mut search = search.clone();
    search.reductions.which.retain(|reduction| [Reduction::Inert, Reduction::Stubborn].contains(reduction));
    let stop = watch.stop();
    let (report, graphs) = explore_and_read(&model, &Explore::DEFAULT, &search, watch, |kernel| {
        let graph = |process| LocalGraph::new(&model, process, kernel.steps_seen(process));
        drawn(&model, stop.as_ref(), graph)
    });
    LocalGraphs::new(model, graphs, report)
}

/// The local graphs of a system in its local closure: with every step that a process could take if no message were ever
/// used up, whether it can happen or not.
pub fn local_closure(model: Model, search: &Search, watch: &mut dyn Watch) -> LocalGraphs {
    let model = model.without_properties();
    let stop = watch.stop();
    let (report, graphs) = read_closure(&model, search, watch, |closure| {
        let graph = |process| LocalGraph::new(&model, process, closure.steps_seen(process));
        drawn(&model, stop.as_ref(), graph)
    });
    LocalGraphs::new(model, graphs, report)
}

/// The graph of each process. Where there is no more time for one, it is its first state.
fn drawn(
    model: &Model,
    stop: Option<&Stop>,
    graph: impl Fn(ProcessId) -> LocalGraph,
) -> Vec<Result<LocalGraph, (LocalGraph, Stopped)>> {
    let first = |process| {
        let states = vec![model.process(process).initial().clone()];
        LocalGraph { process, states, steps: Vec::new() }
    };
    let draw = |process| {
        heeding(stop.map(Stop::with_grace), || graph(process)).map_err(|stopped| (first(process), stopped))
    };
    model.ids().map(draw).collect()
}

impl LocalGraphs {
    fn new(model: Model, drawn: Vec<Result<LocalGraph, (LocalGraph, Stopped)>>, mut report: Report) -> Self {
        let mut graphs = Vec::new();
        for drawn in drawn {
            graphs.push(drawn.unwrap_or_else(|(first, stopped)| {
                report.verdict = Verdict::Unknown(stopped);
                first
            }));
        }
        LocalGraphs { model, graphs, report }
    }

    /// Why a step may be missing, if one may: the search ended before it had seen everything.
    pub fn incomplete(&self) -> Option<String> {
        match &self.report.verdict {
            Verdict::Holds => None,
            Verdict::HoldsWithin(reservation) => Some(reservation.clone()),
            Verdict::Unknown(stopped) => Some(stopped.to_string()),
            Verdict::Violated(violation) => Some(format!("the search ends with {}", violation.broken)),
        }
    }

    /// The graphs, those together that processes of one role have in common.
    pub fn alike(&self) -> Vec<Vec<&LocalGraph>> {
        let role = |graph: &LocalGraph| self.model.process(graph.process).role();
        let mut alike: Vec<Vec<&LocalGraph>> = Vec::new();
        for graph in &self.graphs {
            let same =
                |group: &&mut Vec<&LocalGraph>| role(group[0]) == role(graph) && group[0].same_as(graph);
            match alike.iter_mut().find(same) {
                Some(group) => group.push(graph),
                None => alike.push(vec![graph]),
            }
        }
        alike
    }
}

impl LocalGraph {
    fn new(model: &Model, process: ProcessId, seen: impl Iterator<Item = StepSeen>) -> Self {
        let mut steps_of: HashMap<Value, Vec<StepSeen>> = HashMap::new();
        for mut step in seen.filter(|step| step.from != step.to || !step.sent.is_empty()) {
            heed();
            if !model.world().channel.keeps_order() {
                step.sent.sort_by_cached_key(|sending| (sending.to, format!("{:?}", sending.body)));
            }
            steps_of.entry(step.from.clone()).or_default().push(step);
        }
        let initial = model.process(process).initial().clone();
        let mut numbers = HashMap::from([(initial.clone(), 0)]);
        let mut graph = LocalGraph { process, states: vec![initial], steps: Vec::new() };
        let mut at = 0;
        while at < graph.states.len() {
            let mut onwards = steps_of.remove(&graph.states[at]).unwrap_or_default();
            onwards.sort_by_cached_key(|step| {
                heed();
                let StepSeen { kind, transition, consumed, sent, to, .. } = step;
                (*transition, *kind, format!("{consumed:?} {sent:?} {to:?}"))
            });
            for StepSeen { to, kind, transition, consumed, sent, .. } in onwards {
                let new = graph.states.len();
                let number = *numbers.entry(to.clone()).or_insert(new);
                if number == new {
                    graph.states.push(to);
                }
                let transition = match kind {
                    StepKind::Transition | StepKind::Crash => {
                        model.process(process).transitions()[transition].name()
                    }
                    other => other.name(),
                };
                let step = LocalStep {
                    from: at,
                    to: number,
                    kind,
                    transition: transition.to_string(),
                    consumed,
                    sent,
                };
                // A crash after all is sent is the same step to everybody else.
                let same = |known: &LocalStep| *known == LocalStep { kind: known.kind, ..step.clone() };
                let mut known = graph.steps.iter().rev().take_while(|known| known.from == at);
                if kind != StepKind::Crash || !known.any(same) {
                    graph.steps.push(step);
                }
            }
            at += 1;
        }
        graph
    }

    /// Does nothing happen any more in a state?
    pub fn ends(&self, state: usize) -> bool {
        self.steps.binary_search_by_key(&state, |step| step.from).is_err()
    }

    /// The messages that its steps consume and send, each once: who sends it, to whom, and what it says.
    pub fn messages<'g>(&'g self) -> HashSet<(ProcessId, ProcessId, &'g Value)> {
        let of_step = |step: &'g LocalStep| {
            let consumed = step.consumed.iter().map(|message| (message.from, self.process, &message.body));
            consumed.chain(step.sent.iter().map(|message| (self.process, message.to, &message.body)))
        };
        self.steps.iter().flat_map(of_step).collect()
    }

    /// Is it the graph of another process, but for who is meant by the process itself?
    fn same_as(&self, other: &LocalGraph) -> bool {
        let same_name = |a: ProcessId, b: ProcessId| {
            if a == self.process || b == other.process {
                a == self.process && b == other.process
            } else {
                a == b
            }
        };
        let same_step = |(a, b): (&LocalStep, &LocalStep)| {
            let (consumed, sent) = (a.consumed.iter().zip(&b.consumed), a.sent.iter().zip(&b.sent));
            (a.from, a.to, a.kind, &a.transition) == (b.from, b.to, b.kind, &b.transition)
                && (a.consumed.len(), a.sent.len()) == (b.consumed.len(), b.sent.len())
                && consumed.into_iter().all(|(a, b)| same_name(a.from, b.from) && a.body == b.body)
                && sent.into_iter().all(|(a, b)| same_name(a.to, b.to) && a.body == b.body)
        };
        self.states == other.states
            && self.steps.len() == other.steps.len()
            && self.steps.iter().zip(&other.steps).all(same_step)
    }
}
