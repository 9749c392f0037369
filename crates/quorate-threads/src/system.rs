//! Systems of multi-threaded components: what a user writes, and what runs the components one by one.
//!
//! From: DEMETER, section 4.1: components are what runs on one machine, and are found by nothing but their messages.
//! Held by: tests/network.rs, `tests/replicated_log.rs`.

use std::fmt::{self, Debug};
use std::hash::Hash;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use quorate::ProcessId;
use quorate::engine::Search;
use quorate::engine::components::{
    ComponentChecker, ComponentRunner, LocalPoints, MessageId, Operation, Partition, Ran, Scheduler, compose,
};
use quorate::model::Value;
use quorate::property::{Property, When, shown};
use quorate::report::{Stopped, Watch};

use crate::conductor::{Agents, conduct};
use crate::net::{Book, Net, Sight};
use crate::outcome::Outcome;
use crate::shared::Arrival;
use crate::step::{Renaming, Step, depends, races};

/// Can the first send to the second?
pub(crate) type Links = Arc<dyn Fn(usize, usize) -> bool + Send + Sync>;

type Main<M, O> = Arc<dyn Fn(Net<M, O>) + Send + Sync>;
type Holds<O> = Box<dyn Fn(&[Option<O>]) -> bool + Send + Sync>;

/// What must hold, by name, of what components expose.
pub(crate) struct Invariants<O> {
    list: Arc<Vec<(String, Holds<O>)>>,
}

impl<O> Clone for Invariants<O> {
    fn clone(&self) -> Self {
        Invariants { list: Arc::clone(&self.list) }
    }
}

impl<O: Clone + Eq + Hash + Debug + Send + Sync + 'static> Invariants<O> {
    fn properties(&self) -> Vec<Property> {
        let property = |(at, (name, _)): (usize, &(String, Holds<O>))| {
            let list = Arc::clone(&self.list);
            Property::new(name.clone(), When::Always, shown(), move |seen: &[Shown<O>]| {
                let seen: Vec<Option<O>> = seen.iter().map(|Shown(seen)| seen.clone()).collect();
                (list[at].1)(&seen)
            })
        };
        self.list.iter().enumerate().map(property).collect()
    }
}

impl<O> Invariants<O> {
    /// The name of one that does not hold.
    pub(crate) fn broken_by(&self, seen: &[Option<O>]) -> Option<&str> {
        self.list.iter().find(|(_, holds)| !holds(seen)).map(|(name, _)| name.as_str())
    }
}

/// What a component has exposed last, for properties.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Shown<O>(Option<O>);

/// A system of multi-threaded components, which share nothing and send each other messages.
///
/// ```
/// use quorate_threads::{Net, Threaded, thread};
///
/// let system = Threaded::new()
///     .component("client", |net: Net<u8, bool>| net.send(1, 7))
///     .component("server", |net: Net<u8, bool>| {
///         let io = thread::spawn(move || {
///             let received = net.recv();
///             net.expose(received.is_some_and(|(from, number)| (from, number) == (0, 7)));
///         });
///         io.join().unwrap();
///     })
///     .invariant("the server gets what was sent", |seen: &[Option<bool>]| seen[1] != Some(false));
/// system.check().assert_holds();
/// ```
pub struct Threaded<M, O = ()> {
    components: Vec<(String, Main<M, O>)>,
    invariants: Vec<(String, Holds<O>)>,
    in_order: bool,
    links: Links,
    explorers: usize,
}

impl<M, O> Debug for Threaded<M, O> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.components.iter().map(|(name, _)| name).collect();
        formatter.debug_struct("Threaded").field("components", &names).finish_non_exhaustive()
    }
}

