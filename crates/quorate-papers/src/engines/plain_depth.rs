//! Bounded depth-first search as it was published: states are compared by their content, and every transition runs its
//! handler. The loop is that of crates/quorate/src/engine/bounded.rs.
//!
//! From: Guerraoui, Yabandeh, *Model Checking a Networked System Without the Network*, figure 5 and 3.2: a global state
//! is the local states and the messages in flight.
//! Known: in the default world only, and without monitors. `b-dfs-memo` says the same in a fraction of the time; this
//! is what local model checking was compared with.
//! Held by: testkit/tests/bounded.rs.

use std::collections::HashSet;

use quorate::ProcessId;
use quorate::engine::bounded::{End, Expanded, Space, Walked, walk};
use quorate::engine::{Engine, Refusal, Search, violation};
use quorate::model::{Asked, Envelope, Handlers, Model, Outcome, Schedule, ScheduledStep, Taken, Value};
use quorate::property::{Property, When};
use quorate::replay::Length;
use quorate::report::{Coverage, Details, ExploreDetails, Report, Stopped, Verdict, Watch, heeding};
use quorate::world::StepKind;

use super::lmc::refuses;
use super::messages::{MessageId, Messages};

/// Bounded depth-first search as it was published.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PlainDepth;

impl Engine for PlainDepth {
    fn name(&self) -> &'static str {
        "b-dfs"
    }

    fn purpose(&self) -> &'static str {
        "global states by content, newest first up to a depth, as published: the baseline of local model checking"
    }

    fn refuses(&self, model: &Model, _: &Search) -> Option<Refusal> {
        refuses(model)
    }

    fn search(&self, model: &Model, search: &Search, watch: &mut dyn Watch) -> Report {
        let (report, met) = Self::search_and_keep(model, search, watch);
        // Giving back states one by one takes long; no answer need wait for it.
        _ = std::thread::Builder::new().spawn(move || drop(met));
        report
    }
}

impl PlainDepth {
    /// Searches, and gives the vectors of local states that it has met.
    pub fn search_and_collect(
        self,
        model: &Model,
        search: &Search,
        watch: &mut dyn Watch,
    ) -> (Report, HashSet<Vec<Value>>) {
        let (report, met) = Self::search_and_keep(model, search, watch);
        (report, met.into_iter().map(|state| state.locals).collect())
    }

    /// Searches, and gives the states that it has met.
    fn search_and_keep(model: &Model, search: &Search, watch: &mut dyn Watch) -> (Report, Vec<Global>) {
        let mut messages = Messages::default();
        let (locals, in_flight) = model.start_state();
        let mut inboxes = vec![Vec::new(); locals.len()];
        for (to, envelope) in in_flight {
            inboxes[to.index()].push(messages.number(to, envelope).0);
        }
        for inbox in &mut inboxes {
            inbox.sort_unstable();
        }
        let initial = Global { locals, inboxes };
        let mut contents =
            Contents { model, search, initial, messages, handlers: Handlers::new(model), handler_calls: 0 };
        let Walked { end, path, met, coverage } = walk(&mut contents, search, watch);
        let concluded = heeding(watch.stop(), || contents.handlers.conclude());
        let verdict = match (contents.handlers.impure(), end) {
            (Some(impure), _) => Verdict::Unknown(Stopped::Impure(impure.to_string())),
            (None, End::Exhausted) => concluded.map_or_else(Verdict::Unknown, |()| Verdict::Holds),
            (None, End::Stopped(stopped)) => Verdict::Unknown(stopped),
            (None, End::Violated { panics }) => violation(watch, || {
                let schedule = contents.schedule(&path, panics);
                Verdict::shown_by(model, schedule, Length::MayShrink)
            }),
        };
        let mut details = ExploreDetails::default();
        details.repeats = 1;
        (Report::new(model, verdict, coverage, Details::Explore(details)), met)
    }
}

/// A global state.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Global {
    locals: Vec<Value>,
    /// For each process the messages on their way to it, in ascending order.
    inboxes: Vec<Vec<MessageId>>,
}

/// A step of a global state.
struct Step {
    scheduled: ScheduledStep,
    /// Where it leads; nowhere if it panics.
    leads: Option<Global>,
}

/// States by content.
struct Contents<'m> {
    model: &'m Model,
    search: &'m Search,
    initial: Global,
    messages: Messages,
    handlers: Handlers<'m>,
    handler_calls: u64,
}

