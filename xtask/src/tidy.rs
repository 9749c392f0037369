//! Style as a test: rules that no linter of the language knows.
//!
//! From: the `tidy` of `TigerBeetle`. Looks at every file that git tracks or would track. A rule returns the faults
//! it finds in one file; a pattern that would match this very file is written in two halves.
//! Held by: the tests below, one broken sample for each rule.

mod chain;
mod options;
mod paths;
mod references;
mod source;
mod test_files;

use std::path::Path;

use crate::failure::Failure;
use crate::run::{output, program, root, say};
use chain::Graph;

/// A file past this is two things.
const LINES_MAX: usize = 700;

/// What must not stand in Rust source, and what to do instead.
const UNFINISHED: &[(&str, &str)] = &[
    (concat!("todo", "!("), "finish it"),
    (concat!("unimplemented", "!("), "finish it"),
    (concat!("dbg", "!("), "take it out"),
    (concat!("#[ig", "nore"), "a test that does not run holds nothing"),
];

/// Beginnings of paths that exist on one machine only.
const MACHINE_PATHS: &[&str] =
    &[concat!("/ho", "me/"), concat!("/ro", "ot/"), concat!("/Us", "ers/"), concat!("/wo", "rk/")];

/// A file that is checked: its path from the root, with forward slashes, and its text.
struct File<'a> {
    path: &'a str,
    text: &'a str,
}

const RULES: &[fn(&File<'_>) -> Vec<String>] = &[
    length,
    header,
    unfinished,
    machine_paths,
    decision_number,
    links,
    trailing_space,
    references::references,
    options::options,
    test_files::test_files,
    chain::shown_in_architecture,
];

/// Checks every file of the repository.
pub(crate) fn run() -> Result<(), Failure> {
    let files = files()?;
    let mut faults = Vec::new();
    for (path, text) in &files {
        let file = File { path, text };
        faults.extend(RULES.iter().flat_map(|rule| rule(&file)).map(|fault| format!("{path}{fault}")));
    }
    faults.extend(graph(&files).faults());
    if faults.is_empty() { Ok(()) } else { Err(Failure::Tidy(faults)) }
}

/// Prints which modules of the library may use which, the order of the files inside some of them, and what breaks it.
pub(crate) fn show_graph() -> Result<(), Failure> {
    let graph = graph(&files()?);
    say(graph.shown());
    let faults = graph.faults();
    if faults.is_empty() { Ok(()) } else { Err(Failure::Tidy(faults)) }
}

fn graph(files: &[(String, String)]) -> Graph {
    let rust = files.iter().filter(|(path, text)| File { path, text }.is_rust());
    Graph::read(rust.map(|(path, text)| (path.as_str(), text.as_str())))
}

/// Every file that git tracks or would track, with its text.
fn files() -> Result<Vec<(String, String)>, Failure> {
    let mut list = program("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    list.current_dir(root());
    let listed = output(list)?;
    // A file that is tracked but deleted, or that is not text, has no style.
    let read = |path: &str| Some((path.to_string(), std::fs::read_to_string(root().join(path)).ok()?));
    Ok(String::from_utf8_lossy(&listed).split_terminator('\0').filter_map(read).collect())
}

/// A rule that some files are known to break: these may, but not those that break it no longer.
fn ratchet(is_known: bool, faults: Vec<String>, list: &str) -> Vec<String> {
    match (is_known, faults.is_empty()) {
        (true, false) => Vec::new(),
        (true, true) => vec![format!(": it is in order now: take it off the list {list}")],
        (false, _) => faults,
    }
}

impl File<'_> {
    fn is_rust(&self) -> bool {
        self.has_extension("rs")
    }

    fn has_extension(&self, wanted: &str) -> bool {
        Path::new(self.path).extension().is_some_and(|extension| extension == wanted)
    }

    fn numbered_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }
}

fn length(file: &File<'_>) -> Vec<String> {
    let lines = file.text.lines().count();
    if file.is_rust() && lines > LINES_MAX {
        vec![format!(": {lines} lines, expected at most {LINES_MAX}")]
    } else {
        Vec::new()
    }
}

fn header(file: &File<'_>) -> Vec<String> {
    if file.is_rust() && !file.text.starts_with("//! ") {
        vec![":1: expected a `//!` header that says what the file is".to_string()]
    } else {
        Vec::new()
    }
}

