//! Sales and their sums. DASH-10 says which orders are sales, on which day they count, and where
//! refunds count.

use std::collections::HashMap;

use crate::day::Day;
use crate::money::{Currency, Minor, MoneyFault};
use crate::order::{Line, Order, PayStatus, ShipmentStatus};
use crate::time::UnixMs;

/// When an order became a sale; `None` while it is none.
#[must_use]
pub fn sale_at(pay_end: Option<UnixMs>, pay_status: PayStatus) -> Option<UnixMs> {
    match pay_status {
        PayStatus::Paid | PayStatus::Refunding | PayStatus::Refunded => pay_end,
        PayStatus::Unpaid | PayStatus::Cancelled => None,
    }
}

/// A sale, as far as it is counted.
#[derive(Clone, Debug, PartialEq)]
pub struct Sale {
    /// When it was paid.
    pub at: UnixMs,
    /// Of its amounts.
    pub currency: Currency,
    /// What was paid, refunded or not.
    pub amount: Minor,
    /// What was given back.
    pub refund: Minor,
    /// Decides the shipment success rate.
    pub shipment: ShipmentStatus,
    /// What was sold, a line each.
    pub goods: Vec<Sold>,
}

/// One line of a sale, as far as it is counted.
#[derive(Clone, Debug, PartialEq)]
pub struct Sold {
    /// The product.
    pub goods_id: String,
    /// How many.
    pub items: i64,
    /// What was paid for the line.
    pub amount: Minor,
    /// The name it came with.
    pub name: Option<String>,
}

impl Sale {
    /// The sale that an order is, if it is one.
    #[must_use]
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

    /// What it adds to the sums of its day.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let failed = matches!(self.shipment, ShipmentStatus::Failed | ShipmentStatus::Partial);
        Totals {
            orders: 1,
            items: self.goods.iter().map(|sold| sold.items).sum(),
            amount: self.amount.0,
            refund: self.refund.0,
            shipped: i64::from(self.shipment == ShipmentStatus::Success),
            failed: i64::from(failed),
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

/// Sales of one currency together; amounts in its minor units. A difference when below zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// How many.
    pub orders: i64,
    /// Items of all their lines.
    pub items: i64,
    /// What was paid.
    pub amount: i64,
    /// What was given back.
    pub refund: i64,
    /// Orders that were shipped.
    pub shipped: i64,
    /// Orders whose shipment failed in whole or in part.
    pub failed: i64,
}

impl Totals {
    /// Adds `other` so many times: 1, or -1 to take it away.
    pub fn add(&mut self, other: Totals, times: i64) {
        self.orders += times * other.orders;
        self.items += times * other.items;
        self.amount += times * other.amount;
        self.refund += times * other.refund;
        self.shipped += times * other.shipped;
        self.failed += times * other.failed;
    }

    /// Whether there is nothing to count.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        *self == Totals::default()
    }
}

/// Decimals of a rate that are kept.
const RATE_DECIMALS: usize = 12;
/// The largest rate that is believed: no currency's unit is worth so many dollars.
const RATE_MAX: i64 = 1_000_000 * 10_i64.pow(12);
/// Decimals of a currency at most, and so of what is added up beyond those of its rate.
const EXPONENT_MAX: u32 = 4;
/// Parts of a dollar that are added up: 16 decimals, of which none is lost before the end.
const USD_PARTS: i128 = 10_i128.pow(12 + EXPONENT_MAX);

/// What one unit of a currency is worth in US dollars, in millionths of a millionth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate(i64);

/// Why a text is no rate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RateFault {
    /// Not a plain decimal number above zero.
    #[error("{0:?} is no decimal number above zero")]
    NotADecimal(String),
    /// More decimals than are kept.
    #[error("{0:?} has more than {RATE_DECIMALS} decimals")]
    TooFine(String),
    /// Over what is believed.
    #[error("{0:?} is more than a million dollars for one unit")]
    TooLarge(String),
}

impl Rate {
    /// A dollar's own.
    pub const ONE: Rate = Rate(10_i64.pow(12));

    /// Reads a decimal number such as `1.0837`, without ever rounding.
    ///
    /// # Errors
    /// No plain decimal number above zero, too many decimals, or too large.
    pub fn parse(text: &str) -> Result<Rate, RateFault> {
        let not_a_decimal = || RateFault::NotADecimal(text.to_owned());
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || !digits(fraction) {
            return Err(not_a_decimal());
        }
        let fraction = fraction.trim_end_matches('0');
        if fraction.len() > RATE_DECIMALS {
            return Err(RateFault::TooFine(text.to_owned()));
        }
        let parts = format!("{whole}{fraction:0<RATE_DECIMALS$}").parse::<i64>().ok();
        let parts = parts.filter(|parts| *parts <= RATE_MAX);
        let parts = parts.ok_or_else(|| RateFault::TooLarge(text.to_owned()))?;
        if parts == 0 { Err(not_a_decimal()) } else { Ok(Rate(parts)) }
    }

