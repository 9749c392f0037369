//! The kernel: global states and steps as integers.
//!
//! From: DESIGN 1 and ALGORITHMS 2, one level further. There, a process's steps and the effect of arriving
//! messages on its configuration are memoized. Here the same is done for *groups* of processes: processes
//! are the leaves of a binary tree, a state of an inner node is a pair of states of its children, and a
//! node memoizes its steps and the effect of arriving messages exactly as a process does. A global state
//! is then a pair of numbers, one for each half of the system; a global step is one entry of a half's list
//! of steps and, if it sends to the other half, one look-up.
//!
//! PERF: `cargo xtask bench`, Paxos (3,3,1): docs/decisions/0002.
//!
//! Invariant: the numbers of a node name its reachable states one to one, so a pair of numbers *is* the
//! global state, exactly.
//! Held by: testkit/tests/agreement.rs, crates/quorate-zoo/tests/counts.rs.

mod candidates;
mod closure;
mod component;
mod local;
mod mail;
mod options;
mod process;
mod purity;
mod quorums;
mod sleep;
mod split;
mod stable;
mod story;
mod stubborn;
mod symmetry;
mod tree;
mod views;
mod walks;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use crate::base::Numbering;
pub use candidates::CombineBy;
pub(crate) use candidates::{Candidate, Candidates, Within};
pub use closure::ClosureSize;
pub(crate) use closure::{Closure, Level};
use component::Component;
use local::Live;
pub(crate) use local::StepSeen;
use mail::{Mail, Members, NOTHING};
pub(crate) use options::Options;
pub use options::{Mutant, Sleep, Tuning};
use process::{ConfigurationId, ConfigurationStep, Start};
use purity::Purity;
pub use quorums::quorums_among;
use sleep::Rules;
pub(crate) use sleep::{AWAKE, RuleId};
use split::Split;
use stubborn::{Choice, Needs, Stubborn};
use symmetry::Symmetry;
use tree::{BLOCKED, Half, Tree};
pub(crate) use views::Judgement;
use views::Views;

use crate::base::{ProcessId, Value};
use crate::model::{Model, Schedule, ScheduledStep, Sending, Taken};

use crate::reduce::{Reduction, Reductions};
use crate::world::StepKind;

/// A global state: the states of the two halves of the system.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(crate) struct State {
    pub(crate) left: u32,
    pub(crate) right: u32,
}

/// A state, and who sleeps in it because of how it was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Found {
    pub(crate) state: State,
    pub(crate) rule: RuleId,
}

/// What the visited states of a search are made of: the local states of its processes, whatever waits for them.
#[derive(Clone, Debug, Default)]
pub struct Census {
    /// The vectors of local states; of beliefs, every one that their members make.
    pub system_states: HashSet<Vec<Value>>,
    /// Those in which nothing can happen any more.
    pub ends: HashSet<Vec<Value>>,
}

/// Numbers for what the states of a half have in common.
#[derive(Default)]
struct SystemStates {
    numbers: HashMap<u32, u32>,
    locals: Numbering<Vec<u32>>,
}

impl SystemStates {
    fn number(&mut self, state: u32, locals: impl FnOnce() -> Vec<u32>) -> u32 {
        *self.numbers.entry(state).or_insert_with(|| self.locals.number(locals()))
    }
}

/// Every vector with one value from each of these sets.
fn choices(sets: &[HashSet<Value>]) -> Vec<Vec<Value>> {
    sets.iter().fold(vec![Vec::new()], |vectors, set| {
        let longer = |vector: &Vec<Value>| -> Vec<Vec<Value>> {
            set.iter().map(|value| [vector.as_slice(), std::slice::from_ref(value)].concat()).collect()
        };
        vectors.iter().flat_map(longer).collect()
    })
}

/// Where a process is in the end.
struct End {
    configuration: ConfigurationId,
    /// It has a step that panics.
    panics: bool,
}

/// Something that the kernel has not worked out yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unknown {
    Steps(Side, u32),
    Arrival(Side, u32, u32),
    Judgement(State),
    /// Who steps in a state.
    Choice(State),
    /// Which states stand for the successors of a state.
    Representatives(State),
}

/// A half of the system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    Left,
    Right,
}

/// What it takes to run a handler and to name what it sends.
struct Tools<'a, 'm> {
    model: &'m Model,
    mail: &'a mut Mail,
    purity: &'a mut Purity,
}

