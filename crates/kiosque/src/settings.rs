//! Settings: each is declared once, here, and read from a flag, an environment variable or the
//! configuration file; the first of them that is given counts.

use std::collections::BTreeSet;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::{Args, CommandFactory};
use kiosque_model::TrustedProxies;
use kiosque_server::locale::Locale;
use kiosque_store::{SessionLease, StoreLocation};
use serde::{Deserialize, Serialize};

use crate::args::Cli;

/// Everything that can be set.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Settings {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) data: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) store: Option<Address>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) timezone: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) log: Option<String>,
    #[serde(flatten)]
    pub(crate) serve: ServeSettings,
}

/// Declares the settings of a server: their help, flag, variable and key.
macro_rules! serve_settings {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $variable:literal, $value:literal;)*) => {
        /// What a server can be told.
        #[derive(Args, Clone, Debug, Default, Deserialize, Serialize)]
        #[command(next_display_order = 10)]
        pub(crate) struct ServeSettings {
            $($(#[$doc])*
            #[arg(long, value_name = $value, env = $variable)]
            #[serde(skip_serializing_if = "Option::is_none")]
            pub(crate) $name: Option<$type>,)*
        }

        /// The keys of a configuration file.
        const KEYS: &[&str] = &["data", "store", "timezone", "log", $(stringify!($name)),*];
    };
}

