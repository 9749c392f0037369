//! What a trace shows, before anything is laid out: who takes part, what each step received, changed and
//! sent, and what is broken in the end.
//!
//! Known: a process has a lane if it takes a step or is observed; what was sent to others is described in words. A start
//! that changes nothing has no line of its own: it is counted among others like it.

use std::collections::BTreeSet;

use super::change::{Change, changes};
use super::debug_text::Tree;
use crate::base::ProcessId;
use crate::model::{Origin, Sent, Trace, TraceStep};
use crate::replay::Broken;
use crate::world::StepKind;

/// A process that is shown.
pub(super) struct Lane {
    pub(super) process: ProcessId,
    pub(super) name: String,
}

/// One step.
pub(super) struct Moment<'t> {
    /// From 1, as people count.
    pub(super) number: usize,
    pub(super) lane: usize,
    pub(super) kind: StepKind,
    /// What it is called.
    pub(super) title: String,
    pub(super) arrivals: Vec<Arrival>,
    /// What was chosen, where there was more than one alternative.
    pub(super) choices: Vec<&'t str>,
    pub(super) changes: Vec<Change>,
    pub(super) events: Vec<Tree>,
    pub(super) sendings: Vec<Sending>,
    pub(super) panic: Option<&'t str>,
}

impl Moment<'_> {
    /// Does it change, send or emit anything?
    pub(super) fn is_felt(&self) -> bool {
        !(self.changes.is_empty() && self.sendings.is_empty() && self.events.is_empty())
    }
}

/// First steps of processes, all called the same, that change nothing.
pub(super) struct LeftOut {
    pub(super) title: String,
    /// The number of each, and whose it is.
    pub(super) steps: Vec<(String, String)>,
}

/// A message that a step consumes.
pub(super) struct Arrival {
    pub(super) message: Tree,
    pub(super) from: usize,
    /// The number of the step that sent it; of the step itself if it is forged.
    pub(super) sent_in: usize,
}

/// A message that a step sends, with all who get it.
pub(super) struct Sending {
    pub(super) message: Tree,
    pub(super) to: String,
    /// How many of them consume it later in the trace.
    pub(super) received: usize,
    /// How many messages are lost on the way.
    pub(super) lost: usize,
    pub(super) receivers: usize,
}

/// An observation that breaks the property, with all who made it.
pub(super) struct Observed {
    pub(super) lanes: Vec<usize>,
    pub(super) value: Tree,
}

/// A trace, ready to be laid out.
pub(super) struct Story<'t> {
    pub(super) lanes: Vec<Lane>,
    pub(super) moments: Vec<Moment<'t>>,
    pub(super) left_out: Vec<LeftOut>,
    /// How many steps there are, shown or not.
    pub(super) steps: usize,
    pub(super) observed: Vec<Observed>,
}

impl<'t> Story<'t> {
    pub(super) fn of(trace: &'t Trace, broken: &'t Broken) -> Self {
        let observations: &[(ProcessId, String)] = match broken {
            Broken::Property { observed, .. } => observed,
            Broken::History { .. } | Broken::Panic { .. } => &[],
        };
        let left_out = left_out(trace);
        let shown_steps = trace.steps.iter().enumerate().filter(|(at, _)| !left_out.contains(at));
        let stepping = shown_steps.map(|(_, step)| step.process);
        let senders = trace.steps.iter().flat_map(|step| step.consumed.iter().map(|consumed| consumed.from));
        let shown: BTreeSet<ProcessId> =
            stepping.chain(senders).chain(observations.iter().map(|(process, _)| *process)).collect();
        let name = |process: ProcessId| {
            trace.processes.get(process.index()).cloned().unwrap_or_else(|| format!("{process:?}"))
        };
        let lanes = shown.into_iter().map(|process| Lane { process, name: name(process) }).collect();
        let steps = trace.steps.len();
        let mut story =
            Story { lanes, moments: Vec::new(), left_out: Vec::new(), steps, observed: Vec::new() };
        story.add_steps(trace, &left_out);
        for (process, value) in observations {
            story.note_observation(*process, Tree::read(value, &trace.processes));
        }
        story
    }

