//! Progress on standard error, and Ctrl-C: the search ends with what is known.

#![cfg(unix)]

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};

use crate::program::{command, run};
use serde_json::Value;

/// An instance that takes far longer than any test waits for.
const LONG: [&str; 9] =
    ["check", "paxos", "--proposers", "5", "--reduce", "none", "--threads", "1", "--json"];

/// Starts a long search and waits for its first line of progress: from then on it heeds interrupts.
fn start() -> (Child, BufReader<std::process::ChildStderr>, String) {
    let mut child = command(&LONG).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut stderr = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut line = String::new();
    stderr.read_line(&mut line).expect("a line of progress");
    (child, stderr, line)
}

fn interrupt(child: &Child) {
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    assert!(sent.success());
}

#[test]
fn an_interrupted_search_says_what_it_knows() {
    let (child, mut stderr, line) = start();
    for word in [" states, ", " states/s, ", "depth ", "frontier ", "iB\n"] {
        assert!(line.contains(word), "expected {word:?} in {line}");
    }
    interrupt(&child);
    let output = child.wait_with_output().expect("it ends");
    let json: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!((&json["verdict"], &json["reason"]), (&"unknown".into(), &"interrupted".into()));
    assert!(json["states"].as_u64() > Some(1000), "{json}");
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).expect("text");
    assert!(!rest.contains("panicked") && !rest.contains("error"), "{rest}");
}

#[test]
fn a_short_or_quiet_search_shows_no_progress() {
    assert_eq!(run(&["check", "paxos"]).stderr, "");
    let quiet =
        run(&["check", "paxos", "--proposers", "5", "--acceptors", "7", "--time-max", "2", "--quiet"]);
    assert_eq!((quiet.code, quiet.stderr.as_str()), (2, ""));
    assert!(quiet.stdout.starts_with("unknown: the limit of 2 seconds was reached\n"), "{}", quiet.stdout);
}
