//! The state that all requests share.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use clap::Args;
use kiosque_ingest::stream::StreamIntake;
use kiosque_listener::tls::Certificate;
use kiosque_listener::{Stop, UnreadAnswers};
use kiosque_model::intake::OrderCounts;
use kiosque_model::order::Order;
use kiosque_model::setting::{duration, positive_duration};
use kiosque_model::shares::Shares;
use kiosque_model::{KeyDigest, KeyName, Limits, TrustedProxies, UnixMs};
use kiosque_store::{OnlineSince, Store};

use crate::failure::{FailureKind, SystemFailure};
use crate::failure_log::FailureLog;
use crate::large_answers::LargeAnswers;
use crate::login_limiter::LoginLimiter;
use crate::metrics::Metrics;
use crate::once_per_second::OncePerSecond;
use crate::password::HashSlots;
use crate::refused_logins::RefusedLogins;
use kiosque_clock::{Clock, Entropy, NoEntropy, millis};
use kiosque_locale::Locale;
use tokio::sync::Semaphore;

/// Concurrent reads by the operator's calls.
const OPERATOR_READS_MAX: usize = 2;

/// The settings of a server.
#[derive(Args, Clone, Debug)]
pub struct Settings {
    /// Language of messages if X-Locale specifies none: en or zh-CN.
    #[arg(long, value_name = "LOCALE", default_value = "en")]
    pub default_locale: Locale,
    /// Lifetime of a session.
    #[arg(long, default_value = "2h", value_parser = positive_duration, help_heading = "Logins")]
    pub token_validity: Duration,
    /// Maximum age of a device's last activity at which it counts as online.
    #[arg(long, default_value = "10m", value_parser = positive_duration)]
    pub online_window: Duration,
    /// Interval at which heartbeats are written to the store; a crash loses later ones.
    #[arg(long, default_value = "10s", value_parser = positive_duration, hide_short_help = true)]
    pub activity_flush: Duration,
    /// Archive orders older than this, once an hour [default: never].
    #[arg(long, value_parser = duration)]
    pub archive_after: Option<Duration>,
    /// Proxies whose X-Forwarded-For is trusted: addresses and CIDR ranges [default: none].
    #[arg(long, value_name = "A,B", default_value = "", help_heading = "Network")]
    pub trusted_proxies: TrustedProxies,
    /// Time after which entries of the audit trail are purged.
    #[arg(long, default_value = "365d", value_parser = positive_duration, hide_short_help = true)]
    pub audit_retention: Duration,
    /// See [`Limits`].
    #[command(flatten)]
    pub limits: Limits,
}

/// The service: its store, settings, clock and random source.
#[derive(Debug)]
pub struct App {
    /// Its data.
    pub store: Store,
    /// Its settings.
    pub settings: Settings,
    /// Its clock.
    pub clock: Clock,
    pub(crate) entropy: Entropy,
    /// Hash slots for logins from known sources, which guesses from others cannot occupy.
    pub(crate) known_hash_slots: HashSlots,
    /// Hash slots for all other logins.
    pub(crate) hash_slots: HashSlots,
    pub(crate) login_limiter: LoginLimiter,
    pub(crate) refused_logins: RefusedLogins,
    pub(crate) intake: StreamIntake,
    /// Permits for reads by the operator's calls.
    pub(crate) operator_reads: Semaphore,
    /// Answers that follow changes, shared out by key.
    pub(crate) follows: Shares<KeyName>,
    pub(crate) metrics: Metrics,
    pub(crate) large_answers: LargeAnswers,
    pub(crate) unread_answers: Arc<UnreadAnswers>,
    /// The certificate of the first listener that is serving.
    pub(crate) certificate: OnceLock<Arc<Certificate>>,
    /// The address of the integrators' listener, once it is serving.
    pub(crate) gateway_address: OnceLock<SocketAddr>,
    /// The log of tokens in the wrong place.
    pub(crate) hint_log: OncePerSecond,
    pub(crate) failure_log: FailureLog,
    /// The logged failures by overload, in the order of [`FailureKind::OVERLOAD`].
    overload_logged: [AtomicU64; FailureKind::OVERLOAD.len()],
    /// The writes of the uses of keys.
    key_uses: OncePerSecond,
    /// Set when the server refuses new work.
    pub(crate) stopping: Stop,
    request_prefix: String,
    requests: AtomicU64,
}

