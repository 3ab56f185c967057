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
    struct StartRow<'r> { order_id: &'r str, device_no: DeviceNo, trade_start_ms: UnixMs }
}

statements! {
    STARTS_OF_ORDERS(group_no) -> StartRow<'_> = "select o.order_id, o.device_no, o.trade_start_ms
        from {each r: id text}
        cross join orders o where o.group_no = $group_no and o.order_id = r.id";
}

/// The stored orders with the ids of a batch's orders, in the groups of the devices that moved: by
/// id, their groups, their devices and their starts.
pub(super) struct StoredGroups(HashMap<String, Vec<(GroupNo, DeviceNo, UnixMs)>>);

impl StoredGroups {
    /// Reads them, with one statement for each group of these devices, and none if no device moved.
    pub(super) async fn read(
        write: &Write<'_>,
        owned: &[OwnedOrder<'_>],
    ) -> Result<StoredGroups, Error> {
        let mut ids: BTreeMap<GroupNo, Vec<&str>> = BTreeMap::new();
        for one in owned.iter().filter(|one| one.other_groups().next().is_some()) {
            for group in one.ownership.groups() {
                ids.entry(*group).or_default().push(one.order.order_id.as_str());
            }
        }
        let reads = ids.into_iter().map(async |(group, ids)| {
            let mut found = Vec::new();
            let add = |id: &str, device, start| found.push((id.to_owned(), (group, device, start)));
            each_stored_order(write, group, &distinct(ids.into_iter()), add).await?;
            Ok::<_, Error>(found)
        });
        let mut by_id: HashMap<String, Vec<(GroupNo, DeviceNo, UnixMs)>> = HashMap::new();
        for (id, found) in try_join_all(reads).await?.into_iter().flatten() {
            by_id.entry(id).or_default().push(found);
        }
        Ok(StoredGroups(by_id))
    }

    /// Assigns orders of devices that moved to the group in which they are stored with the same
    /// start. An order that is not stored, or is stored with another start, stays with the owner at
    /// its start.
    pub(super) fn restore(&self, owned: &mut [OwnedOrder<'_>]) {
        for one in owned {
            let start = Some(one.order.trade_start);
            let others = one.other_groups().filter(|other| self.start_in(*other, one) == start);
            one.group = others.max().unwrap_or(one.group);
        }
    }

    /// Returns the start of the order with this id and this device in a group, if the group has it.
    pub(super) fn start_in(&self, group: GroupNo, one: &OwnedOrder<'_>) -> Option<UnixMs> {
        let device = one.ownership.device;
        let mut found = self.0.get(one.order.order_id.as_str())?.iter();
        let (.., start) = found.find(|(of, by, _)| (*of, *by) == (group, device))?;
        Some(*start)
    }
}

/// Visits the orders with these ids that a group has, each with its device and its start.
pub(crate) async fn each_stored_order(
    read: &Read<'_>,
    group: GroupNo,
    ids: &[[Value<'_>; 1]],
    mut visit: impl FnMut(&str, DeviceNo, UnixMs),
) -> Result<(), Error> {
    read.each_of(&STARTS_OF_ORDERS, ids, &[group.into()], |row| {
        let StartRow { order_id, device_no, trade_start_ms } = row.read()?;
        visit(order_id, device_no, trade_start_ms);
        Ok(())
    })
    .await
}
