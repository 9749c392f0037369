//! The local explorer of components with agents of their own: their runs are enumerated, one by one.
//!
//! From: DEMETER, sections 3.2 and 6.2. A table is made of all runs that do what the local skeleton says and go on as
//! far as nobody sees it. Where others could see something next, it is a branch; a run that nothing can follow is a
//! maximal trace of the component; and what properties see is what they see at any consistent cut of a run in which all
//! of the skeleton has happened.
//! Invariant: a point is a run, whatever the order of its independent operations.
//! Restriction by: testkit/tests/dir.rs, with groups of processes.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::{Cause, Locals, Node, NodeId, NodePoint, Panic, Table};
use crate::engine::components::Halt;
use crate::engine::components::checker::{ComponentChecker, MessageId};
use crate::engine::components::events::for_each_closed_set;
use crate::engine::components::machine::{ComponentRunner, Ran};
use crate::engine::components::meter::{Done, Meter};
use crate::engine::components::runs::{Happened, Label, Restriction, Run, for_each_run};
use crate::report::Stopped;

/// Operations, each with its agent, in an order in which they can happen.
pub(in super::super) type Way<S> = Vec<(usize, S)>;

/// A run that goes no further unless others see it.
pub(in super::super) struct Last {
    pub(in super::super) point: usize,
    /// What others could see next.
    pub(in super::super) next: Vec<Label>,
}

/// Where runs lead.
pub(in super::super) struct FoundPoint<S> {
    pub(in super::super) way: Way<S>,
    /// What properties see of each member there.
    pub(in super::super) observed: Vec<usize>,
    /// How many runs these are, if they are not told apart: the way is that of one of them.
    pub(in super::super) alike: Option<u128>,
}

/// A panic: where, the step that panics unless agents wait for each other, and what is known of why.
pub(in super::super) struct Panicked<S> {
    pub(in super::super) point: usize,
    pub(in super::super) step: Option<(usize, S)>,
    pub(in super::super) message: String,
}

/// What the runs of a component come to, in the numbers of the machine that ran it.
pub(in super::super) struct Explored<S> {
    /// Where runs can be.
    pub(in super::super) points: Vec<FoundPoint<S>>,
    /// The points at which there is something to be seen.
    pub(in super::super) shown: BTreeSet<usize>,
    pub(in super::super) branches: Vec<Label>,
    pub(in super::super) last: Vec<Last>,
    pub(in super::super) panics: Vec<Panicked<S>>,
    pub(in super::super) done: Done,
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

/// What the runs come to, in the making.
struct Exploration<S> {
    /// With how many operations each run begins.
    begun: usize,
    numbers: HashMap<Way<S>, usize>,
    sights: HashSet<Vec<usize>>,
    known_branches: HashSet<Label>,
    found: Explored<S>,
}

/// Goes through all runs of a component that is held to a local skeleton; tells from time to time what was done so
/// far.
pub(super) fn explored<M: ComponentRunner>(
    runner: &mut M,
    restriction: &Restriction<M::Step>,
    tick: &mut dyn FnMut(Done) -> Result<(), Halt>,
) -> Result<Explored<M::Step>, Halt> {
    let mut exploration = Exploration {
        begun: restriction.begins.len(),
        numbers: HashMap::new(),
        sights: HashSet::new(),
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
    let told = "a component does not do the same whenever the same happens to it: it may look at a clock, or at what it \
                has done in an earlier run";
    Err(Halt::Stopped(Stopped::Impure(told.to_string())))
}

impl<E: ComponentChecker> Locals<E> {
    /// What a component can do whose runs are enumerated.
    pub(super) fn enumerate(
        &mut self,
        node: NodeId,
        offers: &[MessageId],
        meter: &mut Meter<'_>,
    ) -> Result<Table, Halt> {
        let restriction = self.restriction(node, offers);
        let points_max = meter.points_max();
        let found = explored(&mut self.checker, &restriction, &mut |done| {
            is_too_many(done.points, points_max)?;
            meter.glance(done)
        })?;
        Ok(self.adopt(node, found, meter)?.0)
    }

    /// What the runs at a node have in common.
    pub(in super::super) fn restriction(&self, node: NodeId, offers: &[MessageId]) -> Restriction<E::Step> {
        let seen = |of_one: &Vec<_>| of_one.iter().map(|label| self.label(*label).clone()).collect();
        let skeleton: Vec<Vec<Label>> = self.skeleton(node).iter().map(seen).collect();
        let received = skeleton.iter().flatten().flat_map(|label| &label.received);
        let mut arrivals: Vec<MessageId> = received.chain(offers).copied().collect();
        self.normalise(&mut arrivals);
        let (component, begins, mutant) = (self.component(node), self.begins(node), self.mutant);
        Restriction { component, arrivals, skeleton, begins, mutant }
    }

    /// Makes a table of what was explored, in the numbers of the checker; tells the numbers of its points, too.
    pub(in super::super) fn adopt(
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
            let mut key = self.nodes[node].key.clone();
            key.labels[member].push(label);
            if !self.numbers.contains_key(&key) {
                self.insert(key, Vec::new());
            }
        }
        for Panicked { point, step, message } in panics {
            table.panics.push(Panic { point: numbers[point], number: self.panics.len() });
            self.panics.push((step.map(|(_, step)| step), message));
        }
        Ok((table, numbers))
    }

    /// What others see of each member at a node, from the beginning.
    pub(super) fn skeleton(&self, node: NodeId) -> Vec<Vec<super::LabelId>> {
        let key = &self.nodes[node].key;
        let Some((before, _)) = key.pause else { return key.labels.clone() };
        let before = self.skeleton(before).into_iter().zip(&key.labels);
        before.map(|(before, since)| [before.as_slice(), since].concat()).collect()
    }

    /// How every run at a node begins: up to the last pause.
    fn begins(&self, node: NodeId) -> Way<E::Step> {
        match self.nodes[node].key.pause.map(|(node, point)| &self.nodes[node].points[point].cause) {
            Some(Cause::Run(operations)) => operations.clone(),
            _ => Vec::new(),
        }
    }
}

/// One table may have so many points.
pub(super) fn is_too_many(points: u64, points_max: u64) -> Result<(), Halt> {
    if points > points_max { Err(Halt::Stopped(Stopped::States(points_max))) } else { Ok(()) }
}

/// A run, whatever the order of its independent operations.
pub(super) fn by_agent<S: Clone>(way: &[(usize, S)]) -> Way<S> {
    let mut run = way.to_vec();
    run.sort_by_key(|(agent, _)| *agent);
    run
}

impl<S: Clone + Eq + std::hash::Hash> Node<S> {
    /// The number of the point to which runs lead.
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

