//! Do an observation and a condition answer the same when they are asked again? Their answers are remembered, by every
//! engine, so they are asked again wherever they are asked.
//!
//! Known: what is broken is always asked again; of other answers only some are.
//! Held by: testkit/tests/purity.rs.

use std::sync::{Mutex, PoisonError};

use super::Property;
use crate::base::{AskedAgain, LATE_MAX, Value};

/// What is known of the code of one property.
#[derive(Default)]
pub(super) struct Purity {
    observations: AskedAgain,
    conditions: AskedAgain,
    /// Some questions with their answers, to be asked once more when a search ends.
    kept: Mutex<Vec<Question>>,
}

enum Question {
    Observed { state: Value, seen: Option<Value> },
    Held { observed: Vec<Value>, holds: bool },
}

impl Purity {
    pub(super) fn impure(&self) -> Option<&str> {
        self.observations.impure().or(self.conditions.impure())
    }

    /// A property sees this of a local state.
    pub(super) fn observed(&self, property: &Property, state: &Value, seen: Option<&Value>) {
        if seen.is_some_and(|seen| !seen.equals_itself()) {
            self.observations
                .note_unequal(|| format!("what '{}' observes of {state:?}, {seen:?},", property.name));
        }
        if self.observations.is_due() {
            self.compare_observation(property, state, seen);
            self.keep(|| Question::Observed { state: state.clone(), seen: seen.cloned() });
        }
    }

    /// A property holds, or does not, for what it sees.
    pub(super) fn held(&self, property: &Property, observed: &[&Value], holds: bool) {
        if self.conditions.is_due() || !holds {
            self.compare_condition(property, observed, holds);
            let all = || observed.iter().map(|value| (*value).clone()).collect();
            self.keep(|| Question::Held { observed: all(), holds });
        }
    }

    /// A search has ended, or replay does not confirm what it found: asks what was kept once more.
    pub(super) fn ask_again(&self, property: &Property) {
        let kept = std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner));
        for question in kept {
            match question {
                Question::Observed { state, seen } => {
                    self.compare_observation(property, &state, seen.as_ref());
                }
                Question::Held { observed, holds } => {
                    self.compare_condition(property, &observed.iter().collect::<Vec<_>>(), holds);
                }
            }
        }
    }

    fn compare_observation(&self, property: &Property, state: &Value, seen: Option<&Value>) {
        let again = property.observe_once(state);
        let who = || format!("the observation of '{}'", property.name);
        self.observations.compare(who, state, (&seen, &again.as_ref()));
    }

    fn compare_condition(&self, property: &Property, observed: &[&Value], holds: bool) {
        let again = property.holds_once(observed);
        let who = || format!("the condition of '{}'", property.name);
        self.conditions.compare(who, &observed, (&holds, &again));
    }

    fn keep(&self, question: impl FnOnce() -> Question) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < LATE_MAX {
            kept.push(question());
        }
    }
}
