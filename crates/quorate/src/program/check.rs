//! `check`: an instance from the command line, a search, an answer.

use std::time::Duration;

use clap::ArgMatches;
use clap::parser::ValueSource;

use super::failure::Failure;
use super::json::{Answer, Story};
use super::output::{self, AnswerFile};
use super::progress::{Limits, Progress, heed_interrupts};
use super::units::grouped;
use super::{components, memory, reductions, snapshot, stones, store, text, world};
use crate::engine::published::Stage;
use crate::engine::{self, Classes, Engine, Order, Search, Visited};
use crate::model::at_end;
use crate::model::{Model, Snapshot, TraceStep};
use crate::protocol::{Arguments, Protocol};
use crate::reduce::Refused;
use crate::render::svg;
use crate::report::{Report, Verdict};

/// Checks a protocol as the matches of its subcommand say, and prints the answer.
pub(super) fn check(protocol: &Protocol, matches: &ArgMatches) -> Result<u8, Failure> {
    let job = Job::new(protocol, matches)?;
    let file = AnswerFile::named("trace", matches)?;
    let picture = AnswerFile::named("svg", matches)?;
    heed_interrupts();
    let (report, spent) = job.run();

    let json = super::json_line(&job.answer(&report, spent))?;
    let page = if matches.get_flag("json") {
        json.clone()
    } else {
        let instance = text::instance(protocol, &job.arguments, &job.model);
        let off = reductions::switched_off(&job.search.reductions, &job.refused, &report);
        text::answer(&instance, &job.model, &report, &off, spent, output::paint())
    };
    // Both are tried before either failure is told: one of them may keep the answer.
    let gist = gist(&report);
    let printed = output::print(&page, &gist);
    let written = file.map_or(Ok(()), |file| file.write(&json, &gist));
    let drawn = match (picture, report.verdict.violation()) {
        (Some(picture), Some(found)) => picture.write(&svg(&found.trace, &found.broken), &gist),
        _ => Ok(()),
    };
    for warning in world::warnings(&report) {
        output::warn(&warning);
    }
    printed.and(written).and(drawn)?;
    Ok(exit_code(&report.verdict))
}

/// An instance in its world, and how to search it.
pub(super) struct Job<'p> {
    protocol: &'p Protocol,
    arguments: Arguments,
    model: Model,
    search: Search,
    /// Reductions that cannot be used.
    refused: Vec<Refused>,
    limits: Limits,
}

impl<'p> Job<'p> {
    /// What the matches of the protocol's subcommand say.
    pub(super) fn new(protocol: &'p Protocol, matches: &ArgMatches) -> Result<Self, Failure> {
        let (arguments, model) = instance(protocol, matches)?;
        let model = snapshot::start(protocol, model, matches)?;
        Job::of(protocol, arguments, model, matches)
    }

    /// The same, in the state after these steps.
    pub(super) fn after(
        steps: &[TraceStep],
        protocol: &'p Protocol,
        matches: &ArgMatches,
    ) -> Result<Self, Failure> {
        let (arguments, model) = instance(protocol, matches)?;
        let unreached =
            |error| Failure::Usage(format!("{}: {error}: expected steps that it can take", protocol.name()));
        Job::of(protocol, arguments, model.after(steps).map_err(unreached)?, matches)
    }

    fn of(
        protocol: &'p Protocol,
        arguments: Arguments,
        model: Model,
        matches: &ArgMatches,
    ) -> Result<Self, Failure> {
        let mut search = search(matches);
        let refused;
        (search.reductions, refused) = reductions::chosen(&model, matches, &search)?;
        if let Some(reason) = search.engine.refused(&model) {
            return Err(Failure::Usage(reason));
        }
        if search.order == Order::Depth && search.depth_max.is_some() {
            // Depth-first search may meet a state at the limit that a shorter way leads to.
            return Err(Failure::Usage("--depth-max goes with --order breadth only".to_string()));
        }
        if search.count_system_states && search.visited == Visited::Fingerprint {
            return Err(Failure::Usage(
                "--count-system-states needs the states, which fingerprints forget: expected --visited exact"
                    .to_string(),
            ));
        }
        for option in foreign_options(search.engine) {
            if matches.value_source(option) == Some(ValueSource::CommandLine) {
                let engine = search.engine.name();
                return Err(Failure::Usage(format!("--{option} does not go with --engine {engine}")));
            }
        }
        if search.duplicates_max.is_some()
            && let Some(property) = at_end(&model)
        {
            return Err(Failure::Usage(format!(
                "--duplicates: '{property}' looks at the end of runs, which come earlier if equal messages are lost"
            )));
        }
        search.components = components::chosen(&model, matches)?;
        if search.engine != Engine::Dir && search.components.is_some() {
            return Err(Failure::Usage("components are for --engine dir only".to_string()));
        }
        if search.engine != Engine::Local && search.local_events_max.is_some() {
            return Err(Failure::Usage("--local-events goes with --engine local only".to_string()));
        }
        search.stones = stones::asked(protocol, &model, search.engine, matches)?;
        search.logbook = store::asked(protocol, &arguments, &model, &search, matches)?;
        let limits = Limits { stage_time_max: stones::stage_time(matches), ..limits(&search, matches) };
        Ok(Job { protocol, arguments, model, search, refused, limits })
    }

