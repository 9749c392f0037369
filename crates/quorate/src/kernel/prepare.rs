//! What is known of a model, and how a search with its reductions is prepared.
//!
//! Reductions rely on what was seen of the processes. A search that sees more than its reductions were built on proves
//! nothing: it is prepared and done again, until it sees nothing new.
//! Held by: testkit/tests/reductions.rs, testkit/tests/saturation.rs.

use std::collections::BTreeSet;
use std::fmt;

use super::groups::{GroupOrder, PropertyViews, Tree};
use super::options::{Options, Sleep, Tuning};
use super::process::{AskContext, ProcessGraph, Questions, Start};
use super::reductions::{
    BeliefLimits, Certificate, Needs, Orbits, ProcessStates, SleepSets, Stubborn, Symmetry, Why, all_stable,
    saturate,
};
use super::state::State;
use super::vectors::Vectors;
use crate::base::ProcessId;
use crate::base::{Mutant, Mutants, discard};
use crate::model::Model;
use crate::reduce::{Reduction, Reductions};

/// What is known of a model: everything a search needs, once it has been asked for.
pub(crate) struct Kernel<'m> {
    pub(super) model: &'m Model,
    pub(super) ask: AskContext<'m>,
    pub(super) states_of: Vec<ProcessStates>,
    pub(super) tree: Tree,
    pub(super) vectors: Vectors,
    pub(super) views: PropertyViews,
    /// What exchanging interchangeable processes makes of local states, messages and views.
    pub(super) orbits: Orbits,
    pub(super) sleep_sets: SleepSets,
    pub(super) reductions: Reductions,
    /// The reductions, while a search does without them that may go on with them.
    aside: Option<Reductions>,
    /// Processes for which beliefs were too many.
    pub(super) disbelieved: BTreeSet<usize>,
    pub(super) stubborn: Option<Stubborn>,
    pub(super) symmetry: Option<Symmetry>,
    pub(super) tuning: Tuning,
    /// Whether processes are interchangeable as they are said to be.
    pub(super) certificate: Certificate,
    /// What is not the same for exchanged processes.
    asymmetric: Option<String>,
    /// Why the search does without symmetry, though it was asked for.
    without_symmetry: Option<NoSymmetry>,
    pub(super) mutants: Mutants,
    /// How much had been seen of the processes when the reductions were built.
    pub(super) seen_at_start: usize,
    /// Have there been walks, to see something before the first search?
    walked: bool,
    prepared: bool,
}

/// Why a search does without symmetry, though it was asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum NoSymmetry {
    /// More than so much would have to be compared to be sure of it.
    TooMuch(usize),
    /// This is different for exchanged processes, in steps that a reduction considers and that may never happen.
    Considered(String),
}

impl fmt::Display for NoSymmetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoSymmetry::TooMuch(most) => {
                write!(f, "more than {most} comparisons would show whether processes are interchangeable")
            }
            NoSymmetry::Considered(what) => {
                write!(f, "{what}, in a step that another reduction considers and that may never happen")
            }
        }
    }
}

