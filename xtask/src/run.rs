//! Starting programs, and where things are.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::failure::Failure;

/// Prints for people. The one place where a task writes to standard output.
#[expect(clippy::print_stdout, reason = "a task is a program")]
pub(crate) fn say(line: impl std::fmt::Display) {
    println!("{line}");
}

/// The repository's root: the folder above this package.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies inside the repository")
}

/// Where cargo builds: the target folder that this very program was built in.
pub(crate) fn target() -> Result<PathBuf, Failure> {
    let program = std::env::current_exe().map_err(Failure::io("finding the target folder"))?;
    Ok(program.ancestors().nth(2).map_or_else(|| root().join("target"), Path::to_path_buf))
}

/// The cargo that runs this task, at the repository's root.
pub(crate) fn cargo<const N: usize>(arguments: [&str; N]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root());
    // The variables that cargo sets about this program must not leak into what this program builds.
    command.env_remove("CARGO_MANIFEST_DIR").env_remove("CARGO_PKG_NAME");
    command
}

/// A program with its arguments.
pub(crate) fn program<const N: usize>(name: &str, arguments: [&str; N]) -> Command {
    let mut command = Command::new(name);
    command.args(arguments);
    command
}

/// Runs to the end, with its output on ours.
pub(crate) fn run(mut command: Command) -> Result<(), Failure> {
    let shown = shown(&command);
    let status = command.status().map_err(Failure::io(format!("starting `{shown}`")))?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::Command { command: shown, status: status.to_string() })
    }
}

/// Runs to the end and returns what it printed; a failure shows what it said on standard error.
pub(crate) fn output(mut command: Command) -> Result<Vec<u8>, Failure> {
    let shown = shown(&command);
    let output = command.output().map_err(Failure::io(format!("starting `{shown}`")))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Failure::Command { command: shown, status: format!("{}: {}", output.status, said.trim()) })
}

/// Runs to the end and returns what it said on standard error, which is shown, too.
pub(crate) fn complaints(mut command: Command) -> Result<String, Failure> {
    let shown = shown(&command);
    let output = command.output().map_err(Failure::io(format!("starting `{shown}`")))?;
    let said = String::from_utf8_lossy(&output.stderr).to_string();
    eprint!("{said}");
    if output.status.success() {
        Ok(said)
    } else {
        Err(Failure::Command { command: shown, status: output.status.to_string() })
    }
}

/// Whether a program is there and answers.
pub(crate) fn answers(mut command: Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// The command as one would type it, with its program's last name only.
fn shown(command: &Command) -> String {
    let name = Path::new(command.get_program()).file_name().unwrap_or_default();
    std::iter::once(name)
        .chain(command.get_args())
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}
