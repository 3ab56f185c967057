//! The columns of an order that a batch reads and writes, listed once, and their statements.

use kiosque_model::{DeviceNo, GroupNo, UnixMs};

use crate::db::{Read, Write};
use crate::sql::{FromRow, Row, Value, row, statements};
use crate::{ArrivalNo, Error};

/// Declares [`OrderRow`] and the statements that list its columns. An order's group, device,
/// sequence number and id never change; the other columns are set by an update.
macro_rules! order_columns {
    ($($column:ident: $type:ty = $sql_type:ident,)*) => {
        row! {
            /// A stored order.
            pub(super) struct OrderRow<'r> {
                pub(super) order_id: &'r str,
                pub(super) device_no: DeviceNo,
                pub(super) seq: i64,
                $(pub(super) $column: $type,)*
            }
        }

        impl<'r> OrderRow<'r> {
            /// Returns the values of a bulk row of `UPDATE_ORDERS`.
            pub(super) fn values(self, change_no: i64) -> [Value<'r>; WIDTH + 1] {
                [
                    self.order_id.into(),
                    self.device_no.into(),
                    self.seq.into(),
                    change_no.into(),
                    $(self.$column.into(),)*
                ]
            }
        }

        statements! {
            STORED_ORDERS(group_no) -> OrderRow<'_> = concat!(
                "select o.order_id, o.device_no, o.seq", $(", o.", stringify!($column),)*
                " from {each r: id text}
                cross join orders o where o.group_no = $group_no and o.order_id = r.id"
            );
            INSERT_ORDERS(group_no) = concat!(
                "insert into orders (group_no, order_id, device_no, seq, change_no",
                $(", ", stringify!($column),)*
                ", arrival_no) select g.group_no, r.order_id, r.device_no, r.seq, r.change_no",
                $(", r.", stringify!($column),)*
                ", r.arrival_no
                from {rows r: order_id text, device_no bigint, seq bigint, change_no bigint",
                $(", ", stringify!($column), " ", stringify!($sql_type),)*
                ", arrival_no bigint} cross join group_changes g where g.group_no = $group_no"
            );
            UPDATE_ORDERS(group_no) = concat!(
                "update orders set change_no = r.change_no",
                $(", ", stringify!($column), " = r.", stringify!($column),)*
                " from {rows r: order_id text, device_no bigint, seq bigint, change_no bigint",
                $(", ", stringify!($column), " ", stringify!($sql_type),)*
                "} where orders.group_no = $group_no and orders.device_no = r.device_no
                    and orders.seq = r.seq"
            );
        }
    };
}
order_columns! {
    trade_start_ms: UnixMs = bigint,
    trade_no: Option<&'r str> = text,
    trade_no_in: Option<&'r str> = text,
    shape: i64 = bigint,
    head: &'r str = text,
    lines: &'r str = text,
    errors: Option<&'r str> = text,
    sale_at_ms: Option<UnixMs> = bigint,
}

const WIDTH: usize = <OrderRow<'static> as FromRow<'static>>::WIDTH;

/// Visits the stored orders of a group that have one of the ids.
pub(super) async fn read_orders(
    read: &Read<'_>,
    group: GroupNo,
    ids: &[[Value<'_>; 1]],
    mut visit: impl FnMut(OrderRow<'_>),
) -> Result<(), Error> {
    let visit = |row: &Row<'_>| {
        visit(row.read()?);
        Ok(())
    };
    read.each_of(&STORED_ORDERS, ids, &[group.into()], visit).await
}

/// An order to write, with its change number and, if it is new, its arrival.
pub(super) struct NumberedOrder<'v> {
    pub(super) row: OrderRow<'v>,
    pub(super) change_no: i64,
    pub(super) arrival: Option<ArrivalNo>,
}

impl<'v> NumberedOrder<'v> {
    /// Returns the values of a bulk row of `INSERT_ORDERS`.
    fn inserted(self) -> [Value<'v>; WIDTH + 2] {
        let mut values = [Value::Null; WIDTH + 2];
        if let Some((last, others)) = values.split_last_mut() {
            others.copy_from_slice(&self.row.values(self.change_no));
            *last = ArrivalNo::value(self.arrival);
        }
        values
    }
}

/// Inserts orders of a group.
pub(super) async fn insert_orders<'v>(
    write: &Write<'_>,
    group: GroupNo,
    orders: impl Iterator<Item = NumberedOrder<'v>>,
) -> Result<(), Error> {
    let rows = orders.map(NumberedOrder::inserted);
    write.execute_each(&INSERT_ORDERS, rows, &[group.into()]).await
}

/// Updates orders of a group.
pub(super) async fn update_orders<'v>(
    write: &Write<'_>,
    group: GroupNo,
    orders: impl Iterator<Item = NumberedOrder<'v>>,
) -> Result<(), Error> {
    let rows = orders.map(|order| order.row.values(order.change_no));
    write.execute_each(&UPDATE_ORDERS, rows, &[group.into()]).await
}
