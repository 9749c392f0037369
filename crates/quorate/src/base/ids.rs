//! Names of processes and roles.

use std::fmt;

/// The most processes a system may have.
pub const PROCESSES_MAX: usize = 64;

/// One process of a system, by its position.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessId(u8);

impl ProcessId {
    /// The process at a position.
    pub fn new(position: usize) -> Self {
        assert!(position < PROCESSES_MAX, "a system has at most {PROCESSES_MAX} processes");
        #[expect(clippy::cast_possible_truncation, reason = "asserted above")]
        let position = position as u8;
        ProcessId(position)
    }

    /// Its position in the system, from 0.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl fmt::Debug for ProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// The name of a role, in the singular: `const ACCEPTORS: RoleName = RoleName::new("acceptor");`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RoleName(&'static str);

impl RoleName {
    /// Names a role.
    pub const fn new(name: &'static str) -> Self {
        RoleName(name)
    }

    /// The name.
    pub const fn name(self) -> &'static str {
        self.0
    }
}
