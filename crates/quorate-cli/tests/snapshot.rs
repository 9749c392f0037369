//! `snapshot` and `check --from`: the live state of the LMC paper (section 5.5), from which its bug is found; and what
//! is said of a file that is no snapshot.

use std::path::PathBuf;

use crate::program::{self, run, scratch};

/// The trace that ends in the paper's live state: N1 has proposed, N1 and N2 have accepted, only N1 has learnt.
fn live_state(file: &str) -> PathBuf {
    let (trace, state) = (scratch(&format!("{file}-trace.json")), scratch(file));
    let ran = run(&[
        "check",
        "paxos-node",
        "--property",
        "nothing-chosen",
        "--trace",
        trace.to_str().expect("text"),
    ]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let ran = run(&["snapshot", trace.to_str().expect("text"), "--output", state.to_str().expect("text")]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    std::fs::remove_file(trace).expect("the trace was there");
    state
}

#[test]
fn the_bug_of_the_paper_is_found_from_its_live_state_by_every_engine() {
    let state = live_state("live.json");
    let path = state.to_str().expect("text");
    let snapshot: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&state).expect("a file")).expect("JSON");
    let steps = snapshot["trace"].as_array().expect("steps").len();
    assert_eq!(snapshot["states"].as_array().map(Vec::len), Some(3));
    assert!(!snapshot["in_flight"].as_array().expect("messages").is_empty());
    for engine in ["local", "explore"] {
        let check = ["check", "paxos-node", "--proposals", "2", "--engine", engine, "--from", path, "--json"];
        let ran = run(&[&check[..], &["--bug", "last-reply"]].concat());
        assert_eq!(ran.code, 1, "{engine}: {}{}", ran.stdout, ran.stderr);
        let answer = ran.json();
        assert_eq!(answer["from_step"], steps);
        assert_eq!(answer["from_file"], path);
        // The story begins at the beginning, so it can be replayed.
        let story = answer["trace"].as_array().expect("a trace");
        assert!(story.len() > steps);
        for (step, then) in story.iter().zip(snapshot["trace"].as_array().expect("steps")) {
            assert_eq!((&step["process"], &step["transition"]), (&then["process"], &then["transition"]));
        }
        let replayed = program::run_with_input(&["replay", "-"], ran.stdout.as_bytes());
        assert_eq!((replayed.code, replayed.stderr.as_str()), (1, ""), "{engine}");
        let of = format!("the first {steps} of them from '{path}'");
        let text = program::run_with_input(&["replay", "-"], ran.stdout.as_bytes()).stdout;
        assert!(text.starts_with("violated: 'agreement', after ") && text.contains(&of), "{text}");
        let words = check.iter().filter(|word| **word != "--json").copied().collect::<Vec<_>>();
        let text = run(&[&words[..], &["--bug", "last-reply"]].concat()).stdout;
        assert!(text.contains(&of), "{text}");
        let joined = text.replace(['\n', '│', ' '], "");
        assert!(joined.contains(&format!("'{path}'ends,thesearchbegins")), "{text}");
        // A verdict says which runs it is about.
        let text = run(&words).stdout;
        assert!(
            text.starts_with(&format!("holds from step {steps} of '{path}' on: 'agreement'\n")),
            "{text}"
        );
        let text = run(&[&words[..], &["--reduce", "none", "--states-max", "10"]].concat()).stdout;
        let seen = format!("states seen from step {steps} of '{path}' on\n");
        assert!(engine == "local" || text.contains(&seen), "{text}");
        let sound = run(&check);
        assert_eq!((&sound.json()["from_step"], &sound.json()["from_file"]), (&steps.into(), &path.into()));
        assert_eq!(sound.code, 0, "{engine}: {}{}", sound.stdout, sound.stderr);
    }
    std::fs::remove_file(state).expect("the snapshot was there");
}

#[test]
fn a_file_that_is_no_snapshot_is_refused() {
    let trace = scratch("no-snapshot.json");
    let path = trace.to_str().expect("text");
    let ran = run(&["check", "paxos", "--bug", "always-accept", "--trace", path]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let ran = run(&["check", "paxos", "--from", path]);
    assert_eq!(ran.code, 65, "{}", ran.stderr);
    assert!(ran.stderr.contains("is no snapshot: make one"), "{}", ran.stderr);
    let ran = run(&["snapshot", path, "--step", "999"]);
    assert_eq!(ran.code, 64, "{}", ran.stderr);
    assert!(ran.stderr.contains("--step 999: expected 0 to"), "{}", ran.stderr);
    let state = scratch("paxos-state.json");
    let ran = run(&["snapshot", path, "--step", "2", "--output", state.to_str().expect("text")]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let ran = run(&["check", "tree", "--from", state.to_str().expect("text")]);
    assert_eq!(ran.code, 65, "{}", ran.stderr);
    assert!(ran.stderr.contains("is a snapshot of 'paxos': expected one of 'tree'"), "{}", ran.stderr);
    let ran = run(&["check", "paxos", "--proposers", "1", "--from", state.to_str().expect("text")]);
    assert!(ran.code == 65 || ran.code == 0, "{}", ran.stderr);
    for file in [trace, state] {
        std::fs::remove_file(file).expect("the file was there");
    }
}
