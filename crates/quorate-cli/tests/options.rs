//! What is asked for is never ignored: every option of a search goes with an engine, or is refused by it. One list, of
//! every option and who heeds it; the test goes through all pairs.

use crate::program::{Run, run, scratch};

const ENGINES: [&str; 7] = ["explore", "local", "b-dfs-memo", "components", "b-dfs", "lmc-gen", "lmc-opt"];
const ALL: &[&str] = &ENGINES;
const STEP_BY_STEP: &[&str] = &["explore", "local", "b-dfs-memo", "b-dfs", "lmc-gen", "lmc-opt"];
const LMC: &[&str] = &["lmc-gen", "lmc-opt"];

/// An option as it is tried, and the engines that heed it.
const HEEDED: [(&str, &[&str]); 25] = [
    ("--order depth", &["explore", "local"]),
    ("--visited fingerprint", &["explore", "local"]),
    ("--copies-max 1", &["explore", "local", "b-dfs-memo"]),
    ("--count-system-states", &["explore", "b-dfs-memo"]),
    ("--threads 2", &["explore", "local", "components"]),
    ("--from FILE", ALL),
    ("--reduce none", ALL),
    ("--reduce inert", &["explore", "local"]),
    ("--stubborn-split none", &["explore", "local"]),
    ("--stubborn-from first", &["explore", "local"]),
    ("--stubborn-split none --reduce none", &[]),
    ("--stubborn-from last --reduce inert,beliefs", &[]),
    ("--combine-by states", &["local"]),
    ("--own-steps-max 1", &["local"]),
    ("--components 1", &["components"]),
    ("--group node", &["components"]),
    ("--store FILE", &["components"]),
    ("--resume --store FILE", &["components"]),
    ("--lmc-stage explore", LMC),
    ("--stones 1", ALL),
    ("--stone-states 10 --stones 1", ALL),
    ("--stone-time 1 --stones 1", ALL),
    ("--states-max 100000", ALL),
    ("--depth-max 3", STEP_BY_STEP),
    ("--time-max 60", ALL),
];

/// Options that every engine heeds, and what is not about a search.
const OTHERS: [&str; 2] = ["engine", "memory-max"];

/// The headings under which options of a search stand.
const HEADINGS: [&str; 6] =
    ["Search", "Local states", "Components", "Local model", "Stepping stones", "Limits"];

fn check(engine: &str, options: &str) -> Run {
    // Of these, one says which states are interesting.
    let protocol = if options.contains("--stone") { "pam" } else { "paxos-node" };
    let mut words = vec!["check", protocol, "--quiet", "--engine", engine];
    // The slow engines of papers need not come to an end.
    if !options.contains("--states-max") {
        words.extend(["--states-max", "500"]);
    }
    words.extend(options.split_whitespace());
    run(&words)
}

/// The options of a search, as the help lists them.
fn listed() -> Vec<String> {
    let help = run(&["check", "paxos-node", "--help"]).stdout;
    let mut names = Vec::new();
    let mut searching = false;
    for line in help.lines() {
        if !line.starts_with(' ') && !line.is_empty() {
            searching = HEADINGS.iter().any(|heading| line.starts_with(heading));
        } else if let Some(option) = line.trim_start().strip_prefix("--").filter(|_| searching) {
            names.extend(option.split([' ', '=']).next().map(str::to_string));
        }
    }
    names
}

#[test]
fn the_list_has_every_option() {
    let listed = listed();
    assert!(listed.len() > 20, "{listed:?}");
    for name in &listed {
        let option = format!("--{name}");
        let known = HEEDED.iter().any(|(tried, _)| tried.split(' ').next() == Some(&option));
        assert!(known || OTHERS.contains(&name.as_str()), "nothing is known of {option}");
    }
}

#[test]
fn every_option_is_heeded_or_refused_by_every_engine() {
    let state = scratch("options-state.json");
    let trace = scratch("options-trace.json");
    let (state, trace) = (state.to_str().expect("text"), trace.to_str().expect("text"));
    assert_eq!(run(&["check", "paxos-node", "--property", "nothing-chosen", "--trace", trace]).code, 1);
    assert_eq!(run(&["snapshot", trace, "--output", state]).code, 0);
    for (number, (option, engines)) in HEEDED.into_iter().enumerate() {
        for engine in ENGINES {
            let store = scratch(&format!("options-{number}-{engine}.store"));
            let file = if option.contains("--from") { state } else { store.to_str().expect("text") };
            let ran = check(engine, &option.replace("FILE", file));
            let heeded = engines.contains(&engine);
            assert_eq!(ran.code != 64, heeded, "{option} with {engine}: {}{}", ran.stdout, ran.stderr);
            if heeded {
                assert!([0, 1, 2, 3].contains(&ran.code), "{option} with {engine}: {}", ran.stderr);
            } else {
                ran.assert_error(64, "");
            }
            _ = std::fs::remove_file(store);
        }
    }
}

#[test]
fn a_refusal_says_what_would_be_heeded() {
    let cases = [
        (
            "b-dfs",
            "--threads 2",
            "--threads does not go with --engine b-dfs: expected --engine explore or local",
        ),
        (
            "explore",
            "--stubborn-split none --reduce none",
            "--stubborn-split is about stubborn sets, which are not used",
        ),
        (
            "explore",
            "--stubborn-from first --channel set",
            "with set channels steps of different processes do not commute",
        ),
        ("components", "--stubborn-from first", "--stubborn-from is about stubborn sets, which are not used"),
        (
            "explore",
            "--classes states",
            "--combine-by does not go with --engine explore: expected --engine local",
        ),
        (
            "explore",
            "--copies-max 0 --channel fifo",
            "--copies-max: with fifo channels a message that is left out",
        ),
        (
            "b-dfs-memo",
            "--copies-max 0 --channel mailbox",
            "--copies-max: with mailbox channels a message that is left out",
        ),
        (
            "local",
            "--duplicates 0 --channel blocking:2",
            "--copies-max: with blocking:2 channels a message that is left out",
        ),
        (
            "explore",
            "--copies-max 2 --channel overwriting:1",
            "--copies-max: with overwriting:1 channels a message that is left out",
        ),
        (
            "explore",
            "--copies-max 0 --delivery in-steps-all",
            "--copies-max: a process that must consume all that was delivered",
        ),
    ];
    for (engine, options, needle) in cases {
        check(engine, options).assert_error(64, needle);
    }
    assert_eq!(check("b-dfs", "--threads 1 --depth-max 3").code, check("b-dfs", "--depth-max 3").code);
}
