//! On PostgreSQL, a change that failed because of a concurrent one is retried a few times; one that
//! failed for a separate cause is not.

use std::time::Duration;

use kiosque_model::ActedBy;
use kiosque_model::fleet::{DeviceEntry, Fleet};
use kiosque_store::{Applied, ApplyError, Error, NewHashes, Refused};
use kiosque_testkit::entries::{aisle, bare_device, device, moved, order};
use kiosque_testkit::{NOW, TestData, TestStore, clock_at, is_citus, sql};
use tokio::task::JoinHandle;

/// A serialization failure, a deadlock, and a key that was free a moment ago.
const IN_THE_WAY: [&str; 3] = ["40001", "40P01", "23505"];
/// The error of a custom trigger, and a value that a check of the layout refuses.
const ITS_OWN: [&str; 2] = ["P0001", "23514"];

/// The moment at which a change is refused.
const AT_ONCE: &str = "immediate";
const AT_THE_COMMIT: &str = "deferred";

/// A store that refuses this many inserts into a table.
async fn refusing(table: &str, code: &str, times: u32, when: &str) -> TestStore {
    let fixture = TestStore::with_fleet_on(TestData::postgres()).await;
    let refuse = sql(if is_citus() { "refuse_at_first_citus" } else { "refuse_at_first" });
    let refuse = refuse.replace("THE_TABLE", table).replace("'SQLSTATE'", &format!("'{code}'"));
    let refuse = refuse.replace("<= TIMES", &format!("<= {times}")).replace("WHEN", when);
    fixture.data.execute(&refuse);
    fixture
}

/// Returns the number of insertions, on all workers of a cluster.
fn tries(fixture: &TestStore) -> u32 {
    let tries = match is_citus() {
        true => {
            "select sum(result::int) as tries from run_command_on_workers(format(
                'select case when is_called then last_value else 0 end from %I.tries',
                current_schema()))"
        }
        false => "select last_value from tries",
    };
    fixture.query(tries)[0].parse().unwrap()
}

/// Returns whether a change is repeated that conflicts with another. Where the worker of a cluster
/// refuses a commit, the coordinator reports its own error, which is not a conflict.
fn is_repeated(when: &str) -> bool {
    when == AT_ONCE || !is_citus()
}

#[tokio::test]
async fn a_login_that_others_were_in_the_way_of_is_done_again() {
    for code in IN_THE_WAY {
        for when in [AT_ONCE, AT_THE_COMMIT] {
            let fixture = refusing("sessions", code, 3, when).await;
            if !is_repeated(when) {
                fixture.log_in("ops").await.unwrap_err();
                assert_eq!(tries(&fixture), 1, "{code}");
                for table in ["sessions", "audit where event = 'login'"] {
                    let rows = fixture.query(&format!("select * from {table}"));
                    assert_eq!(rows, [""; 0], "{code}");
                }
                continue;
            }
            let session = fixture.log_in("ops").await.unwrap();
            assert_eq!(tries(&fixture), 4, "{code}, {when}");
            fixture.switch(session, "b").await;
            let entries = fixture.query("select event from audit where event = 'login'");
            assert_eq!(entries.len(), 1, "{code}, {when}: recorded more than once");
        }
    }
}

/// Orders of two groups are stored in one transaction, once.
#[tokio::test]
async fn orders_that_others_were_in_the_way_of_are_taken_once() {
    for code in IN_THE_WAY {
        for when in [AT_ONCE, AT_THE_COMMIT] {
            let fixture = refusing("orders", code, 2, when).await;
            fixture.receive_new(vec![order("o1", "d1", 1), order("o2", "e1", 2)]).await;
            let kept = fixture.query("select order_id from orders order by order_id");
            assert_eq!(kept, ["o1", "o2"], "{code}, {when}");
            assert!(tries(&fixture) > 2, "{code}, {when}");
        }
    }
}

