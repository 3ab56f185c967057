//! Order changes: the orders of a group by their latest change (ORD-23 to ORD-30).

mod following;
mod operator;
pub(crate) mod waiting;

use kiosque_model::{ChangeCursor, GroupNo, HistoryId};
use kiosque_testkit::{CHANGES_PATH, FleetToml, ORDERS_PATH, OrderLine, Reply, TestServer};
use serde_json::{Value, json};

use crate::catalog;

/// Two accounts of two groups.
fn fleet() -> FleetToml {
    FleetToml::new()
        .group("g1", "One")
        .group("g2", "Two")
        .cheap_account("ops", &["g1", "g2"])
        .cheap_account("other", &["g1", "g2"])
        .device("D1", "Lobby", "g1")
        .device("D2", "Platform", "g2")
}

/// An order of `D1` as a line.
fn line(id: &str, total: i64) -> String {
    OrderLine::new(id, "D1", "2026-03-01 09:00:00").amount("EUR", total).to_string()
}

async fn ask(server: &TestServer, token: &str, body: &Value) -> Reply {
    server.call(CHANGES_PATH, Some(token), &body.to_string()).await
}

/// Returns the changes of an answer: number, order and amount; and the other fields.
fn changes(data: &Value) -> (Vec<(i64, String, i64)>, &str, bool) {
    let records = data["records"].as_array().unwrap().iter().map(|record| {
        let order = &record["order"];
        let id = order["orderId"].as_str().unwrap().to_owned();
        (record["changeNo"].as_i64().unwrap(), id, order["totalAmount"].as_i64().unwrap())
    });
    (records.collect(), data["next"].as_str().unwrap(), data["more"].as_bool().unwrap())
}

/// Reads all changes after a position, `size` at a time.
async fn walk(server: &TestServer, token: &str, size: i64) -> Vec<(i64, String, i64)> {
    let (mut all, mut after) = (Vec::new(), Value::Null);
    loop {
        let reply = ask(server, token, &json!({"after": after, "size": size})).await;
        let (found, next, more) = changes(reply.success());
        all.extend(found);
        after = json!(next);
        if !more {
            return all;
        }
    }
}

fn of<const N: usize>(expected: [(i64, &str, i64); N]) -> Vec<(i64, String, i64)> {
    expected.map(|(number, id, total)| (number, id.to_owned(), total)).into()
}

/// ORD-23, ORD-24: the records are the same as in List orders, in the order of their changes.
#[tokio::test]
async fn the_records_are_those_of_the_list() {
    let (server, token) = catalog::open_to_ops().await;
    let mut listed = Vec::new();
    for device in ["H-1", "H-3"] {
        let body = json!({"deviceCode": device}).to_string();
        let page = catalog::ask(&server, &token, ORDERS_PATH, "", &body).await;
        let records = page.data()["records"].as_array().unwrap();
        listed.extend(records.iter().rev().cloned());
    }
    let records: Vec<Value> = (1..)
        .zip(&listed)
        .map(|(change_no, order)| json!({"changeNo": change_no, "order": order}))
        .collect();
    assert_eq!(records.len(), 4);

    let all = ask(&server, &token, &json!({})).await.success().clone();
    let end = all["next"].clone();
    assert_eq!(all, json!({"records": records, "next": end, "more": false}));
    // Null and an empty text are left out (REQ-9).
    for body in [json!({"after": null, "size": null, "waitSeconds": null}), json!({"after": ""})] {
        assert_eq!(*ask(&server, &token, &body).await.success(), all);
    }
    let two = ask(&server, &token, &json!({"size": 2})).await.success().clone();
    assert_eq!(two, json!({"records": records[..2], "next": two["next"], "more": true}));
    // A cursor may be used again; it needs no more orders than one of the same place.
    for _ in 0..2 {
        let rest = json!({"after": two["next"], "size": 2});
        let rest = ask(&server, &token, &rest).await.success().clone();
        assert_eq!(rest, json!({"records": records[2..], "next": end, "more": false}));
    }
    let none = ask(&server, &token, &json!({"after": end})).await.success().clone();
    assert_eq!(none, json!({"records": [], "next": end, "more": false}));
}

/// ORD-24: a changed order is at its latest change alone; one that is sent again unchanged is not
/// changed.
#[tokio::test]
async fn an_order_is_at_the_place_of_its_latest_change() {
    let (server, token) = TestServer::start_for_ops(fleet()).await;
    let empty = ask(&server, &token, &json!({})).await.success().clone();
    assert_eq!(empty, json!({"records": [], "next": empty["next"], "more": false}));
    server.import_valid([line("a", 1), line("b", 1), line("c", 1)].concat()).await;
    let (_, before, _) = {
        let reply = ask(&server, &token, &json!({"after": empty["next"]})).await;
        let (found, next, more) = changes(reply.success());
        assert_eq!(found, of([(1, "a", 1), (2, "b", 1), (3, "c", 1)]));
        (found, next.to_owned(), more)
    };
    // Twice: a follower sees the last content once.
    server.import_valid(line("a", 2)).await;
    server.import_valid([line("a", 3), line("b", 1)].concat()).await;
    for size in [1, 2, 1_000] {
        assert_eq!(
            walk(&server, &token, size).await,
            of([(2, "b", 1), (3, "c", 1), (5, "a", 3)]),
            "{size} at a time"
        );
    }
    let later = ask(&server, &token, &json!({"after": before})).await;
    assert_eq!(changes(later.success()).0, of([(5, "a", 3)]));
}

