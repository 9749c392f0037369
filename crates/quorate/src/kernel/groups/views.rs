//! What the properties see: observations as numbers, and judgements over them, memoized.
//!
//! A view of a local state is what all properties observe of it; a view of a node is the pair of its
//! children's views. Most steps change no view, so there are few, and the user's predicates run once for
//! each combination. Where states are beliefs, a view is all that may be seen of a process, and a judgement
//! is over every choice of one thing for each.

use std::collections::{BTreeSet, HashMap};

use crate::base::{Numbering, PairMap, ProcessId, Value, heed};
use crate::kernel::process::{AskContext, ConfigurationId, LocalId, ProcessGraph};
use crate::kernel::reductions::ProcessStates;
use crate::model::Model;
use crate::property::{Property, When};

pub(in crate::kernel) type ViewId = u32;

/// What the properties say of a state: which one is broken, if any.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Judgement(u32);

impl Judgement {
    const FINE: Judgement = Judgement(0);
    const ALWAYS: u32 = 1;
    const AT_END: u32 = 2;
    const PANICS: u32 = 4;

    /// Is the state itself a violation?
    #[inline]
    pub(crate) fn broken(self) -> bool {
        self.0 & Self::ALWAYS != 0
    }

    /// Would it be one if nothing could happen any more?
    #[inline]
    pub(crate) fn broken_at_end(self) -> bool {
        self.0 & Self::AT_END != 0
    }

    /// Does a step of the state panic?
    #[inline]
    pub(crate) fn panics(self) -> bool {
        self.0 & Self::PANICS != 0
    }

    #[inline]
    pub(in crate::kernel) fn or_panics(self, panics: bool) -> Self {
        if panics { Judgement(self.0 | Self::PANICS) } else { self }
    }
}

pub(in crate::kernel) struct PropertyViews {
    observed: Numbering<Vec<Option<Value>>>,
    beliefs: Numbering<ObservedState>,
    pairs: Numbering<(ViewId, ViewId)>,
    judgements: PairMap,
    /// For each process, the views of its states.
    of_states: Vec<HashMap<u32, ViewId>>,
    /// Is some state a belief? Then what a state looks like is an [`ObservedState`].
    believing: bool,
    /// A property that is not the same for exchanged processes.
    asymmetric: Option<String>,
}

/// What may be seen of a process: whatever it does, and once it does nothing more.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct ObservedState {
    all: Vec<ViewId>,
    still: Vec<ViewId>,
}

/// This bit is set in views of pairs, and not in views of local states.
const PAIR: ViewId = 1 << 31;

impl PropertyViews {
    /// Are states beliefs?
    pub(in crate::kernel) fn believes(&self) -> bool {
        self.believing
    }

    pub(in crate::kernel) fn new(model: &Model, believing: bool) -> Self {
        let mut observed = Numbering::default();
        observed.number(vec![None; model.properties().len() + 1]);
        let of_states = vec![HashMap::new(); model.processes().len() + model.monitors().len()];
        PropertyViews {
            observed,
            beliefs: Numbering::default(),
            pairs: Numbering::default(),
            judgements: PairMap::default(),
            of_states,
            believing,
            asymmetric: None,
        }
    }

    pub(in crate::kernel) fn asymmetric(&self) -> Option<&str> {
        self.asymmetric.as_deref()
    }

    /// Compares what properties say of a vector of states with what they say when processes are exchanged.
    pub(in crate::kernel) fn certify_symmetry(
        &mut self,
        model: &Model,
        vector: &[u32],
        states_of: &[ProcessStates],
    ) {
        let local = |(states, state): (&ProcessStates, &u32)| {
            states.graph.local_value(states.graph.local(states.members(*state)[0])).clone()
        };
        let locals: Vec<Value> =
            states_of.iter().zip(vector).map(local).take(model.processes().len()).collect();
        for ids in model.symmetry().generators() {
            let mut exchanged = locals.clone();
            for (process, local) in model.ids().zip(&locals) {
                exchanged[ids.of(process).index()] = model.symmetry().rename_state(local, &ids);
            }
            let differs =
                |property: &&Property| property.check(&locals).is_ok() != property.check(&exchanged).is_ok();
            if let Some(property) = model.properties().iter().find(differs) {
                let name = property.name();
                self.asymmetric = Some(format!(
                    "the property '{name}' does not treat processes of a symmetric role alike: leave out .symmetric() or \
                     mend the property"
                ));
            }
        }
    }

