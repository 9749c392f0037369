//! Traces travel: what `check` writes, `replay` confirms, and what somebody has changed it refuses.

use crate::program::{resealed, run, run_with_input, scratch};
use serde_json::{Value, json};

/// The answer of a check that finds a planted bug.
fn found(bug: &str) -> Value {
    let ran = run(&["check", "paxos", "--bug", bug, "--json"]);
    assert_eq!(ran.code, 1, "{bug}: {}", ran.stderr);
    ran.json()
}

#[test]
fn every_planted_bug_is_found_and_its_trace_confirmed() {
    for protocol in quorate_zoo::protocols() {
        for bug in protocol.bugs() {
            for order in ["breadth", "depth"] {
                let name = format!("{}, {}, {order}", protocol.name(), bug.name);
                let file = scratch(&format!("{}-{}-{order}.json", protocol.name(), bug.name));
                let path = file.to_str().expect("text");
                let ran =
                    run(&["check", protocol.name(), "--bug", bug.name, "--order", order, "--trace", path]);
                assert_eq!(ran.code, 1, "{name}: {}{}", ran.stdout, ran.stderr);
                let replayed = run(&["replay", path]);
                assert_eq!((replayed.code, replayed.stderr.as_str()), (1, ""), "{name}");
                assert!(replayed.stdout.starts_with("violated: "), "{name}: {}", replayed.stdout);
                assert!(ran.stdout.starts_with(replayed.stdout.trim_end()), "{name}: the same picture");
                std::fs::remove_file(file).expect("the file was there");
            }
        }
    }
}

#[test]
fn a_replay_can_be_replayed() {
    let story = found("learner-ignores-value");
    let once = run_with_input(&["replay", "-", "--json"], story.to_string().as_bytes());
    assert_eq!((once.code, &once.json()["engine"]), (1, &"replay".into()));
    for field in ["protocol", "parameters", "bug", "property", "verdict", "trace", "initial", "observed"] {
        assert_eq!(once.json()[field], story[field], "{field}");
    }
    let twice = run_with_input(&["replay", "-", "--json"], once.stdout.as_bytes());
    assert_eq!((twice.code, twice.stdout), (1, once.stdout));
}

#[test]
fn an_edited_trace_is_refused() {
    let story = found("always-accept");
    let edits: [(&str, Value, &str); 14] = [
        ("/trace/0/process", json!(1), "step 1: "),
        ("/trace/0/process", json!(17), "step 1: there is no process"),
        ("/trace/0/process", json!(99), "step 1: there is no process 99"),
        ("/trace/0/transition", json!("propos"), "step 1: proposer 0 has no transition 'propos'"),
        ("/trace/0/state", json!("Proposer"), "step 1: 'propose' leads to Proposer {"),
        ("/trace/0/sent/1/message", json!("Read { ballot: 9 }"), "step 1: 'propose' sends Read"),
        ("/trace/0/sent/1/to", json!(99), "step 1: there is no process 99"),
        ("/trace/0/sent/1/to", json!(2), "step 1: "),
        (
            "/trace/0/choices",
            json!([{"index": 7, "of": 9, "text": "x"}]),
            "step 1: the handler made 0 choices, not 1",
        ),
        ("/trace/0/events", json!(["x"]), "step 1: 'propose' emits nothing, not x as the file says"),
        ("/trace/1/consumed/0/step", json!(1_000_000), "step 2: Read { ballot: 1 } is not in the inbox"),
        ("/trace/1/consumed/0/message", json!("a\nb"), "step 2: 'read' consumes Read { ballot: 1 }, not a b"),
        ("/property", json!("termination"), "expected 'termination' violated at its end, but 'agreement' is"),
        ("/observed/0/value", json!("{1}"), "what the property sees at its end differs"),
    ];
    for (field, value, needle) in edits {
        let mut edited = story.clone();
        *edited.pointer_mut(field).expect(field) = value;
        run_with_input(&["replay", "-"], resealed(&edited).as_bytes()).assert_error(65, needle);
    }
}

#[test]
fn a_trace_that_was_changed_says_so_and_what_to_do() {
    let mut edited = found("always-accept");
    let before = edited["checksum"].as_str().expect("a checksum").to_string();
    edited["trace"][0]["state"] = json!("Proposer");
    let ran = run_with_input(&["replay", "-"], edited.to_string().as_bytes());
    ran.assert_error(65, "standard input was changed after it was written, or is damaged");
    ran.assert_error(65, &format!("its field 'checksum' is '{before}', but that of what it says is '"));
    ran.assert_error(65, "(set the field to this if you mean the change)");
    // Who prints the same in another way changes nothing.
    let story = found("always-accept");
    let pretty = serde_json::to_string_pretty(&story).expect("JSON");
    assert_eq!(run_with_input(&["replay", "-"], pretty.as_bytes()).code, 1);
}

#[test]
fn every_single_step_matters() {
    let story = found("always-accept");
    let steps = story["trace"].as_array().expect("a trace").len();
    for dropped in 0..steps {
        let mut edited = story.clone();
        edited["trace"].as_array_mut().expect("a trace").remove(dropped);
        run_with_input(&["replay", "-"], resealed(&edited).as_bytes()).assert_error(65, "does not replay");
    }
}

#[test]
fn the_bug_is_part_of_the_story() {
    let mut healthy = found("always-accept");
    healthy["bug"] = Value::Null;
    run_with_input(&["replay", "-"], resealed(&healthy).as_bytes()).assert_error(65, "starts in");
}

#[test]
fn an_answer_without_a_violation_has_nothing_to_replay() {
    let holds = run(&["check", "paxos", "--json"]).stdout;
    run_with_input(&["replay", "-"], holds.as_bytes())
        .assert_error(65, "has no violation to replay: expected verdict 'violated' and a trace");
    let mut empty = found("always-accept");
    empty["trace"] = json!([]);
    run_with_input(&["replay", "-"], resealed(&empty).as_bytes())
        .assert_error(65, "expected 'agreement' violated at its end, but nothing is");
}

#[test]
fn a_violation_is_drawn_into_a_file() {
    let (run_file, first, second) = (scratch("drawn.json"), scratch("first.svg"), scratch("second.svg"));
    let path = |file: &std::path::Path| file.to_str().expect("a plain path").to_string();
    let (run_file, first, second) = (path(&run_file), path(&first), path(&second));
    let checked = run(&["check", "paxos", "--bug", "first-reply", "--trace", &run_file, "--svg", &first]);
    let replayed = run(&["replay", &run_file, "--svg", &second]);
    assert_eq!((checked.code, replayed.code), (1, 1));
    let drawn = std::fs::read_to_string(&first).expect("a picture");
    assert!(drawn.starts_with("<svg") && drawn.contains("proposer 1"), "{drawn}");
    assert_eq!(drawn, std::fs::read_to_string(&second).expect("a picture"));
    assert_eq!(run(&["check", "paxos", "--svg", "/dev/full"]).code, 0, "nothing to draw");
    assert_eq!(run(&["check", "paxos", "--bug", "first-reply", "--svg", "/dev/full"]).code, 74);
    assert_eq!(run(&["check", "paxos", "--svg", "no-such-folder/run.svg"]).code, 73);
}
