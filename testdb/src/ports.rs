//! Ports for servers.

use std::net::{Ipv4Addr, TcpListener};
use std::process;
use std::sync::atomic::{AtomicU16, Ordering};

use anyhow::{Context, Result};

/// Below the ports that Linux and macOS assign to outgoing connections: otherwise a client that
/// calls a stopped server might be assigned its port, and connect to itself.
const FIRST: u16 = 20_000;
/// The number of ports.
const COUNT: u16 = 10_000;

/// Returns a port that no process listens on. Another process may take it before the caller does.
pub(crate) fn free() -> Result<u16> {
    // Ports are used in turn, so that a server that is stopped for a while finds its own free. Each
    // process starts at a different one.
    static TAKEN: AtomicU16 = AtomicU16::new(0);
    let start = process::id().wrapping_mul(97) % u32::from(COUNT);
    let start = u16::try_from(start).context("smaller than the count")?;
    let turn = || (start + TAKEN.fetch_add(1, Ordering::Relaxed) % COUNT) % COUNT;
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    let mut ports = (0..COUNT).map(|_| FIRST + turn());
    ports.find(is_free).context("no port is free")
}
