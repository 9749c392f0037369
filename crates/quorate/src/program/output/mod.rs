//! Where answers go. A reader that has gone away (`| head`) is no error; a full disk is, and its error
//! line carries the verdict, so that a long search is not lost.

pub(crate) mod json;
pub(crate) mod memory;
pub(crate) mod progress;
pub(crate) mod sealed;
pub(crate) mod text;
pub mod units;

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use anstream::{AutoStream, ColorChoice};
use clap::ArgMatches;

use serde::Serialize;
use terminal_size::{Width, terminal_size_of};

use super::failure::Failure;
use crate::render::Paint;

/// Heeds `--color`, for everything that is printed from now on.
pub(super) fn set_color(word: &str) {
    match word {
        "always" => ColorChoice::Always,
        "never" => ColorChoice::Never,
        _ => ColorChoice::Auto,
    }
    .write_global();
}

/// Are colours wanted on standard output?
pub(super) fn paint() -> Paint {
    match AutoStream::choice(&io::stdout()) {
        ColorChoice::Never => Paint::Plain,
        _ => Paint::Ansi,
    }
}

/// How many columns standard output has, if it is a terminal or the variable `COLUMNS` says so.
pub(super) fn width() -> Option<usize> {
    let said = std::env::var("COLUMNS").ok().and_then(|text| text.trim().parse().ok());
    said.filter(|columns| *columns > 0).or_else(|| {
        let (Width(columns), _) = terminal_size_of(io::stdout())?;
        Some(usize::from(columns)).filter(|columns| *columns > 0)
    })
}

/// Prints an answer to the end. `gist` is what the error line says of it if that fails.
pub fn print(answer: &str, gist: &str) -> Result<(), Failure> {
    let mut stdout = AutoStream::auto(io::stdout().lock());
    match stdout.write_all(answer.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::Output(format!(
            "cannot write to standard output: {error}: expected room for {gist}"
        ))),
        _ => Ok(()),
    }
}

/// One JSON object on a line of its own.
pub fn json_line(value: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(value)
        .map(|json| json + "\n")
        .map_err(|error| Failure::Output(format!("cannot write JSON: {error}: expected plain values")))
}

/// Prints why there is no answer.
pub(super) fn fail(failure: &Failure) {
    use owo_colors::OwoColorize as _;
    // With standard error gone there is nobody left to read it.
    _ = writeln!(AutoStream::auto(io::stderr().lock()), "{} {failure}", "error:".red().bold());
}

/// Prints how far it has got. With standard error gone there is nobody left to read it.
pub fn note(progress: &str) {
    _ = writeln!(io::stderr().lock(), "{progress}");
}

/// Prints what the user should know of an answer.
pub(super) fn warn(warning: &str) {
    use owo_colors::OwoColorize as _;
    _ = writeln!(AutoStream::auto(io::stderr().lock()), "{} {warning}", "warning:".yellow().bold());
}

/// A file for the answer, opened before the search: an hour later would be late to learn that it cannot be.
///
/// If it was not there before and nothing is written to it, it is not there afterwards either.
pub struct AnswerFile {
    path: PathBuf,
    file: File,
    /// Is it new, and still empty?
    is_new: bool,
}

impl AnswerFile {
    /// Opens it.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let new = OpenOptions::new().write(true).create_new(true).open(path);
        let is_new = new.is_ok();
        let file = new.or_else(|_| OpenOptions::new().write(true).create(true).truncate(false).open(path));
        let file = file.map_err(|error| {
            Failure::Create(format!(
                "cannot create '{}': {error}: expected a file that can be written",
                path.display()
            ))
        })?;
        Ok(AnswerFile { path: path.to_path_buf(), file, is_new })
    }

    /// The file that an option names, if it is given.
    pub fn named(option: &str, matches: &ArgMatches) -> Result<Option<Self>, Failure> {
        matches.get_one::<PathBuf>(option).map(|path| AnswerFile::open(path)).transpose()
    }

    /// Writes the answer. `gist` is what the error line says of it if that fails.
    pub fn write(mut self, answer: &str, gist: &str) -> Result<(), Failure> {
        self.is_new = false;
        let regular = self.file.metadata().is_ok_and(|metadata| metadata.is_file());
        let emptied = if regular { self.file.set_len(0) } else { Ok(()) };
        emptied
            .and_then(|()| self.file.write_all(answer.as_bytes()))
            .and_then(|()| if regular { self.file.sync_all() } else { Ok(()) })
            .map_err(|error| {
                Failure::Output(format!(
                    "cannot write '{}': {error}: expected room for {gist}",
                    self.path.display()
                ))
            })
    }

    /// Writes nothing, and returns a line that says so.
    pub(super) fn leave(self, reason: &str) -> String {
        let what = if self.is_new { "is not written" } else { "is left as it was" };
        format!("'{}' {what}: {reason}", self.path.display())
    }
}

impl Drop for AnswerFile {
    fn drop(&mut self) {
        if self.is_new {
            // Whoever has taken it away already has done what is meant.
            _ = std::fs::remove_file(&self.path);
        }
    }
}
