//! The servers on a directory: processes of this machine that hold a lock on its database.
//!
//! Every process that has the database open holds a shared lock on the index of its write-ahead
//! log. Linux lists locks, by process and file, in `/proc/locks`.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::Serialize;

/// A process.
#[derive(Debug, Serialize)]
pub(super) struct Process {
    pub(super) pid: u32,
    /// Its command: `serve` or `demo`.
    pub(super) command: String,
}

/// Returns the servers on a directory; `None` where the system does not list locks.
pub(super) fn serving(directory: &Path) -> Option<Vec<Process>> {
    let locks = fs::read_to_string("/proc/locks").ok()?;
    let index = fs::metadata(directory.join("kiosque.db-shm")).ok()?.ino();
    let mut pids: Vec<u32> =
        locks.lines().filter_map(lock).filter(|(_, file)| *file == index).map(|it| it.0).collect();
    pids.sort_unstable();
    pids.dedup();
    let process = |pid| command(pid).map(|command| Process { pid, command });
    Some(pids.into_iter().filter_map(process).collect())
}

/// Reads a line such as `3: POSIX  ADVISORY  READ 4711 fd:01:1234567 128 128`: the process and the
/// number of the file.
fn lock(line: &str) -> Option<(u32, u64)> {
    let mut words = line.split_whitespace().skip(4);
    let pid = words.next()?.parse().ok()?;
    let file = words.next()?.rsplit(':').next()?.parse().ok()?;
    Some((pid, file))
}

/// Returns the command of a process if it is one that serves.
fn command(pid: u32) -> Option<String> {
    let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?;
    let serves = |argument: &&str| ["serve", "demo"].contains(argument);
    line.split('\0').skip(1).find(serves).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_has_a_process_and_a_file() {
        let line = "3: POSIX  ADVISORY  READ 4711 fd:01:1234567 128 128";
        assert_eq!(lock(line), Some((4_711, 1_234_567)));
        // A process that waits for a lock.
        assert_eq!(lock("3: -> POSIX  ADVISORY  WRITE 4711 fd:01:1234567 0 EOF"), None);
        assert_eq!(lock(""), None);
    }
}
