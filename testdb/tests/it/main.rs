//! The properties that tests of other crates rely on, with real servers.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod schema;
mod server;
mod shared;
mod standby;

use std::process::Command;

/// Returns the postmaster of a data directory and its children.
fn family(data: &str) -> Vec<String> {
    let lock = std::fs::read_to_string(format!("{data}/postmaster.pid")).unwrap();
    let postmaster = lock.lines().next().unwrap().to_owned();
    let output = Command::new("pgrep").args(["-P", &postmaster]).output().unwrap();
    let children = String::from_utf8(output.stdout).unwrap();
    let family = std::iter::once(postmaster).chain(children.lines().map(str::to_owned));
    // The session that returned the directory may just be ending.
    let family: Vec<String> = family.filter(|pid| lives(pid)).collect();
    assert!(family.len() > 3, "{family:?}");
    family
}

/// Returns whether a process runs, and is not just waiting to be reaped.
fn lives(pid: &str) -> bool {
    let output = Command::new("ps").args(["-o", "stat=", "-p", pid]).output().unwrap();
    let state = String::from_utf8(output.stdout).unwrap();
    !state.trim().is_empty() && !state.starts_with('Z')
}
