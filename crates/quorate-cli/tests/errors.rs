//! Whatever goes wrong is one line that says what was expected, with an exit code of 64 or more, and never
//! a panic.

use std::fs::OpenOptions;
use std::process::Stdio;

use crate::program::{command, resealed, run, run_with_input, scratch};
use serde_json::{Value, json};

#[test]
fn a_wrong_command_line() {
    let cases: &[(&[&str], &str)] = &[
        (&[], "no command given: expected check, graph, replay, snapshot, list, completions, tables"),
        (
            &["chek"],
            "unknown command 'chek': expected check, graph, replay, snapshot, list, completions, tables; did you mean 'check'?",
        ),
        (&["--json"], "expected a command first"),
        (&["check"], "no protocol given: expected paxos"),
        (&["check", "nosuch"], "unknown protocol 'nosuch': expected paxos"),
        (&["check", "paxo"], "did you mean 'paxos'?"),
        (&["check", "--json", "paxos"], "expected a protocol first, then its options"),
        (
            &["check", "paxos", "--nosuch", "1"],
            "unknown argument '--nosuch' of 'quorate check paxos': expected --proposers",
        ),
        (&["check", "paxos", "--acceptor", "3"], "did you mean '--acceptors'?"),
        (&["check", "paxos", "more"], "unknown argument 'more'"),
        (&["check", "paxos", "--acceptors"], "--acceptors needs a value"),
        (&["check", "paxos", "--acceptors", "0"], "--acceptors is '0': expected a number from 1 to 60"),
        (&["check", "paxos", "--acceptors", "-3"], "--acceptors is '-3': expected a number from 1 to 60"),
        (&["check", "paxos", "--acceptors=-3"], "--acceptors is '-3': expected a number from 1 to 60"),
        (
            &["check", "paxos", "--acceptors", "three"],
            "--acceptors is 'three': expected a number from 1 to 60",
        ),
        (&["check", "paxos", "--acceptors", "99999999999999999999"], "expected a number from 1 to 60"),
        (
            &["check", "paxos", "--proposers", "60", "--acceptors", "60"],
            "120 processes once role 'acceptor' is added: at most 64",
        ),
        (&["check", "paxos", "--stale", "burn"], "--stale is 'burn': expected consume, keep"),
        (
            &["check", "paxos", "--bug", "nosuch"],
            "--bug is 'nosuch': expected always-accept, learner-ignores-value, first-reply",
        ),
        (&["check", "paxos", "--bug"], "--bug needs a value: expected always-accept"),
        (&["check", "paxos", "--reduce", "nosuch"], "--reduce is 'nosuch': expected none, auto"),
        (
            &["check", "paxos", "--engine", "nosuch"],
            "--engine is 'nosuch': expected explore, local, b-dfs-memo, components, b-dfs, lmc-gen, lmc-opt",
        ),
        (
            &["check", "paxos", "--engine", "b-dfs", "--reduce", "inert,beliefs"],
            "--reduce inert goes with --engine explore or local only: expected --reduce none or auto",
        ),
        (
            &["check", "paxos", "--engine", "b-dfs", "--visited", "fingerprint"],
            "--visited does not go with --engine b-dfs",
        ),
        (
            &["check", "paxos", "--engine", "lmc-opt", "--copies-max", "3"],
            "--copies-max does not go with --engine lmc-opt",
        ),
        (&["check", "paxos", "--order", "width"], "--order is 'width': expected breadth, depth"),
        (&["check", "paxos", "--visited", "no"], "--visited is 'no': expected exact, fingerprint"),
        (&["check", "paxos", "--threads", "0"], "--threads is '0': expected a number from 1 to 1024"),
        (&["check", "paxos", "--threads", "-2"], "--threads is '-2': expected a number from 1 to 1024"),
        (
            &["check", "paxos", "--order", "depth", "--depth-max", "9"],
            "--depth-max goes with --order breadth only",
        ),
        (&["check", "paxos", "--states-max", "-1"], "--states-max is '-1': expected a number from 1"),
        (&["check", "paxos", "--time-max", "soon"], "--time-max is 'soon': expected a time such as"),
        (&["check", "paxos", "--memory-max", "-1G"], "--memory-max"),
        (
            &["check", "paxos", "--memory-max", "much"],
            "--memory-max is 'much': expected a size such as 500M or 4G",
        ),
        (&["check", "paxos", "--json", "--json"], "--json is given twice: expected once"),
        (&["check", "paxos", "--color", "blue"], "--color is 'blue': expected auto, always, never"),
        (&["list", "nosuch"], "PROTOCOL is 'nosuch': expected paxos"),
        (&["replay"], "'quorate replay' needs FILE"),
        (&["completions"], "'quorate completions' needs SHELL"),
        (&["tables"], "'quorate tables' needs TABLE"),
        (&["tables", "nosuch"], "TABLE is 'nosuch': expected m-models, crash"),
        (
            &["tables", "crash", "--rows", "Nosuch"],
            "no row of table 'crash' has 'Nosuch' in its name: expected a part of Paxos (6 processes): safety",
        ),
        (
            &["tables", "lmc", "--rows", "Nosuch"],
            "no series of 'lmc' has 'Nosuch' in its name: expected a part of B-DFS",
        ),
        (
            &["tables", "crash", "--svg", "pictures"],
            "--svg draws figures, and 'crash' is a table: leave it out",
        ),
        (&["tables", "crash", "--time-max", "soon"], "--time-max is 'soon': expected a time such as"),
        (&["completions", "command.com"], "SHELL is 'command.com': expected bash"),
    ];
    for (words, needle) in cases {
        run(words).assert_error(64, needle);
    }
}

