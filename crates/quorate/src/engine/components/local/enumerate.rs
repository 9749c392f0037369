//! Components with agents of their own: their runs are enumerated, one by one.
//!
//! From: DEMETER, sections 3.2 and 6.2. A table is made of all runs that do what the local skeleton says and then go on
//! as far as nobody sees it. What others could see next are branches; a run after which nothing can happen is a maximal
//! trace of the component; and what properties see is what they see at any consistent cut of a run in which all of the
//! skeleton has happened.
//! Invariant: a point is a run, up to the order of its independent operations.
//! Held by: testkit/tests/dir.rs, with groups of processes.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::dpor::{Happened, Restriction, Run, for_each_run};
use super::tables::{Cause, ExploreComponent, Kind, Locals, Node, NodePoint, Table, Wanted};
use crate::base::for_each_closed_set;
use crate::engine::components::embedded::{ComponentChecker, ComponentRunner, MessageId, Ran};
use crate::engine::components::events::{Label, NodeId};
use crate::engine::components::meter::{Done, Halt, Meter, Panic};
use crate::report::Stopped;

/// Operations, each with its agent, in an order in which they can happen.
pub(crate) type Way<S> = Vec<(usize, S)>;

/// A run that goes no further without being seen.
pub(crate) struct Last {
    pub(crate) point: usize,
    /// What others could see next.
    pub(crate) next: Vec<Label>,
}

/// A point to which runs lead, before it has a number at a node.
pub(crate) struct FoundPoint<S> {
    pub(crate) way: Way<S>,
    /// What properties see of each member there.
    pub(crate) observed: Vec<usize>,
    /// How many runs these are, if it stands for several: the way is that of one of them.
    pub(crate) alike: Option<u128>,
}

/// A panic: where, with which message, and the step that panics; no step if agents wait for each other.
pub(crate) struct Panicked<S> {
    pub(crate) point: usize,
    pub(crate) step: Option<(usize, S)>,
    pub(crate) message: String,
}

/// What was found in the runs of a component, in the numbers of the checker that ran it.
pub(crate) struct Explored<S> {
    /// The points that were found. Other fields refer to them by position.
    pub(crate) points: Vec<FoundPoint<S>>,
    /// The points that show all that properties can see.
    pub(crate) shown: BTreeSet<usize>,
    pub(crate) branches: Vec<Label>,
    pub(crate) last: Vec<Last>,
    pub(crate) panics: Vec<Panicked<S>>,
    pub(crate) done: Done,
}

impl<S> Default for Explored<S> {
    fn default() -> Self {
        Explored {
            points: Vec::new(),
            shown: BTreeSet::new(),
            branches: Vec::new(),
            last: Vec::new(),
            panics: Vec::new(),
            done: Done::default(),
        }
    }
}

/// An exploration in progress.
struct Exploration<S> {
    /// With how many operations each run begins.
    begun: usize,
    numbers: HashMap<Way<S>, usize>,
    /// What properties have seen of the members so far.
    observed: HashSet<Vec<usize>>,
    known_branches: HashSet<Label>,
    found: Explored<S>,
}

/// Goes through all runs of a component that is restricted to a local skeleton. Calls `tick` with what was done so far;
/// an error ends it.
pub(super) fn explored<M: ComponentRunner>(
    runner: &mut M,
    restriction: &Restriction<M::Step>,
    tick: &mut dyn FnMut(Done) -> Result<(), Halt>,
) -> Result<Explored<M::Step>, Halt> {
    let mut exploration = Exploration {
        begun: restriction.begins.len(),
        numbers: HashMap::new(),
        observed: HashSet::new(),
        known_branches: HashSet::new(),
        found: Explored::default(),
    };
    let is_reliable = for_each_run(runner, restriction, &mut |operations, run| {
        exploration.found.done.steps += operations as u64;
        if let Some(run) = run {
            exploration.found.done.runs += u64::from(run.is_maximal);
            exploration.note(run);
        }
        exploration.found.done.points = exploration.found.points.len() as u64;
        tick(exploration.found.done)
    })?;
    if is_reliable {
        return Ok(exploration.found);
    }
    let reason = "a component does not do the same whenever the same happens to it: it may look at a clock, or at what it \
                has done in an earlier run";
    Err(Halt::Stopped(Stopped::Impure(reason.to_string())))
}

