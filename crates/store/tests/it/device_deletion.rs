//! Deleting a device: every row about it goes, its groups and the other devices keep theirs, and a
//! device with orders stays.

use kiosque_model::audit::AuditEvent;
use kiosque_model::fleet::DeviceEntry;
use kiosque_model::{ActedBy, DeviceCode, UnixMs};
use kiosque_store::{AuditQuery, DeleteError, Listing, OrderOutcome};
use kiosque_testkit::entries::{aisle, bare_device, beat, device, moved, order};
use kiosque_testkit::{NOW, TestStore};

async fn delete(fixture: &TestStore, code: &str) -> Result<(), DeleteError> {
    fixture
        .store
        .fleet()
        .delete_device(DeviceCode::parse(code).unwrap(), ActedBy::command(NOW))
        .await
}

/// The rows of the fleet and of its groups are those from before the device was created. Version
/// counters and the trail continue.
#[tokio::test]
async fn a_deleted_device_leaves_no_row() {
    let fixture = TestStore::with_fleet().await;
    let aisles = Some(vec![aisle("1", "p", 3), aisle("2", "p", 4)]);
    fixture.apply_devices(vec![DeviceEntry { aisles: aisles.clone(), ..bare_device("d1") }]).await;
    let tables = ["devices", "aisles", "device_owners", "ledger"];
    let rows =
        || tables.map(|table| fixture.query(&format!("select * from {table} order by 1, 2, 3")));
    let before = rows();
    fixture.apply_devices(vec![DeviceEntry { aisles, ..device("cofee", "a") }]).await;
    fixture.check().await;
    assert_ne!(rows(), before);
    delete(&fixture, "cofee").await.unwrap();
    assert_eq!(rows(), before);
    fixture.check().await;
    let trail = fixture.store.trail().entries(AuditQuery::latest(1)).await.unwrap().entries;
    assert_eq!(trail[0].event, AuditEvent::DeviceDeleted.name());
    let details = trail[0].details.clone().unwrap();
    assert_eq!(details.device_code.as_deref(), Some("cofee"));
    assert_eq!(details.group_id.as_deref(), Some("a"));
    // Its number is not used again: a server may have a heartbeat of it in memory.
    let last = "select max(device_no) from devices";
    let deleted = fixture.query("select last from counters where name = 'deleted_devices'");
    fixture.apply_devices(vec![device("coffee", "a")]).await;
    let (last, deleted): (i64, i64) =
        (fixture.query(last)[0].parse().unwrap(), deleted[0].parse().unwrap());
    assert_eq!(last, deleted + 1);
    fixture.check().await;
}

/// A device with several owners, with a planned move, and with a heartbeat.
#[tokio::test]
async fn a_device_that_moved_is_deleted_from_all_of_its_groups() {
    let fixture = TestStore::with_fleet().await;
    fixture.apply_devices(vec![moved("d1", "b", None)]).await;
    fixture.apply_devices(vec![moved("d2", "b", Some(NOW.0 + 1_000))]).await;
    let beat = beat("d1", NOW);
    fixture.store.intake().record_heartbeats(vec![beat]).await.unwrap();
    for code in ["d1", "d2"] {
        delete(&fixture, code).await.unwrap();
        fixture.check().await;
    }
    // The heartbeat that was buffered is written to no row.
    fixture.store.intake().write_activity().await.unwrap();
    assert_eq!(fixture.query("select device_code from ledger"), ["e1"]);
    let outcomes = fixture.receive(vec![order("o1", "d1", 10)]).await;
    let reason = "deviceCode: no device d1 is known".to_owned();
    assert_eq!(outcomes, [OrderOutcome::Rejected(reason)]);
    fixture.check().await;
}

/// Another process deletes a device. Its heartbeats in the memory of this one do not count, written
/// or not.
#[tokio::test]
async fn a_deleted_device_is_not_the_last_activity_of_its_group() {
    let fixture = TestStore::with_fleet().await;
    let other = fixture.again().await;
    let last_active = async || {
        let inventory = fixture.store.inventory();
        let groups = inventory.groups(Listing { after: None, limit: 1 }, NOW).await.unwrap();
        let status = inventory.status(NOW).await.unwrap();
        let of_all = inventory.last_active().await.unwrap().map(|at| at.0);
        assert_eq!(of_all, status.last_active_timestamp);
        (groups.entries[0].last_active_timestamp, of_all)
    };
    let record = async |at| {
        let intake = fixture.store.intake();
        intake.record_heartbeats(vec![beat("d2", UnixMs(at))]).await.unwrap();
    };
    let beats = vec![beat("d1", UnixMs(5)), beat("e1", UnixMs(6))];
    fixture.store.intake().record_heartbeats(beats).await.unwrap();
    record(70).await;
    assert_eq!(last_active().await, (Some(70), Some(70)));
    fixture.store.intake().write_activity().await.unwrap();
    assert_eq!(last_active().await, (Some(70), Some(70)));
    delete(&other, "d2").await.unwrap();
    assert_eq!(last_active().await, (Some(5), Some(6)));
    fixture.apply_devices(vec![device("d2", "a")]).await;
    record(80).await;
    delete(&other, "d2").await.unwrap();
    fixture.store.intake().write_activity().await.unwrap();
    assert_eq!(last_active().await, (Some(5), Some(6)));
}

#[tokio::test]
async fn a_device_with_orders_or_an_unknown_one_is_refused() {
    let fixture = TestStore::with_fleet().await;
    fixture.receive_new(vec![order("o1", "d1", 10), order("o2", "d1", 20)]).await;
    // Its orders are with the group that it left.
    fixture.apply_devices(vec![moved("d1", "b", None)]).await;
    fixture.store.upkeep().archive(UnixMs(100), NOW).await.unwrap();
    let before = fixture.rows();
    let refused = delete(&fixture, "d1").await.unwrap_err();
    assert!(matches!(refused, DeleteError::HasOrders { orders: 2, .. }), "{refused}");
    let refused = delete(&fixture, "d9").await.unwrap_err();
    assert_eq!(refused.to_string(), "no device d9 is known");
    assert_eq!(fixture.rows(), before);
}
