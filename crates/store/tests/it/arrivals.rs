//! The source of an order: the import or the streams that it came with first.

use std::sync::Arc;
use std::time::Duration;

use kiosque_model::{ActedBy, KeyName, OrderId, UnixMs};
use kiosque_store::{
    Arrival, ArrivalNo, BatchPart, Incoming, Listing, OrderOutcome, OrderSource, ReceiveOptions,
    Received,
};
use kiosque_testdb::{Durability, Schema, Server};
use kiosque_testkit::entries::{group_id, order, titled};
use kiosque_testkit::{NOW, TestData, TestStore, no_owners};

async fn begin(fixture: &TestStore, key: &str, at: i64) -> ArrivalNo {
    let (key, node) = (KeyName::parse(key).unwrap(), Some("n1".to_owned()));
    fixture.store.intake().begin_arrival(key, node, UnixMs(at)).await.unwrap()
}

async fn begin_import(fixture: &TestStore, at: i64) -> i64 {
    fixture.store.intake().begin_import(ActedBy::command(UnixMs(at))).await.unwrap()
}

async fn receive(
    fixture: &TestStore,
    parts: Vec<(Option<ArrivalNo>, Vec<Incoming>)>,
) -> Vec<OrderOutcome> {
    let received = received(fixture, parts).await;
    assert!(!received.lost_arrival);
    received.outcomes
}

/// Receives parts of a batch, each with its arrival.
async fn received(fixture: &TestStore, parts: Vec<(Option<ArrivalNo>, Vec<Incoming>)>) -> Received {
    let (mut batch, mut of_batch) = (Vec::new(), Vec::new());
    for (arrival, orders) in parts {
        let start = batch.len();
        batch.extend(orders);
        let (orders, orders_max) = (start..batch.len(), usize::MAX);
        of_batch.push(BatchPart { orders, sorted: 0, orders_max, arrival });
    }
    let options = ReceiveOptions { parts: of_batch, ..ReceiveOptions::at(NOW) };
    fixture.store.intake().receive(Arc::new(batch), no_owners(), options).await.unwrap()
}

async fn arrival(fixture: &TestStore, group: &str, id: &str) -> Option<Arrival> {
    let order = OrderId::parse(id).unwrap();
    fixture.store.intake().arrival_of(group_id(group), order).await.unwrap()
}

fn came(key: &str, at: i64) -> Option<Arrival> {
    let source = OrderSource::Stream { key_name: key.to_owned(), node: Some("n1".to_owned()) };
    Some(Arrival { since: UnixMs(at), source })
}

fn imported(number: i64, at: i64) -> Option<Arrival> {
    Some(Arrival { since: UnixMs(at), source: OrderSource::Import(number) })
}

/// Orders of two streams in one transaction, of an import, and of a source that is not known.
#[tokio::test]
async fn an_order_has_the_arrival_that_it_came_with() {
    let fixture = TestStore::with_fleet().await;
    let tills = begin(&fixture, "tills", 10).await;
    let office = begin(&fixture, "office", 20).await;
    let parts = vec![
        (Some(tills), vec![order("o1", "d1", 1), order("f1", "e1", 2)]),
        (Some(office), vec![order("o2", "d1", 3)]),
        (None, vec![order("o3", "d1", 4)]),
        (Some(tills), vec![order("o4", "d1", 5)]),
    ];
    assert_eq!(receive(&fixture, parts).await, [const { OrderOutcome::Accepted }; 5]);
    let import = begin_import(&fixture, 30).await;
    receive(&fixture, vec![(Some(ArrivalNo::of_import(import)), vec![order("o5", "d2", 6)])]).await;
    for (group, id, want) in [
        ("a", "o1", came("tills", 10)),
        ("b", "f1", came("tills", 10)),
        ("a", "o2", came("office", 20)),
        ("a", "o3", None),
        ("a", "o4", came("tills", 10)),
        ("a", "o5", imported(import, 30)),
        ("a", "none", None),
        ("b", "o1", None),
        ("none", "o1", None),
    ] {
        assert_eq!(arrival(&fixture, group, id).await, want, "{group} {id}");
    }
}

