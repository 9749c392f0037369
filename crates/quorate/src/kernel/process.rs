//! The local graph of one process: its local states, inboxes and configurations, and its memoized steps.
//!
//! From: ALGORITHMS 2. This is the only place where handlers run during exploration, and each runs once
//! for a local state, the messages it consumes and the choices it makes. What the world does to a process,
//! from the delivery of a message to a crash, is a step of its configuration like any other.
//!
//! A monitor is a process without steps on which arriving messages, the events that it hears, take effect at
//! once.
//! Invariant: numbers name values one to one; inboxes forget all order but what the channel keeps, so that
//! equal ones have one number.
//! Held by: testkit/tests/agreement.rs (local steps and handler calls equal the naive checker's).

mod queries;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::Tools;
use super::local::{Edge, Live, LocalGraph};
use super::mail::{Entry, Mail, MessageId, SendsId};
use super::symmetry;
use crate::base::Numbering;
use crate::base::{ProcessId, Value};
use crate::model::{Asked, Consumptions, Envelope, Model, Outcome, Panicked, consumptions};
use crate::world::{Channel, CrashSends, Crashes, FaultsSoFar, Inbox, StepKind, World};
pub(super) use queries::Possibility;

pub(super) type LocalId = u32;
/// The local state in which a process starts.
pub(super) const INITIAL: LocalId = 0;
pub(super) type ConfigurationId = u32;

/// A transition in a local state, with the messages that it consumes.
type Occasion = (LocalId, usize, Vec<MessageId>);

/// One outcome of a local step.
#[derive(Clone)]
pub(super) enum LocalStep {
    Done { local: LocalId, sends: SendsId, choices: Vec<usize> },
    Panicked { choices: Vec<usize> },
}

impl LocalStep {
    /// Does it do anything but consume?
    fn changes(&self, from: LocalId) -> bool {
        match self {
            LocalStep::Panicked { .. } => true,
            LocalStep::Done { local, sends, .. } => *local != from || *sends != super::NOTHING,
        }
    }
}

/// A message that a step may consume.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Offer {
    pub(super) message: MessageId,
    /// Where it waits; nowhere if it can be forged at any time.
    position: Option<usize>,
    /// How many equal messages wait before it.
    pub(super) nth: usize,
}

/// Where a process starts: its local state, what it has been through, and what waits for it.
#[derive(Clone)]
pub(super) struct Start {
    pub(super) local: Value,
    pub(super) past: FaultsSoFar,
    pub(super) inbox: Inbox<Entry>,
}

impl Start {
    /// Where a process or a monitor of a model starts.
    pub(super) fn of(process: ProcessId, model: &Model, mail: &mut Mail) -> Self {
        let monitor = process.index().checked_sub(model.processes().len());
        let (past, inbox) = (FaultsSoFar::default(), Inbox::default());
        match (model.start(), monitor) {
            (None, None) => Start { local: model.process(process).initial().clone(), past, inbox },
            (None, Some(at)) => Start { local: model.monitors()[at].initial().clone(), past, inbox },
            (Some(start), Some(at)) => Start { local: start.monitors[at].clone(), past, inbox },
            (Some(start), None) => {
                let inbox = start.inbox(process, |envelope| {
                    let message = mail.number(process, envelope.clone());
                    mail.entry(message)
                });
                let at = process.index();
                Start { local: start.locals[at].clone(), past: start.faults_so_far[at], inbox }
            }
        }
    }

    /// The messages that wait.
    pub(super) fn messages(&self) -> impl Iterator<Item = MessageId> {
        self.inbox.travelling.iter().chain(&self.inbox.waiting).map(|entry| entry.message)
    }
}

