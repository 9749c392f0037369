//! One run of a component under Shuttle, conducted by a scheduler.
//!
//! From: DEMETER, section 4.1; Shuttle (version 0.9.9) for coroutines that look like threads. A wrapper says what its
//! thread is about to do (`reach`) and yields. Once every thread has said so the scheduler chooses, among what is
//! possible, and the chosen thread goes on to its next such point.
//! Differs: Shuttle's own schedulers choose among threads at every point where Shuttle yields and do not know what
//! comes next; points inside its primitives are passed over here. The run is on the caller's stack of coroutines, so
//! that asking the scheduler is a call; the stacks are kept for the next run on the same operating-system thread.
//! Known: a run is never ended early, which would leak what is on the stacks. When nothing more is wanted it is wound
//! up: receptions find nothing, and threads go on in turn until all have ended. Only threads that never will end
//! (stuck, or waiting to be notified) are given up.
//! Held by: tests/primitives.rs, tests/runs.rs.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::rc::Rc;

use quorate::engine::components::{MessageId, Operation, Ran, Scheduler};
use scoped_tls_hkt::scoped_thread_local;
use shuttle::scheduler::{Schedule, Scheduler as ShuttleScheduler, Task, TaskId};
use shuttle::{Config, FailurePersistence, MaxSteps};
use shuttle_engine::runtime::execution::Execution;
use shuttle_engine::runtime::thread::continuation::{CONTINUATION_POOL, ContinuationPool};

use crate::shared::{Arrival, Request, Shared};
use crate::step::{Act, Agent, Object, Step};

/// A component is one member, and threads act for it.
const MEMBER: usize = 0;

/// The size of a thread's stack. The scheduler runs on it too.
const STACK_BYTES: usize = 0x4_0000;

/// How many steps it may take to wind up a run. Then its threads are given up, since they may spin for ever.
const WINDING_STEPS_MAX: usize = 100_000;

scoped_thread_local!(static mut SCHEDULER: for<'g> &'g mut dyn Scheduler<Step>);

thread_local! {
    /// The run that is under way on this operating-system thread.
    static RUN: RefCell<Option<Run>> = const { RefCell::new(None) };
    /// The stacks of earlier runs.
    static STACKS: ContinuationPool = ContinuationPool::new();
    /// Is the scheduler being asked? A panic is its own, then.
    static ASKING: Cell<bool> = const { Cell::new(false) };
}

/// The numbers of a component's threads. A thread is known by its parent, and by how many threads the parent had
/// started before it.
pub(crate) struct Agents {
    numbers: HashMap<(Agent, usize), Agent>,
    /// The descent of each thread from the main one: of itself and each ancestor, how many siblings are older.
    descents: Vec<Vec<usize>>,
}

impl Default for Agents {
    fn default() -> Self {
        Agents { numbers: HashMap::new(), descents: vec![Vec::new()] }
    }
}

impl Agents {
    const MAIN: Agent = 0;

    fn child(&mut self, parent: Agent, nth: usize) -> Agent {
        let Agents { numbers, descents } = self;
        *numbers.entry((parent, nth)).or_insert_with(|| {
            descents.push([descents[parent].as_slice(), &[nth]].concat());
            descents.len() - 1
        })
    }

    /// The number here of a thread that has this number among other agents.
    pub(crate) fn agent_of(&mut self, other: &Agents, agent: Agent) -> Agent {
        other.descents[agent].iter().fold(Agents::MAIN, |parent, nth| self.child(parent, *nth))
    }
}

/// A thread of the run.
#[derive(Default)]
struct Thread {
    agent: Agent,
    /// What it wants to do next.
    wants: Option<Request>,
    /// What came of what it wanted.
    did: Option<Act>,
    operations: usize,
    objects: usize,
    children: usize,
}

/// A run.
struct Run {
    agents: Agents,
    shared: Shared,
    /// Shuttle numbers its tasks in the order in which they start.
    threads: Vec<Thread>,
    running: usize,
    winding_steps: usize,
    is_over: bool,
    stuck: Option<String>,
}

/// Does the current thread belong to a run?
pub(crate) fn is_conducted() -> bool {
    RUN.with_borrow(|run| run.as_ref().is_some_and(|run| !run.is_over))
}

/// Asks something of the run and the thread that is running, if there is a run that goes on.
fn with_running<T>(ask: impl FnOnce(&mut Run, usize) -> T) -> Option<T> {
    RUN.with_borrow_mut(|run| {
        let run = run.as_mut().filter(|run| !run.is_over)?;
        let running = run.running;
        Some(ask(run, running))
    })
}