/// The explorer of a component whose runs are enumerated.
pub(crate) struct Enumerate;

impl<E: ComponentChecker> ExploreComponent<E> for Enumerate {
    fn kind(&self) -> Kind {
        Kind::Enumerated
    }

    fn explore(
        &mut self,
        locals: &mut Locals<'_, E>,
        wanted: &Wanted,
        meter: &mut Meter<'_>,
    ) -> Result<Table, Halt> {
        let restriction = locals.restriction(wanted);
        let points_max = meter.points_max();
        let found = explored(&mut locals.checker, &restriction, &mut |done| {
            is_too_many(done.points, points_max)?;
            meter.glance(done)
        })?;
        Ok(locals.adopt(wanted.node, found, meter)?.0)
    }
}

impl<E: ComponentChecker> Locals<'_, E> {
    /// What the runs at a node are restricted to.
    pub(crate) fn restriction(&self, Wanted { node, offers }: &Wanted) -> Restriction<E::Step> {
        let seen = |of_one: &Vec<_>| of_one.iter().map(|label| self.label(*label).clone()).collect();
        let skeleton: Vec<Vec<Label>> = self.skeleton(*node).iter().map(seen).collect();
        let received = skeleton.iter().flatten().flat_map(|label| &label.received);
        let mut arrivals: Vec<MessageId> = received.chain(offers).copied().collect();
        self.normalise(&mut arrivals);
        let (component, begins, mutants) = (self.component(*node), self.begins(*node), self.mutants);
        Restriction { component, arrivals, skeleton, begins, mutants }
    }

    /// Makes a table of what was explored, in the numbers of the checker. Also returns the number of each point that
    /// was found.
    pub(crate) fn adopt(
        &mut self,
        node: NodeId,
        found: Explored<E::Step>,
        meter: &mut Meter<'_>,
    ) -> Result<(Table, Vec<usize>), Halt> {
        let Explored { points, shown, branches, last, panics, done } = found;
        let known = self.nodes[node].points.len();
        let numbers: Vec<usize> = points.into_iter().map(|found| self.nodes[node].run_point(found)).collect();
        let fresh = (self.nodes[node].points.len() - known) as u64;
        meter.add(Done { points: fresh, ..done })?;
        let pauses = pauses(&last, &branches).into_iter().map(|point| numbers[point]).collect();
        let points = shown.into_iter().map(|point| numbers[point]).collect();
        let mut table = Table { points, pauses, ..Table::default() };
        for Last { point, next } in last {
            if next.is_empty() {
                table.quiescent.push(numbers[point]);
            }
            let next = next.into_iter().map(|label| self.number_label(label)).collect();
            table.last.push((numbers[point], next));
        }
        for label in branches {
            let (member, label) = (label.member, self.number_label(label));
            table.branches.push(label);
            let key = self.key_after(node, member, label);
            if !self.is_node(&key) {
                self.insert(key, Vec::new());
            }
        }
        for Panicked { point, step, message } in panics {
            table.panics.push(Panic { point: numbers[point], number: self.panics.len() });
            self.panics.push((step.map(|(_, step)| step), message));
        }
        Ok((table, numbers))
    }

    /// The number of a point that was found.
    pub(crate) fn run_point(&mut self, node: NodeId, found: FoundPoint<E::Step>) -> usize {
        self.nodes[node].run_point(found)
    }

    /// The operations with which every run at a node begins: those before the last pause.
    fn begins(&self, node: NodeId) -> Way<E::Step> {
        match self.nodes[node].key.pause.map(|(node, point)| &self.nodes[node].points[point].cause) {
            Some(Cause::Run(operations)) => operations.clone(),
            _ => Vec::new(),
        }
    }
}

/// Ends an exploration if one table gets more points than this.
pub(super) fn is_too_many(points: u64, points_max: u64) -> Result<(), Halt> {
    if points > points_max { Err(Halt::Stopped(Stopped::States(points_max))) } else { Ok(()) }
}

