//! The stored data as the operator reads it: a status, and lists. Commands print these types as
//! JSON, and the operator's calls answer with them. Times are Unix milliseconds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AuditDetails, FleetFile, OrderRecord};

/// The state of the data, and of the servers on it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// The version of the program that answers.
    pub version: String,
    /// The number of the last migration of the layout.
    pub layout: i64,
    /// The platform's time zone.
    pub time_zone: String,
    /// Groups, inactive ones included.
    pub group_count: i64,
    /// Accounts, disabled ones included.
    pub account_count: i64,
    /// Accounts with a session that has not expired.
    pub session_count: i64,
    /// Keys for the operator's calls that are not revoked.
    pub key_count: i64,
    /// Products.
    pub product_count: i64,
    /// Devices, disabled ones included.
    pub device_count: i64,
    /// Orders, archived ones included.
    pub order_count: i64,
    /// Archived orders.
    pub archived_count: i64,
    /// The last order or heartbeat of any device; null without one.
    pub last_active_timestamp: Option<i64>,
    /// The date of the latest exchange rate, `yyyy-MM-dd`; null without rates.
    pub last_rate_date: Option<String>,
    /// The size of the database.
    pub database_bytes: u64,
    /// The size of the write-ahead log; null for a database server.
    pub log_bytes: Option<u64>,
    /// The last backup that `kiosque backup` made; null without one.
    pub last_backup: Option<LastBackup>,
    /// Times at which nodes that share a database server last renewed their leases, of the last
    /// 30 seconds. A command is a node while it runs.
    pub node_timestamps: Vec<i64>,
}

/// The last backup.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LastBackup {
    /// When it was complete.
    pub timestamp: i64,
    /// Its file, as the command named it, absolute.
    pub file: String,
    /// Its size.
    pub bytes: u64,
    /// The number of orders in it.
    pub orders: i64,
}

/// A page of a list, in the order of its key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "{T}List")]
pub struct Listed<T> {
    /// The entries.
    pub entries: Vec<T>,
    /// `cursor` of the next page; null on the last page.
    pub next: Option<String>,
}

/// A group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GroupItem {
    /// The `groupId`.
    pub group_id: String,
    /// Its name.
    pub group_name: String,
    /// Whether accounts can select it.
    pub active: bool,
    /// Devices that it owns now.
    pub device_count: i64,
    /// Accounts that may select it.
    pub account_count: i64,
    /// Its orders, archived ones included.
    pub order_count: i64,
    /// Archived ones.
    pub archived_count: i64,
    /// The last order or heartbeat of its devices.
    pub last_active_timestamp: Option<i64>,
}

/// An account of an integrator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccountItem {
    /// The login name.
    pub account: String,
    /// Its name for people.
    pub display_name: String,
    /// Whether it may log in to the interface.
    pub third_party_api: bool,
    /// Whether it may log in at all.
    pub enabled: bool,
    /// Its groups; a login selects the first active one.
    pub group_ids: Vec<String>,
    /// The end of its session; null without one.
    pub session_expires_timestamp: Option<i64>,
}

/// A session that has not expired.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionItem {
    /// The login name of its account.
    pub account: String,
    /// The group that it selects.
    pub group_id: Option<String>,
    /// The login that opened it.
    pub opened_timestamp: i64,
    /// Its end.
    pub expires_timestamp: i64,
    /// The address of that login.
    pub source: String,
    /// The id of that login's request.
    pub request_id: String,
}

/// A product.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProductItem {
    /// The `goodsId`.
    pub goods_id: String,
    /// Its name.
    pub goods_name: String,
    /// Its category.
    pub category: String,
    /// ISO 4217 code of its prices.
    pub currency: String,
    /// Its default price, minor units; null if it has none.
    pub default_price: Option<i64>,
}

/// A device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeviceItem {
    /// The `deviceCode`.
    pub device_code: String,
    /// Its name.
    pub device_name: String,
    /// Its model.
    pub device_model: String,
    /// Its address.
    pub address: String,
    /// Whether device pages list it.
    pub enabled: bool,
    /// The group that owns it now.
    pub group_id: String,
    /// The next move; null if none is planned.
    pub next_move: Option<PlannedMove>,
    /// When it was created.
    pub created_timestamp: i64,
    /// Its last order or heartbeat, with any owner.
    pub last_active_timestamp: Option<i64>,
    /// Items in its aisles, as last reported.
    pub total_curr_stock: i64,
    /// Its orders with all owners, archived ones included.
    pub order_count: i64,
    /// Archived ones.
    pub archived_count: i64,
}

