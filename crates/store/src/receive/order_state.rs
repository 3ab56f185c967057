//! The state of each order while its batch is applied, and how it is read and written.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use kiosque_model::{DeviceNo, GroupNo, TradeNo, UnixMs};

use super::{OrderOutcome, OwnedOrder, reject};
use crate::db::{Bound, Reading, Write};
use crate::error::Error;
use crate::record::dictionaries::{Dictionaries, Dictionary, RECORD_BYTES_MAX};
use crate::record::stored::{StoredOrder, order_columns, pack};
use crate::record::{Incoming, Record, sale_figures};
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

/// An order as stored now, or at the end of the batch.
pub(super) struct OrderState<'a> {
    pub(super) device: DeviceNo,
    pub(super) seq: i64,
    pub(super) arrival: Option<i64>,
    pub(super) trade_start: UnixMs,
    pub(super) trade_no: Option<Cow<'a, str>>,
    pub(super) trade_no_in: Option<Cow<'a, str>>,
    pub(super) sale_at: Option<UnixMs>,
    /// The figures of the sale and the states, as they are stored.
    pub(super) sale: Vec<u8>,
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
    /// Returns whether its payment is being returned.
    pub(super) fn is_refunding(&self) -> bool {
        sale_figures::is_refunding(&self.sale)
    }

    /// Returns the order to write, and its packed record.
    pub(super) fn packed<'v>(
        &'v self,
        (group, order_id): (GroupNo, &'v str),
        change_no: i64,
        dictionary: &Dictionary,
    ) -> Result<(StoredOrder<'v>, Vec<u8>), Error> {
        let order = StoredOrder {
            group_no: group,
            device_no: self.device,
            seq: self.seq,
            trade_start_ms: self.trade_start,
            change_no,
            sale_at_ms: self.sale_at,
            sale: &self.sale,
            arrival_no: self.arrival,
            order_id,
            trade_no: self.trade_no.as_deref(),
            trade_no_in: self.trade_no_in.as_deref(),
            record: &[],
        };
        Ok((order, pack(&self.record, order, dictionary)?))
    }
}

impl<'a> OrderState<'a> {
    /// Returns the state of a stored order.
    fn stored(row: &StoredOrder<'_>, dictionaries: &Dictionaries) -> Result<OrderState<'a>, Error> {
        let text = |text: Option<&str>| text.map(|text| Cow::Owned(text.to_owned()));
        Ok(OrderState {
            device: row.device_no,
            seq: row.seq,
            arrival: row.arrival_no,
            trade_start: row.trade_start_ms,
            trade_no: text(row.trade_no),
            trade_no_in: text(row.trade_no_in),
            sale_at: row.sale_at_ms,
            sale: row.sale.to_vec(),
            record: Cow::Owned(Record::read(row.text(dictionaries)?)?),
            pending: None,
        })
    }

    /// Returns the state of a new order.
    pub(super) fn new(one: &OwnedOrder<'a>, seq: i64, change_no: i64) -> OrderState<'a> {
        let OwnedOrder { order, ownership, arrival, .. } = *one;
        OrderState {
            device: ownership.device,
            seq,
            arrival,
            trade_start: order.trade_start,
            trade_no: order.trade_no.as_ref().map(text),
            trade_no_in: order.trade_no_in.as_ref().map(text),
            sale_at: order.sale.as_ref().map(|sale| sale.at),
            sale: sale_figures::packed(order.sale.as_ref(), order.states),
            record: Cow::Borrowed(&order.record),
            pending: Some((WriteKind::Insert, change_no)),
        }
    }

    /// Returns the state after an update, with the resulting record. An update without an internal
    /// trade number keeps the stored one.
    pub(super) fn updated(&self, order: &'a Incoming, record: Cow<'a, Record>) -> OrderState<'a> {
        let given = order.trade_no_in.as_ref().map(text);
        OrderState {
            trade_start: order.trade_start,
            trade_no: order.trade_no.as_ref().map(text),
            trade_no_in: given.or_else(|| self.trade_no_in.clone()),
            sale_at: order.sale.as_ref().map(|sale| sale.at),
            sale: sale_figures::packed(order.sale.as_ref(), order.states),
            record,
            ..*self
        }
    }

    /// Returns whether both states store the same. Equal records are not enough: local times are
    /// ambiguous in the hour that a clock repeats.
    pub(super) fn is_stored_as(&self, other: &OrderState<'_>) -> bool {
        self.record == other.record
            && self.trade_start == other.trade_start
            && self.sale_at == other.sale_at
            && self.trade_no == other.trade_no
            && self.trade_no_in == other.trade_no_in
    }
}

/// What is wrong with each damaged stored order of a batch, by id.
#[derive(Default)]
pub(super) struct DamagedOrders(HashMap<String, String>);

impl DamagedOrders {
    /// Returns the state of a stored order, unless it is damaged.
    fn unless_damaged<'a>(
        &mut self,
        id: &str,
        order: Result<StoredOrder<'_>, Error>,
        dictionaries: &Dictionaries,
    ) -> Result<Option<OrderState<'a>>, Error> {
        match order.and_then(|order| OrderState::stored(&order, dictionaries)) {
            Err(error) if error.is_damage() => {
                self.0.insert(id.to_owned(), error.reason());
                Ok(None)
            }
            state => state.map(Some),
        }
    }

    /// Rejects an update of a damaged order: its former sale, which is in the sums, is unknown.
    pub(super) fn refuse(&self, id: &str) -> Option<OrderOutcome> {
        let error = self.0.get(id)?;
        Some(OrderOutcome::Inconsistent(format!(
            "orderId: the stored order {id} is damaged and cannot be updated: {error}; `kiosque \
             verify` lists what is damaged, and a backup may have it undamaged",
        )))
    }
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

/// Rejects an order whose record would exceed the maximum size.
pub(super) fn refuse_large(record: &Record) -> Option<OrderOutcome> {
    let length = record.text().len();
    (length > RECORD_BYTES_MAX).then(|| {
        let reason = format!("the order has {length} bytes; the maximum is {RECORD_BYTES_MAX}");
        reject("detailVOList", &reason)
    })
}

fn text(number: &TradeNo) -> Cow<'_, str> {
    Cow::Borrowed(number.as_str())
}
