//! Searches of the operator for devices and orders: each match is found once, in parts of any
//! size.

use kiosque_model::fleet::{DeviceEntry, Fleet, GroupEntry};
use kiosque_model::order::{Order, PayStatus, ShipmentStatus};
use kiosque_model::{Day, DeviceCode, DeviceState, UnixMs};
use kiosque_store::{
    DeviceOrders, DeviceSearch, Incoming, Listing, NumberedOrders, OnlineSince, OrderFilter,
    OrderPosition, OrdersOf, SaleTimes, Span,
};
use kiosque_testkit::entries::{
    bare_device, bare_order, beat, device, group, group_id, order, rendered, sale, sold, trade_no,
};
use kiosque_testkit::{NOW, TestStore};

use crate::inventory;

const ONLINE: OnlineSince = OnlineSince(UnixMs(NOW.0 - 600_000));

fn code(text: &str) -> DeviceCode {
    DeviceCode::parse(text).unwrap()
}

fn search(text: &str, state: Option<DeviceState>, group: Option<&str>) -> DeviceSearch {
    DeviceSearch {
        only: None,
        group: group.map(group_id),
        text: text.to_owned(),
        state,
        online: ONLINE,
        first_day: Day(0),
        last_day: Day(1),
        read_max: 10,
    }
}

/// Returns the codes of the devices that a search finds, in parts of a size.
async fn found(fixture: &TestStore, search: &DeviceSearch, limit: usize) -> Vec<String> {
    let (mut codes, mut after) = (Vec::new(), None);
    loop {
        let listing = Listing { after, limit };
        let part =
            fixture.store.inventory().search_devices(search.clone(), listing, NOW).await.unwrap();
        assert!(part.devices.len() <= limit && !part.is_cut);
        codes.extend(part.devices.into_iter().map(|device| device.item.device_code));
        match part.next {
            Some(next) => after = Some(next),
            None => return codes,
        }
    }
}

#[tokio::test]
async fn devices_are_found_by_text_state_and_group() {
    let fixture = TestStore::with_fleet().await;
    let named = |code: &str, name: &str, group: &str| DeviceEntry {
        name: Some(name.to_owned()),
        ..device(code, group)
    };
    let disabled = DeviceEntry { enabled: Some(false), ..device("x1", "a") };
    let devices = vec![named("q1", "Quai Été", "a"), named("q2", "Ropewalk", "b"), disabled];
    fixture.apply(Fleet { devices, ..Fleet::default() }).await.unwrap();
    let beats = ["q1", "e1"].map(|device| beat(device, NOW));
    fixture.store.intake().record_heartbeats(beats.to_vec()).await.unwrap();
    for (text, state, group, expected) in [
        ("", None, None, &["d1", "d2", "e1", "q1", "q2", "x1"][..]),
        ("été", None, None, &["q1"]),
        ("Q", None, None, &["q1", "q2"]),
        ("rope", None, Some("a"), &[]),
        ("", Some(DeviceState::Online), None, &["e1", "q1"]),
        ("", Some(DeviceState::Silent), Some("a"), &["d1", "d2"]),
        ("", Some(DeviceState::Disabled), None, &["x1"]),
        ("", None, Some("b"), &["e1", "q2"]),
        ("", None, Some("none"), &[]),
    ] {
        for limit in [1, 2, 50] {
            let wanted = search(text, state, group);
            assert_eq!(found(&fixture, &wanted, limit).await, expected, "{wanted:?} by {limit}");
        }
    }
}

/// A device of a deactivated group is not the same as one that is disabled itself.
#[tokio::test]
async fn devices_of_a_deactivated_group_are_a_state_of_their_own() {
    let fixture = TestStore::with_fleet().await;
    let disabled = DeviceEntry { enabled: Some(false), ..device("x1", "b") };
    let closed = GroupEntry { active: Some(false), ..group("b") };
    let fleet = Fleet { groups: vec![closed], devices: vec![disabled], ..Fleet::default() };
    fixture.apply(fleet).await.unwrap();
    for (state, expected) in [
        (DeviceState::GroupDisabled, &["e1"][..]),
        (DeviceState::Disabled, &["x1"]),
        (DeviceState::Silent, &["d1", "d2"]),
    ] {
        let wanted = search("", Some(state), None);
        assert_eq!(found(&fixture, &wanted, 50).await, expected, "{state:?}");
    }
}

