//! The owners of devices over time: the first known owner owns all earlier time, and a move takes
//! effect when it is applied, or at its `since` (SCOPE-6).

use std::collections::HashMap;
use std::sync::Arc;

use kiosque_contract::DatedMove;
use kiosque_model::fleet::{DeviceEntry, Fleet};
use kiosque_model::{GroupNo, UnixMs};
use kiosque_store::{History, Incoming};
use kiosque_testkit::entries::{self, bare_device, device, group, order};
use kiosque_testkit::{NOW, TestStore, no_owners};

fn moved(group: &str, since: Option<i64>) -> Fleet {
    Fleet { devices: vec![entries::moved("d1", group, since)], ..Fleet::default() }
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
    fixture.apply_devices(vec![entry]).await;
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
        assert_eq!(applied.counts.devices.changed, 1);
        let again = fixture.apply(moved("b", since)).await.unwrap();
        assert_eq!(again.counts.devices.unchanged, 1, "{since:?}: the same move again");
        let owners = owners(&fixture, &[0, split - 1, split, split + 1]).await;
        assert_eq!(owners, ["a", "a", "b", "b"], "{since:?}");
        fixture.check().await;
    }
}

/// SCOPE-6: a device is in the scope of every group that owns it or ever did, each with its own
/// orders, and in the scope of a future owner from its first order on.
#[tokio::test]
async fn a_device_is_in_scope_of_each_of_its_owners() {
    let fixture = TestStore::with_fleet().await;
    fixture.receive_new(vec![order("old", "d1", 10)]).await;
    assert_eq!(orders(&fixture, "b", NOW).await, None, "not yet");
    fixture.apply(moved("b", Some(NOW.0 + 100))).await.unwrap();
    assert_eq!(orders(&fixture, "b", NOW.plus_ms(99)).await, None, "not yet");
    assert_eq!(orders(&fixture, "b", NOW.plus_ms(100)).await.unwrap(), [""; 0]);
    fixture.receive_new(vec![order("new", "d1", NOW.0 + 100)]).await;
    assert_eq!(orders(&fixture, "b", NOW).await.unwrap(), ["new"]);
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
        let errors = fixture.errors(moved("b", Some(since))).await;
        let message = "device d1: since: group a has orders that started at or after it; \
                    a move takes effect after them";
        assert_eq!(errors, [message]);
    }
    fixture.apply(moved("b", Some(901))).await.unwrap();
    // Another move must follow the last one, whose time does not change.
    let errors = fixture.errors(moved("a", Some(901))).await;
    let message = "device d1: since: is not after 1970-01-01T00:00:00.901Z, when the device moved \
                   to group b";
    assert_eq!(errors, [message]);
    let errors = fixture.errors(moved("b", Some(950))).await;
    let message = "device d1: since: the device moved to group b at 1970-01-01T00:00:00.901Z, \
                which cannot be changed; omit since";
    assert_eq!(errors, [message]);
}

/// Without a `since`, a move takes effect now, whatever orders are dated ahead. They stay with
/// their group, and the device can move back.
#[tokio::test]
async fn orders_that_are_dated_ahead_delay_no_move() {
    let fixture = TestStore::with_fleet().await;
    fixture.receive_new(vec![order("ahead", "d1", NOW.0 + 500)]).await;
    let applied = fixture.apply(moved("b", None)).await.unwrap();
    assert_eq!(applied.dated_moves, []);
    let groups = owners(&fixture, &[NOW.0 - 1, NOW.0, NOW.0 + 499, NOW.0 + 501]).await;
    assert_eq!(groups, ["a", "b", "b", "b"]);
    assert_eq!(orders(&fixture, "a", NOW.plus_ms(900)).await.unwrap(), ["t999999", "ahead"]);
    let back = fixture.apply_at(moved("a", None), NOW.plus_ms(10)).await.unwrap();
    assert_eq!(back.counts.devices.changed, 1);
    fixture.receive_new(vec![order("back", "d1", NOW.0 + 10)]).await;
    assert_eq!(orders(&fixture, "a", NOW.plus_ms(900)).await.unwrap()[0], "back");
    fixture.check().await;
}

/// A move to a time that is past may be before orders that are dated ahead, and not before others.
#[tokio::test]
async fn a_past_since_follows_the_orders_until_now_alone() {
    let fixture = TestStore::with_fleet().await;
    fixture.receive_new(vec![order("o", "d1", 700), order("ahead", "d1", NOW.0 + 500)]).await;
    assert_eq!(fixture.errors(moved("b", Some(700))).await.len(), 1);
    fixture.apply(moved("b", Some(701))).await.unwrap();
    assert_eq!(owners(&fixture, &[700, 701, NOW.0 + 1]).await, ["a", "b", "b"]);
}

/// Returns the periods and the ledgers of `d1`.
fn periods(fixture: &TestStore) -> Vec<String> {
    let periods = "select g.group_id, o.since_ms, o.until_ms, o.listed
        from device_owners o join groups g on g.group_no = o.group_no
        where o.device_code = 'd1' order by o.since_ms";
    let ledgers = "select 'ledger', g.group_id, l.since_ms, l.last_seq
        from ledger l join groups g on g.group_no = l.group_no
        where l.device_code = 'd1' order by g.group_id";
    let mut rows = fixture.query(periods);
    rows.extend(fixture.query(ledgers));
    let last = i64::MAX.to_string();
    rows.into_iter().map(|row| row.replace(&last, "open")).collect()
}

