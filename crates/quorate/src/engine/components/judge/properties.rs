//! Properties, asked skeleton by skeleton, and how many runs the skeletons stand for.
//!
//! From: DEMETER, section 6.2, consistent cuts; docs/theory/components.md 6 and 7. In a prefix of a skeleton each
//! component may be at any point of its node, whatever the others do: so a property is asked of every combination of
//! what it can see of each. A run is maximal if every component is at a point where nothing can happen with what it
//! can receive, so a skeleton stands for as many runs as the product of the numbers of traces that lead there.
//! Differs: the paper makes changes of what properties see part of skeletons, which multiplies them. Here what can be
//! seen at a node is a set. For a property that limits how many processes satisfy a local predicate, `conjunction.rs`
//! looks for violations without going through all cuts.
//! Held by: testkit/tests/dir.rs (verdicts and counts), quorate-zoo/tests/dir.rs.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use crate::base::Mutants;
use crate::base::{Value, discard, for_each_choice, for_each_closed_set};
use crate::engine::components::embedded::{ComponentChecker, MessageId};
use crate::engine::components::events::{EventId, NodeId, Skeleton};
use crate::engine::components::global::Global;
use crate::engine::components::local::Table;
use crate::engine::components::log::Judged;
use crate::engine::components::meter::{Broken, Cut, Halt, Meter, Panicking};
use crate::property::{Property, When};

/// What a property sees of each process of a component; nothing of those that it does not look at.
type PropertyView = Vec<Option<Value>>;
/// All that a property can see of a component at a node, each with a point where it does.
type PropertyViews = Arc<Vec<(PropertyView, usize)>>;
/// A property, a node, and the messages on offer there.
pub(super) type ViewKey = (usize, NodeId, Vec<MessageId>);

/// How many members of a component satisfy a predicate, once these messages were taken.
pub(super) struct PredicateCount {
    pub(super) satisfied: usize,
    pub(super) taken: Vec<MessageId>,
}

/// Judges skeletons and counts runs.
pub(crate) struct Judge<'p> {
    pub(super) properties: &'p [Property],
    /// Views, each list with a number.
    views: HashMap<ViewKey, (usize, PropertyViews)>,
    /// The combinations of views, by number, of which a property was asked already.
    good: HashSet<(usize, Vec<usize>)>,
    /// For properties that limit how many processes satisfy a predicate: how many of a component can.
    pub(super) predicate_counts: HashMap<ViewKey, Arc<Vec<PredicateCount>>>,
    pub(super) mutants: Mutants,
    /// The maximal local traces: hashes of the points at which runs end, and how many traces lead there.
    ends: BTreeMap<u128, u128>,
    /// How many runs were counted.
    pub(crate) runs: u128,
    /// Is there a run that never ends?
    pub(crate) endless: bool,
    /// At how many cuts properties were asked, each property by itself.
    pub(crate) cuts: u64,
}

impl<'p> Judge<'p> {
    pub(crate) fn new(properties: &'p [Property], mutants: Mutants) -> Self {
        let (views, good, predicate_counts, ends) =
            (HashMap::new(), HashSet::new(), HashMap::new(), BTreeMap::new());
        Judge { properties, views, good, predicate_counts, mutants, ends, runs: 0, endless: false, cuts: 0 }
    }

    /// Gives back what is known, without waiting for it.
    pub(crate) fn discard(self) {
        discard((self.views, self.good, self.predicate_counts));
    }

    /// How many local traces the runs so far are made of.
    pub(crate) fn local_traces(&self) -> u128 {
        self.ends.values().copied().fold(0, u128::saturating_add)
    }

    /// Counts what was found out about a skeleton.
    pub(crate) fn count(&mut self, judged: &Judged) {
        self.runs = self.runs.saturating_add(judged.runs);
        self.endless |= judged.endless;
        self.ends.extend(judged.ends.iter().copied());
    }

    /// Asks all properties of a complete skeleton without pauses, and counts its runs.
    pub(crate) fn look_at<E: ComponentChecker>(
        &mut self,
        global: &mut Global<'_, E>,
        skeleton: &Skeleton,
        meter: &mut Meter<'_>,
    ) -> Result<Judged, Halt> {
        for (at, property) in self.properties.iter().enumerate() {
            match property.limit() {
                _ if property.when() != When::Always => {}
                Some(limit) => self.look_for_more_than(limit, global, skeleton, at, meter)?,
                None => self.cut_everywhere(global, skeleton, at, meter)?,
            }
        }
        let judged = self.end(global, skeleton, meter)?;
        self.count(&judged);
        Ok(judged)
    }