/// What is known of a model: everything a search needs, once it has been asked for.
pub(crate) struct Kernel<'m> {
    model: &'m Model,
    mail: Mail,
    components: Vec<Component>,
    purity: Purity,
    tree: Tree,
    views: Views,
    rules: Rules,
    reductions: Reductions,
    /// Processes for which beliefs were too many.
    disbelieved: BTreeSet<usize>,
    stubborn: Option<Stubborn>,
    symmetry: Option<Symmetry>,
    mutant: Option<Mutant>,
    /// How much had been seen of the processes when what the reductions rest on was worked out.
    rests_on: usize,
}

impl<'m> Kernel<'m> {
    /// Nothing is known yet. Processes may sleep only in a breadth-first search, and only where steps commute.
    pub(crate) fn new(model: &'m Model, options: &Options, sleep: Sleep) -> Self {
        let mut mail = Mail::new(model.world().channel);
        let components: Vec<Component> = (0..model.processes().len() + model.monitors().len())
            .map(ProcessId::new)
            .map(|id| Component::new(id, Start::of(id, model, &mut mail), model.world().channel))
            .collect();
        let mut reductions = options.reductions.clone();
        if options.copies_max.is_some() {
            // As with sets, it makes a difference whether a message comes before or after an equal one is consumed.
            reductions.which.retain(|reduction| *reduction != Reduction::Stubborn);
        }
        let keeps_steps = reductions.which.iter().all(|reduction| *reduction == Reduction::Inert);
        let commutes = model.commutes() && options.copies_max.is_none();
        let sleep = if commutes && keeps_steps { sleep } else { Sleep::Nobody };
        let tree = Tree::new(&Split::in_order(components.len()));
        let mut kernel = Kernel {
            model,
            mail,
            components,
            purity: Purity::new(model),
            views: Views::new(model, false),
            rules: Rules::new(sleep),
            tree,
            reductions,
            disbelieved: BTreeSet::new(),
            stubborn: None,
            symmetry: None,
            mutant: options.tuning.mutant,
            rests_on: 0,
        };
        for (at, component) in kernel.components.iter_mut().enumerate() {
            component.graph.within = options.within.as_ref().and_then(|within| within.get(at).cloned());
            component.graph.copies_max = options.copies_max.map(|most| most as usize + 1);
        }
        if kernel.rests() && kernel.mutant != Some(Mutant::NoSaturation) {
            kernel.stroll();
        }
        kernel.begin();
        kernel
    }

    /// Do reductions rest on what was seen of the processes?
    fn rests(&self) -> bool {
        self.reductions.has(Reduction::Inert) || self.reductions.has(Reduction::Stubborn)
    }

    /// Has the search seen something that its reductions do not know of? Then it proves nothing yet.
    pub(crate) fn must_begin_again(&self) -> bool {
        self.blown() || self.rests() && self.rests_on != self.seen()
    }

    /// Were there too many beliefs for some process?
    pub(crate) fn blown(&self) -> bool {
        self.components.iter().any(Component::blown)
    }

    fn seen(&self) -> usize {
        self.components.iter().map(|component| component.graph.observed.seen()).sum()
    }

    /// Begins a search, with reductions that rest on all that was seen of the processes so far. What handlers have
    /// answered stays known; numbers of states mean nothing any more.
    pub(crate) fn begin(&mut self) {
        let blown = self.components.iter().enumerate().filter(|(_, component)| component.blown());
        self.disbelieved.extend(blown.map(|(at, _)| at));
        let symmetric = self.reductions.has(Reduction::Symmetry);
        if symmetric && self.mutant != Some(Mutant::NoSaturation) {
            let mut tools = Tools { model: self.model, mail: &mut self.mail, purity: &mut self.purity };
            symmetry::saturate(&mut self.components, &mut tools);
        }
        self.components.iter_mut().for_each(|component| component.graph.certifies_symmetry = symmetric);
        self.rests_on = self.seen();
        let idle = self.reductions.leave_out_idle_steps(self.model);
        self.components.iter_mut().for_each(|component| component.graph.leaves_out_idle_steps = idle);
        let live: Vec<Option<Arc<Live>>> = (0..self.components.len()).map(|at| self.live(at)).collect();
        let believing = self.reductions.has(Reduction::Beliefs);
        let mut tools = Tools { model: self.model, mail: &mut self.mail, purity: &mut self.purity };
        for (at, (component, live)) in self.components.iter_mut().zip(live).enumerate() {
            component.begin(live, believing && !self.disbelieved.contains(&at), &mut tools);
        }
        self.stubborn =
            self.needs().map(|needs| Stubborn::new(needs, &self.components, &self.mail, self.model));
        self.symmetry = symmetric.then(|| Symmetry::new(self.model));
        self.number_anew(&Split::in_order(self.components.len()));
    }

