//! Which processes of a model are interchangeable, and how to rename what it is made of.

use std::fmt;
use std::sync::Arc;

use super::{Envelope, Model, Outcome, QuorumSystem, Sending, Trigger};
use crate::base::{AskedAgain, ProcessId, Rename, Renaming, Value};
use crate::world::FaultLimits;

/// How to rename values of one type; `None` for a value of another type.
pub type RenameFn = fn(&Value, &Renaming) -> Option<Value>;

/// How the ids in a monitor and in what it hears are renamed.
#[derive(Clone)]
pub(crate) struct History {
    pub(crate) state: RenameFn,
    pub(crate) event: RenameFn,
}

/// How to rename everything that a system is made of.
#[derive(Clone, Default)]
pub(crate) struct Renames {
    pub(crate) states: Vec<RenameFn>,
    pub(crate) message: Option<RenameFn>,
    pub(crate) histories: Vec<History>,
    asked: Arc<AskedAgain>,
}

impl Renames {
    /// A value renamed by the one of these that knows its type, which is asked twice: a search remembers the answer.
    fn rename<'r>(
        &self,
        mut known: impl Iterator<Item = &'r RenameFn>,
        value: &Value,
        ids: &Renaming,
    ) -> Option<Value> {
        let (rename, image) = known.find_map(|rename| Some((rename, rename(value, ids)?)))?;
        let who = || format!("the renaming of {}", value.type_name());
        self.asked.compare(who, value, (&Some(&image), &rename(value, ids).as_ref()));
        Some(image)
    }
}

/// Which processes of a model are interchangeable, and how to exchange them. Made by
/// [`System::symmetric`](crate::System::symmetric).
///
/// If a permutation of each group maps process *p* to π(*p*), then the state of the system in which π(*p*) has the
/// renamed state of *p*, and the renamed messages of *p*'s inbox, is as good as the one before.
#[derive(Clone, Default)]
pub struct Symmetry {
    pub(crate) processes: usize,
    /// The members of the symmetric roles.
    pub(crate) roles: Vec<Vec<ProcessId>>,
    pub(crate) groups: Vec<Vec<ProcessId>>,
    pub(crate) renames: Renames,
}

impl Symmetry {
    /// The sets of interchangeable processes, each of two at least. One for a symmetric role, or several where the
    /// world may do more to some of its processes than to others.
    pub fn groups(&self) -> &[Vec<ProcessId>] {
        &self.groups
    }

    /// Permutations from which all others can be put together: in each group, neighbours change places.
    pub fn generators(&self) -> Vec<Renaming> {
        let pairs = self.groups.iter().flat_map(|group| group.windows(2));
        pairs.map(|pair| Renaming::swap(self.processes, pair[0], pair[1])).collect()
    }

    /// A local state with its ids renamed. Panics if the system has no symmetric role.
    pub fn rename_state(&self, state: &Value, ids: &Renaming) -> Value {
        self.find_state(state, ids).expect("states of a symmetric system can be renamed")
    }

    /// What a message says, with its ids renamed. Panics if the system has no symmetric role.
    pub fn rename_message(&self, body: &Value, ids: &Renaming) -> Value {
        let renamed = self.renames.rename(self.renames.message.iter(), body, ids);
        renamed.expect("messages of a symmetric system can be renamed")
    }

    /// An event with its ids renamed; `None` if no monitor of the system hears such events.
    pub fn rename_event(&self, event: &Value, ids: &Renaming) -> Option<Value> {
        self.renames.histories.iter().find_map(|history| (history.event)(event, ids))
    }

    /// The state of a monitor with its ids renamed. That of a monitor that has panicked stays as it is.
    pub fn rename_monitor(&self, state: &Value, ids: &Renaming) -> Value {
        self.find_monitor(state, ids).unwrap_or_else(|| state.clone())
    }

    /// A message with its sender and the ids it mentions renamed.
    pub fn rename_envelope(&self, message: &Envelope, ids: &Renaming) -> Envelope {
        Envelope { from: ids.of(message.from), body: self.rename_message(&message.body, ids) }
    }

