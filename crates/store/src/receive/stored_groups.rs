//! The groups of stored orders. An order stays in the group in which it was stored, even if it
//! started after a later move of its device, such as on a device whose clock is ahead.

use std::collections::{BTreeMap, HashMap};

use futures_util::future::try_join_all;
use kiosque_model::{DeviceNo, GroupNo, UnixMs};

use super::OwnedOrder;
use crate::db::{Read, Write};
use crate::error::Error;
use crate::sql::{Value, distinct, statements};

statements! {
    STARTS_OF_ORDERS(group_no) -> (String, (DeviceNo, UnixMs)) = "select o.order_id, o.device_no,
            o.trade_start_ms
        from {each r: id text}
        cross join orders o where o.group_no = $group_no and o.order_id = r.id";
}

/// The stored orders with the ids of a batch's orders, in the groups of the devices that moved: by
/// group and id, their devices and their starts.
pub(super) struct StoredGroups(HashMap<GroupNo, HashMap<String, (DeviceNo, UnixMs)>>);

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
            let stored = stored_orders(write, group, &distinct(ids.into_iter())).await?;
            Ok::<_, Error>((group, stored.into_iter().collect()))
        });
        Ok(StoredGroups(try_join_all(reads).await?.into_iter().collect()))
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
        let (device, start) = self.0.get(&group)?.get(one.order.order_id.as_str())?;
        (*device == one.ownership.device).then_some(*start)
    }
}

/// Returns the orders with these ids that a group has, each with its device and its start.
pub(crate) async fn stored_orders(
    read: &Read<'_>,
    group: GroupNo,
    ids: &[[Value<'_>; 1]],
) -> Result<Vec<(String, (DeviceNo, UnixMs))>, Error> {
    read.all_of(&STARTS_OF_ORDERS, ids, &[group.into()]).await
}
