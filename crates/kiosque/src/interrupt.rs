//! SIGINT (Ctrl-C) and SIGTERM during a command that stores in steps: the command ends after the
//! current step, and a message reports its progress.

use std::future::ready;
use std::io;
use std::process;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinSet;

/// How long a command may take to end by itself.
pub(crate) const GRACE: Duration = Duration::from_secs(3);

/// The exit status of a command that a signal ended, as shells report it: 128 plus its number.
type SignalStatus = u8;

/// The ending signals from [`EndingSignals::receive`] on. After that, none ends the process by
/// itself, whether it is awaited or not.
pub(crate) struct EndingSignals {
    interrupt: Signal,
    terminate: Signal,
}

impl EndingSignals {
    /// Begins to receive signals.
    pub(crate) fn receive() -> io::Result<EndingSignals> {
        let interrupt = signal(SignalKind::interrupt())?;
        Ok(EndingSignals { interrupt, terminate: signal(SignalKind::terminate())? })
    }

    /// Waits for the next signal. Returns the exit status of a command that it ends.
    pub(crate) async fn next(&mut self) -> SignalStatus {
        tokio::select! {
            _ = self.interrupt.recv() => 130,
            _ = self.terminate.recv() => 143,
        }
    }
}

/// Receives signals while a command runs, until it is dropped.
pub(crate) struct Interrupt {
    first: Arc<OnceLock<SignalStatus>>,
    /// Receives them until it is dropped.
    _receiving: JoinSet<()>,
}

impl Interrupt {
    /// Begins to receive signals. At the first one, `print` reports the progress of the command and
    /// the process exits. The data is consistent at any time: an open transaction is rolled back.
    pub(crate) fn receive(print: impl FnOnce() + Send + 'static) -> io::Result<Interrupt> {
        Interrupt::after(Duration::ZERO, print, ready(()))
    }

    /// Like [`Interrupt::receive`], but the command may end by itself after the first signal: the
    /// process exits if it has not within `grace`, or at a second one, after `print` and `record`.
    pub(crate) fn after(
        grace: Duration,
        print: impl FnOnce() + Send + 'static,
        record: impl Future<Output = ()> + Send + 'static,
    ) -> io::Result<Interrupt> {
        let mut signals = EndingSignals::receive()?;
        let first = Arc::<OnceLock<_>>::default();
        let received = Arc::clone(&first);
        let mut receiving = JoinSet::new();
        receiving.spawn(async move {
            let status = signals.next().await;
            // Only this task sets it.
            let _ = received.set(status);
            // An error means that the grace period has ended.
            let _ = tokio::time::timeout(grace, signals.next()).await;
            print();
            record.await;
            process::exit(status.into());
        });
        Ok(Interrupt { first, _receiving: receiving })
    }

    /// Returns the exit status of the first signal that was received.
    pub(crate) fn status(&self) -> Option<SignalStatus> {
        self.first.get().copied()
    }
}
