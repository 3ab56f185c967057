//! Orders and heartbeats as JSON: one object, or an array of any length, which is read as it
//! arrives and stored as lines are.

use bytes::Bytes;
use http_body_util::Full;
use kiosque_testkit::{ORDERS_CALL, Reply, TestServer, eventually};
use serde_json::{Value, json};

use super::{ACTIVITY, Stream, counts, fleet, kept, line, lines, with_key};

const JSON: &str = "application/json";

async fn post(
    server: &TestServer,
    (path, key): (&str, &str),
    kind: &str,
    body: impl Into<Bytes>,
) -> Reply {
    let request = http::Request::post(path).header("host", "localhost");
    let request = request.header("authorization", format!("Bearer {key}"));
    let request = request.header("content-type", kind);
    server.connect_operator().await.send(request.body(Full::from(body.into())).unwrap()).await
}

/// Returns an order of `D1` with line breaks.
fn pretty(id: &str, total: i64) -> String {
    let order: Value = serde_json::from_str(&line(id, total)).unwrap();
    serde_json::to_string_pretty(&order).unwrap()
}

/// An array stores what its elements store as lines. Reasons name the index, from 0.
#[tokio::test]
async fn an_array_of_orders_is_stored_as_its_lines_are() {
    let server = TestServer::start(fleet()).await;
    let (key, token) = (server.create_key("orders").await, server.log_in("ops").await.token);
    let elements = [
        pretty("a", 1),
        line("b", 2).replace("D1", "D9"),
        "[1]".to_owned(),
        "7".to_owned(),
        line("c", 3).replace("\"currency\"", "\"colour\":\"]},{\",\"currency\""),
        // Replaces the first one.
        line("a", 4),
    ];
    let body = format!("\n[ {} ]\n", elements.join(" ,\r\n"));
    let reply = post(&server, (ORDERS_CALL, &key), "Application/JSON; charset=utf-8", body).await;
    let expected = json!({
        "accepted": 2, "updated": 1, "unchanged": 0,
        "rejectedCount": 3,
        "rejected": [
            {"line": 2, "orderId": "b", "reason": "[1] deviceCode: no device D9 is known"},
            {"line": 3, "orderId": null, "reason": "[2] not a JSON object"},
            {"line": 4, "orderId": null, "reason": "[3] not a JSON object"},
        ],
        "ignoredKeys": ["colour"],
    });
    assert_eq!((reply.status, &reply.json), (200, &expected));
    assert_eq!(kept(&server, &token).await, ["a", "c"]);
    let empty = post(&server, (ORDERS_CALL, &key), JSON, "[]").await;
    assert_eq!(counts(&empty), [0; 4]);
    assert_eq!(counts(&post(&server, (ORDERS_CALL, &key), JSON, "").await), [0; 4]);
}

/// One object may have line breaks. Lines may be sent as JSON, too: their reasons have no index.
#[tokio::test]
async fn an_object_is_one_order_and_lines_remain_lines() {
    let (server, key) = with_key("orders").await;
    assert_eq!(
        counts(&post(&server, (ORDERS_CALL, &key), JSON, pretty("a", 1)).await),
        [1, 0, 0, 0]
    );
    let body = [lines("l", 2), "\nnonsense\n".to_owned(), line("a", 1)].concat();
    let reply = post(&server, (ORDERS_CALL, &key), JSON, body.clone()).await;
    assert_eq!(counts(&reply), [2, 0, 1, 1]);
    let as_lines = post(&server, (ORDERS_CALL, &key), "application/x-ndjson", body).await;
    assert_eq!(counts(&as_lines), [0, 0, 3, 1]);
    assert_eq!(reply.json["rejected"], as_lines.json["rejected"]);
    assert_eq!(reply.json["rejected"][0]["line"], 4);
}

/// The elements before an error between elements are stored; the answer names the last of them.
#[tokio::test]
async fn of_an_array_that_is_cut_off_the_elements_before_are_stored() {
    let server = TestServer::start(fleet()).await;
    let (key, token) = (server.create_key("orders").await, server.log_in("ops").await.token);
    let elements: Vec<String> = (0..1_500).map(|at| line(&format!("o{at:04}"), 1)).collect();
    let whole = format!("[{}]", elements.join(","));
    let cut = format!("[{}", elements[..1_499].join(","));
    for (body, error) in [
        (format!("{cut},"), "expected an element after [1498]"),
        (format!("{cut} {{}}]"), "expected `,` or `]` after [1498]"),
        (format!("{cut}] x"), "expected nothing after [1498]"),
        (format!("{cut}, {{\"orderId\": \""), "expected the end of an element after [1498]"),
    ] {
        let reply = post(&server, (ORDERS_CALL, &key), JSON, body).await;
        let detail = format!(
            "the body is not valid JSON: {error}; the elements stored before remain, and the whole \
             body may be sent again once it is valid"
        );
        assert_eq!((reply.status, reply.json["detail"].as_str()), (400, Some(&*detail)));
        assert_eq!(kept(&server, &token).await.len(), 1_499);
    }
    assert_eq!(counts(&post(&server, (ORDERS_CALL, &key), JSON, whole).await), [1, 0, 1_499, 0]);
}

/// An array is not waited for: an element is stored when it has arrived.
#[tokio::test]
async fn an_element_is_stored_before_the_array_ends() {
    let server = TestServer::start(fleet()).await;
    let (key, token) = (server.create_key("orders").await, server.log_in("ops").await.token);
    let mut stream = Stream::open_as(&server, (ORDERS_CALL, &key), JSON).await;
    let (first, second) = (line("first", 1), line("second", 1));
    stream.say(format!("[{first},{}", &second[..20])).await;
    eventually("the first element is stored", async || kept(&server, &token).await == ["first"])
        .await;
    stream.say(format!("{}]", &second[20..])).await;
    assert_eq!(counts(&stream.end().await), [2, 0, 0, 0]);
}

#[tokio::test]
async fn heartbeats_are_taken_as_an_array() {
    let (server, key) = with_key("activity").await;
    let body = "[{\"deviceCode\": \"D1\"},\n{\"deviceCode\": \"D9\"}, {}]";
    let reply = post(&server, (ACTIVITY, &key), JSON, body).await;
    let expected = json!({
        "accepted": 1,
        "rejectedCount": 2,
        "rejected": [
            {"line": 2, "deviceCode": "D9", "reason": "[1] deviceCode: no device D9 is known"},
            {"line": 3, "deviceCode": null, "reason": "[2] deviceCode: is missing"},
        ],
        "ignoredKeys": [],
    });
    assert_eq!((reply.status, &reply.json), (200, &expected));
    let cut = post(&server, (ACTIVITY, &key), JSON, "[{\"deviceCode\": \"D2\"}").await;
    assert_eq!(cut.status, 400);
}