/// Devices beyond those that one part may read are found by the next parts.
#[tokio::test]
async fn a_search_for_a_rare_device_goes_on_in_the_next_part() {
    let fixture = TestStore::with_fleet().await;
    let wanted = DeviceSearch { read_max: 2, ..search("E1", None, None) };
    let part = |after| {
        fixture.store.inventory().search_devices(wanted.clone(), Listing { after, limit: 50 }, NOW)
    };
    let first = part(None).await.unwrap();
    assert!(first.is_cut && first.devices.is_empty());
    assert_eq!(first.next.as_deref(), Some("d2"));
    let second = part(first.next).await.unwrap();
    assert_eq!(second.devices[0].item.device_code, "e1");
    assert!(!second.is_cut && second.next.is_none());
}

fn with_numbers(id: &str, device: &str, out: &str, card: &str) -> Incoming {
    let order = Order { card_number: Some(card.to_owned()), ..bare_order(id, device, 10) };
    let trade_no_in = trade_no(&format!("in-{id}"));
    Incoming { trade_no: trade_no(out), trade_no_in, ..rendered(order) }
}

async fn ids(fixture: &TestStore, of: &DeviceOrders, limit: usize) -> Vec<String> {
    let (mut ids, mut after): (Vec<String>, Option<OrderPosition>) = (Vec::new(), None);
    loop {
        let of = DeviceOrders { after, limit, ..of.clone() };
        let part = fixture.store.inventory().latest_orders(of).await.unwrap().expect("a device");
        assert!(part.orders.len() <= limit);
        ids.extend(part.orders.into_iter().map(|order| order.record.head.order_id));
        match part.next {
            Some(next) => after = Some(next),
            None => return ids,
        }
    }
}

#[tokio::test]
async fn orders_of_a_device_are_listed_with_all_owners() {
    let fixture = TestStore::with_fleet().await;
    let of_a: Vec<Incoming> = (0..5).map(|at| order(&format!("a{at}"), "d1", at * 100)).collect();
    fixture.receive_new(of_a).await;
    fixture.store.upkeep().archive(UnixMs(250), NOW).await.unwrap();
    let moved =
        DeviceEntry { group: Some(group_id("b")), since: Some(UnixMs(500)), ..bare_device("d1") };
    fixture.apply(Fleet { devices: vec![moved], ..Fleet::default() }).await.unwrap();
    fixture.receive_new(vec![order("b0", "d1", 600), order("b1", "d1", 550)]).await;
    fixture.receive_new(vec![with_numbers("d2", "d2", "out", "**** 1234")]).await;
    let all = DeviceOrders {
        device: code("d1"),
        group: None,
        filter: OrderFilter::default(),
        card_end: None,
        after: None,
        limit: 0,
        read_max: 100,
    };
    let (start, end) = (UnixMs(100), UnixMs(600));
    let in_span = DeviceOrders {
        filter: OrderFilter { counted: Some(Span { start, end }), ..OrderFilter::default() },
        ..all.clone()
    };
    let of_b = DeviceOrders { group: Some(group_id("b")), ..all.clone() };
    let by_card = |end: &str| DeviceOrders {
        device: code("d2"),
        card_end: Some(end.to_owned()),
        ..all.clone()
    };
    for limit in [1, 2, 3, 50] {
        let listed = ids(&fixture, &all, limit).await;
        assert_eq!(listed, ["b1", "b0", "a4", "a3", "a2", "a1", "a0"], "by {limit}");
        assert_eq!(ids(&fixture, &in_span, limit).await, ["b1", "a4", "a3", "a2", "a1"]);
        assert_eq!(ids(&fixture, &of_b, limit).await, ["b1", "b0"]);
        assert_eq!(ids(&fixture, &by_card("1234"), limit).await, ["d2"]);
        assert_eq!(ids(&fixture, &by_card("1235"), limit).await, [""; 0]);
        // Parts that end after each record that was read have the same orders together.
        let cut = DeviceOrders { read_max: 1, ..all.clone() };
        assert_eq!(ids(&fixture, &cut, limit).await, listed, "by {limit}");
    }
    let first = DeviceOrders { limit: 50, ..all.clone() };
    let part = fixture.store.inventory().latest_orders(first).await.unwrap().expect("a device");
    let archived: Vec<bool> = part.orders.iter().map(|order| order.archived).collect();
    assert_eq!(archived, [false, false, false, false, true, true, true]);
    let unknown = DeviceOrders { device: code("none"), ..all };
    assert!(fixture.store.inventory().latest_orders(unknown).await.unwrap().is_none());
}

