//! The orders that arrived or changed last.

use std::cmp::Reverse;
use std::ops::RangeInclusive;
use std::sync::Arc;

use kiosque_contract::inventory::OrderItem;
use kiosque_model::{GroupId, GroupNo, UnixMs};

use super::{GROUPS, GroupRow, id_of, record, with_archived};
use crate::db::{Deadline, Read};
use crate::dictionaries;
use crate::error::Error;
use crate::record::dictionaries::Dictionaries;
use crate::record::stored::{StoredOrder, order_columns};
use crate::sql::{Value, row, statements};
use crate::views::Inventory;

row! {
    struct NewestRow { group_no: GroupNo, change_no: i64, trade_start_ms: UnixMs }
}

statements! {
    /// The orders with the last change numbers of each group.
    NEWEST(count) -> NewestRow = "select o.group_no, o.change_no, o.trade_start_ms
        from {rows r: group_no bigint} cross join group_changes c cross join orders o
        where c.group_no = r.group_no and o.group_no = c.group_no
            and o.change_no > c.last_change_no - $count";
    RECORDS() -> StoredOrder<'_> = concat!(
        "select ", order_columns!("o"), "
        from {rows r: group_no bigint, change_no bigint} cross join orders o
        where o.group_no = r.group_no and o.change_no = r.change_no");
}

/// The orders of all groups together that a list of the newest ones reads, and those of a group.
const NEWEST_READ: usize = 2_000;
const NEWEST_OF_GROUP: RangeInclusive<usize> = 2..=200;

impl Inventory<'_> {
    /// Returns the orders of a group, or of all groups, that arrived or changed last, by the start
    /// of their trades, the last one first; at most `most`. Of each group only the last changes are
    /// read, the fewer the more groups there are; the records of the orders that are returned are
    /// read after they are chosen.
    ///
    /// # Errors
    /// The store failed.
    pub async fn newest_orders(
        self,
        group: Option<GroupId>,
        most: usize,
    ) -> Result<Vec<OrderItem>, Error> {
        let find = async move |read: &Read<'_>, dictionaries: &Arc<Dictionaries>| {
            newest(read, dictionaries, group.as_ref(), most).await
        };
        dictionaries::read_records(self.0, Deadline::OfRequest, find).await
    }
}

async fn newest(
    read: &Read<'_>,
    dictionaries: &Dictionaries,
    group: Option<&GroupId>,
    most: usize,
) -> Result<Vec<OrderItem>, Error> {
    let id = group.map_or("", GroupId::as_str);
    let groups: Vec<GroupRow> = read.all(&GROUPS, &[id.into()], |row| row.read()).await?;
    let keys: Vec<[Value<'_>; 1]> = groups.iter().map(|row| [row.group_no.into()]).collect();
    let (least, largest) = (*NEWEST_OF_GROUP.start(), *NEWEST_OF_GROUP.end());
    let count = (NEWEST_READ / groups.len().max(1)).clamp(least, largest);
    let count = [i64::try_from(count).unwrap_or(i64::MAX).into()];
    let mut newest: Vec<NewestRow> = Vec::new();
    read.each_of(&NEWEST, &keys, &count, |row| {
        newest.push(row.read()?);
        Ok(())
    })
    .await?;
    newest.sort_by_key(NewestRow::place);
    newest.truncate(most);
    let chosen = newest.iter().map(|row| [row.group_no.into(), row.change_no.into()]);
    let chosen: Vec<[Value<'_>; 2]> = chosen.collect();
    let mut found: Vec<(NewestRow, i64, OrderItem)> = Vec::new();
    read.each_of(&RECORDS, &chosen, &[], |row| {
        let order: StoredOrder<'_> = row.read()?;
        let StoredOrder { group_no, change_no, trade_start_ms, seq, .. } = order;
        let newest = NewestRow { group_no, change_no, trade_start_ms };
        let group_id = id_of(&groups, newest.group_no);
        let record = record(&order, dictionaries)?;
        found.push((newest, seq, OrderItem { group_id, archived: false, record }));
        Ok(())
    })
    .await?;
    found.sort_by_key(|(newest, ..)| newest.place());
    let found = found.into_iter().map(|(newest, seq, order)| (newest.group_no, seq, order));
    with_archived(read, found.collect()).await
}

impl NewestRow {
    /// Returns the key of the order of the list.
    fn place(&self) -> Reverse<(UnixMs, GroupNo, i64)> {
        Reverse((self.trade_start_ms, self.group_no, self.change_no))
    }
}
