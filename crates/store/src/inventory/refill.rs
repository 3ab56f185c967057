//! The aisles of a fleet, those first that run out first.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use kiosque_contract::inventory::RefillItem;
use kiosque_model::{Day, DeviceNo, GroupId, GroupNo, UnixMs, Zone};

use crate::db::{Deadline, Read};
use crate::error::Error;
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
    /// The aisles that sell, of the devices that a group owns now and device pages list.
    AISLES(group_no, now_ms) -> AisleRow = "select d.device_no, d.device_code, d.device_name,
            case when o.since_ms > d.created_at_ms then o.since_ms else d.created_at_ms end
                as since_ms, a.aisle_code, a.goods_id,
            coalesce((select p.goods_name from products p where p.goods_id = a.goods_id), '')
                as goods_name,
            a.curr_stock, a.max_stock
        from device_owners o cross join devices d cross join aisles a
        where o.group_no = $group_no and o.since_ms <= $now_ms and o.until_ms > $now_ms
            and o.listed and d.device_no = o.device_no and a.device_no = o.device_no
            and a.enabled and not a.broken and a.max_stock > 0";
    SALES(group_no, first_day, last_day) -> SalesRow<'_> = "select day, device_block, products
        from sales_by_device
        where group_no = $group_no and day >= $first_day and day <= $last_day";
}

/// The days before today whose sales count.
const DAYS: i64 = 14;

impl Inventory<'_> {
    /// Returns the aisles of a group, or of all groups, that run out first, in that order.
    ///
    /// # Errors
    /// The store failed.
    pub async fn refill(
        self,
        group: Option<GroupId>,
        limit: usize,
        now: UnixMs,
    ) -> Result<Vec<RefillItem>, Error> {
        let zone = self.0.zone.clone();
        let list = async move |read: &Read<'_>| {
            let id = group.as_ref().map_or("", GroupId::as_str);
            let groups: Vec<GroupNo> = read.all(&GROUPS, &[id.into()], |row| row.read()).await?;
            let mut items = Vec::new();
            for group in groups {
                items.extend(of_group(read, group, now, &zone).await?);
                items.sort_by(|one: &RefillItem, other| urgency(one).cmp(&urgency(other)));
                items.truncate(limit);
            }
            Ok(items)
        };
        self.0.db.read(Deadline::OfRequest, list).await
    }
}

/// Sorts first what runs out first; of aisles that run out together, the one that sells more.
fn urgency(item: &RefillItem) -> (bool, Option<i64>, Reverse<i64>, &str, &str) {
    let left = item.tenths_of_days_left();
    (left.is_none(), left, Reverse(item.sold), &item.device_code, &item.aisle_code)
}

async fn of_group(
    read: &Read<'_>,
    group: GroupNo,
    now: UnixMs,
    zone: &Zone,
) -> Result<Vec<RefillItem>, Error> {
    let aisles: Vec<AisleRow> =
        read.all(&AISLES, &[group.into(), now.into()], |row| row.read()).await?;
    let goods: HashSet<&str> = aisles.iter().map(|aisle| aisle.goods_id.as_str()).collect();
    let today = zone.day_of(now);
    let mut sold: HashMap<(DeviceNo, &str), i64> = HashMap::new();
    let mut first_sale: HashMap<DeviceNo, Day> = HashMap::new();
    let days = [group.into(), Day(today.0 - DAYS).into(), Day(today.0 - 1).into()];
    read.each(&SALES, &days, |row| {
        let SalesRow { day, device_block, products } = row.read()?;
        each_product(products, |product| {
            let Some(goods) = goods.get(product.goods_id) else { return Ok(()) };
            each_seller(product.sellers, device_block, |device, [items, _]| {
                *sold.entry((device, goods)).or_default() += items;
                first_sale
                    .entry(device)
                    .and_modify(|first| *first = day.min(*first))
                    .or_insert(day);
            })
        })
    })
    .await?;
    let mut shared: HashMap<(DeviceNo, &str), i64> = HashMap::new();
    for aisle in &aisles {
        *shared.entry((aisle.device_no, &aisle.goods_id)).or_default() += 1;
    }
    // Older sales may have been imported for a device that is new here.
    let known_since = |aisle: &AisleRow| {
        let since = zone.day_of(aisle.since_ms);
        first_sale.get(&aisle.device_no).map_or(since, |first| since.min(*first))
    };
    let item = |aisle: &AisleRow| {
        let product = (aisle.device_no, aisle.goods_id.as_str());
        RefillItem {
            device_code: aisle.device_code.clone(),
            device_name: aisle.device_name.clone(),
            aisle_code: aisle.aisle_code.clone(),
            goods_id: aisle.goods_id.clone(),
            goods_name: aisle.goods_name.clone(),
            stock: aisle.curr_stock,
            capacity: aisle.max_stock,
            sold: sold.get(&product).copied().unwrap_or_default(),
            days: (today.0 - known_since(aisle).0).clamp(1, DAYS),
            aisles: shared.get(&product).copied().unwrap_or(1),
        }
    };
    Ok(aisles.iter().map(item).collect())
}
