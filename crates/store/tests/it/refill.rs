//! The aisles to refill.

use kiosque_contract::inventory::RefillItem;
use kiosque_model::fleet::{DeviceEntry, Fleet};
use kiosque_model::order::{Order, PayStatus, ShipmentStatus};
use kiosque_model::{Day, Minor, UnixMs};
use kiosque_store::OrderOutcome;
use kiosque_testkit::entries::{aisle, bare_order, device, group_id, line, moved, rendered};
use kiosque_testkit::{TestStore, receive_at};

const DAY_MS: i64 = 86_400_000;
/// Late enough that the first owner of a device has it since before the days that count.
const NOW: UnixMs = UnixMs(40 * DAY_MS + 1_000_000);
const TODAY: Day = Day(NOW.0.div_euclid(DAY_MS));

async fn ask(fixture: &TestStore, group: Option<&str>) -> Vec<RefillItem> {
    fixture.store.inventory().refill(group.map(group_id), None, 9, NOW).await.unwrap()
}

/// Returns the code of each device with what it sold, and on how many days.
fn sold(items: &[RefillItem]) -> Vec<(&str, i64, i64)> {
    items.iter().map(|item| (item.device_code.as_str(), item.sold, item.days)).collect()
}

/// Sells `count` items on each of the last `days` days before today.
async fn sell(fixture: &TestStore, code: &str, count: i64, days: i64) {
    let orders = (1..=days).map(|ago| {
        let at = (TODAY.0 - ago) * DAY_MS;
        rendered(Order {
            pay_status: PayStatus::Paid,
            pay_amount: Minor(100),
            shipment_status: ShipmentStatus::Success,
            pay_end: Some(UnixMs(at)),
            lines: vec![line("p", None, count, Minor(100))],
            ..bare_order(&format!("{code}-{ago}"), code, at)
        })
    });
    let outcomes = receive_at(&fixture.store, orders.collect(), NOW).await;
    assert!(outcomes.iter().all(|outcome| *outcome == OrderOutcome::Accepted), "{outcomes:?}");
}

/// Moves `d1` to group `b`.
async fn move_at(fixture: &TestStore, at: UnixMs) {
    let devices = vec![moved("d1", "b", None)];
    fixture.apply_at(Fleet { devices, ..Fleet::default() }, at).await.unwrap();
}

async fn with_aisles() -> TestStore {
    let fixture = TestStore::with_fleet().await;
    let with = |code: &str, group: &str| DeviceEntry {
        aisles: Some(vec![aisle("1", "p", 9)]),
        ..device(code, group)
    };
    let devices = vec![with("d1", "a"), with("e1", "b")];
    fixture.apply_devices(devices).await;
    fixture
}

/// A device that has moved sells what it sold in its group before, also if that is not active now.
#[tokio::test]
async fn sales_in_an_earlier_group_count() {
    let fixture = with_aisles().await;
    sell(&fixture, "d1", 3, 14).await;
    move_at(&fixture, NOW).await;
    for group in [None, Some("b")] {
        assert_eq!(sold(&ask(&fixture, group).await), [("d1", 42, 14), ("e1", 0, 14)], "{group:?}");
    }
    assert_eq!(sold(&ask(&fixture, Some("a")).await), []);
    fixture.tamper("update groups set active = false where group_id = 'a'");
    assert_eq!(sold(&ask(&fixture, None).await), [("d1", 42, 14), ("e1", 0, 14)]);
}

/// SCOPE-6: a group keeps the orders that arrived for a planned move when the move is replaced.
#[tokio::test]
async fn sales_that_a_group_keeps_from_a_replaced_move_count() {
    let fixture = with_aisles().await;
    let planned = NOW.plus_ms(-5 * DAY_MS);
    let move_to = async |group, since| {
        let devices = vec![moved("d1", group, since)];
        let before = planned.plus_ms(-1);
        fixture.apply_at(Fleet { devices, ..Fleet::default() }, before).await.unwrap();
    };
    move_to("b", Some(planned.0)).await;
    sell(&fixture, "d1", 3, 4).await;
    move_to("a", None).await;
    assert_eq!(sold(&ask(&fixture, Some("a")).await), [("d1", 12, 14)]);
    assert_eq!(sold(&ask(&fixture, Some("b")).await), [("e1", 0, 14)]);
    assert_eq!(sold(&ask(&fixture, None).await), [("d1", 12, 14), ("e1", 0, 14)]);
    fixture.tamper("update groups set active = false where group_id = 'b'");
    assert_eq!(sold(&ask(&fixture, None).await), [("d1", 12, 14)]);
}

/// A device that came from a group in which it sold nothing sells by the day since then.
#[tokio::test]
async fn days_before_a_move_count_only_with_sales() {
    let fixture = with_aisles().await;
    move_at(&fixture, NOW.plus_ms(-2 * DAY_MS)).await;
    sell(&fixture, "d1", 20, 2).await;
    assert_eq!(sold(&ask(&fixture, None).await), [("d1", 40, 2), ("e1", 0, 14)]);
}

/// The list has the first aisles of all groups, not the first aisles of each.
#[tokio::test]
async fn the_aisles_that_run_out_first_are_those_of_all_groups() {
    let fixture = with_aisles().await;
    sell(&fixture, "d1", 3, 14).await;
    sell(&fixture, "e1", 4, 14).await;
    let items = ask(&fixture, None).await;
    assert_eq!(sold(&items), [("e1", 56, 14), ("d1", 42, 14)]);
    let first = fixture.store.inventory().refill(None, None, 1, NOW).await.unwrap();
    assert_eq!(first, items[..1]);
}