/// A period that has not begun is replaced by the next move, and cancelled by a move to the present
/// owner. The group that does not become the owner does not get the device into its scope.
#[tokio::test]
async fn a_move_that_has_not_taken_effect_is_replaced() {
    let fixture = TestStore::with_fleet().await;
    let (soon, later) = (NOW.0 + 100, NOW.0 + 200);
    fixture.apply(moved("b", Some(later))).await.unwrap();
    let planned = |since: i64| {
        let until = format!("a|0|{since}|1");
        let next = format!("b|{since}|open|1");
        vec![until, next, "ledger|a|0|0".to_owned(), format!("ledger|b|{since}|0")]
    };
    assert_eq!(periods(&fixture), planned(later));
    for since in [soon, later] {
        fixture.apply(moved("b", Some(since))).await.unwrap();
        assert_eq!(periods(&fixture), planned(since), "earlier, then later");
    }
    let cancelled = fixture.apply(moved("a", None)).await.unwrap();
    assert_eq!((cancelled.counts.devices.changed, cancelled.dated_moves), (1, vec![]));
    assert_eq!(periods(&fixture), ["a|0|open|1", "ledger|a|0|0"]);
    assert_eq!(orders(&fixture, "b", NOW.plus_ms(900)).await, None);
    // Orders of the replaced period stay with their group.
    fixture.apply(moved("b", Some(soon))).await.unwrap();
    fixture.receive_new(vec![order("ahead", "d1", soon)]).await;
    fixture.apply(moved("a", None)).await.unwrap();
    let ledgers =
        ["a|0|open|1".to_owned(), "ledger|a|0|0".to_owned(), format!("ledger|b|{soon}|1")];
    assert_eq!(periods(&fixture), ledgers);
    assert_eq!(orders(&fixture, "b", NOW.plus_ms(900)).await.unwrap(), ["ahead"]);
    // Now instead of later.
    fixture.apply(moved("b", Some(later))).await.unwrap();
    fixture.apply(moved("b", None)).await.unwrap();
    let now = NOW.0;
    let ledgers = [format!("a|0|{now}|1"), format!("b|{now}|open|1"), "ledger|a|0|0".to_owned()];
    assert_eq!(periods(&fixture)[..3], ledgers);
    assert_eq!(orders(&fixture, "b", NOW).await.unwrap(), ["ahead"]);
    fixture.check().await;
}

/// The answer names each move that takes effect at another time than now.
#[tokio::test]
async fn a_dated_move_is_in_the_answer() {
    let fixture = TestStore::with_fleet().await;
    for since_timestamp in [NOW.0 + 100, 7] {
        let applied = fixture.apply(moved("b", Some(since_timestamp))).await.unwrap();
        let (device_code, group_id) = ("d1".to_owned(), "b".to_owned());
        assert_eq!(applied.dated_moves, [DatedMove { device_code, group_id, since_timestamp }]);
    }
    let again = fixture.apply(moved("b", Some(7))).await.unwrap();
    assert_eq!(again.dated_moves, []);
    let since = Some(at(500));
    let devices = vec![DeviceEntry { since, ..device("new", "a") }];
    let applied = fixture.apply_devices(devices).await;
    assert_eq!(applied.dated_moves, [], "the first owner owns all earlier time");
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
    fixture.check().await;
}

/// SCOPE-7: a device that is not enabled leaves lists and counts; its orders and its owner stay.
#[tokio::test]
async fn a_device_that_is_not_enabled_keeps_its_orders_and_its_owner() {
    let fixture = TestStore::with_fleet().await;
    fixture.receive_new(vec![order("o1", "d1", 10)]).await;
    let off = DeviceEntry { enabled: Some(false), ..bare_device("d1") };
    fixture.apply_devices(vec![off]).await;
    fixture.receive_new(vec![order("o2", "d1", 20)]).await;
    assert_eq!(orders(&fixture, "a", NOW).await.unwrap(), ["o2", "o1"]);
    let listed = "select device_code from device_owners where listed order by 1";
    assert_eq!(fixture.query(listed), ["d2", "e1"]);
    fixture.apply(moved("b", None)).await.unwrap();
    assert_eq!(fixture.query(listed), ["d2", "e1"], "a move does not enable it");
}

/// Orders of different groups can be stored in separate transactions, except for the orders of a
/// device that moved, and of all groups of that device.
#[tokio::test]
async fn orders_of_a_device_that_moved_are_not_separated_from_those_of_its_groups() {
    let fixture = TestStore::with_fleet().await;
    let groups = vec![group("c"), group("d")];
    let devices = vec![device("c1", "c"), device("d9", "d"), device("m", "d")];
    fixture.apply(Fleet { groups, devices, ..Fleet::default() }).await.unwrap();
    let move_to_b = entries::moved("m", "b", None);
    fixture.apply_devices(vec![move_to_b]).await;
    let ids = fixture.query("select group_no, group_id from groups");
    let split = |row: &String| row.split_once('|').map(|(no, id)| (no.to_owned(), id.to_owned()));
    let ids: HashMap<String, String> = ids.iter().filter_map(split).collect();
    let owners = no_owners();
    for (codes, separated) in [
        (&["d1", "d2", "e1", "c1", "d9"][..], "a a b c d"),
        (&["d1", "d9", "m", "e1", "c1"], "a b b b c"),
        (&["d1", "x", "m"], "a - b"),
    ] {
        let batch: Vec<Incoming> = codes.iter().map(|code| order("o", code, 1)).collect();
        let groups =
            fixture.store.intake().separable_groups(&owners, &Arc::new(batch)).await.unwrap();
        let name = |group: GroupNo| ids[&group.0.to_string()].as_str();
        let names: Vec<&str> = groups.into_iter().map(|one| one.map_or("-", name)).collect();
        assert_eq!(names.join(" "), separated, "{codes:?}");
    }
}
