//! The calls without a key: `/readyz` and `/metrics`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kiosque_model::UnixMs;
use kiosque_testkit::{
    DEVICES_PATH, FleetToml, ORDERS_CALL, Reply, START_MS, ServerOptions, TOKEN_PATH, TestData,
    TestRequest, TestServer, eventually, sql,
};
use tokio::net::TcpStream;

use super::{counts, line, whole};

/// Part of every value that belongs to a tenant.
const CANARY: &str = "canary7";

fn fleet() -> FleetToml {
    FleetToml::new()
        .group("canary7-group", "canary7 Group")
        .account("canary7-ops", &["canary7-group"])
        .no_api_account("canary7-guest", &["canary7-group"])
        .device("canary7-device", "canary7 Device", "canary7-group")
}

async fn get(server: &TestServer, path: &str) -> Reply {
    server.get_operator(path, None).await
}

/// The value of every series.
type Series = BTreeMap<String, f64>;

/// Reads the exposition line by line, and checks each line for the format and for known names.
async fn metrics(server: &TestServer) -> Series {
    let reply = get(server, "/metrics").await;
    assert_eq!(
        (reply.status, reply.headers["content-type"].as_str()),
        (200, "text/plain; version=0.0.4")
    );
    assert!(!reply.text.contains(CANARY) && !reply.text.contains("127.0.0.1"), "{}", reply.text);
    assert!(reply.text.ends_with('\n'));
    let (mut helped, mut kinds) = (BTreeSet::new(), BTreeMap::new());
    let mut series = Series::new();
    for line in reply.text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, help) = help.split_once(' ').unwrap();
            assert!(help.len() > 10 && help.ends_with('.'), "{line}");
            assert!(helped.insert(name), "{line}");
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').unwrap();
            assert!(helped.contains(name), "{line}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            kinds.insert(name, kind);
        } else {
            let (sample, value) = line.rsplit_once(' ').unwrap();
            let name = sample.split('{').next().unwrap();
            assert!(name.starts_with("kiosque_"), "{line}");
            let is_of_histogram = ["_bucket", "_sum", "_count"].iter().any(|end| {
                name.strip_suffix(end).is_some_and(|name| kinds.get(name) == Some(&"histogram"))
            });
            assert!(is_of_histogram || kinds.contains_key(name), "{line}");
            let before = series.insert(sample.to_owned(), value.parse().unwrap());
            assert_eq!(before, None, "{line}");
        }
    }
    series
}

/// Returns the series that have changed, with their differences, except durations.
fn moved(before: &Series, after: &Series) -> Vec<String> {
    assert!(before.keys().eq(after.keys()), "every series is there from the start");
    let pairs = before.iter().zip(after.values());
    let moved = pairs.filter(|((name, was), is)| *was != *is && !name.contains("duration_seconds"));
    moved.map(|((name, was), is)| format!("{name} {:+}", is - was)).collect()
}