#[tokio::test]
async fn what_fails_for_a_cause_of_its_own_is_tried_once() {
    for code in ITS_OWN {
        for when in [AT_ONCE, AT_THE_COMMIT] {
            let fixture = refusing("sessions", code, 3, when).await;
            let refused = fixture.log_in("ops").await;
            match refused {
                Err(Refused::Store(Error::Postgres(error))) if is_repeated(when) => {
                    assert_eq!(error.code().unwrap().code(), code);
                }
                Err(Refused::Store(_)) if !is_repeated(when) => {}
                other => panic!("{code}, {when}: {other:?}"),
            }
            assert_eq!(tries(&fixture), 1, "{code}, {when}");
            assert_eq!(fixture.query("select * from sessions"), [""; 0], "{code}, {when}");
        }
    }
}

/// A change that always fails because of concurrent ones is given up.
#[tokio::test]
async fn a_change_that_others_are_always_in_the_way_of_is_given_up() {
    let fixture = refusing("sessions", "40001", 1_000, AT_ONCE).await;
    let refused = fixture.log_in("ops").await;
    assert!(matches!(refused, Err(Refused::Store(Error::Postgres(_)))), "{refused:?}");
    assert_eq!(tries(&fixture), 10);
    assert_eq!(fixture.query("select * from sessions"), [""; 0]);
}

/// Begins an apply, and waits until it waits for the lock of the aisles.
async fn apply_up_to_the_aisles(
    fixture: &TestStore,
    fleet: Fleet,
) -> JoinHandle<Result<Applied, ApplyError>> {
    let (store, by) = (fixture.store.clone(), ActedBy::command(NOW));
    let applying = tokio::spawn(async move {
        store.fleet().apply(fleet, NewHashes::new(), by, &clock_at(NOW)).await
    });
    let is_waiting = "select 1 from pg_locks where not granted
        and relation = 'aisles'::regclass";
    while fixture.query(is_waiting).is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    applying
}

/// An apply locks its groups last: while it writes the devices of a group, orders of that group are
/// stored. A statement that holds the aisles stops it there.
#[tokio::test]
async fn orders_are_stored_while_an_apply_writes_the_devices_of_their_group() {
    let fixture = TestStore::with_fleet_on(TestData::postgres()).await;
    let lock = fixture.data.hold("lock table aisles in exclusive mode").await;
    let aisles = Some(vec![aisle("1", "p", 3)]);
    let devices = vec![
        DeviceEntry { aisles, ..device("new", "a") },
        moved("d2", "b", None),
        DeviceEntry { enabled: Some(false), ..bare_device("d1") },
    ];
    let fleet = Fleet { devices, ..Fleet::default() };
    let applying = apply_up_to_the_aisles(&fixture, fleet).await;
    fixture.receive_new(vec![order("o1", "d1", 1), order("o2", "d2", 2)]).await;
    lock.release().await;
    let applied = applying.await.unwrap().unwrap();
    let devices = applied.counts.devices;
    assert_eq!((devices.created, devices.changed), (1, 2));
    fixture.check().await;
}

/// A move to a time that is past is refused if an order of that time is stored between its check
/// and its locks.
#[tokio::test]
async fn a_late_move_is_checked_again_under_the_locks() {
    let fixture = TestStore::with_fleet_on(TestData::postgres()).await;
    let lock = fixture.data.hold("lock table aisles in exclusive mode").await;
    let aisles = Some(vec![aisle("1", "p", 3)]);
    let moves = DeviceEntry { aisles, ..moved("d2", "b", Some(500)) };
    let fleet = Fleet { devices: vec![moves], ..Fleet::default() };
    let applying = apply_up_to_the_aisles(&fixture, fleet).await;
    fixture.receive_new(vec![order("o2", "d2", 500)]).await;
    lock.release().await;
    let Err(ApplyError::Invalid(errors)) = applying.await.unwrap() else { panic!("applied") };
    let error = errors[0].to_string();
    assert!(error.starts_with("device d2: since: group a has orders"), "{error}");
    assert_eq!(fixture.query("select count(*) from aisles"), ["0"]);
}
