//! The steps of a configuration: transitions, with what each may consume, and the ways in which they end.

use std::sync::Arc;

use super::context::AskContext;
use super::graph::ProcessGraph;
use super::mail::{InboxEntry, Messages, NOTHING, SendListId};
use super::seen::Edge;
use super::values::{ConfigurationId, ConfigurationStep, HandlerInput, LocalId, LocalStep, Offer, nth};
use crate::model::{Asked, Consumptions, Envelope, Model, Outcome, Panicked, consumptions};
use crate::world::{Channel, CrashSends, Crashes, FaultsSoFar, Inbox, StepKind, World};

impl ProcessGraph {
    /// Every step of a configuration: by transition, then by what it consumes in the order of contents,
    /// then by choices; then what the world does to it.
    pub(in crate::kernel) fn steps(
        &mut self,
        configuration: ConfigurationId,
        ask: &mut AskContext<'_>,
    ) -> Vec<ConfigurationStep> {
        let (local, past, inbox) = self.parts(configuration);
        let mut steps = Vec::new();
        self.skips = 0;
        if !past.crashed && ask.model.monitor(self.id).is_none() {
            self.transitions(local, past, &inbox, ask, &mut steps);
            self.world_steps(local, past, &inbox, ask, &mut steps);
            for step in &mut steps {
                step.owed = is_owed(step, configuration, &inbox, ask.model);
            }
        }
        self.count(local, configuration, &steps);
        steps
    }

    /// Counts the steps of a configuration by kind and adds them to those seen, once.
    pub(super) fn count(
        &mut self,
        local: LocalId,
        configuration: ConfigurationId,
        steps: &[ConfigurationStep],
    ) {
        if self.is_counted_first(configuration) {
            if self.skips > 0 {
                *self.kinds.entry(StepKind::Loss).or_insert(0) += self.skips;
            }
            for step in steps {
                *self.kinds.entry(step.kind).or_insert(0) += 1;
                if let Some((next, _)) = step.leads {
                    let consumed = step.consumed.iter().map(|offer| offer.message).collect();
                    let to = self.configurations.value(next).0;
                    let edge = Edge { from: local, to, consumed, sent: step.sent };
                    self.seen.note_named(edge, step.kind, step.transition);
                }
            }
        }
    }

    /// Counts so many transitions of a configuration, once.
    pub(super) fn count_kinds(&mut self, configuration: ConfigurationId, transitions: usize) {
        if self.is_counted_first(configuration) {
            *self.kinds.entry(StepKind::Transition).or_insert(0) += transitions as u64;
        }
    }

    fn is_counted_first(&mut self, configuration: ConfigurationId) -> bool {
        let at = configuration as usize;
        if self.counted.len() <= at {
            self.counted.resize(at + 1, false);
        }
        !std::mem::replace(&mut self.counted[at], true)
    }

    /// The transitions that a configuration can take.
    pub(super) fn transitions(
        &mut self,
        from: LocalId,
        past: FaultsSoFar,
        inbox: &Inbox<InboxEntry>,
        ask: &mut AskContext<'_>,
        steps: &mut Vec<ConfigurationStep>,
    ) {
        let world = ask.model.world();
        let offers = self.offers(inbox, world.channel, ask);
        for transition in 0..ask.model.process(self.id).transitions().len() {
            if let Some(questions) = &mut self.questions {
                questions.met.offer(from, transition, &offers);
            }
            let Consumptions { sets, panicking } =
                self.consumptions(from, inbox, world, transition, &offers, ask);
            if !panicking.is_empty() {
                steps.extend(panicking.into_iter().map(|consumed| panicking_step(transition, consumed)));
                continue;
            }
            for consumed in sets {
                let input = handler_input(from, transition, &consumed);
                if let Some(questions) = &mut self.questions {
                    questions.meet(&input);
                }
                let Some(outcomes) = self.answer(input, ask) else { continue };
                for outcome in outcomes.iter() {
                    let step = ConfigurationStep {
                        kind: StepKind::Transition,
                        transition,
                        consumed: consumed.clone(),
                        choices: Vec::new(),
                        sent: NOTHING,
                        leads: None,
                        owed: false,
                    };
                    match outcome {
                        LocalStep::Panicked { choices } => {
                            steps.push(ConfigurationStep { choices: choices.clone(), ..step });
                        }
                        LocalStep::Done { local, sends, choices } => {
                            let step = ConfigurationStep { choices: choices.clone(), ..step };
                            self.endings(from, *local, past, inbox, *sends, &step, ask, steps);
                        }
                    }
                }
            }
        }
    }

