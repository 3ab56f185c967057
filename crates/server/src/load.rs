//! The work in progress, for tests that wait until it has reached some point.

use crate::app::App;

/// The work in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Logins whose passwords are being hashed.
    pub hashing: usize,
    /// Logins that wait for a hash slot.
    pub waiting_for_hash: usize,
    /// Whether a transaction of streamed orders is in progress, or about to begin.
    pub storing: bool,
    /// Chunks of streams that wait for the next such transaction.
    pub waiting_to_be_stored: usize,
    /// Order streams that are open.
    pub streams: usize,
    /// Bytes of streams that are being checked or wait to be stored.
    pub queue_bytes: usize,
    /// Memory of large answers that are being sent, in KiB.
    pub large_answers: usize,
    /// Bytes of other answers that have not been sent.
    pub unread_bytes: usize,
}

impl App {
    /// Returns the work in progress.
    #[doc(hidden)]
    pub fn load(&self) -> Load {
        let [known, others] = [&self.known_hash_slots, &self.hash_slots].map(|slots| slots.load());
        let (storing, waiting_to_be_stored) = self.intake.waiting_to_be_stored();
        Load {
            hashing: known.0 + others.0,
            waiting_for_hash: known.1 + others.1,
            storing,
            waiting_to_be_stored,
            streams: self.intake.streams_open(),
            queue_bytes: self.intake.queue_bytes(),
            large_answers: self.large_answers.used(),
            unread_bytes: self.unread_answers.bytes(),
        }
    }
}
