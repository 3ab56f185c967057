//! Child processes of the bench, killed when they are dropped.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

/// How long a program may take to end after SIGTERM.
const EXIT_WAIT_MAX: Duration = Duration::from_secs(120);

/// A program that runs.
pub(crate) struct Process {
    /// Its handle.
    pub(crate) child: Child,
}

impl Process {
    /// Starts a program.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(crate) fn start(command: &mut Command) -> anyhow::Result<Process> {
        let child = command
            .spawn()
            .with_context(|| format!("{} does not start", command.get_program().display()))?;
        Ok(Process { child })
    }

    /// Sends SIGTERM and waits until it has ended.
    ///
    /// # Errors
    /// It does not end in time.
    pub(crate) fn stop(mut self) -> anyhow::Result<()> {
        let pid = self.child.id();
        let asked = Command::new("kill").arg("-TERM").arg(pid.to_string()).status()?;
        ensure!(asked.success(), "process {pid} cannot be asked to end");
        let since = Instant::now();
        while self.child.try_wait()?.is_none() {
            ensure!(since.elapsed() < EXIT_WAIT_MAX, "process {pid} did not end in time");
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both only fail when it has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns an address of this machine without a listener.
///
/// # Errors
/// There is none left.
pub(crate) fn free_address() -> anyhow::Result<SocketAddr> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}
