use kiosque_testdb::Schema;

use super::*;
use crate::explain;

/// Orders of the one device that has many; they start a second apart.
const ORDERS: i64 = 300 * 64 + 10;
/// Groups that have a device with one order.
const SMALL_GROUPS: i64 = 3_000;

/// A device with many orders among many devices with few, so that the averages of PostgreSQL are
/// wrong for it.
fn fill(schema: &Schema) {
    schema.script(&format!(
        "create temporary table filled as select g, case g when 1 then {ORDERS}
                when g / 10 * 10 then 64 else 1 end as orders
            from generate_series(1, {SMALL_GROUPS} + 1) g;
        insert into ledger (group_no, device_code, device_no, since_ms, first_seq, archived_seq,
                last_seq, blocked_seq, device_name)
            select g, 'd' || g, g, 0, 1, 0, orders, orders / 64 * 64, '' from filled;
        insert into orders (group_no, device_no, seq, trade_start_ms, change_no, order_id,
                sale, record)
            select g, g, n, n * 1000, n, 'o' || n, '', ''
            from filled cross join generate_series(1, orders) n;
        insert into order_blocks (group_no, device_no, block, first_ms, last_ms)
            select g, g, b, b * 64000 + 1000, b * 64000 + 64000
            from filled cross join generate_series(0, orders / 64 - 1) b;"
    ));
}

/// Returns the rows of orders and of blocks that a page reads, as the server explains it with the
/// settings of a connection.
fn rows_read(schema: &Schema, (start, end): (i64, i64), skip: i64) -> f64 {
    let settings = explain::settings();
    let text = PAGE.for_postgres().expect("a statement");
    let plan = schema.sql(&format!(
        "{settings} prepare page as {text};
        explain (analyze, costs off, timing off, summary off)
            execute page(1, 'd1', 0, {start}, {end}, false, {skip}, {skip} + 10, 10)"
    ));
    let read = explain::rows_read(&plan, &["orders", "order_blocks"]);
    assert!(read > 0.0, "{plan}");
    read
}

/// A page reads the orders of a few blocks, regardless of PostgreSQL's statistics.
#[tokio::test]
async fn a_page_reads_few_rows_with_and_without_statistics() {
    let schema = explain::with_tables().await;
    fill(&schema);
    let newest = ORDERS * 1_000;
    for statistics in ["", "analyze ledger, orders, order_blocks"] {
        schema.script(statistics);
        for (span, skip, most) in [
            ((newest - 60_000, i64::MAX), 0, 300.0),
            ((newest - 600_000, newest), 0, 400.0),
            ((newest / 2, newest / 2 + 60_000), 10, 400.0),
            // Every block is in the span, and is read, but not its orders.
            ((0, i64::MAX), 10_000, 900.0),
        ] {
            let read = rows_read(&schema, span, skip);
            assert!(read <= most, "{span:?} after {skip}: {read} rows ({statistics:?})");
        }
    }
}
