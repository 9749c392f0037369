//! What exchanging processes makes of what properties see: views of local states, whatever the interchangeable processes are called.
//!
//! From: docs/theory/symmetry.md 4. What a property sees of a renamed local state need not follow from what it sees of
//! the local state itself. So a *view* says both: what is seen now, and which view each exchange of two neighbours makes
//! of it. Two local states have the same view if no sequence of exchanges shows a difference. Without interchangeable
//! processes a view is what is seen, and nothing else.
//! Invariant: the number of a view determines its observations and its images.
//! Held by: testkit/tests/declarations.rs, testkit/tests/reductions.rs.

use std::collections::{BTreeMap, HashMap};

use super::beliefs::ProcessStates;
use super::images::Images;
use crate::base::{Numbering, ProcessId, Value, heed};
use crate::kernel::process::{AskContext, LocalId};
use crate::model::Model;
use crate::property::Property;

/// What all properties see of a local state.
pub(in crate::kernel) type ViewId = u32;

/// What exchanging processes makes of local states, messages and views.
pub(in crate::kernel) struct Orbits {
    pub(in crate::kernel) images: Images,
    observed: Numbering<Vec<Option<Value>>>,
    /// A view as the graph of all views that exchanges make of it, from itself on.
    views: Numbering<Box<[u32]>>,
    /// For each view, what is observed.
    observations: Vec<u32>,
    /// For each exchange and view, its image.
    view_images: Vec<Vec<ViewId>>,
    /// For each process, the views of its local states.
    of_locals: Vec<HashMap<LocalId, ViewId>>,
}

/// A local state of a process, or of one that takes its place.
type Place = (usize, LocalId);

impl Orbits {
    /// Of the interchangeable processes of a model; if they are not to be exchanged, each value is its orbit.
    pub(in crate::kernel) fn new(model: &Model, symmetric: bool, most: usize) -> Self {
        let images = Images::new(model, symmetric, most);
        let exchanges = images.count();
        let mut orbits = Orbits {
            images,
            observed: Numbering::default(),
            views: Numbering::default(),
            observations: Vec::new(),
            view_images: vec![Vec::new(); exchanges],
            of_locals: vec![HashMap::new(); model.processes().len() + model.monitors().len()],
        };
        let nothing = orbits.observed.number(vec![None; model.properties().len() + 1]);
        orbits.number_classes(&[nothing], &vec![vec![0]; exchanges]);
        orbits
    }

    /// The view of which no property sees anything.
    pub(in crate::kernel) const NOTHING: ViewId = 0;

    /// What the properties observe, and last, of a monitor, whether it holds.
    pub(in crate::kernel) fn observed(&self, view: ViewId) -> &[Option<Value>] {
        self.observed.value(self.observations[view as usize])
    }

    /// What an exchange makes of a view.
    pub(in crate::kernel) fn image_of_view(&self, exchange: usize, view: ViewId) -> ViewId {
        self.view_images[exchange][view as usize]
    }

    /// The view of a local state of a process.
    pub(in crate::kernel) fn view(
        &mut self,
        process: usize,
        local: LocalId,
        states_of: &mut [ProcessStates],
        ask: &AskContext<'_>,
    ) -> ViewId {
        if let Some(known) = self.of_locals[process].get(&local) {
            return *known;
        }
        let Orbit { places, images } = orbit((process, local), &mut self.images, states_of, ask);
        let observed = places.iter().map(|&(process, local)| {
            let value = states_of[process].graph.local_value(local);
            self.observe(ask.model, ProcessId::new(process), value)
        });
        let observed: Vec<u32> = observed.collect();
        let classes = coarsest(&observed, &images);
        // One place of each class stands for it.
        let count = classes.iter().max().map_or(0, |last| *last as usize + 1);
        let first =
            |class: usize| classes.iter().position(|of| *of as usize == class).expect("it has a place");
        let stands: Vec<usize> = (0..count).map(first).collect();
        let of_classes: Vec<u32> = stands.iter().map(|at| observed[*at]).collect();
        let images: Vec<Vec<u32>> =
            images.iter().map(|images| stands.iter().map(|at| classes[images[*at]]).collect()).collect();
        let views = self.number_classes(&of_classes, &images);
        for (&(process, local), class) in places.iter().zip(&classes) {
            self.of_locals[process].insert(local, views[*class as usize]);
        }
        self.of_locals[process][&local]
    }