/// A move of a device that has not taken effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlannedMove {
    /// The next owner.
    pub group_id: String,
    /// When it takes effect.
    pub since_timestamp: i64,
}

/// A device with its owners, its orders by owner, and its aisles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeviceDetail {
    /// The device.
    #[serde(flatten)]
    pub device: DeviceItem,
    /// Its owners, the first one first.
    pub owners: Vec<DeviceOwner>,
    /// Its orders by owner.
    pub ledgers: Vec<DeviceLedger>,
    /// Its aisles, in their order.
    pub aisles: Vec<AisleItem>,
}

/// A period in which a group owns a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeviceOwner {
    /// The owner.
    pub group_id: String,
    /// The start; null for the first owner, who owns all earlier time.
    pub since_timestamp: Option<i64>,
    /// The end; null if none is planned.
    pub until_timestamp: Option<i64>,
}

/// The orders that a device has with one of its owners, or with the group of a planned move that
/// was replaced after the group had received orders.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeviceLedger {
    /// The group.
    pub group_id: String,
    /// Orders, archived ones included.
    pub order_count: i64,
    /// Archived ones.
    pub archived_count: i64,
    /// The last order or heartbeat.
    pub last_active_timestamp: Option<i64>,
}

/// An aisle. Prices are minor units of the product's currency.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AisleItem {
    /// Identifies it in its device.
    pub aisle_code: String,
    /// Its cabinet.
    pub cabinet_code: String,
    /// Its layer.
    pub layer: i64,
    /// The product in it.
    pub goods_id: String,
    /// The price asked.
    pub price: i64,
    /// The price displayed.
    pub show_price: i64,
    /// Items in it.
    pub curr_stock: i64,
    /// Its capacity.
    pub max_stock: i64,
    /// Whether it sells.
    pub enabled: bool,
    /// Whether it is out of order.
    pub broken: bool,
}

/// An exchange rate, valid from its date until the next one of its currency.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RateItem {
    /// ISO 4217 code.
    pub currency: String,
    /// `yyyy-MM-dd`.
    pub date: String,
    /// US dollars for one unit, a decimal number with at most 12 decimals.
    pub usd_per_unit: String,
}

/// An order as integrators see it, with its owner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OrderItem {
    /// The group that owns it.
    pub group_id: String,
    /// Whether it is archived.
    pub archived: bool,
    /// The record of an order list.
    #[serde(flatten)]
    pub record: OrderRecord,
}

/// The query string of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListFilter {
    /// The largest number of entries, 100 by default.
    #[schemars(with = "Option<i64>", range(min = 1, max = 1_000))]
    pub limit: Option<String>,
    /// `next` of the previous page; empty or absent for the first page.
    pub cursor: Option<String>,
}

/// The query string of the list of devices.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeviceListFilter {
    /// Only the devices that this group owns now.
    #[schemars(length(min = 1))]
    pub group_id: Option<String>,
    /// The largest number of entries, 100 by default.
    #[schemars(with = "Option<i64>", range(min = 1, max = 1_000))]
    pub limit: Option<String>,
    /// `next` of the previous page; empty or absent for the first page.
    pub cursor: Option<String>,
}

/// The query string of the list of orders.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OrderListFilter {
    /// Only orders of this group.
    #[schemars(length(min = 1))]
    pub group_id: Option<String>,
    /// Only orders of this device.
    #[schemars(length(min = 1))]
    pub device_code: Option<String>,
    /// Only orders with one of these states of the shipment, which commas separate: `none`,
    /// `success`, `in progress`, `failed`, `partial`.
    #[schemars(length(min = 1))]
    pub shipment: Option<String>,
    /// Only orders with one of these states of the payment: `unpaid`, `paid`, `cancelled`,
    /// `refunding`, `refunded`.
    #[schemars(length(min = 1))]
    pub payment: Option<String>,
    /// Only orders from this time on: sales are dated by their payment, all others by the start of
    /// the trade. RFC 3339, or a date or `yyyy-MM-dd HH:mm:ss` in the platform's time zone.
    #[schemars(length(min = 1))]
    pub since: Option<String>,
    /// Only orders before this time, which are dated in the same way.
    #[schemars(length(min = 1))]
    pub until: Option<String>,
    /// The largest number of entries, 100 by default. With `shipment`, `payment`, `since` or
    /// `until` a page may have fewer, and not be the last one.
    #[schemars(with = "Option<i64>", range(min = 1, max = 1_000))]
    pub limit: Option<String>,
    /// `next` of the previous page; empty or absent for the first page.
    pub cursor: Option<String>,
}

