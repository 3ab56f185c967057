//! The state of one order while its batch is applied.

use std::borrow::Cow;

use kiosque_model::{DeviceNo, UnixMs};

use crate::Error;
use crate::record::Record;
use crate::sql::{Row, Value};

/// An order as it is stored, or will be at the end of the batch.
pub(super) struct OrderState<'a> {
    pub(super) device: DeviceNo,
    pub(super) seq: i64,
    pub(super) trade_start: UnixMs,
    pub(super) trade_no: Option<Cow<'a, str>>,
    pub(super) trade_no_in: Option<Cow<'a, str>>,
    pub(super) sale_at: Option<UnixMs>,
    pub(super) record: Cow<'a, Record>,
    /// The write that it needs, and the number of its last change.
    pub(super) pending: Option<(WriteKind, i64)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteKind {
    Insert,
    Update,
}

impl OrderState<'_> {
    pub(super) fn columns<'v>(&'v self, order_id: &'v str, change: i64) -> [Value<'v>; 12] {
        let record = &self.record;
        [
            self.device.0.into(),
            self.seq.into(),
            self.trade_start.0.into(),
            change.into(),
            order_id.into(),
            self.trade_no.as_deref().into(),
            self.trade_no_in.as_deref().into(),
            record.shape.into(),
            record.head.as_str().into(),
            record.lines.as_str().into(),
            record.errors.as_deref().into(),
            self.sale_at.map(|at| at.0).into(),
        ]
    }
}

impl<'a> OrderState<'a> {
    /// Reads a row of `STORED_ORDERS`.
    pub(super) fn of(row: &Row<'_>) -> Result<OrderState<'a>, Error> {
        let text =
            |column| Ok::<_, Error>(row.maybe_text(column)?.map(|it| Cow::Owned(it.to_owned())));
        let record = Record {
            shape: row.int(4)?,
            head: row.text(5)?.to_owned(),
            lines: row.text(6)?.to_owned(),
            errors: row.maybe_text(7)?.map(str::to_owned),
        };
        Ok(OrderState {
            device: DeviceNo(row.int(1)?),
            seq: row.int(2)?,
            trade_start: UnixMs(row.int(8)?),
            trade_no: text(9)?,
            trade_no_in: text(3)?,
            sale_at: row.maybe_int(10)?.map(UnixMs),
            record: Cow::Owned(record),
            pending: None,
        })
    }
}
