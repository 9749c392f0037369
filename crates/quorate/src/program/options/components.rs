//! Which processes make up a component, for the engine that explores components one by one. A component may be a system
//! of components itself.

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches};

use super::super::failure::Failure;
use super::super::store;
use super::{NotANumber, named, number};
use crate::base::ProcessId;
use crate::engine::components::{Part, Partition};
use crate::model::Model;

/// A role and some of its processes, by number: `fork=0-7`. All of them unless numbers are given.
#[derive(Clone, Debug)]
struct Seats {
    role: String,
    numbers: Option<(usize, usize)>,
}

/// The options that say it.
pub(super) fn options() -> Vec<Arg> {
    let args = [
        Arg::new("components")
            .value_name("NUMBER[xNUMBER…]")
            .allow_negative_numbers(true)
            .value_parser(numbers)
            .help("So many components: every role divided evenly, neighbours together; 2x4 is two systems of four each"),
        Arg::new("group")
            .alias("component")
            .value_name("ROLE[=FROM-TO],…[+…]")
            .action(ArgAction::Append)
            .value_parser(systems)
            .conflicts_with("components")
            .help(
                "A component of these processes, such as philosopher=0-7,fork=0-7, or a system of such, with + between them; \
                 the others are by themselves",
            ),
    ];
    args.into_iter()
        .chain(store::options())
        .map(|arg| named(arg).help_heading("Components (--engine components)"))
        .collect()
}

/// Into how many components a system is divided, and each of them, and so on.
#[derive(Clone, Debug)]
struct Division(Vec<usize>);

fn numbers(text: &str) -> Result<Division, NotANumber> {
    let numbers: Result<Vec<u64>, NotANumber> = text.split('x').map(|text| number(text, 1, 1_000)).collect();
    let index = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    Ok(Division(numbers?.into_iter().map(index).collect()))
}

/// The parts of a component that is a system; a component of processes is its only part.
type System = Vec<Vec<Seats>>;

fn systems(text: &str) -> Result<System, &'static str> {
    let group = |text: &str| -> Option<Vec<Seats>> { text.split(',').map(seats).collect() };
    let systems: Option<System> = text.split('+').map(group).collect();
    systems.ok_or("expected roles with numbers, such as philosopher=0-7,fork=0-7")
}

fn seats(text: &str) -> Option<Seats> {
    let (role, numbers) = match text.split_once('=') {
        None => (text, None),
        Some((role, numbers)) => {
            let (first, last) = numbers.split_once('-').unwrap_or((numbers, numbers));
            let numbers: (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
            (role, Some(numbers).filter(|(first, last)| first <= last))
        }
    };
    let is_whole = !text.contains('=');
    (!role.is_empty() && (is_whole || numbers.is_some())).then(|| Seats { role: role.to_string(), numbers })
}

/// The components that a command line asks for, if it does.
pub(super) fn chosen(model: &Model, matches: &ArgMatches) -> Result<Option<Partition>, Failure> {
    let given = |option: &str| matches.value_source(option) == Some(ValueSource::CommandLine);
    let parts = if let Some(Division(numbers)) =
        matches.get_one::<Division>("components").filter(|_| given("components"))
    {
        let all = model.roles().names().map(|role| (role, model.roles().of(role).to_vec())).collect();
        divided(all, numbers)?
    } else if given("group") {
        let listed = matches.get_many::<System>("group").into_iter().flatten();
        let mut parts: Vec<Part> =
            listed.map(|system| part(model, system)).collect::<Result<_, Failure>>()?;
        let alone = |process: &ProcessId| !parts.iter().any(|part| part.processes().contains(process));
        let alone: Vec<ProcessId> = model.ids().filter(alone).collect();
        parts.extend(alone.into_iter().map(|process| Part::Processes(vec![process])));
        parts
    } else {
        return Ok(None);
    };
    let twice = || Failure::Usage("--group: a process is in two components, expected in one".to_string());
    Partition::parts(model, &parts).map(Some).ok_or_else(twice)
}

/// Some processes of each role, divided into so many parts, and each of those into so many, and so on.
fn divided(all: Vec<(&str, Vec<ProcessId>)>, numbers: &[usize]) -> Result<Vec<Part>, Failure> {
    let Some((count, rest)) = numbers.split_first() else {
        return Ok(vec![Part::Processes(all.into_iter().flat_map(|(_, processes)| processes).collect())]);
    };
    let mut groups = vec![Vec::new(); *count];
    for (role, processes) in all {
        if !processes.len().is_multiple_of(*count) {
            return Err(Failure::Usage(format!(
                "--components {count} does not divide role '{role}', which has {}: expected a divisor, or --group",
                processes.len()
            )));
        }
        for (group, part) in groups.iter_mut().zip(processes.chunks((processes.len() / count).max(1))) {
            group.push((role, part.to_vec()));
        }
    }
    groups.into_iter().map(|group| divided(group, rest).map(Part::System)).collect()
}

/// One component.
fn part(model: &Model, system: &System) -> Result<Part, Failure> {
    let groups = system.iter().map(|seats| group(model, seats).map(Part::Processes));
    groups.collect::<Result<Vec<Part>, Failure>>().map(Part::System)
}

/// The processes of one component.
fn group(model: &Model, seats: &[Seats]) -> Result<Vec<ProcessId>, Failure> {
    let mut group = Vec::new();
    for Seats { role, numbers } in seats {
        if !model.roles().names().any(|name| name == role) {
            let known: Vec<&str> = model.roles().names().collect();
            return Err(Failure::Usage(format!(
                "--group names role '{role}': expected one of {}",
                known.join(", ")
            )));
        }
        let all = model.roles().of(role);
        let (first, last) = numbers.unwrap_or((0, all.len().saturating_sub(1)));
        let Some(part) = all.get(first..=last) else {
            return Err(Failure::Usage(format!(
                "--group names {role} {last}: expected a number from 0 to {}",
                all.len().saturating_sub(1)
            )));
        };
        group.extend(part);
    }
    Ok(group)
}
