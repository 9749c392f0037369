//! Help, version, list, completions and colours: what a newcomer sees first.

use crate::program::{self, run};

#[test]
fn every_command_has_help_with_examples() {
    for words in [
        vec![],
        vec!["check"],
        vec!["check", "paxos"],
        vec!["graph"],
        vec!["graph", "paxos"],
        vec!["replay"],
        vec!["list"],
        vec!["completions"],
        vec!["tables"],
    ] {
        for flag in ["--help", "-h"] {
            let help = run(&[words.as_slice(), &[flag]].concat());
            assert_eq!(help.code, 0, "{words:?}");
            assert_eq!(help.stderr, "", "{words:?}");
            assert!(help.stdout.contains("Usage: quorate"), "{words:?}: {}", help.stdout);
            assert!(help.stdout.contains("Examples:\n  quorate "), "{words:?}: {}", help.stdout);
        }
    }
}

#[test]
fn the_help_of_a_protocol_shows_its_parameters_and_bugs() {
    let help = run(&["check", "paxos", "--help"]).stdout;
    for shown in [
        "--acceptors <NUMBER>",
        "how many acceptors (1 to 60)",
        "[default: 3]",
        "[possible values: quorum, single, tally]",
        "- always-accept:",
        "--memory-max <SIZE>",
        "\nWorld:\n",
        "--crash-prone <ROLE=N>",
        "quorate check paxos --crash explicit --partial-sends",
        "quorate check paxos --bug always-accept",
    ] {
        assert!(help.contains(shown), "expected {shown:?} in {help}");
    }
}

#[test]
fn the_examples_of_the_help_work() {
    let help = run(&["check", "paxos", "--help"]).stdout;
    let examples = help.split("Examples:\n").nth(1).expect("examples");
    for line in examples.lines().map(str::trim).filter(|line| line.starts_with("quorate check")) {
        // The larger instance takes seconds; that its command line is accepted is what is tested.
        let words: Vec<&str> = line.split_whitespace().skip(1).take_while(|word| *word != ">").collect();
        let ran = run(&[words.as_slice(), &["--depth-max", "15"]].concat());
        assert!(ran.code <= 2, "{line}: {}", ran.stderr);
    }
}

#[test]
fn the_version_is_the_crates() {
    let version = run(&["--version"]);
    assert_eq!((version.code, version.stdout), (0, format!("quorate {}\n", env!("CARGO_PKG_VERSION"))));
}

#[test]
fn the_list_shows_every_protocol_with_parameters_and_bugs() {
    let text = run(&["list"]);
    let json = run(&["list", "--json"]).json();
    assert_eq!((text.code, json["quorate"].as_u64()), (0, Some(2)));
    let protocols = json["protocols"].as_array().expect("protocols");
    assert_eq!(protocols.len(), quorate_zoo::protocols().len());
    for protocol in protocols {
        let name = protocol["name"].as_str().expect("a name");
        assert!(text.stdout.contains(name), "{name}");
        let detail = run(&["list", name]);
        assert_eq!(detail.code, 0, "{name}");
        assert!(detail.stdout.starts_with(name), "{name}: {}", detail.stdout);
        for parameter in protocol["parameters"].as_array().expect("parameters") {
            let option = format!("--{}", parameter["name"].as_str().expect("a name"));
            assert!(detail.stdout.contains(&option), "{name} {option}");
            assert_ne!(parameter["range"].is_null(), parameter["choices"].is_null(), "{parameter}");
        }
        for bug in protocol["bugs"].as_array().expect("bugs") {
            assert!(detail.stdout.contains(bug["name"].as_str().expect("a name")), "{name} {bug}");
        }
    }
    let paxos = &run(&["list", "paxos", "--json"]).json()["protocols"][0];
    assert_eq!(paxos["parameters"][1]["default"].as_u64(), Some(3));
    assert_eq!(paxos["bugs"][0]["name"].as_str(), Some("always-accept"));
}

#[test]
fn completions_know_protocols_and_bugs() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = run(&["completions", shell]);
        assert_eq!((script.code, script.stderr.as_str()), (0, ""), "{shell}");
        for known in ["paxos", "acceptors", "states-max"] {
            assert!(script.stdout.contains(known), "{shell} {known}");
        }
    }
}

#[test]
fn colours_are_there_when_asked_for_only() {
    let escape = '\u{1b}';
    for words in [["check", "paxos"].as_slice(), &["list"], &["--help"]] {
        assert!(!run(words).stdout.contains(escape), "{words:?} into a pipe");
        assert!(!run(&[words, &["--color", "never"]].concat()).stdout.contains(escape), "{words:?} never");
    }
    for words in [["check", "paxos"].as_slice(), &["list"]] {
        assert!(run(&[words, &["--color", "always"]].concat()).stdout.contains(escape), "{words:?} always");
        let forced = program::command(words).env("CLICOLOR_FORCE", "1").output().expect("the program ends");
        assert!(String::from_utf8_lossy(&forced.stdout).contains(escape), "{words:?} forced");
    }
}
