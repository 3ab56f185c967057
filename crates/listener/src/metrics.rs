//! The metrics of a listener's connections.

use prometheus::{IntCounter, IntGauge};

use crate::answer_durations::AnswerDurations;

/// The metrics of the connections of one listener.
#[derive(Clone, Debug)]
pub struct ConnectionMetrics {
    /// Open connections.
    pub open: IntGauge,
    /// Accepted connections.
    pub accepted: IntCounter,
    /// Connections that were closed because their source had the maximum number.
    pub refused: IntCounter,
    /// TLS handshakes that failed.
    pub handshakes_failed: IntCounter,
    /// Durations of answers over HTTP/1.1.
    pub answers: AnswerDurations,
}

impl ConnectionMetrics {
    /// Returns unregistered metrics, for listeners that are not monitored.
    pub fn unregistered() -> ConnectionMetrics {
        let gauge = |name| IntGauge::new(name, name).expect("the name is valid");
        let counter = |name| IntCounter::new(name, name).expect("the name is valid");
        ConnectionMetrics {
            open: gauge("open"),
            accepted: counter("accepted"),
            refused: counter("refused"),
            handshakes_failed: counter("handshakes_failed"),
            answers: AnswerDurations::new(std::iter::empty()),
        }
    }

    /// Counts a connection; it is open until the returned guard is dropped.
    pub(crate) fn connected(&self) -> OpenConnection {
        self.accepted.inc();
        self.open.inc();
        OpenConnection(self.open.clone())
    }
}

/// Counts a connection as open until it is dropped.
#[derive(Debug)]
pub(crate) struct OpenConnection(IntGauge);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.dec();
    }
}