    /// The rate of a number as it is kept; `None` for one that [`Rate::parts`] never gave.
    #[must_use]
    pub fn from_parts(parts: i64) -> Option<Rate> {
        (1..=RATE_MAX).contains(&parts).then_some(Rate(parts))
    }

    /// The number to keep: millionths of a millionth of a dollar.
    #[must_use]
    pub const fn parts(self) -> i64 {
        self.0
    }
}

/// Dated rates: the latest on or before a day counts.
#[derive(Clone, Debug, Default)]
pub struct Rates(HashMap<&'static str, Vec<(Day, Rate)>>);

impl Rates {
    /// Adds a rate. Those of one currency come by day.
    pub fn add(&mut self, currency: Currency, day: Day, rate: Rate) {
        self.0.entry(currency.code()).or_default().push((day, rate));
    }

    /// The rate of a currency on a day, if there is one.
    #[must_use]
    pub fn on(&self, currency: Currency, day: Day) -> Option<Rate> {
        if currency == Currency::USD {
            return Some(Rate::ONE);
        }
        let dated = self.0.get(currency.code())?;
        let later = dated.partition_point(|(since, _)| *since <= day);
        dated.get(later.checked_sub(1)?).map(|(_, rate)| *rate)
    }
}

/// US dollars, exact while they are added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Usd(i128);

impl Usd {
    /// What an amount of a currency is worth.
    ///
    /// # Errors
    /// More than can be counted.
    pub fn of(amount: Minor, currency: Currency, rate: Rate) -> Result<Usd, MoneyFault> {
        let shift = 10_i128.pow(EXPONENT_MAX.saturating_sub(currency.exponent()));
        let worth = i128::from(amount.0).checked_mul(i128::from(rate.0));
        let worth = worth.and_then(|worth| worth.checked_mul(shift));
        worth.map(Usd).ok_or_else(|| MoneyFault::TooLarge(amount.0.to_string()))
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Usd) -> Usd {
        Usd(self.0.saturating_add(other.0))
    }

    /// Whole cents, rounded half-even: the one rounding that there is.
    #[must_use]
    pub fn cents(self) -> i64 {
        half_even(self.0, USD_PARTS / 100)
    }

    /// The share of each of `count`, in cents, rounded half-even from the exact sum; nothing for
    /// none.
    #[must_use]
    pub fn cents_each(self, count: i64) -> i64 {
        let parts = (USD_PARTS / 100).checked_mul(i128::from(count)).filter(|parts| *parts > 0);
        parts.map_or(0, |parts| half_even(self.0, parts))
    }
}

/// `part` of `whole` in tenths of a percent, rounded half-even; nothing of nothing.
#[must_use]
pub fn permille(part: i64, whole: i64) -> i64 {
    if whole > 0 { half_even(i128::from(part) * 1_000, i128::from(whole)) } else { 0 }
}

/// The nearest whole number of `parts`; half way, the even one.
fn half_even(value: i128, parts: i128) -> i64 {
    let (whole, rest) = (value.div_euclid(parts), value.rem_euclid(parts));
    // Never twice the rest: it might not fit.
    let up = match rest.cmp(&(parts - rest)) {
        std::cmp::Ordering::Less => false,
        std::cmp::Ordering::Greater => true,
        std::cmp::Ordering::Equal => whole % 2 != 0,
    };
    i64::try_from(whole + i128::from(up)).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
}

/// Sales of all currencies together, in dollars as far as there are rates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turnover {
    /// Every sale.
    pub orders: i64,
    /// Items of every sale.
    pub items: i64,
    /// What was paid in the sales that have a rate.
    pub amount: Usd,
    /// What was given back of them.
    pub refund: Usd,
    /// Sales without a rate, which are in no sum of dollars (DASH-12).
    pub unconverted_orders: i64,
    /// Items of the sales that have a rate.
    pub converted_items: i64,
    /// Orders that were shipped.
    pub shipped: i64,
    /// Orders whose shipment failed in whole or in part.
    pub failed: i64,
}

impl Turnover {
    /// Adds the sales of a day in one currency.
    ///
    /// # Errors
    /// More than can be counted.
    pub fn add(
        &mut self,
        rates: &Rates,
        day: Day,
        currency: Currency,
        totals: Totals,
    ) -> Result<(), MoneyFault> {
        self.orders += totals.orders;
        self.items += totals.items;
        self.shipped += totals.shipped;
        self.failed += totals.failed;
        match rates.on(currency, day) {
            Some(rate) => {
                self.amount = self.amount.plus(Usd::of(Minor(totals.amount), currency, rate)?);
                self.refund = self.refund.plus(Usd::of(Minor(totals.refund), currency, rate)?);
                self.converted_items += totals.items;
            }
            None => self.unconverted_orders += totals.orders,
        }
        Ok(())
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

    /// What an order that has a rate came to on average, in cents.
    #[must_use]
    pub fn average_order_cents(&self) -> i64 {
        self.amount.cents_each(self.orders - self.unconverted_orders)
    }
}

#[cfg(test)]
mod tests;
