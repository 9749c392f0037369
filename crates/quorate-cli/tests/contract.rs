//! The output contract: the fields of `check --json`, their types, the exit codes, and what people read.

use crate::program::{self, run, scratch};
use serde_json::{Value, json};

fn is_count(value: &Value) -> bool {
    value.is_u64()
}

/// Is a value of the right type?
type Fits = fn(&Value) -> bool;

/// Every field of the contract, with a test of its type.
#[track_caller]
fn assert_contract(json: &Value) {
    let fields: [(&str, Fits); 31] = [
        ("quorate", is_count),
        ("protocol", Value::is_string),
        ("parameters", Value::is_object),
        ("bug", |value| value.is_null() || value.is_string()),
        ("engine", |value| value == "explore"),
        ("order", Value::is_string),
        ("visited", Value::is_string),
        ("model", Value::is_string),
        ("channel", Value::is_string),
        ("faults", Value::is_object),
        ("reductions", Value::is_array),
        ("property", Value::is_string),
        ("verdict", Value::is_string),
        ("states", is_count),
        ("transitions", is_count),
        ("depth", is_count),
        ("terminal_states", is_count),
        ("system_states", |value| value.is_null() || is_count(value)),
        ("local_steps", is_count),
        ("handler_calls", is_count),
        ("closure", Value::is_null),
        ("seconds", Value::is_f64),
        ("peak_bytes", |value| value.as_u64() > Some(100_000)),
        ("threads", is_count),
        ("trace", |value| value.is_null() || value.is_array()),
        ("initial", |value| value.is_null() || value.is_array()),
        ("processes", Value::is_array),
        ("observed", |value| value.is_null() || value.is_array()),
        ("reason", |value| value.is_null() || value.is_string()),
        ("warnings", Value::is_array),
        ("checksum", |value| value.as_str().is_some_and(|digits| digits.len() == 16)),
    ];
    let object = json.as_object().expect("an object");
    for (name, fits) in fields {
        let value = object.get(name).unwrap_or_else(|| panic!("no field {name}"));
        assert!(fits(value), "{name} is {value}");
    }
    let fields: [(&str, Fits); 8] = [
        ("crash", Value::is_string),
        ("prone", Value::is_object),
        ("partial_sends", Value::is_boolean),
        ("restarts", Value::is_object),
        ("loss", Value::is_string),
        ("losses", is_count),
        ("duplications", is_count),
        ("fired", Value::is_object),
    ];
    for (name, fits) in fields {
        let value = &json["faults"][name];
        assert!(fits(value), "faults.{name} is {value}");
    }
}

#[test]
fn holds() {
    let ran = run(&["check", "paxos", "--reduce", "none", "--json", "--threads", "1"]);
    assert_eq!((ran.code, ran.stdout.lines().count(), ran.stderr.as_str()), (0, 1, ""));
    let json = ran.json();
    assert_contract(&json);
    assert_eq!(json["verdict"], "holds");
    assert_eq!(json["property"], "agreement");
    assert_eq!((&json["states"], &json["transitions"]), (&27_410.into(), &94_055.into()));
    assert_eq!(json["threads"], 1);
    assert_eq!(json["parameters"]["acceptors"], 3);
    assert_eq!(json["parameters"]["transitions"], "quorum");
    assert_eq!(json["processes"].as_array().map(Vec::len), Some(6));
    for null in ["bug", "trace", "initial", "observed", "reason", "system_states"] {
        assert!(json[null].is_null(), "{null}");
    }
    assert_eq!(
        (&json["model"], &json["channel"], &json["warnings"]),
        (&"m".into(), &"bag".into(), &json!([]))
    );
    let faults = json!({
        "crash": "implicit", "prone": {}, "partial_sends": false, "restarts": {},
        "loss": "implicit", "losses": 0, "duplications": 0, "fired": {},
    });
    assert_eq!(json["faults"], faults);
}

