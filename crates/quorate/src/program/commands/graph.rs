//! `graph`: the graph of each role, as text, for Graphviz or as JSON. Processes of one role with the same graph are
//! shown once.
//!
//! Held by: quorate-cli/tests/local.rs.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::path::Path;

use clap::{Arg, ArgAction, ArgMatches, value_parser};
use owo_colors::OwoColorize as _;
use serde::Serialize;

use super::Command;
use crate::base::{ProcessId, Value};
use crate::engine::local_graphs::{LocalGraph, LocalGraphs, LocalStep, local_closure, local_graphs};
use crate::model::{Model, Process};
use crate::program::Program;
use crate::program::failure::Failure;
use crate::program::job::{instance, limited_search, limits};
use crate::program::options::world::{self, WorldStory};
use crate::program::options::{
    json_option, limit_options, named, one_protocol, quiet_option, threads_option, with_protocols,
};
use crate::program::output::json::{FORMAT, SentMessage, Setting, settings};
use crate::program::output::progress::{Progress, heed_interrupts};
use crate::program::output::units::grouped;
use crate::program::output::{self, AnswerFile, text};
use crate::protocol::Protocol;
use crate::reduce::Reductions;
use crate::world::StepKind;

/// Where `--dot` writes if it is given no file.
const STANDARD_OUTPUT: &str = "-";

/// The command `graph`.
pub(crate) struct Graph;

impl Command for Graph {
    fn name(&self) -> &'static str {
        "graph"
    }

    fn arguments(&self, program: &Program, name: &str) -> Result<clap::Command, Failure> {
        let protocols = program.protocols();
        let example = protocols.first().map_or("PROTOCOL", Protocol::name);
        let graph = clap::Command::new("graph")
            .alias("local")
            .about(
                "Shows each role by itself: its local states, and the messages that lead from one to another",
            )
            .after_help(format!(
                "Each protocol has parameters of its own: '{name} graph {example} --help' shows them.\n\n{}",
                examples(name, example)
            ));
        with_protocols(graph, name, protocols, |protocol| {
            let options = world::options().into_iter().chain([threads_option().help_heading("Search")]);
            let options = options.chain(limit_options()).chain(picture_options());
            one_protocol(protocol, options, examples(name, protocol.name()))
        })
    }

    fn run(&self, program: &Program, given: &ArgMatches) -> Result<u8, Failure> {
        let (protocol, given) = program.chosen(given)?;
        let (arguments, model) = instance(protocol, given)?;
        let wanted = wanted(&model, given.get_one::<String>("process"))?;
        let only_dot =
            given.get_one::<std::path::PathBuf>("dot").is_some_and(|path| path == Path::new(STANDARD_OUTPUT));
        if only_dot && given.get_flag("json") {
            let conflict = "--json and --dot both print: expected --dot FILE";
            return Err(Failure::Usage(conflict.to_string()));
        }
        let file = if only_dot { None } else { AnswerFile::named("dot", given)? };
        let title = text::instance(protocol, &arguments, &model);
        let world = WorldStory::of(&model, None);
        let mut search = limited_search(given);
        (search.reductions, _) = Reductions::strongest(&model);
        heed_interrupts();
        let mut progress = Progress::new(limits(&search, given));
        let found = if given.get_flag("closure") {
            local_closure(model, &search, &mut progress)
        } else {
            local_graphs(model, &search, &mut progress)
        };
        drop(progress);

        let shown = Shown::new(&found, &wanted);
        let page = if only_dot {
            shown.dot(protocol.name())
        } else if given.get_flag("json") {
            output::json_line(&Answer {
                quorate: FORMAT,
                protocol: protocol.name(),
                parameters: settings(&arguments),
                bug: arguments.bug(),
                world,
                shown: shown.json(),
            })?
        } else {
            shown.text(&title)
        };
        let gist = format!("the graphs ({} local states)", grouped(shown.totals.local_states));
        let printed = output::print(&page, &gist);
        let written = file.map_or(Ok(()), |file| file.write(&shown.dot(protocol.name()), &gist));
        printed.and(written)?;
        Ok(if shown.incomplete.is_some() { 2 } else { 0 })
    }
}

