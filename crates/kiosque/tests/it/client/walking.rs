//! Walks over orders.

use std::fmt::Write;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::TryStreamExt;
use kiosque_client::session::Pace;
use kiosque_client::{Error, History, Position, WalkError};
use kiosque_server::Settings;
use kiosque_testkit::{TestServer, is_soak, size, sql};
use sha2::{Digest, Sha256};

use super::{account, fleet, orders, server};

const DEVICE: &str = "north-1";

/// Returns the ids of all orders of the device, by arrival.
fn stored(server: &TestServer) -> Vec<String> {
    let rows = server.data.query(&sql("order_seqs"));
    let ids = rows.iter().map(|row| row.rsplit_once('|').unwrap());
    let mut ids: Vec<(u64, &str)> = ids
        .filter(|(id, _)| id.starts_with(DEVICE))
        .map(|(id, seq)| (seq.parse().unwrap(), id))
        .collect();
    ids.sort_unstable();
    ids.into_iter().map(|(_, id)| id.to_owned()).collect()
}

fn digest(ids: &[String]) -> String {
    let lines: String = (1..).zip(ids).map(|(at, id)| format!("{at} {id}\n")).collect();
    let mut text = String::new();
    for byte in Sha256::digest(lines) {
        write!(text, "{byte:02x}").unwrap();
    }
    text
}

/// PAGE-8, ORD-3: while orders arrive, a walk reads each order once, in the order of arrival, and
/// its certificate equals one that is computed from the data.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_walk_is_complete_while_orders_arrive() {
    let server = server().await;
    let full = size(600, 100_000);
    server.import_valid(orders(DEVICE, 30..full)).await;
    let is_over = AtomicBool::new(false);
    // In a soak a thousand a second arrive, if the machine can store as many.
    let (batch, pause) = (size(7, 100), Duration::from_millis(if is_soak() { 100 } else { 0 }));
    let begun = Instant::now();
    let importing = async {
        let mut next = full;
        for round in 1.. {
            server.import_valid(orders(DEVICE, next..next + batch)).await;
            next += batch;
            if is_over.load(Ordering::SeqCst) {
                break;
            }
            tokio::time::sleep_until((begun + pause * round).into()).await;
        }
        next
    };
    let calls = account(&server, Pace::default()).group("north").unwrap();
    let mut walk = calls.orders(DEVICE).page_size(23);
    let walking = async {
        let mut orders = pin!(walk.stream());
        let mut ids = Vec::new();
        while let Some(order) = orders.try_next().await.unwrap() {
            ids.push(order.id().to_owned());
            if ids.len() == full {
                is_over.store(true, Ordering::SeqCst);
            }
        }
        ids
    };
    let (count, mut ids) = tokio::join!(importing, walking);
    assert!(count > full, "no order arrived during the walk");
    let (took, arrived) = (begun.elapsed(), count - full);
    println!("{} orders read in {took:?}, in which {arrived} arrived", ids.len());
    // The walk may have ended between the last two batches.
    let stored = stored(&server);
    assert_eq!((stored.len(), ids.as_slice()), (count, &stored[..ids.len()]));
    assert!(ids.len() >= full);
    let certificate = walk.certificate().unwrap();
    assert_eq!(certificate.count, u64::try_from(ids.len()).unwrap());
    assert_eq!((&certificate.sha256, certificate.after), (&digest(&ids), 0));

    // Another walk continues where the first one ended.
    let (after, before) = (walk.last_ordinal(), ids.len());
    let mut rest = calls.orders(DEVICE).after(after);
    while let Some(order) = rest.next().await.unwrap() {
        ids.push(order.id().to_owned());
    }
    assert_eq!(ids, stored);
    let certificate = rest.certificate().unwrap();
    let read = u64::try_from(ids.len() - before).unwrap();
    assert_eq!((certificate.after, certificate.count), (after, read));
}

/// ORD-4: a walk over current orders fails when some are archived meanwhile; one over all does not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn archiving_during_a_walk_is_noticed() {
    let server = server().await;
    let calls = account(&server, Pace::default()).group("north").unwrap();
    let mut current = calls.orders(DEVICE).history(History::Excluded).page_size(4);
    let mut all = calls.orders(DEVICE).page_size(4);
    for walk in [&mut current, &mut all] {
        assert!(walk.next().await.unwrap().is_some());
    }
    server.store.upkeep().archive(server.now(), server.now()).await.unwrap();
    let error = loop {
        match current.next().await {
            Ok(Some(_)) => {}
            Ok(None) => panic!("the walk ended as if it were complete"),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::Walk(WalkError::Shorter { .. })), "{error}");
    assert_eq!(current.certificate(), None);
    let mut count = 1;
    while all.next().await.unwrap().is_some() {
        count += 1;
    }
    assert_eq!((count, all.certificate().unwrap().count), (30, 30));
}

/// PAGE-8: the pages of a walk have its orders, and it has a certificate after the last one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_walk_is_read_by_page() {
    let server = server().await;
    let calls = account(&server, Pace::default()).group("north").unwrap();
    let mut walk = calls.orders(DEVICE).page_size(7);
    let mut ids = vec![walk.next().await.unwrap().unwrap().id().to_owned()];
    while let Some(page) = walk.next_page().await.unwrap() {
        assert!((1..=7).contains(&page.len()), "{}", page.len());
        ids.extend(page.iter().map(|order| order.id().to_owned()));
    }
    assert_eq!(ids, stored(&server));
    assert_eq!(walk.certificate().unwrap().sha256, digest(&ids));
}

/// PAGE-4: a server may allow smaller pages than those that are requested at first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_are_read_in_pages_that_the_server_allows() {
    for most in [1, 7] {
        let small = |settings: &mut Settings| settings.limits.page_size_max = most;
        let server = TestServer::start_with(fleet("secret"), small).await;
        server.import_valid(orders(DEVICE, 0..30)).await;
        // Each reading has an account that does not know the limit yet.
        let north = || account(&server, Pace::default()).group("north").unwrap();
        assert_eq!(north().devices().await.unwrap().len(), 2);
        let mut walk = north().orders(DEVICE);
        while walk.next().await.unwrap().is_some() {}
        assert_eq!(walk.certificate().unwrap().sha256, digest(&stored(&server)));
        let (mut changes, mut changed) = (north().changes(Position::default()), 0);
        loop {
            let read = changes.read(Duration::ZERO).await.unwrap();
            if read.is_empty() {
                break;
            }
            changed += read.len();
        }
        assert_eq!(changed, 30);
    }
}
