//! The stored rows of a roll-up.

use kiosque_model::DeviceNo;
use kiosque_model::sales::{Turnover, Usd};

use super::{DeviceSet, ProductTotals};
use crate::Error;
use crate::sql::row;

row! {
    pub(crate) struct ProductTotalsRow<'r> { items: i64, converted_items: i64, amount: &'r str }
    pub(crate) struct ProductMonthRow<'r> {
        pub(crate) goods_id: &'r str,
        totals: ProductTotalsRow<'r>,
        pub(crate) device_count: Option<i64>,
        /// `None` if a report needs the count alone.
        devices: Option<&'r str>,
    }
    pub(crate) struct DeviceMonthRow<'r> {
        pub(crate) device_no: DeviceNo,
        orders: i64,
        items: i64,
        amount: &'r str,
        refund: &'r str,
        unconverted_orders: i64,
        converted_items: i64,
        shipped: i64,
        failed: i64,
    }
}

impl ProductTotalsRow<'_> {
    pub(crate) fn totals(&self) -> Result<ProductTotals, Error> {
        let ProductTotalsRow { items, converted_items, amount } = *self;
        Ok(ProductTotals { items, converted_items, amount: parse_usd(amount)? })
    }
}

impl ProductMonthRow<'_> {
    pub(crate) fn totals(&self) -> Result<ProductTotals, Error> {
        self.totals.totals()
    }

    /// Returns the devices that sold the product, if their set was read.
    pub(crate) fn devices(&self) -> Result<Option<DeviceSet>, Error> {
        self.devices.map(DeviceSet::parse).transpose()
    }
}

impl DeviceMonthRow<'_> {
    pub(crate) fn turnover(&self) -> Result<Turnover, Error> {
        let DeviceMonthRow { orders, items, unconverted_orders, converted_items, .. } = *self;
        let (amount, refund) = (parse_usd(self.amount)?, parse_usd(self.refund)?);
        let (shipped, failed) = (self.shipped, self.failed);
        Ok(Turnover {
            orders,
            items,
            amount,
            refund,
            unconverted_orders,
            converted_items,
            shipped,
            failed,
        })
    }
}

/// Returns the text to store of an amount.
pub(super) fn usd_text(amount: Usd) -> String {
    amount.parts().to_string()
}

fn parse_usd(text: &str) -> Result<Usd, Error> {
    let parts = text.parse().map_err(|_| Error::Data(format!("{text:?} is no amount")))?;
    Ok(Usd::from_parts(parts))
}
