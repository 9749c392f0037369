//! Everything that this checker asks of the user's code: guards, selections, handlers, restarts.
//!
//! Invariant: a handler is asked twice for an input, and the answers are compared; after that the answer is remembered.
//! Held by: testkit/tests/dir.rs; testkit/tests/nested.rs (restarts).

use std::sync::Arc;

use super::checker::{ANSWERS, Answer, HandlerInput, INITIAL, LocalId, ProtocolChecker, RESTART};
use crate::base::{ProcessId, fold};
use crate::engine::components::embedded::MessageId;
use crate::model::{Choice, Envelope, Outcome, Panicked, QuorumSystem, Trigger};
use crate::world::StepKind;

/// A message that a step may consume.
#[derive(Clone, Copy)]
pub(super) struct Candidate {
    pub(super) message: MessageId,
    /// Its position among the messages inside the component; `None` if it comes from outside.
    pub(super) position: Option<usize>,
    /// How many equal messages it stands for.
    pub(super) copies: u128,
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

/// How many answers are compared once more at the end.
const LATE_MAX: usize = 256;

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

    /// The sets of messages that a transition may consume. A single message may be too few for a quorum, but the
    /// selection may panic on it, so it is among the sets; and a message on which the selection panics is in no other
    /// set.
    fn consumptions(
        &self,
        process: ProcessId,
        local: LocalId,
        transition: usize,
        candidates: &[Candidate],
    ) -> Vec<Vec<Candidate>> {
        let trigger = self.model.process(process).transitions()[transition].trigger();
        let heard: Vec<Candidate> = candidates
            .iter()
            .filter(|candidate| trigger.listens_to(self.envelope(candidate.message).from))
            .copied()
            .collect();
        let mut sets = match trigger {
            Trigger::Internal => return vec![Vec::new()],
            Trigger::Message(_) | Trigger::Quorum(_) => heard.iter().map(|one| vec![*one]).collect(),
        };
        let state = self.locals.value(local);
        let clear = |candidate: &Candidate| {
            self.model.keys(process, transition, state, &[self.envelope(candidate.message)]).is_ok()
        };
        let from = |candidate: &Candidate| self.envelope(candidate.message).from;
        match trigger {
            Trigger::Quorum(QuorumSystem::Size { size, .. }) if *size != 1 => {
                let clear: Vec<Candidate> = heard.iter().filter(|one| clear(one)).copied().collect();
                choose(&clear, *size, &from, &mut Vec::new(), &mut sets);
            }
            Trigger::Quorum(QuorumSystem::Listed(quorums)) => {
                for quorum in quorums.iter().filter(|quorum| quorum.len() != 1) {
                    let members = heard.iter().filter(|one| quorum.contains(&from(one)) && clear(one));
                    choose(
                        &members.copied().collect::<Vec<_>>(),
                        quorum.len(),
                        &from,
                        &mut Vec::new(),
                        &mut sets,
                    );
                }
            }
            _ => {}
        }
        sets
    }

    /// The answers of a transition to these messages: none if it does not accept them.
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
        let outcomes = self.ask(process, local, transition, consumed);
        let outcome_hash = hash_of(&outcomes);
        self.handler_calls += outcomes.len() as u64;
        self.ask_again(&input, &outcomes);
        if self.late.len() < LATE_MAX {
            self.late.push((input.clone(), outcomes.clone()));
        }
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

    /// Asks the guard of a transition and, if that accepts, the handler.
    fn ask(
        &self,
        process: ProcessId,
        local: LocalId,
        transition: usize,
        consumed: &[MessageId],
    ) -> Vec<Result<Outcome, Panicked>> {
        let envelopes: Vec<&Envelope> = consumed.iter().map(|message| self.envelope(*message)).collect();
        let state = self.locals.value(local);
        match self.model.accepts(process, transition, state, &envelopes) {
            Ok(true) => self.model.run(process, transition, state, &envelopes),
            Ok(false) => Vec::new(),
            Err(panicked) => vec![Err(panicked)],
        }
    }

    /// Asks once more and compares: answers are remembered, so they must depend on nothing but the input.
    fn ask_again(&mut self, input: &HandlerInput, outcomes: &[Result<Outcome, Panicked>]) {
        let (process, local, transition, consumed) = input;
        if self.ask(*process, *local, *transition, consumed) != outcomes {
            let process = self.model.process(*process);
            self.impure.get_or_insert_with(|| {
                format!(
                    "handler '{}' of {} is not a function of its inputs: it answers differently when it is asked twice",
                    process.transitions()[*transition].name(),
                    process.name()
                )
            });
        }
    }

    /// Asks some handlers once more at the end of the search, to catch those that look at a clock.
    pub(crate) fn conclude(&mut self) {
        for (input, outcomes) in std::mem::take(&mut self.late) {
            self.ask_again(&input, &outcomes);
        }
    }

    /// The restart of a process, if it may restart and that changes anything.
    fn restart(&mut self, process: ProcessId, local: LocalId, restarts: u8) -> Option<Step> {
        if restarts >= self.model.fault_limits_of(process).restarts {
            return None;
        }
        let done = match self.model.restarted(process, self.locals.value(local)) {
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
    pub(super) fn is_interested(&self, process: ProcessId, local: LocalId, message: MessageId) -> bool {
        let envelope = self.envelope(message);
        let state = self.locals.value(local);
        let transitions = self.model.process(process).transitions().iter().enumerate();
        transitions.filter(|(_, transition)| transition.trigger().listens_to(envelope.from)).any(|(at, _)| {
            let keys = self.model.keys(process, at, state, &[envelope]);
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

/// Every choice of so many candidates from different senders.
fn choose(
    remaining: &[Candidate],
    wanted: usize,
    from: &impl Fn(&Candidate) -> ProcessId,
    chosen: &mut Vec<Candidate>,
    found: &mut Vec<Vec<Candidate>>,
) {
    if wanted == 0 {
        found.push(chosen.clone());
        return;
    }
    for at in 0..remaining.len() {
        if chosen.iter().all(|other| from(other) != from(&remaining[at])) {
            chosen.push(remaining[at]);
            choose(&remaining[at + 1..], wanted - 1, from, chosen, found);
            chosen.pop();
        }
    }
}

/// A hash of what a handler did, the same in every operating-system process.
fn hash_of(outcomes: &[Result<Outcome, Panicked>]) -> u64 {
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