/// One process with everything known about it.
pub(super) struct ProcessGraph {
    id: ProcessId,
    start: Start,
    locals: Numbering<Value>,
    inboxes: Numbering<Arc<Inbox<Entry>>>,
    /// Messages in all inboxes together.
    entries: usize,
    configurations: Numbering<(LocalId, FaultsSoFar, u32)>,
    outcomes: HashMap<Occasion, Option<Arc<[LocalStep]>>>,
    /// For each local state, the one after a restart; nothing if a restart panics.
    after_restart: HashMap<LocalId, Option<LocalId>>,
    /// How many steps of each kind the configurations have whose steps were asked for.
    kinds: HashMap<StepKind, u64>,
    counted: Vec<bool>,
    /// What its local states and steps were so far, whatever was left out of its inbox.
    pub(super) observed: LocalGraph,
    /// Which messages can still make a difference; all of them if nothing is left out.
    live: Option<Arc<Live>>,
    /// Local steps are compared with those of exchanged processes, once each.
    pub(super) certifies_symmetry: bool,
    certified: HashSet<Occasion>,
    /// A step that is not the same for exchanged processes.
    pub(super) asymmetric: Option<String>,
    /// Steps that only consume are left out, and with them what only they would consume.
    pub(super) leaves_out_idle_steps: bool,
    /// Steps that lead to other local states are left out.
    pub(super) within: Option<HashSet<Value>>,
    /// Of equal messages, at most so many wait; more are lost, and it is noted that they were.
    pub(super) copies_max: Option<usize>,
    pub(super) lost_copies: bool,
    pub(super) local_steps: u64,
}

/// A step of a configuration, with everything that names it.
pub(super) struct ConfigurationStep {
    pub(super) kind: StepKind,
    /// The transition, if it is one.
    pub(super) transition: usize,
    pub(super) consumed: Vec<Offer>,
    pub(super) choices: Vec<usize>,
    /// All that is sent.
    pub(super) sent: SendsId,
    /// Where it leads, and what leaves the process; `None` if it panics.
    pub(super) leads: Option<(ConfigurationId, SendsId)>,
}

impl ProcessGraph {
    pub(super) fn new(id: ProcessId, start: Start, channel: Channel) -> Self {
        let mut graph = ProcessGraph {
            id,
            start,
            locals: Numbering::default(),
            inboxes: Numbering::default(),
            entries: 0,
            configurations: Numbering::default(),
            outcomes: HashMap::new(),
            after_restart: HashMap::new(),
            kinds: HashMap::new(),
            counted: Vec::new(),
            observed: LocalGraph::default(),
            live: None,
            certifies_symmetry: false,
            certified: HashSet::new(),
            asymmetric: None,
            leaves_out_idle_steps: false,
            within: None,
            copies_max: None,
            lost_copies: false,
            local_steps: 0,
        };
        graph.locals.number(graph.start.local.clone());
        graph.observed.hear(&graph.start.messages().collect::<Vec<MessageId>>());
        graph.begin(None, channel);
        graph
    }

    /// Where it starts.
    pub(super) fn start(&self) -> &Start {
        &self.start
    }

    /// Starts anew from the initial configuration, leaving out what is not live. Local states, and what handlers
    /// have answered, stay known.
    pub(super) fn begin(&mut self, live: Option<Arc<Live>>, channel: Channel) {
        (self.inboxes, self.configurations) = (Numbering::default(), Numbering::default());
        self.entries = 0;
        self.counted.clear();
        self.kinds.clear();
        self.live = live;
        self.configuration(INITIAL, self.start.past, self.start.inbox.clone(), channel);
    }

    pub(super) fn id(&self) -> ProcessId {
        self.id
    }

    /// How many configurations are known.
    pub(super) fn size(&self) -> usize {
        self.configurations.len()
    }

    /// What a configuration is made of.
    pub(super) fn parts(&self, configuration: ConfigurationId) -> (LocalId, FaultsSoFar, Arc<Inbox<Entry>>) {
        let (local, past, inbox) = *self.configurations.value(configuration);
        (local, past, Arc::clone(self.inboxes.value(inbox)))
    }

    /// The configuration that is made of this.
    pub(super) fn insert(
        &mut self,
        local: Value,
        past: FaultsSoFar,
        inbox: Inbox<Entry>,
        channel: Channel,
    ) -> ConfigurationId {
        let local = self.locals.number(local);
        self.configuration(local, past, inbox, channel)
    }

