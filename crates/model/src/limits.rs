//! The limits that a server enforces. Each is a setting, and each is reached by a test.

use std::num::NonZero;
use std::thread;
use std::time::Duration;

use clap::Args;

use crate::setting::{self, at_most, duration, positive, positive_at_most, positive_duration};

/// The maximum of the settings that count concurrent work.
const CONCURRENT_MAX: usize = 1_000_000;

/// The limits of a server.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
#[command(next_help_heading = "Limits")]
pub struct Limits {
    /// Largest request body, in bytes.
    #[arg(long, default_value_t = 1 << 20, value_parser = positive::<usize>)]
    pub body_max_bytes: usize,
    /// Maximum nesting depth of a JSON body.
    ///
    /// The outermost object has depth 1. The JSON parser allows 127.
    #[arg(long, default_value_t = 32, value_parser = positive_at_most::<127>)]
    pub json_max_depth: usize,
    /// Largest page size.
    #[arg(long, default_value_t = 1_000, value_parser = positive::<i64>)]
    pub page_size_max: i64,
    /// Maximum range of a dashboard, in days.
    ///
    /// Applies to elapsed time and to calendar days.
    #[arg(long, default_value_t = 3_660, value_parser = positive::<i64>)]
    pub dashboard_days_max: i64,
    /// Maximum devices × days of a dashboard that sums the sales of filtered devices.
    ///
    /// The default allows ten years of 136 devices, and 500 days of 1,000.
    #[arg(long, default_value_t = 500_000, value_parser = positive::<i64>)]
    pub dashboard_work_max: i64,
    /// Maximum device codes in the filter of a dashboard.
    #[arg(long, default_value_t = 1_000, value_parser = positive::<usize>)]
    pub device_codes_max: usize,
    /// Maximum size of the request headers, in bytes.
    ///
    /// Larger headers are answered with HTTP 431, and the connection is closed.
    #[arg(long, default_value_t = 32 << 10, value_parser = positive::<usize>)]
    pub header_max_bytes: usize,
    /// Concurrent connections of a listener.
    ///
    /// Further connections wait in the backlog of the listening socket.
    #[arg(long, default_value_t = 10_000, value_parser = positive_at_most::<CONCURRENT_MAX>)]
    #[arg(help_heading = "Network")]
    pub connections_max: usize,
    /// Concurrent connections of one source to a listener.
    ///
    /// Further connections are closed at once. A source is an IPv4 address or an IPv6 /64; trusted
    /// proxies are not limited.
    #[arg(long, default_value_t = 1_000, value_parser = positive::<usize>)]
    #[arg(help_heading = "Network")]
    pub connections_per_source_max: usize,
    /// Maximum concurrent HTTP/2 streams of a connection.
    #[arg(long, default_value_t = 64, value_parser = positive::<u32>, help_heading = "Network")]
    pub http2_streams_max: u32,
    /// Maximum unsent bytes of answers on one connection.
    ///
    /// Above this, further requests on the connection wait until the client has read enough.
    #[arg(long, default_value_t = 4 << 20, value_parser = positive::<usize>)]
    pub unsent_max_bytes: usize,
    /// Memory for unsent answers on all connections, in bytes.
    ///
    /// Answers sent in parts do not count. One account may use a quarter; its further answers fail
    /// until the client has read enough.
    #[arg(long, default_value_t = 128 << 20, value_parser = positive::<usize>)]
    pub unread_answers_max_bytes: usize,
    /// Memory for large answers being sent, in bytes.
    ///
    /// Answers over 256 KiB are large, and take 512 KiB each while they are sent in parts. One
    /// account may use a quarter; further large answers wait.
    #[arg(long, default_value_t = 64 << 20, value_parser = positive::<usize>)]
    pub large_answers_max_bytes: usize,
    /// Maximum requests of an account that wait for changes at the same time.
    ///
    /// Further requests fail until one is answered. The same number limits the operator's answers
    /// that follow changes, of all keys together.
    #[arg(long, default_value_t = 64, value_parser = positive::<usize>)]
    pub change_waits_per_account_max: usize,
    /// Timeout of a TLS handshake.
    ///
    /// It starts when the connection is accepted.
    #[arg(long, default_value = "10s", value_parser = positive_duration, help_heading = "TLS")]
    pub tls_handshake_deadline: Duration,
    /// Timeout between the TLS handshake and the first byte of a request.
    #[arg(long, default_value = "10s", value_parser = positive_duration, help_heading = "Network")]
    pub first_byte_deadline: Duration,
    /// Timeout for the headers of a request, from its first byte.
    #[arg(long, default_value = "10s", value_parser = positive_duration, help_heading = "Network")]
    pub header_deadline: Duration,
    /// Timeout for the body of a request, from the end of its headers.
    #[arg(long, default_value = "15s", value_parser = positive_duration, help_heading = "Network")]
    pub body_deadline: Duration,
    /// Idle timeout of a connection and of an operator's stream.
    ///
    /// Also the write timeout of an answer that the client does not read.
    #[arg(long, default_value = "75s", value_parser = positive_duration, help_heading = "Network")]
    pub idle_deadline: Duration,
    /// Concurrent password hashes, counted separately for known and unknown sources [default:
    /// cores - 1, at least 1].
    ///
    /// A source is known to an account after a login to it.
    #[arg(long, default_value_t = spare_cores(), value_parser = positive_at_most::<CONCURRENT_MAX>)]
    #[arg(help_heading = "Logins")]
    pub hash_slots: usize,
    /// Logins that may wait for a hash slot, counted separately for known and unknown sources.
    #[arg(long, default_value_t = 64, value_parser = at_most::<CONCURRENT_MAX>)]
    #[arg(help_heading = "Logins")]
    pub hash_queue: usize,
    /// Maximum time that a login waits for a hash slot.
    #[arg(long, default_value = "5s", value_parser = duration, help_heading = "Logins")]
    pub hash_wait: Duration,
    /// Burst of failed logins per source and login name.
    ///
    /// Allows for typing errors and for workers with an old password. Names without an account are
    /// limited in the same way, so the limit does not reveal which names exist.
    #[arg(long, default_value_t = 10, value_parser = positive::<u32>, help_heading = "Logins")]
    pub login_failures_free: u32,
    /// Time until a source regains one attempt for a login name.
    ///
    /// The default allows 1,440 attempts a day.
    #[arg(long, default_value = "60s", value_parser = duration, help_heading = "Logins")]
    pub login_failure_refill: Duration,
    /// Burst of failed logins per login name, shared by all sources that have never logged in to
    /// it.
    ///
    /// The default equals ten sources' bursts.
    #[arg(long, default_value_t = 100, value_parser = positive::<u32>, help_heading = "Logins")]
    pub login_failures_unknown_free: u32,
    /// Half the time until all unknown sources together regain one attempt for a login name.
    ///
    /// The default bounds guessing from any number of sources to 1,900 attempts in the first hour.
    /// Half of the attempts are reserved for each source's first attempt of a day, so that a new
    /// source of the integrator can still log in: 450 at once and one more every 8 seconds. The
    /// other half regains one every 4 seconds.
    #[arg(long, default_value = "2s", value_parser = duration, help_heading = "Logins")]
    pub login_failure_unknown_refill: Duration,
    /// Counters of failed logins in memory, separately by source and by login name.
    #[arg(long, default_value_t = 65_536, value_parser = positive::<usize>)]
    #[arg(help_heading = "Logins")]
    pub login_failures_kept: usize,
    /// Maximum time that a request waits for the store.
    #[arg(long, default_value = "5s", value_parser = duration)]
    pub store_wait: Duration,
    /// Maximum time that a stopping server waits for open requests.
    #[arg(long, default_value = "10s", value_parser = duration)]
    pub shutdown_deadline: Duration,
    /// Maximum size of a fleet that an operator sends, in bytes.
    #[arg(long, default_value_t = 16 << 20)]
    pub fleet_body_max_bytes: usize,
    /// Concurrent streams of orders.
    #[arg(long, default_value_t = 64, value_parser = positive::<usize>)]
    pub ingest_streams_max: usize,
    /// Maximum size of streamed orders that are not stored yet, in bytes, over all streams.
    #[arg(long, default_value_t = 32 << 20, value_parser = positive::<usize>)]
    pub ingest_queue_max_bytes: usize,
    /// Threads that validate streamed orders, and that store them in a database file [default:
    /// cores - 1, at least 1].
    ///
    /// The default leaves one core for requests.
    #[arg(long, default_value_t = spare_cores(), value_parser = positive_at_most::<CONCURRENT_MAX>)]
    pub ingest_threads: usize,
    /// Maximum time by which a date of an order may be later than its arrival.
    ///
    /// Orders that started, were paid or were shipped later than that are rejected.
    #[arg(long, default_value = "24h", value_parser = duration)]
    pub order_lead_max: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        setting::defaults()
    }
}

/// Returns one less than the number of cores, but at least 1.
fn spare_cores() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get).saturating_sub(1).max(1)
}
