//! A connection to PostgreSQL and its prepared statements.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use kiosque_locks::lock_ignoring_poison;
use tokio_postgres::types::ToSql;
use tokio_postgres::{AsyncMessage, Client, RowStream, Statement};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::Error;
use crate::sql::Sql;

use super::address::{Address, Host};
use super::conflict::is_conflict;
use super::no_access;

/// The settings of every connection, whatever those of the role are. The server ends a transaction
/// that idles, which releases its locks.
const SETTINGS: &str = "set idle_in_transaction_session_timeout = '60s'; \
    set idle_session_timeout = 0; \
    set default_transaction_isolation = 'read committed'; \
    set client_min_messages = 'warning'";
/// The planner's settings on every connection, and on the workers of Citus.
///
/// Every statement is a nested loop of key ranges, as on SQLite. That plan is right for all
/// parameters and table sizes, and the planner must not choose another one because a table is still
/// empty, or because it overestimates a range of a large one.
///
/// One process runs a statement: parallel workers would return the rows of a union in any order,
/// and take the cores of other requests.
///
/// Plans are generic: planning costs ten times as much as reading a page. On the workers, which
/// plan each statement again, a plan for specific arrays would depend on their length, and on
/// statistics that a new table does not have yet.
pub(crate) const PLANNER: [&str; 8] = [
    "enable_seqscan = off",
    "enable_bitmapscan = off",
    "enable_hashjoin = off",
    "enable_mergejoin = off",
    "enable_material = off",
    "max_parallel_workers_per_gather = 0",
    "jit = off",
    "plan_cache_mode = force_generic_plan",
];

/// The settings of connections to Citus, besides [`SETTINGS`].
///
/// Citus finds the shard of a statement by the values of its parameters, which a generic plan does
/// not have: it refuses all but the simplest statements, and runs others on every shard. With
/// `auto` it plans those for each use. The few statements on all shards use one connection to each
/// worker; with several, a transaction that has written to a reference table could not read it in
/// them.
const CITUS_SETTINGS: &str = "set plan_cache_mode = 'auto'; \
    set citus.multi_shard_modify_mode = 'sequential'; \
    set citus.max_adaptive_executor_pool_size = 1";
/// Reads the number of a Citus server, which is 0 for the coordinator.
const CITUS_SERVER: &str = "select groupid from pg_catalog.pg_dist_local_group";
/// The error for a worker, where some tables are absent and locks only apply to that worker.
const IS_WORKER: &str = "this is a Citus worker: specify the coordinator";

/// Reads the server's timeline, whether it has Citus, when it was started, and the identifier of
/// its cluster, which its standbys have, too. A WAL file's name begins with the eight digits of its
/// timeline.
const SERVER: &str = "select case when pg_is_in_recovery() then '' \
    else substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) end, \
    exists (select 1 from pg_extension where extname = 'citus'), \
    (extract(epoch from pg_postmaster_start_time()) * 1000000)::bigint::text, \
    (select system_identifier::text from pg_control_system())";

/// How long to wait for hosts with a newer timeline after the first answer.
const NEWER_HOST_WAIT: Duration = Duration::from_millis(150);

/// The part of a request's time that remains after it waited for a lock in vain.
const AFTER_LOCK_TIMEOUT: Duration = Duration::from_millis(100);
/// The age of a connection at which its plans are first considered old.
const FIRST_REPLAN_AGE: Duration = Duration::from_millis(100);
/// How long to try to cancel a statement.
const CANCEL_WAIT: Duration = Duration::from_secs(2);
/// How long a statement may take to end after it was cancelled.
const CANCELLED_WAIT: Duration = Duration::from_secs(1);

/// Statements that were prepared as one.
#[derive(Debug)]
pub(super) struct Union {
    pub(super) statement: Statement,
    /// The positions of the columns of each statement, unless it is the only one.
    pub(super) columns: Vec<Vec<usize>>,
}

