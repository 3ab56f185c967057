//! The orders that arrived or changed last.

use std::cmp::Reverse;
use std::ops::RangeInclusive;

use kiosque_contract::inventory::OrderItem;
use kiosque_model::{GroupId, GroupNo, UnixMs};

use super::{GROUPS, GroupRow, id_of, record, with_archived};
use crate::db::{Deadline, Read};
use crate::orders::record::render::StoredOrder;
use crate::sql::{Value, row, statements};
use crate::{Error, Store};

row! {
    struct NewestRow<'r> {
        group_no: GroupNo,
        seq: i64,
        trade_start_ms: UnixMs,
        order: StoredOrder<'r>,
    }
}

statements! {
    /// The orders with the last change numbers of each group.
    NEWEST(count) -> NewestRow<'_> = "select o.group_no, o.seq, o.trade_start_ms, o.shape, o.head,
            o.lines, o.errors, o.trade_no, o.trade_no_in, o.order_id
        from {rows r: group_no bigint} cross join group_changes c cross join orders o
        where c.group_no = r.group_no and o.group_no = c.group_no
            and o.change_no > c.last_change_no - $count";
}

/// The orders of all groups together that a list of the newest ones reads, and those of a group.
const NEWEST_READ: usize = 2_000;
const NEWEST_OF_GROUP: RangeInclusive<usize> = 2..=200;

impl Store {
    /// Returns the orders of a group, or of all groups, that arrived or changed last, by the start
    /// of their trades, the last one first; at most `most`. Of each group only the last changes are
    /// read, the fewer the more groups there are.
    ///
    /// # Errors
    /// The store failed.
    pub async fn newest_orders(
        &self,
        group: Option<GroupId>,
        most: usize,
    ) -> Result<Vec<OrderItem>, Error> {
        let find = async move |read: &Read<'_>| newest(read, group.as_ref(), most).await;
        self.db.read(Deadline::OfRequest, find).await
    }
}

async fn newest(
    read: &Read<'_>,
    group: Option<&GroupId>,
    most: usize,
) -> Result<Vec<OrderItem>, Error> {
    let id = group.map_or("", GroupId::as_str);
    let groups: Vec<GroupRow> = read.all(&GROUPS, &[id.into()], |row| row.read()).await?;
    let keys: Vec<[Value<'_>; 1]> = groups.iter().map(|row| [row.group_no.into()]).collect();
    let (least, largest) = (*NEWEST_OF_GROUP.start(), *NEWEST_OF_GROUP.end());
    let count = (NEWEST_READ / groups.len().max(1)).clamp(least, largest);
    let count = [i64::try_from(count).unwrap_or(i64::MAX).into()];
    let mut found: Vec<(UnixMs, GroupNo, i64, OrderItem)> = Vec::new();
    read.each_of(&NEWEST, &keys, &count, |row| {
        let NewestRow { group_no, seq, trade_start_ms, order } = row.read()?;
        let order = OrderItem {
            group_id: id_of(&groups, group_no),
            archived: false,
            record: record(&order)?,
        };
        found.push((trade_start_ms, group_no, seq, order));
        Ok(())
    })
    .await?;
    found.sort_by_key(|(at, group, seq, _)| Reverse((*at, *group, *seq)));
    found.truncate(most);
    let found = found.into_iter().map(|(_, group, seq, order)| (group, seq, order)).collect();
    with_archived(read, found).await
}
