//! Sales and their sums. DASH-10 says which orders are sales, on which day they count, and where
//! refunds count.

mod fleet;

use std::collections::HashMap;
use std::fmt;

use crate::day::Day;
use crate::money::{Currency, DecimalError, Minor, units_of_decimal};
use crate::order::{Line, Order, PayStatus, ShipmentStatus};
use crate::time::UnixMs;
pub use fleet::{DeviceSales, FleetSales, ProductRank};

/// Returns the time from which an order is a sale; `None` if it is not one.
pub fn sale_at(pay_end: Option<UnixMs>, pay_status: PayStatus) -> Option<UnixMs> {
    match pay_status {
        PayStatus::Paid | PayStatus::Refunding | PayStatus::Refunded => pay_end,
        PayStatus::Unpaid | PayStatus::Cancelled => None,
    }
}

/// The figures of a sale that enter the sums.
#[derive(Clone, Debug, PartialEq)]
pub struct Sale {
    /// Time of the payment.
    pub at: UnixMs,
    /// Currency of its amounts.
    pub currency: Currency,
    /// Amount paid, before refunds.
    pub amount: Minor,
    /// Amount refunded.
    pub refund: Minor,
    /// Shipment state, for the success rate.
    pub shipment: ShipmentStatus,
    /// Products sold, by line.
    pub goods: Vec<Sold>,
}

/// The figures of a line that enter the sums.
#[derive(Clone, Debug, PartialEq)]
pub struct Sold {
    /// Product.
    pub goods_id: String,
    /// Number of items.
    pub items: i64,
    /// Amount paid for the line.
    pub amount: Minor,
    /// Product name in the order.
    pub name: Option<String>,
}

impl Sale {
    /// Returns the sale of an order; `None` if the order is not a sale.
    pub fn of(order: &Order) -> Option<Sale> {
        Some(Sale {
            at: sale_at(order.pay_end, order.pay_status)?,
            currency: order.currency,
            amount: order.pay_amount,
            refund: order.refund_amount,
            shipment: order.shipment_status,
            goods: order.lines.iter().map(Sold::of).collect(),
        })
    }

    /// Returns the sale's contribution to the sums of its day.
    pub fn totals(&self) -> Totals {
        Totals {
            orders: 1,
            items: self.goods.iter().map(|sold| sold.items).sum(),
            amount: self.amount.0,
            refund: self.refund.0,
            shipped: i64::from(self.shipment == ShipmentStatus::Success),
            failed: i64::from(self.shipment.has_failed()),
        }
    }
}

impl Sold {
    fn of(line: &Line) -> Sold {
        Sold {
            goods_id: line.goods_id.clone(),
            items: line.count,
            amount: line.pay_amount,
            name: line.goods_name.clone(),
        }
    }
}

/// Sums over sales in one currency, or differences of such sums. Amounts are in minor units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Number of sales.
    pub orders: i64,
    /// Number of items of all lines.
    pub items: i64,
    /// Amount paid.
    pub amount: i64,
    /// Amount refunded.
    pub refund: i64,
    /// Orders that were shipped.
    pub shipped: i64,
    /// Orders whose shipment failed, fully or partially.
    pub failed: i64,
}

impl Totals {
    /// Adds `other`, multiplied by `times`: 1 adds it, -1 subtracts it.
    pub fn add(&mut self, other: Totals, times: i64) {
        self.orders += times * other.orders;
        self.items += times * other.items;
        self.amount += times * other.amount;
        self.refund += times * other.refund;
        self.shipped += times * other.shipped;
        self.failed += times * other.failed;
    }

    /// Whether all sums are zero.
    pub fn is_zero(&self) -> bool {
        *self == Totals::default()
    }
}

/// Number of stored decimals of a rate.
const RATE_DECIMALS: usize = 12;
/// Largest accepted rate: a million dollars per unit.
const RATE_MAX: i64 = 1_000_000 * 10_i64.pow(12);
/// Largest number of decimals of a currency; products with a rate have that many more.
const EXPONENT_MAX: u32 = 4;
/// Units of a dollar in sums: 16 decimals, so that sums are exact.
const USD_PARTS: i128 = 10_i128.pow(12 + EXPONENT_MAX);

