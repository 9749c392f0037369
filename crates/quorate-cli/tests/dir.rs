//! `--engine components` on the command line: its figures are in the answer, its violations can be replayed, and what
//! it does not do is refused in one line.

use crate::program::{run, run_with_input};

#[test]
fn the_answer_has_the_figures_of_components() {
    let ran = run(&["check", "accumulator", "--engine", "components", "--json"]);
    let answer = ran.json();
    assert_eq!((ran.code, &answer["engine"], &answer["verdict"]), (0, &"components".into(), &"holds".into()));
    let figures = ["local_traces", "global_skeletons", "global_traces", "cuts"];
    assert_eq!(figures.map(|name| answer[name].as_u64()), [Some(14), Some(2), Some(18), Some(8)]);
    let explored = run(&["check", "accumulator", "--json"]).json();
    assert!(explored.get("local_traces").is_none() && explored.get("global_traces").is_none());
    let page = run(&["check", "accumulator", "--engine", "components"]).stdout;
    assert!(
        page.contains("  local traces           14") && page.contains("  global traces          18"),
        "{page}"
    );
}

#[test]
fn a_violation_can_be_replayed() {
    let found = run(&["check", "paxos", "--bug", "always-accept", "--engine", "components", "--json"]);
    assert_eq!((found.code, &found.json()["property"]), (1, &"agreement".into()));
    let again = run_with_input(&["replay", "-", "--json"], found.stdout.as_bytes());
    assert_eq!((again.code, &again.json()["property"]), (1, &"agreement".into()), "{}", again.stderr);
}

#[test]
fn a_limit_ends_in_unknown() {
    let ran = run(&["check", "paxos", "--engine", "components", "--states-max", "50", "--json"]);
    let answer = ran.json();
    assert_eq!((ran.code, &answer["verdict"]), (2, &"unknown".into()));
    assert!(answer["global_traces"].is_null() && answer["global_skeletons"].as_u64() > Some(0));
}

/// A component may be a system of components: others see the same of it, and less has to be explored.
#[test]
fn components_can_be_systems_of_components() {
    let figures = |words: &[&str]| {
        let philosophers =
            ["check", "dining-philosophers", "--philosophers", "8", "--engine", "components", "--json"];
        let answer = run(&[&philosophers, words].concat()).json();
        let names = ["local_traces", "global_skeletons", "global_traces"];
        (answer["verdict"].clone(), names.map(|name| answer[name].as_u64()))
    };
    let holds = |local| ("holds".into(), [Some(local), Some(7), Some(254)]);
    assert_eq!(figures(&["--components", "2"]), holds(32));
    assert_eq!(figures(&["--components", "2x2"]), holds(16));
    let seats = |from: usize, to: usize| format!("philosopher={from}-{to},fork={from}-{to}");
    let pairs = |first: usize| format!("{}+{}", seats(first, first + 1), seats(first + 2, first + 3));
    assert_eq!(figures(&["--group", &pairs(0), "--group", &pairs(4)]), holds(16));
    assert_eq!(figures(&["--group", &pairs(0), "--group", &seats(4, 7)]), holds(24));
}

#[test]
fn what_it_does_not_do_is_refused() {
    for (words, needle) in [
        (
            &["accumulator", "--channel", "mailbox"][..],
            "the engine components cannot be used: it knows bag and fifo channels, not mailbox",
        ),
        (&["regular-storage"], "'regularity' needs another engine"),
        (&["accumulator", "--reduce", "inert"], "--reduce inert goes with --engine explore or local only"),
        (
            &["accumulator", "--order", "depth"],
            "--order does not go with --engine components: expected --engine explore",
        ),
        (&["accumulator", "--depth-max", "3"], "--depth-max does not go with --engine components"),
        (
            &["dining-philosophers", "--components", "3x2"],
            "--components 2 does not divide role 'philosopher'",
        ),
        (&["dining-philosophers", "--components", "2x"], "expected a number from 1 to 1000"),
        (&["dining-philosophers", "--group", "fork+"], "expected roles with numbers"),
        (&["dining-philosophers", "--group", "fork=0+fork"], "a process is in two components"),
    ] {
        run(&[&["check"], words, &["--engine", "components"]].concat()).assert_error(64, needle);
    }
}