    /// Notes a point for everything that properties can see in the course of a run, once all of the skeleton has
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
            if self.sights.insert(observed) {
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
    pub(in super::super) fn translated_to<E: ComponentChecker<Step = S>>(
        self,
        here: &mut E,
        there: &E,
        component: usize,
    ) -> Self {
        let translate_label = |here: &mut E, label: Label| translated(label, here, there);
        let mut known_steps: HashMap<(usize, S), (usize, S)> = HashMap::new();
        let mut translate_step = |here: &mut E, done: (usize, S)| {
            let told = known_steps.entry(done);
            told.or_insert_with_key(|(agent, step)| here.step_of(there, component, *agent, step)).clone()
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
    pub(in super::super) fn translated_to<E: ComponentChecker<Step = S>>(
        &self,
        here: &mut E,
        there: &E,
    ) -> Restriction<S> {
        let Restriction { component, arrivals, skeleton, begins, mutant } = self;
        let arrivals = arrivals.iter().map(|message| here.message_of(there, *message)).collect();
        let mut told = |labels: &Vec<Label>| -> Vec<Label> {
            labels.iter().map(|label| translated(label.clone(), here, there)).collect()
        };
        let skeleton = skeleton.iter().map(&mut told).collect();
        let begins =
            begins.iter().map(|(agent, step)| here.step_of(there, *component, *agent, step)).collect();
        Restriction { component: *component, arrivals, skeleton, begins, mutant: *mutant }
    }
}

/// What others see, in the numbers of another checker.
fn translated<E: ComponentChecker>(label: Label, here: &mut E, there: &E) -> Label {
    let mut told = |messages: Vec<MessageId>| -> Vec<MessageId> {
        messages.into_iter().map(|message| here.message_of(there, message)).collect()
    };
    let (mut received, sent) = (told(label.received), told(label.sent));
    received.sort_unstable();
    Label { received, sent, ..label }
}

/// The runs that may stay where they are although, with something on offer, others could see the component do something
/// in another: those that nothing follows which needs as little.
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
