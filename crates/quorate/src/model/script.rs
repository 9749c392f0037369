//! The choices of a run of a handler.

use std::cell::RefCell;
use std::fmt::Debug;

use super::Choice;

/// How the message begins when a handler is made to repeat a choice that it does not have.
pub(crate) const MISFIT: &str = "the choice to repeat does not exist";

/// The choices of one run of a handler: those to repeat, then the first alternative of each new one.
#[derive(Clone, Default, Debug)]
pub(crate) struct Script {
    planned: Vec<usize>,
    made: Vec<Choice>,
    /// Repeats a step that has happened already: not the run in progress.
    past: bool,
}

thread_local! {
    /// The choices of the run in progress, for the case that it ends in a panic.
    static MADE: RefCell<Vec<Choice>> = const { RefCell::new(Vec::new()) };
}

impl Script {
    pub(crate) fn replaying(choices: &[usize]) -> Self {
        Script { planned: choices.to_vec(), ..Script::default() }
    }

    pub(crate) fn of_the_past(choices: &[usize]) -> Self {
        Script { past: true, ..Script::replaying(choices) }
    }

    /// A run begins: it has made no choices yet.
    pub(crate) fn begin() {
        MADE.with_borrow_mut(Vec::clear);
    }

    /// The script of a run that panicked, and so could not hand it back.
    pub(crate) fn of_last_panic(mut before: Script) -> Self {
        before.made = MADE.take();
        before
    }

    pub(crate) fn choose<T: Debug>(&mut self, alternatives: Vec<T>) -> T {
        self.make(alternatives, false)
    }

    /// A choice that says which step this is.
    pub(crate) fn choose_step<T: Debug>(&mut self, alternatives: Vec<T>) -> T {
        self.make(alternatives, true)
    }

    fn make<T: Debug>(&mut self, mut alternatives: Vec<T>, names_step: bool) -> T {
        assert!(!alternatives.is_empty(), "a choice between no alternatives");
        let index = self.planned.get(self.made.len()).copied().unwrap_or(0);
        let of = alternatives.len();
        assert!(index < of, "{MISFIT}: {index} of {of}");
        let chosen = alternatives.swap_remove(index);
        self.made.push(Choice { index, of, text: format!("{chosen:?}"), names_step });
        if !self.past {
            MADE.with_borrow_mut(|made| made.clone_from(&self.made));
        }
        chosen
    }

    pub(crate) fn choices(&self) -> Vec<Choice> {
        self.made.clone()
    }

    /// Moves on to the next combination of choices; false when there is none.
    pub(crate) fn advance(&mut self) -> bool {
        let made = std::mem::take(&mut self.made);
        let Some(last) = made.iter().rposition(|choice| choice.index + 1 < choice.of) else {
            return false;
        };
        self.planned = made[..=last].iter().map(|choice| choice.index).collect();
        self.planned[last] += 1;
        true
    }
}
