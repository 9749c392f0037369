//! Everything that this checker asks of the user's code, through [`Handlers`](crate::model::Handlers): guards,
//! selections, handlers, restarts.
//!
//! Invariant: the answer of a handler to an input is remembered.
//! Held by: testkit/tests/dir.rs; testkit/tests/nested.rs (restarts); testkit/tests/purity.rs.

use std::sync::Arc;

use super::checker::{ANSWERS, Answer, INITIAL, LocalId, ProtocolChecker, RESTART};
use crate::base::{ProcessId, fold};
use crate::engine::components::embedded::MessageId;
use crate::model::{Asked, Choice, Consumptions, Envelope, Outcome, Outcomes, Panicked, consumptions};
use crate::world::StepKind;

/// A message that a step may consume.
#[derive(Clone, Copy)]
pub(super) struct Candidate {
    pub(super) message: MessageId,
    /// Its position among the messages inside the component; `None` if it comes from outside.
    pub(super) position: Option<usize>,
    /// How many equal messages it stands for.
    pub(super) copies: u128,
    /// Would it be where it was if it were sent again: does no other message wait behind it?
    pub(super) comes_back: bool,
}

/// A step that a process can take.
pub(super) struct Step {
    pub(super) kind: StepKind,
    pub(super) transition: usize,
    pub(super) choices: Vec<usize>,
    /// What it consumes, in ascending order.
    pub(super) consumed: Vec<Candidate>,
    /// The local state it leads to and what it sends, in order; nothing for a panic.
    pub(super) done: Option<(LocalId, Vec<MessageId>)>,
}

