//! Checked reads on both engines.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

use kiosque_testdb::Schema;

use super::*;
use crate::explain;

static CHECK: Sql = Sql::new("CHECK", "select 1 as proven");
/// As many rows as a shared connection of PostgreSQL reads.
static FEW: Sql = Sql::new(
    "FEW",
    "with recursive n (i) as (select 1 union all select i + 1 from n where i < 500)
    select i from n",
);
static ONE_MORE: Sql = Sql::new(
    "ONE_MORE",
    "with recursive n (i) as (select 1 union all select i + 1 from n where i < 501)
    select i from n",
);
/// More rows than a serving thread reads from SQLite.
static MANY: Sql = Sql::new(
    "MANY",
    "with recursive n (i) as (select 1 union all select i + 1 from n where i < 1100)
    select i from n",
);

/// Reads the rows of a statement, and returns how many there are and how often the read began.
async fn read(db: &Db, account: AccountNo, sql: &'static Sql) -> (usize, usize) {
    let begun = AtomicUsize::new(0);
    let read = || {
        begun.fetch_add(1, Ordering::Relaxed);
        CheckedRead {
            statements: [&CHECK, sql].map(|sql| Bound::new(sql, [])).into(),
            answer: 0,
            visit: |rows, statement, _| {
                *rows += usize::from(statement != 0);
                Ok(ControlFlow::Continue(()))
            },
        }
    };
    let rows = db.read_checked(account, read).await.expect("rows");
    (rows, begun.into_inner())
}

/// LIM-14: a read that returns more rows than its budget begins again, under a permit of its
/// account.
#[tokio::test]
async fn a_read_of_many_rows_begins_again_under_a_permit_of_its_account() {
    let (directory, schema) = (tempfile::tempdir().expect("a directory"), Schema::new());
    for (place, many) in [
        (StoreLocation::Directory(directory.path()), (&MANY, 1_100)),
        (StoreLocation::Postgres(schema.url()), (&ONE_MORE, 501)),
    ] {
        let state = crate::open::open(&explain::options(place)).await.expect("a store");
        let (account, other) = (AccountNo(1), AccountNo(2));
        let permits = match &state.db {
            Db::Sqlite(sqlite) => &sqlite.long_read_permits,
            Db::Postgres(postgres) => &postgres.long_read_permits,
        };
        let later = Instant::now() + Duration::from_secs(3_600);
        let share = (permits.total() / 2).max(1);
        let mut held = Vec::new();
        for _ in 0..share {
            held.push(permits.acquire(account, later).await.expect("a permit"));
        }
        assert_eq!(read(&state.db, account, &FEW).await, (500, 1), "it needs no permit");
        let waits = tokio::spawn({
            let db = state.db.clone();
            async move { read(&db, account, many.0).await }
        });
        for _ in 0..3 {
            assert_eq!(read(&state.db, other, many.0).await, (many.1, 2));
        }
        assert!(!waits.is_finished(), "its account has no permit left");
        held.clear();
        assert_eq!(waits.await.expect("no panic"), (many.1, 2));
    }
}
