//! Data of the first layout, which had no sums: they are counted when it is opened.

use std::path::Path;

use kiosque_testkit::{
    BEST_PATH, BY_DEVICE_PATH, FleetToml, ORDERS_PATH, SUMMARY_PATH, ServerOptions, TREND_PATH,
    TestData, TestServer, sql,
};
use rusqlite::Connection;
use serde_json::json;
use tempfile::TempDir;

use super::ask;

const FIRST: &str = include_str!("../../../../store/migrations/0001_first.sql");

fn fleet() -> FleetToml {
    FleetToml::new()
        .group("g", "Group")
        .group("h", "Other")
        .account("ops", &["g", "h"])
        .product("p", "Known", "EUR")
        .with("default_price = 200")
        .device("K", "Kiosk", "g")
        .device("L", "Lift", "h")
}

/// Paid, unpaid, cancelled, refunding and refunded orders; one in each of the two hours that a
/// clock showed alike; goods with a name of their own, with several, and with none.
fn orders() -> String {
    let lines = |goods_id: &str, name: Option<&str>| {
        let known = json!({"goodsId": "p", "salePrice": 200});
        json!([known, {"goodsId": goods_id, "goodsName": name, "count": 2, "salePrice": 50}])
    };
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

/// Writes the data as a program of the first layout left it.
fn as_it_was(new: &Path, old: &Path) {
    let connection = Connection::open(old).unwrap();
    connection.execute_batch(&FIRST.replace("bigint primary key", "integer primary key")).unwrap();
    connection.execute_batch(&sql::FIRST_LAYOUT.replace("NEW", new.to_str().unwrap())).unwrap();
}

/// Returns the answers, and the stored rows.
async fn answers(server: &TestServer) -> Vec<String> {
    let mut token = server.log_in("ops").await.token;
    let mut answers = Vec::new();
    for group in ["g", "h"] {
        let device = if group == "g" { "K" } else { "L" };
        let owner = server.switch(&token, group).await.token;
        let orders = json!({ "deviceCode": device });
        answers.push(ask(server, &owner, ORDERS_PATH, &orders).await.text);
        token = owner;
        let range = json!({"groupId": group, "startTimestamp": 1_761_300_000_000_i64});
        for path in [SUMMARY_PATH, BEST_PATH, BY_DEVICE_PATH, TREND_PATH] {
            answers.push(ask(server, &token, path, &range).await.text);
        }
    }
    for sql in [sql::SUMS, sql::NAMES, sql::SALE_TIMES] {
        answers.extend(server.query(sql));
    }
    answers
}

#[tokio::test]
async fn data_without_sums_is_counted_when_it_is_opened() {
    let zone = kiosque_model::Zone::named("Europe/Paris").unwrap();
    let options = |directory| {
        let (data, zone) = (TestData::in_directory(directory), zone.clone());
        ServerOptions { data, zone, ..ServerOptions::default() }
    };
    let server = TestServer::start_on(fleet(), options(TempDir::new().unwrap())).await;
    server.import_valid(orders()).await;
    server.set_rates(&[("EUR", "2025-01-01", "1.1")]).await;
    // Of two instants that a clock showed alike, only the text was stored: the first counts.
    let first = |line: &str| line.replace("o7|1761442200000", "o7|1761438600000");
    let expected: Vec<String> = answers(&server).await.iter().map(|line| first(line)).collect();
    assert!(expected.contains(&"o7|1761438600000".to_owned()), "{expected:#?}");
    assert!(expected.contains(&"1|x|New name|1761476400000".to_owned()), "{expected:#?}");

    let directory = TempDir::new().unwrap();
    as_it_was(&server.directory.path().join("kiosque.db"), &directory.path().join("kiosque.db"));
    let mut opened = TestServer::open(options(directory)).await;
    opened.set_rates(&[("EUR", "2025-01-01", "1.1")]).await;
    assert_eq!(answers(&opened).await, expected);
    assert_eq!(opened.store.verify().await.unwrap().differences, [""; 0]);

    // They are counted once; later changes move them from there.
    opened.restart().await;
    assert_eq!(answers(&opened).await, expected);
    opened.import_valid(orders().replace("\"totalAmount\":300", "\"totalAmount\":301")).await;
    assert_eq!(opened.store.verify().await.unwrap().differences, [""; 0]);
    assert_ne!(opened.query(sql::SUMS), server.query(sql::SUMS));
}
