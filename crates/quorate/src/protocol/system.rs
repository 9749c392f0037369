//! Puts roles together into a system and checks that it makes sense.

use std::any::TypeId;
use std::fmt;
use std::sync::Arc;

use super::role::{Message, QuorumKind, QuorumOf, Role, Spec, Transitions, TriggerSpec};
use super::symmetry::{Declaration, States};
use crate::base::Rename;
use crate::base::RoleName;
use crate::base::{Content, Value};
use crate::base::{PROCESSES_MAX, ProcessId};
use crate::model::{Envelope, Model, Process, QuorumSystem, RestartFn, RoleMembers, Transition, Trigger};
use crate::model::{Symmetry, SymmetryError};
use crate::property::{Automaton, Monitor, Observation, Property, When};
use crate::world::{FaultLimits, World, WorldError};

type BuildTransitions = Box<dyn FnOnce(&RoleMembers) -> Result<Arc<[Transition]>, SystemError>>;

struct Member {
    role: RoleName,
    initial: Value,
    state_type: TypeId,
    transitions: BuildTransitions,
    restarted: Arc<RestartFn>,
}

/// A message that can be forged at any time.
struct Forgery {
    from: (RoleName, usize),
    to: RoleName,
    body: Value,
}

/// A system under construction: its processes and what must hold.
///
/// ```
/// use quorate::{Role, RoleName, System, Transitions, observe};
///
/// const SERVER: RoleName = RoleName::new("server");
/// const CLIENTS: RoleName = RoleName::new("client");
///
/// # #[derive(Clone, PartialEq, Eq, Hash, Debug)]
/// # struct Server;
/// # impl Role for Server {
/// #     type Message = ();
/// #     fn transitions(&self, t: &mut Transitions<Self>) {
/// #         t.message("serve").run(|_, request, out| out.send(request.from, ()));
/// #     }
/// # }
/// # #[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
/// # struct Client { asked: bool, served: bool }
/// # impl Role for Client {
/// #     type Message = ();
/// #     fn transitions(&self, t: &mut Transitions<Self>) {
/// #         t.internal("ask").when(|c| !c.asked).run(|c, out| {
/// #             c.asked = true;
/// #             out.send_all(SERVER, ());
/// #         });
/// #         t.message("served").run(|c, _, _| c.served = true);
/// #     }
/// # }
/// let system = System::new()
///     .role(SERVER, 1, |_| Server)
///     .role(CLIENTS, 2, |_| Client::default())
///     .invariant("who is served has asked", observe(|c: &Client| (c.asked, c.served)), |clients| {
///         clients.iter().all(|(asked, served)| *asked || !served)
///     })
///     .at_end("all are served", observe(|c: &Client| c.served), |served| served.iter().all(|one| *one));
/// quorate::check(system).assert_holds_without_faults();
/// ```
pub struct System<M> {
    members: Vec<Member>,
    roles: Vec<(&'static str, Vec<ProcessId>)>,
    properties: Vec<Property>,
    stepping_stones: Vec<Property>,
    monitors: Vec<Automaton>,
    forgeries: Vec<Forgery>,
    symmetry: Declaration,
    error: Option<SystemError>,
    messages: std::marker::PhantomData<fn(M)>,
}

impl<M: Message> Default for System<M> {
    fn default() -> Self {
        Self::new()
    }
}

impl<M: Message> System<M> {
    /// A system without processes.
    pub fn new() -> Self {
        System {
            members: Vec::new(),
            roles: Vec::new(),
            properties: Vec::new(),
            stepping_stones: Vec::new(),
            monitors: Vec::new(),
            forgeries: Vec::new(),
            symmetry: Declaration::default(),
            error: None,
            messages: std::marker::PhantomData,
        }
    }

