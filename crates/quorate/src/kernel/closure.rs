//! The local closure: every local state of a process that could be reached if no message were ever gone, and the steps
//! between them. It contains every local step of every run, and needs no search over global states.
//!
//! From: Yabandeh and Guerraoui, Local Model Checking (OSDI 2010), section 4; ALGORITHMS 5.1. There a message that was
//! sent once can be received in any local state (level [`Level::Loose`]), which on a finite system may go on for ever:
//! a counter that counts one message again and again. So precision is raised, process by process, where that happens:
//! a message is not consumed more often than its sender can send it, on all ways to a local state
//! ([`Level::Least`]) or on the one way that leads there ([`Level::Exact`], where what was consumed is a part of the
//! node). All three contain every step of every run: how often a message can be sent is taken from the sender's graph
//! itself, which only grows.
//! Differs: no state is discarded and nothing that was consumed is forgotten; the six shortcuts of the paper that lose
//! violations are in `engine/published.rs`.
//! Invariant: when [`Closure::complete`], each local step of each run is an edge.
//! Held by: testkit/tests/local.rs.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::mail::{Mail, MessageId, SendsId};
use super::process::{INITIAL, LocalId, LocalStep, Possibility, ProcessGraph, Start};
use super::purity::Purity;
use super::table::Interner;
use super::{NOTHING, Tools};
use crate::engine::{Mutant, Tuning};
use crate::protocol::{Model, ProcessId, Trigger, Value};
use crate::world::Channel;

/// How closely what a process has consumed is followed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Level {
    /// Not at all.
    Loose,
    /// How often, at least, on every way to a local state.
    Least,
    /// Exactly.
    Exact,
}

/// Messages and how many of each, in order.
type Bag = BTreeMap<MessageId, u32>;

/// A local state as far as the closure tells them apart.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Node {
    local: LocalId,
    restarts: u8,
    /// What was consumed on the way, where that is followed exactly.
    consumed: Option<Arc<Bag>>,
}

/// A step between nodes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Edge {
    pub(super) from: u32,
    /// Nowhere if it panics.
    pub(super) to: Option<u32>,
    pub(super) consumed: Vec<MessageId>,
    pub(super) sent: SendsId,
    /// Does it happen by itself, without a message?
    pub(super) by_itself: bool,
}

/// What a local state can do with the messages that were tried on it; none were at first.
#[derive(Default)]
struct Tried {
    messages: Option<usize>,
    possibilities: Vec<Possibility>,
}

/// What is known of a node.
#[derive(Default)]
struct Progress {
    /// How many of the possibilities of its local state were looked at, and which of these had to wait.
    seen: usize,
    waiting: Vec<usize>,
    restarted: bool,
    /// What was consumed on all ways to it.
    least: Bag,
    /// How few steps by themselves lead to it.
    events: u32,
}

/// The closure of one process.
pub(super) struct ProcessClosure {
    graph: ProcessGraph,
    level: Level,
    nodes: Interner<Node>,
    pub(super) edges: Vec<Edge>,
    known: HashSet<Edge>,
    /// Every message that was ever sent to the process, in the order of discovery.
    messages: Vec<MessageId>,
    tried: HashMap<LocalId, Tried>,
    progress: Vec<Progress>,
    /// How many of the edges have had their messages delivered.
    delivered: usize,
}

/// The closures of all processes.
pub(crate) struct Closure<'m> {
    model: &'m Model,
    pub(super) mail: Mail,
    purity: Purity,
    pub(super) processes: Vec<ProcessClosure>,
    heard: HashSet<MessageId>,
    pub(super) tuning: Tuning,
    /// At most so many steps of a process by itself.
    events_max: Option<u32>,
    /// Why the closure is not there, if it is not.
    gave_up: Option<GaveUp>,
}

/// Why there is no closure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum GaveUp {
    /// It went on and on, however closely this process was followed.
    Diverged(ProcessId),
    /// What a process would do with messages that may never reach it cannot be told.
    CannotTell(ProcessId),
    /// There was no time for it.
    Stopped,
}

/// How much there is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClosureSize {
    /// Local states of all processes.
    pub local_states: u64,
    /// Messages that could be sent.
    pub messages: u64,
    /// Local steps.
    pub steps: u64,
}

impl ProcessClosure {
    fn new(id: ProcessId, model: &Model, mail: &mut Mail) -> Self {
        let mut closure = ProcessClosure {
            graph: ProcessGraph::new(id, Start::of(id, model, mail), model.world().channel),
            level: Level::Loose,
            nodes: Interner::default(),
            edges: Vec::new(),
            known: HashSet::new(),
            messages: Vec::new(),
            tried: HashMap::new(),
            progress: Vec::new(),
            delivered: 0,
        };
        closure.begin(Level::Loose);
        closure
    }

