//! The sums of sales by device: reports over years, of one device or of many, whatever the range.

mod fleet_sales;

use kiosque_model::sales::{DeviceSales, Sale, Turnover};
use kiosque_model::{ActedBy, Claim, Day, DeviceCode, Minor, PresentedToken, UnixMs};
use kiosque_store::{DashboardQuery, Incoming, OnlineSince, ProductSales, Store};
use kiosque_testkit::entries::{self, cancelled, device, order, sold};
use kiosque_testkit::{TestStore, receive_at};

const DAY_MS: i64 = 86_400_000;
/// The first day of 1971: the year before has ended.
const NOW: UnixMs = UnixMs(365 * DAY_MS + DAY_MS);

/// A paid order with a line for each product: its id, items and amount.
fn sale(
    id: &str,
    device: &str,
    at: i64,
    (currency, goods): (&str, &[(&str, i64, i64)]),
) -> Incoming {
    let sale = Sale { refund: Minor(3), ..entries::sale(at, currency, goods) };
    sold(order(id, device, at), sale)
}

/// A sale of one product on a day.
fn sale_on(id: &str, device: &str, day: i64) -> Incoming {
    sale(id, device, day * DAY_MS + 1_000, ("EUR", &[("p", 2, 250)]))
}

/// The answers of every report about sales.
#[derive(Debug, PartialEq)]
struct Answers {
    best: Vec<ProductSales>,
    by_device: Vec<DeviceSales>,
    turnover: Turnover,
    trend: Vec<(Day, Turnover)>,
}

fn query(devices: &[&str], (start, end): (UnixMs, UnixMs)) -> DashboardQuery {
    let devices = devices.iter().map(|code| DeviceCode::parse(*code)).collect();
    DashboardQuery { group: None, devices, start, end }
}

async fn answers(store: &Store, session: &PresentedToken, ask: &DashboardQuery) -> Answers {
    let claim = Claim { token: session.clone(), now: NOW };
    let online = OnlineSince(UnixMs(0));
    let summary = store.reports().summary(claim.clone(), online, ask.clone()).await.unwrap();
    Answers {
        best: store.reports().best_sellers(claim.clone(), ask.clone(), 100).await.unwrap(),
        by_device: store.reports().sales_by_device(claim.clone(), ask.clone()).await.unwrap(),
        turnover: summary.turnover,
        trend: store.reports().sales_trend(claim, ask.clone()).await.unwrap(),
    }
}

/// A sale of the goods `x`, with a line for each name.
fn named_sale(at: i64, names: &[&str]) -> Sale {
    let mut sale = entries::sale(at, "EUR", &vec![("x", 1, 5); names.len()]);
    for (sold, name) in sale.goods.iter_mut().zip(names) {
        sold.name = Some((*name).to_owned());
    }
    sale
}

/// DASH-17: goods that are no product have the name of their latest sale, also after it was
/// corrected.
#[tokio::test]
async fn a_corrected_sale_corrects_the_name_of_its_goods() {
    let fixture = TestStore::with_fleet().await;
    let named = |id: &str, at: i64, name: &str| sold(order(id, "d1", at), named_sale(at, &[name]));
    for (id, at, name, stored) in [
        ("o1", 2_000, "Water (wrong)", "Water (wrong)"),
        ("o1", 2_000, "Water", "Water"),
        ("o2", 1_000, "Older", "Water"),
        ("o3", 3_000, "Newer", "Newer"),
    ] {
        receive_at(&fixture.store, vec![named(id, at, name)], NOW).await;
        assert_eq!(fixture.query("select goods_name from goods_names"), [stored], "{id} {name}");
    }
    let batch = [named("o4", 4_000, "Wrong"), named("o4", 4_000, "Right")];
    receive_at(&fixture.store, batch.into(), NOW).await;
    assert_eq!(fixture.query("select goods_name from goods_names"), ["Right"]);
}

