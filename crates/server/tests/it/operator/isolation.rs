//! Streams of orders neither delay nor fail one another, and a request that failed may be repeated.

use std::time::Duration;

use kiosque_testkit::{FleetToml, ORDERS_CALL, ServerOptions, TestData, TestServer, WAIT_MAX, sql};
use serde_json::json;

use super::streams::begin;
use super::{counts, fleet, kept, line};

/// A server with device `D1` and `D3` of group `g1`, and `D2` of `g2`.
async fn server_on(data: TestData) -> TestServer {
    let options = ServerOptions { data, ..ServerOptions::default() };
    TestServer::start_on(fleet().device("D3", "Hall", "g1"), options).await
}

/// An order of device `D2`, which belongs to group `g2`.
fn line_of_g2(id: &str, total: i64) -> String {
    line(id, total).replace("\"D1\"", "\"D2\"")
}

fn numbered(line: String, number: &str) -> String {
    line.replace("\"orderId\"", &format!("\"tradeNoIn\":\"{number}\",\"orderId\""))
}

/// Returns the id and the sequence number of each order.
fn stored(server: &TestServer) -> Vec<String> {
    server.data.query(&sql("order_seqs"))
}

/// A group that another transaction has locked, as an apply does, delays the streams with its
/// orders and no other.
#[tokio::test(flavor = "multi_thread")]
async fn a_locked_group_delays_no_stream_of_another() {
    let server = server_on(TestData::postgres()).await;
    let key = server.create_key("orders").await;
    let held = server.data.lock_group("g1").await;
    let body = [line("a", 1), line_of_g2("b", 1), line("a", 2), line("c", 1)].concat();
    let waiting = begin(&server, &key, body, 1).await;
    for at in 0..20 {
        let other = line_of_g2(&format!("other{at}"), 1);
        let other = server.call_operator(ORDERS_CALL, Some(&key), other).await;
        assert_eq!(counts(&other), [1, 0, 0, 0]);
    }
    let after = begin(&server, &key, line("a", 3), 2).await;
    // A transaction later, the writer has found that its group is locked, too.
    server.call_operator(ORDERS_CALL, Some(&key), line_of_g2("last", 1)).await;
    assert!(!waiting.is_finished() && !after.is_finished());
    held.release().await;
    assert_eq!(counts(&waiting.await.unwrap()), [3, 1, 0, 0]);
    assert_eq!(counts(&after.await.unwrap()), [0, 1, 0, 0]);
    let token = server.log_in("ops").await.token;
    assert_eq!(kept(&server, &token).await, ["a", "c"]);
    assert_eq!(server.store.upkeep().verify().await.unwrap().differences, [""; 0]);
}

/// A stream whose group is locked for as long as a request waits fails alone, and its orders of
/// other groups are stored.
#[tokio::test(flavor = "multi_thread")]
async fn a_group_that_stays_locked_fails_its_own_streams() {
    let mut server = server_on(TestData::postgres()).await;
    let key = server.create_key("orders").await;
    server.settings.limits.store_wait = Duration::from_secs(5);
    server.restart().await;
    let held = server.data.lock_group("g1").await;
    let body = [line("a", 1), line_of_g2("b", 1)].concat();
    let waiting = begin(&server, &key, body, 1).await;
    let (mut sent, mut others) = (0, 0);
    while !waiting.is_finished() {
        let other = line_of_g2(&format!("other{sent}"), 1);
        let other = server.call_operator(ORDERS_CALL, Some(&key), other).await;
        sent += 1;
        // A busy machine may not store an order in time, whatever is locked.
        if other.status != 503 {
            assert_eq!(counts(&other), [1, 0, 0, 0]);
            others += 1;
        }
    }
    let waiting = waiting.await.unwrap();
    assert_eq!((waiting.status, waiting.headers["retry-after"].as_str()), (503, "1"));
    assert_eq!(waiting.json["detail"], "the store is busy; try again");
    assert!(others > 0, "no other stream was answered meanwhile");
    held.release().await;
    server.settings.limits.store_wait = WAIT_MAX;
    server.restart().await;
    assert!((others + 1..=sent + 1).contains(&stored(&server).len()));
    let again = [line("a", 1), line_of_g2("b", 1)].concat();
    let again = server.call_operator(ORDERS_CALL, Some(&key), again).await;
    assert_eq!(counts(&again), [1, 0, 1, 0]);
}