#[tokio::test]
async fn orders_are_found_by_each_of_their_numbers() {
    let fixture = TestStore::with_fleet().await;
    fixture
        .receive_new(vec![
            with_numbers("one", "d1", "out", "1"),
            with_numbers("two", "e1", "out", "1"),
            order("three", "d1", 20),
        ])
        .await;
    let shown = async |number: &str, group: Option<&str>| {
        let of = OrdersOf { group: group.map(group_id), ..OrdersOf::default() };
        let number = number.to_owned();
        let by = NumberedOrders { number, of, limit: 50, ..NumberedOrders::default() };
        let found = fixture.store.inventory().orders_by_number(by).await.unwrap().unwrap();
        assert!(!found.is_cut);
        let shown = |order: &kiosque_contract::inventory::OrderItem| {
            format!("{}/{}", order.group_id, order.record.head.order_id)
        };
        let mut shown: Vec<String> = found.orders.iter().map(shown).collect();
        shown.sort();
        shown
    };
    assert_eq!(shown("one", None).await, ["a/one"]);
    assert_eq!(shown("in-two", None).await, ["b/two"]);
    assert_eq!(shown("out", None).await, ["a/one", "b/two"]);
    assert_eq!(shown("out", Some("b")).await, ["b/two"]);
    assert_eq!(shown("one", Some("b")).await, [""; 0]);
    assert_eq!(shown("none", None).await, [""; 0]);
    assert_eq!(shown("a\0b", None).await, [""; 0]);
    // An order without an internal number has one that is derived from its id.
    let derived = kiosque_store::derived_trade_no_in("three");
    assert_eq!(shown(&derived, None).await, ["a/three"]);
}

/// Orders with one trade number are selected before they are limited, and a result that may lack
/// some says so.
#[tokio::test]
async fn orders_with_a_number_are_selected_before_they_are_limited() {
    use PayStatus::{Paid, Unpaid};
    use ShipmentStatus::{Failed, None as Unshipped};
    let fixture = TestStore::with_fleet().await;
    let numbered = |id: &str, device: &str, start, states| Incoming {
        trade_no: trade_no("out"),
        ..with_states(id, device, start, states)
    };
    let latest = [("a0", 100), ("a1", 200), ("a2", 300), ("a3", 400)];
    let mut orders: Vec<Incoming> =
        latest.map(|(id, start)| numbered(id, "d1", start, (Unpaid, Unshipped))).into();
    orders.push(numbered("late", "d2", 50, (Paid, Failed)));
    orders.push(with_numbers("card", "d1", "out", "**** 1234"));
    orders.push(numbered("b0", "e1", 5, (Unpaid, Unshipped)));
    fixture.receive_new(orders).await;
    let found = async |by: NumberedOrders| {
        let by = NumberedOrders { number: "out".to_owned(), ..by };
        let found = fixture.store.inventory().orders_by_number(by).await.unwrap()?;
        assert_eq!(found.next, None);
        let ids = found.orders.into_iter().map(|order| order.record.head.order_id);
        Some((ids.collect::<Vec<_>>().join(" "), found.is_cut))
    };
    let all = OrdersOf::default;
    let of_device = |device| OrdersOf { device: Some(code(device)), ..all() };
    let of_group = || OrdersOf { group: Some(group_id("b")), ..all() };
    let filtered = |filter| OrdersOf { filter, ..all() };
    let failed = || filtered(OrderFilter { shipment: vec![Failed], ..OrderFilter::default() });
    let early = Span { start: UnixMs(0), end: UnixMs(60) };
    let early = || filtered(OrderFilter { counted: Some(early), ..OrderFilter::default() });
    for (of, card_end, limit, read_max, expected) in [
        (all(), None, 7, 0, ("a3 a2 a1 a0 late card b0", false)),
        (all(), None, 6, 0, ("a3 a2 a1 a0 late card", true)),
        (of_device("d2"), None, 1, 0, ("late", false)),
        (of_device("d1"), None, 2, 0, ("a3 a2", true)),
        (of_group(), None, 1, 0, ("b0", false)),
        (failed(), None, 1, 7, ("late", false)),
        (failed(), None, 1, 3, ("", true)),
        (early(), None, 3, 7, ("late card b0", false)),
        (early(), None, 2, 7, ("late card", true)),
        (all(), Some("1234"), 1, 7, ("card", false)),
        (of_device("d2"), Some("1234"), 1, 7, ("", false)),
    ] {
        let card_end = card_end.map(str::to_owned);
        let by = NumberedOrders { of, card_end, limit, read_max, ..NumberedOrders::default() };
        let expected = Some((expected.0.to_owned(), expected.1));
        assert_eq!(found(by.clone()).await, expected, "{by:?}");
    }
    let unknown = NumberedOrders { of: of_device("none"), ..NumberedOrders::default() };
    assert_eq!(found(unknown).await, None);
}

