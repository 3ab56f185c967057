//! The signal that stops listeners and connections.

use tokio::sync::watch;

/// Stops listeners. Clones have the same signal.
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

    /// Returns when the signal is set.
    pub async fn wait(&self) {
        // The channel is open as long as `self` exists.
        let _ = self.0.subscribe().wait_for(|stop| *stop).await;
    }
}