fn examples(name: &str, protocol: &str) -> String {
    format!(
        "Examples:\n  \
         {name} graph {protocol}\n  \
         {name} graph {protocol} --json\n  \
         {name} graph {protocol} --closure\n  \
         {name} graph {protocol} --dot | dot -Tsvg > {protocol}.svg\n\n\
         Exit codes: 0 the graphs are complete, 2 they are not, 64 and above: an error, in one line."
    )
}

/// How `graph` shows its graphs.
fn picture_options() -> Vec<Arg> {
    let args = [
        Arg::new("process")
            .value_name("NAME")
            .help("Show this process only, such as 'acceptor 0', or those of this role"),
        Arg::new("closure")
            .action(ArgAction::SetTrue)
            .help("Show also what could only happen if no message were ever used up: the local closure"),
        Arg::new("dot")
            .value_name("FILE")
            .num_args(0..=1)
            .default_missing_value("-")
            .value_parser(value_parser!(std::path::PathBuf))
            .help("Write the graphs for Graphviz, into a file; without one, print nothing else"),
        json_option(),
        quiet_option(),
    ];
    args.into_iter().map(|arg| named(arg).help_heading("Output")).collect()
}

/// The processes to show: all, the one with a name, or those of a role.
fn wanted(model: &Model, name: Option<&String>) -> Result<Vec<ProcessId>, Failure> {
    let called = |id: &ProcessId| {
        name.is_none_or(|name| {
            [model.process(*id).name(), model.process(*id).role()].contains(&name.as_str())
        })
    };
    let wanted: Vec<ProcessId> = model.ids().filter(called).collect();
    if let (true, Some(name)) = (wanted.is_empty(), name) {
        let names: Vec<&str> = model.processes().iter().map(Process::name).collect();
        let (names, roles) = (names.join(", "), model.roles().names().collect::<Vec<_>>().join(", "));
        return Err(Failure::Usage(format!(
            "unknown process '{name}': expected {names}, or a role: {roles}"
        )));
    }
    Ok(wanted)
}

/// How much there is in all graphs that are shown.
#[derive(Clone, Copy, Serialize)]
struct Totals {
    processes: u64,
    local_states: u64,
    messages: u64,
    local_steps: u64,
}

/// What is shown: graphs, each with the processes whose it is.
struct Shown<'g> {
    model: &'g Model,
    groups: Vec<(Vec<ProcessId>, &'g LocalGraph)>,
    totals: Totals,
    /// Why the graphs may lack something.
    incomplete: Option<String>,
}

impl<'g> Shown<'g> {
    fn new(found: &'g LocalGraphs, wanted: &[ProcessId]) -> Self {
        let mut groups = Vec::new();
        for mut group in found.alike() {
            group.retain(|graph| wanted.contains(&graph.process));
            if let Some(&first) = group.first() {
                groups.push((group.iter().map(|graph| graph.process).collect(), first));
            }
        }
        let graphs = || found.graphs.iter().filter(|graph| wanted.contains(&graph.process));
        let messages: HashSet<(ProcessId, ProcessId, &Value)> =
            graphs().flat_map(LocalGraph::messages).collect();
        let totals = Totals {
            processes: wanted.len() as u64,
            local_states: graphs().map(|graph| graph.states.len() as u64).sum(),
            messages: messages.len() as u64,
            local_steps: graphs().map(|graph| graph.steps.len() as u64).sum(),
        };
        Shown { model: &found.model, groups, totals, incomplete: found.incomplete() }
    }

