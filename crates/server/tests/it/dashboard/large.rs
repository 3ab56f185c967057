//! DASH-27: long lists of devices are sent in parts.

use std::time::Duration;

use kiosque_testkit::{
    AISLE_PATH, DEVICES_PATH, FleetToml, LOGOUT_PATH, ONLINE_PATH, OrderLine, PROFILE_PATH, Rng,
    TestRequest, TestServer, decompress, eventually, sql,
};
use serde_json::{Value, json};

use crate::abuse::http2::{self, DATA, HEADERS, RST_STREAM, WINDOW_UPDATE, await_frame};
use crate::abuse::wire::{Target, Wire, post};

const PATHS: [&str; 3] = [AISLE_PATH, PROFILE_PATH, ONLINE_PATH];
const DEVICES: usize = 900;

/// A group whose list of devices is larger than any buffer on the way, since their names are long
/// and hardly compressed; a group with three devices; and an account for each.
fn fleet() -> FleetToml {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut rng = Rng::seeded(14);
    let mut fleet = FleetToml::new()
        .group("large", "Large")
        .group("small", "Small")
        .cheap_account("ops", &["large", "small"])
        .cheap_account("other", &["large"])
        .product("P", "Tea", "EUR");
    for number in 0..DEVICES {
        let name: String = (0..8_000).map(|_| char::from(rng.choose(LETTERS))).collect();
        fleet = fleet.device(&code(number), &name, "large");
        if number % 3 == 0 {
            fleet = fleet.with(
                r#"aisle = [{ code = "1", product = "P", price = 1, capacity = 1 },
                    { code = "2", product = "P", price = 2, capacity = 1, layer = 2 }]"#,
            );
        }
    }
    for number in 0..3 {
        fleet = fleet.device(&format!("S{number}"), "Small", "small");
    }
    fleet
}

fn code(number: usize) -> String {
    format!("L{number:04}")
}

async fn ask(server: &TestServer, token: &str, path: &str, body: &Value) -> kiosque_testkit::Reply {
    super::ask(server, token, path, body).await
}

/// Returns the devices of an answer.
fn list(data: &Value) -> &Vec<Value> {
    data.as_array().or_else(|| data["list"].as_array()).unwrap()
}

fn codes(data: &Value) -> Vec<&str> {
    list(data).iter().map(|device| device["deviceCode"].as_str().unwrap()).collect()
}

/// Every device is in the answer once and in order, whole lists and filtered ones; a short answer
/// has a length.
#[tokio::test(flavor = "multi_thread")]
async fn a_long_list_is_whole_though_it_is_sent_in_parts() {
    let server = TestServer::start(fleet()).await;
    server.import_valid(online_order(7)).await;
    let token = server.log_in("ops").await.token;
    let all: Vec<String> = (0..DEVICES).map(code).collect();
    let some: Vec<String> = (0..DEVICES).rev().step_by(2).map(code).collect();
    for path in PATHS {
        let reply = ask(&server, &token, path, &json!({})).await;
        assert_eq!(codes(reply.data()), all, "{path}");
        assert_eq!(reply.headers.get("content-length"), None, "{path}");
        let over_http2 = TestRequest::to(path).token(&token).send_over_http2(&server).await;
        assert_eq!(over_http2.data(), reply.data(), "{path}");
        if path == ONLINE_PATH {
            let counts = ["totalCount", "onlineCount", "offlineCount"];
            let counts = counts.map(|count| reply.data()[count].as_u64().unwrap());
            assert_eq!(counts, [DEVICES as u64, 1, DEVICES as u64 - 1]);
            let online = list(reply.data()).iter().filter(|device| device["isOnline"] == 1);
            assert_eq!(online.count(), 1);
            continue;
        }
        let short = ask(&server, &token, path, &json!({ "groupId": "small" })).await;
        assert_eq!(short.headers["content-length"], short.text.len().to_string(), "{path}");
        assert_eq!(codes(short.data()), ["S0", "S1", "S2"], "{path}");
        let filtered = ask(&server, &token, path, &json!({ "deviceCodes": some })).await;
        let mut wanted = some.clone();
        wanted.sort();
        assert_eq!(codes(filtered.data()), wanted, "{path}");
        let foreign = json!({ "deviceCodes": [code(0), code(1), "S0"] }).to_string();
        let ask = TestRequest::to(path).token(&token).body(foreign);
        assert_eq!(ask.send(&server).await.code(), -1, "SCOPE-4: {path}");
    }
}

