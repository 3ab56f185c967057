//! `GET /operator/v1/changes`: the same for the operator, as lines.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use kiosque_model::{ActedBy, KeyName};
use kiosque_testkit::{CHANGES_PATH, Reply, TestServer, WAIT_MAX, eventually, sql};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{fleet, line};

const CHANGES_CALL: &str = "/operator/v1/changes";

fn request(query: &str, key: &str) -> http::Request<Full<Bytes>> {
    let request = http::Request::get(format!("https://localhost{CHANGES_CALL}?{query}"));
    request.header("authorization", format!("Bearer {key}")).body(Full::default()).unwrap()
}

async fn ask(server: &TestServer, key: &str, query: &str) -> Reply {
    let mut sender = server.connect_operator_http2().await;
    Reply::of(sender.send_request(request(query, key)).await.unwrap()).await
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn ids(lines: &[Value]) -> Vec<(i64, &str)> {
    let one = |line: &Value| line["changeNo"].as_i64().unwrap();
    lines.iter().map(|line| (one(line), line["order"]["orderId"].as_str().unwrap())).collect()
}

/// An answer that continues.
struct Following {
    body: Incoming,
    read: Vec<u8>,
    /// Whether the answer has ended, and did not break off.
    is_whole: bool,
}

impl Following {
    async fn begin(server: &TestServer, key: &str, query: &str) -> Following {
        let mut sender = server.connect_operator_http2().await;
        let response = sender.send_request(request(query, key));
        let response = timeout(WAIT_MAX, response).await.expect("a head").unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "application/x-ndjson");
        Following { body: response.into_body(), read: Vec::new(), is_whole: false }
    }

    /// Reads the end of an answer that breaks off. An empty line before it says that the answer had
    /// waited for the whole of a pause.
    async fn breaks_off(&mut self) {
        let end = timeout(WAIT_MAX, self.body.frame()).await.expect("an end");
        let sent = end.expect("the answer is not whole").map(|frame| frame.into_data());
        assert!(sent.is_err(), "{sent:?}");
    }

    /// Returns the next line that is not empty; `None` at the end.
    async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.read.drain(..=end).collect();
                if line.len() > 1 {
                    return Some(serde_json::from_slice(&line).unwrap());
                }
                continue;
            }
            let frame = timeout(WAIT_MAX, self.body.frame()).await.expect("a line, or an end");
            let Some(frame) = frame else {
                self.is_whole = true;
                return None;
            };
            self.read.extend(frame.ok()?.into_data().unwrap());
        }
    }
}

/// ORD-24: the lines have the records of the integrators, each with the cursor behind it.
#[tokio::test]
async fn lines_are_the_changes_of_the_group() {
    let server = TestServer::start(fleet()).await;
    let key = server.create_key("read").await;
    assert_eq!(ask(&server, &key, "group=g1").await.text, "");
    let orders: String = (0..1_200).map(|at| line(&format!("o{at}"), at)).collect();
    server.import_valid(orders).await;
    server.import_valid(line("o3", 7)).await;

    let token = server.log_in("ops").await.token;
    let body = json!({"size": 1_000}).to_string();
    let integrators = server.call(CHANGES_PATH, Some(&token), &body).await.success().clone();
    let whole = ask(&server, &key, "group=g1").await;
    let all = lines(&whole.text);
    assert_eq!(all.len(), 1_200);
    for (line, record) in all.iter().zip(integrators["records"].as_array().unwrap()) {
        let next = &line["next"];
        let own = json!({"changeNo": record["changeNo"], "next": next, "order": record["order"]});
        assert_eq!(*line, own);
    }
    assert_eq!(all[999]["next"], integrators["next"]);
    assert_eq!(ids(&all[1_199..]), [(1_201, "o3")]);
    // Each line continues.
    for at in [0, 499, 500, 998, 1_199] {
        let query = format!("group=g1&follow=false&after={}", all[at]["next"].as_str().unwrap());
        assert_eq!(lines(&ask(&server, &key, &query).await.text), all[at + 1..], "after {at}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_follows_goes_on_until_the_server_stops() {
    let mut server = TestServer::start(fleet()).await;
    let key = server.create_key("read").await;
    server.import_valid(line("a", 1)).await;
    let mut following = Following::begin(&server, &key, "group=g1&follow=true").await;
    let first = following.next().await.unwrap();
    assert_eq!(ids(&[first]), [(1, "a")]);
    for number in 2..5 {
        server.import_valid(line("b", number)).await;
        assert_eq!(ids(&[following.next().await.unwrap()]), [(number, "b")]);
    }
    eventually("it waits", async || server.store.orders().waiting_followers() == 1).await;
    server.stop().await;
    assert_eq!(following.next().await, None);
    assert!(following.is_whole);
}

/// ORD-28: an answer that follows breaks off when the data has lost changes that it has sent, and
/// its last cursor is refused, as one of another group is.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_sent_lost_changes_breaks_off() {
    let server = TestServer::start(fleet()).await;
    let key = server.create_key("read").await;
    server.import_valid([line("a", 1), line("b", 1)].concat()).await;
    let mut following = Following::begin(&server, &key, "group=g1&follow=true").await;
    let sent = [following.next().await.unwrap(), following.next().await.unwrap()];
    assert_eq!(ids(&sent), [(1, "a"), (2, "b")]);
    eventually("it waits", async || server.store.orders().waiting_followers() == 1).await;
    let refused = async |group: &str| {
        let query = format!("group={group}&after={}", sent[0]["next"].as_str().unwrap());
        let reply = ask(&server, &key, &query).await;
        let fault = "after must be the value of next in a line of the group; if it is, the data \
                     was restored to an earlier state: begin again without after";
        assert_eq!((reply.status, &reply.json["faults"]), (400, &json!([fault])));
    };
    refused("g2").await;
    server.data.execute(&sql("lose_change"));
    assert_eq!(following.next().await, None);
    assert!(!following.is_whole);
    refused("g1").await;
}

/// ENV-11, ORD-24: an answer breaks off at a damaged order, and never leaves it out. The page of an
/// integrator that needs it fails.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_breaks_off_at_a_damaged_order() {
    let server = TestServer::start(fleet()).await;
    let key = server.create_key("read").await;
    let orders: String = (0..510).map(|at| line(&format!("o{at}"), at)).collect();
    server.import_valid(orders).await;
    server.data.tamper(&sql("damage_order").replace("ORDER", "o505").replace("BY", "1"));
    let mut answer = Following::begin(&server, &key, "group=g1").await;
    let mut last = Value::Null;
    for change_no in 1..=500 {
        last = answer.next().await.unwrap();
        assert_eq!(last["changeNo"], change_no);
    }
    answer.breaks_off().await;
    let next = last["next"].as_str().unwrap();
    let refused = ask(&server, &key, &format!("group=g1&after={next}")).await;
    let named = "a stored order of this answer is damaged (order o505 is damaged: ";
    assert_eq!(refused.status, 500);
    assert!(refused.json["detail"].as_str().unwrap().starts_with(named), "{refused:?}");
    let token = server.log_in("ops").await.token;
    for (size, status) in [(505, 200), (506, 500)] {
        let body = json!({ "size": size }).to_string();
        let reply = server.call(CHANGES_PATH, Some(&token), &body).await;
        assert_eq!(reply.status, status, "{size}");
    }
}

