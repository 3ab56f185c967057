//! Exchange rates of the demo's currencies: one a week, with small changes.

use jiff::ToSpan;
use jiff::civil::Date;
use kiosque_model::Day;
use kiosque_model::sales::Rate;
use kiosque_store::DatedRate;

use super::data::{DATA, currency};
use super::orders::DAYS;

/// Returns the rates of the weeks up to `today`; the first precedes the first order.
pub(super) fn rates(today: Date) -> Vec<DatedRate> {
    let weeks = i64::from(DAYS) / 7 + 2;
    let mut rates = Vec::new();
    for (code, by_week) in &DATA.usd_millionths {
        let currency = currency(code);
        for (week, millionths) in (0..weeks).zip(by_week.iter().cycle()) {
            let day = Day::of(today.saturating_sub((7 * (weeks - week)).days()));
            let rate = Rate::from_parts(millionths * 1_000_000).expect("the data has rates");
            rates.push(DatedRate { day, currency, rate });
        }
    }
    rates
}
