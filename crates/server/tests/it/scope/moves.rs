//! SCOPE-6: an order belongs to the group that owned its device when it was traded. The cases of a
//! device that moves, one by one.

use std::time::Duration;

use kiosque_testkit::{
    DETAIL_PATH, DEVICES_PATH, FleetToml, ORDERS_PATH, OrderLine, Reply, TestServer,
};
use serde_json::{Value, json};

use super::Worker;

/// Two groups with an account each, and a device of the old one.
async fn server() -> TestServer {
    let fleet = FleetToml::new()
        .group("old", "The old owner")
        .group("new", "The new owner")
        .cheap_account("old", &["old"])
        .cheap_account("new", &["new"])
        .device("K", "Kiosk", "old");
    TestServer::start(fleet).await
}

fn give_to_new(more: &str) -> String {
    format!("[[device]]\ncode = \"K\"\ngroup = \"new\"\n{more}")
}

fn order(id: &str, start: &str) -> String {
    OrderLine::new(id, "K", start).with("tradeNo", format!("T-{id}")).to_string()
}

async fn listed(worker: &mut Worker) -> Result<Vec<String>, i64> {
    let body = json!({"deviceCode": "K", "includeHistory": true});
    let reply = worker.ask(ORDERS_PATH, &body).await;
    if reply.code() != 200 {
        return Err(reply.code());
    }
    let records = reply.data()["records"].as_array().unwrap();
    assert_eq!(reply.data()["total"], records.len());
    Ok(records.iter().map(|record| record["orderId"].as_str().unwrap().to_owned()).collect())
}

async fn detail(worker: &mut Worker, body: Value) -> Reply {
    worker.ask(DETAIL_PATH, &body).await
}

async fn devices(worker: &mut Worker, body: Value) -> Value {
    let reply = worker.ask(DEVICES_PATH, &body).await;
    assert_eq!(reply.code(), 200);
    assert_eq!(reply.data()["total"], reply.data()["records"].as_array().unwrap().len());
    reply.data()["records"].clone()
}

#[tokio::test]
async fn a_device_that_moves_leaves_its_past_with_its_group() {
    let server = server().await;
    let (mut old, mut new) = (Worker::of(&server, "old").await, Worker::of(&server, "new").await);
    server
        .import_valid(order("o1", "2026-03-02 09:58:00") + &order("o2", "2026-03-02 09:59:00"))
        .await;
    let unknown = listed(&mut new).await;
    assert_eq!(unknown, Err(-1));

    server.apply(&give_to_new("")).await.unwrap();
    server.advance(Duration::from_secs(60));
    // One order for the new owner, and one of the old owner's time that arrives late. DEV-5, below:
    // the code is in the old group's scope, and its page is empty.
    server
        .import_valid(order("o3", "2026-03-02 10:00:30") + &order("late", "2026-03-02 09:30:00"))
        .await;

    assert_eq!(listed(&mut old).await, Ok(vec!["late".into(), "o2".into(), "o1".into()]));
    assert_eq!(listed(&mut new).await, Ok(vec!["o3".into()]));
    check_detail("o1", &mut old, &mut new).await;
    check_detail("late", &mut old, &mut new).await;
    check_detail("o3", &mut new, &mut old).await;

    assert_eq!(devices(&mut old, json!({})).await, json!([]));
    assert_eq!(devices(&mut old, json!({"deviceCode": "K"})).await, json!([]));
    assert_eq!(devices(&mut new, json!({})).await[0]["deviceCode"], "K");
    assert_eq!(server.store.upkeep().verify().await.unwrap().differences, Vec::<String>::new());
}

/// ORD-19, ORD-20: the owner sees the detail by each number; for the other group the order does not
/// exist.
async fn check_detail(id: &str, owner: &mut Worker, other: &mut Worker) {
    let nowhere = detail(other, json!({"tradeNoOut": "nowhere"})).await;
    for body in [
        json!({"tradeNoOut": format!("T-{id}")}),
        json!({"tradeNoIn": format!("oid:{id}")}),
        json!({"tradeNoOut": format!("T-{id}"), "tradeNoIn": format!("oid:{id}")}),
    ] {
        let of_owner = detail(owner, body.clone()).await;
        assert_eq!(of_owner.data()["orderId"], id, "{body}");
        assert_eq!(of_owner.data()["deviceCode"], "K");
        assert_eq!(detail(other, body.clone()).await.text, nowhere.text, "{body}");
    }
}

/// DEV-7: the new owner sees no activity of the time before it.
#[tokio::test]
async fn the_new_owner_sees_no_earlier_activity_of_the_device() {
    let server = server().await;
    let (mut old, mut new) = (Worker::of(&server, "old").await, Worker::of(&server, "new").await);
    server.import_valid(order("o1", "2026-03-02 09:59:00")).await;
    let active = devices(&mut old, json!({"isOnline": 1})).await;
    assert_eq!(active[0]["lastActiveTimestamp"], server.now().0 - 60_000);

    server.apply(&give_to_new("")).await.unwrap();
    server.advance(Duration::from_secs(1));
    server.import_valid(order("late", "2026-03-02 09:59:30")).await;
    let quiet = devices(&mut new, json!({})).await;
    assert_eq!(
        (&quiet[0]["isOnline"], &quiet[0]["lastActiveTimestamp"]),
        (&json!(0), &json!(null))
    );
    assert_eq!(devices(&mut new, json!({"isOnline": 1})).await, json!([]));
    assert_eq!(devices(&mut new, json!({"isOnline": 0})).await, quiet);

    server.import_valid(order("o2", "2026-03-02 10:00:01")).await;
    let awake = devices(&mut new, json!({"isOnline": 1})).await;
    assert_eq!(awake[0]["lastActiveTimestamp"], server.now().0);
}
