//! Combines local states into system states, and asks the properties about them.
//!
//! From: figure 9, `checkSystemInvariant`; 4.2, system states. In general every combination with a new local state is
//! created; optimised, only those whose observations violate a property.
//! Differs: the paper writes the optimisation by hand, for the invariant of Paxos; here it is that of every property,
//! whose observations are known.

use quorate::ProcessId;
use quorate::model::Value;
use quorate::property::Property;
use quorate::report::heed;

use super::{CombineBy, EventId, Local, LocalId, Run, Stage, union};

/// For each process, the local states to combine.
type Members = Vec<Vec<LocalId>>;

impl Run<'_> {
    /// Combines a new local state with those of the others.
    pub(super) fn check_system_invariant(&mut self, process: ProcessId, local: LocalId) {
        let states = |at: usize| -> Vec<LocalId> {
            if at == process.index() { vec![local] } else { (0..self.nodes[at].locals.len()).collect() }
        };
        let all: Members = (0..self.nodes.len()).map(states).collect();
        let panicked = self.nodes[process.index()].locals[local].value.is_none();
        if self.options.classes == CombineBy::States || panicked {
            return self.combine(&all, &mut Vec::new(), &[]);
        }
        let mut violating: Vec<Members> = Vec::new();
        for (at, property) in self.invariants().enumerate() {
            let own = &self.nodes[process.index()].locals[local].observed[at];
            self.violating_classes((at, property), (process.index(), own), &mut Vec::new(), &mut violating);
        }
        for (at, node) in self.nodes.iter().enumerate().filter(|(at, _)| *at != process.index()) {
            // Whatever the others do, a step that has panicked is a violation.
            if let Some(panicked) = node.numbers.get(&None) {
                let mut members = all.clone();
                members[at] = vec![*panicked];
                violating.push(members);
            }
        }
        for mut members in violating {
            members[process.index()] = vec![local];
            self.combine(&members, &mut Vec::new(), &[]);
        }
    }

    /// The classes of local states, one for each process, that violate a property; those of one process are the class
    /// of what is observed of it.
    fn violating_classes<'n>(
        &'n self,
        (at, property): (usize, &Property),
        own: (usize, &'n Option<Value>),
        chosen: &mut Vec<&'n (Option<Value>, Vec<LocalId>)>,
        violating: &mut Vec<Members>,
    ) {
        heed();
        let Some(node) = self.nodes.get(chosen.len()) else {
            let seen: Vec<&Value> = chosen.iter().filter_map(|(seen, _)| seen.as_ref()).collect();
            if !property.holds(&seen) {
                violating.push(chosen.iter().map(|(_, members)| members.clone()).collect());
            }
            return;
        };
        for class in node.classes.get(at).into_iter().flatten() {
            if chosen.len() != own.0 || class.0 == *own.1 {
                chosen.push(class);
                self.violating_classes((at, property), own, chosen, violating);
                chosen.pop();
            }
        }
    }

    /// Creates every combination of one of these local states for each process.
    fn combine(&mut self, members: &[Vec<LocalId>], chosen: &mut Vec<LocalId>, past: &[EventId]) {
        let Some(locals) = members.get(chosen.len()) else { return self.system_state(chosen, past.len()) };
        for local in locals {
            if !self.goes_on() {
                return;
            }
            let past = union(past, &self.nodes[chosen.len()].locals[*local].past);
            if self.options.depth_max.is_some_and(|limit| past.len() > limit as usize) {
                self.cut = true;
                continue;
            }
            chosen.push(*local);
            self.combine(members, chosen, &past);
            chosen.pop();
        }
    }

    /// A combination was created: if it violates a property, can it happen?
    fn system_state(&mut self, combination: &[LocalId], depth: usize) {
        self.figures.system_states += 1;
        self.figures.depth = self.figures.depth.max(depth);
        self.tick();
        if !self.violates(combination) {
            return;
        }
        self.figures.preliminary += 1;
        if self.options.stage == Stage::Soundness && !self.rejected.contains(combination) {
            self.verify(combination);
        }
    }

    fn violates(&self, combination: &[LocalId]) -> bool {
        let locals: Vec<&Local> =
            self.nodes.iter().zip(combination).map(|(node, local)| &node.locals[*local]).collect();
        let broken = |(at, property): (usize, &Property)| {
            let seen: Vec<&Value> = locals.iter().filter_map(|local| local.observed[at].as_ref()).collect();
            !property.holds(&seen)
        };
        locals.iter().any(|local| local.value.is_none()) || self.invariants().enumerate().any(broken)
    }
}
