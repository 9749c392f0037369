//! The one place that asks the user's code during a search: selections, guards, handlers, and what is left of a state
//! after a restart. Whoever asks heeds a sign to stop.
//!
//! From: docs/theory/kernel.md 2. Searches remember answers, so code that answers differently when it is asked twice
//! would make them wrong without a sign. Each kind of question is asked again at once for its first answers in each
//! transition and for a sample of the later ones; a part of these once more when the search ends, for code that looks
//! at a clock.
//! Differs: replay asks the model itself, on purpose: it must not share a mistake with a search.
//! Known: a sample is no proof. What answers differently only now and then may not be noticed.
//! Held by: testkit/tests/purity.rs.

use std::fmt::Debug;

use super::{Envelope, Model, Outcome, Panicked};
use crate::base::{ProcessId, Value, heed};

/// The first answers of each kind in each transition are all asked for again.
const FIRST_ANSWERS: u64 = 16;
/// Of the later ones, one in so many.
const SAMPLE: u64 = 64;
/// How many of each kind are asked for once more at the end.
const LATE_MAX: usize = 256;

/// What a transition can do with some messages, once for each way of making its choices.
pub type Outcomes = Vec<Result<Outcome, Panicked>>;
/// Which messages a transition selects, and which of them go together.
pub type Keys = Result<Vec<Option<usize>>, Panicked>;

/// A transition of a process in a local state: whom a question is for.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// The process.
    pub process: ProcessId,
    /// The position of the transition among those of the process.
    pub transition: usize,
    /// The local state.
    pub state: &'a Value,
}

/// The user's code, asked for a search that remembers the answers.
pub struct Handlers<'m> {
    model: &'m Model,
    calls: u64,
    /// For each process and transition.
    counts: Vec<Vec<Counts>>,
    restarts: Vec<u64>,
    late: Vec<Question>,
    late_counts: [usize; 4],
    impure: Option<String>,
}

/// How many answers there were of each kind.
#[derive(Clone, Copy, Default)]
struct Counts {
    selections: u64,
    refusals: u64,
    runs: u64,
}

/// A question with its first answer.
struct Question {
    process: ProcessId,
    transition: usize,
    state: Value,
    messages: Vec<Envelope>,
    answer: Answer,
}

#[derive(PartialEq)]
enum Answer {
    Selected(Keys),
    /// The guard forbids the transition, or panics.
    Refused(Result<bool, Panicked>),
    Ran(Outcomes),
    Restarted(Result<Value, Panicked>),
}

impl Answer {
    /// Which of the kinds it is.
    fn kind(&self) -> usize {
        match self {
            Answer::Selected(_) => 0,
            Answer::Refused(_) => 1,
            Answer::Ran(_) => 2,
            Answer::Restarted(_) => 3,
        }
    }
}

impl<'m> Handlers<'m> {
    /// The code of a model, of which nothing was asked yet.
    pub fn new(model: &'m Model) -> Self {
        let counts =
            model.processes().iter().map(|process| vec![Counts::default(); process.transitions().len()]);
        Handlers {
            model,
            calls: 0,
            counts: counts.collect(),
            restarts: vec![0; model.processes().len()],
            late: Vec::new(),
            late_counts: [0; 4],
            impure: None,
        }
    }

