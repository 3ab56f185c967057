//! The program: its arguments, its certificate, its end.

use kiosque_faults::Fault;
use kiosque_testkit::{ORDERS_PATH, Ran, TOKEN_PATH};

use super::{ONE_DEVICE, Server, faults_of, proxy};
use crate::KIOSQUE;
use crate::fleet::fleet;

/// A text that is no fault is refused with the place, the text there, and what was expected.
#[test]
fn a_text_that_is_no_fault_is_refused() {
    let texts = [
        "",
        "slow",
        "slow()",
        "slow(orders)",
        "slow(ordres, 800ms)",
        "slow(delay=soon)",
        "slow(800ms, 1s)",
        "slow(800ms",
        "slow 800ms",
        "code500(after=1s)",
        "drop-row(trend, summary)",
        "shift-page(rows=0)",
        "resort(2)",
        "expire",
        "clock",
        "clock(offset=yesterday)",
        "every(7)",
        "every(0, reset)",
        "every(7, every(2, reset))",
        "chance(200%, reset)",
        "chance(5, reset)",
        "nth(1, reset",
        "reset) ",
        "évict(after=5m)",
    ];
    let mut all = String::new();
    for text in texts {
        let ran = Ran::of(KIOSQUE.command().args(["demo", "--fault", text]));
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{ran:?}");
        let (error, _) = ran.stderr.split_once("\n\nFor more").unwrap();
        all.push_str(&format!("{error}\n"));
    }
    insta::assert_snapshot!(all);
}

/// Every fault of the reference may be written as its examples are.
#[test]
fn faults_may_be_written_in_several_ways() {
    for text in [
        "slow(800ms)",
        " slow ( orders , order,  delay = 800ms ) ",
        "code500",
        "code500(2s)",
        "code500(groups)",
        "http503(retry-after=1m, login)",
        "every(7, code500(orders, 2s))",
        "chance(0.25%, evict)",
        "evict(after=5m)",
        "expire(30s)",
        "clock(-90s)",
        "stale-total(devices, 2)",
    ] {
        assert!(text.parse::<Fault>().is_ok(), "{text:?}");
    }
}

/// The guide has each fault of the reference once, as it may be written.
#[test]
fn the_guide_has_every_fault() {
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/integrating.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    let (_, table) = guide.split_once("| Fault | Selects by itself |").unwrap();
    let (table, _) = table.split_once("\n\n").unwrap();
    let rows = table.lines().filter_map(|row| row.strip_prefix("| `"));
    let faults = rows.map(|row| row.split_once('`').unwrap().0.parse::<Fault>().unwrap());
    let names: Vec<&str> = faults.map(|fault| fault.name()).collect();
    let reference = kiosque_faults::reference();
    let lines = reference.lines().filter_map(|line| line.strip_prefix("  "));
    let known: Vec<&str> = lines.map(|line| line.split(['[', '(', ' ']).next().unwrap()).collect();
    assert_eq!(names, known);
}

#[test]
fn arguments_that_do_not_fit_are_refused() {
    let mut shown = String::new();
    for args in [
        &["https://127.0.0.1:1/v8"][..],
        &["http://127.0.0.1:1/v8", "--fault", "reset"],
        &["https://127.0.0.1:1/v8", "--fault", "reset", "--ca-file", "absent.pem"],
    ] {
        let mut command = KIOSQUE.command();
        let ran = Ran::of(command.args(["fault-proxy", "--listen", "127.0.0.1:0"]).args(args));
        shown.push_str(&ran.transcript());
    }
    insta::assert_snapshot!(shown);
}

/// The certificate that is given is the one shown, and nothing is printed then.
#[test]
fn a_certificate_that_is_given_is_the_one_shown() {
    let server = Server::start();
    let certificate = server.sandbox.certificate();
    let proxy = proxy(&server.served.base, &certificate, &["every(2, code500)"]);
    proxy.connect().log_in("walker", "secret");
    assert_eq!(proxy.stdout(), "");
    let stderr = proxy.stderr();
    let faults = format!(
        "calls are forwarded to {}, with faults: every(2, code500) (seed 1)",
        server.served.base
    );
    assert!(stderr.contains(&faults), "{stderr}");
}

/// LIM-13: a proxy that stops answers the requests in progress, and ends with success.
#[test]
fn requests_under_way_are_answered_when_it_stops() {
    let server = Server::start();
    let mut proxy = server.proxy(&["slow(orders, 300ms)"]);
    let (mut caller, token) = proxy.log_in("walker");
    let reply = caller.call_while(ORDERS_PATH, &token, ONE_DEVICE, || {
        proxy.signal("TERM");
        proxy.stderr_until("stopping: finishing open requests");
    });
    assert_eq!((reply.code(), faults_of(&reply)), (200, Some("slow")));
    assert_eq!(proxy.wait().code(), Some(0));
}

/// ENV-14: an answer with a token is not compressed behind the proxy either, and a long list is.
#[test]
fn answers_are_compressed_as_by_the_server() {
    // The answer to a login is long enough to be compressed.
    let ids: Vec<String> = (0..40).map(|number| format!("group-{number:02}")).collect();
    let many = ids.iter().fold(fleet(), |fleet, id| fleet.group(id, "A group"));
    let server = Server::with(many.account("owner", &ids));
    let proxy = server.proxy(&["nth(99, reset)"]);
    let mut caller = proxy.connect();
    let login = r#"{"username":"owner","password":"secret"}"#;
    let reply = caller.call_with("accept-encoding: gzip\r\n", TOKEN_PATH, login);
    assert!(reply.text.len() > 1_500, "{}", reply.text);
    assert_eq!(reply.headers.get("content-encoding"), None);
    let (mut caller, token) = proxy.log_in("walker");
    let headers = format!("accept-encoding: gzip\r\nthird-api-token: {token}\r\n");
    let reply = caller.call_with(&headers, ORDERS_PATH, ONE_DEVICE);
    assert_eq!(reply.headers["content-encoding"], "gzip");
    assert_eq!(reply.headers["vary"], "accept-encoding");
    let direct = server.served.connect().call_with(&headers, ORDERS_PATH, ONE_DEVICE);
    assert_eq!(reply.text, direct.text);
}
