//! Traces and snapshots of random protocols, some of whose messages print alike: what a trace refers to is what
//! happened, by content; and what is written to a file is what is read from it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use quorate::ProcessId;
use quorate::model::{Envelope, Forged, Model, Schedule, ScheduledStep, Source, Taken, TraceStep, Value};
use quorate::program::Program;
use quorate::replay::Replay;
use quorate::world::StepKind;
use quorate_testkit::random::RandomProtocol;

const STEPS_MAX: usize = 6;

/// The random protocols in which messages can be forged.
fn forging(seeds: std::ops::Range<u64>) -> impl Iterator<Item = RandomProtocol> {
    seeds.map(RandomProtocol::for_worlds).filter(RandomProtocol::forges)
}

/// Where a schedule leads, which refers to messages by content, and the steps of its trace.
fn taken(model: &Model, schedule: &Schedule) -> Option<(Vec<Value>, Vec<TraceStep>)> {
    let mut run = Replay::new(model);
    schedule.iter().try_for_each(|step| run.step(step)).ok()?;
    let locals = run.locals().to_vec();
    Some((locals, run.into_trace().steps))
}

/// The messages that are on their way, each with its receiver.
type Waiting = Vec<(ProcessId, Envelope)>;

/// Where a trace leads; `None` if it cannot be taken.
fn retraced(model: &Model, steps: &[TraceStep]) -> Option<(Vec<Value>, Waiting)> {
    Some(model.clone().after(steps).ok()?.start_state())
}

/// The schedules with one step more, which takes one message or none.
fn longer(model: &Model, schedule: &Schedule, waiting: &[(ProcessId, Envelope)]) -> Vec<Schedule> {
    let mut all = Vec::new();
    for process in model.ids() {
        let sent = waiting.iter().filter(|(to, _)| *to == process).map(|(_, envelope)| (envelope, false));
        let forged = model.forgeable(process).iter().map(|envelope| (envelope, true));
        let one = |(envelope, forged): (&Envelope, bool)| {
            vec![Taken { envelope: envelope.clone(), nth: 0, forged }]
        };
        for consumed in sent.chain(forged).map(one).chain([Vec::new()]) {
            for transition in 0..model.process(process).transitions().len() {
                for choices in [vec![], vec![0], vec![1], vec![0, 0]] {
                    let (kind, consumed, sent) = (StepKind::Transition, consumed.clone(), Vec::new());
                    let step = ScheduledStep { process, kind, transition, consumed, choices, sent };
                    all.push([schedule.as_slice(), &[step]].concat());
                }
            }
        }
    }
    all.retain(|schedule| taken(model, schedule).is_some());
    all
}

/// The same steps, with each forged message referred to by its text: the first that prints so.
fn by_text(model: &Model, steps: &[TraceStep]) -> Vec<TraceStep> {
    let mut mistaken = steps.to_vec();
    for step in &mut mistaken {
        let forgeable = model.forgeable(step.process);
        for consumed in &mut step.consumed {
            let alike = |known: &Envelope| {
                known.from == consumed.from && format!("{:?}", known.body) == consumed.message
            };
            if let (Source::Forged(_), Some(number)) = (consumed.source, forgeable.iter().position(alike)) {
                let content = forgeable[number].body.content_hash();
                consumed.source = Source::Forged(Forged { number, content });
            }
        }
    }
    mistaken
}

#[test]
fn a_trace_leads_where_the_run_led() {
    let (mut runs, mut alike, mut confused) = (0, 0, 0);
    for protocol in forging(0..600) {
        let (seed, model) = (protocol.seed(), protocol.without_properties().model());
        let (mut schedule, mut waiting, mut chance) = (Schedule::new(), Vec::new(), seed);
        while schedule.len() < STEPS_MAX {
            let mut ways = longer(&model, &schedule, &waiting);
            if ways.is_empty() {
                break;
            }
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let any = usize::try_from(chance >> 33).expect("31 bits");
            schedule = ways.swap_remove(any % ways.len());
            let (locals, steps) = taken(&model, &schedule).expect("it has been tried");
            let (found, on_their_way) = retraced(&model, &steps).expect("it has happened");
            assert_eq!(found, locals, "seed {seed}: {steps:?}");
            let mistaken = by_text(&model, &steps);
            alike += usize::from(mistaken != steps);
            confused += usize::from(retraced(&model, &mistaken).is_none_or(|(found, _)| found != locals));
            waiting = on_their_way;
        }
        runs += 1;
    }
    println!("{runs} runs, {alike} traces have messages that print alike, {confused} lead elsewhere by text");
    assert!(runs > 100 && alike > 30 && confused > 10, "{runs} runs, {alike} alike, {confused} confused");
}

/// A file of a test's own.
fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("quorate-files-{}-{name}", std::process::id()))
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

#[test]
fn a_file_is_read_as_it_was_written() {
    let (file, state) = (scratch("trace.json"), scratch("state.json"));
    let (mut files, mut forged) = (0, 0);
    for protocol in forging(0..600) {
        let seed = protocol.seed();
        let program = Program::new([protocol.protocol()]);
        let limits = ["--quiet", "--threads", "1", "--states-max", "5000"];
        let answer = program.answer(&[&["random"], &limits[..]].concat()).expect("an answer");
        let Some(violation) = answer.report.verdict.violation() else { continue };
        let steps = &violation.trace.steps;
        if steps.iter().any(|step| step.panic.is_some()) {
            continue;
        }
        std::fs::write(&file, &answer.json).expect("there is room");
        // Each of its steps is taken, and compared with what the file says.
        let line = ["quorate", "snapshot", text(&file), "--output", text(&state)].map(OsString::from);
        assert_eq!(program.run(&line), Ok(0), "seed {seed}");
        let from = program.answer(&[&["random", "--from", text(&state)], &limits[..]].concat());
        let from = from.expect("an answer").report.verdict;
        assert_eq!(from.word(), "violated", "seed {seed}: it is violated there");
        files += 1;
        let is_forged = |step: &TraceStep| step.consumed.iter().any(|one| one.source.origin().is_none());
        forged += usize::from(steps.iter().any(is_forged));
    }
    println!("{files} files, {forged} with forged messages");
    assert!(files > 20 && forged > 10, "{files} files, {forged} with forged messages");
    for file in [file, state] {
        std::fs::remove_file(file).expect("it is there");
    }
}