/// Lines are decided in their order, whatever the starts of their trades, by which they are stored;
/// those of a file likewise.
#[tokio::test(flavor = "multi_thread")]
async fn lines_are_decided_in_the_order_in_which_they_came() {
    let later = |line: String| line.replace("09:00:", "09:30:");
    let number = |id: &str, number: &str| numbered(line(id, 1), number);
    for (before, lines, want) in [
        // A number that a stored order gives up, whose trade started later.
        (later(number("r1", "R1")), [later(number("r1", "R2")), number("r3", "R1")], [1, 1, 0, 0]),
        // A number that is taken before it is given up.
        (number("r1", "R1"), [later(number("r3", "R1")), number("r1", "R2")], [0, 1, 0, 1]),
        // A number that two orders claim: the first line has it.
        (String::new(), [later(number("r2", "R1")), number("r1", "R1")], [1, 0, 0, 1]),
    ] {
        let server = server_on(TestData::new()).await;
        let key = server.create_key("orders").await;
        server.call_operator(ORDERS_CALL, Some(&key), before.clone()).await;
        let reply = server.call_operator(ORDERS_CALL, Some(&key), lines.concat()).await;
        assert_eq!(counts(&reply), want, "{reply:?}");
        let other = server_on(TestData::new()).await;
        other.import(before).await;
        let (imported, rejected) = other.import(lines.concat()).await;
        let done = imported.counts;
        let done = [done.accepted, done.updated, done.unchanged, done.rejected];
        assert_eq!(done, want.map(|count| u64::try_from(count).unwrap()), "{rejected:?}");
        assert_eq!(stored(&other), stored(&server));
        assert_eq!(other.store.upkeep().verify().await.unwrap().differences, [""; 0]);
    }
}

/// Every statement of a request fails once, in turn. The request may be answered 503; sent again,
/// each line is stored, and none is rejected that is valid.
#[cfg(debug_assertions)]
#[tokio::test(flavor = "multi_thread")]
async fn a_request_whose_nth_statement_failed_may_be_sent_again() {
    use kiosque_store::Error;

    let server = server_on(TestData::new()).await;
    let key = server.create_key("orders").await;
    let faults: [fn() -> Error; 2] = [
        || Error::Unreachable("a fault of the test".to_owned()),
        || Error::Data("a fault of the test".to_owned()),
    ];
    for more in ["", "since = \"2026-03-01T09:15:00Z\"\n"] {
        let group = if more.is_empty() { "g1" } else { "g2" };
        let device = FleetToml::new().device("M1", "Moved", group).with(more);
        server.apply(device).await.unwrap();
    }
    let of_moved = |line: String| line.replace("\"D1\"", "\"M1\"");
    let later = |line: String| line.replace("09:00:", "09:30:");
    let mut orders = 0;
    for (kind, error) in faults.into_iter().enumerate() {
        for statements in 0.. {
            let round = format!("{kind}.{statements}");
            let id = |name: &str| format!("{round}-{name}");
            let before = [numbered(line(&id("a"), 1), &id("N")), of_moved(line(&id("f"), 1))];
            let before = server.call_operator(ORDERS_CALL, Some(&key), before.concat()).await;
            assert_eq!(counts(&before), [2, 0, 0, 0], "{round}");
            let product = format!("[[product]]\nid = \"cola\"\nname = \"Cola {round}\"\n");
            server.apply(product).await.unwrap();
            let body = [
                numbered(line(&id("a"), 2), &id("M")),
                numbered(line(&id("b"), 1), &id("N")),
                line_of_g2(&id("c"), 1),
                line(&id("d"), 1),
                line(&id("d"), 2),
                line(&id("x"), 1).replace("\"D1\"", "\"D9\""),
                later(of_moved(line(&id("m"), 1))),
                later(of_moved(line(&id("f"), 1))),
            ];
            server.store.engine().faults().arm(Some((statements, error)));
            let first = server.call_operator(ORDERS_CALL, Some(&key), body.concat()).await;
            let is_over = server.store.engine().faults().arm(None);
            assert!([200, 503].contains(&first.status), "{round}: {first:?}");
            assert!(first.status == 200 || !is_over, "{round}: {first:?}");
            let again = server.call_operator(ORDERS_CALL, Some(&key), body.concat()).await;
            assert_eq!(counts(&again)[3], 2, "{round}: {again:?}");
            let last = [&body[..3], &body[4..]].concat().concat();
            let last = server.call_operator(ORDERS_CALL, Some(&key), last).await;
            assert_eq!(counts(&last), [0, 0, 5, 2], "{round}: {last:?}");
            for reply in [&first, &again].into_iter().filter(|reply| reply.status == 200) {
                let reason = "deviceCode: no device D9 is known";
                let owner = format!(
                    "tradeStartTime: order {round}-f belongs to group g1, and at this time to \
                     group g2; an update may not change the owning group"
                );
                let rejected = json!([
                    {"line": 6, "orderId": id("x"), "reason": reason},
                    {"line": 8, "orderId": id("f"), "reason": owner},
                ]);
                assert_eq!(reply.json["rejected"], rejected, "{round}");
            }
            orders += 6;
            if is_over {
                assert!(statements > 20, "{statements} statements");
                break;
            }
        }
    }
    assert_eq!(server.data.query(&sql("orders_stored")), [orders.to_string()]);
    assert_eq!(server.store.upkeep().verify().await.unwrap().differences, [""; 0]);
}