#[test]
fn a_line_break_in_an_argument_stays_in_one_line() {
    run(&["check", "no\nsuch"]).assert_error(64, "unknown protocol 'no such'");
}

#[test]
fn files_that_cannot_be_read() {
    run(&["replay", "no-such-file"]).assert_error(66, "cannot read 'no-such-file'");
    run(&["replay", "."]).assert_error(66, "cannot read '.'");
}

#[test]
fn files_that_are_no_traces() {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    run(&["replay", manifest]).assert_error(65, "is no JSON");
    let deep = "[".repeat(100_000);
    let cases: [(&[u8], &str); 9] = [
        (b"", "standard input is no JSON"),
        (b"{\"quorate\":1,", "is no JSON"),
        (b"\xff\xfe\0", "is no JSON"),
        (b"[1, 2]", "is no answer of quorate: expected what 'check --json' wrote"),
        (b"{\"name\": \"other\"}", "is no answer of quorate"),
        (b"{\"quorate\": 1}", "has format 1, that of another version of quorate: expected format 2"),
        (b"{\"quorate\": \"2\\n\"}", "expected format 2"),
        (b"{\"quorate\": 2, \"protocol\": \"paxos\"}", "or has lost its field 'checksum': expected what"),
        (deep.as_bytes(), "is no JSON"),
    ];
    for (content, needle) in cases {
        run_with_input(&["replay", "-"], content).assert_error(65, needle);
    }
    let list = run(&["list", "--json"]).stdout;
    run_with_input(&["replay", "-"], list.as_bytes())
        .assert_error(65, "is no answer of quorate, or has lost");
    let unsaid = resealed(&json!({"quorate": 2, "protocol": "paxos", "checksum": ""}));
    run_with_input(&["replay", "-"], unsaid.as_bytes()).assert_error(65, "missing field `parameters`");
}

