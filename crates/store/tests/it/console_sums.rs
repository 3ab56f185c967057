//! Names and rates in the sales of the console.

use kiosque_model::fleet::{DeviceEntry, Fleet};
use kiosque_model::order::ShipmentStatus;
use kiosque_model::sales::{Rate, Sale};
use kiosque_model::{Currency, Day, Minor, UnixMs};
use kiosque_store::{DatedRate, FleetSalesQuery, Incoming, OnlineSince};
use kiosque_testkit::entries::{device, group_id, order, sold};
use kiosque_testkit::{NOW, TestStore};

fn currency(code: &str) -> Currency {
    Currency::parse(code).unwrap()
}

fn sale(device: &str, at: UnixMs, code: &str) -> Incoming {
    let (currency, amount) = (currency(code), Minor(100));
    let shipment = ShipmentStatus::Success;
    let sale = Sale { at, currency, amount, refund: Minor(0), shipment, goods: vec![] };
    sold(order(code, device, at.0), sale)
}

fn query(group: Option<&str>, day: Day) -> FleetSalesQuery {
    FleetSalesQuery {
        group: group.map(group_id),
        totals_from: day,
        first_day: day,
        last_day: day,
        products_max: 9,
        online: OnlineSince(NOW),
        now: NOW,
    }
}

/// In the sales of all groups, a device that was moved and renamed has its current name; in the
/// sales of a group, the one that it had there last.
#[tokio::test]
async fn a_moved_device_has_its_current_name_in_all_groups() {
    let fixture = TestStore::with_fleet().await;
    let (day, at) = (Day(0), UnixMs(1_000));
    fixture.receive_new(vec![sale("d1", at, "EUR")]).await;
    let moved = DeviceEntry {
        name: Some("Renamed".to_owned()),
        since: Some(at.plus_ms(10)),
        ..device("d1", "b")
    };
    fixture.apply(Fleet { devices: vec![moved], ..Fleet::default() }).await.unwrap();
    fixture.receive_new(vec![sale("d1", at.plus_ms(20), "GBP")]).await;
    for (group, name, orders) in
        [(None, "Renamed", 2), (Some("a"), "Device d1", 1), (Some("b"), "Renamed", 1)]
    {
        let sales = fixture.store.reports().fleet_sales(query(group, day)).await.unwrap().unwrap();
        let devices = sales.devices.iter();
        let devices: Vec<_> =
            devices.map(|of| (of.code.as_str(), of.name.as_str(), of.turnover.orders)).collect();
        assert_eq!(devices, [("d1", name, orders)], "{group:?}");
    }
}

/// New rates are seen, also if the sales of each day are the same in dollars as before.
#[tokio::test]
async fn rates_that_leave_the_sum_of_a_day_are_seen() {
    let fixture = TestStore::with_fleet().await;
    let day = Day(NOW.0.div_euclid(86_400_000) - 9);
    let at = UnixMs(day.0 * 86_400_000);
    fixture.receive_new(vec![sale("d1", at, "EUR"), sale("d2", at, "GBP")]).await;
    let set_rates = async |rates: [(&str, &str); 2]| {
        let rate = |(code, rate): (&str, &str)| DatedRate {
            day,
            currency: currency(code),
            rate: Rate::parse(rate).unwrap(),
        };
        fixture.store.fleet().set_rates(rates.map(rate).to_vec()).await.unwrap();
    };
    let dollars = async || {
        let query = query(None, day);
        let sales = fixture.store.reports().fleet_sales(query).await.unwrap().unwrap();
        let devices = sales.devices.iter();
        let mut devices: Vec<_> =
            devices.map(|of| (of.code.clone(), of.turnover.amount.cents())).collect();
        devices.sort();
        devices
    };
    let of = |d1, d2| [("d1".to_owned(), d1), ("d2".to_owned(), d2)];
    set_rates([("EUR", "2"), ("GBP", "3")]).await;
    assert_eq!(dollars().await, of(200, 300));
    set_rates([("EUR", "3"), ("GBP", "2")]).await;
    assert_eq!(dollars().await, of(300, 200));
}