/// Announces what the current thread is about to do, waits until it may, and returns what came of it; `None` outside
/// a run of a component.
pub(crate) fn reach(request: Request) -> Option<Act> {
    // Destructors run while a panic unwinds the stack; the run is over by then.
    if std::thread::panicking() {
        return None;
    }
    let me = with_running(|run, me| {
        run.threads[me].wants = Some(request);
        me
    })?;
    shuttle_engine::runtime::thread::switch();
    with_running(|run, _| run.threads[me].did.take())?
}

/// A name for something that the current thread makes.
pub(crate) fn new_object() -> Option<Object> {
    with_running(|run, me| {
        let Thread { agent, objects, .. } = &mut run.threads[me];
        *objects += 1;
        Object { maker: *agent, nth: *objects - 1 }
    })
}

/// A number for a thread that the current thread starts.
pub(crate) fn new_child() -> Option<Agent> {
    with_running(|run, me| {
        let Thread { agent, children, .. } = &mut run.threads[me];
        *children += 1;
        run.agents.child(*agent, *children - 1)
    })
}

/// Records the number of the current thread, which has just started.
pub(crate) fn begin(agent: Agent) {
    with_running(|run, me| run.threads[me].agent = agent);
}

/// A channel has one more sender.
pub(crate) fn add_sender(channel: Object) {
    with_running(|run, _| run.shared.add_sender(channel));
}

/// Runs a component's main function.
pub(crate) fn conduct(
    main: impl FnOnce() + Send + 'static,
    agents: &mut Agents,
    arrivals: Vec<Arrival>,
    in_order: bool,
    scheduler: &mut dyn Scheduler<Step>,
) -> Ran {
    let run = Run {
        agents: std::mem::take(agents),
        shared: Shared::new(arrivals, in_order),
        threads: Vec::new(),
        running: 0,
        winding_steps: 0,
        is_over: false,
        stuck: None,
    };
    assert!(RUN.replace(Some(run)).is_none(), "a run cannot be started from within another");
    ASKING.set(false);
    let mut config = Config::new();
    config.stack_size = STACK_BYTES;
    config.failure_persistence = FailurePersistence::None;
    config.max_steps = MaxSteps::None;
    config.silence_warnings = true;
    let execution = Execution::new(Rc::new(RefCell::new(Conductor)), Schedule::new(0));
    let outcome = SCHEDULER.set(scheduler, || {
        STACKS.with(|stacks| {
            CONTINUATION_POOL.set(stacks, || {
                catch_unwind(AssertUnwindSafe(|| execution.run(&config, main, Location::caller())))
            })
        })
    });
    let run = RUN.take().expect("the run was there");
    *agents = run.agents;
    match (outcome, run.stuck) {
        (Err(panic), _) if ASKING.get() => resume_unwind(panic),
        // A panic while the run is wound up says nothing: messages might have come instead.
        (Err(panic), None) if !run.shared.winds_up => Ran::Panicked(text_of(panic.as_ref())),
        (_, Some(stuck)) => Ran::Stuck(stuck),
        _ => Ran::Through,
    }
}

fn text_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a text".to_string())
}

/// Shuttle's scheduler: it asks the scheduler of the run.
struct Conductor;

impl ShuttleScheduler for Conductor {
    fn new_execution(&mut self) -> Option<Schedule> {
        None
    }

    fn next_task(
        &mut self,
        runnable: &[&Task],
        current: Option<TaskId>,
        _is_yielding: bool,
    ) -> Option<TaskId> {
        let tasks: Vec<usize> = runnable.iter().map(|task| task.id().into()).collect();
        let next = RUN.with_borrow_mut(|run| {
            let run = run.as_mut()?;
            run.next(&tasks, current.map(usize::from))
        })?;
        Some(TaskId::from(next))
    }

    fn next_u64(&mut self) -> u64 {
        panic!("chance is not under the control of a run: let a message decide")
    }
}

/// Something that a thread can do next.
struct Choice {
    task: usize,
    operation: Operation<Step>,
}

impl Run {
    /// Which of these tasks goes on. They are all that can.
    fn next(&mut self, tasks: &[usize], current: Option<usize>) -> Option<usize> {
        let last = tasks.iter().max().map_or(0, |last| last + 1);
        self.threads.resize_with(self.threads.len().max(last), Thread::default);
        // A thread that has not said what it wants goes on until it does. The running one comes first, since it may be
        // inside one of Shuttle's primitives.
        let silent = |task: &usize| self.threads[*task].wants.is_none();
        let running = current.filter(|task| tasks.contains(task) && silent(task));
        let next = running.or_else(|| tasks.iter().copied().find(silent)).or_else(|| self.decide(tasks));
        match next {
            Some(task) => self.running = task,
            None => self.is_over = true,
        }
        next
    }