/// An order that makes a device online.
fn online_order(number: usize) -> String {
    OrderLine::new("o", code(number), "2026-03-02 09:59:00").to_string()
}

/// Begins a long answer on stream 1, and returns once it has begun.
async fn unread(server: &TestServer, path: &str, headers: &[(&str, &str)]) -> Wire {
    let mut wire = http2::open(server, Some(1_000)).await;
    wire.say(http2::begun(1, &format!("/v8/{path}"), headers)).await;
    wire.say(http2::frame(DATA, 1, 1, b"{}")).await;
    await_frame(&mut wire, DATA, 1).await;
    wire
}

/// An answer that waits for its caller holds no snapshot: the log can be emptied, and no
/// transaction of PostgreSQL is open.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_not_read_holds_no_snapshot() {
    let (server, token) = TestServer::start_for_ops(fleet()).await;
    for path in PATHS {
        let _waiting = unread(&server, path, &[("third-api-token", &token)]).await;
        // A write, so that the snapshot of an answer would be an old one.
        server.import_valid(online_order(1)).await;
        if server.store.engine().is_file() {
            eventually("the log is emptied", async || {
                server.data.query(&sql("empty_log")) == ["0|0|0"]
            })
            .await;
        } else {
            eventually("no transaction is open", async || {
                server.data.query(&sql("open_snapshots")) == ["0"]
            })
            .await;
        }
    }
}

/// Each part is read at its own time and shows the data of that time: here a device of the last
/// part has left, and another one has a new name, since the answer began.
#[tokio::test(flavor = "multi_thread")]
async fn later_parts_show_the_time_at_which_they_are_read() {
    let (left, renamed) = ("z".repeat(8_000), "y".repeat(8_000));
    for path in PATHS {
        let server = TestServer::start(fleet()).await;
        let named = FleetToml::new().device(&code(DEVICES - 1), &left, "large");
        server.apply(named).await.unwrap();
        let moved = FleetToml::new().device(&code(DEVICES - 1), &left, "small");
        server.apply(moved.with("since = \"2026-03-02T11:00:00Z\"")).await.unwrap();
        let token = server.log_in("ops").await.token;
        // Cached parts show the present state as well.
        let whole = ask(&server, &token, path, &json!({})).await.text;
        assert!(whole.contains(&left) && !whole.contains(&renamed), "{path}");

        let mut wire = Target::of(&server).narrow().await;
        let headers = [("third-api-token", token.as_str()), ("connection", "close")];
        wire.say(post(path, &headers, "{}")).await;
        assert!(wire.more().await);
        let new_name = FleetToml::new().device(&code(DEVICES - 2), &renamed, "large");
        server.apply(new_name).await.unwrap();
        server.advance(Duration::from_secs(3_600));
        let answer = wire.rest().await;
        assert!(answer.ends_with(b"0\r\n\r\n"), "{path}: the answer is whole");
        // The end of a chunk may be within a name.
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.contains(&renamed[..100]), "{path}: an earlier snapshot");
        assert!(!answer.contains(&left[..100]), "{path}: an earlier time");
    }
}

