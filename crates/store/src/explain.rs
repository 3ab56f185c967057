//! The columns of statements, and plans, for tests that count the rows that a statement reads.

use std::time::Duration;

use kiosque_model::UnixMs;
use kiosque_testdb::Schema;
use tempfile::TempDir;

use crate::Store;
use crate::db::{Changes, OpenOptions, PLANNER, SessionLease, StoreLocation, WhenAbsent};
use crate::sql::Sql;

/// Returns a schema with all tables, empty.
pub(crate) async fn with_tables() -> Schema {
    let schema = Schema::new();
    Store::open(&options(StoreLocation::Postgres(schema.url()))).await.expect("the layout");
    schema
}

pub(crate) fn options(place: StoreLocation<'_>) -> OpenOptions<'_> {
    OpenOptions {
        place,
        when_absent: WhenAbsent::Create,
        zone: None,
        wait: Duration::from_secs(300),
        lease: SessionLease::default(),
        now: UnixMs(0),
        random: [0; 16],
        changes: Changes::Stored,
    }
}

/// Returns the commands that configure a connection's planner like the service.
pub(crate) fn settings() -> String {
    PLANNER.map(|setting| format!("set {setting};")).concat()
}

/// Returns the rows of the tables that an explained statement has read, including those that it
/// removed by a filter.
pub(crate) fn rows_read(plan: &str, tables: &[&str]) -> f64 {
    let number = |text: &str| {
        let end = text.find(|other: char| !other.is_ascii_digit() && other != '.');
        text.get(..end.unwrap_or(text.len())).and_then(|text| text.parse::<f64>().ok())
    };
    let after = |line: &str, name: &str| line.split_once(name).and_then(|(_, rest)| number(rest));
    let mut read = 0.0;
    let mut loops = None;
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

/// A database of SQLite with all tables, empty.
pub(crate) struct Sqlite {
    _directory: TempDir,
    connection: rusqlite::Connection,
}

/// Returns a database of SQLite with all tables, empty.
pub(crate) async fn sqlite() -> Sqlite {
    let directory = tempfile::tempdir().expect("a directory");
    let options = options(StoreLocation::Directory(directory.path()));
    let _store = Store::open(&options).await.expect("the layout");
    let connection = rusqlite::Connection::open(directory.path().join("kiosque.db"));
    Sqlite { connection: connection.expect("a connection"), _directory: directory }
}

impl Sqlite {
    /// Returns the steps of the plan of a statement.
    pub(crate) fn plan(&self, sql: &Sql) -> Vec<String> {
        let text = format!("explain query plan {}", sql.for_sqlite().expect("a statement"));
        let mut plan = self.connection.prepare(&text).expect("a plan");
        let mut rows = plan.raw_query();
        let mut steps = Vec::new();
        while let Some(row) = rows.next().expect("a step") {
            steps.push(row.get("detail").expect("its text"));
        }
        steps
    }
}

/// SQLite prepares every statement, and returns its declared columns.
#[tokio::test]
async fn every_statement_compiles() {
    let database = sqlite().await;
    let all = crate::statements::all();
    // The list of every module is included: together they are at least as long.
    assert!(all.len() >= 84, "only {} statements", all.len());
    for sql in all {
        let statement = database.connection.prepare(sql.for_sqlite().expect("a statement"));
        let statement = statement.unwrap_or_else(|error| panic!("{}: {error}", sql.name));
        sql.check_columns(&statement.column_names().collect::<Vec<_>>())
            .expect("the declared columns");
    }
}

/// Statements that find orders use an index of the table, however many orders a group has.
#[tokio::test]
async fn only_a_recount_reads_all_orders_of_a_group() {
    let database = sqlite().await;
    let reads_groups = |sql: &Sql| {
        let is_group = |step: &String| {
            ["o", "orders"].iter().any(|table| {
                step.starts_with(&format!("SEARCH {table} USING PRIMARY KEY (group_no=?)"))
            })
        };
        let text = sql.for_sqlite().expect("a statement");
        text.contains(" orders") && database.plan(sql).iter().any(is_group)
    };
    let reading = crate::statements::all().into_iter().filter(|sql| reads_groups(sql));
    let mut reading: Vec<&str> = reading.map(|sql| sql.name).collect();
    reading.sort_unstable();
    assert_eq!(reading, ["kiosque_store::verify::sums::UNSOLD_ORDERS"]);
}

/// A page of the audit trail does not look for its first entry in the whole trail. A page without a
/// time looks for an entry before the earliest one, of which the index has none.
#[tokio::test]
async fn the_first_entry_since_a_time_is_found_by_an_index() {
    let database = sqlite().await;
    let mut all = crate::statements::all().into_iter();
    let sql = all.find(|sql| sql.name.ends_with("audit::LATEST_BEFORE"));
    let plan = database.plan(sql.expect("the statement"));
    let search = "SEARCH audit USING COVERING INDEX audit_at (at_ms<?)";
    assert_eq!(plan, ["CO-ROUTINE latest", search, "SEARCH latest"]);
}

/// What the operator sees of a device or of a group reads no rows of others. The empty and broken
/// aisles of devices are found by an index that has them alone.
#[tokio::test]
async fn an_index_finds_what_the_operator_selects() {
    let database = sqlite().await;
    let plan = |name: &str| {
        let all = crate::statements::all().into_iter();
        let mut named = all.filter(|sql| sql.name == format!("kiosque_store::{name}"));
        database.plan(named.next().expect("the statement"))
    };
    for (statement, step) in [
        (
            "inventory::device_orders::SALE_TIMES",
            "SEARCH orders USING PRIMARY KEY (group_no=? AND device_no=? AND seq>?)",
        ),
        (
            "inventory::orders::LEDGERS",
            "SEARCH l USING PRIMARY KEY ((group_no,device_code)>(?,?) AND group_no<?)",
        ),
        (
            "inventory::orders::LEDGERS_OF_DEVICE",
            "SEARCH l USING INDEX ledger_of_device (device_code=? AND group_no>? AND group_no<?)",
        ),
        (
            "dashboard::fleet_sales::attention::AISLES",
            "SEARCH a USING COVERING INDEX aisles_to_mend (device_no=?)",
        ),
    ] {
        let plan = plan(statement);
        assert!(plan.iter().any(|found| found == step), "{statement}: {plan:#?}");
    }
}

/// A part of a list is found in the order of an index, however much of the list is left. The others
/// sort the sessions of a key, the sources of an account, the shares of refused requests, and the
/// blocks of a device in a span.
#[tokio::test]
async fn no_part_of_a_list_sorts_the_rest_of_it() {
    let database = sqlite().await;
    let sorts = |sql: &Sql| database.plan(sql).iter().any(|step| step.contains("TEMP B-TREE"));
    let is_part = |sql: &&Sql| sql.for_sqlite().expect("a statement").contains("limit");
    let all = crate::statements::all().into_iter();
    let sorting = all.filter(is_part).filter(|sql| sorts(sql));
    let sorting: Vec<&str> = sorting.map(|sql| sql.name).collect();
    let of = [
        "console::END_OLDEST",
        "known_sources::FORGET",
        "orders::in_span::PAGE",
        "refused_requests::TRIM",
    ];
    assert_eq!(sorting, of.map(|name| format!("kiosque_store::{name}")));
}

/// The accounts of a group are counted without reading the accounts of others.
#[tokio::test]
async fn the_accounts_of_a_group_are_found_by_an_index() {
    let database = sqlite().await;
    let mut all = crate::statements::all().into_iter();
    let sql = all.find(|sql| sql.name.ends_with("ACCOUNTS_OF_GROUPS"));
    let plan = database.plan(sql.expect("the statement"));
    assert_eq!(plan, ["SEARCH a USING COVERING INDEX account_groups_of_group (group_no=?)"]);
}
