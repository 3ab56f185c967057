//! A postmaster and its children: signals to them, and their processor time.

use std::fs;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::programs::run;

/// Ticks of `/proc` in a second: 100 on every architecture that Kiosque is built for.
const TICK: Duration = Duration::from_millis(10);

/// Sends a signal to a process.
pub(crate) fn signal(name: &str, pid: u32) -> Result<()> {
    run(Command::new("kill").args(["-s", name, &pid.to_string()])).map(drop)
}

/// Sends a signal to all children of a process; it is not an error if there are none.
pub(crate) fn signal_children(name: &str, pid: u32) -> Result<()> {
    let kill = format!("pkill -{name} -P {pid} || test $? = 1");
    run(Command::new("sh").args(["-c", &kill])).map(drop)
}

/// A process as shown in `/proc`.
#[derive(Debug, PartialEq, Eq)]
struct Process {
    parent: u32,
    is_dead: bool,
    /// Its own time and the time of children that it has waited for, in user and system mode.
    cpu: Duration,
}

impl Process {
    /// Reads a line of `/proc/PID/stat`. The name is in parentheses and may contain others.
    fn read(stat: &str) -> Option<Process> {
        let (_, fields) = stat.rsplit_once(") ")?;
        let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
        let ticks: Option<Vec<u32>> =
            fields.get(11..15)?.iter().map(|field| field.parse().ok()).collect();
        Some(Process {
            parent: fields.get(1)?.parse().ok()?,
            is_dead: matches!(*fields.first()?, "Z" | "X"),
            cpu: TICK * ticks?.iter().sum::<u32>(),
        })
    }

    fn of(pid: u32) -> Option<Process> {
        Process::read(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }
}

fn children(pid: u32) -> Result<Vec<Process>> {
    let all = fs::read_dir("/proc").context("processes are counted by /proc")?;
    let pids = all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    // A process that has ended since the listing is no longer a child.
    Ok(pids.filter_map(Process::of).filter(|process| process.parent == pid).collect())
}

/// Returns whether a process has a child that is not dead.
pub(crate) fn has_children(pid: u32) -> Result<bool> {
    Ok(children(pid)?.iter().any(|child| !child.is_dead))
}

/// Returns the processor time of a process, its children, and those children that it has waited
/// for: in user and system mode, in steps of 10 ms.
pub fn cpu_time(pid: u32) -> Result<Duration> {
    let children: Duration = children(pid)?.iter().map(|child| child.cpu).sum();
    let parent = Process::of(pid).with_context(|| format!("process {pid} is gone"))?;
    Ok(parent.cpu + children)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_behind_its_name() {
        let stat = "17 (a) b (c)) Z 4 17 17 0 -1 4194560 9 9 0 0 3 4 50 60 20 0 1 0 99 0 0 0\n";
        let read = Process::read(stat).unwrap();
        let cpu = Duration::from_millis(1170);
        assert_eq!(read, Process { parent: 4, is_dead: true, cpu });
        assert_eq!(Process::read("17 (a) S 4"), None);
    }
}