    /// An outcome renamed: its state, the messages it sends and those of its events that a monitor hears.
    ///
    /// Messages are in the order of their receivers, and to one receiver in the order in which they were sent: a
    /// handler sends to all in one step, so nobody can find out to whom it sent first. Choices are not renamed.
    pub fn rename_outcome(&self, outcome: &Outcome, ids: &Renaming) -> Outcome {
        let renamed = |sending: &Sending| Sending {
            to: ids.of(sending.to),
            body: self.rename_message(&sending.body, ids),
        };
        let mut sends: Vec<Sending> = outcome.sends.iter().map(renamed).collect();
        sends.sort_by_key(|sending| sending.to);
        Outcome {
            choices: outcome.choices.clone(),
            state: self.rename_state(&outcome.state, ids),
            sends,
            events: outcome.events.iter().filter_map(|event| self.rename_event(event, ids)).collect(),
        }
    }

    pub(crate) fn find_state(&self, state: &Value, ids: &Renaming) -> Option<Value> {
        self.renames.rename(self.renames.states.iter(), state, ids)
    }

    /// What answered differently when it was asked to rename the same twice.
    pub(crate) fn impure(&self) -> Option<&str> {
        self.renames.asked.impure()
    }

    pub(crate) fn find_monitor(&self, state: &Value, ids: &Renaming) -> Option<Value> {
        self.renames.histories.iter().find_map(|history| (history.state)(state, ids))
    }

    /// Splits groups, so that the world may do the same to all members of a group.
    pub(crate) fn expose(&mut self, fault_limits: &[FaultLimits]) {
        self.groups.clear();
        for members in &self.roles {
            let mut groups: Vec<Vec<ProcessId>> = Vec::new();
            for &member in members {
                let limits = |process: ProcessId| fault_limits[process.index()];
                match groups.iter_mut().find(|group| limits(group[0]) == limits(member)) {
                    Some(group) => group.push(member),
                    None => groups.push(vec![member]),
                }
            }
            self.groups.extend(groups.into_iter().filter(|group| group.len() > 1));
        }
    }

    /// What differs before the first step if two processes change places.
    pub(crate) fn difference(&self, model: &Model, one: ProcessId, other: ProcessId) -> Option<Difference> {
        let ids = Renaming::swap(self.processes, one, other);
        let of_process = model.ids().find_map(|process| self.difference_of(model, process, &ids));
        let of_monitors = || {
            let starts = model.monitors.iter().map(|monitor| (monitor.name(), monitor.initial()));
            let mut differing = starts.filter(|(_, state)| self.rename_monitor(state, &ids) != **state);
            let (monitor, state) = differing.next()?;
            Some(Difference::Monitor { monitor: monitor.to_string(), state: format!("{state:?}") })
        };
        of_process.or_else(of_monitors)
    }

    fn difference_of(&self, model: &Model, process: ProcessId, ids: &Renaming) -> Option<Difference> {
        let (before, after) = (model.process(process), model.process(ids.of(process)));
        let moved = process != ids.of(process);
        if self.rename_state(&before.initial, ids) != after.initial {
            let text = |value: &Value| format!("{value:?}");
            return Some(if moved {
                Difference::Initial([before, after].map(|process| text(&process.initial)))
            } else {
                Difference::Mentioned { process: before.name.clone(), state: text(&before.initial) }
            });
        }
        if !before.transitions.iter().map(|t| &t.name).eq(after.transitions.iter().map(|t| &t.name)) {
            let names = |process: &super::Process| -> Vec<String> {
                process.transitions.iter().map(|transition| transition.name.clone()).collect()
            };
            return Some(Difference::Transitions([before, after].map(names)));
        }
        let pairs = before.transitions.iter().zip(after.transitions.iter());
        if let Some((differing, _)) =
            pairs.into_iter().find(|(before, after)| rename_trigger(&before.trigger, ids) != after.trigger)
        {
            let (process, transition) = (before.name.clone(), differing.name.clone());
            return Some(Difference::Trigger { process, transition });
        }
        let forgeable = model.forgeable(ids.of(process));
        let mut forged = model.forgeable(process).iter().map(|message| self.rename_envelope(message, ids));
        forged.find(|message| !forgeable.contains(message)).map(|message| Difference::Forged {
            process: after.name.clone(),
            message: format!("{:?}", message.body),
            from: model.process(message.from).name.clone(),
        })
    }
}

impl fmt::Debug for Symmetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Symmetry").field("groups", &self.groups).finish_non_exhaustive()
    }
}

