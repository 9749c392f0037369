//! What a comment refers to is there: files, decisions, chapters of the theory and their sections.
//!
//! A path counts from the root, from `crates/`, from a folder above the file, from its package's sources, or from the
//! folder of the file's own submodules. `docs/decisions/0002` is a decision by its number; numbers behind a chapter of
//! `docs/theory/` are its sections.
//! Known: only words that end like a file and stand in a comment count. A path in which something is to be filled in
//! (`tests/NAME.rs`) is none.

use std::path::{Path, PathBuf};

use super::File;
use super::source::{At, Source};
use crate::run::root;

/// How files end that comments refer to.
const ENDINGS: &[&str] = &["rs", "md", "toml", "txt", "pml", "svg", "json"];

/// Documents that a reader does not have and headers still cite. To be emptied.
const ELSEWHERE: &[&str] = &["DESIGN.md"];

/// Names that users give to files of their own.
const OF_USERS: &[&str] = &["Cargo.toml", "trace.json", "run.json", "state.json"];

pub(super) fn references(file: &File<'_>) -> Vec<String> {
    if file.is_rust() { in_text(file.path, file.text, root()) } else { Vec::new() }
}

fn in_text(path: &str, text: &str, root: &Path) -> Vec<String> {
    let source = Source::read(text);
    let words: Vec<At<&str>> = source
        .comments
        .iter()
        .flat_map(|comment| comment.what.split_whitespace().map(|word| At { line: comment.line, what: word }))
        .collect();
    let mut faults = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let line = word.line;
        if let Some(number) = decision(word.what) {
            if !has_decision(root, number) {
                faults.push(format!(":{line}: there is no decision {number}"));
            }
        } else if let Some(cited) = cited_file(word.what) {
            match find(root, path, cited) {
                None => faults.push(format!(":{line}: {cited} does not exist")),
                Some(found)
                    if cited.contains("docs/theory/") && !word.what.ends_with([',', '.', ';', ')']) =>
                {
                    let missing = missing_sections(&found, &words[at + 1..]);
                    let missing =
                        missing.iter().map(|section| format!(":{line}: {cited} has no section {section}"));
                    faults.extend(missing);
                }
                Some(_) => {}
            }
        }
    }
    faults
}

/// What is left of a word without the punctuation around it.
fn bare(word: &str) -> &str {
    let word = word.trim_start_matches(['(', '`', '\'', '"', '[', '<']);
    word.trim_end_matches([')', '`', '\'', '"', ']', '>', ',', '.', ';', ':', '?', '!'])
}

/// The number of a decision that a word names without the rest of its title.
fn decision(word: &str) -> Option<&str> {
    let number = bare(word).strip_prefix("docs/decisions/")?;
    (number.len() == 4 && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(number)
}

fn has_decision(root: &Path, number: &str) -> bool {
    let Ok(files) = std::fs::read_dir(root.join("docs/decisions")) else { return false };
    files.flatten().any(|file| file.file_name().to_string_lossy().starts_with(number))
}

/// The file that a word names, if it names one of this project.
fn cited_file(word: &str) -> Option<&str> {
    let path = bare(word);
    let path = path.split('#').next().unwrap_or_default();
    let path = path.strip_prefix("`").unwrap_or(path);
    let (stem, ending) = path.rsplit_once('.')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '/' | '.');
    let name = stem.rsplit('/').next().unwrap_or_default();
    let is_to_be_filled_in =
        !name.is_empty() && ending == "rs" && name.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    let known = ENDINGS.contains(&ending)
        && !name.is_empty()
        && path.chars().all(plain)
        && !path.starts_with('/')
        && !is_to_be_filled_in
        && !ELSEWHERE.contains(&path)
        && !OF_USERS.contains(&path);
    known.then_some(path)
}

