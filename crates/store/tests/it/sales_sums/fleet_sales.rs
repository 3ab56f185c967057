//! The operator's sums equal the sums of the integrators' reports, group by group, whatever the
//! days.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kiosque_model::fleet::Fleet;
use kiosque_model::sales::{DeviceSales, FleetSales, ProductRank, Rate, Sale, Turnover};
use kiosque_model::{Claim, Currency, Day, GroupId, Minor, Need, PresentedToken, UnixMs, Zone};
use kiosque_store::{DashboardQuery, DatedRate, FleetSalesQuery, Incoming, OnlineSince};
use kiosque_testkit::entries::{self, beat, device, group, group_id, order, sold_in};
use kiosque_testkit::{Rng, TestData, TestStore, open, receive_at, seed};
use tokio::task::JoinSet;

use super::{Answers, DAY_MS, NOW, answers, sale_on};

const GROUPS: [&str; 2] = ["a", "b"];
const ONLINE: OnlineSince = OnlineSince(NOW);
const DEVICES: [&str; 3] = ["d1", "d2", "e1"];
const GOODS: [&str; 4] = ["", "p", "q", "\u{e9}"];
const CURRENCIES: [&str; 3] = ["EUR", "USD", "JPY"];

fn random_order(rng: &mut Rng, zone: &Zone) -> Incoming {
    let number = rng.below(60);
    let (id, device) = (format!("o{number}"), DEVICES[number % DEVICES.len()]);
    // The order starts once; its payment may come at any time.
    let start = i64::try_from(number).unwrap() * DAY_MS;
    if rng.one_in(6) {
        return order(&id, device, start);
    }
    let at = rng.range(-20 * DAY_MS..380 * DAY_MS);
    let lines: Vec<(&str, i64, i64)> = rng
        .subset(&GOODS)
        .into_iter()
        .map(|goods_id| (goods_id, rng.range(0..3), rng.range(-50..500)))
        .collect();
    let sale = entries::sale(at, rng.choose(&CURRENCIES), &lines);
    let sale = Sale { refund: Minor(3), ..sale };
    let paid = sold_in(zone, order(&id, device, at), sale);
    Incoming { trade_start: UnixMs(start), ..paid }
}

fn random_rate(rng: &mut Rng) -> DatedRate {
    DatedRate {
        day: Day(rng.range(-40..370)),
        currency: Currency::parse(rng.choose(&["EUR", "JPY"])).unwrap(),
        rate: Rate::parse(rng.choose(&["1.0837", "0.000000000001", "2", "0.0071"])).unwrap(),
    }
}

fn ask(group: Option<GroupId>, [totals_from, first_day, last_day]: [Day; 3]) -> FleetSalesQuery {
    let products_max = 100;
    FleetSalesQuery {
        group,
        totals_from,
        first_day,
        last_day,
        products_max,
        online: ONLINE,
        now: NOW,
    }
}

/// Returns the answers of the reports about days of a group.
async fn reports(
    store: &TestStore,
    session: &PresentedToken,
    group: &str,
    (first, last): (Day, Day),
    zone: &Zone,
) -> Answers {
    let (start, end) = (zone.start_of(first), zone.start_of(last.next()));
    let group = Some(Ok(group_id(group)));
    let query = DashboardQuery { group, devices: Vec::new(), start, end };
    answers(&store.store, session, &query).await
}

fn by_code(sales: Vec<DeviceSales>) -> BTreeMap<String, DeviceSales> {
    sales.into_iter().map(|sales| (sales.code.clone(), sales)).collect()
}

fn with_sales(days: &[(Day, Turnover)]) -> BTreeMap<Day, Turnover> {
    days.iter().copied().filter(|(_, turnover)| *turnover != Turnover::default()).collect()
}

fn unconverted(sales: &FleetSales, first: Day) -> (i64, i64) {
    let days = sales.days.iter().filter(|(day, _)| *day >= first);
    let of_days = days.map(|(_, turnover)| turnover.unconverted_orders).sum();
    (sales.without_rate.iter().map(|(_, orders)| orders).sum(), of_days)
}

fn random_days(rng: &mut Rng) -> [Day; 3] {
    let mut days = [(); 3].map(|()| Day(rng.range(-30..395)));
    days.sort_unstable();
    days
}