    fn text(&self, instance: &str) -> String {
        let mut page = String::new();
        if let Some(reason) = &self.incomplete {
            _ = writeln!(page, "{} {reason}", "not complete:".yellow().bold());
        }
        _ = writeln!(page, "{instance}");
        for (processes, graph) in &self.groups {
            let head = format!("{}:", names(self.model, processes));
            let (states, steps) = (graph.states.len() as u64, graph.steps.len() as u64);
            _ = writeln!(
                page,
                "\n{} {}, {}",
                head.bold(),
                count(states, "local state"),
                count(steps, "local step")
            );
            let width = format!("s{}", graph.states.len() - 1).len();
            for (number, state) in graph.states.iter().enumerate() {
                let name = format!("s{number}");
                _ = write!(page, "  {}  {state:?}", format!("{name:<width$}").cyan());
                let marks = marks(graph, number);
                if !marks.is_empty() {
                    _ = write!(page, "  {}", format!("({})", marks.join(", ")).dimmed());
                }
                page.push('\n');
            }
            for step in &graph.steps {
                let MessageTexts { taken, sent } = message_texts(self.model, graph.process, step);
                let head = format!("{}({})", called(step), taken.join("; "));
                _ = write!(page, "  s{} --{head}--> s{}", step.from, step.to);
                if !sent.is_empty() {
                    _ = write!(page, " / {}", sent.join("; "));
                }
                page.push('\n');
            }
        }
        let Totals { processes, local_states, messages, local_steps } = self.totals;
        let processes = if processes == 1 { "1 process".into() } else { format!("{processes} processes") };
        _ = writeln!(
            page,
            "\n{processes}: {}, {}, {}; {}",
            count(local_states, "local state"),
            count(messages, "message"),
            count(local_steps, "local step"),
            "steps that only consume are left out".dimmed()
        );
        page
    }

    /// One picture, with a frame for each graph.
    fn dot(&self, title: &str) -> String {
        let mut page = format!("digraph {} {{\n", quoted(&[title.to_string()]));
        page.push_str("  rankdir=LR;\n  node [shape=box, style=rounded];\n");
        if let Some(reason) = &self.incomplete {
            _ = writeln!(page, "  label={};", quoted(&[format!("not complete: {reason}")]));
        }
        for (at, (processes, graph)) in self.groups.iter().enumerate() {
            let label = quoted(&[names(self.model, processes)]);
            _ = writeln!(page, "  subgraph cluster_{at} {{\n    label={label};");
            for (number, state) in graph.states.iter().enumerate() {
                let label = quoted(&[format!("s{number}"), format!("{state:?}")]);
                let initial = if number == 0 { ", penwidth=2" } else { "" };
                let end = if graph.ends(number) { ", peripheries=2" } else { "" };
                _ = writeln!(page, "    g{at}s{number} [label={label}{initial}{end}];");
            }
            for step in &graph.steps {
                let MessageTexts { taken, sent } = message_texts(self.model, graph.process, step);
                let mut lines = vec![called(step)];
                lines.extend(taken);
                lines.extend(sent.into_iter().map(|sent| format!("/ {sent}")));
                let label = quoted(&lines);
                _ = writeln!(page, "    g{at}s{} -> g{at}s{} [label={label}];", step.from, step.to);
            }
            page.push_str("  }\n");
        }
        page.push_str("}\n");
        page
    }

    fn json(&self) -> ShownStory {
        let graph = |(processes, graph): &(Vec<ProcessId>, &LocalGraph)| GraphStory {
            processes: processes.iter().map(|id| self.model.process(*id).name().to_string()).collect(),
            states: (0..graph.states.len())
                .map(|number| StateStory {
                    state: format!("{:?}", graph.states[number]),
                    initial: number == 0,
                    end: graph.ends(number),
                })
                .collect(),
            steps: graph.steps.iter().map(StepStory::of).collect(),
        };
        ShownStory {
            complete: self.incomplete.is_none(),
            reason: self.incomplete.clone(),
            processes: self.model.processes().iter().map(|process| process.name().to_string()).collect(),
            graphs: self.groups.iter().map(graph).collect(),
            totals: self.totals,
        }
    }
}

