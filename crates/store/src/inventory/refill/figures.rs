//! What aisles sold on the days that count, and which of them run out first.

use std::cmp::Reverse;
use std::collections::HashMap;

use kiosque_contract::inventory::RefillItem;
use kiosque_model::{Day, DeviceNo, UnixMs, Zone};

use crate::error::Error;
use crate::sql::row;
use crate::sums::device_block::{each_product, each_seller};

row! {
    pub(super) struct AisleRow {
        pub(super) device_no: DeviceNo,
        pub(super) device_code: String,
        pub(super) device_name: String,
        pub(super) since_ms: UnixMs,
        pub(super) aisle_code: String,
        pub(super) goods_id: String,
        pub(super) goods_name: String,
        pub(super) curr_stock: i64,
        pub(super) max_stock: i64,
    }
    pub(super) struct SalesRow<'r> {
        pub(super) day: Day,
        pub(super) device_block: i64,
        pub(super) products: &'r [u8],
    }
}

/// The number of days before today whose sales count.
const DAYS: i64 = 14;

/// Sorts aisles, and keeps those that run out first.
pub(super) fn keep_first(items: &mut Vec<RefillItem>, limit: usize) {
    items.sort_by(|one, other| urgency(one).cmp(&urgency(other)));
    items.truncate(limit);
}

/// Sorts by the time of running out; at the same time, the aisle that sells more comes first.
fn urgency(item: &RefillItem) -> (bool, Option<i64>, Reverse<i64>, &str, &str) {
    let left = item.tenths_of_days_left();
    (left.is_none(), left, Reverse(item.sold), &item.device_code, &item.aisle_code)
}

/// The sales of devices on the days that count.
pub(super) struct Sales {
    today: Day,
    /// The items that each device sold, by `goodsId`.
    sold: HashMap<String, HashMap<DeviceNo, i64>>,
    first_sale: HashMap<DeviceNo, Day>,
}

impl Sales {
    pub(super) fn before(today: Day) -> Sales {
        Sales { today, sold: HashMap::new(), first_sale: HashMap::new() }
    }

    /// Returns the first day and the last day that count.
    pub(super) fn days(&self) -> [Day; 2] {
        [Day(self.today.0 - DAYS), Day(self.today.0 - 1)]
    }

    /// Adds the products of a block of devices.
    pub(super) fn add(&mut self, row: SalesRow<'_>) -> Result<(), Error> {
        let SalesRow { day, device_block, products } = row;
        each_product(products, |product| {
            let goods_id = product.goods_id()?;
            let sold = match self.sold.get_mut(goods_id) {
                Some(sold) => sold,
                None => self.sold.entry(goods_id.to_owned()).or_default(),
            };
            each_seller(product.sellers, device_block, |device, [items, _]| {
                *sold.entry(device).or_default() += items;
                let first = self.first_sale.entry(device).or_insert(day);
                *first = day.min(*first);
            })
        })
    }

    /// Returns the aisles of a device with their sales.
    pub(super) fn items(&self, aisles: Vec<AisleRow>, zone: &Zone) -> Vec<RefillItem> {
        let mut shared: HashMap<String, i64> = HashMap::new();
        for aisle in &aisles {
            *shared.entry(aisle.goods_id.clone()).or_default() += 1;
        }
        let item = |aisle: AisleRow| {
            let sold = self.sold.get(&aisle.goods_id).and_then(|sold| sold.get(&aisle.device_no));
            // It may have sold before, in another group or through an import for a new device.
            let since = zone.day_of(aisle.since_ms);
            let first = self.first_sale.get(&aisle.device_no).map_or(since, |it| since.min(*it));
            RefillItem {
                aisles: shared.get(&aisle.goods_id).copied().unwrap_or(1),
                device_code: aisle.device_code,
                device_name: aisle.device_name,
                aisle_code: aisle.aisle_code,
                goods_id: aisle.goods_id,
                goods_name: aisle.goods_name,
                stock: aisle.curr_stock,
                capacity: aisle.max_stock,
                sold: sold.copied().unwrap_or_default(),
                days: (self.today.0 - first.0).clamp(1, DAYS),
            }
        };
        aisles.into_iter().map(item).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sums::device_block::{BlockSums, StoredBlock};

    const TODAY: Day = Day(100);
    const DAY_MS: i64 = 86_400_000;

    fn aisle(device: i64, aisle_code: &str, goods_id: &str, since: i64) -> AisleRow {
        AisleRow {
            device_no: DeviceNo(device),
            device_code: format!("d{device}"),
            device_name: String::new(),
            since_ms: UnixMs(since * DAY_MS),
            aisle_code: aisle_code.to_owned(),
            goods_id: goods_id.to_owned(),
            goods_name: String::new(),
            curr_stock: 6,
            max_stock: 9,
        }
    }

    /// Two aisles share the sales of their product. A device that was added lately sells by the day
    /// since then, or since its first sale.
    #[test]
    fn aisles_run_out_by_the_sales_of_their_device() {
        let mut sales = Sales::before(TODAY);
        assert_eq!(sales.days(), [Day(86), Day(99)]);
        for day in [95, 99] {
            let mut of_day = BlockSums::default();
            of_day.add_product(DeviceNo(1), "p", [10, 0]);
            of_day.add_product(DeviceNo(2), "p", [4, 0]);
            let stored = of_day.added_to(&StoredBlock::default(), 0).expect("sums");
            let products = &stored.products;
            sales.add(SalesRow { day: Day(day), device_block: 0, products }).expect("products");
        }
        let first = vec![aisle(1, "1", "p", 0), aisle(1, "2", "p", 0), aisle(1, "3", "q", 0)];
        let mut items = sales.items(vec![aisle(2, "1", "p", 98)], &Zone::utc());
        items.extend(sales.items(first, &Zone::utc()));
        keep_first(&mut items, 3);
        let figures = |item: &RefillItem| {
            let key = format!("{}/{}", item.device_code, item.aisle_code);
            (key, item.sold, item.aisles, item.days)
        };
        let found: Vec<_> = items.iter().map(figures).collect();
        let wanted = [("d2/1", 8, 1, 5), ("d1/1", 20, 2, 14), ("d1/2", 20, 2, 14)];
        assert_eq!(
            found,
            wanted.map(|(key, sold, aisles, days)| (key.to_owned(), sold, aisles, days))
        );
    }
}