#[test]
fn traces_that_belong_elsewhere() {
    let story = run(&["check", "paxos", "--bug", "always-accept", "--json"]).json();
    let cases: [(&str, Value, &str); 6] = [
        ("/protocol", json!("nosuch"), "unknown protocol 'nosuch': expected paxos"),
        ("/parameters/acceptors", json!(0), "--acceptors is '0': expected a number from 1 to 60"),
        ("/parameters/acceptors", json!(60), "does not replay: expected the processes"),
        ("/parameters/proposers", json!(60), "does not replay"),
        ("/parameters", json!({"acceptor": 3}), "has no parameter 'acceptor': expected proposers"),
        ("/bug", json!("nosuch"), "has no bug 'nosuch': expected always-accept"),
    ];
    for (field, value, needle) in cases {
        let mut edited = story.clone();
        *edited.pointer_mut(field).expect(field) = value;
        run_with_input(&["replay", "-"], resealed(&edited).as_bytes()).assert_error(65, needle);
    }
    let mut large = story.clone();
    large["parameters"]["proposers"] = json!(60);
    large["parameters"]["acceptors"] = json!(60);
    run_with_input(&["replay", "-"], resealed(&large).as_bytes())
        .assert_error(65, "a system that cannot be built: 120 processes");
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_loses_no_verdict() {
    for (words, kept) in [
        (["check", "paxos", "--json", "--reduce", "none"].as_slice(), "(holds, 27,410 states)"),
        (&["check", "paxos", "--bug", "always-accept"], "(violated, "),
        (&["list"], "the list"),
        (&["--help"], "the help"),
        (&["completions", "bash"], "the completions"),
    ] {
        let full = OpenOptions::new().write(true).open("/dev/full").expect("/dev/full");
        let output = command(words).stdout(full).stderr(Stdio::piped()).output().expect("the program ends");
        let errors = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(74), "{errors}");
        assert!(
            errors.starts_with("error: cannot write to standard output: ") && errors.contains(kept),
            "{errors}"
        );
        assert_eq!(errors.lines().count(), 1, "{errors}");
    }
    let ran = run(&["check", "paxos", "--json", "--trace", "/dev/full"]);
    assert_eq!((ran.code, &ran.json()["verdict"]), (74, &"holds".into()));
    assert!(ran.stderr.starts_with("error: cannot write '/dev/full': "), "{}", ran.stderr);
}

#[test]
fn a_file_that_cannot_be_created_is_reported_before_the_search() {
    let file = scratch("no-such-folder").join("run.json");
    let words = ["check", "paxos", "--proposers", "6", "--trace", file.to_str().expect("text")];
    run(&words).assert_error(73, "cannot create '");
}

#[test]
fn a_reader_that_has_gone_away_is_no_error() {
    for (words, code) in [
        (["completions", "bash"].as_slice(), 0),
        (&["check", "paxos"], 0),
        (&["check", "paxos", "--bug", "always-accept", "--json"], 1),
        (&["check", "--help"], 0),
    ] {
        let mut child =
            command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("the program ends");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{words:?}");
        assert_eq!(output.status.code(), Some(code), "{words:?}");
    }
}

#[test]
fn what_means_nothing_or_cannot_be_looked_at() {
    let cases: &[(&[&str], &str)] = &[
        (
            &["check", "paxos", "--bug", "first-reply", "--engine", "local", "--own-steps-max", "0"],
            "--own-steps-max is '0': expected a number from 1 to 4294967295",
        ),
        (
            &["check", "paxos", "--bug", "first-reply", "--engine", "local", "--local-events", "0"],
            "--own-steps-max is '0': expected a number from 1 to 4294967295",
        ),
        (
            &["check", "two-phase-commit", "--engine", "lmc-gen"],
            "the engine lmc-gen cannot be used: it does not know where runs end: 'everybody decides' needs another engine",
        ),
        (&["check", "tree", "--engine", "lmc-opt"], "'the message arrives' needs another engine"),
        (
            &["check", "two-phase-commit", "--delivery", "in-steps-all"],
            "'everybody decides' looks at the end of runs, and a process that must consume all that was delivered is stuck",
        ),
        (&["check", "accumulator", "--model", "mp"], "use --delivery in-steps or at-once"),
    ];
    for (words, needle) in cases {
        run(words).assert_error(64, needle);
    }
}
