//! The local explorer of components with agents of their own: their runs are enumerated, one by one.
//!
//! From: DEMETER, sections 3.2 and 6.2. A table is made of all runs that do what the local skeleton says and go on as
//! far as nobody sees it. Where others could see something next, it is a branch; a run that nothing can follow is a
//! maximal trace of the component; and what properties see is what they see at any consistent cut of a run in which all
//! of the skeleton has happened.
//! Invariant: a place is a run, whatever the order of its independent operations.
//! Held by: testkit/tests/dir.rs, with groups of processes.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::{Cause, LabelId, Locals, Node, NodeId, Panic, Place, Table};
use crate::engine::dir::Halt;
use crate::engine::dir::checker::{Embedded, MessageId};
use crate::engine::dir::events::for_each_closed_set;
use crate::engine::dir::machine::Ran;
use crate::engine::dir::meter::Meter;
use crate::engine::dir::runs::{Done, Held, Label, Run, for_each_run};
use crate::verdict::Stopped;

/// A run that goes no further unless others see it.
struct Last {
    place: usize,
    /// What others could see next.
    next: Vec<Label>,
}

/// A table in the making.
struct Enumerated<'n, S> {
    node: &'n mut Node<S>,
    /// With how many operations each run begins.
    begun: usize,
    /// How many places were new.
    fresh: u64,
    table: Table,
    sights: HashSet<Vec<usize>>,
    branches: Vec<Label>,
    known_branches: HashSet<Label>,
    last: Vec<Last>,
    panics: Vec<(usize, Option<S>, String)>,
}

impl<E: Embedded> Locals<'_, E> {
    /// What a component can do whose runs are enumerated.
    pub(super) fn enumerate(
        &mut self,
        node: NodeId,
        offers: &[MessageId],
        meter: &mut Meter<'_>,
    ) -> Result<Table, Halt> {
        let component = self.component(node);
        let skeleton = self.skeleton(node);
        let begins = self.begins(node);
        let received = skeleton.iter().flatten().flat_map(|label| &self.label(*label).received);
        let mut arrivals: Vec<MessageId> = received.copied().collect();
        arrivals.extend(offers);
        self.normalise(&mut arrivals);
        let Locals { checker, nodes, labels, places, steps, runs, table_bytes, mutant, .. } = self;
        let seen = |of_one: &Vec<LabelId>| of_one.iter().map(|label| &labels[*label as usize]).collect();
        let skeleton = skeleton.iter().map(seen).collect();
        let held = Held { component, arrivals, skeleton, begins: &begins, mutant: *mutant };
        let mut found = Enumerated {
            node: &mut nodes[node],
            begun: begins.len(),
            fresh: 0,
            table: Table::default(),
            sights: HashSet::new(),
            branches: Vec::new(),
            known_branches: HashSet::new(),
            last: Vec::new(),
            panics: Vec::new(),
        };
        let is_reliable = for_each_run(*checker, &held, &mut |operations, run| {
            *steps += operations as u64;
            if let Some(run) = run {
                *runs += u64::from(run.is_maximal);
                found.note(run);
            }
            *places += std::mem::take(&mut found.fresh);
            meter.tick(*places, *steps, *table_bytes)
        })?;
        if !is_reliable {
            let told = "a component does not do the same whenever the same happens to it: it may look at a clock, or at \
                        what it has done in an earlier run";
            return Err(Halt::Stopped(Stopped::Impure(told.to_string())));
        }
        let Enumerated { mut table, branches, last, panics, .. } = found;
        table.quiescent = last.iter().filter(|run| run.next.is_empty()).map(|run| run.place).collect();
        table.rests = rests(&last, &branches);
        for label in branches {
            let (member, label) = (label.member, self.number_label(label));
            table.branches.push(label);
            let mut key = self.nodes[node].key.clone();
            key.labels[member].push(label);
            if !self.numbers.contains_key(&key) {
                self.insert(key, Vec::new());
            }
        }
        for (place, step, message) in panics {
            table.panics.push(Panic { place, number: self.panics.len() });
            self.panics.push((step, message));
        }
        Ok(table)
    }

    /// What others see of each member at a node, from the beginning.
    pub(super) fn skeleton(&self, node: NodeId) -> Vec<Vec<LabelId>> {
        let key = &self.nodes[node].key;
        let Some((before, _)) = key.rest else { return key.labels.clone() };
        let before = self.skeleton(before).into_iter().zip(&key.labels);
        before.map(|(before, since)| [before.as_slice(), since].concat()).collect()
    }

    /// How every run at a node begins: up to the last rest.
    fn begins(&self, node: NodeId) -> Vec<(usize, E::Step)> {
        match self.nodes[node].key.rest.map(|(node, place)| &self.nodes[node].places[place].cause) {
            Some(Cause::Run(operations)) => operations.clone(),
            _ => Vec::new(),
        }
    }
}

impl<S: Clone + Eq + std::hash::Hash> Enumerated<'_, S> {
    fn note(&mut self, run: Run<'_, S>) {
        let Run { initial, operations, next, is_maximal, ran } = run;
        let all: Vec<usize> = (0..operations.len()).collect();
        match ran {
            Ran::Through => {}
            Ran::Panicked(message) => {
                let before = self.place(initial, operations, &all[..all.len().saturating_sub(1)]);
                let step = operations.last().map(|done| done.operation.step.clone());
                self.panics.push((before, step, message));
                return;
            }
            Ran::Stuck(message) => {
                let place = self.place(initial, operations, &all);
                self.panics.push((place, None, message));
                return;
            }
        }
        for label in &next {
            if self.known_branches.insert(label.clone()) {
                self.branches.push(label.clone());
            }
        }
        if is_maximal {
            self.cut(initial, operations);
            let place = self.place(initial, operations, &all);
            self.last.push(Last { place, next });
        }
    }

    /// The number of the place to which some operations of a run lead.
    fn place(&mut self, initial: &[usize], operations: &[Done<S>], chosen: &[usize]) -> usize {
        let step = |at: &usize| {
            let operation = &operations[*at].operation;
            (operation.agent, operation.step.clone())
        };
        let way: Vec<(usize, S)> = chosen.iter().map(step).collect();
        let mut run = way.clone();
        run.sort_by_key(|(agent, _)| *agent);
        let Node { places, runs, .. } = &mut *self.node;
        let fresh = &mut self.fresh;
        *runs.entry(run).or_insert_with(|| {
            let mut observed = initial.to_vec();
            for &(member, now) in chosen.iter().flat_map(|at| &operations[*at].observed) {
                observed[member] = now;
            }
            *fresh += 1;
            places.push(Place { point: 0, observed, taken: Vec::new(), traces: 1, cause: Cause::Run(way) });
            places.len() - 1
        })
    }

    /// Notes a place for everything that properties can see in the course of a run, once all of the skeleton has
    /// happened.
    fn cut(&mut self, initial: &[usize], operations: &[Done<S>]) {
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
        let mut places: BTreeSet<usize> = BTreeSet::new();
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
                places.insert(self.place(initial, operations, &before));
            }
            Ok::<(), std::convert::Infallible>(())
        });
        self.table.places.extend(places);
    }
}

/// The runs that may stay where they are although, with something on offer, others could see the component do something
/// in another: those that nothing follows which needs as little.
fn rests(last: &[Last], branches: &[Label]) -> Vec<usize> {
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
    last.iter().filter(stays).map(|run| run.place).collect()
}
