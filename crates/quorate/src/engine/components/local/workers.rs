//! Local explorations on several threads.
//!
//! From: DEMETER, section 4, where components are explored on different machines. Each thread has a checker of its own,
//! with its own numbers, and takes the next table when it is done with one. The main checker takes over what was found
//! in the order in which the tables were asked for.
//! Invariant: which tables are made together does not depend on the number of threads, so neither does any number.
//! Held by: testkit/tests/dir.rs (the same answer on one thread and on several).

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use super::dpor::Restriction;
use super::enumerate::{Explored, explored, is_too_many};
use super::tables::{Kind, Locals, Wanted};
use crate::base::{Heeded, heed, unless_stopped};
use crate::engine::components::embedded::ComponentChecker;
use crate::engine::components::meter::{Done, Halt, Meter};
use crate::report::Stopped;

/// How often the meter sees what the threads have done.
const GLANCE_EVERY: Duration = Duration::from_millis(5);

/// What a thread found.
struct Finding<S> {
    /// By which thread.
    worker: usize,
    explored: Result<Explored<S>, Halt>,
    /// The questions that its checker has answered for it.
    asked: Vec<Vec<u64>>,
}

/// What threads have done so far, all together.
#[derive(Default)]
struct Progress {
    points: AtomicU64,
    steps: AtomicU64,
    runs: AtomicU64,
    is_stopped: AtomicBool,
}

impl<E: ComponentChecker> Locals<'_, E> {
    /// Makes those of these tables that are not known yet and take an exploration of their own.
    pub(crate) fn make(&mut self, wanted: Vec<Wanted>, meter: &mut Meter<'_>) -> Result<(), Halt> {
        let mut seen = HashSet::new();
        let mut jobs: Vec<Wanted> = wanted.into_iter().filter(|job| !self.knows(job)).collect();
        jobs.retain(|job| seen.insert(job.clone()));
        jobs.retain(|job| self.is_enumerated(self.component(job.node)));
        // Inside a system several tables are made at a time, but systems are explored one after the other.
        let (systems, jobs): (Vec<Wanted>, Vec<Wanted>) =
            jobs.into_iter().partition(|job| self.kind(self.component(job.node)) == Kind::Composed);
        for Wanted { node, offers } in systems {
            self.table(node, &offers, meter)?;
        }
        if let [Wanted { node, offers }] = jobs.as_slice() {
            self.table(*node, offers, meter)?;
        }
        if jobs.len() < 2 {
            return Ok(());
        }
        for (job, finding) in jobs.iter().zip(self.explore_together(&jobs, meter)?) {
            let Finding { worker, explored, asked } = finding;
            let Locals { forks, checker, .. } = self;
            let fork = &forks[worker];
            for asked in &asked {
                checker.learn_from(fork, asked);
            }
            let component = self.nodes[job.node].key.component;
            let found = explored?.translated_to(checker, fork, component);
            let (table, _) = self.adopt(job.node, found, meter)?;
            self.remember(job.clone(), table, meter)?;
        }
        match self.forks.iter().find_map(E::unreliable) {
            Some(stopped) => Err(Halt::Stopped(stopped)),
            None => Ok(()),
        }
    }

    /// What is found for each of some tables.
    fn explore_together(
        &mut self,
        jobs: &[Wanted],
        meter: &mut Meter<'_>,
    ) -> Result<Vec<Finding<E::Step>>, Halt> {
        let restriction: Vec<Restriction<E::Step>> = jobs.iter().map(|job| self.restriction(job)).collect();
        let workers = self.threads.clamp(1, jobs.len());
        while self.forks.len() < workers {
            self.forks.push(self.checker.fork());
        }
        let Locals { checker, forks, .. } = self;
        let checker: &E = checker;
        let (next, progress, points_max) = (AtomicUsize::new(0), Progress::default(), meter.points_max());
        let (report, findings) = channel();
        let heeded = &Heeded::here();
        let mut found: Vec<Option<Finding<E::Step>>> = restriction.iter().map(|_| None).collect();
        let stopped = std::thread::scope(|scope| {
            for (worker, fork) in forks.iter_mut().take(workers).enumerate() {
                let (next, progress, restriction, report) = (&next, &progress, &restriction, report.clone());
                scope.spawn(move || {
                    while let Some((at, restriction)) = take_next(next, restriction) {
                        let explore = || {
                            let restriction = restriction.translated_to(fork, checker);
                            progress.explore(fork, &restriction, points_max)
                        };
                        let Some(explored) = heeded.within(|| unless_stopped(explore)) else { break };
                        let asked = fork.learned().unwrap_or_default();
                        if report.send((at, Finding { worker, explored, asked })).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(report);
            let mut stopped = None;
            loop {
                match findings.recv_timeout(GLANCE_EVERY) {
                    Ok((at, finding)) => found[at] = Some(finding),
                    Err(RecvTimeoutError::Disconnected) => return stopped,
                    Err(RecvTimeoutError::Timeout) => {}
                }
                if let Err(halt) = meter.glance(progress.so_far()) {
                    progress.is_stopped.store(true, Ordering::Relaxed);
                    stopped = Some(halt);
                }
            }
        });
        if let Some(halt) = stopped {
            return Err(halt);
        }
        heed();
        // From here on everything is counted in the order in which it was asked for.
        meter.show(Done::default());
        Ok(found.into_iter().flatten().collect())
    }
}

fn take_next<'j, T>(next: &AtomicUsize, jobs: &'j [T]) -> Option<(usize, &'j T)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    Some((at, jobs.get(at)?))
}

impl Progress {
    /// Explores a component on the current thread.
    fn explore<E: ComponentChecker>(
        &self,
        fork: &mut E,
        restriction: &Restriction<E::Step>,
        points_max: u64,
    ) -> Result<Explored<E::Step>, Halt> {
        let mut before = Done::default();
        explored(fork, restriction, &mut |done| {
            self.points.fetch_add(done.points - before.points, Ordering::Relaxed);
            self.steps.fetch_add(done.steps - before.steps, Ordering::Relaxed);
            self.runs.fetch_add(done.runs - before.runs, Ordering::Relaxed);
            before = done;
            if self.is_stopped.load(Ordering::Relaxed) {
                return Err(Halt::Stopped(Stopped::Interrupted));
            }
            is_too_many(done.points, points_max)
        })
    }

    fn so_far(&self) -> Done {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Done { points: read(&self.points), steps: read(&self.steps), runs: read(&self.runs) }
    }
}