/// US dollars per unit of a currency, in units of 10^-12.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate(i64);

impl Rate {
    /// The rate of the US dollar.
    pub const ONE: Rate = Rate(10_i64.pow(12));

    /// Parses a decimal number such as `1.0837`. Never rounds.
    ///
    /// # Errors
    /// Not a decimal number above zero, too many decimals, or too large.
    pub fn parse(text: &str) -> Result<Rate, String> {
        Err(match units_of_decimal(text, RATE_DECIMALS, RATE_MAX) {
            Ok(parts @ 1..) => return Ok(Rate(parts)),
            Ok(_) | Err(DecimalError::NotADecimal) => {
                format!("{text:?} is not a decimal number above zero")
            }
            Err(DecimalError::TooFine) => {
                format!("{text:?} has more than {RATE_DECIMALS} decimals")
            }
            Err(DecimalError::TooLarge) => {
                format!("{text:?} is more than a million dollars per unit")
            }
        })
    }

    /// Returns the rate for a stored number; `None` if [`Rate::parts`] cannot have returned it.
    pub fn from_parts(parts: i64) -> Option<Rate> {
        (1..=RATE_MAX).contains(&parts).then_some(Rate(parts))
    }

    /// Returns the number to store: units of 10^-12 dollars.
    pub const fn parts(self) -> i64 {
        self.0
    }
}

/// Formats the rate as a decimal number that [`Rate::parse`] reads, without trailing zeros.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = format!("{:0width$}", self.0, width = RATE_DECIMALS + 1);
        let (whole, fraction) = digits.split_at(digits.len() - RATE_DECIMALS);
        match fraction.trim_end_matches('0') {
            "" => f.write_str(whole),
            fraction => write!(f, "{whole}.{fraction}"),
        }
    }
}

/// Dated rates; on each day the latest one applies.
#[derive(Clone, Debug, Default)]
pub struct Rates(HashMap<&'static str, Vec<(Day, Rate)>>);

impl Rates {
    /// Adds a rate. The rates of a currency may be added in any order.
    pub fn add(&mut self, currency: Currency, day: Day, rate: Rate) {
        let dated = self.0.entry(currency.code()).or_default();
        let place = dated.partition_point(|(since, _)| *since <= day);
        dated.insert(place, (day, rate));
    }

    /// Returns the rate of a currency on a day.
    pub fn on(&self, currency: Currency, day: Day) -> Option<Rate> {
        self.of(currency).on(day)
    }

    /// Returns the rates of a currency.
    pub fn of(&self, currency: Currency) -> CurrencyRates<'_> {
        if currency == Currency::USD {
            return CurrencyRates::One;
        }
        CurrencyRates::Dated(self.0.get(currency.code()).map_or(&[], Vec::as_slice))
    }
}

/// The rates of one currency.
#[derive(Clone, Copy, Debug)]
pub enum CurrencyRates<'a> {
    /// The rate of the US dollar.
    One,
    /// Rates by the first day of their validity, each until the next one.
    Dated(&'a [(Day, Rate)]),
}

impl CurrencyRates<'_> {
    /// Returns the rate on a day.
    pub fn on(self, day: Day) -> Option<Rate> {
        match self {
            CurrencyRates::One => Some(Rate::ONE),
            CurrencyRates::Dated(dated) => {
                let later = dated.partition_point(|(since, _)| *since <= day);
                dated.get(later.checked_sub(1)?).map(|(_, rate)| *rate)
            }
        }
    }
}

/// An amount in US dollars, in units of 10^-16, so that sums are exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Usd(i128);

