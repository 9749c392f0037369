//! A search that a command line asks for: an instance in its world, an engine, limits; run, it gives an answer.

use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use clap::ArgMatches;
use clap::parser::ValueSource;

use super::Program;
use super::failure::Failure;
use super::options::{Given, engines, reductions, stones, world};
use super::output::json::{self, Beginning, Story};
use super::output::progress::{Limits, Progress, heed_interrupts};
use super::output::{memory, sealed};
use super::{commands, refusals};
use crate::engine::{Engine, Explore, Order, Search, Visited};
use crate::model::{Model, TraceStep};
use crate::protocol::{Arguments, Protocol};
use crate::reduce::Refused;
use crate::report::{Details, Report, Stopped, Verdict};

/// How often whoever waits for a search looks whether it should have ended.
const LOOKS_EVERY: Duration = Duration::from_millis(20);
/// How long an engine may take to end.
const PATIENCE: Duration = Duration::from_millis(900);
/// Of the thread of a search: as much as the first thread of a program has.
const STACK: usize = 8 << 20;

/// A search that a command line asks for, before it is run.
pub struct Job<'p> {
    pub(super) protocol: &'p Protocol,
    pub(super) arguments: Arguments,
    pub(super) model: Model,
    engine: Arc<dyn Engine>,
    pub(super) search: Search,
    /// Reductions that cannot be used.
    pub(super) refused: Vec<Refused>,
    limits: Limits,
    order: Order,
    visited: Visited,
    /// The file of the snapshot in which it begins.
    from: Option<PathBuf>,
}

/// What came of a search.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Answer {
    /// The report of the engine.
    pub report: Report,
    /// The answer as `check --json` prints it: one JSON object on a line of its own.
    pub json: String,
    /// How long it took.
    pub time: Duration,
}

impl<'p> Job<'p> {
    /// What the options of `check PROTOCOL` say; after these steps, if there are any.
    pub(super) fn new(
        program: &Program,
        protocol: &'p Protocol,
        matches: &ArgMatches,
        steps: &[TraceStep],
    ) -> Result<Self, Failure> {
        let (arguments, model) = instance(protocol, matches)?;
        let unreached =
            |error| Failure::Usage(format!("{}: {error}: expected steps that it can take", protocol.name()));
        let model = if steps.is_empty() {
            commands::snapshot::start(protocol, model, matches)?
        } else {
            model.after(steps).map_err(unreached)?
        };
        let engine =
            engines::chosen(program, &Given { protocol, arguments: &arguments, model: &model, matches })?;
        let (chosen, refused) = reductions::chosen(&*engine, &model, matches)?;
        let search = limited_search(matches).reductions(chosen);
        if let Some(refusal) = engine.refuses(&model, &search) {
            return Err(Failure::Usage(refusals::of_engine(&*engine, &refusal)));
        }
        let limits = Limits { stage_time_max: stones::stage_time(matches), ..limits(&search, matches) };
        let Explore { order, visited, .. } = engines::explore(matches);
        let engine = Arc::from(engine);
        let from = matches.get_one::<PathBuf>("from").filter(|_| steps.is_empty()).cloned();
        Ok(Job { protocol, arguments, model, engine, search, refused, limits, order, visited, from })
    }

    /// The same search, of which nothing is asked.
    #[must_use]
    pub fn without_properties(self) -> Self {
        Job { model: self.model.without_properties(), ..self }
    }

    /// Searches.
    pub fn run(&self) -> Result<Answer, Failure> {
        heed_interrupts();
        let progress = Progress::new(self.limits);
        let lookout = progress.lookout;
        let report = self.report(progress);
        let time = lookout.elapsed();
        let json = sealed::line(&self.answer(&report, time))?;
        Ok(Answer { report, json, time })
    }

