//! The page on components is right: its commands print what it shows, and its lines of Rust are run here.

use std::path::Path;

use crate::page::Page;
use crate::program;
use quorate::ProcessId;
use quorate::engine::components::Partition;
use quorate::engine::{Components, Engine, Search};
use quorate::model::Model;

const RUN: &str = "cargo run --release -- ";

#[test]
fn commands_print_what_is_shown() {
    let mut page = Page::read("docs/components.md");
    // Where the files go that a reader's commands write. A store of an earlier test would be refused.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("dir-page");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).expect("what an earlier test left can be removed");
    }
    std::fs::create_dir_all(&folder).expect("there is room for a folder");
    let run = |command: &str| {
        let words = command.strip_prefix(RUN).unwrap_or_else(|| panic!("unknown: {command}"));
        let mut command = program::command(&words.split_whitespace().collect::<Vec<_>>());
        let ran = command.current_dir(&folder).output().expect("the program starts");
        Some(String::from_utf8_lossy(&ran.stdout).to_string() + &String::from_utf8_lossy(&ran.stderr))
    };
    assert_eq!(page.compare_all(run), 12);
    page.finish();
}

/// How many runs there are, found as on the page.
fn seated(model: &Model) -> Option<u128> {
    let ids: Vec<ProcessId> = model.ids().collect();
    let (philosophers, forks) = ids.split_at(ids.len() / 2);
    let seats: Vec<Vec<ProcessId>> =
        philosophers.iter().zip(forks).map(|(philosopher, fork)| vec![*philosopher, *fork]).collect();
    let components = Partition::groups(model, &seats).expect("everybody has one seat");
    let report = Components::default().partition(components).run(model, &Search::default(), &mut ());
    report.assert_holds_without_faults();
    report.components()?.global_traces
}

#[test]
fn the_lines_of_rust_are_these() {
    let page = Page::read("docs/components.md");
    let blocks = page.blocks();
    let lines: Vec<String> = blocks
        .into_iter()
        .filter(|block| block.language == "rust")
        .flat_map(|block| {
            page.text(block.lines).lines().map(|line| format!("    {line}\n")).collect::<Vec<_>>()
        })
        .collect();
    assert!(!lines.is_empty() && include_str!("dir_page.rs").contains(&lines.concat()), "{}", lines.concat());
    let protocols = quorate_zoo::protocols();
    let dining = protocols.iter().find(|protocol| protocol.name() == "dining-philosophers");
    let dining = dining.expect("the zoo has philosophers");
    let arguments = dining.arguments([], None).expect("three philosophers");
    assert_eq!(seated(&dining.instance(&arguments).expect("a system")), Some(6));
}
