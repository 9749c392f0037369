//! How much a search has seen.

/// How much was seen.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Coverage {
    /// Distinct states reached.
    pub states: u64,
    /// Steps taken from them.
    pub transitions: u64,
    /// States in which no step is owed: none is possible, or only some that a run need not wait for.
    pub terminal_states: u64,
    /// The number of steps to the furthest state, on the shortest way when breadth-first.
    pub depth: u32,
    /// States waiting to be expanded.
    pub frontier: u64,
    /// Distinct local steps: (process, local state, consumed messages, choices).
    pub local_steps: u64,
    /// Runs of the user's handlers.
    pub handler_calls: u64,
    /// Bytes in the tables of the search.
    pub bytes: u64,
}

impl Coverage {
    /// Adds what another search, after this one, has seen of the same system: counts add up; depth and memory are those
    /// of the larger search; the frontier is what the last one left.
    pub fn add(&mut self, other: &Coverage) {
        let Coverage {
            states,
            transitions,
            terminal_states,
            depth,
            frontier,
            local_steps,
            handler_calls,
            bytes,
        } = *other;
        self.states += states;
        self.transitions += transitions;
        self.terminal_states += terminal_states;
        self.depth = self.depth.max(depth);
        self.frontier = frontier;
        self.local_steps += local_steps;
        self.handler_calls += handler_calls;
        self.bytes = self.bytes.max(bytes);
    }
}
