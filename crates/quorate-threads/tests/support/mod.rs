//! The simplest enumerator of runs: every choice at every moment, one run after the other; and what they are if the
//! order of independent operations is forgotten.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use quorate::engine::components::{ComponentRunner, MessageId, Operation, Ran, Scheduler};
use quorate_threads::sync::Arc;
use quorate_threads::{Processes, Step, thread};

/// Takes the first choice everywhere, except where another is prescribed.
#[derive(Default)]
struct Tree {
    /// What was chosen, of how many, at each moment.
    path: Vec<(usize, usize)>,
    depth: usize,
    operations: Vec<Operation<Step>>,
    observed: Vec<usize>,
}

impl Scheduler<Step> for Tree {
    fn choose(&mut self, possible: &[Operation<Step>]) -> Option<usize> {
        if self.depth == self.path.len() {
            self.path.push((0, possible.len()));
        }
        let (chosen, of) = self.path[self.depth];
        assert_eq!(of, possible.len(), "a run that begins the same goes on the same");
        self.depth += 1;
        self.operations.push(possible[chosen].clone());
        Some(chosen)
    }

    fn observe(&mut self, member: usize, observed: usize) {
        assert_eq!(member, 0);
        self.observed.push(observed);
    }
}

impl Tree {
    /// Prepares the next run.
    fn advance(&mut self) -> bool {
        while let Some((chosen, of)) = self.path.pop() {
            if chosen + 1 < of {
                self.path.push((chosen + 1, of));
                (self.depth, self.operations, self.observed) = (0, Vec::new(), Vec::new());
                return true;
            }
        }
        false
    }
}

/// A run as a partial order: each operation, by agent and index, with those before it that it depends on.
pub(crate) type Trace = BTreeMap<(usize, usize), (String, BTreeSet<(usize, usize)>)>;

fn trace(operations: &[Operation<Step>]) -> Trace {
    let name = |operation: &Operation<Step>| (operation.agent, operation.index);
    let mut trace = Trace::new();
    for (at, operation) in operations.iter().enumerate() {
        let matters = |before: &&Operation<Step>| {
            before.agent != operation.agent && Processes::<u8>::depends(before, operation)
        };
        let causes = operations[..at].iter().filter(matters).map(name).collect();
        trace.insert(name(operation), (format!("{:?}", operation.step), causes));
    }
    trace
}

/// All runs of a component.
#[derive(Default)]
pub(crate) struct Everything {
    pub(crate) runs: usize,
    /// The traces, each with what was exposed in it, one after the other, by number.
    pub(crate) traces: HashMap<Trace, Vec<usize>>,
    /// What was exposed last, by number.
    pub(crate) observed: BTreeSet<usize>,
    /// What was sent, one after the other.
    pub(crate) sent: BTreeSet<Vec<MessageId>>,
    pub(crate) panics: BTreeSet<String>,
    pub(crate) stuck: BTreeSet<String>,
}

/// Runs a component in every way.
pub(crate) fn everything<M: ComponentRunner<Step = Step>>(
    runner: &mut M,
    component: usize,
    arrivals: &[MessageId],
) -> Everything {
    let mut tree = Tree::default();
    let mut all = Everything::default();
    loop {
        let ran = runner.run(component, arrivals, &mut tree);
        all.runs += 1;
        // Independent operations can be exchanged: then the same is seen.
        let shown = all.traces.entry(trace(&tree.operations)).or_insert_with(|| tree.observed.clone());
        assert_eq!(*shown, tree.observed, "in another order of {:?}", tree.operations);
        all.observed.insert(tree.observed.last().copied().unwrap_or(0));
        all.sent.insert(tree.operations.iter().flat_map(|operation| operation.sent.clone()).collect());
        match ran {
            Ran::Through => {}
            Ran::Panicked(text) => drop(all.panics.insert(text)),
            Ran::Stuck(text) => drop(all.stuck.insert(text)),
        }
        if !tree.advance() {
            return all;
        }
    }
}

/// Starts so many threads, hands each its number, and waits until all have ended.
pub(crate) fn spawn_all(count: usize, body: impl Fn(usize) + Send + Sync + 'static) {
    let body = Arc::new(body);
    let spawn = |me: usize| {
        let body = Arc::clone(&body);
        thread::spawn(move || body(me))
    };
    let threads: Vec<_> = (0..count).map(spawn).collect();
    for thread in threads {
        thread.join().expect("it does not panic");
    }
}
