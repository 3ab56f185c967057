//! Streams of orders: when they are durable, how they affect one another, and how they end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use kiosque_testkit::{ORDERS_CALL, Reply, TestServer, WAIT_MAX, eventually};
use serde_json::json;
use tokio::task::JoinHandle;

use super::{Stream, counts, fleet, kept, line, lines, shown};

const UNANSWERED: &str = "(the database cannot be relied on at the moment: ";
/// Time in which a premature answer would usually arrive.
const A_WHILE: Duration = Duration::from_millis(200);

async fn server() -> TestServer {
    TestServer::start_with(fleet(), |settings| settings.limits.ingest_threads = 4).await
}

/// Starts a POST that runs in parallel to the test, and waits until a transaction is in progress
/// and `waiting` requests wait for the next one.
pub(super) async fn begin(
    server: &TestServer,
    key: &str,
    body: impl Into<String>,
    waiting: usize,
) -> JoinHandle<Reply> {
    let mut caller = server.connect_operator().await;
    let request = http::Request::post(ORDERS_CALL).header("host", "localhost");
    let request = request.header("authorization", format!("Bearer {key}"));
    let request = request.body(http_body_util::Full::from(body.into())).unwrap();
    let posting = tokio::spawn(async move { caller.send(request).await });
    eventually("a request is stored, or waits for that", async || {
        let load = server.app.load();
        load.storing && load.waiting_to_be_stored == waiting || posting.is_finished()
    })
    .await;
    posting
}

/// The answer is sent after the durable commit: not before it, and every accepted order is visible.
#[tokio::test(flavor = "multi_thread")]
async fn the_response_follows_the_commit() {
    let server = server().await;
    let (key, token) = (server.create_key("orders").await, server.log_in("ops").await.token);
    let held = server.data.block_writes().await;
    let mut posting = begin(&server, &key, lines("o", 3), 0).await;
    let early = tokio::time::timeout(A_WHILE, &mut posting).await;
    assert!(early.is_err(), "answered before the commit: {early:?}");
    assert_eq!(kept(&server, &token).await, [""; 0]);
    drop(held);
    assert_eq!(counts(&posting.await.unwrap()), [3, 0, 0, 0]);
    assert_eq!(kept(&server, &token).await, ["o0", "o1", "o2"]);
}

/// Group commit: one write takes all lines that queued during the last one, and each request is
/// answered for its own lines.
#[tokio::test(flavor = "multi_thread")]
async fn requests_share_a_commit_and_are_answered_each_for_itself() {
    let server = server().await;
    let (key, token) = (server.create_key("orders").await, server.log_in("ops").await.token);
    server.call_operator(ORDERS_CALL, Some(&key), line("b1", 100)).await;
    let before = server.data.commits().await;
    let held = server.data.block_writes().await;
    let first = begin(&server, &key, lines("a", 2), 0).await;
    let second = begin(&server, &key, [line("b1", 7), line("b2", 1)].concat(), 1).await;
    let unknown = line("c2", 1).replace("D1", "D9");
    let third = begin(&server, &key, [line("c1", 1), unknown, line("b1", 7)].concat(), 2).await;
    drop(held);
    assert_eq!(counts(&first.await.unwrap()), [2, 0, 0, 0]);
    assert_eq!(counts(&second.await.unwrap()), [1, 1, 0, 0]);
    let third = third.await.unwrap();
    assert_eq!(counts(&third), [1, 0, 1, 1]);
    let rejected = serde_json::json!([
        {"line": 2, "orderId": "c2", "reason": "deviceCode: no device D9 is known"}
    ]);
    assert_eq!(third.json["rejected"], rejected);
    assert_eq!(kept(&server, &token).await, ["a0", "a1", "b1", "b2", "c1"]);
    let new = server.data.commits().await.difference(&before).count();
    assert_eq!(new, 2, "the first, and the others together");
    assert_eq!(server.store.upkeep().verify().await.unwrap().differences, [""; 0]);
}

/// An order on which the store fails fails its own request, and no other.
#[tokio::test(flavor = "multi_thread")]
async fn what_fails_of_one_request_is_not_held_against_another() {
    let server = server().await;
    let (key, token) = (server.create_key("orders").await, server.log_in("ops").await.token);
    server.call_operator(ORDERS_CALL, Some(&key), line("bad", 1)).await;
    server.data.refuse_updates("bad");
    let held = server.data.block_writes().await;
    let first = begin(&server, &key, line("a", 1), 0).await;
    let second = begin(&server, &key, [line("b", 1), line("bad", 2)].concat(), 1).await;
    let third = begin(&server, &key, line("c", 1), 2).await;
    drop(held);
    assert_eq!(counts(&first.await.unwrap()), [1, 0, 0, 0]);
    let second = second.await.unwrap();
    assert_eq!((second.status, second.headers["retry-after"].as_str()), (503, "1"), "{second:?}");
    assert_eq!(second.json["detail"], "the store is not available");
    assert_eq!(second.json.get("orders"), None, "none of its lines is stored");
    assert_eq!(counts(&third.await.unwrap()), [1, 0, 0, 0]);
    server.data.take_updates();
    assert_eq!(kept(&server, &token).await, ["a", "bad", "c"]);
}