    fn number_anew(&mut self, split: &Split) {
        self.tree = Tree::new(split);
        self.views = Views::new(self.model, self.reductions.has(Reduction::Beliefs));
        if let Some(stubborn) = &mut self.stubborn {
            stubborn.forget_states();
        }
    }

    /// The messages that can still make a difference to a process, if others are left out.
    fn live(&mut self, at: usize) -> Option<Arc<Live>> {
        if !self.reductions.has(Reduction::Inert) || self.model.monitor(ProcessId::new(at)).is_some() {
            return None;
        }
        let mut tools = Tools { model: self.model, mail: &mut self.mail, purity: &mut self.purity };
        let graph = &mut self.components[at].graph;
        let locals = graph.observed.locals();
        let effective = locals
            .into_iter()
            .map(|local| (local, graph.effective(local, &mut tools).into_iter().collect::<BTreeSet<_>>()));
        let effective = effective.collect();
        Some(Arc::new(graph.observed.live(effective)))
    }

    /// How stubborn sets are made, if they are.
    fn needs(&self) -> Option<Needs> {
        if !self.reductions.has(Reduction::Stubborn) {
            return None;
        }
        let visible =
            stable::all_stable(self.model, &self.components) || self.mutant == Some(Mutant::NoVisibility);
        // Arrivals enlarge beliefs instead of commuting with steps: only what stays broken is sure to be found.
        let possible = visible || !self.reductions.has(Reduction::Beliefs);
        let Reductions { split, seeds, .. } = self.reductions;
        possible.then_some(Needs { split, seeds, visible, mutant: self.mutant })
    }

    /// The reductions that are in use: stubborn sets may turn out not to go with beliefs, for properties that may hold
    /// again after they were broken.
    pub(crate) fn in_use(&self) -> Vec<Reduction> {
        let used = |reduction: &Reduction| *reduction != Reduction::Stubborn || self.stubborn.is_some();
        self.reductions.which.iter().copied().filter(used).collect()
    }

    /// Splits the system anew, as the states on random walks suggest. What is known of the processes stays
    /// known; the numbers of global states and of their views mean nothing any more, since the same tree of
    /// views stands for other processes. No walk is longer than `steps_max`; when `enough` says so, with the
    /// bytes in the tables, the walks end.
    pub(crate) fn split_anew(&mut self, steps_max: u32, enough: &mut dyn FnMut(u64) -> bool) {
        let mut sample = self.walk(steps_max, enough);
        sample.sort_unstable();
        sample.dedup();
        let sample: Vec<Vec<u32>> = sample.iter().map(|state| self.vector(*state)).collect();
        self.number_anew(&Split::for_sample(self.components.len(), &sample));
    }

    /// The state in which everything starts.
    pub(crate) fn initial(&self) -> State {
        let (left, right) = self.tree.initial();
        State { left, right }
    }

    /// Calls `successor` for each step of a state that is to be taken, and returns how many steps there are,
    /// asleep or not; of a reduced search, how many are taken. If something is unknown it says what; `successor` may
    /// have been called for some steps then.
    #[inline]
    pub(crate) fn expand(&self, found: Found, successor: impl FnMut(Found)) -> Result<usize, Unknown> {
        if self.stubborn.is_some() || self.symmetry.is_some() {
            return self.expand_reduced(found.state, successor);
        }
        self.expand_awake(found.state, self.rules.asleep(found.rule), successor)
    }

    /// Takes the steps of those who step in a state, and the possibility that they never do, to the states that stand
    /// for what they lead to.
    fn expand_reduced(&self, state: State, mut successor: impl FnMut(Found)) -> Result<usize, Unknown> {
        let reached = self.reached(state)?;
        let taken = reached.len();
        for state in reached {
            let state = match &self.symmetry {
                None => state,
                Some(symmetry) => {
                    let least = symmetry.least(&self.vector(state));
                    let known = least.and_then(|least| self.tree.find(&least));
                    let (left, right) = known.ok_or(Unknown::Representatives(state))?;
                    State { left, right }
                }
            };
            successor(Found { state, rule: AWAKE });
        }
        Ok(taken)
    }