/// ORD-30: the totals cover all orders of the group, in the state of the records.
#[tokio::test]
async fn totals_are_those_of_all_orders_of_the_group() {
    let (server, token) = TestServer::start_for_ops(fleet()).await;
    let totals = async |body: Value| {
        let data = ask(&server, &token, &body).await.success().clone();
        (data["records"].as_array().unwrap().len(), data["more"].clone(), data["totals"].clone())
    };
    let none = json!({"changeNo": 0, "orders": 0, "sales": []});
    assert_eq!(totals(json!({"includeTotals": true})).await, (0, json!(false), none));
    let sale = |id: &str, currency: &str, amount: i64| {
        let order = OrderLine::new(id, "D1", "2026-03-01 09:00:00").amount(currency, amount);
        let order = order.with("payAmount", amount).with("payStatus", 1);
        order.paid("2026-03-01 09:00:05")
    };
    let orders = [sale("a", "EUR", 5), sale("b", "EUR", 7), sale("c", "JPY", 9)];
    let unpaid = [line("d", 1), sale("s", "USD", 3).to_string().replace("D1", "D2")].concat();
    server.import_valid(orders.map(|it| it.to_string()).concat() + &unpaid).await;
    // One of another day, one refunded in part, and one that is no longer a sale.
    let another_day = sale("e", "EUR", 11).paid("2026-03-02 00:00:00").to_string();
    let refunded = sale("a", "EUR", 5).with("payStatus", 4).with("refundAmount", 2).to_string();
    let unsold = OrderLine::new("c", "D1", "2026-03-01 09:00:00").amount("JPY", 9);
    let unsold = unsold.with("payStatus", 2).to_string();
    server.import_valid([another_day, refunded, unsold].concat()).await;
    let now = server.now();
    assert!(server.store.upkeep().archive(now, now).await.unwrap().orders > 0);
    let eur = json!({"currency": "EUR", "orders": 3, "payAmount": 23, "refundAmount": 2});
    let all = json!({"changeNo": 7, "orders": 5, "sales": [eur]});
    for size in [2, 10] {
        let (records, more, found) = totals(json!({"size": size, "includeTotals": true})).await;
        assert_eq!((records, more, found), (5.min(size), json!(size == 2), all.clone()));
    }
    for without in [json!({}), json!({"includeTotals": false}), json!({"includeTotals": null})] {
        assert_eq!(totals(without).await, (5, json!(false), Value::Null));
    }
}

/// ORD-29: archived orders have their places, and archiving changes none.
#[tokio::test]
async fn archived_orders_are_followed_too() {
    let (server, token) = TestServer::start_for_ops(fleet()).await;
    server.import_valid([line("a", 1), line("b", 2)].concat()).await;
    let before = walk(&server, &token, 10).await;
    let now = server.now();
    let archived = server.store.upkeep().archive(now, now).await.unwrap();
    assert_eq!(archived.orders, 2);
    assert_eq!(walk(&server, &token, 10).await, before);
}

/// ORD-29, SCOPE-6: the orders of a device that moves stay where they were.
#[tokio::test]
async fn a_group_follows_its_own_orders_of_a_device_that_moved() {
    let (server, token) = TestServer::start_for_ops(fleet()).await;
    server.import_valid(line("a", 1)).await;
    server.apply("[[device]]\ncode = \"D1\"\ngroup = \"g2\"\n").await.unwrap();
    server.advance(std::time::Duration::from_secs(60));
    let later = OrderLine::new("b", "D1", "2026-03-02 10:00:30").amount("EUR", 2);
    server.import_valid([line("a", 9), later.to_string()].concat()).await;
    assert_eq!(walk(&server, &token, 10).await, of([(2, "a", 9)]));
    let token = server.switch(&token, "g2").await.token;
    assert_eq!(walk(&server, &token, 10).await, of([(1, "b", 2)]));
}

/// The violation of a cursor of another group, or of changes that the data has lost (ORD-28).
pub(crate) const FOREIGN: &str = "after must be the value of next in an answer for the selected \
    group; if it is, the data was restored to an earlier state: begin again with null";

/// ORD-28: a cursor of another group, or of data with other changes, is a violation.
#[tokio::test]
async fn a_cursor_belongs_to_its_group_and_its_data() {
    let (server, token) = TestServer::start_for_ops(fleet()).await;
    server.import_valid(line("a", 1)).await;
    let first = ask(&server, &token, &json!({})).await.success()["next"].clone();
    let token = server.switch(&token, "g2").await.token;
    let own = ask(&server, &token, &json!({})).await.success()["next"].clone();
    let cursor = ChangeCursor::read(own.as_str().unwrap()).unwrap();
    let last_change_no = cursor.last_change_no + 1;
    let ahead = ChangeCursor { last_change_no, ..cursor }.write();
    let nowhere = ChangeCursor { group: GroupNo(0), ..cursor }.write();
    let other = ChangeCursor { history: HistoryId(7), ..cursor }.write();
    for after in [first, json!(ahead), json!(nowhere), json!(other)] {
        for seconds in [0, 60] {
            let body = json!({"after": after, "waitSeconds": seconds});
            let refused = ask(&server, &token, &body).await;
            assert_eq!((refused.status, refused.code()), (200, -1), "{refused:?}");
            assert_eq!(*refused.data(), json!([FOREIGN]));
        }
    }
    assert_eq!(server.store.orders().waiting_followers(), 0);
}