impl<'m> Kernel<'m> {
    /// Nothing is known yet, and nothing can be searched before it is [prepared](Kernel::prepare). Processes may sleep only in a breadth-first search, and only where steps commute.
    pub(crate) fn new(model: &'m Model, options: &Options, sleep: Sleep) -> Self {
        let mut ask = AskContext::new(model);
        let states_of: Vec<ProcessStates> = (0..model.processes().len() + model.monitors().len())
            .map(ProcessId::new)
            .map(|id| ProcessStates::new(id, Start::of(id, model, &mut ask.mail), model))
            .collect();
        let mut reductions = options.reductions.clone();
        if options.copies_max.is_some() {
            // As with sets, it makes a difference whether a message comes before or after an equal one is consumed.
            reductions.which.retain(|reduction| *reduction != Reduction::Stubborn);
        }
        let keeps_steps = reductions.which.iter().all(|reduction| *reduction == Reduction::Inert);
        let commutes = model.commutes() && options.copies_max.is_none();
        let sleep = if commutes && keeps_steps { sleep } else { Sleep::Nobody };
        let tree = Tree::new(&GroupOrder::in_order(states_of.len()));
        let mut kernel = Kernel {
            model,
            ask,
            states_of,
            views: PropertyViews::new(model, false),
            orbits: Orbits::new(model, reductions.has(Reduction::Symmetry), options.tuning.symmetry_max),
            sleep_sets: SleepSets::new(sleep),
            tree,
            vectors: Vectors::new(0),
            reductions,
            aside: None,
            disbelieved: BTreeSet::new(),
            stubborn: None,
            symmetry: None,
            tuning: options.tuning,
            certificate: Certificate::new(),
            asymmetric: None,
            without_symmetry: None,
            mutants: options.tuning.mutants,
            seen_at_start: 0,
            walked: false,
            prepared: false,
        };
        for (at, states) in kernel.states_of.iter_mut().enumerate() {
            states.graph.allowed_locals =
                options.allowed_locals.as_ref().and_then(|allowed| allowed.get(at).cloned());
            states.graph.use_bits(options.tuning.inbox_bits_max);
            states.graph.copies_max = options.copies_max.map(|most| most as usize + 1);
            states.graph.questions = kernel.reductions.has(Reduction::Symmetry).then(Questions::default);
        }
        kernel
    }

    /// Does without reductions until they are [taken up](Kernel::take_reductions_up), and prepared anew.
    pub(crate) fn set_reductions_aside(&mut self) {
        self.aside = Some(std::mem::take(&mut self.reductions));
    }

    pub(crate) fn take_reductions_up(&mut self) {
        self.reductions = self.aside.take().unwrap_or_default();
    }

    /// Are there reductions that are set aside?
    pub(crate) fn is_plain(&self) -> bool {
        self.aside.is_some()
    }

    /// Gives back what is known, without waiting for it.
    pub(crate) fn discard(self) {
        let Kernel { ask, states_of, tree, vectors, views, orbits, stubborn, symmetry, certificate, .. } =
            self;
        discard((ask.mail, states_of, tree, vectors, views, orbits, stubborn, symmetry, certificate));
    }

    /// Do reductions rely on what was seen of the processes?
    pub(super) fn relies_on_seen(&self) -> bool {
        self.reductions.has(Reduction::Inert) || self.reductions.has(Reduction::Stubborn)
    }

    /// Must the search be done again without a part of its reductions?
    pub(crate) fn gives_up(&self) -> bool {
        self.too_many_beliefs() || self.gives_up_symmetry()
    }

    /// Were there too many beliefs for some process?
    pub(crate) fn too_many_beliefs(&self) -> bool {
        self.states_of.iter().any(ProcessStates::too_many_beliefs)
    }

    /// Must the search be done again without symmetry?
    pub(crate) fn gives_up_symmetry(&self) -> bool {
        self.without_symmetry.is_some() && self.symmetry.is_some()
    }

    /// How much was seen of the processes.
    pub(super) fn seen_count(&self) -> usize {
        self.states_of.iter().map(|states| states.graph.seen.count()).sum()
    }