serve_settings! {
    /// The address to serve on [default: 127.0.0.1:8443].
    listen: SocketAddr = "KIOSQUE_LISTEN", "ADDR";
    /// The address of the operator's calls, /livez, /readyz and /metrics [default:
    /// 127.0.0.1:8444]; a demo has none.
    operator_listen: SocketAddr = "KIOSQUE_OPERATOR_LISTEN", "ADDR";
    /// The certificate and its chain, PEM [default: a self-signed one in DIR/tls].
    tls_cert: PathBuf = "KIOSQUE_TLS_CERT", "FILE";
    /// The certificate's private key, PEM.
    tls_key: PathBuf = "KIOSQUE_TLS_KEY", "FILE";
    /// The language of messages when X-Locale names none: en or zh-CN [default: en].
    default_locale: String = "KIOSQUE_DEFAULT_LOCALE", "LOCALE";
    /// How long a session lasts [default: 2h].
    token_validity: Span = "KIOSQUE_TOKEN_VALIDITY", "DURATION";
    /// How recent a device's last activity is while it counts as online [default: 10m].
    online_window: Span = "KIOSQUE_ONLINE_WINDOW", "DURATION";
    /// How often heartbeats are written to the store; a crash loses those since [default: 10s].
    activity_flush: Span = "KIOSQUE_ACTIVITY_FLUSH", "DURATION";
    /// Make history of orders older than this, once an hour [default: never].
    archive_after: Span = "KIOSQUE_ARCHIVE_AFTER", "DURATION";
    /// Proxies whose X-Forwarded-For counts: addresses and CIDR ranges [default: none].
    trusted_proxies: Proxies = "KIOSQUE_TRUSTED_PROXIES", "A,B";
    /// How long the audit trail is kept [default: 365d].
    audit_retention: Span = "KIOSQUE_AUDIT_RETENTION", "DURATION";
    /// Largest request body, in bytes [default: 1048576].
    body_max_bytes: usize = "KIOSQUE_BODY_MAX_BYTES", "N";
    /// Deepest nesting of a JSON body [default: 32].
    json_max_depth: usize = "KIOSQUE_JSON_MAX_DEPTH", "N";
    /// Largest page size [default: 1000].
    page_size_max: i64 = "KIOSQUE_PAGE_SIZE_MAX", "N";
    /// Longest range of a dashboard, in days [default: 3660].
    dashboard_days_max: i64 = "KIOSQUE_DASHBOARD_DAYS_MAX", "N";
    /// Most device codes in the filter of a dashboard [default: 1000].
    device_codes_max: usize = "KIOSQUE_DEVICE_CODES_MAX", "N";
    /// Largest block of request headers, in bytes [default: 32768].
    header_max_bytes: usize = "KIOSQUE_HEADER_MAX_BYTES", "N";
    /// Connections at a time [default: 10000].
    connections_max: usize = "KIOSQUE_CONNECTIONS_MAX", "N";
    /// HTTP/2 streams at a time on one connection [default: 64].
    http2_streams_max: u32 = "KIOSQUE_HTTP2_STREAMS_MAX", "N";
    /// Deadline of a TLS handshake [default: 10s].
    tls_handshake_deadline: Span = "KIOSQUE_TLS_HANDSHAKE_DEADLINE", "DURATION";
    /// Deadline of the first byte after the handshake [default: 10s].
    first_byte_deadline: Span = "KIOSQUE_FIRST_BYTE_DEADLINE", "DURATION";
    /// Deadline of a request's headers [default: 10s].
    header_deadline: Span = "KIOSQUE_HEADER_DEADLINE", "DURATION";
    /// Deadline of a request's body [default: 15s].
    body_deadline: Span = "KIOSQUE_BODY_DEADLINE", "DURATION";
    /// How long a connection may rest, and a stream of the operator's be silent [default: 75s].
    idle_deadline: Span = "KIOSQUE_IDLE_DEADLINE", "DURATION";
    /// Password hashes at a time: so many for sources that logged in before, and as many for all
    /// others [default: cores - 1, at least 1].
    hash_slots: usize = "KIOSQUE_HASH_SLOTS", "N";
    /// Logins that may wait for a hash slot, of each of these two [default: 64].
    hash_queue: usize = "KIOSQUE_HASH_QUEUE", "N";
    /// How long a login waits for a hash slot [default: 5s].
    hash_wait: Span = "KIOSQUE_HASH_WAIT", "DURATION";
    /// Failed logins that a source is free to make for one login name [default: 10].
    login_failures_free: u32 = "KIOSQUE_LOGIN_FAILURES_FREE", "N";
    /// How long until such a source may fail once more [default: 60s].
    login_failure_refill: Span = "KIOSQUE_LOGIN_FAILURE_REFILL", "DURATION";
    /// Failed logins for one login name that all sources which never logged in with it are free to
    /// make together [default: 100].
    login_failures_unknown_free: u32 = "KIOSQUE_LOGIN_FAILURES_UNKNOWN_FREE", "N";
    /// How long until all of those together may fail once more [default: 2s].
    login_failure_unknown_refill: Span = "KIOSQUE_LOGIN_FAILURE_UNKNOWN_REFILL", "DURATION";
    /// Counts of failed logins kept in memory: so many by source, and as many by login name
    /// [default: 65536].
    login_failures_kept: usize = "KIOSQUE_LOGIN_FAILURES_KEPT", "N";
    /// With --store: how long a node answers for sessions after its last write that reached the
    /// standby; the same on all nodes [default: 1s].
    session_lease: Span = "KIOSQUE_SESSION_LEASE", "DURATION";
    /// With --store: how far a node's clock may be from the database's [default: 500ms].
    clock_skew: Span = "KIOSQUE_CLOCK_SKEW", "DURATION";
    /// How long a request waits for the store [default: 5s].
    store_wait: Span = "KIOSQUE_STORE_WAIT", "DURATION";
    /// How long a stopping server waits for what is under way [default: 10s].
    shutdown_deadline: Span = "KIOSQUE_SHUTDOWN_DEADLINE", "DURATION";
    /// Largest fleet that an operator may send, in bytes [default: 16777216].
    fleet_body_max_bytes: usize = "KIOSQUE_FLEET_BODY_MAX_BYTES", "N";
    /// Streams of orders at a time [default: 64].
    ingest_streams_max: usize = "KIOSQUE_INGEST_STREAMS_MAX", "N";
    /// Text of streamed orders that wait to be stored, in bytes [default: 33554432].
    ingest_queue_max_bytes: usize = "KIOSQUE_INGEST_QUEUE_MAX_BYTES", "N";
    /// Threads that check streamed orders or store them in a file [default: cores - 1, at least 1].
    ingest_threads: usize = "KIOSQUE_INGEST_THREADS", "N";
}

