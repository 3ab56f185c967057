//! One connection to PostgreSQL, and the statements that it knows.

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use kiosque_locks::lock_ignoring_poison;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{AsyncMessage, Client, NoTls, RowStream, Statement};

use crate::Error;
use crate::sql::Sql;

use super::address::{Address, Encryption, Host};

/// What all connections keep to. A transaction that is left alone gives its locks back.
///
/// Every statement is made of key ranges, each looked up from the one before it, as SQLite does
/// them. So one plan is right whatever the parameters are, and making it anew costs ten times what
/// a page costs; and no other plan is, least of all one that was made while a table was empty.
const SETTINGS: &str = "set idle_in_transaction_session_timeout = '60s'; \
    set client_min_messages = 'warning'; set plan_cache_mode = 'force_generic_plan'; \
    set enable_seqscan = off; set enable_bitmapscan = off; set enable_hashjoin = off; \
    set enable_mergejoin = off; set jit = off";

/// What must be known of a server. The first eight digits of a WAL file's name are its line of
/// time.
const WHO: &str = "select case when pg_is_in_recovery() then '' \
    else substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) end, \
    exists (select 1 from pg_extension where extname = 'citus')";

/// How long to wait for another host once one has answered.
const FOR_A_NEWER_ONE: Duration = Duration::from_millis(150);

/// What is left of a request's time when it has waited for a lock in vain.
const FOR_THE_REST: Duration = Duration::from_millis(100);
/// After how long the plans of a new connection are made anew for the second time.
const FIRST_PLANS_LAST: Duration = Duration::from_millis(100);
/// How long a server is asked to stop what it is at.
const CANCEL_WAIT: Duration = Duration::from_secs(2);

/// Which text of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Form {
    /// Its own.
    Alone,
    /// Behind a proof; see `Sql::proven`.
    Proven,
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(super) client: Client,
    statements: Mutex<HashMap<(usize, Form), Statement>>,
    /// Warnings that the server has sent.
    warnings: Arc<AtomicU64>,
    /// Whether a statement failed since the transaction began, and whether it is worth another try.
    failed: AtomicBool,
    in_the_way: AtomicBool,
    /// Keeps what is sent in one go together.
    pub(super) sending: Mutex<()>,
    /// Which primary this leads to: each promotion begins another line of time.
    pub(super) timeline: String,
    /// How long a request waits.
    pub(super) wait: Duration,
    opened_at: Instant,
    /// How old it was when its plans were made anew, in ms.
    planned_at_age_ms: AtomicU64,
    /// How its server is asked to stop what it is at.
    cancelling: Encryption,
    /// Whether rows lie on shards: then a statement asks for those of one alone.
    pub(super) is_sharded: bool,
}

impl Connection {
    /// Connects to the newest primary among the hosts: one that was replaced and lives on takes
    /// writes, too, and nobody may believe it.
    pub(super) async fn open(address: &Address, wait: Duration) -> Result<Connection, Error> {
        let ends = Instant::now() + wait;
        let hosts = address.hosts.iter().map(|host| async move {
            let opened = until(ends, Connection::open_host(host, &address.encryption, wait)).await;
            opened.map_err(|error| match error {
                Error::Unreachable(why) => format!("{}: {why}", host.name),
                error => format!("{}: {error}", host.name),
            })
        });
        let mut hosts: FuturesUnordered<_> = hosts.collect();
        let (mut newest, mut faults) = (None::<Connection>, Vec::new());
        let mut patience_ends = ends;
        while let Ok(Some(opened)) =
            tokio::time::timeout_at(patience_ends.into(), hosts.next()).await
        {
            match opened {
                Ok(opened) => {
                    patience_ends = patience_ends.min(Instant::now() + FOR_A_NEWER_ONE);
                    let is_newer = newest.as_ref().is_none_or(|it| it.timeline < opened.timeline);
                    newest = if is_newer { Some(opened) } else { newest };
                }
                Err(fault) => faults.push(fault),
            }
        }
        newest.ok_or_else(|| match faults.as_slice() {
            [] => Error::Unreachable(format!("no connection within {wait:?}")),
            faults => Error::Unreachable(faults.join("; ")),
        })
    }

