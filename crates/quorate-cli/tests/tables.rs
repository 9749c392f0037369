//! The tables of the papers: every row can be run, the verdicts are those of the papers, and what cannot be run or
//! does not finish is said.

mod program;

use program::run;
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
    let rows = rows(&["tables", "m-models", "--rows", "erroneous"]);
    assert_eq!(rows.len(), 6);
    let group = "Paxos, 2 leaders, 3 acceptors: erroneous safety (chosen = accepted)";
    for model in ["MP", "M-MP"] {
        let plain = row(&rows, group, model);
        assert_eq!((&plain["here"]["result"], &plain["agrees"]), (&"violated".into(), &true.into()));
        assert_eq!((&plain["over"], &plain["published"]["result"]), (&"M".into(), &"Out of mem.".into()));
        assert!(plain["here"]["ratio"].as_f64() > Some(9.0), "{plain}");
        let symmetric = row(&rows, group, &format!("{model} symm."));
        assert_eq!(symmetric["here"]["result"], "needs --reduce symmetry");
        assert!(symmetric["published"]["ratio"].as_f64() > Some(9.0), "{symmetric}");
    }
}

#[test]
fn a_row_that_does_not_finish_says_so() {
    let rows = rows(&["tables", "m-models", "--states-max", "2000000", "--time-max", "5m"]);
    assert_eq!(rows.len(), 20);
    let safety = "Paxos, 2 leaders, 3 acceptors: safety";
    let m = row(&rows, safety, "M");
    assert_eq!((&m["here"]["figures"]["states"], &m["agrees"]), (&1_413_905.into(), &true.into()));
    let mp = row(&rows, safety, "MP");
    assert_eq!((&mp["here"]["result"], &mp["agrees"]), (&"out of states".into(), &Value::Null));
    assert_eq!(row(&rows, "Paxos, 2 leaders, 4 acceptors: safety", "M")["here"]["result"], "out of states");
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
