//! The composition tree: groups of processes that behave like one process.
//!
//! A node's state is a pair of its children's states. Its steps are its children's steps, with the messages
//! between the children delivered; what remains of the sends leaves the node. Both that and the effect of
//! messages that arrive are memoized, so the work at a node is done once for each of its states, not once
//! for each global state that contains it.

use super::split::GroupOrder;
use super::views::PropertyViews;
use crate::base::{Pairs, ProcessId, ProcessSet, heed};
use crate::kernel::process::{AskContext, NOTHING, SendListId};
use crate::kernel::reductions::{Orbits, ProcessStates, SleepSets, ViewId};
use crate::kernel::state::{Side, SleepSetId};

/// A step of a node: its next state, the messages that leave it, whose step it is, and who sleeps after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Step {
    pub(crate) next: u32,
    pub(crate) sends: SendListId,
    pub(crate) process: ProcessId,
    pub(crate) sleep: SleepSetId,
    /// Must a run go on while it can be taken?
    pub(crate) owed: bool,
}

/// A node of the tree, with what is known of its states.
pub(crate) struct Group {
    kind: Kind,
    members: ProcessSet,
    known: Vec<Known>,
    steps: Vec<Step>,
    /// Rows of (messages, the state after they have arrived).
    arrivals: Vec<(SendListId, u32)>,
    /// The states in which some step panics.
    panicking: Vec<u32>,
}

/// What is known of one state. PERF: all in one place, so that expanding a state touches few cache lines.
#[derive(Clone, Copy)]
struct Known {
    /// Where its steps begin and end; the beginning is `UNKNOWN` as long as they are not known.
    steps: (u32, u32),
    /// Where its row of arrivals begins, and how long it is. There is room for the next power of two.
    arrivals: (u32, u32),
    view: ViewId,
}

const UNKNOWN: u32 = u32::MAX;

/// Stands for the state after messages have arrived if there is no room for them: their step has to wait.
pub(in crate::kernel) const BLOCKED: u32 = u32::MAX;

const NOTHING_KNOWN: Known = Known { steps: (UNKNOWN, UNKNOWN), arrivals: (0, 0), view: 0 };

enum Kind {
    /// Nobody: the other group of a system of one.
    Nobody,
    /// One process; its states are configurations or beliefs.
    Process(ProcessId),
    /// Two nodes side by side.
    Pair { children: Box<(Group, Group)>, states: Pairs },
}

/// What a node needs to work something out.
pub(in crate::kernel) struct LearnContext<'a, 'm> {
    pub(in crate::kernel) ask: &'a mut AskContext<'m>,
    pub(in crate::kernel) states_of: &'a mut [ProcessStates],
    pub(in crate::kernel) views: &'a mut PropertyViews,
    pub(in crate::kernel) orbits: &'a mut Orbits,
    pub(in crate::kernel) sleep_sets: &'a mut SleepSets,
}

impl Group {
    /// A node for these processes, halved again and again in the order given.
    fn new(processes: &[ProcessId]) -> Self {
        let kind = match processes {
            [] => Kind::Nobody,
            [process] => Kind::Process(*process),
            _ => {
                let (left, right) = processes.split_at(processes.len() / 2);
                let mut states = Pairs::default();
                assert_eq!(states.number(0, 0), 0, "the initial state comes first");
                Kind::Pair { children: Box::new((Group::new(left), Group::new(right))), states }
            }
        };
        let one = |process: &ProcessId| ProcessSet::one(*process);
        let members = processes.iter().map(one).fold(ProcessSet::EMPTY, ProcessSet::union);
        Group {
            kind,
            members,
            known: Vec::new(),
            steps: Vec::new(),
            arrivals: Vec::new(),
            panicking: Vec::new(),
        }
    }

    /// The steps of a state, if they are known.
    #[inline]
    pub(crate) fn steps(&self, state: u32) -> Option<&[Step]> {
        let (start, end) = self.known.get(state as usize)?.steps;
        self.steps.get(start as usize..end as usize)
    }

    /// The processes of this node.
    #[inline]
    pub(in crate::kernel) fn members(&self) -> ProcessSet {
        self.members
    }

