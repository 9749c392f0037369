//! Conjunctions of local predicates: can more processes than allowed satisfy theirs at once?
//!
//! From: Garg and Waldecker, Detection of Weak Unstable Predicates in Distributed Programs (1994); docs/theory/components.md 7. More
//! than a limit is a disjunction of conjunctions: of some components, each has at least so many members that satisfy
//! the predicate, and together they are too many. For one conjunction a *cut* says how much the processes of these
//! components have done; the others go as far as they can.
//!
//! Known: a point of a component is there in a cut if what it has taken is on offer there. Equal messages come from one
//! process, whose events follow each other, so it is enough that the first of them were sent: of the cuts in which the
//! component has done what it has done, those with the point are those that contain its *least* one. Take a cut, a
//! component that has no point there with enough members, and a larger cut that satisfies the conjunction. If the
//! component does more in it, it contains the next event of a member, with all causes. If not, the component is at a
//! point with enough members, and it contains the least cut of that. So whatever satisfies the conjunction contains one
//! of these alternatives, all of which are larger; and the search for it, from the cut at which nothing has happened
//! on, misses nothing.
//! Of alternatives that contain each other the least is enough. If there is never more than one, a search takes as many
//! steps as there are events at most: a candidate that the causes of another have overtaken is gone for good, which is
//! the paper's algorithm. There are more only of a group, in which any member may go on, and of a process that may have
//! taken something that its next send does not tell of. No cut is looked at twice for a conjunction, so there are never
//! more than if all were gone through.
//! Differs: the paper has one run, in which everything that was received is known. Here it stands for many, and what a
//! component takes between what others see of it is its own affair. Which component has to go on is not settled by
//! comparing two by two: the one with the fewest alternatives goes on.
//! Restriction by: testkit/tests/conjunctions.rs (verdicts of the naive checker, counts, a mutant).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::{Judge, causes_among, table_in};
use crate::engine::components::checker::{ComponentChecker, MessageId};
use crate::engine::components::events::{EventId, Skeleton, What, for_each_closed_set};
use crate::engine::components::global::Global;
use crate::engine::components::local::NodeId;
use crate::engine::components::meter::Meter;
use crate::engine::components::{Broken, Cut, Halt};
use crate::kernel::Mutant;
use crate::property::Property;

/// Up to so many conjunctions are searched one by one without a thought. If there are more, all cuts are gone through
/// if there are fewer of them than steps, as far as can be told beforehand: sets of processes grow as fast as cuts do,
/// and there may be no cuts to speak of.
const CONJUNCTIONS_MAX: u128 = 1_000;

/// How many events of each process have happened.
type Clock = Vec<usize>;

/// The components that a conjunction looks at, and how many members of each have to satisfy the predicate.
type Conjunction = Vec<(usize, usize)>;

/// What can be seen of a component: how many of its members satisfy the predicate, once these messages were taken.
pub(super) struct Sight {
    satisfied: usize,
    taken: Vec<MessageId>,
}

/// The same in a skeleton: with the least that must have happened.
struct Candidate {
    satisfied: usize,
    least: Clock,
}

/// A skeleton, as far as conjunctions are concerned.
struct Course {
    /// The processes of each component.
    members: Vec<Vec<usize>>,
    /// The events of each process, in their order.
    events: Vec<Vec<EventId>>,
    /// Of each event its process, and what has happened once it has.
    clocks: HashMap<EventId, (usize, Clock)>,
    /// What can be seen of a component whose members have done this much.
    candidates: HashMap<(usize, Vec<usize>), Vec<Candidate>>,
    /// The components of which some members satisfy the predicate somewhere: how many at most.
    most: Conjunction,
    /// No more cuts than this tell those components apart.
    cuts: u128,
}

