//! How orders are stored: the same `orderId` in a group again is an update, and each order has a
//! `change_no` that grows within the group and changes in the transaction of the order's change.

use std::sync::Arc;

use kiosque_store::{BatchPart, History, Incoming, LockedGroups, OrderOutcome, ReceiveOptions};
use kiosque_testkit::entries::{moved, order, titled, trade_no};
use kiosque_testkit::{NOW, TestData, TestStore, no_owners};

fn rejected(reason: &str) -> OrderOutcome {
    OrderOutcome::Rejected(reason.to_owned())
}

/// Returns group, order, sequence, change number and trade start of each order.
fn kept(fixture: &TestStore) -> Vec<String> {
    fixture.query(
        "select g.group_id, o.order_id, o.seq, o.change_no, o.trade_start_ms
        from orders o join groups g on g.group_no = o.group_no order by g.group_id, o.order_id",
    )
}

/// ORD-3: an update keeps the order's sequence number. It takes the next `change_no`; an unchanged
/// order does not.
#[tokio::test]
async fn an_update_keeps_its_place_and_takes_the_next_change_number() {
    let fixture = TestStore::with_fleet().await;
    fixture.receive_new(vec![order("o1", "d1", 10), order("o2", "d1", 20)]).await;
    let changed = titled(order("o1", "d1", 15), "o1, changed");
    assert_eq!(fixture.receive(vec![changed.clone()]).await, [OrderOutcome::Updated]);
    assert_eq!(kept(&fixture), ["a|o1|1|3|15", "a|o2|2|2|20"]);
    let heads = fixture.list("a", "d1", History::Left, NOW).await.unwrap();
    assert_eq!(heads, ["o2", "o1, changed"]);
    // The same order again changes nothing.
    let rows = fixture.rows();
    assert_eq!(
        fixture.receive(vec![changed, order("o2", "d1", 20)]).await,
        [const { OrderOutcome::Unchanged }; 2]
    );
    let session_aside = |rows: Vec<String>| {
        rows.into_iter().filter(|row| !row.starts_with("sessions")).collect::<Vec<_>>()
    };
    assert_eq!(session_aside(fixture.rows()), session_aside(rows));
}

/// A change of a column outside the record counts, too: two instants may have the same text, as in
/// the hour that a clock shows twice.
#[tokio::test]
async fn a_change_that_the_record_does_not_show_is_an_update() {
    let fixture = TestStore::with_fleet().await;
    fixture.receive_new(vec![order("o1", "d1", 10)]).await;
    let later = order("o1", "d1", 11);
    assert_eq!(fixture.receive(vec![later.clone()]).await, [OrderOutcome::Updated]);
    assert_eq!(kept(&fixture), ["a|o1|1|2|11"]);
    let named = Incoming { trade_no: trade_no("T"), ..later.clone() };
    assert_eq!(fixture.receive(vec![named.clone()]).await, [OrderOutcome::Updated]);
    let numbered = Incoming { trade_no_in: trade_no("I"), ..named.clone() };
    assert_eq!(fixture.receive(vec![numbered]).await, [OrderOutcome::Updated]);
    assert_eq!(
        fixture.receive(vec![named]).await,
        [OrderOutcome::Unchanged],
        "the inner number stays"
    );
    assert_eq!(fixture.query("select trade_no, trade_no_in, change_no from orders"), ["T|I|4"]);
}

/// ORD-11: `tradeNoIn` is unique in a group. It stays when an update leaves it out.
#[tokio::test]
async fn an_inner_number_stays_and_is_of_one_order() {
    let fixture = TestStore::with_fleet().await;
    let numbered = |id: &str, device: &str, text: &str| Incoming {
        trade_no_in: trade_no(text),
        ..order(id, device, 10)
    };
    fixture.receive_new(vec![numbered("o1", "d1", "I-1"), numbered("o2", "d2", "I-2")]).await;
    fixture.receive_new(vec![numbered("f1", "e1", "I-1"), order("o3", "d1", 10)]).await;
    let taken = rejected("tradeNoIn: order o1 has I-1 already");
    let derived = rejected("tradeNoIn: oid:x is the derived number of another order");
    for (incoming, outcome) in [
        (numbered("o1", "d1", "I-1"), OrderOutcome::Unchanged),
        (order("o1", "d1", 10), OrderOutcome::Unchanged),
        (numbered("o4", "d1", "I-1"), taken.clone()),
        (numbered("o2", "d2", "I-1"), taken.clone()),
        (numbered("o3", "d1", "I-1"), taken),
        (numbered("o4", "d1", "oid:x"), derived),
        (numbered("o2", "d2", "I-3"), OrderOutcome::Updated),
        (numbered("o4", "d1", "I-2"), OrderOutcome::Accepted),
    ] {
        let message = format!("{incoming:?}");
        assert_eq!(fixture.receive(vec![incoming]).await, [outcome], "{message}");
    }
    // Within one batch, too; a rejected order leaves the others alone.
    let batch = vec![numbered("n1", "d1", "N"), numbered("n2", "d1", "N"), order("n3", "d1", 10)];
    let taken = rejected("tradeNoIn: order n1 has N already");
    assert_eq!(
        fixture.receive(batch).await,
        [OrderOutcome::Accepted, taken, OrderOutcome::Accepted]
    );
    fixture.check().await;
}

