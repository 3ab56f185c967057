//! Faults in place of an answer, and faults of its connection.

use std::time::{Duration, Instant};

use kiosque_testkit::{
    DEVICES_PATH, ONLINE_PATH, ORDERS_PATH, Ran, SWITCH_PATH, TREND_PATH, assert_common_headers,
};

use super::{ONE_DEVICE, Server, faults_of};

/// ENV-11, ENV-12: `code` 500 over HTTP 500 with `Retry-After`, on the calls that are named and on
/// no others.
#[test]
fn a_failure_looks_like_that_of_a_server() {
    let server = Server::start();
    let proxy = server.proxy(&["every(2, code500(orders, retry-after=1500ms))"]);
    let (mut caller, token) = proxy.log_in("walker");
    for number in 1..=4 {
        let reply = caller.call(ORDERS_PATH, Some(&token), ONE_DEVICE);
        if number % 2 == 1 {
            assert_common_headers(&reply);
            assert_eq!((reply.code(), faults_of(&reply)), (200, None));
            continue;
        }
        assert_eq!((reply.status, faults_of(&reply)), (500, Some("code500")));
        assert_eq!(reply.headers["retry-after"], "2");
        assert_eq!(reply.headers["content-type"], "application/json; charset=UTF-8");
        assert_eq!(reply.headers["cache-control"], "no-store");
        let id = &reply.headers["x-request-id"];
        let data = format!("the fault code500 was requested; try again (request {id})");
        let envelope = format!(
            r#"{{"code":500,"msg":"system error","enMsg":"system error","data":"{data}"}}"#
        );
        assert_eq!(reply.text, envelope);
        for path in [DEVICES_PATH, TREND_PATH, ONLINE_PATH] {
            let reply = caller.call(path, Some(&token), "{}");
            assert_eq!((reply.status, reply.code(), faults_of(&reply)), (200, 200, None));
        }
    }
}

/// A proxy before a server answers with HTML, which is no envelope.
#[test]
fn pages_of_other_proxies_are_no_envelopes() {
    let server = Server::start();
    let proxy = server.proxy(&["nth(1, html404(devices))", "http503(trend, 30s)"]);
    let (mut caller, token) = proxy.log_in("walker");
    let reply = caller.call(DEVICES_PATH, Some(&token), "{}");
    assert_eq!((reply.status, faults_of(&reply)), (404, Some("html404")));
    assert_eq!(reply.headers["content-type"], "text/html");
    assert!(reply.text.contains("<h1>404 Not Found</h1>"), "{}", reply.text);
    let reply = caller.call(TREND_PATH, Some(&token), "{}");
    assert_eq!((reply.status, faults_of(&reply)), (503, Some("http503")));
    assert_eq!(reply.headers["retry-after"], "30");
    assert!(reply.text.contains("<h1>503 Service Unavailable</h1>"), "{}", reply.text);
    assert_eq!(caller.call(DEVICES_PATH, Some(&token), "{}").code(), 200);
}

/// A slow answer is the same answer, later.
#[test]
fn a_slow_answer_is_late_and_otherwise_the_same() {
    let server = Server::start();
    let proxy = server.proxy(&["slow(orders, 700ms)"]);
    let (mut caller, token) = proxy.log_in("walker");
    let begun = Instant::now();
    let slow = caller.call(ORDERS_PATH, Some(&token), ONE_DEVICE);
    assert!(begun.elapsed() >= Duration::from_millis(700));
    assert_eq!(faults_of(&slow), Some("slow"));
    let direct = server.served.connect().call(ORDERS_PATH, Some(&token), ONE_DEVICE);
    assert_eq!(slow.text, direct.text);
}

/// The connection is closed: before the server sees the call, after it has acted, or in the middle
/// of the answer.
#[test]
fn connections_are_closed_without_a_whole_answer() {
    let server = Server::start();
    let proxy = server.proxy(&["nth(1, reset(switch))", "nth(2, lose-answer)"]);
    let (mut caller, token) = proxy.log_in("walker");
    let south = r#"{"groupId":"south"}"#;
    caller.try_call(SWITCH_PATH, Some(&token), south).unwrap_err();
    let mut caller = proxy.connect();
    // The server has seen no switch, which would have replaced the token (AUTH-17).
    assert_eq!(caller.call(ORDERS_PATH, Some(&token), ONE_DEVICE).code(), 200);
    caller.try_call(SWITCH_PATH, Some(&token), south).unwrap_err();
    let mut caller = proxy.connect();
    let refused = caller.call(ORDERS_PATH, Some(&token), ONE_DEVICE);
    assert_eq!((refused.code(), faults_of(&refused)), (-4, None));
    let token = caller.log_in("walker", "secret");
    let switched = caller.call(SWITCH_PATH, Some(&token), south);
    assert_eq!(switched.success()["groupId"], "south");
}

/// curl names the error of each: no answer, and an answer that is shorter than its length.
#[test]
fn curl_reports_a_reset_and_a_cut_answer() {
    let server = Server::start();
    let proxy = server.proxy(&["nth(1, reset(online))", "nth(2, cut-body(online))"]);
    let (_, token) = proxy.log_in("walker");
    let url = format!("{}/{ONLINE_PATH}", proxy.base);
    let certificate = server.sandbox.path(format!("{}.pem", proxy.address().port()));
    let curl = |version: &str| {
        let mut curl = std::process::Command::new("curl");
        curl.args(["--silent", "--show-error", "--include", version, "--compressed", "-X", "POST"]);
        curl.arg("--cacert").arg(&certificate).arg("-H").arg(format!("third-api-token: {token}"));
        Ran::of(curl.arg(&url))
    };
    let reset = curl("--http1.1");
    assert!([52, 56].contains(&reset.status) && reset.stdout.is_empty(), "{reset:?}");
    let cut = curl("--http1.1");
    assert!([18, 56].contains(&cut.status), "{cut:?}");
    assert!(cut.stdout.contains("\r\nkiosque-fault: cut-body\r\n"), "{cut:?}");
    let (_, body) = cut.stdout.split_once("\r\n\r\n").unwrap();
    let whole = curl("--http2").success();
    let (_, expected) = whole.stdout.split_once("\r\n\r\n").unwrap();
    assert!(!body.is_empty() && expected.starts_with(body) && body != expected, "{body}");
    assert!(!whole.stdout.contains("kiosque-fault"), "{whole:?}");
}

/// A call that cannot be passed on says so, and is no fault that was requested.
#[test]
fn a_server_that_is_away_is_named() {
    let server = Server::start();
    let proxy = server.proxy(&["nth(9, reset)"]);
    let base = server.served.base.clone();
    drop(server.served);
    let reply = proxy.connect().call(DEVICES_PATH, None, "{}");
    assert_eq!((reply.status, faults_of(&reply)), (502, None));
    let expected = format!("kiosque fault-proxy: cannot connect to {base}: ");
    assert!(reply.text.starts_with(&expected), "{}", reply.text);
}