impl Contents<'_> {
    fn steps(&mut self, state: &Global) -> Vec<Step> {
        let mut steps = Vec::new();
        for process in self.model.ids() {
            let mut sent = state.inboxes[process.index()].clone();
            sent.dedup();
            for transition in 0..self.model.process(process).transitions().len() {
                let local = &state.locals[process.index()];
                let of = Asked { process, transition, state: local };
                for consumed in self.messages.consumptions(&mut self.handlers, of, &sent, None) {
                    self.outcomes(state, (process, transition), &consumed, &mut steps);
                }
            }
        }
        steps
    }

    /// Every outcome of a transition that consumes these messages.
    fn outcomes(
        &mut self,
        state: &Global,
        (process, transition): (ProcessId, usize),
        consumed: &[MessageId],
        steps: &mut Vec<Step>,
    ) {
        let at = process.index();
        let envelopes = self.messages.envelopes(consumed);
        let of = Asked { process, transition, state: &state.locals[at] };
        let outcomes = self.handlers.ask_selected(of, &envelopes).unwrap_or_default();
        let taken = |envelope: &&Envelope| Taken { envelope: (*envelope).clone(), nth: 0, forged: false };
        let taken: Vec<Taken> = envelopes.iter().map(taken).collect();
        for outcome in outcomes {
            self.handler_calls += 1;
            let (choices, leads) = match outcome {
                Ok(Outcome { choices, state: local, sends, .. }) => {
                    let mut next = state.clone();
                    next.locals[at] = local;
                    for message in consumed {
                        let inbox = &mut next.inboxes[at];
                        inbox.iter().position(|other| other == message).map(|place| inbox.remove(place));
                    }
                    for sending in sends {
                        let envelope = Envelope { from: process, body: sending.body };
                        let (message, _) = self.messages.number(sending.to, envelope);
                        let inbox = &mut next.inboxes[sending.to.index()];
                        inbox.insert(inbox.partition_point(|other| *other < message), message);
                    }
                    (choices, Some(next))
                }
                Err(panicked) => (panicked.choices, None),
            };
            let scheduled = ScheduledStep {
                process,
                kind: StepKind::Transition,
                transition,
                consumed: taken.clone(),
                choices: choices.iter().map(|choice| choice.index).collect(),
                sent: Vec::new(),
            };
            steps.push(Step { scheduled, leads });
        }
    }

    /// The steps along a path, and the one that panics in its last state if it ends so.
    fn schedule(&mut self, path: &[Global], panics: bool) -> Schedule {
        let targets = path[1..].iter().map(Some).chain(panics.then_some(None));
        let mut schedule = Schedule::new();
        for (state, target) in path.iter().zip(targets) {
            let step = self.steps(state).into_iter().find(|step| step.leads.as_ref() == target);
            schedule.push(step.expect("the path was found by its steps").scheduled);
        }
        schedule
    }
}

impl Space for Contents<'_> {
    type State = Global;

    fn initial(&self) -> Global {
        self.initial.clone()
    }

    fn expand(&mut self, state: &Global, successors: &mut Vec<Global>) -> Expanded {
        let (mut steps, mut ends, mut panics) = (0, true, false);
        for step in self.steps(state) {
            match step.leads {
                Some(next) => {
                    steps += 1;
                    // A step that leaves everything as it was is no reason to go on.
                    ends &= next == *state;
                    successors.push(next);
                }
                None => panics = true,
            }
        }
        let broken = |when: When| {
            let due = |property: &&Property| property.when() == when;
            self.model.properties().iter().filter(due).any(|property| property.check(&state.locals).is_err())
        };
        let ends = ends && !panics;
        Expanded { steps, ends, broken: broken(When::Always) || ends && broken(When::AtEnd), panics }
    }

    fn bytes_of(&self, state: &Global) -> usize {
        let messages: usize = state.inboxes.iter().map(|inbox| size_of_val(inbox.as_slice())).sum();
        size_of_val(state.locals.as_slice()) + size_of_val(state.inboxes.as_slice()) + messages
    }

    fn measure(&self, coverage: &mut Coverage) {
        (coverage.handler_calls, coverage.bytes) = (self.handler_calls, 0);
    }

    fn limit_reached(&self, coverage: &Coverage) -> Option<Stopped> {
        if let Some(impure) = self.handlers.impure() {
            return Some(Stopped::Impure(impure.to_string()));
        }
        let states = self.search.states_max.filter(|limit| coverage.states >= *limit);
        let bytes = self.search.bytes_max.filter(|limit| coverage.bytes >= *limit);
        states.map(Stopped::States).or(bytes.map(Stopped::Memory))
    }
}
