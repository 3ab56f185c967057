//! The signal that stops listeners and connections.

use tokio::sync::watch;

/// Stops listeners.
#[derive(Clone, Debug, Default)]
pub struct Stop(watch::Sender<bool>);

impl Stop {
    /// Sets the signal: listeners accept no new connection, and requests in progress are answered.
    pub fn now(&self) {
        self.0.send_replace(true);
    }

    /// Returns whether the signal is set.
    pub fn is_set(&self) -> bool {
        *self.0.borrow()
    }

    /// Returns a receiver of the signal.
    pub fn stopping(&self) -> Stopping {
        Stopping(self.0.subscribe())
    }
}

/// Waits for a [`Stop`].
#[derive(Clone, Debug)]
pub struct Stopping(watch::Receiver<bool>);

impl Stopping {
    /// Returns when the signal is set; never if every [`Stop`] was dropped without it.
    pub async fn wait(&mut self) {
        if self.0.wait_for(|stop| *stop).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
