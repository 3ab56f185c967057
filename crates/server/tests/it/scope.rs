//! SCOPE-1: nothing of another group appears in an answer, and no answer shows that it exists.

mod moves;
mod requests;

use std::collections::BTreeMap;

use kiosque_testkit::{
    Client, DEVICES_PATH, FleetToml, LoggedIn, ORDERS_PATH, Reply, Rng, TOKEN_PATH, TestServer,
    seed, size,
};
use requests::Request;
use serde_json::{Value, json};

/// Part of every value that may be unique to one group.
const NORTH: &str = "NORTH7";
const SOUTH: &str = "SOUTH9";
const KIOSKS: usize = 4;
const ORDERS: usize = 40;

fn device(mark: &str, number: usize) -> String {
    format!("{number}-{mark}")
}

/// A group, its own account, and devices with the same names as the devices of any other group.
fn fleet_of(mark: &str) -> FleetToml {
    let group = format!("g-{mark}");
    let fleet = FleetToml::new().group(&group, &format!("Group {mark}"));
    let mut fleet = fleet.cheap_account(mark, &[&group]);
    for number in 0..KIOSKS {
        let enabled = number > 0;
        fleet = fleet
            .device(&device(mark, number), &format!("Kiosk {number}"), &group)
            .with(&format!("model = \"M {mark}\"\naddress = \"{mark} street\""))
            .with(&format!("enabled = {enabled}"));
    }
    fleet
}

/// Orders with the same ids and trade numbers in every group, and some with values unique to one.
fn orders_of(mark: &str) -> String {
    let mut orders = String::new();
    for number in 0..ORDERS {
        let alone = number % 7 == 0;
        let id = if alone { format!("o{number}-{mark}") } else { format!("o{number}") };
        let start = format!("2026-03-0{} 0{}:00:00", 1 + number % 2, number % 10);
        let mut order = json!({
            "orderId": id, "deviceCode": device(mark, number % KIOSKS), "currency": "EUR",
            "totalAmount": 250 + number, "tradeStartTime": start,
            "payChannelName": format!("pay {mark}"),
            "detailVOList": [{
                "goodsId": "p1", "goodsName": format!("Cola {mark}"), "salePrice": 250,
                "shipmentStatus": 3, "shipmentErrCode": 7,
                "shipmentFailDesc": format!("jam {mark}"),
            }],
        });
        if number % 4 > 0 {
            order["payEndTime"] = json!(start);
        }
        if number % 3 > 0 {
            let shared = format!("T{}", number % 20);
            order["tradeNo"] = json!(if alone { format!("{shared}-{mark}") } else { shared });
        }
        if number % 2 > 0 {
            order["tradeNoIn"] =
                json!(if alone { format!("I{number}-{mark}") } else { format!("I{number}") });
        }
        orders += &format!("{order}\n");
    }
    orders
}

/// A server with these groups, and their older orders archived.
async fn server_of(marks: &[&str]) -> TestServer {
    let server = TestServer::start("").await;
    for mark in marks {
        server.apply(&fleet_of(mark)).await.unwrap();
        server.import_valid(orders_of(mark)).await;
    }
    server.set_rates(&[("EUR", "2026-03-02", "1.085")]).await;
    let now = server.now();
    server.store.upkeep().archive(now.plus_ms(-20 * 3_600_000), now).await.unwrap();
    server
}

/// A connection with a session.
pub(crate) struct Worker {
    caller: Client,
    token: String,
}

impl Worker {
    pub(crate) async fn of(server: &TestServer, username: &str) -> Worker {
        let mut caller = server.connect().await;
        let body = json!({"username": username, "password": "secret"}).to_string();
        let token = LoggedIn::of(&caller.call(TOKEN_PATH, None, &body).await).token;
        Worker { caller, token }
    }

    pub(crate) async fn ask(&mut self, path: &str, body: &Value) -> Reply {
        self.caller.call(path, Some(&self.token), &body.to_string()).await
    }
}

/// SCOPE-1, SCOPE-4, ORD-20: every answer equals the answer of a server that has no other group. So
/// no byte of an answer depends on another group, and its devices and orders look as if they did
/// not exist.
#[tokio::test]
async fn every_answer_equals_that_of_a_platform_without_the_other_group() {
    let (seed, requests) = (seed(), size(600, 20_000));
    println!("{requests} requests of each group from seed {seed}");
    let shared = server_of(&[NORTH, SOUTH]).await;
    let mut rng = Rng::seeded(seed);
    for (own, other) in [(NORTH, SOUTH), (SOUTH, NORTH)] {
        let alone = server_of(&[own]).await;
        let mut in_shared = Worker::of(&shared, own).await;
        let mut in_alone = Worker::of(&alone, own).await;
        let (mut answered, mut with_own) = (0, 0);
        for _ in 0..requests {
            let Request { path, body } = Request::any(&mut rng, own, other);
            let reply = in_shared.ask(&path, &body).await;
            let expected = in_alone.ask(&path, &body).await;
            assert_eq!(reply.text, expected.text, "{path} {body}");
            assert_eq!(lasting(&reply), lasting(&expected), "{path} {body}");
            assert!(!reply.text.contains(other), "{path} {body}: {}", reply.text);
            answered += usize::from(reply.code() == 200);
            with_own += usize::from(reply.text.contains(own));
        }
        println!("{own}: {answered} answered, {with_own} of them with something of its own");
        assert!(with_own * 6 > requests, "the requests find too little to show anything");
    }
}

/// SCOPE-1, SCOPE-2: an account with two groups sees the selected one alone; with a `groupId`
/// filter it sees the devices of the other group alone.
#[tokio::test]
async fn an_account_of_two_groups_sees_only_the_selected_one() {
    let (seed, requests) = (seed(), size(400, 10_000));
    println!("{requests} requests from seed {seed}");
    let server = server_of(&[NORTH, SOUTH]).await;
    let groups = [NORTH, SOUTH].map(|mark| format!("g-{mark}"));
    server.apply(FleetToml::new().cheap_account("both", &groups)).await.unwrap();
    let mut rng = Rng::seeded(seed);
    let mut worker = Worker::of(&server, "both").await;
    let (mut selected, mut other) = (NORTH, SOUTH);
    for _ in 0..requests {
        if rng.one_in(20) {
            (selected, other) = (other, selected);
            worker.token = server.switch(&worker.token, &format!("g-{selected}")).await.token;
        }
        let Request { path, body } = Request::any(&mut rng, selected, other);
        let reply = worker.ask(&path, &body).await;
        let filtered = !path.starts_with(ORDERS_PATH) && body["groupId"] == format!("g-{other}");
        let hidden = if filtered { selected } else { other };
        assert!(!reply.text.contains(hidden), "{path} {body}: {}", reply.text);
    }
    for (filter, group) in
        [(json!({"groupId": format!("g-{other}")}), other), (json!({}), selected)]
    {
        let page = worker.ask(DEVICES_PATH, &filter).await;
        assert_eq!(page.data()["total"], KIOSKS - 1, "{filter}");
        assert_eq!(page.data()["records"][0]["groupId"], format!("g-{group}"), "{filter}");
    }
}

/// Returns the headers that are the same in every answer.
fn lasting(reply: &Reply) -> BTreeMap<String, String> {
    let mut headers = reply.headers.clone();
    headers.retain(|name, _| name != "x-request-id" && name != "date");
    headers
}