    /// Starts anew. What handlers have answered stays known.
    fn begin(&mut self, level: Level) {
        self.level = level;
        self.nodes = Interner::default();
        self.edges.clear();
        self.known.clear();
        self.messages = self.graph.start().messages().collect::<BTreeSet<MessageId>>().into_iter().collect();
        self.tried.clear();
        self.progress.clear();
        self.delivered = 0;
        let consumed = (level == Level::Exact).then(Arc::default);
        let restarts = self.graph.start().past.restarts;
        self.node(Node { local: INITIAL, restarts, consumed }, Bag::new(), 0);
    }

    fn node(&mut self, node: Node, least: Bag, events: u32) -> u32 {
        let number = self.nodes.number(node);
        if number as usize == self.progress.len() {
            self.progress.push(Progress { least, events, ..Progress::default() });
        }
        number
    }

    pub(super) fn size(&self) -> usize {
        self.nodes.len()
    }

    /// Is there something that it could do by itself, and was left out?
    fn leaves_out(&self, model: &Model) -> bool {
        let transitions = model.process(self.graph.id()).transitions();
        self.progress.iter().enumerate().any(|(node, progress)| {
            let local = self.nodes.value(u32::try_from(node).unwrap_or(u32::MAX)).local;
            let by_itself = |possibility: &usize| {
                let transition = self.tried[&local].possibilities[*possibility].transition;
                *transitions[transition].trigger() == Trigger::Internal
            };
            progress.waiting.iter().any(by_itself)
        })
    }

    pub(super) fn local(&self, node: u32) -> LocalId {
        self.nodes.value(node).local
    }

    pub(super) fn local_value(&self, node: u32) -> &Value {
        self.graph.local_value(self.local(node))
    }

    /// May a node consume this, given how often each message can be there?
    fn may_consume(&self, node: u32, consumed: &[MessageId], supply: &Supplies) -> bool {
        let spent = match (self.level, &self.nodes.value(node).consumed) {
            (Level::Loose, _) => return true,
            (_, Some(consumed)) => &**consumed,
            (_, None) => &self.progress[node as usize].least,
        };
        consumed.iter().all(|message| match supply.of(*message) {
            Supply::Times(times) => spent.get(message).copied().unwrap_or(0) < times,
            Supply::Always => true,
        })
    }

    /// Brings down what was consumed on all ways, where a new way consumes less.
    fn relax(&mut self) {
        let mut changed = self.level == Level::Least;
        while std::mem::take(&mut changed) {
            for edge in &self.edges {
                let Some(to) = edge.to.filter(|to| *to != edge.from) else { continue };
                let spent = with(&self.progress[edge.from as usize].least, &edge.consumed);
                let least = &mut self.progress[to as usize].least;
                let before = least.clone();
                least.retain(|message, _| spent.contains_key(message));
                for (message, times) in least.iter_mut() {
                    *times = (*times).min(spent[message]);
                }
                changed |= *least != before;
            }
        }
    }

    /// Brings down how few steps by themselves lead to a node, where a new way needs fewer.
    fn count_events(&mut self) {
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for edge in &self.edges {
                let Some(to) = edge.to else { continue };
                let events = self.progress[edge.from as usize].events + u32::from(edge.by_itself);
                let known = &mut self.progress[to as usize].events;
                changed |= events < *known;
                *known = events.min(*known);
            }
        }
    }
}

/// A bag with some messages more.
fn with(bag: &Bag, messages: &[MessageId]) -> Bag {
    let mut bag = bag.clone();
    for message in messages {
        *bag.entry(*message).or_default() += 1;
    }
    bag
}

/// How often a message can be there to be consumed, in all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Supply {
    Times(u32),
    Always,
}

/// How often messages can be there.
struct Supplies {
    /// `None` if any message can be there any number of times.
    limited: Option<HashMap<MessageId, Supply>>,
}

impl Supplies {
    /// Nobody is known to send a message that is not named.
    fn of(&self, message: MessageId) -> Supply {
        let Some(limited) = &self.limited else { return Supply::Always };
        limited.get(&message).copied().unwrap_or(Supply::Times(0))
    }
}

