//! How much memory there is and how much the program has taken, where the system says so (Linux's
//! `/proc` and its control groups). Elsewhere there is no default limit.

use std::fs;
use std::path::{Path, PathBuf};

/// A search needs this much to say anything at all.
const BYTES_MIN: u64 = 64 << 20;

/// The limit unless the user gives one: most of what is free now, so that a search ends in an answer and
/// not in the hands of the system's out-of-memory killer.
pub(crate) fn default_limit() -> Option<u64> {
    let free = kib_field(&fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")?;
    let allowed = control_group_room().map_or(free, |room| room.min(free));
    Some((allowed / 5 * 4).max(BYTES_MIN))
}

/// The most memory that the program has had in use.
pub(crate) fn peak() -> Option<u64> {
    kib_field(&fs::read_to_string("/proc/self/status").ok()?, "VmHWM:")
}

/// The memory that the program has in use now.
pub(crate) fn in_use() -> Option<u64> {
    kib_field(&fs::read_to_string("/proc/self/status").ok()?, "VmRSS:")
}

fn kib_field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// What the tightest control group around the program still allows.
fn control_group_room() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    groups.lines().filter_map(room_of_line).min()
}

/// One line of `/proc/self/cgroup`: `0::/path` in version 2, `4:memory:/path` in version 1.
fn room_of_line(line: &str) -> Option<u64> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (controllers, group) = (parts.next()?, parts.next()?);
    let (mount, limit, usage, cached) = match controllers {
        "" => ("/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file "),
        "memory" => (
            "/sys/fs/cgroup/memory",
            "memory.limit_in_bytes",
            "memory.usage_in_bytes",
            "total_inactive_file ",
        ),
        _ => return None,
    };
    let number = |file: PathBuf| fs::read_to_string(file).ok()?.trim().parse::<u64>().ok();
    let room = |group: &Path| {
        let limit = number(group.join(limit))?;
        // Files in the page cache count as used, but make way when memory is needed.
        let cached = fs::read_to_string(group.join("memory.stat"))
            .ok()
            .and_then(|stat| stat.lines().find_map(|line| line.strip_prefix(cached)?.parse().ok()))
            .unwrap_or(0);
        let used = number(group.join(usage)).unwrap_or(0).saturating_sub(cached);
        Some(limit.saturating_sub(used))
    };
    let inner = Path::new(mount).join(group.trim_start_matches('/'));
    inner.ancestors().take_while(|group| group.starts_with(mount)).filter_map(room).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_in_bytes() {
        let status = "Name:\tquorate\nVmHWM:\t    2048 kB\nVmRSS:\t     512 kB\n";
        assert_eq!(kib_field(status, "VmHWM:"), Some(2 << 20));
        assert_eq!(kib_field(status, "VmPeak:"), None);
        assert_eq!(room_of_line("nonsense"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn linux_says_how_much_there_is() {
        assert!(default_limit().is_some_and(|limit| limit >= BYTES_MIN));
        let now = in_use();
        assert!(now.is_some() && peak() >= now);
    }
}
