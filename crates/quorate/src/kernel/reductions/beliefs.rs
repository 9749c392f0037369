//! A process as the composition tree sees it: a graph of states with steps and arrivals.
//!
//! A state is a configuration, or, from DEMETER made stateful (docs/theory/beliefs.md 2), a *belief*: the set of all
//! configurations that the process can be in, given what it has received and sent. Nobody outside sees anything
//! of a process but its sends, so for a given history of those the processes are independent: the reachable global
//! states are exactly the members of reachable vectors of beliefs.
//!
//! Invariant: beliefs are closed under steps that send nothing; a step of a belief sends something.
//! Held by: testkit/tests/reductions.rs.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use crate::base::{Numbering, ProcessId, Value, heed};
use crate::kernel::process::{
    AskContext, ConfigurationId, ConfigurationStep, Lead, Live, NOTHING, ProcessGraph, SendListId, Start,
};
use crate::world::Channel;

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
    sets: Numbering<Arc<[ConfigurationId]>>,
    steps: HashMap<ConfigurationId, Arc<Leads>>,
    /// There were too many beliefs or members: what is known since then means nothing.
    too_many: bool,
}

impl ProcessStates {
    pub(in crate::kernel) fn new(id: ProcessId, start: Start, channel: Channel) -> Self {
        ProcessStates { graph: ProcessGraph::new(id, start, channel), beliefs: None }
    }

    /// Starts anew from the initial state, without messages that are not live, with beliefs or without.
    pub(in crate::kernel) fn prepare(
        &mut self,
        live: Option<Arc<Live>>,
        believing: Option<BeliefLimits>,
        ask: &mut AskContext<'_>,
    ) {
        self.graph.prepare(live, ask.model.world().channel);
        self.beliefs = believing.map(Beliefs::within);
        if let Some(beliefs) = &mut self.beliefs {
            beliefs.close(BTreeSet::from([0]), &mut self.graph, ask);
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
        let beliefs = self.beliefs.as_ref().map_or(0, |beliefs| beliefs.sets.bytes());
        self.graph.bytes() + beliefs
    }

    /// The configurations that it can be in.
    pub(in crate::kernel) fn members(&self, state: u32) -> Vec<ConfigurationId> {
        self.beliefs.as_ref().map_or_else(|| vec![state], |beliefs| beliefs.sets.value(state).to_vec())
    }

    /// The state whose configurations are these.
    pub(super) fn state_of(&mut self, mut members: Vec<ConfigurationId>) -> u32 {
        members.sort_unstable();
        members.dedup();
        self.beliefs.as_mut().map_or(members[0], |beliefs| beliefs.sets.number(members.into()))
    }

    /// The steps of a state.
    pub(in crate::kernel) fn steps(&mut self, state: u32, ask: &mut AskContext<'_>) -> Leads {
        match &mut self.beliefs {
            None => self.graph.steps(state, ask).iter().map(ConfigurationStep::lead).collect(),
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
            return self.graph.arrive(state, sends, ask.model, &ask.mail);
        };
        let members = Arc::clone(beliefs.sets.value(state));
        let mut after = BTreeSet::new();
        for &member in members.iter() {
            after.insert(self.graph.arrive(member, sends, ask.model, &ask.mail)?);
        }
        Some(beliefs.close(after, &mut self.graph, ask))
    }

    /// What is left of a belief if nothing more is sent: the members that owe no step; `None` if there are none.
    pub(in crate::kernel) fn quiescent(&mut self, state: u32, ask: &mut AskContext<'_>) -> Option<u32> {
        let Some(beliefs) = &mut self.beliefs else {
            return self.graph.steps(state, ask).iter().all(|step| !step.goes_on()).then_some(state);
        };
        let members = Arc::clone(beliefs.sets.value(state));
        let still = |member: &&ConfigurationId| {
            beliefs.leads(**member, &mut self.graph, ask).iter().all(|lead| !lead.goes_on())
        };
        let still: Vec<ConfigurationId> = members.iter().filter(still).copied().collect();
        (!still.is_empty()).then(|| beliefs.sets.number(still.into()))
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
        Beliefs { limits, sets: Numbering::default(), steps: HashMap::new(), too_many: false }
    }

    /// The steps of a configuration.
    fn leads(
        &mut self,
        configuration: ConfigurationId,
        graph: &mut ProcessGraph,
        ask: &mut AskContext<'_>,
    ) -> Arc<Leads> {
        let known = self.steps.entry(configuration).or_insert_with(|| {
            Arc::new(graph.steps(configuration, ask).iter().map(ConfigurationStep::lead).collect())
        });
        Arc::clone(known)
    }

    /// The belief with these members and all that they reach without sending.
    fn close(
        &mut self,
        mut members: BTreeSet<ConfigurationId>,
        graph: &mut ProcessGraph,
        ask: &mut AskContext<'_>,
    ) -> u32 {
        let mut waiting: Vec<ConfigurationId> = members.iter().copied().collect();
        while let Some(member) = waiting.pop().filter(|_| !self.too_many) {
            heed();
            let leads = self.leads(member, graph, ask);
            let silent = leads.iter().filter_map(|lead| lead.to).filter(|(_, sends)| *sends == NOTHING);
            waiting.extend(silent.map(|(next, _)| next).filter(|next| members.insert(*next)));
            let BeliefLimits { beliefs_max, members_max } = self.limits;
            self.too_many |= members.len() > members_max || self.sets.len() > beliefs_max;
        }
        self.sets.number(members.into_iter().collect())
    }

    /// One step for each thing that a member can send.
    fn steps(&mut self, state: u32, graph: &mut ProcessGraph, ask: &mut AskContext<'_>) -> Leads {
        let members = Arc::clone(self.sets.value(state));
        let mut after: BTreeMap<SendListId, BTreeSet<ConfigurationId>> = BTreeMap::new();
        let mut panics = false;
        for &member in members.iter() {
            for lead in self.leads(member, graph, ask).iter() {
                match lead.to {
                    Some((next, sends)) if sends != NOTHING => {
                        after.entry(sends).or_default().insert(next);
                    }
                    Some(_) => {}
                    None => panics = true,
                }
            }
        }
        let mut leads: Leads = Vec::new();
        for (sends, next) in after {
            let to = Some((self.close(next, graph, ask), sends));
            leads.push(Lead { to, owed: true });
        }
        leads.extend(panics.then_some(Lead { to: None, owed: true }));
        leads
    }
}
