use super::{SALES, UNSOLD};
use crate::explain;

/// SQLite reads a range of an index, and sorts nothing. For sales it reads no row of the table.
#[tokio::test]
async fn a_part_is_a_range_of_an_index_on_sqlite() {
    let database = explain::sqlite().await;
    for (sql, index) in [(&SALES, "COVERING INDEX orders_sale"), (&UNSOLD, "INDEX orders_unsold")] {
        let plan = database.plan(sql);
        let expected = format!("SEARCH orders USING {index} (group_no=? AND ");
        assert!(plan.len() == 1 && plan[0].starts_with(&expected), "{plan:?}");
    }
}

/// PostgreSQL reads as many entries as the part has, regardless of its statistics.
#[tokio::test]
async fn a_part_reads_its_entries_on_postgresql() {
    let schema = explain::with_tables().await;
    schema.script(
        "insert into orders (group_no, device_no, seq, trade_start_ms, change_no, sale_at_ms,
                order_id, sale, record)
            select g, 1, n, n * 1000, n, case n % 10 when 0 then null else n * 1000 end,
                'o' || n, '', ''
            from generate_series(1, 2) g cross join generate_series(1, 20000) n;",
    );
    let settings = explain::settings();
    for statistics in ["", "analyze orders"] {
        schema.script(statistics);
        for sql in [&SALES, &UNSOLD] {
            let text = sql.for_postgres().expect("a statement");
            let plan = schema.sql(&format!(
                "{settings} prepare part as {text};
                explain (analyze, costs off, timing off, summary off)
                    execute part(1, 0, 15000000, -1, -1, 51)"
            ));
            let read = explain::rows_read(&plan, &["orders"]);
            assert!((51.0..60.0).contains(&read), "{} ({statistics:?}):\n{plan}", sql.name);
        }
    }
}