    /// The number of a local state.
    pub(super) fn number_local(&mut self, local: Value) -> LocalId {
        self.locals.number(local)
    }

    /// The local state of a configuration.
    pub(super) fn local(&self, configuration: ConfigurationId) -> LocalId {
        self.configurations.value(configuration).0
    }

    pub(super) fn local_value(&self, local: LocalId) -> &Value {
        self.locals.value(local)
    }

    /// How many steps of a kind its configurations have.
    pub(super) fn steps_of(&self, kind: StepKind) -> u64 {
        self.kinds.get(&kind).copied().unwrap_or(0)
    }

    pub(super) fn bytes(&self) -> u64 {
        self.locals.bytes()
            + self.inboxes.bytes()
            + self.configurations.bytes()
            + (self.entries * size_of::<Entry>() + self.outcomes.capacity() * 96) as u64
    }

    /// The configuration after these messages have arrived, all of them for this process; `None` if there is no
    /// room for them.
    pub(super) fn arrive(
        &mut self,
        configuration: ConfigurationId,
        sends: SendsId,
        model: &Model,
        mail: &Mail,
    ) -> Option<ConfigurationId> {
        let (local, past, inbox) = *self.configurations.value(configuration);
        if let Some(monitor) = model.monitor(self.id) {
            let mut state = self.locals.value(local).clone();
            for &message in mail.messages_of(sends) {
                let Envelope { from, body } = mail.envelope(message);
                state = monitor.after(&state, *from, body.expect::<Vec<Value>>());
            }
            let local = self.locals.number(state);
            return Some(self.configurations.number((local, past, inbox)));
        }
        let mut inbox = (**self.inboxes.value(inbox)).clone();
        let fits = self.put(&mut inbox, sends, model, mail);
        fits.then(|| self.configuration(local, past, inbox, model.world().channel))
    }

    /// Puts messages into an inbox; what can be forged at any time is there anyway.
    fn put(&mut self, inbox: &mut Inbox<Entry>, sends: SendsId, model: &Model, mail: &Mail) -> bool {
        let forgeable = model.forgeable(self.id);
        self.observed.hear(mail.messages_of(sends));
        mail.messages_of(sends).iter().all(|&message| {
            forgeable.contains(mail.envelope(message))
                || self.is_one_too_many(inbox, message, model)
                || inbox.arrive(model.world(), mail.entry(message))
        })
    }

    /// Do as many equal messages wait as may? Then one more is lost.
    fn is_one_too_many(&mut self, inbox: &Inbox<Entry>, message: MessageId, model: &Model) -> bool {
        let Some(copies_max) = self.copies_max else { return false };
        let copies = inbox.way(model.world()).iter().filter(|entry| entry.message == message).count();
        self.lost_copies |= copies >= copies_max;
        copies >= copies_max
    }

    /// May it be in a local state?
    fn is_within(&self, local: LocalId) -> bool {
        self.within.as_ref().is_none_or(|within| within.contains(self.locals.value(local)))
    }

    fn configuration(
        &mut self,
        local: LocalId,
        past: FaultsSoFar,
        mut inbox: Inbox<Entry>,
        channel: Channel,
    ) -> ConfigurationId {
        if let Some(live) = &self.live {
            inbox.waiting.retain(|entry| !past.crashed && live.contains(local, entry.message));
        }
        inbox.normalise(channel);
        let (known, entries) = (self.inboxes.len(), inbox.waiting.len() + inbox.travelling.len());
        let inbox = self.inboxes.number(Arc::new(inbox));
        if self.inboxes.len() > known {
            self.entries += entries;
        }
        self.configurations.number((local, past, inbox))
    }

