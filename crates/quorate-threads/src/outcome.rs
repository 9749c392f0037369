//! What came of a check, for people.
//!
//! A violation is shown as one run of the whole system: what the components do, woven together so that every message is
//! sent before it is received. The order is otherwise arbitrary: nothing that one component does between messages can
//! be seen by another.
//! Held by: `tests/replicated_log.rs`.

use std::collections::HashMap;
use std::fmt::{self, Debug, Display};
use std::hash::Hash;
use std::sync::atomic::Ordering;

use quorate::engine::components::{ComponentCounts, Composed, Found, MessageId};
use quorate::property::Property;
use quorate::report::Stopped;

use crate::net::Book;
use crate::step::{Act, Step};

/// What came of a check.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// What was violated, if anything was.
    pub violation: Option<Violation>,
    /// Why the exploration is not complete, if it is not.
    pub stopped: Option<Stopped>,
    /// The counts: local traces, global skeletons and traces, cuts.
    pub counts: ComponentCounts,
    /// How often a component was run.
    pub runs: u64,
}

/// A run that violates something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// What is wrong.
    pub wrong: String,
    /// What happens: each line is an operation of a thread of a component.
    pub lines: Vec<String>,
}

impl Outcome {
    pub(crate) fn new<M, O>(
        composed: Composed<Step>,
        names: &[String],
        book: &Book<M, O>,
        properties: &[Property],
    ) -> Self
    where
        M: Clone + Eq + Hash + Debug,
        O: Clone + Eq + Hash + Debug,
    {
        let Composed { found, counts, .. } = composed;
        let story = |paths: &[Vec<Step>]| {
            let woven = woven(paths).into_iter();
            woven.filter_map(|(component, step)| line_of(step, component, names, book)).collect()
        };
        let (violation, stopped) = match found {
            Found::Nothing => (None, None),
            Found::Stopped(stopped) => (None, Some(stopped)),
            Found::Broken { property, paths } => {
                let seen: Vec<Option<O>> = paths.iter().map(|path| shown_last(path, book)).collect();
                let wrong = format!("'{}' is broken by {seen:?}", properties[property].name());
                (Some(Violation { wrong, lines: story(&paths) }), None)
            }
            Found::Panic { component, paths, step, message } => {
                let wrong = format!("{}: {message}", names[component]);
                let last = step.and_then(|step| line_of(&step, component, names, book));
                let lines: Vec<String> = story(&paths);
                (Some(Violation { wrong, lines: lines.into_iter().chain(last).collect() }), None)
            }
        };
        Outcome { violation, stopped, counts, runs: book.runs.load(Ordering::Relaxed) }
    }

    /// Panics unless everything was explored and nothing violated.
    #[track_caller]
    pub fn assert_holds(&self) {
        if let Some(violation) = &self.violation {
            panic!("{violation}");
        }
        if let Some(stopped) = &self.stopped {
            panic!("unknown: {stopped}");
        }
    }

    /// The violation; panics if there is none.
    #[track_caller]
    pub fn assert_violated(&self) -> &Violation {
        self.violation.as_ref().expect("a violation")
    }
}

impl Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{}", self.wrong)?;
        self.lines.iter().try_for_each(|line| writeln!(formatter, "  {line}"))
    }
}

/// What a component has exposed last on this path.
fn shown_last<M, O>(way: &[Step], book: &Book<M, O>) -> Option<O>
where
    M: Clone + Eq + Hash,
    O: Clone + Eq + Hash,
{
    let shown = |step: &Step| match step.act {
        Act::Expose(observed) => book.observations().get(observed).clone(),
        _ => None,
    };
    way.iter().rev().find_map(shown)
}

/// What the components do, in an order in which messages are sent before they are received.
fn woven(ways: &[Vec<Step>]) -> Vec<(usize, &Step)> {
    let mut sent: HashMap<MessageId, usize> = HashMap::new();
    let mut at = vec![0; ways.len()];
    let mut woven = Vec::new();
    loop {
        let can_go_on = |component: &usize| match ways[*component].get(at[*component]).map(|step| &step.act) {
            Some(Act::Receive(message)) => sent.get(message).is_some_and(|copies| *copies > 0),
            next => next.is_some(),
        };
        let Some(component) = (0..at.len()).find(can_go_on) else { return woven };
        let step = &ways[component][at[component]];
        match step.act {
            Act::Send(message) => *sent.entry(message).or_default() += 1,
            Act::Receive(message) => *sent.entry(message).or_default() -= 1,
            _ => {}
        }
        at[component] += 1;
        woven.push((component, step));
    }
}

/// A line for a step; `None` for steps that only give something up.
fn line_of<M, O>(step: &Step, component: usize, names: &[String], book: &Book<M, O>) -> Option<String>
where
    M: Clone + Eq + Hash + Debug,
    O: Clone + Eq + Hash + Debug,
{
    let message = |message: MessageId| book.messages().get(message as usize).clone();
    let what = match &step.act {
        Act::Release(..) | Act::Exit | Act::HangUp(_) | Act::Deafen(_) => return None,
        Act::Send(sent) => {
            let (_, to, content) = message(*sent);
            format!("sends {content:?} to {}", names[to])
        }
        Act::Receive(received) => {
            let (from, _, content) = message(*received);
            format!("receives {content:?} from {}", names[from])
        }
        Act::Expose(observed) => {
            let observations = book.observations();
            observations.get(*observed).as_ref().map(|shown| format!("shows {shown:?}"))?
        }
        other => other.to_string(),
    };
    Some(format!("{} thread {}: {what}", names[component], step.agent))
}
