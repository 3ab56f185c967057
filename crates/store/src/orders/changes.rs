//! The orders of a group by their latest change.
//!
//! Each change of an order has a number, and a snapshot with a number has all lower ones of its
//! group: a writer reads the last number of a group after locking the group, and holds the lock
//! until its commit. So a caller that has read up to a number has missed nothing below it, in any
//! later snapshot on any node, unless the data was restored to an earlier state: see
//! [`crate::histories`].

use std::sync::Arc;

use kiosque_contract::{OrderTotals, SalesTotals};
use kiosque_model::refusal::ViolationKind;
use kiosque_model::{ChangeCursor, Claim, GroupId, GroupNo, HistoryId, Refusal, Violation};

use crate::accounts::group_number;
use crate::db::{Bound, Read, Reading};
use crate::dictionaries;
use crate::error::Refused;
use crate::json_records::JsonRecords;
use crate::record::dictionaries::Dictionaries;
use crate::record::stored::{StoredOrder, order_columns};
use crate::scoped::{HintedGroup, scoped};
use crate::sql::{Row, row, statements};
use crate::views::Orders;

row! {
    struct ChangeRow<'r> {
        last_change_no: i64,
        history: HistoryId,
        history_of_cursor: HistoryId,
        order: Option<StoredOrder<'r>>,
    }
    for SalesTotals { currency, orders, pay_amount, refund_amount }
}

statements! {
    /// The last change number of the group, its history, and the history of the last change that a
    /// cursor covers, with each order that changed after the cursor; without such an order, only
    /// these three. A change without a history has 0.
    CHANGES(group_no, after, known_change_no, count) -> ChangeRow<'_> = concat!(
        "select c.last_change_no,
            coalesce((
                select h.history from group_histories h where h.group_no = $group_no
                order by h.first_change_no desc limit 1
            ), 0) as history,
            coalesce((
                select h.history from group_histories h
                where h.group_no = $group_no and h.first_change_no <= $known_change_no
                order by h.first_change_no desc limit 1
            ), 0) as history_of_cursor,
            ", order_columns!(), "
        from group_changes c left join (
            select ", order_columns!(), "
            from orders o where o.group_no = $group_no and o.change_no > $after
            order by o.change_no limit $count
        ) o on o.group_no = c.group_no
        where c.group_no = $group_no order by o.change_no");
    ORDERS_OF_GROUP(group_no) -> i64 =
        "select cast(coalesce(sum(last_seq - first_seq + 1), 0) as bigint) as orders
        from ledger where group_no = $group_no";
    SALES_OF_GROUP(group_no) -> SalesTotals = "select currency,
            cast(sum(orders) as bigint) as orders, cast(sum(amount) as bigint) as pay_amount,
            cast(sum(refund) as bigint) as refund_amount
        from sales_by_day where group_no = $group_no
        group by currency having sum(orders) > 0 order by currency";
}

/// Whether the totals of the group are also read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupTotals {
    /// They are not.
    Left,
    /// They are read, in the snapshot of the changes.
    Included,
}

/// The parameters of a read of changes.
#[derive(Clone, Copy, Debug)]
pub struct ChangeQuery {
    /// Only later changes; `None` selects all.
    pub after: Option<ChangeCursor>,
    /// The largest number of orders.
    pub size: i64,
}

/// Orders at their latest change.
#[derive(Debug)]
pub struct OrderChanges {
    change_nos: Vec<i64>,
    orders: JsonRecords,
    group: GroupNo,
    /// The last change number of the group in the snapshot that was read, and its history.
    last_change_no: i64,
    history: HistoryId,
    /// The history of the last change that the cursor of the query covers.
    history_of_cursor: HistoryId,
    /// Whether there are further changes.
    pub more: bool,
    /// The totals of the group, if they were requested.
    pub totals: Option<OrderTotals>,
}

impl OrderChanges {
    /// Returns whether there is no order.
    pub fn is_empty(&self) -> bool {
        self.change_nos.is_empty()
    }

    /// Returns each order as the JSON of a list record, with the number of its latest change, in
    /// the order of these numbers.
    pub fn iter(&self) -> impl Iterator<Item = (i64, &[u8])> {
        self.change_nos.iter().copied().zip(self.orders.iter())
    }

    /// Returns the position after a change of the group.
    pub fn cursor_after(&self, change_no: i64) -> ChangeCursor {
        let OrderChanges { group, last_change_no, history, .. } = *self;
        ChangeCursor { group, change_no, last_change_no, history }
    }

