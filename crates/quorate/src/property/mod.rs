//! Properties see local states only, through observations, and never the network: that is the condition
//! under which the reductions of the papers are sound (docs/theory/kernel.md 7), so the types allow nothing else.
//! Properties over histories are [`Monitor`]s, which hear what steps emit.

mod linearizable;
mod monitor;
mod purity;
mod register;
mod stone;

use std::any::TypeId;
use std::fmt;
use std::sync::Arc;

use self::purity::Purity;
use crate::base::{Content, ProcessId, Value, catching};

pub use linearizable::{Linearizable, ObjectEvent, Sequential};
pub use monitor::{Automaton, Monitor};
pub use register::{AtomicRegister, RegisterEvent, RegularRegister};
pub(crate) use stone::{Interest, Sight};

type ObserveFn = dyn Fn(&Value) -> Option<Value> + Send + Sync;

/// What a property sees of each process: a function of its local state, for the roles it looks at.
pub struct Observation<O> {
    parts: Vec<(TypeId, Arc<ObserveFn>)>,
    result: std::marker::PhantomData<fn() -> O>,
}

/// Observes the processes of one role. Add further roles with [`Observation::and`].
///
/// ```
/// use quorate::{Role, RoleName, System, Transitions, observe};
///
/// # const FOLLOWERS: RoleName = RoleName::new("follower");
/// #[derive(Clone, PartialEq, Eq, Hash, Debug)]
/// struct Leader { value: u8, sent: bool }
///
/// #[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
/// struct Follower { value: Option<u8> }
///
/// # impl Role for Leader {
/// #     type Message = u8;
/// #     fn transitions(&self, t: &mut Transitions<Self>) {
/// #         t.internal("send").when(|l| !l.sent).run(|l, out| {
/// #             l.sent = true;
/// #             out.send_all(FOLLOWERS, l.value);
/// #         });
/// #     }
/// # }
/// # impl Role for Follower {
/// #     type Message = u8;
/// #     fn transitions(&self, t: &mut Transitions<Self>) {
/// #         t.message("follow").run(|f, value, _| f.value = Some(*value.body));
/// #     }
/// # }
/// # let system = System::new()
/// #     .role(RoleName::new("leader"), 1, |_| Leader { value: 7, sent: false })
/// #     .role(FOLLOWERS, 2, |_| Follower::default());
/// let values = observe(|leader: &Leader| Some(leader.value)).and(|follower: &Follower| follower.value);
/// let system = system.invariant("agreement", values, |values| {
///     let known: Vec<u8> = values.iter().flatten().copied().collect();
///     known.iter().all(|value| *value == known[0])
/// });
/// quorate::check(system).assert_holds();
/// ```
pub fn observe<S: Content, O: Content>(of: impl Fn(&S) -> O + Send + Sync + 'static) -> Observation<O> {
    Observation { parts: Vec::new(), result: std::marker::PhantomData }.and(of)
}

/// Observes what components that are no protocols show of themselves, as it is.
pub fn shown<O: Content>() -> Observation<O> {
    let part = |state: &Value| state.get::<O>().map(|_| state.clone());
    Observation { parts: vec![(TypeId::of::<O>(), Arc::new(part))], result: std::marker::PhantomData }
}

impl<O: Content> Observation<O> {
    /// Observes the processes of one more role.
    #[must_use]
    pub fn and<S: Content>(mut self, of: impl Fn(&S) -> O + Send + Sync + 'static) -> Self {
        let part = move |state: &Value| state.get::<S>().map(|state| Value::new(of(state)));
        self.parts.push((TypeId::of::<S>(), Arc::new(part)));
        self
    }
}

/// What is observed of a state for which the observation panics.
#[derive(PartialEq, Eq, Hash, Debug)]
struct ObservationPanicked(String);

/// When a property must hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// In every reachable state.
    Always,
    /// In every reachable state in which no process can take a step.
    AtEnd,
}

type HoldsFn = dyn Fn(&[&Value]) -> bool + Send + Sync;

/// A condition over the observations of all processes.
///
/// A property of its own, tried on a state before it is [added](crate::System::property) to a system:
///
/// ```
/// use quorate::model::Value;
/// use quorate::observe;
/// use quorate::property::{Property, When};
///
/// #[derive(Clone, PartialEq, Eq, Hash, Debug)]
/// struct Voter { voted: bool }
///
/// fn all_vote() -> Property {
///     let voted = observe(|voter: &Voter| voter.voted);
///     Property::new("all vote", When::AtEnd, voted, |voted| voted.iter().all(|one| *one))
/// }
///
/// let [voted, silent] = [true, false].map(|voted| Value::new(Voter { voted }));
/// assert!(all_vote().check([&voted, &voted]).is_ok());
/// assert!(all_vote().check([&voted, &silent]).is_err());
/// ```
#[derive(Clone)]
pub struct Property {
    name: String,
    when: When,
    observes: Vec<(TypeId, Arc<ObserveFn>)>,
    holds: Arc<HoldsFn>,
    /// How many processes may satisfy a local predicate at once, if that is all it says.
    limit: Option<usize>,
    /// Other properties that it asks.
    parts: Vec<Property>,
    purity: Arc<Purity>,
}