impl Judge<'_> {
    /// Looks for a cut of a skeleton in which more processes than the limit of a property satisfy its predicate.
    pub(super) fn look_for_more_than<E: ComponentChecker>(
        &mut self,
        limit: usize,
        global: &mut Global<E>,
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

    /// Finds what can be seen of the components that a property looks at: of each, whatever it has done, if everything is
    /// on offer to it that can be. A state that cannot be observed breaks the property by itself.
    fn course<E: ComponentChecker>(
        &mut self,
        enough: usize,
        global: &mut Global<E>,
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
                let kept: Vec<EventId> = chosen.iter().map(|at| own[*at]).collect();
                let prefix = global.events.max_prefix(skeleton, component, &kept);
                let offer = global.receivable(&prefix, component);
                let sights =
                    self.sights_in(enough, global, &prefix, component, (at, &offer.contents), meter)?;
                let candidate = |sight: &Sight| {
                    most = most.max(sight.satisfied);
                    let mut left = sight.taken.clone();
                    let mut least = vec![0; course.events.len()];
                    // What is on offer is told in the order in which it was sent: of equal messages the first are taken.
                    for (message, (sender, _)) in &offer.messages {
                        if let Some(at) = left.iter().position(|other| other == message) {
                            left.swap_remove(at);
                            join(&mut least, &course.clocks[sender].1);
                        }
                    }
                    Candidate { satisfied: sight.satisfied, least }
                };
                let candidates = sights.iter().map(candidate).collect();
                let done = course.done(&kept, component);
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

    /// What can be seen of a component in a skeleton, with these messages on offer; nothing that needs more than
    /// something else and shows less.
    fn sights_in<E: ComponentChecker>(
        &mut self,
        enough: usize,
        global: &mut Global<E>,
        skeleton: &Skeleton,
        component: usize,
        (at, offers): (usize, &[MessageId]),
        meter: &mut Meter<'_>,
    ) -> Result<Arc<Vec<Sight>>, Halt> {
        let node = global.position(skeleton, component, meter)?.node;
        let occasion = (at, node, offers.to_vec());
        if let Some(known) = self.sights.get(&occasion) {
            return Ok(Arc::clone(known));
        }
        let table = table_in(global, skeleton, component, (node, offers), meter)?;
        let property = &self.properties[at];
        let sight = |point: &usize| {
            let taken = global.locals.point(node, *point).taken.clone();
            Sight { satisfied: satisfied(global, property, enough, node, *point), taken }
        };
        let mut all: Vec<Sight> =
            table.points.iter().map(sight).filter(|sight| sight.satisfied > 0).collect();
        all.sort_by_key(|sight| (sight.taken.len(), std::cmp::Reverse(sight.satisfied)));
        let mut sights: Vec<Sight> = Vec::new();
        for sight in all {
            let is_more =
                |other: &Sight| other.satisfied >= sight.satisfied && is_part(&other.taken, &sight.taken);
            if !sights.iter().any(is_more) {
                sights.push(sight);
            }
        }
        let sights = Arc::new(sights);
        self.sights.insert(occasion, Arc::clone(&sights));
        Ok(sights)
    }

    /// A cut in which a conjunction is satisfied.
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
                if self.mutant == Some(Mutant::NoWaiting) {
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

    /// Goes through all cuts and counts at each how many processes can satisfy the predicate.
    fn count_everywhere<E: ComponentChecker>(
        &mut self,
        enough: usize,
        course: &Course,
        global: &mut Global<E>,
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

    /// Tells of a cut in which a conjunction is satisfied.
    #[expect(clippy::too_many_arguments, reason = "what was found, and where")]
    fn broken<E: ComponentChecker>(
        &self,
        course: &Course,
        conjunction: &Conjunction,
        cut: &Clock,
        global: &mut Global<E>,
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
    /// What happens in a skeleton; nothing is seen of anybody yet.
    fn of<E: ComponentChecker>(global: &Global<E>, skeleton: &Skeleton) -> Self {
        let components = global.locals.checker.components();
        let of_component = |component| components.members(component).iter().map(|process| process.index());
        let members: Vec<Vec<usize>> =
            (0..components.count()).map(|component| of_component(component).collect()).collect();
        let mut events: Vec<Vec<EventId>> = vec![Vec::new(); members.iter().map(Vec::len).sum()];
        let mut clocks: HashMap<EventId, (usize, Clock)> = HashMap::new();
        for &number in skeleton {
            let event = global.events.get(number);
            let What::Interface(label) = event.what else {
                panic!("a bug in quorate: skeletons are looked at without pauses")
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

    /// How many of these events each member of a component has.
    fn done(&self, events: &[EventId], component: usize) -> Vec<usize> {
        let of = |process: &usize| events.iter().filter(|event| self.clocks[event].0 == *process).count();
        self.members[component].iter().map(of).collect()
    }

    /// How much each member of a component has done in a cut.
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

    /// What can be seen of a component that has done as much as in a cut.
    fn candidates_at(&self, component: usize, cut: &Clock) -> &[Candidate] {
        &self.candidates[&(component, self.done_at(cut, component))]
    }

    /// How many members of a component satisfy the predicate in a cut, at most.
    fn most_at(&self, component: usize, cut: &Clock, looks: &[bool]) -> usize {
        let candidates = self.candidates_at(component, cut).iter();
        let there = candidates.filter(|candidate| with(cut, &candidate.least, looks) == *cut);
        there.map(|candidate| candidate.satisfied).max().unwrap_or(0)
    }

    /// Cuts from this one on, of which every one contains one in which enough members of a component satisfy the
    /// predicate: this one itself, if they do here.
    fn alternatives(&self, component: usize, wanted: usize, cut: &Clock, looks: &[bool]) -> Vec<Clock> {
        let next = |process: &usize| self.events[*process].get(cut[*process]);
        let goes_on = self.members[component].iter().filter_map(next).map(|event| &self.clocks[event].1);
        let stays = self.candidates_at(component, cut).iter();
        let stays = stays.filter(|candidate| candidate.satisfied >= wanted).map(|candidate| &candidate.least);
        let mut least: Vec<Clock> = Vec::new();
        for next in stays.chain(goes_on).map(|happened| with(cut, happened, looks)) {
            if !least.iter().any(|other| is_prefix(other, &next)) {
                least.retain(|other| !is_prefix(&next, other));
                least.push(next);
            }
        }
        least
    }
}

/// How many members of a component satisfy the predicate of a property at a point; enough by themselves if one of
/// them cannot be observed.
fn satisfied<E: ComponentChecker>(
    global: &Global<E>,
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

fn join(clock: &mut Clock, other: &Clock) {
    clock.iter_mut().zip(other).for_each(|(ours, theirs)| *ours = (*ours).max(*theirs));
}

/// A cut in which what has happened elsewhere has happened too, as far as it is looked at.
fn with(cut: &Clock, happened: &Clock, looks: &[bool]) -> Clock {
    let both = cut.iter().zip(happened).zip(looks);
    both.map(|((ours, theirs), looks)| if *looks { *ours.max(theirs) } else { *ours }).collect()
}

/// Has everything that has happened in a cut happened in another?
fn is_prefix(cut: &Clock, other: &Clock) -> bool {
    cut.iter().zip(other).all(|(one, other)| one <= other)
}

/// Are some messages among others?
fn is_part(some: &[MessageId], others: &[MessageId]) -> bool {
    let mut left = others.to_vec();
    some.iter().all(|message| {
        let found = left.iter().position(|other| other == message);
        found.map(|at| left.swap_remove(at)).is_some()
    })
}