    /// The ways in which a transition can end: as it should, or in a crash.
    #[expect(clippy::too_many_arguments, reason = "a step is all of this")]
    fn endings(
        &mut self,
        from: LocalId,
        local: LocalId,
        past: FaultsSoFar,
        inbox: &Inbox<InboxEntry>,
        sends: SendListId,
        step: &ConfigurationStep,
        ask: &mut AskContext<'_>,
        steps: &mut Vec<ConfigurationStep>,
    ) {
        if !self.is_allowed(local) {
            return;
        }
        let mut endings = vec![(StepKind::Transition, past, sends)];
        if ask.model.fault_limits_of(self.id).crashes {
            let crashed = past.with_crash();
            let kept = ask.mail.kept_in_a_crash(sends, crash_sends(ask.model), ask.model);
            endings.extend(kept.into_iter().map(|sends| (StepKind::Crash, crashed, sends)));
        }
        for (kind, past, sent) in endings {
            let mut inbox = inbox.clone();
            let positions: Vec<usize> = step.consumed.iter().filter_map(|offer| offer.position).collect();
            let skipped = inbox.consume(ask.model.world().channel, &positions);
            if ask.model.tracks_copies() {
                inbox.note_received(&positions);
            }
            self.skips += u64::from(skipped > 0);
            if self.leaves_out_idle_steps
                && local == from
                && sent == NOTHING
                && !positions.is_empty()
                && kind == StepKind::Transition
            {
                continue;
            }
            let (own, outside) = ask.mail.split_own(sent, self.id);
            if self.put(&mut inbox, own, ask.model, &ask.mail) {
                let next = self.configuration(local, past, inbox, ask);
                let (consumed, choices) = (step.consumed.clone(), step.choices.clone());
                let leads = Some((next, outside));
                let transition = step.transition;
                steps.push(ConfigurationStep {
                    kind,
                    transition,
                    consumed,
                    choices,
                    sent,
                    leads,
                    owed: false,
                });
            }
        }
    }

    /// The messages on offer, in the order of contents.
    pub(super) fn offers(
        &self,
        inbox: &Inbox<InboxEntry>,
        channel: Channel,
        ask: &mut AskContext<'_>,
    ) -> Vec<Offer> {
        let waiting = inbox.offers(channel).into_iter().map(|position| {
            let message = inbox.waiting[position].message;
            Offer { message, position: Some(position), nth: nth(&inbox.waiting, position) }
        });
        let forged = ask.model.forgeable(self.id).iter().map(|envelope| Offer {
            message: ask.mail.number(self.id, envelope.clone()),
            position: None,
            nth: 0,
        });
        let mut offers: Vec<Offer> = waiting.chain(forged).collect();
        let mail = &ask.mail;
        offers.sort_by(|a, b| mail.content_order(a.message, b.message).then(a.nth.cmp(&b.nth)));
        offers
    }

    /// What a transition may consume of what an inbox has on offer, before its guard is asked.
    pub(super) fn consumptions(
        &self,
        local: LocalId,
        inbox: &Inbox<InboxEntry>,
        world: &World,
        transition: usize,
        offers: &[Offer],
        ask: &mut AskContext<'_>,
    ) -> Consumptions<Offer> {
        let of = Asked { process: self.id, transition, state: self.locals.value(local) };
        let mail = &ask.mail;
        consumptions(
            of,
            offers,
            &mut ask.handlers,
            |offer: Offer| mail.envelope(offer.message),
            |consumed| {
                let positions: Vec<usize> = consumed.iter().filter_map(|offer| offer.position).collect();
                inbox.allows(world, &positions)
            },
        )
    }