    /// Returns the position after all these orders; without any, after all changes of the group.
    #[must_use]
    pub fn next(&self) -> ChangeCursor {
        self.cursor_after(self.change_nos.last().copied().unwrap_or(self.last_change_no))
    }
}

impl Orders<'_> {
    /// Returns orders of the selected group that changed after a position.
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, `Invalid` for a position in another group or in lost changes,
    /// or the store failed.
    pub async fn changes(
        self,
        claim: Claim,
        query: ChangeQuery,
        totals: GroupTotals,
    ) -> Result<OrderChanges, Refused> {
        let about = |group| {
            let totals = (totals == GroupTotals::Included).then(|| group_totals(group));
            (changes(query, group, &self.0.dictionaries), totals)
        };
        let (_, (changes, totals)) = scoped(self.0, &claim, None, about).await?;
        let changes = changes.checked(query)?;
        let change_no = changes.last_change_no;
        let totals = totals.map(|(orders, sales)| OrderTotals {
            change_no,
            orders: orders.unwrap_or_default(),
            sales,
        });
        Ok(OrderChanges { totals, ..changes })
    }

    /// Returns orders of any group that changed after a position, for the operator; `None` if there
    /// is no such group.
    ///
    /// # Errors
    /// `Invalid` for a position in another group or in lost changes, or the store failed.
    pub async fn changes_of_group(
        self,
        group: GroupId,
        query: ChangeQuery,
    ) -> Result<Option<OrderChanges>, Refused> {
        let read = async move |read: &Read<'_>, dictionaries: &Arc<Dictionaries>| {
            let Some(number) = group_number(read, &group).await? else { return Ok(None) };
            let changes = changes(query, HintedGroup::for_operator(number), dictionaries);
            read.together(changes).await?.checked(query).map(Some)
        };
        dictionaries::read_records(self.0, read).await
    }
}

/// Reads the orders of a group that changed after the position of a query, which is not checked.
fn changes(
    query: ChangeQuery,
    group: HintedGroup,
    dictionaries: &Arc<Dictionaries>,
) -> Reading<OrderChanges> {
    let dictionaries = Arc::clone(dictionaries);
    let (after, known) =
        query.after.map_or((0, 0), |after| (after.change_no, after.last_change_no));
    // One more, to see whether there are further ones.
    let count = query.size.saturating_add(1);
    let changes = Bound::new(&CHANGES, [group.into(), after.into(), known.into(), count.into()]);
    let none = OrderChanges {
        change_nos: Vec::new(),
        orders: JsonRecords::default(),
        group: group.number(),
        last_change_no: 0,
        history: HistoryId::default(),
        history_of_cursor: HistoryId::default(),
        more: false,
        totals: None,
    };
    changes.fold(none, move |read: &mut OrderChanges, row: &Row<'_>| {
        let ChangeRow { last_change_no, history, history_of_cursor, order } = row.read()?;
        read.last_change_no = last_change_no;
        (read.history, read.history_of_cursor) = (history, history_of_cursor);
        let Some(order) = order else { return Ok(()) };
        read.more = i64::try_from(read.change_nos.len()).is_ok_and(|count| count >= query.size);
        if !read.more {
            read.change_nos.push(order.change_no);
            read.orders.push_with(|json| order.put_list_record(&dictionaries, json))?;
        }
        Ok(())
    })
}

/// Reads the number of orders of a group, a row for each device, and the sums of its sales, a row
/// for each day and currency.
fn group_totals(group: HintedGroup) -> (Reading<Option<i64>>, Reading<Vec<SalesTotals>>) {
    let orders = Bound::new(&ORDERS_OF_GROUP, [group.into()]).one();
    (orders, Bound::new(&SALES_OF_GROUP, [group.into()]).all())
}

impl OrderChanges {
    /// Returns the changes, unless the position of their query is in another group or in lost
    /// changes.
    fn checked(self, query: ChangeQuery) -> Result<OrderChanges, Refused> {
        // An order that changed after the cursor's change, before the data went back, would be
        // missed: so the last change that the cursor covers must still exist.
        let is_foreign = |after: ChangeCursor| {
            after.group != self.group
                || after.last_change_no > self.last_change_no
                || after.history != self.history_of_cursor
        };
        if query.after.is_some_and(is_foreign) {
            let violation = Violation { field: "after", kind: ViolationKind::ForeignCursor };
            return Err(Refusal::Invalid(vec![violation]).into());
        }
        Ok(self)
    }
}