/// The operations of a run, by agent: equal for runs that differ only in the order of independent operations.
pub(super) fn by_agent<S: Clone>(way: &[(usize, S)]) -> Way<S> {
    let mut run = way.to_vec();
    run.sort_by_key(|(agent, _)| *agent);
    run
}

impl<S: Clone + Eq + std::hash::Hash> Node<S> {
    /// The number of a point that was found: a new one if it stands for several runs.
    pub(super) fn run_point(&mut self, found: FoundPoint<S>) -> usize {
        let FoundPoint { way, observed, alike } = found;
        let Node { points, runs, .. } = self;
        let run = by_agent(&way);
        let add = |traces: u128| {
            points.push(NodePoint {
                local_point: 0,
                observed,
                taken: Vec::new(),
                traces,
                cause: Cause::Run(way),
            });
            points.len() - 1
        };
        match alike {
            Some(traces) => add(traces),
            None => *runs.entry(run).or_insert_with(|| add(1)),
        }
    }
}

impl<S: Clone + Eq + std::hash::Hash> Exploration<S> {
    fn note(&mut self, run: Run<'_, S>) {
        let Run { initial, operations, next, is_maximal, ran } = run;
        let all: Vec<usize> = (0..operations.len()).collect();
        match ran {
            Ran::Through => {}
            Ran::Panicked(message) => {
                let before = self.point(initial, operations, &all[..all.len().saturating_sub(1)]);
                let step = operations.last().map(|done| done.operation.agent_and_step());
                self.found.panics.push(Panicked { point: before, step, message });
                return;
            }
            Ran::Stuck(message) => {
                let point = self.point(initial, operations, &all);
                self.found.panics.push(Panicked { point, step: None, message });
                return;
            }
        }
        for label in &next {
            if self.known_branches.insert(label.clone()) {
                self.found.branches.push(label.clone());
            }
        }
        if is_maximal {
            self.cut(initial, operations);
            let point = self.point(initial, operations, &all);
            self.found.last.push(Last { point, next });
        }
    }

    /// The number of the point to which some operations of a run lead.
    fn point(&mut self, initial: &[usize], operations: &[Happened<S>], chosen: &[usize]) -> usize {
        let way: Way<S> = chosen.iter().map(|at| operations[*at].operation.agent_and_step()).collect();
        let Exploration { found: Explored { points, .. }, numbers, .. } = self;
        *numbers.entry(by_agent(&way)).or_insert_with(|| {
            let mut observed = initial.to_vec();
            for &(member, now) in chosen.iter().flat_map(|at| &operations[*at].observed) {
                observed[member] = now;
            }
            points.push(FoundPoint { way, observed, alike: None });
            points.len() - 1
        })
    }

    /// Notes a point for everything that properties can see at a cut of a run in which all of the skeleton has
    /// happened.
    fn cut(&mut self, initial: &[usize], operations: &[Happened<S>]) {
        let has_happened: Vec<usize> = (0..operations.len())
            .filter(|at| *at < self.begun || operations[*at].operation.is_seen())
            .collect();
        let leads_to = |at: usize, later: &[usize]| {
            later.iter().any(|later| operations[*later].follows(&operations[at]))
        };
        let shows = (0..operations.len()).filter(|at| !operations[*at].observed.is_empty());
        let open: Vec<usize> = shows.filter(|at| !leads_to(*at, &has_happened)).collect();
        let needs = |at: usize| {
            (0..at).filter(|before| operations[open[at]].follows(&operations[open[*before]])).collect()
        };
        let needs: Vec<Vec<usize>> = (0..open.len()).map(needs).collect();
        let Ok(()) = for_each_closed_set(&needs, &mut |chosen: &[usize]| {
            let with: Vec<usize> =
                has_happened.iter().copied().chain(chosen.iter().map(|at| open[*at])).collect();
            let mut observed = initial.to_vec();
            for at in (0..operations.len()).filter(|at| !operations[*at].observed.is_empty()) {
                if leads_to(at, &with) {
                    for &(member, now) in &operations[at].observed {
                        observed[member] = now;
                    }
                }
            }
            if self.observed.insert(observed) {
                let before: Vec<usize> = (0..operations.len()).filter(|at| leads_to(*at, &with)).collect();
                let point = self.point(initial, operations, &before);
                self.found.shown.insert(point);
            }
            Ok::<(), std::convert::Infallible>(())
        });
    }
}