    async fn open_host(
        host: &Host,
        encryption: &Encryption,
        wait: Duration,
    ) -> Result<Connection, Error> {
        let warnings = Arc::new(AtomicU64::new(0));
        let client = match encryption {
            Encryption::None => {
                let (client, connection) = host.config.connect(NoTls).await?;
                tokio::spawn(listen(connection, Arc::clone(&warnings)));
                client
            }
            Encryption::Tls(tls) => {
                let (client, connection) = host.config.connect(tls.clone()).await?;
                tokio::spawn(listen(connection, Arc::clone(&warnings)));
                client
            }
        };
        // Whoever waits for a lock is told that the store is busy, before time runs out for all.
        let for_a_lock = wait.saturating_sub(FOR_THE_REST).max(FOR_THE_REST);
        let (time, for_a_lock) = (wait.as_millis(), for_a_lock.as_millis());
        let settings =
            format!("{SETTINGS}; set statement_timeout = {time}; set lock_timeout = {for_a_lock}");
        client.batch_execute(&settings).await?;
        let who = client.query_one(WHO, &[]).await?;
        Ok(Connection {
            client,
            statements: Mutex::default(),
            warnings,
            failed: AtomicBool::new(false),
            in_the_way: AtomicBool::new(false),
            sending: Mutex::default(),
            wait,
            opened_at: Instant::now(),
            planned_at_age_ms: AtomicU64::new(FIRST_PLANS_LAST.as_millis().try_into().unwrap_or(0)),
            cancelling: encryption.clone(),
            timeline: who.try_get(0)?,
            is_sharded: who.try_get(1)?,
        })
    }

    /// Leaves a connection whose server did not answer in time, and asks it to stop what it is at:
    /// a commit that waits for a standby would wait, and keep its place, long after we have gone.
    pub(super) fn abandon(self) {
        let token = self.client.cancel_token();
        tokio::spawn(async move {
            let asked = async {
                match self.cancelling {
                    Encryption::None => token.cancel_query(NoTls).await,
                    Encryption::Tls(tls) => token.cancel_query(tls).await,
                }
            };
            // If that is not heard either, there is nothing more to do.
            let _ = tokio::time::timeout(CANCEL_WAIT, asked).await;
        });
    }

    /// Has its plans made anew, if it has become twice as old since that was last done: a plan that
    /// was made for a small table looks for rows of a large one in the wrong index, and nobody else
    /// may have told the server to look again.
    pub(super) async fn plan_anew(&self) -> Result<(), Error> {
        let age_ms = u64::try_from(self.opened_at.elapsed().as_millis()).unwrap_or(u64::MAX);
        let planned_at = self.planned_at_age_ms.load(Ordering::Relaxed);
        if age_ms < planned_at.saturating_mul(2) {
            return Ok(());
        }
        let order = Ordering::Relaxed;
        let mine = self.planned_at_age_ms.compare_exchange(planned_at, age_ms, order, order);
        if mine.is_ok() { self.sent_whole(self.simple("discard plans")).await } else { Ok(()) }
    }

    pub(super) fn is_open(&self) -> bool {
        !self.client.is_closed()
    }

    pub(super) fn warnings(&self) -> u64 {
        self.warnings.load(Ordering::Acquire)
    }

    /// A statement of this connection, compiled once.
    pub(super) async fn statement(
        &self,
        sql: &'static Sql,
        form: Form,
        text: &str,
    ) -> Result<Statement, Error> {
        let key = (std::ptr::from_ref(sql).addr(), form);
        let known = || lock_ignoring_poison(&self.statements);
        if let Some(known) = known().get(&key) {
            return Ok(known.clone());
        }
        let statement = self.sent_whole(self.client.prepare(text)).await?;
        known().insert(key, statement.clone());
        Ok(statement)
    }