/// The query string of one device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeviceChoice {
    /// The code of the device.
    #[schemars(required, length(min = 1))]
    pub device_code: Option<String>,
}

/// A page of the fleet. Sent to `POST /operator/v1/fleet`, it changes nothing.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FleetPage {
    /// The entries, without passwords and their hashes. A device has its last owner, which may be
    /// that of a planned move.
    pub fleet: FleetFile,
    /// `cursor` of the next page; null on the last page.
    pub next: Option<String>,
}

/// An import of orders or of exchange rates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportItem {
    /// Its id.
    pub import_id: String,
    /// When it began.
    pub started_timestamp: i64,
    /// When it ended; null while it runs, and at first if its process was lost.
    pub ended_timestamp: Option<i64>,
    /// Whether it runs, is complete, or was interrupted.
    #[schemars(with = "crate::schema::ImportState")]
    pub state: ImportState,
    /// Its user, its files, and the counts once it is complete; the reason if it was interrupted.
    pub details: AuditDetails,
}

/// The state of an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ImportState {
    /// It runs, and has reported progress within the last minute.
    Running,
    /// All of its file was read.
    Complete,
    /// It ended early; a repetition stores the rest of its file.
    Interrupted,
}

/// An aisle that sells, and how long its stock lasts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefillItem {
    /// The code of its device.
    pub device_code: String,
    /// The name of its device.
    pub device_name: String,
    /// Its code within the device.
    pub aisle_code: String,
    /// The product that it sells.
    pub goods_id: String,
    /// The name of the product; empty if it is not known.
    pub goods_name: String,
    /// Items in it, as last reported.
    pub stock: i64,
    /// Items that fit into it.
    pub capacity: i64,
    /// Items of the product that the device sold on the last `days` days before today, in every
    /// group that it was in.
    pub sold: i64,
    /// Days before today that count: fourteen, or those since the device came to its group or first
    /// sold.
    pub days: i64,
    /// Aisles of the device that sell the product, which share its sales.
    pub aisles: i64,
}

impl RefillItem {
    /// Returns how many tenths of days the stock lasts; `None` if the device does not sell the
    /// product, and the aisle is not empty.
    pub fn tenths_of_days_left(&self) -> Option<i64> {
        match (self.stock, self.sold) {
            (..=0, _) => Some(0),
            (_, ..=0) => None,
            (stock, sold) => Some(stock.saturating_mul(10 * self.days * self.aisles) / sold),
        }
    }

    /// Returns how many tenths of an item the aisle sells a day, rounded down.
    pub fn tenths_sold_a_day(&self) -> i64 {
        self.sold.saturating_mul(10) / (self.days * self.aisles).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aisles_that_share_a_product_share_its_sales() {
        let item = |stock, sold, days, aisles| RefillItem {
            device_code: "d".to_owned(),
            device_name: "D".to_owned(),
            aisle_code: "1".to_owned(),
            goods_id: "p".to_owned(),
            goods_name: "P".to_owned(),
            stock,
            capacity: 12,
            sold,
            days,
            aisles,
        };
        for (stock, sold, days, aisles, left, a_day) in [
            (6, 28, 14, 1, Some(30), 20),
            (6, 28, 14, 2, Some(60), 10),
            (5, 3, 7, 1, Some(116), 4),
            (0, 28, 14, 1, Some(0), 20),
            (0, 0, 14, 1, Some(0), 0),
            (-1, 28, 14, 1, Some(0), 20),
            (6, 0, 14, 1, None, 0),
            (1, 5, 0, 1, Some(0), 50),
        ] {
            let item = item(stock, sold, days, aisles);
            let found = (item.tenths_of_days_left(), item.tenths_sold_a_day());
            assert_eq!(found, (left, a_day), "{item:?}");
        }
    }
}
