//! The one test command: every step in order, its time, and a summary.
//!
//! Cheap steps come first, so that a forgotten `cargo fmt` is heard of in a second. `.ci/run` calls this
//! with no steps named. Quick tests go through few seeds and build nothing for the benchmark; full ones go through all
//! (`testkit/src/tier.rs`), race with peers and pack what is published.

use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::run::{answers, cargo, complaints, output, program, root, run as run_command, say};
use crate::{bench, tidy};

/// A step: its name, what it holds, and how.
struct Step {
    name: &'static str,
    holds: &'static str,
    /// Does it belong to the full tests only?
    full: bool,
    run: fn(Tier) -> Result<(), Failure>,
}

/// How much is tested.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Tier {
    /// What every change has to pass.
    Quick,
    /// Everything.
    Full,
}

const fn step(name: &'static str, holds: &'static str, run: fn(Tier) -> Result<(), Failure>) -> Step {
    Step { name, holds, full: false, run }
}

const fn full(name: &'static str, holds: &'static str, run: fn(Tier) -> Result<(), Failure>) -> Step {
    Step { full: true, ..step(name, holds, run) }
}

const STEPS: &[Step] = &[
    step("components", "rustfmt and clippy are installed", components),
    step("tidy", "the style of the house", |_| tidy::run()),
    step("format", "cargo fmt has nothing to change", format),
    step("clippy", "no warning in any target", clippy),
    step("bare", "the library alone builds, without the program", bare),
    full("peers", "the benchmark's own package has no warning", peers),
    step("tests", "unit and integration tests", tests),
    step("doctests", "examples in the documentation", doctests),
    step("docs", "documentation without a broken link", docs),
    full("package", "what is to be published can be packed", package),
    step("bench", "contestants of the benchmark agree on every count", small_bench),
];