#[tokio::test]
async fn every_counter_counts_its_events() {
    let server = TestServer::start(fleet()).await;
    let key = server.create_key("orders,activity").await;
    let before = metrics(&server).await;
    let start = f64::from(i32::try_from(START_MS / 1_000).unwrap());
    assert_eq!(before["kiosque_start_time_seconds"], start);
    let has_files = matches!(server.data, TestData::Directory(_));
    let log_bytes = before.get("kiosque_store_bytes{file=\"log\"}");
    assert_eq!(log_bytes.map(|bytes| *bytes > 0.0), has_files.then_some(true));

    let mut caller = server.connect().await;
    let mut log_in = async |name: &str, password: &str| {
        let body = format!(r#"{{"username":"{name}","password":"{password}"}}"#);
        caller.call(TOKEN_PATH, None, &body).await
    };
    let token = log_in("canary7-ops", "secret").await;
    let token = token.data()["accessToken"].as_str().unwrap().to_owned();
    log_in("canary7-ops", "wrong").await;
    log_in("canary7-absent", "wrong").await;
    log_in("canary7-guest", "secret").await;
    log_in("", "").await;
    caller.call(DEVICES_PATH, Some(&token), "{}").await;
    caller.call(DEVICES_PATH, Some("canary7"), "{}").await;
    caller.call("canary7/path", None, "{}").await;
    drop(TcpStream::connect(server.operator).await.unwrap());
    let order = |id, total| line(id, total).replace("D1", "canary7-device");
    let known = order("canary7-o", 100).repeat(4);
    let (other, changed) = (order("canary7-p", 100), order("canary7-o", 200));
    let orders = format!("{known}{other}{changed}{}", line("x", 1).repeat(5));
    server.call_operator(ORDERS_CALL, Some(&key), orders).await;
    let heartbeat = "{\"deviceCode\":\"canary7-device\"}\n{\"deviceCode\":\"canary7\"}\n";
    server.call_operator("/operator/v1/activity", Some(&key), heartbeat).await;
    server.call_operator("/operator/v1/activity", None, heartbeat).await;
    server.call_operator("/canary7", None, "").await;

    insta::assert_snapshot!("what_moved", settled(&server, &before).await);
}

/// Returns the changes, once the end of closed connections has been counted.
async fn settled(server: &TestServer, before: &Series) -> String {
    let gone = r#"kiosque_tls_handshakes_failed_total{listener="operator"} +1"#;
    let (mut looks, mut changed) = (0.0, Vec::new());
    eventually("the end of closed connections is counted", async || {
        let after = metrics(server).await;
        looks += 1.0;
        changed = moved(before, &after);
        // Each scrape is a request and a connection itself.
        let ours = [
            r#"kiosque_connections_total{listener="operator"}"#,
            r#"kiosque_requests_total{code="200",listener="operator",path="/metrics"}"#,
            r#"kiosque_store_"#,
        ];
        let rest = |line: &String| !ours.iter().any(|name| line.starts_with(name));
        assert_eq!(after[ours[1]] - before[ours[1]], looks);
        changed.retain(rest);
        let is_open = |line: &String| line.contains("connections_open{listener=\"operator\"}");
        changed.iter().any(|line| line == gone) && !changed.iter().any(is_open)
    })
    .await;
    changed.join("\n")
}

/// The histogram of durations by path: each request is in one bucket and in the count.
#[tokio::test]
async fn durations_are_recorded_by_path() {
    let server = TestServer::start(fleet()).await;
    for _ in 0..3 {
        server.call("nowhere", None, "{}").await;
    }
    let series = metrics(&server).await;
    let of = |name: &str, more: &str| {
        series[&format!(
            "kiosque_request_duration_seconds_{name}{{listener=\"gateway\",path=\"other\"{more}}}"
        )]
    };
    assert_eq!(of("count", ""), 3.0);
    assert_eq!(of("bucket", ",le=\"+Inf\""), 3.0);
    assert!(of("bucket", ",le=\"10\"") >= of("bucket", ",le=\"0.0005\""));
    assert!(of("sum", "") > 0.0);
}

/// The histogram of whole answers has those over HTTP/1.1, once their last byte is passed on.
#[tokio::test]
async fn answers_are_timed_to_their_last_byte() {
    let server = TestServer::start(fleet()).await;
    let token = server.log_in("canary7-ops").await.token;
    let mut http1 = server.connect().await;
    for _ in 0..3 {
        http1.call("nowhere", None, "{}").await;
    }
    http1.call(DEVICES_PATH, Some(&token), "{}").await;
    TestRequest::to("nowhere").send_over_http2(&server).await;
    let devices = format!("/v8/{DEVICES_PATH}");
    let of = |series: &Series, path: &str, name: &str, more: &str| {
        let labels = format!("listener=\"gateway\",path=\"{path}\"{more}");
        series[&format!("kiosque_answer_duration_seconds_{name}{{{labels}}}")]
    };
    // A caller can have the last byte before the server has noted that it is passed on.
    let mut series = Series::new();
    eventually("the answers are counted", async || {
        series = metrics(&server).await;
        (of(&series, "other", "count", ""), of(&series, &devices, "count", "")) == (3.0, 1.0)
    })
    .await;
    assert_eq!(of(&series, "other", "bucket", ",le=\"+Inf\""), 3.0);
    assert!(of(&series, "other", "sum", "") > 0.0);
    let labels = format!("{{listener=\"gateway\",path=\"{devices}\"}}");
    let handled = series[&format!("kiosque_request_duration_seconds_sum{labels}")];
    assert!(of(&series, &devices, "sum", "") > handled);
}

/// `/readyz` answers 503 while this node may not answer for sessions: its clock is off.
#[tokio::test]
async fn a_node_that_answers_for_no_session_is_not_ready() {
    let options = ServerOptions { data: TestData::postgres(), ..ServerOptions::default() };
    let server = TestServer::start_on(fleet(), options).await;
    let token = server.log_in("canary7-ops").await.token;
    let ready_and_code =
        async || (get(&server, "/readyz").await.status, server.code_of(&token).await);
    assert_eq!(ready_and_code().await, (200, 200));
    server.store.engine().check_clock(UnixMs(i64::MAX)).unwrap();
    assert_eq!(ready_and_code().await, (503, 500));
}

/// After a write that found no room on the database server, `/readyz/orders` answers 503 until the
/// server can write a file again, without another order. The order is refused with the reason, and
/// requests of integrators are answered.
#[tokio::test]
async fn a_full_disk_of_the_database_is_reported_until_there_is_room() {
    let options = ServerOptions { data: TestData::postgres(), ..ServerOptions::default() };
    let server = TestServer::start_on(super::fleet(), options).await;
    let key = server.create_key("orders").await;
    let orders = async || get(&server, "/readyz/orders").await;
    server.data.execute(&sql("full_disk"));
    assert_eq!(orders().await.status, 200, "no file is written while no write has failed");
    let post = async || server.call_operator(ORDERS_CALL, Some(&key), line("a", 1)).await;
    let refused = post().await;
    assert_eq!((refused.status, refused.headers["retry-after"].as_str()), (503, "1"));
    let reason = "the database failed: could not extend file: No space left on device (53100)";
    assert_eq!(refused.json["detail"], format!("orders cannot be stored ({reason})"));
    // The files that the server is asked to write fail meanwhile.
    for _ in 0..30 {
        let reply = orders().await;
        assert_eq!(reply.status, 503);
        assert_eq!(reply.json["detail"], format!("orders cannot be stored: {reason}"));
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(get(&server, "/readyz").await.status, 200);
    server.data.execute(&sql("free_disk"));
    eventually("there is room again", async || orders().await.status == 200).await;
    assert_eq!(counts(&post().await), [1, 0, 0, 0]);
}

/// `/readyz` answers 200 when the store answers a session check, else 503.
#[tokio::test]
async fn a_server_is_ready_while_its_store_answers() {
    let server = TestServer::start("").await;
    insta::assert_snapshot!("ready", whole(&get(&server, "/readyz").await));
    let reply = get(&server, "/readyz/orders").await;
    assert_eq!((reply.status, reply.text.as_str()), (200, "ready\n"));

    // Nothing of this stream has been read yet.
    let server = TestServer::start("").await;
    let before = metrics(&server).await;
    server.data.destroy();
    let mut not_ready = whole(&get(&server, "/readyz").await);
    // SQLite names the file that cannot be read.
    if let Some(start) = not_ready.find(" (") {
        let end = not_ready.find("\",\n  \"requestId\"").unwrap();
        let cause: String = not_ready.drain(start..end).collect();
        assert!(cause.contains("/kiosque.db: disk I/O error ("), "{cause}");
    }
    insta::assert_snapshot!("not_ready", not_ready);
    let after = metrics(&server).await;
    let faults = moved(&before, &after).into_iter().filter(|line| line.contains("faults"));
    assert!(faults.eq([r#"kiosque_faults_total{kind="store_failed"} +1"#.to_owned()]));
    // It is alive all the same.
    assert_eq!(get(&server, "/livez").await.status, 200);
}
