//! Roll-ups of months: they are read instead of days, and only while they equal them.

mod against_days;
#[cfg(debug_assertions)]
mod faults;
mod fleet_sales;
mod marks;

use std::sync::Arc;

use kiosque_model::order::ShipmentStatus;
use kiosque_model::sales::{Sale, Sold, Turnover};
use kiosque_model::{Claim, Currency, Day, DeviceCode, Minor, PresentedToken, UnixMs};
use kiosque_store::{
    DashboardQuery, DeviceSales, Incoming, OnlineSince, OrderOutcome, ProductSales, ReceiveOptions,
    Store,
};
use kiosque_testkit::entries::{order, sold};
use kiosque_testkit::{TestStore, no_owners};

const DAY_MS: i64 = 86_400_000;
/// The first day of 1971: the year before has ended.
const NOW: UnixMs = UnixMs(365 * DAY_MS + DAY_MS);
/// The time from which a marked month is rolled up.
const SETTLED: UnixMs = UnixMs(NOW.0 + 60_000);

/// A paid order with a line for each product: its id, items and amount.
fn sale(
    id: &str,
    device: &str,
    at: i64,
    (currency, goods): (&str, &[(&str, i64, i64)]),
) -> Incoming {
    let goods = goods.iter().map(|(goods_id, items, amount)| Sold {
        goods_id: (*goods_id).to_owned(),
        items: *items,
        amount: Minor(*amount),
        name: None,
    });
    let goods: Vec<Sold> = goods.collect();
    let amount = Minor(goods.iter().map(|sold| sold.amount.0).sum());
    let (refund, shipment) = (Minor(3), ShipmentStatus::Success);
    let currency = Currency::parse(currency).unwrap();
    sold(order(id, device, at), Sale { at: UnixMs(at), currency, amount, refund, shipment, goods })
}

/// A sale of one product on a day.
fn sale_on(id: &str, device: &str, day: i64) -> Incoming {
    sale(id, device, day * DAY_MS + 1_000, ("EUR", &[("p", 2, 250)]))
}

async fn receive(store: &Store, orders: Vec<Incoming>) -> Vec<OrderOutcome> {
    store.receive(Arc::new(orders), no_owners(), ReceiveOptions::at(NOW)).await.unwrap()
}

/// Marks every month that has ended, and rolls it up. Returns how many are new.
async fn roll_up(store: &Store) -> usize {
    store.mark_months(NOW).await.unwrap();
    let mut closed = 0;
    loop {
        match store.close_months(SETTLED).await.unwrap() {
            0 => return closed,
            more => closed += more,
        }
    }
}

/// The months that are closed, each by group and first day.
fn closed(fixture: &TestStore) -> Vec<String> {
    let of = "select group_no, first_day from sales_months where closed";
    fixture.query(&format!("{of} order by group_no, first_day"))
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
    let summary = store.summary(claim.clone(), online, ask.clone()).await.unwrap();
    Answers {
        best: store.best_sellers(claim.clone(), ask.clone(), 100).await.unwrap(),
        by_device: store.sales_by_device(claim.clone(), ask.clone()).await.unwrap(),
        turnover: summary.turnover,
        trend: store.sales_trend(claim, ask.clone()).await.unwrap(),
    }
}

/// The best sellers of 1970: goods, items and devices.
async fn best(
    store: &Store,
    session: &PresentedToken,
    devices: &[&str],
) -> Vec<(String, i64, i64)> {
    let claim = Claim { token: session.clone(), now: NOW };
    let ask = query(devices, (UnixMs(0), NOW));
    let best = store.best_sellers(claim, ask, 100).await.unwrap();
    best.into_iter().map(|sales| (sales.goods_id, sales.items, sales.devices)).collect()
}