    /// The states that are reached from one, before others stand for them.
    fn reached(&self, state: State) -> Result<Vec<State>, Unknown> {
        let Choice { members, still } = match &self.stubborn {
            Some(stubborn) => stubborn.chosen(state).ok_or(Unknown::Choice(state))?,
            None => Choice { members: Members::NOBODY.others(), still: None },
        };
        let mut reached = Vec::new();
        self.expand_awake(state, members.others(), |found| reached.push(found.state))?;
        reached.extend(still);
        Ok(reached)
    }

    #[inline]
    fn expand_awake(
        &self,
        state: State,
        asleep: Members,
        mut successor: impl FnMut(Found),
    ) -> Result<usize, Unknown> {
        let (left, right) = (self.tree.left(), self.tree.right());
        let own = left.steps(state.left).ok_or(Unknown::Steps(Side::Left, state.left))?;
        let theirs = right.steps(state.right).ok_or(Unknown::Steps(Side::Right, state.right))?;
        let mut blocked = 0;
        if !left.members().all_in(asleep) {
            for step in own.iter().filter(|step| !asleep.contains(step.process)) {
                let other = if step.sends == NOTHING {
                    state.right
                } else {
                    right.arrival(state.right, step.sends).ok_or(Unknown::Arrival(
                        Side::Right,
                        state.right,
                        step.sends,
                    ))?
                };
                if other == BLOCKED {
                    blocked += 1;
                    continue;
                }
                successor(Found { state: State { left: step.next, right: other }, rule: step.rule });
            }
        }
        for step in theirs.iter().filter(|step| !asleep.contains(step.process)) {
            let other = if step.sends == NOTHING {
                state.left
            } else {
                left.arrival(state.left, step.sends).ok_or(Unknown::Arrival(
                    Side::Left,
                    state.left,
                    step.sends,
                ))?
            };
            if other == BLOCKED {
                blocked += 1;
                continue;
            }
            successor(Found { state: State { left: other, right: step.next }, rule: step.rule });
        }
        Ok(own.len() + theirs.len() - blocked)
    }

    /// What the properties say of a state whose steps are known.
    #[inline]
    pub(crate) fn judge(&self, state: State) -> Result<Judgement, Unknown> {
        let (left, right) = (self.tree.left(), self.tree.right());
        let judgement = self.views.judge(left.view(state.left), right.view(state.right));
        let panics = left.panics(state.left) || right.panics(state.right);
        judgement.map(|judgement| judgement.or_panics(panics)).ok_or(Unknown::Judgement(state))
    }

    /// Works out what was unknown. The only place from which handlers run.
    pub(crate) fn learn(&mut self, unknown: Unknown) {
        let mut workshop = tree::Workshop {
            tools: Tools { model: self.model, mail: &mut self.mail, purity: &mut self.purity },
            components: &mut self.components,
            views: &mut self.views,
            rules: &mut self.rules,
        };
        match unknown {
            Unknown::Steps(side, of) => self.tree.learn_steps(side, of, &mut workshop),
            Unknown::Arrival(side, at, sends) => self.tree.learn_arrival(side, at, sends, &mut workshop),
            Unknown::Judgement(state) => {
                let vector = self.tree.configurations(state.left, state.right);
                let views = (self.tree.left().view(state.left), self.tree.right().view(state.right));
                self.views.learn(self.model, &vector, views);
                if self.symmetry.is_some() {
                    self.views.certify_symmetry(self.model, &vector, &self.components);
                }
            }
            Unknown::Choice(state) => self.choose(state),
            Unknown::Representatives(state) => {
                let vector = self.vector(state);
                self.representative(&vector);
            }
        }
    }

    /// Works out who steps in a state.
    fn choose(&mut self, state: State) {
        let vector = self.vector(state);
        let Some(members) = self.stubborn_members(&vector) else { return };
        let everyone = members == Members::NOBODY.others();
        let wanted = !everyone && self.mutant != Some(Mutant::NoQuiescence);
        let still = wanted.then(|| self.stilled(&vector, members)).flatten();
        let still = still.map(|vector| self.number(&vector));
        if let Some(stubborn) = &mut self.stubborn {
            stubborn.remember(state, Choice { members, still });
        }
    }

