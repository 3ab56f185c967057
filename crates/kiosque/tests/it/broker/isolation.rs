//! Workers that send what they should not, and what the others see meanwhile.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http_body_util::Full;
use kiosque_broker::{BrokerOptions, DeviceLists, WorkerLogin, broker_limits};
use kiosque_client::Request;
use kiosque_contract::ENDPOINTS;
use kiosque_model::Limits;
use kiosque_testkit::{
    CHANGES_PATH, DEVICES_PATH, FleetToml, LOGOUT_PATH, ONLINE_PATH, ORDERS_PATH, Reply,
    SWITCH_PATH, TOKEN_PATH, TestServer, WAIT_MAX, post,
};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use super::{LOG_IN, LocalBroker, Worker, broker, broker_with, observe, options};
use crate::client::server;

/// Starts a broker whose workers have their own names.
async fn broker_of(server: &TestServer, limits: Limits) -> LocalBroker {
    let workers = ["good", "bad", "late"].map(|name| WorkerLogin::new(name, "right"));
    let options = BrokerOptions { limits, ..options(server, workers.into()) };
    LocalBroker::serve(options, &server.certificate_file()).await
}

async fn connect_from(source: Ipv4Addr, address: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((source, 0).into()).unwrap();
    socket.connect(address).await.unwrap()
}

/// Sends the text of a request from a loopback address, and returns the text of the answer.
async fn exchange(source: Ipv4Addr, address: SocketAddr, request: &str) -> String {
    let mut stream = connect_from(source, address).await;
    stream.write_all(request.as_bytes()).await.unwrap();
    answer(&mut stream).await
}

/// Returns what comes until the connection is closed.
async fn answer(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let ended = tokio::time::timeout(WAIT_MAX, stream.read_to_end(&mut answer)).await;
    // A connection that is reset has ended, too.
    let _ = ended.expect("the connection ends");
    String::from_utf8(answer).unwrap()
}

async fn log_in(local: &LocalBroker, source: Ipv4Addr, name: &str, password: &str) -> i64 {
    let body = json!({"username": name, "password": password}).to_string();
    let length = body.len();
    let head =
        format!("POST /v8/{TOKEN_PATH} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n");
    let request = format!("{head}content-length: {length}\r\n\r\n{body}");
    let answer = exchange(source, local.plain_address, &request).await;
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str::<Value>(body).unwrap()["code"].as_i64().unwrap()
}

async fn status(local: &LocalBroker, host: &str) -> String {
    let request = format!("GET / HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    exchange(Ipv4Addr::LOCALHOST, local.status_address, &request).await
}

/// LIM-7, LIM-9, LIM-10: wrong passwords of one worker refuse no other one, and no number of
/// addresses of this machine makes guessing unlimited.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_passwords_of_one_worker_refuse_no_other_one() {
    let server = server().await;
    let local = broker_of(&server, broker_limits()).await;
    assert_eq!(log_in(&local, Ipv4Addr::LOCALHOST, "good", "right").await, 200);
    for name in ["bad", "good"] {
        let mut codes = Vec::new();
        for number in 0..40 {
            let source = Ipv4Addr::new(127, 3, number / 7, 9 + number);
            codes.push(log_in(&local, source, name, &format!("guess {number}")).await);
        }
        assert_eq!(codes[..10], [-2; 10], "{name}");
        assert_eq!(codes[10..], [-1; 30], "{name}");
        assert_eq!(log_in(&local, Ipv4Addr::LOCALHOST, "good", "right").await, 200);
    }
    assert_eq!(log_in(&local, Ipv4Addr::LOCALHOST, "bad", "right").await, -1);
    assert_eq!(log_in(&local, Ipv4Addr::LOCALHOST, "late", "right").await, 200);
    // A worker with an old password, in a loop, at the address and with the name of another one.
    for _ in 0..150 {
        assert_eq!(log_in(&local, Ipv4Addr::LOCALHOST, "good", "old").await, -2);
    }
    assert_eq!(log_in(&local, Ipv4Addr::LOCALHOST, "good", "right").await, 200);
}

