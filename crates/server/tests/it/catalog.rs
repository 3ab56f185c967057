//! A small server with data of every kind, whose answers are snapshots.

use kiosque_testkit::{FleetToml, Reply, TestRequest, TestServer};

const AISLES: &str = r#"aisle = [
    { code = "A1", product = "P-1", price = 250, stock = 7, capacity = 10 },
    { code = "A2", product = "P-2", price = 120, stock = 3, capacity = 10, layer = 2 },
]"#;

pub(crate) fn fleet() -> FleetToml {
    FleetToml::new()
        .group("harbour", "Harbour")
        .group("station", "Station")
        .group("old", "Old town")
        .with("active = false")
        .group("bare", "Nothing yet")
        .account("ops", &["old", "harbour", "station"])
        .with("display_name = \"Operations\"")
        .account("new", &["bare"])
        .product("P-1", "Cola \"0.5\"", "EUR")
        .with("category = \"drinks\"\ndefault_price = 250")
        .product("P-2", "Eau 水", "EUR")
        .device("H-1", "Pier 1", "harbour")
        .with("model = \"M200\"\naddress = \"1 Quay Street\"")
        .with(AISLES)
        .device("H-2", "Pier 2", "harbour")
        .device("H-3", "Fish_market 100%", "harbour")
        .device("H-4", "Pier 4, in repair", "harbour")
        .with("enabled = false")
        .device("S-1", "Platform 1", "station")
}

/// Imported in this order, and numbered by the start of the trades (ORD-3).
const ORDERS: &[&str] = &[
    // Paid and shipped, with a card.
    r#"{"orderId":"O-1","deviceCode":"H-1","currency":"EUR","totalAmount":370,"tradeNo":"T-1",
    "tradeStartTime":"2026-03-01 09:00:00","payEndTime":"2026-03-01 09:00:20",
    "shipmentTime":"2026-03-01 09:00:45","cardNumber":"4111 1111-1111 1234",
    "payChannelName":"card","detailVOList":[{"goodsId":"P-1","aisleCode":"A1","salePrice":250},
    {"goodsId":"P-2","aisleCode":"A2","count":1,"salePrice":120,"goodsPrice":150}]}"#,
    // Not paid, and without a trade number.
    r#"{"orderId":"O-2","deviceCode":"H-1","currency":"EUR","totalAmount":250,
    "tradeStartTime":"2026-03-01 10:00:00","phone":"+33 6 12 34 56 78",
    "detailVOList":[{"goodsId":"P-1","aisleCode":"A1","salePrice":250}]}"#,
    // One line failed and was refunded; the trade number is used twice.
    r#"{"orderId":"O-3","deviceCode":"H-1","currency":"EUR","totalAmount":370,"tradeNo":"T-1",
    "tradeNoIn":"I-3","tradeStartTime":"2026-03-02T10:55:00+01:00",
    "payEndTime":"2026-03-02 09:55:30","shipmentTime":"2026-03-02 09:56:00","payStatus":4,
    "shipmentStatus":4,"refundAmount":120,"payChannelName":"wallet","detailVOList":[
    {"goodsId":"P-1","aisleCode":"A1","salePrice":250,"shipmentStatus":1},
    {"goodsId":"P-9","goodsName":"A \"new\" one","aisleCode":"A2","salePrice":120,
    "shipmentStatus":3,"shipmentErrCode":17,"shipmentFailDesc":"motor\nblocked"}]}"#,
    // Another currency and no lines.
    r#"{"orderId":"O-4","deviceCode":"H-3","currency":"ISK","totalAmount":900,"tradeNo":"T-4",
    "tradeNoIn":"I-4","tradeStartTime":"2026-02-28 23:59:59","payEndTime":"2026-03-01 00:00:03"}"#,
    // Of another group.
    r#"{"orderId":"O-5","deviceCode":"S-1","currency":"EUR","totalAmount":1,"tradeNo":"T-5",
    "tradeStartTime":"2026-03-02 09:50:00"}"#,
];

/// Starts the server, with its orders.
pub(crate) async fn open() -> TestServer {
    let server = TestServer::start(fleet()).await;
    let lines: Vec<String> = ORDERS.iter().map(|order| order.replace('\n', "")).collect();
    server.import_valid(lines.join("\n")).await;
    server
}

/// Starts the server, and logs in to the group `harbour`; returns the token.
pub(crate) async fn open_to_ops() -> (TestServer, String) {
    let server = open().await;
    let token = server.log_in("ops").await.token;
    (server, token)
}

/// Sends a business call that succeeds.
pub(crate) async fn ask(
    server: &TestServer,
    token: &str,
    path: &str,
    query: &str,
    body: &str,
) -> Reply {
    let ask = TestRequest::to(path).query(query).token(token).body(body);
    let reply = ask.send(server).await;
    assert_eq!((reply.status, reply.code()), (200, 200), "{query} {body}: {reply:?}");
    reply
}

/// Returns the values of one field of the records of a page.
pub(crate) fn column(reply: &Reply, field: &str) -> Vec<String> {
    let records = reply.data()["records"].as_array().unwrap();
    records.iter().map(|record| record[field].as_str().unwrap().to_owned()).collect()
}
