//! Engines on the command line: `--engine`, and the options that go with some engines only.

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches};

use super::super::Program;
use super::super::failure::Failure;
use super::super::store;
use super::{Given, components, named, number, stones};
use crate::engine::{
    BoundedDepth, CombineBy, Components, Count, Engine, Explore, Local, Order, Staged, Visited,
};

/// An engine on the command line: how its options make it.
pub struct EngineOption {
    /// The engine as it is without options.
    pub engine: &'static dyn Engine,
    /// What it was called before, if it was.
    pub former_name: Option<&'static str>,
    /// The options that it heeds, of those that not every engine does.
    pub heeds: &'static [&'static str],
    /// Options that it has and no other engine knows of.
    pub options: fn() -> Vec<Arg>,
    /// The engine that options ask for.
    pub build: fn(&Given<'_>) -> Result<Box<dyn Engine>, Failure>,
}

/// The engines of this crate.
pub(crate) const ENGINES: [EngineOption; 4] = [
    EngineOption {
        engine: &Explore::DEFAULT,
        former_name: None,
        heeds: &["order", "visited", "copies-max", "count-system-states", "threads"],
        options: Vec::new,
        build: |given| Ok(Box::new(explore(given.matches))),
    },
    EngineOption {
        engine: &Local::DEFAULT,
        former_name: None,
        heeds: &["order", "visited", "copies-max", "combine-by", "own-steps-max", "threads"],
        options: local_options,
        build: |given| Ok(Box::new(local(given.matches))),
    },
    EngineOption {
        engine: &BoundedDepth::DEFAULT,
        former_name: None,
        heeds: &["copies-max", "count-system-states"],
        options: Vec::new,
        build: |given| {
            let Explore { copies_max, count, .. } = explore(given.matches);
            Ok(Box::new(BoundedDepth { copies_max, count, ..BoundedDepth::DEFAULT }))
        },
    },
    EngineOption {
        engine: &Components::DEFAULT,
        former_name: Some("dir"),
        heeds: &["components", "group", "store", "resume", "threads"],
        options: components::options,
        build: |given| {
            let partition = components::chosen(given.model, given.matches)?;
            let log = store::asked(given, partition.as_ref())?;
            Ok(Box::new(Components { partition, log }))
        },
    },
];

/// `--engine`, and what several engines heed.
pub(super) fn options(engines: &[EngineOption]) -> Vec<Arg> {
    let names = engines.iter().map(|option| {
        let value = PossibleValue::new(option.engine.name()).help(option.engine.purpose());
        option.former_name.into_iter().fold(value, PossibleValue::alias)
    });
    let copies = |text: &str| number(text, 0, u64::from(u32::MAX));
    let args = [
        Arg::new("engine")
            .value_name("ENGINE")
            .value_parser(PossibleValuesParser::new(names))
            .default_value(Explore::DEFAULT.name())
            .help("Which engine searches"),
        Arg::new("order")
            .value_name("ORDER")
            .value_parser(ORDERS.map(order_word))
            .default_value(order_word(Order::default()))
            .help("Nearest states first (shortest counterexamples) or newest first (small frontier)"),
        Arg::new("visited")
            .value_name("HOW")
            .value_parser(VISITED.map(visited_word))
            .default_value(visited_word(Visited::default()))
            .help("Remember states exactly, or by fingerprints: less memory, may miss a state and says how likely"),
        Arg::new("copies-max")
            .alias("duplicates")
            .value_name("NUMBER")
            .allow_negative_numbers(true)
            .value_parser(copies)
            .help("Of equal messages waiting for a process, keep so many besides the first"),
        Arg::new("count-system-states")
            .action(ArgAction::SetTrue)
            .help("Count the vectors of local states as well, whatever waits in channels and who has crashed"),
    ];
    args.into_iter().map(named).collect()
}