/// An error after the first byte resets the stream, or ends the connection: here the session ends
/// while its answer is sent, and each part proves it again. ENV-15: a compressed answer cannot be
/// taken for a whole one, either.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_whose_session_ends_breaks_off() {
    let server = TestServer::start(fleet()).await;
    let compressed = ["gzip", "zstd"].map(|coding| (PROFILE_PATH, Some(coding)));
    for (path, coding) in PATHS.map(|path| (path, None)).into_iter().chain(compressed) {
        let accepted = ("accept-encoding", coding.unwrap_or("identity"));
        let token = server.log_in("ops").await.token;
        let mut wire = unread(&server, path, &[("third-api-token", &token), accepted]).await;
        let log_out = server.call(LOGOUT_PATH, Some(&token), "").await;
        assert_eq!(log_out.code(), 200);
        for stream in [0, 1] {
            let window = 100_000_000_u32.to_be_bytes();
            wire.say(http2::frame(WINDOW_UPDATE, 0, stream, &window)).await;
        }
        const INTERNAL_ERROR: [u8; 4] = [0, 0, 0, 2];
        assert_eq!(await_frame(&mut wire, RST_STREAM, 1).await, INTERNAL_ERROR, "{path}");
        if coding.is_some() {
            let data = http2::data_of(&wire.seen, 1);
            decompress(&data, coding).expect_err("the answer seems whole");
        }
        // The connection continues.
        wire.say(http2::request(3, "/v8/nowhere", &[])).await;
        await_frame(&mut wire, HEADERS, 3).await;

        let token = server.log_in("ops").await.token;
        let mut wire = Target::of(&server).narrow().await;
        wire.say(post(path, &[("third-api-token", &token), accepted], "{}")).await;
        assert!(wire.more().await);
        let log_out = server.call(LOGOUT_PATH, Some(&token), "").await;
        assert_eq!(log_out.code(), 200);
        let answer = wire.rest().await;
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.contains("transfer-encoding: chunked"), "{path}");
        match coding {
            Some(coding) => assert!(answer.contains(&format!("content-encoding: {coding}\r\n"))),
            None => assert!(answer.contains(r#""deviceCode":"L0000""#), "{path}"),
        }
        assert!(!answer.contains(&code(DEVICES - 1)), "{path}: the answer was whole");
        assert!(!answer.ends_with("0\r\n\r\n"), "{path}: the answer ended as a whole one does");
    }
    assert_eq!(server.app.load().large_answers, 0);
    assert_eq!(server.app.load().unread_bytes, 0);
}

/// LIM-18: the memory of large answers is bounded, and no account takes the memory of others.
#[tokio::test(flavor = "multi_thread")]
pub(crate) async fn large_answers_of_an_account_wait_for_each_other() {
    let server = TestServer::start_with(fleet(), |settings| {
        // A quarter is one answer.
        settings.limits.large_answers_max_bytes = 2 << 20;
        // Long enough for the other requests on a busy machine.
        settings.limits.store_wait = Duration::from_secs(8);
    })
    .await;
    let [ops, other] = ["ops", "other"].map(|account| server.log_in(account));
    let (ops, other) = (ops.await.token, other.await.token);
    let waiting = unread(&server, AISLE_PATH, &[("third-api-token", &ops)]).await;
    let refused = TestRequest::to(PROFILE_PATH).token(&ops).body("{}").send(&server).await;
    assert_eq!((refused.status, refused.code()), (500, 500), "{refused:?}");
    assert_eq!(refused.headers["retry-after"], "1");
    let said = refused.data().as_str().unwrap();
    assert!(said.starts_with("too many large answers are being sent"), "{said}");
    // Short answers need no memory, and other accounts have their own.
    let body = json!({ "groupId": "small" });
    ask(&server, &ops, PROFILE_PATH, &body).await;
    assert_eq!(server.call(DEVICES_PATH, Some(&ops), "{}").await.code(), 200);
    let of_other = ask(&server, &other, PROFILE_PATH, &json!({})).await;
    assert_eq!(list(of_other.data()).len(), DEVICES);
    drop(waiting);
    let again = ask(&server, &ops, PROFILE_PATH, &json!({})).await;
    assert_eq!(list(again.data()).len(), DEVICES);
}