    /// Searches on a thread of its own. An engine ends soon after it is asked to; should it not, because it is in code of
    /// the user's that does not end or gives back very much memory, it is left behind.
    fn report(&self, mut progress: Progress) -> Report {
        let (mut lookout, latest) = (progress.lookout, Arc::clone(&progress.latest));
        let (engine, model, search) = (Arc::clone(&self.engine), self.model.clone(), self.search.clone());
        let (sender, receiver) = channel();
        let searching = move || {
            let report = engine.search(&model, &search, &mut progress);
            // Whoever gets the report may open the store of the engine again.
            drop((progress, engine));
            // Nobody listens any more if it was left behind.
            _ = sender.send(report);
        };
        let thread = thread::Builder::new().name("search".to_string()).stack_size(STACK).spawn(searching);
        let thread = thread.expect("a thread can be started");
        let mut asked: Option<(Stopped, Instant)> = None;
        loop {
            match receiver.recv_timeout(LOOKS_EVERY) {
                Ok(report) => return report,
                Err(RecvTimeoutError::Disconnected) => match thread.join() {
                    Err(panic) => resume_unwind(panic),
                    Ok(()) => unreachable!("a search ends with a report"),
                },
                Err(RecvTimeoutError::Timeout) => {}
            }
            asked = asked.or_else(|| lookout.for_all().map(|why| (why, Instant::now())));
            if let Some((why, _)) = asked.take_if(|(_, since)| since.elapsed() > PATIENCE) {
                let coverage = latest.lock().map_or_else(|poisoned| *poisoned.into_inner(), |latest| *latest);
                return Report::new(&self.model, Verdict::Unknown(why), coverage, Details::Nothing);
            }
        }
    }

    fn answer(&self, report: &Report, time: Duration) -> json::Answer {
        let violation = report.verdict.violation().map(|violation| (&violation.trace, &violation.broken));
        let (arguments, word) = (&self.arguments, report.verdict.word());
        let story = Story::new(self.protocol, arguments, &self.model, word, violation, Some(report));
        let story = Story { beginning: self.beginning(report), ..story };
        let asked = json::Asked {
            engine: self.engine.name(),
            order: engines::order_word(self.order),
            visited: engines::visited_word(self.visited),
            switched_off: reductions::switched_off(&self.refused, report),
        };
        json::Answer::new(story, asked, report, time)
    }

    /// Where the search began, if not at the beginning.
    pub(super) fn beginning(&self, report: &Report) -> Option<Beginning> {
        let from_file = self.from.as_ref().map(|path| path.display().to_string());
        report.from_step.map(|from_step| Beginning { from_step, from_file })
    }
}

/// The instance that a command line names, in its world.
pub(super) fn instance(protocol: &Protocol, matches: &ArgMatches) -> Result<(Arguments, Model), Failure> {
    let arguments = arguments(protocol, matches)?;
    let model = protocol
        .instance(&arguments)
        .map_err(|error| Failure::Usage(format!("{}: {error}", protocol.name())))?;
    let model = world::put(protocol.name(), model, matches)?;
    Ok((arguments, model))
}

/// The arguments of the instance: what was given, and the defaults of the rest.
fn arguments(protocol: &Protocol, matches: &ArgMatches) -> Result<Arguments, Failure> {
    let is_given = |name: &str| matches.value_source(name) == Some(ValueSource::CommandLine);
    let given =
        protocol.parameters().iter().filter(|parameter| is_given(parameter.name)).filter_map(|parameter| {
            Some((parameter.name, matches.get_one::<String>(parameter.name)?.as_str()))
        });
    // A protocol without planted bugs has no such option.
    let bug = matches.try_get_one::<String>("bug").ok().flatten();
    protocol.arguments(given, bug.map(String::as_str)).map_err(|error| Failure::Usage(error.to_string()))
}

/// A search with the limits and on the threads that are given.
pub(super) fn limited_search(matches: &ArgMatches) -> Search {
    let number = |name: &str| matches.get_one::<u64>(name).copied();
    let default = Search::default();
    Search {
        threads: number("threads").and_then(|number| usize::try_from(number).ok()).unwrap_or(default.threads),
        states_max: number("states-max"),
        depth_max: number("depth-max").and_then(|number| u32::try_from(number).ok()),
        bytes_max: number("memory-max").or_else(memory::default_limit),
        ..default
    }
}

/// What ends a search, and whether its progress is shown.
pub(super) fn limits(search: &Search, matches: &ArgMatches) -> Limits {
    Limits {
        states_max: search.states_max,
        time_max: matches.get_one::<Duration>("time-max").copied(),
        memory_max: search.bytes_max,
        stage_time_max: None,
        quiet: matches.get_flag("quiet"),
    }
}
