//! The sales of a fleet, as the operator sees them.

use super::{Turnover, Usd};
use crate::day::Day;
use crate::need::Attention;

/// The sales of a fleet, and what needs attention in it.
#[derive(Clone, Debug, Default)]
pub struct FleetSales {
    /// The days with sales, in order.
    pub days: Vec<(Day, Turnover)>,
    /// The last day with sales before the period, if the period has no sales.
    pub last_before: Option<Day>,
    /// The sales of each device, in any order.
    pub devices: Vec<DeviceSales>,
    /// The best-selling products: by items, then by amount, then by `goodsId`.
    pub products: Vec<ProductRank>,
    /// Sales without an exchange rate: currency, and number of orders.
    pub without_rate: Vec<(String, i64)>,
    /// What needs attention now.
    pub attention: Attention,
}

/// The sales of a product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProductRank {
    /// The `goodsId`, of a known product or of other goods.
    pub goods_id: String,
    /// Its current name; for other goods, the name in their latest sale.
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
    /// The `deviceName`: the current one, or the last one in the group for a device that has left.
    pub name: String,
    /// Its sales.
    pub turnover: Turnover,
}
