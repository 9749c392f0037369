//! Runs the real program, as a shell would.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

/// What a run of the program left behind.
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    /// The JSON object on standard output, which must be all that is there.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error} in {}{}", self.stdout, self.stderr))
    }

    /// Asserts an error: its exit code, one line on standard error that contains `needle`, and no answer.
    #[track_caller]
    pub(crate) fn assert_error(&self, code: i32, needle: &str) {
        let errors = &self.stderr;
        assert_eq!(self.code, code, "{errors}");
        assert_eq!(errors.lines().count(), 1, "{errors}");
        assert!(errors.starts_with("error: ") && errors.ends_with('\n'), "{errors}");
        assert!(errors.contains(needle), "expected {needle:?} in {errors}");
        assert!(!errors.contains("panicked"), "{errors}");
        assert_eq!(self.stdout, "");
    }
}

/// The program, with these words on its command line.
pub(crate) fn command(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quorate"));
    command
        .args(words)
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE")
        .env_remove("COLUMNS")
        .stdin(Stdio::null());
    command
}

/// Runs the program to its end.
pub(crate) fn run(words: &[&str]) -> Run {
    finish(command(words).stdout(Stdio::piped()).stderr(Stdio::piped()), b"")
}

/// Runs the program to its end, with this on its standard input.
pub(crate) fn run_with_input(words: &[&str], input: &[u8]) -> Run {
    let mut command = command(words);
    finish(command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()), input)
}

/// A trace that somebody has changed, with the checksum that the program asks for.
pub(crate) fn resealed(edited: &Value) -> String {
    let ran = run_with_input(&["replay", "-"], edited.to_string().as_bytes());
    assert!(ran.stderr.contains("was changed after it was written"), "{}", ran.stderr);
    let (_, after) = ran.stderr.split_once("that of what it says is '").expect("the checksum");
    let mut resealed = edited.clone();
    resealed["checksum"] = after[..16].into();
    resealed.to_string()
}

fn finish(command: &mut Command, input: &[u8]) -> Run {
    let mut child = command.spawn().expect("the program starts");
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input).expect("the program reads its input");
    }
    let output = child.wait_with_output().expect("the program ends");
    Run {
        code: output.status.code().expect("the program ends by itself"),
        stdout: String::from_utf8(output.stdout).expect("text"),
        stderr: String::from_utf8(output.stderr).expect("text"),
    }
}

/// A file of a test's own.
pub(crate) fn scratch(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    std::fs::create_dir_all(&folder).expect("a folder for files of tests");
    folder.join(format!("{}-{name}", std::process::id()))
}
