//! Handler-style code: an existing state machine that its owner steps, brought in as it is.
//!
//! A [`Node`] reacts to its start, to messages and to timers. Three holders bring one into a system, by
//! what its type can do:
//!
//! | the node | holder | compared by |
//! |---|---|---|
//! | is `Clone + Eq + Hash` | [`Stepped`] | itself |
//! | is `Clone` | [`Fingerprinted`] | what the user says identifies it |
//! | is neither | [`Replayed`] | its inputs, or what the user says identifies it; rebuilt by replaying them |
//!
//! In the first two ids can be renamed, if the node derives [`Rename`](trait@Rename). A node that is known by its
//! inputs only cannot: what it chose is kept as positions, which may be those of processes.

use std::collections::BTreeSet;
use std::fmt::{self, Debug};
use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use super::outbox::Outbox;
use super::role::{Message, Role, Transitions};
use crate::Rename;
use crate::base::ProcessId;
use crate::base::Renaming;
use crate::base::{Content, Value};
use crate::model::RoleMembers;
use crate::model::Script;

/// A state machine that reacts to inputs, one at a time.
///
/// ```
/// use quorate::protocol::{Commands, Stepped};
/// use quorate::{Node, ProcessId, RoleName, System, observe};
///
/// const PEERS: RoleName = RoleName::new("peer");
///
/// #[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
/// struct Peer { suspects: bool }
///
/// impl Node for Peer {
///     type Message = ();
///     type Timer = ();
///
///     fn on_start(&mut self, out: &mut Commands<'_, (), ()>) {
///         out.send_all(PEERS, ());
///         out.set_timer(());
///     }
///
///     fn on_message(&mut self, _: ProcessId, _: &(), out: &mut Commands<'_, (), ()>) {
///         out.cancel_timer(&());
///     }
///
///     fn on_timer(&mut self, _: &(), _: &mut Commands<'_, (), ()>) {
///         self.suspects = true;
///     }
/// }
///
/// let system = System::new().role(PEERS, 2, |_| Stepped::new(Peer::default())).invariant(
///     "nobody suspects",
///     observe(|peer: &Stepped<Peer>| peer.inspect(|peer| peer.suspects)),
///     |suspects| suspects.iter().all(|one| !one),
/// );
/// // A message may take longer than any timer.
/// quorate::check(system).assert_violated();
/// ```
pub trait Node: 'static {
    /// What nodes say to each other.
    type Message: Message;
    /// Its timers; `()` if it has only one or none.
    type Timer: Clone + Ord + Content;

    /// Runs before anything else.
    fn on_start(&mut self, _: &mut Commands<'_, Self::Message, Self::Timer>) {}

    /// A message arrives.
    fn on_message(
        &mut self,
        from: ProcessId,
        message: &Self::Message,
        out: &mut Commands<'_, Self::Message, Self::Timer>,
    );

    /// A timer that was set fires. Timers fire at any time: the checker knows no clock.
    fn on_timer(&mut self, _: &Self::Timer, _: &mut Commands<'_, Self::Message, Self::Timer>) {}

    /// It loses what it has not kept on disk: the process restarts. No timer is set any more, and
    /// [`Node::on_start`] runs again next.
    fn on_restart(&mut self) {}
}

/// What a node may do to the world: an [`Outbox`] with timers.
pub struct Commands<'a, M, T> {
    out: &'a mut Outbox<M>,
    timers: &'a mut BTreeSet<T>,
}

impl<M, T: Ord> Commands<'_, M, T> {
    /// Sets a timer; setting one that is set changes nothing.
    pub fn set_timer(&mut self, timer: T) {
        self.timers.insert(timer);
    }

    /// Cancels a timer, if it is set.
    pub fn cancel_timer(&mut self, timer: &T) {
        self.timers.remove(timer);
    }
}

impl<M, T> Deref for Commands<'_, M, T> {
    type Target = Outbox<M>;
    fn deref(&self) -> &Outbox<M> {
        self.out
    }
}

impl<M, T> DerefMut for Commands<'_, M, T> {
    fn deref_mut(&mut self) -> &mut Outbox<M> {
        self.out
    }
}

/// Something that happens to a node.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Rename)]
pub enum Input<M, T> {
    /// It starts.
    Start,
    /// A message arrives.
    Message(
        /// From whom.
        ProcessId,
        /// What it says.
        M,
    ),
    /// A timer fires.
    Timer(
        /// Which.
        T,
    ),
    /// It loses what it has not kept.
    Restart,
}

fn feed<N: Node>(
    node: &mut N,
    input: &Input<N::Message, N::Timer>,
    out: &mut Commands<'_, N::Message, N::Timer>,
) {
    match input {
        Input::Start => node.on_start(out),
        Input::Message(from, message) => node.on_message(*from, message, out),
        Input::Timer(timer) => {
            out.cancel_timer(timer);
            node.on_timer(timer, out);
        }
        Input::Restart => node.on_restart(),
    }
}

/// How a node is kept between its steps: what it is copied from and compared by.
pub trait Holder: Clone + Content {
    /// Its timers.
    type Timer: Clone + Ord + Content;
    /// The node that is held.
    type Node: Node<Timer = Self::Timer>;