impl ProtocolChecker<'_> {
    /// The number of the local state in which a process begins.
    pub(super) fn initial(&mut self, process: ProcessId) -> LocalId {
        let known = self.locals.len();
        let state = self.model.process(process).initial().clone();
        let hash = state.content_hash();
        let local = self.number_local(state);
        if self.locals.len() > known {
            self.asked.push(vec![INITIAL, process.index() as u64, hash]);
        }
        local
    }

    /// Every step that a process can take in a local state, after so many restarts, with these messages.
    pub(super) fn steps(
        &mut self,
        process: ProcessId,
        local: LocalId,
        restarts: u8,
        candidates: &[Candidate],
    ) -> Vec<Step> {
        let mut steps = Vec::new();
        for transition in 0..self.model.process(process).transitions().len() {
            for mut consumed in self.consumptions(process, local, transition, candidates) {
                consumed.sort_unstable_by_key(|candidate| (candidate.message, candidate.position));
                let contents: Vec<MessageId> = consumed.iter().map(|candidate| candidate.message).collect();
                for answer in self.answers(process, local, transition, &contents).iter() {
                    let Answer { done, choices } = answer;
                    // A step after which everything is as before is no reason for a run to go on.
                    if done.as_ref().is_some_and(|(to, sent)| *to == local && are_sent_again(&consumed, sent))
                    {
                        continue;
                    }
                    steps.push(Step {
                        kind: StepKind::Transition,
                        transition,
                        choices: choices.clone(),
                        consumed: consumed.clone(),
                        done: done.clone(),
                    });
                }
            }
        }
        steps.extend(self.restart(process, local, restarts));
        steps
    }

    /// The sets of messages that a transition may consume, and those on which its selection panics; small ones first,
    /// then in the order of the candidates.
    fn consumptions(
        &mut self,
        process: ProcessId,
        local: LocalId,
        transition: usize,
        candidates: &[Candidate],
    ) -> Vec<Vec<Candidate>> {
        let ProtocolChecker { handlers, locals, messages, .. } = self;
        let of = Asked { process, transition, state: locals.value(local) };
        let envelope = |at: usize| &messages.value(candidates[at].message).1;
        let mut offers: Vec<usize> = (0..candidates.len()).collect();
        offers.sort_by_key(|at| envelope(*at).from);
        let Consumptions { mut sets, panicking } = consumptions(of, &offers, handlers, envelope, |_| true);
        sets.extend(panicking);
        for set in &mut sets {
            set.sort_unstable();
        }
        sets.sort_unstable_by(|one, other| (one.len(), one).cmp(&(other.len(), other)));
        sets.into_iter().map(|set| set.into_iter().map(|at| candidates[at]).collect()).collect()
    }

    /// The answers of a transition to messages that it may consume: none if its guard forbids it.
    fn answers(
        &mut self,
        process: ProcessId,
        local: LocalId,
        transition: usize,
        consumed: &[MessageId],
    ) -> Arc<[Answer]> {
        let input = (process, local, transition, consumed.to_vec());
        if let Some(answers) = self.answers.get(&input) {
            return Arc::clone(answers);
        }
        let ProtocolChecker { handlers, locals, messages, .. } = self;
        let of = Asked { process, transition, state: locals.value(local) };
        let envelopes: Vec<&Envelope> = consumed.iter().map(|message| &messages.value(*message).1).collect();
        let outcomes = handlers.ask_selected(of, &envelopes).unwrap_or_default();
        let outcome_hash = hash_of(&outcomes);
        let mut answers = Vec::new();
        for outcome in outcomes {
            let indices = |choices: &[Choice]| choices.iter().map(|choice| choice.index).collect();
            answers.push(match outcome {
                Ok(Outcome { choices, state, sends, .. }) => {
                    self.local_steps += 1;
                    let sent = sends.into_iter().map(|sending| {
                        self.number_message(sending.to, Envelope { from: process, body: sending.body })
                    });
                    let sent = sent.collect();
                    Answer { done: Some((self.number_local(state), sent)), choices: indices(&choices) }
                }
                Err(Panicked { choices, .. }) => Answer { done: None, choices: indices(&choices) },
            });
        }
        let answers: Arc<[Answer]> = answers.into();
        let mut asked = vec![ANSWERS, process.index() as u64, local.into(), transition as u64, outcome_hash];
        asked.extend(consumed.iter().map(|message| u64::from(*message)));
        self.asked.push(asked);
        self.answers.insert(input, Arc::clone(&answers));
        answers
    }

    /// The restart of a process, if it may restart and that changes anything.
    fn restart(&mut self, process: ProcessId, local: LocalId, restarts: u8) -> Option<Step> {
        if restarts >= self.model.fault_limits_of(process).restarts {
            return None;
        }
        let done = match self.handlers.restarted(process, self.locals.value(local)) {
            Ok(state) => {
                let (known, hash) = (self.locals.len(), state.content_hash());
                let state = self.number_local(state);
                if self.locals.len() > known {
                    self.asked.push(vec![RESTART, process.index() as u64, local.into(), hash]);
                }
                if state == local {
                    return None;
                }
                Some((state, Vec::new()))
            }
            Err(_) => None,
        };
        let (choices, consumed) = (Vec::new(), Vec::new());
        Some(Step { kind: StepKind::Restart, transition: 0, choices, consumed, done })
    }

    /// Can a process do anything with a message in a local state, given whatever other messages it takes?
    pub(super) fn is_interested(&mut self, process: ProcessId, local: LocalId, message: MessageId) -> bool {
        let ProtocolChecker { model, handlers, locals, messages, .. } = self;
        let envelope = &messages.value(message).1;
        let state = locals.value(local);
        let transitions = model.process(process).transitions().iter().enumerate();
        transitions.filter(|(_, one)| one.trigger().listens_to(envelope.from)).any(|(transition, _)| {
            let keys = handlers.select(Asked { process, transition, state }, &[envelope]);
            keys.map_or(true, |keys| keys.iter().all(Option::is_some))
        })
    }

    /// Answers a question in the form in which it is logged; `None` if it has another form.
    pub(super) fn answer_again(&mut self, asked: &[u64]) -> Option<()> {
        let (kind, remaining) = asked.split_first()?;
        let process = ProcessId::new(usize::try_from(*remaining.first()?).ok()?);
        self.model.processes().get(process.index())?;
        let local = |at: usize| {
            u32::try_from(*remaining.get(at)?).ok().filter(|at| (*at as usize) < self.locals.len())
        };
        match *kind {
            INITIAL => {
                self.initial(process);
            }
            RESTART => {
                let local = local(1)?;
                self.restart(process, local, 0);
            }
            ANSWERS => {
                let local = local(1)?;
                let transition = usize::try_from(*remaining.get(2)?).ok()?;
                self.model.process(process).transitions().get(transition)?;
                let consumed: Option<Vec<MessageId>> =
                    remaining.get(4..)?.iter().map(|message| u32::try_from(*message).ok()).collect();
                let consumed = consumed?;
                if consumed.iter().any(|message| *message as usize >= self.messages.len()) {
                    return None;
                }
                self.answers(process, local, transition, &consumed);
            }
            _ => return None,
        }
        Some(())
    }
}

/// Is just what a process consumes sent again, to itself? A message from outside is from another process.
fn are_sent_again(consumed: &[Candidate], sent: &[MessageId]) -> bool {
    let mut sent = sent.to_vec();
    sent.sort_unstable();
    consumed.iter().all(|candidate| candidate.position.is_some() && candidate.comes_back)
        && consumed.iter().map(|candidate| candidate.message).eq(sent)
}

/// A hash of what a handler did, the same in every operating-system process.
fn hash_of(outcomes: &Outcomes) -> u64 {
    let mut hash = outcomes.len() as u64;
    let mut absorb = |word: u64| hash = fold(hash ^ word, 0x9e37_79b9_7f4a_7c15).rotate_left(17);
    for outcome in outcomes {
        match outcome {
            Ok(outcome) => {
                absorb(outcome.state.content_hash());
                for sending in &outcome.sends {
                    absorb(sending.to.index() as u64);
                    absorb(sending.body.content_hash());
                }
            }
            Err(_) => absorb(u64::MAX),
        }
    }
    hash
}
