//! What the properties see: views as numbers, and judgements over them, memoized.
//!
//! A view of a local state is what all properties observe of it (`reductions/orbits.rs`); a view of a node is the pair of
//! its children's views. Most steps change no view, so there are few, and the user's predicates run once for
//! each combination. Where states are beliefs, a view is all that may be seen of a process, and a judgement
//! is over every choice of one thing for each.
//!
//! Where processes are interchangeable, every combination that is judged is compared with all that exchanges make of it:
//! docs/theory/symmetry.md 4.

use std::collections::{BTreeSet, HashMap};

use crate::base::{Numbering, PairMap, ProcessId, Value, heed};
use crate::kernel::process::{AskContext, ConfigurationId, LocalId, ProcessGraph};
use crate::kernel::reductions::{Orbits, ProcessStates, ViewId};
use crate::model::Model;
use crate::property::{Property, When};

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
    beliefs: Numbering<ObservedState>,
    pairs: Numbering<(ViewId, ViewId)>,
    judgements: PairMap,
    /// For each process, the views of its states.
    of_states: Vec<HashMap<u32, ViewId>>,
    /// Is some state a belief? Then what a state looks like is an [`ObservedState`].
    believing: bool,
    /// Combinations of views, one for each process, that were judged or are to be, with the properties that they break.
    judged: Numbering<Box<[ViewId]>>,
    broken: Vec<Broken>,
    /// How many of them were compared with their images.
    compared: usize,
    /// For each exchange, the images of views that are beliefs.
    belief_images: Vec<HashMap<ViewId, ViewId>>,
}

