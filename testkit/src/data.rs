//! The location of a test's data on the engine of this run, and access to it that bypasses the
//! store.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use kiosque_clock::Entropy;
use kiosque_model::UnixMs;
use kiosque_store::{Changes, OpenOptions, SessionLease, Store, StoreLocation, WhenAbsent};
use kiosque_testdb::Schema;
use rusqlite::Connection;
use rusqlite::types::Value;
use tempfile::TempDir;
use tokio::sync::OnceCell;
use tokio_postgres::{Client, NoTls};

use crate::sql::sql;
use crate::wait::WAIT_MAX;

/// The variable with the engine of a run: `postgres` or `citus`, or SQLite if it is not set.
const ENGINE: &str = "KIOSQUE_TEST_ENGINE";
/// The engine that distributes the tables over the workers of a cluster.
const CITUS: &str = "citus";
const DATABASE: &str = "kiosque.db";
/// Contains the transactions that are not in the database file yet.
const WAL: &str = "kiosque.db-wal";

/// The one expression of the shared statements that differs between the engines.
const DATE_SQLITE: &str = "date(s.day * 86400, 'unixepoch')";
const DATE_POSTGRES: &str = "(date '1970-01-01' + s.day::integer)";

/// Formats a row of `asked` on PostgreSQL like one of SQLite, where booleans are numbers.
const LIKE_SQLITE: &str = "select (
    select string_agg(case json_typeof(value)
        when 'boolean' then case value::text when 'true' then '1' else '0' end
        when 'null' then 'null'
        else value #>> '{}' end, '|' order by place)
    from json_each(row_to_json(asked)) with ordinality as cells(name, value, place)
) from asked";

/// Creating a shard takes longer than most tests. Scripts that distribute tables at the same time
/// can deadlock, so that one runs at a time, until its session ends.
const FEW_SHARDS: &str = "set citus.shard_count = 2;
select pg_advisory_lock(hashtext('kiosque tests'));";
/// Tables whose rows depend on the run and the engine.
const OF_THE_RUN: [&str; 2] = ["group_histories", "nodes"];

/// The time at which data is created, and the default time of each operation of a `TestStore`.
pub const NOW: UnixMs = UnixMs(1_000_000);

/// Returns whether the data of this run is distributed over a Citus cluster.
pub fn is_citus() -> bool {
    std::env::var(ENGINE).as_deref() == Ok(CITUS)
}

/// A temporary directory or a schema of a PostgreSQL server. Clones share it.
#[derive(Clone)]
pub enum TestData {
    /// SQLite, in files of this directory.
    Directory(Arc<TempDir>),
    /// PostgreSQL, in a schema that several nodes may share.
    Postgres(Arc<PostgresData>),
}

/// A schema, and a connection for queries from async code.
pub struct PostgresData {
    schema: Schema,
    client: OnceCell<Client>,
}

impl PostgresData {
    async fn connect(&self) -> Client {
        let (client, connection) = tokio_postgres::connect(self.schema.url(), NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    }

    /// Returns the first column, which is text. Starting `psql` for each query would take longer.
    async fn query(&self, sql: &str) -> Vec<String> {
        let client = self.client.get_or_init(|| self.connect()).await;
        let rows = client.query(sql, &[]).await.unwrap();
        rows.iter().map(|row| row.get(0)).collect()
    }
}

/// Returns options that create absent data in UTC and wait longer than a test takes.
pub fn open_options(data: &TestData) -> OpenOptions<'_> {
    OpenOptions {
        place: data.location(),
        when_absent: WhenAbsent::Create,
        changes: Changes::Stored,
        zone: None,
        wait: WAIT_MAX,
        lease: SessionLease { length: WAIT_MAX, clock_skew: WAIT_MAX },
        now: NOW,
        random: Entropy::system().bytes().unwrap(),
    }
}

impl TestData {
    /// Returns new data on the engine in `KIOSQUE_TEST_ENGINE`.
    #[expect(clippy::new_without_default, reason = "each has a location of its own")]
    pub fn new() -> TestData {
        match std::env::var(ENGINE).as_deref() {
            Ok("postgres" | CITUS) => TestData::postgres(),
            Ok(other) => panic!("{ENGINE} is {other:?}, which is no engine: use postgres or citus"),
            Err(_) => TestData::sqlite(),
        }
    }

    /// Returns new data on SQLite regardless of the run's engine, for tests of files.
    pub fn sqlite() -> TestData {
        TestData::Directory(Arc::new(TempDir::new().unwrap()))
    }

    /// Returns new data on PostgreSQL regardless of the run's engine. On Citus its tables already
    /// exist and are distributed.
    pub fn postgres() -> TestData {
        let data = TestData::without_tables();
        if is_citus() {
            data.create_tables();
            data.distribute();
        }
        data
    }

    /// Returns a location on PostgreSQL without tables.
    pub fn without_tables() -> TestData {
        TestData::in_schema(Schema::new())
    }