/// The lines of a group whose transaction fails are named in the answer. The lines of other groups
/// are stored, and the lines of later chunks are not.
#[tokio::test(flavor = "multi_thread")]
async fn the_lines_of_a_group_that_fails_are_named_and_the_others_are_stored() {
    let server = server().await;
    let (key, token) = (server.create_key("orders").await, server.log_in("ops").await.token);
    let other = |id: &str, total| line(id, total).replace("D1", "D2");
    server.call_operator(ORDERS_CALL, Some(&key), other("bad", 1)).await;
    server.data.refuse_updates("bad");
    let unknown = line("u", 1).replace("D1", "D9");
    let mut body = [line("a", 1), other("bad", 2), unknown, other("b", 1)].concat();
    body.push('\n');
    body.push_str(&(0..1_000).map(|at| line(&format!("late{at}"), 1)).collect::<String>());
    let reply = server.call_operator(ORDERS_CALL, Some(&key), body).await;
    assert_eq!((reply.status, reply.headers["retry-after"].as_str()), (503, "1"), "{reply:?}");
    let failed = [(2, "bad"), (4, "b")].map(|(line, id)| json!({"line": line, "orderId": id}));
    let outcomes = json!({
        "lastLine": 1_001,
        "accepted": 997, "updated": 0, "unchanged": 0,
        "rejectedCount": 1,
        "rejected": [{"line": 3, "orderId": "u", "reason": "deviceCode: no device D9 is known"}],
        "ignoredKeys": [],
        "failedCount": failed.len(),
        "failed": failed,
    });
    assert_eq!(reply.json["orders"], outcomes);
    assert_eq!(kept(&server, &token).await.len(), 997);
    server.data.take_updates();
    let again = [line("a", 1), other("bad", 2), other("b", 1)].concat();
    let again = server.call_operator(ORDERS_CALL, Some(&key), again).await;
    assert_eq!(counts(&again), [1, 1, 1, 0]);
    assert_eq!(server.store.upkeep().verify().await.unwrap().differences, [""; 0]);
}

/// A later line of an order is not stored after an earlier one has failed, not even in another
/// transaction: the failed line, sent again, would replace it.
#[tokio::test(flavor = "multi_thread")]
async fn the_lines_of_a_group_fail_together_in_all_transactions() {
    let server = server().await;
    let (key, token) = (server.create_key("orders").await, server.log_in("ops").await.token);
    server.call_operator(ORDERS_CALL, Some(&key), line("bad", 1)).await;
    server.data.refuse_updates("bad");
    let other = line("b", 1).replace("D1", "D2");
    let body = [line("x", 1), line("bad", 2), lines("o", 900), other, line("x", 2)].concat();
    let reply = server.call_operator(ORDERS_CALL, Some(&key), body).await;
    let counts = ["accepted", "failedCount"].map(|count| &reply.json["orders"][count]);
    assert_eq!(counts, [1, 903], "{reply:?}");
    assert_eq!(kept(&server, &token).await, ["bad"]);
    server.data.take_updates();
}

/// On a cluster, a transaction that changes groups on several workers would need a two-phase
/// commit, and one of them that is down would fail the orders of all.
#[tokio::test(flavor = "multi_thread")]
async fn each_group_has_a_transaction_of_its_own_on_a_cluster() {
    let server = server().await;
    let key = server.create_key("orders").await;
    // Two of three groups are on the same of two workers.
    let group = "[[group]]\nid = \"g3\"\nname = \"Three\"";
    let device = "[[device]]\ncode = \"D3\"\nname = \"Tower\"\ngroup = \"g3\"";
    server.apply(&format!("{group}\n{device}")).await.unwrap();
    server.call_operator(ORDERS_CALL, Some(&key), line("first", 1)).await;
    let before = server.data.commits().await;
    let of = |device, name: &str| lines(name, 3).replace("D1", device);
    let all = [of("D1", "a"), of("D2", "b"), of("D3", "c")].concat();
    assert_eq!(counts(&server.call_operator(ORDERS_CALL, Some(&key), all).await), [9, 0, 0, 0]);
    let commits = server.data.commits().await.difference(&before).count();
    assert_eq!(commits, if server.store.engine().is_sharded() { 3 } else { 1 });
}

