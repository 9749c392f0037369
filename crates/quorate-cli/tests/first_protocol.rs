//! docs/first-protocol.md, done exactly as it says: every file is written, every change applied, every
//! command run, and what the page shows is what is printed.
//!
//! Two things differ from what a reader does: the dependency is this checkout, and cargo reuses what the
//! workspace has built.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::page::{Page, apply, compare, root};

/// The dependency as the page has it.
const PUBLISHED: &str = "git = \"https://github.com/quorate/quorate\"";

/// A reader at a terminal.
struct Reader {
    /// The folder that was empty.
    home: PathBuf,
    folder: PathBuf,
    /// Of the last command.
    code: i32,
}

impl Reader {
    /// Sits down in an empty folder. It is outside of the checkout, or cargo would take the reader's
    /// package for a member of this workspace.
    fn new() -> Self {
        let folder = std::env::temp_dir().join(format!("quorate-first-protocol-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("an empty folder");
        Reader { home: folder.clone(), folder, code: 0 }
    }

    /// Types a command and returns what it prints on standard output.
    fn types(&mut self, line: &str) -> String {
        match line.split_whitespace().collect::<Vec<_>>().as_slice() {
            ["cd", folder] => {
                self.folder.push(folder);
                assert!(self.folder.is_dir(), "{} is no folder", self.folder.display());
                String::new()
            }
            ["echo", "$?"] => format!("{}\n", self.code),
            ["cargo", words @ ..] => self.runs_cargo(words),
            _ => panic!("the page types `{line}`, which a fresh machine may not know"),
        }
    }

    fn runs_cargo(&mut self, words: &[&str]) -> String {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("tmp lies in the target folder");
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.args(words).current_dir(&self.folder);
        // The variables that cargo sets about this test's package must not leak into the reader's.
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("CARGO_PKG_")) {
            command.env_remove(name);
        }
        for name in
            ["CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH", "RUST_BACKTRACE", "CLICOLOR_FORCE", "COLUMNS"]
        {
            command.env_remove(name);
        }
        command.envs([("CARGO_NET_OFFLINE", "true"), ("CARGO_CARGO_NEW_VCS", "none"), ("NO_COLOR", "1")]);
        // On several threads the order in which tests end is another each time.
        command.env("RUST_TEST_THREADS", "1");
        // The profile of the workspace, so that dependencies need not be built again.
        command.env("CARGO_TARGET_DIR", target).env("CARGO_PROFILE_DEV_OPT_LEVEL", "2");
        command.env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only");
        let output = command.output().expect("cargo starts");
        let said = String::from_utf8_lossy(&output.stderr);
        self.code = output.status.code().expect("cargo ends by itself");
        assert!(!said.contains("error: could not compile"), "{said}");
        assert!(!said.contains("warning: "), "a reader would be warned:\n{said}");
        assert!(self.code < 64 || output.stdout.starts_with(b"\nrunning"), "{words:?}: {said}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// Declares the dependency, which is this checkout for the time being.
    fn declares(&self, dependencies: &str) {
        let manifest = self.folder.join("Cargo.toml");
        let fresh = std::fs::read_to_string(&manifest).expect("cargo new has been typed");
        assert_eq!(fresh.matches("[dependencies]\n").count(), 1, "{fresh}");
        assert_eq!(dependencies.matches(PUBLISHED).count(), 1, "{dependencies}");
        let checkout = format!("path = '{}'", root().join("crates/quorate").display());
        let declared = fresh.replace("[dependencies]\n", &dependencies.replace(PUBLISHED, &checkout));
        std::fs::write(manifest, declared).expect("the manifest can be written");
        // The versions that the workspace has downloaded.
        std::fs::copy(root().join("Cargo.lock"), self.folder.join("Cargo.lock")).expect("a lock file");
    }

    fn writes(&self, path: &str, change: impl FnOnce(String) -> String) {
        let path = self.folder.join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        let before = std::fs::read_to_string(&path).unwrap_or_default();
        std::fs::write(&path, change(before)).expect("the file can be written");
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        // Left behind if the test fails, for somebody to look at.
        if !std::thread::panicking() {
            _ = std::fs::remove_dir_all(&self.home);
        }
    }
}

#[test]
fn the_page_is_true_from_top_to_bottom() {
    let mut page = Page::read("docs/first-protocol.md");
    let mut reader = Reader::new();
    let mut commands = 0;
    for block in page.blocks() {
        let text = page.text(block.lines.clone());
        match (block.language.as_str(), block.subject.as_str()) {
            ("toml", "Cargo.toml") => reader.declares(&text),
            ("rust", "src/main.rs at its end") => reader.writes("src/main.rs", |file| file + "\n" + &text),
            ("rust", path) if !path.is_empty() => reader.writes(path, |_| text),
            ("diff", path) => reader.writes(path, |file| apply(&text, &file)),
            ("console", "") => {
                for exchange in page.exchanges(&block) {
                    commands += 1;
                    let printed = reader.types(&exchange.command);
                    page.compare(&exchange, &printed);
                }
            }
            other => panic!("line {}: nobody knows what to do with {other:?}", block.lines.start),
        }
    }
    assert!(commands >= 10, "only {commands} commands were found on the page");
    page.finish();
}

#[test]
fn what_is_shown_must_be_what_is_printed() {
    let same = |shown: &str, real: &str| compare(shown, real).is_ok();
    assert!(same("a\nb\n", "a\nb\n\n"));
    assert!(!same("a\nb", "a\nc") && !same("a", "a\nb") && !same("a\nb", "a") && !same("", "a"));
    assert!(same("a\n…\nd", "a\nb\nc\nd") && same("a\n…\nb", "a\nb") && same("…", ""));
    assert!(!same("a\n…\nd", "a\nb\nc") && !same("…\nd", "d\ne"));
    assert!(same("{a…b…}", "{a1b2}") && !same("{a…c…}", "{a1b2}") && !same("a…", "ba"));
    assert!(same("  time  1 s   fast", "  time  2 s") && !same("  time  1 s", "  states  1"));
    assert!(same("ok; finished in 1s", "ok; finished in 2s"));
    assert!(!same("ok; finished in 1s", "no; finished in 1s"));
    let difference = compare("a\n…\nc\nd", "a\nb\nc\ne").expect_err("they differ");
    assert_eq!(difference, "shows \"d\", but printed was \"e\"");
}

#[test]
fn a_change_must_fit() {
    assert_eq!(apply(" a\n-b\n+c\n@@ then\n-d\n", "a\nb\nd\n"), "a\nc\n");
    let misfit = std::panic::catch_unwind(|| apply("-x\n+y\n", "a\n"));
    assert!(misfit.is_err());
}
