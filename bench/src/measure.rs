//! CPU time and memory of another process, as the operating system reports them.

use std::fs;
use std::time::Duration;

use anyhow::{Context, ensure};

/// Length of the tick in which Linux reports CPU time to programs, on every architecture.
const TICK: Duration = Duration::from_millis(10);

/// Returns the CPU time that a process has used so far: user and system, all its threads.
///
/// # Errors
/// There is no such process.
pub(crate) fn cpu_time(pid: u32) -> anyhow::Result<Duration> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))
        .with_context(|| format!("process {pid} is gone"))?;
    let ticks = cpu_ticks(&stat).with_context(|| format!("/proc/{pid}/stat reads {stat:?}"))?;
    Ok(TICK * u32::try_from(ticks)?)
}

/// `utime + stime`: fields 14 and 15, counted after the name, which may contain anything.
fn cpu_ticks(stat: &str) -> Option<u64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

/// CPU microseconds of each of `requests`.
///
/// # Errors
/// When there was no request.
pub(crate) fn micros_each(used: Duration, requests: usize) -> anyhow::Result<f64> {
    ensure!(requests > 0, "no request was answered");
    Ok(used.as_secs_f64() * 1e6 / count(requests))
}

/// Returns a count as a floating-point number.
pub(crate) fn count(number: usize) -> f64 {
    u32::try_from(number).map_or(f64::MAX, f64::from)
}

/// The resident memory of a process, in MiB.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Memory {
    /// Now.
    pub(crate) current: f64,
    /// The peak.
    pub(crate) peak: f64,
}

/// Memory of a process.
///
/// # Errors
/// There is no such process.
pub(crate) fn memory(pid: u32) -> anyhow::Result<Memory> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))
        .with_context(|| format!("process {pid} is gone"))?;
    let mib = |key| kib(&status, key).map(|kib| f64::from(kib) / 1024.0);
    let read = mib("VmRSS:").zip(mib("VmHWM:"));
    let (current, peak) = read.with_context(|| format!("/proc/{pid}/status has no memory"))?;
    Ok(Memory { current, peak })
}

fn kib(status: &str, key: &str) -> Option<u32> {
    let line = status.lines().find(|line| line.starts_with(key))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_parsed_after_any_process_name() {
        let stat = "42 (a) b (c)) S 1 42 42 0 -1 4194560 100 0 0 0 250 50 7 9 20 0 4 0 1 2 3";
        assert_eq!(cpu_ticks(stat), Some(300));
        assert_eq!(cpu_ticks("42 (a) S 1"), None);
    }

    #[test]
    fn this_process_has_memory_and_cpu_time() {
        let pid = std::process::id();
        let memory = memory(pid).unwrap();
        assert!(memory.current > 0.1 && memory.peak >= memory.current);
        assert!(cpu_time(pid).is_ok());
        assert_eq!(kib("VmHWM:\t  2048 kB\n", "VmHWM:"), Some(2048));
        assert!((micros_each(Duration::from_secs(1), 100_000).unwrap() - 10.0).abs() < 1e-9);
    }
}
