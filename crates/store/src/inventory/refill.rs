//! The aisles of a fleet, the first to run out first.

mod figures;

use kiosque_contract::inventory::RefillItem;
use kiosque_model::{GroupId, GroupNo, UnixMs, Zone};

use super::numbers;
use crate::accounts::group_numbers;
use crate::db::{Deadline, Read};
use crate::error::Error;
use crate::owners::with_earlier_groups;
use crate::sql::statements;
use crate::views::Inventory;
use figures::{AisleRow, Sales, SalesRow, keep_first};

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
            let sales = sales_of(read, group.as_ref(), now, &zone).await?;
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

/// Reads the sales of the current devices of a group, or of all groups, and of others.
async fn sales_of(
    read: &Read<'_>,
    group: Option<&GroupId>,
    now: UnixMs,
    zone: &Zone,
) -> Result<Sales, Error> {
    let mut sales = Sales::before(zone.day_of(now));
    let [first_day, last_day] = sales.days();
    let groups = group_numbers(read, group).await?;
    let groups = with_earlier_groups(read, groups, zone.start_of(first_day), now).await?;
    let days = [first_day.into(), last_day.into()];
    read.each_of(&SALES, &numbers(groups), &days, |row| sales.add(row.read()?)).await?;
    Ok(sales)
}
