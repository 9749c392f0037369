//! Limits and interrupts of the program: whatever it is doing, it ends with an answer. How late that may come is asserted
//! generously, for a busy machine.

#![cfg(unix)]

use std::fs::File;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::program::{command, run, scratch};

/// How many times the program was run.
static RUNS: AtomicU32 = AtomicU32::new(0);

const LATE_MAX: Duration = Duration::from_secs(15);

/// Searches with more to do than anybody waits for, in one phase or another of each engine.
const ENDLESS: [&[&str]; 9] = [
    &["check", "paxos", "--proposers", "20", "--acceptors", "20"],
    &["check", "two-phase-commit", "--participants", "12", "--bug", "commit-on-majority"],
    &["check", "paxos-node", "--proposals", "3", "--engine", "local"],
    &["check", "paxos", "--proposers", "5", "--acceptors", "7", "--engine", "components"],
    &["check", "paxos", "--proposers", "5", "--acceptors", "7", "--engine", "lmc-opt"],
    &["check", "paxos", "--proposers", "4", "--acceptors", "5", "--reduce", "none"],
    &["check", "paxos", "--proposers", "4", "--acceptors", "5", "--engine", "b-dfs"],
    &["graph", "paxos", "--proposers", "6", "--acceptors", "7"],
    &["graph", "paxos", "--proposers", "6", "--acceptors", "7", "--closure"],
];

/// How the program ended, and what it printed.
struct Ended {
    status: ExitStatus,
    stdout: String,
    stderr: String,
}

/// Runs the program, with a signal after some time if one is given. The answer must come soon. What it prints goes to
/// files, which never keep it waiting.
fn ended(words: &[&str], signal: Option<(&str, Duration)>) -> Ended {
    let number = RUNS.fetch_add(1, Ordering::Relaxed);
    let files = ["out", "err"].map(|end| scratch(&format!("limits-{number}.{end}")));
    let [stdout, stderr] = files.each_ref().map(|file| File::create(file).expect("a file"));
    let mut child = command(words).stdout(stdout).stderr(stderr).spawn().expect("it starts");
    if let Some((signal, after)) = signal {
        sleep(after);
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status();
        // It may have ended before.
        _ = sent.expect("kill runs");
    }
    let begin = Instant::now();
    while child.try_wait().expect("a child").is_none() {
        if begin.elapsed() > LATE_MAX {
            child.kill().expect("a child");
            panic!("{words:?} goes on, {signal:?}");
        }
        sleep(Duration::from_millis(10));
    }
    let status = child.wait().expect("it has ended");
    let [stdout, stderr] = files.map(|file| {
        let text = std::fs::read_to_string(&file).expect("text");
        std::fs::remove_file(file).expect("the file is there");
        text
    });
    Ended { status, stdout, stderr }
}

#[test]
fn a_limit_on_time_ends_every_phase() {
    for words in ENDLESS {
        let Ended { status, stdout, stderr } =
            ended(&[words, &["--quiet", "--time-max", "1"]].concat(), None);
        assert_eq!(status.code(), Some(2), "{words:?}: {stdout}");
        assert_eq!(stderr, "", "{words:?}");
        assert!(stdout.contains("the limit of 1 second was reached"), "{words:?}: {stdout}");
    }
}

#[test]
fn an_interrupt_at_any_moment_ends_every_phase() {
    let mut seed = 20_261_118_u64;
    for words in ENDLESS {
        for signal in ["-INT", "-TERM"] {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let after = Duration::from_millis((seed >> 33) % 700);
            let Ended { status, stdout, .. } = ended(&[words, &["--quiet"]].concat(), Some((signal, after)));
            // Before it searches, a signal ends it as it ends any program.
            let at_once = status.signal().is_some();
            assert!(at_once || status.code() == Some(2), "{words:?} {after:?}: {status:?}");
            assert!(at_once || stdout.contains("interrupted"), "{words:?} {after:?}: {stdout}");
        }
    }
}

/// The example of a user: a duplicating channel, local states without a bound, and a start in the middle.
#[test]
fn a_search_from_a_snapshot_ends_too() {
    let (trace, state) = (scratch("limits-run.json"), scratch("limits-state.json"));
    let (trace, state) = (trace.to_str().expect("text"), state.to_str().expect("text"));
    let bug = ["--bug", "first-reply", "--quiet", "--trace", trace];
    assert_eq!(run(&[&["check", "paxos"][..], &bug].concat()).code, 1);
    assert_eq!(run(&["snapshot", trace, "--step", "2", "--output", state]).code, 0);
    let search = ["check", "paxos", "--from", state, "--transitions", "single", "--channel", "duplicating"];
    let output = ended(&[&search[..], &["--quiet", "--time-max", "1"]].concat(), None);
    assert!(output.status.code().is_some_and(|code| code <= 2), "{:?}", output.status);
}

#[test]
fn a_limit_on_memory_holds_for_local_states_too() {
    let words = ["check", "paxos-node", "--proposals", "3", "--engine", "local", "--memory-max", "100M"];
    let answer = run(&[&words[..], &["--quiet", "--json", "--time-max", "60"]].concat()).json();
    assert_eq!(answer["verdict"], "unknown");
    let peak = answer["peak_bytes"].as_u64().expect("a number");
    assert!(peak < 200 << 20, "{answer}");
}