async fn compare(store: &TestStore, session: &PresentedToken, days: [Day; 3], zone: &Zone) {
    let [totals_from, first, last] = days;
    let (mut all_days, mut all_products) = (BTreeMap::new(), BTreeMap::new());
    for group in GROUPS {
        let found =
            store.store.reports().fleet_sales(ask(Some(group_id(group)), days)).await.unwrap();
        let sales = found.expect("a group");
        let totals = reports(store, session, group, (totals_from, last), zone).await;
        assert_eq!(with_sales(&sales.days), with_sales(&totals.trend), "{group} {days:?}");
        let of_period = reports(store, session, group, (first, last), zone).await;
        assert_eq!(by_code(sales.devices.clone()), by_code(of_period.by_device), "{days:?}");
        let ranked = of_period.best.into_iter().map(|best| ProductRank {
            goods_name: Some(best.goods_name).filter(|name| !name.is_empty()),
            goods_id: best.goods_id,
            items: best.items,
            amount: best.amount,
        });
        assert_eq!(sales.products, ranked.collect::<Vec<_>>(), "{group} {days:?}");
        let (named, of_days) = unconverted(&sales, first);
        assert_eq!(named, of_days, "{group} {days:?}: {:?}", sales.without_rate);
        for (day, turnover) in sales.days {
            all_days.entry(day).or_insert_with(Turnover::default).join(&turnover);
        }
        for product in sales.products {
            let known =
                all_products.entry(product.goods_id.clone()).or_insert((0, product.clone()));
            known.0 += product.items;
        }
    }
    let all =
        store.store.reports().fleet_sales(ask(None, days)).await.unwrap().expect("all groups");
    assert_eq!(all.days.iter().copied().collect::<BTreeMap<_, _>>(), all_days, "{days:?}");
    let items = all.products.iter().map(|product| product.items);
    let of_groups: i64 = all_products.values().map(|(items, _)| items).sum();
    assert_eq!(items.clone().sum::<i64>(), of_groups, "{days:?}");
    assert!(items.clone().is_sorted_by_key(Reverse), "{:?}", all.products);
}

async fn fleet_sales_are_the_reports(zone: &str) {
    let (seed, zone) = (seed(), Zone::named(zone).unwrap());
    println!("seed {seed}");
    let mut rng = Rng::seeded(seed);
    let data = TestData::new();
    open(&data, Some(&zone)).await.unwrap();
    let store = TestStore::with_fleet_on(data).await;
    let session = store.log_in("ops").await.unwrap();
    for _ in 0..20 {
        if rng.one_in(4) {
            store.store.fleet().set_rates(vec![random_rate(&mut rng)]).await.unwrap();
        }
        let batch: Vec<Incoming> =
            (0..1 + rng.below(9)).map(|_| random_order(&mut rng, &zone)).collect();
        receive_at(&store.store, batch, NOW).await;
        compare(&store, &session, random_days(&mut rng), &zone).await;
    }
}

#[tokio::test]
async fn fleet_sales_of_utc_are_the_reports() {
    fleet_sales_are_the_reports("UTC").await;
}

#[tokio::test]
async fn fleet_sales_of_a_zone_are_the_reports() {
    fleet_sales_are_the_reports("America/New_York").await;
}

/// The summary counts the same devices as online, and the others are named as silent.
#[tokio::test]
async fn devices_that_are_not_online_are_named() {
    let fixture = TestStore::with_fleet().await;
    let beats = vec![beat("d1", NOW), beat("e1", NOW.plus_ms(-1))];
    assert_eq!(fixture.store.intake().record_heartbeats(beats).await.unwrap(), []);
    let days = [Day(0), Day(0), Day(1)];
    let sales =
        fixture.store.reports().fleet_sales(ask(None, days)).await.unwrap().expect("all groups");
    let silent: Vec<&str> =
        sales.attention.needs[&Need::Silent].iter().map(String::as_str).collect();
    // `d2` never was active.
    assert_eq!((silent.as_slice(), sales.attention.device_count), (&["d2", "e1"][..], 3));
    let session = fixture.log_in("ops").await.unwrap();
    let query = DashboardQuery { group: None, devices: Vec::new(), start: NOW, end: NOW };
    let claim = Claim { token: session, now: NOW };
    let summary = fixture.store.reports().summary(claim, ONLINE, query).await.unwrap();
    let of_a = fixture.store.reports().fleet_sales(ask(Some(group_id("a")), days)).await.unwrap();
    let of_a = of_a.expect("a group");
    let online = of_a.attention.device_count
        - i64::try_from(of_a.attention.needs[&Need::Silent].len()).unwrap();
    assert_eq!((online, of_a.attention.device_count), (summary.online_devices, summary.devices));
    assert!(
        fixture
            .store
            .reports()
            .fleet_sales(ask(Some(group_id("x")), days))
            .await
            .unwrap()
            .is_none()
    );
}