    /// Counts the runs with this skeleton, and asks the properties that are about the end of runs.
    fn end<E: ComponentChecker>(
        &mut self,
        global: &mut Global<'_, E>,
        skeleton: &Skeleton,
        meter: &mut Meter<'_>,
    ) -> Result<Judged, Halt> {
        let mut nodes = Vec::new();
        let mut endless = false;
        let mut quiescent: Vec<Vec<usize>> = Vec::new();
        let mut runs: u128 = 1;
        for component in 0..global.components() {
            let node = global.position(skeleton, component, meter)?.node;
            let offers = global.receivable(skeleton, component).contents;
            let table = global.locals.table(node, &offers, meter)?;
            let traces = table.quiescent.iter().map(|point| {
                let point = global.locals.point(node, *point);
                point.traces.saturating_mul(global.ways_to_take(&offers, &point.taken))
            });
            runs = runs.saturating_mul(traces.fold(0, u128::saturating_add));
            endless |= table.endless;
            nodes.push(node);
            quiescent.push(table.quiescent.clone());
        }
        if quiescent.iter().any(Vec::is_empty) {
            return Ok(Judged { endless, ..Judged::default() });
        }
        let mut ends = Vec::new();
        for (node, points) in nodes.iter().zip(&quiescent) {
            for &point in points {
                ends.extend(global.locals.ends(*node, point));
            }
        }
        for (at, property) in self.properties.iter().enumerate() {
            if property.when() != When::AtEnd {
                continue;
            }
            let seen = nodes.iter().zip(&quiescent);
            let seen: Vec<PropertyViews> =
                seen.map(|(node, points)| Arc::new(views_of(global, property, *node, points))).collect();
            if let Some(points) = broken_by(global, property, &seen, meter)? {
                let skeleton = skeleton.clone();
                return Err(Halt::Broken(Box::new(Broken { property: at, cut: Cut { skeleton, points } })));
            }
        }
        Ok(Judged { runs, endless, ends })
    }

    /// Asks a property of everything that it can see in any prefix of a skeleton. The more messages a component can
    /// receive, the more can be seen of it. So a prefix is chosen only for the components that the property looks at,
    /// and the others go as far as they can.
    fn cut_everywhere<E: ComponentChecker>(
        &mut self,
        global: &mut Global<'_, E>,
        skeleton: &Skeleton,
        at: usize,
        meter: &mut Meter<'_>,
    ) -> Result<(), Halt> {
        let property = &self.properties[at];
        let seen = self.looked_at(global, at, meter)?;
        let of_seen = |event: &&EventId| seen.contains(&global.events.get(**event).component);
        let among: Vec<EventId> = skeleton.iter().filter(of_seen).copied().collect();
        let needs = causes_among(global, skeleton, &among);
        for_each_closed_set(&needs, &mut |chosen: &[usize]| {
            meter.pass()?;
            self.cuts += 1;
            let included: Vec<EventId> = chosen.iter().map(|at| among[*at]).collect();
            let left_out = |event: EventId| {
                among.binary_search(&event).is_ok() && included.binary_search(&event).is_err()
            };
            let cut = global.events.without(skeleton, left_out);
            let mut numbers = Vec::new();
            let mut views: Vec<PropertyViews> = Vec::new();
            for component in 0..global.components() {
                let (number, seen) = self.views_in(global, &cut, component, at, meter)?;
                numbers.push(number);
                views.push(seen);
            }
            if !self.good.insert((at, numbers)) {
                return Ok(());
            }
            match broken_by(global, property, &views, meter)? {
                None => Ok(()),
                Some(points) => {
                    let cut = Cut { skeleton: cut, points };
                    Err(Halt::Broken(Box::new(Broken { property: at, cut })))
                }
            }
        })
    }

    /// The components that a property looks at. It looks at the same processes at all times, so the start shows which.
    pub(super) fn looked_at<E: ComponentChecker>(
        &mut self,
        global: &mut Global<'_, E>,
        at: usize,
        meter: &mut Meter<'_>,
    ) -> Result<Vec<usize>, Halt> {
        let mut seen: Vec<usize> = Vec::new();
        for component in 0..global.components() {
            let (_, views) = self.views_in(global, &Skeleton::new(), component, at, meter)?;
            if views.iter().any(|(view, _)| view.iter().any(Option::is_some)) {
                seen.push(component);
            }
        }
        Ok(seen)
    }