    /// The state after messages have arrived, if it is known.
    #[inline]
    pub(crate) fn arrival(&self, state: u32, sends: SendListId) -> Option<u32> {
        let (start, length) = self.known.get(state as usize)?.arrivals;
        let row = &self.arrivals[start as usize..(start + length) as usize];
        row.iter().find(|(arriving, _)| *arriving == sends).map(|(_, arrived)| *arrived)
    }

    /// What the properties see of a state whose steps are known.
    #[inline]
    pub(crate) fn view(&self, state: u32) -> ViewId {
        self.known[state as usize].view
    }

    /// Does some step of this state panic?
    #[inline]
    pub(crate) fn panics(&self, state: u32) -> bool {
        !self.panicking.is_empty() && self.panicking.contains(&state)
    }

    /// How many states are known, whatever is known of them.
    pub(in crate::kernel) fn size(&self, states_of: &[ProcessStates]) -> usize {
        match &self.kind {
            Kind::Nobody => 1,
            Kind::Process(process) => states_of[process.index()].size(),
            Kind::Pair { states, .. } => states.len(),
        }
    }

    fn learn_steps(&mut self, state: u32, context: &mut LearnContext<'_, '_>) {
        if self.steps(state).is_some() {
            return;
        }
        heed();
        let start = self.steps.len();
        let (view, panics) = match &mut self.kind {
            Kind::Nobody => (context.views.nobody(), false),
            Kind::Process(process) => {
                let leads = context.states_of[process.index()].steps(state, context.ask);
                for lead in &leads {
                    let Some((next, sends)) = lead.to else { continue };
                    let sleep = context.sleep_sets.after(*process, context.ask.mail.receivers(sends));
                    self.steps.push(Step { next, sends, process: *process, sleep, owed: lead.owed });
                }
                let LearnContext { ask, states_of, views, orbits, .. } = context;
                let view = views.of_process(*process, state, states_of, orbits, ask);
                views.keep(*process, state, view);
                (view, leads.iter().any(|lead| lead.to.is_none()))
            }
            Kind::Pair { children, states, .. } => {
                let (left, right) = states.pair(state);
                children.0.learn_steps(left, context);
                children.1.learn_steps(right, context);
                let view = context.views.of_pair(children.0.view(left), children.1.view(right));
                let panics = children.0.panics(left) || children.1.panics(right);
                self.compose_steps(state, context);
                (view, panics)
            }
        };
        let steps = (number(start), number(self.steps.len()));
        let known = self.known_mut(state);
        (known.steps, known.view) = (steps, view);
        if panics {
            self.panicking.push(state);
        }
    }

    fn known_mut(&mut self, state: u32) -> &mut Known {
        let at = state as usize;
        if self.known.len() <= at {
            self.known.resize(at + 1, NOTHING_KNOWN);
        }
        &mut self.known[at]
    }

    /// Adds to the row of a state; a row without room moves to the end, where there is.
    fn remember_arrival(&mut self, state: u32, sends: SendListId, arrived: u32) {
        let (start, length) = self.known_mut(state).arrivals;
        let row = start as usize..(start + length) as usize;
        let full = length == 0 || length.is_power_of_two();
        let start = if full { number(self.arrivals.len()) } else { start };
        if full {
            self.arrivals.extend_from_within(row);
            let room = if length == 0 { 1 } else { 2 * length as usize };
            self.arrivals.resize(start as usize + room, (NOTHING, UNKNOWN));
        }
        self.arrivals[(start + length) as usize] = (sends, arrived);
        self.known_mut(state).arrivals = (start, length + 1);
    }

    /// The steps of a pair: each child's, with what it sends to the other child delivered.
    fn compose_steps(&mut self, state: u32, context: &mut LearnContext<'_, '_>) {
        let Kind::Pair { children, states } = &mut self.kind else { return };
        let (left, right) = states.pair(state);
        let (one, two) = &mut **children;
        for at in 0..one.steps(left).map_or(0, <[Step]>::len) {
            let step = one.steps(left).expect("learnt before")[at];
            let (inside, outside) = context.ask.mail.split(step.sends, two.members);
            let other = two.learn_arrival(right, inside, context);
            if other != BLOCKED {
                self.steps.push(Step { next: states.number(step.next, other), sends: outside, ..step });
            }
        }
        for at in 0..two.steps(right).map_or(0, <[Step]>::len) {
            let step = two.steps(right).expect("learnt before")[at];
            let (inside, outside) = context.ask.mail.split(step.sends, one.members);
            let other = one.learn_arrival(left, inside, context);
            if other != BLOCKED {
                self.steps.push(Step { next: states.number(other, step.next), sends: outside, ..step });
            }
        }
    }

