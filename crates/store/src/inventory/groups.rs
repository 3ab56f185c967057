//! The list of groups.

use std::collections::HashMap;

use kiosque_contract::inventory::GroupItem;
use kiosque_model::{GroupId, GroupNo, UnixMs};

use super::overview::Orders;
use super::{Listed, Listing, numbers};
use crate::accounts::{GroupRow, group_number};
use crate::db::{Deadline, Read};
use crate::error::Error;
use crate::sql::statements;
use crate::views::Inventory;

statements! {
    GROUPS(after, count) -> GroupRow = "select group_no, group_id, group_name, active from groups
        where group_id > $after order by group_id limit $count";
    GROUP_IDS() -> (GroupNo, String) = "select group_no, group_id from groups";
    DEVICES_OF_GROUPS(now_ms) -> (GroupNo, i64) = "select o.group_no, count(*)
        from {rows r: group_no bigint} cross join device_owners o
        where o.group_no = r.group_no and o.since_ms <= $now_ms and o.until_ms > $now_ms
        group by o.group_no";
    ACCOUNTS_OF_GROUPS() -> (GroupNo, i64) = "select a.group_no, count(*)
        from {rows r: group_no bigint} cross join account_groups a
        where a.group_no = r.group_no group by a.group_no";
    ORDERS_OF_GROUPS() -> (GroupNo, Orders) = "select l.group_no,
            cast(sum(l.last_seq - l.first_seq + 1) as bigint) as orders,
            cast(sum(l.archived_seq - l.first_seq + 1) as bigint) as archived,
            max(l.last_active_ms) as last_active_ms
        from {rows r: group_no bigint} cross join ledger l
        where l.group_no = r.group_no group by l.group_no";
}

impl Inventory<'_> {
    /// Returns whether there is a group with this id.
    ///
    /// # Errors
    /// The store failed.
    pub async fn has_group(self, id: &GroupId) -> Result<bool, Error> {
        let id = id.clone();
        let find = async move |read: &Read<'_>| group_number(read, &id).await;
        Ok(self.0.db.read(Deadline::OfRequest, find).await?.is_some())
    }

    /// Returns the id of every group.
    ///
    /// # Errors
    /// The store failed.
    pub async fn group_ids(self) -> Result<HashMap<GroupNo, String>, Error> {
        let ids = async |read: &Read<'_>| read.all(&GROUP_IDS, &[]).await;
        Ok(self.0.db.read(Deadline::OfRequest, ids).await?.into_iter().collect())
    }

    /// Returns the ids and names of the first `most` groups by id.
    ///
    /// # Errors
    /// The store failed.
    pub async fn group_names(self, most: usize) -> Result<Vec<(String, String)>, Error> {
        let listing = Listing { after: None, limit: most };
        let list = async move |read: &Read<'_>| group_rows(read, &listing).await;
        let groups = self.0.db.read(Deadline::OfRequest, list).await?.entries.into_iter();
        Ok(groups.map(|row| (row.group_id, row.group_name)).collect())
    }

    /// Returns a part of the list of groups, by `groupId`.
    ///
    /// # Errors
    /// The store failed.
    pub async fn groups(self, listing: Listing, now: UnixMs) -> Result<Listed<GroupItem>, Error> {
        let heartbeats = self.0.activity.latest_unwritten();
        let list = async move |read: &Read<'_>| list(read, &listing, &heartbeats, now).await;
        self.0.db.read(Deadline::OfRequest, list).await
    }
}

async fn group_rows(read: &Read<'_>, listing: &Listing) -> Result<Listed<GroupRow>, Error> {
    listing.read(read, &GROUPS, &[], |row: &GroupRow| &row.group_id).await
}

async fn list(
    read: &Read<'_>,
    listing: &Listing,
    heartbeats: &HashMap<GroupNo, UnixMs>,
    now: UnixMs,
) -> Result<Listed<GroupItem>, Error> {
    let rows = group_rows(read, listing).await?;
    let groups = numbers(rows.entries.iter().map(|row| row.group_no));
    let devices = read.all_of(&DEVICES_OF_GROUPS, &groups, &[now.into()]).await?;
    let devices: HashMap<GroupNo, i64> = devices.into_iter().collect();
    let accounts = read.all_of(&ACCOUNTS_OF_GROUPS, &groups, &[]).await?;
    let accounts: HashMap<GroupNo, i64> = accounts.into_iter().collect();
    let orders = read.all_of(&ORDERS_OF_GROUPS, &groups, &[]).await?;
    let orders: HashMap<GroupNo, Orders> = orders.into_iter().collect();
    Ok(rows.map(|row| {
        let GroupRow { group_no, group_id, group_name, active } = row;
        let of_orders = orders.get(&group_no);
        let last_active = of_orders.and_then(|row| row.last_active_ms);
        let last_active = last_active.max(heartbeats.get(&group_no).copied());
        GroupItem {
            group_id,
            group_name,
            active,
            device_count: devices.get(&group_no).copied().unwrap_or(0),
            account_count: accounts.get(&group_no).copied().unwrap_or(0),
            order_count: of_orders.map_or(0, |row| row.orders),
            archived_count: of_orders.map_or(0, |row| row.archived),
            last_active_timestamp: last_active.map(|at| at.0),
        }
    }))
}