impl App {
    /// Returns a service on `store`.
    ///
    /// # Errors
    /// The source of random bytes failed.
    pub fn new(
        store: Store,
        settings: Settings,
        clock: Clock,
        entropy: Entropy,
    ) -> Result<App, NoEntropy> {
        let prefix = u32::from_be_bytes(entropy.bytes()?);
        let metrics = Metrics::new(clock.now());
        Ok(App {
            known_hash_slots: HashSlots::new(&settings.limits),
            hash_slots: HashSlots::new(&settings.limits),
            login_limiter: LoginLimiter::new(&settings.limits, entropy.bytes()?),
            refused_logins: RefusedLogins::default(),
            intake: StreamIntake::new(&store, &clock, &settings.limits),
            operator_reads: Semaphore::new(OPERATOR_READS_MAX),
            follows: Shares::new(settings.limits.change_waits_per_account_max),
            metrics,
            large_answers: LargeAnswers::new(&settings.limits),
            unread_answers: UnreadAnswers::new(&settings.limits),
            certificate: OnceLock::new(),
            gateway_address: OnceLock::new(),
            hint_log: OncePerSecond::new(),
            failure_log: FailureLog::default(),
            overload_logged: Default::default(),
            key_uses: OncePerSecond::new(),
            stopping: Stop::default(),
            store,
            settings,
            clock,
            entropy,
            request_prefix: format!("{prefix:08x}"),
            requests: AtomicU64::new(0),
        })
    }

    /// Stores orders like a stream with a key, for a program that creates valid orders itself.
    ///
    /// # Errors
    /// There are too many streams, or the store failed.
    pub async fn receive_orders(
        &self,
        key: KeyName,
        orders: Vec<Order>,
    ) -> Result<OrderCounts, kiosque_ingest::Error> {
        let mut stream = self.intake.admit(key)?;
        stream.submit_orders(orders).await?;
        let counts = stream.settle().await?;
        self.metrics.received(counts);
        stream.into_outcomes().1.map_or(Ok(counts), Err)
    }

    /// Returns the refused logins, to be written to the audit trail periodically.
    pub fn refused_logins(&self) -> &RefusedLogins {
        &self.refused_logins
    }

    /// Logs the number of requests that failed since the last call: by overload, one line for each
    /// kind, and by failures of the store that were already logged, one line for each cause. The
    /// program calls it once a second.
    pub fn log_failures(&self) {
        self.failure_log.log_repeated();
        let counts = self.metrics.overload().into_iter().zip(&self.overload_logged);
        for ((kind, count), logged) in counts {
            let requests = count.saturating_sub(logged.swap(count, Ordering::Relaxed));
            if requests > 0 {
                tracing::error!(kind, requests, "requests failed because the server is overloaded");
            }
        }
    }

    /// Returns a request id, which is unique in this run and, through a random prefix, across runs.
    pub(crate) fn next_request_id(&self) -> String {
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        format!("{}-{number:x}", self.request_prefix)
    }

    /// Stores the use of a key in the background, at most one per second: neither a failing store
    /// nor many keys cause more writes. The other uses are stored with later requests.
    pub(crate) fn store_key_use(&self, digest: KeyDigest, now: UnixMs) {
        if !self.key_uses.permits(now) {
            return;
        }
        let store = self.store.clone();
        tokio::spawn(async move {
            if let Err(error) = store.operators().store_key_use(digest, now).await {
                tracing::debug!(cause = %error, "the use of a key could not be stored");
            }
        });
    }

    /// Counts and logs a failure of the server.
    pub(crate) fn failed(&self, error: &SystemFailure, request_id: &str) {
        self.failed_with(&error.message, error, request_id);
    }

    /// Counts and logs a failure of the server with a message of its own, such as one that ends an
    /// answer after its beginning.
    pub(crate) fn failed_with(&self, message: &str, error: &SystemFailure, request_id: &str) {
        self.metrics.failed(error.kind);
        self.failure_log.log(error.kind, message, &error.cause, request_id);
    }

    pub(crate) fn session_end(&self, now: UnixMs) -> UnixMs {
        now.plus_ms(millis(self.settings.token_validity))
    }

    pub(crate) fn online_since(&self, now: UnixMs) -> OnlineSince {
        OnlineSince(now.plus_ms(-millis(self.settings.online_window)))
    }
}