/// Years of a closed history are answered from a few rows for each month. The days are not read:
/// without them the answers are the same.
#[tokio::test]
async fn closed_months_are_read_instead_of_their_days() {
    let fixture = TestStore::with_fleet().await;
    let orders = (0..360).flat_map(|day| {
        ["d1", "d2"].map(|device| sale_on(&format!("{device}-{day}"), device, day))
    });
    receive(&fixture.store, orders.collect()).await;
    let session = fixture.log_in("ops").await.unwrap();
    let whole = (UnixMs(0), NOW);
    // All sales lie in a range that cuts the first month.
    let cut = (UnixMs(1_000), NOW.plus_ms(-5));
    let devices = ["d1", "d2", "d1"];
    let asks = [query(&[], whole), query(&["d2"], cut), query(&devices, whole), query(&[], cut)];
    let mut before = Vec::new();
    for ask in &asks {
        before.push(answers(&fixture.store, &session, ask).await);
    }
    assert_eq!(roll_up(&fixture.store).await, 12);
    assert_eq!(roll_up(&fixture.store).await, 0);
    let rows = |table: &str| fixture.query(&format!("select count(*) from {table}")).concat();
    assert_eq!(
        ["sales_by_product", "monthly_products", "monthly_devices", "monthly_device_products"]
            .map(rows),
        ["720", "12", "24", "24"]
    );
    assert_eq!(fixture.store.verify().await.unwrap().differences, [""; 0]);
    fixture.tamper("delete from sales_by_product");
    fixture.tamper("delete from sales_by_device");
    for (ask, before) in asks.iter().zip(before) {
        let claim = Claim { token: session.clone(), now: NOW };
        let best = fixture.store.best_sellers(claim.clone(), ask.clone(), 100).await.unwrap();
        assert_eq!(best, before.best);
        let online = OnlineSince(UnixMs(0));
        let summary = fixture.store.summary(claim.clone(), online, ask.clone()).await.unwrap();
        assert_eq!(summary.turnover, before.turnover);
        let by_device = fixture.store.sales_by_device(claim, ask.clone()).await.unwrap();
        assert_eq!(by_device, before.by_device);
    }
}

/// The best sellers of one month are read without the sets of devices, which grow with the group;
/// those of several months join the sets, and so do rows without a count.
#[tokio::test]
async fn one_month_is_read_without_sets_of_devices() {
    let fixture = TestStore::with_fleet().await;
    let orders = (0..59).flat_map(|day| {
        ["d1", "d2"].map(|device| sale_on(&format!("{device}-{day}"), device, day))
    });
    receive(&fixture.store, orders.collect()).await;
    let session = fixture.log_in("ops").await.unwrap();
    let day = |day: i64| UnixMs(day * DAY_MS);
    let january = query(&[], (day(0), day(31)));
    let part_of_january = query(&[], (day(0), day(30)));
    let both = query(&[], (day(0), day(59)));
    let devices = async |ask: &DashboardQuery| {
        let claim = Claim { token: session.clone(), now: NOW };
        let best = fixture.store.best_sellers(claim, ask.clone(), 100).await.unwrap();
        best.iter().map(|sales| (sales.items, sales.devices)).collect::<Vec<_>>()
    };
    assert_eq!(roll_up(&fixture.store).await, 2);
    fixture.tamper("update monthly_products set devices = ''");
    assert_eq!(devices(&january).await, [(124, 2)]);
    assert_eq!(devices(&part_of_january).await, [(120, 2)]);
    assert_eq!(devices(&both).await, [(236, 0)]);
    fixture.tamper("update monthly_products set devices = '0:e', device_count = null");
    assert_eq!(devices(&january).await, [(124, 3)]);
}