    fn lane(&self, process: ProcessId) -> usize {
        self.lanes.partition_point(|lane| lane.process < process)
    }

    fn add_steps(&mut self, trace: &'t Trace, left_out: &BTreeSet<usize>) {
        let taken_by = |kinds: &[StepKind]| -> BTreeSet<Origin> {
            let steps = trace.steps.iter().filter(|step| kinds.contains(&step.kind));
            steps
                .flat_map(|step| step.consumed.iter().filter_map(|consumed| consumed.source.origin()))
                .collect()
        };
        let received = taken_by(&[StepKind::Transition, StepKind::Crash]);
        let lost = taken_by(&[StepKind::Loss]);
        let read = |text: &String| Tree::read(text, &trace.processes);
        let mut states: Vec<Tree> = trace.initial.iter().map(read).collect();
        for (at, step) in trace.steps.iter().enumerate() {
            if left_out.contains(&at) {
                self.leave_out(at, step, &trace.processes);
                continue;
            }
            let state = read(&step.state);
            let before =
                states.get_mut(step.process.index()).map(|slot| std::mem::replace(slot, state.clone()));
            let arrivals = step.consumed.iter().map(|consumed| Arrival {
                message: read(&consumed.message),
                from: self.lane(consumed.from),
                sent_in: consumed.source.origin().map_or(at, |origin| origin.step) + 1,
            });
            self.moments.push(Moment {
                number: at + 1,
                lane: self.lane(step.process),
                kind: step.kind,
                title: step.title(),
                arrivals: arrivals.collect(),
                choices: step
                    .choices
                    .iter()
                    .filter(|choice| choice.of > 1 && !choice.names_step)
                    .map(|choice| choice.text.as_str())
                    .collect(),
                changes: before.map_or_else(Vec::new, |before| changes(&before, &state)),
                events: step.events.iter().map(read).collect(),
                sendings: sendings(trace, at, step, &received, &lost),
                panic: step.panic.as_deref(),
            });
        }
    }

    fn leave_out(&mut self, at: usize, step: &TraceStep, names: &[String]) {
        let name = names.get(step.process.index()).cloned().unwrap_or_default();
        let (title, entry) = (step.title(), ((at + 1).to_string(), name));
        match self.left_out.iter_mut().find(|start| start.title == title) {
            Some(start) => start.steps.push(entry),
            None => self.left_out.push(LeftOut { title, steps: vec![entry] }),
        }
    }

    fn note_observation(&mut self, process: ProcessId, value: Tree) {
        let lane = self.lane(process);
        match self.observed.iter_mut().find(|observed| observed.value == value) {
            Some(observed) => observed.lanes.push(lane),
            None => self.observed.push(Observed { lanes: vec![lane], value }),
        }
    }
}

/// The steps that start a process, at first or after a restart, and of which nothing can be seen. The last step is what
/// the story is about, so it is none of them.
fn left_out(trace: &Trace) -> BTreeSet<usize> {
    let mut fresh: BTreeSet<ProcessId> = (0..trace.processes.len()).map(ProcessId::new).collect();
    let mut states: Vec<&String> = trace.initial.iter().collect();
    let mut found = BTreeSet::new();
    for (at, step) in trace.steps.iter().enumerate() {
        let starts = fresh.remove(&step.process) && step.kind == StepKind::Transition;
        let keeps = states.get(step.process.index()).is_some_and(|state| **state == step.state);
        let silent = step.consumed.is_empty()
            && step.sent.is_empty()
            && step.events.is_empty()
            && step.panic.is_none()
            && step.choices.is_empty();
        if starts && keeps && silent && at + 1 < trace.steps.len() {
            found.insert(at);
        }
        if step.kind == StepKind::Restart {
            fresh.insert(step.process);
        }
        if let Some(state) = states.get_mut(step.process.index()) {
            *state = &step.state;
        }
    }
    found
}