/// A busy store is answered with 503 and `Retry-After`. All waiting requests are answered together,
/// and sending them again does no harm.
#[tokio::test(flavor = "multi_thread")]
async fn a_busy_store_is_reported_and_a_retry_succeeds() {
    let wait = Duration::from_millis(1_000);
    let server =
        TestServer::start_with(fleet(), |settings| settings.limits.store_wait = wait).await;
    let (key, token) = (server.create_key("orders").await, server.log_in("ops").await.token);
    let held = server.data.block_writes().await;
    let mut callers = Vec::new();
    for _ in 0..16 {
        callers.push(server.connect_operator().await);
    }
    let begun = Instant::now();
    let posts = callers.into_iter().enumerate().map(|(at, mut caller)| {
        let request = http::Request::post(ORDERS_CALL).header("host", "localhost");
        let request = request.header("authorization", format!("Bearer {key}"));
        let body = http_body_util::Full::from(lines(&format!("{at}-"), 9));
        async move { caller.send(request.body(body).unwrap()).await }
    });
    for reply in futures_util::future::join_all(posts).await {
        assert_eq!((reply.status, reply.headers["retry-after"].as_str()), (503, "1"), "{reply:?}");
        // A database that is busy may also be one that does not answer.
        let detail = reply.json["detail"].as_str().unwrap();
        let unanswered = !server.store.engine().is_file() && detail.contains(UNANSWERED);
        assert!(unanswered || detail == "the store is busy; try again", "{reply:?}");
    }
    // They waited at the same time: one after the other they would have waited for longer.
    assert!(begun.elapsed() < wait * 16, "answered after {:?}", begun.elapsed());
    drop(held);
    assert_eq!(kept(&server, &token).await, [""; 0]);
    let again = server.call_operator(ORDERS_CALL, Some(&key), lines("0-", 9)).await;
    assert_eq!(counts(&again), [9, 0, 0, 0]);
}

/// A line that cannot be stored is answered at once, while the stream rests: its sender may have
/// no further line for hours.
#[tokio::test(flavor = "multi_thread")]
async fn a_failed_line_is_answered_before_another_arrives() {
    let wait = Duration::from_secs(1);
    let server =
        TestServer::start_with(fleet(), |settings| settings.limits.store_wait = wait).await;
    let (key, token) = (server.create_key("orders").await, server.log_in("ops").await.token);
    let mut stream = Stream::open(&server, &key).await;
    stream.say(line("stored", 1)).await;
    eventually("the line is stored", async || kept(&server, &token).await == ["stored"]).await;
    let _held = server.data.block_writes().await;
    stream.say(line("failed", 1)).await;
    let reply = stream.0.answer().await.expect("an answer");
    let orders = json!({"accepted": 1, "updated": 0, "unchanged": 0, "rejectedCount": 0,
        "rejected": [], "ignoredKeys": [], "lastLine": 2, "failedCount": 1,
        "failed": [{"line": 2, "orderId": "failed"}]});
    assert_eq!((reply.status, &reply.json["orders"]), (503, &orders), "{reply:?}");
}

/// LIM-13: a stopping server answers a stream in which no line arrives.
#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_rests_is_answered_when_the_server_stops() {
    let server = TestServer::start(fleet()).await;
    let (key, token) =
        (server.create_key("orders,activity").await, server.log_in("ops").await.token);
    let mut orders = Stream::open(&server, &key).await;
    let mut heartbeats = Stream::open_to(&server, "/operator/v1/activity", &key).await;
    orders.say(line("stored", 1)).await;
    heartbeats.say("{\"deviceCode\":\"D1\"}\n").await;
    eventually("the line is stored", async || kept(&server, &token).await == ["stored"]).await;
    let mut server = server;
    let stopping = tokio::spawn(async move { server.stop().await });
    for mut stream in [orders, heartbeats] {
        let reply = stream.0.answer().await.expect("an answer");
        let detail = "the server is stopping; the lines that were stored before remain";
        assert_eq!((reply.status, &reply.json["detail"]), (503, &json!(detail)), "{reply:?}");
    }
    stopping.await.unwrap();
}

