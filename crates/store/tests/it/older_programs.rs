//! Fleets that a program of an earlier layout applies while this one runs.

use kiosque_model::fleet::{DeviceEntry, Fleet};
use kiosque_model::{Claim, GroupId, PresentedToken, UnixMs};
use kiosque_store::{DashboardQuery, DevicePart};
use kiosque_testkit::entries::{aisle, bare_device, device};
use kiosque_testkit::{NOW, TestStore, open};

/// The hierarchy of aisles of group `a`, which is cached.
async fn aisles(fixture: &TestStore, session: &PresentedToken) -> String {
    let group = Some(GroupId::parse("a"));
    let query = DashboardQuery { group, devices: Vec::new(), start: UnixMs(0), end: UnixMs(0) };
    let claim = Claim { token: session.clone(), now: NOW };
    let part = DevicePart::first(1_000);
    let read = fixture.store.group_aisles(claim, query, part, 1_000_000).await.unwrap();
    String::from_utf8(read.devices.json.to_vec()).unwrap()
}

/// Writes what a program without texts of aisles, lists of devices and their versions writes when
/// it applies a fleet with a new name and price, and a new device.
fn apply_as_an_older_program(fixture: &TestStore) {
    for sql in [
        "update devices set device_name = 'Renamed' where device_code = 'd1'",
        "update ledger set device_name = 'Renamed' where device_code = 'd1'",
        "update aisles set price = 777",
        "insert into devices (device_no, device_code, device_name, device_model, address, enabled,
            created_at_ms, total_curr_stock) values (999, 'd9', 'New', '', '', true, 0, 0)",
        "insert into device_owners (group_no, device_code, since_ms, until_ms, listed, device_no)
            values (1, 'd9', 0, 9223372036854775807, true, 999)",
        "insert into ledger (group_no, device_code, device_no, since_ms, first_seq, archived_seq,
            last_seq, device_name) values (1, 'd9', 999, 0, 1, 0, 0, 'New')",
        "update counters set last = last + 1 where name in ('audit', 'fleet')",
        RECORD,
    ] {
        fixture.tamper(sql);
    }
}

/// Inserts the entry of an older program, whose number has been taken.
const RECORD: &str = "insert into audit (entry_no, at_ms, event, count)
    select last, 0, 'fleetApplied', 1 from counters where name = 'audit'";

/// The lists of devices have the changes of an older program once they are renewed, by this node
/// or by the next one that starts.
#[tokio::test]
async fn changes_by_an_older_program_reach_the_lists_of_devices() {
    let fixture = TestStore::with_fleet().await;
    let filled = DeviceEntry { aisles: Some(vec![aisle("1", "p", 1)]), ..bare_device("d1") };
    // More than one transaction renews.
    let mut devices: Vec<DeviceEntry> =
        (0..120).map(|number| device(&format!("k{number:03}"), "b")).collect();
    devices.push(filled);
    fixture.apply(Fleet { devices, ..Fleet::default() }).await.unwrap();
    let session = fixture.log_in("ops").await.unwrap();
    let before = aisles(&fixture, &session).await;
    let renew = async || fixture.store.renew_after_older_programs(NOW).await.unwrap();
    assert!(!renew().await, "this program has applied all fleets");

    apply_as_an_older_program(&fixture);
    assert_eq!(aisles(&fixture, &session).await, before, "cached");
    assert_ne!(fixture.store.verify().await.unwrap().differences, [""; 0]);
    let started = open(&fixture.data, None).await.unwrap();
    assert!(started.renew_after_older_programs(NOW).await.unwrap());
    let after = aisles(&fixture, &session).await;
    for part in ["\"Renamed\"", "777", "\"d9\"", "\"New\""] {
        assert!(after.contains(part) && !before.contains(part), "{part}: {after}");
    }
    assert_eq!(fixture.store.verify().await.unwrap().differences, [""; 0]);
    assert!(!renew().await, "once");

    fixture.tamper("update aisles set price = 888");
    fixture.tamper("update counters set last = last + 1 where name = 'audit'");
    fixture.tamper(RECORD);
    assert!(renew().await);
    assert!(aisles(&fixture, &session).await.contains("888"));
}