    /// Every step of a configuration: by transition, then by what it consumes in the order of contents,
    /// then by choices; then what the world does to it.
    pub(super) fn steps(
        &mut self,
        configuration: ConfigurationId,
        tools: &mut Tools<'_, '_>,
    ) -> Vec<ConfigurationStep> {
        let (local, past, inbox) = *self.configurations.value(configuration);
        let mut steps = Vec::new();
        if !past.crashed && tools.model.monitor(self.id).is_none() {
            let inbox = Arc::clone(self.inboxes.value(inbox));
            self.transitions(local, past, &inbox, tools, &mut steps);
            self.happenings(local, past, &inbox, tools, &mut steps);
        }
        self.count(local, configuration, &steps);
        steps
    }

    /// Notes of what kind the steps of a configuration are, once.
    fn count(&mut self, local: LocalId, configuration: ConfigurationId, steps: &[ConfigurationStep]) {
        let at = configuration as usize;
        if self.counted.len() <= at {
            self.counted.resize(at + 1, false);
        }
        if !std::mem::replace(&mut self.counted[at], true) {
            for step in steps {
                *self.kinds.entry(step.kind).or_insert(0) += 1;
                if let Some((next, _)) = step.leads {
                    let consumed = step.consumed.iter().map(|offer| offer.message).collect();
                    let to = self.configurations.value(next).0;
                    let edge = Edge { from: local, to, consumed, sent: step.sent };
                    self.observed.note_named(edge, step.kind, step.transition);
                }
            }
        }
    }

    /// The transitions that a configuration can take.
    fn transitions(
        &mut self,
        from: LocalId,
        past: FaultsSoFar,
        inbox: &Inbox<Entry>,
        tools: &mut Tools<'_, '_>,
        steps: &mut Vec<ConfigurationStep>,
    ) {
        let world = tools.model.world();
        let offers = self.offers(inbox, world.channel, tools);
        for transition in 0..tools.model.process(self.id).transitions().len() {
            let Consumptions { sets, panicking } =
                self.consumptions(from, inbox, world, transition, &offers, tools);
            if !panicking.is_empty() {
                steps.extend(panicking.into_iter().map(|consumed| panicking_step(transition, consumed)));
                continue;
            }
            for consumed in sets {
                self.certify(from, transition, &consumed, tools);
                let Some(outcomes) = self.outcomes(from, transition, &consumed, tools) else { continue };
                for outcome in outcomes.iter() {
                    let step = ConfigurationStep {
                        kind: StepKind::Transition,
                        transition,
                        consumed: consumed.clone(),
                        choices: Vec::new(),
                        sent: super::NOTHING,
                        leads: None,
                    };
                    match outcome {
                        LocalStep::Panicked { choices } => {
                            steps.push(ConfigurationStep { choices: choices.clone(), ..step });
                        }
                        LocalStep::Done { local, sends, choices } => {
                            let step = ConfigurationStep { choices: choices.clone(), ..step };
                            self.endings(from, *local, past, inbox, *sends, &step, tools, steps);
                        }
                    }
                }
            }
        }
    }

    /// Compares a step with that of exchanged processes.
    fn certify(&mut self, local: LocalId, transition: usize, consumed: &[Offer], tools: &Tools<'_, '_>) {
        let occasion = (local, transition, consumed.iter().map(|offer| offer.message).collect());
        if !self.certifies_symmetry || self.asymmetric.is_some() || !self.certified.insert(occasion) {
            return;
        }
        let messages: Vec<&Envelope> =
            consumed.iter().map(|offer| tools.mail.envelope(offer.message)).collect();
        let state = self.locals.value(local);
        self.asymmetric = symmetry::difference(tools.model, self.id, transition, state, &messages);
    }