    /// Who steps in a vector, if not everybody does.
    fn stubborn_members(&mut self, vector: &[u32]) -> Option<Members> {
        let mut tools = Tools { model: self.model, mail: &mut self.mail, purity: &mut self.purity };
        let stubborn = self.stubborn.as_mut()?;
        Some(stubborn.choose(vector, &mut self.components, &mut tools))
    }

    /// The vector in which these processes, whose states are beliefs, never step again; `None` if they must.
    fn stilled(&mut self, vector: &[u32], members: Members) -> Option<Vec<u32>> {
        let mut tools = Tools { model: self.model, mail: &mut self.mail, purity: &mut self.purity };
        let mut stilled = vector.to_vec();
        for at in (0..self.model.processes().len()).filter(|at| members.contains(ProcessId::new(*at))) {
            stilled[at] = self.components[at].quiescent(vector[at], &mut tools)?;
        }
        Some(stilled)
    }

    /// The states of the components in a global state.
    fn vector(&self, state: State) -> Vec<u32> {
        self.tree.configurations(state.left, state.right)
    }

    /// The global state that is a vector.
    fn number(&mut self, vector: &[u32]) -> State {
        let (left, right) = self.tree.number_of(vector);
        State { left, right }
    }

    /// The global state that stands for a vector.
    fn representative(&mut self, vector: &[u32]) -> State {
        let Some(symmetry) = &mut self.symmetry else { return self.number(vector) };
        let mut tools = Tools { model: self.model, mail: &mut self.mail, purity: &mut self.purity };
        symmetry.learn(vector, &mut self.components, &mut tools);
        let least = symmetry.least(vector).expect("learnt before");
        self.number(&least)
    }

    /// A handler or a property that is not the same for processes that are said to be interchangeable.
    pub(crate) fn asymmetric(&self) -> Option<&str> {
        let handler = self.components.iter().find_map(|component| component.graph.asymmetric.as_deref());
        handler.or(self.views.asymmetric())
    }

    /// How many states those stand for that were visited.
    pub(crate) fn orbits(&mut self, states: impl Iterator<Item = State>) -> Option<u64> {
        let initial = self.vector(self.initial());
        let symmetry = self.symmetry.as_mut()?;
        let mut tools = Tools { model: self.model, mail: &mut self.mail, purity: &mut self.purity };
        symmetry.learn(&initial, &mut self.components, &mut tools);
        let symmetry = self.symmetry.as_ref()?;
        states.map(|state| symmetry.orbit_size(self.vector(state))).sum()
    }

    /// The vector after a step of a process; `None` if there is no room for what it sends.
    fn vector_after(&mut self, from: &[u32], process: usize, next: u32, sends: u32) -> Option<Vec<u32>> {
        let mut to = from.to_vec();
        to[process] = next;
        for (at, state) in to.iter_mut().enumerate() {
            let (arriving, _) = self.mail.split_own(sends, ProcessId::new(at));
            if arriving != NOTHING {
                let mut tools = Tools { model: self.model, mail: &mut self.mail, purity: &mut self.purity };
                *state = self.components[at].arrive(*state, arriving, &mut tools)?;
            }
        }
        Some(to)
    }

    /// For each process, a configuration that it can be in, such that together they violate a property; or, of one
    /// of them, that has a step that panics.
    fn ends(&mut self, vector: &[u32], panics: bool) -> Option<Vec<End>> {
        let mut tools = Tools { model: self.model, mail: &mut self.mail, purity: &mut self.purity };
        let first = |at: usize| self.components[at].members(vector[at])[0];
        let mut ends: Vec<End> =
            (0..vector.len()).map(|at| End { configuration: first(at), panics: false }).collect();
        if panics {
            for at in 0..self.model.processes().len() {
                for configuration in self.components[at].members(vector[at]) {
                    let steps = self.components[at].graph.steps(configuration, &mut tools);
                    if steps.iter().any(|step| step.leads.is_none()) {
                        ends[at] = End { configuration, panics: true };
                        return Some(ends);
                    }
                }
            }
            return None;
        }
        let chosen = Views::violating(self.model, vector, &mut self.components, &mut tools)?;
        for (end, configuration) in ends.iter_mut().zip(chosen) {
            end.configuration = configuration;
        }
        Some(ends)
    }