    /// The state after messages have arrived, all of them for this node, or [`BLOCKED`].
    fn learn_arrival(&mut self, state: u32, sends: SendListId, context: &mut LearnContext<'_, '_>) -> u32 {
        if sends == NOTHING {
            return state;
        }
        if let Some(known) = self.arrival(state, sends) {
            return known;
        }
        heed();
        let arrived = match &mut self.kind {
            Kind::Nobody => unreachable!("nobody receives nothing"),
            Kind::Process(process) => {
                let states = &mut context.states_of[process.index()];
                states.arrive(state, sends, context.ask).unwrap_or(BLOCKED)
            }
            Kind::Pair { children, states } => {
                let (for_left, for_right) = context.ask.mail.split(sends, children.0.members);
                let (one, two) = states.pair(state);
                let one = children.0.learn_arrival(one, for_left, context);
                let two = children.1.learn_arrival(two, for_right, context);
                if one == BLOCKED || two == BLOCKED { BLOCKED } else { states.number(one, two) }
            }
        };
        self.remember_arrival(state, sends, arrived);
        arrived
    }

    /// The configurations of its processes.
    pub(in crate::kernel) fn configurations(&self, state: u32, found: &mut [Option<u32>]) {
        match &self.kind {
            Kind::Nobody => {}
            Kind::Process(process) => found[process.index()] = Some(state),
            Kind::Pair { children, states } => {
                let (left, right) = states.pair(state);
                children.0.configurations(left, found);
                children.1.configurations(right, found);
            }
        }
    }

    fn bytes(&self) -> u64 {
        let own = self.known.capacity() * size_of::<Known>()
            + self.steps.capacity() * size_of::<Step>()
            + self.arrivals.capacity() * size_of::<(SendListId, u32)>();
        let below = match &self.kind {
            Kind::Nobody | Kind::Process(_) => 0,
            Kind::Pair { children, states, .. } => states.bytes() + children.0.bytes() + children.1.bytes(),
        };
        own as u64 + below
    }
}

fn number(length: usize) -> u32 {
    u32::try_from(length).expect("fewer than 2^32 memoized steps and arrivals")
}

/// The whole system: a left and a right group.
pub(in crate::kernel) struct Tree {
    left: Group,
    right: Group,
    processes: usize,
}

impl Tree {
    pub(in crate::kernel) fn new(split: &GroupOrder) -> Self {
        let processes = split.left.len() + split.right.len();
        Tree { left: Group::new(&split.left), right: Group::new(&split.right), processes }
    }

    pub(in crate::kernel) fn left(&self) -> &Group {
        &self.left
    }

    pub(in crate::kernel) fn right(&self) -> &Group {
        &self.right
    }

    /// The initial states of the two groups: in every node, the first state there is.
    #[expect(clippy::unused_self, reason = "the tree decides what its initial state is")]
    pub(in crate::kernel) fn initial(&self) -> (u32, u32) {
        (0, 0)
    }

    fn side(&mut self, side: Side) -> &mut Group {
        match side {
            Side::Left => &mut self.left,
            Side::Right => &mut self.right,
        }
    }

    pub(in crate::kernel) fn learn_steps(&mut self, side: Side, of: u32, context: &mut LearnContext<'_, '_>) {
        self.side(side).learn_steps(of, context);
    }

    pub(in crate::kernel) fn learn_arrival(
        &mut self,
        side: Side,
        at: u32,
        sends: SendListId,
        context: &mut LearnContext<'_, '_>,
    ) {
        self.side(side).learn_arrival(at, sends, context);
    }

    /// The configurations of the processes, in order.
    pub(in crate::kernel) fn configurations(&self, left: u32, right: u32) -> Vec<u32> {
        let mut found = vec![None; self.processes];
        self.left.configurations(left, &mut found);
        self.right.configurations(right, &mut found);
        found.into_iter().flatten().collect()
    }

    pub(in crate::kernel) fn bytes(&self) -> u64 {
        self.left.bytes() + self.right.bytes()
    }
}
