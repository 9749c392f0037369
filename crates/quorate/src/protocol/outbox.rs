//! What a handler is given: the messages it consumes, and an outbox for everything it does to the world.

use std::fmt::Debug;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use super::role::Message;
use crate::base::{Content, ProcessId, RoleName, Value};
use crate::model::{Envelope, RoleMembers, Script, Sending};

/// One message that a handler consumes. Dereferences to the message itself.
#[derive(Debug)]
pub struct Received<'a, M> {
    /// Who sent it.
    pub from: ProcessId,
    /// What it says.
    pub body: &'a M,
}

impl<M> Clone for Received<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Received<'_, M> {}

impl<M> Deref for Received<'_, M> {
    type Target = M;
    fn deref(&self) -> &M {
        self.body
    }
}

impl<'a, M: Message> Received<'a, M> {
    pub(super) fn open(envelope: &'a Envelope) -> Self {
        Received { from: envelope.from, body: envelope.body.expect() }
    }

    pub(super) fn open_all(envelopes: &[&'a Envelope]) -> Vec<Self> {
        envelopes.iter().map(|envelope| Received::open(envelope)).collect()
    }
}

/// The messages that a quorum transition consumes, one from each member, in the order of the senders.
#[derive(Debug)]
pub struct Quorum<'a, M>(&'a [Received<'a, M>]);

impl<M> Clone for Quorum<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Quorum<'_, M> {}

impl<'a, M: Message> Quorum<'a, M> {
    pub(super) fn new(received: &'a [Received<'a, M>]) -> Self {
        Quorum(received)
    }

    /// The messages in the order of their senders.
    pub fn iter(&self) -> impl Iterator<Item = Received<'a, M>> + use<'a, M> {
        self.0.iter().copied()
    }

    /// The message of the first sender.
    pub fn first(&self) -> Received<'a, M> {
        self.0[0]
    }
}

impl<'a, M> IntoIterator for Quorum<'a, M> {
    type Item = Received<'a, M>;
    type IntoIter = std::iter::Copied<std::slice::Iter<'a, Received<'a, M>>>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter().copied()
    }
}

/// What a handler sends, emits and leaves to chance.
///
/// ```
/// use quorate::{Outbox, Role, RoleName, System, Transitions, observe};
///
/// const CANDIDATES: RoleName = RoleName::new("candidate");
///
/// #[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
/// struct Candidate { ticket: u8, leads: bool }
///
/// impl Candidate {
///     /// Draws a ticket and shows it to the others; the highest wins.
///     fn draw(&mut self, out: &mut Outbox<u8>) {
///         self.ticket = out.choose([1, 2, 3]);
///         out.emit(format!("drew {}", self.ticket));
///         for other in out.members(CANDIDATES).to_vec() {
///             if other != out.me() {
///                 out.send(other, self.ticket);
///             }
///         }
///     }
/// }
/// # impl Role for Candidate {
/// #     type Message = u8;
/// #     fn transitions(&self, t: &mut Transitions<Self>) {
/// #         t.internal("draw").when(|c| c.ticket == 0).run(Self::draw);
/// #         t.message("compare").of(|c, _| c.ticket > 0).run(|c, other, _| c.leads = c.ticket >= *other.body);
/// #     }
/// # }
///
/// let system = System::new()
///     .role(CANDIDATES, 2, |_| Candidate::default())
///     .invariant("one leader", observe(|c: &Candidate| c.leads), |leads| !(leads[0] && leads[1]));
/// // Every alternative is tried, so both draw the same ticket in some run.
/// let violation = quorate::check(system).assert_violated();
/// assert_eq!(violation.trace.steps.len(), 4);
/// ```
pub struct Outbox<M> {
    me: ProcessId,
    roles: Arc<RoleMembers>,
    script: Script,
    sends: Vec<Sending>,
    events: Vec<Value>,
    messages: PhantomData<fn(M)>,
}

impl<M: Message> Outbox<M> {
    pub(super) fn new(me: ProcessId, roles: &Arc<RoleMembers>, script: Script) -> Self {
        Outbox {
            me,
            roles: Arc::clone(roles),
            script,
            sends: Vec::new(),
            events: Vec::new(),
            messages: PhantomData,
        }
    }

    pub(super) fn close(self) -> (Vec<Sending>, Vec<Value>, Script) {
        (self.sends, self.events, self.script)
    }

    pub(super) fn choices_made(&self) -> Vec<usize> {
        self.script.choices().iter().map(|choice| choice.index).collect()
    }

    pub(super) fn world(&self) -> (ProcessId, Arc<RoleMembers>) {
        (self.me, Arc::clone(&self.roles))
    }

    /// The process whose handler runs.
    pub fn me(&self) -> ProcessId {
        self.me
    }

    /// The processes of a role, in order. Panics if the system has no such role.
    pub fn members(&self, role: RoleName) -> &[ProcessId] {
        let members = self.roles.of(role.name());
        assert!(!members.is_empty(), "the system has no role '{}'", role.name());
        members
    }

    /// Sends a message to one process, which may be the sender itself.
    pub fn send(&mut self, to: ProcessId, message: M) {
        let processes: usize = self.roles.0.iter().map(|(_, members)| members.len()).sum();
        assert!(to.index() < processes, "a message to process {to:?}, of {processes}");
        self.sends.push(Sending { to, body: Value::new(message) });
    }

    /// Sends a message to every process of a role. Panics if the system has no such role.
    pub fn send_all(&mut self, role: RoleName, message: M) {
        let body = Value::new(message);
        let sends: Vec<Sending> =
            self.members(role).iter().map(|&to| Sending { to, body: body.clone() }).collect();
        self.sends.extend(sends);
    }

    /// Emits an event: something a property over histories wants to know, and a line in the trace.
    pub fn emit(&mut self, event: impl Content) {
        self.events.push(Value::new(event));
    }

    /// Leaves something to chance: the checker explores every alternative.
    ///
    /// The handler runs once for each combination of its choices.
    pub fn choose<T: Debug>(&mut self, alternatives: impl IntoIterator<Item = T>) -> T {
        self.script.choose(alternatives.into_iter().collect())
    }

    /// As [`Outbox::choose`], of something that belongs to the name of the step.
    pub(super) fn choose_step<T: Debug>(&mut self, alternatives: impl IntoIterator<Item = T>) -> T {
        self.script.choose_step(alternatives.into_iter().collect())
    }
}