    /// The ways in which a transition can end: as it should, or in a crash.
    #[expect(clippy::too_many_arguments, reason = "a step is all of this")]
    fn endings(
        &mut self,
        from: LocalId,
        local: LocalId,
        past: FaultsSoFar,
        inbox: &Inbox<Entry>,
        sends: SendsId,
        step: &ConfigurationStep,
        tools: &mut Tools<'_, '_>,
        steps: &mut Vec<ConfigurationStep>,
    ) {
        if !self.is_within(local) {
            return;
        }
        let mut endings = vec![(StepKind::Transition, past, sends)];
        if tools.model.fault_limits_of(self.id).crashes {
            let crashed = FaultsSoFar { crashed: true, ..past };
            let kept = tools.mail.kept_in_a_crash(sends, crash_sends(tools.model), tools.model);
            endings.extend(kept.into_iter().map(|sends| (StepKind::Crash, crashed, sends)));
        }
        for (kind, past, sent) in endings {
            let mut inbox = inbox.clone();
            let positions: Vec<usize> = step.consumed.iter().filter_map(|offer| offer.position).collect();
            let skipped = inbox.consume(tools.model.world().channel, &positions);
            if skipped > 0 {
                *self.kinds.entry(StepKind::Loss).or_insert(0) += 1;
            }
            if self.leaves_out_idle_steps
                && local == from
                && sent == super::NOTHING
                && !positions.is_empty()
                && kind == StepKind::Transition
            {
                continue;
            }
            let (own, outside) = tools.mail.split_own(sent, self.id);
            if self.put(&mut inbox, own, tools.model, tools.mail) {
                let next = self.configuration(local, past, inbox, tools.model.world().channel);
                let (consumed, choices) = (step.consumed.clone(), step.choices.clone());
                let leads = Some((next, outside));
                let transition = step.transition;
                steps.push(ConfigurationStep { kind, transition, consumed, choices, sent, leads });
            }
        }
    }

    /// What the world can do to a configuration.
    fn happenings(
        &mut self,
        local: LocalId,
        past: FaultsSoFar,
        inbox: &Inbox<Entry>,
        tools: &mut Tools<'_, '_>,
        steps: &mut Vec<ConfigurationStep>,
    ) {
        let (model, world) = (tools.model, tools.model.world());
        let step = |kind, consumed, leads| ConfigurationStep {
            kind,
            transition: 0,
            consumed,
            choices: Vec::new(),
            sent: super::NOTHING,
            leads,
        };
        let ways = [
            (StepKind::Delivery, world.delivery.in_steps(), past),
            (StepKind::Loss, usize::from(past.losses) < world.losses, past.with_loss()),
            (
                StepKind::Duplication,
                usize::from(past.duplications) < world.duplications,
                past.with_duplication(),
            ),
        ];
        for (kind, _, past) in ways.into_iter().filter(|(_, possible, _)| *possible) {
            for position in inbox.on_their_way(world) {
                let mut changed = inbox.clone();
                match kind {
                    StepKind::Delivery => changed.deliver(world, position),
                    StepKind::Loss => changed.lose(world, position),
                    _ => changed.double(world, position),
                }
                let (message, nth) = (inbox.way(world)[position].message, nth(inbox.way(world), position));
                let next = self.configuration(local, past, changed, world.channel);
                let offer = Offer { message, position: Some(position), nth };
                steps.push(step(kind, vec![offer], Some((next, super::NOTHING))));
            }
        }
        if past.restarts < model.fault_limits_of(self.id).restarts {
            match self.restarted(local, tools) {
                None => steps.push(step(StepKind::Restart, Vec::new(), None)),
                Some(after) if after == local || !self.is_within(after) => {}
                Some(after) => {
                    let next = self.configuration(after, past.with_restart(), inbox.clone(), world.channel);
                    steps.push(step(StepKind::Restart, Vec::new(), Some((next, super::NOTHING))));
                }
            }
        }
    }

    /// The local state after a restart in another; `None` if that panics.
    pub(super) fn restarted(&mut self, local: LocalId, tools: &mut Tools<'_, '_>) -> Option<LocalId> {
        if let Some(known) = self.after_restart.get(&local) {
            return *known;
        }
        let after = tools.handlers.restarted(self.id, self.locals.value(local));
        let after = after.ok().map(|state| self.locals.number(state));
        self.after_restart.insert(local, after);
        after
    }

