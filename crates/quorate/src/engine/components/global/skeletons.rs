//! The skeletons of a system, one after the other.
//!
//! From: DEMETER, sections 3.3 and 3.4, composition by substitution; docs/theory/components.md 2 and 5. A skeleton
//! that was found is cut back, for each component and each prefix of what others see of it, to the largest prefix of
//! the whole in which the component got no further (gap 2). Whatever else the component can do there begins a new
//! skeleton, a *branch*. It is run to completion in any order, unless a known skeleton begins like it.
//! Differs: a table has all that a component can do at a local skeleton with what is on offer, so new branches never
//! have to be matched with old skeletons; the index over (component, local skeleton) is the table of nodes. No run is
//! stored: every point of a node has the steps that lead to it, and steps of different components fit together because
//! their skeletons do.
//! Known: finds the skeleton of every maximal run. Suppose one is not found, with its pauses, and take a known one
//! that has as much in common with it as any. The first event that is missing there is possible in the known one, cut
//! back to where its component differs; the branch that begins so has more in common with it. If no event is missing,
//! the known one goes on where all components of the other could stay, and a pause would have shown that.
//! Invariant: every skeleton happens in a run; the known ones are complete, that is, no component can do anything more
//! that others see.
//! Held by: testkit/tests/dir.rs (as many runs as an enumerator of runs finds), quorate-zoo/tests/dir.rs.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use super::boundary::Boundary;
use crate::base::{Mutant, Mutants, discard, for_each_closed_set};
use crate::engine::Search;
use crate::engine::components::embedded::{ComponentChecker, MessageId};
use crate::engine::components::events::{EventId, Events, Label, Skeleton, What};
use crate::engine::components::local::{Explorers, Locals};
use crate::engine::components::log::{Judged, ProgressLog, Record};
use crate::engine::components::meter::{Done, Halt, Meter};

/// The skeletons of a system.
pub(crate) struct Global<'e, E: ComponentChecker> {
    pub(crate) locals: Locals<'e, E>,
    pub(crate) events: Events,
    pub(crate) boundary: Boundary,
    pub(crate) in_order: bool,
    pub(super) mutants: Mutants,
    /// The skeletons so far, with pauses, in the order in which they were found.
    pub(super) found: Vec<Skeleton>,
    /// Which of these an event is in.
    containing: HashMap<EventId, Vec<usize>>,
    /// The skeletons so far, without pauses.
    bare: HashSet<Skeleton>,
    /// How many of the skeletons have no branches that are not known.
    pub(super) explored: usize,
    /// Where the search for branches is.
    cursor: Option<Cursor>,
    pub(super) log: Option<ProgressLog>,
    /// How many labels and events are in the log.
    pub(super) logged: (usize, usize),
    pub(super) committed_at: Instant,
}

/// The branches of a skeleton that are still to be tried.
struct Cursor {
    skeleton: Arc<Skeleton>,
    /// Components, each with a prefix of its events.
    prefixes: std::vec::IntoIter<(usize, Vec<EventId>)>,
    /// The branches after the current prefix.
    branches: std::vec::IntoIter<Skeleton>,
    has_begun: bool,
}

impl<'e, E: ComponentChecker> Global<'e, E> {
    /// A system inside a boundary. Messages of one sender to one receiver stay in order, or do not.
    pub(crate) fn new(
        checker: E,
        explorers: Explorers<'e, E>,
        boundary: Boundary,
        in_order: bool,
        search: &Search,
        log: Option<ProgressLog>,
    ) -> Self {
        Global {
            locals: Locals::new(checker, explorers, in_order, search),
            events: Events::default(),
            boundary,
            in_order,
            mutants: search.tuning.mutants,
            found: Vec::new(),
            containing: HashMap::new(),
            bare: HashSet::new(),
            explored: 0,
            cursor: None,
            log,
            logged: (0, 0),
            committed_at: Instant::now(),
        }
    }

    /// The checker. Everything else is given back, without waiting for it.
    pub(crate) fn into_checker(self) -> E {
        let Global { locals, events, found, containing, bare, .. } = self;
        discard((events, found, containing, bare));
        locals.into_checker()
    }

    /// Starts anew under a restriction: every skeleton begins like this, and the outside is to see exactly this of each
    /// member. Tables and events stay known.
    pub(crate) fn restrict(&mut self, begins: Skeleton, skeleton: Vec<Vec<Label>>) {
        self.boundary.restrict(begins, skeleton);
        self.found.clear();
        self.containing.clear();
        self.bare.clear();
        self.explored = 0;
        self.cursor = None;
    }

    /// The skeletons so far, with pauses.
    pub(crate) fn found(&self) -> &[Skeleton] {
        &self.found
    }

