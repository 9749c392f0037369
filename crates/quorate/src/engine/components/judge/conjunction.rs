//! Conjunctions of local predicates: can more processes than allowed satisfy theirs at once?
//!
//! From: Garg and Waldecker, Detection of Weak Unstable Predicates in Distributed Programs (1994);
//! docs/theory/components.md 7. More than a limit is a disjunction of conjunctions: some components, each with at
//! least so many members that satisfy the predicate, together too many. For one conjunction a *cut* says how many
//! events each process of these components has had; the other components go as far as they can.
//!
//! Known: the search for a cut that satisfies a conjunction misses nothing. A component can be at a point in a cut if
//! what it takes to get there was sent. Equal messages come from one process, whose events follow each other, so it
//! is enough that the first of them were sent. So each point has a *least* cut: among the cuts in which the component
//! has had the same events, it can be at the point in exactly those that contain the least one. Now take a cut in
//! which a component has no point with enough members, and a larger cut that satisfies the conjunction. Either the
//! component has more events in the larger cut; then that contains the next event of some member, with all its
//! causes. Or it has not; then it is at a point with enough members, and the larger cut contains the least cut of
//! this point. So every cut that satisfies the conjunction contains one of these alternatives, and each of them is
//! larger than the cut we took. Of alternatives that contain each other the least is enough. If there is never more
//! than one, the search takes at most as many steps as there are events: a candidate that the causes of another have
//! overtaken is out for good, which is the paper's algorithm. There is more than one only in a group, where any
//! member may go on, and for a process that may have taken a message which its next send does not mention. No cut is
//! tried twice for a conjunction, so the search never takes longer than going through all cuts.
//! Differs: the paper has one run, in which it is known what was received when. A skeleton stands for many runs, and
//! what a component takes between two of its events is its own affair. The paper compares components two by two to
//! see which must go on; here it is the one with the fewest alternatives.
//! Held by: testkit/tests/conjunctions.rs (verdicts of the naive checker, counts, a mutant).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::properties::{Judge, PredicateCount, causes_among, table_in};
use crate::base::Mutant;
use crate::base::{for_each_closed_set, is_before, join};
use crate::engine::components::embedded::{ComponentChecker, MessageId};
use crate::engine::components::events::{EventId, NodeId, Skeleton, What};
use crate::engine::components::global::Global;
use crate::engine::components::meter::{Broken, Cut, Halt, Meter};
use crate::property::Property;

/// Up to so many conjunctions are searched one by one. If there are more, and a bound for the number of cuts is below
/// the bound for the number of steps, all cuts are gone through instead: there may be very many sets of processes and
/// hardly any cuts.
const CONJUNCTIONS_MAX: u128 = 1_000;

/// How many events of each process have happened.
type Clock = Vec<usize>;

/// The components that a conjunction looks at, and how many members of each have to satisfy the predicate.
type Conjunction = Vec<(usize, usize)>;

/// How many members of a component can satisfy the predicate, and the least cut in which they can.
struct Candidate {
    satisfied: usize,
    least: Clock,
}

/// What conjunctions have to know of a skeleton.
struct Course {
    /// The processes of each component.
    members: Vec<Vec<usize>>,
    /// The events of each process, in their order.
    events: Vec<Vec<EventId>>,
    /// For each event its process, and what has happened by then.
    clocks: HashMap<EventId, (usize, Clock)>,
    /// For a component whose members have had so many events: how many can satisfy the predicate, and from which cut
    /// on.
    candidates: HashMap<(usize, Vec<usize>), Vec<Candidate>>,
    /// The components of which some members satisfy the predicate at some point: how many at most.
    most: Conjunction,
    /// A bound for the number of cuts of these components.
    cuts: u128,
}