    /// The view of nobody: no property sees anything.
    #[expect(clippy::unused_self, reason = "the views decide which number that is")]
    pub(super) fn nobody(&self) -> ViewId {
        0
    }

    /// What is seen of a process in a local state; of a monitor, whether it holds.
    fn of_local(&mut self, model: &Model, process: ProcessId, local: &Value) -> ViewId {
        let monitor = model.monitor(process);
        let observe = |property: &Property| if monitor.is_some() { None } else { property.observe(local) };
        let mut seen: Vec<Option<Value>> = model.properties().iter().map(observe).collect();
        seen.push(monitor.map(|monitor| Value::new(monitor.holds(local))));
        self.observed.number(seen)
    }

    /// What is seen of a process in these configurations.
    fn of_members(
        &mut self,
        process: ProcessId,
        members: &[ConfigurationId],
        graph: &ProcessGraph,
        model: &Model,
    ) -> Vec<ViewId> {
        let locals: BTreeSet<LocalId> = members.iter().map(|member| graph.local(*member)).collect();
        let views = locals.into_iter().map(|local| self.of_local(model, process, graph.local_value(local)));
        views.collect::<BTreeSet<ViewId>>().into_iter().collect()
    }

    /// What is seen of a process in one of its states.
    pub(super) fn of_process(
        &mut self,
        process: ProcessId,
        state: u32,
        states: &mut ProcessStates,
        ask: &mut AskContext<'_>,
    ) -> ViewId {
        let all = self.of_members(process, &states.members(state), &states.graph, ask.model);
        let view = if self.believing {
            let still = states.still_members(state, ask);
            let still = self.of_members(process, &still, &states.graph, ask.model);
            self.beliefs.number(ObservedState { all, still })
        } else {
            all[0]
        };
        self.of_states[process.index()].insert(state, view);
        view
    }

    pub(super) fn of_pair(&mut self, left: ViewId, right: ViewId) -> ViewId {
        self.pairs.number((left, right)) | PAIR
    }

    #[inline]
    pub(in crate::kernel) fn judge(&self, left: ViewId, right: ViewId) -> Option<Judgement> {
        self.judgements.get(left, right).map(Judgement)
    }

    /// Asks the properties about a vector of states, one for each process.
    pub(in crate::kernel) fn learn(
        &mut self,
        model: &Model,
        states: &[u32],
        (left, right): (ViewId, ViewId),
    ) {
        if self.judge(left, right).is_some() {
            return;
        }
        let views = states.iter().zip(&self.of_states).map(|(state, views)| views[state]);
        let observed_states: Vec<ObservedState> = views
            .map(|view| {
                if self.believing {
                    self.beliefs.value(view).clone()
                } else {
                    ObservedState { all: vec![view], still: vec![view] }
                }
            })
            .collect();
        let ends = observed_states.iter().all(|observed| !observed.still.is_empty());
        let mut judgement = Judgement::FINE;
        for (at, property) in model.properties().iter().enumerate() {
            judgement.0 |= match property.when() {
                When::Always if self.may_break(at, property, &observed_states, |observed| &observed.all) => {
                    Judgement::ALWAYS
                }
                When::AtEnd
                    if ends && self.may_break(at, property, &observed_states, |observed| &observed.still) =>
                {
                    // Where states are beliefs, their members without steps are an end as they are.
                    if self.believing { Judgement::ALWAYS } else { Judgement::AT_END }
                }
                _ => 0,
            };
        }
        let wrong = Value::new(false);
        let broken = |view: &ViewId| self.observed.value(*view).last() == Some(&Some(wrong.clone()));
        if observed_states.iter().flat_map(|observed| &observed.all).any(broken) {
            judgement.0 |= Judgement::ALWAYS;
        }
        self.judgements.insert(left, right, judgement.0);
    }

