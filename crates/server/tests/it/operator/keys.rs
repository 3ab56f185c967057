//! Keys are sent as `Authorization: Bearer`; a revoked key is refused from the next request.

use std::time::Duration;

use http_body_util::Full;
use kiosque_testkit::{DEVICES_PATH, ORDERS_CALL, TestServer, eventually};

use super::inventory::READS;
use super::{ACTIVITY, FLEET_CALL, Stream, counts, fleet, kept, line, with_key};
use crate::console::revoke;

#[tokio::test]
async fn each_right_opens_its_calls_and_no_other() {
    let server = TestServer::start(fleet()).await;
    let posts = [(ORDERS_CALL, "orders"), (FLEET_CALL, "fleet"), (ACTIVITY, "activity")];
    let gets = READS.into_iter().map(|call| (call, "read")).chain([("audit", "audit")]);
    let gets: Vec<_> = gets.map(|(call, right)| (format!("/operator/v1/{call}"), right)).collect();
    let statuses = async |key: Option<&str>| {
        let mut all = Vec::new();
        for (call, right) in posts {
            all.push((server.call_operator(call, key, "").await.status, call, right));
        }
        for (call, right) in &gets {
            all.push((server.get_operator(call, key).await.status, call, right));
        }
        all
    };
    for may in ["orders", "activity", "fleet", "audit", "read", "orders,activity,fleet,audit"] {
        let key = server.create_key(may).await;
        for (status, call, right) in statuses(Some(&key)).await {
            let opens = may.split(',').any(|one| one == right);
            assert_eq!(status != 403, opens, "{may}: {call}: {status}");
            assert!(status != 401 && status < 500, "{may}: {call}: {status}");
        }
    }
    let token = server.log_in("ops").await.token;
    for key in [None, Some("kqo_none"), Some(token.as_str())] {
        for (status, call, _) in statuses(key).await {
            assert_eq!(status, 401, "{key:?}: {call}");
        }
    }
    // A refused heartbeat is not recorded.
    let other = server.create_key("orders,fleet").await;
    server.call_operator(ACTIVITY, Some(&other), r#"{"deviceCode":"D1"}"#).await;
    let online = server.call(DEVICES_PATH, Some(&token), r#"{"isOnline":1}"#).await;
    assert_eq!(online.data()["total"], 0);
}

/// A stream ends with its key, a second later at most. Lines are stored while a stream continues,
/// and other streams continue.
#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_key_ends_its_open_streams() {
    let (server, token) = TestServer::start_for_ops(fleet()).await;
    let (key, other) =
        (server.create_key("orders").await, server.create_key_named("other", "orders").await);
    let mut streams = [Stream::open(&server, &key).await, Stream::open(&server, &other).await];
    for (at, stream) in streams.iter_mut().enumerate() {
        stream.say(line(&format!("before{at}"), 1)).await;
    }
    let before = ["before0", "before1"];
    eventually("the lines are stored", async || kept(&server, &token).await == before).await;
    revoke(&server, "orders").await;
    server.advance(Duration::from_secs(1));
    for (at, stream) in streams.iter_mut().enumerate() {
        stream.say(line(&format!("after{at}"), 1)).await;
    }
    let [revoked, other] = streams;
    let revoked = revoked.end().await;
    assert_eq!(revoked.status, 401);
    let detail = "the key is unknown or revoked; the lines that were stored before remain";
    assert_eq!(revoked.json["detail"], detail);
    assert_eq!(counts(&other.end().await), [2, 0, 0, 0]);
    assert_eq!(kept(&server, &token).await, ["after1", "before0", "before1"]);
}

#[tokio::test]
async fn a_key_is_presented_in_one_way() {
    let (server, key) = with_key("orders").await;
    let mut caller = server.connect_operator().await;
    let mut ask = async |values: &[String]| {
        let mut request = http::Request::post(ORDERS_CALL).header("host", "localhost");
        for value in values {
            request = request.header("authorization", value);
        }
        caller.send(request.body(Full::default()).unwrap()).await.status
    };
    for good in [format!("Bearer {key}"), format!("bearer {key}"), format!("Bearer  {key}")] {
        assert_eq!(ask(std::slice::from_ref(&good)).await, 200, "{good:?}");
    }
    for bad in [
        key.clone(),
        format!("Basic {key}"),
        format!("Bearer{key}"),
        "Bearer".to_owned(),
        "Bearer ".to_owned(),
        "é".to_owned(),
        format!("Bearer {key}x"),
        format!("Bearer {}", &key[4..]),
        format!("Bearer {key}, Bearer {key}"),
    ] {
        assert_eq!(ask(std::slice::from_ref(&bad)).await, 401, "{bad:?}");
    }
    assert_eq!(ask(&[format!("Bearer {key}"), format!("Bearer {key}")]).await, 401);
}