    /// Was a message lost because as many equal ones were waiting as may?
    pub(crate) fn lost_copies(&self) -> bool {
        self.components.iter().any(|component| component.graph.lost_copies)
    }

    /// The handler that was found to answer differently when asked twice.
    pub(crate) fn impure(&self) -> Option<&str> {
        self.purity.impure()
    }

    /// The search has ended: asks some handlers a last time.
    pub(crate) fn conclude(&mut self) {
        self.purity.conclude(self.model);
    }

    /// The steps along a path of states, to the violation in the last one, or to its panicking step. `None` if a
    /// reduced path does not tell.
    pub(crate) fn schedule(&mut self, path: &[State], panics: bool) -> Option<Schedule> {
        self.story(path, panics)
    }

    /// A step of a process, told so that it can be taken again.
    fn scheduled(&self, process: ProcessId, step: ConfigurationStep) -> ScheduledStep {
        let mail = &self.mail;
        let taken = step
            .consumed
            .iter()
            .map(|offer| Taken { envelope: mail.envelope(offer.message).clone(), nth: offer.nth });
        let sent = mail.messages_of(step.sent).iter().filter_map(|message| {
            let (to, body) = (mail.receiver(*message), mail.envelope(*message).body.clone());
            self.model.monitor(to).is_none().then_some(Sending { to, body })
        });
        ScheduledStep {
            process,
            kind: step.kind,
            transition: step.transition,
            consumed: taken.collect(),
            sent: if step.kind == StepKind::Crash { sent.collect() } else { Vec::new() },
            choices: step.choices,
        }
    }

    /// How many steps of a kind the configurations of the processes have.
    pub(crate) fn steps_of(&self, kind: StepKind) -> u64 {
        self.components.iter().map(|component| component.graph.steps_of(kind)).sum()
    }

    /// How many vectors of local states there are among these global states: what is left of a state without
    /// what waits for a process or has happened to it, and without monitors.
    pub(crate) fn system_states(&self, states: impl Iterator<Item = State>) -> u64 {
        let mut seen = HashSet::new();
        let (mut lefts, mut rights) = (SystemStates::default(), SystemStates::default());
        for state in states {
            let left = lefts.number(state.left, || self.locals(self.tree.left(), state.left));
            let right = rights.number(state.right, || self.locals(self.tree.right(), state.right));
            seen.insert((left, right));
        }
        seen.len() as u64
    }

    /// What these global states are made of.
    pub(crate) fn seen_in(&mut self, states: impl Iterator<Item = State>) -> Census {
        let mut seen = Census::default();
        let processes = self.model.processes().len();
        for state in states {
            let vector = self.vector(state);
            let mut tools = Tools { model: self.model, mail: &mut self.mail, purity: &mut self.purity };
            let (mut all, mut still) = (Vec::new(), Vec::new());
            for (component, state) in self.components[..processes].iter_mut().zip(vector) {
                all.push(component.local_values(&component.members(state)));
                let members = component.still_members(state, &mut tools);
                still.push(component.local_values(&members));
            }
            seen.system_states.extend(choices(&all));
            seen.ends.extend(choices(&still));
        }
        seen
    }

    /// The local states of the processes of a half.
    fn locals(&self, half: &Half, state: u32) -> Vec<u32> {
        let mut configurations = vec![None; self.components.len()];
        half.configurations(state, &mut configurations);
        let processes = self.components.iter().zip(configurations).take(self.model.processes().len());
        processes.filter_map(|(process, at)| at.map(|at| process.graph.local(at))).collect()
    }

    /// Distinct local steps and runs of handlers so far.
    pub(crate) fn local_counts(&self) -> (u64, u64) {
        let steps = self.components.iter().map(|component| component.graph.local_steps).sum();
        let calls = self.components.iter().map(|component| component.graph.handler_calls).sum();
        (steps, calls)
    }

    /// How many states of the two halves are known.
    pub(crate) fn sizes(&self) -> (usize, usize) {
        (self.tree.left().size(&self.components), self.tree.right().size(&self.components))
    }

    /// Bytes in the tables.
    pub(crate) fn bytes(&self) -> u64 {
        let processes: u64 = self.components.iter().map(Component::bytes).sum();
        processes + self.mail.bytes() + self.tree.bytes() + self.views.bytes()
    }
}
