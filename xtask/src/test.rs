//! The one test command: every step in order, its time, and a summary.
//!
//! Cheap steps come first, so that a forgotten `cargo fmt` is heard of in a second. `.ci/run` calls this
//! with no steps named.

use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::run::{answers, cargo, program, run as run_command, say};
use crate::{bench, tidy};

/// A step: its name, what it holds, and how.
struct Step {
    name: &'static str,
    holds: &'static str,
    run: fn() -> Result<(), Failure>,
}

const STEPS: &[Step] = &[
    Step { name: "components", holds: "rustfmt and clippy are installed", run: components },
    Step { name: "tidy", holds: "the style of the house", run: tidy::run },
    Step { name: "format", holds: "cargo fmt has nothing to change", run: format },
    Step { name: "clippy", holds: "no warning in any target", run: clippy },
    Step { name: "bare", holds: "the library alone builds, without the program", run: bare },
    Step { name: "peers", holds: "the benchmark's own package has no warning", run: peers },
    Step { name: "tests", holds: "unit and integration tests", run: tests },
    Step { name: "doctests", holds: "examples in the documentation", run: doctests },
    Step { name: "docs", holds: "documentation without a broken link", run: docs },
    Step { name: "bench", holds: "contestants of the benchmark agree on every count", run: small_bench },
];

/// Runs the named steps, or all of them.
pub(crate) fn run(names: &[&str]) -> Result<(), Failure> {
    if let Some(unknown) = names.iter().find(|name| STEPS.iter().all(|step| step.name != **name)) {
        let known: Vec<_> = STEPS.iter().map(|step| step.name).collect();
        return Err(Failure::Usage(format!("no step `{unknown}`; expected one of {}", known.join(", "))));
    }
    let chosen: Vec<_> = STEPS.iter().filter(|step| names.is_empty() || names.contains(&step.name)).collect();
    let started = Instant::now();
    let mut passed = Vec::new();
    let mut failed = None;
    for (index, step) in chosen.iter().enumerate() {
        say(format_args!("==> {}/{} {}: {}", index + 1, chosen.len(), step.name, step.holds));
        let step_started = Instant::now();
        let outcome = (step.run)();
        passed.push((step, step_started.elapsed()));
        if let Err(cause) = outcome {
            failed = Some(Failure::Step { name: step.name, cause: Box::new(cause) });
            break;
        }
        say(format_args!("    {} took {}", step.name, shown(step_started.elapsed())));
    }
    summarise(&passed, failed.is_some(), chosen.len(), started.elapsed());
    failed.map_or(Ok(()), Err)
}

fn summarise(run: &[(&&Step, Duration)], failed: bool, chosen: usize, total: Duration) {
    say("\nsummary");
    for (index, (step, took)) in run.iter().enumerate() {
        let mark = if failed && index + 1 == run.len() { "FAILED" } else { "ok" };
        say(format_args!("  {mark:<7} {:<11} {:>9}  {}", step.name, shown(*took), step.holds));
    }
    let passed = run.len() - usize::from(failed);
    let left = chosen - run.len();
    let not_run = if left > 0 { format!(", {left} not run") } else { String::new() };
    let fell = if failed { ", 1 failed" } else { "" };
    say(format_args!("  {passed} of {chosen} steps passed{fell}{not_run}, in {}", shown(total)));
}

fn shown(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

fn components() -> Result<(), Failure> {
    for (component, subcommand) in [("rustfmt", "fmt"), ("clippy", "clippy")] {
        if !answers(cargo([subcommand, "--version"])) {
            run_command(program("rustup", ["component", "add", component]))?;
        }
    }
    Ok(())
}

fn format() -> Result<(), Failure> {
    run_command(cargo(["fmt", "--all", "--check"]))?;
    run_command(cargo(["fmt", "--check", "--manifest-path", bench::STATERIGHT_MANIFEST]))
}

fn clippy() -> Result<(), Failure> {
    run_command(cargo(["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"]))
}

fn bare() -> Result<(), Failure> {
    run_command(cargo([
        "clippy",
        "--quiet",
        "-p",
        "quorate",
        "--no-default-features",
        "--",
        "-D",
        "warnings",
    ]))
}

fn peers() -> Result<(), Failure> {
    let mut command = cargo(["clippy", "--quiet", "--locked", "--all-targets"]);
    command.args(["--manifest-path", bench::STATERIGHT_MANIFEST]);
    command.arg("--target-dir").arg(bench::stateright_target()?);
    command.args(["--", "-D", "warnings"]);
    run_command(command)
}

fn tests() -> Result<(), Failure> {
    run_command(cargo(["test", "--quiet", "--workspace", "--all-targets"]))
}

fn doctests() -> Result<(), Failure> {
    run_command(cargo(["test", "--quiet", "--workspace", "--doc"]))
}

fn docs() -> Result<(), Failure> {
    let mut command = cargo(["doc", "--quiet", "--workspace", "--no-deps"]);
    command.env("RUSTDOCFLAGS", "-D warnings");
    run_command(command)
}

fn small_bench() -> Result<(), Failure> {
    bench::run(&bench::Options { small: true, rounds: 1, install: false, ..bench::Options::default() })
}