/// The failures of statements since a transaction began.
#[derive(Debug, Default)]
pub(super) struct Failures {
    /// Whether a statement failed, so that the transaction cannot commit.
    pub(super) has_failed: bool,
    /// Whether a failure was a conflict, so that a retry may succeed.
    pub(super) had_conflict: bool,
    /// The server's message if it ran out of disk space.
    pub(super) no_room: Option<String>,
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(super) client: Client,
    /// Prepared statements by SQL text.
    pub(super) statements: Mutex<HashMap<String, Statement, RandomState>>,
    /// Prepared unions by the addresses of their statements.
    pub(super) unions: Mutex<HashMap<Vec<usize>, Arc<Union>>>,
    /// The number of warnings from the server.
    warnings: Arc<AtomicU64>,
    failures: Mutex<Failures>,
    /// The server's timeline ID. It changes with every promotion.
    pub(super) timeline: String,
    /// The server's timeline and its cluster: data that was dumped and restored has the rows of
    /// another cluster, whose timelines were the same.
    pub(super) primary: String,
    /// The server's timeline and the time of its start: no other server has both, nor this one
    /// after its files were replaced.
    pub(super) server: String,
    /// How long a request waits.
    pub(super) wait: Duration,
    opened_at: Instant,
    /// The age at which its plans were last discarded, in ms.
    replanned_at_age_ms: AtomicU64,
    address: Arc<Address>,
    /// Whether a cancel request was sent, which may arrive late.
    cancelled: AtomicBool,
    /// Whether tables are distributed: then a statement may touch one shard only.
    pub(super) is_sharded: bool,
}

impl Connection {
    /// Connects to the primary with the newest timeline. A primary that was replaced but still runs
    /// also accepts writes, and its answers are wrong.
    pub(super) async fn open(address: &Arc<Address>, wait: Duration) -> Result<Connection, Error> {
        let ends = Instant::now() + wait;
        let hosts = address.hosts.iter().map(|host| async move {
            let opened = until(ends, Connection::open_host(address, host, wait)).await;
            opened.map_err(|error| {
                let is_refused = matches!(error, Error::NoAccess(_));
                let why = match error {
                    Error::Unreachable(why) | Error::NoAccess(why) => why,
                    error => error.to_string(),
                };
                (is_refused, format!("{}: {why}", host.name))
            })
        });
        let mut hosts: FuturesUnordered<_> = hosts.collect();
        let mut newest = None::<Connection>;
        let mut errors = Vec::new();
        let mut deadline = ends;
        let mut refused = 0;
        while let Ok(Some(opened)) = tokio::time::timeout_at(deadline.into(), hosts.next()).await {
            match opened {
                Ok(opened) => {
                    deadline = deadline.min(Instant::now() + NEWER_HOST_WAIT);
                    let is_newer = newest.as_ref().is_none_or(|it| it.timeline < opened.timeline);
                    newest = if is_newer { Some(opened) } else { newest };
                }
                Err((is_refused, error)) => {
                    refused += usize::from(is_refused);
                    errors.push(error);
                }
            }
        }
        newest.ok_or_else(|| match errors.as_slice() {
            [] => Error::Unreachable(format!("no connection within {wait:?}")),
            // A host that does not answer now may be the primary, and accept the role.
            errors if refused == address.hosts.len() => Error::NoAccess(errors.join("; ")),
            errors => Error::Unreachable(errors.join("; ")),
        })
    }

    async fn open_host(
        address: &Arc<Address>,
        host: &Host,
        wait: Duration,
    ) -> Result<Connection, Error> {
        let warnings = Arc::new(AtomicU64::new(0));
        let client = connect(host, address.tls.clone(), &warnings).await?;
        // A request that waits for a lock fails as busy before its time is up.
        let lock_timeout = wait.saturating_sub(AFTER_LOCK_TIMEOUT).max(AFTER_LOCK_TIMEOUT);
        let (time, lock_timeout) = (timeout_ms(wait), timeout_ms(lock_timeout));
        let planner = PLANNER.map(|setting| format!("set {setting}")).join("; ");
        let settings = format!(
            "{SETTINGS}; {planner}; set statement_timeout = {time}; \
             set lock_timeout = {lock_timeout}"
        );
        client.batch_execute(&settings).await?;
        let server = client.query_one(SERVER, &[]).await?;
        let (timeline, is_sharded): (String, bool) = (server.try_get(0)?, server.try_get(1)?);
        if is_sharded {
            client.batch_execute(CITUS_SETTINGS).await?;
            if client.query_one(CITUS_SERVER, &[]).await?.try_get::<_, i32>(0)? != 0 {
                return Err(Error::Unreachable(IS_WORKER.to_owned()));
            }
        }
        Ok(Connection {
            client,
            statements: Mutex::default(),
            unions: Mutex::default(),
            warnings,
            failures: Mutex::default(),
            wait,
            opened_at: Instant::now(),
            replanned_at_age_ms: AtomicU64::new(
                FIRST_REPLAN_AGE.as_millis().try_into().unwrap_or(0),
            ),
            address: Arc::clone(address),
            cancelled: AtomicBool::new(false),
            primary: format!("{timeline} {}", server.try_get::<_, String>(3)?),
            server: format!("{timeline} {}", server.try_get::<_, String>(2)?),
            timeline,
            is_sharded,
        })
    }