/// A number of things.
fn count(number: u64, thing: &str) -> String {
    format!("{} {thing}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// Is it initial, is it an end?
fn marks(graph: &LocalGraph, state: usize) -> Vec<&'static str> {
    let marks = [("initial", state == 0), ("end", graph.ends(state))];
    marks.into_iter().filter(|(_, applies)| *applies).map(|(mark, _)| mark).collect()
}

/// A step by its name.
fn called(step: &LocalStep) -> String {
    let crash = if step.kind == StepKind::Crash { ", crash" } else { "" };
    format!("{}{crash}", step.transition)
}

/// What a step consumes and sends, in words.
struct MessageTexts {
    taken: Vec<String>,
    sent: Vec<String>,
}

fn message_texts(model: &Model, own: ProcessId, step: &LocalStep) -> MessageTexts {
    let others = |ids: &[ProcessId]| if ids == [own] { "itself".to_string() } else { names(model, ids) };
    let texts = |messages: Vec<(ProcessId, &Value)>, word: &str| -> Vec<String> {
        let contents = by_content(messages);
        contents.into_iter().map(|(body, who)| format!("{body:?} {word} {}", others(&who))).collect()
    };
    MessageTexts {
        taken: texts(step.consumed.iter().map(|message| (message.from, &message.body)).collect(), "from"),
        sent: texts(step.sent.iter().map(|message| (message.to, &message.body)).collect(), "to"),
    }
}

/// Messages that say the same, together.
fn by_content(messages: Vec<(ProcessId, &Value)>) -> Vec<(&Value, Vec<ProcessId>)> {
    let mut contents: Vec<(&Value, Vec<ProcessId>)> = Vec::new();
    for (who, body) in messages {
        match contents.iter_mut().find(|(known, _)| *known == body) {
            Some((_, all)) => all.push(who),
            None => contents.push((body, vec![who])),
        }
    }
    contents
}

/// The names of processes, neighbours of one role together: `proposer 0, acceptor 0-2`.
fn names(model: &Model, ids: &[ProcessId]) -> String {
    let role = |id: ProcessId| model.process(id).role();
    let follows = |a: &ProcessId, b: &ProcessId| a.index() + 1 == b.index() && role(*a) == role(*b);
    let neighbours = ids.chunk_by(follows).map(|run| {
        let (first, last) = (run[0], run[run.len() - 1]);
        let name = model.process(first).name();
        if first == last {
            return name.to_string();
        }
        format!("{name}-{}", last.index() - model.roles().of(role(first))[0].index())
    });
    neighbours.collect::<Vec<_>>().join(", ")
}

/// Lines as one text of Graphviz.
fn quoted(lines: &[String]) -> String {
    let escaped = |line: &String| line.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{}\"", lines.iter().map(escaped).collect::<Vec<_>>().join("\\n"))
}

/// The answer of `graph --json`.
#[derive(Serialize)]
struct Answer<'a> {
    quorate: u64,
    protocol: &'a str,
    parameters: BTreeMap<String, Setting>,
    bug: Option<&'a str>,
    #[serde(flatten)]
    world: WorldStory,
    #[serde(flatten)]
    shown: ShownStory,
}

#[derive(Serialize)]
struct ShownStory {
    complete: bool,
    /// Why not, if it is not.
    reason: Option<String>,
    /// The names of all processes, which messages give by their positions.
    processes: Vec<String>,
    graphs: Vec<GraphStory>,
    totals: Totals,
}

#[derive(Serialize)]
struct GraphStory {
    processes: Vec<String>,
    states: Vec<StateStory>,
    steps: Vec<StepStory>,
}

#[derive(Serialize)]
struct StateStory {
    state: String,
    initial: bool,
    end: bool,
}

#[derive(Serialize)]
struct TakenMessage {
    from: usize,
    message: String,
}

#[derive(Serialize)]
struct StepStory {
    from: usize,
    to: usize,
    kind: &'static str,
    transition: String,
    consumed: Vec<TakenMessage>,
    sent: Vec<SentMessage>,
}

impl StepStory {
    fn of(step: &LocalStep) -> Self {
        StepStory {
            from: step.from,
            to: step.to,
            kind: step.kind.name(),
            transition: step.transition.clone(),
            consumed: step
                .consumed
                .iter()
                .map(|taken| TakenMessage { from: taken.from.index(), message: format!("{:?}", taken.body) })
                .collect(),
            sent: step.sent.iter().map(|sent| SentMessage::new(sent.to, &sent.body)).collect(),
        }
    }
}
