//! The sales of a product.

use kiosque_model::sales::{Rate, Usd};
use kiosque_model::{Currency, Minor};

use crate::Error;

/// Sales of a product.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ProductTotals {
    pub(super) items: i64,
    /// Items with an exchange rate.
    pub(super) converted_items: i64,
    /// The amount paid for these.
    pub(super) amount: Usd,
}

impl ProductTotals {
    /// Returns sales in one currency, of which the rate is known or not.
    pub(super) fn of(
        (items, amount): (i64, Minor),
        (currency, rate): (Currency, Option<Rate>),
    ) -> Result<ProductTotals, Error> {
        let Some(rate) = rate else {
            return Ok(ProductTotals { items, ..ProductTotals::default() });
        };
        let amount = Usd::of(amount, currency, rate)?;
        Ok(ProductTotals { items, converted_items: items, amount })
    }

    pub(super) fn join(&mut self, other: ProductTotals) {
        self.items += other.items;
        self.converted_items += other.converted_items;
        self.amount = self.amount.plus(other.amount);
    }
}