    /// The model whose handlers these are.
    pub fn model(&self) -> &'m Model {
        self.model
    }

    /// Runs of handlers so far. Guards are not counted, nor is what is asked again.
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// What answered differently when it was asked again, and how.
    pub fn impure(&self) -> Option<&str> {
        self.impure.as_deref()
    }

    /// Which of these messages a transition selects.
    pub fn select(&mut self, of: Asked<'_>, messages: &[&Envelope]) -> Keys {
        heed();
        let keys = self.model.keys(of.process, of.transition, of.state, messages);
        if due(&mut self.counts[of.process.index()][of.transition].selections) {
            self.check(of, messages, Answer::Selected(keys.clone()));
        }
        keys
    }

    /// The outcomes of a transition on messages that fit its trigger and its selection; `None` if its guard forbids it.
    pub fn ask(&mut self, of: Asked<'_>, consumed: &[&Envelope]) -> Option<Outcomes> {
        let Asked { process, transition, state } = of;
        match self.guard(of, consumed) {
            Ok(false) => None,
            Err(panicked) => Some(vec![Err(panicked)]),
            Ok(true) => {
                let outcomes = self.model.run(process, transition, state, consumed);
                self.calls += outcomes.len() as u64;
                if due(&mut self.counts[process.index()][transition].runs) {
                    self.check(of, consumed, Answer::Ran(outcomes.clone()));
                }
                Some(outcomes)
            }
        }
    }

    /// As [`Handlers::ask`], of messages on which the selection may panic.
    pub fn ask_selected(&mut self, of: Asked<'_>, consumed: &[&Envelope]) -> Option<Outcomes> {
        match self.select(of, consumed) {
            Ok(_) => self.ask(of, consumed),
            Err(panicked) => Some(vec![Err(panicked)]),
        }
    }

    /// Does the guard of a transition allow it?
    pub fn guard(&mut self, of: Asked<'_>, consumed: &[&Envelope]) -> Result<bool, Panicked> {
        heed();
        let answer = self.model.guard(of.process, of.transition, of.state, consumed);
        // Where a guard agrees, it is asked again together with its handler.
        if answer != Ok(true) && due(&mut self.counts[of.process.index()][of.transition].refusals) {
            self.check(of, consumed, Answer::Refused(answer.clone()));
        }
        answer
    }

    /// The local state of a process after a restart.
    pub(crate) fn restarted(&mut self, process: ProcessId, state: &Value) -> Result<Value, Panicked> {
        let answer = self.model.restarted(process, state);
        if due(&mut self.restarts[process.index()]) {
            self.check(Asked { process, transition: 0, state }, &[], Answer::Restarted(answer.clone()));
        }
        answer
    }

    /// The search has ended: asks some questions once more.
    pub fn conclude(&mut self) {
        for question in std::mem::take(&mut self.late) {
            heed();
            self.ask_again(&question);
        }
    }

    /// Asks again at once, and keeps the question for the end.
    fn check(&mut self, of: Asked<'_>, messages: &[&Envelope], answer: Answer) {
        let Asked { process, transition, state } = of;
        let messages = messages.iter().map(|message| (*message).clone()).collect();
        let question = Question { process, transition, state: state.clone(), messages, answer };
        self.ask_again(&question);
        let late = &mut self.late_counts[question.answer.kind()];
        if *late < LATE_MAX {
            *late += 1;
            self.late.push(question);
        }
    }

    fn ask_again(&mut self, question: &Question) {
        let Question { process, transition, state, messages, answer } = question;
        let (process, transition, model) = (*process, *transition, self.model);
        let messages: Vec<&Envelope> = messages.iter().collect();
        let guard = || model.guard(process, transition, state, &messages);
        let differs = match answer {
            Answer::Selected(first) => {
                let again = model.keys(process, transition, state, &messages);
                difference("the selection of", first, &again)
            }
            Answer::Refused(first) => difference("the guard of", first, &guard()),
            Answer::Ran(first) => difference("the guard of", &Ok(true), &guard()).or_else(|| {
                let again = model.run(process, transition, state, &messages);
                let pair = first.iter().zip(&again).find(|(first, again)| first != again);
                let in_one = pair.and_then(|(first, again)| difference("handler", first, again));
                let counts = (format!("{} outcomes", first.len()), format!("{} outcomes", again.len()));
                in_one.or((first.len() != again.len()).then_some(("handler", counts.0, counts.1)))
            }),
            Answer::Restarted(first) => {
                difference("the restarted state of", first, &model.restarted(process, state))
            }
        };
        if let Some((what, first, again)) = differs
            && self.impure.is_none()
        {
            let name = model.process(process).name();
            let who = match answer {
                Answer::Restarted(_) => name.to_string(),
                _ => format!("'{}' of {name}", model.process(process).transitions()[transition].name()),
            };
            self.impure = Some(format!(
                "{what} {who} is not a function of its inputs (a clock, a random number, the order of a hash map?): in \
                 state {state:?} it first answered {first}, then {again}"
            ));
        }
    }
}

/// Is the next answer of a kind one to ask for again? Counts it.
fn due(count: &mut u64) -> bool {
    *count += 1;
    *count <= FIRST_ANSWERS || count.is_multiple_of(SAMPLE)
}

/// How two answers differ, if they do, and whose they are.
fn difference<T: PartialEq + Debug>(
    what: &'static str,
    first: &T,
    again: &T,
) -> Option<(&'static str, String, String)> {
    (first != again).then(|| (what, format!("{first:?}"), format!("{again:?}")))
}
