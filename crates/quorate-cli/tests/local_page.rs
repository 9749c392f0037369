//! The page on local states is right: its commands, one after the other, print what it shows.

use crate::page::Page;
use crate::program;

const RUN: &str = "cargo run --release -- ";

#[test]
fn commands_print_what_is_shown() {
    let mut page = Page::read("docs/local.md");
    let folder = program::scratch("local-page");
    std::fs::create_dir_all(&folder).expect("a folder");
    let run = |command: &str| {
        let words = command.strip_prefix(RUN).unwrap_or_else(|| panic!("unknown: {command}"));
        let mut command = program::command(&words.split_whitespace().collect::<Vec<_>>());
        let ran = command.current_dir(&folder).output().expect("the program starts");
        Some(String::from_utf8_lossy(&ran.stdout).to_string() + &String::from_utf8_lossy(&ran.stderr))
    };
    assert_eq!(page.compare_all(run), 4);
    page.finish();
    std::fs::remove_dir_all(folder).expect("the folder was there");
}
