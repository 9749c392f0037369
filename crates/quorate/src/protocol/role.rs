//! Roles and their transitions, as a user writes them.
//!
//! A trigger is structural: it names what is consumed, never what is absent. That makes every step
//! monotone in the inbox, on which the reductions rest (docs/theory/kernel.md 1).

use std::sync::Arc;

use super::outbox::{Outbox, Quorum, Received};
use crate::base::ProcessId;
use crate::base::RoleName;
use crate::base::{Content, Value};
use crate::model::Script;
use crate::model::{Envelope, Outcome, RoleMembers};

/// What can be sent.
pub trait Message: Clone + Content {}
impl<T: Clone + Content> Message for T {}

/// The local state of a kind of process, and what such a process can do.
///
/// ```
/// use quorate::{Role, RoleName, System, Transitions, World, observe};
///
/// #[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
/// struct Counter { in_memory: u8, on_disk: u8 }
///
/// impl Role for Counter {
///     type Message = ();
///
///     fn transitions(&self, t: &mut Transitions<Self>) {
///         t.internal("count").when(|c| c.in_memory < 3).run(|c, _| c.in_memory += 1);
///         t.internal("save").run(|c, _| c.on_disk = c.in_memory);
///     }
///
///     fn restarted(&self) -> Self {
///         Counter { in_memory: self.on_disk, ..self.clone() }
///     }
/// }
///
/// let system = System::new()
///     .role(RoleName::new("counter"), 1, |_| Counter::default())
///     .invariant("the disk is not ahead", observe(|c: &Counter| c.on_disk <= c.in_memory), |fine| fine[0]);
/// quorate::check(system).world(World::default().restart("counter", 1)).assert_holds();
/// ```
pub trait Role: Clone + Content {
    /// What the processes of this system say to each other.
    type Message: Message;

    /// Lists the transitions. `self` is the state in which the process starts.
    fn transitions(&self, t: &mut Transitions<Self>);

    /// What is left of the state after a restart: what the process keeps on disk. Everything, unless a role says
    /// otherwise. Restarts are asked for by `--restart` or [`World::restarts`](crate::World::restarts).
    #[must_use]
    fn restarted(&self) -> Self {
        self.clone()
    }
}

/// Which senders make a quorum, before the roles have been counted.
#[derive(Clone, Debug)]
pub struct QuorumOf {
    pub(super) role: RoleName,
    pub(super) kind: QuorumKind,
}

#[derive(Clone, Debug)]
pub(super) enum QuorumKind {
    Majority,
    All,
    Exactly(usize),
    Listed(Vec<Vec<usize>>),
}

/// More than half of the processes of a role, and no more than needed.
pub fn majority_of(role: RoleName) -> QuorumOf {
    QuorumOf { role, kind: QuorumKind::Majority }
}

/// Every process of a role.
pub fn all_of(role: RoleName) -> QuorumOf {
    QuorumOf { role, kind: QuorumKind::All }
}

/// Exactly `size` processes of a role.
pub fn some_of(size: usize, role: RoleName) -> QuorumOf {
    QuorumOf { role, kind: QuorumKind::Exactly(size) }
}

/// One of the listed sets, each given as positions within the role.
pub fn quorums_of<Q: AsRef<[usize]>>(role: RoleName, quorums: impl IntoIterator<Item = Q>) -> QuorumOf {
    let quorums = quorums.into_iter().map(|quorum| quorum.as_ref().to_vec()).collect();
    QuorumOf { role, kind: QuorumKind::Listed(quorums) }
}

pub(super) enum TriggerSpec {
    Internal,
    Message(Option<RoleName>),
    Quorum(QuorumOf),
}

type Keys<S> = Box<dyn Fn(&S, &[&<S as Role>::Message]) -> Vec<Option<usize>> + Send + Sync>;
type Guard<S> = Box<dyn Fn(&S, &[&Envelope]) -> bool + Send + Sync>;
type Effect<S> = Box<dyn Fn(&mut S, &[&Envelope], &mut Outbox<<S as Role>::Message>) + Send + Sync>;

