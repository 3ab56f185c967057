//! Version counters of the cached lists of devices, one for each group. An apply increments those
//! of the groups whose lists show its changes, in its own transaction.

use std::collections::BTreeSet;

use kiosque_model::{GroupNo, UnixMs};

use crate::Error;
use crate::db::{Read, Write};
use crate::sql::{Value, statements};

statements! {
    INCREMENT() = "insert into list_versions as stored (group_no, version)
        select r.group_no, 1 from {rows r: group_no bigint} where true
        on conflict (group_no) do update set version = stored.version + 1";
    GROUPS_SELLING(now_ms) -> GroupNo = "select distinct o.group_no
        from {rows r: goods text} cross join aisles a cross join device_owners o
        where a.goods_id = r.goods and o.device_no = a.device_no and o.until_ms > $now_ms";
}

/// Invalidates the cached lists of groups. The fleet is locked.
pub(crate) async fn increment(write: &Write<'_>, groups: &BTreeSet<GroupNo>) -> Result<(), Error> {
    let rows = groups.iter().map(|group| [(*group).into()]);
    write.execute_each(&INCREMENT, rows, &[]).await
}

/// Returns the groups that have, now or later, a device with an aisle of one of these products.
pub(crate) async fn groups_selling(
    read: &Read<'_>,
    products: &[[Value<'_>; 1]],
    now: UnixMs,
) -> Result<BTreeSet<GroupNo>, Error> {
    let mut groups = BTreeSet::new();
    read.each_of(&GROUPS_SELLING, products, &[now.into()], |row| {
        groups.insert(row.read()?);
        Ok(())
    })
    .await?;
    Ok(groups)
}