impl Usd {
    /// Converts an amount, saturating.
    pub fn of(amount: Minor, currency: Currency, rate: Rate) -> Usd {
        // Most refunds are zero.
        if amount == Minor(0) {
            return Usd(0);
        }
        let shift = 10_i64.pow(EXPONENT_MAX.saturating_sub(currency.exponent()));
        // The product of two 64-bit numbers has at most 128 bits, and needs no check.
        Usd(match amount.0.checked_mul(shift) {
            Some(shifted) => i128::from(shifted) * i128::from(rate.0),
            None => (i128::from(amount.0) * i128::from(rate.0)).saturating_mul(shift.into()),
        })
    }

    /// Returns the sum, saturating.
    #[must_use]
    pub fn plus(self, other: Usd) -> Usd {
        Usd(self.0.saturating_add(other.0))
    }

    /// Returns the amount in cents, rounded half-even. Sums are rounded only here.
    pub fn cents(self) -> i64 {
        half_even(self.0, USD_PARTS / 100)
    }

    /// Returns the amount divided by `count`, in cents, rounded half-even; 0 if `count` is 0.
    pub fn cents_each(self, count: i64) -> i64 {
        let parts = (USD_PARTS / 100).checked_mul(i128::from(count)).filter(|parts| *parts > 0);
        parts.map_or(0, |parts| half_even(self.0, parts))
    }
}

/// Returns `part / whole` in tenths of a percent, rounded half-even; 0 if `whole` is 0.
pub fn permille(part: i64, whole: i64) -> i64 {
    if whole > 0 { half_even(i128::from(part) * 1_000, i128::from(whole)) } else { 0 }
}

/// Returns `value / parts`, rounded to the nearest integer, halves to even.
fn half_even(value: i128, parts: i128) -> i64 {
    let (whole, rest) = (value.div_euclid(parts), value.rem_euclid(parts));
    // Doubling the remainder could overflow.
    let up = match rest.cmp(&(parts - rest)) {
        std::cmp::Ordering::Less => false,
        std::cmp::Ordering::Greater => true,
        std::cmp::Ordering::Equal => whole % 2 != 0,
    };
    i64::try_from(whole + i128::from(up)).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
}

/// Sums over sales in all currencies, in dollars where there are rates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turnover {
    /// Number of sales.
    pub orders: i64,
    /// Number of items of all sales.
    pub items: i64,
    /// Amount paid, of sales with a rate.
    pub amount: Usd,
    /// Amount refunded, of sales with a rate.
    pub refund: Usd,
    /// Number of sales without a rate, which are in no sum of dollars (DASH-12).
    pub unconverted_orders: i64,
    /// Number of items of sales with a rate.
    pub converted_items: i64,
    /// Orders that were shipped.
    pub shipped: i64,
    /// Orders whose shipment failed, fully or partially.
    pub failed: i64,
}

impl Turnover {
    /// Adds sales in one currency, with a known rate or without one.
    pub fn add(&mut self, (currency, rate): (Currency, Option<Rate>), totals: Totals) {
        self.orders += totals.orders;
        self.items += totals.items;
        self.shipped += totals.shipped;
        self.failed += totals.failed;
        match rate {
            Some(rate) => {
                self.amount = self.amount.plus(Usd::of(Minor(totals.amount), currency, rate));
                self.refund = self.refund.plus(Usd::of(Minor(totals.refund), currency, rate));
                self.converted_items += totals.items;
            }
            None => self.unconverted_orders += totals.orders,
        }
    }

    /// Adds other sales.
    pub fn join(&mut self, other: &Turnover) {
        self.orders += other.orders;
        self.items += other.items;
        self.amount = self.amount.plus(other.amount);
        self.refund = self.refund.plus(other.refund);
        self.unconverted_orders += other.unconverted_orders;
        self.converted_items += other.converted_items;
        self.shipped += other.shipped;
        self.failed += other.failed;
    }

    /// Returns the average amount of an order with a rate, in cents.
    pub fn average_order_cents(&self) -> i64 {
        self.amount.cents_each(self.orders - self.unconverted_orders)
    }
}

#[cfg(test)]
mod tests;