pub(super) struct Spec<S: Role> {
    pub(super) name: String,
    pub(super) trigger: TriggerSpec,
    keys: Keys<S>,
    guard: Guard<S>,
    effect: Effect<S>,
}

impl<S: Role> Spec<S> {
    fn new(name: &str, trigger: TriggerSpec) -> Self {
        Spec {
            name: name.to_string(),
            trigger,
            keys: Box::new(|_, messages| vec![Some(0); messages.len()]),
            guard: Box::new(|_, _| true),
            effect: Box::new(|_, _, _| {}),
        }
    }

    pub(super) fn keys(&self, state: &Value, messages: &[&Envelope]) -> Vec<Option<usize>> {
        let bodies: Vec<&S::Message> = messages.iter().map(|message| message.body.expect()).collect();
        (self.keys)(state.expect(), &bodies)
    }

    pub(super) fn guard(&self, state: &Value, consumed: &[&Envelope]) -> bool {
        (self.guard)(state.expect(), consumed)
    }

    pub(super) fn effect(
        &self,
        state: &Value,
        consumed: &[&Envelope],
        roles: &Arc<RoleMembers>,
        me: ProcessId,
        script: Script,
    ) -> (Outcome, Script) {
        let mut state: S = state.expect::<S>().clone();
        let mut out = Outbox::new(me, roles, script);
        (self.effect)(&mut state, consumed, &mut out);
        let (sends, events, script) = out.close();
        let outcome = Outcome { choices: script.choices(), state: Value::new(state), sends, events };
        (outcome, script)
    }
}

/// Collects the transitions of a role.
///
/// ```
/// use quorate::{Role, RoleName, System, Transitions, all_of, observe};
///
/// const PEERS: RoleName = RoleName::new("peer");
///
/// #[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
/// struct Peer { voted: bool, commits: Option<bool> }
///
/// impl Role for Peer {
///     type Message = bool;
///
///     fn transitions(&self, t: &mut Transitions<Self>) {
///         t.internal("vote").when(|peer| !peer.voted).run(|peer, out| {
///             peer.voted = true;
///             let vote = out.choose([true, false]);
///             out.send_all(PEERS, vote);
///         });
///         t.message("abort").of(|_, vote| !vote).run(|peer, _, _| peer.commits = Some(false));
///         t.quorum("commit", all_of(PEERS)).of(|_, vote| *vote).run(|peer, _, _| peer.commits = Some(true));
///     }
/// }
///
/// let system = System::new()
///     .role(PEERS, 3, |_| Peer::default())
///     .at_end("all decide alike", observe(|peer: &Peer| peer.commits), |commits| {
///         commits[0].is_some() && commits.iter().all(|one| *one == commits[0])
///     });
/// quorate::check(system).assert_holds_without_faults();
/// ```
pub struct Transitions<S: Role> {
    pub(super) specs: Vec<Spec<S>>,
}

impl<S: Role> Transitions<S> {
    /// A transition that consumes nothing: a timer, a client, a decision of its own.
    pub fn internal(&mut self, name: &str) -> Internal<'_, S> {
        Internal { spec: Spec::new(name, TriggerSpec::Internal), all: self }
    }

    /// A transition that consumes one message.
    pub fn message(&mut self, name: &str) -> OneMessage<'_, S> {
        OneMessage { spec: Spec::new(name, TriggerSpec::Message(None)), all: self }
    }

    /// A transition that consumes one message from each member of a quorum, and no more: messages that
    /// are left over stay in the inbox.
    pub fn quorum(&mut self, name: &str, quorum: QuorumOf) -> QuorumMessages<'_, S> {
        QuorumMessages { spec: Spec::new(name, TriggerSpec::Quorum(quorum)), all: self }
    }
}

/// Whether a message is of interest: `bool`, or `Option<K>` where messages of one quorum must have equal
/// keys.
pub trait IntoKey {
    /// What messages of one quorum have in common.
    type Key: Eq;
    /// The key; `None` if the message is of no interest.
    fn into_key(self) -> Option<Self::Key>;
}

impl IntoKey for bool {
    type Key = ();
    fn into_key(self) -> Option<()> {
        self.then_some(())
    }
}