impl<S: Clone + Eq + std::hash::Hash> Explored<S> {
    /// The same in the numbers of another checker.
    pub(crate) fn translated_to<E: ComponentChecker<Step = S>>(
        self,
        here: &mut E,
        there: &E,
        component: usize,
    ) -> Self {
        let translate_label = |here: &mut E, label: Label| translated(label, here, there);
        let mut known_steps: HashMap<(usize, S), (usize, S)> = HashMap::new();
        let mut translate_step = |here: &mut E, done: (usize, S)| {
            let known = known_steps.entry(done);
            known.or_insert_with_key(|(agent, step)| here.step_of(there, component, *agent, step)).clone()
        };
        let mut points = Vec::with_capacity(self.points.len());
        for FoundPoint { way, observed, alike } in self.points {
            let way = way.into_iter().map(|done| translate_step(here, done)).collect();
            let observed = observed.into_iter().map(|number| here.observed_of(there, number)).collect();
            points.push(FoundPoint { way, observed, alike });
        }
        let branches = self.branches.into_iter().map(|label| translate_label(here, label)).collect();
        let mut last = Vec::with_capacity(self.last.len());
        for Last { point, next } in self.last {
            let next = next.into_iter().map(|label| translate_label(here, label)).collect();
            last.push(Last { point, next });
        }
        let translate_panic = |panicked: Panicked<S>| {
            let step = panicked.step.map(|done| translate_step(here, done));
            Panicked { step, ..panicked }
        };
        let panics = self.panics.into_iter().map(translate_panic).collect();
        Explored { points, branches, last, panics, ..self }
    }
}

impl<S> Restriction<S> {
    /// The same in the numbers of another checker.
    pub(crate) fn translated_to<E: ComponentChecker<Step = S>>(
        &self,
        here: &mut E,
        there: &E,
    ) -> Restriction<S> {
        let Restriction { component, arrivals, skeleton, begins, mutants } = self;
        let arrivals = arrivals.iter().map(|message| here.message_of(there, *message)).collect();
        let mut translate = |labels: &Vec<Label>| -> Vec<Label> {
            labels.iter().map(|label| translated(label.clone(), here, there)).collect()
        };
        let skeleton = skeleton.iter().map(&mut translate).collect();
        let begins =
            begins.iter().map(|(agent, step)| here.step_of(there, *component, *agent, step)).collect();
        Restriction { component: *component, arrivals, skeleton, begins, mutants: *mutants }
    }
}

/// A label, in the numbers of another checker.
fn translated<E: ComponentChecker>(label: Label, here: &mut E, there: &E) -> Label {
    let mut translate = |messages: Vec<MessageId>| -> Vec<MessageId> {
        messages.into_iter().map(|message| here.message_of(there, message)).collect()
    };
    let (mut received, sent) = (translate(label.received), translate(label.sent));
    received.sort_unstable();
    Label { received, sent, ..label }
}

/// The runs that may pause. With some messages on offer another run could go on in a way that others see, while this
/// one cannot go on with these messages.
fn pauses(last: &[Last], branches: &[Label]) -> Vec<usize> {
    let count = |messages: &[MessageId]| {
        let mut counts: HashMap<MessageId, usize> = HashMap::new();
        for message in messages {
            *counts.entry(*message).or_default() += 1;
        }
        counts
    };
    let within = |needed: &[MessageId], wanted: &[MessageId]| {
        let there = count(wanted);
        count(needed).iter().all(|(message, copies)| there.get(message) >= Some(copies))
    };
    let wanted: BTreeSet<&[MessageId]> = branches.iter().map(|label| label.received.as_slice()).collect();
    let stays = |run: &&Last| {
        wanted.iter().any(|wanted| !run.next.iter().any(|label| within(&label.received, wanted)))
    };
    last.iter().filter(stays).map(|run| run.point).collect()
}
