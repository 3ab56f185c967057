//! `POST /operator/v1/orders`: NDJSON with any content type, streamed, lines of at most 1 MiB. The
//! answer is sent after the durable commit, with HTTP 200 also when some lines are rejected; the
//! others are stored.

use std::time::Duration;

use kiosque_testkit::{ORDERS_CALL, TestServer};
use serde_json::json;

use super::{counts, fleet, kept, line, lines, shown, whole, with_key};

/// Every kind of outcome and of line: the file that `import orders` takes, and the answer to it.
fn mixed() -> Vec<u8> {
    let mut body = b"\xef\xbb\xbf".to_vec();
    body.extend_from_slice(line("old", 100).replace('\n', "\r\n").as_bytes());
    body.extend_from_slice(line("changed", 101).as_bytes());
    body.extend_from_slice(b"\n  \r\n");
    body.extend_from_slice(line("new", 5).as_bytes());
    body.extend_from_slice(br#"{"orderId":"eur","deviceCode":"D1","currency":"ZZZ"}"#);
    body.extend_from_slice(b"\nnonsense 4111111111111234\n\xff\xfe\n");
    let elsewhere = line("elsewhere", 5).replace("D1", "D9");
    body.extend_from_slice(elsewhere.as_bytes());
    let misplaced = line("misplaced", 5).replace("D1", "5500005555555559");
    body.extend_from_slice(misplaced.as_bytes());
    let colour = line("colour", 5).replace("\"currency\"", "\"colour\":1,\"currency\"");
    body.extend_from_slice(colour.as_bytes());
    // A later line of an order replaces an earlier one.
    body.extend_from_slice(line("new", 6).as_bytes());
    let long = format!(r#"{{"orderId":"long","phone":"{}"}}"#, "1".repeat(1 << 20));
    body.extend_from_slice(long.as_bytes());
    body.push(b'\n');
    // The last line needs no line break.
    body.extend_from_slice(line("last", 7).trim_end().as_bytes());
    body
}

#[tokio::test]
async fn the_response_counts_every_outcome() {
    let (server, key) = with_key("orders").await;
    let before = [line("old", 100), line("changed", 100)].concat();
    assert_eq!(counts(&server.call_operator(ORDERS_CALL, Some(&key), before).await), [2, 0, 0, 0]);
    let reply = server.call_operator(ORDERS_CALL, Some(&key), mixed()).await;
    insta::assert_snapshot!("a_mixed_stream", whole(&reply));
    let token = server.log_in("ops").await.token;
    assert_eq!(kept(&server, &token).await, ["changed", "colour", "last", "new", "old"]);

    // The same file imported by the command stores the same orders.
    let other = TestServer::start(fleet()).await;
    other.import([line("old", 100), line("changed", 100)].concat()).await;
    let (imported, rejected) = other.import(mixed()).await;
    let done = imported.counts;
    let [accepted, updated, unchanged] =
        [done.accepted, done.updated, done.unchanged].map(|n| i64::try_from(n).unwrap());
    let listed = i64::try_from(rejected.len()).unwrap();
    assert_eq!(counts(&reply), [accepted, updated, unchanged, listed]);
    let reasons = rejected.iter().map(|one| {
        json!({
            "line": one.line, "orderId": one.order_id, "reason": &*one.reason,
        })
    });
    assert_eq!(reply.json["rejected"], reasons.collect::<serde_json::Value>());
    let other_token = other.log_in("ops").await.token;
    assert_eq!(shown(&server, &token).await, shown(&other, &other_token).await);
    assert_eq!(server.store.upkeep().verify().await.unwrap().differences, [""; 0]);
}

/// At most 1,000 rejected lines are listed, and all are counted. Values from a line are quoted up
/// to a limit.
#[tokio::test]
async fn at_most_a_thousand_rejected_lines_are_listed() {
    let (server, key) = with_key("orders").await;
    let bad = format!("{{\"orderId\":\"{}\"}}\n", "x".repeat(3_000));
    let body = [bad.repeat(1_200), line("good", 1)].concat();
    let reply = server.call_operator(ORDERS_CALL, Some(&key), body).await;
    assert_eq!(counts(&reply), [1, 0, 0, 1_200]);
    let rejected = reply.json["rejected"].as_array().unwrap();
    let numbers: Vec<i64> = rejected.iter().map(|one| one["line"].as_i64().unwrap()).collect();
    assert_eq!(numbers, (1..=1_000).collect::<Vec<_>>());
    assert!(reply.text.len() < 400_000, "{} bytes", reply.text.len());

    let currency = line("c", 1).replace("EUR", &"Y".repeat(100_000));
    let reply = server.call_operator(ORDERS_CALL, Some(&key), currency).await;
    assert!(reply.text.len() < 3_000, "{} bytes", reply.text.len());
}

/// A line without `goodsName` gets the product's name, of a product that was created a moment ago,
/// too.
#[tokio::test]
async fn an_order_has_the_product_names_of_its_arrival() {
    let (server, key) = with_key("orders").await;
    let token = server.log_in("ops").await.token;
    let sold = |id: &str| {
        let lines = r#","detailVOList":[{"goodsId":"cola"},{"goodsId":"tea"}]}"#;
        line(id, 1).replace("}\n", lines)
    };
    let names = async |id: &str| {
        let reply = server.call_operator(ORDERS_CALL, Some(&key), sold(id)).await;
        assert_eq!(counts(&reply), [1, 0, 0, 0]);
        let shown = shown(&server, &token).await;
        let lines = &shown[0]["detailVOList"];
        [0, 1].map(|at| lines[at]["goodsName"].as_str().unwrap().to_owned())
    };
    assert_eq!(names("before").await, ["Cola", ""]);
    let tea = "[[product]]\nid = \"tea\"\nname = \"Tea\"\ncurrency = \"EUR\"\n";
    let cola = "[[product]]\nid = \"cola\"\nname = \"Cola zero\"\n";
    server.apply(&format!("{tea}{cola}")).await.unwrap();
    assert_eq!(names("after").await, ["Cola zero", "Tea"]);
}

/// An order with a date further ahead than the limit is rejected, in a stream and in a file.
#[tokio::test]
pub(crate) async fn an_order_dated_far_ahead_is_rejected() {
    let server = TestServer::start_with(fleet(), |settings| {
        settings.limits.order_lead_max = Duration::from_secs(3_600);
    })
    .await;
    let key = server.create_key("orders").await;
    server.set_clock("2026-03-01T08:00:20Z");
    let later = |id: &str| line(id, 1).replace("09:00:20", "09:00:21");
    let body = [line("near", 1), later("far")].concat();
    let reply = server.call_operator(ORDERS_CALL, Some(&key), body.clone()).await;
    assert_eq!(counts(&reply), [1, 0, 0, 1]);
    let reason = "payEndTime: 2026-03-01 09:00:21 is more than 60m (order_lead_max) ahead of now, \
                  2026-03-01 08:00:20";
    assert_eq!(reply.json["rejected"][0]["reason"], reason);
    let (imported, rejected) = server.import(body).await;
    assert_eq!((imported.counts.unchanged, imported.counts.rejected), (1, 1));
    assert_eq!(&*rejected[0].reason, reason);
}

/// Any content type is accepted, and HTTP/2 as well.
#[tokio::test]
async fn orders_are_accepted_over_http2_and_with_any_content_type() {
    let (server, key) = with_key("orders").await;
    let mut sender = server.connect_operator_http2().await;
    let request = http::Request::post(format!("https://localhost{ORDERS_CALL}"));
    let request = request.header("authorization", format!("Bearer {key}"));
    let request = request.header("content-type", "text/csv");
    let body = http_body_util::Full::from(lines("h", 700));
    let reply = sender.send_request(request.body(body).unwrap()).await.unwrap();
    assert_eq!(counts(&kiosque_testkit::Reply::of(reply).await), [700, 0, 0, 0]);
}

/// The lines of a compressed body, or of one in UTF-16, would all be rejected in an answer with
/// HTTP 200.
#[tokio::test]
async fn a_body_of_another_kind_is_refused() {
    let (server, key) = with_key("orders").await;
    let mut sender = server.connect_operator_http2().await;
    for (coding, status) in [("gzip", 400), ("identity", 200)] {
        let request = http::Request::post(format!("https://localhost{ORDERS_CALL}"));
        let request = request.header("authorization", format!("Bearer {key}"));
        let request = request.header("content-encoding", coding);
        let body = http_body_util::Full::from(lines("h", 1));
        let reply = sender.send_request(request.body(body).unwrap()).await.unwrap();
        assert_eq!(reply.status(), status, "{coding}");
    }
    // A file that is not text is recognized by its first bytes, as by an import.
    for (body, detail) in [
        (&b"\xff\xfe{\0\"\0"[..], "The body is UTF-16; save it as UTF-8"),
        (b"\x1f\x8b\x08", "The body is compressed by gzip; decompress it, for example with zcat"),
    ] {
        let reply = server.call_operator(ORDERS_CALL, Some(&key), body).await;
        assert_eq!((reply.status, reply.json["detail"].as_str()), (400, Some(detail)));
    }
}