/// Opens connections from many loopback addresses, which send this and nothing more. All but the
/// last eight are closed.
async fn flood(address: SocketAddr, sent: &str) -> Vec<TcpStream> {
    let mut held = Vec::new();
    for number in 0..40 {
        let mut stream = connect_from(Ipv4Addr::new(127, 0, number % 3, 7), address).await;
        // It may have been closed already.
        let _ = stream.write_all(sent.as_bytes()).await;
        held.push(stream);
    }
    for closed in &mut held[..32] {
        assert_eq!(answer(closed).await, "");
    }
    held
}

/// LIM-4, LIM-15: the programs of this machine have a share of the connections, those that prove
/// nothing make room for others, and workers cannot take the connections of the status.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_without_a_session_keep_no_worker_out() {
    let server = server().await;
    // No end of a connection makes room.
    let forever = Duration::from_secs(86_400);
    let limits = Limits {
        connections_max: 24,
        connections_per_source_max: 8,
        tls_handshake_deadline: forever,
        first_byte_deadline: forever,
        body_deadline: forever,
        ..broker_limits()
    };
    let local = broker_of(&server, limits).await;
    let half = "POST /v8/x HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n{";
    let _plain = flood(local.plain_address, half).await;
    assert_eq!(log_in(&local, Ipv4Addr::LOCALHOST, "good", "right").await, 200);
    let good = r#"{"username":"good","password":"right"}"#;
    let (address, certificate) = (local.address, &local.certificate);
    let mut first = Worker::log_in_with(good, address, certificate, "south").await;
    for _ in 0..2 {
        let _tls = flood(local.address, "").await;
        first.list_devices().await;
        Worker::log_in_with(good, address, certificate, "west").await.list_devices().await;
    }
    let _status = flood(local.status_address, "GET / HTTP/1.1\r\n").await;
    let status = status(&local, "localhost").await;
    assert!(status.starts_with("HTTP/1.1 200 "), "{status}");
    assert!(status.contains("workers      good: 4 sessions"), "{status}");
}

/// LIM-6: a connection that sends nothing, half a head, half a body, or no further request, ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_phase_of_a_connection_has_a_deadline() {
    let server = server().await;
    let soon = Duration::from_millis(300);
    let limits = Limits {
        tls_handshake_deadline: soon,
        first_byte_deadline: soon,
        header_deadline: soon,
        body_deadline: soon,
        idle_deadline: soon,
        ..broker_limits()
    };
    let local = broker_of(&server, limits).await;
    let head = format!("POST /v8/{TOKEN_PATH} HTTP/1.1\r\nhost: localhost\r\n");
    let late = "the body did not arrive within 300ms";
    for (address, sent, status, text) in [
        (local.address, String::new(), "", ""),
        (local.plain_address, String::new(), "", ""),
        (local.plain_address, "POST /v8/x HTTP/1.1\r\nHo".to_owned(), "", ""),
        (local.plain_address, format!("{head}content-length: 100\r\n\r\n{{"), "HTTP/1.1 200", late),
        (
            local.plain_address,
            format!("{head}content-length: 2\r\n\r\n{{}}"),
            "HTTP/1.1 200",
            "blank",
        ),
        (local.status_address, String::new(), "", ""),
        (local.status_address, "GET / HTTP/1.1\r\n".to_owned(), "", ""),
    ] {
        let answer = exchange(Ipv4Addr::LOCALHOST, address, &sent).await;
        assert!(answer.starts_with(status), "{sent:?}: {answer}");
        assert!(
            answer.contains(text) && answer.is_empty() == text.is_empty(),
            "{sent:?}: {answer}"
        );
    }
}

