//! Fleets and deletions that run at the same time take effect one after the other (SCOPE-6).

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::task::Poll;
use std::time::Duration;

use kiosque_clock::Clock;
use kiosque_contract::DatedMove;
use kiosque_model::audit::AuditEvent;
use kiosque_model::fleet::{DeviceEntry, Fleet};
use kiosque_model::{ActedBy, DeviceCode};
use kiosque_store::{AuditQuery, History, NewHashes, OrderOutcome};
use kiosque_testkit::entries::{self, account, device, group, order};
use kiosque_testkit::{NOW, TestData, TestStore, clock_at, open};

fn moved(group: &str) -> Fleet {
    Fleet { devices: vec![entries::moved("d1", group, None)], ..Fleet::default() }
}

/// Polls a future once.
async fn polled<F: Future>(future: &mut Pin<Box<F>>) -> Poll<F::Output> {
    poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await
}

fn periods(fixture: &TestStore) -> Vec<String> {
    fixture.query(
        "select g.group_id, o.since_ms from device_owners o
            join groups g on g.group_no = o.group_no
            where o.device_code = 'd1' order by o.since_ms",
    )
}

/// A fleet that arrived before a move and is applied after it moves the device back: it does not
/// take the move, which has begun, for a planned one.
#[tokio::test]
async fn a_fleet_that_waited_takes_effect_when_it_has_the_lock() {
    // The first poll may find the read ahead done and begin the transaction: then it did not wait.
    while !moves_back_after_it_waited().await {}
}

/// Returns `false` if the fleet took effect before the move.
async fn moves_back_after_it_waited() -> bool {
    let fixture = TestStore::with_fleet().await;
    let arrived = NOW.plus_ms(100);
    let clock = Arc::new(AtomicI64::new(arrived.0));
    let clock_of_fleet = Clock::Manual(Arc::clone(&clock));
    let by = ActedBy::command(arrived);
    let waiting = fixture.store.fleet().apply(moved("a"), NewHashes::new(), by, &clock_of_fleet);
    let mut waiting = Box::pin(waiting);
    // On SQLite it reads ahead, and is not polled while the other one is applied.
    if let TestData::Directory(_) = fixture.data {
        assert!(matches!(polled(&mut waiting).await, Poll::Pending));
    }
    let (begins, ends) = (NOW.plus_ms(300), NOW.plus_ms(800));
    let other = fixture.again().await;
    other.apply_at(moved("b"), begins).await.unwrap();
    other.receive_new(vec![order("x", "d1", begins.0 + 1)]).await;
    clock.store(ends.0, Ordering::SeqCst);
    let applied = waiting.await.unwrap();
    if fixture.query(&format!("select 1 from audit where at_ms = {}", arrived.0)) == ["1"] {
        return false;
    }
    assert_eq!((applied.counts.devices.changed, applied.dated_moves), (1, vec![]));
    assert_eq!(
        periods(&fixture),
        ["a|0".to_owned(), format!("b|{}", begins.0), format!("a|{}", ends.0)]
    );
    let again = fixture.receive(vec![order("x", "d1", begins.0 + 1)]).await;
    assert_eq!(again, [OrderOutcome::Unchanged]);
    let seen = fixture.list("b", "d1", History::Included, ends).await;
    assert_eq!(seen.unwrap(), ["x"]);
    fixture.check().await;
    true
}

/// Moves without a `since` never fail for their time: one of the same millisecond follows.
#[tokio::test]
async fn a_second_move_of_the_same_millisecond_follows_the_first() {
    let fixture = TestStore::with_fleet().await;
    let (groups, accounts) = (vec![group("c")], vec![account("ops", &["a", "b", "c"])]);
    fixture.apply(Fleet { groups, accounts, ..Fleet::default() }).await.unwrap();
    fixture.apply(moved("b")).await.unwrap();
    let applied = fixture.apply(moved("c")).await.unwrap();
    let (device_code, group_id, since) = ("d1".to_owned(), "c".to_owned(), NOW.plus_ms(1));
    let since_timestamp = since.0;
    assert_eq!(applied.dated_moves, [DatedMove { device_code, group_id, since_timestamp }]);
    assert_eq!(
        periods(&fixture),
        ["a|0".to_owned(), format!("b|{}", NOW.0), format!("c|{}", since.0)]
    );
    fixture.receive_new(vec![order("x", "d1", NOW.0), order("y", "d1", since.0)]).await;
    assert_eq!(fixture.list("b", "d1", History::Included, since).await.unwrap(), ["x"]);
    assert_eq!(fixture.list("c", "d1", History::Included, since).await.unwrap(), ["y"]);
    fixture.check().await;
}

/// On SQLite a fleet reads ahead of its transaction. A device that is deleted in between is created
/// again, whole, or the fleet that only renames it is refused.
#[tokio::test]
async fn a_device_that_is_deleted_while_a_fleet_waits_is_read_again() {
    let fixture = TestStore::with_fleet_on(TestData::sqlite()).await;
    let other = open(&fixture.data, None).await.unwrap();
    let (mut attempt, mut after_a_deletion) = (0, 0);
    while after_a_deletion < 2 {
        attempt += 1;
        let entry = DeviceEntry { name: Some(format!("name {attempt}")), ..device("d9", "a") };
        let added = Fleet { devices: vec![entry.clone()], ..Fleet::default() };
        fixture.apply(added).await.unwrap();
        let name = Some(format!("new name {attempt}"));
        let fleet = Fleet { devices: vec![DeviceEntry { name, ..entry }], ..Fleet::default() };
        let fleet = Arc::new(fleet);
        let lock = fixture.data.block_writes().await;
        let clock = clock_at(NOW);
        let by = ActedBy::command(NOW);
        let fleet_of_apply = Arc::clone(&fleet);
        let apply =
            fixture.store.fleet().apply(fleet_of_apply, NewHashes::new(), by.clone(), &clock);
        let mut apply = Box::pin(apply);
        // The read ahead has its own reference.
        loop {
            assert!(matches!(polled(&mut apply).await, Poll::Pending));
            if Arc::strong_count(&fleet) == 2 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let delete = other.fleet().delete_device(DeviceCode::parse("d9").unwrap(), by);
        let (applied, (), deleted) = tokio::join!(apply, lock.release(), delete);
        applied.unwrap();
        deleted.unwrap();
        let trail = fixture.store.trail().entries(AuditQuery::latest(1)).await.unwrap().entries;
        let kept = if trail[0].event == AuditEvent::FleetApplied.name() {
            after_a_deletion += 1;
            vec![format!("new name {attempt}|a|1")]
        } else {
            Vec::new()
        };
        let rows = "select d.device_name, g.group_id, l.first_seq from devices d
            left join device_owners o on o.device_no = d.device_no
            left join ledger l on l.group_no = o.group_no and l.device_no = d.device_no
            left join groups g on g.group_no = l.group_no where d.device_code = 'd9'";
        assert_eq!(fixture.query(rows), kept, "attempt {attempt}");
        fixture.check().await;
    }
}