    /// What a property can see of a component in a skeleton, and the number of this list.
    fn views_in<E: ComponentChecker>(
        &mut self,
        global: &mut Global<'_, E>,
        skeleton: &Skeleton,
        component: usize,
        at: usize,
        meter: &mut Meter<'_>,
    ) -> Result<(usize, PropertyViews), Halt> {
        let node = global.position(skeleton, component, meter)?.node;
        let key = (at, node, global.offers_for_view(skeleton, component, node));
        if let Some((number, known)) = self.views.get(&key) {
            return Ok((*number, Arc::clone(known)));
        }
        let table = table_in(global, skeleton, component, (node, &key.2), meter)?;
        let views = Arc::new(views_of(global, &self.properties[at], node, &table.points));
        let number = self.views.len();
        self.views.insert(key, (number, Arc::clone(&views)));
        Ok((number, views))
    }
}

/// What a component can do at its node in a skeleton with these messages on offer. A panic ends the search: a table in
/// which nothing but a panic can happen shows nothing.
pub(super) fn table_in<E: ComponentChecker>(
    global: &mut Global<'_, E>,
    skeleton: &Skeleton,
    component: usize,
    (node, offers): (NodeId, &[MessageId]),
    meter: &mut Meter<'_>,
) -> Result<Arc<Table>, Halt> {
    let table = global.locals.table(node, offers, meter)?;
    match table.panics.first().cloned() {
        Some(panic) => {
            let skeleton = skeleton.clone();
            Err(Halt::Panicking(Box::new(Panicking { skeleton, component, panic })))
        }
        None => Ok(table),
    }
}

/// What a property can see at some points of a node.
fn views_of<E: ComponentChecker>(
    global: &Global<'_, E>,
    property: &Property,
    node: NodeId,
    points: &[usize],
) -> Vec<(PropertyView, usize)> {
    let mut known: HashSet<PropertyView> = HashSet::new();
    let mut views = Vec::new();
    for &point in points {
        let observed = &global.locals.point(node, point).observed;
        let view: PropertyView =
            observed.iter().map(|number| property.observe(global.locals.checker.observed(*number))).collect();
        if known.insert(view.clone()) {
            views.push((view, point));
        }
    }
    views
}

/// A combination of points, one for each component, whose views break a property.
fn broken_by<E: ComponentChecker>(
    global: &Global<'_, E>,
    property: &Property,
    views: &[PropertyViews],
    meter: &mut Meter<'_>,
) -> Result<Option<Vec<usize>>, Halt> {
    let components = global.locals.checker.components();
    let sizes: Vec<usize> = views.iter().map(|views| views.len()).collect();
    let broken = for_each_choice(&sizes, &mut |at| {
        meter.pass().map_err(Err)?;
        let mut observed: Vec<(usize, &Value)> = Vec::new();
        for (component, views) in views.iter().enumerate() {
            let members = components.members(component).iter().zip(&views[at[component]].0);
            observed.extend(members.filter_map(|(process, value)| Some((process.index(), value.as_ref()?))));
        }
        observed.sort_unstable_by_key(|(process, _)| *process);
        let values: Vec<&Value> = observed.into_iter().map(|(_, value)| value).collect();
        if property.holds(&values) {
            return Ok(());
        }
        Err(Ok(views.iter().zip(at).map(|(views, at)| views[*at].1).collect()))
    });
    match broken {
        Ok(()) => Ok(None),
        Err(broken) => broken.map(Some),
    }
}

/// For each of some events, which of the others are among its causes, immediate or not.
pub(super) fn causes_among<E: ComponentChecker>(
    global: &Global<'_, E>,
    skeleton: &Skeleton,
    among: &[EventId],
) -> Vec<Vec<usize>> {
    let mut causes: HashMap<EventId, BTreeSet<usize>> = HashMap::new();
    for &event in skeleton {
        let mut all = BTreeSet::new();
        for cause in global.events.get(event).causes() {
            all.extend(&causes[&cause]);
            all.extend(among.binary_search(&cause).ok());
        }
        causes.insert(event, all);
    }
    among.iter().map(|event| causes[event].iter().copied().collect()).collect()
}
