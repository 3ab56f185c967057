//! Faults of lists.

use std::collections::BTreeSet;

use kiosque_testkit::{DEVICES_PATH, ORDERS_PATH, Served};

use super::{ONE_DEVICE, ORDERS, Server, faults_of, page};
use crate::fleet::fleet;

/// Returns the ids of orders, the newest first.
fn ids(numbers: impl Iterator<Item = usize>) -> Vec<String> {
    numbers.map(|number| format!("o{number:02}")).collect()
}

/// PAGE-8: rows that arrive after the first page was read move others to later pages; a walk reads
/// some twice and misses none.
#[test]
fn shifted_pages_double_rows_and_miss_none() {
    let server = Server::start();
    let proxy = server.proxy(&["shift-page(rows=2)"]);
    let (mut caller, token) = proxy.log_in("walker");
    let mut walked = Vec::new();
    for current in 1.. {
        let (reply, ids) = page(&mut caller, &token, current);
        let (total, fault) = if current == 1 { (25, None) } else { (27, Some("shift-page")) };
        if ids.is_empty() {
            // No row is on the page before, so that none can have moved to this one.
            assert_eq!(current, 7);
            break;
        }
        assert_eq!(reply.success()["total"], total, "{reply:?}");
        assert_eq!(faults_of(&reply), fault, "{reply:?}");
        walked.extend(ids);
    }
    let doubled = ids((21..=25).rev().chain((1..=22).rev()));
    assert_eq!(walked, doubled);
}

/// PAGE-8: a list that some calls shift stays shifted until its page 1 is read, by a new session of
/// the account as well, so that a walk meets all orders that were there when it began.
#[test]
fn a_walk_that_is_shifted_at_some_pages_misses_no_order() {
    let server = Server::with_orders(fleet(), MANY);
    for (fault, seed) in [
        ("every(2, shift-page(rows=3))", "1"),
        ("every(9, shift-page)", "1"),
        ("nth(3, shift-page(rows=3))", "1"),
        ("nth(3, shift-page(rows=9))", "1"),
        ("chance(5%, shift-page(rows=2))", "7"),
    ] {
        let proxy = server.proxy_with(&[fault], &["--seed", seed]);
        let arrived = walk(&proxy, fault);
        assert!(arrived.iter().any(|rows| *rows > 0), "{fault}: {arrived:?}");
        let again = walk(&proxy, fault);
        if fault.starts_with("nth") {
            assert!(again.iter().all(|rows| *rows == 0), "{fault}: {again:?}");
        }
    }
}

/// Orders of a long list. Its last page is not full.
const MANY: usize = 303;

/// Walks over the list and checks each page against a list at whose front orders have arrived since
/// its page 1 was read. Returns their number at each page.
fn walk(proxy: &Served, fault: &str) -> Vec<usize> {
    let (mut caller, mut token) = proxy.log_in("walker");
    let all = ids((1..=MANY).rev());
    let (mut stored, mut arrived, mut last) = (BTreeSet::new(), Vec::new(), 0);
    for current in 1.. {
        if current == 20 {
            token = caller.log_in("walker", "secret");
        }
        let (reply, ids) = page(&mut caller, &token, current);
        let total = reply.success()["total"].as_u64().unwrap();
        let rows = usize::try_from(total).unwrap().checked_sub(MANY);
        let Some(rows) = rows.filter(|rows| *rows >= last) else {
            panic!("{fault}, page {current}: total {total} after {last} have arrived");
        };
        let expected = all.iter().skip((current - 1) * 5 - rows).take(5);
        assert!(ids.iter().eq(expected), "{fault}, page {current}, {rows} arrived: {ids:?}");
        assert_eq!(faults_of(&reply), (rows > 0).then_some("shift-page"), "{fault}, {current}");
        if ids.is_empty() {
            break;
        }
        stored.extend(ids);
        arrived.push(rows);
        last = rows;
    }
    assert!(stored.iter().eq(all.iter().collect::<BTreeSet<_>>()), "{fault}");
    arrived
}

/// A page with another order of rows, without one of them, and with a `total` that is too small.
#[test]
fn rows_are_sorted_otherwise_or_missing() {
    let server = Server::start();
    let (mut caller, token) = server.served.log_in("walker");
    let (plain, expected) = page(&mut caller, &token, 2);
    assert_eq!((expected.clone(), faults_of(&plain)), (ids((16..=20).rev()), None));

    let proxy = server.proxy(&["resort"]);
    let (reply, resorted) = page(&mut proxy.connect(), &token, 2);
    assert_eq!((resorted, faults_of(&reply)), (ids(16..=20), Some("resort")));

    let proxy = server.proxy(&["drop-row", "stale-total(rows=3)"]);
    let (reply, dropped) = page(&mut proxy.connect(), &token, 2);
    assert_eq!(faults_of(&reply), Some("drop-row, stale-total"));
    assert_eq!(reply.success()["total"], ORDERS - 3);
    assert_eq!(dropped.len(), 4);
    let mut left = expected.iter();
    assert!(dropped.iter().all(|id| left.any(|other| other == id)), "{dropped:?}");

    // Other calls, and refusals, are passed on as they are.
    let mut caller = proxy.connect();
    let devices = caller.call(DEVICES_PATH, Some(&token), "{}");
    assert_eq!((devices.success()["total"].as_i64(), faults_of(&devices)), (Some(2), None));
    let refused = caller.call(ORDERS_PATH, Some(&token), r#"{"deviceCode":"D9"}"#);
    assert_eq!((refused.code(), faults_of(&refused)), (-1, None));
    assert_eq!(caller.call(ORDERS_PATH, Some("other"), ONE_DEVICE).code(), -4);
}
