//! The results that only a dry run has: the dates and totals of the file, the entries that would be
//! created for it, and its first orders as integrators would see them.

use std::collections::{BTreeMap, HashMap};

use kiosque_contract::OrderRecord;
use kiosque_model::fleet::{DeviceEntry, ProductEntry};
use kiosque_model::{Currency, GroupNo, Minor, OrderId, UnixMs};
use kiosque_store::{Error, Incoming, Store};

use super::missing_entries::MissingEntries;

/// The orders that are shown.
const SHOWN: usize = 3;

/// The additional results of a dry run. Rejected orders are not counted.
#[derive(Clone, Debug, PartialEq)]
pub struct Preview {
    /// The first and the last start of a trade; `None` without orders.
    pub trade_starts: Option<(UnixMs, UnixMs)>,
    /// The totals by currency.
    pub totals: BTreeMap<&'static str, Total>,
    /// The devices that are created.
    pub devices: Vec<DeviceEntry>,
    /// The products that are created.
    pub products: Vec<ProductEntry>,
    /// The first orders of the file, as integrators would see them.
    pub first_orders: Vec<OrderRecord>,
}

/// Orders of one currency. An order that occurs several times in the file counts once, as on its
/// last line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Total {
    /// The currency.
    pub currency: Currency,
    /// Their number.
    pub orders: u64,
    /// The sum of their `totalAmount`.
    pub amount: i128,
}

/// The orders of a file that are stored in a dry run.
#[derive(Debug, Default)]
pub(super) struct FileOrders {
    by_id: HashMap<(GroupNo, OrderId), FileOrder>,
}

#[derive(Clone, Copy, Debug)]
struct FileOrder {
    /// The first line of the file with the order.
    line: u64,
    trade_start: UnixMs,
    currency: Currency,
    total: Minor,
}

impl FileOrders {
    /// Adds an order of a line that is stored in a group.
    pub(super) fn add(&mut self, line: u64, order: &Incoming, group: GroupNo) -> Result<(), Error> {
        let (currency, total) = order.total()?;
        let new = FileOrder { line, trade_start: order.trade_start, currency, total };
        let known = self.by_id.entry((group, order.order_id.clone())).or_insert(new);
        *known = FileOrder { line: line.min(known.line), ..new };
        Ok(())
    }

    /// Returns the results.
    pub(super) async fn preview(
        self,
        store: &Store,
        missing: &MissingEntries,
    ) -> Result<Preview, Error> {
        let mut totals = BTreeMap::new();
        let mut trade_starts: Option<(UnixMs, UnixMs)> = None;
        for FileOrder { trade_start: at, currency, total, .. } in self.by_id.values() {
            let (first, last) = trade_starts.unwrap_or((*at, *at));
            trade_starts = Some((first.min(*at), last.max(*at)));
            let none = Total { currency: *currency, orders: 0, amount: 0 };
            let sum = totals.entry(currency.code()).or_insert(none);
            sum.orders += 1;
            sum.amount += i128::from(total.0);
        }
        let mut first: Vec<_> = self.by_id.into_iter().collect();
        first.sort_unstable_by_key(|(_, order)| order.line);
        first.truncate(SHOWN);
        let ids = first.into_iter().map(|(id, _)| id).collect();
        let (devices, products) = missing.created_entries();
        let first_orders = store.inventory().orders_by_id(ids).await?;
        Ok(Preview { trade_starts, totals, devices, products, first_orders })
    }
}