    /// Adds `count` processes of a role; `new` makes the initial state of each from its position in the
    /// role.
    #[must_use]
    pub fn role<S: Role<Message = M>>(
        mut self,
        role: RoleName,
        count: usize,
        new: impl Fn(usize) -> S,
    ) -> Self {
        if self.roles.iter().any(|(name, _)| *name == role.name()) {
            self.error.get_or_insert(SystemError::RoleTwice { role: role.name() });
            return self;
        }
        if count == 0 {
            self.error.get_or_insert(SystemError::EmptyRole { role: role.name() });
        }
        let first = self.members.len();
        if first + count > PROCESSES_MAX {
            self.error
                .get_or_insert(SystemError::TooManyProcesses { role: role.name(), wanted: first + count });
            return self;
        }
        self.roles.push((role.name(), (first..first + count).map(ProcessId::new).collect()));
        for index in 0..count {
            let state = new(index);
            let mut transitions = Transitions { specs: Vec::new() };
            state.transitions(&mut transitions);
            let names: Vec<&str> = transitions.specs.iter().map(|spec| spec.name.as_str()).collect();
            if let Some(twice) = (1..names.len()).find(|at| names[..*at].contains(&names[*at])) {
                let (role, transition) = (role.name(), names[twice].to_string());
                self.error.get_or_insert(SystemError::TransitionTwice { role, transition });
            }
            self.members.push(Member {
                role,
                initial: Value::new(state),
                state_type: TypeId::of::<S>(),
                transitions: Box::new(move |roles| {
                    transitions.specs.into_iter().map(|spec| resolve(spec, role, roles)).collect()
                }),
                restarted: Arc::new(|state| Value::new(state.expect::<S>().restarted())),
            });
        }
        self
    }

    /// What must hold in every reachable state: a condition over what is observed of the processes.
    #[must_use]
    pub fn invariant<O: Content + Clone>(
        self,
        name: &str,
        observation: Observation<O>,
        holds: impl Fn(&[O]) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.property(Property::new(name, When::Always, observation, holds))
    }

    /// What must hold in every state in which nothing can happen any more. A crash or a lost message may bring about such
    /// a state: where they are not covered, [`Report::assert_holds`](crate::Report::assert_holds) says so.
    #[must_use]
    pub fn at_end<O: Content + Clone>(
        self,
        name: &str,
        observation: Observation<O>,
        holds: impl Fn(&[O]) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.property(Property::new(name, When::AtEnd, observation, holds))
    }

    /// Adds a property.
    #[must_use]
    pub fn property(mut self, property: Property) -> Self {
        self.name_property(property.name());
        self.properties.push(property);
        self
    }

    /// Which states are interesting, though nothing is wrong with them: a search in stages starts once more from them,
    /// and so gets further than one from the beginning. It changes nothing unless such a search is
    /// [asked for](crate::engine::Staged).
    #[must_use]
    pub fn stepping_stone<O: Content + Clone>(
        mut self,
        name: &str,
        observation: Observation<O>,
        interesting: impl Fn(&[O]) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.name_property(name);
        self.stepping_stones.push(Property::new(name, When::Always, observation, interesting));
        self
    }

    /// What must hold of every history: a safety automaton over the events that handlers
    /// [emit](super::Outbox::emit), starting from `initial`.
    #[must_use]
    pub fn monitor<A: Monitor>(mut self, name: &str, initial: A) -> Self {
        self.name_property(name);
        self.monitors.push(Automaton::new(name, initial));
        self
    }

    /// An adversary: the process at a position of a role may send these messages, at any time and any number of times,
    /// to every process of a role. That takes no steps and no state: the messages are always there. What the process
    /// does otherwise is what its role says; a role without transitions does nothing else.
    ///
    /// ```
    /// use quorate::{Received, Role, RoleName, System, Transitions, observe};
    ///
    /// const LIAR: RoleName = RoleName::new("liar");
    /// const HEARER: RoleName = RoleName::new("hearer");
    ///
    /// #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    /// struct Liar;
    /// impl Role for Liar {
    ///     type Message = u8;
    ///     fn transitions(&self, _: &mut Transitions<Self>) {}
    /// }
    ///
    /// #[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
    /// struct Hearer { believes: u8 }
    /// impl Role for Hearer {
    ///     type Message = u8;
    ///     fn transitions(&self, t: &mut Transitions<Self>) {
    ///         t.message("believe").run(|hearer: &mut Hearer, lie: Received<'_, u8>, _| hearer.believes = *lie.body);
    ///     }
    /// }
    ///
    /// let system = System::new()
    ///     .role(LIAR, 1, |_| Liar)
    ///     .role(HEARER, 2, |_| Hearer::default())
    ///     .forges((LIAR, 0), HEARER, [1, 2])
    ///     .invariant("agreement", observe(|hearer: &Hearer| hearer.believes), |beliefs| beliefs[0] == beliefs[1]);
    /// quorate::check(system).assert_violated();
    /// ```
    #[must_use]
    pub fn forges(
        mut self,
        from: (RoleName, usize),
        to: RoleName,
        messages: impl IntoIterator<Item = M>,
    ) -> Self {
        self.forgeries.extend(messages.into_iter().map(|body| Forgery { from, to, body: Value::new(body) }));
        self
    }

