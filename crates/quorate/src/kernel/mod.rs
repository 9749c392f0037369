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

mod mail;
mod process;
mod purity;
mod sleep;
mod split;
mod table;
mod tree;
mod views;

use std::collections::{HashMap, HashSet};

use mail::{Mail, Members, NOTHING};
use process::ProcessGraph;
use purity::Purity;
use sleep::Rules;
pub(crate) use sleep::{AWAKE, RuleId};
use split::{Dice, Split};
use table::Interner;
use tree::{BLOCKED, Half, Tree};
pub(crate) use views::Judgement;
use views::Views;

use crate::engine::Sleep;
use crate::property::Automaton;
use crate::protocol::{Model, Process, ProcessId, Sending};
use crate::verdict::{Schedule, ScheduledStep, Taken};
use crate::world::StepKind;

/// A global state: the states of the two halves of the system.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
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

/// Numbers for what the states of a half have in common.
#[derive(Default)]
struct SystemStates {
    numbers: HashMap<u32, u32>,
    locals: Interner<Vec<u32>>,
}

impl SystemStates {
    fn number(&mut self, state: u32, locals: impl FnOnce() -> Vec<u32>) -> u32 {
        *self.numbers.entry(state).or_insert_with(|| self.locals.number(locals()))
    }
}

/// Something that the kernel has not worked out yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unknown {
    Steps(Side, u32),
    Arrival(Side, u32, u32),
    Judgement(State),
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
    processes: Vec<ProcessGraph>,
    purity: Purity,
    tree: Tree,
    views: Views,
    rules: Rules,
}

impl<'m> Kernel<'m> {
    /// Nothing is known yet. Processes may sleep only in a breadth-first search, and only where steps commute.
    pub(crate) fn new(model: &'m Model, sleep: Sleep) -> Self {
        let initial = model.processes().iter().map(Process::initial);
        let initial = initial.chain(model.monitors().iter().map(Automaton::initial)).cloned();
        let new = |(at, initial)| ProcessGraph::new(ProcessId::new(at), initial);
        let processes: Vec<ProcessGraph> = initial.enumerate().map(new).collect();
        let sleep = if model.commutes() { sleep } else { Sleep::Nobody };
        let tree = Tree::new(&Split::in_order(processes.len()));
        Kernel {
            model,
            mail: Mail::new(model.world().channel),
            processes,
            purity: Purity::new(model),
            views: Views::new(model),
            rules: Rules::new(sleep),
            tree,
        }
    }

    /// Splits the system anew, as the states on random walks suggest. What is known of the processes stays
    /// known; the numbers of global states and of their views mean nothing any more, since the same tree of
    /// views stands for other processes. No walk is longer than `steps_max`; when `enough` says so, with the
    /// bytes in the tables, the walks end.
    pub(crate) fn split_anew(&mut self, steps_max: u32, enough: &mut dyn FnMut(u64) -> bool) {
        let mut sample = self.walk(steps_max, enough);
        sample.sort_unstable();
        sample.dedup();
        let sample: Vec<Vec<u32>> = sample.iter().map(|state| self.configurations(*state)).collect();
        self.tree = Tree::new(&Split::for_sample(self.processes.len(), &sample));
        self.views = Views::new(self.model);
    }

    /// The states on random walks from the start, each until nothing can happen: the same ones every time.
    /// On each walk some processes, chosen at random, move only when the others cannot, so that states in
    /// which somebody lags far behind are seen too.
    fn walk(&mut self, steps_max: u32, enough: &mut dyn FnMut(u64) -> bool) -> Vec<State> {
        let count = split::SAMPLE / self.processes.len();
        let mut dice = Dice::default();
        let (mut states, mut state, mut slow) = (Vec::new(), self.initial(), Members::some(dice.roll()));
        let mut steps = 0;
        while states.len() < count && !(states.len().is_multiple_of(256) && enough(self.bytes())) {
            let mut successors = Vec::new();
            while let Err(unknown) =
                self.expand_awake(state, slow, |successor| successors.push(successor.state))
            {
                self.learn(unknown);
                successors.clear();
            }
            match dice.pick(&successors) {
                Some(next) if steps < steps_max => {
                    states.push(state);
                    state = next;
                    steps += 1;
                }
                None if slow != Members::NOBODY => slow = slow.without(Members::some(dice.roll())),
                _ => (state, slow, steps) = (self.initial(), Members::some(dice.roll()), 0),
            }
        }
        states
    }

    /// The state in which everything starts.
    pub(crate) fn initial(&self) -> State {
        let (left, right) = self.tree.initial();
        State { left, right }
    }

