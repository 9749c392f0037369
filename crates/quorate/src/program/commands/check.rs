//! `check`: an instance from the command line, a search, an answer.

use clap::{Arg, ArgMatches, value_parser};

use super::Command;
use crate::program::Program;
use crate::program::failure::Failure;
use crate::program::job::{Answer, Job};
use crate::program::options::{
    json_option, limit_options, named, one_protocol, quiet_option, reductions, search_options, svg_option,
    with_protocols, world,
};
use crate::program::output::text::About;
use crate::program::output::units::grouped;
use crate::program::output::{self, AnswerFile, text};
use crate::protocol::{Domain, Protocol};
use crate::report::{Report, Verdict};

const EXIT_CODES: &str = "Exit codes: 0 holds, 1 violated, 2 unknown, 64 and above: an error, in one line.";

/// The command `check`.
pub(crate) struct Check;

impl Command for Check {
    fn name(&self) -> &'static str {
        "check"
    }

    fn arguments(&self, program: &Program, name: &str) -> Result<clap::Command, Failure> {
        let protocols = program.protocols();
        let example = protocols.first().map_or("PROTOCOL", Protocol::name);
        let check = clap::Command::new("check")
            .about("Explores every reachable state of a protocol and says whether its properties hold")
            .after_help(format!(
                "Each protocol has parameters of its own: '{name} check {example} --help' shows them.\n\n\
                 Examples:\n  \
                 {name} check {example}\n  \
                 {name} check {example} --json --threads 1\n  \
                 {name} check {example} --time-max 10m --memory-max 4G\n\n{EXIT_CODES}"
            ));
        with_protocols(check, name, protocols, |protocol| {
            let options = world::options().into_iter().chain(search_options(program.engines()));
            let options = options.chain(limit_options()).chain(output_options());
            one_protocol(protocol, options, examples(name, protocol))
        })
    }

    fn run(&self, program: &Program, given: &ArgMatches) -> Result<u8, Failure> {
        let (protocol, given) = program.chosen(given)?;
        let job = Job::new(program, protocol, given, &[])?;
        let file = AnswerFile::named("trace", given)?;
        let picture = AnswerFile::named("svg", given)?;
        let Answer { report, json, time } = job.run()?;
        let instance = text::instance(protocol, &job.arguments, &job.model);
        let beginning = job.beginning(&report);
        let about = About { instance: &instance, beginning: beginning.as_ref() };
        let page = if given.get_flag("json") {
            json.clone()
        } else {
            let off = reductions::switched_off(&job.refused, &report);
            text::answer(&about, &job.model, &report, &off, time)
        };
        // Both are tried before either failure is reported: one of them may keep the answer.
        let gist = gist(&report);
        let printed = output::print(&page, &gist);
        let written = file.map_or(Ok(()), |file| file.write(&json, &gist));
        let drawn = match (picture, report.verdict.violation()) {
            (Some(picture), Some(found)) => {
                picture.write(&text::picture(&about, &found.trace, &found.broken), &gist)
            }
            (Some(picture), None) => {
                output::note(&picture.leave("there is no violation to draw"));
                Ok(())
            }
            (None, _) => Ok(()),
        };
        for warning in report.warnings() {
            output::warn(&warning.to_string());
        }
        printed.and(written).and(drawn)?;
        Ok(exit_code(&report.verdict))
    }
}

fn examples(program: &str, protocol: &Protocol) -> String {
    let name = protocol.name();
    let mut lines = vec![
        format!("{program} check {name}"),
        format!("{program} check {name} --crash explicit --partial-sends"),
    ];
    if let Some(parameter) = protocol.parameters().first() {
        let value = match &parameter.domain {
            Domain::Number { default, range } => (default + 1).min(*range.end()).to_string(),
            Domain::Choice(words) => words[words.len() - 1].to_string(),
        };
        lines.push(format!("{program} check {name} --{} {value} --memory-max 4G", parameter.name));
    }
    if let Some(bug) = protocol.bugs().first() {
        lines.push(format!("{program} check {name} --bug {}", bug.name));
        lines.push(format!("{program} check {name} --bug {} --json > run.json", bug.name));
        lines.push(format!("{program} replay run.json"));
    }
    format!("Examples:\n  {}", lines.join("\n  "))
}

fn output_options() -> Vec<Arg> {
    let args = [
        json_option(),
        Arg::new("trace")
            .value_name("FILE")
            .value_parser(value_parser!(std::path::PathBuf))
            .help("Write the JSON answer, with the trace of a violation, to a file for 'replay' too"),
        svg_option(),
        quiet_option(),
    ];
    args.into_iter().map(|arg| named(arg).help_heading("Output")).collect()
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
