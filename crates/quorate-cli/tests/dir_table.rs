//! Table 2 of the DEMETER paper: exact counts here beside the published figures, as many runs as the plain enumeration
//! finds where it comes to its end, and what is said where it does not. Times are only printed.

use crate::program::run;
use serde_json::Value;

/// Name, local traces, global skeletons, global traces, and whether there are so few that all are gone through.
const ROWS: [(&str, u64, u64, u64, bool); 9] = [
    ("Accumulator", 14, 2, 18, true),
    ("DPhi-2", 512, 7, 65_534, false),
    ("DPhi-3", 768, 25, 16_777_214, false),
    ("Pam-2", 48, 21, 51, true),
    ("Pam-3", 824, 5_476, 164_328, false),
    ("Pastry-2", 26, 5, 75, true),
    ("Pastry-3", 21_403, 5_870, 8_172_939, false),
    ("Chord-2", 120, 3, 1_019, true),
    ("Chord-3", 54_673, 76, 101_580_210, false),
];

#[test]
fn counts_are_exact_and_those_of_the_plain_enumeration() {
    let ran = run(&["tables", "dir", "--json", "--quiet"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let answer = ran.json();
    let rows = answer["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), ROWS.len());
    for (row, (name, local, skeletons, global, is_small)) in rows.iter().zip(ROWS) {
        let here = &row["here"];
        assert_eq!(
            (&row["row"], &here["local_traces"], &here["global_skeletons"], &row["global_traces"]),
            (&name.into(), &local.into(), &skeletons.into(), &global.into())
        );
        let runs = row["plain"]["runs"].as_u64().expect("runs");
        if is_small {
            assert_eq!((&row["plain"]["is_whole"], &row["agrees"]), (&true.into(), &true.into()), "{name}");
            assert_eq!(runs, global, "{name}");
        } else {
            assert!(runs > 0 && runs <= global, "{name}: {runs}");
            assert_ne!(row["agrees"], false, "{name}");
        }
        let figure = |name: &str| here[name].as_f64().unwrap_or_else(|| panic!("no {name} in {row}"));
        let speed_up = figure("reduction_ratio") / figure("rt_ratio");
        assert!((figure("speed_up") / speed_up - 1.0).abs() < 1e-9, "{row}");
    }
    let published = &rows[8]["published"];
    let figures = ["reduction_ratio", "global_skeletons", "local_traces", "rt_ratio", "speed_up"]
        .map(|name| &published[name]);
    assert_eq!(figures, [&Value::from(1_587.0), &1_326.into(), &17_384.into(), &2.9.into(), &547.2.into()]);
}

#[test]
fn people_read_both_sides() {
    let ran = run(&["tables", "dir", "--rows", "pastry-2"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let page = ran.stdout.split_whitespace().collect::<Vec<&str>>().join(" ");
    for shown in [
        "Pastry-2 4.9 48 713 1.5 3.3 │ 2.9 5 26 ",
        " all 75 ",
        "MPS and BDB of the paper, products of tens of thousands of lines, have no counterpart here.",
        "1 rows: 1 with as many runs as the plain enumeration has found, 0 with another number, 0 where it was stopped",
    ] {
        assert!(page.contains(shown), "{shown:?} in {page}");
    }
    assert!(ran.stderr.starts_with("row 1 of 1: Pastry-2\n"), "{}", ran.stderr);
}

#[test]
fn what_a_limit_stops_has_no_ratio() {
    let ran = run(&["tables", "dir", "--rows", "pam-3", "--states-max", "100", "--json", "--quiet"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let row = &ran.json()["rows"][0];
    for figure in ["reduction_ratio", "global_skeletons", "local_traces", "rt_ratio", "speed_up"] {
        assert_eq!(row["here"][figure], Value::Null, "{figure}");
    }
    assert_eq!((&row["agrees"], &row["plain"]["is_whole"]), (&Value::Null, &false.into()));
    // A place is a run, where properties see nothing on the way to its end; the one too many is the last.
    assert!(row["plain"]["runs"].as_u64().is_some_and(|runs| runs > 90 && runs < 102), "{row}");
}

#[test]
fn what_cannot_be_shown_is_refused() {
    run(&["tables", "dir", "--rows", "bdb"]).assert_error(
        64,
        "no row of table 'dir' has 'bdb' in its name: expected a part of Accumulator; DPhi-2",
    );
    run(&["tables", "dir", "--svg", "pictures"])
        .assert_error(64, "--svg draws figures, and 'dir' is a table");
}
