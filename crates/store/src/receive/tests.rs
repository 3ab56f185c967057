use crate::explain;
use crate::sql::{ColumnType, Sql};

/// Orders of the group, far fewer than PostgreSQL considers many.
const ORDERS: u32 = 1_000;
/// Number of rows that a batch looks up.
const LOOKED_UP: u32 = 500;

/// The tables that a batch looks rows up in.
const TABLES: [&str; 3] = ["orders", "ledger", "sales_by_device"];

/// Returns the command that runs a look-up in group 1 with rows that are not stored.
fn execution(sql: &Sql) -> String {
    let arrays = sql.bulk_types().expect("a statement").iter().map(|kind| {
        let prefix = if *kind == ColumnType::Text { "x" } else { "" };
        let rows = (ORDERS + 1..=ORDERS + LOOKED_UP).map(|number| format!("{prefix}{number}"));
        format!("'{{{}}}'", rows.collect::<Vec<_>>().join(","))
    });
    let text = sql.for_postgres().expect("a statement");
    let count = (1..).take_while(|number| text.contains(&format!("${number}"))).count();
    let values: Vec<String> = arrays.collect();
    let others = vec!["1".to_owned(); count - values.len()];
    [values, others].concat().join(", ")
}

/// A batch reads the stored rows of its orders, devices and sums by key. PostgreSQL, which has no
/// statistics of a table that it has not analyzed, assumed that a group has few rows, and read them
/// all first.
#[tokio::test]
async fn a_batch_reads_no_other_rows_of_its_group() {
    let schema = explain::with_tables().await;
    schema.script(&format!(
        "alter table orders set (autovacuum_enabled = false);
        alter table ledger set (autovacuum_enabled = false);
        alter table sales_by_device set (autovacuum_enabled = false);
        insert into orders (group_no, device_no, seq, trade_start_ms, change_no, order_id,
                sale, record)
            select 1, n, 1, n, n, 'o' || n, '', '' from generate_series(1, {ORDERS}) n;
        insert into ledger (group_no, device_code, device_no, since_ms, first_seq, archived_seq,
                last_seq, blocked_seq, device_name)
            select 1, 'd' || n, n, 0, 1, 0, 1, 0, '' from generate_series(1, {ORDERS}) n;
        insert into sales_by_device (group_no, day, device_block, currency, devices, products)
            select 1, n, 0, 'EUR', '', '' from generate_series(1, {ORDERS}) n;"
    ));
    let settings = explain::settings();
    let mut looked_up = 0;
    for sql in crate::statements::all() {
        let text = sql.for_postgres().expect("a statement");
        if !text.starts_with("select found.* from unnest") {
            continue;
        }
        let plan = schema.sql(&format!(
            "{settings} prepare look_up as {text};
            explain (analyze, costs off, timing off, summary off) execute look_up({})",
            execution(sql)
        ));
        let read = explain::rows_read(&plan, &TABLES);
        assert!(read <= 1.0, "{}: {read} rows\n{plan}", sql.name);
        looked_up += 1;
    }
    assert_eq!(looked_up, 8);
}
