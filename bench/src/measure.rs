//! Figures of a process: CPU time of each request, and memory as the operating system reports it.

use std::fs;
use std::time::Duration;

use anyhow::{Context, ensure};

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

/// The resident memory of a process, and its peak, in `/proc`.
pub(crate) const RESIDENT: &str = "VmRSS:";
pub(crate) const PEAK: &str = "VmHWM:";

/// Returns the memory of a process in MiB.
///
/// # Errors
/// There is no such process.
pub(crate) fn memory(pid: u32, entry: &str) -> anyhow::Result<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))
        .with_context(|| format!("process {pid} is gone"))?;
    let kib = kib(&status, entry).with_context(|| format!("/proc/{pid}/status has no {entry}"))?;
    Ok(f64::from(kib) / 1024.0)
}

fn kib(status: &str, entry: &str) -> Option<u32> {
    let value = status.lines().find_map(|line| line.strip_prefix(entry))?;
    value.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_memory_and_cpu_time() {
        let pid = std::process::id();
        let current = memory(pid, RESIDENT).unwrap();
        assert!(current > 0.1 && memory(pid, PEAK).unwrap() >= current);
        assert!(kiosque_testdb::cpu_time(pid).is_ok());
        assert_eq!(kib("VmHWM:\t  2048 kB\n", "VmHWM:"), Some(2048));
        assert!((micros_each(Duration::from_secs(1), 100_000).unwrap() - 10.0).abs() < 1e-9);
    }
}
