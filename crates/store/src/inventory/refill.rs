//! The aisles of a fleet, the first to run out first.

use std::cmp::Reverse;
use std::collections::HashMap;

use kiosque_contract::inventory::RefillItem;
use kiosque_model::{Day, DeviceNo, GroupId, GroupNo, UnixMs, Zone};

use super::numbers;
use crate::db::{Deadline, Read};
use crate::error::Error;
use crate::owners::with_earlier_groups;
use crate::sql::{row, statements};
use crate::sums::device_block::{each_product, each_seller};
use crate::views::Inventory;

row! {
    struct AisleRow {
        device_no: DeviceNo,
        device_code: String,
        device_name: String,
        since_ms: UnixMs,
        aisle_code: String,
        goods_id: String,
        goods_name: String,
        curr_stock: i64,
        max_stock: i64,
    }
    struct SalesRow<'r> { day: Day, device_block: i64, products: &'r [u8] }
}

statements! {
    /// Active groups by number; an empty id selects all.
    GROUPS(group_id) -> GroupNo = "select group_no from groups
        where active and ($group_id = '' or group_id = $group_id) order by group_no";
    /// The enabled aisles of the devices that groups own now and device pages list, grouped by
    /// device.
    AISLES(now_ms) -> AisleRow = "select d.device_no, d.device_code, d.device_name,
            case when o.since_ms > d.created_at_ms then o.since_ms else d.created_at_ms end
                as since_ms, a.aisle_code, a.goods_id,
            coalesce((select p.goods_name from products p where p.goods_id = a.goods_id), '')
                as goods_name,
            a.curr_stock, a.max_stock
        from {rows r: group_no bigint} cross join device_owners o cross join devices d
        cross join aisles a
        where o.group_no = r.group_no and o.since_ms <= $now_ms and o.until_ms > $now_ms
            and o.listed and d.device_no = o.device_no and a.device_no = o.device_no
            and a.enabled and not a.broken and a.max_stock > 0
        order by d.device_no";
    SALES(first_day, last_day) -> SalesRow<'_> = "select s.day, s.device_block, s.products
        from {rows r: group_no bigint} cross join sales_by_device s
        where s.group_no = r.group_no and s.day >= $first_day and s.day <= $last_day";
}

/// The number of days before today whose sales count.
const DAYS: i64 = 14;
/// Additional aisles that are collected before sorting.
const COLLECTED: usize = 10_000;

impl Inventory<'_> {
    /// Returns the aisles of a group, or of all groups, that run out first, in that order; with a
    /// product, only those that contain it. The sales of a device are its sales in all groups.
    ///
    /// # Errors
    /// The store failed.
    pub async fn refill(
        self,
        group: Option<GroupId>,
        product: Option<String>,
        limit: usize,
        now: UnixMs,
    ) -> Result<Vec<RefillItem>, Error> {
        let zone = self.0.zone.clone();
        let list = async move |read: &Read<'_>| {
            let id = group.as_ref().map_or("", GroupId::as_str);
            let groups: Vec<GroupNo> = read.all(&GROUPS, &[id.into()]).await?;
            let sales = Sales::read(read, &groups, now, &zone).await?;
            let (mut items, mut device) = (Vec::new(), Vec::new());
            let is_wanted = |item: &RefillItem| {
                product.as_ref().is_none_or(|product| *product == item.goods_id)
            };
            let rows = numbers(groups);
            read.each_of(&AISLES, &rows, &[now.into()], |row| {
                let aisle: AisleRow = row.read()?;
                if device.last().is_some_and(|last: &AisleRow| last.device_no != aisle.device_no) {
                    let of_device = sales.items(std::mem::take(&mut device), &zone).into_iter();
                    items.extend(of_device.filter(is_wanted));
                    if items.len() > limit + COLLECTED {
                        keep_first(&mut items, limit);
                    }
                }
                device.push(aisle);
                Ok(())
            })
            .await?;
            items.extend(sales.items(device, &zone).into_iter().filter(is_wanted));
            keep_first(&mut items, limit);
            Ok(items)
        };
        self.0.db.read(Deadline::OfRequest, list).await
    }
}

/// Sorts aisles, and keeps those that run out first.
fn keep_first(items: &mut Vec<RefillItem>, limit: usize) {
    items.sort_by(|one, other| urgency(one).cmp(&urgency(other)));
    items.truncate(limit);
}

/// Sorts by the time of running out; at the same time, the aisle that sells more comes first.
fn urgency(item: &RefillItem) -> (bool, Option<i64>, Reverse<i64>, &str, &str) {
    let left = item.tenths_of_days_left();
    (left.is_none(), left, Reverse(item.sold), &item.device_code, &item.aisle_code)
}

/// The sales of devices on the days that count.
struct Sales {
    today: Day,
    /// The items that each device sold, by `goodsId`.
    sold: HashMap<String, HashMap<DeviceNo, i64>>,
    first_sale: HashMap<DeviceNo, Day>,
}

impl Sales {
    /// Reads the sales of the current devices of groups, and of others.
    async fn read(
        read: &Read<'_>,
        groups: &[GroupNo],
        now: UnixMs,
        zone: &Zone,
    ) -> Result<Sales, Error> {
        let today = zone.day_of(now);
        let first_day = Day(today.0 - DAYS);
        let groups = with_earlier_groups(read, groups, zone.start_of(first_day), now).await?;
        let days = [first_day.into(), Day(today.0 - 1).into()];
        let mut sales = Sales { today, sold: HashMap::new(), first_sale: HashMap::new() };
        read.each_of(&SALES, &numbers(groups), &days, |row| {
            let SalesRow { day, device_block, products } = row.read()?;
            each_product(products, |product| {
                let goods_id = product.goods_id()?;
                let sold = match sales.sold.get_mut(goods_id) {
                    Some(sold) => sold,
                    None => sales.sold.entry(goods_id.to_owned()).or_default(),
                };
                each_seller(product.sellers, device_block, |device, [items, _]| {
                    *sold.entry(device).or_default() += items;
                    let first = sales.first_sale.entry(device).or_insert(day);
                    *first = day.min(*first);
                })
            })
        })
        .await?;
        Ok(sales)
    }

    /// Returns the aisles of a device with their sales.
    fn items(&self, aisles: Vec<AisleRow>, zone: &Zone) -> Vec<RefillItem> {
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