    /// Closes a connection whose server did not answer in time, and cancels its statement: a commit
    /// that waits for a standby would keep waiting and occupy the server's connection.
    pub(super) fn abandon(self) {
        tokio::spawn(async move { self.cancel().await });
    }

    /// Cancels the statement that the server runs for this connection. If this also fails, nothing
    /// more can be done.
    pub(super) async fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
        let token = self.client.cancel_token();
        let cancelled = token.cancel_query(self.address.tls.clone());
        let _ = tokio::time::timeout(CANCEL_WAIT, cancelled).await;
    }

    /// Ends a read at its deadline, and returns the failure. A server that cancels a statement on
    /// request can be relied on.
    pub(super) async fn ended_at_deadline<T, E: From<Error>>(
        &self,
        read: impl Future<Output = Result<T, E>>,
    ) -> E {
        self.cancel().await;
        match tokio::time::timeout(CANCELLED_WAIT, read).await {
            Ok(Err(error)) if !self.is_open() => error,
            Ok(_) => Error::TooMuchWork("a read was ended at its deadline").into(),
            Err(_) => Error::Unreachable(format!("no answer within {:?}", self.wait)).into(),
        }
    }

    /// Returns whether another transaction may use it. A cancel request that arrives late would
    /// cancel a statement of that transaction.
    pub(super) fn is_reusable(&self) -> bool {
        !self.cancelled.load(Ordering::Relaxed)
    }

    /// Discards its plans if it is twice as old as when they were last discarded. A plan for a
    /// small table may use the wrong index once the table is large, and the server does not notice
    /// unless the table is analyzed.
    pub(super) async fn replan_if_old(&self) -> Result<(), Error> {
        let age_ms = u64::try_from(self.opened_at.elapsed().as_millis()).unwrap_or(u64::MAX);
        let replanned_at = self.replanned_at_age_ms.load(Ordering::Relaxed);
        if age_ms < replanned_at.saturating_mul(2) {
            return Ok(());
        }
        let order = Ordering::Relaxed;
        let mine = self.replanned_at_age_ms.compare_exchange(replanned_at, age_ms, order, order);
        if mine.is_ok() { self.simple("discard plans").await } else { Ok(()) }
    }

    pub(super) fn is_open(&self) -> bool {
        !self.client.is_closed()
    }

    pub(super) fn warnings(&self) -> u64 {
        self.warnings.load(Ordering::Acquire)
    }

    /// Returns a prepared statement; this connection prepares each statement once.
    pub(super) async fn statement(&self, sql: &'static Sql) -> Result<Statement, Error> {
        self.prepared(sql.for_postgres()?).await
    }

    /// Returns the prepared statement with a text; this connection prepares each one once.
    pub(super) async fn prepared(&self, text: &str) -> Result<Statement, Error> {
        if let Some(known) = lock_ignoring_poison(&self.statements).get(text) {
            return Ok(known.clone());
        }
        let statement = self.prepare(text).await?;
        lock_ignoring_poison(&self.statements).insert(text.to_owned(), statement.clone());
        Ok(statement)
    }

    /// Prepares a statement that is not known to this connection.
    pub(super) async fn prepare(&self, text: &str) -> Result<Statement, Error> {
        Ok(self.client.prepare(text).await?)
    }

    /// Runs a statement.
    pub(super) async fn rows(
        &self,
        statement: &Statement,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<RowStream, tokio_postgres::Error> {
        self.client.query_raw(statement, params.iter().copied()).await
    }

    pub(super) async fn simple(&self, text: &str) -> Result<(), Error> {
        Ok(self.client.batch_execute(text).await?)
    }

    /// Begins a transaction.
    pub(super) async fn begin(&self, text: &str) -> Result<(), Error> {
        self.take_failures();
        self.simple(text).await
    }

    /// Removes and returns the failures of statements since the transaction began.
    pub(super) fn take_failures(&self) -> Failures {
        std::mem::take(&mut *lock_ignoring_poison(&self.failures))
    }

    pub(super) fn note(&self, error: &Error) {
        let mut failures = lock_ignoring_poison(&self.failures);
        failures.has_failed = true;
        failures.had_conflict |= is_conflict(error);
        if let Error::File(reason) = error {
            failures.no_room = Some(reason.clone());
        }
    }
}