    /// Declares that the processes of a role are interchangeable: they start in the same state, and nobody prefers
    /// one to another. The checker may then look at one of many states that differ only in who is who.
    ///
    /// Ids have to be renamed for that, in messages and in the states of *every* role, which may mention those of
    /// this one: derive [`Rename`] for all of them and list the states in [`System::renames`].
    ///
    /// ```
    /// use quorate::{Outbox, ProcessId, Received, Rename, Role, RoleName, System, Transitions, observe};
    ///
    /// const SERVER: RoleName = RoleName::new("server");
    /// const CLIENTS: RoleName = RoleName::new("client");
    ///
    /// #[derive(Clone, PartialEq, Eq, Hash, Debug, Rename)]
    /// enum Msg { Ask, Granted }
    ///
    /// #[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Rename)]
    /// struct Server { granted: Option<ProcessId> }
    /// impl Role for Server {
    ///     type Message = Msg;
    ///     fn transitions(&self, t: &mut Transitions<Self>) {
    ///         t.message("grant").of(|s, _| s.granted.is_none()).run(
    ///             |server: &mut Server, ask: Received<'_, Msg>, out: &mut Outbox<Msg>| {
    ///                 server.granted = Some(ask.from);
    ///                 out.send(ask.from, Msg::Granted);
    ///             },
    ///         );
    ///     }
    /// }
    ///
    /// #[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Rename)]
    /// struct Client { asks: bool, granted: bool }
    /// impl Role for Client {
    ///     type Message = Msg;
    ///     fn transitions(&self, t: &mut Transitions<Self>) {
    ///         t.internal("ask").when(|c| !c.asks).run(|client: &mut Client, out: &mut Outbox<Msg>| {
    ///             client.asks = true;
    ///             out.send_all(SERVER, Msg::Ask);
    ///         });
    ///         t.message("granted").run(|client: &mut Client, _: Received<'_, Msg>, _| client.granted = true);
    ///     }
    /// }
    ///
    /// let system = System::new()
    ///     .role(SERVER, 1, |_| Server::default())
    ///     .role(CLIENTS, 3, |_| Client::default())
    ///     .symmetric(CLIENTS)
    ///     .renames::<(Server, Client)>()
    ///     .invariant("one grant", observe(|c: &Client| c.granted), |granted| {
    ///         granted.iter().filter(|granted| **granted).count() <= 1
    ///     });
    /// quorate::check(system).assert_holds();
    /// ```
    #[must_use]
    pub fn symmetric(mut self, role: RoleName) -> Self
    where
        M: Rename,
    {
        self.symmetry.symmetric::<M>(role);
        self
    }

    /// Says of which types the states of the roles are, and so how ids in them are renamed: one type, or a tuple of
    /// several. A system with a [symmetric](System::symmetric) role needs it for each of its roles.
    #[must_use]
    pub fn renames<S: States + Rename>(mut self) -> Self {
        self.symmetry.renames::<S>();
        self
    }

    /// As [`System::renames`], for a monitor and the events it hears. A system with a
    /// [symmetric](System::symmetric) role needs it for each of its monitors.
    #[must_use]
    pub fn renames_monitor<A: Monitor + Rename>(mut self) -> Self
    where
        A::Event: Rename,
    {
        self.symmetry.renames_monitor::<A>();
        self
    }

    /// Refuses a name that a property, a stepping stone or a monitor has already: verdicts refer to them by name.
    fn name_property(&mut self, name: &str) {
        let properties = self.properties.iter().chain(&self.stepping_stones).map(Property::name);
        if properties.chain(self.monitors.iter().map(Automaton::name)).any(|other| other == name) {
            self.error.get_or_insert(SystemError::PropertyTwice { property: name.to_string() });
        }
    }

