//! Plans, for tests that count the rows that a statement reads.

use std::time::Duration;

use kiosque_model::UnixMs;
use kiosque_testdb::Schema;

use crate::Store;
use crate::db::{Changes, OpenOptions, PLANNER, SessionLease, StoreLocation, WhenAbsent};

/// Returns a schema with all tables, empty.
pub(crate) async fn with_tables() -> Schema {
    let schema = Schema::new();
    let options = OpenOptions {
        place: StoreLocation::Postgres(schema.url()),
        when_absent: WhenAbsent::Create,
        zone: None,
        wait: Duration::from_secs(300),
        lease: SessionLease::default(),
        now: UnixMs(0),
        random: [0; 16],
        changes: Changes::Stored,
    };
    Store::open(&options).await.expect("the layout");
    schema
}

/// Returns the commands that give a connection the planner of the service.
pub(crate) fn settings() -> String {
    PLANNER.map(|setting| format!("set {setting};")).concat()
}

/// Returns the rows of the tables that an explained statement has read, those that it removed by a
/// filter included.
pub(crate) fn rows_read(plan: &str, tables: &[&str]) -> f64 {
    let number = |text: &str| {
        let end = text.find(|other: char| !other.is_ascii_digit() && other != '.');
        text.get(..end.unwrap_or(text.len())).and_then(|text| text.parse::<f64>().ok())
    };
    let after = |line: &str, name: &str| line.split_once(name).and_then(|(_, rest)| number(rest));
    let (mut read, mut loops) = (0.0, None);
    for line in plan.lines() {
        if line.contains("actual") || line.contains("never executed") {
            let is_table = tables.iter().any(|table| line.contains(&format!(" on {table}")));
            loops = is_table.then(|| after(line, "loops=").unwrap_or(0.0));
            read += after(line, "rows=").unwrap_or(0.0) * loops.unwrap_or(0.0);
        } else if line.contains("Rows Removed") {
            read += after(line, ": ").unwrap_or(0.0) * loops.unwrap_or(0.0);
        }
    }
    read
}

/// Statements that find orders do so by an index of their own, however many orders a group has.
#[tokio::test]
async fn only_a_recount_reads_all_orders_of_a_group() {
    let directory = tempfile::tempdir().expect("a directory");
    let options = OpenOptions {
        place: StoreLocation::Directory(directory.path()),
        when_absent: WhenAbsent::Create,
        zone: None,
        wait: Duration::from_secs(300),
        lease: SessionLease::default(),
        now: UnixMs(0),
        random: [0; 16],
        changes: Changes::Stored,
    };
    let _store = Store::open(&options).await.expect("the layout");
    let database = rusqlite::Connection::open(directory.path().join("kiosque.db"));
    let database = database.expect("a connection");
    let reads_groups = |sql: &crate::sql::Sql| {
        let text = format!("explain query plan {}", sql.for_sqlite().expect("a statement"));
        let mut plan = database.prepare(&text).expect("a plan");
        let (mut rows, mut found) = (plan.raw_query(), false);
        while let Some(row) = rows.next().expect("a step") {
            let step: String = row.get("detail").expect("its text");
            found |= ["o", "orders"].iter().any(|table| {
                step.starts_with(&format!("SEARCH {table} USING PRIMARY KEY (group_no=?)"))
            });
        }
        found && text.contains(" orders")
    };
    let reading = crate::statements::all().filter(|sql| reads_groups(sql));
    let mut reading: Vec<&str> = reading.map(|sql| sql.name).collect();
    reading.sort_unstable();
    assert_eq!(reading, ["kiosque_store::verify::sums::UNSOLD_ORDERS"]);
}
