//! Every limit of the service in one place. Each is a setting, and each is hit by a test.

use std::time::Duration;

/// The limits that a server holds its callers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Largest request body, in bytes.
    pub body_max_bytes: usize,
    /// Deepest nesting of a JSON body; the body's own object is depth 1.
    pub json_max_depth: usize,
    /// Largest page size.
    pub page_size_max: i64,
    /// Longest range of a dashboard, in days, by the clock or by the calendar.
    pub dashboard_days_max: i64,
    /// Most device codes in the filter of a dashboard.
    pub device_codes_max: usize,
    /// Largest block of request headers, in bytes; over it HTTP 431 and the connection closes.
    pub header_max_bytes: usize,
    /// Connections at a time; more wait in the listener's backlog.
    pub connections_max: usize,
    /// HTTP/2 streams at a time on one connection.
    pub http2_streams_max: u32,
    /// From the accepted connection to the end of its TLS handshake.
    pub tls_handshake_deadline: Duration,
    /// From the handshake to the first byte of a request.
    pub first_byte_deadline: Duration,
    /// From the first byte of a request's headers to the last.
    pub header_deadline: Duration,
    /// From the end of the headers to the end of the body.
    pub body_deadline: Duration,
    /// A connection on which nothing is under way; and an answer that the caller does not take.
    pub idle_deadline: Duration,
    /// Password hashes computed at a time, for sources that logged in before and for others each.
    pub hash_slots: usize,
    /// Logins that may wait for a hash slot, of each of the two.
    pub hash_queue: usize,
    /// How long a login waits for a hash slot.
    pub hash_wait: Duration,
    /// Failed logins that a source is free to make for one login name: people mistype, and a
    /// forgotten worker retries. Whether such an account exists makes no difference.
    pub login_failures_free: u32,
    /// How long until a source may fail once more for that login name: 1,440 a day at most.
    pub login_failure_refill: Duration,
    /// Failed logins that all sources together are free to make for one login name, if they never
    /// logged in with it: ten of them may each use up what is theirs.
    pub login_failures_unknown_free: u32,
    /// How long until all of those may fail once more: a new source of the integrator must have a
    /// chance beside guessers, who get no more than 43,200 guesses a day out of any number of
    /// sources.
    pub login_failure_unknown_refill: Duration,
    /// Counts of failed logins kept in memory, of each of the two kinds.
    pub login_failures_kept: usize,
    /// How long a request waits for the store.
    pub store_wait: Duration,
    /// How long a stopping server waits for what is under way.
    pub shutdown_deadline: Duration,
    /// Largest fleet that an operator may send, in bytes.
    pub fleet_body_max_bytes: usize,
    /// Streams of orders at a time.
    pub ingest_streams_max: usize,
    /// Text of streamed orders that are read and not stored yet, in bytes, of all streams together.
    pub ingest_queue_max_bytes: usize,
    /// Threads that check streamed orders, and store them in a file, at a time.
    pub ingest_threads: usize,
}

impl Limits {
    /// The limits of a server on a machine with `cores` cores, unless the operator says otherwise.
    #[must_use]
    pub fn for_cores(cores: usize) -> Limits {
        Limits {
            body_max_bytes: 1 << 20,
            json_max_depth: 32,
            page_size_max: 1_000,
            dashboard_days_max: 3_660,
            device_codes_max: 1_000,
            header_max_bytes: 32 << 10,
            connections_max: 10_000,
            http2_streams_max: 64,
            tls_handshake_deadline: Duration::from_secs(10),
            first_byte_deadline: Duration::from_secs(10),
            header_deadline: Duration::from_secs(10),
            body_deadline: Duration::from_secs(15),
            idle_deadline: Duration::from_secs(75),
            hash_slots: cores.saturating_sub(1).max(1),
            hash_queue: 64,
            hash_wait: Duration::from_secs(5),
            login_failures_free: 10,
            login_failure_refill: Duration::from_secs(60),
            login_failures_unknown_free: 100,
            login_failure_unknown_refill: Duration::from_secs(2),
            login_failures_kept: 65_536,
            store_wait: Duration::from_secs(5),
            shutdown_deadline: Duration::from_secs(10),
            fleet_body_max_bytes: 16 << 20,
            ingest_streams_max: 64,
            ingest_queue_max_bytes: 32 << 20,
            // One core is left to those who ask.
            ingest_threads: cores.saturating_sub(1).max(1),
        }
    }
}