    /// Returns the data of a schema, which may have some already.
    pub fn in_schema(schema: Schema) -> TestData {
        TestData::Postgres(Arc::new(PostgresData { schema, client: OnceCell::new() }))
    }

    /// Creates the tables, in a separate thread: the caller may be async.
    fn create_tables(&self) {
        let options = OpenOptions { lease: SessionLease::default(), ..open_options(self) };
        let create = || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(Store::open(&options)).map(drop)
        };
        std::thread::scope(|scope| scope.spawn(create).join()).unwrap().unwrap();
        // The next store that opens the data records the zone of its test.
        self.execute(&sql("forget_zone"));
    }

    /// Distributes the tables over the workers of a Citus cluster, by the script for operators.
    pub fn distribute(&self) {
        let TestData::Postgres(postgres) = self else { panic!("SQLite has no workers") };
        postgres.schema.script(&format!("{FEW_SHARDS}\n{}", kiosque_store::citus_statements()));
    }

    /// Returns the directory of the data's files, for a test that has requested
    /// [`TestData::sqlite`].
    pub fn files(&self) -> &Path {
        match self {
            TestData::Directory(directory) => directory.path(),
            TestData::Postgres(_) => panic!("the data is in PostgreSQL, not in files"),
        }
    }

    /// Returns whether there is no file, or no table.
    pub fn is_empty(&self) -> bool {
        match self {
            TestData::Directory(directory) => directory.path().read_dir().unwrap().next().is_none(),
            TestData::Postgres(_) => {
                let tables = "select 1 from pg_tables where schemaname = current_schema";
                self.query(tables).is_empty()
            }
        }
    }

    /// Returns the location in the form that the store takes.
    pub fn location(&self) -> StoreLocation<'_> {
        match self {
            TestData::Directory(directory) => StoreLocation::Directory(directory.path()),
            TestData::Postgres(postgres) => StoreLocation::Postgres(postgres.schema.url()),
        }
    }

    /// Returns the rows of a statement, each as text with `|` between its cells.
    pub fn query(&self, sql: &str) -> Vec<String> {
        match self {
            TestData::Directory(directory) => query(&connect(directory.path()), sql),
            TestData::Postgres(postgres) => lines(&postgres.schema.sql(&like_sqlite(sql))),
        }
    }

    /// Returns every row of every table, in an order that does not depend on the engine.
    pub fn rows(&self) -> Vec<String> {
        let mut rows = match self {
            TestData::Directory(directory) => {
                let connection = connect(directory.path());
                let selects = self.tables().into_iter().map(|table| every_row(&table));
                selects.flat_map(|sql| query(&connection, &sql)).collect()
            }
            // One run of `psql`, since starting it takes longer than all the queries.
            TestData::Postgres(postgres) => {
                let tables = self.tables().into_iter();
                let selects = tables.map(|table| like_sqlite(&every_row(&table)));
                lines(&postgres.schema.sql(&selects.collect::<Vec<_>>().join("; ")))
            }
        };
        rows.sort_unstable();
        rows
    }

    /// Runs statements, for tests of one engine. On PostgreSQL each is a separate transaction.
    pub fn execute(&self, sql: &str) {
        match self {
            TestData::Directory(directory) => connect(directory.path()).execute_batch(sql).unwrap(),
            TestData::Postgres(postgres) => postgres.schema.script(sql),
        }
    }

    /// Changes rows with a statement, which must change at least one.
    pub fn tamper(&self, sql: &str) {
        let changed = match self {
            TestData::Directory(directory) => connect(directory.path()).execute(sql, []).unwrap(),
            TestData::Postgres(postgres) => {
                lines(&postgres.schema.sql(&format!("{sql} returning 1"))).len()
            }
        };
        assert!(changed > 0, "{sql} changes nothing");
    }

    /// Returns everything stored, as bytes: the database files, or every row with its transaction.
    /// Requests that only read do not change them, nor do transactions that are rolled back.
    pub async fn bytes(&self) -> Vec<Vec<u8>> {
        match self {
            TestData::Directory(directory) => {
                let read = |name| std::fs::read(directory.path().join(name)).unwrap();
                [DATABASE, WAL].map(read).to_vec()
            }
            TestData::Postgres(postgres) => {
                let every_row = sql(if is_citus() { "every_row_citus" } else { "every_row" });
                postgres.query(&every_row).await.into_iter().map(String::into_bytes).collect()
            }
        }
    }

    /// Returns a value that is equal to an earlier one only if nothing was written meanwhile.
    pub async fn fingerprint(&self) -> Fingerprint {
        Fingerprint(self.bytes().await)
    }

    /// Returns an identifier of each transaction that wrote orders.
    pub async fn commits(&self) -> BTreeSet<String> {
        match self {
            TestData::Directory(directory) => {
                commits_in(&std::fs::read(directory.path().join(WAL)).unwrap())
            }
            TestData::Postgres(postgres) => {
                let writers = sql(match is_citus() {
                    true => "writers_of_orders_citus",
                    false => "writers_of_orders",
                });
                postgres.query(&writers).await.into_iter().collect()
            }
        }
    }

    /// Begins a transaction that blocks every other writer, but no reader, until it is released or
    /// dropped.
    pub async fn block_writes(&self) -> WriteLock {
        let hold = sql(match self {
            TestData::Directory(_) => "hold_writes_sqlite",
            TestData::Postgres(_) => "hold_writes_postgres",
        });
        self.begin(&hold).await
    }

    /// Runs a statement in a separate transaction, which holds its locks until it is released or
    /// dropped.
    pub async fn hold(&self, sql: &str) -> WriteLock {
        self.begin(&format!("begin; {sql}")).await
    }

    async fn begin(&self, sql: &str) -> WriteLock {
        match self {
            TestData::Directory(directory) => {
                let connection = connect(directory.path());
                connection.execute_batch(sql).unwrap();
                WriteLock(Holder::Sqlite(connection))
            }
            TestData::Postgres(postgres) => {
                let client = postgres.connect().await;
                client.batch_execute(sql).await.unwrap();
                WriteLock(Holder::Postgres(client))
            }
        }
    }

    /// Begins a transaction that locks a group, as an apply does, until it is released or dropped.
    /// SQLite has no locks of groups.
    pub async fn lock_group(&self, group: &str) -> WriteLock {
        assert!(matches!(self, TestData::Postgres(_)), "SQLite has no locks of groups");
        self.begin(&sql("hold_group").replace("GROUP", group)).await
    }

    /// Destroys the data under a store that has not read any of it.
    pub fn destroy(&self) {
        match self {
            // Everything is still in the log.
            TestData::Directory(directory) => {
                std::fs::write(directory.path().join(WAL), "").unwrap()
            }
            TestData::Postgres(_) => self.execute(&sql("tear_down")),
        }
    }

    fn tables(&self) -> Vec<String> {
        let mut tables = self.query(match self {
            TestData::Directory(_) => "select name from sqlite_schema where type = 'table'",
            TestData::Postgres(_) => {
                "select table_name from information_schema.tables
                where table_schema = current_schema()"
            }
        });
        tables.retain(|table| !OF_THE_RUN.contains(&table.as_str()));
        tables
    }
}

