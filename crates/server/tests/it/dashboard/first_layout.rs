//! Data of the first layout, which had no sums: they are counted when it is opened.

use std::path::Path;

use kiosque_server::Settings;
use kiosque_server::ingest::record::put_list_record;
use kiosque_store::Ready;
use rusqlite::Connection;
use serde_json::json;
use tempfile::TempDir;

use super::ask;
use crate::harness::{BEST_PATH, BY_DEVICE_PATH, House, ORDERS_PATH, SUMMARY_PATH, TREND_PATH};

const FIRST: &str = include_str!("../../../../store/migrations/0001_first.sql");

const FLEET: &str = r#"
    [[group]]
    id = "g"
    name = "Group"
    [[group]]
    id = "h"
    name = "Other"
    [[account]]
    login_name = "ops"
    password = "secret"
    third_party_api = true
    groups = ["g", "h"]
    [[product]]
    id = "p"
    name = "Known"
    currency = "EUR"
    default_price = 200
    [[device]]
    code = "K"
    name = "Kiosk"
    group = "g"
    [[device]]
    code = "L"
    name = "Lift"
    group = "h"
"#;

/// Paid, unpaid, cancelled, refunding, refunded; one of each hour that clocks showed twice; goods
/// with a name of their own, with several, and with none.
fn orders() -> String {
    let lines = |goods_id: &str, name: Option<&str>| json!([{"goodsId": "p", "salePrice": 200}, {"goodsId": goods_id, "goodsName": name, "count": 2, "salePrice": 50}]);
    let order = |id: &str, device: &str, paid: Option<&str>, status: i64, lines| {
        json!({
            "orderId": id, "deviceCode": device, "currency": "EUR", "totalAmount": 300,
            "refundAmount": if status > 2 { 100 } else { 0 }, "payStatus": status,
            "tradeStartTime": "2025-10-20T10:00:00Z", "payEndTime": paid, "detailVOList": lines,
        })
        .to_string()
    };
    [
        order("o1", "K", Some("2025-10-25T10:00:00Z"), 1, lines("x", Some("Old name"))),
        order("o2", "K", None, 0, lines("x", Some("Unsold"))),
        order("o3", "K", Some("2025-10-26T10:00:00Z"), 2, lines("x", Some("Cancelled"))),
        order("o4", "K", Some("2025-10-26T11:00:00Z"), 3, lines("x", Some("New name"))),
        order("o5", "K", Some("2025-10-26T12:00:00Z"), 4, lines("x", None)),
        order("o6", "K", Some("2025-10-26T00:30:00Z"), 1, lines("", None)),
        // Shown as 02:30:00 like the one before, an hour later.
        order("o7", "K", Some("2025-10-26T01:30:00Z"), 1, json!([])),
        order("o8", "L", Some("2025-10-25T22:00:00Z"), 1, lines("x", Some("Elsewhere"))),
        order("o9", "L", Some("2025-10-25T21:59:59Z"), 1, lines("y", Some("Last second"))),
    ]
    .join("\n")
}

/// The data as a program of the first layout left it: its tables, with the columns they had.
fn as_it_was(new: &Path, old: &Path) {
    let connection = Connection::open(old).unwrap();
    connection.execute_batch(&FIRST.replace("bigint primary key", "integer primary key")).unwrap();
    connection
        .execute_batch(
            "create table migrations (number bigint primary key, name text not null,
             checksum text not null, applied_at_ms bigint not null)",
        )
        .unwrap();
    connection.execute("attach database ?1 as new", [new.to_str().unwrap()]).unwrap();
    let names = |sql: &str| -> Vec<String> {
        let mut statement = connection.prepare(sql).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    for table in names("select name from main.sqlite_schema where type = 'table'") {
        let columns =
            names(&format!("select name from pragma_table_info('{table}', 'main')")).join(", ");
        let copy =
            format!("insert into main.{table} ({columns}) select {columns} from new.{table}");
        connection.execute(&copy, []).unwrap();
    }
    connection.execute("delete from migrations where number > 1", []).unwrap();
    heads_as_they_were(&connection);
}

