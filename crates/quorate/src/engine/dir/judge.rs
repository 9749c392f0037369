//! What must hold, looked at skeleton by skeleton, and how many runs the skeletons stand for.
//!
//! From: DEMETER, section 6.2, consistent cuts; ALGORITHMS 6.3 and theorem 3. In a prefix of a skeleton each component
//! may be at any place of its node, whatever the others are at: so a property is asked of every combination of what
//! it can see of each. Only events after which something else can be seen of a component need to be cut between.
//! A run is maximal if every component is at a place where nothing can happen with what is on offer, so a skeleton
//! stands for as many runs as the product of the traces that lead there.
//! Differs: changes of what properties see are not made part of skeletons, which would multiply them: what can be seen
//! at a node is a set.
//! Held by: testkit/tests/dir.rs (verdicts and counts), quorate-zoo/tests/dir.rs.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::checker::Embedded;
use super::events::{Skeleton, What, for_each_closed_set};
use super::global::Global;
use super::local::{Locals, NodeId};
use super::meter::Meter;
use super::{Cut, Halt};
use crate::property::{Moment, Property};
use crate::protocol::{Model, Value};

/// What a property sees of the processes of a component; nothing of those that it does not look at.
type View = Vec<Option<Value>>;
/// What can be seen at a node, each with a place that shows it.
type Views = Arc<Vec<(View, usize)>>;
type ViewsId = usize;

/// Judges skeletons and counts runs.
pub(super) struct Judge<'m> {
    model: &'m Model,
    views: Vec<Views>,
    views_numbers: HashMap<BTreeSet<Vec<Option<u64>>>, Vec<ViewsId>>,
    of_node: HashMap<(usize, NodeId), ViewsId>,
    /// Combinations that a property holds for.
    good: HashSet<(usize, Vec<ViewsId>)>,
    /// The maximal local traces: at which places of which nodes a run has ended.
    ends: HashMap<NodeId, BTreeSet<usize>>,
    /// How many runs were counted.
    pub(super) runs: u128,
    /// Is there a run that never ends?
    pub(super) endless: bool,
}

impl<'m> Judge<'m> {
    pub(super) fn new(model: &'m Model) -> Self {
        Judge {
            model,
            views: Vec::new(),
            views_numbers: HashMap::new(),
            of_node: HashMap::new(),
            good: HashSet::new(),
            ends: HashMap::new(),
            runs: 0,
            endless: false,
        }
    }

    /// How many local traces the runs are made of.
    pub(super) fn local_traces<E: Embedded>(
        &self,
        global: &mut Global<E>,
        meter: &mut Meter<'_>,
    ) -> Result<u128, Halt> {
        let mut nodes: Vec<NodeId> = self.ends.keys().copied().collect();
        nodes.sort_unstable();
        let mut sum: u128 = 0;
        for node in nodes {
            let places = global.locals.places(node, meter)?;
            let traces = self.ends[&node].iter().map(|place| places[*place].traces);
            sum = traces.fold(sum, u128::saturating_add);
        }
        Ok(sum)
    }

    /// Looks at a complete skeleton without rests.
    pub(super) fn look_at<E: Embedded>(
        &mut self,
        global: &mut Global<E>,
        skeleton: &Skeleton,
        meter: &mut Meter<'_>,
    ) -> Result<(), Halt> {
        for (at, property) in self.model.properties().iter().enumerate() {
            if property.moment() == Moment::Always {
                self.cut_everywhere(global, skeleton, at, property, meter)?;
            }
        }
        self.end(global, skeleton, meter)
    }