impl Property {
    /// A property of the observations, given in the order of the processes.
    pub fn new<O: Content + Clone>(
        name: impl Into<String>,
        when: When,
        observation: Observation<O>,
        holds: impl Fn(&[O]) -> bool + Send + Sync + 'static,
    ) -> Self {
        Property {
            name: name.into(),
            when,
            observes: observation.parts,
            holds: Arc::new(move |observed| {
                let typed: Option<Vec<O>> = observed.iter().map(|value| value.get().cloned()).collect();
                typed.is_some_and(|typed| holds(&typed))
            }),
            limit: None,
            parts: Vec::new(),
            purity: Arc::default(),
        }
    }

    /// In no reachable state do more than `limit` of the processes that it looks at satisfy a local predicate:
    /// mutual exclusion, one leader at most, or, with a limit of 0, that something never happens to anybody.
    ///
    /// It means what it would mean if it was written with [`Property::new`], and every engine checks it. The engine
    /// `dir` looks for its violations without going through all consistent cuts of a run, so prefer it where it says
    /// what you mean.
    ///
    /// ```
    /// use quorate::property::Property;
    /// use quorate::{Role, RoleName, System, Transitions, observe};
    ///
    /// #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    /// struct Node {
    ///     leads: bool,
    /// }
    ///
    /// impl Role for Node {
    ///     type Message = ();
    ///
    ///     fn transitions(&self, t: &mut Transitions<Self>) {
    ///         t.internal("lead").when(|node| !node.leads).run(|node, _| node.leads = true);
    ///     }
    /// }
    ///
    /// let system = |leaders: usize| {
    ///     let leads = observe(|node: &Node| node.leads);
    ///     System::new()
    ///         .role(RoleName::new("node"), 3, |_| Node { leads: false })
    ///         .property(Property::at_most("few leaders", leaders, leads))
    /// };
    /// quorate::check(system(1)).assert_violated();
    /// quorate::check(system(3)).assert_holds();
    /// ```
    pub fn at_most(name: impl Into<String>, limit: usize, predicate: Observation<bool>) -> Self {
        let few = move |satisfied: &[bool]| satisfied.iter().filter(|one| **one).count() <= limit;
        Property { limit: Some(limit), ..Property::new(name, When::Always, predicate, few) }
    }

    /// Never are these processes in these local states at once.
    #[doc(hidden)]
    pub fn never(together: Vec<(ProcessId, Value)>) -> Self {
        Property {
            name: "never together".to_string(),
            when: When::Always,
            observes: vec![(TypeId::of::<Value>(), Arc::new(|state: &Value| Some(state.clone())))],
            holds: Arc::new(move |observed| {
                together.iter().any(|(process, state)| observed[process.index()] != state)
            }),
            limit: None,
            parts: Vec::new(),
            purity: Arc::default(),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// When it must hold.
    pub fn when(&self) -> When {
        self.when
    }

    /// How many processes may satisfy a local predicate at once, if that is all that the property says.
    pub(crate) fn limit(&self) -> Option<usize> {
        self.limit
    }

    pub(crate) fn looks_at_any(&self, types: &[TypeId]) -> bool {
        self.observes.iter().any(|(observed, _)| types.contains(observed))
    }

    /// What it sees of a local state; `None` if it does not look at such processes. An observation that
    /// panics is seen as such, and breaks the property.
    pub fn observe(&self, state: &Value) -> Option<Value> {
        let seen = self.observe_once(state);
        self.purity.observed(self, state, seen.as_ref());
        seen
    }

    fn observe_once(&self, state: &Value) -> Option<Value> {
        let observe = || self.observes.iter().find_map(|(_, observe)| observe(state));
        catching(observe).unwrap_or_else(|message| Some(Value::new(ObservationPanicked(message))))
    }

    /// Does it hold for these observations, in the order of the processes that it looks at? A condition
    /// that panics does not.
    pub fn holds(&self, observed: &[&Value]) -> bool {
        let holds = self.holds_once(observed);
        self.purity.held(self, observed, holds);
        holds
    }

    fn holds_once(&self, observed: &[&Value]) -> bool {
        catching(|| (self.holds)(observed)).unwrap_or(false)
    }

    /// Does it hold in the system state with these local states? Says which observations broke it if not.
    pub fn check<'a>(
        &self,
        locals: impl IntoIterator<Item = &'a Value>,
    ) -> Result<(), Vec<(ProcessId, Value)>> {
        let observed: Vec<(ProcessId, Value)> = locals
            .into_iter()
            .enumerate()
            .filter_map(|(p, state)| Some((ProcessId::new(p), self.observe(state)?)))
            .collect();
        let values: Vec<&Value> = observed.iter().map(|(_, value)| value).collect();
        if self.holds(&values) { Ok(()) } else { Err(observed) }
    }
}

impl Property {
    /// What of it answered differently when it was asked again, and how: then nothing can be concluded from it.
    pub(crate) fn impure(&self) -> Option<&str> {
        self.parts.iter().find_map(Property::impure).or(self.purity.impure())
    }

    /// A search has ended: asks some of what it was asked once more.
    pub(crate) fn ask_again(&self) {
        self.parts.iter().for_each(Property::ask_again);
        self.purity.ask_again(self);
    }
}

impl fmt::Debug for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Property").field("name", &self.name).field("when", &self.when).finish_non_exhaustive()
    }
}
