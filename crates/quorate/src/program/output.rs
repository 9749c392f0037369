//! Where answers go. A reader that has gone away (`| head`) is no error; a full disk is, and its error
//! line carries the verdict, so that a long search is not lost.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use anstream::{AutoStream, ColorChoice};
use clap::ArgMatches;

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
pub(super) fn print(answer: &str, gist: &str) -> Result<(), Failure> {
    let mut stdout = AutoStream::auto(io::stdout().lock());
    match stdout.write_all(answer.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::Output(format!(
            "cannot write to standard output: {error}: expected room for {gist}"
        ))),
        _ => Ok(()),
    }
}

/// Tells an error.
pub(super) fn tell(failure: &Failure) {
    use owo_colors::OwoColorize as _;
    // With standard error gone there is nobody left to tell.
    _ = writeln!(AutoStream::auto(io::stderr().lock()), "{} {failure}", "error:".red().bold());
}

/// Tells how far it has got. With standard error gone there is nobody left to tell.
pub(super) fn note(progress: &str) {
    _ = writeln!(io::stderr().lock(), "{progress}");
}

/// Tells what the user should know of an answer.
pub(super) fn warn(warning: &str) {
    use owo_colors::OwoColorize as _;
    _ = writeln!(AutoStream::auto(io::stderr().lock()), "{} {warning}", "warning:".yellow().bold());
}

/// A file for the answer, opened before the search: an hour later would be late to learn that it cannot be.
pub(super) struct AnswerFile {
    path: PathBuf,
    file: File,
}

impl AnswerFile {
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
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
    pub(super) fn named(option: &str, matches: &ArgMatches) -> Result<Option<Self>, Failure> {
        matches.get_one::<PathBuf>(option).map(|path| AnswerFile::open(path)).transpose()
    }

    pub(super) fn write(mut self, answer: &str, gist: &str) -> Result<(), Failure> {
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