impl<'m> Closure<'m> {
    /// Nothing is known yet.
    pub(crate) fn new(model: &'m Model, tuning: Tuning) -> Self {
        let mut mail = Mail::new(model.world().channel);
        let processes = model.ids().map(|process| ProcessClosure::new(process, model, &mut mail)).collect();
        Closure {
            model,
            mail,
            purity: Purity::new(model),
            processes,
            heard: HashSet::new(),
            tuning,
            events_max: None,
            gave_up: None,
        }
    }

    /// Closes it, with so many steps of each process by itself. What handlers have answered stays known. `enough` is
    /// asked now and then, with the bytes in the tables, and ends it.
    pub(crate) fn close(&mut self, events_max: Option<u32>, enough: &mut dyn FnMut(u64) -> bool) {
        self.events_max = events_max;
        let mut levels = vec![Level::Loose; self.processes.len()];
        if self.tuning.mutant == Some(Mutant::ConsumedOnce) {
            levels.fill(Level::Exact);
        }
        loop {
            for (process, level) in self.processes.iter_mut().zip(&levels) {
                process.begin(*level);
            }
            self.heard = self.processes.iter().flat_map(|process| process.messages.iter().copied()).collect();
            self.gave_up = self.attempt(enough).err();
            let Some(GaveUp::Diverged(process)) = self.gave_up else { return };
            // If following one process closely is not enough, it hears too much from others.
            match levels[process.index()] {
                Level::Exact if levels.iter().all(|level| *level == Level::Exact) => return,
                Level::Exact => levels.fill(Level::Exact),
                Level::Least => levels[process.index()] = Level::Exact,
                Level::Loose => levels[process.index()] = Level::Least,
            }
        }
    }

    /// Goes on until nothing is new.
    fn attempt(&mut self, enough: &mut dyn FnMut(u64) -> bool) -> Result<(), GaveUp> {
        let mut grown = true;
        while std::mem::take(&mut grown) {
            if enough(self.bytes()) {
                return Err(GaveUp::Stopped);
            }
            let supply = self.supply();
            for at in 0..self.processes.len() {
                grown |= self.extend(at, &supply)?;
            }
        }
        Ok(())
    }

    /// Follows all possibilities of a process that have not been followed. Says whether there were any.
    fn extend(&mut self, at: usize, supply: &Supplies) -> Result<bool, GaveUp> {
        let (nodes, edges) = (self.processes[at].size(), self.processes[at].edges.len());
        let mut node = 0;
        while node < self.processes[at].size() {
            self.follow(at, u32::try_from(node).expect("few nodes"), supply)?;
            node += 1;
            let process = &self.processes[at];
            let nodes_max = self.tuning.closure_max;
            if process.size() > nodes_max || process.edges.len() > 16 * nodes_max {
                return Err(GaveUp::Diverged(ProcessId::new(at)));
            }
        }
        let process = &mut self.processes[at];
        process.relax();
        if self.events_max.is_some() {
            process.count_events();
        }
        Ok((nodes, edges) != (process.size(), process.edges.len()))
    }

    /// Follows the possibilities of a node that have not been followed.
    fn follow(&mut self, at: usize, node: u32, supply: &Supplies) -> Result<(), GaveUp> {
        let (id, place) = (ProcessId::new(at), node as usize);
        let process = &mut self.processes[at];
        if process.graph.start().past.crashed {
            return Ok(());
        }
        let Node { local, restarts, consumed: spent } = process.nodes.value(node).clone();
        let tried = process.tried.entry(local).or_default();
        if tried.messages != Some(process.messages.len()) {
            let mut tools = Tools { model: self.model, mail: &mut self.mail, purity: &mut self.purity };
            let found = process.graph.possibilities(local, &process.messages, tried.messages, &mut tools);
            tried.possibilities.extend(found.map_err(|_| GaveUp::CannotTell(id))?);
            tried.messages = Some(process.messages.len());
        }
        let mut turn = std::mem::take(&mut process.progress[place].waiting);
        turn.extend(process.progress[place].seen..tried.possibilities.len());
        process.progress[place].seen = tried.possibilities.len();
        let mut leads: Vec<(Option<Node>, Vec<MessageId>, SendsId, bool)> = Vec::new();
        for possibility in turn {
            let Possibility { transition, consumed, outcomes } =
                process.tried[&local].possibilities[possibility].clone();
            let by_itself = *self.model.process(id).transitions()[transition].trigger() == Trigger::Internal;
            let events = process.progress[place].events;
            let cut = by_itself && self.events_max.is_some_and(|max| events >= max);
            if cut || !process.may_consume(node, &consumed, supply) {
                process.progress[place].waiting.push(possibility);
                continue;
            }
            for outcome in outcomes.iter() {
                let (to, sends) = match outcome {
                    LocalStep::Panicked { .. } => (None, NOTHING),
                    LocalStep::Done { local, sends, .. } => {
                        let consumed = spent.as_ref().map(|spent| Arc::new(with(spent, &consumed)));
                        (Some(Node { local: *local, restarts, consumed }), *sends)
                    }
                };
                leads.push((to, consumed.clone(), sends, by_itself));
            }
        }
        let restarted = std::mem::replace(&mut process.progress[place].restarted, true);
        if !restarted && restarts < self.model.exposure(id).restarts {
            let state = self.model.restarted(id, process.graph.local_value(local)).ok();
            let local = state.map(|state| process.graph.number_local(state));
            let node = local.map(|local| Node { local, restarts: restarts + 1, consumed: spent });
            leads.push((node, Vec::new(), NOTHING, false));
        }
        for (to, consumed, sent, by_itself) in leads {
            let least = with(&process.progress[place].least, &consumed);
            let events = process.progress[place].events + u32::from(by_itself);
            let to = to.map(|to| process.node(to, least, events));
            let edge = Edge { from: node, to, consumed, sent, by_itself };
            if process.known.insert(edge.clone()) {
                process.edges.push(edge);
            }
        }
        self.deliver(at);
        Ok(())
    }

