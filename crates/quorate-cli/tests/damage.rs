//! Files that are damaged: every byte of a small store, trace and snapshot is changed once, and each time the file is
//! refused, with one error, or the answer is the same.
//!
//! The program runs in here: a process for each byte would take minutes.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use quorate::program::{Failure, Program};

use crate::program::scratch;

/// The program with one protocol: its command line is made for every byte.
fn with(protocol: &str) -> Program {
    Program::new(quorate_zoo::protocols().into_iter().filter(|known| known.name() == protocol))
}

fn run(program: &Program, words: &[&str]) -> Result<u8, Failure> {
    let line: Vec<OsString> = ["quorate"].iter().chain(words).map(OsString::from).collect();
    program.run(&line)
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

/// Changes a bit of each byte of a file, another one from byte to byte, and asks each time. Of the answers some may be
/// the expected one; the others are one kind of error. Returns how many bytes there are, and how many were refused.
fn refused<T: PartialEq + std::fmt::Debug>(
    file: &Path,
    expected: &T,
    ask: impl Fn() -> Result<T, Failure>,
) -> (usize, usize) {
    let whole = std::fs::read(file).expect("it is there");
    assert_eq!(ask().as_ref(), Ok(expected), "as it is");
    let whole_again = std::fs::read(file).expect("it is there");
    assert_eq!(whole_again, whole, "asking does not change it");
    let mut refused = 0;
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 1 << (at % 8);
        std::fs::write(file, &damaged).expect("there is room");
        match ask() {
            Err(Failure::Data(error)) => {
                assert!(!error.contains('\n') && !error.contains("bug in quorate"), "byte {at}: {error}");
                refused += 1;
            }
            other => assert_eq!(other.as_ref(), Ok(expected), "byte {at}, bit {}", at % 8),
        }
    }
    std::fs::write(file, &whole).expect("there is room");
    (whole.len(), refused)
}

#[test]
fn a_damaged_store_is_refused() {
    let program = with("accumulator");
    let store = scratch("damaged.store");
    let line = ["accumulator", "--engine", "components", "--quiet", "--store", text(&store), "--resume"];
    let ask = || {
        let report = program.answer(&line)?.report;
        let counts = report
            .components()
            .map(|counts| (counts.local_traces, counts.global_skeletons, counts.global_traces));
        Ok((report.verdict.word(), counts))
    };
    let found = ask().expect("an answer");
    assert_eq!(found.0, "holds");
    let (bytes, refused) = refused(&store, &found, ask);
    println!("a store of {bytes} bytes, {refused} refused");
    assert_eq!(refused, bytes, "all of it counts");
    std::fs::remove_file(store).expect("it is there");
}

/// A trace in a file, and its protocol.
fn trace(file: &str) -> (Program, PathBuf) {
    let (program, file) = (with("two-phase-commit"), scratch(file));
    let bug = ["two-phase-commit", "--bug", "commit-on-majority", "--quiet"];
    let answer = program.answer(&bug).expect("an answer");
    assert_eq!(answer.report.verdict.word(), "violated");
    std::fs::write(&file, answer.json).expect("there is room");
    (program, file)
}

/// But for the line break at the end, all of it counts.
#[test]
fn a_damaged_trace_is_refused() {
    let (program, file) = trace("damaged.json");
    let (bytes, refused) = refused(&file, &1, || run(&program, &["replay", text(&file)]));
    println!("a trace of {bytes} bytes, {refused} refused");
    assert!(refused + 3 >= bytes, "{refused} of {bytes} refused");
    std::fs::remove_file(file).expect("it is there");
}

#[test]
fn a_damaged_snapshot_is_refused() {
    let (program, file) = trace("damaged-trace.json");
    let state = scratch("damaged-state.json");
    let step = ["snapshot", text(&file), "--step", "2", "--output", text(&state)];
    assert_eq!(run(&program, &step), Ok(0));
    let line = ["two-phase-commit", "--quiet", "--from", text(&state)];
    let ask = || {
        let report = program.answer(&line)?.report;
        Ok((report.verdict.word(), report.coverage.states, report.coverage.transitions))
    };
    let found = ask().expect("an answer");
    let (bytes, refused) = refused(&state, &found, ask);
    println!("a snapshot of {bytes} bytes, {refused} refused");
    assert!(refused + 3 >= bytes, "{refused} of {bytes} refused");
    for file in [file, state] {
        std::fs::remove_file(file).expect("it is there");
    }
}

#[test]
fn a_file_that_was_cut_off_is_refused() {
    let (program, file) = trace("cut.json");
    let whole = std::fs::read(&file).expect("it is there");
    for length in (0..whole.len() - 1).step_by(7) {
        std::fs::write(&file, &whole[..length]).expect("there is room");
        let cut = run(&program, &["replay", text(&file)]);
        assert!(matches!(cut, Err(Failure::Data(_))), "{length} of {} bytes: {cut:?}", whole.len());
    }
    std::fs::remove_file(file).expect("it is there");
}
