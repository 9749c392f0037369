//! The tables of the papers: every row can be run, the verdicts are those of the papers, and what cannot be run or
//! does not finish is said.

use crate::program::{self, run};
use serde_json::Value;

fn rows(words: &[&str]) -> Vec<Value> {
    let ran = run(&[words, &["--json", "--quiet"]].concat());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{words:?}");
    ran.json()["rows"].as_array().expect("rows").clone()
}

fn row<'r>(rows: &'r [Value], group: &str, name: &str) -> &'r Value {
    let found = rows.iter().find(|row| row["group"] == group && row["row"] == name);
    found.unwrap_or_else(|| panic!("no row {group}: {name}"))
}

fn states(row: &Value) -> u64 {
    row["here"]["figures"]["states"].as_u64().unwrap_or_else(|| panic!("no states in {row}"))
}

#[test]
fn every_verdict_of_the_crash_table_is_that_of_the_paper() {
    let rows = rows(&["tables", "crash"]);
    assert_eq!(rows.len(), 20);
    for row in &rows {
        assert_eq!(row["agrees"], true, "{row}");
        let verdict = if row["published"]["result"] == "OK" { "holds" } else { "violated" };
        assert_eq!(row["here"]["result"], verdict, "{row}");
    }
    // Each crash-prone process about doubles the states, here as there.
    let paxos = |crashes: &str| row(&rows, "Paxos (6 processes): safety", crashes);
    assert_eq!(paxos("implicit")["published"]["figures"]["states"], 548_961);
    for (name, states, least, most) in [
        ("explicit, 1 crash", 17_198, 1.9, 2.1),
        ("explicit, 2 crashes", 34_205, 3.8, 4.2),
        ("explicit, 3 crashes", 68_042, 7.6, 8.4),
    ] {
        let (row, ratio) = (paxos(name), paxos(name)["here"]["ratio"].as_f64().expect("a ratio"));
        assert_eq!(row["here"]["figures"]["states"], states, "{name}");
        assert!(ratio > least && ratio < most, "{name}: {ratio}");
        assert!(row["published"]["ratio"].as_f64() > Some(least), "{row}");
    }
}

#[test]
fn delivery_in_steps_takes_many_times_the_states() {
    let rows = rows(&["tables", "m-models", "--rows", "erroneous", "--time-max", "10m"]);
    assert_eq!(rows.len(), 6);
    let group = "Paxos, 2 leaders, 3 acceptors: erroneous safety (chosen = accepted)";
    for model in ["MP", "M-MP"] {
        let plain = row(&rows, group, model);
        assert_eq!((&plain["over"], &plain["published"]["result"]), (&"M".into(), &"Out of mem.".into()));
        let symmetric = row(&rows, group, &format!("{model} symm."));
        assert!(symmetric["published"]["ratio"].as_f64() > Some(9.0), "{symmetric}");
        for row in [plain, symmetric] {
            assert_eq!((&row["here"]["result"], &row["agrees"]), (&"violated".into(), &true.into()));
            assert!(row["here"]["ratio"].as_f64() > Some(9.0), "{row}");
        }
    }
    // Symmetry takes about ten times fewer, here as there.
    for model in ["M", "MP", "M-MP"] {
        let (plain, symmetric) = (row(&rows, group, model), row(&rows, group, &format!("{model} symm.")));
        assert!(states(plain) > 9 * states(symmetric), "{plain} {symmetric}");
    }
}

#[test]
fn a_row_that_does_not_finish_says_so() {
    let limits = ["--states-max", "150000", "--time-max", "10m"];
    let rows = rows(&[&["tables", "m-models", "--rows", "safety: m symm"][..], &limits].concat());
    assert_eq!(rows.len(), 3);
    let verified = row(&rows, "Paxos, 2 leaders, 3 acceptors: safety", "M symm.");
    assert_eq!((states(verified), &verified["agrees"]), (123_689, &true.into()));
    for group in [
        "Faulty Paxos (always accept proposals), 2 leaders, 3 acceptors: safety",
        "Paxos, 2 leaders, 4 acceptors: safety",
    ] {
        let row = row(&rows, group, "M symm.");
        assert_eq!((&row["here"]["result"], &row["agrees"]), (&"out of states".into(), &Value::Null));
    }
}

#[test]
fn every_verdict_of_the_refinement_table_is_that_of_the_paper() {
    let rows = rows(&["tables", "refinement", "--time-max", "10m"]);
    assert_eq!(rows.len(), 8 * 12);
    for row in &rows {
        assert_eq!(row["agrees"], true, "{row}");
    }
    for group in rows.iter().filter(|row| row["row"] == "auto") {
        let name = group["group"].as_str().expect("a name");
        let states = |row_name: &str| states(row(&rows, name, row_name));
        // A search that ends at the first bug may meet it earlier or later; a whole one is never larger for a
        // finer split.
        if group["here"]["result"] == "holds" {
            let finer = [
                ("no quorum, unsplit", "quorum, unsplit"),
                ("quorum, unreduced", "quorum, unsplit"),
                ("quorum, unsplit", "reply-split"),
                ("quorum, unsplit", "quorum-split"),
                ("reply-split", "combined-split"),
                ("quorum-split", "combined-split"),
                ("combined-split", "split auto"),
                ("split auto", "stubborn, inert"),
                ("inert", "beliefs, inert"),
            ];
            for (coarse, fine) in finer {
                assert!(states(coarse) >= states(fine), "{name}: {coarse}, {fine}");
            }
        }
        assert!(states("auto") < states("split auto"), "{name}");
        assert!(states("auto") < states("quorum, unreduced"), "{name}");
    }
}

