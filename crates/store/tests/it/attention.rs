//! What needs the operator's attention: for each reason a device that is named, and one that is
//! not.

use std::collections::BTreeMap;

use kiosque_model::fleet::{Aisle, DeviceEntry, Fleet};
use kiosque_model::order::{Order, PayStatus, ShipmentStatus};
use kiosque_model::sales::FleetSales;
use kiosque_model::{Day, Minor, UnixMs};
use kiosque_store::{FleetSalesQuery, Incoming, OnlineSince, OrderOutcome};
use kiosque_testkit::entries::{aisle, bare_order, beat, device, group_id, moved, rendered};
use kiosque_testkit::{TestStore, receive_at};

/// Late enough that the first owner of a device has it since before the days that count.
const NOW: UnixMs = UnixMs(40 * 86_400_000 + 1_000_000);
const TODAY: Day = Day(NOW.0.div_euclid(86_400_000));

async fn ask(fixture: &TestStore, group: Option<&str>) -> FleetSales {
    let query = FleetSalesQuery {
        group: group.map(group_id),
        totals_from: TODAY,
        first_day: TODAY,
        last_day: TODAY,
        products_max: 0,
        online: OnlineSince(NOW),
        now: NOW,
    };
    fixture.store.reports().fleet_sales(query).await.unwrap().expect("groups")
}

/// Returns the codes of devices by the word of the reason.
fn named(sales: &FleetSales) -> BTreeMap<&'static str, Vec<&str>> {
    let needs = sales.attention.needs.iter();
    needs.map(|(need, codes)| (need.code(), codes.iter().map(String::as_str).collect())).collect()
}

async fn beat_of(fixture: &TestStore, devices: &[&str]) {
    let beats = devices.iter().map(|code| beat(code, NOW)).collect();
    assert_eq!(fixture.store.intake().record_heartbeats(beats).await.unwrap(), []);
}

async fn receive_new(fixture: &TestStore, orders: Vec<Incoming>) {
    let outcomes = receive_at(&fixture.store, orders, NOW).await;
    assert!(outcomes.iter().all(|outcome| *outcome == OrderOutcome::Accepted), "{outcomes:?}");
}

/// Returns a paid order whose trade started `days_ago` days before today.
fn paid(id: &str, code: &str, days_ago: i64, shipment: ShipmentStatus) -> Order {
    let at = (TODAY.0 - days_ago) * 86_400_000;
    Order {
        pay_status: PayStatus::Paid,
        pay_amount: Minor(100),
        shipment_status: shipment,
        pay_end: Some(UnixMs(at)),
        ..bare_order(id, code, at)
    }
}

#[tokio::test]
async fn aisles_that_are_broken_or_empty_are_named_apart() {
    let fixture = TestStore::with_fleet().await;
    let with = |code: &str, aisles: Vec<Aisle>| DeviceEntry {
        aisles: Some(aisles),
        ..device(code, if code == "e1" { "b" } else { "a" })
    };
    let devices = vec![
        with("d1", vec![aisle("1", "p", 0), Aisle { broken: true, ..aisle("2", "p", 0) }]),
        with("d2", vec![aisle("1", "p", 1), Aisle { enabled: false, ..aisle("2", "p", 0) }]),
        with("e1", vec![Aisle { broken: true, ..aisle("1", "p", 1) }]),
    ];
    fixture.apply_devices(devices).await;
    beat_of(&fixture, &["d1", "d2", "e1"]).await;
    let all = ask(&fixture, None).await;
    assert_eq!(
        named(&all),
        BTreeMap::from([("broken", vec!["d1", "e1"]), ("empty", vec!["d1"])]),
        "an aisle that is not enabled is neither"
    );
    let of_b = ask(&fixture, Some("b")).await;
    assert_eq!(named(&of_b), BTreeMap::from([("broken", vec!["e1"])]));
    let disabled = DeviceEntry { enabled: Some(false), ..device("e1", "b") };
    fixture.apply_devices(vec![disabled]).await;
    assert_eq!(named(&ask(&fixture, Some("b")).await), BTreeMap::new());
}

#[tokio::test]
async fn a_device_that_stopped_selling_is_named_while_it_is_online() {
    let fixture = TestStore::with_fleet().await;
    let mut orders: Vec<Order> = Vec::new();
    for (code, days) in [("d1", &[8, 15, 22, 29][..]), ("d2", &[1, 8, 15, 22, 29])] {
        for ago in days {
            let one = |number| {
                paid(&format!("{code}-{ago}-{number}"), code, *ago, ShipmentStatus::Success)
            };
            orders.extend((0..3).map(one));
        }
    }
    receive_new(&fixture, orders.into_iter().map(rendered).collect()).await;
    beat_of(&fixture, &["d1", "d2", "e1"]).await;
    assert_eq!(named(&ask(&fixture, None).await), BTreeMap::from([("unsold", vec!["d1"])]));
}

/// Moves `d1` to a group.
async fn move_to(fixture: &TestStore, group: &str, at: UnixMs) {
    let devices = vec![moved("d1", group, None)];
    fixture.apply_at(Fleet { devices, ..Fleet::default() }, at).await.unwrap();
}

/// Returns data in which `d1` sold on yesterday's weekday in each of the weeks before.
async fn sold_each_week() -> TestStore {
    let fixture = TestStore::with_fleet().await;
    sell_each_week(&fixture).await;
    fixture
}

async fn sell_each_week(fixture: &TestStore) {
    let orders = [8, 15, 22, 29].iter().flat_map(|ago| {
        (0..3).map(move |one| paid(&format!("{ago}-{one}"), "d1", *ago, ShipmentStatus::Success))
    });
    receive_new(fixture, orders.map(rendered).collect()).await;
}