impl Judge<'_> {
    /// Looks for a cut of a skeleton in which more processes than the limit of a property satisfy its predicate.
    pub(super) fn look_for_more_than<E: ComponentChecker>(
        &mut self,
        limit: usize,
        global: &mut Global<'_, E>,
        skeleton: &Skeleton,
        at: usize,
        meter: &mut Meter<'_>,
    ) -> Result<(), Halt> {
        let components = global.locals.checker.components();
        let processes: usize = (0..components.count()).map(|at| components.members(at).len()).sum();
        let enough = limit.min(processes) + 1;
        let course = self.course(enough, global, skeleton, at, meter)?;
        let conjunctions = conjunctions(&course.most, enough);
        let steps = conjunctions.saturating_mul(skeleton.len() as u128 + 1);
        if conjunctions > CONJUNCTIONS_MAX && course.cuts < steps {
            return self.count_everywhere(enough, &course, global, skeleton, at, meter);
        }
        for_each_conjunction(&course.most, enough, &mut Vec::new(), &mut |conjunction| match self
            .satisfied_at(&course, conjunction, meter)?
        {
            None => Ok(()),
            Some(cut) => Err(self.broken(&course, conjunction, &cut, global, skeleton, at, meter)?),
        })
    }

    /// Finds, for each component that a property looks at and each prefix of its events, how many members can satisfy
    /// the predicate if the component can receive all that others can have sent by then. A state that cannot be
    /// observed breaks the property by itself.
    fn course<E: ComponentChecker>(
        &mut self,
        enough: usize,
        global: &mut Global<'_, E>,
        skeleton: &Skeleton,
        at: usize,
        meter: &mut Meter<'_>,
    ) -> Result<Course, Halt> {
        let mut course = Course::of(global, skeleton);
        for component in self.looked_at(global, at, meter)? {
            let own = global.events.of(skeleton, component);
            let needs = causes_among(global, skeleton, &own);
            let (mut most, mut cuts) = (0, 0);
            for_each_closed_set(&needs, &mut |chosen: &[usize]| {
                meter.pass()?;
                self.cuts += 1;
                cuts += 1;
                let included: Vec<EventId> = chosen.iter().map(|at| own[*at]).collect();
                let prefix = global.events.max_prefix(skeleton, component, &included);
                let receivable = global.receivable(&prefix, component);
                let counts =
                    self.counts_in(enough, global, &prefix, component, (at, &receivable.contents), meter)?;
                let candidate = |count: &PredicateCount| {
                    most = most.max(count.satisfied);
                    let mut left = count.taken.clone();
                    let mut least = vec![0; course.events.len()];
                    // The messages are in the order in which they were sent: of equal messages the first are taken.
                    for (message, (sender, _)) in &receivable.messages {
                        if let Some(at) = left.iter().position(|other| other == message) {
                            left.swap_remove(at);
                            join(&mut least, &course.clocks[sender].1);
                        }
                    }
                    Candidate { satisfied: count.satisfied, least }
                };
                let candidates = counts.iter().map(candidate).collect();
                let done = course.done(&included, component);
                course.candidates.insert((component, done), candidates);
                Ok(())
            })?;
            if most > 0 {
                course.most.push((component, most));
                course.cuts = course.cuts.saturating_mul(cuts);
            }
        }
        Ok(course)
    }

    /// How many members of a component can satisfy the predicate in a skeleton, with these messages on offer. Leaves
    /// out what takes more messages than another and has no more members that satisfy it.
    fn counts_in<E: ComponentChecker>(
        &mut self,
        enough: usize,
        global: &mut Global<'_, E>,
        skeleton: &Skeleton,
        component: usize,
        (at, offers): (usize, &[MessageId]),
        meter: &mut Meter<'_>,
    ) -> Result<Arc<Vec<PredicateCount>>, Halt> {
        let node = global.position(skeleton, component, meter)?.node;
        let key = (at, node, offers.to_vec());
        if let Some(known) = self.predicate_counts.get(&key) {
            return Ok(Arc::clone(known));
        }
        let table = table_in(global, skeleton, component, (node, offers), meter)?;
        let property = &self.properties[at];
        let count = |point: &usize| {
            let taken = global.locals.point(node, *point).taken.clone();
            PredicateCount { satisfied: satisfied(global, property, enough, node, *point), taken }
        };
        let mut all: Vec<PredicateCount> =
            table.points.iter().map(count).filter(|count| count.satisfied > 0).collect();
        all.sort_by_key(|count| (count.taken.len(), std::cmp::Reverse(count.satisfied)));
        let mut counts: Vec<PredicateCount> = Vec::new();
        for count in all {
            let is_more = |other: &PredicateCount| {
                other.satisfied >= count.satisfied && is_part(&other.taken, &count.taken)
            };
            if !counts.iter().any(is_more) {
                counts.push(count);
            }
        }
        let counts = Arc::new(counts);
        self.predicate_counts.insert(key, Arc::clone(&counts));
        Ok(counts)
    }

    /// Searches for a cut in which a conjunction is satisfied.
    fn satisfied_at(
        &mut self,
        course: &Course,
        conjunction: &Conjunction,
        meter: &mut Meter<'_>,
    ) -> Result<Option<Clock>, Halt> {
        let looks = course.looks(conjunction);
        let mut left = vec![vec![0; course.events.len()]];
        let mut known: HashSet<Clock> = left.iter().cloned().collect();
        while let Some(cut) = left.pop() {
            meter.pass()?;
            self.cuts += 1;
            let alternatives = conjunction.iter().map(|(component, wanted)| {
                let mut alternatives = course.alternatives(*component, *wanted, &cut, &looks);
                if self.mutants.has(Mutant::NoWaiting) {
                    let done = |cut: &Clock| course.done_at(cut, *component);
                    alternatives.retain(|other| *other == cut || done(other) != done(&cut));
                }
                alternatives
            });
            let unsatisfied = alternatives.filter(|alternatives| !alternatives.contains(&cut));
            let Some(fewest) = unsatisfied.min_by_key(Vec::len) else { return Ok(Some(cut)) };
            left.extend(fewest.into_iter().filter(|next| known.insert(next.clone())));
        }
        Ok(None)
    }

    /// Goes through all cuts, and counts at each how many processes can satisfy the predicate.
    fn count_everywhere<E: ComponentChecker>(
        &mut self,
        enough: usize,
        course: &Course,
        global: &mut Global<'_, E>,
        skeleton: &Skeleton,
        at: usize,
        meter: &mut Meter<'_>,
    ) -> Result<(), Halt> {
        let looks = course.looks(&course.most);
        let among: Vec<EventId> =
            skeleton.iter().filter(|event| looks[course.clocks[*event].0]).copied().collect();
        let needs = causes_among(global, skeleton, &among);
        for_each_closed_set(&needs, &mut |chosen: &[usize]| {
            meter.pass()?;
            self.cuts += 1;
            let mut cut: Clock = vec![0; looks.len()];
            for at in chosen {
                cut[course.clocks[&among[*at]].0] += 1;
            }
            let seen: Conjunction = course
                .most
                .iter()
                .map(|(component, _)| (*component, course.most_at(*component, &cut, &looks)))
                .collect();
            if seen.iter().map(|(_, satisfied)| satisfied).sum::<usize>() < enough {
                return Ok(());
            }
            Err(self.broken(course, &seen, &cut, global, skeleton, at, meter)?)
        })
    }

    /// Ends the search with a cut in which a conjunction is satisfied.
    #[expect(clippy::too_many_arguments, reason = "what was found, and where")]
    fn broken<E: ComponentChecker>(
        &self,
        course: &Course,
        conjunction: &Conjunction,
        cut: &Clock,
        global: &mut Global<'_, E>,
        skeleton: &Skeleton,
        at: usize,
        meter: &mut Meter<'_>,
    ) -> Result<Halt, Halt> {
        let looks = course.looks(conjunction);
        let left_out = |event: EventId| {
            let (process, clock) = &course.clocks[&event];
            looks[*process] && clock[*process] > cut[*process]
        };
        let cut = global.events.without(skeleton, left_out);
        let mut points = Vec::new();
        for component in 0..global.components() {
            let node = global.position(&cut, component, meter)?.node;
            let offers = global.receivable(&cut, component).contents;
            let table = table_in(global, &cut, component, (node, &offers), meter)?;
            let wanted = conjunction.iter().find(|(other, _)| *other == component);
            let wanted = wanted.map_or(0, |(_, wanted)| *wanted);
            let property = &self.properties[at];
            let is_there =
                |point: &&usize| satisfied(global, property, wanted.max(1), node, **point) >= wanted;
            let point = table.points.iter().find(is_there);
            points.push(*point.expect("a bug in quorate: a component is not where its messages lead"));
        }
        Ok(Halt::Broken(Box::new(Broken { property: at, cut: Cut { skeleton: cut, points } })))
    }
}