    /// What new steps of a process send can be consumed by those who hear it, for ever.
    fn deliver(&mut self, at: usize) {
        let sent: Vec<SendsId> =
            self.processes[at].edges[self.processes[at].delivered..].iter().map(|edge| edge.sent).collect();
        self.processes[at].delivered += sent.len();
        for sent in sent {
            for &message in self.mail.messages_of(sent) {
                let to = self.mail.receiver(message);
                let new = self.model.monitor(to).is_none() && self.heard.insert(message);
                if new && !self.at_any_time(message) {
                    self.processes[to.index()].messages.push(message);
                }
            }
        }
    }

    /// Every message that is on its way at the start.
    pub(super) fn in_flight(&self) -> HashSet<MessageId> {
        self.processes.iter().flat_map(|process| process.graph.start().messages()).collect()
    }

    /// Can a message be consumed without being sent?
    pub(super) fn at_any_time(&self, message: MessageId) -> bool {
        self.model.forgeable(self.mail.receiver(message)).contains(self.mail.envelope(message))
    }

    /// How often each message can be there, in all, as far as is known.
    fn supply(&mut self) -> Supplies {
        let mut supply = HashMap::new();
        let world = self.model.world();
        let loose = self.processes.iter().all(|process| process.level == Level::Loose);
        if loose || world.channel == Channel::Duplicating {
            return Supplies { limited: None };
        }
        let doubled = u32::try_from(world.duplications).unwrap_or(u32::MAX);
        let once = self.tuning.mutant == Some(Mutant::ConsumedOnce);
        let times = |sent: u32| Supply::Times(if once { 1 } else { sent.saturating_add(doubled) });
        for process in &self.processes {
            for (message, sent) in sent_at_most(process.size(), &process.edges, &self.mail) {
                supply.insert(message, sent.map_or(Supply::Always, times));
            }
        }
        for message in self.processes.iter().flat_map(|process| process.graph.start().messages()) {
            if let Supply::Times(times) = supply.entry(message).or_insert(Supply::Times(doubled)) {
                *times = times.saturating_add(1);
            }
        }
        for process in self.model.ids() {
            for envelope in self.model.forgeable(process) {
                supply.insert(self.mail.number(process, envelope.clone()), Supply::Always);
            }
        }
        Supplies { limited: Some(supply) }
    }

    pub(crate) fn bytes(&self) -> u64 {
        let of = |process: &ProcessClosure| {
            let nodes = process.nodes.bytes() + (process.progress.capacity() * size_of::<Progress>()) as u64;
            process.graph.bytes() + nodes + 2 * (process.edges.capacity() * size_of::<Edge>()) as u64
        };
        self.mail.bytes() + self.processes.iter().map(of).sum::<u64>()
    }

    /// Why it is not there, if it is not.
    pub(crate) fn gave_up(&self) -> Option<GaveUp> {
        self.gave_up
    }

    /// Was nothing left out because of the bound on what processes do by themselves?
    pub(crate) fn complete(&self) -> bool {
        let waits = |process: &ProcessClosure| self.events_max.is_some() && process.leaves_out(self.model);
        self.gave_up.is_none() && !self.processes.iter().any(waits)
    }