/// DASH-17: the name follows a sale whose lines are corrected or that moves. A name whose sale is
/// cancelled, or moves to an earlier time, remains until the next sale of the goods is received.
#[tokio::test]
async fn a_name_without_a_sale_remains_until_the_next_sale() {
    let fixture = TestStore::with_fleet().await;
    let started = |id: &str| order(id, "d1", 500);
    let named = |id: &str, at: i64, names: &[&str]| sold(started(id), named_sale(at, names));
    for (change, name) in [
        (named("o1", 2_000, &["Old A", "Old B"]), "Old B"),
        (named("o1", 2_000, &["New A", "New B"]), "New B"),
        (named("o1", 2_000, &["New A"]), "New A"),
        (named("o1", 5_000, &["New A"]), "New A"),
        (named("o2", 4_000, &["Earlier"]), "New A"),
        (named("o1", 3_000, &["New A"]), "New A"),
        (named("o3", 3_500, &["Next"]), "Next"),
        (cancelled(started("o3"), named_sale(3_500, &["Next"])), "Next"),
        (named("o4", 1_000, &["After"]), "After"),
    ] {
        receive_at(&fixture.store, vec![change], NOW).await;
        assert_eq!(fixture.query("select goods_name from goods_names"), [name]);
        assert_eq!(fixture.differences().await, [""; 0], "{name}");
    }
    // The same of one batch, whose last version of a sale counts.
    let batch = [
        named("o5", 6_000, &["First"]),
        named("o6", 7_000, &["Second"]),
        cancelled(started("o6"), named_sale(7_000, &["Second"])),
    ];
    receive_at(&fixture.store, batch.into(), NOW).await;
    assert_eq!(fixture.query("select goods_name from goods_names"), ["First"]);
}

/// DASH-17: a sale that is cancelled in its batch takes no name from another one of the same time.
#[tokio::test]
async fn a_name_of_two_sales_of_a_batch_remains_when_one_is_cancelled() {
    let fixture = TestStore::with_fleet().await;
    let sale = || named_sale(2_000, &["Water"]);
    let batch = vec![
        sold(order("o1", "d1", 500), sale()),
        sold(order("o2", "d1", 500), sale()),
        cancelled(order("o1", "d1", 500), sale()),
    ];
    receive_at(&fixture.store, batch, NOW).await;
    assert_eq!(fixture.query("select goods_name from goods_names"), ["Water"]);
    fixture.check().await;
}

/// Opens the same data with other rules of the time zone, by which it is an hour later.
async fn with_other_rules(fixture: &TestStore) -> TestStore {
    fixture.tamper("update metadata set value = 'Europe/Paris' where name = 'time_zone'");
    fixture.again().await
}

/// Sums keep the days by the rules by which they were stored: a sale that belongs to another day by
/// new rules does not hide the others of its day.
#[tokio::test]
async fn a_day_with_a_sale_of_another_day_by_new_rules_is_counted() {
    let fixture = TestStore::with_fleet().await;
    let hour = 3_600_000;
    let at = |id: &str, at: i64| sale(id, "d1", at, ("EUR", &[("p", 2, 250)]));
    let sales = vec![at("o1", DAY_MS + 12 * hour), at("o2", DAY_MS + 23 * hour + 1)];
    receive_at(&fixture.store, sales, NOW).await;
    let fixture = with_other_rules(&fixture).await;
    let session = fixture.log_in("ops").await.unwrap();
    let day = (UnixMs(DAY_MS - hour), UnixMs(2 * DAY_MS - hour));
    for devices in [&["d1"][..], &[]] {
        let found = answers(&fixture.store, &session, &query(devices, day)).await;
        assert_eq!((found.turnover.orders, found.by_device.len()), (2, 1), "{devices:?}");
    }
}

/// DASH-17: a line of an order that was not a sale keeps its name when the order is paid by an
/// update without names, and so do the goods.
#[tokio::test]
async fn an_order_that_is_paid_later_gives_the_name_that_it_had_before() {
    let fixture = TestStore::with_fleet().await;
    let no_sale = cancelled(order("o1", "d1", 2_000), named_sale(2_000, &["Water"]));
    receive_at(&fixture.store, vec![no_sale], NOW).await;
    assert_eq!(fixture.query("select goods_name from goods_names"), [""; 0]);
    let nameless = entries::sale(2_000, "EUR", &[("x", 1, 5)]);
    receive_at(&fixture.store, vec![sold(order("o1", "d1", 2_000), nameless)], NOW).await;
    assert_eq!(fixture.query("select goods_name from goods_names"), ["Water"]);
}