    /// Gives the node an input.
    fn step(
        &mut self,
        input: Input<<Self::Node as Node>::Message, Self::Timer>,
        out: &mut Commands<'_, <Self::Node as Node>::Message, Self::Timer>,
    );

    /// The node restarts.
    fn restart(&mut self);

    /// Looks at the node.
    fn inspect<R>(&self, look: impl FnOnce(&Self::Node) -> R) -> R;
}

/// A node as a process: the node in its holder, and the timers that are set.
#[derive(Clone, PartialEq, Eq, Hash, Rename)]
pub struct Hosted<H: Holder> {
    started: bool,
    timers: BTreeSet<H::Timer>,
    holder: H,
}

impl<H: Holder> Debug for Hosted<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.holder.fmt(f)?;
        if !self.timers.is_empty() {
            write!(f, " timers {:?}", self.timers)?;
        }
        Ok(())
    }
}

impl<H: Holder> Hosted<H> {
    /// Looks at the node, for observations.
    pub fn inspect<R>(&self, look: impl FnOnce(&H::Node) -> R) -> R {
        self.holder.inspect(look)
    }

    fn hold(holder: H) -> Self {
        Hosted { started: false, timers: BTreeSet::new(), holder }
    }

    fn step(
        &mut self,
        input: Input<<H::Node as Node>::Message, H::Timer>,
        out: &mut Outbox<<H::Node as Node>::Message>,
    ) {
        self.holder.step(input, &mut Commands { out, timers: &mut self.timers });
    }
}

impl<H: Holder> Role for Hosted<H> {
    type Message = <H::Node as Node>::Message;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("on_start").when(|host| !host.started).run(|host, out| {
            host.started = true;
            host.step(Input::Start, out);
        });
        t.message("on_message").of(|host, _| host.started).run(|host, received, out| {
            host.step(Input::Message(received.from, received.body.clone()), out);
        });
        t.internal("on_timer").when(|host| !host.timers.is_empty()).run(|host, out| {
            let timer = out.choose_step(host.timers.clone());
            host.step(Input::Timer(timer), out);
        });
    }

    fn restarted(&self) -> Self {
        let mut holder = self.holder.clone();
        holder.restart();
        Hosted::hold(holder)
    }
}

/// A node that is `Clone + Eq + Hash`.
pub type Stepped<N> = Hosted<ByValue<N>>;

/// Holds a node that can be copied and compared.
#[derive(Clone, PartialEq, Eq, Hash, Rename)]
pub struct ByValue<N>(N);

impl<N: Debug> Debug for ByValue<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<N: Node + Clone + Content> Holder for ByValue<N> {
    type Timer = N::Timer;
    type Node = N;

    fn step(&mut self, input: Input<N::Message, N::Timer>, out: &mut Commands<'_, N::Message, N::Timer>) {
        feed(&mut self.0, &input, out);
    }

    fn restart(&mut self) {
        self.0.on_restart();
    }

    fn inspect<R>(&self, look: impl FnOnce(&N) -> R) -> R {
        look(&self.0)
    }
}

impl<N: Node + Clone + Content> Stepped<N> {
    /// Brings in a node that can be copied and compared.
    pub fn new(node: N) -> Self {
        Hosted::hold(ByValue(node))
    }
}

type Identify<N> = Arc<dyn Fn(&N) -> Value + Send + Sync>;

/// A node that is `Clone`, compared by what identifies it.
pub type Fingerprinted<N> = Hosted<ByFingerprint<N>>;

/// Holds a node that can be copied but not compared.
#[derive(Clone)]
pub struct ByFingerprint<N> {
    node: N,
    fingerprint: Value,
    identify: Identify<N>,
}

impl<N> PartialEq for ByFingerprint<N> {
    fn eq(&self, other: &Self) -> bool {
        self.fingerprint == other.fingerprint
    }
}

impl<N> Eq for ByFingerprint<N> {}

impl<N> Hash for ByFingerprint<N> {
    fn hash<S: Hasher>(&self, state: &mut S) {
        self.fingerprint.hash(state);
    }
}

impl<N> Debug for ByFingerprint<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fingerprint.fmt(f)
    }
}

impl<N: Rename> Rename for ByFingerprint<N> {
    fn rename(&self, ids: &Renaming) -> Self {
        let node = self.node.rename(ids);
        ByFingerprint { fingerprint: (self.identify)(&node), node, identify: Arc::clone(&self.identify) }
    }
}

impl<N: Node + Clone + Send + Sync> Holder for ByFingerprint<N> {
    type Timer = N::Timer;
    type Node = N;

    fn step(&mut self, input: Input<N::Message, N::Timer>, out: &mut Commands<'_, N::Message, N::Timer>) {
        feed(&mut self.node, &input, out);
        self.fingerprint = (self.identify)(&self.node);
    }

    fn restart(&mut self) {
        self.node.on_restart();
        self.fingerprint = (self.identify)(&self.node);
    }