    /// Checks the system as a whole.
    pub fn build(self) -> Result<Model, SystemError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        if self.members.is_empty() {
            return Err(SystemError::NoProcesses);
        }
        let types: Vec<TypeId> = self.members.iter().map(|member| member.state_type).collect();
        let mut observing = self.properties.iter().chain(&self.stepping_stones);
        if let Some(blind) = observing.find(|property| !property.looks_at_any(&types)) {
            return Err(SystemError::ObservesNobody { property: blind.name().to_string() });
        }
        let roles = Arc::new(RoleMembers(self.roles));
        let mut processes = Vec::with_capacity(self.members.len());
        for member in self.members {
            let (role, index) =
                (member.role.name(), processes.len() - roles.of(member.role.name())[0].index());
            processes.push(Process {
                name: if roles.of(role).len() == 1 { role.to_string() } else { format!("{role} {index}") },
                role: role.to_string(),
                initial: member.initial,
                transitions: (member.transitions)(&roles)?,
                restarted: member.restarted,
            });
        }
        if processes.len() + self.monitors.len() > PROCESSES_MAX {
            let wanted = processes.len() + self.monitors.len();
            return Err(SystemError::TooManyMonitors { wanted });
        }
        let mut model = Model {
            forgeable: forgeable(&self.forgeries, &roles, processes.len())?,
            fault_limits: vec![FaultLimits::default(); processes.len()],
            processes,
            roles,
            properties: self.properties,
            stepping_stones: self.stepping_stones,
            monitors: self.monitors,
            world: World::default(),
            symmetry: Symmetry::default(),
            start: None,
        };
        model.symmetry = self.symmetry.check(&model)?;
        Ok(model)
    }
}

/// For each process, the messages that can be forged to it.
fn forgeable(
    forgeries: &[Forgery],
    roles: &RoleMembers,
    processes: usize,
) -> Result<Vec<Vec<Envelope>>, SystemError> {
    let mut forgeable: Vec<Vec<Envelope>> = vec![Vec::new(); processes];
    for Forgery { from: (role, position), to, body } in forgeries {
        let Some(&from) = roles.of(role.name()).get(*position) else {
            return Err(SystemError::UnknownForger { role: role.name(), position: *position });
        };
        if roles.of(to.name()).is_empty() {
            return Err(SystemError::UnknownForger { role: to.name(), position: 0 });
        }
        for receiver in roles.of(to.name()) {
            let envelope = Envelope { from, body: body.clone() };
            if !forgeable[receiver.index()].contains(&envelope) {
                forgeable[receiver.index()].push(envelope);
            }
        }
    }
    Ok(forgeable)
}

fn resolve<S: Role>(spec: Spec<S>, role: RoleName, roles: &RoleMembers) -> Result<Transition, SystemError> {
    let known = |other: RoleName| {
        if roles.of(other.name()).is_empty() {
            let (transition, role) = (spec.name.clone(), role.name());
            Err(SystemError::UnknownRole { transition, role, unknown: other.name() })
        } else {
            Ok(roles.of(other.name()).to_vec())
        }
    };
    let trigger = match &spec.trigger {
        TriggerSpec::Internal => Trigger::Internal,
        TriggerSpec::Message(None) => Trigger::Message(None),
        TriggerSpec::Message(Some(from)) => Trigger::Message(Some(known(*from)?)),
        TriggerSpec::Quorum(quorum) => {
            Trigger::Quorum(resolve_quorum(quorum, &known(quorum.role)?, &spec.name)?)
        }
    };
    let spec = Arc::new(spec);
    let (keys, guard) = (Arc::clone(&spec), Arc::clone(&spec));
    Ok(Transition {
        name: spec.name.clone(),
        trigger,
        keys: Box::new(move |state, messages| keys.keys(state, messages)),
        guard: Box::new(move |state, consumed| guard.guard(state, consumed)),
        effect: Box::new(move |state, consumed, roles, me, script| {
            spec.effect(state, consumed, roles, me, script)
        }),
    })
}

fn resolve_quorum(
    quorum: &QuorumOf,
    members: &[ProcessId],
    transition: &str,
) -> Result<QuorumSystem, SystemError> {
    let bad = |size| SystemError::BadQuorum {
        transition: transition.to_string(),
        role: quorum.role.name(),
        size,
        members: members.len(),
    };
    let sized = |size| {
        if size == 0 || size > members.len() {
            return Err(bad(size));
        }
        Ok(QuorumSystem::Size { members: members.to_vec(), size })
    };
    match &quorum.kind {
        QuorumKind::Majority => sized(members.len() / 2 + 1),
        QuorumKind::All => sized(members.len()),
        QuorumKind::Exactly(size) => sized(*size),
        QuorumKind::Listed(listed) => {
            let quorum_of = |positions: &Vec<usize>| {
                let mut quorum: Vec<ProcessId> = positions
                    .iter()
                    .map(|&position| members.get(position).copied())
                    .collect::<Option<_>>()
                    .ok_or_else(|| bad(positions.len()))?;
                quorum.sort_unstable();
                quorum.dedup();
                if quorum.is_empty() { Err(bad(0)) } else { Ok(quorum) }
            };
            let mut quorums = listed.iter().map(quorum_of).collect::<Result<Vec<_>, _>>()?;
            quorums.sort_unstable();
            quorums.dedup();
            if quorums.is_empty() { Err(bad(0)) } else { Ok(QuorumSystem::Listed(quorums)) }
        }
    }
}