/// How the engine `local` goes about it.
fn local_options() -> Vec<Arg> {
    let number = |text: &str| number(text, 1, u64::from(u32::MAX));
    let args = [
        Arg::new("combine-by")
            .alias("classes")
            .value_name("WHAT")
            .value_parser(["observations", "states"])
            .default_value("observations")
            .help("Combine local states by what a property observes of them, or each by itself"),
        Arg::new("own-steps-max")
            .alias("local-events")
            .value_name("NUMBER")
            .allow_negative_numbers(true)
            .value_parser(number)
            .help("Cover runs with at most so many steps of each process by itself (timers, clients), from 1 on"),
    ];
    args.into_iter().map(|arg| named(arg).help_heading("Local states (--engine local)")).collect()
}

/// What can be said with `--order`.
const ORDERS: [Order; 2] = [Order::Breadth, Order::Depth];

/// What can be said with `--visited`.
const VISITED: [Visited; 2] = [Visited::Exact, Visited::Fingerprint];

/// What `--order` calls an order.
pub(crate) fn order_word(order: Order) -> &'static str {
    match order {
        Order::Breadth => "breadth",
        Order::Depth => "depth",
    }
}

/// What `--visited` calls a way to remember states.
pub(crate) fn visited_word(visited: Visited) -> &'static str {
    match visited {
        Visited::Exact => "exact",
        Visited::Fingerprint => "fingerprint",
    }
}

/// How states are explored by an engine that does so.
pub(crate) fn explore(matches: &ArgMatches) -> Explore {
    let is = |name: &str, word: &str| matches.get_one::<String>(name).is_some_and(|given| given == word);
    Explore {
        order: ORDERS.into_iter().find(|order| is("order", order_word(*order))).unwrap_or_default(),
        visited: VISITED.into_iter().find(|how| is("visited", visited_word(*how))).unwrap_or_default(),
        copies_max: small_number("copies-max", matches),
        count: if matches.get_flag("count-system-states") { Count::SystemStates } else { Count::Nothing },
        ..Explore::DEFAULT
    }
}

fn local(matches: &ArgMatches) -> Local {
    let by_states = matches.get_one::<String>("combine-by").is_some_and(|by| by == "states");
    Local {
        explore: explore(matches),
        combine_by: if by_states { CombineBy::States } else { CombineBy::Observations },
        own_steps_max: small_number("own-steps-max", matches),
    }
}

fn small_number(option: &str, matches: &ArgMatches) -> Option<u32> {
    matches.get_one::<u64>(option).and_then(|number| u32::try_from(*number).ok())
}

/// The engine that a command line asks for, in stages if it asks for that.
pub(crate) fn chosen(program: &Program, given: &Given<'_>) -> Result<Box<dyn Engine>, Failure> {
    let name = given.matches.get_one::<String>("engine").map_or("", String::as_str);
    let is_called = |option: &&EngineOption| option.engine.name() == name || option.former_name == Some(name);
    let engines = program.engines();
    let Some(option) = engines.iter().find(is_called) else {
        return Err(Failure::Usage(format!("unknown engine '{name}': expected one of the list")));
    };
    refuse_foreign_options(engines, option, given.matches)?;
    let engine = (option.build)(given)?;
    Ok(match stones::asked(&*engine, given)? {
        Some((stones, states)) => Box::new(Staged::new(engine, stones).stone_states(states)),
        None => engine,
    })
}

/// What is asked for is never ignored: an option that only other engines heed is an error.
fn refuse_foreign_options(
    engines: &[EngineOption],
    chosen: &EngineOption,
    matches: &ArgMatches,
) -> Result<(), Failure> {
    // One thread is what every engine has.
    let one_thread = matches.get_one::<u64>("threads") == Some(&1);
    let given = |option: &&str| {
        matches.value_source(option) == Some(ValueSource::CommandLine)
            && !(*option == "threads" && one_thread)
    };
    let mut heeded = engines.iter().flat_map(|engine| engine.heeds);
    let Some(option) = heeded.find(|option| given(option) && !chosen.heeds.contains(option)) else {
        return Ok(());
    };
    let by = engines.iter().filter(|engine| engine.heeds.contains(option)).map(|engine| engine.engine.name());
    Err(Failure::Usage(format!(
        "--{option} does not go with --engine {}: expected --engine {}",
        chosen.engine.name(),
        by.collect::<Vec<_>>().join(" or ")
    )))
}