    /// Lets one of the threads do what it wants.
    fn decide(&mut self, tasks: &[usize]) -> Option<usize> {
        loop {
            let choices = self.choices(tasks);
            let chosen = if self.shared.winds_up {
                match self.next_in_turn(&choices) {
                    Some(at) => at,
                    None if self.shared.hangs_up => return None,
                    None => {
                        self.shared.hangs_up = true;
                        continue;
                    }
                }
            } else {
                if choices.is_empty() {
                    self.stuck = self.who_is_stuck(tasks);
                }
                let Some(at) = ask(&choices) else {
                    report_waiting(self.waiting(tasks));
                    self.shared.winds_up = true;
                    continue;
                };
                at
            };
            let Choice { task, operation } = &choices[chosen];
            let act = &operation.step.act;
            self.shared.perform(operation.agent, act);
            let thread = &mut self.threads[*task];
            thread.operations += 1;
            thread.wants = None;
            thread.did = Some(act.clone());
            return Some(*task);
        }
    }

    /// Everything that is possible, by thread.
    fn choices(&self, tasks: &[usize]) -> Vec<Choice> {
        let mut choices: Vec<Choice> = Vec::new();
        for &task in tasks {
            let Thread { agent, wants, operations, .. } = &self.threads[task];
            let Some(request) = wants else { continue };
            let possible = self.shared.possible_for(*agent, request).into_iter();
            choices.extend(possible.map(|(act, nth)| {
                let step = Step { agent: *agent, act, nth };
                Choice { task, operation: operation(*operations, step) }
            }));
        }
        // By descent, which is the same in every run; numbers depend on earlier runs.
        choices.sort_by_key(|choice| &self.agents.descents[choice.operation.agent]);
        choices
    }

    /// What threads wait to do and cannot, because of what others have done.
    fn waiting(&self, tasks: &[usize]) -> Vec<Operation<Step>> {
        let waiting = tasks.iter().filter_map(|task| {
            let Thread { agent, wants, operations, .. } = &self.threads[*task];
            let (act, nth) = self.shared.waits_to(*agent, wants.as_ref()?)?;
            Some(operation(*operations, Step { agent: *agent, act, nth }))
        });
        waiting.collect()
    }

    /// The first choice of the next thread after the one that is running, so that no thread spins while others wait.
    fn next_in_turn(&mut self, choices: &[Choice]) -> Option<usize> {
        self.winding_steps += 1;
        if self.winding_steps > WINDING_STEPS_MAX {
            return None;
        }
        let running = self.threads[self.running].agent;
        let after = choices.iter().position(|choice| choice.operation.agent > running);
        after.or((!choices.is_empty()).then_some(0))
    }

    /// Who waits for ever, if anybody does.
    fn who_is_stuck(&self, tasks: &[usize]) -> Option<String> {
        let waiting = tasks.iter().filter_map(|task| {
            let Thread { agent, wants, .. } = &self.threads[*task];
            Some((*agent, wants.as_ref()?))
        });
        let waiting: Vec<(Agent, &Request)> = waiting.collect();
        let hopeless = self.shared.hopeless(&waiting);
        let describe = |(agent, request): &(Agent, &Request)| format!("thread {agent} waits for {request:?}");
        let stuck = waiting.iter().filter(|(agent, _)| hopeless.contains(agent)).map(describe);
        (!hopeless.is_empty()).then(|| stuck.collect::<Vec<String>>().join("; "))
    }
}

fn operation(index: usize, step: Step) -> Operation<Step> {
    let (received, sent) = match step.act {
        Act::Receive(message) => (vec![message], Vec::new()),
        Act::Send(message) => (Vec::new(), vec![message]),
        _ => (Vec::new(), Vec::new()),
    };
    let received: Vec<MessageId> = received;
    Operation { agent: step.agent, index, member: MEMBER, step, received, sent }
}

/// Hands the scheduler what threads wait to do.
fn report_waiting(waiting: Vec<Operation<Step>>) {
    ASKING.set(true);
    SCHEDULER.with(|scheduler| scheduler.wait(waiting));
    ASKING.set(false);
}

/// Which of the choices the scheduler wants.
fn ask(choices: &[Choice]) -> Option<usize> {
    if choices.is_empty() {
        return None;
    }
    let possible: Vec<Operation<Step>> = choices.iter().map(|choice| choice.operation.clone()).collect();
    ASKING.set(true);
    let chosen = SCHEDULER.with(|scheduler| {
        let chosen = scheduler.choose(&possible)?;
        if let Act::Expose(observed) = possible[chosen].step.act {
            scheduler.observe(MEMBER, observed);
        }
        Some(chosen)
    });
    ASKING.set(false);
    chosen
}