    /// The messages on offer, in the order of contents.
    fn offers(&self, inbox: &Inbox<Entry>, channel: Channel, tools: &mut Tools<'_, '_>) -> Vec<Offer> {
        let waiting = inbox.offers(channel).into_iter().map(|position| {
            let message = inbox.waiting[position].message;
            Offer { message, position: Some(position), nth: nth(&inbox.waiting, position) }
        });
        let forged = tools.model.forgeable(self.id).iter().map(|envelope| Offer {
            message: tools.mail.number(self.id, envelope.clone()),
            position: None,
            nth: 0,
        });
        let mut offers: Vec<Offer> = waiting.chain(forged).collect();
        let mail = &*tools.mail;
        offers.sort_by(|a, b| mail.content_order(a.message, b.message).then(a.nth.cmp(&b.nth)));
        offers
    }

    /// What a transition may consume of what an inbox has on offer, before its guard is asked.
    fn consumptions(
        &self,
        local: LocalId,
        inbox: &Inbox<Entry>,
        world: &World,
        transition: usize,
        offers: &[Offer],
        tools: &mut Tools<'_, '_>,
    ) -> Consumptions<Offer> {
        let of = Asked { process: self.id, transition, state: self.locals.value(local) };
        let mail = &*tools.mail;
        consumptions(
            of,
            offers,
            tools.handlers,
            |offer: Offer| mail.envelope(offer.message),
            |consumed| {
                let positions: Vec<usize> = consumed.iter().filter_map(|offer| offer.position).collect();
                inbox.allows(world, &positions)
            },
        )
    }

    /// The outcomes of a transition on these messages; `None` if its guard forbids it.
    fn outcomes(
        &mut self,
        local: LocalId,
        transition: usize,
        consumed: &[Offer],
        tools: &mut Tools<'_, '_>,
    ) -> Option<Arc<[LocalStep]>> {
        let occasion = (local, transition, consumed.iter().map(|offer| offer.message).collect());
        if let Some(known) = self.outcomes.get(&occasion) {
            return known.clone();
        }
        let state = self.locals.value(local).clone();
        let envelopes: Vec<Envelope> =
            consumed.iter().map(|offer| tools.mail.envelope(offer.message).clone()).collect();
        let envelopes: Vec<&Envelope> = envelopes.iter().collect();
        let of = Asked { process: self.id, transition, state: &state };
        let outcomes = tools.handlers.ask(of, &envelopes);
        let steps: Option<Arc<[LocalStep]>> = outcomes.map(|outcomes| {
            outcomes
                .into_iter()
                .map(|outcome| self.local_step(outcome, tools.model, tools.mail))
                .collect::<Vec<_>>()
                .into()
        });
        self.outcomes.insert(occasion, steps.clone());
        steps
    }

    fn local_step(
        &mut self,
        outcome: Result<Outcome, Panicked>,
        model: &Model,
        mail: &mut Mail,
    ) -> LocalStep {
        let indices = |choices: &[crate::model::Choice]| choices.iter().map(|choice| choice.index).collect();
        match outcome {
            Ok(Outcome { choices, state, sends, events }) => {
                self.local_steps += 1;
                let local = self.locals.number(state);
                let sends = mail.send(self.id, &sends, &model.heard(&events));
                LocalStep::Done { local, sends, choices: indices(&choices) }
            }
            Err(Panicked { choices, .. }) => LocalStep::Panicked { choices: indices(&choices) },
        }
    }
}

/// A transition whose selection panics on these messages.
fn panicking_step(transition: usize, consumed: Vec<Offer>) -> ConfigurationStep {
    ConfigurationStep {
        kind: StepKind::Transition,
        transition,
        consumed,
        choices: Vec::new(),
        sent: super::NOTHING,
        leads: None,
    }
}

/// What a process that crashes still sends.
fn crash_sends(model: &Model) -> CrashSends {
    match model.world().crashes {
        Crashes::Implicit => CrashSends::All,
        Crashes::Explicit { sends, .. } => sends,
    }
}

/// How many equal messages are before one.
fn nth(letters: &[Entry], position: usize) -> usize {
    letters[..position].iter().filter(|earlier| **earlier == letters[position]).count()
}