/// The trigger renamed; its sets of processes stay in the order of their ids.
fn rename_trigger(trigger: &Trigger, ids: &Renaming) -> Trigger {
    let renamed = |processes: &Vec<ProcessId>| {
        let mut processes = processes.rename(ids);
        processes.sort_unstable();
        processes
    };
    match trigger {
        Trigger::Internal | Trigger::Message(None) => trigger.clone(),
        Trigger::Message(Some(senders)) => Trigger::Message(Some(renamed(senders))),
        Trigger::Quorum(QuorumSystem::Size { members, size }) => {
            Trigger::Quorum(QuorumSystem::Size { members: renamed(members), size: *size })
        }
        Trigger::Quorum(QuorumSystem::Listed(quorums)) => {
            let mut quorums: Vec<Vec<ProcessId>> = quorums.iter().map(renamed).collect();
            quorums.sort_unstable();
            Trigger::Quorum(QuorumSystem::Listed(quorums))
        }
    }
}

/// What distinguishes two processes that are said to be interchangeable, before the first step.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Difference {
    /// They start in these states.
    Initial(
        /// As `Debug` prints them.
        [String; 2],
    ),
    /// Some process knows one from the other.
    Mentioned {
        /// Its name.
        process: String,
        /// The state it starts in.
        state: String,
    },
    /// They have these transitions.
    Transitions(
        /// Their names.
        [Vec<String>; 2],
    ),
    /// A transition listens to one and not in the same way to the other.
    Trigger {
        /// The process with the transition.
        process: String,
        /// The transition.
        transition: String,
    },
    /// A message can be forged, but not with the two exchanged.
    Forged {
        /// The receiver of what cannot be forged.
        process: String,
        /// What it would say.
        message: String,
        /// From whom.
        from: String,
    },
    /// A monitor knows one from the other.
    Monitor {
        /// Its name.
        monitor: String,
        /// The state it starts in.
        state: String,
    },
}

/// Why roles cannot be symmetric.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SymmetryError {
    /// There is no such role.
    UnknownRole {
        /// Its name.
        role: &'static str,
    },
    /// Nobody has said how ids are renamed in the states of a role.
    StatesNotRenamed {
        /// The role.
        role: String,
        /// The type of its states.
        state: &'static str,
        /// A role that is symmetric, which need not be the same.
        symmetric: &'static str,
    },
    /// Nobody has said how ids are renamed in a monitor.
    MonitorNotRenamed {
        /// The monitor.
        monitor: String,
        /// The type of its states.
        state: &'static str,
        /// A role that is symmetric.
        symmetric: &'static str,
    },
    /// Processes of the role can be distinguished.
    NotSymmetric {
        /// The role.
        role: &'static str,
        /// A process.
        one: String,
        /// Another process.
        other: String,
        /// How they differ.
        how: Box<Difference>,
    },
}

impl fmt::Display for SymmetryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SymmetryError::UnknownRole { role } => {
                write!(f, "role '{role}' is said to be symmetric, but the system does not have it")
            }
            SymmetryError::StatesNotRenamed { role, state, symmetric } => write!(
                f,
                "role '{symmetric}' is symmetric, so ids in the states of role '{role}' must be renamed: derive Rename \
                 for {state} and add .renames::<…>() of it to the system"
            ),
            SymmetryError::MonitorNotRenamed { monitor, state, symmetric } => write!(
                f,
                "role '{symmetric}' is symmetric, so ids in monitor '{monitor}' must be renamed: derive Rename for \
                 {state} and its events and add .renames_monitor::<…>() of it to the system"
            ),
            SymmetryError::NotSymmetric { role, one, other, how } => {
                write!(f, "role '{role}' is not symmetric: ")?;
                match &**how {
                    Difference::Initial([state, other_state]) => {
                        write!(f, "{one} starts in {state}, {other} in {other_state}")?;
                    }
                    Difference::Mentioned { process, state } => {
                        write!(f, "{process} starts in {state}, which distinguishes {one} from {other}")?;
                    }
                    Difference::Transitions([names, other_names]) => {
                        let [names, other_names] = [names, other_names].map(|names| names.join(", "));
                        write!(f, "{one} has the transitions {names}; {other} has {other_names}")?;
                    }
                    Difference::Trigger { process, transition } => {
                        write!(f, "transition '{transition}' of {process} distinguishes {one} from {other}")?;
                    }
                    Difference::Forged { process, message, from } => write!(
                        f,
                        "with {one} and {other} exchanged, {from} would forge {message} to {process}, which it does not"
                    )?,
                    Difference::Monitor { monitor, state } => {
                        write!(
                            f,
                            "monitor '{monitor}' starts in {state}, which distinguishes {one} from {other}"
                        )?;
                    }
                }
                write!(f, "; expected processes that are the same up to their ids")
            }
        }
    }
}
