//! CPU cost of the dashboard functions, for the current month.

use std::collections::BTreeSet;
use std::io::Write;

use jiff::ToSpan;
use kiosque_contract::endpoint::{
    BestSellingProduct, DeviceAisle, DeviceProfile, OnlineDevices, SalesByDevice, SalesTrend,
    Summary,
};
use kiosque_contract::{DashboardFilter, ENDPOINTS, Endpoint};

use crate::calls::Sessions;
use crate::catalog::CURRENCIES;
use crate::fleet::{device_code, group_of};
use crate::options::{Goods, Size};
use crate::orders::LAST_TRADE;
use crate::rounds::{Against, Scenario};

/// Hours of a month and of a year.
const MONTH: i64 = 31 * 24;
const YEAR: i64 = 365 * 24;
/// Maximum devices of a filter.
const FILTERED_MAX: usize = 1_000;
/// Number of 31-day spans in a year of orders.
const MONTHS: i64 = 11;

/// Returns the filters of a group.
type Filters<'a> = &'a dyn Fn(usize) -> Vec<DashboardFilter>;

/// Returns a filter of the time between two hours, counted back from the last trade.
fn hours(first: i64, last: i64) -> DashboardFilter {
    let hours_ago = |hours: i64| (LAST_TRADE - hours * 3_600) * 1_000;
    DashboardFilter {
        start_timestamp: Some(hours_ago(first)),
        end_timestamp: Some(hours_ago(last) - 1),
        ..DashboardFilter::default()
    }
}

/// Every function, for each group in turn. "Now" is the last second of the orders, so that the last
/// day of the range is today. The aims are for SQLite.
///
/// # Errors
/// When a call cannot travel.
pub(crate) fn scenarios(sessions: &Sessions, size: &Size) -> anyhow::Result<Vec<Scenario>> {
    let month = |_| vec![hours(MONTH, 0)];
    // Months by turns: the sums of several ranges are cached.
    let months = |_| (0..MONTHS).map(|ago| hours((ago + 1) * MONTH, ago * MONTH)).collect();
    // From noon to noon: both days are counted from their orders.
    let cut = |_| vec![hours(84, 12)];
    let ten_years = |_| vec![hours(10 * YEAR, 0)];
    let of_devices = |group: usize, most: usize, filter: DashboardFilter| {
        let devices = (1..size.devices).filter(|device| group_of(*device, size) == group);
        let device_codes = devices.take(most).map(device_code).collect();
        vec![DashboardFilter { device_codes, ..filter }]
    };
    let one_device = |group| of_devices(group, 1, hours(10 * YEAR, 0));
    let year_of_all = |group| of_devices(group, FILTERED_MAX, hours(YEAR, 0));
    let (best, best_aim) = match size.goods {
        Goods::Aisles => (BestSellingProduct::PATH, 20.0),
        Goods::Any => (BestSellingProduct::PATH, 60.0),
    };
    let all: [(&str, &str, Filters<'_>, Against); 12] = [
        ("summary", Summary::PATH, &month, Against::Limit(1.6)),
        ("summary, of any month", Summary::PATH, &months, Against::Limit(4.0)),
        ("sales trend", SalesTrend::PATH, &month, Against::Nothing),
        ("sales by device", SalesByDevice::PATH, &month, Against::Limit(12.0)),
        ("best-selling product", best, &month, Against::Limit(best_aim)),
        ("best-selling product, ten years", best, &ten_years, Against::Millis(100.0)),
        ("best-selling product, ten years of a device", best, &one_device, Against::Millis(20.0)),
        ("best-selling product, a year of a filter", best, &year_of_all, Against::Nothing),
        ("device aisle hierarchy", DeviceAisle::PATH, &month, Against::Nothing),
        ("device profile", DeviceProfile::PATH, &month, Against::Nothing),
        ("online devices", OnlineDevices::PATH, &month, Against::Limit(4.0)),
        ("summary, noon to noon", Summary::PATH, &cut, Against::Limit(20.0)),
    ];
    // A function without a row is measured for the month, without an aim.
    let functions = ENDPOINTS.iter().filter(|one| one.tag == "Dashboard");
    let others = functions.filter(|one| all.iter().all(|(_, path, ..)| *path != one.path));
    let others =
        others.map(|one| (one.short_name, one.path, &month as Filters<'_>, Against::Nothing));
    all.into_iter()
        .chain(others)
        .map(|(name, path, filters, against)| {
            Ok(Scenario::new(name, sessions.of_each_group(path, filters)?, against))
        })
        .collect()
}

/// A rate a day for every currency, from a week before the first order.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn write_rates(size: &Size, mut out: impl Write) -> anyhow::Result<()> {
    writeln!(out, "date,currency,usd_per_unit")?;
    let last = jiff::civil::date(2026, 11, 1);
    let days = i64::from(size.years) * 365 + 7;
    let currencies: BTreeSet<&str> = CURRENCIES.into_iter().filter(|code| *code != "USD").collect();
    for currency in currencies {
        for ago in (0..=days).rev() {
            let date = last.checked_sub(ago.days())?;
            writeln!(out, "{date},{currency},{}.{:04}", ago % 2, 1_000 + ago % 97)?;
        }
    }
    out.flush()?;
    Ok(())
}