    /// The same search, of which nothing is asked.
    pub(super) fn asking_nothing(self) -> Self {
        Job { model: self.model.without_properties(), ..self }
    }

    /// Searches; says how long it took.
    pub(super) fn run(&self) -> (Report, Duration) {
        let mut progress = Progress::new(self.limits);
        let report = engine::search(&self.model, &self.search, &mut progress);
        (report, progress.elapsed())
    }

    pub(super) fn answer(&self, report: &Report, spent: Duration) -> Answer {
        let violation = report.verdict.violation().map(|violation| (&violation.trace, &violation.broken));
        let (arguments, word) = (&self.arguments, report.verdict.word());
        let story = Story::new(self.protocol, arguments, &self.model, word, violation, Some(report));
        let from_step = self.model.start().map(Snapshot::steps);
        Answer::new(story, &self.search, &self.refused, from_step, report, spent)
    }
}

/// Options that an engine does not know: what is asked for is never ignored.
fn foreign_options(engine: Engine) -> &'static [&'static str] {
    match engine {
        Engine::Explore => &["stage"],
        Engine::Local => &["stage", "count-system-states"],
        Engine::BoundedDepth => &["order", "visited", "classes", "stage"],
        Engine::PlainDepth => &["order", "visited", "classes", "stage", "duplicates", "count-system-states"],
        Engine::LmcGeneral | Engine::LmcOptimised => {
            &["order", "visited", "classes", "duplicates", "count-system-states"]
        }
        Engine::Dir => &[
            "order",
            "visited",
            "classes",
            "stage",
            "duplicates",
            "count-system-states",
            "depth-max",
            "reduce",
        ],
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

fn search(matches: &ArgMatches) -> Search {
    let word = |name: &str| matches.get_one::<String>(name).map(String::as_str);
    let engine = Engine::ALL.into_iter().find(|engine| Some(engine.name()) == word("engine"));
    let stage = Stage::NAMED.into_iter().find(|(name, _)| Some(*name) == word("stage"));
    let number = |name: &str| matches.get_one::<u64>(name).and_then(|number| u32::try_from(*number).ok());
    Search {
        engine: engine.unwrap_or_default(),
        classes: if word("classes") == Some("states") { Classes::States } else { Classes::Observations },
        local_events_max: number("local-events"),
        stage: stage.map(|(_, stage)| stage).unwrap_or_default(),
        duplicates_max: number("duplicates"),
        order: if word("order") == Some("depth") { Order::Depth } else { Order::Breadth },
        visited: if word("visited") == Some("fingerprint") { Visited::Fingerprint } else { Visited::Exact },
        count_system_states: matches.get_flag("count-system-states"),
        ..limited_search(matches)
    }
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

/// What ends a search, and whether its progress is told.
pub(super) fn limits(search: &Search, matches: &ArgMatches) -> Limits {
    Limits {
        states_max: search.states_max,
        time_max: matches.get_one::<Duration>("time-max").copied(),
        memory_max: search.bytes_max,
        stage_time_max: None,
        quiet: matches.get_flag("quiet"),
    }
}

/// The answer in a few words, for where there is no room for more.
fn gist(report: &Report) -> String {
    format!("the answer ({}, {} states)", report.verdict.word(), grouped(report.coverage.states))
}

/// What holds with a reservation that the user has asked for, such as fingerprints, counts as holding.
fn exit_code(verdict: &Verdict) -> u8 {
    match verdict {
        Verdict::Holds | Verdict::HoldsWithin(_) => 0,
        Verdict::Violated(_) => 1,
        Verdict::Unknown(_) => 2,
    }
}
