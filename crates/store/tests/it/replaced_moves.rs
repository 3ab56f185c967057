//! A group that received orders of a device keeps them, and is found again, when the move by which
//! it would own the device is replaced or cancelled (SCOPE-6).

use std::sync::Arc;

use kiosque_model::fleet::Fleet;
use kiosque_model::order::Order;
use kiosque_model::{ActedBy, Day, DeviceCode, PageRequest, Refusal, UnixMs};
use kiosque_store::{
    DashboardQuery, DeleteError, DeviceOrders, DeviceQuery, History, Incoming, OnlineSince,
    OrderFilter, OrderOutcome, OrderPage, OrderQuery, ReceiveOptions, Refused, Span,
};
use kiosque_testkit::entries::{
    self, bare_order, first_devices, group, order, rendered, sale, sold, title,
};
use kiosque_testkit::{NOW, TestStore, no_owners};

const HOUR_MS: i64 = 3_600_000;
const MOVE: i64 = NOW.0 + 3 * HOUR_MS;
const AHEAD: i64 = NOW.0 + 5 * HOUR_MS;

fn moved(group: &str, since: Option<i64>) -> Fleet {
    Fleet { devices: vec![entries::moved("d1", group, since)], ..Fleet::default() }
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
        let (again, options) = (Arc::new(again), ReceiveOptions::at(NOW));
        let received = fixture.store.intake().receive(again, no_owners(), options).await.unwrap();
        let expected = [OrderOutcome::Unchanged, OrderOutcome::Updated, OrderOutcome::Unchanged];
        assert_eq!(received.outcomes, expected, "{to} {since:?}");
        let numbers = received.groups.iter().flatten().map(|group| group.0.to_string());
        let of_group = fixture.query("select group_no from groups where group_id = 'b'");
        assert_eq!(numbers.collect::<Vec<_>>(), vec![of_group[0].clone(); 3], "{to} {since:?}");
        let other_start = fixture.receive(vec![corrected(NOW.0 - 7)]).await;
        let reason = "tradeStartTime: order ahead belongs to group b, and at this time to group \
                      a; an update may not change the owning group";
        assert_eq!(other_start, [OrderOutcome::Rejected(reason.to_owned())], "{to} {since:?}");
        assert_eq!(groups_of(&fixture), ["ahead|b", "d|a"], "{to} {since:?}");
        let later = UnixMs(AHEAD + HOUR_MS);
        let seen = fixture.list("b", "d1", History::Included, later).await;
        assert_eq!(seen.unwrap(), ["changed"]);
        fixture.check().await;
    }
}

/// Lines of such an order stay in their order: they may belong to several groups.
#[tokio::test]
async fn orders_of_a_device_with_a_replaced_move_may_belong_to_several_groups() {
    let fixture = replaced("a", None).await;
    let groups = fixture.store.fleet().snapshot().await.unwrap().groups_by_device;
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
    let refused =
        fixture.store.fleet().delete_device(code(), ActedBy::command(NOW)).await.unwrap_err();
    assert!(matches!(refused, DeleteError::HasOrders { orders: 1, .. }), "{refused}");
    assert_eq!(fixture.rows(), before);
    let detail = fixture.store.inventory().device_detail(code(), NOW).await.unwrap().unwrap();
    let owners: Vec<&str> = detail.owners.iter().map(|owner| owner.group_id.as_str()).collect();
    assert_eq!((owners, detail.device.order_count), (vec!["a"], 1));
    let ledgers = detail.ledgers.iter().map(|one| (one.group_id.as_str(), one.order_count));
    assert_eq!(ledgers.collect::<Vec<_>>(), [("a", 0), ("b", 1)]);
    let of = DeviceOrders {
        device: code(),
        group: None,
        filter: OrderFilter::default(),
        card_end: None,
        after: None,
        limit: 9,
        read_max: 9,
    };
    let orders = fixture.store.inventory().latest_orders(of).await.unwrap().unwrap().orders;
    let ids = orders.iter().map(|one| (one.group_id.as_str(), one.record.head.order_id.as_str()));
    assert_eq!(ids.collect::<Vec<_>>(), [("b", "ahead")]);
}

/// Returns the text, or the refusal of a device that is out of scope.
fn text(answer: Result<String, Refused>) -> String {
    match answer {
        Ok(text) => text,
        Err(Refused::Refusal(Refusal::OutOfScope)) => "out of scope".to_owned(),
        Err(other) => panic!("{other:?}"),
    }
}

fn titles(page: OrderPage) -> String {
    let record = |json| serde_json::from_slice(json).unwrap();
    page.newest_first().map(|json| title(&record(json))).collect::<Vec<_>>().join(" ")
}

/// Returns what an account of `b` sees of a device now: the orders of its page, and of its page for
/// a span; the number of devices with its code; and the orders that the dashboards count for it.
async fn seen(fixture: &TestStore, code: &str) -> Vec<String> {
    let token = fixture.switch(fixture.log_in("ops").await.unwrap(), "b").await;
    let (store, claim) = (&fixture.store, || fixture.claim(&token));
    let mut seen = Vec::new();
    let (start, end) = (UnixMs(0), UnixMs(AHEAD + HOUR_MS));
    for history in [History::Left, History::Included] {
        for span in [None, Some(Span { start, end })] {
            let page = PageRequest::new(1, 10).unwrap();
            let query = OrderQuery { device: DeviceCode::parse(code).ok(), history, span, page };
            let orders = store.orders().page(claim(), query).await;
            seen.push(text(orders.map(titles)));
        }
    }
    let code = || Some(DeviceCode::parse(code));
    let listed = DeviceQuery { code: code(), ..first_devices(10) };
    let devices = store.reports().device_page(claim(), OnlineSince(NOW), listed).await;
    seen.push(text(devices.map(|(total, records)| {
        assert_eq!(records.iter().count(), 0);
        format!("{total} devices")
    })));
    let all = DashboardQuery { group: None, devices: code().into_iter().collect(), start, end };
    let summary = store.reports().summary(claim(), OnlineSince(NOW), all).await;
    seen.push(text(summary.map(|summary| format!("{} sold", summary.turnover.orders))));
    seen
}

/// SCOPE-6: a device is in the scope of a group as soon as the group has an order of it, before and
/// after the move is cancelled.
#[tokio::test]
async fn a_group_sees_the_orders_of_a_move_at_once() {
    let fixture = TestStore::with_fleet().await;
    fixture.apply(moved("b", Some(MOVE))).await.unwrap();
    assert_eq!(seen(&fixture, "d1").await, ["out of scope"; 6]);
    let sale = sale(AHEAD, "EUR", &[("p", 1, 5)]);
    fixture.receive_new(vec![sold(order("ahead", "d1", AHEAD), sale)]).await;
    let all = ["ahead", "ahead", "ahead", "ahead", "0 devices", "1 sold"];
    assert_eq!(seen(&fixture, "d1").await, all);
    let days = async || {
        let (code, day) = (DeviceCode::parse("d1").unwrap(), Day(AHEAD.div_euclid(24 * HOUR_MS)));
        fixture.store.reports().device_days(code, (day, day)).await.unwrap().len()
    };
    assert_eq!(days().await, 1);
    fixture.apply(moved("a", None)).await.unwrap();
    assert_eq!(seen(&fixture, "d1").await, all);
    assert_eq!(days().await, 1, "the operator sees its sales as well");
    assert_eq!(seen(&fixture, "d2").await, ["out of scope"; 6]);
}