impl<K: Eq> IntoKey for Option<K> {
    type Key = K;
    fn into_key(self) -> Option<K> {
        self
    }
}

fn grouping<S: Role, K: IntoKey>(of: impl Fn(&S, &S::Message) -> K + Send + Sync + 'static) -> Keys<S> {
    Box::new(move |state, messages| {
        let mut seen: Vec<K::Key> = Vec::new();
        let mut group = |key: K::Key| {
            seen.iter().position(|other| *other == key).unwrap_or_else(|| {
                seen.push(key);
                seen.len() - 1
            })
        };
        messages.iter().map(|message| of(state, message).into_key().map(&mut group)).collect()
    })
}

/// A transition that consumes nothing, being described.
#[must_use = "a transition without run() is not part of the role"]
pub struct Internal<'t, S: Role> {
    spec: Spec<S>,
    all: &'t mut Transitions<S>,
}

impl<S: Role> Internal<'_, S> {
    /// When it may be taken. Without this, always.
    pub fn when(mut self, guard: impl Fn(&S) -> bool + Send + Sync + 'static) -> Self {
        self.spec.guard = Box::new(move |state, _| guard(state));
        self
    }

    /// What it does.
    pub fn run(mut self, effect: impl Fn(&mut S, &mut Outbox<S::Message>) + Send + Sync + 'static) {
        self.spec.effect = Box::new(move |state, _, out| effect(state, out));
        self.all.specs.push(self.spec);
    }
}

/// A transition that consumes one message, being described.
#[must_use = "a transition without run() is not part of the role"]
pub struct OneMessage<'t, S: Role> {
    spec: Spec<S>,
    all: &'t mut Transitions<S>,
}

impl<S: Role> OneMessage<'_, S> {
    /// Only messages from processes of this role.
    pub fn from(mut self, role: RoleName) -> Self {
        self.spec.trigger = TriggerSpec::Message(Some(role));
        self
    }

    /// Which messages it consumes. Without this, any.
    pub fn of<K: IntoKey>(mut self, of: impl Fn(&S, &S::Message) -> K + Send + Sync + 'static) -> Self {
        self.spec.keys = grouping(of);
        self
    }

    /// A condition that also sees the sender.
    pub fn when(
        mut self,
        guard: impl Fn(&S, Received<'_, S::Message>) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.spec.guard = Box::new(move |state, consumed| guard(state, Received::open(consumed[0])));
        self
    }

    /// What it does.
    pub fn run(
        mut self,
        effect: impl Fn(&mut S, Received<'_, S::Message>, &mut Outbox<S::Message>) + Send + Sync + 'static,
    ) {
        self.spec.effect =
            Box::new(move |state, consumed, out| effect(state, Received::open(consumed[0]), out));
        self.all.specs.push(self.spec);
    }
}

/// A transition that consumes a quorum, being described.
#[must_use = "a transition without run() is not part of the role"]
pub struct QuorumMessages<'t, S: Role> {
    spec: Spec<S>,
    all: &'t mut Transitions<S>,
}

impl<S: Role> QuorumMessages<'_, S> {
    /// Which messages count. If the closure returns `Option<K>`, those of one quorum have equal keys: a
    /// ballot, a round, a request.
    pub fn of<K: IntoKey>(mut self, of: impl Fn(&S, &S::Message) -> K + Send + Sync + 'static) -> Self {
        self.spec.keys = grouping(of);
        self
    }

    /// A condition over the whole quorum.
    pub fn when(
        mut self,
        guard: impl Fn(&S, Quorum<'_, S::Message>) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.spec.guard =
            Box::new(move |state, consumed| guard(state, Quorum::new(&Received::open_all(consumed))));
        self
    }

    /// What it does.
    pub fn run(
        mut self,
        effect: impl Fn(&mut S, Quorum<'_, S::Message>, &mut Outbox<S::Message>) + Send + Sync + 'static,
    ) {
        self.spec.effect = Box::new(move |state, consumed, out| {
            effect(state, Quorum::new(&Received::open_all(consumed)), out);
        });
        self.all.specs.push(self.spec);
    }
}