impl<M, O> Threaded<M, O>
where
    M: Clone + Eq + Hash + Debug + Send + 'static,
    O: Clone + Eq + Hash + Debug + Send + Sync + 'static,
{
    /// A system without components, in which messages of one sender to one receiver stay in order.
    #[expect(clippy::new_without_default, reason = "a system without components is of no use")]
    pub fn new() -> Self {
        let links: Links = Arc::new(|from, to| from != to);
        let explorers = Search::default().threads;
        Threaded { components: Vec::new(), invariants: Vec::new(), in_order: true, links, explorers }
    }

    /// How many components are explored at a time, each on a thread of the operating system: as many as the machine has
    /// cores, unless this says otherwise. The outcome does not depend on it.
    #[must_use]
    pub fn explorers(self, explorers: usize) -> Self {
        Threaded { explorers, ..self }
    }

    /// Who sends to whom, if not everybody to everybody: in the whole program a component waits for messages until all
    /// have ended that could send some.
    #[must_use]
    pub fn links(self, links: impl Fn(usize, usize) -> bool + Send + Sync + 'static) -> Self {
        Threaded { links: Arc::new(links), ..self }
    }

    /// Messages may overtake each other.
    #[must_use]
    pub fn unordered(self) -> Self {
        Threaded { in_order: false, ..self }
    }

    /// One more component; they are numbered from 0. What its threads share must be made in its main function, and all
    /// of them must end when no more messages come.
    #[must_use]
    pub fn component(
        mut self,
        name: impl Into<String>,
        main: impl Fn(Net<M, O>) + Send + Sync + 'static,
    ) -> Self {
        self.components.push((name.into(), Arc::new(main)));
        self
    }

    /// Something that must hold of what the components have exposed last, at all times.
    #[must_use]
    pub fn invariant(
        mut self,
        name: impl Into<String>,
        holds: impl Fn(&[Option<O>]) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.invariants.push((name.into(), Box::new(holds)));
        self
    }

    /// The same system, in which nothing is asked but that no component panics or is stuck.
    #[must_use]
    pub fn without_invariants(self) -> Self {
        Threaded { invariants: Vec::new(), ..self }
    }

    /// Checks the system: explores its components one by one and composes what they do. No component may panic, none of
    /// its threads wait for each other for ever, and the invariants must hold.
    pub fn check(self) -> Outcome {
        self.check_while(&mut ())
    }

    /// As [`Threaded::check`], unless a watch stops it.
    pub fn check_while(self, watch: &mut dyn Watch) -> Outcome {
        let search = Search::default().threads(self.explorers);
        let processes = self.runner();
        let properties = processes.invariants.properties();
        let names: Vec<String> = processes.mains.iter().map(|(name, _)| name.clone()).collect();
        let in_order = processes.in_order;
        let (processes, composed) = compose(processes, in_order, &properties, &search, None, watch);
        Outcome::new(composed, &names, &processes.book, &properties)
    }

    /// The components, to be run one by one.
    pub fn runner(self) -> Processes<M, O> {
        let agents = self.components.iter().map(|_| Agents::default()).collect();
        let Threaded { components, invariants, in_order, links, .. } = self;
        let invariants = Invariants { list: Arc::new(invariants) };
        let parts = Partition::each(components.len());
        let values = vec![Value::new(Shown::<O>(None))];
        Processes {
            mains: components,
            invariants,
            in_order,
            agents,
            book: Arc::new(Book::new(links)),
            parts,
            values,
        }
    }

    /// The whole program, all components together, to be run under Shuttle with a scheduler of its own: for comparison.
    /// There a component sees that no message will ever come when all have ended that could send one.
    pub fn whole(self) -> impl Fn() + Send + Sync + 'static {
        let Threaded { components, invariants, links, .. } = self;
        let invariants = Invariants { list: Arc::new(invariants) };
        move || {
            let seen = Mutex::new(vec![None; components.len()]);
            let sight = Arc::new(Sight { seen, invariants: invariants.clone() });
            let (to, from): (Vec<_>, Vec<_>) =
                components.iter().map(|_| shuttle::sync::mpsc::channel()).unzip();
            for ((me, (_, main)), from) in components.iter().enumerate().zip(from) {
                let main = Arc::clone(main);
                let linked = |(other, to): (usize, &shuttle::sync::mpsc::Sender<_>)| {
                    links(me, other).then(|| to.clone())
                };
                let others = to.iter().enumerate().map(linked).collect();
                let net = Net::live(me, others, Arc::clone(&sight), from);
                shuttle::thread::spawn(move || main(net));
            }
        }
    }
}

/// The components of a system, each of which can be run by itself as often as one likes.
pub struct Processes<M, O = ()> {
    mains: Vec<(String, Main<M, O>)>,
    invariants: Invariants<O>,
    in_order: bool,
    agents: Vec<Agents>,
    book: Arc<Book<M, O>>,
    parts: Partition,
    /// What was exposed so far, by number.
    values: Vec<Value>,
}

impl<M, O> Debug for Processes<M, O> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.mains.iter().map(|(name, _)| name).collect();
        formatter.debug_struct("Processes").field("components", &names).finish_non_exhaustive()
    }
}

