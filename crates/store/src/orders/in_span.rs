//! Pages of the orders whose trades started in a span.

use std::sync::Arc;

use kiosque_model::{Refusal, Scope, UnixMs};

use super::record::dictionaries::Dictionaries;
use super::record::stored::{StoredOrder, order_columns};
use super::{History, MAX_OFFSET, OrderPage, OrderQuery, Span};
use crate::db::{Bound, Cost, Step};
use crate::json_records::JsonRecords;
use crate::scoped_query::{HintedGroup, ScopedQuery};
use crate::sql::{Row, Value, row, statements};
use crate::{Error, Refused};

row! {
    struct PageRow<'r> { total: i64, order: Option<StoredOrder<'r>> }
}

statements! {
    /// The total with each order of a page; without an order on the page, the total alone.
    ///
    /// `parts` has the number of matching orders in each block that the span overlaps, and in the
    /// orders after the last block. Only orders of blocks that are partly in the span, or partly
    /// archived, are counted one by one. `newer` is the number of matching orders after a part.
    ///
    /// PostgreSQL takes each device for an average one, with few orders, and would read all orders
    /// of the device before the part that they are joined with. So the orders of the page have the
    /// device of their part, and those times are not looked up in the index (`+`): by the group
    /// alone, more orders are expected than by the key of a part. The device of the blocks is a
    /// single value, so that nothing is joined before it.
    PAGE(group_no, device_code, now_ms, start_ms, end_ms, with_history, skip, end, size)
        -> PageRow<'_> = concat!(
        "with device as (
            select device_no, blocked_seq, last_seq,
                case when $with_history then first_seq - 1 else archived_seq end as before_first
            from ledger
            where group_no = $group_no and device_code = $device_code
                and (since_ms <= $now_ms or last_seq >= first_seq)
        ), parts as (
            select d.device_no, b.block * 64 + 64 as high,
                case when b.block * 64 > d.before_first then b.block * 64 else d.before_first end
                    as low,
                case when b.first_ms >= $start_ms and b.last_ms < $end_ms
                    and b.block * 64 >= d.before_first then 64
                else (
                    select count(*) from orders o
                    where o.group_no = $group_no and o.device_no = d.device_no
                        and o.seq > b.block * 64 and o.seq <= b.block * 64 + 64
                        and o.seq > d.before_first
                        and o.trade_start_ms >= $start_ms and o.trade_start_ms < $end_ms
                ) end as found
            from device d cross join order_blocks b
            where b.group_no = $group_no and b.device_no = (select device_no from device)
                and b.last_ms >= $start_ms and b.first_ms < $end_ms
                and b.block * 64 + 64 > d.before_first
            union all
            select d.device_no, d.last_seq,
                case when d.blocked_seq > d.before_first then d.blocked_seq
                    else d.before_first end, (
                    select count(*) from orders o
                    where o.group_no = $group_no and o.device_no = d.device_no
                        and o.seq > d.blocked_seq and o.seq > d.before_first
                        and o.trade_start_ms >= $start_ms and o.trade_start_ms < $end_ms
                )
            from device d
        ), placed as (
            select device_no, low, high, found,
                cast(sum(found) over (order by low desc) as bigint) - found as newer
            from parts where found > 0
        ), of_page as (
            select device_no, low, high, newer from placed
            where newer < $end and newer + found > $skip
        ), page as (
            select o.device_no, o.seq
            from of_page p cross join orders o
            where o.group_no = $group_no and o.device_no = p.device_no
                and o.seq > p.low and o.seq <= p.high
                and + o.trade_start_ms >= $start_ms and + o.trade_start_ms < $end_ms
            order by o.seq desc
            limit $size offset $skip - (select coalesce(min(newer), 0) from of_page)
        )
        select (select cast(coalesce(sum(found), 0) as bigint) from parts) as total,
            ", order_columns!("o"), "
        from device d left join page on true
        left join orders o on o.group_no = $group_no and o.device_no = page.device_no
            and o.seq = page.seq
        order by page.seq");
}

/// Spans that begin earlier than this before now are read on the blocking pool. Of later ones, most
/// blocks need not be read.
const INLINE_AGE_MS: i64 = 86_400_000;

/// A page of the orders whose trades started in a span.
pub(super) struct PageInSpan {
    pub(super) request: OrderQuery,
    pub(super) span: Span,
    pub(super) now: UnixMs,
    pub(super) dictionaries: Arc<Dictionaries>,
}

impl ScopedQuery for PageInSpan {
    type Rows = (Option<i64>, JsonRecords);
    type Step = ();
    type Answer = OrderPage;

    fn cost(&self) -> Cost {
        let is_recent = self.span.start >= self.now.plus_ms(-INLINE_AGE_MS);
        if is_recent { Cost::of_records(self.request.page.size()) } else { Cost::Blocking }
    }

    fn steps(&self, group: HintedGroup) -> Vec<Step<'_, ()>> {
        let Some(device) = &self.request.device else { return Vec::new() };
        let (skip, size) = (self.request.page.skip(), self.request.page.size());
        let (skip, size) = (skip.min(MAX_OFFSET), size.min(MAX_OFFSET));
        let params: [Value<'_>; 9] = [
            group.into(),
            device.as_str().into(),
            self.now.into(),
            self.span.start.into(),
            self.span.end.into(),
            (self.request.history == History::Included).into(),
            skip.into(),
            (skip + size).into(),
            size.into(),
        ];
        vec![Bound::new(&PAGE, params).step(())]
    }

    fn on_row(
        &self,
        (total, records): &mut Self::Rows,
        (): &(),
        row: &Row<'_>,
    ) -> Result<(), Error> {
        let PageRow { total: counted, order } = row.read()?;
        *total = Some(counted);
        if let Some(order) = order {
            records.push_with(|json| order.put_list_record(&self.dictionaries, json))?;
        }
        Ok(())
    }

    fn answer(self, (total, records): Self::Rows, _: Scope) -> Result<OrderPage, Refused> {
        Ok(OrderPage { total: total.ok_or(Refusal::OutOfScope)?, oldest_first: records })
    }
}

#[cfg(test)]
mod tests;