/// SCOPE-5, DEV-4: lists of devices of an open group are answered when the group that is selected
/// for another worker was closed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_closed_group_of_one_worker_is_no_refusal_for_another() {
    let server = server().await;
    let local = broker_with(&server, DeviceLists::Filtered, |_| {}).await;
    let (mut south, mut west) = (local.worker("south").await, local.worker("west").await);
    south.list_devices().await;
    assert_eq!(west.call(ORDERS_PATH, r#"{"deviceCode":"west-1"}"#).await.code(), 200);
    let closed = "[[group]]\nid = \"west\"\nname = \"west\"\nactive = false\n";
    server.apply(FleetToml::new().with(closed)).await.unwrap();
    for _ in 0..3 {
        south.list_devices().await;
    }
    assert_eq!(west.call(DEVICES_PATH, "{}").await.code(), -1);
    south.list_devices().await;
}

/// ADDR-3, ADDR-4: the broker sends the business calls of the interface on, as they are, and
/// answers every other path itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_path_but_those_of_the_interface_is_passed_on() {
    let server = server().await;
    let paths = Arc::new(Mutex::new(Vec::<String>::new()));
    let sent = Arc::clone(&paths);
    let see = move |request: &Request| sent.lock().unwrap().push(request.path.to_string());
    let local = broker(&server, |parts| observe(parts, see)).await;
    let mut worker = local.worker("north").await;
    worker.list_devices().await;
    paths.lock().unwrap().clear();
    let expected = server.call("third-center-web/openapi/v1/nothing", None, "{}").await;
    for path in [
        "/v8/platform-auth/auth/third-api/logout/",
        "/v8//platform-auth/auth/third-api/logout",
        "/v8/platform-auth/auth/third-api/%6Cogout",
        "/v8/platform-auth/auth/third-api/logout;x",
        "/v8/third-center-web/../platform-auth/auth/third-api/switchGroup",
        "/v8/third-center-web/openapi/v1/kioskDevice/devicepage",
        "/v8/third-center-web/openapi/v1/kioskDevice/devicePage/",
        "/v8/third-center-web/openapi/v2/kioskDevice/devicePage",
        "/third-center-web/openapi/v1/kioskDevice/devicePage",
        "/",
    ] {
        let request = post(path).header("third-api-token", &worker.token);
        let reply = worker.client.send(request.body(Full::from("{}")).unwrap()).await;
        assert_eq!((reply.status, &reply.text), (404, &expected.text), "{path}");
        assert_eq!(reply.headers["content-type"], expected.headers["content-type"]);
        assert_eq!(reply.headers["kiosque-broker"], "own", "{path}");
    }
    let get = post(&format!("/v8/{DEVICES_PATH}")).header("third-api-token", &worker.token);
    let mut get = get.body(Full::default()).unwrap();
    *get.method_mut() = "GET".parse().unwrap();
    assert_eq!(worker.client.send(get).await.status, 404);
    assert_eq!(*paths.lock().unwrap(), [""; 0]);

    let business = ENDPOINTS.iter().map(|call| call.path);
    let business = business.filter(|path| ![TOKEN_PATH, SWITCH_PATH, LOGOUT_PATH].contains(path));
    let business: Vec<String> = business.map(|path| format!("{path}?current=1&x=%2F")).collect();
    for path in &business {
        let reply = worker.call(path, "{}").await;
        assert!(reply.headers["kiosque-broker"].starts_with("epoch="), "{path}: {reply:?}");
    }
    assert_eq!(*paths.lock().unwrap(), business);
    assert!(business.iter().any(|path| path.starts_with(CHANGES_PATH)));
}