    /// The runs with this skeleton: counts them, and looks at how they end.
    fn end<E: Embedded>(
        &mut self,
        global: &mut Global<E>,
        skeleton: &Skeleton,
        meter: &mut Meter<'_>,
    ) -> Result<(), Halt> {
        let mut nodes = Vec::new();
        let mut quiescent: Vec<Vec<usize>> = Vec::new();
        let mut runs: u128 = 1;
        for component in 0..global.components() {
            let node = global.standing(skeleton, component, meter)?.node;
            let offer = global.on_offer(skeleton, component).contents;
            let table = global.locals.table(node, &offer, meter)?;
            let places = global.locals.places(node, meter)?;
            let traces = table.quiescent.iter().map(|place| places[*place].traces);
            runs = runs.saturating_mul(traces.fold(0, u128::saturating_add));
            self.endless |= global.locals.endless(node);
            nodes.push(node);
            quiescent.push(table.quiescent.clone());
        }
        if quiescent.iter().any(Vec::is_empty) {
            return Ok(());
        }
        self.runs = self.runs.saturating_add(runs);
        for (node, places) in nodes.iter().zip(&quiescent) {
            self.ends.entry(*node).or_default().extend(places);
        }
        for property in self.model.properties().iter().filter(|property| property.moment() == Moment::AtEnd) {
            let mut seen: Vec<Views> = Vec::new();
            for (node, places) in nodes.iter().zip(&quiescent) {
                seen.push(Arc::new(views_of(global, property, *node, places, meter)?));
            }
            if let Some(places) = broken_by(global, property, &seen, meter)? {
                return Err(Halt::Broken(Box::new(Cut { skeleton: skeleton.clone(), places })));
            }
        }
        Ok(())
    }

    /// Asks a property of everything that it can see in any prefix of a skeleton.
    fn cut_everywhere<E: Embedded>(
        &mut self,
        global: &mut Global<E>,
        skeleton: &Skeleton,
        at: usize,
        property: &Property,
        meter: &mut Meter<'_>,
    ) -> Result<(), Halt> {
        let components = global.components();
        let mut initial = Vec::new();
        for component in 0..components {
            initial.push(self.views_at(global, at, property, Locals::<E>::root(component), meter)?);
        }
        // Which events show, in ascending order; and what can be seen after each, if its component is one process.
        let mut showing: Vec<u32> = Vec::new();
        let mut now = initial.clone();
        let mut nodes: Vec<NodeId> = (0..components).map(Locals::<E>::root).collect();
        let mut after: HashMap<u32, ViewsId> = HashMap::new();
        for &event in skeleton {
            let (component, what) = (global.events.get(event).component, global.events.get(event).what);
            let What::Interface(label) = what else { continue };
            nodes[component] = global.locals.child(nodes[component], label, meter)?;
            let seen = self.views_at(global, at, property, nodes[component], meter)?;
            let grouped = global.locals.checker.components().members(component).len() > 1;
            if grouped || seen != now[component] {
                showing.push(event);
                after.insert(event, seen);
                now[component] = seen;
            }
        }
        let needs = causes_among(global, skeleton, &showing);
        for_each_closed_set(&needs, &mut |chosen: &[usize]| {
            meter.pass()?;
            let mut seen = initial.clone();
            for (component, seen) in seen.iter_mut().enumerate() {
                let own = chosen.iter().map(|at| showing[*at]);
                let own: Vec<u32> =
                    own.filter(|event| global.events.get(*event).component == component).collect();
                let grouped = global.locals.checker.components().members(component).len() > 1;
                if grouped {
                    let node = global.standing(&own, component, meter)?.node;
                    *seen = self.views_at(global, at, property, node, meter)?;
                } else if let Some(last) = own.last() {
                    *seen = after[last];
                }
            }
            if !self.good.insert((at, seen.clone())) {
                return Ok(());
            }
            let views: Vec<Views> = seen.iter().map(|views| Arc::clone(&self.views[*views])).collect();
            if broken_by(global, property, &views, meter)?.is_none() {
                return Ok(());
            }
            // The same can be seen at another node, so the places are those of this cut.
            let cut = closed(global, skeleton, chosen.iter().map(|at| showing[*at]));
            let mut views: Vec<Views> = Vec::new();
            for component in 0..components {
                let node = global.standing(&cut, component, meter)?.node;
                let all: Vec<usize> = (0..global.locals.places(node, meter)?.len()).collect();
                views.push(Arc::new(views_of(global, property, node, &all, meter)?));
            }
            let places = broken_by(global, property, &views, meter)?
                .expect("what breaks a property is seen in every cut that shows it");
            Err(Halt::Broken(Box::new(Cut { skeleton: cut, places })))
        })
    }