/// Returns the same data, in which `d1` moved to group `b` at a time.
async fn moved_at(at: UnixMs) -> TestStore {
    let fixture = sold_each_week().await;
    move_to(&fixture, "b", at).await;
    beat_of(&fixture, &["d1", "d2", "e1"]).await;
    fixture
}

/// A device that moved is compared with its sales before, and is not expected to sell while it is
/// moved.
#[tokio::test]
async fn a_device_that_moved_is_expected_to_sell_from_the_second_day_on() {
    let yesterday = UnixMs((TODAY.0 - 1) * 86_400_000);
    for (at, found) in [
        (yesterday.plus_ms(-1), BTreeMap::from([("unsold", vec!["d1"])])),
        (yesterday, BTreeMap::new()),
        (NOW, BTreeMap::new()),
    ] {
        let fixture = moved_at(at).await;
        for group in [None, Some("b")] {
            assert_eq!(named(&ask(&fixture, group).await), found, "{at:?} {group:?}");
        }
        assert_eq!(named(&ask(&fixture, Some("a")).await), BTreeMap::new());
    }
}

/// A device that was in another group for some days, and sold there, has not stopped selling.
#[tokio::test]
async fn sales_in_an_earlier_group_count() {
    let day = |ago: i64| UnixMs((TODAY.0 - ago) * 86_400_000);
    let fixture = moved_at(day(3)).await;
    move_to(&fixture, "a", NOW).await;
    let shipments = (0..20).map(|one| paid(&format!("s{one}"), "d1", 8, ShipmentStatus::Success));
    let failed = (0..3).map(|one| paid(&format!("f{one}"), "d1", 1, ShipmentStatus::Failed));
    receive_new(&fixture, shipments.chain(failed).map(rendered).collect()).await;
    beat_of(&fixture, &["d1"]).await;
    for group in [None, Some("a")] {
        let found = ask(&fixture, group).await;
        assert_eq!(named(&found), BTreeMap::from([("failing", vec!["d1"])]), "{group:?}");
    }
}

/// SCOPE-6: a group keeps the orders that arrived for a planned move when the move is replaced.
#[tokio::test]
async fn sales_that_a_group_keeps_from_a_replaced_move_count() {
    let fixture = TestStore::with_fleet().await;
    let planned = UnixMs((TODAY.0 - 30) * 86_400_000);
    let devices = vec![moved("d1", "b", Some(planned.0))];
    fixture.apply_at(Fleet { devices, ..Fleet::default() }, planned.plus_ms(-1)).await.unwrap();
    sell_each_week(&fixture).await;
    move_to(&fixture, "a", planned.plus_ms(-1)).await;
    beat_of(&fixture, &["d1", "d2", "e1"]).await;
    for group in [None, Some("a")] {
        let found = ask(&fixture, group).await;
        assert_eq!(named(&found), BTreeMap::from([("unsold", vec!["d1"])]), "{group:?}");
    }
}

#[tokio::test]
async fn a_silent_device_is_not_expected_to_sell() {
    let fixture = sold_each_week().await;
    beat_of(&fixture, &["d2", "e1"]).await;
    assert_eq!(named(&ask(&fixture, None).await), BTreeMap::from([("silent", vec!["d1"])]));
}

#[tokio::test]
async fn a_device_of_which_more_shipments_fail_is_named() {
    let fixture = TestStore::with_fleet().await;
    let orders = |code: &'static str, days_ago, shipped, failed| {
        (0..shipped + failed).map(move |one| {
            let shipment =
                if one < shipped { ShipmentStatus::Success } else { ShipmentStatus::Failed };
            rendered(paid(&format!("{code}-{days_ago}-{one}"), code, days_ago, shipment))
        })
    };
    let all: Vec<Incoming> = orders("d1", 6, 7, 3)
        .chain(orders("d1", 7, 18, 2))
        .chain(orders("d2", 6, 7, 3))
        .chain(orders("d2", 7, 15, 5))
        .collect();
    receive_new(&fixture, all).await;
    beat_of(&fixture, &["d1", "d2", "e1"]).await;
    assert_eq!(named(&ask(&fixture, None).await), BTreeMap::from([("failing", vec!["d1"])]));
}

/// Each change of an order moves the count, which `verify` compares with the orders.
#[tokio::test]
async fn orders_that_are_being_refunded_are_counted() {
    let fixture = TestStore::with_fleet().await;
    let with = |id: &str, code: &str, pay_status| {
        rendered(Order { pay_status, ..paid(id, code, 1, ShipmentStatus::Failed) })
    };
    let first = vec![
        with("o1", "d1", PayStatus::Refunding),
        with("o2", "d1", PayStatus::Paid),
        with("o3", "e1", PayStatus::Refunding),
    ];
    fixture.receive_new(first).await;
    let counts = async || {
        let of_a = ask(&fixture, Some("a")).await.attention.refunding;
        (ask(&fixture, None).await.attention.refunding, of_a)
    };
    assert_eq!(counts().await, (2, 1));
    fixture
        .receive(vec![
            with("o1", "d1", PayStatus::Refunded),
            with("o2", "d1", PayStatus::Refunding),
            with("o3", "e1", PayStatus::Refunding),
        ])
        .await;
    assert_eq!(counts().await, (2, 1));
    fixture.receive(vec![with("o2", "d1", PayStatus::Refunded)]).await;
    assert_eq!(counts().await, (1, 0));
    fixture.check().await;
    fixture.tamper("update group_changes set refunding = 7");
    let found = fixture.differences().await;
    assert_eq!(
        found,
        [
            "group a: 7 orders are counted as being refunded, 0 are",
            "group b: 7 orders are counted as being refunded, 1 are",
        ]
    );
}