impl<M, O> Processes<M, O>
where
    M: Clone + Eq + Hash + Debug + Send + 'static,
    O: Clone + Eq + Hash + Debug + Send + Sync + 'static,
{
    /// How many components there are.
    pub fn count(&self) -> usize {
        self.mains.len()
    }

    /// The name of a component.
    pub fn name(&self, component: usize) -> &str {
        &self.mains[component].0
    }

    /// Do messages of one sender to one receiver stay in order?
    pub fn is_in_order(&self) -> bool {
        self.in_order
    }

    /// The number of a message.
    pub fn number_message(&mut self, from: usize, to: usize, message: M) -> MessageId {
        self.book.number_message(from, to, message)
    }

    /// A message with its sender and its receiver.
    pub fn message(&self, message: MessageId) -> (usize, usize, M) {
        self.book.messages().get(message as usize).clone()
    }

    /// What a component has exposed, by number. Number 0 is nothing.
    pub fn observation(&self, observed: usize) -> Option<O> {
        self.book.observations().get(observed).clone()
    }

    /// Keeps what was exposed for the first time, as properties see it.
    fn note_observations(&mut self) {
        let observations = self.book.observations();
        let fresh = observations.since(self.values.len()).iter();
        self.values.extend(fresh.map(|observation| Value::new(Shown(observation.clone()))));
    }

    /// The name of an invariant that does not hold of what the components have exposed.
    pub fn broken_by(&self, seen: &[Option<O>]) -> Option<&str> {
        self.invariants.broken_by(seen)
    }
}

impl<M, O> ComponentRunner for Processes<M, O>
where
    M: Clone + Eq + Hash + Debug + Send + 'static,
    O: Clone + Eq + Hash + Debug + Send + Sync + 'static,
{
    type Step = Step;

    fn run(&mut self, component: usize, arrivals: &[MessageId], scheduler: &mut dyn Scheduler<Step>) -> Ran {
        let arrivals = {
            let messages = self.book.messages();
            let arrival =
                |message: &MessageId| Arrival { from: messages.get(*message as usize).0, message: *message };
            arrivals.iter().map(arrival).collect()
        };
        let main = Arc::clone(&self.mains[component].1);
        let net = Net::scripted(component, Arc::clone(&self.book));
        let ran = conduct(move || main(net), &mut self.agents[component], arrivals, self.in_order, scheduler);
        self.book.runs.fetch_add(1, Ordering::Relaxed);
        self.note_observations();
        ran
    }

    fn depends(first: &Operation<Step>, second: &Operation<Step>) -> bool {
        depends(first, second)
    }

    /// Only receptions are a matter of choice, and what can be received changes with the network alone.
    fn reaches(operation: &Operation<Step>, _agent: usize) -> bool {
        operation.step.act.is_network()
    }

    fn races(&mut self, first: &Operation<Step>, second: &Operation<Step>) -> bool {
        races(first, second)
    }
}

impl<M, O> ComponentChecker for Processes<M, O>
where
    M: Clone + Eq + Hash + Debug + Send + 'static,
    O: Clone + Eq + Hash + Debug + Send + Sync + 'static,
{
    fn components(&self) -> &Partition {
        &self.parts
    }

    fn ends_of(&self, message: MessageId) -> (ProcessId, ProcessId) {
        let messages = self.book.messages();
        let (from, to, _) = messages.get(message as usize);
        (ProcessId::new(*from), ProcessId::new(*to))
    }

    /// A thread can only be run from the beginning.
    fn local_points(&mut self, _component: usize) -> Option<&mut dyn LocalPoints<Step>> {
        None
    }

    fn observed(&self, observed: usize) -> &Value {
        &self.values[observed]
    }

    fn fork(&self) -> Self {
        Processes {
            mains: self.mains.clone(),
            invariants: self.invariants.clone(),
            in_order: self.in_order,
            agents: self.mains.iter().map(|_| Agents::default()).collect(),
            book: Arc::new(self.book.fork()),
            parts: self.parts.clone(),
            values: vec![Value::new(Shown::<O>(None))],
        }
    }

    fn message_of(&mut self, other: &Self, message: MessageId) -> MessageId {
        self.book.message_of(&other.book, message)
    }

    fn step_of(&mut self, other: &Self, component: usize, agent: usize, step: &Step) -> (usize, Step) {
        let (agents, there) = (&mut self.agents[component], &other.agents[component]);
        let (book, their_book) = (&self.book, &other.book);
        let mut named = |agent| agents.agent_of(there, agent);
        let agent = named(agent);
        let mut renaming = Renaming {
            agent: &mut named,
            message: &mut |message| book.message_of(their_book, message),
            observed: &mut |observed| book.observed_of(their_book, observed),
        };
        (agent, renaming.step(step))
    }

    fn observed_of(&mut self, other: &Self, observed: usize) -> usize {
        let observed = self.book.observed_of(&other.book, observed);
        self.note_observations();
        observed
    }

    fn unreliable(&self) -> Option<Stopped> {
        None
    }
}
