//! A server that is measured.

use std::time::Duration;

use crate::client::Client;
use crate::engine::Engine;

/// A server to be measured.
pub(crate) struct Subject<'a> {
    /// Calls it.
    pub(crate) client: &'a Client,
    /// Its process.
    pub(crate) pid: u32,
    /// The storage engine, if it has separate processes.
    pub(crate) engine: Option<&'a Engine>,
}

impl Subject<'_> {
    /// CPU time of the server, including its engine.
    pub(crate) fn cpu_time(&self) -> anyhow::Result<Duration> {
        let engine = self.engine.map_or(Ok(Duration::ZERO), Engine::cpu_time)?;
        Ok(kiosque_testdb::cpu_time(self.pid)? + engine)
    }
}
