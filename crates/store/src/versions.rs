//! The versions of a group's data, by which caches are validated: one row, which each writer
//! changes in its own transaction, and which is read in the snapshot that proves the session.
//!
//! Data can go back, and an increasing number would then be assigned again. So a change of an order
//! has a number and a history, and the other versions are globally unique numbers.

use std::collections::BTreeSet;

use kiosque_model::{GroupNo, HistoryId, UnixMs};

use crate::db::{Bound, Read, Reading, Write};
use crate::error::Error;
use crate::histories::Opening;
use crate::owners;
use crate::scoped::HintedGroup;
use crate::sql::{Value, row, statements};

row! {
    /// The versions of a group.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(crate) struct Versions {
        pub(crate) last_change_no: i64,
        pub(crate) history: HistoryId,
        fleet: i64,
        rates: i64,
        devices_from_ms: i64,
    }
}

/// A value to cache, and the versions at which it was read.
#[derive(Debug)]
pub(crate) struct Versioned<T> {
    pub(crate) versions: Versions,
    pub(crate) value: T,
}

statements! {
    VERSIONS(group_no) -> Versions = "select last_change_no, history, fleet, rates, devices_from_ms
        from group_changes where group_no = $group_no";
    SET_FLEET(group_no, fleet) = "update group_changes set fleet = $fleet
        where group_no = $group_no";
    GROUPS() -> GroupNo = "select group_no from group_changes order by group_no";
    SET_RATES(rates) = "update group_changes set rates = $rates";
    GROUPS_SELLING(now_ms) -> GroupNo = "select distinct o.group_no
        from {rows r: goods text} cross join aisles a cross join device_owners o
        where a.goods_id = r.goods and o.device_no = a.device_no and o.until_ms > $now_ms";
}

/// Not the version of any lists.
const NO_VERSION: i64 = -1;

impl Versions {
    /// Returns whether lists of the group's devices are the same, at times when no move of a device
    /// is pending.
    pub(crate) fn has_lists_of(&self, other: &Versions) -> bool {
        self.fleet == other.fleet
    }

    /// Returns the version of the lists that a cached value has. A statement that receives it
    /// returns no rows while it is the group's version, so that a value that is no longer valid is
    /// replaced in the round trip in which it is compared. The statement compares it with a
    /// subquery, which PostgreSQL evaluates once, before it joins; it would compare a column of a
    /// joined table for each joined row.
    pub(crate) fn known_lists<T>(cached: Option<&Versioned<T>>) -> i64 {
        cached.map_or(NO_VERSION, |cached| cached.versions.fleet)
    }

    /// Returns whether no move of a device is pending at a time.
    pub(crate) fn is_settled(&self, now: UnixMs) -> bool {
        self.devices_from_ms <= now.0
    }

    /// Returns whether sums of sales are the same.
    pub(crate) fn has_sales_of(&self, other: &Versions) -> bool {
        let of = |one: &Versions| (one.last_change_no, one.history, one.rates);
        of(self) == of(other)
    }
}

/// Reads the versions of a group. A group that never had a device has none.
pub(crate) fn versions(group: HintedGroup) -> Reading<Option<Versions>> {
    Bound::new(&VERSIONS, [group.into()]).one()
}

/// Invalidates the lists of a group's devices, and locks the group like [`owners::lock_group`].
pub(crate) async fn lists_change(
    write: &Write<'_>,
    group: GroupNo,
    opening: Opening,
) -> Result<(), Error> {
    write.execute(&SET_FLEET, &[group.into(), opening.version(write).into()]).await.map(|_| ())
}

/// Invalidates the sums of sales of all groups, and locks these.
pub(crate) async fn rates_change(write: &Write<'_>, opening: Opening) -> Result<(), Error> {
    let groups: Vec<GroupNo> = write.all(&GROUPS, &[]).await?;
    owners::lock_groups(write, &groups.into_iter().collect()).await?;
    write.execute(&SET_RATES, &[opening.version(write).into()]).await.map(|_| ())
}

/// Returns the groups that have, now or later, a device with an aisle of one of these products.
pub(crate) async fn groups_selling(
    read: &Read<'_>,
    products: &[[Value<'_>; 1]],
    now: UnixMs,
) -> Result<BTreeSet<GroupNo>, Error> {
    let groups: Vec<GroupNo> = read.all_of(&GROUPS_SELLING, products, &[now.into()]).await?;
    Ok(groups.into_iter().collect())
}