/// Runs the named steps, or all of a tier: all but the costly ones without `--full`, all with it.
pub(crate) fn run(words: &[&str]) -> Result<(), Failure> {
    let tier = if words.contains(&"--full") { Tier::Full } else { Tier::Quick };
    let names: Vec<&str> = words.iter().copied().filter(|word| *word != "--full").collect();
    if let Some(unknown) = names.iter().find(|name| STEPS.iter().all(|step| step.name != **name)) {
        let known: Vec<_> = STEPS.iter().map(|step| step.name).collect();
        return Err(Failure::Usage(format!(
            "no step `{unknown}`; expected --full or one of {}",
            known.join(", ")
        )));
    }
    let chosen: Vec<_> = STEPS.iter().filter(|step| is_chosen(step, tier, &names)).collect();
    let started = Instant::now();
    let mut passed = Vec::new();
    let mut failed = None;
    for (index, step) in chosen.iter().enumerate() {
        say(format_args!("==> {}/{} {}: {}", index + 1, chosen.len(), step.name, step.holds));
        let step_started = Instant::now();
        let outcome = (step.run)(tier);
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

fn is_chosen(step: &Step, tier: Tier, names: &[&str]) -> bool {
    if names.is_empty() { !step.full || tier == Tier::Full } else { names.contains(&step.name) }
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

fn components(_: Tier) -> Result<(), Failure> {
    for (component, subcommand) in [("rustfmt", "fmt"), ("clippy", "clippy")] {
        if !answers(cargo([subcommand, "--version"])) {
            run_command(program("rustup", ["component", "add", component]))?;
        }
    }
    Ok(())
}

fn format(_: Tier) -> Result<(), Failure> {
    run_command(cargo(["fmt", "--all", "--check"]))?;
    run_command(cargo(["fmt", "--check", "--manifest-path", bench::STATERIGHT_MANIFEST]))
}

fn clippy(_: Tier) -> Result<(), Failure> {
    run_command(cargo(["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"]))
}

fn bare(_: Tier) -> Result<(), Failure> {
    let mut command = cargo(["clippy", "--quiet", "-p", "quorate", "--no-default-features"]);
    command.args(["--", "-D", "warnings"]);
    run_command(command)
}

fn peers(_: Tier) -> Result<(), Failure> {
    let mut command = cargo(["clippy", "--quiet", "--locked", "--all-targets"]);
    command.args(["--manifest-path", bench::STATERIGHT_MANIFEST]);
    command.arg("--target-dir").arg(bench::stateright_target()?);
    command.args(["--", "-D", "warnings"]);
    run_command(command)
}

/// With nextest where it is installed: it runs each test in a process of its own and says how long it took.
fn tests(tier: Tier) -> Result<(), Failure> {
    let mut command = if answers(cargo(["nextest", "--version"])) {
        cargo(["nextest", "run", "--workspace", "--tests", "--no-fail-fast"])
    } else {
        cargo(["test", "--quiet", "--workspace", "--tests", "--no-fail-fast"])
    };
    let name = if tier == Tier::Full { "full" } else { "quick" };
    command.env("QUORATE_TIER", name);
    if let Some(seeds) = commit().and_then(|commit| fresh_seeds(&commit)) {
        say(format_args!(
            "    {name} seeds, and of this commit QUORATE_SEEDS={}..{}",
            seeds.start, seeds.end
        ));
        command.env("QUORATE_FRESH_SEEDS", format!("{}..{}", seeds.start, seeds.end));
    }
    run_command(command)
}

/// How many seeds change with the commit.
const FRESH_SEEDS: u64 = 50;
/// Where they begin: above all that are always gone through.
const FRESH_FROM: u64 = 1_000_000;

/// The commit that is checked out, where there is one.
fn commit() -> Option<String> {
    let mut ask = program("git", ["rev-parse", "HEAD"]);
    ask.current_dir(root());
    output(ask).ok().map(|hash| String::from_utf8_lossy(&hash).trim().to_string())
}

/// Seeds that only the commit decides on.
fn fresh_seeds(commit: &str) -> Option<std::ops::Range<u64>> {
    let number = u64::from_str_radix(commit.get(..8)?, 16).ok()?;
    let from = FRESH_FROM + number % 1_000_000_000;
    Some(from..from + FRESH_SEEDS)
}

fn doctests(_: Tier) -> Result<(), Failure> {
    run_command(cargo(["test", "--quiet", "--workspace", "--doc"]))
}

fn docs(_: Tier) -> Result<(), Failure> {
    let mut command = cargo(["doc", "--quiet", "--workspace", "--no-deps"]);
    command.env("RUSTDOCFLAGS", "-D warnings");
    run_command(command)
}

/// Packages that are for this repository only.
const NOT_PUBLISHED: [&str; 2] = ["quorate-testkit", "xtask"];

/// Packs what is published, without a warning. What is packed has been built by the other steps.
fn package(_: Tier) -> Result<(), Failure> {
    let mut command = cargo(["package", "--workspace", "--no-verify", "--allow-dirty"]);
    for name in NOT_PUBLISHED {
        command.args(["--exclude", name]);
    }
    let said = complaints(command)?;
    let warnings: Vec<&str> = said.lines().filter(|line| line.starts_with("warning")).collect();
    if warnings.is_empty() {
        return Ok(());
    }
    Err(Failure::Package(warnings.join("; ")))
}

/// In the quick tests Quorate alone, as the tests have built it; in the full ones as users build it, with its peers.
fn small_bench(tier: Tier) -> Result<(), Failure> {
    let small = bench::Options { small: true, rounds: 1, install: false, ..bench::Options::default() };
    let alone = || vec!["stateright".to_string(), "spin".to_string(), "rumur".to_string()];
    match tier {
        Tier::Quick => bench::run(&bench::Options { as_tested: true, skip: alone(), ..small }),
        Tier::Full => bench::run(&small),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_follow_from_the_commit() {
        assert_eq!(fresh_seeds("0000000a11"), Some(1_000_010..1_000_060));
        assert_eq!(fresh_seeds("ffffffff00"), Some(295_967_295..295_967_345));
        assert_eq!((fresh_seeds("main"), fresh_seeds("not a hash")), (None, None));
    }

    #[test]
    fn the_full_tests_are_the_quick_ones_and_more() {
        let chosen = |tier, names: &[&str]| -> Vec<&str> {
            STEPS.iter().filter(|step| is_chosen(step, tier, names)).map(|step| step.name).collect()
        };
        let (quick, all) = (chosen(Tier::Quick, &[]), chosen(Tier::Full, &[]));
        assert!(quick.iter().all(|name| all.contains(name)) && quick.len() < all.len());
        assert!(!quick.contains(&"peers") && all.contains(&"peers"));
        assert_eq!(chosen(Tier::Quick, &["package"]), ["package"]);
        assert!(matches!(run(&["no-such-step"]), Err(Failure::Usage(_))));
    }
}
