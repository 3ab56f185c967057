//! Pages stay small with a large fleet, long names and full lists.

use std::fmt::Write as _;

use kiosque_contract::RejectedOrder;
use kiosque_model::Day;
use kiosque_testkit::{FleetToml, ORDERS_CALL, ORDERS_PATH, OrderLine, START_MS, TestServer};
use serde_json::json;

use super::{Browser, record_import};

/// The most bytes of a page, and of its compressed form.
const PAGE_MAX_BYTES: usize = 72_000;
const SENT_MAX_BYTES: usize = 15_000;

const DEVICES: usize = 3_000;
/// The groups that a picker lists.
const GROUPS: usize = 100;
/// More than the rows of a page.
const ROWS: usize = 200;
/// The aisles of a large cabinet, and the lines of a large order.
const AISLES: usize = 60;
const LINES: usize = 20;
/// Its cents.
const PRICE: i64 = 12_345;

const WORDS: [&str; 12] = [
    "Hauptbahnhof",
    "Ferdinand-von-Schirach",
    "南京西路地铁站",
    "mezzanine",
    "Großmarkthalle",
    "Concourse",
    "자동판매기",
    "Boulevard",
    "left of the lift",
    "Gleis",
    "<Service & Wartung>",
    "étage",
];

/// Returns a long text that has little in common with the texts of other numbers.
fn name(number: usize) -> String {
    let words = (0..4).map(|at| WORDS[(number * 31 + at * (number / 7 + 5)) % WORDS.len()]);
    format!("{} {number}", words.collect::<Vec<_>>().join(" "))
}

fn fleet() -> FleetToml {
    let groups: Vec<String> = (0..GROUPS).map(|group| format!("region-{group:03}")).collect();
    let mut fleet = FleetToml::new();
    for (at, group) in groups.iter().enumerate() {
        fleet = fleet.group(group, &name(at));
    }
    for account in 0..ROWS {
        let some = &groups[account % 80..account % 80 + 20];
        fleet = fleet.cheap_account(&format!("integrator-{account}"), some);
    }
    for product in 0..AISLES {
        fleet = fleet.product(&format!("P-{product}"), &name(product), "EUR");
    }
    for device in 0..DEVICES {
        fleet = fleet.device(&format!("KIOSK-{device:05}"), &name(device), &groups[0]);
    }
    fleet.with(&cabinet())
}

/// Returns the aisles of the last device.
fn cabinet() -> String {
    let mut aisles = String::new();
    for aisle in 0..AISLES {
        let (layer, stock) = (aisle / 10 + 1, aisle % 9);
        write!(
            aisles,
            "[[device.aisle]]\ncode = \"A{aisle}\"\nproduct = \"P-{aisle}\"\nprice = 250\n\
             stock = {stock}\ncapacity = 8\nlayer = {layer}\ncabinet = \"1\"\n"
        )
        .unwrap();
    }
    aisles
}

/// Returns an order of many lines, of the last device or another one.
fn order(number: usize) -> String {
    let device = DEVICES - 1 - if number.is_multiple_of(2) { 0 } else { number };
    let lines = (0..LINES).map(|line| {
        json!({
            "goodsId": format!("P-{line}"), "aisleCode": format!("A{line}"), "salePrice": PRICE,
            "shipmentStatus": 3, "shipmentErrCode": 40 + line, "shipmentFailDesc": name(number),
        })
    });
    // Some days and some months have sales, up to yesterday.
    let days_ago = if number < ROWS / 2 { number } else { (number - ROWS / 2) * 36 };
    let yesterday = START_MS / 86_400_000 - 1;
    let start = format!("{} 12:00:00", Day(yesterday - i64::try_from(days_ago).unwrap()));
    OrderLine::new(
        format!("order-{number:08}-{}", number * 7_919),
        format!("KIOSK-{device:05}"),
        &start,
    )
    .amount("USD", PRICE * i64::try_from(LINES).unwrap())
    .paid(&start)
    .with("shipmentStatus", 3)
    .with("payChannelName", name(number))
    .with("detailVOList", lines.collect::<serde_json::Value>())
    .to_string()
}

/// Fills the lists of rejected lines and of refused requests. Returns the id of such a request.
async fn refuse(server: &TestServer, key: &str) -> String {
    let reason = |line: usize| format!("currency: {} is no code", name(line).repeat(5));
    for import in 0..30 {
        let rejected = (0..50).map(|line| RejectedOrder {
            line: 1 + line as u64,
            order_id: Some(format!("{:064}", import * 7_919 + line)),
            reason: reason(line),
        });
        record_import(server, rejected.collect()).await;
    }
    let lines =
        (0..ROWS).map(|line| json!({"orderId": line.to_string(), "deviceCode": name(line)}));
    let lines: String = lines.map(|line| format!("{line}\n")).collect();
    server.call_operator(ORDERS_CALL, Some(key), lines).await;
    let token = server.log_in("integrator-0").await.token;
    let mut id = String::new();
    for field in 0..90 {
        let body = json!({"deviceCode": name(field), "startTimestamp": name(field)});
        let reply = server.call(ORDERS_PATH, Some(&token), &body.to_string()).await;
        id = reply.headers["x-request-id"].clone();
    }
    server.store.trail().write_refused().await.unwrap();
    id
}

/// Each page of a large platform has at most 60 KB, and 15 KB as it is sent.
#[tokio::test]
async fn pages_of_a_large_platform_are_small() {
    let server = TestServer::start(fleet()).await;
    let orders: String = (0..ROWS).map(order).collect();
    server.import_valid(orders).await;
    let all = "orders,activity,fleet,audit,read,keys";
    for key in 0..ROWS / 4 {
        server.create_key_named(&format!("key-of-{key}"), all).await;
    }
    let key = server.create_key_named("office", all).await;
    for _ in 0..ROWS {
        server.log_in("integrator-0").await;
    }
    let request = refuse(&server, &key).await;
    let mut browser = Browser::signed_in(&server, &key).await;
    let device = format!("KIOSK-{:05}", DEVICES - 1);
    let pages = [
        "/console/".to_owned(),
        "/console/?days=90&group=region-000".to_owned(),
        "/console/?days=3660".to_owned(),
        "/console/devices".to_owned(),
        "/console/devices?state=silent&group=region-000".to_owned(),
        format!("/console/devices/{device}"),
        "/console/orders".to_owned(),
        format!("/console/orders?device={device}"),
        "/console/orders/region-000/order-00000000-0".to_owned(),
        "/console/integrators".to_owned(),
        format!("/console/integrators?request={request}"),
        "/console/intake".to_owned(),
        "/console/api".to_owned(),
        "/console/api/operator/receiveOrders".to_owned(),
        "/console/api/integrator/queryOrderList".to_owned(),
        "/console/integrators/account?name=integrator-0".to_owned(),
        "/console/audit".to_owned(),
        "/console/keys".to_owned(),
        "/console/service".to_owned(),
    ];
    let mut large = Vec::new();
    for coding in ["zstd", "gzip"] {
        browser.headers = vec![("accept-encoding", coding.to_owned())];
        for path in &pages {
            let page = browser.get(path).await;
            assert_eq!((page.status, page.headers["content-encoding"].as_str()), (200, coding));
            let sizes =
                format!("{path}: {} bytes, {} by {coding}", page.text.len(), page.sent_bytes);
            println!("{sizes}");
            if page.text.len() > PAGE_MAX_BYTES || page.sent_bytes > SENT_MAX_BYTES {
                large.push(sizes);
            }
        }
    }
    assert!(large.is_empty(), "{large:#?}");
}
