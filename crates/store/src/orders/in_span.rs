//! Pages of the orders whose trades started in a span.

use std::sync::Arc;

use kiosque_model::{Claim, DeviceCode, Refusal};

use super::{OrderPage, OrderQuery, Span};
use crate::db::Bound;
use crate::error::Refused;
use crate::json_records::JsonRecords;
use crate::orders::History;
use crate::record::stored::{StoredOrder, order_columns};
use crate::scoped::{HintedGroup, scoped};
use crate::sql::{Row, statements};
use crate::views::Orders;

statements! {
    /// The total with each order of a page; without an order on the page, the total alone.
    ///
    /// `parts` has the number of matching orders in each block that the span overlaps, and in the
    /// orders after the last block. Only orders of blocks that are partly in the span, or partly
    /// archived, are counted individually. `newer` is the number of matching orders after a part.
    ///
    /// PostgreSQL assumes an average number of orders for each device, and would read all orders of
    /// the device before the part that they are joined with. So the orders of the page have the
    /// device of their part, and those times are not looked up in the index (`+`): by the group
    /// alone, more orders are expected than by the key of a part. The device of the blocks is a
    /// single value, so that nothing is joined before it.
    PAGE(group_no, device_code, now_ms, start_ms, end_ms, with_history, skip, end, size)
        -> (i64, Option<StoredOrder<'_>>) = concat!(
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
            ", order_columns!(), "
        from device d left join page on true
        left join orders o on o.group_no = $group_no and o.device_no = page.device_no
            and o.seq = page.seq
        order by page.seq");
}

impl Orders<'_> {
    /// Returns a page of the orders of a device whose trades started in a span.
    pub(super) async fn order_page_in_span(
        self,
        claim: Claim,
        request: OrderQuery,
        span: Span,
    ) -> Result<OrderPage, Refused> {
        let (skip, size) = request.skip_and_size();
        let page = |group: HintedGroup, device: &DeviceCode| {
            let params = [
                group.into(),
                device.as_str().into(),
                claim.now.into(),
                span.start.into(),
                span.end.into(),
                (request.history == History::Included).into(),
                skip.into(),
                (skip + size).into(),
                size.into(),
            ];
            let dictionaries = Arc::clone(&self.0.dictionaries);
            let add = move |(total, records): &mut Page, row: &Row<'_>| {
                let (counted, order): (_, Option<StoredOrder<'_>>) = row.read()?;
                *total = Some(counted);
                let Some(order) = order else { return Ok(()) };
                records.push_with(|json| order.put_list_record(&dictionaries, json))
            };
            Bound::new(&PAGE, params).fold(Page::default(), add)
        };
        let device = request.device.as_ref();
        let (_, rows) =
            scoped(self.0, &claim, None, |group| device.map(|device| page(group, device))).await?;
        let (total, oldest_first) = rows.unwrap_or_default();
        let total = total.ok_or(Refusal::OutOfScope)?;
        Ok(OrderPage { total, oldest_first: Arc::new(oldest_first) })
    }
}

/// The total, and the records of a page.
type Page = (Option<i64>, JsonRecords);

#[cfg(test)]
mod tests;