/// A number that an order gave up is free at once, for a new order as for a known one.
#[tokio::test]
async fn internal_trade_numbers_are_exchanged_within_a_batch() {
    let fixture = TestStore::with_fleet().await;
    let numbered =
        |id: &str, text: &str| Incoming { trade_no_in: trade_no(text), ..order(id, "d1", 10) };
    fixture.receive_new(vec![numbered("o1", "I-1"), numbered("o2", "I-2")]).await;
    let batch = [("o1", "I-3"), ("o2", "I-1"), ("o1", "I-2"), ("o3", "I-3"), ("o3", "I-4")];
    let batch = batch.map(|(id, text)| numbered(id, text)).into_iter();
    let changed = OrderOutcome::Updated;
    let outcomes = fixture.receive(batch.chain([numbered("o4", "I-3")]).collect()).await;
    let want =
        [&changed, &changed, &changed, &OrderOutcome::Accepted, &changed, &OrderOutcome::Accepted];
    assert_eq!(outcomes.iter().collect::<Vec<_>>(), want);
    let numbers = fixture.query("select order_id, trade_no_in from orders order by order_id");
    assert_eq!(numbers, ["o1|I-2", "o2|I-1", "o3|I-4", "o4|I-3"]);
    fixture.check().await;
}

/// An order that started ahead of a move, by the clock of its device, keeps its group when its
/// payment comes: the move takes effect when it is applied, and orders stay where they are.
#[tokio::test]
async fn an_order_from_ahead_of_a_move_is_updated_in_its_group() {
    let fixture = TestStore::with_fleet().await;
    let ahead = NOW.0 + 2_000;
    fixture.receive_new(vec![order("o1", "d1", ahead)]).await;
    fixture.apply_devices(vec![moved("d1", "b", None)]).await;
    let paid = titled(order("o1", "d1", ahead), "o1, paid");
    let batch = vec![paid.clone(), order("o2", "d1", ahead)];
    assert_eq!(fixture.receive(batch).await, [OrderOutcome::Updated, OrderOutcome::Accepted]);
    assert_eq!(fixture.receive(vec![paid]).await, [OrderOutcome::Unchanged]);
    assert_eq!(kept(&fixture), [format!("a|o1|1|2|{ahead}"), format!("b|o2|1|1|{ahead}")]);
    fixture.check().await;
}

/// Lines of one order that fall into the times of two owners are decided in their order, also when
/// they share a batch.
#[tokio::test]
async fn an_order_stays_with_the_group_of_its_first_line() {
    let fixture = TestStore::with_fleet().await;
    for (device, group) in [("d1", "b"), ("e1", "a")] {
        fixture.apply_devices(vec![moved(device, group, Some(100))]).await;
    }
    for (id, device, [first, second], [owner, other]) in [
        ("o1", "d1", [10, 100], ["a", "b"]),
        ("o2", "d1", [100, 10], ["b", "a"]),
        ("o3", "e1", [10, 100], ["b", "a"]),
        ("o4", "e1", [100, 10], ["a", "b"]),
    ] {
        let reason = format!(
            "tradeStartTime: order {id} belongs to group {owner}, and at this time to group \
             {other}; an update may not change the owning group"
        );
        let batch = vec![order(id, device, first), order(id, device, second)];
        assert_eq!(
            fixture.receive(batch).await,
            [OrderOutcome::Accepted, rejected(&reason)],
            "{id}"
        );
    }
    fixture.check().await;
}