    /// Prepares a search, with reductions built on all that was seen of the processes so far. Answers of handlers stay
    /// known; numbers of states get another meaning.
    pub(crate) fn prepare(&mut self) {
        let walks = self.relies_on_seen() && !self.mutants.has(Mutant::NoSaturation);
        if walks && !std::mem::replace(&mut self.walked, true) {
            self.sample_local_steps(self.tuning.walks_in_vain);
        }
        let too_many = self.states_of.iter().enumerate().filter(|(_, states)| states.too_many_beliefs());
        self.disbelieved.extend(too_many.map(|(at, _)| at));
        self.disbelieve_the_like();
        if self.without_symmetry.is_some() {
            self.reductions.which.retain(|reduction| *reduction != Reduction::Symmetry);
            self.orbits = Orbits::new(self.model, false, self.tuning.symmetry_max);
            self.states_of.iter_mut().for_each(|states| states.graph.questions = None);
        }
        self.saturate();
        self.seen_at_start = self.seen_count();
        let idle = self.reductions.leave_out_idle_steps(self.model);
        self.states_of.iter_mut().for_each(|states| states.graph.leaves_out_idle_steps = idle);
        let Tuning { beliefs_max, members_max, .. } = self.tuning;
        let limits = BeliefLimits { beliefs_max, members_max };
        let believing = self.reductions.has(Reduction::Beliefs).then_some(limits);
        for (at, states) in self.states_of.iter_mut().enumerate() {
            let believing = believing.filter(|_| !self.disbelieved.contains(&at));
            let leaves_out =
                self.reductions.has(Reduction::Inert) && self.model.monitor(states.graph.id()).is_none();
            states.prepare(leaves_out, believing, &mut self.ask);
        }
        self.stubborn =
            self.needs().map(|needs| Stubborn::new(needs, &self.states_of, &self.ask.mail, self.model));
        self.prepared = true;
        self.symmetry = self.reductions.has(Reduction::Symmetry).then(|| Symmetry::new(self.model));
        self.vectors = Vectors::new(self.states_of.len());
        self.number_anew(&GroupOrder::in_order(self.states_of.len()));
    }

    /// Processes that are exchanged have states of one kind: all of them have beliefs, or none has.
    fn disbelieve_the_like(&mut self) {
        if !self.reductions.has(Reduction::Symmetry) {
            return;
        }
        for group in self.model.symmetry().groups() {
            if group.iter().any(|member| self.disbelieved.contains(&member.index())) {
                self.disbelieved.extend(group.iter().map(|member| member.index()));
            }
        }
    }

    /// The processes and monitors whose beliefs were given up.
    pub(crate) fn disbelieved(&self) -> impl Iterator<Item = ProcessId> {
        self.disbelieved.iter().copied().map(ProcessId::new)
    }

    /// The processes whose inboxes are lists, since there are more messages to them than bits.
    pub(crate) fn with_long_inboxes(&self) -> impl Iterator<Item = ProcessId> {
        let graphs = self.states_of.iter().map(|states| &states.graph);
        graphs.filter(|graph| graph.has_outgrown_bits()).map(ProcessGraph::id)
    }

    fn number_anew(&mut self, order: &GroupOrder) {
        self.tree = Tree::new(order);
        self.views = PropertyViews::new(self.model, self.reductions.has(Reduction::Beliefs));
    }

    /// Notes what was seen of a process for all that it can be exchanged with.
    pub(super) fn saturate(&mut self) {
        if self.reductions.has(Reduction::Symmetry) && !self.mutants.has(Mutant::NoSaturation) {
            saturate(&mut self.orbits.images, &mut self.states_of, &mut self.ask);
        }
    }

    /// How stubborn sets are made, if they are.
    pub(super) fn needs(&self) -> Option<Needs> {
        if !self.reductions.has(Reduction::Stubborn) {
            return None;
        }
        let visible = all_stable(self.model, &self.states_of, self.tuning.stable_max)
            || self.mutants.has(Mutant::NoVisibility);
        // Arrivals enlarge beliefs instead of commuting with steps: only what stays broken is sure to be found.
        let possible = visible || !self.reductions.has(Reduction::Beliefs);
        let Reductions { refinement, seeds, .. } = self.reductions;
        let fewest_steps = self.reductions.has(Reduction::Beliefs);
        possible.then_some(Needs { refinement, seeds, fewest_steps, visible, mutants: self.mutants })
    }

    /// The reductions that are in use: stubborn sets may turn out not to go with beliefs, for properties that may hold
    /// again after they were broken.
    pub(crate) fn in_use(&self) -> Vec<Reduction> {
        let stubborn = self.stubborn.is_some() || !self.prepared;
        let used = |reduction: &Reduction| *reduction != Reduction::Stubborn || stubborn;
        self.reductions.which.iter().copied().filter(used).collect()
    }