#[test]
fn the_world_is_part_of_the_answer() {
    let ran = run(&[
        "check",
        "paxos",
        "--stale",
        "keep",
        "--json",
        "--reduce",
        "none",
        "--count-system-states",
        "--crash",
        "explicit",
        "--crash-prone",
        "acceptor=1",
        "--partial-sends",
    ]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let json = ran.json();
    assert_contract(&json);
    assert_eq!((&json["states"], &json["system_states"]), (&21_215.into(), &531.into()));
    let faults = &json["faults"];
    assert_eq!((&faults["crash"], &faults["partial_sends"]), (&"explicit".into(), &true.into()));
    assert_eq!((&faults["prone"], &faults["fired"]), (&json!({"acceptor": 1}), &json!({"crash": 108})));

    let ran = run(&["check", "paxos", "--json", "--channel", "lossy-fifo", "--depth-max", "9"]);
    let json = ran.json();
    assert_contract(&json);
    assert_eq!((&json["channel"], &json["faults"]["loss"]), (&"lossy-fifo".into(), &"explicit".into()));
    let json = run(&["check", "paxos", "--json", "--delivery", "in-steps", "--depth-max", "9"]).json();
    assert_contract(&json);
    assert_eq!(json["model"], "m-mp");
}

#[test]
fn violated() {
    let ran = run(&["check", "paxos", "--bug", "always-accept", "--json"]);
    assert_eq!(ran.code, 1);
    let json = ran.json();
    assert_contract(&json);
    assert_eq!((&json["verdict"], &json["bug"]), (&"violated".into(), &"always-accept".into()));
    let steps = json["trace"].as_array().expect("a trace");
    assert_eq!(steps.len(), 14, "breadth-first finds the shortest");
    for step in steps {
        assert!(step["process"].as_u64() < Some(6) && step["transition"].is_string(), "{step}");
        for list in ["consumed", "choices", "sent", "events"] {
            assert!(step[list].is_array(), "{list} of {step}");
        }
        assert!(step["state"].is_string() && step["panic"].is_null(), "{step}");
    }
    assert_eq!(json["observed"][0]["process"], 5);
    assert_eq!(json["observed"][0]["value"], "{1, 2}");
    assert_eq!(json["initial"].as_array().map(Vec::len), Some(6));
}

#[test]
fn limits_end_in_unknown_with_a_reason() {
    for (option, value, reason) in [
        ("--states-max", "1000", "the limit of 1,000 states was reached"),
        ("--depth-max", "5", "the limit of 5 steps was reached"),
        ("--memory-max", "10k", "the limit of 10.0 KiB of memory was reached"),
    ] {
        let ran = run(&["check", "paxos", "--reduce", "none", option, value, "--json"]);
        assert_eq!(ran.code, 2, "{option}");
        let json = ran.json();
        assert_contract(&json);
        assert_eq!((&json["verdict"], &json["reason"]), (&"unknown".into(), &reason.into()));
        let states = json["states"].as_u64().expect("states");
        assert!(states > 0 && states < 27_410, "{option}: {states}");
    }
    let ran = run(&[
        "check",
        "paxos",
        "--reduce",
        "none",
        "--proposers",
        "4",
        "--time-max",
        "1s",
        "--json",
        "--quiet",
    ]);
    assert_eq!((ran.code, ran.stderr.as_str()), (2, ""));
    assert_eq!(ran.json()["reason"], "the limit of 1 second was reached");
}

#[test]
fn fingerprints_say_how_likely_a_state_was_missed() {
    let ran = run(&["check", "paxos", "--visited", "fingerprint", "--json"]);
    let json = ran.json();
    assert_contract(&json);
    // Few states fit exactly all the same.
    assert_eq!((ran.code, &json["verdict"]), (0, &"holds".into()));
    assert_eq!(json["missed_probability"], 0.0);
    let page = run(&["check", "paxos", "--visited", "fingerprint"]).stdout;
    assert!(page.contains("state missed") && page.contains("probability"), "{page}");
    assert!(run(&["check", "paxos", "--json"]).json()["missed_probability"].is_null());
}

#[test]
fn people_read_the_verdict_the_picture_and_the_figures() {
    let holds = run(&["check", "paxos", "--reduce", "none", "--threads", "1"]);
    assert_eq!(holds.code, 0);
    let page = holds.stdout;
    assert!(
        page.starts_with("holds: 'agreement'\npaxos --proposers 2 --acceptors 3 --learners 1 "),
        "{page}"
    );
    assert!(page.contains("\n  states             27,410\n  transitions        94,055\n"), "{page}");
    assert!(page.contains(" states/s on 1 thread\n"), "{page}");

    let violated = run(&["check", "paxos", "--bug", "first-reply"]).stdout;
    assert!(violated.starts_with("violated: 'agreement', after "), "{violated}");
    assert!(violated.contains("--bug first-reply\n") && violated.contains("read_reply"), "{violated}");

    let unknown = run(&["check", "paxos", "--reduce", "none", "--states-max", "10"]).stdout;
    assert!(
        unknown
            .starts_with("unknown: the limit of 10 states was reached\nno violation of 'agreement' in the "),
        "{unknown}"
    );
    assert!(unknown.contains(" not expanded\n"), "{unknown}");
    // How deep a search went is explained, and left out beside the steps of a run.
    assert!(page.contains("\n  depth                  18   steps to the furthest state\n"), "{page}");
    assert!(!violated.contains("\n  depth "), "{violated}");
}

/// What is printed in so many columns.
fn printed(columns: &str, words: &[&str]) -> String {
    let ran = program::command(words).env("COLUMNS", columns).output().expect("the program starts");
    String::from_utf8(ran.stdout).expect("text")
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let longest = |page: &str| page.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    for words in [
        &["check", "paxos", "--bug", "always-accept"][..],
        &["check", "paxos-node", "--bug", "last-reply"],
        &["check", "two-phase-commit", "--bug", "silent-abort"],
        &["check", "two-phase-commit"],
        &["check", "paxos", "--reduce", "none", "--states-max", "10"],
    ] {
        for columns in [40, 60, 80, 120, 200] {
            let page = printed(&columns.to_string(), words);
            assert!(longest(&page) <= columns, "{words:?} in {columns}, not {}:\n{page}", longest(&page));
        }
    }
    let words = ["check", "paxos", "--bug", "always-accept"];
    assert!(longest(&printed("80", &words)) > 70 && longest(&printed("200", &words)) > 140);
    // An instance that takes several lines is still a line of a shell.
    let page = printed("60", &["check", "paxos"]);
    assert!(page.contains("--learners 1 \\\n    --transitions"), "{page}");
    // What is no width is no width.
    assert_eq!(longest(&printed("wide", &words)), longest(&run(&words).stdout));
}

#[test]
fn a_picture_is_drawn_with_a_title_or_not_at_all() {
    let file = scratch("picture.svg");
    let path = file.to_str().expect("text");
    let ran = run(&["check", "paxos", "--svg", path]);
    assert_eq!((ran.code, file.exists()), (0, false));
    assert_eq!(ran.stderr, format!("'{path}' is not written: there is no violation to draw\n"));
    let ran = run(&["check", "paxos", "--bug", "always-accept", "--svg", path]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let picture = std::fs::read_to_string(&file).expect("a picture");
    assert!(picture.contains("<title>violated: 'agreement', after 14 steps</title>"), "{picture}");
    assert!(picture.contains("paxos --proposers 2 --acceptors 3"), "{picture}");
    assert!(picture.contains("--bug always-accept</tspan>"), "{picture}");
    // An older picture is not touched.
    let ran = run(&["check", "paxos", "--svg", path]);
    assert_eq!(ran.stderr, format!("'{path}' is left as it was: there is no violation to draw\n"));
    assert_eq!(std::fs::read_to_string(&file).expect("a picture"), picture);
    std::fs::remove_file(&file).expect("the picture was there");
    // Nor does a search that does not take place leave anything behind.
    let ran = run(&["check", "paxos", "--svg", path, "--trace", "no/such/folder/run.json"]);
    assert_eq!((ran.code, file.exists()), (73, false), "{}", ran.stderr);
}

#[test]
fn the_answer_is_also_written_to_a_file() {
    let file = scratch("answer.json");
    std::fs::write(&file, "x".repeat(1 << 20)).expect("an older, longer file");
    let path = file.to_str().expect("text");
    let ran = run(&["check", "paxos", "--bug", "always-accept", "--json", "--trace", path]);
    assert_eq!((ran.code, std::fs::read_to_string(&file).expect("the file")), (1, ran.stdout.clone()));
    std::fs::remove_file(file).expect("the file was there");
}