/// Sorted orders that depend on lines before them are left undecided, and so are all orders that
/// follow them in the order of their lines.
#[tokio::test]
async fn sorted_orders_that_depend_on_earlier_lines_are_deferred() {
    let fixture = TestStore::with_fleet().await;
    let numbered =
        |id: &str, text: &str| Incoming { trade_no_in: trade_no(text), ..order(id, "d1", 10) };
    fixture.receive_new(vec![numbered("o1", "I-1"), order("o2", "d1", 10)]).await;
    let batch = vec![
        numbered("o3", "I-1"),
        numbered("o1", "I-2"),
        numbered("o2", "I-3"),
        numbered("o4", "oid:x"),
        order("o5", "d1", 10),
        order("o6", "d1", 10),
        order("o7", "d1", 10),
    ];
    let receive = async |sorted, orders_max| {
        let parts = vec![BatchPart { orders: 0..7, sorted, orders_max, arrival: None }];
        let options = ReceiveOptions { parts, ..ReceiveOptions::at(NOW) };
        let batch = Arc::new(batch.clone());
        fixture.store.intake().receive(batch, no_owners(), options).await.unwrap().outcomes
    };
    let derived = rejected("tradeNoIn: oid:x is the derived number of another order");
    let taken = rejected("tradeNoIn: order o1 has I-1 already");
    let [accepted, updated, unchanged, deferred, rest] = [
        OrderOutcome::Accepted,
        OrderOutcome::Updated,
        OrderOutcome::Unchanged,
        OrderOutcome::Deferred,
        OrderOutcome::NotReached,
    ];
    for (sorted, orders_max, want) in [
        (5, 7, [&deferred, &deferred, &updated, &derived, &accepted, &rest, &rest]),
        (7, 6, [&deferred, &deferred, &unchanged, &derived, &unchanged, &accepted, &rest]),
        (0, 2, [&taken, &updated, &rest, &rest, &rest, &rest, &rest]),
        (0, 7, [&accepted, &unchanged, &unchanged, &derived, &unchanged, &unchanged, &accepted]),
    ] {
        let outcomes = receive(sorted, orders_max).await;
        assert_eq!(outcomes.iter().collect::<Vec<_>>(), want, "{sorted} sorted, {orders_max}");
    }
    fixture.check().await;
}

/// The orders of a group that another transaction has locked are left, including the orders of a
/// device that moved out of it or into it; all others are stored without waiting.
#[tokio::test]
async fn orders_of_a_locked_group_are_left() {
    let fixture = TestStore::with_fleet_on(TestData::postgres()).await;
    fixture.apply_devices(vec![moved("d2", "b", Some(100))]).await;
    let batch = Arc::new(vec![
        order("o1", "d1", 1),
        order("o2", "e1", 1),
        order("o3", "d2", 200),
        order("o4", "x", 1),
    ]);
    let parts = vec![BatchPart { orders: 0..4, sorted: 4, orders_max: 4, arrival: None }];
    let locked_groups = LockedGroups::Skip;
    let options = ReceiveOptions { now: NOW, locked_groups, parts };
    let receive = async || {
        let (batch, options) = (Arc::clone(&batch), options.clone());
        fixture.store.intake().receive(batch, no_owners(), options).await.unwrap().outcomes
    };
    let unknown = rejected("deviceCode: no device x is known");
    let (accepted, locked) = (OrderOutcome::Accepted, OrderOutcome::GroupLocked);
    let held = fixture.data.lock_group("a").await;
    let outcomes = receive().await;
    assert_eq!(outcomes.iter().collect::<Vec<_>>(), [&locked, &accepted, &locked, &unknown]);
    held.release().await;
    let outcomes = receive().await;
    let unchanged = OrderOutcome::Unchanged;
    assert_eq!(outcomes.iter().collect::<Vec<_>>(), [&accepted, &unchanged, &accepted, &unknown]);
}

/// An order of a device that moved waits for a group that another transaction has locked. So do the
/// orders that follow it in the order of their lines, although their groups are not locked: one of
/// them may free its internal trade number.
#[tokio::test]
async fn orders_by_line_do_not_overtake_one_that_waits_for_a_lock() {
    let fixture = TestStore::with_fleet_on(TestData::postgres()).await;
    fixture.apply_devices(vec![moved("d2", "b", Some(100))]).await;
    let numbered = |id: &str, device: &str, text: &str| Incoming {
        trade_no_in: trade_no(text),
        ..order(id, device, 10)
    };
    fixture.receive_new(vec![numbered("o1", "d1", "I-1")]).await;
    let batch = Arc::new(vec![numbered("o2", "d2", "I-1"), numbered("o1", "d1", "I-2")]);
    let parts = vec![BatchPart { orders: 0..2, sorted: 0, orders_max: 2, arrival: None }];
    let options = ReceiveOptions { now: NOW, locked_groups: LockedGroups::Skip, parts };
    let receive = async || {
        let (batch, options) = (Arc::clone(&batch), options.clone());
        fixture.store.intake().receive(batch, no_owners(), options).await.unwrap().outcomes
    };
    let held = fixture.data.lock_group("b").await;
    assert_eq!(receive().await, [OrderOutcome::GroupLocked, OrderOutcome::NotReached]);
    held.release().await;
    let taken = rejected("tradeNoIn: order o1 has I-1 already");
    assert_eq!(receive().await, [taken, OrderOutcome::Updated]);
}

/// DEV-7: an order is activity at the start of its trade, in the group that it belongs to; one in
/// the future counts as now.
#[tokio::test]
async fn an_order_is_activity() {
    let fixture = TestStore::with_fleet().await;
    let active = || fixture.query("select last_active_ms from ledger where device_code = 'd1'");
    assert_eq!(active(), ["null"]);
    for (id, at, last) in [("o1", 50, 50), ("o2", 40, 50), ("o3", NOW.0 + 9, NOW.0)] {
        fixture.receive_new(vec![order(id, "d1", at)]).await;
        assert_eq!(active(), [last.to_string()], "{id}");
    }
}
