//! Names and rates in the sales of the console.

use kiosque_model::fleet::DeviceEntry;
use kiosque_model::{Day, UnixMs};
use kiosque_store::{FleetSalesQuery, Incoming, OnlineSince};
use kiosque_testkit::entries::{device, group_id, order, rate, sale, sold};
use kiosque_testkit::{NOW, TestStore};

fn sale_of(device: &str, at: UnixMs, code: &str) -> Incoming {
    sold(order(code, device, at.0), sale(at.0, code, &[("p", 1, 100)]))
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
    fixture.receive_new(vec![sale_of("d1", at, "EUR")]).await;
    let moved = DeviceEntry {
        name: Some("Renamed".to_owned()),
        since: Some(at.plus_ms(10)),
        ..device("d1", "b")
    };
    fixture.apply_devices(vec![moved]).await;
    fixture.receive_new(vec![sale_of("d1", at.plus_ms(20), "GBP")]).await;
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
    fixture.receive_new(vec![sale_of("d1", at, "EUR"), sale_of("d2", at, "GBP")]).await;
    let set_rates = async |rates: [(&str, &str); 2]| {
        let rate = |(code, text)| rate(code, day.0, text);
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