    /// What a property can see at a node.
    fn views_at<E: Embedded>(
        &mut self,
        global: &mut Global<E>,
        at: usize,
        property: &Property,
        node: NodeId,
        meter: &mut Meter<'_>,
    ) -> Result<ViewsId, Halt> {
        if let Some(known) = self.of_node.get(&(at, node)) {
            return Ok(*known);
        }
        let all: Vec<usize> = (0..global.locals.places(node, meter)?.len()).collect();
        let views = views_of(global, property, node, &all, meter)?;
        let hashes = |(view, _): &(View, usize)| {
            view.iter().map(|value| value.as_ref().map(Value::content_hash)).collect::<Vec<_>>()
        };
        let alike = self.views_numbers.entry(views.iter().map(hashes).collect()).or_default();
        let same = |known: &&ViewsId| {
            let known = &self.views[**known];
            known.len() == views.len()
                && views.iter().all(|(view, _)| known.iter().any(|(other, _)| other == view))
        };
        let known = alike.iter().find(same).copied();
        let number = known.unwrap_or(self.views.len());
        if known.is_none() {
            alike.push(number);
            self.views.push(Arc::new(views));
        }
        self.of_node.insert((at, node), number);
        Ok(number)
    }
}

/// What a property can see at some places of a node.
fn views_of<E: Embedded>(
    global: &mut Global<E>,
    property: &Property,
    node: NodeId,
    places: &[usize],
    meter: &mut Meter<'_>,
) -> Result<Vec<(View, usize)>, Halt> {
    let component = global.locals.component(node);
    global.locals.places(node, meter)?;
    let mut known: HashSet<View> = HashSet::new();
    let mut views = Vec::new();
    for &place in places {
        let point = global.locals.places(node, meter)?[place].point.clone();
        let locals = global.locals.checker.locals(component, &point);
        let view: View = locals.iter().map(|local| property.observe(local)).collect();
        if known.insert(view.clone()) {
            views.push((view, place));
        }
    }
    Ok(views)
}

/// A combination of places, one for each component, whose views break a property.
fn broken_by<E: Embedded>(
    global: &Global<E>,
    property: &Property,
    views: &[Views],
    meter: &mut Meter<'_>,
) -> Result<Option<Vec<usize>>, Halt> {
    let components = global.locals.checker.components();
    let mut at = vec![0; views.len()];
    loop {
        meter.pass()?;
        let mut observed: Vec<(usize, &Value)> = Vec::new();
        for (component, views) in views.iter().enumerate() {
            let members = components.members(component).iter().zip(&views[at[component]].0);
            observed.extend(members.filter_map(|(process, value)| Some((process.index(), value.as_ref()?))));
        }
        observed.sort_unstable_by_key(|(process, _)| *process);
        let values: Vec<&Value> = observed.into_iter().map(|(_, value)| value).collect();
        if !property.holds(&values) {
            return Ok(Some(views.iter().zip(&at).map(|(views, at)| views[*at].1).collect()));
        }
        let Some(next) = (0..at.len()).find(|component| at[*component] + 1 < views[*component].len()) else {
            return Ok(None);
        };
        at[next] += 1;
        at[..next].fill(0);
    }
}

/// For each of some events, which of the others are among its causes.
fn causes_among<E: Embedded>(global: &Global<E>, skeleton: &Skeleton, among: &[u32]) -> Vec<Vec<usize>> {
    let mut causes: HashMap<u32, BTreeSet<usize>> = HashMap::new();
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

/// Some events of a skeleton with all their causes.
fn closed<E: Embedded>(global: &Global<E>, skeleton: &Skeleton, some: impl Iterator<Item = u32>) -> Skeleton {
    let mut wanted: HashSet<u32> = some.collect();
    for event in skeleton.iter().rev() {
        if wanted.contains(event) {
            wanted.extend(global.events.get(*event).causes());
        }
    }
    skeleton.iter().copied().filter(|event| wanted.contains(event)).collect()
}
