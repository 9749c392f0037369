//! One run of a program: what it printed, how long it took, how much memory it had.
//!
//! Processor time is what the kernel has charged to this process's finished children, before and after:
//! threads and grandchildren included, in ticks of a hundredth of a second. Peak memory is the kernel's high
//! water mark, sampled while the program runs. Both come from `/proc`, for the standard library has no
//! `wait4`; where there is no `/proc` both are unknown and only the wall clock counts.

use std::fmt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::Counts;
use crate::failure::Failure;

/// The kernel's unit of processor time in `/proc`, the same on every Linux machine of today.
const TICKS_PER_SECOND: f64 = 100.0;
const SAMPLE_EVERY: Duration = Duration::from_millis(5);

/// One run of a contestant.
pub(super) struct Measured {
    pub(super) counts: Counts,
    pub(super) wall_s: f64,
    pub(super) cpu_s: Option<f64>,
    pub(super) peak_bytes: Option<u64>,
}

/// A program that ran to its end.
pub(super) struct Finished {
    pub(super) printed: String,
    pub(super) complained: String,
    pub(super) wall_s: f64,
    pub(super) cpu_s: Option<f64>,
    pub(super) peak_bytes: Option<u64>,
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2} s", self.wall_s)?;
        self.cpu_s.map_or(Ok(()), |cpu| write!(f, ", {cpu:.2} s of processor"))
    }
}

/// Runs a program to its end, whatever its exit code: what counts is what it printed.
pub(super) fn measure(mut command: Command) -> Result<Finished, Failure> {
    let name = command.get_program().to_string_lossy().into_owned();
    let cpu_before = cpu_of_children_s();
    let started = Instant::now();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().map_err(Failure::io(format!("starting {name}")))?;
    let status_file = format!("/proc/{}/status", child.id());
    let (peak_bytes, done) = (AtomicU64::new(0), AtomicBool::new(false));
    let output = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                if let Some(bytes) = high_water_mark(&status_file) {
                    peak_bytes.fetch_max(bytes, Ordering::Relaxed);
                }
                std::thread::sleep(SAMPLE_EVERY);
            }
        });
        let output = child.wait_with_output();
        let wall_s = started.elapsed().as_secs_f64();
        done.store(true, Ordering::Relaxed);
        output.map(|output| (output, wall_s))
    });
    let (output, wall_s) = output.map_err(Failure::io(format!("waiting for {name}")))?;
    Ok(Finished {
        printed: String::from_utf8_lossy(&output.stdout).into_owned(),
        complained: String::from_utf8_lossy(&output.stderr).into_owned(),
        wall_s,
        cpu_s: cpu_before.zip(cpu_of_children_s()).map(|(before, after)| after - before),
        peak_bytes: Some(peak_bytes.into_inner()).filter(|bytes| *bytes > 0),
    })
}

/// User and system time of all children that have ended.
fn cpu_of_children_s() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The second field is the program's name in parentheses and may contain anything.
    let after_name = &stat[stat.rfind(')')? + 1..];
    // Fields 16 and 17 of proc_pid_stat(5); the first one here is field 3.
    let ticks: u32 =
        after_name.split_whitespace().skip(13).take(2).filter_map(|f| f.parse::<u32>().ok()).sum();
    Some(f64::from(ticks) / TICKS_PER_SECOND)
}

fn high_water_mark(status_file: &str) -> Option<u64> {
    let status = std::fs::read_to_string(status_file).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

/// The middle value; of an even number, the lower of the two in the middle.
pub(super) fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied()
}

/// The first number that stands behind this key in a JSON text. Enough for the flat answers that are read
/// here, and no reason to depend on a parser: a key may occur before with a value that is no number.
pub(super) fn json_number(json: &str, key: &str) -> Option<u64> {
    let quoted = format!("\"{key}\"");
    json.match_indices(&quoted).find_map(|(at, _)| {
        let value = json[at + quoted.len()..].trim_start().strip_prefix(':')?.trim_start();
        let end = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
        value[..end].parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median([3.0, 1.0, 2.0].into_iter()), Some(2.0));
        assert_eq!(median([4.0, 1.0, 2.0, 3.0].into_iter()), Some(2.0));
        assert_eq!(median(std::iter::empty()), None);
    }

    #[test]
    fn numbers_are_found_behind_their_key() {
        let json =
            r#"{"parameters": {"transitions": "quorum"}, "local_states": 7, "states" : 12,"transitions":34}"#;
        assert_eq!(json_number(json, "states"), Some(12));
        assert_eq!(json_number(json, "transitions"), Some(34));
        assert_eq!(json_number(json, "depth"), None);
    }

    #[test]
    fn a_busy_child_is_charged_for_its_time() {
        if cpu_of_children_s().is_none() {
            return;
        }
        let mut command = Command::new("sh");
        command.args(["-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; echo done"]);
        let finished = measure(command).unwrap();
        assert_eq!(finished.printed.trim(), "done");
        assert!(finished.cpu_s.is_some_and(|cpu| cpu > 0.0), "{:?}", finished.cpu_s);
        assert!(finished.peak_bytes.is_some_and(|bytes| bytes > 100_000), "{:?}", finished.peak_bytes);
    }
}