fn paid(id: &str, at: i64) -> Incoming {
    sold(order(id, "d1", at), sale(at, "EUR", &[("p", 1, 5)]))
}

#[tokio::test]
async fn the_times_of_sales_are_those_of_the_latest_orders() {
    let fixture = TestStore::with_fleet().await;
    fixture.receive_new((0..2_000).map(|at| paid(&format!("o{at}"), at)).collect()).await;
    fixture.receive_new(vec![order("unpaid", "d1", 5_000)]).await;
    let times =
        async |from| fixture.store.inventory().sale_times(code("d1"), UnixMs(from)).await.unwrap();
    // The order before the latest 2,000 is in the span, too, or may be.
    let all = times(0).await;
    assert_eq!((all.times.len(), all.of_latest), (1_999, Some(2_000)));
    let later = times(1_990).await;
    assert_eq!((later.times.len(), later.of_latest), (10, None));
    let none = fixture.store.inventory().sale_times(code("none"), UnixMs(0)).await.unwrap();
    assert_eq!(none, SaleTimes::default());
}

fn with_states(
    id: &str,
    device: &str,
    start: i64,
    (payment, shipment): (PayStatus, ShipmentStatus),
) -> Incoming {
    let paid = !matches!(payment, PayStatus::Unpaid | PayStatus::Cancelled);
    rendered(Order {
        pay_status: payment,
        shipment_status: shipment,
        pay_end: paid.then_some(UnixMs(start + 5)),
        ..bare_order(id, device, start)
    })
}

/// Returns the ids of the orders of a filter, the newest first, in parts of a size.
async fn newest_first(
    fixture: &TestStore,
    group: Option<&str>,
    filter: &OrderFilter,
    limit: usize,
) -> Vec<String> {
    let (mut ids, mut after) = (Vec::new(), None);
    loop {
        let listing = Listing { after, limit };
        let inventory = fixture.store.inventory();
        let part = inventory.orders_newest_first(group.map(group_id), filter.clone(), listing);
        let part = part.await.unwrap();
        assert!(part.entries.len() <= limit);
        ids.extend(part.entries.into_iter().map(|order| order.record.head.order_id));
        match part.next {
            Some(next) => after = Some(next),
            None => return ids,
        }
    }
}

/// A list that no order of many groups is in ends, however often it reads on.
#[tokio::test]
async fn a_list_without_a_match_in_many_groups_ends() {
    const GROUPS: usize = 1_100;
    let fixture = TestStore::with_fleet().await;
    let fleet = Fleet {
        groups: (0..GROUPS).map(|at| group(&format!("g{at}"))).collect(),
        devices: (0..GROUPS).map(|at| device(&format!("k{at}"), &format!("g{at}"))).collect(),
        ..Fleet::default()
    };
    fixture.apply(fleet).await.unwrap();
    let sold = (PayStatus::Paid, ShipmentStatus::Success);
    let orders = (0..3 * GROUPS).map(|at| {
        let start = 100 + i64::try_from(at).unwrap();
        with_states(&format!("o{at}"), &format!("k{}", at % GROUPS), start, sold)
    });
    fixture.receive_new(orders.collect()).await;
    let filter = OrderFilter { shipment: vec![ShipmentStatus::Failed], ..OrderFilter::default() };
    assert_eq!(newest_first(&fixture, None, &filter, 2).await, [""; 0]);
}

