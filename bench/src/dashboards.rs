//! CPU cost of the dashboard functions, for the current month.

use std::collections::BTreeSet;
use std::io::Write;

use jiff::ToSpan;
use kiosque_contract::endpoint::{
    BestSellingProduct, DeviceAisle, DeviceProfile, OnlineDevices, SalesByDevice, SalesTrend,
    Summary,
};
use kiosque_contract::{DashboardFilter, Endpoint};

use crate::calls::Sessions;
use crate::catalog::CURRENCIES;
use crate::options::Size;
use crate::orders::LAST_TRADE;
use crate::rounds::{Against, Scenario};

/// The last month that orders fill: 2026-10-01 00:00:00 UTC.
const MONTH: i64 = LAST_TRADE - 31 * 86_400;

/// Spans of 31 days that a year's orders fill.
const MONTHS: i64 = 11;

/// Every function, for each group in turn. "Now" is the last second of the orders, so that the last
/// day of the range is today.
///
/// # Errors
/// When a call cannot travel.
pub(crate) fn scenarios(sessions: &Sessions) -> anyhow::Result<Vec<Scenario>> {
    let month = DashboardFilter {
        start_timestamp: Some(MONTH * 1_000),
        end_timestamp: Some(LAST_TRADE * 1_000 - 1),
        ..DashboardFilter::default()
    };
    // From noon to noon: both days are counted from their orders.
    let cut = DashboardFilter {
        start_timestamp: Some((LAST_TRADE - 3 * 86_400 - 43_200) * 1_000),
        end_timestamp: Some((LAST_TRADE - 43_200) * 1_000),
        ..DashboardFilter::default()
    };
    // The server remembers one month of a group: nearly every other one has to be read.
    let months = (0..MONTHS).map(|ago| DashboardFilter {
        start_timestamp: Some((MONTH - ago * 31 * 86_400) * 1_000),
        end_timestamp: Some((LAST_TRADE - ago * 31 * 86_400) * 1_000 - 1),
        ..DashboardFilter::default()
    });
    let months: Vec<DashboardFilter> = months.collect();
    let (month, cut) = (std::slice::from_ref(&month), std::slice::from_ref(&cut));
    let scenario = |name: &str, path: &str, filters: &[DashboardFilter], against| {
        let bodies = filters.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
        Ok(Scenario::new(name, sessions.of_each_group(path, &bodies)?, against))
    };
    [
        ("summary", Summary::PATH, month, Against::Limit(2.4)),
        ("summary, of any month", Summary::PATH, &months, Against::Nothing),
        ("sales trend", SalesTrend::PATH, month, Against::Nothing),
        ("sales by device", SalesByDevice::PATH, month, Against::Nothing),
        ("best-selling product", BestSellingProduct::PATH, month, Against::Nothing),
        ("device aisle hierarchy", DeviceAisle::PATH, month, Against::Nothing),
        ("device profile", DeviceProfile::PATH, month, Against::Nothing),
        ("online devices", OnlineDevices::PATH, month, Against::Nothing),
        ("summary, noon to noon", Summary::PATH, cut, Against::Nothing),
    ]
    .into_iter()
    .map(|(name, path, filter, against)| scenario(name, path, filter, against))
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