#[test]
fn paxos_shrinks_along_the_refinement_table() {
    let rows = rows(&["tables", "refinement", "--rows", "paxos (2,3,1): consensus", "--time-max", "10m"]);
    let paxos = |name: &str| row(&rows, "Paxos (2,3,1): consensus", name);
    for (name, exactly) in [("quorum, unreduced", 27_410), ("inert", 1_034), ("beliefs, inert", 625)] {
        assert_eq!(states(paxos(name)), exactly, "{name}");
    }
    assert!(states(paxos("stubborn, inert")) <= 460);
    assert!(states(paxos("auto")) <= 130);
    // Counting message by message takes more than twice the states, here as there; the combined split takes fewer.
    for side in ["published", "here"] {
        assert!(paxos("no quorum, unsplit")[side]["ratio"].as_f64() > Some(2.0), "{side}");
        let combined = paxos("combined-split")[side]["ratio"].as_f64().expect("a ratio");
        assert!(combined < 0.9, "{side}: {combined}");
    }
    assert_eq!(paxos("combined-split")["published"]["figures"]["states"], 548_061);
    assert_eq!(paxos("auto")["published"]["figures"]["states"], Value::Null);
}

#[test]
fn people_read_both_sides_and_follow_the_rows() {
    let ran = run(&["tables", "crash", "--rows", "paxos (6"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for shown in [
        "absolute counts cannot be reproduced, verdicts and ratios can.\n",
        "\nPaxos (6 processes): safety\n",
        "  explicit, 3 crashes  11,843,034  21.57     83h  OK       │  68,042   7.87  ",
        "\n7 rows: 7 with the published verdict, 0 with another\n",
    ] {
        assert!(ran.stdout.contains(shown), "{shown} in {}", ran.stdout);
    }
    assert!(ran.stderr.starts_with("row 1 of 7: Paxos (6 processes): safety: implicit\n"), "{}", ran.stderr);
    assert_eq!(ran.stderr.lines().filter(|line| line.starts_with("row ")).count(), 7, "{}", ran.stderr);
}

#[test]
fn the_figures_of_local_model_checking() {
    let directory = program::scratch("lmc-figures");
    let path = directory.to_str().expect("a path");
    let ran = run(&["tables", "lmc", "--json", "--quiet", "--svg", path]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let json = ran.json();
    let here = |name: &str| {
        let facts = json["facts"].as_array().expect("facts");
        let fact = facts.iter().find(|fact| fact["fact"] == name);
        fact.and_then(|fact| fact["here"].as_f64()).unwrap_or_else(|| panic!("no fact {name}"))
    };
    let counts = ["B-DFS: events in a run", "B-DFS: transitions", "LMC-OPT: combined states"];
    assert_eq!(counts.map(|name| here(name).to_string()), ["22", "157752", "0"]);
    assert!(here("LMC: transitions") <= 1_186.0 && here("local: transitions") <= 1_186.0);
    // How often handlers run, which is what the times of the paper stand for.
    assert!(here("B-DFS: transitions") > 100.0 * here("LMC: transitions"), "{}", ran.stdout);
    assert!(here("B-DFS: transitions") > 100.0 * here("local: transitions"), "{}", ran.stdout);
    for series in json["series"].as_array().expect("series") {
        // With two proposals the published algorithm does not come to an end.
        let expected = if series["series"] == "LMC-OPT, two proposals" { Value::Null } else { true.into() };
        assert_eq!(series["agrees"], expected, "{series}");
    }
    // Deeper searches see more, up to where nothing is left.
    let series = |name: &str| {
        let all = json["series"].as_array().expect("series");
        let points = all.iter().find(|series| series["series"] == name).expect("a series")["points"].clone();
        points.as_array().expect("points").clone()
    };
    let states = |point: &Value| point["figures"]["/states"].as_f64().expect("states");
    let states: Vec<f64> = series("B-DFS").iter().map(states).collect();
    assert!(states.is_sorted() && states.len() == 22 && states[21].to_string() == "26332", "{states:?}");
    for figure in ["figure-10", "figure-11", "figure-12", "figure-13"] {
        let picture = std::fs::read_to_string(directory.join(format!("{figure}.svg"))).expect("a picture");
        assert!(picture.starts_with("<svg ") && picture.matches("<circle").count() > 20, "{figure}");
    }
    std::fs::remove_dir_all(directory).expect("the pictures were there");
}

#[test]
fn one_series_of_a_figure_as_a_page() {
    let ran = run(&["tables", "lmc", "--rows", "lmc-opt", "--states-max", "120", "--quiet"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let page = ran.stdout.split_whitespace().collect::<Vec<&str>>().join(" ");
    for shown in [
        "Figure 10: time depth LMC-OPT 1 ",
        "LMC: transitions 1,186 588 local: transitions not run",
        "B-DFS: transitions 157,332 not run",
        "LMC-OPT, buggy does not come to an end: the limit of 120 states was reached",
        "LMC-OPT, two proposals does not come to an end",
    ] {
        assert!(page.contains(shown), "{shown:?} in {page}");
    }
}