/// REQ-3, REQ-4: a field that is given twice, and no body, are refused as by the server, whether
/// the broker answers the call, changes its body or sends it on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_field_that_is_given_twice_is_refused_as_by_the_server() {
    let server = server().await;
    let local = broker_with(&server, DeviceLists::Filtered, |_| {}).await;
    let bodies = [
        (TOKEN_PATH, r#"{"username":"ops","password":"x","username":"ops"}"#),
        (TOKEN_PATH, ""),
        (TOKEN_PATH, r#"{"username":"ops","password":"x","more":{"a":1,"a":2}}"#),
        (SWITCH_PATH, r#"{"groupId":"north","groupId":"south"}"#),
        (SWITCH_PATH, "null"),
        (DEVICES_PATH, r#"{"deviceName":"a","deviceName":"Kiosk"}"#),
        (DEVICES_PATH, r#"{"groupId":"south","groupId":"north"}"#),
        (DEVICES_PATH, ""),
        (CHANGES_PATH, r#"{"waitSeconds":1,"waitSeconds":2}"#),
        (CHANGES_PATH, r#"{"waitSeconds":1,"x":[{"a":1,"a":1}]}"#),
        (ORDERS_PATH, r#"{"deviceCode":"south-1","deviceCode":"north-1"}"#),
    ];
    let mut direct = server.connect().await;
    let token = server.log_in("ops").await.token;
    let mut expected = Vec::new();
    for (path, body) in bodies {
        let reply = direct.call(path, Some(&token), body).await;
        assert_eq!(reply.code(), 500, "{path} {body}");
        expected.push(reply.text);
    }
    // The session of the account, which the broker takes over.
    let mut worker = local.worker("north").await;
    for ((path, body), expected) in bodies.into_iter().zip(expected) {
        let reply = worker.client.call(path, Some(&worker.token), body).await;
        assert_eq!((reply.status, &reply.text), (200, &expected), "{path} {body}");
    }
    assert_eq!(worker.call(DEVICES_PATH, "{}").await.code(), 200);
}

/// REQ-6: a call that takes no body ignores one that cannot be read; any other one refuses it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_a_call_does_not_take_is_ignored() {
    let server = server().await;
    let local = broker(&server, |_| {}).await;
    let mut worker = local.worker("north").await;
    let too_large = "x".repeat(Limits::default().body_max_bytes + 1);
    let plain = worker.call(ONLINE_PATH, "").await;
    let ignored = worker.call(ONLINE_PATH, &too_large).await;
    assert_eq!((ignored.code(), ignored.text), (200, plain.text));
    assert_eq!(worker.call(DEVICES_PATH, &too_large).await.code(), 500);
}

/// ADDR-4: a page of a site may not read the status either, which has the names of the workers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_of_sites_may_not_read_the_status() {
    let server = server().await;
    let local = broker(&server, |_| {}).await;
    let refusal = concat!(
        r#"{"code":500,"msg":"system error","enMsg":"system error","#,
        r#""data":"the request has the header Origin: pages of sites may not call the broker"}"#
    );
    for path in ["/", "/status.json", "/metrics", "/nothing"] {
        for origin in ["https://site.example", "null"] {
            let head = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\norigin: {origin}\r\n");
            let request = head + "connection: close\r\n\r\n";
            let answer = exchange(Ipv4Addr::LOCALHOST, local.status_address, &request).await;
            let (head, body) = answer.split_once("\r\n\r\n").unwrap();
            assert!(head.starts_with("HTTP/1.1 403 "), "{path} {origin}: {answer}");
            assert_eq!(body, refusal, "{path} {origin}");
        }
    }
    assert!(status(&local, "localhost").await.starts_with("HTTP/1.1 200 "));
}

/// ADDR-4: requests that a page of a site sends are refused, whatever they ask for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_of_sites_may_not_call_the_broker() {
    let server = server().await;
    let local = broker(&server, |_| {}).await;
    let mut client = local.connect().await;
    for origin in ["https://site.example", "null", "http://127.0.0.1:8451"] {
        let request = post(&format!("/v8/{TOKEN_PATH}")).header("origin", origin);
        let reply: Reply = client.send(request.body(Full::from(LOG_IN)).unwrap()).await;
        assert_eq!((reply.status, reply.code()), (403, 500), "{origin}");
        assert!(reply.json["data"].as_str().unwrap().contains("Origin"), "{reply:?}");
    }
    let port = local.plain_address.port();
    for (host, code) in [
        ("site.example".to_owned(), 403),
        (format!("site.example:{port}"), 403),
        (format!("127.0.0.1.site.example:{port}"), 403),
        (format!("localhost:{port}"), 200),
        (format!("127.0.0.1:{port}"), 200),
    ] {
        let length = LOG_IN.len();
        let head = format!("POST /v8/{TOKEN_PATH} HTTP/1.1\r\nhost: {host}\r\n");
        let rest = format!("connection: close\r\ncontent-length: {length}\r\n\r\n{LOG_IN}");
        let plain = exchange(Ipv4Addr::LOCALHOST, local.plain_address, &(head + &rest)).await;
        for answer in [plain, status(&local, &host).await] {
            assert!(answer.starts_with(&format!("HTTP/1.1 {code} ")), "{host}: {answer}");
            assert_eq!(answer.contains("north"), code == 200, "{host}: {answer}");
        }
    }
}