    pub(crate) fn components(&self) -> usize {
        self.locals.checker.components().count()
    }

    /// How many skeletons there are, pauses apart.
    pub(crate) fn skeletons(&self) -> usize {
        self.bare.len()
    }

    /// How many events the longest skeleton has.
    pub(crate) fn longest(&self) -> usize {
        self.bare.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// The next complete skeleton, without pauses; `None` if there are no more. Each comes once.
    pub(crate) fn next(&mut self, meter: &mut Meter<'_>) -> Result<Option<Skeleton>, Halt> {
        if self.found.is_empty()
            && let Some(first) = self.add(self.boundary.beginning(), meter)?
        {
            return Ok(Some(first));
        }
        while let Some(branch) = self.next_branch(meter)? {
            if !self.begins_a_known_one(&branch)
                && let Some(next) = self.add(branch, meter)?
            {
                return Ok(Some(next));
            }
        }
        Ok(None)
    }

    /// The next branch of the skeletons so far.
    fn next_branch(&mut self, meter: &mut Meter<'_>) -> Result<Option<Skeleton>, Halt> {
        while let Some(mut cursor) = self.cursor.take().or_else(|| self.next_cursor()) {
            if let Some(branch) = cursor.branches.next() {
                self.cursor = Some(cursor);
                return Ok(Some(branch));
            }
            if cursor.has_begun {
                meter.pass()?;
            }
            if let Some((component, own)) = cursor.prefixes.next() {
                cursor.branches = self.branches(&cursor.skeleton, component, &own, meter)?.into_iter();
                cursor.has_begun = true;
                self.cursor = Some(cursor);
            } else {
                self.explored += 1;
                self.write_log(&[Record::Explored])?;
                meter.coverage.frontier = (self.found.len() - self.explored) as u64;
            }
        }
        Ok(None)
    }

    fn next_cursor(&self) -> Option<Cursor> {
        let skeleton = Arc::new(self.found.get(self.explored)?.clone());
        let mut prefixes = Vec::new();
        for component in 0..self.components() {
            let own = self.events.of(&skeleton, component);
            prefixes.extend(self.prefixes(&own).into_iter().map(|prefix| (component, prefix)));
        }
        let (prefixes, branches) = (prefixes.into_iter(), Vec::new().into_iter());
        Some(Cursor { skeleton, prefixes, branches, has_begun: false })
    }

    /// Logs what the judge has found out about the skeleton that came last.
    pub(crate) fn log_judged(&mut self, judged: Judged) -> Result<(), Halt> {
        let last = self.found.last().cloned().unwrap_or_default();
        self.write_log(&[Record::Found(last, Some(judged))])
    }

    /// Completes a skeleton and notes it. Returns it without pauses, if it is new without them.
    fn add(&mut self, skeleton: Skeleton, meter: &mut Meter<'_>) -> Result<Option<Skeleton>, Halt> {
        let complete = self.complete(skeleton, meter)?;
        self.prepare_branches(&complete, meter)?;
        let bare = self.events.bare(&complete);
        if !self.boundary.is_open() {
            // Inside a component it stands for runs of the component, as a point does.
            meter.add(Done { points: 1, ..Done::default() })?;
        }
        if self.note(complete.clone(), meter) {
            return Ok(Some(bare));
        }
        self.write_log(&[Record::Found(complete, None)])?;
        Ok(None)
    }

    /// Notes a complete skeleton. `false` if it is known without its pauses.
    pub(super) fn note(&mut self, complete: Skeleton, meter: &mut Meter<'_>) -> bool {
        let at = self.found.len();
        for event in &complete {
            self.containing.entry(*event).or_default().push(at);
        }
        let bare = self.events.bare(&complete);
        meter.other_bytes += (16 * complete.len() + 4 * bare.len() + 128) as u64;
        self.found.push(complete);
        self.bare.insert(bare)
    }

    /// Makes the tables that show what can happen instead of what a skeleton says, and what properties see on the
    /// way. A panic in any of them ends the search here: a table in which nothing but a panic can happen shows
    /// nothing.
    fn prepare_branches(&mut self, skeleton: &Skeleton, meter: &mut Meter<'_>) -> Result<(), Halt> {
        let mut cases = Vec::new();
        for component in 0..self.components() {
            if self.locals.is_enumerated(component) {
                let own = self.events.of(skeleton, component);
                let prefixes = self.prefixes(&own).into_iter();
                let prefix = |own: Vec<EventId>| self.events.max_prefix(skeleton, component, &own);
                cases.extend(prefixes.map(|own| (prefix(own), component)));
            }
        }
        self.prepare(&cases, meter)?;
        for (prefix, component) in &cases {
            self.situation(prefix, *component, meter)?;
        }
        Ok(())
    }

    /// The prefixes of what a component does: sets of its events, each with all causes inside the component.
    fn prefixes(&self, own: &[EventId]) -> Vec<Vec<EventId>> {
        let position = |event: EventId| own.binary_search(&event).ok();
        let needs = |event: &EventId| {
            let event = self.events.get(*event);
            event.before.iter().copied().chain(event.pause).filter_map(position).collect()
        };
        let needs: Vec<Vec<usize>> = own.iter().map(needs).collect();
        let mut prefixes = Vec::new();
        let mut note = |chosen: &[usize]| {
            prefixes.push(chosen.iter().map(|at| own[*at]).collect());
            Ok::<(), std::convert::Infallible>(())
        };
        let Ok(()) = for_each_closed_set(&needs, &mut note);
        let mut begun = self.boundary.beginning();
        begun.retain(|event| position(*event).is_some());
        prefixes.retain(|prefix: &Vec<EventId>| begun.iter().all(|event| prefix.contains(event)));
        if self.mutants.has(Mutant::NoPrefixes) {
            prefixes.retain(|prefix: &Vec<EventId>| prefix.len() == own.len());
        }
        prefixes
    }

    /// Lets the components go on, in any order, as long as others see it. Components whose tables are made together
    /// take one step at a time; the others each go as far as they can.
    fn complete(&mut self, mut skeleton: Skeleton, meter: &mut Meter<'_>) -> Result<Skeleton, Halt> {
        let (together, one_by_one): (Vec<usize>, Vec<usize>) =
            (0..self.components()).partition(|component| self.locals.is_enumerated(*component));
        loop {
            let before = skeleton.len();
            let cases: Vec<(Skeleton, usize)> =
                together.iter().map(|component| (skeleton.clone(), *component)).collect();
            self.prepare(&cases, meter)?;
            // What one component does next takes nothing away from another.
            let mut next = Vec::new();
            for component in &together {
                next.extend(self.first_event(&skeleton, *component, meter)?);
            }
            for event in next {
                insert(&mut skeleton, event);
            }
            for component in &one_by_one {
                while let Some(next) = self.first_event(&skeleton, *component, meter)? {
                    insert(&mut skeleton, next);
                }
            }
            if skeleton.len() == before {
                return Ok(skeleton);
            }
        }
    }

    /// The first of the events of a component that may come next.
    fn first_event(
        &mut self,
        skeleton: &Skeleton,
        component: usize,
        meter: &mut Meter<'_>,
    ) -> Result<Option<EventId>, Halt> {
        meter.pass()?;
        let situation = self.situation(skeleton, component, meter)?;
        Ok(self.next_events(component, &situation).first().copied())
    }

    /// What can happen instead after a component has had these events: every skeleton that begins so and is no prefix
    /// of the skeleton it branches from.
    fn branches(
        &mut self,
        skeleton: &Skeleton,
        component: usize,
        own: &[EventId],
        meter: &mut Meter<'_>,
    ) -> Result<Vec<Skeleton>, Halt> {
        let prefix = self.events.max_prefix(skeleton, component, own);
        let situation = self.situation(&prefix, component, meter)?;
        let mut next = self.next_events(component, &situation);
        if self.mutants.has(Mutant::NoReceptions) {
            let all = self.events.of(skeleton, component);
            let mut after = all.into_iter().filter(|event| own.binary_search(event).is_err());
            let follows = after.next().and_then(|event| self.sent(event));
            next.retain(|event| self.sent(*event) != follows);
        }
        if !self.mutants.has(Mutant::NoPauses) {
            next.extend(self.next_pauses(component, &situation, &next, meter)?);
        }
        next.retain(|event| skeleton.binary_search(event).is_err());
        let branch = |event| {
            let mut branch = prefix.clone();
            insert(&mut branch, event);
            branch
        };
        Ok(next.into_iter().map(branch).collect())
    }

    /// What an event sends.
    fn sent(&self, event: EventId) -> Option<&[MessageId]> {
        let What::Interface(label) = self.events.get(event).what else { return None };
        Some(&self.locals.label(label).sent)
    }

    /// Does a known skeleton begin like this?
    fn begins_a_known_one(&self, skeleton: &Skeleton) -> bool {
        let containing = |event: &EventId| self.containing.get(event).map_or(&[][..], Vec::as_slice);
        let Some(fewest) = skeleton.iter().map(containing).min_by_key(|known| known.len()) else {
            return !self.found.is_empty();
        };
        fewest.iter().any(|known| {
            let mut remaining = self.found[*known].iter();
            skeleton.iter().all(|event| remaining.any(|other| other == event))
        })
    }
}

fn insert(skeleton: &mut Skeleton, event: EventId) {
    if let Err(position) = skeleton.binary_search(&event) {
        skeleton.insert(position, event);
    }
}
