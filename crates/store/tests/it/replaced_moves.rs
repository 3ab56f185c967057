//! A group that received orders of a device keeps them, and is found again, when the move by which
//! it would own the device is replaced or cancelled (SCOPE-6).

use kiosque_model::fleet::{DeviceEntry, Fleet};
use kiosque_model::order::Order;
use kiosque_model::{ActedBy, DeviceCode, UnixMs};
use kiosque_store::{DeleteError, DeviceOrders, History, Incoming, OrderOutcome};
use kiosque_testkit::entries::{bare_device, bare_order, group, group_id, order, rendered};
use kiosque_testkit::{NOW, TestStore};

const HOUR_MS: i64 = 3_600_000;
const MOVE: i64 = NOW.0 + 3 * HOUR_MS;
const AHEAD: i64 = NOW.0 + 5 * HOUR_MS;

fn moved(group: &str, since: Option<i64>) -> Fleet {
    let since = since.map(UnixMs);
    let entry = DeviceEntry { group: Some(group_id(group)), since, ..bare_device("d1") };
    Fleet { devices: vec![entry], ..Fleet::default() }
}

/// Returns data with a planned move of `d1` to `b`, which has order `ahead` of it, after the move
/// was replaced by one to `to`.
async fn replaced(to: &str, since: Option<i64>) -> TestStore {
    let fixture = TestStore::with_fleet().await;
    fixture.apply(Fleet { groups: vec![group("c")], ..Fleet::default() }).await.unwrap();
    fixture.apply(moved("b", Some(MOVE))).await.unwrap();
    fixture.receive_new(vec![order("ahead", "d1", AHEAD), order("d", "d2", AHEAD)]).await;
    fixture.apply(moved(to, since)).await.unwrap();
    fixture
}

fn groups_of(fixture: &TestStore) -> Vec<String> {
    fixture.query(
        "select o.order_id, g.group_id from orders o join groups g on g.group_no = o.group_no
            order by 1, 2",
    )
}

fn corrected(start: i64) -> Incoming {
    let order = bare_order("ahead", "d1", start);
    rendered(Order { pay_channel_name: Some("changed".to_owned()), ..order })
}

/// SCOPE-6: sent again, the order is found where it is stored, not stored a second time.
#[tokio::test]
async fn an_order_of_a_replaced_move_is_stored_once() {
    for (to, since) in [("a", None), ("c", None), ("c", Some(MOVE)), ("c", Some(MOVE - 1))] {
        let fixture = replaced(to, since).await;
        let again = vec![order("ahead", "d1", AHEAD), corrected(AHEAD), corrected(AHEAD)];
        let outcomes = fixture.receive(again).await;
        let expected = [OrderOutcome::Unchanged, OrderOutcome::Updated, OrderOutcome::Unchanged];
        assert_eq!(outcomes, expected, "{to} {since:?}");
        let other_start = fixture.receive(vec![corrected(NOW.0 - 7)]).await;
        let reason = "tradeStartTime: order ahead belongs to group b, and at this time to group \
                      a; an update may not change the owning group";
        assert_eq!(other_start, [OrderOutcome::Rejected(reason.to_owned())], "{to} {since:?}");
        assert_eq!(groups_of(&fixture), ["ahead|b", "d|a"], "{to} {since:?}");
        let later = UnixMs(AHEAD + HOUR_MS);
        let seen = fixture.list("b", "d1", History::Included, later).await;
        assert_eq!(seen.unwrap(), ["changed"]);
        assert_eq!(fixture.store.verify().await.unwrap().differences, [""; 0]);
    }
}

/// Lines of such an order stay in their order: they may belong to several groups.
#[tokio::test]
async fn orders_of_a_device_with_a_replaced_move_may_belong_to_several_groups() {
    let fixture = replaced("a", None).await;
    let groups = fixture.store.groups_by_device().await.unwrap();
    assert_eq!(["d1", "d2", "e1"].map(|code| groups.has_moved(code)), [true, false, false]);
    let latest = fixture.query("select group_no from groups where group_id = 'a'");
    assert_eq!(groups.latest("d1").unwrap().0.to_string(), latest[0]);
}

/// The operator sees them, and the device is not deleted with them.
#[tokio::test]
async fn a_device_with_orders_of_a_replaced_move_is_not_deleted() {
    let fixture = replaced("a", None).await;
    let code = || DeviceCode::parse("d1").unwrap();
    let before = fixture.rows();
    let refused = fixture.store.delete_device(code(), ActedBy::command(NOW)).await.unwrap_err();
    assert!(matches!(refused, DeleteError::HasOrders { orders: 1, .. }), "{refused}");
    assert_eq!(fixture.rows(), before);
    let detail = fixture.store.device_detail(code(), NOW).await.unwrap().unwrap();
    let owners: Vec<&str> = detail.owners.iter().map(|owner| owner.group_id.as_str()).collect();
    assert_eq!((owners, detail.device.order_count), (vec!["a"], 1));
    let ledgers = detail.ledgers.iter().map(|one| (one.group_id.as_str(), one.order_count));
    assert_eq!(ledgers.collect::<Vec<_>>(), [("a", 0), ("b", 1)]);
    let of = DeviceOrders {
        device: code(),
        group: None,
        span: None,
        card_end: None,
        after: None,
        limit: 9,
        read_max: 9,
    };
    let orders = fixture.store.latest_orders(of).await.unwrap().unwrap().orders;
    let ids = orders.iter().map(|one| (one.group_id.as_str(), one.record.head.order_id.as_str()));
    assert_eq!(ids.collect::<Vec<_>>(), [("b", "ahead")]);
}