/// Everything stored at one time. It has no `Debug`: a difference is too long to print.
#[derive(PartialEq, Eq)]
pub struct Fingerprint(Vec<Vec<u8>>);

/// A transaction that holds locks; see [`TestData::block_writes`] and [`TestData::hold`].
pub struct WriteLock(Holder);

enum Holder {
    Sqlite(Connection),
    Postgres(Client),
}

impl WriteLock {
    /// Rolls the transaction back, and returns when other writers can continue. Dropping the lock
    /// does not wait for that.
    pub async fn release(self) {
        match self.0 {
            Holder::Sqlite(connection) => connection.execute_batch("rollback").unwrap(),
            Holder::Postgres(client) => client.batch_execute("rollback").await.unwrap(),
        }
    }
}

fn connect(directory: &Path) -> Connection {
    Connection::open(directory.join(DATABASE)).unwrap()
}

fn every_row(table: &str) -> String {
    format!("select '{table}' as of_table, * from {table}")
}

fn like_sqlite(sql: &str) -> String {
    // Citus cannot send functions to the shards that are not immutable: the rows come first.
    let sql = sql.replace(DATE_SQLITE, DATE_POSTGRES);
    format!("with asked as materialized ({sql}) {LIKE_SQLITE}")
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

fn query(connection: &Connection, sql: &str) -> Vec<String> {
    let mut statement = connection.prepare(sql).unwrap();
    let columns = statement.column_count();
    let row = |row: &rusqlite::Row<'_>| {
        let cells = (0..columns).map(|column| Ok(text(row.get(column)?)));
        Ok(cells.collect::<rusqlite::Result<Vec<String>>>()?.join("|"))
    };
    statement.query_map([], row).unwrap().map(Result::unwrap).collect()
}

fn text(value: Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Integer(int) => int.to_string(),
        Value::Text(text) => text,
        // As PostgreSQL shows them.
        Value::Blob(bytes) => {
            bytes.iter().fold("\\x".to_owned(), |text, byte| format!("{text}{byte:02x}"))
        }
        other @ Value::Real(_) => format!("{other:?}"),
    }
}

/// Returns the frames of a write-ahead log that end a transaction: those with the size of the
/// database after it.
fn commits_in(log: &[u8]) -> BTreeSet<String> {
    let page = u32::from_be_bytes(log[8..12].try_into().unwrap());
    let frames = log[32..].chunks_exact(24 + usize::try_from(page).unwrap());
    let ends = frames.enumerate().filter(|(_, frame)| frame[4..8] != [0; 4]);
    ends.map(|(at, _)| at.to_string()).collect()
}