    /// How closely the processes are followed.
    pub(crate) fn levels(&self) -> impl Iterator<Item = Level> {
        self.processes.iter().map(|process| process.level)
    }

    /// How much there is. Local states are counted once, however closely they are told apart.
    pub(crate) fn size(&self) -> ClosureSize {
        let locals = |process: &ProcessClosure| {
            let nodes = 0..u32::try_from(process.size()).unwrap_or(u32::MAX);
            nodes.map(|node| process.local(node)).collect::<BTreeSet<LocalId>>().len()
        };
        let steps = |process: &ProcessClosure| {
            let step = |edge: &Edge| {
                let to = edge.to.map(|to| process.local(to));
                (process.local(edge.from), to, edge.consumed.clone(), edge.sent)
            };
            process.edges.iter().map(step).collect::<HashSet<_>>().len()
        };
        ClosureSize {
            local_states: self.processes.iter().map(locals).sum::<usize>() as u64,
            messages: self.heard.len() as u64,
            steps: self.processes.iter().map(steps).sum::<usize>() as u64,
        }
    }

    /// Runs of handlers so far.
    pub(crate) fn handler_calls(&self) -> u64 {
        self.processes.iter().map(|process| process.graph.handler_calls).sum()
    }

    /// The handler that was found to answer differently when asked twice.
    pub(crate) fn impure(&mut self) -> Option<&str> {
        self.purity.conclude(self.model);
        self.purity.impure()
    }
}

/// For each message that the edges of a graph send, how often a way through the graph sends it at most; `None` if there
/// is no most.
fn sent_at_most(nodes: usize, edges: &[Edge], mail: &Mail) -> BTreeMap<MessageId, Option<u32>> {
    let mut after: Vec<Vec<&Edge>> = vec![Vec::new(); nodes];
    for edge in edges.iter().filter(|edge| edge.to.is_some()) {
        after[edge.from as usize].push(edge);
    }
    let knot_of = knots(&after);
    let count = knot_of.iter().max().map_or(0, |last| last + 1);
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (node, knot) in knot_of.iter().enumerate() {
        members[*knot].push(node);
    }
    // Knots are numbered such that steps lead from higher to lower ones.
    let mut most: Vec<Bag> = Vec::with_capacity(count);
    let mut all: BTreeMap<MessageId, Option<u32>> = BTreeMap::new();
    for (knot, members) in members.iter().enumerate() {
        let mut here = Bag::new();
        for edge in members.iter().flat_map(|node| &after[*node]) {
            let to = knot_of[edge.to.unwrap_or_default() as usize];
            let sent = mail.messages_of(edge.sent);
            if to == knot {
                all.extend(sent.iter().map(|message| (*message, None)));
                continue;
            }
            for (message, times) in with(&most[to], sent) {
                let known = here.entry(message).or_default();
                *known = times.max(*known);
            }
        }
        for (message, times) in &here {
            let known = all.entry(*message).or_insert(Some(0));
            *known = known.map(|known| known.max(*times));
        }
        most.push(here);
    }
    all
}

/// Which nodes lead to each other: for each node the number of its knot, such that steps lead from a knot to itself or
/// to one with a lower number (Tarjan's strongly connected components).
fn knots(after: &[Vec<&Edge>]) -> Vec<usize> {
    const UNSEEN: usize = usize::MAX;
    let (mut order, mut low, mut knot) =
        (vec![UNSEEN; after.len()], vec![UNSEEN; after.len()], vec![UNSEEN; after.len()]);
    let (mut next, mut knots) = (0, 0);
    let mut open: Vec<usize> = Vec::new();
    for root in 0..after.len() {
        let mut way: Vec<(usize, usize)> = Vec::new();
        if order[root] == UNSEEN {
            way.push((root, 0));
        }
        while let Some((node, edge)) = way.pop() {
            if edge == 0 {
                (order[node], low[node]) = (next, next);
                next += 1;
                open.push(node);
            } else {
                let child = after[node][edge - 1].to.unwrap_or_default() as usize;
                if knot[child] == UNSEEN {
                    low[node] = low[node].min(low[child]);
                }
            }
            if let Some(step) = after[node].get(edge) {
                way.push((node, edge + 1));
                let child = step.to.unwrap_or_default() as usize;
                if order[child] == UNSEEN {
                    way.push((child, 0));
                }
                continue;
            }
            if low[node] == order[node] {
                while let Some(member) = open.pop() {
                    knot[member] = knots;
                    if member == node {
                        break;
                    }
                }
                knots += 1;
            }
        }
    }
    knot
}