    /// Calls `successor` for each step of a state that is not asleep, and returns how many steps there are,
    /// asleep or not. If something is unknown it says what; `successor` may have been called for some steps
    /// then.
    #[inline]
    pub(crate) fn expand(&self, found: Found, successor: impl FnMut(Found)) -> Result<usize, Unknown> {
        self.expand_awake(found.state, self.rules.asleep(found.rule), successor)
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
            processes: &mut self.processes,
            views: &mut self.views,
            rules: &mut self.rules,
        };
        match unknown {
            Unknown::Steps(side, of) => self.tree.learn_steps(side, of, &mut workshop),
            Unknown::Arrival(side, at, sends) => self.tree.learn_arrival(side, at, sends, &mut workshop),
            Unknown::Judgement(state) => {
                let configurations = self.tree.configurations(state.left, state.right);
                let views = (self.tree.left().view(state.left), self.tree.right().view(state.right));
                self.views.learn(self.model, &self.processes, &configurations, views);
            }
        }
    }

    /// The handler that was found to answer differently when asked twice.
    pub(crate) fn impure(&self) -> Option<&str> {
        self.purity.impure()
    }

    /// The search has ended: asks some handlers a last time.
    pub(crate) fn conclude(&mut self) {
        self.purity.conclude(self.model);
    }

    /// The names of the steps along a path of states, and of the panicking step after it if there is one.
    pub(crate) fn schedule(&mut self, path: &[State], panics: bool) -> Schedule {
        let mut schedule = Schedule::new();
        for pair in path.windows(2) {
            let (from, to) = (self.configurations(pair[0]), self.configurations(pair[1]));
            schedule.push(self.step_between(&from, Some(&to)).expect("a path follows steps"));
        }
        if panics && let Some(last) = path.last() {
            let from = self.configurations(*last);
            schedule.push(self.step_between(&from, None).expect("the last state has a panicking step"));
        }
        schedule
    }

    fn configurations(&self, state: State) -> Vec<u32> {
        self.tree.configurations(state.left, state.right)
    }

    /// The first step that leads from one state to another, or that panics.
    fn step_between(&mut self, from: &[u32], to: Option<&[u32]>) -> Option<ScheduledStep> {
        for process in self.model.ids() {
            let at = process.index();
            let mut tools = Tools { model: self.model, mail: &mut self.mail, purity: &mut self.purity };
            let steps = self.processes[at].steps(from[at], &mut tools);
            for step in steps {
                let fits = match (step.leads, to) {
                    (None, None) => true,
                    (Some((next, sends)), Some(to)) => {
                        self.leads(from, process, next, sends).is_some_and(|reached| reached == to)
                    }
                    _ => false,
                };
                if fits {
                    let mail = &self.mail;
                    let taken = step.consumed.iter().map(|offer| Taken {
                        envelope: mail.envelope(offer.message).clone(),
                        nth: offer.nth,
                    });
                    let sent = mail.messages_of(step.sent).iter().filter_map(|message| {
                        let to = mail.receiver(*message);
                        let body = mail.envelope(*message).body.clone();
                        self.model.monitor(to).is_none().then_some(Sending { to, body })
                    });
                    return Some(ScheduledStep {
                        process,
                        kind: step.kind,
                        transition: step.transition,
                        consumed: taken.collect(),
                        choices: step.choices,
                        sent: if step.kind == StepKind::Crash { sent.collect() } else { Vec::new() },
                    });
                }
            }
        }
        None
    }

    fn leads(&mut self, from: &[u32], process: ProcessId, next: u32, sends: u32) -> Option<Vec<u32>> {
        let mut to = from.to_vec();
        to[process.index()] = next;
        for (at, configuration) in to.iter_mut().enumerate() {
            let (arriving, _) = self.mail.split_own(sends, ProcessId::new(at));
            if arriving != NOTHING {
                *configuration =
                    self.processes[at].arrive(*configuration, arriving, self.model, &self.mail)?;
            }
        }
        Some(to)
    }

    /// How many steps of a kind the configurations of the processes have.
    pub(crate) fn steps_of(&self, kind: StepKind) -> u64 {
        self.processes.iter().map(|process| process.steps_of(kind)).sum()
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

    /// The local states of the processes of a half.
    fn locals(&self, half: &Half, state: u32) -> Vec<u32> {
        let mut configurations = vec![None; self.processes.len()];
        half.configurations(state, &mut configurations);
        let processes = self.processes.iter().zip(configurations).take(self.model.processes().len());
        processes.filter_map(|(process, at)| at.map(|at| process.local(at))).collect()
    }

    /// Distinct local steps and runs of handlers so far.
    pub(crate) fn local_counts(&self) -> (u64, u64) {
        let steps = self.processes.iter().map(|process| process.local_steps).sum();
        let calls = self.processes.iter().map(|process| process.handler_calls).sum();
        (steps, calls)
    }

    /// How many states of the two halves are known.
    pub(crate) fn sizes(&self) -> (usize, usize) {
        (self.tree.left().size(&self.processes), self.tree.right().size(&self.processes))
    }

    /// Bytes in the tables.
    pub(crate) fn bytes(&self) -> u64 {
        let processes: u64 = self.processes.iter().map(ProcessGraph::bytes).sum();
        processes + self.mail.bytes() + self.tree.bytes() + self.views.bytes()
    }
}