impl Course {
    /// The events of a skeleton; no candidates yet.
    fn of<E: ComponentChecker>(global: &Global<'_, E>, skeleton: &Skeleton) -> Self {
        let components = global.locals.checker.components();
        let of_component = |component| components.members(component).iter().map(|process| process.index());
        let members: Vec<Vec<usize>> =
            (0..components.count()).map(|component| of_component(component).collect()).collect();
        let mut events: Vec<Vec<EventId>> = vec![Vec::new(); members.iter().map(Vec::len).sum()];
        let mut clocks: HashMap<EventId, (usize, Clock)> = HashMap::new();
        for &number in skeleton {
            let event = global.events.get(number);
            let What::Interface(label) = event.what else {
                panic!("a bug in quorate: skeletons are judged without pauses")
            };
            let process = members[event.component][global.locals.label(label).member];
            let mut clock = vec![0; events.len()];
            event.causes().for_each(|cause| join(&mut clock, &clocks[&cause].1));
            clock[process] += 1;
            events[process].push(number);
            clocks.insert(number, (process, clock));
        }
        Course { members, events, clocks, candidates: HashMap::new(), most: Vec::new(), cuts: 1 }
    }

    /// How many of these events each member of a component has had.
    fn done(&self, events: &[EventId], component: usize) -> Vec<usize> {
        let of = |process: &usize| events.iter().filter(|event| self.clocks[event].0 == *process).count();
        self.members[component].iter().map(of).collect()
    }