/// A duration as people write it: `250ms`, `2s`, `2h`, `90d`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span(pub(crate) Duration);

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Span, String> {
        let wrong = || format!("{text:?} is no duration; write it like 250ms, 2s, 2h or 90d");
        let parsed: jiff::Span = text.parse().map_err(|_| wrong())?;
        let length = parsed.to_duration(jiff::SpanRelativeTo::days_are_24_hours());
        let length = length.map_err(|_| wrong())?;
        Duration::try_from(length).map(Span).map_err(|_| wrong())
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}ms", self.0.as_millis())
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Span, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl Serialize for Span {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Trusted proxies, written `10.0.0.0/8,192.0.2.1`; in a file a list will do, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Proxies {
    text: String,
    trusted: TrustedProxies,
}

impl FromStr for Proxies {
    type Err = String;

    fn from_str(text: &str) -> Result<Proxies, String> {
        let texts = text.split(',').filter(|_| !text.trim().is_empty());
        Ok(Proxies { text: text.to_owned(), trusted: TrustedProxies::parse(texts)? })
    }
}

impl<'de> Deserialize<'de> for Proxies {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Proxies, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "give a list of addresses and CIDR ranges")]
        enum Given {
            Text(String),
            List(Vec<String>),
        }
        let text = match Given::deserialize(deserializer)? {
            Given::Text(text) => text,
            Given::List(texts) => texts.join(","),
        };
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl Serialize for Proxies {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

/// What counts, of flags, environment and file.
pub(crate) fn settle(cli: &Cli) -> anyhow::Result<Settings> {
    warn_of_unknown_variables();
    let given = Settings {
        data: cli.common.data.clone(),
        store: cli.common.store.clone(),
        timezone: cli.common.timezone.clone(),
        log: cli.common.log.clone(),
        ..cli.command.settings()
    };
    let mut table = match &cli.config {
        Some(path) => read_file(path)?,
        None => toml::Table::new(),
    };
    // What flags and variables say goes over what the file says.
    table.extend(toml::Table::try_from(given).context("the settings cannot be put together")?);
    let settled = table.clone().try_into::<Settings>();
    settled.map_err(|error| match &cli.config {
        Some(path) => anyhow!("{}: {}", path.display(), key_fault(table).unwrap_or(error)),
        None => anyhow!("{error}"),
    })
}

/// The first key that cannot be what it says, named.
fn key_fault(table: toml::Table) -> Option<toml::de::Error> {
    use serde::de::Error;
    table.into_iter().find_map(|(key, value)| {
        let alone = toml::Table::from_iter([(key.clone(), value)]);
        let fault = alone.try_into::<Settings>().err()?;
        Some(toml::de::Error::custom(format!("{key}: {}", fault.to_string().trim_end())))
    })
}

fn read_file(path: &Path) -> anyhow::Result<toml::Table> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let table: toml::Table = text.parse().with_context(|| path.display().to_string())?;
    let unknown: Vec<&str> =
        table.keys().map(String::as_str).filter(|key| !KEYS.contains(key)).collect();
    if unknown.is_empty() {
        Ok(table)
    } else {
        Err(anyhow!("{}: unknown keys: {}", path.display(), unknown.join(", ")))
    }
}

fn warn_of_unknown_variables() {
    let mut known = BTreeSet::new();
    let mut commands = vec![Cli::command()];
    while let Some(command) = commands.pop() {
        known
            .extend(command.get_arguments().filter_map(|arg| arg.get_env()).map(ToOwned::to_owned));
        commands.extend(command.get_subcommands().cloned());
    }
    for (name, _) in std::env::vars_os() {
        let ours = name.to_str().is_some_and(|name| name.starts_with("KIOSQUE_"));
        if ours && !known.contains(&name) {
            eprintln!("warning: {} is no setting of kiosque", name.display());
        }
    }
}

/// Where a PostgreSQL is: an address with a password in it, perhaps, which is shown to nobody.
#[derive(Clone, Deserialize, Serialize)]
#[serde(transparent)]
pub(crate) struct Address(String);

impl Address {
    pub(crate) fn place(&self) -> StoreLocation<'_> {
        StoreLocation::Postgres(&self.0)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Address(***)")
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_postgres = ["postgres://", "postgresql://"].iter().any(|it| text.starts_with(it));
        if is_postgres {
            Ok(Address(text.to_owned()))
        } else {
            Err("is no postgres://…".to_owned())
        }
    }
}

