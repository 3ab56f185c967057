//! The sales of a fleet, as the operator sees them.

use super::{Turnover, Usd};
use crate::day::Day;
use crate::need::Attention;

/// The sales of a fleet, and what needs attention in it.
#[derive(Clone, Debug, Default)]
pub struct FleetSales {
    /// The days with sales, in order.
    pub days: Vec<(Day, Turnover)>,
    /// The last day with sales before the first day of a query whose days have none.
    pub last_before: Option<Day>,
    /// The sales of each device, in any order.
    pub devices: Vec<DeviceSales>,
    /// The products that sold best: by items, then by amount, then by `goodsId`.
    pub products: Vec<ProductRank>,
    /// Sales without an exchange rate: currency, and number of orders.
    pub without_rate: Vec<(String, i64)>,
    /// What needs attention now.
    pub attention: Attention,
}

/// The sales of a product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProductRank {
    /// `goodsId`, of a known product or of other goods.
    pub goods_id: String,
    /// Its present name; of other goods, the name of their latest sale.
    pub goods_name: Option<String>,
    /// Items sold.
    pub items: i64,
    /// The amount paid for the items that have an exchange rate.
    pub amount: Usd,
}

/// The sales of one device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceSales {
    /// `deviceCode`.
    pub code: String,
    /// `deviceName`: the present one, or for a device that has left, its last one in the group.
    pub name: String,
    /// Its sales.
    pub turnover: Turnover,
}