/// A month of more rows than a transaction writes, rolled up again after a change: no row of the
/// first roll-up is left.
#[tokio::test]
async fn a_large_month_is_written_in_parts() {
    let fixture = TestStore::with_fleet().await;
    let goods: Vec<String> = (0..700).map(|number| format!("g{number:03}")).collect();
    let lines: Vec<(&str, i64, i64)> = goods.iter().map(|id| (id.as_str(), 1, 7)).collect();
    let order = |device: &str, lines: &[(&str, i64, i64)]| {
        sale(&format!("of {device}"), device, 5, ("EUR", lines))
    };
    let devices = ["d1", "d2"];
    receive(&fixture.store, devices.iter().map(|code| order(code, &lines)).collect()).await;
    assert_eq!(roll_up(&fixture.store).await, 1);
    let rows = |table: &str| fixture.query(&format!("select count(*) from {table}")).concat();
    assert_eq!(rows("monthly_device_products"), "1400");
    assert_eq!(fixture.store.verify().await.unwrap().differences, [""; 0]);
    receive(&fixture.store, vec![order("d1", &lines[..1])]).await;
    assert_eq!(closed(&fixture), [""; 0]);
    assert_eq!(roll_up(&fixture.store).await, 1);
    assert_eq!(fixture.store.verify().await.unwrap().differences, [""; 0]);
    let session = fixture.log_in("ops").await.unwrap();
    let best = best(&fixture.store, &session, &["d1"]).await;
    assert_eq!(best, [("g000".to_owned(), 1, 1)]);
}

/// A move leaves roll-ups behind; they are made again in the database.
#[tokio::test]
async fn a_move_leaves_months_to_be_rolled_up_again() {
    let from = TestStore::with_fleet_on(kiosque_testkit::TestData::sqlite()).await;
    let to = TestStore::on(kiosque_testkit::TestData::postgres()).await;
    receive(&from.store, vec![sale_on("o1", "d1", 3), sale_on("o2", "d2", 40)]).await;
    assert_eq!(roll_up(&from.store).await, 2);
    let session = from.log_in("ops").await.unwrap();
    let before = best(&from.store, &session, &[]).await;
    assert_eq!(before, [("p".to_owned(), 4, 2)]);
    from.store.move_to(&to.store, NOW, |_| {}).await.unwrap();
    assert_eq!(closed(&to), [""; 0]);
    assert_eq!(best(&to.store, &session, &[]).await, before);
    receive(&to.store, vec![sale_on("o3", "d1", 4)]).await;
    assert_eq!(roll_up(&to.store).await, 2);
    assert_eq!(best(&to.store, &session, &[]).await, [("p".to_owned(), 6, 2)]);
    assert_eq!(to.store.verify().await.unwrap().differences, [""; 0]);
}

/// `verify` names the month whose roll-up is not that of its days.
#[tokio::test]
async fn a_wrong_roll_up_is_a_difference() {
    for (planted, of) in [
        ("update monthly_products set items = items + 1 where first_day = 31", "product"),
        ("update monthly_products set devices = '0:1' where first_day = 31", "product"),
        ("update monthly_products set device_count = 7 where first_day = 31", "product"),
        ("update monthly_devices set refund = '1' where first_day = 31", "device"),
        ("delete from monthly_devices where first_day = 31", "device"),
        (
            "update monthly_device_products set amount = '1' where first_day = 31",
            "device and product",
        ),
    ] {
        let fixture = TestStore::with_fleet().await;
        receive(&fixture.store, vec![sale_on("o1", "d1", 3), sale_on("o2", "d2", 40)]).await;
        assert_eq!(roll_up(&fixture.store).await, 2);
        fixture.tamper(planted);
        let difference = format!(
            "group a, the month of 1970-02-01: its sales by {of} are not those of its days"
        );
        let verified = fixture.store.verify().await.unwrap();
        assert_eq!(verified.differences, [difference], "{planted}");
    }
    for (planted, difference) in [
        (
            "update group_changes set marked_to_day = -1",
            "it is marked, and changes do not delete the mark",
        ),
        (
            "update sales_months set last_sale_at_ms = last_sale_at_ms - 1",
            "its bounds are not those of its days",
        ),
    ] {
        let fixture = TestStore::with_fleet().await;
        receive(&fixture.store, vec![sale_on("o1", "d1", 3)]).await;
        roll_up(&fixture.store).await;
        fixture.tamper(planted);
        let difference = format!("group a, the month of 1970-01-01: {difference}");
        assert_eq!(fixture.store.verify().await.unwrap().differences, [difference]);
    }
}