/// Of each filter there is an order that it includes, and one of the same device that it does not.
#[tokio::test]
async fn orders_are_listed_by_state_and_time() {
    use PayStatus::{Cancelled, Paid, Refunded, Refunding, Unpaid};
    use ShipmentStatus::{Failed, None as Unshipped, Partial, Success};
    let fixture = TestStore::with_fleet().await;
    let orders = [
        ("sold", "d1", 100, (Paid, Success)),
        ("failed", "d1", 200, (Paid, Failed)),
        ("partial", "d2", 300, (Refunding, Partial)),
        // At the same time as the one before, in the other group.
        ("refunded", "e1", 300, (Refunded, Failed)),
        ("unpaid", "d1", 305, (Unpaid, Unshipped)),
        ("cancelled", "e1", 400, (Cancelled, Failed)),
        ("last", "d1", 400, (Paid, Unshipped)),
    ];
    let stored = orders.iter().map(|(id, device, start, of)| with_states(id, device, *start, *of));
    fixture.receive_new(stored.collect()).await;
    let filter = |payment: &[PayStatus], shipment: &[ShipmentStatus], span| OrderFilter {
        payment: payment.to_vec(),
        shipment: shipment.to_vec(),
        counted: Option::map(span, |(start, end)| Span { start: UnixMs(start), end: UnixMs(end) }),
    };
    let sold = [Paid, Refunding, Refunded];
    let all = ["last", "cancelled", "refunded", "partial", "unpaid", "failed", "sold"].as_slice();
    for (group, filter, expected) in [
        (None, OrderFilter::default(), all),
        (Some("b"), OrderFilter::default(), &["cancelled", "refunded"]),
        (
            None,
            filter(&[], &[Failed, Partial], None),
            &["cancelled", "refunded", "partial", "failed"],
        ),
        (None, filter(&sold, &[Failed, Partial], None), &["refunded", "partial", "failed"]),
        (Some("a"), filter(&sold, &[Failed], None), &["failed"]),
        (None, filter(&[Unpaid], &[], None), &["unpaid"]),
        (None, filter(&[Refunding, Refunded], &[], None), &["refunded", "partial"]),
        (None, filter(&[], &[Success], None), &["sold"]),
        // A sale counts at its payment, half open.
        (None, filter(&[], &[], Some((205, 305))), &["failed"]),
        (None, filter(&[], &[], Some((305, 306))), &["refunded", "partial", "unpaid"]),
        (Some("none"), OrderFilter::default(), &[]),
    ] {
        for limit in [1, 2, 3, 50] {
            let listed = newest_first(&fixture, group, &filter, limit).await;
            assert_eq!(listed, expected, "{group:?} {filter:?} by {limit}");
        }
        // The orders of each ledger, in the order of their arrival.
        let of = OrdersOf { group: group.map(group_id), device: None, filter: filter.clone() };
        for limit in [1, 3, 50] {
            let part = async |listing| fixture.store.inventory().orders(of.clone(), listing).await;
            let orders =
                inventory::all(limit, part).await.into_iter().map(|order| order.unwrap().item);
            let mut ids: Vec<String> = orders.map(|order| order.record.head.order_id).collect();
            let mut expected = expected.to_vec();
            expected.sort_unstable();
            ids.sort_unstable();
            assert_eq!(ids, expected, "{group:?} {filter:?} by {limit}");
        }
    }
    // A device lists its own orders.
    let of = DeviceOrders {
        device: code("d1"),
        group: None,
        filter: filter(&sold, &[Failed, Partial], Some((0, 300))),
        card_end: None,
        after: None,
        limit: 0,
        read_max: 100,
    };
    assert_eq!(ids(&fixture, &of, 50).await, ["failed"]);
}

/// An order whose states change is found by those that it has now.
#[tokio::test]
async fn an_order_that_is_refunded_moves_between_the_lists() {
    let fixture = TestStore::with_fleet().await;
    let order = |payment| with_states("o", "d1", 100, (payment, ShipmentStatus::Failed));
    fixture.receive_new(vec![order(PayStatus::Unpaid)]).await;
    for payment in [PayStatus::Paid, PayStatus::Refunding, PayStatus::Cancelled] {
        fixture.receive(vec![order(payment)]).await;
        for other in PayStatus::ALL {
            let filter = OrderFilter { payment: vec![*other], ..OrderFilter::default() };
            let listed = newest_first(&fixture, None, &filter, 5).await.len();
            assert_eq!(listed, usize::from(*other == payment), "{payment:?} {other:?}");
        }
    }
    assert_eq!(fixture.store.upkeep().verify().await.unwrap().differences, [""; 0]);
}