    /// The outcomes of a transition on these messages, which a reduction asks for; `None` if its guard forbids it.
    pub(super) fn outcomes(
        &mut self,
        local: LocalId,
        transition: usize,
        consumed: &[Offer],
        ask: &mut AskContext<'_>,
    ) -> Option<Arc<[LocalStep]>> {
        self.outcomes_of(handler_input(local, transition, consumed), ask)
    }

    /// As [`ProcessGraph::outcomes`].
    pub(super) fn outcomes_of(
        &mut self,
        input: HandlerInput,
        ask: &mut AskContext<'_>,
    ) -> Option<Arc<[LocalStep]>> {
        if let Some(known) = self.outcomes.get(&input) {
            return known.clone();
        }
        if let Some(questions) = &mut self.questions {
            questions.considered.steps.push(input.clone());
        }
        self.answer(input, ask)
    }

    /// What a handler does with its input; `None` if its guard forbids it.
    pub(in crate::kernel) fn answer(
        &mut self,
        input: HandlerInput,
        ask: &mut AskContext<'_>,
    ) -> Option<Arc<[LocalStep]>> {
        if let Some(known) = self.outcomes.get(&input) {
            return known.clone();
        }
        let (local, transition, consumed) = &input;
        let state = self.locals.value(*local).clone();
        let envelopes: Vec<Envelope> =
            consumed.iter().map(|message| ask.mail.envelope(*message).clone()).collect();
        let envelopes: Vec<&Envelope> = envelopes.iter().collect();
        let of = Asked { process: self.id, transition: *transition, state: &state };
        let outcomes = ask.handlers.ask(of, &envelopes);
        let steps: Option<Arc<[LocalStep]>> = outcomes.map(|outcomes| {
            outcomes
                .into_iter()
                .map(|outcome| self.local_step(outcome, ask.model, &mut ask.mail))
                .collect::<Vec<_>>()
                .into()
        });
        self.outcomes.insert(input, steps.clone());
        steps
    }

    fn local_step(
        &mut self,
        outcome: Result<Outcome, Panicked>,
        model: &Model,
        mail: &mut Messages,
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

/// A transition in a local state, with the messages that it consumes.
fn handler_input(local: LocalId, transition: usize, consumed: &[Offer]) -> HandlerInput {
    (local, transition, consumed.iter().map(|offer| offer.message).collect())
}

/// A transition whose selection panics on these messages.
fn panicking_step(transition: usize, consumed: Vec<Offer>) -> ConfigurationStep {
    ConfigurationStep {
        kind: StepKind::Transition,
        transition,
        consumed,
        choices: Vec::new(),
        sent: NOTHING,
        leads: None,
        owed: false,
    }
}

/// Must a run go on while this step of a configuration can be taken?
fn is_owed(
    step: &ConfigurationStep,
    configuration: ConfigurationId,
    inbox: &Inbox<InboxEntry>,
    model: &Model,
) -> bool {
    let changes = step.leads != Some((configuration, NOTHING));
    let reliable = model.world().channel.is_reliable();
    let further_copy = |offer: &Offer| {
        step.kind == StepKind::Transition && offer.position.is_some_and(|at| inbox.is_further_copy(at))
    };
    let arrives = |offer: &Offer| reliable && offer.position.is_some() && !further_copy(offer);
    !step.kind.is_fault() && changes && step.consumed.iter().all(arrives)
}

/// What a process that crashes still sends.
fn crash_sends(model: &Model) -> CrashSends {
    match model.world().crashes {
        Crashes::Implicit => CrashSends::All,
        Crashes::Explicit { sends, .. } => sends,
    }
}
