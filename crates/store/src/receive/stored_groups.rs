//! The groups of stored orders. An order stays in the group in which it was stored, even if it
//! started after a later move of its device, such as on a device whose clock is ahead.

use std::collections::{BTreeMap, HashMap};

use futures_util::future::try_join_all;
use kiosque_model::{DeviceNo, GroupNo, UnixMs};

use super::OwnedOrder;
use crate::db::{Read, Write};
use crate::error::Error;
use crate::sql::{Value, distinct, row, statements};

row! {
    struct DeviceOfOrder<'r> { order_id: &'r str, device_no: DeviceNo }
    struct StoredStart { order_id: String, device_no: DeviceNo, trade_start_ms: UnixMs }
}

statements! {
    DEVICES_OF_ORDERS(group_no) -> DeviceOfOrder<'_> = "select o.order_id, o.device_no
        from {each r: id text}
        cross join orders o where o.group_no = $group_no and o.order_id = r.id";
    STARTS_OF_ORDERS(group_no) -> StoredStart = "select o.order_id, o.device_no,
            o.trade_start_ms
        from {each r: id text}
        cross join orders o where o.group_no = $group_no and o.order_id = r.id";
}

/// Assigns orders of devices that moved to the group in which they are stored with the same start.
/// An order that is not stored, or is stored with another start, stays with the owner at its start.
/// Runs one statement for each other group of the devices, and none if no device moved.
pub(super) async fn restore(write: &Write<'_>, owned: &mut [OwnedOrder<'_>]) -> Result<(), Error> {
    let reads = ids_by_other_group(owned).into_iter().map(async |(group, ids)| {
        let starts = write.all_of(&STARTS_OF_ORDERS, &ids, &[group.into()]).await?.into_iter();
        let found = starts.map(move |StoredStart { order_id, device_no, trade_start_ms }| {
            ((order_id, device_no, trade_start_ms), group)
        });
        Ok::<_, Error>(found)
    });
    let found = try_join_all(reads).await?;
    let groups: HashMap<(String, DeviceNo, UnixMs), GroupNo> =
        found.into_iter().flatten().collect();
    if groups.is_empty() {
        return Ok(());
    }
    for one in owned {
        let order = one.order;
        let key = (order.order_id.as_str().to_owned(), one.ownership.device, order.trade_start);
        if let Some(group) = groups.get(&key) {
            one.group = *group;
        }
    }
    Ok(())
}

/// Reads which orders of devices that moved are stored in other groups of their device, with one
/// statement for each of these groups.
pub(super) async fn orders_in_other_groups(
    write: &Write<'_>,
    orders: &[OwnedOrder<'_>],
) -> Result<HashMap<String, Vec<(GroupNo, DeviceNo)>>, Error> {
    let reads = ids_by_other_group(orders).into_iter().map(async |(other, ids)| {
        let mut found = Vec::new();
        let visit = |id: &str, device| found.push((id.to_owned(), (other, device)));
        each_stored_order(write, other, &ids, visit).await?;
        Ok::<_, Error>(found)
    });
    let mut by_id: HashMap<String, Vec<(GroupNo, DeviceNo)>> = HashMap::new();
    for (id, found) in try_join_all(reads).await?.into_iter().flatten() {
        by_id.entry(id).or_default().push(found);
    }
    Ok(by_id)
}

/// Returns the ids of orders, as the rows of a statement, by each other group of their devices.
fn ids_by_other_group<'a>(orders: &[OwnedOrder<'a>]) -> BTreeMap<GroupNo, Vec<[Value<'a>; 1]>> {
    let mut ids: BTreeMap<GroupNo, Vec<&'a str>> = BTreeMap::new();
    for one in orders {
        for other in one.other_groups() {
            ids.entry(other).or_default().push(one.order.order_id.as_str());
        }
    }
    ids.into_iter().map(|(other, ids)| (other, distinct(ids.into_iter()))).collect()
}

/// Visits the orders with these ids that a group has, each with its device.
pub(crate) async fn each_stored_order(
    read: &Read<'_>,
    group: GroupNo,
    ids: &[[Value<'_>; 1]],
    mut visit: impl FnMut(&str, DeviceNo),
) -> Result<(), Error> {
    read.each_of(&DEVICES_OF_ORDERS, ids, &[group.into()], |row| {
        let DeviceOfOrder { order_id, device_no } = row.read()?;
        visit(order_id, device_no);
        Ok(())
    })
    .await
}
