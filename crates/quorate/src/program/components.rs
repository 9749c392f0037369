//! Which processes make up a component, for the engine that explores components one by one.

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches};

use super::arguments::{named, number};
use super::failure::Failure;
use crate::engine::dir::Components;
use crate::protocol::{Model, ProcessId};

/// A role and some of its processes, by number: `fork=0-7`. All of them unless numbers are given.
#[derive(Clone, Debug)]
struct Part {
    role: String,
    numbers: Option<(usize, usize)>,
}

/// The options that say it.
pub(super) fn options() -> Vec<Arg> {
    let args = [
        Arg::new("components")
            .value_name("NUMBER")
            .allow_negative_numbers(true)
            .value_parser(|text: &str| number(text, 1, 1_000))
            .help("So many components: every role divided evenly, neighbours together"),
        Arg::new("component")
            .value_name("ROLE[=FROM-TO],…")
            .action(ArgAction::Append)
            .value_parser(parts)
            .conflicts_with("components")
            .help("A component of these processes, such as philosopher=0-7,fork=0-7; the others are by themselves"),
    ];
    args.into_iter().map(|arg| named(arg).help_heading("Component by component (--engine dir)")).collect()
}

fn parts(text: &str) -> Result<Vec<Part>, &'static str> {
    let parts: Option<Vec<Part>> = text.split(',').map(part).collect();
    parts.ok_or("expected roles with numbers, such as philosopher=0-7,fork=0-7")
}

fn part(text: &str) -> Option<Part> {
    let (role, numbers) = match text.split_once('=') {
        None => (text, None),
        Some((role, numbers)) => {
            let (first, last) = numbers.split_once('-').unwrap_or((numbers, numbers));
            let numbers: (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
            (role, Some(numbers).filter(|(first, last)| first <= last))
        }
    };
    let is_whole = !text.contains('=');
    (!role.is_empty() && (is_whole || numbers.is_some())).then(|| Part { role: role.to_string(), numbers })
}

/// The components that a command line asks for, if it does.
pub(super) fn chosen(model: &Model, matches: &ArgMatches) -> Result<Option<Components>, Failure> {
    let given = |option: &str| matches.value_source(option) == Some(ValueSource::CommandLine);
    let groups = if given("components") {
        let count = matches.get_one::<u64>("components").copied().unwrap_or(1);
        divided(model, usize::try_from(count).unwrap_or(usize::MAX))?
    } else if given("component") {
        let listed = matches.get_many::<Vec<Part>>("component").into_iter().flatten();
        let groups: Result<Vec<Vec<ProcessId>>, Failure> = listed.map(|parts| group(model, parts)).collect();
        let mut groups = groups?;
        let alone: Vec<ProcessId> =
            model.ids().filter(|process| !groups.iter().flatten().any(|other| other == process)).collect();
        groups.extend(alone.into_iter().map(|process| vec![process]));
        groups
    } else {
        return Ok(None);
    };
    let twice = || Failure::Usage("--component: a process is in two components, expected in one".to_string());
    Components::groups(model, &groups).map(Some).ok_or_else(twice)
}

/// Every role divided into so many parts.
fn divided(model: &Model, count: usize) -> Result<Vec<Vec<ProcessId>>, Failure> {
    let mut groups = vec![Vec::new(); count];
    for role in model.roles().names() {
        let all = model.roles().of(role);
        if !all.len().is_multiple_of(count) {
            return Err(Failure::Usage(format!(
                "--components {count} does not divide role '{role}', which has {}: expected a divisor, or --component",
                all.len()
            )));
        }
        for (group, part) in groups.iter_mut().zip(all.chunks(all.len() / count)) {
            group.extend(part);
        }
    }
    Ok(groups)
}

/// The processes of one component.
fn group(model: &Model, parts: &[Part]) -> Result<Vec<ProcessId>, Failure> {
    let mut group = Vec::new();
    for Part { role, numbers } in parts {
        if !model.roles().names().any(|name| name == role) {
            let known: Vec<&str> = model.roles().names().collect();
            return Err(Failure::Usage(format!(
                "--component names role '{role}': expected one of {}",
                known.join(", ")
            )));
        }
        let all = model.roles().of(role);
        let (first, last) = numbers.unwrap_or((0, all.len().saturating_sub(1)));
        let Some(part) = all.get(first..=last) else {
            return Err(Failure::Usage(format!(
                "--component names {role} {last}: expected a number from 0 to {}",
                all.len().saturating_sub(1)
            )));
        };
        group.extend(part);
    }
    Ok(group)
}
