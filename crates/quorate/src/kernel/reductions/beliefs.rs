//! A process as the composition tree sees it: a graph of states with steps and arrivals.
//!
//! A state is a configuration, or, from DEMETER made stateful (docs/theory/beliefs.md 2), a *belief*: the set of all
//! configurations that the process can be in, given what it has received and sent. Nobody outside sees anything
//! of a process but its sends, so for a given history of those the processes are independent: the reachable global
//! states are exactly the members of reachable vectors of beliefs.
//!
//! Invariant: beliefs are closed under steps that send nothing; a step of a belief sends something.
//! Held by: testkit/tests/reductions.rs.

use std::collections::HashSet;

use crate::base::{Lists, ProcessId, Value, heed};
use crate::kernel::process::{
    AskContext, ConfigurationId, Lead, NOTHING, ProcessGraph, SendListId, Start, StoredLead,
};
use crate::model::Model;

/// The steps of a configuration or a belief.
type Leads = Vec<Lead>;

/// A process with more beliefs, or one with more members, is better searched as it is.
#[derive(Clone, Copy)]
pub(in crate::kernel) struct BeliefLimits {
    pub(in crate::kernel) beliefs_max: usize,
    pub(in crate::kernel) members_max: usize,
}

/// One process, or one monitor.
pub(in crate::kernel) struct ProcessStates {
    pub(in crate::kernel) graph: ProcessGraph,
    beliefs: Option<Beliefs>,
}

struct Beliefs {
    limits: BeliefLimits,
    sets: Lists,
    /// For each configuration where its leads begin and end; the beginning is `UNKNOWN` if they were not asked for.
    ranges: Vec<(u32, u32)>,
    leads: Vec<StoredLead>,
    /// There were too many beliefs or members: what is known since then means nothing.
    too_many: bool,
}

const UNKNOWN: u32 = u32::MAX;

/// Up to so many members are compared one by one.
const SMALL: usize = 32;

impl ProcessStates {
    pub(in crate::kernel) fn new(id: ProcessId, start: Start, model: &Model) -> Self {
        ProcessStates { graph: ProcessGraph::new(id, start, model), beliefs: None }
    }

    /// Starts anew from the initial state, without messages that are not live, with beliefs or without.
    pub(in crate::kernel) fn prepare(
        &mut self,
        leaves_out: bool,
        believing: Option<BeliefLimits>,
        ask: &mut AskContext<'_>,
    ) {
        self.graph.prepare(leaves_out, ask);
        self.beliefs = believing.map(Beliefs::within);
        if let Some(beliefs) = &mut self.beliefs {
            beliefs.close(vec![0], &mut self.graph, ask);
        }
    }

    /// Are its states beliefs?
    pub(in crate::kernel) fn believes(&self) -> bool {
        self.beliefs.is_some()
    }

    /// Were there too many beliefs?
    pub(in crate::kernel) fn too_many_beliefs(&self) -> bool {
        self.beliefs.as_ref().is_some_and(|beliefs| beliefs.too_many)
    }

    /// How many states are known.
    pub(in crate::kernel) fn size(&self) -> usize {
        self.beliefs.as_ref().map_or_else(|| self.graph.size(), |beliefs| beliefs.sets.len())
    }

    pub(in crate::kernel) fn bytes(&self) -> u64 {
        let beliefs = self.beliefs.as_ref().map_or(0, |beliefs| {
            let leads = beliefs.ranges.capacity() + beliefs.leads.capacity();
            beliefs.sets.bytes() + (leads * size_of::<StoredLead>()) as u64
        });
        self.graph.bytes() + beliefs
    }

    /// The configurations that it can be in.
    pub(in crate::kernel) fn members(&self, state: u32) -> Vec<ConfigurationId> {
        self.beliefs.as_ref().map_or_else(|| vec![state], |beliefs| beliefs.sets.list(state).to_vec())
    }

    /// How many configurations it can be in.
    #[inline]
    pub(in crate::kernel) fn member_count(&self, state: u32) -> usize {
        self.beliefs.as_ref().map_or(1, |beliefs| beliefs.sets.list(state).len())
    }

    /// One of the configurations that it can be in.
    #[inline]
    pub(in crate::kernel) fn member(&self, state: u32, at: usize) -> ConfigurationId {
        self.beliefs.as_ref().map_or(state, |beliefs| beliefs.sets.list(state)[at])
    }

    /// The state whose configurations are these.
    pub(super) fn state_of(&mut self, members: &mut Vec<ConfigurationId>) -> u32 {
        members.sort_unstable();
        members.dedup();
        self.beliefs.as_mut().map_or(members[0], |beliefs| beliefs.sets.number(members))
    }

    /// The steps of a state.
    pub(in crate::kernel) fn steps(&mut self, state: u32, ask: &mut AskContext<'_>) -> Leads {
        match &mut self.beliefs {
            None => self.graph.leads(state, ask),
            Some(beliefs) => beliefs.steps(state, &mut self.graph, ask),
        }
    }