    /// How many events each member of a component has had in a cut.
    fn done_at(&self, cut: &Clock, component: usize) -> Vec<usize> {
        self.members[component].iter().map(|process| cut[*process]).collect()
    }

    /// Which processes a conjunction looks at, with those of their components.
    fn looks(&self, conjunction: &Conjunction) -> Vec<bool> {
        let mut looks = vec![false; self.events.len()];
        for process in conjunction.iter().flat_map(|(component, _)| &self.members[*component]) {
            looks[*process] = true;
        }
        looks
    }

    /// The candidates of a component that has had as many events as in a cut.
    fn candidates_at(&self, component: usize, cut: &Clock) -> &[Candidate] {
        &self.candidates[&(component, self.done_at(cut, component))]
    }

    /// How many members of a component satisfy the predicate in a cut, at most.
    fn most_at(&self, component: usize, cut: &Clock, looks: &[bool]) -> usize {
        let candidates = self.candidates_at(component, cut).iter();
        let there = candidates.filter(|candidate| with(cut, &candidate.least, looks) == *cut);
        there.map(|candidate| candidate.satisfied).max().unwrap_or(0)
    }

    /// Cuts, each at least as large as this one, such that every larger cut in which enough members of a component
    /// satisfy the predicate contains one of them. If enough members do so here, this cut is among them.
    fn alternatives(&self, component: usize, wanted: usize, cut: &Clock, looks: &[bool]) -> Vec<Clock> {
        let next = |process: &usize| self.events[*process].get(cut[*process]);
        let goes_on = self.members[component].iter().filter_map(next).map(|event| &self.clocks[event].1);
        let stays = self.candidates_at(component, cut).iter();
        let stays = stays.filter(|candidate| candidate.satisfied >= wanted).map(|candidate| &candidate.least);
        let mut least: Vec<Clock> = Vec::new();
        for next in stays.chain(goes_on).map(|happened| with(cut, happened, looks)) {
            if !least.iter().any(|other| is_before(other, &next)) {
                least.retain(|other| !is_before(&next, other));
                least.push(next);
            }
        }
        least
    }
}

/// How many members of a component satisfy the predicate of a property at a point; enough by themselves if one of
/// them cannot be observed.
fn satisfied<E: ComponentChecker>(
    global: &Global<'_, E>,
    property: &Property,
    enough: usize,
    node: NodeId,
    point: usize,
) -> usize {
    let observed = global.locals.point(node, point).observed.iter();
    let values = observed.filter_map(|number| property.observe(global.locals.checker.observed(*number)));
    let counts = values.map(|value| value.get::<bool>().map_or(enough, |satisfied| usize::from(*satisfied)));
    counts.sum::<usize>().min(enough)
}

/// In how many ways so many processes can be shared among components.
fn conjunctions(most: &Conjunction, enough: usize) -> u128 {
    let mut ways: Vec<u128> = vec![0; enough + 1];
    ways[0] = 1;
    for (_, most) in most {
        let with_this = |sum: usize| {
            let fewer = ways[sum.saturating_sub(*most)..=sum].iter();
            fewer.copied().fold(0, u128::saturating_add)
        };
        ways = (0..=enough).map(with_this).collect();
    }
    ways[enough]
}

/// Calls something for every way to share so many processes among components, of which each has so many at most.
fn for_each_conjunction(
    most: &[(usize, usize)],
    left: usize,
    chosen: &mut Conjunction,
    each: &mut dyn FnMut(&Conjunction) -> Result<(), Halt>,
) -> Result<(), Halt> {
    if left == 0 {
        return each(chosen);
    }
    let [(component, most), remaining @ ..] = most else { return Ok(()) };
    if remaining.iter().map(|(_, most)| most).sum::<usize>() + most < left {
        return Ok(());
    }
    for_each_conjunction(remaining, left, chosen, each)?;
    for share in 1..=left.min(*most) {
        chosen.push((*component, share));
        for_each_conjunction(remaining, left - share, chosen, each)?;
        chosen.pop();
    }
    Ok(())
}

/// A cut, extended by what has happened by a clock, as far as these processes are concerned.
fn with(cut: &Clock, happened: &Clock, looks: &[bool]) -> Clock {
    let both = cut.iter().zip(happened).zip(looks);
    both.map(|((ours, theirs), looks)| if *looks { *ours.max(theirs) } else { *ours }).collect()
}

/// Are some messages among others?
fn is_part(some: &[MessageId], others: &[MessageId]) -> bool {
    let mut left = others.to_vec();
    some.iter().all(|message| {
        let found = left.iter().position(|other| other == message);
        found.map(|at| left.swap_remove(at)).is_some()
    })
}