/// Neither an update by another source, in another batch or in the same one, nor the same order
/// again changes the arrival.
#[tokio::test]
async fn an_update_leaves_the_first_arrival() {
    let fixture = TestStore::with_fleet().await;
    let first = begin(&fixture, "tills", 10).await;
    let second = begin(&fixture, "office", 20).await;
    let changed = |id: &str| titled(order(id, "d1", 1), "changed");
    let parts = vec![
        (Some(first), vec![order("o1", "d1", 1), order("o2", "d1", 2)]),
        (Some(second), vec![changed("o1")]),
    ];
    let (new, updated) = (OrderOutcome::Accepted, OrderOutcome::Updated);
    assert_eq!(receive(&fixture, parts).await, [new.clone(), new, updated.clone()]);
    assert_eq!(receive(&fixture, vec![(Some(second), vec![changed("o2")])]).await, [updated]);
    let again = receive(&fixture, vec![(Some(second), vec![changed("o2")])]).await;
    assert_eq!(again, [OrderOutcome::Unchanged]);
    for id in ["o1", "o2"] {
        assert_eq!(arrival(&fixture, "a", id).await, came("tills", 10), "{id}");
    }
    // Nor does an update make an order that is not known a known one.
    receive(&fixture, vec![(None, vec![order("o3", "d1", 3)])]).await;
    receive(&fixture, vec![(Some(second), vec![changed("o3")])]).await;
    assert_eq!(arrival(&fixture, "a", "o3").await, None);
}

/// The start of an arrival was lost with its database server, and another key has its number now.
/// The server is restarted here, and the start is removed.
#[tokio::test]
async fn an_arrival_that_was_lost_is_not_the_one_of_later_orders() {
    let mut server = Server::start(Durability::Full).unwrap();
    let fixture = TestStore::with_fleet_on(TestData::in_schema(Schema::at(server.url()))).await;
    let lost = begin(&fixture, "tills", 10).await;
    server.stop().unwrap();
    server.start_again().unwrap();
    fixture.tamper("delete from arrivals");
    fixture.tamper("update counters set last = 0 where name = 'arrivals'");
    while fixture.store.intake().oldest_arrival().await.is_err() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let new = begin(&fixture, "office", 20).await;
    let parts =
        vec![(Some(lost), vec![order("o1", "d1", 1)]), (Some(new), vec![order("o2", "d1", 2)])];
    let received = received(&fixture, parts).await;
    assert_eq!(received.outcomes, [const { OrderOutcome::Accepted }; 2]);
    assert!(received.lost_arrival);
    assert_eq!(arrival(&fixture, "a", "o1").await, None);
    assert_eq!(arrival(&fixture, "a", "o2").await, came("office", 20));
    fixture.check().await;
}

/// Arrivals that began before a time are purged, in several transactions; their orders stay. Orders
/// of other arrivals that are not known are a difference. Of arrivals, imports that were not
/// canceled are listed.
#[tokio::test]
async fn old_arrivals_are_purged() {
    let fixture = TestStore::with_fleet().await;
    let old = begin(&fixture, "tills", 10).await;
    let import = begin_import(&fixture, 11).await.to_string();
    for at in 12..1_010 {
        begin(&fixture, "office", at).await;
    }
    let new = begin(&fixture, "tills", 1_010).await;
    // Of a node whose clock is behind: it stays as long as the arrival before it.
    let behind = begin(&fixture, "office", 1_009).await;
    let canceled = begin_import(&fixture, 1_010).await;
    fixture.store.intake().cancel_import(canceled).await.unwrap();
    let imports = async || {
        let all = Listing { after: None, limit: 9 };
        let listed = fixture.store.intake().imports(all, NOW).await.unwrap().entries;
        listed.into_iter().map(|import| import.import_id).collect::<Vec<_>>()
    };
    assert_eq!(imports().await, [import]);
    let parts = vec![
        (Some(old), vec![order("o1", "d1", 1)]),
        (Some(new), vec![order("o2", "d1", 2)]),
        (Some(behind), vec![order("o3", "d1", 3)]),
    ];
    receive(&fixture, parts).await;
    assert_eq!(fixture.store.intake().purge_arrivals(UnixMs(1_010)).await.unwrap(), 1_000);
    assert_eq!(fixture.store.intake().purge_arrivals(UnixMs(1_010)).await.unwrap(), 0);
    assert_eq!(imports().await, [""; 0]);
    assert_eq!(arrival(&fixture, "a", "o1").await, None);
    assert_eq!(arrival(&fixture, "a", "o2").await, came("tills", 1_010));
    assert_eq!(arrival(&fixture, "a", "o3").await, came("office", 1_009));
    assert_eq!(fixture.query("select count(*) from orders"), ["3"]);
    fixture.check().await;
    assert_eq!(fixture.store.intake().purge_arrivals(UnixMs(1_011)).await.unwrap(), 3);
    fixture.check().await;
    fixture.tamper("update counters set last = 1001 where name = 'arrivals'");
    let want = "counter arrivals: number 1002 is taken, the counter is at 1001";
    assert_eq!(fixture.differences().await, [want]);
}
