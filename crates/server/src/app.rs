//! What every request shares.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use kiosque_model::{Limits, TrustedProxies, UnixMs};
use kiosque_store::{OnlineSince, Store};

use crate::ingest::stream::Intake;
use crate::locale::Locale;
use crate::login_limiter::LoginLimiter;
use crate::metrics::Metrics;
use crate::operator;
use crate::password::HashSlots;
use crate::refused_logins::RefusedLogins;
use kiosque_clock::{Clock, Entropy, NoEntropy, millis};

/// How a server behaves, where the operator has a say.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What callers are held to.
    pub limits: Limits,
    /// The language of `msg` when `X-Locale` names none that is spoken here.
    pub default_locale: Locale,
    /// How long a session lasts.
    pub token_validity: Duration,
    /// How recent a device's last activity must be for it to count as online.
    pub online_window: Duration,
    /// How often heartbeats are written to the store; a crash loses what came since.
    pub activity_flush: Duration,
    /// Archive by itself what is older than this; never when `None`.
    pub archive_after: Option<Duration>,
    /// Whose `X-Forwarded-For` says where a request comes from.
    pub trusted_proxies: TrustedProxies,
    /// How long the audit trail is kept.
    pub audit_retention: Duration,
}

impl Settings {
    /// Returns the defaults on a machine with `cores` cores.
    #[must_use]
    pub fn for_cores(cores: usize) -> Settings {
        Settings {
            limits: Limits::for_cores(cores),
            default_locale: Locale::En,
            token_validity: Duration::from_secs(7_200),
            online_window: Duration::from_secs(600),
            activity_flush: Duration::from_secs(10),
            archive_after: None,
            trusted_proxies: TrustedProxies::default(),
            audit_retention: Duration::from_secs(365 * 86_400),
        }
    }
}

/// The service: its data, its settings, its time and its chance.
#[derive(Debug)]
pub struct App {
    pub(crate) store: Store,
    pub(crate) settings: Settings,
    pub(crate) clock: Clock,
    pub(crate) entropy: Entropy,
    /// Where passwords from sources that logged in before are hashed, out of the reach of guessers.
    pub(crate) known_hash_slots: HashSlots,
    /// Where all others are.
    pub(crate) hash_slots: HashSlots,
    pub(crate) gate: LoginLimiter,
    pub(crate) trail: RefusedLogins,
    pub(crate) intake: Intake,
    pub(crate) metrics: Metrics,
    stopping: AtomicBool,
    request_prefix: String,
    requests: AtomicU64,
}

impl App {
    /// A service over `store`.
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
        let metrics = Metrics::new(operator::PATHS, clock.now());
        Ok(App {
            known_hash_slots: HashSlots::new(&settings.limits),
            hash_slots: HashSlots::new(&settings.limits),
            gate: LoginLimiter::new(&settings.limits, entropy.bytes()?),
            trail: RefusedLogins::default(),
            intake: Intake::new(&store, &clock, &settings.limits, metrics.orders.clone()),
            metrics,
            stopping: AtomicBool::new(false),
            store,
            settings,
            clock,
            entropy,
            request_prefix: format!("{prefix:08x}"),
            requests: AtomicU64::new(0),
        })
    }

    /// Names a request, here and in the log: unique for this run and, by chance, among runs.
    pub(crate) fn next_request_id(&self) -> String {
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        format!("{}-{number:x}", self.request_prefix)
    }

    /// From now on nothing new is begun.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    pub(crate) fn session_end(&self, now: UnixMs) -> UnixMs {
        now.plus_ms(millis(self.settings.token_validity))
    }

    pub(crate) fn online_since(&self, now: UnixMs) -> OnlineSince {
        OnlineSince(now.plus_ms(-millis(self.settings.online_window)))
    }
}