    /// Do processes sleep?
    pub(crate) fn uses_sleep_sets(&self) -> bool {
        self.sleep_sets.in_use()
    }

    /// Divides the processes into two groups as the states on random walks suggest. What is known of the processes
    /// stays known; numbers of global states and of their views get another meaning. No walk is longer than
    /// `steps_max`; `enough` is asked with the bytes in the tables, and ends the walks.
    pub(crate) fn split_anew(&mut self, steps_max: u32, enough: &mut dyn FnMut(u64) -> bool) {
        let mut sample = self.sample_states(steps_max, enough);
        sample.sort_unstable();
        sample.dedup();
        let sample: Vec<Vec<u32>> = sample.iter().map(|state| self.vector(*state)).collect();
        self.number_anew(&GroupOrder::for_sample(self.states_of.len(), &sample));
    }

    /// The state in which everything starts.
    pub(crate) fn initial(&self) -> State {
        let (left, right) = self.tree.initial();
        State { left, right }
    }

    /// Compares what the search has met with what it would be with processes exchanged.
    pub(crate) fn check_symmetry(&mut self) {
        self.compare(Why::Met);
    }

    /// Compares what reductions have considered, too: without that, a search that has ended proves nothing.
    pub(crate) fn conclude_symmetry(&mut self) {
        self.compare(Why::Met);
        self.compare(Why::Considered);
    }

    fn compare(&mut self, why: Why) {
        let unneeded = self.symmetry.is_none() || self.mutants.has(Mutant::NoCertificate);
        if unneeded || self.asymmetric.is_some() || self.without_symmetry.is_some() {
            return;
        }
        let most = self.tuning.symmetry_max;
        let Orbits { images, .. } = &mut self.orbits;
        let differs = self.certificate.compare(why, most, images, &mut self.states_of, &mut self.ask);
        let judged = self.views.compare(self.model, &self.orbits, most);
        let compared = self.certificate.size().max(self.views.combinations());
        let images = &self.orbits.images;
        if let Some(value) = images.not_undone() {
            self.asymmetric = Some(format!(
                "renaming ids is not undone by renaming them back, in {value}: mend how it is renamed"
            ));
        } else if images.are_too_many() || compared >= most && differs.is_none() && judged.is_none() {
            self.without_symmetry = Some(NoSymmetry::TooMuch(most));
        } else if why == Why::Considered && judged.is_none() {
            self.without_symmetry = differs.map(NoSymmetry::Considered);
        } else if let Some(differs) = differs {
            let advice = "the role is not symmetric, leave out .symmetric() or mend the handler";
            self.asymmetric = Some(format!("{differs}: {advice}"));
        } else {
            self.asymmetric = judged;
        }
    }

    /// A handler or a property that is not the same for processes that are said to be interchangeable.
    pub(crate) fn asymmetric(&self) -> Option<&str> {
        self.asymmetric.as_deref()
    }

    /// What was compared to be sure of the symmetry, if there is one: local steps, handler runs that only this took,
    /// combinations of views.
    pub(crate) fn symmetry_compared(&self) -> Option<(u64, u64, u64)> {
        let compared = self.certificate.steps() as u64;
        let views = self.views.combinations() as u64;
        self.symmetry.is_some().then_some((compared, self.certificate.handler_calls, views))
    }

    /// Why the search does without symmetry, though it was asked for.
    pub(crate) fn without_symmetry(&self) -> Option<&NoSymmetry> {
        self.without_symmetry.as_ref()
    }

    /// Was a message lost because too many equal ones were waiting?
    pub(crate) fn lost_copies(&self) -> bool {
        self.states_of.iter().any(|states| states.graph.lost_copies)
    }

    /// What answered differently when it was asked twice, and how.
    pub(crate) fn impure(&self) -> Option<&str> {
        self.ask.handlers.impure()
    }

    /// The search has ended: asks some of the user's code a last time.
    pub(crate) fn conclude(&mut self) {
        self.ask.handlers.conclude();
    }
}