/// What a step sends, equal messages together.
fn sendings(
    trace: &Trace,
    at: usize,
    step: &TraceStep,
    received: &BTreeSet<Origin>,
    lost: &BTreeSet<Origin>,
) -> Vec<Sending> {
    let among = |origins: &BTreeSet<Origin>, group: &[(usize, &Sent)]| {
        group.iter().filter(|(send, _)| origins.contains(&Origin { step: at, send: *send })).count()
    };
    let mut groups: Vec<(&str, Vec<(usize, &Sent)>)> = Vec::new();
    for (send, sent) in step.sent.iter().enumerate() {
        match groups.iter_mut().find(|(message, _)| *message == sent.message) {
            Some((_, group)) => group.push((send, sent)),
            None => groups.push((&sent.message, vec![(send, sent)])),
        }
    }
    let sending = |(message, group): (&str, Vec<(usize, &Sent)>)| Sending {
        message: Tree::read(message, &trace.processes),
        to: receivers(trace, step.process, &group.iter().map(|(_, sent)| sent.to).collect()),
        received: among(received, &group),
        lost: among(lost, &group),
        receivers: group.len(),
    };
    groups.into_iter().map(sending).collect()
}

/// The receivers of a message in words: `every acceptor`, `proposer 0`, `acceptor 0, 2 and itself`.
fn receivers(trace: &Trace, sender: ProcessId, to: &BTreeSet<ProcessId>) -> String {
    let role_of =
        |process: ProcessId| trace.processes.get(process.index()).map_or("?", |name| split_name(name).0);
    let mut roles: Vec<&str> = Vec::new();
    for &process in to {
        if !roles.contains(&role_of(process)) {
            roles.push(role_of(process));
        }
    }
    let receivers_in = |role: &&str| {
        let members = |chosen: &dyn Fn(ProcessId) -> bool| -> Vec<ProcessId> {
            let all = (0..trace.processes.len()).map(ProcessId::new);
            all.filter(|process| role_of(*process) == *role && chosen(*process)).collect()
        };
        let (all, chosen) = (members(&|_| true), members(&|process| to.contains(&process)));
        let others = members(&|process| process != sender);
        if chosen == [sender] {
            "itself".to_string()
        } else if chosen.len() > 1 && chosen == all {
            format!("every {role}")
        } else if chosen.len() > 1 && chosen == others {
            format!("every other {role}")
        } else {
            let names = chosen.iter().map(|process| trace.processes[process.index()].as_str());
            enumerate_names(names)
        }
    };
    let texts: Vec<String> = roles.iter().map(receivers_in).collect();
    match texts.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => texts.join(""),
    }
}

/// `acceptor 0, 2` for `acceptor 0` and `acceptor 2`; `acceptor 0–2` for all from 0 to 2.
pub(super) fn enumerate_names<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<(&str, Option<usize>)> = names
        .map(|name| match split_name(name) {
            (role, Some(number)) if number.parse::<usize>().is_ok() => (role, number.parse().ok()),
            // A number by itself.
            _ if name.parse::<usize>().is_ok() => ("", name.parse().ok()),
            _ => (name, None),
        })
        .collect();
    let follows = |(role, number): &(&str, Option<usize>), (next_role, next): &(&str, Option<usize>)| {
        role == next_role && number.zip(*next).is_some_and(|(number, next)| number + 1 == next)
    };
    let mut texts: Vec<String> = Vec::new();
    let mut last_role = None;
    for run in names.chunk_by(follows) {
        let numbers: Vec<usize> = run.iter().filter_map(|(_, number)| *number).collect();
        let numbers = match numbers.as_slice() {
            [] => String::new(),
            [only] => only.to_string(),
            [first, second] => format!("{first}, {second}"),
            [first, .., last] => format!("{first}–{last}"),
        };
        let role = run[0].0;
        texts.push(if last_role == Some(role) {
            numbers
        } else {
            format!("{role} {numbers}").trim().to_string()
        });
        last_role = Some(role);
    }
    texts.join(", ")
}

/// The role and the number in a process's name; no number if its role has one member.
pub(super) fn split_name(name: &str) -> (&str, Option<&str>) {
    match name.rsplit_once(' ') {
        Some((role, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => (role, Some(number)),
        _ => (name, None),
    }
}