    fn inspect<R>(&self, look: impl FnOnce(&N) -> R) -> R {
        look(&self.node)
    }
}

impl<N: Node + Clone + Send + Sync> Fingerprinted<N> {
    /// Brings in a node that can be copied. Two nodes with equal fingerprints are taken for the same:
    /// include everything that its reactions depend on.
    pub fn new<F: Content>(node: N, fingerprint: impl Fn(&N) -> F + Send + Sync + 'static) -> Self {
        let identify: Identify<N> = Arc::new(move |node| Value::new(fingerprint(node)));
        Hosted::hold(ByFingerprint { fingerprint: identify(&node), node, identify })
    }
}

/// A node that can be neither copied nor compared: rebuilt by replaying its inputs.
pub type Replayed<N> = Hosted<ByReplay<N>>;

/// An input as it happened: with the choices that the node made on it.
type Happened<N> = (Input<<N as Node>::Message, <N as Node>::Timer>, Vec<usize>);

/// What the outbox of a node knows: itself and the roles. The same in every step of a process.
type World = (ProcessId, Arc<RoleMembers>);

/// Holds the inputs of a node.
pub struct ByReplay<N: Node> {
    world: Option<World>,
    new: Arc<dyn Fn() -> N + Send + Sync>,
    identify: Option<Identify<N>>,
    fingerprint: Option<Value>,
    inputs: Vec<Happened<N>>,
}

impl<N: Node> Clone for ByReplay<N> {
    fn clone(&self) -> Self {
        ByReplay {
            world: self.world.clone(),
            new: Arc::clone(&self.new),
            identify: self.identify.clone(),
            fingerprint: self.fingerprint.clone(),
            inputs: self.inputs.clone(),
        }
    }
}

impl<N: Node> PartialEq for ByReplay<N> {
    fn eq(&self, other: &Self) -> bool {
        match (&self.fingerprint, &other.fingerprint) {
            (Some(mine), Some(theirs)) => mine == theirs,
            _ => self.inputs == other.inputs,
        }
    }
}

impl<N: Node> Eq for ByReplay<N> {}

impl<N: Node> Hash for ByReplay<N> {
    fn hash<S: Hasher>(&self, state: &mut S) {
        match &self.fingerprint {
            Some(fingerprint) => fingerprint.hash(state),
            None => self.inputs.hash(state),
        }
    }
}

impl<N: Node> Debug for ByReplay<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.fingerprint {
            Some(fingerprint) => fingerprint.fmt(f),
            None => f.debug_list().entries(self.inputs.iter().map(|(input, _)| input)).finish(),
        }
    }
}

impl<N: Node> ByReplay<N> {
    /// The node after its inputs so far. What it sent on the way has been sent already.
    fn rebuild(&self) -> N {
        let mut node = (self.new)();
        let mut timers = BTreeSet::new();
        // A node that was never given anything but restarts has seen no world.
        if self.world.is_none() {
            self.inputs.iter().for_each(|_| node.on_restart());
        }
        if let Some((me, roles)) = &self.world {
            for (input, choices) in &self.inputs {
                let mut past = Outbox::new(*me, roles, Script::of_the_past(choices));
                feed(&mut node, input, &mut Commands { out: &mut past, timers: &mut timers });
            }
        }
        node
    }
}

impl<N: Node> Holder for ByReplay<N> {
    type Timer = N::Timer;
    type Node = N;

    fn step(&mut self, input: Input<N::Message, N::Timer>, out: &mut Commands<'_, N::Message, N::Timer>) {
        self.world.get_or_insert_with(|| out.world());
        let mut node = self.rebuild();
        let before = out.choices_made();
        feed(&mut node, &input, out);
        let choices = out.choices_made().split_off(before.len());
        self.inputs.push((input, choices));
        self.fingerprint = self.identify.as_ref().map(|identify| identify(&node));
    }

    fn restart(&mut self) {
        self.inputs.push((Input::Restart, Vec::new()));
        self.fingerprint = self.identify.as_ref().map(|identify| identify(&self.rebuild()));
    }

    fn inspect<R>(&self, look: impl FnOnce(&N) -> R) -> R {
        look(&self.rebuild())
    }
}

impl<N: Node> Replayed<N> {
    /// Brings in a node that `new` makes. Its state is the list of its inputs, so every order of inputs
    /// is a state of its own: prefer [`Replayed::compared_by`] where something identifies the node.
    pub fn new(new: impl Fn() -> N + Send + Sync + 'static) -> Self {
        Hosted::hold(ByReplay {
            world: None,
            new: Arc::new(new),
            identify: None,
            fingerprint: None,
            inputs: Vec::new(),
        })
    }

    /// Compares nodes by what identifies them. Include everything that its reactions depend on.
    #[must_use]
    pub fn compared_by<F: Content>(mut self, fingerprint: impl Fn(&N) -> F + Send + Sync + 'static) -> Self {
        let identify: Identify<N> = Arc::new(move |node| Value::new(fingerprint(node)));
        self.holder.fingerprint = Some(self.holder.inspect(|node| identify(node)));
        self.holder.identify = Some(identify);
        self
    }
}
