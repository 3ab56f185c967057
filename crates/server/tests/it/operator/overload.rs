//! Requests over a limit are refused at once, and the memory in use is bounded.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kiosque_testkit::{ORDERS_CALL, Reply, TestServer, WAIT_MAX, eventually};

use super::streams::begin;
use super::{FLEET_CALL, Stream, counts, fleet, line, lines};

const QUEUE_BYTES: usize = 300 << 10;

#[track_caller]
fn assert_refused(reply: &Reply, said: &str) {
    assert_eq!((reply.status, reply.headers["retry-after"].as_str()), (503, "1"), "{reply:?}");
    assert_eq!(reply.json["detail"], said);
}

/// One key takes half of the streams at most. A stream is refused with the limit that it met.
#[tokio::test(flavor = "multi_thread")]
pub(crate) async fn one_stream_too_many_is_refused_at_once() {
    let server =
        TestServer::start_with(fleet(), |settings| settings.limits.ingest_streams_max = 5).await;
    let [greedy, other, third] = ["greedy", "other", "third"];
    let create = |name| server.create_key_named(name, "orders");
    let (greedy, other, third) = (create(greedy).await, create(other).await, create(third).await);
    let mut streams = Vec::new();
    for key in [&greedy, &greedy] {
        let mut stream = Stream::open(&server, key).await;
        stream.say("\n").await;
        streams.push(stream);
    }
    eventually("both are open", async || server.app.load().streams == 2).await;
    let ask =
        async |key: &str, id: &str| server.call_operator(ORDERS_CALL, Some(key), line(id, 1)).await;
    let share = "too many order streams at a time: the key has its share of ingest_streams_max; \
                 end one of its streams, or send with another key";
    assert_refused(&ask(&greedy, "a").await, share);
    assert_eq!(counts(&ask(&other, "b").await), [1, 0, 0, 0]);
    for key in [&other, &other, &third] {
        let mut stream = Stream::open(&server, key).await;
        stream.say("\n").await;
        streams.push(stream);
    }
    eventually("all are open", async || server.app.load().streams == 5).await;
    assert_refused(&ask(&greedy, "c").await, share);
    let all = "too many order streams at a time: ingest_streams_max are open; try again when one \
               has ended";
    assert_refused(&ask(&third, "d").await, all);
    for stream in streams {
        assert_eq!(counts(&stream.end().await), [0, 0, 0, 0]);
    }
    assert_eq!(counts(&ask(&greedy, "e").await), [1, 0, 0, 0]);
}

/// While the database cannot write, the queue is bounded: a new request is refused at once, one in
/// progress is not read any further, and all of it is stored in the end.
#[tokio::test(flavor = "multi_thread")]
pub(crate) async fn what_waits_is_bounded() {
    let server = TestServer::start_with(fleet(), |settings| {
        settings.limits.ingest_queue_max_bytes = QUEUE_BYTES;
    })
    .await;
    let key = server.create_key("orders").await;
    let held = server.data.block_writes().await;
    let mut stream = Stream::open(&server, &key).await;
    // More than is ever buffered on the way for a connection.
    let text = lines("o", 150_000);
    let all = text.len();
    let taken = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&taken);
    let sending = tokio::spawn(async move {
        for piece in text.as_bytes().chunks(64 << 10) {
            stream.say(piece).await;
            counted.fetch_add(piece.len(), Ordering::SeqCst);
        }
    });
    let more = lines("x", 500);
    eventually("there is no room for more", async || {
        server.app.load().queue_bytes + more.len() > QUEUE_BYTES
    })
    .await;
    let refused = server.call_operator(ORDERS_CALL, Some(&key), more.clone());
    let refused = tokio::time::timeout(WAIT_MAX, refused).await;
    assert_refused(&refused.expect("at once"), "too many orders are waiting to be stored");
    // Usually longer than the rest of the text takes.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let taken = taken.load(Ordering::SeqCst);
    assert!(taken < all / 2, "{taken} of {all} bytes were taken while nothing could be stored");
    sending.abort();
    drop(held);
    eventually("there is room again", async || {
        server.call_operator(ORDERS_CALL, Some(&key), more.clone()).await.status == 200
    })
    .await;
    assert_eq!(server.store.upkeep().verify().await.unwrap().differences, [""; 0]);
}

/// A line that is rejected is answered without the database. Reading it takes a thread, and storing
/// into a file takes another.
#[tokio::test(flavor = "multi_thread")]
pub(crate) async fn as_many_threads_at_a_time_as_there_may_be() {
    for threads in [1, 2] {
        let server =
            TestServer::start_with(fleet(), |settings| settings.limits.ingest_threads = threads)
                .await;
        let key = server.create_key("orders").await;
        let read = threads > 1 || !server.store.engine().is_file();
        let held = server.data.block_writes().await;
        let storing = begin(&server, &key, line("o", 1), 0).await;
        let body = "nonsense\n";
        let mut reading = Box::pin(server.call_operator(ORDERS_CALL, Some(&key), body));
        let wait = if read { WAIT_MAX } else { Duration::from_millis(300) };
        let done = tokio::time::timeout(wait, &mut reading).await;
        assert_eq!(done.is_ok(), read, "{threads} threads");
        drop(held);
        assert_eq!(counts(&storing.await.unwrap()), [1, 0, 0, 0]);
        let reply = match done {
            Ok(reply) => reply,
            Err(_) => reading.await,
        };
        assert_eq!(counts(&reply), [0, 0, 0, 1]);
    }
}

#[tokio::test]
pub(crate) async fn a_fleet_is_taken_up_to_its_limit() {
    let server = TestServer::start_with(fleet(), |settings| {
        settings.limits.body_max_bytes = 100;
        settings.limits.fleet_body_max_bytes = 1_000;
    })
    .await;
    let key = server.create_key("fleet").await;
    let fleet = |size: usize| format!("{{}}{}", " ".repeat(size - 2));
    assert_eq!(server.call_operator(FLEET_CALL, Some(&key), fleet(1_000)).await.status, 200);
    let reply = server.call_operator(FLEET_CALL, Some(&key), fleet(1_001)).await;
    assert_eq!(reply.status, 413);
    assert_eq!(reply.json["detail"], "the body is larger than 1000 bytes");
}
