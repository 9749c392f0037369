//! Every test runs: a file of tests is part of its package's one test program, and sources with tests beside the code
//! are built for them.
//!
//! Without this rule a forgotten `mod` line, or a test in a package that says `test = false`, would hold nothing and
//! nobody would hear of it.

use super::File;
use crate::run::root;

/// Files of tests that their `main.rs` does not name, and tests in sources that are not built for tests.
pub(super) fn test_files(file: &File<'_>) -> Vec<String> {
    let read = |path: String| std::fs::read_to_string(root().join(path)).unwrap_or_default();
    let Some(name) = file.path.strip_suffix(".rs") else { return Vec::new() };
    if let Some((package, name)) = name.rsplit_once("/tests/") {
        let is_listed = || is_module(&read(format!("{package}/tests/main.rs")), name);
        if name != "main" && !name.contains('/') && !is_listed() {
            return vec![format!(
                ": `mod {name};` is missing in {package}/tests/main.rs, so it does not run"
            )];
        }
    } else if let Some((package, _)) = name.split_once("/src/") {
        let manifest = || read(format!("{package}/Cargo.toml"));
        if has_test(file.text) && manifest().lines().any(|line| line == "test = false") {
            return vec![format!(": a test beside the code, but {package}/Cargo.toml says `test = false`")];
        }
    }
    Vec::new()
}

fn is_module(main: &str, name: &str) -> bool {
    let declared = format!("mod {name};");
    main.lines().any(|line| line == declared)
}

fn has_test(text: &str) -> bool {
    text.lines().any(|line| line.trim() == "#[test]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_that_do_not_run_are_reported() {
        let faults = |path: &str, text: &str| test_files(&File { path, text });
        assert!(faults("testkit/tests/forgotten.rs", "//! A.\n")[0].contains("does not run"));
        assert!(faults("testkit/src/random.rs", "//! A.\n    #[test]\n")[0].contains("test = false"));
        assert_eq!(faults("testkit/tests/agreement.rs", "//! A.\n#[test]\n"), Vec::<String>::new());
        assert_eq!(faults("crates/quorate/src/lib.rs", "//! A.\n#[test]\n"), Vec::<String>::new());
    }
}
