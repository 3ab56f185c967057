//! Exchange rates of the demo's currencies: one a week, with small changes.

use jiff::ToSpan;
use jiff::civil::Date;
use kiosque_model::sales::Rate;
use kiosque_model::{Currency, Day};
use kiosque_store::DatedRate;

use super::orders::DAYS;

/// Millionths of a dollar for a unit of each currency, by week.
const USD_MILLIONTHS: [(&str, [i64; 4]); 2] =
    [("EUR", [1_083_700, 1_079_250, 1_091_400, 1_086_150]), ("JPY", [6_712, 6_655, 6_698, 6_731])];

/// Returns the rates of the weeks up to `today`; the first precedes the first order.
pub(super) fn rates(today: Date) -> Vec<DatedRate> {
    let weeks = i64::from(DAYS) / 7 + 2;
    let mut rates = Vec::new();
    for (code, by_week) in USD_MILLIONTHS {
        let currency = Currency::parse(code).expect("the table holds ISO 4217 codes");
        for (week, millionths) in (0..weeks).zip(by_week.into_iter().cycle()) {
            let day = Day::of(today.saturating_sub((7 * (weeks - week)).days()));
            let rate = Rate::from_parts(millionths * 1_000_000).expect("the table holds rates");
            rates.push(DatedRate { day, currency, rate });
        }
    }
    rates
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_currency_of_the_demo_has_a_rate_on_every_day_of_its_orders() {
        let today: Date = jiff::civil::date(2026, 3, 31);
        let first = Day::of(today.saturating_sub(i64::from(DAYS).days()));
        let rates = rates(today);
        for product in super::super::fleet::fleet().products {
            let currency = product.currency.unwrap();
            let rated = rates.iter().any(|rate| rate.currency == currency && rate.day <= first);
            assert!(currency.code() == "USD" || rated, "{currency}");
        }
    }
}