/// An answer is of one snapshot: while orders arrive, its devices have the orders of its days.
#[tokio::test(flavor = "multi_thread")]
async fn the_sums_of_an_answer_are_of_one_snapshot() {
    const ROUNDS: usize = 60;
    let fixture = TestStore::with_fleet().await;
    let store = fixture.store.clone();
    let (is_done, mut readers) = (Arc::new(AtomicBool::new(false)), JoinSet::new());
    for _ in 0..4 {
        let (store, is_done) = (store.clone(), Arc::clone(&is_done));
        readers.spawn(async move {
            let mut most = 0;
            while !is_done.load(Ordering::Acquire) {
                let query = ask(None, [Day(330), Day(330), Day(366)]);
                let sales = store.reports().fleet_sales(query).await.unwrap().expect("all groups");
                let of_days: i64 = sales.days.iter().map(|(_, of)| of.orders).sum();
                let of_devices: i64 = sales.devices.iter().map(|of| of.turnover.orders).sum();
                assert_eq!(of_days, of_devices);
                assert!(of_days >= most, "{of_days} after {most}");
                most = of_days;
            }
        });
    }
    let mut rng = Rng::seeded(seed());
    for round in 0..ROUNDS {
        let on = |at: usize| sale_on(&format!("o{round}-{at}"), "d1", recent_day(round + at));
        receive_at(&store, (0..1 + rng.below(4)).map(on).collect(), NOW).await;
    }
    is_done.store(true, Ordering::Release);
    readers.join_all().await;
    let sales =
        store.reports().fleet_sales(ask(None, [Day(330), Day(330), Day(366)])).await.unwrap();
    let orders: i64 = sales.unwrap().devices.iter().map(|of| of.turnover.orders).sum();
    assert_eq!(orders.to_string(), fixture.query("select count(*) from orders")[0]);
}

/// Returns a day of the last weeks, in one of which most sales are.
fn recent_day(number: usize) -> i64 {
    366 - i64::try_from(number % 7 * (number % 5)).unwrap()
}

/// The overview of days without sales leads to the last day with some, however long ago it was.
#[tokio::test]
async fn the_last_day_with_sales_before_a_period_is_found() {
    let fixture = TestStore::with_fleet().await;
    receive_at(&fixture.store, vec![sale_on("o1", "d1", 330), sale_on("o2", "e1", 335)], NOW).await;
    let last_before = async |totals_from: i64, first: i64| {
        let days = [Day(totals_from), Day(first), Day(first + 6)];
        fixture.store.reports().fleet_sales(ask(None, days)).await.unwrap().unwrap().last_before
    };
    for (totals_from, first, expected) in [
        (336, 336, Some(335)),
        // It is one of the days whose totals are read.
        (300, 340, Some(335)),
        (500, 500, Some(335)),
        (3_000, 3_010, Some(335)),
        (333, 333, None),
        (322, 322, None),
        (0, 0, None),
    ] {
        assert_eq!(last_before(totals_from, first).await, expected.map(Day), "{first}");
    }
}

/// The sums of many groups, which are read in parts, add up to the sums of all groups.
#[tokio::test]
async fn sums_of_many_groups_are_added() {
    const GROUPS: usize = 130;
    let fixture = TestStore::with_fleet().await;
    let codes: Vec<String> = (0..GROUPS).map(|number| format!("m{number}")).collect();
    let groups = codes.iter().map(|code| group(code)).collect();
    let devices = codes.iter().map(|code| device(code, code)).collect();
    let fleet = Fleet { groups, devices, ..Fleet::default() };
    fixture.apply(fleet).await.unwrap();
    receive_at(&fixture.store, codes.iter().map(|code| sale_on(code, code, 366)).collect(), NOW)
        .await;
    let days = [Day(366), Day(366), Day(366)];
    let sales = fixture.store.reports().fleet_sales(ask(None, days)).await.unwrap().unwrap();
    let mut sold: Vec<_> = sales.devices.iter().map(|of| of.code.clone()).collect();
    sold.sort();
    let mut expected = codes.clone();
    expected.sort();
    assert_eq!(sold, expected);
    let of_devices: i64 = sales.devices.iter().map(|of| of.turnover.items).sum();
    let of_products: i64 = sales.products.iter().map(|product| product.items).sum();
    let of_days: i64 = sales.days.iter().map(|(_, of)| of.items).sum();
    assert_eq!((of_products, of_days), (of_devices, of_devices));
}