impl ServeSettings {
    /// How long answers about sessions may be relied on.
    pub(crate) fn lease(&self) -> anyhow::Result<SessionLease> {
        let usual = SessionLease::default();
        let lease = SessionLease {
            length: self.session_lease.map_or(usual.length, |span| span.0),
            clock_skew: self.clock_skew.map_or(usual.clock_skew, |span| span.0),
        };
        if lease.length.is_zero() {
            return Err(anyhow!("session_lease: must be more than 0"));
        }
        Ok(lease)
    }

    /// Returns the server's settings, with defaults for those that are not given.
    pub(crate) fn to_server(&self) -> anyhow::Result<kiosque_server::Settings> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let mut settings = kiosque_server::Settings::for_cores(cores);
        if let Some(tag) = &self.default_locale {
            settings.default_locale = Locale::tagged(tag).with_context(|| {
                format!("default_locale: {tag:?} is not spoken here; en and zh-CN are")
            })?;
        }
        let limits = &mut settings.limits;
        macro_rules! set {
            ($($name:ident),*) => { $(if let Some(given) = self.$name { limits.$name = given; })* };
        }
        macro_rules! set_span {
            ($($place:expr => $name:ident),*) => {
                $(if let Some(given) = self.$name { $place = given.0; })*
            };
        }
        set!(body_max_bytes, json_max_depth, page_size_max, header_max_bytes);
        set!(dashboard_days_max, device_codes_max);
        set!(connections_max, http2_streams_max, hash_slots, hash_queue);
        set!(login_failures_free, login_failures_unknown_free, login_failures_kept);
        set!(fleet_body_max_bytes, ingest_streams_max, ingest_queue_max_bytes, ingest_threads);
        set_span!(
            limits.tls_handshake_deadline => tls_handshake_deadline,
            limits.first_byte_deadline => first_byte_deadline,
            limits.header_deadline => header_deadline,
            limits.body_deadline => body_deadline,
            limits.idle_deadline => idle_deadline,
            limits.hash_wait => hash_wait,
            limits.login_failure_refill => login_failure_refill,
            limits.login_failure_unknown_refill => login_failure_unknown_refill,
            limits.store_wait => store_wait,
            limits.shutdown_deadline => shutdown_deadline,
            settings.token_validity => token_validity,
            settings.online_window => online_window,
            settings.audit_retention => audit_retention,
            settings.activity_flush => activity_flush
        );
        settings.archive_after = self.archive_after.map(|span| span.0);
        if let Some(proxies) = &self.trusted_proxies {
            settings.trusted_proxies = proxies.trusted.clone();
        }
        checked(settings)
    }
}

/// The settings, unless one of them that must be more than nothing is nothing.
fn checked(settings: kiosque_server::Settings) -> anyhow::Result<kiosque_server::Settings> {
    let positive = [
        ("page_size_max", settings.limits.page_size_max > 0),
        ("dashboard_days_max", settings.limits.dashboard_days_max > 0),
        ("connections_max", settings.limits.connections_max > 0),
        ("hash_slots", settings.limits.hash_slots > 0),
        ("login_failures_free", settings.limits.login_failures_free > 0),
        ("login_failures_unknown_free", settings.limits.login_failures_unknown_free > 0),
        ("login_failures_kept", settings.limits.login_failures_kept > 0),
        ("audit_retention", !settings.audit_retention.is_zero()),
        ("ingest_streams_max", settings.limits.ingest_streams_max > 0),
        ("ingest_queue_max_bytes", settings.limits.ingest_queue_max_bytes > 0),
        ("ingest_threads", settings.limits.ingest_threads > 0),
        ("token_validity", !settings.token_validity.is_zero()),
        ("activity_flush", !settings.activity_flush.is_zero()),
    ];
    match positive.into_iter().find(|(_, positive)| !positive) {
        Some((name, _)) => Err(anyhow!("{name}: must be more than 0")),
        None => Ok(settings),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_as_people_do() {
        let seconds = |text: &str| text.parse::<Span>().ok().map(|span| span.0.as_secs_f64());
        for (text, want) in [
            ("250ms", Some(0.25)),
            ("2s", Some(2.0)),
            ("2h", Some(7_200.0)),
            ("1h 30m", Some(5_400.0)),
            ("90d", Some(7_776_000.0)),
            ("-2s", None),
            ("2", None),
            ("1mo", None),
            ("", None),
        ] {
            assert_eq!(seconds(text), want, "{text:?}");
        }
    }
}