/// Where a path leads that a file cites.
fn find(root: &Path, from: &str, cited: &str) -> Option<PathBuf> {
    let from = Path::new(from);
    let mut bases = vec![from.with_extension(""), PathBuf::from("crates")];
    for above in from.ancestors().skip(1) {
        bases.extend([above.to_path_buf(), above.join("src")]);
    }
    bases.into_iter().map(|base| root.join(base).join(cited)).find(|path| path.is_file())
}

/// Of the numbers that these words begin with, those that no heading of a chapter has.
fn missing_sections(chapter: &Path, words: &[At<&str>]) -> Vec<String> {
    let text = std::fs::read_to_string(chapter).unwrap_or_default();
    let headings: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with('#'))
        .filter_map(|line| line.trim_start_matches('#').split_whitespace().next())
        .map(|number| number.trim_end_matches('.'))
        .collect();
    let mut missing = Vec::new();
    for word in words.iter().map(|word| word.what) {
        if matches!(word, "and" | "or" | "to") {
            continue;
        }
        let number = bare(word);
        let is_section =
            number.split('.').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
        if !is_section {
            break;
        }
        if !headings.contains(&number) {
            missing.push(number.to_string());
        }
        if !word.ends_with(',') && word.ends_with(['.', ';', ')', ':']) {
            break;
        }
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree with a package, a test, a chapter and a decision.
    fn tree(name: &str) -> PathBuf {
        let root = std::env::temp_dir().join(format!("quorate-tidy-{}-{name}", std::process::id()));
        for (path, text) in [
            ("crates/a/src/engine/local.rs", "//! A.\n"),
            ("crates/a/src/engine/local/workers.rs", "//! A.\n"),
            ("crates/a/tests/runs.rs", "//! A.\n"),
            ("testkit/tests/dir.rs", "//! A.\n"),
            ("docs/theory/kernel.md", "# Kernel\n\n## 1. Steps\n\n## 2. Groups\n\n### 2.1 Trees\n"),
            ("docs/decisions/0002-groups.md", "# 2\n"),
        ] {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        root
    }

    fn faults(name: &str, text: &str) -> Vec<String> {
        let root = tree(name);
        let faults = in_text("crates/a/src/engine/local.rs", text, &root);
        std::fs::remove_dir_all(root).unwrap();
        faults
    }

    #[test]
    fn what_is_there_is_found() {
        let text = "\
//! A.
//! From: docs/theory/kernel.md 1, 2 and 2.1, decided in docs/decisions/0002; `docs/theory/kernel.md`
//! 2. Held by: tests/runs.rs, `testkit/tests/dir.rs` (and so on), a/tests/runs.rs; workers.rs, engine/local.rs.
//! A file is tests/NAME.rs, see <https://example.org/a.md>.
fn f() { \"no/such/file.rs\" }
";
        assert_eq!(faults("there", text), Vec::<String>::new());
    }

    #[test]
    fn what_is_not_there_is_reported() {
        assert_eq!(
            faults("file", "//! A.\n//! Held by: tests/worlds.rs.\n"),
            [":2: tests/worlds.rs does not exist"]
        );
        assert_eq!(
            faults("code", "//! A.\nfn f() {} // as in `testkit/src/no.rs`\n"),
            [":2: testkit/src/no.rs does not exist"]
        );
        assert_eq!(faults("decision", "//! See docs/decisions/0003.\n"), [":1: there is no decision 0003"]);
        assert_eq!(
            faults("chapter", "//! From: docs/theory/beliefs.md 2.\n"),
            [":1: docs/theory/beliefs.md does not exist"]
        );
        assert_eq!(
            faults("section", "//! From: docs/theory/kernel.md 2 and 3.\n"),
            [":1: docs/theory/kernel.md has no section 3"]
        );
        assert_eq!(
            faults("wrapped", "//! From: docs/theory/kernel.md\n//! 2.2; 5 others.\n"),
            [":1: docs/theory/kernel.md has no section 2.2"]
        );
    }
}