    fn observe(&mut self, model: &Model, process: ProcessId, local: &Value) -> u32 {
        let monitor = model.monitor(process);
        let observe = |property: &Property| if monitor.is_some() { None } else { property.observe(local) };
        let mut seen: Vec<Option<Value>> = model.properties().iter().map(observe).collect();
        seen.push(monitor.map(|monitor| Value::new(monitor.holds(local))));
        self.observed.number(seen)
    }

    /// The views of classes, given what is observed of each and its image under each exchange. No two classes look alike.
    fn number_classes(&mut self, observed: &[u32], images: &[Vec<u32>]) -> Vec<ViewId> {
        let views: Vec<ViewId> = (0..observed.len())
            .map(|class| {
                let view = self.views.number(shape(class, observed, images));
                if view as usize == self.observations.len() {
                    self.observations.push(observed[class]);
                    self.view_images.iter_mut().for_each(|images| images.push(Self::NOTHING));
                }
                view
            })
            .collect();
        for (known, images) in self.view_images.iter_mut().zip(images) {
            for (view, image) in views.iter().zip(images) {
                known[*view as usize] = views[*image as usize];
            }
        }
        views
    }

    pub(in crate::kernel) fn bytes(&self) -> u64 {
        let locals: usize = self.of_locals.iter().map(HashMap::capacity).sum();
        self.observed.bytes() + self.views.bytes() + (locals * 9) as u64
    }
}

/// All that exchanges make of a local state.
struct Orbit {
    places: Vec<Place>,
    /// For each exchange and place, where it leads.
    images: Vec<Vec<usize>>,
}

fn orbit(start: Place, images: &mut Images, states_of: &mut [ProcessStates], ask: &AskContext<'_>) -> Orbit {
    let mut found = Orbit { places: vec![start], images: vec![Vec::new(); images.count()] };
    let mut numbers = BTreeMap::from([(start, 0)]);
    let mut at = 0;
    while at < found.places.len() {
        heed();
        let (process, local) = found.places[at];
        for exchange in 0..images.count() {
            let image = images.local(exchange, process, local, states_of, ask);
            let image = (images.place(exchange, process), image);
            let number = *numbers.entry(image).or_insert_with(|| {
                found.places.push(image);
                found.places.len() - 1
            });
            found.images[exchange].push(number);
        }
        at += 1;
    }
    found
}

/// The coarsest division of places into classes, such that places of a class look alike and so do their images.
fn coarsest(observed: &[u32], images: &[Vec<usize>]) -> Vec<u32> {
    let mut classes: Vec<u32> = number_all(observed.iter().map(|seen| vec![*seen]));
    loop {
        let count = classes.iter().max().copied();
        let refined = number_all((0..observed.len()).map(|at| {
            let of_images = images.iter().map(|images| classes[images[at]]);
            [classes[at]].into_iter().chain(of_images).collect()
        }));
        if refined.iter().max().copied() == count {
            return refined;
        }
        classes = refined;
    }
}

fn number_all(of: impl Iterator<Item = Vec<u32>>) -> Vec<u32> {
    let mut numbers: Numbering<Vec<u32>> = Numbering::default();
    of.map(|key| numbers.number(key)).collect()
}

/// A class as the graph of all classes that exchanges lead to, numbered from itself on: equal graphs look alike.
fn shape(class: usize, observed: &[u32], images: &[Vec<u32>]) -> Box<[u32]> {
    let (mut order, mut places) = (vec![class], BTreeMap::from([(class, 0u32)]));
    let mut shape = Vec::new();
    let mut at = 0;
    while at < order.len() {
        let class = order[at];
        shape.push(observed[class]);
        for images in images {
            let image = images[class] as usize;
            let next = u32::try_from(order.len()).expect("an orbit is small");
            let place = *places.entry(image).or_insert_with(|| {
                order.push(image);
                next
            });
            shape.push(place);
        }
        at += 1;
    }
    shape.into()
}
