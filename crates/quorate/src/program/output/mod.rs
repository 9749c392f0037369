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
pub struct AnswerFile {
    path: PathBuf,
    file: File,
}

impl AnswerFile {
    /// Opens it.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let file =
            OpenOptions::new().write(true).create(true).truncate(false).open(path).map_err(|error| {
                Failure::Create(format!(
                    "cannot create '{}': {error}: expected a file that can be written",
                    path.display()
                ))
            })?;
        Ok(AnswerFile { path: path.to_path_buf(), file })
    }

    /// The file that an option names, if it is given.
    pub fn named(option: &str, matches: &ArgMatches) -> Result<Option<Self>, Failure> {
        matches.get_one::<PathBuf>(option).map(|path| AnswerFile::open(path)).transpose()
    }

    /// Writes the answer. `gist` is what the error line says of it if that fails.
    pub fn write(mut self, answer: &str, gist: &str) -> Result<(), Failure> {
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
}
