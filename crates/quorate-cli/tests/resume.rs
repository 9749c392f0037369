//! `--store` and `--resume`: a search that is killed at any moment goes on, and comes to the same answer; and what is
//! said of a store that does not fit.

use std::path::Path;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::program::{command, run, scratch};

/// The exit codes of a command line that cannot be followed, and of a file that is not what it should be.
const USAGE: i32 = 64;
const DATA: i32 = 65;

/// What must be the same however often the search was killed.
const COUNTS: [&str; 5] = ["verdict", "local_traces", "global_skeletons", "global_traces", "exit"];

type Counts = Vec<(&'static str, serde_json::Value)>;

fn counts(stdout: &[u8], code: Option<i32>) -> Counts {
    let answer: serde_json::Value = serde_json::from_slice(stdout).expect("JSON");
    let exit = serde_json::Value::from(code);
    COUNTS
        .iter()
        .map(|name| (*name, if *name == "exit" { exit.clone() } else { answer[*name].clone() }))
        .collect()
}

fn with_store<'w>(search: &[&'w str], store: &'w Path) -> Vec<&'w str> {
    [
        search,
        &[
            "--engine",
            "components",
            "--json",
            "--quiet",
            "--store",
            store.to_str().expect("text"),
            "--resume",
        ],
    ]
    .concat()
}

/// Runs a search that keeps what it learns to the end.
fn finish(search: &[&str], store: &Path) -> (Counts, u64) {
    let ran = command(&with_store(search, store)).output().expect("the program starts");
    let errors = String::from_utf8_lossy(&ran.stderr);
    let answer: serde_json::Value =
        serde_json::from_slice(&ran.stdout).unwrap_or_else(|_| panic!("{errors}"));
    (counts(&ran.stdout, ran.status.code()), answer["states"].as_u64().expect("a number"))
}

/// Starts a search and kills it after some time; `false` if it had come to its end by then.
fn kill_after(search: &[&str], store: &Path, time: Duration) -> bool {
    let mut command = command(&with_store(search, store));
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program starts");
    sleep(time);
    let is_over = child.try_wait().expect("a child").is_some();
    child.kill().expect("it can be killed, or is over");
    child.wait().expect("a child");
    !is_over
}

/// A number below 1000 that looks as if it came by chance.
fn chance(seed: &mut u64) -> u32 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    u32::try_from((*seed >> 33) % 1_000).expect("a small number")
}

/// Kills a search again and again, each time going on from what it has kept, and then lets it come to its end.
fn killed_at_random(search: &[&str], kills: u32, seed: &mut u64) {
    let whole = scratch(&format!("whole-{seed}.store"));
    let begin = Instant::now();
    let (expected, places) = finish(search, &whole);
    let time = begin.elapsed();
    assert!(places > 0);
    let (again, places_again) = finish(search, &whole);
    assert_eq!(again, expected);
    assert!(places_again < places / 2, "almost nothing is left to do: {places_again} of {places}");
    std::fs::remove_file(&whole).expect("the store is there");
    let mut killed = 0;
    while killed < kills {
        let store = scratch(&format!("killed-{seed}.store"));
        // Each store is killed several times, the sooner the more often.
        while killed < kills && kill_after(search, &store, time * chance(seed) / 2_000) {
            killed += 1;
        }
        let (found, _) = finish(search, &store);
        assert_eq!(found, expected, "after {killed} kills");
        std::fs::remove_file(&store).expect("the store is there");
    }
}

#[test]
fn a_search_that_is_killed_at_random_moments_comes_to_the_same_answer() {
    let mut seed = 20_261_116;
    killed_at_random(&["check", "pam", "--ledger", "in-steps"], 14, &mut seed);
    // Where runs are enumerated, places at which components rest are found again as well.
    let seated = ["check", "dining-philosophers", "--philosophers", "10", "--components", "2"];
    killed_at_random(&seated, 3, &mut seed);
    let at_two_tables = ["check", "dining-philosophers", "--philosophers", "12", "--components", "2x2"];
    killed_at_random(&at_two_tables, 3, &mut seed);
    killed_at_random(&["check", "paxos", "--channel", "fifo", "--stale", "keep"], 3, &mut seed);
}

/// Killed while it makes its file, a search leaves something that is no store yet.
#[test]
fn what_a_kill_at_the_very_beginning_leaves_is_no_obstacle() {
    let store = scratch("begun.store");
    let unfinished = scratch("begun.store.new");
    std::fs::write(&unfinished, "half a store").expect("a file");
    let (found, _) = finish(&["check", "accumulator"], &store);
    assert_eq!(found[0].1, "holds");
    assert!(!unfinished.exists());
    std::fs::remove_file(&store).expect("the store is there");
}

#[test]
fn a_violation_is_found_again() {
    let store = scratch("violated.store");
    let search = ["check", "pam", "--bug", "lost-state"];
    let (first, _) = finish(&search, &store);
    let (again, _) = finish(&search, &store);
    assert_eq!(first[0].1, "violated");
    assert_eq!(again[0], first[0]);
    std::fs::remove_file(&store).expect("the store is there");
}

#[test]
fn stores_that_do_not_fit_are_refused() {
    let store = scratch("fits.store");
    let path = store.to_str().expect("text");
    let check = ["check", "accumulator", "--engine", "components", "--store", path];
    assert_eq!(run(&check).code, 0);
    let refused = |arguments: &[&str], expected: &str| run(arguments).assert_error(USAGE, expected);
    refused(&check, "the file exists: expected --resume");
    refused(&[&check[..], &["--resume", "--servers", "3"]].concat(), "it is of another search");
    refused(&["check", "accumulator", "--engine", "components", "--resume"], "expected --store FILE");
    refused(
        &["check", "accumulator", "--store", path],
        "--store does not go with --engine explore: expected --engine components",
    );
    assert_eq!(run(&[&check[..], &["--resume"]].concat()).code, 0, "nothing was lost by that");
    std::fs::write(&store, "this is no store").expect("a file");
    run(&[&check[..], &["--resume"]].concat()).assert_error(DATA, "it is no store of a search");
    assert_eq!(std::fs::read_to_string(&store).expect("a file"), "this is no store");
    std::fs::remove_file(&store).expect("the store is there");
    refused(
        &["check", "accumulator", "--engine", "components", "--store", "no/such/folder/x.store"],
        "No such file or directory",
    );
}
