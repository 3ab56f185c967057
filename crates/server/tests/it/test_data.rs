//! Where a house keeps its data: in the files of its folder, or in a PostgreSQL when this run is
//! about that; and what a test does there behind the server's back.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use kiosque_store::StoreLocation;
use kiosque_testdb::Place;
use rusqlite::Connection;
use tokio::sync::OnceCell;
use tokio_postgres::{Client, NoTls};

/// Names the engine that a run is about: `postgres`, or files.
const ENGINE: &str = "KIOSQUE_TEST_ENGINE";
const DATA: &str = "kiosque.db";
/// What was committed and is not in the data yet.
const LOG: &str = "kiosque.db-wal";

const EVERY_ROW: &str = include_str!("../../../store/tests/sql/every_row.sql");
const HOLD_WRITES: &str = include_str!("../../../store/tests/sql/hold_writes_postgres.sql");
const HOLD_FILE: &str = include_str!("../../../store/tests/sql/hold_writes_sqlite.sql");
const TEAR_DOWN: &str = include_str!("../../../store/tests/sql/tear_down.sql");
const WRITERS_OF_ORDERS: &str = include_str!("../../../store/tests/sql/writers_of_orders.sql");

/// Where the data is.
#[derive(Clone)]
pub(crate) enum TestData {
    /// In the house's own folder.
    Files,
    /// In a schema of its own, which several nodes may share.
    Postgres(Arc<Schema>),
}

/// A schema, and a connection that looks at it.
pub(crate) struct Schema {
    place: Place,
    looking: OnceCell<Client>,
}

impl Schema {
    async fn connect(&self) -> Client {
        let (client, connection) = tokio_postgres::connect(self.place.url(), NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    }

    /// The rows of a statement, each a text: faster than a new `psql` for what is often asked.
    async fn look(&self, sql: &str) -> Vec<String> {
        let client = self.looking.get_or_init(|| self.connect()).await;
        let rows = client.query(sql, &[]).await.unwrap();
        rows.iter().map(|row| row.get(0)).collect()
    }
}

impl TestData {
    pub(crate) fn of_this_run() -> TestData {
        match std::env::var(ENGINE).as_deref() {
            Ok("postgres") => TestData::postgres(),
            Ok(other) => panic!("{ENGINE}={other} names no engine"),
            Err(_) => TestData::Files,
        }
    }

    pub(crate) fn postgres() -> TestData {
        TestData::Postgres(Arc::new(Schema { place: Place::new(), looking: OnceCell::new() }))
    }

    /// The place of a house with this folder.
    pub(crate) fn store_place<'a>(&'a self, folder: &'a Path) -> StoreLocation<'a> {
        match self {
            TestData::Files => StoreLocation::Folder(folder),
            TestData::Postgres(schema) => StoreLocation::Postgres(schema.place.url()),
        }
    }

    /// The rows of a look at the data, which have one text each.
    pub(crate) fn look(&self, folder: &Path, sql: &str) -> Vec<String> {
        match self {
            TestData::Files => {
                let connection = Connection::open(folder.join(DATA)).unwrap();
                let mut statement = connection.prepare(sql).unwrap();
                statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
            }
            TestData::Postgres(schema) => {
                // The one thing that the engines say in different words.
                let day = "(date '1970-01-01' + s.day::integer)";
                let sql = sql.replace("date(s.day * 86400, 'unixepoch')", day);
                schema.place.sql(&sql).lines().map(str::to_owned).collect()
            }
        }
    }

    /// All that is kept, as bytes. A request that only reads leaves them alone, and so does one
    /// whose transaction was taken back.
    pub(crate) async fn bytes(&self, folder: &Path) -> Vec<Vec<u8>> {
        match self {
            TestData::Files => {
                [DATA, LOG].map(|name| std::fs::read(folder.join(name)).unwrap()).to_vec()
            }
            TestData::Postgres(schema) => {
                schema.look(EVERY_ROW).await.into_iter().map(String::into_bytes).collect()
            }
        }
    }

    /// The transactions that wrote orders, each by some name.
    pub(crate) async fn commits(&self, folder: &Path) -> BTreeSet<String> {
        match self {
            TestData::Files => commits_in(&std::fs::read(folder.join(LOG)).unwrap()),
            TestData::Postgres(schema) => {
                schema.look(WRITERS_OF_ORDERS).await.into_iter().collect()
            }
        }
    }

    /// Keeps everybody from writing, until dropped. Everybody may read.
    pub(crate) async fn hold_writes(&self, folder: &Path) -> Held {
        match self {
            TestData::Files => {
                let elsewhere = Connection::open(folder.join(DATA)).unwrap();
                elsewhere.execute_batch(HOLD_FILE).unwrap();
                Held::Files(elsewhere)
            }
            TestData::Postgres(schema) => {
                let elsewhere = schema.connect().await;
                elsewhere.batch_execute(HOLD_WRITES).await.unwrap();
                Held::Postgres(elsewhere)
            }
        }
    }

    /// Tears the data away under a store that has not read any of it.
    pub(crate) fn tear_down(&self, folder: &Path) {
        match self {
            // What is in the log is nowhere else yet.
            TestData::Files => std::fs::write(folder.join(LOG), "").unwrap(),
            TestData::Postgres(schema) => drop(schema.place.sql(TEAR_DOWN)),
        }
    }
}

/// Somebody else, who writes and does not come to an end.
#[expect(dead_code, reason = "the connections are there to be dropped")]
pub(crate) enum Held {
    Files(Connection),
    Postgres(Client),
}

/// In a write-ahead log, a frame that ends a transaction says how large the file is now.
fn commits_in(log: &[u8]) -> BTreeSet<String> {
    let page = u32::from_be_bytes(log[8..12].try_into().unwrap());
    let frames = log[32..].chunks_exact(24 + usize::try_from(page).unwrap());
    let ends = frames.enumerate().filter(|(_, frame)| frame[4..8] != [0; 4]);
    ends.map(|(at, _)| at.to_string()).collect()
}