    /// A statement behind a proof, and which of the columns is its own first.
    pub(super) async fn behind(
        &self,
        proof: &'static Sql,
        asked: &'static Sql,
    ) -> Result<(Statement, usize), Error> {
        let first = self.statement(proof, Form::Alone, proof.for_postgres()?).await?;
        let second = self.statement(asked, Form::Alone, asked.for_postgres()?).await?;
        let columns = (first.columns().len(), second.columns().len());
        let text = asked.with_proof(proof, columns)?;
        Ok((self.statement(asked, Form::Proven, text).await?, columns.0 + 1))
    }

    /// Asks a statement of its own.
    pub(super) async fn rows(
        &self,
        statement: &Statement,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<RowStream, tokio_postgres::Error> {
        self.sent_whole(self.rows_together(statement, params)).await
    }

    /// Asks one of several statements that belong together; whoever polls it has `sending`.
    pub(super) async fn rows_together(
        &self,
        statement: &Statement,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<RowStream, tokio_postgres::Error> {
        self.client.query_raw(statement, params.iter().copied()).await
    }

    /// What is sent when `work` is first polled never comes between statements of others that
    /// belong together.
    async fn sent_whole<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        let mut is_sent = false;
        poll_fn(|context| {
            let _alone = (!is_sent).then(|| lock_ignoring_poison(&self.sending));
            is_sent = true;
            work.as_mut().poll(context)
        })
        .await
    }

    /// The one row of a statement that is asked now and then.
    pub(super) async fn first(
        &self,
        text: &str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<tokio_postgres::Row, Error> {
        Ok(self.client.query_one(text, params).await?)
    }

    /// A statement that is run now and then.
    pub(super) async fn run(
        &self,
        text: &str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<(), Error> {
        self.client.execute(text, params).await?;
        Ok(())
    }

    pub(super) async fn simple(&self, text: &str) -> Result<(), Error> {
        Ok(self.client.batch_execute(text).await?)
    }

    /// Begins a transaction.
    pub(super) async fn begin(&self, text: &str) -> Result<(), Error> {
        self.failed.store(false, Ordering::Release);
        self.in_the_way.store(false, Ordering::Release);
        self.simple(text).await
    }

    /// Whether what failed since the transaction began may do better at another try.
    pub(super) fn was_in_the_way(&self) -> bool {
        self.in_the_way.load(Ordering::Acquire)
    }

    /// Whether a statement failed since the transaction began: then nothing of it will be kept.
    pub(super) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    pub(super) fn note(&self, error: &Error) {
        self.failed.store(true, Ordering::Release);
        if is_in_the_way(error) {
            self.in_the_way.store(true, Ordering::Release);
        }
    }
}

/// Others did the same at the same time: a serialization failure, a deadlock, or a key that was
/// free a moment ago. Or one of several statements on their way together failed for such a cause,
/// and another was heard of first.
pub(super) fn is_in_the_way(error: &Error) -> bool {
    let Error::Postgres(error) = error else { return false };
    let Some(code) = error.code() else { return false };
    [
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::UNIQUE_VIOLATION,
        SqlState::IN_FAILED_SQL_TRANSACTION,
    ]
    .contains(code)
}

/// Drives a connection until it ends, and counts the warnings of its server: a commit that comes
/// with one may not be where it should be.
async fn listen<S, T>(mut connection: tokio_postgres::Connection<S, T>, warnings: Arc<AtomicU64>)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
    T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
        if matches!(message, AsyncMessage::Notice(_)) {
            warnings.fetch_add(1, Ordering::AcqRel);
        }
    }
}

/// Does what can be done until then.
pub(super) async fn until<T>(
    ends: Instant,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    match tokio::time::timeout_at(ends.into(), work).await {
        Ok(done) => done,
        Err(_) => Err(Error::Unreachable("no answer in time".to_owned())),
    }
}