    /// The state after messages have arrived; `None` if there is no room for them.
    pub(in crate::kernel) fn arrive(
        &mut self,
        state: u32,
        sends: SendListId,
        ask: &mut AskContext<'_>,
    ) -> Option<u32> {
        let Some(beliefs) = &mut self.beliefs else {
            return self.graph.arrive(state, sends, ask);
        };
        let mut after = Vec::new();
        for at in 0..beliefs.sets.list(state).len() {
            let member = beliefs.sets.list(state)[at];
            after.push(self.graph.arrive(member, sends, ask)?);
        }
        Some(beliefs.close(after, &mut self.graph, ask))
    }

    /// What is left of a belief if nothing more is sent: the members that owe no step; `None` if there are none.
    pub(in crate::kernel) fn quiescent(&mut self, state: u32, ask: &mut AskContext<'_>) -> Option<u32> {
        let Some(beliefs) = &mut self.beliefs else {
            return self.graph.leads(state, ask).iter().all(|lead| !lead.goes_on()).then_some(state);
        };
        let mut still = Vec::new();
        for at in 0..beliefs.sets.list(state).len() {
            let member = beliefs.sets.list(state)[at];
            if beliefs.leads(member, &mut self.graph, ask).iter().all(|lead| !lead.lead().goes_on()) {
                still.push(member);
            }
        }
        (!still.is_empty()).then(|| beliefs.sets.number(&still))
    }

    /// The local states in some of its configurations.
    pub(in crate::kernel) fn local_values(&self, members: &[ConfigurationId]) -> HashSet<Value> {
        members.iter().map(|member| self.graph.local_value(self.graph.local(*member)).clone()).collect()
    }

    /// The members that owe no step.
    pub(in crate::kernel) fn still_members(
        &mut self,
        state: u32,
        ask: &mut AskContext<'_>,
    ) -> Vec<ConfigurationId> {
        self.quiescent(state, ask).map_or_else(Vec::new, |still| self.members(still))
    }
}

impl Beliefs {
    fn within(limits: BeliefLimits) -> Self {
        let (ranges, leads) = (Vec::new(), Vec::new());
        Beliefs { limits, sets: Lists::default(), ranges, leads, too_many: false }
    }

    /// The steps of a configuration.
    fn leads(
        &mut self,
        configuration: ConfigurationId,
        graph: &mut ProcessGraph,
        ask: &mut AskContext<'_>,
    ) -> &[StoredLead] {
        let at = configuration as usize;
        if self.ranges.get(at).is_none_or(|(start, _)| *start == UNKNOWN) {
            let leads = graph.leads(configuration, ask);
            let start = self.leads.len();
            self.leads.extend(leads.into_iter().map(StoredLead::from));
            if self.ranges.len() <= at {
                self.ranges.resize(at + 1, (UNKNOWN, UNKNOWN));
            }
            let number = |length| u32::try_from(length).expect("fewer than 2^32 remembered steps");
            self.ranges[at] = (number(start), number(self.leads.len()));
        }
        let (start, end) = self.ranges[at];
        &self.leads[start as usize..end as usize]
    }

    /// The belief with these members and all that they reach without sending.
    fn close(
        &mut self,
        mut members: Vec<ConfigurationId>,
        graph: &mut ProcessGraph,
        ask: &mut AskContext<'_>,
    ) -> u32 {
        members.sort_unstable();
        members.dedup();
        let BeliefLimits { beliefs_max, members_max } = self.limits;
        // PERF: most beliefs are small; in a large one members are looked up, not compared one by one.
        let mut found: Option<HashSet<ConfigurationId>> = None;
        let mut at = 0;
        while at < members.len() && !self.too_many {
            heed();
            for lead in self.leads(members[at], graph, ask) {
                let Some((next, NOTHING)) = lead.lead().to else { continue };
                let new = match &mut found {
                    Some(found) => found.insert(next),
                    None => !members.contains(&next),
                };
                if new {
                    members.push(next);
                }
            }
            if found.is_none() && members.len() > SMALL {
                found = Some(members.iter().copied().collect());
            }
            at += 1;
            self.too_many |= members.len() > members_max || self.sets.len() > beliefs_max;
        }
        members.sort_unstable();
        self.sets.number(&members)
    }

    /// One step for each thing that a member can send.
    fn steps(&mut self, state: u32, graph: &mut ProcessGraph, ask: &mut AskContext<'_>) -> Leads {
        let mut after: Vec<(SendListId, ConfigurationId)> = Vec::new();
        let mut panics = false;
        for at in 0..self.sets.list(state).len() {
            let member = self.sets.list(state)[at];
            for lead in self.leads(member, graph, ask) {
                match lead.lead().to {
                    Some((_, NOTHING)) => {}
                    Some((next, sends)) => after.push((sends, next)),
                    None => panics = true,
                }
            }
        }
        after.sort_unstable();
        let mut leads: Leads = Vec::new();
        for same in after.chunk_by(|one, other| one.0 == other.0) {
            let next = same.iter().map(|(_, next)| *next).collect();
            let to = Some((self.close(next, graph, ask), same[0].0));
            leads.push(Lead { to, owed: true });
        }
        leads.extend(panics.then_some(Lead { to: None, owed: true }));
        leads
    }
}