/// A stream has an idle timeout instead of a body limit, counted from the last bytes that arrived.
/// Complete lines are stored without waiting for more.
#[tokio::test(flavor = "multi_thread")]
pub(crate) async fn a_silent_stream_ends_and_a_slow_one_lives() {
    let deadline = Duration::from_secs(2);
    let server =
        TestServer::start_with(fleet(), |settings| settings.limits.idle_deadline = deadline).await;
    let (key, token) = (server.create_key("orders").await, server.log_in("ops").await.token);
    let mut silent = Stream::open(&server, &key).await;
    let mut slow = Stream::open(&server, &key).await;
    let begun = Instant::now();
    silent.say(format!("{}{{\"orderId\":\"half", lines("s", 2))).await;
    let silent = tokio::spawn(async move {
        let reply = silent.0.answer().await.expect("an answer");
        (reply, begun.elapsed(), silent.0.is_closed().await)
    });
    let mut said = 0;
    while begun.elapsed() < deadline * 2 {
        slow.say(line(&format!("slow{said}"), 1)).await;
        said += 1;
        tokio::time::sleep(deadline / 20).await;
    }
    let (reply, ended, closed) = silent.await.unwrap();
    assert_eq!(reply.status, 408, "{reply:?}");
    assert!(reply.json["detail"].as_str().unwrap().starts_with("no data arrived within 2s;"));
    assert!(ended >= deadline && closed, "after {ended:?}");
    assert_eq!(kept(&server, &token).await[..2], ["s0", "s1"]);
    assert_eq!(counts(&slow.end().await), [said, 0, 0, 0]);
}

/// The chunks of one stream are stored one after the other, however long the first ones wait: the
/// last line of an order wins.
#[tokio::test(flavor = "multi_thread")]
async fn the_last_word_on_an_order_stays_however_long_the_stream_is() {
    let server = server().await;
    let (key, token) = (server.create_key("orders").await, server.log_in("ops").await.token);
    let held = server.data.block_writes().await;
    let mut stream = Stream::open(&server, &key).await;
    // An order occurs again in the next chunk, and nearer to its beginning.
    let (rounds, orders) = (12, 700);
    let streaming = tokio::spawn(async move {
        for round in 0..rounds {
            let lines: Vec<String> =
                (0..orders).map(|at| line(&format!("o{at}"), 100 + round)).collect();
            // In pieces that end anywhere.
            for piece in lines.concat().as_bytes().chunks(10_007) {
                stream.say(piece).await;
            }
        }
        stream.end().await
    });
    eventually("the first chunk is stored", async || server.app.load().storing).await;
    drop(held);
    assert_eq!(counts(&streaming.await.unwrap()), [orders, orders * (rounds - 1), 0, 0]);
    let shown = shown(&server, &token).await;
    assert_eq!(shown.len(), usize::try_from(orders).unwrap());
    assert!(shown.iter().all(|order| order["totalAmount"] == 100 + rounds - 1));
    assert_eq!(server.store.upkeep().verify().await.unwrap().differences, [""; 0]);
}

/// A login during a full ingest waits for one transaction at most.
#[tokio::test(flavor = "multi_thread")]
async fn logins_pass_in_the_middle_of_a_full_ingest() {
    let server = server().await;
    let key = server.create_key("orders").await;
    let cheap = kiosque_testkit::cheap_hash("secret");
    let account = "login_name = \"ops\"";
    server.apply(&format!("[[account]]\n{account}\npassword_hash = \"{cheap}\"")).await.unwrap();
    // Orders come until the logins are done: a login that had to wait for their end would wait for
    // ever.
    let over = AtomicBool::new(false);
    let (server, key) = (&server, &key);
    let streams = (0..4).map(async |stream| {
        let mut rounds = 0;
        while !over.load(Ordering::SeqCst) {
            let text = lines(&format!("s{stream}-{rounds}-"), 4_000);
            let reply = server.call_operator(ORDERS_CALL, Some(key), text).await;
            assert_eq!(counts(&reply), [4_000, 0, 0, 0]);
            rounds += 1;
        }
        rounds
    });
    let logins = async {
        eventually("orders are stored", async || server.app.load().storing).await;
        let mut slowest = Duration::ZERO;
        for _ in 0..20 {
            let begun = Instant::now();
            server.log_in("ops").await;
            slowest = slowest.max(begun.elapsed());
        }
        slowest
    };
    let logins = async {
        let slowest = tokio::time::timeout(WAIT_MAX, logins).await;
        over.store(true, Ordering::SeqCst);
        slowest.expect("logins pass")
    };
    let (rounds, slowest) = tokio::join!(futures_util::future::join_all(streams), logins);
    println!("{rounds:?} rounds of four streams; the slowest login took {slowest:?}");
    assert_eq!(server.store.upkeep().verify().await.unwrap().differences, [""; 0]);
}