/// Connects to a host. A task drives the connection until it ends, and counts the server's
/// warnings: a commit with a warning may not have reached the standby.
async fn connect(
    host: &Host,
    tls: MakeRustlsConnect,
    warnings: &Arc<AtomicU64>,
) -> Result<Client, Error> {
    let connected = host.config.connect(tls).await;
    let (client, mut connection) = connected.map_err(|error| no_access::of_host(host, error))?;
    no_access::check_encoding(host, connection.parameter("server_encoding"))?;
    let warnings = Arc::clone(warnings);
    tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
            if matches!(message, AsyncMessage::Notice(_)) {
                warnings.fetch_add(1, Ordering::AcqRel);
            }
        }
    });
    Ok(client)
}

/// Returns a timeout of the server, in ms: at most 24 days, since it counts them in 32 bits.
fn timeout_ms(length: Duration) -> i32 {
    length.as_millis().try_into().unwrap_or(i32::MAX)
}

/// Returns the settings, by `set` or `set local`, of reads whose statements take at most `most`. A
/// statement waits for a lock half as long: one that another program holds is then not taken for
/// the work of the read, even if the statement begins late.
pub(super) fn limits_of_read(set: &str, most: Duration) -> String {
    let most = timeout_ms(most).max(1);
    let lock_wait = (most / 2).max(1);
    format!("{set} statement_timeout = {most}; {set} lock_timeout = {lock_wait}")
}

/// Runs `work` with a deadline.
pub(super) async fn until<T>(
    ends: Instant,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    tokio::time::timeout_at(ends.into(), work).await?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain;

    /// A generic plan has no parameter values, by which Citus finds the shard.
    #[test]
    fn no_plan_is_generic_on_citus() {
        assert!(PLANNER.contains(&"plan_cache_mode = force_generic_plan"));
        assert!(CITUS_SETTINGS.contains("set plan_cache_mode = 'auto'"));
    }

    /// A login at the same time as others would fail with another isolation, an idle connection
    /// would be closed, and parallel workers would return the rows of a union in any order.
    #[tokio::test]
    async fn the_settings_of_a_role_do_not_apply() {
        let schema = explain::with_tables().await;
        let of_role = ["default_transaction_isolation%3Dserializable", "idle_session_timeout%3D9s"];
        let of_role = of_role.map(|setting| format!("%20-c%20{setting}")).concat();
        let address =
            Arc::new(Address::parse(&(schema.url().to_owned() + &of_role)).expect("a URL"));
        let opened = Connection::open(&address, Duration::from_secs(60)).await;
        let connection = opened.expect("a connection");
        let settings = [
            ("default_transaction_isolation", "read committed"),
            ("idle_session_timeout", "0"),
            ("max_parallel_workers_per_gather", "0"),
        ];
        for (setting, expected) in settings {
            let shown = connection.client.query_one(&format!("show {setting}"), &[]).await;
            assert_eq!(shown.expect("a setting").get::<_, String>(0), expected, "{setting}");
        }
    }

    /// The server counts timeouts in 32 bits.
    #[test]
    fn a_timeout_is_at_most_24_days() {
        let timeouts = [0, 24, 25].map(|days| timeout_ms(Duration::from_secs(days * 86_400)));
        assert_eq!(timeouts, [0, 2_073_600_000, i32::MAX]);
    }
}