/// The best sellers of 1970: goods, items and devices.
async fn best(
    store: &Store,
    session: &PresentedToken,
    devices: &[&str],
) -> Vec<(String, i64, i64)> {
    let claim = Claim { token: session.clone(), now: NOW };
    let ask = query(devices, (UnixMs(0), NOW));
    let best = store.reports().best_sellers(claim, ask, 100).await.unwrap();
    best.into_iter().map(|sales| (sales.goods_id, sales.items, sales.devices)).collect()
}

/// The sums of all devices and products of a block are a row for each day.
#[tokio::test]
async fn a_day_of_all_devices_and_products_is_a_row() {
    let fixture = TestStore::with_fleet().await;
    for from in [0, 180] {
        let orders = (from..from + 180).flat_map(|day| {
            ["d1", "d2"].map(|device| sale_on(&format!("{device}-{day}"), device, day))
        });
        receive_at(&fixture.store, orders.collect(), NOW).await;
    }
    let rows = |table: &str| fixture.query(&format!("select count(*) from {table}")).concat();
    assert_eq!(["sales_by_day", "sales_by_device"].map(rows), ["360", "360"]);
    fixture.check().await;
    let session = fixture.log_in("ops").await.unwrap();
    assert_eq!(best(&fixture.store, &session, &[]).await, [("p".to_owned(), 1_440, 2)]);
    assert_eq!(best(&fixture.store, &session, &["d2"]).await, [("p".to_owned(), 720, 1)]);
    // Half a day on either side.
    let noon = |day: i64| UnixMs(day * DAY_MS + DAY_MS / 2);
    let ask = query(&["d1", "d1"], (noon(10), noon(70)));
    let found = answers(&fixture.store, &session, &ask).await;
    assert_eq!((found.best[0].items, found.best[0].devices, found.turnover.orders), (120, 1, 60));
    assert_eq!(found.by_device.len(), 1);
}

/// The sums of a day are divided by the numbers of the devices.
#[tokio::test]
async fn the_devices_of_a_large_group_are_counted_together() {
    let fixture = TestStore::with_fleet().await;
    let codes: Vec<String> = (0..300).map(|number| format!("m{number:04}")).collect();
    let devices = codes.iter().map(|code| device(code, "a")).collect();
    fixture.apply_devices(devices).await;
    let sales = codes.iter().enumerate().map(|(number, code)| {
        sale_on(&format!("o{number}"), code, i64::try_from(number % 2).unwrap())
    });
    receive_at(&fixture.store, sales.collect(), NOW).await;
    let session = fixture.log_in("ops").await.unwrap();
    assert_eq!(best(&fixture.store, &session, &[]).await, [("p".to_owned(), 600, 300)]);
    let rows = "select count(*) from sales_by_device";
    assert_eq!(fixture.query(rows), ["4"], "two days of two blocks");
    fixture.check().await;
}

/// A node knows the numbers of devices that filters have found. A device that is deleted and
/// applied again has another number.
#[tokio::test]
async fn a_filter_finds_a_device_that_got_another_number() {
    let fixture = TestStore::with_fleet().await;
    let apply = async || {
        let devices = vec![device("d9", "a")];
        fixture.apply_devices(devices).await;
    };
    apply().await;
    let session = fixture.log_in("ops").await.unwrap();
    let ask = query(&["d9", "d1"], (UnixMs(0), NOW));
    assert_eq!(answers(&fixture.store, &session, &ask).await.turnover, Turnover::default());
    let d9 = DeviceCode::parse("d9").unwrap();
    fixture.store.fleet().delete_device(d9, ActedBy::command(NOW)).await.unwrap();
    apply().await;
    receive_at(&fixture.store, vec![sale_on("o1", "d9", 300), sale_on("o2", "d2", 300)], NOW).await;
    for _ in 0..2 {
        let found = answers(&fixture.store, &session, &ask).await;
        assert_eq!((found.best[0].items, found.best[0].devices), (2, 1));
        assert_eq!((found.turnover.orders, found.trend.len()), (1, 366));
        let devices: Vec<&str> =
            found.by_device.iter().map(|device| device.code.as_str()).collect();
        assert_eq!(devices, ["d9"]);
    }
}
