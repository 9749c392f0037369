//! Which processes make up which component, and what a process does in a step.
//!
//! From: Guo et al., DEMETER (SOSP 2011), section 3.1.
//! Invariant: every process of a system is in exactly one component; a component that is a system has its own division
//! into components, in which the processes elsewhere are outside.
//! Held by: testkit/tests/dir.rs, testkit/tests/nested.rs.

use crate::base::ProcessId;
use crate::model::{Envelope, Model};
use crate::world::StepKind;

/// A part of a system.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Part {
    /// Some processes.
    Processes(Vec<ProcessId>),
    /// A system of parts.
    System(Vec<Part>),
}

impl Part {
    /// The part itself, or, of a system of one part, that part.
    fn whole(&self) -> &Part {
        match self {
            Part::System(parts) if parts.len() == 1 => parts[0].whole(),
            part => part,
        }
    }

    /// Its processes.
    pub fn processes(&self) -> Vec<ProcessId> {
        match self {
            Part::Processes(processes) => processes.clone(),
            Part::System(parts) => parts.iter().flat_map(Part::processes).collect(),
        }
    }
}

/// A division of a system: which processes make up which component.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Partition {
    members: Vec<Vec<ProcessId>>,
    of: Vec<usize>,
    /// For each component that is a system itself, its division.
    inner: Vec<Option<Partition>>,
}

impl Partition {
    /// The component of a process that is in none: it is outside of the system.
    pub const OUTSIDE: usize = usize::MAX;

    /// Every process by itself.
    pub fn processes(model: &Model) -> Self {
        Partition::each(model.ids().count())
    }

    /// So many processes, every one by itself.
    pub fn each(count: usize) -> Self {
        Partition {
            members: (0..count).map(|id| vec![ProcessId::new(id)]).collect(),
            of: (0..count).collect(),
            inner: vec![None; count],
        }
    }

    /// These groups of processes; `None` unless every process is in exactly one of them.
    pub fn groups(model: &Model, groups: &[Vec<ProcessId>]) -> Option<Self> {
        let parts: Vec<Part> = groups.iter().cloned().map(Part::Processes).collect();
        Partition::parts(model, &parts)
    }

    /// These parts, of which some may be systems of parts; `None` unless every process is in exactly one of them.
    pub fn parts(model: &Model, parts: &[Part]) -> Option<Self> {
        let components = Partition::within(model.processes().len(), parts)?;
        components.of.iter().all(|component| *component != Partition::OUTSIDE).then_some(components)
    }

    /// Parts of a system of so many processes.
    fn within(processes: usize, parts: &[Part]) -> Option<Self> {
        let mut of = vec![Partition::OUTSIDE; processes];
        let (mut members, mut inner) = (Vec::new(), Vec::new());
        for (component, part) in parts.iter().enumerate() {
            let mut group = part.processes();
            group.sort_unstable();
            for process in &group {
                let slot = of.get_mut(process.index())?;
                if std::mem::replace(slot, component) != Partition::OUTSIDE {
                    return None;
                }
            }
            members.push(group);
            inner.push(match part.whole() {
                Part::System(parts) => Some(Partition::within(processes, parts)?),
                Part::Processes(_) => None,
            });
        }
        Some(Partition { members, of, inner })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.members.len()
    }

    /// The processes of one.
    pub fn members(&self, component: usize) -> &[ProcessId] {
        &self.members[component]
    }

    /// The component of a process.
    pub fn of(&self, process: ProcessId) -> usize {
        self.of[process.index()]
    }

    /// How a component is divided, if it is a system itself.
    pub fn inside(&self, component: usize) -> Option<&Partition> {
        self.inner[component].as_ref()
    }
}

/// What a process does in a step, with the messages by content.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LocalStep {
    /// What kind of step.
    pub kind: StepKind,
    /// Which transition.
    pub transition: usize,
    /// How it chooses.
    pub choices: Vec<usize>,
    /// What it consumes.
    pub consumed: Vec<Envelope>,
}
