//! The location of a store's data, and access to its rows without the store.

use std::path::Path;

use kiosque_store::StoreLocation;
use kiosque_testdb::Place;
use rusqlite::Connection;
use rusqlite::types::Value;
use tempfile::TempDir;

/// `postgres`: a run is about PostgreSQL. Unset: about SQLite.
const SETTING: &str = "KIOSQUE_TEST_ENGINE";

/// A row of PostgreSQL as SQLite prints it, whose booleans are numbers.
const LIKE_SQLITE: &str = "select (
    select string_agg(case json_typeof(value)
        when 'boolean' then case value::text when 'true' then '1' else '0' end
        when 'null' then 'null'
        else value #>> '{}' end, '|' order by place)
    from json_each(row_to_json(asked)) with ordinality as cells(name, value, place)
) from";

/// Rows that describe this run or this engine, not the changes to the data.
const ABOUT_NODES: [&str; 2] = ["nodes", "primaries"];

/// A folder, or a schema of a PostgreSQL when this run is about that.
pub(crate) enum TestData {
    Folder(TempDir),
    Postgres(Place),
}

impl TestData {
    pub(crate) fn new() -> TestData {
        match std::env::var(SETTING).as_deref() {
            Ok("postgres") => TestData::postgres(),
            Ok(other) => panic!("{SETTING} is {other}, which is no engine"),
            Err(_) => TestData::folder(),
        }
    }

    /// SQLite, in every run: for tests of files (their copies and their names), which PostgreSQL
    /// does not have.
    pub(crate) fn folder() -> TestData {
        TestData::Folder(TempDir::new().unwrap())
    }

    /// PostgreSQL, in every run: for tests of behaviour that it alone has.
    pub(crate) fn postgres() -> TestData {
        TestData::Postgres(Place::new())
    }

    /// The folder of the data's files, for a test that uses [`TestData::folder`].
    pub(crate) fn files(&self) -> &Path {
        match self {
            TestData::Folder(folder) => folder.path(),
            TestData::Postgres(_) => panic!("PostgreSQL keeps no files that are ours"),
        }
    }

    pub(crate) fn store_place(&self) -> StoreLocation<'_> {
        match self {
            TestData::Folder(folder) => StoreLocation::Folder(folder.path()),
            TestData::Postgres(place) => StoreLocation::Postgres(place.url()),
        }
    }

    /// The rows of a statement, each as text, its cells between bars.
    pub(crate) fn ask(&self, sql: &str) -> Vec<String> {
        match self {
            TestData::Folder(folder) => ask(&connect(folder.path()), sql),
            TestData::Postgres(place) => lines(&place.sql(&like_sqlite(sql))),
        }
    }

    /// Every row of every table, in an order that does not depend on the engine.
    pub(crate) fn rows(&self) -> Vec<String> {
        let mut rows = match self {
            TestData::Folder(folder) => {
                let connection = connect(folder.path());
                let asked = self.tables().into_iter().map(|table| every_row(&table));
                asked.flat_map(|sql| ask(&connection, &sql)).collect()
            }
            // All in one: starting `psql` takes longer than its work here.
            TestData::Postgres(place) => {
                let asked = self.tables().into_iter().map(|table| like_sqlite(&every_row(&table)));
                lines(&place.sql(&asked.collect::<Vec<_>>().join("; ")))
            }
        };
        rows.sort_unstable();
        rows
    }

    /// Changes rows.
    pub(crate) fn tamper(&self, sql: &str) {
        let changed = match self {
            TestData::Folder(folder) => connect(folder.path()).execute(sql, []).unwrap(),
            TestData::Postgres(place) => lines(&place.sql(&format!("{sql} returning 1"))).len(),
        };
        assert!(changed > 0, "{sql} changes nothing");
    }

    /// Blocks every writer.
    pub(crate) async fn occupy(&self) -> Occupied {
        match self {
            TestData::Folder(folder) => {
                let holder = connect(folder.path());
                holder.execute_batch("begin immediate").unwrap();
                Occupied::Folder(holder)
            }
            TestData::Postgres(place) => {
                let (holder, connection) =
                    tokio_postgres::connect(place.url(), tokio_postgres::NoTls).await.unwrap();
                tokio::spawn(connection);
                holder.batch_execute("begin; lock table group_changes").await.unwrap();
                Occupied::Postgres(holder)
            }
        }
    }

    fn tables(&self) -> Vec<String> {
        let mut tables = self.ask(match self {
            TestData::Folder(_) => "select name from sqlite_schema where type = 'table'",
            TestData::Postgres(_) => {
                "select table_name from information_schema.tables
                where table_schema = current_schema()"
            }
        });
        tables.retain(|table| !ABOUT_NODES.contains(&table.as_str()));
        tables
    }
}

/// A transaction that blocks all others.
pub(crate) enum Occupied {
    Folder(Connection),
    Postgres(tokio_postgres::Client),
}

impl Occupied {
    pub(crate) async fn end(self) {
        match self {
            Occupied::Folder(holder) => holder.execute_batch("rollback").unwrap(),
            Occupied::Postgres(holder) => holder.batch_execute("rollback").await.unwrap(),
        }
    }
}

/// Another process's connection to the data of a folder.
fn connect(folder: &Path) -> Connection {
    Connection::open(folder.join("kiosque.db")).unwrap()
}

fn every_row(table: &str) -> String {
    format!("select '{table}' as of_table, * from {table}")
}

fn like_sqlite(sql: &str) -> String {
    format!("{LIKE_SQLITE} ({sql}) asked")
}

fn lines(said: &str) -> Vec<String> {
    said.lines().map(str::to_owned).collect()
}

fn ask(connection: &Connection, sql: &str) -> Vec<String> {
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
        other => format!("{other:?}"),
    }
}