/// For each property, whether it is broken.
type Broken = Box<[bool]>;

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
        PropertyViews {
            beliefs: Numbering::default(),
            pairs: Numbering::default(),
            judgements: PairMap::default(),
            of_states: vec![HashMap::new(); model.processes().len() + model.monitors().len()],
            believing,
            judged: Numbering::default(),
            broken: Vec::new(),
            compared: 0,
            belief_images: Vec::new(),
        }
    }

    /// Compares what properties say of the combinations that were judged since the last time with what they say when
    /// processes are exchanged; whatever exchanges make of these is compared in turn. Says which property differs, if
    /// one does. Ends early if there are more than `most` combinations.
    pub(in crate::kernel) fn compare(
        &mut self,
        model: &Model,
        orbits: &Orbits,
        most: usize,
    ) -> Option<String> {
        while self.compared < self.judged.len().min(most) {
            heed();
            let views = self.judged.values()[self.compared].clone();
            for exchange in 0..orbits.images.count() {
                let mut image = views.clone();
                for (process, view) in views.iter().enumerate() {
                    let place = orbits.images.place(exchange, process);
                    image[place] = self.image(exchange, *view, orbits);
                }
                let there = self.judge_views(model, image, orbits);
                let (here, there) = (&self.broken[self.compared], &self.broken[there]);
                if let Some(at) = here.iter().zip(there).position(|(here, there)| here != there) {
                    return Some(format!(
                        "the property '{}' does not treat processes of a symmetric role alike: leave out .symmetric() \
                         or mend the property",
                        model.properties()[at].name()
                    ));
                }
            }
            self.compared += 1;
        }
        None
    }

    /// How many combinations of views were judged, or are to be compared.
    pub(in crate::kernel) fn combinations(&self) -> usize {
        self.judged.len()
    }

    /// What an exchange makes of what is seen of a process.
    fn image(&mut self, exchange: usize, view: ViewId, orbits: &Orbits) -> ViewId {
        if !self.believing {
            return orbits.image_of_view(exchange, view);
        }
        if self.belief_images.len() <= exchange {
            self.belief_images.resize(exchange + 1, HashMap::new());
        }
        if let Some(known) = self.belief_images[exchange].get(&view) {
            return *known;
        }
        let images = |views: &[ViewId]| -> Vec<ViewId> {
            let images: BTreeSet<ViewId> =
                views.iter().map(|view| orbits.image_of_view(exchange, *view)).collect();
            images.into_iter().collect()
        };
        let ObservedState { all, still } = self.beliefs.value(view);
        let image = ObservedState { all: images(all), still: images(still) };
        let image = self.beliefs.number(image);
        self.belief_images[exchange].insert(view, image);
        image
    }

    /// The view of nobody: no property sees anything.
    #[expect(clippy::unused_self, reason = "the views decide which number that is")]
    pub(super) fn nobody(&self) -> ViewId {
        Orbits::NOTHING
    }

    /// What is seen of a process in these configurations.
    fn of_members(
        process: ProcessId,
        members: &[ConfigurationId],
        states_of: &mut [ProcessStates],
        orbits: &mut Orbits,
        ask: &AskContext<'_>,
    ) -> Vec<ViewId> {
        let graph = &states_of[process.index()].graph;
        let locals: BTreeSet<LocalId> = members.iter().map(|member| graph.local(*member)).collect();
        let views = locals.into_iter().map(|local| orbits.view(process.index(), local, states_of, ask));
        views.collect::<BTreeSet<ViewId>>().into_iter().collect()
    }

    /// What is seen of a process in one of its states.
    pub(in crate::kernel) fn of_process(
        &mut self,
        process: ProcessId,
        state: u32,
        states_of: &mut [ProcessStates],
        orbits: &mut Orbits,
        ask: &mut AskContext<'_>,
    ) -> ViewId {
        let members = states_of[process.index()].members(state);
        let all = Self::of_members(process, &members, states_of, orbits, ask);
        if self.believing {
            let still = states_of[process.index()].still_members(state, ask);
            let still = Self::of_members(process, &still, states_of, orbits, ask);
            self.beliefs.number(ObservedState { all, still })
        } else {
            all[0]
        }
    }

    /// Keeps what is seen of a process in one of its states, for [`PropertyViews::learn`].
    pub(super) fn keep(&mut self, process: ProcessId, state: u32, view: ViewId) {
        self.of_states[process.index()].insert(state, view);
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
        orbits: &Orbits,
    ) {
        if self.judge(left, right).is_some() {
            return;
        }
        let views: Vec<ViewId> =
            states.iter().zip(&self.of_states).map(|(state, views)| views[state]).collect();
        let judgement = self.judgement(model, &views, orbits);
        self.judgements.insert(left, right, judgement.0);
    }

    /// What the properties say of a combination of views, one for each process and monitor.
    pub(in crate::kernel) fn judgement(
        &mut self,
        model: &Model,
        views: &[ViewId],
        orbits: &Orbits,
    ) -> Judgement {
        let mut judgement = Judgement::FINE;
        let broken = if orbits.images.count() > 0 {
            let at = self.judge_views(model, views.into(), orbits);
            self.broken[at].clone()
        } else {
            self.broken_by(model, views, orbits)
        };
        for (property, broken) in model.properties().iter().zip(broken) {
            judgement.0 |= match property.when() {
                _ if !broken => 0,
                When::Always => Judgement::ALWAYS,
                // Where states are beliefs, their members without steps are an end as they are.
                When::AtEnd if self.believing => Judgement::ALWAYS,
                When::AtEnd => Judgement::AT_END,
            };
        }
        let wrong = Value::new(false);
        let is_wrong = |view: &ViewId| orbits.observed(*view).last() == Some(&Some(wrong.clone()));
        if views.iter().any(|view| self.observed_state(*view).all.iter().any(is_wrong)) {
            judgement.0 |= Judgement::ALWAYS;
        }
        judgement
    }

    /// Judges a combination of views, to be compared with its images; says where it is among the others.
    fn judge_views(&mut self, model: &Model, views: Box<[ViewId]>, orbits: &Orbits) -> usize {
        if let Some(known) = self.judged.find(&views) {
            return known as usize;
        }
        // A sign to stop may end this: a combination has a number once it is judged.
        let broken = self.broken_by(model, &views, orbits);
        self.broken.push(broken);
        self.judged.number(views) as usize
    }

    /// Which properties a combination of views breaks, those that look at ends as if it were one.
    fn broken_by(&self, model: &Model, views: &[ViewId], orbits: &Orbits) -> Broken {
        let states: Vec<ObservedState> = views.iter().map(|view| self.observed_state(*view)).collect();
        let ends = states.iter().all(|observed| !observed.still.is_empty());
        let broken = |(at, property): (usize, &Property)| match property.when() {
            When::Always => may_break(at, property, &states, orbits, |observed| &observed.all),
            When::AtEnd => ends && may_break(at, property, &states, orbits, |observed| &observed.still),
        };
        model.properties().iter().enumerate().map(broken).collect()
    }

    /// What may be seen of a process that looks like this.
    fn observed_state(&self, view: ViewId) -> ObservedState {
        if self.believing {
            return self.beliefs.value(view).clone();
        }
        ObservedState { all: vec![view], still: vec![view] }
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
        self.pairs.bytes() + self.judgements.bytes() + self.beliefs.bytes() + self.judged.bytes()
    }
}

/// Is there a choice of views, one for each process, for which a property does not hold?
fn may_break(
    at: usize,
    property: &Property,
    observed_states: &[ObservedState],
    orbits: &Orbits,
    side: impl Fn(&ObservedState) -> &Vec<ViewId>,
) -> bool {
    let seen = |observed: &ObservedState| -> Vec<&Value> {
        let mut seen: Vec<&Value> = Vec::new();
        for value in side(observed).iter().filter_map(|view| orbits.observed(*view)[at].as_ref()) {
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
