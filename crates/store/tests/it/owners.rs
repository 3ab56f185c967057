//! The owners of devices over time: the first known owner owns all earlier time, and a move takes
//! effect when it is applied, or at its `since` (SCOPE-6).

use kiosque_model::UnixMs;
use kiosque_model::fleet::{DeviceEntry, Fleet};
use kiosque_store::History;
use kiosque_testkit::entries::{bare_device, device, group_id, order};
use kiosque_testkit::{NOW, TestStore};

fn moved(group: &str, since: Option<i64>) -> Fleet {
    let since = since.map(UnixMs);
    let entry = DeviceEntry { group: Some(group_id(group)), since, ..bare_device("d1") };
    Fleet { devices: vec![entry], ..Fleet::default() }
}

fn at(ms: i64) -> UnixMs {
    UnixMs(ms)
}

async fn orders(fixture: &TestStore, group: &str, now: UnixMs) -> Option<Vec<String>> {
    fixture.list(group, "d1", History::Included, now).await
}

/// Returns the group to which an order of each millisecond belongs.
async fn owners(fixture: &TestStore, times: &[i64]) -> Vec<String> {
    let orders = times.iter().map(|ms| order(&format!("t{ms}"), "d1", *ms)).collect();
    fixture.receive_new(orders).await;
    let sql = "select g.group_id from orders o join groups g on g.group_no = o.group_no
        where o.order_id like 't%' order by o.trade_start_ms";
    fixture.query(sql)
}

/// The first owner owns all earlier time, whatever its `since`.
#[tokio::test]
async fn the_first_owner_owns_all_earlier_time() {
    let fixture = TestStore::with_fleet().await;
    let entry = DeviceEntry { since: Some(at(500)), ..device("d9", "a") };
    fixture.apply(Fleet { devices: vec![entry], ..Fleet::default() }).await.unwrap();
    fixture.receive_new(vec![order("o", "d9", 0), order("p", "d9", 499)]).await;
    let heads = fixture.list("a", "d9", History::Included, NOW).await.unwrap();
    assert_eq!(heads, ["p", "o"]);
}

/// A move takes effect at its `since` or when it is applied; the same move again changes nothing.
#[tokio::test]
async fn a_move_takes_effect_at_its_since_or_when_it_is_applied() {
    for (since, split) in [(Some(700), 700), (None, NOW.0), (Some(NOW.0 + 50), NOW.0 + 50)] {
        let fixture = TestStore::with_fleet().await;
        let applied = fixture.apply(moved("b", since)).await.unwrap();
        assert_eq!(applied.devices.changed, 1);
        let again = fixture.apply(moved("b", since)).await.unwrap();
        assert_eq!(again.devices.unchanged, 1, "{since:?}: the same move again");
        let owners = owners(&fixture, &[0, split - 1, split, split + 1]).await;
        assert_eq!(owners, ["a", "a", "b", "b"], "{since:?}");
        assert_eq!(fixture.store.verify().await.unwrap().differences, [""; 0]);
    }
}

/// SCOPE-6: a device is in the scope of every group that owns it or ever did, each with its own
/// orders, and not in that of a future owner.
#[tokio::test]
async fn a_device_is_in_scope_of_each_of_its_owners() {
    let fixture = TestStore::with_fleet().await;
    fixture.receive_new(vec![order("old", "d1", 10)]).await;
    assert_eq!(orders(&fixture, "b", NOW).await, None, "not yet");
    fixture.apply(moved("b", Some(NOW.0 + 100))).await.unwrap();
    fixture.receive_new(vec![order("new", "d1", NOW.0 + 100)]).await;
    assert_eq!(orders(&fixture, "b", NOW.plus_ms(99)).await, None, "not yet");
    let now = NOW.plus_ms(100);
    assert_eq!(orders(&fixture, "a", now).await.unwrap(), ["old"]);
    assert_eq!(orders(&fixture, "b", now).await.unwrap(), ["new"]);
}

/// A move never takes effect before orders that are stored already, so that each order stays with
/// its group.
#[tokio::test]
async fn a_move_back_over_kept_orders_is_refused() {
    let fixture = TestStore::with_fleet().await;
    fixture.receive_new(vec![order("o1", "d1", 100), order("o2", "d1", 900)]).await;
    for since in [50, 100, 101, 900] {
        let faults = fixture.faults(moved("b", Some(since))).await;
        let message = "device d1: since: group a has orders that started at or after it; \
                    a move takes effect after them";
        assert_eq!(faults, [message]);
    }
    fixture.apply(moved("b", Some(901))).await.unwrap();
    // Another move must follow the last one, whose time does not change.
    let faults = fixture.faults(moved("a", Some(901))).await;
    assert_eq!(faults, ["device d1: since: is not after the move to group b"]);
    let faults = fixture.faults(moved("b", Some(950))).await;
    let message = "device d1: since: the device moved to group b at another time, \
                which is not changed";
    assert_eq!(faults, [message]);
}

/// Without a `since`, a move takes effect after the stored orders, even those in the future.
#[tokio::test]
async fn a_move_leaves_orders_from_ahead_with_their_group() {
    let fixture = TestStore::with_fleet().await;
    fixture.receive_new(vec![order("ahead", "d1", NOW.0 + 500)]).await;
    fixture.apply(moved("b", None)).await.unwrap();
    let owners = owners(&fixture, &[NOW.0 + 499, NOW.0 + 501]).await;
    assert_eq!(owners, ["a", "b"]);
}

/// The sequence numbers of a device that returns to a group continue.
#[tokio::test]
async fn a_device_may_come_back() {
    let fixture = TestStore::with_fleet().await;
    fixture.receive_new(vec![order("o1", "d1", 10)]).await;
    fixture.apply(moved("b", Some(100))).await.unwrap();
    fixture.receive_new(vec![order("o2", "d1", 110)]).await;
    fixture.apply(moved("a", Some(200))).await.unwrap();
    fixture
        .receive_new(vec![order("o3", "d1", 210), order("o4", "d1", 150), order("o5", "d1", 50)])
        .await;
    assert_eq!(orders(&fixture, "a", NOW).await.unwrap(), ["o5", "o3", "o1"]);
    assert_eq!(orders(&fixture, "b", NOW).await.unwrap(), ["o4", "o2"]);
    let ledgers = "select g.group_id, l.last_seq from ledger l join groups g
        on g.group_no = l.group_no where l.device_code = 'd1' order by 1";
    assert_eq!(fixture.query(ledgers), ["a|3", "b|2"]);
    assert_eq!(fixture.store.verify().await.unwrap().differences, [""; 0]);
}

/// SCOPE-7: a device that is not enabled leaves lists and counts; its orders and its owner stay.
#[tokio::test]
async fn a_device_that_is_not_enabled_keeps_its_orders_and_its_owner() {
    let fixture = TestStore::with_fleet().await;
    fixture.receive_new(vec![order("o1", "d1", 10)]).await;
    let off = DeviceEntry { enabled: Some(false), ..bare_device("d1") };
    fixture.apply(Fleet { devices: vec![off], ..Fleet::default() }).await.unwrap();
    fixture.receive_new(vec![order("o2", "d1", 20)]).await;
    assert_eq!(orders(&fixture, "a", NOW).await.unwrap(), ["o2", "o1"]);
    let listed = "select device_code from device_owners where listed order by 1";
    assert_eq!(fixture.query(listed), ["d2", "e1"]);
    fixture.apply(moved("b", None)).await.unwrap();
    assert_eq!(fixture.query(listed), ["d2", "e1"], "a move does not enable it");
}
