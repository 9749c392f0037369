//! The README is right: its commands print what it shows, its example is the one of the crate's
//! front page, its picture is drawn from the run that it speaks of, its two commands exist.
//!
//! After a change that makes the run look different, `QUORATE_REWRITE=1 cargo test -p quorate-cli --test main
//! -- readme` draws the picture again and corrects what is shown.

use crate::page::{Page, rewriting, root};
use crate::program::{self, run, scratch};

const PICTURE: &str = "docs/pictures/always-accept.svg";

/// What a newcomer types in front of the program's own words.
const RUN: &str = "cargo run --release -- ";

/// Commands that no test can run within itself. Each is a task of `xtask`, or the address of the project.
const TASKS: [&str; 2] = ["cargo xtask test", "cargo xtask bench"];

fn file(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn commands_print_what_is_shown() {
    let mut page = Page::read("README.md");
    let checked = page.compare_all(|command| {
        let Some(words) = command.strip_prefix(RUN) else {
            assert!(TASKS.contains(&command), "unknown: {command}");
            return None;
        };
        let mut command = program::command(&words.split_whitespace().collect::<Vec<_>>());
        // Where the files go that a reader's commands write.
        let ran = command.current_dir(env!("CARGO_TARGET_TMPDIR")).output().expect("the program starts");
        let code = ran.status.code();
        assert!(
            code.is_some_and(|code| code < 64),
            "{words}: {code:?}, {}",
            String::from_utf8_lossy(&ran.stderr)
        );
        Some(String::from_utf8_lossy(&ran.stdout).to_string())
    });
    assert!(checked >= 2, "the README runs the program only {checked} times");
    page.finish();
}

#[test]
fn the_two_commands_are_there() {
    let readme = file("README.md");
    assert!(readme.contains(&format!("\n$ {RUN}check paxos\n")) && readme.contains("\n$ cargo xtask test\n"));
}

#[test]
fn the_example_is_that_of_the_front_page() {
    let front_page = file("crates/quorate/src/lib.rs");
    let front_page: String = front_page
        .lines()
        .map_while(|line| line.strip_prefix("//!"))
        .flat_map(|line| [line.strip_prefix(' ').unwrap_or(line), "\n"])
        .collect();
    let page = Page::read("README.md");
    let examples: Vec<String> = page
        .blocks()
        .into_iter()
        .filter(|block| block.language == "rust")
        .map(|block| page.text(block.lines))
        .collect();
    assert_eq!(examples.len(), 1, "the README has one example");
    assert!(front_page.contains(&examples[0]), "the example of the README is not in:\n{front_page}");
}

#[test]
fn the_picture_is_drawn_from_the_run() {
    let path = scratch("always-accept.svg");
    let ran = run(&["check", "paxos", "--bug", "always-accept", "--svg", path.to_str().expect("text")]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let drawn = std::fs::read_to_string(&path).expect("a picture");
    std::fs::remove_file(path).expect("the picture was there");
    if rewriting() {
        std::fs::write(root().join(PICTURE), &drawn).expect("the picture can be written");
    }
    assert!(file("README.md").contains(&format!("]({PICTURE})")), "the README shows the picture");
    assert!(file(PICTURE) == drawn, "{PICTURE} is out of date: draw it again with QUORATE_REWRITE=1");
}