/// A head was whole once: as it travels, without its closing brace.
fn heads_as_they_were(connection: &Connection) {
    let mut all = connection
        .prepare("select rowid, head, lines, trade_no, trade_no_in, order_id from main.orders")
        .unwrap();
    let heads = all.query_map([], |row| {
        let text = |column: usize| row.get_ref(column).unwrap().as_str_or_null();
        let (trade_no, trade_no_in): (Option<&str>, Option<&str>) = (text(3)?, text(4)?);
        let ready = Ready {
            shape: 2,
            head: row.get_ref(1)?.as_bytes()?,
            lines: row.get_ref(2)?.as_bytes()?,
            errors: None,
            trade_no,
            trade_no_in,
            order_id: row.get_ref(5)?.as_str()?,
        };
        let mut record = Vec::new();
        put_list_record(&mut record, ready);
        let record = String::from_utf8(record).unwrap();
        let (head, _) = record.split_once(",\"detailVOList\"").unwrap();
        Ok((row.get::<_, i64>(0)?, head.to_owned()))
    });
    for head in heads.unwrap().map(Result::unwrap) {
        connection
            .execute("update main.orders set shape = 1, head = ?2 where rowid = ?1", head)
            .unwrap();
    }
}

fn rows(folder: &Path, sql: &str) -> Vec<String> {
    let connection = Connection::open(folder.join("kiosque.db")).unwrap();
    let mut statement = connection.prepare(sql).unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

/// What is told, and what is kept, but for the bounds and the instants within a second.
async fn told(house: &House) -> Vec<String> {
    let mut token = house.log_in("ops").await.token;
    let mut told = Vec::new();
    for group in ["g", "h"] {
        let device = if group == "g" { "K" } else { "L" };
        let owner = house.switch(&token, group).await.token;
        let orders = json!({ "deviceCode": device });
        told.push(ask(house, &owner, ORDERS_PATH, &orders).await.text);
        token = owner;
        let range = json!({"groupId": group, "startTimestamp": 1_761_300_000_000_i64});
        for path in [SUMMARY_PATH, BEST_PATH, BY_DEVICE_PATH, TREND_PATH] {
            told.push(ask(house, &token, path, &range).await.text);
        }
    }
    for sql in [
        "select group_no || '|' || day || '|' || currency || '|' || orders || '|' || items || '|' ||
            amount || '|' || refund || '|' || shipped || '|' || failed from sales_by_day order by 1",
        "select group_no || '|' || day || '|' || device_no || '|' || currency || '|' || orders ||
            '|' || items || '|' || amount || '|' || refund from sales_by_device order by 1",
        "select group_no || '|' || day || '|' || device_no || '|' || goods_id || '|' || items ||
            '|' || amount from sales_by_product order by 1",
        "select group_no || '|' || goods_id || '|' || goods_name || '|' || sale_at_ms
            from goods_names order by 1",
        "select order_id || '|' || coalesce(sale_at_ms, '-') from orders
            where order_id <> 'o7' order by 1",
    ] {
        told.extend(rows(house.folder.path(), sql));
    }
    told
}

#[tokio::test]
async fn data_without_sums_is_counted_when_it_is_opened() {
    let zone = kiosque_model::Zone::named("Europe/Paris").unwrap();
    let house = House::in_zone(zone.name(), FLEET).await;
    house.orders(orders()).await;
    house.rates(&[("EUR", "2025-01-01", "1.1")]).await;
    let expected = told(&house).await;

    let folder = TempDir::new().unwrap();
    let old = folder.path().join("kiosque.db");
    as_it_was(&house.folder.path().join("kiosque.db"), &old);
    assert!(rows(folder.path(), "select name from sqlite_schema where name = 'rates'").is_empty());

    let mut opened = House::open(folder, zone, Settings::for_cores(2)).await;
    opened.rates(&[("EUR", "2025-01-01", "1.1")]).await;
    assert_eq!(told(&opened).await, expected);
    assert!(expected.iter().any(|row| row.ends_with("|x|New name|1761476400000")), "{expected:#?}");
    // The first of two instants that clocks showed alike.
    let o7 = rows(
        opened.folder.path(),
        "select cast(sale_at_ms as text) from orders where order_id = 'o7'",
    );
    assert_eq!(o7, ["1761438600000"]);
    assert_eq!(opened.store.verify().await.unwrap().differences, [""; 0]);

    // Once counted, never again; and what changes moves them from here.
    opened.restart().await;
    assert_eq!(told(&opened).await, expected);
    opened.orders(orders().replace("\"totalAmount\":300", "\"totalAmount\":301")).await;
    assert_eq!(opened.store.verify().await.unwrap().differences, [""; 0]);
}
