//! The limits that a server enforces. Each is a setting, and a test reaches each.

use std::time::Duration;

use crate::setting::positive;
use crate::settings;

settings! {
    /// The limits of a server.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Limits(cores) {
        /// Largest request body, in bytes.
        body_max_bytes: usize = 1 << 20, topic Limits;
        /// Deepest nesting of a JSON body.
        ///
        /// The outermost object has depth 1.
        json_max_depth: usize = 32, topic Limits;
        /// Largest page size.
        page_size_max: i64 = 1_000, topic Limits, check positive;
        /// Longest range of a dashboard, in days.
        ///
        /// It holds for elapsed time and for calendar days.
        dashboard_days_max: i64 = 3_660, topic Limits, check positive;
        /// Most devices × days of a dashboard that sums the sales of the devices in its filter.
        ///
        /// The default allows ten years of 136 devices, and 500 days of 1,000.
        dashboard_work_max: i64 = 500_000, topic Limits, check positive;
        /// Most device codes in the filter of a dashboard.
        device_codes_max: usize = 1_000, topic Limits;
        /// Largest block of request headers, in bytes.
        ///
        /// A larger one is answered with HTTP 431, and the connection is closed.
        header_max_bytes: usize = 32 << 10, topic Limits;
        /// Concurrent connections of a listener.
        ///
        /// Further ones wait in the backlog of the listening socket.
        connections_max: usize = 10_000, topic Network, check positive;
        /// Concurrent connections of one source to a listener.
        ///
        /// Further ones are closed at once. A source is an IPv4 address or the /64 of an IPv6
        /// address; trusted proxies are not limited.
        connections_per_source_max: usize = 1_000, topic Network, check positive;
        /// Concurrent HTTP/2 streams of a connection.
        http2_streams_max: u32 = 64, topic Network;
        /// Bytes of answers on one connection that are not sent yet.
        ///
        /// With more, further requests on the connection wait until the client has read enough.
        unsent_max_bytes: usize = 4 << 20, topic Limits, check positive;
        /// Memory of answers that are not sent yet, of all connections, in bytes.
        ///
        /// Answers in parts do not count. One account may use a quarter; further answers of it fail
        /// until the client has read enough.
        unread_answers_max_bytes: usize = 128 << 20, topic Limits, check positive;
        /// Memory of large answers that are being sent, in bytes.
        ///
        /// An answer longer than 256 KiB is large, and takes 512 KiB while it is sent in parts. One
        /// account may use a quarter; further large answers wait.
        large_answers_max_bytes: usize = 64 << 20, topic Limits, check positive;
        /// Requests of an account that wait for changes at a time.
        ///
        /// Further ones fail until one of them is answered.
        change_waits_per_account_max: usize = 64, topic Limits, check positive;
        /// Timeout of a TLS handshake.
        ///
        /// It starts when the connection is accepted.
        tls_handshake_deadline: Duration = Duration::from_secs(10), topic Tls;
        /// Timeout between the TLS handshake and the first byte of a request.
        first_byte_deadline: Duration = Duration::from_secs(10), topic Network;
        /// Timeout for the headers of a request, from its first byte.
        header_deadline: Duration = Duration::from_secs(10), topic Network;
        /// Timeout for the body of a request, from the end of its headers.
        body_deadline: Duration = Duration::from_secs(15), topic Network;
        /// Idle timeout of a connection and of an operator's stream.
        ///
        /// It is also the write timeout of a response that the client does not read.
        idle_deadline: Duration = Duration::from_secs(75), topic Network;
        /// Concurrent password hashes, for known sources and for all others each.
        ///
        /// A source is known to an account that it has logged in to.
        hash_slots: usize = cores.saturating_sub(1).max(1), topic Logins,
            shown "cores - 1, at least 1", check positive;
        /// Logins that may wait for a hash slot, of known sources and of all others each.
        hash_queue: usize = 64, topic Logins;
        /// Longest time that a login waits for a hash slot.
        hash_wait: Duration = Duration::from_secs(5), topic Logins;
        /// Burst of failed logins per source and login name.
        ///
        /// It allows for typing errors and for workers with an old password. Names without an
        /// account are limited likewise, so that the limit does not reveal which names exist.
        login_failures_free: u32 = 10, topic Logins, check positive;
        /// Time until a source may fail once more for a login name.
        ///
        /// The default allows 1,440 attempts a day.
        login_failure_refill: Duration = Duration::from_secs(60), topic Logins;
        /// Burst of failed logins per login name, shared by all sources that never logged in to it.
        ///
        /// The default equals the bursts of ten sources.
        login_failures_unknown_free: u32 = 100, topic Logins, check positive;
        /// Time in which these sources together regain half an attempt for that login name.
        ///
        /// The default bounds guessing from any number of sources to 1,900 attempts in the first
        /// hour. Half of the attempts are reserved for the first one of each source in a day, so
        /// that a new source of the integrator can log in meanwhile: 450 at once and one more each
        /// 8 seconds. The other attempts become one more each 4 seconds.
        login_failure_unknown_refill: Duration = Duration::from_secs(2), topic Logins;
        /// Counters of failed logins in memory, by source and by login name each.
        login_failures_kept: usize = 65_536, topic Logins, check positive;
        /// Longest time that a request waits for the store.
        store_wait: Duration = Duration::from_secs(5), topic Limits;
        /// Longest time that a stopping server waits for open requests.
        shutdown_deadline: Duration = Duration::from_secs(10), topic Limits;
        /// Largest fleet that an operator may send, in bytes.
        fleet_body_max_bytes: usize = 16 << 20, topic Limits;
        /// Concurrent streams of orders.
        ingest_streams_max: usize = 64, topic Limits, check positive;
        /// Text of streamed orders that are not stored yet, in bytes, of all streams together.
        ingest_queue_max_bytes: usize = 32 << 20, topic Limits, check positive;
        /// Threads that validate streamed orders, or store them in a file, at the same time.
        ///
        /// The default leaves a core to requests.
        ingest_threads: usize = cores.saturating_sub(1).max(1), topic Limits,
            shown "cores - 1, at least 1", check positive;
        /// Longest time by which a date of an order may lie ahead of its arrival.
        ///
        /// An order that started, was paid or was shipped later than that is rejected.
        order_lead_max: Duration = Duration::from_secs(86_400), topic Limits, help Short;
    }
}
