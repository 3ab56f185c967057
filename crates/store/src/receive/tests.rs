use crate::explain;
use crate::sql::Sql;

/// Orders of the group, far fewer than PostgreSQL considers many.
const ORDERS: u32 = 1_000;
/// Number of rows that are looked up.
const LOOKED_UP: u32 = 500;

/// The tables that rows are looked up in.
const TABLES: [&str; 6] =
    ["orders", "ledger", "sales_by_device", "device_owners", "devices", "aisles"];

/// Returns the command that runs a look-up in group 1 with rows that are not stored.
fn execution(sql: &Sql) -> String {
    let arrays = sql.bulk_types().expect("a statement").iter().map(|kind| {
        let prefix = if *kind == "text" { "x" } else { "" };
        let rows = (ORDERS + 1..=ORDERS + LOOKED_UP).map(|number| format!("{prefix}{number}"));
        format!("'{{{}}}'", rows.collect::<Vec<_>>().join(","))
    });
    let text = sql.for_postgres().expect("a statement");
    let count = (1..).take_while(|number| text.contains(&format!("${number}"))).count();
    let values: Vec<String> = arrays.collect();
    let others = vec!["1".to_owned(); count - values.len()];
    [values, others].concat().join(", ")
}

/// A batch, and a report of some devices, read the stored rows of these by key. PostgreSQL, which
/// has no statistics of a table that it has not analyzed, assumed that a group has few rows, and
/// read them all first.
#[tokio::test]
async fn a_look_up_reads_no_other_rows_of_its_group() {
    let schema = explain::with_tables().await;
    schema.script(&format!(
        "alter table orders set (autovacuum_enabled = false);
        alter table ledger set (autovacuum_enabled = false);
        alter table sales_by_device set (autovacuum_enabled = false);
        alter table device_owners set (autovacuum_enabled = false);
        alter table devices set (autovacuum_enabled = false);
        alter table aisles set (autovacuum_enabled = false);
        insert into orders (group_no, device_no, seq, trade_start_ms, change_no, order_id,
                sale, record)
            select 1, n, 1, n, n, 'o' || n, '', '' from generate_series(1, {ORDERS}) n;
        insert into ledger (group_no, device_code, device_no, since_ms, first_seq, archived_seq,
                last_seq, blocked_seq, device_name)
            select 1, 'd' || n, n, 0, 1, 0, 1, 0, '' from generate_series(1, {ORDERS}) n;
        insert into sales_by_device (group_no, day, device_block, currency, devices, products)
            select 1, n, 0, 'EUR', '', '' from generate_series(1, {ORDERS}) n;
        insert into sales_by_day (group_no, day, currency, orders, items, amount, refund, shipped,
                failed, first_sale_at_ms, last_sale_at_ms)
            values (1, 1, 'EUR', 0, 0, 0, 0, 0, 0, 0, 0);
        insert into device_owners (group_no, device_code, since_ms, until_ms, listed, device_no)
            select 1, 'd' || n, 0, 2, true, n from generate_series(1, {ORDERS}) n;
        insert into devices (device_no, device_code, device_name, device_model, address, enabled,
                created_at_ms, total_curr_stock)
            select n, 'd' || n, '', '', '', true, 0, 0 from generate_series(1, {ORDERS}) n;
        insert into aisles (device_no, aisle_code, position, cabinet_code, layer, goods_id, price,
                show_price, max_stock, curr_stock, enabled, broken)
            select n, 'a', 1, '', 1, 'g', 0, 0, 0, 0, true, false
            from generate_series(1, {ORDERS}) n;"
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
    assert_eq!(looked_up, 14);
}