    /// Is there a choice of views, one for each process, for which a property does not hold?
    fn may_break(
        &self,
        at: usize,
        property: &Property,
        observed_states: &[ObservedState],
        side: impl Fn(&ObservedState) -> &Vec<ViewId>,
    ) -> bool {
        let seen = |observed: &ObservedState| -> Vec<&Value> {
            let mut seen: Vec<&Value> = Vec::new();
            for value in side(observed).iter().filter_map(|view| self.observed.value(*view)[at].as_ref()) {
                if !seen.contains(&value) {
                    seen.push(value);
                }
            }
            seen
        };
        let choices: Vec<Vec<&Value>> =
            observed_states.iter().map(seen).filter(|seen| !seen.is_empty()).collect();
        some_choice(&choices, &mut Vec::new(), &|chosen| !property.holds(chosen))
    }

    /// Of a vector of states that violates a property, a configuration for each process that shows it.
    pub(in crate::kernel) fn violating(
        model: &Model,
        vector: &[u32],
        states_of: &mut [ProcessStates],
        ask: &mut AskContext<'_>,
    ) -> Option<Vec<ConfigurationId>> {
        let all: Vec<Vec<ConfigurationId>> =
            states_of.iter().zip(vector).map(|(states, state)| states.members(*state)).collect();
        // Without beliefs there is nothing to choose; and where steps may have to wait for room, a process does not
        // know by itself that the run has ended.
        if states_of.iter().all(|states| !states.believes()) {
            return Some(all.into_iter().flatten().collect());
        }
        let still = states_of.iter_mut().zip(vector).map(|(states, at)| states.still_members(*at, ask));
        let still: Vec<Vec<ConfigurationId>> = still.collect();
        let graphs: Vec<&ProcessGraph> = states_of.iter().map(|states| &states.graph).collect();
        let local = |at: usize, member: ConfigurationId| graphs[at].local_value(graphs[at].local(member));
        for property in model.properties() {
            let members = if property.when() == When::AtEnd { &still } else { &all };
            // One member for each thing that the property may see.
            let mut seen: Vec<Vec<(Option<Value>, ConfigurationId)>> = Vec::new();
            for (at, members) in members.iter().enumerate() {
                let mut shown: Vec<(Option<Value>, ConfigurationId)> = Vec::new();
                for &member in members {
                    let value =
                        if at < model.processes().len() { property.observe(local(at, member)) } else { None };
                    if shown.iter().all(|(known, _)| *known != value) {
                        shown.push((value, member));
                    }
                }
                seen.push(shown);
            }
            let mut chosen = Vec::new();
            if members.iter().all(|members| !members.is_empty())
                && choose_broken(&seen, property, &mut chosen)
            {
                return Some(chosen.into_iter().map(|(_, member)| *member).collect());
            }
        }
        let mut chosen: Vec<ConfigurationId> = all.iter().map(|members| members[0]).collect();
        let mut monitors = model.monitors().iter().enumerate();
        let (at, broken) = monitors.find_map(|(monitor, automaton)| {
            let at = model.processes().len() + monitor;
            let broken = all[at].iter().find(|member| !automaton.holds(local(at, **member)));
            broken.map(|member| (at, *member))
        })?;
        chosen[at] = broken;
        Some(chosen)
    }

    pub(in crate::kernel) fn bytes(&self) -> u64 {
        self.observed.bytes() + self.pairs.bytes() + self.judgements.bytes() + self.beliefs.bytes()
    }
}

/// Does a condition hold for some choice of one value from each list?
fn some_choice<'v>(
    choices: &[Vec<&'v Value>],
    chosen: &mut Vec<&'v Value>,
    condition: &impl Fn(&[&Value]) -> bool,
) -> bool {
    heed();
    let Some(values) = choices.get(chosen.len()) else { return condition(chosen) };
    values.iter().any(|value| {
        chosen.push(value);
        let found = some_choice(choices, chosen, condition);
        chosen.pop();
        found
    })
}

/// Chooses from each list something that a process shows, such that a property does not hold.
fn choose_broken<'s>(
    seen: &'s [Vec<(Option<Value>, ConfigurationId)>],
    property: &Property,
    chosen: &mut Vec<&'s (Option<Value>, ConfigurationId)>,
) -> bool {
    heed();
    let Some(shown) = seen.get(chosen.len()) else {
        let values: Vec<&Value> = chosen.iter().filter_map(|(value, _)| value.as_ref()).collect();
        return !property.holds(&values);
    };
    shown.iter().any(|show| {
        chosen.push(show);
        let found = choose_broken(seen, property, chosen);
        if !found {
            chosen.pop();
        }
        found
    })
}
