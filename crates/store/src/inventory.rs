//! Reads for the operator, who has no session: lists of the stored data in parts, and its totals.
//!
//! The cost of a read here does not grow with the number of orders: counts of orders come from the
//! ledgers.

mod accounts;
mod device_orders;
mod devices;
mod fleet_file;
mod groups;
mod orders;
mod overview;
mod products;
mod rates;
mod refill;

use crate::listing::{Listed, Listing};
use crate::sql::{numbers, statements};
pub use accounts::Passwords;
pub use device_orders::{
    DeviceOrders, FoundOrders, NumberedOrders, OrderPlace, OrderPosition, SaleTimes,
};
pub use devices::{DeviceSearch, FoundDevice, FoundDevices};
pub use fleet_file::FleetPart;
pub use orders::{DamagedOrder, ExportedOrder, OrderFilter, OrderKey, OrdersOf};
pub use overview::Maintenance;
pub(crate) use overview::{damage_found, order_count};
pub use rates::RateKey;

statements! {
    [
        accounts, device_orders, devices, fleet_file, groups, orders, overview, products, rates,
        refill
    ]
}
