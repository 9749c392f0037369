//! A monitor that does what a table says: the monitors of the random protocols.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use quorate::{Monitor, ProcessId};

use crate::dice::Random;

const PLACES: u8 = 4;
const SYMBOLS: u8 = 3;

/// A small automaton, and where it is.
#[derive(Clone)]
pub(crate) struct Listener {
    at: u8,
    table: Arc<Table>,
}

#[derive(Clone, Debug)]
struct Table {
    /// For each place, where each symbol leads.
    next: Vec<Vec<u8>>,
    /// The place where the property is broken.
    bad: Option<u8>,
    /// The place where it panics when it hears something.
    alarm: Option<u8>,
}

impl Listener {
    pub(crate) fn random(random: &mut Random) -> Self {
        let next = (0..PLACES).map(|_| (0..SYMBOLS).map(|_| random.below(PLACES)).collect()).collect();
        let bad = random.chance(60).then(|| 1 + random.below(PLACES - 1));
        let alarm = random.chance(5).then(|| random.below(PLACES));
        Listener { at: 0, table: Arc::new(Table { next, bad, alarm }) }
    }

    /// As it is, but whatever it hears, it does not mind.
    pub(crate) fn content_with_all(&self) -> Self {
        let table = Table { bad: None, alarm: None, ..(*self.table).clone() };
        Listener { at: self.at, table: Arc::new(table) }
    }
}

impl Monitor for Listener {
    type Event = (u8, u8);

    fn hear(&mut self, process: ProcessId, (one, other): &(u8, u8)) {
        assert!(self.table.alarm != Some(self.at), "planted in a monitor");
        let symbol = (process.index() + usize::from(one + 2 * other)) % usize::from(SYMBOLS);
        self.at = self.table.next[usize::from(self.at)][symbol];
    }

    fn holds(&self) -> bool {
        self.table.bad != Some(self.at)
    }
}

impl PartialEq for Listener {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}

impl Eq for Listener {}

impl Hash for Listener {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.at.hash(state);
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "listens at {}", self.at)
    }
}