/// A revoked key ends the answer, which breaks off, whether or not anything changes. Answers with
/// other keys continue.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_breaks_off_when_its_key_is_revoked() {
    let server = TestServer::start(fleet()).await;
    let other = server.create_key_named("other", "read").await;
    let mut of_other = Following::begin(&server, &other, "group=g1&follow=true").await;
    for (name, change) in [("idle", None), ("busy", Some(line("a", 1)))] {
        let key = server.create_key_named(name, "read").await;
        let mut following = Following::begin(&server, &key, "group=g1&follow=true").await;
        eventually("both wait", async || server.store.orders().waiting_followers() == 2).await;
        let name = KeyName::parse(name).unwrap();
        server.store.operators().revoke_key(name, ActedBy::command(server.now())).await.unwrap();
        server.advance(std::time::Duration::from_secs(1));
        if let Some(change) = &change {
            server.import_valid(change.clone()).await;
        }
        following.breaks_off().await;
        eventually("it ends", async || server.store.orders().waiting_followers() == 1).await;
    }
    assert_eq!(ids(&[of_other.next().await.unwrap()]), [(1, "a")]);
}

/// LIM-20: one key takes half of the answers that follow at most. One that is refused has no head
/// of an answer.
#[tokio::test(flavor = "multi_thread")]
async fn answers_that_follow_are_shared_out_by_key() {
    let server = TestServer::start_with(fleet(), |settings| {
        settings.limits.change_waits_per_account_max = 3;
    })
    .await;
    let (greedy, other) = (
        server.create_key_named("greedy", "read").await,
        server.create_key_named("other", "read").await,
    );
    let third = server.create_key_named("third", "read").await;
    let query = "group=g1&follow=true";
    let first = Following::begin(&server, &greedy, query).await;
    let refused = async |key: &str, detail: &str| {
        let mut sender = server.connect_operator_http2().await;
        let response = sender.send_request(request(query, key)).await.unwrap();
        // One that is not refused has no end.
        assert_eq!(response.status(), 503, "{detail}");
        let reply = Reply::of(response).await;
        assert_eq!((reply.status, reply.headers["retry-after"].as_str()), (503, "1"), "{reply:?}");
        assert_eq!(reply.json["detail"], format!("too many answers follow changes: {detail}"));
    };
    let share = "the key has its share of change_waits_per_account_max; end one of them, or use \
                 another key";
    refused(&greedy, share).await;
    // An answer that ends takes no place.
    assert_eq!(ask(&server, &greedy, "group=g1").await.status, 200);
    let mut of_other = Following::begin(&server, &other, query).await;
    let _of_third = Following::begin(&server, &third, query).await;
    let fourth = server.create_key_named("fourth", "read").await;
    refused(&fourth, "change_waits_per_account_max are open; try again when one has ended").await;
    eventually("all wait", async || server.store.orders().waiting_followers() == 3).await;
    drop(first);
    eventually("its place is free", async || server.store.orders().waiting_followers() == 2).await;
    let _again = Following::begin(&server, &greedy, query).await;
    server.import_valid(line("a", 1)).await;
    assert_eq!(ids(&[of_other.next().await.unwrap()]), [(1, "a")]);
}
