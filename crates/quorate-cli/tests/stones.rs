//! `--stones` on the command line: stones are printed as they are found, the answer says how many there were, the
//! violation can be replayed, and what makes no sense is refused in one line.

use crate::program::{self, run, run_with_input};

const BUG: [&str; 8] = ["check", "pam", "--ballots", "6", "--bug", "first-value", "--engine", "components"];
const LIMIT: [&str; 2] = ["--states-max", "2500"];
const STONES: [&str; 4] = ["--stones", "10", "--stone-states", "400"];

#[test]
fn a_bug_is_found_from_stones_that_is_not_found_from_the_beginning() {
    let plain = run(&[&BUG[..], &LIMIT, &["--json"]].concat());
    assert_eq!((plain.code, &plain.json()["verdict"]), (2, &"unknown".into()));
    assert!(plain.json().get("stages").is_none());

    let found = run(&[&BUG[..], &LIMIT, &STONES, &["--json"]].concat());
    let answer = found.json();
    assert_eq!((found.code, &answer["property"]), (1, &"agreement".into()));
    assert!(answer["stages"].as_u64() > Some(1) && answer["stones"].as_u64() > Some(0));
    assert!(answer["stones_passed"].as_u64() > Some(0));
    let first = "stage 1: stepping stone 1, after ";
    assert!(found.stderr.contains(first), "{}", found.stderr);
    assert!(found.stderr.contains("steps: nodes have accepted different decrees"), "{}", found.stderr);
    let again = run_with_input(&["replay", "-", "--json"], found.stdout.as_bytes());
    assert_eq!((again.code, &again.json()["property"]), (1, &"agreement".into()), "{}", again.stderr);

    let page = run(&[&BUG[..], &LIMIT, &STONES, &["--quiet"]].concat());
    assert!(page.stdout.contains("the violation was found from one of them"), "{}", page.stdout);
    assert_eq!(page.stderr, "");
}

#[test]
fn stages_that_find_nothing_are_reported() {
    let ran =
        run(&["check", "pam", "--engine", "components", "--stones", "2", "--stone-states", "50", "--json"]);
    let answer = ran.json();
    assert_eq!((ran.code, &answer["verdict"], &answer["stones"]), (2, &"unknown".into(), &2.into()));
    let reason = answer["reason"].as_str().unwrap_or_default();
    assert!(reason.starts_with("only 2 stages of a limited size, from 2 stepping stones"), "{reason}");
    let whole = run(&["check", "pam", "--engine", "components", "--ballots", "1", "--stones", "2", "--json"]);
    assert_eq!(
        (whole.code, &whole.json()["verdict"], &whole.json()["stages"]),
        (0, &"holds".into(), &1.into())
    );
    // The time of a stage begins anew with each part, so one that is too long does not end the search.
    let check = [
        "check",
        "pam",
        "--nodes",
        "5",
        "--ballots",
        "5",
        "--engine",
        "components",
        "--stones",
        "1",
        "--json",
    ];
    let timed = run(&[&check[..], &["--stone-states", "1000000", "--stone-time", "1"]].concat());
    let answer = timed.json();
    assert_eq!((timed.code, answer["stones"].as_u64() > Some(0)), (2, true), "{}", timed.stdout);
    assert!(answer["stages"].as_u64() > Some(1), "{}", timed.stdout);
}

#[test]
fn a_snapshot_is_a_start_for_dir_too() {
    let trace = program::scratch("stones-trace.json");
    let state = program::scratch("stones-state.json");
    let (trace_path, state_path) = (trace.to_str().expect("text"), state.to_str().expect("text"));
    let check = ["check", "pam", "--bug", "first-value"];
    assert_eq!(run(&[&check[..], &["--trace", trace_path]].concat()).code, 1);
    assert_eq!(run(&["snapshot", trace_path, "--step", "7", "--output", state_path]).code, 0);
    let found = run(&[&check[..], &["--engine", "components", "--from", state_path, "--json"]].concat());
    assert_eq!((found.code, &found.json()["from_step"]), (1, &7.into()), "{}", found.stderr);
    let again = run_with_input(&["replay", "-"], found.stdout.as_bytes());
    assert_eq!((again.code, again.stderr.as_str()), (1, ""));
    let sound = run(&["check", "pam", "--engine", "components", "--from", state_path]);
    assert_eq!(sound.code, 0, "{}{}", sound.stdout, sound.stderr);
    for file in [trace, state] {
        std::fs::remove_file(file).expect("the file was there");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (words, needle) in [
        (&["paxos", "--stones", "2"][..], "the protocol does not say which states are interesting"),
        (&["pam", "--stone-states", "5"], "--stone-states goes with --stones only"),
        (&["pam", "--stone-time", "5"], "--stone-time goes with --stones only"),
        (&["pam", "--stones", "0"], "expected a number from 1"),
    ] {
        run(&[&["check"], words].concat()).assert_error(64, needle);
    }
    let page = run(&["list", "pam"]).stdout;
    assert!(page.contains("stepping stone: nodes have accepted different decrees"), "{page}");
    let list = run(&["list", "pam", "--json"]).json();
    assert_eq!(list["protocols"][0]["stepping_stones"][0], "nodes have accepted different decrees");
}
