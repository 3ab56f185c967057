//! The statements by which a batch reads and writes orders.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use kiosque_model::GroupNo;

use super::order_state::{DamagedOrders, OrderState, WriteKind};
use crate::db::{Bound, Reading, Write};
use crate::error::Error;
use crate::record::dictionaries::Dictionaries;
use crate::record::stored::{StoredOrder, order_columns};
use crate::sql::{Row, Value, statements};

statements! {
    STORED_ORDERS(group_no) -> (&str, StoredOrder<'_>) = concat!(
        "select r.id as asked_id, ", order_columns!(), " from {each r: id text}
        cross join orders o where o.group_no = $group_no and o.order_id = r.id"
    );
    INSERT_ORDERS(group_no) = "insert into orders (group_no, device_no, seq, trade_start_ms,
            change_no, sale_at_ms, sale, arrival_no, order_id, trade_no, trade_no_in, record)
        select g.group_no, r.device_no, r.seq, r.trade_start_ms, r.change_no, r.sale_at_ms,
            r.sale, r.arrival_no, r.order_id, r.trade_no, r.trade_no_in, r.record
        from {rows r: device_no bigint, seq bigint, trade_start_ms bigint, change_no bigint,
            sale_at_ms bigint, sale bytea, arrival_no bigint, order_id text, trade_no text,
            trade_no_in text, record bytea}
        cross join group_changes g where g.group_no = $group_no";
    UPDATE_ORDERS(group_no) = "update orders set trade_start_ms = r.trade_start_ms,
            change_no = r.change_no, sale_at_ms = r.sale_at_ms, sale = r.sale,
            arrival_no = r.arrival_no, trade_no = r.trade_no, trade_no_in = r.trade_no_in,
            record = r.record
        from {rows r: device_no bigint, seq bigint, trade_start_ms bigint, change_no bigint,
            sale_at_ms bigint, sale bytea, arrival_no bigint, order_id text, trade_no text,
            trade_no_in text, record bytea}
        where orders.group_no = $group_no and orders.device_no = r.device_no
            and orders.seq = r.seq and orders.order_id = r.order_id";
}

/// The stored orders of a batch, by id.
#[derive(Default)]
pub(super) struct StoredOrders {
    pub(super) orders: HashMap<Cow<'static, str>, OrderState<'static>>,
    pub(super) damaged: DamagedOrders,
}

/// Reads the stored orders of a group that have one of the ids.
pub(super) fn read_orders(
    group: GroupNo,
    ids: Vec<[Value<'_>; 1]>,
    dictionaries: &Arc<Dictionaries>,
) -> Reading<StoredOrders> {
    let dictionaries = Arc::clone(dictionaries);
    let stored = Bound::new(&STORED_ORDERS, [group.into()]).with_rows(ids);
    stored.fold(StoredOrders::default(), move |stored: &mut StoredOrders, row: &Row<'_>| {
        // The columns of a damaged order may be unreadable.
        let (id, order) = match row.read() {
            Ok((id, order)) => (id, Ok(order)),
            Err(error) => (row.read()?, Err(error)),
        };
        let state = stored.damaged.unless_damaged(id, order, &dictionaries)?;
        stored.orders.extend(state.map(|state| (Cow::Owned(id.to_owned()), state)));
        Ok(())
    })
}

/// Inserts or updates orders of a group. The position and the id of an order never change.
pub(super) async fn write_orders<'v>(
    write: &Write<'_>,
    group: GroupNo,
    kind: WriteKind,
    orders: impl Iterator<Item = StoredOrder<'v>>,
) -> Result<(), Error> {
    let statement = match kind {
        WriteKind::Insert => &INSERT_ORDERS,
        WriteKind::Update => &UPDATE_ORDERS,
    };
    let rows = orders.map(|order| {
        [
            order.device_no.into(),
            order.seq.into(),
            order.trade_start_ms.into(),
            order.change_no.into(),
            order.sale_at_ms.into(),
            order.sale.into(),
            order.arrival_no.into(),
            order.order_id.into(),
            order.trade_no.into(),
            order.trade_no_in.into(),
            order.record.into(),
        ]
    });
    write.execute_each(statement, rows, &[group.into()]).await
}