/// Why a system makes no sense.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SystemError {
    /// There is nothing to check.
    NoProcesses,
    /// A role was added twice.
    RoleTwice {
        /// Its name.
        role: &'static str,
    },
    /// Two transitions of a role with one name.
    TransitionTwice {
        /// The role.
        role: &'static str,
        /// The name.
        transition: String,
    },
    /// A role without processes.
    EmptyRole {
        /// Its name.
        role: &'static str,
    },
    /// More processes than [`PROCESSES_MAX`].
    TooManyProcesses {
        /// The role that was too many.
        role: &'static str,
        /// How many processes there would be.
        wanted: usize,
    },
    /// A transition waits for a role that the system does not have.
    UnknownRole {
        /// The transition.
        transition: String,
        /// Its own role.
        role: &'static str,
        /// The role it waits for.
        unknown: &'static str,
    },
    /// A quorum that its role cannot fill.
    BadQuorum {
        /// The transition.
        transition: String,
        /// The role of the senders.
        role: &'static str,
        /// How many it takes.
        size: usize,
        /// How many there are.
        members: usize,
    },
    /// Two properties with one name.
    PropertyTwice {
        /// The name.
        property: String,
    },
    /// A world that makes no sense for the system.
    World(
        /// Why.
        WorldError,
    ),
    /// With its monitors, the system has more than [`PROCESSES_MAX`] parts.
    TooManyMonitors {
        /// How many parts there would be.
        wanted: usize,
    },
    /// A message is forged by or for a process that does not exist.
    UnknownForger {
        /// The role.
        role: &'static str,
        /// The position in the role.
        position: usize,
    },
    /// A role that is said to be symmetric, and is not.
    Symmetry(
        /// Why.
        SymmetryError,
    ),
    /// A property that looks at no process of the system, and so would always hold.
    ObservesNobody {
        /// The property.
        property: String,
    },
}

impl fmt::Display for SystemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SystemError::NoProcesses => write!(f, "the system has no processes: add a role"),
            SystemError::RoleTwice { role } => {
                write!(f, "role '{role}' is added twice: give each role a name of its own")
            }
            SystemError::TransitionTwice { role, transition } => write!(
                f,
                "role '{role}' has two transitions '{transition}': give each a name of its own, traces refer to \
                 them by name"
            ),
            SystemError::EmptyRole { role } => {
                write!(f, "role '{role}' has no processes: it needs at least one")
            }
            SystemError::TooManyProcesses { role, wanted } => write!(
                f,
                "{wanted} processes once role '{role}' is added: at most {PROCESSES_MAX} are supported"
            ),
            SystemError::UnknownRole { transition, role, unknown } => write!(
                f,
                "transition '{transition}' of role '{role}' waits for role '{unknown}', which the system does not have"
            ),
            SystemError::BadQuorum { transition, role, size, members } => write!(
                f,
                "transition '{transition}' waits for a quorum of {size} of role '{role}', which has {members}: \
                 expected 1 to {members}"
            ),
            SystemError::PropertyTwice { property } => {
                write!(f, "property '{property}' is added twice: give each property a name of its own")
            }
            SystemError::World(error) => error.fmt(f),
            SystemError::Symmetry(error) => error.fmt(f),
            SystemError::TooManyMonitors { wanted } => {
                write!(f, "{wanted} processes and monitors: at most {PROCESSES_MAX} are supported")
            }
            SystemError::UnknownForger { role, position } => write!(
                f,
                "a message is forged by or for process {position} of role '{role}', which the system does not have"
            ),
            SystemError::ObservesNobody { property } => write!(
                f,
                "property '{property}' observes no process of the system: its closure must take the state of one of the roles"
            ),
        }
    }
}

impl std::error::Error for SystemError {}

impl From<SymmetryError> for SystemError {
    fn from(error: SymmetryError) -> Self {
        SystemError::Symmetry(error)
    }
}