fn unfinished(file: &File<'_>) -> Vec<String> {
    let found = |line: &str| UNFINISHED.iter().find(|(pattern, _)| line.contains(pattern)).copied();
    file.numbered_lines()
        .filter(|_| file.is_rust())
        .filter_map(|(number, line)| found(line).map(|(pattern, instead)| (number, pattern, instead)))
        .map(|(number, pattern, instead)| format!(":{number}: `{pattern}`: {instead}"))
        .collect()
}

fn machine_paths(file: &File<'_>) -> Vec<String> {
    // In a URL or a longer relative path the same letters are harmless.
    let starts_a_path = |line: &str, at: usize| {
        !line[..at]
            .ends_with(|before: char| before.is_alphanumeric() || matches!(before, '.' | '_' | '-' | '~'))
    };
    file.numbered_lines()
        .filter(|(_, line)| {
            MACHINE_PATHS.iter().any(|path| line.match_indices(path).any(|(at, _)| starts_a_path(line, at)))
        })
        .map(|(number, _)| format!(":{number}: a path that exists on one machine only"))
        .collect()
}

fn decision_number(file: &File<'_>) -> Vec<String> {
    let Some(name) = file.path.strip_prefix("docs/decisions/") else { return Vec::new() };
    let (number, rest) = name.split_at(name.len().min(4));
    if number.len() == 4 && number.bytes().all(|byte| byte.is_ascii_digit()) && rest.starts_with('-') {
        Vec::new()
    } else {
        vec![": expected a name like 0007-what-was-decided.md".to_string()]
    }
}

/// Relative links in prose lead somewhere.
fn links(file: &File<'_>) -> Vec<String> {
    if !file.has_extension("md") {
        return Vec::new();
    }
    let folder = root().join(file.path);
    let folder = folder.parent().unwrap_or_else(|| root());
    let mut in_code = false;
    let mut faults = Vec::new();
    for (number, line) in file.numbered_lines() {
        in_code ^= line.trim_start().starts_with("```");
        for target in line.split("](").skip(1).filter(|_| !in_code).filter_map(|rest| rest.split(')').next())
        {
            let path = target.split('#').next().unwrap_or_default();
            let elsewhere = path.is_empty() || path.contains("://") || path.starts_with("mailto:");
            if !elsewhere && !folder.join(path).exists() {
                faults.push(format!(":{number}: the link to {path} leads nowhere"));
            }
        }
    }
    faults
}

fn trailing_space(file: &File<'_>) -> Vec<String> {
    file.numbered_lines()
        .filter(|(_, line)| file.is_rust() && line.ends_with([' ', '\t']))
        .map(|(number, _)| format!(":{number}: space at the end of the line"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(path: &str, text: &str) -> Vec<String> {
        let file = File { path, text };
        RULES.iter().flat_map(|rule| rule(&file)).collect()
    }

    #[test]
    fn a_tidy_file_has_no_faults() {
        assert!(faults("crates/a/src/lib.rs", "//! What it is.\nfn main() {}\n").is_empty());
        assert!(
            faults("docs/decisions/0001-bags.md", "See [the rules](https://example.org/home/).\n").is_empty()
        );
    }

    #[test]
    fn every_rule_finds_its_fault() {
        let untidy = |path: &str, text: &str, expected: &str| {
            let found = faults(path, text);
            assert!(found.len() == 1 && found[0].contains(expected), "{path}: {found:?}");
        };
        untidy("src/a.rs", "fn main() {}\n", "header");
        untidy("src/a.rs", &format!("//! Long.\n{}", "\n".repeat(LINES_MAX)), "701 lines");
        for (pattern, instead) in UNFINISHED {
            untidy("src/a.rs", &format!("//! A.\n{pattern}\n"), instead);
        }
        for path in MACHINE_PATHS {
            untidy("notes.md", &format!("in {path}me\n"), "one machine");
        }
        untidy("docs/decisions/first.md", "Text.\n", "0007-");
        untidy("docs/decisions/01-first.md", "Text.\n", "0007-");
        untidy("README.md", "See [it](no/such/file.md#part).\n", "leads nowhere");
        untidy("src/a.rs", "//! A.\nfn main() {} \n", "end of the line");
    }

    #[test]
    fn links_inside_code_are_not_links() {
        assert!(faults("README.md", "```\na[0](b)\n```\n").is_empty());
    }
}
